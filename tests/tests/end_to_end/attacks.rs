//! Clients with software of their own: every attack succeeds where declared ranges are taken on trust,
//! and fails where the parties enforce them. Each runs among three parties.
//!
//! Seeds are in the messages of the assertions.

use slvr_circuit::{Dom, From};
use slvr_compiler::analysis::guard::Guard;
use slvr_compiler::pipeline::{self, Fine};
use slvr_ring::Data;
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{self, Options, Report, run_outcome};
use slvr_runtime::party::{Replaced, Why};
use slvr_runtime::share::deal::{Part, Upload};
use slvr_runtime::share::encode::{Encoded, Inputs, RawData, RawTensor};
use slvr_tests::agree::{Ends, ends};
use slvr_tests::{Case, Random, compile_with, distance, predicate, random_inputs};
use std::sync::Arc;

/// The attacker: the first client.
const EVE: usize = 0;
/// Honest runs and runs without the attacker draw different randomness: a few roundings.
const CLOSE: f64 = 1e-3;

/// Attacks on what is taken on trust are made for words with 16 fraction bits.
fn compile(name: &str, sizes: &[(&str, &str)], enforce: bool) -> Case {
    let fine = if enforce { Fine::default() } else { Fine::Nothing };
    let how = pipeline::Options { enforce, fine, ..pipeline::Options::default() };
    compile_with(predicate(name), sizes, how)
}

/// Both: ranges on trust, ranges enforced.
fn both(name: &str, sizes: &[(&str, &str)]) -> [Case; 2] {
    [false, true].map(|enforce| compile(name, sizes, enforce))
}

fn values(report: &Report) -> Vec<Vec<f64>> {
    report.outputs.iter().map(|o| o.values.clone()).collect()
}

fn run_encoded(case: &Case, encoded: Encoded, seed: u64) -> Report {
    let options = Options { seed: Some(seed), ..Options::default() };
    let outcome = run_outcome(case.circuit(), encoded, &options).expect("set up");
    outcome.report(case.circuit()).unwrap_or_else(|e| panic!("seed {seed}: {e}"))
}

/// Three parties, on words that need not be in range.
fn run(case: &Case, inputs: &Inputs, seed: u64) -> Report {
    let encoded = session::encode_unchecked(case.circuit(), inputs).expect("encodes");
    run_encoded(case, encoded, seed)
}

/// The run in which the attacker gives nothing at all.
fn without_eve(case: &Case, inputs: &Inputs, seed: u64) -> Vec<Vec<f64>> {
    let mut inputs = inputs.clone();
    inputs.sets[0][EVE].clear();
    let report = run(case, &inputs, seed);
    assert_eq!(report.replaced, [Replaced { set: 0, member: 0, why: Why::Missing }], "seed {seed}");
    values(&report)
}

/// Exactly the attacker's inputs were replaced, and the rest is as if it had given nothing.
fn fails(case: &Case, inputs: &Inputs, report: &Report, seed: u64) {
    assert_eq!(
        report.replaced,
        [Replaced { set: 0, member: 0, why: Why::OutOfRange }],
        "seed {seed}"
    );
    let d = distance(&values(report), &without_eve(case, inputs, seed));
    assert!(d < CLOSE, "seed {seed}: honest clients count differently, by {d}");
}

fn tensor<'a>(inputs: &'a mut Inputs, member: usize, name: &str) -> &'a mut RawTensor {
    inputs.sets[0][member].get_mut(name).expect("a declared input")
}

fn reals<'a>(inputs: &'a mut Inputs, member: usize, name: &str) -> &'a mut Vec<f64> {
    match &mut tensor(inputs, member, name).data {
        RawData::F64(v) => v,
        _ => panic!("{name} holds integers"),
    }
}

