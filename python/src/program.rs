//! Programs: built, explained, evaluated, certified and run.

use crate::arrays::{Given, revealed};
use crate::error::raised;
use crate::watched::{Watch, watched};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Value, json};
use slvr::build::{Build, security};
use slvr::certify;
use slvr::clear_states::States;
use slvr::cohort::{Cohort, Invalid};
use slvr::coins::coins;
use slvr::error::Usage;
use slvr::eval::{self, How};
use slvr::explain::Report;
use slvr::notes::{Note, silent};
use slvr::program::{self, Loaded};
use slvr::report::{IN_MEMORY, hex, openings, to_json};
use slvr::tensors::{Arrays, Submitted, stand_in};
use slvr::{Error, memory, net, run, units};
use slvr_circuit::{Encoding, Field, From, artifact};
use slvr_compiler::cost::{NetProfile, peak_in_the_clear};
use slvr_runtime::party::session::{self, Options};
use slvr_runtime::share::encode::Encoded;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A program with its circuit.
#[pyclass(frozen, module = "slvr._slvr")]
pub struct Program {
    build: Build,
    loaded: Arc<Loaded>,
}

/// As the package's own class of this name.
#[derive(FromPyObject)]
struct MadeOf {
    file: String,
    texts: BTreeMap<String, String>,
    bindings: Vec<(String, String)>,
    predicate: Option<String>,
    security: Option<String>,
    memory: Option<String>,
    net: Option<String>,
    artifact: Option<Vec<u8>>,
}

/// What is revealed, and a report as JSON.
type Answer<'py> = (Bound<'py, PyDict>, String);

/// What is done about clients whose inputs cannot be used.
fn invalid(name: &str) -> PyResult<Option<Invalid>> {
    match name {
        "exclude" => Ok(Some(Invalid::Exclude)),
        "zeros" => Ok(Some(Invalid::Zeros)),
        "raise" => Ok(None),
        _ => {
            let why = format!("on_invalid is \"exclude\", \"zeros\" or \"raise\", not {name:?}");
            Err(PyValueError::new_err(why))
        }
    }
}

/// Refuses what would not fit the memory that is free.
fn fits(py: Python<'_>, bytes: u64, what: &str) -> PyResult<()> {
    memory::must_fit(bytes, what).map_err(|e| raised(py, e))
}

impl Program {
    /// The circuit for those who give inputs, and who gives none that can be used, and why.
    fn cohort(
        &self,
        watch: &Watch,
        submitted: Submitted,
        invalid: Option<Invalid>,
    ) -> Result<(Cohort, Value), Error> {
        let circuit = self.loaded.circuit();
        let unusable = submitted.missing.iter().map(|m| {
            let set = circuit.parties.get(m.set).map_or("?", |p| &p.name);
            json!({ "set": set, "member": m.member, "why": m.what() })
        });
        let unusable = unusable.collect();
        let invalid = match (invalid, submitted.missing.first()) {
            (Some(invalid), _) => invalid,
            (None, Some(missing)) => return Err(Error::Input(missing.what().into())),
            (None, None) => Invalid::Zeros,
        };
        let loaded = self.loaded.clone();
        let notes = |note: Note<'_>| watch.tell(note);
        Ok((Cohort::new(&self.build, loaded, submitted, invalid, &notes)?, unusable))
    }
}

#[pymethods]
impl Program {
    /// Builds a program: a file, or texts by name.
    #[new]
    fn new(py: Python<'_>, made_of: MadeOf) -> PyResult<Self> {
        let MadeOf { file, texts, bindings, predicate, security, memory, net, artifact } = made_of;
        let security = security.as_deref().map(self::security).transpose();
        let security = security.map_err(|e| raised(py, e))?;
        let net = net.as_deref().map(net::profile).transpose().map_err(|e| raised(py, e))?;
        let memory = memory.as_deref().map(units::size).transpose();
        let memory = memory.map_err(|e| PyValueError::new_err(format!("memory: {e}")))?;
        let build =
            Build { file, texts, bindings, predicate, security, memory, net, ..Build::default() };
        let loaded = watched(py, None, |watch| match &artifact {
            Some(bytes) => program::artifact_of(&build, bytes),
            None => program::load(&build, &|note| watch.tell(note)),
        })?;
        let build = match &loaded {
            Loaded::Source(source) => build.frozen(&source.checked.sources),
            Loaded::Artifact(_) => build,
        };
        Ok(Program { build, loaded: Arc::new(loaded) })
    }

    /// The texts that it was built of, by name.
    fn texts(&self) -> BTreeMap<String, String> {
        self.build.texts.clone()
    }

