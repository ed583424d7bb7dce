//! Exact truncation under random masks: the result is always one of the two integers next to the
//! quotient. `cargo bench -p slvr-tests --bench truncation` makes 10^9 trials; a number after `--` is
//! another number of millions. Panics at the first result that is not.

use slvr_circuit::{Circuit, Dom, Encoding, From, Input, Layer, PartySet, Site, ValueId};
use slvr_compiler::lower::Emit;
use slvr_compiler::lower::t1::truncation;
use slvr_ring::Data;
use slvr_runtime::clear;
use slvr_tests::Random;

const BATCH: usize = 1_000_000;
const FRACTION: u32 = 16;

fn circuit() -> (Circuit, ValueId) {
    let mut e = Emit::default();
    let x = e.input(true, Dom::Ring(64), vec![1, BATCH as u64]);
    let y = truncation::exact(&mut e, x, FRACTION);
    let layers = e.instrs.iter().map(|i| {
        let mut layer = Layer::default();
        let to = if i.op.is_interactive() { &mut layer.exchange } else { &mut layer.local };
        to.push(i.clone());
        layer
    });
    let no_limit = Encoding::Fixed { frac: 0, lo: -1.0, hi: 1.0, shift: 0, norm: f64::INFINITY };
    let circuit = Circuit {
        name: "Truncation".into(),
        sizes: vec![],
        parties: vec![PartySet { name: "Client".into(), size: 1 }],
        inputs: vec![Input {
            name: "x".into(),
            from: From::Each(0),
            encoding: no_limit,
            shape: vec![BATCH as u64],
            fields: vec![],
            value: x,
        }],
        consts: e.consts.clone(),
        types: e.types.clone(),
        sites: vec![Site { name: "t".into(), line: 0 }],
        layers: layers.collect(),
        outputs: vec![],
        checks: vec![],
        security: Default::default(),
    };
    (circuit, y)
}

fn main() {
    let millions = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(1000u64);
    let (circuit, y) = circuit();
    let mut counts = [0u64; 3];
    for seed in 0..millions {
        let mut random = Random::new(seed);
        // All sizes up to the limit of 2^62 - 2^f, both signs.
        let xs: Vec<i64> = (0..BATCH)
            .map(|_| {
                let size = random.between(0.0, 62.0).exp2().min(4.6e18) as i64;
                if random.unit() < 0.5 { size } else { -size }
            })
            .collect();
        let words: Vec<u128> = xs.iter().map(|&x| u128::from(x as u64)).collect();
        let options = clear::Options { seed, trace: true, ..clear::Options::default() };
        let data = Data::from_u128s(Dom::Ring(64), &words);
        let done = clear::evaluate(&circuit, vec![data], &options).expect("well formed");
        let words = done.trace[y.index()].as_ref().expect("defined").to_u128s();
        for (&x, w) in xs.iter().zip(words) {
            let (got, floor) = (w as u64 as i64, x >> FRACTION);
            let ceil = floor + i64::from(x & ((1 << FRACTION) - 1) != 0);
            assert!(got == floor || got == ceil, "seed {seed}: {x} gave {got}");
            // In units of the last place, against the quotient rounded to the nearest.
            let nearest = (x + (1 << (FRACTION - 1))) >> FRACTION;
            counts[(got - nearest + 1) as usize] += 1;
        }
    }
    let [below, same, above] = counts;
    println!(
        "{} trials: {below} one unit below the nearest, {same} the nearest, {above} one unit above, none \
         further",
        millions * BATCH as u64
    );
}
