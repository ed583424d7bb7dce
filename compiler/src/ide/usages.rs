//! Where a name is used, and what renames it.
//!
//! A name is renamed where it is certain what means it. Whether another name would do is not guessed from the names
//! that there are: the renamed text is resolved again, and each place must mean what it meant.

use super::document::{Document, Edit};
use super::names::{Def, DefKind, Names, Target};
use super::position::{Position, Range};
use crate::source::{FileId, Span};
use crate::syntax::ast::ItemKind;
use crate::syntax::is_name;
use crate::syntax::lexer::lex;

/// A place where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub range: Range,
    /// It is defined there.
    pub defines: bool,
}

/// What gives something another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming {
    pub edits: Vec<Edit>,
    /// What else calls it by its name, outside of the file, for people.
    pub outside: Option<String>,
}

impl Document {
    /// Every place in the text of what the name at a place means, in order.
    pub fn usages(&self, at: Position) -> Vec<Usage> {
        let Some((_, target)) = self.target(at) else { return Vec::new() };
        // The same word elsewhere may be another's.
        if let Target::Word(_) = target {
            return Vec::new();
        }
        let place = |&(span, _): &(Span, Target)| {
            let defines = matches!(target, Target::Here(def)
                if self.names.defs.get(def).is_some_and(|d| d.at.range() == span.range()));
            Usage { range: self.range(span), defines }
        };
        let all = self.names.all().filter(|(_, other)| same(&target, other));
        let mut found: Vec<Usage> = all.map(place).collect();
        found.sort_by_key(|u| u.range);
        found.dedup_by_key(|u| u.range);
        found
    }

    /// What stands at a place if it can be renamed.
    ///
    /// # Errors
    ///
    /// Why it cannot, for people; nothing where no name stands.
    pub fn renamable(&self, at: Position) -> Result<(Range, &Def), Option<String>> {
        let (span, target) = self.target(at).ok_or(None)?;
        let why = match target {
            _ if self.library => "programs import it from the library by its name",
            Target::Library(_) => "it belongs to the library",
            Target::Builtin(_) => "it belongs to the language",
            Target::Word(_) => "it is not known here where that is defined",
            Target::Here(def) => match self.names.defs.get(def) {
                Some(def) if def.kind == DefKind::Layer => {
                    "it is part of the names of weights, `fc1.weight`, in files and in programs that read one of them"
                }
                Some(def) => return Ok((self.range(span), def)),
                None => return Err(None),
            },
        };
        let name = self.text.get(span.range()).unwrap_or_default();
        Err(Some(format!("`{name}` cannot be renamed: {why}")))
    }

    /// What gives another name to what is defined in this file.
    ///
    /// # Errors
    ///
    /// Why it cannot have that name, for people.
    pub fn rename(&self, at: Position, name: &str) -> Result<Renaming, String> {
        let (_, def) = self
            .renamable(at)
            .map_err(|why| why.unwrap_or_else(|| "no name stands here".to_owned()))?;
        if !is_name(name) {
            return Err(format!("`{}` is no name", name.escape_debug()));
        }
        let edit = |u: Usage| Edit { range: u.range, text: name.to_owned() };
        let edits: Vec<Edit> = self.usages(at).into_iter().map(edit).collect();
        if def.name != name && !self.keeps(&edits) {
            let words = lex(FileId(0), &self.text).tokens;
            let other = words.iter().find(|(from, _, to)| self.text.get(*from..*to) == Some(name));
            return Err(match other {
                Some((from, ..)) => {
                    let line = self.lines.position(&self.text, *from).line + 1;
                    format!("`{name}` is something else in line {line}")
                }
                None => format!("`{name}` means something else here"),
            });
        }
        Ok(Renaming { edits, outside: self.outside(def) })
    }

    /// Whether every name means after edits of names what it means before.
    fn keeps(&self, edits: &[Edit]) -> bool {
        let mut text = String::new();
        // By the place where a name begins: where it begins afterwards.
        let mut moved: Vec<(usize, usize)> = Vec::new();
        let mut done = 0;
        for edit in edits {
            let (start, end) = (self.offset(edit.range.start), self.offset(edit.range.end));
            text += self.text.get(done..start).unwrap_or_default();
            text += &edit.text;
            moved.push((end, text.len()));
            done = end;
        }
        text += self.text.get(done..).unwrap_or_default();
        let after = |at: u32| {
            let last = moved.iter().rfind(|(end, _)| *end <= at as usize);
            last.map_or(at, |(end, new)| (at as usize - end + new) as u32)
        };
        let sorted = |names: &Names, place: &dyn Fn(u32) -> u32| {
            let mut all: Vec<(u32, Target)> =
                names.all().map(|(span, target)| (place(span.start), *target)).collect();
            all.sort_by_key(|(at, target)| (*at, number(target)));
            all
        };
        let renamed = Document::new(&self.name, &text);
        let (old, new) = (sorted(&self.names, &after), sorted(&renamed.names, &|at| at));
        old.len() == new.len()
            && old.iter().zip(&new).all(|((a, x), (b, y))| a == b && same(x, y))
            && self.names.twice == renamed.names.twice
    }

    /// What calls a definition by its name outside of the file.
    fn outside(&self, def: &Def) -> Option<String> {
        let inside = |i: &&crate::syntax::ast::Item| {
            i.span.range().contains(&(def.at.start as usize))
                && matches!(i.kind, ItemKind::Predicate(_))
        };
        let who = match def.kind {
            DefKind::Item(i) => match self.tree.items.get(i).map(|i| &i.kind) {
                Some(ItemKind::Predicate(_)) => "artifacts and command lines (`--predicate`)",
                Some(ItemKind::Block(b)) if b.is_model => {
                    "command lines (`M=Net`), comments of other files and artifacts"
                }
                _ => return None,
            },
            DefKind::Size | DefKind::Param if self.tree.items.iter().any(|i| inside(&i)) => {
                "command lines (`m=10`) and artifacts"
            }
            DefKind::Input => "files of inputs and artifacts",
            DefKind::State => "files of states and artifacts",
            DefKind::Parties => "folders of inputs, configurations of nodes and artifacts",
            DefKind::Sample => "files of coins and artifacts",
            DefKind::Reveal => "files of outputs and artifacts",
            _ => return None,
        };
        Some(format!("`{0}` is renamed in this file; {who} that exist call it `{0}`", def.name))
    }
}

/// The definition, for order.
fn number(target: &Target) -> usize {
    match target {
        Target::Here(def) => *def,
        _ => usize::MAX,
    }
}

fn same(a: &Target, b: &Target) -> bool {
    match (a, b) {
        (Target::Here(a), Target::Here(b)) => a == b,
        (Target::Library(a), Target::Library(b)) => {
            a.file.name == b.file.name && a.name.span.range() == b.name.span.range()
        }
        (Target::Builtin(a), Target::Builtin(b)) => a == b,
        (Target::Word(a), Target::Word(b)) => a == b,
        _ => false,
    }
}
