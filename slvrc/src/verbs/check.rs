//! `slvrc check`: parses, types and certifies a program.

use crate::fail::{misuse, note, say, say_json, warn};
use crate::memory::STACK;
use crate::target::Target;
use anyhow::Context;
use serde_json::{Value, json};
use slvr::notes::silent;
use slvr::program::{self, Checked};
use slvr::{Build, Error, files, report, units};
use slvr_circuit::{Circuit, From, PartySet};
use slvr_compiler::analysis::privacy::Privacy;
use slvr_compiler::cost;
use slvr_compiler::diagnostic::{Diagnostic, Edit, render};
use slvr_compiler::pipeline::{self, Compiled};
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::source::{FileId, Sources};
use slvr_compiler::syntax::embedded;
use slvr_compiler::syntax::fixes::{apply, fixes};
use slvr_compiler::types::{Program, Stmt};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

#[derive(clap::Args)]
pub struct Check {
    #[command(flatten)]
    target: Target,
    /// Writes into the file what the hints of its messages say to write, as often as that leaves others to do.
    #[arg(long)]
    fix: bool,
}

impl Check {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let build = self.target.build()?;
        if self.fix {
            fix(&build)?;
        }
        let checked = program::check(&build, program::Sizes::OrSmallest)?;
        let sizes = |of: &Checked| units::bound(&of.program.sizes);
        // What holds for the smallest sizes alone says little: warnings are of larger ones where there are any, as in an
        // editor.
        let of_larger = || -> anyhow::Result<_> {
            let Some(larger) = program::larger(&build, &checked)? else { return Ok(None) };
            let compiled = larger.compile(&silent).with_context(|| {
                format!("it is ok with {}, and not with {}", sizes(&checked), sizes(&larger))
            })?;
            Ok(Some((larger, compiled.warnings)))
        };
        // Ranges, errors and failure: what does not hold is an error with a place in the source.
        let (compiled, larger) = thread::scope(|scope| {
            let beside = || thread::Builder::new().stack_size(STACK).spawn_scoped(scope, of_larger);
            // Where there is no room for another thread, they are compiled one after the other.
            let beside = checked.chosen.then(|| beside().ok());
            let compiled = checked.compile(&silent)?;
            let larger = match beside {
                None => Ok(None),
                Some(None) => of_larger(),
                Some(Some(larger)) => larger.join().unwrap_or_else(|panic| resume_unwind(panic)),
            };
            Ok::<_, anyhow::Error>((compiled, larger?))
        })?;
        let (larger, of_larger) = larger.unzip();
        let larger = larger.as_ref();
        let noise = privacy(&checked, &compiled);
        let whole = needed_whole(&compiled.circuit);
        let shaped = match whole.is_empty() {
            // The smallest sizes may be of one member, without whom there is nothing.
            true => shaped_by_members(&build, larger.unwrap_or(&checked)),
            false => Vec::new(),
        };
        let warnings = of_larger.as_ref().unwrap_or(&compiled.warnings);
        let found = Found { checked: &checked, larger, warnings, noise, whole, shaped };
        if json {
            return say_json(found.to_json());
        }
        warn(&checked.warnings, &checked.sources);
        warn(warnings, found.sources());
        say(&found.to_text())
    }
}

/// A program that is ok, and what is said of it.
struct Found<'a> {
    checked: &'a Checked,
    /// The same with larger sizes, where they were chosen and there are any.
    larger: Option<&'a Checked>,
    /// Of the circuit, with the larger sizes if there are any.
    warnings: &'a [Diagnostic],
    noise: Option<Privacy>,
    /// Party sets of which a state needs all members.
    whole: Vec<&'a str>,
    /// Party sets of which an input needs all members, and the input.
    shaped: Vec<(String, String)>,
}

