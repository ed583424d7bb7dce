//! Which values are not negative, from the way they are computed.

use super::behind::behind;
use super::chains::follow;
use super::guard::Entries;
use crate::graph::{Class, Graph, NodeId, Op};
use slvr_language::types::function::NotNegative;

/// Whether a value cannot be negative, in real numbers and in a circuit: truncation rounds to one of
/// the two next integers, so it keeps the sign. Ranges of inputs are not used.
pub fn not_negative(graph: &Graph, id: NodeId) -> bool {
    follow(id, false, &|id, known| rule(graph, id, None, known))
}

/// Whether a value cannot be negative, with what the entries of inputs keep to.
pub fn not_negative_of(graph: &Graph, id: NodeId, entries: Entries) -> bool {
    follow(id, false, &|id, known| rule(graph, id, Some(entries), known))
}

/// Whether a value cannot be negative, if that is known of its operands.
fn rule(g: &Graph, id: NodeId, entries: Option<Entries>, known: &dyn Fn(NodeId) -> bool) -> bool {
    use Op::*;
    let args = g.args(id);
    let arg = |i: usize| known(args[i]);
    match g.op(id) {
        Function(f) => match f.facts().not_negative {
            NotNegative::Always => true,
            NotNegative::WithOperand => arg(0),
            NotNegative::No => false,
        },
        Abs | Relu | ToInt | OneHot(_) | ArgMax | Draw(_) | Places(_) => true,
        // Entries of its value, or 0.
        Gate => g.gates_itself(id) || arg(0),
        Pairs { table, n } => table.range(*n).0 >= 0,
        Const(t, ..) => t.data.iter().all(|&x| x >= 0.0),
        Mul if args[0] == args[1] => true,
        Add | Mul | Div | MatMul { .. } | Conv2d { .. } => arg(0) && arg(1),
        // What a loop carries is kept in its declared range.
        Select if g.site(id).keeps().is_some_and(|(_, range)| range.0 >= 0.0) => true,
        Select => arg(1) && arg(2),
        Scale(c) => *c >= 0.0 && arg(0),
        Sum(_) | Max(_) | Min(_) | Sort | Saturate(_) | SortSum { .. } | MaxPool { .. } => arg(0),
        Concat(_) => (0..args.len()).all(arg),
        Sub => complement(g, args),
        Input(i) => entries.is_some_and(|e| e.of(g, &g.inputs[*i as usize]).0 >= 0.0),
        op => matches!(op.class(), Class::Layout | Class::Rescale) && arg(0),
    }
}

/// Whether a difference is 1 - b, or more, for bits b.
fn complement(g: &Graph, args: &[NodeId]) -> bool {
    let at_least_one = match g.op(args[0]) {
        Op::Const(t, ..) => t.data.iter().all(|&x| x >= 1.0),
        _ => false,
    };
    at_least_one && *g.op(behind(g, args[1], Op::is_layout)) == Op::ToInt
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::text;

    /// Whether the last node of a body is known not to be negative. Nodes 0 and 1 are numbers of either sign.
    fn known_of(body: &str) -> bool {
        let last = body.lines().count() + 1;
        let text = format!(
            "graph T\nparties Client[1]\nparties Server[1]\nfrac 16\n\
             input 0 x : secret fix[4] in -8..8 from each Client\n\
             input 1 y : secret fix[4] in -8..8 from each Client\nsite 0 \"x\" line 1\n\n\
             %0 = input 0 : secret fix.16[1,4] @0\n%1 = input 1 : secret fix.16[1,4] @0\n\
             {body}reveal %{last} to Server as z @0\n"
        );
        let graph = text::parse(&text).expect("a graph");
        not_negative(&graph, NodeId(last as u32))
    }

    #[test]
    fn gates_keep_what_their_sign_says() {
        assert!(known_of("%2 = gate %0 %0 : secret fix.16[1,4] @0\n"));
        let cut = "%2 = trunc %0 by=4 : secret fix.12[1,4] @0\n";
        assert!(known_of(&format!("{cut}%3 = gate %2 %0 : secret fix.12[1,4] @0\n")));
        // A number just below 0 may be rounded to 0.
        assert!(!known_of(&format!("{cut}%3 = gate %0 %2 : secret fix.16[1,4] @0\n")));
        let raised = "%2 = shift %0 by=4 : secret fix.20[1,4] @0\n";
        assert!(known_of(&format!("{raised}%3 = gate %0 %2 : secret fix.16[1,4] @0\n")));
        assert!(!known_of("%2 = gate %0 %1 : secret fix.16[1,4] @0\n"));
        let other =
            "%2 = neg %0 : secret fix.16[1,4] @0\n%3 = gate %0 %2 : secret fix.16[1,4] @0\n";
        assert!(!known_of(other));
    }

    #[test]
    fn lists_of_lists_are_looked_at_once() {
        let text = "graph T\nparties Client[1]\nparties Server[1]\nfrac 16\n\
                    input 0 x : secret fix[4] in -8..8 from each Client\nsite 0 \"x\" line 1\n\n\
                    %0 = input 0 : secret fix.16[1,4] @0\nreveal %0 to Server as z @0\n";
        let mut graph = text::parse(text).expect("a graph");
        let mut x = graph.add(Op::Abs, &[NodeId(0)], 0);
        // Each level is 200 times the one below: followed anew each time, that is a billion steps.
        for _ in 0..3 {
            let all = graph.add(Op::Concat(1), &[x; 200], 0);
            let sum = graph.add(Op::Sum(vec![1]), &[all], 0);
            x = graph.add_reshape(sum, vec![1, 1], 0);
        }
        let all = graph.add(Op::Concat(1), &[x; 200], 0);
        assert!(not_negative(&graph, all));
    }
}
