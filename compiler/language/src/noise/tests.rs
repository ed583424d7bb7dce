use super::exact::Exact;
use super::sampler::Sum;
use super::*;
use std::collections::BTreeMap;

fn noise(law: Law, units: f64) -> Noise {
    Noise { law, scale: units, frac: 0 }
}

/// P(x) of a law in units of its grid, for x in -reach ..= reach.
fn law(law: Law, units: f64, reach: i64) -> Vec<f64> {
    let weight = |x: i64| match law {
        Law::Gaussian => (-(x as f64).powi(2) / (2.0 * units * units)).exp(),
        Law::Laplace => (-(x as f64).abs() / units).exp(),
    };
    let all: f64 = (-reach..=reach).map(weight).sum();
    (-reach..=reach).map(|x| weight(x) / all).collect()
}

/// The probability of each value of a sampler, from the exact probabilities of the outcomes of its tables.
fn enumerated(s: &Sampler) -> BTreeMap<i64, f64> {
    let mut all = BTreeMap::from([(0i64, 1.0f64)]);
    if !s.signed {
        // All terms hang on the sign, which is in the first draw: outcomes together.
        let mut draws: Vec<(Vec<u32>, f64)> = vec![(Vec::new(), 1.0)];
        for &t in &s.draws {
            let t = &s.tables[t];
            let units = (t.bits + PRECISION) as i32;
            let each: Vec<f64> =
                (0..1 << t.bits).map(|o| t.units(o) as f64 / 2f64.powi(units)).collect();
            draws = draws
                .iter()
                .flat_map(|(o, p)| {
                    let each = each.iter().zip(0u32..).filter(|(q, _)| **q > 0.0);
                    each.map(move |(q, o2)| ([&o[..], &[o2]].concat(), p * q))
                })
                .collect();
        }
        all.clear();
        for (outcomes, p) in draws {
            let bit = |p: &Plane| i64::from(outcomes[p.draw] >> p.bit & 1);
            let term = |t: &Term| t.weight * t.planes.iter().fold(0, |x, p| x ^ bit(p));
            *all.entry(s.terms.iter().map(term).sum()).or_insert(0.0) += p;
        }
        return all;
    }
    for draw in 0..s.draws.len() {
        let t = &s.tables[s.draws[draw]];
        let weight = s.terms.iter().find(|t| t.planes[0].draw == draw).map_or(0, |t| t.weight);
        let mut next = BTreeMap::new();
        for (x, p) in all {
            for outcome in 0..1u32 << t.bits {
                let q = t.units(outcome) as f64 / 2f64.powi((t.bits + PRECISION) as i32) / 2.0;
                for sign in [-1, 1] {
                    *next.entry(x + weight * sign * i64::from(outcome)).or_insert(0.0) += p * q;
                }
            }
        }
        all = next;
    }
    all
}

/// Half the sum of absolute differences.
fn distance(found: &BTreeMap<i64, f64>, wanted: &[f64]) -> f64 {
    let reach = wanted.len() as i64 / 2;
    let outside: f64 = found.iter().filter(|(x, _)| x.abs() > reach).map(|(_, p)| p).sum();
    let inside = (-reach..=reach)
        .zip(wanted)
        .map(|(x, p)| (found.get(&x).copied().unwrap_or(0.0) - p).abs());
    (outside + inside.sum::<f64>()) / 2.0
}

#[test]
fn exact_exponentials_are_those_of_floats() {
    for x in [1e-9, 0.001, 0.5, 1.0, 3.25, 17.0, 80.0] {
        let found = Exact::of(x).exp_neg().above();
        assert!((found / (-x).exp() - 1.0).abs() < 1e-14, "{x}: {found}");
    }
    assert_eq!(Exact::of(0.375).above(), 0.375 + 2f64.powi(-54));
}

/// What a table's cells have is exactly a distribution, and as far from the one asked for as the table says.
#[test]
fn cells_have_exactly_what_the_table_says() {
    for (l, units) in [(Law::Gaussian, 3.0), (Law::Gaussian, 700.0), (Law::Laplace, 300.0)] {
        for t in &noise(l, units).sampler().tables {
            let all: Vec<u128> = (0..1 << t.bits).map(|o| t.units(o)).collect();
            assert_eq!(all.iter().sum::<u128>(), 1 << (PRECISION + t.bits));
            assert_eq!(t.second[0], 0, "what cell 0 has needs no constant");
            // Every cell and every place of the first 1 has its outcome with the probability of the place.
            let mut counted = vec![0u128; 1 << t.bits];
            for cell in 0..1u128 << t.bits {
                for place in 0..=PRECISION {
                    let (low, units) = match place {
                        PRECISION => (0, 1),
                        // What stands behind the first 1 does not matter.
                        p => (1 << p | (0xdead_beef_u64 << p << 1), 1u128 << (PRECISION - 1 - p)),
                    };
                    counted[t.outcome(cell << PRECISION | u128::from(low)) as usize] += units;
                }
            }
            assert_eq!(counted, all);
            assert!(t.distance < 2f64.powi(-58), "{}", t.distance.log2());
        }
    }
}

