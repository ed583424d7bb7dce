//! What the optimiser sees through: a source that says what is meant, close to the formula, costs
//! what one does that spells out the cheap form by hand. Each test compiles both and compares rounds,
//! bytes and interactive instructions, after checking that the two agree on random inputs.

use slvr_circuit::traffic::Traffic;
use slvr_compiler::pipeline::Options;
use slvr_tests::{Case, coarse_inputs, compile_with, distance};

/// Rounds, bytes per party, interactive instructions.
type Cost = (usize, [u64; 3], usize);

fn cost(case: &Case) -> Cost {
    let circuit = case.circuit();
    let traffic = Traffic::of(circuit);
    let interactive = circuit.layers.iter().map(|l| l.exchange.len()).sum();
    (traffic.rounds, traffic.bytes, interactive)
}

const STD: &str = "use std::{abs, argmax, cosine, dot, exp, first_argmin, inf_norm, lower_median, max, mean, \
     median, min, norm, norm_sq, rank, recip, relu, select, smallest, softmax, sort, sqrt, sum, top_k, \
     trimmed_mean};
// Clients numbered from 0.
fn rows[n, d](x: fix[n, d]) -> fix[n, d] { [x[i] for i in n] }
fn list[n](y: fix[n]) -> fix[n] { [y[i] for i in n] }
";

fn program(names: &str, body: &str) -> String {
    format!(
        "{STD}{names}\npredicate T[m, d]() {{\n    parties Client[m];\n    parties Server;\n    \
         input x: secret fix[d] in -2..2 from each Client;\n    \
         input y: secret fix in -2..2 from each Client;\n    \
         input image: secret fix[1, 4, 4] in -1..1 from each Client;\n    \
         input label: secret int in 0..d from each Client;\n    \
         input bits: secret bit[d] from each Client;\n    \
         input w: public fix[d] in -2..2;\n\n{body}\n}}\n"
    )
}

/// Inputs that a program does not read are left out: they would be dealt.
fn trimmed(text: &str) -> String {
    let used = |line: &str| {
        let Some(name) = line.trim().strip_prefix("input ").and_then(|l| l.split(':').next())
        else {
            return true;
        };
        let rest = text.lines().skip_while(|l| !l.starts_with("predicate"));
        let rest = rest.filter(|l| !l.trim().starts_with("input ") || l.contains(" net:"));
        rest.flat_map(|l| l.split(|c: char| !c.is_alphanumeric() && c != '_')).any(|t| t == name)
    };
    text.lines().filter(|l| used(l)).map(|l| format!("{l}\n")).collect()
}

fn build(names: &str, body: &str, m: u64, d: u64) -> Case {
    build_in(Some(64), names, body, m, d)
}

/// Without the checks of inputs, which cost the same for both sources; with one ring for all values,
/// or the smallest for each.
fn build_in(ring: Option<u32>, names: &str, body: &str, m: u64, d: u64) -> Case {
    let text = trimmed(&program(names, body));
    let how = Options { enforce: false, ring, ..Options::default() };
    compile_with(&text, &[("m", &m.to_string()), ("d", &d.to_string())], how)
}

/// Both reveal the same, among three parties too, within some units of 2^-16.
fn agree(a: &Case, b: &Case) {
    for seed in 0..4 {
        let inputs = coarse_inputs(a.circuit(), seed);
        let report = a.parties(&inputs, seed);
        let found: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
        let want = a.floating(&inputs, &report.coins);
        let bound = 2e-3;
        for (what, values) in [
            ("the other source", &b.floating(&inputs, &report.coins)),
            ("three parties", &found),
            ("the other circuit", &b.circuit_clear(&inputs, &report.coins, seed)),
        ] {
            let d = distance(&want, values);
            assert!(d <= bound, "{what}, seed {seed}: off by {d}: {want:?} {values:?}");
        }
    }
}

fn same_with(names: &str, m: u64, d: u64, naive: &str, by_hand: &str) -> Cost {
    let (naive, by_hand) = (build(names, naive, m, d), build(names, by_hand, m, d));
    agree(&naive, &by_hand);
    assert_eq!(
        cost(&naive),
        cost(&by_hand),
        "naive:\n{}\nby hand:\n{}",
        slvr_compiler::graph::text::print(&naive.compiled.optimised),
        slvr_compiler::graph::text::print(&by_hand.compiled.optimised)
    );
    cost(&naive)
}

