//! Calls: of functions, one instance per choice of sizes and argument types, and of models.

use super::checker::{Checker, Frame, Key};
use super::unify::element;
use super::value::{Env, R, Reported, SizeArg, SizeVal, Val, count, fits, shape_text, typed};
use super::world::{ItemId, STD};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::ast::{self, Function, ItemKind, Size, Span, TypeKind};
use crate::syntax::print_type;
use crate::types::{Dim, Elem, Expr, ExprKind, FnId, Function as Instance, ModelId, Ty};

impl Checker<'_> {
    /// `f(a, b)`.
    pub(super) fn call(
        &mut self,
        env: &mut Env,
        f: &ast::Expr,
        args: &[ast::Expr],
        span: Span,
    ) -> R<Val> {
        let callee = self.head(env, f);
        let values: Vec<R<Expr>> = args.iter().map(|a| self.reducible(env, a)).collect();
        let callee = callee?;
        let values = values.into_iter().collect::<R<Vec<Expr>>>()?;
        self.apply(env, callee, values, f, span)
    }

    /// `f(e for i in S)`.
    pub(super) fn call_comp(
        &mut self,
        env: &mut Env,
        f: &ast::Expr,
        body: &ast::Expr,
        gens: &[ast::Gen],
        span: Span,
    ) -> R<Val> {
        let callee = self.head(env, f);
        let value = self.comp(env, body, gens, span.to(body.span));
        self.apply(env, callee?, vec![value?], f, span)
    }

    fn apply(
        &mut self,
        env: &Env,
        callee: Val,
        args: Vec<Expr>,
        f: &ast::Expr,
        span: Span,
    ) -> R<Val> {
        let (id, sizes) = match callee {
            Val::Item(id) => (id, Vec::new()),
            Val::Sized(id, sizes) => (id, sizes),
            Val::Model(m) => return self.run_model(m, args, f.span, span).map(Val::Expr),
            Val::Poison => return Err(Reported),
            Val::Expr(e) => {
                let ty = self.ty(&e.ty);
                let name = self.text(f.span);
                return Err(self.fail(
                    Diagnostic::error(
                        codes::KIND,
                        format!("`{name}` is not a function"),
                        f.span,
                        format!("this is {ty}"),
                    )
                    .hint("an index stands in brackets: `x[i]`"),
                ));
            }
            other => {
                let what = other.describe();
                return Err(self.fail(Diagnostic::error(
                    codes::KIND,
                    "only functions and models are called",
                    f.span,
                    format!("this is {what}"),
                )));
            }
        };
        let item = self.world.item(id);
        match &item.kind {
            ItemKind::Fn(function) if function.body.is_none() => {
                if let Some((_, _, at)) = sizes.first() {
                    return Err(self.fail(Diagnostic::error(
                        codes::ARGUMENTS,
                        format!("the sizes of `{}` follow from its arguments", function.name.name),
                        *at,
                        "leave the brackets out",
                    )));
                }
                self.intrinsic(env, id, function, args, f.span, span)
            }
            ItemKind::Fn(function) => {
                for arg in &args {
                    self.even(arg)?;
                }
                self.call_fn(id, function, &sizes, args, f.span, span).map(Val::Expr)
            }
            ItemKind::Block(b) if b.is_model => {
                let m = self.model(id, &sizes, f.span)?;
                self.run_model(m, args, f.span, span).map(Val::Expr)
            }
            ItemKind::Block(b) => {
                let name = &b.name.name;
                Err(self.fail(
                    Diagnostic::error(
                        codes::LAYER,
                        "a block is applied inside a `block` or `model`",
                        f.span,
                        "its weights belong to a model",
                    )
                    .hint(format!(
                        "make `{name}` a layer of a model, and call the model: `M(w, x)`"
                    )),
                ))
            }
            _ => {
                let name = self.text(f.span);
                Err(self.fail(Diagnostic::error(
                    codes::KIND,
                    format!("`{name}` is not a function"),
                    f.span,
                    "cannot be called",
                )))
            }
        }
    }

    /// A model applied to weights and one input.
    fn run_model(&mut self, m: ModelId, args: Vec<Expr>, callee: Span, span: Span) -> R<Expr> {
        let name = self.text(callee);
        let n = args.len();
        let Ok([w, x]) = <[Expr; 2]>::try_from(args) else {
            return Err(self.fail(
                Diagnostic::error(
                    codes::ARGUMENTS,
                    format!(
                        "a model takes weights and one input, not {}",
                        count(n, "argument", "arguments")
                    ),
                    span,
                    "wrong number of arguments",
                )
                .hint(format!("write `{name}(w, x)`")),
            ));
        };
        self.even(&w)?;
        self.even(&x)?;
        let (input, output) =
            (self.models[m.0 as usize].input.clone(), self.models[m.0 as usize].output.clone());
        if w.ty.record != Some(m) || w.ty.dims.len() != 1 {
            let (found, wanted) = (self.ty(&w.ty), self.models[m.0 as usize].name.clone());
            let error = Diagnostic::error(
                codes::SHAPE,
                format!("`{name}` wants its weights first"),
                w.span,
                format!("this is {found}, not weights {wanted}"),
            );
            return Err(self.fail(if w.ty.record == Some(m) {
                error.hint("one client's at a time: index it, as in `update[i]`")
            } else {
                error
            }));
        }
        if x.ty.shape() != input {
            let (found, wanted) = (self.ty(&x.ty), shape_text(&input));
            let error = Diagnostic::error(
                codes::SHAPE,
                format!("`{name}` takes one input of shape {wanted}"),
                x.span,
                format!("this is {found}"),
            );
            let text = self.text(x.span);
            let deeper = x.ty.dims.len() == input.len() + 1 && x.ty.shape().ends_with(&input);
            return Err(self.fail(if deeper {
                let n =
                    x.ty.dims[0].set.map_or(x.ty.dims[0].size.to_string(), |s| self.set_name(s));
                error.hint(format!("one input at a time: `[{name}(w, {text}[s]) for s in {n}]`"))
            } else {
                error
            }));
        }
        let secrecy = w.ty.secrecy.max(x.ty.secrecy);
        let dims = output.into_iter().map(Dim::plain).collect();
        let ty = Ty { elem: Elem::Fix, dims, secrecy, record: None };
        Ok(typed(ExprKind::Apply(m, Box::new(w), Box::new(x)), ty, span))
    }

    /// A function of the language: sizes from brackets and arguments, then its instance.
    fn call_fn(
        &mut self,
        id: ItemId,
        f: &Function,
        given: &[SizeArg],
        args: Vec<Expr>,
        callee: Span,
        span: Span,
    ) -> R<Expr> {
        self.arity(f, args.len(), span)?;
        let module = self.world.items[id.0].module;
        let mut sizes = self.place_sizes(&f.name.name, &f.sizes, given, f.name.span)?;
        // Weights first: they say which model it is, and tensors may have its shape.
        for weights in [true, false] {
            for (param, arg) in f.params.iter().zip(&args) {
                let Some(ty) = &param.ty else { continue };
                if matches!(ty.kind, TypeKind::Weights(_)) == weights {
                    self.unify(module, f, &mut sizes, ty, &param.name.name, arg)?;
                }
            }
        }
        let mut env = Env::new(module);
        self.finish_sizes(&mut env, &f.name.name, &f.sizes, &mut sizes, callee)?;
        let values: Vec<SizeVal> = sizes.iter().flatten().copied().collect();
        let mut types = Vec::with_capacity(args.len());
        for (param, arg) in f.params.iter().zip(&args) {
            types.push(self.param_ty(&mut env, f, param, arg)?);
        }
        let key: Key = (id, values.clone(), types.clone());
        let known = self.instances.get(&key).copied();
        let fn_id = match known {
            Some(known) => known?,
            None => {
                let text = self.sized_text(&f.name.name, &f.sizes, &values);
                if self.stack.iter().any(|frame| frame.item == id) {
                    // Reported with the names.
                    return Err(Reported);
                }
                self.enter(Frame { item: id, call: span, text })?;
                let made = self.instantiate(env, f, types);
                self.stack.pop();
                self.instances.insert(key, made);
                made?
            }
        };
        let ty = self.functions[fn_id.0 as usize].value.ty.clone();
        Ok(typed(ExprKind::Call(fn_id, args), ty, span))
    }

    fn instantiate(&mut self, mut env: Env, f: &Function, types: Vec<Ty>) -> R<FnId> {
        let mut params = Vec::with_capacity(types.len());
        for (param, ty) in f.params.iter().zip(types) {
            let var = self.var(&param.name.name, ty.clone(), param.name.span);
            let value = typed(ExprKind::Var(var), ty, param.name.span);
            env.set(&param.name.name, Val::Expr(value));
            params.push(var);
        }
        let Some(body) = &f.body else { return Err(Reported) };
        let mut lets = Vec::new();
        let mut failed = false;
        for l in &body.lets {
            match self.define(&mut env, l) {
                Ok(Some(definition)) => lets.push(definition),
                Ok(None) => {}
                Err(Reported) => failed = true,
            }
        }
        let value = self.value(&mut env, &body.value)?;
        if failed {
            return Err(Reported);
        }
        self.result(&mut env, f, &value)?;
        let id = FnId(self.functions.len() as u32);
        self.functions.push(Instance { name: f.name.name.clone(), params, lets, value });
        Ok(id)
    }

    /// Checks a function's value against its declared result.
    fn result(&mut self, env: &mut Env, f: &Function, value: &Expr) -> R<()> {
        let found = self.ty(&value.ty);
        let fail = |this: &mut Self, code, title: String| {
            Err(this.fail(
                Diagnostic::error(code, title, value.span, format!("this is {found}"))
                    .label(f.result.span, "declared here"),
            ))
        };
        let name = &f.name.name;
        let written = print_type(&f.result);
        match &f.result.kind {
            TypeKind::Weights(model) => {
                let wanted = self.named_model(env, model)?;
                if value.ty.record != Some(wanted) || value.ty.dims.len() != 1 {
                    return fail(self, codes::SHAPE, format!("`{name}` should return {written}"));
                }
            }
            TypeKind::Tensor { base, dims } => {
                let shape = self.dims(env, dims)?;
                if shape != value.ty.shape() {
                    let mut wanted = base.name.clone();
                    if !shape.is_empty() {
                        wanted += &shape_text(&shape);
                    }
                    let here =
                        if wanted == written { String::new() } else { format!(", here {wanted}") };
                    let title = format!("`{name}` should return {written}{here}");
                    return fail(self, codes::SHAPE, title);
                }
                let Some(elem) = element(&base.name) else { return Err(Reported) };
                if !fits(value.ty.elem, elem) {
                    return fail(self, codes::ELEMENT, format!("`{name}` should return {written}"));
                }
            }
        }
        if f.result.secrecy == Some(ast::Secrecy::Public)
            && value.ty.secrecy != ast::Secrecy::Public
        {
            return fail(self, codes::SECRECY, format!("`{name}` should return a public value"));
        }
        Ok(())
    }

    /// `trimmed_mean[low = 1, high = 0, n = 3]`.
    pub(super) fn sized_text(&self, name: &str, params: &[Size], values: &[SizeVal]) -> String {
        if params.is_empty() {
            return name.to_owned();
        }
        let one = |(p, v): (&Size, &SizeVal)| match v {
            SizeVal::Int(i) => format!("{} = {i}", p.name.name),
            SizeVal::Model(m) => format!("{} = {}", p.name.name, self.models[m.0 as usize].name),
        };
        let all: Vec<String> = params.iter().zip(values).map(one).collect();
        format!("{name}[{}]", all.join(", "))
    }

    /// Whether a place is in the standard library.
    pub(super) fn in_std(&self, span: Span) -> bool {
        let own = &self.world.modules[STD].own;
        own.iter().any(|id| self.world.items[id.0].item.span.file == span.file)
    }
}
