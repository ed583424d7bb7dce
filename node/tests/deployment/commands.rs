//! Who may command a worker, what it refuses, and what there is to find of a client at each party.

use crate::attacks::dial;
use crate::ray::memory;
use crate::schedules::Draw;
use crate::strikes::{MEMORY, SMALL};
use crate::workers::{Case, Crew};
use crate::world::{LONG, Reader, Shape, number, until};
use slvr_circuit::Circuit;
use slvr_circuit::ranges::Division;
use slvr_node::Divided;
use slvr_node::config::{NodeConfig, WorkerConfig};
use slvr_node::hex::{Hash, Hex};
use slvr_node::peers::Peers;
use slvr_node::state::RoundKey;
use slvr_node::wire::{
    Answer, Begin, FrameError, OfWorker, PROTOCOL, Purpose, RunName, SHORT, ToWorker, frame,
    read_frame,
};
use slvr_runtime::link::tls::Secure;
use slvr_runtime::party::{Origin, packed};
use slvr_runtime::share::Seed;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

fn case() -> Case {
    Case::accuracy(SMALL, MEMORY, 1)
}

fn heard<T: for<'de> serde::Deserialize<'de>>(tls: &Secure) -> Result<T, FrameError> {
    read_frame(&mut Reader(tls), SHORT)
}

impl Crew {
    /// Calls a worker with somebody's certificate.
    fn call(&self, node: usize, k: usize, own: &str) -> std::io::Result<Secure> {
        let worker = format!("node-{node}/worker-{k}/worker");
        let path = self.world.folder.path().join(format!("{worker}.toml"));
        let told = WorkerConfig::read(&path).expect("reads").listen;
        let port = told.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        dial(&self.world, port.expect("a port"), Some(own), &worker)
    }

    /// Asks for an attempt.
    fn asks(&self, node: usize, own: &str, attempt: u32) -> Result<(Secure, Answer), String> {
        self.asks_in((1, attempt), (node, 0), node, own)
    }

    /// The same for an attempt at any round, of whoever is taken for this worker.
    fn asks_in(
        &self,
        (round, attempt): (u64, u32),
        worker: (usize, u16),
        node: usize,
        own: &str,
    ) -> Result<(Secure, Answer), String> {
        let tls = self.call(node, 0, own).map_err(|e| e.to_string())?;
        let name = RunName { key: RoundKey { task: "check".into(), round }, attempt };
        let purpose = Purpose::Ranges { version: PROTOCOL, name, deadline_s: 5, worker };
        tls.write_all(&frame(&purpose), true).map_err(|e| e.to_string())?;
        let answer = heard(&tls).map_err(|e| e.to_string())?;
        Ok((tls, answer))
    }

    /// An attempt at a round in the name of a node.
    fn attempt(&self, node: usize, number: u32) -> Secure {
        let done = self.asks(node, &format!("node-{node}/node"), number).expect("is answered");
        assert!(matches!(done.1, Answer::Done), "{:?}", done.1);
        done.0
    }

    /// The same at all three workers, and the run begins.
    fn begun(&self, number: u32, run: u8) -> Vec<Secure> {
        let lines: Vec<Secure> = (0..3).map(|node| self.attempt(node, number)).collect();
        lines.iter().for_each(|tls| tls.write_all(&self.begin(run, &[0]), true).expect("sends"));
        lines
    }

    /// A worker of each node, and nobody else.
    fn alone() -> Crew {
        let mut crew = Crew::new(case(), 1, Shape::default());
        (0..3).for_each(|node| crew.start(node, 0));
        let there = |node| crew.call(node, 0, &format!("node-{node}/node")).is_ok();
        until(LONG, "workers are there", || (0..3).all(there).then_some(()));
        crew
    }

    fn begin(&self, run: u8, workers: &[u16]) -> Vec<u8> {
        self.begin_with(run, workers, Divided::of(&self.case.circuit).hash)
    }

