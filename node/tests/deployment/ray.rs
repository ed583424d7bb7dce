//! Workers that Ray starts, a cluster for each party. By hand: `python/tests/ray/run.sh` starts the clusters.

use crate::workers::{Case, Crew, LONG};
use crate::world::{Shape, until};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

fn var(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: see python/tests/ray/run.sh"))
}

/// A process that has a party's handles of its workers.
struct Driver {
    child: Child,
    says: ChildStdin,
    heard: BufReader<ChildStdout>,
}

/// The command of a driver of a party, with the cluster and the token of that number.
fn command(crew: &Crew, node: usize, cluster: usize, token: usize) -> Command {
    let ports = var("SLVR_RAY_PORTS");
    let port = ports.split_whitespace().nth(cluster).expect("a cluster").to_string();
    let folder = crew.world.folder.path().join(format!("node-{node}"));
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/tests/ray/driver.py");
    let mut command = Command::new(var("PYTHON"));
    command.arg(checkout);
    command.arg(format!("http://127.0.0.1:{}", crew.world.operations_ports[node]));
    command.arg(folder).arg(var("SLVRC")).env("RAY_ADDRESS", format!("127.0.0.1:{port}"));
    let token = Path::new(&var("SLVR_RAY_FOLDER")).join(format!("{token}.token"));
    command.env("RAY_AUTH_MODE", "token").env("RAY_AUTH_TOKEN_PATH", token);
    command
}

impl Driver {
    fn new(crew: &Crew, node: usize) -> Driver {
        let log = Path::new(&var("SLVR_RAY_FOLDER")).join(format!("driver-{node}.log"));
        let mut command = command(crew, node, node, node);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(File::create(log).expect("a log"));
        let mut child = command.spawn().expect("starts");
        let (says, heard) = (child.stdin.take().expect("a pipe"), child.stdout.take());
        Driver { child, says, heard: BufReader::new(heard.expect("a pipe")) }
    }

    fn ask(&mut self, line: &str) -> Value {
        writeln!(self.says, "{line}").expect("is asked");
        let mut answer = String::new();
        self.heard.read_line(&mut answer).expect("answers");
        serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{line}: {answer:?}: {e}"))
    }

