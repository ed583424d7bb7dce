//! Imports of a file: what is put into them, and what is in them and never used.

use crate::diagnostic::{Diagnostic, Edit, codes};
use crate::syntax::ast::{File, FileId, Ident, ItemKind, Span, UseTree};
use crate::syntax::{self, Sources};
use std::collections::BTreeSet;

/// Where a file imports names from libraries.
#[derive(Clone, Debug, Default)]
pub(super) struct Imports {
    /// The names of each library that are in braces.
    groups: Vec<(String, Vec<Ident>)>,
    /// The last `use`; without one, the beginning of the file.
    last: Span,
}

impl Imports {
    /// Those of a file.
    pub fn of(tree: &File) -> Imports {
        let mut imports = Imports::default();
        if let Some(first) = tree.items.first() {
            imports.last = Span { start: 0, end: 0, ..first.span };
        }
        for item in &tree.items {
            if let ItemKind::Use(tree) = &item.kind {
                imports.last = item.span;
                if let UseTree::Path(head, rest) = tree
                    && let UseTree::Group(names) = &**rest
                {
                    imports.groups.push((head.name.clone(), names.clone()));
                }
            }
        }
        imports
    }

    /// What imports a name of a library as well.
    pub fn add(&self, library: &str, name: &str) -> Edit {
        let mut groups = self.groups.iter().filter(|(of, _)| of == library);
        if let Some((names, last)) = groups.find_map(|(_, names)| Some((names, names.last()?))) {
            return match names.iter().find(|n| n.name.as_str() > name) {
                Some(next) => Edit::before(next.span, format!("{name}, ")),
                None => Edit::after(last.span, format!(", {name}")),
            };
        }
        match self.last.end {
            0 => Edit::before(self.last, format!("use {library}::{{{name}}};\n\n")),
            _ => Edit::after(self.last, format!("\nuse {library}::{{{name}}};")),
        }
    }
}

/// One warning for each imported name that stands nowhere else in the file, comments left out.
pub(super) fn unused(sources: &Sources, file: FileId) -> Vec<Diagnostic> {
    let text = sources.text(file);
    let (tree, _) = syntax::parse(file, text);
    let mut names = Vec::new();
    let mut words = BTreeSet::new();
    let mut behind = 0;
    for item in &tree.items {
        if let ItemKind::Use(tree) = &item.kind {
            let all = tree.names();
            let alone = all.len() == 1;
            names.extend(all.iter().map(|name| (name, alone.then_some(item.span))));
            let range = item.span.range();
            words.extend(words_of(text.get(behind..range.start).unwrap_or_default()));
            behind = range.end;
        }
    }
    words.extend(words_of(text.get(behind..).unwrap_or_default()));
    let warning = |(name, whole): (&Ident, Option<Span>)| {
        let title = format!("`{}` is imported and never used", name.name);
        Diagnostic::warning(codes::UNUSED, title, name.span, "nothing uses it")
            .hint("leave it out of the `use`")
            .edit([Edit::replace(whole.unwrap_or_else(|| listed(text, name.span)), "")])
    };
    names.into_iter().filter(|(n, _)| !words.contains(n.name.as_str())).map(warning).collect()
}

/// A name in braces with the comma behind it, or that before it.
fn listed(text: &str, name: Span) -> Span {
    let (before, behind) = text.split_at_checked(name.start as usize).unwrap_or((text, ""));
    let behind = behind.get(name.range().len()..).unwrap_or_default();
    let blank = |rest: &str| (rest.len() - rest.trim_start().len()) as u32;
    if let Some(rest) = behind.strip_prefix(',') {
        return Span { end: name.end + 1 + blank(rest), ..name };
    }
    match before.trim_end().strip_suffix(',') {
        Some(rest) => Span { start: rest.len() as u32, ..name },
        None => name,
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
}
