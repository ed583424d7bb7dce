//! Reveals to each member of a set.

use slvr_compiler::report::leaks::{Level, leaks};
use slvr_runtime::share::encode::RawData;
use slvr_tests::agree::hold;
use slvr_tests::{compile, random_inputs};

const PERSONAL: &str = "
use std::{sum};

predicate Personal[m = 4, d = 3](part: fix = 0.25) {
    parties Client[m];
    parties Server;

    input update: secret fix[d] in -8..8 from each Client;

    let mean = sum(update[i] for i in Client) / m;
    let personal = [(1 - part) * mean + part * update[i] for i in Client];

    reveal personal[i] to Client[i] as mine;
    reveal mean to Server as mean;
}
";

#[test]
fn each_member_gets_its_own_entry() {
    let case = compile(PERSONAL, &[]);
    for seed in 0..4 {
        let inputs = random_inputs(case.circuit(), seed, 1.0);
        assert!(hold("personal", &case, &inputs, seed));
        let report = case.parties(&inputs, seed);
        let update: Vec<Vec<f64>> = (inputs.sets[0].iter())
            .map(|m| match &m["update"].data {
                RawData::F64(v) => v.clone(),
                _ => unreachable!("real numbers"),
            })
            .collect();
        let [mine, _] = &report.outputs[..] else { panic!("two reveals") };
        assert_eq!((mine.to, mine.shape.as_slice()), (0, &[4, 3][..]));
        for (i, own) in mine.values.chunks(3).enumerate() {
            for (j, found) in own.iter().enumerate() {
                let mean: f64 = update.iter().map(|u| u[j]).sum::<f64>() / 4.0;
                assert!((found - (0.75 * mean + 0.25 * update[i][j])).abs() < 1e-3);
            }
        }
    }
}

#[test]
fn a_set_of_one_member_is_one_receiver() {
    let case = compile(
        "predicate P[m = 2]() {
            parties Client[m];
            parties Server[1];
            input x: secret fix[3] in -8..8 from each Client;
            reveal [x[i][0] for i in Client] to Server[s] as x;
        }",
        &[],
    );
    assert_eq!(case.circuit().outputs[0].shape, [2]);
}

/// Names of what is warned of.
fn warned(stmts: &str) -> Vec<String> {
    let text = format!(
        "use std::{{sum}};
        predicate P[m = 4, d = 2]() {{
            parties Client[m];
            parties Server;
            input x: secret fix[d] in -8..8 from each Client;
            let total = sum(x[i] for i in Client);
            {stmts}
        }}"
    );
    let case = compile(&text, &[]);
    let report = leaks(&case.program, &case.compiled.graph, case.circuit());
    let of = report.warnings.iter().filter(|w| w.level == Level::Warning);
    of.map(|w| w.reveals.join(", ")).collect()
}

#[test]
fn what_a_member_learns_is_looked_at_with_its_own_input_known() {
    let none: [&str; 0] = [];
    assert_eq!(warned("reveal total to Client[i] as sum;"), none);
    // Its own input says nothing new.
    assert_eq!(warned("reveal x[i] to Client[i] as own;"), none);
    assert_eq!(warned("reveal total - x[i] to Client[i] as others;"), none);
    // Somebody else's.
    assert_eq!(
        warned(
            "let y = [x[i][0] for i in Client]; let z = [y[i] for i in Client if i != 0]; reveal z[0] to Client[i] as first;"
        ),
        ["first"]
    );
    // A sum of two, of which it gave one.
    assert_eq!(
        warned("reveal x[i] + sum(x[j] for j in Client if j == 0) to Client[i] as two;"),
        ["two"]
    );
}
