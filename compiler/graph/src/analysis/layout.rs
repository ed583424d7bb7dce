//! Where the entries of a value that is only moved come from.
//!
//! An operation of the class layout computes nothing: each entry of its result is an entry of one of its
//! operands. [`Layout`] says which, entry by entry; [`blocks`] says the same of blocks of trailing axes;
//! [`reshaped`] says it of whole axes. Positions are row-major.
//!
//! May not live here: what follows for a value from where it comes.

use super::lanes::{self, Uneven};
use crate::graph::{Graph, NodeId, Op, Table};
use std::collections::BTreeMap;

/// Which entry of which operand each entry of a result is.
pub struct Layout<'g> {
    shape: &'g [u64],
    moves: Moves<'g>,
}

enum Moves<'g> {
    /// The same entries in the same order.
    Same,
    /// Distances in the operand by axis of the result, and where the first entry is.
    Strides { start: u64, strides: Vec<u64> },
    /// Entries of one axis by index. Sizes are of the axes before that axis that share no index, of the axis,
    /// of the index and of what is inside of the axis.
    Gather { table: &'g Table, middle: u64, axis: u64, chosen: u64, inner: u64 },
    /// Parts one after another: of each the entries of the axis and all inside it.
    Concat { parts: Vec<u64> },
}

