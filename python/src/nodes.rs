//! Calls of clients and of the coordinator to the nodes of a deployment.

use crate::arrays::{of_member, put, revealed};
use crate::error::SlvrError;
use crate::watched::{Watch, tell, waited};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use slvr::deployment::{self, Expected, Terms};
use slvr::notes::Note;
use slvr::tensors;
use slvr::{Error, Result};
use slvr_circuit::{Circuit, artifact};
use slvr_node::client::{CallError, Caller, Collected};
use slvr_node::hex::Hash;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Whoever calls three nodes with a file of configuration.
#[pyclass(frozen, module = "slvr._slvr")]
pub struct Nodes {
    caller: Arc<Caller>,
}

fn until(patience: f64) -> PyResult<Instant> {
    let patience = Duration::try_from_secs_f64(patience).ok();
    let end = patience.and_then(|p| Instant::now().checked_add(p));
    end.ok_or_else(|| PyValueError::new_err("patience is a number of seconds"))
}

/// The bytes of a hash.
fn hash(text: &str) -> PyResult<[u8; 32]> {
    let why = || PyValueError::new_err("the hash of a circuit has 64 hexadecimal digits");
    Hash::parse(text).map(|hash| hash.0).ok_or_else(why)
}

/// What each node says, as JSON, or the text of why it does not.
fn said(nodes: [std::result::Result<Value, CallError>; 3]) -> String {
    let nodes = nodes.map(|s| s.unwrap_or_else(|e| json!({ "error": e.to_string() })));
    Value::from(nodes.to_vec()).to_string()
}

fn told(watch: &Watch, note: Option<String>) {
    note.iter().for_each(|note| watch.tell(Note::Note(note)));
}

#[pymethods]
impl Nodes {
    /// Reads a configuration: client.toml or coordinator.toml, as `slvrc keys` makes it.
    #[new]
    fn new(py: Python<'_>, config: PathBuf) -> PyResult<Self> {
        let caller = waited(py, |watch| deployment::caller(&config, &|note| watch.tell(note)))?;
        Ok(Nodes { caller: Arc::new(caller) })
    }

    /// The name of the client, or of the coordinator.
    #[getter]
    fn name(&self) -> String {
        self.caller.config().name.clone()
    }

    /// The hash of the circuit of a task for all its clients.
    fn circuit_hash(&self, py: Python<'_>, task: &str, patience: f64) -> PyResult<String> {
        let until = until(patience)?;
        waited(py, |_| {
            let (circuit, _) = self.caller.patiently(until, || self.caller.circuit(task))?;
            Ok(slvr::report::hex(&artifact::hash(&circuit)))
        })
    }

    /// Submits a client's arrays to a round, and returns the receipts as JSON. Shares are made here.
    #[allow(clippy::too_many_arguments, reason = "the package's own call, by position")]
    fn submit(
        &self,
        py: Python<'_>,
        task: &str,
        round: u64,
        inputs: &Bound<'_, PyDict>,
        expect_hash: Option<&str>,
        expect_context: Option<[u8; 32]>,
        patience: f64,
    ) -> PyResult<String> {
        let (arrays, until) = (of_member(inputs)?, until(patience)?);
        let circuit = expect_hash.map(hash).transpose()?;
        let expected = Expected { circuit, context: expect_context };
        waited(py, |watch| {
            let read = |circuit: &Circuit, set: usize| {
                let (tensors, note) = tensors::member_of(circuit, set, &arrays)?;
                told(watch, note);
                Ok(tensors)
            };
            let made = deployment::prepare(&self.caller, (task, round), expected, until, read)?;
            let left = until.saturating_duration_since(Instant::now());
            let sent = deployment::send(
                &self.caller,
                (task, round),
                &made.submission,
                left,
                &|_, _, _| {},
            );
            let id = made.submission.manifest.submission.to_string();
            Ok(json!({ "submission": id, "receipts": sent? }).to_string())
        })
    }

