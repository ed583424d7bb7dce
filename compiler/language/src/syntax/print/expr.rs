//! Expressions and types. Brackets are put where the grammar needs them, and around what would be
//! hard to read without: `(a^b)[c]`.

use super::super::ast::*;
use super::super::token::written;
use super::doc::{Doc, Kept, group, list, nest, one_line, text};

/// Binding strength of prefix operators; infix ones have [`BinaryOp::level`].
const UNARY: u8 = 7;
/// Binding strength of calls, brackets, fields and powers.
const POSTFIX: u8 = 8;
/// Binding strength of what carries its own brackets.
const ATOM: u8 = 10;

/// How expressions are laid out.
#[derive(Clone, Copy)]
pub struct Style<'s> {
    /// Whose line breaks are kept.
    pub source: Option<&'s str>,
}

impl<'s> Style<'s> {
    /// An expression on its own. Where its author broke the lines of what is set as it should be
    /// otherwise, the lines stay: alignment that means something is nothing a printer can know.
    pub fn whole(self, e: &Expr) -> Doc {
        let doc = self.expr(e);
        // Pipelines have breaks, and a layout, of their own.
        if matches!(e.kind, ExprKind::Binary(BinaryOp::Pipe, ..)) {
            return doc;
        }
        match self.kept(e) {
            Some(kept) => Doc::Kept(kept, Box::new(doc)),
            None => doc,
        }
    }

    /// The lines of an expression in the source, if they are the one-line text with breaks in it and
    /// all stand further right than the statement.
    fn kept(self, e: &Expr) -> Option<Kept> {
        let source = self.source?;
        let text = source.get(e.span.range()).filter(|t| t.contains('\n'))?;
        if !breaks_only(text, &one_line(&Style { source: None }.expr(e))) {
            return None;
        }
        let line = |at: usize| source.get(..at).map(|s| s.rsplit('\n').next().unwrap_or(""));
        let before = line(e.span.start as usize)?;
        let base = before.len() - before.trim_start_matches(' ').len();
        let mut lines = text.lines();
        let first = lines.next()?.trim_end().to_owned();
        let mut rest = Vec::new();
        for line in lines {
            let bare = line.trim_start_matches(' ');
            let indent = line.len() - bare.len();
            if indent <= base || bare.starts_with(char::is_whitespace) || bare.trim().is_empty() {
                return None;
            }
            rest.push((indent, bare.trim_end().to_owned()));
        }
        Some(Kept { first, column: before.chars().count(), base, rest })
    }

    /// An expression where anything may stand.
    pub fn expr(self, e: &Expr) -> Doc {
        self.at_least(e, 0)
    }

    /// An expression, in parentheses if it binds less tightly than `level`.
    fn at_least(self, e: &Expr, level: u8) -> Doc {
        let doc = self.bare(e);
        if strength(e) >= level { doc } else { parens(doc) }
    }

