//! A run among three parties: threads of this process, or processes of their own.

use crate::memory;
use crate::processes::{self, Processes};
use indicatif::ProgressBar;
use slvr_circuit::Circuit;
use slvr_compiler::cost::NetProfile;
use slvr_runtime::link::shaped::Line;
use slvr_runtime::party::RunError;
use slvr_runtime::party::session::{self, Options, Report};
use slvr_runtime::share::encode::Inputs;
use std::time::Duration;

/// A network profile as a line.
pub fn line(net: &NetProfile) -> Line {
    let latency = Duration::try_from_secs_f64(net.rtt_s / 2.0).unwrap_or(Duration::MAX);
    Line { bits_per_s: net.bandwidth_bits_per_s, latency }
}

/// Runs a circuit among three threads of this process.
pub fn run_with(
    circuit: &Circuit,
    inputs: &Inputs,
    options: Options<'_>,
    bar: &ProgressBar,
) -> Result<Report, RunError> {
    let progress = |done: usize, _all: usize| bar.set_position(done as u64);
    memory::expect(slvr_compiler::cost::peak_memory(circuit).iter().sum());
    session::run_local(circuit, inputs, &Options { progress: Some(&progress), ..options })
}

/// Runs a circuit among three processes.
pub fn run_apart(
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
