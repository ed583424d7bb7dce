//! Folders of inputs that are wrong: each is refused before anything runs, with a message that names
//! the file, the tensor, what was found and what was expected, and shows no value.

use crate::folder::{Folder, Numbers, Place, f32s, f64s, i32s, i64s, u8s, u64s, zeros};
use insta::assert_snapshot;
use safetensors::Dtype;
use std::fs;
use std::path::Path;

/// Every kind of input: records and tensors, reals, integers and classes, public and secret.
pub const KINDS: &str = "
use std::{argmax, dot, sum};

model Tiny(x: fix[3]) -> fix[2] {
    fc1: linear[3, 4];
    fc2: linear[4, 2];

    x |> fc1 |> relu |> fc2
}

predicate Kinds[m](lambda: fix = 2.0) {
    parties Client[m];
    parties Server;

    input global: public weights Tiny;
    input centre: public fix[3] in -1..1;
    input update: secret weights Tiny in -8..8 from each Client;
    input pixel:  secret fix[2, 3] in 0..1     from each Client;
    input label:  secret int[2] in 0..2        from each Client;
    input count:  secret int in 1..100         from each Client;

    let small = [dot(update[i] - global, update[i] - global) < lambda for i in Client];
    let near  = [dot(pixel[i][0] - centre, pixel[i][0] - centre) < lambda for i in Client];
    let hits  = [sum(argmax(Tiny(global + update[i], pixel[i][s])) == label[i][s] for s in 2)
                 for i in Client];
    let keep  = [small[i] && near[i] && hits[i] > 0 for i in Client];

    reveal sum(keep[i] * update[i] for i in Client) / m to Server as aggregate;
    reveal sum(count) to Server as samples;
}
";

const PARAMS: [(&str, &[usize]); 4] =
    [("fc1.weight", &[4, 3]), ("fc1.bias", &[4]), ("fc2.weight", &[2, 4]), ("fc2.bias", &[2])];

/// Inputs of three clients that `KINDS` takes.
pub fn kinds() -> Folder {
    let mut numbers = Numbers(1);
    let mut folder = Folder::default();
    folder.put("public", "centre", f32s(&[3], &[0.5, 0.5, 0.5]));
    for (name, shape) in PARAMS {
        folder.put("public", &format!("global.{name}"), numbers.reals(shape, -0.3, 0.3));
    }
    for client in ["Client/0", "Client/1", "Client/2"] {
        for (name, shape) in PARAMS {
            folder.put(client, &format!("update.{name}"), numbers.reals(shape, -0.3, 0.3));
        }
        folder.put(client, "pixel", numbers.reals(&[2, 3], 0.0, 1.0));
        folder.put(client, "label", i64s(&[2], &[0, 1]));
        folder.put(client, "count", i64s(&[], &[77]));
        // What the predicate does not ask for is no error.
        folder.put(client, "remark", zeros(Dtype::BOOL, &[1]));
    }
    folder
}

/// The message on a folder that must be refused. `secrets` are values that it may not show.
fn refused_by(target: &str, place: &Place, secrets: &[&str]) -> String {
    let done = place.slvrc(&format!("run {target} --inputs in --outputs out"));
    if done.status == 0 {
        return left_out_by(target, place, &done.stderr, secrets);
    }
    assert_eq!(done.status, 1, "{}", done.stderr);
    assert_eq!(done.stdout, "", "standard output");
    assert!(!place.path("out").exists(), "outputs were written");
    // A warning about the program comes first; the error is the last line.
    let message = done.stderr.lines().last().unwrap_or_default();
    for secret in secrets {
        assert!(!message.contains(secret), "shows {secret}: {message}");
    }
    // With --json the same error is the one object on standard output; `eval` says the same.
    let json = place.slvrc(&format!("run {target} --inputs in --outputs out --json"));
    assert_eq!(json.status, 1);
    let json = json.json();
    assert_eq!(json["ok"], false);
    assert_eq!(json["error"].as_str(), message.strip_prefix("error: "));
    let eval = place.slvrc(&format!("eval {target} --inputs in --outputs out"));
    assert_eq!((eval.status, eval.stdout.as_str()), (1, ""));
    assert_eq!(eval.stderr.lines().last(), Some(message));
    assert!(!place.path("out").exists(), "eval wrote outputs");
    message.to_string()
}

/// The message of `certify` on the file of one client, whom a run and `eval` have left out with the same message.
fn left_out_by(target: &str, place: &Place, said: &str, secrets: &[&str]) -> String {
    fs::remove_dir_all(place.path("out")).expect("outputs of the run");
    let eval = place.slvrc(&format!("eval {target} --inputs in --outputs out"));
    assert_eq!(eval.status, 0, "{}", eval.stderr);
    let certify = place.slvrc(&format!("certify {target} --inputs in"));
    assert_eq!((certify.status, certify.stdout.as_str()), (1, ""));
    let message = certify.stderr.lines().last().unwrap_or_default();
    let what = message.strip_prefix("error: ").unwrap_or_default();
    let note = said.lines().find(|l| l.starts_with("note")).unwrap_or_default();
    let want = format!("note: {what}; Client ");
    assert!(note.starts_with(&want) && note.ends_with(" is left out"), "{note} for {message}");
    assert!(eval.stderr.lines().any(|l| l == note), "{note} for {}", eval.stderr);
    for secret in secrets {
        assert!(!said.contains(secret), "shows {secret}: {said}");
    }
    message.to_string()
}

