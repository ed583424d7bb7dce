//! The verbs of `slvrc`: a file or a folder for each, with its arguments and what it does.
//!
//! A verb reads files, calls the libraries and prints. What several verbs need stands beside this folder, and
//! no verb uses another one. No computation lives here that a user of the libraries could want.

mod bench;
mod build;
mod certify;
mod check;
mod cluster;
mod completions;
mod demo;
mod doc;
mod eval;
mod explain;
mod fetch;
mod fmt;
mod keys;
mod lab;
mod lsp;
mod node;
mod party_process;
mod print;
mod round;
mod run;
mod submit;
mod worker;

use crate::fail::misuse;
use anyhow::Context;
use clap::{Command, Subcommand};
use slvr_ring::threads;

/// Threads of a run beside those that compute: two runs of three parties with their links and receivers.
const PARTIES: usize = 16;

#[derive(Subcommand)]
pub enum Verb {
    /// Parse, type and certify a program; print diagnostics.
    Check(check::Check),
    /// Print a stage of a program as text that reads back.
    Print(print::Print),
    /// Compile a program to a `.slvrb` artifact.
    Build(build::Build),
    /// Evaluate a program in the clear, in floating point or in the circuit's own arithmetic.
    Eval(eval::Eval),
    /// What is proven of a run on given inputs: which decisions it takes as floating point does.
    Certify(certify::Certify),
    /// Format programs in place.
    Fmt(fmt::Fmt),
    /// What a program costs and leaks, step by step, before it runs; or what a code (E0007) means.
    Explain(explain::Explain),
    /// Run a program among three parties on this machine.
    Run(run::Run),
    /// Federated learning with a poisoner on embedded real data, checked among three parties.
    Demo(demo::Demo),
    /// Federated learning around any predicate, under attack.
    Lab(lab::Lab),
    /// The paper's table of costs, measured on this machine beside its own limits.
    Bench(bench::Bench),
    /// Make keys, certificates and configurations of three nodes and their clients.
    Keys(keys::Keys),
    /// Run a node of a deployment.
    Node(node::Node),
    /// Run a worker of a node: it computes ranges of layers.
    Worker(worker::Worker),
    /// Submit a client's inputs to the three nodes of a deployment.
    Submit(submit::Submit),
    /// Fetch what a round of a deployment reveals to a client, from the three nodes.
    Fetch(fetch::Fetch),
    /// Open, watch and collect a round of a deployment.
    Round(round::Round),
    /// Run the three nodes of a deployment, and their workers, on this machine, for development.
    Cluster(cluster::Cluster),
    /// The library, the models and the predicates as Markdown.
    Doc(doc::Doc),
    /// A language server on standard input and output, for editors.
    Lsp(lsp::Lsp),
    /// Print a completion script for a shell.
    Completions(completions::Completions),
    /// A party of `run --processes`, which starts it.
    #[command(name = crate::processes::VERB, hide = true)]
    PartyProcess(party_process::PartyProcess),
}

impl Verb {
    /// Whether it evaluates circuits, and so starts many threads.
    fn computes(&self) -> bool {
        matches!(
            self,
            Verb::Eval(_)
                | Verb::Certify(_)
                | Verb::Run(_)
                | Verb::Demo(_)
                | Verb::Lab(_)
                | Verb::Bench(_)
                | Verb::PartyProcess(_)
                | Verb::Node(_)
                | Verb::Worker(_)
        )
    }

    /// Whether it goes on until it is stopped, and has no result.
    fn lasts(&self) -> bool {
        match self {
            Verb::Node(v) => v.lasts(),
            Verb::Worker(v) => v.lasts(),
            Verb::Cluster(_) | Verb::Lsp(_) | Verb::PartyProcess(_) => true,
            _ => false,
        }
    }

    /// Does it. `json` asks for one JSON object instead of text; `command` describes the whole command line.
    pub fn run(self, json: bool, command: impl FnOnce() -> Command) -> anyhow::Result<()> {
        if json && self.lasts() {
            misuse!(
                "--json: this verb goes on until it is stopped, and has no result to print; a node and a worker log as JSON with \
                 --log-format json"
            );
        }
        if self.computes() {
            threads::startable(PARTIES).context(
                "the system gives slvrc too few threads, or too little memory for them; raise `ulimit -u` or `ulimit -v`, or the \
                 limits of the container",
            )?;
        }
        match self {
            Verb::Check(v) => v.run(json),
            Verb::Print(v) => v.run(json),
            Verb::Build(v) => v.run(json),
            Verb::Eval(v) => v.run(json),
            Verb::Certify(v) => v.run(json),
            Verb::Explain(v) => v.run(json),
            Verb::Run(v) => v.run(json),
            Verb::Demo(v) => v.run(json),
            Verb::Lab(v) => v.run(json),
            Verb::Bench(v) => v.run(json),
            Verb::Fmt(v) => v.run(json),
            Verb::Keys(v) => v.run(json),
            Verb::Node(v) => v.run(json),
            Verb::Worker(v) => v.run(json),
            Verb::Submit(v) => v.run(json),
            Verb::Fetch(v) => v.run(json),
            Verb::Round(v) => v.run(json),
            Verb::Cluster(v) => v.run(),
            Verb::Doc(v) => v.run(json),
            Verb::Lsp(v) => v.run(),
            Verb::Completions(v) => v.run(command(), json),
            Verb::PartyProcess(v) => v.run(),
        }
    }
}
