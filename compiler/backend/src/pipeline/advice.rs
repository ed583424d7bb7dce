//! What would help a program in which a value fits no ring: narrower ranges of one input, or ranges of what its loops
//! carry.
//!
//! A range is advised only if the program compiles with it, by the same steps; and only if it still has many
//! values that words tell apart.

use super::written;
use slvr_graph::analysis::guard::{self, Long};
use slvr_graph::analysis::interval::size;
use slvr_graph::analysis::ranges::Basis;
use slvr_graph::analysis::stated::StatedErrors;
use slvr_graph::graph::{Giver, Graph, build};
use slvr_graph::passes::{self, saturation};
use slvr_language::diagnostic::{Edit, Hint};
use slvr_language::source::Sources;
use slvr_language::types::{Elem, Program, VarId};

/// A range is halved so often at most.
const HALVINGS: u32 = 30;
/// An advised range reaches so many units of the last place at least.
const UNITS: f64 = 256.0;

/// Ranges that are tried for what a loop carries: to plus and minus these powers of two.
const LOOP_RANGES: [u32; 4] = [16, 10, 6, 3];
/// Carried values of one program that are tried one by one.
const MOST_CARRIED: usize = 8;

/// How a program is compiled.
pub(super) struct How<'a> {
    /// The ways to enforce ranges that are tried.
    pub ways: &'a [Option<Long>],
    /// Bits of the largest ring.
    pub most: u32,
    /// The errors of the protocols.
    pub stated: &'a StatedErrors,
}

/// A narrower range of one input with which every value fits; `graph` is the graph as it is built.
///
/// States come last, because what is stored beyond a narrower range changes: and only ranges in which the state begins.
pub(super) fn narrower(
    program: &Program,
    sources: &Sources,
    graph: &Graph,
    how: &How<'_>,
) -> Option<Hint> {
    let start = |i: usize| match graph.inputs[i].from {
        Giver::State(start) => Some(start),
        Giver::Public | Giver::Each(_) | Giver::Present(_) => None,
    };
    let (given, kept): (Vec<_>, Vec<_>) =
        (0..graph.inputs.len()).partition(|&i| start(i).is_none());
    given.into_iter().chain(kept).find_map(|i| {
        let input = &graph.inputs[i];
        if input.elem != Elem::Fix {
            return None;
        }
        let with = |halvings: u32| {
            let part = f64::from(halvings).exp2();
            (input.range.0 / part, input.range.1 / part)
        };
        let unit = (-f64::from(passes::FRACTION)).exp2();
        let fits = |halvings: u32| {
            let mut graph = graph.clone();
            graph.inputs[i].range = with(halvings);
            fit(&graph, how)
        };
        // A range that is half as wide is not too wide where a wider one is not.
        let begins = |n: u32| {
            let (lo, hi) = with(n);
            start(i).is_none_or(|start| (lo..=hi).contains(&start))
        };
        let enough =
            (0..=HALVINGS).rev().find(|&n| size(with(n)) >= UNITS * unit && begins(n))?;
        let (mut low, mut high, mut found) = (0, enough, fits(enough));
        if found == Fit::TooWide {
            return None;
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            match fits(middle) {
                Fit::TooWide => low = middle,
                other => (high, found) = (middle, other),
            }
        }
        let (lo, hi) = with(high);
        let name = &input.name;
        let said = (found == Fit::Well).then(|| match start(i) {
            None => format!("declare `{name}` in {lo}..{hi}: then every value fits"),
            Some(_) => format!(
                "declare the state `{name}` in {lo}..{hi}: then every value fits, and what is stored beyond becomes the \
                 nearer end"
            ),
        });
        said.map(|text| {
            Hint::from(text).edit(written::range(program, sources, name, (lo, hi)))
        })
    })
}

/// Ranges of carried values with which every value fits: of one of them, or of all that have none.
pub(super) fn bounded_loops(program: &Program, sources: &Sources, how: &How<'_>) -> Option<Hint> {
    let mut carried: Vec<VarId> = Vec::new();
    program.clone().loops_mut(&mut |i| {
        let number = |v: VarId| program.vars[v.0 as usize].ty.elem != Elem::Bit;
        let free = i.carried.iter().filter(|c| c.range.is_none() && number(c.var));
        carried.extend(free.map(|c| c.var));
    });
    let fits = |vars: &[VarId], power: u32| {
        let mut bounded = program.clone();
        let most = f64::from(power).exp2();
        bounded.loops_mut(&mut |i| {
            for c in i.carried.iter_mut().filter(|c| vars.contains(&c.var)) {
                c.range = Some((-most, most));
            }
        });
        build::build(&bounded, sources).is_ok_and(|graph| fit(&graph, how) == Fit::Well)
    };
    let widest = |vars: &[VarId]| LOOP_RANGES.into_iter().find(|&power| fits(vars, power));
    let name = |v: &VarId| program.vars[v.0 as usize].name.clone();
    let said = |vars: &[VarId], power: u32| {
        let most = f64::from(power).exp2();
        let names: Vec<String> =
            vars.iter().map(|v| format!("`{} in -{most}..{most} = ..`", name(v))).collect();
        // A value with a type has its range behind that.
        let bare = |v: &VarId| {
            let span = program.vars[v.0 as usize].span;
            let rest = sources.text(span.file).get(span.end as usize..).unwrap_or_default();
            let bare = rest.trim_start().starts_with('=') && !rest.trim_start().starts_with("==");
            bare.then(|| Edit::after(span, format!(" in -{most}..{most}")))
        };
        let edits: Option<Vec<Edit>> = vars.iter().map(bare).collect();
        Hint::from(format!(
            "from step to step the bounds of what the loop carries grow: declare a range, which values outside do not \
             leave, {}: then every value fits. A narrower range that the values stay in, such as -1..1 for a unit \
             vector, is more exact",
            names.join(" and ")
        ))
        .edit(edits.unwrap_or_default())
    };
    for var in carried.iter().take(MOST_CARRIED) {
        let var = std::slice::from_ref(var);
        if let Some(power) = widest(var) {
            return Some(said(var, power));
        }
    }
    if carried.len() < 2 {
        return None;
    }
    widest(&carried).map(|power| said(&carried, power))
}

/// Whether a graph compiles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Well,
    /// A value fits no ring.
    TooWide,
    /// A constant is lost among the values that it is computed with.
    Lost,
}

/// Whether a graph's values fit in one of the ways to enforce its ranges.
fn fit(graph: &Graph, how: &How<'_>) -> Fit {
    let Ok(optimised) = passes::run(graph, |_, _| {}) else { return Fit::Lost };
    let basis = Basis::new(&optimised, how.stated);
    let fits = how.ways.iter().any(|&long| {
        let guards = guard::guards(&optimised, long);
        saturation::fit(&basis, &guards, how.most).is_ok()
    });
    if fits { Fit::Well } else { Fit::TooWide }
}
