//! The parameters of the function that is being called.

use super::document::Document;
use super::names::{self, Target};
use super::position::Position;
use crate::source::FileId;
use crate::syntax::ast::{Item, ItemKind};
use crate::syntax::lexer::lex;
use crate::syntax::signature;

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

impl Document {
    /// The function whose argument is being written at a place, and which argument it is. What stands before the place
    /// decides, so that it works on half a call.
    pub fn signature(&self, at: Position) -> Option<Signature> {
        let before = self.text.get(..self.offset(at))?;
        let tokens = lex(FileId(0), before).tokens;
        let text = |i: usize| tokens.get(i).and_then(|t| before.get(t.0..t.2)).unwrap_or("");
        let (mut open, mut commas) = (Vec::new(), Vec::new());
        for i in 0..tokens.len() {
            match text(i) {
                "(" | "[" | "{" => {
                    open.push(i);
                    commas.push(0);
                }
                ")" | "]" | "}" => {
                    open.pop();
                    commas.pop();
                }
                "," => commas.iter_mut().last().into_iter().for_each(|c| *c += 1),
                ";" => commas.iter_mut().last().into_iter().for_each(|c| *c = 0),
                _ => {}
            }
        }
        let (bracket, active) = (open.pop()?, commas.pop()?);
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
        let name = text(callee);
        let item = self.tree.items.iter().find(|i| i.name().is_some_and(|n| n.name == name));
        if let Some(item) = item {
            return of(item, text(bracket), active);
        }
        match self.names.at(tokens.get(callee)?.0).map(|(_, target)| target) {
            Some(Target::Library(found)) => of(found.item, text(bracket), active),
            Some(Target::Builtin(name)) => {
                let builtin = names::builtin(name)?;
                let params = listed(&builtin.usage, text(bracket));
                let doc = builtin.about.to_owned();
                Some(Signature { label: builtin.usage, doc, params, active })
            }
            // What does not parse has no names: the library has few that mean something else.
            _ => {
                let found = super::library::get(super::library::Shelf::Std, name)?;
                of(found.item, text(bracket), active)
            }
        }
    }
}

fn of(item: &Item, bracket: &str, active: u32) -> Option<Signature> {
    if !matches!(item.kind, ItemKind::Fn(_) | ItemKind::Block(_)) {
        return None;
    }
    let label = signature(item);
    let params = listed(&label, bracket);
    Some(Signature { label, doc: item.doc.clone(), params, active })
}

/// What stands between the first brackets of a kind, divided at its commas.
fn listed(label: &str, bracket: &str) -> Vec<String> {
    let close = if bracket == "(" { ')' } else { ']' };
    let Some((_, rest)) = label.split_once(bracket) else { return Vec::new() };
    let (mut out, mut depth) = (vec![String::new()], 0);
    for c in rest.chars() {
        match c {
            '(' | '[' => depth += 1,
            c if depth == 0 && c == close => break,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                out.push(String::new());
                continue;
            }
            _ => {}
        }
        out.iter_mut().last().into_iter().for_each(|p| p.push(c));
    }
    let params = out.iter().map(|p| p.trim().to_owned());
    params.filter(|p| !p.is_empty()).collect()
}