    /// Fetches what a round reveals to this client: arrays by name, and what is said of them as JSON.
    fn fetch<'py>(
        &self,
        py: Python<'py>,
        task: &str,
        round: u64,
        keep: bool,
        patience: f64,
    ) -> PyResult<(Bound<'py, PyDict>, String)> {
        let until = until(patience)?;
        let got =
            waited(py, |_| Ok(self.caller.patiently(until, || self.caller.fetch(task, round))?))?;
        let all = PyDict::new(py);
        for (output, found) in got.outputs {
            put(&all, &output.fields, 1, found)?;
        }
        let of = &got.of;
        let said = json!({ "client": of.client, "set": of.set, "member": of.member, "circuit": of.circuit });
        if !keep {
            erased(py, (task, round), || self.caller.forget(task, round));
        }
        Ok((all, said.to_string()))
    }

    /// Opens a round with public arrays, and returns what node 0 says of it as JSON.
    #[allow(clippy::too_many_arguments, reason = "the package's own call, by position")]
    fn open(
        &self,
        py: Python<'_>,
        task: &str,
        round: u64,
        public: &Bound<'_, PyDict>,
        seconds: u64,
        grace: u64,
        minimum: Option<u64>,
        context: Option<[u8; 32]>,
        patience: f64,
    ) -> PyResult<String> {
        let (arrays, until) = (of_member(public)?, until(patience)?);
        waited(py, |watch| {
            let read = |circuit: &Circuit| {
                let (tensors, note) = tensors::public_of(circuit, &arrays)?;
                told(watch, note);
                Ok(tensors)
            };
            let terms = Terms { seconds, grace, minimum, context };
            let (_, status) = deployment::open(&self.caller, (task, round), terms, until, read)?;
            Ok(status.to_string())
        })
    }

    /// Where a round stands at the three nodes, as JSON: what each says, or the text of why it does not.
    fn statuses(&self, py: Python<'_>, task: &str, round: u64) -> PyResult<String> {
        waited(py, |_| Ok(said(self.caller.statuses(task, round))))
    }

    /// The same of a round that a node knows, and whether it has ended.
    fn standing(&self, py: Python<'_>, task: &str, round: u64) -> PyResult<(String, bool)> {
        waited(py, |_| {
            let standing = deployment::standing(&self.caller, (task, round))?;
            let ended = standing.has_ended();
            Ok((said(standing.nodes), ended))
        })
    }

    /// Takes no more submissions.
    fn close(&self, py: Python<'_>, task: &str, round: u64) -> PyResult<String> {
        waited(py, |_| Ok(self.caller.close(task, round)?.to_string()))
    }

    /// Ends a round without a result.
    fn abort(&self, py: Python<'_>, task: &str, round: u64) -> PyResult<()> {
        waited(py, |_| {
            let told = self.caller.abort(task, round)?;
            match told.into_iter().find_map(|t| t.err()) {
                Some(e) => Err(Error::from(e)),
                None => Ok(()),
            }
        })
    }

    /// Puts the result together: arrays by name, and the report of the nodes as JSON.
    fn collect<'py>(
        &self,
        py: Python<'py>,
        task: &str,
        round: u64,
        keep: bool,
        patience: f64,
    ) -> PyResult<(Bound<'py, PyDict>, String)> {
        let until = until(patience)?;
        let Collected { report, circuit, revealed: outputs } =
            waited(py, |watch| collected(&self.caller, (task, round), until, watch))?;
        let all = revealed(py, &circuit, outputs)?;
        if !keep {
            erased(py, (task, round), || self.caller.erase(task, round, &["words"]).map(drop));
        }
        Ok((all, report.to_string()))
    }

    /// Erases what the nodes still keep of a round that has ended.
    #[pyo3(name = "drop")]
    fn drop_round(&self, py: Python<'_>, task: &str, round: u64) -> PyResult<()> {
        waited(py, |_| Ok(self.caller.drop_round(task, round).map(drop)?))
    }
}

/// The result of a round, which is waited for as long as it can still come, and as nodes may answer again.
fn collected(
    caller: &Caller,
    (task, round): (&str, u64),
    until: Instant,
    watch: &Watch,
) -> Result<Collected> {
    let cancelled = || watch.cancel.load(Ordering::Acquire);
    let collect = || loop {
        match caller.collect(task, round) {
            Err(CallError::Early(_)) if !cancelled() && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(100));
            }
            // Nobody waits for a node any more.
            Err(e) if cancelled() => return Err(CallError::Early(e.to_string())),
            found => return found,
        }
    };
    Ok(caller.patiently(until, collect)?)
}

/// Has the nodes erase what the caller has in hand as values of Python. Whatever comes of it these are returned, and so it
/// raises nothing, not even what Ctrl-C raises: some nodes may have erased already, and what is lost here is lost for good.
fn erased(
    py: Python<'_>,
    (task, round): (&str, u64),
    erase: impl FnOnce() -> std::result::Result<(), CallError> + Send,
) {
    let Err(why) = waited(py, |_| Ok(erase()?)) else { return };
    let why = match why.is_instance_of::<SlvrError>(py) {
        true => why.value(py).to_string(),
        false => format!("{why} came meanwhile"),
    };
    let text = format!(
        "{task}/{round}: what it reveals is returned, but nodes may still keep it: {why}; the coordinator's `drop` erases it"
    );
    if let Err(e) = tell(py, vec![("warning", text)]) {
        e.write_unraisable(py, None);
    }
}
