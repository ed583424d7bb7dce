//! One party deviates, in any message or in what it computes: no wrong output is ever accepted, nothing is opened
//! before the proofs, and nobody hangs. The same deviations succeed where nothing is proven.
//!
//! `SLVR_COUNT=20000` tries so many instead of 500.

use crate::agreement::{one_of, setting};
use crate::build::{Builder, PROVES};
use crate::dealer_proofs::{dealer_claims, held_claims};
use crate::parted::parted_claims;
use crate::proofs::{every_claim, options, proven_often};
use slvr_circuit::proof::{Lengths, barriers};
use slvr_circuit::traffic::Traffic;
use slvr_circuit::verify::{Openings, verify_with};
use slvr_circuit::{Circuit, Op, Security, ValueId, artifact};
use slvr_runtime::link::memory::Memory;
use slvr_runtime::link::{Header, Kind, Link, LinkError, Peer};
use slvr_runtime::party::session::{Options, Outcome, Report, run_outcome};
use slvr_runtime::party::{Phase, RunError};
use slvr_runtime::share::Seed;
use slvr_runtime::share::deal::{Part, Upload};
use slvr_runtime::share::encode::Encoded;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens to one frame of a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// One bit of it.
    Flip,
    /// Every byte of it.
    Overwrite,
    /// One byte, by an amount that depends on what the party has received last.
    Depend,
    Drop,
    Repeat,
    /// It comes after the next one to the same peer.
    Reorder,
    /// The bytes of the last frame of this length that the party has sent or received.
    Replay,
    /// These bytes: from `at` on, `count` of them, each `step` after the other, by a mask.
    Exactly {
        at: usize,
        mask: u8,
        count: usize,
        step: usize,
    },
}

const ALL: [How; 7] =
    [How::Flip, How::Overwrite, How::Depend, How::Drop, How::Repeat, How::Reorder, How::Replay];

/// A party's deviation: in the frame with this number, or in what it evaluates.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub party: usize,
    pub frame: Option<(usize, How, u64)>,
}

/// The link of the party that deviates.
struct Bent {
    inner: Memory,
    rule: Rule,
    /// Frames that it has sent.
    sent: usize,
    /// Frames of every party, to see what was opened when.
    log: Arc<Mutex<Log>>,
    me: usize,
    last: Vec<u8>,
    seen: Vec<Vec<u8>>,
    held: Option<(Peer, Header, Vec<u8>)>,
}

impl Bent {
    /// Whether there was anything to change.
    fn change(&mut self, how: How, pick: u64, body: &mut [u8]) -> bool {
        let n = body.len().max(1);
        match how {
            _ if body.is_empty() => return false,
            How::Flip => body[pick as usize / 8 % n] ^= 1 << (pick % 8),
            How::Overwrite => body.iter_mut().for_each(|x| *x ^= pick as u8 | 1),
            How::Depend => {
                let seen = self.last.first().copied().unwrap_or(0);
                body[pick as usize % n] ^= if seen % 2 == 0 { 1 } else { 0x80 };
            }
            How::Replay => match self.seen.iter().rev().find(|b| b.len() == body.len()) {
                Some(old) => body.copy_from_slice(old),
                None => return false,
            },
            How::Exactly { at, mask, count, step } => {
                (0..count).for_each(|i| body[at + i * step] ^= mask);
            }
            How::Drop | How::Repeat | How::Reorder => {}
        }
        true
    }
}

impl Link for Bent {
    fn send(&mut self, to: Peer, header: Header, mut body: Vec<u8>) -> Result<(), LinkError> {
        self.log.lock().unwrap().push((self.me, header, to));
        if self.me != self.rule.party {
            return self.inner.send(to, header, body);
        }
        if header.kind == Kind::Hello {
            return self.inner.send(to, header, body);
        }
        if matches!(header.kind, Kind::Done | Kind::Agreed | Kind::Abort) {
            if let Some((to, header, body)) = self.held.take() {
                self.inner.send(to, header, body)?;
            }
            return self.inner.send(to, header, body);
        }
        let number = self.sent;
        self.sent += 1;
        let hit = self.rule.frame.filter(|(frame, ..)| *frame == number);
        if let Some((_, how, pick)) = hit {
            self.change(how, pick, &mut body);
            match how {
                How::Drop => return Ok(()),
                How::Repeat => self.inner.send(to, header, body.clone())?,
                How::Reorder => {
                    self.held = Some((to, header, body));
                    return Ok(());
                }
                _ => {}
            }
        }
        self.seen.push(body.clone());
        self.inner.send(to, header, body)?;
        match self.held.take() {
            Some((peer, header, body)) if peer == to => self.inner.send(peer, header, body),
            other => {
                self.held = other;
                Ok(())
            }
        }
    }

