//! Programs that reveal no more than sums over several clients, and who was kept: no false alarms.

use super::{PREDICATES, found, leaks_in, report};
use crate::syntax::embedded::GALLERY;

const MODEL: (&str, &str) = ("M", "Mlp[9,hidden=4]");
const SIX: (&str, &str) = ("m", "6");

/// The predicates that come with the compiler, but for Krum's, which reveals one client's input by its
/// nature, and the median of coordinates.
const WITH: [(&str, &[(&str, &str)]); 13] = [
    ("secure_aggregation", &[MODEL, SIX]),
    ("weighted_aggregation", &[MODEL, SIX]),
    ("multi_krum", &[MODEL, SIX, ("f", "1"), ("k", "3")]),
    ("norm_bound", &[MODEL, SIX]),
    ("norm_bound_public", &[MODEL, SIX]),
    ("norm_ball", &[MODEL, SIX]),
    ("linf_bound", &[MODEL, SIX]),
    ("cosine_similarity", &[MODEL, SIX]),
    ("fltrust", &[MODEL, SIX]),
    ("validation_loss", &[MODEL, SIX, ("c", "2"), ("b", "2")]),
    ("slvr_accuracy", &[MODEL, ("m", "5"), ("c", "1"), ("b", "2")]),
    ("slvr_confidence", &[MODEL, ("m", "5"), ("c", "1"), ("b", "2")]),
    ("coordinate_trimmed_mean", &[("d", "3"), ("m", "5"), ("c", "1")]),
];

