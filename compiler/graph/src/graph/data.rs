//! The data structure: a graph with its interface.

use super::op::Op;
use slvr_language::syntax::ast::{Secrecy, Span};
use slvr_language::types::Elem;

/// Fraction bits of inputs and truncated values, where no reader wants more (`passes/precision.rs`).
pub const FRACTION: u32 = 16;

/// Index of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index into per-node tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Element. An `Int` is exact; a `Fix` carries a scale once `scales` has run.
    pub elem: Elem,
    /// Sizes of the axes, outermost first.
    pub shape: Vec<u64>,
    pub secrecy: Secrecy,
    /// Fraction bits of the ring element that stands for the value; `None` before `scales`.
    pub frac: Option<u32>,
}

/// A node: an operation and the type of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub op: Op,
    pub ty: Type,
    /// Index into [`Graph::sites`].
    pub site: u32,
}

/// A place in the source that nodes are attributed to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site {
    /// Name of the step, e.g. `gain/conv1`.
    pub name: String,
    /// 1-based line of the predicate's file (of another file for what stands in std), 0 if none.
    pub line: u32,
    /// What the step is to a value that a loop carries within a range.
    pub range: Option<InRange>,
    /// Where, for diagnostics. Not part of the text form.
    pub span: Span,
    /// Whether it is within a model that is applied. Not part of the text form.
    pub network: bool,
    /// What a pass made of the comparisons of another site: this site is a copy of it. Not part of the text
    /// form.
    pub compared: Option<Compared>,
    /// Where on the line each kind of operation stands. Not part of the text form.
    pub places: Places,
}

/// What a step is to a value that a loop carries within a range.
#[derive(Clone, Debug, PartialEq)]
pub enum InRange {
    /// It compares the value with both ends. No pass replaces these comparisons by some of what the value is made of: it
    /// is the value's own words that stay in the range.
    Compares,
    /// Its selection has the value, or the nearer end.
    Keeps { name: String, range: (f64, f64) },
}

/// Where the operations of a site stand, for diagnostics: the first of each kind. Like spans, any two are equal.
#[derive(Clone, Debug, Default)]
pub struct Places(Vec<(&'static str, Place)>);

/// Where an operation stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub span: Span,
    /// The call of the library that it is part of, where that is in the program.
    pub call: Option<Span>,
}

impl PartialEq for Places {
    fn eq(&self, _: &Places) -> bool {
        true
    }
}

impl Places {
    /// Notes where an operation stands, unless one of its kind stands before it.
    pub fn note(&mut self, op: &Op, place: Place) {
        if !self.0.iter().any(|(name, _)| *name == op.name()) {
            self.0.push((op.name(), place));
        }
    }
}

impl Site {
    /// Where an operation of the site stands; that of the site itself for what a pass put there.
    pub fn place(&self, op: &Op) -> Place {
        let found = self.places.0.iter().find(|(name, _)| *name == op.name());
        found.map_or(Place { span: self.span, call: None }, |(_, place)| *place)
    }

    /// The carried value that a selection of this step has, and the range that it keeps it in.
    pub fn keeps(&self) -> Option<(&str, (f64, f64))> {
        match &self.range {
            Some(InRange::Keeps { name, range }) => Some((name, *range)),
            _ => None,
        }
    }

    /// Whether comparisons of this step are with the ends of a range ([`InRange::Compares`]).
    pub fn compares_ends(&self) -> bool {
        self.range == Some(InRange::Compares)
    }
}

/// What is compared in place of two sides of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Index of the site of the comparison in the source.
    pub home: u32,
    /// How a side of the source comes from what is compared, first the last step to it: so many times the
    /// value, or its root.
    pub steps: Vec<(f64, bool)>,
}

/// Where an input comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Giver {
    Public,
    /// Each member of the set with this index in [`Graph::parties`] gives one. The value's first axis ranges over the
    /// members.
    Each(u32),
    /// The parties keep shares of it from round to round. Before the first every entry is this number.
    State(f64),
    /// Everybody knows it: a bit for each member of this set, whether it takes part. Nobody gives it.
    Present(u32),
}

