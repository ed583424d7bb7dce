//! All that `certify` says.

use crate::about::About;
use slvr_circuit::Circuit;
use slvr_compiler::analysis::failure::Failure;
use slvr_compiler::report::certificate::Certificate;
use slvr_compiler::report::confidence::Measured;
use slvr_compiler::report::given::{GivenCertificate, GivenLine, Share};

pub struct Report<'a> {
    pub circuit: &'a Circuit,
    /// The folder of inputs.
    pub dir: String,
    /// What it says of itself.
    pub about: Option<About>,
    /// For all inputs.
    pub certificate: Certificate,
    /// Of the certificate, and of roundings that add up.
    pub failure: Failure,
    /// For these inputs.
    pub proven: GivenCertificate,
    /// `None` where no decision is taken of inexact values.
    pub measured: Option<Measured>,
}

/// Of a line's decisions those of members that do not attack; `None` if the inputs do not say who attacks, or no
/// decision belongs to a member.
pub fn not_attacking(r: &Report<'_>, line: &GivenLine) -> Option<Share> {
    let about = r.about.as_ref().filter(|a| !a.attacks.is_empty())?;
    let of = line.of_set.as_ref()?;
    let attacks = |i: usize| about.attacks.iter().any(|a| a.of == *of && a.member == i as u64);
    let members = line.members.iter().enumerate().filter(|(i, _)| !attacks(*i));
    let sum = |a: Share, (_, b): (usize, &Share)| Share {
        certified: a.certified + b.certified,
        decisions: a.decisions + b.decisions,
    };
    Some(members.fold(Share::default(), sum))
}
