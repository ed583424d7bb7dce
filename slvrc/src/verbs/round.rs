//! `slvrc round`: opens, watches, closes and collects a round.

use crate::deployment::{LONGEST, Which, caller, line};
use crate::fail::{self, print, say, say_done, say_json};
use anyhow::bail;
use clap::Subcommand;
use serde_json::{Value, json};
use slvr::deployment::{self, Terms};
use slvr::{Error, tensors};
use slvr_circuit::Circuit;
use slvr_node::client::{CallError, Caller, Collected};
use slvr_node::clock::now;
use slvr_node::codes::Code;
use slvr_node::names::{counted, listed};
use slvr_node::submission::giving;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Round {
    /// The coordinator's configuration: coordinator.toml, as `slvrc keys` makes it.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Open a round on all three nodes.
    Open {
        #[command(flatten)]
        which: Which,
        /// The public inputs, if the task has any: a safetensors or `.npz` file.
        #[arg(long, value_name = "FILE")]
        public: Option<PathBuf>,
        /// Seconds until no more submissions begin. Once all clients have submitted the round closes by itself.
        #[arg(long, default_value_t = 600)]
        seconds: u64,
        /// Seconds after that for those that have begun.
        #[arg(long, default_value_t = 30)]
        grace: u64,
        /// How many clients have to be accepted; the task's minimum without it.
        #[arg(long)]
        minimum: Option<u64>,
        /// Seconds that it goes on trying to reach the nodes.
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=LONGEST))]
        patience: u64,
    },
    /// Say where a round stands and who waits for whom, until it has ended.
    Watch {
        #[command(flatten)]
        which: Which,
        /// Say it once.
        #[arg(long)]
        once: bool,
    },
    /// Take no more submissions.
    Close {
        #[command(flatten)]
        which: Which,
    },
    /// End a round without a result. Without node 0 the other two do it, unless they have computed the result. The submissions are
    /// kept until `drop`.
    Abort {
        #[command(flatten)]
        which: Which,
    },
    /// Run a round again that was aborted, from the submissions that are kept. `report` says whether it can be.
    Retry {
        #[command(flatten)]
        which: Which,
        /// Seconds that it goes on trying to reach the nodes.
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=LONGEST))]
        patience: u64,
    },
    /// Put the result together from the words of the three nodes, and write it. What is for clients they fetch.
    Collect {
        #[command(flatten)]
        which: Which,
        /// Directory that receives one file per receiver, and the round's report.
        #[arg(long, value_name = "DIR")]
        outputs: PathBuf,
        /// Leave the words on the nodes.
        #[arg(long)]
        keep: bool,
    },
    /// Print everything that the nodes know of a round, as JSON: who counted, who did not and why. What they do not say alike is an
    /// error.
    Report {
        #[command(flatten)]
        which: Which,
        /// What this node alone says.
        #[arg(long, value_parser = clap::value_parser!(u8).range(0..3))]
        node: Option<u8>,
    },
    /// Erase what the nodes still keep of a round that has ended: the submissions if it was aborted, the words of the result if
    /// it was not collected, and what members have not fetched.
    Drop {
        #[command(flatten)]
        which: Which,
    },
}

impl Round {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let caller = caller(&self.config)?;
        match self.what {
            What::Open { which, public, seconds, grace, minimum, patience } => {
                // The nodes may just have been started.
                let until = Instant::now() + Duration::from_secs(patience);
                let terms = Terms { seconds, grace, minimum, context: None };
                open(&caller, &which, (terms, until), public.as_deref(), json)
            }
            What::Watch { which, once } => watch(&caller, &which, once, json),
            What::Close { which: Which { task, round } } => {
                let status = caller.close(&task, round)?;
                let text = format!("{task}/{round} is {}", phase(&status));
                say_done(json, status, &text)
            }
            What::Abort { which } => abort(&caller, &which, json),
            What::Retry { which: Which { task, round }, patience } => {
                let until = Instant::now() + Duration::from_secs(patience);
                let status = caller.patiently(until, || caller.retry(&task, round))?;
                let from = status["complete"].as_u64().unwrap_or(0);
                let text = format!(
                    "{task}/{round} is run again, from {}; `slvrc round watch` shows where it stands",
                    counted(from, "submission", "submissions")
                );
                say_done(json, status, &text)
            }
            What::Report { which: Which { task, round }, node } => {
                let report = match node {
                    Some(node) => caller.report(node.into(), &task, round)?,
                    None => caller.agreed_report(&task, round)?,
                };
                let text = format!("{report:#}");
                say_done(json, report, &text)
            }
            What::Drop { which: Which { task, round } } => {
                let lost = caller.drop_round(&task, round)?;
                for node in &lost {
                    fail::note(&format!(
                        "node {node} knows no round {task}/{round}: there is nothing to erase"
                    ));
                }
                let what =
                    "the submissions, the words of the result, and what members have not fetched";
                let text = format!("{task}/{round}: {what} are erased");
                say_done(json, json!({ "unknown_to": lost }), &text)
            }
            What::Collect { which, outputs, keep } => {
                collect(&caller, &which, &outputs, keep, json)
            }
        }
    }
}

