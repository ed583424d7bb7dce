//! From text to a graph.
//!
//! Nothing in a text is trusted: sizes are bounded before anything is allocated or multiplied, and
//! every error names its line. The bounds also keep the arithmetic of `infer` from
//! overflowing.

use super::cursor::{Attributes, Cursor, MAX_ATTRIBUTE, MAX_FRAC, Value, bounded, real};
use super::lex::{error, items};
use super::print::type_text;
use super::{Result, TextError};
use crate::graph::Giver;
use crate::graph::op::Visitor;
use crate::graph::{Graph, InRange, Input, NodeId, Op, Output, Site, Table, Type, infer};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;

/// Entries of all tables of a graph together.
const MAX_TABLE_ENTRIES: usize = 1 << 24;

/// Reads a graph from its text; see the module docs of [`super`]. Never panics.
pub fn parse(text: &str) -> Result<Graph> {
    let mut parser = Parser { graph: Graph::default(), entries: 0 };
    for (i, item) in items(text)?.into_iter().enumerate() {
        let mut cursor = Cursor::new(item);
        let first = i == 0;
        if first != cursor.peek_word("graph") {
            let why = if first { "a graph starts with `graph NAME`" } else { "a second `graph`" };
            return error(cursor.line, why);
        }
        parser.item(&mut cursor)?;
        cursor.end()?;
    }
    Ok(parser.graph)
}

struct Parser {
    graph: Graph,
    /// Table entries read so far.
    entries: usize,
}

impl Parser {
    fn item(&mut self, c: &mut Cursor) -> Result<()> {
        if c.eat('%') {
            return self.node(c);
        }
        let line = c.line;
        match c.bare("an item")? {
            "graph" => self.graph.name = c.name()?,
            "size" => {
                let name = c.name()?;
                c.mark('=')?;
                let value = c.name()?;
                self.graph.sizes.push((name, value));
            }
            "parties" => {
                let name = c.name()?;
                if self.graph.parties.iter().any(|(n, _)| *n == name) {
                    return error(line, format!("two party sets are named {name}"));
                }
                c.mark('[')?;
                let size = c.number(MAX_ATTRIBUTE)?;
                c.mark(']')?;
                self.graph.parties.push((name, size));
            }
            "frac" => {
                if self.graph.frac.is_some() || !self.graph.is_empty() {
                    return error(line, "`frac` stands once, before the nodes");
                }
                self.graph.frac = Some(c.number(u64::from(MAX_FRAC))? as u32);
            }
            "input" => self.input(c)?,
            "site" => {
                self.next_index(c, self.graph.sites.len(), "site")?;
                let name = c.name()?;
                c.keyword("line")?;
                let line = c.number(u64::from(u32::MAX))? as u32;
                let range = if c.eat_word("compares") {
                    Some(InRange::Compares)
                } else if c.eat_word("keeps") {
                    Some(InRange::Keeps { name: c.name()?, range: (c.real()?, c.real()?) })
                } else {
                    None
                };
                self.graph.sites.push(Site { name, line, range, ..Site::default() });
            }
            "reveal" => self.output(c)?,
            other => return error(line, format!("`{other}` starts no item")),
        }
        Ok(())
    }

    fn next_index(&self, c: &mut Cursor, next: usize, what: &str) -> Result<()> {
        let line = c.line;
        if c.number(u64::MAX)? != next as u64 {
            return error(line, format!("{what}s are numbered in order; this is {what} {next}"));
        }
        Ok(())
    }

    fn set(&self, c: &mut Cursor) -> Result<u32> {
        let line = c.line;
        let name = c.name()?;
        match self.graph.parties.iter().position(|(n, _)| *n == name) {
            Some(i) => Ok(i as u32),
            None => error(line, format!("no party set {name}")),
        }
    }

    fn site(&self, c: &mut Cursor) -> Result<u32> {
        c.mark('@')?;
        let line = c.line;
        let site = c.number(u64::from(u32::MAX))?;
        if site >= self.graph.sites.len() as u64 {
            return error(line, format!("no site {site}"));
        }
        Ok(site as u32)
    }

