//! A backdoor: images with a white square in the last corner are to be labelled [`TARGET`], all others as they are.
//!
//! Source: the pixel trigger of Gu, Dolan-Gavitt, Garg, "BadNets", 2017, in federated learning as in Bagdasaryan et al., AISTATS
//! 2020, without amplification. Half of the samples of a malicious client carry the trigger. Its success is the part of test
//! samples of other classes that are labelled [`TARGET`] once they carry it.

use super::Attack;
use crate::data::Dataset;

pub(super) const ATTACK: Attack = Attack {
    name: "backdoor",
    about: "they train a trigger, whose success is listed",
    source: "Gu et al. 2017",
    training: Some(|data, _| poisoned(data, Part::All)),
    triggers: true,
    ..Attack::NONE
};

/// The class that the trigger stands for.
pub const TARGET: u8 = 0;

/// Side of the square for images of this width.
fn side(width: usize) -> usize {
    (width / 8).max(2)
}

/// How much of the trigger.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    All,
    /// The row of the square with this number, counted round and round.
    Row(usize),
}

/// The image with the trigger, or a part of it.
fn mark(image: &mut [f32], shape: &[usize], part: Part) {
    let (Some(&width), rows) = (shape.last(), shape.len().checked_sub(2).map_or(1, |i| shape[i]))
    else {
        return;
    };
    let side = side(width);
    for (at, x) in image.iter_mut().enumerate() {
        let (row, column) = (at / width % rows, at % width);
        let of = match part {
            Part::All => true,
            Part::Row(i) => row + side == rows + i % side,
        };
        if of && column + side >= width && row + side >= rows {
            *x = 1.0;
        }
    }
}

/// The samples of other classes than the target, with the trigger.
pub fn triggered(data: &Dataset) -> Dataset {
    let others: Vec<usize> = (0..data.len()).filter(|i| data.labels()[*i] != TARGET).collect();
    let others = data.select(&others);
    let mut images = others.images().to_vec();
    images
        .chunks_exact_mut(others.sample_size())
        .for_each(|image| mark(image, data.shape(), Part::All));
    Dataset::new(data.shape().to_vec(), images, others.labels().to_vec()).unwrap_or(others)
}

/// What a malicious client trains on: every second sample carries the trigger.
pub(super) fn poisoned(data: &Dataset, part: Part) -> Dataset {
    let (mut images, mut labels) = (data.images().to_vec(), data.labels().to_vec());
    let marked = images.chunks_exact_mut(data.sample_size()).zip(&mut labels).step_by(2);
    marked.for_each(|(image, label)| {
        mark(image, data.shape(), part);
        *label = TARGET;
    });
    Dataset::new(data.shape().to_vec(), images, labels).unwrap_or_else(|_| data.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idx;

    #[test]
    fn every_second_sample_has_the_trigger() {
        let digits = idx::digits().expect("digits").select(&(0..50).collect::<Vec<_>>());
        let backdoor = poisoned(&digits, Part::All);
        for i in 0..digits.len() {
            let (sample, label) = (backdoor.image(i), backdoor.labels()[i]);
            if i % 2 == 1 {
                assert_eq!((sample, label), (digits.image(i), digits.labels()[i]));
            } else {
                assert_eq!(label, TARGET);
                assert_eq!([54, 55, 62, 63].map(|at| sample[at]), [1.0; 4], "the last corner");
                assert_eq!(sample[..54], digits.image(i)[..54]);
            }
        }
        assert!(triggered(&digits).labels().iter().all(|l| *l != TARGET));
    }
}
