//! Layers: what a `block` declares, before it meets an input.

use super::checker::{Checker, Frame};
use super::value::{Env, R, Reported, SizeArg, SizeVal, Val, count};
use super::world::ItemId;
use crate::diagnostic::{Diagnostic, codes, near::did_you_mean};
use crate::syntax::ast::{self, Arg, Block, ItemKind, Span};
use crate::types::layer::{self, DefaultSize, LAYERS, Rule, Size};
use crate::types::model::{Param, ParamId, Step};
use crate::types::number::Number;

/// Whether a name is that of a layer of the compiler.
pub(super) fn is_layer(name: &str) -> bool {
    Rule::named(name).is_some()
}

/// A layer with its sizes, not yet part of a model.
#[derive(Clone, Debug)]
pub(super) struct LayerSpec {
    /// What it is.
    pub kind: SpecKind,
    /// Where it is written.
    pub span: Span,
}

/// Kinds of layers.
#[derive(Clone, Debug)]
pub(super) enum SpecKind {
    /// A layer of the compiler.
    Builtin(layer::Layer),
    /// A block of the source.
    Block(ItemId, Vec<SizeVal>),
}

/// A layer of a model: its parameters are allocated.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// Dotted name; empty for one without parameters that is written where it is used.
    pub name: String,
    /// What it is.
    pub kind: SpecKind,
    /// Where it is written.
    pub span: Span,
    /// Its parameters, in declaration order.
    pub params: Vec<ParamId>,
    /// Layers of a block, by local name.
    pub inner: Vec<(String, Layer)>,
}

/// A model in the making.
#[derive(Debug, Default)]
pub(super) struct Builder {
    /// Parameters so far.
    pub params: Vec<Param>,
    /// Their length.
    pub len: u64,
    /// Steps so far.
    pub steps: Vec<Step>,
    /// Full names of the layers that were applied.
    pub applied: Vec<String>,
    /// Layers placed so far.
    pub layers: usize,
    /// Layers applied so far.
    pub applications: usize,
}

impl Builder {
    fn param(&mut self, layer: &str, name: &str, shape: Vec<u64>) -> Option<ParamId> {
        let size = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d))?;
        let offset = self.len;
        self.len = offset.checked_add(size).filter(|n| *n <= super::tys::MAX_ENTRIES)?;
        let name = if layer.is_empty() { name.to_owned() } else { format!("{layer}.{name}") };
        self.params.push(Param { name, shape, offset });
        Some(self.params.len() - 1)
    }
}

/// Most layers of a model, blocks included, and most applications of layers. Nested blocks grow
/// exponentially, so a short text could otherwise describe a model of any size.
pub(super) const MAX_LAYERS: usize = 1 << 14;

/// Joins parts of a dotted name.
pub(super) fn dotted(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        ("", name) => name.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, name) => format!("{prefix}.{name}"),
    }
}

