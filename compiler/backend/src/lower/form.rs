//! The forms that the value of a node is held in, and every conversion between forms, rings and groups.
//!
//! | form | who holds what |
//! |---|---|
//! | [`Form::Public`] | all three the value |
//! | [`Form::Replicated`] | replicated secret sharing: two of three additive parts at each party |
//! | [`Form::Additive`] | one of three additive parts at each party: a product that is not reshared yet |
//! | [`Form::Split`] | the masked value of ASTRA and ABY2.0: x = a + b, a known to the dealer, b to the other two |
//! | [`Form::Pair`] | part a at the dealer, the rest as words of the other two that they have not exchanged |
//! | [`Form::LowBits`] | a split whose parts add up to the value in its low bits only, one round before all bits |
//!
//! A conversion is made where it is first asked for and kept, so that it is paid once:
//!
//! | from | to | rounds |
//! |---|---|---|
//! | additive | replicated ([`Values::replicated`]) | 1 |
//! | pair | split ([`Values::split`]) | 1, between two |
//! | split | replicated | 0: the dealer's message is ahead |
//! | replicated | split, in any groups | 0 |
//! | any ring | a smaller one ([`Values::in_ring`], [`Values::split_in`]) | 0 |
//! | replicated, split | a larger ring | 2, 1 |
//! | split | other groups | 0, but each dealer of the new parts learns its part only when the value is there |
//!
//! Because of the last line values stay split, with the same dealers, as long as operations go shard by
//! shard.
//!
//! The form in which a node was made is its first one, and what reads the node chooses its protocol by that.

use super::common::masked::{self, Pair, Split};
use super::common::words::aligned;
use super::emit::Emit;
use super::facts::Facts;
use super::search::Searches;
use super::t1::truncation::{at_most, convert};
use super::t2::truncation::lift;
use slvr_circuit::{Hold, Op as C, ValueId};
use slvr_graph::analysis::truth_tables::Functions;
use slvr_graph::graph::NodeId;
use std::collections::BTreeMap;

/// One form of a value.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    Public(ValueId),
    /// Replicated among the three.
    Replicated(ValueId),
    /// Additive among the three.
    Additive(ValueId),
    /// Parts a and b.
    Split(Split),
    /// Part a, and words of the other two.
    Pair(Pair),
    /// Parts that add up to the value in its low bits.
    LowBits(LowBits),
}

/// A split that is right modulo 2^bits.
#[derive(Clone, Copy, Debug)]
pub struct LowBits {
    pub split: Split,
    /// So many bits are right.
    pub bits: u32,
}

/// The forms in which a value is there.
#[derive(Clone, Debug, Default)]
pub struct Forms(Vec<Form>);

impl From<Form> for Forms {
    fn from(form: Form) -> Forms {
        Forms(vec![form])
    }
}

impl<const N: usize> From<[Form; N]> for Forms {
    fn from(forms: [Form; N]) -> Forms {
        Forms(forms.into())
    }
}

impl Forms {
    /// A split, and its low bits if they are there earlier.
    pub fn split(split: Split, low: Option<LowBits>) -> Forms {
        Forms(std::iter::once(Form::Split(split)).chain(low.map(Form::LowBits)).collect())
    }

    /// Public or replicated in a ring of k bits.
    fn whole(&self, e: &Emit, k: u32) -> Option<ValueId> {
        self.0.iter().find_map(|form| match *form {
            Form::Public(x) | Form::Replicated(x) if e.ty(x).bits() == k => Some(x),
            _ => None,
        })
    }

    fn split_of(&self, e: &Emit, k: u32, groups: u32) -> Option<Split> {
        let fits = |s: &Split| e.ty(s.own).bits() == k && e.ty(s.own).groups == groups;
        self.0.iter().find_map(|form| match form {
            Form::Split(s) if fits(s) => Some(*s),
            _ => None,
        })
    }