fn open(
    caller: &Caller,
    Which { task, round }: &Which,
    (terms, until): (Terms, Instant),
    public: Option<&Path>,
    json: bool,
) -> anyhow::Result<()> {
    let read = |circuit: &Circuit| tensors::read_public(circuit, public, &print);
    let (circuit, status) = deployment::open(caller, (task, *round), terms, until, read)?;
    for note in to_members(&circuit) {
        fail::note(&note);
    }
    let left = status["deadline"].as_u64().unwrap_or(0).saturating_sub(now());
    say_done(json, status, &format!("{task}/{round} is open, for {left} s"))
}

fn abort(caller: &Caller, Which { task, round }: &Which, json: bool) -> anyhow::Result<()> {
    let mut shown = Value::Null;
    for told in caller.abort(task, *round)?.into_iter().rev() {
        match told {
            Ok(status) => shown = status,
            Err(CallError::Refused { node, code: Code::Round, .. }) => fail::note(&format!(
                "node {node} knows no round {task}/{round}: there is nothing to abort"
            )),
            Err(e) => fail::note(&format!("{e}: it is told of the abort later")),
        }
    }
    say_done(json, shown, &format!("{task}/{round} is aborted"))
}

/// Fetches the result, and erases it at the nodes unless they are to keep it.
fn collect(
    caller: &Caller,
    Which { task, round }: &Which,
    outputs: &Path,
    keep: bool,
    json: bool,
) -> anyhow::Result<()> {
    let Collected { report, circuit, revealed } = caller.collect(task, *round)?;
    tensors::write_outputs(&circuit, &revealed, None, outputs)?;
    slvr::files::write(&outputs.join("report.json"), format!("{report:#}\n").as_bytes())?;
    if !keep && let Err(why) = caller.erase(task, *round, &["words"]) {
        fail::caution(&format!(
            "{task}/{round}: nodes may still keep the result: {why}; `slvrc round drop` erases it"
        ));
    }
    let of = |what: &str| report[what].as_array().cloned().unwrap_or_default();
    let result = match revealed.is_empty() {
        true => "nothing is revealed to the coordinator; the report",
        false => "the result",
    };
    let all = report["clients"].as_u64().unwrap_or(0);
    let mut text = format!(
        "{task}/{round}: {result} of {} of {all} clients is in {}",
        of("accepted").len(),
        outputs.display()
    );
    for gone in of("excluded").iter().map(excluded) {
        text += &format!("\n  without {gone}");
    }
    let missing = of("missing");
    let names = missing.iter().filter_map(Value::as_str).map(str::to_string);
    if let Some(names) = listed(names) {
        text += &format!("\n  missing at all nodes: {names}");
    }
    say_done(json, report, &text)
}

/// A client that does not count, and why.
fn excluded(x: &Value) -> String {
    let of = |what: &str| x[what].as_str().unwrap_or("?");
    format!("{}: {}", of("client"), of("why"))
}

/// Where a round stands, in a word.
fn phase(status: &Value) -> &str {
    status["phase"].as_str().unwrap_or("?")
}

