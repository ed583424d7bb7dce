//! From text to a circuit.

use super::forms;
use super::lex::Token;
use super::tokens::{Parsed, Tokens, number};
use crate::limits::MAX_CONSTS;
use crate::{
    Check, Circuit, Const, Encoding, From, Input, Instr, Layer, Output, PartySet, Security, Site,
    Type, ValueId,
};
use std::collections::BTreeMap;
use thiserror::Error;

/// Text that is not a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct TextError {
    /// 1-based.
    pub line: usize,
    pub what: String,
}

/// Reads the text of a circuit. Does not verify it.
///
/// # Errors
///
/// The first line that cannot be understood.
pub fn parse(text: &str) -> Result<Circuit, TextError> {
    let mut reader = Reader::default();
    let mut last = 1;
    for (i, line) in text.lines().enumerate() {
        last = i + 1;
        reader.line(line).map_err(|what| TextError { line: last, what })?;
    }
    reader.finish().map_err(|what| TextError { line: last, what })
}

/// Where in a layer the next instruction belongs.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Section {
    Header,
    Local,
    Exchange,
    Dropped,
}

struct Reader {
    name: Option<String>,
    circuit: Circuit,
    /// Types by value id, which come in any order.
    types: BTreeMap<ValueId, Type>,
    /// Words of all constants so far.
    words: usize,
    /// How far into the header; statements of a kind stand together.
    kind: usize,
    section: Section,
}

impl Default for Reader {
    fn default() -> Self {
        let circuit = Circuit {
            name: String::new(),
            sizes: Vec::new(),
            parties: Vec::new(),
            inputs: Vec::new(),
            consts: Vec::new(),
            types: Vec::new(),
            sites: Vec::new(),
            layers: Vec::new(),
            outputs: Vec::new(),
            checks: Vec::new(),
            security: Security::default(),
        };
        let section = Section::Header;
        Reader { name: None, circuit, types: BTreeMap::new(), words: 0, kind: 0, section }
    }
}

/// Statements of the header, in their order.
const HEADER: [&str; 9] =
    ["circuit", "security", "size", "party", "input", "const", "output", "check", "site"];

