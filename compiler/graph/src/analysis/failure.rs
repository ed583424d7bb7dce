//! How likely it is that anything in a run is wrong by more than its stated error.
//!
//! Sharing, multiplication, truncation, comparison and every function built from them are exact within their stated
//! error, always: no term. What is left are the projections that prove the norm of a long vector
//! ([`super::projection`]): a client whose vector is too long may pass, and an honest client at the limit may fail.
//! Both are counted for all clients, by the union bound. Against a malicious party there is a third term: its proof of
//! something false may pass ([`slvr_circuit::proof`]). That the pseudorandom functions behave like random ones is
//! assumed, not counted.

use super::guard::Guard;
use crate::graph::{Graph, Op};
use slvr_circuit::{Circuit, proof};
use slvr_language::syntax::ast::Span;

/// A step that may fail.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Term {
    pub what: String,
    /// Source line, 0 if there is none.
    pub line: u32,
    /// log2 of its probability, over all clients.
    pub log2: f64,
    #[serde(skip)]
    pub span: Span,
    /// Whether it is that a false proof passes.
    #[serde(skip)]
    pub is_proof: bool,
}

/// All that may fail.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Failure {
    /// The steps, likeliest first.
    pub terms: Vec<Term>,
}

impl Failure {
    /// Of a graph whose inputs are guarded.
    pub fn of(graph: &Graph, guards: &[Guard]) -> Failure {
        let mut terms = Vec::new();
        for (i, (input, guard)) in graph.inputs.iter().zip(guards).enumerate() {
            let Guard::Project(plan) = guard else { continue };
            let node = graph.ids().find(|&id| *graph.op(id) == Op::Input(i as u32));
            let site = node.map(|id| graph.site(id)).cloned().unwrap_or_default();
            let mut term = |what: String, log2: f64| {
                terms.push(Term { what, line: site.line, log2, span: site.span, is_proof: false });
            };
            let name = &input.name;
            term(format!("a `{name}` longer than proven passes"), plan.soundness_log2);
            term(format!("an honest `{name}` at the norm limit fails"), plan.honest_failure_log2);
        }
        terms.sort_by(|a, b| b.log2.total_cmp(&a.log2));
        Failure { terms }
    }

    /// With the proofs of a circuit, if it is against a malicious party.
    pub fn with_proofs(mut self, circuit: &Circuit) -> Failure {
        if circuit.security.is_malicious() {
            let what = "a false proof of a malicious party passes".into();
            // Without a proof nothing is noticed.
            let log2 = proof::error(circuit).map_or(0.0, f64::log2);
            let term = Term { what, line: 0, log2, span: Span::default(), is_proof: true };
            self.terms.push(term);
            self.terms.sort_by(|a, b| b.log2.total_cmp(&a.log2));
        }
        self
    }

    /// log2 of the probability that any of them happens; minus infinity if nothing can.
    pub fn log2(&self) -> f64 {
        self.terms.iter().map(|t| t.log2.exp2()).sum::<f64>().log2()
    }
}
