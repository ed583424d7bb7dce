//! Which circuits have a proof for everything that their parties send.

use super::index::follows;
use super::*;
use crate::text::parse;
use crate::verify::tests::all_ops;
use crate::verify::{VerifyError, verify};
use crate::{Circuit, Security, ValueId};
use std::collections::BTreeSet;

/// The place of lifted statements.
const LIFTED: usize = 3;

/// A product, the bits and the high part of a split, a word of a bit and a product with it, an opened check and an
/// output.
const PROVEN: &str = r#"
circuit "Proven"
party "Client" 2
party "Server" 1
input %0 "x" from 0 fixed(0, -1.0, 1.0) [70] : A32[2,70]
output 0 "y" to 1 [2,70] ring 32 frac 0 factor 1.0 divisor 1.0
check 0 %20
site 0 "here" line 7
layer 0:
  %1 = mul %0 %0 : add3.A32[2,70] @0
  %2 = own %0 : own.A32[2,70] @0
  %3 = to_bits %2 lo 3 w 5 : own.B5[2,70] @0
  %4 = shr %2 8 : own.A32[2,70] @0
  exchange:
  %5 = reshare %1 : A32[2,70] @0
  %6 = input %3 : B5[2,70] @0
  %7 = input %4 : A32[2,70] @0
layer 1:
  %8 = planes %6 start 0 step 1 count 1 : B1[2,70] @0
  %9 = own %8 : own.B1[2,70] @0
  %10 = from_bits %9 32 : own.A32[2,70] @0
  %11 = own %5 : own.A32[2,70] @0
  %12 = mul %10 %11 : own.A32[2,70] @0
  exchange:
  %13 = input %10 : A32[2,70] @0
  %14 = input %12 : A32[2,70] @0
layer 2:
  %15 = slice %8 axis 1 start 0 len 1 step 1 : B1[2,1] @0
  %16 = reshape %15 [2] : B1[2] @0
  %17 = mul %16 %16 : add3.B1[2] @0
  exchange:
  %18 = reshare %17 : B1[2] @0
layer 3:
  %19 = as_add3 %14 : add3.A32[2,70] @0
  exchange:
  %20 = open %18 : pub.B1[2] @0
  %21 = reshare %19 : A32[2,70] @0
layer 4:
  %22 = as_add3 %21 : add3.A32[2,70] @0
  exchange:
  open_to %22 output 0 @0
"#;

/// As above, semi-honest.
pub(crate) fn small_proven() -> Circuit {
    parse(PROVEN).unwrap()
}

fn malicious(text: &str) -> Circuit {
    Circuit { security: Security::Malicious, ..parse(text).unwrap() }
}

#[test]
fn every_message_has_its_statement() {
    let c = malicious(PROVEN);
    verify(&c).unwrap();
    let all = barriers(&c).unwrap();
    let at: Vec<(u32, usize)> = all.iter().map(|b| (b.layer, b.statements.len())).collect();
    assert_eq!(at, [(3, 6), (4, 1)]);
    let carries: Vec<(u32, u32)> =
        all[0].carries.iter().map(|(cut, of)| (cut.x.0, of.last())).collect();
    // The high part needs all carries of 32 bits, the bits below bit 8 fewer.
    assert_eq!(carries, [(0, 32)]);
    assert_eq!(all[0].statements[0].instr, 4);
    assert!(all[1].carries.is_empty());
}

/// A `prove` is a barrier where nothing is opened: what was sent before it is proven there and not later.
#[test]
fn a_circuit_may_prove_more_often() {
    let text = PROVEN.replace("layer 2:\n", "layer 2:\n  prove @0\n");
    let c = malicious(&text);
    verify(&c).unwrap();
    assert_eq!(parse(&crate::text::print(&c)).unwrap(), c);
    let all = barriers(&c).unwrap();
    let at: Vec<(u32, usize)> = all.iter().map(|b| (b.layer, b.statements.len())).collect();
    assert_eq!(at, [(2, 5), (3, 1), (4, 1)]);
    let until = kept(&c, &proofs(&c).unwrap());
    assert_eq!(until[0], Some(2), "the operands of the first layer");
    let few = barriers(&malicious(PROVEN)).unwrap();
    let rounds = |c: &Circuit, all: &[Barrier]| -> usize {
        all.iter().map(|b| Lengths::of(c, b).rounds()).sum()
    };
    assert!(rounds(&c, &all) > rounds(&malicious(PROVEN), &few));
    assert_eq!(crate::artifact::read(&crate::artifact::write(&c)).unwrap(), c);
    let plain = verify(&parse(&text).unwrap()).unwrap_err();
    assert!(matches!(plain, VerifyError::NothingToProve { .. }), "{plain}");
}

