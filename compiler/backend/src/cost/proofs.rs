//! What proofs compute: seconds as they are measured, for estimates and the choice between circuits, and prices, by
//! which lowering weighs what a macro has to prove against rounds and bytes. Sizes of blocks, carries and tables were
//! tried in runs with these prices: to change a price is to change circuits, and to try the sizes again.

use slvr_circuit::Circuit;
use slvr_circuit::proof::{Folds, KINDS, Kind, Lengths, Proof, proofs};

/// Seconds in which a party does its three parts in the proof of one word of 64 bits or less in a Galois ring, of 64
/// bits, of one word of 128 bits, and of a lifted word. As they are counted here: the columns of all statements of a
/// prover. Circuits are chosen and times are estimated by them. Measured with three parties on two cores: the committee
/// of LeNet-5, a million comparisons, and a million products of words of 128 bits.
const SECONDS: [f64; KINDS] = [1.5e-7, 0.35e-7, 6.7e-7, 0.75e-7];

/// Seconds of a proof of however little. Measured with the ranking of ten numbers, on links in memory.
const PROOF: f64 = 0.004;

/// The price, in seconds, of the proof of one word of a column of statements.
pub(crate) const WORD_PRICE: f64 = 1.5e-7;

/// The price of the proof of one bit of a column: about four times its seconds, which it had before proofs became
/// faster.
pub(crate) const FROZEN_BIT_PRICE: f64 = WORD_PRICE / 64.0;

/// The price of each entry of a block of bits, however few elements there are: a product and its statements. So chosen
/// that rounds are saved only where runs became no slower: without a price, the ranking of ten numbers became slower on
/// LAN.
pub(crate) const BLOCK_ENTRY_PRICE: f64 = 1e-5;

/// The price of each entry of a table, however few elements there are: an `input`, a product and their statements.
pub(crate) const TABLE_ENTRY_PRICE: f64 = 2.0 * BLOCK_ENTRY_PRICE;

/// Seconds in which a party does its three parts in a proof.
fn worked(lengths: &Lengths) -> f64 {
    if lengths.is_empty() {
        return 0.0;
    }
    let work = |(folds, (kind, seconds)): (&Option<Folds>, (Kind, f64))| {
        let folds = folds.as_ref()?;
        let spread = if kind == Kind::Bits { 64 } else { 1 };
        Some((folds.cut() * folds.elements / spread) as f64 * seconds)
    };
    let kinds = Kind::ALL.into_iter().zip(SECONDS);
    PROOF + lengths.folds.iter().zip(kinds).filter_map(work).sum::<f64>()
}

/// Seconds that a party computes for all proofs of a circuit.
pub fn proof_work(circuit: &Circuit) -> f64 {
    proven(circuit).iter().map(|proof| worked(&proof.lengths)).sum()
}

/// The proofs of a circuit with the seconds of each; none of a circuit for parties that follow the protocol.
pub(super) fn with_seconds(circuit: &Circuit) -> Vec<(Proof, f64)> {
    let with = |proof: Proof| {
        let seconds = worked(&proof.lengths);
        (proof, seconds)
    };
    proven(circuit).into_iter().map(with).collect()
}

fn proven(circuit: &Circuit) -> Vec<Proof> {
    if !circuit.security.is_malicious() {
        return Vec::new();
    }
    proofs(circuit).unwrap_or_default()
}