/// Declarations and statements of small programs.
const SMALL: [(&str, &str, &str); 36] = [
    (
        "product_of_functions_of_two_extremes",
        "input y: secret fix in -1..1 from each Client; input z: secret fix in -1..1 from each Client;",
        "let a = exp(max(y) / 8); let b = exp(max(z) / 8); reveal a * b to Server as a;",
    ),
    (
        "bits_of_a_quotient",
        "input x: secret fix[4] in -1..1 from each Client; input y: secret fix in 1..2 from each Client;",
        "let centre = sum(x) / sum(y); reveal [norm(x[i] - centre) < 1 for i in Client] to Server as who;",
    ),
    (
        "not_above_the_median",
        "input x: secret fix[4] in -1..1 from each Client;",
        "let s = [norm(x[i]) for i in Client]; let keep = [s[i] <= lower_median(s) for i in Client]; \
      reveal sum(keep[i] * x[i] for i in Client) / m to Server as a;",
    ),
    (
        "who_was_kept_and_the_sum",
        "input x: secret fix[4] in -1..1 from each Client;",
        "let s = [norm(x[i]) for i in Client]; let keep = [s[i] < 1.5 * lower_median(s) for i in Client]; \
      reveal keep to Server as who; reveal sum(keep[i] * x[i] for i in Client) / m to Server as a;",
    ),
    (
        "the_best_and_their_sum",
        "input x: secret fix[4] in -1..1 from each Client; input y: secret fix in -1..1 from each Client;",
        "let keep = top_k[3](y); reveal keep to Server as who; reveal sum(keep[i] * x[i] for i in Client) / 3 to Server as a;",
    ),
    (
        "who_is_small",
        "input x: secret fix[4] in -1..1 from each Client;",
        "reveal [norm(x[i]) < 1 for i in Client] to Server as who;",
    ),
    (
        "how_many_are_small",
        "input x: secret fix[4] in -1..1 from each Client;",
        "reveal sum(norm(x[i]) < 1 for i in Client) to Server as a;",
    ),
    (
        "zero_unless_enough",
        "input x: secret fix[4] in -1..1 from each Client;",
        "let keep = [norm(x[i]) < 1 for i in Client]; let enough = sum(keep) >= 3; \
      reveal sum((keep[i] && enough) * x[i] for i in Client) / m to Server as a;",
    ),
    (
        "mean_and_variance_of_five",
        "input y: secret fix in -1..1 from each Client;",
        "reveal mean(y) to Server as a; reveal variance(y) to Server as b;",
    ),
    (
        "histogram",
        "input n: secret int in 0..10 from each Client;",
        "reveal [sum(n[i] == v for i in Client) for v in 10] to Server as a;",
    ),
    (
        "sums_of_two_groups",
        "input x: secret fix[4] in -1..1 from each Client;",
        "reveal sum(x[i] for i in Client if i < 2) to Server as a; reveal sum(x[i] for i in Client if i >= 2) to Server as b;",
    ),
    (
        "weights_from_one_to_ten",
        "input x: secret fix[4] in -1..1 from each Client; input c: public int[m] in 1..11;",
        "reveal sum(c[i] * x[i] for i in Client) / sum(c) to Server as a;",
    ),
    (
        "mean_recall",
        "input x: secret fix[3, 4] in -1..1 from each Client; input w: secret fix[4] in -1..1 from Server;",
        "let hit = [sum(dot(x[i][s], w) > 0 for s in 3) for i in Client]; let big = [sum(x[i][s][0] > 0 for s in 3) for i in Client]; \
      reveal mean([hit[i] / (hit[i] + big[i] + 1) for i in Client]) to Server as a;",
    ),
    (
        "projection_of_the_sum",
        "input x: secret fix[4] in -1..1 from each Client; input w: public fix[4] in -1..1;",
        "reveal sum(dot(x[i], w) for i in Client) to Server as a;",
    ),
    (
        "middle_of_the_order",
        "input y: secret fix in -1..1 from each Client;",
        "reveal trimmed_mean[1, 1](y) to Server as a;",
    ),
    (
        "scores_decide_and_stay_secret",
        "input x: secret fix[4] in -1..1 from each Client; input g: secret fix[4] in -1..1 from Server;",
        "let s = [dot(g, x[i]) - 0.1 * norm_sq(x[i]) for i in Client]; let keep = top_k[3](s); \
      reveal sum(keep[i] * x[i] for i in Client) / 3 to Server as a;",
    ),
    (
        "covariance_of_five",
        "input x: secret fix[3] in -1..1 from each Client;",
        "reveal sum(x) to Server as a; reveal [[sum(x[i][j] * x[i][k] for i in Client) for k in 3] for j in 3] to Server as b;",
    ),
    (
        "committee_mean",
        "input y: secret fix in -1..1 from each Client;",
        "sample com[2] of Client for each Client; reveal sum(y[i] * y[j] for i in Client for j in com[i]) to Server as a;",
    ),
    (
        "committee_hits",
        "input y: secret fix in -1..1 from each Client;",
        "sample com[2] of Client for each Client; reveal sum((y[i] * y[j] < 0.1) for i in Client for j in com[i]) to Server as a;",
    ),
    (
        "clamp_mean",
        "input y: secret fix in -1..1 from each Client;",
        "reveal sum(clamp(y[i], -0.5, 0.5) for i in Client) / m to Server as a;",
    ),
    (
        "dp_clip",
        "input x: secret fix[4] in -1..1 from each Client;",
        "reveal sum(x[i] * select(norm(x[i]) > 0.5, 0.5 / norm(x[i]), 1) for i in Client) / m to Server as a;",
    ),
    (
        "sign_sum",
        "input x: secret fix[4] in -1..1 from each Client;",
        "reveal [sum(x[i][k] > 0 for i in Client) for k in 4] to Server as a;",
    ),
    (
        "majority",
        "input n: secret int in 0..10 from each Client;",
        "reveal argmax([sum(n[i] == v for i in Client) for v in 10]) to Server as a;",
    ),
    (
        "sum_of_norms",
        "input x: secret fix[4] in -1..1 from each Client;",
        "reveal sum(x) to Server as a; reveal sum(norm(x[i]) for i in Client) to Server as b;",
    ),
    (
        "count_public_weights",
        "input x: secret fix[4] in -1..1 from each Client; input c: public int[m] in 1..65536;",
        "reveal sum(c[i] * x[i] for i in Client) / sum(c) to Server as a;",
    ),
    (
        "cdf",
        "input y: secret fix in -1..1 from each Client; input t: public fix[6] in -1..1;",
        "reveal [sum(y[i] < t[k] for i in Client) for k in 6] to Server as a;",
    ),
    (
        "relu_sum",
        "input y: secret fix in -1..1 from each Client;",
        "reveal sum(relu(y[i]) for i in Client) to Server as a;",
    ),
    (
        "any",
        "input y: secret fix in -1..1 from each Client;",
        "reveal sum(y[i] > 0.9 for i in Client) > 0 to Server as a;",
    ),
    (
        "softmax_weighted",
        "input x: secret fix[4] in -1..1 from each Client; input y: secret fix in -1..1 from each Client;",
        "let w = softmax(y); reveal sum(w[i] * x[i] for i in Client) to Server as a;",
    ),
    (
        "kept_count",
        "input x: secret fix[4] in -1..1 from each Client;",
        "let s = [norm(x[i]) for i in Client]; let keep = [s[i] < 1.5 * lower_median(s) for i in Client]; reveal sum(keep) to Server as k; reveal sum(keep[i] * x[i] for i in Client) to Server as a;",
    ),
    (
        "cov",
        "input y: secret fix in -1..1 from each Client; input z: secret fix in -1..1 from each Client;",
        "reveal sum(y[i] * z[i] for i in Client) / m - mean(y) * mean(z) to Server as a;",
    ),
    (
        "geometric_step",
        "input x: secret fix[4] in -1..1 from each Client;",
        "let c = sum(x) / m; let w = [1 / (0.1 + norm(x[i] - c)) for i in Client]; reveal sum(w[i] * x[i] for i in Client) / sum(w) to Server as a;",
    ),
    (
        "regression",
        "input y: secret fix in -1..1 from each Client; input z: secret fix in -1..1 from each Client;",
        "reveal sum(y[i] * z[i] for i in Client) / (1 + sum(y[i] * y[i] for i in Client)) to Server as a;",
    ),
    (
        "outliers",
        "input y: secret fix in -1..1 from each Client;",
        "let mu = mean(y); reveal sum(abs(y[i] - mu) > 0.5 for i in Client) to Server as a;",
    ),
    (
        "keep_by_z_score",
        "input x: secret fix[4] in -1..1 from each Client; input y: secret fix in -1..1 from each Client;",
        "let mu = mean(y); let keep = [abs(y[i] - mu) < 0.5 for i in Client]; reveal keep to Server as k; reveal sum(keep[i] * x[i] for i in Client) to Server as a;",
    ),
    (
        "linear_regression_sums",
        "input y: secret fix in -1..1 from each Client; input z: secret fix in -1..1 from each Client;",
        "reveal sum(y) to Server as a; reveal sum(z) to Server as b; reveal sum(y[i] * y[i] for i in Client) to Server as c; reveal sum(y[i] * z[i] for i in Client) to Server as d;",
    ),
];

