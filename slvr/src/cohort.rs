//! Whose inputs a circuit is for. By default a member whose inputs cannot be used is as if it had never been there: the
//! program is compiled for the others.

use crate::build::Build;
use crate::error::{Result, refuse};
use crate::notes::{Note, Notes};
use crate::program::Loaded;
use crate::tensors::{self, Missing, Submitted, Values};
use serde_json::{Value, json};
use slvr_circuit::{Circuit, From};
use slvr_compiler::types::PartySet;
use slvr_runtime::party::{self, Replaced};
use slvr_runtime::share::encode::Inputs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What is done about members whose inputs cannot be used: missing, malformed or out of range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalid {
    /// The program is compiled for the others. It runs once more if the parties found it out.
    #[default]
    Exclude,
    /// Zeros stand in for all their inputs.
    Zeros,
}

impl Invalid {
    /// What the parties do.
    pub fn of_run(self) -> party::Invalid {
        match self {
            Invalid::Exclude => party::Invalid::Stop,
            Invalid::Zeros => party::Invalid::Zeros,
        }
    }
}

/// Whether somebody gives an input, in a file whose shapes do not change with those who come.
fn given(from: From) -> bool {
    match from {
        From::Public | From::Each(_) => true,
        From::Present(_) | From::State(_) => false,
    }
}

/// How many of a set.
fn of_all(number: u64, set: &PartySet) -> String {
    format!("{number} of {} of `{}`", set.size, set.name)
}

/// A circuit, and the inputs of those whom it is for.
pub struct Cohort {
    build: Build,
    /// The circuit, with its program if there is one.
    pub loaded: Arc<Loaded>,
    /// Of those who take part.
    pub inputs: Inputs,
    /// By party set of several members: the number that each one has among the files of inputs.
    pub members: Vec<Vec<u64>>,
    /// Who was left out: the party set, the number among the files, and why.
    pub excluded: Vec<(String, u64, String)>,
}

impl Cohort {
    /// Reads what was submitted to a circuit that was loaded so, and leaves out who submitted nothing, unless zeros are to
    /// stand in.
    ///
    /// # Errors
    ///
    /// [`Error::Input`](crate::Error::Input) of public inputs, of a set without any, and of a program that cannot do without
    /// those who are missing; what [`load`](crate::program::load) says of the program for the others.
    pub fn read(
        build: &Build,
        loaded: Loaded,
        dir: &Path,
        values: Values,
        invalid: Invalid,
        notes: Notes<'_>,
    ) -> Result<Cohort> {
        let submitted = tensors::read_submitted(loaded.circuit(), dir, values)?;
        Cohort::new(build, Arc::new(loaded), submitted, invalid, notes)
    }

    /// The same of what was read.
    ///
    /// # Errors
    ///
    /// As [`Cohort::read`].
    pub fn new(
        build: &Build,
        loaded: Arc<Loaded>,
        submitted: Submitted,
        invalid: Invalid,
        notes: Notes<'_>,
    ) -> Result<Cohort> {
        let Submitted { inputs, missing, surplus } = submitted;
        let is_out = invalid == Invalid::Exclude;
        let said = |m: &Missing| if is_out { m.excluded() } else { m.replaced() };
        missing.iter().map(said).chain(surplus).for_each(|note| notes(Note::Note(&note)));
        let numbers = |size: u64| if size > 1 { (0..size).collect() } else { Vec::new() };
        let members = loaded.circuit().parties.iter().map(|set| numbers(set.size)).collect();
        let build = match &*loaded {
            Loaded::Source(source) => build.frozen(&source.checked.sources),
            Loaded::Artifact(_) => build.clone(),
        };
        let excluded = Vec::new();
        let mut cohort = Cohort { build, loaded, inputs, members, excluded };
        if is_out && !missing.is_empty() {
            let out = |m: &Missing| (m.set, m.member, "missing".to_string());
            cohort.exclude(missing.iter().map(out).collect(), notes)?;
        }
        Ok(cohort)
    }

    /// Leaves out those whose inputs the parties found that they cannot use.
    ///
    /// # Errors
    ///
    /// As [`Cohort::read`].
    pub fn without(&mut self, found: &[Replaced], notes: Notes<'_>) -> Result<()> {
        let out: Vec<_> =
            found.iter().map(|r| (r.set as usize, r.member as usize, r.why.to_string())).collect();
        // Before a program for the others is compiled, which may be refused.
        notes(Note::Note(&format!("{}: run again without", self.named(&out))));
        self.exclude(out, notes)
    }

    pub fn circuit(&self) -> &Circuit {
        self.loaded.circuit()
    }

