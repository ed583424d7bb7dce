//! `run --state DIR --round N`: what the parties keep from round to round, as files; `eval --state FILE`; files for each
//! member of a receiving set.

use crate::folder::{Folder, Place, f32s};
use std::fs;

const TEXT: &str = "\
use std::{sum};

predicate Going[m = 3]() {
    parties Client[m];
    parties Server;

    input x: secret fix[2] in -8..8 from each Client;

    state total: secret fix[2] in -16..16 = 1;

    let next = total + sum(x[i] for i in Client);

    store next as total;

    reveal next to Server as next;
    reveal next + x[i] to Client[i] as mine;
}
";

fn place() -> Place {
    let place = Place::new();
    place.write("going.slvr", TEXT);
    let mut inputs = Folder::default();
    for i in 0..3u8 {
        inputs.put(&format!("Client/{i}"), "x", f32s(&[2], &[1.0, 0.25 * f32::from(i)]));
    }
    inputs.write(&place.path("in"));
    place
}

#[test]
fn rounds_go_on_from_files_and_replays_and_gaps_are_refused() {
    let place = place();
    let run = |round: u32, more: &str| {
        let args = "run going.slvr --inputs in --outputs out --state kept --round";
        place.slvrc(&format!("{args} {round} --json {more}"))
    };
    let next = || place.tensors("out/Server.safetensors")["next"].clone();
    run(1, "").ok();
    assert_eq!(next(), [4.0, 1.75]);
    for i in 0..3u8 {
        let own = place.tensors(&format!("out/Client/{i}.safetensors"))["mine"].clone();
        assert_eq!(own, [5.0, 1.75 + 0.25 * f64::from(i)]);
    }
    #[cfg(unix)]
    for i in 0..3 {
        let path = place.path(&format!("kept/party{i}.state"));
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(path).expect("it is there").permissions(),
        );
        assert_eq!(mode & 0o077, 0, "a share of a state is its party's alone");
    }
    // A round whose results cannot be written has not counted. What a killed run has left goes with the next one.
    fs::create_dir_all(place.path("blocked/Server.safetensors")).expect("a folder");
    place.write("kept/.party0.state.new.77.tmp", "a share");
    let args = "run going.slvr --inputs in --outputs blocked --state kept --round 2 --json";
    assert_eq!(place.slvrc(args).status, 1);
    // As processes, over the same files.
    run(2, "--processes").ok();
    assert_eq!(next(), [7.0, 2.5]);
    assert!(!place.path("kept/.party0.state.new.77.tmp").exists());
    let refused = |round: u32, why: &str| {
        let before: Vec<Vec<u8>> =
            (0..3).map(|i| place.read(&format!("kept/party{i}.state"))).collect();
        let done = run(round, "");
        assert_eq!(done.status, 1, "{}", done.stdout);
        let message = done.json().to_string();
        assert!(message.contains(why), "{message}");
        let after: Vec<Vec<u8>> =
            (0..3).map(|i| place.read(&format!("kept/party{i}.state"))).collect();
        assert_eq!(before, after);
    };
    refused(2, "round 2 has been run");
    refused(4, "round 4 needs the state after round 3, and there is that after round 2");
    // A state of other sizes, a damaged file, a missing one.
    let other = place.slvrc("run going.slvr m=2 --inputs in --state kept --round 3 --json");
    assert_eq!(other.status, 1);
    let good = place.read("kept/party1.state");
    let mut damaged = good.clone();
    damaged[80] ^= 1;
    place.write("kept/party1.state", &damaged);
    refused(3, "damaged");
    fs::remove_file(place.path("kept/party1.state")).expect("it is there");
    let done = run(3, "");
    assert_eq!(done.status, 1);
    assert!(done.json().to_string().contains("the files of all three parties belong together"));
    place.write("kept/party1.state", &good);
    run(3, "").ok();
    assert_eq!(next(), [10.0, 3.25]);
}

#[test]
fn a_state_needs_a_program_with_one_and_a_round() {
    let place = place();
    let done = place.slvrc("run going.slvr --inputs in --state kept --json");
    assert_eq!(done.status, 2);
    let late = place.slvrc("run going.slvr --inputs in --state kept --round 2 --json");
    assert_eq!(late.status, 1);
    assert!(late.json().to_string().contains("the first round is 1"));
    assert!(!place.path("kept").exists());
    place.write(
        "plain.slvr",
        TEXT.replace("state total: secret fix[2] in -16..16 = 1;", "let total = 0;")
            .replace("store next as total;", ""),
    );
    let plain = place.slvrc("run plain.slvr --inputs in --state kept --round 1 --json");
    assert_eq!(plain.status, 2, "{}", plain.stdout);
}