    /// What is known of the circuit, as JSON.
    fn about(&self) -> String {
        let circuit = self.loaded.circuit();
        let traffic = slvr_circuit::traffic::Traffic::of(circuit);
        let parties: Vec<Value> =
            circuit.parties.iter().map(|p| json!({ "name": p.name, "size": p.size })).collect();
        let set = |s: u32| circuit.parties.get(s as usize).map(|p| p.name.clone());
        let fields = |all: &[Field]| -> Vec<Value> {
            all.iter().map(|f| json!({ "name": f.name, "shape": f.shape })).collect()
        };
        let inputs = circuit.inputs.iter().filter_map(|input| {
            let from = match input.from {
                From::Public => None,
                From::Each(s) => set(s),
                From::Present(_) | From::State(_) => return None,
            };
            let (kind, lo, hi) = match input.encoding {
                Encoding::Fixed { lo, hi, .. } => ("fix", json!(lo), json!(hi)),
                Encoding::Int { lo, hi } => ("int", json!(lo), json!(hi)),
                Encoding::OneHot { classes } => ("int", json!(0), json!(classes)),
            };
            Some(json!({
                "name": input.name, "from": from, "shape": input.shape, "fields": fields(&input.fields),
                "kind": kind, "range": [lo, hi],
            }))
        });
        json!({
            "name": circuit.name,
            "hash": hex(&artifact::hash(circuit)),
            "security": circuit.security.name(),
            "sizes": circuit.sizes.iter().cloned().collect::<BTreeMap<String, String>>(),
            "parties": parties,
            "inputs": inputs.collect::<Vec<_>>(),
            "outputs": circuit.outputs.iter().map(|o| json!({
                "name": o.name, "to": set(o.to), "shape": o.shape, "fields": fields(&o.fields),
            })).collect::<Vec<_>>(),
            "has_states": circuit.states().next().is_some(),
            "openings": openings(circuit),
            "rounds": traffic.rounds,
            "bytes_sent": traffic.bytes,
            "peak_memory": slvr_compiler::cost::peak_memory(circuit),
        })
        .to_string()
    }

