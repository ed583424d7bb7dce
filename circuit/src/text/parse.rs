//! From text to a circuit.

use super::super::multi_and::MultiAnd;
use super::super::verify::MAX_CONSTS;
use super::super::{
    Check, Circuit, Const, Dom, Encoding, Field, From, Hold, Input, Instr, Layer, Op, Output,
    PartySet, Shape, Site, SplitPart, Type, ValueId,
};
use super::lex::{Token, tokens};
use std::collections::BTreeMap;
use std::str::FromStr;
use thiserror::Error;

/// Text that is not a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct TextError {
    /// 1-based.
    pub line: usize,
    /// What is wrong.
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

type Parsed<T> = Result<T, String>;

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
        };
        let section = Section::Header;
        Reader { name: None, circuit, types: BTreeMap::new(), words: 0, kind: 0, section }
    }
}

/// Statements of the header, in their order.
const HEADER: [&str; 8] = ["circuit", "size", "party", "input", "const", "output", "check", "site"];

impl Reader {
    fn line(&mut self, line: &str) -> Parsed<()> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let mut t = Tokens { tokens: tokens(line)?, at: 0 };
        match t.tokens.first() {
            Some(Token::Word("layer")) => self.layer(&mut t)?,
            Some(Token::Word("exchange")) if self.section == Section::Local => {
                t.at = 1;
                t.mark(':')?;
                self.section = Section::Exchange;
            }
            Some(Token::Word("drop")) if self.section != Section::Header => {
                if self.section == Section::Dropped {
                    return Err("a layer has one `drop`".into());
                }
                t.at = 1;
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
        t.at = 1;
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
                let name = t.text()?;
                t.mark('=')?;
                self.circuit.sizes.push((name, t.text()?));
            }
            2 => self.circuit.parties.push(PartySet { name: t.text()?, size: t.number()? }),
            3 => self.input(t)?,
            4 => self.constant(t)?,
            5 => {
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
            6 => self.circuit.checks.push(Check { set: t.number()?, value: t.value()? }),
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
            t.at += 1;
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
        let out = match t.tokens.get(1) {
            Some(Token::Mark('=')) => {
                let value = t.value()?;
                t.mark('=')?;
                Some(value)
            }
            _ => None,
        };
        let op = t.op()?;
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

fn number<T: FromStr>(word: &str) -> Parsed<T> {
    word.parse().map_err(|_| format!("`{word}` is not a number that fits here"))
}

struct Tokens<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at)
    }

    fn found(&self) -> String {
        match self.peek() {
            None => "the end of the line".into(),
            Some(Token::Mark(c)) => format!("`{c}`"),
            Some(Token::Text(_)) => "a string".into(),
            Some(Token::Word(w)) => format!("`{w}`"),
        }
    }

