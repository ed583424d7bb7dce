//! Statements: what a message says about the words that its neighbours hold.

use super::input::Own;
use crate::{Circuit, Conv, Lanes, Shape, ValueId};
use std::ops::Range;

/// Inner products, or products of each, from which on their words are folded.
const MANY_PRODUCTS: usize = 16;

/// The statement of one interactive instruction. P is the party that sends, V1 the party before it, V2 the
/// party after it: V1 knows P's first component of every replicated value, V2 its second one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Number of the instruction in the circuit, local and interactive ones counted.
    pub instr: u64,
    pub layer: u32,
    /// The replicated value that it defines.
    pub out: ValueId,
    /// Where the shards that it is about are cut, as [`crate::Type::groups`].
    pub groups: u32,
    /// What is claimed.
    pub claim: Claim,
    /// Of bits that are input, the places of those from which carries are found ([`super::Carries`]), ascending: unless
    /// they are words, nothing is left to prove of them.
    pub found: Vec<u32>,
}

/// A replicated value with the shards in which owners know a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    pub x: ValueId,
    /// Where its shards are cut, as [`crate::Type::groups`].
    pub groups: u32,
}

impl Cut {
    /// Where its shards lie.
    pub fn lanes(self, circuit: &Circuit) -> Lanes {
        Lanes { n: circuit.ty(self.x).elements() as usize, groups: self.groups }
    }
}

impl Statement {
    /// A value with the shards that it is about.
    pub fn cut(&self, x: ValueId) -> Cut {
        Cut { x, groups: self.groups }
    }

    /// Where these lie in its result.
    pub fn lanes(&self, circuit: &Circuit) -> Lanes {
        self.cut(self.out).lanes(circuit)
    }
}

/// What is claimed of a message. Over bits read xor for + and -. x1 is the component of x that V1 and P know,
/// x2 the one that V2 and P know; F1 is the stream of V1 and P, F2 that of V2 and P.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A `reshare` of a sum of products x y of each element and of replicated values z:
    /// sum (x1 y2 + y1 x2) = (w + F1 - sum x1 y1 - sum z1) - F2, with w the word that was sent, out1.
    Products {
        terms: Vec<Term>,
        /// The values z.
        plus: Vec<ValueId>,
    },
    /// A `reshare_two` or an `open_masked` of a sum of products x y, where y is what two parties know. In shard r the
    /// parties r + 1 and r + 2 send; P is one of them, and the party r, which knows one component of x and the word F
    /// that masks what P sends, is V1 of the one and V2 of the other: sum x y = F + m, with m the word that the other
    /// verifier received. It finds m from what it holds: the sum of its components of the result, less what it sent
    /// itself.
    Exchange {
        terms: Vec<Term>,
        /// Values that are added, and whether only what the party r knows of each is.
        plus: Vec<(ValueId, bool)>,
        /// Whether the products are added up before they are exchanged.
        pooled: Option<Pooled>,
    },
    /// A `reshare` of a product of matrices, or what stands in its place ([`Parted`]).
    MatMul {
        /// Left factor.
        a: ValueId,
        /// Right factor.
        b: ValueId,
        /// Whether b is given with its last two axes exchanged.
        trans_b: bool,
        /// If it is not reshared.
        parted: Option<Parted>,
    },
    /// A `reshare` of a convolution of one group, or what stands in its place ([`Parted`]).
    Conv {
        /// Images.
        x: ValueId,
        /// Kernels.
        w: ValueId,
        /// Its attributes.
        conv: Conv,
        /// If it is not reshared.
        parted: Option<Parted>,
    },
    /// An `input` by the owner of shard r, P: out1 + out2 is what it was to input.
    Input(Own),
}

/// Products of which several are added up to one word: viewed in a shape, they are added up over some of its axes. What
/// is added up lies in one group ([`Statement::groups`]), so that shards of products become shards of sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pooled {
    pub shape: Shape,
    /// Its axes, ascending.
    pub axes: Vec<u64>,
}

