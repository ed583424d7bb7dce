//! What is found: who learns what, and warnings, as values and as text for people.

use super::texts::Said;
use crate::source::Sources;
use crate::syntax::ast::Span;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What is learned, and warnings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LeakReport {
    /// Everything that any party, receiver or client learns.
    pub learned: Vec<Learned>,
    /// Reveals that may give away more than they seem to, and notes.
    pub warnings: Vec<LeakWarning>,
}

/// Kinds of things that are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Reveal,
    /// Public coins, and what is drawn with them.
    Coins,
    /// Which members are left out, or have zeros in place of their inputs, and the coins that this was found out with.
    Check,
    PublicInput,
    /// Sizes, models and parameters.
    Sizes,
    /// How long it takes.
    Timing,
}

/// One thing that somebody learns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Learned {
    /// What kind of thing.
    pub what: What,
    pub name: String,
    /// Who learns it.
    pub to: String,
    /// Its shape; empty for a single number and for what is no tensor.
    pub shape: Vec<u64>,
    /// Line of the predicate's file, 0 if there is none.
    pub line: u32,
    /// The expression in the source, once [`LeakReport::quote`] has run.
    pub expression: String,
    pub text: String,
    #[serde(skip)]
    pub(super) span: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeakKind {
    /// A sum over clients behind secret factors, which may hold one client only.
    MaskedSum,
    /// A selection of exactly one client.
    OneClient,
    /// Bits per client: who was selected, or how a comparison came out.
    Selection,
    /// An input, or a part of it, follows from what is revealed.
    Determined,
    /// A value of each client, or of one.
    PerClient,
    /// A quotient by a secret.
    SecretDivisor,
    /// An entry of one client, chosen by order.
    OrderStatistic,
    /// How clients compare with one another.
    Order,
    /// More than one bit of each client.
    SeveralBits,
    /// Reveals that were looked at one by one only.
    NotTogether,
}

/// How much a warning says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Something of a single client follows from what is revealed.
    Warning,
    /// A check reveals this on purpose; it is listed so that nobody overlooks what it may say.
    Note,
}

impl LeakKind {
    pub fn title(self) -> &'static str {
        match self {
            LeakKind::MaskedSum => "this sum may hold a single client",
            LeakKind::OneClient => "this reveals the input of one client",
            LeakKind::Selection => "this reveals a bit about each client",
            LeakKind::Determined => "this determines a client's input",
            LeakKind::PerClient => "this reveals a value of a single client",
            LeakKind::SecretDivisor => "this is divided by a secret",
            LeakKind::OrderStatistic => "every entry of this is the entry of one client",
            LeakKind::Order => "this says how clients compare with one another",
            LeakKind::SeveralBits => "this reveals several bits of a single client",
            LeakKind::NotTogether => "what these say together was not looked at",
        }
    }

    /// Whether this is a leak, or what checks exist to reveal: who was kept, and the sum of those.
    pub fn level(self) -> Level {
        match self {
            LeakKind::MaskedSum
            | LeakKind::Selection
            | LeakKind::SecretDivisor
            | LeakKind::NotTogether => Level::Note,
            LeakKind::OneClient
            | LeakKind::Determined
            | LeakKind::PerClient
            | LeakKind::OrderStatistic
            | LeakKind::Order
            | LeakKind::SeveralBits => Level::Warning,
        }
    }
}

/// A reveal that may give away more than it seems to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeakWarning {
    pub kind: LeakKind,
    /// How much it says.
    pub level: Level,
    /// The reveal; several, if it takes them together.
    pub reveals: Vec<String>,
    /// All single clients of whom something follows, where it is known who they are. The text names a few.
    pub clients: Vec<String>,
    /// Line of the (first) reveal.
    pub line: u32,
    pub why: String,
    /// What to do about it.
    pub help: String,
}

impl LeakWarning {
    pub(super) fn new((kind, why, help): Said, reveals: Vec<String>, line: u32) -> LeakWarning {
        let (level, clients) = (kind.level(), Vec::new());
        LeakWarning { kind, level, reveals, clients, line, why, help: help.into() }
    }
}

impl LeakReport {
    /// Fills in the expressions of reveals from the source.
    pub fn quote(&mut self, sources: &Sources) {
        for learned in &mut self.learned {
            if let Some(span) = learned.span {
                let words: Vec<&str> = sources.snippet(span).split_whitespace().collect();
                learned.expression = words.join(" ");
            }
        }
    }

    /// For people; lines are indented by two spaces.
    pub fn text(&self) -> String {
        let mut out = String::from("who learns what\n");
        let mut by: BTreeMap<(u8, &str), Vec<&Learned>> = BTreeMap::new();
        for l in &self.learned {
            let rank = match l.what {
                What::Reveal => 0,
                What::Coins | What::Check => 1,
                What::PublicInput | What::Sizes | What::Timing => 2,
            };
            by.entry((rank, &l.to)).or_default().push(l);
        }
        for ((_, to), list) in by {
            let _ = writeln!(out, "  {to}");
            for l in list {
                let line = if l.line > 0 { format!(" (line {})", l.line) } else { String::new() };
                let shape =
                    if l.shape.is_empty() { String::new() } else { format!(" {:?}", l.shape) };
                let _ = writeln!(out, "    {}{shape}{line}: {}", l.name, l.text);
                if !l.expression.is_empty() {
                    let _ = writeln!(out, "      {}", l.expression);
                }
            }
        }
        for w in &self.warnings {
            let at = if w.line > 0 { format!(" (line {})", w.line) } else { String::new() };
            let level = match w.level {
                Level::Warning => "warning",
                Level::Note => "note",
            };
            let _ = writeln!(out, "{level}: {}{at}: {}", w.reveals.join(", "), w.kind.title());
            let _ = writeln!(out, "  why: {}\n  help: {}", w.why, w.help);
        }
        out
    }
}
