//! How many random inner products prove the norm of a long vector, and against which threshold.
//!
//! A client gives a vector of d words of Z_2^64. With lazy signs chi (-1, 0, 1 with probabilities 1/4,
//! 1/2, 1/4) from public coins drawn after the upload, the parties test abs(<chi, u> mod 2^64) <= T,
//! N times with fresh signs, and open only whether all tests passed (the wraparound test of PINE,
//! Rothblum, Omri, Chen, Talwar 2023, run by the parties). Below u_j is the word j as a signed
//! number, in [-2^63, 2^63).
//!
//! **Honest clients pass.** E exp(t chi_j) = cosh(t/2)^2 <= exp(t^2 / 4), so for a vector of norm nu
//! P(abs(<chi, u>) > T) <= 2 exp(-T^2 / nu^2): with T = nu sqrt(ln(2 N m 2^h)) none of N tests of
//! m clients fails, except with probability 2^-h. (An inner product that wraps is above T, so it
//! is counted.)
//!
//! **A vector longer than gamma T fails**, by one test with probability at least p, two cases:
//!
//! 1. *Some abs(u_j) > 2 T.* Fix the other signs; the inner product is then s - u_j, s or s + u_j with
//!    probabilities 1/4, 1/2, 1/4. The words that pass are an arc of the circle Z_2^64 whose ends are
//!    2 T apart. s and s + u_j have the distance abs(u_j) on the circle (it is at most 2^63, half a
//!    turn), as have s and s - u_j: so if s passes, neither of the others does. Hence the test
//!    passes with probability at most max(1/2, 1/4 + 1/4) = 1/2. This covers u_j near 2^63, where
//!    s + u_j and s - u_j may be neighbours.
//! 2. *All abs(u_j) <= 2 T.* If 2 T d < 2^63 no inner product wraps. For X = <chi, u> the characteristic
//!    function is E exp(i t X) = prod cos^2(u_j t / 2), never negative, and at most exp(-t^2 norm^2 / 4) for
//!    abs(t) <= pi / (2 T), because cos y <= exp(-y^2 / 2) for abs(y) <= pi / 2. The function K(x) = c (sin(pi
//!    x / (4 T)) / (pi x / (4 T)))^2 with c = pi^2 / 8 is at least 1 where abs(x) <= T and never negative, and
//!    its Fourier transform is a triangle that ends at t = pi / (2 T). So P(abs(X) <= T) <= E K(X), an integral
//!    of the triangle and the characteristic function, is at most the same with a normal variable in place of X:
//!    2 c times the integral over 0..1 of (1 - v) exp(-s^2 v^2 / 2), with s = pi gamma / (2 sqrt(2)), at most
//!    (pi^2 / 4) (sqrt(pi / 2) / s - (1 - exp(-s^2 / 2)) / s^2) (the smoothing of Esseen, 1966, made explicit).
//!    For gamma near 2 the bound of Paley and Zygmund is better: Z = X^2 has E Z = norm^2 / 2 and E Z^2 = 3/4
//!    norm^4 - 1/4 sum u_j^4 <= 3/4 norm^4, so P(Z > T^2) >= (1 - 2 / gamma^2)^2 / 3.
//!
//! So a test is passed with probability at most p: 1/2 or the smaller of the two bounds of case 2, whichever is
//! larger. N = (s + log2 m) / (-log2 p) tests, rounded up, make it 2^-s over all m clients.
//!
//! | gamma | bits of soundness for each test | tests for 2^-42 and 10 clients |
//! |---|---|---|
//! | 2.5 | 0.321 | 142 |
//! | 3 | 0.501 | 91 |
//! | 4 | 0.808 | 57 |
//! | 5 and more | 1 | 46 |

use super::interval::enlarged;
use std::f64::consts::{FRAC_PI_2, LOG2_E, PI, SQRT_2};

/// Largest number of tests, as of the circuit's instruction.
const MAX_TESTS: f64 = slvr_circuit::verify::MAX_TESTS as f64;

