//! The typing rule: element, shape, secrecy and scale of a result from those of the operands, as the
//! table of operations says.

pub use super::op::{align, without};

use super::op::{ElemRule, ScaleRule, need, shape_of};
use super::{Graph, Op, Type};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;

/// Elements of a value stay below this: twice as many have an exact number in floating point.
pub const ELEMENTS_END: u64 = 1 << 40;

/// The type of `op` applied to operands of the given types.
pub fn infer(graph: &Graph, op: &Op, args: &[&Type]) -> Result<Type, String> {
    let facts = op.facts();
    let count = facts.operands.unwrap_or(args.len().max(1));
    need(args.len() == count, || format!("takes {count} operands, got {}", args.len()))?;
    let shapes: Vec<&[u64]> = args.iter().map(|t| t.shape.as_slice()).collect();
    let shape = shape_of(op, &shapes, |i| {
        let input = graph.inputs.get(i as usize).ok_or_else(|| format!("no input {i}"))?;
        Ok(graph.input_shape(input))
    })?;
    need(
        shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).is_some_and(|n| n < ELEMENTS_END),
        || format!("shape {shape:?} is too large"),
    )?;
    let elem = elem_of(graph, facts.elem, args)?;
    let given = matches!(op, Op::Input(i) if graph.inputs[*i as usize].from.is_secret());
    let secret = given || matches!(op, Op::Noise { .. });
    let own = if secret { Secrecy::Secret } else { Secrecy::Public };
    let secrecy = args.iter().map(|t| t.secrecy).max().unwrap_or(own);
    let frac = frac_of(graph, facts.scale, args, elem)?;
    Ok(Type { elem, shape, secrecy, frac })
}

fn elem_of(graph: &Graph, rule: ElemRule, args: &[&Type]) -> Result<Elem, String> {
    let numeric = |t: &Type| need(t.elem != Elem::Bit, || "a bit where a number is needed".into());
    let bit = |t: &Type| need(t.elem == Elem::Bit, || "a number where a bit is needed".into());
    let numbers = || args.iter().try_for_each(|t| numeric(t));
    let bits = || args.iter().try_for_each(|t| bit(t));
    let join = || if args.iter().all(|t| t.elem == Elem::Int) { Elem::Int } else { Elem::Fix };
    Ok(match rule {
        ElemRule::Input(i) => graph.inputs[i as usize].elem,
        ElemRule::Is(elem) => elem,
        ElemRule::Number => numbers().map(|()| join())?,
        ElemRule::Real => numbers().map(|()| Elem::Fix)?,
        ElemRule::Test => numbers().map(|()| Elem::Bit)?,
        ElemRule::Bit => bits().map(|()| Elem::Bit)?,
        ElemRule::Count => bits().map(|()| Elem::Int)?,
        ElemRule::Place => numeric(args[0]).map(|()| Elem::Int)?,
        ElemRule::Choice => {
            bit(args[0])?;
            match (args[1].elem, args[2].elem) {
                (Elem::Bit, Elem::Bit) => Elem::Bit,
                (Elem::Int, Elem::Int) => Elem::Int,
                (Elem::Bit, _) | (_, Elem::Bit) => return Err("bits and numbers mixed".into()),
                _ => Elem::Fix,
            }
        }
        ElemRule::First => args[0].elem,
        ElemRule::Alike => {
            if args.iter().all(|t| t.elem == Elem::Bit) {
                Elem::Bit
            } else {
                numbers()?;
                join()
            }
        }
    })
}

/// Scale of the result. Once one operand is scaled, all numeric ones must be.
fn frac_of(
    graph: &Graph,
    rule: ScaleRule,
    args: &[&Type],
    elem: Elem,
) -> Result<Option<u32>, String> {
    let of = |i: usize| args.get(i).and_then(|t| t.frac);
    let same = |from: usize| {
        let a = of(from);
        for b in (from + 1..args.len()).map(of) {
            need(a == b, || format!("scales {a:?} and {b:?} differ"))?;
        }
        Ok::<_, String>(a)
    };
    let frac = match rule {
        ScaleRule::Input(i) => {
            let input = graph.inputs.get(i as usize).ok_or("no such input")?;
            graph.frac.map(|_| graph.input_frac(input))
        }
        ScaleRule::Is(frac) => frac,
        ScaleRule::Grid(frac) => graph.frac.map(|_| frac),
        ScaleRule::Whole => graph.frac.map(|_| 0),
        ScaleRule::First => of(0),
        ScaleRule::Equal => same(0)?,
        ScaleRule::Choice => same(1)?,
        ScaleRule::Product => match (of(0), of(1)) {
            (Some(a), Some(b)) => Some(a + b),
            (None, None) => None,
            (a, b) => return Err(format!("scales {a:?} and {b:?}: one is missing")),
        },
        ScaleRule::Less(by) => match of(0) {
            Some(f) => Some(f.checked_sub(by).ok_or("takes more fraction bits than there are")?),
            None => return Err("truncation before scales are known".into()),
        },
        ScaleRule::More(by) => match of(0) {
            Some(f) => Some(f + by),
            None => return Err("shift before scales are known".into()),
        },
    };
    Ok(if elem == Elem::Bit { None } else { frac })
}
