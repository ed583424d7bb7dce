//! Layers: what a `block` declares, before it meets an input.

use super::checker::Checker;
use super::value::{Env, IntVal, LayerSpec, R, Reported, SizeArg, SpecKind, Val, count};
use super::world::{ItemId, STD};
use crate::diagnostic::{Edit, codes, near::did_you_mean};
use crate::syntax::ast::{self, Arg, ItemKind, Span};
use crate::types::layer::{DefaultSize, LAYERS, Rule, Size};
use crate::types::model::Param;
use crate::types::number::Number;
use crate::types::{Definition, Index, VarId};
use std::collections::BTreeSet;

/// What declares a parameter: `param[10]`.
pub(super) const PARAM: &str = "param";

/// Whether a name is that of a layer of the compiler, or what declares a parameter.
pub(super) fn is_layer(name: &str) -> bool {
    Rule::named(name).is_some() || name == PARAM
}

#[derive(Debug, Default)]
pub(super) struct Builder {
    pub params: Vec<Param>,
    pub len: u64,
    pub lets: Vec<Definition>,
    /// Its input and what is defined so far.
    pub vars: BTreeSet<VarId>,
    /// Layers placed so far.
    pub layers: usize,
    /// Names of parameters so far.
    pub names: BTreeSet<String>,
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
        let (head, args) = match &e.kind {
            ast::ExprKind::At(head, args) => (&**head, args.as_slice()),
            _ => (e, [].as_slice()),
        };
        if let Some(rule) = builtin_rule(env, head) {
            return self.builtin(env, rule, args, e.span);
        }
        let kind = match &e.kind {
            _ if self.is_param(env, head) => SpecKind::Param(self.param_shape(env, args)?),
            ast::ExprKind::List(items) => {
                let all: Vec<R<LayerSpec>> =
                    items.iter().map(|e| self.layer_spec(env, e)).collect();
                let all = all.into_iter().collect::<R<Vec<LayerSpec>>>()?;
                SpecKind::List((0..).zip(all).collect())
            }
            ast::ExprKind::Comp(one, gens) => {
                let mut all = Vec::new();
                self.layer_list(env, one, gens, None, &mut all)?;
                SpecKind::List(all)
            }
            ast::ExprKind::If(c, a, b) => {
                let taken = if self.condition(env, c)? { a } else { b };
                return self.layer_spec(env, taken);
            }
            ast::ExprKind::Name(_) | ast::ExprKind::Path(..) | ast::ExprKind::At(..) => {
                return match self.head(env, e)? {
                    Val::Item(id) => self.block_spec(id, &[], e.span),
                    Val::Sized(id, sizes) => self.block_spec(id, &sizes, e.span),
                    other => Err(self.not_a_layer(other.describe(), e.span)),
                };
            }
            ast::ExprKind::Error => return Err(Reported),
            _ => return Err(self.not_a_layer("something else", e.span)),
        };
        Ok(LayerSpec { kind, span: e.span })
    }

    /// The layers of a comprehension, numbered by the variable of its first loop.
    fn layer_list(
        &mut self,
        env: &mut Env,
        one: &ast::Expr,
        gens: &[ast::Gen],
        number: Option<i64>,
        out: &mut Vec<(i64, LayerSpec)>,
    ) -> R<()> {
        let Some((first, rest)) = gens.split_first() else {
            if out.len() >= MAX_LAYERS {
                return Err(self.too_many_layers(one.span));
            }
            let number = number.unwrap_or(0);
            out.push((number, self.layer_spec(env, one)?));
            return Ok(());
        };
        let (lo, hi) = match self.expr(env, &first.domain)? {
            Val::Int(IntVal { index: Index::Const(n), .. }) => (0, n),
            Val::Range(Index::Const(lo), Index::Const(hi)) => (lo, hi),
            other => {
                return codes::KIND
                    .error("a list of layers is made by a loop over a range or a size")
                    .label(first.domain.span, other.this_is())
                    .hint("for example `[Block[64] for k in 4]`")
                    .refuse(self);
            }
        };
        if number.is_some() {
            return codes::LAYER
                .error("a list of layers is made by one loop")
                .label(first.var.span, "a second one")
                .hint("their numbers are part of the names of weights: put a list into a block")
                .refuse(self);
        }
        for i in lo..hi {
            self.for_one(env, first, IntVal::new(i), |this, env| {
                this.layer_list(env, one, rest, Some(i), out)
            })?;
        }
        Ok(())
    }

    /// Whether an expression is the word `param`, and no name of the source.
    fn is_param(&self, env: &Env, e: &ast::Expr) -> bool {
        matches!(&e.kind, ast::ExprKind::Name(n) if n == PARAM && env.get(n).is_none())
            && !self.world.modules[env.module].names.contains_key(PARAM)
    }

    fn param_shape(&mut self, env: &mut Env, args: &[Arg]) -> R<Vec<u64>> {
        let mut shape = Vec::with_capacity(args.len());
        for arg in args {
            if let Some(name) = &arg.name {
                return codes::ARGUMENTS
                    .error("a dimension has no name")
                    .label(name.span, "only sizes of layers have names")
                    .refuse(self);
            }
            shape.push(self.positive(env, &arg.value)?);
        }
        Ok(shape)
    }

    pub(super) fn too_many_layers(&mut self, span: Span) -> Reported {
        self.fail(
            codes::SIZE
                .error(format!("a model has at most {MAX_LAYERS} layers"))
                .label(span, "one layer too many"),
        )
    }

    pub(super) fn not_a_layer(&mut self, what: &str, span: Span) -> Reported {
        self.fail(
            codes::LAYER
                .error("a layer stands here")
                .label(span, format!("this is {what}"))
                .hint(self.layers_are()),
        )
    }

    /// What layers there are, for messages.
    fn layers_are(&self) -> String {
        let world = self.world;
        let std = world.modules[STD].own.iter().map(|id| &world.items[id.0].item);
        let blocks = std.filter(|item| matches!(item.kind, ItemKind::Block(_)));
        let blocks = blocks.filter_map(|item| item.name()).map(|n| n.name.as_str());
        let all: Vec<&str> = LAYERS.iter().map(|rule| rule.name).chain(blocks).collect();
        format!("layers are {}, your blocks, and parameters `param[n]`", all.join(", "))
    }

    fn block_spec(&mut self, id: ItemId, sizes: &[SizeArg], span: Span) -> R<LayerSpec> {
        let item = self.world.item(id);
        match &item.kind {
            ItemKind::Block(b) if !b.is_model => {
                let mut values = self.place_sizes(&b.name.name, &b.sizes, sizes, b.name.span)?;
                let mut env = Env::of_block(self.world.items[id.0].module);
                self.finish_sizes(&mut env, &b.name.name, &b.sizes, &mut values, span)?;
                let values = values.into_iter().flatten().collect();
                Ok(LayerSpec { kind: SpecKind::Block(id, values), span })
            }
            ItemKind::Block(b) => {
                let name = b.name.name.clone();
                codes::LAYER
                    .error("a model cannot be a layer")
                    .label(span, format!("`{name}` is a model"))
                    .hint("put what both models share into a `block`")
                    .refuse(self)
            }
            ItemKind::Fn(f) if f.params.len() == 1 => {
                Ok(LayerSpec { kind: SpecKind::Function(id, sizes.to_vec()), span })
            }
            ItemKind::Fn(f) => {
                let (name, wanted) = (&f.name.name, count(f.params.len(), "argument", "arguments"));
                codes::LAYER
                    .error(format!("`{name}` takes {wanted}, and a function among layers one"))
                    .label(span, "where would the others come from?")
                    .hint("make a function of one argument, or a `block`, that calls it")
                    .refuse(self)
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
                        let error = codes::ARGUMENTS
                            .error(format!("`{name}` has no size `{}`", given.name))
                            .label(given.span, "no such size");
                        self.fail(match did_you_mean(&given.name, sizes.iter().map(|s| s.name)) {
                            Some(near) => error
                                .hint(format!("did you mean `{near} = ..`?"))
                                .edit([Edit::replace(given.span, near)]),
                            None => error.hint(format!("write `{}`", rule.example)),
                        })
                    })?
                }
                None if position < sizes.len() => position,
                None => {
                    return codes::ARGUMENTS
                        .error(format!("`{name}` has {}", count(sizes.len(), "size", "sizes")))
                        .label(arg.value.span, "one too many")
                        .hint(format!("write `{}`", rule.example))
                        .refuse(self);
                }
            };
            if values[slot].is_some() {
                return codes::ARGUMENTS
                    .error(format!("`{}` of `{name}` is given twice", sizes[slot].name))
                    .label(arg.value.span, "given again")
                    .refuse(self);
            }
            values[slot] = Some(self.layer_size(env, name, &sizes[slot], &arg.value)?);
        }
        let mut all: Vec<f64> = Vec::with_capacity(sizes.len());
        for (size, value) in sizes.iter().zip(values) {
            all.push(match (value, size.default) {
                (Some(value), _) | (None, DefaultSize::Value(value)) => value,
                (None, DefaultSize::Same(at)) => all[at],
                (None, DefaultSize::None) => {
                    return codes::ARGUMENTS
                        .error(format!("`{name}` needs a size `{}`", size.name))
                        .label(span, "missing")
                        .hint(format!("write `{}`", rule.example))
                        .refuse(self);
                }
            });
        }
        let layer = (rule.with)(&all);
        if let Some(problem) = layer.problem() {
            return codes::LAYER
                .error(problem)
                .label(span, "sizes that do not go together")
                .hint(rule.about)
                .refuse(self);
        }
        Ok(LayerSpec { kind: SpecKind::Builtin(layer), span })
    }

    /// One size of a layer, in its allowed range.
    fn layer_size(&mut self, env: &mut Env, layer: &str, size: &Size, e: &ast::Expr) -> R<f64> {
        let name = size.name;
        let Some((allowed, text)) = size.allowed.integers() else {
            return match self.expr(env, e)? {
                Val::Real(x) if *x >= Number::from(0) => {
                    let value = x.value();
                    self.number(value, e.span)
                }
                Val::Int(IntVal { index: Index::Const(i), .. }) if i >= 0 => Ok(i as f64),
                _ => codes::LAYER
                    .error(format!("`{name}` is a small number that is not negative"))
                    .label(e.span, "not one")
                    .refuse(self),
            };
        };
        let n = self.whole(env, e)?;
        if allowed.contains(&n) {
            return Ok(n as f64);
        }
        codes::SIZE
            .error(format!("`{name}` of `{layer}` is {text}"))
            .label(e.span, format!("is {n} here"))
            .refuse(self)
    }
}

/// The layer of the compiler that a name stands for, unless the name is defined in the block.
pub(super) fn builtin_rule(env: &Env, e: &ast::Expr) -> Option<&'static Rule> {
    let ast::ExprKind::Name(name) = &e.kind else { return None };
    Rule::named(name).filter(|_| env.get(name).is_none())
}
