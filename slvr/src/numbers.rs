//! A program for every number of clients that the rounds of a task may have.
//!
//! Clients encode their inputs before it is known how many of them come, so all circuits of a task take the same words
//! ([`slvr_compiler::pipeline::common`]). What a deployment builds is found here, for its nodes and for `--clients`, so
//! that both build the same.

use crate::build::Build;
use crate::checked::{Checked, Sizes, check_again, check_bound};
use crate::clients::{Clients, Range};
use crate::error::{Error, Result, Usage};
use rayon::prelude::*;
use slvr_compiler::pipeline::common::common;
use slvr_compiler::pipeline::{Compiled, Encoding};
use slvr_compiler::source::Sources;
use slvr_compiler::syntax::ast::Secrecy;
use slvr_compiler::types::{Program, Stmt};
use std::collections::BTreeMap;

/// The size that is the number of clients, and how many there are; nothing if the program writes it otherwise than as a
/// name. Where several sets give inputs and have a size of their own, only whoever calls it says which: how large they
/// are here says nothing.
pub fn named(program: &Program) -> Option<(String, u64)> {
    let mut all = sized(program);
    let (_, size, clients) = all.next()?;
    all.all(|(_, other, _)| other == size).then(|| (size.clone(), clients))
}

/// The sets that give secret inputs and whose number of members is a size: their names, the sizes, and the numbers.
fn sized(program: &Program) -> impl Iterator<Item = (&str, &String, u64)> {
    let gives = |set: usize, stmt: &Stmt| match stmt {
        Stmt::Input { var, from: Some(from), .. } => {
            let secrecy = program.vars[var.0 as usize].ty.secrecy;
            from.0 as usize == set && secrecy == Secrecy::Secret
        }
        _ => false,
    };
    let giving =
        (0..).zip(&program.parties).filter(move |(s, _)| program.body.iter().any(|x| gives(*s, x)));
    let is_size = |name: &&String| program.sizes.iter().any(|(size, _)| size == *name);
    giving.filter_map(move |(_, set)| {
        Some((set.name.as_str(), set.named.as_ref().filter(is_size)?, set.size))
    })
}

/// Why no size is the number of clients, and how to say which one is.
fn unnamed(program: &Program, range: &Range) -> String {
    let sets: Vec<_> = sized(program).collect();
    let Range { least, all, .. } = range;
    match &sets[..] {
        [] => "the program does not give the number of clients as a size alone, as in `Client[m]`: say which size it follows \
               from, as in --clients m=2..10"
            .into(),
        [(_, size, _), ..] => {
            let sets: Vec<String> =
                sets.iter().map(|(set, size, _)| format!("`{set}[{size}]`")).collect();
            format!(
                "{} give inputs: say the number of whose members is from {least} to {all}, as in --clients {size}={least}..{all}",
                sets.join(" and ")
            )
        }
    }
}

/// How a program is compiled for each number of clients.
#[derive(Clone)]
pub struct ByClients {
    build: Build,
    /// The texts of the program and of its models, as they were read. They may be changed meanwhile.
    texts: Sources,
    /// How inputs are encoded, for all numbers.
    pub encoding: Encoding,
    /// What is said of it.
    pub clients: Clients,
}

