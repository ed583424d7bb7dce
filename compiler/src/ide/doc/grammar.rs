//! The grammar as a page: the rules that the parser is generated from, and the tokens of the lexer, without what the
//! compiler does with them.

use super::GENERATED;
use crate::syntax::ast::BinaryOp;
use crate::syntax::{GRAMMAR, KEYWORDS, LEXER};
use std::fmt::Write;

/// Tokens that stand for many texts.
const CLASSES: [&str; 4] = ["identifier", "integer", "decimal", "string"];

/// The page of the grammar.
pub fn page() -> String {
    let mut out = format!(
        "# Grammar\n\n{GENERATED}\n\n\
         From the sources of the parser and the lexer. `*`, `+` and `?` mean any number, at least one, and\n\
         at most one of what stands before; quoted text stands for itself. Alternatives of a rule stand in braces,\n\
         with a comma behind each. `Sep<X>` is a list with commas, the last of which may be left out; `Several<X>`\n\
         has at least one. A source text is a `File`.\n\n```text\n{}```\n\n\
         ## Operators\n\nFrom the tightest to the loosest; this is what decides between the \
         alternatives of `Expr`.\n\n| operators | |\n|---|---|\n\
         | `f(x)` `a[i]` `a.b` `a^2` | calls, indices, fields and powers: `Postfix` |\n\
         | `-` `!` | before its operand |\n",
        rules()
    );
    for level in BinaryOp::INFIX.chunk_by(|a, b| a.level() == b.level()) {
        let kind = match level[0].chains() {
            true => "from the left",
            false => "does not chain: write brackets",
        };
        // A bar would end the cell, even in code.
        let shown: Vec<String> =
            level.iter().map(|o| format!("`{}`", o.symbol().replace('|', "\\|"))).collect();
        let _ = writeln!(out, "| {} | {kind} |", shown.join(" "));
    }
    let _ = write!(
        out,
        "\nFrom the left: `a - b - c` is `(a - b) - c`. An exponent is a number, a name or stands in brackets; `-x^2` is `-(x^2)`.\n\n\
         ## Words\n\nThese are no names: {}.\n\n\
         ## Tokens\n\nBeyond words and operators, as the lexer has them, with regular expressions:\n\n```rust\n{}```\n\n\
         Spaces, tabs and line breaks separate tokens and mean nothing else.\n",
        KEYWORDS.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", "),
        tokens()
    );
    out
}

