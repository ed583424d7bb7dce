//! What stands between the parties of a row.

use crate::parties::line;
use slvr_compiler::cost::{Cost, NetProfile};
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
    /// What they draw for masks, on all cores at their peak.
    pub random: f64,
    /// What their instructions read and write, operations on bits with them, as fast as memory is.
    pub memory: f64,
}

impl Floor {
    /// The larger of network and arithmetic: a perfect run would overlap them.
    pub fn seconds(&self) -> f64 {
        self.network.max(self.arithmetic)
    }

    /// The same with all that cores do.
    pub fn whole(&self) -> f64 {
        self.network.max(self.arithmetic + self.random + self.memory)
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

/// The floor of a circuit of this cost.
pub fn floor(cost: &Cost, net: &NetProfile, machine: &Machine) -> Floor {
    let busiest = cost.bytes.into_iter().max().unwrap_or(0) as f64;
    let all = |of: [u64; 3]| of.into_iter().map(|n| n as f64).sum::<f64>();
    Floor {
        network: cost.rounds as f64 * net.rtt_s / 2.0 + busiest * 8.0 / net.bandwidth_bits_per_s,
        arithmetic: all(cost.macs) / (machine.macs_per_s * machine.cores as f64),
        random: all(cost.random) / machine.random_bytes_per_s,
        memory: all(cost.touched) / machine.memory_bytes_per_s,
    }
}

#[cfg(test)]
pub const MACHINE: Machine = Machine {
    macs_per_s: 1e9,
    cores: 2,
    handover_s: 1e-5,
    memory_bytes_per_s: 1e10,
    random_bytes_per_s: 5e9,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_the_larger_part() {
        let wan = NetProfile::wan();
        // 100 rounds of 10 ms, 25 MB at 25 MB/s; 6 G at 2 G/s; 15 G at 5 G/s; 60 G at 10 G/s.
        let cost = Cost {
            rounds: 100,
            bytes: [25_000_000, 1, 0],
            macs: [2_000_000_000; 3],
            random: [5_000_000_000; 3],
            touched: [20_000_000_000; 3],
            ..Cost::default()
        };
        let f = floor(&cost, &wan, &MACHINE);
        assert_eq!((f.network, f.arithmetic, f.random, f.memory), (2.0, 3.0, 3.0, 6.0));
        assert_eq!((f.seconds(), f.whole()), (3.0, 12.0));
        let memory = effective(&NetProfile::loopback(), &MACHINE);
        let cost = Cost { bytes: [u64::MAX; 3], macs: [0; 3], ..cost };
        let f = floor(&cost, &memory, &MACHINE);
        assert!((f.seconds() - 1e-3).abs() < 1e-12, "{f:?}");
        assert_eq!(effective(&wan, &MACHINE), wan);
    }
}
