//! Round trips, and text that is no circuit.

use super::*;
use crate::verify::tests::{ALL_OPS, all_ops, small};
use crate::{Circuit, Const, Dom, Encoding, Hold, Type};
use proptest::prelude::*;

#[test]
fn prints_what_it_read() {
    assert_eq!(print(&all_ops()), ALL_OPS);
    assert_eq!(parse(&print(&small())).unwrap(), small());
}

/// The example in the module's documentation.
#[test]
fn the_documented_example() {
    let source = include_str!("mod.rs");
    let example: String = source
        .lines()
        .skip_while(|l| *l != "//! ```text")
        .skip(1)
        .take_while(|l| *l != "//! ```")
        .map(|l| l.trim_start_matches("//!").strip_prefix(' ').unwrap_or("").to_string() + "\n")
        .collect();
    let circuit = parse(&example).unwrap();
    crate::verify::verify(&circuit).unwrap();
    assert_eq!(print(&circuit).lines().count(), example.lines().count());
    assert_eq!(parse(&print(&circuit)).unwrap(), circuit);
}

#[test]
fn comments_and_blank_lines_are_skipped() {
    let text: String = print(&small()).lines().map(|l| format!("# c\n\n\t{l}\r\n")).collect();
    assert_eq!(parse(&text).unwrap(), small());
}

#[test]
fn errors_name_the_line() {
    let text = print(&small());
    for (from, to, line, what) in [
        ("circuit", "zirkus", 1, "expected a statement"),
        ("Client\" 2", "Client\" two", 2, "not a number"),
        ("from 0", "by 0", 4, "expected `from`"),
        ("fixed(", "float(", 4, "no encoding"),
        ("= 2 0", "= 2x99999999999 0", 5, "words of constants"),
        ("= 2 0", "= 0..99999999999999999999 0", 5, "words of constants"),
        ("site 0", "site 1", 7, "expected 0"),
        ("layer 0:", "layer 0", 8, "expected `:`"),
        ("%2 = gather", "%2 = gutter", 9, "no operation"),
        ("%3 = mul", "%2 = mul", 10, "defined twice"),
        (": add3.A64", ": add4.A64", 10, "no holder"),
        (": add3.A64", ": add3.C64", 10, "no domain"),
        (": add3.A64", ": add3.é", 10, "no domain"),
        ("[2,2] @0\n  exchange", "[2,2] 0\n  exchange", 10, "`@`"),
        ("output 0 @0", "output 0 @0 @0", 17, "end of the line"),
        ("%5", "%50", 18, "%5 is not defined"),
        ("  drop %0 %3", "  drop %0\n  drop %3", 14, "one `drop`"),
        ("layer 1:", "party \"P\" 1", 14, "does not belong here"),
    ] {
        assert!(text.contains(from), "{from}");
        let bad = text.replace(from, to);
        let e = parse(&bad).expect_err(to);
        assert_eq!((e.line, e.what.contains(what)), (line, true), "{to}: {e}");
    }
    assert!(parse("").is_err());
}

/// Groups, masks and patterns.
#[test]
fn errors_name_what_is_malformed() {
    for (from, to, what) in [
        ("mask.g2.A64", "mask.g2A64", "after the groups"),
        ("mask.g2.A64", "mask.gx.A64", "not a number"),
        ("mask.g2.A64", "mask.g4294967296.A64", "not a number"),
        ("mask.g2.A64", "g2.A64", "no holder"),
        ("mask.g2.A64", "mask.g2.g2.A64", "no domain"),
        ("mask_of %40 groups 2", "mask_of %40", "expected `groups`"),
        ("dup_of %40 groups 2", "dup_of %40 groups -2", "not a number"),
        ("mask 7 B2", "mask 4294967296 B2", "not a number"),
        ("mask 7 B2", "mask 7 C2", "no domain"),
        ("mask 7 B2 [2,3,4]", "mask 7 B2", "expected `[`"),
        ("thermometer %58 [4,3]", "thermometer %58", "expected `[`"),
        ("mask_products %62 carry", "mask_products %62 sum", "no pattern"),
        ("%62 carry [2]", "%62 carry [4294967296]", "a number is too large"),
        ("%66 carry [2]", "carry [2]", "expected a value"),
        ("join %54 %55", "join %54", "expected a value"),
        ("open_masked %85 %61", "open_masked %85", "expected a value"),
        ("pick %65 %59", "pick %65", "expected a value"),
        ("[1] skip 21", "[1]", "expected `skip`"),
        ("carry [2] of %68", "carry [2] of", "expected a value"),
        ("select_planes %68 [0,2]", "select_planes %68 [0,-2]", "not a number"),
        ("table %57 %52", "table %57", "expected a value"),
        ("entry %77 %55", "entry %77", "expected a value"),
    ] {
        assert!(ALL_OPS.contains(from), "{from}");
        let line = 1 + ALL_OPS.lines().position(|l| l.contains(from)).unwrap();
        let e = parse(&ALL_OPS.replacen(from, to, 1)).expect_err(to);
        assert_eq!((e.line, e.what.contains(what)), (line, true), "{to}: {e}");
    }
}

/// Constants of all kinds: ranges and repetitions that meet, and the ends of the words.
#[test]
fn constants_survive_compaction() {
    let max = u128::MAX;
    for data in [
        vec![],
        vec![max],
        vec![max - 3, max - 2, max - 1, max],
        vec![max, 0, 1, 2],
        vec![1, 2, 2, 3, 4, 4, 4],
        vec![5, 6, 5, 6, 7, 8, 8],
        (0..1000).collect(),
    ] {
        let mut c = small();
        c.types[1] = Type::new(Hold::Public, Dom::Ring(128), [data.len() as u64]);
        c.consts = vec![Const { value: c.consts[0].value, data }];
        assert_eq!(parse(&print(&c)).unwrap(), c);
    }
}

proptest! {
    #[test]
    fn names_numbers_and_tables_survive(
        name: String, site: String, lo: f64, divisor: f64, int: (i64, i64),
        data in proptest::collection::vec(0u128..4, 0..40),
    ) {
        let mut c: Circuit = all_ops();
        c.name = name.clone();
        c.sizes.push((site.clone(), name));
        c.sites[1].name = site;
        c.inputs[0].encoding = Encoding::Fixed { frac: 3, lo, hi: -lo, shift: int.0 as u32, norm: divisor.abs() };
        c.inputs[1].encoding = Encoding::Int { lo: int.0, hi: int.1 };
        c.outputs[0].divisor = divisor;
        c.consts[0].data = data;
        prop_assert_eq!(parse(&print(&c)).unwrap(), c);
    }

    /// No text makes the parser panic, and what it accepts prints and reads back.
    #[test]
    fn damaged_text(at in 0usize..5000, len in 0usize..30, new in "\\PC{0,8}|[%@0-9x.\\[\\],:=\" \n]{0,8}") {
        let mut chars: Vec<char> = ALL_OPS.chars().collect();
        let at = at.min(chars.len());
        let end = (at + len).min(chars.len());
        chars.splice(at..end, new.chars());
        let text: String = chars.into_iter().collect();
        if let Ok(c) = parse(&text) {
            prop_assert_eq!(parse(&print(&c)).unwrap(), c.clone());
            let _ = crate::verify::verify(&c);
        }
    }
}
