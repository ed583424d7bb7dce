//! Reading the tokens of one item: numbers, names, shapes, types and attributes, within bounds.

use super::Result;
use super::lex::{Item, Token, error};
use crate::graph::Type;
use crate::graph::infer::ELEMENTS_END;
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;

/// Attributes (axes, strides, lengths) are at most this.
pub(super) const MAX_ATTRIBUTE: u64 = 1 << 31;
/// Fraction bits are at most this.
pub(super) const MAX_FRAC: u32 = 1 << 10;

/// Refuses shapes with too many elements, whatever the order in which they are multiplied.
pub(super) fn bounded(shape: &[u64], line: usize) -> Result<()> {
    let n = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d.max(1)));
    match n {
        Some(n) if n < ELEMENTS_END => Ok(()),
        _ => error(line, format!("shape {shape:?} is too large")),
    }
}

pub(super) fn real(text: &str, line: usize) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(x) if !x.is_nan() => Ok(x),
        _ => error(line, format!("`{text}` is not a number")),
    }
}

/// Attributes of an operation, in the order written.
pub(super) struct Attributes<'a> {
    /// Line of the operation.
    pub line: usize,
    op: &'a str,
    pub list: Vec<(&'a str, Value)>,
}

pub(super) enum Value {
    Flag,
    Number(f64),
    List(Vec<u64>),
}

impl<'a> Attributes<'a> {
    pub(super) fn new(op: &'a str, line: usize) -> Self {
        Attributes { line, op, list: Vec::new() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.list.iter().any(|(n, _)| *n == name)
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.list.iter().position(|(n, _)| *n == name)?;
        Some(self.list.remove(at).1)
    }

    /// Whether a flag stands there; one with a value is left over, and so refused.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let at = self.list.iter().position(|(n, v)| *n == name && matches!(v, Value::Flag));
        at.map(|at| self.list.remove(at)).is_some()
    }

    pub(super) fn real(&mut self, name: &str) -> Result<f64> {
        match self.take(name) {
            Some(Value::Number(x)) => Ok(x),
            _ => error(self.line, format!("{} needs `{name}=` a number", self.op)),
        }
    }

    pub(super) fn number(&mut self, name: &str) -> Result<u64> {
        let x = self.real(name)?;
        if x.fract() == 0.0 && (0.0..=MAX_ATTRIBUTE as f64).contains(&x) {
            Ok(x as u64)
        } else {
            error(self.line, format!("`{name}` must be an integer in 0..={MAX_ATTRIBUTE}"))
        }
    }

    pub(super) fn bits(&mut self, name: &str) -> Result<u32> {
        let x = self.number(name)?;
        if x <= u64::from(MAX_FRAC) {
            Ok(x as u32)
        } else {
            error(self.line, format!("`{name}` is at most {MAX_FRAC}"))
        }
    }

    pub(super) fn numbers(&mut self, name: &str) -> Result<Vec<u64>> {
        match self.take(name) {
            Some(Value::List(x)) => Ok(x),
            _ => error(self.line, format!("{} needs `{name}=` a list", self.op)),
        }
    }
}

/// A position in an item.
pub(super) struct Cursor<'a> {
    item: Item<'a>,
    at: usize,
    /// Line of the token at `at`, or of the last one.
    pub line: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(item: Item<'a>) -> Self {
        Cursor { line: item.line, item, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<&Token<'a>> {
        self.item.tokens.get(self.at).map(|(t, _)| t)
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
        if let Some((_, line)) = self.item.tokens.get(self.at) {
            self.line = *line;
        }
    }

    pub(super) fn expected<T>(&self, what: &str) -> Result<T> {
        match self.peek() {
            None => error(self.line, format!("expected {what}, the item ends here")),
            Some(Token::Bare(w)) => error(self.line, format!("expected {what}, found `{w}`")),
            Some(Token::Quoted(t)) => error(self.line, format!("expected {what}, found {t:?}")),
            Some(Token::Mark(m)) => error(self.line, format!("expected {what}, found `{m}`")),
        }
    }

    pub(super) fn end(&self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { self.expected("the end of the item") }
    }

    pub(super) fn eat(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn mark(&mut self, mark: char) -> Result<()> {
        if self.eat(mark) { Ok(()) } else { self.expected(&format!("`{mark}`")) }
    }

    pub(super) fn peek_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Bare(w)) if *w == word)
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word(word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn keyword(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    pub(super) fn bare(&mut self, what: &str) -> Result<&'a str> {
        let Some(Token::Bare(word)) = self.peek() else { return self.expected(what) };
        let word = *word;
        self.advance();
        Ok(word)
    }

    pub(super) fn name(&mut self) -> Result<String> {
        let name = match self.peek() {
            Some(Token::Bare(word)) => word.to_string(),
            Some(Token::Quoted(text)) => text.clone(),
            _ => return self.expected("a name"),
        };
        self.advance();
        Ok(name)
    }

    pub(super) fn number(&mut self, max: u64) -> Result<u64> {
        let line = self.line;
        let word = self.bare("an integer")?;
        match word.parse::<u64>() {
            Ok(n) if n <= max => Ok(n),
            _ => error(line, format!("`{word}` is not an integer in 0..={max}")),
        }
    }

    pub(super) fn real(&mut self) -> Result<f64> {
        let line = self.line;
        real(self.bare("a number")?, line)
    }

    /// `[1,2]`, or nothing.
    pub(super) fn list(&mut self) -> Result<Vec<u64>> {
        let mut list = Vec::new();
        if self.eat('[') && !self.eat(']') {
            loop {
                list.push(self.number(ELEMENTS_END)?);
                if self.eat(']') {
                    break;
                }
                self.mark(',')?;
            }
        }
        Ok(list)
    }

    pub(super) fn shape(&mut self) -> Result<Vec<u64>> {
        let line = self.line;
        let shape = self.list()?;
        bounded(&shape, line)?;
        Ok(shape)
    }

    pub(super) fn fields(&mut self) -> Result<Vec<(String, Vec<u64>)>> {
        let mut fields = Vec::new();
        if self.eat_word("fields") {
            while self.peek().is_some() {
                fields.push((self.name()?, self.shape()?));
            }
        }
        Ok(fields)
    }

    pub(super) fn ty(&mut self) -> Result<Type> {
        let secrecy = if self.eat_word("public") {
            Secrecy::Public
        } else if self.eat_word("secret") {
            Secrecy::Secret
        } else {
            return self.expected("`public` or `secret`");
        };
        let line = self.line;
        let word = self.bare("`fix`, `int` or `bit`")?;
        let (name, frac) = match word.split_once('.') {
            None => (word, None),
            Some((name, frac)) => match frac.parse::<u32>() {
                Ok(f) if f <= MAX_FRAC => (name, Some(f)),
                _ => return error(line, format!("`{frac}` is not a number of fraction bits")),
            },
        };
        let elem = match name {
            "fix" => Elem::Fix,
            "int" => Elem::Int,
            "bit" => Elem::Bit,
            _ => return error(line, format!("`{name}` is not an element type")),
        };
        Ok(Type { elem, shape: self.shape()?, secrecy, frac })
    }

    pub(super) fn attributes(&mut self) -> Result<Vec<(&'a str, Value)>> {
        let mut list = Vec::new();
        while let Some(Token::Bare(_)) = self.peek() {
            let name = self.bare("an attribute")?;
            let value = if !self.eat('=') {
                Value::Flag
            } else if self.peek() == Some(&Token::Mark('[')) {
                Value::List(self.list()?)
            } else {
                Value::Number(self.real()?)
            };
            list.push((name, value));
        }
        Ok(list)
    }
}