/// What a program reveals to members of sets that give inputs: they fetch it, and the coordinator does not get it.
fn to_members(circuit: &Circuit) -> Vec<String> {
    let giving = giving(circuit);
    let to = circuit.outputs.iter().filter(|o| giving.contains(&(o.to as usize)));
    let named = to.map(|o| {
        let set = circuit.parties.get(o.to as usize).map_or("?", |p| p.name.as_str());
        format!(
            "`{}` is revealed to members of `{set}`: they fetch it with `slvrc fetch`, and `collect` does not have it",
            o.name
        )
    });
    named.collect()
}

/// Says where the round stands whenever that changes.
fn watch(caller: &Caller, which: &Which, once: bool, json: bool) -> anyhow::Result<()> {
    let mut said = Vec::new();
    loop {
        let standing = deployment::standing(caller, (&which.task, which.round))?;
        let phase = standing.phase().to_string();
        let all = standing.nodes;
        let mut lines: Vec<String> =
            all.iter().map(|s| s.as_ref().map_or_else(ToString::to_string, line)).collect();
        lines.extend(clocks(&all));
        if once && all.iter().all(Result::is_err) {
            bail!("no node answers:\n{}", lines.join("\n"));
        }
        if !json && lines != said {
            say(&format!("{}\n", lines.join("\n")))?;
            said.clone_from(&lines);
        }
        if phase == "aborted" && !once {
            let Which { task, round } = which;
            let mut why = format!("{task}/{round} was aborted; {}", caller.again(task, *round));
            if json {
                // As text it has been said.
                why += &format!("\n{}", lines.join("\n"));
            }
            return Err(Error::Aborted(why).into());
        }
        if once || phase == "released" {
            return if json { say_json(json!({ "nodes": of_nodes(all) })) } else { Ok(()) };
        }
        thread::sleep(Duration::from_millis(500));
    }
}

/// What each node says, or why it says nothing.
fn of_nodes(all: [Result<Value, CallError>; 3]) -> Vec<Value> {
    let of = |(node, said): (usize, Result<Value, CallError>)| {
        said.unwrap_or_else(|e| json!({ "node": node, "error": e.to_string() }))
    };
    all.into_iter().enumerate().map(of).collect()
}

/// Seconds by which a clock is wrong without a word about it: answers take a while, too.
const CLOCK: u64 = 5;

/// Which nodes' clocks are far from the middle one of the three.
fn clocks(all: &[Result<Value, CallError>; 3]) -> Vec<String> {
    let of = |s: &Result<Value, CallError>| s.as_ref().ok()?["clock_ms"].as_u64();
    let told: Vec<(usize, u64)> =
        all.iter().enumerate().filter_map(|(node, s)| Some((node, of(s)? / 1000))).collect();
    let mut sorted: Vec<u64> = told.iter().map(|(_, clock)| *clock).collect();
    sorted.sort_unstable();
    let Some(middle) = sorted.get(sorted.len() / 2).copied() else { return Vec::new() };
    let far = told.into_iter().filter(|(_, clock)| clock.abs_diff(middle) > CLOCK);
    let said = |(node, clock): (usize, u64)| {
        let way = if clock > middle { "ahead" } else { "behind" };
        // In minutes from a minute on, so that the line stays as it is.
        let off = match clock.abs_diff(middle) {
            s @ 60.. => format!("{} min", (s + 30) / 60),
            s => format!("{} s", s / 5 * 5),
        };
        format!(
            "node {node}: its clock is about {off} {way}: deadlines are by each node's own clock"
        )
    };
    far.map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown() -> Result<Value, CallError> {
        let (code, message) = (Code::Round, "there is no round t/1".into());
        Err(CallError::Refused { node: 0, status: 404, code, message })
    }

    fn away() -> Result<Value, CallError> {
        Err(CallError::Early("away".into()))
    }

    #[test]
    fn a_node_without_an_answer_is_shown_with_its_error() {
        let all = of_nodes([Ok(json!({ "phase": "open" })), away(), unknown()]);
        assert_eq!(all[0], json!({ "phase": "open" }));
        assert_eq!(all[1], json!({ "node": 1, "error": "away" }));
        assert!(all[2]["error"].as_str().is_some_and(|e| e.contains("no round t/1")), "{}", all[2]);
    }
}