/// What is said of good inputs after a change to them.
fn refused(secrets: &[&str], change: impl FnOnce(&mut Folder)) -> String {
    refused_files(secrets, change, |_| ())
}

/// The same with another change, to the files as they are written.
fn refused_files(
    secrets: &[&str],
    change: impl FnOnce(&mut Folder),
    files: impl FnOnce(&Path),
) -> String {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    let mut folder = kinds();
    change(&mut folder);
    folder.write(&place.path("in"));
    files(&place.path("in"));
    refused_by("kinds.slvr m=3", &place, secrets)
}

fn same(_: &mut Folder) {}

/// Every other test changes one thing about these.
#[test]
fn good_inputs_are_taken() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    kinds().write(&place.path("in"));
    let report = place.slvrc("run kinds.slvr m=3 --inputs in --outputs out --json").ok();
    assert_eq!(report["ok"], true);
    let out = place.tensors("out/Server.safetensors");
    assert_eq!(out["samples"], [231.0]);
    assert_eq!(out["aggregate.fc1.weight"].len(), 12);
}

#[test]
fn any_float_and_any_integer_type() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    let mut folder = kinds();
    folder.put("public", "centre", f64s(&[3], &[0.5, 0.5, 0.5]));
    folder.put("Client/0", "label", i32s(&[2], &[0, 1]));
    folder.put("Client/1", "label", u8s(&[2], &[0, 1]));
    folder.put("Client/2", "label", u64s(&[2], &[0, 1]));
    folder.write(&place.path("in"));
    place.slvrc("run kinds.slvr m=3 --inputs in --json").ok();
}

/// Bits as PyTorch and NumPy write what is true or false, and a single number as a list of one.
#[test]
fn bits_may_be_booleans_and_single_numbers_lists_of_one() {
    let text = "use std::sum;\npredicate Bits[m]() {\n    parties Client[m];\n    parties Server;\n    \
                input b: secret bit[2] from each Client;\n    input c: secret bit from each Client;\n    \
                input n: secret int in 0..9 from each Client;\n    input x: secret fix in 0..9 from each Client;\n    \
                reveal sum(b) to Server as b;\n    reveal sum(c) to Server as c;\n    \
                reveal sum(n) to Server as n;\n    reveal sum(x) to Server as x;\n}\n";
    let bools = |shape: &[usize], bytes: &[u8]| {
        let mut tensor = zeros(Dtype::BOOL, shape);
        tensor.set(bytes.to_vec());
        tensor
    };
    let mut folder = Folder::default();
    for client in ["Client/0", "Client/1"] {
        folder.put(client, "b", bools(&[2], &[0, 1]));
        folder.put(client, "c", bools(&[1], &[1]));
        folder.put(client, "n", i32s(&[1], &[4]));
        folder.put(client, "x", f32s(&[1], &[0.5]));
    }
    folder.put("Client/1", "b", u8s(&[2], &[1, 1]));
    folder.put("Client/1", "c", i64s(&[], &[0]));
    for npz in [false, true] {
        let place = Place::new();
        place.write("bits.slvr", text);
        match npz {
            true => folder.write_npz(&place.path("in"), false, false),
            false => folder.write(&place.path("in")),
        }
        place.slvrc("run bits.slvr m=2 --inputs in --outputs out --json").ok();
        let out = place.tensors("out/Server.safetensors");
        let found = ["b", "c", "n", "x"].map(|name| out[name].clone());
        assert_eq!(found, [vec![1.0, 2.0], vec![1.0], vec![8.0], vec![1.0]], "{npz}");
    }
}

