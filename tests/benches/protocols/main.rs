//! The protocol catalogue, measured: each macro alone, in both families, among three parties in this
//! process whose messages take no time. `cargo bench -p slvr-tests --bench protocols`.
//!
//! Arguments after `--`: a number of elements (default 1,000,000); `profile`, for the processor time of
//! each instruction; part of a macro's name, to measure only that.
//!
//! Seconds are medians of five runs, from shares to shares; processor seconds are those of the whole
//! process, all three parties. Every run of a T2 circuit stands beside one of the T1 circuit. Before it
//! is measured each circuit's results are checked.

#[allow(dead_code, reason = "the tests of the book use the rest")]
mod macros;
mod run;

use macros::{MACROS, Macro, circuit, families, rounds};
use run::{Shares, element, run};
use slvr_circuit::Circuit;
use slvr_circuit::traffic::Traffic;

const RUNS: usize = 5;

struct Row {
    circuit: Circuit,
    label: String,
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

fn main() {
    slvr_allocator::keep_large_pages();
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let n = args.iter().find_map(|a| a.parse().ok()).unwrap_or(1_000_000u64);
    let profile = args.iter().any(|a| a == "profile");
    let only = args.iter().find(|a| a.parse::<u64>().is_err() && *a != "profile");
    println!(
        "| macro | family | rounds | bits per element, all parties | s | processor s | the first row's processor s / this |"
    );
    println!("|---|---|---|---|---|---|---|");
    for of in MACROS.iter().filter(|m| only.is_none_or(|o| m.name.contains(o.as_str()))) {
        measure(of, n, profile);
    }
}

fn measure(of: &Macro, n: u64, profile: bool) {
    let shares = Shares::new(of.magnitude, n);
    // As the compiler does: elements of a vector are dealt by whoever deals for their part of it.
    let groups = n as u32;
    let mut rows = Vec::new();
    for (label, family) in families(of) {
        let (circuit, result) = circuit(of, n, family, groups);
        let done = run(&circuit, &shares, Some(result), false);
        for (i, given) in shares.given.iter().enumerate() {
            let z = element(&circuit, &done.kept, result, i);
            assert!((of.right)(*given, z), "{}, {label}: element {i}", of.name);
        }
        assert_eq!(done.bytes, Traffic::of(&circuit).bytes, "predicted = counted");
        rows.push(Row { circuit, label, wall: vec![], cpu: vec![] });
    }
    for _ in 0..RUNS {
        for row in &mut rows {
            let done = run(&row.circuit, &shares, None, false);
            row.wall.push(done.seconds);
            row.cpu.push(done.processor);
        }
    }
    let Some(cpu_t1) = rows.first_mut().map(|r| median(&mut r.cpu)) else { return };
    for row in &mut rows {
        let (wall, cpu) = (median(&mut row.wall), median(&mut row.cpu));
        let bytes: u64 = Traffic::of(&row.circuit).bytes.iter().sum();
        println!(
            "| {} | {} | {} | {:.0} | {wall:.3} | {cpu:.3} | {:.2} |",
            of.name,
            row.label,
            rounds(&row.circuit),
            bytes as f64 * 8.0 / n as f64,
            cpu_t1 / cpu,
        );
    }
    for row in rows.iter().filter(|_| profile) {
        let done = run(&row.circuit, &shares, None, true);
        println!("\n{}, {}: ms of processor time by instruction", of.name, row.label);
        let mut times: Vec<_> = done.times.into_iter().collect();
        times.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (what, ms) in times {
            println!("{ms:8.2} {what}");
        }
    }
}

fn median(xs: &mut [f64]) -> f64 {
    xs.sort_by(f64::total_cmp);
    xs.get(xs.len() / 2).copied().unwrap_or(f64::NAN)
}
