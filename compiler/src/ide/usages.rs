//! Where a name is used, and what renames it.

use super::document::{Document, Edit};
use super::names::{Def, DefKind, Target};
use super::position::{Position, Range};
use crate::source::Span;
use crate::syntax::KEYWORDS;

/// A place where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub range: Range,
    /// It is defined there.
    pub defines: bool,
}

impl Document {
    /// Every place in the text of what the name at a place means, in order.
    pub fn usages(&self, at: Position) -> Vec<Usage> {
        let Some((_, target)) = self.target(at) else { return Vec::new() };
        let place = |&(span, _): &(Span, Target)| {
            let defines = matches!(target, Target::Here(def)
                if self.names.defs.get(def).is_some_and(|d| d.at.range() == span.range()));
            Usage { range: self.range(span), defines }
        };
        let all = self.names.refs.iter().filter(|(_, other)| same(&target, other));
        let mut found: Vec<Usage> = all.map(place).collect();
        found.sort_by_key(|u| u.range);
        found.dedup_by_key(|u| u.range);
        found
    }

    /// Where the name at a place stands, if it can be renamed: it is defined in this file.
    pub fn renamable(&self, at: Position) -> Option<Range> {
        match self.target(at)? {
            (span, Target::Here(_)) => Some(self.range(span)),
            (_, Target::Library(_) | Target::Builtin(_)) => None,
        }
    }

    /// What gives another name to what is defined in this file.
    ///
    /// # Errors
    ///
    /// Why it cannot have that name, for people.
    pub fn rename(&self, at: Position, name: &str) -> Result<Vec<Edit>, String> {
        let Some((_, Target::Here(def))) = self.target(at) else {
            return Err("only what is defined in this file can be renamed".into());
        };
        let mut letters = name.chars();
        let word = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !word || KEYWORDS.contains(&name) {
            return Err(format!("`{}` is no name", name.escape_debug()));
        }
        let item = |d: &Def| matches!(d.kind, DefKind::Item(_));
        let renamed = self.names.defs.get(def);
        let inside = |a: Span, b: Span| a.start <= b.start && b.end <= a.end;
        // Another definition of that name in the same item would take its uses, or give it its own.
        let around =
            |d: &Def| self.tree.items.iter().find(|i| inside(i.span, d.at)).map(|i| i.span.range());
        let clashes = |d: &&Def| {
            let both = renamed.is_none_or(|r| item(r) || item(d) || around(r) == around(d));
            d.name == name && both && d.kind != DefKind::Reveal
        };
        if renamed.is_some_and(|r| r.name != name && r.kind != DefKind::Reveal) {
            let line = |at: Span| self.range(at).start.line + 1;
            if let Some(other) = self.names.defs.iter().find(clashes) {
                return Err(format!("`{name}` is defined in line {}", line(other.at)));
            }
            if let Some(at) = self.elsewhere(name) {
                return Err(format!("`{name}` is something else in line {}", line(at)));
            }
        }
        let edit = |u: Usage| Edit { range: u.range, text: name.to_owned() };
        Ok(self.usages(at).into_iter().map(edit).collect())
    }

    /// Where a name is imported, or stands for something of the library or the compiler.
    fn elsewhere(&self, name: &str) -> Option<Span> {
        let imports = self.imported().filter(|n| n.name == name).map(|n| n.span);
        let refs = self.names.refs.iter().filter(|(at, target)| {
            !matches!(target, Target::Here(_)) && self.text().get(at.range()) == Some(name)
        });
        imports.chain(refs.map(|(at, _)| *at)).next()
    }
}

fn same(a: &Target, b: &Target) -> bool {
    match (a, b) {
        (Target::Here(a), Target::Here(b)) => a == b,
        (Target::Library(a), Target::Library(b)) => {
            a.file.name == b.file.name && a.name.span.range() == b.name.span.range()
        }
        (Target::Builtin(a), Target::Builtin(b)) => a == b,
        _ => false,
    }
}
