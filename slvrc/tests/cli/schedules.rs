//! Random schedules of what can happen to a run among processes: parties that are killed, stopped, or stopped and
//! let go on, strangers that connect to their ports, before the run and during it, and a launcher that is killed.
//!
//! Every run ends, with its outputs, or with exit status 3, the name of a party that was hit and where it was. No
//! process is left over. What only disturbs a run does not end it.
//!
//! A few run in the tests. For the long list:
//!
//! ```sh
//! SLVR_COUNT=200 SLVR_SEED=1 SLVR_SECONDS=10 cargo test -p slvrc --test cli schedules -- --nocapture
//! ```
//!
//! `SLVR_SECONDS` is how long a run may take after the last thing that happened to it, ten minutes without it: the
//! tests are not about time.

use crate::folder::{Folder, Numbers, Place, f64s, setting};
use crate::ports;
use std::fmt;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Seconds that a party waits for a message where one is stopped or killed.
const DEADLINE: u64 = 5;
/// Seconds where nothing should end the run: the machine may be busy.
const PATIENCE: u64 = 120;

fn millis(random: &mut Numbers, most: usize) -> Duration {
    Duration::from_millis(random.below(most) as u64)
}

/// Something that happens to a party.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hit {
    Kill,
    Stop,
    /// Stopped, and let go on.
    Pause(Duration),
}

/// What a stranger does once it is connected.
#[derive(Clone, Copy, Debug)]
enum Stranger {
    Silent,
    /// It sends what is no protocol.
    Noise,
    /// The first bytes of a greeting, and no more.
    Half,
    /// It leaves.
    Gone,
}

/// What kind of things happens to a run.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Strangers,
    /// A party is stopped for a moment, which ends no run.
    Pause,
    Hits,
    HitsAmongStrangers,
    /// The launcher is killed.
    Abandoned,
}

impl Kind {
    fn of(number: u64) -> Kind {
        match number % 8 {
            0 => Kind::Strangers,
            1 => Kind::Pause,
            2 | 5 => Kind::HitsAmongStrangers,
            7 => Kind::Abandoned,
            _ => Kind::Hits,
        }
    }
}

/// Everything that happens to one run.
#[derive(Debug)]
struct Schedule {
    /// Which party, what, and when: after it has started.
    hits: Vec<(usize, Hit, Duration)>,
    /// To which party, what, and when: after the launcher has started; again and again until it is there.
    strangers: Vec<(usize, Stranger, Duration)>,
    /// When the launcher is killed.
    abandoned: Option<Duration>,
    /// Without TLS.
    plain: bool,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Schedule {
    fn new(seed: u64, number: u64) -> Schedule {
        let mut random = Numbers(seed << 32 | number);
        let party = |random: &mut Numbers| random.below(3);
        let mut hits = Vec::new();
        let mut strangers = Vec::new();
        let mut abandoned = None;
        let kind = Kind::of(number);
        let count = match kind {
            Kind::Hits | Kind::HitsAmongStrangers => 1 + random.below(2),
            Kind::Strangers | Kind::Pause | Kind::Abandoned => 0,
        };
        for _ in 0..count {
            let hit = match random.below(3) {
                0 => Hit::Kill,
                1 => Hit::Stop,
                _ => Hit::Pause(Duration::from_secs(7) + millis(&mut random, 500)),
            };
            hits.push((party(&mut random), hit, millis(&mut random, 2500)));
        }
        if kind == Kind::Pause {
            hits.push((
                party(&mut random),
                Hit::Pause(millis(&mut random, 700)),
                millis(&mut random, 1500),
            ));
        }
        if kind == Kind::Abandoned {
            abandoned = Some(millis(&mut random, 2500));
        }
        if matches!(kind, Kind::Strangers | Kind::HitsAmongStrangers) {
            for _ in 0..1 + random.below(12) {
                let what = match random.below(4) {
                    0 => Stranger::Silent,
                    1 => Stranger::Noise,
                    2 => Stranger::Half,
                    _ => Stranger::Gone,
                };
                strangers.push((party(&mut random), what, millis(&mut random, 2000)));
            }
        }
        Schedule { hits, strangers, abandoned, plain: random.below(3) == 0 }
    }

    /// Whether something may end it.
    fn may_fail(&self) -> bool {
        self.abandoned.is_some()
            || self.hits.iter().any(|(_, hit, _)| match hit {
                Hit::Kill | Hit::Stop => true,
                Hit::Pause(pause) => pause.as_secs() >= DEADLINE,
            })
    }

    /// When the last thing has happened.
    fn over(&self) -> Duration {
        let hits = self.hits.iter().map(|(_, hit, after)| match hit {
            Hit::Kill | Hit::Stop => *after,
            // It is over when the others have noticed.
            Hit::Pause(pause) => *after + (*pause).min(Duration::from_secs(1)),
        });
        hits.chain(self.abandoned).max().unwrap_or_default()
    }
}

/// A process of a party, as its script says.
struct Party {
    pid: u32,
}

impl Party {
    /// Waits until it is there.
    fn started(place: &Place, party: usize, over: &AtomicBool) -> Option<Party> {
        let file = place.path(&format!("pid{party}"));
        while !over.load(Ordering::Relaxed) {
            let pid = fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok());
            if let Some(pid) = pid {
                return Some(Party { pid });
            }
            thread::sleep(Duration::from_millis(2));
        }
        None
    }

