//! Fang et al. against a ball around a reference g: u' = g - s min(tau - epsilon, (tau - epsilon) / sqrt d), with tau = lambda |g|, or the parameter
//! `tau` itself where the check has one. Of a check whose parameters are not known, the radius is found by asking it
//! ([`super::probe`]).
//!
//! Source: the framework of Fang, Cao, Jia, Gong, USENIX Security 2020, with the paper's closed form (appendix, "Adaptive Attack
//! to Norm bound and Norm ball").

use super::super::knowledge::{INSIDE, Knowledge};
use super::super::vectors::{norm, plus, times};
use super::probe::{Line, along};

pub(super) fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let (s, centre) = (k.direction(), k.centre());
    if let Some(ask) = k.ask {
        return k.all(along(k, ask, &Line::new(centre, &times(&s, -1.0))));
    }
    let radius = k.param("tau");
    let tau = radius.unwrap_or_else(|| k.param("lambda").unwrap_or(1.0) * norm(&centre)) * INSIDE;
    let length = norm(&s).max(1.0);
    k.all(plus(&centre, -tau.min(tau / length), &s))
}
