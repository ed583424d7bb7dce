//! What the lab promises of predicates of one's own: nothing is guessed, and names decide nothing.

use crate::folder::Place;
use serde_json::Value;

const QUICK: &str =
    "--clients 6 --rounds 2 --epochs 1 --samples 30 --test 100 --seeds 1 --parties-every 0 --fast";

/// A predicate of clients' updates, with these sizes, parameters and statements.
fn write(place: &Place, file: &str, sizes: &str, params: &str, body: &str) {
    place.write(
        file,
        format!(
            "use std::{{lower_median, norm, sum}};
predicate P[M: model, {sizes}]({params}) {{
    parties Client[m];
    parties Server;
    input update: secret weights M in -8..8 from each Client;
    {body}
}}
"
        ),
    );
}

/// A line with one of its options replaced.
fn instead(line: &str, option: &str, other: &str) -> String {
    assert!(line.contains(option), "{line}: no {option}");
    line.replace(option, other)
}

const MEAN: &str = "reveal sum(update) / m to Server as aggregate;";

fn about<'a>(report: &'a Value, row: &str) -> &'a Value {
    &report["results"]["about"][row]
}

#[test]
fn sizes_follow_from_options_whatever_the_program_requires_of_them() {
    let place = Place::new();
    write(&place, "p.slvr", "m", "", &format!("require m >= 6, \"many\"; {MEAN}"));
    let report = place.slvrc(&format!("lab p.slvr {QUICK} --attacks none --json")).ok();
    assert_eq!(about(&report, "p.slvr")["sizes"], "M=DigitsNet m=6");
    // The set that gives updates has any name for its size.
    let text = std::fs::read_to_string(place.path("p.slvr")).expect("a file");
    place.write(
        "n.slvr",
        text.replace("m >=", "n >=")
            .replace("/ m", "/ n")
            .replace("[m]", "[n]")
            .replace("model, m", "model, n"),
    );
    let report = place.slvrc(&format!("lab n.slvr {QUICK} --attacks none --out n --json")).ok();
    assert_eq!(about(&report, "n.slvr")["sizes"], "M=DigitsNet n=6");
    // A set of another size than there are clients is refused, smaller or larger.
    for size in ["5", "9"] {
        let fixed =
            text.replace("Client[m]", &format!("Client[{size}]")).replace("model, m]", "model]");
        place.write("fixed.slvr", fixed.replace("m >= 6", "1 < 6").replace("/ m", "/ 6"));
        let refused = place.slvrc(&format!("lab fixed.slvr {QUICK} --attacks none --out f"));
        let what = format!("{size} clients give updates, and 6 take part");
        assert!(refused.status == 2 && refused.stderr.contains(&what), "{}", refused.stderr);
    }
}

#[test]
fn a_size_without_a_value_is_asked_for_and_never_guessed() {
    let place = Place::new();
    let body = "sample picks[h] of Client; reveal sum(update[i] for i in picks) / h to Server as aggregate;";
    write(&place, "p.slvr", "m, h", "", body);
    let line = format!("lab p.slvr {QUICK} --attacks none");
    let refused = place.slvrc(&line);
    assert!(refused.status == 2 && refused.stderr.contains("h=VALUE"), "{}", refused.stderr);
    let report = place.slvrc(&format!("lab p.slvr h=3 {QUICK} --attacks none --json")).ok();
    assert_eq!(about(&report, "p.slvr")["sizes"], "M=DigitsNet m=6 h=3");
}

#[test]
fn a_parameter_keeps_its_value_whatever_it_is_called() {
    let place = Place::new();
    for name in ["b", "c", "f", "k", "d", "drop"] {
        let (file, out) = (format!("{name}.slvr"), format!("out-{name}"));
        let body = format!("reveal {name} * sum(update) / m to Server as aggregate;");
        write(&place, &file, "m", &format!("{name}: fix = 0.5"), &body);
        let report =
            place.slvrc(&format!("lab {file} {QUICK} --attacks none --out {out} --json")).ok();
        let sizes = about(&report, &file)["sizes"].as_str().expect("sizes").to_string();
        assert!(sizes.ends_with(&format!("{name}=0.5")), "{sizes}");
    }
}

