//! Weighted means: what is divided is the sum of products with the terms of the divisor.
//!
//! `sum(b[i] * u[i]) / sum(b)` lies within the values u if no weight b is negative, and so does `sum(b[i] / sum(b) *
//! u[i])`. Both are read entry by entry: which words are added up for each entry of the divisor, and by which the
//! products are made. So it does not matter how a program has written the sums, nor what has moved or copied their
//! entries since.
//!
//! A cosine is cut instead (`passes/unit.rs`): it is one number for each pair of clients, where a mean has as many
//! entries as a model has weights.
//!
//! Sums and products of words are exact in a run. So the dividend is a mean of words of u times a sum of words of b,
//! except for its truncations, each of which is off by less than a unit; and where the sum of words is 0 all its words
//! are, and the dividend is 0 as well. Of a divisor that was truncated the last is not true: [`Mean::divisor_off`] says
//! so.

use super::behind::{doubled, rescaled};
use super::layout::{Layout, aligned, digits, operand_blocks, summed};
use super::products::{Factor, Products};
use crate::graph::{Graph, NodeId, Op};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::iter;
use std::rc::Rc;

/// Entries of weights that are read for one mean: one for each pair of 128 clients. Of each its word is looked up, that
/// of its term in the divisor, and what these are behind truncations: four times as many.
const ENTRIES: usize = 1 << 14;

/// A quotient that is a weighted mean, or a sum of products that is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean {
    /// What is averaged; nothing if the dividend is weights themselves, as in a share.
    pub values: Option<NodeId>,
    /// The mean is multiplied by 2^this.
    pub power: i64,
    /// Whether the divisor has terms that the dividend has not: these count as values of 0.
    pub rest: bool,
    /// What the dividend may be off by, in real units.
    pub dividend_off: f64,
    /// What the divisor may be off by.
    pub divisor_off: f64,
    /// What the weights are entries of.
    pub weights: Vec<NodeId>,
}

/// Shares of a sum by which values are multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct Blend {
    /// The mean; its dividend is exact.
    pub mean: Mean,
    pub shares: Vec<NodeId>,
    /// How many of them are added up.
    pub terms: u64,
    /// Each is multiplied by 2^this.
    pub power: i64,
    /// What each may be off by after that, in real units.
    pub off: f64,
    /// What they are divided by.
    pub divisors: Vec<NodeId>,
}

/// An entry of a node, times a power of two.
type Word = (NodeId, u64, i64);
/// The words that an entry adds up, in order, and what their sum may be off by.
type Divisor = Rc<(Vec<Word>, f64)>;

/// What has been read of a graph's quotients and products: each is read once, whatever is known of the signs of
/// weights.
#[derive(Default)]
pub struct Means {
    quotients: RefCell<HashMap<(NodeId, NodeId), Vec<Mean>>>,
    blends: RefCell<HashMap<NodeId, Vec<Blend>>>,
}

impl Means {
    /// Whether x / y is a weighted mean, entry by entry. `not_negative` says of a node whether none of its entries is
    /// negative.
    pub fn quotient(
        &self,
        g: &Graph,
        x: NodeId,
        y: NodeId,
        not_negative: impl Fn(NodeId) -> bool,
    ) -> Option<Mean> {
        let mut known = self.quotients.borrow_mut();
        let all = known.entry((x, y)).or_insert_with(|| quotients(g, x, y));
        all.iter().find(|mean| mean.weights.iter().all(|&w| not_negative(w))).cloned()
    }

    /// Whether a matrix product averages its right side by shares of sums.
    pub fn blend(
        &self,
        g: &Graph,
        id: NodeId,
        not_negative: impl Fn(NodeId) -> bool,
    ) -> Option<Blend> {
        let mut known = self.blends.borrow_mut();
        let all = known.entry(id).or_insert_with(|| blends(g, id));
        all.iter().find(|blend| blend.mean.weights.iter().all(|&w| not_negative(w))).cloned()
    }
}

