//! Tables of small functions, whose owner says its position as a code: they compute the same, and no other code is accepted.

use super::tampering::no_other_is_accepted;
use super::{dealer, malicious};
use slvr_circuit::Circuit;
use slvr_circuit::proof::{Bits, Claim, Own, barriers};
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_runtime::party::session::encode;
use slvr_tests::long::part;
use slvr_tests::{Case, compile_with, random_inputs};

/// A sign as a word, such a sign times an earlier bit, and a test of few classes. A client in four parts of the shards.
const TABLES: &str = "use std::{argmax, sum};

predicate Tables[m]() {
    parties Client[m];
    parties Server;

    input x: secret int[70] in -3..3 from each Client;
    input z: secret int[70, 3] in 0..7 from each Client;
    input y: secret int[70] in 0..2 from each Client;

    let low = [[x[i][s] < 1 for s in 70] for i in Client];
    let hit = [[argmax(z[i][s]) == y[i][s] for s in 70] for i in Client];

    reveal sum(sum(low[i][s] for s in 70) for i in Client) to Server as count;
    reveal sum(sum(hit[i][s] for s in 70) for i in Client) to Server as hits;
    reveal sum(sum(hit[i][s] && x[i][s] < 0 for s in 70) for i in Client) to Server as both;
}
";

fn compiled(target: Target) -> Case {
    let how = Options { target, ..malicious() };
    compile_with(TABLES, &[("m", "2")], how)
}

/// Words that say a bit of a code, and products of such words with parts of others.
fn words(circuit: &Circuit) -> [usize; 2] {
    let statements = barriers(circuit).expect("proofs");
    let count = |of: &dyn Fn(&Claim) -> bool| {
        statements.iter().flat_map(|b| &b.statements).filter(|s| of(&s.claim)).count()
    };
    let code = |b: &Bits| matches!(b, Bits::Select(of, _) if matches!(**of, Bits::Part(_)));
    [
        count(&|c| matches!(c, Claim::Input(Own::Word(b)) if code(b))),
        count(&|c| matches!(c, Claim::Input(Own::Times { .. }))),
    ]
}

/// On a network where rounds are dear.
#[test]
fn a_code_of_a_position_reads_a_table() {
    let plain = compiled(Target::SemiHonest(Family::T1));
    let proven = compiled(dealer());
    let [bits, times] = words(proven.circuit());
    assert!(bits >= 14 && times >= 7, "{bits} words, {times} products");
    for seed in 0..3 {
        let inputs = random_inputs(proven.circuit(), seed, 1.0);
        let (found, right) = (proven.parties(&inputs, seed), plain.parties(&inputs, seed));
        assert_eq!(found.outputs, right.outputs, "seed {seed}");
    }
}

/// Codes with two steps, words that are no bits of their code, products with others, other entries.
#[test]
fn no_other_code_is_accepted() {
    let proven = compiled(dealer());
    let circuit = proven.circuit();
    let encoded = encode(circuit, &random_inputs(circuit, 5, 1.0)).expect("in range");
    no_other_is_accepted(circuit, &encoded, part(20, 40) as usize);
}
