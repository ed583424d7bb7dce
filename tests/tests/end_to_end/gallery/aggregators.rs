//! Aggregators and what stands before them, against the definitions that ByzFL's documentation gives: on random updates, with an
//! outlier, with equal updates, and with both.

use super::{
    MODEL, Vector, check, check_drawn, dot, mean, median, minus, norm, order, public, sorted,
};
use super::{seeds, times, total, updates};
use slvr_compiler::types::Lots;
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::{Case, committees};
use std::cell::Cell;

/// Changes all updates, each of which knows its client.
fn each_update(inputs: &mut Inputs, change: impl Fn(usize, &mut Vec<f64>)) {
    for (i, member) in inputs.sets[0].iter_mut().enumerate() {
        if let Some(RawData::F64(v)) = member.get_mut("update").map(|t| &mut t.data) {
            change(i, v);
        }
    }
}

/// The first update is far from all others.
fn outlier(inputs: &mut Inputs, _: &Case) {
    each_update(inputs, |i, v| {
        let by = if i == 0 { 6.0 } else { 1.0 };
        v.iter_mut().for_each(|x| *x *= by);
    });
}

/// The second and the third update are the same, and the first is far from all others.
fn equal(inputs: &mut Inputs, case: &Case) {
    outlier(inputs, case);
    let same = inputs.sets[0][1]["update"].clone();
    inputs.sets[0][2].insert("update".into(), same);
}

/// The trimmed mean of each coordinate.
fn trimmed(all: &[Vector], f: usize) -> Vector {
    let column = |e: usize| sorted(&all.iter().map(|x| x[e]).collect::<Vector>());
    let kept = |s: Vector| s[f..s.len() - f].iter().sum::<f64>() / (s.len() - 2 * f) as f64;
    (0..all[0].len()).map(|e| kept(column(e))).collect()
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    norm(&minus(x, y))
}

/// The mean of the k vectors nearest to one, of equally near ones the first.
fn nearest(all: &[Vector], to: usize, k: usize) -> Vector {
    let far: Vector = all.iter().map(|x| distance(x, &all[to])).collect();
    mean(&order(&far)[..k].iter().map(|&j| all[j].clone()).collect::<Vec<Vector>>())
}

/// Sets of k of n, in lexicographic order.
fn subsets(n: usize, k: usize) -> Vec<Vec<usize>> {
    if k == 0 {
        return vec![Vec::new()];
    }
    let with = |first: usize| {
        subsets(n - first - 1, k - 1).into_iter().map(move |rest| {
            let rest = rest.into_iter().map(|i| i + first + 1);
            std::iter::once(first).chain(rest).collect()
        })
    };
    (0..=n - k).flat_map(with).collect()
}

/// The mean of the first set for which a value is least.
fn mean_of_best(all: &[Vector], sets: &[Vec<usize>], value: impl Fn(&[Vector]) -> f64) -> Vector {
    let of = |set: &Vec<usize>| set.iter().map(|&i| all[i].clone()).collect::<Vec<Vector>>();
    let values: Vector = sets.iter().map(|set| value(&of(set))).collect();
    mean(&of(&sets[order(&values)[0]]))
}

#[test]
fn mean_around_median_averages_the_values_near_the_median() {
    let mean_around = |m: &'static str, f: &'static str, adapt: fn(&mut Inputs, &Case)| {
        let sizes = [("d", "3"), ("m", m), ("f", f)];
        check("mean_around_median", &sizes, 0.15, adapt, |inputs| {
            let all = updates(inputs);
            let kept = all.len() - f.parse::<usize>().expect("a number");
            let column = |e: usize| all.iter().map(|x| x[e]).collect::<Vector>();
            let one = |x: Vector| {
                let off: Vector = x.iter().map(|y| (y - median(&x)).abs()).collect();
                order(&off)[..kept].iter().map(|&i| x[i]).sum::<f64>() / kept as f64
            };
            (0..3).map(|e| one(column(e))).collect()
        });
    };
    mean_around("6", "2", outlier);
    mean_around("5", "1", equal);
}

