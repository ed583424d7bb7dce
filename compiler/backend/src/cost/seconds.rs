//! The time model: how fast a party is, and the seconds of a run.
//!
//! Everything that weighs seconds takes them from here: the estimate that is shown, and the choice between
//! ways of enforcing long vectors. Those of proofs are in `proofs.rs`.

use super::count::{Cost, LayerCost, add, busiest_party};
use super::net::NetProfile;
use super::tuning::Tuning;
use super::work;
use serde::Serialize;
use slvr_circuit::Circuit;
use slvr_circuit::traffic::Traffic;

/// Multiply-accumulates of 64-bit words per second of one party on one core.
///
/// Derived from the measurements in the book's page on performance (a virtual machine with two cores of an
/// AMD EPYC with AVX-512; three parties as threads, so that a party has two thirds of a core). There, a
/// loop in registers does 58 billion a second in one core and the kernels of large convolutions do 66 to 84
/// percent of that; small convolutions, packing and rows that do not fill a register take more. With 20
/// billion, the times of arithmetic and memory of two checks of a client and of a whole round (LeNet-5 and
/// ResNet-18) are between 0.8 and 1.6 times what was measured. To measure it again: `slvrc bench`
/// prints the rate of the loop in registers and the seconds of each row, `slvrc explain` the counts.
pub const MACS_PER_S: f64 = 2.0e10;

/// Bytes per second that one party's local instructions read and write: typical of one core.
pub const MEMORY_BYTES_PER_S: f64 = 12.0e9;

/// Pseudorandom bytes per second of one party: typical of ChaCha12 on one core.
pub const PRG_BYTES_PER_S: f64 = 3.0e9;

/// Bytes that a party packs, sends, copies and unpacks in a second, however fast its line is.
pub const PACKED_BYTES_PER_S: f64 = 5.0e8;

/// The seconds of a run, by what they go to. An estimate: nothing overlaps, and the constants are
/// those of a typical machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// Rounds times the latency of one way.
    pub latency: f64,
    /// For each round, the bytes of whoever sends or receives most, at the line's bandwidth.
    pub transfer: f64,
    /// For each layer, the arithmetic and memory traffic of the party with most; and what a party computes for proofs.
    pub compute: f64,
    /// Of `compute`, what is for proofs.
    pub proofs: f64,
    pub total: f64,
}

/// Bytes per second between parties, given those of a line.
fn transferred(line: f64) -> f64 {
    line.min(PACKED_BYTES_PER_S)
}

/// The sum; 0 of nothing, where the standard library has -0.
fn sum(of: impl Iterator<Item = f64>) -> f64 {
    of.fold(0.0, |a, b| a + b)
}

/// Seconds of the arithmetic and memory traffic of a layer, of the party with most.
fn computed(layer: &LayerCost) -> f64 {
    let party = |p: usize| {
        layer.macs[p] as f64 / MACS_PER_S
            + layer.touched[p] as f64 / MEMORY_BYTES_PER_S
            + layer.random[p] as f64 / PRG_BYTES_PER_S
    };
    [0, 1, 2].map(party).into_iter().fold(0.0, f64::max)
}

/// Seconds until the line of somebody has taken so many bytes.
pub(super) fn transfer(bytes: u64, net: &NetProfile) -> f64 {
    bytes as f64 / transferred(net.bandwidth_bits_per_s / 8.0)
}

/// Seconds of a layer without a proof.
pub(super) fn of_layer(layer: &LayerCost, exchanges: bool, net: &NetProfile) -> f64 {
    let latency = if exchanges { net.rtt_s / 2.0 } else { 0.0 };
    latency + transfer(layer.busiest, net) + computed(layer)
}

impl Cost {
    /// Seconds that a run takes on a network: an estimate (see [`NetProfile`]).
    pub fn seconds(&self, net: &NetProfile) -> Estimate {
        let latency = self.rounds as f64 * net.rtt_s / 2.0;
        let bytes = sum(self.layers.iter().map(|l| l.busiest as f64));
        let transfer = bytes / transferred(net.bandwidth_bits_per_s / 8.0);
        let proofs = sum(self.layers.iter().filter_map(|l| l.proof.as_ref()).map(|p| p.seconds));
        let compute = sum(self.layers.iter().map(computed)) + proofs;
        Estimate { latency, transfer, compute, proofs, total: latency + transfer + compute }
    }
}

/// Seconds that an instruction takes besides, however few elements it has. So chosen that of LeNet-5's committee
/// against a malicious party the family is taken that took less time on loopback, where it was a tenth; on LAN both
/// took as long as each other within what runs differ.
const INSTRUCTION: f64 = 0.7e-6;

/// Seconds of a run on a network for which circuits are chosen, memory and proofs included: by this, circuits against a
/// malicious party are compared.
pub fn seconds_with_proofs(circuit: &Circuit, tuning: Tuning) -> f64 {
    let net = NetProfile::of(tuning);
    let Estimate { latency, total, .. } = Cost::of(circuit).seconds(&net);
    let rounds = tuning.time(Traffic::of(circuit).rounds as f64, 0.0, 0);
    total - latency + rounds + INSTRUCTION * circuit.instructions() as f64
}

/// Nanoseconds for what the party with most of each sends and multiplies, without latency and memory: by
/// this, circuits for one predicate are compared.
pub fn nanoseconds_of_work(circuit: &Circuit, tuning: Tuning) -> u64 {
    let mut macs = [0u64; 3];
    let instructions = circuit.layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange));
    instructions.for_each(|i| add(&mut macs, work::macs(circuit, i)));
    let (bytes, macs) =
        (busiest_party(Traffic::of(circuit).bytes) as f64, busiest_party(macs) as f64);
    ((bytes / transferred(tuning.bandwidth) + macs / MACS_PER_S) * 1e9) as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_adds_up_to_zero() {
        assert!(super::sum(std::iter::empty()).is_sign_positive());
    }
}
