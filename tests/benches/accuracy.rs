//! The accuracy claims, measured: what a network says in exact evaluation (the circuit's own ring
//! arithmetic) and among three parties is what it says in floating point. Prints a Markdown table
//! and exits with failure if a claim does not hold. `cargo bench -p slvr-tests --bench accuracy`.
//!
//! - LeNet-5, trained on MNIST's 60,000 images with the project's own trainer, gives at least 9,990
//!   of the 10,000 test images the same label in exact evaluation as in floating point.
//! - Three parties give 500 of them the same label as exact evaluation.
//! - The logits of ResNet-18 for 20 images of CIFAR-10, with random weights of the size that trained
//!   ones have, are within the certificate's proven error of floating point.
//!
//! Images come from the folder that `SLVR_DATA` names (default: `data` at the root of the checkout);
//! without them a claim is skipped, with a message. `lenet` or `resnet` after `--` is one of the two
//! parts.

use slvr_simulation::data::Dataset;
use slvr_simulation::train::{Sgd, train};
use slvr_tests::accuracy::{Answer, Classifier, he_weights, images};
use std::process::ExitCode;
use std::time::Instant;

/// Images in one run of the circuit.
const LENET_BATCH: usize = 500;
const RESNET_BATCH: usize = 5;
const RESNET_IMAGES: usize = 20;
const SEED: u64 = 1;

fn main() -> ExitCode {
    let only = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    let mut rows = Vec::new();
    if wanted("lenet") {
        match (images("mnist/train"), images("mnist/t10k")) {
            (Some(train), Some(test)) => lenet(&train, &test, &mut rows),
            _ => skip("mnist"),
        }
    }
    if wanted("resnet") {
        match images("cifar10/test") {
            Some(test) => resnet(&test, &mut rows),
            None => skip("cifar10"),
        }
    }
    println!("| claim | found | needed | largest error of a logit | s | |");
    println!("|---|---|---|---|---|---|");
    for r in &rows {
        let Row { claim, found, needed, error, seconds, verdict } = r;
        println!(
            "| {claim} | {found} | {needed} | {error:.1e} | {seconds:.0} | {} |",
            verdict.text()
        );
    }
    if rows.iter().all(|r| r.verdict != Verdict::Fails) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn skip(folder: &str) {
    eprintln!("skipped: no {folder}; set SLVR_DATA to a folder that has {folder}/*.gz");
}

struct Row {
    claim: &'static str,
    found: String,
    needed: String,
    error: f64,
    seconds: f64,
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Holds,
    /// No run could break it.
    Empty,
    Fails,
}

impl Verdict {
    fn of(holds: bool) -> Verdict {
        if holds { Verdict::Holds } else { Verdict::Fails }
    }

    fn text(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Empty => "holds, but says nothing: the bound is above the largest logit",
            Verdict::Fails => "DOES NOT HOLD",
        }
    }
}

