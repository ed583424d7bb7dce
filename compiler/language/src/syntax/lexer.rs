//! Text to tokens.
//!
//! The lexer has an error *token* instead of an error. Take
//!
//! ```text
//! let a = x # y;
//! let b = ;
//! ```
//!
//! Both lines are wrong. The parser recovers from what *it* finds wrong, by skipping to the next
//! `;`, but an iterator of tokens that ends in an error ends the parse: the second mistake would
//! only be reported after the first is corrected. So `#` becomes [`Token::Error`], which no rule of the grammar
//! accepts, the parser recovers as from any other token, and both lines are reported.
//!
//! For the same reason numbers out of range are reported here and become 0, and strings with bad
//! escapes lose them: the parser sees a number or a string and goes on.
//!
//! Comments are no tokens. They are kept aside with their positions; `comments.rs` attaches those right
//! above an item or a statement, and `print/` puts the others back.

use super::limits::MAX_DIAGNOSTICS;
use super::token::{Token, shorten};
use crate::diagnostic::{Diagnostic, codes, plain};
use crate::source::{FileId, Span};
use logos::Logos;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment<'s> {
    /// Byte offset of its first slash.
    pub start: usize,
    /// Its text, slashes included.
    pub text: &'s str,
}

impl<'s> Comment<'s> {
    /// Without the slashes, the space after them, and space at the end.
    pub fn body(&self) -> &'s str {
        let text = self.text.trim_start_matches('/');
        text.strip_prefix(' ').unwrap_or(text).trim_end()
    }
}

#[derive(Debug, Default)]
pub struct Lexed<'s> {
    /// Tokens with their first byte and one past the last, in order.
    pub tokens: Vec<(usize, Token<'s>, usize)>,
    pub comments: Vec<Comment<'s>>,
    /// Unknown characters, numbers out of range, bad strings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Splits a text into tokens and comments. Never fails: see the module's docs.
pub fn lex(file: FileId, text: &str) -> Lexed<'_> {
    let mut out = Lexed::default();
    let mut lexer = Token::lexer(text);
    while let Some(token) = lexer.next() {
        // A text with very many errors must not fill the memory with messages that are never shown.
        out.diagnostics.truncate(MAX_DIAGNOSTICS + 1);
        let (slice, range) = (lexer.slice(), lexer.span());
        let span = Span { file, start: range.start as u32, end: range.end as u32 };
        let token = match token {
            Ok(Token::Comment(text)) => {
                out.diagnostics.extend(hidden(text, span));
                out.comments.push(Comment { start: range.start, text });
                continue;
            }
            Err(()) if out.joins_unknown(text, slice, span) => continue,
            Err(()) => Err(unknown(slice, span)),
            Ok(Token::Error(_)) => Err(malformed(slice, span)),
            // The callback returns -1 for an integer that is out of range.
            Ok(Token::Int(-1)) => {
                out.diagnostics.push(too_large(span, format!("integers go up to {}", i64::MAX)));
                Ok(Token::Int(0))
            }
            // Behind a dot `0.1` is a part of a part.
            Ok(Token::Real(parts)) if matches!(out.tokens.last(), Some((_, Token::Dot, _))) => {
                match parts_of_tuple(parts) {
                    Some((a, b)) => {
                        let dot = range.start + parts.find('.').unwrap_or(0);
                        out.tokens.push((range.start, Token::Int(a), dot));
                        out.tokens.push((dot, Token::Dot, dot + 1));
                        out.tokens.push((dot + 1, Token::Int(b), range.end));
                        continue;
                    }
                    None => Err(malformed(slice, span)),
                }
            }
            Ok(Token::Real(real)) if !real.parse().is_ok_and(f64::is_finite) => {
                out.diagnostics.push(too_large(span, "decimals go up to about 1.8e308"));
                Ok(Token::Real("0.0"))
            }
            Ok(Token::Str(_)) => {
                bad_escapes(slice, span, &mut out.diagnostics);
                Ok(Token::Str(slice))
            }
            Ok(Token::Ident(name)) if name.starts_with('`') => {
                let inner = name.trim_matches('`');
                let wrong = inner.is_empty() || inner.contains(|c| c == '.' || plain::controls(c));
                if wrong { Err(no_name(slice, span)) } else { Ok(Token::Ident(inner)) }
            }
            Ok(token) => Ok(token),
        };
        let token = token.unwrap_or_else(|diagnostic| {
            out.diagnostics.push(diagnostic);
            Token::Error(slice)
        });
        out.tokens.push((range.start, token, range.end));
    }
    out
}

impl<'s> Lexed<'s> {
    /// Whether an unknown character continues a run of them, which is reported as one mistake.
    fn joins_unknown(&mut self, text: &'s str, slice: &'s str, span: Span) -> bool {
        let (start, end) = (span.start as usize, span.end as usize);
        if !slice.starts_with(|c: char| c.is_ascii_punctuation())
            && let Some((_, Token::Error(run), run_end)) = self.tokens.last_mut()
            && *run_end == start
            && !run.is_ascii()
        {
            *run = text.get(start - run.len()..end).unwrap_or(slice);
            *run_end = end;
            if let Some((label, _)) = self.diagnostics.last_mut().and_then(|d| d.labels.first_mut())
                && label.end == span.start
            {
                label.end = span.end;
            }
            return true;
        }
        false
    }
}