/// Updates of the same length, all different: one is kept like another.
fn alike(case: &Case, seed: u64) -> Inputs {
    let mut inputs = random_inputs(case.circuit(), seed, 0.05);
    let mut random = Random::new(seed);
    for member in 0..inputs.sets[0].len() {
        for x in reals(&mut inputs, member, "update") {
            *x = if random.unit() < 0.5 { -0.25 } else { 0.25 };
        }
    }
    inputs
}

/// The sum of these members' updates, divided.
fn sum_of(inputs: &Inputs, members: &[usize], divisor: f64) -> Vec<f64> {
    let mut inputs = inputs.clone();
    let mut sum = vec![0.0; reals(&mut inputs, members[0], "update").len()];
    for &member in members {
        for (s, x) in sum.iter_mut().zip(reals(&mut inputs, member, "update")) {
            *s += *x / divisor;
        }
    }
    sum
}

/// Four coordinates of 2^31 raw units: the squared norm is 4 * 2^62 = 2^64, which is 0.
fn wrap_norm(inputs: &mut Inputs, at: usize) {
    let v = reals(inputs, EVE, "update");
    v.iter_mut().for_each(|x| *x = 0.0);
    v[at..at + 4].iter_mut().for_each(|x| *x = 32768.0);
}

fn norm_wraps(sizes: &[(&str, &str)], guarded: impl Fn(&Guard) -> bool, seed: u64) {
    let [off, on] = both("norm_bound", sizes);
    let mut inputs = alike(&off, seed);
    let honest = sum_of(&inputs, &[1, 2, 3, 4], 5.0);
    wrap_norm(&mut inputs, 3);
    let out = values(&run(&off, &inputs, seed)).remove(0);
    assert!(out[3..7].iter().all(|x| x.abs() > 6000.0), "seed {seed}: {:?}", &out[3..7]);

    assert!(on.compiled.guards.iter().any(guarded), "{:?}", on.compiled.guards);
    let report = run(&on, &inputs, seed);
    if on.compiled.guards.iter().any(|g| matches!(g, Guard::Lift { .. })) {
        assert_eq!(report.replaced, [], "seed {seed}");
    } else {
        fails(&on, &inputs, &report, seed);
    }
    let d = distance(&values(&report), &[honest]);
    assert!(d < CLOSE, "seed {seed}: {d}");
}

#[test]
fn a_norm_that_wraps_is_compared() {
    let within = |g: &Guard| matches!(g, Guard::Within(..));
    norm_wraps(&[("M", "Mlp[9,hidden=4]"), ("m", "5")], within, 11);
}

#[test]
fn a_norm_that_wraps_is_projected() {
    let long = |g: &Guard| matches!(g, Guard::Project(_));
    norm_wraps(&[("M", "DigitsNet"), ("m", "5")], long, 12);
    norm_wraps(&[("M", "LeNet5"), ("m", "5")], long, 13);
}

/// Where field `name` of the update starts.
fn field(case: &Case, name: &str) -> usize {
    let input = case.circuit().inputs.iter().find(|i| i.name == "update").expect("an update");
    let before = input.fields.iter().take_while(|f| f.name != name);
    let at = before.map(|f| f.shape.iter().product::<u64>() as usize).sum();
    assert!(input.fields.iter().any(|f| f.name == name), "{:?}", input.fields);
    at
}

/// The paper's check with five clients, four of whom are kept.
struct Paper {
    case: Case,
    inputs: Inputs,
}

/// Weights of the last layer's bias.
const CLASSES: usize = 10;

