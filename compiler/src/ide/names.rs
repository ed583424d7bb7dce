//! What each name in a file refers to. It also works on incomplete text: unresolved names are left out.

use super::library::{self, LibraryItem, Shelf};
pub use crate::syntax::scopes::DefKind;
use crate::syntax::scopes::{Depth, Scopes, Used};
use crate::syntax::{Given, ast::*};
use crate::types::layer::Rule;
use crate::types::model;
use std::collections::BTreeMap;

/// Index into [`Names::defs`].
pub type DefId = usize;

#[derive(Clone, Debug)]
pub struct Def {
    pub kind: DefKind,
    pub name: String,
    /// Where the name stands.
    pub at: Span,
    pub whole: Span,
    /// The comment above it.
    pub doc: String,
}

/// What a name refers to.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// Something of this file.
    Here(DefId),
    /// Something of the library.
    Library(LibraryItem),
    /// Something of the compiler: a layer, `failure`, `shape`.
    Builtin(&'static str),
    /// What only its surroundings say: it has a kind, and no place where it is defined.
    Word(Word),
}

/// Names that no scope has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// `std` and `models`.
    Library,
    /// A size of a function of the library or of a layer, by its name: `kernel = 5`.
    Size,
    /// A part of weights or of a layer: types tell whose.
    Field,
    /// A distribution of noise.
    Law,
}

/// All names of a file.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Definitions, in the order of the text but for items, which come first.
    pub defs: Vec<Def>,
    /// Where a name stands (definitions, too) and what it refers to.
    pub refs: Vec<(Span, Target)>,
    /// Where the comment of sizes names sizes, parameters and models.
    pub given: Vec<(Span, Target)>,
    /// How often a scope has a name twice.
    pub twice: usize,
}

impl Names {
    /// What the name at a byte refers to, and where that name stands. A place right behind a name is
    /// still the name's.
    pub fn at(&self, at: usize) -> Option<(Span, Target)> {
        let all = || self.all();
        let inside = all().find(|(s, _)| s.range().contains(&at));
        inside.or_else(|| all().find(|(s, _)| s.end as usize == at)).copied()
    }

    /// Every place where a name stands, in the text and in its comment of sizes.
    pub fn all(&self) -> impl Iterator<Item = &(Span, Target)> {
        self.refs.iter().chain(&self.given)
    }
}

/// Names of the compiler that are not layers: name, how it is written, what it is.
const BUILTINS: &[(&str, &str, &str)] = &[
    (
        "failure",
        "require failure <= BOUND;",
        "The probability that anything in the run is wrong by more than its stated error.",
    ),
    ("error", "require error(NAME) <= BOUND;", "A bound on the absolute error of a named value."),
    (
        "epsilon",
        "require epsilon(DELTA, ROUNDS) <= BOUND;",
        "What noise lets through of a client in so many rounds, at a delta. Without ROUNDS it is of one round.",
    ),
    (
        "cut",
        "require cut >= BOUND;",
        "Accepts that values are cut where what is made of them does not fit, at this or beyond.",
    ),
    (
        "shape",
        "M.shape",
        "The shape of one input of a model, or of a tensor; `..M.shape` splices it into another.",
    ),
    ("classes", "M.classes", "The number of outputs of a model."),
    ("len", "M.len", "The number of weights of a model, or of entries of a tensor."),
    (
        "tensors",
        "M.tensors",
        "The number of tensors of a model's weights, which `for t in M` goes over.",
    ),
    ("param", "name: param[SIZES];", "A parameter of a block or model, of this shape."),
    ("fix", "fix", "A real number in fixed point."),
    ("int", "int", "An integer."),
    ("bit", "bit", "0 or 1."),
];

/// A name of the compiler.
#[derive(Clone, Debug)]
pub struct Builtin {
    pub name: &'static str,
    /// How it is written.
    pub usage: String,
    pub about: &'static str,
}

/// What a name means that is defined nowhere: a layer, or another name of the compiler.
pub fn builtin(name: &str) -> Option<Builtin> {
    if let Some(rule) = Rule::named(name) {
        return Some(Builtin { name: rule.name, usage: rule.usage(), about: rule.about });
    }
    let (name, usage, about) = BUILTINS.iter().find(|(n, ..)| *n == name)?;
    Some(Builtin { name, usage: (*usage).to_owned(), about })
}

