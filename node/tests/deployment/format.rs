//! What the book says of the format of clients: its example, and a client in Python.

use crate::world::{Shape, TASK, World, client, program};
use slvr_circuit::{Dom, Encoding, Input, ValueId};
use slvr_node::config::token_for;
use slvr_node::hex::{Hex, hex};
use slvr_node::submission::{Signer, Submission, pack_public};
use slvr_runtime::share::encode::{RawTensor, encode_input};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A file of the book's folder; nothing where the crate is built by itself.
fn docs(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs").join(path);
    path.is_file().then_some(path)
}

/// The lines of the example: a client's submission of 1 and -0.5 that follows from a secret.
fn example() -> Vec<String> {
    let secret: [u8; 32] = std::array::from_fn(|i| i as u8);
    let signer = Signer::new(&secret).expect("signs");
    let x = RawTensor::reals([2], vec![1.0, -0.5]);
    let tensors = BTreeMap::from([("update".to_string(), x)]);
    let circuit = program("sums", 3, 2, 1);
    let made =
        Submission::new(&signer, ("t", 1, "a"), &circuit, (Hex([0; 32]), Hex([0; 32])), &tensors);
    let made = made.expect("a submission");
    let m = &made.manifest;
    let mut out = vec![format!("key {}", signer.public()), format!("submission {}", m.submission)];
    for i in 0..3 {
        // The first of a node's two components is that of its number.
        let part = made.part(i);
        out.push(format!("salt {i} {}", hex(&part[..32])));
        out.push(format!("body {i} {}", hex(&part[32..48])));
        out.push(format!("component {i} {}", m.components[i]));
    }
    out.push(format!("signature {}", m.signature));
    out.push(format!("token 0 {}", *token_for(&hex(&secret), 0)));
    out
}

#[test]
fn the_example_of_the_page_on_clients_is_what_a_client_sends() {
    let lines = example();
    let Some(page) = docs("src/clients.md") else { return };
    let page = fs::read_to_string(page).expect("reads");
    for line in &lines {
        assert!(page.contains(line.as_str()), "the page has no line `{line}`: {lines:#?}");
    }
}

/// Python with what the client needs, if it is here.
fn python() -> Option<(Command, PathBuf)> {
    let script = docs("deploy/client.py")?;
    let needs = ["-c", "import blake3, cryptography, tomllib"];
    let there = Command::new("python3").args(needs).output().is_ok_and(|o| o.status.success());
    let mut check = there.then(|| Command::new("python3"))?;
    check.arg(&script);
    Some((check, script))
}

