//! `slvrc run`: three parties, as threads of this process or as processes of their own.

use crate::build::hex;
use crate::fail::say;
use crate::processes::{self, Processes};
use crate::{Target, program, tensors};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::{Circuit, artifact};
use slvr_compiler::cost::NetProfile;
use slvr_compiler::report::certificate::Certificate;
use slvr_runtime::link::shaped::Line;
use slvr_runtime::party::RunError;
use slvr_runtime::party::session::{self, Options, Report};
use slvr_runtime::share::encode::Inputs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments.
#[derive(clap::Args)]
pub struct Run {
    #[command(flatten)]
    target: Target,
    /// Directory of the inputs: public.safetensors, Client/0.safetensors, …
    #[arg(long, value_name = "DIR")]
    inputs: PathBuf,
    /// Directory that receives one file per receiver.
    #[arg(long, value_name = "DIR")]
    outputs: Option<PathBuf>,
    /// Derives all randomness, the sharing's too, from this number: reproducible, and not secure.
    /// For tests and demonstrations only.
    #[arg(long)]
    seed: Option<u64>,
    /// Submit numbers outside their declared range as words of the ring: skips the check on the
    /// client's side, so that the parties' check can be seen at work.
    #[arg(long)]
    submit_unchecked: bool,
    /// Seconds a party waits for a message of another.
    #[arg(long, default_value_t = 600)]
    deadline: u64,
    /// Takes the time of the network that --net names: every party has one line with its bandwidth in
    /// each direction and its latency. Without it messages pass through memory. With --hosts the report
    /// calls by that name the network that is there.
    #[arg(long, requires = "net")]
    shape: bool,
    #[command(flatten)]
    processes: Processes,
}

/// A network profile as a line.
pub fn line(net: &NetProfile) -> Line {
    let latency = Duration::try_from_secs_f64(net.rtt_s / 2.0).unwrap_or(Duration::MAX);
    Line { bits_per_s: net.bandwidth_bits_per_s, latency }
}

/// The network of a run whose messages take no time.
pub const IN_MEMORY: &str = "in memory";

/// What the receivers learn: each reveal once.
pub fn leaks(circuit: &Circuit) -> Value {
    circuit
        .outputs
        .iter()
        .map(|o| {
            let to = set_name(circuit, o.to);
            json!({ "name": o.name, "to": to, "shape": o.shape })
        })
        .collect()
}

/// A progress bar over a circuit's layers, on standard error.
pub fn layer_bar(circuit: &Circuit) -> ProgressBar {
    let bar = ProgressBar::new(circuit.layers.len() as u64);
    let style = ProgressStyle::with_template("{msg:>16} [{bar:30}] layer {pos}/{len} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar
}

/// Runs a circuit among three parties, with clients that are held to their ranges.
pub fn run_circuit(
    circuit: &Circuit,
    inputs: &Inputs,
    seed: Option<u64>,
    deadline: Duration,
    bar: &ProgressBar,
) -> Result<Report, RunError> {
    run_with(circuit, inputs, Options { seed, deadline, ..Options::default() }, bar)
}

fn run_with(
    circuit: &Circuit,
    inputs: &Inputs,
    options: Options<'_>,
    bar: &ProgressBar,
) -> Result<Report, RunError> {
    let progress = |done: usize, _all: usize| bar.set_position(done as u64);
    crate::memory::expect(slvr_compiler::cost::peak_memory(circuit).iter().sum());
    session::run_local(circuit, inputs, &Options { progress: Some(&progress), ..options })
}

fn run_apart(
    circuit: &Circuit,
    inputs: &Inputs,
    options: Options<'_>,
    bar: &ProgressBar,
    how: &Processes,
) -> anyhow::Result<Report> {
    let progress = |done: usize, _all: usize| bar.set_position(done as u64);
    let shown = !bar.is_hidden();
    let progress = shown.then_some(&progress as &(dyn Fn(usize, usize) + Sync));
    processes::run(circuit, inputs, &Options { progress, ..options }, how)
}

impl Run {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let loaded = program::load_circuit(&self.target)?;
        let circuit = loaded.circuit();
        let (inputs, missing) = tensors::read_submitted(circuit, &self.inputs)?;
        if let Some(dir) = &self.outputs {
            tensors::can_make(dir)?;
        }
        if self.seed.is_some() {
            eprintln!("note: --seed makes all randomness predictable; for tests and demos only");
        }
        for m in &missing {
            let (file, giver) = (m.path.display(), &m.giver);
            eprintln!("note: {file}: no such file; zeros stand in for all inputs of {giver}");
        }
        let bar = layer_bar(circuit);
        bar.set_message(circuit.name.clone());
        let deadline = Duration::from_secs(self.deadline);
        let net = self.target.profile()?;
        let options = Options {
            seed: self.seed,
            shape: net.as_ref().filter(|_| self.shape).map(line),
            deadline,
            submit_unchecked: self.submit_unchecked,
            ..Options::default()
        };
        let done = match self.processes.processes {
            true => run_apart(circuit, &inputs, options, &bar, &self.processes),
            false => run_with(circuit, &inputs, options, &bar).map_err(anyhow::Error::from),
        };
        bar.finish_and_clear();
        let report = match done.map_err(|e| e.downcast::<RunError>()) {
            Ok(report) => report,
            Err(Ok(RunError::Input(e))) => return Err(tensors::locate(circuit, &self.inputs, e)),
            Err(Ok(e)) => return Err(e.into()),
            Err(Err(e)) => return Err(e),
        };
        if let Some(dir) = &self.outputs {
            tensors::write_outputs(circuit, &report.outputs, dir)?;
        }
        if json {
            let named = net.filter(|_| self.shape || !self.processes.hosts.is_empty());
            let other = match self.processes.processes {
                true => self.processes.network(),
                false => IN_MEMORY,
            };
            let net = named.map_or(other.to_string(), |n| n.name);
            let known = loaded.certificate();
            return say(&format!("{}\n", to_json(circuit, &report, &net, known.as_ref())));
        }
        say(&to_text(circuit, &report, self.outputs.as_deref()))
    }
}

