//! Models: layers applied to an input, with every shape known. Each layer of the compiler has a definition, and so has
//! every expression between layers.

use super::checker::Checker;
use super::layers::Builder;
use super::requirements::required;
use super::value::{
    Env, Instance, Layer, R, Reported, SizeArg, SizeVal, SpecKind, Val, in_place, shape_text, typed,
};
use super::world::ItemId;
use crate::diagnostic::{Hint, codes};
use crate::syntax::ast::{self, BinaryOp, ItemKind, Secrecy, Span, TypeKind};
use crate::types::model::{Model, ParamId};
use crate::types::{BinOp, Body, Definition, Elem, Expr, ExprKind, ModelId, Ty, VarId};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A block whose body is being checked.
struct Block<'l> {
    /// The name of its input.
    input: &'l str,
    x: Expr,
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
        let built = self.build_body(of, name.clone(), input);
        self.making = outer;
        let model = built?;
        if let Some(ty) = &block.result {
            let declared = self.model_shape(env, ty)?;
            if declared != model.output {
                let (declared, found) = (shape_text(&declared), shape_text(&model.output));
                return codes::SHAPE
                    .error(format!("model `{name}` should return shape {declared}"))
                    .label(block.body.value.span, format!("this has shape {found}"))
                    .label(ty.span, "declared here")
                    .refuse(self);
            }
        }
        Ok(model)
    }

    fn build_body(&mut self, of: Instance, name: String, input: Vec<u64>) -> R<Model> {
        let mut b = Builder::default();
        let [param] = of.block.params.as_slice() else { return Err(Reported) };
        let layers = self.place_layers(&mut b, of, "")?;
        let (x, value) = self.model_var(&mut b, &param.name.name, input.clone(), param.name.span);
        let last = self.block_body(&mut b, of, &layers, value, "")?;
        let is_last = |d: &Definition| matches!(last.kind, ExprKind::Var(v) if d.vars == [v]);
        let needed = b.lets.iter().position(is_last).map_or(0, |at| at + 1);
        b.lets.truncate(needed);
        let body = Body { lets: b.lets, values: vec![last] };
        let vars = body.reads();
        let params = std::mem::take(&mut self.making.params).into_iter();
        let read = params.map(|(p, v)| (v, p)).filter(|(v, _)| vars.contains(v)).collect();
        self.unread(&read, &layers);
        let output = body.values[0].ty.shape();
        Ok(Model { name, input, output, params: b.params, len: b.len, x, read, body })
    }

    /// The body of a block of one input.
    fn block_body(
        &mut self,
        b: &mut Builder,
        of: Instance,
        layers: &[(String, Rc<Layer>)],
        x: Expr,
        prefix: &str,
    ) -> R<Expr> {
        let ast::Block { params, body, .. } = of.block;
        let [param] = params.as_slice() else { return Err(Reported) };
        let input = &param.name.name;
        let mut env = self.block_env(of, layers);
        let mut required = required(of.block, true).peekable();
        if required.peek().is_some() {
            let mut env = env.clone();
            env.set(input, Val::Expr(x.clone()));
            self.requirements(&mut env, required)?;
        }
        if body.lets.is_empty() {
            return self.flow(&mut env, b, &Block { input, x, prefix }, &body.value);
        }
        env.set(input, Val::Expr(x));
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
    fn unread(&mut self, read: &BTreeMap<VarId, ParamId>, layers: &[(String, Rc<Layer>)]) {
        let read = read.values().copied().collect();
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

    /// A new variable of a model, as a value.
    fn model_var(
        &mut self,
        b: &mut Builder,
        name: &str,
        shape: Vec<u64>,
        span: Span,
    ) -> (VarId, Expr) {
        let ty = Ty::tensor(Elem::Fix, shape, Secrecy::Secret);
        let var = self.var(name, ty.clone(), span);
        b.vars.insert(var);
        (var, typed(ExprKind::Var(var), ty, span))
    }

    /// A definition of what an expression computes; for a variable of the model none is needed.
    #[inline(never)]
    fn compute(
        &mut self,
        b: &mut Builder,
        name: &str,
        span: Span,
        check: impl FnOnce(&mut Self) -> R<Val>,
    ) -> R<Expr> {
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
        match value.kind {
            ExprKind::Var(v) if b.vars.contains(&v) => {
                Ok(Expr { span: self.vars[v.0 as usize].span, ..value })
            }
            _ => Ok(self.model_let(b, name, span, in_place(lets, value))),
        }
    }

    /// A definition in a model, and its variable as a value.
    fn model_let(&mut self, b: &mut Builder, name: &str, span: Span, value: Expr) -> Expr {
        let (var, of) = self.model_var(b, name, value.ty.shape(), span);
        b.lets.push(Definition::value(var, value));
        of
    }

    /// An expression in the body of a block.
    fn flow(&mut self, env: &mut Env, b: &mut Builder, of: &Block, e: &ast::Expr) -> R<Expr> {
        let input = of.input;
        match &e.kind {
            ast::ExprKind::If(c, x, y) => {
                let taken = if self.condition(env, c)? { x } else { y };
                self.flow(env, b, of, taken)
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
                let names = env.names.len();
                env.set(input, Val::Expr(of.x.clone()));
                let value = self.compute(b, of.prefix, e.span, |this| this.expr(env, e));
                env.names.truncate(names);
                value
            }
            ast::ExprKind::Binary(BinaryOp::Pipe, x, layer) => {
                let x = self.flow(env, b, of, x)?;
                self.through(env, b, of, layer, x, e.span)
            }
            ast::ExprKind::Call(layer, args) if args.len() == 1 => {
                let x = self.flow(env, b, of, &args[0])?;
                self.through(env, b, of, layer, x, e.span)
            }
            ast::ExprKind::Binary(BinaryOp::Add, x, y) => {
                let (left, right) = (self.flow(env, b, of, x), self.flow(env, b, of, y));
                let (left, right) = (left?, right?);
                let (p, q) = (left.ty.shape(), right.ty.shape());
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
                let ty = left.ty.clone();
                let sum = ExprKind::Binary(BinOp::Add, Box::new(left), Box::new(right));
                Ok(self.model_let(b, of.prefix, e.span, typed(sum, ty, e.span)))
            }
            _ => Ok(of.x.clone()),
        }
    }

    /// A value through a layer or a function.
    fn through(
        &mut self,
        env: &mut Env,
        b: &mut Builder,
        of: &Block,
        f: &ast::Expr,
        x: Expr,
        span: Span,
    ) -> R<Expr> {
        if matches!(&f.kind, ast::ExprKind::Name(n) if n == of.input) {
            return Err(self.not_a_layer("the input", f.span));
        }
        // Brackets and conditions may read the shape of the input.
        let names = env.names.len();
        if f.reads(of.input) {
            env.set(of.input, Val::Expr(of.x.clone()));
        }
        let made = match self.callee(env, f, 1) {
            Ok(Val::Layer(layer)) => self.model_layer(b, &layer, x, f.span),
            Ok(callee) => {
                let args = vec![(Val::Expr(x.clone()), x.span)];
                self.compute(b, of.prefix, span, |this| this.apply(callee, args, f.span, span))
            }
            Err(Reported) => Err(Reported),
        };
        env.names.truncate(names);
        made
    }

    /// A value through a layer. The definitions of a block without definitions of its own are the model's.
    fn model_layer(&mut self, b: &mut Builder, layer: &Rc<Layer>, x: Expr, at: Span) -> R<Expr> {
        match &layer.kind {
            SpecKind::List(_) => {
                self.count_application(at)?;
                return layer
                    .inner
                    .iter()
                    .try_fold(x, |x, (_, one)| self.model_layer(b, one, x, at));
            }
            SpecKind::Block(id, sizes) => {
                let item = self.world.item(*id);
                let ItemKind::Block(block) = &item.kind else { return Err(Reported) };
                let plain = matches!(block.params.as_slice(), [p] if p.ty.is_none());
                if plain && block.body.lets.is_empty() {
                    self.count_application(at)?;
                    let of = Instance { id: *id, block, sizes };
                    return self.inside(*id, sizes, at, |this| {
                        this.block_body(b, of, &layer.inner, x, &layer.name)
                    });
                }
            }
            SpecKind::Builtin(_) | SpecKind::Function(..) | SpecKind::Param(_) => {}
        }
        let args = vec![(Val::Expr(x.clone()), x.span)];
        self.compute(b, &layer.name, at, |this| this.layer_value(layer, args, at, at))
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
