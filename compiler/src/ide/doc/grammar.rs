//! The grammar as a page, from the grammar that the parser is generated from and the lexer's tokens.
//!
//! Only the syntax of those two files that they use is understood; what is not fails a test, because
//! the page would no longer hold every keyword and operator.

use super::GENERATED;
use crate::syntax::{GRAMMAR, KEYWORDS, LEXER};
use std::fmt::Write;

/// Tokens that stand for many texts: name in the grammar, name in the lexer.
const CLASSES: &[(&str, &str)] =
    &[("identifier", "Ident"), ("integer", "Int"), ("decimal", "Real"), ("string", "Str")];

/// A rule: its name, and what it stands for.
#[derive(Debug, PartialEq, Eq)]
struct Rule {
    name: String,
    alternatives: Vec<Alternative>,
}

/// One of the things a rule stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Alternative {
    /// In the notation of the page.
    text: String,
    /// Its precedence level, where the rule has levels; 0 binds tightest.
    level: Option<u8>,
    /// `left`, `right` or `none`.
    assoc: Option<String>,
}

/// The page of the grammar.
pub fn page() -> String {
    let rules = rules();
    let mut out = format!(
        "# Grammar\n\n{GENERATED}\n\n\
         From the sources of the parser and the lexer. `*`, `+` and `?` mean any number, at least one, and\n\
         at most one of what stands before; quoted text stands for itself. `Sep<X>` is a list with commas,\n\
         the last of which may be left out; `Several<X>` has at least one. A source text is a `File`.\n\n```text\n"
    );
    let width = rules.iter().map(|r| r.name.len()).max().unwrap_or(0);
    for rule in &rules {
        for (i, a) in rule.alternatives.iter().enumerate() {
            let (name, sign) = if i == 0 { (rule.name.as_str(), '=') } else { ("", '|') };
            let text = if a.text.is_empty() { "(nothing)" } else { &a.text };
            let _ = writeln!(out, "{name:width$} {sign} {text}");
        }
    }
    out.push_str(
        "```\n\n## Operators\n\nFrom the tightest to the loosest; this is what decides between the \
         alternatives of `Expr`.\n\n| operators | |\n|---|---|\n",
    );
    for (level, operators, assoc) in operators(&rules) {
        let kind = match (level, assoc.as_str()) {
            (0, _) => "calls, indices, fields and powers: `Postfix`".to_owned(),
            (_, "left") => "from the left".to_owned(),
            (_, "right") => "before its operand".to_owned(),
            _ => "does not chain: write brackets".to_owned(),
        };
        // A bar would end the cell, even in code.
        let shown: Vec<String> =
            operators.iter().map(|o| format!("`{}`", o.replace('|', "\\|"))).collect();
        let _ = writeln!(out, "| {} | {kind} |", shown.join(" "));
    }
    let _ = write!(
        out,
        "\nFrom the left: `a - b - c` is `(a - b) - c`. An exponent is a number, a name or stands in brackets; `-x^2` is `-(x^2)`.\n\n\
         ## Words\n\nThese are no names: {}.\n\n\
         ## Tokens\n\nBeyond words and operators, as regular expressions:\n\n```text\n",
        KEYWORDS.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")
    );
    for (name, expressions) in tokens() {
        let _ = writeln!(out, "{name:10} {}", expressions.join("  or  "));
    }
    out.push_str("```\n\nSpaces, tabs and line breaks separate tokens and mean nothing else.\n");
    out
}

/// Every rule, in the order of the source. A rule that only adds a position to another takes its
/// alternatives, and rules that stand for nothing but error recovery are left out.
fn rules() -> Vec<Rule> {
    let text: String = GRAMMAR
        .lines()
        .map(|l| if l.trim_start().starts_with("//") { "" } else { l })
        .fold(String::new(), |mut all, l| {
            all.push_str(l);
            all.push('\n');
            all
        });
    // Behind the list of tokens.
    let start = text.find("extern {").map_or(0, |at| at + "extern ".len());
    let mut rest = text.get(start..).map_or("", |t| t.get(closed(t)..).unwrap_or(""));
    let mut rules = Vec::new();
    while let Some(eq) = rest.find('=') {
        let (head, body) = rest.split_at(eq);
        let body = body.get(1..).unwrap_or("").trim_start();
        let (inner, after) = if body.starts_with('{') {
            let end = closed(body);
            (body.get(1..end - 1).unwrap_or(""), body.get(end..).unwrap_or(""))
        } else {
            let end = split_at(body, ";").0.len();
            (body.get(..end).unwrap_or(""), body.get(end..).unwrap_or(""))
        };
        rest = after.trim_start_matches([';', '\n', ' ']);
        let name = head.trim().trim_start_matches("pub ").split(':').next().unwrap_or("");
        let mut alternatives = Vec::new();
        let mut left = inner;
        while !left.trim().is_empty() {
            let (one, more) = split_at(left, ",");
            alternatives.extend(alternative(one));
            left = more;
        }
        rules.push(Rule { name: name.trim().to_owned(), alternatives });
    }
    merged(rules)
}