    fn begin_with(&self, run: u8, workers: &[u16], division: Hash) -> Vec<u8> {
        let bytes = slvr_circuit::artifact::write(&self.case.circuit);
        let begin = ToWorker::Begin(Begin {
            run: Hex([run; 16]),
            // All three have one seed: what is computed is not looked at here.
            next: Seed::new([5; 16]),
            prev: Seed::new([5; 16]),
            workers: workers.iter().copied().collect(),
            addresses: Default::default(),
            dealt: Hex([6; 16]),
            bytes: bytes.len() as u64,
            circuit: Hex(slvr_circuit::artifact::hash(&self.case.circuit)),
            division,
        });
        [&frame(&begin)[..], &bytes].concat()
    }
}

/// A range as its node hands it over: all shares are zeros.
fn range(circuit: &Circuit, me: usize, number: usize, more: u64) -> Vec<u8> {
    let division = Division::of(circuit);
    let reads = division.ranges.get(number).map_or(0, |r| packed(circuit, me, &r.reads)) + more;
    let order = ToWorker::Range { number, replaced: Vec::new(), reads };
    [&frame(&order)[..], &vec![0; reads as usize]].concat()
}

/// A message without the bytes that follow it: it is refused before they are read.
fn head(bytes: &[u8]) -> &[u8] {
    let len = u64::from_le_bytes(bytes[..8].try_into().expect("a length"));
    &bytes[..8 + len as usize]
}

/// Waits until a worker has done a range, or fails.
fn ends(tls: &Secure) -> Result<(), String> {
    loop {
        match heard(tls).map_err(|e| e.to_string())? {
            OfWorker::Lives => {}
            OfWorker::Failed { why, .. } => {
                let more = heard::<OfWorker>(tls);
                assert!(matches!(more, Err(FrameError::Io(_))), "after {why}: {more:?}");
                return Err(why);
            }
            OfWorker::Done { writes, .. } => {
                let mut bytes = vec![0; writes as usize];
                Reader(tls).read_exact(&mut bytes).expect("what is read of it");
                return Ok(());
            }
        }
    }
}

#[test]
fn a_worker_obeys_its_own_node_and_nobody_else() {
    let mut crew = Crew::new(case(), 2, Shape::default());
    (0..3).for_each(|node| crew.start(node, 0));
    until(LONG, "a worker is there", || crew.call(0, 0, "node-0/node").ok());
    // Who may call it at all: its node, and the same workers of the others.
    for own in [
        "node-1/node",
        "node-2/node",
        "node-0/worker-1/worker",
        "node-1/worker-1/worker",
        "node-0/worker-0/worker",
        "coordinator/coordinator",
    ] {
        if crew.world.folder.path().join(format!("{own}.crt")).is_file() {
            assert!(crew.asks(0, own, 1).is_err(), "{own}");
        }
    }
    // Workers of others connect for runs, and order nothing.
    for own in ["node-1/worker-0/worker", "node-2/worker-0/worker"] {
        assert!(crew.asks(0, own, 1).is_err(), "{own}");
    }
    let (_tls, answer) = crew.asks(0, "node-0/node", 1).expect("is answered");
    assert!(matches!(answer, Answer::Done), "{answer:?}");
    // A list in another order, or one worker for two parties.
    for worker in [(0, 1), (1, 0)] {
        let (_tls, answer) = crew.asks_in((1, 1), worker, 0, "node-0/node").expect("is answered");
        let Answer::Refused(why) = answer else { panic!("{answer:?}") };
        assert!(why.contains("this is worker 0 of node 0"), "{why}");
    }
    // A node whose worker shows another one's certificate takes it for nobody.
    let config = |node: usize| {
        let path = crew.world.folder.path().join(format!("node-{node}/node.toml"));
        NodeConfig::read(&path).expect("reads")
    };
    let mut mixed = config(0);
    mixed.worker[0].address = config(1).worker[0].address.clone();
    let peers = Arc::new(Peers::new(&mixed, 1).expect("keys"));
    let why = peers.reach_worker(0, LONG).expect_err("another worker");
    assert!(why.contains("certificate"), "{why}");
    let peers = Arc::new(Peers::new(&config(0), 1).expect("keys"));
    peers.reach_worker(0, LONG).expect("its own");
}

