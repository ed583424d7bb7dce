//! What a choice is, and the choices of a graph.

use crate::lower::facts::Facts;
use crate::lower::t1::search::Search;
use crate::lower::t2::functions::Protocol;
use crate::lower::target::Family;
use slvr_graph::analysis::truth_tables::Literal;
use slvr_graph::graph::NodeId;
use std::rc::Rc;

/// The form in which a value is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// In none: it is lowered together with what reads it.
    Nothing,
    Public,
    Replicated,
    /// Additive among the three.
    Additive,
    /// Split, maybe with low bits that are there earlier.
    Split,
    Pair,
}

/// What is chosen for a node.
#[derive(Clone, Debug)]
pub struct Choice {
    pub family: Family,
    /// Between how many groups its shards are cut, in family T2.
    pub groups: u32,
    pub made: Made,
    /// The way, where there are several.
    pub way: Way,
}

/// How a node is computed.
#[derive(Clone, Debug)]
pub enum Way {
    /// By the operation's own protocol.
    Own,
    /// By one table of bits of earlier nodes.
    Table(Rc<Truth>),
    /// As the product of all bits along the last axis of a node.
    Conjunction(NodeId),
    /// An inner product with bits, as a choice of each entry.
    Entries,
    /// A product with a copy of the right operand for each group.
    Copies,
    /// An argmax test, whose only reader takes words: these are looked up at once.
    Counted(NodeId),
    /// The words of [`Way::Counted`].
    WithOperand,
    /// A function's own protocol.
    Function(Rc<Protocol>),
    /// In family T1: by a search among the entries of this node, of which the comparison reads ranks.
    Searched(NodeId, Search),
}

/// One truth table for all elements of a node.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Bits that it is of.
    pub of: usize,
    pub table: Vec<bool>,
    /// The bits of every element, one element after another.
    pub literals: Vec<Literal>,
}

/// The choices for all nodes.
#[derive(Clone, Debug, Default)]
pub struct Plan(Vec<Choice>);

impl Plan {
    /// What is chosen for a node.
    pub fn of(&self, id: NodeId) -> &Choice {
        &self.0[id.index()]
    }

    /// Adds the choice for the next node.
    pub fn push(&mut self, choice: Choice) {
        self.0.push(choice);
    }

    /// The groups of a value that is in a form of family T2; none for a node that is not chosen yet.
    pub fn groups(&self, id: NodeId) -> Option<u32> {
        let choice = self.0.get(id.index())?;
        matches!(choice.made, Made::Split | Made::Pair).then_some(choice.groups)
    }

    /// Whether the reader of a value in a ring of k bits takes it as it was made: the value is in that
    /// form, in a ring as large, and nobody else will convert it.
    pub fn hands_over(&self, facts: &Facts<'_>, id: NodeId, made: Made, k: u32) -> bool {
        let fits = facts.is_bit(id) || facts.ring(id) >= k;
        self.of(id).made == made && fits && facts.has_one_reader(id)
    }
}
