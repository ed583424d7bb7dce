//! The comment of a file that says for which sizes an editor looks at it: `// slvr: M=DigitsNet m=10 net=lan`.

use super::ast::{FileId, Ident, Span};
use super::lexer::lex;

/// How the comment begins.
pub const SIZES: &str = "// slvr:";

/// A word of the comment: `m=10`.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// What is before the `=`.
    pub name: Ident,
    /// What is behind it, and where; a word without `=` has none.
    pub value: Option<Ident>,
}

impl Given {
    /// The whole word.
    pub fn span(&self) -> Span {
        self.value.as_ref().map_or(self.name.span, |v| self.name.span.to(v.span))
    }
}

/// The words of the first such comment of a text; none without one.
pub fn given(file: FileId, text: &str) -> Vec<Given> {
    let comments = lex(file, text).comments;
    let first = comments.iter().find_map(|c| Some((c.start, c.text.strip_prefix(SIZES)?)));
    let Some((start, words)) = first else { return Vec::new() };
    let base = start + SIZES.len();
    let part = |from: usize, name: &str| {
        let start = (base + from) as u32;
        let span = Span { file, start, end: start + name.len() as u32 };
        Ident { name: name.to_owned(), span }
    };
    let mut out = Vec::new();
    let mut at = 0;
    for word in words.split(char::is_whitespace) {
        if !word.is_empty() {
            let (name, value) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
            let value = value.map(|v| part(at + name.len() + 1, v));
            out.push(Given { name: part(at, name), value });
        }
        // White space of one byte or more stands between words.
        at += word.len();
        at += words.get(at..).and_then(|w| w.chars().next()).map_or(0, char::len_utf8);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_where_they_are_said_to() {
        let text = "// What it is.\n// slvr: m=10  M=é:N[2] x \tn= \nconst A = 1; // slvr: no=1\n";
        let words = given(FileId(0), text);
        let of = |i: &Ident| {
            assert_eq!(&text[i.span.range()], i.name);
            i.name.clone()
        };
        let words: Vec<_> = words.iter().map(|w| (of(&w.name), w.value.as_ref().map(of))).collect();
        let pair = |n: &str, v: Option<&str>| (n.to_owned(), v.map(str::to_owned));
        assert_eq!(
            words,
            [
                pair("m", Some("10")),
                pair("M", Some("é:N[2]")),
                pair("x", None),
                pair("n", Some(""))
            ]
        );
        assert_eq!(given(FileId(0), "// slvr m=1"), []);
    }
}
