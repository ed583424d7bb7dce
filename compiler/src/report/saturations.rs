//! Where a program's values are cut: functions that saturate, values that loops keep in a range, and the cuts that
//! errors rest on.

use crate::analysis::interval::{hull, nearest, size};
use crate::analysis::ranges::Ranges;
use crate::analysis::zeros::vanishes;
use crate::graph::{Giver, Graph, Input, NodeId, Op, domain};
use crate::pipeline::Compiled;
use serde::Serialize;

/// A function or a quotient that saturates for operands that its interval does not exclude, or a value that a loop
/// keeps in its declared range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SaturationRow {
    pub line: u32,
    pub function: String,
    /// For which operands, and at what.
    pub what: String,
    /// How many steps of the line are the same.
    pub times: u64,
}

impl SaturationRow {
    /// For which operands, at what, and how often.
    pub fn said(&self) -> String {
        match self.times {
            1 => self.what.clone(),
            n => format!("{} ({n} times)", self.what),
        }
    }

    /// Whether both say the same of a line, however often.
    fn is_like(&self, other: &SaturationRow) -> bool {
        (self.line, &self.function, &self.what) == (other.line, &other.function, &other.what)
    }
}

/// A step whose values are cut.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CutRow {
    pub line: u32,
    /// The step of the source.
    pub step: String,
    /// Values stay within plus and minus this.
    pub at: f64,
    /// Their interval without the cut, proven.
    pub range: (f64, f64),
}

/// Functions that saturate, and values that loops and states keep in a range, in the order of the program.
pub(super) fn saturations(c: &Compiled, line_of: &dyn Fn(u32) -> u32) -> Vec<SaturationRow> {
    let g = &c.optimised;
    let mut rows: Vec<SaturationRow> = Vec::new();
    for id in g.ids() {
        let line = line_of(g.node(id).site);
        if let Some(what) = saturates(g, &c.ranges, id) {
            let row = SaturationRow { line, function: g.op(id).name().into(), what, times: 1 };
            match rows.iter_mut().find(|r| r.is_like(&row)) {
                Some(same) => same.times += 1,
                None => rows.push(row),
            }
        }
        // Once for all steps.
        if let Some(row) = kept_in_range(g, id, line).filter(|row| !rows.contains(row)) {
            rows.push(row);
        }
    }
    rows
}

/// The row of a value that a loop or a state keeps in a range.
fn kept_in_range(g: &Graph, id: NodeId, line: u32) -> Option<SaturationRow> {
    let (name, (lo, hi)) = g.site(id).keeps().filter(|_| *g.op(id) == Op::Select)?;
    let state = |i: &Input| i.name == name && matches!(i.from, Giver::State(_));
    let kept = if g.inputs.iter().any(state) { "where it is stored" } else { "in a loop" };
    let what = format!("{kept}, kept in {lo}..{hi}");
    Some(SaturationRow { line, function: format!("`{name}`"), what, times: 1 })
}

/// The cuts that the stated errors rest on, once for all of the same step.
pub(super) fn cut_rows(
    c: &Compiled,
    assumed: &[NodeId],
    line_of: &dyn Fn(u32) -> u32,
) -> Vec<CutRow> {
    let g = &c.optimised;
    let mut rows: Vec<CutRow> = Vec::new();
    for &id in assumed {
        let Op::Saturate(top) = g.op(id) else { continue };
        let (line, step) = (line_of(g.node(id).site), g.site(id).name.clone());
        let (at, range) = (f64::from(*top).exp2(), c.ranges.real(g, g.arg(id, 0)));
        match rows.iter_mut().find(|r| (r.line, &r.step, r.at) == (line, &step, at)) {
            Some(row) => row.range = hull(row.range, range),
            None => rows.push(CutRow { line, step, at, range }),
        }
    }
    rows
}

