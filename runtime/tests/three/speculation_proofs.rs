//! Layers that are computed again if a client fails, against a malicious party: what is sent in both attempts is proven,
//! each time with another proof.

use crate::agreement::one_of;
use crate::build::PROVES;
use crate::proof_views::uniform_bytes;
use crate::speculation;
use crate::views::{LIMIT, chi_squared};
use slvr_circuit::proof::{Lengths, barriers};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::traffic::Traffic;
use slvr_circuit::verify::verify;
use slvr_circuit::{Circuit, Instr, text};
use slvr_runtime::link::memory::Memory;
use slvr_runtime::link::tap::sending;
use slvr_runtime::link::{Header, Kind, Link, Peer};
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{Options, Outcome, run_outcome};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// As the circuit of [`speculation`], of instructions that have statements: R = 1, L = 3. What is opened under a mask in
/// layer 2 is joined in layer 4 only, so that it is proven after the check is opened.
const END: &str = r#"  %22 = reshare_two %18 : A8[3,64] @0
  %23 = input %20 : A8[3,64] @0
  drop %6 %18 %20
layer 3:
  exchange:
  %9 = open %7 : pub.B1[3] @0
layer 4:
  %8 = join %19 %21 : A8[3,64] @0
  %24 = add %8 %22 : A8[3,64] @0
  %25 = as_add3 %24 : add3.A8[3,64] @0
  exchange:
  %26 = reshare %25 : A8[3,64] @0
  drop %8 %24 %25
layer 5:
  %27 = as_add3 %26 : add3.A8[3,64] @0
  exchange:
  open_to %27 output 0 @0
  drop %0 %1 %3 %5 %7 %9 %11 %17 %19 %21 %22 %23 %26 %27
"#;

fn written() -> String {
    let head = speculation::HEAD.replacen("party", "security malicious\nparty", 1);
    format!("{head}{END}")
}

/// The same with the check opened after everything else but the output: R = 1, L = 4. One proof is about all of it.
fn last_text() -> String {
    let open = "  exchange:\n  %9 = open %7 : pub.B1[3] @0\n";
    let early = format!("layer 3:\n{open}layer 4:\n");
    written()
        .replace(&early, "layer 3:\n")
        .replace("layer 5:\n", &format!("layer 4:\n{open}layer 5:\n"))
}

fn parsed(text: &str) -> Circuit {
    let circuit = text::parse(text).unwrap_or_else(|e| panic!("{e}"));
    verify(&circuit).unwrap_or_else(|e| panic!("{e}"));
    circuit
}

/// With early and with last checks.
pub fn placements() -> [Circuit; 2] {
    [parsed(&written()), parsed(&last_text())]
}

/// A frame: who sent it to whom.
pub type Frame = (usize, Peer, Header);

pub type Log = Arc<Mutex<BTreeMap<Frame, Vec<u8>>>>;

/// Flips a bit of one frame, and writes down all of them.
pub fn run(circuit: &Circuit, good: [bool; 3], seed: u64, flips: Option<Frame>) -> (Outcome, Log) {
    let log = Log::default();
    let wrap = |me: usize, inner: Memory| -> Box<dyn Link> {
        let log = log.clone();
        sending(inner, move |(to, header, mut body)| {
            if flips == Some((me, to, header)) {
                let middle = body.len() / 2;
                body.iter_mut().skip(middle).take(1).for_each(|x| *x ^= 1);
            }
            log.lock().unwrap().insert((me, to, header), body.clone());
            vec![(to, header, body)]
        })
    };
    let deadline = Duration::from_secs(60);
    let options = Options {
        doors: Doors::new().wrap(&wrap),
        seed: Some(seed),
        deadline,
        ..Options::default()
    };
    let encoded = speculation::inputs(circuit, good);
    let outcome = run_outcome(circuit, encoded, &options).expect("set up");
    (outcome, log)
}