#[test]
fn the_text_names_the_adversary() {
    let c = malicious(PROVEN);
    let text = crate::text::print(&c);
    assert!(text.contains("\nsecurity malicious\n"));
    assert_eq!(parse(&text).unwrap(), c);
    assert!(!crate::text::print(&small_proven()).contains("security"));
    assert!(parse(&text.replace("malicious", "covert")).is_err());
}

/// What has no proof is refused under this adversary, and only under it.
#[test]
fn what_has_no_proof_is_refused() {
    let changed = |from: &str, to: &str| {
        assert!(PROVEN.contains(from));
        let text = PROVEN.replace(from, to);
        verify(&parse(&text).unwrap()).unwrap();
        match verify(&malicious(&text)) {
            Err(VerifyError::Unproven(why)) => why.to_string(),
            other => panic!("{other:?}"),
        }
    };
    // Opened as the parties hold it, a component that one party made up would pass.
    let why = changed("%22 = as_add3 %21", "%22 = as_add3 %13");
    assert!(why.contains("layer 4: no proof says of `open_to`") && why.contains("line 7"), "{why}");
    // A sum that no replicated value is.
    let why = changed("%4 = shr %2 8", "%4 = add %2 %2");
    assert!(why.contains("layer 0: no proof says of `input`"), "{why}");
    // A factor that the owner inputs nowhere.
    let why = changed("%13 = input %10", "%13 = input %12");
    assert!(why.contains("not input by itself"), "{why}");
    // What is dealt to two parties its sender does not hold as they do.
    let why = changed(
        "%18 = reshare %17 : B1[2] @0",
        "%18 = reshare %17 : B1[2] @0\n  %23 = deal %3 : add2.B5[2,70] @0",
    );
    assert!(why.contains("layer 2: `deal` has no proof"), "{why}");
    let why = changed(
        "  %17 = mul %16 %16 : add3.B1[2] @0\n  exchange:\n  %18 = reshare %17 : B1[2] @0",
        "  %17 = as_add2 %16 : add2.B1[2] @0\n  %23 = not %17 : add2.B1[2] @0\n  exchange:\n  \
         %18 = reshare_two %23 : B1[2] @0",
    );
    assert!(why.contains("neither a product with what two parties know"), "{why}");
}

#[test]
fn lengths_count_the_longest_prover() {
    let c = malicious(PROVEN);
    let all = barriers(&c).unwrap();
    let lengths = Lengths::of(&c, &all[0]);
    // 140 elements: shards of 64, 64 and 12. Bits 3 to 7 are input: told are the carries into bit 2, bit 8, which a
    // high part takes, and every second one from there to bit 32.
    assert_eq!(lengths.carries, [14, 14, 14]);
    let words = lengths.folds[LIFTED].as_ref().unwrap();
    // 140 products of two terms, high parts and products of 64 with two, words of 64 with one: in eight blocks.
    assert_eq!((words.cut(), words.elements), (8, 2 * 18 + 2 * 8 + 2 * 8 + 8));
    // The step that lifts them, the first fold, and one of as many variables as leave a block for the random element.
    assert_eq!((words.steps(), words.blocks.as_slice()), (3, [128].as_slice()));
    assert_eq!([0, 1, 2, 3].map(|step| words.sent(step)), [111 * 3, 26, 2186, 0]);
    let bits = lengths.folds[1].as_ref().unwrap();
    // One word of products of bits and 6 steps of one carry make one chunk, 13 steps of two another one.
    assert_eq!((bits.cut(), bits.elements), (16, 64 * (2 + 6)));
    assert!(lengths.rounds() > 0 && Lengths::of(&c, &all[1]).folds[1].is_none());
}

