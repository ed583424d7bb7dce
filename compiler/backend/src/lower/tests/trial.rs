//! For tests: a circuit of one input around a macro, in the clear and among three parties.

use crate::lower::Emit;
use slvr_circuit::traffic::Traffic;
use slvr_circuit::verify::{Openings, verify_with};
use slvr_circuit::{
    Check, Circuit, Dom, Encoding, From, Hold, Input, Layer, Op, Output, PartySet, Site, ValueId,
};
use slvr_ring::Data;
use slvr_runtime::clear;
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{Options, run_outcome};
use slvr_runtime::share::encode::Encoded;

/// What a circuit of one input gives.
pub struct Made {
    /// Of the check, if there is one.
    pub admitted: Vec<bool>,
    /// Revealed words, if there is an output.
    pub words: Vec<u128>,
    /// The same in the clear, with several splits.
    pub clear: Vec<Vec<u128>>,
    /// Rounds and bytes.
    pub traffic: Traffic,
}

/// What a macro makes of the input.
pub enum Answer {
    /// Public bits of the clients.
    Bits(ValueId),
    /// Words, replicated or additive among the three.
    Words(ValueId),
}

/// Runs a macro on words of the clients, first axis `m`, in the clear with several splits and among
/// three parties; all must agree if `exact`.
pub fn run(
    dom: Dom,
    shape: &[u64],
    words: &[u128],
    exact: bool,
    make: impl Fn(&mut Emit, ValueId) -> Answer,
) -> Made {
    let mut e = Emit::default();
    let x = e.input(true, dom, shape.to_vec());
    let made = make(&mut e, x);
    let (m, each) = (shape[0], shape[1..].iter().product::<u64>());
    let set = |name: &str, size| PartySet { name: name.into(), size };
    let encoding = match dom {
        Dom::Ring(_) => {
            Encoding::Fixed { frac: 0, lo: -1.0, hi: 1.0, shift: 0, norm: f64::INFINITY }
        }
        Dom::Bits(_) => Encoding::Int { lo: 0, hi: 2 },
    };
    let mut circuit = Circuit {
        name: "T".into(),
        sizes: vec![],
        parties: vec![set("Client", m), set("Server", 1)],
        inputs: vec![Input {
            name: "x".into(),
            from: From::Each(0),
            encoding,
            shape: shape[1..].to_vec(),
            fields: vec![],
            value: x,
        }],
        consts: vec![],
        types: vec![],
        sites: vec![Site { name: "t".into(), line: 0 }],
        layers: vec![],
        outputs: vec![],
        checks: vec![],
        security: Default::default(),
    };
    match made {
        Answer::Bits(value) => circuit.checks.push(Check { set: 0, value }),
        Answer::Words(y) => {
            let ty = e.ty(y).clone();
            circuit.outputs.push(Output {
                name: "y".into(),
                to: 1,
                shape: ty.shape.clone(),
                ring: ty.bits(),
                frac: 0,
                factor: 1.0,
                divisor: 1.0,
                fields: vec![],
            });
            let y = if ty.hold == Hold::Add3 { y } else { e.add(Op::AsAdd3(y)) };
            e.open_to(y, 0);
        }
    }
    // Each instruction as early as it can be, as the scheduler does.
    let mut ready = vec![0; e.types.len()];
    for i in &e.instrs {
        let at = i.op.operands().iter().map(|v| ready[v.index()]).max().unwrap_or(0);
        if let Some(out) = i.out {
            ready[out.index()] = at + usize::from(i.op.is_interactive());
        }
        circuit.layers.resize(circuit.layers.len().max(at + 1), Layer::default());
        let layer = &mut circuit.layers[at];
        let to = if i.op.is_interactive() { &mut layer.exchange } else { &mut layer.local };
        to.push(i.clone());
    }
    circuit.types = e.types;
    circuit.consts = e.consts;
    verify_with(&circuit, Openings::Any).expect("well formed");

    let data = Data::from_u128s(dom, words);
    let member = |i: u64| {
        let range = (i * each) as usize..((i + 1) * each) as usize;
        vec![(0, data.slice(range))]
    };
    let encoded = Encoded { sets: vec![(0..m).map(member).collect()], ..Encoded::default() };
    let options =
        Options { doors: Doors::new().any_openings(), seed: Some(5), ..Options::default() };
    let outcome = run_outcome(&circuit, encoded, &options).expect("set up");
    let report = outcome.report(&circuit).expect("three parties");
    let revealed = |outputs: &[slvr_runtime::share::reveal::Revealed]| {
        outputs.first().map_or(Vec::new(), |o| o.words.to_u128s())
    };
    let mut made = Made {
        admitted: report.admitted.first().map_or(Vec::new(), |(_, bits)| bits.clone()),
        words: revealed(&report.outputs),
        clear: vec![],
        traffic: Traffic::of(&circuit),
    };
    assert_eq!(report.bytes_sent, made.traffic.bytes);
    for seed in 0..4 {
        let options = clear::Options { seed, coins: &report.coins, ..Default::default() };
        let plain = clear::evaluate(&circuit, vec![data.clone()], &options).expect("clear");
        let bits = plain.admitted.first().map_or(Vec::new(), |(_, bits)| bits.clone());
        let words = revealed(&plain.outputs);
        if exact {
            assert_eq!((&bits, &words), (&made.admitted, &made.words), "three parties, clear");
        }
        made.clear.push(words);
    }
    made
}
