//! Reading the tokens of a line one after another: names, numbers, values, shapes, types.

use super::lex::{Token, tokens};
use crate::{Dom, Field, Hold, Shape, Type, ValueId};
use std::str::FromStr;

/// What was read, or what is wrong with it.
pub(crate) type Parsed<T> = Result<T, String>;

pub(super) fn number<T: FromStr>(word: &str) -> Parsed<T> {
    word.parse().map_err(|_| format!("`{word}` is not a number that fits here"))
}

/// The tokens of a line, and how many of them are read.
pub(crate) struct Tokens<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(line: &'a str) -> Parsed<Self> {
        Ok(Tokens { tokens: tokens(line)?, at: 0 })
    }

    /// The token that is so many ahead of the next one.
    pub(super) fn ahead(&self, n: usize) -> Option<&Token<'a>> {
        self.tokens.get(self.at + n)
    }

    pub(super) fn peek(&self) -> Option<&Token<'a>> {
        self.ahead(0)
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    fn found(&self) -> String {
        match self.peek() {
            None => "the end of the line".into(),
            Some(Token::Mark(c)) => format!("`{c}`"),
            Some(Token::Text(_)) => "a string".into(),
            Some(Token::Word(w)) => format!("`{w}`"),
        }
    }

    pub(super) fn end(&self) -> Parsed<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(format!("expected the end of the line, found {}", self.found())),
        }
    }

    /// A name or a number.
    pub(crate) fn word(&mut self) -> Parsed<&'a str> {
        match self.peek() {
            Some(&Token::Word(w)) => {
                self.at += 1;
                Ok(w)
            }
            _ => Err(format!("expected a word, found {}", self.found())),
        }
    }

    pub(super) fn text(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Token::Text(s)) => {
                let s = s.clone();
                self.at += 1;
                Ok(s)
            }
            _ => Err(format!("expected a string, found {}", self.found())),
        }
    }

    pub(super) fn is_mark(&self, c: char) -> bool {
        self.peek() == Some(&Token::Mark(c))
    }

    pub(super) fn mark(&mut self, c: char) -> Parsed<()> {
        if !self.is_mark(c) {
            return Err(format!("expected `{c}`, found {}", self.found()));
        }
        self.at += 1;
        Ok(())
    }

    /// This word and no other.
    pub(crate) fn keyword(&mut self, word: &str) -> Parsed<()> {
        match self.peek() {
            Some(Token::Word(w)) if *w == word => {
                self.at += 1;
                Ok(())
            }
            _ => Err(format!("expected `{word}`, found {}", self.found())),
        }
    }

    pub(crate) fn number<T: FromStr>(&mut self) -> Parsed<T> {
        number(self.word()?)
    }

    /// A number after its name.
    pub(crate) fn named<T: FromStr>(&mut self, name: &str) -> Parsed<T> {
        self.keyword(name)?;
        self.number()
    }

    /// A running number, which is in the text for its reader.
    pub(super) fn index(&mut self, want: usize) -> Parsed<()> {
        match self.number::<usize>()? {
            i if i == want => Ok(()),
            i => Err(format!("this is number {i}, expected {want}")),
        }
    }

    /// `%7`.
    pub(super) fn value(&mut self) -> Parsed<ValueId> {
        match self.peek() {
            Some(Token::Word(w)) if w.starts_with('%') => {
                let id = number(&w[1..])?;
                self.at += 1;
                Ok(ValueId(id))
            }
            _ => Err(format!("expected a value such as `%7`, found {}", self.found())),
        }
    }

    pub(super) fn values(&mut self) -> Parsed<Vec<ValueId>> {
        let mut out = Vec::new();
        while matches!(self.peek(), Some(Token::Word(w)) if w.starts_with('%')) {
            out.push(self.value()?);
        }
        Ok(out)
    }

    /// `[4,3]`.
    pub(super) fn shape(&mut self) -> Parsed<Shape> {
        self.mark('[')?;
        let mut out = Vec::new();
        if !self.is_mark(']') {
            out.push(self.number()?);
            while self.is_mark(',') {
                self.at += 1;
                out.push(self.number()?);
            }
        }
        self.mark(']')?;
        Ok(out)
    }

    pub(super) fn fields(&mut self) -> Parsed<Vec<Field>> {
        let mut out = Vec::new();
        if self.keyword("fields").is_ok() {
            while matches!(self.peek(), Some(Token::Text(_))) {
                out.push(Field { name: self.text()?, shape: self.shape()? });
            }
        }
        Ok(out)
    }

    /// `A64`, `B5`.
    pub(super) fn domain(&mut self) -> Parsed<Dom> {
        domain(self.word()?)
    }

    /// `: A64[2,3]`, `: own.B5[7]`.
    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.mark(':')?;
        let word = self.word()?;
        let (word, groups) = match word.split_once(".g") {
            None => (word.to_string(), 0),
            Some((hold, rest)) => {
                let (groups, dom) = rest.split_once('.').ok_or("expected `.` after the groups")?;
                (format!("{hold}.{dom}"), number(groups)?)
            }
        };
        let (hold, dom) = match word.split_once('.') {
            None => (Hold::Rep, word.as_str()),
            Some((name, dom)) => {
                let mut others = Hold::ALL.into_iter().filter(|&h| h != Hold::Rep);
                let hold = others.find(|h| h.name() == name);
                (hold.ok_or_else(|| format!("`{name}` is no holder"))?, dom)
            }
        };
        Ok(Type { hold, dom: domain(dom)?, shape: self.shape()?, groups })
    }
}

fn domain(word: &str) -> Parsed<Dom> {
    match word.split_at_checked(1) {
        Some(("A", k)) => Ok(Dom::Ring(number(k)?)),
        Some(("B", w)) => Ok(Dom::Bits(number(w)?)),
        _ => Err(format!("`{word}` is no domain: `A` or `B` and a number of bits")),
    }
}
