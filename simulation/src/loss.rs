//! Softmax cross-entropy, and how sure a model is.

/// How far apart outputs are, for one class and the next, and for one image and the next.
#[derive(Clone, Copy)]
pub(super) struct Strides {
    pub(super) class: usize,
    pub(super) image: usize,
}

/// Loss, and its gradient by the outputs, both divided by `count`. There may be more images than labels; what is behind is
/// left alone.
pub(super) fn cross_entropy(
    (z, strides): (&[f32], Strides),
    labels: &[u8],
    classes: usize,
    count: usize,
    dz: &mut [f32],
) -> f64 {
    let mut loss = 0.0;
    for (i, &label) in labels.iter().enumerate() {
        let at = |class: usize| class * strides.class + i * strides.image;
        let outputs = || (0..classes).map(|c| z[at(c)]);
        let max = outputs().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = outputs().map(|z| (z - max).exp()).sum();
        loss += f64::from(sum.ln() + max - z[at(label.into())]);
        for c in 0..classes {
            let target = if c == usize::from(label) { 1.0 } else { 0.0 };
            dz[at(c)] = ((z[at(c)] - max).exp() / sum - target) / count as f32;
        }
    }
    loss / count as f64
}

/// The largest output of an image, and the sum of e^(z - largest) over its outputs z.
fn exponentials(row: &[f32]) -> (f32, f64) {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    (max, row.iter().map(|z| f64::from(z - max).exp()).sum())
}

/// The sum over rows of the cross-entropy, in the order in which a model gives its outputs.
pub(super) fn surprise(logits: &[f32], labels: &[u8], classes: usize) -> f64 {
    let row = |(row, label): (&[f32], &u8)| {
        let (max, sum) = exponentials(row);
        sum.ln() + f64::from(max - row[usize::from(*label)])
    };
    logits.chunks_exact(classes.max(1)).zip(labels).map(row).sum()
}

/// The sum over rows of the largest entry of their softmax.
pub(super) fn confidence(logits: &[f32], classes: usize) -> f64 {
    logits.chunks_exact(classes.max(1)).map(|row| 1.0 / exponentials(row).1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_its_definition_and_its_gradient_that_of_differences() {
        let (z, labels, classes) = ([0.3, -1.2, 2.0, 0.7, 0.1, -0.4], [2, 0], 3);
        let by_definition = |z: &[f64]| {
            let of = |i: usize, c: usize| z[c * 2 + i];
            let one = |i: usize| (0..3).map(|c| of(i, c).exp()).sum::<f64>().ln();
            (0..2).map(|i| one(i) - of(i, usize::from(labels[i]))).sum::<f64>() / 2.0
        };
        let mut dz = [0.0; 6];
        let z32 = z.map(|z| z as f32);
        let strides = Strides { class: 2, image: 1 };
        let loss = cross_entropy((&z32, strides), &labels, classes, 2, &mut dz);
        assert!((loss - by_definition(&z)).abs() < 1e-6);
        for (at, found) in dz.into_iter().enumerate() {
            let moved = |by: f64| {
                let mut z = z;
                z[at] += by;
                by_definition(&z)
            };
            let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((f64::from(found) - expected).abs() < 1e-5, "{at}: {found} for {expected}");
        }
    }
}
