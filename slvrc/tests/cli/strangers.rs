//! Artifacts that somebody else made: what they may not do, and what is said of them.

use crate::folder::{ACCURACY, Folder, Place, accuracy, i64s};
use serde_json::json;
use slvr_circuit::{Circuit, Security, artifact, text};

/// The file of a circuit that is written as text.
fn write(place: &Place, name: &str, circuit: &str) -> Circuit {
    let circuit = text::parse(circuit).unwrap_or_else(|e| panic!("{e}"));
    std::fs::write(place.path(name), artifact::write(&circuit)).expect("a file");
    circuit
}

/// Inputs of three clients, named `x`, of 64 integers.
fn inputs(place: &Place) {
    let mut folder = Folder::default();
    for i in 0..3 {
        folder.put(&format!("Client/{i}"), "x", i64s(&[64], &[i; 64]));
    }
    folder.write(&place.path("in"));
}

const HEAD: &str = r#"circuit "stranger"
party "Client" 3
party "Server" 1
input %0 "x" from 0 int(0, 10) [64] : A64[3,64]
output 0 "y" to 1 [3,64] ring 64 frac 0 factor 1.0 divisor 1.0
site 0 "s" line 1
layer 0:
"#;

/// No `open` in it, and yet two parties would learn every input.
#[test]
fn a_mask_that_cancels_is_refused_by_every_verb() {
    let place = Place::new();
    inputs(&place);
    let circuit = format!(
        "{HEAD}  %1 = mask 0 A64 [3,64] groups 3 : mask.g3.A64[3,64] @0
  %2 = dup_of %0 groups 3 : dup.g3.A64[3,64] @0
  %3 = as_add2 %2 : add2.g3.A64[3,64] @0
  %4 = as_add2 %1 : add2.g3.A64[3,64] @0
  %5 = add %3 %4 : add2.g3.A64[3,64] @0
  %6 = as_add3 %0 : add3.A64[3,64] @0
  exchange:
  %7 = open_masked %5 %1 : dup.g3.A64[3,64] @0
  open_to %6 output 0 @0
"
    );
    write(&place, "a.slvrb", &circuit);
    for how in [
        "run a.slvrb --inputs in",
        "run a.slvrb --inputs in --processes",
        "explain a.slvrb",
        "eval a.slvrb --inputs in",
    ] {
        let done = place.slvrc(how);
        assert_eq!(done.status, 1, "{how}: {}", done.stderr);
        assert!(done.stderr.contains("depends on its own mask %1"), "{how}: {}", done.stderr);
    }
    // Without the mask in the operand it runs.
    write(&place, "a.slvrb", &circuit.replace("open_masked %5", "open_masked %3"));
    place.slvrc("run a.slvrb --inputs in --json").ok();
}

#[test]
fn an_input_that_is_opened_is_refused() {
    let place = Place::new();
    inputs(&place);
    let circuit = format!(
        "{HEAD}  %1 = as_add3 %0 : add3.A64[3,64] @0
  exchange:
  open_to %1 output 0 @0
  %2 = open %0 : pub.A64[3,64] @0
"
    );
    write(&place, "a.slvrb", &circuit);
    let done = place.slvrc("run a.slvrb --inputs in");
    assert_eq!(done.status, 1, "{}", done.stderr);
    assert!(done.stderr.contains("what is not the bits of a check"), "{}", done.stderr);
}

/// Files are named after party sets.
#[test]
fn a_party_set_with_a_path_for_a_name_is_refused() {
    let place = Place::new();
    inputs(&place);
    let circuit = format!(
        "{HEAD}  %1 = as_add3 %0 : add3.A64[3,64] @0\n  exchange:\n  open_to %1 output 0 @0\n"
    );
    write(&place, "a.slvrb", &circuit.replace("\"Server\"", "\"../outside\""));
    let done = place.slvrc("run a.slvrb --inputs in --outputs in/out");
    assert_eq!(done.status, 1, "{}", done.stderr);
    assert!(done.stderr.contains("name is not a word"), "{}", done.stderr);
    assert!(!place.path("in/outside.safetensors").exists());
}