/// The tests of every client's vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// N, random inner products of each vector.
    pub tests: u64,
    /// T, largest absolute value of an inner product that passes, in raw units.
    pub threshold: u128,
    /// What passing proves: the norm is at most this, in raw units. Infinite if nothing is proven.
    pub proven_norm: f64,
    /// log2 of the probability that a longer vector of any client passes.
    pub soundness_log2: f64,
    /// log2 of the probability that any client whose vector is no longer than the declared norm fails.
    pub honest_failure_log2: f64,
}

impl Plan {
    /// What passing proves of each element, in raw units: at most twice the threshold (case 1), except with a
    /// probability that is no larger than [`Plan::soundness_log2`] says: a test is passed half of the time at most, and
    /// p is at least 1/2.
    pub fn proven_element(&self) -> f64 {
        if self.proven_norm.is_finite() { 2.0 * self.threshold as f64 } else { f64::INFINITY }
    }
}

/// The largest probability with which a vector longer than `gamma` thresholds passes a test (the module's two
/// cases); `gamma` is at least 2.
fn most_often(gamma: f64) -> f64 {
    let s = PI * gamma / (2.0 * SQRT_2);
    let integral = FRAC_PI_2.sqrt() / s - (1.0 - (-s * s / 2.0).exp()) / (s * s);
    let smooth = enlarged(PI * PI / 4.0 * integral);
    let moments = 1.0 - (1.0 - 2.0 / (gamma * gamma)).powi(2) / 3.0;
    smooth.min(moments).max(0.5)
}

