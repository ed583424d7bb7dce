//! What a syntax error says, and the single token that would mend it.
//!
//! The parser knows which tokens it could go on with and which one it found. An author knows
//! statements, expressions and names. [`Context::describe`] says the former in the words of the
//! latter; [`Context::mend`] recognises common mistakes and what was meant.

use super::ast::{FileId, Span};
use super::lexer::{KEYWORDS, Token, shorten};
use super::parse::{Failure, Mend};
use crate::diagnostic::near::did_you_mean;
use crate::diagnostic::{Diagnostic, codes};
use lalrpop_util::ParseError;
use logos::Logos;

/// The text around an error.
pub(super) struct Context<'a, 's> {
    pub file: FileId,
    pub text: &'s str,
    pub tokens: &'a [(usize, Token<'s>, usize)],
}

/// An error, looked at.
struct Found<'a, 's> {
    /// Index of the offending token; the number of tokens at the end of the file.
    at: usize,
    token: Option<&'a Token<'s>>,
    span: Span,
    /// What could stand here.
    expected: Vec<&'a str>,
}

impl Found<'_, '_> {
    fn expects(&self, word: &str) -> bool {
        self.expected.contains(&word)
    }

    fn expects_statement(&self) -> bool {
        self.expects("let") && self.expects("reveal")
    }

    fn expects_item(&self) -> bool {
        self.expects("predicate") && self.expects("use")
    }

    fn expects_expression(&self) -> bool {
        self.expects("identifier") && self.expects("integer")
    }
}

impl<'a, 's> Context<'a, 's> {
    /// The message of an error; none where another message already says it.
    pub fn describe(&self, failure: &Failure<'s>) -> Option<Diagnostic> {
        let found = self.look(failure)?;
        // One that closes something, but at the top level: recovery skipped what it closes.
        let closing = matches!(found.token, Some(Token::RParen | Token::RBracket | Token::RBrace));
        if closing && found.expects_item() {
            return None;
        }
        let name = self.name(found.token, found.span);
        let title = format!("expected {}, found {name}", one_of(&words(&found)));
        let error = Diagnostic::error(codes::SYNTAX, title, found.span, "not expected here");
        Some(match self.hint(&found) {
            Some(hint) => error.hint(hint),
            None => error,
        })
    }

    /// What would mend an error, with its message, if that is clear.
    pub fn mend(&self, failure: &Failure<'s>) -> Option<(Mend<'s>, Diagnostic)> {
        let found = &self.look(failure)?;
        self.keyword(found)
            .or_else(|| self.equals(found))
            .or_else(|| self.surplus(found))
            .or_else(|| self.bracket(found))
            .or_else(|| self.semicolon(found))
            .or_else(|| self.reserved(found))
    }

