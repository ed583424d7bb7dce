//! What a rule says of a value from what it says of the operands, along chains that are not too long.

use crate::graph::NodeId;
use std::cell::RefCell;
use std::collections::HashMap;

/// Chains longer than this are not followed.
const LENGTH: usize = 12;

/// Says something of a node by what is said of its operands.
type Rule<'r, T> = &'r dyn Fn(NodeId, &dyn Fn(NodeId) -> T) -> T;

/// What `rule` says of a node. It is given what it says of operands: `unknown` where a chain is too long. Each node is
/// asked once with the same rest of a chain: parts of a list may be made of one list, and so on.
pub fn follow<T: Copy>(id: NodeId, unknown: T, rule: Rule<'_, T>) -> T {
    Chains { unknown, rule, said: RefCell::default() }.at(id, LENGTH)
}

struct Chains<'r, T> {
    unknown: T,
    rule: Rule<'r, T>,
    said: RefCell<HashMap<(NodeId, usize), T>>,
}

impl<T: Copy> Chains<'_, T> {
    fn at(&self, id: NodeId, left: usize) -> T {
        let Some(left) = left.checked_sub(1) else { return self.unknown };
        if let Some(&said) = self.said.borrow().get(&(id, left)) {
            return said;
        }
        let said = (self.rule)(id, &|arg| self.at(arg, left));
        self.said.borrow_mut().insert((id, left), said);
        said
    }
}
