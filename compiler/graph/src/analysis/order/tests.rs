//! Masks of ranks, as passes spell them, held against sorting in the clear.

use super::*;
use crate::analysis::stated::TESTED;
use crate::graph::eval::testing::{random_inputs, successors};
use crate::graph::ranks::First;
use crate::graph::{Table, eval, ranks, text};
use slvr_language::types::Elem;

/// A graph of n values, which are node 0.
struct Values {
    g: Graph,
    n: u64,
}

impl Values {
    fn of(n: u64) -> Values {
        let text = format!(
            "graph T\nparties Client[1]\nparties Server[1]\nfrac 8\n\
             input 0 x : secret fix[{n}] in -8..8 from each Client\nsite 0 \"t\" line 1\n\
             %0 = input 0 : secret fix.8[1,{n}] @0\nreveal %0 to Server as y @0\n"
        );
        Values { g: text::parse(&text).expect("a graph"), n }
    }

    fn add(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        self.g.add(op, args, 0)
    }

    fn number(&mut self, x: f64) -> NodeId {
        self.add(Op::Const(Table::splat(x, vec![1, 1]), Elem::Int, Some(0)), &[])
    }

    /// 1 if entry i is less than entry j, else 0.
    fn less(&mut self, i: u64, j: u64) -> NodeId {
        let sides = [i, j]
            .map(|start| self.add(Op::Slice { axis: 1, start, len: 1, step: 1 }, &[NodeId(0)]));
        let less = self.add(Op::Lt, &sides);
        self.add(Op::ToInt, &[less])
    }

    fn complement(&mut self, x: NodeId) -> NodeId {
        let one = self.number(1.0);
        self.add(Op::Sub, &[one, x])
    }

    /// How many entries are before entry i, each compared with it once. Of equal ones the last is the first.
    fn rank(&mut self, i: u64) -> NodeId {
        let mut sum = self.number(0.0);
        for j in (0..self.n).filter(|&j| j != i) {
            let before = self.less(i.min(j), i.max(j));
            let before = if j < i { before } else { self.complement(before) };
            sum = self.add(Op::Add, &[sum, before]);
        }
        sum
    }

    fn ranks(&mut self) -> Vec<NodeId> {
        (0..self.n).map(|i| self.rank(i)).collect()
    }

    /// The sum of the values, each times the weight of its rank.
    fn weighted(&mut self, ranks: &[NodeId], weights: &[f64]) -> NodeId {
        let mask: Vec<NodeId> = ranks
            .iter()
            .map(|&rank| {
                let mut entry = self.number(0.0);
                for (r, &w) in weights.iter().enumerate() {
                    let r = self.number(r as f64);
                    let is = self.add(Op::Eq, &[rank, r]);
                    let is = self.add(Op::ToInt, &[is]);
                    let is = self.add(Op::Scale(w), &[is]);
                    entry = self.add(Op::Add, &[entry, is]);
                }
                entry
            })
            .collect();
        let mask = self.add(Op::Concat(1), &mask);
        let products = self.add(Op::Mul, &[mask, NodeId(0)]);
        self.add(Op::Sum(vec![1]), &[products])
    }

    fn found(&self, id: NodeId) -> Option<Ranked> {
        of_values(&View::new(&self.g, &TESTED), id)
    }
}

/// Whatever the weights, they are found, and the sum is that of the sorted values times them.
#[test]
fn sums_by_rank_are_those_of_sorted_values() {
    for (n, seed) in (2..6).flat_map(|n| (0..15u64).map(move |seed| (n, seed))) {
        let mut values = Values::of(n);
        let ranks = values.ranks();
        let weights: Vec<f64> = (0..n).map(|r| ((seed + r * r) % 5) as f64 - 2.0).collect();
        let sum = values.weighted(&ranks, &weights);
        let found = values.found(sum).expect("a sum by rank");
        let all: Vec<&Vec<f64>> = found.rows.iter().map(|row| &row.weights).collect();
        assert_eq!(all, [&weights], "{n} values, seed {seed}");
        assert_eq!((found.values, found.slack(&View::new(&values.g, &TESTED))), (NodeId(0), 0.0));
        let mut inputs = random_inputs(&values.g, seed);
        if seed % 2 == 0 {
            let x = inputs.sets[0][0].get_mut("x").expect("the input");
            x[1] = x[0];
        }
        let run = eval::exact(&values.g, &inputs, &successors, true).expect("a run");
        let value = |id: NodeId| run.values[id.index()].as_ref().expect("values are kept");
        let mut sorted = value(NodeId(0)).to_vec();
        sorted.sort_unstable();
        let expected: i64 = sorted.iter().zip(&weights).map(|(x, w)| x * *w as i64).sum();
        assert_eq!(value(sum)[..], [expected], "{n} values, seed {seed}");
    }
}

/// What is not a permutation's mask is not taken for one.
#[test]
fn other_masks_are_refused() {
    let refused = |change: &dyn Fn(&mut Values, &mut Vec<NodeId>)| {
        let mut values = Values::of(3);
        let mut ranks = values.ranks();
        change(&mut values, &mut ranks);
        let sum = values.weighted(&ranks, &[0.0, 1.0, 0.0]);
        values.found(sum).is_none()
    };
    assert!(!refused(&|_, _| ()));
    assert!(refused(&|_, ranks| ranks.swap(0, 1)), "another entry's rank");
    let twice = |v: &mut Values, ranks: &mut Vec<NodeId>| {
        let (a, b) = (v.less(0, 1), v.less(0, 1));
        ranks[1] = v.add(Op::Add, &[a, b]);
    };
    assert!(refused(&twice), "a comparison that counts twice, and one that does not");
    let ties = |v: &mut Values, ranks: &mut Vec<NodeId>| {
        let (first, last) = (v.less(1, 0), v.less(1, 2));
        let (first, last) = (v.complement(first), v.complement(last));
        ranks[1] = v.add(Op::Add, &[first, last]);
    };
    assert!(
        refused(&ties),
        "the second is after the first if they are equal, and the first after the second"
    );
}

/// Ranks by rules are the factor of a product, or there is no sum of products: not what is added to something.
#[test]
fn sums_of_sums_are_no_sums_by_rank() {
    let text = "graph T\nparties Client[1]\nparties Server[1]\n\
        input 0 x : secret int[130] in 0..30 from each Client\nsite 0 \"t\" line 1\n\
        %0 = input 0 : secret int[1,130] @0\nreveal %0 to Server as y @0\n";
    let found = |op: Op| {
        let mut g = text::parse(text).expect("a graph");
        let rank = ranks::ranks(&mut g, NodeId(0), First::Smallest, 0);
        let three = Op::Const(Table::splat(3.0, vec![1, 1]), Elem::Int, None);
        let three = g.add(three, &[], 0);
        let first = g.add(Op::Lt, &[rank, three], 0);
        let mask = g.add(Op::ToInt, &[first], 0);
        let both = g.add(op, &[mask, NodeId(0)], 0);
        let sum = g.add(Op::Sum(vec![1]), &[both], 0);
        of_any(&View::new(&g, &TESTED), sum).is_some()
    };
    assert!(found(Op::Mul) && !found(Op::Add));
}

/// Counts may be longer chains than a stack is deep.
#[test]
fn long_chains_are_refused() {
    let mut values = Values::of(3);
    let mut sum = values.less(0, 1);
    for _ in 0..60_000 {
        let one = values.number(1.0);
        sum = values.add(Op::Add, &[sum, one]);
    }
    let row = values.add(Op::Concat(1), &[sum, sum, sum]);
    assert!(!Rankings::new(&values.g).has(row));
}
