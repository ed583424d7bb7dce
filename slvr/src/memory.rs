//! How much memory is free, and whether a run fits it.

use crate::error::{Error, Result};
use slvr_circuit::{Circuit, proof};
use slvr_compiler::cost;
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// Bytes that so many parties take in this process for their proofs, beside their values: none among honest parties.
pub fn of_proofs(circuit: &Circuit, parties: usize) -> u64 {
    if !circuit.security.is_malicious() {
        return 0;
    }
    // A circuit without proofs does not run, so that it takes nothing for them.
    proof::memory(circuit, parties, slvr_ring::threads::count()).unwrap_or(0)
}

/// Bytes that three parties in this process take for a run.
pub fn of_run(circuit: &Circuit) -> u64 {
    let of_each = cost::peak_memory(circuit);
    let proofs = of_proofs(circuit, of_each.len());
    of_each.iter().fold(proofs, |sum, &n| sum.saturating_add(n))
}

/// Refuses what cannot be in memory, before any of it is allocated: an allocation that fails ends the process without
/// a word.
///
/// # Errors
///
/// [`Error::Memory`].
pub fn must_fit(bytes: u64, what: &str) -> Result<()> {
    let system = looked();
    let Some(free) = free_of(&system) else { return Ok(()) };
    let free = free.saturating_add(system.free_swap());
    let gigabytes = |n: u64| n as f64 / 1e9;
    if bytes > free {
        return Err(Error::Memory(format!(
            "{what} takes {:.1} GB of memory, and {:.1} GB are free",
            gigabytes(bytes),
            gigabytes(free)
        )));
    }
    Ok(())
}

/// Bytes of memory that a program can have now; `None` where the system does not say.
pub fn free() -> Option<u64> {
    free_of(&looked())
}

/// Of processes only this one.
fn looked() -> System {
    let mut system = System::new();
    system.refresh_memory();
    if let Ok(own) = sysinfo::get_current_pid() {
        let what = ProcessRefreshKind::nothing().with_memory();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), false, what);
    }
    system
}

fn free_of(system: &System) -> Option<u64> {
    let free = system.available_memory();
    // A container may be allowed less than the machine has, and so may a process (`ulimit -v`).
    let allowed = system.cgroup_limits().map_or(u64::MAX, |l| l.free_memory);
    let allowed = allowed.min(addresses().unwrap_or(u64::MAX));
    // What this process holds between runs is free for the next one.
    let held: u64 = system.processes().values().map(|own| own.memory()).sum();
    Some(free.min(allowed)).filter(|&n| n > 0).map(|n| n + held)
}

/// Bytes that this process may address; `None` where there is no limit, or the system does not say.
fn addresses() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}
