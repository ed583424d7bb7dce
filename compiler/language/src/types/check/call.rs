//! Calls: of functions, one instance per choice of sizes and argument types, and of models.

use super::checker::{Checker, Key};
use super::value::{
    Between, Env, R, Reported, SizeArg, SizeVal, Val, count, fits, shape_text, typed,
};
use super::world::{ItemId, STD};
use crate::diagnostic::codes;
use crate::syntax::ast::{self, Function, ItemKind, Secrecy, Size, Span, TypeKind};
use crate::syntax::print_type;
use crate::types::model::Model;
use crate::types::{
    Body, Definition, Domain, Elem, Expr, ExprKind, FnId, Function as Instance, Gen, Index,
    ModelId, Ty, VarId,
};

#[derive(Clone, Copy)]
pub(super) struct Callee<'a> {
    pub id: ItemId,
    pub function: &'a Function,
    /// Its bracketed arguments.
    pub sizes: &'a [SizeArg],
    /// Where its name stands.
    pub name: Span,
}

/// Whether all parameters and the result of a function are single numbers. Such a function works on tensors entry by
/// entry.
fn of_numbers(f: &Function) -> bool {
    let number =
        |ty: &ast::Type| matches!(&ty.kind, TypeKind::Tensor { dims, .. } if dims.is_empty());
    number(&f.result) && f.params.iter().all(|p| p.ty.as_ref().is_some_and(number))
}

