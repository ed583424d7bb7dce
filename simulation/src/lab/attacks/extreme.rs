//! The extreme manipulation of check scores: a malicious committee member gives a malicious client the best score there is, and
//! all others the worst.
//!
//! Source: the paper's Definition 1 and the attack that it equips with it. No validation samples reach that, so the lab sets the
//! scores themselves while it evaluates the check in floating point ([`crate::lab::fast`]), as the paper does. Among three
//! parties nobody can set a score. What is sent is the paper's search of lambda ([`super::slvr`]), in which a poisoned model has to
//! be among the better half on own data.

use super::{Attack, Insight, Needs, slvr};

pub(super) const ATTACK: Attack = Attack {
    name: "extreme",
    about: "as `slvr`, and malicious committee members forge the scores that they give",
    source: "the paper's Definition 1",
    insight: Insight::Scores,
    needs: Some(Needs::Scores),
    updates: Some(slvr::updates),
    forges_scores: true,
    ..Attack::NONE
};
