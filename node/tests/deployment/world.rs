//! A deployment in a temporary folder: its processes, its clients, what they submit.

use crate::CONFIG;
use crate::proxy::Proxy;
use serde_json::Value;
use slvr_circuit::{Circuit, artifact, text};
use slvr_node::client::{CallError, Caller};
use slvr_node::codes::Code;
use slvr_node::config::{CallerConfig, NodeConfig, Task};
use slvr_node::hex::{Hash, Hex};
use slvr_node::keys::{Plan, make};
use slvr_node::store::Store;
use slvr_node::submission::{Public, Signer, Submission};
use slvr_node::vault::Key;
use slvr_node::wire::{Answer, Ask, PROTOCOL, Purpose, SHORT, frame, read_frame};
use slvr_node::{Circuits, Compile, Compiled, Divided, Summary};
use slvr_runtime::link::tls::Secure;
use slvr_runtime::share::encode::RawTensor;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Makes circuits that add up vectors of n numbers of m clients, in some layers.
pub struct Sums;

/// The circuit of a program for m clients with n numbers each.
pub fn program(name: &str, m: u64, n: u64, layers: u64) -> Circuit {
    let out = match name {
        "own" => own(m, n),
        "parts" => parts(m, n, layers),
        "mean" => mean(m, n, layers),
        "running" => running(m, n, layers, false),
        "present" => running(m, n, layers, true),
        "sums" => sums(m, n, layers),
        other => panic!("no program `{other}`"),
    };
    text::parse(&out).unwrap_or_else(|e| panic!("{e:?}\n{out}"))
}

fn sums(m: u64, n: u64, layers: u64) -> String {
    let mut out = head("Sums", m, n);
    out += &format!("  %2 = sum %0 axes [0] : A64[{n}] @0\n  %3 = mul %2 %1 : A64[{n}] @0\n");
    finish(&mut out, (3, 0), &format!("[{n}]"), layers);
    out
}

/// The declarations of a task that reveals a sum.
fn head(name: &str, m: u64, n: u64) -> String {
    format!(
        "circuit \"{name}\"\nsize \"m\" = \"{m}\"\nparty \"Client\" {m}\nparty \"Server\" 1\n\
         input %0 \"update\" from 0 fixed(16, -8.0, 8.0) [{n}] : A64[{m},{n}]\n\
         input %1 \"scale\" from public int(0, 10) [1] : pub.A64[1]\n\
         output 0 \"total\" to 1 [{n}] ring 64 frac 16 factor 1.0 divisor 1.0\n\
         site 0 \"s\" line 1\n\
         layer 0:\n"
    )
}

/// The task of sums with the vectors of half of the clients loaded in the first layer, and those of the others in the last one.
fn parts(m: u64, n: u64, layers: u64) -> String {
    let (half, shape) = (m / 2, format!("[{n}]"));
    let rest = m - half;
    let mut out = head("Parts", m, n);
    out += &format!(
        "  %2 = load %0 start 0 len {half} : A64[{half},{n}] @0\n  %3 = sum %2 axes [0] : A64{shape} @0\n"
    );
    let last = reshared(&mut out, (3, 0), &shape, layers);
    let [load, sum, both, all] = [1, 2, 3, 4].map(|i| last + i);
    out += &format!(
        "  %{load} = load %0 start {half} len {rest} : A64[{rest},{n}] @0\n  %{sum} = sum %{load} axes [0] : A64{shape} @0\n\
         \x20 %{both} = add %{last} %{sum} : A64{shape} @0\n  %{all} = mul %{both} %1 : A64{shape} @0\n"
    );
    finish(&mut out, (all, layers), &shape, 0);
    out
}