    fn recv(&mut self, from: Peer, expected: Header, wait: Duration) -> Result<Vec<u8>, LinkError> {
        let body = self.inner.recv(from, expected, wait)?;
        if self.me == self.rule.party {
            self.last.clone_from(&body);
            self.seen.push(body.clone());
        }
        Ok(body)
    }
}

pub type Log = Vec<(usize, Header, Peer)>;

/// A run in which a party deviates, and all frames that were sent.
pub fn bent(
    circuit: &Circuit,
    encoded: &Encoded,
    rule: Rule,
    instead: Option<&Circuit>,
    seed: u64,
) -> (Outcome, Log) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let wrap = |me: usize, inner: Memory| -> Box<dyn Link> {
        let (last, seen, held) = (Vec::new(), Vec::new(), None);
        let log = log.clone();
        Box::new(Bent { inner, rule, sent: 0, log, me, last, seen, held })
    };
    let silent = matches!(rule.frame, Some((_, How::Drop | How::Reorder, _)));
    let deadline = if silent { Duration::from_millis(400) } else { Duration::from_secs(60) };
    let deviant = instead.map(|c| (rule.party, c));
    let options = Options {
        doors: options(seed).doors.wrap(&wrap).deviant(deviant),
        deadline,
        ..options(seed)
    };
    let outcome = run_outcome(circuit, encoded.clone(), &options).unwrap();
    let log = log.lock().unwrap().clone();
    (outcome, log)
}

/// What is right, and how the parties and the receiver must not end.
pub struct Truth {
    outputs: Vec<slvr_runtime::share::reveal::Revealed>,
    coins: Vec<u128>,
    admitted: Vec<(u32, Vec<bool>)>,
}

impl Truth {
    pub fn of(circuit: &Circuit, encoded: &Encoded, seed: u64) -> Truth {
        let report = crate::proofs::run(circuit, encoded, &options(seed));
        Truth { outputs: report.outputs, coins: report.coins, admitted: report.admitted }
    }

    /// Whether an honest party or the receiver takes something that is not right.
    pub fn is_missed(&self, outcome: &Outcome, deviant: usize) -> bool {
        let honest = outcome.parties.iter().enumerate().filter(|(i, _)| *i != deviant);
        let wrong = |r: &slvr_runtime::party::PartyReport| {
            r.coins != self.coins || r.admitted != self.admitted
        };
        let parties = honest.filter_map(|(_, r)| r.as_ref().ok()).any(wrong);
        let receivers = outcome.receivers.iter().filter_map(|(_, r)| r.as_ref().ok());
        parties || receivers.flatten().ne(&self.outputs) && outcome.receivers[0].1.is_ok()
    }
}

fn sample() -> (Circuit, Encoded) {
    every_claim(32, 70, 3)
}

/// The same of family T2.
fn dealer_sample() -> (Circuit, Encoded) {
    dealer_claims(32, 70, 3)
}

/// The same of products of matrices of which owners know their words ahead.
fn parted_sample() -> (Circuit, Encoded) {
    parted_claims(32, 3)
}

fn runs() -> usize {
    setting("SLVR_COUNT", 500) as usize
}

/// Uniform enough to pick places.
fn pick(seed: u64) -> u64 {
    let x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 31).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
}

/// Frames that each party sends in an honest run, handshake and closing excluded, with their headers.
fn frames(circuit: &Circuit, encoded: &Encoded) -> [Vec<Header>; 3] {
    sent(circuit, encoded).map(|all| all.into_iter().map(|(h, _)| h).collect())
}

