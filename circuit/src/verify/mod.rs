//! The verifier. What it accepts, the parties can evaluate without a panic, an out-of-range access
//! or a number that overflows.
//!
//! # Invariants of a circuit
//!
//! 1. **Bounded.** At most 2^22 values, instructions and sites, 2^18 layers, 2^16 inputs, outputs and
//!    party sets, party sets of 1 to 2^20 members, 2^25 words of constants in all.
//! 2. **Types** are well formed ([`check_type`]): ring widths 8 to 128 in powers of two, 1 to
//!    4096 bits, at most 12 axes and 2^34 elements (sizes 0 counted as 1).
//! 3. **Ids** of values, sites, party sets and outputs are in range.
//! 4. **Single assignment.** Every value is defined exactly once: by an input, a constant or an
//!    instruction.
//! 5. **Defined before use.** An operand of a local instruction is defined earlier; an operand of an
//!    interactive instruction before its exchange, so none reads another's result of the exchange.
//! 6. **Not used after it is dropped.** A layer drops, in ascending order, values that are defined
//!    and were not dropped before.
//! 7. **Sections.** Local operations in the local part, interactive ones in the exchange.
//! 8. **Results.** Every instruction but `open_to`, `keep`, `prove` and `begin_proof` has a result; these have none.
//! 9. **Typing.** A result has the type that [`infer`] gives: holders, domains, shapes and
//!    parameters as documented at [`Op`](crate::Op).
//! 10. **Inputs** have distinct names. A public one becomes a `Public` value of the declared shape, and a state a
//!     `Rep` value of it; a secret one a `Rep` value with the members of its party set as first axis. One-hot inputs
//!     have their classes as last axis and are over a ring or single bits, all others are over a ring.
//!     Ranges are not empty, and their ends fit the ring (those of public real numbers need not).
//!     Fields fill the only axis.
//! 11. **Constants** are `Public`, have as many elements as their type, each in the domain.
//! 12. **Indices** of a gather that are a constant or a table by a rule are in range. (Others are checked when
//!     they are known.)
//! 13. **Outputs** are opened exactly once each, with the declared ring and shape, to a party set
//!     that exists, of which each member gets an entry of the first axis if there are several; factor and divisor are finite and not zero; fields fill the only axis.
//! 14. **Masks.** The mask of an `open_masked` is the result of a `mask`, and no other `open_masked` has it. No
//!     operand of an `open_masked` depends on its own mask, directly or by way of other masks (`masks`).
//! 15. **Checks**: at most one of each party set, which exists and gives inputs; its value is the result of an
//!     instruction, `Public` single bits, one for each member.
//! 16. **Speculation.** With R and L as in [`super::speculation`]: an `admitted` names a check and has
//!     one bit for each member of its party set; R is at most L. Bits of a check that is named do not
//!     depend on an `admitted`. In layers R to L nothing else is opened and no coin
//!     drawn; no value that is defined before R is dropped; the mask of an `open_masked` is not made before R.
//! 17. **Openings.** The result of an `open` or `open_sum` is the value of a check.
//! 18. **Names.** Party sets have distinct names, of ASCII letters, digits and `_`: files are named after them. No name
//!     has a control character.
//! 19. **Proofs.** In a circuit against a malicious party every message has a statement that its sender proves, or
//!     two holders that vouch for it ([`crate::proof`]); a proof stands before every opening, of all that the opened
//!     values depend on. That a false one passes has probability 2^-40 at most, over all of them. Only there a layer has
//!     a `prove` or `begin_proof`.
//! 20. **States.** Each is kept exactly once, as a value of the type that it is read in.
//! 21. **Loads.** A `load` reads an input from the members of a party set, and nothing but loads reads that input.
//!
//! Invariants 14 and 17 are what a party relies on that runs a circuit of somebody else's making: whatever it
//! computes, the messages tell no party more than the bits that are opened (`masks` shows why).

mod declarations;
mod definitions;
mod error;
mod infer;
mod masks;
mod speculation;
#[cfg(test)]
pub(crate) mod tests;

pub use crate::limits::{
    MAX_COMMITTEE, MAX_CONSTS, MAX_DECLARATIONS, MAX_DRAWN, MAX_ELEMENTS, MAX_LAYERS, MAX_MEMBERS,
    MAX_PLANES, MAX_RANK, MAX_TABLE, MAX_TESTS, MAX_VALUES,
};
pub use error::{Instruction, VerifyError};
pub use infer::{TypeError, check_type, infer};
pub use masks::Openings;

use crate::{Circuit, ValueId, proof};

/// Checks all invariants of the [module docs](self).
///
/// # Errors
///
/// The first invariant that is broken.
pub fn verify(circuit: &Circuit) -> Result<(), VerifyError> {
    verify_with(circuit, Openings::Checks)
}

/// As [`verify`]; what may be opened to the parties is for the caller to say.
///
/// # Errors
///
/// The first invariant that is broken.
pub fn verify_with(circuit: &Circuit, openings: Openings) -> Result<(), VerifyError> {
    declarations::bounds(circuit)?;
    declarations::names(circuit)?;
    for (i, ty) in circuit.types.iter().enumerate() {
        check_type(ty).map_err(|error| VerifyError::BadType { value: ValueId(i as u32), error })?;
    }
    definitions::check(circuit)?;
    declarations::checks(circuit)?;
    speculation::check(circuit)?;
    masks::check(circuit)?;
    if circuit.security.is_malicious() {
        proof::check(circuit)?;
    }
    match openings {
        Openings::Checks => masks::openings(circuit),
        Openings::Any => Ok(()),
    }
}
