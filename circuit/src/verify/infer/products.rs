//! The types of sums of products: matrix products, convolutions, random inner products.

use super::{Rule, TypeError, aligned};
use crate::interaction::COINS;
use crate::limits::{MAX_ELEMENTS, MAX_TESTS};
use crate::{Conv, Dom, Hold, Op, SplitPart, Type};

impl Rule<'_> {
    /// Holder and ring of a matrix product or convolution.
    fn product(&self) -> Result<Type, TypeError> {
        let [a, b] = self.args[..] else { return Err(self.holders()) };
        let hold = match (a.hold, b.hold) {
            (Hold::Rep, Hold::Rep) => Hold::Add3,
            (Hold::Public, Hold::Public) => Hold::Public,
            (Hold::Public, h) | (h, Hold::Public) if h != Hold::Add3 => h,
            (Hold::Own, Hold::Own) => Hold::Own,
            (Hold::Dup, Hold::Dup) => Hold::Dup,
            (Hold::Add2, Hold::Dup) | (Hold::Dup, Hold::Add2) => Hold::Add2,
            _ => return Err(self.holders()),
        };
        if hold.is_sharded() {
            // A shard of the result is the product of a shard of each operand that is stored in shards.
            let groups = a.groups.max(b.groups);
            let cut = |t: &Type, other: &Type| match t.hold {
                Hold::Public => groups == 1 || t.shape.first() == Some(&1),
                _ => {
                    // Not along an axis that is summed over.
                    let by_batch = t.lead() == 0;
                    let by_row = t.lead() == 1 && other.hold == Hold::Public;
                    t.groups == groups && (groups == 1 || groups > 1 && (by_batch || by_row))
                }
            };
            let batches = a.hold == Hold::Public
                || b.hold == Hold::Public
                || groups == 1
                || a.shape.first() == b.shape.first();
            let rows = matches!(self.op, Op::Conv2d { .. }) || a.hold != Hold::Public;
            let left = groups == 1 || b.hold == Hold::Public || b.lead() == 0;
            self.shapes(
                cut(a, b) && cut(b, a) && batches && rows && left,
                "values stored in shards are cut alike, between batches of both, or rows or images of \
                 the left operand where the other is public and one for all",
            )?;
        }
        let ring = matches!(a.dom, Dom::Ring(_)) && a.dom == b.dom;
        self.domains(ring, "operands are over one ring")?;
        Ok(Type::new(hold, a.dom, []).grouped(a.groups.max(b.groups)))
    }

    pub(super) fn matmul(&self, trans_b: bool) -> Result<Type, TypeError> {
        let held = self.product()?;
        let want = "they are [B, M, K] and [B, K, N] (transposed: [B, N, K]), a B of 1 repeated";
        match self.args[..] {
            [a, b] => match (&a.shape[..], &b.shape[..]) {
                (&[ga, m, k], &[gb, p, q]) => {
                    let (kb, n) = if trans_b { (q, p) } else { (p, q) };
                    self.shapes(k == kb && aligned(&[ga], &[gb]), want)?;
                    Ok(Type { shape: vec![if ga == 1 { gb } else { ga }, m, n], ..held })
                }
                _ => Err(self.shape_error(want)),
            },
            _ => Err(self.holders()),
        }
    }

    pub(super) fn conv2d(&self, conv: &Conv) -> Result<Type, TypeError> {
        let held = self.product()?;
        if let Some(want) = conv.problem(MAX_ELEMENTS) {
            return Err(self.parameter(want));
        }
        match self.args[..] {
            [x, w] => match conv.shape(&x.shape, &w.shape) {
                Some(shape) => Ok(Type { shape: shape.to_vec(), ..held }),
                None => Err(self.shape_error(Conv::OPERANDS)),
            },
            _ => Err(self.holders()),
        }
    }

    pub(super) fn project(&self, tests: u64, part: SplitPart) -> Result<Type, TypeError> {
        let [x, coin] = self.args[..] else { return Err(self.holders()) };
        let whole = part == SplitPart::Whole;
        let held = if whole { x.hold != Hold::Add3 } else { x.hold == Hold::Rep };
        if !held || coin.hold != Hold::Public {
            return Err(self.holders());
        }
        let words = matches!(x.dom, Dom::Ring(_)) && coin.dom == COINS;
        self.domains(words, "words are projected, by coins in A128")?;
        let ok = coin.shape.is_empty();
        match x.shape[..] {
            [m, _] if ok => {
                self.need((1..=MAX_TESTS).contains(&tests), "there are 1 to 1024 tests")?;
                let (hold, groups) = match part {
                    SplitPart::Whole => return self.layout(x, vec![m, tests], x.lead() == 0),
                    SplitPart::Own(groups) => (Hold::Own, groups),
                    SplitPart::Dup(groups) => (Hold::Dup, groups),
                };
                let rows = groups == 1 || groups > 1 && m > 1;
                self.need(rows, "groups are of rows")?;
                Ok(Type::new(hold, x.dom, [m, tests]).grouped(groups))
            }
            _ => Err(self.shape_error("they are [m, d], and coins, which are a scalar")),
        }
    }
}