#[test]
fn a_number_beside_a_mean_changes_nothing_and_the_table_says_what_is_applied() {
    let place = Place::new();
    write(&place, "mean.slvr", "m", "", MEAN);
    let more = "reveal sum(norm(update[i]) > 0.1 for i in Client) to Server as long_ones;";
    write(&place, "more.slvr", "m", "", &format!("{MEAN} {more}"));
    let run = |file: &str, more: &str| {
        let line = format!("lab {file} {QUICK} --attacks none --out {file}.out --json {more}");
        let report = place.slvrc(&line).ok();
        let accuracy = report["results"]["cells"][format!("{file} | none | 0")]["accuracy"].clone();
        (accuracy, about(&report, file)["aggregate"].clone())
    };
    let (mean, applied) = run("mean.slvr", "");
    assert_eq!(applied, "`aggregate`");
    assert_eq!(run("more.slvr", "").0, mean);
    std::fs::remove_dir_all(place.path("more.slvr.out")).expect("removed");
    let (_, applied) = run("more.slvr", "--aggregate aggregate/long_ones");
    assert_eq!(applied, "`aggregate` divided by `long_ones`");
}

#[test]
fn a_check_is_attacked_alike_whatever_its_names_are() {
    let place = Place::new();
    let body = |bound: &str| {
        format!(
            "let size = [norm(update[i]) for i in Client];
    reveal sum((size[i] < {bound} * lower_median(size)) * update[i] for i in Client) / m to Server as aggregate;"
        )
    };
    let run = |file: &str, name: &str| {
        write(&place, file, "m", &format!("{name}: fix = 1.5"), &body(name));
        let line =
            format!("lab {file} {QUICK} --attacks adaptive,fang-bound --out {file}.out --json");
        let report = place.slvrc(&line).ok();
        assert_eq!(about(&report, file)["adaptive"], serde_json::json!(["probe"]));
        ["probe", "fang-bound"]
            .map(|a| report["results"]["cells"][format!("{file} | {a} | 0")]["accuracy"].clone())
    };
    let first = run("a.slvr", "lambda");
    assert_eq!(run("b.slvr", "bound"), first);
    assert_eq!(run("c.slvr", "tau"), first);
}

/// The row of a predicate: all its cells, the adaptive attacks and the worst one.
fn row(report: &Value, file: &str) -> Value {
    let cells = report["results"]["cells"].as_object().expect("cells").iter();
    let own = cells
        .filter_map(|(k, v)| Some((k.strip_prefix(&format!("{file} | "))?.to_string(), v.clone())));
    let own: serde_json::Map<String, Value> = own.collect();
    assert!(!own.is_empty(), "{file}: {report}");
    serde_json::json!([own, about(report, file)["adaptive"], report["worst"][file]])
}

