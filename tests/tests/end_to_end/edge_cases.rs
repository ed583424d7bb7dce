//! Every predicate at the edges of its sizes and inputs, among three parties against floating point:
//! m even, odd and as small as the predicate's `require`s allow; nobody trimmed or dropped (c = 0);
//! ties of some clients and of all; zero vectors; every entry at an end of its declared range.
//!
//! **What the ends of the range leave out.** Sizes here are small. A word of 64 bits holds a product
//! before truncation, with 32 fraction bits, up to 2^30, and a divisor is below 2^20
//! ([`slvr_compiler::graph::domain`]). From n weights of up to 8 in absolute value that allows:
//!
//! - norms: 64 n < 2^30, n < 2^24. ResNet-18 has fewer weights.
//! - Krum, Multi-Krum, norm ball: differences are up to 16, so n < 2^22. ResNet-18 has more.
//! - FLTrust divides by the product of two lengths: 64 n < 2^20, n < 2^14. LeNet-5 has more. Also, a
//!   factor that scales down a long update has an error of 2^-16, times 8 in every coordinate.
//! - A forward pass multiplies activations by 16 times a layer's inputs, layer by layer: an `Mlp` of
//!   a few weights stays below 2^30, LeNet-5 (2^8.6, 2^19.9, 2^32.5) does not.
//!
//! Beyond, a program is refused, takes wider words, or has its activations cut; where they are cut,
//! floating point is no reference.

use slvr_circuit::Op;
use slvr_compiler::pipeline;
use slvr_compiler::syntax::embedded::PREDICATES;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::agree::{Ends, close, ends, fill, hold};
use slvr_tests::long::part;
use slvr_tests::{
    Case, Random, attempt, bindings, coarse_inputs, compile, predicate, random_inputs,
};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Of so many inputs every day takes a few.
fn some(few: u64, all: u64) -> std::ops::Range<u64> {
    0..part(few, all)
}

