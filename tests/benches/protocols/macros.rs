//! The macros that are measured, in both families, as circuits without outputs. The tests of the book compute
//! their table of rounds and bits from them, too.

use slvr_circuit::{
    Circuit, Dom, Encoding, From, Input, Op, ValueId,
    verify::{Openings, verify_with},
};
use slvr_compiler::cost::{NetProfile, Tuning};
use slvr_compiler::graph::{Graph, Site};
use slvr_compiler::lower::common::masked::{self, Split};
use slvr_compiler::lower::t1::{comparison, selection, truncation};
use slvr_compiler::lower::t2::comparison::fastest;
use slvr_compiler::lower::{Draft, Emit, t2};
use slvr_compiler::schedule::schedule;

/// Fraction bits.
pub const FRACTION: u32 = 16;

#[derive(Clone, Copy)]
pub enum Family {
    /// T1.
    Symmetric,
    /// T2, chosen for a network.
    Dealer(Tuning),
}

/// What a macro leaves.
#[derive(Clone, Copy)]
pub enum Outcome {
    /// A replicated value.
    Rep(ValueId),
    /// What one party knows and what the other two know.
    Split(Split),
}

/// Values of the inputs: two numbers as signed words, and a bit.
#[derive(Clone, Copy)]
pub struct Given {
    pub x: i64,
    pub y: i64,
    pub c: bool,
}

pub struct Macro {
    /// As in docs/src/protocols.md and in `measured.md` beside this file.
    pub name: &'static str,
    /// Inputs are below 2^this.
    pub magnitude: u32,
    /// Bits of a comparison, of which each plan is measured.
    pub compared: Option<u32>,
    /// Emits it for x, y and c. `groups` as in a type.
    pub emit: fn(&mut Emit, [ValueId; 3], Family, u32) -> Outcome,
    /// Whether a result is right.
    pub right: fn(Given, u64) -> bool,
}

pub const MACROS: [Macro; 8] = [
    Macro {
        name: "product",
        magnitude: 62,
        compared: None,
        emit: |e, [x, y, _], family, groups| match family {
            Family::Symmetric => Outcome::Rep(e.multiply(x, y)),
            Family::Dealer(_) => Outcome::Split(multiplied(e, x, y, groups)),
        },
        right: |g, z| z == (g.x as u64).wrapping_mul(g.y as u64),
    },
    Macro {
        name: "truncation",
        magnitude: 61,
        compared: None,
        emit: |e, [x, _, _], family, groups| match family {
            Family::Symmetric => Outcome::Rep(truncation::exact(e, x, FRACTION)),
            Family::Dealer(_) => {
                let x = masked::split(e, x, groups);
                Outcome::Split(t2::truncation::truncate(e, &x, FRACTION, 64).whole)
            }
        },
        right: |g, z| is_truncated(g.x, z),
    },
    Macro {
        name: "product, truncation",
        magnitude: 30,
        compared: None,
        emit: |e, [x, y, _], family, groups| match family {
            Family::Symmetric => {
                let z = e.multiply(x, y);
                Outcome::Rep(truncation::exact(e, z, FRACTION))
            }
            Family::Dealer(_) => {
                let z = multiplied(e, x, y, groups);
                Outcome::Split(t2::truncation::truncate(e, &z, FRACTION, 64).whole)
            }
        },
        right: |g, z| is_truncated(g.x * g.y, z),
    },
    Macro {
        name: "comparison, 64 bits",
        magnitude: 62,
        compared: Some(64),
        emit: compared::<64>,
        right: |g, z| z == u64::from(g.x < g.y),
    },
    Macro {
        name: "comparison, 25 bits",
        magnitude: 23,
        compared: Some(25),
        emit: compared::<25>,
        right: |g, z| z == u64::from(g.x < g.y),
    },
    Macro {
        name: "product, truncation, ReLU on 25 bits",
        magnitude: 12,
        compared: Some(25),
        emit: |e, [x, y, _], family, groups| match family {
            Family::Symmetric => {
                let z = e.multiply(x, y);
                let negative = comparison::negative(e, z, 25);
                let keep = e.add(Op::Not(negative));
                let z = truncation::exact(e, z, FRACTION);
                Outcome::Rep(selection::inject(e, keep, z))
            }
            Family::Dealer(tuning) => {
                let z = multiplied(e, x, y, groups);
                let negative = t2::comparison::negative(e, &z, 25, tuning);
                let keep = masked::not(e, negative);
                let keep = masked::settle(e, keep);
                let z = t2::truncation::truncate(e, &z, FRACTION, 64).whole;
                let kept = t2::selection::inject(e, &keep, &z);
                Outcome::Split(masked::settle(e, kept))
            }
        },
        right: |g, z| if g.x * g.y < 0 { z == 0 } else { is_truncated(g.x * g.y, z) },
    },
    Macro {
        name: "bit to word",
        magnitude: 62,
        compared: None,
        emit: |e, [_, _, c], family, groups| match family {
            Family::Symmetric => Outcome::Rep(selection::to_word(e, c, 64)),
            Family::Dealer(_) => {
                let c = masked::split(e, c, groups);
                let word = t2::selection::to_word(e, &c, 64);
                Outcome::Split(masked::settle(e, word))
            }
        },
        right: |g, z| z == u64::from(g.c),
    },
    Macro {
        name: "bit injection",
        magnitude: 62,
        compared: None,
        emit: |e, [x, _, c], family, groups| match family {
            Family::Symmetric => Outcome::Rep(selection::inject(e, c, x)),
            Family::Dealer(_) => {
                let (c, x) = (masked::split(e, c, groups), masked::split(e, x, groups));
                let chosen = t2::selection::inject(e, &c, &x);
                Outcome::Split(masked::settle(e, chosen))
            }
        },
        right: |g, z| z == if g.c { g.x as u64 } else { 0 },
    },
];

