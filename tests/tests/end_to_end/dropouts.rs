//! A client that is not counted is as if it had never been there: the circuits of a task for every number of clients take the
//! same submissions, and each computes what the program says for those clients alone.
//!
//! `SLVR_EFFORT=full` tries every predicate of the library and of the gallery, against both adversaries.

use slvr_circuit::{Check, Circuit, Encoding, From, Security};
use slvr_compiler::diagnostic::render::render;
use slvr_compiler::lower::Target;
use slvr_compiler::pipeline::common::common;
use slvr_compiler::pipeline::{Options, compile_encoded};
use slvr_compiler::report::given::OnInputs;
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::syntax::embedded::{GALLERY, PREDICATES};
use slvr_compiler::types::{self, Program, Stmt};
use slvr_runtime::party::session::{self, Options as Run};
use slvr_runtime::party::{Invalid, RunError, Why};
use slvr_runtime::share::encode::{Encoded, Inputs, RawData};
use slvr_tests::agree::close;
use slvr_tests::{Case, committees, graph_inputs, predicate, random_inputs, sizes};
use std::collections::BTreeMap;

type Bindings = Vec<(String, String)>;

fn typed(text: &str, bindings: Bindings, defaults: bool) -> Result<(Program, Sources), String> {
    let mut sources = Sources::new();
    let file = sources.add("test.slvr", text);
    let options = types::Options { bindings, defaults, ..types::Options::default() };
    match types::check(&mut sources, file, &options, &mut |_: &str| Err(LoadError::NotFound)) {
        Ok(checked) => Ok((checked.program, sources)),
        Err(d) => Err(render(&d, &sources, false)),
    }
}

/// A task: its circuit for every number of clients from two to all, or why there is none.
struct Task {
    all: u64,
    set: usize,
    cases: BTreeMap<u64, Result<Case, String>>,
}

/// The party set of the clients, and the size that says how many there are.
fn clients(full: &Program) -> Option<(usize, String)> {
    let of = |set: usize| {
        let gives =
            |s: &Stmt| matches!(s, Stmt::Input { from: Some(f), .. } if f.0 as usize == set);
        full.body.iter().any(gives)
    };
    let sets = (0..full.parties.len()).filter(|&s| of(s));
    let set = sets.rev().max_by_key(|&s| full.parties[s].size)?;
    Some((set, full.parties[set].named.clone()?))
}

impl Task {
    /// Of a program and the sizes for all clients.
    fn new(text: &str, full: &Program, security: Security) -> Option<Task> {
        let (set, size) = clients(full)?;
        let all = full.parties[set].size;
        if all < 2 || full.body.iter().any(|s| matches!(s, Stmt::State { .. })) {
            return None;
        }
        let of = |n: u64| {
            let other = |(name, value): &(String, String)| match *name == size {
                true => (name.clone(), n.to_string()),
                false => (name.clone(), value.clone()),
            };
            typed(text, full.sizes.iter().map(other).collect(), false)
        };
        let typed: Vec<(u64, Result<_, String>)> = (2..=all).map(|n| (n, of(n))).collect();
        let programs: Vec<(u64, &(Program, Sources))> =
            typed.iter().filter_map(|(n, t)| Some((*n, t.as_ref().ok()?))).collect();
        let pairs: Vec<_> = programs.iter().map(|(_, p)| (&p.0, &p.1)).collect();
        let target = Target::new(security, Target::default().family());
        let options = Options { target, ..Options::default() };
        let (encoding, fits) = common(&pairs, options);
        let encoding = encoding?;
        let mut cases: BTreeMap<u64, Result<Case, String>> = BTreeMap::new();
        for ((n, (program, sources)), fit) in programs.into_iter().zip(fits) {
            let made = fit.and_then(|()| {
                compile_encoded(program, sources, options, Some(&encoding), |_, _| {})
            });
            let made = made.map_err(|d| render(&d, sources, false));
            cases.insert(n, made.map(|c| Case::new(program.clone(), c, sources.clone())));
        }
        for (n, t) in typed {
            if let Err(why) = t {
                cases.insert(n, Err(why));
            }
        }
        Some(Task { all, set, cases })
    }

    fn of_library(name: &str, change: &[(&str, &str)], security: Security) -> Task {
        let (mut bound, _) = sizes(name);
        for (size, value) in change {
            bound.retain(|(n, _)| n != size);
            bound.push((size, value));
        }
        let bindings = bound.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let (full, _) = typed(predicate(name), bindings, false).unwrap_or_else(|e| panic!("{e}"));
        Task::new(predicate(name), &full, security).unwrap_or_else(|| panic!("{name}"))
    }

    fn full(&self) -> &Case {
        match &self.cases[&self.all] {
            Ok(case) => case,
            Err(why) => panic!("{why}"),
        }
    }

