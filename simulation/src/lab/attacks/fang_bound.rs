//! Fang et al. against a bound on the length: u' = -s (tau - epsilon) / sqrt d, of length just below tau.
//!
//! Source: the framework of Fang, Cao, Jia, Gong, USENIX Security 2020, with the paper's closed form (appendix, "Adaptive Attack
//! to Norm bound"); s is estimated from what the malicious would have sent (partial knowledge). tau is lambda times the
//! length of the server's update where the check has one. Otherwise it is lambda times the median of all lengths, which
//! the paper's baseline tells every client. A bound on the largest coordinate (parameter `bound`) is reached in every
//! coordinate. Where each tensor has a bound of its own, twice the length of that tensor of the server's update, every tensor is
//! just below its bound. Of a check whose parameters are not known, the length is found by asking it ([`super::probe`]).

use super::super::knowledge::{INSIDE, Knowledge};
use super::super::vectors::{norm, times};
use super::probe::{Line, along};

pub(super) fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let s = k.direction();
    if let Some(ask) = k.ask {
        let mut against = times(&s, -1.0);
        if let (Some(tensors), Some(reference)) = (k.bounded, k.reference) {
            // Each tensor as long as that of the reference.
            for tensor in tensors {
                let part = &mut against[tensor.clone()];
                let length = norm(part).max(f64::MIN_POSITIVE);
                part.copy_from_slice(&times(part, norm(&reference[tensor.clone()]) / length));
            }
        }
        return k.all(along(k, ask, &Line::new(vec![0.0; s.len()], &against)));
    }
    if let Some(bound) = k.param("bound") {
        return k.all(times(&s, -bound * INSIDE));
    }
    if let (Some(tensors), Some(reference)) = (k.bounded, k.reference) {
        let mut update = s;
        for tensor in tensors {
            let (part, tau) = (&mut update[tensor.clone()], 2.0 * norm(&reference[tensor.clone()]));
            let length = norm(part);
            let by = if length > 0.0 { -tau * INSIDE / length } else { 0.0 };
            part.copy_from_slice(&times(part, by));
        }
        return k.all(update);
    }
    let lambda = k.param("lambda").unwrap_or(1.0);
    let tau = match k.reference {
        Some(reference) => lambda * norm(reference),
        None => k.median_bound(lambda),
    };
    // sqrt d, if no entry of s is 0.
    let length = norm(&s);
    k.all(times(&s, if length > 0.0 { -tau * INSIDE / length } else { 0.0 }))
}
