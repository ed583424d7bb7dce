//! What a syntax error says.
//!
//! The parser knows which tokens it could go on with and which one it found. An author knows
//! statements, expressions and names. [`Context::describe`] translates the one into the other. `mend.rs`
//! recognises common mistakes.

use super::actions::{self, Failure};
use super::token::{ITEM_WORDS, KEYWORDS, STATEMENT_WORDS, Token, shorten};
use crate::diagnostic::{Diagnostic, codes};
use crate::source::{FileId, Span};
use lalrpop_util::ParseError;
use logos::Logos;

/// The text around an error.
pub(super) struct Context<'a, 's> {
    pub file: FileId,
    pub text: &'s str,
    pub tokens: &'a [(usize, Token<'s>, usize)],
}

/// A parse error, with the offending token and the tokens expected in its place.
pub(super) struct Found<'a, 's> {
    /// Index of the offending token; the number of tokens at the end of the file.
    pub at: usize,
    pub token: Option<&'a Token<'s>>,
    pub span: Span,
    /// What could stand here.
    pub expected: Vec<&'a str>,
}

impl Found<'_, '_> {
    pub(super) fn expects(&self, word: &str) -> bool {
        self.expected.contains(&word)
    }

    pub(super) fn expects_statement(&self) -> bool {
        self.expects("let") && self.expects("reveal")
    }

    pub(super) fn expects_item(&self) -> bool {
        self.expects("predicate") && self.expects("use")
    }

    pub(super) fn expects_expression(&self) -> bool {
        self.expects("identifier") && self.expects("integer")
    }
}

impl<'a, 's> Context<'a, 's> {
    /// The message of an error; none where another message already says it.
    pub fn describe(&self, failure: &Failure<'s>) -> Option<Diagnostic> {
        let found = self.look(failure)?;
        // A closing bracket at the top level: recovery skipped the bracket that it closes, and reported that.
        let closing = matches!(found.token, Some(Token::RParen | Token::RBracket | Token::RBrace));
        if closing && found.expects_item() {
            return None;
        }
        let name = self.name(found.token, found.span);
        let title = format!("expected {}, found {name}", one_of(&words(&found)));
        let error = codes::SYNTAX.error(title).label(found.span, "not expected here");
        Some(error.hints(self.hint(&found)))
    }

