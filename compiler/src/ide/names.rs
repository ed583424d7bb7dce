//! What each name in a file refers to. It also works on incomplete text: unresolved names are left out.

use super::library::{self, LibraryItem, Shelf};
use crate::syntax::ast::*;
use crate::types::layer::Rule;

/// Index into [`Names::defs`].
pub type DefId = usize;

/// What is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefKind {
    /// The item with this index in the file.
    Item(usize),
    /// A size, or a model, in brackets.
    Size,
    /// A parameter in parentheses; the input of a block.
    Param,
    Parties,
    Input,
    Let,
    State,
    Sample,
    /// The variable of a `for`.
    Loop,
    /// A value that an `iterate` carries.
    Carried,
    /// A named layer of a block or model.
    Layer,
    /// The name of a reveal.
    Reveal,
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Def {
    /// What it is.
    pub kind: DefKind,
    pub name: String,
    /// Where the name stands.
    pub at: Span,
    /// The whole definition.
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
}

/// All names of a file.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Definitions, in the order of the text but for items, which come first.
    pub defs: Vec<Def>,
    /// Where a name stands (definitions, too) and what it refers to.
    pub refs: Vec<(Span, Target)>,
}

impl Names {
    /// What the name at a byte refers to, and where that name stands. A place right behind a name is
    /// still the name's.
    pub fn at(&self, at: usize) -> Option<(Span, Target)> {
        let inside = self.refs.iter().find(|(s, _)| s.range().contains(&at));
        inside.or_else(|| self.refs.iter().find(|(s, _)| s.end as usize == at)).copied()
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
    /// What it is.
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
/// other.
pub fn resolve(tree: &File, library: bool) -> Names {
    let mut r = Resolver {
        names: Names::default(),
        scope: Vec::new(),
        library,
        late: Vec::new(),
        block: false,
    };
    for (i, item) in tree.items.iter().enumerate() {
        if let Some(name) = item.name() {
            r.define(DefKind::Item(i), name, item.span, &item.doc);
        }
    }
    for item in &tree.items {
        if let ItemKind::Use(tree) = &item.kind {
            r.import(tree, None);
        }
    }
    for item in &tree.items {
        let outside = r.scope.len();
        r.block = matches!(item.kind, ItemKind::Block(_));
        r.item(item);
        r.scope.truncate(outside);
    }
    r.names
}

struct Resolver {
    names: Names,
    /// Visible names, the latest last.
    scope: Vec<(String, Target)>,
    library: bool,
    /// Inside a block, which sees all of `std`.
    block: bool,
    /// Names in demands, which may be defined later.
    late: Vec<(String, Span)>,
}

impl Resolver {
    fn define(&mut self, kind: DefKind, name: &Ident, whole: Span, doc: &str) {
        let target = Target::Here(self.names.defs.len());
        self.names.defs.push(Def {
            kind,
            name: name.name.clone(),
            at: name.span,
            whole,
            doc: doc.to_owned(),
        });
        self.names.refs.push((name.span, target));
        // The name of a reveal cannot be used in the program.
        if kind != DefKind::Reveal {
            self.scope.push((name.name.clone(), target));
        }
    }

    fn lookup(&self, name: &str) -> Option<Target> {
        let local = self.scope.iter().rev().find(|(n, _)| n == name).map(|(_, t)| *t);
        local
            .or_else(|| {
                let seen = self.library || self.block && Rule::named(name).is_none();
                library::get(Shelf::Std, name).filter(|_| seen).map(Target::Library)
            })
            .or_else(|| builtin(name).map(|b| Target::Builtin(b.name)))
    }

    fn name(&mut self, name: &str, span: Span) {
        if let Some(target) = self.lookup(name) {
            self.names.refs.push((span, target));
        }
    }

    fn ident(&mut self, name: &Ident) {
        self.name(&name.name, name.span);
    }

    fn import(&mut self, tree: &UseTree, shelf: Option<Shelf>) {
        let one = |name: &Ident| {
            if let Some(item) = shelf.and_then(|s| library::get(s, &name.name)) {
                self.names.refs.push((name.span, Target::Library(item)));
                self.scope.push((name.name.clone(), Target::Library(item)));
            }
        };
        match tree {
            UseTree::Name(_) | UseTree::Group(_) => tree.names().iter().for_each(one),
            UseTree::Path(head, rest) => self.import(rest, library::shelf(&head.name)),
        }
    }

    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Use(_) => {}
            ItemKind::Const { value, .. } => self.expr(value),
            ItemKind::Fn(f) => {
                self.sizes(&f.sizes);
                self.params(&f.params);
                self.ty(&f.result);
                if let Some(body) = &f.body {
                    body.requires.iter().for_each(|r| self.expr(&r.cond));
                    self.lets(DefKind::Let, &body.lets);
                    self.expr(&body.value);
                }
            }
            ItemKind::Block(b) => {
                self.sizes(&b.sizes);
                self.params(&b.params);
                b.result.iter().for_each(|ty| self.ty(ty));
                b.body.requires.iter().for_each(|r| self.expr(&r.cond));
                self.lets(DefKind::Layer, &b.layers);
                self.lets(DefKind::Let, &b.body.lets);
                self.expr(&b.body.value);
            }
            ItemKind::Predicate(p) => {
                self.sizes(&p.sizes);
                self.params(&p.params);
                p.body.iter().for_each(|s| self.stmt(s));
                for (name, span) in std::mem::take(&mut self.late) {
                    self.name(&name, span);
                }
            }
        }
    }

