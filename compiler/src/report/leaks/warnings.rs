//! Warnings of reveals, and whose they are: of one kind and the same reveals there is one warning, which names everybody.

use super::combinations::Member;
use super::findings::{LeakKind, LeakWarning};
use super::{rounds, texts};
use std::collections::BTreeMap;

/// Members by their numbers in the program, and their names.
pub(super) type Named = BTreeMap<Member, String>;

/// A warning, and of whom it is.
pub(super) struct Attributed {
    pub(super) warning: LeakWarning,
    /// Whom its text names.
    pub(super) whose: Named,
    /// Of whom the same was found later.
    pub(super) more: Named,
}

impl Attributed {
    pub(super) fn new(warning: LeakWarning, whose: Named) -> Attributed {
        Attributed { warning, whose, more: Named::new() }
    }

    /// Everybody of whom it is.
    pub(super) fn members(&self) -> impl Iterator<Item = Member> {
        self.whose.keys().chain(self.more.keys()).copied()
    }

    fn finished(mut self) -> LeakWarning {
        self.more.retain(|member, _| !self.whose.contains_key(member));
        if !self.more.is_empty() {
            self.warning.why.push_str(&texts::also_of(&self.more));
        }
        self.whose.append(&mut self.more);
        LeakWarning { clients: self.whose.into_values().collect(), ..self.warning }
    }
}

/// Warnings, each kind once for the same reveals.
#[derive(Default)]
pub(super) struct Warnings {
    /// By kind, and by names of reveals in any round.
    places: BTreeMap<(LeakKind, Vec<String>), usize>,
    all: Vec<Attributed>,
}

impl Warnings {
    /// What holds in the next round, of another part or for another member, too, adds those of whom it is.
    pub(super) fn add(&mut self, told: Attributed) {
        let any = |name: &String| rounds::of_any(name).to_string();
        let mut names: Vec<String> = told.warning.reveals.iter().map(any).collect();
        names.sort_unstable();
        let next = self.all.len();
        let place = *self.places.entry((told.warning.kind, names)).or_insert(next);
        match self.all.get_mut(place) {
            Some(same) => same.more.extend(told.whose.into_iter().chain(told.more)),
            None => self.all.push(told),
        }
    }

    pub(super) fn into_attributed(self) -> Vec<Attributed> {
        self.all
    }

    pub(super) fn finished(self) -> Vec<LeakWarning> {
        self.all.into_iter().map(Attributed::finished).collect()
    }
}