/// The same with whom they go to.
pub fn sent(circuit: &Circuit, encoded: &Encoded) -> [Vec<(Header, Peer)>; 3] {
    let rule = Rule { party: 3, frame: None };
    let (_, log) = bent(circuit, encoded, rule, None, 1);
    let counts = |k: Kind| !matches!(k, Kind::Hello | Kind::Done | Kind::Agreed | Kind::Abort);
    [0, 1, 2].map(|i| {
        let mine = log.iter().filter(|(me, h, _)| *me == i && counts(h.kind));
        mine.map(|(_, h, to)| (*h, *to)).collect()
    })
}

/// Every abort says where, and no honest party has opened anything that no proof covers.
pub fn ended_well(circuit: &Circuit, outcome: &Outcome, log: &Log, deviant: usize, rule: &Rule) {
    let errors: Vec<&RunError> = (outcome.parties.iter().enumerate())
        .filter(|(i, _)| *i != deviant)
        .filter_map(|(_, r)| r.as_ref().err())
        .collect();
    for e in &errors {
        let text = e.to_string();
        let named = ["layer ", "handshake", "end of the run"].iter().any(|w| text.contains(w));
        assert!(named, "{rule:?}: {text}");
        if matches!(e, RunError::Proof { .. } | RunError::Voucher { .. }) {
            assert!(text.contains('`'), "{rule:?}: {text}");
        }
        // No honest party is accused alone.
        let named = match e {
            RunError::Proof { party, or, .. } => Some([Some(*party), *or]),
            RunError::Voucher { from, by, .. } => Some([Some(*from), Some(*by)]),
            _ => None,
        };
        if let Some(named) = named {
            assert!(named.contains(&Some(deviant)), "{rule:?}: {text}");
        }
    }
    // Where an honest party finds a wrong proof, no honest party goes on to the next layer that waits for it.
    let at = errors.iter().find_map(|e| match e {
        // That a proof is not accepted its prover alone may say without reason.
        RunError::Proof { phase: Phase::Layer(l), what: "its proof is wrong", .. } => Some(*l),
        _ => None,
    });
    if let Some(layer) = at {
        let all = barriers(circuit).unwrap();
        let waits = all.iter().find(|b| b.waits && b.layer >= layer).unwrap().layer;
        let opened = log
            .iter()
            .any(|(me, h, _)| *me != deviant && h.kind == Kind::Layer && h.layer >= waits);
        assert!(
            !opened,
            "{rule:?}: something was opened in layer {layer} in spite of a wrong proof"
        );
    }
}

/// Every frame of every party, in many ways.
#[test]
fn no_altered_message_is_accepted() {
    // Both families, in turn.
    let [often, beside] = PROVES.map(|by| {
        move |(circuit, encoded): (Circuit, Encoded)| (proven_often(&circuit, &by), encoded)
    });
    let samples = [
        ("T1", sample()),
        ("T2", dealer_sample()),
        // Of so many elements each shard has some.
        ("T2, factors as two hold them", held_claims(32, 150, 3)),
        ("products of matrices", parted_sample()),
        ("T1, proven often", often(sample())),
        ("T2, proven often", often(dealer_sample())),
        ("T1, proven beside layers", beside(sample())),
        ("T2, proven beside layers", beside(dealer_sample())),
    ];
    let all = samples.iter().map(|(family, (circuit, encoded))| {
        (family, circuit, encoded, Truth::of(circuit, encoded, 1), frames(circuit, encoded))
    });
    let all: Vec<_> = all.collect();
    let (n, aborted) = (runs(), AtomicUsize::new(0));
    let one = |run: usize| {
        if n > 1000 && run.is_multiple_of(500) {
            println!("run {run} of {n}, {} stopped", aborted.load(Ordering::Relaxed));
        }
        let (family, circuit, encoded, truth, all) = &all[run % all.len()];
        let i = run / all.len();
        let party = i % 3;
        let how = ALL[i / 3 % ALL.len()];
        // All frames in turn, then again with other places.
        let frame = (i / 3 + i / (3 * all[party].len())) % all[party].len();
        let rule = Rule { party, frame: Some((frame, how, pick(i as u64))) };
        let (outcome, log) = bent(circuit, encoded, rule, None, 1);
        let what = all[party][frame];
        assert!(
            !truth.is_missed(&outcome, party),
            "{family}: run {run}, {rule:?} of {what} was not noticed"
        );
        ended_well(circuit, &outcome, &log, party, &rule);
        if (how, what.kind) == (How::Drop, Kind::Proof) {
            let waits = |e: &RunError| e.to_string().contains(", in the proof before `");
            let honest = outcome.parties.iter().enumerate().filter(|(i, _)| *i != party);
            let found = honest.filter_map(|(_, r)| r.as_ref().err()).any(waits);
            assert!(found, "{family}: run {run}, {rule:?} of {what}: nobody says where");
        }
        aborted.fetch_add(usize::from(outcome.receivers[0].1.is_err()), Ordering::Relaxed);
    };
    // Where a frame is held back the parties only wait for it: meanwhile others run.
    let next = AtomicUsize::new(0);
    let turns = || std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| turns().take_while(|run| *run < n).for_each(one));
        }
    });
    let aborted = aborted.into_inner();
    // Some frames are changed to what they were.
    assert!(aborted * 10 > n * 8, "{aborted} of {n} runs were stopped");
}