impl Reader {
    fn line(&mut self, line: &str) -> Parsed<()> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let mut t = Tokens::of(line)?;
        match t.peek() {
            Some(Token::Word("layer")) => self.layer(&mut t)?,
            Some(Token::Word("exchange")) if self.section == Section::Local => {
                t.skip();
                t.mark(':')?;
                self.section = Section::Exchange;
            }
            Some(Token::Word("drop")) if self.section != Section::Header => {
                if self.section == Section::Dropped {
                    return Err("a layer has one `drop`".into());
                }
                t.skip();
                let drop = t.values()?;
                self.last_layer()?.drop = drop;
                self.section = Section::Dropped;
            }
            Some(Token::Word(word)) if HEADER.contains(word) => self.header(&mut t)?,
            _ => self.instr(&mut t)?,
        }
        t.end()
    }

    fn layer(&mut self, t: &mut Tokens<'_>) -> Parsed<()> {
        t.skip();
        t.index(self.circuit.layers.len())?;
        t.mark(':')?;
        self.circuit.layers.push(Layer::default());
        self.section = Section::Local;
        Ok(())
    }

    fn header(&mut self, t: &mut Tokens<'_>) -> Parsed<()> {
        let word = t.word()?;
        let kind = HEADER.iter().position(|h| *h == word).unwrap_or(0);
        if self.section != Section::Header || kind < self.kind || (self.name.is_some() && kind == 0)
        {
            return Err(format!("`{word}` does not belong here; the order is {HEADER:?}, layers"));
        }
        self.kind = kind;
        match kind {
            0 => self.name = Some(t.text()?),
            1 => {
                let name = t.word()?;
                let mut all = Security::ALL.into_iter();
                self.circuit.security = all.find(|s| s.token() == name).ok_or_else(|| {
                    format!("`{name}` is no adversary: `semi_honest` or `malicious`")
                })?;
            }
            2 => {
                let name = t.text()?;
                t.mark('=')?;
                self.circuit.sizes.push((name, t.text()?));
            }
            3 => self.circuit.parties.push(PartySet { name: t.text()?, size: t.number()? }),
            4 => self.input(t)?,
            5 => self.constant(t)?,
            6 => {
                t.index(self.circuit.outputs.len())?;
                let name = t.text()?;
                self.circuit.outputs.push(Output {
                    name,
                    to: t.named("to")?,
                    shape: t.shape()?,
                    ring: t.named("ring")?,
                    frac: t.named("frac")?,
                    factor: t.named("factor")?,
                    divisor: t.named("divisor")?,
                    fields: t.fields()?,
                });
            }
            7 => self.circuit.checks.push(Check { set: t.number()?, value: t.value()? }),
            _ => {
                t.index(self.circuit.sites.len())?;
                self.circuit.sites.push(Site { name: t.text()?, line: t.named("line")? });
            }
        }
        Ok(())
    }

    fn input(&mut self, t: &mut Tokens<'_>) -> Parsed<()> {
        let value = t.value()?;
        let name = t.text()?;
        t.keyword("from")?;
        let from = match t.word()? {
            "public" => From::Public,
            "state" => From::State(t.number()?),
            "present" => From::Present(t.number()?),
            set => From::Each(number(set)?),
        };
        let encoding = match t.word()? {
            "fixed" => {
                t.mark('(')?;
                let frac = t.number()?;
                t.mark(',')?;
                let lo = t.number()?;
                t.mark(',')?;
                let hi = t.number()?;
                let (mut shift, mut norm) = (0, f64::INFINITY);
                while t.is_mark(',') {
                    t.mark(',')?;
                    match t.word()? {
                        "shift" => shift = t.number()?,
                        "norm" => norm = t.number()?,
                        word => {
                            return Err(format!("`{word}` where `shift` or `norm` is expected"));
                        }
                    }
                }
                Encoding::Fixed { frac, lo, hi, shift, norm }
            }
            "int" => {
                t.mark('(')?;
                let lo = t.number()?;
                t.mark(',')?;
                Encoding::Int { lo, hi: t.number()? }
            }
            "one_hot" => {
                t.mark('(')?;
                Encoding::OneHot { classes: t.number()? }
            }
            word => return Err(format!("`{word}` is no encoding: `fixed`, `int` or `one_hot`")),
        };
        t.mark(')')?;
        let (shape, fields) = (t.shape()?, t.fields()?);
        let ty = t.ty()?;
        self.define(value, ty)?;
        self.circuit.inputs.push(Input { name, from, encoding, shape, fields, value });
        Ok(())
    }

    fn constant(&mut self, t: &mut Tokens<'_>) -> Parsed<()> {
        let value = t.value()?;
        let ty = t.ty()?;
        self.define(value, ty)?;
        t.mark('=')?;
        let mut data: Vec<u128> = Vec::new();
        while let Some(Token::Word(word)) = t.peek() {
            let word = *word;
            t.skip();
            // The first word and how many there are; counted before anything is allocated.
            let (first, count, step) = if let Some((lo, hi)) = word.split_once("..") {
                let (lo, hi): (u128, u128) = (number(lo)?, number(hi)?);
                (lo, hi.saturating_sub(lo), 1)
            } else if let Some((x, n)) = word.split_once('x') {
                (number(x)?, number(n)?, 0)
            } else {
                (number(word)?, 1, 0)
            };
            let room = (MAX_CONSTS - self.words) as u128;
            if count > room {
                return Err(format!("more than {MAX_CONSTS} words of constants"));
            }
            self.words += count as usize;
            data.extend((0..count).map(|i| first + i * step));
        }
        self.circuit.consts.push(Const { value, data });
        Ok(())
    }

    fn instr(&mut self, t: &mut Tokens<'_>) -> Parsed<()> {
        let section = self.section;
        if !matches!(section, Section::Local | Section::Exchange) {
            return Err("expected a statement; instructions stand in a layer, before `drop`".into());
        }
        let out = match t.ahead(1) {
            Some(Token::Mark('=')) => {
                let value = t.value()?;
                t.mark('=')?;
                Some(value)
            }
            _ => None,
        };
        let op = forms::parse(t)?;
        if let Some(value) = out {
            let ty = t.ty()?;
            self.define(value, ty)?;
        }
        let site = t.word()?;
        let site = number(site.strip_prefix('@').ok_or("expected `@` and a site")?)?;
        let layer = self.last_layer()?;
        let instrs = if section == Section::Local { &mut layer.local } else { &mut layer.exchange };
        instrs.push(Instr { out, op, site });
        Ok(())
    }

    fn last_layer(&mut self) -> Parsed<&mut Layer> {
        self.circuit.layers.last_mut().ok_or_else(|| "there is no layer yet".into())
    }

    fn define(&mut self, value: ValueId, ty: Type) -> Parsed<()> {
        match self.types.insert(value, ty) {
            None => Ok(()),
            Some(_) => Err(format!("{value} is defined twice")),
        }
    }

    fn finish(mut self) -> Parsed<Circuit> {
        self.circuit.name = self.name.ok_or("a circuit starts with `circuit` and its name")?;
        for (i, (value, ty)) in self.types.into_iter().enumerate() {
            if value.index() != i {
                return Err(format!("%{i} is not defined, but {value} is"));
            }
            self.circuit.types.push(ty);
        }
        Ok(self.circuit)
    }
}
