//! Models: layers applied to an input, with every shape known. A layer of the compiler is a step, and so is every
//! expression between layers.

use super::checker::{Checker, Frame};
use super::layers::Builder;
use super::requirements::required;
use super::unify::element;
use super::value::{Env, Layer, R, Reported, SizeArg, SizeVal, SpecKind, Val, shape_text, typed};
use super::world::ItemId;
use crate::diagnostic::{Diagnostic, Hint, codes};
use crate::syntax::ast::{self, BinaryOp, Block, ItemKind, Secrecy, Span, TypeKind};
use crate::types::model::{Model, Operand, ParamId, Step, StepId, StepKind};
use crate::types::{self, Definition, Dim, Elem, ExprKind, ModelId, Ty, VarId, layer};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Where a value stands in the body of a block.
struct Body<'l> {
    /// The block's input: its name and value.
    input: (String, StepId),
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
        let text = self.sized_text(name, &block.sizes, &sizes);
        self.enter(Frame { item: id, call: span, text })?;
        let made = self.build_model(id, block, &sizes, &mut env);
        self.stack.pop();
        let made = made.map(|model| {
            self.models.push(model);
            ModelId(self.models.len() as u32 - 1)
        });
        self.model_instances.insert(key, made);
        made
    }

    fn build_model(
        &mut self,
        id: ItemId,
        block: &Block,
        sizes: &[SizeVal],
        env: &mut Env,
    ) -> R<Model> {
        let name = block.name.name.clone();
        let Some(param) = block.params.first() else { return Err(Reported) };
        let input = match param.ty.as_ref() {
            Some(ty) => self.model_shape(env, ty)?,
            None => {
                let param = &param.name;
                return Err(self.fail(
                    Diagnostic::error(
                        codes::LAYER,
                        "a model states the shape of its input",
                        param.span,
                        "which shape?",
                    )
                    .hint(format!(
                        "for example `model {name}({}: fix[1, 28, 28]) -> fix[10]`",
                        param.name
                    )),
                ));
            }
        };
        let outer = std::mem::take(&mut self.making);
        let built = self.build_steps(id, block, sizes, &input);
        self.making = outer;
        let (builder, last) = built?;
        let output = builder.steps[last].shape.clone();
        if let Some(ty) = &block.result {
            let declared = self.model_shape(env, ty)?;
            if declared != output {
                let (declared, found) = (shape_text(&declared), shape_text(&output));
                return Err(self.fail(
                    Diagnostic::error(
                        codes::SHAPE,
                        format!("model `{name}` should return shape {declared}"),
                        block.body.value.span,
                        format!("this has shape {found}"),
                    )
                    .label(ty.span, "declared here"),
                ));
            }
        }
        Ok(Model {
            name,
            input,
            output,
            params: builder.params,
            len: builder.len,
            steps: builder.steps,
        })
    }

    /// The steps of a model, and the last of them.
    fn build_steps(
        &mut self,
        id: ItemId,
        block: &Block,
        sizes: &[SizeVal],
        input: &[u64],
    ) -> R<(Builder, StepId)> {
        let mut b = Builder::default();
        let [param] = block.params.as_slice() else { return Err(Reported) };
        b.steps.push(Step {
            kind: StepKind::Input,
            shape: input.to_vec(),
            name: String::new(),
            span: param.name.span,
            applied: None,
        });
        let layers = self.place_layers(&mut b, block, id, sizes, "")?;
        let last = self.body_steps(&mut b, id, block, sizes, &layers, 0, "")?;
        // The result is the last step.
        b.steps.truncate(last + 1);
        self.unread(&b, &layers);
        Ok((b, last))
    }

    /// The body of a block of one input.
    #[allow(clippy::too_many_arguments)]
    fn body_steps(
        &mut self,
        b: &mut Builder,
        id: ItemId,
        block: &Block,
        sizes: &[SizeVal],
        layers: &[(String, Rc<Layer>)],
        x: StepId,
        prefix: &str,
    ) -> R<StepId> {
        let [param] = block.params.as_slice() else { return Err(Reported) };
        let mut env = self.block_env(id, block, sizes, layers);
        let body = Body { input: (param.name.name.clone(), x), prefix };
        let mut required = required(block, true).peekable();
        if required.peek().is_some() {
            let mut env = env.clone();
            let value = self.step_value(b, x, &body.input.0);
            env.set(&body.input.0, value);
            self.requirements(&mut env, required)?;
        }
        if block.body.lets.is_empty() {
            return self.flow(&mut env, b, &body, &block.body.value);
        }
        let value = self.step_value(b, x, &body.input.0);
        env.set(&body.input.0, value);
        self.compute(b, prefix, block.body.value.span, |this| this.body_of(&mut env, &block.body))
    }

    fn model_shape(&mut self, env: &mut Env, ty: &ast::Type) -> R<Vec<u64>> {
        match &ty.kind {
            TypeKind::Tensor { base, dims } if element(&base.name) == Some(Elem::Fix) => {
                self.dims(env, dims)
            }
            _ => {
                let error = Diagnostic::error(
                    codes::LAYER,
                    "models map `fix` tensors to `fix` tensors",
                    ty.span,
                    "not one",
                );
                let whole = matches!(&ty.kind, TypeKind::Tensor { base, .. } if element(&base.name).is_some());
                Err(self.fail(match whole {
                    true => {
                        let at = match &ty.kind {
                            TypeKind::Tensor { base, .. } => base.span,
                            _ => ty.span,
                        };
                        error.hint(Hint::write(
                            at,
                            "fix",
                            ": integers such as tokens fit, and the input of the predicate that the model is applied to may \
                             stay an `int` or a `bit`",
                        ))
                    }
                    false => error.hint("for example `fix[1, 28, 28]`"),
                }))
            }
        }
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
        let params = matches!(layer.kind, SpecKind::List(_))
            && layer.inner.iter().all(|(_, one)| one.is_param());
        if params || layer.has_weights(&|p| read.contains(&p)) {
            for (_, one) in &layer.inner {
                let span = if self.in_std(one.span) { span } else { one.span };
                self.unread_in(one, span, read);
            }
        } else if layer.is_param() {
            self.warn(
                Diagnostic::warning(
                    codes::LAYER,
                    format!("parameter `{name}` is never read"),
                    span,
                    "it changes nothing",
                )
                .hint("compute with it, or delete it"),
            );
        } else if layer.has_weights(&|_| true) {
            self.warn(
                Diagnostic::warning(
                    codes::LAYER,
                    format!("layer `{name}` is never applied"),
                    span,
                    "its weights change nothing",
                )
                .hint(format!("write `x |> {name}`, or delete it")),
            );
        }
    }

    /// The result of a step as a value of expressions.
    fn step_value(&mut self, b: &Builder, step: StepId, name: &str) -> Val {
        let Step { shape, span, .. } = &b.steps[step];
        let dims = shape.iter().copied().map(Dim::plain).collect();
        let ty = Ty { elem: Elem::Fix, dims, secrecy: Secrecy::Secret, record: None };
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
        check: impl FnOnce(&mut Self) -> R<(Vec<Definition>, Val)>,
    ) -> R<StepId> {
        let (made, mut lets) = self.scoped(check);
        let (defined, value) = made?;
        lets.extend(defined);
        let value = match value {
            Val::Tuple(_) => {
                let found = self.tree_text(&value);
                return Err(self.fail(
                    Diagnostic::error(
                        codes::SHAPE,
                        "a model computes one tensor",
                        span,
                        format!("this is {found}"),
                    )
                    .hint("take a part of it: `t.0`, or `let (a, b) = ..;`"),
                ));
            }
            value => self.at_run_time(value, span)?,
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

    /// Whether an expression is the input of a block with layers and functions behind it, and sums of such: then
    /// each of them is a step of its own.
    fn is_flow(input: &str, e: &ast::Expr) -> bool {
        match &e.kind {
            ast::ExprKind::Name(name) => name == input,
            ast::ExprKind::Binary(BinaryOp::Pipe, x, _) => Self::is_flow(input, x),
            ast::ExprKind::Call(_, args) => {
                matches!(args.as_slice(), [x] if Self::is_flow(input, x))
            }
            ast::ExprKind::Binary(BinaryOp::Add, x, y) => {
                Self::is_flow(input, x) && Self::is_flow(input, y)
            }
            ast::ExprKind::If(_, x, y) => Self::is_flow(input, x) && Self::is_flow(input, y),
            _ => false,
        }
    }

    /// An expression in the body of a block.
    fn flow(&mut self, env: &mut Env, b: &mut Builder, body: &Body, e: &ast::Expr) -> R<StepId> {
        let input = &body.input.0;
        match &e.kind {
            ast::ExprKind::If(c, x, y) => {
                if self.condition(env, c)? {
                    self.flow(env, b, body, x)
                } else {
                    self.flow(env, b, body, y)
                }
            }
            ast::ExprKind::Error => Err(Reported),
            _ if !Self::is_flow(input, e) => {
                if self.writes_layer(env, e) {
                    let text = self.text(e.span);
                    return Err(self.fail(
                        Diagnostic::error(
                            codes::LAYER,
                            "a layer is applied to a value",
                            e.span,
                            "a layer without an input",
                        )
                        .hint(format!("apply it: `{input} |> {text}`")),
                    ));
                }
                let value = self.step_value(b, body.input.1, input);
                let names = env.names.len();
                env.set(input, value);
                let step = self.compute(b, body.prefix, e.span, |this| {
                    let value = this.expr(env, e)?;
                    this.settled(value, e.span).map(|value| (Vec::new(), value))
                });
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
                    let error = Diagnostic::error(
                        codes::SHAPE,
                        "`+` adds two of the same shape",
                        y.span,
                        format!("this has shape {}", shape_text(&q)),
                    )
                    .label(x.span, format!("this has shape {}", shape_text(&p)));
                    return Err(self.fail(if p.first() == q.first() && p.len() == 3 {
                        error.hint(
                            "padding keeps height and width: `kernel = 3` goes with \
                            `pad = 1`, `kernel = 5` with `pad = 2`",
                        )
                    } else {
                        error.hint(
                            "a 1 x 1 convolution on the shortcut makes channels and \
                            sizes equal: `conv2d[cin, cout, kernel = 1, stride = 2]`",
                        )
                    }));
                }
                Ok(push(b, StepKind::Add(left, right), p, body.prefix, e.span))
            }
            _ => Ok(body.input.1),
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
        if matches!(&f.kind, ast::ExprKind::Name(n) if *n == body.input.0) {
            return Err(self.not_a_layer("the input", f.span));
        }
        // Brackets and conditions may read the shape of the input.
        let names = env.names.len();
        if reads(f, &body.input.0) {
            let value = self.step_value(b, body.input.1, &body.input.0);
            env.set(&body.input.0, value);
        }
        let made = self.through_any(env, b, body, f, x, span);
        env.names.truncate(names);
        made
    }

    fn through_any(
        &mut self,
        env: &mut Env,
        b: &mut Builder,
        body: &Body,
        f: &ast::Expr,
        x: StepId,
        span: Span,
    ) -> R<StepId> {
        match self.callee(env, f, 1)? {
            Val::Layer(layer) => self.apply_layer(b, &layer, x, f.span),
            callee => {
                let value = self.step_value(b, x, &body.input.0);
                let from = b.steps[x].span;
                self.compute(b, body.prefix, span, |this| {
                    let value = this.apply(env, callee, vec![(value, from)], f.span, span)?;
                    this.settled(value, span).map(|value| (Vec::new(), value))
                })
            }
        }
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
                let from = &b.steps[x];
                let shape = match builtin.output(&from.shape) {
                    Ok(shape) => shape,
                    Err(misfit) => {
                        let name =
                            if layer.name.is_empty() { self.text(at) } else { layer.name.clone() };
                        let from = (from.span, from.shape.clone());
                        let declared = Some(layer.span);
                        return Err(self.misfit_layer(&name, declared, builtin, from, at, misfit));
                    }
                };
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
                    let value = self.step_value(b, x, "x");
                    let from = b.steps[x].span;
                    let step = self.compute(b, &layer.name, at, |this| {
                        let value = this.layer_value(layer, vec![(value, from)], at, at)?;
                        this.settled(value, at).map(|value| (Vec::new(), value))
                    })?;
                    if let Step { kind: StepKind::Compute { .. }, applied, .. } = &mut b.steps[step]
                    {
                        applied.get_or_insert(at);
                    }
                    return Ok(step);
                }
                self.count_application(at)?;
                let text = self.sized_text(&block.name.name, &block.sizes, sizes);
                self.enter(Frame { item: *id, call: at, text })?;
                let last = self.body_steps(b, *id, block, sizes, &layer.inner, x, &layer.name);
                self.stack.pop();
                last
            }
            SpecKind::Function(..) => {
                let value = self.step_value(b, x, "x");
                let from = b.steps[x].span;
                self.compute(b, &layer.name, at, |this| {
                    let value = this.layer_value(layer, vec![(value, from)], at, at)?;
                    this.settled(value, at).map(|value| (Vec::new(), value))
                })
            }
            SpecKind::List(_) => {
                self.count_application(at)?;
                layer.inner.iter().try_fold(x, |x, (_, one)| self.apply_layer(b, one, x, at))
            }
            SpecKind::Param(_) => Err(self.not_a_layer("a parameter", at)),
        }
    }
}

/// Whether a name stands in an expression.
fn reads(e: &ast::Expr, name: &str) -> bool {
    matches!(&e.kind, ast::ExprKind::Name(n) if n == name)
        || e.children().into_iter().any(|e| reads(e, name))
}

fn push(b: &mut Builder, kind: StepKind, shape: Vec<u64>, name: &str, span: Span) -> StepId {
    b.steps.push(Step { kind, shape, name: name.to_owned(), span, applied: None });
    b.steps.len() - 1
}