/// A file of the inputs, what is done to them, values that no message may show, and what is said of the file.
type Wrong = (&'static str, fn(&mut Folder), &'static [&'static str], &'static str);

/// Each is one change to inputs that are taken.
const WRONG: &[Wrong] = &[
    (
        "public",
        |f| drop(f.0.remove("public")),
        &[],
        "no such file; it should hold the public inputs: `global.fc1.weight`, `global.fc1.bias`, \
         `global.fc2.weight`, `global.fc2.bias`, `centre`",
    ),
    (
        "Client/7",
        |f| {
            let copy = f.0.remove("Client/1").unwrap();
            f.0.insert("Client/7".into(), copy);
        },
        &[],
        "Client has only members 0 to 2, and this would be member 7; give Client its size on the command \
         line, or remove the file",
    ),
    (
        "public",
        |f| drop(f.0.insert("public".into(), Default::default())),
        &[],
        "tensor `global.fc1.weight`: missing, the circuit expects real numbers of shape [4, 3]; the file holds \
         no tensors",
    ),
    (
        "Client/1",
        |f| drop(f.take("Client/1", "label")),
        &[],
        "tensor `label`: missing, the circuit expects integers of shape [2]; what the file has besides: `remark`",
    ),
    (
        "Client/1",
        |f| {
            let label = f.take("Client/1", "label");
            f.put("Client/1", "labels", label);
        },
        &[],
        "tensor `label`: missing, the circuit expects integers of shape [2]; the file has `labels`: is it that?",
    ),
    // The field next to it has a name almost the same, and is not the one.
    (
        "Client/1",
        |f| drop(f.take("Client/1", "update.fc2.bias")),
        &[],
        "tensor `update.fc2.bias`: missing, the circuit expects real numbers of shape [2]; what the file has \
         besides: `remark`",
    ),
    // A state dict saved as it is.
    (
        "Client/1",
        |f| {
            for (name, _) in PARAMS {
                let param = f.take("Client/1", &format!("update.{name}"));
                f.put("Client/1", name, param);
            }
        },
        &[],
        "tensor `update.fc1.weight`: missing, the circuit expects real numbers of shape [4, 3]; the file has \
         `fc1.weight`: the fields of `update` begin with `update.`",
    ),
    (
        "Client/1",
        |f| {
            for (name, _) in PARAMS {
                f.take("Client/1", &format!("update.{name}"));
            }
            f.put("Client/1", "update", zeros(Dtype::F32, &[26]));
        },
        &[],
        "tensor `update.fc1.weight`: missing, the circuit expects real numbers of shape [4, 3]; the file has \
         `update` in one piece: give each field by its own name",
    ),
    (
        "Client/0",
        |f| f.put("Client/0", "pixel", zeros(Dtype::F32, &[4, 3])),
        &[],
        "tensor `pixel`: has shape [4, 3], the circuit expects [2, 3]",
    ),
    (
        "Client/0",
        |f| f.put("Client/0", "update.fc1.weight", zeros(Dtype::F32, &[3, 4])),
        &[],
        "tensor `update.fc1.weight`: has shape [3, 4], the circuit expects [4, 3]; is it transposed?",
    ),
    (
        "Client/0",
        |f| f.put("Client/0", "count", i64s(&[1, 1], &[77])),
        &["77"],
        "tensor `count`: has shape [1, 1], the circuit expects []",
    ),
    (
        "public",
        |f| f.put("public", "centre", i64s(&[3], &[0, 41, 0])),
        &["41"],
        "tensor `centre`: has elements of type I64, the circuit expects real numbers: F32, F64, F16 or BF16",
    ),
    (
        "Client/2",
        |f| f.put("Client/2", "label", f32s(&[2], &[0.0, 1.0])),
        &[],
        "tensor `label`: has elements of type F32, the circuit expects integers: I64 or another integer type",
    ),
    (
        "Client/2",
        |f| f.put("Client/2", "pixel", zeros(Dtype::F8_E4M3, &[2, 3])),
        &[],
        "tensor `pixel`: has elements of type F8_E4M3, the circuit expects real numbers: F32, F64, F16 or BF16",
    ),
    (
        "Client/2",
        |f| f.put("Client/2", "count", zeros(Dtype::BOOL, &[])),
        &[],
        "tensor `count`: has elements of type BOOL, the circuit expects integers: I64 or another integer type",
    ),
    (
        "Client/0",
        |f| f.put("Client/0", "pixel", f32s(&[2, 3], &[0.25, 0.25, 0.25, 0.25, f32::NAN, 0.25])),
        &["NaN", "0.25"],
        "tensor `pixel`: the element at [1, 1] is not a finite number",
    ),
    (
        "public",
        |f| f.put("public", "global.fc2.bias", f32s(&[2], &[0.0, f32::INFINITY])),
        &[],
        "tensor `global.fc2.bias`: the element at [1] is not a finite number",
    ),
    (
        "Client/0",
        |f| f.put("Client/0", "update.fc1.bias", f64s(&[4], &[0.0, 8.0625, 0.0, 0.0])),
        &["8.06"],
        "tensor `update.fc1.bias`: the element at [1] is outside the allowed range -8..8",
    ),
    // The ends belong to a range of reals.
    (
        "Client/0",
        |f| {
            let pixel = [0.0, 1.0, 0.0, 0.0, 0.0, 1.0 + f64::EPSILON];
            f.put("Client/0", "pixel", f64s(&[2, 3], &pixel));
        },
        &["1.0000"],
        "tensor `pixel`: the element at [1, 2] is outside the allowed range 0..1",
    ),
    (
        "Client/2",
        |f| f.put("Client/2", "count", i64s(&[], &[0])),
        &[],
        "tensor `count`: the value is outside the allowed range 1..100, 100 excluded",
    ),
    (
        "Client/2",
        |f| f.put("Client/2", "count", i64s(&[], &[100])),
        &[],
        "tensor `count`: the value is outside the allowed range 1..100, 100 excluded",
    ),
    (
        "Client/2",
        |f| f.put("Client/2", "count", i64s(&[], &[i64::MIN])),
        &[],
        "tensor `count`: the value is outside the allowed range 1..100, 100 excluded",
    ),
    (
        "Client/2",
        |f| f.put("Client/2", "label", i64s(&[2], &[0, -127])),
        &["127"],
        "tensor `label`: the element at [1] is outside the allowed range 0..2, 2 excluded",
    ),
    // Beyond 63 bits.
    (
        "Client/2",
        |f| f.put("Client/2", "label", u64s(&[2], &[0, 1 << 63])),
        &["9223372036854775808"],
        "tensor `label`: the element at [1] is outside the allowed range 0..2, 2 excluded",
    ),
];

#[test]
fn what_is_wrong_with_inputs_is_said_of_their_file_without_their_values() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    for &(file, change, secrets, wanted) in WRONG {
        let mut folder = kinds();
        change(&mut folder);
        // What an earlier change has added is gone.
        let _ = fs::remove_dir_all(place.path("in"));
        folder.write(&place.path("in"));
        let done = place.slvrc("certify kinds.slvr m=3 --inputs in");
        assert_eq!((done.status, done.stdout.as_str()), (1, ""), "{wanted}");
        let message = done.stderr.lines().last().unwrap_or_default();
        assert_eq!(message, format!("error: in/{file}.safetensors: {wanted}"));
        for secret in secrets {
            assert!(!done.stderr.contains(secret), "shows {secret}: {}", done.stderr);
        }
    }
}

