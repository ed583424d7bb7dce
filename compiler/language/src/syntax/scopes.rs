//! The scopes of an item: one walk over its definitions and over what it names, in the order in which names come to be
//! known. The checker finds unknown names with it, and an editor what every name is.

use super::ast::*;

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
    /// The name of a reveal, which the program cannot use.
    Reveal,
}

/// As what something is named.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Used {
    Name,
    Parties,
    State,
}

/// How a name comes too late.
#[derive(Clone, Copy)]
pub enum Later {
    /// A later statement defines it.
    Line,
    /// A later loop of the same comprehension has it as variable.
    Loop,
}

/// How many names are known, and how many come later.
#[derive(Clone, Copy)]
pub struct Depth {
    pub known: usize,
    pub later: usize,
}

/// Who walks over scopes. The first methods say what is done with names, the others are the walk.
pub trait Scopes {
    /// `whole` is the definition, and `doc` the comment above it.
    fn define(&mut self, kind: DefKind, name: &Ident, whole: Span, doc: &str);
    fn used(&mut self, name: &str, span: Span, what: Used);
    /// Whether something inside the item has this name.
    fn is_local(&self, name: &str) -> bool;
    fn depth(&self) -> Depth;
    /// Forgets what has come since.
    fn leave(&mut self, depth: Depth);
    /// The value of `require error(x)`, which a later line may define.
    fn bounded(&mut self, name: &str, span: Span);
    /// The type of an element.
    fn element(&mut self, base: &Ident);
    /// A name that is not known yet.
    fn later(&mut self, _: &Ident, _: Later) {}
    /// A word that a demand begins with.
    fn demand(&mut self, _word: &str, _at: Span) {}
    /// The distribution of noise.
    fn law(&mut self, _: &Ident) {}

