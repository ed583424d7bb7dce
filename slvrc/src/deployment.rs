//! What the verbs of a deployment share: callers, readable lines of a round.

use crate::fail::note;
use clap::{Args, ValueEnum};
use serde_json::Value;
use slvr::deployment;
use slvr_node::client::Caller;
pub use slvr_node::config::LONGEST_WAIT as LONGEST;
use slvr_node::state::RoundKey;
use std::path::Path;
use tracing_subscriber::filter::LevelFilter;

/// Whoever calls nodes with a file of configuration.
pub fn caller(config: &Path) -> slvr::Result<Caller> {
    Ok(deployment::caller(config, &crate::fail::print)?.telling(note))
}

/// Seconds that an attempt under way has when a node is stopped, unless it is told otherwise.
pub const GRACE: u64 = 30;

/// Which round.
#[derive(Args)]
pub struct Which {
    /// The task, by its name in node.toml.
    pub task: String,
    /// The round's number.
    #[arg(value_parser = clap::value_parser!(u64).range(..=RoundKey::LAST))]
    pub round: u64,
}

/// The name of the task that runs a program: that of its file, without folders and ending.
pub fn task_name(program: &str) -> String {
    let stem = Path::new(program).file_stem();
    stem.map_or(program.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Where a round stands at a node, in one line.
pub fn line(status: &Value) -> String {
    let mut out = format!(
        "node {}: {}, {} of {} submissions",
        status["node"],
        status["phase"].as_str().unwrap_or("?"),
        status["complete"],
        status["expected"]
    );
    let run = &status["run"];
    if let Some(doing) = run["doing"].as_str() {
        out += &format!(
            ", attempt {}: {doing}, layer {} of {}",
            status["attempt"], run["layer"], run["layers"]
        );
    }
    let (node, worker) = (run["waits_for"].as_u64(), run["waits_for_worker"].as_u64());
    let who = node.map(|node| format!("node {node}"));
    let who = who.or(worker.map(|w| format!("its worker {w}, range {}", run["range"])));
    if let (Some(who), Some(seconds)) = (who, run["seconds"].as_f64()) {
        out += &format!(", waits for {who} for {seconds:.1} s");
    }
    let damaged: Vec<&str> =
        status["damaged"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !damaged.is_empty() {
        out += &format!(", damaged parts: {} have to submit again", damaged.join(", "));
    }
    if let Some(why) = status["waits"].as_str() {
        out += &format!(", waits: {why}");
    }
    if let Some(why) = status["aborted"].as_str() {
        out += &format!(": {why}");
    }
    out
}

/// What a node or a worker says on standard error.
#[derive(Args)]
pub struct Log {
    /// How much it logs.
    #[arg(long, value_enum, default_value = "info")]
    log: Level,
    /// How: one line of text for each event, or one JSON object. Both name the round, and the request in which it happened.
    #[arg(long, value_enum, default_value = "text")]
    log_format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Log {
    pub fn start(&self) {
        let log = tracing_subscriber::fmt()
            .with_max_level(match self.log {
                Level::Error => LevelFilter::ERROR,
                Level::Warn => LevelFilter::WARN,
                Level::Info => LevelFilter::INFO,
                Level::Debug => LevelFilter::DEBUG,
            })
            .with_ansi(false)
            .with_writer(std::io::stderr);
        match self.log_format {
            Format::Json => log.json().flatten_event(true).with_span_list(false).init(),
            Format::Text => log.init(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_by_the_file_of_its_program() {
        for program in
            ["flame", "gallery/flame", "flame.slvr", "mine/flame.slvr", "mine/flame.slvrb"]
        {
            assert_eq!(task_name(program), "flame", "{program}");
        }
    }
}
