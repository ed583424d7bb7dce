//! A run on this machine: the clients' inputs are dealt, three parties and the receivers run as
//! threads, their links are queues in memory.

use super::dealer::{Encode, Source};
use super::intake::Intake;
use super::ranges::Workers;
use super::threads::{Setting, Threads, Worker};
use super::uploads::Uploads;
use super::{
    Doors, Invalid, Party, PartyReport, Receiver, Recorder, Replaced, RunError, Transcript,
    receive, receiving,
};
use crate::link::cancel::Cancellable;
use crate::link::memory::{Memory, Mesh, mesh};
use crate::link::shaped::{Line, Network};
use crate::link::{Link, Peer};
use crate::share::deal::Upload;
use crate::share::encode::{Encoded, InputError, Inputs, Member};
use crate::share::reveal::Revealed;
use crate::share::state::Kept;
use crate::share::{Held, PairSeeds, Prss, Purpose, RunId, Seed, Stream, next, sum};
use slvr_circuit::interaction::COINS;
use slvr_circuit::ranges::Division;
use slvr_circuit::verify::{Openings, verify_with};
use slvr_circuit::{Circuit, Op};
use slvr_ring::{Data, threads};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

pub use super::dealer::Dealer;

/// Wraps the link of a party.
pub type WrapLink<'a> = dyn Fn(usize, Memory) -> Box<dyn Link> + Sync + 'a;

/// Changes what the three parties get of a client: party set, member, uploads.
pub type Tamper<'a> = dyn Fn(usize, usize, &mut [Upload; 3]) + Sync + 'a;

#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Derive all randomness from this number: the same seed gives the same run. For tests and
    /// demonstrations only. Without it, from the operating system.
    pub seed: Option<u64>,
    /// How long a party waits for a message.
    pub deadline: Duration,
    /// Gives every party and receiver a line of this bandwidth and latency; without it messages take
    /// no time.
    pub shape: Option<Line>,
    /// Whether to record what each party holds and says.
    pub record: bool,
    /// Clients submit numbers outside their declared range as words of the ring, instead of
    /// refusing them: to see the check among the parties at work.
    pub submit_unchecked: bool,
    /// What is done about clients whose inputs cannot be used.
    pub invalid: Invalid,
    /// What the parties have kept of the round before; without it, a circuit with states begins.
    pub state: Option<&'a [Kept; 3]>,
    /// How many workers each party has, as threads of their own ([`slvr_circuit::ranges`]).
    pub workers: usize,
    /// Called by party 0 after each layer with the layers done and all layers.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Ends the run once it is set: it is looked at before each client's inputs are dealt and before each message.
    pub cancel: Option<&'a AtomicBool>,
    /// What a test does to the run.
    pub doors: Doors<'a>,
}

impl Default for Options<'_> {
    /// Random, ten minutes, plain links.
    fn default() -> Self {
        let deadline = Duration::from_secs(600);
        Options {
            seed: None,
            deadline,
            shape: None,
            record: false,
            submit_unchecked: false,
            invalid: Invalid::Zeros,
            state: None,
            workers: 0,
            progress: None,
            cancel: None,
            doors: Doors::default(),
        }
    }
}

impl Options<'_> {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Acquire))
    }
}

/// What a run gives.
#[derive(Debug)]
pub struct Report {
    /// The revealed tensors, in the order of the circuit's outputs.
    pub outputs: Vec<Revealed>,
    /// The public coins, in the order of their instructions.
    pub coins: Vec<u128>,
    /// For each of the circuit's checks its party set and which members' inputs were admitted. All
    /// parties found the same.
    pub admitted: Vec<(u32, Vec<bool>)>,
    /// Clients whose inputs were replaced by zeros, by party set and member. All parties found the same.
    pub replaced: Vec<Replaced>,
    pub rounds: usize,
    /// Bytes sent by each party, frames excluded.
    pub bytes_sent: [u64; 3],
    /// From inputs shared to outputs revealed.
    pub seconds: f64,
    /// Most bytes that values took at one time, by party.
    pub peak_memory: [u64; 3],
    /// The same of workers, for each range of the circuit in the order in which parties take them back.
    pub workers_memory: [Vec<u64>; 3],
    /// Bytes that each client uploads, by party set and member; 0 for one that gave nothing.
    pub upload_bytes: Vec<Vec<u64>>,
    /// What each party held and said, its workers included, if it was recorded.
    pub recorded: Option<[Recorder; 3]>,
    /// What each party keeps for the next round, if the circuit has states.
    pub kept: Option<[Kept; 3]>,
}