#[test]
fn a_worker_computes_a_range_once_and_refuses_what_makes_no_sense() {
    let crew = Crew::alone();
    let circuit = crew.case.circuit.clone();
    // A range, and the same once more.
    let lines = crew.begun(1, 1);
    for (me, tls) in lines.iter().enumerate() {
        tls.write_all(&range(&circuit, me, 0, 0), true).expect("sends");
    }
    lines.iter().for_each(|tls| ends(tls).expect("the range is computed"));
    for (me, tls) in lines.iter().enumerate() {
        tls.write_all(head(&range(&circuit, me, 0, 0)), true).expect("sends");
        let why = ends(tls).expect_err("a range twice");
        assert!(why.contains("was computed already"), "{why}");
    }
    drop(lines);
    // The same run once more.
    for (me, tls) in crew.begun(2, 1).iter().enumerate() {
        let why = ends(tls).expect_err("a run twice");
        assert!(why.contains("never computed again"), "node {me}: {why}");
    }
    // What does not fit: shares that are too many, a range that there is not, one of another party, a second run.
    let others = (range(&circuit, 1, 0, 0), crew.begin(9, &[0]));
    let cases: [(Vec<u8>, &str); 4] = [
        (range(&circuit, 0, 0, 1), "another length"),
        (range(&circuit, 0, 99, 0), "is not for this worker"),
        (others.0, "another length"),
        (others.1, "a second run"),
    ];
    for (n, (bytes, said)) in cases.into_iter().enumerate() {
        let lines = crew.begun(3 + n as u32, 10 + n as u8);
        lines[0].write_all(head(&bytes), true).expect("sends");
        let why = ends(&lines[0]).expect_err(said);
        assert!(why.contains(said), "{said}: {why}");
    }
    // Before a run: another worker's place, another circuit, a range.
    let another = {
        let mut bytes = crew.begin(30, &[0]);
        let at = bytes.len() - 1;
        bytes[at] ^= 1;
        bytes
    };
    for (n, (bytes, said)) in [
        (crew.begin(31, &[1]), "calls another one"),
        (another, ""),
        (range(&circuit, 0, 0, 0), "a range before the run"),
        (crew.begin_with(32, &[0], Hex([9; 32])), "into other ranges than its node"),
    ]
    .into_iter()
    .enumerate()
    {
        let tls = crew.attempt(0, 20 + n as u32);
        // It may end the connection before it has all of it.
        let _ = tls.write_all(&bytes, true);
        let why = ends(&tls).expect_err("it is refused");
        assert!(why.contains(said), "{said}: {why}");
    }
    // Random bytes, and messages that were changed: it is there afterwards.
    for seed in 0..number("SLVR_COUNT", 20) {
        let mut draw = Draw(seed);
        let mut bytes = [crew.begin(100, &[0]), range(&circuit, 0, 0, 0)].concat();
        for _ in 0..1 + draw.of(4) {
            let most = if draw.of(2) == 0 { 300 } else { bytes.len() as u64 };
            let at = draw.of(most) as usize;
            bytes[at] = draw.of(256) as u8;
        }
        bytes.truncate(1 + draw.of(bytes.len() as u64) as usize);
        let tls = crew.attempt(0, 100 + seed as u32);
        // It may have refused it already.
        let _ = tls.write_all(&bytes, true);
        drop(tls);
    }
    let lines = crew.begun(10_000, 200);
    for (me, tls) in lines.iter().enumerate() {
        tls.write_all(&range(&circuit, me, 1, 0), true).expect("sends");
    }
    lines.iter().for_each(|tls| ends(tls).expect("the range is computed"));
}