#[test]
fn a_renamed_or_copied_predicate_has_the_same_row_to_the_digit() {
    let place = Place::new();
    for (name, title) in [("norm_bound", "NormBound"), ("cosine_similarity", "CosineSimilarity")] {
        let text = slvr_predicates::get(&format!("{name}.slvr")).expect("a predicate");
        place.write("copied.slvr", text);
        place.write("renamed.slvr", text.replace(title, "Mine"));
        let line = format!(
            "lab --predicate {name},copied.slvr,renamed.slvr {QUICK} --attacks none,adaptive,sign-flip --out {name} --json"
        );
        let report = place.slvrc(&line).ok();
        let shipped = row(&report, name);
        assert_eq!(row(&report, "copied.slvr"), shipped);
        assert_eq!(row(&report, "renamed.slvr"), shipped);
        assert_eq!(
            shipped[1].as_array().expect("attacks").len(),
            2,
            "a closed form and the search"
        );
    }
    // Without the header there is the search alone.
    let bare = slvr_predicates::get("norm_bound.slvr")
        .expect("a predicate")
        .replace("Attack: fang-bound.", "");
    place.write("bare.slvr", bare);
    let report =
        place.slvrc(&format!("lab bare.slvr {QUICK} --attacks adaptive --out bare --json")).ok();
    assert_eq!(about(&report, "bare.slvr")["adaptive"], serde_json::json!(["probe"]));
    place.write(
        "odd.slvr",
        "// Attack: krumm\n".to_string() + slvr_predicates::get("krum.slvr").expect("krum"),
    );
    let odd = place.slvrc(&format!("lab odd.slvr {QUICK} --out odd"));
    assert!(odd.status == 2 && odd.stderr.contains("`krumm`; made for checks"), "{}", odd.stderr);
}

/// An author who leaves the attack out, or names another, does not make a check look stronger.
#[test]
fn a_comment_that_names_an_attack_changes_no_other_attack() {
    let place = Place::new();
    let shipped = slvr_predicates::get("norm_bound.slvr").expect("a predicate");
    let bare = shipped.replace("Attack: fang-bound.", "");
    let all = [
        ("norm_bound.slvr", shipped.to_string(), &["fang-bound", "probe"][..]),
        ("bare.slvr", bare.clone(), &["probe"]),
        ("other.slvr", format!("// Attack: cosine, slvr\n{bare}"), &["cosine", "slvr", "probe"]),
        // Below a blank line and a licence, and within prose.
        ("below.slvr", format!("\n// MIT\n\n{shipped}"), &["fang-bound", "probe"]),
        ("prose.slvr", format!("// It resists every Attack: fang-bound\n{bare}"), &["probe"]),
    ];
    for (name, text, _) in &all {
        place.write(name, text);
    }
    let names: Vec<&str> = all.iter().map(|(name, ..)| *name).collect();
    let attacks = "none,cosine,fang-krum,slvr,probe,adaptive";
    let line = format!("lab --predicate {} {QUICK} --attacks {attacks} --json", names.join(","));
    let report = place.slvrc(&line).ok();
    for (name, _, adaptive) in &all {
        assert_eq!(about(&report, name)["adaptive"], serde_json::json!(adaptive), "{name}");
        for attack in ["cosine", "fang-krum", "slvr", "probe"] {
            let of = |name: &str| &report["results"]["cells"][format!("{name} | {attack} | 0")];
            assert_eq!(of(name)["accuracy"], of(names[0])["accuracy"], "{name}, {attack}");
        }
    }
    for (said, why) in [
        ("// attack: fang-bound", "names no attack: write `Attack: NAME`"),
        ("// Attacks: fang-bound", "names no attack: write `Attack: NAME`"),
        ("// Attack: none", "`none`; made for checks are"),
    ] {
        place.write("odd.slvr", format!("{said}\n{bare}"));
        let odd = place.slvrc(&format!("lab odd.slvr {QUICK} --out odd"));
        assert!(odd.status == 2 && odd.stderr.contains(why), "{said}: {}", odd.stderr);
    }
}

