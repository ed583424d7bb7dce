//! Vectors in floating point, for formulas.

pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

pub fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

pub fn times(c: f64, x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| c * x).collect()
}
