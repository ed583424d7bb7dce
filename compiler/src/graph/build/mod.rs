//! From a typed program to a graph.
//!
//! Every value computed inside comprehensions has, before its own dimensions, one *batch axis* for
//! each enclosing loop variable it depends on (`Val`): `update[i]` under `for i in Client` is the
//! whole tensor `update` with its first axis renamed, not m slices. Operations on values of
//! different loops align their batch axes; leaving a comprehension turns its axis into an ordinary
//! dimension. So the number of nodes does not depend on any size of the program.
//!
//! | file | does |
//! |---|---|
//! | `index.rs` | what loop variables and index expressions are worth: a whole axis, a table, or a public tensor known at run time (a sampled committee) |
//! | `expr.rs` | expressions |
//! | `model.rs` | the steps of a model |

mod expr;
mod index;
mod model;

use super::{Graph, Input, NodeId, Op, Output, Site};
use crate::diagnostic::Diagnostic;
use crate::syntax::Sources;
use crate::syntax::ast::Span;
use crate::types::{Elem, Expr, Program, Stmt, Ty, VarId};
use index::IndexValue;
use std::collections::BTreeMap;

/// A batch axis: one for every generator that is open, in nesting order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Axis(u32);

/// A value with its batch axes: the node's shape is the axes' sizes (in ascending order of
/// [`Axis`]), then the value's own dimensions.
#[derive(Clone, Debug)]
struct Val {
    node: NodeId,
    axes: Vec<Axis>,
}

struct Builder<'a> {
    program: &'a Program,
    sources: &'a Sources,
    graph: Graph,
    /// Sizes of all axes ever opened.
    axis_size: Vec<u64>,
    values: BTreeMap<VarId, Val>,
    indices: BTreeMap<VarId, IndexValue>,
    /// Names of enclosing definitions and calls, for [`Site`]s.
    path: Vec<String>,
    site: u32,
}

/// Refusal to build: something the graph has no operation for.
type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// Builds the graph of a predicate.
pub fn build(program: &Program, sources: &Sources) -> std::result::Result<Graph, Vec<Diagnostic>> {
    let graph = Graph {
        name: program.name.clone(),
        sizes: program.sizes.clone(),
        parties: program.parties.iter().map(|p| (p.name.clone(), p.size)).collect(),
        ..Graph::default()
    };
    let mut b = Builder {
        program,
        sources,
        graph,
        axis_size: Vec::new(),
        values: BTreeMap::new(),
        indices: BTreeMap::new(),
        path: Vec::new(),
        site: 0,
    };
    for stmt in &program.body {
        b.stmt(stmt).map_err(|d| vec![*d])?;
    }
    Ok(b.graph)
}

