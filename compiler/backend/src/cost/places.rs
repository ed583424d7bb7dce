//! The line of the predicate's own file that a site belongs to.
//!
//! A site in the library (a model's layer, the body of `median`) belongs to the line of the user's
//! file that brought it in: the call or the application of a model that the path of its name goes
//! through.

use slvr_graph::graph::Graph;
use slvr_language::source::Sources;
use slvr_language::syntax::ast::{FileId, Span};
use slvr_language::types::{Expr, ExprKind, FnId, Program, Stmt};

/// For each site of the graph (and so of its circuit) a line of the predicate's file, from 1; 0 where
/// there is none.
pub fn places(program: &Program, graph: &Graph, sources: &Sources) -> Vec<u32> {
    let Some(home) = home(program) else { return vec![0; graph.sites.len()] };
    let line = |span: Span| sources.line_col(span).0 as u32;
    let place = |site: &slvr_graph::graph::Site| match site.line {
        0 => 0,
        _ if site.span.file == home && site.span != Span::default() => line(site.span),
        _ => resolve(program, home, &site.name).map_or(0, line),
    };
    graph.sites.iter().map(place).collect()
}

/// The line of a site among its graph's [`places`]; 0 where there is none.
pub fn line_of(places: &[u32], site: u32) -> u32 {
    places.get(site as usize).copied().unwrap_or(0)
}

/// The file of the predicate.
pub fn home(program: &Program) -> Option<FileId> {
    program.body.iter().find_map(|s| match s {
        Stmt::Reveal { span, .. } => Some(span.file),
        _ => None,
    })
}

/// The innermost place in the file `home` on the path of a name.
fn resolve(program: &Program, home: FileId, name: &str) -> Option<Span> {
    let mut path = name.split('/');
    let first = path.next()?;
    let (mut at, mut inside) = program.body.iter().find_map(|s| statement(program, s, first))?;
    for part in path {
        let Some((span, next)) = call(program, &inside, part) else { break };
        if span.file != home {
            return Some(at);
        }
        at = span;
        inside = next;
    }
    // What no call accounts for is a step of a model, which may have no name.
    let model = applied(&inside).filter(|span| span.file == home);
    Some(model.unwrap_or(at))
}

/// The place of a statement of that name, and the expressions inside.
fn statement<'p>(program: &'p Program, s: &'p Stmt, name: &str) -> Option<(Span, Vec<&'p Expr>)> {
    let var =
        |v: &slvr_language::types::VarId| program.vars.get(v.0 as usize).filter(|v| v.name == name);
    match s {
        Stmt::Let { var: v, value } => var(v).map(|_| (value.span, vec![value])),
        Stmt::Tuple { vars, body, span } => {
            let names = name.split(", ");
            let same = vars.len() == names.clone().count()
                && vars.iter().zip(names).all(|(v, name)| {
                    program.vars.get(v.0 as usize).is_some_and(|v| v.name == name)
                });
            same.then(|| (*span, body.children()))
        }
        Stmt::Reveal { value, name: n, span, .. } => (n == name).then_some((*span, vec![value])),
        Stmt::Store { state, value, span } => var(state).map(|_| (*span, vec![value])),
        given => given.defines().iter().find_map(var).map(|v| (v.span, Vec::new())),
    }
}

/// The first call of that name inside some expressions, with what is inside the function.
fn call<'p>(
    program: &'p Program,
    inside: &[&'p Expr],
    name: &str,
) -> Option<(Span, Vec<&'p Expr>)> {
    let mut found = None;
    for e in inside {
        e.walk(&mut |e| {
            let mut called = |f: &FnId| {
                let f = program.functions.get(f.0 as usize).filter(|f| f.name == name);
                if let (None, Some(f)) = (&found, f) {
                    found = Some((e.span, f.body.children()));
                }
            };
            match &e.kind {
                ExprKind::Call(f, _) => called(f),
                ExprKind::Let(body) => body.calls(&mut called),
                _ => {}
            }
        });
    }
    found
}

/// Where a model is first applied inside some expressions.
fn applied(inside: &[&Expr]) -> Option<Span> {
    let mut found = None;
    for e in inside {
        e.walk(&mut |e| {
            if matches!(e.kind, ExprKind::Apply(..)) {
                found.get_or_insert(e.span);
            }
        });
    }
    found
}
