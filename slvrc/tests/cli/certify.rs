//! `certify`: what it prints of a small folder of inputs, and its JSON.

use crate::folder::{ACCURACY, Folder, Place, accuracy, f64s};
use insta::assert_snapshot;
use serde_json::json;

/// Scores are products of five numbers, which the words of a run do not hold unrounded; one client's is as near to the threshold as
/// rounding goes.
const SCORES: &str = "\
use std::sum;

predicate Scores[m, n]() {
    parties Client[m];
    parties Server;

    input x: secret fix[n] in -8..8 from each Client;
    input y: secret fix[n] in -8..8 from each Client;

    let score = [sum(x[i][j] * y[i][j]^4 for j in n) for i in Client];
    let keep  = [score[i] < 3 for i in Client];

    reveal sum(keep) to Server as total;
}
";

fn scores() -> Place {
    let place = Place::new();
    place.write("scores.slvr", SCORES);
    let mut folder = Folder::default();
    let all = [
        [0.1, 0.2, 0.3, 0.4],
        [81028.0 / 65536.0, 0.0, 81794.0 / 65536.0, 0.0],
        [5.0, -7.0, 2.0, 2.0],
        [-1.0, 1.0, 3.0, 0.2],
    ];
    for (i, [a, b, c, d]) in all.into_iter().enumerate() {
        folder.put(&format!("Client/{i}"), "x", f64s(&[2], &[a, b]));
        folder.put(&format!("Client/{i}"), "y", f64s(&[2], &[c, d]));
    }
    folder.write(&place.path("in"));
    place
}

#[test]
fn a_small_folder() {
    let place = scores();
    place.write(
        "in/about.json",
        r#"{"data": "made up", "attacks": [{"of": "Client", "member": 2, "what": "sends large numbers"}]}"#,
    );
    let done = place.slvrc("certify scores.slvr m=4 n=2 --inputs in");
    assert_eq!((done.status, done.stderr.as_str()), (0, ""));
    assert_snapshot!(done.stdout, @r"
    Scores m=4 n=2

      inputs        in: 4 Client
                    made up
                    Client 2 attacks: sends large numbers
      failure       at most 2^-60.0, proven
                    2^-60.0: roundings add up beyond the bounds for these inputs

    proven for all inputs, as they are encoded
      reveal        total is off by at most 0 if no decision is within its margin
                    rounding the inputs changes it by at most 0
      decisions     the largest margin is 7.4e-4, in line 11

    proven for these inputs, as they are encoded, except with probability 2^-60
      decisions     3 of 4 (75.0 %) certified: every run takes them as the program does
                    line 11, keep: 3 of 4 (75.0 %); the smallest gap is 0.00 of its bound
                      of members that do not attack: 2 of 3 (66.6 %)
      gap / bound   how far the sides are apart, in bounds of how far a run may be off
                          below 1        1 ##############
                    4096 and more        3 ########################################
      keep          3 of 4 bits of Client certain (line 11, keep)
                    Client 1: 0 in the program, depends on 1 decision that is not certified
      reveal        total is off by at most 1.0e0, whatever is decided

    measured on in, in one evaluation in the circuit's arithmetic
      decisions     4 of 4 agree with floating point on the encoded inputs
                    between 26.591 % and 100.000 % with a confidence of 99 % (Clopper and Pearson)
    ");
}

/// The object has the same figures.
#[test]
fn the_same_as_json() {
    let place = scores();
    let found = place.slvrc("certify scores.slvr m=4 n=2 --inputs in --json --confidence 95").ok();
    let proven = &found["proven_for_these_inputs"];
    assert_eq!(proven["total"], json!({ "certified": 3, "decisions": 4 }));
    let keep = &proven["keep"][0];
    assert_eq!(
        (&keep["bits"], &keep["certain"], &keep["of"]),
        (&json!(4), &json!(3), &json!("Client"))
    );
    assert_eq!(keep["uncertain"], json!([{ "index": 1, "program": false, "depends_on": 1 }]));
    let all: u64 = proven["histogram"]
        .as_array()
        .expect("buckets")
        .iter()
        .map(|b| b["decisions"].as_u64().expect("a number"))
        .sum();
    assert_eq!(all, 4);
    assert_eq!(
        (&found["measured"]["of"], &found["measured"]["confidence"]),
        (&json!(4), &json!(0.95))
    );
    assert!(found["failure_log2"].as_f64().expect("a number") >= -60.1);
    // Nobody says who attacks.
    assert_eq!(found["inputs"]["about"], json!(null));
    assert_eq!(found["not_attacking"][0]["of"], json!(null));
}

/// With as many numbers as clients a bit for each number is nobody's.
#[test]
fn bits_of_numbers_are_of_no_client() {
    let place = Place::new();
    let over_clients = SCORES
        .replace("for j in n) for i in Client]", "for i in Client) for j in n]")
        .replace("< 3 for i in Client]", "< 3 for i in n]");
    assert_eq!(over_clients.matches(" in n]").count(), 2);
    place.write("numbers.slvr", &over_clients);
    let mut folder = Folder::default();
    for (i, [a, b]) in [[0.1, 0.2], [1.5, -0.25]].into_iter().enumerate() {
        folder.put(&format!("Client/{i}"), "x", f64s(&[2], &[a, b]));
        folder.put(&format!("Client/{i}"), "y", f64s(&[2], &[b, a]));
    }
    folder.write(&place.path("in"));
    let found = place.slvrc("certify numbers.slvr m=2 n=2 --inputs in --json").ok();
    let proven = &found["proven_for_these_inputs"];
    assert_eq!((&proven["keep"][0]["of"], &proven["keep"][0]["bits"]), (&json!(null), &json!(2)));
    assert_eq!(proven["lines"][0]["of_set"], json!(null));
}

/// The committees are those of the coins, as in `eval`.
#[test]
fn a_predicate_with_committees() {
    let place = Place::new();
    accuracy(5).write(&place.path("in"));
    let of = |options: &str| {
        place.slvrc(&format!("certify {ACCURACY} --inputs in --json {options}")).ok()
    };
    let found = of("");
    let total = &found["proven_for_these_inputs"]["total"];
    assert!(total["decisions"].as_u64().expect("a number") > 8, "{total}");
    assert_eq!(found["measured"]["seen"], found["measured"]["of"]);
    assert_eq!(of("--seed 0"), found);
    assert_ne!(of("--seed 1")["proven_for_these_inputs"]["histogram"], json!(null));
}

#[test]
fn what_it_refuses() {
    let place = scores();
    for (args, status, what) in [
        ("certify scores.slvr m=4 n=2", 2, "--inputs"),
        ("certify scores.slvrb --inputs in", 2, "certify takes a program"),
        ("certify scores.slvr m=4 n=3 --inputs in", 1, "x"),
        ("certify scores.slvr m=4 n=2 --inputs in --confidence 100", 2, "less than 100"),
        ("certify scores.slvr m=4 n=2 --inputs in --coins 1", 2, "--coins"),
    ] {
        let done = place.slvrc(args);
        assert_eq!(done.status, status, "{args}: {}", done.stderr);
        assert!(done.stderr.contains(what), "{args}: {}", done.stderr);
    }
    place.write("in/about.json", r#"{"attack": 1}"#);
    let done = place.slvrc("certify scores.slvr m=4 n=2 --inputs in");
    assert_eq!(done.status, 1);
    assert!(
        done.stderr.contains("about.json: it should be an object of `data`"),
        "{}",
        done.stderr
    );
}
