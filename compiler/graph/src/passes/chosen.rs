//! Which comparisons only choose the smaller or the larger of what they compare.
//!
//! Computed once for a graph, in one sweep from its end: a constant that a thousand comparisons share is looked at
//! once, and not once for each of them.

use crate::graph::{Graph, NodeId, Op};

/// By node of a graph.
pub(super) struct Chosen {
    /// A comparison that only chooses one of what it compares.
    extremum: Vec<bool>,
    /// A value that is read only by such comparisons and choices, as it is or copied.
    only: Vec<bool>,
}

impl Chosen {
    pub fn of(g: &Graph) -> Chosen {
        let mut opened = vec![false; g.len()];
        g.outputs.iter().for_each(|o| opened[o.node.index()] = true);
        let extremum: Vec<bool> =
            g.ids().map(|id| !opened[id.index()] && extremum(g, id)).collect();
        let mut only: Vec<bool> = opened.iter().map(|o| !o).collect();
        // All that read a value come after it.
        for id in g.ids().rev() {
            for (at, &x) in g.args(id).iter().enumerate() {
                let chosen = match g.op(id) {
                    op if op.is_layout() => only[id.index()],
                    Op::Concat(_) => only[id.index()],
                    Op::Lt => extremum[id.index()],
                    Op::Select => at > 0 && extremum[g.arg(id, 0).index()],
                    _ => false,
                };
                only[x.index()] &= chosen;
            }
        }
        Chosen { extremum, only }
    }

    /// Whether a comparison is there to choose the smaller or the larger of what it compares, and that is read for
    /// nothing else.
    pub fn by(&self, g: &Graph, lt: NodeId) -> bool {
        self.extremum[lt.index()] && g.args(lt).iter().all(|&x| self.only_from(g, x))
    }

    /// Whether all that are read of a value, and of what it is copied from, are choices of the smaller or larger.
    fn only_from(&self, g: &Graph, x: NodeId) -> bool {
        match g.op(x) {
            op if op.is_layout() => self.only_from(g, g.arg(x, 0)),
            Op::Concat(_) => g.args(x).iter().all(|&part| self.only_from(g, part)),
            _ => self.only[x.index()],
        }
    }
}

/// Whether a comparison only chooses one of what it compares.
fn extremum(g: &Graph, lt: NodeId) -> bool {
    if *g.op(lt) != Op::Lt {
        return false;
    }
    let sides = g.args(lt);
    let of_both = |u: NodeId| {
        let chosen = g.args(u);
        let chosen = chosen.get(1..).unwrap_or_default();
        *g.op(u) == Op::Select && (chosen == sides || chosen.iter().rev().eq(sides))
    };
    let users = g.users(lt);
    !users.is_empty() && users.iter().copied().all(of_both)
}