/// Exactly the thermometer codes pass, of all words of as many bits, and their bits are those of the number.
#[test]
fn the_steps_of_a_code_admit_thermometers_only() {
    for b in 1..=4u32 {
        let (steps, bits) = (steps(&[b]), code_bits(&[b]));
        assert_eq!(steps.len(), (1 << b) - 1 - b as usize);
        let all = (1u32 << b) - 1;
        let mut passed = 0;
        for code in 0..1u32 << all {
            let sum = |planes: &Vec<u32>| planes.iter().fold(0, |s, j| s ^ code >> j & 1);
            if !steps.iter().all(|[top, next, high]| sum(high) == sum(top) & sum(next)) {
                continue;
            }
            passed += 1;
            let n = code.count_ones();
            assert_eq!(code, (1 << n) - 1, "{b} bits: the first n entries are set");
            let number = bits.iter().enumerate().fold(0, |s, (j, all)| s | sum(all) << j);
            assert_eq!(number, n);
        }
        assert_eq!(passed, 1 << b);
    }
    // Blocks stand one after another.
    assert_eq!(code_bits(&[1, 2]), [vec![0], vec![1, 2, 3], vec![2]]);
    assert_eq!(steps(&[1, 2]), [[vec![2], vec![1, 2, 3], vec![3]]]);
}

/// A circuit that opens outputs one after another.
fn with_outputs(n: usize) -> Circuit {
    let mut text = String::from(
        "circuit \"Many\"\nparty \"Client\" 1\nparty \"Server\" 1\n\
         input %0 \"x\" from 0 fixed(0, -1.0, 1.0) [4] : A32[1,4]\n",
    );
    for i in 0..n {
        text += &format!("output {i} \"y{i}\" to 1 [1,4] ring 32 frac 0 factor 1.0 divisor 1.0\n");
    }
    text += "site 0 \"here\" line 7\n";
    for i in 0..n {
        let (a, v) = (2 * i, 3 * i);
        text += &format!(
            "layer {a}:\n  %{} = as_add3 %0 : add3.A32[1,4] @0\n  exchange:\n  %{} = reshare %{} : A32[1,4] @0\n\
             layer {}:\n  %{} = as_add3 %{} : add3.A32[1,4] @0\n  exchange:\n  open_to %{} output {i} @0\n",
            v + 1,
            v + 2,
            v + 1,
            a + 1,
            v + 3,
            v + 2,
            v + 3,
        );
    }
    Circuit { security: Security::Malicious, ..parse(&text).unwrap_or_else(|e| panic!("{e}")) }
}

/// Each proof may fail, so a circuit may not have any number of them. The bound is that of the whole circuit, whoever
/// made it.
#[test]
fn a_circuit_whose_proofs_fail_too_often_is_refused() {
    let few = with_outputs(50);
    verify(&few).unwrap();
    let each = error(&few).unwrap() / 50.0;
    let least = (f64::from(MOST_ERROR_LOG2).exp2() / each) as usize;
    let (below, above) = (with_outputs(least), with_outputs(least + 1));
    assert!(error(&below).unwrap() <= f64::from(MOST_ERROR_LOG2).exp2());
    verify(&below).unwrap();
    match verify(&above) {
        Err(VerifyError::Unproven(why @ Unproven::Weak { barriers, log2 })) => {
            assert_eq!((barriers, log2), (least + 1, MOST_ERROR_LOG2 + 1));
            assert!(why.to_string().contains("more than 2^-40"), "{why}");
        }
        other => panic!("{other:?}"),
    }
    // Semi-honest parties prove nothing.
    verify(&Circuit { security: Security::SemiHonest, ..above }).unwrap();
}

/// What is proven or opened is kept until the last proof or voucher that reads it.
#[test]
fn values_are_kept_until_the_last_proof_about_them() {
    let c = malicious(PROVEN);
    let until = kept(&c, &proofs(&c).unwrap());
    let until: Vec<(u32, u32)> = (0..).zip(until).filter_map(|(v, n)| Some((v, n?))).collect();
    // The check's bits, %18, are opened after the first proof, the output's words, %21, after the second one.
    let mut want = [0, 5, 6, 7, 8, 13, 16].map(|v| (v, 3)).to_vec();
    want.extend([(14, 4), (18, 4), (21, u32::MAX)]);
    want.sort_unstable();
    assert_eq!(until, want);
}

