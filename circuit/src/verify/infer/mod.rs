//! The typing rule of every operation.

use super::super::{Dom, Hold, Op, Shape, SplitPart, Type, ValueId};
use super::{MAX_COMMITTEE, MAX_ELEMENTS, MAX_PLANES, MAX_RANK, MAX_TESTS};
use crate::tables::thermometer_planes;
use crate::types::RING_WIDTHS;
use thiserror::Error;

mod leaves;
mod tables;

/// An operation does not apply to its operands.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypeError {
    /// No rule for operands held like this.
    #[error("`{op}` does not apply to operands held as {held:?}")]
    Holders {
        /// The operation.
        op: &'static str,
        /// Holders of its operands.
        held: Vec<Hold>,
    },
    /// A domain that the operation does not take, or two that do not go together.
    #[error("`{op}` does not apply to {found:?}: {want}")]
    Domains {
        /// The operation.
        op: &'static str,
        /// Domains of its operands.
        found: Vec<Dom>,
        /// The rule.
        want: &'static str,
    },
    /// Shapes that do not go together.
    #[error("`{op}` does not apply to shapes {found:?}: {want}")]
    Shapes {
        /// The operation.
        op: &'static str,
        /// Shapes of its operands.
        found: Vec<Shape>,
        /// The rule.
        want: &'static str,
    },
    /// A parameter out of range.
    #[error("`{op}`: {want}")]
    Parameter {
        /// The operation.
        op: &'static str,
        /// The rule.
        want: &'static str,
    },
    /// Not a type, or one beyond the limits.
    #[error("{ty}: {want}")]
    Type {
        /// The type, as text.
        ty: String,
        /// The rule.
        want: &'static str,
    },
}

/// Whether a type is one: a ring width there is or 1 to 128 bits, at most 12 axes, and at most 2^34
/// elements, where an axis of size 0 counts as 1 (so that no product of sizes can overflow).
pub fn check_type(ty: &Type) -> Result<(), TypeError> {
    let want = match ty.dom {
        Dom::Ring(k) if !RING_WIDTHS.contains(&k) => "words have 8, 16, 32, 64 or 128 bits",
        Dom::Bits(w) if !(1..=MAX_PLANES).contains(&w) => "elements have 1 to 4096 bits",
        _ if ty.groups > 0 && !grouped(ty) => {
            "groups are of values stored in shards, and parts of the first axis that is not 1"
        }
        _ if ty.shape.len() > MAX_RANK => "too many axes",
        _ if !bounded(&ty.shape) => "too many elements",
        _ => return Ok(()),
    };
    Err(TypeError::Type { ty: ty.to_string(), want })
}

/// Whether groups are parts of the leading axis.
fn grouped(ty: &Type) -> bool {
    let size = ty.shape.get(ty.lead()).copied().unwrap_or(1);
    ty.hold.is_sharded() && size.is_multiple_of(u64::from(ty.groups))
}

/// Whether a shape has at most [`MAX_ELEMENTS`] elements, sizes 0 counted as 1.
pub(super) fn bounded(shape: &[u64]) -> bool {
    shape.iter().fold(1u64, |n, &d| n.saturating_mul(d.max(1))) <= MAX_ELEMENTS
}

/// The type of an operation's result, from the (checked) types of its operands; `None` for
/// [`Op::OpenTo`], which has no result. That the operand of an `OpenTo` fits the output, and that
/// public indices are in range, is not a matter of types.
///
/// # Errors
///
/// The rule that the operands break.
pub fn infer<'a>(op: &Op, types: &dyn Fn(ValueId) -> &'a Type) -> Result<Option<Type>, TypeError> {
    let args: Vec<&Type> = op.operands().into_iter().map(types).collect();
    let out = Rule { op, name: op.name(), args }.result()?;
    if let Some(ty) = &out {
        check_type(ty)?;
    }
    Ok(out)
}

struct Rule<'a> {
    op: &'a Op,
    name: &'static str,
    args: Vec<&'a Type>,
}

