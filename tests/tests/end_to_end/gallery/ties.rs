//! Ties, by the rule of each check's source. Random inputs have none, and a formula that was written beside the program
//! may break them as the program does without anybody having decided it. So what is wanted here is a few numbers that
//! were worked out by hand from the source:
//!
//! | check | what ties | the rule | where it is from |
//! |---|---|---|---|
//! | `sign_majority` | as many up as down, entries of 0 | the sign of 0 is 0, and 0 is no vote | signs as in the paper; `torch.sign` |
//! | `robust_learning_rate` | the sum of signs is the threshold | it agrees: `>=` | the authors' code |
//! | `foolsgold` | clients that are equally like others | nobody is pardoned for an equal: `<` | the authors' code |
//! | `zeno_plus_plus` | the score is the bound | it is accepted: `>=` | Definition 2 |
//! | `bulyan` | equal scores of Krum | the smallest identifier | Krum's paper; a stable sort in the authors' code |
//! | `auc` | equal scores of two samples | half a win | Hanley and McNeil |
//! | `calibration` | a probability at the end of a bin | it belongs to the bin below | bins `((k - 1) / M, k / M]` of Guo et al. |
//! | `class_recall` | equal outputs of a model; a recall that is the bound | the first class; it is kept | `argmax` of NumPy and PyTorch; the file's own |
//! | `layer_bounds` | a norm that is the bound | it is kept: what is *over* the threshold is left out | Sun et al. |
//! | `committee_vote` | half of the weight | it is left out: more than half is asked for | the file's own |
//! | `backdoor_trigger` | a rate of hits that is the bound | it is kept | the file's own |
//! | `top_k_per_group` | equal scores in a group | any of them; the program takes the first | no source says |
//! | `regression_mse` | equal errors | any of them; the program takes the first | no source says |
//!
//! Of the others nothing jumps where two numbers are equal (means, medians, clipped lengths), or no source says which of
//! equal clients is left out, and the program takes the first as `rank` does.
//!
//! In floating point the rule is kept to exactly. A run rounds what goes through roots and quotients, so it may break a
//! tie either way: it then ends as the rule has it or as the opposite rule does, and with nothing in between.

use super::{Vector, text};
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::agree::close;
use slvr_tests::{Case, compile, random_inputs};

/// Weights of `Mlp[4, 3, 2]`: one of the first hidden unit from the first pixel, one of each output from that unit, and
/// the shifts of the outputs.
const FROM_PIXEL: usize = 0;
const TO_FIRST: usize = 15;
const TO_SECOND: usize = 18;
const SHIFT_FIRST: usize = 21;
const WEIGHTS: usize = 23;

const MODEL: (&str, &str) = ("M", "Mlp[4, 3, 2]");

/// Inputs of a case that are all zeros, but for what a test sets.
struct Tied {
    name: &'static str,
    case: Case,
    inputs: Inputs,
}

impl Tied {
    fn new(name: &'static str, sizes: &[(&str, &str)]) -> Tied {
        let case = compile(text(name), sizes);
        let mut inputs = random_inputs(case.circuit(), 0, 0.0);
        let members = inputs.sets.iter_mut().flatten();
        for tensor in members.chain([&mut inputs.public]).flat_map(|m| m.values_mut()) {
            match &mut tensor.data {
                RawData::F64(v) => v.fill(0.0),
                RawData::F32(v) => v.fill(0.0),
                RawData::I64(v) => v.fill(0),
            }
        }
        Tied { name, case, inputs }
    }

    /// A tensor of a member of a set: these numbers first, then zeros.
    fn set(&mut self, set: usize, member: usize, name: &str, numbers: &[f64]) -> &mut Tied {
        let tensor = self.inputs.sets[set][member].get_mut(name).expect("a tensor");
        fill(&mut tensor.data, numbers);
        self
    }

    fn public(&mut self, name: &str, numbers: &[f64]) -> &mut Tied {
        fill(&mut self.inputs.public.get_mut(name).expect("a tensor").data, numbers);
        self
    }

