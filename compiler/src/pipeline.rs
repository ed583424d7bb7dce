//! The rooms in a row: from source text to a verified circuit.

use crate::diagnostic::{Diagnostic, codes};
use crate::graph::{self, Graph};
use crate::passes::{self, Pass};
use crate::syntax::Sources;
use crate::types::{Bounded, Program};
use crate::{lower, schedule};
use slvr_runtime::circuit::{Circuit, verify::verify};

/// A predicate at every stage.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// As built from the program.
    pub graph: Graph,
    /// After all passes.
    pub optimised: Graph,
    /// In layers.
    pub circuit: Circuit,
}

/// Compiles a typed program.
///
/// # Errors
///
/// What the graph or the circuit has no operation for.
pub fn compile(program: &Program, sources: &Sources) -> Result<Compiled, Vec<Diagnostic>> {
    compile_with(program, sources, |_, _| {})
}

/// Compiles a typed program; `see` gets every pass with the graph after it.
///
/// # Errors
///
/// As [`compile`]; a circuit beyond the limits of its format.
pub fn compile_with(
    program: &Program,
    sources: &Sources,
    see: impl FnMut(&Pass, &Graph),
) -> Result<Compiled, Vec<Diagnostic>> {
    let graph = graph::build::build(program, sources)?;
    let optimised = passes::run(&graph, see);
    let draft = lower::lower(&optimised)?;
    let circuit = schedule::schedule(&optimised, draft);
    if let Err(problem) = verify(&circuit) {
        let at = optimised.outputs.first().map(|o| optimised.sites[o.site as usize].span);
        return Err(vec![
            Diagnostic::error(
                codes::SIZE,
                format!("the circuit breaks a rule of its format: {problem}"),
                at.unwrap_or_default(),
                "to compute this",
            )
            .hint(
                "with sizes this large, use smaller ones; otherwise this is a bug of the compiler",
            ),
        ]);
    }
    Ok(Compiled { graph, optimised, circuit })
}

/// A warning for every demand on the certificate that nothing holds the program to yet.
pub fn unchecked_demands(program: &Program) -> Vec<Diagnostic> {
    let warn = |d: &crate::types::Demand| {
        let what = match &d.what {
            Bounded::Failure => "failure".to_string(),
            Bounded::Error(v) => format!("error({})", program.vars[v.0 as usize].name),
        };
        Diagnostic::warning(
            codes::CERTIFICATE,
            format!("the demand on `{what}` is not checked by this version"),
            d.span,
            "taken as a note",
        )
        .hint("truncation here is exact, but ranges are not proven yet: see the security model")
    };
    program.demands.iter().map(warn).collect()
}