    fn sizes(&mut self, sizes: &[Size]) {
        for size in sizes {
            size.default.iter().for_each(|e| self.expr(e));
            let whole = size.default.as_ref().map_or(size.name.span, |d| size.name.span.to(d.span));
            self.define(DefKind::Size, &size.name, whole, "");
        }
    }

    fn params(&mut self, params: &[Param]) {
        for param in params {
            let mut whole = param.name.span;
            if let Some(ty) = &param.ty {
                self.ty(ty);
                whole = whole.to(ty.span);
            }
            if let Some(default) = &param.default {
                self.expr(default);
                whole = whole.to(default.span);
            }
            self.define(DefKind::Param, &param.name, whole, "");
        }
    }

    fn lets(&mut self, kind: DefKind, lets: &[Let]) {
        for l in lets {
            self.expr(&l.value);
            l.names.iter().for_each(|name| self.define(kind, name, l.span(), ""));
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let define = |this: &mut Self, kind, name| this.define(kind, name, stmt.span, &stmt.doc);
        match &stmt.kind {
            StmtKind::Require { cond, .. } => self.require(cond),
            StmtKind::Parties { name, size } => {
                size.iter().for_each(|e| self.expr(e));
                define(self, DefKind::Parties, name);
            }
            StmtKind::Input { name, ty, range, from } => {
                self.ty(ty);
                range.iter().for_each(|e| self.expr(e));
                from.iter().for_each(|g| self.ident(&g.set));
                define(self, DefKind::Input, name);
            }
            StmtKind::Let(l) => {
                self.expr(&l.value);
                l.names.iter().for_each(|name| define(self, DefKind::Let, name));
            }
            StmtKind::State { name, ty, range, start } => {
                self.ty(ty);
                range.iter().for_each(|e| self.expr(e));
                self.expr(start);
                define(self, DefKind::State, name);
            }
            StmtKind::Store { value, name } => {
                self.expr(value);
                self.ident(name);
            }
            StmtKind::Sample { name, counts, of, each } => {
                counts.iter().for_each(|e| self.expr(e));
                self.expr(of);
                each.iter().for_each(|each| self.ident(each));
                define(self, DefKind::Sample, name);
            }
            StmtKind::Noise { name, ty, scale, .. } => {
                self.ty(ty);
                self.expr(scale);
                define(self, DefKind::Sample, name);
            }
            StmtKind::Reveal { value, to, member, name } => {
                let outside = self.scope.len();
                if let Some(m) = member {
                    self.define(DefKind::Loop, m, m.span, "");
                }
                self.expr(value);
                self.scope.truncate(outside);
                self.ident(to);
                self.define(DefKind::Reveal, name, stmt.span, &stmt.doc);
            }
            StmtKind::Error => {}
        }
    }

    /// `error(x)` may name what a later line defines.
    fn require(&mut self, cond: &Expr) {
        if let ExprKind::Binary(_, a, b) = &cond.kind
            && let ExprKind::Call(f, args) = &a.kind
            && let [Expr { kind: ExprKind::Name(name), span }] = args.as_slice()
        {
            self.expr(f);
            self.late.push((name.clone(), *span));
            self.expr(b);
        } else {
            self.expr(cond);
        }
    }

    fn ty(&mut self, ty: &Type) {
        match &ty.kind {
            TypeKind::Weights { model, .. } => self.ident(model),
            TypeKind::Tensor { base, .. } => self.ident(base),
            TypeKind::Tuple(all) => return all.iter().for_each(|ty| self.ty(ty)),
        }
        ty.sizes().into_iter().for_each(|e| self.expr(e));
    }

    fn gens(&mut self, value: &Expr, gens: &[Gen]) {
        let outside = self.scope.len();
        self.loops(gens);
        self.expr(value);
        self.scope.truncate(outside);
    }

    fn loops(&mut self, gens: &[Gen]) {
        for g in gens {
            self.expr(&g.domain);
            self.define(DefKind::Loop, &g.var, g.var.span.to(g.domain.span), "");
            g.cond.iter().for_each(|c| self.expr(c));
        }
    }

    /// What is carried is known in the steps, and where it begins is outside of them.
    fn iterate(&mut self, i: &Iterate) {
        let outside = self.scope.len();
        for c in &i.carried {
            c.ty.iter().for_each(|ty| self.ty(ty));
            c.range.iter().for_each(|e| self.expr(e));
            self.expr(&c.start);
        }
        self.loops(&i.gens);
        for c in &i.carried {
            self.define(DefKind::Carried, &c.name, c.name.span.to(c.start.span), "");
        }
        self.lets(DefKind::Let, &i.body.lets);
        self.expr(&i.body.value);
        self.scope.truncate(outside);
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Name(name) => self.name(name, e.span),
            ExprKind::Path(head, name) => {
                let shelf = library::shelf(&head.name);
                if let Some(item) = shelf.and_then(|s| library::get(s, &name.name)) {
                    self.names.refs.push((name.span, Target::Library(item)));
                }
            }
            ExprKind::Weights(model) => self.ident(model),
            ExprKind::Iterate(i) => self.iterate(i),
            ExprKind::Comp(value, gens) => self.gens(value, gens),
            ExprKind::CallGen(f, value, gens) => {
                self.expr(f);
                self.gens(value, gens);
            }
            ExprKind::Field(a, field) => {
                self.expr(a);
                if let "shape" | "classes" | "len" | "tensors" = field.name.as_str()
                    && let Some(builtin) = builtin(&field.name)
                {
                    self.names.refs.push((field.span, Target::Builtin(builtin.name)));
                }
            }
            _ => e.children().into_iter().for_each(|e| self.expr(e)),
        }
    }
}
