//! Common mistakes that a change of one token repairs, so that the parse can go on behind them.

use super::actions::Failure;
use super::message::{
    Context, Found, fixed, one_of, starts_item, starts_statement, words, written,
};
use super::token::{KEYWORDS, Token, shorten};
use crate::diagnostic::near::{did_you_mean, habit};
use crate::diagnostic::{Diagnostic, Edit, codes};
use crate::source::Span;

/// A change of one token, by its index, that lets the parse go on.
pub(super) enum Mend<'s> {
    /// Put a token before it.
    Insert(usize, Token<'s>),
    /// Put a token in its place.
    Replace(usize, Token<'s>),
    Delete(usize),
}

impl<'s> Mend<'s> {
    pub(super) fn apply(self, tokens: &mut Vec<(usize, Token<'s>, usize)>) {
        match self {
            Mend::Insert(at, token) => {
                let at = at.min(tokens.len());
                // It stands right behind the token before it, and has no length.
                let place = at.checked_sub(1).and_then(|i| tokens.get(i)).map_or(0, |t| t.2);
                tokens.insert(at, (place, token, place));
            }
            Mend::Replace(at, token) => {
                if let Some(old) = tokens.get_mut(at) {
                    old.1 = token;
                }
            }
            Mend::Delete(at) if at < tokens.len() => drop(tokens.remove(at)),
            Mend::Delete(_) => {}
        }
    }
}

impl<'s> Context<'_, 's> {
    /// What would mend an error, with its message, if that is clear.
    pub fn mend(&self, failure: &Failure<'s>) -> Option<(Mend<'s>, Diagnostic)> {
        let found = &self.look(failure)?;
        // What is compared may have been meant to be named: the author decides.
        if let Some(mended) = self.named_argument(found) {
            return Some(mended);
        }
        let (mend, error) = self
            .keyword(found)
            .or_else(|| self.equals(found))
            .or_else(|| self.surplus(found))
            .or_else(|| self.bracket(found))
            .or_else(|| self.semicolon(found))
            .or_else(|| self.reserved(found))?;
        let edit = self.edit(&mend);
        Some((mend, error.edit(edit)))
    }

    /// What an author writes to the same effect.
    fn edit(&self, mend: &Mend<'s>) -> Option<Edit> {
        let span = |at: usize| self.tokens.get(at).map(|t| self.span(t.0, t.2));
        Some(match mend {
            // `let x = ..` begins where the name does.
            Mend::Insert(at, token @ Token::Let) => {
                Edit::before(span(*at)?, format!("{} ", written(token)?))
            }
            Mend::Insert(at, token) => {
                let before = at.checked_sub(1).and_then(span).unwrap_or(self.span(0, 0));
                Edit::after(before, written(token)?)
            }
            Mend::Replace(at, Token::Ident(word)) => Edit::replace(span(*at)?, format!("`{word}`")),
            Mend::Replace(at, token) => Edit::replace(span(*at)?, written(token)?),
            Mend::Delete(at) => {
                let gone = span(*at)?;
                let behind = self.text.get(gone.end as usize..).unwrap_or_default();
                let blanks = behind.len() - behind.trim_start_matches([' ', '\t']).len();
                Edit::replace(Span { end: gone.end + blanks as u32, ..gone }, "")
            }
        })
    }

    /// What closes the brackets that are open before a token, and where these stand; the innermost last.
    fn open(&self, at: usize) -> Vec<(usize, Token<'static>)> {
        let mut open: Vec<(usize, Token<'static>)> = Vec::new();
        for (i, (_, token, _)) in self.tokens.iter().enumerate().take(at) {
            if let Some(close) = closer(token) {
                open.push((i, close));
            } else if open.last().is_some_and(|(_, close)| close == token) {
                open.pop();
            }
        }
        open
    }

    /// A misspelled keyword, a keyword of another language, or a definition without `let`.
    fn keyword(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        let at = found.at;
        if let Some((Token::Ident("return"), place)) = self.before(found) {
            let error = codes::SYNTAX
                .error("a function has no `return`")
                .label(place, "leave this out")
                .hint("the result is the expression that the body ends with");
            return Some((Mend::Delete(at - 1), error));
        }
        let name = match found.token {
            Some(Token::Ident(name)) => *name,
            Some(Token::Let) if found.expects_item() => {
                let error = codes::SYNTAX
                    .error("`let` stands in a predicate or a function")
                    .label(found.span, "not at the top level")
                    .hint("a constant for the whole file is `const NAME = VALUE;`");
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
        let (wanted, shown) = (one_of(&words(found)), shorten(name));
        let error = codes::SYNTAX
            .error(format!("expected {wanted}, found the name `{shown}`"))
            .label(found.span, "no such word")
            .hint(format!("did you mean `{meant}`?"));
        Some((Mend::Replace(at, fixed(meant)?), error))
    }

    /// Whether a `=` stands where `==` could.
    fn compares(&self, found: &Found<'_, 's>) -> bool {
        found.token == Some(&Token::Eq)
            && found.expects("==")
            && !matches!(self.token(found.at + 1), Some(Token::Gt | Token::Lt))
    }

    /// A named argument in parentheses.
    fn named_argument(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        if !self.compares(found) {
            return None;
        }
        let (Token::Ident(name), _) = self.before(found)? else { return None };
        let argument =
            matches!(self.token(found.at.checked_sub(2)?)?, Token::LParen | Token::Comma);
        if !argument || self.open(found.at).last()?.1 != Token::RParen {
            return None;
        }
        let error = codes::SYNTAX
            .error("arguments in parentheses have no names")
            .label(found.span, "names an argument")
            .hint(match habit(name) {
                Some(hint) => hint.to_owned(),
                None => format!(
                    "named arguments stand in brackets, `f[{name} = …](x)`; a comparison is `==`"
                ),
            });
        Some((Mend::Replace(found.at, Token::EqEq), error))
    }

    /// `=` for `==`, or for a definition.
    fn equals(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        let at = found.at;
        if !self.compares(found) {
            return None;
        }
        if let Some((Token::Ident(name), before)) = self.before(found)
            && let Some(Token::LBrace | Token::Semi) = at.checked_sub(2).and_then(|i| self.token(i))
        {
            return Some((Mend::Insert(at - 1, Token::Let), undefined(name, before)));
        }
        let error = codes::SYNTAX
            .error("`=` does not compare")
            .label(found.span, "not expected here")
            .hint("a comparison is `==`");
        Some((Mend::Replace(at, Token::EqEq), error))
    }

    /// A `;` or closing bracket too many.
    fn surplus(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        let mend = Mend::Delete(found.at);
        match found.token? {
            Token::Semi
                if found.expects("}") && self.token(found.at + 1) == Some(&Token::RBrace) =>
            {
                let title = "a result is not followed by `;`";
                let error = codes::SYNTAX.error(title).label(found.span, "leave this out");
                Some((mend, error.hint("a body ends with its result, an expression without `;`")))
            }
            Token::Semi if found.expects_statement() || found.expects_item() => {
                let title = "nothing stands before this `;`";
                Some((mend, codes::SYNTAX.error(title).label(found.span, "leave this out")))
            }
            token @ (Token::RParen | Token::RBracket | Token::RBrace) => {
                let open = self.open(found.at);
                let block = open.last().is_none_or(|(_, close)| *close == Token::RBrace);
                if open.iter().any(|(_, close)| close == token) || !block {
                    return None;
                }
                let title = format!("{} closes nothing", self.name(Some(token), found.span));
                Some((mend, codes::SYNTAX.error(title).label(found.span, "nothing is open here")))
            }
            _ => None,
        }
    }

    /// A bracket that is not closed, or closed by another kind.
    fn bracket(&self, found: &Found<'_, 's>) -> Option<(Mend<'s>, Diagnostic)> {
        let wanted = closes(found)?;
        let mut open = self.open(found.at);
        let (innermost, close) = open.pop()?;
        if fixed(wanted)? != close {
            return None;
        }
        // Only where the text shows that the bracket should have ended by now.
        let outer = open.last().map(|(_, close)| close);
        let mend = match found.token {
            None | Some(Token::Semi) => Mend::Insert(found.at, close),
            Some(token @ (Token::RParen | Token::RBracket | Token::RBrace)) => {
                if outer == Some(token) || *token == Token::RBrace {
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
        let error = codes::SYNTAX.error(title).label(place, format!("`{wanted}` missing"));
        let error = error.label(opener, format!("`{}` opened here", self.source(opener)));
        Some(match found.token {
            Some(token) if starts_item(token) => (
                mend,
                error.hint("functions, models, constants and imports stand outside of predicates"),
            ),
            _ => (mend, error),
        })
    }

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
        let error = codes::SYNTAX.error(title).label(place, "`;` missing");
        // `n // 2`: what follows is a comment.
        let rest = self.text.get(before.end as usize..).unwrap_or("");
        let error = match rest.trim_start_matches([' ', '\t']).starts_with("//") {
            true => error.hint("`//` begins a comment; whole numbers are divided by `/`"),
            false => error,
        };
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
        let error = codes::SYNTAX.error(title).label(found.span, "not a name");
        Some((
            Mend::Replace(found.at, Token::Ident(word)),
            error.hint(format!("choose another name, or write it in backticks: `` `{word}` ``")),
        ))
    }
}

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
    codes::SYNTAX
        .error(title)
        .label(at, "defined here")
        .hint(format!("write `let {} = …`; nothing is ever assigned anew", shorten(name)))
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
