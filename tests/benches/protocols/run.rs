//! Runs a circuit among three parties, without clients: their shares are there.

use super::macros::{Given, Outcome};
use rustix::time::{ClockId, clock_gettime};
use slvr_circuit::{Circuit, Dom, ValueId};
use slvr_ring::Data;
use slvr_runtime::link::memory::{Mesh, mesh};
use slvr_runtime::link::{Header, Link, LinkError, Peer};
use slvr_runtime::party::{Doors, Event, Held, Party, Transcript, Uploads};
use slvr_runtime::share::{PairSeeds, Prss, Rep, RunId, Seed, next};
use slvr_tests::Random;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// Checked elements.
const CHECKED: usize = 20_000;

/// What the parties hold of x, y and c.
pub struct Shares {
    parties: [Vec<Held>; 3],
    /// Some of the values.
    pub given: Vec<Given>,
}

impl Shares {
    /// n random values below 2^magnitude, and bits.
    pub fn new(magnitude: u32, n: u64) -> Shares {
        let mut random = Random::new(1);
        let size = f64::from(magnitude).exp2();
        let mut given = Vec::with_capacity(n as usize);
        for _ in 0..n {
            let mut number = || random.between(-size, size) as i64;
            let (x, y) = (number(), number());
            given.push(Given { x, y, c: random.unit() < 0.5 });
        }
        let word = |x: i64| u128::from(x as u64);
        let inputs: [(Dom, Vec<u128>); 3] = [
            (Dom::Ring(64), given.iter().map(|g| word(g.x)).collect()),
            (Dom::Ring(64), given.iter().map(|g| word(g.y)).collect()),
            (Dom::Bits(1), given.iter().map(|g| u128::from(g.c)).collect()),
        ];
        let mut parties = [vec![], vec![], vec![]];
        for (dom, values) in inputs {
            let mut drawn = || {
                let words = values.iter().map(|_| {
                    let half = |u: f64| (u * 4294967296.0) as u128;
                    half(random.unit()) << 32 | half(random.unit())
                });
                Data::from_u128s(dom, &words.collect::<Vec<_>>())
            };
            let (x0, x1) = (drawn(), drawn());
            let mut x2 = Data::from_u128s(dom, &values);
            x2.sub_assign(&x0);
            x2.sub_assign(&x1);
            let x = [x0, x1, x2];
            for (i, party) in parties.iter_mut().enumerate() {
                party.push(Held::Rep(Rep::new(x[i].clone(), x[next(i)].clone())));
            }
        }
        given.truncate(CHECKED);
        Shares { parties, given }
    }
}

/// What a run gives.
pub struct Done {
    pub seconds: f64,
    /// Processor seconds of all threads.
    pub processor: f64,
    /// Sent by each party.
    pub bytes: [u64; 3],
    /// By party, what it holds of the result.
    pub kept: [BTreeMap<ValueId, Held>; 3],
    /// Processor milliseconds by instruction.
    pub times: BTreeMap<String, f64>,
}

/// Processor seconds of this process so far.
fn processor() -> f64 {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Who computes, when one party does at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A link whose party computes only in its turn, which it passes on while it waits.
struct InTurn<L>(L);

impl<L: Link> Link for InTurn<L> {
    fn send(&mut self, to: Peer, header: Header, body: Vec<u8>) -> Sent {
        self.0.send(to, header, body)
    }

    fn recv(&mut self, from: Peer, expected: Header, deadline: Duration) -> Received {
        MINE.set(None);
        let got = self.0.recv(from, expected, deadline);
        take_turn();
        got
    }
}

type Sent = Result<(), LinkError>;
type Received = Result<Vec<u8>, LinkError>;

thread_local! {
    /// This party's turn.
    static MINE: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
    /// The processor time at the last event of this party.
    static SINCE: Cell<f64> = const { Cell::new(0.0) };
}

/// Waits until no other party computes.
fn take_turn() {
    MINE.set(TURN.lock().ok());
    SINCE.set(processor());
}

/// Keeps some values, and what the processor did until each event.
struct Watch<'a> {
    circuit: &'a Circuit,
    wanted: Vec<ValueId>,
    kept: BTreeMap<ValueId, Held>,
    timed: bool,
    times: BTreeMap<String, f64>,
}

impl Watch<'_> {
    fn event(&mut self, what: &str) {
        if self.timed {
            *self.times.entry(what.into()).or_default() += (processor() - SINCE.get()) * 1e3;
            SINCE.set(processor());
        }
    }
}

