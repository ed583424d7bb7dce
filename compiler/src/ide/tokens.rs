//! What each word of a text is, for highlighting.

use super::document::Document;
use super::names::{DefKind, Target, Word as Bare};
use super::position::Range;
use crate::source::{FileId, Span};
use crate::syntax::KEYWORDS;
use crate::syntax::ast::{Demanded, ItemKind};
use crate::syntax::lexer::lex;
use crate::syntax::token::Token as Word;
use crate::types::model;

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word of the language.
    Keyword,
    Number,
    Text,
    Comment,
    Function,
    /// A type, a model, a block or a layer of the compiler.
    Type,
    /// A predicate or a party set.
    Class,
    /// A size or a parameter.
    Parameter,
    Variable,
    /// A layer of a model, or a field.
    Property,
    Namespace,
}

impl TokenKind {
    /// All of them, in the order of their numbers in the protocol, with their names there.
    pub const ALL: [(TokenKind, &'static str); 11] = [
        (TokenKind::Keyword, "keyword"),
        (TokenKind::Number, "number"),
        (TokenKind::Text, "string"),
        (TokenKind::Comment, "comment"),
        (TokenKind::Function, "function"),
        (TokenKind::Type, "type"),
        (TokenKind::Class, "class"),
        (TokenKind::Parameter, "parameter"),
        (TokenKind::Variable, "variable"),
        (TokenKind::Property, "property"),
        (TokenKind::Namespace, "namespace"),
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Where, on one line.
    pub range: Range,
    pub kind: TokenKind,
}

impl Document {
    /// The words of the text that are highlighted, in order.
    pub fn tokens(&self) -> Vec<Token> {
        let lexed = lex(FileId(0), &self.text);
        let span = |start: usize, end: usize| Span {
            file: FileId(0),
            start: start as u32,
            end: end as u32,
        };
        let mut found: Vec<(Span, TokenKind)> = Vec::new();
        for (start, word, end) in &lexed.tokens {
            let text = self.text.get(*start..*end).unwrap_or("");
            let kind = match word {
                Word::Ident(_) => continue,
                _ if KEYWORDS.contains(&text) => TokenKind::Keyword,
                _ if text.starts_with('"') => TokenKind::Text,
                _ if text.starts_with(|c: char| c.is_ascii_digit()) => TokenKind::Number,
                _ => continue,
            };
            found.push((span(*start, *end), kind));
        }
        found.extend(self.names.refs.iter().map(|(span, target)| (*span, self.kind(*target))));
        found.extend(
            lexed
                .comments
                .iter()
                .map(|c| (span(c.start, c.start + c.text.len()), TokenKind::Comment)),
        );
        found.sort_by_key(|(s, _)| (s.start, s.end));
        found.dedup_by_key(|(s, _)| s.start);
        let token = |(span, kind): (Span, TokenKind)| Token { range: self.range(span), kind };
        let tokens = found.into_iter().map(token);
        tokens.filter(|t| t.range.start.line == t.range.end.line).collect()
    }

    fn kind(&self, target: Target) -> TokenKind {
        match target {
            Target::Here(def) => match self.names.defs.get(def).map(|d| d.kind) {
                Some(DefKind::Item(i)) => match self.tree.items.get(i).map(|i| &i.kind) {
                    Some(ItemKind::Fn(_)) => TokenKind::Function,
                    Some(ItemKind::Block(_)) => TokenKind::Type,
                    Some(ItemKind::Predicate(_)) => TokenKind::Class,
                    _ => TokenKind::Variable,
                },
                Some(DefKind::Size | DefKind::Param) => TokenKind::Parameter,
                Some(DefKind::Parties) => TokenKind::Class,
                Some(DefKind::Layer) => TokenKind::Property,
                _ => TokenKind::Variable,
            },
            Target::Library(item) => match item.item.kind {
                ItemKind::Fn(_) => TokenKind::Function,
                _ => TokenKind::Type,
            },
            Target::Builtin(name) if model::is_field(name) => TokenKind::Property,
            Target::Builtin(name) if Demanded::named(name).is_some() => TokenKind::Function,
            Target::Builtin(_) => TokenKind::Type,
            Target::Word(Bare::Library) => TokenKind::Namespace,
            Target::Word(Bare::Size) => TokenKind::Parameter,
            Target::Word(Bare::Field) => TokenKind::Property,
            Target::Word(Bare::Law) => TokenKind::Function,
        }
    }
}
