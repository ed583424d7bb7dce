//! `slvrc`: checks, compiles and runs `.slvr` predicates. What it does is in the library `slvr`; here are arguments, printing
//! and processes.
//!
//! | file | does |
//! |---|---|
//! | `verbs/` | the verbs, one file or folder each |
//! | `target.rs` | the arguments that name a program and say how it is compiled |
//! | `lab/` | federated learning around a predicate, as `lab` and `demo` do it |
//! | `parties.rs`, `processes.rs` | a run among three threads, or three processes |
//! | `deployment.rs` | what the verbs of a deployment share |
//! | `leash.rs` | a process that ends with its standard input |
//! | `progress.rs` | bars of progress |
//! | `memory.rs`, `fail.rs` | the allocator; printing, errors and exit status |
//!
//! Exit status: 0 done, 1 the program or its input is wrong, 2 usage, 3 the run was aborted.

mod deployment;
mod fail;
mod lab;
mod leash;
mod memory;
mod parties;
mod processes;
mod progress;
mod target;
mod verbs;

use clap::{CommandFactory, Parser};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use verbs::Verb;

/// What the help says first.
const ABOUT: &str = "Programmable robustness checks for secure aggregation in federated learning";

/// Checks, compiles and runs robustness checks for secure aggregation.
#[derive(Parser)]
#[command(name = "slvrc", version, about = ABOUT, max_term_width = 100)]
struct Cli {
    /// One JSON object on standard output instead of text for people. What goes on until it is stopped refuses it.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

fn main() -> ExitCode {
    slvr_allocator::keep_large_pages();
    slvr_allocator::end_with(fail::out_of_memory);
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return fail::usage(&e),
    };
    let json = cli.json;
    let run = || {
        provoke("before");
        let code = match cli.verb.run(json, Cli::command) {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => fail::report(&e, json),
        };
        provoke("after");
        code
    };
    if !json {
        return run();
    }
    fail::want_json();
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(code) => code,
        Err(panic) => fail::panicked(&*panic),
    }
}

/// A bug where a test asks for one: no release has it.
fn provoke(here: &str) {
    if cfg!(debug_assertions) && std::env::var("SLVR_PANIC").is_ok_and(|place| place == here) {
        panic!("a test asked for it");
    }
}