    /// The circuit as bytes.
    fn artifact<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| artifact::write(self.loaded.circuit()));
        PyBytes::new(py, &bytes)
    }

    /// The report on costs and leaks: text, JSON, HTML.
    #[pyo3(signature = (net))]
    fn explain(&self, py: Python<'_>, net: Option<String>) -> PyResult<(String, String, String)> {
        watched(py, None, |_| {
            let nets = match net.as_deref() {
                Some(name) => vec![net::profile(name)?],
                None => self.build.net.clone().map_or(NetProfile::all().into(), |n| vec![n]),
            };
            // A report takes its program apart, so it is compiled again, without its notes.
            let report = match &*self.loaded {
                Loaded::Source(_) => Report::new(&self.build, nets, &silent)?,
                Loaded::Artifact(c) => Report::of(&self.build, Loaded::Artifact(c.clone()), nets),
            };
            Ok((report.to_text(None), report.to_json(), report.to_html()))
        })
    }

    /// Evaluates in the clear.
    #[pyo3(signature = (public, sets, exact, coins, seed, on_invalid))]
    #[allow(clippy::too_many_arguments, reason = "the package's own call, by position")]
    fn eval<'py>(
        &self,
        py: Python<'py>,
        public: &Bound<'py, PyDict>,
        sets: &Bound<'py, PyDict>,
        exact: bool,
        coins: Vec<String>,
        seed: u64,
        on_invalid: &str,
    ) -> PyResult<Answer<'py>> {
        let invalid = invalid(on_invalid)?;
        let how = if exact { How::Exact } else { How::Floating }.of(&self.loaded);
        if how == How::Exact {
            let of_evaluation = peak_in_the_clear(self.loaded.circuit());
            fits(py, of_evaluation, "its evaluation")?;
        }
        let submitted = Given::new(public, sets)?.submitted(py, self.loaded.circuit())?;
        let (cohort, unusable, outputs, drawn) = watched(py, None, |watch| {
            let (cohort, unusable) = self.cohort(watch, submitted, invalid)?;
            let (circuit, mut inputs) = (cohort.circuit(), cohort.inputs.clone());
            let drawn = self::coins(circuit, &coins, seed)?;
            let encoded = Encoded::new(circuit, &inputs).map_err(|e| Arrays::locate(circuit, e))?;
            stand_in(circuit, &mut inputs);
            let mut states = States::default();
            let (given, coins) = ((&inputs, encoded), (drawn.as_slice(), seed));
            let outputs = eval::evaluate(&cohort.loaded, how, given, coins, &mut states)?;
            Ok((cohort, unusable, outputs, drawn))
        })?;
        let drawn: Vec<String> = drawn.iter().map(|c| format!("{c:032x}")).collect();
        // Whoever is not left out is replaced.
        let replaced = if cohort.excluded.is_empty() { unusable.clone() } else { json!([]) };
        let report = json!({
            "predicate": cohort.circuit().name, "arithmetic": how.name(), "coins": drawn,
            "excluded": cohort.excluded_json(), "replaced": replaced, "unusable": unusable,
        });
        Ok((revealed(py, cohort.circuit(), outputs)?, report.to_string()))
    }

    /// What is proven for inputs: text and JSON.
    fn certify(
        &self,
        py: Python<'_>,
        public: &Bound<'_, PyDict>,
        sets: &Bound<'_, PyDict>,
        coins: Vec<String>,
        seed: u64,
        confidence: f64,
    ) -> PyResult<(String, String)> {
        let Loaded::Source(source) = &*self.loaded else {
            let why = "a compiled circuit says nothing of its program: certify takes a program";
            return Err(raised(py, Usage(why.into()).into()));
        };
        let circuit = self.loaded.circuit();
        fits(py, certify::memory(&source.compiled), "its evaluation with bounds")?;
        let submitted = Given::new(public, sets)?.submitted(py, circuit)?;
        watched(py, None, |watch| {
            let coins = self::coins(circuit, &coins, seed)?;
            let Submitted { inputs, missing, surplus } = submitted;
            if let Some(missing) = missing.first() {
                return Err(Error::Input(missing.what().into()));
            }
            surplus.iter().for_each(|note| watch.tell(Note::Note(note)));
            let encoded = Encoded::new(circuit, &inputs).map_err(|e| Arrays::locate(circuit, e))?;
            let given = certify::Given {
                name: "arrays".into(),
                about: None,
                inputs,
                coins,
                seed,
                confidence,
            };
            let report = certify::certify(source, given, &encoded)?;
            Ok((report.to_text(), report.to_json()))
        })
    }

    /// Runs three parties in this process.
    #[pyo3(signature = (public, sets, seed, deadline, progress, on_invalid))]
    #[allow(clippy::too_many_arguments, reason = "the package's own call, by position")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        public: &Bound<'py, PyDict>,
        sets: &Bound<'py, PyDict>,
        seed: Option<u64>,
        deadline: f64,
        progress: Option<&Bound<'py, PyAny>>,
        on_invalid: &str,
    ) -> PyResult<Answer<'py>> {
        // Before arrays are read, which may be larger than they look.
        let of_run = memory::of_run(self.loaded.circuit());
        fits(py, of_run, "a run of the three parties on this machine")?;
        let invalid = invalid(on_invalid)?;
        let deadline = Duration::try_from_secs_f64(deadline).ok().filter(|d| !d.is_zero());
        let deadline =
            deadline.ok_or_else(|| PyValueError::new_err("deadline is a number of seconds"))?;
        let submitted = Given::new(public, sets)?.submitted(py, self.loaded.circuit())?;
        let (cohort, unusable, mut report) = watched(py, progress, |watch| {
            let (mut cohort, unusable) = self.cohort(watch, submitted, invalid)?;
            let count = |done: usize, all: usize| {
                watch.done[1].store(all, Ordering::Relaxed);
                watch.done[0].store(done, Ordering::Relaxed);
            };
            let options = Options {
                seed,
                deadline,
                invalid: invalid.unwrap_or(Invalid::Exclude).of_run(),
                progress: Some(&count),
                cancel: Some(&watch.cancel),
                ..Options::default()
            };
            let raise = invalid.is_none();
            let compute = |cohort: &Cohort| {
                let done = session::run_local(cohort.circuit(), &cohort.inputs, &options);
                match done {
                    Err(e @ slvr_runtime::party::RunError::Invalid(_)) if raise => {
                        Err(Error::Run(e))
                    }
                    done => Ok(done),
                }
            };
            let notes = |note: Note<'_>| watch.tell(note);
            let report = run::run(&mut cohort, &notes, Arrays::locate, compute)?;
            Ok((cohort, unusable, report))
        })?;
        let outputs = std::mem::take(&mut report.outputs);
        let circuit = cohort.circuit();
        let mut said = to_json(circuit, &report, IN_MEMORY, cohort.loaded.certificate().as_ref());
        said["excluded"] = cohort.excluded_json();
        said["unusable"] = unusable;
        Ok((revealed(py, circuit, outputs)?, said.to_string()))
    }
}
