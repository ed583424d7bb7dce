//! The steps of a party that hands ranges over, and those of each range.

use super::assign::{instrs, reads};
use super::{Range, first, ranges};
use crate::plan::{Handed, LayerPlan, Place, Step, drops, instr, undropped};
use crate::speculation::Speculation;
use crate::{Circuit, Instr, ValueId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Who computes what of a circuit, and when. The same at all parties.
#[derive(Clone, Debug, Serialize)]
pub struct Division {
    pub ranges: Vec<Range>,
    /// The party's own steps, by layer. It hands over a range as soon as it has what that reads, and takes it back right
    /// before the first step that reads of it.
    pub party: Vec<LayerPlan>,
    /// The steps of each range, by layer, from 0 on.
    pub workers: Vec<Vec<LayerPlan>>,
}

impl Division {
    /// Of a verified circuit.
    pub fn of(circuit: &Circuit) -> Division {
        let mut ranges = ranges(circuit);
        let mut plans = undropped(circuit);
        let start = first(circuit);
        finish_before(&mut plans, start);
        let workers = ranges.iter().map(|range| {
            let mine: BTreeSet<Place> = range.instrs.iter().copied().collect();
            worker(circuit, range, selected(circuit, &plans, &|place| mine.contains(&place)))
        });
        let workers = workers.collect();
        let mine = own(circuit, &ranges);
        let mut party = selected(circuit, &plans, &|place| mine.contains(&place));
        hand_over(circuit, start, &mut ranges, &mut party);
        let part = Speculation::of(circuit);
        let handed: Vec<Handed<'_>> = ranges.iter().map(|range| handed(circuit, range)).collect();
        let party = drops(circuit, part.as_ref(), &handed, party);
        Division { ranges, party, workers }
    }
}

fn handed<'a>(circuit: &Circuit, range: &'a Range) -> Handed<'a> {
    let Range { reads, writes, instrs, .. } = range;
    let made = instrs.iter().filter_map(|&place| instr(circuit, place).out);
    Handed { reads, writes, made: made.collect() }
}

/// What the party evaluates itself: what no range does, and what that or a range reads of local instructions that others
/// evaluate for themselves.
fn own(circuit: &Circuit, ranges: &[Range]) -> BTreeSet<Place> {
    let elsewhere: BTreeSet<Place> = ranges.iter().flat_map(|r| &r.instrs).copied().collect();
    let taken: BTreeSet<ValueId> = ranges.iter().flat_map(|r| &r.writes).copied().collect();
    let all = instrs(circuit, 0..circuit.layers.len());
    let makers: BTreeMap<ValueId, Place> =
        all.filter_map(|(place, i)| Some((i.out?, place))).collect();
    let all = instrs(circuit, 0..circuit.layers.len()).map(|(place, _)| place);
    let mut own: BTreeSet<Place> = all.filter(|place| !elsewhere.contains(place)).collect();
    own.extend(ranges.iter().flat_map(|r| &r.prepared));
    let mut todo: Vec<Place> = own.iter().copied().collect();
    while let Some(place) = todo.pop() {
        for v in reads(instr(circuit, place)).iter().filter(|v| !taken.contains(v)) {
            todo.extend(makers.get(v).filter(|&&place| own.insert(place)));
        }
    }
    own
}

/// Where an instruction of a step of a layer is; none of what is no instruction.
fn place(circuit: &Circuit, layer: usize, step: Step) -> Option<Place> {
    let sent = |layer: usize, j| Place { layer, at: circuit.layers[layer].local.len() + j };
    match step {
        Step::Local(at) => Some(Place { layer, at }),
        Step::Send(j) => Some(sent(layer, j)),
        Step::Finish { layer, exchange } => Some(sent(layer, exchange)),
        Step::Ahead(place) => Some(place),
        Step::Drop(_) | Step::Give(_) | Step::Take(_) => None,
    }
}

/// The layer before `start` finishes all of its messages itself.
fn finish_before(plans: &mut [LayerPlan], start: usize) {
    let Some(before) = start.checked_sub(1) else { return };
    let late = |step: &Step| matches!(step, Step::Finish { layer, .. } if *layer == before);
    let Some(plan) = plans.get_mut(start) else { return };
    let moved: Vec<Step> = plan.steps.extract_if(.., |step| late(step)).collect();
    plans[before].steps.extend(moved);
}

/// The steps of some instructions.
fn selected(circuit: &Circuit, plans: &[LayerPlan], is: &dyn Fn(Place) -> bool) -> Vec<LayerPlan> {
    let each = plans.iter().enumerate().map(|(l, plan)| {
        let steps = plan.steps.iter().copied().filter(|&s| place(circuit, l, s).is_some_and(is));
        let sent = |j: &usize| place(circuit, l, Step::Send(*j)).is_some_and(is);
        LayerPlan {
            steps: steps.collect(),
            order: plan.order.iter().copied().filter(sent).collect(),
        }
    });
    each.collect()
}