/// A tensor that nobody may have, and one that a client may be left out with: every verb says the same of it.
#[test]
fn every_verb_says_the_same_of_wrong_inputs() {
    let message = refused(&["41"], |f| f.put("public", "centre", i64s(&[3], &[0, 41, 0])));
    assert!(message.contains("has elements of type I64"), "{message}");
    let message = refused(&["8.06"], |f| {
        f.put("Client/0", "update.fc1.bias", f64s(&[4], &[0.0, 8.0625, 0.0, 0.0]));
    });
    assert!(message.contains("the element at [1] is outside the allowed range -8..8"), "{message}");
}

// ---- folders and files ---------------------------------------------------------------------

#[test]
fn folders_that_are_not_there() {
    let gone = refused_files(&[], same, |dir| fs::remove_dir_all(dir).unwrap());
    assert_snapshot!(gone, @"error: in: no such directory; it should hold public.safetensors, Client/0.safetensors to Client/2.safetensors");
    let file = refused_files(&[], same, |dir| {
        fs::remove_dir_all(dir).unwrap();
        fs::write(dir, "").unwrap();
    });
    assert_eq!(file, gone.replace("no such directory", "not a directory"));
    let message = refused(&[], |f| f.0.retain(|name, _| name == "public"));
    assert_snapshot!(message, @"error: in/Client: no such directory; it should hold 0.safetensors to 2.safetensors");
    let message = refused_files(
        &[],
        |f| drop(f.0.remove("Client/0")),
        |dir| fs::create_dir(dir.join("Client/0.safetensors")).unwrap(),
    );
    assert_snapshot!(message, @"error: in/Client/0.safetensors: cannot be read: it is a directory");
}

