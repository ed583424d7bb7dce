//! Arguments against parameters: sizes from brackets and from the types of arguments.

use super::call::Callee;
use super::checker::Checker;
use super::tuples::Leaf;
use super::value::{Env, IntVal, R, Reported, SizeArg, SizeVal, Val, count, fits};
use crate::diagnostic::{Edit, codes, near::did_you_mean};
use crate::syntax::ast::{self, Function, Size, Span, TypeKind};
use crate::syntax::print_type;
use crate::types::number::Number;
use crate::types::{Dim, Elem, Index, Ty};

impl Checker<'_> {
    pub(super) fn arity(&mut self, f: &Function, found: usize, span: Span) -> R<()> {
        if found == f.params.len() {
            return Ok(());
        }
        let names: Vec<&str> = f.params.iter().map(|p| p.name.name.as_str()).collect();
        let name = &f.name.name;
        // Sizes that no argument tells.
        let open: Vec<String> = (f.sizes.iter())
            .filter(|s| s.default.is_none() && !f.params.iter().any(|p| tells(p, &s.name.name)))
            .map(|s| format!("{} = ..", s.name.name))
            .collect();
        let brackets =
            if open.is_empty() { String::new() } else { format!("[{}]", open.join(", ")) };
        let reduction = matches!(name.as_str(), "max" | "min" | "sum") && found > 1;
        let takes = count(names.len(), "argument", "arguments");
        codes::ARGUMENTS
            .error(format!("`{name}` takes {takes}, not {found}"))
            .label(span, "wrong number of arguments")
            .hint(match reduction {
                true => format!("it goes over the entries of one tensor: `{name}([a, b])`"),
                false => format!("write `{name}{brackets}({})`", names.join(", ")),
            })
            .refuse(self)
    }

    /// Puts bracketed arguments at their parameters, by position or name.
    pub(super) fn place_sizes(
        &mut self,
        name: &str,
        params: &[Size],
        given: &[SizeArg],
        declared: Span,
    ) -> R<Vec<Option<SizeVal>>> {
        let mut out = vec![None; params.len()];
        let list = || {
            let all: Vec<&str> = params.iter().map(|p| p.name.name.as_str()).collect();
            format!("`{name}[{}]`", all.join(", "))
        };
        for (position, (arg, value, at)) in given.iter().enumerate() {
            let at = *at;
            let slot = match arg {
                Some(arg) => params.iter().position(|p| p.name == *arg).ok_or_else(|| {
                    let near = did_you_mean(&arg.name, params.iter().map(|p| p.name.name.as_str()));
                    let error = codes::ARGUMENTS
                        .error(format!("`{name}` has no size `{}`", arg.name))
                        .label(at, "no such size");
                    self.fail(match near {
                        Some(near) => {
                            let here = self.sources.snippet(arg.span) == arg.name;
                            let edit = here.then(|| Edit::replace(arg.span, near));
                            error.hint(format!("did you mean `{near} = ..`?")).edit(edit)
                        }
                        None if params.is_empty() => {
                            error.hint("it has none: leave the brackets out")
                        }
                        None => error.hint(format!("its sizes are {}", list())),
                    })
                })?,
                None if position < params.len() => position,
                None => {
                    let none = "leave the brackets out; values go into parentheses";
                    return codes::ARGUMENTS
                        .error(format!("`{name}` has {}", count(params.len(), "size", "sizes")))
                        .label(at, "one too many")
                        .hint(match params.is_empty() {
                            true => none.to_owned(),
                            false => format!("its sizes are {}", list()),
                        })
                        .refuse(self);
                }
            };
            let param = &params[slot];
            if out[slot].is_some() {
                return codes::ARGUMENTS
                    .error(format!("size `{}` of `{name}` is given twice", param.name.name))
                    .label(at, "given again")
                    .refuse(self);
            }
            let value = match value {
                SizeVal::Rounded(_) if takes_real(param) => return Err(self.rounds_down(at)),
                SizeVal::Rounded(i) => &SizeVal::Int(*i),
                value => value,
            };
            if let SizeVal::Real(bits) = value
                && !param.is_model
                && !takes_real(param)
            {
                return Err(self.not_whole(&f64::from_bits(*bits).to_string(), at));
            }
            if matches!(value, SizeVal::Model(_)) != param.is_model {
                let (wanted, found) = if param.is_model {
                    ("a model", "this is a number")
                } else {
                    ("a number", "this is a model")
                };
                return codes::KIND
                    .error(format!("`{}` of `{name}` is {wanted}", param.name.name))
                    .label(at, found)
                    .label(declared, "declared here")
                    .refuse(self);
            }
            out[slot] = Some(*value);
        }
        Ok(out)
    }

    /// Fills sizes that are still open with their defaults and defines all in `env`.
    pub(super) fn finish_sizes(
        &mut self,
        env: &mut Env,
        name: &str,
        params: &[Size],
        sizes: &mut [Option<SizeVal>],
        span: Span,
    ) -> R<()> {
        for (param, slot) in params.iter().zip(sizes.iter_mut()) {
            if slot.is_none()
                && let Some(default) = &param.default
            {
                *slot = Some(self.default_size(env, default)?);
            }
            match slot {
                Some(value) => env.set(&param.name.name, size_value(*value)),
                None => {
                    let size = &param.name.name;
                    return codes::UNBOUND_SIZE
                        .error(format!("size `{size}` of `{name}` has no value"))
                        .label(span, format!("no argument determines `{size}`"))
                        .label(param.name.span, "declared here")
                        .hint(format!("give it in brackets: `{name}[{size} = ..]`"))
                        .refuse(self);
                }
            }
        }
        Ok(())
    }

    /// Learns sizes from an argument: `fix[n]` against `fix[10]` says n = 10.
    pub(super) fn unify(
        &mut self,
        module: usize,
        callee: Callee,
        sizes: &mut [Option<SizeVal>],
        leaf: &Leaf,
    ) -> R<()> {
        let f = callee.function;
        let (ty, arg) = (leaf.ty, &leaf.arg);
        let open = |sizes: &[Option<SizeVal>], name: &str| {
            f.sizes.iter().position(|s| s.name.name == name).filter(|&i| sizes[i].is_none())
        };
        let (dims, found) = match &ty.kind {
            TypeKind::Weights { model, dims } => {
                if let Some(slot) = open(sizes, &model.name) {
                    match arg.ty.record {
                        Some(found) => sizes[slot] = Some(SizeVal::Model(found)),
                        None => return Err(self.misfit(callee, leaf, None)),
                    }
                }
                // The last dimension is all weights.
                let (_, outer) = arg.ty.dims.split_last().unwrap_or((&Dim::plain(0), &[]));
                (dims, outer.to_vec())
            }
            TypeKind::Tensor { dims, .. } => (dims, arg.ty.dims.clone()),
            TypeKind::Tuple(_) => return Err(Reported),
        };
        let mut env = Env::new(module);
        for (s, v) in f.sizes.iter().zip(sizes.iter()) {
            if let Some(v) = v {
                env.set(&s.name.name, size_value(*v));
            }
        }
        let mut wanted: Vec<Option<usize>> = Vec::new();
        for dim in dims {
            match dim {
                ast::Dim::Size(e) => match &e.kind {
                    ast::ExprKind::Name(n) => wanted.push(open(sizes, n)),
                    _ => wanted.push(None),
                },
                ast::Dim::Splice(e) => {
                    let unknown = f
                        .sizes
                        .iter()
                        .zip(sizes.iter())
                        .find(|(s, v)| v.is_none() && e.reads(&s.name.name));
                    if let Some((size, _)) = unknown {
                        let (size, name) = (size.name.name.clone(), &f.name.name);
                        return codes::UNBOUND_SIZE
                            .error(format!("size `{size}` of `{name}` has no value"))
                            .label(arg.span, format!("a tensor does not determine `{size}`"))
                            .hint(format!("give it in brackets: `{name}[{size} = ..]`"))
                            .refuse(self);
                    }
                    let shape = self.shape(&mut env, e)?;
                    wanted.extend(shape.iter().map(|_| None));
                }
            }
        }
        if wanted.len() != found.len() {
            return Err(self.misfit(callee, leaf, None));
        }
        for (slot, dim) in wanted.into_iter().zip(&found) {
            if let Some(slot) = slot
                && sizes[slot].is_none()
            {
                sizes[slot] = Some(SizeVal::Int(dim.size as i64));
            }
        }
        Ok(())
    }

    /// The type of a parameter's variable in the instance for this argument: the shape declared, the
    /// element and secrecy of the argument.
    pub(super) fn param_ty(&mut self, env: &mut Env, callee: Callee, leaf: &Leaf) -> R<Ty> {
        let f = callee.function;
        let (ty, arg) = (leaf.ty, &leaf.arg);
        if ty.secrecy == Some(ast::Secrecy::Public) && arg.ty.secrecy == ast::Secrecy::Secret {
            let name = &f.name.name;
            return codes::SECRECY
                .error(format!("`{name}` wants a public `{}`", leaf.name))
                .label(arg.span, "this is secret")
                .label(ty.span, "declared public")
                .refuse(self);
        }
        let secrecy = ty.secrecy.unwrap_or(arg.ty.secrecy).max(arg.ty.secrecy);
        let wanted = self.written_ty(env, ty)?;
        if !wanted.is_shape_of(&arg.ty) || !fits(arg.ty.elem, wanted.elem) {
            let text = self.ty(&wanted);
            return Err(self.misfit(callee, leaf, Some(text)));
        }
        Ok(Ty { elem: arg.ty.elem, secrecy, ..wanted })
    }

    fn misfit(&mut self, callee: Callee, leaf: &Leaf, concrete: Option<String>) -> Reported {
        let f = callee.function;
        let Leaf { name: param, ty, arg } = leaf;
        let (name, found, written) = (&f.name.name, self.ty(&arg.ty), print_type(ty));
        let wanted_elem = match &ty.kind {
            TypeKind::Tensor { base, .. } => Elem::named(&base.name),
            TypeKind::Weights { .. } | TypeKind::Tuple(_) => None,
        };
        let same_rank =
            matches!(&ty.kind, TypeKind::Tensor { dims, .. } if dims.len() == arg.ty.dims.len());
        let elem_only = same_rank && wanted_elem.is_some_and(|e| !fits(arg.ty.elem, e));
        let code = if elem_only { codes::ELEMENT } else { codes::SHAPE };
        let here = match concrete {
            Some(c) if c != written => format!(", here {c}"),
            _ => String::new(),
        };
        let error = code
            .error(format!("`{name}` wants `{param}: {written}`{here}"))
            .label(arg.span, format!("this is {found}"));
        let error =
            if self.in_std(f.name.span) { error } else { error.label(ty.span, "declared here") };
        let rank = match &ty.kind {
            TypeKind::Tensor { dims, .. }
                if dims.iter().all(|d| matches!(d, ast::Dim::Size(_))) =>
            {
                Some(dims.len())
            }
            TypeKind::Weights { dims, .. } => Some(1 + dims.len()),
            TypeKind::Tensor { .. } | TypeKind::Tuple(_) => None,
        };
        // With its brackets, and `..` where other arguments stand.
        let called = self.text(callee.name);
        let call = |x: &str| {
            let args = f.params.iter().map(|p| if p.name.name == *param { x } else { ".." });
            format!("{called}({})", args.collect::<Vec<_>>().join(", "))
        };
        let std = self.in_std(f.name.span);
        let hint = rank.and_then(|rank| self.of_parts(name, std, call, rank, arg));
        self.fail(error.hints(hint))
    }
}

