//! Where a program's text is changed to do what a hint says.

use crate::cost;
use slvr_language::diagnostic::Edit;
use slvr_language::source::Sources;
use slvr_language::syntax::ast::{ItemKind, Predicate, Span, StmtKind};
use slvr_language::syntax::{self, lexer::lex};
use slvr_language::types::Program;

/// Writes another range for an input or a state, if its own is written out.
pub(super) fn range(
    program: &Program,
    sources: &Sources,
    name: &str,
    (lo, hi): (f64, f64),
) -> Option<Edit> {
    let predicate = predicate(program, sources)?;
    predicate.body.iter().find_map(|s| match &s.kind {
        StmtKind::Input { name: n, range: Some(r), .. }
        | StmtKind::State { name: n, range: Some(r), .. }
            if n.name == name =>
        {
            Some(Edit::replace(r.span, format!("{lo}..{hi}")))
        }
        _ => None,
    })
}

/// Puts a demand on cuts before everything else that the predicate says, if that is what `cut` means there.
pub(super) fn accept_cuts(program: &Program, sources: &Sources, least: f64) -> Option<Edit> {
    let predicate = predicate(program, sources)?;
    let sizes = predicate.sizes.iter().map(|s| &s.name);
    let mut names = sizes.chain(predicate.params.iter().map(|p| &p.name));
    if names.any(|n| n.name == "cut") {
        return None;
    }
    let first = predicate.body.first()?.span;
    // Right behind the brace: the first statement may have a comment above it.
    let tokens = lex(first.file, sources.text(first.file)).tokens;
    let (.., brace) = tokens.iter().rfind(|(_, _, end)| *end <= first.start as usize)?;
    let at = Span { start: *brace as u32, end: *brace as u32, ..first };
    Some(Edit::after(at, format!("\n    require cut >= {least};")))
}

fn predicate(program: &Program, sources: &Sources) -> Option<Predicate> {
    let file = cost::home(program)?;
    let (tree, _) = syntax::parse(file, sources.text(file));
    tree.items.into_iter().find_map(|item| match item.kind {
        ItemKind::Predicate(p) if p.name.name == program.name => Some(p),
        _ => None,
    })
}