    fn look<'f>(&'f self, failure: &'f Failure<'s>) -> Option<Found<'f, 's>> {
        let bare = |expected: &'f [String]| {
            expected.iter().map(|e| e.trim_matches('"')).collect::<Vec<_>>()
        };
        match failure {
            ParseError::UnrecognizedToken { token: (_, Token::Error(_), _), .. }
            | ParseError::User { .. } => None,
            ParseError::UnrecognizedToken { token, expected } => {
                let first = self.tokens.partition_point(|t| t.0 < token.0);
                let behind = self.tokens.get(first..)?;
                let at = first + behind.iter().position(|t| t == token)?;
                let span = self.span(token.0, token.2);
                Some(Found { at, token: Some(&token.1), span, expected: bare(expected) })
            }
            ParseError::UnrecognizedEof { expected, .. } => {
                let end = self.tokens.last().map_or(0, |t| t.2);
                let (at, span) = (self.tokens.len(), self.span(end, end));
                Some(Found { at, token: None, span, expected: bare(expected) })
            }
            // No lexer error is ever passed on, and no rule ends before the file does.
            ParseError::InvalidToken { location } => {
                let span = self.span(*location, *location);
                Some(Found { at: self.tokens.len(), token: None, span, expected: Vec::new() })
            }
            ParseError::ExtraToken { token } => {
                let span = self.span(token.0, token.2);
                let at = self.tokens.partition_point(|t| t.0 < token.0);
                Some(Found { at, token: Some(&token.1), span, expected: Vec::new() })
            }
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        super::parse::span(self.file, start, end)
    }

    fn token(&self, at: usize) -> Option<&'a Token<'s>> {
        self.tokens.get(at).map(|t| &t.1)
    }

    /// The token before, if any, with its end.
    fn before(&self, found: &Found) -> Option<(&'a Token<'s>, Span)> {
        let (start, token, end) = self.tokens.get(found.at.checked_sub(1)?)?;
        Some((token, self.span(*start, *end)))
    }

    /// Does a line end between the token before and this one?
    fn on_new_line(&self, found: &Found) -> bool {
        let Some((_, before)) = self.before(found) else { return true };
        let gap = self.text.get(before.end as usize..found.span.start as usize);
        found.token.is_none() || gap.is_some_and(|g| g.contains('\n'))
    }

    fn source(&self, span: Span) -> &'s str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// A found token in words.
    fn name(&self, token: Option<&Token<'s>>, span: Span) -> String {
        let text = shorten(self.source(span));
        match token {
            None => "the end of the file".to_owned(),
            Some(Token::Ident(_)) => format!("the name `{text}`"),
            Some(Token::Int(_) | Token::Real(_)) => format!("the number `{text}`"),
            Some(Token::Str(_)) => "a text in quotes".to_owned(),
            // Tokens that a mend put in have no text of their own.
            Some(token) if text.is_empty() => {
                let word = PUT_IN.iter().find(|w| fixed(w).as_ref() == Some(token));
                format!("`{}`", word.unwrap_or(&";"))
            }
            Some(_) => format!("`{text}`"),
        }
    }

    /// Positions of brackets that are open before a token, innermost last.
    fn open(&self, at: usize) -> Vec<usize> {
        let mut open = Vec::new();
        for (i, (_, token, _)) in self.tokens.iter().enumerate().take(at) {
            match token {
                Token::LParen | Token::LBracket | Token::LBrace => open.push(i),
                Token::RParen | Token::RBracket | Token::RBrace => {
                    let matching =
                        |&&o: &&usize| self.token(o).and_then(closer) == Some(token.clone());
                    if open.last().as_ref().is_some_and(matching) {
                        open.pop();
                    }
                }
                _ => {}
            }
        }
        open
    }

    /// A misspelled keyword, a keyword of another language, or a definition without `let`.
    fn keyword(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        let at = found.at;
        if let Some((Token::Ident("return"), place)) = self.before(found) {
            let title = "a function has no `return`";
            let error = Diagnostic::error(codes::SYNTAX, title, place, "leave this out");
            let error = error.hint("the result is the expression that the body ends with");
            return Some((Mend::Delete(at - 1), error));
        }
        let name = match found.token {
            Some(Token::Ident(name)) => *name,
            Some(Token::Let) if found.expects_item() => {
                let error = Diagnostic::error(
                    codes::SYNTAX,
                    "`let` stands in a predicate or a function",
                    found.span,
                    "not at the top level",
                );
                let error = error.hint("a constant for the whole file is `const NAME = VALUE;`");
                return Some((Mend::Replace(at, Token::Const), error));
            }
            _ => return None,
        };
        if found.expects_statement() && self.token(at + 1) == Some(&Token::Eq) {
            return Some((Mend::Insert(at, Token::Let), undefined(name, found.span)));
        }
        let translated = FOREIGN.iter().find(|(word, ours)| *word == name && found.expects(ours));
        let possible = found.expected.iter().filter(|e| KEYWORDS.contains(e)).copied();
        // Any name may stand where one is expected, however near to a keyword.
        let near =
            || (!found.expects("identifier")).then(|| did_you_mean(name, possible)).flatten();
        let meant = translated.map(|(_, ours)| *ours).or_else(near)?;
        let shown = shorten(name);
        let title = format!("expected {}, found the name `{shown}`", one_of(&words(found)));
        let error = Diagnostic::error(codes::SYNTAX, title, found.span, "no such word");
        let error = error.hint(format!("did you mean `{meant}`?"));
        Some((Mend::Replace(at, fixed(meant)?), error))
    }

    /// `=` for `==`, and a named argument in parentheses.
    fn equals(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        let at = found.at;
        if found.token != Some(&Token::Eq)
            || !found.expects("==")
            || matches!(self.token(at + 1), Some(Token::Gt | Token::Lt))
        {
            return None;
        }
        let mend = Mend::Replace(at, Token::EqEq);
        let argument = at.checked_sub(2).and_then(|i| self.token(i));
        if let (Some(Token::LParen | Token::Comma), Some(Token::Ident(name))) =
            (argument, at.checked_sub(1).and_then(|i| self.token(i)))
            && let Some(&open) = self.open(at).last()
            && self.token(open) == Some(&Token::LParen)
        {
            let title = "arguments in parentheses have no names";
            let error = Diagnostic::error(codes::SYNTAX, title, found.span, "names an argument");
            let hint = format!(
                "named arguments stand in brackets, `f[{name} = …](x)`; a comparison is `==`"
            );
            return Some((mend, error.hint(hint)));
        }
        let first = |t: Option<&Token>| matches!(t, Some(Token::LBrace | Token::Semi));
        if let Some(Token::Ident(name)) = at.checked_sub(1).and_then(|i| self.token(i))
            && first(argument)
            && let Some((_, before)) = self.before(found)
        {
            return Some((Mend::Insert(at - 1, Token::Let), undefined(name, before)));
        }
        let title = "`=` does not compare";
        let error = Diagnostic::error(codes::SYNTAX, title, found.span, "not expected here");
        Some((mend, error.hint("a comparison is `==`")))
    }

    /// A `;` or closing bracket too many.
    fn surplus(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        let mend = Mend::Delete(found.at);
        match found.token? {
            Token::Semi
                if found.expects("}") && self.token(found.at + 1) == Some(&Token::RBrace) =>
            {
                let title = "a result is not followed by `;`";
                let error = Diagnostic::error(codes::SYNTAX, title, found.span, "leave this out");
                Some((mend, error.hint("a body ends with its result, an expression without `;`")))
            }
            Token::Semi if found.expects_statement() || found.expects_item() => {
                let title = "nothing stands before this `;`";
                Some((mend, Diagnostic::error(codes::SYNTAX, title, found.span, "leave this out")))
            }
            token @ (Token::RParen | Token::RBracket | Token::RBrace) => {
                let opener = |o: &usize| self.token(*o).and_then(closer).as_ref() == Some(token);
                let open = self.open(found.at);
                let block = |o: &usize| self.token(*o) == Some(&Token::LBrace);
                if open.iter().any(opener) || !open.last().is_none_or(block) {
                    return None;
                }
                let title = format!("{} closes nothing", self.name(Some(token), found.span));
                Some((
                    mend,
                    Diagnostic::error(codes::SYNTAX, title, found.span, "nothing is open here"),
                ))
            }
            _ => None,
        }
    }

    /// A bracket that is not closed, or closed by another kind.
    fn bracket(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        let wanted = closes(found)?;
        let open = self.open(found.at);
        let innermost = *open.last()?;
        let close = self.token(innermost).and_then(closer)?;
        if fixed(wanted)? != close {
            return None;
        }
        // Only where the text shows that the bracket should have ended by now.
        let outer = open.iter().rev().nth(1).and_then(|&o| self.token(o)).and_then(closer);
        let mend = match found.token {
            None | Some(Token::Semi) => Mend::Insert(found.at, close),
            Some(token @ (Token::RParen | Token::RBracket | Token::RBrace)) => {
                if outer.as_ref() == Some(token) || *token == Token::RBrace {
                    Mend::Insert(found.at, close)
                } else {
                    Mend::Replace(found.at, close)
                }
            }
            Some(token) if starts_item(token) && wanted == "}" => Mend::Insert(found.at, close),
            Some(token) if starts_statement(token) && self.on_new_line(found) && wanted != "}" => {
                Mend::Insert(found.at, close)
            }
            _ => return None,
        };
        let (start, _, end) = self.tokens.get(innermost)?;
        let opener = self.span(*start, *end);
        let name = self.name(found.token, found.span);
        let title = format!("expected `{wanted}`, found {name}");
        // Where it is missing at the end of a line, that is the place to look at.
        let place = match self.before(found) {
            Some((_, before)) if self.on_new_line(found) && wanted != "}" => {
                self.span(before.end as usize, before.end as usize)
            }
            _ => found.span,
        };
        let error = Diagnostic::error(codes::SYNTAX, title, place, format!("`{wanted}` missing"));
        let error = error.label(opener, format!("`{}` opened here", self.source(opener)));
        Some(match found.token {
            Some(token) if starts_item(token) => (
                mend,
                error.hint("functions, models, constants and imports stand outside of predicates"),
            ),
            _ => (mend, error),
        })
    }

    /// A missing semicolon.
    fn semicolon(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        let plausible = match found.token {
            None | Some(Token::RBrace) => true,
            Some(token) => starts_item(token) || starts_statement(token) || self.on_new_line(found),
        };
        if !found.expects(";") || !plausible {
            return None;
        }
        let (_, before) = self.before(found)?;
        // Back to where the statement begins.
        let ends = |t: &Token| matches!(t, Token::Semi | Token::LBrace | Token::RBrace);
        let head = self.tokens.get(..found.at)?;
        let first = head.iter().rposition(|t| ends(&t.1)).map_or(0, |i| i + 1);
        let what = match self.token(first) {
            Some(token) if starts_statement(token) || starts_item(token) => {
                let (start, _, end) = self.tokens.get(first)?;
                format!("this `{}`", self.source(self.span(*start, *end)))
            }
            Some(Token::Ident(_)) => "this layer".to_owned(),
            _ => "this".to_owned(),
        };
        let place = self.span(before.end as usize, before.end as usize);
        let title = format!("expected `;` after {what}");
        let error = Diagnostic::error(codes::SYNTAX, title, place, "`;` missing");
        Some((Mend::Insert(found.at, Token::Semi), error))
    }

    /// A keyword where a name is needed.
    fn reserved(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        let word = self.source(found.span);
        let secrecy = matches!(found.token, Some(Token::Secret | Token::Public));
        if !found.expects("identifier")
            || !KEYWORDS.contains(&word)
            || self.on_new_line(found)
            || matches!(found.token, Some(Token::Let | Token::For | Token::If | Token::Else))
            || found.expects_expression()
                && matches!(self.token(found.at + 1), Some(Token::Ident(_)))
        {
            return None;
        }
        if secrecy && matches!(self.before(found), Some((Token::Input, _))) {
            return None;
        }
        let title = format!("`{word}` is a word of the language");
        let error = Diagnostic::error(codes::SYNTAX, title, found.span, "not a name");
        Some((Mend::Replace(found.at, Token::Ident(word)), error.hint("choose another name")))
    }

    /// Help where no single token mends it.
    fn hint(&self, found: &Found<'_, 's>) -> Option<&'static str> {
        let before = self.before(found).map(|(token, _)| token);
        Some(match (before, found.token?) {
            (Some(Token::Else), Token::If) => "write `else { if c { a } else { b } }`",
            (Some(Token::Input), Token::Secret | Token::Public) => {
                "secrecy belongs to the type: `input x: secret fix[n] in -8..8 from each Client;`"
            }
            (Some(Token::Star), Token::Star) => "a power is written `x^2`",
            (Some(Token::RParen), Token::LBrace) if found.expects("->") => {
                "a function and a model say what they return: `-> fix`"
            }
            (_, Token::Eq) if self.token(found.at + 1) == Some(&Token::Gt) => {
                "`at least` is written `>=`"
            }
            (_, Token::Eq) if self.token(found.at + 1) == Some(&Token::Lt) => {
                "`at most` is written `<=`"
            }
            (_, Token::For) if found.expects_statement() => {
                "there are no loops; `[e for i in S]` has a value for each i"
            }
            (_, Token::If) if found.expects_statement() => {
                "`if` is an expression: `let x = if c { a } else { b };`"
            }
            (_, token) if found.expects_item() && starts_statement(token) => {
                "statements stand within `predicate NAME[…](…) { … }`"
            }
            (_, Token::EqEq) if found.expects("=") => "a definition is written with one `=`",
            (_, Token::Let) if found.expects_expression() && !found.expects("let") => {
                "`let` begins a statement of its own"
            }
            (Some(Token::DotDot), _) if found.expects_expression() => {
                "a range has both ends: `0..n`"
            }
            (_, Token::DotDot) if !found.expects("..") && found.expects(";") => {
                "a range has two ends only; bracket it otherwise"
            }
            (_, Token::EqEq | Token::Ne | Token::Le | Token::Ge | Token::Lt | Token::Gt)
                if found.expects("&&") =>
            {
                "comparisons do not chain: write `a < b && b < c`"
            }
            (_, Token::RBrace) if found.expects_expression() && !found.expects_statement() => {
                "a body ends with its result, an expression without `;`"
            }
            (_, Token::LBrace) if found.expects(";") && !found.expects("*") => {
                "an `extern fn` has no body"
            }
            (Some(Token::Comma), Token::Ident(_)) if found.expected == [")"] => {
                "a model and a block have one input"
            }
            (Some(Token::Colon), _) if found.expects("model") => {
                "a size parameter has a kind only if it is a model: `[M: model, n]`"
            }
            _ => return None,
        })
    }
}

