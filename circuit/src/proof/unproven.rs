//! Why a circuit has no proof.

use crate::{Circuit, Instr};
use thiserror::Error;

/// What [`Unproven::Operand`] says of a product whose words fit no proof of one.
pub const WIDE_PRODUCT: &str = "a product of matrices of words of 128 bits";

/// Why a circuit cannot run against a malicious party: nothing would notice what a party does there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unproven {
    /// An instruction without a statement.
    #[error("layer {layer}: `{op}` has no proof against a malicious party{}", line(*of))]
    Instruction { layer: usize, op: &'static str, of: Option<Source> },
    /// An instruction whose operand is computed in a way that has no statement.
    #[error(
        "layer {layer}: no proof says of `{op}` that its operand, {what}, is right{}",
        line(*of)
    )]
    Operand { layer: usize, op: &'static str, what: &'static str, of: Option<Source> },
    /// A message whose statement is about what is made after the last proof that is in time for it.
    #[error(
        "layer {layer}: the proof before it would have to be about what only a later layer makes: what it opens, or a message \
         sent before it, rests on that"
    )]
    Late {
        /// The layer that opens something.
        layer: usize,
    },
    /// A proof of what is opened in layers that may be repeated, before the last of them.
    #[error(
        "layer {layer}: something is opened among layers that are computed again if a client fails, before the last of them"
    )]
    Speculation {
        /// In which layer.
        layer: usize,
    },
    /// Bits of a check that a run does not wait for, and that no instruction opens.
    #[error("%{value} is a check that the run does not wait for, and no `open` makes it")]
    Check {
        /// The value with the bits.
        value: u32,
    },
    /// A circuit with so many proofs, or so long ones, that a false one is too likely to pass.
    #[error(
        "one of its {barriers} proofs may be false and pass with probability 2^{log2}, more than 2^{MOST_ERROR_LOG2}: \
         open less, or at fewer times"
    )]
    Weak {
        /// How many proofs each party gives.
        barriers: usize,
        /// Logarithm of the bound, rounded up.
        log2: i32,
    },
}

/// Where an instruction comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Index into [`Circuit::sites`].
    pub site: u32,
    /// Source line, 0 if there is none.
    pub line: u32,
}

impl Source {
    pub(super) fn of(circuit: &Circuit, instr: &Instr) -> Option<Source> {
        let site = circuit.sites.get(instr.site as usize)?;
        Some(Source { site: instr.site, line: site.line })
    }
}

impl Unproven {
    /// Takes out the instruction that it is about, if it is about one: the message then has no line.
    pub fn take_source(&mut self) -> Option<Source> {
        match self {
            Unproven::Instruction { of, .. } | Unproven::Operand { of, .. } => of.take(),
            _ => None,
        }
    }
}

/// Logarithm of the largest probability with which a false proof may pass in a run.
pub const MOST_ERROR_LOG2: i32 = -40;

/// ` (line 7)`.
fn line(of: Option<Source>) -> String {
    let line = of.map_or(0, |of| of.line);
    if line == 0 { String::new() } else { format!(" (line {line})") }
}
