//! Linear reveals as a system of equations: which clients' inputs do they determine?
//!
//! Of reveals that follow linearly from secret inputs the coefficients are found by evaluation: the
//! inputs are zero but for one entry of one client. A client is exposed if some combination of what is
//! revealed depends on that client alone, which is so exactly if taking its columns away lowers the
//! rank. Large inputs are probed in a few entries, for public inputs and coins chosen at random: what
//! is found is there; what is not found may be.

use crate::graph::eval::{Inputs, Tensors, real};
use crate::graph::{Graph, Op, Output};
use std::collections::BTreeSet;

/// Columns of the system.
const COLUMNS: usize = 192;
/// Entries of one input of one client that are probed.
const ENTRIES: u64 = 4;
/// Entries evaluated in all.
const BUDGET: u64 = 1 << 25;
/// Rows of the system.
const ROWS: usize = 4096;

/// A client whose inputs some combination of reveals depends on alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Exposed {
    /// Party set.
    pub set: u32,
    /// Member.
    pub member: u64,
    /// Every probed entry follows from what is revealed.
    pub wholly: bool,
}

/// One entry of one client's input.
#[derive(Clone, Copy)]
struct Column {
    input: usize,
    set: u32,
    member: u64,
    entry: usize,
}

/// The clients that these reveals (linear ones; by index of output) expose together. `None` if the
/// system is too large to be looked at.
pub(super) fn exposed(
    graph: &Graph,
    outputs: &[usize],
    inputs: &BTreeSet<u32>,
) -> Option<Vec<Exposed>> {
    let part = cone(graph, outputs);
    let columns = columns(graph, inputs)?;
    let size: u64 = (part.ids().filter(|&id| needed(&part)[id.index()]))
        .map(|id| part.elements(id))
        .fold(0, u64::saturating_add);
    if size.saturating_mul(columns.len() as u64 + 1) > BUDGET {
        return None;
    }
    let mut given = zeros(graph, &part);
    let origin = outcome(&part, &given)?;
    let mut rows: Vec<Vec<f64>> = vec![vec![0.0; columns.len()]; origin.len()];
    for (c, column) in columns.iter().enumerate() {
        set(graph, &mut given, column, 1.0);
        let at = outcome(&part, &given)?;
        set(graph, &mut given, column, 0.0);
        for (row, (x, zero)) in rows.iter_mut().zip(at.iter().zip(&origin)) {
            row[c] = x - zero;
        }
    }
    rows.retain(|row| row.iter().any(|x| *x != 0.0));
    rows.truncate(ROWS);
    let base = reduce(rows);
    let members: BTreeSet<(u32, u64)> = columns.iter().map(|c| (c.set, c.member)).collect();
    let mut out = Vec::new();
    for (set, member) in members {
        let mine = |c: &Column| (c.set, c.member) == (set, member);
        let without: Vec<Vec<f64>> = (base.iter())
            .map(|r| r.iter().zip(&columns).filter(|(_, c)| !mine(c)).map(|(x, _)| *x).collect())
            .collect();
        let alone = base.len() - reduce(without).len();
        if alone > 0 {
            let wholly = alone == columns.iter().filter(|c| mine(c)).count();
            out.push(Exposed { set, member, wholly });
        }
    }
    Some(out)
}

/// The graph with some of its outputs only: what nothing else reads is not evaluated.
fn cone(graph: &Graph, outputs: &[usize]) -> Graph {
    let mut part = graph.clone();
    part.outputs = outputs
        .iter()
        .filter_map(|&o| graph.outputs.get(o))
        .map(|o| Output { factor: 1.0, divisor: 1.0, ..o.clone() })
        .collect();
    part
}

/// The nodes that an output depends on.
fn needed(graph: &Graph) -> Vec<bool> {
    let mut needed = vec![false; graph.len()];
    graph.outputs.iter().for_each(|o| needed[o.node.index()] = true);
    for id in graph.ids().rev() {
        if needed[id.index()] {
            graph.args(id).iter().for_each(|a| needed[a.index()] = true);
        }
    }
    needed
}

