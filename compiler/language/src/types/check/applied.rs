//! Layers applied in expressions of a block: in definitions, loops and sums. A block is written out where it is
//! applied.

use super::checker::Checker;
use super::indexing::At;
use super::layers::{Builder, MAX_LAYERS, is_layer};
use super::requirements::required;
use super::value::{
    Env, Instance, IntVal, Layer, LayerSpec, R, Reported, SizeVal, SpecKind, Val, count,
    shape_text, typed,
};
use super::world::ItemId;
use crate::diagnostic::{Edit, Hint, codes};
use crate::syntax::ast::{self, Ident, ItemKind, Secrecy, Span};
use crate::types::layer;
use crate::types::model::ParamId;
use crate::types::{Definition, Dim, Elem, Expr, ExprKind, Index, Ty};
use std::rc::Rc;

impl Checker<'_> {
    /// What is applied to some values, `f` of `x |> f`: a layer, a function or a model.
    #[inline(never)]
    pub(super) fn callee(&mut self, env: &mut Env, mut f: &ast::Expr, values: usize) -> R<Val> {
        while let ast::ExprKind::If(c, a, b) = &f.kind {
            f = if self.condition(env, c)? { a } else { b };
        }
        if self.writes_layer(env, f) {
            let spec = self.layer_spec(env, f)?;
            return self.written_layer(spec, values, f.span).map(Val::Layer);
        }
        self.head(env, f)
    }

    /// Whether an expression in a block is a layer that is written where it is used, as far as its names say.
    pub(super) fn writes_layer(&self, env: &Env, f: &ast::Expr) -> bool {
        let is_block = |id: &ItemId| matches!(&self.world.items[id.0].item.kind, ItemKind::Block(b) if !b.is_model);
        match &f.kind {
            _ if !env.block => false,
            ast::ExprKind::Name(name) if env.get(name).is_some() => false,
            ast::ExprKind::Name(name) if is_layer(name) => true,
            ast::ExprKind::Name(name) => {
                self.world.visible(env.module, true, name).as_ref().is_some_and(is_block)
            }
            ast::ExprKind::Path(head, name) => {
                self.world.path(head, name).is_ok_and(|id| is_block(&id))
            }
            ast::ExprKind::At(a, _) => self.writes_layer(env, a),
            _ => false,
        }
    }

    /// A layer of a list, `blocks[2]`.
    #[inline(never)]
    pub(super) fn layer_at(&mut self, list: &Layer, index: At, span: Span) -> R<Rc<Layer>> {
        if !matches!(list.kind, SpecKind::List(_)) {
            return codes::LAYER
                .error("this layer has its sizes")
                .label(span, "brackets again")
                .hint("sizes stand where a layer is declared; of a list one index picks a layer")
                .refuse(self);
        }
        let (at, place) = match index {
            At::Build(IntVal { index: Index::Const(i), .. }, place) => (i, place),
            At::Build(_, place) => {
                let name = &list.name;
                return codes::KIND
                    .error("a layer of a list is chosen by a number, not by a loop variable")
                    .label(place, "depends on a loop variable")
                    .hint(format!(
                        "its layers may have different shapes: write the list out, \
                         `let y = [x |> {name}[0], x |> {name}[1]];`, and index that one"
                    ))
                    .refuse(self);
            }
            At::Run(e) => {
                return codes::KIND
                    .error(
                        "a layer of a list is chosen by a number that is known when the program is built",
                    )
                    .label(e.span, "known only when it runs")
                    .hint("a number or a size stands here: `layers[0]`")
                    .refuse(self);
            }
        };
        if let Some(layer) = list.named(&at.to_string()) {
            return Ok(layer.clone());
        }
        let numbers: Vec<&str> = list.inner.iter().map(|(n, _)| n.as_str()).collect();
        let label = match numbers.as_slice() {
            [] => "the list is empty".to_owned(),
            [first, .., last] => format!("its layers are {first} to {last}"),
            [one] => format!("its one layer is {one}"),
        };
        let name = &list.name;
        let hint =
            |last| format!("the last one is `{name}[{last}]`; a longer list has more layers");
        codes::INDEX
            .error(format!("the list `{name}` has no layer {at}"))
            .label(place, label)
            .label(list.span, "the list is declared here")
            .hints(numbers.last().map(hint))
            .refuse(self)
    }

    /// A layer written where it is used: without weights, or with more values than its input, which are its parameters.
    fn written_layer(&mut self, spec: LayerSpec, values: usize, at: Span) -> R<Rc<Layer>> {
        let mut alone = Builder::default();
        let placed = self.place(&mut alone, spec, "")?;
        let given = values > 1 && matches!(placed.kind, SpecKind::Builtin(_));
        if alone.params.is_empty() || given {
            return Ok(Rc::new(placed));
        }
        let text = self.text(at);
        codes::LAYER
            .error("a layer with weights has a name")
            .label(at, "its weights would have no name")
            .hint(format!("declare it above, `fc: {text};`, and write `|> fc`"))
            .refuse(self)
    }

    /// A layer of the compiler with its parameters as arguments: `conv2d[1, 6, 5, bias = 0](x, kernels)`.
    #[inline(never)]
    fn with_parameters(
        &mut self,
        layer: &layer::Layer,
        args: Vec<(Val, Span)>,
        at: Span,
        span: Span,
    ) -> R<Expr> {
        let mut args = self.plain(args)?;
        let wanted = layer.params();
        let name = self.text(at);
        if args.len() != 1 + wanted.len() {
            let names: Vec<&str> = wanted.iter().map(|(n, _)| *n).collect();
            let takes = count(1 + wanted.len(), "argument", "arguments");
            return codes::ARGUMENTS
                .error(format!("`{name}` takes {takes}"))
                .label(span, format!("here are {}", args.len()))
                .hint(match names.as_slice() {
                    [] => format!("write `{name}(x)`"),
                    names => format!(
                        "a declared layer takes one, `x |> fc`; with its parameters as arguments: `{name}(x, {})`",
                        names.join(", ")
                    ),
                })
                .refuse(self);
        }
        for arg in &args {
            self.even(arg)?;
        }
        let params = args.split_off(1);
        for (param, (name, shape)) in params.iter().zip(wanted) {
            if param.ty.shape() != shape {
                return codes::SHAPE
                    .error(format!("`{name}` of this layer has shape {}", shape_text(&shape)))
                    .label(param.span, self.this_is(&param.ty))
                    .refuse(self);
            }
        }
        let x = args.pop().ok_or(Reported)?;
        self.builtin_value(layer, None, x, params, at, span)
    }

    /// A layer applied to values.
    pub(super) fn layer_value(
        &mut self,
        layer: &Rc<Layer>,
        mut args: Vec<(Val, Span)>,
        at: Span,
        span: Span,
    ) -> R<Val> {
        self.count_application(at)?;
        match &layer.kind {
            SpecKind::Block(id, sizes) => {
                return self.block_value(layer, *id, sizes, args, at, span);
            }
            SpecKind::Builtin(builtin) if layer.name.is_empty() && args.len() > 1 => {
                return self.with_parameters(builtin, args, at, span).map(Val::Expr);
            }
            _ => {}
        }
        let (Some((x, from)), true) = (args.pop(), args.is_empty()) else {
            return codes::ARGUMENTS
                .error("a layer takes one argument")
                .label(span, "wrong number of arguments")
                .refuse(self);
        };
        match &layer.kind {
            SpecKind::Block(..) => Err(Reported),
            SpecKind::Builtin(layer::Layer::Identity) => Ok(x),
            SpecKind::Builtin(builtin) => {
                let x = self.at_run_time(x, from)?;
                self.even(&x)?;
                let params = layer.params.iter().zip(builtin.params());
                let params = params
                    .map(|(id, (name, shape))| self.param_value(*id, name, &shape, layer.span))
                    .collect();
                self.builtin_value(builtin, Some(layer), x, params, at, span).map(Val::Expr)
            }
            SpecKind::Function(id, sizes) => {
                let callee = Val::Sized(*id, sizes.clone());
                self.apply(callee, vec![(x, from)], layer.span, span)
            }
            SpecKind::List(_) => {
                let mut value = (x, from);
                for (_, one) in &layer.inner {
                    value = (self.layer_value(one, vec![value], at, span)?, at);
                }
                Ok(value.0)
            }
            SpecKind::Param(_) => Err(self.not_a_layer("a parameter", at)),
        }
    }

    /// Notes that a layer is applied once more.
    pub(super) fn count_application(&mut self, at: Span) -> R<()> {
        self.making.applications += 1;
        if self.making.applications > MAX_LAYERS {
            return Err(self.too_many_layers(at));
        }
        Ok(())
    }

    #[inline(never)]
    fn builtin_value(
        &mut self,
        builtin: &layer::Layer,
        declared: Option<&Layer>,
        x: Expr,
        params: Vec<Expr>,
        at: Span,
        span: Span,
    ) -> R<Expr> {
        let shape = self.shape_of(builtin, declared, (x.span, &x.ty.shape()), at)?;
        let mut args = vec![x];
        args.extend(params);
        let secrecy = args.iter().map(|a| a.ty.secrecy).fold(Secrecy::Public, Secrecy::max);
        let ty = Ty::tensor(Elem::Fix, shape, secrecy);
        self.limit(&ty, span)?;
        Ok(typed(ExprKind::Layer(builtin.clone(), args), ty, span))
    }

    /// The shape of what a layer makes of a value of this shape, which comes from a place.
    pub(super) fn shape_of(
        &mut self,
        builtin: &layer::Layer,
        declared: Option<&Layer>,
        (from, shape): (Span, &[u64]),
        at: Span,
    ) -> R<Vec<u64>> {
        let misfit = match builtin.output(shape) {
            Ok(shape) => return Ok(shape),
            Err(misfit) => misfit,
        };
        let name = declared.map(|l| l.name.clone()).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| self.text(at));
        let text = shape_text(shape);
        let mut error = codes::SHAPE
            .error(format!("layer `{name}` takes {}, and gets shape {text}", misfit.wanted))
            .label(at, misfit.why)
            .label(from, format!("this gives shape {text}"));
        if let Some(declared) = declared.filter(|l| l.span.range() != at.range()) {
            error = error.label(declared.span, "the layer is declared here");
        }
        let flat = matches!(builtin, layer::Layer::Linear { .. }) && shape.len() > 1;
        if !flat {
            return error.refuse(self);
        }
        // `x |> fc`; where something else of this block may be named so, it is only said.
        let between = self.sources.snippet(Span { start: from.end, end: at.start, ..at });
        let item = self.stack.last().map(|f| self.world.item(f.item));
        let block = item.map_or("", |item| self.sources.snippet(item.span));
        let taken =
            block.match_indices("flatten").count() > block.match_indices("|> flatten").count();
        let edit = (between.trim() == "|>" && from.file == at.file && !taken)
            .then(|| Edit::after(from, " |> flatten"));
        error.hint(Hint::from("write `|> flatten` before it").edit(edit)).refuse(self)
    }

    /// A block applied to values: its body, in place.
    fn block_value(
        &mut self,
        layer: &Rc<Layer>,
        id: ItemId,
        sizes: &[SizeVal],
        args: Vec<(Val, Span)>,
        at: Span,
        span: Span,
    ) -> R<Val> {
        let item = self.world.item(id);
        let ItemKind::Block(block) = &item.kind else { return Err(Reported) };
        if args.len() != block.params.len() {
            let names: Vec<&str> = block.params.iter().map(|p| p.name.name.as_str()).collect();
            let name = &block.name.name;
            let wanted = count(names.len(), "input", "inputs");
            return codes::ARGUMENTS
                .error(format!("block `{name}` takes {wanted}, not {}", args.len()))
                .label(span, "wrong number of arguments")
                .hint(format!("its inputs are ({})", names.join(", ")))
                .refuse(self);
        }
        let of = Instance { id, block, sizes };
        let mut env = self.block_env(of, &layer.inner);
        for (param, (arg, from)) in block.params.iter().zip(args) {
            let value = self.held_value(&param.name, arg, from)?;
            if let (Some(ty), Val::Expr(e)) = (&param.ty, &value) {
                let wanted = self.written_ty(&mut env, ty)?;
                if wanted.shape() != e.ty.shape() {
                    let (block, wanted) = (&block.name.name, self.ty(&wanted));
                    return codes::SHAPE
                        .error(format!("block `{block}` takes `{}: {wanted}`", param.name.name))
                        .label(from, self.this_is(&e.ty))
                        .label(ty.span, "declared here")
                        .refuse(self);
                }
            }
            env.set(&param.name.name, value);
        }
        let (lets, value) = self.inside(id, sizes, at, |this| {
            this.requirements(&mut env, required(block, true))?;
            this.body_of(&mut env, &block.body)
        })?;
        self.pending.extend(lets);
        Ok(value)
    }

    /// A value under the name of an input, computed once.
    fn held_value(&mut self, name: &Ident, arg: Val, from: Span) -> R<Val> {
        if matches!(&arg, Val::Expr(e) if matches!(e.kind, ExprKind::Var(_))) {
            return Ok(arg);
        }
        let mut defined = Vec::new();
        let value = self.named(&name.name, name.span, arg, from, &mut defined)?;
        self.pending.extend(defined.into_iter().map(|(var, value)| Definition::value(var, value)));
        Ok(value)
    }

    /// The scope of the body of a block, still without its inputs.
    pub(super) fn block_env(&mut self, of: Instance, layers: &[(String, Rc<Layer>)]) -> Env {
        let mut env = self.sizes_env(of);
        for (name, layer) in layers {
            let value = self.declared_value(layer);
            env.set(name, value);
        }
        env
    }

    /// What the name of a layer or parameter stands for: parameters are values, and so are lists of them.
    pub(super) fn declared_value(&mut self, layer: &Rc<Layer>) -> Val {
        let inner = &layer.inner;
        match (&layer.kind, layer.params.first()) {
            (SpecKind::Param(shape), Some(id)) => {
                Val::Expr(self.param_value(*id, &layer.name, shape, layer.span))
            }
            (SpecKind::List(_), _) if layer.is_params() => {
                let all = inner.iter().map(|(_, one)| self.declared_value(one));
                let exprs = all.filter_map(|v| if let Val::Expr(e) = v { Some(e) } else { None });
                let exprs: Vec<Expr> = exprs.collect();
                match exprs.first() {
                    Some(first) if exprs.iter().all(|e| e.ty == first.ty) => {
                        let mut ty = first.ty.clone();
                        ty.dims.insert(0, Dim::plain(exprs.len() as u64));
                        Val::Expr(typed(ExprKind::List(exprs), ty, layer.span))
                    }
                    _ => Val::Tuple(exprs.into_iter().map(Val::Expr).collect()),
                }
            }
            _ => Val::Layer(Rc::clone(layer)),
        }
    }

    /// A parameter as a value.
    fn param_value(&mut self, id: ParamId, name: &str, shape: &[u64], span: Span) -> Expr {
        let ty = Ty::tensor(Elem::Fix, shape.iter().copied(), Secrecy::Secret);
        let var = match self.making.params.get(&id) {
            Some(var) => *var,
            None => {
                let var = self.var(name, ty.clone(), span);
                self.making.params.insert(id, var);
                var
            }
        };
        typed(ExprKind::Var(var), ty, span)
    }

    /// A parameter of a declared layer, or a layer inside of it: `embed.weight`.
    pub(super) fn part_of_layer(&mut self, layer: &Rc<Layer>, name: &Ident) -> R<Val> {
        if let Some(inner) = layer.named(&name.name).cloned() {
            return Ok(self.declared_value(&inner));
        }
        let own = match &layer.kind {
            SpecKind::Builtin(builtin) => builtin.params(),
            _ => Vec::new(),
        };
        for (id, (param, shape)) in layer.params.iter().zip(&own) {
            if *param == name.name {
                return Ok(Val::Expr(self.param_value(*id, param, shape, layer.span)));
            }
        }
        let names = own.iter().map(|(n, _)| *n).chain(layer.inner.iter().map(|(n, _)| n.as_str()));
        let names: Vec<String> = names.map(|n| format!("`{n}`")).collect();
        codes::UNKNOWN_NAME
            .error(format!("layer `{}` has no `{}`", layer.name, name.name))
            .label(name.span, "not defined")
            .hint(match names.as_slice() {
                [] => "it has no parameters".to_owned(),
                names => format!("here are: {}", names.join(", ")),
            })
            .refuse(self)
    }
}