const ANY: [Hold; 7] =
    [Hold::Public, Hold::Rep, Hold::Add3, Hold::Own, Hold::Dup, Hold::Add2, Hold::Mask];
const KNOWN: [Hold; 3] = [Hold::Public, Hold::Own, Hold::Dup];

impl Rule<'_> {
    fn result(&self) -> Result<Option<Type>, TypeError> {
        Ok(Some(match self.op {
            Op::Add(..) | Op::Sub(..) | Op::Mul(..) => self.elementwise()?,
            Op::MatMul { trans_b, .. } => self.matmul(*trans_b)?,
            Op::Conv2d { stride, pad, .. } => self.conv2d(*stride, *pad)?,
            Op::Neg(_) | Op::Scale(..) => self.same(self.ring(&ANY)?.0),
            // The constant belongs to the other part of the split.
            Op::Offset(..) => self.same(self.ring(&ANY[..6])?.0),
            Op::Sum { axes, .. } => {
                let (x, _) = self.ring(&ANY)?;
                let ascending = axes.windows(2).all(|a| a[0] < a[1]);
                let inside = axes.last().is_none_or(|&a| a < x.shape.len() as u64);
                self.need(ascending && inside, "axes are ascending and axes of the operand")?;
                let kept = x.shape.iter().zip(0..).filter(|(_, i)| !axes.contains(i));
                let to = kept.map(|(&d, _)| d).collect::<Shape>();
                self.layout(x, to, !axes.contains(&(x.lead() as u64)))?
            }
            Op::Narrow(_, to) => {
                let (x, k) = self.ring(&ANY)?;
                self.need(*to <= k, "the new width is at most the old one")?;
                Type { dom: Dom::Ring(*to), ..x.clone() }
            }
            Op::Raise(_, to) => {
                let (x, k) = self.ring(&ANY)?;
                self.need(*to >= k, "the new width is at least the old one")?;
                Type { dom: Dom::Ring(*to), ..x.clone() }
            }
            Op::Extend(_, to) => {
                let (x, k) = self.ring(&KNOWN)?;
                self.need(*to >= k, "the new width is at least the old one")?;
                Type { dom: Dom::Ring(*to), ..x.clone() }
            }
            Op::Shr(_, n) => {
                let (x, k) = self.ring(&KNOWN)?;
                self.need(*n <= k, "the shift is at most the width")?;
                self.same(x)
            }
            Op::ToBits { lo, w, .. } => {
                let (x, k) = self.ring(&KNOWN)?;
                let end = lo.checked_add(*w);
                self.need(*w >= 1 && end.is_some_and(|e| e <= k), "the bits are in the word")?;
                Type { dom: Dom::Bits(*w), ..x.clone() }
            }
            Op::FromBits(_, k) => {
                let (x, w) = self.bits(&KNOWN)?;
                self.need(*k >= w, "the word has room for the bits")?;
                Type { dom: Dom::Ring(*k), ..x.clone() }
            }
            Op::Not(_) => {
                let (x, w) = self.bits(&ANY[..6])?;
                self.need(w <= 128, "it takes at most 128 planes")?;
                self.same(x)
            }
            Op::Planes { start, step, count, .. } => {
                let (x, w) = self.bits(&ANY)?;
                let last = u64::from(*start)
                    + u64::from(*step).saturating_mul(u64::from(count.saturating_sub(1)));
                let ok = *step >= 1 && *count >= 1 && last < u64::from(w);
                self.need(
                    ok,
                    "the planes are planes of the operand, at least one, step 1 or more",
                )?;
                Type { dom: Dom::Bits(*count), ..x.clone() }
            }
            Op::SelectPlanes(_, planes) => {
                let (x, w) = self.bits(&ANY)?;
                let ok = !planes.is_empty() && planes.iter().all(|&p| p < w);
                self.need(ok, "the planes are planes of the operand, at least one")?;
                let count = u32::try_from(planes.len()).unwrap_or(u32::MAX);
                Type { dom: Dom::Bits(count), ..x.clone() }
            }
            Op::Stack(_) => self.stack()?,
            Op::Reshape(_, to) => {
                let x = self.one(&ANY)?;
                let to = Type { shape: to.clone(), ..x.clone() };
                check_type(&to)?;
                let same = to.elements() == x.elements();
                self.shapes(same, "a reshape keeps the number of elements")?;
                to
            }
            Op::Transpose(_, perm) => {
                let x = self.one(&ANY)?;
                let mut seen = perm.clone();
                seen.sort_unstable();
                let ok = seen.iter().copied().eq(0..x.shape.len() as u64);
                self.need(ok, "the axes are a permutation of the operand's")?;
                let shape = perm.iter().filter_map(|&p| x.shape.get(p as usize).copied());
                let shape = shape.collect::<Shape>();
                let first = perm.get(super::super::lead(&shape)).copied();
                self.layout(x, shape, first.is_none_or(|a| a == x.lead() as u64))?
            }
            Op::Slice { axis, start, len, step, .. } => {
                let x = self.one(&ANY)?;
                let n = self.axis(x, *axis)?;
                let end = len.checked_sub(1).map_or(Some(*start), |l| {
                    l.checked_mul(*step)?.checked_add(*start)?.checked_add(1)
                });
                let ok = *step >= 1 && end.is_some_and(|e| e <= n);
                self.need(ok, "the indices are in the axis, step 1 or more")?;
                let to = self.with_axis(x, *axis, *len).shape;
                self.layout(x, to, *axis > x.lead() as u64)?
            }
            Op::Concat { axis, .. } => self.concat(*axis)?,
            Op::Broadcast(_, to) => {
                let x = self.one(&ANY)?;
                let fits = |(&d, &t): (&u64, &u64)| d == t || d == 1;
                let ok = x.shape.len() == to.len() && x.shape.iter().zip(to).all(fits);
                self.shapes(ok, "the rank is kept, and only axes of size 1 are repeated")?;
                self.layout(x, to.clone(), same_lead(&x.shape, to))?
            }
            Op::Gather { axis, batch, .. } => self.gather(*axis, *batch)?,
            Op::Own(_) => {
                let x = self.one(&[Hold::Rep, Hold::Mask])?;
                Type { hold: Hold::Own, ..x.clone() }
            }
            Op::Dup(_) => self.held(Hold::Rep, Hold::Dup)?,
            Op::AsAdd2(_) => {
                let x = self.one(&[Hold::Rep, Hold::Mask, Hold::Dup])?;
                Type { hold: Hold::Add2, ..x.clone() }
            }
            Op::MaskOf(_, groups) => self.held(Hold::Rep, Hold::Mask)?.grouped(*groups),
            Op::OwnOf(_, groups) => self.held(Hold::Rep, Hold::Own)?.grouped(*groups),
            Op::DupOf(_, groups) => self.held(Hold::Rep, Hold::Dup)?.grouped(*groups),
            Op::Join { .. } => {
                let b = self.pair(Hold::Mask, Hold::Dup)?;
                Type { hold: Hold::Rep, groups: 0, ..b.clone() }
            }
            Op::Mask { dom, shape, groups, .. } => {
                Type::new(Hold::Mask, *dom, shape.clone()).grouped(*groups)
            }
            Op::DealMask(_) => self.held(Hold::Own, Hold::Mask)?,
            Op::OpenMasked { .. } => {
                let mask = self.pair(Hold::Add2, Hold::Mask)?;
                Type { hold: Hold::Dup, ..mask.clone() }
            }
            Op::Thermometer { blocks, .. } => {
                let (x, w) = self.bits(&[Hold::Own, Hold::Public])?;
                self.blocks(blocks, w)?;
                Type { dom: Dom::Bits(thermometer_planes(blocks)), ..x.clone() }
            }
            Op::Pick { blocks, .. } => {
                let index = self.leaves(blocks, 0)?;
                let n = blocks.len() as u32;
                Type { hold: Hold::Add2, dom: Dom::Bits(2 * n - 1), ..index.clone() }
            }
            Op::Propagate { blocks, skip, .. } => {
                let index = self.leaves(blocks, *skip)?;
                Type { hold: Hold::Add2, dom: Dom::Bits(blocks.len() as u32), ..index.clone() }
            }
            Op::MaskProducts { gates, .. } => {
                let (x, w) = self.bits(&[Hold::Own])?;
                self.need(
                    gates.is_valid() && gates.inputs() == w,
                    "the pattern is for these planes",
                )?;
                let n = gates.mask_products();
                self.need(n >= 1, "the pattern has products")?;
                Type { dom: Dom::Bits(n), ..x.clone() }
            }
            Op::AndMany { gates, nodes, .. } => {
                let holds = [Hold::Dup, Hold::Add2, Hold::Add2, Hold::Add2];
                let given = if nodes.is_some() { 4 } else { 3 };
                let x = self.pair_shapes(&holds[..given])?;
                self.need(gates.is_valid(), "groups have 1 to 10 members")?;
                let linear = nodes.is_some() == gates.is_linear_in_some();
                self.need(linear, "it takes nodes where some are added or pass, and only there")?;
                let planes = [gates.inputs(), gates.inputs(), gates.mask_products(), gates.nodes()];
                let ok = self
                    .args
                    .iter()
                    .map(|a| a.dom)
                    .eq(planes[..given].iter().map(|&w| Dom::Bits(w)));
                self.domains(ok, "the pattern is for these planes")?;
                Type { hold: Hold::Add2, dom: Dom::Bits(gates.outputs()), ..x.clone() }
            }
            Op::Table { .. } => self.table()?,
            Op::Entry { .. } => self.entry()?,
            Op::ToPlanes(_) => {
                let (x, w) = self.bits(&ANY)?;
                let last = x.shape.len().wrapping_sub(1);
                let c = self.axis(x, last as u64)?;
                let planes = u64::from(w).saturating_mul(c).min(u64::from(u32::MAX));
                let to = self.with_axis(x, last as u64, 1).shape;
                let kept = self.layout(x, to, x.groups <= 1 || x.lead() < last)?;
                Type { dom: Dom::Bits(planes as u32), ..kept }
            }
            Op::AsAdd3(_) => {
                let x = self.one(&[Hold::Rep, Hold::Own, Hold::Add2])?;
                Type { hold: Hold::Add3, groups: 0, ..x.clone() }
            }
            Op::Trivial(_) => {
                let x = self.one(&[Hold::Dup, Hold::Public])?;
                Type { hold: Hold::Rep, groups: 0, ..x.clone() }
            }
            Op::Committee { n, k, .. } => {
                let coin = self.one(&[Hold::Public])?;
                self.domains(coin.dom == Dom::Ring(128), "coins are A128")?;
                self.shapes(coin.shape.is_empty(), "coins are a scalar")?;
                self.need(k < n && *n <= MAX_COMMITTEE, "fewer are drawn than there are members")?;
                Type::new(Hold::Public, Dom::Ring(32), [*n, *k])
            }
            Op::Admitted { members, .. } => Type::new(Hold::Public, Dom::Bits(1), [*members]),
            Op::Project { tests, part, .. } => self.project(*tests, *part)?,
            Op::Reshare(_) => self.held(Hold::Add3, Hold::Rep)?,
            Op::Input(_) => self.held(Hold::Own, Hold::Rep)?.grouped(0),
            Op::Deal(_) => self.held(Hold::Own, Hold::Add2)?,
            Op::ReshareTwo(_) => self.held(Hold::Add2, Hold::Rep)?.grouped(0),
            Op::Open(_) => self.held(Hold::Rep, Hold::Public)?,
            Op::OpenSum(_) => self.held(Hold::Add3, Hold::Public)?,
            Op::OpenTo { .. } => {
                self.ring(&[Hold::Add3])?;
                return Ok(None);
            }
            Op::Coin => Type::new(Hold::Public, Dom::Ring(128), []),
        }))
    }

    /// The only operand, if its holder is one of these.
    fn one(&self, holds: &[Hold]) -> Result<&Type, TypeError> {
        match self.args.first() {
            Some(x) if holds.contains(&x.hold) => Ok(x),
            _ => Err(self.holders()),
        }
    }

    fn ring(&self, holds: &[Hold]) -> Result<(&Type, u32), TypeError> {
        let x = self.one(holds)?;
        match x.dom {
            Dom::Ring(k) => Ok((x, k)),
            Dom::Bits(_) => Err(self.domain_error("it takes words")),
        }
    }

    fn bits(&self, holds: &[Hold]) -> Result<(&Type, u32), TypeError> {
        let x = self.one(holds)?;
        match x.dom {
            Dom::Bits(w) => Ok((x, w)),
            Dom::Ring(_) => Err(self.domain_error("it takes bits")),
        }
    }

    fn same(&self, x: &Type) -> Type {
        x.clone()
    }

    fn held(&self, from: Hold, to: Hold) -> Result<Type, TypeError> {
        Ok(Type { hold: to, ..self.one(&[from])?.clone() })
    }

    /// Two operands held so, over one domain, of one shape, cut alike; the second.
    fn pair(&self, first: Hold, second: Hold) -> Result<&Type, TypeError> {
        let x = self.pair_shapes(&[first, second])?;
        let same = self.args.iter().all(|a| a.dom == x.dom);
        self.domains(same, "operands are over one domain")?;
        Ok(x)
    }

    /// Operands held so, of one shape, cut alike; the last.
    fn pair_shapes(&self, holds: &[Hold]) -> Result<&Type, TypeError> {
        match self.args.last() {
            Some(&x) if self.args.iter().map(|a| a.hold).eq(holds.iter().copied()) => {
                let same = |a: &&Type| a.shape == x.shape && a.groups == x.groups;
                self.shapes(self.args.iter().all(same), "shapes are equal and cut alike")?;
                Ok(x)
            }
            _ => Err(self.holders()),
        }
    }

    /// A rearranged operand. One that is stored in shards must be cut between groups, and the axis that
    /// they are parts of stays where it is (`kept`); with one group there is nothing to keep.
    fn layout(&self, x: &Type, to: Shape, kept: bool) -> Result<Type, TypeError> {
        let to = Type { shape: to, ..x.clone() };
        let whole = !x.hold.is_sharded() || x.groups == 1;
        let ok = whole || x.groups > 0 && kept && grouped(&to);
        self.shapes(ok, "the axis that shards are parts of stays the first that is not 1")?;
        Ok(to)
    }

    fn axis(&self, x: &Type, axis: u64) -> Result<u64, TypeError> {
        let size = usize::try_from(axis).ok().and_then(|a| x.shape.get(a));
        size.copied().ok_or(TypeError::Parameter { op: self.name, want: "no such axis" })
    }

    fn with_axis(&self, x: &Type, axis: u64, size: u64) -> Type {
        let mut out = x.clone();
        if let Some(d) = out.shape.get_mut(axis as usize) {
            *d = size;
        }
        out
    }

    /// `add`, `sub`, `mul`.
    fn elementwise(&self) -> Result<Type, TypeError> {
        use Hold::*;
        let [a, b] = self.args[..] else { return Err(self.holders()) };
        let is_mul = matches!(self.op, Op::Mul(..));
        let hold = match (a.hold, b.hold) {
            (Public, h) | (h, Public) if h != Mask => h,
            (Rep, Rep) if is_mul => Add3,
            (Own, Own) => Own,
            (Dup, Dup) => Dup,
            (Add2, Dup) | (Dup, Add2) => Add2,
            (Mask, Mask) if !is_mul => Mask,
            (Public, Mask) | (Mask, Public) if is_mul => Mask,
            (Rep, Rep) if !is_mul => Rep,
            (Add3, Add3) | (Add3, Rep) | (Rep, Add3) if !is_mul => Add3,
            (Add2, Add2) if !is_mul => Add2,
            _ => return Err(self.holders()),
        };
        let dom = match (a.dom, b.dom) {
            (Dom::Ring(k), Dom::Ring(l)) if k == l => Dom::Ring(k),
            (Dom::Bits(_), Dom::Bits(_)) if matches!(self.op, Op::Sub(..)) => {
                return Err(self.domain_error("it takes words"));
            }
            (Dom::Bits(v), Dom::Bits(w)) if v == w || (is_mul && (v == 1 || w == 1)) => {
                Dom::Bits(v.max(w))
            }
            _ => return Err(self.domain_error("operands are over one domain")),
        };
        self.shapes(aligned(&a.shape, &b.shape), "operands are aligned")?;
        let shape: Shape =
            a.shape.iter().zip(&b.shape).map(|(&x, &y)| if x == 1 { y } else { x }).collect();
        let groups = a.groups.max(b.groups);
        if hold.is_sharded() {
            // The parties store such values in shards, which broadcasting would cut elsewhere.
            let scalar = |t: &Type| t.hold == Public && t.shape.iter().all(|&d| d == 1);
            let cut = |t: &Type| {
                let alike = t.hold == Public || t.groups == groups;
                alike && (groups == 1 || groups > 0 && leads(&t.shape, &shape, t.hold == Public))
            };
            let fits = |t: &Type| t.shape == shape && (t.hold == Public || t.groups == groups);
            self.shapes(
                [a, b].iter().all(|t| fits(t) || scalar(t) || cut(t)),
                "on values stored in shards shapes are equal, or axes other than the one that \
                 shards are parts of repeated, or one operand a public scalar",
            )?;
        }
        Ok(Type { hold, dom, shape, groups })
    }

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

    fn matmul(&self, trans_b: bool) -> Result<Type, TypeError> {
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

    fn conv2d(&self, stride: u64, pad: u64) -> Result<Type, TypeError> {
        let held = self.product()?;
        self.need(stride >= 1, "the stride is at least 1")?;
        self.need(pad <= MAX_ELEMENTS, "the padding is too large")?;
        let want = "they are [G, N, C, H, W] and [G, O, C, kh, kw], a G of 1 repeated, and the \
                    kernel is not empty and fits the padded image";
        match self.args[..] {
            [x, w] => match (&x.shape[..], &w.shape[..]) {
                (&[gx, n, cx, h, width], &[gw, o, cw, kh, kw]) => {
                    // Sizes are at most 2^34 and so is the padding: no overflow.
                    let out = |n: u64, k: u64| Some((n + 2 * pad).checked_sub(k)? / stride + 1);
                    let fits = cx == cw && aligned(&[gx], &[gw]) && kh >= 1 && kw >= 1;
                    match (out(h, kh), out(width, kw)) {
                        (Some(oh), Some(ow)) if fits => {
                            let g = if gx == 1 { gw } else { gx };
                            Ok(Type { shape: vec![g, n, o, oh, ow], ..held })
                        }
                        _ => Err(self.shape_error(want)),
                    }
                }
                _ => Err(self.shape_error(want)),
            },
            _ => Err(self.holders()),
        }
    }

    fn stack(&self) -> Result<Type, TypeError> {
        let (first, _) = self.bits(&ANY)?;
        let mut w = 0u32;
        for x in &self.args {
            let Dom::Bits(planes) = x.dom else { return Err(self.domain_error("it takes bits")) };
            w = w.saturating_add(planes);
        }
        self.same_holders()?;
        let same = |x: &&Type| x.shape == first.shape && x.groups == first.groups;
        self.shapes(self.args.iter().all(same), "shapes are equal and cut alike")?;
        Ok(Type { dom: Dom::Bits(w), ..first.clone() })
    }

    fn concat(&self, axis: u64) -> Result<Type, TypeError> {
        let first = self.one(&ANY)?;
        self.same_holders()?;
        self.domains(self.args.iter().all(|x| x.dom == first.dom), "one domain")?;
        let mut size = 0u64;
        for x in &self.args {
            // Equal but for the axis.
            let fits = self.with_axis(x, axis, 0).shape == self.with_axis(first, axis, 0).shape;
            self.shapes(fits && x.groups == first.groups, "all axes but one are equal")?;
            size = size.saturating_add(self.axis(x, axis)?);
        }
        let to = self.with_axis(first, axis, size).shape;
        let kept = self.args.iter().all(|x| axis > x.lead() as u64 && x.lead() == first.lead());
        self.layout(first, to, kept)
    }

    fn gather(&self, axis: u64, batch: u64) -> Result<Type, TypeError> {
        let [x, index] = self.args[..] else { return Err(self.holders()) };
        if index.hold != Hold::Public {
            return Err(self.holders());
        }
        self.domains(matches!(index.dom, Dom::Ring(_)), "indices are words")?;
        self.axis(x, axis)?;
        self.need(batch <= axis, "the axis is not one of the shared ones")?;
        let (axis, batch) = (axis as usize, batch as usize);
        let shared = index.shape.get(..batch) == x.shape.get(..batch);
        self.shapes(shared, "the leading axes are shared")?;
        let shape = [&x.shape[..axis], &index.shape[batch..], &x.shape[axis + 1..]].concat();
        self.layout(x, shape, axis > x.lead() && batch <= x.lead())
    }

    fn project(&self, tests: u64, part: SplitPart) -> Result<Type, TypeError> {
        let [x, coin] = self.args[..] else { return Err(self.holders()) };
        let whole = part == SplitPart::Whole;
        let held = if whole { x.hold != Hold::Add3 } else { x.hold == Hold::Rep };
        if !held || coin.hold != Hold::Public {
            return Err(self.holders());
        }
        let words = matches!(x.dom, Dom::Ring(_)) && coin.dom == Dom::Ring(128);
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

    fn same_holders(&self) -> Result<(), TypeError> {
        match self.args.windows(2).all(|x| x[0].hold == x[1].hold) {
            true => Ok(()),
            false => Err(self.holders()),
        }
    }

    fn holders(&self) -> TypeError {
        TypeError::Holders { op: self.name, held: self.args.iter().map(|x| x.hold).collect() }
    }

    fn domain_error(&self, want: &'static str) -> TypeError {
        let found = self.args.iter().map(|x| x.dom).collect();
        TypeError::Domains { op: self.name, found, want }
    }

    fn shape_error(&self, want: &'static str) -> TypeError {
        let found = self.args.iter().map(|x| x.shape.clone()).collect();
        TypeError::Shapes { op: self.name, found, want }
    }

    fn domains(&self, ok: bool, want: &'static str) -> Result<(), TypeError> {
        if ok { Ok(()) } else { Err(self.domain_error(want)) }
    }

    fn shapes(&self, ok: bool, want: &'static str) -> Result<(), TypeError> {
        if ok { Ok(()) } else { Err(self.shape_error(want)) }
    }

    fn need(&self, ok: bool, want: &'static str) -> Result<(), TypeError> {
        if ok { Ok(()) } else { Err(TypeError::Parameter { op: self.name, want }) }
    }
}

/// Whether the first axis that is not 1 is the same axis, of the same size.
fn same_lead(from: &[u64], to: &[u64]) -> bool {
    let axis = super::super::lead(to);
    from.get(axis) == to.get(axis)
}

/// Whether an aligned operand has all of the result's first axis that is not 1, or, if it is known to all,
/// 1 there.
fn leads(from: &[u64], to: &[u64], public: bool) -> bool {
    let axis = super::super::lead(to);
    same_lead(from, to) || public && from.get(axis) == Some(&1)
}

/// Equal rank, and each axis of equal size or of size 1 in one of them.
fn aligned(a: &[u64], b: &[u64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&x, &y)| x == y || x == 1 || y == 1)
}