/// A client that gave nothing is as if it had never been there, or zeros stand in for it if that is asked for.
#[test]
fn no_file_of_a_member() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    let mut folder = kinds();
    folder.0.remove("Client/2");
    folder.write(&place.path("in"));
    let certify = place.slvrc("certify kinds.slvr m=3 --inputs in");
    assert_eq!(certify.status, 1);
    let message = certify.stderr.lines().last().unwrap_or_default();
    assert_snapshot!(message, @"error: in/Client/2.safetensors: no such file; it should hold the inputs of Client 2: `update.fc1.weight`, `update.fc1.bias`, `update.fc2.weight`, `update.fc2.bias`, `pixel`, `label` and 1 more");
    // The others alone: the reference is a folder that never had it.
    let two = place.slvrc("run kinds.slvr m=2 --inputs in --seed 1 --json").ok();
    let run = place.slvrc("run kinds.slvr m=3 --inputs in --outputs out --seed 1 --json");
    let note = run.stderr.lines().find(|l| l.starts_with("note")).unwrap_or_default();
    assert_snapshot!(note, @"note: in/Client/2.safetensors: no such file; Client 2 is left out");
    let report = run.ok();
    assert_eq!(report["circuit_hash"], two["circuit_hash"]);
    let want = serde_json::json!([{ "set": "Client", "member": 2, "why": "missing" }]);
    assert_eq!((&report["excluded"], &report["replaced"]), (&want, &serde_json::json!([])));
    place.slvrc("run kinds.slvr m=2 --inputs in --outputs two --seed 1").ok_text();
    assert_eq!(place.tensors("out/Server.safetensors"), place.tensors("two/Server.safetensors"));
    assert_eq!(place.tensors("out/Server.safetensors")["samples"], [154.0]);
    for how in ["", "--exact"] {
        let eval = place.slvrc(&format!("eval kinds.slvr m=3 --inputs in --outputs clear {how}"));
        assert!(eval.ok_text().contains("Kinds in"), "{}", eval.stderr);
        assert!(eval.stderr.lines().any(|l| l == note), "{}", eval.stderr);
        assert_eq!(place.tensors("clear/Server.safetensors")["samples"], [154.0]);
    }
    let text = place.slvrc("run kinds.slvr m=3 --inputs in");
    let line = text.stdout.lines().find(|l| l.contains("excluded")).unwrap_or_default();
    assert_snapshot!(line.trim(), @"excluded      Client 2 (missing)");

    let run = place.slvrc("run kinds.slvr m=3 --inputs in --outputs out --invalid zeros");
    assert_eq!(run.status, 0, "{}", run.stderr);
    let note = run.stderr.lines().find(|l| l.starts_with("note")).unwrap_or_default();
    assert_snapshot!(note, @"note: in/Client/2.safetensors: no such file; zeros stand in for all inputs of Client 2");
    let line = run.stdout.lines().find(|l| l.contains("replaced")).unwrap_or_default();
    assert_snapshot!(line.trim(), @"replaced      Client 2 (missing): zeros");
    // A count is in 1..100: where zero is not in the range, its nearer end stands in.
    assert_eq!(place.tensors("out/Server.safetensors")["samples"], [155.0]);
    // An evaluation in the clear counts it in the same way.
    for how in ["", "--exact"] {
        let eval = place.slvrc(&format!(
            "eval kinds.slvr m=3 --inputs in --outputs clear --invalid zeros {how}"
        ));
        assert_eq!(eval.status, 0, "{}", eval.stderr);
        assert!(eval.stderr.lines().any(|l| l == note), "{}", eval.stderr);
        assert_eq!(place.tensors("clear/Server.safetensors")["samples"], [155.0]);
    }
    let report = place.slvrc("run kinds.slvr m=3 --inputs in --json --invalid zeros").ok();
    let want = serde_json::json!([{ "set": "Client", "member": 2, "why": "missing" }]);
    assert_eq!(report["replaced"], want);
}

/// One client with a damaged file, or with one that holds something else, counts as one that gave nothing.
#[test]
fn a_malformed_file_of_a_member_is_replaced_as_a_missing_one() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    kinds().write(&place.path("in"));
    let want = serde_json::json!([{ "set": "Client", "member": 1, "why": "missing" }]);
    let mut other = kinds();
    other.put("Client/1", "label", i64s(&[3], &[0, 1, 0]));
    let good = kinds().bytes("Client/1");
    for bytes in [&b""[..], b"no tensors", &good[..good.len() - 1], &other.bytes("Client/1")] {
        fs::write(place.path("in/Client/1.safetensors"), bytes).unwrap();
        let report =
            place.slvrc("run kinds.slvr m=3 --inputs in --outputs out --json --invalid zeros").ok();
        assert_eq!(report["replaced"], want);
        assert_eq!(place.tensors("out/Server.safetensors")["samples"], [155.0]);
        let eval = place.slvrc("eval kinds.slvr m=3 --inputs in --outputs out --invalid zeros");
        assert_eq!(eval.status, 0, "{}", eval.stderr);
        assert_eq!(place.tensors("out/Server.safetensors")["samples"], [155.0]);
    }
    for member in 0..3 {
        fs::write(place.path(&format!("in/Client/{member}.safetensors")), "").unwrap();
    }
    let nobody = place.slvrc("run kinds.slvr m=3 --inputs in");
    assert_eq!(nobody.status, 1, "{}", nobody.stderr);
    assert!(nobody.stderr.contains("in/Client/0.safetensors: not a safetensors file"));
}

/// A run with nobody's inputs would reveal nothing but zeros.
#[test]
fn no_file_of_any_member() {
    let message = refused_files(
        &[],
        |f| f.0.retain(|name, _| name == "public"),
        |dir| fs::create_dir(dir.join("Client")).unwrap(),
    );
    assert_snapshot!(message, @"error: in/Client/0.safetensors: no such file; it should hold the inputs of Client 0: `update.fc1.weight`, `update.fc1.bias`, `update.fc2.weight`, `update.fc2.bias`, `pixel`, `label` and 1 more");
}

