//! From a draft of family T1 to one in which every message has a statement that its sender can prove
//! ([`slvr_circuit::proof`]).
//!
//! The macros of T1 deal words to two parties (`deal`), who compute on them and reshare what they get
//! (`reshare_two`). Here the owner inputs these words instead, so that it holds what the two hold of them, and what the
//! two reshare is a sum of products of such words with what both know, in as many rounds and bytes.
//!
//! | in T1 | here | bits in all, for a word of k |
//! |---|---|---|
//! | `deal` | `input` | k |
//! | `reshare_two` of sum d v + e, d dealt, v and e known to two | `reshare_two` of sum d v, plus e | 2 k |
//! | the same with repeated axes | `reshare` of sum d v, plus e | 3 k in place of 2 k |
//! | `reshare` of local words that are made of a product | `reshare` of the product, the rest after it | of the product |
//! | `open_sum` of x | `open` of x, reshared | |
//! | `open_to` of x | `reshare` of x, whose components two parties hold and vouch for | 3 k and a round more, but of the only output nothing if x is the result of one |
//!
//! Whatever else a draft has stays as it is. If it has no statement, the circuit's verifier refuses it.

use super::plus;
use super::rewrite::{self, rewritten};
use crate::lower::Draft;
use slvr_circuit::{Hold, Instr, Op, Type, ValueId, verify};
use thiserror::Error;

/// An instruction that has no counterpart with a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("`{op}` between two parties has no proof")]
pub struct Refused {
    /// Its name.
    pub op: &'static str,
    /// Where it comes from.
    pub site: u32,
}

/// What a value of the draft is here.
#[derive(Clone)]
enum Proven {
    /// A value held in the same way, or replicated in place of additive.
    Value(ValueId),
    /// Additive between two: the sum of products of replicated values, each with a factor that two know (or 1), and
    /// of what two know.
    Sum { terms: Vec<(ValueId, Option<ValueId>)>, rest: Option<ValueId> },
    /// Additive among three: a sum of products of replicated values, which is not reshared yet.
    Products(ValueId),
}

/// The draft with provable messages.
///
/// # Errors
///
/// An instruction between two parties that is no sum of products.
pub fn proven(draft: Draft) -> Result<Draft, Refused> {
    // Outputs that are ready in different layers would each have a proof before them. So where there are several, all
    // are reshared.
    let outputs = draft.emit.instrs.iter().filter(|i| matches!(i.op, Op::OpenTo { .. })).count();
    rewritten::<Proven>(draft, outputs)
}

impl rewrite::Rewritten for Proven {
    /// How many outputs there are.
    type State = usize;
    type Refused = Refused;

    fn held(value: ValueId) -> Proven {
        Proven::Value(value)
    }

    fn instr(to: &mut Rewrite, instr: &Instr, types: &[Type]) -> Result<(), Refused> {
        let op = &instr.op;
        if let Op::OpenTo { x, output } = op {
            let x = to.value(*x);
            let words = rewrite::words(&mut to.e, x, to.state == 1);
            to.e.open_to(words, *output);
            return Ok(());
        }
        let Some(out) = instr.out else { return Ok(()) };
        let form = match op {
            Op::Coin => Proven::Value(to.e.coin()),
            Op::Deal(a) => {
                let a = to.value(*a);
                let x = to.e.add(Op::Input(a));
                Proven::Sum { terms: vec![(x, None)], rest: None }
            }
            Op::AsAdd2(x) => {
                to.value(*x);
                to.summand(*x, types[x.index()].hold)
            }
            Op::AsAdd3(x) if types[x.index()].hold == Hold::Own => {
                let x = to.value(*x);
                Proven::Value(to.e.add(Op::Input(x)))
            }
            Op::AsAdd3(x) => Proven::Value(to.value(*x)),
            Op::Reshare(x) | Op::ReshareTwo(x) => Proven::Value(to.value(*x)),
            Op::OpenSum(x) => {
                let x = to.value(*x);
                Proven::Value(to.e.add(Op::Open(x)))
            }
            Op::Mul(a, b) if types[out.index()].hold == Hold::Add3 => {
                let (a, b) = (to.value(*a), to.value(*b));
                let x = to.e.add(Op::Mul(a, b));
                match to.e.ty(x).hold {
                    Hold::Add3 => Proven::Products(x),
                    _ => Proven::Value(x),
                }
            }
            Op::Add(a, b) if types[out.index()].hold == Hold::Add3 => {
                match (to.form(*a), to.form(*b)) {
                    // Of one shape, as the statement asks for.
                    (Proven::Products(x), Proven::Products(y))
                        if to.e.ty(x).shape == to.e.ty(y).shape =>
                    {
                        Proven::Products(to.e.add(Op::Add(x, y)))
                    }
                    _ => Proven::Value(to.plain(op)?),
                }
            }
            _ if types[out.index()].hold == Hold::Add2 => to.additive(op, types)?,
            _ => Proven::Value(to.plain(op)?),
        };
        to.set(out, form);
        Ok(())
    }

