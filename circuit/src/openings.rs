//! Everything that a circuit opens, to whom and in which layer, read from its instructions and not from what it
//! declares of itself.
//!
//! For circuits of strangers: what a party or a receiver learns is worth at most the bits that are listed
//! here (the verifier's `masks` shows why), whatever names the circuit gives them.

use crate::{Circuit, Lots, Op, Shape};
use std::collections::BTreeMap;

/// Who learns a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learns {
    Parties,
    /// The receiver of a party set, by its index.
    Receiver(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// An output, by its index.
    Output(u32),
    /// The bits of a check, by its index.
    Check(u32),
    /// Neither. The verifier refuses it.
    Other,
}

/// A value that somebody learns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// In which layer, from 0.
    pub layer: usize,
    /// Name of the instruction.
    pub op: &'static str,
    /// Index of the instruction's site.
    pub site: u32,
    pub to: Learns,
    pub what: Opened,
    pub shape: Shape,
    /// Bits of all its elements.
    pub bits: u64,
}

/// All openings of a circuit, in the order of its layers. Coins are none: they are drawn, not computed. The value that an
/// `open_masked` gives to two parties is none either, since it is uniform and tells them nothing.
pub fn openings(circuit: &Circuit) -> Vec<Opening> {
    let mut all = Vec::new();
    for (layer, l) in circuit.layers.iter().enumerate() {
        for instr in &l.exchange {
            let reveals = instr.op.interaction().is_some_and(|row| row.reveals());
            let Some(ty) = instr.op.operands().first().map(|v| circuit.ty(*v)).filter(|_| reveals)
            else {
                continue;
            };
            let (to, what) = match instr.op {
                Op::OpenTo { output, .. } => {
                    let to = circuit.outputs.get(output as usize).map_or(0, |o| o.to);
                    (Learns::Receiver(to), Opened::Output(output))
                }
                _ => {
                    let check =
                        (0..).zip(&circuit.checks).find(|(_, c)| Some(c.value) == instr.out);
                    (Learns::Parties, check.map_or(Opened::Other, |(i, _)| Opened::Check(i)))
                }
            };
            let bits = ty.elements().saturating_mul(u64::from(ty.bits()));
            let (op, site, shape) = (instr.op.name(), instr.site, ty.shape.clone());
            all.push(Opening { layer, op, site, to, what, shape, bits });
        }
    }
    all
}

/// Public coins: the three parties learn them, once all inputs are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coins {
    /// Index of the instruction's site.
    pub site: u32,
    /// What is drawn with them.
    pub lots: Option<Lots>,
    /// Whether random tests of declared ranges are made of them.
    pub tests: bool,
}

/// All coins of a circuit, in the order of its layers.
pub fn coins(circuit: &Circuit) -> Vec<Coins> {
    let mut all: Vec<Coins> = Vec::new();
    let mut by_value = BTreeMap::new();
    for instr in circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange)) {
        match instr.op {
            Op::Coin => {
                by_value.insert(instr.out, all.len());
                all.push(Coins { site: instr.site, lots: None, tests: false });
            }
            Op::Committee { coin, .. } | Op::Draw { coin, .. } | Op::Project { coin, .. } => {
                if let Some(&at) = by_value.get(&Some(coin)) {
                    all[at].lots = all[at].lots.or(Lots::of(&instr.op));
                    all[at].tests |= matches!(instr.op, Op::Project { .. });
                }
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::tests::{all_ops, small};
    use crate::{Instr, Layer, SplitPart, ValueId};

    #[test]
    fn every_opening_is_listed_with_who_learns_it() {
        let of = |c: &Circuit| -> Vec<_> {
            let one = |o: Opening| (o.layer, o.op, o.to, o.what, o.shape, o.bits);
            openings(c).into_iter().map(one).collect()
        };
        let to = Learns::Receiver(1);
        let sum = (1, "open_to", to, Opened::Output(0), vec![2, 2], 256);
        assert_eq!(of(&small()), [sum]);
        let all = [
            (0, "open", Learns::Parties, Opened::Check(1), vec![2], 2),
            (3, "open_to", to, Opened::Output(0), vec![2, 3, 4], 24 * 64),
            (3, "open_to", to, Opened::Output(1), vec![2], 16),
            (3, "open_sum", Learns::Parties, Opened::Check(2), vec![2], 2),
        ];
        assert_eq!(of(&all_ops()), all);
        let mut stranger = all_ops();
        stranger.checks.truncate(1);
        assert_eq!(of(&stranger)[0].3, Opened::Other);
    }
    #[test]
    fn every_coin_is_listed_with_what_is_made_of_it() {
        let mut circuit = small();
        let instr = |op, out: u32| Instr { op, site: out, out: Some(ValueId(out)) };
        let coin = |out: u32| instr(Op::Coin, out);
        let (n, k) = (5, 2);
        let project =
            Op::Project { x: ValueId(9), coin: ValueId(2), tests: 6, part: SplitPart::Whole };
        circuit.layers = vec![
            Layer { exchange: vec![coin(1), coin(2), coin(3)], ..Layer::default() },
            Layer {
                local: vec![instr(Op::Committee { coin: ValueId(1), n, k }, 4), instr(project, 5)],
                ..Layer::default()
            },
        ];
        let of = |site, lots, tests| Coins { site, lots, tests };
        let drawn = Some(Lots::committees(n, k));
        assert_eq!(coins(&circuit), [of(1, drawn, false), of(2, None, true), of(3, None, false)]);
    }
}
