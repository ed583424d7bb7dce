//! Entries by public numbers that are known at run time: inputs, and what coins draw.

use slvr_circuit::Lots;
use slvr_compiler::pipeline::Options;
use slvr_runtime::protocol::committee::lots;
use slvr_runtime::share::encode::RawData;
use slvr_tests::agree::hold;
use slvr_tests::{attempt, compile, random_inputs};

/// Subsets, a permutation, members, batches, and positions that are an input.
const ALL: &str = "
use std::{gather, places, scatter, sum};

predicate Chosen[m = 4, d = 12, k = 5, rounds = 2]() {
    parties Client[m];
    parties Server;

    input update: secret fix[d] in -8..8 from each Client;
    input wanted: public int[3] in 0..d;

    sample coordinates[rounds, k] of d;
    sample order[d] of d;
    sample picks[2] of Client;
    sample batch[3] of d for each Client;

    let total = sum(update[i] for i in Client);
    let shuffled = gather(total, order);
    let back = places[d](order);
    let kept = [scatter[d](wanted, gather(update[i], wanted)) for i in Client];

    reveal [[total[coordinates[t, j]] for j in k] for t in rounds] to Server as subsets;
    reveal [shuffled[back[j]] - total[j] for j in d] to Server as zeros;
    reveal shuffled to Server as shuffled;
    reveal sum(update[i] for i in picks) to Server as picked;
    reveal sum(update[i][batch[i, j]] for i in Client for j in 3) to Server as batches;
    reveal sum(kept[i] for i in Client) to Server as sparse;
    reveal [total[wanted[j] / 1 * 0 + (d - 1) - wanted[j]] for j in 3] to Server as mirrored;
}
";

#[test]
fn entries_by_coins_and_inputs_are_those_that_are_named() {
    // Division of values has no interval: without it.
    let text = ALL.replace("wanted[j] / 1 * 0 + ", "");
    let case = compile(&text, &[]);
    for seed in 0..6 {
        let inputs = random_inputs(case.circuit(), seed, 1.0);
        assert!(hold("chosen", &case, &inputs, seed), "only zeros, seed {seed}");
        let report = case.parties(&inputs, seed);
        let found = |name: &str| {
            let of = report.outputs.iter().find(|o| o.name == name);
            of.unwrap_or_else(|| panic!("no {name}")).values.clone()
        };
        let update: Vec<Vec<f64>> = (inputs.sets[0].iter())
            .map(|m| match &m["update"].data {
                RawData::F64(v) => v.clone(),
                _ => unreachable!("real numbers"),
            })
            .collect();
        let RawData::I64(wanted) = &inputs.public["wanted"].data else { unreachable!("integers") };
        let total: Vec<f64> = (0..12).map(|j| update.iter().map(|u| u[j]).sum()).collect();
        let drawn = |coin: usize, rows, n, k| {
            let all = lots(report.coins[coin], &Lots { rows, n, k, others: false });
            all.into_iter().map(|x| x as usize).collect::<Vec<_>>()
        };
        let near = |name: &str, wanted: &[f64]| {
            let found = found(name);
            assert_eq!(found.len(), wanted.len(), "{name}");
            let off = found.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-3, "{name}, seed {seed}: {found:?}, not {wanted:?}");
        };
        let of = |places: &[usize]| places.iter().map(|&j| total[j]).collect::<Vec<f64>>();
        near("subsets", &of(&drawn(0, 2, 12, 5)));
        near("zeros", &[0.0; 12]);
        near("shuffled", &of(&drawn(1, 1, 12, 12)));
        let picks = drawn(2, 1, 4, 2);
        near(
            "picked",
            &(0..12).map(|j| picks.iter().map(|&i| update[i][j]).sum()).collect::<Vec<_>>(),
        );
        let batch = drawn(3, 4, 12, 3);
        near("batches", &[batch.iter().enumerate().map(|(at, &j)| update[at / 3][j]).sum()]);
        let mut sparse = vec![0.0; 12];
        wanted.iter().for_each(|&j| sparse[j as usize] = total[j as usize]);
        near("sparse", &sparse);
        near("mirrored", &wanted.iter().map(|&j| total[11 - j as usize]).collect::<Vec<_>>());
    }
}