    /// Whether it still is this process: numbers are given again.
    fn is_there(&self, place: &Place) -> bool {
        let home = fs::read_link(format!("/proc/{}/cwd", self.pid)).ok();
        let state = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let ended = state.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('Z'));
        !ended && home == fs::canonicalize(place.path("")).ok()
    }

    fn signal(&self, place: &Place, name: &str) {
        if self.is_there(place) {
            let args = [format!("-{name}"), self.pid.to_string()];
            let _ = Command::new("kill").args(args).stderr(Stdio::null()).status();
        }
    }
}

/// A program of hundreds of rounds: its run takes a second or two.
fn chain() -> String {
    let roots = (0..20).map(|i| format!("    let a{} = sqrt(a{i} + {i});\n", i + 1));
    format!(
        "use std::{{sqrt, sum}};
predicate Chain[m]() {{
    parties Client[m];
    parties Server;
    input x: secret fix[50] in 0..100 from each Client;
    let a0 = sum(x[i] for i in Client);
{}    reveal a20 to Server as y;
}}
",
        roots.collect::<String>()
    )
}

/// Sleeps, and no longer than the run.
fn wait(time: Duration, over: &AtomicBool) {
    let begun = Instant::now();
    while begun.elapsed() < time && !over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(2));
    }
}

