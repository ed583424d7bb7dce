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
//! show what only compilation to a circuit finds. A code that no check reports yet has a text without
//! programs. Tests compile the programs: each mistake yields its code and no other.

use super::codes::{self, Code};

/// The meaning of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub code: Code,
    /// The rule in a few words, without the code.
    pub title: &'static str,
    pub rule: &'static str,
    /// A program that breaks it, and the same mended; none for a code that no check reports yet.
    pub examples: Option<Examples>,
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
    /// Whether only compilation to a circuit finds the mistake.
    pub build: bool,
}

/// The meaning of a code; `None` if there is no such code.
pub fn explain(code: Code) -> Option<Explanation> {
    let (_, title) = codes::ALL.iter().find(|(c, _)| *c == code)?;
    let text = markdown(code)?;
    let Some((rule, rest)) = text.split_once("\n```slvr") else {
        return Some(Explanation { code, title, rule: text.trim(), examples: None });
    };
    let (tag, rest) = rest.split_once('\n')?;
    let (mistake, rest) = rest.split_once("```\n")?;
    let (why, rest) = rest.split_once("\n```slvr")?;
    let (_, rest) = rest.split_once('\n')?;
    let (mended, _) = rest.split_once("```\n")?;
    let examples = Some(Examples { mistake, why: why.trim(), mended, build: tag == ",build" });
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
    TEXTS.iter().find(|(c, _)| *c == code.0).map(|(_, text)| *text)
}

macro_rules! texts {
    ($($number:literal $file:literal,)*) => {
        const TEXTS: &[(u16, &str)] = &[$(($number, include_str!($file))),*];
    };
}

texts! {
    1 "e0001.md",
    2 "e0002.md",
    3 "e0003.md",
    4 "e0004.md",
    5 "e0005.md",
    6 "e0006.md",
    7 "e0007.md",
    8 "e0008.md",
    9 "e0009.md",
    10 "e0010.md",
    11 "e0011.md",
    12 "e0012.md",
    13 "e0013.md",
    14 "e0014.md",
    15 "e0015.md",
    16 "e0016.md",
    17 "e0017.md",
    18 "e0018.md",
    19 "e0019.md",
    20 "e0020.md",
    21 "e0021.md",
    22 "e0022.md",
    23 "e0023.md",
    24 "e0024.md",
    25 "e0025.md",
    26 "e0026.md",
    28 "e0028.md",
    29 "e0029.md",
    30 "e0030.md",
    31 "e0031.md",
    32 "e0032.md",
    35 "e0035.md",
    36 "e0036.md",
    40 "e0040.md",
    41 "e0041.md",
    42 "e0042.md",
}