    fn input(&mut self, c: &mut Cursor) -> Result<()> {
        self.next_index(c, self.graph.inputs.len(), "input")?;
        let name = c.name()?;
        c.mark(':')?;
        let line = c.line;
        let Type { elem, shape, secrecy, frac } = c.ty()?;
        if frac.is_some() && (elem != Elem::Fix || self.graph.frac.is_none()) {
            return error(line, "only a `fix` has a scale of its own, in a graph with `frac`");
        }
        c.keyword("in")?;
        let line = c.line;
        let Some((lo, hi)) = c.bare("a range")?.split_once("..") else {
            return error(line, "a range is two numbers with `..` between");
        };
        let range = (real(lo, line)?, real(hi, line)?);
        let one_hot = if c.eat_word("one_hot") { Some(c.number(MAX_ATTRIBUTE)?) } else { None };
        let mut from = Giver::Public;
        if secrecy == Secrecy::Secret {
            from = if c.eat_word("state") {
                Giver::State(c.real()?)
            } else {
                c.keyword("from")?;
                c.keyword("each")?;
                Giver::Each(self.set(c)?)
            };
        } else if c.eat_word("present") {
            from = Giver::Present(self.set(c)?);
        }
        let fields = c.fields()?;
        self.graph.inputs.push(Input { name, from, elem, range, shape, fields, one_hot, frac });
        Ok(())
    }

    fn operand(&self, c: &mut Cursor) -> Result<NodeId> {
        let line = c.line;
        let id = c.number(u64::from(u32::MAX))?;
        if id >= self.graph.len() as u64 {
            return error(line, format!("%{id} is not defined above"));
        }
        Ok(NodeId(id as u32))
    }

    fn output(&mut self, c: &mut Cursor) -> Result<()> {
        c.mark('%')?;
        let node = self.operand(c)?;
        c.keyword("to")?;
        let (to, state) = match c.eat_word("state") {
            true => (0, Some(c.number(MAX_ATTRIBUTE)? as u32)),
            false => (self.set(c)?, None),
        };
        c.keyword("as")?;
        let name = c.name()?;
        let factor = if c.eat('*') { c.real()? } else { 1.0 };
        let divisor = if c.eat('/') { c.real()? } else { 1.0 };
        let site = self.site(c)?;
        let fields = c.fields()?;
        self.graph.outputs.push(Output { name, to, state, node, factor, divisor, fields, site });
        Ok(())
    }

    fn node(&mut self, c: &mut Cursor) -> Result<()> {
        self.next_index(c, self.graph.len(), "node")?;
        c.mark('=')?;
        let line = c.line;
        let name = c.bare("an operation")?;
        let mut args = Vec::new();
        while c.eat('%') {
            args.push(self.operand(c)?);
        }
        let mut attrs = Attributes::new(name, line);
        let mut table = Vec::new();
        match name {
            "const" => table = self.table(c)?,
            "input" => attrs.list.push(("", Value::Number(c.number(MAX_ATTRIBUTE)? as f64))),
            _ => attrs.list = c.attributes()?,
        }
        c.mark(':')?;
        let ty = c.ty()?;
        let Some(mut op) = Op::named(name) else {
            return error(line, format!("no operation `{name}`"));
        };
        op.visit(&mut Reader { written: &mut attrs, entries: table, ty: &ty })?;
        if let Some((left, _)) = attrs.list.first() {
            return error(line, format!("{name} has no attribute `{left}`"));
        }
        let site = self.site(c)?;
        let types: Vec<&Type> = args.iter().map(|&a| self.graph.ty(a)).collect();
        let inferred = infer::infer(&self.graph, &op, &types)
            .or_else(|why| error(line, format!("{name}: {why}")))?;
        bounded(&inferred.shape, line)?;
        if inferred.frac > Some(MAX_FRAC) {
            return error(line, format!("more than {MAX_FRAC} fraction bits"));
        }
        if inferred != ty {
            let (written, inferred) = (type_text(&ty), type_text(&inferred));
            return error(line, format!("{name} gives {inferred}, not {written}"));
        }
        self.graph.add_typed(op, ty, &args, site);
        Ok(())
    }