impl Giver {
    /// The set whose members each give one.
    pub fn set(self) -> Option<u32> {
        match self {
            Giver::Each(set) => Some(set),
            Giver::Public | Giver::State(_) | Giver::Present(_) => None,
        }
    }

    /// Whether nobody knows it, or its giver alone.
    pub fn is_secret(self) -> bool {
        matches!(self, Giver::Each(_) | Giver::State(_))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub name: String,
    /// Where it comes from.
    pub from: Giver,
    pub elem: Elem,
    /// Smallest and largest allowed value, both included.
    pub range: (f64, f64),
    /// Shape of what one giver gives.
    pub shape: Vec<u64>,
    /// Fields of a record, in order, as (name, shape); empty for a tensor.
    pub fields: Vec<(String, Vec<u64>)>,
    /// Dealt as a one-hot vector of this many classes: the value has one more axis, last.
    pub one_hot: Option<u64>,
    /// Fraction bits of a `Fix` input that has others than [`Graph::frac`].
    pub frac: Option<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Name after `as`.
    pub name: String,
    /// Index into [`Graph::parties`]. Of a set of several members each gets an entry of the first axis.
    pub to: u32,
    /// The input that the value becomes in the next round: it is kept, and not opened to anybody.
    pub state: Option<u32>,
    /// What is opened.
    pub node: NodeId,
    /// The receiver multiplies by this after opening.
    pub factor: f64,
    /// Then divides by this.
    pub divisor: f64,
    /// Fields, as for an input.
    pub fields: Vec<(String, Vec<u64>)>,
    /// Index into [`Graph::sites`].
    pub site: u32,
}

/// A value that a comparison chooses: `then` where the first of `less` is less than the second, and `other` elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    pub less: [NodeId; 2],
    pub then: NodeId,
    pub other: NodeId,
}

impl Selection {
    /// Whether it is the smaller of the two that are compared.
    pub fn is_smaller(&self) -> bool {
        self.less == [self.then, self.other]
    }

    /// Whether it is the larger of the two that are compared.
    pub fn is_larger(&self) -> bool {
        self.less == [self.other, self.then]
    }
}

/// A graph with its interface.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Name of the predicate.
    pub name: String,
    /// Sizes and parameters it was built for.
    pub sizes: Vec<(String, String)>,
    /// Party sets: name and size.
    pub parties: Vec<(String, u64)>,
    /// Inputs; [`Op::Input`] names one by index.
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    /// Places in the source.
    pub sites: Vec<Site>,
    /// Fraction bits of inputs that have none of their own ([`Input::frac`]), and of truncated values that need no
    /// more; `None` before the pass `scales`.
    pub frac: Option<u32>,
    pub(super) nodes: Vec<Node>,
    /// By node, its operands in order.
    pub(super) args: Vec<Vec<NodeId>>,
    /// By node, who reads it, ascending.
    pub(super) users: Vec<Vec<NodeId>>,
}

impl Graph {
    /// A graph with the same interface and no nodes or outputs.
    pub fn empty_like(&self) -> Graph {
        Graph {
            name: self.name.clone(),
            sizes: self.sizes.clone(),
            parties: self.parties.clone(),
            inputs: self.inputs.clone(),
            outputs: Vec::new(),
            sites: self.sites.clone(),
            frac: self.frac,
            nodes: Vec::new(),
            args: Vec::new(),
            users: Vec::new(),
        }
    }

    /// The number that a node is everywhere, if it is a constant.
    pub fn constant(&self, id: NodeId) -> Option<f64> {
        match self.op(id) {
            Op::Const(table, ..) => table.as_splat(),
            _ => None,
        }
    }

