//! Rounds and bits, as the documentation of each macro states them.

use super::{MACROS, ULP, encoded, inputs};
use slvr_circuit::traffic::Traffic;
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_tests::{Random, compile_with};

/// What the documentation of each macro states, of full secret operands: rounds, and bits in all per
/// element where every element has its own.
#[test]
fn rounds_and_bits() {
    const N: usize = 3840;
    let table = [
        ("exp(s)", "exp", 8, Some(2218)),
        ("recip(s)", "recip", 34, Some(8545)),
        ("sqrt(s)", "sqrt", 34, Some(8979)),
        ("log(s)", "log", 31, Some(8691)),
        ("tanh(s)", "tanh", 20, None),
        ("s / s", "abs", 47, Some(20489)),
        ("abs(s)", "abs", 8, Some(629)),
        ("max([s[i] for i in 10])", "max", 11, None),
        ("max([s[i] for i in 17])", "max", 17, None),
        ("[s[i] for i in 10] |> argmax", "argmax", 11, None),
        ("[s[i] for i in 10] |> sort", "sort", 11, None),
        ("[s[i] for i in 10] |> softmax |> max", "max, softmax", 46, None),
    ];
    for (expression, names, rounds, bits) in table {
        let text = format!(
            "use std::{{{names}}};\npredicate F[n]() {{\n    parties Client;\n    parties Server;\n    \
             input s: secret fix[n] in -2000000000..2000000000 from Client;\n    reveal {expression} to Server as y;\n}}\n"
        );
        let case = {
            // Ranks and counts are compared on as many bits as they have.
            let ring = if expression.contains('[') { None } else { MACROS.ring };
            compile_with(&text, &[("n", &N.to_string())], Options { ring, ..MACROS })
        };
        let traffic = Traffic::of(case.circuit());
        // The last round opens.
        assert_eq!(traffic.rounds, rounds + 1, "rounds of {expression}");
        let sent: u64 = (0..3).map(|i| traffic.bytes[i] - traffic.revealed[i]).sum();
        if let Some(bits) = bits {
            assert_eq!(sent * 8, bits * N as u64, "bits of {expression}");
        }
    }
}

/// Family T2 where rounds count: a sign takes two, and nothing else of a maximum, of exponentials or of a
/// reciprocal more than one.
#[test]
fn rounds_of_the_dealer_style_family() {
    const N: usize = 30;
    let net = slvr_compiler::cost::NetProfile::wan();
    let options = Options {
        enforce: false,
        target: Target::SemiHonest(Family::T2(net.tuning())),
        ..Options::default()
    };
    // The dealing, the signs, the winners, whose choice is opened; or differences with it, their signs with the
    // exponentials, the sum, the reciprocal.
    for (expression, names, rounds) in
        [("max(s[i])", "max", 4), ("max(softmax(s[i]))", "max, softmax", 9)]
    {
        let text = format!(
            "use std::{{{names}}};\npredicate F[k, n]() {{\n    parties Client;\n    parties Server;\n    \
             input s: secret fix[k, n] in -100000..100000 from Client;\n    \
             reveal [{expression} for i in k] to Server as y;\n}}\n"
        );
        let case = compile_with(&text, &[("k", &N.to_string()), ("n", "10")], options);
        let mut random = Random::new(3);
        let s: Vec<f64> = (0..10 * N).map(|_| random.between(-8.0, 8.0)).collect();
        let s = encoded(&s);
        let report = case.parties(&inputs(case.circuit(), &[("s", &s)]), 1);
        let traffic = Traffic::of(case.circuit());
        assert_eq!((report.rounds, report.bytes_sent), (traffic.rounds, traffic.bytes));
        assert_eq!(traffic.rounds, rounds + 1, "rounds of {expression}");
        for (row, &word) in s.chunks(10).zip(&report.outputs[0].words.to_u128s()) {
            let most = row.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = row.iter().map(|x| (x - most).exp()).sum();
            let (want, error) = if rounds == 4 { (most, 0.0) } else { (1.0 / sum, 18.0 * ULP) };
            let found = word as u64 as u32 as i32 as f64 * ULP;
            assert!((found - want).abs() <= error, "{found} is not {want}");
        }
    }
}
