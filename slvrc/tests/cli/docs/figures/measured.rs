//! What was measured, on the performance page: the README's selection of it, and whether rounds and bytes in it are
//! those of today.

use super::super::{read, root};
use super::build::pinned;
use super::costs::protocol_macros;
use crate::folder::is_full;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

/// Rows of the measured tables, by row and network.
fn measurements() -> BTreeMap<(String, String), Vec<String>> {
    let page = read(&root().join("docs/src/performance.md"));
    let cells = |l: &str| l.split('|').map(|c| c.trim().to_string()).collect::<Vec<_>>();
    let rows = page.lines().filter(|l| l.starts_with('|')).map(cells).filter(|c| c.len() > 8);
    let networks = ["loopback", "lan", "wan"];
    let rows = rows.filter(|c| networks.contains(&c[2].as_str()));
    rows.map(|c| ((c[1].clone(), c[2].clone()), c[3..].to_vec())).collect()
}

/// The README's selection of the measured rows.
pub fn measured() -> String {
    let rows = [
        (
            "LeNet-5 (max pooling), one client's accuracy score: 60 inferences",
            "client-accuracy-both-secret/LeNet5Max",
        ),
        (
            "LeNet-5 (max pooling), one client's confidence score: 30 inferences",
            "client-confidence/LeNet5Max",
        ),
        ("LeNet-5, norm bound", "norm/LeNet5"),
        ("top-k of ten scores", "top-k"),
        ("**LeNet-5, a whole round: 400 inferences**", "round-accuracy/LeNet5"),
        ("**LeNet-5 (max pooling), a whole round**", "round-accuracy/LeNet5Max"),
        (
            "ResNet-18, one client's accuracy score: 60 inferences",
            "client-accuracy-both-secret/ResNet18",
        ),
        ("ResNet-18, norm bound", "norm/ResNet18"),
        ("ResNet-18, a whole round: 400 inferences", "round-accuracy/ResNet18"),
    ];
    let all = measurements();
    let mut out = String::from(
        "| ten clients, compiled for and run on: loopback / LAN / WAN | rounds | MB sent by all | s | \
         MP-SPDZ, s |\n|---|---|---|---|---|\n",
    );
    for (about, row) in rows {
        let cell = |i: usize| {
            let on = ["loopback", "lan", "wan"];
            let of = |n: &str| {
                let row = all.get(&(format!("{row}/m=10"), n.to_string()));
                row.map_or("-", |r: &Vec<String>| r[i].as_str()).to_string()
            };
            let cells = on.map(of);
            match &cells {
                [a, b, c] if a == b && b == c => a.clone(),
                [a, b, c] if b == "-" && c == "-" => format!("{a}, loopback"),
                _ => cells.join(" / "),
            }
        };
        let _ =
            writeln!(out, "| {about} | {} | {} | {} | {} |", cell(0), cell(1), cell(2), cell(4));
    }
    out
}

/// Rounds and megabytes of the measured rows are those of the pinned artifacts. `SLVR_EFFORT=full` compares all
/// rows with what the bench predicts, which takes longer.
#[test]
fn measured_rows() {
    let measured = measurements();
    let programs = [
        ("norm", "bench/norm M={M} m=10"),
        ("client-accuracy-both-secret", "bench/accuracy_secret M={M} c=1 b=10"),
        ("client-confidence", "bench/confidence M={M} c=1 b=10"),
        ("round-accuracy", "slvr_accuracy M={M} m=10 c=1 b=10"),
        ("top-k", "bench/top_k m=10 c=1"),
    ];
    let pinned = pinned();
    let mut count = 0;
    for ((row, net), cells) in &measured {
        let mut parts = row.split('/');
        let (job, model) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let model = if model == "LeNet5Max" { "lenet5_max.slvr:LeNet5Max" } else { model };
        let program = programs.iter().find(|(name, _)| *name == job).expect("a program").1;
        let key = format!("{} | t2 {net}", program.replace("{M}", model));
        // Of deep models loopback is not pinned, of LeNet-5 with max pooling only the LAN is.
        let Some((rounds, bytes)) = pinned.get(&key) else { continue };
        assert_eq!(cells[0], rounds.to_string(), "rounds of {row} on {net}");
        let (said, mb) = (cells[1].parse::<f64>().expect("a number"), *bytes as f64 / 1e6);
        assert!((said - mb).abs() <= 0.006 * mb, "MB of {row} on {net}: {said}, not {mb}");
        count += 1;
    }
    assert!(count >= 14, "only {count} rows are pinned");
    if !is_full() {
        return;
    }
    let page = read(&root().join("docs/src/performance.md"));
    let mut bench = Command::new(env!("CARGO_BIN_EXE_slvrc"));
    bench.args(["bench", "--repeats", "0", "--m", "10"]);
    let done = bench.output().expect("the bench");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut found = 0;
    for line in String::from_utf8_lossy(&done.stdout).lines().filter(|l| l.contains("/m=10")) {
        let cells: Vec<&str> = line.split(" | ").take(5).collect();
        // The page leaves out what the party sends that sends most.
        let (named, all) =
            (cells[..2].join(" | "), [&cells[..3], &cells[4..]].concat().join(" | "));
        if page.contains(&format!("\n{named} |")) {
            assert!(page.contains(&format!("\n{all} |")), "performance.md, not: {all}");
            found += 1;
        }
    }
    assert_eq!(found, measured.len(), "rows of the page");
}

/// Rounds and bits of the measured macros are those of their circuits.
#[test]
fn measured_macros() {
    let page = read(&root().join("tests/benches/protocols/measured.md"));
    for row in protocol_macros().lines().skip(2) {
        assert!(page.contains(&format!("\n{row}")), "measured.md has no row {row}");
    }
}