impl Paper {
    /// Models in which only the last bias says anything: `global` is that of the public model. Clients
    /// give updates of equal length, in weights that nothing reaches, and images of half-grey.
    fn new(model: &str, global: [f64; CLASSES], enforce: bool) -> Paper {
        let sizes = [("M", model), ("m", "5"), ("c", "1"), ("b", "4")];
        let case = compile("slvr_accuracy", &sizes, enforce);
        let mut inputs = random_inputs(case.circuit(), 1, 0.0);
        let bias = field(&case, "fc2.bias");
        if let Some(RawData::F64(v)) = inputs.public.get_mut("global").map(|t| &mut t.data) {
            v.iter_mut().for_each(|x| *x = 0.0);
            v[bias..bias + CLASSES].copy_from_slice(&global);
        }
        let mut paper = Paper { case, inputs };
        for member in 0..5 {
            let dead = paper.at("fc2.weight");
            let v = reals(&mut paper.inputs, member, "update");
            v.iter_mut().for_each(|x| *x = 0.0);
            v[dead..dead + 40].iter_mut().for_each(|x| *x = 0.5);
            // Who is who, in a weight that counts for nothing.
            v[dead + member] = -0.5;
            reals(&mut paper.inputs, member, "image").iter_mut().for_each(|x| *x = 0.5);
            paper.labels(member, [0, 2, 3, 4]);
        }
        paper
    }

    fn at(&self, name: &str) -> usize {
        field(&self.case, name)
    }

    fn labels(&mut self, member: usize, labels: [i64; 4]) {
        tensor(&mut self.inputs, member, "label").data = RawData::I64(labels.to_vec());
    }

    /// Adds to the bias of an update.
    fn bias(&mut self, member: usize, class: usize, x: f64) {
        let at = self.at("fc2.bias") + class;
        reals(&mut self.inputs, member, "update")[at] += x;
    }

    /// A bad update: everything is a nine. Of the length of the others'.
    fn all_nines(&mut self, member: usize) {
        self.bias(member, 9, 2.0);
        let dead = self.at("fc2.weight");
        let v = reals(&mut self.inputs, member, "update");
        v[dead..dead + 20].iter_mut().for_each(|x| *x = 0.0);
    }

    /// What the aggregate adds to the bias of the nines: 1/2 if the bad update counts.
    fn nines(&self, report: &Report) -> f64 {
        report.outputs[0].values[self.at("fc2.bias") + 9]
    }

    /// The inputs as they are dealt, with every label of a member as these words or bits.
    fn with_label(&self, member: usize, label: [i64; CLASSES]) -> Encoded {
        let circuit = self.case.circuit();
        let mut encoded = session::encode_unchecked(circuit, &self.inputs).expect("encodes");
        let j = circuit.inputs.iter().position(|i| i.name == "label").expect("labels");
        let dom = circuit.ty(circuit.inputs[j].value).dom;
        let word = |x: &i64| match dom {
            Dom::Ring(k) => *x as i128 as u128 & ((1 << k) - 1),
            Dom::Bits(_) => *x as u128 & 1,
        };
        let words: Vec<u128> = (0..4).flat_map(|_| label.iter().map(word)).collect();
        let given = encoded.sets[0][member].iter_mut().find(|(k, _)| *k == j as u64);
        given.expect("labels").1 = Data::from_u128s(dom, &words);
        encoded
    }
}

const SMALL: &str = "Mlp[9,hidden=4]";

