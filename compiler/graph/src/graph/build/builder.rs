//! What is known while a graph is built, statements, and the few nodes that everything is made of.

use crate::graph::{Giver, Graph, InRange, Input, NodeId, Op, Output, Place, Site, Table};
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::source::Sources;
use slvr_language::syntax::ast::{Secrecy, Span};
use slvr_language::types::{Elem, Expr, MAX_RANK, Program, Stmt, Ty, Var, VarId};
use std::collections::{BTreeMap, HashMap};

/// Most expressions of a program, those of a function counted as often as it is called.
const MAX_STEPS: u64 = 1 << 19;

/// A batch axis: one for every generator that is open, in nesting order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Axis(pub u32);

/// A value with its batch axes: the node's shape is the axes' sizes (in ascending order of
/// [`Axis`]), then the value's own dimensions.
#[derive(Clone, Debug)]
pub(super) struct Val {
    pub node: NodeId,
    pub axes: Vec<Axis>,
}

/// What an index is worth under the open generators.
#[derive(Clone, Debug)]
pub(super) enum IndexValue {
    /// offset + step * (position on the axis); without an axis just the offset.
    Affine { axis: Option<Axis>, step: i64, offset: i64 },
    /// A table over axes (ascending, row-major).
    Table { axes: Vec<Axis>, data: Vec<i64> },
    /// All positions of an axis but the one on another axis, in order.
    Others { of: Axis, axis: Axis },
    /// A public tensor known at run time.
    Known(Val),
}

pub(super) struct Builder<'a> {
    pub program: &'a Program,
    pub sources: &'a Sources,
    pub graph: Graph,
    /// Sizes of all axes ever opened.
    pub axis_size: Vec<u64>,
    pub values: BTreeMap<VarId, Val>,
    pub indices: BTreeMap<VarId, IndexValue>,
    /// Names of enclosing definitions and calls, for [`Site`]s.
    pub path: Vec<String>,
    pub site: u32,
    /// The place that was attributed last.
    pub span: Span,
    /// The innermost call that is no part of the library.
    pub call: Option<Span>,
    /// How many models are being applied, one within the other.
    pub networks: u32,
    /// Site of the first value with more dimensions than [`MAX_RANK`].
    pub too_deep: Option<u32>,
    /// Expressions built so far.
    pub steps: u64,
    /// Index of each site made so far, by its name, its line, and whether it keeps a value in its range.
    pub sites_by_name: HashMap<(String, u32, bool), u32>,
}

/// Refusal to build: something the graph has no operation for.
pub(super) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

