//! What others than a node's operator are told.
//!
//! Clients, the coordinator and the other nodes are told of rounds, clients and nodes by name, of circuits by hash, and of
//! causes. Where a node keeps its files is nobody's business but its operator's, and a cause may name a file. So every text that
//! leaves a node goes through [`redacted`], at five places and nowhere else: errors of requests (`http::reply`), receipts
//! (`http::keep`), what is shown of a round (`http::views`), answers to nodes (`round::follow`), and what they are told of
//! an end (`round::lead`). The node's log has the whole text.

use std::borrow::Cow;

/// The paths of this interface, which are no files.
const OWN: &str = "/v1/";

/// A text without the folders of files: of a path from the root the last name stays.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(len) = text.get(at..).map(path_len) {
        if len > 0 {
            let path = &text[at..at + len];
            let name = path.trim_end_matches(['/', '\\']).rfind(['/', '\\']).map_or(0, |i| i + 1);
            out.push_str(&text[kept..at]);
            (kept, at) = (at + name, at + len);
        }
        // What follows a name, a number or a dot is no root.
        let Some(next) = text[at..].char_indices().find(|(_, c)| !may_be_named(*c)) else { break };
        at += next.0 + next.1.len_utf8();
        while text[at..].starts_with(' ') {
            at += 1;
        }
    }
    match kept {
        0 => text.into(),
        _ => (out + &text[kept..]).into(),
    }
}

/// Characters of names: a slash after one of them is no root.
fn may_be_named(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '\\' | '~' | '+' | '%' | '@')
}

/// How long the path is with which a text begins; 0 if it begins with none.
fn path_len(text: &str) -> usize {
    let drive = text.as_bytes();
    let windows = matches!(drive, [c, b':', b'\\' | b'/', ..] if c.is_ascii_alphabetic());
    if !(text.starts_with('/') || text.starts_with("\\\\") || windows) || text.starts_with(OWN) {
        return 0;
    }
    let from = if windows { 2 } else { 0 };
    let end = text[from..].find(|c: char| !may_be_named(c)).map_or(text.len(), |i| from + i);
    if end - from > 1 { end } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_path_the_last_name_is_told_and_all_else_as_it_is() {
        for (text, expected) in [
            ("/srv/slvr/data/rounds/sums/1/result: no space left", "result: no space left"),
            ("node 1: /a/b-c/d.part: is gone", "node 1: d.part: is gone"),
            ("(/a/b) and `/c/d/` and \"/e\"", "(b) and `d/` and \"e\""),
            ("C:\\slvr\\data\\x.key: no", "x.key: no"),
            ("\\\\host\\share\\x", "x"),
            ("é /a/é/b: ü", "é b: ü"),
            (
                "round sums/1 is open, see /v1/openapi.json",
                "round sums/1 is open, see /v1/openapi.json",
            ),
            ("1 / 2 and/or a/b//c", "1 / 2 and/or a/b//c"),
            ("program = \"/x/y/krum.slvr\":3:5", "program = \"krum.slvr\":3:5"),
            ("/a/b", "b"),
            ("/", "/"),
            ("", ""),
        ] {
            assert_eq!(redacted(text), expected, "{text}");
        }
    }

    #[test]
    fn any_text_is_told_in_order_and_keeps_no_root() {
        let mut draw = crate::draws::draws(7);
        for _ in 0..20_000 {
            let parts =
                ["/", "a", "b.c", " ", ":", "\"", "é", "/v1/x", "C:\\", "`", "(", "1", "\n"];
            let text: String = (0..draw(12)).map(|_| parts[draw(13) as usize]).collect();
            let said = redacted(&text);
            let mut rest = text.chars();
            assert!(said.chars().all(|c| rest.any(|r| r == c)), "{text:?}: {said:?}");
            let root = said.split([' ', ':', '"', '`', '(', '\n']).find(|w| {
                w.starts_with('/') && !w.starts_with(OWN) && w.trim_end_matches('/').len() > 1
            });
            // A slash alone before a name that is no path: what is left of two roots in a row.
            assert!(root.is_none_or(|w| w.matches('/').count() < 2), "{text:?}: {said:?}");
        }
    }
}
