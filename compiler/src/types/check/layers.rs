//! Layers: what a `block` declares, before it meets an input.

use super::Checker;
use super::call::Frame;
use super::value::{Env, R, Reported, SizeArg, SizeVal, Val, count};
use super::world::ItemId;
use crate::diagnostic::{Diagnostic, codes, near::did_you_mean};
use crate::syntax::ast::{self, Arg, Block, ItemKind, Span};
use crate::types::Conv;
use crate::types::model::{Param, ParamId, Step};

/// Names of the layers that the compiler knows.
pub(super) const NAMES: &[&str] = &[
    "conv2d",
    "linear",
    "batch_norm",
    "relu",
    "avg_pool",
    "max_pool",
    "global_avg_pool",
    "flatten",
    "identity",
];

/// Whether a name is one of [`NAMES`].
pub(super) fn is_layer(name: &str) -> bool {
    NAMES.contains(&name)
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
    /// Input and output channels, kernel, attributes, whether it has a bias.
    Conv2d {
        cin: u64,
        cout: u64,
        kernel: u64,
        conv: Conv,
        bias: bool,
    },
    /// Inputs and outputs.
    Linear {
        inputs: u64,
        outputs: u64,
        bias: bool,
    },
    /// Channels.
    BatchNorm {
        channels: u64,
        eps: f64,
    },
    Relu,
    /// Window and distance.
    AvgPool {
        k: u64,
        stride: u64,
    },
    MaxPool {
        k: u64,
        stride: u64,
    },
    GlobalAvgPool,
    Flatten,
    Identity,
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
    /// Layers of a block, by local name, and whether each was applied.
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

/// Most layers of a model, blocks included, and most applications of layers: blocks of blocks
/// would otherwise make a short text an endless model.
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
        match &e.kind {
            ast::ExprKind::Name(name) if is_layer(name) && env.get(name).is_none() => {
                self.builtin(env, name, &[], e.span)
            }
            ast::ExprKind::At(a, args) => match &a.kind {
                ast::ExprKind::Name(name) if is_layer(name) && env.get(name).is_none() => {
                    self.builtin(env, name, args, e.span)
                }
                _ => match self.head(env, e)? {
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
                .hint(format!("layers are {}, and blocks", NAMES.join(", "))),
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
                    .hint(format!("layers are {}, and blocks", NAMES.join(", "))),
                ))
            }
            _ => Err(self.not_a_layer("no layer", span)),
        }
    }

    /// A layer of the compiler with its sizes.
    fn builtin(&mut self, env: &mut Env, name: &str, args: &[Arg], span: Span) -> R<LayerSpec> {
        let names: &[&str] = match name {
            "conv2d" => &["cin", "cout", "kernel", "stride", "pad", "bias"],
            "linear" => &["in", "out", "bias"],
            "batch_norm" => &["channels", "eps"],
            "avg_pool" | "max_pool" => &["k", "stride"],
            _ => &[],
        };
        let mut values: Vec<Option<f64>> = vec![None; names.len()];
        for (position, arg) in args.iter().enumerate() {
            let slot = match &arg.name {
                Some(given) => names.iter().position(|n| *n == given.name).ok_or_else(|| {
                    let error = Diagnostic::error(
                        codes::ARGUMENTS,
                        format!("`{name}` has no size `{}`", given.name),
                        given.span,
                        "no such size",
                    );
                    self.fail(match did_you_mean(&given.name, names.iter().copied()) {
                        Some(near) => error.hint(format!("did you mean `{near} = ..`?")),
                        None => error.hint(format!("write `{}`", usage(name))),
                    })
                })?,
                None if position < names.len() => position,
                None => {
                    return Err(self.fail(
                        Diagnostic::error(
                            codes::ARGUMENTS,
                            format!("`{name}` has {}", count(names.len(), "size", "sizes")),
                            arg.value.span,
                            "one too many",
                        )
                        .hint(format!("write `{}`", usage(name))),
                    ));
                }
            };
            if values[slot].is_some() {
                return Err(self.fail(Diagnostic::error(
                    codes::ARGUMENTS,
                    format!("`{}` of `{name}` is given twice", names[slot]),
                    arg.value.span,
                    "given again",
                )));
            }
            values[slot] = Some(self.layer_size(env, name, names[slot], &arg.value)?);
        }
        let mut missing = None;
        let mut get = |name: &'static str, default: Option<f64>| {
            let slot = names.iter().position(|n| *n == name);
            slot.and_then(|i| values[i]).or(default).unwrap_or_else(|| {
                missing.get_or_insert(name);
                1.0
            })
        };
        let kind = match name {
            "conv2d" => SpecKind::Conv2d {
                cin: get("cin", None) as u64,
                cout: get("cout", None) as u64,
                kernel: get("kernel", None) as u64,
                conv: Conv {
                    stride: get("stride", Some(Conv::PLAIN.stride as f64)) as u64,
                    pad: get("pad", Some(Conv::PLAIN.pad as f64)) as u64,
                },
                bias: get("bias", Some(1.0)) != 0.0,
            },
            "linear" => SpecKind::Linear {
                inputs: get("in", None) as u64,
                outputs: get("out", None) as u64,
                bias: get("bias", Some(1.0)) != 0.0,
            },
            "batch_norm" => SpecKind::BatchNorm {
                channels: get("channels", None) as u64,
                eps: get("eps", Some(1e-5)),
            },
            "avg_pool" | "max_pool" => {
                let k = get("k", None);
                let stride = get("stride", Some(k)) as u64;
                if name == "avg_pool" {
                    SpecKind::AvgPool { k: k as u64, stride }
                } else {
                    SpecKind::MaxPool { k: k as u64, stride }
                }
            }
            "relu" => SpecKind::Relu,
            "global_avg_pool" => SpecKind::GlobalAvgPool,
            "flatten" => SpecKind::Flatten,
            _ => SpecKind::Identity,
        };
        match missing {
            None => Ok(LayerSpec { kind, span }),
            Some(size) => Err(self.fail(
                Diagnostic::error(
                    codes::ARGUMENTS,
                    format!("`{name}` needs a size `{size}`"),
                    span,
                    "missing",
                )
                .hint(format!("write `{}`", usage(name))),
            )),
        }
    }

    /// One size of a layer, in its allowed range.
    fn layer_size(&mut self, env: &mut Env, layer: &str, name: &str, e: &ast::Expr) -> R<f64> {
        if name == "eps" {
            return match self.expr(env, e)? {
                Val::Real(x) if x > 0.0 => Ok(x),
                _ => Err(self.fail(Diagnostic::error(
                    codes::LAYER,
                    "`eps` is a small positive number",
                    e.span,
                    "not one",
                ))),
            };
        }
        let n = self.whole(env, e)?;
        let (allowed, text) = match name {
            "bias" => (0..=1, "0 or 1"),
            "pad" => (0..=1 << 16, "from 0"),
            "kernel" | "stride" | "k" => (1..=1 << 16, "at least 1"),
            _ => (1..=1 << 32, "at least 1"),
        };
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

    /// Makes a layer part of a model: allocates its parameters, named as PyTorch names them, in the
    /// order weight, bias, running_mean, running_var.
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
        let wanted: Vec<(&str, Vec<u64>)> = match spec.kind {
            SpecKind::Conv2d { cin, cout, kernel, bias, .. } => {
                let mut all = vec![("weight", vec![cout, cin, kernel, kernel])];
                all.extend(bias.then(|| ("bias", vec![cout])));
                all
            }
            SpecKind::Linear { inputs, outputs, bias } => {
                let mut all = vec![("weight", vec![outputs, inputs])];
                all.extend(bias.then(|| ("bias", vec![outputs])));
                all
            }
            SpecKind::BatchNorm { channels, .. } => {
                ["weight", "bias", "running_mean", "running_var"]
                    .map(|n| (n, vec![channels]))
                    .into()
            }
            SpecKind::Block(id, sizes) => {
                self.place_block(b, &mut layer, id, &sizes)?;
                Vec::new()
            }
            _ => Vec::new(),
        };
        for (param, shape) in wanted {
            match b.param(name, param, shape) {
                Some(id) => layer.params.push(id),
                None => {
                    return Err(self.fail(Diagnostic::error(
                        codes::SIZE,
                        "a model has at most 2^34 weights",
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
            let name = dotted(prefix, &l.name.name);
            let placed = self.layer_spec(&mut env, &l.value).and_then(|s| self.place(b, s, &name));
            match placed {
                Ok(layer) => out.push((l.name.name.clone(), layer)),
                Err(Reported) => failed = true,
            }
        }
        if failed { Err(Reported) } else { Ok(out) }
    }
}

/// How a layer is written.
fn usage(name: &str) -> &'static str {
    match name {
        "conv2d" => "conv2d[cin, cout, kernel = 3, stride = 1, pad = 0, bias = 1]",
        "linear" => "linear[in, out, bias = 1]",
        "batch_norm" => "batch_norm[channels, eps = 0.00001]",
        "avg_pool" => "avg_pool[2]",
        "max_pool" => "max_pool[2]",
        "relu" => "relu",
        "global_avg_pool" => "global_avg_pool",
        "flatten" => "flatten",
        _ => "identity",
    }
}
