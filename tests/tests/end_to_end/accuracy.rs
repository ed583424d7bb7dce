//! A trained network says the same in exact evaluation and among three parties as in floating point:
//! a small version, on the embedded digits, of the claims that `cargo bench -p slvr-tests --bench
//! accuracy` holds on MNIST and ResNet-18.

use slvr_simulation::data::Dataset;
use slvr_simulation::idx;
use slvr_simulation::train::{Sgd, train};
use slvr_tests::accuracy::{Answer, Classifier, WEIGHT_BOUND};
use slvr_tests::agree::close;

/// Images that are not trained on.
const TEST: usize = 200;
/// Of them, those classified by three parties.
const PARTIES: usize = 20;

/// The first [`TEST`] digits, and all others.
fn split() -> (Dataset, Dataset) {
    let all = idx::digits().expect("the embedded digits");
    let (test, rest): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|&i| i < TEST);
    (all.select(&test), all.select(&rest))
}

#[test]
fn trained_network_keeps_its_labels() {
    let (test, rest) = split();
    let all = Classifier::new("DigitsNet", TEST);
    let sgd = Sgd { rate: 0.05, momentum: 0.9, batch: 32, epochs: 12 };
    let weights = train(&all.net, &rest, &sgd, 1).expect("digits for DigitsNet");
    assert!(weights.iter().all(|w| w.abs() < WEIGHT_BOUND), "weights are in their range");

    let floating = all.double(&weights, test.images());
    let right = floating.labels.iter().zip(test.labels()).filter(|(a, b)| **a == usize::from(**b));
    assert!(right.count() > TEST * 9 / 10, "the network is trained");
    assert_eq!(floating.labels, all.single(&weights, test.images()).labels, "the two precisions");

    let exact = all.exact(&weights, test.images(), 1);
    assert_eq!(
        exact.differ(&floating),
        [0usize; 0],
        "images with another label in exact evaluation"
    );
    let error = exact.distance(&floating);
    let proven = all.certified_for(&weights);
    let (declared, cut) = all.certified();
    println!(
        "largest error of a logit {error:.1e}; proven for weights of this size {proven:.1e}; for all \
         that are declared {:.1e} and {:.1e} by rounding them; saturates at {cut:?}",
        declared.proven, declared.rounding_inputs
    );
    assert!(error > 0.0 && error <= proven);
    assert!(proven <= declared.proven + declared.rounding_inputs);
    // The proven bound is for every model with weights of this size, and far above what occurs.
    let close = |found: &Answer, wanted: &Answer| {
        let (found, wanted) = (vec![found.logits.clone()], vec![wanted.logits.clone()]);
        close(&found, &wanted).unwrap_or_else(|e| panic!("{e}"));
    };
    close(&exact, &floating);

    let few = Classifier::new("DigitsNet", PARTIES);
    let images = &test.images()[..PARTIES * test.sample_size()];
    let (found, report) = few.parties(&weights, images, 1);
    assert_eq!(found.labels, exact.labels[..PARTIES], "labels of three parties");
    // The same seed draws other masks than in the clear: logits are truncated by other carries.
    let clear = few.exact(&weights, images, 1);
    close(&found, &clear);
    assert!(report.admitted.iter().all(|(_, who)| who.iter().all(|&a| a)), "weights in range");
}
