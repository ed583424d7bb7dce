//! Why a circuit has no proof.

use crate::Circuit;
use thiserror::Error;

/// What [`Unproven::Operand`] says of a product whose words fit no proof of one.
pub const WIDE_PRODUCT: &str = "a product of matrices of words of 128 bits";

/// Why a circuit cannot run against a malicious party: nothing would notice what a party does there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unproven {
    /// An instruction without a statement.
    #[error("layer {layer}: `{op}` has no proof against a malicious party{}", at(line))]
    Instruction {
        /// In which layer.
        layer: usize,
        /// Its name.
        op: &'static str,
        /// Source line, 0 if there is none.
        line: u32,
    },
    /// An instruction whose operand is computed in a way that has no statement.
    #[error(
        "layer {layer}: no proof says of `{op}` that its operand, {what}, is right{}",
        at(line)
    )]
    Operand {
        /// In which layer.
        layer: usize,
        /// Its name.
        op: &'static str,
        /// What the operand is.
        what: &'static str,
        /// Source line, 0 if there is none.
        line: u32,
    },
    /// A proof in layers that may be repeated, before the last of them: what it is about would not be there for the
    /// repetition.
    #[error(
        "layer {layer}: a proof stands among layers that are computed again if a client fails, before the last of them"
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

impl Unproven {
    /// The site of the instruction that it is about, an index into [`Circuit::sites`], if it is about one of this circuit.
    pub fn site(&self, circuit: &Circuit) -> Option<u32> {
        let (Unproven::Instruction { layer, op, line } | Unproven::Operand { layer, op, line, .. }) =
            self
        else {
            return None;
        };
        let of = circuit.layers.get(*layer)?;
        let line_of = |site: u32| circuit.sites.get(site as usize).map(|s| s.line);
        let mut instrs = of.exchange.iter().chain(&of.local);
        instrs.find(|i| i.op.name() == *op && line_of(i.site) == Some(*line)).map(|i| i.site)
    }

    /// The same without its line, for who says the place in another way.
    pub fn without_line(&self) -> Unproven {
        let mut out = self.clone();
        if let Unproven::Instruction { line, .. } | Unproven::Operand { line, .. } = &mut out {
            *line = 0;
        }
        out
    }
}

/// Logarithm of the largest probability with which a false proof may pass in a run.
pub const MOST_ERROR_LOG2: i32 = -40;

/// `, line 7`.
fn at(line: &u32) -> String {
    if *line == 0 { String::new() } else { format!(" (line {line})") }
}