    /// What a selection chooses by a comparison, if it chooses by one or by its opposite.
    pub fn selection(&self, id: NodeId) -> Option<Selection> {
        self.selection_behind(id, |test| test)
    }

    /// The same, where the comparison and its opposites may be behind what `behind` goes through.
    pub fn selection_behind(
        &self,
        id: NodeId,
        behind: impl Fn(NodeId) -> NodeId,
    ) -> Option<Selection> {
        let (Op::Select, &[mut test, mut then, mut other]) = (self.op(id), self.args(id)) else {
            return None;
        };
        test = behind(test);
        while *self.op(test) == Op::Not {
            test = behind(self.arg(test, 0));
            (then, other) = (other, then);
        }
        match (self.op(test), self.args(test)) {
            (Op::Lt, &[a, b]) => Some(Selection { less: [a, b], then, other }),
            _ => None,
        }
    }

    /// Whether a gate is max(v, 0) of its value v: the sign is that of v, or of what v was rounded or cut from. The
    /// sign of a rounded v would be another one: what is just below 0 may be rounded to 0.
    pub fn gates_itself(&self, id: NodeId) -> bool {
        let (Op::Gate, &[mut value, mut sign]) = (self.op(id), self.args(id)) else {
            return false;
        };
        while let Op::Shift(_) | Op::Saturate(_) = self.op(sign) {
            sign = self.arg(sign, 0);
        }
        while value != sign {
            match self.op(value) {
                Op::Trunc(_) | Op::Shift(_) | Op::Saturate(_) => value = self.arg(value, 0),
                _ => return false,
            }
        }
        true
    }

    /// Raw units of an input per real unit, once scales are known: a power of two.
    pub fn input_scale(&self, input: &Input) -> f64 {
        f64::from(self.input_frac(input)).exp2()
    }

