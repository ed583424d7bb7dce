//! `slvrc keys`: keys, certificates and configurations of a deployment.

use crate::deployment::task_name;
use crate::fail::{self, Usage, misuse, say_done};
use anyhow::Context;
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
    /// The hosts of the three nodes, as others call them.
    #[arg(long, value_name = "HOST,HOST,HOST", value_delimiter = ',')]
    hosts: Vec<String>,
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
    #[arg(long, default_value = "m", value_name = "NAME")]
    size: String,
    /// No round has fewer accepted clients.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(2..))]
    minimum: u64,
    /// Where nodes keep their data: a folder of each node's own, also seen from its node.toml.
    #[arg(long, default_value = "data", value_name = "FOLDER")]
    data: String,
    /// Adds a client to a deployment that is there: its name, or a file of lines for clients.toml that it has made itself.
    #[arg(long, value_name = "NAME|FILE", conflicts_with_all = ["task", "rotate", "retire", "trust"])]
    enrol: Option<String>,
    /// With --enrol NAME: the party set of the member, if it is not that of the clients.
    #[arg(long, value_name = "SET", requires = "enrol")]
    set: Option<String>,
    /// Makes workers of each node of a deployment that is there, so many with those that it has: they compute ranges of layers.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["task", "rotate", "retire", "trust", "enrol"])]
    workers: Option<u16>,
    /// Takes a certificate that an organisation has made for its node, or for a worker (`1.0` is worker 0 of node 1), in place of
    /// the one that was made here.
    #[arg(long, value_name = "NODE=FILE", conflicts_with_all = ["task", "rotate", "retire"])]
    trust: Vec<String>,
    /// Makes a new key and certificate of this node of a deployment that is there; the others accept both.
    #[arg(long, value_name = "NODE", conflicts_with_all = ["task", "retire"], value_parser = clap::value_parser!(u64).range(..3))]
    rotate: Option<u64>,
    /// Ends a rotation: this node takes its new key, and nobody accepts the old certificate any more.
    #[arg(long, value_name = "NODE", conflicts_with = "task", value_parser = clap::value_parser!(u64).range(..3))]
    retire: Option<u64>,
    /// Makes another coordinator of a deployment that is there, in a folder of this name.
    #[arg(long, value_name = "NAME", requires = "may", conflicts_with_all = ["task", "rotate", "retire"])]
    appoint: Option<String>,
    /// What it may do: open rounds, collect results, or both.
    #[arg(long, value_enum, value_delimiter = ',', requires = "appoint")]
    may: Vec<May>,
    /// Takes a coordinator of that name away: no node accepts it any more.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["task", "rotate", "retire", "appoint"])]
    dismiss: Option<String>,
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

/// A text between quotation marks of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

impl Keys {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let may: Vec<Power> = self.may.iter().map(|may| (*may).into()).collect();
        let coordinator = (self.appoint.as_deref(), self.dismiss.as_deref());
        let done = match (self.rotate, self.retire) {
            (None, None) if self.enrol.is_some() => self.enrolled()?,
            (None, None) if !self.trust.is_empty() => self.trusted()?,
            (None, None) if let Some(count) = self.workers => {
                workers(&self.folder, usize::from(count))?;
                "give each worker its own folder, and its node the new node.toml; look at hosts and `memory_mb`, and say `workers = true` in the tasks"
                    .to_string()
            }
            (Some(node), _) => {
                // Without hosts it is the one that the deployment names.
                let host = match self.hosts.as_slice() {
                    [host] => Some(host.as_str()),
                    hosts => hosts.get(node as usize).map(String::as_str),
                };
                rotate(&self.folder, node as usize, host)?;
                format!(
                    "node {node} has node.crt.next and node.key.next; give all others their new files, then --retire {node}"
                )
            }
            (None, Some(node)) => {
                retire(&self.folder, node as usize)?;
                format!(
                    "node {node} has its new key; give all others their new files and restart the nodes"
                )
            }
            (None, None) if self.appoint.is_some() || self.dismiss.is_some() => {
                match coordinator {
                    (Some(name), _) => appoint(&self.folder, name, &may)?,
                    (None, name) => dismiss(&self.folder, name.unwrap_or_default())?,
                }
                "give the nodes their new node.toml and restart them; give each coordinator its own folder"
                    .to_string()
            }
            (None, None) => {
                make(&self.folder, &self.plan()?)?;
                format!(
                    "{}: give each node, the coordinator and each client its own folder, and nobody else",
                    self.folder.display()
                )
            }
        };
        say_done(json, json!({ "folder": self.folder, "done": done }), &done)
    }

    /// One client more.
    fn enrolled(&self) -> anyhow::Result<String> {
        let who = self.enrol.as_deref().unwrap_or_default();
        let tell = "send each node its clients.toml and a hangup signal";
        if Path::new(who).is_file() {
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
    fn trusted(&self) -> anyhow::Result<String> {
        for one in &self.trust {
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
        let clients: Vec<String> = (0..self.clients).map(|i| format!("client-{i}")).collect();
        let (tasks, files, members) = match &self.task {
            Some(program) => self.task_of(program)?,
            None => Default::default(),
        };
        if self.port > u16::MAX - 32 {
            misuse!("--port: 65503 at most");
        }
        let mut plan = Plan::local(self.port, clients, tasks);
        (plan.files, plan.members, plan.data) = (files, members, self.data.clone());
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
                plan.peer_ports = [self.port; 3];
                plan.client_ports = [self.port + 10; 3];
                plan.operations_ports = [self.port + 20; 3];
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
            |b: &&String| b.split_once('=').is_some_and(|(left, _)| left.trim() == self.size);
        // A circuit of its own is for the clients that it was built for.
        let compiled = artifact::is_named(program);
        let bound = self.bindings.iter().find(sized);
        if bound.is_none() && !compiled {
            misuse!(
                "--task: the number of clients is the size `{0}`: give it as in `{0}={1}`, or name the size with --size",
                self.size,
                self.clients
            );
        }
        let task = Task {
            name: stem.clone(),
            program: program.to_string(),
            bindings: self.bindings.clone(),
            clients: (!compiled).then(|| self.size.clone()),
            minimum: self.minimum,
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
        let named =
            circuit.sizes.iter().any(|(name, value)| *name == self.size && *value == m.to_string());
        if !compiled && !named {
            misuse!(
                "--task: {stem} has {m} clients, and `{}` is not that size: name it with --size",
                self.size
            );
        }
        if m < self.minimum {
            misuse!("--task: {stem} is for {m} clients, and --minimum is {}", self.minimum);
        }
        if m > self.clients {
            fail::note(&format!("{stem} is for {m} clients, and {} get keys", self.clients));
        }
        // As a node does when it starts.
        if let Some(numbers) = clients(&task)? {
            numbers.missing().iter().for_each(|line| fail::note(&format!("{stem}: {line}")));
        }
        let mut files = Files::new();
        let program = copied(&mut files, program)?;
        let mut bindings = Vec::new();
        for binding in &self.bindings {
            let (name, value) = binding.split_once('=').unwrap_or((binding, ""));
            bindings.push(quoted(&match model_file(binding) {
                Some((path, rest)) => format!("{name}={}:{rest}", copied(&mut files, path)?),
                None => format!("{name}={value}"),
            }));
        }
        let clients = match compiled {
            true => String::new(),
            false => format!("clients = {}\n", quoted(&self.size)),
        };
        let lines = format!(
            "[[task]]\nname = {}\nprogram = {}\nbindings = [{}]\n{clients}minimum = {}\n",
            quoted(&stem),
            quoted(&program),
            bindings.join(", "),
            self.minimum
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