/// Predicates with sizes: the smallest m first, then even and odd ones.
const SIZES: &[(&str, &[&str])] = &[
    (
        "coordinate_trimmed_mean",
        &["d=1 m=1 c=0", "d=3 m=2 c=0", "d=3 m=3 c=1", "d=3 m=6 c=2", "d=3 m=7 c=3", "d=3 m=5 c=0"],
    ),
    ("coordinate_median", &["d=1 m=1", "d=3 m=2", "d=3 m=3", "d=3 m=8", "d=3 m=5"]),
    (
        "krum",
        &[
            "M=Mlp[3,2,2] m=3 f=0",
            "M=Mlp[3,2,2] m=4 f=0",
            "M=Mlp[3,2,2] m=5 f=1",
            "M=Mlp[3,2,2] m=8 f=2",
        ],
    ),
    (
        "multi_krum",
        &[
            "M=Mlp[3,2,2] m=3 f=0 k=1",
            "M=Mlp[3,2,2] m=3 f=0 k=3",
            "M=Mlp[3,2,2] m=5 f=1 k=4",
            "M=Mlp[3,2,2] m=6 f=1 k=1",
        ],
    ),
    (
        "slvr_accuracy",
        &[
            "M=Mlp[5,3,3] m=2 c=0 b=1",
            "M=Mlp[5,3,3] m=3 c=0 b=2",
            "M=Mlp[5,3,3] m=4 c=1 b=3",
            "M=Mlp[5,3,3] m=5 c=1 b=1",
            "M=Mlp[5,3,3] m=6 c=2 b=2",
            "M=Mlp[5,3,3] m=7 c=2 b=2 lambda=0.5",
        ],
    ),
    (
        "slvr_confidence",
        &[
            "M=Mlp[5,3,3] m=2 c=0 b=1",
            "M=Mlp[5,3,3] m=3 c=0 b=2",
            "M=Mlp[5,3,3] m=4 c=1 b=3",
            "M=Mlp[5,3,3] m=5 c=1 b=1",
            "M=Mlp[5,3,3] m=6 c=2 b=2",
            "M=Mlp[5,3,2] m=7 c=2 b=2 lambda=0.5",
        ],
    ),
    (
        "validation_loss",
        &[
            "M=Mlp[5,3,3] m=1 c=0 b=1",
            "M=Mlp[5,3,3] m=2 c=0 b=2",
            "M=Mlp[5,3,3] m=2 c=1 b=2",
            "M=Mlp[5,3,3] m=5 c=4 b=1",
            "M=Mlp[5,3,3] m=6 c=2 b=3",
        ],
    ),
    (
        "norm_ball",
        &[
            "M=Mlp[3,2,2] m=1 lambda=1.41",
            "M=Mlp[3,2,2] m=2",
            "M=Mlp[3,2,2] m=5 lambda=1.41",
            "M=Mlp[3,2,2] m=6 lambda=1.5",
        ],
    ),
    (
        "norm_bound",
        &[
            "M=Mlp[3,2,2] m=1",
            "M=Mlp[3,2,2] m=2 lambda=1.0",
            "M=Mlp[3,2,2] m=5",
            "M=Mlp[3,2,2] m=6 lambda=1.0",
        ],
    ),
    (
        "norm_bound_public",
        &[
            "M=Mlp[3,2,2] m=1",
            "M=Mlp[3,2,2] m=2",
            "M=Mlp[3,2,2] m=5 lambda=1.1",
            "M=Mlp[3,2,2] m=6",
        ],
    ),
    (
        "linf_bound",
        &[
            "M=Mlp[1,1,1] m=1 bound=4.0",
            "M=Mlp[3,2,2] m=2 bound=1.0",
            "M=Mlp[3,2,2] m=5 bound=8.0",
            "M=Mlp[3,2,2] m=6 bound=0.75",
        ],
    ),
    (
        "cosine_similarity",
        &[
            "M=Mlp[3,2,2] m=1",
            "M=Mlp[3,2,2] m=2 tau=0.1",
            "M=Mlp[3,2,2] m=5",
            "M=Mlp[3,2,2] m=6 tau=-0.1",
        ],
    ),
    ("fltrust", &["M=Mlp[3,2,2] m=1", "M=Mlp[3,2,2] m=2", "M=Mlp[3,2,2] m=5", "M=Mlp[3,2,2] m=6"]),
    ("secure_aggregation", &["M=Mlp[1,1,1] m=1", "M=Mlp[3,2,2] m=2", "M=Mlp[3,2,2] m=5"]),
    ("weighted_aggregation", &["M=Mlp[1,1,1] m=1", "M=Mlp[3,2,2] m=2", "M=Mlp[3,2,2] m=5"]),
];

fn size(sizes: &str, name: &str) -> Option<u64> {
    bindings(sizes).iter().find(|(n, _)| *n == name).and_then(|(_, v)| v.parse().ok())
}

/// One of [`SIZES`], compiled.
struct Edge {
    name: &'static str,
    sizes: &'static str,
    case: Case,
}

impl Edge {
    /// For messages.
    fn title(&self) -> String {
        format!("{} {}", self.name, self.sizes)
    }

    fn hold(&self, inputs: &Inputs, seed: u64) -> bool {
        let mut inputs = inputs.clone();
        self.fill_unread(&mut inputs);
        hold(&self.title(), &self.case, &inputs, seed)
    }

    /// With c = 0 every score is among the best: the circuit does not read what only scores need,
    /// and the program in floating point does.
    fn fill_unread(&self, inputs: &mut Inputs) {
        for input in &self.case.compiled.graph.inputs {
            let zeros = || {
                let data = vec![0.0; input.shape.iter().product::<u64>() as usize];
                RawTensor::reals(input.shape.clone(), data)
            };
            let givers: Vec<_> = match input.from.set() {
                None => vec![&mut inputs.public],
                Some(set) => inputs.sets[set as usize].iter_mut().collect(),
            };
            for tensors in givers {
                tensors.entry(input.name.clone()).or_insert_with(zeros);
            }
        }
    }

    /// Logits of large models differ so much that softmaxes are all but 0 or 1. Scores of different
    /// clients are then the same up to their error, and who is best is not defined. With c = 0 no
    /// score drops anybody.
    fn saturates(&self) -> bool {
        ["slvr_confidence", "validation_loss"].contains(&self.name)
            && size(self.sizes, "c") != Some(0)
    }