    fn low_bits(&self) -> Option<LowBits> {
        self.0.iter().find_map(|form| match *form {
            Form::LowBits(low) => Some(low),
            _ => None,
        })
    }
}

/// What is there before the first node.
pub struct Given {
    /// By index of the input, its dealt value after checks.
    pub dealt: Vec<ValueId>,
    /// The coins of each draw.
    pub coins: BTreeMap<NodeId, ValueId>,
}

/// Of nodes of more elements no truth tables are looked for.
const MOST_ELEMENTS: u64 = 1 << 14;

/// The values of a graph while it is lowered.
pub struct Values<'a> {
    /// The graph and what is known of it.
    pub facts: Facts<'a>,
    pub given: Given,
    /// Which comparisons with ranks become searches.
    pub searches: Searches,
    /// What bits are of earlier bits.
    pub functions: Functions<'a>,
    pub emit: Emit,
    forms: Vec<Forms>,
}

impl<'a> Values<'a> {
    /// Of no node yet.
    pub fn new(facts: Facts<'a>, given: Given, emit: Emit) -> Values<'a> {
        let (searches, functions) =
            (Searches::of(&facts), Functions::new(facts.graph, MOST_ELEMENTS));
        let forms = vec![Forms::default(); facts.graph.len()];
        Values { facts, given, searches, functions, emit, forms }
    }

    /// Records forms of a node. A form that was recorded before its node stays the first.
    pub fn record(&mut self, id: NodeId, forms: impl Into<Forms>) {
        self.forms[id.index()].0.extend(forms.into().0);
    }

    /// The forms of a node so far.
    fn forms(&self, id: NodeId) -> &Forms {
        &self.forms[id.index()]
    }

    /// The form that a node was made in, if it was made.
    pub fn made(&self, id: NodeId) -> Option<Form> {
        self.forms(id).0.first().copied()
    }

    /// Whether a node was made in its own ring, and holds what its form says.
    pub fn is_well_made(&self, id: NodeId) -> bool {
        let (k, e) = (self.facts.ring(id), &self.emit);
        let fits = |x: ValueId| e.ty(x).bits() == k;
        match self.made(id) {
            Some(Form::Public(x)) => fits(x) && e.ty(x).hold == Hold::Public,
            Some(Form::Replicated(x)) => fits(x),
            Some(Form::Additive(x)) => fits(x) && e.ty(x).hold == Hold::Add3,
            Some(Form::Split(s)) => fits(s.own),
            Some(Form::Pair(p)) => fits(p.add2),
            Some(Form::LowBits(_)) | None => false,
        }
    }

    /// The forms of a node's value that do not know a dealer, in its own ring.
    pub fn unsplit(&self, id: NodeId) -> Forms {
        let k = self.facts.ring(id);
        let own = |form: &&Form| match form {
            Form::Public(x) | Form::Replicated(x) | Form::Additive(x) => {
                self.emit.ty(*x).bits() == k
            }
            Form::Split(_) | Form::Pair(_) | Form::LowBits(_) => false,
        };
        Forms(self.forms(id).0.iter().filter(own).copied().collect())
    }

    /// What a node's value is converted by stands at the node's place in the source.
    fn at_site<T>(&mut self, id: NodeId, make: impl FnOnce(&mut Emit) -> T) -> T {
        let site = std::mem::replace(&mut self.emit.site, self.facts.graph.home(id));
        let made = make(&mut self.emit);
        self.emit.site = site;
        made
    }

    /// A whole value in the form that its node has.
    pub fn whole(&self, id: NodeId, x: ValueId) -> Form {
        if self.facts.is_secret(id) { Form::Replicated(x) } else { Form::Public(x) }
    }

    /// The node's value replicated, or public if the node is.
    pub fn replicated(&mut self, id: NodeId) -> ValueId {
        if let Some(x) = self.forms(id).whole(&self.emit, self.facts.ring(id)) {
            return x;
        }
        let x = match (self.groups(id), self.made(id)) {
            (Some(groups), _) => {
                let s = self.split(id, groups);
                self.at_site(id, |e| masked::join(e, &s))
            }
            (_, Some(Form::Additive(x))) => self.at_site(id, |e| e.add(C::Reshare(x))),
            _ => unreachable!("operands are lowered before their users"),
        };
        self.record(id, Form::Replicated(x));
        x
    }

    /// The same in a ring of k bits.
    pub fn in_ring(&mut self, id: NodeId, k: u32) -> ValueId {
        let own = self.replicated(id);
        if self.facts.is_bit(id) || self.emit.ty(own).bits() == k {
            return own;
        }
        if let Some(x) = self.forms(id).whole(&self.emit, k) {
            return x;
        }
        let x = self.at_site(id, |e| convert(e, own, k));
        let form = self.whole(id, x);
        self.record(id, form);
        x
    }

    /// Operand number `i` of a node, in the ring that the node reads it in.
    pub fn operand(&mut self, id: NodeId, i: usize) -> ValueId {
        let k = self.facts.operand_ring(id, i);
        self.in_ring(self.facts.graph.arg(id, i), k)
    }

    /// The node's value additive among the three, as an opening to a receiver takes it.
    pub fn additive(&mut self, id: NodeId) -> ValueId {
        let whole = self.forms(id).whole(&self.emit, self.facts.ring(id));
        match (self.made(id), self.own_split(id), whole) {
            (Some(Form::Pair(pair)), None, _) => masked::as_add3(&mut self.emit, pair),
            (_, Some(s), None) => {
                let pair = masked::unsettled(&mut self.emit, &s);
                masked::as_add3(&mut self.emit, pair)
            }
            // Once replicated, the shares say the same; either will do.
            (Some(Form::Additive(x)), ..) => x,
            _ => {
                let x = self.replicated(id);
                let x = if self.facts.is_secret(id) { x } else { self.emit.share_public(x) };
                self.emit.add(C::AsAdd3(x))
            }
        }
    }

    /// Whether a reader takes a value as it was made, in a ring of k bits: nobody else will convert it, and what is
    /// made of it is not larger, because exchanges cost by size.
    fn hands_over(&self, id: NodeId, reader: NodeId, k: u32) -> bool {
        let g = self.facts.graph;
        (self.facts.is_bit(id) || self.facts.ring(id) >= k)
            && g.elements(reader) <= g.elements(id)
            && self.facts.graph.only_user(id).is_some()
    }

    /// The additive form in a ring of k bits, if the value was made in it and this reader may take it.
    pub fn take_additive(&mut self, id: NodeId, reader: NodeId, k: u32) -> Option<ValueId> {
        let Some(Form::Additive(x)) = self.made(id) else { return None };
        self.hands_over(id, reader, k).then(|| {
            debug_assert!(self.forms(id).whole(&self.emit, self.facts.ring(id)).is_none());
            if self.facts.is_bit(id) { x } else { at_most(&mut self.emit, x, k) }
        })
    }

    /// The pair in a ring of k bits and in these groups, if the value was made so and this reader may take it.
    pub fn take_pair(&mut self, id: NodeId, reader: NodeId, k: u32, groups: u32) -> Option<Pair> {
        let Some(Form::Pair(x)) = self.made(id) else { return None };
        if self.groups(id) != Some(groups) || !self.hands_over(id, reader, k) {
            return None;
        }
        debug_assert!(self.own_split(id).is_none());
        if self.facts.is_bit(id) || self.facts.ring(id) == k {
            return Some(x);
        }
        Some(masked::linear_of_pair(&mut self.emit, x, |v| C::Narrow(v, k)))
    }

    /// The split in the node's own groups, if it is there.
    pub fn own_split(&self, id: NodeId) -> Option<Split> {
        let groups = self.groups(id)?;
        self.forms(id).split_of(&self.emit, self.facts.ring(id), groups)
    }

    /// The node's value split between so many groups.
    pub fn split(&mut self, id: NodeId, groups: u32) -> Split {
        let k = self.facts.ring(id);
        if let (None, Some(Form::Pair(pair))) = (self.own_split(id), self.made(id)) {
            let s = self.at_site(id, |e| masked::settle(e, pair));
            self.record(id, Form::Split(s));
        }
        if let Some(s) = self.forms(id).split_of(&self.emit, k, groups) {
            return s;
        }
        let x = self.replicated(id);
        let s = masked::split(&mut self.emit, x, groups);
        self.record(id, Form::Split(s));
        s
    }

    /// The same in a ring of k bits.
    pub fn split_in(&mut self, id: NodeId, k: u32, groups: u32) -> Split {
        let x = self.split(id, groups);
        let own = self.emit.ty(x.own).bits();
        if self.facts.is_bit(id) || own == k {
            return x;
        }
        if own > k {
            // What is above these bits is cut off: where it takes an exchange of its own, it is not waited
            // for, and if nothing else reads it, not made.
            if let Some(low) = self.low_bits(id, k, groups).filter(|low| low.bits == k) {
                return low.split;
            }
            return masked::linear(&mut self.emit, &x, |v| C::Narrow(v, k));
        }
        if let Some(s) = self.forms(id).split_of(&self.emit, k, groups) {
            return s;
        }
        let s = lift(&mut self.emit, &x, 0, k);
        self.record(id, Form::Split(s));
        s
    }

    /// The same for what reads its low `width` bits only: these may be there a round earlier.
    pub fn split_low(&mut self, id: NodeId, k: u32, groups: u32, width: u32) -> Split {
        match self.low_bits(id, k, groups) {
            Some(low) if width <= low.bits => low.split,
            _ => self.split_in(id, k, groups),
        }
    }

    /// What there is of a node's low bits, in a ring of k bits.
    pub fn low_bits(&mut self, id: NodeId, k: u32, groups: u32) -> Option<LowBits> {
        let low = self.forms(id).low_bits()?;
        let ty = self.emit.ty(low.split.own);
        let (own, same) = (ty.bits(), ty.groups == groups);
        if own < k {
            return None;
        }
        let split = match own == k {
            true => low.split,
            false => masked::linear(&mut self.emit, &low.split, |v| C::Narrow(v, k)),
        };
        let split = match same {
            true => split,
            false => {
                let x = masked::join(&mut self.emit, &split);
                masked::split(&mut self.emit, x, groups)
            }
        };
        Some(LowBits { split, bits: low.bits.min(k) })
    }

    /// An operand of an elementwise operation. One that is repeated along the axis that shards are parts of
    /// is repeated before it is split: each dealer needs a part of its own.
    pub fn split_aligned(&mut self, id: NodeId, k: u32, groups: u32, out: &[u64]) -> Split {
        let shape = aligned(self.facts.graph.shape(id), out);
        if groups == 1 || shape == self.facts.graph.shape(id) {
            return self.split_in(id, k, groups);
        }
        let x = self.in_ring(id, k);
        let x = self.emit.broadcast(x, &shape);
        masked::split(&mut self.emit, x, groups)
    }

    /// A split operand in the ring that the node reads it in.
    pub fn split_operand(&mut self, id: NodeId, i: usize, groups: u32) -> Split {
        let k = self.facts.operand_ring(id, i);
        self.split_in(self.facts.graph.arg(id, i), k, groups)
    }

    /// Both operands, aligned if the operation is elementwise.
    pub fn split_operands(&mut self, id: NodeId, groups: u32, elementwise: bool) -> [Split; 2] {
        let out = self.facts.graph.shape(id).to_vec();
        [0, 1].map(|i| match elementwise {
            true => {
                let k = self.facts.operand_ring(id, i);
                self.split_aligned(self.facts.graph.arg(id, i), k, groups, &out)
            }
            false => self.split_operand(id, i, groups),
        })
    }
}