/// The naive source costs what the one by hand does.
fn same(m: u64, d: u64, naive: &str, by_hand: &str) -> Cost {
    same_with("", m, d, naive, by_hand)
}

/// The naive source costs no more than the one by hand, which names every entry: there, bits of
/// single entries are padded to bytes, and each has an instruction of its own.
fn at_most(m: u64, d: u64, naive: &str, by_hand: &str) {
    at_most_plus(0, m, d, naive, by_hand);
}

/// As [`at_most`], with this many more rounds.
fn at_most_plus(rounds: usize, m: u64, d: u64, naive: &str, by_hand: &str) {
    let (naive, by_hand) = (build("", naive, m, d), build("", by_hand, m, d));
    agree(&naive, &by_hand);
    let (naive, by_hand) = (cost(&naive), cost(&by_hand));
    assert!(naive.0 <= by_hand.0 + rounds, "rounds: {naive:?}, by hand {by_hand:?}");
    assert!(
        naive.1.iter().zip(&by_hand.1).all(|(a, b)| a <= b),
        "bytes: {naive:?}, by hand {by_hand:?}"
    );
    assert!(naive.2 <= by_hand.2, "instructions: {naive:?}, by hand {by_hand:?}");
}

// Once per client.

#[test]
fn a_value_of_each_client_is_not_computed_for_each_pair() {
    same(
        5,
        4,
        "reveal [sum(relu(y[j]) for j in Client if j != i) for i in Client] to Server as z;",
        "let r = [relu(y[j]) for j in Client];
         reveal [sum(r[j] for j in Client if j != i) for i in Client] to Server as z;",
    );
    same(
        6,
        4,
        "sample com[3] of Client for each Client;
         let before = [norm_sq(x[j]) for j in Client];
         reveal [sum(before[j] for j in com[i]) for i in Client] to Server as z;",
        "sample com[3] of Client for each Client;
         let before = [sum(x[j][k] * x[j][k] for k in 0..4) for j in Client];
         reveal [sum(before[j] for j in com[i]) for i in Client] to Server as z;",
    );
}

/// The same where the others are sampled at run time: what depends on the sampled member alone is
/// computed for each member, and gathered then.
#[test]
fn a_value_of_each_sampled_member_is_not_computed_for_each_pair() {
    for f in [
        "relu(y[j])",
        "exp(y[j] / 2) * y[j]",
        "norm_sq(x[j])",
        "norm(x[j])",
        "max(x[j])",
        "(argmax(x[j]) == label[j])",
        "lower_median(x[j])",
        "(inf_norm(x[j]) < 1.25)",
        "dot(softmax(x[j]), w)",
        "dot(x[j], x[j]) * y[j]",
    ] {
        println!("{f}");
        same(
            6,
            4,
            &format!(
                "sample com[3] of Client for each Client;
                 reveal [[{f} - y[i] for j in com[i]] for i in Client] to Server as z;"
            ),
            &format!(
                "sample com[3] of Client for each Client;
                 let own = [{f} for j in Client];
                 reveal [[own[j] - y[i] for j in com[i]] for i in Client] to Server as z;"
            ),
        );
    }
}

/// A model that is the same for all, on a sampled member's data.
#[test]
fn a_public_model_is_applied_once_per_member() {
    let text = |inner: &str, outer: &str| {
        format!(
            "input net: public weights Naive in -1..1;
             sample com[3] of Client for each Client;
             {outer}
             reveal [[{inner} - y[i] for j in com[i]] for i in Client] to Server as z;"
        )
    };
    same_with(
        &models(POOLS),
        5,
        4,
        &text("sum(Naive(net, image[j]))", ""),
        &text("before[j]", "let before = [sum(Naive(net, image[j])) for j in Client];"),
    );
}

// Symmetric functions of pairs.

