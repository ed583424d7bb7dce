//! From a graph to its text.

use crate::graph::op::Visitor;
use crate::graph::{Giver, Graph, InRange, Input, NodeId, Output, Table, Type};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;
use std::convert::Infallible;
use std::fmt::Write;

/// Columns after which a list goes on in the next line.
const WIDTH: usize = 100;

/// The text of a graph; see the module docs of [`super`].
pub fn print(graph: &Graph) -> String {
    let mut out = format!("graph {}\n", word(&graph.name));
    for (name, value) in &graph.sizes {
        line(&mut out, format!("size {} = {}", word(name), word(value)));
    }
    for (name, size) in &graph.parties {
        line(&mut out, format!("parties {}[{size}]", word(name)));
    }
    if let Some(frac) = graph.frac {
        line(&mut out, format!("frac {frac}"));
    }
    for (i, input) in graph.inputs.iter().enumerate() {
        print_input(&mut out, graph, i, input);
    }
    for (i, site) in graph.sites.iter().enumerate() {
        let range = match &site.range {
            None => String::new(),
            Some(InRange::Compares) => " compares".into(),
            Some(InRange::Keeps { name, range: (lo, hi) }) => {
                format!(" keeps {} {} {}", quoted(name), number(*lo), number(*hi))
            }
        };
        line(&mut out, format!("site {i} {} line {}{range}", quoted(&site.name), site.line));
    }
    if !graph.is_empty() {
        out.push('\n');
    }
    for id in graph.ids() {
        print_node(&mut out, graph, id);
    }
    if !graph.outputs.is_empty() {
        out.push('\n');
    }
    for output in &graph.outputs {
        print_output(&mut out, graph, output);
    }
    out
}

/// A type, e.g. `secret fix.32[10,6]`.
pub(crate) fn type_text(ty: &Type) -> String {
    let secrecy = match ty.secrecy {
        Secrecy::Public => "public",
        Secrecy::Secret => "secret",
    };
    let frac = ty.frac.map(|f| format!(".{f}")).unwrap_or_default();
    format!("{secrecy} {}{frac}{}", elem(ty.elem), shape(&ty.shape))
}

fn line(out: &mut String, text: String) {
    out.push_str(&text);
    out.push('\n');
}

fn elem(elem: Elem) -> &'static str {
    match elem {
        Elem::Fix => "fix",
        Elem::Int => "int",
        Elem::Bit => "bit",
    }
}

fn shape(shape: &[u64]) -> String {
    if shape.is_empty() { String::new() } else { list(shape) }
}

fn list(numbers: &[u64]) -> String {
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("[{}]", texts.join(","))
}

fn set_name(graph: &Graph, set: u32) -> String {
    // A set that does not exist is the verifier's to report; the text shows that it is missing.
    graph.parties.get(set as usize).map_or_else(|| quoted("?"), |(name, _)| word(name))
}

fn print_input(out: &mut String, graph: &Graph, i: usize, input: &Input) {
    let secrecy = if input.from.is_secret() { "secret" } else { "public" };
    let (lo, hi) = input.range;
    let frac = input.frac.map(|f| format!(".{f}")).unwrap_or_default();
    let _ = write!(
        out,
        "input {i} {} : {secrecy} {}{frac}{} in {}..{}",
        word(&input.name),
        elem(input.elem),
        shape(&input.shape),
        number(lo),
        number(hi)
    );
    if let Some(classes) = input.one_hot {
        let _ = write!(out, " one_hot {classes}");
    }
    match input.from {
        Giver::Public => {}
        Giver::Each(set) => {
            let _ = write!(out, " from each {}", set_name(graph, set));
        }
        Giver::State(start) => {
            let _ = write!(out, " state {}", number(start));
        }
        Giver::Present(set) => {
            let _ = write!(out, " present {}", set_name(graph, set));
        }
    }
    print_fields(out, &input.fields);
}

fn print_fields(out: &mut String, fields: &[(String, Vec<u64>)]) {
    if !fields.is_empty() {
        let mut column = out.len() + 1;
        out.push_str("\n    fields");
        for (name, dims) in fields {
            wrapped(out, &mut column, format!(" {}{}", word(name), shape(dims)));
        }
    }
    out.push('\n');
}

/// Appends `item`, which starts with a blank, in a new line if this one is full. `start` is where
/// the line starts.
fn wrapped(out: &mut String, start: &mut usize, item: String) {
    if out.len() - *start + item.len() > WIDTH {
        out.push('\n');
        *start = out.len();
        out.push_str("   ");
    }
    out.push_str(&item);
}

