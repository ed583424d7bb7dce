//! Numbers of clients: what is said of those who are left out, of how many are left, and of programs that are built for several
//! numbers.

use crate::folder::{Folder, Place, f32s};
use serde_json::json;
use slvr_circuit::{Circuit, artifact};

const MEAN: &str = "\
use std::sum;

predicate Mean[m]() {
    parties Client[m];
    parties Server;
    require m >= 3;

    input x: secret fix[2] in -1..1 from each Client;

    reveal sum(x) / m to Server as mean;
}
";

/// The inputs of the clients of these numbers.
fn inputs(place: &Place, clients: &[u8]) {
    std::fs::remove_dir_all(place.path("in")).ok();
    let mut folder = Folder::default();
    for &i in clients {
        folder.put(&format!("Client/{i}"), "x", f32s(&[2], &[f32::from(i) / 8.0, 0.5]));
    }
    folder.write(&place.path("in"));
}

/// One warning names all who are left out, and how many are left.
#[test]
fn who_is_left_out_is_said_once_and_how_many_are_left() {
    let place = Place::new();
    place.write("mean.slvr", MEAN);
    for (there, said) in [
        (&[0, 2, 3, 4][..], "left out: Client 1 (missing); 4 of 5 of `Client` are left"),
        (
            &[0, 2, 4],
            "left out: Client 1 (missing), Client 3 (missing); 3 of 5 of `Client` are left",
        ),
    ] {
        inputs(&place, there);
        let out: Vec<u8> = (0..5).filter(|i| !there.contains(i)).collect();
        let out: Vec<_> =
            out.iter().map(|i| json!({ "set": "Client", "member": i, "why": "missing" })).collect();
        for verb in ["run", "eval", "eval --exact"] {
            let done = place.slvrc(&format!("{verb} mean.slvr m=5 --inputs in --json"));
            let warned: Vec<&str> =
                done.stderr.lines().filter_map(|l| l.strip_prefix("warning: ")).collect();
            assert_eq!(warned, [said], "{verb}");
            assert_eq!(done.ok()["excluded"], json!(out), "{verb}");
        }
    }
}

/// Fewer than a program takes, or than it was asked for: refused, with those who are left out and how many are left.
#[test]
fn too_few_that_are_left_are_refused() {
    let place = Place::new();
    place.write("mean.slvr", MEAN);
    inputs(&place, &[0, 4]);
    for verb in ["run", "eval"] {
        let few = place.slvrc(&format!("{verb} mean.slvr m=5 --inputs in"));
        assert_eq!(few.status, 1, "{verb}");
        let said = "Client 1 (missing), Client 2 (missing), Client 3 (missing): 2 of 5 of `Client` are left";
        assert!(few.stderr.contains(said), "{verb}: {}", few.stderr);
        assert!(few.stderr.contains("require m >= 3"), "{verb}: {}", few.stderr);
    }
    inputs(&place, &[0, 2, 4]);
    let few = place.slvrc("run mean.slvr m=5 --clients 4..5 --inputs in");
    assert_eq!(few.status, 1);
    let last = few.stderr.lines().last().unwrap_or_default();
    insta::assert_snapshot!(last, @"error: Client 1 (missing), Client 3 (missing): 3 of 5 of `Client` are left, and --clients asks for 4 at least; `--invalid zeros` has zeros stand in for their inputs");
    // As many as are asked for run.
    inputs(&place, &[0, 2, 3, 4]);
    place.slvrc("run mean.slvr m=5 --clients 4..5 --inputs in").ok_text();
}

/// More numbers than anybody waits for are refused before anything is compiled.
#[test]
fn numbers_of_clients_have_an_end() {
    let place = Place::new();
    place.write("mean.slvr", MEAN);
    let many = place.slvrc("check mean.slvr m=10 --clients 2..1000000");
    assert_eq!(many.status, 2);
    assert!(many.stderr.contains("10000 numbers at most"), "{}", many.stderr);
}

/// `explain` has the hash of what `build` writes, and in JSON what is said of the numbers of clients, as `check` has it.
#[test]
fn explain_has_the_hash_and_the_numbers_of_clients() {
    let place = Place::new();
    place.write("mean.slvr", MEAN);
    let target = "mean.slvr m=4 --clients 2..5";
    let explained = place.slvrc(&format!("explain {target} --json")).ok();
    let checked = place.slvrc(&format!("check {target} --json")).ok();
    assert_eq!(explained["clients"], checked["clients"]);
    assert_eq!(explained["clients"]["without"][0]["last"], json!(2));
    place.slvrc(&format!("build {target} --output mean.slvrb")).ok_text();
    let circuit: Circuit = artifact::read(&place.read("mean.slvrb")).expect("a circuit");
    let hash: String = artifact::hash(&circuit).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(explained["circuit_hash"], json!(hash));
    let text = place.slvrc(&format!("explain {target}"));
    let text = text.ok_text();
    assert!(text.contains(&format!("circuit       {hash}")), "{text}");
    assert_eq!(place.slvrc("explain mean.slvrb --json").ok()["circuit_hash"], json!(hash));
}