/// For five clients, the pairs (i, i + 1) and (i, i + 2) are all pairs; entry t of i's distances to
/// the others is of pair (i, i + 1), (i, i + 2), (i + 4, i), (i + 3, i).
const OTHERS: &str = "near[(i + (4 - t % 2) * (t / 2)) % 5][t % 2] for t in 4";

#[test]
fn a_distance_is_computed_once_for_each_pair() {
    let by_hand = format!(
        "let near = [[norm_sq(rows(x)[i] - rows(x)[(i + k) % 5]) for k in 1..3] for i in 0..5];
         reveal [sum(smallest[2]([{OTHERS}])) for i in 0..5] to Server as z;"
    );
    let square = "let dist = [[norm_sq(x[i] - x[j]) for j in Client] for i in Client];
         reveal [sum(smallest[2]([dist[i][j] for j in Client if j != i])) for i in Client] to Server as z;";
    let others = "let dist = [[norm_sq(x[i] - x[j]) for j in Client if j != i] for i in Client];
         reveal [sum(smallest[2](dist[i])) for i in Client] to Server as z;";
    assert_eq!(same(5, 4, square, &by_hand), same(5, 4, others, &by_hand));
}

#[test]
fn krum() {
    let naive = "let dist = [[norm_sq(x[i] - x[j]) for j in Client] for i in Client];
         let score = [sum(smallest[2]([dist[i][j] for j in Client if j != i])) for i in Client];
         let pick = first_argmin(score);
         reveal sum(pick[i] * x[i] for i in Client) to Server as z;";
    let by_hand = format!(
        "let near = [[norm_sq(rows(x)[i] - rows(x)[(i + k) % 5]) for k in 1..3] for i in 0..5];
         let score = [sum(smallest[2]([{OTHERS}])) for i in 0..5];
         let pick = first_argmin(score);
         reveal sum(pick[i] * rows(x)[i] for i in 0..5) to Server as z;"
    );
    same(5, 6, naive, &by_hand);
}

#[test]
fn a_function_of_a_distance_is_computed_once_for_each_pair() {
    let naive = |f: &str| {
        format!(
            "reveal [sum({} for j in Client if j != i) for i in Client] to Server as z;",
            f.replace("DIFFERENCE", "x[i] - x[j]")
        )
    };
    let by_hand = |f: &str| {
        format!(
            "let near = [[{} for k in 1..3] for i in 0..5];
             reveal [sum({OTHERS}) for i in 0..5] to Server as z;",
            f.replace("DIFFERENCE", "rows(x)[i] - rows(x)[(i + k) % 5]")
        )
    };
    for f in [
        "norm(DIFFERENCE)",
        "norm_sq(DIFFERENCE)",
        "exp(-norm_sq(DIFFERENCE))",
        "norm_sq(DIFFERENCE) < 1.25",
        "recip(1 + norm_sq(DIFFERENCE))",
    ] {
        println!("{f}");
        same(5, 3, &naive(f), &by_hand(f));
    }
    // A sum before the choice of pairs, as by hand, leaves fewer words to exchange, in no fewer rounds.
    let [a, b] = [naive, by_hand].map(|source| build("", &source("sum(abs(DIFFERENCE))"), 5, 3));
    agree(&a, &b);
    let (a, b) = (cost(&a), cost(&b));
    assert_eq!((a.0, a.2), (b.0, b.2), "rounds and instructions");
    // Ten pairs of three words, where by hand there are ten words: 8 bytes each.
    assert!((0..3).all(|p| a.1[p] <= b.1[p] + 20 * 8), "{a:?} {b:?}");
}

/// All entries of a Gram matrix, and those above the diagonal.
#[test]
fn an_inner_product_is_reshared_once_for_each_pair() {
    at_most(
        5,
        3,
        "reveal [sum(relu(dot(x[i], x[j])) for j in Client if j != i) for i in Client] to Server as z;",
        &format!(
            "let near = [[relu(dot(rows(x)[i], rows(x)[(i + k) % 5])) for k in 1..3] for i in 0..5];
             reveal [sum({OTHERS}) for i in 0..5] to Server as z;"
        ),
    );
}

// Order statistics.

