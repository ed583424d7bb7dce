//! The typing rule of every operation.

mod check;
mod error;
mod leaves;
mod products;
mod tables;

pub(super) use check::bounded;
pub use check::check_type;
pub use error::TypeError;

use crate::interaction::{COINS, Interaction};
use crate::limits::{MAX_COMMITTEE, MAX_DRAWN};
use crate::pairs::MAX_PAIRED;
use crate::tables::thermometer_planes;
use crate::{Dom, Hold, Op, Shape, Type, ValueId, lead, low_mask};
use check::grouped;

/// The type of an operation's result, from the (checked) types of its operands; `None` for
/// [`Op::OpenTo`], [`Op::Keep`], [`Op::Prove`] and [`Op::BeginProof`], which have no result. That the operand of an
/// `OpenTo` fits the output, and that public indices are in range, is not a matter of types.
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

const ANY: [Hold; 7] = Hold::ALL;
const UNMASKED: [Hold; 6] = [Hold::Public, Hold::Rep, Hold::Add3, Hold::Own, Hold::Dup, Hold::Add2];
const KNOWN: [Hold; 3] = [Hold::Public, Hold::Own, Hold::Dup];

impl Rule<'_> {
    fn result(&self) -> Result<Option<Type>, TypeError> {
        Ok(Some(match self.op {
            Op::Add(..) | Op::Sub(..) | Op::Mul(..) => self.elementwise()?,
            Op::MatMul { trans_b, .. } => self.matmul(*trans_b)?,
            Op::Conv2d { conv, .. } => self.conv2d(conv)?,
            Op::Neg(_) | Op::Scale(..) => self.ring(&ANY)?.0.clone(),
            // The constant belongs to the other part of the split.
            Op::Offset(..) => self.ring(&UNMASKED)?.0.clone(),
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
                x.clone()
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
                let (x, w) = self.bits(&UNMASKED)?;
                self.need(w <= 128, "it takes at most 128 planes")?;
                x.clone()
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
            Op::Random { dom, shape, .. } => Type::new(Hold::Rep, *dom, shape.clone()),
            Op::Xors { rows, .. } => {
                let (x, w) = self.bits(&ANY)?;
                let stride = w.div_ceil(32) as usize;
                let (last, rest) = (stride - 1, w % 32);
                let fits = |row: &[u32]| rest == 0 || row.get(last).is_none_or(|l| l >> rest == 0);
                let whole = !rows.is_empty() && rows.len().is_multiple_of(stride);
                let ok = whole && rows.chunks(stride).all(fits);
                self.need(ok, "rows name planes of the operand, at least one row")?;
                let count = u32::try_from(rows.len() / stride).unwrap_or(u32::MAX);
                Type { dom: Dom::Bits(count), ..x.clone() }
            }
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
                let first = perm.get(lead(&shape)).copied();
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
            Op::Load { start, len, .. } => {
                let x = self.one(&[Hold::Rep])?;
                let members = self.axis(x, 0)?;
                let end = start.checked_add(*len);
                let ok = *len >= 1 && end.is_some_and(|e| e <= members);
                self.need(ok, "the members are members of the input's set, at least one")?;
                self.with_axis(x, 0, *len)
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
                let x = self.one(&[Hold::Rep, Hold::Mask, Hold::Add3])?;
                Type { hold: Hold::Own, ..x.clone() }
            }
            Op::Dup(_) => self.held(Hold::Rep, Hold::Dup)?,
            Op::AsAdd2(_) => {
                let x = self.one(&[Hold::Rep, Hold::Mask, Hold::Dup, Hold::Add3])?;
                Type { hold: Hold::Add2, ..x.clone() }
            }
            Op::MaskOf(_, groups) => self.held(Hold::Rep, Hold::Mask)?.grouped(*groups),
            Op::OwnOf(_, groups) => {
                let x = self.one(&[Hold::Rep, Hold::Add3])?;
                Type { hold: Hold::Own, ..x.clone() }.grouped(*groups)
            }
            Op::AsAdd2Of(_, groups) => {
                let x = self.one(&[Hold::Rep, Hold::Add3])?;
                Type { hold: Hold::Add2, ..x.clone() }.grouped(*groups)
            }
            Op::DupOf(_, groups) => self.held(Hold::Rep, Hold::Dup)?.grouped(*groups),
            Op::Join { .. } => {
                let b = self.pair(Hold::Mask, Hold::Dup)?;
                Type { hold: Hold::Rep, groups: 0, ..b.clone() }
            }
            Op::Mask { dom, shape, groups, .. } => {
                Type::new(Hold::Mask, *dom, shape.clone()).grouped(*groups)
            }
            Op::Thermometer { blocks, .. } => {
                let (x, w) = self.bits(&[Hold::Own, Hold::Dup, Hold::Public])?;
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
                let x = self.held_as(&holds[..given])?;
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
                self.coin()?;
                self.need(k < n && *n <= MAX_COMMITTEE, "fewer are drawn than there are members")?;
                Type::new(Hold::Public, Dom::Ring(32), [*n, *k])
            }
            Op::Admitted { members, .. } => Type::new(Hold::Public, Dom::Bits(1), [*members]),
            Op::Pairs { table, n, dom } => {
                self.need((2..=MAX_PAIRED).contains(n), "pairs are of 2 to 2^16 members")?;
                let Dom::Ring(k) = *dom else {
                    return Err(self.domain_error("it makes words"));
                };
                let fits = table.range(*n).1 as u128 <= low_mask(k);
                self.need(fits, "the words hold the table's entries")?;
                Type::new(Hold::Public, *dom, table.shape(*n))
            }
            Op::Draw { rows, n, k, .. } => {
                self.coin()?;
                self.need(k <= n && *n <= MAX_DRAWN, "no more are drawn than there are numbers")?;
                Type::new(Hold::Public, Dom::Ring(32), [*rows, *k])
            }
            Op::Keep { .. } => {
                self.one(&[Hold::Rep])?;
                return Ok(None);
            }
            Op::Prove | Op::BeginProof => return Ok(None),
            Op::Places { n, .. } => {
                let (x, k) = self.ring(&[Hold::Public])?;
                let Some((&places, rows)) = x.shape.split_last() else {
                    return Err(self.shape_error("the index has an axis"));
                };
                self.need(
                    u128::from(places) <= low_mask(k),
                    "the words hold the number of places",
                )?;
                let shape = [rows, &[*n]].concat();
                Type::new(Hold::Public, x.dom, shape)
            }
            Op::Project { tests, part, .. } => self.project(*tests, *part)?,
            Op::Reshare(_)
            | Op::Input(_)
            | Op::Deal(_)
            | Op::DealMask(_)
            | Op::ReshareTwo(_)
            | Op::OpenMasked { .. }
            | Op::Open(_)
            | Op::OpenSum(_)
            | Op::OpenTo { .. }
            | Op::Coin => match self.op.interaction() {
                Some(interaction) => return self.interaction(interaction),
                None => unreachable!("these operations are interactive"),
            },
        }))
    }

    /// By the table of interactions: operands held as its row says, of one domain and shape, and cut alike.
    fn interaction(&self, row: &Interaction) -> Result<Option<Type>, TypeError> {
        let mut ty = Type::new(Hold::Public, COINS, []);
        if let [first, others @ ..] = &self.args[..] {
            self.held_as(row.from)?;
            self.domains(
                others.iter().all(|x| x.dom == first.dom),
                "operands are over one domain",
            )?;
            ty = Type::clone(first);
        }
        if row.words_only {
            self.domains(matches!(ty.dom, Dom::Ring(_)), "it takes words")?;
        }
        Ok(row.to.map(|hold| {
            let groups = if hold.is_sharded() { ty.groups } else { 0 };
            Type { hold, groups, ..ty }
        }))
    }

    /// Of coins alone.
    fn coin(&self) -> Result<(), TypeError> {
        let coin = self.one(&[Hold::Public])?;
        self.domains(coin.dom == COINS, "coins are A128")?;
        self.shapes(coin.shape.is_empty(), "coins are a scalar")
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

    fn held(&self, from: Hold, to: Hold) -> Result<Type, TypeError> {
        Ok(Type { hold: to, ..self.one(&[from])?.clone() })
    }

    /// Two operands held so, over one domain, of one shape, cut alike; the second.
    fn pair(&self, first: Hold, second: Hold) -> Result<&Type, TypeError> {
        let x = self.held_as(&[first, second])?;
        let same = self.args.iter().all(|a| a.dom == x.dom);
        self.domains(same, "operands are over one domain")?;
        Ok(x)
    }

    /// Operands held so, of one shape, cut alike; the last.
    fn held_as(&self, holds: &[Hold]) -> Result<&Type, TypeError> {
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
        if ok { Ok(()) } else { Err(self.parameter(want)) }
    }

    fn parameter(&self, want: &'static str) -> TypeError {
        TypeError::Parameter { op: self.name, want }
    }
}

/// Whether the first axis that is not 1 is the same axis, of the same size.
fn same_lead(from: &[u64], to: &[u64]) -> bool {
    let axis = lead(to);
    from.get(axis) == to.get(axis)
}

/// Whether an aligned operand has all of the result's first axis that is not 1, or, if it is known to all,
/// 1 there.
fn leads(from: &[u64], to: &[u64], public: bool) -> bool {
    let axis = lead(to);
    same_lead(from, to) || public && from.get(axis) == Some(&1)
}

/// Equal rank, and each axis of equal size or of size 1 in one of them.
fn aligned(a: &[u64], b: &[u64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&x, &y)| x == y || x == 1 || y == 1)
}
