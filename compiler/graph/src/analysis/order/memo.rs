//! Each sum is looked at once, however often intervals are found: of one graph, and of its versions with other scales.
//!
//! What a mask chooses does not depend on how many bits values are shifted, truncated or cut by: how far truncations are
//! off is asked of the graph at hand ([`Ranked::slack`]). The pipeline compiles a program at several precisions, and
//! most of these differ in nothing else.

use super::{Ranked, of_any, of_values};
use crate::analysis::view::View;
use crate::graph::{Graph, NodeId, Op};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// What has been found of a graph's sums.
#[derive(Default)]
pub(in crate::analysis) struct Orders(RefCell<BTreeMap<NodeId, Option<Rc<Ranked>>>>);

impl Orders {
    /// A sum of values that a mask chooses by their ranks, or by those of anything.
    pub fn of(&self, view: &View<'_>, id: NodeId) -> Option<Rc<Ranked>> {
        if let Some(known) = self.0.borrow().get(&id) {
            return known.clone();
        }
        let found = of_values(view, id).or_else(|| of_any(view, id)).map(Rc::new);
        self.0.borrow_mut().insert(id, found.clone());
        found
    }
}

/// What has been found of the versions of a graph, those that are alike together.
#[derive(Clone, Default)]
pub(in crate::analysis) struct Versions(Rc<RefCell<Vec<Version>>>);

/// The first of those that are alike, and what has been found of it.
type Version = (Graph, Rc<Orders>);

impl Versions {
    pub fn orders(&self, graph: &Graph) -> Rc<Orders> {
        let mut all = self.0.borrow_mut();
        if let Some((_, orders)) = all.iter().find(|(known, _)| are_alike(known, graph)) {
            return Rc::clone(orders);
        }
        let orders = Rc::<Orders>::default();
        all.push((graph.clone(), Rc::clone(&orders)));
        orders
    }
}

/// Whether two graphs differ in fraction bits and in the amounts of shifts, truncations and cuts only.
fn are_alike(a: &Graph, b: &Graph) -> bool {
    let node = |id: NodeId| {
        let (x, y) = (a.ty(id), b.ty(id));
        let op = match (a.op(id), b.op(id)) {
            (Op::Trunc(_), Op::Trunc(_))
            | (Op::Shift(_), Op::Shift(_))
            | (Op::Saturate(_), Op::Saturate(_)) => true,
            (Op::Const(x, e, _), Op::Const(y, f, _)) => {
                e == f && x.shape == y.shape && (Arc::ptr_eq(&x.data, &y.data) || x.data == y.data)
            }
            (x, y) => x == y,
        };
        op && a.args(id) == b.args(id) && x.elem == y.elem && x.shape == y.shape
    };
    a.len() == b.len() && a.ids().all(node)
}