#[test]
fn a_client_in_python_sends_the_bytes_of_the_example_and_counts() {
    let Some((mut check, script)) = python() else {
        eprintln!("python3 with blake3 and cryptography is not here");
        return;
    };
    let said = check.arg("--check").output().expect("runs");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let text = String::from_utf8(said.stdout).expect("text");
    assert_eq!(text.lines().collect::<Vec<_>>(), example());
    // It submits, and the same submission comes from this library: the nodes have one answer for both.
    let world = World::started(Shape::default());
    world.open(1, 600);
    let file = world.folder.path().join("inputs.json");
    fs::write(&file, "{\"update\": [0, 0, 0, 0, 1, 0, 0, 0]}").expect("writes");
    let toml = world.folder.path().join(format!("clients/{}/client.toml", client(4)));
    let mut submits = Command::new("python3");
    submits.arg(script).arg(toml).args([TASK, "1"]).arg(file);
    let done = submits.output().expect("runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    world.submit(4, 1);
    (0..4).for_each(|i| world.submit(i, 1));
    assert_eq!(world.ended(1, Duration::from_secs(90))["phase"], "released");
    assert_eq!(world.total(1), world.expected(&[0, 1, 2, 3, 4]));
}

#[test]
fn a_client_in_python_fetches_what_is_revealed_to_it() {
    let Some((mut fetches, _)) = python() else {
        eprintln!("python3 with blake3 and cryptography is not here");
        return;
    };
    let world = World::started(Shape { program: "own", n: 2, ..Shape::default() });
    world.open(1, 600);
    for i in 0..5 {
        let made = world.submission_of(i, 1, vec![-0.5, i as f64]);
        let done = world.client(i).submit(&made, Duration::from_secs(30), &|_, _, _| {});
        done.expect("submits");
    }
    assert_eq!(world.ended(1, Duration::from_secs(90))["phase"], "released");
    let library = world.client(3);
    let until = std::time::Instant::now() + Duration::from_secs(30);
    let got = library.patiently(until, || library.fetch(TASK, 1)).expect("fetches");
    let toml = world.folder.path().join(format!("clients/{}/client.toml", client(3)));
    let done = fetches.arg("--fetch").arg(toml).args([TASK, "1"]).output().expect("runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let said: BTreeMap<String, Vec<f64>> = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(said["mine"], got.outputs[0].1.values);
    assert!((said["mine"][0] + 0.5).abs() < 1e-3 && (said["mine"][1] - 3.0).abs() < 1e-3);
}

/// The encoder of the page alone, without the packages that the rest of the client needs.
const ENCODER: &str = "
import sys, json
from unittest.mock import MagicMock
for name in ['blake3'] + ['cryptography.hazmat.primitives.' + m for m in ['asymmetric.ed25519', 'serialization']]:
    sys.modules.setdefault(name, MagicMock())
sys.path.insert(0, sys.argv[1])
import client
for line in sys.stdin:
    declared, values = json.loads(line)
    words = client.Words(declared, client.encode(declared, values))
    print(words.pack(words.values).hex())
";

/// Numbers of which most lie at or beside the middle between two words, up to the ends of the range.
fn halves(seed: u64, n: usize, frac: u32) -> Vec<f64> {
    let mut draw = crate::schedules::Draw(seed);
    let unit = 2f64.powi(-(frac as i32));
    let one = |_| {
        let whole = draw.of(16 << frac) as f64 - (8u64 << frac) as f64;
        let half = (whole + 0.5) * unit;
        let x = match draw.of(5) {
            0 | 1 => half,
            2 => half.next_up(),
            3 => half.next_down(),
            _ => (draw.of(1 << 53) as f64 / (1u64 << 52) as f64 - 1.0) * 8.0,
        };
        [x, 8.0, -8.0, -0.0][if draw.of(100) == 0 { 1 + draw.of(3) as usize } else { 0 }]
    };
    (0..n).map(one).map(|x| x.clamp(-8.0, 8.0)).collect()
}

#[test]
fn the_encoder_in_python_rounds_every_number_as_this_library_does() {
    let there = Command::new("python3").args(["-c", "import tomllib"]).output();
    let Some(script) = docs("deploy/client.py").filter(|_| there.is_ok_and(|o| o.status.success()))
    else {
        eprintln!("python3 of version 3.11 is not here, or the page's client is not");
        return;
    };
    let folder = script.parent().expect("a folder");
    let mut encoder = Command::new("python3");
    encoder.args(["-B", "-c", ENCODER]).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut encoder = encoder.spawn().expect("starts");
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for (seed, frac, shift, bits) in [
        (1u64, 16, 0, 64),
        (2, 16, 0, 32),
        (3, 8, 3, 16),
        (4, 2, 0, 64),
        (5, 20, 6, 32),
        (6, 0, 0, 8),
    ] {
        let n = 10_000;
        let encoding = Encoding::Fixed { frac, lo: -8.0, hi: 8.0, shift, norm: f64::INFINITY };
        let input = Input {
            name: "x".into(),
            from: slvr_circuit::From::Each(0),
            encoding,
            shape: vec![n as u64],
            fields: vec![],
            value: ValueId(0),
        };
        let values = halves(seed, n, frac);
        let tensor = RawTensor::reals([n as u64], values.clone());
        let data = encode_input(&input, Dom::Ring(bits), "Client 0", &tensor).expect("encodes");
        expected.push((seed, hex(&pack_public(&BTreeMap::from([(0, data)]))[&0]), values.clone()));
        let declared = serde_json::json!({
            "index": 0, "name": "x", "elements": n, "bits": bits, "planes": false, "encoding": input.encoding,
        });
        lines += &format!("{}\n", serde_json::json!([declared, values]));
    }
    let mut to = encoder.stdin.take().expect("a pipe");
    let writes = std::thread::spawn(move || to.write_all(lines.as_bytes()));
    let done = encoder.wait_with_output().expect("ends");
    writes.join().expect("no panic").expect("is read");
    assert!(done.status.success());
    let said = String::from_utf8(done.stdout).expect("text");
    assert_eq!(said.lines().count(), expected.len());
    for ((seed, words, values), found) in expected.iter().zip(said.lines()) {
        let digits = words.len() / values.len();
        for (i, x) in values.iter().enumerate() {
            let at = i * digits..(i + 1) * digits;
            assert_eq!(found[at.clone()], words[at], "seed {seed}: {x:?} at {i}");
        }
    }
}
