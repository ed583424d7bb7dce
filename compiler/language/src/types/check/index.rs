//! Integers known at compile time up to loop variables: arithmetic, and what values they take.
//!
//! Where the interval of an index is too coarse (`x[i - j]` under `j <= i`), every choice of the loop variables that
//! matter is tried in turn.

use super::value::Loop;
use crate::types::number::NumberError;
use crate::types::{Cond, Domain, Index, IndexOp, VarId};
use std::ops::ControlFlow;

/// At most this many choices of loop variables are tried for one question.
const BUDGET: u64 = 1 << 24;

/// `a op b` on numbers; division and remainder round towards minus infinity.
pub(super) fn arith(op: IndexOp, a: i64, b: i64) -> Result<i64, NumberError> {
    let division = matches!(op, IndexOp::Div | IndexOp::Rem);
    if division && b == 0 {
        return Err(NumberError::DivisionByZero);
    }
    op.apply(a, b).ok_or(NumberError::TooLarge)
}

/// `a op b`, folded where both are numbers or one is neutral.
pub(super) fn combine(op: IndexOp, a: Index, b: Index) -> Result<Index, NumberError> {
    Ok(match (op, a, b) {
        (op, Index::Const(a), Index::Const(b)) => Index::Const(arith(op, a, b)?),
        (IndexOp::Div | IndexOp::Rem, _, Index::Const(0)) => {
            return Err(NumberError::DivisionByZero);
        }
        (IndexOp::Add | IndexOp::Sub, a, Index::Const(0)) => a,
        (IndexOp::Add, Index::Const(0), b) => b,
        (IndexOp::Mul | IndexOp::Div, a, Index::Const(1)) => a,
        (IndexOp::Mul, Index::Const(1), b) => b,
        (op, a, b) => Index::Binary(op, Box::new(a), Box::new(b)),
    })
}

/// Values of loop variables, outermost first.
#[derive(Default)]
pub(super) struct Assign(Vec<(VarId, i64)>);

impl Assign {
    fn get(&self, var: VarId) -> i64 {
        self.0.iter().rev().find(|(v, _)| *v == var).map_or(0, |(_, x)| *x)
    }

    /// The values chosen, outermost first.
    pub fn values(&self) -> &[(VarId, i64)] {
        &self.0
    }
}

/// The value of an index. A division by zero gives 0: [`divisor_may_vanish`] finds it.
pub(super) fn eval(index: &Index, at: &Assign) -> i64 {
    match index {
        Index::Const(c) => *c,
        Index::Var(v) => at.get(*v),
        Index::Binary(op, a, b) => arith(*op, eval(a, at), eval(b, at)).unwrap_or(0),
    }
}

pub(super) fn holds(cond: &Cond, at: &Assign) -> bool {
    match cond {
        Cond::Compare(op, a, b) => op.holds(eval(a, at), eval(b, at)),
        Cond::Not(a) => !holds(a, at),
        Cond::And(a, b) => holds(a, at) && holds(b, at),
        Cond::Or(a, b) => holds(a, at) || holds(b, at),
    }
}

/// Variables of an index.
pub(super) fn index_vars(index: &Index) -> Vec<VarId> {
    match index {
        Index::Const(_) => Vec::new(),
        Index::Var(v) => vec![*v],
        Index::Binary(_, a, b) => [index_vars(a), index_vars(b)].concat(),
    }
}

/// Variables of a condition.
pub(super) fn cond_vars(cond: &Cond) -> Vec<VarId> {
    match cond {
        Cond::Compare(_, a, b) => [index_vars(a), index_vars(b)].concat(),
        Cond::Not(a) => cond_vars(a),
        Cond::And(a, b) | Cond::Or(a, b) => [cond_vars(a), cond_vars(b)].concat(),
    }
}

/// Variables that decide which values a loop runs over.
fn loop_vars(l: &Loop) -> Vec<VarId> {
    let mut out = match &l.domain {
        Domain::Range(a, b) => [index_vars(a), index_vars(b)].concat(),
        // Whose committee it is does not change which values are possible.
        Domain::Set(_) | Domain::Sampled { .. } => Vec::new(),
    };
    out.extend(l.cond.iter().flat_map(cond_vars));
    out
}

