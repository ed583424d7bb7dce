//! The parameters of the function that is being called.

use super::document::Document;
use super::names::{self, DefKind, Target};
use super::position::Position;
use crate::source::FileId;
use crate::syntax::ast::{Item, ItemKind};
use crate::syntax::lexer::lex;
use crate::syntax::signature;
use crate::syntax::token::Token as Word;

/// A function that is being called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// As it is declared.
    pub label: String,
    /// Markdown.
    pub doc: String,
    /// Its sizes or its parameters as they stand in the label.
    pub params: Vec<String>,
    /// Which of them is being written.
    pub active: u32,
}

/// A bracket that is open at a place.
struct Open {
    /// Its token.
    bracket: usize,
    /// The token behind it or behind the last comma in it.
    argument: usize,
    commas: u32,
}

impl Document {
    /// The function whose argument is being written at a place, and which argument it is. What stands before the place
    /// decides, so that it works on half a call. Lists, loops and indices in an argument belong to it.
    pub fn signature(&self, at: Position) -> Option<Signature> {
        let before = self.text.get(..self.offset(at))?;
        let lexed = lex(FileId(0), before);
        let tokens = &lexed.tokens;
        // In a comment nothing is called.
        let comment = lexed.comments.last().is_some_and(|c| c.start + c.text.len() == before.len());
        let text = |i: usize| tokens.get(i).and_then(|t| before.get(t.0..t.2)).unwrap_or("");
        let mut open: Vec<Open> = Vec::new();
        for i in 0..tokens.len() {
            match text(i) {
                "(" | "[" | "{" => open.push(Open { bracket: i, argument: i + 1, commas: 0 }),
                ")" | "]" | "}" => drop(open.pop()),
                "," => open.iter_mut().last().into_iter().for_each(|o| {
                    (o.argument, o.commas) = (i + 1, o.commas + 1);
                }),
                // A statement ends.
                ";" => open.retain(|o| text(o.bracket) == "{"),
                _ => {}
            }
        }
        let calls = open.iter().rev().take_while(|o| text(o.bracket) != "{");
        calls.filter(|_| !comment).find_map(|o| {
            let bracket = text(o.bracket);
            let mut found = self.called(before, tokens, o.bracket)?;
            let name = found.params.iter().position(|p| {
                let names = p.split([':', '=']).next().unwrap_or("").trim();
                bracket == "[" && text(o.argument + 1) == "=" && names == text(o.argument)
            });
            found.active = name.map_or(o.commas, |i| i as u32);
            Some(found)
        })
    }

    /// What is called with a bracket, as long as nothing is known of the argument.
    fn called(
        &self,
        before: &str,
        tokens: &[(usize, Word<'_>, usize)],
        bracket: usize,
    ) -> Option<Signature> {
        let text = |i: usize| tokens.get(i).and_then(|t| before.get(t.0..t.2)).unwrap_or("");
        let mut callee = bracket.checked_sub(1)?;
        // `top_k[2](`: the name stands before its sizes.
        if text(bracket) == "(" && text(callee) == "]" {
            let mut depth = 0;
            callee = (0..=callee).rev().find(|&i| {
                depth += match text(i) {
                    "]" => 1,
                    "[" => -1,
                    _ => 0,
                };
                depth == 0
            })?;
            callee = callee.checked_sub(1)?;
        }
        let Some((start, Word::Ident(name), _)) = tokens.get(callee) else { return None };
        // `fn f(` declares, and calls nothing.
        if callee > 0 && matches!(text(callee - 1), "fn" | "block" | "model" | "predicate") {
            return None;
        }
        match self.names.at(*start).map(|(_, target)| target) {
            Some(Target::Here(def)) => match self.names.defs.get(def)?.kind {
                DefKind::Item(i) => of(self.tree.items.get(i)?, text(bracket)),
                _ => None,
            },
            Some(Target::Library(found)) => of(found.item, text(bracket)),
            Some(Target::Builtin(name)) => {
                let builtin = names::builtin(name)?;
                let params = listed(&builtin.usage, name, text(bracket));
                let doc = builtin.about.to_owned();
                Some(Signature { label: builtin.usage, doc, params, active: 0 })
            }
            Some(Target::Word(_)) => None,
            // What does not parse has no names: those of items and of the library are few that mean something else.
            None => {
                let own =
                    self.tree.items.iter().find(|i| i.name().is_some_and(|n| n.name == *name));
                let std = || super::library::get(super::library::Shelf::Std, name).map(|f| f.item);
                of(own.or_else(std)?, text(bracket))
            }
        }
    }
}

fn of(item: &Item, bracket: &str) -> Option<Signature> {
    if !matches!(item.kind, ItemKind::Fn(_) | ItemKind::Block(_)) {
        return None;
    }
    let label = signature(item);
    let params = listed(&label, &item.name()?.name, bracket);
    Some(Signature { label, doc: item.doc.clone(), params, active: 0 })
}

/// What stands in the brackets of a kind behind a name, divided at its commas.
fn listed(label: &str, name: &str, bracket: &str) -> Vec<String> {
    let bounded = |at: usize| {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let (before, behind) = (label.get(..at), label.get(at + name.len()..));
        before.is_some_and(|b| !b.ends_with(word))
            && behind.is_some_and(|b| b.starts_with(['[', '(']))
    };
    let named = label.match_indices(name).map(|(at, _)| at).find(|at| bounded(*at));
    let Some(rest) = named.and_then(|at| label.get(at + name.len()..)) else { return Vec::new() };
    let (mut out, mut depth, mut inside) = (vec![String::new()], 0, false);
    for c in rest.chars() {
        match c {
            '(' | '[' if depth == 0 => {
                (depth, inside) = (1, bracket.starts_with(c));
                continue;
            }
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 1 && inside => break,
            ')' | ']' => depth -= 1,
            ',' if depth == 1 && inside => {
                out.push(String::new());
                continue;
            }
            // Behind the brackets.
            _ if depth == 0 => break,
            _ => {}
        }
        if inside {
            out.iter_mut().last().into_iter().for_each(|p| p.push(c));
        }
    }
    let params = out.iter().map(|p| p.trim().to_owned());
    params.filter(|p| !p.is_empty()).collect()
}
