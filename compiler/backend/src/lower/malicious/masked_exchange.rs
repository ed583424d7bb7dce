//! From a draft of family T1 that can be proven (`statements`) to one in which owners know their parts of what is
//! exchanged before it is exchanged: family T2 against a malicious party.
//!
//! A `reshare_two` becomes an `open_masked` under a fresh mask, and a `reshare` of a product of each element becomes
//! what the owner inputs of its product and an `open_masked` of the rest. Both take as many rounds and bits as before.
//! But the owner's part of the result is made of masks, so that what it inputs of this part for the next step is on its
//! way beside the exchange, and not a round later.
//!
//! | before | here | bits in all, for a word of k |
//! |---|---|---|
//! | `reshare_two` of x | `open_masked` of x | 2 k |
//! | `reshare` of x y | `input` of a_x a_y, `open_masked` of b_x (a_y + b_y) + a_x b_y | 3 k |
//! | `reshare` of x y, y known to two | `open_masked` of x y | 2 k in place of 3 k |
//! | `reshare` of a product of matrices z_0 + z_1 + z_2 | `input` of z_r, `open_masked` of the other two words | 3 k |
//!
//! A value is the sum of its *core*, whose part a the owner knows ahead, and of what two parties know. Linear
//! instructions act on both, and on the owner's part of the core: so there is a replicated value with that part, which
//! is what statements are about. Constants go to what two parties know. Sums and layouts within a group of elements do
//! so, too (`shards`), and what is only summed within groups is exchanged as sums. Other sums and layouts, and inner
//! products that are proven one by one, are as they were: their results are known to nobody ahead.
//!
//! **Functionality, simulation.** Those of the draft; `open_masked` is a `reshare_two` whose mask is drawn by itself.

use super::rewrite::{self, rewritten};
use super::shards::Shards;
use crate::lower::common::words::sum_of;
use crate::lower::{Draft, Emit};
use slvr_circuit::proof::Inner;
use slvr_circuit::{Hold, Instr, Op, Type, ValueId};
use std::convert::Infallible;

/// Who knows what of a value of the draft, and when.
#[derive(Clone)]
enum Known {
    /// A value held in the same way.
    Plain(ValueId),
    /// A replicated value of which the owner knows a part ahead.
    OwnerSplit(OwnerSplit),
    /// A replicated value of which two parties know all.
    TwoParty(ValueId),
    /// What two parties are to exchange once it is added up, and what is added to it.
    Deferred(ValueId, Option<Box<Known>>),
}

#[derive(Clone)]
struct OwnerSplit {
    /// A replicated value.
    core: ValueId,
    /// Its part a, as the owner knows it ahead.
    own: ValueId,
    /// What two parties know, if there is more.
    dup: Option<ValueId>,
}

/// The draft with parts that owners know ahead, where an owner's later messages read them.
pub fn masked(draft: Draft) -> Draft {
    let shards = Shards::of(&draft.emit.instrs, &draft.emit.types);
    let wanted = wanted(&draft.emit, shards);
    let deferrable = deferrable(&draft, shards);
    let state = Owners { shards, wanted, deferrable, products: vec![None; draft.emit.types.len()] };
    let Ok(draft) = rewritten::<Known>(draft, state);
    draft
}

/// The values of which an owner's message reads what it knows of them.
fn wanted(old: &Emit, shards: Shards) -> Vec<bool> {
    let mut wanted = vec![false; old.types.len()];
    for i in old.instrs.iter().rev() {
        let keeps = || keeps(&i.op, &old.types) || moves(&i.op, &old.types, shards);
        let passes = i.out.is_some_and(|v| wanted[v.index()]) && keeps();
        if passes || matches!(i.op, Op::Own(_)) {
            i.op.operands().iter().for_each(|v| wanted[v.index()] = true);
        }
    }
    wanted
}

/// Most products that are added up to one word before they are exchanged: a statement has a column for each of them,
/// and long columns of few words take longer to prove than their bytes take to send.
const POOLED: u64 = 64;