/// Of what is not known nothing is said: runs of which nothing is proven, rounds without an attacker.
#[test]
fn what_cannot_be_judged_is_not_counted_against_a_check() {
    let place = Place::new();
    let line = format!("lab fltrust --predicate secure_aggregation {QUICK} --attacks none");
    let run = place.slvrc(&instead(&line, "--parties-every 0", "--parties-every 2"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let said = "three parties agreed in 1 of the 1 runs that could be judged";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    let rounds = String::from_utf8(place.read("lab/rounds.csv")).expect("text");
    let last = |of: &str| {
        let line = rounds.lines().rfind(|l| l.starts_with(of)).expect("a round");
        line.rsplit(',').next().expect("a field").to_string()
    };
    assert_eq!((last("fltrust,").as_str(), last("secure_aggregation,").as_str()), ("", "yes"));
    let table = String::from_utf8(place.read("lab/table.md")).expect("text");
    assert!(table.contains("test accuracy in percent after 2 rounds"), "{table}");
    // Half of six clients, of whom one is malicious: in some federations of two rounds it never takes part.
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..8 {
        let line = format!(
            "lab norm_bound {QUICK} --part 0.5 --malicious 0.17 --attacks none,noise --seed {seed} --out p{seed} --json"
        );
        let run = place.slvrc(&line);
        let cell = format!("norm_bound | noise | {seed}");
        let attacked = run.ok()["results"]["cells"][cell]["attacked"].as_u64().expect("a number");
        let why = "norm_bound, under noise: in a run of all rounds no malicious client took part";
        assert_eq!(run.stderr.contains(why), attacked == 0, "seed {seed}: {}", run.stderr);
        seen.insert(attacked);
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn the_last_column_is_the_worst_and_adaptive_the_worse_of_two() {
    let place = Place::new();
    let line =
        format!("lab norm_bound {QUICK} --attacks none,noise@sigma=0,sign-flip@from=2,adaptive");
    let report = place.slvrc(&format!("{line} --json")).ok();
    let end = |attack: &str| {
        let cell = &report["results"]["cells"][format!("norm_bound | {attack} | 0")]["accuracy"];
        cell.as_array().expect("accuracies").last().and_then(Value::as_f64).expect("a number")
    };
    let all = ["noise@sigma=0", "sign-flip@from=2", "fang-bound", "probe"].map(end);
    let worst = report["worst"]["norm_bound"]["accuracy"].as_f64().expect("a number");
    assert_eq!(worst, all.into_iter().fold(1.0, f64::min));
    // Noise of no size is no attack, and one that begins in the second round leaves the first as it is.
    let cells = &report["results"]["cells"];
    let accuracy = |attack: &str| cells[format!("norm_bound | {attack} | 0")]["accuracy"].clone();
    assert_eq!(accuracy("noise@sigma=0"), accuracy("none"));
    assert_eq!(accuracy("sign-flip@from=2")[0], accuracy("none")[0]);
    let table = place.slvrc(&format!("{line} --resume"));
    let row =
        table.stdout.lines().find(|l| l.starts_with("| norm_bound |")).expect("a row").to_string();
    let adaptive = format!("| {:.1}", 100.0 * end("fang-bound").min(end("probe")));
    assert!(
        row.contains(&adaptive) && row.contains(&format!("| **{:.1}** ", 100.0 * worst)),
        "{row}"
    );
    // Another seed that is not done yet is marked.
    let more = place.slvrc(&instead(&format!("{line} --resume"), "--seeds 1", "--seeds 2"));
    assert!(more.status == 0 && !more.stdout.contains("of 2 seeds"), "{}", more.stdout);
    let path = place.path("lab/results.json");
    let mut cut: Value =
        serde_json::from_slice(&std::fs::read(&path).expect("results")).expect("JSON");
    cut["cells"].as_object_mut().expect("cells").remove("norm_bound | none | 1");
    std::fs::write(&path, cut.to_string()).expect("written");
    assert_eq!(place.slvrc("lab --from lab --page page.md").status, 0);
    let page = std::fs::read_to_string(place.path("page.md")).expect("a page");
    assert!(page.contains("(1 of 2 seeds)"), "{page}");
}

#[test]
fn rounds_classes_and_who_counted_are_listed_and_notes_say_of_which_cells() {
    let place = Place::new();
    // Keeps what is short: the updates of all but the malicious, who are long; and a second check that keeps nobody.
    let keep = |most: &str| {
        format!(
            "reveal sum((norm(update[i]) < {most}) * update[i] for i in Client) / m to Server as aggregate;"
        )
    };
    write(&place, "short.slvr", "m", "", &keep("4"));
    write(&place, "nobody.slvr", "m", "", &keep("0"));
    let quick = instead(QUICK, "--parties-every 0 --fast", "--parties-every 2");
    let line =
        format!("lab --predicate short.slvr,nobody.slvr {quick} --attacks none,inf --last 2");
    let run = place.slvrc(&line);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("| short | inf | 5.0 | 0.0 | 0 |"), "{}", run.stdout);
    assert!(run.stdout.contains("| short | none | 5.0 | 1.0 | "), "{}", run.stdout);
    assert!(run.stdout.contains("three parties agreed in all 4 runs"), "{}", run.stdout);
    assert!(
        run.stderr.contains("nobody, under none, inf: nothing was ever kept"),
        "{}",
        run.stderr
    );
    let read = |file: &str| std::fs::read_to_string(place.path(file)).expect("a file");
    let rounds = read("lab/rounds.csv");
    assert_eq!(rounds.lines().count(), 1 + 2 * 2 * 2);
    let last = rounds.lines().find(|l| l.starts_with("short.slvr,inf,0,2,")).expect("a round");
    assert!(last.ends_with(",5,0,0,yes"), "{last}");
    assert_eq!(read("lab/classes.csv").lines().count(), 1 + 2 * 2 * 10);
    // The figure is the mean of the last two rounds.
    let accuracy: Vec<f64> = rounds
        .lines()
        .filter(|l| l.starts_with("short.slvr,none,"))
        .map(|l| l.split(',').nth(4).and_then(|x| x.parse().ok()).expect("a number"))
        .collect();
    let mean = format!("| short | {:.1} |", 50.0 * (accuracy[0] + accuracy[1]));
    assert!(run.stdout.contains(&mean), "{mean}: {}", run.stdout);
}

/// The mean of the honest, backwards, by what a user writes.
const OWN: &str = "\
use std::{sum};

fn back[h, d](honest: fix[h, d]) -> fix[d] {
    -sum(honest[i] for i in h) / h
}

fn attack[n, h, d](own: fix[n, d], honest: fix[h, d]) -> fix[n, d] {
    [back(honest) for i in n]
}
";

#[test]
fn an_attack_of_ones_own_is_a_function_of_what_the_malicious_know() {
    let place = Place::new();
    write(&place, "p.slvr", "m", "", MEAN);
    place.write("own.slvr", OWN);
    place.write("flip.slvr", "fn attack[n, d](own: fix[n, d]) -> fix[n, d] { -own }\n");
    let line = format!(
        "lab p.slvr {QUICK} --attacks none,sign-flip,flip.slvr,flip.slvr@from=2,own.slvr --json"
    );
    let report = place.slvrc(&line).ok();
    let of = |attack: &str| {
        report["results"]["cells"][format!("p.slvr | {attack} | 0")]["accuracy"].clone()
    };
    assert_eq!(of("flip.slvr"), of("sign-flip"));
    assert_eq!(of("flip.slvr@from=2")[0], of("none")[0]);
    assert!(of("own.slvr") != of("none") && of("own.slvr").is_array());
    for (text, what) in [
        (
            "fn other(x: fix) -> fix { x }\n",
            "an attack is a function `attack` of some of own: fix[n, d]",
        ),
        ("fn attack[d](secret: fix[d]) -> fix[d] { secret }\n", "nobody knows `secret`"),
        ("fn attack[n, d](own: fix[n, d]) -> fix[n, d] { owl }\n", "`owl`"),
    ] {
        place.write("wrong.slvr", text);
        let refused = place.slvrc(&format!("lab p.slvr {QUICK} --attacks wrong.slvr --out w"));
        assert!(refused.status != 0 && refused.stderr.contains(what), "{what}: {}", refused.stderr);
    }
    place.write("own.slvr", OWN.replace("/ h", "/ (2 * h)"));
    let stale = place.slvrc(&format!("{line} --resume"));
    assert!(stale.status == 1, "another text is another attack: {}", stale.stderr);
}

#[test]
fn without_malicious_clients_all_columns_are_like_none() {
    let place = Place::new();
    write(&place, "p.slvr", "m", "", MEAN);
    let report = place
        .slvrc(&format!("lab p.slvr {QUICK} --malicious 0 --attacks none,sign-flip --json"))
        .ok();
    let cells = &report["results"]["cells"];
    assert_eq!(cells["p.slvr | none | 0"]["accuracy"], cells["p.slvr | sign-flip | 0"]["accuracy"]);
}

#[test]
fn many_attacks_are_rows() {
    let place = Place::new();
    write(&place, "p.slvr", "m", "", MEAN);
    let quick = instead(QUICK, "--rounds 2", "--rounds 1");
    let attacks = "none,noise,sign-flip,ipm,alie,mimic,inf,nan";
    let run = place.slvrc(&format!("lab p.slvr {quick} --attacks {attacks}"));
    assert!(
        run.stdout.contains("| attack | p | secure_aggregation |")
            && run.stdout.contains("| worst | **"),
        "{}",
        run.stdout
    );
}

/// The lower bound of Theorem 1: the search under forged scores ends no higher than the paper's attack with them.
#[test]
fn the_search_under_forged_scores_is_never_weaker_than_extreme() {
    let place = Place::new();
    let line = "lab slvr_accuracy --attacks extreme,extreme-search --seed 40 --rounds 5 --fast --parties-every 0 --json";
    let report = place.slvrc(line).ok();
    for seed in [40, 41, 42] {
        let [paper, search] = ["extreme", "extreme-search"].map(|attack| {
            let cell = &report["results"]["cells"][format!("slvr_accuracy | {attack} | {seed}")];
            cell["accuracy"][4].as_f64().expect("an accuracy")
        });
        assert!(search <= paper, "seed {seed}: {search} is above {paper}");
    }
}

#[test]
fn runs_among_parties_change_nothing_of_an_experiment_in_floating_point() {
    let place = Place::new();
    let body = "sample picks[3] of Client; reveal sum(update[i] for i in picks) / 3 to Server as aggregate;";
    write(&place, "p.slvr", "m", "", body);
    let run = |every: &str| {
        let quick = instead(QUICK, "--parties-every 0", &format!("--parties-every {every}"));
        let line = format!("lab p.slvr {quick} --attacks none --out o{every} --json");
        let report = place.slvrc(&line).ok();
        assert_eq!(report["disagreeing_runs"], 0);
        report["results"]["cells"]["p.slvr | none | 0"]["accuracy"].clone()
    };
    let without = run("0");
    assert_eq!(run("1"), without);
    assert_eq!(run("2"), without);
}

#[test]
fn nonsense_is_refused_before_anything_runs() {
    let place = Place::new();
    write(&place, "p.slvr", "m", "", MEAN);
    for wrong in [
        "--rate nan",
        "--rate inf",
        "--rate 1e9",
        "--rate 0",
        "--momentum 1.5",
        "--momentum nan",
        "--rounds 0",
        "--epochs 0",
        "--batch 0",
        "--shift-every 0",
        "--test 0",
        "--part 0",
        "--alpha inf",
        "--alpha 0",
        "--validation 0",
        "--samples 1",
        "--malicious 0.04 --attacks noise",
        "--seed 18446744073709551614 --seeds 3",
        "--fill update=update --fill update=zeros",
    ] {
        let attacks = if wrong.contains("--attacks") { "" } else { "--attacks none" };
        let refused = place.slvrc(&format!("lab p.slvr --clients 6 {wrong} {attacks}"));
        assert_eq!(refused.status, 2, "{wrong}: {}", refused.stderr);
    }
    let typo = place.slvrc(&format!("lab p.slvr {QUICK} --attacks none --fill updte=zeros"));
    assert!(typo.status == 1 && typo.stderr.contains("`updte`"), "{}", typo.stderr);
    assert_eq!(place.slvrc("lab p.slvr lambda=1 lambda=2").status, 2, "bound twice");
}

#[test]
fn results_go_on_only_with_the_same_files_and_one_spelling_is_one_row() {
    let place = Place::new();
    write(
        &place,
        "p.slvr",
        "m",
        "x: fix = 1",
        "reveal x * sum(update) / m to Server as aggregate;",
    );
    let line = |file: &str, more: &str| format!("lab {file} {QUICK} --attacks none --json {more}");
    let first = place.slvrc(&line("p.slvr", "")).ok();
    let again = place.slvrc(&line("./p.slvr", "--resume")).ok();
    assert_eq!(again["results"], first["results"], "nothing is another row, or rounded");
    // The text behind @ does not hide the file.
    place.slvrc(&line("--predicate p.slvr@x=2", "--out at")).ok();
    let text = std::fs::read_to_string(place.path("p.slvr")).expect("a file");
    place.write("p.slvr", text.replace("x *", "2 * x *"));
    for stale in [line("p.slvr", "--resume"), line("--predicate p.slvr@x=2", "--out at --resume")] {
        let refused = place.slvrc(&stale);
        assert!(refused.status == 1 && refused.stdout.contains("files"), "{}", refused.stderr);
    }
    // Cut results are not taken as whole.
    let path = place.path("at/results.json");
    let mut cut: Value =
        serde_json::from_slice(&std::fs::read(&path).expect("results")).expect("JSON");
    let cells = cut["cells"].as_object_mut().expect("cells");
    cells.values_mut().for_each(|c| c["accuracy"] = serde_json::json!([0.5]));
    std::fs::write(&path, cut.to_string()).expect("written");
    let refused = place.slvrc("lab --from at --page page.md");
    assert!(
        refused.status == 1 && refused.stderr.contains("has not all rounds"),
        "{}",
        refused.stderr
    );
}

#[test]
fn two_folders_of_one_name_are_two_sections_and_two_plots() {
    let place = Place::new();
    write(&place, "p.slvr", "m", "", MEAN);
    for out in ["s1/res", "s2/res"] {
        place.slvrc(&format!("lab p.slvr {QUICK} --attacks backdoor --out {out} --json")).ok();
    }
    let page = place.slvrc("lab --from s1/res,s2/res --page two.md");
    assert_eq!(page.status, 0, "{}", page.stderr);
    let text = std::fs::read_to_string(place.path("two.md")).expect("a page");
    for name in ["s1-res", "s2-res"] {
        assert!(text.contains(&format!("### {name}\n")), "{text}");
        assert!(place.path(&format!("two/{name}.svg")).exists());
    }
    assert_eq!(text.matches("triggered images").count(), 2, "the backdoor's success is listed");
    assert_eq!(place.slvrc("lab --from s1/res --page nopage").status, 2, "a page has an ending");
}

#[test]
fn two_rows_of_one_short_name_are_told_apart() {
    let place = Place::new();
    std::fs::create_dir(place.path("da")).expect("a folder");
    write(&place, "da/x.slvr", "m", "", MEAN);
    write(&place, "secure_aggregation.slvr", "m", "", MEAN);
    let line = format!(
        "lab --predicate da/x.slvr,secure_aggregation.slvr,secure_aggregation {QUICK} --attacks none"
    );
    let run = place.slvrc(&line);
    assert_eq!(run.status, 0, "{}", run.stderr);
    for label in ["| x |", "| secure_aggregation.slvr |", "| secure_aggregation |"] {
        assert!(run.stdout.contains(label), "{label}: {}", run.stdout);
    }
    assert!(
        run.stdout.contains("dataset digits") && run.stdout.contains("clients 6"),
        "{}",
        run.stdout
    );
}
