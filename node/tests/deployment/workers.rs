//! Workers: processes that compute ranges for their node, and what becomes of a round when they fail.
//!
//! What a round reveals is compared with the formula of its predicate, and with a run of the same circuit without workers.

use crate::WORKER;
use crate::attacks::{call_at, says};
use crate::page::metrics;
use crate::proxy::Proxy;
use crate::schedules::Draw;
use crate::upkeep::{ask, body};
use crate::world::{CHECK, Shape, World, client, ports, send, until};
use serde_json::Value;
use slvr_circuit::{Circuit, artifact};
use slvr_compiler::cost::{self, NetProfile};
use slvr_compiler::pipeline;
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::types;
use slvr_node::config::identity;
use slvr_node::hex::{Hex, sha256};
use slvr_node::keys;
use slvr_node::submission::{Signer, Submission, pack_public};
use slvr_runtime::party::session::{Options, run_local};
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor, encode_public};
use slvr_simulation::idx;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub const LONG: Duration = Duration::from_secs(300);

/// A predicate that comes with the compiler, built as a task with workers is.
fn compiled(name: &str, sizes: &[(&str, &str)], memory: Option<u64>) -> Circuit {
    compiled_with(name, sizes, memory, false)
}

pub fn compiled_with(
    name: &str,
    sizes: &[(&str, &str)],
    memory: Option<u64>,
    speculate: bool,
) -> Circuit {
    let mut sources = Sources::new();
    let text = slvr_predicates::get(&format!("{name}.slvr")).expect("a predicate");
    let file = sources.add(name, text);
    let bindings = sizes.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = types::Options { bindings, ..types::Options::default() };
    let mut nothing = |_: &str| Err(LoadError::NotFound);
    let checked = types::check(&mut sources, file, &options, &mut nothing);
    let program = checked.unwrap_or_else(|_| panic!("{name}")).program;
    let how = pipeline::Options { memory, speculate, ..pipeline::Options::default() };
    let made = pipeline::compile_with(&program, &sources, how, |_, _| {});
    made.unwrap_or_else(|_| panic!("{name}")).circuit
}

/// What clients and the coordinator give, and what follows from it in plain arithmetic.
#[derive(Clone)]
pub struct Case {
    pub circuit: Circuit,
    public: BTreeMap<String, RawTensor>,
    clients: Vec<BTreeMap<String, RawTensor>>,
    expected: Vec<f64>,
}

/// A number in units of 2^-16, so that sums are exact.
fn unit(draw: &mut Draw, most: u64) -> f64 {
    (draw.of(2 * most + 1) as f64 - most as f64) / 65_536.0
}

impl Case {
    fn members(circuit: &Circuit) -> usize {
        circuit.parties[0].size as usize
    }

    fn size(circuit: &Circuit, name: &str) -> u64 {
        let input = circuit.inputs.iter().find(|i| i.name == name);
        input.expect("an input").shape.iter().product()
    }

    /// A fourth of the updates is about three times as long as the others, and counts as zeros.
    pub fn norm_bound(model: &str, m: &str, memory: Option<u64>, seed: u64) -> Case {
        let circuit = compiled("norm_bound", &[("M", model), ("m", m)], memory);
        let (m, n) = (Case::members(&circuit), Case::size(&circuit, "update"));
        let mut draw = Draw(seed);
        let all: Vec<Vec<f64>> = (0..m)
            .map(|i| {
                let most = if i % 4 == 3 { 1100 } else { 300 + draw.of(100) };
                (0..n).map(|_| unit(&mut draw, most)).collect()
            })
            .collect();
        let squares = |x: &Vec<f64>| x.iter().map(|x| x * x).sum::<f64>();
        let lengths: Vec<f64> = all.iter().map(|x| squares(x).sqrt()).collect();
        let bound = {
            let mut sorted = lengths.clone();
            sorted.sort_by(f64::total_cmp);
            1.5 * sorted[(m - 1) / 2]
        };
        let kept: Vec<bool> = lengths.iter().map(|l| *l < bound).collect();
        assert!(kept.contains(&false), "seed {seed}: all are kept");
        let column = |j: usize| {
            let one = |(x, keep): (&Vec<f64>, &bool)| if *keep { x[j] } else { 0.0 };
            all.iter().zip(&kept).map(one).sum::<f64>() / m as f64
        };
        let expected = (0..n as usize).map(column).collect();
        let given = |x| BTreeMap::from([("update".to_string(), RawTensor::reals([n], x))]);
        Case {
            circuit,
            public: BTreeMap::new(),
            clients: all.into_iter().map(given).collect(),
            expected,
        }
    }

