//! Every normalisation against its formula in PyTorch's documentation, in floating point, for variances from 0 to 1e4: what is
//! multiplied is within 2^-10 of it, and 2^-20 of the distance from the mean, however small or large the variance is. Variances are no multiples of any unit;
//! what is normalised is, so that rounding it plays no part.
//!
//! `SLVR_COUNT=100000 cargo test --release -p slvr-tests --test end_to_end normalisations -- --nocapture` is the long
//! run. A failing test prints the layer and the seed.

use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::{Case, Random, compile};
use std::collections::BTreeMap;

/// A layer of so many channels of so many entries, and the groups that have one mean and one variance.
struct Norm {
    layer: &'static str,
    shape: &'static str,
    channels: usize,
    plane: usize,
    /// Entries of a group; 0 where statistics are weights.
    group: usize,
    centred: bool,
    eps: f64,
}

/// Weights are at most 8, and variances at most 10,000.
const LARGE: f64 = 1250.0;

const NORMS: [Norm; 10] = [
    norm("batch_norm[4]", "4", (4, 1), 0, true, 1e-5),
    norm("batch_norm[2, eps = 0.001]", "2, 2, 2", (2, 4), 0, true, 1e-3),
    norm("batch_norm[3, eps = 0.0001]", "3, 2", (3, 2), 0, true, 1e-4),
    norm("layer_norm[6]", "6", (6, 1), 6, true, 1e-5),
    norm("layer_norm[4, eps = 0.000001]", "4", (4, 1), 4, true, 1e-6),
    norm("layer_norm[4, eps = 0.00000001]", "4", (4, 1), 4, true, 1e-8),
    norm("rms_norm[5]", "5", (5, 1), 5, false, 1e-5),
    norm("group_norm[2, 4]", "4, 3", (4, 3), 6, true, 1e-5),
    // Instance normalisation.
    norm("group_norm[3, 3]", "3, 2, 2", (3, 4), 4, true, 1e-5),
    norm("rms_norm[4, eps = 0]", "4", (4, 1), 4, false, 0.0),
];

const fn norm(
    layer: &'static str,
    shape: &'static str,
    (channels, plane): (usize, usize),
    group: usize,
    centred: bool,
    eps: f64,
) -> Norm {
    Norm { layer, shape, channels, plane, group, centred, eps }
}

fn count() -> u64 {
    slvr_tests::long::count(200)
}

impl Norm {
    /// A layer of a model, whose variances are some of its weights; or applied to large multiples of these.
    fn compiled(&self, large: bool) -> Case {
        let Norm { layer, shape, .. } = self;
        let n = self.channels;
        let text = match large {
            false => format!(
                "model Net(x: fix[{shape}]) -> fix[{shape}] {{ norm: {layer}; x |> norm }}\n\
                 predicate P() {{\n    parties Owner;\n    parties Server;\n    \
                 input net: secret weights Net in -8..8 from Owner;\n    \
                 input x: secret fix[..Net.shape] in -1000..1000 from Owner;\n    \
                 reveal Net(net, x) to Server as y;\n}}\n"
            ),
            true => format!(
                "model Net(x: fix[{shape}]) -> fix[{shape}] {{\n    w: param[{n}];\n    b: param[{n}];\n    m: param[{n}];\n    \
                 v: param[{n}];\n    {layer}(x, w, b, m, {LARGE} * v)\n}}\n\
                 predicate P() {{\n    parties Owner;\n    parties Server;\n    \
                 input net: secret weights Net in -8..8 from Owner;\n    \
                 input x: secret fix[..Net.shape] in -1000..1000 from Owner;\n    \
                 reveal Net(net, x) to Server as y;\n}}\n"
            ),
        };
        compile(&text, &[])
    }

    /// Weights, then means and variances where these are weights, and entries.
    fn given(&self, random: &mut Random, (least, most): (f64, f64)) -> (Vec<f64>, Vec<f64>) {
        let n = self.channels;
        let of_weights = self.group == 0;
        let unit = |x: f64| (x * 65536.0).round() / 65536.0;
        let mut weights = Vec::new();
        weights.extend((0..n).map(|_| unit(random.between(-2.0, 2.0))));
        if self.centred || of_weights {
            weights.extend((0..n).map(|_| unit(random.between(-2.0, 2.0))));
        }
        let mut x = Vec::new();
        if of_weights {
            let means: Vec<f64> = (0..n).map(|_| unit(random.between(-5.0, 5.0))).collect();
            let variances: Vec<f64> = (0..n).map(|_| variance(random, (least, most))).collect();
            for i in 0..n * self.plane {
                let (mean, variance) = (means[i / self.plane], variances[i / self.plane]);
                let spread = 3.0 * (variance + self.eps).sqrt();
                x.push(unit(mean + random.between(-spread, spread)));
            }
            weights.extend(means);
            weights.extend(variances);
        } else {
            for _ in 0..n * self.plane / self.group {
                let mean = if self.centred { random.between(-5.0, 5.0) } else { 0.0 };
                let spread = (3.0 * variance(random, (least, most))).sqrt();
                x.extend((0..self.group).map(|_| unit(mean + random.between(-spread, spread))));
            }
        }
        (weights, x)
    }