#[test]
fn monna_averages_what_is_near_to_the_trusted_client() {
    for adapt in [outlier, equal] {
        let sizes = [MODEL, ("m", "6"), ("f", "2"), ("trusted", "3")];
        check("monna", &sizes, 0.15, adapt, |inputs| nearest(&updates(inputs), 3, 4));
    }
}

#[test]
fn nearest_neighbour_mixing_stands_before_a_trimmed_mean() {
    for adapt in [outlier, equal] {
        let sizes = [("d", "3"), ("m", "5"), ("f", "1")];
        check("nearest_neighbour_mixing", &sizes, 0.15, adapt, |inputs| {
            let all = updates(inputs);
            let mixed: Vec<Vector> = (0..5).map(|i| nearest(&all, i, 4)).collect();
            trimmed(&mixed, 1)
        });
    }
}

#[test]
fn static_clipping_stands_before_a_trimmed_mean() {
    let sizes = [("d", "3"), ("m", "5"), ("f", "1"), ("bound", "1")];
    check("static_clipping", &sizes, 0.15, equal, |inputs| {
        let cut = |x: &Vector| times((1.0 / norm(x)).min(1.0), x);
        trimmed(&updates(inputs).iter().map(cut).collect::<Vec<Vector>>(), 1)
    });
}

#[test]
fn adaptive_clipping_cuts_the_longest_to_the_next_length() {
    for (m, f, cut) in [("5", 1, 1), ("6", 2, 2), ("9", 4, 4)] {
        let of = f.to_string();
        let sizes = [("d", "3"), ("m", m), ("f", of.as_str())];
        check("adaptive_clipping", &sizes, 0.15, equal, |inputs| {
            let all = updates(inputs);
            let size: Vector = all.iter().map(|x| norm(x)).collect();
            let bound = sorted(&size)[all.len() - cut - 1];
            let short = |x: &Vector| match norm(x) > bound {
                true => times(bound / norm(x), x),
                false => x.clone(),
            };
            trimmed(&all.iter().map(short).collect::<Vec<Vector>>(), f)
        });
    }
}

#[test]
fn bucketing_stands_before_the_median() {
    for (m, s) in [("6", 2), ("5", 2), ("5", 1)] {
        let of = s.to_string();
        let sizes = [("d", "3"), ("m", m), ("s", of.as_str())];
        check_drawn("bucketing", &sizes, 0.15, equal, |inputs, coins| {
            let all = updates(inputs);
            let n = all.len() as u64;
            let order = &committees(coins)(&Lots { rows: 1, n, k: n, others: false })[0];
            let mixed: Vec<Vector> = order.iter().map(|&i| all[i as usize].clone()).collect();
            let buckets: Vec<Vector> = mixed.chunks(s).map(mean).collect();
            let column = |e: usize| buckets.iter().map(|x| x[e]).collect::<Vector>();
            (0..3).map(|e| median(&column(e))).collect()
        });
    }
}

#[test]
fn geometric_median_takes_weighted_steps_from_zero() {
    for adapt in [outlier, equal] {
        check("geometric_median", &[MODEL, ("m", "5"), ("steps", "3")], 0.15, adapt, |inputs| {
            let all = updates(inputs);
            let count: Vector = inputs.sets[0]
                .iter()
                .map(|member| super::reals(&member["count"].data)[0])
                .collect();
            let samples: f64 = count.iter().sum();
            let mut v = vec![0.0; all[0].len()];
            for _ in 0..3 {
                let beta: Vector = all
                    .iter()
                    .zip(&count)
                    .map(|(x, n)| n / samples / distance(x, &v).max(0.1))
                    .collect();
                let parts: Vec<Vector> = all.iter().zip(&beta).map(|(x, b)| times(*b, x)).collect();
                v = times(1.0 / beta.iter().sum::<f64>(), &total(&parts));
            }
            v
        });
    }
}

#[test]
fn minimum_diameter_averages_the_closest_set() {
    for (m, f, adapt) in [(5, 1, equal as fn(&mut Inputs, &Case)), (5, 2, outlier), (6, 2, equal)] {
        let (of, bad) = (m.to_string(), f.to_string());
        let sizes = [MODEL, ("m", of.as_str()), ("f", bad.as_str())];
        check("minimum_diameter", &sizes, 0.15, adapt, |inputs| {
            mean_of_best(&updates(inputs), &subsets(m, m - f), |set| {
                let far = |(i, x): (usize, &Vector)| {
                    set[i + 1..].iter().map(|y| distance(x, y)).fold(0.0, f64::max)
                };
                set.iter().enumerate().map(far).fold(0.0, f64::max)
            })
        });
    }
}