impl<'g> Layout<'g> {
    /// Of a node; `None` if it computes something, or if its index is not known.
    pub fn of(g: &'g Graph, id: NodeId) -> Option<Layout<'g>> {
        let shape = g.shape(id);
        let x = || g.arg(id, 0);
        let moves = match g.op(id) {
            Op::Reshape(_) => Moves::Same,
            Op::Transpose(perm) => {
                let own = lanes::strides(g.shape(x()));
                let strides = perm.iter().map(|&p| own[p as usize]).collect();
                Moves::Strides { start: 0, strides }
            }
            Op::Slice { axis, start, step, .. } => {
                let mut strides = lanes::strides(g.shape(x()));
                let along = &mut strides[*axis as usize];
                let start = start * *along;
                *along *= step;
                Moves::Strides { start, strides }
            }
            Op::Broadcast(_) => Moves::Strides { start: 0, strides: lanes::repeated(g.shape(x())) },
            Op::Gather { axis, batch } => {
                let args = g.args(id);
                let Op::Const(table, ..) = g.op(args[1]) else { return None };
                let (axis, batch) = (*axis as usize, *batch as usize);
                let from = g.shape(args[0]);
                Moves::Gather {
                    table,
                    middle: from[batch..axis].iter().product(),
                    axis: from[axis],
                    chosen: table.shape[batch..].iter().product(),
                    inner: from[axis + 1..].iter().product(),
                }
            }
            Op::Concat(axis) => {
                let part = |x: &NodeId| g.shape(*x)[*axis as usize..].iter().product();
                Moves::Concat { parts: g.args(id).iter().map(part).collect() }
            }
            _ => return None,
        };
        Some(Layout { shape, moves })
    }

    /// The operand, by number, and its entry that entry `at` is.
    pub fn origin(&self, at: u64) -> (usize, u64) {
        match &self.moves {
            Moves::Same => (0, at),
            Moves::Strides { start, strides } => {
                let (mut rest, mut from) = (at, *start);
                for (&n, s) in self.shape.iter().zip(strides).rev() {
                    from += rest % n.max(1) * s;
                    rest /= n.max(1);
                }
                (0, from)
            }
            Moves::Gather { table, middle, axis, chosen, inner } => {
                let (row, inside) = (at / inner.max(&1), at % inner.max(&1));
                let (outer, which) = (row / chosen.max(&1), row % chosen.max(&1));
                let index = outer / middle.max(&1) * chosen + which;
                let entry = outer * axis + table.at(index as usize) as u64;
                (0, entry * inner + inside)
            }
            Moves::Concat { parts } => {
                let all = parts.iter().sum::<u64>().max(1);
                let (outer, mut along) = (at / all, at % all);
                for (i, part) in parts.iter().enumerate() {
                    if along < *part {
                        return (i, outer * part + along);
                    }
                    along -= part;
                }
                // No entry is beyond all parts.
                (parts.len(), 0)
            }
        }
    }

    /// Distances in the operand of the entries that entry `at` and those at some distances from it in each lane
    /// come from, where all come from one operand at such distances.
    pub fn lanes(&self, at: u64, sizes: &[u64], distances: &[u64]) -> Result<Vec<u64>, Uneven> {
        let last: u64 = sizes.iter().zip(distances).map(|(n, d)| n.saturating_sub(1) * d).sum();
        if last == 0 {
            return Ok(vec![0; sizes.len()]);
        }
        match &self.moves {
            Moves::Same => Ok(distances.to_vec()),
            Moves::Strides { strides, .. } => {
                lanes::along(self.shape, strides, at, (sizes, distances))
            }
            Moves::Gather { table, middle, axis, chosen, inner } => {
                let all = self.shape.iter().product::<u64>();
                let outer = (all / (middle * chosen * inner).max(1)).max(1);
                let shape = [outer, *middle, *chosen, *inner];
                let of = |stride: [u64; 4]| lanes::along(&shape, &stride, at, (sizes, distances));
                let outside = of([middle * axis * inner, axis * inner, 0, 1])?;
                // Which entry of the table each row reads, and that the indices there are at distances, too.
                let index = of([*chosen, 0, 1, 0])?;
                let row = at / inner;
                let first = row / chosen / middle * chosen + row % chosen;
                let entry = |i: u64| table.at(i as usize);
                let step = |(&n, &d): (&u64, &u64)| {
                    let step = if n > 1 { entry(first + d) - entry(first) } else { 0.0 };
                    (step >= 0.0).then_some(step as u64)
                };
                let steps: Option<Vec<u64>> = sizes.iter().zip(&index).map(step).collect();
                let steps = steps.ok_or(Uneven::Different)?;
                let even = lanes::every(first, sizes, &index, |i, along| {
                    let moved: u64 = along.iter().zip(&steps).map(|(x, s)| x * s).sum();
                    entry(i) == entry(first) + moved as f64
                });
                if !even {
                    return Err(Uneven::Different);
                }
                Ok(outside.iter().zip(&steps).map(|(o, s)| o + s * inner).collect())
            }
            Moves::Concat { parts } => {
                let all = parts.iter().sum::<u64>().max(1);
                let (operand, _) = self.origin(at);
                let part = parts.get(operand).copied().unwrap_or(1);
                let outer = (self.shape.iter().product::<u64>() / all).max(1);
                // Rows stay in the part: positions count from its beginning.
                let before: u64 = parts[..operand.min(parts.len())].iter().sum();
                let mut within = 0;
                for (n, d) in sizes.iter().zip(distances) {
                    within += n.saturating_sub(1) * (d % all);
                }
                if at % all - before + within >= part {
                    return Err(Uneven::Different);
                }
                lanes::along(&[outer, all], &[part, 1], at, (sizes, distances))
            }
        }
    }
}

/// The entry that an entry of a node was moved from; `None` if it is computed there.
pub fn moved_from(g: &Graph, id: NodeId, at: u64) -> Option<(NodeId, u64)> {
    let (operand, from) = Layout::of(g, id)?.origin(at);
    Some((g.arg(id, operand), from))
}

/// Digits of a flat position.
pub fn digits(shape: &[u64], mut at: u64) -> Vec<u64> {
    let mut out = vec![0; shape.len()];
    for (digit, &n) in out.iter_mut().zip(shape).rev() {
        *digit = at % n.max(1);
        at /= n.max(1);
    }
    out
}

/// Flat position; axes of size 1 are repeated.
pub fn flat(shape: &[u64], at: &[u64]) -> u64 {
    shape.iter().zip(at).fold(0, |i, (&n, &x)| i * n + if n == 1 { 0 } else { x })
}

/// The entries of an operand of this shape that entry `at` of its sum along some axes adds up.
pub fn summed(shape: &[u64], axes: &[u64], at: u64) -> Vec<u64> {
    let is_summed = |d: usize| axes.contains(&(d as u64));
    let part = |summed: bool| -> Vec<u64> {
        let size = |d: usize| if is_summed(d) == summed { shape[d] } else { 1 };
        (0..shape.len()).map(size).collect()
    };
    let (kept, along) = (part(false), part(true));
    let first = aligned(shape, &kept, at);
    (0..along.iter().product()).map(|k| first + aligned(shape, &along, k)).collect()
}

/// The leading axes of a shape whose trailing ones make up a block.
pub fn leading(shape: &[u64], block: u64) -> Option<usize> {
    let mut size = 1;
    for t in (0..=shape.len()).rev() {
        if size == block {
            return Some(t);
        }
        size *= shape.get(t.checked_sub(1)?)?;
    }
    None
}

/// Flat position in an operand of shape `from` of entry `i` of an aligned result of shape `to`: axes of
/// size 1 are repeated.
pub fn aligned(from: &[u64], to: &[u64], mut i: u64) -> u64 {
    let (mut at, mut stride) = (0, 1);
    for (&f, &t) in from.iter().zip(to).rev() {
        let digit = i % t.max(1);
        i /= t.max(1);
        if f != 1 {
            at += digit * stride;
        }
        stride *= f;
    }
    at
}

/// An operand of an entry-by-entry operation with a result of shape `out` in blocks: the operand's
/// own block, and for each block of the result which of its blocks it takes.
pub fn operand_blocks(from: &[u64], out: &[u64], block: u64) -> Option<(u64, Vec<u32>)> {
    let t = leading(out, block)?;
    if from.len() != out.len() {
        return None;
    }
    let own: u64 = from[t..].iter().product();
    if own != 1 && from[t..] != out[t..] {
        return None;
    }
    let rows: u64 = out[..t].iter().product();
    if from[..t] == out[..t] {
        return Some((own, (0..rows as u32).collect()));
    }
    let pick = |r| aligned(&from[..t], &out[..t], r) as u32;
    Some((own, (0..rows).map(pick).collect()))
}

/// For a layout operation of one operand: which block of its operand each block of it is, if it keeps
/// blocks whole.
pub fn blocks(g: &Graph, id: NodeId, block: u64) -> Option<Vec<u32>> {
    let (from, to) = (g.shape(*g.args(id).first()?), g.shape(id));
    let t = leading(to, block)?;
    let whole = match g.op(id) {
        Op::Reshape(_) => leading(from, block).is_some(),
        Op::Transpose(perm) => (t..to.len()).all(|d| perm[d] == d as u64),
        Op::Slice { axis, .. } => (*axis as usize) < t,
        Op::Broadcast(_) => from[t..] == to[t..],
        Op::Gather { axis, batch } => {
            let index = g.shape(g.arg(id, 1)).len();
            *axis as usize + index - *batch as usize <= t
        }
        _ => false,
    };
    let layout = Layout::of(g, id).filter(|_| whole)?;
    let rows = g.elements(id) / block;
    if let Moves::Same = layout.moves {
        return Some((0..rows as u32).collect());
    }
    Some((0..rows).map(|r| (layout.origin(r * block).1 / block) as u32).collect())
}

/// What becomes of an axis that is reshaped.
#[derive(Clone, Debug, PartialEq)]
pub struct Reshaped {
    /// The axes after that hold it.
    pub axes: Vec<usize>,
    /// Whether it is one of them, and nothing else is in that one.
    pub whole: bool,
}

/// Each axis of more than one entry before a reshape, with what becomes of it: axes keep their meaning
/// where sizes before and after line up.
pub fn reshaped(from: &[u64], to: &[u64]) -> BTreeMap<usize, Reshaped> {
    let mut map = BTreeMap::new();
    let wide = |dims: &[u64]| -> Vec<usize> { (0..dims.len()).filter(|&i| dims[i] != 1).collect() };
    let (old, new) = (wide(from), wide(to));
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        let (i0, j0) = (i, j);
        let (mut x, mut y) = (from[old[i]], to[new[j]]);
        (i, j) = (i + 1, j + 1);
        while x != y && (i < old.len() || j < new.len()) {
            if x < y && i < old.len() {
                x = x.saturating_mul(from[old[i]]);
                i += 1;
            } else if j < new.len() {
                y = y.saturating_mul(to[new[j]]);
                j += 1;
            } else {
                break;
            }
        }
        let whole = i - i0 == 1 && j - j0 == 1;
        for &axis in &old[i0..i] {
            map.insert(axis, Reshaped { axes: new[j0..j].to_vec(), whole });
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::eval::testing::{Kind, random_graph, random_inputs, successors};
    use crate::graph::{eval, text};
    use std::collections::BTreeSet;

    /// Every moved entry has the value of the entry that it is said to be; and blocks are made of the same
    /// entries. How often each operation was seen.
    fn check(g: &Graph, seed: u64, seen: &mut BTreeMap<&'static str, u32>) {
        let Ok(run) = eval::exact(g, &random_inputs(g, seed), &successors, true) else { return };
        let value = |n: NodeId| run.values[n.index()].as_ref().expect("values are kept");
        for id in g.ids() {
            let Some(layout) = Layout::of(g, id) else { continue };
            *seen.entry(g.op(id).name()).or_default() += 1;
            let args = g.args(id);
            for (at, x) in value(id).iter().enumerate() {
                let (operand, from) = layout.origin(at as u64);
                assert_eq!(*x, value(args[operand])[from as usize], "{at} of {:?}", g.op(id));
            }
            let sizes: BTreeSet<u64> =
                (0..=g.shape(id).len()).map(|t| g.shape(id)[t..].iter().product()).collect();
            for block in sizes.into_iter().filter(|b| *b > 0) {
                let Some(from) = blocks(g, id, block) else { continue };
                for (r, b) in from.into_iter().enumerate() {
                    for i in 0..block {
                        let origin = layout.origin(r as u64 * block + i);
                        assert_eq!(origin, (0, u64::from(b) * block + i), "{:?}", g.op(id));
                    }
                }
            }
        }
    }

    #[test]
    fn moved_entries_are_where_they_come_from() {
        let mut seen = BTreeMap::new();
        for seed in 0..300 {
            check(&random_graph(seed, 40, Kind::Lossless), seed, &mut seen);
        }
        let graph = text::parse(
            "graph T
parties Client[2]
parties Server[1]
frac 16
input 0 x : secret int[3,4] in 0..99 from each Client
site 0 \"t\" line 1
%0 = input 0 : secret int.0[2,3,4] @0
%1 = const [2, 0, 1, 1] : public int.0[2,2] @0
%2 = gather %0 %1 axis=1 batch=1 : secret int.0[2,2,4] @0
%3 = gather %0 %1 axis=2 batch=0 : secret int.0[2,3,2,2] @0
%4 = concat %0 %2 axis=1 : secret int.0[2,5,4] @0
reveal %4 to Server as y @0
",
        )
        .expect("a graph");
        check(&graph, 1, &mut seen);
        let names = ["reshape", "transpose", "slice", "broadcast", "gather", "concat"];
        assert!(names.iter().all(|n| seen.contains_key(n)), "{seen:?}");
    }

    #[test]
    fn lanes_without_entries_are_at_no_distance() {
        let text = "graph T\nparties Client[2]\nparties Server[1]\nfrac 16\n\
            input 0 x : secret int[4] in 0..9 from each Client\nsite 0 \"x\" line 1\n\
            %0 = input 0 : secret int.0[2,4] @0\n%1 = concat %0 %0 axis=0 : secret int.0[4,4] @0\n\
            reveal %1 to Server as y @0\n";
        let g = text::parse(text).expect("a graph");
        let layout = Layout::of(&g, g.outputs[0].node).expect("moved entries");
        assert_eq!(layout.lanes(0, &[0], &[4]), Ok(vec![0]));
        assert_eq!(layout.lanes(0, &[0, 3], &[4, 1]).map(|moved| moved[1]), Ok(1));
    }

    #[test]
    fn axes_of_reshapes() {
        let one = |axes: &[usize], whole| Reshaped { axes: axes.to_vec(), whole };
        let found = reshaped(&[5, 1, 12, 7], &[5, 3, 4, 7]);
        let want = [(0, one(&[0], true)), (2, one(&[1, 2], false)), (3, one(&[3], true))];
        assert_eq!(found, BTreeMap::from(want));
        assert_eq!(reshaped(&[2, 3], &[6])[&1], one(&[0], false));
    }
}
