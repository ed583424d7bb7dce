//! From a typed program to a graph.
//!
//! Every value computed inside comprehensions has, before its own dimensions, one *batch axis* for
//! each enclosing loop variable it depends on (`Val`): `update[i]` under `for i in Client` is the
//! whole tensor `update` with its first axis renamed, not m slices. Operations on values of
//! different loops align their batch axes; leaving a comprehension turns its axis into an ordinary
//! dimension. So the number of nodes does not depend on any size of the program, but for the steps of
//! loops that carry values: these are written out, so ranges, errors, passes and protocols know nothing of loops.
//!
//! | file | does |
//! |---|---|
//! | `builder.rs` | what is known while building; statements |
//! | `index.rs` | what loop variables and index expressions are worth: a whole axis, a table, or a public tensor known at run time (a sampled committee) |
//! | `expr.rs`, `ranks.rs` | expressions; sums that are ranks |
//! | `iterate.rs` | bodies of definitions, and loops, whose steps are written out |
//! | `model.rs` | models applied |
//! | `layer.rs` | layers of the compiler |

mod builder;
mod expr;
mod index;
mod iterate;
mod layer;
mod model;
mod ranks;

use crate::graph::Graph;
use builder::Builder;
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::source::Sources;
use slvr_language::syntax::ast::Span;
use slvr_language::types::{MAX_RANK, Program};
use std::collections::{BTreeMap, HashMap};

/// Builds the graph of a predicate.
pub fn build(program: &Program, sources: &Sources) -> std::result::Result<Graph, Vec<Diagnostic>> {
    let graph = Graph {
        name: program.name.clone(),
        sizes: program.sizes.clone(),
        parties: program.parties.iter().map(|p| (p.name.clone(), p.size)).collect(),
        ..Graph::default()
    };
    let mut b = Builder {
        program,
        sources,
        graph,
        axis_size: Vec::new(),
        values: BTreeMap::new(),
        indices: BTreeMap::new(),
        path: Vec::new(),
        site: 0,
        span: Span::default(),
        call: None,
        networks: 0,
        too_deep: None,
        steps: 0,
        sites_by_name: HashMap::new(),
    };
    for stmt in &program.body {
        b.stmt(stmt).map_err(|d| vec![*d])?;
        if let Some(site) = b.too_deep {
            return Err(vec![
                Diagnostic::error(
                    codes::SIZE,
                    format!("a value has at most {MAX_RANK} dimensions, with the loops around it"),
                    b.graph.sites[site as usize].span,
                    "this has more",
                )
                .hint("one loop over `a * b` does what two over `a` and `b` do"),
            ]);
        }
    }
    Ok(b.graph)
}