    /// In floating point the first output is `wanted`, but for zeros at its end; a run ends so or as `other` says.
    fn is(&self, wanted: &[f64], other: Option<&[f64]>) {
        let name = self.name;
        // No coin matters here: each committee is all others.
        let coins = [0, 0];
        let wanted = self.rule(wanted);
        let mut may = vec![wanted.clone()];
        may.extend(other.map(|x| padded(x, wanted.len())));
        assert!(may.len() == 1 || may[0] != may[1], "{name}: two rules");
        for seed in 0..4 {
            let clear = self.case.circuit_clear(&self.inputs, &coins, seed);
            self.one_of(&clear, &may);
        }
        let report = self.case.parties(&self.inputs, 7);
        let among: Vec<Vector> = report.outputs.iter().map(|o| o.values.clone()).collect();
        self.one_of(&among, &may);
    }

    /// In floating point the first output is this, which it returns.
    fn rule(&self, wanted: &[f64]) -> Vector {
        let (name, coins) = (self.name, [0, 0]);
        let found = self.case.floating(&self.inputs, &coins).remove(0);
        let wanted = padded(wanted, found.len());
        let off = found.iter().zip(&wanted).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(off < 1e-9, "{name}: {found:?}, the rule says {wanted:?}");
        wanted
    }

    fn one_of(&self, found: &[Vector], may: &[Vector]) {
        let near = |m: &Vector| close(&found[..1], std::slice::from_ref(m)).is_ok();
        assert!(may.iter().any(near), "{}: a run ends with {:?}, not {may:?}", self.name, found[0]);
    }
}

/// With zeros at its end.
fn padded(x: &[f64], len: usize) -> Vector {
    (0..len).map(|i| x.get(i).copied().unwrap_or(0.0)).collect()
}

fn fill(data: &mut RawData, numbers: &[f64]) {
    let at = |i: usize| numbers.get(i).copied().unwrap_or(0.0);
    match data {
        RawData::F32(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = at(i) as f32),
        RawData::F64(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = at(i)),
        RawData::I64(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = at(i) as i64),
    }
}

/// Weights with these entries.
fn weights(entries: &[(usize, f64)]) -> Vector {
    let mut all = vec![0.0; WEIGHTS];
    entries.iter().for_each(|&(at, x)| all[at] = x);
    all
}

/// Samples of four pixels, of which only the first is not 0.
fn images(first: &[f64]) -> Vector {
    first.iter().flat_map(|&x| [x, 0.0, 0.0, 0.0]).collect()
}

#[test]
fn a_majority_of_signs_needs_more_on_one_side() {
    // Two up and two down; one up, one down; one up; all but one down.
    let mut tied = Tied::new("sign_majority", &[MODEL, ("m", "4")]);
    tied.set(0, 0, "update", &[1.0, 1.0, 0.25, -1.0])
        .set(0, 1, "update", &[2.0, -3.0, 0.0, -1.0])
        .set(0, 2, "update", &[-1.0, 0.0, 0.0, -2.0])
        .set(0, 3, "update", &[-4.0, 0.0, 0.0, 5.0]);
    tied.is(&[0.0, 0.0, 1.0, -1.0], None);
}

#[test]
fn a_sum_of_signs_at_the_threshold_agrees() {
    // Sums of signs are 2, 1, 2 and -2.
    let mut tied = Tied::new("robust_learning_rate", &[MODEL, ("m", "4"), ("threshold", "2")]);
    tied.set(0, 0, "update", &[1.0, 1.0, 1.0, 1.0])
        .set(0, 1, "update", &[1.0, 1.0, 1.0, -1.0])
        .set(0, 2, "update", &[1.0, -1.0, 0.0, -1.0])
        .set(0, 3, "update", &[-1.0, 0.0, 0.0, -1.0]);
    tied.is(&[0.5, -0.25, 0.5, -0.5], None);
}

#[test]
fn equals_are_not_pardoned_and_all_of_a_kind_have_no_weight() {
    let sizes = [("M", "Mlp[2, 2, 2]"), ("m", "4")];
    // Clients 0 and 1 are one sybil, 2 and 3 like nobody.
    let mut tied = Tied::new("foolsgold", &sizes);
    tied.set(0, 0, "update", &[2.0])
        .set(0, 1, "update", &[2.0])
        .set(0, 2, "update", &[0.0, 1.0])
        .set(0, 3, "update", &[0.0, 0.0, 3.0]);
    tied.is(&[0.0, 0.25, 0.75], None);
    let mut tied = Tied::new("foolsgold", &sizes);
    for i in 0..4 {
        tied.set(0, i, "update", &[2.0]);
    }
    // 0 / 0 is 0. In a run, as for lengths that are no whole numbers, it is a quotient of two roundings.
    tied.rule(&[]);
}

