//! Each pair is compared once.
//!
//! Before: any graph without scales. After: a comparison, unless masked, of two layouts of the same tensor compares
//! each pair of entries that it needs once, and a table says which result goes where. Entries that
//! a constant mask excludes are not compared at all; an entry is never compared with itself.
//!
//! All-pairs ranking of n entries (n^2 comparisons, twice) becomes n (n - 1) / 2. It is also what
//! makes symmetric constructions cheap without the author saying so.
//!
//! ```text
//! %3 = lt %1 %2 ; %4 = and %3 (const mask)       (%1, %2 reshapes of one %0)
//!   ->   %5 = gather %0 [..] ; %6 = gather %0 [..] ; %7 = lt %5 %6 ; %4 = gather %7 [..], masked
//! ```

use super::promise::{Kept, none};
use crate::analysis::behind::behind;
use crate::analysis::layout::{Layout, aligned};
use crate::graph::{Graph, NodeId, Op, Table};
use slvr_language::types::Elem;
use std::collections::BTreeMap;

/// Larger comparisons are left alone: the tables would outweigh the gain.
const LIMIT: u64 = 1 << 22;

pub(super) fn run(graph: &Graph) -> Graph {
    graph.replace(|new, id, args| {
        let node = graph.node(id);
        match node.op {
            Op::And => masked(new, args, node.site),
            // A comparison that only feeds constant masks is rewritten there.
            Op::Lt if !only_masked(graph, id) => {
                let n = new.shape(args[0]).len();
                let all = Table::splat(1.0, vec![1; n]);
                once(new, args[0], args[1], false, &all, node.site)
            }
            _ => None,
        }
    })
}

fn only_masked(g: &Graph, id: NodeId) -> bool {
    let users = g.users(id);
    !users.is_empty()
        && users.iter().all(|&u| match g.op(u) {
            Op::Not => only_masked(g, u),
            Op::And => g.args(u).iter().any(|&a| matches!(g.op(a), Op::Const(..))),
            _ => false,
        })
}

fn masked(g: &mut Graph, args: &[NodeId], site: u32) -> Option<NodeId> {
    let (test, mask) = match (g.op(args[0]), g.op(args[1])) {
        (_, Op::Const(mask, ..)) => (args[0], mask.clone()),
        (Op::Const(mask, ..), _) => (args[1], mask.clone()),
        _ => return None,
    };
    let (mut lt, mut negated) = (test, false);
    while *g.op(lt) == Op::Not {
        (lt, negated) = (g.arg(lt, 0), !negated);
    }
    if *g.op(lt) != Op::Lt {
        return None;
    }
    // The mask must not enlarge the comparison.
    let shape = crate::graph::infer::align(g.shape(lt), &mask.shape).ok()?;
    if shape != g.shape(lt) {
        return None;
    }
    let (a, b) = (g.arg(lt, 0), g.arg(lt, 1));
    once(g, a, b, negated, &mask, site)
}

/// The tensor that a chain of moves starts from. A gather's table may be known only at run time.
fn base(g: &Graph, id: NodeId) -> NodeId {
    behind(g, id, |op| op.is_layout() && !matches!(op, Op::Gather { .. }))
}

/// Which entry of a tensor that it starts from each entry of a value is; none if a tensor on the way is too large.
fn entries(g: &Graph, mut id: NodeId, base: NodeId) -> Option<Vec<u32>> {
    let mut entries: Vec<u32> = (0..g.elements(id) as u32).collect();
    while id != base {
        let layout = Layout::of(g, id)?;
        entries.iter_mut().for_each(|e| *e = layout.origin(u64::from(*e)).1 as u32);
        id = g.arg(id, 0);
        if g.elements(id) > LIMIT {
            return None;
        }
    }
    Some(entries)
}

/// The pairs of entries of one tensor that a comparison needs.
struct Pairs {
    base: NodeId,
    /// Shape of the comparison.
    out: Vec<u64>,
    /// Leading axes over which the same pairs repeat, each time further along the base.
    axes: usize,
    /// Number of repetitions, and of entries in each.
    batch: u64,
    rest: u64,
    /// Of every entry the pair.
    pairs: Vec<(u32, u32)>,
    /// Whether the mask leaves it.
    live: Vec<bool>,
    /// The pairs that are compared, each once.
    known: BTreeMap<(u32, u32), u32>,
}

