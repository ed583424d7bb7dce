//! Walking trees.

use super::ast::{Expr, ExprKind, Gen};

impl Expr {
    /// The expressions directly inside, in the order of the text; of a comprehension the function that it
    /// is an argument of, then domains and conditions, then the body.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Name(_)
            | ExprKind::Path(..)
            | ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Error => Vec::new(),
            ExprKind::List(all) => all.iter().collect(),
            ExprKind::Comp(body, gens) => loops(gens).chain([&**body]).collect(),
            ExprKind::CallGen(f, body, gens) => {
                std::iter::once(&**f).chain(loops(gens)).chain([&**body]).collect()
            }
            ExprKind::If(c, a, b) => vec![c, a, b],
            ExprKind::Call(f, args) => std::iter::once(&**f).chain(args).collect(),
            ExprKind::At(a, args) => {
                std::iter::once(&**a).chain(args.iter().map(|arg| &arg.value)).collect()
            }
            ExprKind::Field(a, _) | ExprKind::Unary(_, a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
        }
    }
}

/// Domains and conditions of generators.
fn loops(gens: &[Gen]) -> impl Iterator<Item = &Expr> {
    gens.iter().flat_map(|g| std::iter::once(&g.domain).chain(&g.cond))
}