/// The loops that matter to these variables: theirs, those that these depend on, and those that
/// restrict them by a bound or a condition.
fn relevant<'a>(loops: &'a [Loop], vars: &[VarId]) -> Vec<&'a Loop> {
    let mut wanted = vars.to_vec();
    let mut chosen = vec![false; loops.len()];
    loop {
        let mut grown = false;
        for (l, chosen) in loops.iter().zip(&mut chosen) {
            let mentions = loop_vars(l);
            if !*chosen && (wanted.contains(&l.var) || mentions.iter().any(|v| wanted.contains(v)))
            {
                *chosen = true;
                grown = true;
                wanted.push(l.var);
                wanted.extend(mentions);
            }
        }
        if !grown {
            break;
        }
    }
    loops.iter().zip(chosen).filter(|(_, c)| *c).map(|(l, _)| l).collect()
}

/// First and one past the last value of a loop.
fn bounds(l: &Loop, at: &Assign) -> (i64, i64) {
    match &l.domain {
        Domain::Range(a, b) => (eval(a, at), eval(b, at)),
        Domain::Set(_) | Domain::Sampled { .. } => (0, l.members as i64),
    }
}

/// Calls `f` for every choice of the loop variables that matter to `vars`, until it breaks. `None`
/// if there are too many to try.
pub(super) fn for_each_choice<B>(
    loops: &[Loop],
    vars: &[VarId],
    mut f: impl FnMut(&Assign) -> ControlFlow<B>,
) -> Option<ControlFlow<B>> {
    fn go<B>(
        loops: &[&Loop],
        at: &mut Assign,
        left: &mut u64,
        f: &mut dyn FnMut(&Assign) -> ControlFlow<B>,
    ) -> Option<ControlFlow<B>> {
        let Some((first, rest)) = loops.split_first() else {
            return Some(f(at));
        };
        let (lo, hi) = bounds(first, at);
        for i in lo..hi {
            *left = left.checked_sub(1)?;
            at.0.push((first.var, i));
            let flow = match &first.cond {
                Some(c) if !holds(c, at) => Some(ControlFlow::Continue(())),
                _ => go(rest, at, left, f),
            };
            at.0.pop();
            match flow {
                Some(ControlFlow::Continue(())) => {}
                other => return other,
            }
        }
        Some(ControlFlow::Continue(()))
    }
    go(&relevant(loops, vars), &mut Assign::default(), &mut { BUDGET }, &mut f)
}

/// How an index leaves its bounds.
#[derive(Debug, PartialEq)]
pub(super) enum Outside {
    /// With this value, for these values of loop variables.
    At(i64, Vec<(VarId, i64)>),
    /// There are too many cases to try.
    Unknown,
}

/// Checks `0 <= index < size` for all values of the enclosing loops.
pub(super) fn within(index: &Index, size: u64, loops: &[Loop]) -> Result<(), Outside> {
    let size = size.min(i64::MAX as u64) as i64;
    let flow = for_each_choice(loops, &index_vars(index), |at| {
        let i = eval(index, at);
        if i >= 0 && i < size {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(Outside::At(i, at.values().to_vec()))
        }
    });
    match flow {
        Some(ControlFlow::Continue(())) => Ok(()),
        Some(ControlFlow::Break(outside)) => Err(outside),
        None => Err(Outside::Unknown),
    }
}