/// Puts the alternatives of `XKind` where `X` stands for nothing but it.
fn merged(rules: Vec<Rule>) -> Vec<Rule> {
    let kinds: Vec<(String, Vec<Alternative>)> = rules
        .iter()
        .filter_map(|r| Some((r.name.clone(), r)).filter(|(n, _)| n.ends_with("Kind")))
        .map(|(n, r)| (n, r.alternatives.clone()))
        .collect();
    let kind_of = |r: &Rule, a: &Alternative| {
        kinds.iter().find(|(n, _)| *n == a.text && n.strip_suffix("Kind") == Some(&r.name))
    };
    let used: Vec<String> = rules
        .iter()
        .flat_map(|r| r.alternatives.iter().filter_map(|a| kind_of(r, a)))
        .map(|(n, _)| n.clone())
        .collect();
    rules
        .iter()
        .filter(|r| !used.contains(&r.name))
        .map(|r| Rule {
            name: r.name.clone(),
            alternatives: r
                .alternatives
                .iter()
                .flat_map(|a| kind_of(r, a).map_or(vec![a.clone()], |(_, all)| all.clone()))
                .collect(),
        })
        .collect()
}

/// One alternative of a rule; none if it is there for error recovery.
fn alternative(source: &str) -> Option<Alternative> {
    let mut source = source.trim();
    let (mut level, mut assoc) = (None, None);
    while let Some(attribute) = source.strip_prefix("#[") {
        let (inside, rest) = attribute.split_once(']')?;
        let value = inside.split('"').nth(1).unwrap_or("");
        match inside.split('(').next() {
            Some("precedence") => level = value.parse().ok(),
            _ => assoc = Some(value.to_owned()),
        }
        source = rest.trim_start();
    }
    let symbols = split_at(source, "=>").0;
    let text = symbols_of(&mut symbols.trim().chars().peekable(), None)?.join(" ");
    Some(Alternative { text, level, assoc })
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// The symbols up to a closing character, without bindings and positions; none if one of them is the
/// error symbol.
fn symbols_of(chars: &mut Chars<'_>, end: Option<char>) -> Option<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    let mut failed = false;
    while let Some(c) = chars.next() {
        match c {
            _ if Some(c) == end => break,
            ' ' | '\n' | '\t' => {}
            '"' => {
                let token: String = chars.by_ref().take_while(|c| *c != '"').collect();
                let class = CLASSES.iter().any(|(name, _)| *name == token);
                out.push(if class { token } else { format!("\"{token}\"") });
            }
            '@' => drop(chars.next()),
            '!' => failed = true,
            ':' => drop(out.pop()),
            '*' | '+' | '?' => {
                if let Some(last) = out.last_mut() {
                    last.push(c);
                }
            }
            '(' => {
                let inner = symbols_of(chars, Some(')'))?;
                out.push(format!("({})", inner.join(" ")));
            }
            '<' => out.push(symbols_of(chars, Some('>'))?.join(" ")),
            _ => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                match chars.next_if_eq(&'<') {
                    Some(_) => {
                        let inner = symbols_of(chars, Some('>'))?.join(" ");
                        out.push(format!("{word}<{inner}>"));
                    }
                    None if word == "mut" => {}
                    None => out.push(word),
                }
            }
        }
    }
    out.retain(|s| !s.is_empty());
    (!failed).then_some(out)
}

/// Operators by level, tightest first, with how they associate.
fn operators(rules: &[Rule]) -> Vec<(u8, Vec<String>, String)> {
    let mut out: Vec<(u8, Vec<String>, String)> = Vec::new();
    let expr = rules.iter().find(|r| r.name == "Expr");
    for a in expr.map_or(&[][..], |r| &r.alternatives) {
        if a.level.is_some() || out.is_empty() {
            let level = a.level.unwrap_or(0);
            out.push((level, Vec::new(), a.assoc.clone().unwrap_or_default()));
        }
        let Some((level, symbols, _)) = out.last_mut() else { continue };
        match a.text.split('"').nth(1) {
            Some(operator) => symbols.push(operator.to_owned()),
            None if *level == 0 => {
                symbols.extend(["f(x)", "a[i]", "a.b", "a^2"].map(str::to_owned));
            }
            None => {}
        }
    }
    out
}

