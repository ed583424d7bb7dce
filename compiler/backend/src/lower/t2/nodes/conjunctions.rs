//! Which bits a node is the and of: the last of a tree of ands over the last axis of some bits. On graphs
//! only.

use slvr_graph::graph::{Graph, NodeId, Op};

/// Most bits of a product at once.
const MOST: usize = 64;
/// Most nodes that are looked at for one.
const STEPS: u32 = 4096;

/// The bits of which a node is the and along their whole last axis.
pub fn conjunction(g: &Graph, id: NodeId) -> Option<NodeId> {
    if g.shape(id).last() != Some(&1) {
        return None;
    }
    let (base, mut places) = places(g, id, &mut { STEPS })?;
    let mut found = places.pop()?;
    found.sort_unstable();
    found.dedup();
    let n = *g.shape(base).last()?;
    (n > 2 && found.into_iter().eq(0..n)).then_some(base)
}

/// Some bits, and for each index of a node's last axis, the indices of these bits that it is the and of.
fn places(g: &Graph, id: NodeId, left: &mut u32) -> Option<(NodeId, Vec<Vec<u64>>)> {
    let args = g.args(id);
    let last = (g.shape(id).len() as u64).checked_sub(1)?;
    let n = *g.shape(id).last()?;
    *left = left.checked_sub(1)?;
    let merged = |parts: Vec<(NodeId, Vec<Vec<u64>>)>| {
        let base = parts.first()?.0;
        let same = parts.iter().all(|p| p.0 == base);
        same.then(|| (base, parts.into_iter().map(|p| p.1).collect::<Vec<_>>()))
    };
    if *g.op(id) == Op::And && g.shape(args[0]) == g.shape(args[1]) {
        let parts = vec![places(g, args[0], left)?, places(g, args[1], left)?];
        let (base, parts) = merged(parts)?;
        let mut parts = parts.into_iter();
        let (a, b) = (parts.next()?, parts.next()?);
        let both = a.into_iter().zip(b).map(|(a, b)| [a, b].concat()).collect();
        return Some((base, both));
    }
    if let Op::Slice { axis, start, len, step } = g.op(id)
        && *axis == last
    {
        let (base, all) = places(g, args[0], left)?;
        let kept = all.into_iter().skip(*start as usize).step_by(*step as usize);
        return Some((base, kept.take(*len as usize).collect()));
    }
    if let Op::Concat(axis) = g.op(id)
        && *axis == last
    {
        let parts: Option<Vec<_>> = args.iter().map(|&a| places(g, a, left)).collect();
        let (base, parts) = merged(parts?)?;
        return Some((base, parts.concat()));
    }
    // Of any other operation the bits are taken as they are.
    (n as usize <= MOST).then(|| (id, (0..n).map(|i| vec![i]).collect()))
}