impl Found<'_> {
    /// What the warnings of the circuit are about.
    fn sources(&self) -> &Sources {
        &self.larger.unwrap_or(self.checked).sources
    }

    fn to_json(&self) -> Value {
        let checked = self.checked;
        let of_types = checked.warnings.iter().map(|d| render::to_json(d, &checked.sources));
        let of_circuit = self.warnings.iter().map(|d| render::to_json(d, self.sources()));
        let warnings: Vec<_> = of_types.chain(of_circuit).collect();
        let sizes = |of: &Checked| report::sizes(&of.program.sizes);
        let mut all = json!({
            "predicate": checked.program.name, "sizes": sizes(checked),
            "sizes_chosen": checked.chosen, "diagnostics": warnings,
        });
        if let Some(larger) = self.larger {
            all["larger_sizes"] = sizes(larger);
        }
        let shaped = self.shaped.iter().map(|(set, _)| set.as_str());
        let needed: Vec<&str> = self.whole.iter().copied().chain(shaped).collect();
        if !needed.is_empty() {
            all["needs_all_of"] = json!(needed);
        }
        if let Some(noise) = &self.noise {
            all["privacy"] = json!(noise);
        }
        if let Some((_, clients)) = &checked.clients {
            all["clients"] = clients.to_json();
        }
        all
    }

    fn to_text(&self) -> String {
        let checked = self.checked;
        let sizes = |of: &Checked| units::bound(&of.program.sizes);
        let how = match self.larger {
            _ if !checked.chosen => String::new(),
            Some(larger) => {
                format!(" (defaults and the smallest sizes that fit), and with {}", sizes(larger))
            }
            None => " (defaults and the smallest sizes that fit; no larger ones were found)".into(),
        };
        let noise = self.noise.iter().flat_map(pipeline::privacy::lines);
        let numbers = checked.clients.iter().flat_map(|(_, clients)| clients.lines());
        let lines: String = noise.chain(numbers).map(|line| format!("  {line}\n")).collect();
        let whole = why_all(&self.whole, &self.shaped);
        format!("{}: ok with {}{how}\n{lines}{whole}", checked.program.name, sizes(checked))
    }
}

/// Why a round needs all members of a set: for a state, or since an input has an entry for each.
fn why_all(whole: &[&str], shaped: &[(String, String)]) -> String {
    let whole = whole.iter().map(|set| {
        format!(
            "  a round needs all members of `{set}`: a program with a state keeps a place for each, and this one does not \
             read who takes part (`input present: public bit from each {set}`)\n"
        )
    });
    let shaped = shaped.iter().map(|(set, input)| {
        format!(
            "  a round needs all members of `{set}`: the input `{input}` has an entry for each of them, and nobody can be \
             left out (`--invalid zeros` has zeros stand in for the inputs of whoever is missing)\n"
        )
    });
    whole.chain(shaped).collect()
}

/// What noise promises; of programs without noise nothing is certified here.
fn privacy(checked: &Checked, compiled: &Compiled) -> Option<Privacy> {
    if !Privacy::has_noise(&compiled.optimised) {
        return None;
    }
    let places = cost::places(&checked.program, &compiled.optimised, &checked.sources);
    Certificate::of(compiled, &places).privacy
}

/// Most times that a file is fixed and checked again.
const MOST_FIXED: usize = 16;

/// Does what the hints of a program's messages say, in its file.
fn fix(build: &Build) -> anyhow::Result<()> {
    let path = Path::new(&build.file);
    if !path.is_file() {
        misuse!("{}: --fix writes a file, and there is none here", build.file);
    }
    let (mut build, mut all) = (build.clone(), 0);
    let mut others = Vec::new();
    for _ in 0..MOST_FIXED {
        let (found, sources) = said(&build)?;
        let Some(file) = sources.find(&build.file) else { break };
        let first = |file: FileId| -> Vec<Vec<Edit>> {
            let of = |d| fixes(d, file, sources.text(file)).into_iter().next();
            found.iter().filter_map(of).map(|(_, edits)| edits).collect()
        };
        others = (0..sources.len() as u32)
            .map(FileId)
            .filter(|other| *other != file && embedded::get(sources.name(*other)).is_none())
            .map(|other| (sources.name(other).to_owned(), first(other).len()))
            .filter(|(_, n)| *n > 0)
            .collect();
        let edits = first(file);
        let (text, done) = apply(sources.text(file), edits.iter().map(Vec::as_slice));
        if done == 0 {
            break;
        }
        all += done;
        build.texts.insert(build.file.clone(), text);
    }
    if let Some(text) = build.texts.get(&build.file).filter(|_| all > 0) {
        files::rewrite(path, text)?;
    }
    let places = |n: usize| if n == 1 { "1 place".to_owned() } else { format!("{n} places") };
    note(&format!("{}: {} fixed", build.file, places(all)));
    for (name, n) in others {
        note(&format!("{name}: hints are about {} of this file, which is not written", places(n)));
    }
    Ok(())
}