/// The ways in which x / y is a weighted mean if no weight is negative.
fn quotients(g: &Graph, x: NodeId, y: NodeId) -> Vec<Mean> {
    let fits = |(a, b): (&u64, &u64)| a == b || *b == 1;
    let (from, to) = (g.shape(y), g.shape(x));
    if from.len() != to.len() || !to.iter().zip(from).all(fits) {
        return Vec::new();
    }
    let base = Reader::new(g).base(x);
    let means = weighted(g, base.id);
    let means = means.iter().filter_map(|p| Reader::new(g).mean(p, &base, y, to));
    means.chain(Reader::new(g).share(x, y)).collect()
}

/// The ways in which a matrix product is a [`Blend`] if no weight is negative.
fn blends(g: &Graph, id: NodeId) -> Vec<Blend> {
    let Op::MatMul { .. } = g.op(id) else { return Vec::new() };
    weighted(g, id).iter().filter_map(|p| Reader::new(g).blend(p)).collect()
}

/// A sum of products of weights and values. Of each block of entries of the result, all have the same weights.
struct Weighted {
    weights: Factor,
    values: NodeId,
    /// Axes of the result of more than one entry.
    sizes: Vec<u64>,
    block: u64,
    blocks: u64,
}

impl Weighted {
    /// The entries of weights of each block.
    fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = u64>> {
        (0..self.blocks).map(|j| {
            let moved = self.weights.moved(&digits(&self.sizes, j * self.block));
            self.weights.places.iter().map(move |place| place + moved)
        })
    }
}

/// The ways in which a node is a sum of products by weights.
fn weighted(g: &Graph, id: NodeId) -> Vec<Weighted> {
    let Some(Products { sizes, factors }) = Products::of(g, id, ENTRIES as u64) else {
        return Vec::new();
    };
    let nodes = factors.each_ref().map(|factor| factor.node);
    let side = |(i, weights): (usize, Factor)| {
        let block = block(g, id, i)?;
        let blocks = g.elements(id).checked_div(block)?;
        let listed = match g.op(id) {
            Op::Sum(_) => g.elements(g.arg(id, 0)),
            _ => blocks.saturating_mul(weights.places.len() as u64),
        };
        let few = listed <= ENTRIES as u64;
        let (sizes, values) = (sizes.clone(), nodes[1 - i]);
        few.then_some(Weighted { weights, values, sizes, block, blocks })
    };
    factors.into_iter().enumerate().filter_map(side).collect()
}

/// How many entries in a row of a sum of products have the same entries of side i.
fn block(g: &Graph, id: NodeId, i: usize) -> Option<u64> {
    match (g.op(id), g.shape(id)) {
        // Entries of one row of the result have the same row of the left side.
        (Op::MatMul { .. }, &[_, _, columns]) if i == 0 => Some(columns),
        // Those of one column are in a row if there is one column. Each is by itself if there is one row.
        (Op::MatMul { .. }, &[_, rows, 1]) => Some(rows),
        (Op::MatMul { .. }, &[_, 1, _]) => Some(1),
        (Op::MatMul { .. }, _) => None,
        // The trailing axes of which the weights have one entry.
        (Op::Mul, shape) => {
            let own = g.shape(g.arg(id, i));
            let wide = own.iter().rposition(|&n| n != 1).map_or(0, |d| d + 1);
            Some(shape.get(wide..)?.iter().product())
        }
        _ => Some(1),
    }
}

/// What a value is behind changes of scale, truncations and reshapes.
struct Base {
    id: NodeId,
    power: i64,
    off: f64,
}

struct Reader<'g> {
    g: &'g Graph,
    layouts: RefCell<HashMap<NodeId, Option<Layout<'g>>>>,
    /// What is known of divisors.
    divisors: RefCell<HashMap<Word, Option<Divisor>>>,
    /// Entries that may still be read.
    left: Cell<usize>,
}