/// Whether a divisor can be zero for some values of the enclosing loops.
pub(super) fn divisor_may_vanish(index: &Index, loops: &[Loop]) -> bool {
    let flow = for_each_choice(loops, &index_vars(index), |at| match eval(index, at) {
        0 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    !matches!(flow, Some(ControlFlow::Continue(())))
}

/// Whether a condition has the same value for all values of the enclosing loops, and which.
pub(super) fn decided(cond: &Cond, loops: &[Loop]) -> Option<bool> {
    let mut seen = None;
    let flow = for_each_choice(loops, &cond_vars(cond), |at| {
        let now = holds(cond, at);
        match seen.replace(now) {
            Some(before) if before != now => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })?;
    if flow.is_continue() { seen } else { None }
}

/// Smallest and largest number of entries of a comprehension over all values of the enclosing
/// loops; `None` if there are too many cases to try.
pub(super) fn count_entries(gens: &[Loop], outer: &[Loop]) -> Option<(u64, u64)> {
    let inner: Vec<VarId> = gens.iter().map(|g| g.var).collect();
    let mut vars: Vec<VarId> = gens.iter().flat_map(loop_vars).collect();
    vars.retain(|v| !inner.contains(v));
    let mut left = BUDGET;
    let mut range: Option<(u64, u64)> = None;
    let flow = for_each_choice(outer, &vars, |at| {
        let mut at = Assign(at.values().to_vec());
        match entries(gens, &mut at, &mut left) {
            Some(n) => {
                let (lo, hi) = range.unwrap_or((n, n));
                range = Some((lo.min(n), hi.max(n)));
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    })?;
    if flow.is_break() {
        return None;
    }
    // No choice of the enclosing variables at all: nothing is ever evaluated.
    Some(range.unwrap_or((0, 0)))
}

fn entries(gens: &[Loop], at: &mut Assign, left: &mut u64) -> Option<u64> {
    let Some((first, rest)) = gens.split_first() else {
        return Some(1);
    };
    // Of a committee it is known how many members it has, not which.
    let (lo, hi) = match &first.domain {
        Domain::Sampled { count, .. } => (0, i64::try_from(*count).ok()?),
        _ => bounds(first, at),
    };
    if first.cond.is_none() && !rest.iter().any(|g| loop_vars(g).contains(&first.var)) {
        let n = u64::try_from(hi.checked_sub(lo)?).unwrap_or(0);
        return n.checked_mul(entries(rest, at, left)?);
    }
    let mut total = 0u64;
    for i in lo..hi {
        *left = left.checked_sub(1)?;
        at.0.push((first.var, i));
        let counts = first.cond.as_ref().is_none_or(|c| holds(c, at));
        let more = if counts { entries(rest, at, left) } else { Some(0) };
        at.0.pop();
        total = total.checked_add(more?)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::BinOp;

    fn range(var: u32, lo: Index, hi: Index, cond: Option<Cond>) -> Loop {
        Loop { var: VarId(var), domain: Domain::Range(lo, hi), members: 0, cond, steps: false }
    }

    #[test]
    fn division_rounds_down() {
        assert_eq!(arith(IndexOp::Div, -7, 2), Ok(-4));
        assert_eq!(arith(IndexOp::Rem, -7, 2), Ok(1));
        assert_eq!(arith(IndexOp::Div, 7, -2), Ok(-4));
        assert_eq!(arith(IndexOp::Rem, 7, -2), Ok(-1));
        assert_eq!(arith(IndexOp::Div, 7, 0), Err(NumberError::DivisionByZero));
        assert_eq!(arith(IndexOp::Mul, i64::MAX, 2), Err(NumberError::TooLarge));
    }

    #[test]
    fn a_condition_keeps_an_index_inside() {
        let (i, j) = (Index::Var(VarId(0)), Index::Var(VarId(1)));
        let minus = Index::Binary(IndexOp::Sub, Box::new(i.clone()), Box::new(j.clone()));
        let outer = range(0, Index::Const(0), Index::Const(5), None);
        let free = range(1, Index::Const(0), Index::Const(5), None);
        let below = range(
            1,
            Index::Const(0),
            Index::Const(5),
            Some(Cond::Compare(BinOp::Le, j.clone(), i.clone())),
        );
        assert_eq!(within(&minus, 5, &[outer.clone(), below]), Ok(()));
        let found = within(&minus, 5, &[outer, free]);
        assert_eq!(found, Err(Outside::At(-1, vec![(VarId(0), 0), (VarId(1), 1)])));
    }

    #[test]
    fn entries_are_counted_over_all_outer_values() {
        let i = Index::Var(VarId(0));
        let outer = [range(0, Index::Const(0), Index::Const(4), None)];
        let triangle = [range(1, Index::Const(0), i.clone(), None)];
        assert_eq!(count_entries(&triangle, &outer), Some((0, 3)));
        let others = [range(
            1,
            Index::Const(0),
            Index::Const(4),
            Some(Cond::Compare(BinOp::Ne, Index::Var(VarId(1)), i)),
        )];
        assert_eq!(count_entries(&others, &outer), Some((3, 3)));
        let huge = [range(1, Index::Const(0), Index::Const(1 << 40), None)];
        assert_eq!(count_entries(&huge, &outer), Some((1 << 40, 1 << 40)));
    }
}