/// Resolves the names of a file. With `library`, the file is one of `std`, whose files see each
/// other. `given` are the words of its comment of sizes.
pub fn resolve(tree: &File, library: bool, given: &[Given]) -> Names {
    let mut r = Resolver {
        names: Names::default(),
        items: BTreeMap::new(),
        predicates: Vec::new(),
        scope: Vec::new(),
        library,
        late: Vec::new(),
        sized: Vec::new(),
        sizes: BTreeMap::new(),
        block: false,
    };
    for (i, item) in tree.items.iter().enumerate() {
        if let Some(name) = item.name() {
            let target = r.note(DefKind::Item(i), name, item.span, &item.doc);
            if matches!(item.kind, ItemKind::Predicate(_)) {
                r.predicates.push(r.names.defs.len() - 1);
            }
            r.visible(&name.name, target);
        }
    }
    for item in &tree.items {
        if let ItemKind::Use(tree) = &item.kind {
            r.import(tree, None);
        }
    }
    for (i, item) in tree.items.iter().enumerate() {
        r.block = matches!(item.kind, ItemKind::Block(_));
        let before = r.names.defs.len();
        r.item(item);
        for (name, span) in std::mem::take(&mut r.late) {
            r.name(&name, span);
        }
        r.scope.clear();
        let own = r.names.defs.iter().enumerate().skip(before);
        let sizes = own.filter(|(_, d)| {
            d.kind == DefKind::Size
                || matches!(item.kind, ItemKind::Predicate(_)) && d.kind == DefKind::Param
        });
        let sizes = sizes.map(|(id, d)| ((i, d.name.clone()), id));
        r.sizes.extend(sizes.collect::<Vec<_>>());
    }
    // Sizes that are given by name: of items that may stand further down.
    for (item, name) in std::mem::take(&mut r.sized) {
        let size = item.and_then(|i| r.sizes.get(&(i, name.name.clone())));
        let target = size.map_or(Target::Word(Word::Size), |&def| Target::Here(def));
        r.names.refs.push((name.span, target));
    }
    r.comment(tree, given);
    r.names
}

struct Resolver {
    names: Names,
    /// What the file's own items and its imports are named.
    items: BTreeMap<String, Target>,
    /// Definitions of predicates, which nobody calls.
    predicates: Vec<DefId>,
    /// Names of the item at hand, the latest last.
    scope: Vec<(String, Target)>,
    library: bool,
    /// Inside a block, which sees all of `std`.
    block: bool,
    /// Names in demands, which may be defined later.
    late: Vec<(String, Span)>,
    /// Sizes that are given by name, and to which item of the file.
    sized: Vec<(Option<usize>, Ident)>,
    /// Sizes by item and name; of a predicate its parameters, too.
    sizes: BTreeMap<(usize, String), DefId>,
}

impl Resolver {
    /// Notes a definition, which nothing sees yet.
    fn note(&mut self, kind: DefKind, name: &Ident, whole: Span, doc: &str) -> Target {
        let target = Target::Here(self.names.defs.len());
        self.names.defs.push(Def {
            kind,
            name: name.name.clone(),
            at: name.span,
            whole,
            doc: doc.to_owned(),
        });
        self.names.refs.push((name.span, target));
        target
    }

    /// An item or an import; of two of one name the first counts, but nobody calls a predicate.
    fn visible(&mut self, name: &str, target: Target) {
        let predicate = |t: &Target| matches!(t, Target::Here(d) if self.predicates.contains(d));
        match self.items.get(name) {
            None => drop(self.items.insert(name.to_owned(), target)),
            Some(first) => {
                self.names.twice += 1;
                if predicate(first) && matches!(target, Target::Library(_)) {
                    self.items.insert(name.to_owned(), target);
                }
            }
        }
    }

    fn lookup(&self, name: &str) -> Option<Target> {
        let local = self.scope.iter().rev().find(|(n, _)| n == name).map(|(_, t)| *t);
        let layer = || Rule::named(name).filter(|_| self.block).map(|r| Target::Builtin(r.name));
        let std = || {
            let seen = self.library || self.block;
            library::get(Shelf::Std, name).filter(|_| seen).map(Target::Library)
        };
        let compiler = || builtin(name).map(|b| Target::Builtin(b.name));
        let item = || self.items.get(name).copied();
        local.or_else(layer).or_else(item).or_else(std).or_else(compiler)
    }

