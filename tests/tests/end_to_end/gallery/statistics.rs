//! Checks on the updates alone, against their formulas: clusters, signs, statistics, groups and adapters.

use super::{MODEL, Vector, as_drawn, check, dot, kept, largest, mean_of_kept, median, minus};
use super::{norm, order, public, reals, sorted, times, updates};
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::Case;

pub(super) fn cosine(x: &[f64], y: &[f64]) -> f64 {
    dot(x, y) / (norm(x) * norm(y))
}

/// The updates of two clients are the same, but for a tenth, and far from all others.
fn two_push(inputs: &mut Inputs, _: &Case) {
    let members = &mut inputs.sets[0];
    for member in members.iter_mut().take(2) {
        if let Some(RawData::F64(v)) = member.get_mut("update").map(|t| &mut t.data) {
            for (j, x) in v.iter_mut().enumerate() {
                *x = 0.1 * *x + if j % 3 == 0 { 2.0 } else { -1.0 };
            }
        }
    }
}

/// Vectors that are kept, each cut to a length, in the mean.
fn cut_mean(all: &[Vector], keep: &[bool], bound: f64) -> Vector {
    let cut: Vec<Vector> = all.iter().map(|x| times((bound / norm(x)).min(1.0), x)).collect();
    mean_of_kept(&cut, keep)
}

/// Updates of about a hundredth of the model, of which two push the same way.
fn small_push(inputs: &mut Inputs, case: &Case) {
    two_push(inputs, case);
    for member in &mut inputs.sets[0] {
        if let Some(RawData::F64(v)) = member.get_mut("update").map(|t| &mut t.data) {
            v.iter_mut().for_each(|x| *x *= 0.01);
        }
    }
}

#[test]
fn flame_keeps_the_first_majority_of_single_linkage() {
    for push in [two_push, small_push] {
        flame(push);
    }
}

fn flame(push: fn(&mut Inputs, &Case)) {
    let m = 7;
    check("flame", &[MODEL, ("m", "7")], 0.2, push, |inputs| {
        let all = updates(inputs);
        let global = public(inputs, "global");
        let w: Vec<Vector> = all.iter().map(|u| minus(u, &times(-1.0, &global))).collect();
        // Of one length, if none is so short that it would be lengthened more than four times.
        let even: Vec<Vector> =
            w.iter().map(|x| times((norm(&global) / norm(x)).min(4.0), x)).collect();
        let mut pairs: Vec<(f64, usize, usize)> = (0..m)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| (norm(&minus(&even[i], &even[j])), i, j))
            .collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Clusters are joined by ascending distance until one is a majority.
        let mut cluster: Vec<usize> = (0..m).collect();
        let joined = |cluster: &mut Vec<usize>, i: usize, j: usize| {
            let (from, to) = (cluster[i], cluster[j]);
            cluster.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
            to
        };
        let majority = pairs.iter().find_map(|&(_, i, j)| {
            let to = joined(&mut cluster, i, j);
            let size = cluster.iter().filter(|c| **c == to).count();
            (size > m / 2).then_some(to)
        });
        assert!(majority.is_some(), "all are in one cluster at last");
        let count = |c: &usize| cluster.iter().filter(|x| *x == c).count();
        let majority = *cluster.iter().find(|c| count(c) > m / 2).expect("a majority");
        let keep: Vec<bool> = cluster.iter().map(|c| *c == majority).collect();
        let sizes: Vector = all.iter().map(|x| norm(x)).collect();
        cut_mean(&all, &keep, median(&sizes))
    });
}

#[test]
fn sign_guard_keeps_the_largest_cluster_of_signs() {
    let m = 6;
    let sizes = [MODEL, ("m", "6"), ("steps", "3"), ("high", "1.5"), ("bandwidth", "0.25")];
    check("sign_guard", &sizes, 0.2, two_push, |inputs| {
        let all = updates(inputs);
        let size: Vector = all.iter().map(|x| norm(x)).collect();
        let middle = median(&size);
        let signs: Vec<Vector> = all
            .iter()
            .map(|x| {
                let share = |is: fn(&f64) -> bool| {
                    x.iter().filter(|x| is(x)).count() as f64 / x.len() as f64
                };
                vec![share(|x| *x > 0.0), share(|x| *x == 0.0), share(|x| *x < 0.0)]
            })
            .collect();
        let near = |x: &[f64], y: &[f64]| norm(&minus(x, y)) <= 0.25;
        let mut mode = signs.clone();
        for _ in 0..3 {
            mode = mode
                .iter()
                .map(|x| {
                    let around: Vec<Vector> =
                        signs.iter().filter(|y| near(x, y)).cloned().collect();
                    super::mean(&around)
                })
                .collect();
        }
        let members = |i: usize| (0..m).filter(|j| near(&mode[i], &mode[*j])).collect::<Vec<_>>();
        let counts: Vector = (0..m).map(|i| members(i).len() as f64).collect();
        let first = largest(&counts, 1).iter().position(|x| *x).expect("one is largest");
        let trusted = members(first);
        let usual = |i: usize| size[i] >= 0.1 * middle && size[i] <= 1.5 * middle;
        let keep: Vec<bool> = (0..m).map(|i| trusted.contains(&i) && usual(i)).collect();
        cut_mean(&all, &keep, middle)
    });
}

