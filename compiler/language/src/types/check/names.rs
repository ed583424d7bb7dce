//! Names of every item of a file, used or not: unknown names, names defined twice, recursion.
//!
//! The checker itself only visits what the predicate calls with the given sizes. This pass visits every
//! item, so that a misspelt name is always reported.

use super::layers::is_layer;
use super::scope::Scope;
use super::world::{ItemId, World, item_kind};
use crate::diagnostic::near::{by_meaning, did_you_mean, habit};
use crate::diagnostic::{Diagnostic, Edit, Hint, codes};
use crate::syntax::ast::{
    BinaryOp, Expr, ExprKind, Gen, Ident, Item, ItemKind, Iterate, Let, Param, Size, Span, Stmt,
    StmtKind, Type, TypeKind,
};
use crate::types::Elem;
use crate::types::layer::LAYERS;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

/// Most items of a circle that a message names.
const MAX_SHOWN: usize = 8;

/// Reports every name problem of a module's own items.
pub(super) fn resolve(world: &World, module: usize, diags: &mut Vec<Diagnostic>) {
    let mut uses: BTreeMap<ItemId, Vec<(ItemId, Span)>> = BTreeMap::new();
    for &id in &world.modules[module].own {
        let mut pass = Names {
            world,
            module,
            block: false,
            scope: Scope::default(),
            later: Vec::new(),
            used: Vec::new(),
            layers: Vec::new(),
            diags,
        };
        pass.item(&world.items[id.0].item);
        uses.insert(id, pass.used);
    }
    recursion(world, &uses, diags);
}

struct Names<'w, 'd> {
    world: &'w World,
    module: usize,
    /// Inside a block, where the layers are names.
    block: bool,
    scope: Scope<Span>,
    /// Names that later statements of the same body define.
    later: Vec<(String, Span, Later)>,
    used: Vec<(ItemId, Span)>,
    /// Where the names of declared layers stand.
    layers: Vec<Span>,
    diags: &'d mut Vec<Diagnostic>,
}