/// So many statements that the first fold of a proof has many variables: honest parties accept each other, with what was
/// predicted, and one altered word or bit ends the run, whichever party sends it.
#[test]
fn long_proofs_find_single_errors() {
    let (circuit, encoded) = every_claim(64, 70_016, 9);
    let frames = frames(&circuit, &encoded);
    let first = &barriers(&circuit).unwrap()[0];
    let folds = Lengths::of(&circuit, first).folds;
    let long = folds.iter().flatten().filter(|f| f.elements > 10_000).count();
    assert_eq!(long, 2, "long over words and over bits: {folds:?}");
    let predicted = Traffic::of(&circuit);
    let report = crate::proofs::run(&circuit, &encoded, &options(1));
    assert_eq!((report.rounds, report.bytes_sent), (predicted.rounds, predicted.bytes));
    let Report { outputs, coins, admitted, .. } = report;
    let truth = Truth { outputs, coins, admitted };
    for (party, sent) in frames.iter().enumerate() {
        // A frame with words, or one with bits.
        let layer = u32::from(party == 1);
        assert!(first.layer > layer);
        let is = |h: &Header| h.kind == Kind::Layer && h.layer == layer;
        let frame = sent.iter().position(is).unwrap();
        let rule = Rule { party, frame: Some((frame, How::Flip, pick(party as u64))) };
        let (outcome, log) = bent(&circuit, &encoded, rule, None, 1);
        assert!(!truth.is_missed(&outcome, party), "{rule:?}");
        assert!(outcome.receivers[0].1.is_err(), "{rule:?} was not noticed");
        ended_well(&circuit, &outcome, &log, party, &rule);
    }
}

/// In what a semi-honest run sends, each way to alter a word shows in what comes out. So the test above can
/// fail.
#[test]
fn altered_messages_succeed_where_nothing_is_proven() {
    altered_messages_succeed_in(sample());
    altered_messages_succeed_in(dealer_sample());
}

fn altered_messages_succeed_in((circuit, encoded): (Circuit, Encoded)) {
    let circuit = Circuit { security: Security::SemiHonest, ..circuit };
    let truth = Truth::of(&circuit, &encoded, 1);
    let all = frames(&circuit, &encoded);
    for how in [How::Flip, How::Overwrite, How::Depend, How::Replay] {
        let mut missed = 0;
        for (party, sent) in all.iter().enumerate() {
            for (frame, header) in sent.iter().enumerate() {
                if header.kind == Kind::Layer {
                    let rule = Rule { party, frame: Some((frame, how, pick(frame as u64))) };
                    let (outcome, _) = bent(&circuit, &encoded, rule, None, 1);
                    missed += usize::from(truth.is_missed(&outcome, party));
                }
            }
        }
        assert!(missed >= 3, "{how:?} succeeds {missed} times");
    }
}

