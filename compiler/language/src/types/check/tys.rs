//! Written types as numbers, limits, definitions, and the text of types in messages.

use super::checker::Checker;
use super::unify::size_value;
use super::value::{Env, Instance, R, Reported, Val, shape_text, ty_text, typed};
use crate::diagnostic::{Edit, Hint, codes};
use crate::syntax::ast::{self, Ident, Span, TypeKind};
use crate::types::{Body, Dim, Elem, Expr, ExprKind, MAX_RANK, ModelId, Ty, Var, VarId};

/// No tensor has more entries than this.
pub(super) const MAX_ENTRIES: u64 = 1 << 32;

impl Checker<'_> {
    /// Sizes of written dimensions, all at least 1.
    pub(super) fn dims(&mut self, env: &mut Env, dims: &[ast::Dim]) -> R<Vec<u64>> {
        let mut out = Vec::new();
        for dim in dims {
            match dim {
                ast::Dim::Size(e) => out.push(self.positive(env, e)?),
                ast::Dim::Splice(e) => out.extend(self.shape(env, e)?),
            }
        }
        Ok(out)
    }

    /// The type that is written, of a tensor or of weights; public where it does not say.
    pub(super) fn written_ty(&mut self, env: &mut Env, ty: &ast::Type) -> R<Ty> {
        let secrecy = ty.secrecy.unwrap_or(ast::Secrecy::Public);
        let plain = |sizes: Vec<u64>| sizes.into_iter().map(Dim::plain).collect::<Vec<Dim>>();
        match &ty.kind {
            TypeKind::Weights { model, dims } => {
                let m = self.named_model(env, model)?;
                if self.model_of(m).len == 0 {
                    let name = self.model_of(m).name.clone();
                    return codes::SIZE
                        .error(format!("the model `{name}` has no weights"))
                        .label(ty.span, "a tensor of no entries")
                        .hint(
                            "a model without layers that have weights is a function: write it as an `fn`, or as a `block` \
                             of another model",
                        )
                        .refuse(self);
                }
                let mut dims = plain(self.dims(env, dims)?);
                dims.push(Dim::plain(self.model_of(m).len));
                Ok(Ty { elem: Elem::Fix, dims, secrecy, record: Some(m) })
            }
            TypeKind::Tensor { base, dims } => {
                let dims = plain(self.dims(env, dims)?);
                let elem = Elem::named(&base.name).ok_or(Reported)?;
                Ok(Ty { elem, dims, secrecy, record: None })
            }
            TypeKind::Tuple(_) => codes::KIND
                .error("a tuple is the type of a parameter or of a result")
                .label(ty.span, "not here")
                .hint("give each part a name of its own")
                .refuse(self),
        }
    }

    /// A size that a dimension can have.
    pub(super) fn positive(&mut self, env: &mut Env, e: &ast::Expr) -> R<u64> {
        let n = self.whole(env, e)?;
        match u64::try_from(n) {
            Ok(n) if (1..=MAX_ENTRIES).contains(&n) => Ok(n),
            _ => codes::SIZE
                .error("a size is at least 1 and at most 2^32")
                .label(e.span, format!("is {n} here"))
                .hint("`require` can exclude sizes that make no sense")
                .refuse(self),
        }
    }

    /// The value of what follows `..`.
    pub(super) fn shape(&mut self, env: &mut Env, e: &ast::Expr) -> R<Vec<u64>> {
        match self.expr(env, e)? {
            Val::Shape(shape) => Ok(shape),
            other => {
                let error = codes::KIND
                    .error("`..` splices the shape of a model's input")
                    .label(e.span, other.this_is());
                let shaped = match &other {
                    Val::Model(_) => true,
                    Val::Expr(x) => x.ty.record.is_none(),
                    _ => false,
                };
                let hint = match (shaped, &e.kind) {
                    (true, ast::ExprKind::Name(_)) => {
                        let text = format!("{}.shape", self.sources.snippet(e.span));
                        Hint::from(format!("write `..{text}`")).edit([Edit::replace(e.span, text)])
                    }
                    _ => "write `..M.shape`".into(),
                };
                error.hint(hint).refuse(self)
            }
        }
    }

    /// The model that `weights M` names.
    pub(super) fn named_model(&mut self, env: &mut Env, name: &Ident) -> R<ModelId> {
        let e = ast::Expr { kind: ast::ExprKind::Name(name.name.clone()), span: name.span };
        match self.expr(env, &e)? {
            Val::Model(m) => Ok(m),
            other => codes::KIND
                .error("`weights` is followed by a model")
                .label(name.span, other.this_is())
                .hint(format!("a size that is a model is declared `[{}: model]`", name.name))
                .refuse(self),
        }
    }

    /// Refuses a type with too many entries or dimensions.
    pub(super) fn limit(&mut self, ty: &Ty, span: Span) -> R<()> {
        if ty.dims.len() > MAX_RANK {
            return codes::SIZE
                .error(format!("a tensor has at most {MAX_RANK} dimensions"))
                .label(span, format!("this has {}", ty.dims.len()))
                .hint("lay it out flat: entry i, j of an a by b matrix is entry i * b + j")
                .refuse(self);
        }
        let entries = ty.dims.iter().try_fold(1u64, |n, d| n.checked_mul(d.size));
        if entries.is_some_and(|n| n <= MAX_ENTRIES) {
            return Ok(());
        }
        codes::SIZE
            .error("a tensor has at most 2^32 entries")
            .label(span, format!("shape {}", shape_text(&ty.shape())))
            .refuse(self)
    }

    pub(super) fn var(&mut self, name: &str, ty: Ty, span: Span) -> VarId {
        let id = VarId(self.vars.len() as u32);
        self.vars.push(Var { name: name.to_owned(), ty, span });
        id
    }

    /// A new variable that a declaration names, if it is not too large.
    pub(super) fn declare(&mut self, env: &mut Env, name: &Ident, ty: Ty) -> R<VarId> {
        self.limit(&ty, name.span)?;
        let var = self.var(&name.name, ty.clone(), name.span);
        env.set(&name.name, Val::Expr(typed(ExprKind::Var(var), ty, name.span)));
        Ok(var)
    }

    /// `let`: new variables and what they are, or names for what is known at compile time.
    pub(super) fn define(&mut self, env: &mut Env, l: &ast::Let) -> R<Option<(Vec<VarId>, Body)>> {
        let (defined, lets) = self.scoped(|this| this.define_each(env, l));
        let Ok(values) = defined else {
            for name in &l.names {
                if env.get(&name.name).is_none() {
                    env.set(&name.name, Val::Poison);
                }
            }
            return Err(Reported);
        };
        if values.is_empty() && lets.is_empty() {
            return Ok(None);
        }
        let (vars, values) = values.into_iter().unzip();
        Ok(Some((vars, Body { lets, values })))
    }

    fn define_each(&mut self, env: &mut Env, l: &ast::Let) -> R<Vec<(VarId, Expr)>> {
        let val = self.expr(env, &l.value)?;
        let parts = self.matched(&l.names, val, l.value.span)?;
        let mut out = Vec::new();
        for (name, part) in l.names.iter().zip(parts) {
            let known = self.named(&name.name, name.span, part, l.value.span, &mut out)?;
            env.set(&name.name, known);
        }
        Ok(out)
    }

    /// A scope in which the sizes of a block have their values.
    pub(super) fn sizes_env(&self, of: Instance) -> Env {
        let mut env = Env::of_block(self.world.items[of.id.0].module);
        for (param, value) in of.block.sizes.iter().zip(of.sizes) {
            env.set(&param.name.name, size_value(*value));
        }
        env
    }

    /// A type in messages: `fix[Client, 10]`.
    pub(super) fn ty(&self, ty: &Ty) -> String {
        let name = |m: ModelId| self.model_of(m).name.clone();
        ty_text(&self.parties, &name, ty)
    }

    /// What a label says of a value of this type.
    pub(super) fn this_is(&self, ty: &Ty) -> String {
        format!("this is {}", self.ty(ty))
    }

    /// The source text of a place, on one line and not too long.
    pub(super) fn text(&self, span: Span) -> String {
        let words: Vec<&str> = self.sources.snippet(span).split_whitespace().collect();
        let text = words.join(" ");
        if text.chars().count() <= 40 {
            return text;
        }
        let mut short: String = text.chars().take(37).collect();
        short.push_str("...");
        short
    }
}
