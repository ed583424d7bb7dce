//! Walking typed expressions.

use super::expr::{Body, Definition, Expr, ExprKind, FnId, Iterate, Source, VarId};
use super::program::{Program, Stmt};
use std::collections::BTreeSet;

impl Expr {
    /// The expressions directly inside, in evaluation order.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Const(_) | ExprKind::Index(_) | ExprKind::Var(_) => Vec::new(),
            ExprKind::Unary(_, a)
            | ExprKind::Comp(_, a)
            | ExprKind::At(a, _)
            | ExprKind::Field(a, _) => vec![a],
            ExprKind::Binary(_, a, b) | ExprKind::Apply(_, a, b) | ExprKind::Pick(a, b) => {
                vec![a, b]
            }
            ExprKind::Call(_, all)
            | ExprKind::Intrinsic(_, all)
            | ExprKind::Layer(_, all)
            | ExprKind::List(all)
            | ExprKind::Record(all) => all.iter().collect(),
            ExprKind::Let(body) => body.children(),
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

    /// The variables that it reads, those that it defines itself included.
    pub fn reads(&self) -> BTreeSet<VarId> {
        let mut read = BTreeSet::new();
        self.walk(&mut |e| {
            if let ExprKind::Var(v) = e.kind {
                read.insert(v);
            }
        });
        read
    }
}

impl Body {
    /// The expressions directly inside, in evaluation order.
    pub fn children(&self) -> Vec<&Expr> {
        self.lets.iter().flat_map(Definition::children).chain(&self.values).collect()
    }

    /// The variables that it reads, those that it defines itself included.
    pub fn reads(&self) -> BTreeSet<VarId> {
        self.children().into_iter().flat_map(Expr::reads).collect()
    }

    /// Calls `f` on every expression inside, outermost first. Bodies of called functions are not inside.
    pub fn walk<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        for child in self.children() {
            child.walk(f);
        }
    }

    /// Calls `f` on each function whose tuple is defined here, those of loops included.
    pub fn calls(&self, f: &mut dyn FnMut(&FnId)) {
        for definition in &self.lets {
            match &definition.source {
                Source::Value(_) => {}
                Source::Call(id, _) => f(id),
                Source::Iterate(i) => i.body.calls(f),
            }
        }
    }
}

impl Definition {
    /// The expressions directly inside, in evaluation order.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.source {
            Source::Value(value) => vec![value],
            Source::Call(_, args) => args.iter().collect(),
            Source::Iterate(i) => {
                i.carried.iter().map(|c| &c.start).chain(i.body.children()).collect()
            }
        }
    }
}

impl Stmt {
    /// The variables that it defines.
    pub fn defines(&self) -> &[VarId] {
        match self {
            Stmt::Let { var, .. }
            | Stmt::Input { var, .. }
            | Stmt::State { var, .. }
            | Stmt::Sample { var, .. }
            | Stmt::Noise { var, .. } => std::slice::from_ref(var),
            Stmt::Tuple { vars, .. } => vars,
            Stmt::Store { .. } | Stmt::Reveal { .. } => &[],
        }
    }
}

impl Program {
    /// Calls `f` on every loop, those of functions and models included, outer ones first.
    pub fn loops_mut(&mut self, f: &mut dyn FnMut(&mut Iterate)) {
        for stmt in &mut self.body {
            match stmt {
                Stmt::Let { value, .. }
                | Stmt::Store { value, .. }
                | Stmt::Reveal { value, .. } => {
                    value.loops_mut(f);
                }
                Stmt::Tuple { body, .. } => body.loops_mut(f),
                Stmt::Input { .. }
                | Stmt::State { .. }
                | Stmt::Sample { .. }
                | Stmt::Noise { .. } => {}
            }
        }
        self.functions.iter_mut().for_each(|function| function.body.loops_mut(f));
        self.models.iter_mut().for_each(|model| model.body.loops_mut(f));
    }
}

impl Body {
    fn loops_mut(&mut self, f: &mut dyn FnMut(&mut Iterate)) {
        for definition in &mut self.lets {
            match &mut definition.source {
                Source::Value(value) => value.loops_mut(f),
                Source::Call(_, args) => args.iter_mut().for_each(|e| e.loops_mut(f)),
                Source::Iterate(i) => {
                    i.carried.iter_mut().for_each(|c| c.start.loops_mut(f));
                    f(i);
                    i.body.loops_mut(f);
                }
            }
        }
        self.values.iter_mut().for_each(|e| e.loops_mut(f));
    }
}

impl Expr {
    fn loops_mut(&mut self, f: &mut dyn FnMut(&mut Iterate)) {
        match &mut self.kind {
            ExprKind::Const(_) | ExprKind::Index(_) | ExprKind::Var(_) => {}
            ExprKind::Unary(_, a)
            | ExprKind::Comp(_, a)
            | ExprKind::At(a, _)
            | ExprKind::Field(a, _) => a.loops_mut(f),
            ExprKind::Binary(_, a, b) | ExprKind::Apply(_, a, b) | ExprKind::Pick(a, b) => {
                a.loops_mut(f);
                b.loops_mut(f);
            }
            ExprKind::Call(_, all)
            | ExprKind::Intrinsic(_, all)
            | ExprKind::Layer(_, all)
            | ExprKind::List(all)
            | ExprKind::Record(all) => all.iter_mut().for_each(|e| e.loops_mut(f)),
            ExprKind::Let(body) => body.loops_mut(f),
        }
    }
}
