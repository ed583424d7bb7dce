//! What reveals say once choices have fallen.
//!
//! A choice reveals each of what it chooses among some of the time, and so does a coin, which everybody sees. What is
//! cut at a bound after a sum is what it was before for some inputs. So the reveals are looked at again with choices
//! made, in each of the ways in which they can fall, together with one another as far as there are few of them.

use super::joint::{Finding, GROUPS, Look, System, Way, common};
use super::scalars::{Coins, Evaluated, Given, Mode, Point, World, choosing, evaluate, next};
use super::system::Exposed;
use std::collections::BTreeSet;

/// Numbers that are evaluated in all worlds together, and how many evaluations that may at least and at most be.
const NUMBERS: usize = 1 << 16;
const FEWEST: usize = 8;
const MOST: usize = 96;
/// Draws of coins that are tried, and kept because a comparison comes out differently.
const DRAWS: u64 = 256;
const KEPT: usize = 6;

/// Points at which choices fall as in a world, so that these are enough.
const AGREE: usize = 3;

/// A world that is still to be looked at.
struct Open {
    /// How many of its choices do not fall in the first way.
    otherwise: usize,
    coins: Option<u64>,
    world: World,
}

impl Look<'_> {
    /// Sets of reveals that say more of some client in one world than any set of which it is said already. In a program
    /// that is too large to be looked at in some world, what was found so far stays.
    pub(super) fn branches(&self, groups: &mut Vec<BTreeSet<usize>>, out: &mut Vec<Finding>) {
        let choices = choosing(self.q.graph, self.q.flows, &self.scalars);
        let coins = self.coins();
        if choices.is_empty() && coins == [None] {
            return;
        }
        let before = out.len();
        let mut left = (NUMBERS / self.scalars.all.len().max(1)).clamp(FEWEST, MOST);
        // First the worlds in which few choices fall otherwise than in the first one.
        let start = |coins| Open { otherwise: 0, coins, world: World::new() };
        let mut open: Vec<Open> = coins.into_iter().rev().map(start).collect();
        while let Some(at) = (0..open.len()).rev().min_by_key(|&k| open[k].otherwise) {
            let Open { otherwise, coins, world } = open.swap_remove(at);
            if left == 0 || out.len() - before >= GROUPS {
                return;
            }
            left -= 1;
            let point = Point { seed: 1, public: Given::Any, coins };
            let of = (Mode::Symbolic, &world);
            let Some(found) = evaluate(self.q.graph, &self.scalars, &self.q.known, &point, of)
            else {
                return;
            };
            let worlds = next(self.q.graph, &self.scalars, &found, &choices, &world);
            if let Some(worlds) = worlds {
                let each = (0..).zip(worlds);
                open.extend(each.map(|(k, world): (usize, _)| Open {
                    otherwise: otherwise + k.min(1),
                    coins,
                    world,
                }));
                continue;
            }
            // Of what is as it was, all is said.
            let usual = world.is_empty() && coins.is_none();
            if !usual && self.world(found, (coins, &world), &mut left, groups, out).is_none() {
                return;
            }
        }
    }

    /// The same in one world, of which this is the symbolic evaluation.
    fn world(
        &self,
        found: Evaluated,
        (coins, world): (Option<u64>, &World),
        left: &mut usize,
        groups: &mut Vec<BTreeSet<usize>>,
        out: &mut Vec<Finding>,
    ) -> Option<()> {
        let symbolic = self.system_of(found)?;
        for _ in 0..self.all().len().min(GROUPS) {
            let local = |seed: u64| {
                let point = Point { seed, public: Given::Any, coins };
                let of = (Mode::Local, world);
                let found = evaluate(self.q.graph, &self.scalars, &self.q.known, &point, of)?;
                Some((found.agrees, self.system_of(found)?))
            };
            let all = self.all();
            let mut systems = Vec::new();
            if self.beyond(&symbolic, groups, &all)?.is_empty() {
                // What is not linear tells of somebody only if it does so at all points: where there are enough of
                // them, at those at which the choices fall in this way. A root of what a choice cuts off, say, stands
                // still elsewhere.
                let mut elsewhere = Vec::new();
                for seed in 0..self.points() {
                    *left = left.saturating_sub(1);
                    let (agrees, one) = local(seed)?;
                    let tells = !self.beyond(&one, groups, &all)?.is_empty();
                    match (agrees, tells) {
                        (true, false) => return Some(()),
                        (true, true) => systems.push(one),
                        (false, _) => elsewhere.push((tells, one)),
                    }
                }
                if systems.len() < AGREE {
                    if !elsewhere.iter().all(|(tells, _)| *tells) {
                        return Some(());
                    }
                    systems.extend(elsewhere.into_iter().map(|(_, one)| one));
                }
            }
            let of: Vec<&System> =
                if systems.is_empty() { vec![&symbolic] } else { systems.iter().collect() };
            let finding = self.least(&of, groups)?;
            groups.push(finding.outputs.iter().copied().collect());
            out.push(finding);
        }
        Some(())
    }

    /// Draws of coins in which some comparison comes out differently; none in particular is the first.
    fn coins(&self) -> Vec<Option<u64>> {
        let (mut out, mut seen) = (vec![None], BTreeSet::new());
        let all = Coins::of(self.q.graph, &self.scalars);
        let at = |coins| all.fall(&Point { seed: 1, public: Given::Any, coins });
        seen.extend(at(None));
        let draws = if seen.is_empty() {
            0
        } else if self.large() {
            DRAWS / 16
        } else {
            DRAWS
        };
        for draw in 0..draws {
            let found = at(Some(draw));
            if out.len() <= KEPT && found.iter().any(|one| !seen.contains(one)) {
                seen.extend(found);
                out.push(Some(draw));
            }
        }
        out
    }

    /// Who is exposed by these reveals beyond what is said already.
    fn beyond(
        &self,
        system: &System,
        groups: &[BTreeSet<usize>],
        outputs: &BTreeSet<usize>,
    ) -> Option<Exposed> {
        let mut found = self.nearly_of(system, outputs)?;
        if found.is_empty() {
            return Some(found);
        }
        for group in groups {
            let said = self.nearly_of(system, group)?;
            found.retain(|m, n| said.get(m).is_none_or(|k| k < n));
        }
        Some(found)
    }

    /// As few reveals as say more in all of these.
    fn least(&self, systems: &[&System], groups: &[BTreeSet<usize>]) -> Option<Finding> {
        let of = |outputs: &BTreeSet<usize>| -> Option<Vec<Exposed>> {
            systems.iter().map(|s| self.beyond(s, groups, outputs)).collect()
        };
        let mut needed = self.all();
        let mut found = of(&needed)?;
        for o in self.all() {
            let mut fewer = needed.clone();
            fewer.remove(&o);
            let left = of(&fewer)?;
            if left.iter().all(|f| !f.is_empty()) {
                (needed, found) = (fewer, left);
            }
        }
        Some(Finding {
            way: Way::Branch,
            outputs: needed.into_iter().collect(),
            members: common(&found),
            linear: false,
            nearly: false,
        })
    }
}
