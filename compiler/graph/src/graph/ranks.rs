//! Ranks of many entries, spelled out: comparisons of all pairs at one depth, each pair once, with the tables that
//! say which pair goes where given by a rule. So what is built of n entries does not grow with n^2, though what
//! the parties compute does.
//!
//! Of few entries the passes spell ranks out with tables of words, entry by entry.

use super::infer::ELEMENTS_END;
use super::{Graph, NodeId, Op, Table};
pub use slvr_language::types::First;
use slvr_language::types::{Elem, PairTable};

/// Ranks of more entries are told by rules.
const RULED: u64 = 128;

/// All pairs of more entries are too many to compare: some of the entries are searched for, or there is no circuit.
pub const PAIRED: u64 = 1 << 14;

/// Of more entries there are no ranks.
pub const MOST: u64 = 1 << 24;

/// A node that holds ranks along its last axis, as [`ranks`] makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    pub of: NodeId,
    /// Which entries come first.
    pub first: First,
}

/// Whether all pairs of entries along the last axis are no more than a value may have.
pub fn rankable(shape: &[u64]) -> bool {
    let n = shape.last().copied().unwrap_or(1);
    let pairs = shape.iter().try_fold(n, |all, d| all.checked_mul(*d));
    n <= MOST && pairs.is_some_and(|pairs| pairs < ELEMENTS_END)
}

/// Whether ranks of so many entries are told by rules.
pub fn by_rule(n: u64) -> bool {
    n > RULED && n <= MOST
}

/// The rank of each entry along the last axis: how many come before it, of equal ones those with a smaller index.
/// There are as many entries as [`by_rule`] takes.
pub fn ranks(g: &mut Graph, x: NodeId, first: First, site: u32) -> NodeId {
    let shape = g.shape(x).to_vec();
    let axis = shape.len() - 1;
    let n = shape[axis];
    let pick = Op::Gather { axis: axis as u64, batch: 0 };
    let member = |g: &mut Graph, table: PairTable| {
        let index = g.add(Op::Pairs { table, n }, &[], site);
        g.add(pick.clone(), &[x, index], site)
    };
    let (later, earlier) = (member(g, PairTable::Later), member(g, PairTable::Earlier));
    // Whether the later one comes first: of equal ones it does not.
    let sides = match first {
        First::Smallest => [later, earlier],
        First::Largest => [earlier, later],
    };
    let overtakes = g.add(Op::Lt, &sides, site);
    let overtakes = g.add(Op::ToInt, &[overtakes], site);
    let number = g.add(Op::Pairs { table: PairTable::Number, n }, &[], site);
    let of_each = g.add(pick, &[overtakes, number], site);
    // From its index on, an entry falls behind by every later one that overtakes it, and it overtakes earlier ones.
    let order = g.add(Op::Pairs { table: PairTable::Order, n }, &[], site);
    let mut side = vec![1; axis];
    side.extend([n, n - 1]);
    let order = g.add(Op::Reshape(side), &[order], site);
    let moved = g.add(Op::Mul, &[of_each, order], site);
    let moved = g.add(Op::Sum(vec![axis as u64 + 1]), &[moved], site);
    let mut row = vec![1; axis];
    row.push(n);
    let index = Table { shape: row, data: (0..n).map(|i| i as f64).collect() };
    let index = g.add(Op::Const(index, Elem::Int, None), &[], site);
    g.add(Op::Add, &[moved, index], site)
}

/// Whether a node is a table that is known before a run.
pub fn is_table(g: &Graph, id: NodeId) -> bool {
    matches!(g.op(id), Op::Const(..)) || is_ruled(g, id)
}

/// Whether a node is a table that is made by a rule.
pub fn is_ruled(g: &Graph, id: NodeId) -> bool {
    match g.op(id) {
        Op::Pairs { .. } => true,
        Op::Reshape(_) => matches!(g.op(g.arg(id, 0)), Op::Pairs { .. }),
        _ => false,
    }
}

