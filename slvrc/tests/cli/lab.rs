//! `slvrc lab` and the demo, with a predicate and a model of the user's own.

use crate::folder::Place;
use serde_json::Value;

/// A check and a model as a user writes them.
const MINE: &str = "\
use std::{norm, sum};

predicate Mine[M: model, m](longest: fix = 2) {
    parties Client[m];
    parties Server;

    input guide:  public weights M;
    input update: secret weights M in -8..8 from each Client;

    let keep = [norm(update[i]) < longest * norm(guide) for i in Client];

    reveal sum(keep[i] * update[i] for i in Client) / m to Server as aggregate;
}
";

/// With a layer that has no fast pass.
const MODEL: &str = "\
model Small(x: fix[64]) -> fix[10] {
    fc1:  linear[64, 12];
    norm: layer_norm[12];
    fc2:  linear[12, 10];

    x |> fc1 |> norm |> gelu |> fc2
}
";

fn place() -> Place {
    let place = Place::new();
    place.write("mine.slvr", MINE);
    place.write("small.slvr", MODEL);
    place
}

const QUICK: &str = "--clients 5 --rounds 2 --epochs 1 --samples 30 --test 100";

fn cell<'a>(report: &'a Value, attack: &str) -> &'a Value {
    &report["results"]["cells"][format!("mine.slvr | {attack} | 0")]
}

#[test]
fn the_lab_attacks_a_predicate_and_a_model_of_ones_own_and_goes_on_where_it_was() {
    let place = place();
    let base = format!("lab mine.slvr --model small.slvr:Small {QUICK} --json");
    let report = place.slvrc(&format!("{base} --attacks none,fang-bound")).ok();
    let accuracy = cell(&report, "none")["accuracy"].as_array().expect("accuracies");
    assert_eq!(accuracy.len(), 2);
    let checks = cell(&report, "fang-bound")["checks"].as_array().expect("checks");
    assert_eq!((checks.len(), &checks[0]["agrees"]), (1, &Value::Bool(true)), "{checks:?}");
    assert_eq!(report["disagreeing_runs"], 0);
    // Again: nothing is overwritten, and what is there stays as it is.
    assert_eq!(place.slvrc(&format!("{base} --attacks none")).status, 2);
    let more = place.slvrc(&format!("{base} --attacks none,fang-bound,sign-flip --resume")).ok();
    assert_eq!(cell(&more, "none"), cell(&report, "none"));
    assert!(cell(&more, "sign-flip")["accuracy"].is_array());
    let other = place.slvrc(&format!("{base} --attacks none --resume --alpha 2"));
    assert_eq!(other.status, 1, "results of another setting are not mixed");
    for file in ["lab/accuracy.svg", "lab/table.md", "lab/results.json"] {
        assert!(place.path(file).exists(), "{file}");
    }
    let page = place.slvrc("lab --from lab --page page.md");
    assert_eq!(page.status, 0, "{}", page.stderr);
    let text = std::fs::read_to_string(place.path("page.md")).expect("a page");
    assert!(text.contains("| mine |") && place.path("page/lab.svg").exists(), "{text}");
}

#[test]
fn every_attack_runs_against_a_predicate_and_a_model_of_ones_own() {
    let place = place();
    // The file has one model: its name need not be said.
    let line = "lab mine.slvr --model small.slvr --attacks all --clients 5 --rounds 1 --epochs 1 --samples 20 --test 50 --seeds 1";
    let report = place.slvrc(&format!("{line} --json")).ok();
    let results = &report["results"];
    let columns = results["attacks"].as_array().expect("attacks");
    assert!(columns.len() > 15 && columns.contains(&"adaptive".into()), "{columns:?}");
    // Those that need scores or validation samples have nothing to do here.
    let idle = ["extreme", "extreme-bold", "extreme-search", "crafted", "flipped-validation"];
    for attack in columns.iter().filter_map(Value::as_str).filter(|a| *a != "adaptive") {
        let done = cell(&report, attack);
        assert_eq!(done["accuracy"].is_array(), !idle.contains(&attack), "{attack}: {done}");
        let checks = done["checks"].as_array().into_iter().flatten();
        let agree: Vec<_> = checks.map(|c| c["agrees"] == true).collect();
        let expected = if idle.contains(&attack) { vec![] } else { vec![true] };
        assert_eq!(agree, expected, "{attack}: one run among three parties, which agrees");
    }
    place.write("two.slvr", format!("{MODEL}{}", MODEL.replace("Small", "Other")));
    let two = place.slvrc("lab mine.slvr --model two.slvr --attacks none --out two");
    let ways = ["two.slvr:Small", "two.slvr:Other"];
    assert!(two.status == 1 && ways.iter().all(|w| two.stderr.contains(w)), "{}", two.stderr);
    place.write("none.slvr", "fn f(x: fix) -> fix { x }\n");
    let none = place.slvrc("lab mine.slvr --model none.slvr --attacks none --out none");
    assert!(none.status == 1 && none.stderr.contains("declares no model"), "{}", none.stderr);
}