    /// The global model says class 0 of any image, which is right. All updates but c change nothing of that; those say class 1.
    /// So whatever committees are drawn, these c are left out.
    pub fn accuracy(sizes: (&str, &str, &str), memory: Option<u64>, seed: u64) -> Case {
        let mut draw = Draw(seed + 1000);
        let mut pixel = || draw.of(65_536) as f64 / 65_536.0;
        Case::accuracy_on("DigitsNet", sizes, memory, seed, &mut pixel)
    }

    /// The same on images of class 0.
    fn accuracy_on(
        model: &str,
        (m, c, b): (&str, &str, &str),
        memory: Option<u64>,
        seed: u64,
        pixel: &mut dyn FnMut() -> f64,
    ) -> Case {
        let sizes = [("M", model), ("m", m), ("c", c), ("b", b)];
        let circuit = compiled("slvr_accuracy", &sizes, memory);
        let (m, n) = (Case::members(&circuit), Case::size(&circuit, "update"));
        let (c, b): (usize, u64) = (c.parse().expect("c"), b.parse().expect("b"));
        let input = |name: &str| circuit.inputs.iter().find(|i| i.name == name).expect("an input");
        let (last, image) = (input("global").fields.last(), input("image").shape.clone());
        let last = last.expect("fields of a model");
        assert!(last.name.ends_with(".bias") && last.shape == [10], "the last biases come last");
        let bias = n - 10;
        let mut weights = vec![0.0; n as usize];
        weights[bias as usize] = 2.0;
        let mut draw = Draw(seed);
        let bad: BTreeSet<usize> = {
            let mut bad = BTreeSet::new();
            while bad.len() < c {
                bad.insert(draw.of(m as u64) as usize);
            }
            bad
        };
        let mut sum = vec![0.0; n as usize];
        let clients = (0..m).map(|i| {
            let mut x: Vec<f64> = (0..n).map(|_| unit(&mut draw, 200)).collect();
            match bad.contains(&i) {
                true => x[bias as usize + 1] = 4.0,
                false => sum.iter_mut().zip(&x).for_each(|(sum, x)| *sum += x),
            }
            let images = (0..image.iter().product()).map(|_| pixel()).collect();
            BTreeMap::from([
                ("update".to_string(), RawTensor::reals([n], x)),
                ("image".to_string(), RawTensor::reals(image.clone(), images)),
                ("label".to_string(), RawTensor::integers([b], vec![0; b as usize])),
            ])
        });
        let clients = clients.collect();
        let expected = sum.iter().map(|sum| sum / (m - c) as f64).collect();
        let public = BTreeMap::from([("global".to_string(), RawTensor::reals([n], weights))]);
        Case { circuit, public, clients, expected }
    }

    /// What a run in this process without workers reveals.
    pub fn alone(&self) -> Vec<f64> {
        let sets = [vec![self.clients.clone()], vec![Vec::new(); self.circuit.parties.len() - 1]];
        let inputs = Inputs { public: self.public.clone(), sets: sets.concat() };
        let report = run_local(&self.circuit, &inputs, &Options::default());
        report.expect("a run").outputs[0].values.clone()
    }

    /// Four numbers of each input in a row, as numbers and in the units in which they are shared.
    pub fn plain(&self) -> Vec<Vec<u8>> {
        let forms: [fn(f64) -> Vec<u8>; 3] = [
            |x| x.to_le_bytes().to_vec(),
            |x| ((x * 65_536.0) as i64).to_le_bytes().to_vec(),
            |x| ((x * 65_536.0) as i32).to_le_bytes().to_vec(),
        ];
        let mut out = Vec::new();
        for tensor in self.clients.iter().flat_map(BTreeMap::values) {
            let RawData::F64(values) = &tensor.data else { continue };
            for row in values.chunks_exact(4).step_by(20).filter(|row| !row.contains(&0.0)) {
                out.extend(forms.map(|form| row.iter().flat_map(|x| form(*x)).collect::<Vec<_>>()));
            }
        }
        out
    }