/// What leaves the client without a check is a word of the ring; what is no number never leaves it.
#[test]
fn submitted_unchecked() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    let mut folder = kinds();
    folder.put("Client/1", "count", i64s(&[], &[1000]));
    folder.write(&place.path("in"));
    let target = "run kinds.slvr m=3 --inputs in --invalid zeros";
    let held = place.slvrc(target);
    assert_eq!(held.status, 0, "{}", held.stderr);
    assert!(held.stderr.contains("outside the allowed range 1..100"), "{}", held.stderr);
    let free = place.slvrc(&format!("{target} --submit-unchecked"));
    assert_eq!(free.status, 0, "{}", free.stderr);
    assert!(!free.stderr.contains("stand in"), "the number leaves the client: {}", free.stderr);
    folder.put("Client/0", "pixel", f32s(&[2, 3], &[f32::NAN; 6]));
    folder.write(&place.path("in"));
    let report = place.slvrc(&format!("{target} --submit-unchecked --json"));
    assert!(report.stderr.contains("the element at [0, 0] is not a finite number"));
    let missing = serde_json::json!({ "set": "Client", "member": 0, "why": "missing" });
    let replaced = report.ok()["replaced"].clone();
    assert!(replaced.as_array().is_some_and(|all| all.contains(&missing)), "{replaced}");
}

/// One client whose numbers cannot be used counts as one that gave nothing, and the note says which number it is.
#[test]
fn a_client_with_numbers_out_of_range_is_replaced_as_a_missing_one() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    let want = serde_json::json!([{ "set": "Client", "member": 1, "why": "missing" }]);
    let of = |x: f64| f64s(&[4], &[0.0, 0.0, x, 0.0]);
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -8.5] {
        let mut folder = kinds();
        folder.put("Client/1", "update.fc1.bias", of(x));
        folder.write(&place.path("in"));
        let run =
            place.slvrc("run kinds.slvr m=3 --inputs in --outputs out --json --invalid zeros");
        let what = match x.is_finite() {
            true => "is outside the allowed range -8..8",
            false => "is not a finite number",
        };
        let note = format!(
            "note: in/Client/1.safetensors: tensor `update.fc1.bias`: the element at [2] {what}; \
             zeros stand in for all inputs of Client 1"
        );
        assert_eq!(run.stderr.lines().find(|l| l.starts_with("note")), Some(note.as_str()));
        assert_eq!(run.ok()["replaced"], want, "{x}");
        assert_eq!(place.tensors("out/Server.safetensors")["samples"], [155.0], "{x}");
        let eval = place.slvrc("eval kinds.slvr m=3 --inputs in --invalid zeros");
        assert!(eval.stderr.lines().any(|l| l == note), "{x}: {}", eval.stderr);
    }
    let mut nobody = kinds();
    for client in ["Client/0", "Client/1", "Client/2"] {
        nobody.put(client, "update.fc1.bias", of(f64::NAN));
    }
    nobody.write(&place.path("in"));
    let refused = place.slvrc("run kinds.slvr m=3 --inputs in");
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("in/Client/0.safetensors: tensor `update.fc1.bias`"));
}

/// What the parties find out of range is left out in the same way: all of it at once, in threads and in processes, for both
/// adversaries, and what is revealed is that of a run of the others.
#[test]
fn clients_that_the_parties_reject_are_left_out_together() {
    let place = Place::new();
    let text = "
use std::{lower_median, norm, sum};

predicate Check[m](lambda: fix = 1.5) {
    parties Client[m];
    parties Server;

    input x: secret fix[4] in -8..8 from each Client;
    input n: secret int in 1..100   from each Client;

    let size = [norm(x[i]) for i in Client];
    let keep = [size[i] < lambda * lower_median(size) for i in Client];

    reveal sum(keep[i] * x[i] for i in Client) / m to Server as aggregate;
    reveal sum(n) to Server as samples;
    reveal n[i] + 1 to Client[i] as own;
}
";
    place.write("check.slvr", text);
    let mut numbers = Numbers(3);
    let mut folder = Folder::default();
    for client in 0..6 {
        let name = format!("Client/{client}");
        folder.put(&name, "x", numbers.reals(&[4], -1.0, 1.0));
        folder.put(&name, "n", i64s(&[], &[10 + client]));
    }
    let mut others = Folder::default();
    for (to, from) in [0, 2, 3, 5].into_iter().enumerate() {
        let of = folder.0[&format!("Client/{from}")].clone();
        others.0.insert(format!("Client/{to}"), of);
    }
    folder.put("Client/1", "n", i64s(&[], &[5000]));
    folder.put("Client/4", "x", f32s(&[4], &[0.5, 900.0, 0.5, 0.5]));
    folder.write(&place.path("in"));
    others.write(&place.path("others"));
    let one = |member: u64| serde_json::json!({ "set": "Client", "member": member, "why": "out of range" });
    for how in ["", "--processes", "--security malicious", "--no-speculation", "--protocols t1"] {
        let four = format!("run check.slvr m=4 --inputs others --outputs four --seed 1 {how}");
        place.slvrc(&four).ok_text();
        let all = format!(
            "run check.slvr m=6 --inputs in --outputs out --seed 1 --submit-unchecked --json {how}"
        );
        let run = place.slvrc(&all);
        assert!(run.stderr.contains("Client 1 (out of range), Client 4 (out of range): run again"));
        let report = run.ok();
        assert_eq!(report["excluded"], serde_json::json!([one(1), one(4)]), "{how}");
        assert_eq!(report["replaced"], serde_json::json!([]), "{how}");
        let (four, out) = ("four/Server.safetensors", "out/Server.safetensors");
        assert_eq!(place.tensors(out), place.tensors(four), "{how}");
        assert_eq!(place.tensors(out)["samples"], [50.0], "{how}");
        // Each member has the file of its own number.
        for (i, member) in [0, 2, 3, 5].into_iter().enumerate() {
            let of = |dir: &str, i: usize| place.tensors(&format!("{dir}/Client/{i}.safetensors"));
            assert_eq!(of("out", member), of("four", i), "{how}");
        }
        fs::remove_dir_all(place.path("out")).unwrap();
    }
    // What is compiled already is for six.
    place.slvrc("build check.slvr m=6 --output six.slvrb").ok_text();
    let run = place.slvrc("run six.slvrb --inputs in --submit-unchecked");
    assert_eq!(run.status, 1);
    let message = run.stderr.lines().last().unwrap_or_default();
    assert_snapshot!(message, @"error: Client 1 (out of range), Client 4 (out of range): six.slvrb is compiled for all members and cannot be made for the others: run the program, or `--invalid zeros` has zeros stand in for their inputs");
    let zeros = place.slvrc("run six.slvrb --inputs in --submit-unchecked --invalid zeros --json");
    assert_eq!(zeros.ok()["replaced"], serde_json::json!([one(1), one(4)]));
}

