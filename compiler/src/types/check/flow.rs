//! Models: layers applied to an input, with every shape known.

use super::Checker;
use super::call::Frame;
use super::layers::{Builder, Layer, MAX_LAYERS, SpecKind, is_layer};
use super::unify::element;
use super::value::{Env, R, Reported, SizeArg, SizeVal, shape_text};
use super::world::ItemId;
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::ast::{self, BinaryOp, Block, ItemKind, Span, TypeKind};
use crate::types::model::{Model, Step, StepId, StepKind};
use crate::types::{Elem, ModelId};

/// What names mean in the body of a block.
struct Body<'l> {
    /// The block's input: its name and value.
    input: (String, StepId),
    /// Its layers.
    layers: &'l [(String, Layer)],
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
        let input = match block.param.ty.as_ref() {
            Some(ty) => self.model_shape(env, ty)?,
            None => {
                let param = &block.param.name;
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
        let mut builder = Builder::default();
        builder.steps.push(Step {
            kind: StepKind::Input,
            shape: input.clone(),
            name: String::new(),
            span: block.param.name.span,
        });
        let layers = self.place_layers(&mut builder, block, id, sizes, "")?;
        let body = Body { input: (block.param.name.name.clone(), 0), layers: &layers, prefix: "" };
        let last = self.flow(env, &mut builder, &body, &block.value)?;
        self.unapplied(&builder, &layers);
        let output = builder.steps[last].shape.clone();
        if let Some(ty) = &block.result {
            let declared = self.model_shape(env, ty)?;
            if declared != output {
                let (declared, found) = (shape_text(&declared), shape_text(&output));
                return Err(self.fail(
                    Diagnostic::error(
                        codes::SHAPE,
                        format!("model `{name}` should return shape {declared}"),
                        block.value.span,
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

    fn model_shape(&mut self, env: &mut Env, ty: &ast::Type) -> R<Vec<u64>> {
        match &ty.kind {
            TypeKind::Tensor { base, dims } if element(&base.name) == Some(Elem::Fix) => {
                self.dims(env, dims)
            }
            _ => Err(self.fail(
                Diagnostic::error(
                    codes::LAYER,
                    "models map `fix` tensors to `fix` tensors",
                    ty.span,
                    "not one",
                )
                .hint("for example `fix[1, 28, 28]`"),
            )),
        }
    }

    /// Warns of layers that are declared but never applied.
    fn unapplied(&mut self, b: &Builder, layers: &[(String, Layer)]) {
        for (name, layer) in layers {
            if !b.applied.contains(&layer.name) {
                self.warn(
                    Diagnostic::warning(
                        codes::LAYER,
                        format!("layer `{name}` is never applied"),
                        layer.span,
                        "its weights change nothing",
                    )
                    .hint(format!("write `x |> {name}`, or delete it")),
                );
            }
        }
    }

    /// An expression in the body of a block.
    fn flow(&mut self, env: &mut Env, b: &mut Builder, body: &Body, e: &ast::Expr) -> R<StepId> {
        match &e.kind {
            ast::ExprKind::Name(name) if *name == body.input.0 => Ok(body.input.1),
            ast::ExprKind::Binary(BinaryOp::Pipe, x, layer) => {
                let x = self.flow(env, b, body, x)?;
                self.through(env, b, body, layer, x)
            }
            ast::ExprKind::Call(layer, args) => match args.as_slice() {
                [x] => {
                    let x = self.flow(env, b, body, x)?;
                    self.through(env, b, body, layer, x)
                }
                _ => Err(self.fail(Diagnostic::error(
                    codes::ARGUMENTS,
                    "a layer takes one argument",
                    e.span,
                    "wrong number of arguments",
                ))),
            },
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
            ast::ExprKind::If(c, x, y) => {
                if self.condition(env, c)? {
                    self.flow(env, b, body, x)
                } else {
                    self.flow(env, b, body, y)
                }
            }
            ast::ExprKind::Error => Err(Reported),
            _ => {
                let input = &body.input.0;
                let is_layer = match &e.kind {
                    ast::ExprKind::Name(n) => {
                        is_layer(n) || body.layers.iter().any(|(layer, _)| layer == n)
                    }
                    _ => false,
                };
                let (label, hint) = if is_layer {
                    let text = self.text(e.span);
                    ("a layer without an input", format!("apply it: `{input} |> {text}`"))
                } else {
                    ("not built of these", format!("for example `{input} |> conv1 |> relu`"))
                };
                Err(self.fail(
                    Diagnostic::error(
                        codes::LAYER,
                        "a block is built of its input, layers, `|>` and `+`",
                        e.span,
                        label,
                    )
                    .hint(hint),
                ))
            }
        }
    }

    /// A value through a layer.
    fn through(
        &mut self,
        env: &mut Env,
        b: &mut Builder,
        body: &Body,
        layer: &ast::Expr,
        x: StepId,
    ) -> R<StepId> {
        if let ast::ExprKind::Name(name) = &layer.kind
            && let Some((_, declared)) = body.layers.iter().find(|(n, _)| n == name)
        {
            b.applied.push(declared.name.clone());
            return self.apply_layer(b, declared, x, layer.span);
        }
        if matches!(&layer.kind, ast::ExprKind::Name(n) if *n == body.input.0) {
            return Err(self.not_a_layer("the input", layer.span));
        }
        let spec = self.layer_spec(env, layer)?;
        let params = b.params.len();
        let placed = self.place(b, spec, "")?;
        if b.params.len() > params {
            let text = self.text(layer.span);
            return Err(self.fail(
                Diagnostic::error(
                    codes::LAYER,
                    "a layer with weights has a name",
                    layer.span,
                    "its weights would have no name",
                )
                .hint(format!("declare it above, `fc: {text};`, and write `|> fc`")),
            ));
        }
        self.apply_layer(b, &placed, x, layer.span)
    }

    fn apply_layer(&mut self, b: &mut Builder, layer: &Layer, x: StepId, at: Span) -> R<StepId> {
        b.applications += 1;
        if b.applications > MAX_LAYERS {
            return Err(self.too_many_layers(at));
        }
        let shape = b.steps[x].shape.clone();
        let wrong = |this: &mut Self, b: &Builder, wanted: String, why: String| {
            let from = &b.steps[x];
            let name = if layer.name.is_empty() { this.text(at) } else { layer.name.clone() };
            let mut error = Diagnostic::error(
                codes::SHAPE,
                format!(
                    "layer `{name}` takes {wanted}, and gets shape {}",
                    shape_text(&from.shape)
                ),
                at,
                why,
            )
            .label(from.span, format!("this gives shape {}", shape_text(&from.shape)));
            if layer.span.range() != at.range() {
                error = error.label(layer.span, "the layer is declared here");
            }
            let flat = matches!(layer.kind, SpecKind::Linear { .. }) && from.shape.len() > 1;
            this.fail(if flat { error.hint("write `|> flatten` before it") } else { error })
        };
        let image = |this: &mut Self, b: &Builder| match b.steps[x].shape.as_slice() {
            [c, h, w] => Ok((*c, *h, *w)),
            _ => Err(wrong(
                this,
                b,
                "an image [channels, height, width]".into(),
                "not an image".into(),
            )),
        };
        let (kind, shape) = match layer.kind {
            SpecKind::Conv2d { cin, cout, kernel, conv, bias } => {
                let (c, h, w) = image(self, b)?;
                if c != cin {
                    let why = format!("wants {cin} channels, gets {c}");
                    return Err(wrong(self, b, format!("shape [{cin}, h, w]"), why));
                }
                let (Ok(h), Ok(w)) = (conv.side(h, kernel), conv.side(w, kernel)) else {
                    let wanted = format!("an image of at least {kernel} x {kernel}");
                    return Err(wrong(
                        self,
                        b,
                        wanted,
                        "the kernel is larger than the image".into(),
                    ));
                };
                let weight = layer.params[0];
                let bias = bias.then(|| layer.params[1]);
                (StepKind::Conv2d { x, weight, bias, conv }, vec![cout, h, w])
            }
            SpecKind::Linear { inputs, outputs, bias } => {
                if shape != [inputs] {
                    let why = match shape.as_slice() {
                        [found] => format!("wants {inputs} numbers, gets {found}"),
                        _ => format!("wants a vector of {inputs} numbers"),
                    };
                    return Err(wrong(self, b, format!("shape [{inputs}]"), why));
                }
                let bias = bias.then(|| layer.params[1]);
                (StepKind::Linear { x, weight: layer.params[0], bias }, vec![outputs])
            }
            SpecKind::BatchNorm { channels, eps } => {
                if shape.first() != Some(&channels) {
                    let why = format!("wants {channels} channels");
                    return Err(wrong(self, b, format!("{channels} channels"), why));
                }
                let [weight, bias, mean, var] = [0, 1, 2, 3].map(|i| layer.params[i]);
                (StepKind::BatchNorm { x, weight, bias, mean, var, eps }, shape)
            }
            SpecKind::Relu => (StepKind::Relu(x), shape),
            SpecKind::AvgPool { k, stride } | SpecKind::MaxPool { k, stride } => {
                let (c, h, w) = image(self, b)?;
                let (Some(h), Some(w)) = (out(h, k, stride), out(w, k, stride)) else {
                    let wanted = format!("an image of at least {k} x {k}");
                    return Err(wrong(
                        self,
                        b,
                        wanted,
                        "the window is larger than the image".into(),
                    ));
                };
                let kind = match layer.kind {
                    SpecKind::AvgPool { .. } => StepKind::AvgPool { x, k, stride },
                    _ => StepKind::MaxPool { x, k, stride },
                };
                (kind, vec![c, h, w])
            }
            SpecKind::GlobalAvgPool => {
                let (c, ..) = image(self, b)?;
                (StepKind::GlobalAvgPool(x), vec![c])
            }
            SpecKind::Flatten => (StepKind::Flatten(x), vec![shape.iter().product()]),
            SpecKind::Identity => return Ok(x),
            SpecKind::Block(id, ref sizes) => {
                return self.through_block(b, layer, id, sizes, x, at);
            }
        };
        Ok(push(b, kind, shape, &layer.name, at))
    }

    fn through_block(
        &mut self,
        b: &mut Builder,
        layer: &Layer,
        id: ItemId,
        sizes: &[SizeVal],
        x: StepId,
        at: Span,
    ) -> R<StepId> {
        let item = self.world.item(id);
        let ItemKind::Block(block) = &item.kind else { return Err(Reported) };
        let mut env = Env::new(self.world.items[id.0].module);
        self.set_sizes(&mut env, &block.sizes, sizes);
        let text = self.sized_text(&block.name.name, &block.sizes, sizes);
        self.enter(Frame { item: id, call: at, text })?;
        let body = Body {
            input: (block.param.name.name.clone(), x),
            layers: &layer.inner,
            prefix: &layer.name,
        };
        let result = self.flow(&mut env, b, &body, &block.value);
        if result.is_ok() {
            self.unapplied(b, &layer.inner);
        }
        self.stack.pop();
        result
    }
}

/// Output size of a window that slides.
fn out(size: u64, window: u64, stride: u64) -> Option<u64> {
    Some(size.checked_sub(window)? / stride + 1)
}

fn push(b: &mut Builder, kind: StepKind, shape: Vec<u64>, name: &str, span: Span) -> StepId {
    b.steps.push(Step { kind, shape, name: name.to_owned(), span });
    b.steps.len() - 1
}