/// The sum of vectors, each times a number.
fn combined(all: &[Vector], by: &[f64]) -> Vector {
    total(&all.iter().zip(by).map(|(x, b)| times(*b, x)).collect::<Vec<Vector>>())
}

/// The largest eigenvalue of the sum of the outer products of vectors, each times its weight, after some steps of power
/// iteration from a vector; and how far each lies along the direction that was found.
fn power(off: &[Vector], weight: &[f64], start: &[f64], steps: usize) -> (f64, Vector) {
    let along = |v: &[f64]| off.iter().map(|x| dot(x, v)).collect::<Vector>();
    let weighed = |a: &[f64]| a.iter().zip(weight).map(|(a, w)| a * w).collect::<Vector>();
    let mut v = start.to_vec();
    for _ in 0..steps {
        let next = combined(off, &weighed(&along(&v)));
        v = times(1.0 / norm(&next).max(f64::MIN_POSITIVE), &next);
    }
    let found = along(&v);
    let next = combined(off, &weighed(&found));
    let by = dot(&found, &weighed(&found)).max(f64::MIN_POSITIVE);
    (dot(&next, &next) / by, along(&next))
}

#[test]
fn smallest_eigenvalue_averages_the_set_that_differs_least() {
    let exact = Cell::new((0, 0));
    for (m, f, adapt) in [(5, 1, outlier as fn(&mut Inputs, &Case)), (5, 2, outlier)] {
        let (of, bad) = (m.to_string(), f.to_string());
        let sizes = [MODEL, ("m", of.as_str()), ("f", bad.as_str())];
        check("smallest_eigenvalue", &sizes, 0.15, adapt, |inputs| {
            let (all, start) = (updates(inputs), public(inputs, "start"));
            let value = |steps: usize| {
                let start = &start;
                move |set: &[Vector]| {
                    let middle = mean(set);
                    let off: Vec<Vector> = set.iter().map(|x| minus(x, &middle)).collect();
                    power(&off, &vec![1.0; off.len()], start, steps).0
                }
            };
            let sets = subsets(m, m - f);
            let found = mean_of_best(&all, &sets, value(4));
            let same = found == mean_of_best(&all, &sets, value(200));
            let (runs, agree) = exact.get();
            exact.set((runs + 1, agree + usize::from(same)));
            found
        });
    }
    let (runs, agree) = exact.get();
    println!("in {agree} of {runs} runs the set is that of the exact eigenvalue");
    assert!(agree * 4 > runs * 3, "{agree} of {runs}");
}

#[test]
fn covariance_filter_weighs_down_what_lies_far_along_the_main_direction() {
    let sizes = [MODEL, ("m", "6"), ("f", "1"), ("rounds", "3"), ("steps", "4")];
    let moved = Cell::new(0);
    check("covariance_filter", &sizes, 0.15, outlier, |inputs| {
        let (all, start) = (updates(inputs), public(inputs, "start"));
        let mut weight = vec![1.0; 6];
        let (mut best, mut least) = (Vector::new(), f64::INFINITY);
        for round in 0..3 {
            let sum: f64 = weight.iter().sum();
            if sum <= 4.0 {
                break;
            }
            let middle = times(1.0 / sum, &combined(&all, &weight));
            let off: Vec<Vector> = all.iter().map(|x| minus(x, &middle)).collect();
            let (value, along) = power(&off, &weight, &start, 4);
            if value / sum < least {
                (best, least) = (middle, value / sum);
                moved.set(moved.get() + usize::from(round > 0));
            }
            let far: Vector = along.iter().map(|x| x * x).collect();
            let most = far.iter().fold(0.0f64, |most, x| most.max(*x));
            weight.iter_mut().zip(&far).for_each(|(w, x)| *w *= 1.0 - x / most);
        }
        best
    });
    assert!(moved.get() as u64 > seeds(), "a later mean is the best of most runs");
}