/// The rules in the order of the source, without names and types of what they make, without actions and without what is
/// there for error recovery.
fn rules() -> String {
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let lines = GRAMMAR.lines().filter(|line| !is_comment(line));
    // Behind the list of tokens.
    let rules =
        lines.skip_while(|line| *line != "extern {").skip_while(|line| *line != "}").skip(2);
    let text = without_actions(&rules.collect::<Vec<_>>().join("\n"));
    let mut out = String::new();
    for line in text.lines() {
        let noise = ["#[", "!"].iter().any(|start| line.trim_start().starts_with(start));
        let line = line.strip_prefix("pub ").unwrap_or(line);
        // The type of what a rule makes.
        let head = line.split_once(": ").filter(|(name, _)| !name.contains([' ', '"']));
        let line = match head.and_then(|(name, rest)| Some((name, rest.split_once(" =")?.1))) {
            Some((name, rule)) => format!("{name} ={rule}"),
            None => line.to_owned(),
        };
        if !noise {
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    CLASSES.iter().fold(out, |out, class| out.replace(&format!("\"{class}\""), class))
}

/// Leaves out what stands behind `=>` in an alternative, positions such as `<l: @L>`, and of `<name: X>` all but `X`.
fn without_actions(rules: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut quoted, mut action) = (0, false, None);
    // Of each `<` that is open, whether it stands behind the name of a rule with parameters.
    let mut open = Vec::new();
    let mut rest = rules;
    while let Some(c) = rest.chars().next() {
        let next = &rest[c.len_utf8()..];
        let is_code = !quoted;
        quoted ^= c == '"';
        depth += i32::from(is_code && "{([".contains(c)) - i32::from(is_code && "})]".contains(c));
        // An action ends with its alternative, or with the rule.
        if is_code && ((",;".contains(c) && Some(depth) == action) || Some(depth) < action) {
            out.push_str(if ",;".contains(c) { "" } else { " " });
            action = None;
        }
        rest = next;
        if action.is_some() {
            continue;
        }
        match c {
            '=' if is_code && next.starts_with('>') => {
                out.truncate(out.trim_end().len());
                action = Some(depth);
            }
            '<' if is_code => {
                let of_rule = out.ends_with(|c: char| c.is_alphanumeric());
                if of_rule {
                    out.push(c);
                } else {
                    let name =
                        next.split_once(": ").filter(|(name, _)| !name.contains(['<', '"', '>']));
                    rest = name.map_or(next, |(_, rest)| rest);
                }
                open.push(of_rule);
                let position =
                    ["@L> ", "@R> ", "@L>", "@R>"].iter().find_map(|p| rest.strip_prefix(p));
                if let Some(behind) = position.filter(|_| !of_rule) {
                    (rest, _) = (behind, open.pop());
                }
            }
            '>' if is_code && open.pop() != Some(true) => {}
            _ => out.push(c),
        }
    }
    out
}

/// Tokens that stand for many texts, as they stand in the lexer: those before the first blank line.
fn tokens() -> String {
    let lines = LEXER.lines().skip_while(|line| !line.starts_with("pub enum Token")).skip(1);
    lines.take_while(|line| !line.is_empty()).map(|line| format!("{}\n", line.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_and_operator_is_in_a_rule() {
        let rules = rules();
        for word in KEYWORDS {
            assert!(rules.contains(&format!("\"{word}\"")), "{word} in\n{rules}");
        }
        // Tokens of the grammar's own list.
        let listed = GRAMMAR.split("extern {").nth(1).expect("the tokens");
        let listed = listed.split("\n}\n").next().expect("an end");
        for token in listed.split("=> Token::").filter_map(|t| t.rsplit('"').nth(1)) {
            let class = CLASSES.contains(&token) && rules.contains(token);
            let known = class || token == "unknown character";
            assert!(known || rules.contains(&format!("\"{token}\"")), "{token} in\n{rules}");
        }
    }

    #[test]
    fn rules_hold_names_of_rules_and_texts_and_nothing_else() {
        let rules = rules();
        assert!(rules.starts_with("Sep<T> = { (T \",\")* T? };\n"), "{rules}");
        let heads: Vec<&str> =
            rules.lines().filter_map(|line| line.split([' ', '<']).next()).collect();
        let bare: String = rules.split('"').step_by(2).collect::<Vec<_>>().join(" ");
        assert!(!bare.contains(['@', '#', ':', '!']), "{bare}");
        for word in bare.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 1) {
            assert!(CLASSES.contains(&word) || heads.contains(&word), "{word} in {rules}");
        }
    }

    #[test]
    fn every_infix_operator_has_its_level_and_binds_as_in_the_grammar() {
        let levels = GRAMMAR.split("#[precedence").skip(3);
        let mut found = BinaryOp::INFIX.chunk_by(|a, b| a.level() == b.level());
        for level in levels {
            let listed = found.next().expect("a level");
            let written = level.lines().filter_map(|line| line.split('"').nth(1)).skip(1);
            assert!(written.eq(listed.iter().map(|op| op.symbol())), "{level}");
            assert_eq!(level.contains("\"left\""), listed[0].chains(), "{level}");
        }
        assert_eq!(found.next(), None);
        assert!(BinaryOp::INFIX.is_sorted_by_key(|op| std::cmp::Reverse(op.level())));
    }
}