fn lenet(data: &Dataset, test: &Dataset, rows: &mut Vec<Row>) {
    let start = Instant::now();
    let all = Classifier::new("LeNet5", LENET_BATCH);
    let sgd = Sgd { rate: 0.02, momentum: 0.9, batch: 64, epochs: 4 };
    let weights = train(&all.net, data, &sgd, SEED).expect("MNIST for LeNet-5");
    let largest = weights.iter().fold(0.0f32, |m, w| m.max(w.abs()));
    let floating = all.single(&weights, test.images());
    let right = |a: &Answer| {
        a.labels.iter().zip(test.labels()).filter(|(a, b)| **a == usize::from(**b)).count()
    };
    println!(
        "LeNet-5: trained in {:.0} s, {} of {} right in single precision, largest weight {largest:.2}",
        start.elapsed().as_secs_f64(),
        right(&floating),
        test.len()
    );

    let start = Instant::now();
    let exact = all.exact(&weights, test.images(), SEED);
    let differ = exact.differ(&floating);
    let same = test.len() - differ.len();
    rows.push(Row {
        claim: "LeNet-5 on MNIST: labels in exact evaluation as in floating point",
        found: format!("{same} of {}", test.len()),
        needed: "9990 of 10000".into(),
        error: exact.distance(&floating),
        seconds: start.elapsed().as_secs_f64(),
        verdict: Verdict::of(test.len() == 10_000 && same >= 9_990),
    });
    let nearest = (0..test.len()).map(|i| floating.lead(i)).fold(f64::INFINITY, f64::min);
    println!(
        "LeNet-5: {} right in exact evaluation; the nearest decision is {nearest:.1e} away",
        right(&exact)
    );
    for i in differ {
        println!(
            "    image {i}: {} in floating point, {} in exact evaluation, labelled {}; the largest logit \
             leads by {:.1e}",
            floating.labels[i],
            exact.labels[i],
            test.labels()[i],
            floating.lead(i)
        );
    }
    // Single precision would be part of the difference.
    let double = all.double(&weights, test.images());
    observed("LeNet-5", &exact, &double, &weights);
    bounds("LeNet-5", &all, &weights);

    let start = Instant::now();
    let batch = &test.images()[..LENET_BATCH * test.sample_size()];
    let (parties, report) = all.parties(&weights, batch, SEED);
    let classes = all.net.classes();
    let exact = Answer {
        logits: exact.logits[..LENET_BATCH * classes].to_vec(),
        labels: exact.labels[..LENET_BATCH].to_vec(),
    };
    let same = LENET_BATCH - parties.differ(&exact).len();
    println!(
        "LeNet-5: three parties, {} rounds, {} MB in a party",
        report.rounds,
        report.peak_memory[0] / 1_000_000
    );
    rows.push(Row {
        claim: "LeNet-5 on MNIST: labels of three parties as in exact evaluation",
        found: format!("{same} of {LENET_BATCH}"),
        needed: format!("{LENET_BATCH} of {LENET_BATCH}"),
        error: parties.distance(&exact),
        seconds: start.elapsed().as_secs_f64(),
        verdict: Verdict::of(same == LENET_BATCH),
    });
}

fn resnet(test: &Dataset, rows: &mut Vec<Row>) {
    let net = Classifier::new("ResNet18", RESNET_BATCH);
    let weights: Vec<f32> = he_weights(net.model(), SEED).into_iter().map(|w| w as f32).collect();
    let images = &test.images()[..RESNET_IMAGES * test.sample_size()];
    let start = Instant::now();
    let floating = net.double(&weights, images);
    println!("ResNet-18: floating point in {:.0} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let exact = net.exact(&weights, images, SEED);
    let seconds = start.elapsed().as_secs_f64();
    let error = exact.distance(&floating);
    let largest = floating.largest();
    println!(
        "ResNet-18: single precision off by {:.1e}; {} of {RESNET_IMAGES} \
         labels the same",
        net.single(&weights, images).distance(&floating),
        RESNET_IMAGES - exact.differ(&floating).len()
    );
    observed("ResNet-18", &exact, &floating, &weights);
    let proven = bounds("ResNet-18", &net, &weights);
    rows.push(Row {
        claim: "ResNet-18 on CIFAR-10: logits within the proven error of floating point",
        found: format!("{error:.1e}"),
        needed: format!("at most {proven:.1e}"),
        error,
        seconds,
        verdict: match Verdict::of(error <= proven) {
            // Logits of nothing but zeros would be within it too.
            Verdict::Holds if proven > largest => Verdict::Empty,
            verdict => verdict,
        },
    });
}

/// Prints the errors that occurred, and the length of the weights.
fn observed(title: &str, exact: &Answer, floating: &Answer, weights: &[f32]) {
    let norm = weights.iter().map(|w| f64::from(*w).powi(2)).sum::<f64>().sqrt();
    println!(
        "{title}: weights of length {norm:.1}, logits up to {:.1}; their error in exact evaluation is at most \
         {:.1e}, six root mean squares {:.1e}",
        floating.largest(),
        exact.distance(floating),
        6.0 * exact.mean_distance(floating)
    );
}

/// Prints what is known of the error before a run; the certificate's proven bound.
fn bounds(title: &str, net: &Classifier, weights: &[f32]) -> f64 {
    let (row, cut) = net.certified();
    let proven = net.certified_for(weights);
    println!(
        "{title}: certificate of the logits: in {:?}, error proven {:.1e}, {:.1e} more by rounding \
         inputs; for weights of this size proven {proven:.1e} in all; saturates at {}",
        row.range,
        row.proven,
        row.rounding_inputs,
        cut.map_or("no value".into(), |c| c.to_string())
    );
    row.proven + row.rounding_inputs
}