/// A task that reveals the mean of vectors of n numbers of m clients. A client says in a bit whether its numbers count: if it is 0
/// they are not in range, as far as the parties can tell.
fn mean(m: u64, n: u64, layers: u64) -> String {
    let mut out = format!(
        "circuit \"Mean\"\nsize \"m\" = \"{m}\"\nparty \"Client\" {m}\nparty \"Server\" 1\n\
         input %0 \"update\" from 0 fixed(16, -8.0, 8.0) [{n}] : A64[{m},{n}]\n\
         input %1 \"scale\" from public int(0, 10) [1] : pub.A64[1]\n\
         input %2 \"fair\" from 0 int(0, 2) [] : B1[{m}]\n\
         output 0 \"total\" to 1 [{n}] ring 64 frac 16 factor 1.0 divisor {m}.0\n\
         check 0 %3\n\
         site 0 \"s\" line 1\n\
         layer 0:\n  exchange:\n  %3 = open %2 : pub.B1[{m}] @0\n\
         layer 1:\n  %4 = from_bits %3 64 : pub.A64[{m}] @0\n\
         \x20 %5 = reshape %4 [{m},1] : pub.A64[{m},1] @0\n  %6 = mul %0 %5 : A64[{m},{n}] @0\n\
         \x20 %7 = sum %6 axes [0] : A64[{n}] @0\n  %8 = mul %7 %1 : A64[{n}] @0\n"
    );
    finish(&mut out, (8, 1), &format!("[{n}]"), layers);
    out
}

/// What each client has submitted so far; with `present` the circuit reads who takes part.
fn running(m: u64, n: u64, layers: u64, present: bool) -> String {
    let (declared, read, update, next) = match present {
        true => (
            format!("input %3 \"present\" from present 0 int(0, 2) [{m}] : pub.B1[{m}]\n"),
            format!(
                "  %4 = from_bits %3 64 : pub.A64[{m}] @0\n  %5 = reshape %4 [{m},1] : pub.A64[{m},1] @0\n\
                 \x20 %6 = mul %0 %5 : A64[{m},{n}] @0\n"
            ),
            6,
            7,
        ),
        false => (String::new(), String::new(), 0, 3),
    };
    let last = next + 1;
    let mut out = format!(
        "circuit \"Running\"\nsize \"m\" = \"{m}\"\nparty \"Client\" {m}\nparty \"Server\" 1\n\
         input %0 \"update\" from 0 fixed(16, -8.0, 8.0) [{n}] : A64[{m},{n}]\n\
         input %1 \"scale\" from public int(0, 10) [1,1] : pub.A64[1,1]\n\
         input %2 \"seen\" from state 0 fixed(16, -8.0, 8.0) [{m},{n}] : A64[{m},{n}]\n\
         {declared}\
         output 0 \"total\" to 1 [{m},{n}] ring 64 frac 16 factor 1.0 divisor 1.0\n\
         site 0 \"s\" line 1\n\
         layer 0:\n{read}  %{next} = mul %{update} %1 : A64[{m},{n}] @0\n  %{last} = add %2 %{next} : A64[{m},{n}] @0\n  keep %{last} state 2 @0\n"
    );
    finish(&mut out, (last, 0), &format!("[{m},{n}]"), layers);
    out
}

/// A task in which each of m clients gets its n numbers back, times the scale, and the server their sum.
fn own(m: u64, n: u64) -> String {
    format!(
        "circuit \"Own\"\nsize \"m\" = \"{m}\"\nparty \"Client\" {m}\nparty \"Server\" 1\n\
         input %0 \"update\" from 0 fixed(16, -8.0, 8.0) [{n}] : A64[{m},{n}]\n\
         input %1 \"scale\" from public int(0, 10) [1,1] : pub.A64[1,1]\n\
         output 0 \"mine\" to 0 [{m},{n}] ring 64 frac 16 factor 1.0 divisor 1.0\n\
         output 1 \"total\" to 1 [{n}] ring 64 frac 16 factor 1.0 divisor 1.0\n\
         site 0 \"s\" line 1\n\
         layer 0:\n  %2 = mul %0 %1 : A64[{m},{n}] @0\n  %3 = sum %0 axes [0] : A64[{n}] @0\n\
         \x20 %4 = as_add3 %2 : add3.A64[{m},{n}] @0\n  %5 = as_add3 %3 : add3.A64[{n}] @0\n\
         \x20 exchange:\n  open_to %4 output 0 @0\n  open_to %5 output 1 @0\n"
    )
}