#[test]
fn eval_goes_on_from_a_file_in_the_clear() {
    let place = place();
    for how in ["", "--exact"] {
        let file = format!("s{}.safetensors", how.len());
        let eval = || {
            let args = format!("eval going.slvr --inputs in --state {file} --json {how}");
            place.slvrc(&args).ok()["outputs"][0]["values"].clone()
        };
        assert_eq!(eval(), serde_json::json!([4.0, 1.75]));
        assert_eq!(eval(), serde_json::json!([7.0, 2.5]));
        assert_eq!(place.tensors(&file)["total"], [7.0, 2.5]);
        // Of another predicate, although the states have the same names and shapes.
        place.write("other.slvr", TEXT.replace("predicate Going", "predicate Coming"));
        let args = format!("eval other.slvr --inputs in --state {file} {how}");
        let other = place.slvrc(&args);
        assert_eq!(other.status, 1, "{}", other.stdout);
        let said = "the states are those of Going m=3, and this is Coming m=3";
        assert!(other.stderr.contains(said), "{}", other.stderr);
        assert_eq!(place.tensors(&file)["total"], [7.0, 2.5]);
    }
}

/// The file of `eval --state` counts rounds: each has noise of its own, and the same rounds again the same noise.
#[test]
fn each_round_of_an_evaluation_has_its_own_noise() {
    let place = place();
    let text = TEXT
        .replace("    store next", "    sample z: fix[2] from gaussian(1);\n    store next")
        .replace("reveal next to", "reveal z + next - next to");
    place.write("going.slvr", text);
    for how in ["", "--exact"] {
        let rounds = |file: &str| -> Vec<serde_json::Value> {
            let args = format!("eval going.slvr --inputs in --state {file} --json {how}");
            (0..3).map(|_| place.slvrc(&args).ok()["outputs"][0]["values"].clone()).collect()
        };
        let one = rounds(&format!("a{}.safetensors", how.len()));
        assert!(one[0] != one[1] && one[1] != one[2] && one[0] != one[2], "{one:?}");
        assert_eq!(one, rounds(&format!("b{}.safetensors", how.len())));
    }
}

const PRESENT: &str = "\
use std::{sum};

predicate Present[m = 3]() {
    parties Client[m];
    parties Server;

    input x: secret fix[2] in 1..8 from each Client;
    input present: public bit from each Client;

    state rounds: secret int[m] in 0..100 = 0;

    let n = [rounds[i] + present[i] for i in Client];

    store n as rounds;

    reveal n to Server as rounds;
    reveal sum(present[i] * x[i] for i in Client) / sum(present) to Server as mean;
}
";

/// In a program with a state each client keeps its place: without one a round goes on only if the program reads who is there.
/// Whoever gives nothing, and whoever the parties reject, is away in the same way, and zeros do not stand in for it.
#[test]
fn a_program_with_a_state_reads_who_takes_part() {
    let place = place();
    let run = "run going.slvr --inputs in --outputs out --state kept --round 1";
    fs::remove_file(place.path("in/Client/1.safetensors")).expect("it is there");
    let refused = place.slvrc(run);
    assert_eq!(refused.status, 1);
    insta::assert_snapshot!(refused.stderr.lines().last().unwrap_or_default(), @"error: Client 1 (missing): a program with a state keeps a place for each member. Without one it goes on if it reads who takes part, `input present: public bit from each Client`; `--invalid zeros` has zeros stand in for their inputs");
    assert!(!place.path("kept/party0.state").exists());

    place.write("present.slvr", PRESENT);
    let x = |client: u8| [1.0 + f32::from(client), 2.5 * (1.0 + f32::from(client))];
    // Who is away in each round, and who submits what is out of range.
    let rounds: [(Option<u8>, Option<u8>); 4] =
        [(None, None), (Some(1), None), (None, Some(2)), (Some(0), Some(1))];
    for how in ["", "--processes", "--no-speculation", "--protocols t1"] {
        let mut counts = [0.0; 3];
        fs::remove_dir_all(place.path("kept")).ok();
        fs::remove_file(place.path("clear.safetensors")).ok();
        for (round, (away, wrong)) in (1..).zip(rounds) {
            let mut inputs = Folder::default();
            for i in (0..3u8).filter(|i| Some(*i) != away) {
                let x = if Some(i) == wrong { [900.0, 1.0] } else { x(i) };
                inputs.put(&format!("Client/{i}"), "x", f32s(&[2], &x));
            }
            fs::remove_dir_all(place.path("in")).ok();
            inputs.write(&place.path("in"));
            let there: Vec<u8> = (0..3).filter(|i| Some(*i) != away && Some(*i) != wrong).collect();
            there.iter().for_each(|&i| counts[usize::from(i)] += 1.0);
            let mean = [0, 1].map(|d| {
                let all = there.iter().map(|&i| f64::from(x(i)[d]));
                all.sum::<f64>() / there.len() as f64
            });
            let call = |args: &str| {
                let done = place.slvrc(args);
                assert_eq!(done.status, 0, "{args}: {}", done.stderr);
                place.tensors("out/Server.safetensors")
            };
            let check = |got: &std::collections::BTreeMap<String, Vec<f64>>, what: &str| {
                assert_eq!(got["rounds"], counts, "{how}, round {round}, {what}");
                for (got, want) in got["mean"].iter().zip(mean) {
                    assert!(
                        (got - want).abs() < 1e-3,
                        "{how}, round {round}, {what}: {got} {want}"
                    );
                }
            };
            check(
                &call(&format!(
                    "run present.slvr --inputs in --outputs out --state kept --round {round} --submit-unchecked {how}"
                )),
                "run",
            );
            check(
                &call("eval present.slvr --inputs in --outputs out --state clear.safetensors"),
                "eval",
            );
        }
    }
}