/// Who is alone in its set is no client that a run can do without.
#[test]
fn numbers_of_a_server_are_no_reason_to_go_on() {
    let place = Place::new();
    let text = "
use std::{dot, sum};

predicate P[m]() {
    parties Client[m];
    parties Server;

    input x: secret fix[2] in -1..1 from each Client;
    input r: secret fix[2] in -1..1 from Server;

    reveal sum(dot(x[i], r) for i in Client) to Server as y;
}
";
    place.write("p.slvr", text);
    for (x, status) in [(f32::NAN, 1), (1.5, 1), (0.5, 0)] {
        let mut folder = Folder::default();
        for client in ["Client/0", "Client/1", "Client/2"] {
            folder.put(client, "x", f32s(&[2], &[0.5, 0.5]));
        }
        folder.put("Server/0", "r", f32s(&[2], &[0.5, x]));
        folder.write(&place.path("in"));
        let run = place.slvrc("run p.slvr m=3 --inputs in");
        assert_eq!(run.status, status, "{}", run.stderr);
        let named =
            run.stderr.contains("error: in/Server/0.safetensors: tensor `r`: the element at [1]");
        assert_eq!(named, status == 1, "{}", run.stderr);
    }
}

/// A pipe in place of a client's file would block who reads it.
#[cfg(unix)]
#[test]
fn a_pipe_for_a_file_of_a_member_is_replaced_without_waiting() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    kinds().write(&place.path("in"));
    let path = place.path("in/Client/1.safetensors");
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    let run = place.slvrc("run kinds.slvr m=3 --inputs in --json");
    assert!(run.stderr.contains("in/Client/1.safetensors: cannot be read: it is a pipe"));
    let want = serde_json::json!([{ "set": "Client", "member": 1, "why": "missing" }]);
    assert_eq!(run.ok()["excluded"], want);
}

// ---- what is no safetensors file -----------------------------------------------------------

#[test]
fn what_is_no_safetensors_file_is_said_to_be_none() {
    let good = kinds().bytes("Client/1");
    let headed = |length: u64, rest: &[u8]| [&length.to_le_bytes()[..], rest].concat();
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    kinds().write(&place.path("in"));
    for (bytes, wanted) in [
        (vec![], "not a safetensors file: it has 0 bytes"),
        (
            b"label,count\n1,77\n".to_vec(),
            "cut short, or not a safetensors file: it announces a header of 8026307804973392236 bytes, 9 follow",
        ),
        (
            b"PK\x03\x04 and so on".to_vec(),
            "a file of PyTorch or NumPy, not a safetensors file: save it with safetensors.torch.save_file or \
             safetensors.numpy.save_file",
        ),
        (
            headed(7, b"{label:"),
            "not a safetensors file: invalid JSON in header: key must be a string at line 1 column 2",
        ),
        (
            good[..100].to_vec(),
            "cut short, or not a safetensors file: it announces a header of 528 bytes, 92 follow",
        ),
        (
            good[..good.len() - 5].to_vec(),
            "cut short: its header describes 153 bytes of tensors, 148 follow",
        ),
        (
            [&good[..], b"more"].concat(),
            "damaged: its header describes 153 bytes of tensors, 157 follow",
        ),
        // Nothing is allocated by a length from the file.
        (
            headed(u64::MAX, &good[8..]),
            "cut short, or not a safetensors file: it announces a header of 18446744073709551615 bytes, 681 follow",
        ),
        (
            headed(1 << 40, &good[8..]),
            "cut short, or not a safetensors file: it announces a header of 1099511627776 bytes, 681 follow",
        ),
    ] {
        fs::write(place.path("in/Client/1.safetensors"), bytes).unwrap();
        let done = place.slvrc("certify kinds.slvr m=3 --inputs in");
        assert_eq!((done.status, done.stdout.as_str()), (1, ""), "{wanted}");
        let message = done.stderr.lines().last().unwrap_or_default();
        assert_eq!(message, format!("error: in/Client/1.safetensors: {wanted}"));
    }
}