#[test]
fn at_most_one_harmless_program_of_twenty_is_warned_of() {
    let mut warned = Vec::new();
    let mut see = |name: &str, text: &str, bound: &[(&str, &str)]| {
        let found = found(text, bound);
        if !leaks_in(&found).is_empty() {
            warned.push(format!("{name}: {found:#?}"));
        }
    };
    for (name, bound) in WITH {
        let of = |n: &str| n.trim_end_matches(".slvr") == name;
        let (_, text) = PREDICATES.iter().find(|(n, _)| of(n)).expect(name);
        see(name, text, bound);
    }
    for (name, inputs, body) in SMALL {
        let text = format!(
            "use std::{{abs, argmax, clamp, dot, exp, lower_median, max, mean, norm, norm_sq, relu, select, softmax, sum, \
             top_k, trimmed_mean, variance}};\n\
             predicate Fine[m]() {{ parties Client[m]; parties Server; {inputs} {body} }}\n"
        );
        see(name, &text, &[("m", "5")]);
    }
    let programs = WITH.len() + SMALL.len();
    assert!(programs >= 20 && warned.len() * 20 <= programs, "{}", warned.join("\n"));
    // Today there is none.
    assert!(warned.is_empty(), "{}", warned.join("\n"));
}

/// Models of full size are looked at, too.
#[test]
fn large_programs_are_looked_at_as_well() {
    let lenet = ("M", "LeNet5");
    for (name, bound) in [
        ("slvr_accuracy", vec![lenet, ("m", "10"), ("c", "2"), ("b", "4")]),
        ("slvr_confidence", vec![lenet, ("m", "10"), ("c", "2"), ("b", "4")]),
        ("multi_krum", vec![lenet, ("m", "20"), ("f", "3"), ("k", "10")]),
        ("fltrust", vec![lenet, ("m", "50")]),
        ("weighted_aggregation", vec![lenet, ("m", "200")]),
        ("norm_bound", vec![lenet, ("m", "100")]),
    ] {
        let of = |n: &str| n.trim_end_matches(".slvr") == name;
        let (_, text) = PREDICATES.iter().find(|(n, _)| of(n)).expect(name);
        let found = found(text, &bound);
        assert!(leaks_in(&found).is_empty(), "{name}: {found:#?}");
    }
}

