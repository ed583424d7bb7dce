//! What the verbs of a deployment share: circuits of tasks for nodes, callers, readable lines of a round.

use crate::clients::{Clients, Range};
use crate::fail::{note, say};
use crate::numbers::{self, Numbers, said};
use crate::program::{self, Sizes};
use crate::target::Target;
use anyhow::Context;
use serde_json::Value;
use slvr_circuit::Circuit;
use slvr_compiler::pipeline;
use slvr_compiler::types::Stmt;
use slvr_node::client::Caller;
use slvr_node::config::{CallerConfig, Task, is_open_to_others};
use slvr_node::{Circuits, Compile, Compiled, Summary};
use std::collections::BTreeMap;
use std::path::Path;

/// Compiles tasks of nodes as `slvrc build` compiles programs.
pub struct Compiler;

impl Compile for Compiler {
    fn task(&self, task: &Task) -> Result<Circuits, String> {
        let target = target(task, task.bindings.clone());
        let (range, set, none) = numbers_of(task, &target).map_err(|e| said(&e))?;
        let Some(range) = range else {
            let loaded = program::load_circuit(&target).map_err(|e| said(&e))?;
            let make = Box::new(|_| Err("there is no circuit for fewer clients".to_string()));
            let all = compiled(loaded.circuit().clone());
            return Ok(Circuits { all, fewer: BTreeMap::new(), none, make });
        };
        let keep = |c: &pipeline::Compiled| Summary::of(&compiled(c.circuit.clone()), set);
        let (numbers, kept) = Numbers::of(&target, &range, keep).map_err(|e| said(&e))?;
        if let Some(why) = numbers.clients.without.get(&range.all) {
            return Err(why.clone());
        }
        let mut fewer: BTreeMap<u64, Result<Summary, String>> = kept;
        fewer.extend(numbers.clients.without.iter().map(|(n, why)| (*n, Err(why.clone()))));
        let all = compiled(numbers.compile(range.all)?.circuit);
        let make = Box::new(move |n| Ok(compiled(numbers.compile(n)?.circuit)));
        Ok(Circuits { all, fewer, none, make })
    }
}

/// What a node that has this task says of its numbers of clients when it starts; nothing of one that is for all of them only.
pub fn clients(task: &Task) -> anyhow::Result<Option<Clients>> {
    let target = target(task, task.bindings.clone());
    let (range, ..) = numbers_of(task, &target)?;
    let Some(range) = range else { return Ok(None) };
    let (numbers, _) = Numbers::of(&target, &range, |_| ())?;
    match numbers.clients.without.get(&range.all) {
        Some(why) => Err(anyhow::Error::msg(why.clone())),
        None => Ok(Some(numbers.clients)),
    }
}

/// The numbers of clients that a task is compiled for, or nothing and why it is for all of them only.
/// With them the party set of the clients, if the size is the number of its members.
fn numbers_of(
    task: &Task,
    target: &Target,
) -> anyhow::Result<(Option<Range>, Option<usize>, String)> {
    if task.program.ends_with(".slvrb") {
        let why = "a compiled circuit is for all its clients, and no other can be built from it";
        return Ok((None, None, why.into()));
    }
    let program = program::check_bound(target, Sizes::Required)?.program;
    if program.body.iter().any(|s| matches!(s, Stmt::State { .. })) {
        return Ok((None, None, "the state of the task is about all its clients".into()));
    }
    let of = |size: &String| program.sizes.iter().find(|(name, _)| name == size);
    let found = match &task.clients {
        Some(size) => of(size).and_then(|(_, n)| Some((size.clone(), n.parse().ok()?))),
        None => numbers::named(&program),
    };
    match found {
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

/// A circuit, and what it takes.
fn compiled(circuit: Circuit) -> Compiled {
    let proofs = crate::memory::of_proofs(&circuit, 1);
    let memory = slvr_compiler::cost::peak_memory(&circuit).map(|n| n.saturating_add(proofs));
    Compiled { circuit, memory }
}

/// What is compiled for a task.
pub fn target(task: &Task, bindings: Vec<String>) -> Target {
    Target {
        file: task.program.clone(),
        bindings,
        predicate: None,
        ring: None,
        trust_inputs: false,
        memory: None,
        no_speculation: false,
        fine: false,
        clients: None,
        protocols: None,
        security: task.security.clone(),
        net: task.net.clone(),
        folder: task.folder.clone(),
    }
}

/// Whoever calls nodes with a file of configuration.
pub fn caller(config: &Path) -> anyhow::Result<Caller> {
    let read = CallerConfig::read(config)?;
    let secrets = [Some(config), read.key.as_deref()].into_iter().flatten();
    for secret in secrets.filter(|p| is_open_to_others(p)) {
        note(&format!(
            "{}: others than its owner may read this secret: chmod 600",
            secret.display()
        ));
    }
    let caller = Caller::new(read);
    let caller = caller.with_context(|| format!("{}: cannot be used", config.display()))?;
    Ok(caller.telling(note))
}

/// Where a round stands at a node, in one line.
pub fn line(status: &Value) -> String {
    let mut out = format!(
        "node {}: {}, {} of {} submissions",
        status["node"],
        status["phase"].as_str().unwrap_or("?"),
        status["complete"],
        status["expected"]
    );
    let run = &status["run"];
    if let Some(doing) = run["doing"].as_str() {
        out += &format!(
            ", attempt {}: {doing}, layer {} of {}",
            status["attempt"], run["layer"], run["layers"]
        );
    }
    if let (Some(node), Some(seconds)) = (run["waits_for"].as_u64(), run["seconds"].as_f64()) {
        out += &format!(", waits for node {node} for {seconds:.1} s");
    }
    let damaged: Vec<&str> =
        status["damaged"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !damaged.is_empty() {
        out += &format!(", damaged parts: {} have to submit again", damaged.join(", "));
    }
    if let Some(why) = status["waits"].as_str() {
        out += &format!(", waits: {why}");
    }
    if let Some(why) = status["aborted"].as_str() {
        out += &format!(": {why}");
    }
    out
}

/// Says where a round stands at all nodes.
pub fn say_lines(lines: &[String]) -> anyhow::Result<()> {
    say(&format!("{}\n", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A node that has read a program makes the circuits of that program, whatever becomes of its files: rounds that were
    /// opened with it are run with it.
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
}