/// The same norm attack where weights are dealt in a small ring: nothing of it is left, since no word
/// of that ring is long.
#[test]
fn a_norm_that_wraps_is_lifted() {
    let seed = 14;
    let mut global = [0.0; CLASSES];
    global[0] = 1.0;
    for enforce in [false, true] {
        let mut paper = Paper::new("DigitsNet", global, enforce);
        // One is dropped, in any case: an honest client that is wrong.
        paper.bias(4, 1, 2.0);
        let honest = sum_of(&paper.inputs, &[1, 2, 3], 4.0);
        let at = paper.at("fc2.weight") + 100;
        wrap_norm(&mut paper.inputs, at);
        if !enforce {
            let out = values(&run(&paper.case, &paper.inputs, seed)).remove(0);
            assert!(out[at..at + 4].iter().all(|x| x.abs() > 8000.0), "seed {seed}");
            continue;
        }
        let guards = &paper.case.compiled.guards;
        assert!(guards.iter().any(|g| matches!(g, Guard::Lift { .. })), "{guards:?}");
        let circuit = paper.case.circuit();
        let j = circuit.inputs.iter().position(|i| i.name == "update").expect("updates");
        assert_eq!(circuit.ty(circuit.inputs[j].value).dom, Dom::Ring(32));
        // As it comes out of the attacker's software, and the worst that 32 bits can be.
        let plain = session::encode_unchecked(circuit, &paper.inputs).expect("encodes");
        let n = circuit.inputs[j].shape.iter().product::<u64>() as usize;
        for word in [None, Some(1u128 << 31), Some((1 << 31) - 1), Some((1 << 30) + 5)] {
            let mut encoded = plain.clone();
            if let Some(word) = word {
                let given = encoded.sets[0][EVE].iter_mut().find(|(k, _)| *k == j as u64);
                given.expect("an update").1 = Data::from_u128s(Dom::Ring(32), &vec![word; n]);
            }
            let report = run_encoded(&paper.case, encoded, seed);
            assert_eq!(report.replaced, [], "seed {seed}");
            let d = distance(&values(&report), std::slice::from_ref(&honest));
            assert!(d < CLOSE, "seed {seed}, {word:?}: {d}");
        }
    }
}

/// A coordinate is compared with the bound on as many bits as the declared range needs: 2^30 raw units
/// more are not seen there, but in the sum.
#[test]
fn a_coordinate_that_wraps() {
    let seed = 21;
    for model in [SMALL, "DigitsNet"] {
        let [off, on] = both("linf_bound", &[("M", model), ("m", "5"), ("bound", "0.5")]);
        let mut inputs = alike(&off, seed);
        let honest = sum_of(&inputs, &[1, 2, 3, 4], 5.0);
        let own = reals(&mut inputs, EVE, "update")[7];
        reals(&mut inputs, EVE, "update")[7] = own + 16384.0;
        let out = values(&run(&off, &inputs, seed)).remove(0);
        assert!(out[7] > 3000.0, "seed {seed}, {model}: {}", out[7]);

        let report = run(&on, &inputs, seed);
        let lifted = on.compiled.guards.iter().any(|g| matches!(g, Guard::Lift { .. }));
        if lifted {
            // In 32 bits the excess is not there: an honest update.
            let whole = values(&report).remove(0);
            assert!((whole[7] - honest[7] - own / 5.0).abs() < CLOSE, "seed {seed}, {model}");
        } else {
            fails(&on, &inputs, &report, seed);
            let d = distance(&values(&report), &[honest]);
            assert!(d < CLOSE, "seed {seed}, {model}: {d}");
        }
    }
}

/// A judge whose labels are no labels makes honest updates lose that change no prediction: so a bad
/// update is not the worst, and stays.
fn false_labels(
    global: [f64; CLASSES],
    honest: &[(usize, f64)],
    label: [i64; CLASSES],
    seed: u64,
) -> [f64; 2] {
    [false, true].map(|enforce| {
        let mut paper = Paper::new(SMALL, global, enforce);
        for member in 1..5 {
            honest.iter().for_each(|&(class, x)| paper.bias(member, class, x));
        }
        paper.all_nines(EVE);
        // With true labels, the bad update is the one that is dropped.
        let report = run(&paper.case, &paper.inputs, seed);
        assert_eq!((report.replaced.len(), paper.nines(&report) > 0.3), (0, false), "seed {seed}");
        let report = run_encoded(&paper.case, paper.with_label(EVE, label), seed);
        match enforce {
            true => fails(&paper.case, &paper.inputs, &report, seed),
            false => assert_eq!(report.replaced, [], "seed {seed}"),
        }
        paper.nines(&report)
    })
}