#[test]
fn an_entry_of_a_sort_is_found_by_its_rank() {
    at_most(
        6,
        4,
        "reveal sort(y)[2] to Server as z;",
        "let r = rank([-y[i] for i in Client]);
         reveal sum((r[i] == 2) * y[i] for i in Client) to Server as z;",
    );
    at_most(
        6,
        4,
        "reveal [y[i] < lower_median(y) for i in Client] to Server as z;",
        "let r = rank([-y[i] for i in Client]);
         let middle = sum((r[i] == 2) * y[i] for i in Client);
         reveal [y[i] < middle for i in Client] to Server as z;",
    );
}

#[test]
fn a_sum_of_a_slice_of_a_sort_is_found_by_ranks() {
    at_most(
        6,
        4,
        "reveal trimmed_mean[1, 2](y) to Server as z;",
        "let r = rank([-y[i] for i in Client]);
         reveal sum(((r[i] < 4) != (r[i] < 1)) * y[i] for i in Client) / 3 to Server as z;",
    );
    at_most(
        6,
        4,
        "reveal sum(smallest[3](y)) to Server as z;",
        "let r = rank([-y[i] for i in Client]);
         reveal sum((r[i] < 3) * y[i] for i in Client) to Server as z;",
    );
    // All of them.
    at_most(6, 4, "reveal sum(sort(y)) to Server as z;", "reveal sum(y) to Server as z;");
}

/// A sum over all others is proven to be in a wider range than that of a few named bits: it is compared
/// on one bit more.
#[test]
fn a_rank_compares_each_pair_once() {
    at_most_plus(
        2,
        3,
        4,
        "reveal top_k[2](y) to Server as z;",
        "let v = list(y);
         let a = v[0] < v[1];
         let b = v[0] < v[2];
         let c = v[1] < v[2];
         reveal [[a + b, 1 - a + c, 2 - b - c][i] < 2 for i in 3] to Server as z;",
    );
    at_most_plus(
        2,
        3,
        4,
        "reveal first_argmin(y) to Server as z;",
        "let v = list(y);
         let a = v[1] < v[0];
         let b = v[2] < v[0];
         let c = v[2] < v[1];
         reveal [[a + b, 1 - a + c, 2 - b - c][i] == 0 for i in 3] to Server as z;",
    );
}

// Functions.

#[test]
fn an_argmax_that_is_compared_with_a_label_is_a_test_of_the_label() {
    let hit = "reveal [argmax(x[i]) == label[i] for i in Client] to Server as z;";
    let (rounds, ..) =
        same(4, 4, "reveal [label[i] == argmax(x[i]) for i in Client] to Server as z;", hit);
    same(4, 4, "reveal [argmax(softmax(x[i])) == label[i] for i in Client] to Server as z;", hit);
    // The label's entry, one comparison with each other entry, two ands; and the opening as a word.
    let by_hand = "let own = [dot(x[i], w) for i in Client];
         reveal [sum(x[i][j] <= own[i] for j in 4) for i in Client] to Server as z;";
    let alone = cost(&build("", by_hand, 4, 4)).0;
    assert!(rounds <= alone + 1 + 2, "{rounds} rounds, comparisons alone {alone}");
}

#[test]
fn the_largest_softmax_is_one_reciprocal() {
    same(
        4,
        5,
        "reveal [max(softmax(x[i])) for i in Client] to Server as z;",
        "reveal [recip(sum(exp(x[i] - max(x[i])))) for i in Client] to Server as z;",
    );
}

#[test]
fn comparisons_of_roots_compare_squares() {
    same(
        5,
        4,
        "let size = [norm(x[i]) for i in Client];
         reveal [size[i] < 1.5 * lower_median(size) for i in Client] to Server as z;",
        "let size = [norm_sq(x[i]) for i in Client];
         reveal [size[i] < 2.25 * lower_median(size) for i in Client] to Server as z;",
    );
    same(
        5,
        4,
        "reveal [norm(x[i]) >= 2.0 for i in Client] to Server as z;",
        "reveal [norm_sq(x[i]) >= 4.0 for i in Client] to Server as z;",
    );
    same(
        5,
        4,
        "reveal [2 * norm(x[i]) < 3 * norm(w) for i in Client] to Server as z;",
        "reveal [norm_sq(x[i]) < 2.25 * norm_sq(w) for i in Client] to Server as z;",
    );
    same(
        5,
        4,
        "reveal top_k[2]([norm(x[i]) for i in Client]) to Server as z;",
        "reveal top_k[2]([norm_sq(x[i]) for i in Client]) to Server as z;",
    );
}