/// Names of tensors are a stranger's text: they neither move the cursor, nor begin a line, nor fill the log.
#[test]
fn names_of_tensors_stay_within_their_message() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    let mut folder = kinds();
    for (client, name) in [
        ("Client/0", "\u{1b}[2K\rrevealed: all fine".to_string()),
        ("Client/1", "x\nnote: Client 0 cheated".to_string()),
        ("Client/2", format!("\u{202e}{}", "a".repeat(100_000))),
    ] {
        let label = folder.take(client, "label");
        folder.put(client, &name, label);
    }
    // One client is left, so the run goes on.
    let whole = kinds();
    for (client, kept) in
        [("Client/0", false), ("Client/1", false), ("Client/2", false), ("Client/0", true)]
    {
        let (from, other) = if kept { (&folder, &whole) } else { (&whole, &folder) };
        let mut mixed = kinds();
        for at in ["Client/0", "Client/1", "Client/2"] {
            let source = if at == client { other } else { from };
            mixed.0.insert(at.into(), source.0[at].clone());
        }
        mixed.write(&place.path("in"));
        let run = place.slvrc("run kinds.slvr m=3 --inputs in --outputs out");
        assert_eq!(run.status, 0, "{}", run.stderr);
        let out = |l: &&str| l.starts_with("note: ") && l.contains("is left out");
        let notes = run.stderr.lines().filter(out).count();
        assert_eq!(notes, if kept { 2 } else { 1 }, "{}", run.stderr);
        assert!(run.stderr.len() < 4000, "{} bytes", run.stderr.len());
        assert!(!run.stderr.contains(['\u{1b}', '\r', '\u{202e}']), "{:?}", run.stderr);
    }
}

/// A log that is full ends no run: what was to be said there is lost, the outputs are not.
#[cfg(target_os = "linux")]
#[test]
fn a_run_goes_on_where_nothing_can_be_said() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    let mut folder = kinds();
    folder.0.remove("Client/2");
    folder.write(&place.path("in"));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_slvrc"));
    run.args("run kinds.slvr m=3 --inputs in --outputs out --json".split(' '));
    let done = run.current_dir(place.path("")).stderr(full).output().expect("slvrc runs");
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stdout));
    assert_eq!(place.tensors("out/Server.safetensors")["samples"], [154.0]);
}

/// A disk that is full leaves no file behind that could be taken for an output, and the run says so. A limit on what a
/// program may write stands in for the disk: it needs no privileges.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_empty_output() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    kinds().write(&place.path("in"));
    let limited = |blocks: u32| {
        let run = format!(
            "ulimit -f {blocks}; trap '' XFSZ; exec {} run kinds.slvr m=3 --inputs in --outputs out",
            env!("CARGO_BIN_EXE_slvrc")
        );
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &run]).current_dir(place.path("")).output().expect("a shell")
    };
    let there = || fs::read_dir(place.path("out")).map_or(0, Iterator::count);
    let done = limited(0);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("Server.safetensors") && said.contains("cannot be written"), "{said}");
    assert_eq!(there(), 0, "nothing is left behind");
    // The same with room, and then without: what was there stays.
    assert_eq!(limited(1000).status.code(), Some(0));
    let before = place.read("out/Server.safetensors");
    assert_eq!(limited(0).status.code(), Some(1));
    assert_eq!((there(), place.read("out/Server.safetensors")), (1, before));
}

/// The same of a device that is full, which is written to as it is.
#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_reported() {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    kinds().write(&place.path("in"));
    fs::create_dir(place.path("out")).expect("a folder");
    std::os::unix::fs::symlink("/dev/full", place.path("out/Server.safetensors")).expect("a link");
    let done = place.slvrc("run kinds.slvr m=3 --inputs in --outputs out");
    assert_eq!(done.status, 1, "{}", done.stderr);
    assert!(done.stderr.contains("cannot be written"), "{}", done.stderr);
    assert!(done.stderr.contains("No space left"), "{}", done.stderr);
}
