//! The extreme manipulation of check scores: a malicious committee member gives a malicious client the best score there is, and
//! all others the worst.
//!
//! Source: the paper's Definition 1 and the attack that it equips with it. No validation samples reach that, so the lab sets the
//! scores themselves while it evaluates the check in floating point ([`crate::lab::fast`]), as the paper does. Among three
//! parties nobody can set a score. What is sent is the paper's search of lambda ([`super::slvr`]), in which a poisoned model has to
//! be among the better half on own data.
//!
//! With these scores the malicious need fewer honest votes. So there is a bolder attack, `extreme-bold`, which is not the paper's: it
//! drops that condition, as if a committee could be carried by the malicious in it, and sends u - lambda s with the largest
//! lambda whose length is just inside the bound, which it is told as `fang-bound` is. Where the check bounds no length,
//! or its parameter lambda bounds none that matters, the declared range of a coordinate is the end. Where committees are not
//! carried, it sends what the check drops. Of a check whose parameters are not known, the step is found by asking it.

use super::super::knowledge::{INSIDE, Knowledge};
use super::super::vectors::{norm, plus, times};
use super::probe::{Line, along};

/// Halvings of lambda.
const STEPS: usize = 40;

pub(super) fn bold(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let (u, s) = (k.estimate(), k.direction());
    if let Some(ask) = k.ask {
        return k.all(along(k, ask, &Line::new(u, &times(&s, -1.0))));
    }
    let longest = k.param("lambda").map_or(f64::INFINITY, |lambda| INSIDE * k.median_bound(lambda));
    let end = INSIDE as f32 * k.range.1.min(-k.range.0);
    let at = |lambda: f64| -> Vec<f32> {
        plus(&u, -lambda, &s).into_iter().map(|x| x.clamp(-end, end)).collect()
    };
    // Beyond the first value nothing grows any more.
    let most = u.iter().fold(0.0, |most: f64, x| most.max(f64::from(x.abs())));
    let (mut low, mut high) = (0.0, most + f64::from(end));
    if norm(&at(high)) < longest {
        return k.all(at(high));
    }
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        if norm(&at(middle)) < longest { low = middle } else { high = middle }
    }
    k.all(at(low))
}