    fn bare(self, e: &Expr) -> Doc {
        match &e.kind {
            ExprKind::Name(name) => text(written(name)),
            ExprKind::Path(a, b) => text(format!("{}::{}", a.written(), b.written())),
            ExprKind::Int(value) => text(value.to_string()),
            ExprKind::Real(real) => text(real),
            ExprKind::Bit(bit) => text(bit.to_string()),
            ExprKind::List(items) => list("[", self.exprs(items), "]"),
            ExprKind::Tuple(items) => list("(", self.exprs(items), ")"),
            ExprKind::Weights(model) => text(format!("weights {}", model.written())),
            ExprKind::Iterate(i) => self.iterate(i),
            ExprKind::Comp(value, gens) => self.generated("[", value, gens, "]"),
            ExprKind::If(cond, a, b) => group(vec![
                text("if "),
                self.expr(cond),
                text(" {"),
                nest(4, vec![Doc::Line, self.expr(a)]),
                Doc::Line,
                text("} else {"),
                nest(4, vec![Doc::Line, self.expr(b)]),
                Doc::Line,
                text("}"),
            ]),
            ExprKind::Call(f, args) => {
                let args = match &args[..] {
                    // `f([..])` needs no second indentation.
                    [one] if matches!(one.kind, ExprKind::List(_) | ExprKind::Comp(..)) => {
                        Doc::Seq(vec![text("("), self.expr(one), text(")")])
                    }
                    args => list("(", self.exprs(args), ")"),
                };
                Doc::Seq(vec![self.base(f), args])
            }
            ExprKind::CallGen(f, value, gens) => {
                Doc::Seq(vec![self.base(f), self.generated("(", value, gens, ")")])
            }
            ExprKind::At(a, args) => {
                let args = args.iter().map(|arg| match &arg.name {
                    Some(name) => Doc::Seq(vec![
                        text(format!("{} = ", name.written())),
                        self.expr(&arg.value),
                    ]),
                    None => self.expr(&arg.value),
                });
                Doc::Seq(vec![self.base(a), list("[", args.collect(), "]")])
            }
            ExprKind::Field(a, field) => self.part(a, &field.written()),
            ExprKind::Part(a, at) => self.part(a, &at.to_string()),
            ExprKind::Unary(op, a) => {
                let sign = match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::Not => "!",
                };
                Doc::Seq(vec![text(sign), self.at_least(a, UNARY)])
            }
            ExprKind::Binary(BinaryOp::Pow, a, b) => {
                Doc::Seq(vec![self.base(a), text("^"), self.exponent(b)])
            }
            ExprKind::Binary(BinaryOp::Range, a, b) => {
                let level = BinaryOp::Range.level() + 1;
                Doc::Seq(vec![self.at_least(a, level), text(".."), self.at_least(b, level)])
            }
            ExprKind::Binary(op, ..) => self.chain(e, *op),
            // Nothing can stand for what was skipped; this does not parse.
            ExprKind::Error => text("…"),
        }
    }

    /// `a.b`, `a.0`.
    fn part(self, a: &Expr, name: &str) -> Doc {
        // `1.0` would be read as a number.
        let number = matches!(a.kind, ExprKind::Int(_) | ExprKind::Real(_));
        let base = if number { parens(self.bare(a)) } else { self.base(a) };
        Doc::Seq(vec![base, text(format!(".{name}"))])
    }

    fn exprs(self, items: &[Expr]) -> Vec<Doc> {
        items.iter().map(|e| self.expr(e)).collect()
    }

    /// What a suffix is put behind.
    fn base(self, e: &Expr) -> Doc {
        let power = matches!(
            e.kind,
            ExprKind::Binary(BinaryOp::Pow, ..) | ExprKind::If(..) | ExprKind::Iterate(_)
        );
        if power { parens(self.bare(e)) } else { self.at_least(e, POSTFIX) }
    }

    fn exponent(self, e: &Expr) -> Doc {
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Name(_) => self.bare(e),
            ExprKind::Unary(UnaryOp::Neg, i) if matches!(i.kind, ExprKind::Int(_)) => self.bare(e),
            _ => parens(self.bare(e)),
        }
    }

    /// `a op b op c` of one strength, broken before the operators.
    fn chain(self, e: &Expr, op: BinaryOp) -> Doc {
        let level = op.level();
        let chains = !matches!(level, 3 | 4);
        let mut first = e;
        let mut operands = Vec::new();
        while let ExprKind::Binary(op, a, b) = &first.kind
            && op.level() == level
            && (chains || operands.is_empty())
        {
            operands.push((*op, a.span.end, b));
            first = a;
        }
        let mut rest = Vec::new();
        for (op, before, operand) in operands.into_iter().rev() {
            rest.push(match op {
                BinaryOp::Pipe if self.breaks(before, operand.span.start) => Doc::Hard,
                BinaryOp::Pipe => Doc::Fill,
                _ => Doc::Line,
            });
            rest.push(text(format!("{} ", op.symbol())));
            rest.push(self.at_least(operand, level + 1));
        }
        let left = self.at_least(first, if chains { level } else { level + 1 });
        let indent = if op == BinaryOp::Pipe { 2 } else { 4 };
        group(vec![left, nest(indent, rest)])
    }

    /// Does the source have a line break between two places?
    fn breaks(self, start: u32, end: u32) -> bool {
        let between =
            |s: &str| s.get(start as usize..end as usize).is_some_and(|t| t.contains('\n'));
        self.source.is_some_and(between)
    }

    fn generated(self, open: &str, value: &Expr, gens: &[Gen], close: &str) -> Doc {
        let mut inner = vec![Doc::Soft, self.expr(value)];
        inner.extend(self.gens(gens));
        group(vec![text(open), nest(4, inner), Doc::Soft, text(close)])
    }

    /// Generators, each behind a space or on a line of its own.
    fn gens(self, gens: &[Gen]) -> Vec<Doc> {
        let mut out = Vec::new();
        for g in gens {
            out.extend([
                Doc::Line,
                text(format!("for {} in ", g.var.written())),
                self.expr(&g.domain),
            ]);
            if let Some(cond) = &g.cond {
                out.extend([text(" if "), self.expr(cond)]);
            }
        }
        out
    }

    /// The range of a carried value: what is no number, name or the negative of one stands in brackets.
    pub fn between(self, range: &Expr) -> Doc {
        let atom =
            |e: &Expr| matches!(e.kind, ExprKind::Int(_) | ExprKind::Real(_) | ExprKind::Name(_));
        let end = |e: &Expr| match &e.kind {
            ExprKind::Unary(UnaryOp::Neg, a) if atom(a) => self.bare(e),
            ExprKind::Unary(UnaryOp::Neg, a) => Doc::Seq(vec![text("-"), parens(self.bare(a))]),
            _ if atom(e) => self.bare(e),
            _ => parens(self.bare(e)),
        };
        match &range.kind {
            ExprKind::Binary(BinaryOp::Range, a, b) => Doc::Seq(vec![end(a), text(".."), end(b)]),
            _ => self.expr(range),
        }
    }

    /// A loop; a step with definitions takes several lines.
    fn iterate(self, i: &Iterate) -> Doc {
        let carried = i.carried.iter().map(|c| {
            let mut parts = vec![text(c.name.written())];
            if let Some(ty) = &c.ty {
                parts.extend([text(": "), self.ty(ty)]);
            }
            if let Some(range) = &c.range {
                parts.extend([text(" in "), self.between(range)]);
            }
            parts.extend([text(" = "), self.expr(&c.start)]);
            Doc::Seq(parts)
        });
        let carried = match <[Doc; 1]>::try_from(carried.collect::<Vec<Doc>>()) {
            Ok([one]) => one,
            Err(carried) => list("(", carried, ")"),
        };
        let head = group(vec![text("iterate "), carried, nest(4, self.gens(&i.gens)), text(" {")]);
        let mut inner = Vec::new();
        let names: Vec<String> = i.body.lets.iter().map(Let::pattern).collect();
        let widths: Vec<usize> = names.iter().map(|n| n.chars().count()).collect();
        for ((l, name), pad) in i.body.lets.iter().zip(names).zip(equally_wide(&widths)) {
            let head = format!("let {name}{:pad$} = ", "");
            inner.extend([Doc::Hard, text(head), self.expr(&l.value), text(";")]);
        }
        let end = || if i.body.lets.is_empty() { Doc::Line } else { Doc::Hard };
        inner.extend([end(), self.expr(&i.body.value)]);
        Doc::Seq(vec![head, group(vec![nest(4, inner), end(), text("}")])])
    }

    pub fn ty(self, t: &Type) -> Doc {
        let secrecy = t.secrecy.map_or(String::new(), |s| format!("{} ", s.word()));
        match &t.kind {
            TypeKind::Weights { model, dims } => {
                let head = format!("{secrecy}weights {}", model.written());
                if dims.is_empty() { text(head) } else { self.dims(&format!("{head}["), dims) }
            }
            TypeKind::Tuple(all) => {
                list(&format!("{secrecy}("), all.iter().map(|t| self.ty(t)).collect(), ")")
            }
            TypeKind::Tensor { base, dims } if dims.is_empty() => {
                text(format!("{secrecy}{}", base.written()))
            }
            TypeKind::Tensor { base, dims } => {
                self.dims(&format!("{secrecy}{}[", base.written()), dims)
            }
        }
    }

    fn dims(self, open: &str, dims: &[Dim]) -> Doc {
        let dims = dims.iter().map(|dim| match dim {
            Dim::Size(e) => self.expr(e),
            Dim::Splice(e) => Doc::Seq(vec![text(".."), self.base(e)]),
        });
        list(open, dims.collect(), "]")
    }
}