/// Whoever fails counts as zeros, at the cost that is predicted: two rounds and a proof more, or three with the last checks.
#[test]
fn a_client_that_fails_counts_as_zeros_and_all_is_proven_again() {
    for (circuit, last) in placements().into_iter().zip([3, 4]) {
        let part = Speculation::of(&circuit).expect("it does not wait");
        assert_eq!((part.first, part.last), (1, last));
        let about = barriers(&circuit).unwrap();
        let about: Vec<_> = about.iter().map(|b| (b.layer, b.statements.is_empty())).collect();
        assert_eq!(about, [(last as u32, false), (5, last == 4)], "one proof with the last checks");
        let (outcome, _) = run(&circuit, [true; 3], 1, None);
        let honest = outcome.report(&circuit).unwrap_or_else(|e| panic!("{e}"));
        let once = Traffic::of(&circuit);
        assert_eq!((honest.rounds, honest.bytes_sent), (once.rounds, once.bytes));
        let proof: usize = once.layers[last].proof_rounds;
        assert!(proof > 0);
        for pattern in 0..7u8 {
            let good = [0, 1, 2].map(|i| pattern >> i & 1 == 1);
            let (outcome, _) = run(&circuit, good, 2, None);
            let report = outcome.report(&circuit).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(report.admitted, vec![(0, good.to_vec())]);
            let all = &honest.outputs[0].values;
            for (n, (got, all)) in report.outputs[0].values.iter().zip(all).enumerate() {
                assert_eq!(*got, if good[n / 64] { *all } else { 0.0 });
            }
            let twice = Traffic::repeated(&circuit);
            assert_eq!((report.rounds, report.bytes_sent), (twice.rounds, twice.bytes));
            assert_eq!(twice.rounds, once.rounds + last - 1 + proof);
            // And the copy of what is multiplied by bits that are not all ones, which is kept for the proof.
            assert_eq!(report.peak_memory, honest.peak_memory.map(|bytes| bytes + 2 * 3 * 64));
        }
    }
}

/// The placements with more proofs, in each way and before each layer: R = 1, and L = 3 or 4.
fn proven_often() -> Vec<Circuit> {
    let mut all = Vec::new();
    for circuit in placements() {
        for by in 1..3usize.pow(4) {
            let mut out = circuit.clone();
            for l in 1..=4 {
                let op = match by / 3usize.pow(l as u32 - 1) % 3 {
                    0 => continue,
                    way => PROVES[way - 1].clone(),
                };
                out.layers[l].local.insert(0, Instr { out: None, op, site: 0 });
            }
            verify(&out).unwrap_or_else(|e| panic!("{e}"));
            all.push(out);
        }
    }
    all
}

/// Proofs among layers that are repeated are given in both attempts, and what they are about is there.
#[test]
fn proofs_among_layers_that_are_repeated_are_given_again() {
    let [want, zeros] = [[true; 3], [true, false, true]].map(|good| {
        let (outcome, _) = run(&placements()[0], good, 2, None);
        outcome.report(&placements()[0]).unwrap_or_else(|e| panic!("{e}")).outputs[0].values.clone()
    });
    for circuit in proven_often().into_iter().step_by(one_of(5)) {
        let ways: Vec<_> =
            circuit.layers.iter().map(|l| l.local.first().map(|i| i.op.name())).collect();
        for (good, want) in [([true; 3], &want), ([true, false, true], &zeros)] {
            let (outcome, _) = run(&circuit, good, 2, None);
            let report = outcome.report(&circuit).unwrap_or_else(|e| panic!("{ways:?}: {e}"));
            assert_eq!(report.outputs[0].values, *want, "{ways:?}");
            let cost = Traffic::of_run(&circuit, &report.admitted);
            let counted = (report.rounds, report.bytes_sent);
            assert_eq!(counted, (cost.rounds, cost.bytes), "{ways:?} {good:?}");
        }
    }
}

/// No altered frame of a proof among them is accepted, in either attempt.
#[test]
fn no_altered_proof_among_layers_that_are_repeated_is_accepted() {
    let good = [true, false, true];
    let mut stopped = 0;
    for circuit in proven_often().into_iter().step_by(37) {
        let (outcome, log) = run(&circuit, good, 3, None);
        let want = outcome.report(&circuit).unwrap_or_else(|e| panic!("{e}")).outputs;
        let frames: Vec<Frame> = log.lock().unwrap().keys().copied().collect();
        let proofs = frames.into_iter().filter(|(_, _, h)| h.len > 0 && h.kind == Kind::Proof);
        for frame in proofs.step_by(one_of(3)) {
            let (outcome, _) = run(&circuit, good, 3, Some(frame));
            match &outcome.receivers[0].1 {
                Ok(got) => panic!("{frame:?} is accepted: {}", got[0].values == want[0].values),
                Err(_) => stopped += 1,
            }
        }
    }
    assert!(stopped > 100 / one_of(3), "{stopped} runs are stopped");
}