/// Circuits that send as many words, with one local instruction changed.
fn mutants(circuit: &Circuit) -> Vec<(String, Circuit)> {
    let mut out = Vec::new();
    for (l, layer) in circuit.layers.iter().enumerate() {
        for (i, instr) in layer.local.iter().enumerate() {
            let mut ops = Vec::new();
            match &instr.op {
                Op::Mul(a, b) => ops.extend([Op::Mul(*a, *a), Op::Mul(*b, *b)]),
                Op::Add(a, b) => ops.extend([Op::Add(*a, *a), Op::Add(*b, *b)]),
                Op::Shr(x, n) => ops.push(Op::Shr(*x, n + 1)),
                Op::ToBits { x, lo, w } if *lo > 0 => {
                    ops.push(Op::ToBits { x: *x, lo: lo - 1, w: *w });
                }
                Op::Not(x) => {
                    let w = circuit.ty(*x).bits();
                    ops.push(Op::SelectPlanes(*x, (0..w).collect()));
                }
                Op::Planes { x, start, step, count } if *start > 0 => {
                    ops.push(Op::Planes { x: *x, start: start - 1, step: *step, count: *count });
                }
                Op::SelectPlanes(x, planes) => {
                    ops.push(Op::SelectPlanes(*x, planes.iter().rev().copied().collect()));
                }
                Op::Thermometer { x, blocks } => {
                    let w = circuit.ty(*x).bits();
                    let planes: u32 = blocks.iter().map(|b| (1 << b) - 1).sum();
                    ops.push(Op::SelectPlanes(*x, (0..planes).map(|i| i % w).collect()));
                    let blocks = blocks.iter().rev().copied().cycle().skip(1);
                    ops.push(Op::Thermometer { x: *x, blocks: blocks.take(3).collect() });
                }
                Op::MatMul { a, b, trans_b } => {
                    ops.push(Op::MatMul { a: *b, b: *a, trans_b: *trans_b });
                }
                _ => {}
            }
            // Another value of the same type.
            let other = |v: ValueId| {
                (0..circuit.types.len() as u32)
                    .map(ValueId)
                    .find(|o| *o != v && circuit.ty(*o) == circuit.ty(v))
            };
            for v in instr.op.operands() {
                if let Some(o) = other(v) {
                    ops.push(instr.op.map(|x| if x == v { o } else { x }));
                }
            }
            for op in ops {
                if op == instr.op {
                    continue;
                }
                let mut c = circuit.clone();
                let what = format!("layer {l}, {:?} instead of {:?}", op, instr.op);
                c.layers[l].local[i].op = op;
                // The party keeps whatever it wants.
                c.layers.iter_mut().for_each(|l| l.drop.clear());
                if verify_with(&c, Openings::Any).is_ok() {
                    out.push((what, c));
                }
            }
        }
    }
    out
}

/// A party that evaluates something else, and proves what it has computed.
#[test]
fn no_proof_of_something_else_is_accepted() {
    no_proof_of_something_else_is_accepted_in(sample(), one_of(4), 20 / one_of(2));
    no_proof_of_something_else_is_accepted_in(dealer_sample(), one_of(18), 20 / one_of(2));
    no_proof_of_something_else_is_accepted_in(parted_sample(), 1, 7);
}

/// It is what it computes that ends these runs, and not that its circuit is another one: one of another name, with sites of
/// another line, is accepted.
#[test]
fn a_party_whose_circuit_has_another_name_is_accepted() {
    for (circuit, encoded) in [sample(), dealer_sample()] {
        let mut other = Circuit { name: "other".into(), ..circuit.clone() };
        other.sites.iter_mut().for_each(|site| site.line += 1);
        assert_ne!(artifact::hash(&circuit), artifact::hash(&other));
        let truth = Truth::of(&circuit, &encoded, 1);
        for party in 0..3 {
            let rule = Rule { party, frame: None };
            let (outcome, _) = bent(&circuit, &encoded, rule, Some(&other), 1);
            assert!(!truth.is_missed(&outcome, party));
            let report = outcome.report(&circuit);
            assert!(report.is_ok(), "party {party}: {:?}", report.err());
        }
    }
}