#[test]
fn statistics_of_updates_are_within_median_deviations() {
    for push in [two_push, small_push] {
        statistics(push);
    }
}

fn statistics(push: fn(&mut Inputs, &Case)) {
    let sizes = [MODEL, ("m", "7"), ("factor", "3.2")];
    check("statistics", &sizes, 0.2, push, |inputs| {
        let (all, global) = (updates(inputs), public(inputs, "global"));
        let n = all[0].len() as f64;
        let mean = |x: &[f64]| x.iter().sum::<f64>() / n;
        let statistics: [&dyn Fn(&Vector) -> f64; 6] = [
            &|x| norm(x),
            &|x| {
                // The sine of the angle, unless the update is far longer than the model.
                let along = (dot(x, &global) / dot(&global, &global)).clamp(-4.0, 4.0);
                let model = minus(x, &times(-1.0, &global));
                norm(&minus(x, &times(along, &global))) / norm(&model)
            },
            &|x| x.iter().filter(|x| **x > 0.0).count() as f64 / n,
            &|x| x.iter().map(|y| (y - mean(x)).powi(2)).sum::<f64>() / n,
            &|x| sorted(x)[0],
            &|x| sorted(x)[x.len() - 1],
        ];
        let mut keep = vec![true; all.len()];
        for statistic in statistics {
            let values: Vector = all.iter().map(statistic).collect();
            let middle = median(&values);
            let off: Vector = values.iter().map(|x| (x - middle).abs()).collect();
            let bound = 3.2 * median(&off) + middle.abs() / 100.0;
            keep.iter_mut().zip(&off).for_each(|(k, x)| *k &= *x <= bound);
        }
        mean_of_kept(&all, &keep)
    });
}

#[test]
fn top_k_per_group_keeps_k_of_every_group() {
    check("top_k_per_group", &[MODEL, ("m", "7"), ("k", "2")], 0.3, as_drawn, |inputs| {
        let (all, guide) = (updates(inputs), public(inputs, "guide"));
        let group = public(inputs, "group");
        let score: Vector = all.iter().map(|x| cosine(x, &guide)).collect();
        let ordered = order(&times(-1.0, &score));
        let mut keep = vec![false; 7];
        for kind in 0..7 {
            let of_kind = ordered.iter().filter(|i| group[**i] as usize == kind);
            of_kind.take(2).for_each(|i| keep[*i] = true);
        }
        mean_of_kept(&all, &keep)
    });
}

#[test]
fn label_distribution_is_near_that_of_all() {
    let sizes = [MODEL, ("m", "6"), ("n", "5"), ("bound", "0.5")];
    // One client was replaced: all that it gives is 0.
    let replaced = |inputs: &mut Inputs, _: &Case| {
        for tensor in inputs.sets[0][0].values_mut() {
            match &mut tensor.data {
                RawData::F64(v) => v.fill(0.0),
                RawData::F32(v) => v.fill(0.0),
                RawData::I64(v) => v.fill(0),
            }
        }
    };
    check("label_distribution", &sizes, 0.5, replaced, |inputs| {
        let ones: Vector = inputs.sets[0]
            .iter()
            .map(|member| reals(&member["label"].data).iter().sum::<f64>() / 5.0)
            .collect();
        let all = ones[1..].iter().sum::<f64>() / 5.0;
        // Of two classes the shares are as far apart.
        let mut keep: Vec<bool> = ones.iter().map(|p| 2.0 * (p - all).abs() <= 0.5).collect();
        keep[0] = false;
        mean_of_kept(&updates(inputs), &keep)
    });
}

#[test]
fn lora_bounds_and_averages_the_products() {
    let (out, inputs_of, rank) = (3, 4, 2);
    let sizes = [("out", "3"), ("inputs", "4"), ("rank", "2"), ("m", "5"), ("bound", "1.2")];
    check("lora", &sizes, 1.0, as_drawn, |inputs| {
        let products: Vec<Vector> = inputs.sets[0]
            .iter()
            .map(|member| {
                let (down, up) = (reals(&member["down"].data), reals(&member["up"].data));
                let entry = |o: usize, i: usize| {
                    (0..rank).map(|r| up[o * rank + r] * down[r * inputs_of + i]).sum::<f64>()
                };
                (0..out)
                    .flat_map(|o| (0..inputs_of).map(move |i| (o, i)))
                    .map(|(o, i)| entry(o, i))
                    .collect()
            })
            .collect();
        let keep: Vec<bool> = products.iter().map(|p| norm(p) <= 1.2).collect();
        kept(&products, &keep, 5)
    });
}
