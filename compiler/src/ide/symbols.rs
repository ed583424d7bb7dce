//! What a file defines.

use super::document::Document;
use super::names::{Def, DefKind};
use super::position::Range;
use crate::source::Span;
use crate::syntax::ast::ItemKind;
use crate::syntax::signature;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    Predicate,
    /// A model or a block.
    Model,
    Function,
    /// A constant, a size or a parameter.
    Constant,
    /// A value of the run: an input, a `let`, a state, a draw.
    Value,
    Parties,
    Layer,
    Reveal,
}

/// A definition, with those inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub kind: SymbolKind,
    /// Its signature, if it is an item.
    pub detail: String,
    pub whole: Range,
    /// Its name.
    pub at: Range,
    /// What is defined in it, in order.
    pub inside: Vec<Symbol>,
}

impl Document {
    /// What the file defines, in order; loop variables and what functions define inside are left out.
    pub fn symbols(&self) -> Vec<Symbol> {
        let inside = |whole: Span| {
            let all = self
                .names
                .defs
                .iter()
                .filter(move |d| whole.start <= d.at.start && d.at.end <= whole.end);
            all.filter_map(|d| self.symbol(d, inner(d.kind)?)).collect::<Vec<Symbol>>()
        };
        let items = self.tree.items.iter().filter_map(|item| {
            let name = item.name()?;
            let (kind, open) = match &item.kind {
                ItemKind::Predicate(_) => (SymbolKind::Predicate, true),
                ItemKind::Block(_) => (SymbolKind::Model, true),
                ItemKind::Fn(_) => (SymbolKind::Function, false),
                ItemKind::Const { .. } => (SymbolKind::Constant, false),
                ItemKind::Use(_) => return None,
            };
            let mut inside = if open { inside(item.span) } else { Vec::new() };
            inside.sort_by_key(|s| s.at);
            Some(Symbol {
                name: name.name.clone(),
                kind,
                detail: signature(item).lines().next().unwrap_or_default().to_owned(),
                whole: self.range(item.span),
                at: self.range(name.span),
                inside,
            })
        });
        items.collect()
    }

    fn symbol(&self, def: &Def, kind: SymbolKind) -> Option<Symbol> {
        let (whole, at) = (self.range(def.whole), self.range(def.at));
        // The protocol wants a name inside of what it names.
        let whole = Range { start: whole.start.min(at.start), end: whole.end.max(at.end) };
        let (name, detail) = (def.name.clone(), String::new());
        (!name.is_empty()).then_some(Symbol { name, kind, detail, whole, at, inside: Vec::new() })
    }
}

fn inner(kind: DefKind) -> Option<SymbolKind> {
    match kind {
        DefKind::Size | DefKind::Param => Some(SymbolKind::Constant),
        DefKind::Parties => Some(SymbolKind::Parties),
        DefKind::Input | DefKind::Let | DefKind::State | DefKind::Sample => Some(SymbolKind::Value),
        DefKind::Layer => Some(SymbolKind::Layer),
        DefKind::Reveal => Some(SymbolKind::Reveal),
        DefKind::Item(_) | DefKind::Loop | DefKind::Carried => None,
    }
}