#[test]
fn labels_that_are_no_labels() {
    let mut global = [0.0; CLASSES];
    (global[0], global[1]) = (1.0, 0.5 + 1.0 / 64.0);
    let honest: Vec<(usize, f64)> = (1..CLASSES).map(|c| (c, -0.125)).collect();
    let nothing = honest.iter().map(|h| h.1).sum::<f64>() / 9.0;

    // All classes at once: the sum of all logits counts for the right one.
    let [off, on] = false_labels(global, &honest, [1; CLASSES], 31);
    assert!(off > 0.3 && on < 0.1 && nothing < 0.0, "{off}, {on}");

    // Two in one class: words can, bits cannot. Without enforcement only.
    let mut paper = Paper::new(SMALL, global, false);
    for member in 1..5 {
        honest.iter().for_each(|&(class, x)| paper.bias(member, class, x));
    }
    paper.all_nines(EVE);
    let report =
        run_encoded(&paper.case, paper.with_label(EVE, [0, 2, 0, 0, 0, 0, 0, 0, 0, 0]), 32);
    assert!(paper.nines(&report) > 0.3);

    // No class: right where no logit is positive.
    let mut global = [-0.125; CLASSES];
    global[0] = -0.0625;
    let [off, on] = false_labels(global, &[(0, 0.125)], [0; CLASSES], 33);
    assert!(off > 0.3 && on < 0.1, "{off}, {on}");
}

/// The zero label again, from an accomplice of the bad update: rejected labels must count as labels of
/// class 0, as zeros do in the program, and not as no label at all.
#[test]
fn rejected_labels_are_labels_of_class_zero() {
    let mut global = [-0.125; CLASSES];
    global[0] = -0.0625;
    // By the last honest client's place: all are ones, with no logit above 0.
    let bad = 4;
    // A seed whose committees let the attack succeed where nothing is enforced: about one coin in thirty
    // does not. A seed's coins change with the numbering of instructions.
    for (enforce, seed) in [(false, 35), (true, 35)] {
        let mut paper = Paper::new(SMALL, global, enforce);
        (1..4).for_each(|member| paper.bias(member, 0, 0.125));
        paper.bias(bad, 0, -2.0);
        let kept = |report: &Report| report.outputs[0].values[paper.at("fc2.bias")] < -0.3;
        let honest = run(&paper.case, &paper.inputs, seed);
        assert!(!kept(&honest), "seed {seed}");
        let report = run_encoded(&paper.case, paper.with_label(EVE, [0; CLASSES]), seed);
        assert_eq!(kept(&report), !enforce, "seed {seed}, enforced: {enforce}");
        if !enforce {
            continue;
        }
        fails(&paper.case, &paper.inputs, &report, seed);
        let mut zeros = paper.inputs.clone();
        for t in zeros.sets[0][EVE].values_mut() {
            match &mut t.data {
                RawData::F64(v) => v.iter_mut().for_each(|x| *x = 0.0),
                RawData::F32(v) => v.iter_mut().for_each(|x| *x = 0.0),
                RawData::I64(v) => v.iter_mut().for_each(|x| *x = 0),
            }
        }
        let d = distance(&values(&report), &paper.case.floating(&zeros, &report.coins));
        assert!(d < CLOSE, "seed {seed}: not as the program on zeros, by {d}");
    }
}

