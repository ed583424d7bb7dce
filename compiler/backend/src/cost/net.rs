//! Network profiles.

use super::tuning::Tuning;
use serde::Serialize;
use thiserror::Error;

/// A network between the parties: everyone has one line, with this bandwidth in each direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetProfile {
    /// Its name, or the file it came from.
    pub name: String,
    pub bandwidth_bits_per_s: f64,
    /// Round-trip time in seconds.
    pub rtt_s: f64,
}

/// A profile that is not one. `line` is from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetError {
    /// Not `key = number`.
    #[error(
        "line {line}: expected `bandwidth_mbit = NUMBER` or `rtt_ms = NUMBER`, found `{found}`"
    )]
    Line { line: usize, found: String },
    /// A key that means nothing here.
    #[error("line {line}: unknown key `{key}`; a profile has `bandwidth_mbit` and `rtt_ms`")]
    Key { line: usize, key: String },
    /// A key that was there before.
    #[error("line {line}: `{key}` is given twice")]
    Twice { line: usize, key: &'static str },
    /// A number out of range.
    #[error("line {line}: `{key}` is {found}; it must be {must}")]
    Number {
        line: usize,
        key: &'static str,
        found: String,
        /// What it must be.
        must: &'static str,
    },
    /// A key that is not there.
    #[error("`{0}` is missing; a profile is `bandwidth_mbit = 200` and `rtt_ms = 20`")]
    Missing(&'static str),
}

impl NetProfile {
    /// From a bandwidth in Mbit/s and a round-trip time in ms.
    pub(super) fn new(name: &str, bandwidth_mbit: f64, rtt_ms: f64) -> NetProfile {
        NetProfile {
            name: name.into(),
            bandwidth_bits_per_s: bandwidth_mbit * 1e6,
            rtt_s: rtt_ms / 1e3,
        }
    }

    /// The network that protocols were chosen for.
    pub(super) fn of(tuning: Tuning) -> NetProfile {
        NetProfile::new("tuning", 8e-6 * tuning.bandwidth, 2e3 * tuning.latency)
    }

    /// What protocols are chosen by.
    pub fn tuning(&self) -> Tuning {
        Tuning { latency: self.rtt_s / 2.0, bandwidth: self.bandwidth_bits_per_s / 8.0 }
    }

    /// A local network: 1 Gbit/s, 1 ms.
    pub fn lan() -> NetProfile {
        NetProfile::new("lan", 1000.0, 1.0)
    }

    /// The internet between data centres: 200 Mbit/s, 20 ms.
    pub fn wan() -> NetProfile {
        NetProfile::new("wan", 200.0, 20.0)
    }

    /// One machine: 10 Gbit/s, 0.05 ms.
    pub fn loopback() -> NetProfile {
        NetProfile::new("loopback", 10_000.0, 0.05)
    }

    /// The profiles with a name.
    pub fn all() -> [NetProfile; 3] {
        [NetProfile::loopback(), NetProfile::lan(), NetProfile::wan()]
    }

    /// A profile by name.
    pub fn named(name: &str) -> Option<NetProfile> {
        NetProfile::all().into_iter().find(|p| p.name == name)
    }

    /// From the text of a TOML file with the keys `bandwidth_mbit` (0.001 to 1e9) and `rtt_ms` (0 to 1e6), both
    /// numbers; comments and blank lines may stand anywhere. So every time that is predicted is a number.
    ///
    /// # Errors
    ///
    /// Anything else, by line.
    pub fn parse(name: &str, text: &str) -> Result<NetProfile, NetError> {
        let (mut bandwidth, mut rtt) = (None, None);
        for (i, raw) in text.lines().enumerate() {
            let line = i + 1;
            let code = raw.split('#').next().unwrap_or("").trim();
            if code.is_empty() {
                continue;
            }
            let Some((key, value)) = code.split_once('=').map(|(k, v)| (k.trim(), v.trim())) else {
                return Err(NetError::Line { line, found: raw.trim().into() });
            };
            let (key, slot, range, must) = match key {
                "bandwidth_mbit" => {
                    let must = "a number from 0.001 to 1e9, in Mbit/s";
                    ("bandwidth_mbit", &mut bandwidth, 1e-3..=1e9, must)
                }
                "rtt_ms" => ("rtt_ms", &mut rtt, 0.0..=1e6, "a number from 0 to 1e6, in ms"),
                _ => return Err(NetError::Key { line, key: key.into() }),
            };
            if slot.is_some() {
                return Err(NetError::Twice { line, key });
            }
            // TOML allows 1_000 and not `inf` for what must be finite.
            let number = value.replace('_', "").parse::<f64>().ok();
            let Some(number) = number.filter(|x| range.contains(x)) else {
                return Err(NetError::Number { line, key, found: value.into(), must });
            };
            *slot = Some(number);
        }
        let bandwidth = bandwidth.ok_or(NetError::Missing("bandwidth_mbit"))?;
        Ok(NetProfile::new(name, bandwidth, rtt.ok_or(NetError::Missing("rtt_ms"))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_by_name_and_from_text() {
        let wan = NetProfile::named("wan").expect("wan");
        assert_eq!((wan.bandwidth_bits_per_s, wan.rtt_s), (2e8, 0.02));
        assert_eq!(NetProfile::named("moon"), None);
        let text = "# between two offices\nbandwidth_mbit = 1_00.5 # measured\n\nrtt_ms=0\n";
        let p = NetProfile::parse("office", text).expect("a profile");
        assert_eq!((p.name.as_str(), p.bandwidth_bits_per_s, p.rtt_s), ("office", 1.005e8, 0.0));
    }

    #[test]
    fn what_is_wrong_with_a_profile_is_said() {
        let said = |text: &str| NetProfile::parse("x", text).expect_err(text).to_string();
        let two = "bandwidth_mbit = 1\nrtt_ms = 1\n";
        for (text, part) in [
            ("", "`bandwidth_mbit` is missing"),
            ("bandwidth_mbit = 1", "`rtt_ms` is missing"),
            ("bandwidth_mbit 1", "line 1: expected"),
            ("[net]\n", "found `[net]`"),
            ("\nlatency = 3", "line 2: unknown key `latency`"),
            ("bandwidth_mbit = 0", "from 0.001 to 1e9, in Mbit/s"),
            ("bandwidth_mbit = 1e308", "from 0.001 to 1e9"),
            ("bandwidth_mbit = 1e-308", "from 0.001 to 1e9"),
            ("rtt_ms = 1e308", "from 0 to 1e6"),
            ("rtt_ms = nan", "from 0 to 1e6"),
            ("rtt_ms = -1", "`rtt_ms` is -1"),
            ("rtt_ms = inf", "`rtt_ms` is inf"),
            ("rtt_ms = \"20\"", "from 0 to 1e6"),
            (&format!("{two}rtt_ms = 2"), "line 3: `rtt_ms` is given twice"),
        ] {
            assert!(said(text).contains(part), "{text:?}: {}", said(text));
        }
    }
}