/// Whether a size is a real number: its default is one.
fn takes_real(size: &Size) -> bool {
    let is_real = |e: &ast::Expr| matches!(e.kind, ast::ExprKind::Real(_));
    size.default.as_ref().is_some_and(|e| match &e.kind {
        ast::ExprKind::Unary(_, a) => is_real(a),
        _ => is_real(e),
    })
}

/// A size as a name's value.
pub(super) fn size_value(value: SizeVal) -> Val {
    match value {
        SizeVal::Int(i) | SizeVal::Rounded(i) => Val::Int(IntVal::of(Index::Const(i))),
        SizeVal::Real(bits) => match Number::of(f64::from_bits(bits)) {
            Ok(x) => Val::Real(x.into()),
            Err(_) => Val::Poison,
        },
        SizeVal::Model(m) => Val::Model(m),
    }
}

/// Whether the type of a parameter says what a size is.
fn tells(param: &ast::Param, size: &str) -> bool {
    fn of(ty: &ast::Type, size: &str) -> bool {
        match &ty.kind {
            TypeKind::Weights { model, .. } if model.name == size => true,
            TypeKind::Tuple(parts) => parts.iter().any(|t| of(t, size)),
            TypeKind::Tensor { .. } | TypeKind::Weights { .. } => {
                ty.sizes().into_iter().any(|e| e.reads(size))
            }
        }
    }
    param.ty.as_ref().is_some_and(|ty| of(ty, size))
}