impl Report {
    /// The words of the circuit's random instructions by their tags, which nobody knew in the run; `None` if it was not
    /// recorded. For evaluations in the clear that are compared with it.
    pub fn drawn(&self, circuit: &Circuit) -> Option<Vec<Vec<u128>>> {
        let recorded = self.recorded.as_ref()?;
        let mut all: Vec<Vec<u128>> = Vec::new();
        for instr in circuit.layers.iter().flat_map(|l| &l.local) {
            let (Op::Random { tag, .. }, Some(out)) = (&instr.op, instr.out) else { continue };
            let [a, b, c] = recorded.each_ref().map(|r| {
                let held = r.values.iter().rev().find(|(v, _)| *v == out).map(|(_, held)| held);
                match held {
                    Some(Held::Rep(x)) => Some(&x.first),
                    _ => None,
                }
            });
            let value = sum([a?, b?, c?]);
            all.resize(all.len().max(*tag as usize + 1), Vec::new());
            all[*tag as usize] = value.to_u128s();
        }
        Some(all)
    }
}

/// How every participant of a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub parties: [Result<PartyReport, RunError>; 3],
    /// The receivers, by index of the party set.
    pub receivers: Vec<(usize, Result<Vec<Revealed>, RunError>)>,
    /// From inputs shared to the end.
    pub seconds: f64,
    /// Bytes that each client uploads, by party set and member.
    pub upload_bytes: Vec<Vec<u64>>,
    /// What each party held and said, if it was recorded.
    pub recorded: Option<[Recorder; 3]>,
    /// What each party keeps for the next round, if it has finished and the circuit has states.
    pub kept: [Option<Kept>; 3],
}

/// Runs a circuit on this machine.
///
/// # Errors
///
/// An input or a circuit that does not fit, or the first cause of an abort. There is no output
/// unless everybody finished.
pub fn run_local(
    circuit: &Circuit,
    inputs: &Inputs,
    options: &Options<'_>,
) -> Result<Report, RunError> {
    verify_with(circuit, options.doors.openings)?;
    let ranges = !options.submit_unchecked;
    let encode = |member: Member<'_>| member.encode(circuit, ranges);
    // Each member's words are made when they are dealt, so that all of them are never there at once.
    let members = |set| inputs.members(circuit, set);
    let done = outcome(circuit, inputs.known(circuit)?, members, &encode, options)
        .and_then(|outcome| outcome.report(circuit));
    match options.is_cancelled() {
        true if done.is_err() => Err(RunError::Cancelled),
        _ => done,
    }
}

/// Verifies the circuit and encodes the inputs. What the circuit may open is looked at before they are dealt.
///
/// # Errors
///
/// A circuit that is not well formed, an input that does not fit it.
pub fn encode(circuit: &Circuit, inputs: &Inputs) -> Result<Encoded, RunError> {
    verify_with(circuit, Openings::Any)?;
    Ok(Encoded::new(circuit, inputs)?)
}

/// As [`encode`], with real numbers and integers outside their range as the words that they are modulo
/// 2^k: what a client with its own software may submit.
///
/// # Errors
///
/// As [`encode`], ranges excepted.
pub fn encode_unchecked(circuit: &Circuit, inputs: &Inputs) -> Result<Encoded, RunError> {
    verify_with(circuit, Openings::Any)?;
    Ok(Encoded::unchecked(circuit, inputs)?)
}

