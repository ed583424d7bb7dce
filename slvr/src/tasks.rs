//! Circuits of the tasks of nodes, as `slvrc build` makes them.

use crate::build::{Build, bindings, security};
use crate::clients::{Clients, Range};
use crate::error::{Error, Result, Usage, refuse};
use crate::net;
use crate::notes::silent;
use crate::numbers::{self, ByClients};
use crate::program::{self, Sizes};
use crate::units::size;
use slvr_circuit::{Circuit, artifact};
use slvr_compiler::pipeline;
use slvr_compiler::types::Stmt;
use slvr_node::config::Task;
use slvr_node::{Circuits, Compile, Compiled, Divided, Summary};
use std::collections::BTreeMap;

/// Compiles tasks of nodes as `slvrc build` compiles programs.
pub struct Compiler;

impl Compile for Compiler {
    fn task(&self, task: &Task) -> std::result::Result<Circuits, String> {
        let build = build(task).map_err(|e| e.to_string())?;
        let (range, set, none) = numbers_of(task, &build).map_err(|e| e.to_string())?;
        let divided = task.workers;
        let Some(range) = range else {
            let loaded = program::load(&build, &silent).map_err(|e| e.to_string())?;
            let make = Box::new(|_| Err("there is no circuit for fewer clients".to_string()));
            let all = compiled(loaded.circuit().clone(), divided);
            return Ok(Circuits { all, fewer: BTreeMap::new(), none, make });
        };
        let keep = |c: &pipeline::Compiled| Summary::of(&compiled(c.circuit.clone(), false), set);
        let (numbers, kept) = ByClients::of(&build, &range, keep).map_err(|e| e.to_string())?;
        if let Some(why) = numbers.clients.without.get(&range.all) {
            return Err(why.clone());
        }
        let mut fewer: BTreeMap<u64, std::result::Result<Summary, String>> = kept;
        fewer.extend(numbers.clients.without.iter().map(|(n, why)| (*n, Err(why.clone()))));
        let all = compiled(numbers.compile(range.all)?.circuit, divided);
        let make = Box::new(move |n| Ok(compiled(numbers.compile(n)?.circuit, divided)));
        Ok(Circuits { all, fewer, none, make })
    }
}

/// What a node that has this task says of its numbers of clients when it starts; nothing of one that is for all of them
/// only.
pub fn clients(task: &Task) -> Result<Option<Clients>> {
    let build = build(task)?;
    let (range, ..) = numbers_of(task, &build)?;
    let Some(range) = range else { return Ok(None) };
    let (numbers, _) = ByClients::of(&build, &range, |_| ())?;
    match numbers.clients.without.get(&range.all) {
        Some(why) => Err(Error::Input(why.clone())),
        None => Ok(Some(numbers.clients)),
    }
}

/// The numbers of clients that a task is compiled for, or nothing and why it is for all of them only.
/// With them the party set of the clients, if the size is the number of its members.
fn numbers_of(task: &Task, build: &Build) -> Result<(Option<Range>, Option<usize>, String)> {
    if build.is_artifact() {
        let why = "a compiled circuit is for all its clients, and no other can be built from it";
        return Ok((None, None, why.into()));
    }
    let program = program::check_bound(build, Sizes::Required)?.program;
    if program.body.iter().any(|s| matches!(s, Stmt::State { .. })) {
        return Ok((None, None, "the state of the task is about all its clients".into()));
    }
    let of = |size: &String| program.sizes.iter().find(|(name, _)| name == size);
    let found = match &task.clients {
        Some(size) => of(size).and_then(|(_, n)| Some((size.clone(), n.parse().ok()?))),
        None => numbers::named(&program),
    };
    match found {
        Some((size, 0)) => refuse!("`{size}` is 0: a task is for at least one client"),
        Some((size, all)) => {
            let set = program.parties.iter().position(|p| p.named.as_ref() == Some(&size));
            let range = Range { size: Some(size), least: task.minimum.clamp(1, all), all };
            Ok((Some(range), set, String::new()))
        }
        None => {
            let why = "neither the program nor the task says which size is the number of clients: give its name as \
                       `clients` in node.toml";
            Ok((None, None, why.into()))
        }
    }
}