/// Each frame of each party, in both attempts: no wrong output is taken.
#[test]
fn no_altered_frame_of_either_attempt_is_accepted() {
    let good = [true, false, true];
    let (mut repeated, mut stopped, mut kinds) =
        ([0; 2], [0; 2], [BTreeSet::new(), BTreeSet::new()]);
    for (last, circuit) in placements().into_iter().enumerate() {
        let (outcome, log) = run(&circuit, good, 3, None);
        let want = outcome.report(&circuit).unwrap_or_else(|e| panic!("{e}")).outputs;
        let frames: Vec<Frame> = log.lock().unwrap().keys().copied().collect();
        let altered = frames.into_iter().filter(|(_, _, h)| {
            h.len > 0 && matches!(h.kind, Kind::Layer | Kind::Proof | Kind::Vouch)
        });
        for frame in altered {
            let (outcome, _) = run(&circuit, good, 3, Some(frame));
            // What was to be proven after the first attempt is sent again before that. With the last checks nothing is.
            match &outcome.receivers[0].1 {
                Ok(got) => {
                    assert!(got[0].values == want[0].values, "{frame:?} is accepted");
                    assert_eq!((last, frame.2.layer), (0, 2), "{frame:?} has no effect");
                }
                Err(_) => stopped[last] += 1,
            }
            repeated[last] += u32::from(frame.2.layer & Header::REPEATED != 0);
            kinds[last].insert((frame.2.kind as u8, frame.2.layer & Header::REPEATED != 0));
        }
    }
    println!("{stopped:?} runs are stopped, {repeated:?} frames of repeated layers");
    assert!(stopped.iter().all(|n| *n > 90), "{stopped:?} runs are stopped");
    assert!(repeated.iter().all(|n| *n > 35), "{repeated:?} frames of repeated layers");
    for kinds in kinds {
        assert_eq!(kinds.len(), 5, "each kind; in the second attempt nothing is opened: {kinds:?}");
    }
    // Without proofs some of them are.
    for proven in placements() {
        let bare = Circuit { security: Default::default(), ..proven };
        let (_, log) = run(&bare, good, 3, None);
        let frames: Vec<Frame> = log.lock().unwrap().keys().copied().collect();
        let accepted = |frame: &&Frame| {
            let (outcome, _) = run(&bare, good, 3, Some(**frame));
            frame.2.kind == Kind::Layer && outcome.receivers[0].1.is_ok()
        };
        assert!(frames.iter().filter(accepted).count() > 10);
    }
}

/// What is said in the two proofs of one layer differs by uniform bytes: coins, shares and what hides are drawn anew,
/// although the inputs of two clients are the same in both attempts.
#[test]
fn the_second_proof_is_masked_anew() {
    for circuit in placements() {
        let last = Speculation::of(&circuit).expect("it does not wait").last as u32;
        let all = barriers(&circuit).unwrap();
        let lengths = Lengths::of(&circuit, all.iter().find(|b| b.layer == last).unwrap());
        let mut histograms: BTreeMap<String, [u64; 256]> = BTreeMap::new();
        for seed in 0..40 {
            let (outcome, log) = run(&circuit, [true, true, false], 100 + seed, None);
            outcome.report(&circuit).unwrap_or_else(|e| panic!("{e}"));
            let log = log.lock().unwrap();
            let is_first = |h: &Header| h.kind == Kind::Proof && h.layer == last;
            for ((me, to, h), first) in log.iter().filter(|((_, _, h), _)| is_first(h)) {
                let again = Header { layer: h.layer | Header::REPEATED, ..*h };
                // A verdict is always the same, and the last word of carries is filled up.
                let second = log.get(&(*me, *to, again));
                if let Some(second) = second.filter(|_| h.len >= 64 && h.part > 0) {
                    assert_eq!(first.len(), second.len());
                    let key = format!("party {me} to {to}, part {}", h.part);
                    let all = histograms.entry(key).or_insert([0; 256]);
                    let [first, second] =
                        [first, second].map(|body| uniform_bytes(&lengths, h.part, body));
                    for (a, b) in first.iter().zip(&second) {
                        all[a.wrapping_sub(*b) as usize] += 1;
                    }
                }
            }
        }
        assert!(histograms.len() >= 9, "{:?}", histograms.keys());
        for (key, h) in &histograms {
            let n: u64 = h.iter().sum();
            let chi = chi_squared(h);
            assert!(n < 1280 || chi < LIMIT, "{key}: chi-squared {chi} of {n} bytes");
        }
    }
}