/// A node that has vanished says nothing more: a later attempt at the same round takes the place of the one that it was at.
#[test]
fn a_later_attempt_takes_the_place_of_the_one_before() {
    let crew = Crew::alone();
    let own = "node-0/node";
    let mut before = crew.begun(1, 1);
    // The others compute their range and wait for this one.
    for (me, tls) in before.iter().enumerate().skip(1) {
        tls.write_all(&range(&crew.case.circuit, me, 0, 0), true).expect("sends");
    }
    assert!(is_watched(&crew, before[0].socket()), "a machine that vanishes would not be noticed");
    // Neither the same attempt nor one at another round may end it.
    for (round, attempt) in [(1, 1), (2, 2)] {
        let (_tls, answer) = crew.asks_in((round, attempt), (0, 0), 0, own).expect("is answered");
        assert!(matches!(answer, Answer::Busy), "round {round}: {answer:?}");
    }
    let after = crew.begun(2, 2);
    let first = before.remove(0);
    let more = heard::<OfWorker>(&first);
    assert!(!matches!(more, Ok(OfWorker::Done { .. })), "{more:?}");
    for (me, tls) in after.iter().enumerate() {
        tls.write_all(&range(&crew.case.circuit, me, 0, 0), true).expect("sends");
    }
    after.iter().for_each(|tls| ends(tls).expect("the range is computed"));
}

/// Whether the system of a worker looks whether the other end of a line is there: a timer of its socket runs.
fn is_watched(crew: &Crew, line: &TcpStream) -> bool {
    let port =
        |at: std::io::Result<std::net::SocketAddr>| format!(":{:04X}", at.expect("is open").port());
    let (here, there) = (port(line.peer_addr()), port(line.local_addr()));
    let table = fs::read_to_string(format!("/proc/{}/net/tcp", crew.pid(0, 0))).expect("a table");
    let found = table.lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
    let mut found = found.filter(|l| l[1].ends_with(&here) && l[2].ends_with(&there));
    found.next().expect("its socket")[5].starts_with("02:")
}

/// What ends a range is said once, and says whether it comes from elsewhere.
#[test]
fn a_worker_says_once_why_it_stops_and_whether_that_is_its_own() {
    let crew = Crew::alone();
    let mut lines = crew.begun(1, 1);
    for (me, tls) in lines.iter().enumerate().take(2) {
        tls.write_all(&range(&crew.case.circuit, me, 0, 0), true).expect("sends");
    }
    // The node of the third one leaves: nothing is wrong with the workers of the two others.
    lines.pop();
    for (me, tls) in lines.iter().enumerate() {
        let mut all = std::iter::repeat_with(|| heard(tls).expect("it says why"));
        let Some(OfWorker::Failed { why, origin }) = all.find(|m| !matches!(m, OfWorker::Lives))
        else {
            panic!("node {me}: its range is not done")
        };
        assert!(matches!(origin, Origin::Closed | Origin::Echo), "node {me}: {why}");
        assert!(why.contains("worker 0 of node"), "node {me}: {why}");
        let more = heard::<OfWorker>(tls);
        assert!(matches!(more, Err(FrameError::Io(_))), "node {me}, after {why}: {more:?}");
        until(LONG, "its log says why", || crew.logged_by(me, 0).contains(&why).then_some(()));
    }
}

/// Which of these are somewhere in a process's memory.
fn found(pid: u32, wanted: &[Vec<u8>]) -> BTreeSet<usize> {
    let mut out = BTreeSet::new();
    let read = memory(Path::new(&format!("/proc/{pid}")), false, |piece| {
        out.extend((0..wanted.len()).filter(|n| has(piece, &wanted[*n])));
    });
    read.expect("a process");
    out
}