/// Planes that are only multiplied are read where they were picked from.
#[test]
fn picked_planes_are_not_kept() {
    let changed = PROVEN
        .replace("%15 = slice %8 axis 1 start 0 len 1 step 1 : B1[2,1]", "%15 = slice %6 axis 1 start 0 len 1 step 1 : B5[2,1]")
        .replace("%16 = reshape %15 [2] : B1[2] @0", "%16 = reshape %15 [2] : B5[2] @0\n  %23 = select_planes %16 [4,1] : B2[2] @0\n  %24 = select_planes %23 [1] : B1[2] @0")
        .replace("mul %16 %16", "mul %24 %24");
    let c = malicious(&changed);
    verify(&c).unwrap();
    let until = kept(&c, &proofs(&c).unwrap());
    let has = |v: u32| until[v as usize].is_some();
    assert!(has(16) && !has(23) && !has(24));
    assert_eq!(picked(&c)[&ValueId(24)], (ValueId(16), vec![1]));
}

/// A statement is about what is there when it is proven, and never about the message that it vouches for.
#[test]
fn no_message_vouches_for_itself_or_is_vouched_for_by_a_later_one() {
    let why = |text: &str| match verify(&malicious(text)) {
        Err(VerifyError::Unproven(why)) => why.to_string(),
        other => panic!("{other:?}"),
    };
    // The factor is input after the barrier before the output, which is made of the product.
    let input_with = |what: &str| {
        PROVEN
            .replace("  %13 = input %10 : A32[2,70] @0\n", "")
            .replace(what, &format!("  %13 = input %10 : A32[2,70] @0\n{what}"))
    };
    let late = input_with("  open_to");
    verify(&parse(&late).unwrap()).unwrap();
    let message =
        "layer 4: the proof before it would have to be about what only a later layer makes";
    assert!(why(&late).starts_with(message), "{}", why(&late));
    // The check is not made of it: after its barrier, but before the next one, is in time.
    let in_time = malicious(&input_with("  %21 = reshare"));
    verify(&in_time).unwrap();
    let all = barriers(&in_time).unwrap();
    let at: Vec<(u32, usize)> = all.iter().map(|b| (b.layer, b.statements.len())).collect();
    assert_eq!(at, [(3, 4), (4, 3)]);
    // Unless the check is made of it, too.
    let read = input_with("  %21 = reshare")
        .replace(
            "%15 = slice %8 axis 1 start 0 len 1 step 1 : B1[2,1]",
            "%15 = slice %14 axis 1 start 0 len 1 step 1 : A32[2,1]",
        )
        .replace("%16 = reshape %15 [2] : B1[2]", "%16 = reshape %15 [2] : A32[2]")
        .replace(
            "  %17 = mul %16 %16 : add3.B1[2] @0\n",
            "  %17 = own %16 : own.A32[2] @0\n  %23 = to_bits %17 lo 0 w 1 : own.B1[2] @0\n",
        )
        .replace("%18 = reshare %17", "%18 = input %23");
    assert!(why(&read).contains("what only a later layer makes"), "{}", why(&read));
    // An owner's word of its own choice: the only replicated value with this part is the one that it inputs.
    let alone = PROVEN
        .replace("  %4 = shr %2 8 : own.A32[2,70] @0\n", "  %4 = shr %2 8 : own.A32[2,70] @0\n  %23 = mask 7 A32 [2,70] groups 0 : mask.A32[2,70] @0\n  %24 = own %23 : own.A32[2,70] @0\n")
        .replace("  %7 = input %4 : A32[2,70] @0\n", "  %7 = input %4 : A32[2,70] @0\n  %25 = input %24 : A32[2,70] @0\n");
    verify(&parse(&alone).unwrap()).unwrap();
    assert!(why(&alone).contains("a part of what is never joined"), "{}", why(&alone));
    // The same of its bits, and of what is shifted from it.
    let bits = alone
        .replace(
            "%24 = own %23 : own.A32[2,70] @0\n",
            "%24 = own %23 : own.A32[2,70] @0\n  %26 = to_bits %24 lo 0 w 3 : own.B3[2,70] @0\n",
        )
        .replace("%25 = input %24 : A32[2,70]", "%25 = input %26 : B3[2,70]");
    verify(&parse(&bits).unwrap()).unwrap();
    assert!(why(&bits).contains("bits of more than a part of a split"), "{}", why(&bits));
}