#[test]
fn a_score_that_is_the_bound_is_accepted() {
    // Of the server's length, 2, with products 1 and 3 with its update: scores 1 - 0.25 * 4 = 0, and 2.
    let at = [0.5, 1.5, 1.0, 0.5, 0.5];
    let above = [1.5, 0.5, 1.0, 0.5, 0.5];
    // Product 0.5, score -0.5.
    let below = [0.25, 1.5, 1.0, 0.75, 0.25, 0.25];
    let mut tied = Tied::new("zeno_plus_plus", &[MODEL, ("m", "3"), ("rho", "0.25")]);
    tied.public("guide", &[2.0])
        .set(0, 0, "update", &at)
        .set(0, 1, "update", &above)
        .set(0, 2, "update", &below);
    tied.is(&[1.0, 1.0, 1.0, 0.5, 0.5], Some(&above));
}

#[test]
fn of_equal_scores_of_krum_the_smallest_identifier_is_picked() {
    // Picked are 2, 1, -3, 5 and 0, in this order; of these 0, 1 and 2 are closest to the median, 1. If the largest
    // identifier were picked of equal scores, -6 and 6 would be in place of 0 and 5, and the mean 0.
    let mut tied = Tied::new("bulyan", &[("d", "1"), ("m", "7"), ("f", "1")]);
    for (i, x) in [0.0, 5.0, -6.0, 2.0, -3.0, 6.0, 1.0].into_iter().enumerate() {
        tied.set(0, i, "update", &[x]);
    }
    // Whole numbers are exact in a run, too.
    tied.is(&[1.0], None);
}

/// Of three clients the areas are 1/2, as all its scores are equal, 1/4 and 3/4.
fn three_areas(c: &str) -> Tied {
    let mut tied = Tied::new("auc", &[MODEL, ("m", "3"), ("c", c), ("b", "4")]);
    tied.set(0, 0, "update", &weights(&[(SHIFT_FIRST, 0.5)]))
        .set(0, 1, "update", &weights(&[(FROM_PIXEL, 1.0), (TO_SECOND, -1.0)]))
        .set(0, 2, "update", &weights(&[(FROM_PIXEL, 1.0), (TO_SECOND, 1.0)]))
        .set(1, 0, "image", &images(&[0.0, 0.25, 0.5, 0.75]))
        .set(1, 0, "label", &[0.0, 1.0, 0.0, 1.0]);
    tied
}

#[test]
fn a_tie_of_two_samples_is_half_a_win() {
    // Were it none, client 1 would be the second best, were it a whole one, client 0 the best.
    let both = weights(&[(FROM_PIXEL, 0.5), (TO_SECOND, 0.5), (SHIFT_FIRST, 0.25)]);
    three_areas("1").is(&both, None);
    three_areas("2").is(&weights(&[(FROM_PIXEL, 1.0), (TO_SECOND, 1.0)]), None);
}

#[test]
fn a_probability_at_the_end_of_a_bin_belongs_to_the_bin_below() {
    // Of two bins: the first sample has probability 1/2 for either class, and is wrong; the second is right. Where they
    // have bins of their own, the error of client 0 is (0.5 + 0.27) / 2, in one bin it would be 0.12; that of client 1
    // is 0.25 with any bins.
    let sizes = [MODEL, ("m", "2"), ("b", "2"), ("bins", "2"), ("bound", "0.3")];
    let mut tied = Tied::new("calibration", &sizes);
    let sure = weights(&[(FROM_PIXEL, 2.0), (TO_SECOND, 4.0)]);
    let unsure = weights(&[(FROM_PIXEL, 1.0), (TO_SECOND, 1.0)]);
    tied.set(0, 0, "update", &unsure)
        .set(0, 1, "update", &sure)
        .set(1, 0, "image", &images(&[0.0, 1.0]))
        .set(1, 0, "label", &[1.0, 1.0]);
    let with_unsure = weights(&[(FROM_PIXEL, 1.5), (TO_SECOND, 2.5)]);
    tied.is(&sure, Some(&with_unsure));
}

