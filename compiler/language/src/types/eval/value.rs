//! Tensors, and parts of them.

use std::rc::Rc;

/// A tensor of real numbers; integers and bits are whole ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensor {
    /// Sizes of the dimensions, outermost first; none for a scalar.
    pub shape: Vec<u64>,
    /// Entries, the last dimension fastest.
    pub data: Vec<f64>,
}

impl Tensor {
    pub fn scalar(value: f64) -> Tensor {
        Tensor { shape: Vec::new(), data: vec![value] }
    }

    pub fn vector(data: Vec<f64>) -> Tensor {
        Tensor { shape: vec![data.len() as u64], data }
    }
}

/// A tensor that may be a part of another: indexing copies nothing.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) data: Rc<Vec<f64>>,
    pub(super) start: usize,
    pub(super) shape: Vec<u64>,
}

impl Value {
    pub(super) fn new(shape: Vec<u64>, data: Vec<f64>) -> Value {
        Value { data: Rc::new(data), start: 0, shape }
    }

    pub(super) fn scalar(value: f64) -> Value {
        Value::new(Vec::new(), vec![value])
    }

    pub(super) fn len(&self) -> usize {
        self.shape.iter().product::<u64>() as usize
    }

    pub(super) fn entries(&self) -> &[f64] {
        self.data.get(self.start..self.start + self.len()).unwrap_or(&[])
    }

    pub(super) fn tensor(&self) -> Tensor {
        Tensor { shape: self.shape.clone(), data: self.entries().to_vec() }
    }

    /// A carried value in its range.
    pub(super) fn within(self, range: Option<(f64, f64)>) -> Value {
        let Some((lo, hi)) = range else { return self };
        let data = self.entries().iter().map(|x| x.max(lo).min(hi)).collect();
        Value::new(self.shape, data)
    }
}