/// A circuit of these lines in one layer, and what it inputs or reshares of the last value.
fn of_lines(lines: &[String], exchange: &str) -> Circuit {
    malicious(&format!(
        "circuit \"Lines\"\nparty \"Client\" 1\nparty \"Server\" 1\n\
         input %0 \"x\" from 0 fixed(0, -1.0, 1.0) [2] : A32[1,2]\nsite 0 \"here\" line 7\n\
         layer 0:\n  {}\n  exchange:\n  {exchange}\n",
        lines.join("\n  ")
    ))
}

/// What a stranger adds to itself over and over is neither written out nor followed along every way, and long rows of
/// instructions do not fill the stack.
#[test]
fn what_doubles_or_goes_on_for_long_is_refused_or_proven_at_once() {
    let mut sums = vec!["%1 = mul %0 %0 : add3.A32[1,2] @0".to_string()];
    sums.extend((1..41).map(|i| format!("%{} = add %{i} %{i} : add3.A32[1,2] @0", i + 1)));
    let error = check(&of_lines(&sums, "%42 = reshare %41 : A32[1,2] @0")).unwrap_err();
    assert!(error.to_string().contains("too many summands"), "{error}");

    // Of an owner's value, beside the same of the replicated one.
    let mut twins = vec!["%1 = own %0 : own.A32[1,2] @0".to_string()];
    twins.push("%2 = add %0 %0 : A32[1,2] @0".into());
    twins.push("%3 = add %1 %1 : own.A32[1,2] @0".into());
    for i in 1..60 {
        let [rep, own] = [2 * i, 2 * i + 1];
        twins.push(format!("%{} = add %{rep} %{rep} : A32[1,2] @0", rep + 2));
        twins.push(format!("%{} = add %{own} %{own} : own.A32[1,2] @0", own + 2));
    }
    check(&of_lines(&twins, "%122 = input %121 : A32[1,2] @0")).unwrap();

    // What the owner computes of its operand alone is found once for each value, however long the row.
    let mut row = vec!["%1 = own %0 : own.A32[1,2] @0".to_string()];
    for i in 0..50_000 {
        let [rep, own] = [if i == 0 { 0 } else { 2 * i }, 2 * i + 1];
        row.push(format!("%{} = neg %{rep} : A32[1,2] @0", 2 * i + 2));
        row.push(format!("%{} = neg %{own} : own.A32[1,2] @0", 2 * i + 3));
    }
    check(&of_lines(&row, "%100002 = input %100001 : A32[1,2] @0")).unwrap();
}

/// Rows of instructions that statements follow are short: what a row is made of, at the limit and beyond it.
#[test]
fn rows_that_are_followed_are_short() {
    let of = |first: &str, op: &str, ty: &str, n: usize| {
        let line = |v: usize| {
            let op = op.replace("%_", &format!("%{}", v - 1));
            format!("%{v} = {op} : own.{ty} @0")
        };
        let mut row = vec!["%1 = own %0 : own.A32[1,2] @0".to_string(), first.to_string()];
        row.extend((3..n + 3).map(line));
        check(&of_lines(&row, &format!("%{} = input %{} : {ty} @0", n + 3, n + 2)))
    };
    let bits = "%2 = to_bits %1 lo 0 w 3 : own.B3[1,2] @0";
    let word = "%2 = shr %1 8 : own.A32[1,2] @0";
    let rows = [
        (bits, "not %_", "B3[1,2]"),
        (bits, "planes %_ start 0 step 1 count 3", "B3[1,2]"),
        (bits, "select_planes %_ [0,1,2]", "B3[1,2]"),
        (word, "narrow %_ 32", "A32[1,2]"),
        (word, "extend %_ 32", "A32[1,2]"),
        (word, "shr %_ 0", "A32[1,2]"),
        (word, "reshape %_ [1,2]", "A32[1,2]"),
    ];
    let all = all_ops();
    let instrs = all.layers.iter().flat_map(|l| &l.local);
    let followed = instrs.filter(|i| follows(&i.op).is_some()).map(|i| i.op.name());
    let named = rows.iter().filter_map(|(_, op, _)| op.split(' ').next());
    assert_eq!(followed.collect::<BTreeSet<_>>(), named.collect::<BTreeSet<_>>());
    let is_long = |e: &Unproven| e.to_string().contains("a long row");
    for (first, op, ty) in rows {
        // The shift counts, too.
        let most = 512 - usize::from(first == word);
        let found = of(first, op, ty, most);
        assert!(!found.as_ref().is_err_and(is_long), "{op}: {found:?}");
        // What is shifted again is followed for its bits alone, and what has another shape for a sum.
        let other = op.starts_with("shr") || op.starts_with("reshape");
        assert_eq!(found.is_ok(), !other, "{op}: {found:?}");
        for n in [most + 1, 100_000] {
            let error = of(first, op, ty, n).unwrap_err();
            assert!(is_long(&error), "{op}: {error}");
        }
    }
}

