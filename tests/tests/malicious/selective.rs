//! What a party that deviates learns by whether the run stops, and by what is opened: nothing. And it cannot leave a client
//! out. Both succeed where nothing is proven.

use super::bent::{Change, Log, bent};
use super::{dealer, malicious};
use slvr_circuit::speculation::Speculation;
use slvr_circuit::{Circuit, Op, Security};
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options as How;
use slvr_compiler::schedule::Checks;
use slvr_runtime::link::Kind;
use slvr_runtime::party::session::{Outcome, encode};
use slvr_runtime::share::encode::{Inputs, RawTensor};
use slvr_tests::compile_with;
use slvr_tests::long::{one_of, part};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Each number is compared with both ends of its range: of so many bits that carries go through several blocks.
const SUM: &str = "use std::{sum};

predicate Sum[m]() {
    parties Client[m];
    parties Server;

    input x: secret fix in -1000..1000 from each Client;

    reveal sum(x[i] for i in Client) to Server as total;
}
";

/// A run on a number of each of three clients in which a party changes what it sends.
fn run(
    circuit: &Circuit,
    numbers: [f64; 3],
    party: usize,
    change: Option<Change>,
    seed: u64,
) -> (Outcome, Log) {
    let one = |x: f64| BTreeMap::from([("x".to_string(), RawTensor::reals([], vec![x]))]);
    let inputs = Inputs { public: BTreeMap::new(), sets: vec![numbers.map(one).into(), vec![]] };
    let encoded = encode(circuit, &inputs).expect("in range");
    bent(circuit, &encoded, party, change, None, seed)
}

/// With this placement of the check, if the circuit does not wait for it.
fn circuit(target: Target, checks: Option<Checks>) -> Circuit {
    let how = How { target, speculate: checks.is_some(), checks, ..malicious() };
    compile_with(SUM, &[("m", "3")], how).circuit().clone()
}

/// A circuit that waits for the bits of its check, and the same without barriers.
fn circuits(target: Target) -> [Circuit; 2] {
    let proven = circuit(target, None);
    let bare = Circuit { security: Security::SemiHonest, ..proven.clone() };
    [proven, bare]
}

/// The layer that opens whose inputs count.
fn opening(circuit: &Circuit) -> u32 {
    let opens = |l: &slvr_circuit::Layer| l.exchange.iter().any(|i| matches!(i.op, Op::Open(_)));
    circuit.layers.iter().position(opens).expect("a check") as u32
}

/// Whether the receiver gets nothing, whether an honest party has opened anything, and what an honest party takes the
/// bits of the check to be.
type Seen = (bool, bool, Option<Vec<bool>>);

/// A bit of a message of party 0: the frame among those that it sends, and the bit in it.
type Place = (usize, usize);

/// Places of a frame that are tried, at most.
const PLACES: usize = 60;

/// Bits about the upper end of the first client's number in planes that party 0 sends of the check. A plane has two bits
/// for each of three clients.
fn places(circuit: &Circuit) -> Vec<Place> {
    let (_, log) = run(circuit, [0.0; 3], 3, None, 1);
    let opening = opening(circuit);
    let mine = log.iter().filter(|(me, _)| *me == 0).enumerate();
    let check = mine.filter(|(_, (_, h))| h.kind == Kind::Layer && h.layer < opening);
    let bits = |len: usize| (1..8 * len).step_by(6 * (8 * len / 6).div_ceil(PLACES).max(1));
    check.flat_map(|(n, (_, h))| bits(h.len as usize).map(move |bit| (n, bit))).collect()
}

/// How often each is seen if party 0 alters these bits, one in each run, on one honest number.
fn seen(circuit: &Circuit, number: f64, places: &[Place], seeds: u64) -> BTreeMap<Seen, u64> {
    let opening = opening(circuit);
    let mut all = BTreeMap::new();
    for (&(frame, bit), seed) in places.iter().flat_map(|p| (0..seeds).map(move |s| (p, s))) {
        let change: Change = Arc::new(move |number, _, body| {
            if number == frame {
                body[bit / 8] ^= 1 << (bit % 8);
            }
        });
        let (outcome, log) = run(circuit, [number, 0.5, -0.25], 0, Some(change), seed);
        let opened =
            log.iter().any(|(me, h)| *me != 0 && h.kind == Kind::Layer && h.layer == opening);
        let honest = outcome.parties[1].as_ref().ok();
        let bits = honest.and_then(|r| r.admitted.first().map(|(_, bits)| bits.clone()));
        *all.entry((outcome.receivers[0].1.is_err(), opened, bits)).or_insert(0) += 1;
    }
    all
}