    /// The scale of random inputs as a part of the declared range.
    fn spread(&self) -> f64 {
        if self.name.starts_with("coordinate") { 1.0 } else { 0.1 }
    }

    /// Random inputs. Random directions have cosines of about 0, and FLTrust divides by their sum: one
    /// of its clients goes with the guide.
    fn random(&self, seed: u64) -> Inputs {
        let mut inputs = random_inputs(self.case.circuit(), seed, self.spread());
        let guide = inputs.public.get("guide").map(|t| t.data.clone());
        if let (Some(RawData::F64(guide)), "fltrust") = (guide, self.name) {
            let last = inputs.sets.iter_mut().find_map(|s| s.last_mut());
            if let Some(RawData::F64(v)) =
                last.and_then(|m| m.get_mut("update")).map(|t| &mut t.data)
            {
                v.iter_mut().zip(&guide).for_each(|(x, g)| *x += g / 2.0);
            }
        }
        inputs
    }
}

static EDGES: LazyLock<Vec<Edge>> = LazyLock::new(|| {
    let all = SIZES.iter().flat_map(|(name, sizes)| sizes.iter().map(move |s| (*name, *s)));
    let edge =
        |(name, sizes)| Edge { name, sizes, case: compile(predicate(name), &bindings(sizes)) };
    all.map(edge).collect()
});

/// No predicate is left out, nor even, odd and small m, nor c = 0.
#[test]
fn every_predicate_has_its_edges() {
    let listed: BTreeMap<_, _> = SIZES.iter().copied().collect();
    assert_eq!(listed.len(), PREDICATES.len());
    for (file, text) in PREDICATES {
        let sizes = listed[file.trim_end_matches(".slvr")];
        let m: Vec<u64> = sizes.iter().filter_map(|s| size(s, "m")).collect();
        assert!(m.iter().any(|m| m % 2 == 0) && m.iter().any(|m| m % 2 == 1), "{file}: {m:?}");
        if text.contains("m, c") {
            assert!(sizes.iter().any(|s| size(s, "c") == Some(0)), "{file}: c = 0");
        }
    }
}

/// What is smaller than the smallest sizes is refused by a `require`, or by a committee or an order
/// statistic that cannot be.
#[test]
fn sizes_below_the_smallest_are_refused() {
    let refused = [
        ("coordinate_trimmed_mean", "d=3 m=2 c=1"),
        ("coordinate_trimmed_mean", "d=3 m=0 c=0"),
        ("coordinate_median", "d=3 m=0"),
        ("krum", "M=Mlp[3,2,2] m=2 f=0"),
        ("krum", "M=Mlp[3,2,2] m=4 f=1"),
        ("multi_krum", "M=Mlp[3,2,2] m=5 f=1 k=5"),
        ("multi_krum", "M=Mlp[3,2,2] m=5 f=1 k=0"),
        ("slvr_accuracy", "M=Mlp[5,3,3] m=1 c=0 b=1"),
        ("slvr_accuracy", "M=Mlp[5,3,3] m=3 c=1 b=1"),
        ("slvr_accuracy", "M=Mlp[5,3,3] m=4 c=1 b=0"),
        ("slvr_confidence", "M=Mlp[5,3,3] m=5 c=2 b=1"),
        ("validation_loss", "M=Mlp[5,3,3] m=2 c=2 b=1"),
        ("norm_bound", "M=Mlp[3,2,2] m=0"),
    ];
    for (name, sizes) in refused {
        let Err(why) = attempt(predicate(name), &bindings(sizes), pipeline::Options::default())
        else {
            panic!("{name} {sizes} is accepted")
        };
        let error = &why.said[0];
        println!("{name} {sizes}: {} {}", error.code, error.title);
    }
}

#[test]
fn random_inputs_agree() {
    for edge in EDGES.iter() {
        let telling = some(3, 8).filter(|&s| edge.hold(&edge.random(s), s)).count();
        println!("{}: {telling} not zero", edge.title());
    }
}

