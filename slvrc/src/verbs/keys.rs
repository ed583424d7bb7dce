//! `slvrc keys`: keys, certificates and configurations of a deployment.

use crate::deployment::task_name;
use crate::fail::{self, Usage, misuse, say_done};
use anyhow::Context;
use clap::{Args, Command, Id};
use serde_json::json;
use slvr::program;
use slvr::tasks::{build, clients};
use slvr_circuit::artifact;
use slvr_node::config::{Power, Task, model_file};
use slvr_node::keys::{
    Plan, appoint, dismiss, enrol, enrol_lines, make, retire, rotate, trust, trust_worker, workers,
};
use slvr_node::names::is_name;
use slvr_node::submission::{clients_of, giving};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Keys {
    /// The folder that gets them: node-0, node-1, node-2, coordinator, clients.
    folder: PathBuf,
    /// The hosts of the three nodes, as others call them; with --rotate that of the node may be alone.
    #[arg(long, value_name = "HOST,HOST,HOST", value_delimiter = ',', conflicts_with_all = but("rotate"))]
    hosts: Vec<String>,
    #[command(flatten)]
    new: New,
    #[command(flatten)]
    change: Change,
    /// With --enrol NAME: the party set of the member, if it is not that of the clients.
    #[arg(long, value_name = "SET", requires = "enrol")]
    set: Option<String>,
    /// With --appoint: what the coordinator may do, open rounds, collect results, or both.
    #[arg(long, value_enum, value_delimiter = ',', requires = "appoint")]
    may: Vec<May>,
}

/// What a new deployment is made of.
#[derive(clap::Args)]
#[group(id = "new", conflicts_with = "change")]
struct New {
    /// The first of the ports: nodes call at it, clients at 10 more, operators at 20 more. On one machine node i has
    /// each of them plus i.
    #[arg(long, default_value_t = 7400)]
    port: u16,
    /// How many clients get keys: client-0, client-1, ...
    #[arg(long, default_value_t = 10)]
    clients: u64,
    /// A program that the nodes may run: a file, or a predicate that comes with the compiler.
    #[arg(long, value_name = "FILE")]
    task: Option<String>,
    /// Its sizes, models and parameters, as `m=10 M=LeNet5`.
    #[arg(value_name = "NAME=VALUE", requires = "task")]
    bindings: Vec<String>,
    /// Which size is the number of clients.
    #[arg(long, default_value = "m", value_name = "NAME", requires = "task")]
    size: String,
    /// No round has fewer accepted clients.
    #[arg(long, default_value_t = 2, requires = "task", value_parser = clap::value_parser!(u64).range(2..))]
    minimum: u64,
    /// Where nodes keep their data: a folder of each node's own, also seen from its node.toml.
    #[arg(long, default_value = "data", value_name = "FOLDER")]
    data: String,
}

/// What is changed in a deployment that is there: one thing at a time.
#[derive(clap::Args)]
#[group(id = "change", multiple = false)]
struct Change {
    /// Adds a client to a deployment that is there: its name, or a file of lines for clients.toml that it has made itself.
    #[arg(long, value_name = "NAME|FILE")]
    enrol: Option<String>,
    /// Makes workers of each node of a deployment that is there, so many with those that it has: they compute ranges of layers.
    #[arg(long, value_name = "NUMBER")]
    workers: Option<u16>,
    /// Takes a certificate that an organisation has made for its node, or for a worker (`1.0` is worker 0 of node 1), in place of
    /// the one that was made here.
    #[arg(long, value_name = "NODE=FILE")]
    trust: Vec<String>,
    /// Makes a new key and certificate of this node of a deployment that is there; the others accept both.
    #[arg(long, value_name = "NODE", value_parser = clap::value_parser!(u64).range(..3))]
    rotate: Option<u64>,
    /// Ends a rotation: this node takes its new key, and nobody accepts the old certificate any more.
    #[arg(long, value_name = "NODE", value_parser = clap::value_parser!(u64).range(..3))]
    retire: Option<u64>,
    /// Makes another coordinator of a deployment that is there, in a folder of this name.
    #[arg(long, value_name = "NAME", requires = "may")]
    appoint: Option<String>,
    /// Takes a coordinator of that name away: no node accepts it any more.
    #[arg(long, value_name = "NAME")]
    dismiss: Option<String>,
}