impl Pooled {
    /// Products in each sum.
    pub fn each(&self) -> usize {
        self.axes.iter().filter_map(|&a| self.shape.get(a as usize)).product::<u64>() as usize
    }
}

/// Of a sum of three words z_0 + z_1 + z_2 of each element, of which P_i computes z_i: in shard r the party r inputs
/// z_r, u, and the other two open their words to each other under a mask ([`crate::Op::OpenMasked`]). The mask and what
/// they open joined are the result of the statement, out. So P_i sends in all shards, and what it says of all elements
/// is one statement, x1 y2 + y1 x2 = (t1 - x1 y1) + t2:
///
/// | shard | P is | t1 | t2 |
/// |---|---|---|---|
/// | i | r | u1 | u2 |
/// | i - 1 | r + 1 | out1, which masks its word at V1 | its word less that, which V2 received |
/// | i + 1 | r + 2 | its word less the mask, which V1 received | out2, which masks its word at V2 |
///
/// Who received a word finds it from what it holds: both components of out there, less its own word of z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parted {
    /// Of the sum the words of the two that open them, additive between these.
    pub others: ValueId,
    /// u, the replicated value that owners input.
    pub input: ValueId,
}

/// How a batch of inner products is proven. The vectors of other products of matrices are elements from the start; of
/// these words are folded, as of element-wise products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// Fewer than each has products: one after another, each with one coefficient.
    Long {
        count: usize,
        /// Products of each.
        sums: usize,
    },
    /// Many: as so many statements with as many terms as each has products.
    Short {
        count: usize,
        /// Products of each.
        sums: usize,
    },
}

impl Inner {
    /// Of factors of these shapes, if their product is one.
    pub fn of(a: &[u64], b: &[u64], trans_b: bool) -> Option<Inner> {
        let (&[left, rows, sums], &[right, x, y]) = (a, b) else { return None };
        let columns = if trans_b { x } else { y };
        let (count, sums) = (if left == 1 { right } else { left } as usize, sums as usize);
        match rows == 1 && columns == 1 && count.max(sums) >= MANY_PRODUCTS {
            true if sums > count => Some(Inner::Long { count, sums }),
            true => Some(Inner::Short { count, sums }),
            false => None,
        }
    }
}

/// A product x y of two replicated values, or of one and of what two parties know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// One factor.
    pub x: ValueId,
    /// The other one.
    pub y: ValueId,
    /// Whether y is what two parties know: in shard r only its component r + 2 is not 0, or counts. It has the shape
    /// of the product. Of an exchange it may also be held as such ([`crate::Hold::Dup`]), in the same shards: that
    /// component.
    pub dup: bool,
    /// Whether of x only what the party r knows counts, its components r and r + 1.
    pub mask: bool,
}

impl Term {
    /// Whether x1 y1 may be other than 0 in a shard.
    pub fn is_local(&self, prover: usize, shard: Option<usize>) -> bool {
        !self.dup || shard.is_none_or(|r| r == (prover + 1) % 3)
    }

    /// Of x1 y2 + y1 x2 what may be other than 0 in a shard: V1's factors and V2's.
    pub fn columns(&self, prover: usize, shard: Option<usize>) -> Vec<(ValueId, ValueId)> {
        let &Term { x, y, dup, .. } = self;
        match shard {
            // y is in P's first component in the shard of the party after P, and in its second one in that of
            // the party before.
            Some(r) if dup && r == prover => vec![],
            Some(r) if dup && r == (prover + 1) % 3 => vec![(y, x)],
            Some(_) if dup => vec![(x, y)],
            _ => vec![(x, y), (y, x)],
        }
    }
}

impl Claim {
    /// The products of each element of which it is a sum, but for products of matrices and what is input.
    pub fn terms(&self) -> &[Term] {
        match self {
            Claim::Products { terms, .. } | Claim::Exchange { terms, .. } => terms,
            Claim::MatMul { .. } | Claim::Conv { .. } | Claim::Input(_) => &[],
        }
    }

