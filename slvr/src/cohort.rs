//! Whose inputs a circuit is for. By default a member whose inputs cannot be used is as if it had never been there: the
//! program is compiled for the others.

use crate::build::Build;
use crate::error::{Result, refuse};
use crate::notes::{Note, Notes};
use crate::program::{Loaded, Source};
use crate::tensors::{self, Missing, Submitted, Values};
use serde_json::{Value, json};
use slvr_circuit::{Circuit, From};
use slvr_compiler::types::{PartySet, Program};
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

/// Who is left out: the party set, the member of it, and why.
type Out = (usize, usize, String);

const ZEROS: &str = "`--invalid zeros` has zeros stand in for their inputs";

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
    /// Reads what was submitted to a circuit that was loaded so, and leaves out who submitted nothing, unless zeros are
    /// to stand in.
    ///
    /// # Errors
    ///
    /// [`Error::Input`](crate::Error::Input) of public inputs, of a set without any, and of a program that cannot do
    /// without those who are missing; what [`load`](crate::program::load) says of the program for the others.
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

    /// Goes on with the others.
    fn exclude(&mut self, out: Vec<Out>, notes: Notes<'_>) -> Result<()> {
        let named = self.named(&out);
        let loaded = Arc::clone(&self.loaded);
        let Loaded::Source(source) = &*loaded else {
            refuse!(
                "{named}: {} is compiled for all members and cannot be made for the others: run the program, or {ZEROS}",
                self.build.file
            );
        };
        match self.keeps_places() {
            true => self.empty_places(&source.checked.program, &named, out, notes),
            false => self.for_others(source, &named, out, notes),
        }
    }

    /// The same circuit, in which places stay empty.
    fn empty_places(
        &mut self,
        program: &Program,
        named: &str,
        out: Vec<Out>,
        notes: Notes<'_>,
    ) -> Result<()> {
        let inputs = &self.circuit().inputs;
        let reads = |s: usize| inputs.iter().any(|i| i.from == From::Present(s as u32));
        if let Some((s, ..)) = out.iter().find(|(s, ..)| !reads(*s)) {
            let set = &program.parties[*s].name;
            refuse!(
                "{named}: a program with a state keeps a place for each member. Without one it goes on if it reads \
                 who takes part, `input present: public bit from each {set}`; {ZEROS}"
            );
        }
        let sets: BTreeSet<usize> = out.iter().map(|(s, ..)| *s).collect();
        for (s, m, why) in out {
            if let Some(inputs) = self.inputs.sets.get_mut(s).and_then(|all| all.get_mut(m)) {
                inputs.clear();
            }
            self.excluded.push((program.parties[s].name.clone(), m as u64, why));
        }
        self.excluded.sort();
        let nobody = |all: &Vec<_>| !all.is_empty() && all.iter().all(BTreeMap::is_empty);
        if self.inputs.sets.iter().any(nobody) {
            refuse!("{named}: nobody is left");
        }
        let left = |s: &usize| {
            let all = self.inputs.sets.get(*s).into_iter().flatten();
            (*s, all.filter(|m| !m.is_empty()).count() as u64)
        };
        warn(program, named, sets.iter().map(left), notes);
        Ok(())
    }

    /// The circuit that the program has for the others alone.
    fn for_others(
        &mut self,
        source: &Source,
        named: &str,
        out: Vec<Out>,
        notes: Notes<'_>,
    ) -> Result<()> {
        let program = &source.checked.program;
        let left = left(source, named, &out)?;
        let sized = left.iter().fold(self.build.clone(), |b, (_, size, n)| b.with(size, *n));
        let left = || left.iter().map(|(s, _, n)| (*s, *n));
        let few = || {
            let left: Vec<String> = left().map(|(s, n)| of_all(n, &program.parties[s])).collect();
            format!("{named}: {} are left, for whom this does not compile", left.join(", "))
        };
        // A program that is refused is shown with its own messages alone.
        let loaded =
            source.others.load(&sized, notes).inspect_err(|_| notes(Note::Note(&few())))?;
        let names: Vec<&str> = left().map(|(s, _)| program.parties[s].name.as_str()).collect();
        same_files(self.circuit(), loaded.circuit(), named, &names)?;
        warn(program, named, left(), notes);
        let gone: BTreeSet<(usize, usize)> = out.iter().map(|(s, m, _)| (*s, *m)).collect();
        for (s, m, why) in out {
            let number = self.members.get(s).and_then(|all| all.get(m)).copied().unwrap_or(0);
            self.excluded.push((program.parties[s].name.clone(), number, why));
        }
        self.excluded.sort();
        for (s, members) in self.members.iter_mut().enumerate() {
            *members = staying(s, std::mem::take(members), &gone);
        }
        for (s, inputs) in self.inputs.sets.iter_mut().enumerate() {
            *inputs = staying(s, std::mem::take(inputs), &gone);
        }
        (self.build, self.loaded) = (sized, loaded);
        Ok(())
    }

    /// Those who are left out, in words.
    fn named(&self, out: &[Out]) -> String {
        let one = |(s, m, why): &Out| {
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

/// Those of a set who stay.
fn staying<T>(set: usize, all: Vec<T>, gone: &BTreeSet<(usize, usize)>) -> Vec<T> {
    let numbered = all.into_iter().enumerate();
    numbered.filter(|(m, _)| !gone.contains(&(set, *m))).map(|(_, one)| one).collect()
}

/// Of each set that has fewer members without some: its number, the size that says how many it has, and how many are
/// left.
fn left(source: &Source, named: &str, out: &[Out]) -> Result<Vec<(usize, String, u64)>> {
    let parties = &source.checked.program.parties;
    let sets: BTreeSet<usize> = out.iter().map(|(s, ..)| *s).collect();
    let one = |s: usize| {
        let set = &parties[s];
        let gone: BTreeSet<usize> = out.iter().filter(|o| o.0 == s).map(|o| o.1).collect();
        let rest = set.size - gone.len() as u64;
        let shares = |name| parties.iter().filter(|p| p.named.as_ref() == Some(name)).count();
        let Some(size) = set.named.as_ref().filter(|name| shares(name) == 1) else {
            refuse!(
                "{named}: `{}` cannot have fewer members, because its size is not a size of this set alone: {ZEROS}",
                set.name
            );
        };
        if rest == 0 {
            refuse!("{named}: nobody is left of `{}`", set.name);
        }
        // The encoding is that of numbers from the fewest on.
        let least = source.checked.clients.as_ref().filter(|(_, c)| c.size == *size);
        if let Some((_, clients)) = least
            && rest < clients.range.0
        {
            refuse!(
                "{named}: {} are left, and --clients asks for {} at least; {ZEROS}",
                of_all(rest, set),
                clients.range.0
            );
        }
        Ok((s, size.clone(), rest))
    };
    sets.into_iter().map(one).collect()
}

/// Refuses a circuit for fewer members of these sets that does not take the files that are there.
fn same_files(before: &Circuit, after: &Circuit, named: &str, sets: &[&str]) -> Result<()> {
    let mut both = before.inputs.iter().zip(&after.inputs);
    let Some((input, _)) = both.find(|(a, b)| given(a.from) && a.shape != b.shape) else {
        return Ok(());
    };
    let name = &input.name;
    match input.from {
        From::Each(s) => refuse!(
            "{named}: the secret input `{name}` of `{}` has an entry for each member of `{}`, so nobody can be left \
             out: {ZEROS}",
            before.parties.get(s as usize).map_or("?", |set| &set.name),
            sets.join("` and of `")
        ),
        _ => refuse!(
            "{named}: the public input `{name}` has an entry for each member: give the inputs of the others alone, or {ZEROS}"
        ),
    }
}

/// Says who is left out, and of each of these sets how many are left: what is revealed is of these alone.
fn warn(
    program: &Program,
    named: &str,
    left: impl Iterator<Item = (usize, u64)>,
    notes: Notes<'_>,
) {
    let left: Vec<String> = left.map(|(s, n)| of_all(n, &program.parties[s])).collect();
    notes(Note::Caution(&format!("left out: {named}; {} are left", left.join(", "))));
}