/// Clients 0 and 1 give the same, so do 2 and 3, and so on; the last of an odd number is alone.
#[test]
fn ties_of_some_clients_agree() {
    for edge in EDGES.iter() {
        for seed in some(2, 5) {
            let seed = 100 + seed;
            let mut inputs = edge.random(seed);
            for set in &mut inputs.sets {
                for pair in set.chunks_exact_mut(2) {
                    if let [a, b] = pair {
                        b.clone_from(a);
                    }
                }
            }
            edge.hold(&inputs, seed);
        }
    }
}

/// All clients give the same in all inputs, and an update has a few distinct entries.
#[test]
fn all_equal_inputs_agree() {
    for edge in EDGES.iter() {
        for seed in some(1, 3) {
            let seed = 200 + seed;
            let mut inputs = edge.random(seed);
            for set in &mut inputs.sets {
                if let Some(first) = set.first().cloned() {
                    set.fill(first);
                }
            }
            edge.hold(&inputs, seed);
            // Eighths, so that a cosine is not the threshold up to rounding.
            fill(&mut inputs, |_, i| f64::from(i as u32 % 3) / 8.0 - 0.125);
            edge.hold(&inputs, seed);
        }
    }
}

/// Entries of updates are -1, 0 and 1: lengths, distances, coordinates, logits and counts of distinct
/// updates are often the same, and every product is exact in fixed point.
#[test]
fn small_integers_agree() {
    for edge in EDGES.iter() {
        if edge.saturates() {
            continue;
        }
        for seed in some(3, 10) {
            let seed = 300 + seed;
            let mut random = Random::new(seed);
            let table: Vec<f64> = (0..4096).map(|_| (random.unit() * 3.0).floor() - 1.0).collect();
            let mut inputs = coarse_inputs(edge.case.circuit(), seed);
            fill(&mut inputs, |member, i| table[(member * 509 + i) % table.len()]);
            edge.hold(&inputs, seed);
        }
    }
}

/// Predicates in which a zero update has a cosine: 0 / 0.
const COSINES: [&str; 2] = ["cosine_similarity", "fltrust"];

fn zero_update(inputs: &mut Inputs, which: impl Fn(usize) -> bool) {
    for (member, tensors) in inputs.sets.iter_mut().flatten().enumerate() {
        if let Some(RawData::F64(v)) = tensors.get_mut("update").map(|t| &mut t.data)
            && which(member)
        {
            v.fill(0.0);
        }
    }
}

#[test]
fn zero_vectors_agree() {
    for edge in EDGES.iter().filter(|e| !COSINES.contains(&e.name)) {
        for seed in some(3, 5) {
            let seed = 400 + seed;
            let mut inputs = edge.random(seed);
            zero_update(&mut inputs, |member| member as u64 == seed % 3);
            edge.hold(&inputs, seed);
            zero_update(&mut inputs, |_| true);
            edge.hold(&inputs, seed);
            for tensor in inputs.public.values_mut() {
                if let RawData::F64(v) = &mut tensor.data {
                    v.fill(0.0);
                }
            }
            edge.hold(&inputs, seed);
        }
    }
}

/// Floating point has no cosine with a zero vector. Three parties must not let it spoil the others:
/// the outcome is the one in which that client is dropped, or the one in which it counts with nothing
/// but zeros.
#[test]
fn a_zero_vector_has_no_influence_on_cosines() {
    for edge in EDGES.iter().filter(|e| COSINES.contains(&e.name)) {
        for seed in some(6, 20) {
            let seed = 500 + seed;
            let mut inputs = edge.random(seed);
            let zero = (seed % 2) as usize;
            let Some(guide) = inputs.public.get("guide").map(|t| t.data.clone()) else {
                panic!("{}: no guide", edge.name);
            };
            let RawData::F64(guide) = guide else { panic!("a guide of reals") };
            // In floating point: against the guide, or along it and all but zero.
            let instead = |factor: f64| {
                let mut inputs = edge.random(seed);
                if let Some(tensor) = inputs.sets[0].get_mut(zero).and_then(|m| m.get_mut("update"))
                    && let RawData::F64(v) = &mut tensor.data
                {
                    v.iter_mut().zip(&guide).for_each(|(x, g)| *x = factor * g);
                }
                edge.case.floating(&inputs, &[])
            };
            let admissible = [instead(-1.0), instead(1e-9)];
            zero_update(&mut inputs, |member| member == zero);
            let report = edge.case.parties(&inputs, seed);
            let found: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
            assert!(
                admissible.iter().any(|wanted| close(&found, wanted).is_ok()),
                "{}, seed {seed}: {found:?} for {admissible:?}",
                edge.title()
            );
            // All of them zero: a value, whatever it is, and no error.
            zero_update(&mut inputs, |_| true);
            let report = edge.case.parties(&inputs, seed);
            assert!(report.outputs.iter().all(|o| o.values.iter().all(|&x| x == 0.0)));
        }
    }
}