    pub(super) fn look<'f>(&'f self, failure: &'f Failure<'s>) -> Option<Found<'f, 's>> {
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

    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        actions::span(self.file, start, end)
    }

    pub(super) fn token(&self, at: usize) -> Option<&'a Token<'s>> {
        self.tokens.get(at).map(|t| &t.1)
    }

    /// The token before, if any, with its end.
    pub(super) fn before(&self, found: &Found) -> Option<(&'a Token<'s>, Span)> {
        let (start, token, end) = self.tokens.get(found.at.checked_sub(1)?)?;
        Some((token, self.span(*start, *end)))
    }

    /// Does a line end between the token before and this one?
    pub(super) fn on_new_line(&self, found: &Found) -> bool {
        let Some((_, before)) = self.before(found) else { return true };
        let gap = self.text.get(before.end as usize..found.span.start as usize);
        found.token.is_none() || gap.is_some_and(|g| g.contains('\n'))
    }

    pub(super) fn source(&self, span: Span) -> &'s str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// A found token in words.
    pub(super) fn name(&self, token: Option<&Token<'s>>, span: Span) -> String {
        let text = shorten(self.source(span));
        match token {
            None => "the end of the file".to_owned(),
            Some(Token::Ident(_)) => format!("the name `{text}`"),
            Some(Token::Int(_) | Token::Real(_)) => format!("the number `{text}`"),
            Some(Token::Str(_)) => "a text in quotes".to_owned(),
            // Tokens that a mend put in have no text of their own.
            Some(token) if text.is_empty() => {
                format!("`{}`", written(token).unwrap_or(";"))
            }
            Some(_) => format!("`{text}`"),
        }
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
            (Some(Token::Ident("not")), _) => "a bit is negated by `!`: `!(a > b)`",
            (Some(Token::Ident("lambda")), _) => {
                "a function is defined at the top, `fn f(x: fix) -> fix { x * x }`"
            }
            (_, Token::If) if found.expects("|>") => {
                "the condition comes first: `if c { a } else { b }`, or `select(c, a, b)` on a secret"
            }
            (Some(Token::Ident(_)), Token::Comma) if found.expected == ["in"] => {
                "a loop has one variable, which is an index: `[x[i] * y[i] for i in n]`"
            }
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
                "a loop is an expression: `[e for i in S]` has a value for each i, and `let v = iterate v = \
                 start for t in n { next };` goes from step to step"
            }
            (_, Token::For) if found.expects_expression() => {
                "a loop stands behind its value: `[e for i in S]`"
            }
            (_, Token::For) if found.expects(";") && !found.expects("for") => {
                "a loop stands in brackets, or is the argument of a function: `[e for i in S]`, `sum(e for i in S)`"
            }
            (_, Token::LBrace) if found.expects_expression() => {
                "a list stands in square brackets: `[a, b]`"
            }
            (_, Token::Semi) if found.expects("]") && !found.expects(";") => {
                "entries of a list are separated by `,`, and `]` ends it"
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
            (Some(Token::Caret), Token::Real(_)) => {
                "a power is a whole number: of one half write `sqrt(x)`, of others `exp(0.3 * log(x))`"
            }
            (_, Token::Colon) if found.expects("]") => {
                "a part of a tensor is a list: `[x[j] for j in a..b]`, and `[y[i, k] for i in n]` for a column"
            }
            (Some(Token::DotDot), _) if found.expects_expression() => {
                "a range has both ends: `0..n`"
            }
            (_, Token::DotDot)
                if !found.expects("..") && (found.expects(";") || found.expects("]")) =>
            {
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
                "a model has one input; a `block` may have several"
            }
            (Some(Token::Colon), _) if found.expects("model") => {
                "a size parameter has a kind only if it is a model: `[M: model, n]`"
            }
            _ => return None,
        })
    }
}

/// Signs that a mend may need.
const SIGNS: &[&str] = &[";", ")", "]", "}", "==", "&&", "||", "%"];

/// The token of a keyword or sign.
pub(super) fn fixed(word: &str) -> Option<Token<'static>> {
    // The lexer borrows from its text: go through a static copy of the word.
    let word = KEYWORDS.iter().chain(SIGNS).find(|w| **w == word)?;
    Token::lexer(word).next()?.ok()
}

/// How a token is written that is always the same.
pub(super) fn written(token: &Token) -> Option<&'static str> {
    let is = |w: &&&str| Token::lexer(w).next().is_some_and(|t| t.as_ref() == Ok(token));
    KEYWORDS.iter().chain(SIGNS).find(is).copied()
}

pub(super) fn starts_item(token: &Token) -> bool {
    written(token).is_some_and(|word| ITEM_WORDS.contains(&word))
}

pub(super) fn starts_statement(token: &Token) -> bool {
    written(token).is_some_and(|word| STATEMENT_WORDS.contains(&word))
}

/// Expected tokens in the language's words: each once, at most six, what ends something first.
pub(super) fn words(found: &Found) -> Vec<String> {
    const EXPRESSION: &[&str] = &[
        "identifier",
        "integer",
        "decimal",
        "true",
        "false",
        "(",
        "[",
        "-",
        "!",
        "if",
        "iterate",
        "weights",
        "..",
    ];
    const TYPE: &[&str] = &["identifier", "public", "secret", "weights", "("];
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
    let type_ = found.expects("weights") && !found.expects_expression();
    cover(type_, TYPE, "a type");
    cover(
        found.expects_item(),
        ITEM_WORDS,
        "`use`, `const`, `fn`, `model`, `block` or `predicate`",
    );
    cover(found.expects_statement(), STATEMENT_WORDS, "a statement");
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
pub(super) fn one_of(words: &[String]) -> String {
    match words {
        [] => "nothing more".to_owned(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}
