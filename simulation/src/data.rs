//! Labelled images in memory.

use thiserror::Error;

/// Labelled samples of one shape, as a model reads them.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    shape: Vec<usize>,
    size: usize,
    images: Vec<f32>,
    labels: Vec<u8>,
}

/// Why images and labels do not make a data set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DataError {
    /// A shape without entries.
    #[error("samples of shape {0:?} have no entries")]
    Shape(Vec<usize>),
    /// Numbers of images and of labels differ.
    #[error("{values} values in samples of {size} do not match {labels} labels")]
    Count {
        /// How many values there are in all images.
        values: usize,
        /// How many values one image should have.
        size: usize,
        labels: usize,
    },
}

impl Dataset {
    /// From images one after another, each of shape `shape` (channels, height, width; row-major),
    /// and one label each.
    pub fn new(shape: Vec<usize>, images: Vec<f32>, labels: Vec<u8>) -> Result<Self, DataError> {
        let size = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).unwrap_or(0);
        if size == 0 {
            return Err(DataError::Shape(shape));
        }
        if labels.len().checked_mul(size) != Some(images.len()) {
            return Err(DataError::Count { values: images.len(), size, labels: labels.len() });
        }
        Ok(Dataset { shape, size, images, labels })
    }

    /// Shape of one sample.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of values in one sample.
    pub fn sample_size(&self) -> usize {
        self.size
    }

    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// All images one after another.
    pub fn images(&self) -> &[f32] {
        &self.images
    }

    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// One image.
    ///
    /// # Panics
    /// If `i >= self.len()`.
    pub fn image(&self, i: usize) -> &[f32] {
        &self.images[i * self.size..][..self.size]
    }

    /// Images and labels of these samples, in this order, appended to cleared buffers.
    ///
    /// # Panics
    /// If an index is `>= self.len()`.
    pub fn gather(&self, indices: &[usize], images: &mut Vec<f32>, labels: &mut Vec<u8>) {
        images.clear();
        labels.clear();
        for &i in indices {
            images.extend_from_slice(self.image(i));
            labels.push(self.labels[i]);
        }
    }

    /// A data set of these samples, in this order.
    ///
    /// # Panics
    /// If an index is `>= self.len()`.
    pub fn select(&self, indices: &[usize]) -> Dataset {
        let (mut images, mut labels) = (Vec::new(), Vec::new());
        self.gather(indices, &mut images, &mut labels);
        Dataset { shape: self.shape.clone(), size: self.size, images, labels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_must_match() {
        assert!(Dataset::new(vec![1, 2], vec![0.0; 6], vec![0; 3]).is_ok());
        assert!(matches!(
            Dataset::new(vec![1, 2], vec![0.0; 5], vec![0; 3]),
            Err(DataError::Count { values: 5, size: 2, labels: 3 })
        ));
        assert!(matches!(Dataset::new(vec![0, 2], vec![], vec![]), Err(DataError::Shape(_))));
        assert!(Dataset::new(vec![usize::MAX, 2], vec![], vec![]).is_err());
    }

    #[test]
    fn select_keeps_images_with_their_labels() {
        let data = Dataset::new(vec![1], vec![10.0, 11.0, 12.0], vec![0, 1, 2]).unwrap();
        let part = data.select(&[2, 0]);
        assert_eq!((part.images(), part.labels()), (&[12.0, 10.0][..], &[2, 0][..]));
    }
}