/// Of what has no proof there is no bound.
#[test]
fn an_unproven_circuit_has_no_error_and_no_memory() {
    let own = ["%1 = own %0 : own.A32[1,2] @0".to_string()];
    let proven = of_lines(&own, "%2 = input %1 : A32[1,2] @0");
    assert_eq!((error(&proven), memory(&proven, 3, 2)), (Ok(0.0), Ok(0)));
    let unproven = of_lines(&own, "%2 = reshare %1 : A32[1,2] @0");
    let refused = barriers(&unproven).unwrap_err();
    assert_eq!((error(&unproven), memory(&unproven, 3, 2)), (Err(refused.clone()), Err(refused)));
}

/// Picking planes of planes over and over: each statement has the whole row, so that few lines would take much memory.
#[test]
fn rows_of_selections_are_not_written_out_again_and_again() {
    let of = |depth: usize, planes: usize, inputs: usize| {
        let row = |i: usize| {
            let (b, v) = (format!("B{planes}"), i + 1);
            format!("%{v} = planes %{i} start 0 step 1 count {planes} : own.{b}[1,2] @0")
        };
        let mut lines = vec!["%1 = mul %0 %0 : add3.A32[1,2] @0".to_string()];
        lines.push("%2 = own %0 : own.A32[1,2] @0".into());
        lines.push(format!("%3 = to_bits %2 lo 0 w {planes} : own.B{planes}[1,2] @0"));
        lines.extend((3..depth + 3).map(row));
        let last = depth + 3;
        let input = |i: usize| format!("%{} = input %{last} : B{planes}[1,2] @0", last + i);
        let inputs: Vec<String> = (1..=inputs).map(input).collect();
        of_lines(&lines, &inputs.join("\n  "))
    };
    let few = of(100, 32, 100);
    check(&few).unwrap();
    assert_eq!(barriers(&few).unwrap().len(), 0, "nothing is opened");
    let error = check(&of(500, 32, 2000)).unwrap_err().to_string();
    assert!(error.contains("a selection of too many planes"), "{error}");
}

/// Thousands of messages whose statements wait, and thousands of proofs that they wait through: each statement goes to
/// its proof at once. What is opened in each of many layers is followed back once.
#[test]
fn waiting_statements_and_proofs_do_not_multiply() {
    let n = 20_000;
    let mut text = String::from(
        "circuit \"Waiting\"\nparty \"Client\" 1\nparty \"Server\" 1\n\
         input %0 \"x\" from 0 fixed(0, -1.0, 1.0) [1] : A32[1,1]\nsite 0 \"here\" line 7\nlayer 0:\n",
    );
    // Masks whose parts are input at once, and joined in the end.
    let ty = "A32[1,1]";
    for i in 0..n {
        let (mask, own) = (3 * i + 1, 3 * i + 2);
        text += &format!("  %{mask} = mask {i} A32 [1,1] groups 0 : mask.{ty} @0\n");
        text += &format!("  %{own} = own %{mask} : own.{ty} @0\n");
    }
    text += "  exchange:\n";
    for i in 0..n {
        text += &format!("  %{} = input %{} : {ty} @0\n", 3 * i + 3, 3 * i + 2);
    }
    for l in 1..n {
        text += &format!("layer {l}:\n  prove @0\n  exchange:\n");
    }
    text += &format!("layer {n}:\n  %{} = dup %0 : dup.{ty} @0\n", 3 * n + 1);
    for i in 0..n {
        let joined = 3 * n + 2 + i;
        text += &format!("  %{joined} = join %{} %{} : {ty} @0\n", 3 * i + 1, 3 * n + 1);
    }
    text += &format!("  exchange:\nlayer {}:\n  prove @0\n  exchange:\n", n + 1);
    let c = malicious(&text);
    let all = barriers(&c).unwrap();
    assert_eq!(all.len(), n);
    assert!(all[..n - 1].iter().all(|b| b.statements.is_empty()));
    let last = &all[n - 1];
    assert_eq!((last.layer as usize, last.statements.len()), (n + 1, n));
    assert!(last.statements.is_sorted_by_key(|s| s.instr));
}