    pub fn check(&self, values: &[f64], what: &str) {
        let far = values.iter().zip(&self.expected).position(|(a, b)| (a - b).abs() > 1e-12);
        assert_eq!(values.len(), self.expected.len(), "{what}");
        assert_eq!(far, None, "{what}: {:?}", far.map(|at| (values[at], self.expected[at])));
    }
}

/// The hash of a certificate beside its key.
fn certified(own: &Path) -> String {
    let (certificate, key) = (own.with_extension("crt"), own.with_extension("key"));
    sha256(&identity(&certificate, &key).expect("an identity").0).to_string()
}

/// A deployment with workers.
pub struct Crew {
    pub world: World,
    pub case: Case,
    pub count: usize,
    processes: BTreeMap<(usize, usize), Child>,
    /// Lines that can be cut: from a node to its worker, and between the same workers of two nodes.
    pub lines: Vec<Proxy>,
}

impl Crew {
    pub fn new(case: Case, count: usize, shape: Shape) -> Crew {
        let file = std::env::temp_dir();
        let file = file.join(format!("slvr-{}-{:p}.slvrb", std::process::id(), &case));
        fs::write(&file, artifact::write(&case.circuit)).expect("writes");
        let world = World::new(Shape {
            m: case.clients.len() as u64,
            check: Some(file),
            check_lines: "workers = true".into(),
            limits: format!("run_memory_mb = 20000\n{}", shape.limits),
            ..shape
        });
        let folder = world.folder.path().to_path_buf();
        keys::workers(&folder, count).expect("workers");
        let mut lines = Vec::new();
        for (node, k) in (0..3).flat_map(|node| (0..count).map(move |k| (node, k))) {
            let [port] = ports();
            let own = folder.join(format!("node-{node}/worker-{k}"));
            let hash = certified(&own.join("worker"));
            let edit = |path: &Path, change: &dyn Fn(&str) -> Option<String>| {
                let text = fs::read_to_string(path).expect("a configuration");
                let lines: Vec<&str> = text.lines().collect();
                let next = lines.iter().skip(1).chain([&""]);
                // An address stands before its certificate.
                let one = |(line, next): (&&str, &&str)| match line.split_once(" = ") {
                    Some(("listen", _)) => change("listen").unwrap_or(line.to_string()),
                    Some(("address", _)) if next.contains(&hash) => {
                        change("address").expect("an address")
                    }
                    _ => line.to_string(),
                };
                let text: Vec<String> = lines.iter().zip(next).map(one).collect();
                fs::write(path, text.join("\n") + "\n").expect("writes");
            };
            edit(&own.join("worker.toml"), &|name| Some(format!("{name} = \"127.0.0.1:{port}\"")));
            // Those of nodes with larger numbers call.
            let others = (node + 1..3).map(|i| format!("node-{i}/worker-{k}/worker.toml"));
            for path in others.chain([format!("node-{node}/node.toml")]) {
                let proxy = Proxy::new(port);
                let at = format!("address = \"127.0.0.1:{}\"", proxy.port);
                edit(&folder.join(path), &|name| (name == "address").then(|| at.clone()));
                lines.push(proxy);
            }
        }
        Crew { world, case, count, processes: BTreeMap::new(), lines }
    }

    pub fn started(case: Case, count: usize, shape: Shape) -> Crew {
        let mut crew = Crew::new(case, count, shape);
        (0..3).for_each(|node| (0..count).for_each(|k| crew.start(node, k)));
        (0..3).for_each(|node| crew.world.start(node));
        crew
    }

    fn folder(&self, node: usize, k: usize) -> PathBuf {
        self.world.folder.path().join(format!("node-{node}/worker-{k}"))
    }