/// The public coins that [`run_local`] draws with this seed, in the order of their instructions:
/// what an evaluation in the clear needs to choose the same committees.
pub fn coins(circuit: &Circuit, seed: u64) -> Vec<u128> {
    let mut source = Source::new(Some(seed));
    // With a fixed seed nothing is asked of the operating system, so nothing can fail.
    let mut drawn = || source.seed().unwrap_or(Seed::new([0; 16]));
    let run = RunId(*drawn().expose());
    let pairs = PairSeeds::of_all(&[drawn(), drawn(), drawn()]);
    let all = circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange)).enumerate();
    let of = |instr: usize| {
        let stream = Stream::new(instr as u64, Purpose::Coin);
        let share = |i: usize| {
            let prss = Prss::new(i, &pairs[i], run);
            prss.with_next(stream, COINS, 0, 1).get_u128(0)
        };
        (0..3).fold(0u128, |sum, i| sum.wrapping_add(share(i)))
    };
    all.filter(|(_, i)| i.op == Op::Coin).map(|(n, _)| of(n)).collect()
}

/// Like [`run_local`], on encoded inputs, and tells how every participant ended.
///
/// # Errors
///
/// What goes wrong before the parties start.
pub fn run_outcome(
    circuit: &Circuit,
    mut inputs: Encoded,
    options: &Options<'_>,
) -> Result<Outcome, RunError> {
    verify_with(circuit, options.doors.openings)?;
    let public = std::mem::take(&mut inputs.public);
    outcome(circuit, public, |set| Ok(inputs.take(set)), &Ok, options)
}

/// A run of a circuit that is verified: `members` and `encode` as for [`Dealer::deal`].
fn outcome<G: Send>(
    circuit: &Circuit,
    public: BTreeMap<usize, Data>,
    members: impl FnMut(usize) -> Result<Vec<Option<G>>, InputError>,
    encode: &Encode<'_, G>,
    options: &Options<'_>,
) -> Result<Outcome, RunError> {
    let dealer = Dealer::new(options)?;
    let (run, pairs) = (dealer.run, dealer.pairs());
    let mut intakes = [0, 1, 2].map(|me| Intake::new(circuit, me, run, options.doors.compare));
    if options.doors.compare {
        intakes.iter_mut().for_each(Intake::firsts_alone);
    }
    // What is loaded in parts is kept as it is uploaded.
    let in_place =
        options.doors.compare && options.doors.tamper.is_none() && circuit.loaded().is_empty();
    let upload_bytes = if in_place {
        dealer.deal_in_place(circuit, members, encode, options, &mut intakes)?
    } else {
        dealer.deal(circuit, members, encode, options, |set, member, uploads| {
            let uploads = uploads.map_or([None, None, None], |u| u.map(Some));
            threads::each(intakes.iter_mut().zip(uploads), &|(intake, upload)| {
                intake.take(set, member, upload.as_ref());
            });
        })?
    };
    let mut given = intakes.map(|i| i.finish(&public));
    if options.doors.compare {
        share_components(&mut given);
    }
    let division = (options.workers > 0).then(|| Division::of(circuit));
    Ok(Session { circuit, options, run, pairs, division }.run(given, upload_bytes))
}

/// A run whose inputs are dealt.
struct Session<'a> {
    circuit: &'a Circuit,
    options: &'a Options<'a>,
    run: RunId,
    pairs: [PairSeeds; 3],
    /// If the parties have workers.
    division: Option<Division>,
}

/// What a thread of a party comes to, and what it has seen if that is recorded.
type Ended = (Result<(PartyReport, Option<Kept>), RunError>, Option<Recorder>);