impl Checker<'_> {
    /// A layer expression: `conv2d[1, 6, kernel = 5]`, `ConvBn[..]`, or a compile-time `if`.
    pub(super) fn layer_spec(&mut self, env: &mut Env, e: &ast::Expr) -> R<LayerSpec> {
        if let Some(rule) = builtin_rule(env, e) {
            return self.builtin(env, rule, &[], e.span);
        }
        match &e.kind {
            ast::ExprKind::At(a, args) => match builtin_rule(env, a) {
                Some(rule) => self.builtin(env, rule, args, e.span),
                None => match self.head(env, e)? {
                    Val::Sized(id, sizes) => self.block_spec(id, &sizes, e.span),
                    other => Err(self.not_a_layer(other.describe(), e.span)),
                },
            },
            ast::ExprKind::If(c, a, b) => {
                if self.condition(env, c)? {
                    self.layer_spec(env, a)
                } else {
                    self.layer_spec(env, b)
                }
            }
            ast::ExprKind::Name(_) | ast::ExprKind::Path(..) => match self.head(env, e)? {
                Val::Item(id) => self.block_spec(id, &[], e.span),
                other => Err(self.not_a_layer(other.describe(), e.span)),
            },
            ast::ExprKind::Error => Err(Reported),
            _ => Err(self.not_a_layer("something else", e.span)),
        }
    }

    pub(super) fn too_many_layers(&mut self, span: Span) -> Reported {
        self.fail(Diagnostic::error(
            codes::SIZE,
            format!("a model has at most {MAX_LAYERS} layers"),
            span,
            "one layer too many",
        ))
    }

    pub(super) fn not_a_layer(&mut self, what: &str, span: Span) -> Reported {
        self.fail(
            Diagnostic::error(codes::LAYER, "a layer stands here", span, format!("this is {what}"))
                .hint(format!("layers are {}, and blocks", names().join(", "))),
        )
    }

    fn block_spec(&mut self, id: ItemId, sizes: &[SizeArg], span: Span) -> R<LayerSpec> {
        let item = self.world.item(id);
        match &item.kind {
            ItemKind::Block(b) if !b.is_model => {
                let mut values = self.place_sizes(&b.name.name, &b.sizes, sizes, b.name.span)?;
                let mut env = Env::new(self.world.items[id.0].module);
                self.finish_sizes(&mut env, &b.name.name, &b.sizes, &mut values, span)?;
                let values = values.into_iter().flatten().collect();
                Ok(LayerSpec { kind: SpecKind::Block(id, values), span })
            }
            ItemKind::Block(b) => {
                let name = b.name.name.clone();
                Err(self.fail(
                    Diagnostic::error(
                        codes::LAYER,
                        "a model cannot be a layer",
                        span,
                        format!("`{name}` is a model"),
                    )
                    .hint("put what both models share into a `block`"),
                ))
            }
            ItemKind::Fn(_) => {
                let name = self.world.name(id).to_owned();
                Err(self.fail(
                    Diagnostic::error(
                        codes::LAYER,
                        "functions are not layers",
                        span,
                        format!("`{name}` is a function"),
                    )
                    .hint(format!("layers are {}, and blocks", names().join(", "))),
                ))
            }
            _ => Err(self.not_a_layer("no layer", span)),
        }
    }

    /// A layer of the compiler with its sizes.
    fn builtin(&mut self, env: &mut Env, rule: &Rule, args: &[Arg], span: Span) -> R<LayerSpec> {
        let (name, sizes) = (rule.name, rule.sizes);
        let mut values: Vec<Option<f64>> = vec![None; sizes.len()];
        for (position, arg) in args.iter().enumerate() {
            let slot = match &arg.name {
                Some(given) => {
                    sizes.iter().position(|s| s.name == given.name).ok_or_else(|| {
                        let error = Diagnostic::error(
                            codes::ARGUMENTS,
                            format!("`{name}` has no size `{}`", given.name),
                            given.span,
                            "no such size",
                        );
                        self.fail(match did_you_mean(&given.name, sizes.iter().map(|s| s.name)) {
                            Some(near) => error.hint(format!("did you mean `{near} = ..`?")),
                            None => error.hint(format!("write `{}`", rule.example)),
                        })
                    })?
                }
                None if position < sizes.len() => position,
                None => {
                    return Err(self.fail(
                        Diagnostic::error(
                            codes::ARGUMENTS,
                            format!("`{name}` has {}", count(sizes.len(), "size", "sizes")),
                            arg.value.span,
                            "one too many",
                        )
                        .hint(format!("write `{}`", rule.example)),
                    ));
                }
            };
            if values[slot].is_some() {
                return Err(self.fail(Diagnostic::error(
                    codes::ARGUMENTS,
                    format!("`{}` of `{name}` is given twice", sizes[slot].name),
                    arg.value.span,
                    "given again",
                )));
            }
            values[slot] = Some(self.layer_size(env, name, &sizes[slot], &arg.value)?);
        }
        let mut all: Vec<f64> = Vec::with_capacity(sizes.len());
        for (size, value) in sizes.iter().zip(values) {
            all.push(match (value, size.default) {
                (Some(value), _) | (None, DefaultSize::Value(value)) => value,
                (None, DefaultSize::First) => all[0],
                (None, DefaultSize::None) => {
                    return Err(self.fail(
                        Diagnostic::error(
                            codes::ARGUMENTS,
                            format!("`{name}` needs a size `{}`", size.name),
                            span,
                            "missing",
                        )
                        .hint(format!("write `{}`", rule.example)),
                    ));
                }
            });
        }
        let layer = (rule.with)(&all);
        if let Some(problem) = layer.problem() {
            let error =
                Diagnostic::error(codes::LAYER, problem, span, "sizes that do not go together");
            return Err(self.fail(error.hint(rule.about)));
        }
        Ok(LayerSpec { kind: SpecKind::Builtin(layer), span })
    }

    /// One size of a layer, in its allowed range.
    fn layer_size(&mut self, env: &mut Env, layer: &str, size: &Size, e: &ast::Expr) -> R<f64> {
        let name = size.name;
        let Some((allowed, text)) = size.allowed.integers() else {
            return match self.expr(env, e)? {
                Val::Real(x) if *x > Number::from(0) => {
                    let value = x.value();
                    self.number(value, e.span)
                }
                _ => Err(self.fail(Diagnostic::error(
                    codes::LAYER,
                    format!("`{name}` is a small positive number"),
                    e.span,
                    "not one",
                ))),
            };
        };
        let n = self.whole(env, e)?;
        if allowed.contains(&n) {
            return Ok(n as f64);
        }
        Err(self.fail(Diagnostic::error(
            codes::SIZE,
            format!("`{name}` of `{layer}` is {text}"),
            e.span,
            format!("is {n} here"),
        )))
    }

    /// Makes a layer part of a model: allocates its parameters.
    pub(super) fn place(&mut self, b: &mut Builder, spec: LayerSpec, name: &str) -> R<Layer> {
        b.layers += 1;
        if b.layers > MAX_LAYERS {
            return Err(self.too_many_layers(spec.span));
        }
        let mut layer = Layer {
            name: name.to_owned(),
            kind: spec.kind.clone(),
            span: spec.span,
            params: Vec::new(),
            inner: Vec::new(),
        };
        let wanted = match spec.kind {
            SpecKind::Builtin(builtin) => builtin.params(),
            SpecKind::Block(id, sizes) => {
                self.place_block(b, &mut layer, id, &sizes)?;
                Vec::new()
            }
        };
        for (param, shape) in wanted {
            match b.param(name, param, shape) {
                Some(id) => layer.params.push(id),
                None => {
                    return Err(self.fail(Diagnostic::error(
                        codes::SIZE,
                        "a model has at most 2^32 weights",
                        spec.span,
                        "one layer too many",
                    )));
                }
            }
        }
        Ok(layer)
    }

    fn place_block(
        &mut self,
        b: &mut Builder,
        layer: &mut Layer,
        id: ItemId,
        sizes: &[SizeVal],
    ) -> R<()> {
        let item = self.world.item(id);
        let ItemKind::Block(block) = &item.kind else { return Err(Reported) };
        if self.stack.iter().any(|frame| frame.item == id) {
            // Reported with the names.
            return Err(Reported);
        }
        let text = self.sized_text(&block.name.name, &block.sizes, sizes);
        self.enter(Frame { item: id, call: layer.span, text })?;
        let placed = self.place_layers(b, block, id, sizes, &layer.name);
        self.stack.pop();
        layer.inner = placed?;
        Ok(())
    }

    /// The layers of a block or model, in declaration order.
    pub(super) fn place_layers(
        &mut self,
        b: &mut Builder,
        block: &Block,
        id: ItemId,
        sizes: &[SizeVal],
        prefix: &str,
    ) -> R<Vec<(String, Layer)>> {
        let mut env = Env::new(self.world.items[id.0].module);
        self.set_sizes(&mut env, &block.sizes, sizes);
        let mut out = Vec::new();
        let mut failed = false;
        for l in &block.layers {
            let Some(own) = l.names.first().map(|n| &n.name) else { continue };
            let name = dotted(prefix, own);
            let placed = self.layer_spec(&mut env, &l.value).and_then(|s| self.place(b, s, &name));
            match placed {
                Ok(layer) => out.push((own.clone(), layer)),
                Err(Reported) => failed = true,
            }
        }
        if failed { Err(Reported) } else { Ok(out) }
    }
}

/// The layer of the compiler that a name stands for, unless the name is defined in the block.
fn builtin_rule(env: &Env, e: &ast::Expr) -> Option<&'static Rule> {
    let ast::ExprKind::Name(name) = &e.kind else { return None };
    Rule::named(name).filter(|_| env.get(name).is_none())
}

/// Names of the layers of the compiler, for messages.
fn names() -> Vec<&'static str> {
    LAYERS.iter().map(|rule| rule.name).collect()
}