/// With the last checks, what is sent between them and the outputs has a proof of its own: a circuit that somebody else has
/// made saves a proof only where nothing is.
#[test]
fn what_is_sent_after_the_last_checks_is_proven() {
    let late = last_text()
        .replace("layer 5:\n  %27 = as_add3 %26", "layer 6:\n  %27 = as_add3 %29")
        .replace("%26 %27\n", "%26 %27 %29\n")
        .replace(
            "layer 6:\n",
            "layer 5:\n  %28 = as_add3 %26 : add3.A8[3,64] @0\n  exchange:\n  \
             %29 = reshare %28 : A8[3,64] @0\n  drop %28\nlayer 6:\n",
        );
    let circuit = parsed(&late);
    let all = barriers(&circuit).unwrap();
    let lengths: Vec<_> = all.iter().map(|b| (b.layer, b.statements.is_empty())).collect();
    assert_eq!(lengths, [(4, false), (6, false)]);
}

/// A proof among the layers that are repeated is refused: its words would be gone. So is an opening that depends on what is
/// only proven afterwards.
#[test]
fn what_cannot_be_proven_twice_or_in_time_is_refused() {
    // The output is what was opened under the mask, as two parties know it, and not what is joined in layer 4.
    let text = written()
        .replace("%24 = add %8 %22", "%24 = trivial %21")
        .replace(
            "  %26 = reshare %25 : A8[3,64] @0\n  drop %8 %24 %25\n",
            "  %26 = reshare %25 : A8[3,64] @0\n  drop %24 %25\n",
        )
        .replace("  %8 = join %19 %21 : A8[3,64] @0\n", "")
        .replace("layer 5:\n", "layer 5:\n  %8 = join %19 %21 : A8[3,64] @0\n")
        .replace("drop %0 %1 %3 %5 %7 %9", "drop %0 %1 %3 %5 %7 %8 %9");
    let late = text::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let why = verify(&late).expect_err("the output depends on it").to_string();
    assert!(why.contains("what only a later layer makes"), "{why}");
}

/// Bits of a check that depend on what is drawn in the layers that are repeated are opened once, and all go on with these.
#[test]
fn what_is_opened_is_opened_once() {
    let text = written()
        .replace("  %4 = mul %3 %1", "  %8 = random 0 B1 [3] : B1[3] @0\n  %4 = mul %3 %8")
        .replace("drop %4 %12", "drop %4 %8 %12")
        .replace("%8 = join", "%28 = join")
        .replace("add %8 %22", "add %28 %22")
        .replace("drop %8 %24 %25", "drop %24 %25 %28");
    let circuit = text::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    verify(&circuit).unwrap_or_else(|e| panic!("{e}"));
    let mut repeated = 0;
    for seed in 0..10 {
        let (outcome, log) = run(&circuit, [true; 3], seed, None);
        let report = outcome.report(&circuit).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let traffic = Traffic::of_run(&circuit, &report.admitted);
        assert_eq!((report.rounds, report.bytes_sent), (traffic.rounds, traffic.bytes));
        let log = log.lock().unwrap();
        let opens = |(_, _, h): &&Frame| {
            h.layer & !Header::REPEATED == 3 && matches!(h.kind, Kind::Layer | Kind::Vouch)
        };
        assert_eq!(log.keys().filter(opens).count(), 6, "words and hashes of three components");
        repeated += u32::from(report.admitted[0].1 != [true; 3]);
    }
    assert!(repeated > 4, "{repeated} of 10 runs go back");
}