    /// One value: what is a sum is reshared.
    fn value(to: &mut Rewrite, v: ValueId) -> ValueId {
        let x = match to.form(v) {
            Proven::Value(x) => x,
            Proven::Products(z) => to.e.add(Op::Reshare(z)),
            Proven::Sum { terms, rest } => to.reshared(&terms, rest),
        };
        to.set(v, Proven::Value(x));
        x
    }
}

type Rewrite = rewrite::Rewrite<Proven>;

impl Rewrite {
    fn reshared(&mut self, terms: &[(ValueId, Option<ValueId>)], rest: Option<ValueId>) -> ValueId {
        let e = &mut self.e;
        // Only where nothing is repeated, the shards of the factors are those of the product.
        let first = terms.iter().find_map(|&(x, factor)| factor.map(|_| x));
        let two = first.is_some_and(|first| {
            let to = e.ty(first).clone();
            let same = |v: ValueId| {
                let ty = e.ty(v);
                (&ty.shape, ty.dom, ty.groups) == (&to.shape, to.dom, to.groups)
            };
            terms.iter().all(|&(x, factor)| factor.is_none_or(|f| same(x) && same(f)))
        });
        let mut products: Option<ValueId> = None;
        let mut sum: Option<ValueId> = None;
        for &(x, factor) in terms {
            let Some(factor) = factor else {
                sum = plus(e, sum, x);
                continue;
            };
            let (x, factor) = match two {
                true => (e.add(Op::AsAdd2(x)), factor),
                false => (x, e.add(Op::Trivial(factor))),
            };
            let product = e.add(Op::Mul(x, factor));
            products = plus(e, products, product);
        }
        if let Some(products) = products {
            let x = match e.ty(products).hold {
                Hold::Add2 => e.add(Op::ReshareTwo(products)),
                _ => e.add(Op::Reshare(products)),
            };
            sum = plus(e, sum, x);
        }
        if let Some(rest) = rest {
            let rest = e.add(Op::Trivial(rest));
            sum = plus(e, sum, rest);
        }
        sum.unwrap_or_else(|| unreachable!("a sum has a term"))
    }

    /// The same operation on values. A product of replicated values is reshared at once.
    fn plain(&mut self, op: &Op) -> Result<ValueId, Refused> {
        let op = self.same(op);
        // What two parties do with tables has no form on replicated values.
        if verify::infer(&op, &|v| self.e.ty(v)).is_err() {
            return Err(Refused { op: op.name(), site: self.e.site });
        }
        let x = self.e.add(op);
        Ok(match self.e.ty(x).hold {
            Hold::Add3 => self.e.add(Op::Reshare(x)),
            _ => x,
        })
    }