impl Session<'_> {
    fn run(&self, given: [(Vec<Held>, Uploads); 3], upload_bytes: Vec<Vec<u64>>) -> Outcome {
        let Session { circuit, options, .. } = *self;
        let sets = receiving(circuit);
        let Mesh { parties, receivers } = mesh(&sets);
        // Each worker has a line of its own.
        let lines: Vec<_> =
            (0..=options.workers).map(|_| options.shape.map(Network::new)).collect();
        let (network, of_workers) = (&lines[0], &lines[1..]);
        let mut links: Vec<_> = of_workers.iter().map(|_| mesh(&[]).parties.into_iter()).collect();
        let start = Instant::now();
        let (ended, receivers, seen) = thread::scope(|scope| {
            let (mut running, mut working) = (Vec::new(), Vec::new());
            for (me, (link, (inputs, uploads))) in parties.into_iter().zip(given).enumerate() {
                let mut threads = self.division.as_ref().map(Threads::new);
                for (network, links) in of_workers.iter().zip(&mut links) {
                    let (Some(threads), Some(link)) = (&mut threads, links.next()) else { break };
                    let worker = threads.worker(self.setting(me, &uploads));
                    let work =
                        move || self.work(worker, self.shaped(network, Peer::Party(me), link));
                    working.push((me, scope.spawn(work)));
                }
                running.push(scope.spawn(move || {
                    let link: Box<dyn Link> = match options.doors.wrap {
                        Some(wrap) => wrap(me, link),
                        None => Box::new(link),
                    };
                    let link = self.shaped(network, Peer::Party(me), link);
                    self.party(me, link, inputs, uploads, threads)
                }));
            }
            let ends = sets.into_iter().zip(receivers);
            let ends = ends.map(|(set, l)| (set, self.shaped(network, Peer::Receiver(set), l)));
            let listening = listen(scope, circuit, ends, (self.run, options.deadline));
            let ended: Vec<Ended> = running.into_iter().map(join).collect();
            let receivers = listening.into_iter().map(join).collect();
            let seen: Vec<_> = working.into_iter().map(|(me, thread)| (me, join(thread))).collect();
            (ended, receivers, seen)
        });
        let seconds = start.elapsed().as_secs_f64();
        let Ok(mut ended) = <[Ended; 3]>::try_from(ended) else {
            unreachable!("three threads were started")
        };
        let mut recorders = ended.each_mut().map(|(_, recorder)| recorder.take());
        for (me, of_worker) in seen {
            if let (Some(all), Some(mut more)) = (&mut recorders[me], of_worker) {
                all.values.append(&mut more.values);
                all.messages.append(&mut more.messages);
            }
        }
        let [a, b, c] = recorders;
        let recorded = a.zip(b).zip(c).map(|((a, b), c)| [a, b, c]);
        let kept = ended.each_mut().map(|(done, _)| done.as_mut().ok()?.1.take());
        let parties = ended.map(|(done, _)| done.map(|(report, _)| report));
        Outcome { parties, receivers, seconds, upload_bytes, recorded, kept }
    }

    /// A link as the options have it.
    fn shaped<'l>(
        &'l self,
        network: &Option<Arc<Network>>,
        me: Peer,
        link: impl Link + 'l,
    ) -> Box<dyn Link + 'l> {
        let link: Box<dyn Link + 'l> = match network {
            Some(network) => Box::new(network.attach(me, link)),
            None => Box::new(link),
        };
        match self.options.cancel {
            Some(cancel) => Box::new(Cancellable::new(link, cancel)),
            None => link,
        }
    }

    fn party(
        &self,
        me: usize,
        mut link: Box<dyn Link + '_>,
        inputs: Vec<Held>,
        uploads: Uploads,
        mut workers: Option<Threads<'_>>,
    ) -> Ended {
        let Session { circuit, options, run, .. } = *self;
        let mut recorder = options.record.then(Recorder::default);
        let evaluated = options.doors.deviant.filter(|d| d.0 == me).map_or(circuit, |d| d.1);
        let prss = Prss::new(me, &self.pairs[me], run);
        let party = Party {
            uploads,
            invalid: options.invalid,
            state: options.state.map(|s| s[me].clone()),
            transcript: recorder.as_mut().map(|r| r as &mut dyn Transcript),
            progress: options.progress.filter(|_| me == 0),
            workers: workers.as_mut().map(|threads| threads as &mut dyn Workers),
            doors: Doors { says: Some(circuit), ..options.doors },
            ..Party::new(evaluated, prss, &mut *link, run, options.deadline)
        };
        (party.run(inputs), recorder)
    }

    /// What a worker needs of its party.
    fn setting(&self, me: usize, uploads: &Uploads) -> Setting<'_> {
        Setting {
            circuit: self.circuit,
            me,
            pairs: &self.pairs[me],
            run: self.run,
            uploads: Uploads { source: uploads.source.clone(), ..Uploads::default() },
            deadline: self.options.deadline,
            doors: self.options.doors,
        }
    }

    /// What a worker has seen.
    fn work(&self, worker: Worker<'_>, mut link: Box<dyn Link + '_>) -> Option<Recorder> {
        let mut recorder = self.options.record.then(Recorder::default);
        worker.run(&mut *link, recorder.as_mut());
        recorder
    }
}

