//! How near the comparisons of a graph are to their thresholds, in floating point.

use slvr_compiler::analysis::errors::Decision;
use slvr_compiler::graph::{Graph, NodeId, Op};

/// The values of all nodes, by index.
pub type Values = [Vec<f64>];

/// How far the sides of a comparison are apart, for each of its entries; of a label test, for each row.
///
/// # Panics
///
/// The node is none that decides.
pub fn distances(graph: &Graph, node: NodeId, values: &Values) -> Vec<f64> {
    let args = graph.args(node);
    let of = |id: NodeId| &values[id.index()];
    match graph.op(node) {
        Op::ArgMaxIs => {
            let classes = *graph.shape(args[0]).last().expect("classes") as usize;
            let rows = of(args[0]).chunks(classes).zip(of(args[1]).chunks(classes));
            let row = |(z, label): (&[f64], &[f64])| {
                let own: f64 = z.iter().zip(label).map(|(z, l)| z * l).sum();
                let others = z.iter().zip(label).filter(|(_, l)| **l == 0.0);
                others.map(|(z, _)| (own - z).abs()).fold(f64::INFINITY, f64::min)
            };
            rows.map(row).collect()
        }
        Op::Lt | Op::Eq => {
            let to = graph.shape(node).to_vec();
            let entry = |id: NodeId, mut at: usize| {
                let (mut flat, mut stride) = (0, 1);
                for (&n, &m) in graph.shape(id).iter().zip(&to).rev() {
                    if n != 1 {
                        flat += at % m as usize * stride;
                    }
                    at /= m as usize;
                    stride *= n as usize;
                }
                of(id)[flat]
            };
            let all = 0..graph.elements(node) as usize;
            all.map(|i| (entry(args[0], i) - entry(args[1], i)).abs()).collect()
        }
        Op::Gate => of(args[1]).iter().map(|s| s.abs()).collect(),
        op => panic!("no distance of {}", op.name()),
    }
}

/// The least of [`distances`].
///
/// # Panics
///
/// As there.
pub fn distance(graph: &Graph, node: NodeId, values: &Values) -> f64 {
    distances(graph, node, values).into_iter().fold(f64::INFINITY, f64::min)
}

/// Whether every decision is further from its threshold than its margin, in the units of the graph.
pub fn clear(graph: &Graph, values: &Values, decisions: &[Decision]) -> bool {
    decisions.iter().all(|d| distance(graph, d.node, values) > d.margin)
}