impl Names<'_, '_> {
    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Use(_) => {}
            ItemKind::Const { value, .. } => self.expr(value),
            ItemKind::Fn(f) => {
                self.sizes(&f.sizes);
                self.params(&f.params);
                self.ty(&f.result);
                if let Some(body) = &f.body {
                    self.later(body.lets.iter().flat_map(|l| &l.names));
                    body.requires.iter().for_each(|r| self.expr(&r.cond));
                    body.lets.iter().for_each(|l| self.define_let(l));
                    self.expr(&body.value);
                }
            }
            ItemKind::Block(b) => {
                self.block = true;
                self.sizes(&b.sizes);
                self.params(&b.params);
                if let Some(ty) = &b.result {
                    self.ty(ty);
                }
                self.later(b.layers.iter().chain(&b.body.lets).flat_map(|l| &l.names));
                b.body.requires.iter().for_each(|r| self.expr(&r.cond));
                for l in &b.layers {
                    named_layers(&l.value, &mut self.layers);
                    self.expr(&l.value);
                }
                // What is computed may have the name of a size, as `bias` in PyTorch.
                let sizes = |n: &Ident| b.sizes.iter().any(|s| s.name.name == n.name);
                let layers: Vec<&Ident> = b.layers.iter().flat_map(|l| &l.names).collect();
                self.scope.retain(|n| !layers.iter().any(|l| l.name == n && sizes(l)));
                layers.iter().for_each(|name| self.define(name));
                b.body.lets.iter().for_each(|l| self.define_let(l));
                self.expr(&b.body.value);
            }
            ItemKind::Predicate(p) => {
                self.sizes(&p.sizes);
                self.params(&p.params);
                self.later(p.body.iter().flat_map(|s| s.kind.defines()));
                p.body.iter().for_each(|s| self.stmt(s));
            }
        }
    }

    fn later<'n>(&mut self, names: impl Iterator<Item = &'n Ident>) {
        self.later = names.map(|n| (n.name.clone(), n.span, Later::Line)).collect();
    }

    fn sizes(&mut self, sizes: &[Size]) {
        for size in sizes {
            if let Some(default) = &size.default {
                self.expr(default);
            }
            self.define(&size.name);
        }
    }

    fn params(&mut self, params: &[Param]) {
        for param in params {
            if let Some(ty) = &param.ty {
                self.ty(ty);
            }
            if let Some(default) = &param.default {
                self.expr(default);
            }
        }
        params.iter().for_each(|p| self.define(&p.name));
    }

    fn define_let(&mut self, l: &Let) {
        self.expr(&l.value);
        l.names.iter().for_each(|name| self.define(name));
    }

    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Require(r) => self.require(&r.cond),
            StmtKind::Parties { size, .. } => size.iter().for_each(|e| self.expr(e)),
            StmtKind::Input { ty, range, from, .. } => {
                self.ty(ty);
                range.iter().for_each(|e| self.expr(e));
                if let Some(giver) = from {
                    self.party(&giver.set);
                }
            }
            StmtKind::Let(l) => self.expr(&l.value),
            StmtKind::State { ty, range, start, .. } => {
                self.ty(ty);
                range.iter().for_each(|e| self.expr(e));
                self.expr(start);
            }
            StmtKind::Noise { ty, scale, .. } => {
                self.ty(ty);
                self.expr(scale);
            }
            StmtKind::Store { value, name } => {
                self.expr(value);
                if !self.is_local(&name.name) {
                    self.unknown(&name.name, name.span, "state");
                }
            }
            StmtKind::Sample { counts, of, each, .. } => {
                counts.iter().for_each(|e| self.expr(e));
                self.expr(of);
                each.iter().for_each(|each| self.party(each));
            }
            StmtKind::Reveal { value, to, member, .. } => {
                let outside = self.scope.len();
                member.iter().for_each(|m| self.define(m));
                self.expr(value);
                self.scope.truncate(outside);
                self.party(to);
            }
            StmtKind::Error => {}
        }
        s.kind.defines().iter().for_each(|name| self.define(name));
    }

    /// `failure`, `cut`, `error(x)` and `epsilon(..)` are names here and nowhere else; `x` may be defined later.
    fn require(&mut self, cond: &Expr) {
        if let ExprKind::Binary(op, left, right) = &cond.kind
            && matches!(op, BinaryOp::Le | BinaryOp::Lt | BinaryOp::Ge | BinaryOp::Gt)
        {
            match &left.kind {
                ExprKind::Name(n)
                    if matches!(n.as_str(), "failure" | "cut" | "epsilon") && !self.is_local(n) =>
                {
                    return self.expr(right);
                }
                ExprKind::Call(f, args) if matches!(&f.kind, ExprKind::Name(n) if n == "error") => {
                    for arg in args {
                        match &arg.kind {
                            ExprKind::Name(n) if self.later.iter().any(|(l, ..)| l == n) => {}
                            _ => self.expr(arg),
                        }
                    }
                    return self.expr(right);
                }
                ExprKind::Call(f, args) if matches!(&f.kind, ExprKind::Name(n) if n == "epsilon" && !self.is_local(n)) =>
                {
                    args.iter().for_each(|arg| self.expr(arg));
                    return self.expr(right);
                }
                _ => {}
            }
        }
        self.expr(cond);
    }

    fn is_local(&self, name: &str) -> bool {
        self.scope.latest(name).is_some()
    }

    fn party(&mut self, name: &Ident) {
        if !self.is_local(&name.name) {
            self.unknown(&name.name, name.span, "party set");
        }
    }

    fn define(&mut self, name: &Ident) {
        match self.scope.earliest(&name.name).copied() {
            Some(first) => {
                self.diags.push(
                    codes::DUPLICATE
                        .error(format!("`{}` is defined twice", name.name))
                        .label(name.span, "defined again here")
                        .label(first, "first defined here")
                        .hint("nothing changes its value in this language: choose another name"),
                );
            }
            None => self.scope.push(&name.name, name.span),
        }
    }

    fn ty(&mut self, ty: &Type) {
        match &ty.kind {
            TypeKind::Tensor { base, .. } => {
                if Elem::named(&base.name).is_none() {
                    let error = codes::UNKNOWN_NAME
                        .error(format!("there is no type `{}`", base.name))
                        .label(base.span, "not a type");
                    let meant = match base.name.as_str() {
                        "float" | "double" | "real" | "f32" | "f64" | "number" => Some("fix"),
                        "bool" | "boolean" => Some("bit"),
                        "i64" | "i32" | "u64" | "u32" | "integer" | "uint" => Some("int"),
                        other => did_you_mean(other, ["fix", "int", "bit"]),
                    };
                    self.diags.push(match meant {
                        Some(meant) => error.hint(Hint::meant(base.span, meant)),
                        None => error.hint(
                            "types are `fix` (a real number), `int`, `bit`, \
                             tensors of them such as `fix[d]`, and `weights M`",
                        ),
                    });
                }
            }
            TypeKind::Weights { model, .. } => self.name(&model.name, model.span),
            TypeKind::Tuple(all) => return all.iter().for_each(|ty| self.ty(ty)),
        }
        ty.sizes().into_iter().for_each(|e| self.expr(e));
    }

    fn name(&mut self, name: &str, span: Span) {
        if self.is_local(name) || (self.block && is_layer(name)) {
            return;
        }
        match self.world.visible(self.module, self.block, name) {
            Some(id) => self.used.push((id, span)),
            None => self.unknown(name, span, "name"),
        }
    }

    fn unknown(&mut self, name: &str, span: Span, what: &str) {
        let error = codes::UNKNOWN_NAME
            .error(format!("there is no {what} `{name}` here"))
            .label(span, "not defined");
        if let Some((_, place, kind)) = self.later.iter().rev().find(|(n, ..)| n == name) {
            self.diags.push(error.label(*place, "defined only here").hint(match kind {
                Later::Line => "a name can be used after its definition: move that line up",
                Later::Loop => "outer loops come first: `for i in Client for j in committee[i]`",
            }));
            return;
        }
        let std = &self.world.modules[super::world::STD].names;
        let own = &self.world.modules[self.module].names;
        let imports = &self.world.modules[self.module].imports;
        let is_block = |name: &str| {
            let item = std.get(name).map(|id| &self.world.items[id.0].item.kind);
            matches!(item, Some(ItemKind::Block(_)))
        };
        let hint: Hint = if is_block(name) {
            "it is a layer, and layers stand in a `block` or `model`".into()
        } else if std.contains_key(name) {
            Hint::from(format!("it is in the library: write `use std::{{{name}}};`"))
                .edit([imports.add("std", name)])
        } else if self.world.models.contains_key(name) {
            Hint::from(format!("it is a library model: write `use models::{{{name}}};`"))
                .edit([imports.add("models", name)])
        } else if is_layer(name) {
            "it is a layer, and layers stand in a `block` or `model`".into()
        } else if matches!(name, "failure" | "error" | "cut" | "epsilon") {
            "it belongs at the left of `require failure <= ..;`, `require error(x) <= ..;`, `require \
             epsilon(1e-5, 100) <= ..;` or `require cut >= ..;`"
                .into()
        } else if let Some(hint) = self.meant(name, span) {
            hint
        } else if let Some(hint) = habit(name) {
            hint.into()
        } else {
            let locals = self.scope.names().rev();
            let layers = LAYERS.iter().map(|rule| rule.name).filter(|_| self.block);
            let visible = locals.chain(own.keys().map(String::as_str)).chain(layers);
            match (did_you_mean(name, visible), did_you_mean(name, std.keys().map(String::as_str)))
            {
                (Some(near), _) => Hint::meant(span, near),
                (None, Some(near)) => self.of_std(near, span),
                (None, None) if what == "party set" => format!(
                    "declare it: `parties {name};` or, with m members, `parties {name}[m];`"
                )
                .into(),
                (None, None) if self.layers.iter().any(|l| l.range() == span.range()) => format!(
                    "a layer of your own is a block of the same file, or one that it imports: `block {name}(x) {{ .. }}`"
                )
                .into(),
                (None, None) => {
                    "define it with `let`, as a size in brackets, or as an `input`".into()
                }
            }
        };
        self.diags.push(error.hint(hint));
    }

    /// A function of the library in the place of a name.
    fn of_std(&self, name: &str, span: Span) -> Hint {
        let (written, import) =
            self.world.written(self.module, self.block, self.is_local(name), name);
        Hint::from(format!("the library has a function `{name}`: `use std::{{{name}}};`"))
            .edit(import.into_iter().chain([Edit::replace(span, written)]))
    }

    /// What a name of another library is here.
    fn meant(&self, name: &str, span: Span) -> Option<Hint> {
        let std = &self.world.modules[super::world::STD].names;
        let layers = LAYERS.iter().map(|rule| rule.name).chain([super::layers::PARAM]);
        let meant = by_meaning(name, layers.chain(std.keys().map(String::as_str)))?;
        let function = std
            .get(meant)
            .is_some_and(|id| matches!(self.world.items[id.0].item.kind, ItemKind::Fn(_)));
        Some(match (self.block, function && !is_layer(meant)) {
            (true, _) if is_layer(meant) => {
                let free = !self.is_local(meant);
                let edit = free.then(|| Edit::replace(span, meant));
                Hint::from(format!("did you mean `{meant}`?")).edit(edit)
            }
            (true, _) => {
                let (written, import) =
                    self.world.written(self.module, true, self.is_local(meant), meant);
                Hint::from(format!("did you mean `{meant}`?"))
                    .edit(import.into_iter().chain([Edit::replace(span, written)]))
            }
            (false, true) => self.of_std(meant, span),
            (false, false) => {
                format!("did you mean the layer `{meant}`? Layers stand in a `block` or `model`")
                    .into()
            }
        })
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Name(name) => self.name(name, e.span),
            ExprKind::Path(head, name) => match self.world.path(head, name) {
                Ok(id) => self.used.push((id, e.span)),
                Err(error) => self.diags.push(error),
            },
            ExprKind::Weights(model) => self.name(&model.name, model.span),
            ExprKind::Iterate(i) => self.iterate(i),
            ExprKind::Comp(body, gens) => self.comp(body, gens),
            ExprKind::CallGen(f, body, gens) => {
                self.expr(f);
                self.comp(body, gens);
            }
            _ => e.children().into_iter().for_each(|e| self.expr(e)),
        }
    }

    fn comp(&mut self, body: &Expr, gens: &[Gen]) {
        let outside = self.scope.len();
        self.loops(gens);
        self.expr(body);
        self.scope.truncate(outside);
    }

    fn loops(&mut self, gens: &[Gen]) {
        let lines = self.later.len();
        for (i, g) in gens.iter().enumerate() {
            let inner = gens[i + 1..].iter();
            self.later.extend(inner.map(|g| (g.var.name.clone(), g.var.span, Later::Loop)));
            self.expr(&g.domain);
            self.later.truncate(lines);
            self.define(&g.var);
            g.cond.iter().for_each(|c| self.expr(c));
        }
    }

    /// What is carried is known in the steps, and where it begins is outside of them.
    fn iterate(&mut self, i: &Iterate) {
        for c in &i.carried {
            c.ty.iter().for_each(|ty| self.ty(ty));
            c.range.iter().for_each(|e| self.expr(e));
            self.expr(&c.start);
        }
        let (outside, lines) = (self.scope.len(), self.later.len());
        self.loops(&i.gens);
        i.carried.iter().for_each(|c| self.define(&c.name));
        let names = i.body.lets.iter().flat_map(|l| &l.names);
        self.later.extend(names.map(|n| (n.name.clone(), n.span, Later::Line)));
        i.body.lets.iter().for_each(|l| self.define_let(l));
        self.expr(&i.body.value);
        self.later.truncate(lines);
        self.scope.truncate(outside);
    }
}

