//! What stands between the parties of a row.

use crate::parties::line;
use slvr_compiler::cost::NetProfile;
use slvr_ring::machine::Machine;
use slvr_runtime::link::shaped::Line;

/// Seconds that a run cannot be faster than.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// Rounds times the latency of one way, and the bytes of the party that sends most at the line's
    /// bandwidth.
    pub network: f64,
    /// The multiply-accumulates of the three parties on all cores at their peak.
    pub arithmetic: f64,
}

impl Floor {
    /// The larger of the two: a perfect run would overlap them.
    pub fn seconds(&self) -> f64 {
        self.network.max(self.arithmetic)
    }
}

/// The line between the parties of a profile; none where messages are moved in memory.
pub fn shaped(net: &NetProfile) -> Option<Line> {
    (net.name != "loopback").then(|| line(net))
}

/// The profile that a floor is computed with. In memory a message costs what it takes to wake the other
/// thread, whatever its length.
pub fn effective(net: &NetProfile, machine: &Machine) -> NetProfile {
    match net.name.as_str() {
        "loopback" => NetProfile {
            bandwidth_bits_per_s: f64::INFINITY,
            rtt_s: 2.0 * machine.handover_s,
            ..net.clone()
        },
        _ => net.clone(),
    }
}

/// The floor of a circuit with these rounds, bytes sent and multiply-accumulates of each party.
pub fn floor(
    rounds: usize,
    bytes: [u64; 3],
    macs: [u64; 3],
    net: &NetProfile,
    machine: &Machine,
) -> Floor {
    let busiest = bytes.into_iter().max().unwrap_or(0) as f64;
    let all: f64 = macs.into_iter().map(|n| n as f64).sum();
    Floor {
        network: rounds as f64 * net.rtt_s / 2.0 + busiest * 8.0 / net.bandwidth_bits_per_s,
        arithmetic: all / (machine.macs_per_s * machine.cores as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_the_larger_part() {
        let machine = Machine { macs_per_s: 1e9, cores: 2, handover_s: 1e-5 };
        let wan = NetProfile::wan();
        // 100 rounds of 10 ms, 25 MB at 25 MB/s; 6 G at 2 G/s.
        let f = floor(100, [25_000_000, 1, 0], [2_000_000_000; 3], &wan, &machine);
        assert_eq!((f.network, f.arithmetic, f.seconds()), (2.0, 3.0, 3.0));
        let memory = effective(&NetProfile::loopback(), &machine);
        let f = floor(100, [u64::MAX; 3], [0; 3], &memory, &machine);
        assert!((f.seconds() - 1e-3).abs() < 1e-12, "{f:?}");
        assert_eq!(effective(&wan, &machine), wan);
    }
}