#[test]
fn equal_outputs_are_the_first_class_and_a_recall_at_the_bound_is_enough() {
    // Of class 1 one of two is found: the other has equal outputs, and so class 0.
    let mut tied = Tied::new("class_recall", &[MODEL, ("m", "2"), ("b", "3"), ("bound", "0.5")]);
    let kept = weights(&[(FROM_PIXEL, 1.0), (TO_SECOND, 1.0)]);
    // This one finds none of class 1.
    tied.set(0, 0, "update", &kept)
        .set(0, 1, "update", &weights(&[(FROM_PIXEL, 1.0), (TO_FIRST, 1.0)]))
        .set(1, 0, "image", &images(&[1.0, 0.0, 0.0]))
        .set(1, 0, "label", &[1.0, 1.0, 0.0]);
    tied.is(&kept, None);
}

#[test]
fn a_norm_that_is_the_bound_is_allowed() {
    let mut tied = Tied::new("layer_bounds", &[MODEL, ("m", "2")]);
    // Lengths 5 and 5.01 of the first tensor.
    tied.public("bound", &[5.0, 5.0, 5.0, 5.0]).set(0, 0, "update", &[3.0, -4.0]).set(
        0,
        1,
        "update",
        &[3.0, 4.0, 0.25],
    );
    tied.is(&[1.5, -2.0], None);
}

#[test]
fn half_of_the_weight_is_no_majority() {
    // All models say class 0. Client 1's samples are of class 1, so it votes against everybody.
    let sizes = [MODEL, ("m", "3"), ("k", "2"), ("b", "1"), ("share", "0.5")];
    let mut tied = Tied::new("committee_vote", &sizes);
    for i in 0..3 {
        tied.set(0, i, "update", &weights(&[(SHIFT_FIRST, 0.5 + i as f64)]))
            .set(0, i, "count", &[10.0])
            .set(0, i, "label", &[f64::from(u8::from(i == 1))]);
    }
    tied.is(&weights(&[(SHIFT_FIRST, 1.5)]), None);
}

#[test]
fn as_many_hits_as_allowed_are_allowed() {
    // Of four stamped images one or two are of class 1, the target; a quarter is allowed.
    let sizes = [MODEL, ("m", "2"), ("b", "4"), ("bound", "0.25")];
    let mut tied = Tied::new("backdoor_trigger", &sizes);
    let rare = weights(&[(FROM_PIXEL, 1.0), (TO_SECOND, 1.0), (SHIFT_FIRST, 0.75)]);
    let often = weights(&[(FROM_PIXEL, 1.0), (TO_SECOND, 1.0), (SHIFT_FIRST, 0.5)]);
    tied.set(0, 0, "update", &rare)
        .set(0, 1, "update", &often)
        .set(1, 0, "image", &images(&[0.0, 0.25, 0.625, 1.0]))
        .set(1, 0, "target", &[1.0]);
    tied.is(&rare, None);
}

#[test]
fn of_equal_clients_where_no_source_says_which_the_first_is_kept() {
    // Updates along the guide, of any length, have equal cosines.
    let mut tied = Tied::new("top_k_per_group", &[MODEL, ("m", "3"), ("k", "1")]);
    tied.public("guide", &[1.0])
        .public("group", &[0.0, 0.0, 0.0])
        .set(0, 0, "update", &[-1.0])
        .set(0, 1, "update", &[2.0])
        .set(0, 2, "update", &[4.0]);
    tied.is(&[2.0], Some(&[4.0]));
    // Errors 0.5 and -0.5.
    let mut tied = Tied::new("regression_mse", &[MODEL, ("m", "3"), ("c", "2"), ("b", "1")]);
    tied.set(0, 0, "update", &weights(&[(SHIFT_FIRST, 2.0)]))
        .set(0, 1, "update", &weights(&[(SHIFT_FIRST, 1.5)]))
        .set(0, 2, "update", &weights(&[(SHIFT_FIRST, 0.5)]))
        .set(1, 0, "y", &[1.0]);
    tied.is(&weights(&[(SHIFT_FIRST, 1.5)]), None);
}
