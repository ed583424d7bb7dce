//! Probe: the check itself says how far an attack may go. The malicious ask it in the clear ([`super::super::knowledge::Ask`]):
//! were this update sent by all of them, how large would the loss of the next global model be on their data? They send what
//! makes it largest.
//!
//! Source: the search of Fang, Cao, Jia, Gong, USENIX Security 2020, and of Shejwalkar and Houmansadr, NDSS 2021, for the
//! largest step that a rule accepts, over the directions of both, with the rule itself instead of a condition made for it. So it needs
//! neither names nor closed forms. The malicious are told the updates of the honest, as in full knowledge of those sources.
//!
//! Lines base + t p are tried: with s the sign of the estimated mean u and g the reference, -t s, -t u, g - t s, u - t s and u - t
//! sigma. Beside them, all angles to g at the length of an honest update, and what `fang-trim`, `fang-krum` and
//! `min-max` would send. Steps are [`COARSE`] times apart at first. The best line is tried at finer ones, and what is
//! best in the end is made longer as long as that helps.

use super::super::knowledge::{Ask, Knowledge};
use super::super::vectors::{deviation, dot, norm, plus, times};
use super::{Attack, Insight, fang_krum, fang_trim, min_max};
use rayon::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "probe",
    about: "of many directions and lengths, what the check itself lets do the most harm",
    source: "after Fang et al. 2020, Shejwalkar and Houmansadr 2021",
    insight: Insight::Answers,
    against: "anything",
    updates: Some(updates),
    ..Attack::NONE
};

/// How far apart the first steps are, and how many there are, from the end of the range down.
const COARSE: f64 = 4.0;
const STEPS: i32 = 9;

/// How often the place where a check stops to count is halved.
const HALVINGS: usize = 7;

/// Angles to the reference.
const ANGLES: usize = 12;

/// An update and what it does.
type Found = (f64, Vec<f32>);

/// A line of updates: base + t p, where the largest coordinate of p is 1 in size.
struct Line {
    base: Vec<f32>,
    p: Vec<f32>,
}

impl Line {
    fn new(base: Vec<f32>, p: &[f32]) -> Line {
        let most = p.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let by = if most > 0.0 { 1.0 / f64::from(most) } else { 0.0 };
        Line { base, p: times(p, by) }
    }

    fn at(&self, t: f64) -> Vec<f32> {
        plus(&self.base, t, &self.p)
    }
}

/// What each of these does; the largest first wins.
fn best(ask: &Ask<'_>, all: Vec<(f64, Vec<f32>)>) -> Option<(f64, Found)> {
    let asked: Vec<(f64, Option<f64>, Vec<f32>)> =
        all.into_par_iter().map(|(t, u)| (t, ask(&u), u)).collect();
    let found = asked.into_iter().filter_map(|(t, harm, u)| Some((t, (harm?, u))));
    found.fold(None, |best: Option<(f64, Found)>, next| match best {
        Some(best) if best.1.0 >= next.1.0 => Some(best),
        _ => Some(next),
    })
}

/// The best of coarse steps.
fn coarse(k: &Knowledge<'_>, ask: &Ask<'_>, line: &Line) -> Option<(f64, Found)> {
    let steps = (0..STEPS).map(|i| k.end() / COARSE.powi(i));
    best(ask, steps.map(|t| (t, line.at(t))).collect())
}

/// From a step that is good towards the next coarse one: mostly to where the check stops to count it.
fn fine(ask: &Ask<'_>, line: &Line, (t, found): (f64, Found)) -> Found {
    let (mut low, mut high, mut found) = (t, t * COARSE, found);
    for _ in 0..HALVINGS {
        let middle = f64::sqrt(low * high);
        let update = line.at(middle);
        match ask(&update) {
            Some(harm) if harm >= found.0 => (low, found) = (middle, (harm, update)),
            _ => high = middle,
        }
    }
    found
}

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    search(k, [])
}

/// The update that does the most harm; these are among those that are tried.
pub(super) fn search(
    k: &Knowledge<'_>,
    candidates: impl IntoIterator<Item = Vec<f32>>,
) -> Vec<Vec<f32>> {
    let Some(ask) = k.ask else { return k.own.to_vec() };
    let (s, mean, spread, centre) = (k.direction(), k.estimate(), deviation(k.seen), k.centre());
    let nothing = vec![0.0; mean.len()];
    let (against, away) = (times(&s, -1.0), times(&mean, -1.0));
    let mut lines = vec![
        Line::new(nothing.clone(), &against),
        Line::new(nothing, &away),
        Line::new(mean.clone(), &against),
        Line::new(mean.clone(), &times(&spread, -1.0)),
    ];
    if k.reference.is_some() {
        lines.push(Line::new(centre.clone(), &against));
    }
    let mut found: Option<(f64, Found, &Line)> = None;
    for line in &lines {
        if let Some((t, next)) = coarse(k, ask, line)
            && found.as_ref().is_none_or(|(_, best, _)| next.0 > best.0)
        {
            found = Some((t, next, line));
        }
    }
    let found = found.map(|(t, best, line)| fine(ask, line, (t, best)));
    // Those that are made for something, and turned ones.
    let crafted =
        [fang_trim::drawn(k, &mut k.random(17)), fang_krum::updates(k), min_max::updates(k)];
    let mut all: Vec<(f64, Vec<f32>)> =
        crafted.into_iter().filter_map(|sent| Some((0.0, sent.into_iter().next()?))).collect();
    if let Some((g, n)) = k.plane() {
        let r = k.own.iter().map(|u| norm(u)).fold(0.0, f64::max);
        let turned = |t: f64| plus(&times(&g, r * t.cos()), r * t.sin(), &n);
        let angles = (0..=ANGLES).map(|i| std::f64::consts::PI * i as f64 / ANGLES as f64);
        all.extend(angles.map(|t| (t, turned(t))));
    }
    all.push((0.0, mean.clone()));
    all.extend(candidates.into_iter().map(|update| (0.0, update)));
    let others = best(ask, all).map(|(_, found)| found);
    let found = match (found, others) {
        (Some(a), Some(b)) => Some(if b.0 > a.0 { b } else { a }),
        (a, b) => a.or(b),
    };
    let Some((harm, update)) = found else { return k.own.to_vec() };
    if dot(&update, &update) == 0.0 {
        return k.all(update);
    }
    // Longer, where nothing holds the length.
    let longer = Line::new(vec![0.0; update.len()], &update);
    let size = update.iter().fold(0.0f64, |most, x| most.max(f64::from(x.abs())));
    let steps = (1..=STEPS).map(|i| size * COARSE.powi(i)).filter(|t| *t < COARSE * k.end());
    let longest = best(ask, steps.map(|t| (t, longer.at(t))).collect());
    k.all(match longest {
        Some((t, next)) if next.0 > harm => fine(ask, &longer, (t, next)).1,
        _ => update,
    })
}
