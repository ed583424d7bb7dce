//! Walking trees.

use super::ast::{Body, Dim, Expr, ExprKind, Gen, Ident, Iterate, Let, StmtKind, Type, TypeKind};

impl Expr {
    /// The expressions directly inside, in the order of the text; of a comprehension the function that it
    /// is an argument of, then domains and conditions, then the body.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Name(_)
            | ExprKind::Path(..)
            | ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Bit(_)
            | ExprKind::Weights(_)
            | ExprKind::Error => Vec::new(),
            ExprKind::List(all) | ExprKind::Tuple(all) => all.iter().collect(),
            ExprKind::Iterate(i) => i.children(),
            ExprKind::Comp(body, gens) => loops(gens).chain([&**body]).collect(),
            ExprKind::CallGen(f, body, gens) => {
                std::iter::once(&**f).chain(loops(gens)).chain([&**body]).collect()
            }
            ExprKind::If(c, a, b) => vec![c, a, b],
            ExprKind::Call(f, args) => std::iter::once(&**f).chain(args).collect(),
            ExprKind::At(a, args) => {
                std::iter::once(&**a).chain(args.iter().map(|arg| &arg.value)).collect()
            }
            ExprKind::Field(a, _) | ExprKind::Part(a, _) | ExprKind::Unary(_, a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
        }
    }

    pub fn reads(&self, name: &str) -> bool {
        matches!(&self.kind, ExprKind::Name(n) if n == name)
            || self.children().into_iter().any(|e| e.reads(name))
    }
}

impl StmtKind {
    /// The names that it defines.
    pub fn defines(&self) -> &[Ident] {
        match self {
            StmtKind::Let(Let { names, .. }) => names,
            StmtKind::Parties { name, .. }
            | StmtKind::Input { name, .. }
            | StmtKind::State { name, .. }
            | StmtKind::Sample { name, .. }
            | StmtKind::Noise { name, .. } => std::slice::from_ref(name),
            StmtKind::Require(_)
            | StmtKind::Store { .. }
            | StmtKind::Reveal { .. }
            | StmtKind::Error => &[],
        }
    }

    /// The expressions directly inside, in the order of the text.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            StmtKind::Require(r) => vec![&r.cond],
            StmtKind::Parties { size, .. } => size.iter().collect(),
            StmtKind::Input { ty, range, .. } => ty.sizes().into_iter().chain(range).collect(),
            StmtKind::Let(of) => vec![&of.value],
            StmtKind::State { ty, range, start, .. } => {
                ty.sizes().into_iter().chain(range).chain([start]).collect()
            }
            StmtKind::Store { value, .. } | StmtKind::Reveal { value, .. } => vec![value],
            StmtKind::Sample { counts, of, .. } => counts.iter().chain([of]).collect(),
            StmtKind::Noise { ty, scale, .. } => ty.sizes().into_iter().chain([scale]).collect(),
            StmtKind::Error => Vec::new(),
        }
    }
}

impl Iterate {
    /// The expressions directly inside, in the order of the text.
    pub fn children(&self) -> Vec<&Expr> {
        let mut out = Vec::new();
        for c in &self.carried {
            c.ty.iter().for_each(|ty| out.extend(ty.sizes()));
            out.extend(&c.range);
            out.push(&c.start);
        }
        out.extend(loops(&self.gens));
        out.extend(self.body.children());
        out
    }
}

impl Body {
    /// Its requirements, the values of its definitions, and its result.
    pub fn children(&self) -> impl Iterator<Item = &Expr> {
        let requires = self.requires.iter().map(|r| &r.cond);
        requires.chain(self.lets.iter().map(|l| &l.value)).chain([&self.value])
    }
}

impl Type {
    /// The expressions of its dimensions.
    pub fn sizes(&self) -> Vec<&Expr> {
        match &self.kind {
            TypeKind::Tensor { dims, .. } | TypeKind::Weights { dims, .. } => {
                dims.iter().map(|(Dim::Size(e) | Dim::Splice(e))| e).collect()
            }
            TypeKind::Tuple(all) => all.iter().flat_map(Type::sizes).collect(),
        }
    }
}

/// Domains and conditions of generators.
fn loops(gens: &[Gen]) -> impl Iterator<Item = &Expr> {
    gens.iter().flat_map(|g| std::iter::once(&g.domain).chain(&g.cond))
}