fn has(bytes: &[u8], wanted: &[u8]) -> bool {
    let first = wanted[0];
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|b| *b == first) {
        if rest[at..].starts_with(wanted) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

/// A worker that is at a range has its party's components of a client, and not the third one. No file has any of them.
#[test]
fn nobody_has_a_component_of_another_party() {
    let case = Case::norm_bound("DigitsNet", "8", Some(200 << 10), 3);
    let crew = Crew::started(case, 1, Shape { deadline: 120, ..Shape::default() });
    crew.lines.iter().for_each(|line| line.slow(100));
    let submissions = crew.submit(1);
    assert!(crew.computes(0, 1), "a range is computed");
    // Parts have salts of 32 bytes before each component: two seeds, and 64 of the bytes that are explicit.
    let (first, second) = (submissions[0].part(0), submissions[0].part(1));
    let components = [first[32..48].to_vec(), first[80..96].to_vec(), second[80..144].to_vec()];
    let signal = |what: &str| (0..3).for_each(|node| crew.signal(node, 0, what));
    // They may not have come to the parts yet.
    until(LONG, "all three workers compute with their parts", || {
        signal("-STOP");
        let all = [0, 1, 2].map(|node| {
            let own = BTreeSet::from([node, (node + 1) % 3]);
            let worker = found(crew.pid(node, 0), &components);
            assert!(worker.is_subset(&own), "the worker of node {node}: {worker:?}");
            worker == own
        });
        if all != [true; 3] {
            signal("-CONT");
        }
        (all == [true; 3]).then_some(())
    });
    for node in 0..3 {
        let others = (node + 2) % 3;
        let whole = found(crew.world.pid(node), &components);
        assert!(!whole.contains(&others), "node {node}: {whole:?}");
        let mut folders = vec![crew.world.folder.path().join(format!("node-{node}"))];
        while let Some(folder) = folders.pop() {
            for file in fs::read_dir(folder).expect("a folder").flatten() {
                let path = file.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        let bytes = fs::read(&path).unwrap_or_default();
                        let there = components.iter().position(|c| has(&bytes, c));
                        assert_eq!(there, None, "{}", path.display());
                    }
                }
            }
        }
    }
    signal("-CONT");
    crew.released(1, "after a look");
}

/// What nodes say of tasks that workers cannot compute.
#[test]
fn a_task_that_cannot_be_divided_is_refused_with_its_cause() {
    let crew = Crew::new(case(), 1, Shape::default());
    let path = crew.world.folder.path().join("node-0/node.toml");
    let text = fs::read_to_string(&path).expect("a configuration");
    let said = |text: &str| {
        fs::write(&path, text).expect("writes");
        let config = match NodeConfig::read(&path) {
            Ok(config) => config,
            Err(e) => return e.to_string(),
        };
        let done = slvr_node::Service::start(config, Box::new(crate::world::Sums));
        done.expect_err("is refused").to_string()
    };
    let malicious = text.replace("workers = true", "workers = true\nsecurity = \"malicious\"");
    let why = said(&malicious);
    assert!(why.contains("`check`") && why.contains("against a malicious party"), "{why}");
    let memory = text.rfind("memory_mb = ").expect("a worker");
    let end = memory + text[memory..].find('\n').expect("a line");
    let why = said(&format!("{}memory_mb = 1{}", &text[..memory], &text[end..]));
    assert!(why.contains("[[worker]] 0 has memory_mb = 1"), "{why}");
    // A circuit that speculates on the checks of inputs.
    let ahead = crate::workers::compiled_with(
        "slvr_accuracy",
        &[("M", "DigitsNet"), ("m", "8"), ("c", "1"), ("b", "2")],
        None,
        true,
    );
    let file = crew.world.shape.check.as_ref().expect("an artifact");
    fs::write(file, slvr_circuit::artifact::write(&ahead)).expect("writes");
    let why = said(&text);
    assert!(why.contains("--no-speculation"), "{why}");
}