#[test]
fn floating_point_and_the_circuit_agree_over_rounds() {
    let place = place();
    let run = |how: &str, out: &str| {
        let line =
            format!("lab mine.slvr {QUICK} --attacks none --seeds 1 --out {out} --json {how}");
        let report = place.slvrc(&line).ok();
        let last = cell(&report, "none")["accuracy"].as_array().and_then(|a| a.last()?.as_f64());
        last.expect("an accuracy")
    };
    assert!((run("", "a") - run("--fast", "b")).abs() < 0.03);
}

#[test]
fn the_lab_says_what_it_cannot_fill_and_which_names_there_are() {
    let place = place();
    place.write("odd.slvr", MINE.replace("guide", "compass"));
    let odd = place.slvrc(&format!("lab odd.slvr {QUICK} --attacks none"));
    assert!(odd.status == 1 && odd.stderr.contains("--fill compass=ROLE"), "{}", odd.stderr);
    let named =
        place.slvrc(&format!("lab odd.slvr {QUICK} --attacks none --fill compass=reference"));
    assert_eq!(named.status, 0, "{}", named.stderr);
    let attack = place.slvrc("lab mine.slvr --attacks krumm");
    assert!(attack.status == 2 && attack.stderr.contains("fang-krum"), "{}", attack.stderr);
    let data = place.slvrc("lab mine.slvr --dataset mnist --data nowhere");
    assert!(data.status == 1 && data.stderr.contains("train-images"), "{}", data.stderr);
}

#[test]
fn the_demo_takes_a_predicate_of_ones_own() {
    let place = place();
    let report = place.slvrc("demo --predicate mine.slvr --rounds 1 --clients 4 --json").ok();
    assert_eq!(report["predicate"], "Mine");
    // What is said of the demo's own check does not hold of another one, however it is named.
    let text = place.slvrc("demo mine.slvr --rounds 1 --clients 4");
    assert!(text.ok_text().contains("`slvrc explain` says what that tells"), "{}", text.stdout);
    // What a party sends is the mean of three numbers.
    assert!(text.stdout.contains("B by each party (mean)"), "{}", text.stdout);
    let two = place.slvrc("demo krum --predicate mine.slvr --rounds 1 --clients 4");
    assert!(
        two.status == 2 && two.stderr.contains("`krum` and --predicate mine.slvr"),
        "{}",
        two.stderr
    );
    place.write("odd.slvr", MINE.replace("guide", "compass"));
    let odd = place.slvrc("demo --predicate odd.slvr --rounds 1 --clients 4");
    assert!(odd.status == 1 && odd.stderr.contains("`compass`"), "{}", odd.stderr);
    place.write("going.slvr", GOING);
    let refused = place.slvrc("demo --predicate going.slvr --rounds 1 --clients 4");
    assert!(refused.status == 1 && refused.stderr.contains("slvrc lab"), "{}", refused.stderr);
}

/// A momentum that is kept from round to round, and noise on what is revealed.
const GOING: &str = "\
use std::{norm, sum};

predicate Going[M: model, m]() {
    parties Client[m];
    parties Server;

    input update: secret weights M in -1..1 from each Client;

    state moving: secret weights M in -4..4 = 0;
    state rounds: secret int in 0..100 = 0;

    sample noise: weights M from gaussian(0.0625);

    let next = 0.5 * moving + sum(update[i] for i in Client) / m;

    store next as moving;
    store rounds + 1 as rounds;

    reveal next + noise to Server as aggregate;
    reveal rounds to Server as rounds;
}
";

/// States go from round to round in the lab, and noise is drawn: three parties that begin with what was kept agree in
/// every round, whichever arithmetic goes on, and also where attackers set nothing or something.
#[test]
fn the_lab_carries_states_and_draws_noise() {
    let place = place();
    place.write("going.slvr", GOING);
    let run = |how: &str, out: &str| {
        let line = format!(
            "lab going.slvr {QUICK} --attacks none,sign-flip --seeds 1 --parties-every 1 --out {out} --json {how}"
        );
        place.slvrc(&line).ok()
    };
    let exact = run("", "a");
    for (report, name) in [(&exact, "exact"), (&run("--fast", "b"), "fast")] {
        for attack in ["none", "sign-flip"] {
            let cell = &report["results"]["cells"][format!("going.slvr | {attack} | 0")];
            let checks = cell["checks"].as_array().expect("checks");
            assert_eq!(checks.len(), 2, "{name}: {cell}");
            for check in checks {
                let tolerance = check["tolerance"].as_f64().expect("a bound");
                assert!(tolerance < 0.02 && check["agrees"] == true, "{name}, {attack}: {check}");
            }
        }
    }
    let accuracy =
        |report: &Value| report["results"]["cells"]["going.slvr | none | 0"]["accuracy"].clone();
    assert_eq!(accuracy(&run("", "c")), accuracy(&exact), "the same seed, the same run");
}
