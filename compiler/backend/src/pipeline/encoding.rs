//! How inputs are encoded, for every number of clients that may come ([`super::common`] finds it).

use super::precision::Scaled;
use slvr_graph::analysis::guard::Long;
use slvr_graph::graph::{Graph, Input};
use slvr_graph::passes::FRACTION;
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::types::{Program, Stmt, VarId};

/// How the inputs of a program are encoded, for every number of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// Fraction bits of each input, by index.
    pub(super) bits: Vec<u32>,
    /// Whether long vectors are dealt in a small ring and lifted.
    pub(super) lifted: bool,
}

impl Encoding {
    /// Fraction bits of each input, by index.
    pub fn bits(&self) -> &[u32] {
        &self.bits
    }

    /// Whether inputs are dealt so if long ones are enforced in that way.
    pub(super) fn admits(&self, way: Option<Long>) -> bool {
        way.is_none_or(|way| (way == Long::Lift) == self.lifted)
    }

    /// Whether the inputs of a graph have these fraction bits.
    ///
    /// # Errors
    ///
    /// The first that has not.
    pub(super) fn holds(&self, program: &Program, scaled: &Scaled) -> Result<(), Vec<Diagnostic>> {
        let graph = &scaled.fitted.graph;
        let own = bits_of(graph);
        let Some(i) = (0..own.len()).find(|&i| self.bits.get(i) != Some(&own[i])) else {
            return Ok(());
        };
        let input = &graph.inputs[i];
        let (wanted, own) = (self.bits.get(i).copied().unwrap_or(FRACTION), own[i]);
        let why = format!(
            "`{}` has {wanted} fraction bits for other numbers of clients, and {own} here",
            input.name
        );
        Err(vec![apart(program, input, why)])
    }
}

/// Fraction bits of the inputs of a graph with scales.
pub(super) fn bits_of(graph: &Graph) -> Vec<u32> {
    graph.inputs.iter().map(|i| i.frac.unwrap_or(FRACTION)).collect()
}

/// An input that is not encoded as for the other numbers.
pub(super) fn apart(program: &Program, input: &Input, why: String) -> Diagnostic {
    let is = |var: VarId| program.vars[var.0 as usize].name == input.name;
    let at = program.body.iter().find_map(|s| match s {
        Stmt::Input { var, .. } | Stmt::State { var, .. } if is(*var) => {
            Some(program.vars[var.0 as usize].span)
        }
        _ => None,
    });
    let title = format!("inputs are not the same for every number of clients: {why}");
    Diagnostic::error(codes::PARTIES, title, at.unwrap_or_default(), "this input").hint(
        "clients encode their inputs before it is known how many of them come: what an input is may not depend on that",
    )
}