/// A pixel of 1000 makes a weight count that no image in range lets count.
#[test]
fn images_out_of_range() {
    let seed = 41;
    let mut global = [0.0; CLASSES];
    (global[0], global[5]) = (1.0, 0.5);
    for enforce in [false, true] {
        let mut paper = Paper::new(SMALL, global, enforce);
        let (first, last) = (paper.at("fc1.weight"), paper.at("fc2.weight"));
        let shape = |name: &str| {
            let input = &paper.case.circuit().inputs.iter().find(|i| i.name == "update").unwrap();
            input.fields.iter().find(|f| f.name == name).unwrap().shape.clone()
        };
        // Classes come first, or hidden units do.
        let by_class = shape("fc2.weight")[0] == CLASSES as u64;
        for member in 1..5 {
            let v = reals(&mut paper.inputs, member, "update");
            v[first] = 1.0 / 16.0;
            v[last + if by_class { 5 * 4 } else { 5 }] = 1.0 / 16.0;
            for class in (0..CLASSES).filter(|&c| c != 5) {
                v[last + if by_class { class * 4 } else { class }] = 0.0;
            }
        }
        paper.all_nines(EVE);
        let honest = run(&paper.case, &paper.inputs, seed);
        assert_eq!((honest.replaced.len(), paper.nines(&honest) > 0.3), (0, false), "seed {seed}");
        reals(&mut paper.inputs, EVE, "image").iter_mut().for_each(|x| *x = 1000.0);
        paper.labels(EVE, [0; 4]);
        let report = run(&paper.case, &paper.inputs, seed);
        if enforce {
            fails(&paper.case, &paper.inputs, &report, seed);
            assert!(paper.nines(&report) < 0.1, "seed {seed}");
        } else {
            assert!(paper.nines(&report) > 0.3, "seed {seed}: {}", paper.nines(&report));
        }
    }
}

/// Two parties with different copies of one component compute with neither.
#[test]
fn inconsistent_shares() {
    let seed = 51;
    let tamper = |set: usize, member: usize, uploads: &mut [Upload; 3]| {
        if (set, member) != (0, EVE) {
            return;
        }
        if let Part::Explicit(bytes) = &mut uploads[1].second {
            Arc::make_mut(bytes).iter_mut().for_each(|b| *b ^= 0x5a);
        }
    };
    let [off, on] = both("norm_bound", &[("M", SMALL), ("m", "5")]);
    let mut inputs = alike(&off, seed);
    let honest = sum_of(&inputs, &[1, 2, 3, 4], 5.0);
    // Otherwise an honest update, but long: dropped if it is read at all.
    reals(&mut inputs, EVE, "update").iter_mut().for_each(|x| *x = 4.0);
    let with = |case: &Case, compare: bool| {
        let doors = Doors::new().tamper(&tamper).compare(compare);
        let options = Options { doors, seed: Some(seed), ..Options::default() };
        session::run_local(case.circuit(), &inputs, &options).expect("a run of three parties")
    };
    let garbage = with(&off, false);
    assert!(distance(&values(&garbage), std::slice::from_ref(&honest)) > 1.0, "seed {seed}");
    for case in [&off, &on] {
        let report = with(case, true);
        let eve = Replaced { set: 0, member: 0, why: Why::Inconsistent };
        assert_eq!(report.replaced, [eve], "seed {seed}");
        let d = distance(&values(&report), std::slice::from_ref(&honest));
        assert!(d < CLOSE, "seed {seed}: {d}");
        let d = distance(&values(&report), &without_eve(case, &inputs, seed));
        assert!(d < CLOSE, "seed {seed}: {d}");
    }
}

/// Every entry of every input at an end of its range, as long as weights may be, and labels of the first
/// and last class: nobody is replaced.
#[test]
fn honest_clients_at_the_edge_are_admitted() {
    let short =
        compile("slvr_accuracy", &[("M", "Mlp[4,2,2]"), ("m", "4"), ("c", "1"), ("b", "1")], true);
    // Long enough for projections.
    let long = compile("secure_aggregation", &[("M", "Mlp[24,hidden=8]"), ("m", "10")], true);
    let edges = [Ends::Low, Ends::High, Ends::Either];
    for (case, runs) in [(&short, 30), (&long, 170)] {
        for seed in 0..runs {
            let inputs = ends(case.circuit(), edges[seed as usize % 3], seed);
            let report = case.parties(&inputs, seed);
            assert_eq!(report.replaced, [], "seed {seed}");
        }
    }
}