/// Inputs with an entry for each member are of another shape for fewer: said before anything runs, and where somebody is
/// missing, without a word about the files of the others.
#[test]
fn nobody_is_left_out_of_what_has_an_entry_for_each_member() {
    let place = Place::new();
    let program = |a: &str, b: &str| {
        format!(
            "use std::sum;\npredicate Each[m, j]() {{\n    parties Client[m];\n    parties Judge[j];\n    parties Server;\n\
             \x20   input t: {a} from each Client;\n    input v: {b} from each Judge;\n\
             \x20   reveal sum(t) to Server as t;\n    reveal sum(v) to Server as v;\n}}\n"
        )
    };
    let one = "secret fix in 0..1";
    let inputs = |clients: &[u8], judges: &[u8], of: [usize; 2]| {
        std::fs::remove_dir_all(place.path("in")).ok();
        let mut folder = Folder::default();
        for (set, name, there, n) in
            [("Client", "t", clients, of[0]), ("Judge", "v", judges, of[1])]
        {
            for i in there {
                let shape: &[usize] = if n == 0 { &[] } else { &[n] };
                folder.put(&format!("{set}/{i}"), name, f32s(shape, &vec![0.5; n.max(1)]));
            }
        }
        folder.write(&place.path("in"));
    };
    // Of which set nobody can be left out; the inputs; who is missing of the first circuit.
    let cases = [
        ("secret fix[m] in 0..1", one, "Client", [4, 0], "Client 1", "`t` of `Client`"),
        ("secret fix[j] in 0..1", one, "Judge", [3, 0], "Judge 1", "`t` of `Client`"),
        (one, "secret fix[2 * m + 1] in 0..1", "Client", [0, 9], "Client 1", "`v` of `Judge`"),
    ];
    for (a, b, set, of, missing, input) in cases {
        place.write("each.slvr", program(a, b));
        let checked = place.slvrc("check each.slvr m=4 j=3");
        let line = format!("a round needs all members of `{set}`: the input {}", &input[..3]);
        assert!(checked.ok_text().contains(&line), "{}", checked.stdout);
        let json = place.slvrc("check each.slvr m=4 j=3 --json").ok();
        assert_eq!(json["needs_all_of"], json!([set]));
        let (clients, judges): (&[u8], &[u8]) = match set {
            "Client" => (&[0, 2, 3], &[0, 1, 2]),
            _ => (&[0, 1, 2, 3], &[0, 2]),
        };
        inputs(clients, judges, of);
        for verb in ["run", "eval", "eval --exact"] {
            let done = place.slvrc(&format!("{verb} each.slvr m=4 j=3 --inputs in"));
            assert_eq!(done.status, 1, "{verb}: {}", done.stderr);
            let last = done.stderr.lines().last().unwrap_or_default();
            let said = format!(
                "error: {missing} (missing): the secret input {input} has an entry for each member of `{set}`, so nobody can be \
                 left out: `--invalid zeros` has zeros stand in for their inputs"
            );
            assert_eq!(last, said, "{verb}");
            place.slvrc(&format!("{verb} each.slvr m=4 j=3 --inputs in --invalid zeros")).ok_text();
        }
    }
    // Of sets that no shape follows from, members are left out as always.
    place.write("each.slvr", program("secret fix[j] in 0..1", one));
    inputs(&[0, 2, 3], &[0, 1, 2], [3, 0]);
    place.slvrc("run each.slvr m=4 j=3 --inputs in").ok_text();
}

/// Of two sets with a size of their own only whoever calls it says which is that of the clients.
#[test]
fn two_sets_that_give_inputs_are_named() {
    let place = Place::new();
    let sets = "    parties Client[m];\n    parties Judge[j];\n    parties Server;\n";
    let text = format!(
        "use std::sum;\npredicate Two[m, j]() {{\n{sets}    input x: secret fix in -1..1 from each Client;\n    \
         input y: secret fix in -1..1 from each Judge;\n    reveal sum(x) + sum(y) to Server as all;\n}}\n"
    );
    place.write("two.slvr", &text);
    let refused = place.slvrc("check two.slvr m=4 j=3 --clients 2..6");
    assert_eq!(refused.status, 2);
    let said = "`Client[m]` and `Judge[j]` give inputs: say the number of whose members is from 2 to 6, as in --clients m=2..6";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
    place.slvrc("check two.slvr m=4 j=3 --clients m=2..6").ok_text();
}

/// A program with a state needs everybody in each round, unless it reads who takes part.
#[test]
fn check_says_whether_a_state_needs_everybody() {
    let place = Place::new();
    let program = |present: &str, sum: &str| {
        format!(
            "use std::sum;\npredicate Kept[m]() {{\n    parties Client[m];\n    parties Server;\n{present}\
             \x20   input x: secret fix in -1..1 from each Client;\n    state last: secret fix in -64..64 = 0;\n\
             \x20   let all = {sum};\n    store all as last;\n    reveal last to Server as before;\n}}\n"
        )
    };
    place.write("all.slvr", program("", "sum(x)"));
    let reads = "    input present: public bit from each Client;\n";
    place.write("some.slvr", program(reads, "sum(present[i] * x[i] for i in Client)"));
    let said = |file: &str| {
        let text = place.slvrc(&format!("check {file} m=4"));
        let text = text.ok_text();
        let json = place.slvrc(&format!("check {file} m=4 --json")).ok();
        (text.contains("a round needs all members of `Client`"), json["needs_all_of"].clone())
    };
    assert_eq!(said("all.slvr"), (true, json!(["Client"])));
    assert_eq!(said("some.slvr"), (false, json!(null)));
    place.write("mean.slvr", MEAN);
    assert_eq!(said("mean.slvr"), (false, json!(null)));
}
