//! Imports of a file: what is put into them, and what is in them and never used.

use crate::diagnostic::{Diagnostic, Edit, codes};
use crate::source::Sources;
use crate::syntax::ast::{File, FileId, Ident, Item, ItemKind, Span, UseTree};
use crate::syntax::{self, SIZES};
use std::collections::BTreeSet;

/// Where a file imports names from libraries.
#[derive(Clone, Debug, Default)]
pub(super) struct Imports {
    /// The names of each library that are in braces.
    groups: Vec<(String, Vec<Ident>)>,
    /// The last `use`; without one, where the first one belongs.
    last: Span,
    any: bool,
}

impl Imports {
    /// Those of a file.
    pub fn of(text: &str, tree: &File) -> Imports {
        let mut imports = Imports::default();
        if let Some(first) = tree.items.first() {
            let at = head(text, first);
            imports.last = Span { start: at, end: at, ..first.span };
        }
        for item in &tree.items {
            if let ItemKind::Use(tree) = &item.kind {
                (imports.last, imports.any) = (item.span, true);
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
        match self.any {
            false => Edit::before(self.last, format!("use {library}::{{{name}}};\n\n")),
            true => Edit::after(self.last, format!("\nuse {library}::{{{name}}};")),
        }
    }
}

/// Where the first `use` of a file belongs: behind the comment that begins the file, which is about all of it, unless
/// it stands right above an item that it documents.
fn head(text: &str, first: &Item) -> u32 {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    let mut sizes = false;
    while let Some(line) = lines.next_if(|l| l.trim_start().starts_with("//")) {
        sizes |= line.trim_start().starts_with(SIZES);
        at += line.len();
    }
    match lines.peek() {
        // Behind the blank line, too.
        Some(blank) if at > 0 && blank.trim().is_empty() => (at + blank.len()) as u32,
        // The comment of a predicate is that of its file.
        _ if sizes || matches!(first.kind, ItemKind::Predicate(_)) => at as u32,
        _ => 0,
    }
}

/// One warning for each imported name that stands nowhere else in the file, comments left out.
pub(super) fn unused(sources: &Sources, file: FileId) -> Vec<Diagnostic> {
    let text = sources.text(file);
    let (tree, _) = syntax::parse(file, text);
    let mut uses = Vec::new();
    let mut words = BTreeSet::new();
    let mut behind = 0;
    for item in &tree.items {
        if let ItemKind::Use(tree) = &item.kind {
            uses.push((tree.names(), item.span));
            let range = item.span.range();
            words.extend(words_of(text.get(behind..range.start).unwrap_or_default()));
            behind = range.end;
        }
    }
    words.extend(words_of(text.get(behind..).unwrap_or_default()));
    let of = |(names, whole): (&[Ident], Span)| {
        let unused = |n: &Ident| !words.contains(n.name.as_str());
        let all = names.iter().all(unused);
        let warning = |(i, name): (usize, &Ident)| {
            let title = format!("`{}` is imported and never used", name.name);
            codes::UNUSED
                .warning(title)
                .label(name.span, "nothing uses it")
                .hint("leave it out of the `use`")
                .edit([Edit::replace(if all { whole } else { listed(names, i) }, "")])
        };
        let found = names.iter().enumerate().filter(|(_, n)| unused(n)).map(warning);
        found.collect::<Vec<_>>()
    };
    uses.into_iter().flat_map(of).collect()
}

/// A name among others in braces with the comma before it, or of the first one with that behind it.
fn listed(names: &[Ident], i: usize) -> Span {
    let name = names[i].span;
    match (i.checked_sub(1).map(|i| names[i].span), names.get(i + 1)) {
        (Some(before), _) => Span { start: before.end, ..name },
        (None, Some(next)) => Span { end: next.span.start, ..name },
        (None, None) => name,
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
}