/// For which operands a function or a quotient is cut, and at what, if its interval admits any.
fn saturates(g: &Graph, ranges: &Ranges, id: NodeId) -> Option<String> {
    let real = |i: usize| ranges.real(g, g.arg(id, i));
    let end = domain::QUOTIENT_TOP;
    match g.op(id) {
        Op::Div => {
            let (x, y) = (real(0), real(1));
            let largest = size(x) / nearest(y);
            let near = y.0 <= 0.0 && y.1 >= 0.0;
            let zero = near && !vanishes(g, g.arg(id, 0), g.arg(id, 1));
            // Where dividend and divisor are 0 together, the next divisor is a unit.
            let beyond = match near {
                true => {
                    g.ulp(g.arg(id, 1)) < 1.0 && size(ranges.real(g, id)) >= domain::QUOTIENT_END
                }
                false => y.0.max(-y.1) < 1.0 && largest > domain::QUOTIENT_END,
            };
            let what = if zero {
                "where the divisor is 0 or near to it"
            } else {
                "where it would be larger"
            };
            (zero || beyond).then(|| format!("is 2^{end} or -2^{end} {what}; 0 / 0 is 0"))
        }
        Op::Function(f) => {
            let (lo, hi) = real(0);
            (f.facts().beyond)(lo, hi).map(|what| format!("is {what}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::certificate::Certificate;
    use crate::report::testing::compiled;

    /// What is certified of this reveal of inputs x in this range; all of it is in line 3.
    fn certified(range: &str, reveal: &str) -> Certificate {
        let text = format!(
            "use std::{{exp, log, sqrt, sum, tanh}};\npredicate P[m]() {{ parties Client[m]; parties Server; \
             input x: secret fix in {range} from each Client;\nreveal {reveal} to Server as y; }}\n"
        );
        let (program, sources, compiled) = compiled(&text, &[("m", "3")]);
        Certificate::of(&compiled, &crate::cost::places(&program, &compiled.optimised, &sources))
    }

    /// For operands that intervals admit, and of those alone.
    #[test]
    fn what_may_saturate_is_said() {
        for (range, reveal, function, what) in [
            ("0..4", "sum(sqrt(x[i]) for i in Client)", "", ""),
            (
                "-1..4",
                "sum(sqrt(x[i]) for i in Client)",
                "sqrt",
                "is 0 where the operand is negative",
            ),
            ("1..4", "sum(log(x[i]) for i in Client)", "", ""),
            (
                "0..4",
                "sum(log(x[i]) for i in Client)",
                "log",
                "is -17 ln 2 where the operand is below 2^-16",
            ),
            ("-9..4", "sum(exp(x[i]) for i in Client)", "", ""),
            ("-9..40", "sum(exp(x[i]) for i in Client)", "exp", "where the operand is above"),
            ("-9..9", "sum(tanh(x[i]) for i in Client)", "", ""),
            ("1..4", "1 / sum(x)", "", ""),
            ("0..4", "1 / sum(x)", "div", "is 2^31 or -2^31 where the divisor is 0 or near to it"),
        ] {
            let rows = certified(range, reveal).saturations;
            let found: Vec<(&str, u32)> = rows.iter().map(|r| (&r.function[..], r.line)).collect();
            let expected: &[(&str, u32)] = if function.is_empty() { &[] } else { &[(function, 3)] };
            assert_eq!(found, expected, "{reveal} in {range}: {rows:?}");
            assert!(rows.iter().all(|r| r.said().contains(what)), "{reveal} in {range}: {rows:?}");
        }
    }

    /// A mean is as large as what it averages, however small the sum of its weights is.
    #[test]
    fn means_that_are_cut_are_said() {
        let rows = |text: &str, bound: &[(&str, &str)]| {
            let (program, sources, compiled) = compiled(text, bound);
            let places = crate::cost::places(&program, &compiled.optimised, &sources);
            let mut rows = Certificate::of(&compiled, &places).saturations;
            rows.retain(|row| row.what.contains("where it would be larger"));
            rows.len()
        };
        let large = "use std::{relu, sum};\npredicate P[m]() { parties Client[m]; parties Server;\n\
                     input u: secret fix in -1000..1000 from each Client; input w: secret fix in -1..1 from each Client;\n\
                     reveal 10000000 * sum(relu(w[i]) * u[i] for i in Client) / sum(relu(w[i]) for i in Client) \
                     to Server as y; }\n";
        assert_eq!(rows(large, &[("m", "3")]), 1);
        for name in ["norm_ball", "fltrust"] {
            let all = crate::syntax::embedded::PREDICATES;
            let (_, text) =
                all.iter().find(|(n, _)| n.trim_end_matches(".slvr") == name).expect(name);
            assert_eq!(rows(text, &[("M", "Mlp[9,hidden=4]"), ("m", "6")]), 0, "{name}");
        }
    }

    /// Once for all steps of a loop, and of equal steps of a line how many there are.
    #[test]
    fn rows_are_as_many_as_there_are_things_to_say() {
        let kept = "iterate s: fix in 0..1 = sum(x) / 3 for t in 3 { s * s + 0.5 }";
        let rows = certified("0..1", kept).saturations;
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(
            (&rows[0].function[..], &rows[0].said()[..]),
            ("`s`", "in a loop, kept in 0..1")
        );
        let twice =
            certified("-1..1", "sum(sqrt(x[i]) + sqrt(x[i] - 0.5) for i in Client)").saturations;
        let said: Vec<String> = twice.iter().map(SaturationRow::said).collect();
        assert_eq!(said, ["is 0 where the operand is negative (2 times)"]);
    }

    /// Of equal cuts in a step there is one row, with all that their operands may be.
    #[test]
    fn cuts_that_errors_rest_on_are_said_once() {
        let text = "use std::sum;\npredicate P[m]() { parties Client[m]; parties Server; \
                    input x: secret fix in -8..8 from each Client;\nreveal sum(x) to Server as y; }\n";
        let mut compiled = compiled(text, &[("m", "3")]).2;
        let g = &mut compiled.optimised;
        let (of, first) = (g.outputs[0].node, g.ids().next().expect("a node"));
        let site = g.node(of).site;
        let cuts = [(4, first), (5, of), (4, of)];
        let cuts = cuts.map(|(top, of)| g.add(Op::Saturate(top), &[of], site));
        let rows = cut_rows(&compiled, &cuts, &|_| 3);
        let found: Vec<_> = rows.iter().map(|r| (r.line, r.at, r.range)).collect();
        let [one, all] = [first, of].map(|id| compiled.ranges.real(&compiled.optimised, id));
        assert_eq!(found, [(3, 16.0, hull(one, all)), (3, 32.0, all)]);
    }
}