impl Ranks {
    /// What a node holds the ranks of, if it is as [`ranks`] makes it.
    pub fn of(g: &Graph, id: NodeId) -> Option<Ranks> {
        // Passes may exchange the operands of sums and products.
        let two = |id: NodeId| -> [(NodeId, NodeId); 2] {
            let (a, b) = (g.arg(id, 0), g.arg(id, 1));
            [(a, b), (b, a)]
        };
        let n = *g.shape(id).last()?;
        if *g.op(id) != Op::Add || !by_rule(n) {
            return None;
        }
        let counts = |id: NodeId| {
            let Op::Const(index, ..) = g.op(id) else { return false };
            let all = index.data.iter().enumerate().all(|(i, &x)| x == i as f64);
            all && index.data.len() as u64 == n
        };
        let (moved, _) = two(id).into_iter().find(|&(_, index)| counts(index))?;
        let axis = g.shape(id).len() - 1;
        if *g.op(moved) != Op::Sum(vec![axis as u64 + 1]) || *g.op(g.arg(moved, 0)) != Op::Mul {
            return None;
        }
        let pairs = |id: NodeId, want: PairTable| *g.op(id) == Op::Pairs { table: want, n };
        let is_order = |id: NodeId| match g.op(id) {
            Op::Reshape(_) => pairs(g.arg(id, 0), PairTable::Order),
            _ => pairs(id, PairTable::Order),
        };
        let (of_each, _) = two(g.arg(moved, 0)).into_iter().find(|&(_, order)| is_order(order))?;
        let picked = |id: NodeId, table: PairTable| {
            let pick = Op::Gather { axis: axis as u64, batch: 0 };
            (*g.op(id) == pick && pairs(g.arg(id, 1), table)).then(|| g.arg(id, 0))
        };
        let overtakes = picked(of_each, PairTable::Number)?;
        let less = g.arg(overtakes, 0);
        if *g.op(overtakes) != Op::ToInt || *g.op(less) != Op::Lt {
            return None;
        }
        two(less).into_iter().zip([First::Smallest, First::Largest]).find_map(|(sides, first)| {
            let (later, earlier) = sides;
            let of = picked(later, PairTable::Later)?;
            (picked(earlier, PairTable::Earlier)? == of).then_some(Ranks { of, first })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::eval;
    use crate::graph::eval::testing::{random_inputs, successors};
    use crate::graph::text;

    /// Among many equal values, of every kind of order, ranks are those of a stable sort; and what is made of them
    /// is found again.
    #[test]
    fn ranks_are_those_of_a_stable_sort() {
        for (n, rows) in [(129u64, 1u64), (150, 2)] {
            let header = format!(
                "graph T\nparties Client[{rows}]\nparties Server[1]\ninput 0 x : secret int[{n}] in 0..30 from each Client\nsite 0 \"t\" line 1\n%0 = input 0 : secret int[{rows},{n}] @0\n"
            );
            for first in [First::Smallest, First::Largest] {
                let mut g = text::parse(&format!("{header}reveal %0 to Server as y @0\n"))
                    .expect("a graph");
                let x = g.outputs[0].node;
                let r = ranks(&mut g, x, first, 0);
                assert_eq!(Ranks::of(&g, r), Some(Ranks { of: x, first }));
                crate::graph::verify::verify(&g).expect("well formed");
                let again = text::parse(&text::print(&g)).expect("the text reads back");
                assert_eq!(text::print(&again), text::print(&g));
                let inputs = random_inputs(&g, n);
                let values: Vec<f64> =
                    inputs.sets[0].iter().flat_map(|member| member["x"].clone()).collect();
                let run = eval::real(&g, &inputs, &successors, true).expect("runs");
                let found = run.values[r.index()].clone().expect("kept");
                for (row, found) in values.chunks(n as usize).zip(found.chunks(n as usize)) {
                    let mut order: Vec<usize> = (0..row.len()).collect();
                    order.sort_by(|&i, &j| match first {
                        First::Smallest => row[i].total_cmp(&row[j]),
                        First::Largest => row[j].total_cmp(&row[i]),
                    });
                    for (rank, &i) in order.iter().enumerate() {
                        assert_eq!(found[i], rank as f64, "{first:?} of {n}");
                    }
                }
            }
        }
    }
}
