//! Weights tensor by tensor: loops over the tensors of a model, and weights made of tensors or of a vector.

use super::checker::Checker;
use super::value::{Env, IntVal, R, Reported, Val, count, join_elem, shape_text, typed};
use crate::diagnostic::codes;
use crate::syntax::ast::{self, Secrecy, Span};
use crate::types::{Dim, Elem, Expr, ExprKind, Index, ModelId, Ty};

impl Checker<'_> {
    /// Tensor number `at` of weights.
    pub(super) fn tensor(&mut self, m: ModelId, weights: Expr, at: usize, span: Span) -> R<Expr> {
        let param = self.model_of(m).params.get(at).ok_or(Reported)?;
        let offset = param.offset;
        let mut ty = weights.ty.clone();
        ty.record = None;
        ty.dims.pop();
        ty.dims.extend(param.shape.iter().map(|n| Dim::plain(*n)));
        self.limit(&ty, span)?;
        Ok(typed(ExprKind::Field(Box::new(weights), offset), ty, span))
    }

    /// The model of `for t in M`, if that is what a loop is over.
    #[inline(never)]
    pub(super) fn over_tensors(
        &mut self,
        env: &mut Env,
        gens: &[ast::Gen],
        span: Span,
    ) -> R<Option<ModelId>> {
        let mut found = None;
        for g in gens {
            let named = match &g.domain.kind {
                ast::ExprKind::Name(name) => {
                    let local = env.get(name);
                    let names = &self.world.modules[env.module].names;
                    let item = || names.get(name).is_some_and(|&id| self.is_model(id));
                    matches!(local, Some(Val::Model(_))) || local.is_none() && item()
                }
                ast::ExprKind::Path(head, name) => {
                    self.world.path(head, name).is_ok_and(|id| self.is_model(id))
                }
                _ => false,
            };
            if named && let Val::Model(m) = self.expr(env, &g.domain)? {
                found = Some((m, g));
            }
        }
        match found {
            None => Ok(None),
            Some((m, _)) if gens.len() == 1 => Ok(Some(m)),
            Some((_, g)) => codes::KIND
                .error("a loop over the tensors of a model stands alone")
                .label(g.domain.span, "tensors have different shapes")
                .label(span, "beside other loops")
                .hint(
                    "put one list into the other: `[[norm(flat(w[i][t])) for t in M] for i in Client]`",
                )
                .refuse(self),
        }
    }

    /// The body of a loop over the tensors of a model, for each of them.
    #[inline(never)]
    pub(super) fn each_tensor(
        &mut self,
        env: &mut Env,
        m: ModelId,
        g: &ast::Gen,
        body: &ast::Expr,
    ) -> R<Vec<Expr>> {
        let tensors = self.model_of(m).params.len();
        let mut out = Vec::with_capacity(tensors);
        for i in 0..tensors as i64 {
            let at = IntVal { tensor: Some(m), ..IntVal::of(Index::Const(i)) };
            out.extend(self.for_one(env, g, at, |this, env| this.value(env, body))?);
        }
        Ok(out)
    }

    /// Checks something for one value of a loop that is written out; nothing where its condition leaves it out.
    pub(super) fn for_one<T>(
        &mut self,
        env: &mut Env,
        g: &ast::Gen,
        at: IntVal,
        check: impl FnOnce(&mut Self, &mut Env) -> R<T>,
    ) -> R<Option<T>> {
        let outside = env.names.len();
        env.set(&g.var.name, Val::Int(at));
        let checked = match g.cond.as_ref().map_or(Ok(true), |c| self.condition(env, c)) {
            Ok(true) => check(self, env).map(Some),
            Ok(false) => Ok(None),
            Err(Reported) => Err(Reported),
        };
        env.names.truncate(outside);
        checked
    }

    /// A list with an entry for each tensor of a model.
    pub(super) fn list_of_tensors(
        &mut self,
        env: &mut Env,
        m: ModelId,
        g: &ast::Gen,
        body: &ast::Expr,
        span: Span,
    ) -> R<Expr> {
        let values = self.each_tensor(env, m, g, body)?;
        if let Some(other) = values.iter().find(|v| v.ty.shape() != values[0].ty.shape()) {
            let (first, other) = (self.ty(&values[0].ty), self.ty(&other.ty));
            return codes::SHAPE
                .error("the entries of a list have one shape")
                .label(body.span, format!("this is {first} of one tensor, and {other} of another"))
                .hint("a list has for example a norm of each tensor, `norm(flat(w[t]))`")
                .hint(
                    "of all tensors, as they are shaped, `weights M(.. for t in M)` makes weights",
                )
                .refuse(self);
        }
        self.stacked(values, span)
    }

    /// `weights M(f(w[t]) for t in M)`.
    #[inline(never)]
    pub(super) fn weights_of_tensors(
        &mut self,
        env: &mut Env,
        m: ModelId,
        body: &ast::Expr,
        gens: &[ast::Gen],
        span: Span,
    ) -> R<Expr> {
        match self.over_tensors(env, gens, span)? {
            Some(of) => {
                let tensors = self.each_tensor(env, of, &gens[0], body)?;
                self.record(m, tensors, span)
            }
            None => {
                let vector = self.comp(env, body, gens, span)?;
                self.even(&vector)?;
                self.weights_of(m, vec![vector], span, span)
            }
        }
    }

    /// `weights M(v)` of a vector, or of all tensors in order.
    #[inline(never)]
    pub(super) fn weights_of(
        &mut self,
        m: ModelId,
        mut args: Vec<Expr>,
        callee: Span,
        span: Span,
    ) -> R<Expr> {
        for arg in &args {
            self.even(arg)?;
        }
        let (len, tensors) = {
            let model = self.model_of(m);
            (model.len, model.params.len())
        };
        let vector = |arg: &Expr| arg.ty.shape() == [len];
        if args.len() != 1 || tensors == 1 && !vector(&args[0]) {
            return self.record(m, args, span);
        }
        let given = args.pop().ok_or(Reported)?;
        let found = self.ty(&given.ty);
        let Some(arg) = Some(given).filter(vector) else {
            let name = self.model_of(m).name.clone();
            return codes::SHAPE
                .error(format!(
                    "weights of {name} are made of a vector of {len}, or of {tensors} tensors"
                ))
                .label(callee, format!("here of {found}"))
                .hint("for example `weights M(v)` or `weights M(2 * w[t] for t in M)`")
                .refuse(self);
        };
        if arg.ty.record.is_some_and(|found| found != m) {
            let title = "weights of one model are no weights of another";
            return codes::SHAPE
                .error(title)
                .label(arg.span, format!("this is {found}"))
                .hint("make a vector of them first: `[w[j] for j in M.len]`")
                .refuse(self);
        }
        let ty = Ty { dims: vec![Dim::plain(len)], record: Some(m), ..arg.ty.clone() };
        Ok(Expr { ty, span, ..arg })
    }

    /// Weights of tensors, one for each of the model's, in order.
    fn record(&mut self, m: ModelId, tensors: Vec<Expr>, span: Span) -> R<Expr> {
        let model = self.model_of(m);
        let (name, len) = (model.name.clone(), model.len);
        if tensors.len() != model.params.len() {
            let (found, wanted) = (tensors.len(), model.params.len());
            return codes::ARGUMENTS
                .error(format!(
                    "weights of {name} are made of {}",
                    count(wanted, "tensor", "tensors")
                ))
                .label(span, format!("here are {found}"))
                .hint("a loop over all of them: `weights M(2 * w[t] for t in M)`")
                .refuse(self);
        }
        let params: Vec<(String, Vec<u64>)> =
            model.params.iter().map(|p| (p.name.clone(), p.shape.clone())).collect();
        let mut ty = Ty {
            elem: Elem::Bit,
            dims: vec![Dim::plain(len)],
            secrecy: Secrecy::Public,
            record: Some(m),
        };
        for (tensor, (field, shape)) in tensors.iter().zip(params) {
            if tensor.ty.shape() != shape {
                let (found, wanted) = (self.ty(&tensor.ty), shape_text(&shape));
                return codes::SHAPE
                    .error(format!("`{field}` of {name} has shape {wanted}"))
                    .label(tensor.span, format!("this is {found}"))
                    .refuse(self);
            }
            ty.elem = join_elem(ty.elem, tensor.ty.elem);
            ty.secrecy = ty.secrecy.max(tensor.ty.secrecy);
        }
        Ok(typed(ExprKind::Record(tensors), ty, span))
    }
}
