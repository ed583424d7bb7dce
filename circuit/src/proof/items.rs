//! What the vectors of a proof are made from, in the order in which every party makes them, and how long each part is.

use super::carries::Carries;
use super::claim::{Claim, Cut, Inner, Statement};
use super::input::Own;
use super::{Barrier, Kind};
use crate::Circuit;

/// What a chunk of statements is made from.
#[derive(Clone, Copy)]
pub enum Item<'a> {
    /// The carries of a value, in steps of one bit.
    Carries(Cut, &'a Carries),
    /// In steps of two.
    Pairs(Cut, &'a Carries),
    /// What an instruction claims, but no product of matrices.
    Claim(&'a Statement),
    /// What it claims of a shard.
    Part(&'a Statement, usize),
    /// The products of a thermometer code.
    Steps(&'a Statement, &'a [u32]),
    /// The short inner products that a product of matrices is ([`Inner::Short`]).
    Dots { of: &'a Statement, count: usize, sums: usize },
    /// One of the long inner products that one is ([`Inner::Long`]).
    Dot { of: &'a Statement, place: usize, sums: usize },
}

/// What the chunks of a kind are made from, but for long inner products ([`dots`]) and products of matrices
/// ([`products`]).
pub fn items<'a>(circuit: &Circuit, barrier: &'a Barrier, kind: Kind) -> Vec<Item<'a>> {
    let carries = barrier.carries.iter().filter(|_| kind == Kind::Bits);
    let carries = carries.flat_map(|(x, of)| {
        let items = [Item::Carries(*x, of), Item::Pairs(*x, of)].into_iter().zip(of.counts());
        items.filter(|(_, steps)| *steps > 0).map(|(item, _)| item)
    });
    let mut out: Vec<Item<'a>> = carries.collect();
    for s in barrier.statements.iter().filter(|s| Kind::of(circuit, s) == kind) {
        match &s.claim {
            Claim::MatMul { .. } => {
                if let Some(Inner::Short { count, sums }) = s.claim.inner(circuit) {
                    out.push(Item::Dots { of: s, count, sums });
                }
            }
            Claim::Conv { .. } => {}
            claim if claim.is_split() => out.extend([0, 1, 2].map(|r| Item::Part(s, r))),
            Claim::Input(Own::Thermometer(_, blocks)) => {
                out.extend([Item::Claim(s), Item::Steps(s, blocks)]);
            }
            _ => out.push(Item::Claim(s)),
        }
    }
    out
}

/// The products of matrices among the statements, but for inner products: all that is of the kind [`Kind::Matrices`],
/// because those of words of 128 bits are refused.
pub fn products<'a>(
    circuit: &Circuit,
    barrier: &'a Barrier,
) -> impl Iterator<Item = &'a Statement> {
    barrier.statements.iter().filter(|s| s.claim.is_product(circuit))
}

/// The statements of a kind that are long inner products, each with how many it has, and the products of one. As they
/// are over words of at most 64 bits, only [`Kind::Words`] has some.
pub fn dots<'a>(
    circuit: &Circuit,
    barrier: &'a Barrier,
    kind: Kind,
) -> impl Iterator<Item = (&'a Statement, usize, usize)> {
    let of = move |s: &'a Statement| match s.claim.inner(circuit) {
        Some(Inner::Long { count, sums }) => Some((s, count, sums)),
        _ => None,
    };
    barrier.statements.iter().filter(move |s| Kind::of(circuit, s) == kind).filter_map(of)
}

impl Item<'_> {
    /// Terms and statements of its chunk, of this prover: words, or words of 64 bits.
    pub fn size(&self, circuit: &Circuit, prover: usize) -> (usize, usize) {
        let own = |x: Cut| x.lanes(circuit).len(prover);
        let stride = |n: usize| n.div_ceil(64);
        let columns = |s: &Statement, part: Option<usize>| {
            let columns = s.claim.terms().iter().map(|t| t.columns(prover, part).len());
            columns.sum::<usize>() * s.claim.pooled()
        };
        // Of the words of an input's bits those of which something is to be proven.
        let unfound =
            |s: &Statement, bits: u32| (bits as usize - s.found.len()) * stride(own(s.cut(s.out)));
        let words = |s: &Statement, n: usize| {
            let ty = circuit.ty(s.out);
            if ty.dom.is_bits() { ty.bits() as usize * stride(n) } else { n }
        };
        match self {
            Item::Carries(x, of) => (2, of.counts()[0] * stride(own(*x))),
            Item::Pairs(x, of) => (6, of.counts()[1] * stride(own(*x))),
            Item::Dots { count, sums, .. } => (2 * sums, *count),
            Item::Dot { sums, .. } => (2, *sums),
            // As many as `steps` makes of the code.
            Item::Steps(s, blocks) => {
                let steps = blocks.iter().map(|b| (1 << b) - 1 - *b as usize).sum::<usize>();
                (2, steps * stride(own(s.cut(s.out))))
            }
            Item::Claim(s) => match &s.claim {
                Claim::Input(Own::Thermometer(_, blocks)) => (0, unfound(s, blocks.iter().sum())),
                Claim::Input(Own::Bits(_)) => (0, unfound(s, circuit.ty(s.out).bits())),
                Claim::Input(input) => (input.terms(), words(s, own(s.cut(s.out)))),
                _ => (columns(s, None), words(s, circuit.ty(s.out).elements() as usize)),
            },
            Item::Part(s, r) => {
                let n = s.claim.count(prover, Some(*r), s.lanes(circuit).len(*r));
                (columns(s, Some(*r)), words(s, n))
            }
        }
    }
}