impl Builder<'_> {
    pub(super) fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::Input { var, range, from } => {
                let ty = &self.program.vars[var.0 as usize].ty;
                let giver = match (from, ty.secrecy) {
                    (None, _) => Giver::Public,
                    (Some(set), Secrecy::Public) => Giver::Present(set.0),
                    (Some(set), Secrecy::Secret) => Giver::Each(set.0),
                };
                // Of what each member gives, the shape of one.
                let own = ty.dims.iter().skip(usize::from(giver.set().is_some()));
                self.input(*var, giver, *range, own.map(|d| d.size).collect(), self.fields(ty));
            }
            Stmt::State { var, range, start } => {
                let shape = self.program.vars[var.0 as usize].ty.shape();
                self.input(*var, Giver::State(*start), *range, shape, Vec::new());
            }
            Stmt::Store { state, value, span } => self.store(*state, value, *span)?,
            Stmt::Let { var, value } => self.define(*var, value)?,
            Stmt::Tuple { vars, body, span } => {
                let names = self.names(vars);
                self.enter(&names, *span);
                let vals = self.body(body)?;
                self.values.extend(vars.iter().copied().zip(vals));
                self.leave();
            }
            Stmt::Sample { var, lots } => {
                let v = &self.program.vars[var.0 as usize];
                self.enter(&v.name, v.span);
                let node = self.add(Op::Draw(*lots), &[]);
                let node = self.reshape(node, v.ty.shape());
                self.values.insert(*var, Val { node, axes: Vec::new() });
                self.leave();
            }
            Stmt::Noise { var, noise, number } => {
                let v = &self.program.vars[var.0 as usize];
                let (name, span, shape) = (v.name.clone(), v.span, v.ty.shape());
                self.enter(&name, span);
                let node = self.add(Op::Noise { noise: *noise, number: *number, shape }, &[]);
                self.values.insert(*var, Val { node, axes: Vec::new() });
                self.leave();
            }
            Stmt::Reveal { value, to, name, span } => {
                self.enter(name, *span);
                let v = self.expr(value)?;
                // Of a list of weights the fields are in each of its entries, and the tensor is revealed as it is.
                let fields = match value.ty.dims.len() {
                    1 => self.fields(&value.ty),
                    _ => Vec::new(),
                };
                self.output(name, to.0, None, v.node, fields);
                self.leave();
            }
        }
        Ok(())
    }

    /// What a party or the last round gives, of this shape.
    fn input(
        &mut self,
        var: VarId,
        from: Giver,
        range: (f64, f64),
        shape: Vec<u64>,
        fields: Vec<(String, Vec<u64>)>,
    ) {
        let v = &self.program.vars[var.0 as usize];
        self.enter(&v.name, v.span);
        let index = self.graph.inputs.len() as u32;
        let (name, elem) = (v.name.clone(), v.ty.elem);
        self.graph.inputs.push(Input {
            name,
            from,
            elem,
            range,
            shape,
            fields,
            one_hot: None,
            frac: None,
        });
        let node = self.add(Op::Input(index), &[]);
        self.values.insert(var, Val { node, axes: Vec::new() });
        self.leave();
    }

    /// What is handed out: to a party, or as a state to the next round.
    fn output(
        &mut self,
        name: &str,
        to: u32,
        state: Option<u32>,
        node: NodeId,
        fields: Vec<(String, Vec<u64>)>,
    ) {
        let (name, site) = (name.to_string(), self.site);
        self.graph.outputs.push(Output {
            name,
            to,
            state,
            node,
            factor: 1.0,
            divisor: 1.0,
            fields,
            site,
        });
    }

    /// What a state is in the next round: a value, kept in the range of the state.
    fn store(&mut self, state: VarId, value: &Expr, span: Span) -> Result<()> {
        let Var { name, ty, .. } = &self.program.vars[state.0 as usize];
        self.enter(name, span);
        let v = self.expr(value)?;
        let v = self.as_declared(state, v);
        let declared = self.graph.inputs.iter().position(|i| i.name == *name);
        let index = declared.unwrap_or_default();
        let range = self.graph.inputs[index].range;
        let v = if ty.elem == Elem::Bit { v } else { self.within(v, range, state, span) };
        self.output(name, 0, Some(index as u32), v.node, Vec::new());
        self.leave();
        Ok(())
    }

    pub(super) fn define(&mut self, var: VarId, value: &Expr) -> Result<()> {
        let v = &self.program.vars[var.0 as usize];
        self.enter(&v.name, value.span);
        let val = self.expr(value)?;
        self.values.insert(var, val);
        self.leave();
        Ok(())
    }

    /// Names of variables: `a, b`.
    pub(super) fn names(&self, vars: &[VarId]) -> String {
        let name = |v: &VarId| self.program.vars[v.0 as usize].name.as_str();
        vars.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn fields(&self, ty: &Ty) -> Vec<(String, Vec<u64>)> {
        let Some(model) = ty.record else { return Vec::new() };
        let params = &self.program.models[model.0 as usize].params;
        params.iter().map(|p| (p.name.clone(), p.shape.clone())).collect()
    }

    /// Opens a step: nodes are attributed to it until [`Self::leave`].
    pub(super) fn enter(&mut self, name: &str, span: Span) {
        self.path.push(name.to_string());
        self.at(span);
    }

    /// The same of a step that is this to a value that a loop carries within a range.
    pub(super) fn enter_in_range(&mut self, name: &str, range: InRange, span: Span) {
        self.path.push(name.to_string());
        self.at_in_range(span, Some(range));
    }

    pub(super) fn leave(&mut self) {
        self.path.pop();
    }

    /// Attributes the next nodes to a place inside the current step.
    pub(super) fn at(&mut self, span: Span) {
        self.at_in_range(span, None);
    }

    fn at_in_range(&mut self, span: Span, range: Option<InRange>) {
        self.span = span;
        let line = self.sources.line_col(span).0 as u32;
        let name = self.path.join("/");
        let sites = &mut self.graph.sites;
        let key = (name, line, range.is_some());
        self.site = *self.sites_by_name.entry(key).or_insert_with_key(|(name, ..)| {
            sites.push(Site { name: name.clone(), line, range, span, ..Site::default() });
            sites.len() as u32 - 1
        });
        sites[self.site as usize].network |= self.networks > 0;
    }

    pub(super) fn add(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        if let Some(site) = self.graph.sites.get_mut(self.site as usize) {
            let call = self.call.filter(|call| call.file != self.span.file);
            site.places.note(&op, Place { span: self.span, call });
        }
        let node = self.graph.add(op, args, self.site);
        if self.graph.shape(node).len() > MAX_RANK {
            self.too_deep.get_or_insert(self.site);
        }
        node
    }

    pub(super) fn size(&self, axis: Axis) -> u64 {
        self.axis_size[axis.0 as usize]
    }

    pub(super) fn open(&mut self, size: u64) -> Axis {
        self.axis_size.push(size);
        Axis(self.axis_size.len() as u32 - 1)
    }

    pub(super) fn shape(&self, v: &Val) -> Vec<u64> {
        self.graph.shape(v.node).to_vec()
    }

    /// Own dimensions of a value.
    pub(super) fn own(&self, v: &Val) -> Vec<u64> {
        self.graph.shape(v.node)[v.axes.len()..].to_vec()
    }

    pub(super) fn reshape(&mut self, node: NodeId, to: Vec<u64>) -> NodeId {
        if self.graph.shape(node) == to { node } else { self.add(Op::Reshape(to), &[node]) }
    }

    pub(super) fn transpose(&mut self, node: NodeId, perm: Vec<u64>) -> NodeId {
        if perm.iter().copied().eq(0..perm.len() as u64) {
            node
        } else {
            self.add(Op::Transpose(perm), &[node])
        }
    }

    /// The value with size-1 axes where it lacks one of `axes`, and its own dimensions brought to
    /// `rank` by size-1 dimensions in front. Nothing is repeated.
    pub(super) fn spread(&mut self, v: &Val, axes: &[Axis], rank: usize) -> NodeId {
        let own = self.own(v);
        let mut shape: Vec<u64> =
            axes.iter().map(|a| if v.axes.contains(a) { self.size(*a) } else { 1 }).collect();
        shape.extend(std::iter::repeat_n(1, rank - own.len()));
        shape.extend(own);
        self.reshape(v.node, shape)
    }

    /// The value with all of `axes`, repeated where it lacks one.
    pub(super) fn expand(&mut self, v: &Val, axes: &[Axis]) -> NodeId {
        let own = self.own(v);
        let node = self.spread(v, axes, own.len());
        let mut shape: Vec<u64> = axes.iter().map(|a| self.size(*a)).collect();
        shape.extend(own);
        if self.graph.shape(node) == shape { node } else { self.add(Op::Broadcast(shape), &[node]) }
    }

    pub(super) fn constant(&mut self, table: Table, elem: Elem) -> NodeId {
        self.add(Op::Const(table, elem, None), &[])
    }

    /// Refuses programs that grow without end where functions are written out: each may call the one before it
    /// twice.
    pub(super) fn affordable_step(&mut self, span: Span) -> Result<()> {
        self.steps += 1;
        if self.steps <= MAX_STEPS {
            return Ok(());
        }
        Err(Box::new(
            Diagnostic::error(
                codes::SIZE,
                format!("a program has at most {MAX_STEPS} operations, with the functions that it calls"),
                span,
                "too many",
            )
            .hint("functions are written out where they are called: give a result that is used twice a name"),
        ))
    }
}

/// Axes in their order, each once.
pub(super) fn ascending(mut axes: Vec<Axis>) -> Vec<Axis> {
    axes.sort_unstable();
    axes.dedup();
    axes
}

/// Axes of several values, ascending, each once.
pub(super) fn union<'v>(vals: impl IntoIterator<Item = &'v Val>) -> Vec<Axis> {
    ascending(vals.into_iter().flat_map(|v| v.axes.iter().copied()).collect())
}