/// What a barrier takes is counted from its statements: neither are long inner products listed one by one, nor the
/// codes of numbers written out, for each of thousands of statements.
#[test]
fn lengths_are_counted_and_not_listed() {
    let of = |members: u64, input: &str, lines: &str, made: &str, first: usize, count: usize| {
        let all = (0..count).map(|i| format!("  %{} = {made}\n", first + i));
        let text = format!(
            "circuit \"Counted\"\nparty \"Client\" {members}\nparty \"Server\" 1\n\
             input %0 \"x\" from 0 fixed(0, -1.0, 1.0) {input}\nsite 0 \"here\" line 7\n\
             layer 0:\n{lines}  exchange:\n{}layer 1:\n  prove @0\n  exchange:\n",
            all.collect::<String>()
        );
        let c = malicious(&text);
        let all = barriers(&c).unwrap();
        assert_eq!(all[0].statements.len(), count);
        Lengths::of(&c, &all[0])
    };
    let dots = |count| {
        let lines = "  %1 = matmul %0 %0 transposed : add3.A32[100000,1,1] @0\n";
        let input = "[1,131072] : A32[100000,1,131072]";
        of(100_000, input, lines, "reshare %1 : A32[100000,1,1] @0", 2, count).folds[LIFTED].clone()
    };
    let (one, many) = (dots(1).unwrap(), dots(20_000).unwrap());
    assert_eq!(many.cut(), one.cut());
    assert_eq!(one.elements, 200_000 * 131_072 / one.cut());
    assert_eq!(many.elements, 20_000 * one.elements);

    let codes = |count| {
        let blocks = ["8"; 16].join(",");
        let lines = format!(
            "  %1 = own %0 : own.A128[64,1] @0\n  %2 = to_bits %1 lo 0 w 128 : own.B128[64,1] @0\n  \
             %3 = thermometer %2 [{blocks}] : own.B4080[64,1] @0\n"
        );
        of(64, "[1] : A128[64,1]", &lines, "input %3 : B4080[64,1] @0", 4, count).folds[1].clone()
    };
    let (one, many) = (codes(1).unwrap(), codes(4000).unwrap());
    // Two terms of each step of a code, in words of 64 elements.
    let steps = steps(&[8; 16]).len();
    assert_eq!(steps, 16 * (255 - 8));
    let most = |statements: usize| 64 * 2 * statements * steps;
    assert!(one.elements * one.cut() >= most(1));
    assert!(many.elements * many.cut() >= most(4000));
    assert!(many.elements * many.cut() < 2 * most(4000));
}

