//! Warnings of names that a file imports and never uses.

use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::ast::{FileId, Ident, ItemKind, UseTree};
use crate::syntax::{self, Sources};
use std::collections::BTreeSet;

/// One warning for each imported name that stands nowhere else in the file, comments left out.
pub(super) fn unused(sources: &Sources, file: FileId) -> Vec<Diagnostic> {
    let text = sources.text(file);
    let (tree, _) = syntax::parse(file, text);
    let mut names = Vec::new();
    let mut words = BTreeSet::new();
    let mut behind = 0;
    for item in &tree.items {
        if let ItemKind::Use(tree) = &item.kind {
            imported(tree, &mut names);
            let range = item.span.range();
            words.extend(words_of(text.get(behind..range.start).unwrap_or_default()));
            behind = range.end;
        }
    }
    words.extend(words_of(text.get(behind..).unwrap_or_default()));
    let warning = |name: &Ident| {
        let title = format!("`{}` is imported and never used", name.name);
        Diagnostic::warning(codes::UNUSED, title, name.span, "nothing uses it")
            .hint("leave it out of the `use`")
    };
    names.into_iter().filter(|n| !words.contains(n.name.as_str())).map(warning).collect()
}

fn imported<'t>(tree: &'t UseTree, names: &mut Vec<&'t Ident>) {
    match tree {
        UseTree::Name(name) => names.push(name),
        UseTree::Group(all) => names.extend(all),
        UseTree::Path(_, rest) => imported(rest, names),
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
}