/// A check that nobody opens: no proof would stand where the run decides.
const LOCAL: &str = r#"circuit "local check"
security malicious
party "Client" 3
party "Server" 1
input %0 "x" from 0 int(-128, 128) [64] : A8[3,64]
const %1 : pub.B1[3] = 1x3
output 0 "y" to 1 [3,64] ring 8 frac 0 factor 1.0 divisor 1.0
check 0 %3
site 0 "all" line 0
layer 0:
  %2 = admitted 0 members 3 : pub.B1[3] @0
  %3 = reshape %1 [3] : pub.B1[3] @0
  %4 = mul %0 %0 : add3.A8[3,64] @0
  exchange:
  %5 = reshare %4 : A8[3,64] @0
  drop %4
layer 1:
  %6 = as_add3 %5 : add3.A8[3,64] @0
  exchange:
  open_to %6 output 0 @0
"#;

/// v = u1 + u2 of two masks, w what the owner has of "good"; the owner inputs v, w and M = v w. The check opens
/// 1 + (v w + M) S with S secret, which is 1 whatever S is, if M is right. That M is v w says its statement, about the v that
/// is input; that this is v says the statement of v, which waits for layer 4.
const CLAIM: &str = r#"circuit "claim"
security malicious
party "Client" 3
party "Server" 1
input %0 "x" from 0 int(-128, 128) [64] : A8[3,64]
input %1 "good" from 0 int(0, 2) [] : B1[3]
input %24 "secret" from 0 int(0, 2) [] : B1[3]
output 0 "y" to 1 [3,64] ring 8 frac 0 factor 1.0 divisor 1.0
check 0 %22
site 0 "all" line 0
layer 0:
  %2 = mask 0 B1 [3] groups 0 : mask.B1[3] @0
  %3 = mask 1 B1 [3] groups 0 : mask.B1[3] @0
  %4 = own %2 : own.B1[3] @0
  %5 = own %3 : own.B1[3] @0
  %6 = add %4 %5 : own.B1[3] @0
  %7 = own %1 : own.B1[3] @0
  %8 = mul %6 %7 : own.B1[3] @0
  exchange:
  %9 = input %6 : B1[3] @0
  %10 = input %8 : B1[3] @0
  %11 = input %7 : B1[3] @0
layer 1:
  %12 = dup %1 : dup.B1[3] @0
  %13 = join %2 %12 : B1[3] @0
  %14 = join %3 %12 : B1[3] @0
  %15 = add %14 %13 : B1[3] @0
  %16 = mul %15 %11 : add3.B1[3] @0
  exchange:
  %17 = reshare %16 : B1[3] @0
layer 2:
  %25 = admitted 0 members 3 : pub.B1[3] @0
  %26 = from_bits %25 8 : pub.A8[3] @0
  %27 = reshape %26 [3,1] : pub.A8[3,1] @0
  %28 = mul %0 %27 : A8[3,64] @0
  %29 = mul %28 %28 : add3.A8[3,64] @0
  %18 = add %17 %10 : B1[3] @0
  %19 = mul %18 %24 : add3.B1[3] @0
  exchange:
  %20 = reshare %19 : B1[3] @0
  %30 = reshare %29 : A8[3,64] @0
layer 3:
  %21 = not %20 : B1[3] @0
  exchange:
  %22 = open %21 : pub.B1[3] @0
layer 4:
  %23 = add %13 %14 : B1[3] @0
  exchange:
layer 5:
  %31 = as_add3 %30 : add3.A8[3,64] @0
  exchange:
  open_to %31 output 0 @0
"#;

/// What is opened does not depend on a message whose statement comes later, neither by what it is made of nor by what the
/// statements of that are about. And the bits that a run goes back for are opened.
#[test]
fn what_is_opened_rests_on_proofs_only() {
    let why = |text: &str| {
        let circuit = text::parse(text).unwrap_or_else(|e| panic!("{e}"));
        verify(&circuit).map_or_else(|e| e.to_string(), |()| "accepted".into())
    };
    assert!(why(LOCAL).contains("no `open` makes it"), "{}", why(LOCAL));
    assert!(why(CLAIM).contains("what only a later layer makes"), "{}", why(CLAIM));
    // Where v is made in time, it is proven in time.
    let in_time = CLAIM.replace("%15 = add %14 %13", "%15 = add %13 %14");
    assert_eq!(why(&in_time), "accepted");
}
