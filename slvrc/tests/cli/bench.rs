//! `slvrc bench`: a tiny table as Markdown, JSON and SVG.

use serde_json::Value;
use std::process::{Command, Output};

const TINY: &str = "--models DigitsNet --m 5 --repeats 1 --seed 3 --rows top-k,norm";

fn bench(args: &str, dir: &std::path::Path) -> Output {
    let slvrc = Command::new(env!("CARGO_BIN_EXE_slvrc"))
        .arg("bench")
        .args(args.split_whitespace())
        .current_dir(dir)
        .output();
    slvrc.expect("slvrc starts")
}

fn stdout(out: &Output) -> String {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout.clone()).expect("UTF-8")
}

/// The cells of a Markdown table: head, then rows. Fails on rows of unequal width.
fn cells(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|l| l.starts_with('|'));
    let rows: Vec<Vec<String>> = lines
        .map(|l| l.trim_matches('|').split(" | ").map(|c| c.trim().to_string()).collect())
        .collect();
    let width = rows.first().expect("a head").len();
    let rule = &rows[1];
    assert_eq!(rule.len(), 1, "{rule:?}");
    assert_eq!(rule[0], vec!["---"; width].join("|"));
    let body: Vec<Vec<String>> =
        rows.into_iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, r)| r).collect();
    assert!(body.iter().all(|r| r.len() == width), "{body:?}");
    body
}

#[test]
fn json_counts_what_was_predicted() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = bench(&format!("{TINY} --net loopback --json"), dir.path());
    let report: Value = serde_json::from_str(&stdout(&out)).expect("one object");
    assert_eq!((&report["ok"], &report["repeats"]), (&Value::Bool(true), &1.into()));
    let rows = report["rows"].as_array().expect("rows");
    let names: Vec<&str> = rows.iter().filter_map(|r| r["name"].as_str()).collect();
    assert_eq!(names, ["norm/DigitsNet/m=5", "top-k/m=5"]);
    for row in rows {
        assert!(row["rounds"].as_u64().is_some_and(|n| n > 0), "{row}");
        for key in ["rounds", "bytes_sent", "peak_memory_bytes"] {
            assert_eq!(row[key], row[&format!("predicted_{key}")], "{key}: {row}");
        }
        assert_eq!(row["runs_seconds"].as_array().map(Vec::len), Some(1), "{row}");
        assert_eq!(row["semi_honest"], Value::Null);
        let larger = row["floor_seconds"]["larger"].as_f64().expect("a floor");
        let ratio = row["times_the_floor"].as_f64().expect("a ratio");
        let seconds = row["seconds"].as_f64().expect("seconds");
        assert!((ratio * larger - seconds).abs() <= 1e-9 * seconds, "{row}");
    }
}

/// Against a malicious party the semi-honest build runs beside, and what is counted is what was predicted, memory included.
#[test]
fn a_malicious_party_is_compared_with_semi_honest_ones() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = "--models DigitsNet --m 5 --rows norm/ --net loopback --security malicious";
    let out = bench(&format!("{args} --repeats 1 --json"), dir.path());
    let report: Value = serde_json::from_str(&stdout(&out)).expect("JSON");
    assert_eq!(report["security"], "malicious");
    let [row] = report["rows"].as_array().expect("rows").as_slice() else { panic!("{report}") };
    for key in ["rounds", "bytes_sent", "peak_memory_bytes"] {
        assert_eq!(row[key], row[&format!("predicted_{key}")], "{key}: {row}");
    }
    let other = &row["semi_honest"];
    let number = |v: &Value| v.as_f64().unwrap_or_else(|| panic!("{row}"));
    let ratio = number(&row["seconds"]) / number(&other["seconds"]);
    assert!((number(&other["times_seconds"]) - ratio).abs() <= 1e-9 * ratio, "{row}");
    // It may send less: its reals have shorter words than those of some semi-honest circuits.
    let sent =
        |v: &Value| -> f64 { v["bytes_sent"].as_array().expect("bytes").iter().map(number).sum() };
    let times = sent(row) / sent(other);
    assert!((number(&other["times_bytes_sent"]) - times).abs() <= 1e-9 * times, "{row}");
    assert!(number(&other["times_memory"]) > 1.0, "{row}");
    let more = number(&row["rounds"]) - number(&other["rounds"]);
    assert_eq!(number(&other["rounds_more"]), more);
    let table = cells(&stdout(&bench(&format!("{args} --repeats 0"), dir.path())));
    assert!(table[0].iter().any(|h| h == "times semi-honest: s"), "{:?}", table[0]);
}

#[test]
fn markdown_has_a_cell_for_each_column_and_the_chart_is_xml() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = format!("{TINY} --net loopback,wan --memory --svg chart.svg");
    let table = cells(&stdout(&bench(&args, dir.path())));
    let head = &table[0];
    for column in ["rounds", "floor, s", "MB of values in a party (most)", "MP-SPDZ, s"] {
        assert!(head.iter().any(|h| h == column), "{head:?}");
    }
    let nets: Vec<&str> = table[1..].iter().map(|r| r[1].as_str()).collect();
    assert_eq!(nets, ["loopback", "wan", "loopback", "wan"]);

    let chart = std::fs::read_to_string(dir.path().join("chart.svg")).expect("a chart");
    let xml = roxmltree::Document::parse(&chart).expect("XML");
    assert_eq!(xml.root_element().tag_name().name(), "svg");
    let labels: Vec<&str> = xml
        .descendants()
        .filter(|n| n.attribute("class") == Some("label"))
        .filter_map(|n| n.text())
        .collect();
    for name in ["norm/DigitsNet/m=5, loopback", "top-k/m=5, loopback"] {
        assert!(labels.contains(&name), "{labels:?}");
    }
}

#[test]
fn nothing_runs_without_repeats() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = "--models LeNet5,NoSuchNet --m 10 --repeats 0 --net lan --rows norm/ --json";
    let report: Value = serde_json::from_str(&stdout(&bench(args, dir.path()))).expect("JSON");
    let [known, unknown] = report["rows"].as_array().expect("rows").as_slice() else {
        panic!("two rows: {report}")
    };
    assert_eq!((&known["skipped"], &known["seconds"]), (&"predicted only".into(), &Value::Null));
    assert!(known["predicted_rounds"].as_u64().is_some_and(|n| n > 0), "{known}");
    let elsewhere: Vec<&Value> =
        known["elsewhere"].as_array().expect("a list").iter().map(|f| &f["origin"]).collect();
    assert_eq!(elsewhere, ["paper", "MP-SPDZ"]);
    assert!(unknown["skipped"].as_str().is_some_and(|s| s.contains("NoSuchNet")), "{unknown}");
}

#[test]
fn rows_and_networks_that_are_not_there_are_wrong_use() {
    let dir = tempfile::tempdir().expect("a directory");
    for (args, said) in [("--rows nrom", "norm/LeNet5/m=10"), ("--net moon", "loopback")] {
        let out = bench(args, dir.path());
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}
