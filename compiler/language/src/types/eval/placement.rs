//! Steps of a model that only put entries in places, such as a shortcut that takes every other row.
//!
//! Where an expression consists of constructors, indices and numbers alone, each entry of its value is an entry of its
//! operand or a number, whatever the operand is. Two evaluations say which one: of the entries' own places, and of these
//! plus one.

use super::{Arithmetic, Machine, Value};
use crate::types::model::{Model, Operand, StepId, StepKind};
use crate::types::{Body, ExprKind, Intrinsic, Program, Source};

/// What a step makes of an earlier one.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub of: StepId,
    /// By entry of the result.
    pub entries: Vec<Placed>,
}

/// What stands in a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Placed {
    /// This entry of the operand.
    Entry(usize),
    Number(f64),
}

/// The placement of an expression of a model; `None` for a step that computes anything, or reads not exactly one step.
pub fn placement(program: &Program, model: &Model, step: StepId) -> Option<Placement> {
    let StepKind::Compute { operands, body } = &model.steps.get(step)?.kind else { return None };
    let &[(var, Operand::Step(of))] = operands.as_slice() else { return None };
    if !only_places(body) {
        return None;
    }
    let shape = &model.steps.get(of)?.shape;
    let len = shape.iter().product::<u64>() as usize;
    let value = |first: usize| {
        let mut machine = Machine::new(program, Arithmetic::Total);
        let places = (first..first + len).map(|place| place as f64).collect();
        machine.set(var, Value::new(shape.clone(), places)).ok()?;
        machine.body(body).ok()?.pop()
    };
    let (own, next) = (value(0)?, value(1)?);
    let placed = |(own, next): (&f64, &f64)| match own == next {
        true => Placed::Number(*own),
        false => Placed::Entry(*own as usize),
    };
    let entries = own.entries().iter().zip(next.entries()).map(placed).collect();
    Some(Placement { of, entries })
}

/// Whether no expression inside computes with a value.
fn only_places(body: &Body) -> bool {
    let mut only = body.lets.iter().all(|d| matches!(d.source, Source::Value(_)));
    body.walk(&mut |e| {
        only &= match &e.kind {
            ExprKind::Const(_) | ExprKind::Index(_) | ExprKind::Var(_) => true,
            ExprKind::List(_) | ExprKind::Comp(..) | ExprKind::At(..) => true,
            ExprKind::Intrinsic(of, _) => {
                matches!(of, Intrinsic::Concat | Intrinsic::Flat | Intrinsic::Reshape)
            }
            ExprKind::Let(body) => body.lets.iter().all(|d| matches!(d.source, Source::Value(_))),
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Call(..) => false,
            ExprKind::Apply(..) | ExprKind::Layer(..) | ExprKind::Pick(..) => false,
            ExprKind::Field(..) | ExprKind::Record(_) => false,
        }
    });
    only
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::check::tests::program;

    /// Of a step that makes a vector of three of a vector of three.
    fn of_block(body: &str) -> Option<Placement> {
        let text = format!(
            "block step(x) {{ {body} }}
            model Net(x: fix[3]) -> fix[3] {{ last: linear[3, 3]; x |> step |> last }}
            predicate P[M: model]() {{
                parties S; input w: public weights M; input x: public fix[3];
                reveal M(w, x) to S as out;
            }}"
        );
        let program = program(&text, "M=Net");
        let model = &program.models[0];
        assert_eq!(model.steps.len(), 3, "{body}");
        assert!(placement(&program, model, 2).is_none(), "a layer is no expression");
        placement(&program, model, 1)
    }

    #[test]
    fn expressions_that_only_place_say_where_each_entry_comes_from() {
        use Placed::{Entry, Number};
        let entries = |body| of_block(body).map(|p| (p.of, p.entries));
        let of = |entries: [Placed; 3]| Some((0, entries.to_vec()));
        assert_eq!(entries("[x[2 - i] for i in 3]"), of([Entry(2), Entry(1), Entry(0)]));
        assert_eq!(entries("[x[1], 1, x[1]]"), of([Entry(1), Number(1.0), Entry(1)]));
        // Numbers that are no places, and one that stands for a loop variable.
        assert_eq!(entries("[-0.5, x[0], 7]"), of([Number(-0.5), Entry(0), Number(7.0)]));
        assert_eq!(entries("concat([i for i in 2], [x[i] for i in 1])"), {
            of([Number(0.0), Number(1.0), Entry(0)])
        });
        assert_eq!(entries("let y = concat(x, [4]); [y[i + 1] for i in 3]"), {
            of([Entry(1), Entry(2), Number(4.0)])
        });
    }

    /// Each gives places for places.
    #[test]
    fn expressions_that_compute_are_no_placements() {
        for body in [
            "[max([x[i], 0]) for i in 3]",
            "[1 * x[i] for i in 3]",
            "[-(-x[i]) for i in 3]",
            "[x[0] + x[1] - x[0], x[1], x[2]]",
            "[select(x[i] < 9, x[i], 0) for i in 3]",
            "[sum([x[i]]) for i in 3]",
            "sort(x)",
        ] {
            assert_eq!(of_block(body), None, "{body}");
        }
    }
}
