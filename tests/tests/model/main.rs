//! Model checking of the protocol macros: at the smallest rings and widths, for all operands and all masks where these are
//! few enough, the result is what the macro says, and what a party sees does not depend on the operands.
//!
//! | file | does |
//! |---|---|
//! | `circuits.rs` | a macro with its functionality, and the circuit around it |
//! | `macros.rs` | the macros |
//! | `enumerate.rs` | randomness that goes through all its values |
//! | `parties.rs` | the runtime's three parties on it |
//! | `check.rs` | results and views |
//! | `page.rs` | the list in the book |
//!
//! `SLVR_MODEL=28` goes through 2^28 cases at each party and shard instead of 2^11.

mod check;
mod circuits;
mod enumerate;
mod macros;
mod page;
mod parties;

use check::{Counted, Fault, check};
use circuits::{Build, Macro};
use slvr_circuit::Op;

/// Cases at each party and part, as a power of two.
const LOG2: u32 = 11;

fn log2() -> u32 {
    std::env::var("SLVR_MODEL").ok().and_then(|n| n.parse().ok()).unwrap_or(LOG2)
}

fn all_of(build: Build) {
    let all = macros::all(build);
    let mut rows: Vec<(&Macro, Counted)> = Vec::new();
    for of in &all {
        let counted = check(of, build, log2(), None).unwrap_or_else(|fault| {
            panic!("{}: {}, {}: {fault:?}", build.name(), of.name, of.size)
        });
        rows.push((of, counted));
    }
    if log2() == LOG2 {
        page::compare(build, &rows);
    }
}

#[test]
fn macros_of_t1_compute_their_functionality_and_hide_their_operands() {
    all_of(Build::Symmetric);
}

#[test]
fn macros_of_t1_against_a_malicious_party_do_so_too() {
    all_of(Build::Proven);
}

#[test]
fn macros_of_t2_do_so_too() {
    all_of(Build::Dealer);
}

#[test]
fn macros_of_t2_against_a_malicious_party_do_so_too() {
    all_of(Build::Ahead);
}

/// A macro of the smallest list.
fn named(build: Build, name: &str) -> Macro {
    let found = macros::all(build).into_iter().find(|m| m.name == name);
    found.unwrap_or_else(|| panic!("{name} is a macro"))
}

/// Without the words of one pair of parties the third one sees what it should not: the check can fail, whether all words
/// are gone through or some are drawn.
#[test]
fn missing_masks_are_found() {
    let cases = [
        (Build::Symmetric, "product of bits", 14),
        (Build::Symmetric, "truncation", 14),
        (Build::Symmetric, "sign", 14),
        (Build::Proven, "word to bits", 14),
        (Build::Ahead, "truncation", 14),
        (Build::Ahead, "sign", 14),
        (Build::Dealer, "product", 14),
        (Build::Dealer, "table", 14),
        (Build::Symmetric, "weighted sum of bits", 14),
        (Build::Dealer, "range of an input", 14),
    ];
    for (build, name, log2) in cases {
        let of = named(build, name);
        for pair in 0..3 {
            match check(&of, build, log2, Some(pair)) {
                Err(Fault::Leak { party, .. }) => assert_eq!(party, (pair + 2) % 3, "{name}"),
                other => panic!("{}, {name}, 2^{log2}, pair {pair}: {other:?}", build.name()),
            }
        }
    }
}

/// A functionality that is wrong in one case is found.
#[test]
fn a_wrong_result_is_found() {
    let mut of = named(Build::Symmetric, "product");
    of.right = Box::new(|x, z| z == [if x == [3, 7] { 20 } else { (x[0] * x[1]) & 255 }]);
    // All operands, few masks.
    of.inputs.retain(|x| x[0] < 8 && x[1] < 8);
    let found = check(&of, Build::Symmetric, 14, None);
    assert_eq!(found, Err(Fault::Wrong { operands: vec![3, 7], result: vec![21] }));
}

/// A macro that opens one of its operands to two parties without a mask is found.
#[test]
fn an_opened_operand_is_found() {
    let mut of = named(Build::Symmetric, "product of bits");
    of.emit = Box::new(|e, x| {
        let seen = e.add(Op::Open(x[0]));
        e.add(Op::Mul(x[1], seen))
    });
    let found = check(&of, Build::Symmetric, 14, None);
    assert!(matches!(found, Err(Fault::Leak { .. })), "{found:?}");
}