/// Padding that makes names of neighbouring lines equally wide. A name that is much longer than the others is not
/// aligned to.
pub fn equally_wide(widths: &[usize]) -> Vec<usize> {
    const MOST: usize = 24;
    let most = widths.iter().copied().max().unwrap_or(0);
    let least = widths.iter().copied().min().unwrap_or(0);
    widths.iter().map(|w| if most - least > MOST { 0 } else { most - w }).collect()
}

fn strength(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Binary(BinaryOp::Pow, ..) => POSTFIX,
        ExprKind::Binary(op, ..) => op.level(),
        ExprKind::Unary(..) => UNARY,
        ExprKind::Call(..)
        | ExprKind::CallGen(..)
        | ExprKind::At(..)
        | ExprKind::Part(..)
        | ExprKind::Field(..) => POSTFIX,
        _ => ATOM,
    }
}

fn parens(doc: Doc) -> Doc {
    Doc::Seq(vec![text("("), doc, text(")")])
}

/// Is a source text, but for line breaks where the other has a space or nothing, this text?
fn breaks_only(source: &str, mut flat: &str) -> bool {
    let mut source = source;
    while !source.is_empty() {
        let word = source.find(char::is_whitespace).unwrap_or(source.len());
        let (word, rest) = source.split_at(word);
        let Some(behind) = flat.strip_prefix(word) else { return false };
        source = rest.trim_start();
        let space = &rest[..rest.len() - source.len()];
        flat = match behind.strip_prefix(' ') {
            Some(behind) if space == " " || space.contains('\n') => behind,
            _ if space.is_empty() || space.contains('\n') => behind,
            _ => return false,
        };
    }
    flat.is_empty()
}