/// One of so many other circuits is tried, and at least so many.
fn no_proof_of_something_else_is_accepted_in(
    (circuit, encoded): (Circuit, Encoded),
    step: usize,
    least: usize,
) {
    let truth = Truth::of(&circuit, &encoded, 1);
    let plain = Circuit { security: Security::SemiHonest, ..circuit.clone() };
    let all: Vec<_> = mutants(&circuit).into_iter().step_by(step).collect();
    assert!(all.len() > least, "{} other circuits", all.len());
    let (mut stopped, mut succeeded) = (0, 0);
    for (i, (what, other)) in all.iter().enumerate() {
        let rule = Rule { party: i % 3, frame: None };
        let (outcome, log) = bent(&circuit, &encoded, rule, Some(other), 1);
        assert!(!truth.is_missed(&outcome, i % 3), "party {}: {what}", i % 3);
        ended_well(&circuit, &outcome, &log, i % 3, &rule);
        stopped += usize::from(outcome.receivers[0].1.is_err());
        let other = Circuit { security: Security::SemiHonest, ..other.clone() };
        let (outcome, _) = bent(&plain, &encoded, rule, Some(&other), 1);
        succeeded += usize::from(truth.is_missed(&outcome, i % 3));
    }
    assert!(succeeded > all.len() / 3, "{succeeded} of {} succeed unproven", all.len());
    assert!(stopped >= succeeded, "{stopped} stopped, {succeeded} succeed unproven");
}

/// A wrong word of the first layer, in a circuit with such a proof before every layer: the first of these finds it. Also
/// the first layer before which the parties wait for proofs, and whether honest parties send any layer of a range.
fn a_wrong_word_is_found(by: &Op) -> (u32, impl Fn(std::ops::Range<u32>) -> bool) {
    let (circuit, encoded) = sample();
    let circuit = proven_often(&circuit, by);
    let waits = barriers(&circuit).unwrap().iter().find(|b| b.waits).unwrap().layer;
    let sent = &frames(&circuit, &encoded)[1];
    let frame = sent.iter().position(|h| h.kind == Kind::Layer && h.layer == 0).unwrap();
    let rule = Rule { party: 1, frame: Some((frame, How::Flip, 3)) };
    let (outcome, log) = bent(&circuit, &encoded, rule, None, 1);
    ended_well(&circuit, &outcome, &log, 1, &rule);
    let named =
        |e: &RunError| matches!(e, RunError::Proof { phase: Phase::Layer(1), op: "prove", .. });
    let found = outcome.parties.iter().filter_map(|p| p.as_ref().err()).any(named);
    assert!(found, "layer 1 and the proof are named");
    let sends = move |layers: std::ops::Range<u32>| {
        log.iter().any(|(me, h, _)| *me != 1 && h.kind == Kind::Layer && layers.contains(&h.layer))
    };
    (waits, sends)
}

/// Where a proof stands between openings, a wrong word of the first layer is found there, and nothing is sent afterwards
/// that depends on it.
#[test]
fn a_wrong_word_is_found_at_the_next_proof() {
    let (_, sends) = a_wrong_word_is_found(&Op::Prove);
    assert!(!sends(1..u32::MAX));
}

/// Where a proof goes on beside layers, a wrong word of the first layer is found by that proof, too: before anything is
/// opened, and while later layers are sent.
#[test]
fn a_wrong_word_is_found_beside_later_layers() {
    let (opens, sends) = a_wrong_word_is_found(&Op::BeginProof);
    assert!(sends(1..opens) && !sends(opens..u32::MAX));
}

/// What the table of claims says is opened stands behind a barrier.
#[test]
fn openings_stand_behind_barriers() {
    let (circuit, _) = sample();
    let layers: Vec<u32> = barriers(&circuit).unwrap().iter().map(|b| b.layer).collect();
    for (l, layer) in (0u32..).zip(&circuit.layers) {
        let opens = layer.exchange.iter().any(|i| i.op.interaction().unwrap().reveals());
        assert_eq!(opens, layers.contains(&l), "layer {l}");
    }
}

/// A client of which two parties have different copies is not replaced, as it is among semi-honest parties: one of
/// these two may have made its copy up.
#[test]
fn copies_of_a_client_that_differ_end_the_run() {
    let (circuit, encoded) = sample();
    for second in [false, true] {
        let tamper = |_: usize, _: usize, uploads: &mut [Upload; 3]| {
            let all = &mut uploads[0];
            let part = if second { &mut all.second } else { &mut all.first };
            *part = Part::Seed(Seed::new([99; 16]));
        };
        let options = Options { doors: options(1).doors.tamper(&tamper), ..options(1) };
        let outcome = run_outcome(&circuit, encoded.clone(), &options).unwrap();
        assert!(outcome.receivers.iter().all(|(_, r)| r.is_err()));
        assert!(outcome.parties.iter().all(|p| p.is_err()));
        let named = |e: &RunError| matches!(e, RunError::Client { set: 0, member: 0, .. });
        let found = outcome.parties.iter().filter_map(|p| p.as_ref().err()).filter(|e| named(e));
        // The others may hear first that a party has stopped.
        assert!(found.count() >= 1, "the client is named");
        let plain = Circuit { security: Security::SemiHonest, ..circuit.clone() };
        let outcome = run_outcome(&plain, encoded.clone(), &options).unwrap();
        let replaced = outcome.parties[1].as_ref().map(|r| r.replaced.len());
        // Of a set of one client nobody is left.
        assert!(!matches!(replaced, Ok(0)), "{replaced:?}");
    }
}

