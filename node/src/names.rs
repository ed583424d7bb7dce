//! Names of tasks and clients, and lists of them in messages.

use std::collections::BTreeMap;

/// So many of something, in words: "1 client was", "2 clients were".
pub fn counted(n: u64, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

/// Most names in a message.
const NAMED: usize = 50;

/// Some names, and how many more there are; nothing for none.
pub fn listed(all: impl Iterator<Item = String>) -> Option<String> {
    let mut named: Vec<String> = all.collect();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    match (named.is_empty(), more) {
        (true, _) => None,
        (_, 0) => Some(named.join(", ")),
        _ => Some(format!("{} and {more} more", named.join(", "))),
    }
}

/// Whether a name of a task or a client can also be that of a file.
pub fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&name.len()) && name.chars().all(good) && !name.starts_with(['.', '-'])
}

/// Two different names that are the same file where files are found by letters of either case.
pub fn alike<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, &'a str)> {
    let mut before: BTreeMap<String, &str> = BTreeMap::new();
    names.into_iter().find_map(|name| {
        let other = before.insert(name.to_ascii_lowercase(), name)?;
        (other != name).then_some((other, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_leave_no_folder() {
        for good in ["digits", "client-7", "a.b_c"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", ".", "..", "a/b", "a\\b", "-rf", "é", "a\0", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad:?}");
        }
        assert_eq!(alike(["ab", "b", "Ab", "B"]), Some(("ab", "Ab")));
        assert_eq!(alike(["ab", "a", "ab"]), None);
    }
}
