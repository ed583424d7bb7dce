//! Brackets: indices of tensors, samples and shapes; size arguments.

use super::checker::Checker;
use super::index::{self, Outside};
use super::value::{Between, Env, IntVal, R, Reported, SampleVal, SizeVal, Val, count, typed};
use super::world::ItemId;
use crate::diagnostic::codes;
use crate::syntax::ast::{self, Arg, Span};
use crate::types::{Dim, Expr, ExprKind, Index, VarId};

pub(super) enum At {
    /// Known at compile time, up to loop variables, and where it stands.
    Build(IntVal, Span),
    /// Known at run time.
    Run(Expr),
}

impl Checker<'_> {
    /// `a[..]`: size arguments of a function, or an index.
    pub(super) fn at(&mut self, env: &mut Env, a: &ast::Expr, args: &[Arg], span: Span) -> R<Val> {
        match self.head(env, a)? {
            Val::Item(id) => self.at_item(env, id, a.span, args),
            Val::Shape(shape) => self.at_shape(env, &shape, a.span, args, span),
            Val::Sample(s) => self.at_sample(env, s, a.span, args, span),
            Val::Members(..) => codes::KIND
                .error("a committee's members have no order to index")
                .label(span, "one member?")
                .hint(
                    "loop over it, `[.. for j in committee[i]]`: such a list is in the order in which they were drawn, and \
                     has entries to index",
                )
                .refuse(self),
            Val::Expr(e) => self.index_expr(env, e, a.span, args, span).map(Val::Expr),
            Val::Layer(layer) => {
                let indices = self.indices(env, args)?;
                let one = indices
                    .into_iter()
                    .try_fold(layer, |list, index| self.layer_at(&list, index, span))?;
                Ok(self.declared_value(&one))
            }
            Val::Poison => Err(Reported),
            other => codes::KIND
                .error("only tensors are indexed")
                .label(a.span, other.this_is())
                .refuse(self),
        }
    }

    /// Size arguments of a function or block.
    fn at_item(&mut self, env: &mut Env, id: ItemId, base: Span, args: &[Arg]) -> R<Val> {
        if matches!(self.world.items[id.0].item.kind, ast::ItemKind::Const { .. }) {
            let name = self.text(base).to_lowercase();
            return codes::KIND
                .error("a `const` is one number")
                .label(base, "it has no entries to index")
                .hint(format!(
                    "make the list a `let` of the predicate or function: `let {name} = [..];`"
                ))
                .refuse(self);
        }
        let mut sizes = Vec::new();
        let mut failed = false;
        for arg in args {
            match self.sizes_of(env, &arg.value) {
                Ok(all) => {
                    let name = arg.name.clone();
                    sizes.extend(all.into_iter().map(|v| (name.clone(), v, arg.value.span)));
                }
                Err(Reported) => failed = true,
            }
        }
        if failed { Err(Reported) } else { Ok(Val::Sized(id, sizes)) }
    }

    /// A dimension of a shape, from the end, too, as in `M.shape[-1]`.
    fn at_shape(
        &mut self,
        env: &mut Env,
        shape: &[u64],
        base: Span,
        args: &[Arg],
        span: Span,
    ) -> R<Val> {
        let wrong = match self.indices(env, args)?.as_slice() {
            [At::Build(IntVal { index: Index::Const(i), .. }, _)] => {
                let from = if *i < 0 { shape.len() as i64 } else { 0 };
                let at = usize::try_from(i.saturating_add(from)).ok();
                if let Some(n) = at.and_then(|at| shape.get(at)) {
                    return Ok(Val::int(*n as i64));
                }
                let has = count(shape.len(), "dimension", "dimensions");
                codes::INDEX
                    .error("an index is outside the shape")
                    .label(span, format!("the shape has {has}"))
            }
            [At::Build(_, at)] => codes::KIND
                .error("an index of a shape is one number, whatever loop variables are")
                .label(*at, "depends on a loop variable"),
            [At::Run(e)] => codes::KIND
                .error("an index of a shape is known at compile time")
                .label(e.span, format!("this is a {} value of the run", e.ty.secrecy.word())),
            _ => codes::ARGUMENTS
                .error("a shape takes one index")
                .label(span, "which dimension?")
                .hint(format!("write `{}[0]`", self.text(base))),
        };
        wrong.refuse(self)
    }

    /// The committee of a member.
    fn at_sample(
        &mut self,
        env: &mut Env,
        s: SampleVal,
        base: Span,
        args: &[Arg],
        span: Span,
    ) -> R<Val> {
        match (self.indices(env, args)?.as_slice(), s.each) {
            ([At::Build(i, at)], Some(each)) => {
                let dim = Dim::of_set(each, self.set_size(each));
                self.index_fits(i, dim, env, base, *at)?;
                Ok(Val::Members(s, i.index.clone()))
            }
            (_, None) => {
                let name = self.text(base);
                codes::KIND
                    .error("members that are drawn have no order to index")
                    .label(span, "one member?")
                    .hint(format!(
                        "loop over them, `[.. for i in {name}]`, or make what is theirs a list in the order in which \
                         they were drawn, and index that: `let d = [x[i] for i in {name}];`, then `d[0]`"
                    ))
                    .refuse(self)
            }
            _ => codes::ARGUMENTS
                .error("a sample takes one index")
                .label(span, "whose committee?")
                .hint("write `committee[i]`, with i from the set it is drawn for")
                .refuse(self),
        }
    }

    fn indices(&mut self, env: &mut Env, args: &[Arg]) -> R<Vec<At>> {
        let mut out = Vec::new();
        for arg in args {
            if let Some(name) = &arg.name {
                return codes::ARGUMENTS
                    .error("an index has no name")
                    .label(name.span, "only size arguments have names")
                    .refuse(self);
            }
            match self.expr(env, &arg.value)? {
                Val::Int(i) => out.push(At::Build(i, arg.value.span)),
                Val::Range(..) => {
                    return codes::KIND
                        .error("an index is one position")
                        .label(arg.value.span, "a range")
                        .hint("write `[x[j] for j in a..b]` for a part of x")
                        .refuse(self);
                }
                Val::Expr(e) => out.push(At::Run(Expr { span: arg.value.span, ..e })),
                other => {
                    return codes::KIND
                        .error("an index is a whole number or a member of a party set")
                        .label(arg.value.span, other.this_is())
                        .refuse(self);
                }
            }
        }
        Ok(out)
    }

    fn index_expr(
        &mut self,
        env: &mut Env,
        e: Expr,
        base: Span,
        args: &[Arg],
        span: Span,
    ) -> R<Expr> {
        let indices = self.indices(env, args)?;
        self.even(&e)?;
        let mut value = e;
        let mut known = Vec::new();
        for index in indices {
            match index {
                At::Build(i, at) => known.push((i, at)),
                At::Run(index) => {
                    if !known.is_empty() {
                        let known = std::mem::take(&mut known);
                        value = self.indexed(env, value, base, known, span)?;
                    }
                    value = self.picked(value, index, base, span)?;
                }
            }
        }
        if known.is_empty() { Ok(value) } else { self.indexed(env, value, base, known, span) }
    }

    fn indexed(
        &mut self,
        env: &Env,
        e: Expr,
        base: Span,
        mut indices: Vec<(IntVal, Span)>,
        span: Span,
    ) -> R<Expr> {
        // A tensor of weights, by the variable of a loop over them.
        let last = e.ty.dims.len().saturating_sub(1);
        if let Some(model) = e.ty.record
            && let Some((IntVal { tensor: Some(of), index: Index::Const(i), .. }, at)) =
                indices.get(last)
        {
            if *of != model {
                let (of, found) = (self.model_of(*of).name.clone(), self.ty(&e.ty));
                return codes::INDEX_SET
                    .error(format!("a tensor of {of} is no part of other weights"))
                    .label(*at, format!("goes over the tensors of {of}"))
                    .label(base, format!("this is {found}"))
                    .refuse(self);
            }
            let i = *i as usize;
            let rest = indices.split_off(last + 1);
            indices.pop();
            let whole =
                if indices.is_empty() { e } else { self.indexed(env, e, base, indices, span)? };
            let tensor = self.tensor(model, whole, i, span)?;
            return if rest.is_empty() {
                Ok(tensor)
            } else {
                self.indexed(env, tensor, base, rest, span)
            };
        }
        if indices.len() > e.ty.dims.len() {
            let title = match e.ty.dims.len() {
                0 => "a single number has no entries to index".to_owned(),
                n => format!(
                    "{} for a value of {}",
                    count(indices.len(), "index", "indices"),
                    count(n, "dimension", "dimensions")
                ),
            };
            return codes::SHAPE
                .error(title)
                .label(span, format!("`{}` is {}", self.text(base), self.ty(&e.ty)))
                .refuse(self);
        }
        let mut failed = false;
        for ((i, at), dim) in indices.iter().zip(&e.ty.dims) {
            failed |= self.index_fits(i, *dim, env, base, *at).is_err();
        }
        if failed {
            return Err(Reported);
        }
        let ty = e.ty.entry(indices.len());
        let new = indices.into_iter().map(|(i, _)| i.index);
        Ok(match e.kind {
            ExprKind::At(inner, mut first) => {
                first.extend(new);
                typed(ExprKind::At(inner, first), ty, span)
            }
            _ => typed(ExprKind::At(Box::new(e), new.collect()), ty, span),
        })
    }

    /// Checks one index against its dimension: the set it belongs to and its bounds.
    fn index_fits(&mut self, i: &IntVal, dim: Dim, env: &Env, base: Span, at: Span) -> R<()> {
        let (what, base_text) = (self.text(at), self.text(base));
        if let Some(set) = dim.set
            && i.set != Some(set)
        {
            let wanted = self.set_name(set);
            let found = match i.set {
                Some(other) => format!("a member of {}", self.set_name(other)),
                None => "a plain number".to_owned(),
            };
            let var = if matches!(i.index, Index::Var(_)) { what } else { "i".to_owned() };
            return codes::INDEX_SET
                .error(format!("`{base_text}` is indexed by {wanted}"))
                .label(at, found)
                .hint(format!("take the index from a loop over the set: `for {var} in {wanted}`"))
                .refuse(self);
        }
        if i.sampled && i.set.map(|s| self.set_size(s)).is_some_and(|n| n <= dim.size) {
            return Ok(());
        }
        let inside = |(lo, hi): Between| lo >= 0 && (hi as u64) < dim.size;
        if self.bounds_of_index(&i.index).is_some_and(inside) {
            return Ok(());
        }
        let Err(outside) = index::within(&i.index, dim.size, &env.loops) else { return Ok(()) };
        let valid = if dim.size == 1 {
            "only index 0".to_owned()
        } else {
            format!("indices 0 to {}", dim.size - 1)
        };
        let error = match outside {
            Outside::At(value, vars) => {
                let names = self.choices(&vars, &what);
                let first = "indices count from 0: the last entry is `x[n - 1]`";
                codes::INDEX
                    .error(format!("index {value} is out of bounds"))
                    .label(at, format!("is {value}{names}"))
                    .hints((value < 0).then_some(first))
            }
            Outside::Unknown => codes::INDEX
                .error("an index is not seen to stay in bounds")
                .label(at, "too many combinations of loop variables to try"),
        };
        let valid = format!("`{base_text}` has {valid} here");
        error.label(base, valid).refuse(self)
    }

    /// ` for i = 0, j = 1`, leaving out what the text itself says.
    fn choices(&self, vars: &[(VarId, i64)], text: &str) -> String {
        let named = vars.iter().map(|(var, value)| (&self.vars[var.0 as usize].name, value));
        let others = named.filter(|(name, _)| *name != text);
        let out: Vec<String> = others.map(|(name, value)| format!("{name} = {value}")).collect();
        if out.is_empty() { String::new() } else { format!(" for {}", out.join(", ")) }
    }

    /// A bracketed argument: a size, or all sizes of a shape.
    fn sizes_of(&mut self, env: &mut Env, e: &ast::Expr) -> R<Vec<SizeVal>> {
        match self.expr(env, e)? {
            Val::Shape(shape) => Ok(shape.into_iter().map(|n| SizeVal::Int(n as i64)).collect()),
            Val::Int(IntVal { index: Index::Const(i), rounded: true, .. }) => {
                Ok(vec![SizeVal::Rounded(i)])
            }
            val => self.as_size(val, true, e).map(|size| vec![size]),
        }
    }

    /// The default of a size: as [`Self::size_arg`], or a real number. Of numbers alone, a quotient that rounds is
    /// meant as a real number: `s = 1 / 2`. Of other sizes, as in `k = n / 2`, it rounds down.
    pub(super) fn default_size(&mut self, env: &mut Env, e: &ast::Expr) -> R<SizeVal> {
        let val = self.expr(env, e)?;
        if matches!(val, Val::Int(IntVal { rounded: true, .. })) && self.of_numbers(env, e) {
            return Err(self.rounds_down(e.span));
        }
        self.as_size(val, true, e)
    }

    /// A size argument or dimension: a number or a model.
    pub(super) fn size_arg(&mut self, env: &mut Env, e: &ast::Expr) -> R<SizeVal> {
        let val = self.expr(env, e)?;
        self.as_size(val, false, e)
    }

    /// Reports a size that is no whole number.
    pub(super) fn not_whole(&mut self, found: &str, at: Span) -> Reported {
        if found.parse::<f64>().is_ok_and(|x| x.fract() == 0.0) {
            let label = format!("is {found}, and of the type `fix`");
            return self.fail(
                codes::KIND.error("a size is an `int`, not a `fix`").label(at, label).hint(
                    "a `fix` is no size even where it is a whole number: write it without a point, name it in the \
                     brackets of the predicate or function, or give the parameter the type `int`",
                ),
            );
        }
        self.fail(
            codes::KIND
                .error("a size is a whole number")
                .label(at, format!("is {found}"))
                .hint("sizes are integers; `a / b` in brackets rounds down"),
        )
    }

    fn as_size(&mut self, val: Val, real: bool, e: &ast::Expr) -> R<SizeVal> {
        match val {
            Val::Int(IntVal { index: Index::Const(i), .. }) => Ok(SizeVal::Int(i)),
            Val::Model(m) => Ok(SizeVal::Model(m)),
            Val::Int(_) => codes::KIND
                .error("a size is the same for all values of a loop variable")
                .label(e.span, "depends on a loop variable")
                .hint(
                    "brackets hold sizes, and a step of a loop or an entry of a list is checked once for all; a range \
                     may change: `sum(s[j] for j in 0..t + 1)`",
                )
                .refuse(self),
            Val::Real(x) if real => {
                let value = x.value();
                self.number(value, e.span).map(|x| SizeVal::Real(x.to_bits()))
            }
            Val::Real(x) => Err(self.not_whole(&x.to_string(), e.span)),
            Val::Poison => Err(Reported),
            Val::Set(set) => {
                let name = self.set_name(set);
                codes::KIND
                    .error("a size is a whole number")
                    .label(e.span, "this is a party set")
                    .hint(format!(
                        "write its number of members; an input has a dimension for \
                         the set when it comes `from each {name}`"
                    ))
                    .refuse(self)
            }
            other => {
                let what = match &other {
                    Val::Expr(e) => format!("a {} value of the run", e.ty.secrecy.word()),
                    other => other.describe().to_owned(),
                };
                codes::KIND
                    .error("brackets hold compile-time values")
                    .label(e.span, format!("this is {what}"))
                    .hint(
                        "values of the run go into parentheses, sizes into brackets: \
                         `trimmed_mean[1, 0](x)`",
                    )
                    .refuse(self)
            }
        }
    }

    /// A whole number known at compile time.
    pub(super) fn whole(&mut self, env: &mut Env, e: &ast::Expr) -> R<i64> {
        match self.size_arg(env, e)? {
            SizeVal::Int(i) | SizeVal::Rounded(i) => Ok(i),
            SizeVal::Real(bits) => Err(self.not_whole(&f64::from_bits(bits).to_string(), e.span)),
            SizeVal::Model(_) => codes::KIND
                .error("a size is a whole number")
                .label(e.span, "this is a model")
                .hint("`M.classes` and `M.len` are sizes of a model, `..M.shape` its input's")
                .refuse(self),
        }
    }

    /// Whether an expression is made of written numbers alone, and of constants that a division rounded.
    fn of_numbers(&mut self, env: &mut Env, e: &ast::Expr) -> bool {
        match &e.kind {
            ast::ExprKind::Int(_) => true,
            // Sizes do not keep that they were rounded.
            ast::ExprKind::Name(_) => {
                matches!(self.expr(env, e), Ok(Val::Int(IntVal { rounded: true, .. })))
            }
            ast::ExprKind::Unary(_, a) => self.of_numbers(env, a),
            ast::ExprKind::Binary(_, a, b) => self.of_numbers(env, a) && self.of_numbers(env, b),
            _ => false,
        }
    }
}
