//! What is said of a name.

use super::doc;
use super::document::Document;
use super::names::{self, Def, DefKind, Target};
use super::position::{Position, Range};
use super::typed::{Facts, Typed, key};
use crate::syntax::ast::Span;
use crate::syntax::signature;

/// What is said of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// Where the name stands.
    pub range: Range,
    /// Markdown.
    pub text: String,
}

/// Most types and notes shown of one definition.
const MOST: usize = 8;

impl Document {
    /// What is said of the name at a place. Types come from a check of this text; without one, or if
    /// it found errors, definitions are shown as written.
    pub fn hover(&self, at: Position, typed: Option<&Typed>) -> Option<Hover> {
        let (span, target) = self.target(at)?;
        let text = match target {
            Target::Here(def) => {
                let def = self.names.defs.get(def)?;
                self.definition_text(def, typed.and_then(|t| t.facts.get(&key(def.at))))
            }
            Target::Library(item) => {
                let about = doc::description(item.file, item.item);
                paragraphs(&[code(&signature(item.item)), about, format!("`{}`", item.file.name)])
            }
            Target::Word(_) => return None,
            Target::Builtin(name) => {
                let builtin = names::builtin(name)?;
                paragraphs(&[code(&builtin.usage), builtin.about.to_owned()])
            }
        };
        Some(Hover { range: self.range(span), text })
    }

    fn definition_text(&self, def: &Def, facts: Option<&Facts>) -> String {
        let none = Facts::default();
        let facts = facts.unwrap_or(&none);
        let (name, written) = (&def.name, self.written(def.whole));
        let typed = !facts.types.is_empty();
        let shown = match def.kind {
            DefKind::Item(i) => self.tree.items.get(i).map_or(written, signature),
            // The value is what the author just reads; the type is what is not written there.
            DefKind::Let if typed => {
                let all = facts.types.iter().take(MOST).map(|t| format!("let {name}: {t}"));
                all.collect::<Vec<_>>().join("\n")
            }
            DefKind::Carried if typed => {
                let all = facts.types.iter().take(MOST).map(|t| format!("iterate {name}: {t}"));
                all.collect::<Vec<_>>().join("\n")
            }
            DefKind::Size => format!("size {written}"),
            DefKind::Loop => format!("for {written}"),
            DefKind::Carried => format!("iterate {written}"),
            _ => written,
        };
        let mut about = Vec::new();
        if typed && !matches!(def.kind, DefKind::Let | DefKind::Loop | DefKind::Carried) {
            about.push(listed(facts.types.iter().map(|t| format!("`{t}`"))));
        }
        about.extend(facts.range.as_ref().map(|r| format!("range {r}")));
        about.extend(facts.notes.iter().take(MOST).cloned());
        if typed && def.kind != DefKind::Loop && !facts.sizes.is_empty() {
            about.push(format!("with {}", facts.sizes));
        }
        let required = match def.kind {
            DefKind::Item(i) => self.tree.items.get(i).map(doc::requirements).unwrap_or_default(),
            _ => String::new(),
        };
        let line = [&facts.proven, &facts.cost].map(|x| x.clone().unwrap_or_default());
        let [proven, cost] = line;
        paragraphs(&[code(&shown), def.doc.clone(), required, about.join(", "), proven, cost])
    }

    /// A definition as written, on one line.
    fn written(&self, span: Span) -> String {
        let text = self.text.get(span.range()).unwrap_or("");
        let lines = text.lines().map(|l| l.split_once("//").map_or(l, |(code, _)| code));
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        words.join(" ")
    }
}

fn listed(all: impl Iterator<Item = String>) -> String {
    all.take(MOST).collect::<Vec<_>>().join(", ")
}

fn code(text: &str) -> String {
    format!("```slvr\n{}\n```", text.trim_end())
}

/// Those that are not empty.
fn paragraphs(parts: &[String]) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
    parts.join("\n\n")
}
