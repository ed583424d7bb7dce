//! Model checking of the protocol macros: at the smallest rings and widths, for all operands and all masks where these are
//! few enough, the result is what the macro says, and what a party sees does not depend on the operands.
//!
//! | file | does |
//! |---|---|
//! | `circuits.rs` | a macro with its functionality, and the circuit around it |
//! | `macros.rs` | the macros |
//! | `enumerate.rs` | randomness that goes through all its values |
//! | `parties.rs` | the runtime's three parties on it |
//! | `prepared.rs` | what is random in a circuit of a macro |
//! | `space.rs` | how much is gone through |
//! | `check.rs` | results and views, with some words |
//! | `whole.rs` | results and views, with all words |
//! | `digits.rs`, `view.rs` | of a run over many cases of these: words, and what a party receives |
//! | `page.rs` | the list `counted.md` |
//!
//! All of what has at most 2^16 cases in each shard is gone through, and about 2^11 cases of what has more, at each party
//! and shard; with `SLVR_EFFORT=full` it is 2^28 and 2^16. With `SLVR_ONLY="sign, 3"` only macros are tried whose name and
//! size contain that.

mod check;
mod circuits;
mod digits;
mod enumerate;
mod macros;
mod page;
mod parties;
mod prepared;
mod space;
mod view;
mod whole;

use check::check;
use circuits::{Build, Macro, Made};
use prepared::{Case, Fault, Stuck};
use slvr_circuit::Op;
use space::{Counted, Limits, SHORT};
use std::time::Instant;

fn limits() -> Limits {
    match slvr_tests::long::is_full() {
        true => Limits { whole: 28, drawn: 16, ..SHORT },
        false => SHORT,
    }
}

fn all_of(build: Build) {
    let (all, limits) = (macros::all(build), limits());
    let mut rows: Vec<(&Macro, Counted)> = Vec::new();
    let only = std::env::var("SLVR_ONLY").ok();
    let wanted = |of: &&Macro| {
        let name = format!("{}, {}", of.name, of.size);
        only.as_ref().is_none_or(|some| name.contains(some.as_str()))
    };
    for of in all.iter().filter(wanted) {
        let began = Instant::now();
        let counted = check(of, build, limits, None).unwrap_or_else(|fault| {
            panic!("{}: {}, {}: {fault:?}", build.name(), of.name, of.size)
        });
        if limits != SHORT || only.is_some() {
            let (name, took) = (build.name(), began.elapsed());
            let all = if counted.all_own { "all" } else { "drawn" };
            let (cases, bits) = (counted.cases, counted.extent.bits);
            eprintln!(
                "{name}, {}, {}: {cases} cases, {all} of 2^{bits:.1} in a part, {took:.1?}",
                of.name, of.size
            );
        }
        rows.push((of, counted));
    }
    if limits == SHORT && only.is_none() {
        page::compare(build, &rows);
    }
}

use slvr_allocator as _;

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

/// The widest sign has four groups of carries, of which the lowest gives one bit and each other two.
#[test]
fn a_wide_sign_has_groups_of_carries() {
    let all = macros::all(Build::Ahead);
    let of = all.iter().find(|m| m.name == "sign" && m.size == "12 bits").expect("a macro");
    for cases in [64, 1 << 10, 1 << 14] {
        let made = Made::new(of, Build::Ahead, cases);
        let opened = made.instrs.iter().filter(|i| matches!(i.op, Op::OpenMasked { .. }));
        let bits = opened.map(|i| i.out.map_or(0, |v| made.circuit.ty(v).bits())).max();
        assert_eq!(bits, Some(7), "{cases} cases");
    }
}

/// A macro of the smallest list.
fn named(build: Build, name: &str) -> Macro {
    let found = macros::all(build).into_iter().find(|m| m.name == name);
    found.unwrap_or_else(|| panic!("{name} is a macro"))
}

fn few(log2: u32) -> Limits {
    Limits { whole: log2, drawn: log2, ..SHORT }
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
            match check(&of, build, few(log2), Some(Stuck { pair, only: None })) {
                Err(Fault::Leak { party, .. }) => assert_eq!(party, (pair + 2) % 3, "{name}"),
                other => panic!("{}, {name}, 2^{log2}, pair {pair}: {other:?}", build.name()),
            }
        }
    }
}

/// A mask that is missing in one case of thousands is found, in whichever run of the parties that case is, also in the
/// last one.
#[test]
fn a_mask_that_is_missing_in_one_case_is_found() {
    let all = macros::all(Build::Symmetric);
    let of = all.iter().find(|m| m.name == "reshare of a sum" && m.size == "1 bit");
    let of = of.expect("a macro");
    // Operands have six bits of shares, and each two parties draw one bit: a run for each choice of these three bits.
    let limits = Limits { whole: 12, lanes: 6, ..SHORT };
    for (part, drawn, shares) in [(0, 7, 63), (1, 7, 63), (2, 7, 63), (2, 5, 0), (1, 2, 17)] {
        for pair in 0..3 {
            let input = if drawn == 5 { 0 } else { of.inputs.len() - 1 };
            let only = Some(Case { part, input, number: drawn << 6 | shares });
            let found = check(of, Build::Symmetric, limits, Some(Stuck { pair, only }));
            match found {
                // The bit of this pair is 0 there anyway.
                Ok(_) => assert_eq!(drawn >> pair & 1, 0, "pair {pair} in part {part}"),
                // The pair's own views are not what they should be either.
                Err(Fault::Leak { part: at, .. }) => {
                    assert_eq!((drawn >> pair & 1, at), (1, part), "pair {pair}")
                }
                Err(wrong) => panic!("{wrong:?}"),
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
    let found = check(&of, Build::Symmetric, few(14), None);
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
    let found = check(&of, Build::Symmetric, few(14), None);
    assert!(matches!(found, Err(Fault::Leak { .. })), "{found:?}");
}
