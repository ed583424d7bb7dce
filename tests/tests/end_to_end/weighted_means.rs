//! Random programs of weighted means, cosines and logarithms of a softmax: all compile, and intervals, errors and decisions
//! hold at every node, as in [`super::intervals`]. Inputs that a malicious client may give keep to the intervals, too: what is
//! enforced on long vectors is wider than what is declared.
//!
//! `SLVR_COUNT=100000 cargo test --release -p slvr-tests --test end_to_end weighted_means` is the long run. It begins at
//! the program of number `SLVR_SEED`, and a failing test prints the number of its program.

use super::intervals::{Check, Tally, check_program, compiled, ways};
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_tests::long::{self, caught, shrunk};
use slvr_tests::{Random, means, random_inputs};

/// One program in so many has long vectors.
const LONG: u64 = 16;
/// Vectors of weights are enforced to be in so many times their declared range, at least.
const ENFORCED: f64 = 3.0;

fn choices(seed: u64) -> Vec<u8> {
    long::choices(seed, 8, 40)
}

fn check(choices: &[u8], seed: u64, tally: &mut Tally) -> Result<(), String> {
    match seed % LONG {
        0 => check_long(choices, seed, tally),
        _ => check_program(&means::program(choices, false), seed, tally),
    }
}

/// A program with long vectors, in all of which a client may have what is beyond the declared range.
fn check_long(choices: &[u8], seed: u64, tally: &mut Tally) -> Result<(), String> {
    tally.programs += 1;
    let [how, _] = ways(seed);
    let made = means::program(choices, true);
    let Some(case) = compiled(&made, how, &mut tally.refused)? else { return Ok(()) };
    let check = Check::new(&case, [seed.into(), 3]);
    let mut random = Random::new(seed);
    let inputs = random_inputs(case.circuit(), seed, 1.0);
    check.hold(&inputs, seed)?;
    for spread in [1.0, ENFORCED] {
        let mut inputs = inputs.clone();
        beyond(&mut inputs, spread, &mut random);
        check.within(&inputs)?;
    }
    Ok(())
}

/// Vectors at their ends and beyond, all entries or some.
fn beyond(inputs: &mut Inputs, spread: f64, random: &mut Random) {
    for member in &mut inputs.sets[0] {
        let some = random.unit();
        if let Some(RawData::F64(v)) = member.get_mut("all").map(|t| &mut t.data) {
            let most = v.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            for x in v.iter_mut().filter(|_| random.unit() < some) {
                *x = most.copysign(*x) * spread;
            }
        }
    }
}

fn smaller(seed: u64) -> String {
    let fails = |c: &[u8]| caught(|| check(c, seed, &mut Tally::default()));
    let least = shrunk(&choices(seed), |c| fails(c).is_err());
    let made = means::program(&least, seed.is_multiple_of(LONG));
    let why = fails(&least).err().unwrap_or_else(|| "it holds if it is tried again".into());
    format!("{why}\n{:?}\n{}", made.bindings, made.text)
}

#[test]
fn weighted_means_stay_within_their_values() {
    let numbers = long::slice(16);
    let count = numbers.end - numbers.start;
    let mut tally = Tally::default();
    long::run("program", numbers, |seed| check(&choices(seed), seed, &mut tally), smaller);
    let Tally { programs, refused, clear, unclear, parties, .. } = tally;
    println!(
        "{programs} made, {refused} refused, {clear} runs with clear decisions, {unclear} others, {parties} by three parties"
    );
    assert!(count < 8 || clear > 0, "some runs decide clearly");
    // Of what has a small divisor or a high power some has no words.
    assert!(refused * 4 <= programs, "most of what is within its values compiles");
}