/// The values that only a sum within groups reads, in whatever shape and after whatever is added to them: what two
/// parties exchange for them they add up first, and exchange the sums.
fn deferrable(draft: &Draft, shards: Shards) -> Vec<bool> {
    let (instrs, types) = (&draft.emit.instrs, &draft.emit.types);
    let mut readers = vec![0u32; types.len()];
    instrs.iter().flat_map(|i| i.op.operands()).for_each(|v| readers[v.index()] += 1);
    // What a check opens is read, too.
    draft.checks.iter().for_each(|c| readers[c.value.index()] += 2);
    let mut deferrable = vec![false; types.len()];
    for i in instrs.iter().rev() {
        let Some(out) = i.out else { continue };
        let rep = |v: &ValueId| types[v.index()].hold == Hold::Rep;
        let same = |v: &ValueId| types[v.index()].shape == types[out.index()].shape;
        let reads = match &i.op {
            Op::Sum { x, .. } => {
                let added = types[x.index()].elements() / types[out.index()].elements().max(1);
                rep(x) && added <= POOLED && shards.keeps(&i.op, types)
            }
            Op::Reshape(x, _) => deferrable[out.index()] && rep(x) && shards.keeps(&i.op, types),
            Op::Add(x, y) => {
                deferrable[out.index()] && [x, y].into_iter().all(|v| rep(v) && same(v))
            }
            _ => false,
        };
        if reads {
            let once = |v: &ValueId| readers[v.index()] == 1;
            i.op.operands().iter().filter(|v| once(v)).for_each(|v| deferrable[v.index()] = true);
        }
    }
    deferrable
}

/// Whether the owner's part of a result follows from its parts of the operands.
fn keeps(op: &Op, types: &[Type]) -> bool {
    let ty = |v: ValueId| &types[v.index()];
    let all = |hold: Hold| op.operands().iter().all(|&v| ty(v).hold == hold);
    let same = |x: ValueId, y: ValueId| ty(x).shape == ty(y).shape && ty(x).dom == ty(y).dom;
    match *op {
        Op::Mul(x, y) => all(Hold::Rep) && same(x, y),
        // What is repeated is repeated first.
        Op::Add(x, y) | Op::Sub(x, y) => all(Hold::Rep) && ty(x).dom == ty(y).dom,
        Op::Reshare(_) => all(Hold::Add3),
        Op::Neg(_)
        | Op::Scale(..)
        | Op::Offset(..)
        | Op::Not(_)
        | Op::Raise(..)
        | Op::Narrow(..)
        | Op::Planes { .. }
        | Op::SelectPlanes(..)
        | Op::Stack(_) => all(Hold::Rep),
        _ => false,
    }
}

/// Whether it does though elements change their places or their number.
fn moves(op: &Op, types: &[Type], shards: Shards) -> bool {
    let linear = matches!(
        op,
        Op::Sum { .. }
            | Op::Transpose(..)
            | Op::Slice { .. }
            | Op::Broadcast(..)
            | Op::Reshape(..)
            | Op::ToPlanes(_)
    );
    linear
        && op.operands().iter().all(|&v| types[v.index()].hold == Hold::Rep)
        && shards.keeps(op, types)
}

/// What is known of the draft's values.
struct Owners {
    shards: Shards,
    wanted: Vec<bool>,
    /// What is exchanged for it is added up first ([`deferrable`]).
    deferrable: Vec<bool>,
    /// Of values that are only reshared, what they are.
    products: Vec<Option<Product>>,
}

#[derive(Clone, Copy)]
enum Product {
    /// A product of each element.
    Elements(ValueId, ValueId),
    /// A product of matrices.
    Matrices,
}

