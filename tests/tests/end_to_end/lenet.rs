//! The paper's check on LeNet-5 and MNIST.

use slvr_runtime::share::encode::RawData;
use slvr_tests::{compile, distance, mnist, predicate, random_inputs};

/// Real images, random weights: three parties, exact and floating-point evaluation agree.
#[test]
fn lenet_on_mnist() {
    let (m, b) = (4, 2);
    let Some((pixels, labels)) = mnist(m * b) else {
        eprintln!("skipped: no MNIST; set SLVR_DATA to a folder that has mnist/*.gz");
        return;
    };
    let case =
        compile(predicate("slvr_accuracy"), &[("M", "LeNet5"), ("m", "4"), ("c", "1"), ("b", "2")]);
    let mut inputs = random_inputs(case.circuit(), 5, 0.02);
    let (mut pixels, mut labels) = (pixels.into_iter(), labels.into_iter());
    for member in inputs.sets.iter_mut().flatten() {
        for (name, tensor) in member.iter_mut() {
            match (name.as_str(), &mut tensor.data) {
                ("image", RawData::F64(v)) => {
                    v.iter_mut().zip(&mut pixels).for_each(|(x, p)| *x = p)
                }
                ("label", RawData::I64(v)) => {
                    v.iter_mut().zip(&mut labels).for_each(|(x, l)| *x = l)
                }
                _ => {}
            }
        }
    }
    let report = case.parties(&inputs, 9);
    let parties: Vec<Vec<f64>> = report.outputs.iter().map(|o| o.values.clone()).collect();
    assert_eq!(case.circuit_clear(&inputs, &report.coins, 9), parties, "circuit, three parties");
    let d = distance(&case.floating(&inputs, &report.coins), &parties);
    assert!(d < 1e-4, "floating point, three parties: {d}");
}