/// Words that [`Mend::Insert`] puts in.
const PUT_IN: &[&str] = &[";", "let", ")", "]", "}"];

/// Signs that a mend may need.
const SIGNS: &[&str] = &[";", ")", "]", "}", "==", "&&", "||", "%"];

/// Words of other languages, and ours.
const FOREIGN: &[(&str, &str)] = &[
    ("and", "&&"),
    ("assert", "require"),
    ("def", "fn"),
    ("elif", "else"),
    ("func", "fn"),
    ("function", "fn"),
    ("import", "use"),
    ("mod", "%"),
    ("or", "||"),
    ("output", "reveal"),
    ("private", "secret"),
    ("var", "let"),
];

/// A definition without `let`.
fn undefined(name: &str, at: Span) -> Diagnostic {
    let title = "expected `let` before a definition";
    Diagnostic::error(codes::SYNTAX, title, at, "defined here")
        .hint(format!("write `let {} = …`; nothing is ever assigned anew", shorten(name)))
}

/// The token of a keyword or sign.
fn fixed(word: &str) -> Option<Token<'static>> {
    // The lexer borrows from its text: go through a static copy of the word.
    let word = KEYWORDS.iter().chain(SIGNS).find(|w| **w == word)?;
    Token::lexer(word).next()?.ok()
}