/// All changes but one.
fn but(one: &str) -> Vec<Id> {
    let all = Change::augment_args(Command::new("change"));
    all.get_arguments().map(|arg| arg.get_id().clone()).filter(|id| id != one).collect()
}

/// What a coordinator may do.
#[derive(Clone, Copy, clap::ValueEnum)]
enum May {
    Open,
    Collect,
}

impl From<May> for Power {
    fn from(may: May) -> Power {
        match may {
            May::Open => Power::Open,
            May::Collect => Power::Collect,
        }
    }
}

/// What is to be done once there is another coordinator, or one less.
const COORDINATORS: &str =
    "give the nodes their new node.toml and restart them; give each coordinator its own folder";

/// A text between quotation marks of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

impl Keys {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let folder = &self.folder;
        let done = match &self.change {
            Change { enrol: Some(who), .. } => self.enrolled(who)?,
            Change { workers: Some(count), .. } => {
                workers(folder, usize::from(*count))?;
                "give each worker its own folder, and its node the new node.toml; look at hosts and `memory_mb`, and say `workers = true` in the tasks"
                    .to_string()
            }
            Change { trust, .. } if !trust.is_empty() => self.trusted(trust)?,
            Change { rotate: Some(node), .. } => {
                // Without hosts it is the one that the deployment names.
                let host = match self.hosts.as_slice() {
                    [] => None,
                    [host] => Some(host.as_str()),
                    hosts @ [_, _, _] => hosts.get(*node as usize).map(String::as_str),
                    _ => misuse!("--hosts: name that of node {node}, or three, one for each node"),
                };
                rotate(folder, *node as usize, host)?;
                format!(
                    "node {node} has node.crt.next and node.key.next; give all others their new files, then --retire {node}"
                )
            }
            Change { retire: Some(node), .. } => {
                retire(folder, *node as usize)?;
                format!(
                    "node {node} has its new key; give all others their new files and restart the nodes"
                )
            }
            Change { appoint: Some(name), .. } => {
                let may: Vec<Power> = self.may.iter().map(|may| (*may).into()).collect();
                appoint(folder, name, &may)?;
                COORDINATORS.to_string()
            }
            Change { dismiss: Some(name), .. } => {
                dismiss(folder, name)?;
                COORDINATORS.to_string()
            }
            _ => {
                make(folder, &self.plan()?)?;
                format!(
                    "{}: give each node, the coordinator and each client its own folder, and nobody else",
                    folder.display()
                )
            }
        };
        say_done(json, json!({ "folder": folder.display().to_string(), "done": done }), &done)
    }

    /// One client more.
    fn enrolled(&self, who: &str) -> anyhow::Result<String> {
        let tell = "send each node its clients.toml and a hangup signal";
        if Path::new(who).is_file() {
            if self.set.is_some() {
                misuse!("--set: the lines of {who} say the party set themselves");
            }
            let n = enrol_lines(&self.folder, Path::new(who))?;
            return Ok(format!("{n} enrolled; {tell}"));
        }
        enrol(&self.folder, who, self.set.as_deref())?;
        let own = self.folder.join("clients").join(who);
        Ok(format!(
            "{}: give it to the client and nobody else; {tell}, or its enrol.toml where nodes are elsewhere",
            own.display()
        ))
    }

    /// Certificates of others.
    fn trusted(&self, certificates: &[String]) -> anyhow::Result<String> {
        for one in certificates {
            let wrong = || Usage(format!("--trust {one}: NODE=FILE, such as 1=b.crt"));
            let (node, file) = one.split_once('=').ok_or_else(wrong)?;
            let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
            let (node, worker) = match node.split_once('.') {
                Some((node, worker)) => (node, Some(number(worker)?)),
                None => (node, None),
            };
            let node = Some(number(node)?).filter(|n| *n < 3).ok_or_else(wrong)?;
            match worker {
                Some(worker) => trust_worker(&self.folder, node, worker, Path::new(file))?,
                None => trust(&self.folder, node, Path::new(file))?,
            }
        }
        Ok("all whose folders are here know these nodes by their own certificates".into())
    }

    fn plan(&self) -> anyhow::Result<Plan> {
        let clients: Vec<String> = (0..self.new.clients).map(|i| format!("client-{i}")).collect();
        let (tasks, files, members) = match &self.new.task {
            Some(program) => self.task_of(program)?,
            None => Default::default(),
        };
        if self.new.port > u16::MAX - 32 {
            misuse!("--port: 65503 at most");
        }
        let mut plan = Plan::local(self.new.port, clients, tasks);
        (plan.files, plan.members, plan.data) = (files, members, self.new.data.clone());
        if !self.hosts.is_empty() {
            // Addresses of IPv6 may stand in brackets.
            let bare = |h: &String| h.trim_start_matches('[').trim_end_matches(']').to_string();
            let Ok(hosts) =
                <[String; 3]>::try_from(self.hosts.iter().map(bare).collect::<Vec<_>>())
            else {
                misuse!("--hosts: name three, one for each node");
            };
            // On machines of their own the ports are the same.
            if hosts[0] != hosts[1] || hosts[1] != hosts[2] {
                plan.peer_ports = [self.new.port; 3];
                plan.client_ports = [self.new.port + 10; 3];
                plan.operations_ports = [self.new.port + 20; 3];
                plan.listen = None;
            } else if hosts[0].parse::<std::net::Ipv6Addr>().is_ok_and(|a| a.is_loopback()) {
                plan.listen = Some(hosts[0].clone());
            }
            plan.hosts = hosts;
        }
        Ok(plan)
    }

    /// The lines of a task, compiled as the nodes will, and the files that go with it.
    fn task_of(&self, program: &str) -> anyhow::Result<(String, Files, Members)> {
        let stem = task_name(program);
        let sized =
            |b: &&String| b.split_once('=').is_some_and(|(left, _)| left.trim() == self.new.size);
        // A circuit of its own is for the clients that it was built for.
        let compiled = artifact::is_named(program);
        let bound = self.new.bindings.iter().find(sized);
        if bound.is_none() && !compiled {
            misuse!(
                "--task: the number of clients is the size `{0}`: give it as in `{0}={1}`, or name the size with --size",
                self.new.size,
                self.new.clients
            );
        }
        let task = Task {
            name: stem.clone(),
            program: program.to_string(),
            bindings: self.new.bindings.clone(),
            clients: (!compiled).then(|| self.new.size.clone()),
            minimum: self.new.minimum,
            security: None,
            net: None,
            memory: None,
            workers: false,
            folder: PathBuf::new(),
        };
        if !is_name(&stem) {
            misuse!("--task: `{stem}` is no name of a task: letters, digits, `-`, `_` and `.`");
        }
        let circuit = program::load(&build(&task)?, &fail::print)?.circuit().clone();
        let set = clients_of(&circuit).map_err(|e| anyhow::anyhow!("{program}: {e}"))?;
        let m = circuit.parties.get(set).map_or(0, |p| p.size);
        let named = circuit
            .sizes
            .iter()
            .any(|(name, value)| *name == self.new.size && *value == m.to_string());
        if !compiled && !named {
            misuse!(
                "--task: {stem} has {m} clients, and `{}` is not that size: name it with --size",
                self.new.size
            );
        }
        if m < self.new.minimum {
            misuse!("--task: {stem} is for {m} clients, and --minimum is {}", self.new.minimum);
        }
        if m > self.new.clients {
            fail::note(&format!("{stem} is for {m} clients, and {} get keys", self.new.clients));
        }
        // As a node does when it starts.
        if let Some(numbers) = clients(&task)? {
            numbers.missing().iter().for_each(|line| fail::note(&format!("{stem}: {line}")));
        }
        let mut files = Files::new();
        let program = copied(&mut files, program)?;
        let mut bindings = Vec::new();
        for binding in &self.new.bindings {
            let (name, value) = binding.split_once('=').unwrap_or((binding, ""));
            bindings.push(quoted(&match model_file(binding) {
                Some((path, rest)) => format!("{name}={}:{rest}", copied(&mut files, path)?),
                None => format!("{name}={value}"),
            }));
        }
        let clients = match compiled {
            true => String::new(),
            false => format!("clients = {}\n", quoted(&self.new.size)),
        };
        let lines = format!(
            "[[task]]\nname = {}\nprogram = {}\nbindings = [{}]\n{clients}minimum = {}\n",
            quoted(&stem),
            quoted(&program),
            bindings.join(", "),
            self.new.minimum
        );
        let named = |s: usize| {
            circuit.parties.get(s).map_or(Vec::new(), |p| {
                let one = |k| (format!("{}-{k}", p.name.to_lowercase()), p.name.clone());
                (0..p.size).map(one).collect()
            })
        };
        let members = giving(&circuit).into_iter().filter(|s| *s != set).flat_map(named).collect();
        Ok((lines, files, members))
    }
}

