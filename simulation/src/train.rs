//! Training: stochastic gradient descent on minibatches, and accuracy.
//!
//! The same seed gives the same weights whatever the number of threads: a batch is cut into pieces
//! of a size that depends on the model alone, and their gradients are added in order.

use super::data::Dataset;
use super::error::NetError;
use super::net::{Net, Workspace};
use super::random::{Purpose, Random};
use rayon::prelude::*;

/// How to descend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    pub rate: f32,
    /// Momentum μ as in PyTorch: v = μ v + g, w = w - rate v. Zero for plain descent.
    pub momentum: f32,
    /// Samples per step; the last batch of an epoch may be smaller.
    pub batch: usize,
    /// Passes over the data, each in a new random order.
    pub epochs: usize,
}

/// Initial weights and training from there.
pub fn train(net: &Net, data: &Dataset, sgd: &Sgd, seed: u64) -> Result<Vec<f32>, NetError> {
    net.check(data)?;
    let mut weights = net.init(seed);
    let mut random = Random::new(seed, Purpose::Order, [0, 0]);
    descend(net, &mut weights, data, sgd, &mut random)?;
    Ok(weights)
}

/// Trains given weights further; returns the mean loss of the last epoch (0 without epochs).
///
/// # Panics
/// If `weights` is not of [`Net::weights`] entries.
pub fn descend(
    net: &Net,
    weights: &mut [f32],
    data: &Dataset,
    sgd: &Sgd,
    random: &mut Random,
) -> Result<f64, NetError> {
    net.check(data)?;
    let mut order: Vec<usize> = (0..data.len()).collect();
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    let mut gradient = vec![0.0; weights.len()];
    let mut velocity = vec![0.0; if sgd.momentum == 0.0 { 0 } else { weights.len() }];
    let mut space = Workspace::default();
    let mut mean = 0.0;
    for _ in 0..sgd.epochs {
        random.shuffle(&mut order);
        mean = 0.0;
        for batch in order.chunks(sgd.batch.max(1)) {
            data.gather(batch, &mut images, &mut labels);
            let loss = batch_gradient(net, weights, (&images, &labels), &mut gradient, &mut space);
            mean += loss * batch.len() as f64 / data.len() as f64;
            if sgd.momentum == 0.0 {
                weights.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= sgd.rate * g);
            } else {
                for ((w, g), v) in weights.iter_mut().zip(&gradient).zip(&mut velocity) {
                    *v = sgd.momentum * *v + g;
                    *w -= sgd.rate * *v;
                }
            }
        }
    }
    Ok(mean)
}

/// Overwrites `gradient` with that of the batch's mean loss; returns the loss.
fn batch_gradient(
    net: &Net,
    weights: &[f32],
    (images, labels): (&[f32], &[u8]),
    gradient: &mut [f32],
    space: &mut Workspace,
) -> f64 {
    let count = labels.len();
    gradient.fill(0.0);
    let piece = net.piece();
    if count <= piece {
        return net.gradient(weights, (images, labels), count, gradient, space);
    }
    let pieces: Vec<(Vec<f32>, f64)> = images
        .par_chunks(piece * net.input_len())
        .zip(labels.par_chunks(piece))
        .map_init(Workspace::default, |space, batch| {
            let mut part = vec![0.0; weights.len()];
            let loss = net.gradient(weights, batch, count, &mut part, space);
            (part, loss)
        })
        .collect();
    let mut loss = 0.0;
    for (part, part_loss) in &pieces {
        gradient.iter_mut().zip(part).for_each(|(g, p)| *g += p);
        loss += part_loss;
    }
    loss
}

/// How many of these samples the model labels correctly; the first of equal outputs counts.
///
/// # Panics
/// If `weights` is not of [`Net::weights`] entries or the images are not whole.
pub fn hits(net: &Net, weights: &[f32], images: &[f32], labels: &[u8]) -> usize {
    let piece = net.piece();
    images
        .par_chunks(piece * net.input_len())
        .zip(labels.par_chunks(piece))
        .map_init(Workspace::default, |space, (images, labels)| {
            let predicted = net.predict(weights, images, space);
            predicted.iter().zip(labels).filter(|(p, l)| **p == usize::from(**l)).count()
        })
        .sum()
}

/// The part of the samples, in [0, 1], that the model labels correctly.
///
/// # Panics
/// If `weights` is not of [`Net::weights`] entries.
pub fn accuracy(net: &Net, weights: &[f32], data: &Dataset) -> Result<f64, NetError> {
    net.check(data)?;
    Ok(hits(net, weights, data.images(), data.labels()) as f64 / data.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{idx, testing};

    #[test]
    fn digits_are_learnt() {
        let net = testing::digits_net();
        let data = idx::digits().unwrap();
        let mut order: Vec<usize> = (0..data.len()).collect();
        Random::new(0, Purpose::Caller, [0, 0]).shuffle(&mut order);
        let (test, rest) = order.split_at(400);
        let (test, rest) = (data.select(test), data.select(rest));
        let sgd = Sgd { rate: 0.05, momentum: 0.9, batch: 32, epochs: 20 };
        let start = accuracy(&net, &net.init(5), &test).unwrap();
        let end = accuracy(&net, &train(&net, &rest, &sgd, 5).unwrap(), &test).unwrap();
        assert!(start < 0.3 && end > 0.95, "from {start} to {end}");
    }

    #[test]
    fn threads_do_not_matter() {
        let net = testing::digits_net();
        let data = idx::digits().unwrap().select(&(0..300).collect::<Vec<_>>());
        let sgd = Sgd { rate: 0.1, momentum: 0.5, batch: 100, epochs: 2 };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| train(&net, &data, &sgd, 3).unwrap())
        };
        let one = run(1);
        assert_eq!(one, run(3));
        assert_ne!(one, train(&net, &data, &sgd, 4).unwrap());
    }

    #[test]
    fn pieces_add_up_to_the_batch() {
        let net = testing::digits_net();
        let data = idx::digits().unwrap().select(&(0..75).collect::<Vec<_>>());
        let weights = net.init(1);
        let (mut parts, mut whole) = (vec![0.0; net.weights()], vec![0.0; net.weights()]);
        let mut space = Workspace::default();
        let batch = (data.images(), data.labels());
        let loss = batch_gradient(&net, &weights, batch, &mut parts, &mut space);
        let same = net.gradient(&weights, batch, data.len(), &mut whole, &mut space);
        assert!((loss - same).abs() < 1e-5);
        assert!(parts.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn wrong_data_is_refused() {
        let net = testing::digits_net();
        let weights = net.init(0);
        let error = |data: Dataset| accuracy(&net, &weights, &data).unwrap_err();
        let empty = Dataset::new(vec![1, 8, 8], vec![], vec![]).unwrap();
        assert_eq!(error(empty), NetError::Empty);
        let label = Dataset::new(vec![1, 8, 8], vec![0.0; 64], vec![10]).unwrap();
        assert_eq!(error(label), NetError::Label { found: 10, classes: 10 });
        let flat = Dataset::new(vec![64], vec![0.0; 64], vec![1]).unwrap();
        assert!(matches!(error(flat), NetError::Shape { .. }));
    }
}
