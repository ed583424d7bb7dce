//! Names of every item of a file, used or not: unknown names, names defined twice, recursion.
//!
//! The checker itself only visits what the predicate calls with the given sizes. This pass visits every
//! item, so that a misspelt name is always reported.

use super::layers::is_layer;
use super::scope::Scope;
use super::world::{ItemId, World, item_kind};
use crate::diagnostic::near::{by_meaning, did_you_mean, habit};
use crate::diagnostic::{Diagnostic, Edit, Hint, codes};
use crate::syntax::ast::{Demanded, Expr, ExprKind, Ident, ItemKind, Span};
use crate::syntax::scopes::{DefKind, Depth, Later, Scopes, Used};
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
        let item = &world.items[id.0].item;
        let mut layers = Vec::new();
        if let ItemKind::Block(b) = &item.kind {
            b.layers.iter().for_each(|l| named_layers(&l.value, &mut layers));
        }
        let mut pass = Names {
            world,
            module,
            block: matches!(item.kind, ItemKind::Block(_)),
            scope: Scope::default(),
            later: Vec::new(),
            used: Vec::new(),
            layers,
            diags,
        };
        pass.item(item);
        uses.insert(id, pass.used);
    }
    recursion(world, &uses, diags);
}

struct Names<'w, 'd> {
    world: &'w World,
    module: usize,
    /// Inside a block, where the layers are names.
    block: bool,
    scope: Scope<(Span, DefKind)>,
    /// Names that are not known yet.
    later: Vec<(String, Span, Later)>,
    used: Vec<(ItemId, Span)>,
    /// Where the names of declared layers stand.
    layers: Vec<Span>,
    diags: &'d mut Vec<Diagnostic>,
}

impl Scopes for Names<'_, '_> {
    fn define(&mut self, kind: DefKind, name: &Ident, _: Span, _: &str) {
        if kind == DefKind::Reveal {
            return;
        }
        let first = self.scope.earliest(&name.name).copied();
        // What is computed may have the name of a size, as `bias` in PyTorch.
        let hidden = first.filter(|first| (kind, first.1) == (DefKind::Layer, DefKind::Size));
        if hidden.is_some() {
            self.scope.retain(|n| n != name.name);
        }
        match first.filter(|_| hidden.is_none()) {
            Some((first, _)) => {
                self.diags.push(
                    codes::DUPLICATE
                        .error(format!("`{}` is defined twice", name.name))
                        .label(name.span, "defined again here")
                        .label(first, "first defined here")
                        .hint("nothing changes its value in this language: choose another name"),
                );
            }
            None => self.scope.push(&name.name, (name.span, kind)),
        }
    }

    fn used(&mut self, name: &str, span: Span, what: Used) {
        let what = match what {
            Used::Name => return self.name(name, span),
            Used::Parties => "party set",
            Used::State => "state",
        };
        if !self.is_local(name) {
            self.unknown(name, span, what);
        }
    }

    fn is_local(&self, name: &str) -> bool {
        self.scope.latest(name).is_some()
    }

    fn depth(&self) -> Depth {
        Depth { known: self.scope.len(), later: self.later.len() }
    }

    fn leave(&mut self, depth: Depth) {
        self.scope.truncate(depth.known);
        self.later.truncate(depth.later);
    }

    fn later(&mut self, name: &Ident, how: Later) {
        self.later.push((name.name.clone(), name.span, how));
    }

    fn bounded(&mut self, name: &str, span: Span) {
        if !self.later.iter().any(|(later, ..)| later == name) {
            self.name(name, span);
        }
    }

    fn element(&mut self, base: &Ident) {
        if Elem::named(&base.name).is_some() {
            return;
        }
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

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Path(head, name) => match self.world.path(head, name) {
                Ok(id) => self.used.push((id, e.span)),
                Err(error) => self.diags.push(error),
            },
            _ => self.inside(e),
        }
    }
}

impl Names<'_, '_> {
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
        } else if Demanded::named(name).is_some() {
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