/// A product in each of so many layers, or in a silent one a sum, made of the one before; the last one is an output. With
/// these proofs.
fn chain(layers: usize, silent: &[usize], asked: &[(usize, &str)]) -> Circuit {
    use std::fmt::Write;
    let mut text = "circuit \"Chain\"\nparty \"Client\" 2\nparty \"Server\" 1\n\
        input %0 \"x\" from 0 fixed(0, -1.0, 1.0) [70] : A32[2,70]\n\
        output 0 \"y\" to 1 [2,70] ring 32 frac 0 factor 1.0 divisor 1.0\nsite 0 \"here\" line 7\n"
        .to_string();
    let (mut x, mut z) = (0, 1);
    for l in 0..layers {
        let _ = writeln!(text, "layer {l}:");
        for (_, name) in asked.iter().filter(|(at, _)| *at == l) {
            let _ = writeln!(text, "  {name} @0");
        }
        if silent.contains(&l) {
            let _ = writeln!(text, "  %{z} = add %{x} %{x} : A32[2,70] @0");
            (x, z) = (z, z + 1);
            continue;
        }
        let _ = writeln!(text, "  %{z} = mul %{x} %{x} : add3.A32[2,70] @0\n  exchange:");
        let _ = writeln!(text, "  %{} = reshare %{z} : A32[2,70] @0", z + 1);
        (x, z) = (z + 1, z + 2);
    }
    let _ = writeln!(text, "layer {layers}:\n  %{z} = as_add3 %{x} : add3.A32[2,70] @0");
    let _ = writeln!(text, "  exchange:\n  open_to %{z} output 0 @0");
    malicious(&text)
}

/// When proofs take their rounds is what it is if one follows the parties round by round.
#[test]
fn proofs_beside_layers_take_a_round_of_each() {
    let mut seed = 1u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (seed >> 33) % below
    };
    let mut beside = 0;
    for _ in 0..60 {
        let layers = 2 + draw(40) as usize;
        let asked: Vec<(usize, &str)> = (1..layers)
            .filter_map(|l| match draw(8) {
                0 => Some((l, "prove")),
                1 | 2 => Some((l, "begin_proof")),
                _ => None,
            })
            .collect();
        // The first and the last one send: an output is reshared.
        let silent: Vec<usize> = (1..layers - 1).filter(|_| draw(4) == 0).collect();
        let c = chain(layers, &silent, &asked);
        verify(&c).unwrap();
        assert_eq!(crate::artifact::read(&crate::artifact::write(&c)).unwrap(), c);
        let all = proofs(&c).unwrap();
        let at: Vec<(usize, bool)> =
            all.iter().map(|p| (p.barrier.layer as usize, p.barrier.waits)).collect();
        let mut want: Vec<(usize, bool)> = asked.iter().map(|(l, n)| (*l, *n == "prove")).collect();
        want.push((layers, true));
        assert_eq!(at, want);
        beside += all.iter().filter(|p| !p.barrier.waits).count();

        // Of each proof that is under way its number, and the rounds that it has taken.
        let mut under_way: Vec<(usize, usize)> = Vec::new();
        let mut found = vec![(0, 0, 0); all.len()];
        let turn = |under_way: &mut Vec<(usize, usize)>,
                    found: &mut Vec<(usize, u32, u32)>,
                    gone: usize| {
            for (n, taken) in under_way.iter_mut() {
                *taken += 1;
                let lengths = &all[*n].lengths;
                if *taken == lengths.rounds_of_values() {
                    found[*n].2 = gone as u32;
                }
                if *taken == lengths.rounds() {
                    found[*n].1 = gone as u32;
                }
            }
            under_way.retain(|(n, taken)| *taken < all[*n].lengths.rounds());
        };
        for l in 0..=layers {
            if let Some(n) = at.iter().position(|(at, _)| *at == l) {
                (found[n].1, found[n].2) = (l as u32, l as u32);
                if !all[n].lengths.is_empty() {
                    under_way.push((n, 0));
                }
                while at[n].1 && !under_way.is_empty() {
                    turn(&mut under_way, &mut found, l);
                    found[n].0 += 1;
                }
            }
            if !silent.contains(&l) {
                turn(&mut under_way, &mut found, l + 1);
            }
        }
        let mut latest = 0;
        for (_, _, folded) in &mut found {
            latest = latest.max(*folded);
            *folded = latest;
        }
        let is: Vec<_> = all.iter().map(|p| (p.waits[0], p.ends, p.folded)).collect();
        assert_eq!(is, found, "{asked:?} among {layers} layers");
        let rounds: usize = is.iter().map(|(waits, ..)| waits).sum();
        let exchanges = layers + 1 - silent.len();
        assert_eq!(crate::traffic::Traffic::of(&c).rounds, exchanges + rounds);
    }
    assert!(beside > 100, "{beside}");
}
