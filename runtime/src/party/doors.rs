//! What tests do to runs: break links, change what clients submit, let a party deviate.
//!
//! A run takes [`Doors`], and without the feature `doors` there are none but closed ones: no binary that is built by itself
//! has the methods that open them.

use super::session::{Tamper, WrapLink};
use slvr_circuit::Circuit;
use slvr_circuit::verify::Openings;

/// What a test does to a run. By default it does nothing.
#[derive(Clone, Copy)]
pub struct Doors<'a> {
    /// What the circuit may open to the parties: the bits of checks, except in tests of single instructions.
    pub(super) openings: Openings,
    /// The circuit that a party says it evaluates, in the place of its own.
    pub(super) says: Option<&'a Circuit>,
    pub(super) deviant: Option<(usize, &'a Circuit)>,
    pub(super) wrap: Option<&'a WrapLink<'a>>,
    pub(super) tamper: Option<&'a Tamper<'a>>,
    /// Whether the parties compare what they got of every client.
    pub(super) compare: bool,
}

impl Default for Doors<'_> {
    fn default() -> Self {
        let openings = Openings::Checks;
        Doors { openings, says: None, deviant: None, wrap: None, tamper: None, compare: true }
    }
}

#[cfg(feature = "doors")]
impl<'a> Doors<'a> {
    pub fn new() -> Self {
        Self::default()
    }

    /// The circuit may open anything to the parties.
    pub fn any_openings(self) -> Self {
        Doors { openings: Openings::Any, ..self }
    }

    /// A party with its own software: it evaluates this circuit, whatever the others do, and says that it evaluates theirs.
    pub fn deviant(self, deviant: Option<(usize, &'a Circuit)>) -> Self {
        Doors { deviant, ..self }
    }

    /// Wraps each party's link, to break it.
    pub fn wrap(self, wrap: &'a WrapLink<'a>) -> Self {
        Doors { wrap: Some(wrap), ..self }
    }

    /// A client with its own software: changes the uploads on their way.
    pub fn tamper(self, tamper: &'a Tamper<'a>) -> Self {
        Doors { tamper: Some(tamper), ..self }
    }

    /// Parties that use what they got of a client without a look at each other's.
    pub fn compare(self, compare: bool) -> Self {
        Doors { compare, ..self }
    }
}