    /// The circuit for the others: by party set and member, who is left out and why.
    fn exclude(&mut self, out: Vec<(usize, usize, String)>, notes: Notes<'_>) -> Result<()> {
        let named = self.named(&out);
        let zeros = "`--invalid zeros` has zeros stand in for their inputs";
        let Loaded::Source(source) = &*self.loaded else {
            refuse!(
                "{named}: {} is compiled for all members and cannot be made for the others: run the program, or {zeros}",
                self.build.file
            );
        };
        let (before, program) = (self.circuit(), &source.checked.program);
        let sets: BTreeSet<usize> = out.iter().map(|(s, ..)| *s).collect();
        if before.states().next().is_some() {
            // Each member keeps its place.
            let reads = |s: usize| before.inputs.iter().any(|i| i.from == From::Present(s as u32));
            if let Some((s, ..)) = out.iter().find(|(s, ..)| !reads(*s)) {
                let set = &program.parties[*s].name;
                refuse!(
                    "{named}: a program with a state keeps a place for each member. Without one it goes on if it reads \
                     who takes part, `input present: public bit from each {set}`; {zeros}"
                );
            }
            for (s, m, why) in out {
                let set = &program.parties[s].name;
                if let Some(inputs) = self.inputs.sets.get_mut(s).and_then(|all| all.get_mut(m)) {
                    inputs.clear();
                }
                self.excluded.push((set.clone(), m as u64, why));
            }
            let nobody = |all: &Vec<_>| !all.is_empty() && all.iter().all(BTreeMap::is_empty);
            if self.inputs.sets.iter().any(nobody) {
                refuse!("{named}: nobody is left");
            }
            self.excluded.sort();
            let left = |s: usize| {
                self.inputs
                    .sets
                    .get(s)
                    .map_or(0, |all| all.iter().filter(|m| !m.is_empty()).count())
            };
            self.warn(&named, sets.iter().map(|&s| (s, left(s) as u64)), notes);
            return Ok(());
        }
        let gone: BTreeSet<(usize, usize)> = out.iter().map(|(s, m, _)| (*s, *m)).collect();
        let mut build = self.build.clone();
        let mut left = Vec::new();
        for &s in &sets {
            let set = &program.parties[s];
            let rest = set.size - gone.iter().filter(|(of, _)| *of == s).count() as u64;
            let shares =
                |name| program.parties.iter().filter(|p| p.named.as_ref() == Some(name)).count();
            let Some(size) = set.named.as_ref().filter(|name| shares(name) == 1) else {
                refuse!(
                    "{named}: `{}` cannot have fewer members, because its size is not a size of this set alone: {zeros}",
                    set.name
                );
            };
            if rest == 0 {
                refuse!("{named}: nobody is left of `{}`", set.name);
            }
            // The encoding is that of numbers from the fewest on.
            if let Some((_, clients)) =
                source.checked.clients.as_ref().filter(|(_, c)| c.size == *size)
                && rest < clients.range.0
            {
                refuse!(
                    "{named}: {} are left, and --clients asks for {} at least; {zeros}",
                    of_all(rest, set),
                    clients.range.0
                );
            }
            build = build.with(size, rest);
            left.push((s, rest));
        }
        let few = || {
            let left: Vec<String> =
                left.iter().map(|&(s, n)| of_all(n, &program.parties[s])).collect();
            format!("{named}: {} are left, for whom this does not compile", left.join(", "))
        };
        // A program that is refused is shown with its own messages alone.
        let loaded =
            source.others.load(&build, notes).inspect_err(|_| notes(Note::Note(&few())))?;
        let after = loaded.circuit();
        let mut both = before.inputs.iter().zip(&after.inputs);
        if let Some((input, _)) = both.find(|(a, b)| given(a.from) && a.shape != b.shape) {
            let name = &input.name;
            match input.from {
                From::Each(s) => {
                    let of: Vec<String> = left
                        .iter()
                        .map(|(s, _)| format!("`{}`", program.parties[*s].name))
                        .collect();
                    refuse!(
                        "{named}: the secret input `{name}` of `{}` has an entry for each member of {}, so nobody can be left \
                         out: {zeros}",
                        before.parties.get(s as usize).map_or("?", |set| &set.name),
                        of.join(" and of ")
                    );
                }
                _ => refuse!(
                    "{named}: the public input `{name}` has an entry for each member: give the inputs of the others alone, or {zeros}"
                ),
            }
        }
        self.warn(&named, left, notes);
        for (s, members) in self.members.iter_mut().enumerate() {
            let stays = |m: &usize| !gone.contains(&(s, *m));
            if let Some(inputs) = self.inputs.sets.get_mut(s).filter(|all| !all.is_empty()) {
                let all = std::mem::take(inputs).into_iter().enumerate();
                *inputs = all.filter(|(m, _)| stays(m)).map(|(_, inputs)| inputs).collect();
            }
            for (set, m, why) in out.iter().filter(|(set, ..)| *set == s) {
                let name = program.parties[*set].name.clone();
                let number = members.get(*m).copied().unwrap_or(0);
                self.excluded.push((name, number, why.clone()));
            }
            let all = std::mem::take(members).into_iter().enumerate();
            *members = all.filter(|(m, _)| stays(m)).map(|(_, number)| number).collect();
        }
        self.excluded.sort();
        (self.build, self.loaded) = (build, loaded);
        Ok(())
    }

    /// Says who is left out, and of each of these sets how many are left: what is revealed is of these alone.
    fn warn(&self, named: &str, left: impl IntoIterator<Item = (usize, u64)>, notes: Notes<'_>) {
        let Loaded::Source(source) = &*self.loaded else { return };
        let sets = &source.checked.program.parties;
        let left: Vec<String> = left.into_iter().map(|(s, n)| of_all(n, &sets[s])).collect();
        notes(Note::Caution(&format!("left out: {named}; {} are left", left.join(", "))));
    }

    /// Those who are left out, in words.
    fn named(&self, out: &[(usize, usize, String)]) -> String {
        let one = |(s, m, why): &(usize, usize, String)| {
            let set = self.circuit().parties.get(*s).map_or("?", |p| &p.name);
            let number = self.members.get(*s).and_then(|all| all.get(*m)).copied().unwrap_or(0);
            format!("{set} {number} ({why})")
        };
        out.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Whether whoever is left out keeps its place, as in a program with a state.
    pub fn keeps_places(&self) -> bool {
        self.circuit().states().next().is_some()
    }

    /// Who was left out, as `--json` has it.
    pub fn excluded_json(&self) -> Value {
        let one = |(set, member, why): &(String, u64, String)| json!({ "set": set, "member": member, "why": why });
        self.excluded.iter().map(one).collect()
    }
}