    /// The processes of its workers, once all run and its node has been told of them.
    fn pids(&mut self) -> Vec<u64> {
        let states = self.ask("wait");
        let all = states.as_array().expect("a list").iter();
        all.map(|state| state["pid"].as_u64().expect("a process")).collect()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What starts a driver that is refused says.
fn refused(mut command: Command) -> String {
    let done = command.stdin(Stdio::null()).output().expect("runs");
    assert!(!done.status.success(), "it is not refused");
    String::from_utf8_lossy(&done.stderr).into_owned()
}

fn kill(pid: u64) {
    let done = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    assert!(done.expect("kill").success());
}

/// Who has started a process.
fn parent(pid: u64) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = text.lines().find_map(|l| l.strip_prefix("PPid:")).expect("a line");
    line.trim().parse().expect("a number")
}

const PAGE: usize = 4096;

/// Bytes that are looked for, by the first eight of each.
#[derive(Default)]
struct Wanted {
    all: HashMap<[u8; 8], Vec<Vec<u8>>>,
    /// By [`first`], so that little is looked up.
    begins: Vec<bool>,
}

impl Wanted {
    fn add(&mut self, bytes: &[u8]) {
        self.begins.resize(1 << 24, false);
        let eight = *bytes.first_chunk::<8>().expect("eight bytes");
        self.begins[first(&eight)] = true;
        self.all.entry(eight).or_default().push(bytes.to_vec());
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        // Most of a memory are zeros, and nothing that is wanted begins with as many.
        let pages = (0..bytes.len()).step_by(PAGE).filter(|at| {
            let page = &bytes[*at..bytes.len().min(at + PAGE)];
            page != &[0; PAGE][..page.len()]
        });
        let found = |at: usize| {
            let rest = &bytes[at..];
            let Some(eight) = rest.first_chunk::<8>() else { return false };
            self.begins[first(eight)]
                && self.all.get(eight).is_some_and(|all| all.iter().any(|w| rest.starts_with(w)))
        };
        let mut places = pages.flat_map(|page| page.saturating_sub(7)..page + PAGE);
        places.any(|at| at < bytes.len() && found(at))
    }
}

/// A number of 24 bits that depends on all of the first eight bytes.
fn first(eight: &[u8; 8]) -> usize {
    (u64::from_le_bytes(*eight).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for file in fs::read_dir(folder).expect("a folder").flatten() {
        match file.file_type() {
            Ok(kind) if kind.is_dir() => files(&file.path(), out),
            Ok(kind) if kind.is_file() => out.push(file.path()),
            // Sockets, and links to what is looked at anyway.
            _ => {}
        }
    }
}

/// Reads what a process writes to, in pieces that overlap, so that nothing lies between two of them.
pub fn memory(process: &Path, own_only: bool, mut with: impl FnMut(&[u8])) -> Option<()> {
    let maps = fs::read_to_string(process.join("maps")).ok()?;
    let memory = File::open(process.join("mem")).ok()?;
    let pages = File::open(process.join("pagemap")).ok()?;
    for line in maps.lines().filter(|l| l.contains(" rw")) {
        let shared = line.contains(" rw-s");
        if own_only && (shared || line.split_whitespace().count() > 5) {
            continue;
        }
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let [mut from, to] = [from, to].map(|n| u64::from_str_radix(n, 16).expect("a number"));
        while from < to {
            let mut piece = vec![0; (to - from).min(1 << 20) as usize];
            let mut entries = vec![0; piece.len() / PAGE * 8];
            let known = pages.read_exact_at(&mut entries, from / PAGE as u64 * 8).is_ok();
            // Others may have written what is shared. Of what is not shared, most was never touched.
            let there = shared || !known || entries.chunks_exact(8).any(|e| e[7] & 0xc0 != 0);
            if there && memory.read_exact_at(&mut piece, from).is_ok() {
                with(&piece);
            }
            from += if from + (1 << 20) < to { (1 << 20) - PAGE as u64 } else { 1 << 20 };
        }
    }
    Some(())
}

/// Words of a worker's memory, one of a page: shares and what was drawn, since a row of 64 other bytes has fewer values, but
/// for tables of characters, in which one follows another.
fn drawn(pid: u64) -> BTreeSet<[u8; 8]> {
    let mut out = BTreeSet::new();
    memory(Path::new(&format!("/proc/{pid}")), true, |piece| {
        for page in piece.chunks_exact(PAGE) {
            let values = |row: &[u8]| row.iter().collect::<BTreeSet<_>>().len();
            let drawn = |w: &[u8]| values(w) > 5 && w[1] != w[0].wrapping_add(1);
            let row = page
                .chunks_exact(64)
                .find(|row| (51..63).contains(&values(row)) && row.chunks_exact(8).all(drawn));
            out.extend(row.and_then(|row| row.first_chunk::<8>()));
        }
    });
    out
}

/// Where something that is wanted is, of all that Ray has: /dev/shm, the folders and logs of its clusters and of what the
/// drivers say, and the memory of every process here that is neither a node nor a worker nor this one.
fn look(wanted: &Wanted) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let (mut all, mut bytes, mut processes) = (Vec::new(), 0, 0);
    files(Path::new("/dev/shm"), &mut all);
    files(Path::new(&var("SLVR_RAY_FOLDER")), &mut all);
    for path in &all {
        let mut text = Vec::new();
        let read = File::open(path).and_then(|mut file| file.read_to_end(&mut text));
        bytes += read.unwrap_or_default();
        if wanted.is_in(&text) {
            out.insert(path.display().to_string());
        }
    }
    let own = [std::env::current_exe().expect("this program"), PathBuf::from(var("SLVRC"))];
    let own = own.map(|path| path.canonicalize().expect("a program"));
    for process in fs::read_dir("/proc").expect("processes").flatten() {
        let at = process.path();
        let Ok(program) = fs::read_link(at.join("exe")) else { continue };
        if own.contains(&program) {
            continue;
        }
        let name = fs::read_to_string(at.join("comm")).unwrap_or_default();
        let read = memory(&at, false, |piece| {
            bytes += piece.len();
            if wanted.is_in(piece) {
                out.insert(format!("the memory of {}", name.trim()));
            }
        });
        // It may have ended.
        processes += usize::from(read.is_some());
    }
    println!(
        "{} patterns in {} files and the memory of {processes} processes, {bytes} bytes: {out:?}",
        wanted.all.len(),
        all.len()
    );
    out
}

#[test]
#[ignore = "needs Ray: python/tests/ray/run.sh"]
fn workers_that_ray_starts_compute_the_same_and_ray_has_nothing_of_it() {
    let case = Case::accuracy(("40", "2", "10"), Some(14 << 20), 5);
    let alone = case.alone();
    case.check(&alone, "without workers");
    // A worker that waits for one that is lost waits for the deadline.
    let shape = Shape { deadline: 30, patience: 600, ..Shape::default() };
    let mut crew = Crew::new(case, 2, shape);
    crew.forget_places();
    (0..3).for_each(|node| crew.world.start(node));
    let mut wanted = Wanted::default();
    crew.case.plain().iter().for_each(|bytes| wanted.add(bytes));
    let ended = |crew: &Crew, round: u64, what: &str| {
        let status = crew.ended(round, LONG);
        assert_eq!(status["phase"], "released", "{what}: {status}");
        let values = crew.values(round);
        crew.case.check(&values, what);
        assert!(values == alone, "{what}: the same bits");
        let report = crew.reports(round)[0].clone();
        let work = report["outcome"]["workers"].as_array().map_or(0, Vec::len);
        let attempt = report["outcome"]["attempt"].as_u64().expect("a number");
        println!("{what}: released in attempt {attempt}, with {work} workers of each party");
        (attempt, work)
    };
    crew.submit(1);
    assert_eq!(ended(&crew, 1, "before there are workers"), (1, 0));

    let wrong = refused(command(&crew, 0, 0, 1));
    assert!(wrong.contains("Authentication token is missing or incorrect"), "{wrong}");
    let mut off = command(&crew, 0, 0, 0);
    off.env_remove("RAY_AUTH_MODE");
    let off = refused(off);
    assert!(off.contains("token authentication is off"), "{off}");
    let open = refused(command(&crew, 0, 3, 3));
    assert!(open.contains("takes any token"), "{open}");
    println!("refused: a wrong token, no token, a cluster that asks for none");

    let mut drivers = [0, 1, 2].map(|node| Driver::new(&crew, node));
    let mut round = 1;
    let mut run = |drivers: &mut [Driver; 3], killed: &str, wanted: &mut Wanted| {
        let pids: Vec<_> = drivers.iter_mut().map(Driver::pids).collect();
        round += 1;
        for submission in crew.submit(round) {
            for part in [0, 1, 2].map(|i| submission.part(i)) {
                // Words that stand nowhere by chance.
                let words =
                    part.chunks_exact(8).filter(|w| w.iter().collect::<BTreeSet<_>>().len() > 5);
                words.step_by(part.len() / 8 / 64 + 1).for_each(|word| wanted.add(word));
            }
        }
        if !killed.is_empty() {
            assert!(crew.computes(1, round), "a range is computed");
            let worker = pids[1][round as usize % 2];
            kill(if killed == "an actor is killed" { parent(worker) } else { worker });
        } else {
            assert!(crew.computes(0, round), "a range is computed");
            let words: Vec<_> = pids.iter().flatten().flat_map(|pid| drawn(*pid)).collect();
            assert!(words.len() > 1000, "only {} words of workers", words.len());
            println!("{} words of workers that compute", words.len());
            words.iter().for_each(|word| wanted.add(word));
            assert_eq!(look(wanted), BTreeSet::new());
        }
        let what = if killed.is_empty() { "nothing happens" } else { killed };
        let done = ended(&crew, round, what);
        assert_eq!(done.0 > 1, !killed.is_empty(), "{what}");
        if killed.is_empty() {
            assert_eq!(done.1, 2, "{what}");
        } else {
            let now = until(LONG, "it is started again", || {
                let now = drivers[1].pids();
                (now != pids[1]).then_some(now)
            });
            println!("{what}: processes {:?} of node 1 are {now:?} now", pids[1]);
        }
    };
    for killed in ["", "a worker is killed", "an actor is killed", ""] {
        run(&mut drivers, killed, &mut wanted);
    }
    assert_eq!(look(&wanted), BTreeSet::new());

    // What is there is found: a file in /dev/shm, one in a log of Ray, and an object in Ray's store.
    let folder = PathBuf::from(var("SLVR_RAY_FOLDER"));
    let word = wanted.all.values().flatten().find(|w| w.len() == 8).expect("a word").clone();
    let planted = [PathBuf::from("/dev/shm/planted"), folder.join("0/session_latest/logs/planted")];
    for path in planted {
        fs::write(path, [b"..." as &[u8], &word].concat()).expect("writes");
    }
    let hex: String = word.iter().map(|b| format!("{b:02x}")).collect();
    drivers[0].ask(&format!("put {hex}"));
    let found = look(&wanted);
    assert!(found.contains("/dev/shm/planted"), "{found:?}");
    assert!(found.iter().any(|f| f.ends_with("/logs/planted")), "{found:?}");
    assert!(found.contains("the memory of raylet"), "{found:?}");
}
