//! Label flip: training on the labels L - 1 - l instead of l.
//!
//! Source: Fang, Cao, Jia, Gong, "Local Model Poisoning Attacks to Byzantine-Robust Federated Learning", USENIX Security 2020,
//! as the paper has it.

use super::Attack;
use crate::data::Dataset;

pub(super) const ATTACK: Attack = Attack {
    name: "label-flip",
    about: "they train on labels L - 1 - l",
    source: "Fang et al. 2020",
    training: Some(|data, place| flipped(data, place.classes)),
    ..Attack::NONE
};

pub(super) fn flipped(data: &Dataset, classes: usize) -> Dataset {
    let last = classes.saturating_sub(1).min(usize::from(u8::MAX)) as u8;
    let labels = data.labels().iter().map(|l| last.saturating_sub(*l)).collect();
    Dataset::new(data.shape().to_vec(), data.images().to_vec(), labels)
        .unwrap_or_else(|_| data.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idx;

    #[test]
    fn labels_are_flipped_and_images_stay() {
        let digits = idx::digits().expect("digits").select(&(0..50).collect::<Vec<_>>());
        let flipped = flipped(&digits, 10);
        assert!(flipped.labels().iter().zip(digits.labels()).all(|(f, l)| *f == 9 - l));
        assert_eq!(flipped.images(), digits.images());
    }
}
