//! Tokens, and the words that are not names.

use logos::Logos;
use std::borrow::Cow;

/// A token. Keywords are not names.
#[derive(Clone, Debug, PartialEq, Logos)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
pub enum Token<'s> {
    /// A name; one in backticks may be any text.
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    #[regex("`[^`\n]*`")]
    Ident(&'s str),
    /// An integer; 0 if it was out of range.
    #[regex("[0-9]+", |lex| lex.slice().parse().unwrap_or(-1), priority = 6)]
    Int(i64),
    /// A decimal, as written.
    #[regex(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?", priority = 6)]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+", priority = 6)]
    Real(&'s str),
    /// A string, quotes and escapes still in it.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Str(&'s str),
    /// A comment; never leaves the lexer.
    #[regex(r"//[^\n]*", allow_greedy = true)]
    Comment(&'s str),

    /// Text that is no token.
    #[regex(r"[0-9]+[A-Za-z_][A-Za-z0-9_]*", priority = 4)]
    #[regex(r#""([^"\\\n]|\\[^\n])*"#, priority = 3)]
    Error(&'s str),

    #[token("use")]
    Use,
    #[token("const")]
    Const,
    #[token("fn")]
    Fn,
    #[token("block")]
    Block,
    #[token("model")]
    Model,
    #[token("predicate")]
    Predicate,
    #[token("extern")]
    Extern,
    #[token("parties")]
    Parties,
    #[token("input")]
    Input,
    #[token("require")]
    Require,
    #[token("let")]
    Let,
    #[token("reveal")]
    Reveal,
    #[token("sample")]
    Sample,
    #[token("state")]
    State,
    #[token("store")]
    Store,
    #[token("of")]
    Of,
    #[token("public")]
    Public,
    #[token("secret")]
    Secret,
    #[token("weights")]
    Weights,
    #[token("from")]
    From,
    #[token("each")]
    Each,
    #[token("to")]
    To,
    #[token("as")]
    As,
    #[token("for")]
    For,
    #[token("in")]
    In,
    #[token("if")]
    If,
    #[token("else")]
    Else,
    #[token("iterate")]
    Iterate,
    #[token("true")]
    True,
    #[token("false")]
    False,

    #[token("|>")]
    Pipe,
    #[token("->")]
    Arrow,
    #[token("::")]
    Path,
    #[token("..")]
    DotDot,
    #[token("&&")]
    And,
    #[token("||")]
    Or,
    #[token("==")]
    EqEq,
    #[token("!=")]
    Ne,
    #[token("<=")]
    Le,
    #[token(">=")]
    Ge,
    #[token("<")]
    Lt,
    #[token(">")]
    Gt,
    #[token("=")]
    Eq,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("^")]
    Caret,
    #[token("!")]
    Bang,
    #[token(".")]
    Dot,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(";")]
    Semi,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
}

/// Words that are tokens of their own and therefore no names.
pub const KEYWORDS: &[&str] = &[
    "as",
    "block",
    "const",
    "each",
    "else",
    "extern",
    "false",
    "fn",
    "for",
    "from",
    "if",
    "in",
    "input",
    "iterate",
    "let",
    "model",
    "of",
    "parties",
    "predicate",
    "public",
    "require",
    "reveal",
    "sample",
    "secret",
    "state",
    "store",
    "to",
    "true",
    "use",
    "weights",
];

/// Words that items begin with.
pub const ITEM_WORDS: &[&str] = &["use", "const", "fn", "extern", "block", "model", "predicate"];

/// Words that statements begin with.
pub const STATEMENT_WORDS: &[&str] =
    &["let", "reveal", "input", "parties", "sample", "require", "state", "store"];

/// Whether a text can be a name without backticks: a word of letters and digits that is no keyword.
pub fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !KEYWORDS.contains(&text)
}

/// A name as it is written: in backticks where it is not one by itself.
pub fn written(name: &str) -> Cow<'_, str> {
    if is_name(name) { name.into() } else { format!("`{name}`").into() }
}

/// The text of a token in messages: at most 24 characters.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(24) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