    fn end(&self) -> Parsed<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(format!("expected the end of the line, found {}", self.found())),
        }
    }

    fn word(&mut self) -> Parsed<&'a str> {
        match self.peek() {
            Some(&Token::Word(w)) => {
                self.at += 1;
                Ok(w)
            }
            _ => Err(format!("expected a word, found {}", self.found())),
        }
    }

    fn text(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Token::Text(s)) => {
                let s = s.clone();
                self.at += 1;
                Ok(s)
            }
            _ => Err(format!("expected a string, found {}", self.found())),
        }
    }

    fn is_mark(&self, c: char) -> bool {
        self.peek() == Some(&Token::Mark(c))
    }

    fn mark(&mut self, c: char) -> Parsed<()> {
        if !self.is_mark(c) {
            return Err(format!("expected `{c}`, found {}", self.found()));
        }
        self.at += 1;
        Ok(())
    }

    fn keyword(&mut self, word: &str) -> Parsed<()> {
        match self.peek() {
            Some(Token::Word(w)) if *w == word => {
                self.at += 1;
                Ok(())
            }
            _ => Err(format!("expected `{word}`, found {}", self.found())),
        }
    }

    fn number<T: FromStr>(&mut self) -> Parsed<T> {
        number(self.word()?)
    }

    fn named<T: FromStr>(&mut self, name: &str) -> Parsed<T> {
        self.keyword(name)?;
        self.number()
    }

    /// A running number, which is in the text for its reader.
    fn index(&mut self, want: usize) -> Parsed<()> {
        match self.number::<usize>()? {
            i if i == want => Ok(()),
            i => Err(format!("this is number {i}, expected {want}")),
        }
    }

    fn value(&mut self) -> Parsed<ValueId> {
        match self.peek() {
            Some(Token::Word(w)) if w.starts_with('%') => {
                let id = number(&w[1..])?;
                self.at += 1;
                Ok(ValueId(id))
            }
            _ => Err(format!("expected a value such as `%7`, found {}", self.found())),
        }
    }

    fn values(&mut self) -> Parsed<Vec<ValueId>> {
        let mut out = Vec::new();
        while matches!(self.peek(), Some(Token::Word(w)) if w.starts_with('%')) {
            out.push(self.value()?);
        }
        Ok(out)
    }

    fn shape(&mut self) -> Parsed<Shape> {
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

    fn fields(&mut self) -> Parsed<Vec<Field>> {
        let mut out = Vec::new();
        if self.keyword("fields").is_ok() {
            while matches!(self.peek(), Some(Token::Text(_))) {
                out.push(Field { name: self.text()?, shape: self.shape()? });
            }
        }
        Ok(out)
    }

    /// `: A64[2,3]`, `: own.B5[7]`.
    fn ty(&mut self) -> Parsed<Type> {
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
            Some((hold, dom)) => {
                let hold = match hold {
                    "pub" => Hold::Public,
                    "add3" => Hold::Add3,
                    "own" => Hold::Own,
                    "dup" => Hold::Dup,
                    "add2" => Hold::Add2,
                    "mask" => Hold::Mask,
                    _ => return Err(format!("`{hold}` is no holder")),
                };
                (hold, dom)
            }
        };
        Ok(Type { hold, dom: domain(dom)?, shape: self.shape()?, groups })
    }

    /// `[4,3]`.
    fn list(&mut self) -> Parsed<Vec<u32>> {
        let numbers: Result<Vec<u32>, _> = self.shape()?.into_iter().map(u32::try_from).collect();
        Ok(numbers.map_err(|_| "a number is too large")?)
    }

    /// `and [4,3]`, `carry [4,4]`.
    fn gates(&mut self) -> Parsed<MultiAnd> {
        let pattern = self.word()?;
        let sizes = self.list()?;
        match pattern {
            "and" => Ok(MultiAnd::And(sizes)),
            "carry" => Ok(MultiAnd::Carry(sizes)),
            _ => Err(format!("`{pattern}` is no pattern: `and` or `carry`")),
        }
    }

    fn op(&mut self) -> Parsed<Op> {
        use Op::{
            Add, Admitted, AsAdd2, AsAdd3, Broadcast, Coin, Committee, Concat, Conv2d, Deal,
            DealMask, Dup, DupOf, Entry, Extend, FromBits, Gather, Input, Join, Mask, MaskOf,
            MaskProducts, MatMul, Mul, Narrow, Neg, Not, Offset, Open, OpenMasked, OpenSum, OpenTo,
            Own, OwnOf, Pick, Planes, Project, Propagate, Raise, Reshape, Reshare, ReshareTwo,
            Scale, SelectPlanes, Shr, Slice, Stack, Sub, Sum, Table, Thermometer, ToBits, ToPlanes,
            Transpose, Trivial,
        };
        let name = self.word()?;
        if name == "stack" {
            return Ok(Stack(self.values()?));
        }
        if name == "concat" {
            return Ok(Concat { xs: self.values()?, axis: self.named("axis")? });
        }
        if name == "coin" {
            return Ok(Coin);
        }
        if name == "mask" {
            let (tag, dom) = (self.number()?, domain(self.word()?)?);
            return Ok(Mask { tag, dom, shape: self.shape()?, groups: self.named("groups")? });
        }
        if name == "admitted" {
            return Ok(Admitted { check: self.number()?, members: self.named("members")? });
        }
        // All others have a first operand.
        let x = if OPS.contains(&name) { self.value()? } else { return Err(no_op(name)) };
        Ok(match name {
            "add" => Add(x, self.value()?),
            "sub" => Sub(x, self.value()?),
            "mul" => Mul(x, self.value()?),
            "neg" => Neg(x),
            "scale" => Scale(x, self.number()?),
            "offset" => Offset(x, self.number()?),
            "matmul" => {
                let b = self.value()?;
                MatMul { a: x, b, trans_b: self.keyword("transposed").is_ok() }
            }
            "conv2d" => {
                let w = self.value()?;
                Conv2d { x, w, stride: self.named("stride")?, pad: self.named("pad")? }
            }
            "sum" => {
                self.keyword("axes")?;
                Sum { x, axes: self.shape()? }
            }
            "narrow" => Narrow(x, self.number()?),
            "raise" => Raise(x, self.number()?),
            "extend" => Extend(x, self.number()?),
            "shr" => Shr(x, self.number()?),
            "to_bits" => ToBits { x, lo: self.named("lo")?, w: self.named("w")? },
            "from_bits" => FromBits(x, self.number()?),
            "not" => Not(x),
            "planes" => Planes {
                x,
                start: self.named("start")?,
                step: self.named("step")?,
                count: self.named("count")?,
            },
            "reshape" => Reshape(x, self.shape()?),
            "transpose" => Transpose(x, self.shape()?),
            "slice" => Slice {
                x,
                axis: self.named("axis")?,
                start: self.named("start")?,
                len: self.named("len")?,
                step: self.named("step")?,
            },
            "broadcast" => Broadcast(x, self.shape()?),
            "gather" => {
                let index = self.value()?;
                Gather { x, index, axis: self.named("axis")?, batch: self.named("batch")? }
            }
            "own" => Own(x),
            "dup" => Dup(x),
            "as_add2" => AsAdd2(x),
            "as_add3" => AsAdd3(x),
            "trivial" => Trivial(x),
            "committee" => Committee { coin: x, n: self.named("n")?, k: self.named("k")? },
            "project" => {
                let (coin, tests) = (self.value()?, self.named("tests")?);
                let part = if self.keyword("own").is_ok() {
                    SplitPart::Own(self.named("groups")?)
                } else if self.keyword("dup").is_ok() {
                    SplitPart::Dup(self.named("groups")?)
                } else {
                    SplitPart::Whole
                };
                Project { x, coin, tests, part }
            }
            "reshare" => Reshare(x),
            "input" => Input(x),
            "deal" => Deal(x),
            "reshare_two" => ReshareTwo(x),
            "open" => Open(x),
            "open_sum" => OpenSum(x),
            "open_to" => OpenTo { x, output: self.named("output")? },
            "mask_of" => MaskOf(x, self.named("groups")?),
            "own_of" => OwnOf(x, self.named("groups")?),
            "dup_of" => DupOf(x, self.named("groups")?),
            "join" => Join { mask: x, dup: self.value()? },
            "select_planes" => SelectPlanes(x, self.list()?),
            "thermometer" => Thermometer { x, blocks: self.list()? },
            "pick" => Pick { table: x, index: self.value()?, blocks: self.list()? },
            "propagate" => Propagate {
                table: x,
                index: self.value()?,
                blocks: self.list()?,
                skip: self.named("skip")?,
            },
            "mask_products" => MaskProducts { x, gates: self.gates()? },
            "and_many" => {
                let (mask, products) = (self.value()?, self.value()?);
                let gates = self.gates()?;
                let nodes = match self.keyword("of") {
                    Ok(()) => Some(self.value()?),
                    Err(_) => None,
                };
                Op::AndMany { open: x, mask, products, nodes, gates }
            }
            "table" => Table { x, table: self.value()? },
            "entry" => Entry { table: x, index: self.value()? },
            "to_planes" => ToPlanes(x),
            "deal_mask" => DealMask(x),
            "open_masked" => OpenMasked { x, mask: self.value()? },
            _ => return Err(no_op(name)),
        })
    }
}