impl ByClients {
    /// Compiles a program for every number of clients; `keep` says what to keep of each circuit.
    ///
    /// # Errors
    ///
    /// A size that is not the number of clients; no number for which there is a circuit.
    pub fn of<T: Send>(
        build: &Build,
        range: &Range,
        keep: impl Fn(&Compiled) -> T + Sync,
    ) -> Result<(ByClients, BTreeMap<u64, T>)> {
        let Range { size, least, all } = range.clone().counted().map_err(Usage)?;
        let size = match size {
            Some(size) => size,
            None => {
                let program = check_bound(build, Sizes::Required)?.program;
                let Some((size, _)) = named(&program) else {
                    return Err(Usage(unnamed(&program, range)).into());
                };
                size
            }
        };
        let (mut left, mut without) = all_checked(build, &size, (least..=all).collect());
        loop {
            let Some((_, one)) = left.last() else {
                let why = without.into_iter().next_back().map(|(_, why)| why);
                return Err(Error::Input(why.unwrap_or_default()));
            };
            let (encoding, fits) = common(&programs(&left), one.how);
            let before = left.len();
            let mut fits = fits.into_iter();
            left.retain(|(n, checked)| match fits.next() {
                Some(Err(d)) => {
                    without.insert(*n, checked.rejected(d).to_string());
                    false
                }
                _ => true,
            });
            let Some(encoding) = encoding else { continue };
            let made: Vec<std::result::Result<T, String>> = left
                .par_iter()
                .map(|(_, checked)| {
                    let made = checked.stages(Some(&encoding));
                    made.map(|c| keep(&c)).map_err(|d| checked.rejected(d).to_string())
                })
                .collect();
            let (mut made, mut kept) = (made.into_iter(), BTreeMap::new());
            left.retain(|(n, _)| match made.next() {
                Some(Ok(made)) => kept.insert(*n, made).is_none(),
                Some(Err(why)) => {
                    without.insert(*n, why);
                    false
                }
                None => false,
            });
            // What does not compile has no say in how the others are encoded.
            let same = || common(&programs(&left), left[0].1.how).0.as_ref() == Some(&encoding);
            if let Some((_, one)) = left.last()
                && (left.len() == before || same())
            {
                let (texts, coarser) = (one.sources.clone(), coarser(one, &encoding));
                let clients = Clients { size, range: (least, all), without, coarser };
                return Ok((ByClients { build: build.clone(), texts, encoding, clients }, kept));
            }
        }
    }

    /// The program for one number of clients, and its stages. It is compiled from the texts that were read before.
    ///
    /// # Errors
    ///
    /// Why there are none.
    pub fn compile(&self, clients: u64) -> std::result::Result<Compiled, String> {
        let build = self.build.with(&self.clients.size, clients);
        let checked = check_again(&build, &self.texts, Sizes::Required);
        let checked = checked.map_err(|e| e.to_string())?;
        let made = checked.stages(Some(&self.encoding));
        made.map_err(|d| checked.rejected(d).to_string())
    }
}

/// Inputs that have fewer fraction bits than if all clients came always: name, bits then, and bits.
fn coarser(all: &Checked, encoding: &Encoding) -> Vec<(String, u32, u32)> {
    let (alone, _) = common(&[(&all.program, &all.sources)], all.how);
    let Some(alone) = alone else { return Vec::new() };
    let inputs = all.program.body.iter().filter_map(|s| match s {
        Stmt::Input { var, .. } | Stmt::State { var, .. } => Some(*var),
        _ => None,
    });
    let named = inputs.map(|v| all.program.vars[v.0 as usize].name.clone());
    let bits = alone.bits().iter().zip(encoding.bits());
    let both = named.zip(bits).filter(|(_, (alone, bits))| bits < alone);
    both.map(|(name, (alone, bits))| (name, *alone, *bits)).collect()
}

/// The programs for these numbers of clients, and of the other numbers why there is none.
fn all_checked(
    build: &Build,
    size: &str,
    numbers: Vec<u64>,
) -> (Vec<(u64, Checked)>, BTreeMap<u64, String>) {
    let one = |&n: &u64| check_bound(&build.with(size, n), Sizes::Required);
    let checked: Vec<Result<Checked>> = numbers.par_iter().map(one).collect();
    // The set of that size; of a size that it follows from otherwise, the largest where all come.
    let set = checked.iter().rev().flatten().find_map(|c| {
        let all = &c.program.parties;
        let named = all.iter().position(|p| p.named.as_deref() == Some(size));
        named.or_else(|| (0..all.len()).rev().max_by_key(|&s| all[s].size))
    });
    let (mut left, mut without) = (Vec::new(), BTreeMap::new());
    for (n, checked) in numbers.into_iter().zip(checked) {
        let why = match checked {
            Ok(c) if set.is_some_and(|s| c.program.parties[s].size == n) => {
                left.push((n, c));
                continue;
            }
            Ok(_) => format!("with {size} = {n} there are not {n} clients"),
            Err(e) => e.to_string(),
        };
        without.insert(n, why);
    }
    (left, without)
}

fn programs(of: &[(u64, Checked)]) -> Vec<(&Program, &Sources)> {
    of.iter().map(|(_, c)| (&c.program, &c.sources)).collect()
}