#[test]
fn comparisons_of_quotients_compare_products() {
    same(
        5,
        4,
        "reveal [cosine(x[i], w) >= 0.0 for i in Client] to Server as z;",
        "reveal [dot(x[i], w) >= 0.0 for i in Client] to Server as z;",
    );
    same(
        5,
        4,
        "reveal [y[i] / (1 + exp(x[i][0])) < 0.5 for i in Client] to Server as z;",
        "reveal [y[i] < 0.5 * (1 + exp(x[i][0])) for i in Client] to Server as z;",
    );
    same(
        5,
        4,
        "reveal [mean(x[i]) < y[i] / 4 for i in Client] to Server as z;",
        "reveal [sum(x[i]) < y[i] for i in Client] to Server as z;",
    );
}

#[test]
fn comparisons_of_extrema_and_absolute_values_compare_entries() {
    at_most(
        4,
        3,
        "reveal [max(x[i]) < y[i] for i in Client] to Server as z;",
        "reveal [x[i][0] < y[i] && (x[i][1] < y[i] && x[i][2] < y[i]) for i in Client] to Server as z;",
    );
    at_most(
        4,
        1,
        "reveal [abs(y[i]) < 1.5 for i in Client] to Server as z;",
        "reveal [y[i] < 1.5 && -y[i] < 1.5 for i in Client] to Server as z;",
    );
    at_most(
        4,
        3,
        "reveal [inf_norm(x[i]) <= 1.5 for i in Client] to Server as z;",
        "let inside = [[x[i][k] <= 1.5 && -x[i][k] <= 1.5 for k in 3] for i in Client];
         reveal [inside[i][0] && inside[i][1] && inside[i][2] for i in Client] to Server as z;",
    );
}

// Scales.

/// The sign is taken beside the truncation, in the rounds of a comparison; then the choice.
#[test]
fn a_relu_takes_the_sign_before_the_truncation() {
    let relu =
        build("", "reveal [relu(dot(x[i], x[i]) - y[i]) for i in Client] to Server as z;", 4, 3);
    let sign =
        build("", "reveal [dot(x[i], x[i]) - y[i] < 0.0 for i in Client] to Server as z;", 4, 3);
    // A bit becomes a word, or chooses one, without a round of its own. Gates compare on as many bits as
    // their range has, comparisons here on the whole ring.
    assert!(cost(&relu).0 <= cost(&sign).0);
}

/// A factor makes a truncation longer, not more of them.
#[test]
fn factors_fold_into_the_next_truncation() {
    for (naive, by_hand) in [
        ("mean(x[i]) * y[i]", "sum(x[i]) * y[i]"),
        ("dot(x[i], x[i]) / 4 * y[i]", "dot(x[i], x[i]) * y[i]"),
        ("relu(0.5 * y[i] * y[i])", "relu(y[i] * y[i])"),
        ("relu(y[i] * y[i]) / 2 * y[i]", "relu(y[i] * y[i]) * y[i]"),
    ] {
        let of = |e: &str| {
            let text = format!("reveal [{e} for i in Client] to Server as z;");
            let (rounds, _, instructions) = cost(&build("", &text, 4, 4));
            (rounds, instructions)
        };
        assert_eq!(of(naive), of(by_hand), "{naive}");
    }
    // The receiver divides.
    same(
        5,
        4,
        "reveal 3 * sum(y) / 7 to Server as z;",
        "reveal sum(y) * (3.0 / 7) to Server as z;",
    );
}

const POOLS: &str = "model Naive(x: fix[1, 4, 4]) -> fix[4] { c: conv2d[1, 1, kernel = 3, pad = 1]; x |> c |> relu |> max_pool[2] |> flatten }
model ByHand(x: fix[1, 4, 4]) -> fix[4] { c: conv2d[1, 1, kernel = 3, pad = 1]; x |> c |> max_pool[2] |> relu |> flatten }
model Average(x: fix[1, 4, 4]) -> fix[4] { c: conv2d[1, 1, kernel = 3, pad = 1]; x |> c |> relu |> avg_pool[2] |> flatten }
model Local(x: fix[1, 4, 4]) -> fix[4] { f: flatten; l: linear[16, 4]; x |> flatten |> l }
";