impl Pairs {
    /// `None` unless both are layouts of one tensor that is not too large.
    fn of(g: &Graph, a: NodeId, b: NodeId, mask: &Table) -> Option<Pairs> {
        let out = crate::graph::infer::align(g.shape(a), g.shape(b)).ok()?;
        let total: u64 = out.iter().product();
        let base = Some(base(g, a)).filter(|&of| total <= LIMIT && of == base(g, b))?;
        let (va, vb) = (entries(g, a, base)?, entries(g, b, base)?);
        let at = |x: NodeId, i: u64| aligned(g.shape(x), &out, i) as usize;
        let pair = |i: u64| (va[at(a, i)], vb[at(b, i)]);
        let pairs: Vec<(u32, u32)> = (0..total).map(pair).collect();
        let live: Vec<bool> =
            (0..total).map(|i| mask.at(aligned(&mask.shape, &out, i) as usize) != 0.0).collect();
        let axes = batch_axes(&out, g.elements(base), &pairs, &live);
        let batch: u64 = out[..axes].iter().product();
        let rest = total / batch;
        let mut known: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for i in 0..rest as usize {
            if live[i] && pairs[i].0 != pairs[i].1 {
                known.entry(pairs[i]).or_default();
            }
        }
        Some(Pairs { base, out, axes, batch, rest, pairs, live, known })
    }

    /// Whether fewer pairs than entries are compared.
    fn repeat(&self) -> bool {
        !self.known.is_empty() && (self.known.len() as u64) < self.rest
    }
}

pub(super) fn after(g: &Graph) -> Kept {
    none(g, "compares a pair more than once", |id| {
        let all = Table::splat(1.0, vec![1; g.shape(id).len()]);
        *g.op(id) == Op::Lt
            && !only_masked(g, id)
            && Pairs::of(g, g.arg(id, 0), g.arg(id, 1), &all).is_some_and(|p| p.repeat())
    })
}

/// `mask and (a < b)`, or with `negated` `mask and not (a < b)`, each pair once. `None` where that
/// gains nothing.
fn once(
    g: &mut Graph,
    a: NodeId,
    b: NodeId,
    negated: bool,
    mask: &Table,
    site: u32,
) -> Option<NodeId> {
    let found = Pairs::of(g, a, b, mask).filter(Pairs::repeat)?;
    let Pairs { base, out, axes, batch, rest, pairs, live, mut known } = found;
    let entries = g.elements(base);
    let mut left = Vec::new();
    let mut right = Vec::new();
    for (k, (&(p, q), index)) in known.iter_mut().enumerate() {
        *index = k as u32;
        left.push(f64::from(p));
        right.push(f64::from(q));
    }
    let (mut table, mut keep, mut add) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..rest as usize {
        let (p, q) = pairs[i];
        let compared = live[i] && p != q;
        table.push(if compared { f64::from(known[&(p, q)]) } else { 0.0 });
        keep.push(f64::from(compared));
        add.push(f64::from(live[i] && negated));
    }

    let flat = g.add(Op::Reshape(vec![batch, entries / batch]), &[base], site);
    let k = left.len() as u64;
    let left = g.add_table(vec![k], left, Elem::Int, site);
    let right = g.add_table(vec![k], right, Elem::Int, site);
    let pick = Op::Gather { axis: 1, batch: 0 };
    let left = g.add(pick.clone(), &[flat, left], site);
    let right = g.add(pick.clone(), &[flat, right], site);
    let lt = g.add(Op::Lt, &[left, right], site);
    let table = g.add_table(vec![rest], table, Elem::Int, site);
    let spread = g.add(pick, &[lt, table], site);
    let mut v = g.add(Op::Reshape(out.clone()), &[spread], site);
    let mut side: Vec<u64> = vec![1; axes];
    side.extend(&out[axes..]);
    if keep.contains(&0.0) {
        let keep = g.add_table(side.clone(), keep, Elem::Bit, site);
        v = g.add(Op::And, &[v, keep], site);
    }
    if add.contains(&1.0) {
        let add = g.add_table(side, add, Elem::Bit, site);
        v = g.add(Op::Xor, &[v, add], site);
    }
    Some(v)
}

/// How many leading axes of the result only shift the pairs along the base.
fn batch_axes(out: &[u64], entries: u64, pairs: &[(u32, u32)], live: &[bool]) -> usize {
    let mut axes = 0;
    for n in 1..=out.len() {
        let batch: u64 = out[..n].iter().product();
        if batch == 0 || !entries.is_multiple_of(batch) {
            break;
        }
        let (stride, rest) = ((entries / batch) as u32, pairs.len() / batch as usize);
        let repeats = (0..pairs.len()).all(|i| {
            let (b, r) = ((i / rest) as u32, i % rest);
            let (p, q) = pairs[r];
            live[i] == live[r] && pairs[i] == (p + b * stride, q + b * stride)
        });
        // Pairs must stay inside their own part of the base.
        if !repeats || pairs[..rest].iter().any(|&(p, q)| p >= stride || q >= stride) {
            break;
        }
        axes = n;
    }
    axes
}