/// A few hundred bytes that ask for a terabyte: refused before the inputs are read, let alone anything allocated.
#[test]
fn a_small_artifact_that_needs_more_memory_than_there_is_is_refused() {
    let place = Place::new();
    inputs(&place);
    let large = "[3,5000000000]";
    let circuit = format!(
        "{HEAD}  %1 = sum %0 axes [1] : A64[3] @0
  %2 = reshape %1 [3,1] : A64[3,1] @0
  %3 = broadcast %2 {large} : A64{large} @0
  %4 = sum %3 axes [1] : A64[3] @0
  %5 = as_add3 %0 : add3.A64[3,64] @0
  exchange:
  open_to %5 output 0 @0
"
    );
    write(&place, "a.slvrb", &circuit);
    let size = std::fs::metadata(place.path("a.slvrb")).expect("a file").len();
    assert!(size < 400, "{size} bytes");
    for verb in ["run", "run --processes", "eval"] {
        let done = place.slvrc(&format!("{verb} a.slvrb --inputs in"));
        assert_eq!(done.status, 1, "{verb}: {}", done.stderr);
        assert!(done.stderr.contains("GB of memory, and"), "{verb}: {}", done.stderr);
    }
    // What it would cost can be asked.
    let explained = place.slvrc("explain a.slvrb --json").ok();
    assert!(explained["predicted_peak_memory_bytes"][0].as_u64() > Some(200_000_000_000));
}

/// As few bytes whose values are small, and whose proof would copy a terabyte: a product that is added to itself again and
/// again is a statement of as many products.
#[test]
fn a_small_artifact_whose_proof_needs_more_memory_than_there_is_is_refused() {
    let place = Place::new();
    inputs(&place);
    let ty = "add3.A64[1,131072] @0";
    let doubled: String =
        (1..20).map(|i| format!("  %{} = add %{i} %{i} : {ty}\n", i + 1)).collect();
    let circuit = format!(
        "{HEAD}  %21 = slice %0 axis 0 start 0 len 1 step 1 : A64[1,64] @0
  %22 = reshape %21 [1,64,1] : A64[1,64,1] @0
  %23 = broadcast %22 [1,64,2048] : A64[1,64,2048] @0
  %24 = reshape %23 [1,131072] : A64[1,131072] @0
  %1 = mul %24 %24 : {ty}
{doubled}  %25 = as_add3 %0 : add3.A64[3,64] @0
  exchange:
  %26 = reshare %20 : A64[1,131072] @0
  %27 = reshare %25 : A64[3,64] @0
layer 1:
  %28 = as_add3 %27 : add3.A64[3,64] @0
  exchange:
  open_to %28 output 0 @0
"
    );
    let parsed = text::parse(&circuit).unwrap_or_else(|e| panic!("{e}"));
    let parsed = Circuit { security: Security::Malicious, ..parsed };
    std::fs::write(place.path("a.slvrb"), artifact::write(&parsed)).expect("a file");
    for verb in ["run", "run --processes"] {
        let done = place.slvrc(&format!("{verb} a.slvrb --inputs in"));
        assert_eq!(done.status, 1, "{verb}: {}", done.stderr);
        assert!(done.stderr.contains("GB of memory, and"), "{verb}: {}", done.stderr);
    }
    let explained = place.slvrc("explain a.slvrb --json").ok();
    assert!(explained["predicted_peak_memory_bytes"][0].as_u64() < Some(100_000_000));
}

/// Whoever made it: `run` and `explain`, as text and as JSON.
#[test]
fn every_opening_of_an_artifact_is_listed() {
    let place = Place::new();
    accuracy(1).write(&place.path("in"));
    assert_eq!(place.slvrc(&format!("build {ACCURACY} -o a.slvrb")).status, 0);
    let explained = place.slvrc("explain a.slvrb --json").ok();
    let openings = explained["openings"].as_array().expect("a list");
    let (check, aggregate) = match &openings[..] {
        [check, aggregate] => (check, aggregate),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (&check["to"], &check["what"]),
        (&json!("the three parties"), &json!("one bit for each Client"))
    );
    assert_eq!((&check["bits"], &check["shape"]), (&json!(4), &json!([4])));
    assert_eq!((&aggregate["to"], &aggregate["what"]), (&json!("Server"), &json!("aggregate")));
    let text = place.slvrc("explain a.slvrb").stdout;
    let run = place.slvrc("run a.slvrb --inputs in").stdout;
    for said in [&text, &run] {
        assert!(said.contains("one bit for each Client [4]"), "{said}");
        assert!(said.contains("aggregate"), "{said}");
    }
    assert!(text.contains("what is opened, as the instructions have it"), "{text}");
    assert!(run.contains("  drawn         committee [4, 3], by public coins\n"), "{run}");
    assert!(run.contains("to Server, and nothing else"), "{run}");
    let report = place.slvrc("run a.slvrb --inputs in --json").ok();
    assert_eq!(report["openings"], explained["openings"]);
    // From the source it is the same circuit.
    let source = place.slvrc(&format!("explain {ACCURACY} --json")).ok();
    assert_eq!(source["openings"], explained["openings"]);
}