    /// Fraction bits of an input, once scales are known.
    pub fn input_frac(&self, input: &Input) -> u32 {
        match input.elem {
            Elem::Fix => input.frac.or(self.frac).unwrap_or(0),
            Elem::Int | Elem::Bit => 0,
        }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All nodes, operands before users.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub fn op(&self, id: NodeId) -> &Op {
        &self.nodes[id.index()].op
    }

    pub fn ty(&self, id: NodeId) -> &Type {
        &self.nodes[id.index()].ty
    }

    pub fn shape(&self, id: NodeId) -> &[u64] {
        &self.nodes[id.index()].ty.shape
    }

    /// Its operands in order.
    pub fn args(&self, id: NodeId) -> &[NodeId] {
        &self.args[id.index()]
    }

    /// Operand number `i`. Panics if there is none: operand counts follow from the operation.
    pub fn arg(&self, id: NodeId, i: usize) -> NodeId {
        self.args[id.index()][i]
    }

    /// The distinct nodes that read it, ascending.
    pub fn users(&self, id: NodeId) -> &[NodeId] {
        &self.users[id.index()]
    }

    /// Adds a node of a given type; the verifier holds it against [`super::infer`].
    pub fn add_typed(&mut self, op: Op, ty: Type, args: &[NodeId], site: u32) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { op, ty, site });
        self.users.push(Vec::new());
        for a in args {
            let users = &mut self.users[a.index()];
            // It is the last one so far.
            if users.last() != Some(&id) {
                users.push(id);
            }
        }
        self.args.push(args.to_vec());
        id
    }

    /// By index, whether a node is one of these, or one of these is computed from it.
    pub fn ancestors_of(&self, these: impl Fn(NodeId) -> bool) -> Vec<bool> {
        let mut found: Vec<bool> = self.ids().map(these).collect();
        for id in self.ids().rev() {
            if found[id.index()] {
                self.args(id).iter().for_each(|a| found[a.index()] = true);
            }
        }
        found
    }

    /// The shape of an input's value: members, its own, classes.
    pub fn input_shape(&self, input: &Input) -> Vec<u64> {
        let members = input.from.set().map(|set| self.parties[set as usize].1);
        members.into_iter().chain(input.shape.iter().copied()).chain(input.one_hot).collect()
    }

    /// By index, whether a node is one of these, or is computed from one.
    pub fn descendants_of(&self, these: impl Fn(NodeId) -> bool) -> Vec<bool> {
        let mut found: Vec<bool> = Vec::with_capacity(self.len());
        for id in self.ids() {
            found.push(these(id) || self.args(id).iter().any(|a| found[a.index()]));
        }
        found
    }

    /// By index, whether these nodes or an output take a value; and the values that a node is the last to read, where
    /// `reads` are those that one reads.
    pub fn last_uses(
        &self,
        these: impl Fn(NodeId) -> bool,
        reads: impl Fn(NodeId) -> Vec<NodeId>,
    ) -> (Vec<bool>, Vec<Vec<NodeId>>) {
        let mut read: Vec<bool> = self.ids().map(these).collect();
        self.outputs.iter().for_each(|o| read[o.node.index()] = true);
        let mut last = vec![Vec::new(); self.len()];
        for id in self.ids().rev() {
            let args = if read[id.index()] { reads(id) } else { Vec::new() };
            for arg in args {
                // The first reader met from the end is the last one.
                if !std::mem::replace(&mut read[arg.index()], true) {
                    last[id.index()].push(arg);
                }
            }
        }
        (read, last)
    }

    /// Whether an output hands out a node's value.
    pub fn is_output(&self, id: NodeId) -> bool {
        self.outputs.iter().any(|o| o.node == id)
    }

    /// The node that alone reads a value; none if several do, or if an output hands it out.
    pub fn only_user(&self, id: NodeId) -> Option<NodeId> {
        match self.users(id)[..] {
            [one] if !self.is_output(id) => Some(one),
            _ => None,
        }
    }

    /// Fraction bits of a node's value; 0 of bits, and before scales are known.
    pub fn frac_of(&self, id: NodeId) -> u32 {
        self.ty(id).frac.unwrap_or(0)
    }

    /// One unit in the last place of a node's value, in real units.
    pub fn ulp(&self, id: NodeId) -> f64 {
        (-f64::from(self.frac_of(id))).exp2()
    }

    /// Number of elements of a node's value.
    pub fn elements(&self, id: NodeId) -> u64 {
        self.shape(id).iter().product()
    }

    /// How many products, or entries, are added up for an entry of a node: 1 of what is no sum.
    pub fn terms(&self, id: NodeId) -> u64 {
        let shape = |i: usize| self.shape(self.arg(id, i));
        match self.op(id) {
            Op::MatMul { .. } => shape(0).last().copied().unwrap_or(1),
            Op::Conv2d { .. } => shape(1).iter().skip(2).product(),
            Op::Sum(axes) => axes.iter().map(|&axis| shape(0)[axis as usize]).product(),
            _ => 1,
        }
    }

    /// The index of the site in the source that a node is attributed to.
    pub fn home(&self, id: NodeId) -> u32 {
        let site = self.node(id).site;
        let copied = self.sites.get(site as usize).and_then(|s| s.compared.as_ref());
        copied.map_or(site, |c| c.home)
    }

    /// The index of a copy of a site whose comparison has both sides divided by a factor and, with `squares`, squared.
    pub fn rescaled_site(&mut self, site: u32, factor: f64, squares: bool) -> u32 {
        let Some(known) = self.sites.get(site as usize) else { return site };
        let mut copy = known.clone();
        let compared = copy.compared.get_or_insert(Compared { home: site, steps: Vec::new() });
        compared.steps.push((factor, squares));
        let found = self.sites.iter().position(|s| *s == copy);
        let at = found.unwrap_or_else(|| {
            self.sites.push(copy);
            self.sites.len() - 1
        });
        at as u32
    }

    /// The site of a node.
    pub fn site(&self, id: NodeId) -> &Site {
        &self.sites[self.node(id).site as usize]
    }
}