    /// What is multiplied, what is added to it, and how far the entry is from the mean, by the formula.
    fn formula(&self, weights: &[f64], x: &[f64]) -> Vec<[f64; 3]> {
        let n = self.channels;
        let of = |part: usize, i: usize| weights[part * n + i / self.plane];
        let one = |(i, x0): (usize, &f64)| {
            let (mean, variance) = if self.group == 0 {
                (of(2, i), of(3, i))
            } else {
                let part = x.chunks(self.group).nth(i / self.group).unwrap_or(&[]);
                let size = part.len() as f64;
                let mean = if self.centred { part.iter().sum::<f64>() / size } else { 0.0 };
                (mean, part.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / size)
            };
            let root = (variance + self.eps).sqrt();
            let scaled = if root == 0.0 { 0.0 } else { (x0 - mean) / root * of(0, i) };
            let has_bias = self.centred || self.group == 0;
            [scaled, if has_bias { of(1, i) } else { 0.0 }, (x0 - mean).abs()]
        };
        x.iter().enumerate().map(one).collect()
    }
}

/// From 0 to the most that fits, of every size.
fn variance(random: &mut Random, (least, most): (f64, f64)) -> f64 {
    let found = match random.between(0.0, 8.0) as u32 {
        0 => 0.0,
        1 => most,
        2 => random.between(0.0, 1e-4),
        _ => random.between(-20.0, most.log2()).exp2(),
    };
    found.max(least)
}

#[test]
fn normalisations_are_precise_for_every_variance() {
    let ways = |norm: &'static Norm| [(norm, false), (norm, true)];
    let all: Vec<(&Norm, bool, Case)> = (NORMS.iter().flat_map(ways))
        .filter(|(norm, large)| norm.group == 0 || !large)
        .map(|(norm, large)| (norm, large, norm.compiled(large)))
        .collect();
    let mut worst = BTreeMap::new();
    let mut wrong: BTreeMap<(&str, bool), Vec<String>> = BTreeMap::new();
    for seed in 0..count() {
        let (norm, large, case) = &all[seed as usize % all.len()];
        let mut random = Random::new(seed);
        let most = match norm.eps {
            // Without an eps a reciprocal may be large, and has 16 fraction bits.
            0.0 => 1e3,
            _ if norm.group == 0 && !large => 7.9,
            _ => 1e4,
        };
        // A part of 2^-11 of what is less is a unit.
        let least = if *large { 20.0 } else { 0.0 };
        let (weights, x) = norm.given(&mut random, (least, most));
        let tensor = |name: &str, data: &[f64]| {
            let input = case.circuit().inputs.iter().find(|i| i.name == name).expect("an input");
            let data = RawData::F64(data.to_vec());
            (name.to_owned(), RawTensor { shape: input.shape.clone(), data })
        };
        let mut net = weights.clone();
        if *large {
            net[3 * norm.channels..].iter_mut().for_each(|v| *v /= LARGE);
        }
        let owner = BTreeMap::from([tensor("net", &net), tensor("x", &x)]);
        let inputs = Inputs { public: BTreeMap::new(), sets: vec![vec![owner], vec![]] };
        let among = seed < all.len() as u64 && seed % 5 == 0;
        let found = match among {
            true => case.parties(&inputs, seed).outputs.remove(0).values,
            false => case.circuit_clear(&inputs, &[], seed).remove(0),
        };
        let wanted = norm.formula(&weights, &x);
        for (i, (found, [scaled, bias, distance])) in found.iter().zip(wanted).enumerate() {
            let off = (found - bias - scaled).abs();
            // A weight times a reciprocal has 20 fraction bits.
            let factor = (-20f64).exp2() * distance;
            let most = (-10f64).exp2() * scaled.abs() + (-13f64).exp2() + factor;
            let ratio: &mut f64 = worst.entry((norm.layer, *large)).or_default();
            *ratio = ratio.max(off / most);
            if off > most {
                wrong.entry((norm.layer, *large)).or_default().push(format!(
                    "seed {seed}, entry {i}: {found}, not {}; weights {weights:?}, x {x:?}",
                    bias + scaled
                ));
            }
        }
    }
    for ((layer, large), ratio) in &worst {
        let how = if *large { "of large multiples" } else { "of a model" };
        println!("{layer:32} {how}: {ratio:.2} of what is allowed");
    }
    let first = |((layer, _), all): (&(&str, bool), &Vec<String>)| {
        format!("{} wrong of {layer}, such as {}\n", all.len(), all[0])
    };
    assert!(wrong.is_empty(), "{}", wrong.iter().map(first).collect::<String>());
}
