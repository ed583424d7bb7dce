//! Expressions that only put entries in places, such as a shortcut that takes every other row.
//!
//! Where an expression consists of constructors, indices and numbers alone, each entry of its value is an entry of its
//! operand or a number, whatever the operand is. Two evaluations say which one: of the entries' own places, and of these
//! plus one.

use super::{Arithmetic, Machine, Value};
use crate::types::{Expr, ExprKind, Intrinsic, Program, Source, VarId};
use std::collections::BTreeSet;

/// What an expression makes of a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub of: VarId,
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

/// The placement of an expression; `None` for one that computes anything, or reads not exactly one variable.
pub fn placement(program: &Program, value: &Expr) -> Option<Placement> {
    let of = the_only_variable(value)?;
    let shape = program.vars.get(of.0 as usize)?.ty.shape();
    let len = shape.iter().product::<u64>() as usize;
    let placed = |first: usize| {
        let mut machine = Machine::new(program, Arithmetic::Total);
        let places = (first..first + len).map(|place| place as f64).collect();
        machine.set(of, Value::new(shape.clone(), places)).ok()?;
        machine.expr(value).ok()
    };
    let (own, next) = (placed(0)?, placed(1)?);
    let entry = |(own, next): (&f64, &f64)| match own == next {
        true => Placed::Number(*own),
        false => Placed::Entry(*own as usize),
    };
    let entries = own.entries().iter().zip(next.entries()).map(entry).collect();
    Some(Placement { of, entries })
}

/// The one variable that an expression reads; `None` if it reads another number of them, or computes with values.
fn the_only_variable(value: &Expr) -> Option<VarId> {
    let (mut only, mut own) = (true, BTreeSet::new());
    value.walk(&mut |e| match &e.kind {
        ExprKind::Let(body) => {
            only &= body.lets.iter().all(|d| matches!(d.source, Source::Value(_)));
            own.extend(body.lets.iter().flat_map(|d| d.vars.iter().copied()));
        }
        ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Index(_) => {}
        ExprKind::List(_) | ExprKind::Comp(..) | ExprKind::At(..) => {}
        ExprKind::Intrinsic(of, _) => {
            only &= matches!(of, Intrinsic::Concat | Intrinsic::Flat | Intrinsic::Reshape);
        }
        ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Call(..) => only = false,
        ExprKind::Apply(..) | ExprKind::Layer(..) | ExprKind::Pick(..) => only = false,
        ExprKind::Field(..) | ExprKind::Record(_) => only = false,
    });
    let read = value.reads();
    let mut free = read.difference(&own);
    let of = free.next().copied()?;
    (only && free.next().is_none()).then_some(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Definition;
    use crate::types::check::tests::program;

    /// Of a step that makes a vector of three of a vector of three.
    fn of_block(body: &str) -> Option<Vec<Placed>> {
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
        let [of_block, of_layer] = &model.body.lets[..] else { panic!("{body}") };
        let placement = |d: &Definition| match &d.source {
            Source::Value(value) => placement(&program, value),
            _ => None,
        };
        assert!(placement(of_layer).is_none(), "a layer is no expression");
        let of = placement(of_block)?;
        assert_eq!(of.of, model.x);
        Some(of.entries)
    }

    #[test]
    fn expressions_that_only_place_say_where_each_entry_comes_from() {
        use Placed::{Entry, Number};
        let of = |entries: [Placed; 3]| Some(entries.to_vec());
        assert_eq!(of_block("[x[2 - i] for i in 3]"), of([Entry(2), Entry(1), Entry(0)]));
        assert_eq!(of_block("[x[1], 1, x[1]]"), of([Entry(1), Number(1.0), Entry(1)]));
        // Numbers that are no places, and one that stands for a loop variable.
        assert_eq!(of_block("[-0.5, x[0], 7]"), of([Number(-0.5), Entry(0), Number(7.0)]));
        assert_eq!(of_block("concat([i for i in 2], [x[i] for i in 1])"), {
            of([Number(0.0), Number(1.0), Entry(0)])
        });
        assert_eq!(of_block("let y = concat(x, [4]); [y[i + 1] for i in 3]"), {
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
