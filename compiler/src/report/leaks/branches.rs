//! What reveals say once choices have fallen.
//!
//! A choice reveals each of what it chooses among some of the time, and so does a coin, which everybody sees. What is
//! cut at a bound after a sum is what it was before for some inputs. So the reveals are looked at again with choices
//! made, in each of the ways in which they can fall, together with one another as far as there are few of them.

use super::joint::{Finding, GROUPS, LARGE, Look, System, Way, common};
use super::scalars::{Given, Mode, Point, World, choosing, evaluate, fallen, next};
use super::system::Exposed;
use std::collections::BTreeSet;

/// Worlds that are looked at, with all choices made as far as may be.
const WORLDS: usize = 24;
/// Draws of coins that are tried, and kept because a comparison comes out differently.
const DRAWS: u64 = 256;
const KEPT: usize = 6;

impl Look<'_> {
    /// Sets of reveals that say more of some client in one world than any set of which it is said already.
    pub(super) fn branches(
        &self,
        groups: &mut Vec<BTreeSet<usize>>,
        out: &mut Vec<Finding>,
    ) -> Option<()> {
        let g = self.q.graph;
        let choices = choosing(g, self.q.flows, &self.scalars);
        let coins = self.coins();
        if choices.is_empty() && coins == [None] {
            return Some(());
        }
        let small = self.scalars.all.len() <= LARGE;
        let mut left = if small { WORLDS } else { WORLDS / 4 };
        let before = out.len();
        for coins in coins {
            // Depth first, so that the first worlds are complete ones; each choice alone is among them.
            let mut open = vec![World::new()];
            while let Some(world) = open.pop() {
                if left == 0 || out.len() - before >= GROUPS {
                    return Some(());
                }
                let point = Point { seed: 1, public: Given::Any, coins };
                let of = (Mode::Symbolic, &world);
                let found = evaluate(g, &self.scalars, &self.q.known, &point, of)?;
                if let Some(worlds) = next(g, &self.scalars, &found, &choices, &world) {
                    open.extend(worlds.into_iter().rev());
                    continue;
                }
                left -= 1;
                if world.is_empty() && coins.is_none() {
                    continue;
                }
                let symbolic = self.system_of(found)?;
                while out.len() - before < GROUPS {
                    let systems = |k: u64| {
                        let point = Point { seed: k, public: Given::Any, coins };
                        let of = (Mode::Local, &world);
                        self.system_of(evaluate(g, &self.scalars, &self.q.known, &point, of)?)
                    };
                    let more = self.more(&symbolic, groups)?;
                    let local = if more.is_empty() {
                        self.everywhere(&systems, groups)?
                    } else {
                        Vec::new()
                    };
                    let systems: Vec<&System> =
                        if more.is_empty() { local.iter().collect() } else { vec![&symbolic] };
                    if systems.is_empty() {
                        break;
                    }
                    let finding = self.least(&systems, groups)?;
                    groups.push(finding.outputs.iter().copied().collect());
                    out.push(finding);
                }
            }
        }
        Some(())
    }

    /// Draws of coins in which some comparison comes out differently; none in particular is the first.
    fn coins(&self) -> Vec<Option<u64>> {
        let mut out = vec![None];
        let mut seen = BTreeSet::new();
        let at = |coins| {
            let point = Point { seed: 1, public: Given::Any, coins };
            fallen(self.q.graph, &self.scalars, &point)
        };
        let usual = at(None);
        if usual.is_empty() {
            return out;
        }
        seen.extend(usual);
        let draws = if self.scalars.all.len() > LARGE { DRAWS / 16 } else { DRAWS };
        for draw in 0..draws {
            let found = at(Some(draw));
            if out.len() <= KEPT && found.iter().any(|one| !seen.contains(one)) {
                seen.extend(found);
                out.push(Some(draw));
            }
        }
        out
    }

    /// Who is exposed by all reveals beyond what is said already.
    fn more(&self, system: &System, groups: &[BTreeSet<usize>]) -> Option<Exposed> {
        self.beyond(system, groups, &self.all())
    }

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

    /// The systems of this world at all points, if all of them say more.
    fn everywhere(
        &self,
        system: &dyn Fn(u64) -> Option<System>,
        groups: &[BTreeSet<usize>],
    ) -> Option<Vec<System>> {
        let mut out = Vec::new();
        for k in 0..self.points() {
            let one = system(k)?;
            if self.more(&one, groups)?.is_empty() {
                return Some(Vec::new());
            }
            out.push(one);
        }
        Some(out)
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