    /// Whether its statements are told apart by shards, because fewer products are left in each.
    pub fn is_split(&self) -> bool {
        match self {
            Claim::Products { terms, .. } => terms.iter().any(|t| t.dup),
            Claim::Exchange { .. } => true,
            Claim::MatMul { .. } | Claim::Conv { .. } | Claim::Input(_) => false,
        }
    }

    /// Of a product of matrices that is a batch of inner products: how they are proven.
    pub fn inner(&self, circuit: &Circuit) -> Option<Inner> {
        let Claim::MatMul { a, b, trans_b, .. } = self else { return None };
        Inner::of(&circuit.ty(*a).shape, &circuit.ty(*b).shape, *trans_b)
    }

    /// Whether it is a product of matrices that is proven as one.
    pub(super) fn is_product(&self, circuit: &Circuit) -> bool {
        matches!(self, Claim::MatMul { .. } | Claim::Conv { .. }) && self.inner(circuit).is_none()
    }

    /// Whether its products are added up before they are exchanged.
    pub fn is_pooled(&self) -> bool {
        matches!(self, Claim::Exchange { pooled: Some(_), .. })
    }

    /// How many of its products are added up to one word.
    pub fn pooled(&self) -> usize {
        match self {
            Claim::Exchange { pooled: Some(pooled), .. } => pooled.each(),
            _ => 1,
        }
    }

    /// How many statements it makes of so many elements, in a shard or over all. The party that deals sends nothing
    /// in an exchange.
    pub fn count(&self, prover: usize, shard: Option<usize>, n: usize) -> usize {
        match self {
            Claim::Exchange { .. } if shard == Some(prover) => 0,
            _ => n,
        }
    }

    /// The values that the statement is about, besides the result of its instruction: replicated ones, and factors that
    /// two parties know.
    pub fn values(&self, each: &mut dyn FnMut(ValueId)) {
        self.terms().iter().for_each(|t| {
            each(t.x);
            each(t.y);
        });
        match self {
            Claim::Products { plus, .. } => plus.iter().for_each(|&z| each(z)),
            Claim::Exchange { plus, .. } => plus.iter().for_each(|&(z, _)| each(z)),
            Claim::MatMul { a, b, parted, .. } | Claim::Conv { x: a, w: b, parted, .. } => {
                each(*a);
                each(*b);
                parted.iter().for_each(|p| each(p.input));
            }
            Claim::Input(Own::Bits(b) | Own::Word(b) | Own::Thermometer(b, _)) => b.values(each),
            Claim::Input(Own::And(a, b)) => {
                a.values(each);
                b.values(each);
            }
            Claim::Input(Own::High { x, .. }) => each(*x),
            Claim::Input(Own::Times { u, x }) => {
                each(*u);
                each(*x);
            }
        }
    }

    /// Of a product of matrices that is not reshared.
    pub fn parted(&self) -> Option<Parted> {
        match self {
            Claim::MatMul { parted, .. } | Claim::Conv { parted, .. } => *parted,
            _ => None,
        }
    }

    /// What else a party keeps for it: words of a sum that it knows alone.
    pub fn words(&self) -> Option<ValueId> {
        self.parted().map(|p| p.others)
    }

    /// The replicated words of which it takes carries of p + q, with the bits into which these are; bit 0 has none.
    /// `bits` says how many bits a value has.
    pub fn carries(
        &self,
        bits: &dyn Fn(ValueId) -> u32,
        each: &mut dyn FnMut(ValueId, Range<u32>),
    ) {
        match self {
            Claim::Input(Own::Bits(b) | Own::Word(b) | Own::Thermometer(b, _)) => b.carries(each),
            Claim::Input(Own::And(a, b)) => {
                a.carries(each);
                b.carries(each);
            }
            Claim::Input(Own::High { x, shift, wraps }) => {
                each(*x, *shift..shift + 1);
                if *wraps {
                    each(*x, bits(*x)..bits(*x) + 1);
                }
            }
            _ => {}
        }
    }
}