/// The steps of a range: all messages of its last layer are finished there, and values are dropped once nothing reads them,
/// but for what is read elsewhere.
fn worker(circuit: &Circuit, range: &Range, mut plans: Vec<LayerPlan>) -> Vec<LayerPlan> {
    let end = plans.iter().rposition(|p| p.steps.iter().any(|s| !matches!(s, Step::Finish { .. })));
    let count = end.map_or(0, |l| l + 1);
    let late: Vec<Step> = plans.drain(count..).flat_map(|p| p.steps).collect();
    plans.iter_mut().rev().take(1).for_each(|last| last.steps.extend(&late));
    let keeps: BTreeSet<ValueId> = range.writes.iter().copied().collect();
    let mut seen: BTreeSet<ValueId> = BTreeSet::new();
    for (l, plan) in plans.iter_mut().enumerate().rev() {
        let mut steps = Vec::new();
        for &step in plan.steps.iter().rev() {
            let of = place(circuit, l, step).map(|place| instr(circuit, place));
            let touched = of.into_iter().flat_map(|i| touched(i, step).into_iter().chain(i.out));
            let touched: BTreeSet<ValueId> = touched.collect();
            let last = touched.iter().rev().filter(|v| !seen.contains(v) && !keeps.contains(v));
            steps.extend(last.map(|&v| Step::Drop(v)));
            steps.push(step);
            seen.extend(&touched);
        }
        steps.reverse();
        plan.steps = steps;
    }
    plans
}

/// What a step reads.
fn touched(instr: &Instr, step: Step) -> Vec<ValueId> {
    let again = instr.op.interaction().is_some_and(|i| i.rereads);
    match step {
        Step::Finish { .. } if !again => Vec::new(),
        _ => reads(instr),
    }
}

/// A place among the steps: before step .1 of layer .0.
type Moment = (usize, usize);

/// Puts in when ranges are handed over and taken back, and evaluates ahead for them what would come later.
fn hand_over(circuit: &Circuit, start: usize, ranges: &mut [Range], plans: &mut [LayerPlan]) {
    let Moments { given, taken, reads_of } = Moments::of(circuit, start, ranges, plans);
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_by_key(|&n| (given[n], n));
    let mut put: BTreeMap<Moment, Vec<Step>> = BTreeMap::new();
    let (mut done, mut ahead) = (BTreeSet::new(), BTreeSet::new());
    for &n in &order {
        let steps = put.entry(given[n]).or_default();
        for &before in reads_of[n].iter().filter(|&&before| taken[before] >= given[n]) {
            if done.insert(before) {
                steps.push(Step::Take(before));
            }
        }
        // What comes before this anyway stays where it is.
        let late = |place: &Place| {
            let step = Step::Local(place.at);
            let at = plans[place.layer].steps.iter().position(|&s| s == step);
            at.is_some_and(|s| (place.layer, s) >= given[n])
        };
        let new = ranges[n].prepared.iter().copied().filter(|place| late(place));
        let new: Vec<Place> = new.filter(|&place| ahead.insert(place)).collect();
        steps.extend(new.iter().map(|&place| Step::Ahead(place)));
        steps.push(Step::Give(n));
        ranges[n].prepared = new;
    }
    for (n, &at) in taken.iter().enumerate().filter(|(n, _)| !done.contains(n)) {
        put.entry(at).or_default().push(Step::Take(n));
    }
    for (l, plan) in plans.iter_mut().enumerate() {
        let steps = std::mem::take(&mut plan.steps);
        let count = steps.len();
        for (s, step) in steps.into_iter().map(Some).chain([None]).enumerate() {
            plan.steps.extend(put.remove(&(l, s)).into_iter().flatten());
            let moved = |step: &Step| place(circuit, l, *step).is_some_and(|p| ahead.contains(&p));
            plan.steps.extend(step.filter(|step| !moved(step)));
        }
        debug_assert!(put.keys().all(|&(at, s)| at > l || s > count), "every moment is one");
    }
}

/// When ranges are handed over and taken back.
struct Moments {
    /// When what a range needs is there.
    given: Vec<Moment>,
    /// Before the first step that reads of it.
    taken: Vec<Moment>,
    /// The ranges that it, or what is evaluated for it, reads of.
    reads_of: Vec<BTreeSet<usize>>,
}

impl Moments {
    fn of(circuit: &Circuit, start: usize, ranges: &[Range], plans: &[LayerPlan]) -> Self {
        let end = plans.last().map_or((0, 0), |p| (plans.len() - 1, p.steps.len()));
        let mut out = Moments {
            given: vec![(start, 0); ranges.len()],
            taken: vec![end; ranges.len()],
            reads_of: vec![BTreeSet::new(); ranges.len()],
        };
        let (mut needs, mut writes) = (BTreeMap::<_, Vec<usize>>::new(), BTreeMap::new());
        let mut prepared: BTreeSet<Place> = BTreeSet::new();
        for (n, range) in ranges.iter().enumerate() {
            writes.extend(range.writes.iter().map(|&v| (v, n)));
            let ahead = range.prepared.iter().flat_map(|&p| instr(circuit, p).op.operands());
            for v in range.reads.iter().copied().chain(ahead) {
                needs.entry(v).or_default().push(n);
                out.reads_of[n].extend(writes.get(&v));
            }
            prepared.extend(&range.prepared);
        }
        for (l, plan) in plans.iter().enumerate() {
            for (s, &step) in plan.steps.iter().enumerate() {
                let Some(at) = place(circuit, l, step) else { continue };
                let instr = instr(circuit, at);
                for &n in touched(instr, step).iter().filter_map(|v| writes.get(v)) {
                    out.taken[n] = out.taken[n].min((l, s));
                }
                let defines = instr.out.filter(|_| !matches!(step, Step::Send(_)));
                let defines = defines.filter(|_| !prepared.contains(&at));
                for &n in defines.and_then(|v| needs.get(&v)).into_iter().flatten() {
                    out.given[n] = out.given[n].max((l, s + 1));
                }
            }
        }
        // One that reads of another comes after it.
        for n in 0..ranges.len() {
            for &before in &out.reads_of[n] {
                out.given[n] = out.given[n].max(out.given[before]);
            }
        }
        out
    }
}
