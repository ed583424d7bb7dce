//! Tokens of one line.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// One of `[ ] ( ) , : =`.
    Mark(char),
    /// A quoted string, unescaped.
    Text(String),
    /// Everything else up to a blank, a mark or a quote: names, numbers, `%3`, `0..10`.
    Word(&'a str),
}

fn is_mark(c: char) -> bool {
    matches!(c, '[' | ']' | '(' | ')' | ',' | ':' | '=')
}

/// Splits a line.
pub(super) fn tokens(line: &str) -> Result<Vec<Token<'_>>, &'static str> {
    let mut out = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let Some(c) = rest.chars().next() else { return Ok(out) };
        if is_mark(c) {
            out.push(Token::Mark(c));
            rest = &rest[c.len_utf8()..];
        } else if c == '"' {
            let (text, after) = string(&rest[1..])?;
            out.push(Token::Text(text));
            rest = after;
        } else {
            let end = rest.find(|c: char| is_mark(c) || c == '"' || c.is_whitespace());
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            out.push(Token::Word(word));
            rest = after;
        }
    }
}

/// A string after its opening quote, and what follows its closing quote.
fn string(mut s: &str) -> Result<(String, &str), &'static str> {
    let mut out = String::new();
    loop {
        let mut chars = s.chars();
        match chars.next().ok_or("a string is not closed")? {
            '"' => return Ok((out, chars.as_str())),
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\')) => out.push(c),
                Some('u') => {
                    let (hex, after) = chars
                        .as_str()
                        .strip_prefix('{')
                        .and_then(|s| s.split_once('}'))
                        .ok_or("an escape is `\\u{hex}`")?;
                    let c = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
                    out.push(c.ok_or("this is not the code of a character")?);
                    chars = after.chars();
                }
                _ => return Err("an escape is `\\\"`, `\\\\` or `\\u{hex}`"),
            },
            c => out.push(c),
        }
        s = chars.as_str();
    }
}

/// The inverse: quotes, and escapes what would not survive on a line.
pub(super) fn quote(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits() {
        let want = [
            Token::Word("%1"),
            Token::Mark('='),
            Token::Word("pub.A64"),
            Token::Mark('['),
            Token::Word("-2.5e3"),
            Token::Mark(']'),
            Token::Text("a \"b\"\n".into()),
        ];
        assert_eq!(tokens("  %1=pub.A64[-2.5e3]\"a \\\"b\\\"\\u{a}\"").unwrap(), want);
    }

    #[test]
    fn bad_strings() {
        for s in ["\"", "\"\\", "\"\\n\"", "\"\\u\"", "\"\\u{d800}\"", "\"\\u{a\"", "\"é\\u{}\""] {
            assert!(tokens(s).is_err(), "{s}");
        }
    }

    #[test]
    fn quotes_survive() {
        for s in ["", "plain", "a\"b\\c", "\r\n\t\0", "naïve → ünïcode"] {
            let q = quote(s);
            assert!(!q.contains('\n'));
            assert_eq!(tokens(&q).unwrap(), [Token::Text(s.into())]);
        }
    }
}
