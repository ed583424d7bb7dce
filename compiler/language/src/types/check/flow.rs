//! Models: layers applied to an input, with every shape known. A layer of the compiler is a step, and so is every
//! expression between layers.

use super::checker::Checker;
use super::layers::Builder;
use super::requirements::required;
use super::value::{
    Env, Instance, Layer, R, Reported, SizeArg, SizeVal, SpecKind, Val, shape_text, typed,
};
use super::world::ItemId;
use crate::diagnostic::{Hint, codes};
use crate::syntax::ast::{self, BinaryOp, ItemKind, Secrecy, Span, TypeKind};
use crate::types::model::{Model, Operand, ParamId, Step, StepId, StepKind};
use crate::types::{self, Elem, ExprKind, ModelId, Ty, VarId, layer};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Where a value stands in the body of a block.
struct Body<'l> {
    /// The name of the block's input.
    input: &'l str,
    x: StepId,
    /// Dotted name of the block.
    prefix: &'l str,
}

impl Checker<'_> {
    /// The instance of a model for these sizes.
    pub(super) fn model(&mut self, id: ItemId, given: &[SizeArg], span: Span) -> R<ModelId> {
        let item = self.world.item(id);
        let ItemKind::Block(block) = &item.kind else { return Err(Reported) };
        let name = &block.name.name;
        let mut sizes = self.place_sizes(name, &block.sizes, given, block.name.span)?;
        let mut env = Env::new(self.world.items[id.0].module);
        self.finish_sizes(&mut env, name, &block.sizes, &mut sizes, span)?;
        let sizes: Vec<SizeVal> = sizes.into_iter().flatten().collect();
        let key = (id, sizes.clone());
        if let Some(known) = self.model_instances.get(&key) {
            return *known;
        }
        let of = Instance { id, block, sizes: &sizes };
        let made = self.inside(id, &sizes, span, |this| {
            let model = this.build_model(of, &mut env)?;
            this.models.push(model);
            Ok(ModelId(this.models.len() as u32 - 1))
        });
        self.model_instances.insert(key, made);
        made
    }

    fn build_model(&mut self, of: Instance, env: &mut Env) -> R<Model> {
        let block = of.block;
        let name = block.name.name.clone();
        let Some(ast::Param { name: param, ty, .. }) = block.params.first() else {
            return Err(Reported);
        };
        let Some(ty) = ty else {
            return codes::LAYER
                .error("a model states the shape of its input")
                .label(param.span, "which shape?")
                .hint(format!(
                    "for example `model {name}({}: fix[1, 28, 28]) -> fix[10]`",
                    param.name
                ))
                .refuse(self);
        };
        let input = self.model_shape(env, ty)?;
        let outer = std::mem::take(&mut self.making);
        let built = self.build_steps(of, &input);
        self.making = outer;
        let (builder, last) = built?;
        let output = builder.steps[last].shape.clone();
        if let Some(ty) = &block.result {
            let declared = self.model_shape(env, ty)?;
            if declared != output {
                let (declared, found) = (shape_text(&declared), shape_text(&output));
                return codes::SHAPE
                    .error(format!("model `{name}` should return shape {declared}"))
                    .label(block.body.value.span, format!("this has shape {found}"))
                    .label(ty.span, "declared here")
                    .refuse(self);
            }
        }
        let Builder { params, len, steps, .. } = builder;
        Ok(Model { name, input, output, params, len, steps })
    }

    /// The steps of a model, and the last of them.
    fn build_steps(&mut self, of: Instance, input: &[u64]) -> R<(Builder, StepId)> {
        let mut b = Builder::default();
        let [param] = of.block.params.as_slice() else { return Err(Reported) };
        let x = push(&mut b, StepKind::Input, input.to_vec(), "", param.name.span);
        let layers = self.place_layers(&mut b, of, "")?;
        let last = self.body_steps(&mut b, of, &layers, x, "")?;
        // The result is the last step.
        b.steps.truncate(last + 1);
        self.unread(&b, &layers);
        Ok((b, last))
    }

    /// The body of a block of one input.
    fn body_steps(
        &mut self,
        b: &mut Builder,
        of: Instance,
        layers: &[(String, Rc<Layer>)],
        x: StepId,
        prefix: &str,
    ) -> R<StepId> {
        let ast::Block { params, body, .. } = of.block;
        let [param] = params.as_slice() else { return Err(Reported) };
        let input = &param.name.name;
        let mut env = self.block_env(of, layers);
        let mut required = required(of.block, true).peekable();
        if required.peek().is_some() {
            let mut env = env.clone();
            let value = self.step_value(b, x, input);
            env.set(input, value);
            self.requirements(&mut env, required)?;
        }
        if body.lets.is_empty() {
            return self.flow(&mut env, b, &Body { input, x, prefix }, &body.value);
        }
        let value = self.step_value(b, x, input);
        env.set(input, value);
        self.compute(b, prefix, body.value.span, |this| {
            let (lets, value) = this.body_of(&mut env, body)?;
            this.pending.extend(lets);
            Ok(value)
        })
    }

    fn model_shape(&mut self, env: &mut Env, ty: &ast::Type) -> R<Vec<u64>> {
        let base = match &ty.kind {
            TypeKind::Tensor { base, dims } => match Elem::named(&base.name) {
                Some(Elem::Fix) => return self.dims(env, dims),
                elem => elem.map(|_| base.span),
            },
            TypeKind::Weights { .. } | TypeKind::Tuple(_) => None,
        };
        let fix = |at| {
            Hint::write(
                at,
                "fix",
                ": integers such as tokens fit, and the input of the predicate that the model is applied to may \
                 stay an `int` or a `bit`",
            )
        };
        codes::LAYER
            .error("models map `fix` tensors to `fix` tensors")
            .label(ty.span, "not one")
            .hint(base.map_or("for example `fix[1, 28, 28]`".into(), fix))
            .refuse(self)
    }

    /// Warns of layers that are declared but never applied, and of parameters that are never read.
    fn unread(&mut self, b: &Builder, layers: &[(String, Rc<Layer>)]) {
        let mut read = BTreeSet::new();
        for step in &b.steps {
            match &step.kind {
                StepKind::Layer { params, .. } => read.extend(params.iter().copied()),
                StepKind::Compute { operands, .. } => {
                    read.extend(operands.iter().filter_map(|(_, o)| match o {
                        Operand::Param(p) => Some(*p),
                        Operand::Step(_) => None,
                    }));
                }
                StepKind::Input | StepKind::Add(..) => {}
            }
        }
        layers.iter().for_each(|(_, layer)| self.unread_in(layer, layer.span, &read));
    }

    /// The same of a layer that is declared at `span`.
    fn unread_in(&mut self, layer: &Layer, span: Span, read: &BTreeSet<ParamId>) {
        let name = &layer.name;
        if layer.is_params() || layer.has_weights(&|p| read.contains(&p)) {
            for (_, one) in &layer.inner {
                let span = if self.in_std(one.span) { span } else { one.span };
                self.unread_in(one, span, read);
            }
        } else if layer.is_param() {
            self.warn(
                codes::LAYER
                    .warning(format!("parameter `{name}` is never read"))
                    .label(span, "it changes nothing")
                    .hint("compute with it, or delete it"),
            );
        } else if layer.has_weights(&|_| true) {
            self.warn(
                codes::LAYER
                    .warning(format!("layer `{name}` is never applied"))
                    .label(span, "its weights change nothing")
                    .hint(format!("write `x |> {name}`, or delete it")),
            );
        }
    }

    /// The result of a step as a value of expressions.
    fn step_value(&mut self, b: &Builder, step: StepId, name: &str) -> Val {
        let Step { shape, span, .. } = &b.steps[step];
        let ty = Ty::tensor(Elem::Fix, shape.iter().copied(), Secrecy::Secret);
        let var = match self.making.steps.get(&step) {
            Some(var) => *var,
            None => {
                let var = self.var(name, ty.clone(), *span);
                self.making.steps.insert(step, var);
                var
            }
        };
        Val::Expr(typed(ExprKind::Var(var), ty, *span))
    }

    /// A step that computes an expression.
    #[inline(never)]
    fn compute(
        &mut self,
        b: &mut Builder,
        name: &str,
        span: Span,
        check: impl FnOnce(&mut Self) -> R<Val>,
    ) -> R<StepId> {
        let (made, lets) = self.scoped(|this| {
            let value = check(this)?;
            this.settled(value, span)
        });
        let value = match made? {
            Val::Expr(value) => value,
            value => {
                return codes::SHAPE
                    .error("a model computes one tensor")
                    .label(span, format!("this is {}", self.tree_text(&value)))
                    .hint("take a part of it: `t.0`, or `let (a, b) = ..;`")
                    .refuse(self);
            }
        };
        self.even(&value)?;
        if let ExprKind::Var(var) = &value.kind
            && let Some((step, _)) = self.making.steps.iter().find(|(_, v)| *v == var)
        {
            return Ok(*step);
        }
        let shape = value.ty.shape();
        let body = types::Body { lets, values: vec![value] };
        let mut of_var: BTreeMap<VarId, Operand> = BTreeMap::new();
        of_var.extend(self.making.params.iter().map(|(p, v)| (*v, Operand::Param(*p))));
        of_var.extend(self.making.steps.iter().map(|(s, v)| (*v, Operand::Step(*s))));
        let mut operands = BTreeMap::new();
        body.walk(&mut |e| {
            if let ExprKind::Var(v) = e.kind
                && let Some(operand) = of_var.get(&v)
            {
                operands.insert(v, *operand);
            }
        });
        let operands = operands.into_iter().collect();
        Ok(push(b, StepKind::Compute { operands, body }, shape, name, span))
    }

    /// An expression in the body of a block.
    fn flow(&mut self, env: &mut Env, b: &mut Builder, body: &Body, e: &ast::Expr) -> R<StepId> {
        let input = body.input;
        match &e.kind {
            ast::ExprKind::If(c, x, y) => {
                let taken = if self.condition(env, c)? { x } else { y };
                self.flow(env, b, body, taken)
            }
            ast::ExprKind::Error => Err(Reported),
            _ if !is_flow(input, e) => {
                if self.writes_layer(env, e) {
                    let text = self.text(e.span);
                    return codes::LAYER
                        .error("a layer is applied to a value")
                        .label(e.span, "a layer without an input")
                        .hint(format!("apply it: `{input} |> {text}`"))
                        .refuse(self);
                }
                let value = self.step_value(b, body.x, input);
                let names = env.names.len();
                env.set(input, value);
                let step = self.compute(b, body.prefix, e.span, |this| this.expr(env, e));
                env.names.truncate(names);
                step
            }
            ast::ExprKind::Binary(BinaryOp::Pipe, x, layer) => {
                let x = self.flow(env, b, body, x)?;
                self.through(env, b, body, layer, x, e.span)
            }
            ast::ExprKind::Call(layer, args) if args.len() == 1 => {
                let x = self.flow(env, b, body, &args[0])?;
                self.through(env, b, body, layer, x, e.span)
            }
            ast::ExprKind::Binary(BinaryOp::Add, x, y) => {
                let (left, right) = (self.flow(env, b, body, x), self.flow(env, b, body, y));
                let (left, right) = (left?, right?);
                let (p, q) = (b.steps[left].shape.clone(), b.steps[right].shape.clone());
                if p != q {
                    let error = codes::SHAPE
                        .error("`+` adds two of the same shape")
                        .label(y.span, format!("this has shape {}", shape_text(&q)))
                        .label(x.span, format!("this has shape {}", shape_text(&p)));
                    return error
                        .hint(match p.first() == q.first() && p.len() == 3 {
                            true => {
                                "padding keeps height and width: `kernel = 3` goes with \
                                 `pad = 1`, `kernel = 5` with `pad = 2`"
                            }
                            false => {
                                "a 1 x 1 convolution on the shortcut makes channels and \
                                 sizes equal: `conv2d[cin, cout, kernel = 1, stride = 2]`"
                            }
                        })
                        .refuse(self);
                }
                Ok(push(b, StepKind::Add(left, right), p, body.prefix, e.span))
            }
            _ => Ok(body.x),
        }
    }

    /// A value through a layer or a function.
    fn through(
        &mut self,
        env: &mut Env,
        b: &mut Builder,
        body: &Body,
        f: &ast::Expr,
        x: StepId,
        span: Span,
    ) -> R<StepId> {
        if matches!(&f.kind, ast::ExprKind::Name(n) if n == body.input) {
            return Err(self.not_a_layer("the input", f.span));
        }
        // Brackets and conditions may read the shape of the input.
        let names = env.names.len();
        if f.reads(body.input) {
            let value = self.step_value(b, body.x, body.input);
            env.set(body.input, value);
        }
        let made = match self.callee(env, f, 1) {
            Ok(Val::Layer(layer)) => self.apply_layer(b, &layer, x, f.span),
            Ok(callee) => {
                let value = vec![(self.step_value(b, x, body.input), b.steps[x].span)];
                self.compute(b, body.prefix, span, |this| this.apply(callee, value, f.span, span))
            }
            Err(Reported) => Err(Reported),
        };
        env.names.truncate(names);
        made
    }

    fn apply_layer(
        &mut self,
        b: &mut Builder,
        layer: &Rc<Layer>,
        x: StepId,
        at: Span,
    ) -> R<StepId> {
        match &layer.kind {
            SpecKind::Builtin(builtin) => {
                self.count_application(at)?;
                let Step { span, shape, .. } = &b.steps[x];
                let shape = self.shape_of(builtin, Some(layer), (*span, shape), at)?;
                if matches!(builtin, layer::Layer::Identity) {
                    return Ok(x);
                }
                let (of, params) = (builtin.clone(), layer.params.clone());
                Ok(push(b, StepKind::Layer { layer: of, x, params }, shape, &layer.name, at))
            }
            SpecKind::Block(id, sizes) => {
                let item = self.world.item(*id);
                let ItemKind::Block(block) = &item.kind else { return Err(Reported) };
                let plain = matches!(block.params.as_slice(), [p] if p.ty.is_none());
                if !plain || !block.body.lets.is_empty() {
                    let step = self.compute_layer(b, layer, x, at)?;
                    if let Step { kind: StepKind::Compute { .. }, applied, .. } = &mut b.steps[step]
                    {
                        applied.get_or_insert(at);
                    }
                    return Ok(step);
                }
                self.count_application(at)?;
                let of = Instance { id: *id, block, sizes };
                self.inside(*id, sizes, at, |this| {
                    this.body_steps(b, of, &layer.inner, x, &layer.name)
                })
            }
            SpecKind::Function(..) => self.compute_layer(b, layer, x, at),
            SpecKind::List(_) => {
                self.count_application(at)?;
                layer.inner.iter().try_fold(x, |x, (_, one)| self.apply_layer(b, one, x, at))
            }
            SpecKind::Param(_) => Err(self.not_a_layer("a parameter", at)),
        }
    }

    /// A step that computes a layer as an expression.
    fn compute_layer(
        &mut self,
        b: &mut Builder,
        layer: &Rc<Layer>,
        x: StepId,
        at: Span,
    ) -> R<StepId> {
        let value = vec![(self.step_value(b, x, "x"), b.steps[x].span)];
        self.compute(b, &layer.name, at, |this| this.layer_value(layer, value, at, at))
    }
}

/// Whether an expression is the input of a block with layers and functions behind it, and sums of such: then
/// each of them is a step of its own.
fn is_flow(input: &str, e: &ast::Expr) -> bool {
    match &e.kind {
        ast::ExprKind::Name(name) => name == input,
        ast::ExprKind::Binary(BinaryOp::Pipe, x, _) => is_flow(input, x),
        ast::ExprKind::Call(_, args) => matches!(args.as_slice(), [x] if is_flow(input, x)),
        ast::ExprKind::Binary(BinaryOp::Add, x, y) | ast::ExprKind::If(_, x, y) => {
            is_flow(input, x) && is_flow(input, y)
        }
        _ => false,
    }
}

fn push(b: &mut Builder, kind: StepKind, shape: Vec<u64>, name: &str, span: Span) -> StepId {
    b.steps.push(Step { kind, shape, name: name.to_owned(), span, applied: None });
    b.steps.len() - 1
}
