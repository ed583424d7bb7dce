//! What every code means: `explain/eNNNN.md`, one file each.
//!
//! A file is the rule, a program that breaks it, why that is wrong, and the program mended:
//!
//! ````text
//! The rule.
//!
//! ```slvr
//! // args: m=4
//! (the mistake)
//! ```
//!
//! What to think of it.
//!
//! ```slvr
//! (mended)
//! ```
//! ````
//!
//! `// args:` binds sizes; without it the smallest that fit are chosen. Programs marked `slvr,build`
//! show what only compilation to a circuit finds, and those marked `slvr,malicious` what only one against a
//! malicious party does. Tests compile the programs: each mistake yields its code and no other.

use super::codes::{self, Code};
use slvr_circuit::Security;

/// The meaning of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub code: Code,
    /// The rule in a few words, without the code.
    pub title: &'static str,
    pub rule: &'static str,
    pub examples: Examples,
}

/// A mistake and its mend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Examples {
    /// A program that yields the code.
    pub mistake: &'static str,
    /// What is wrong with it.
    pub why: &'static str,
    /// The program without the mistake.
    pub mended: &'static str,
    /// The adversary of the circuit, if only compilation to one finds the mistake.
    pub build: Option<Security>,
}

/// The meaning of a code; `None` if there is no such code.
pub fn explain(code: Code) -> Option<Explanation> {
    let (_, title) = codes::ALL.iter().find(|(c, _)| *c == code)?;
    let text = markdown(code)?;
    let (rule, rest) = text.split_once("\n```slvr")?;
    let (tag, rest) = rest.split_once('\n')?;
    let (mistake, rest) = rest.split_once("```\n")?;
    let (why, rest) = rest.split_once("\n```slvr")?;
    let (_, rest) = rest.split_once('\n')?;
    let (mended, _) = rest.split_once("```\n")?;
    let build = match tag {
        ",build" => Some(Security::SemiHonest),
        ",malicious" => Some(Security::Malicious),
        _ => None,
    };
    let examples = Examples { mistake, why: why.trim(), mended, build };
    Some(Explanation { code, title, rule: rule.trim(), examples })
}

/// The sizes that the `// args:` line of a program binds, as NAME=VALUE; `None` if it has none.
pub fn args(program: &str) -> Option<Vec<(String, String)>> {
    let args = program.lines().find_map(|l| l.strip_prefix("// args:"))?;
    let pairs = args.split_whitespace().filter_map(|b| b.split_once('='));
    Some(pairs.map(|(n, v)| (n.to_owned(), v.to_owned())).collect())
}

/// The file of a code.
pub fn markdown(code: Code) -> Option<&'static str> {
    let at = codes::ALL.iter().position(|(c, _)| *c == code)?;
    codes::TEXTS.get(at).copied()
}