/// The two numbers of `0.1`.
fn parts_of_tuple(text: &str) -> Option<(i64, i64)> {
    let (a, b) = text.split_once('.')?;
    Some((a.parse().ok()?, b.parse().ok()?))
}

fn too_large(span: Span, hint: impl Into<String>) -> Diagnostic {
    codes::NUMBER.error("number out of range").label(span, "too large").hint(hint.into())
}

/// Text of a string token: quotes off, escapes resolved, unknown escapes dropped.
pub fn unescape(quoted: &str) -> String {
    let inner = quoted.strip_prefix('"').unwrap_or(quoted);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some(c @ ('"' | '\\')) => out.push(c),
                _ => {}
            },
            c => out.push(c),
        }
    }
    out
}

/// A string token with this text: the inverse of [`unescape`].
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn bad_escapes(slice: &str, span: Span, diagnostics: &mut Vec<Diagnostic>) {
    let mut chars = slice.char_indices();
    while let Some((at, c)) = chars.next() {
        if c != '\\' {
            continue;
        }
        if let Some((end, c)) = chars.next()
            && !matches!(c, 'n' | '"' | '\\')
        {
            let start = span.start + at as u32;
            let span = Span { start, end: span.start + (end + c.len_utf8()) as u32, ..span };
            diagnostics.push(
                codes::LEX
                    .error("unknown escape in a string")
                    .label(span, "means nothing")
                    .hint(r#"the escapes are `\"`, `\\` and `\n`"#),
            );
        }
    }
}

/// A word that begins like a number, or a string that does not end.
fn malformed(slice: &str, span: Span) -> Diagnostic {
    if slice.starts_with('"') {
        let message = "this string does not end on its line";
        return codes::LEX
            .error(message)
            .label(span, "no `\"` follows")
            .hint("end it with `\"`; write a line break as `\\n`");
    }
    let error = codes::LEX
        .error(format!("`{}` is neither a number nor a name", shorten(slice)))
        .label(span, "not a number");
    let digits = slice.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &slice[..slice.len() - digits.len()];
    if digits.starts_with('_') {
        error.hint("numbers are written without separators")
    } else {
        error.hint(format!("a product needs a `*`: `{} * {}`", shorten(number), shorten(digits)))
    }
}

/// A name in backticks that cannot be one.
fn no_name(slice: &str, span: Span) -> Diagnostic {
    let title = format!("{} is no name", shorten(slice));
    codes::LEX.error(title).label(span, "not a name").hint(
        "between backticks stands one part of the name of a tensor, without dots: ``w.`0`.weight``",
    )
}

/// A character of a comment that an editor or a terminal does not show as what it is: behind it text may look like a
/// part of the program, or the other way round.
fn hidden(comment: &str, span: Span) -> Option<Diagnostic> {
    let text = comment.strip_suffix('\r').unwrap_or(comment);
    let (at, c) = text.char_indices().find(|(_, c)| plain::controls(*c))?;
    let start = span.start + at as u32;
    let place = Span { start, end: start + c.len_utf8() as u32, ..span };
    let title = format!("a comment has the control character U+{:04X}", u32::from(c));
    let error = codes::LEX.error(title).label(place, "not shown as what it is");
    Some(error.hint(match c {
        '\r' => "a line ends with a line feed, with or without a carriage return before it",
        _ => "leave it out",
    }))
}

fn unknown(slice: &str, span: Span) -> Diagnostic {
    let c = slice.chars().next().unwrap_or(' ');
    let shown = if c.is_control() { format!("{:?}", c) } else { format!("`{c}`") };
    let error =
        codes::LEX.error(format!("{shown} means nothing here")).label(span, "unknown character");
    let instead = match c {
        '&' => "`and` is written `&&`",
        '|' => "`or` is written `||`, and `x |> f` applies f to x",
        '#' => "a comment begins with `//`",
        '\'' | '“' | '”' | '‘' | '’' | '„' | '«' | '»' => {
            "texts stand between `\"` and `\"`"
        }
        '≤' => "write `<=`",
        '≥' => "write `>=`",
        '≠' => "write `!=`",
        '×' | '·' | '⋅' | '∗' => "write `*`",
        '÷' => "write `/`",
        '−' | '–' | '—' => "write `-`",
        '→' => "write `->`",
        '∈' => "write `in`",
        '∧' => "write `&&`",
        '∨' => "write `||`",
        '¬' | '~' => "`not` is written `!`",
        '∑' | 'Σ' => "a sum is written `sum(x[i] for i in S)`",
        '`' => {
            "a name that is a word of the language, or a number, stands between two backticks on a line"
        }
        '√' => "a square root is written `sqrt(x)`",
        '²' => "a square is written `x^2`",
        '…' => "a range is written `a..b`",
        '?' => "a choice is written `if c { a } else { b }`, or `select(c, a, b)` on a secret",
        '@' => {
            "a matrix times a vector is `times(a, v)` of `std`, and the inner product of two vectors `dot(x, y)`"
        }
        c if c.is_alphabetic() => "names are made of the letters a to z, digits and `_`",
        _ => return error,
    };
    error.hint(instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::LEXER;
    use crate::syntax::token::KEYWORDS;
    use proptest::prelude::*;

    fn kinds(text: &str) -> (Vec<Token<'_>>, Vec<String>) {
        let lexed = lex(FileId(0), text);
        let tokens = lexed.tokens.into_iter().map(|t| t.1).collect();
        (tokens, lexed.diagnostics.into_iter().map(|d| d.title).collect())
    }

    #[test]
    fn ranges_are_not_decimals() {
        use Token::*;
        let (tokens, errors) = kinds("0..n 0.5 1e-3 2.5e3 M.classes 10");
        assert_eq!(errors, Vec::<String>::new());
        let want = [
            Int(0),
            DotDot,
            Ident("n"),
            Real("0.5"),
            Real("1e-3"),
            Real("2.5e3"),
            Ident("M"),
            Dot,
            Ident("classes"),
            Int(10),
        ];
        assert_eq!(tokens, want);
    }

    #[test]
    fn numbers_have_a_range() {
        let (tokens, errors) = kinds("9223372036854775807 9223372036854775808 1e999");
        assert_eq!(tokens, [Token::Int(i64::MAX), Token::Int(0), Token::Real("0.0")]);
        assert_eq!(errors, ["number out of range", "number out of range"]);
    }

    #[test]
    fn strings() {
        let (tokens, errors) = kinds(r#""a \"b\" \\ \n" "\q" "open"#);
        assert_eq!(tokens.len(), 3);
        assert_eq!(errors, ["unknown escape in a string", "this string does not end on its line"]);
        assert_eq!(unescape(r#""a \"b\" \\ \n""#), "a \"b\" \\ \n");
    }

    #[test]
    fn a_run_of_unknown_characters_is_one_error() {
        let (tokens, errors) = kinds("x λμν y # 3x");
        assert_eq!(tokens.len(), 5, "{tokens:?}");
        assert_eq!(
            errors,
            [
                "`λ` means nothing here",
                "`#` means nothing here",
                "`3x` is neither a number nor a name"
            ]
        );
    }

    #[test]
    fn keywords_are_the_words_that_are_no_names() {
        for word in KEYWORDS {
            let (tokens, _) = kinds(word);
            assert!(!matches!(tokens[..], [Token::Ident(_)]), "{word}");
        }
        let tokens = LEXER.split("#[token(\"").skip(1).filter_map(|t| t.split('"').next());
        let mut words: Vec<&str> = tokens.filter(|t| t.starts_with(char::is_alphabetic)).collect();
        words.sort_unstable();
        assert_eq!(words, KEYWORDS);
    }

    #[test]
    fn names_in_backticks_may_be_any_text() {
        use Token::*;
        let (tokens, errors) = kinds("w.`0`.1.weight `input` t.0.1.2 x.`a b`");
        assert_eq!(errors, Vec::<String>::new());
        let part = |i| [Dot, Int(i)];
        let mut want = vec![Ident("w"), Dot, Ident("0")];
        want.extend(part(1));
        want.extend([Dot, Ident("weight"), Ident("input"), Ident("t")]);
        want.extend([part(0), part(1), part(2)].concat());
        want.extend([Ident("x"), Dot, Ident("a b")]);
        assert_eq!(tokens, want);
        for bad in ["`a.b`", "``", "`open", "`\u{1b}`", "t.0.1e5"] {
            assert_eq!(kinds(bad).1.len(), 1, "{bad}");
        }
    }

    #[test]
    fn comments_hide_nothing() {
        for bad in ["// a\rlet x = 1;", "// \u{1b}[2J", "x // \u{202e}", "// \u{feff}", "// \0"] {
            let (_, errors) = kinds(bad);
            let named = errors.first().is_some_and(|e| e.contains("control character U+"));
            assert!(named && errors.len() == 1, "{bad:?}: {errors:?}");
        }
        assert_eq!(kinds("// a\r\n// b\t é …\n\u{feff}// c\r").1, Vec::<String>::new());
    }

    #[test]
    fn comments_stand_aside() {
        let lexed = lex(FileId(0), "a // one\n///  two \nb//");
        assert_eq!(lexed.tokens.len(), 2);
        let bodies: Vec<_> = lexed.comments.iter().map(|c| c.body()).collect();
        assert_eq!(bodies, ["one", " two", ""]);
    }

    proptest! {
        #[test]
        fn escapes_read_back(text in any::<String>().prop_filter("one line", |t| !t.contains('\r'))) {
            let quoted = escape(&text);
            prop_assert_eq!(unescape(&quoted), text);
            prop_assert_eq!(kinds(&quoted), (vec![Token::Str(&quoted)], vec![]));
        }
    }
}