    /// An operation whose result is additive between two.
    fn additive(&mut self, op: &Op, types: &[Type]) -> Result<Proven, Refused> {
        let hold = |v: &ValueId| types[v.index()].hold;
        Ok(match op {
            Op::Mul(a, b) if hold(a) == Hold::Add2 => self.times(*a, *b, hold(b)),
            Op::Mul(a, b) => self.times(*b, *a, hold(a)),
            Op::Add(a, b) | Op::Sub(a, b) => {
                let (a, mut b) = (self.summand(*a, hold(a)), self.summand(*b, hold(b)));
                if let Op::Sub(..) = op {
                    b = self.each(b, &Op::Neg);
                }
                self.plus(a, b)
            }
            Op::Neg(x) => self.mapped(*x, &Op::Neg),
            Op::Scale(x, c) => self.mapped(*x, &|v| Op::Scale(v, *c)),
            Op::Raise(x, k) if self.is_plain_sum(*x) => self.mapped(*x, &|v| Op::Raise(v, *k)),
            Op::Reshape(x, shape) => self.mapped(*x, &|v| Op::Reshape(v, shape.clone())),
            _ => Proven::Value(self.plain(op)?),
        })
    }

    fn summand(&mut self, v: ValueId, hold: Hold) -> Proven {
        match (self.form(v), hold) {
            (Proven::Value(x), Hold::Dup) => Proven::Sum { terms: vec![], rest: Some(x) },
            (Proven::Value(x), Hold::Public) => {
                let x = self.e.add(Op::Trivial(x));
                Proven::Sum { terms: vec![(x, None)], rest: None }
            }
            (Proven::Value(x), _) => Proven::Sum { terms: vec![(x, None)], rest: None },
            (sum, _) => sum,
        }
    }

    fn plus(&mut self, a: Proven, b: Proven) -> Proven {
        match (a, b) {
            (Proven::Sum { mut terms, rest }, Proven::Sum { terms: more, rest: other }) => {
                terms.extend(more);
                let rest = match (rest, other) {
                    (Some(a), Some(b)) => Some(self.e.add(Op::Add(a, b))),
                    (a, b) => a.or(b),
                };
                Proven::Sum { terms, rest }
            }
            _ => unreachable!("both are sums"),
        }
    }

    /// A sum times what two or all know.
    fn times(&mut self, sum: ValueId, factor: ValueId, hold: Hold) -> Proven {
        let by = self.value(factor);
        let Proven::Sum { terms, rest } = self.summand(sum, Hold::Add2) else {
            unreachable!("a sum")
        };
        let mut out = Vec::new();
        for (x, known) in terms {
            out.push(match (hold, known) {
                (Hold::Dup, Some(known)) => (x, Some(self.e.add(Op::Mul(known, by)))),
                (Hold::Dup, None) => (x, Some(by)),
                _ => (self.e.add(Op::Mul(x, by)), known),
            });
        }
        let rest = rest.map(|rest| self.e.add(Op::Mul(rest, by)));
        Proven::Sum { terms: out, rest }
    }

    /// Whether a sum has no term with a factor: such a one would have to be in the same ring.
    fn is_plain_sum(&self, v: ValueId) -> bool {
        match self.form(v) {
            Proven::Sum { terms, rest: None } => terms.iter().all(|(_, by)| by.is_none()),
            _ => false,
        }
    }

    /// A linear operation on every term.
    fn mapped(&mut self, v: ValueId, op: &dyn Fn(ValueId) -> Op) -> Proven {
        let sum = self.summand(v, Hold::Add2);
        self.each(sum, op)
    }

    /// The same of a sum; a layout is one of factors, too.
    fn each(&mut self, sum: Proven, op: &dyn Fn(ValueId) -> Op) -> Proven {
        let Proven::Sum { mut terms, rest } = sum else { unreachable!("a sum") };
        for (x, by) in &mut terms {
            *x = self.e.add(op(*x));
            if let (Some(by), Op::Reshape(..)) = (by, op(*x)) {
                *by = self.e.add(op(*by));
            }
        }
        Proven::Sum { terms, rest: rest.map(|x| self.e.add(op(x))) }
    }
}