/// Shares a value anew in each layer from one on; the number of the last one.
fn reshared(out: &mut String, (mut last, first): (u64, u64), n: &str, layers: u64) -> u64 {
    for l in first..first + layers {
        let (add, next) = (last + 1, last + 2);
        *out += &format!(
            "  %{add} = as_add3 %{last} : add3.A64{n} @0\n  exchange:\n  %{next} = reshare %{add} : A64{n} @0\nlayer {}:\n",
            l + 1
        );
        last = next;
    }
    last
}

/// The same, and reveals it after the last.
fn finish(out: &mut String, from: (u64, u64), n: &str, layers: u64) {
    let last = reshared(out, from, n, layers);
    *out += &format!(
        "  %{} = as_add3 %{last} : add3.A64{n} @0\n  exchange:\n  open_to %{} output 0 @0\n",
        last + 1,
        last + 1
    );
}

impl Sums {
    /// The circuit of a task for so many clients.
    fn circuit(task: &Task, clients: Option<u64>) -> Result<Compiled, String> {
        // A check that `slvrc build` has made.
        if task.program.ends_with(".slvrb") {
            let bytes = fs::read(&task.program).map_err(|e| e.to_string())?;
            let circuit = artifact::read(&bytes).map_err(|e| e.to_string())?;
            let divided = task.workers.then(|| (Divided::of(&circuit), [1 << 20; 3]));
            return Ok(Compiled { circuit, memory: [1 << 30; 3], divided });
        }
        let size = |name: &str| -> Option<u64> {
            task.bindings.iter().find_map(|b| b.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
        };
        let m = clients.or(size("m")).ok_or("no m")?;
        let n = size("n").ok_or("no n")?;
        if size("not") == Some(m) {
            return Err(format!("requirement does not hold: there is nothing for {m}"));
        }
        let circuit = program(&task.program, m, n, size("layers").unwrap_or(4));
        let memory = [16 * (m + 8) * n; 3];
        Ok(Compiled { circuit, memory, divided: None })
    }
}

impl Compile for Sums {
    fn task(&self, task: &Task) -> Result<Circuits, String> {
        let all = Sums::circuit(task, None)?;
        let clients = all.circuit.parties[0].size;
        let of = task.clone();
        let make = move |n| Sums::circuit(&of, Some(n));
        let one = |n| (n, make(n).and_then(|c| Summary::of(&c, None)));
        let states = all.circuit.states().next().is_some();
        let fewer = match task.program.ends_with(".slvrb") || states {
            true => BTreeMap::new(),
            false => (task.minimum..clients).map(one).collect(),
        };
        let none = "it is for all of them".to_string();
        Ok(Circuits { all, fewer, none, make: Box::new(make) })
    }
}

/// What a world is made of.
pub struct Shape {
    /// Clients.
    pub m: u64,
    /// Numbers of each.
    pub n: u64,
    /// Layers before the last.
    pub layers: u64,
    /// What is computed: `sums`; of vectors that are loaded in `parts`; the `mean` of those whose inputs are in range; `own`, each
    /// client's numbers for itself; `running`, what each has submitted in all rounds; `present`, the same where the circuit reads
    /// who takes part.
    pub program: &'static str,
    /// A number of clients for which there is no circuit.
    pub not: u64,
    /// Least number of clients.
    pub minimum: u64,
    /// Seconds for a message.
    pub deadline: u64,
    /// Seconds that the leader goes on trying.
    pub patience: u64,
    /// Seconds that a connection may say nothing.
    pub idle: u64,
    /// Lines of `[limits]` besides.
    pub limits: String,
    /// Another task of the name `check`: an artifact.
    pub check: Option<PathBuf>,
    /// Lines of that task besides.
    pub check_lines: String,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            m: 5,
            n: 8,
            layers: 4,
            program: "sums",
            not: 0,
            minimum: 3,
            deadline: 10,
            patience: 60,
            idle: 3,
            limits: String::new(),
            check: None,
            check_lines: String::new(),
        }
    }
}