/// What closes a bracket.
fn closer(open: &Token) -> Option<Token<'static>> {
    Some(match open {
        Token::LParen => Token::RParen,
        Token::LBracket => Token::RBracket,
        Token::LBrace => Token::RBrace,
        _ => return None,
    })
}

/// The closing bracket that could stand here.
fn closes<'f>(found: &Found<'f, '_>) -> Option<&'f str> {
    found.expected.iter().find(|e| matches!(**e, ")" | "]" | "}")).copied()
}

fn starts_item(token: &Token) -> bool {
    use Token::*;
    matches!(token, Use | Const | Fn | Block | Model | Predicate | Extern)
}

fn starts_statement(token: &Token) -> bool {
    use Token::*;
    matches!(token, Let | Require | Parties | Input | Sample | Reveal)
}

/// Expected tokens in the language's words: each once, at most six, what ends something first.
fn words(found: &Found) -> Vec<String> {
    const EXPRESSION: &[&str] =
        &["identifier", "integer", "decimal", "(", "[", "-", "!", "if", ".."];
    const TYPE: &[&str] = &["identifier", "public", "secret", "weights"];
    const ITEM: &[&str] = &["use", "const", "fn", "extern", "block", "model", "predicate"];
    const STATEMENT: &[&str] = &["let", "reveal", "input", "parties", "sample", "require"];
    const OPERATOR: &[&str] = &[
        "|>", "||", "&&", "==", "!=", "<=", ">=", "<", ">", "..", "+", "-", "*", "/", "%", "^",
        "(", "[", ".", "::",
    ];
    let mut covered: Vec<&str> = Vec::new();
    let mut kinds = Vec::new();
    let mut cover = |when: bool, list: &'static [&'static str], name: &str| {
        if when {
            covered.extend(list);
            kinds.push(name.to_owned());
        }
    };
    cover(found.expects_expression(), EXPRESSION, "an expression");
    cover(found.expects("weights") && found.expects("identifier"), TYPE, "a type");
    cover(found.expects_item(), ITEM, "`use`, `const`, `fn`, `model`, `block` or `predicate`");
    cover(found.expects_statement(), STATEMENT, "a statement");
    let operator = if found.expects("*") { "an operator" } else { "another operator" };
    cover(found.expects("&&"), OPERATOR, operator);
    let mut signs: Vec<&str> =
        found.expected.iter().filter(|e| !covered.contains(e)).copied().collect();
    let rank = |sign: &str| match sign {
        ";" => 0,
        ")" | "]" | "}" => 1,
        "," => 2,
        _ => 3,
    };
    signs.sort_by_key(|s| (rank(s), *s));
    signs.dedup();
    let named = signs.into_iter().map(|sign| match sign {
        "identifier" => "a name".to_owned(),
        "integer" | "decimal" => "a number".to_owned(),
        "string" => "a text in quotes".to_owned(),
        sign => format!("`{sign}`"),
    });
    let mut words: Vec<String> = named.chain(kinds).collect();
    words.truncate(6);
    words
}

/// `a, b or c`.
fn one_of(words: &[String]) -> String {
    match words {
        [] => "nothing more".to_owned(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}