/// Images, labels, counts and public models at the ends of their ranges too.
#[test]
fn ends_of_the_range_agree() {
    for edge in EDGES.iter() {
        if edge.saturates() {
            continue;
        }
        let all = [Ends::Low, Ends::High, Ends::Either, Ends::OneMember];
        for (i, which) in all.into_iter().enumerate() {
            for seed in if which == Ends::Either { some(3, 8) } else { some(1, 2) } {
                let seed = 600 + 10 * i as u64 + seed;
                edge.hold(&ends(edge.case.circuit(), which, seed), seed);
            }
        }
    }
}

/// Where every client is rejected, the mean of nobody is 0 / 0: 0 in floating point as among the parties.
#[test]
fn the_mean_of_nobody_is_zero_in_floating_point_too() {
    for name in ["norm_ball", "cosine_similarity", "fltrust"] {
        let case = compile(predicate(name), &[("M", "Mlp[3,2,2]"), ("m", "3")]);
        let mut inputs = random_inputs(case.circuit(), 1, 0.1);
        for (what, to) in [("centre", 0.01), ("guide", 0.5)] {
            if let Some(RawData::F64(v)) = inputs.public.get_mut(what).map(|t| &mut t.data) {
                v.fill(to);
            }
        }
        // Far from the centre, and against the guide.
        fill(&mut inputs, |member, _| -1.0 - member as f64);
        let report = case.parties(&inputs, 1);
        let floating = case.floating(&inputs, &report.coins);
        for (found, wanted) in report.outputs.iter().zip(&floating) {
            assert!(found.values.iter().all(|x| *x == 0.0), "{name}: {:?}", found.values);
            assert!(wanted.iter().all(|x| *x == 0.0), "{name}, floating point: {wanted:?}");
        }
    }
}

/// A condition on a loop around it counts a sampled committee whole, or not at all.
#[test]
fn conditions_around_a_sampled_committee_count() {
    let text = "use std::sum;
predicate P[m]() {
    parties Client[m];
    parties Server;
    input x: secret int in -8..8 from each Client;
    sample committee[2] of Client for each Client;
    reveal [sum(x[j] for j in committee[i] if i > 1) for i in Client] to Server as totals;
}";
    let case = compile(text, &[("m", "5")]);
    for seed in 0..3 {
        let inputs = random_inputs(case.circuit(), seed, 7.0);
        let report = case.parties(&inputs, seed);
        let totals = &report.outputs[0].values;
        assert_eq!(*totals, case.floating(&inputs, &report.coins)[0], "seed {seed}");
        assert_eq!(totals[..2], [0.0; 2], "seed {seed}");
        assert!(totals[2..].iter().any(|x| *x != 0.0), "seed {seed}: {totals:?}");
    }
}

/// Whatever a predicate computes, the parties open nothing but its reveals and public coins.
#[test]
fn only_reveals_are_opened() {
    for edge in EDGES.iter() {
        let (circuit, title) = (edge.case.circuit(), edge.title());
        let mut opened = vec![0; circuit.outputs.len()];
        for instr in circuit.layers.iter().flat_map(|l| &l.exchange) {
            match instr.op {
                Op::OpenTo { output, .. } => opened[output as usize] += 1,
                // Whose inputs were admitted; nothing else is opened to the parties.
                Op::Open(_) => {
                    let bit = circuit.checks.iter().any(|c| instr.out == Some(c.value));
                    assert!(bit, "{title} opens a value to the parties");
                }
                _ => {}
            }
        }
        assert!(opened.iter().all(|&n| n == 1), "{title}: {opened:?}");
    }
}
