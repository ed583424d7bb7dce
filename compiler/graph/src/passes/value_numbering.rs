//! Which entries of a tensor are equal, or each other's negative, by construction.
//!
//! Every entry has a number: entries with the same number are equal, with the opposite number each
//! other's negative, with number 0 zero. So x - y and y - x have opposite numbers and their squares the
//! same. Nothing is said of entries with other numbers.
//!
//! Entries are numbered in *blocks* of trailing axes (a squared distance of vectors of 10^5 entries
//! needs one number per vector): a block's number stands for all of its entries, in order.

use crate::analysis::behind::behind;
pub(super) use crate::analysis::layout::operand_blocks;
use crate::analysis::layout::{aligned, blocks, leading};
use crate::graph::{Class, Graph, Key, NodeId, Op, Table};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

/// Larger tensors are not numbered.
pub(super) const LIMIT: u64 = 1 << 20;

/// A fast hash for numbers that nobody chooses: there are millions of them.
#[derive(Default)]
pub(super) struct Mix(u64);

impl Mix {
    /// Folds the product with an odd number, so that numbers in steps do not collide.
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.mix(b.into()));
    }

    fn write_u32(&mut self, n: u32) {
        self.mix(n.into());
    }

    fn write_i64(&mut self, n: i64) {
        self.mix(n as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// What is known by number.
pub(super) type Numbered<T> = HashMap<i64, T, BuildHasherDefault<Mix>>;

/// A function of numbers.
#[derive(PartialEq, Eq, Hash)]
enum Function {
    /// A constant, by its bits.
    Value,
    /// An operation entry by entry.
    Op(Key),
    /// An inner product of two blocks.
    Dot,
    /// A sum of a block, or of two numbers.
    Sum,
}

/// Value numbers of nodes, made once each.
#[derive(Default)]
pub(super) struct ValueNumbers {
    /// Looked up, never iterated.
    known: HashMap<(u32, i64, i64, i64), i64, BuildHasherDefault<Mix>>,
    /// Numbers given so far: those of opaque entries are not looked up.
    given: i64,
    functions: HashMap<Function, u32>,
    of: HashMap<(NodeId, u64), Option<Rc<Vec<i64>>>>,
    plain: HashMap<NodeId, bool>,
}

/// For a layout operation with a table known at build: which block of its operand each block of it
/// is.
pub(super) fn sources(g: &Graph, id: NodeId, block: u64) -> Option<Vec<u32>> {
    let few = g.elements(id) / block <= LIMIT;
    if few { blocks(g, id, block) } else { None }
}

impl ValueNumbers {
    fn name(&mut self, function: Function) -> u32 {
        let next = self.functions.len() as u32;
        *self.functions.entry(function).or_insert(next)
    }

    /// The positive number of a function of numbers.
    fn make(&mut self, op: u32, [a, b, c]: [i64; 3]) -> i64 {
        let next = self.given + 1;
        let number = *self.known.entry((op, a, b, c)).or_insert(next);
        self.given = self.given.max(number);
        number
    }

    fn value(&mut self, x: f64) -> i64 {
        if x == 0.0 {
            return 0;
        }
        let op = self.name(Function::Value);
        let n = self.make(op, [x.abs().to_bits() as i64, 0, 0]);
        if x < 0.0 { -n } else { n }
    }

    /// The number of every block of a node; `None` where there are too many.
    pub(super) fn of(&mut self, g: &Graph, id: NodeId, block: u64) -> Option<Rc<Vec<i64>>> {
        if let Some(known) = self.of.get(&(id, block)) {
            return known.clone();
        }
        leading(g.shape(id), block)?;
        // Blocks without entries: sums of nothing.
        let rows = g.elements(id).checked_div(block)?;
        let found = (rows <= LIMIT).then(|| {
            self.derive(g, id, block).unwrap_or_else(|| {
                // Nobody asks twice for those of the same blocks.
                let first = self.given + 1;
                self.given += rows as i64;
                (first..first + rows as i64).collect()
            })
        });
        let found = found.map(Rc::new);
        self.of.insert((id, block), found.clone());
        found
    }

    /// Value numbers that follow from those of the operands.
    fn derive(&mut self, g: &Graph, id: NodeId, block: u64) -> Option<Vec<i64>> {
        let args = g.args(id);
        let rows = g.elements(id) / block;
        let op = g.op(id);
        match op.class() {
            Class::Leaf => {
                let Op::Const(t, ..) = op else { return None };
                if let Some(x) = t.as_splat() {
                    return Some(vec![self.value(x); rows as usize]);
                }
                (block == 1).then(|| t.data.iter().map(|&x| self.value(x)).collect())
            }
            Class::Layout => {
                let from = sources(g, id, block)?;
                let x = args[0];
                let fewer = (from.len() as u64) < g.elements(x) / block;
                if fewer && entrywise(g, x) && !self.of.contains_key(&(x, block)) {
                    return self.entries(g, x, block, from.iter().map(|&i| i as usize));
                }
                let x = self.of(g, x, block)?;
                Some(from.iter().map(|&i| x[i as usize]).collect())
            }
            _ if entrywise(g, id) => self.entries(g, id, block, 0..rows as usize),
            Class::Reduction => {
                let Op::Sum(axes) = op else { return None };
                self.sum(g, args[0], axes, block)
            }
            Class::Bilinear => {
                let Op::MatMul { trans_b } = op else { return None };
                if block != 1 {
                    return None;
                }
                let (a, b) = (g.shape(args[0]), g.shape(args[1]));
                if !trans_b && b[2] != 1 {
                    return None;
                }
                let (m, k) = (a[1], a[2]);
                let n = if *trans_b { b[1] } else { 1 };
                let (ab, bb) = (a[0], b[0]);
                // A column of one is a row.
                if !trans_b && k != 1 && leading(b, k).is_none() {
                    return None;
                }
                let (x, y) = (self.of(g, args[0], k)?, self.of(g, args[1], k)?);
                let name = self.name(Function::Dot);
                let mut out = Vec::with_capacity(rows as usize);
                for batch in 0..ab.max(bb) {
                    let (i, j) = (if ab == 1 { 0 } else { batch }, if bb == 1 { 0 } else { batch });
                    for row in 0..m {
                        for col in 0..n {
                            let p = x[(i * m + row) as usize];
                            let q = y[(j * n + col) as usize];
                            out.push(self.product(name, p, q));
                        }
                    }
                }
                Some(out)
            }
            _ => None,
        }
    }

    /// Numbers of these blocks of what is computed entry by entry.
    fn entries(
        &mut self,
        g: &Graph,
        id: NodeId,
        block: u64,
        which: impl Iterator<Item = usize>,
    ) -> Option<Vec<i64>> {
        let op = g.op(id);
        let mut operands = Vec::new();
        for &a in g.args(id) {
            let (own, from) = operand_blocks(g.shape(a), g.shape(id), block)?;
            operands.push((self.of(g, a, own)?, from));
        }
        let entry = |r: usize, i: usize| operands.get(i).map_or(0, |(n, from)| n[from[r] as usize]);
        let name = self.name(Function::Op(op.key()));
        let (add, one) = (self.name(Function::Op(Op::Add.key())), self.value(1.0));
        let each = |r| [entry(r, 0), entry(r, 1), entry(r, 2)];
        Some(which.map(|r| self.pointwise(op, name, add, one, each(r))).collect())
    }

    fn product(&mut self, name: u32, a: i64, b: i64) -> i64 {
        if a == 0 || b == 0 {
            return 0;
        }
        let (x, y) = (a.abs().min(b.abs()), a.abs().max(b.abs()));
        self.make(name, [x, y, 0]) * a.signum() * b.signum()
    }

    fn pointwise(&mut self, op: &Op, name: u32, add: u32, one: i64, of: [i64; 3]) -> i64 {
        let [a, b, c] = of;
        match op {
            Op::Neg => -a,
            Op::Abs => self.make_unless_zero(name, a.abs()),
            Op::Scale(x) if *x == 0.0 => 0,
            Op::Scale(_) => self.make_unless_zero(name, a.abs()) * a.signum(),
            Op::Add | Op::Sub => {
                let b = if *op == Op::Sub { -b } else { b };
                match (a, b) {
                    (0, x) | (x, 0) => x,
                    _ if a == -b => 0,
                    _ => {
                        // Of a sum and its negative, the one whose first term is positive.
                        let (x, y) = if a.abs() <= b.abs() { (a, b) } else { (b, a) };
                        let sign = x.signum();
                        self.make(add, [x * sign, y * sign, 0]) * sign
                    }
                }
            }
            Op::Mul if a == one => b,
            Op::Mul if b == one => a,
            Op::Mul => self.product(name, a, b),
            // Only the sign of the dividend: x / 0 has it whatever sign the divisor has that is 0.
            Op::Div => {
                let sign = if a == 0 { 1 } else { a.signum() };
                self.make(name, [a.abs(), b, 0]) * sign
            }
            Op::Lt if a == b => 0,
            Op::Lt => {
                let [x, y] = [a, b].min([-b, -a]);
                self.make(name, [x, y, 0])
            }
            Op::Eq if a == b => one,
            Op::Eq => {
                let sorted = |x: i64, y: i64| [x.min(y), x.max(y), 0];
                self.make(name, sorted(a, b).min(sorted(-a, -b)))
            }
            Op::And if a == b => a,
            Op::And if a == one => b,
            Op::And if b == one => a,
            Op::And => self.product(name, a, b),
            Op::Xor if a == b => 0,
            Op::Xor if a == 0 || b == 0 => a + b,
            Op::Xor => self.make(name, [a.min(b), a.max(b), 0]),
            Op::Select if b == c => b,
            Op::ToInt | Op::Relu => self.make_unless_zero(name, a),
            Op::Function(f) if f.facts().zero_at_zero => self.make_unless_zero(name, a),
            // Any other function of entries: equal ones of equal entries.
            op => {
                debug_assert!(op.is_pointwise());
                self.make(name, [a, b, c])
            }
        }
    }

    /// A function that is 0 at 0.
    fn make_unless_zero(&mut self, name: u32, a: i64) -> i64 {
        if a == 0 { 0 } else { self.make(name, [a, 0, 0]) }
    }

    fn sum(&mut self, g: &Graph, x: NodeId, axes: &[u64], block: u64) -> Option<Vec<i64>> {
        let shape = g.shape(x);
        let first = *axes.first()?;
        let trailing = axes.len() as u64 == shape.len() as u64 - first;
        let name = self.name(Function::Sum);
        if trailing && block == 1 {
            // The sum of a block is a function of the block.
            let inner = shape[first as usize..].iter().product();
            let x = self.of(g, x, inner)?;
            return Some(
                x.iter().map(|&n| self.make_unless_zero(name, n.abs()) * n.signum()).collect(),
            );
        }
        // Blocks below the summed axes.
        let t = leading(shape, block)?;
        if axes.iter().any(|&a| a as usize >= t) {
            return None;
        }
        let x = self.of(g, x, block)?;
        let mut kept = shape[..t].to_vec();
        axes.iter().for_each(|&axis| kept[axis as usize] = 1);
        let mut terms: Vec<Vec<i64>> = vec![Vec::new(); kept.iter().product::<u64>() as usize];
        for (i, &n) in (0..).zip(x.iter()) {
            terms[aligned(&kept, &shape[..t], i) as usize].push(n);
        }
        let mut out = Vec::with_capacity(terms.len());
        for mut row in terms {
            row.retain(|&n| n != 0);
            row.sort_unstable();
            out.push(row.into_iter().fold(0, |sum, n| self.make(name, [sum, n, 1])));
        }
        Some(out)
    }

    /// Whether no two entries are equal by construction, found without numbering any: true of what
    /// is opaque, and of what it is combined with entry by entry.
    pub(super) fn distinct(&mut self, g: &Graph, id: NodeId) -> bool {
        if let Some(&known) = self.plain.get(&id) {
            return known;
        }
        let args = g.args(id);
        let n = g.elements(id);
        let found = match g.op(id) {
            Op::Const(..) => n == 1,
            Op::Broadcast(_) => n == g.elements(args[0]) && self.distinct(g, args[0]),
            Op::Gather { .. } => match g.op(args[1]) {
                Op::Const(t, ..) => all_differ(t) && self.distinct(g, args[0]),
                _ => true,
            },
            Op::Sum(axes) => self.distinct(g, args[0]) || self.distinct_rows(g, args[0], axes),
            Op::Lt | Op::Eq if self.distinct_pairs(g, args[0], args[1], n) => true,
            Op::MatMul { .. } => {
                let whole = |a: NodeId| g.shape(a)[0] == g.shape(id)[0];
                let single = g.shape(id)[1] == 1 && g.shape(id)[2] == 1;
                let [x, y] = [self.distinct(g, args[0]), self.distinct(g, args[1])];
                let base = |a: NodeId| behind(g, a, Op::is_layout);
                if single {
                    (whole(args[0]) && x) || (whole(args[1]) && y)
                } else {
                    x && y && base(args[0]) != base(args[1])
                }
            }
            op => match op.class() {
                Class::Layout => self.distinct(g, args[0]),
                Class::Pointwise | Class::Function | Class::Rescale => {
                    args.iter().any(|&a| g.elements(a) == n && self.distinct(g, a))
                }
                // Opaque.
                Class::Leaf | Class::Bilinear | Class::Reduction | Class::Axis | Class::Concat => {
                    true
                }
            },
        };
        self.plain.insert(id, found);
        found
    }

    /// Whether the results of a comparison are different computations: it is of different pairs of entries of one value,
    /// or of each of some entries and each of some numbers.
    fn distinct_pairs(&mut self, g: &Graph, a: NodeId, b: NodeId, n: u64) -> bool {
        match (gathered(g, a), gathered(g, b)) {
            (Some((x, s)), Some((y, t))) => {
                let same = x == y && g.shape(a) == g.shape(b) && g.elements(a) == n;
                let pairs = s.data.iter().zip(t.data.iter());
                let pair = |(&i, &j): (&f64, &f64)| (i.min(j) as u64, i.max(j) as u64);
                let mut all: Vec<(u64, u64)> = pairs.map(pair).collect();
                all.sort_unstable();
                let full = |t: &Table| t.data.len() == t.len();
                let differ = all.windows(2).all(|w| w[0] != w[1]) && all.iter().all(|p| p.0 != p.1);
                same && full(s) && full(t) && differ && self.distinct(g, x)
            }
            (None, None) => {
                let mut numbers = |x: NodeId, others: NodeId| match g.op(others) {
                    Op::Const(t, ..) => all_differ(t) && self.distinct(g, x),
                    _ => false,
                };
                g.elements(a).checked_mul(g.elements(b)) == Some(n)
                    && (numbers(a, b) || numbers(b, a))
            }
            _ => false,
        }
    }

    /// Whether sums of rows that a table gathers, with or without signs, are different computations: no two have the
    /// same entries.
    fn distinct_rows(&mut self, g: &Graph, terms: NodeId, axes: &[u64]) -> bool {
        let shape = g.shape(terms);
        let [axis] = *axes else { return false };
        // Behind products and sums with tables.
        let mut at = terms;
        let gather = loop {
            let args = g.args(at);
            // A product leaves no entry out.
            let table = |x: NodeId| match (g.op(x), g.op(at)) {
                (Op::Const(t, ..), Op::Mul) => t.data.iter().all(|&c| c != 0.0),
                (Op::Const(..), op) => *op == Op::Add,
                _ => false,
            };
            at = match args[..] {
                [x, t] if table(t) => x,
                [t, x] if table(t) => x,
                _ => break at,
            };
        };
        let Some((x, t)) = gathered(g, gather) else { return false };
        let whole = axis as usize + 1 == shape.len() && g.shape(gather) == shape;
        let [rows, each] = t.shape[..] else { return false };
        if !whole || t.data.len() as u64 != rows * each || !self.distinct(g, x) {
            return false;
        }
        let sorted = |row: &[f64]| {
            let mut row: Vec<u64> = row.iter().map(|&i| i as u64).collect();
            row.sort_unstable();
            row
        };
        let mut all: Vec<Vec<u64>> = t.data.chunks(each.max(1) as usize).map(sorted).collect();
        all.sort_unstable();
        all.windows(2).all(|w| w[0] != w[1])
            && all.iter().all(|row| row.windows(2).all(|w| w[0] != w[1]))
    }
}

/// Whether each entry is a function of one entry of each operand.
fn entrywise(g: &Graph, id: NodeId) -> bool {
    matches!(g.op(id).class(), Class::Pointwise | Class::Function | Class::Rescale)
}

/// What a value takes by a table from the last axis of another, with the table.
fn gathered(g: &Graph, id: NodeId) -> Option<(NodeId, &Table)> {
    let Op::Gather { axis, batch: 0 } = g.op(id) else { return None };
    let (x, index) = (g.arg(id, 0), g.arg(id, 1));
    match g.op(index) {
        Op::Const(t, ..) if *axis as usize + 1 == g.shape(x).len() => Some((x, t)),
        _ => None,
    }
}

fn all_differ(t: &Table) -> bool {
    let mut seen: Vec<f64> = t.data.to_vec();
    seen.sort_by(f64::total_cmp);
    t.data.len() == t.len() && seen.windows(2).all(|w| w[0] != w[1])
}