    /// The inputs of some members.
    fn of(&self, inputs: &Inputs, members: &[usize]) -> Inputs {
        let mut out = inputs.clone();
        out.sets[self.set] = members.iter().map(|&i| inputs.sets[self.set][i].clone()).collect();
        out
    }

    /// That the words which clients deal for all are those of the circuit for some of them.
    fn same_words(&self, name: &str, case: &Case, inputs: &Inputs, members: &[usize]) {
        let words = |circuit: &Circuit, inputs: &Inputs| {
            let encoded = Encoded::new(circuit, inputs).expect("inputs fit");
            encoded.values(circuit).into_iter().map(|x| (x.dom(), x.to_u128s())).collect::<Vec<_>>()
        };
        let full = self.full().circuit();
        let (all, some) = (words(full, inputs), words(case.circuit(), &self.of(inputs, members)));
        assert_eq!(full.inputs.len(), case.circuit().inputs.len(), "{name}");
        for ((input, (dom, all)), (own, some)) in full.inputs.iter().zip(all).zip(some) {
            assert_eq!(dom, own, "{name}: {}", input.name);
            let each = match input.from {
                From::Each(s) if s as usize == self.set => all.len() / self.all as usize,
                _ => {
                    assert_eq!(all, some, "{name}: {}", input.name);
                    continue;
                }
            };
            let rows = members.iter().flat_map(|&i| &all[i * each..(i + 1) * each]);
            assert!(rows.eq(&some), "{name}: `{}` of {members:?}", input.name);
        }
    }

    /// Every number of clients: what is computed of the submissions to all is what the program says of those clients.
    /// How many numbers have a circuit, and how many of them took another decision than the program, all with one that is too
    /// near to be certain on these inputs: a tie of two clients, say.
    fn holds(&self, name: &str, spread: f64, seed: u64) -> (usize, usize) {
        let inputs = random_inputs(self.full().circuit(), seed, spread);
        let (mut held, mut near) = (0, 0);
        for (&n, case) in &self.cases {
            let Ok(case) = case else { continue };
            // Those who are gone are some of the first, of the last, and in between.
            let gone = |i: usize| (i * 7 + seed as usize) % self.all as usize >= n as usize;
            let members: Vec<usize> = (0..self.all as usize).filter(|&i| !gone(i)).collect();
            assert_eq!(members.len() as u64, n, "{name}");
            self.same_words(name, case, &inputs, &members);
            let own = self.of(&inputs, &members);
            let coins: Vec<u128> =
                (0..64).map(|i| (u128::from(seed) << 32) | (i * 977 + 5)).collect();
            let found = case.circuit_clear(&own, &coins, seed);
            if let Err(why) = close(&found, &case.floating(&own, &coins)) {
                let draw = committees(&coins);
                let certified = OnInputs::of(&case.compiled, &[], &graph_inputs(&own), &draw);
                let total = certified.expect("inputs that fit").certificate.total;
                if total.certified == total.decisions {
                    panic!("{name} of {members:?}, seed {seed}: {why}");
                }
                near += 1;
            }
            held += 1;
        }
        (held, near)
    }

    /// Clients whose inputs are out of range end the run for all, and are named.
    fn ends(&self, name: &str, spread: f64, bad: &[usize]) {
        let circuit = self.full().circuit();
        let mut inputs = random_inputs(circuit, 9, spread);
        for &i in bad {
            for input in &circuit.inputs {
                let tensor = inputs.sets[self.set][i].get_mut(&input.name);
                // Out of the range in every ring that holds it: a word has room for a value modulo its size only.
                match (tensor.map(|t| &mut t.data), &input.encoding) {
                    (Some(RawData::F64(v)), Encoding::Fixed { lo, hi, .. }) => {
                        v.fill(hi + 2.3 * (hi - lo));
                    }
                    (Some(RawData::I64(v)), Encoding::Int { hi, .. }) => v.fill(*hi),
                    _ => {}
                }
            }
        }
        let how =
            Run { seed: Some(3), submit_unchecked: true, invalid: Invalid::Stop, ..Run::default() };
        let found = match session::run_local(circuit, &inputs, &how) {
            Err(RunError::Invalid(found)) => found,
            Err(other) => panic!("{name}: the run ends with {other}"),
            Ok(_) => panic!("{name}: the run does not end at the verdict"),
        };
        let found: Vec<_> =
            found.iter().map(|r| (r.set as usize, r.member as usize, r.why)).collect();
        let wanted: Vec<_> = bad.iter().map(|&i| (self.set, i, Why::OutOfRange)).collect();
        assert_eq!(found, wanted, "{name}");
    }
}

#[test]
fn circuits_for_every_number_of_clients_take_the_same_submissions() {
    for name in ["secure_aggregation", "norm_bound", "coordinate_median", "multi_krum"] {
        let task = Task::of_library(name, &[], Security::SemiHonest);
        let (_, spread) = sizes(name);
        let (held, near) = task.holds(name, spread, 1);
        assert!(held >= 2 && near == 0, "{name}: {near} of {held}");
    }
}