/// A check that is 1 for every honest input: not both of two bits are set, of which the second one, y, is 0. Wrong
/// shares of y make it the complement of the first bit, x.
fn guarded_check(x: u64) -> (Circuit, Encoded) {
    let mut b = Builder::new();
    let [x, y] = [x, 0].map(|v| b.secret(32, &[1, 1], &[u128::from(v)]));
    let mut bits = Vec::new();
    for v in [x, y] {
        let (own, dup) = (b.must(Op::Own(v)), b.must(Op::Dup(v)));
        let own = b.must(Op::ToBits { x: own, lo: 0, w: 1 });
        let dup = b.must(Op::ToBits { x: dup, lo: 0, w: 1 });
        bits.push((own, dup));
    }
    let shared: Vec<[ValueId; 2]> =
        bits.into_iter().map(|(a, d)| [b.must(Op::Input(a)), b.must(Op::Trivial(d))]).collect();
    b.next_layer();
    let bits: Vec<ValueId> = shared.into_iter().map(|[a, d]| b.must(Op::Add(a, d))).collect();
    let both = b.must(Op::Mul(bits[0], bits[1]));
    let both = b.must(Op::Reshare(both));
    b.next_layer();
    let check = b.must(Op::Not(both));
    let check = b.must(Op::Reshape(check, vec![1]));
    let value = b.must(Op::Open(check));
    let words = b.must(Op::AsAdd3(y));
    let fresh = b.must(Op::Reshare(words));
    b.next_layer();
    b.reveal(fresh, 0, 1.0);
    let (circuit, encoded) = b.finish();
    let checks = vec![slvr_circuit::Check { set: 0, value }];
    (Circuit { security: Security::Malicious, checks, ..circuit }, encoded)
}

/// A party alters what it shares of y. What it then sees, whether the run stops and what the parties open, does not
/// depend on x. It does where no barrier stands before the opening: there the bit that is opened is that of x.
#[test]
fn a_stop_says_nothing_of_an_input() {
    let seen = |x: u64, security: Security, seed: u64| {
        let (circuit, encoded) = guarded_check(x);
        let circuit = Circuit { security, ..circuit };
        // The owner's first frame of a layer has the shares of both bits, a byte each.
        let sent = &frames(&circuit, &encoded)[0];
        let first = sent.iter().position(|h| h.kind == Kind::Layer).unwrap();
        let rule = Rule { party: 0, frame: Some((first, How::Flip, 8)) };
        let (outcome, log) = bent(&circuit, &encoded, rule, None, seed);
        let opening = circuit
            .layers
            .iter()
            .position(|l| l.exchange.iter().any(|i| matches!(i.op, Op::Open(_))));
        let opened = log.iter().any(|(me, h, _)| {
            *me != 0 && h.kind == Kind::Layer && opening == Some(h.layer as usize)
        });
        let admitted = outcome.parties[1].as_ref().ok().map(|r| r.admitted.clone());
        (outcome.receivers[0].1.is_err(), opened, admitted)
    };
    let mut told = 0;
    for seed in 0..20 {
        let with = [0, 1].map(|x| seen(x, Security::Malicious, seed));
        assert_eq!(with[0], with[1], "seed {seed}");
        assert_eq!(with[0], (true, false, None), "seed {seed}: nothing is opened");
        let without = [0, 1].map(|x| seen(x, Security::SemiHonest, seed));
        told += usize::from(without[0] != without[1]);
    }
    assert_eq!(told, 20, "without a barrier the opened bit is the input");
}