    /// A comment of sizes names sizes and parameters of predicates, and models.
    fn comment(&mut self, tree: &File, given: &[Given]) {
        for word in given {
            for (i, item) in tree.items.iter().enumerate() {
                let size = self.sizes.get(&(i, word.name.name.clone()));
                if let (ItemKind::Predicate(_), Some(&def)) = (&item.kind, size) {
                    self.names.given.push((word.name.span, Target::Here(def)));
                }
            }
            let Some(value) = &word.value else { continue };
            let end = value.name.find('[').unwrap_or(value.name.len());
            let model = &value.name[..end];
            if let Some(&target @ Target::Here(_)) = self.items.get(model) {
                let span = Span { end: value.span.start + end as u32, ..value.span };
                self.names.given.push((span, target));
            }
        }
    }

    fn name(&mut self, name: &str, span: Span) {
        if let Some(target) = self.lookup(name) {
            self.names.refs.push((span, target));
        }
    }

    fn import(&mut self, tree: &UseTree, shelf: Option<Shelf>) {
        let one = |name: &Ident| {
            if let Some(item) = shelf.and_then(|s| library::get(s, &name.name)) {
                self.names.refs.push((name.span, Target::Library(item)));
                self.visible(&name.name, Target::Library(item));
            }
        };
        match tree {
            UseTree::Name(_) | UseTree::Group(_) => tree.names().iter().for_each(one),
            UseTree::Path(head, rest) => {
                let shelf = library::shelf(&head.name);
                self.names.refs.extend(shelf.map(|_| (head.span, Target::Word(Word::Library))));
                self.import(rest, shelf);
            }
        }
    }
}

impl Scopes for Resolver {
    fn define(&mut self, kind: DefKind, name: &Ident, whole: Span, doc: &str) {
        let target = self.note(kind, name, whole, doc);
        if kind == DefKind::Reveal {
            return;
        }
        // What a block computes may have the name of a size.
        let hides = |t: &Target| {
            let Target::Here(def) = t else { return false };
            kind == DefKind::Layer && self.names.defs[*def].kind == DefKind::Size
        };
        let before = self.scope.iter().rev().find(|(n, _)| *n == name.name);
        self.names.twice += usize::from(before.is_some_and(|(_, t)| !hides(t)));
        self.scope.push((name.name.clone(), target));
    }

    fn used(&mut self, name: &str, span: Span, _: Used) {
        self.name(name, span);
    }

    fn is_local(&self, name: &str) -> bool {
        self.scope.iter().any(|(n, _)| n == name)
    }

    fn depth(&self) -> Depth {
        Depth { known: self.scope.len(), later: 0 }
    }

    fn leave(&mut self, depth: Depth) {
        self.scope.truncate(depth.known);
    }

    fn bounded(&mut self, name: &str, span: Span) {
        self.late.push((name.to_owned(), span));
    }

    fn element(&mut self, base: &Ident) {
        let found = builtin(&base.name).filter(|_| !base.span.range().is_empty());
        self.names.refs.extend(found.map(|b| (base.span, Target::Builtin(b.name))));
    }

    fn demand(&mut self, word: &str, at: Span) {
        self.names.refs.extend(builtin(word).map(|b| (at, Target::Builtin(b.name))));
    }

    fn law(&mut self, law: &Ident) {
        self.names.refs.push((law.span, Target::Word(Word::Law)));
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Path(head, name) => {
                let shelf = library::shelf(&head.name);
                self.names.refs.extend(shelf.map(|_| (head.span, Target::Word(Word::Library))));
                if let Some(item) = shelf.and_then(|s| library::get(s, &name.name)) {
                    self.names.refs.push((name.span, Target::Library(item)));
                }
            }
            ExprKind::At(a, args) => {
                self.expr(a);
                let item = match &a.kind {
                    ExprKind::Name(name) => self.lookup(name),
                    _ => None,
                };
                let item = match item {
                    Some(Target::Here(def)) => match self.names.defs[def].kind {
                        DefKind::Item(i) => Some(i),
                        _ => None,
                    },
                    _ => None,
                };
                for arg in args {
                    self.sized.extend(arg.name.clone().map(|name| (item, name)));
                    self.expr(&arg.value);
                }
            }
            ExprKind::Field(a, field) => {
                self.expr(a);
                let target = Some(&field.name).filter(|name| model::is_field(name));
                let target = target
                    .and_then(|name| builtin(name))
                    .map_or(Target::Word(Word::Field), |b| Target::Builtin(b.name));
                self.names.refs.push((field.span, target));
            }
            _ => self.inside(e),
        }
    }
}
