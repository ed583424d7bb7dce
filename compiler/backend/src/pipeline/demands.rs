//! Demands on the error of a named value: `require error(score) <= 2^-8`.
//!
//! The value is compiled alone, as the only thing that is revealed, with inputs guarded as in the predicate; its bound
//! is [`slvr_graph::analysis::errors`]' proven one for the inputs as they were given, before they are rounded. What is
//! not proven is an error that says where the bound comes from. Of a value that a model computes it is a warning: no
//! proof covers every weight in its range, and `slvrc certify` proves bounds for inputs at hand.

use super::Compiled;
use slvr_graph::analysis::errors::{Dominant, Errors, errors, input_errors};
use slvr_graph::analysis::ranges::Basis;
use slvr_graph::analysis::stated::StatedErrors;
use slvr_graph::graph::{Class, Function as Elementary, Graph, Op, build};
use slvr_graph::passes::saturation::{self, Fitted};
use slvr_graph::passes::{self, Level};
use slvr_language::diagnostic::rounding::{at_most, upward};
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::source::Sources;
use slvr_language::types::{Bounded, Demand, Expr, ExprKind, Program, SetId, Stmt, VarId};

/// A graph whose last output is a value that a demand is about, with its errors.
struct Shown {
    graph: Graph,
    errors: Errors,
}

impl Shown {
    fn of(fitted: Fitted, inputs: &[f64], stated: &StatedErrors) -> Shown {
        let errors = errors(&fitted.graph, &fitted.ranges.raw, inputs, stated);
        Shown { graph: fitted.graph, errors }
    }

    /// The bound on the value's error.
    fn error(&self) -> f64 {
        self.errors.output(&self.graph, self.graph.outputs.len() - 1)
    }

    fn holds(&self, demand: &Demand) -> bool {
        self.error() <= demand.bound
    }
}

/// An error for every demand on a value's error that is not proven, a warning if a model computes it; with the inputs
/// and protocols of the compiled predicate.
///
/// The value is held against what it is with [`passes::FRACTION`] fraction bits for all: the circuit may have more
/// for it, and has no fewer. If that is not enough, against what it is in the whole program, at its level.
pub fn check(program: &Program, sources: &Sources, compiled: &Compiled) -> Vec<Diagnostic> {
    let fine = compiled.optimised.inputs.iter().any(|i| i.frac.is_some());
    let mut refused = Vec::new();
    for demand in &program.demands {
        let Bounded::Error(var) = demand.what else { continue };
        match named_value(program, sources, var, compiled) {
            Ok(Some(alone)) => {
                let tried = fine && !alone.holds(demand);
                let within =
                    tried.then(|| within_program(program, sources, var, compiled)).flatten();
                let best = within.filter(|w| w.error() < alone.error()).unwrap_or(alone);
                if !best.holds(demand) {
                    refused.push(exceeds(program, demand, var, &best));
                }
            }
            // A value without a circuit is refused where it is used.
            Ok(None) => {}
            Err(why) => refused.extend(why),
        }
    }
    refused
}

/// The graph that reveals one variable and nothing else; `None` for a variable that the body does not define.
fn named_value(
    program: &Program,
    sources: &Sources,
    var: VarId,
    Compiled { coarse_guards, optimised, stated, .. }: &Compiled,
) -> Result<Option<Shown>, Vec<Diagnostic>> {
    if !program.body.iter().any(|s| s.defines().contains(&var)) {
        return Ok(None);
    }
    let mut alone = program.clone();
    alone.body.retain(|s| !matches!(s, Stmt::Reveal { .. }));
    alone.body.push(reveal(program, var));
    let built = build::build(&alone, sources)?;
    let graph = passes::run(&built, |_, _| {}).map_err(|d| vec![*d])?;
    let fitted =
        saturation::fit(&Basis::new(&graph, stated), coarse_guards, 128).map_err(|d| vec![*d])?;
    let mut inputs = input_errors(&fitted.graph, coarse_guards);
    let unit = (-f64::from(passes::FRACTION)).exp2();
    for (error, fine) in inputs.iter_mut().zip(&optimised.inputs) {
        if fine.frac.is_some() {
            // It is truncated after it was rounded.
            *error += stated.truncation * unit;
        }
    }
    Ok(Some(Shown::of(fitted, &inputs, stated)))
}

fn reveal(program: &Program, var: VarId) -> Stmt {
    let v = &program.vars[var.0 as usize];
    Stmt::Reveal {
        value: Expr { kind: ExprKind::Var(var), ty: v.ty.clone(), span: v.span },
        to: SetId(0),
        name: v.name.clone(),
        span: v.span,
    }
}