/// A circuit, and what it takes; with what its ranges take if it is divided among workers.
fn compiled(circuit: Circuit, divided: bool) -> Compiled {
    let proofs = crate::memory::of_proofs(&circuit, 1);
    // A client that fails a check makes parties copy.
    let most = slvr_compiler::cost::memory_at_most(&circuit);
    let peak = slvr_compiler::cost::peak_memory(&circuit);
    let memory = peak.map(|n| n.saturating_add(proofs).max(most));
    let divided = divided.then(|| {
        let divided = Divided::of(&circuit);
        let memory = slvr_compiler::cost::range_memory(&circuit, &divided.division);
        (divided, memory)
    });
    Compiled { circuit, memory, divided }
}

/// What is compiled for a task.
///
/// # Errors
///
/// [`Error::Usage`] of a binding, an adversary or a network that is none.
pub fn build(task: &Task) -> Result<Build> {
    let memory = |why: String| Usage(format!("`memory` of task `{}`: {why}", task.name));
    Ok(Build {
        file: task.program.clone(),
        bindings: bindings(&task.bindings)?,
        security: task.security.as_deref().map(security).transpose()?,
        net: task.net.as_deref().map(net::profile).transpose()?,
        memory: task.memory.as_deref().map(size).transpose().map_err(memory)?,
        folder: task.folder.clone(),
        // Ranges begin once the checks of inputs are settled. A compiled circuit is as it is.
        no_speculation: task.workers && !artifact::is_named(&task.program),
        ..Build::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_circuit::speculation::Speculation;
    use std::fs;

    /// A node that has read a program makes the circuits of that program, whatever becomes of its files: rounds that
    /// were opened with it are run with it.
    #[test]
    fn circuits_for_fewer_clients_are_those_of_the_files_as_they_were_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, network) = (folder.path().join("p.slvr"), folder.path().join("n.slvr"));
        let write = |factor: u32, hidden: u32| {
            let text = format!(
                "use std::{{sum}};\n\npredicate P[M: model, m]() {{\n    parties Client[m];\n    parties Server;\n\n    \
                 input update: secret weights M in -8..8 from each Client;\n\n    \
                 reveal {factor} * sum(update) / m to Server as aggregate;\n}}\n"
            );
            fs::write(&program, text).expect("writes");
            let text = format!(
                "model Net[inputs = 4](x: fix[inputs]) -> fix[2] {{\n    a: linear[inputs, {hidden}];\n    \
                 b: linear[{hidden}, 2];\n\n    x |> a |> relu |> b\n}}\n"
            );
            fs::write(&network, text).expect("writes");
        };
        let task = Task {
            name: "t".into(),
            program: program.display().to_string(),
            bindings: vec!["M=n.slvr:Net".into(), "m=5".into()],
            clients: Some("m".into()),
            minimum: 2,
            security: None,
            net: None,
            memory: None,
            workers: false,
            folder: folder.path().into(),
        };
        write(2, 3);
        let before = Compiler.task(&task).expect("compiles");
        write(3, 4);
        let after = Compiler.task(&task).expect("compiles");
        fs::remove_file(&network).expect("removes");
        for circuits in [before, after] {
            for (n, summary) in &circuits.fewer {
                let made = Summary::of(&(circuits.make)(*n).expect("compiles"), None);
                assert_eq!(Ok(&made.expect("a circuit").hash), summary.as_ref().map(|s| &s.hash));
            }
            assert_eq!(circuits.fewer.len(), 4);
        }
    }

    /// Ranges begin once the checks of inputs are settled, and what they take is known before a node starts.
    #[test]
    fn a_task_with_workers_is_compiled_without_speculation() {
        let of = |workers| {
            let task = Task {
                name: "t".into(),
                program: "norm_bound".into(),
                bindings: vec!["M=DigitsNet".into(), "m=8".into()],
                clients: None,
                minimum: 8,
                security: None,
                net: None,
                memory: Some("200KiB".into()),
                workers,
                folder: ".".into(),
            };
            Compiler.task(&task).expect("compiles").all
        };
        let (with, without) = (of(true), of(false));
        assert!(Speculation::of(&with.circuit).is_none());
        assert!(Speculation::of(&without.circuit).is_some());
        assert!(without.divided.is_none());
        let (divided, taken) = with.divided.expect("it has ranges");
        assert_eq!(divided.hash, Divided::of(&with.circuit).hash);
        assert!(taken.iter().all(|bytes| (1..=200 << 10).contains(bytes)), "{taken:?}");
    }
}