/// Whether an instruction makes a product of replicated matrices of which there is one statement for all elements.
fn is_product(op: &Op, types: &[Type]) -> bool {
    let ty = |v: ValueId| &types[v.index()];
    let rep = |v: ValueId| ty(v).hold == Hold::Rep && ty(v).bits() <= 64;
    match *op {
        Op::MatMul { a, b, trans_b } => {
            rep(a) && rep(b) && Inner::of(&ty(a).shape, &ty(b).shape, trans_b).is_none()
        }
        Op::Conv2d { x, w, conv } => rep(x) && rep(w) && conv.groups == 1,
        _ => false,
    }
}

impl rewrite::Rewritten for Known {
    type State = Owners;
    type Refused = Infallible;

    fn held(value: ValueId) -> Known {
        Known::Plain(value)
    }

    fn instr(to: &mut Rewrite, instr: &Instr, types: &[Type]) -> Result<(), Infallible> {
        if let Op::OpenTo { x, output } = instr.op {
            // What was reshared may be the sum of what its owner inputs and what the others exchange here.
            let words = to.value(x);
            let made = to.e.instrs.iter().rev().find(|i| i.out == Some(words));
            let words = match made.map(|i| &i.op) {
                Some(&Op::AsAdd3(x)) => rewrite::words(&mut to.e, x, true),
                _ => words,
            };
            to.e.open_to(words, output);
            return Ok(());
        }
        let Some(out) = instr.out else {
            let op = to.same(&instr.op);
            to.e.instrs.push(Instr { out: None, op, site: to.e.site });
            return Ok(());
        };
        if let Op::Mul(x, y) = instr.op
            && keeps(&instr.op, types)
        {
            to.state.products[out.index()] = Some(Product::Elements(x, y));
        }
        if is_product(&instr.op, types) {
            to.state.products[out.index()] = Some(Product::Matrices);
        }
        let form = to.deferred(&instr.op, out, types);
        let form = form.or_else(|| to.form_of(&instr.op, to.state.wanted[out.index()], types));
        let form = form.unwrap_or_else(|| {
            let op = to.same(&instr.op);
            let op = to.state.shards.op(&op, &to.e.types);
            // Coins are drawn one by one.
            Known::Plain(if op == Op::Coin { to.e.coin() } else { to.e.add(op) })
        });
        to.set(out, form);
        Ok(())
    }

    fn value(to: &mut Rewrite, v: ValueId) -> ValueId {
        match to.form(v) {
            Known::Plain(x) | Known::OwnerSplit(OwnerSplit { core: x, dup: None, .. }) => x,
            Known::OwnerSplit(OwnerSplit { core, dup: Some(dup), .. }) => {
                let dup = to.e.add(Op::Trivial(dup));
                to.e.add(Op::Add(core, dup))
            }
            Known::TwoParty(dup) => to.e.add(Op::Trivial(dup)),
            Known::Deferred(open, rest) => {
                let form = to.exchange(open, rest);
                to.set(v, form);
                to.value(v)
            }
        }
    }
}

type Rewrite = rewrite::Rewrite<Known>;

impl Rewrite {
    /// A replicated value as a sum. What nobody knows ahead is its own core.
    fn owned(&mut self, v: ValueId) -> Option<OwnerSplit> {
        match self.form(v) {
            Known::OwnerSplit(x) => Some(x),
            Known::Plain(core) => Some(OwnerSplit { core, own: self.own(core), dup: None }),
            Known::TwoParty(_) => None,
            Known::Deferred(open, rest) => {
                let form = self.exchange(open, rest);
                self.set(v, form);
                self.owned(v)
            }
        }
    }

    /// What two parties exchange, with what is added to it.
    fn exchange(&mut self, open: ValueId, rest: Option<Box<Known>>) -> Known {
        let opened = self.open_masked(open);
        Known::OwnerSplit(match rest.map(|rest| *rest) {
            None => opened,
            Some(Known::TwoParty(dup)) => OwnerSplit { dup: Some(dup), ..opened },
            Some(Known::OwnerSplit(x)) => OwnerSplit {
                core: self.e.add(Op::Add(opened.core, x.core)),
                own: self.e.add(Op::Add(opened.own, x.own)),
                dup: x.dup,
            },
            Some(Known::Plain(_) | Known::Deferred(..)) => unreachable!("what is added is a sum"),
        })
    }

