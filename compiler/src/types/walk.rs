//! Walking typed expressions.

use super::program::{Expr, ExprKind};

impl Expr {
    /// The expressions directly inside, in evaluation order.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Const(_) | ExprKind::Index(_) | ExprKind::Var(_) => Vec::new(),
            ExprKind::Unary(_, a)
            | ExprKind::Comp(_, a)
            | ExprKind::At(a, _)
            | ExprKind::Field(a, _) => vec![a],
            ExprKind::Binary(_, a, b) | ExprKind::Apply(_, a, b) => vec![a, b],
            ExprKind::Call(_, all) | ExprKind::Intrinsic(_, all) | ExprKind::List(all) => {
                all.iter().collect()
            }
        }
    }

    /// Calls `f` on this expression and everything inside it, outermost first. Bodies of called
    /// functions are not inside.
    pub fn walk<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        f(self);
        for child in self.children() {
            child.walk(f);
        }
    }
}
