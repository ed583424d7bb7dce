//! What is known of a value on given inputs.

use crate::analysis::interval::Interval;
use std::sync::Arc;

/// Bounds of deviations are enlarged by this part, which is more than floating point rounds them off.
const SLACK: f64 = 1.0 + 1e-9;

/// A value of the graph in floating point, and how far another one may be from it: a run's, or the program's.
#[derive(Clone, Debug)]
pub struct Running {
    /// Of the graph, by entry.
    pub value: Arc<Vec<f64>>,
    /// `None` if it is exactly this value.
    pub off: Option<Deviation>,
}

/// How far entries may be from the graph's.
#[derive(Clone, Debug, Default)]
pub struct Deviation {
    /// Whatever the roundings are, and also what [`Noise`] bounds with high probability further up.
    pub worst: Vec<f64>,
    /// Sharper, where many roundings add up.
    pub noise: Option<Noise>,
    /// The smaller of the two, by entry.
    pub bound: Vec<f64>,
}

/// A deviation as a linear form of roundings, and a rest.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    /// Variance proxies of the part that is of this entry only: given all earlier roundings, this part has mean 0, and
    /// that of different entries is independent.
    pub fresh: Vec<f64>,
    /// Sub-Gaussian norm of the part that entries may share.
    pub carried: Vec<f64>,
    /// Bound of what is not in the linear form, if all linear forms are within theirs.
    pub rest: Vec<f64>,
}

impl Deviation {
    /// None of so many entries.
    fn none(n: usize) -> Deviation {
        Deviation { worst: vec![0.0; n], noise: None, bound: vec![0.0; n] }
    }
}

impl Noise {
    /// Nothing of it is linear.
    pub fn rest(rest: Vec<f64>) -> Noise {
        let zeros = vec![0.0; rest.len()];
        Noise { fresh: zeros.clone(), carried: zeros, rest }
    }

    /// Sub-Gaussian norm of an entry. What is carried is settled before what is fresh is drawn, so squares add up.
    pub fn size(&self, i: usize) -> f64 {
        (self.fresh[i] + self.carried[i] * self.carried[i]).sqrt()
    }
}

impl Running {
    /// A value that is had exactly.
    pub fn exact(value: Arc<Vec<f64>>) -> Running {
        Running { value, off: None }
    }

    /// A value with a bound of its deviation.
    pub fn within(value: Arc<Vec<f64>>, worst: Vec<f64>) -> Running {
        let off = Deviation { worst, noise: None, bound: Vec::new() };
        Running::made(value, off, 0.0)
    }

    /// A value with its deviation; bounds follow, `quantile` times the size of linear forms.
    pub fn made(value: Arc<Vec<f64>>, mut off: Deviation, quantile: f64) -> Running {
        for x in &mut off.worst {
            *x = if x.is_nan() { f64::INFINITY } else { *x * SLACK };
        }
        if off.worst.iter().all(|&x| x == 0.0) {
            return Running::exact(value);
        }
        off.bound = off.worst.clone();
        if let Some(noise) = &off.noise {
            for (i, bound) in off.bound.iter_mut().enumerate() {
                let sharper = (quantile * noise.size(i) + noise.rest[i]) * SLACK;
                if sharper < *bound {
                    *bound = sharper;
                }
            }
        }
        Running { value, off: Some(off) }
    }

    /// The same of what is known to be in an interval: it is no further off than the interval's ends are.
    pub fn narrowed(self, (lo, hi): Interval) -> Running {
        let value = Arc::clone(&self.value);
        self.at_most(|i| (hi - value[i]).max(value[i] - lo).max(0.0))
    }

    /// Of a run and the program together, where both are known to be in an interval: they are no further apart than
    /// these.
    pub fn apart(self, run: Interval, program: Interval) -> Running {
        self.at_most(|_| (run.1 - program.0).max(program.1 - run.0).max(0.0))
    }

    fn at_most(mut self, most: impl Fn(usize) -> f64) -> Running {
        if let Some(off) = &mut self.off {
            for (i, (worst, bound)) in off.worst.iter_mut().zip(&mut off.bound).enumerate() {
                let most = most(i) * SLACK;
                *worst = worst.min(most);
                *bound = bound.min(most);
            }
        }
        self
    }

    /// The same of integers, which are off by integers.
    pub fn whole(mut self) -> Running {
        if let Some(off) = &mut self.off {
            for (worst, bound) in off.worst.iter_mut().zip(&off.bound) {
                *worst = bound.floor();
            }
            off.noise = None;
            off.bound = off.worst.clone();
            if off.bound.iter().all(|&b| b == 0.0) {
                self.off = None;
            }
        }
        self
    }

    /// How far a run may be from the program: as far as it may be from the graph, and the program from the graph. A
    /// `bit` is off by 1 at most.
    pub fn together(&self, program: &Running, bit: bool) -> Running {
        let Some(drift) = &program.off else { return self.clone() };
        let mut off = self.deviation();
        let most = if bit { 1.0 } else { f64::INFINITY };
        let add = |to: &mut [f64], most: f64| {
            to.iter_mut().zip(&drift.bound).for_each(|(x, d)| *x = (*x + d).min(most));
        };
        add(&mut off.worst, most);
        add(&mut off.bound, most);
        if let Some(noise) = &mut off.noise {
            add(&mut noise.rest, f64::INFINITY);
        }
        Running { value: Arc::clone(&self.value), off: Some(off) }
    }

    /// How far it may be off, also where it is exact.
    pub fn deviation(&self) -> Deviation {
        self.off.clone().unwrap_or_else(|| Deviation::none(self.value.len()))
    }

    /// How far entry i may be off.
    pub fn bound(&self, i: usize) -> f64 {
        self.off.as_ref().map_or(0.0, |off| off.bound[i])
    }

    /// How far each entry may be off.
    pub fn bounds(&self) -> Arc<Vec<f64>> {
        let none = || vec![0.0; self.value.len()];
        Arc::new(self.off.as_ref().map_or_else(none, |off| off.bound.clone()))
    }

    /// Where a run's entry i is.
    pub fn interval(&self, i: usize) -> (f64, f64) {
        let (v, b) = (self.value[i], self.bound(i));
        (v - b, v + b)
    }
}
