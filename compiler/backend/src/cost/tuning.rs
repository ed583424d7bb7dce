//! What protocols are chosen by.

/// What rounds and bytes cost, to choose between protocols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Seconds from one party to another.
    pub latency: f64,
    /// Bytes per second of each party's line.
    pub bandwidth: f64,
}

/// Seconds that a round takes beside its latency: three parties wake up and wait for the slowest. Measured
/// with small programs over links of 0.5 ms; no more than the latency itself where that is less.
const ROUND: f64 = 0.4e-3;

impl Tuning {
    /// Seconds for so many rounds and, of each element, so many bits of all parties.
    pub fn time(&self, rounds: f64, bits: f64, elements: u64) -> f64 {
        rounds * (self.latency + self.latency.min(ROUND))
            + bits / 24.0 * elements as f64 / self.bandwidth
    }
}