impl<'g> Reader<'g> {
    fn new(g: &'g Graph) -> Reader<'g> {
        Reader {
            g,
            layouts: RefCell::default(),
            divisors: RefCell::default(),
            left: Cell::new(4 * ENTRIES),
        }
    }

    /// One unit of a node in the last place; without scales nothing is rounded.
    fn unit(&self, id: NodeId) -> f64 {
        self.g.ty(id).frac.map_or(0.0, |frac| (-f64::from(frac)).exp2())
    }

    fn base(&self, mut id: NodeId) -> Base {
        let (mut power, mut off) = (0, 0.0);
        loop {
            let scale = (power as f64).exp2();
            match self.g.op(id) {
                Op::Reshape(_) => {}
                Op::Trunc(_) => off += self.unit(id) * scale,
                op => match doubled(op) {
                    Some(by) => power += by,
                    None => return Base { id, power, off },
                },
            }
            id = self.g.arg(id, 0);
        }
    }

    /// The word that an entry is, behind layouts and changes of scale.
    fn word(&self, (mut id, mut at, mut power): Word) -> Option<Word> {
        self.left.set(self.left.get().checked_sub(1)?);
        let mut layouts = self.layouts.borrow_mut();
        loop {
            let (base, by) = rescaled(self.g, id, |_| false);
            power += by;
            let layout = layouts.entry(base).or_insert_with(|| Layout::of(self.g, base));
            let Some(layout) = layout else { return Some((base, at, power)) };
            let (operand, from) = layout.origin(at);
            (id, at) = (self.g.arg(base, operand), from);
        }
    }

    /// The terms of an entry of a divisor. A term that was truncated is a word of its own.
    fn divisor(&self, at: Word) -> Option<Divisor> {
        if let Some(known) = self.divisors.borrow().get(&at) {
            return known.clone();
        }
        let found = self.read_divisor(at).map(Rc::new);
        self.divisors.borrow_mut().insert(at, found.clone());
        found
    }

    fn read_divisor(&self, at: Word) -> Option<(Vec<Word>, f64)> {
        let (word, off) = self.untruncated(at)?;
        let mut terms = self.terms(word)?;
        terms.sort_unstable();
        Some((terms, off))
    }

    /// The word that an entry is behind truncations, too, and what these may be off by.
    fn untruncated(&self, at: Word) -> Option<(Word, f64)> {
        let (mut word, mut off) = (self.word(at)?, 0.0);
        while let (id, at, power) = word
            && let Op::Trunc(_) = self.g.op(id)
        {
            off += self.unit(id) * (power as f64).exp2();
            word = self.word((self.g.arg(id, 0), at, power))?;
        }
        Some((word, off))
    }

    /// The words that are added up for an entry. Sums may be deeper than a stack is.
    fn terms(&self, at: Word) -> Option<Vec<Word>> {
        let (g, mut open, mut terms) = (self.g, vec![at], Vec::new());
        while let Some(at) = open.pop() {
            let (id, at, power) = self.word(at)?;
            match g.op(id) {
                Op::Sum(axes) => {
                    let part = g.arg(id, 0);
                    let from = summed(g.shape(part), axes, at);
                    open.extend(from.into_iter().map(|from| (part, from, power)));
                }
                Op::Add => open.extend(g.args(id).iter().map(|&part| {
                    let from = aligned(g.shape(part), g.shape(id), at);
                    (part, from, power)
                })),
                _ => terms.push((id, at, power)),
            }
        }
        Some(terms)
    }

    /// A quotient of single weights and their sum.
    fn share(&self, x: NodeId, y: NodeId) -> Option<Mean> {
        let (from, to) = (self.g.shape(y), self.g.shape(x));
        let all = self.g.elements(x);
        let is_sum = matches!(self.g.op(self.base(y).id), Op::Sum(_) | Op::Add);
        if !is_sum || all > ENTRIES as u64 {
            return None;
        }
        let rows = (0..all).map(|at| ([(x, at, 0)], (y, aligned(from, to, at), 0)));
        self.averaged(self.empty(None, 0.0), rows)
    }

    fn mean(&self, p: &Weighted, x: &Base, y: NodeId, shape: &[u64]) -> Option<Mean> {
        let (own, blocks) = operand_blocks(self.g.shape(y), shape, p.block)?;
        if own != 1 || blocks.len() as u64 != p.blocks {
            return None;
        }
        let rows = p.rows().zip(&blocks).map(|(row, &at)| {
            let weights = row.map(|k| (p.weights.node, k, x.power));
            (weights, (y, u64::from(at), 0))
        });
        self.averaged(self.empty(Some(p.values), x.off), rows)
    }

    /// A mean of which each row has these weights and this divisor, if all are multiplied by the same power of two.
    fn averaged(
        &self,
        mut mean: Mean,
        rows: impl Iterator<Item = (impl IntoIterator<Item = Word>, Word)>,
    ) -> Option<Mean> {
        let mut power = None;
        for (weights, divisor) in rows {
            let divisor = self.divisor(divisor)?;
            let is_term = |&(id, at, _): &Word| {
                divisor.0.iter().any(|&(of, entry, _)| (of, entry) == (id, at))
            };
            let mut words = weights.into_iter().map(|at| self.word(at));
            // Most are no terms: of these one is read.
            let first = words.next()??;
            if !is_term(&first) {
                return None;
            }
            let words = iter::once(Some(first)).chain(words).collect::<Option<_>>()?;
            let (by, rest) = matched(words, &divisor.0)?;
            if *power.get_or_insert(by) != by {
                return None;
            }
            mean.see(&divisor.0, rest, divisor.1);
        }
        mean.power = power?;
        Some(mean)
    }

    fn blend(&self, p: &Weighted) -> Option<Blend> {
        let (mut shares, mut divisors) = (BTreeSet::new(), BTreeSet::new());
        let (mut rows, mut power, mut off) = (Vec::new(), None, 0.0f64);
        for row in p.rows() {
            let (mut weights, mut divisor) = (Vec::new(), None);
            for k in row {
                let ((id, at, own_power), own_off) = self.untruncated((p.weights.node, k, 0))?;
                if *self.g.op(id) != Op::Div || *power.get_or_insert(own_power) != own_power {
                    return None;
                }
                off = off.max(own_off);
                let [x, y] = [0, 1].map(|i| {
                    let part = self.g.arg(id, i);
                    (part, aligned(self.g.shape(part), self.g.shape(id), at), 0)
                });
                weights.push(x);
                let same = self.word(y)?;
                if divisor.get_or_insert((same, y)).0 != same {
                    return None;
                }
                shares.insert(id);
                divisors.insert(y.0);
            }
            rows.push((weights, divisor?.1));
        }
        let power = power?;
        let mut mean = self.averaged(self.empty(Some(p.values), 0.0), rows.into_iter())?;
        mean.power += power;
        let terms = p.weights.places.len() as u64;
        let [shares, divisors] = [shares, divisors].map(|all| all.into_iter().collect());
        Some(Blend { mean, shares, terms, power, off, divisors })
    }

    fn empty(&self, values: Option<NodeId>, dividend_off: f64) -> Mean {
        let weights = Vec::new();
        Mean { values, power: 0, rest: false, dividend_off, divisor_off: 0.0, weights }
    }
}

impl Mean {
    fn see(&mut self, terms: &[Word], rest: bool, off: f64) {
        self.rest |= rest;
        self.divisor_off = self.divisor_off.max(off);
        for &(id, ..) in terms {
            if !self.weights.contains(&id) {
                self.weights.push(id);
            }
        }
    }
}

/// If each word is one of the terms times the same power of two: this power, and whether there are other terms. Terms
/// are sorted.
fn matched(mut words: Vec<Word>, terms: &[Word]) -> Option<(i64, bool)> {
    words.sort_unstable();
    let &(id, at, power) = words.first()?;
    let &(.., of) = terms.iter().find(|(n, e, _)| (*n, *e) == (id, at))?;
    let by = power - of;
    let mut left = terms.iter();
    let found = words.iter().all(|&(id, at, power)| left.any(|&t| t == (id, at, power - by)));
    found.then_some((by, words.len() < terms.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::eval::testing::{random_inputs, successors};
    use crate::graph::{eval, text};

    /// Of weights b of three clients, node 0, and their values u, node 1. The last node is the result.
    fn graph(body: &str) -> (Graph, NodeId) {
        let last = body.lines().count() + 1;
        let text = format!(
            "graph T\nparties Client[3]\nparties Server[1]\nfrac 8\n\
             input 0 b : secret fix in 0..2 from each Client\ninput 1 u : secret fix[4] in -4..4 from each Client\n\
             site 0 \"t\" line 1\n%0 = input 0 : secret fix.8[3] @0\n%1 = input 1 : secret fix.8[3,4] @0\n\
             {body}reveal %{last} to Server as y @0\n"
        );
        (text::parse(&text).unwrap_or_else(|e| panic!("{body}: {e}")), NodeId(last as u32))
    }

    /// Weights are b, and what is public.
    fn not_negative(g: &Graph) -> impl Fn(NodeId) -> bool {
        move |id| id == NodeId(0) || matches!(g.op(id), Op::Const(..))
    }

    fn mean(body: &str) -> Option<Mean> {
        let (g, id) = graph(body);
        let found = Means::default().quotient(&g, g.arg(id, 0), g.arg(id, 1), not_negative(&g));
        if let Some(mean) = &found {
            within(&g, id, mean);
        }
        found
    }

    /// In real numbers, a mean is within what is averaged.
    fn within(g: &Graph, id: NodeId, mean: &Mean) {
        for seed in 0..50 {
            let run = eval::real(g, &random_inputs(g, seed), &successors, true).expect("a run");
            let value = |id: NodeId| run.values[id.index()].as_ref().expect("values are kept");
            let scale = (mean.power as f64).exp2();
            let all = mean.values.map_or(vec![0.0, 1.0], |of| value(of).to_vec());
            let ends =
                |zero: f64| all.iter().fold((zero, zero), |(lo, hi), &x| (x.min(lo), x.max(hi)));
            // Without any weight it is 0, too.
            let none = value(NodeId(0)).iter().all(|b| *b == 0.0);
            let (lo, hi) = ends(if mean.rest || none { 0.0 } else { all[0] });
            for x in value(id).iter().map(|x| x / scale) {
                assert!(lo - 1e-9 <= x && x <= hi + 1e-9, "seed {seed}: {x} beyond {lo}..{hi}");
            }
        }
    }

    /// A divisor of the shape of a dividend.
    const ROW: &str = "%2 = reshape %0 : secret fix.8[3,1] @0\n%3 = mul %2 %1 : secret fix.16[3,4] @0\n\
        %4 = sum %3 axes=[0] : secret fix.16[4] @0\n%5 = sum %0 axes=[0] : secret fix.8 @0\n\
        %6 = reshape %5 : secret fix.8[1] @0\n";

    #[test]
    fn quotients_of_sums_are_means() {
        let exact = Mean {
            values: Some(NodeId(1)),
            power: 0,
            rest: false,
            dividend_off: 0.0,
            divisor_off: 0.0,
            weights: vec![NodeId(0)],
        };
        let sums = mean(&format!("{ROW}%7 = div %4 %6 : secret fix.16[4] @0\n"));
        assert_eq!(sums, Some(exact.clone()));
        let matrices = "%2 = reshape %0 : secret fix.8[1,1,3] @0\n%3 = reshape %1 : secret fix.8[1,3,4] @0\n\
            %4 = matmul %2 %3 : secret fix.16[1,1,4] @0\n%5 = sum %0 axes=[0] : secret fix.8 @0\n\
            %6 = reshape %5 : secret fix.8[1,1,1] @0\n%7 = div %4 %6 : secret fix.16[1,1,4] @0\n";
        assert_eq!(mean(matrices), Some(Mean { values: Some(NodeId(3)), ..exact.clone() }));
        let truncated = format!(
            "{ROW}%7 = trunc %4 by=8 : secret fix.8[4] @0\n%8 = mul_pow2 %7 by=1 : secret fix.7[4] @0\n\
             %9 = div %8 %6 : secret fix.7[4] @0\n"
        );
        let off = 2f64.powi(-7);
        assert_eq!(mean(&truncated), Some(Mean { power: 1, dividend_off: off, ..exact.clone() }));
        let rest = format!(
            "{ROW}%7 = const 1 : public fix.8[1] @0\n%8 = add %6 %7 : secret fix.8[1] @0\n\
             %9 = div %4 %8 : secret fix.16[4] @0\n"
        );
        let weights = vec![NodeId(0), NodeId(7)];
        assert_eq!(mean(&rest), Some(Mean { rest: true, weights, ..exact.clone() }));
        let share = "%2 = sum %0 axes=[0] : secret fix.8 @0\n%3 = reshape %2 : secret fix.8[1] @0\n\
            %4 = div %0 %3 : secret fix.8[3] @0\n";
        assert_eq!(mean(share), Some(Mean { values: None, rest: true, ..exact }));
    }

    /// Sums are read as far as the budget goes, however deep they are.
    #[test]
    fn divisors_may_be_long_chains_of_sums() {
        let chain = |adds: usize| {
            let mut body = format!("{ROW}%7 = const 1 : public fix.8[1] @0\n");
            for at in 8..8 + adds {
                let before = if at == 8 { 6 } else { at - 1 };
                body += &format!("%{at} = add %{before} %7 : secret fix.8[1] @0\n");
            }
            let last = 7 + adds;
            graph(&format!("{body}%{} = div %4 %{last} : secret fix.16[4] @0\n", last + 1))
        };
        let found = |adds: usize| {
            let (g, id) = chain(adds);
            Means::default().quotient(&g, g.arg(id, 0), g.arg(id, 1), not_negative(&g))
        };
        assert!(found(30_000).is_some_and(|mean| mean.rest));
        assert_eq!(found(60_000), None);
    }

    #[test]
    fn other_quotients_are_not() {
        // Fewer weights than there are values, a divisor of other numbers, and weights of either sign.
        let part = format!(
            "{ROW}%7 = slice %0 axis=0 start=0 len=2 : secret fix.8[2] @0\n%8 = sum %7 axes=[0] : secret fix.8 @0\n\
             %9 = reshape %8 : secret fix.8[1] @0\n%10 = div %4 %9 : secret fix.16[4] @0\n"
        );
        assert_eq!(mean(&part), None);
        let other = format!(
            "{ROW}%7 = sum %1 axes=[0,1] : secret fix.8 @0\n%8 = reshape %7 : secret fix.8[1] @0\n\
             %9 = div %4 %8 : secret fix.16[4] @0\n"
        );
        assert_eq!(mean(&other), None);
        let (g, id) = graph(&format!("{ROW}%7 = div %4 %6 : secret fix.16[4] @0\n"));
        let signed = Means::default().quotient(&g, g.arg(id, 0), g.arg(id, 1), |_| false);
        assert_eq!(signed, None);
    }

    #[test]
    fn products_by_shares_are_means() {
        let body = "%2 = sum %0 axes=[0] : secret fix.8 @0\n%3 = reshape %2 : secret fix.8[1] @0\n\
            %4 = div %0 %3 : secret fix.8[3] @0\n%5 = reshape %4 : secret fix.8[1,1,3] @0\n\
            %6 = reshape %1 : secret fix.8[1,3,4] @0\n%7 = matmul %5 %6 : secret fix.16[1,1,4] @0\n";
        let (g, id) = graph(body);
        let blend = Means::default().blend(&g, id, not_negative(&g)).expect("shares");
        within(&g, id, &blend.mean);
        assert_eq!(
            (blend.shares, blend.divisors, blend.terms),
            (vec![NodeId(4)], vec![NodeId(3)], 3)
        );
        assert_eq!((blend.power, blend.off, blend.mean.rest), (0, 0.0, false));
    }
}