/// Where the names of declared layers stand: `Enc` of `Enc`, `Enc[n]`, `[Enc[n] for i in 3]` and `[Enc[n], relu]`.
fn named_layers(value: &Expr, out: &mut Vec<Span>) {
    match &value.kind {
        ExprKind::At(name, _) => named_layers(name, out),
        ExprKind::Comp(layer, _) => named_layers(layer, out),
        ExprKind::List(all) => all.iter().for_each(|layer| named_layers(layer, out)),
        ExprKind::If(_, a, b) => [a, b].into_iter().for_each(|layer| named_layers(layer, out)),
        _ => out.push(value.span),
    }
}

/// How a name comes too late.
#[derive(Clone, Copy)]
enum Later {
    /// A later statement defines it.
    Line,
    /// A later loop of the same comprehension has it as variable.
    Loop,
}

/// Reports each circle of items that use one another, once.
fn recursion(
    world: &World,
    uses: &BTreeMap<ItemId, Vec<(ItemId, Span)>>,
    diags: &mut Vec<Diagnostic>,
) {
    let mut graph: DiGraph<ItemId, ()> = DiGraph::new();
    let nodes: BTreeMap<ItemId, _> = uses.keys().map(|&id| (id, graph.add_node(id))).collect();
    for (from, to) in uses {
        // What another file has uses nothing of this one.
        for &to in to.iter().filter_map(|(to, _)| nodes.get(to)) {
            graph.add_edge(nodes[from], to, ());
        }
    }
    // One circle of each group of items that all use one another: to look for more would take a walk for each.
    let alone = |group: &[NodeIndex]| match group {
        [one] => graph.find_edge(*one, *one).is_none(),
        _ => false,
    };
    let groups = kosaraju_scc(&graph).into_iter().filter(|group| !alone(group));
    let mut starts: Vec<ItemId> =
        groups.filter_map(|group| group.into_iter().map(|node| graph[node]).min()).collect();
    starts.sort_unstable();
    for start in starts {
        let Some(mut circle) = circle(start, uses) else { continue };
        let left_out = circle.len().saturating_sub(MAX_SHOWN);
        circle.truncate(MAX_SHOWN);
        let item = world.item(start);
        let kind = item_kind(&item);
        let name = world.name(start);
        let mut calls = circle.iter();
        let Some((to, span)) = calls.next() else { continue };
        let (title, label) = if circle.len() + left_out == 1 {
            (format!("`{name}` is {kind} that uses itself"), "here".to_owned())
        } else {
            let path: Vec<&str> = circle.iter().map(|(id, _)| world.name(*id)).collect();
            let title = format!(
                "`{name}` is {kind} that uses itself, by way of `{}`{}",
                path[..path.len() - usize::from(left_out == 0)].join("`, `"),
                if left_out == 0 { String::new() } else { format!(" and {left_out} more") }
            );
            (title, format!("uses `{}`", world.name(*to)))
        };
        let mut error = codes::RECURSION.error(title).label(*span, label);
        for (id, span) in calls {
            error = error.label(*span, format!("which uses `{}`", world.name(*id)));
        }
        diags.push(error.hint(match item.kind {
            ItemKind::Fn(_) => {
                "a circuit has a fixed size: write a repetition as a loop, `iterate v = start for t in n { next }`, \
                 or as a sum, `sum(.. for i in n)`"
            }
            _ => {
                "a circuit has a fixed size: write a repetition as a comprehension, `sum(.. for i in n)`"
            }
        }));
    }
}

/// The shortest way from an item back to itself: who is used, and where.
fn circle(
    start: ItemId,
    uses: &BTreeMap<ItemId, Vec<(ItemId, Span)>>,
) -> Option<Vec<(ItemId, Span)>> {
    let mut before: BTreeMap<ItemId, (ItemId, Span)> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for &(next, span) in uses.get(&at).map_or(&[][..], Vec::as_slice) {
            if next == start {
                let mut way = vec![(next, span)];
                let mut at = at;
                while at != start {
                    let &(from, span) = before.get(&at)?;
                    way.push((at, span));
                    at = from;
                }
                way.reverse();
                return Some(way);
            }
            if let Entry::Vacant(new) = before.entry(next) {
                new.insert((at, span));
                queue.push_back(next);
            }
        }
    }
    None
}