impl Checker<'_> {
    /// `f(a, b)`.
    #[inline(never)]
    pub(super) fn call(
        &mut self,
        env: &mut Env,
        f: &ast::Expr,
        args: &[ast::Expr],
        span: Span,
    ) -> R<Val> {
        let callee = self.callee(env, f, args.len());
        let values: Vec<R<(Val, Span)>> = args.iter().map(|a| self.argument(env, a)).collect();
        let callee = callee?;
        let values = values.into_iter().collect::<R<Vec<(Val, Span)>>>()?;
        self.apply(callee, values, f.span, span)
    }

    /// `f(e for i in S)`.
    #[inline(never)]
    pub(super) fn call_comp(
        &mut self,
        env: &mut Env,
        f: &ast::Expr,
        body: &ast::Expr,
        gens: &[ast::Gen],
        span: Span,
    ) -> R<Val> {
        let callee = self.callee(env, f, 1);
        if let Ok(Val::Weights(m)) = callee {
            return self.weights_of_tensors(env, m, body, gens, span).map(Val::Expr);
        }
        let value = self.comp(env, body, gens, span.to(body.span));
        let (callee, value) = (callee?, value?);
        let at = value.span;
        self.apply(callee, vec![(Val::Expr(value), at)], f.span, span)
    }

    pub(super) fn apply(
        &mut self,
        callee: Val,
        args: Vec<(Val, Span)>,
        f: Span,
        span: Span,
    ) -> R<Val> {
        let (id, sizes) = match callee {
            Val::Weights(m) => {
                let args = self.plain(args)?;
                return self.weights_of(m, args, f, span).map(Val::Expr);
            }
            Val::Item(id) => (id, Vec::new()),
            Val::Sized(id, sizes) => (id, sizes),
            Val::Layer(layer) => return self.layer_value(&layer, args, f, span),
            Val::Model(m) => {
                let args = self.plain(args)?;
                return self.run_model(m, args, f, span).map(Val::Expr);
            }
            Val::Poison => return Err(Reported),
            Val::Expr(e) => {
                let name = self.text(f);
                return codes::KIND
                    .error(format!("`{name}` is not a function"))
                    .label(f, self.this_is(&e.ty))
                    .hint("an index stands in brackets: `x[i]`")
                    .refuse(self);
            }
            other => {
                return codes::KIND
                    .error("only functions and models are called")
                    .label(f, other.this_is())
                    .refuse(self);
            }
        };
        let item = self.world.item(id);
        match &item.kind {
            ItemKind::Fn(function) => {
                let callee = Callee { id, function, sizes: &sizes, name: f };
                match function.body {
                    Some(_) => self.call_fn(callee, args, span),
                    None => self.intrinsic(callee, args, span),
                }
            }
            ItemKind::Block(b) if b.is_model => {
                let m = self.model(id, &sizes, f)?;
                let args = self.plain(args)?;
                self.run_model(m, args, f, span).map(Val::Expr)
            }
            ItemKind::Block(b) => {
                let name = &b.name.name;
                codes::LAYER
                    .error("a block is applied inside a `block` or `model`")
                    .label(f, "its weights belong to a model")
                    .hint(format!(
                        "make `{name}` a layer of a model, and call the model: `M(w, x)`"
                    ))
                    .refuse(self)
            }
            _ => {
                let name = self.text(f);
                codes::KIND
                    .error(format!("`{name}` is not a function"))
                    .label(f, "cannot be called")
                    .refuse(self)
            }
        }
    }

    /// A model applied to weights and one input.
    fn run_model(&mut self, m: ModelId, args: Vec<Expr>, callee: Span, span: Span) -> R<Expr> {
        let name = self.text(callee);
        let n = args.len();
        let Ok([w, x]) = <[Expr; 2]>::try_from(args) else {
            return codes::ARGUMENTS
                .error(format!(
                    "a model takes weights and one input, not {}",
                    count(n, "argument", "arguments")
                ))
                .label(span, "wrong number of arguments")
                .hint(format!("write `{name}(w, x)`"))
                .refuse(self);
        };
        self.even(&w)?;
        self.even(&x)?;
        let Model { input, output, name: wanted, .. } = self.model_of(m);
        let (input, output, wanted) = (input.clone(), output.clone(), wanted.clone());
        if w.ty.record != Some(m) || w.ty.dims.len() != 1 {
            let found = self.ty(&w.ty);
            let error = codes::SHAPE
                .error(format!("`{name}` wants its weights first"))
                .label(w.span, format!("this is {found}, not weights {wanted}"));
            let several = w.ty.record == Some(m);
            return error
                .hints(several.then_some("one client's at a time: index it, as in `update[i]`"))
                .refuse(self);
        }
        if x.ty.shape() != input {
            let deeper = x.ty.dims.len() == input.len() + 1 && x.ty.shape().ends_with(&input);
            let (text, first) = (self.text(x.span), x.ty.dims.first().filter(|_| deeper));
            let hint = first.map(|first| {
                let n = self.range_text(first);
                format!("one input at a time: `[{name}(w, {text}[s]) for s in {n}]`")
            });
            return codes::SHAPE
                .error(format!("`{name}` takes one input of shape {}", shape_text(&input)))
                .label(x.span, self.this_is(&x.ty))
                .hints(hint)
                .refuse(self);
        }
        let ty = Ty::tensor(Elem::Fix, output, w.ty.secrecy.max(x.ty.secrecy));
        Ok(typed(ExprKind::Apply(m, Box::new(w), Box::new(x)), ty, span))
    }

    /// A function of the language: sizes from brackets and arguments, then its instance.
    #[inline(never)]
    fn call_fn(&mut self, callee: Callee, args: Vec<(Val, Span)>, span: Span) -> R<Val> {
        let (id, f) = (callee.id, callee.function);
        self.arity(f, args.len(), span)?;
        let mut leaves = Vec::new();
        for (param, (arg, at)) in f.params.iter().zip(args) {
            let ty = self.declared(param)?;
            self.leaves(f, ty, param.name.name.clone(), arg, at, &mut leaves)?;
        }
        for leaf in &leaves {
            self.even(&leaf.arg)?;
        }
        if of_numbers(f) && leaves.iter().any(|leaf| !leaf.arg.ty.dims.is_empty()) {
            let args = leaves.into_iter().map(|leaf| leaf.arg).collect();
            return self.entry_by_entry(callee, args, span).map(Val::Expr);
        }
        let module = self.world.items[id.0].module;
        let mut sizes = self.place_sizes(&f.name.name, &f.sizes, callee.sizes, f.name.span)?;
        // Weights first: they say which model it is, and tensors may have its shape.
        for weights in [true, false] {
            for leaf in &leaves {
                if matches!(leaf.ty.kind, TypeKind::Weights { .. }) == weights {
                    self.unify(module, callee, &mut sizes, leaf)?;
                }
            }
        }
        let mut env = Env::new(module);
        self.finish_sizes(&mut env, &f.name.name, &f.sizes, &mut sizes, callee.name)?;
        let values: Vec<SizeVal> = sizes.iter().flatten().copied().collect();
        let mut types = Vec::with_capacity(leaves.len());
        for leaf in &leaves {
            types.push(self.param_ty(&mut env, callee, leaf)?);
        }
        // Of what is computed from integers that are known at run time: an index may be one.
        let at_run = |e: &Expr| !matches!(e.kind, ExprKind::Const(_) | ExprKind::Index(_));
        let between: Vec<Option<Between>> = (leaves.iter())
            .map(|leaf| self.bounds_of(&leaf.arg).filter(|_| at_run(&leaf.arg)))
            .collect();
        let key: Key = (id, values.clone(), types.clone(), between.clone());
        let known = self.instances.get(&key).copied();
        let fn_id = match known {
            Some(known) => known?,
            None => {
                if self.stack.iter().any(|frame| frame.item == id) {
                    // Reported with the names.
                    return Err(Reported);
                }
                let made = self.inside(id, &values, span, |this| {
                    this.scoped(|this| this.instantiate(env, f, types, &between)).0
                });
                // Also where calls are too deep: the program is refused, and says so.
                self.instances.insert(key, made);
                made?
            }
        };
        let args = leaves.into_iter().map(|leaf| leaf.arg).collect();
        self.results(fn_id, f, args, span)
    }

    /// A function of single numbers on tensors of one shape: its value for each entry.
    #[inline(never)]
    fn entry_by_entry(&mut self, callee: Callee, args: Vec<Expr>, span: Span) -> R<Expr> {
        let name = &callee.function.name.name;
        let mut shape: Option<Expr> = None;
        for arg in args.iter().filter(|arg| !arg.ty.dims.is_empty()) {
            shape = Some(match shape {
                None => arg.clone(),
                Some(first) => {
                    let dims = self.joint_dims(name, &first, arg, span)?;
                    let record = first.ty.record.filter(|m| arg.ty.record == Some(*m));
                    let ty = Ty { dims, record, ..first.ty.clone() };
                    Expr { ty, ..first }
                }
            });
        }
        let Some(Expr { ty: shape, .. }) = shape else { return Err(Reported) };
        let public = Ty::scalar(Elem::Int, Secrecy::Public);
        let vars: Vec<VarId> =
            shape.dims.iter().map(|_| self.var("entry", public.clone(), span)).collect();
        let mut entries = Vec::with_capacity(args.len());
        for arg in args {
            let at = arg.span;
            if arg.ty.dims.is_empty() {
                entries.push((Val::Expr(arg), at));
                continue;
            }
            // Once, before all entries.
            let ty = Ty::scalar(arg.ty.elem, arg.ty.secrecy);
            let whole = self.var("argument", arg.ty.clone(), at);
            self.note(whole, &arg);
            let name = typed(ExprKind::Var(whole), arg.ty.clone(), at);
            self.pending.push(Definition::value(whole, arg));
            let indices = vars.iter().map(|v| Index::Var(*v)).collect();
            entries.push((Val::Expr(typed(ExprKind::At(Box::new(name), indices), ty, at)), at));
        }
        let Val::Expr(mut value) = self.call_fn(callee, entries, span)? else {
            return Err(Reported);
        };
        for (var, dim) in vars.iter().zip(&shape.dims).rev() {
            let domain = match dim.set {
                Some(set) => Domain::Set(set),
                None => Domain::Range(Index::Const(0), Index::Const(dim.size as i64)),
            };
            let mut ty = value.ty.clone();
            ty.dims.insert(0, *dim);
            let gens = vec![Gen { var: *var, domain, cond: None }];
            value = typed(ExprKind::Comp(gens, Box::new(value)), ty, span);
        }
        value.ty.record = shape.record;
        self.limit(&value.ty, span)?;
        Ok(value)
    }

    #[inline(never)]
    fn instantiate(
        &mut self,
        mut env: Env,
        f: &Function,
        types: Vec<Ty>,
        between: &[Option<Between>],
    ) -> R<FnId> {
        let mut params = Vec::with_capacity(types.len());
        let mut types = types.into_iter();
        for param in &f.params {
            let ty = self.declared(param)?;
            let val = self.parameter(ty, &param.name, &mut types, &mut params)?;
            env.set(&param.name.name, val);
        }
        for (var, between) in params.iter().zip(between) {
            self.bounds.extend(between.map(|b| (*var, b)));
        }
        let Some(body) = &f.body else { return Err(Reported) };
        self.requirements(&mut env, &body.requires)?;
        let (lets, value) = self.body_of(&mut env, body)?;
        let mut values = Vec::new();
        self.result(&mut env, f, &f.result, value, body.value.span, &mut values)?;
        let id = FnId(self.functions.len() as u32);
        if let [one] = values.as_slice()
            && let Some(between) = self.bounds_of(one)
        {
            self.results_between.insert(id, between);
        }
        let body = Body { lets, values };
        self.functions.push(Instance { name: f.name.name.clone(), params, body });
        Ok(id)
    }

    /// The definitions of a body, and its result.
    pub(super) fn body_of(&mut self, env: &mut Env, body: &ast::Body) -> R<(Vec<Definition>, Val)> {
        let mut lets = Vec::new();
        let mut failed = false;
        for l in &body.lets {
            match self.define(env, l) {
                Ok(Some((vars, body))) => {
                    lets.extend(body.lets);
                    let values = vars.into_iter().zip(body.values);
                    lets.extend(values.map(|(var, value)| Definition::value(var, value)));
                }
                Ok(None) => {}
                Err(Reported) => failed = true,
            }
        }
        let (value, defined) = self.scoped(|this| {
            let value = this.expr(env, &body.value)?;
            this.settled(value, body.value.span)
        });
        lets.extend(defined);
        let value = value?;
        if failed { Err(Reported) } else { Ok((lets, value)) }
    }

    /// Checks a function's value against its declared result.
    #[inline(never)]
    fn result(
        &mut self,
        env: &mut Env,
        f: &Function,
        ty: &ast::Type,
        value: Val,
        span: Span,
        out: &mut Vec<Expr>,
    ) -> R<()> {
        let name = &f.name.name;
        let written = print_type(ty);
        let value = match (&ty.kind, value) {
            (TypeKind::Tuple(types), Val::Tuple(parts)) if types.len() == parts.len() => {
                self.no_secrecy(ty)?;
                for (ty, part) in types.iter().zip(parts) {
                    self.result(env, f, ty, part, span, out)?;
                }
                return Ok(());
            }
            (TypeKind::Tensor { .. } | TypeKind::Weights { .. }, Val::Expr(value)) => value,
            (_, value) => {
                let title = format!("`{name}` should return {written}");
                return codes::SHAPE
                    .error(title)
                    .label(span, format!("this is {}", self.tree_text(&value)))
                    .label(f.result.span, "declared here")
                    .refuse(self);
            }
        };
        self.even(&value)?;
        let wanted = self.written_ty(env, ty)?;
        let title = format!("`{name}` should return {written}");
        let wrong = if wanted.record.is_some() && wanted.record != value.ty.record {
            Some((codes::SHAPE, title))
        } else if wanted.shape() != value.ty.shape() {
            let shown = self.ty(&wanted);
            let here = if shown == written { String::new() } else { format!(", here {shown}") };
            Some((codes::SHAPE, title + &here))
        } else if !fits(value.ty.elem, wanted.elem) {
            Some((codes::ELEMENT, title))
        } else if ty.secrecy == Some(Secrecy::Public) && value.ty.secrecy != Secrecy::Public {
            Some((codes::SECRECY, format!("`{name}` should return a public value")))
        } else {
            None
        };
        if let Some((code, title)) = wrong {
            return code
                .error(title)
                .label(value.span, self.this_is(&value.ty))
                .label(f.result.span, "declared here")
                .refuse(self);
        }
        out.push(value);
        Ok(())
    }

    /// `trimmed_mean[low = 1, high = 0, n = 3]`.
    pub(super) fn sized_text(&self, item: &ast::Item, values: &[SizeVal]) -> String {
        let name = item.name().map_or("", |n| &n.name);
        let one = |(p, v): (&Size, &SizeVal)| match v {
            SizeVal::Int(i) | SizeVal::Rounded(i) => format!("{} = {i}", p.name.name),
            SizeVal::Real(bits) => format!("{} = {}", p.name.name, f64::from_bits(*bits)),
            SizeVal::Model(m) => format!("{} = {}", p.name.name, self.model_of(*m).name),
        };
        let all: Vec<String> = item.sizes().iter().zip(values).map(one).collect();
        if all.is_empty() { name.to_owned() } else { format!("{name}[{}]", all.join(", ")) }
    }

    /// Whether a place is in the standard library.
    pub(super) fn in_std(&self, span: Span) -> bool {
        let own = &self.world.modules[STD].own;
        own.iter().any(|id| self.world.items[id.0].item.span.file == span.file)
    }
}
