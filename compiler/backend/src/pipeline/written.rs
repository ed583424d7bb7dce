//! Where a program's text is changed to do what a hint says.

use crate::cost;
use slvr_language::diagnostic::Edit;
use slvr_language::syntax::ast::{ItemKind, Predicate, Span, StmtKind};
use slvr_language::syntax::{self, Sources};
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

/// Puts a demand before everything else that the predicate says.
pub(super) fn demand(program: &Program, sources: &Sources, demand: &str) -> Option<Edit> {
    let predicate = predicate(program, sources)?;
    predicate.body.first()?;
    let name = predicate.name.span;
    // Right behind the brace: the first statement may have a comment above it.
    let brace = sources.text(name.file).get(name.end as usize..)?.find('{')? as u32;
    let at = Span { end: name.end + brace + 1, ..name };
    Some(Edit::after(at, format!("\n    require {demand};")))
}

fn predicate(program: &Program, sources: &Sources) -> Option<Predicate> {
    let file = cost::home(program)?;
    let (tree, _) = syntax::parse(file, sources.text(file));
    tree.items.into_iter().find_map(|item| match item.kind {
        ItemKind::Predicate(p) if p.name.name == program.name => Some(p),
        _ => None,
    })
}