/// The models under other names, which [`same_with`] needs to be in both sources.
fn models(text: &str) -> String {
    text.replace(" f: flatten;", "")
}

#[test]
fn pooling_comes_before_relu() {
    let body = |model: &str| {
        format!(
            "input net: secret weights {model} in -1..1 from each Client;
             reveal [{model}(net[i], image[i]) for i in Client] to Server as z;"
        )
    };
    same_with(&models(POOLS), 3, 4, &body("Naive"), &body("ByHand"));
}

/// What is linear in private data costs nothing but the opening.
#[test]
fn linear_layers_of_a_public_model_are_local() {
    let body = "input net: public weights Local in -1..1;
         reveal [Local(net, image[i]) < 0.5 for i in Client] to Server as z;";
    let direct = "reveal [[image[i][0][0][k] < 0.5 for k in 4] for i in Client] to Server as z;";
    let case = |body: &str| build(&models(POOLS), body, 3, 4);
    // A comparison of the logits, as of any four private numbers.
    assert_eq!(cost(&case(body)), cost(&case(direct)));
}

#[test]
fn shifts_and_residuals_are_added_before_the_reshare() {
    let of = |e: &str| {
        let text = format!("reveal [{e} < 0.25 for i in Client] to Server as z;");
        cost(&build("", &text, 4, 3))
    };
    let product = of("dot(x[i], x[i])");
    for e in [
        "(dot(x[i], x[i]) + y[i])",
        "(y[i] - dot(x[i], x[i]) - 0.5)",
        "(dot(x[i], x[i]) + y[i] * y[i] + x[i][0])",
        "(2 * dot(x[i], x[i]) - sum(x[i]) * y[i] + w[1])",
    ] {
        assert_eq!(of(e), product, "{e}");
    }
}

// Sums of products.

#[test]
fn a_sum_of_products_is_reshared_once() {
    same(
        4,
        5,
        "reveal [sum(x[i][k] * x[i][k] * 1.0 for k in 5) < 1.5 for i in Client] to Server as z;",
        "reveal [norm_sq(x[i]) < 1.5 for i in Client] to Server as z;",
    );
    same(
        4,
        5,
        "reveal sum(sum(x[i][k] * y[i] for k in 5) for i in Client) < 1.5 to Server as z;",
        "reveal dot([sum(x[i]) for i in Client], y) < 1.5 to Server as z;",
    );
    let long =
        cost(&build("", "reveal [norm_sq(x[i]) < 1.5 for i in Client] to Server as z;", 4, 50));
    let short =
        cost(&build("", "reveal [norm_sq(x[i]) < 1.5 for i in Client] to Server as z;", 4, 2));
    assert_eq!(long, short);
}

/// One message to the receiver after the bits are words: a sum of products is opened as it is.
#[test]
fn a_sum_of_products_that_is_only_revealed_is_not_reshared() {
    let case = build("", "reveal sum(bits[i][0] * x[i] for i in Client) to Server as z;", 4, 6);
    // Of as many elements as the sum has.
    let reshares = |c: &Case| {
        let all = c.circuit().layers.iter().flat_map(|l| &l.exchange);
        let sum = |op: &slvr_circuit::Op| match op {
            slvr_circuit::Op::Reshare(x)
            | slvr_circuit::Op::ReshareTwo(x)
            | slvr_circuit::Op::OpenMasked { x, .. } => c.circuit().ty(*x).elements() == 6,
            _ => false,
        };
        all.filter(|i| sum(&i.op)).count()
    };
    assert_eq!(reshares(&case), 0);
    let used = "let s = sum(bits[i][0] * x[i] for i in Client);
         reveal s to Server as z;
         reveal s[0] < 0.5 to Server as u;";
    assert!(reshares(&build("", used, 4, 6)) > 0);
}

// Integers.