/// The graph of the whole program that in the end reveals one variable, too, which does not ask for more fraction bits
/// by that; `None` if it has other inputs than the compiled one, or does not fit.
fn within_program(
    program: &Program,
    sources: &Sources,
    var: VarId,
    Compiled { optimised, guards, level, stated, .. }: &Compiled,
) -> Option<Shown> {
    let mut whole = program.clone();
    let mut looked_at = reveal(program, var);
    if let Stmt::Reveal { name, .. } = &mut looked_at {
        // A name that no reveal has.
        name.push('\'');
    }
    whole.body.push(looked_at);
    let built = build::build(&whole, sources).ok()?;
    let unscaled = passes::unscaled(&built, |_, _| {});
    let level = Level { unasked: true, ..level.clone() };
    let graph = passes::scaled(&unscaled, &level, |_, _| {}).ok()?;
    let same = graph.inputs.iter().map(|i| i.frac).eq(optimised.inputs.iter().map(|i| i.frac));
    let fitted = saturation::fit(&Basis::new(&graph, stated), guards, 128).ok().filter(|_| same)?;
    let inputs = input_errors(&fitted.graph, guards);
    Some(Shown::of(fitted, &inputs, stated))
}

/// A bound as people write it: a power of two, which it may exceed by what floating point rounds, or with a few digits.
fn number(x: f64) -> String {
    let power = x.log2().round();
    if x.is_infinite() {
        "unlimited".to_string()
    } else if (x / power.exp2() - 1.0).abs() < 1e-9 && power.abs() >= 4.0 {
        format!("2^{power}")
    } else if (1e-3..1e6).contains(&x) {
        at_most(x, if x < 1.0 { 5 } else { 2 })
    } else {
        upward(x)
    }
}

/// The longest chain of matrix products and convolutions before the last output: two and more are layers of a model.
fn layers(graph: &Graph) -> u32 {
    let mut depth: Vec<u32> = Vec::with_capacity(graph.len());
    for id in graph.ids() {
        let before = graph.args(id).iter().map(|a| depth[a.index()]).max().unwrap_or(0);
        depth.push(before + u32::from(graph.op(id).class() == Class::Bilinear));
    }
    graph.outputs.last().map_or(0, |o| depth[o.node.index()])
}

fn exceeds(program: &Program, demand: &Demand, var: VarId, shown: &Shown) -> Diagnostic {
    let Shown { graph, errors } = shown;
    let name = &program.vars[var.0 as usize].name;
    let proven = number(shown.error());
    let title =
        format!("`{name}` may be off by {proven}, and {} is demanded", number(demand.bound));
    // Deep networks have no proof for every weight in range.
    let model = layers(graph) >= 2;
    let new = if model { Diagnostic::warning } else { Diagnostic::error };
    let label = format!("proven is only {proven}");
    let mut d = new(codes::CERTIFICATE, title, demand.span, label);
    let node = graph.outputs.last().map(|o| o.node);
    let Some(Dominant { source, rounding, amplifier }) = node.and_then(|n| errors.dominant(n))
    else {
        return d;
    };
    let step = |id| {
        let site = graph.site(id);
        let of = if site.name.is_empty() { String::new() } else { format!(" of `{}`", site.name) };
        (format!("`{}`{of}", graph.op(id).name()), site)
    };
    let (what, site) = step(source);
    d = d.label(
        site.span,
        format!("most of it begins here: {what} is off by up to {}", number(rounding)),
    );
    if let Some((at, gain)) = amplifier {
        let (what, site) = step(at);
        d = d.label(
            site.span,
            format!("and grows most here: {what} multiplies it by up to {}", number(gain)),
        );
    }
    d = d.hint(advice(amplifier.map(|(at, _)| graph.op(at))));
    if model {
        d = d.hint(
            "for every weight in its range a model's error has no useful bound: `slvrc certify` with the \
             option `--inputs` proves one for inputs at hand",
        );
    }
    d
}

fn advice(amplifier: Option<&Op>) -> &'static str {
    use Op::*;
    let Some(op) = amplifier else { return ROUNDING };
    match op {
        Div | Function(Elementary::Recip | Elementary::RecipSqrt) => {
            "keep the divisor away from zero: divide by `max([x, c])` for a c that honest values \
             exceed, or compare products instead of quotients"
        }
        Function(Elementary::Sqrt | Elementary::Log) => {
            "the slope is steep near zero: add a constant to the operand, or compare squares"
        }
        Function(Elementary::Exp | Elementary::ExpNonPositive) => {
            "bound the operand from above: subtract the largest entry first, as `softmax` does"
        }
        Mul | MatMul { .. } | Conv2d { .. } => {
            "a product enlarges one factor's error by the other: declare narrower input ranges, or \
             scale values down before they are multiplied"
        }
        Sum(_) | SortSum { .. } => {
            "a sum adds the errors of all its terms: demand less, or bound the mean instead"
        }
        // What is not named here passes errors on, or is not known to enlarge them.
        _ => ROUNDING,
    }
}

/// Where nothing but rounding can be blamed.
const ROUNDING: &str = "demand less: values have 16 fraction bits, and every rounding takes up to one unit of \
                        them";