/// The report as the contract of `--json` has it.
///
/// `net` names the network that the seconds were measured over.
pub fn to_json(circuit: &Circuit, r: &Report, net: &str, known: Option<&Certificate>) -> Value {
    let certificate = known
        .map_or(json!({ "failure_log2": Value::Null, "error": Value::Null }), |c| {
            serde_json::to_value(c).unwrap_or(Value::Null)
        });
    let traffic = Traffic::of(circuit);
    let sizes: serde_json::Map<String, Value> =
        circuit.sizes.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
    let outputs: Vec<Value> =
        r.outputs.iter().map(|o| json!({ "name": o.name, "shape": o.shape })).collect();
    let replaced: Vec<Value> = r
        .replaced
        .iter()
        .map(|x| {
            let (set, why) = (set_name(circuit, x.set), x.why.to_string());
            json!({ "set": set, "member": x.member, "why": why })
        })
        .collect();
    let coins: Vec<String> = r.coins.iter().map(|c| format!("{c:032x}")).collect();
    json!({
        "ok": true,
        "predicate": circuit.name,
        "sizes": sizes,
        "circuit_hash": hex(&artifact::hash(circuit)),
        "security": "semi-honest",
        "net": net,
        "rounds": r.rounds,
        "predicted_rounds": traffic.rounds,
        "bytes_sent": r.bytes_sent,
        "predicted_bytes_sent": traffic.bytes,
        "upload_bytes": r.upload_bytes,
        "seconds": r.seconds,
        "peak_memory_bytes": r.peak_memory,
        "certificate": certificate,
        "leaks": leaks(circuit),
        "replaced": replaced,
        "outputs": outputs,
        "coins": coins,
    })
}

fn set_name(circuit: &Circuit, set: u32) -> &str {
    circuit.parties.get(set as usize).map_or("?", |p| &p.name)
}

/// A number of bytes for people, in MB of 10^6 bytes.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.3} MB", bytes as f64 / 1e6)
}

fn to_text(circuit: &Circuit, r: &Report, outputs: Option<&Path>) -> String {
    let sizes: Vec<String> = circuit.sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let sent: Vec<String> = r.bytes_sent.iter().map(|&b| megabytes(b)).collect();
    let upload = r.upload_bytes.iter().flatten().max().copied().unwrap_or(0);
    let peak = r.peak_memory.iter().max().copied().unwrap_or(0);
    let mut out = format!(
        "{} {}\n  rounds        {}\n  sent          {} by the three parties\n  upload        {} by each client\n  time          {:.3} s\n  memory        {} at most in a party\n",
        circuit.name,
        sizes.join(" "),
        r.rounds,
        sent.join(", "),
        megabytes(upload),
        r.seconds,
        megabytes(peak),
    );
    for x in &r.replaced {
        let set = set_name(circuit, x.set);
        out += &format!("  replaced      {set} {} ({}): zeros\n", x.member, x.why);
    }
    for o in &circuit.outputs {
        let to = set_name(circuit, o.to);
        out += &format!("  revealed      {} {:?} to {to}, and nothing else\n", o.name, o.shape);
    }
    if let Some(dir) = outputs {
        out += &format!("  written to    {}\n", dir.display());
    }
    out
}
