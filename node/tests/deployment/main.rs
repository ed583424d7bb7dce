//! Three nodes as processes, and clients, on this machine.
//!
//! | file | holds |
//! |---|---|
//! | `world` | a deployment in a temporary folder: its processes, its clients, what they submit |
//! | `proxy` | links between nodes that can be cut, healed and slowed down |
//! | `rounds` | a round from its keys to its result; exclusion, deadlines, idempotence, recovery |
//! | `openings` | rounds are what coordinators have signed, whatever node 0 makes of them |
//! | `dropouts` | who does not come, or is out of range |
//! | `erasing` | who erases what, at all nodes or at none |
//! | `calls` | what callers are told |
//! | `retry` | full disks, and rounds that were aborted and are run again |
//! | `reveals` | what is revealed to clients, and who gets it |
//! | `damage` | files that are damaged or lost, uploads that a restart interrupts |
//! | `schedules` | random faults, and what holds whatever happens |
//! | `attacks` | strangers at both ports |
//! | `distrust` | a party, or a client, that does what it should not |
//! | `format` | what the book says of the format of clients |
//! | `statuses` | every status of every route stands in the description |
//! | `states` | rounds that continue each other |
//! | `harness`, `mutants` | random bytes to all that reads bytes of others |
//! | `load` | many clients at once, by hand |
//! | `page` | the status page and metrics |
//! | `workers` | processes that compute ranges for their node, and what becomes of a round when they fail |
//! | `commands` | who may command a worker, what it refuses, and what each party has of a client |
//! | `ray` | workers that Ray starts, by hand |
//! | `strikes` | the same in schedules that are drawn from a seed |
//! | `causes` | what is said of an attempt that failed where workers or nodes are away |
//! | `upkeep` | backups, other tasks, old rounds, a look from elsewhere, checks |
//!
//! A node is this program once more: the test [`node_process`] is one if a variable names its configuration. So is a worker
//! ([`worker_process`]).

mod attacks;
mod calls;
mod causes;
mod commands;
mod damage;
mod distrust;
mod dropouts;
mod erasing;
mod format;
mod harness;
mod load;
mod mutants;
mod openings;
mod page;
mod proxy;
mod ray;
mod retry;
mod reveals;
mod rounds;
mod schedules;
mod states;
mod statuses;
mod strikes;
mod upkeep;
mod workers;
mod world;

use slvr_node::Service;
use slvr_node::config::{NodeConfig, WorkerConfig};
use slvr_node::worker::Worker;
use std::path::Path;
use std::time::Duration;

/// The variable that makes this program a node.
const CONFIG: &str = "SLVR_TEST_NODE";
/// The variable that makes it a worker.
const WORKER: &str = "SLVR_TEST_WORKER";

/// A node, if it is asked for. Otherwise nothing: then another test has started none.
#[test]
fn node_process() {
    let Some(path) = std::env::var_os(CONFIG) else { return };
    log();
    let config = NodeConfig::read(Path::new(&path)).expect("a configuration");
    let mut service = Service::start(config, Box::new(world::Sums)).expect("starts");
    service.wait();
    service.stop(Duration::from_secs(5));
    // Nothing else is tested in this process.
    std::process::exit(0);
}

fn log() {
    let level = tracing_subscriber::fmt().with_max_level(tracing::Level::INFO);
    level.with_writer(std::io::stderr).with_ansi(false).init();
}

/// A worker, if it is asked for.
#[test]
fn worker_process() {
    let Some(path) = std::env::var_os(WORKER) else { return };
    log();
    let config = WorkerConfig::read(Path::new(&path)).expect("a configuration");
    let _worker = Worker::start(config).expect("starts");
    loop {
        std::thread::park();
    }
}