    /// An instruction on what is to be exchanged later, or that makes it.
    fn deferred(&mut self, op: &Op, out: ValueId, types: &[Type]) -> Option<Known> {
        let is_deferred = |to: &Rewrite, v: ValueId| matches!(to.form(v), Known::Deferred(..));
        match *op {
            Op::ReshareTwo(x) if self.state.deferrable[out.index()] => {
                Some(Known::Deferred(self.value(x), None))
            }
            Op::Reshape(x, _) | Op::Sum { x, .. } => {
                let Known::Deferred(open, rest) = self.form(x) else { return None };
                let open = self.e.add(op.map(|_| open));
                let rest = match rest {
                    Some(rest) => {
                        self.set(x, *rest);
                        Some(Box::new(self.linear(op, types)?))
                    }
                    None => None,
                };
                Some(match op {
                    Op::Sum { .. } => self.exchange(open, rest),
                    _ => Known::Deferred(open, rest),
                })
            }
            Op::Add(x, y) if is_deferred(self, x) || is_deferred(self, y) => {
                let mut all: Option<ValueId> = None;
                let mut rests = Vec::new();
                for v in [x, y] {
                    let Known::Deferred(open, rest) = self.form(v) else {
                        // What nobody knows ahead is its own core.
                        if let Some(owned) = self.owned(v) {
                            self.set(v, Known::OwnerSplit(owned));
                        }
                        rests.push(v);
                        continue;
                    };
                    all = Some(all.map_or(open, |all| self.e.add(Op::Add(all, open))));
                    if let Some(rest) = rest {
                        self.set(v, *rest);
                        rests.push(v);
                    }
                }
                let rest = match rests[..] {
                    [x, y] => Some(self.sum(x, y, false, types)),
                    [x] => Some(self.form(x)),
                    _ => None,
                };
                Some(Known::Deferred(all?, rest.map(Box::new)))
            }
            _ => None,
        }
    }

    /// An instruction on a whole value, which is cut.
    fn cut(&mut self, op: Op) -> ValueId {
        let op = self.state.shards.op(&op, &self.e.types);
        self.e.add(op)
    }

    /// What the owner knows of a value.
    fn own(&mut self, x: ValueId) -> ValueId {
        self.cut(Op::Own(x))
    }

    /// The form of a result whose part the owner knows ahead, or that two parties know.
    fn form_of(&mut self, op: &Op, wanted: bool, types: &[Type]) -> Option<Known> {
        match *op {
            Op::Own(x) => match self.form(x) {
                Known::OwnerSplit(x) => Some(Known::Plain(x.own)),
                _ => None,
            },
            Op::Trivial(x) if types[x.index()].hold == Hold::Dup => {
                Some(Known::TwoParty(self.value(x)))
            }
            Op::Input(x) => {
                let own = self.value(x);
                Some(Known::OwnerSplit(OwnerSplit {
                    core: self.e.add(Op::Input(own)),
                    own,
                    dup: None,
                }))
            }
            Op::ReshareTwo(x) if wanted && types[x.index()].groups == 0 => {
                let x = self.value(x);
                Some(Known::OwnerSplit(self.open_masked(x)))
            }
            Op::Reshare(z) if wanted => {
                Some(Known::OwnerSplit(match self.state.products[z.index()]? {
                    Product::Elements(x, y) => self.product(x, y),
                    Product::Matrices => {
                        let z = self.value(z);
                        self.matrices(z)
                    }
                }))
            }
            _ if wanted && (keeps(op, types) || moves(op, types, self.state.shards)) => {
                self.linear(op, types)
            }
            _ => None,
        }
    }