/// What somebody may choose and what members get, where no choice tells of one client.
#[test]
fn choices_that_tell_of_nobody_are_fine() {
    for body in [
        "input w: public fix[m] in 1..60000; reveal sum(x[i] * w[i] for i in Client) to Server as a;",
        "input w: secret fix[m] in -8..0 from Server; reveal sum(x[i] * exp(w[i]) for i in Client) to Server as a;",
        "input c: secret fix in 0..8 from Server; reveal sum(x[i] * (c < 4) for i in Client) to Server as a;",
        "input c: secret fix in -8..8 from Server; reveal sum(x[i] > c for i in Client) to Server as a;",
        "let z = [sum(x[j] for j in Client if j != i) for i in Client]; reveal z[i] to Client[i] as a;",
    ] {
        let text = format!(
            "use std::{{exp, sum}};\n\
             predicate Fine[m]() {{ parties Client[m]; parties Server;\n\
             input x: secret fix in -8..8 from each Client; {body} }}\n"
        );
        let all = report(&text, &[("m", "5")]).warnings;
        assert_eq!(leaks_in(&all), [], "{body}: {all:#?}");
    }
}

/// Sizes of long vectors that are alike and not the same.
#[test]
fn sizes_of_different_parts_are_not_the_same() {
    for other in [
        "norm([u[i][k] for k in 3999])",
        "norm([u[i][k + 1] for k in 3999])",
        "norm(2 * u[i])",
        "norm(v[i])",
        "sum(abs(u[i]))",
        "norm(u[i] - w)",
    ] {
        let text = format!(
            "use std::{{abs, norm, sum}};\n\
             predicate Fine[m]() {{ parties Client[m]; parties Server;\n\
             input u: secret fix[4000] in -8..8 from each Client; input v: secret fix[4000] in -8..8 from each Client;\n\
             input w: public fix[4000] in -8..8; let used = sum(w) + sum(v[i][0] for i in Client);\n\
             reveal sum(norm(u[i]) for i in Client) + used to Server as a; \
             reveal sum({other} for i in Client if i != 3) to Server as b; }}\n"
        );
        let all = found(&text, &[("m", "5")]);
        assert_eq!(leaks_in(&all), [], "{other}: {all:#?}");
    }
}

/// Choices among choices take ever more clients together, which are counted; listing them took minutes.
#[test]
fn checks_in_which_very_many_comparisons_take_part_are_looked_at() {
    let (_, text) = GALLERY.iter().find(|(n, _)| n.contains("bulyan")).expect("bulyan");
    assert_eq!(leaks_in(&found(text, &[("d", "4"), ("m", "12"), ("f", "1")])), []);
}
