//! `--security malicious`: an artifact names its adversary, runs as predicted, and what has no proof is refused.

use crate::folder::{ACCURACY, Place, accuracy};
use slvr_circuit::{Security, artifact};

fn with_inputs() -> Place {
    let place = Place::new();
    accuracy(5).write(&place.path("in"));
    place
}

#[test]
fn a_circuit_against_a_malicious_party_is_built_explained_and_run() {
    let place = with_inputs();
    place.slvrc(&format!("check {ACCURACY} --security malicious --json")).ok();
    place.slvrc(&format!("build {ACCURACY} --security malicious -o m.slvrb --json")).ok();
    place.slvrc(&format!("build {ACCURACY} --protocols t1 -o s.slvrb --json")).ok();
    let of = |name: &str| artifact::read(&place.read(name)).unwrap().security;
    assert_eq!((of("m.slvrb"), of("s.slvrb")), (Security::Malicious, Security::SemiHonest));
    let explained = place.slvrc("explain m.slvrb").stdout;
    assert!(explained.contains("malicious"), "{explained}");
    let program = place.slvrc(&format!("explain {ACCURACY} --security malicious")).stdout;
    assert!(program.contains("a false proof of a malicious party passes"), "{program}");
    let threads = place.slvrc("run m.slvrb --inputs in --seed 3 --outputs a --json").ok();
    let processes =
        place.slvrc("run m.slvrb --inputs in --seed 3 --outputs b --processes --json").ok();
    let plain = place.slvrc("run s.slvrb --inputs in --seed 3 --outputs c --json").ok();
    for run in [&threads, &processes] {
        assert_eq!(run["security"], "malicious");
        assert_eq!(run["rounds"], run["predicted_rounds"]);
        assert_eq!(run["bytes_sent"], run["predicted_bytes_sent"]);
    }
    assert_eq!(plain["security"], "semi-honest");
    assert_eq!(place.read("a/Server.safetensors"), place.read("b/Server.safetensors"));
    assert_ne!(threads["circuit_hash"], plain["circuit_hash"]);
    // An artifact is not more than it was built for.
    let asked = place.slvrc("run s.slvrb --inputs in --security malicious");
    assert_eq!(asked.status, 2);
    assert!(asked.stderr.contains("build it with --security malicious"), "{}", asked.stderr);
    // And nothing that is asked for is left out without a word.
    for (args, said) in [
        ("run m.slvrb --inputs in --security semi-honest", "m.slvrb is against a malicious party"),
        ("run m.slvrb --inputs in --no-speculation", "drop NAME=VALUE"),
        ("explain m.slvrb --protocols t1", "drop NAME=VALUE"),
    ] {
        let asked = place.slvrc(args);
        assert_eq!(asked.status, 2, "{args}: {}", asked.stderr);
        assert!(asked.stderr.contains(said), "{args}: {}", asked.stderr);
    }
    for args in [
        "run m.slvrb --inputs in --security malicious --json",
        "explain s.slvrb --security semi-honest --json",
    ] {
        place.slvrc(args).ok();
    }
}

#[test]
fn the_family_of_a_circuit_is_named() {
    let place = Place::new();
    for (net, family) in [("lan", "t2"), ("lan --protocols t1", "t1")] {
        let args = format!("explain {ACCURACY} --security malicious --net {net}");
        assert_eq!(place.slvrc(&format!("{args} --json")).ok()["proofs"]["family"], family);
        let text = place.slvrc(&args).stdout;
        assert!(text.contains(&format!("; family {family}\n")), "{text}");
    }
}

#[test]
fn what_has_no_proof_is_refused() {
    let place = Place::new();
    let kept = "use std::sum;

predicate P[m]() {
    parties Client[m];
    parties Server;
    input x: secret fix in -1..1 from each Client;
    state last: secret fix in -1..1 = 0;
    let now = 0.5 * last + 0.1 * sum(x[i] for i in Client);
    store now as last;
    reveal now to Server as result;
}";
    std::fs::write(place.path("kept.slvr"), kept).unwrap();
    for how in ["", "--protocols t1", "--protocols t2"] {
        let done =
            place.slvrc(&format!("build kept.slvr m=2 --security malicious {how} -o x.slvrb"));
        assert_eq!(done.status, 1, "{}", done.stderr);
        assert!(done.stderr.contains("E0040"), "{}", done.stderr);
        assert!(!place.path("x.slvrb").exists());
    }
}

/// What has no proof may stand in the library. The message says in which file, and for which step of the program.
#[test]
fn a_refused_computation_is_named_with_its_file_and_step() {
    let place = Place::new();
    let text = "\
model Words(x: fix[2]) -> fix[2] { e: embedding[4, 3]; f: linear[6, 2]; x |> e |> flatten |> f }
predicate P[m]() {
    parties Client[m];
    parties Server;
    input w: secret weights Words in -1..1 from Server;
    input x: secret int[2] in 0..4 from each Client;
    reveal [Words(w, x[i]) for i in Client] to Server as s;
}
";
    place.write("words.slvr", text);
    let done = place.slvrc("check words.slvr m=2 --security malicious --ring 128 --net loopback");
    assert_eq!(done.status, 1, "{}", done.stderr);
    for part in
        ["E0040", "128 bits", "narrower ones fit 64", "std/layers.slvr:", "to compute `s/e`"]
    {
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    }
    assert!(!done.stderr.contains("(line "), "{}", done.stderr);
}

/// So does a convolution whose channels are in groups say that this is why.
#[test]
fn a_convolution_in_groups_is_named() {
    let place = Place::new();
    let text = "\
model Net(x: fix[4, 4, 4]) -> fix[3] {
    c: conv2d[4, 4, kernel = 3, groups = 2];
    f: linear[16, 3];
    x |> c |> relu |> flatten |> f
}
predicate P[m]() {
    parties Client[m];
    parties Server;
    input w: secret weights Net in -1..1 from Server;
    input x: secret fix[4, 4, 4] in 0..1 from each Client;
    reveal [Net(w, x[i]) for i in Client] to Server as s;
}
";
    place.write("groups.slvr", text);
    let done = place.slvrc("check groups.slvr m=2 --security malicious");
    assert_eq!(done.status, 1, "{}", done.stderr);
    for part in ["E0040", "a convolution whose channels are in groups", "to compute `s/c`"] {
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    }
}