    fn log(&self, node: usize, k: usize) -> PathBuf {
        self.world.folder.path().join(format!("worker-{node}-{k}.log"))
    }

    /// What a worker has logged.
    pub fn logged_by(&self, node: usize, k: usize) -> String {
        fs::read_to_string(self.log(node, k)).unwrap_or_default()
    }

    /// What all workers have logged.
    fn logged(&self) -> String {
        let all = (0..3).flat_map(|node| (0..self.count).map(move |k| (node, k)));
        let one = |(node, k)| format!("--- worker {k} of node {node}\n{}", self.logged_by(node, k));
        all.map(one).collect()
    }

    /// In how many attempts of a node each of its workers has failed.
    pub fn failed(&self, node: usize) -> Vec<u64> {
        let shown = metrics(&self.world, node);
        let count = |k: usize| {
            let name = format!("slvr_ranges_failed_total{{worker=\"{k}\"}} ");
            let line = shown.lines().find_map(|l| l.strip_prefix(&name));
            line.map_or(0, |n| n.parse().expect("a number"))
        };
        (0..self.count).map(count).collect()
    }

    pub fn start(&mut self, node: usize, k: usize) {
        self.start_with(node, k, self.folder(node, k));
    }

    fn start_with(&mut self, node: usize, k: usize, folder: PathBuf) {
        self.kill(node, k);
        let log = File::options().create(true).append(true).open(self.log(node, k));
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["worker_process", "--exact", "--nocapture", "--test-threads=1"]);
        command.env(WORKER, folder.join("worker.toml")).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.expect("a log"));
        self.processes.insert((node, k), command.spawn().expect("starts"));
    }

    /// Somebody with another certificate in a worker's place.
    pub fn impostor(&mut self, node: usize, k: usize, own: &str) {
        let path = |end: &str| self.world.folder.path().join(format!("{own}.{end}"));
        let usual = self.folder(node, k);
        let before = certified(&usual.join("worker"));
        let after = certified(&self.world.folder.path().join(own));
        let text = fs::read_to_string(usual.join("worker.toml")).expect("a configuration");
        // It believes that its certificate is the one that is expected of it.
        let text = text.replace(&after, &Hex([9; 32]).to_string()).replace(&before, &after);
        let folder = self.world.folder.path().join(format!("impostor-{node}-{k}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("worker.toml"), text).expect("writes");
        fs::copy(path("crt"), folder.join("worker.crt")).expect("a copy");
        fs::copy(path("key"), folder.join("worker.key")).expect("a copy");
        self.start_with(node, k, folder);
    }

    /// Nothing is configured of where workers are.
    pub fn forget_places(&self) {
        let edit = |path: &Path| {
            let text = fs::read_to_string(path).expect("a configuration");
            let (before, workers) = text.split_once("[[worker]]").expect("workers");
            let kept: Vec<&str> =
                workers.lines().filter(|line| !line.starts_with("address = ")).collect();
            fs::write(path, format!("{before}[[worker]]{}\n", kept.join("\n"))).expect("writes");
        };
        for node in 0..3 {
            edit(&self.world.folder.path().join(format!("node-{node}/node.toml")));
            (0..self.count).for_each(|k| edit(&self.folder(node, k).join("worker.toml")));
        }
    }

    pub fn kill(&mut self, node: usize, k: usize) {
        if let Some(mut child) = self.processes.remove(&(node, k)) {
            child.kill().expect("is ended");
            child.wait().expect("has ended");
        }
    }

    pub fn signal(&self, node: usize, k: usize, signal: &str) {
        // One that has not begun to listen takes no part, stopped or not.
        until(LONG, "a worker listens", || {
            self.logged_by(node, k).contains("started node=").then_some(())
        });
        self.processes.get(&(node, k)).into_iter().for_each(|child| send(child, signal));
    }

    pub fn pid(&self, node: usize, k: usize) -> u32 {
        self.processes[&(node, k)].id()
    }

    /// Opens a round, and all clients submit to it.
    pub fn submit(&self, round: u64) -> Vec<Submission> {
        let (coordinator, circuit) = (self.world.coordinator(), &self.case.circuit);
        let public = encode_public(circuit, &self.case.public).expect("in range");
        let public = pack_public(&public);
        until(LONG, "a round is open", || {
            coordinator.open((CHECK, round), (3600, 0, None), &public).ok()
        });
        let opening = coordinator.opening(CHECK, round).expect("is open").digest();
        let hashes = (Hex(artifact::hash(circuit)), opening);
        let one = |i: usize| {
            let caller = self.world.client(i as u64);
            let signer = Signer::new(&caller.config().secret.expect("a secret").0).expect("a key");
            let (name, given) = (client(i as u64), &self.case.clients[i]);
            let made = Submission::new(&signer, (CHECK, round, &name), circuit, hashes, given);
            let made = made.expect("a submission");
            caller.submit(&made, LONG, &|_, _, _| {}).expect("submits");
            made
        };
        (0..self.case.clients.len()).map(one).collect()
    }

    /// Waits until a round has ended at node 0; how.
    pub fn ended(&self, round: u64, most: Duration) -> Value {
        let coordinator = self.world.coordinator();
        until(most, "the round ends", || {
            let status = coordinator.status(0, CHECK, round).ok()?;
            let ended = status["phase"] == "released" || status["phase"] == "aborted";
            ended.then_some(status)
        })
    }

    /// Waits until a round is released, and compares what it reveals; how.
    pub fn released(&self, round: u64, what: &str) -> Value {
        let status = self.ended(round, LONG);
        assert_eq!(status["phase"], "released", "{what}: {status}");
        self.case.check(&self.values(round), what);
        status
    }

    /// The numbers of the workers that took part in a round, the same at all nodes.
    pub fn took_part(&self, round: u64) -> Vec<u64> {
        let all = self.reports(round).map(|report| {
            let work = report["outcome"]["workers"].as_array().cloned().unwrap_or_default();
            work.iter().map(|w| w["worker"].as_u64().expect("a number")).collect::<Vec<_>>()
        });
        assert!(all[0] == all[1] && all[0] == all[2], "{all:?}");
        all[0].clone()
    }

    /// In how many attempts each worker of each node has failed.
    pub fn all_failed(&self) -> [Vec<u64>; 3] {
        [0, 1, 2].map(|node| self.failed(node))
    }

    /// Waits until a worker computes: its node waits for a range of it.
    pub fn computes(&self, node: usize, round: u64) -> bool {
        self.computes_in(node, round, 0)
    }

    /// The same in this attempt or a later one.
    pub fn computes_in(&self, node: usize, round: u64, attempt: u64) -> bool {
        let coordinator = self.world.coordinator();
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            let shown = coordinator.status(node, CHECK, round).unwrap_or_default();
            if shown["run"]["range"].is_u64() && shown["attempt"].as_u64() >= Some(attempt) {
                return true;
            }
            if shown["phase"] == "released" || shown["phase"] == "aborted" {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// A line between workers breaks whenever a range is computed for this node, until none is any more.
    pub fn breaks(&self, line: usize, node: usize) {
        while self.computes(node, 1) {
            self.lines[line].cut();
            self.lines[line].heal();
            self.lines[line].slow(15);
            thread::sleep(Duration::from_millis(100));
        }
    }

    pub fn values(&self, round: u64) -> Vec<f64> {
        let got = self.world.coordinator().collect(CHECK, round);
        got.unwrap_or_else(|e| panic!("{e}")).revealed[0].values.clone()
    }

    /// No worker keeps a file, in its folder or open.
    pub fn keeps_nothing(&self, what: &str) {
        for (&(node, k), child) in &self.processes {
            let all = fs::read_dir(self.folder(node, k)).expect("a folder").flatten();
            let all: BTreeSet<_> =
                all.map(|f| f.file_name().into_string().expect("a name")).collect();
            let made = ["worker.crt", "worker.key", "worker.toml"].map(String::from);
            assert_eq!(all, BTreeSet::from(made), "{what}");
            let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten();
            let open = open.flatten().filter_map(|f| fs::read_link(f.path()).ok());
            let log = self.log(node, k);
            let left = open.filter(|f| f.is_absolute() && f.is_file() && *f != log);
            assert_eq!(left.collect::<Vec<_>>(), Vec::<PathBuf>::new(), "{what}");
        }
    }

    pub fn reports(&self, round: u64) -> [Value; 3] {
        let coordinator = self.world.coordinator();
        [0, 1, 2].map(|node| coordinator.report(node, CHECK, round).expect("a report"))
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let all: Vec<_> = self.processes.keys().copied().collect();
        all.into_iter().for_each(|(node, k)| self.kill(node, k));
        if let Some(check) = &self.world.shape.check {
            let _ = fs::remove_file(check);
        }
        if thread::panicking() {
            eprintln!("{}", self.logged());
        }
    }
}

/// Rounds with these numbers of workers: what each reveals, and what each worker counts.
fn exact(case: &Case, counts: &[usize]) {
    let alone = case.alone();
    case.check(&alone, "without workers");
    counts.iter().for_each(|count| exact_with(case.clone(), &alone, *count));
}

fn exact_with(case: Case, alone: &[f64], count: usize) {
    let crew = Crew::started(case, count, Shape { deadline: 120, ..Shape::default() });
    crew.submit(1);
    crew.released(1, &format!("{count} workers"));
    let circuit = &crew.case.circuit;
    let predicted = cost::workers(circuit, count, &[&NetProfile::lan()]).remove(0);
    assert!(!predicted.ranges.is_empty(), "workers have something to do");
    for (me, report) in crew.reports(1).iter().enumerate() {
        assert_eq!(report["circuit"], Hex(artifact::hash(circuit)).to_string());
        let outcome = &report["outcome"];
        let work = outcome["workers"].as_array().cloned().unwrap_or_default();
        assert_eq!(work.len(), count, "{report}");
        let mut sent = predicted.party.bytes[me];
        for (k, (work, cost)) in work.iter().zip(&predicted.workers).enumerate() {
            assert_eq!(work["worker"], k);
            assert_eq!(work["bytes_sent"], cost.bytes[me], "worker {k} of node {me}");
            assert_eq!(work["peak_memory"], cost.memory[me], "worker {k} of node {me}");
            let ranges: BTreeSet<u64> = work["ranges"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|r| r.as_u64().expect("a number"))
                .collect();
            let mine = (0..predicted.ranges.len()).filter(|n| n % count == k).map(|n| n as u64);
            assert_eq!(ranges, mine.collect(), "worker {k} of node {me}");
            sent += cost.bytes[me];
        }
        assert_eq!(outcome["bytes_sent"], sent, "node {me}");
        assert_eq!(outcome["peak_memory"], predicted.party.memory[me], "node {me}");
    }
    assert!(crew.values(1) == *alone, "{count} workers: the same bits");
    crew.keeps_nothing(&format!("{count} workers"));
}

/// Its range loads the updates of all clients: the worker is handed their parts.
#[test]
fn a_norm_bound_is_the_same_with_one_two_and_four_workers() {
    exact(&Case::norm_bound("DigitsNet", "40", Some(2 << 20), 3), &[1, 2, 4]);
}

#[test]
fn an_accuracy_is_the_same_with_one_two_and_four_workers() {
    exact(&Case::accuracy(("40", "2", "10"), Some(14 << 20), 5), &[1, 2, 4]);
}

#[test]
fn a_norm_bound_of_lenet_is_the_same_with_one_and_four_workers() {
    exact(&Case::norm_bound("LeNet5", "16", Some(6 << 20), 3), &[1, 4]);
}

/// On images of the digit 0 only, which the model is right about.
#[test]
#[ignore = "half a minute and more"]
fn an_accuracy_of_lenet_on_mnist_is_the_same_with_one_two_and_four_workers() {
    let folder = std::env::var_os("SLVR_DATA").map_or(PathBuf::from("../data"), PathBuf::from);
    let read = |file: &str| fs::read(folder.join("mnist").join(file)).ok();
    let files = read("train-images-idx3-ubyte.gz").zip(read("train-labels-idx1-ubyte.gz"));
    let Some((images, labels)) = files else {
        eprintln!("skipped: no MNIST; set SLVR_DATA to a folder that has mnist/*.gz");
        return;
    };
    let (_, pixels) = idx::images(&images, 255).expect("images");
    let labels = idx::labels(&labels).expect("labels");
    let zeros = pixels.chunks(28 * 28).zip(labels).filter(|(_, label)| *label == 0);
    let mut pixels = zeros.flat_map(|(image, _)| image).map(|p| f64::from(*p));
    let mut pixel = || pixels.next().expect("enough images");
    let case = Case::accuracy_on("LeNet5", ("16", "2", "10"), Some(60 << 20), 5, &mut pixel);
    exact(&case, &[1, 2, 4]);
}

/// The least number of workers of a node counts; a node without any has all nodes compute alone.
#[test]
fn nodes_with_different_numbers_of_workers_use_those_that_all_have() {
    let case = Case::accuracy(("8", "1", "2"), Some(1500 << 10), 9);
    let mut crew = Crew::new(case, 2, Shape { deadline: 120, ..Shape::default() });
    (0..3).for_each(|node| (0..2).for_each(|k| crew.start(node, k)));
    for (round, left) in [(1, 1), (2, 0)] {
        let path = crew.world.folder.path().join("node-1/node.toml");
        let text = fs::read_to_string(&path).expect("a configuration");
        let last = text.rfind("\n[[worker]]").expect("a worker");
        fs::write(&path, &text[..last]).expect("writes");
        (0..3).for_each(|node| crew.world.start(node));
        crew.submit(round);
        crew.released(round, &format!("{left} workers of node 1"));
        assert_eq!(crew.took_part(round).len(), left);
    }
}

/// What a node answers to whoever says where a worker is.
fn place(crew: &Crew, node: usize, head: &str, told: &str) -> (u16, Value) {
    let head = format!("{head}Content-Length: {}\r\n\r\n{told}", told.len());
    let answer = ask(&crew.world, node, "POST", "/workers", &head);
    (answer[9..12].parse().expect("a status"), body(&answer))
}

/// Has a worker listen elsewhere; where.
fn elsewhere(crew: &Crew, node: usize, k: usize) -> String {
    let [port] = ports();
    let path = crew.folder(node, k).join("worker.toml");
    let text = fs::read_to_string(&path).expect("a configuration");
    let line = text.lines().find(|l| l.starts_with("listen = ")).expect("a line");
    fs::write(&path, text.replace(line, &format!("listen = \"127.0.0.1:{port}\"")))
        .expect("writes");
    format!("127.0.0.1:{port}")
}

/// Nodes are told where their workers are while they run, and tell it to the workers of the others. Whoever is there shows a
/// certificate, wherever it is.
#[test]
fn a_worker_takes_part_where_its_node_is_told_that_it_is() {
    let case = Case::accuracy(("8", "1", "2"), Some(1500 << 10), 9);
    let mut crew = Crew::new(case, 1, Shape { deadline: 120, ..Shape::default() });
    crew.forget_places();
    (0..3).for_each(|node| crew.world.start(node));
    let tell = |crew: &Crew, node: usize, at: &str| {
        let said = place(crew, node, "", &format!("{{\"number\":0,\"address\":\"{at}\"}}"));
        assert_eq!(said, (200, serde_json::json!({ "number": 0, "address": at })));
    };
    let round = |crew: &Crew, round: u64, workers: usize, what: &str| {
        crew.submit(round);
        crew.released(round, what);
        assert_eq!(crew.took_part(round).len(), workers, "{what}");
    };
    round(&crew, 1, 0, "nobody has said where workers are");
    for number in [1, 2] {
        let mut last = String::new();
        for node in 0..3 {
            last = elsewhere(&crew, node, 0);
            crew.start(node, 0);
            tell(&crew, node, &last);
            let log = || fs::read_to_string(crew.log(node, 0)).unwrap_or_default();
            until(LONG, "the worker listens", || log().contains(&last).then_some(()));
        }
        round(&crew, 1 + number, 1, "all are where their nodes were told");
        // The worker of another party is not taken for this node's own.
        tell(&crew, 0, &last);
        round(&crew, 10 + number, 0, "another party's worker");
        assert!(crew.world.logged(0).contains("certificate"), "{}", crew.world.logged(0));
    }
    for (told, status, said) in [
        ("{\"number\":1,\"address\":\"a:1\"}", 404, "there is no worker 1"),
        ("{\"number\":65535,\"address\":\"a:1\"}", 404, "there is no worker 65535"),
        ("{\"number\":-1,\"address\":\"a:1\"}", 400, "is needed"),
        ("{\"number\":65536,\"address\":\"a:1\"}", 400, "is needed"),
        ("{\"number\":0}", 400, "is needed"),
        ("{\"number\":0,\"address\":\"a:1\",\"key\":1}", 400, "is needed"),
        ("", 400, "is needed"),
        ("[", 400, "is needed"),
        ("{\"number\":0,\"address\":\"a\"}", 400, "is a host and a port"),
        ("{\"number\":0,\"address\":\"http://a:1\"}", 400, "is a host and a port"),
        (&"x".repeat(1025), 413, "1024 bytes"),
    ] {
        let (code, answer) = place(&crew, 0, "", told);
        let why = answer["error"]["message"].as_str().unwrap_or_default().to_string();
        assert!(code == status && why.contains(said), "{told}: {code} {answer}");
    }
    // Whoever says one and another address fills no log.
    for n in 0..200 {
        tell(&crew, 0, &format!("a:{}", 1 + n % 2));
    }
    let log = crew.world.logged(0);
    let lines = log.lines().filter(|l| l.contains("is called there from now on")).count();
    assert!((1..100).contains(&lines), "{lines} lines");
    assert_eq!(place(&crew, 0, "Origin: http://x\r\n", "{}").0, 404, "a page in a browser");
    assert!(ask(&crew.world, 0, "GET", "/workers", "").starts_with("HTTP/1.1 404"));
}

/// Over TLS an operator says where any worker is, and a worker where it is itself.
#[test]
fn a_worker_says_itself_where_it_is_and_nothing_of_another_one() {
    let case = Case::accuracy(("8", "1", "2"), Some(1500 << 10), 9);
    let mut crew = Crew::new(case, 2, Shape::default());
    let token = sha256(b"of the operator");
    crew.world.add(0, &format!("[operator]\ntokens = [\"{token}\"]"));
    crew.world.start(0);
    let asks = |crew: &Crew, own: Option<&str>, head: &str, request: &str, number: u16| {
        let told = format!("{{\"number\":{number},\"address\":\"a:1\"}}");
        let at = (0, crew.world.operations_ports[0]);
        let tls = until(LONG, "connects", || call_at(&crew.world, at, own).ok());
        let length = told.len();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: node\r\nConnection: close\r\nContent-Length: {length}\r\n{head}\r\n{told}"
        );
        tls.write_all(head.as_bytes(), true).expect("sends");
        says(&tls).chars().skip(9).take(3).collect::<String>()
    };
    let (own, operator) =
        (Some("node-0/worker-1/worker"), "Authorization: Bearer of the operator\r\n");
    let places = "POST /workers";
    // What is configured stands.
    assert_eq!(asks(&crew, own, "", places, 1), "409");
    crew.world.kill(0);
    crew.forget_places();
    crew.world.start(0);
    assert_eq!(asks(&crew, own, "", places, 1), "200");
    assert_eq!(asks(&crew, own, "", places, 0), "403", "another worker of its node");
    assert_eq!(asks(&crew, own, "", "GET /status.json", 1), "403", "it may look at nothing");
    assert_eq!(asks(&crew, own, "", "POST /backup", 1), "403");
    for (who, head) in [
        (None, ""),
        (None, "Authorization: Bearer of nobody\r\n"),
        (Some("node-1/worker-1/worker"), ""),
        (Some("clients/client-000/client"), ""),
    ] {
        assert_eq!(asks(&crew, who, head, places, 1), "403", "{who:?} {head}");
    }
    assert_eq!(asks(&crew, None, operator, places, 0), "200");
    assert_eq!(asks(&crew, own, operator, places, 0), "200");
    assert_eq!(asks(&crew, None, operator, places, 2), "404");
}