/// Members of party sets besides the clients', and of which.
type Members = Vec<(String, String)>;

/// Files for each node, by their names there.
type Files = Vec<(String, Vec<u8>)>;

/// How a node will find a file: a copy of it beside its configuration. What is no file comes with the compiler.
fn copied(files: &mut Files, path: &str) -> anyhow::Result<String> {
    let from = Path::new(path);
    if !from.is_file() {
        return Ok(path.to_string());
    }
    let bytes = slvr::files::read(from, artifact::MAX_PAYLOAD + (1 << 10))
        .with_context(|| format!("{path}: cannot be read"))?;
    let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Two files of one name are two files there, too.
    let there = |n: &str| files.iter().find(|(name, _)| name == n).map(|(_, b)| *b == bytes);
    let names = std::iter::once(format!("programs/{name}"))
        .chain((2..).map(|k| format!("programs/{k}-{name}")));
    let free = names.into_iter().find(|n| there(n).is_none_or(|same| same));
    let name = free.unwrap_or_default();
    if there(&name).is_none() {
        files.push((name.clone(), bytes));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A right value of an option, and what it needs beside it.
    fn words(option: &Id) -> &'static [&'static str] {
        match option.as_str() {
            "port" => &["--port", "7400"],
            "clients" => &["--clients", "10"],
            "task" => &["--task", "krum"],
            "bindings" => &["m=10", "--task", "krum"],
            "size" => &["--size", "m", "--task", "krum"],
            "minimum" => &["--minimum", "2", "--task", "krum"],
            "data" => &["--data", "data"],
            "hosts" => &["--hosts", "a,b,c"],
            "enrol" => &["--enrol", "x"],
            "workers" => &["--workers", "2"],
            "trust" => &["--trust", "1=b.crt"],
            "rotate" => &["--rotate", "1"],
            "retire" => &["--retire", "1"],
            "appoint" => &["--appoint", "x", "--may", "open"],
            "dismiss" => &["--dismiss", "x"],
            "set" => &["--set", "S", "--enrol", "y"],
            "may" => &["--may", "open", "--appoint", "y"],
            other => panic!("no words for --{other}"),
        }
    }

    /// No option is passed over in silence: two changes at once are refused, and so is a change with options that it does not
    /// read.
    #[test]
    fn what_a_change_does_not_read_is_refused() {
        let keys = || Keys::augment_args(Command::new("keys").no_binary_name(true));
        let ids = |all: &Command| -> Vec<Id> {
            all.get_arguments().map(|arg| arg.get_id().clone()).collect()
        };
        let changes = ids(&Change::augment_args(Command::new("change")));
        let reads = |change: &Id, option: &Id| {
            let both = (change.as_str(), option.as_str());
            change == option || matches!(both, ("rotate", "hosts"))
        };
        for change in &changes {
            for option in ids(&keys()).iter().filter(|id| *id != "folder") {
                if matches!(
                    (change.as_str(), option.as_str()),
                    ("enrol", "set") | ("appoint", "may")
                ) {
                    continue;
                }
                let mut line = [&["folder"][..], words(change)].concat();
                if option != change {
                    line.extend(words(option));
                }
                let parsed = keys().try_get_matches_from(&line);
                assert_eq!(parsed.is_ok(), reads(change, option), "{line:?}");
            }
        }
        let new = ids(&New::augment_args(Command::new("new")));
        for option in new.iter().chain([&Id::from("hosts")]) {
            let line = [&["folder"][..], words(option)].concat();
            assert!(keys().try_get_matches_from(&line).is_ok(), "{line:?}");
        }
        for option in ["size", "minimum"] {
            let line = ["folder", words(&Id::from(option))[0], "3"];
            assert!(keys().try_get_matches_from(line).is_err(), "{line:?}");
        }
    }
}