#[test]
fn an_index_by_coins_costs_no_communication() {
    let with = |picked: &str| {
        let drawn = if picked == "order[t]" { "sample order[d] of d;" } else { "" };
        format!(
            "predicate P[m = 3, d = 64]() {{
                parties Client[m];
                parties Server;
                input x: secret fix[d] in -8..8 from each Client;
                {drawn}
                input j: public int[d] in 0..d;
                reveal [x[i][{picked}] for i in Client for t in d] to Server as x;
            }}"
        )
    };
    use slvr_circuit::traffic::Traffic;
    let plain = Traffic::of(compile(&with("t"), &[]).circuit());
    // The coins themselves.
    for (picked, coins) in [("order[t]", 16), ("j[t]", 0)] {
        let found = Traffic::of(compile(&with(picked), &[]).circuit());
        let bytes = plain.bytes.map(|b| b + coins);
        assert_eq!((found.rounds, found.bytes), (plain.rounds, bytes), "{picked}");
    }
}

/// Title of the first message of a text that is refused.
fn refused(stmts: &str) -> String {
    let text = format!(
        "use std::{{gather, places}};
        predicate P[m = 4, d = 6]() {{
            parties Client[m];
            parties Server;
            input x: secret fix[d] in -8..8 from each Client;
            input s: secret int in 0..d from each Client;
            input j: public int in 0..d;
            input far: public int;
            sample c[3] of d;
            {stmts}
            reveal j to Server as j;
        }}"
    );
    match attempt(&text, &[], Options::default()) {
        Ok(_) => panic!("not refused: {stmts}"),
        Err(why) => why.said[0].title.clone(),
    }
}

#[test]
fn what_no_entry_is_proven_for_is_refused() {
    let bounds = "an index is not seen to stay in bounds";
    assert_eq!(refused("let y = [x[i][far] for i in Client];"), bounds);
    assert_eq!(refused("let y = [x[i][j + 1] for i in Client];"), bounds);
    assert_eq!(refused("sample e[3] of d + 1; let y = [x[i][e[0]] for i in Client];"), bounds);
    assert_eq!(
        refused("let y = [x[i][s[i]] for i in Client];"),
        "an index must be known at compile time, or public"
    );
    assert_eq!(refused("let y = [x[i][c] for i in Client];"), "an index is a whole number");
    assert_eq!(refused("let y = [x[j] for i in 1];"), "`x` is indexed by Client");
    assert_eq!(refused("sample e[7] of d;"), "7 different ones cannot be drawn of 6");
    assert_eq!(
        refused("sample e[2] of x;"),
        "a sample is drawn from a party set, or from the numbers below a size"
    );
    assert_eq!(refused("sample e[] of d;"), "`e` does not say how many are drawn");
}

/// Samples of one shape, one of which nothing reads: each has coins of its own, in the order of the program.
#[test]
fn samples_of_one_shape_have_coins_of_their_own() {
    let text = "use std::{sum};

predicate Twice[d = 40, k = 6]() {
    parties Client[2];
    parties Server;

    input x: secret fix[d] in -8..8 from each Client;

    sample unread[k] of d;
    sample first[k] of d;
    sample second[k] of d;

    reveal [sum(x[i][first[j]] for i in Client) for j in k] to Server as a;
    reveal [sum(x[i][second[j]] for i in Client) for j in k] to Server as b;
}
";
    let case = compile(text, &[]);
    for seed in 0..3 {
        let inputs = random_inputs(case.circuit(), seed, 1.0);
        assert!(hold("samples", &case, &inputs, seed), "only zeros, seed {seed}");
        let report = case.parties(&inputs, seed);
        assert_eq!(report.coins.len(), 3, "seed {seed}");
        assert_ne!(report.outputs[0].values, report.outputs[1].values, "seed {seed}");
    }
}