/// A thread of a receiver.
pub type Listening<'s> = ScopedJoinHandle<'s, (usize, Result<Vec<Revealed>, RunError>)>;

/// Starts the receivers of a run, by party set.
pub fn listen<'s, L: Link + 's>(
    scope: &'s Scope<'s, '_>,
    circuit: &'s Circuit,
    ends: impl IntoIterator<Item = (usize, L)>,
    (run, deadline): (RunId, Duration),
) -> Vec<Listening<'s>> {
    let listen = |(set, mut link): (usize, L)| {
        scope.spawn(move || {
            let link = &mut link;
            (set, receive(Receiver { circuit, set, link, run, deadline }))
        })
    };
    ends.into_iter().map(listen).collect()
}

/// Gives each party the first components of the next one as its second ones. Both hold one copy.
fn share_components(given: &mut [(Vec<Held>, Uploads); 3]) {
    for j in 0..given[0].0.len() {
        let firsts = given.each_ref().map(|(inputs, _)| match &inputs[j] {
            Held::Rep(x) => Some(x.first.clone()),
            Held::One(_) => None,
        });
        for (me, (inputs, _)) in given.iter_mut().enumerate() {
            if let (Held::Rep(x), Some(first)) = (&mut inputs[j], &firsts[next(me)]) {
                x.second = first.clone();
            }
        }
    }
}

/// A panic of a thread is a bug; it goes on in the caller.
pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Outcome {
    /// The report of a run in which everybody finished, or the first cause of an abort.
    ///
    /// # Errors
    ///
    /// Of several errors the one that the others come from ([`RunError::cause`]).
    pub fn report(self, circuit: &Circuit) -> Result<Report, RunError> {
        let mut errors = Vec::new();
        let mut reports = Vec::new();
        let mut revealed = Vec::new();
        for (i, party) in self.parties.into_iter().enumerate() {
            match party {
                Ok(report) => reports.push(report),
                Err(e) => errors.push((Some(i), e)),
            }
        }
        for (_, receiver) in self.receivers {
            match receiver {
                Ok(outputs) => revealed.extend(outputs),
                Err(e) => errors.push((None, e)),
            }
        }
        if let Some(cause) = RunError::cause(errors) {
            return Err(cause);
        }
        Revealed::sort(circuit, &mut revealed);
        if reports.windows(2).any(|r| r[0].admitted != r[1].admitted) {
            return Err(RunError::Disagreement("which inputs are admitted"));
        }
        if reports.windows(2).any(|r| r[0].replaced != r[1].replaced) {
            return Err(RunError::Disagreement("whose inputs are replaced"));
        }
        let number = |f: fn(&PartyReport) -> u64| {
            let mut out = [0; 3];
            out.iter_mut().zip(&reports).for_each(|(o, r)| *o = f(r));
            out
        };
        Ok(Report {
            bytes_sent: number(|r| r.bytes_sent),
            peak_memory: number(|r| r.peak_memory),
            workers_memory: {
                let mut each = reports.iter().map(|r| r.workers_memory.clone());
                [(); 3].map(|()| each.next().unwrap_or_default())
            },
            rounds: reports.first().map_or(0, |r| r.rounds),
            replaced: reports.first().map_or(Vec::new(), |r| r.replaced.clone()),
            admitted: reports.first().map_or(Vec::new(), |r| r.admitted.clone()),
            coins: reports.into_iter().next().map_or(Vec::new(), |r| r.coins),
            outputs: revealed,
            seconds: self.seconds,
            upload_bytes: self.upload_bytes,
            recorded: self.recorded,
            kept: match self.kept {
                [Some(a), Some(b), Some(c)] => Some([a, b, c]),
                _ => None,
            },
        })
    }
}