/// `A64`, `B5`.
fn domain(word: &str) -> Parsed<Dom> {
    match word.split_at_checked(1) {
        Some(("A", k)) => Ok(Dom::Ring(number(k)?)),
        Some(("B", w)) => Ok(Dom::Bits(number(w)?)),
        _ => Err(format!("`{word}` is no domain: `A` or `B` and a number of bits")),
    }
}

fn no_op(name: &str) -> String {
    format!("`{name}` is no operation")
}

/// Operations whose first token is a value.
const OPS: [&str; 51] = [
    "select_planes",
    "propagate",
    "table",
    "entry",
    "own_of",
    "open_sum",
    "mask_of",
    "dup_of",
    "join",
    "thermometer",
    "pick",
    "mask_products",
    "and_many",
    "to_planes",
    "deal_mask",
    "open_masked",
    "add",
    "sub",
    "mul",
    "neg",
    "scale",
    "offset",
    "matmul",
    "conv2d",
    "sum",
    "narrow",
    "raise",
    "extend",
    "shr",
    "to_bits",
    "from_bits",
    "not",
    "planes",
    "reshape",
    "transpose",
    "slice",
    "broadcast",
    "gather",
    "own",
    "dup",
    "as_add2",
    "as_add3",
    "trivial",
    "committee",
    "project",
    "reshare",
    "input",
    "deal",
    "reshare_two",
    "open",
    "open_to",
];
