//! Long runs of random cases: how many there are, from which number on, and what a failing one is made smaller to.
//!
//! A case is a number and everything about it follows from that, so a slice of a long run is a first number and a
//! count, slices may run one after another or at the same time, and a failing case is run again by its number.

use crate::Random;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// So many failing cases are enough to look at.
const ENOUGH: usize = 8;

/// So often a failing case is tried with less.
const TRIES: usize = 400;

/// A number that the environment sets.
pub fn setting(name: &str) -> Option<u64> {
    let set = std::env::var(name).ok()?;
    Some(set.parse().unwrap_or_else(|_| panic!("{name}={set}: it is a whole number, in digits")))
}

/// How many cases there are: `SLVR_COUNT` of them, or `few`.
pub fn count(few: u64) -> u64 {
    setting("SLVR_COUNT").unwrap_or(few)
}

/// Whether `SLVR_EFFORT=full` asks for what takes too long for every day.
pub fn is_full() -> bool {
    std::env::var("SLVR_EFFORT").is_ok_and(|effort| effort == "full")
}

/// How many cases there are where every day takes `few` of `all`, which `SLVR_EFFORT=full` takes.
pub fn part(few: u64, all: u64) -> u64 {
    count(if is_full() { all } else { few })
}

/// Of what `SLVR_EFFORT=full` takes whole, every day takes one of so many.
pub fn one_of(every_day: usize) -> usize {
    if is_full() { 1 } else { every_day }
}

/// The numbers of a slice: so many as [`count`] says, from `SLVR_SEED` on.
pub fn slice(few: u64) -> std::ops::Range<u64> {
    let first = setting("SLVR_SEED").unwrap_or(0);
    first..first + count(few)
}

/// As [`slice()`], where every day takes `few` of `all`.
pub fn slice_of(few: u64, all: u64) -> std::ops::Range<u64> {
    let first = setting("SLVR_SEED").unwrap_or(0);
    first..first + part(few, all)
}

/// The string of choices of a case, `least` to `most` long.
pub fn choices(seed: u64, least: usize, most: usize) -> Vec<u8> {
    let mut random = Random::new(!seed);
    let n = least + (random.unit() * (most - least) as f64) as usize;
    (0..n).map(|_| (random.unit() * 256.0) as u8).collect()
}

/// What a case says; a panic is a failure of the case that it is about.
///
/// # Errors
///
/// What the case says, or the text of its panic.
pub fn caught<T>(case: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(case)).unwrap_or_else(|panic| {
        let known = panic.downcast_ref::<String>().cloned();
        let known = known.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(format!("panic: {}", known.unwrap_or_default()))
    })
}

/// Fewer and smaller choices that fail, too: a shortest beginning that does, without what can be left out of it.
pub fn shrunk(choices: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let begin = (0..=choices.len()).find(|&n| fails(&choices[..n])).unwrap_or(choices.len());
    let mut best = choices[..begin].to_vec();
    let mut tries = 0;
    let mut at = 0;
    while at < best.len() && tries < TRIES {
        let mut without = best.clone();
        without.remove(at);
        let mut zero = best.clone();
        zero[at] = 0;
        tries += 2;
        if fails(&without) {
            best = without;
        } else {
            if best[at] != 0 && fails(&zero) {
                best = zero;
            }
            at += 1;
        }
    }
    best
}

/// Runs the cases of a slice, and says how long they took. Those that fail are printed by their numbers, and the test
/// fails with the first of them, as `smaller` describes it.
///
/// # Panics
///
/// A case fails.
pub fn run(
    what: &str,
    numbers: std::ops::Range<u64>,
    mut case: impl FnMut(u64) -> Result<(), String>,
    smaller: impl Fn(u64) -> String,
) {
    let (begun, mut failed, mut done) = (Instant::now(), Vec::new(), 0u64);
    for seed in numbers.clone() {
        done += 1;
        if let Err(why) = caught(|| case(seed)) {
            println!("{what} {seed}: {why}");
            failed.push(seed);
        }
        if failed.len() == ENOUGH {
            break;
        }
    }
    let took = begun.elapsed().as_secs_f64();
    println!(
        "{what} {numbers:?}: {done} run, {} failed, {took:.1} s, {:.1} ms each",
        failed.len(),
        1000.0 * took / done.max(1) as f64
    );
    if let Some(&seed) = failed.first() {
        panic!("{what} {failed:?} fail; {seed}: {}", smaller(seed));
    }
}

/// How often each of some kinds was seen.
#[derive(Debug, Default)]
pub struct Seen(BTreeMap<String, u64>);

impl Seen {
    /// One more of a kind.
    pub fn add(&mut self, kind: &impl Debug) {
        *self.0.entry(format!("{kind:?}")).or_default() += 1;
    }

    /// How many kinds there are.
    pub fn kinds(&self) -> usize {
        self.0.len()
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all: Vec<String> = self.0.iter().map(|(kind, n)| format!("{n} of {kind}")).collect();
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_becomes_as_small_as_it_can_be() {
        let all: Vec<u8> = (1..=100).collect();
        let fails = |c: &[u8]| c.contains(&7) && c.iter().filter(|x| **x > 20).count() >= 2;
        assert_eq!(shrunk(&all, fails), [7, 21, 22]);
        // What only fails as a whole stays.
        assert_eq!(shrunk(&[1, 2, 3], |c| c == [1, 2, 3]), [1, 2, 3]);
        // What no longer fails does, too.
        assert_eq!(shrunk(&[1, 2], |_| false), [1, 2]);
    }

    #[test]
    fn a_case_is_its_number() {
        assert_eq!(choices(5, 20, 160), choices(5, 20, 160));
        let lengths: Vec<usize> = (0..500).map(|seed| choices(seed, 20, 160).len()).collect();
        assert!(lengths.iter().all(|n| (20..160).contains(n)));
        assert!(lengths.iter().any(|n| *n < 30) && lengths.iter().any(|n| *n > 150));
    }

    #[test]
    #[should_panic(expected = "case [3] fail; 3: small")]
    fn a_case_that_panics_fails_by_its_number() {
        let case = |seed| if seed == 3 { panic!("three") } else { Ok(()) };
        run("case", 0..5, case, |_| "small".into());
    }
}