/// As many clients as like may give nothing, as long as one gives something.
#[test]
fn missing_clients() {
    let seed = 61;
    let case = compile("norm_bound", &[("M", SMALL), ("m", "5")], true);
    let all = alike(&case, seed);
    for present in [&[1usize, 2, 3, 4][..], &[0, 2, 3], &[1, 2, 3]] {
        let mut inputs = all.clone();
        let absent: Vec<usize> = (0..5).filter(|i| !present.contains(i)).collect();
        absent.iter().for_each(|&i| inputs.sets[0][i].clear());
        let report = case.parties(&inputs, seed);
        let missing = |&i: &usize| Replaced { set: 0, member: i as u64, why: Why::Missing };
        assert_eq!(report.replaced, absent.iter().map(missing).collect::<Vec<_>>(), "seed {seed}");
        // Three of equal length are the median and above.
        let d = distance(&values(&report), &[sum_of(&all, present, 5.0)]);
        assert!(d < CLOSE, "seed {seed}, {present:?}: {d}");
    }
}

/// An input whose range does not hold zero: its end nearest to zero stands in for a client that is
/// replaced. Zero would leave the range that all comparisons are sized for.
#[test]
fn what_stands_in_is_in_range() {
    let text = "use std::{lower_median, sum};\n\
        predicate P[m]() {\n\
            parties Client[m];\n\
            parties Server;\n\
            input x: secret fix in 1002..1003 from each Client;\n\
            let keep = [x[i] <= lower_median(x) for i in Client];\n\
            reveal sum(keep[i] * x[i] for i in Client) to Server as y;\n\
        }";
    let seed = 71;
    let case = compile_with(text, &[("m", "5")], pipeline::Options::default());
    let mut inputs = random_inputs(case.circuit(), seed, 1.0);
    for (member, set) in inputs.sets[0].iter_mut().enumerate() {
        let x = if member == EVE { 5000.0 } else { 1002.0 + member as f64 / 8.0 };
        set.insert("x".into(), RawTensor::reals([], vec![x]));
    }
    let report = run(&case, &inputs, seed);
    fails(&case, &inputs, &report, seed);
    inputs.sets[0][EVE].insert("x".into(), RawTensor::reals([], vec![1002.0]));
    let d = distance(&values(&report), &case.floating(&inputs, &report.coins));
    assert!(d < CLOSE, "seed {seed}: not as the program on the nearest value, by {d}");
}

/// Ends that are no multiple of 2^-16: a client there rounds to the nearest, which is in range.
#[test]
fn ends_between_two_words_are_in_range() {
    let text = "use std::{sum};\n\
        predicate P[m]() {\n\
            parties Client[m];\n\
            parties Server;\n\
            input x: secret fix[2] in -0.3..0.7 from each Client;\n\
            reveal sum(x) to Server as y;\n\
        }";
    let case = compile_with(text, &[("m", "3")], pipeline::Options::default());
    assert!(case.circuit().inputs.iter().all(|i| i.from == From::Each(0)));
    for (seed, edge) in [Ends::Low, Ends::High, Ends::Either].into_iter().enumerate() {
        let report = case.parties(&ends(case.circuit(), edge, seed as u64), seed as u64);
        assert_eq!(report.replaced, [], "seed {seed}, {edge:?}");
    }
}

/// All weights at the end of a range: as long as may be, however the sum of squares rounds.
#[test]
fn weights_at_the_end_are_short_enough() {
    let text = "use std::{sum};\n\
        predicate P[M: model, m]() {\n\
            parties Client[m];\n\
            parties Server;\n\
            input w: secret weights M in -0.3..0.3 from each Client;\n\
            reveal sum(w) to Server as y;\n\
        }";
    let sizes = [("M", "Mlp[12,16,10]"), ("m", "3")];
    let case = compile_with(text, &sizes, pipeline::Options::default());
    for (seed, edge) in [Ends::Low, Ends::High, Ends::Either].into_iter().enumerate() {
        let report = case.parties(&ends(case.circuit(), edge, seed as u64), seed as u64);
        assert_eq!(report.replaced, [], "seed {seed}, {edge:?}");
    }
}