impl Transcript for Watch<'_> {
    fn value(&mut self, id: ValueId, held: &Held) {
        if self.wanted.contains(&id) {
            self.kept.insert(id, held.clone());
        }
        if self.timed {
            let all = self.circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange));
            let made = all.filter(|i| i.out == Some(id)).map(|i| i.op.name()).next();
            let what = format!("{} -> {}", made.unwrap_or("input"), self.circuit.ty(id));
            self.event(&what);
        }
    }

    fn message(&mut self, e: Event<&[u8]>) {
        self.event(&format!("{} {:?}", e.op, e.direction));
    }
}

/// Runs a circuit; `timed`: one party at a time, and each instruction's processor time.
pub fn run(circuit: &Circuit, shares: &Shares, keep: Option<Outcome>, timed: bool) -> Done {
    let seeds = [1u8, 2, 3].map(|b| Seed::new([b; 16]));
    let pairs = PairSeeds::of_all(&seeds);
    let run = RunId([9; 16]);
    let wanted = match keep {
        None => vec![],
        Some(Outcome::Rep(x)) => vec![x],
        Some(Outcome::Split(s)) => vec![s.own, s.dup],
    };
    let watched = timed || !wanted.is_empty();
    let mut watches = [0, 1, 2].map(|_| Watch {
        circuit,
        wanted: wanted.clone(),
        kept: BTreeMap::new(),
        timed,
        times: BTreeMap::new(),
    });
    let Mesh { parties, .. } = mesh(&[]);
    let (start, before) = (Instant::now(), processor());
    let reports: Vec<_> = thread::scope(|scope| {
        let each = parties.into_iter().zip(&mut watches).enumerate();
        let running: Vec<_> = each
            .map(|(i, (link, watch))| {
                let (prss, inputs) = (Prss::new(i, &pairs[i], run), shares.parties[i].clone());
                scope.spawn(move || {
                    let (mut free, mut in_turn);
                    let link: &mut dyn Link = if timed {
                        take_turn();
                        in_turn = InTurn(link);
                        &mut in_turn
                    } else {
                        free = link;
                        &mut free
                    };
                    let uploads = Uploads { unchecked: true, ..Uploads::default() };
                    let transcript = watched.then_some(watch as &mut dyn Transcript);
                    let party = Party {
                        doors: Doors::new().any_openings(),
                        uploads,
                        transcript,
                        ..Party::new(circuit, prss, link, run, Duration::from_secs(600))
                    };
                    let (report, _) = party.run(inputs).expect("a run of three parties");
                    MINE.set(None);
                    report.bytes_sent
                })
            })
            .collect();
        running.into_iter().map(|p| p.join().expect("a party ended")).collect()
    });
    let (seconds, processor) = (start.elapsed().as_secs_f64(), processor() - before);
    let mut bytes = [0; 3];
    bytes.iter_mut().zip(reports).for_each(|(b, r)| *b = r);
    let mut times = BTreeMap::new();
    let kept = watches.map(|w| {
        w.times.into_iter().for_each(|(what, ms)| *times.entry(what).or_default() += ms);
        w.kept
    });
    Done { seconds, processor, bytes, kept, times }
}

/// Element i of a result, from what the parties hold.
pub fn element(
    circuit: &Circuit,
    kept: &[BTreeMap<ValueId, Held>; 3],
    result: Outcome,
    i: usize,
) -> u64 {
    let held = |party: usize, v: ValueId| &kept[party][&v];
    let (part, bits) = match result {
        Outcome::Rep(v) => {
            let parts = [0, 1, 2].map(|p| match held(p, v) {
                Held::Rep(x) => x.first.get_u128(i),
                Held::One(x) => x.get_u128(i),
            });
            (parts.to_vec(), circuit.ty(v).dom)
        }
        Outcome::Split(s) => {
            let lanes = circuit.ty(s.own).lanes();
            let ranges = lanes.ranges();
            let shard = (0..3).find(|&r| ranges[r].contains(&i)).unwrap_or(0);
            let at = i - ranges[shard].start;
            // Stored in the order of the shards.
            let other = next(shard);
            let (own, before) = (held(shard, s.own), held(other, s.dup));
            let first = (0..shard).filter(|&r| r != other).map(|r| lanes.len(r)).sum::<usize>();
            let of = |x: &Held, at: usize| x.parts().next().map_or(0, |x| x.get_u128(at));
            (vec![of(own, at), of(before, first + at)], circuit.ty(s.own).dom)
        }
    };
    match bits {
        Dom::Ring(_) => part.into_iter().fold(0u128, u128::wrapping_add) as u64,
        Dom::Bits(_) => part.into_iter().fold(0, |x, y| x ^ y) as u64,
    }
}