/// Tokens that stand for many texts, with their regular expressions.
fn tokens() -> Vec<(&'static str, Vec<String>)> {
    let classes = CLASSES.iter().chain(&[("comment", "Comment")]);
    classes
        .map(|(name, variant)| {
            let mut expressions = Vec::new();
            for line in LEXER.lines().map(str::trim) {
                if let Some(rest) = line.strip_prefix("#[regex(") {
                    expressions.extend(literal(rest));
                } else if line.starts_with(&format!("{variant}(")) {
                    break;
                } else if !line.starts_with("///") {
                    expressions.clear();
                }
            }
            (*name, expressions)
        })
        .collect()
}

/// The string literal at the beginning of a text.
fn literal(text: &str) -> Option<String> {
    let (open, close) = match text {
        t if t.starts_with("r#\"") => ("r#\"", "\"#"),
        t if t.starts_with("r\"") => ("r\"", "\""),
        _ => ("\"", "\""),
    };
    let rest = text.strip_prefix(open)?;
    Some(rest.split(close).next()?.to_owned())
}

/// Where the bracket that a text begins with is closed: the length up to and with it.
fn closed(text: &str) -> usize {
    let mut depth = 0usize;
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '{' | '(' | '[' if !quoted => depth += 1,
            '}' | ')' | ']' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + c.len_utf8();
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// What stands before and behind the first such sign outside brackets and quotes.
fn split_at<'a>(text: &'a str, sign: &str) -> (&'a str, &'a str) {
    let mut depth = 0usize;
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 && text.get(at..).is_some_and(|t| t.starts_with(sign)) => {
                return (text.get(..at).unwrap_or(""), text.get(at + sign.len()..).unwrap_or(""));
            }
            _ => {}
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::ast::BinaryOp;

    #[test]
    fn every_keyword_and_operator_is_in_a_rule() {
        let rules = rules();
        let all: String =
            rules.iter().flat_map(|r| &r.alternatives).map(|a| format!(" {} ", a.text)).collect();
        for word in KEYWORDS {
            assert!(all.contains(&format!("\"{word}\"")), "{word} in\n{all}");
        }
        // Tokens of the grammar's own list.
        let listed = GRAMMAR.split("extern {").nth(1).expect("the tokens");
        let listed = listed.split("\n}\n").next().expect("an end");
        for token in listed.split("=> Token::").filter_map(|t| t.rsplit('"').nth(1)) {
            let class = CLASSES.iter().any(|(n, _)| *n == token) && all.contains(token);
            let known = class || token == "unknown character";
            assert!(known || all.contains(&format!("\"{token}\"")), "{token} in\n{all}");
        }
    }

    #[test]
    fn every_name_in_a_rule_is_a_rule() {
        let rules = rules();
        assert_eq!(rules.first().map(|r| r.name.as_str()), Some("Sep<T>"));
        for rule in &rules {
            assert!(!rule.alternatives.is_empty(), "{}", rule.name);
            for a in &rule.alternatives {
                let bare: String = a.text.split('"').step_by(2).collect::<Vec<_>>().join(" ");
                for word in bare.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 1) {
                    let class = CLASSES.iter().any(|(n, _)| *n == word)
                        || ["Sep", "Several"].contains(&word);
                    assert!(class || rules.iter().any(|r| r.name == word), "{word} in {}", a.text);
                }
            }
        }
    }

    #[test]
    fn levels_are_those_of_the_tree() {
        use BinaryOp::*;
        let rules = rules();
        let table = operators(&rules);
        let ops = [Pipe, Or, And, Eq, Ne, Le, Ge, Lt, Gt, Range, Add, Sub, Mul, Div, Rem];
        // Prefix operators have a level of their own between.
        let level = |op: BinaryOp| {
            let of = |(l, all, _): &&(u8, Vec<String>, String)| {
                *l > 1 && all.iter().any(|o| o == op.symbol())
            };
            table.iter().find(of).unwrap_or_else(|| panic!("{}", op.symbol())).0
        };
        for a in ops {
            for b in ops {
                let tighter = level(a) < level(b);
                assert_eq!(tighter, a.level() > b.level(), "{} {}", a.symbol(), b.symbol());
            }
        }
        assert!(table.is_sorted_by_key(|(l, ..)| *l));
    }

    #[test]
    fn tokens_have_expressions() {
        for (name, expressions) in tokens() {
            assert!(!expressions.is_empty(), "{name}");
        }
    }
}
