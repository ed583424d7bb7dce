//! How many clients a round may have, and what is said of a program that is built for each number of them.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many clients a round may have, from `--clients` or a node's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The size that is the number of clients; without it the one that the program names.
    pub size: Option<String>,
    pub least: u64,
    pub all: u64,
}

/// The most numbers of clients that a program is compiled for.
const MOST: u64 = 10_000;

impl Range {
    /// Refuses so many numbers of clients that a circuit for each would take for ever.
    pub fn counted(self) -> Result<Range, String> {
        let Range { least, all, .. } = self;
        match all - least < MOST {
            true => Ok(self),
            false => Err(format!(
                "{least} to {all} clients: a program is compiled for each number of them, {MOST} numbers at most; a minimum \
                 of {} or more leaves so few",
                all - MOST + 1
            )),
        }
    }
}

/// Reads `2..10` or `m=2..10`.
pub fn range(text: &str) -> Result<Range, String> {
    let (size, numbers) = match text.split_once('=') {
        Some((size, numbers)) => (Some(size.trim().to_string()), numbers),
        None => (None, text),
    };
    let read = |n: &str| n.trim().parse::<u64>().ok();
    let read = numbers.split_once("..").and_then(|(a, b)| Some((read(a)?, read(b)?)));
    match read {
        Some((least, all)) if 1 <= least && least <= all => Range { size, least, all }.counted(),
        _ => {
            Err("from the fewest to all clients, as in `2..10`, or `m=2..10` for the size `m`"
                .into())
        }
    }
}

/// What is said of a program that is built for each number of clients.
#[derive(Clone)]
pub struct Clients {
    /// The size that is the number of clients.
    pub size: String,
    /// The fewest clients, and all.
    pub range: (u64, u64),
    /// Why there is no circuit for some numbers.
    pub without: BTreeMap<u64, String>,
    /// Inputs that are coarser than if all clients came always: name, bits then, and bits.
    pub coarser: Vec<(String, u32, u32)>,
}

impl Clients {
    /// What it costs that all circuits take the same inputs, and for which numbers there is none, in lines.
    pub fn lines(&self) -> Vec<String> {
        let (least, all) = self.range;
        let mut out =
            vec![format!("the circuits for {} = {least} to {all} take the same inputs", self.size)];
        out.extend(self.coarser.iter().map(|(name, alone, bits)| {
            format!("`{name}` has {bits} fraction bits for that, and {alone} if all come always")
        }));
        out.extend(self.missing());
        out
    }

    /// For which numbers there is no circuit and why, in lines.
    pub fn missing(&self) -> Vec<String> {
        let line = |(first, last, why): (u64, u64, String)| match first == last {
            true => format!("no circuit for {first}: {why}"),
            false => format!("no circuit for {first} to {last}: {why}"),
        };
        self.ranges().into_iter().map(line).collect()
    }

    pub fn to_json(&self) -> Value {
        let without = self.ranges().into_iter();
        let without =
            without.map(|(first, last, why)| json!({ "first": first, "last": last, "why": why }));
        let cost = self.coarser.iter();
        let cost =
            cost.map(|(name, alone, bits)| json!({ "input": name, "bits": bits, "alone": alone }));
        json!({
            "size": self.size, "minimum": self.range.0, "all": self.range.1,
            "coarser": cost.collect::<Vec<_>>(), "without": without.collect::<Vec<_>>(),
        })
    }

    /// Numbers without a circuit that follow each other and have the same cause, and that in a line.
    fn ranges(&self) -> Vec<(u64, u64, String)> {
        let mut out: Vec<(u64, u64, String)> = Vec::new();
        for (&n, why) in &self.without {
            let why = why.lines().next().unwrap_or_default().to_string();
            match out.last_mut() {
                Some((_, last, same)) if *last + 1 == n && *same == why => *last = n,
                _ => out.push((n, n, why)),
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_clients() {
        let of =
            |size: Option<&str>, least, all| Ok(Range { size: size.map(String::from), least, all });
        assert_eq!(range("2..10"), of(None, 2, 10));
        assert_eq!(range("n = 3..3"), of(Some("n"), 3, 3));
        assert_eq!(range("2..10001"), of(None, 2, 10_001));
        let why = range("2..1000000").expect_err("as many circuits as nobody waits for");
        assert!(why.contains("a minimum of 990001 or more"), "{why}");
        assert!(range("990001..1000000").is_ok() && range("990000..1000000").is_err());
        assert!(range(&format!("1..{}", u64::MAX)).is_err());
        for text in ["", "2", "2..", "..3", "0..3", "4..3", "m=", "2...3", "-1..3"] {
            assert!(range(text).is_err(), "{text}");
        }
    }
}