fn disturb(at: SocketAddr, what: Stranger, after: Duration, over: &AtomicBool) {
    wait(after, over);
    let stream = loop {
        if over.load(Ordering::Relaxed) {
            return;
        }
        match TcpStream::connect_timeout(&at, Duration::from_secs(1)) {
            Ok(stream) => break stream,
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    };
    let mut stream = stream;
    let _ = match what {
        Stranger::Silent => Ok(()),
        Stranger::Noise => stream.write_all(&[0x5a; 4096]),
        Stranger::Half => stream.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]),
        Stranger::Gone => return,
    };
    let _ = stream.set_read_timeout(Some(Duration::from_millis(10)));
    while !over.load(Ordering::Relaxed) {
        if matches!(stream.read(&mut [0; 64]), Ok(0)) {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn hit(place: &Place, party: usize, what: Hit, after: Duration, over: &AtomicBool) {
    let Some(process) = Party::started(place, party, over) else { return };
    wait(after, over);
    if over.load(Ordering::Relaxed) {
        return;
    }
    match what {
        Hit::Kill => process.signal(place, "KILL"),
        Hit::Stop => process.signal(place, "STOP"),
        Hit::Pause(pause) => {
            process.signal(place, "STOP");
            wait(pause, over);
            process.signal(place, "CONT");
        }
    }
}

/// How a run ended.
struct Ended {
    /// None if it was killed.
    status: Option<i32>,
    stderr: String,
    took: Duration,
    left: Vec<u32>,
}

fn start(place: &Place, schedule: &Schedule, hosts: &[SocketAddr; 3]) -> Child {
    let deadline = if schedule.may_fail() { DEADLINE } else { PATIENCE };
    let hosts = hosts.map(|h| h.to_string()).join(",");
    let mut args = format!(
        "run a.slvrb --inputs in --processes --spawn ./start{{i}}.sh --deadline {deadline} --hosts {hosts}"
    );
    if schedule.plain {
        args += " --plain";
    }
    Command::new(env!("CARGO_BIN_EXE_slvrc"))
        .args(args.split_whitespace())
        .current_dir(place.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::from(fs::File::create(place.path("stderr")).expect("a file")))
        .spawn()
        .expect("slvrc starts")
}

/// Runs a schedule; nothing if there is no end.
fn run(place: &Place, schedule: &Schedule, patience: Duration) -> Option<Ended> {
    for party in 0..3 {
        let _ = fs::remove_file(place.path(&format!("pid{party}")));
    }
    let over = AtomicBool::new(false);
    let (hosts, _claim) = ports::hosts();
    let begun = Instant::now();
    thread::scope(|scope| {
        for &(party, what, after) in &schedule.strangers {
            let (over, at) = (&over, hosts[party]);
            scope.spawn(move || disturb(at, what, after, over));
        }
        let mut launcher = start(place, schedule, &hosts);
        for &(party, what, after) in &schedule.hits {
            let over = &over;
            scope.spawn(move || hit(place, party, what, after, over));
        }
        let mut status = None;
        let mut abandoned = false;
        loop {
            if let Some(ended) = launcher.try_wait().expect("a child") {
                status = ended.code();
                break;
            }
            if schedule.abandoned.is_some_and(|at| begun.elapsed() > at) && !abandoned {
                abandoned = true;
                let _ = launcher.kill();
            }
            if begun.elapsed() > schedule.over() + patience {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        let ended = launcher.try_wait().expect("a child").is_some();
        let took = begun.elapsed();
        if !ended {
            let _ = launcher.kill();
            let _ = launcher.wait();
        }
        let left = remaining(place, patience);
        over.store(true, Ordering::Relaxed);
        let stderr = fs::read_to_string(place.path("stderr")).unwrap_or_default();
        ended.then_some(Ended { status, stderr, took, left })
    })
}

/// Parties that are there long after their launcher has ended, and are ended now.
fn remaining(place: &Place, patience: Duration) -> Vec<u32> {
    let all = (0..3).filter_map(|party| {
        let text = fs::read_to_string(place.path(&format!("pid{party}"))).ok()?;
        Some(Party { pid: text.trim().parse().ok()? })
    });
    let all: Vec<Party> = all.collect();
    let begun = Instant::now();
    while begun.elapsed() < patience && all.iter().any(|p| p.is_there(place)) {
        thread::sleep(Duration::from_millis(5));
    }
    let left: Vec<&Party> = all.iter().filter(|p| p.is_there(place)).collect();
    for party in &left {
        party.signal(place, "KILL");
    }
    left.iter().map(|p| p.pid).collect()
}

/// What is wrong with how a run ended.
fn judge(schedule: &Schedule, ended: &Ended) -> Result<(), String> {
    let Ended { status, stderr, left, .. } = ended;
    if !left.is_empty() {
        return Err(format!("processes {left:?} are left"));
    }
    match status {
        Some(0) => Ok(()),
        None if schedule.abandoned.is_some() => Ok(()),
        Some(3) if schedule.may_fail() => {
            let who = schedule.hits.iter().any(|(p, ..)| stderr.contains(&format!("party {p}")));
            let places = ["layer", "handshake", "end of the run"];
            match who && places.iter().any(|place| stderr.contains(place)) {
                true => Ok(()),
                false => Err("does not say who and where".into()),
            }
        }
        other => Err(format!("exit status {other:?}")),
    }
}

#[test]
fn whatever_happens_to_its_parties_a_run_ends_and_names_them() {
    let (seed, count) = (setting("SLVR_SEED", 1), setting("SLVR_COUNT", 8));
    let patience = Duration::from_secs(setting("SLVR_SECONDS", 600));
    let place = Place::new();
    let mut folder = Folder::default();
    for client in 0..3 {
        folder.put(&format!("Client/{client}"), "x", f64s(&[50], &[f64::from(client); 50]));
    }
    folder.write(&place.path("in"));
    place.write("chain.slvr", chain());
    place.slvrc("build chain.slvr m=3 -o a.slvrb --json").ok();
    for party in 0..3 {
        let name = format!("start{party}.sh");
        place.write(
            &name,
            format!(
                "#!/bin/sh\necho $$ > pid{party}.new\nmv pid{party}.new pid{party}\nexec \"$@\"\n"
            ),
        );
        fs::set_permissions(place.path(&name), Permissions::from_mode(0o700)).expect("a program");
    }
    let (mut done, mut aborted, mut killed, mut failed) = (0, 0, 0, Vec::new());
    let mut slowest = (Duration::ZERO, 0);
    for number in 0..count {
        let schedule = Schedule::new(seed, number);
        let ended = run(&place, &schedule, patience);
        let wrong = match &ended {
            None => Err(format!("no end {patience:?} after the last event")),
            Some(ended) => judge(&schedule, ended),
        };
        if let Some(ended) = &ended {
            match ended.status {
                Some(0) => done += 1,
                Some(_) => aborted += 1,
                None => killed += 1,
            }
            let after = ended.took.saturating_sub(schedule.over());
            slowest = slowest.max((after, number));
        }
        if let Err(why) = wrong {
            let said = ended.map_or(String::new(), |e| format!("{:.1?}: {}", e.took, e.stderr));
            let why = format!("schedule {number} (seed {seed}): {why}\n{schedule}\n{said}");
            println!("{why}");
            failed.push(why);
        }
    }
    println!(
        "{count} schedules (seed {seed}): {done} ran to their end, {aborted} were aborted, {killed} launchers were \
         killed, {} failed; the longest went on for {:.1?} after the last event (schedule {})",
        failed.len(),
        slowest.0,
        slowest.1
    );
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    assert!(aborted > 0 && done > 0, "the schedules are all alike");
}
