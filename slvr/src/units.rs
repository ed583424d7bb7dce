//! Numbers for people.

use slvr_compiler::cost::{NetProfile, mean_party};
use slvr_compiler::diagnostic::rounding::upward;
use slvr_compiler::report::certificate::CutRow;

/// A count of something with a decimal prefix: `0`, `12`, `3.40 k`, `21.3 M`; `unit` follows.
pub fn count(n: u64, unit: &str) -> String {
    let mut x = n as f64;
    let mut prefix = "";
    for next in ["k", "M", "G", "T", "P", "E"] {
        if x < 999.5 {
            break;
        }
        (x, prefix) = (x / 1e3, next);
    }
    let digits = match x {
        _ if prefix.is_empty() => 0,
        x if x < 9.995 => 2,
        x if x < 99.95 => 1,
        _ => 0,
    };
    format!("{x:.digits$} {prefix}{unit}").trim_end().to_string()
}

/// An interval: `-8..8`, `0..1.2e7`.
pub fn range((lo, hi): (f64, f64)) -> String {
    let end = |x: f64| match x.abs() {
        0.0 => "0".to_string(),
        a if !(1e-3..1e5).contains(&a) => format!("{x:.1e}"),
        a if x.fract() == 0.0 || a >= 1e3 => format!("{x:.0}"),
        _ => format!("{x:.3}").trim_end_matches('0').trim_end_matches('.').to_string(),
    };
    format!("{}..{}", end(lo), end(hi))
}

/// What is cut, at what, and how large it might be.
pub fn taken(cut: &CutRow) -> String {
    let step = if cut.step.is_empty() { "a value" } else { &cut.step };
    let within = range((-cut.at, cut.at));
    format!(
        "{step} is taken to be in {within}; by the declared ranges it is in {}",
        range(cut.range)
    )
}

/// Sizes, models and parameters as they are bound on the command line.
pub fn bound(sizes: &[(String, String)]) -> String {
    sizes.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Bytes, with a decimal prefix.
pub fn bytes(n: u64) -> String {
    count(n, "B")
}

/// Reads a number of bytes, as in `8GiB`.
///
/// # Errors
///
/// What it should be.
pub fn size(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => {
            return Err("a number of bytes, or of KiB, MiB, GiB, kB, MB or GB, as in `8GiB`".into());
        }
    };
    let number: f64 =
        number.trim().parse().map_err(|_| "a number, and a unit after it, as in `8GiB`")?;
    let size = number * unit as f64;
    let sensible = size >= 1.0 && size < 63f64.exp2();
    if sensible { Ok(size as u64) } else { Err("at least one byte, below 2^63".into()) }
}

/// The unit of an axis that reaches this many bytes, and its name.
pub fn bytes_unit(most: f64) -> (f64, &'static str) {
    match most {
        b if b >= 1e9 => (1e9, "GB"),
        b if b >= 1e6 => (1e6, "MB"),
        b if b >= 1e3 => (1e3, "kB"),
        _ => (1.0, "bytes"),
    }
}

/// Bytes of one party: the mean of the three.
pub fn per_party(by_party: [u64; 3]) -> String {
    bytes(mean_party(by_party))
}

/// A duration, in three digits.
pub fn seconds(s: f64) -> String {
    let three = |x: f64| -> String {
        let digits = if x < 9.995 { 2 } else { usize::from(x < 99.95) };
        format!("{x:.digits$}")
    };
    match s {
        s if s < 0.9995e-3 => format!("{} us", three(s * 1e6)),
        s if s < 0.9995 => format!("{} ms", three(s * 1e3)),
        s => format!("{} s", three(s)),
    }
}

/// A part of a whole in per cent.
pub fn share(part: u64, whole: u64) -> String {
    match (part, whole) {
        (0, _) | (_, 0) => "0 %".into(),
        _ => {
            let p = part as f64 * 100.0 / whole as f64;
            if p < 0.95 { "< 1 %".into() } else { format!("{p:.0} %") }
        }
    }
}

/// A network in one line.
pub fn network(net: &NetProfile) -> String {
    let ms = net.rtt_s * 1e3;
    let bandwidth = net.bandwidth_bits_per_s;
    let rate = match bandwidth {
        b if b >= 1e9 => format!("{} Gbit/s", b / 1e9),
        b => format!("{} Mbit/s", b / 1e6),
    };
    format!("{rate}, {ms} ms round trip")
}

/// An error of a certificate, rounded up; 0 is exact.
pub fn error(x: f64) -> String {
    if x == 0.0 { "0".into() } else { upward(x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_say_enough() {
        let cases = [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (99_960, "100 kB")];
        for (n, text) in cases.into_iter().chain([(12_345_678, "12.3 MB"), (999_600, "1.00 MB")]) {
            assert_eq!(bytes(n), text);
        }
        assert_eq!(count(7, ""), "7");
        assert_eq!((share(1, 1000), share(1, 3)), ("< 1 %".into(), "33 %".into()));
        assert_eq!(
            (seconds(2e-5), seconds(0.25), seconds(3.456)),
            ("20.0 us".into(), "250 ms".into(), "3.46 s".into())
        );
        assert_eq!(network(&NetProfile::lan()), "1 Gbit/s, 1 ms round trip");
    }

    #[test]
    fn sizes_of_memory() {
        for (text, wanted) in [
            ("4096", 4096),
            ("4096B", 4096),
            ("20MiB", 20 << 20),
            ("1.5 kB", 1500),
            ("8GiB", 8 << 30),
            ("2gb", 2_000_000_000),
        ] {
            assert_eq!(size(text), Ok(wanted), "{text}");
        }
        for text in ["", "MiB", "8 TB", "-1", "0", "0.5", "nan", "inf", "1e300", "8GiBs", "1e3"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