/// How far two distributions are apart, in runs.
fn apart(a: &BTreeMap<Seen, u64>, b: &BTreeMap<Seen, u64>) -> u64 {
    let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let count = |of: &BTreeMap<Seen, u64>, k: &Seen| of.get(k).copied().unwrap_or(0);
    keys.into_iter().map(|k| count(a, k).abs_diff(count(b, k))).sum::<u64>() / 2
}

/// For an honest number in the middle of the range and one at its end: whether the run stops and what is opened has the same
/// distribution. Without the first barrier it has not, at the places that a party would alter.
#[test]
fn stops_and_opened_bits_say_nothing_of_an_honest_input() {
    tells_nothing(Target::Malicious(Family::T1), 4 / one_of(2), part(16, 30));
}

#[test]
fn in_family_t2_they_say_nothing_either() {
    tells_nothing(dealer(), 2 / one_of(2), part(16, 20));
}

fn tells_nothing(target: Target, most: usize, seeds: u64) {
    let [proven, bare] = circuits(target);
    let (middle, end) = (0.25, 1000.0);
    let all = places(&bare);
    // What differs in a few runs may do so by chance.
    let leaks = |p: &&Place| {
        let at = std::slice::from_ref(*p);
        let told = |seeds| apart(&seen(&bare, middle, at, seeds), &seen(&bare, end, at, seeds));
        told(3) >= 2 && told(12) >= 6
    };
    let found: Vec<Place> = all.iter().filter(leaks).take(most).copied().collect();
    assert!(!found.is_empty(), "none of {} places tells the numbers apart", all.len());
    let without = [middle, end].map(|x| seen(&bare, x, &found, seeds));
    let runs = seeds * found.len() as u64;
    let told = apart(&without[0], &without[1]);
    assert!(told * 6 >= runs, "{told} of {runs} runs: {without:?}");
    // Against a malicious party the first frames are the same, and what is altered in them is found.
    let with = [middle, end].map(|x| seen(&proven, x, &found, seeds));
    assert_eq!(with[0], with[1]);
    assert_eq!(with[0], BTreeMap::from([((true, false, None), runs)]), "nothing is opened");
    // So it is where the run does not wait for the bits: some of all places, on both numbers.
    for checks in [Checks::AtOnce, Checks::Last] {
        let ahead = circuit(target, Some(checks));
        assert!(Speculation::of(&ahead).is_some());
        let some: Vec<Place> = places(&ahead).into_iter().step_by(50).collect();
        let with = [middle, end].map(|x| seen(&ahead, x, &some, 2));
        assert_eq!(with[0], with[1], "{checks:?}");
        let runs = 2 * some.len() as u64;
        assert_eq!(with[0], BTreeMap::from([((true, false, None), runs)]), "nothing is opened");
    }
}

/// A party that says it has nothing of a client: among semi-honest parties the client is replaced, against a malicious one
/// the run stops.
#[test]
fn a_client_that_is_reported_missing_stops_the_run() {
    let [proven, bare] = circuits(Target::Malicious(Family::T1));
    // States of clients are a byte each, before their digests.
    let change: Change = Arc::new(|_, header, body| {
        if header.kind == Kind::Inputs && header.layer == 0 {
            assert_eq!(body.len() % 3, 0);
            body[0] = 1;
        }
    });
    for party in 0..3 {
        let (outcome, _) = run(&proven, [0.25, 0.5, -0.25], party, Some(change.clone()), 1);
        assert!(outcome.receivers[0].1.is_err(), "party {party}");
        let (outcome, _) = run(&bare, [0.25, 0.5, -0.25], party, Some(change.clone()), 1);
        let honest = outcome.parties[(party + 1) % 3].as_ref().expect("goes on");
        assert_eq!(honest.replaced.len(), 1, "party {party}");
        assert_eq!((honest.replaced[0].set, honest.replaced[0].member), (0, 0));
        let totals = outcome.receivers[0].1.as_ref().expect("a total");
        assert!(
            (totals[0].values[0] - 0.25).abs() < 0.001,
            "the other two: {:?}",
            totals[0].values
        );
    }
}