/// The most bits that any comparison looks at.
fn widest(case: &Case) -> u32 {
    let all = case.circuit().layers.iter().flat_map(|l| &l.local);
    let width = |op: &slvr_circuit::Op| match op {
        slvr_circuit::Op::ToBits { w, .. } => *w,
        _ => 0,
    };
    all.map(|i| width(&i.op)).max().unwrap_or(0)
}

#[test]
fn counts_are_compared_on_few_bits() {
    let few = build_in(
        None,
        "",
        "let hits = [sum(bits[i]) for i in Client];
         reveal top_k[2](hits) to Server as z;",
        5,
        7,
    );
    // Differences of counts up to 7, and ranks below 5.
    assert!(widest(&few) <= 5, "{} bits", widest(&few));
    let many = build_in(None, "", "reveal top_k[2](y) to Server as z;", 5, 7);
    let (few, many) = (cost(&few), cost(&many));
    assert!(few.0 < many.0 + 2, "{few:?} {many:?}");
    // A count is a count however it is written.
    same(
        5,
        7,
        "reveal top_k[2]([sum(bits[i]) / 7 for i in Client]) to Server as z;",
        "reveal top_k[2]([sum(bits[i]) for i in Client]) to Server as z;",
    );
}

// The rest of the pipeline.

#[test]
fn constants_are_computed_and_equal_values_are_one() {
    same(
        4,
        3,
        "reveal [2.0 * 0.25 * relu(y[i]) + relu(y[i]) for i in Client] to Server as z;",
        "let r = [relu(y[i]) for i in Client];
         reveal [r[i] / 2 + r[i] for i in Client] to Server as z;",
    );
}

#[test]
fn bits_become_words_once() {
    same(
        4,
        3,
        "let keep = [y[i] < 0.5 for i in Client];
         reveal sum(keep[i] * x[i] for i in Client) to Server as z;
         reveal sum(!keep[i] * x[i] for i in Client) to Server as u;",
        "let keep = [1 * (y[i] < 0.5) for i in Client];
         reveal sum(keep[i] * x[i] for i in Client) to Server as z;
         reveal sum((1 - keep[i]) * x[i] for i in Client) to Server as u;",
    );
}

#[test]
fn an_extremum_of_few_compares_all_pairs_at_once() {
    at_most(
        4,
        3,
        "reveal [max(x[i]) for i in Client] to Server as z;",
        "let a = [x[i][0] < x[i][1] for i in Client];
         let b = [x[i][0] < x[i][2] for i in Client];
         let c = [x[i][1] < x[i][2] for i in Client];
         reveal [(!a[i] && !b[i]) * x[i][0] + (a[i] && !c[i]) * x[i][1] + (b[i] && c[i]) * x[i][2]
                 for i in Client] to Server as z;",
    );
}

// Extrema over uneven lists.

/// Largest and smallest of as many entries as there are, among three parties.
#[test]
fn extrema_of_uneven_lists() {
    let bodies = [
        // As many for everyone.
        ("max(list(y)[j] for j in 0..5 if j != i)", "max([list(y)[j] for j in 0..5 if j != i])"),
        // From one to all.
        ("max(list(y)[j] for j in 0..i + 1)", "-min(-list(y)[j] for j in 0..i + 1)"),
        (
            "min(list(y)[j] * list(y)[i] for j in i..5)",
            "-max(-(list(y)[j] * list(y)[i]) for j in i..5)",
        ),
        ("max(rows(x)[j] for j in 0..i + 1)[1]", "max(rows(x)[j][1] for j in 0..i + 1)"),
        // The inner list is empty for one of the outer positions.
        (
            "max(list(y)[j] - list(y)[k] for j in 0..5 for k in 0..j)",
            "max(list(y)[j] - list(y)[k] for j in 0..5 for k in 0..5 if k < j)",
        ),
        (
            "min((list(y)[j] < 0.5) for j in 0..i + 1)",
            "1 - max(1 - (list(y)[j] < 0.5) for j in 0..i + 1)",
        ),
    ];
    for (one, other) in bodies {
        println!("{one}");
        let text = |e: &str| format!("reveal [{e} for i in 0..5] to Server as z;");
        agree(&build("", &text(one), 5, 2), &build("", &text(other), 5, 2));
    }
}