    /// An expression; what is not looked at otherwise goes on [`Scopes::inside`].
    fn expr(&mut self, e: &Expr);

    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Use(_) => {}
            ItemKind::Const { value, .. } => self.expr(value),
            ItemKind::Fn(f) => {
                self.sizes(&f.sizes);
                self.params(&f.params);
                self.ty(&f.result);
                if let Some(body) = &f.body {
                    self.announce_lets(&body.lets);
                    body.requires.iter().for_each(|r| self.expr(&r.cond));
                    self.body(body);
                }
            }
            ItemKind::Block(b) => {
                self.sizes(&b.sizes);
                self.params(&b.params);
                b.result.iter().for_each(|ty| self.ty(ty));
                self.announce_lets(&b.layers);
                self.announce_lets(&b.body.lets);
                b.body.requires.iter().for_each(|r| self.expr(&r.cond));
                // No layer knows another.
                b.layers.iter().for_each(|l| self.expr(&l.value));
                b.layers.iter().for_each(|l| self.names(DefKind::Layer, l));
                self.body(&b.body);
            }
            ItemKind::Predicate(p) => {
                self.sizes(&p.sizes);
                self.params(&p.params);
                let names = p.body.iter().flat_map(|s| s.kind.defines());
                names.for_each(|name| self.later(name, Later::Line));
                p.body.iter().for_each(|s| self.stmt(s));
            }
        }
    }

    fn sizes(&mut self, sizes: &[Size]) {
        for Size { name, default, .. } in sizes {
            default.iter().for_each(|e| self.expr(e));
            let whole = default.as_ref().map_or(name.span, |d| name.span.to(d.span));
            self.define(DefKind::Size, name, whole, "");
        }
    }

    fn params(&mut self, params: &[Param]) {
        for param in params {
            param.ty.iter().for_each(|ty| self.ty(ty));
            param.default.iter().for_each(|e| self.expr(e));
        }
        for Param { name, ty, default } in params {
            let ends = ty.iter().map(|ty| ty.span).chain(default.iter().map(|e| e.span));
            let whole = ends.fold(name.span, Span::to);
            self.define(DefKind::Param, name, whole, "");
        }
    }

    /// Names that a later line defines.
    fn announce_lets(&mut self, lets: &[Let]) {
        lets.iter().flat_map(|l| &l.names).for_each(|name| self.later(name, Later::Line));
    }

    fn body(&mut self, body: &Body) {
        for l in &body.lets {
            self.expr(&l.value);
            self.names(DefKind::Let, l);
        }
        self.expr(&body.value);
    }

    fn names(&mut self, kind: DefKind, l: &Let) {
        for name in &l.names {
            self.define(kind, name, l.span(), "");
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let kind = match &stmt.kind {
            StmtKind::Require(r) => return self.require(r),
            StmtKind::Parties { size, .. } => {
                size.iter().for_each(|e| self.expr(e));
                DefKind::Parties
            }
            StmtKind::Input { ty, range, from, .. } => {
                self.ty(ty);
                range.iter().for_each(|e| self.expr(e));
                from.iter().for_each(|g| self.used(&g.set.name, g.set.span, Used::Parties));
                DefKind::Input
            }
            StmtKind::Let(l) => {
                self.expr(&l.value);
                DefKind::Let
            }
            StmtKind::State { ty, range, start, .. } => {
                self.ty(ty);
                range.iter().for_each(|e| self.expr(e));
                self.expr(start);
                DefKind::State
            }
            StmtKind::Store { value, name } => {
                self.expr(value);
                return self.used(&name.name, name.span, Used::State);
            }
            StmtKind::Sample { counts, of, each, .. } => {
                counts.iter().for_each(|e| self.expr(e));
                self.expr(of);
                each.iter().for_each(|each| self.used(&each.name, each.span, Used::Parties));
                DefKind::Sample
            }
            StmtKind::Noise { ty, law, scale, .. } => {
                self.ty(ty);
                self.law(law);
                self.expr(scale);
                DefKind::Sample
            }
            StmtKind::Reveal { value, to, member, name } => {
                let outside = self.depth();
                member.iter().for_each(|m| self.define(DefKind::Loop, m, m.span, ""));
                self.expr(value);
                self.leave(outside);
                self.used(&to.name, to.span, Used::Parties);
                return self.define(DefKind::Reveal, name, stmt.span, &stmt.doc);
            }
            StmtKind::Error => return,
        };
        for name in stmt.kind.defines() {
            self.define(kind, name, stmt.span, &stmt.doc);
        }
    }

    fn require(&mut self, r: &Require) {
        let Some(demand) = r.demand(|name| self.is_local(name)) else { return self.expr(&r.cond) };
        let (word, at) = demand.word;
        self.demand(word, at);
        for arg in demand.args {
            match &arg.kind {
                ExprKind::Name(name) if demand.of == Demanded::Error => {
                    self.bounded(name, arg.span)
                }
                _ => self.expr(arg),
            }
        }
        self.expr(demand.bound);
    }

    fn ty(&mut self, ty: &Type) {
        match &ty.kind {
            TypeKind::Weights { model, .. } => self.used(&model.name, model.span, Used::Name),
            TypeKind::Tensor { base, .. } => self.element(base),
            TypeKind::Tuple(all) => return all.iter().for_each(|ty| self.ty(ty)),
        }
        ty.sizes().into_iter().for_each(|e| self.expr(e));
    }

    fn comp(&mut self, value: &Expr, gens: &[Gen]) {
        let outside = self.depth();
        self.loops(gens);
        self.expr(value);
        self.leave(outside);
    }

    fn loops(&mut self, gens: &[Gen]) {
        for (i, g) in gens.iter().enumerate() {
            let outside = self.depth();
            gens[i + 1..].iter().for_each(|inner| self.later(&inner.var, Later::Loop));
            self.expr(&g.domain);
            self.leave(outside);
            self.define(DefKind::Loop, &g.var, g.var.span.to(g.domain.span), "");
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
        let outside = self.depth();
        self.loops(&i.gens);
        for Carried { name, start, .. } in &i.carried {
            self.define(DefKind::Carried, name, name.span.to(start.span), "");
        }
        self.announce_lets(&i.body.lets);
        self.body(&i.body);
        self.leave(outside);
    }

    /// What an expression names itself, and the expressions inside it.
    fn inside(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Name(name) => self.used(name, e.span, Used::Name),
            ExprKind::Weights(model) => self.used(&model.name, model.span, Used::Name),
            ExprKind::Iterate(i) => self.iterate(i),
            ExprKind::Comp(value, gens) => self.comp(value, gens),
            ExprKind::CallGen(f, value, gens) => {
                self.expr(f);
                self.comp(value, gens);
            }
            _ => e.children().into_iter().for_each(|e| self.expr(e)),
        }
    }
}