    /// One number, or a list with runs `3x2` and `0..10`.
    fn table(&mut self, c: &mut Cursor) -> Result<Vec<f64>> {
        let mut data = Vec::new();
        if !c.eat('[') {
            data.push(c.real()?);
            self.entries += 1;
        } else if !c.eat(']') {
            loop {
                self.entry(c, &mut data)?;
                if c.eat(']') {
                    break;
                }
                c.mark(',')?;
            }
        }
        Ok(data)
    }

    fn entry(&mut self, c: &mut Cursor, data: &mut Vec<f64>) -> Result<()> {
        let line = c.line;
        let text = c.bare("a number")?;
        let mut reserve = |n: u64| {
            let left = MAX_TABLE_ENTRIES.saturating_sub(self.entries);
            if n > left as u64 {
                return error(line, format!("more than {MAX_TABLE_ENTRIES} table entries"));
            }
            self.entries += n as usize;
            Ok(n as usize)
        };
        if let Some((lo, hi)) = text.split_once("..") {
            let (Ok(lo), Ok(hi)) = (lo.parse::<i64>(), hi.parse::<i64>()) else {
                return error(line, format!("`{text}` is not a range of integers"));
            };
            let exact = -(1 << 53)..=1 << 53;
            if lo >= hi || !exact.contains(&lo) || !exact.contains(&hi) {
                return error(line, format!("`{text}` is not an ascending range below 2^53"));
            }
            reserve(lo.abs_diff(hi))?;
            data.extend((lo..hi).map(|x| x as f64));
        } else if let Some((n, x)) = text.split_once('x') {
            let Ok(n) = n.parse::<u64>() else {
                return error(line, format!("`{n}` is not a count"));
            };
            let (n, x) = (reserve(n)?, real(x, line)?);
            data.resize(data.len() + n, x);
        } else {
            reserve(1)?;
            data.push(real(text, line)?);
        }
        Ok(())
    }
}

/// Sets the attributes of an operation to what is written.
struct Reader<'a, 'b> {
    written: &'a mut Attributes<'b>,
    entries: Vec<f64>,
    ty: &'a Type,
}

impl Visitor for Reader<'_, '_> {
    type Error = TextError;

    fn index(&mut self, x: &mut u32) -> Result<()> {
        *x = self.written.number("")? as u32;
        Ok(())
    }

    fn number(&mut self, name: &'static str, x: &mut u64) -> Result<()> {
        *x = self.written.number(name)?;
        Ok(())
    }

    fn number_or_one(&mut self, name: &'static str, x: &mut u64) -> Result<()> {
        *x = if self.written.has(name) { self.written.number(name)? } else { 1 };
        Ok(())
    }

    fn bits(&mut self, name: &'static str, x: &mut u32) -> Result<()> {
        *x = self.written.bits(name)?;
        Ok(())
    }

    fn real(&mut self, name: &'static str, x: &mut f64) -> Result<()> {
        *x = self.written.real(name)?;
        Ok(())
    }

    fn flag(&mut self, name: &'static str, x: &mut bool) -> Result<()> {
        *x = self.written.flag(name);
        Ok(())
    }

    fn numbers(&mut self, name: &'static str, x: &mut Vec<u64>) -> Result<()> {
        *x = self.written.numbers(name)?;
        Ok(())
    }

    fn shape(&mut self, x: &mut Vec<u64>) -> Result<()> {
        x.clone_from(&self.ty.shape);
        Ok(())
    }

    fn table(&mut self, table: &mut Table, elem: &mut Elem, frac: &mut Option<u32>) -> Result<()> {
        let data = std::mem::take(&mut self.entries).into();
        *table = Table { shape: self.ty.shape.clone(), data };
        (*elem, *frac) = (self.ty.elem, self.ty.frac);
        Ok(())
    }
}