/// Tests for vectors of `d` words whose norm is declared to be at most `norm` raw units, given by
/// each of `clients`: a vector longer than [`Plan::proven_norm`], about 6 `gamma` times `norm` (gamma
/// at least 2), passes with probability at most 2^-`soundness_bits`, and one within `norm`
/// fails with probability at most 2^-`honest_bits`, each over all clients together.
///
/// A norm so large that inner products could wrap unnoticed proves nothing: `proven_norm` is
/// infinite and `soundness_log2` 0 then.
pub fn plan(
    norm: f64,
    d: u64,
    clients: u64,
    soundness_bits: u32,
    honest_bits: u32,
    gamma: f64,
) -> Plan {
    let gamma = gamma.max(2.0);
    let pass = most_often(gamma);
    let clients = (clients.max(1) as f64).log2();
    let tests = ((f64::from(soundness_bits) + clients) / -pass.log2()).ceil();
    let tests = tests.clamp(1.0, MAX_TESTS);
    // log2(2 N m 2^h).
    let union = 1.0 + tests.log2() + clients;
    let threshold = (norm * ((union + f64::from(honest_bits)) / LOG2_E).sqrt()).ceil().max(1.0);
    // Case 2 of the proof; with d >= 2 the comparison's range is less than half the ring, too.
    let unwrapped = 2.0 * threshold * (d.max(2) as f64) < 63f64.exp2();
    if !norm.is_finite() || !unwrapped {
        return Plan {
            tests: 1,
            threshold: 1 << 60,
            proven_norm: f64::INFINITY,
            soundness_log2: 0.0,
            honest_failure_log2: 0.0,
        };
    }
    Plan {
        tests: tests as u64,
        threshold: threshold as u128,
        proven_norm: gamma * threshold,
        soundness_log2: clients + tests * pass.log2(),
        honest_failure_log2: union - (threshold / norm).powi(2) * LOG2_E,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_circuit::Dom;
    use slvr_ring::Data;
    use slvr_runtime::clear::plain;

    /// Of vectors of one length, as rows, how many pass all tests.
    fn passing(p: &Plan, rows: &[Vec<i64>], coin: u128) -> usize {
        let d = rows[0].len();
        let words: Vec<u128> = rows.iter().flatten().map(|&x| u128::from(x as u64)).collect();
        let x = Data::from_u128s(Dom::Ring(64), &words);
        let [y] = plain::project([&x], &[rows.len() as u64, d as u64], coin, p.tests);
        let y = y.to_u128s();
        let good = |y: &u128| u128::from((*y as u64 as i64).unsigned_abs()) <= p.threshold;
        y.chunks(p.tests as usize).filter(|y| y.iter().all(good)).count()
    }

    /// Vectors of norm `norm`, as different as they come: one coordinate, all equal, all random.
    fn at_the_edge(norm: f64, d: usize, n: usize, seed: u64) -> Vec<Vec<i64>> {
        let mut state = seed | 1;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
        };
        let scaled = |v: Vec<f64>| -> Vec<i64> {
            let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v.iter().map(|x| (x / length * norm).trunc() as i64).collect()
        };
        let vector = |i: usize| match i % 3 {
            0 => (0..d).map(|j| f64::from(u8::from(j == i % d))).collect(),
            1 => (0..d).map(|_| if random() < 0.0 { -1.0 } else { 1.0 }).collect(),
            _ => (0..d).map(|_| random()).collect(),
        };
        (0..n).map(vector).map(scaled).collect()
    }

    #[test]
    fn plans_meet_their_budgets() {
        for gamma in [2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 16.0] {
            for (clients, s, h) in [(1, 40, 40), (10, 42, 42), (1000, 60, 64)] {
                let norm = 256.0 * 65536.0;
                let p = plan(norm, 11_170_000, clients, s, h, gamma);
                assert!(p.soundness_log2 <= -f64::from(s), "{p:?}");
                assert!(p.soundness_log2 > -f64::from(s) - 1.0, "{p:?}");
                assert!(p.honest_failure_log2 <= -f64::from(h), "{p:?}");
                assert!(p.honest_failure_log2 > -f64::from(h) - 0.01, "{p:?}");
                assert_eq!(p.proven_norm, gamma * p.threshold as f64);
            }
        }
        // The table of the module.
        let tests = |gamma| plan(1e6, 1000, 10, 42, 42, gamma).tests;
        assert_eq!([2.5, 3.0, 4.0, 5.0, 16.0].map(tests), [142, 91, 57, 46, 46]);
    }

    /// P(abs(<chi, u>) <= t), exactly, over all signs.
    fn concentration(u: &[i64], t: i64) -> f64 {
        let mut sums = std::collections::BTreeMap::from([(0i64, 1.0f64)]);
        for &u in u {
            let mut next = std::collections::BTreeMap::new();
            for (&at, &p) in &sums {
                for (to, p) in [(at, p / 2.0), (at - u, p / 4.0), (at + u, p / 4.0)] {
                    *next.entry(to).or_insert(0.0) += p;
                }
            }
            sums = next;
        }
        sums.into_iter().filter(|(x, _)| x.abs() <= t).map(|(_, p)| p).sum()
    }

    /// The bound holds for every vector of a few words, none beyond 2 T, that is gamma T long: equal words,
    /// growing ones, one at the border and the rest small.
    #[test]
    fn no_vector_passes_more_often_than_is_proven() {
        let t = 10_000i64;
        let mut tried = 0;
        for gamma in [2.0, 2.2, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0] {
            for n in 1..=10usize {
                let shapes: [Vec<f64>; 4] = [
                    vec![1.0; n],
                    (1..=n).map(|i| i as f64).collect(),
                    (0..n).map(|i| 0.6f64.powi(i as i32)).collect(),
                    (0..n).map(|i| if i < n.div_ceil(2) { 1.0 } else { 0.3 }).collect(),
                ];
                for shape in shapes {
                    let length = shape.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let scale = gamma * t as f64 / length;
                    let u: Vec<i64> = shape.iter().map(|x| (x * scale).ceil() as i64).collect();
                    if u.iter().any(|&x| x > 2 * t) {
                        continue;
                    }
                    let (found, bound) = (concentration(&u, t), most_often(gamma));
                    assert!(found <= bound, "{gamma} {u:?}: {found} > {bound}");
                    tried += 1;
                }
            }
        }
        assert!(tried > 100, "{tried}");
    }

    #[test]
    fn what_cannot_be_proven_is_said() {
        for norm in [f64::NAN, f64::INFINITY, 1e30, 2f64.powi(50)] {
            let p = plan(norm, 1 << 20, 10, 42, 42, 4.0);
            assert_eq!((p.proven_norm, p.soundness_log2), (f64::INFINITY, 0.0));
            assert!(p.tests >= 1 && p.threshold < 1 << 62);
        }
        assert!(plan(0.0, 10, 1, 40, 40, 4.0).threshold == 1);
    }

    /// 100,000 honest vectors at the declared norm, under 100 different coins: all pass.
    #[test]
    fn honest_vectors_pass() {
        let (norm, d) = (256.0 * 65536.0, 48);
        let p = plan(norm, d as u64, 10, 42, 42, 4.0);
        let mut passed = 0;
        for coin in 0..100 {
            let rows = at_the_edge(norm, d, 1000, coin + 1);
            passed += passing(&p, &rows, u128::from(coin) << 32 | 7);
        }
        assert_eq!(passed, 100_000);
    }

    /// Vectors of attackers, each under 1000 coins: none passes.
    #[test]
    fn long_vectors_are_caught() {
        let (norm, d) = (256.0 * 65536.0, 64usize);
        for gamma in [2.5, 3.0, 4.0, 8.0] {
            let p = plan(norm, d as u64, 10, 42, 42, gamma);
            let t = p.threshold as i64;
            let at = |xs: &[(usize, i64)]| {
                let mut v = vec![0; d];
                xs.iter().for_each(|&(j, x)| v[j] = x);
                v
            };
            let over = (p.proven_norm * 1.01 / (d as f64).sqrt()).ceil() as i64;
            let mut rows = vec![
                // One huge coordinate, up to the far side of the circle.
                at(&[(3, 1 << 40)]),
                at(&[(0, i64::MAX)]),
                at(&[(63, i64::MIN)]),
                at(&[(1, i64::MIN + 5)]),
                at(&[(9, (p.proven_norm * 1.01) as i64)]),
                // Two equal ones, also such that twice one is nothing, or one less the other.
                at(&[(3, 1 << 62), (40, 1 << 62)]),
                at(&[(3, i64::MIN), (40, i64::MIN)]),
                at(&[(3, 1 << 50), (4, -(1 << 50))]),
                at(&[(3, i64::MIN), (40, 1 << 62), (41, 1 << 62)]),
                // A squared norm of 2^64 k, which is 0 modulo 2^64.
                vec![1 << 32; d],
                at(&[(7, 1 << 32)]),
                (0..d as i64).map(|j| if j % 2 == 0 { 1 << 31 } else { -(1 << 31) }).collect(),
                vec![i64::MIN; d],
                // Coordinates at the border between the two cases of the proof.
                vec![2 * t; d],
                vec![2 * t + 1; d],
                // Just longer than what is proven, evenly.
                vec![over; d],
                (0..d as i64).map(|j| over * (1 - 2 * (j % 2))).collect(),
            ];
            // Small words beside one that wraps.
            let mut hidden = at_the_edge(norm / 2.0, d, 1, 5).remove(0);
            hidden[17] = i64::MAX - 3;
            rows.push(hidden);
            for coin in 0..1000 {
                assert_eq!(passing(&p, &rows, coin * 977 + 13), 0, "gamma {gamma}, coin {coin}");
            }
        }
    }

    /// The bound of the first case is met: a single coordinate at the far side passes a test with
    /// probability one half, so that fewer tests would not do there.
    #[test]
    fn half_a_turn_passes_half_of_the_tests() {
        let p = Plan { tests: 1000, ..plan(1e6, 8, 1, 40, 40, 4.0) };
        let x = Data::from_u128s(Dom::Ring(64), &[1 << 63, 0, 0, 0]);
        let [y] = plain::project([&x], &[1, 4], 3, p.tests);
        let passed = y.to_u128s().iter().filter(|&&y| y == 0).count();
        assert!((440..560).contains(&passed), "{passed} of 1000");
    }
}