/// Reads what a node says.
pub struct Reader<'a>(pub &'a Secure);

impl Read for Reader<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(to)
    }
}

/// A deployment.
pub struct World {
    pub folder: TempDir,
    pub shape: Shape,
    pub links: Vec<((usize, usize), Proxy)>,
    pub client_ports: [u16; 3],
    pub peer_ports: [u16; 3],
    pub operations_ports: [u16; 3],
    nodes: [Option<Child>; 3],
    /// Hashes of openings that are known.
    openings: Mutex<BTreeMap<u64, Hash>>,
    /// Variables of the processes.
    pub variables: [Vec<(&'static str, String)>; 3],
}

/// How long is waited for what comes in a moment, on a machine that does much else.
pub const LONG: Duration = Duration::from_secs(120);

pub const TASK: &str = "sums";

/// The name of the task that is an artifact.
pub const CHECK: &str = "check";

/// Ports that are free. They are below those that the system hands out by itself, so that nobody gets them before the
/// nodes listen.
pub fn ports<const N: usize>() -> [u16; N] {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = (std::process::id() % 1000) as u16 * 12;
    [(); N].map(|()| {
        loop {
            let port = 20_000 + (first + NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
            if TcpListener::bind(("127.0.0.1", port)).is_ok() {
                break port;
            }
        }
    })
}

impl World {
    /// Keys and configurations, and no process yet.
    pub fn new(shape: Shape) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let p: [u16; 9] = ports();
        let clients = (0..shape.m).map(client).collect();
        let mut tasks = format!(
            "[limits]\ndeadline_s = {}\npatience_s = {}\nidle_s = {}\n{}\n\n[[task]]\nname = \"{TASK}\"\nprogram = \"{}\"\n\
             bindings = [\"m={}\", \"n={}\", \"layers={}\", \"not={}\"]\nclients = \"m\"\nminimum = 2\n",
            shape.deadline,
            shape.patience,
            shape.idle,
            shape.limits,
            shape.program,
            shape.m,
            shape.n,
            shape.layers,
            shape.not
        );
        if let Some(check) = &shape.check {
            tasks += &format!(
                "\n[[task]]\nname = \"{CHECK}\"\nprogram = {check:?}\nminimum = 2\n{}\n",
                shape.check_lines
            );
        }
        let plan = Plan {
            hosts: [0; 3].map(|_| "127.0.0.1".to_string()),
            peer_ports: [p[0], p[1], p[2]],
            client_ports: [p[3], p[4], p[5]],
            operations_ports: [p[6], p[7], p[8]],
            listen: Some("127.0.0.1".into()),
            clients,
            members: Vec::new(),
            data: "data".into(),
            tasks,
            files: Vec::new(),
        };
        make(folder.path(), &plan).expect("keys");
        let mut links = Vec::new();
        for i in 0..3 {
            let path = folder.path().join(format!("node-{i}/node.toml"));
            let mut toml = fs::read_to_string(&path).expect("a configuration");
            for j in (0..3).filter(|j| *j != i) {
                let proxy = Proxy::new(p[j]);
                toml = toml.replace(
                    &format!("address = \"127.0.0.1:{}\"", p[j]),
                    &format!("address = \"127.0.0.1:{}\"", proxy.port),
                );
                links.push(((i, j), proxy));
            }
            fs::write(&path, toml).expect("writes");
        }
        World {
            folder,
            shape,
            links,
            client_ports: plan.client_ports,
            peer_ports: plan.peer_ports,
            operations_ports: plan.operations_ports,
            nodes: [None, None, None],
            openings: Mutex::default(),
            variables: Default::default(),
        }
    }

    /// With all three nodes.
    pub fn started(shape: Shape) -> World {
        let mut world = World::new(shape);
        (0..3).for_each(|i| world.start(i));
        world
    }

    /// Changes a node's configuration.
    pub fn edit(&self, node: usize, changes: &[(&str, &str)]) {
        let path = self.folder.path().join(format!("node-{node}/node.toml"));
        let mut text = fs::read_to_string(&path).expect("a configuration");
        for (from, to) in changes {
            assert!(text.contains(from), "{from}: {text}");
            text = text.replace(from, to);
        }
        fs::write(&path, text).expect("writes");
    }

    /// Adds lines to a node's configuration.
    pub fn add(&self, node: usize, lines: &str) {
        let path = self.folder.path().join(format!("node-{node}/node.toml"));
        let text = fs::read_to_string(&path).expect("a configuration");
        fs::write(&path, format!("{text}\n{lines}\n")).expect("writes");
    }

    /// Where a node keeps what it has of a round.
    pub fn data(&self, node: usize, round: u64) -> PathBuf {
        self.folder.path().join(format!("node-{node}/data/rounds/{TASK}/{round}"))
    }

    /// Opens a folder of data as a node does.
    pub fn store(&self, node: usize, data: Option<&Path>) -> Store {
        let path = self.folder.path().join(format!("node-{node}/node.toml"));
        let config = NodeConfig::read(&path).expect("a configuration");
        let key = Key::new(config.storage_key().expect("a key"));
        let data = data.unwrap_or(&config.data);
        Store::open(data, key).unwrap_or_else(|e| panic!("{}: {e}", data.display()))
    }

    pub fn log(&self, node: usize) -> PathBuf {
        self.folder.path().join(format!("node-{node}.log"))
    }

    /// What a node has logged.
    pub fn logged(&self, node: usize) -> String {
        fs::read_to_string(self.log(node)).unwrap_or_default()
    }

    /// Starts a node and does not wait for it.
    pub fn start(&mut self, i: usize) {
        self.kill(i);
        let log = File::options().create(true).append(true).open(self.log(i)).expect("a log");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["node_process", "--exact", "--nocapture", "--test-threads=1"]);
        command.env(CONFIG, self.folder.path().join(format!("node-{i}/node.toml")));
        command.envs(self.variables[i].iter().map(|(n, v)| (*n, v)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.nodes[i] = Some(command.spawn().expect("starts"));
    }

    /// Ends a node at once.
    pub fn kill(&mut self, i: usize) {
        if let Some(mut child) = self.nodes[i].take() {
            child.kill().expect("is ended");
            child.wait().expect("has ended");
        }
    }

    /// Sends a node a signal.
    pub fn signal(&self, i: usize, signal: &str) {
        self.nodes[i].iter().for_each(|child| send(child, signal));
    }

    pub fn pid(&self, i: usize) -> u32 {
        self.nodes[i].as_ref().expect("a node").id()
    }

    /// Bytes of memory of a node.
    pub fn resident(&self, i: usize) -> u64 {
        let pid = self.nodes[i].as_ref().expect("a node").id();
        let text = fs::read_to_string(format!("/proc/{pid}/statm")).expect("a process");
        text.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a number") * 4096
    }

    /// Most bytes of memory that a node has had.
    pub fn most_resident(&self, i: usize) -> u64 {
        let pid = self.nodes[i].as_ref().expect("a node").id();
        let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("a line");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// Whether a node's process is there.
    pub fn is_there(&mut self, i: usize) -> bool {
        self.nodes[i].as_mut().is_some_and(|c| c.try_wait().expect("a process").is_none())
    }

    pub fn caller(&self, file: &str) -> Caller {
        let config = CallerConfig::read(&self.folder.path().join(file)).expect("a configuration");
        Caller::new(config).expect("keys")
    }

    pub fn coordinator(&self) -> Caller {
        self.caller("coordinator/coordinator.toml")
    }

    pub fn client(&self, i: u64) -> Caller {
        self.caller(&format!("clients/{}/client.toml", client(i)))
    }

    pub fn circuit(&self) -> (Circuit, Hash) {
        let Shape { m, n, layers, program: name, .. } = self.shape;
        let circuit = program(name, m, n, layers);
        let hash = Hex(slvr_circuit::artifact::hash(&circuit));
        (circuit, hash)
    }

    /// The public inputs: a scale of 1.
    pub fn public(&self) -> Public {
        Public::from([(1, 1u64.to_le_bytes().to_vec())])
    }

    /// Opens a round, as soon as all nodes are there.
    pub fn open(&self, round: u64, seconds: u64) -> Value {
        let coordinator = self.coordinator();
        until(Duration::from_secs(60), "a round is open", || {
            match coordinator.open(
                (TASK, round),
                (seconds, 1, Some(self.shape.minimum)),
                &self.public(),
            ) {
                Ok(shown) => Some(shown),
                Err(CallError::Refused { code, message, .. })
                    if ![Code::Open, Code::Away].contains(&code) =>
                {
                    panic!("{message}")
                }
                Err(_) => None,
            }
        })
    }

    /// The hash of a round's opening, of whichever node says it, once one answers; zeros of a round that nobody knows.
    pub fn opening(&self, round: u64) -> Hash {
        let mut known = self.openings.lock().expect("a list");
        let asks = self.client(0);
        *known.entry(round).or_insert_with(|| {
            let shown = until(Duration::from_secs(60), "a node answers", || {
                let answers = [0, 1, 2].map(|node| asks.status(node, TASK, round));
                let answered = |answer: &Result<Value, CallError>| {
                    !matches!(answer, Err(CallError::Unreachable { .. }))
                };
                answers.iter().any(answered).then(|| answers.into_iter().find_map(Result::ok))
            });
            let text = shown.unwrap_or_default()["opening"].as_str().map(Hash::parse);
            text.flatten().unwrap_or(Hex([0; 32]))
        })
    }

    /// What client i submits: 1 in its own place, and its number in the last.
    pub fn submission(&self, i: u64, round: u64) -> Submission {
        let mut x = vec![0.0; self.shape.n as usize];
        x[(i % self.shape.n) as usize] = 1.0;
        self.submission_of(i, round, x)
    }

    pub fn submission_of(&self, i: u64, round: u64, x: Vec<f64>) -> Submission {
        self.submission_that(i, round, x, true)
    }

    /// The same, in range or not.
    pub fn submission_that(&self, i: u64, round: u64, x: Vec<f64>, fair: bool) -> Submission {
        self.submission_to(i, round, (x, fair), self.opening(round))
    }

    /// The same to an opening of that hash.
    pub fn submission_to(
        &self,
        i: u64,
        round: u64,
        (x, fair): (Vec<f64>, bool),
        opening: Hash,
    ) -> Submission {
        let (circuit, hash) = self.circuit();
        let hashes = (hash, opening);
        let secret = self.client(i).config().secret.expect("a secret");
        let signer = Signer::new(&secret.0).expect("a key");
        let mut tensors =
            BTreeMap::from([("update".to_string(), RawTensor::reals([self.shape.n], x))]);
        if self.shape.program == "mean" {
            tensors.insert("fair".into(), RawTensor::integers([], vec![i64::from(fair)]));
        }
        Submission::new(&signer, (TASK, round, &client(i)), &circuit, hashes, &tensors)
            .expect("a submission")
    }

    pub fn submit(&self, i: u64, round: u64) {
        let submission = self.submission(i, round);
        let done = self.client(i).submit(&submission, Duration::from_secs(30), &|_, _, _| {});
        done.unwrap_or_else(|e| panic!("client {i}: {e}"));
    }

    /// Asks one node in the name of another.
    pub fn ask(&self, from: usize, to: usize, ask: &Ask) -> Answer {
        let tls = crate::attacks::call_node(self, to, Some(&format!("node-{from}/node")));
        let tls = tls.expect("connects");
        let read = || read_frame::<Answer>(&mut Reader(&tls), SHORT).expect("an answer");
        tls.write_all(&frame(&Purpose::Control { version: PROTOCOL }), true).expect("sends");
        assert!(matches!(read(), Answer::Done));
        tls.write_all(&frame(ask), true).expect("sends");
        read()
    }

    /// Waits until the leader's round has ended; how.
    pub fn ended(&self, round: u64, most: Duration) -> Value {
        let coordinator = self.coordinator();
        until(most, "a round has ended", || {
            let status = coordinator.status(0, TASK, round).ok()?;
            let ended = status["phase"] == "released" || status["phase"] == "aborted";
            ended.then_some(status)
        })
    }

    /// Opens a round, and these clients submit to it.
    pub fn begin(&self, round: u64, clients: &[u64]) {
        self.open(round, 600);
        clients.iter().for_each(|&i| self.submit(i, round));
    }

    /// Waits until a node shows that of a round.
    pub fn shows(&self, node: usize, round: u64, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let coordinator = self.coordinator();
        until(LONG, what, || coordinator.status(node, TASK, round).ok().filter(&is))
    }

    /// Waits until a node computes more than so many layers of a round.
    pub fn computes(&self, node: usize, round: u64, layers: u64) {
        let deep = |s: &Value| s["run"]["layer"].as_u64() > Some(layers);
        self.shows(node, round, "the run is under way", deep);
    }

    /// Waits until all nodes know that a round is in that phase.
    pub fn all_know(&self, round: u64, phase: &str) {
        (0..3).for_each(|node| drop(self.shows(node, round, phase, |s| s["phase"] == phase)));
    }

    /// Waits until a round is released that counts these clients.
    pub fn released(&self, round: u64, clients: &[u64]) -> Value {
        let status = self.ended(round, LONG);
        assert_eq!(status["phase"], "released", "{status}");
        assert_eq!(self.total(round), self.expected(clients), "{status}");
        status
    }

    /// Waits until a round is aborted; why.
    pub fn aborted(&self, round: u64) -> String {
        let status = self.ended(round, LONG);
        assert_eq!(status["phase"], "aborted", "{status}");
        status["aborted"].as_str().expect("a cause").to_string()
    }

    /// Gives a node what client i submits.
    pub fn submit_to(&self, i: u64, node: usize, made: &Submission) -> Result<Value, CallError> {
        self.client(i).submit_to(node, made, &|_, _, _| {})
    }

    /// What a released round reveals.
    pub fn values(&self, round: u64) -> Vec<f64> {
        let got = self.coordinator().collect(TASK, round).unwrap_or_else(|e| panic!("{e}"));
        got.revealed[0].values.clone()
    }

    /// The sum that a released round reveals, rounded.
    pub fn total(&self, round: u64) -> Vec<i64> {
        self.values(round).iter().map(|v| v.round() as i64).collect()
    }

    /// What these clients add up to.
    pub fn expected(&self, clients: &[u64]) -> Vec<i64> {
        let mut out = vec![0; self.shape.n as usize];
        clients.iter().for_each(|i| out[(i % self.shape.n) as usize] += 1);
        out
    }
}

impl Drop for World {
    fn drop(&mut self) {
        (0..3).for_each(|i| self.kill(i));
        if thread::panicking() {
            for i in 0..3 {
                eprintln!("--- node {i}\n{}", self.logged(i));
            }
        }
    }
}

/// Sends a process a signal. One that is stopped has stopped afterwards, with all of its threads.
pub fn send(child: &Child, signal: &str) {
    let pid = child.id();
    let done = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(done.expect("kill").success());
    if signal == "-STOP" {
        let stands = |thread: &Path| fs::read_to_string(thread.join("stat")).unwrap_or_default();
        until(LONG, "it has stopped", || {
            let all = fs::read_dir(format!("/proc/{pid}/task")).expect("a process").flatten();
            all.map(|t| t.path()).all(|t| stands(&t).contains(") T ")).then_some(())
        });
    }
}

/// A number that a variable says for a long run.
pub fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// A client's name.
pub fn client(i: u64) -> String {
    format!("client-{i:03}")
}

/// Asks until there is an answer.
pub fn until<T>(most: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + most;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "not within {most:?}: {what}");
        thread::sleep(Duration::from_millis(30));
    }
}