    /// An exchange of two parties under a fresh mask, which the owner knows.
    fn open_masked(&mut self, x: ValueId) -> OwnerSplit {
        let ty = self.e.ty(x).clone();
        let mask = self.e.fresh_mask(ty.dom, ty.shape, ty.groups);
        let dup = self.e.add(Op::OpenMasked { x, mask });
        let core = self.e.add(Op::Join { mask, dup });
        OwnerSplit { core, own: self.e.add(Op::Own(mask)), dup: None }
    }

    /// A product of each element.
    fn product(&mut self, x: ValueId, y: ValueId) -> OwnerSplit {
        let (left, right) = (self.owned(x), self.owned(y));
        let forms = (self.form(x), self.form(y));
        let (x, y) = (self.value(x), self.value(y));
        let by = |to: &mut Rewrite, x, known| {
            let (x, known) = (to.cut(Op::AsAdd2(x)), to.cut(Op::Dup(known)));
            to.e.add(Op::Mul(x, known))
        };
        let (Some(left), Some(right)) = (&left, &right) else {
            // Of what two parties know the owner's part is 0.
            let (x, known, form) = match left.is_none() {
                true => (y, x, forms.0),
                false => (x, y, forms.1),
            };
            let rest = match form {
                Known::TwoParty(dup) if self.is_cut_as_usual(dup) => {
                    let x = self.cut(Op::AsAdd2(x));
                    self.e.add(Op::Mul(x, dup))
                }
                _ => by(self, x, known),
            };
            return self.open_masked(rest);
        };
        let own = self.e.add(Op::Mul(left.own, right.own));
        let dealt = self.e.add(Op::Input(own));
        let mask = self.cut(Op::MaskOf(x, 0));
        let (whole, rest) = (by(self, y, x), by(self, mask, y));
        let rest = self.e.add(Op::Add(whole, rest));
        self.input_and_open((own, dealt), rest)
    }

    /// Whether what two parties know is cut as all of its shape.
    fn is_cut_as_usual(&self, dup: ValueId) -> bool {
        let ty = self.e.ty(dup);
        ty.groups == self.state.shards.groups(&ty.shape)
    }

    /// A product of matrices, of which each party has a word of each element.
    fn matrices(&mut self, z: ValueId) -> OwnerSplit {
        let own = self.own(z);
        let dealt = self.e.add(Op::Input(own));
        let others = self.cut(Op::AsAdd2(z));
        self.input_and_open((own, dealt), others)
    }

    /// What its owner has input, and what the other two open to each other.
    fn input_and_open(&mut self, (own, dealt): (ValueId, ValueId), others: ValueId) -> OwnerSplit {
        let opened = self.open_masked(others);
        let e = &mut self.e;
        OwnerSplit {
            core: e.add(Op::Add(dealt, opened.core)),
            own: e.add(Op::Add(own, opened.own)),
            dup: None,
        }
    }

