//! Codes: one word by which a program tells what a node refuses.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Code {
    Aborted,
    Address,
    Away,
    Body,
    Bug,
    Busy,
    Circuit,
    Clients,
    Closed,
    Collected,
    Configured,
    Conflict,
    Early,
    Exists,
    Forbidden,
    Full,
    Length,
    Manifest,
    Method,
    Number,
    Offset,
    Open,
    Opening,
    Part,
    Path,
    Phase,
    Query,
    Retry,
    Reveal,
    Role,
    Roll,
    Round,
    Set,
    Slow,
    Step,
    Store,
    Submission,
    Task,
    Unknown,
    Worker,
    /// Of a node of another version.
    #[serde(untagged)]
    Other(String),
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_one_word() {
        for (code, word) in [(Code::Round, "round"), (Code::Other("new".into()), "new")] {
            assert_eq!(code.to_string(), word);
            assert_eq!(serde_json::to_value(&code).expect("JSON"), word);
            assert_eq!(serde_json::from_value::<Code>(word.into()).expect("a code"), code);
        }
    }
}