/// All that is said of a program, whether it is refused or not.
fn said(build: &Build) -> anyhow::Result<(Vec<Diagnostic>, Sources)> {
    let refused = |e| match e {
        Error::Rejected(r) => Ok((r.diagnostics, r.sources)),
        other => Err(other.into()),
    };
    let checked = match program::check(build, program::Sizes::OrSmallest) {
        Ok(checked) => checked,
        Err(e) => return refused(e),
    };
    let mut found = checked.warnings.clone();
    match checked.stages(checked.encoding()) {
        Ok(compiled) => found.extend(compiled.warnings),
        Err(errors) => found.extend(errors),
    }
    Ok((found, checked.sources))
}

/// The party sets of which no member may be missing from a round of a program with a state.
fn needed_whole(circuit: &Circuit) -> Vec<&str> {
    if circuit.states().next().is_none() {
        return Vec::new();
    }
    let inputs = &circuit.inputs;
    let needed = |(s, set): &(u32, &PartySet)| {
        let from = |from: From| inputs.iter().any(|i| i.from == from);
        // Nobody goes on without whoever is alone.
        set.size > 1 && from(From::Each(*s)) && !from(From::Present(*s))
    };
    let sets = (0..).zip(&circuit.parties).filter(needed);
    sets.map(|(_, set)| set.name.as_str()).collect()
}

/// The party sets of a program without a state whose members no other circuit can leave out, each with an input whose shape
/// is another one where there is a member more or less: files were written for all of them.
fn shaped_by_members(build: &Build, checked: &Checked) -> Vec<(String, String)> {
    let program = &checked.program;
    let mut bound = build.clone();
    for (name, value) in &program.sizes {
        if let Ok(number) = value.parse() {
            bound = bound.with(name, number);
        }
    }
    let mut found = Vec::new();
    for (s, set) in (0..).zip(&program.parties) {
        let gives =
            |stmt: &Stmt| matches!(stmt, Stmt::Input { from: Some(from), .. } if from.0 == s);
        let shares = program.parties.iter().filter(|other| other.named == set.named).count();
        let Some(size) = set.named.as_ref().filter(|_| shares == 1 && set.size > 1) else {
            continue;
        };
        if !program.body.iter().any(gives) {
            continue;
        }
        let others = [set.size - 1, set.size + 1].map(|n| bound.with(size, n));
        let with = |build: &Build| program::check_bound(build, program::Sizes::Required).ok();
        let Some(other) = others.iter().find_map(with) else { continue };
        let mut both = given(program).into_iter().zip(given(&other.program));
        if let Some(((input, _), _)) = both.find(|((_, a), (_, b))| a != b) {
            found.push((set.name.clone(), input));
        }
    }
    found
}

/// Names and shapes of what is given in files, in order; of what each member gives, the shape of one.
fn given(program: &Program) -> Vec<(String, Vec<u64>)> {
    let of = |stmt: &Stmt| match stmt {
        Stmt::Input { var, from, .. } => {
            let var = &program.vars[var.0 as usize];
            let shape = var.ty.shape().split_off(usize::from(from.is_some()));
            Some((var.name.clone(), shape))
        }
        _ => None,
    };
    program.body.iter().filter_map(of).collect()
}