fn columns(graph: &Graph, inputs: &BTreeSet<u32>) -> Option<Vec<Column>> {
    let of = |entries: u64| -> Vec<Column> {
        let mut out = Vec::new();
        for &i in inputs {
            let Some(input) = graph.inputs.get(i as usize) else { continue };
            let Some(set) = input.from else { continue };
            let len: u64 = input.shape.iter().product();
            let members = graph.parties.get(set as usize).map_or(0, |p| p.1);
            let probed = len.min(entries);
            for member in 0..members.min(COLUMNS as u64 + 1) {
                for e in 0..probed {
                    // First, last and some between.
                    let entry = if probed == 1 { 0 } else { e * (len - 1) / (probed - 1) };
                    out.push(Column { input: i as usize, set, member, entry: entry as usize });
                }
            }
        }
        out
    };
    (1..=ENTRIES).rev().map(of).find(|c| c.len() <= COLUMNS)
}

/// Zeros for secret inputs; for public ones numbers that satisfy no equation by chance.
fn zeros(graph: &Graph, part: &Graph) -> Inputs {
    let read: BTreeSet<u32> = {
        let needed = needed(part);
        let ids = part.ids().filter(|id| needed[id.index()]);
        ids.filter_map(|id| if let Op::Input(i) = part.op(id) { Some(*i) } else { None }).collect()
    };
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        1.0 + (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let mut out = Inputs { public: Tensors::new(), sets: vec![Vec::new(); graph.parties.len()] };
    for (i, input) in graph.inputs.iter().enumerate() {
        if !read.contains(&(i as u32)) {
            continue;
        }
        let len = input.shape.iter().product::<u64>() as usize;
        match input.from {
            None => {
                let whole = input.elem != crate::types::Elem::Fix;
                let mut one = || if whole { 1.0 } else { random() };
                out.public.insert(input.name.clone(), (0..len).map(|_| one()).collect());
            }
            Some(set) => {
                let Some(members) = out.sets.get_mut(set as usize) else { continue };
                members.resize(graph.parties[set as usize].1 as usize, Tensors::new());
                for m in members {
                    m.insert(input.name.clone(), vec![0.0; len]);
                }
            }
        }
    }
    out
}

fn set(graph: &Graph, given: &mut Inputs, at: &Column, to: f64) {
    let tensor = given
        .sets
        .get_mut(at.set as usize)
        .and_then(|members| members.get_mut(at.member as usize))
        .and_then(|m| m.get_mut(&graph.inputs[at.input].name));
    if let Some(x) = tensor.and_then(|t| t.get_mut(at.entry)) {
        *x = to;
    }
}

/// All that is revealed, one entry after another.
fn outcome(part: &Graph, given: &Inputs) -> Option<Vec<f64>> {
    // Some committees; others would do as well.
    let draw = |n: u64, k: u64| -> Vec<Vec<u64>> {
        (0..n).map(|i| (1..=k).map(|j| (i + j) % n).collect()).collect()
    };
    let done = real(part, given, &draw, false).ok()?;
    let all: Vec<f64> = done.outputs.into_iter().flat_map(|(_, _, x)| x).collect();
    all.iter().all(|x| x.is_finite()).then_some(all)
}

/// A basis of the rows' span (Gauss-Jordan with the largest pivot of each column).
fn reduce(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let largest = rows.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    let tiny = largest * 1e-9;
    let columns = rows.first().map_or(0, Vec::len);
    let mut rank = 0;
    for c in 0..columns {
        let pivot =
            (rank..rows.len()).max_by(|&a, &b| rows[a][c].abs().total_cmp(&rows[b][c].abs()));
        let Some(p) = pivot.filter(|&p| rows[p][c].abs() > tiny) else { continue };
        rows.swap(rank, p);
        let (head, tail) = rows.split_at_mut(rank + 1);
        let pivot = &head[rank];
        for row in tail.iter_mut().filter(|r| r[c] != 0.0) {
            let by = row[c] / pivot[c];
            row.iter_mut().zip(pivot).for_each(|(x, p)| *x -= by * p);
            row[c] = 0.0;
        }
        rank += 1;
    }
    rows.truncate(rank);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_basis_has_as_many_rows_as_the_rank() {
        let rank = |rows: &[&[f64]]| reduce(rows.iter().map(|r| r.to_vec()).collect()).len();
        assert_eq!(rank(&[]), 0);
        assert_eq!(rank(&[&[0.0, 0.0]]), 0);
        assert_eq!(rank(&[&[1.0, 1.0], &[2.0, 2.0], &[1.0, 0.0]]), 2);
        assert_eq!(rank(&[&[0.1, 0.2, 0.3], &[0.3, 0.6, 0.9], &[0.0, 0.0, 1e-3]]), 2);
    }
}