#[test]
fn clients_out_of_range_end_the_run_and_are_named() {
    for (name, bad) in [("secure_aggregation", &[1][..]), ("krum", &[0, 4])] {
        let task = Task::of_library(name, &[], Security::SemiHonest);
        task.ends(name, 0.05, bad);
    }
}

/// What was measured: all zeros, half as long, or nine tenths.
#[test]
fn few_of_ten_clients_are_aggregated_as_if_they_were_all() {
    let ten = |name: &str, more: &[(&'static str, &'static str)]| {
        let change: Vec<_> = [("m", "10")].into_iter().chain(more.iter().copied()).collect();
        Task::of_library(name, &change, Security::SemiHonest)
    };
    let task = ten("norm_bound", &[("M", "DigitsNet")]);
    assert_eq!(task.holds("norm_bound", 0.02, 2), (9, 0));
    let plain = ten("secure_aggregation", &[]);
    assert_eq!(plain.holds("secure_aggregation", 1.0, 2), (9, 0));
    for name in ["krum", "multi_krum"] {
        let task = ten(name, &[("f", "2")]);
        let (held, near) = task.holds(name, 0.05, 2);
        assert!(held >= 4 && near == 0, "{name}: {near} of {held}");
        assert!(task.cases[&8].is_ok(), "{name}");
        let Err(why) = &task.cases[&6] else { panic!("{name} of 6 has a circuit") };
        assert!(why.contains("2 * f + 3"), "{name}: {why}");
    }
}

/// An input that is as long as there are clients: nothing can be built for fewer, and the message says which input.
#[test]
fn inputs_that_depend_on_the_number_of_clients_have_one_circuit() {
    let text = "use std::sum;\n\npredicate Rated[m]() {\n    parties Client[m], Server;\n    input x: secret fix[m] in -8..8 from each Client;\n    \
                reveal sum([sum(x[i]) for i in Client]) to Server as all;\n}\n";
    let text =
        text.replace("parties Client[m], Server;", "parties Client[m];\n    parties Server;");
    let (full, _) = typed(&text, vec![("m".into(), "4".into())], false).expect("types");
    let task = Task::new(&text, &full, Security::SemiHonest).expect("a task");
    assert!(task.cases[&4].is_ok());
    let Err(why) = &task.cases[&3] else { panic!("3 have a circuit") };
    assert!(why.contains("`x` has 3 numbers, and 4 for others"), "{why}");
}

/// A predicate with so many clients that some can be gone: those of its test, or eight, or the next fewer that it takes.
fn with_clients(name: &str, text: &str) -> Option<(Program, f64)> {
    if PREDICATES.iter().any(|(file, _)| file.trim_end_matches(".slvr") == name) {
        let (bound, spread) = sizes(name);
        let bound = bound.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        return Some((typed(text, bound, true).ok()?.0, spread));
    }
    let (full, _) = typed(text, Vec::new(), true).ok()?;
    let more = clients(&full).and_then(|(_, size)| {
        let of = |m: u64| typed(text, vec![(size.clone(), m.to_string())], true).ok();
        [8, 7, 6, 5, 4].into_iter().find_map(of)
    });
    Some((more.map_or(full, |(more, _)| more), 0.3))
}

/// The long run: whatever is in the library and the gallery.
#[test]
fn every_predicate_against_both_adversaries() {
    if !slvr_tests::long::is_full() {
        return;
    }
    let (mut all, mut near) = (0, 0);
    for security in [Security::SemiHonest, Security::Malicious] {
        for (file, text) in PREDICATES.iter().chain(GALLERY) {
            let name = file.trim_end_matches(".slvr");
            let Some((full, spread)) = with_clients(name, text) else {
                eprintln!("{name}: has no sizes");
                continue;
            };
            let Some(task) = Task::new(text, &full, security) else {
                eprintln!("{name}: for all clients only");
                continue;
            };
            if let Err(why) = &task.cases[&task.all] {
                eprintln!("{name}, {security:?}: {}", why.lines().next().unwrap_or_default());
                continue;
            }
            let seeds = (0..3).map(|seed| task.holds(name, spread, seed));
            let (held, close) = seeds.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            eprintln!(
                "{name}, {security:?}: {} of {} numbers, {close} of {held} runs too near",
                held / 3,
                task.all - 1
            );
            (all, near) = (all + held, near + close);
            // Of an upload in a small ring every word is in the range that is enforced, and no client is checked.
            let checked = |c: &Check| c.set as usize == task.set;
            if task.all >= 4 && task.full().circuit().checks.iter().any(checked) {
                task.ends(name, spread, &[1]);
                task.ends(name, spread, &[0, 2]);
            }
        }
    }
    assert!(near * 20 < all, "{near} of {all} runs have a decision that is too near");
}
