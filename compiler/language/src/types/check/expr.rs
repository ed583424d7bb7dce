//! Expressions: names, fields, lists, and what becomes a value of the run.

use super::checker::Checker;
use super::value::{
    Env, IntVal, R, Reported, Val, cond_expr, constant, index_expr, join_elem, typed,
};
use super::world::{ItemId, STD, item_kind};
use crate::diagnostic::near::{did_you_mean, habit};
use crate::diagnostic::{Edit, Hint, codes};
use crate::syntax::ast::{self, Ident, ItemKind, Span};
use crate::types::model::Model;
use crate::types::number::{Number, NumberError};
use crate::types::{Dim, Elem, Expr, ExprKind, Index, ModelId, SetId, Ty};

impl Checker<'_> {
    /// What an expression is.
    pub(super) fn expr(&mut self, env: &mut Env, e: &ast::Expr) -> R<Val> {
        if self.depth >= super::checker::MAX_DEPTH {
            return Err(self.too_deep(e.span));
        }
        self.depth += 1;
        let val = self.expr_inside(env, e);
        self.depth -= 1;
        val
    }

    fn expr_inside(&mut self, env: &mut Env, e: &ast::Expr) -> R<Val> {
        use ast::ExprKind::*;
        match &e.kind {
            Name(_) | Path(..) => self.name_value(env, e),
            Int(i) => Ok(Val::int(*i)),
            Real(text) => self.decimal(text, e.span),
            Bit(bit) => Ok(Val::Bool(*bit)),
            Call(f, args) => self.call(env, f, args, e.span),
            CallGen(f, body, gens) => self.call_comp(env, f, body, gens, e.span),
            Unary(op, a) => self.unary(env, *op, a, e.span),
            Binary(op, a, b) => self.binary(env, *op, a, b, e.span),
            If(c, a, b) => self.choose(env, e.span, [c, a, b]),
            _ => self.rare_kinds(env, e),
        }
    }

    /// What a name stands for. Not part of the function that recurses.
    #[inline(never)]
    fn name_value(&mut self, env: &mut Env, e: &ast::Expr) -> R<Val> {
        match self.head(env, e)? {
            Val::Item(id) => self.item_value(id, e.span),
            val => Ok(val),
        }
    }

    /// Lists, tuples, loops, indices, fields and what weights are made of. Not part of the function that recurses.
    #[inline(never)]
    fn rare_kinds(&mut self, env: &mut Env, e: &ast::Expr) -> R<Val> {
        match &e.kind {
            ast::ExprKind::List(items) => self.list(env, items, e.span).map(Val::Expr),
            ast::ExprKind::Tuple(items) => self.tuple(env, items),
            ast::ExprKind::Weights(model) => self.named_model(env, model).map(Val::Weights),
            ast::ExprKind::Iterate(i) => self.iterate(env, i, e.span),
            ast::ExprKind::Part(a, at) => self.part(env, a, *at, e.span),
            ast::ExprKind::Comp(body, gens) => self.comp(env, body, gens, e.span).map(Val::Expr),
            ast::ExprKind::Field(a, name) => self.field(env, a, name, e.span),
            ast::ExprKind::At(a, args) => match self.at(env, a, args, e.span)? {
                Val::Sized(id, args) if self.is_model(id) => {
                    self.model(id, &args, e.span).map(Val::Model)
                }
                val => Ok(val),
            },
            _ => Err(Reported),
        }
    }

    /// A decimal. Not part of the function that recurses, whose frames would grow by it.
    #[inline(never)]
    fn decimal(&mut self, text: &str, span: Span) -> R<Val> {
        match Number::parse(text) {
            Some(Ok(x)) => Ok(Val::Real(x.into())),
            error => {
                let why = error.and_then(Result::err).unwrap_or(NumberError::NotReal);
                Err(self
                    .fail(codes::NUMBER.error("number out of range").label(span, why.to_string())))
            }
        }
    }

    /// An expression as a run-time value. Uneven and empty comprehensions are refused.
    pub(super) fn value(&mut self, env: &mut Env, e: &ast::Expr) -> R<Expr> {
        let value = self.reducible(env, e)?;
        self.even(&value)?;
        Ok(value)
    }

    /// Refuses what only a reduction may take.
    pub(super) fn even(&mut self, value: &Expr) -> R<()> {
        if value.ty.dims.iter().any(|d| d.ragged()) {
            return codes::RAGGED
                .error("an uneven comprehension stands outside a reduction")
                .label(value.span, "its number of entries depends on an enclosing loop variable")
                .hint(
                    "only `sum`, `max` and `min` take uneven comprehensions, directly: \
                     `sum(x[j] for j in 0..i)`",
                )
                .hint(
                    "elsewhere make each one as long as the next, for example `[select(j < \
                     i, x[j], 0) for j in n]`",
                )
                .refuse(self);
        }
        if value.ty.dims.iter().any(|d| d.size == 0) {
            return codes::SIZE
                .error("a tensor has at least one entry")
                .label(value.span, "this comprehension has none")
                .hint(
                    "look at the sizes it ranges over; `require` can exclude sizes that \
                     make no sense",
                )
                .refuse(self);
        }
        Ok(())
    }

    /// As [`Self::value`], for the argument of a reduction.
    pub(super) fn reducible(&mut self, env: &mut Env, e: &ast::Expr) -> R<Expr> {
        let val = self.expr(env, e)?;
        self.at_run_time(val, e.span)
    }

    /// Reports a quotient of sizes that is no whole number, where a number is needed.
    pub(super) fn rounds_down(&mut self, span: Span) -> Reported {
        let text = self.text(span);
        let real: Hint = match with_real(&text) {
            Some(real) => {
                // Where it stands as it is shown.
                let edit =
                    (text == self.sources.snippet(span)).then(|| Edit::replace(span, real.clone()));
                Hint::from(format!("for the exact quotient make one side a real number: `{real}`"))
                    .edit(edit)
            }
            None => format!(
                "for the exact quotient make one side a real number where `{text}` is computed: `1.0 * a / b`"
            )
            .into(),
        };
        self.fail(
            codes::ELEMENT
                .error("a division of sizes rounds down, which a value must not do unseen")
                .label(span, "not a whole number")
                .hint(real)
                .hint("to round down on purpose say so, for example `(b - b % 2) / 2`"),
        )
    }

    /// A run-time value of what is known at compile time.
    pub(super) fn at_run_time(&mut self, val: Val, span: Span) -> R<Expr> {
        let what = val.describe();
        let drawn = matches!(val, Val::Members(..) | Val::Sample(_));
        let hint = match val {
            Val::Int(IntVal { sampled: true, .. }) => {
                return codes::KIND
                    .error("a sampled member can only be an index")
                    .label(span, "drawn at run time: no number to compute with")
                    .hint("use it in brackets, as in `image[j]`")
                    .refuse(self);
            }
            Val::Int(IntVal { rounded: true, .. }) => return Err(self.rounds_down(span)),
            Val::Int(IntVal { index: Index::Const(i), .. }) => {
                return self.held(&i.into(), Elem::Int, span);
            }
            Val::Int(i) => return Ok(index_expr(&i.index, span)),
            Val::Real(x) => return self.held(&x, Elem::Fix, span),
            Val::Bool(b) => return Ok(constant(f64::from(u8::from(b)), Elem::Bit, span)),
            Val::Cond(c) => return Ok(cond_expr(&c, span)),
            Val::Expr(e) => return Ok(Expr { span, ..e }),
            Val::Poison => return Err(Reported),
            Val::Layer(_) => {
                let text = self.text(span);
                return codes::LAYER
                    .error("a layer is applied to a value")
                    .label(span, "a layer without an input")
                    .hint(format!("apply it: `x |> {text}`"))
                    .refuse(self);
            }
            Val::Fields(e, prefix) => {
                format!("its parameters are: {}", self.fields_below(&e.ty, &prefix).join(", "))
            }
            Val::Set(set) => {
                let name = self.set_name(set);
                format!("a party set is what loops run over: `[.. for i in {name}]`")
            }
            Val::Members(..) | Val::Sample(_) => {
                "loop over it: `[.. for j in committee[i]]`".to_owned()
            }
            Val::Range(..) => "a range is what loops run over: `[x[j] for j in 0..n]`".to_owned(),
            Val::Item(_) | Val::Sized(..) => "give it its arguments in parentheses".to_owned(),
            Val::Tuple(parts) => {
                let n = parts.len();
                let text = self.text(span);
                let simple = text.chars().all(|c| c.is_alphanumeric() || c == '_');
                let names: Vec<String> = ('a'..='z').take(n).map(String::from).collect();
                match simple {
                    true => format!("its parts are `{text}.0` to `{text}.{}`", n - 1),
                    false => format!("name its parts: `let ({}) = ..;`", names.join(", ")),
                }
            }
            Val::Weights(_) => {
                "weights are made of a vector, `weights M(v)`, or tensor by tensor: \
                 `weights M(2 * w[t] for t in M)`"
                    .to_owned()
            }
            Val::Model(_) | Val::Shape(_) => {
                "it is known at compile time only: it stands in brackets and types".to_owned()
            }
        };
        let coins = "who is drawn follows from the public coins of a run: `slvrc run --json` prints them, and \
             `slvrc eval --coins` takes them";
        codes::KIND
            .error(format!("{what} is not a value"))
            .label(span, "a number or tensor is needed here")
            .hint(hint)
            .hints(drawn.then_some(coins))
            .refuse(self)
    }

    /// As [`Self::expr`], but the name of an item stays a name.
    pub(super) fn head(&mut self, env: &mut Env, e: &ast::Expr) -> R<Val> {
        match &e.kind {
            ast::ExprKind::Name(name) => match env.get(name) {
                Some(Val::Poison) => Err(Reported),
                Some(val) => Ok(val.clone()),
                None => match self.world.visible(env.module, env.block, name) {
                    Some(id) => Ok(Val::Item(id)),
                    // Normally reported by the pass over names; reporting twice shows once.
                    None => codes::UNKNOWN_NAME
                        .error(format!("there is no name `{name}` here"))
                        .label(e.span, "not defined")
                        .refuse(self),
                },
            },
            ast::ExprKind::Path(head, name) => match self.world.path(head, name) {
                Ok(id) => Ok(Val::Item(id)),
                Err(error) => error.refuse(self),
            },
            ast::ExprKind::At(a, args) => self.at(env, a, args, e.span),
            _ => self.expr(env, e),
        }
    }

    pub(super) fn is_model(&self, id: ItemId) -> bool {
        matches!(&self.world.items[id.0].item.kind, ItemKind::Block(b) if b.is_model)
    }

    fn item_value(&mut self, id: ItemId, span: Span) -> R<Val> {
        let item = self.world.item(id);
        match &item.kind {
            ItemKind::Const { value, .. } => {
                if let Some(known) = self.consts.get(&id) {
                    return known.clone();
                }
                // A constant that uses itself was reported with the names.
                self.consts.insert(id, Err(Reported));
                let mut env = Env::new(self.world.items[id.0].module);
                let val = match self.expr(&mut env, value)? {
                    val @ (Val::Int(_) | Val::Real(_) | Val::Bool(_)) => Ok(val),
                    _ => codes::KIND
                        .error("a constant is one number known at compile time")
                        .label(value.span, "not one number, or not known at compile time")
                        .hint("define it with `let` inside the predicate, or as a function")
                        .refuse(self),
                };
                self.consts.insert(id, val.clone());
                val
            }
            ItemKind::Block(b) if b.is_model => self.model(id, &[], span).map(Val::Model),
            ItemKind::Predicate(_) => codes::KIND
                .error("a predicate cannot be used inside another")
                .label(span, item_kind(&item))
                .hint("put what both share into a function")
                .refuse(self),
            _ => Ok(Val::Item(id)),
        }
    }

    #[inline(never)]
    fn list(&mut self, env: &mut Env, items: &[ast::Expr], span: Span) -> R<Expr> {
        let values: Vec<R<Expr>> = items.iter().map(|e| self.value(env, e)).collect();
        let values = values.into_iter().collect::<R<Vec<Expr>>>()?;
        self.stacked(values, span)
    }

    /// Values of one shape as the entries of a list.
    pub(super) fn stacked(&mut self, values: Vec<Expr>, span: Span) -> R<Expr> {
        let Some(first) = values.first() else {
            return codes::SIZE
                .error("a tensor has at least one entry")
                .label(span, "empty list")
                .refuse(self);
        };
        let mut ty = first.ty.clone();
        for v in &values[1..] {
            if v.ty.shape() != ty.shape() {
                let (a, b) = (self.ty(&ty), self.ty(&v.ty));
                return codes::SHAPE
                    .error("the entries of a list have one shape")
                    .label(v.span, format!("this is {b}"))
                    .label(first.span, format!("the first is {a}"))
                    .refuse(self);
            }
            ty.elem = join_elem(ty.elem, v.ty.elem);
            ty.secrecy = ty.secrecy.max(v.ty.secrecy);
            if ty.record != v.ty.record {
                ty.record = None;
            }
        }
        ty.dims.insert(0, Dim::plain(values.len() as u64));
        self.limit(&ty, span)?;
        Ok(typed(ExprKind::List(values), ty, span))
    }

    fn field(&mut self, env: &mut Env, a: &ast::Expr, name: &Ident, span: Span) -> R<Val> {
        let of = self.expr(env, a)?;
        self.field_of(env, of, a.span, name, span)
    }

    /// A field of a value that stands at a place.
    pub(super) fn field_of(
        &mut self,
        env: &Env,
        of: Val,
        at: Span,
        name: &Ident,
        span: Span,
    ) -> R<Val> {
        let (base, prefix) = match of {
            Val::Model(m) => return self.field_of_model(m, name),
            Val::Layer(layer) => return self.part_of_layer(&layer, name),
            Val::Expr(e) if e.ty.record.is_none() && name.name == "shape" => {
                return Ok(Val::Shape(e.ty.shape()));
            }
            Val::Expr(e) if e.ty.record.is_none() && name.name == "len" => {
                return Ok(Val::int(e.ty.shape().iter().product::<u64>() as i64));
            }
            Val::Fields(e, prefix) => (e, format!("{prefix}.{}", name.name)),
            Val::Expr(e) if e.ty.record.is_some() => (e, name.name.clone()),
            Val::Poison => return Err(Reported),
            other => return self.has_no_fields(env, &other, at, name),
        };
        let Some(m) = base.ty.record else { return Err(Reported) };
        let model = self.model_of(m);
        if let Some(p) = model.params.iter().position(|p| p.name == prefix) {
            return self.tensor(m, base, p, span).map(Val::Expr);
        }
        let dotted = format!("{prefix}.");
        if model.params.iter().any(|p| p.name.starts_with(&dotted)) {
            return Ok(Val::Fields(base, prefix));
        }
        self.no_parameter(m, &base.ty, &prefix, name)
    }

    fn field_of_model(&mut self, m: ModelId, name: &Ident) -> R<Val> {
        let model = self.model_of(m);
        match name.name.as_str() {
            "shape" => Ok(Val::Shape(model.input.clone())),
            "classes" => Ok(Val::int(model.output.iter().product::<u64>() as i64)),
            "len" => Ok(Val::int(model.len as i64)),
            "tensors" => Ok(Val::int(model.params.len() as i64)),
            _ => codes::UNKNOWN_NAME
                .error(format!("a model has no `{}`", name.name))
                .label(name.span, "not defined")
                .hint(
                    "a model has `shape` (of its input), `classes` (its outputs), \
                     `len` (its weights) and `tensors` (which these are in)",
                )
                .refuse(self),
        }
    }

    fn has_no_fields(&mut self, env: &Env, of: &Val, at: Span, name: &Ident) -> R<Val> {
        let what = match of {
            Val::Expr(e) => self.ty(&e.ty),
            other => other.describe().to_owned(),
        };
        let text = self.text(at);
        let hint: Hint = match (of, name.name.as_str()) {
            (Val::Expr(_), "T") => format!(
                "a transpose is a list: `[[{text}[i, j] for i in m] for j in n]` of m times n entries"
            )
            .into(),
            (Val::Expr(_), method) if self.world.modules[STD].names.contains_key(method) => {
                Hint::from(format!("functions are not methods: write `{method}({text})`"))
                    .edit(self.as_function(env, at, name))
            }
            (Val::Expr(_), name) if habit(name).is_some() => habit(name).unwrap_or_default().into(),
            _ => "fields are parameters of a `weights M`, as in `w.conv1.weight`, \
                  and `M.shape`, `M.classes`"
                .into(),
        };
        codes::KIND
            .error("only weights and models have fields")
            .label(at, format!("this is {what}"))
            .hint(hint)
            .refuse(self)
    }

    /// Weights of a model have no parameter of this name, which ends with a field's.
    fn no_parameter(&mut self, m: ModelId, of: &Ty, prefix: &str, name: &Ident) -> R<Val> {
        let model = self.model_of(m);
        let near = did_you_mean(prefix, model.params.iter().map(|p| p.name.as_str()));
        let hint = match (near, habit(&name.name)) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, Some(other)) => other.to_owned(),
            (None, None) => {
                let parent = prefix.rsplit_once('.').map_or("", |(p, _)| p);
                format!("here are: {}", self.fields_below(of, parent).join(", "))
            }
        };
        // The whole name, where it stands as such.
        let written =
            Span { start: name.span.end.saturating_sub(prefix.len() as u32), ..name.span };
        let meant = near.filter(|near| {
            let parts = |name: &str| name.matches('.').count();
            self.sources.snippet(written) == prefix && parts(near) == parts(prefix)
        });
        let edit = meant.map(|near| Edit::replace(written, near));
        codes::UNKNOWN_NAME
            .error(format!("model {} has no parameter `{prefix}`", model.name))
            .label(name.span, "not defined")
            .hint(hint)
            .edit(edit)
            .refuse(self)
    }

    /// Writes `x.sum(` as `sum(x`, with a comma before other arguments, and `x.sum` as `sum(x)`.
    fn as_function(&self, env: &Env, of: Span, name: &Ident) -> Vec<Edit> {
        let local = env.get(&name.name).is_some();
        let (written, import) = self.world.written(env.module, env.block, local, &name.name);
        let rest = self.sources.text(of.file).get(name.span.end as usize..).unwrap_or("");
        let x = self.sources.snippet(of);
        let (text, more) = match rest.strip_prefix('(') {
            Some(args) if args.trim_start().starts_with(')') => (format!("{written}({x}"), 1),
            Some(_) => (format!("{written}({x}, "), 1),
            None => (format!("{written}({x})"), 0),
        };
        let at = of.to(Span { end: name.span.end + more, ..name.span });
        import.into_iter().chain([Edit::replace(at, text)]).collect()
    }

    /// The next parts of parameter names below a prefix.
    fn fields_below(&self, ty: &Ty, prefix: &str) -> Vec<String> {
        let Some(model) = ty.record.map(|m| self.model_of(m)) else { return Vec::new() };
        let mut out: Vec<String> = Vec::new();
        for p in &model.params {
            let rest = match prefix {
                "" => Some(p.name.as_str()),
                prefix => p.name.strip_prefix(prefix).and_then(|r| r.strip_prefix('.')),
            };
            let part = rest.and_then(|r| r.split('.').next());
            if let Some(part) = part
                && out.last().is_none_or(|l| l != part)
            {
                out.push(part.to_owned());
            }
        }
        out.iter().map(|n| format!("`{n}`")).collect()
    }

    pub(super) fn set_name(&self, set: SetId) -> String {
        self.parties[set.0 as usize].name.clone()
    }

    /// What a loop over a dimension goes over: `Client`, `10`.
    pub(super) fn range_text(&self, dim: &Dim) -> String {
        dim.set.map_or(dim.size.to_string(), |s| self.set_name(s))
    }

    pub(super) fn model_of(&self, m: ModelId) -> &Model {
        &self.models[m.0 as usize]
    }

    pub(super) fn set_size(&self, set: SetId) -> u64 {
        self.parties[set.0 as usize].size
    }
}

/// The text with every divisor a real number: an integer as a decimal, anything else times 1.0. `None` if nothing is
/// divided in it.
fn with_real(text: &str) -> Option<String> {
    let (before, after) = text.split_once('/')?;
    let divisor = after.trim_start();
    let space = &after[..after.len() - divisor.len()];
    let (mut open, mut end) = (0, divisor.len());
    for (at, c) in divisor.char_indices() {
        let part = c == '.' || c == '_' || c.is_alphanumeric();
        match c {
            '(' | '[' => open += 1,
            ')' | ']' if open > 0 => open -= 1,
            '-' if at == 0 => {}
            _ if open > 0 || part => {}
            _ => {
                end = at;
                break;
            }
        }
    }
    let (divisor, rest) = divisor.split_at(end);
    let real = match with_real(divisor) {
        // A quotient of its own is a real number then.
        Some(real) => real,
        None if divisor.bytes().all(|b| b.is_ascii_digit()) => format!("{divisor}.0"),
        None => format!("(1.0 * {divisor})"),
    };
    let rest = with_real(rest).unwrap_or_else(|| rest.to_owned());
    Some(format!("{before}/{space}{real}{rest}"))
}
