//! From text to lines of tokens.

use super::print::is_bare;
use super::{Result, TextError};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A bare word or number.
    Bare(&'a str),
    /// Text in quotes, with escapes resolved.
    Quoted(String),
    /// One of `[ ] , = : @ % /`.
    Mark(char),
}

/// The tokens of one item: a line and its continuations.
pub(super) struct Item<'a> {
    /// Line it starts in, 1-based.
    pub line: usize,
    /// Tokens with their lines. At least one.
    pub tokens: Vec<(Token<'a>, usize)>,
}

pub(super) fn error<T>(line: usize, message: impl Into<String>) -> Result<T> {
    Err(TextError { line, message: message.into() })
}

/// Splits a text into items. Empty lines and comments vanish.
pub(super) fn items(text: &str) -> Result<Vec<Item<'_>>> {
    let mut items: Vec<Item> = Vec::new();
    for (i, raw) in text.lines().enumerate() {
        let line = i + 1;
        let tokens = tokens(raw, line)?;
        if tokens.is_empty() {
            continue;
        }
        if raw.starts_with([' ', '\t']) {
            match items.last_mut() {
                Some(item) => item.tokens.extend(tokens),
                None => return error(line, "a continuation of nothing: lines start in column 1"),
            }
        } else {
            items.push(Item { line, tokens });
        }
    }
    Ok(items)
}

fn tokens(raw: &str, line: usize) -> Result<Vec<(Token<'_>, usize)>> {
    let mut tokens = Vec::new();
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        if c.is_whitespace() {
            rest = rest.trim_start();
        } else if rest.starts_with("//") {
            break;
        } else if is_bare(c) {
            let end = rest.find(|c| !is_bare(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            tokens.push((Token::Bare(word), line));
            rest = after;
        } else if c == '"' {
            let (text, after) = quoted(&rest[1..], line)?;
            tokens.push((Token::Quoted(text), line));
            rest = after;
        } else if matches!(c, '[' | ']' | ',' | '=' | ':' | '@' | '%' | '/' | '*') {
            tokens.push((Token::Mark(c), line));
            rest = &rest[1..];
        } else {
            return error(line, format!("unexpected {c:?}"));
        }
    }
    Ok(tokens)
}

/// Text after an opening quote up to the closing one, and what follows that.
fn quoted(raw: &str, line: usize) -> Result<(String, &str)> {
    let mut text = String::new();
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok((text, chars.as_str())),
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\')) => text.push(c),
                Some('n') => text.push('\n'),
                Some('u') => {
                    let code = chars.as_str().strip_prefix('{').and_then(|r| r.split_once('}'));
                    let parsed = code.and_then(|(hex, after)| {
                        let c = char::from_u32(u32::from_str_radix(hex, 16).ok()?)?;
                        Some((c, after))
                    });
                    let Some((c, after)) = parsed else {
                        return error(line, "`\\u` takes a code point, as in `\\u{7f}`");
                    };
                    text.push(c);
                    chars = after.chars();
                }
                _ => return error(line, "unknown escape; there are \\\" \\\\ \\n \\u{..}"),
            },
            c => text.push(c),
        }
    }
    error(line, "a quote is not closed")
}
