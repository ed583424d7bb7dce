//! Products of factors that are repeated along some axes, summed over some: whatever is repeated in one factor, in both or in
//! neither, the circuit sums as often as the program does.

use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_tests::{coarse_inputs, compile_with, distance};

/// Numbers for client i, row k and column j, and the axes along which they vary.
const FACTORS: [&str; 8] =
    ["total", "y[i]", "x[i, j]", "x[i, k]", "x[i, j] + y[i]", "common[j]", "w[j]", "w[k] + y[i]"];

/// Sums over some axes, where `F` and `G` stand for the factors.
const SUMS: [&str; 8] = [
    "[[dot([F for j in 3], [G for j in 3]) for k in 2] for i in Client]",
    "[[dot([F for k in 2], [G for k in 2]) for j in 3] for i in Client]",
    "[sum([[F for j in 3] for k in 2] * [[G for j in 3] for k in 2]) for i in Client]",
    "[nested([[F for j in 3] for k in 2], [[G for j in 3] for k in 2]) for i in Client]",
    "[lists([[F for j in 3] for k in 2], [[G for j in 3] for k in 2]) for i in Client]",
    "[[dot([F for i in Client], [G for i in Client]) for j in 3] for k in 2]",
    "sum([[[F for j in 3] for k in 2] for i in Client] * [[[G for j in 3] for k in 2] for i in Client])",
    "[[norm_sq([F for j in 3]) for k in 2] for i in Client]",
];

#[test]
fn sums_of_products_of_repeated_factors_agree() {
    for (f, g) in (0..FACTORS.len()).flat_map(|a| (a..FACTORS.len()).map(move |b| (a, b))) {
        let mut body = String::new();
        for (n, sum) in SUMS.iter().enumerate() {
            let sum = sum.replace('F', FACTORS[f]).replace('G', FACTORS[g]);
            body += &format!("    reveal {sum} to Server as r{n};\n");
        }
        let text = format!(
            "use std::{{dot, norm_sq, sum}};
fn nested[a, b](e: fix[a, b], f: fix[a, b]) -> fix {{
    sum(sum(e[k][j] * f[k][j] for j in b) for k in a)
}}
fn lists[a, b](e: fix[a, b], f: fix[a, b]) -> fix[a] {{
    [sum(e[k][j] * f[k][j] for j in b) for k in a]
}}
predicate R[m]() {{
    parties Client[m];
    parties Server;
    input x: secret fix[3] in -2..2 from each Client;
    input y: secret fix in -2..2 from each Client;
    input w: public fix[3] in -2..2;
    let total = sum(y[i] for i in Client);
    let common = [sum(x[i, j] for i in Client) for j in 3];
{body}}}
"
        );
        for target in [Options::default().target, Target::SemiHonest(Family::T1)] {
            let how = Options { enforce: false, target, ..Options::default() };
            let case = compile_with(&text, &[("m", "2")], how);
            let inputs = coarse_inputs(case.circuit(), 7);
            let want = case.floating(&inputs, &[]);
            let found = case.circuit_clear(&inputs, &[], 7);
            let off = distance(&want, &found);
            assert!(off < 5e-3, "off by {off}: {want:?} {found:?}\n{text}");
        }
    }
}