impl Builder<'_> {
    fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::Input { var, range, from } => {
                let v = &self.program.vars[var.0 as usize];
                let own = &v.ty.dims[usize::from(from.is_some())..];
                self.enter(&v.name, v.span);
                self.graph.inputs.push(Input {
                    name: v.name.clone(),
                    from: from.map(|s| s.0),
                    elem: v.ty.elem,
                    range: *range,
                    shape: own.iter().map(|d| d.size).collect(),
                    fields: self.fields(&v.ty),
                    one_hot: None,
                });
                let index = self.graph.inputs.len() as u32 - 1;
                let node = self.add(Op::Input(index), &[]);
                self.values.insert(*var, Val { node, axes: Vec::new() });
                self.leave();
            }
            Stmt::Let { var, value } => self.define(*var, value)?,
            Stmt::Sample { var, count, each, .. } => {
                let v = &self.program.vars[var.0 as usize];
                let n = self.program.parties[each.0 as usize].size;
                self.enter(&v.name, v.span);
                let node = self.add(Op::Committee { n, k: *count }, &[]);
                self.values.insert(*var, Val { node, axes: Vec::new() });
                self.leave();
            }
            Stmt::Reveal { value, to, name, span } => {
                self.enter(name, *span);
                let v = self.expr(value)?;
                let fields = self.fields(&value.ty);
                let site = self.site;
                self.graph.outputs.push(Output {
                    name: name.clone(),
                    to: to.0,
                    node: v.node,
                    factor: 1.0,
                    divisor: 1.0,
                    fields,
                    site,
                });
                self.leave();
            }
        }
        Ok(())
    }

    fn define(&mut self, var: VarId, value: &Expr) -> Result<()> {
        let v = &self.program.vars[var.0 as usize];
        self.enter(&v.name, value.span);
        let val = self.expr(value)?;
        self.values.insert(var, val);
        self.leave();
        Ok(())
    }

    fn fields(&self, ty: &Ty) -> Vec<(String, Vec<u64>)> {
        let Some(model) = ty.record else { return Vec::new() };
        let params = &self.program.models[model.0 as usize].params;
        params.iter().map(|p| (p.name.clone(), p.shape.clone())).collect()
    }

    /// Opens a step: nodes are attributed to it until [`Self::leave`].
    fn enter(&mut self, name: &str, span: Span) {
        self.path.push(name.to_string());
        self.at(span);
    }

    fn leave(&mut self) {
        self.path.pop();
    }

    /// Attributes the next nodes to a place inside the current step.
    fn at(&mut self, span: Span) {
        let line = self.sources.line_col(span).0 as u32;
        let name = self.path.join("/");
        let found = self.graph.sites.iter().rposition(|s| s.name == name && s.line == line);
        self.site = match found {
            Some(i) => i as u32,
            None => {
                self.graph.sites.push(Site { name, line, span });
                self.graph.sites.len() as u32 - 1
            }
        };
    }

    fn add(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        self.graph.add(op, args, self.site)
    }

    fn size(&self, axis: Axis) -> u64 {
        self.axis_size[axis.0 as usize]
    }

    fn open(&mut self, size: u64) -> Axis {
        self.axis_size.push(size);
        Axis(self.axis_size.len() as u32 - 1)
    }

    fn shape(&self, v: &Val) -> Vec<u64> {
        self.graph.shape(v.node).to_vec()
    }

    /// Own dimensions of a value.
    fn own(&self, v: &Val) -> Vec<u64> {
        self.graph.shape(v.node)[v.axes.len()..].to_vec()
    }

    fn reshape(&mut self, node: NodeId, to: Vec<u64>) -> NodeId {
        if self.graph.shape(node) == to { node } else { self.add(Op::Reshape(to), &[node]) }
    }

    fn transpose(&mut self, node: NodeId, perm: Vec<u64>) -> NodeId {
        if perm.iter().copied().eq(0..perm.len() as u64) {
            node
        } else {
            self.add(Op::Transpose(perm), &[node])
        }
    }

    /// The value with size-1 axes where it lacks one of `axes`, and its own dimensions brought to
    /// `rank` by size-1 dimensions in front. Nothing is repeated.
    fn spread(&mut self, v: &Val, axes: &[Axis], rank: usize) -> NodeId {
        let own = self.own(v);
        let mut shape: Vec<u64> =
            axes.iter().map(|a| if v.axes.contains(a) { self.size(*a) } else { 1 }).collect();
        shape.extend(std::iter::repeat_n(1, rank - own.len()));
        shape.extend(own);
        self.reshape(v.node, shape)
    }

    /// The value with all of `axes`, repeated where it lacks one.
    fn expand(&mut self, v: &Val, axes: &[Axis]) -> NodeId {
        let own = self.own(v);
        let node = self.spread(v, axes, own.len());
        let mut shape: Vec<u64> = axes.iter().map(|a| self.size(*a)).collect();
        shape.extend(own);
        if self.graph.shape(node) == shape { node } else { self.add(Op::Broadcast(shape), &[node]) }
    }

    fn constant(&mut self, table: super::Table, elem: Elem) -> NodeId {
        self.add(Op::Const(table, elem, None), &[])
    }

    fn cannot<T>(&self, what: &str, span: Span) -> Result<T> {
        Err(Box::new(Diagnostic::not_lowered(what, span)))
    }
}

/// Axes of several values, ascending, each once.
fn union(vals: &[&Val]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = vals.iter().flat_map(|v| v.axes.iter().copied()).collect();
    axes.sort_unstable();
    axes.dedup();
    axes
}