    fn linear(&mut self, op: &Op, types: &[Type]) -> Option<Known> {
        match op {
            Op::Add(x, y) => Some(self.sum(*x, *y, false, types)),
            Op::Sub(x, y) => Some(self.sum(*x, *y, true, types)),
            Op::Offset(x, _) | Op::Not(x) => Some(match self.form(*x) {
                Known::TwoParty(dup) => Known::TwoParty(self.e.add(op.map(|_| dup))),
                Known::OwnerSplit(OwnerSplit { core, own, dup }) => {
                    let dup = dup.unwrap_or_else(|| self.zero(core));
                    let dup = self.e.add(op.map(|_| dup));
                    Known::OwnerSplit(OwnerSplit { core, own, dup: Some(dup) })
                }
                Known::Plain(_) | Known::Deferred(..) => return None,
            }),
            Op::Stack(xs) => {
                let all: Option<Vec<OwnerSplit>> = xs.iter().map(|&x| self.owned(x)).collect();
                let all = all?;
                let stack = |e: &mut Emit, part: &dyn Fn(&OwnerSplit) -> ValueId| {
                    e.add(Op::Stack(all.iter().map(part).collect()))
                };
                let e = &mut self.e;
                let (core, own) = (stack(e, &|x| x.core), stack(e, &|x| x.own));
                let any = all.iter().any(|x| x.dup.is_some());
                let dup = any.then(|| {
                    let of = |x: &OwnerSplit| x.dup.unwrap_or_else(|| self.zero(x.core));
                    let parts = all.iter().map(of).collect();
                    self.e.add(Op::Stack(parts))
                });
                Some(Known::OwnerSplit(OwnerSplit { core, own, dup }))
            }
            _ => {
                let [x] = op.operands()[..] else { return None };
                let (form, e) = (self.form(x), &mut self.e);
                let mut of = |v: ValueId| e.add(op.map(|_| v));
                Some(match form {
                    Known::TwoParty(dup) => Known::TwoParty(of(dup)),
                    Known::OwnerSplit(OwnerSplit { core, own, dup }) => {
                        Known::OwnerSplit(OwnerSplit {
                            core: of(core),
                            own: of(own),
                            dup: dup.map(of),
                        })
                    }
                    Known::Plain(_) | Known::Deferred(..) => return None,
                })
            }
        }
    }

    /// Whether a value is repeated to a shape, and its owner knows its part of what it becomes.
    fn spreads(&self, v: ValueId, to: &[u64], types: &[Type]) -> bool {
        let broadcast = Op::Broadcast(v, to.to_vec());
        types[v.index()].shape != to && self.state.shards.keeps(&broadcast, types)
    }

    /// x + y or x - y.
    fn sum(&mut self, x: ValueId, y: ValueId, minus: bool, types: &[Type]) -> Known {
        let shape = |v: ValueId| types[v.index()].shape.clone();
        let out: Vec<u64> = shape(x).into_iter().zip(shape(y)).map(|(a, b)| a.max(b)).collect();
        let parts = [x, y].map(|v| match self.form(v) {
            Known::OwnerSplit(_) if self.spreads(v, &out, types) => {
                let (form, e) = (self.form(v), &mut self.e);
                let Known::OwnerSplit(OwnerSplit { core, own, dup }) = form else {
                    return (None, None);
                };
                let mut of = |x: ValueId| e.broadcast(x, &out);
                let dup = dup.map(&mut of);
                (Some(OwnerSplit { core: of(core), own: of(own), dup: None }), dup)
            }
            _ if shape(v) != out => {
                let x = self.value(v);
                let core = self.e.broadcast(x, &out);
                let own = self.own(core);
                (Some(OwnerSplit { core, own, dup: None }), None)
            }
            Known::TwoParty(dup) => (None, Some(dup)),
            _ => {
                let owned = self.owned(v);
                let dup = owned.as_ref().and_then(|x| x.dup);
                (owned, dup)
            }
        });
        let e = &mut self.e;
        let [(x, a), (y, b)] = parts;
        let dup = sum_of(e, a, b, minus);
        let of = |part: &dyn Fn(&OwnerSplit) -> ValueId| [&x, &y].map(|s| s.as_ref().map(part));
        let ([cx, cy], [ox, oy]) = (of(&|s| s.core), of(&|s| s.own));
        match (sum_of(e, cx, cy, minus), sum_of(e, ox, oy, minus), dup) {
            (Some(core), Some(own), dup) => Known::OwnerSplit(OwnerSplit { core, own, dup }),
            (_, _, Some(dup)) => Known::TwoParty(dup),
            _ => unreachable!("one of both has a part"),
        }
    }

    /// Zeros that two parties know, like a replicated value.
    fn zero(&mut self, like: ValueId) -> ValueId {
        let dup = self.cut(Op::Dup(like));
        let bits = self.e.ty(dup).dom.is_bits();
        self.e.add(if bits { Op::Add(dup, dup) } else { Op::Sub(dup, dup) })
    }
}