fn print_node(out: &mut String, graph: &Graph, id: NodeId) {
    let node = graph.node(id);
    let start = out.len();
    let _ = write!(out, "%{} = {}", id.index(), node.op.name());
    for arg in graph.args(id) {
        let _ = write!(out, " %{}", arg.index());
    }
    let Ok(()) = node.op.clone().visit(&mut Writer { out, start });
    let _ = writeln!(out, " : {} @{}", type_text(&node.ty), node.site);
}

/// Writes the attributes of an operation.
struct Writer<'a> {
    out: &'a mut String,
    /// Where the line starts.
    start: usize,
}

impl Writer<'_> {
    fn put(&mut self, text: std::fmt::Arguments) -> Result<(), Infallible> {
        let _ = self.out.write_fmt(text);
        Ok(())
    }
}

impl Visitor for Writer<'_> {
    type Error = Infallible;

    fn index(&mut self, x: &mut u32) -> Result<(), Infallible> {
        self.put(format_args!(" {x}"))
    }

    fn number(&mut self, name: &'static str, x: &mut u64) -> Result<(), Infallible> {
        self.put(format_args!(" {name}={x}"))
    }

    fn number_or_one(&mut self, name: &'static str, x: &mut u64) -> Result<(), Infallible> {
        if *x == 1 { Ok(()) } else { self.number(name, x) }
    }

    fn bits(&mut self, name: &'static str, x: &mut u32) -> Result<(), Infallible> {
        self.put(format_args!(" {name}={x}"))
    }

    fn real(&mut self, name: &'static str, x: &mut f64) -> Result<(), Infallible> {
        self.put(format_args!(" {name}={}", number(*x)))
    }

    fn flag(&mut self, name: &'static str, x: &mut bool) -> Result<(), Infallible> {
        if *x { self.put(format_args!(" {name}")) } else { Ok(()) }
    }

    fn numbers(&mut self, name: &'static str, x: &mut Vec<u64>) -> Result<(), Infallible> {
        self.put(format_args!(" {name}={}", list(x)))
    }

    fn shape(&mut self, _: &mut Vec<u64>) -> Result<(), Infallible> {
        Ok(())
    }

    fn table(
        &mut self,
        table: &mut Table,
        _: &mut Elem,
        _: &mut Option<u32>,
    ) -> Result<(), Infallible> {
        print_table(self.out, self.start, table);
        Ok(())
    }
}

fn print_table(out: &mut String, mut start: usize, table: &Table) {
    if let [x] = table.data[..] {
        let _ = write!(out, " {}", number(x));
        return;
    }
    out.push_str(" [");
    let data = &table.data;
    let mut at = 0;
    while at < data.len() {
        let (text, len) = piece(&data[at..]);
        let comma = if at + len < data.len() { "," } else { "" };
        match at {
            0 => out.push_str(&format!("{text}{comma}")),
            _ => wrapped(out, &mut start, format!(" {text}{comma}")),
        }
        at += len;
    }
    out.push(']');
}

/// Text of the longest run at the start of `data`, which is not empty, and how many entries it is.
fn piece(data: &[f64]) -> (String, usize) {
    let first = data[0];
    let equal = data.iter().take_while(|x| x.to_bits() == first.to_bits()).count();
    // Below 2^53 every integer is a number of its own, and adding one is exact.
    let small = |x: f64| x.fract() == 0.0 && x.abs() < 9e15 && x.to_bits() != (-0.0f64).to_bits();
    let ascending = data
        .iter()
        .zip(0u32..)
        .take_while(|&(&x, i)| small(x) && small(first) && x == first + f64::from(i))
        .count();
    if ascending >= 3 {
        let end = first + ascending as f64;
        (format!("{}..{}", number(first), number(end)), ascending)
    } else if equal >= 3 {
        (format!("{equal}x{}", number(first)), equal)
    } else {
        (number(first), 1)
    }
}

/// The shortest decimal that reads back as this number.
pub(super) fn number(x: f64) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_string)
}

fn print_output(out: &mut String, graph: &Graph, output: &Output) {
    let to = match output.state {
        Some(input) => format!("state {input}"),
        None => set_name(graph, output.to),
    };
    let _ = write!(out, "reveal %{} to {to} as {}", output.node.index(), word(&output.name));
    if output.factor != 1.0 {
        let _ = write!(out, " * {}", number(output.factor));
    }
    if output.divisor != 1.0 {
        let _ = write!(out, " / {}", number(output.divisor));
    }
    let _ = write!(out, " @{}", output.site);
    print_fields(out, &output.fields);
}

/// Whether a character may stand in a bare word.
pub(super) fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')
}

fn word(text: &str) -> String {
    let bare = !text.is_empty() && text.chars().all(is_bare);
    if bare { text.to_string() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
