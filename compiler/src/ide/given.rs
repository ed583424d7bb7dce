//! What is wrong with the comment of sizes: names that nothing has, twice, or without a value. What is wrong with a
//! value, the check says that takes it.

use super::document::Document;
use crate::cost::NetProfile;
use crate::diagnostic::{Diagnostic, Edit, Hint, codes, near::did_you_mean};
use crate::syntax::ast::{ItemKind, Span};

/// The word of the network, which is no size.
pub(super) const NET: &str = "net";

impl Document {
    /// What is wrong with the comment of sizes.
    pub(super) fn misgiven(&self) -> Vec<Diagnostic> {
        let mut names = Vec::new();
        for item in &self.tree.items {
            if let ItemKind::Predicate(p) = &item.kind {
                names.extend(p.sizes.iter().map(|s| s.name.name.as_str()));
                names.extend(p.params.iter().map(|p| p.name.name.as_str()));
            }
        }
        let warning =
            |title: String, at, label: &str| Diagnostic::warning(codes::BINDING, title, at, label);
        let mut out = Vec::new();
        for (i, word) in self.given.iter().enumerate() {
            let (name, at) = (word.name.name.as_str(), word.name.span);
            let before = self.given.iter().take(i).find(|w| w.name.name == name);
            let Some(value) = &word.value else {
                let title = format!("`{name}` says nothing of a size");
                out.push(
                    warning(title, at, "no `=`").hint("a word is a name, `=` and a value: `m=10`"),
                );
                continue;
            };
            if let Some(before) = before {
                // With the space before it.
                let space = self.given.get(i - 1).map_or(word.span(), |w| w.span());
                let gone = Edit::replace(Span { start: space.end, ..word.span() }, "");
                out.push(
                    warning(
                        format!("`{name}` is given twice"),
                        word.span(),
                        "the first one counts",
                    )
                    .label(before.span(), "given here")
                    .hint("leave one of them out")
                    .edit([gone]),
                );
            } else if name == NET && NetProfile::named(&value.name).is_none() {
                let all = NetProfile::all();
                let known: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
                let error =
                    warning(format!("there is no network `{}`", value.name), value.span, "unknown");
                out.push(error.hint(match did_you_mean(&value.name, known.iter().copied()) {
                    Some(near) => Hint::meant(value.span, near),
                    None => format!("networks are {}", known.join(", ")).into(),
                }));
            } else if name != NET && !names.contains(&name) {
                let title = format!("no predicate of this file has a parameter `{name}`");
                let words = names.iter().copied().chain([NET]);
                out.push(warning(title, at, "unknown").hint(match did_you_mean(name, words) {
                    Some(near) => Hint::meant(at, near),
                    None if names.is_empty() => "there is none".into(),
                    None => format!("parameters are {}", names.join(", ")).into(),
                }));
            }
        }
        out
    }
}
