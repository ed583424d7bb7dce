//! Sums of products: which entries of two factors are multiplied for an entry of a result.
//!
//! A matrix product, the sum of an entry-by-entry product, and such a product by itself are all of this form. Entries
//! are those of the factors themselves; what moved them there is [`super::layout`]'s.

use super::lanes::repeated;
use super::layout::{aligned, summed};
use crate::graph::{Graph, NodeId, Op};

/// A factor of a sum of products: the entries of it that take part in the first entry of the result, and how far they
/// move along each axis of the result.
pub(in crate::analysis) struct Factor {
    pub node: NodeId,
    pub places: Vec<u64>,
    pub distances: Vec<u64>,
}

/// A sum of products.
pub(in crate::analysis) struct Products {
    /// Axes of the result of more than one entry.
    pub sizes: Vec<u64>,
    /// Their places are in the order of the terms.
    pub factors: [Factor; 2],
}

impl Factor {
    /// How far its entries are from those of the first entry, at these digits of the result.
    pub fn moved(&self, digits: &[u64]) -> u64 {
        digits.iter().zip(&self.distances).map(|(x, d)| x * d).sum()
    }
}

impl Products {
    /// A sum of at most so many terms; of longer ones, such as all weights of a model, places are not listed.
    pub fn of(g: &Graph, id: NodeId, longest: u64) -> Option<Products> {
        let to = g.shape(id);
        if to.contains(&0) {
            return None;
        }
        let wide: Vec<usize> = (0..to.len()).filter(|&d| to[d] != 1).collect();
        let sizes = wide.iter().map(|&d| to[d]).collect();
        let factor = |node: NodeId, places: Vec<u64>, distances: &[u64]| Factor {
            node,
            places,
            distances: wide.iter().map(|&d| distances[d]).collect(),
        };
        let few = |terms: u64| (1..=longest).contains(&terms);
        let args = g.args(id);
        let factors = match g.op(id) {
            Op::MatMul { trans_b } => {
                let (a, b) = (repeated(g.shape(args[0])), repeated(g.shape(args[1])));
                let terms = *g.shape(args[0]).get(2).filter(|n| few(**n))?;
                let (along, column) = if *trans_b { (2, 1) } else { (1, 2) };
                let places = |stride: u64| (0..terms).map(|k| k * stride).collect();
                [
                    factor(args[0], places(1), &[a[0], a[1], 0]),
                    factor(args[1], places(b[along]), &[b[0], 0, b[column]]),
                ]
            }
            Op::Sum(axes) if *g.op(args[0]) == Op::Mul => {
                let shape = g.shape(args[0]);
                let is_summed = |d: &usize| axes.contains(&(*d as u64));
                let (over, rest): (Vec<usize>, Vec<usize>) = (0..shape.len()).partition(is_summed);
                if !few(over.iter().map(|&d| shape[d]).product()) {
                    return None;
                }
                let places = summed(shape, axes, 0);
                [0, 1].map(|i| {
                    let node = g.arg(args[0], i);
                    let (own, steps) = (g.shape(node), repeated(g.shape(node)));
                    let place = |&p: &u64| aligned(own, shape, p);
                    let distances: Vec<u64> = rest.iter().map(|&d| steps[d]).collect();
                    factor(node, places.iter().map(place).collect(), &distances)
                })
            }
            // A sum of one product each.
            Op::Mul => [0, 1].map(|i| factor(args[i], vec![0], &repeated(g.shape(args[i])))),
            _ => return None,
        };
        Some(Products { sizes, factors })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::layout::digits;
    use crate::graph::eval;
    use crate::graph::eval::testing::{Kind, random_graph, random_inputs, successors};
    use std::collections::BTreeMap;

    /// Every sum of products has the value of the products that are said to be added up for it.
    #[test]
    fn entries_are_sums_of_their_products() {
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        for seed in 0..300 {
            let graph = random_graph(seed, 40, Kind::Lossless);
            let run = eval::exact(&graph, &random_inputs(&graph, seed), &successors, true);
            let Ok(run) = run else { continue };
            let value = |n: NodeId| run.values[n.index()].as_ref().expect("values are kept");
            for id in graph.ids() {
                let Some(found) = Products::of(&graph, id, 1000) else { continue };
                *seen.entry(graph.op(id).name()).or_default() += 1;
                let [a, b] = &found.factors;
                for (at, x) in value(id).iter().enumerate() {
                    let at = digits(&found.sizes, at as u64);
                    let entry =
                        |f: &Factor, k: usize| value(f.node)[(f.places[k] + f.moved(&at)) as usize];
                    let sum: i64 = (0..a.places.len()).map(|k| entry(a, k) * entry(b, k)).sum();
                    assert_eq!(*x, sum, "graph {seed}, {at:?} of {:?}", graph.op(id));
                }
            }
        }
        assert!(["mul", "matmul", "sum"].iter().all(|n| seen.contains_key(n)), "{seen:?}");
    }
}