/// A table that is made wrong on purpose is further away than it says.
#[test]
fn distances_notice_a_wrong_table() {
    let s = noise(Law::Gaussian, 5.0).sampler();
    let mut wrong = (*s).clone();
    let right = distance(&enumerated(&s), &law(Law::Gaussian, 5.0, 400));
    wrong.tables[0].chance[3] ^= 1 << 50;
    let found = distance(&enumerated(&wrong), &law(Law::Gaussian, 5.0, 400));
    assert!(right < 1e-13, "{right}");
    assert!(found > 1e-8, "{found}");
}

#[test]
fn small_samplers_have_their_laws() {
    for units in [16.0, 40.0, 77.3] {
        let s = noise(Law::Gaussian, units).sampler();
        let found = distance(&enumerated(&s), &law(Law::Gaussian, units, 2500));
        assert!(found < 1e-12, "gaussian {units}: {found}, {:?}", s.draws.len());
    }
    for units in [0.5, 1.0, 4.7] {
        let s = noise(Law::Laplace, units).sampler();
        let found = distance(&enumerated(&s), &law(Law::Laplace, units, 2500));
        assert!(found < 1e-12, "laplace {units}: {found}");
    }
}

/// Noise of every scale has a sampler that is as close to its law as the book says, and no narrower.
#[test]
fn every_scale_has_a_sampler() {
    let mut scale = 2f64.powi(-20);
    while scale <= 2f64.powi(20) {
        for l in Law::ALL {
            let noise = Noise::new(l, scale).expect("a scale");
            let s = match l {
                // Tables take a while to make; the sums say it all.
                Law::Gaussian => {
                    let sum = Sum::of(noise.units());
                    assert!(sum.error() < 2f64.powi(-56), "{scale}: {:?}", sum);
                    assert!(sum.width <= f64::from(1u32 << sum.bits) / 9.4, "{scale}: {sum:?}");
                    continue;
                }
                Law::Laplace => noise.sampler(),
            };
            assert!(s.distance < 2f64.powi(-56), "{l:?} {scale}: {}", s.distance.log2());
        }
        scale *= 1.618;
    }
    for scale in [1.0, 0.01, 37.5] {
        let noise = Noise::new(Law::Gaussian, scale).expect("a scale");
        let s = noise.sampler();
        assert!(s.distance < 2f64.powi(-56), "{scale}: {}", s.distance.log2());
        assert!(s.width >= noise.units() && s.width < noise.units() * (1.0 + 1e-14));
        assert!(s.bound as f64 > 9.0 * s.width && s.bound < 1 << 40);
    }
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1e9] {
        assert!(Noise::new(Law::Gaussian, scale).is_err());
    }
}

/// Values of fixed seeds in 64 classes of equal probability: chi-square with 63 degrees of freedom.
#[test]
fn values_of_fixed_seeds_are_spread_as_their_law() {
    let classes = 64usize;
    for (l, scale, seed) in
        [(Law::Gaussian, 1.0, 1), (Law::Gaussian, 0.004, 2), (Law::Laplace, 0.01, 3)]
    {
        let noise = Noise::new(l, scale).expect("a scale");
        let (s, n) = (noise.sampler(), 50_000usize);
        let reach = (12.0 * noise.units()) as i64 * if l == Law::Laplace { 3 } else { 1 };
        // The end of each class, by the cumulated law.
        let (mut ends, mut sum) = (Vec::new(), 0.0);
        let law = law(l, noise.units(), reach);
        for (x, p) in (-reach..=reach).zip(&law) {
            sum += p;
            while ends.len() < classes - 1 && sum >= (ends.len() + 1) as f64 / classes as f64 {
                ends.push(x);
            }
        }
        let mut shares = vec![0.0; classes];
        let class = |x: i64| ends.partition_point(|&end| end < x);
        for (x, p) in (-reach..=reach).zip(&law) {
            shares[class(x)] += p;
        }
        let words = Words::of(seed);
        let mut counts = vec![0.0; classes];
        for at in 0..n {
            counts[class(s.value(n, at, &|i| words.word(0, i)))] += 1.0;
        }
        let chi: f64 = counts
            .iter()
            .zip(&shares)
            .map(|(c, p)| (c - p * n as f64).powi(2) / (p * n as f64))
            .sum();
        // Of a right sampler it is above 110 with a probability of 2 in 10,000.
        assert!(chi < 110.0, "{l:?} {scale}: {chi}");
    }
}