/// Whether x < y, of a difference of W bits.
fn compared<const W: u32>(
    e: &mut Emit,
    [x, y, _]: [ValueId; 3],
    family: Family,
    groups: u32,
) -> Outcome {
    let d = e.add(Op::Sub(x, y));
    match family {
        Family::Symmetric => Outcome::Rep(comparison::negative(e, d, W)),
        Family::Dealer(tuning) => {
            let d = masked::split(e, d, groups);
            let negative = t2::comparison::negative(e, &d, W, tuning);
            Outcome::Split(masked::settle(e, negative))
        }
    }
}

/// A product, settled.
fn multiplied(e: &mut Emit, x: ValueId, y: ValueId, groups: u32) -> Split {
    let (x, y) = (masked::split(e, x, groups), masked::split(e, y, groups));
    let z = t2::product::product(e, &x, &y, Op::Mul);
    masked::settle(e, z)
}

/// One of the two integers next to x / 2^f.
fn is_truncated(x: i64, z: u64) -> bool {
    let floor = x >> FRACTION;
    let ceil = floor + i64::from(x & ((1 << FRACTION) - 1) != 0);
    [floor, ceil].contains(&(z as i64))
}

/// A circuit of one macro over n elements, with inputs x, y, c.
pub fn circuit(of: &Macro, n: u64, family: Family, groups: u32) -> (Circuit, Outcome) {
    let mut e = Emit::default();
    let doms = [Dom::Ring(64), Dom::Ring(64), Dom::Bits(1)];
    let values = doms.map(|dom| e.input(true, dom, vec![1, n]));
    let result = (of.emit)(&mut e, values, family, groups);
    let input = |(name, value): (&str, ValueId)| {
        let no_limit =
            Encoding::Fixed { frac: 0, lo: -1.0, hi: 1.0, shift: 0, norm: f64::INFINITY };
        let encoding = if name == "c" { Encoding::Int { lo: 0, hi: 2 } } else { no_limit };
        let (name, shape, fields) = (name.into(), vec![n], vec![]);
        Input { name, from: From::Each(0), encoding, shape, fields, value }
    };
    let inputs = ["x", "y", "c"].into_iter().zip(values).map(input).collect();
    let blocks = vec![0; e.instrs.len()];
    let draft = Draft { emit: e, blocks, inputs, outputs: vec![], checks: vec![] };
    let site = Site { name: of.name.into(), line: 0, ..Site::default() };
    // Its nodes are private, so it is not made by an expression.
    let mut graph = Graph::default();
    graph.name = "Macro".into();
    graph.sites = vec![site];
    graph.parties = vec![("Client".into(), 1)];
    let circuit = schedule(&graph, draft);
    verify_with(&circuit, Openings::Any).expect("well formed");
    (circuit, result)
}

/// The families of a macro: T1, and T2 for the networks on which its plans differ.
pub fn families(of: &Macro) -> Vec<(String, Family)> {
    let mut all = vec![("T1".to_string(), Family::Symmetric)];
    let Some(width) = of.compared else {
        all.push(("T2".into(), Family::Dealer(NetProfile::lan().tuning())));
        return all;
    };
    // From the most expensive messages to the cheapest: all plans there are.
    let mut nodes = Vec::new();
    for exponent in -8..=0 {
        let tuning = Tuning { latency: 10f64.powi(exponent), bandwidth: 1e8 };
        let node = fastest(width - 1, 1_000_000, tuning);
        if nodes.contains(&node) || node.levels() < 2 {
            continue;
        }
        all.push((format!("T2, {} levels", node.levels()), Family::Dealer(tuning)));
        nodes.push(node);
    }
    all
}

/// Rounds; layers in which only dealers send in brackets.
pub fn rounds(circuit: &Circuit) -> String {
    let ahead = |op: &Op| matches!(op, Op::Deal(_) | Op::DealMask(_));
    let layers = circuit.layers.iter().filter(|l| !l.exchange.is_empty());
    let early = layers.filter(|l| l.exchange.iter().all(|i| ahead(&i.op))).count();
    match early {
        0 => circuit.rounds().to_string(),
        _ => format!("{} ({early} ahead)", circuit.rounds()),
    }
}
