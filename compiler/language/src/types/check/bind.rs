//! Sizes, models and run parameters from the command line: `m=10 M=LeNet5 lambda=1.5`.

use super::checker::Checker;
use super::unify::size_value;
use super::value::{Env, IntVal, R, Reported, SizeArg, SizeVal, Val, no_span};
use super::world::{ItemId, World};
use crate::diagnostic::{Code, Diagnostic, Edit, Hint, codes, near::did_you_mean};
use crate::source::{Loader, Sources};
use crate::syntax;
use crate::syntax::ast::{Ident, Param, Predicate, Secrecy, Size, Span, TypeKind};
use crate::types::number::{Number, NumberError, REACH};
use crate::types::{Elem, Index};
use std::collections::BTreeMap;

/// Modules of the files that bindings name, by path.
pub(super) type Loaded = BTreeMap<String, usize>;

/// `path/to/model.slvr` and `Name[..]` of `path/to/model.slvr:Name[..]`. A file alone stands for its only model,
/// without a name.
fn split_path(value: &str) -> (Option<&str>, &str) {
    let end = value.find('[').unwrap_or(value.len());
    let (before, sizes) = value.split_at(end);
    if before.trim_end().ends_with(".slvr") {
        return (Some(before.trim_end()), sizes);
    }
    match value.get(..end).and_then(|v| v.rfind(':')) {
        Some(colon) => (value.get(..colon), value.get(colon + 1..).unwrap_or("")),
        None => (None, value),
    }
}

/// Loads the files that bindings of models name.
pub(super) fn load(
    world: &mut World,
    sources: &mut Sources,
    (bindings, places): (&[(String, String)], &BTreeMap<String, Span>),
    p: &Predicate,
    loader: &mut dyn Loader,
    diags: &mut Vec<Diagnostic>,
) -> Loaded {
    let mut loaded = Loaded::new();
    for (name, value) in bindings {
        let Some(size) = p.sizes.iter().find(|s| s.is_model && s.name.name == *name) else {
            continue;
        };
        let (Some(path), _) = split_path(value) else { continue };
        if loaded.contains_key(path) {
            continue;
        }
        match loader.load(path) {
            Ok(text) => {
                let file = sources.add(path, text.as_str());
                let (tree, errors) = syntax::parse(file, &text);
                diags.extend(errors);
                let module = world.add_file(&text, tree, diags);
                super::names::resolve(world, module, diags);
                loaded.insert(path.to_owned(), module);
            }
            Err(error) => {
                let title = format!("`{name}={value}`: cannot read {path}: {error}");
                let label = "this model";
                let error = misbound(places, codes::BINDING, title, &size.name, label);
                diags.push(error.hint(
                    "a model is a library model, one of this file, or `path/to/file.slvr:Name`",
                ));
            }
        }
    }
    loaded
}

/// What was bound to a parameter is wrong: at the place where a file says it, or else at the parameter.
fn misbound(
    places: &BTreeMap<String, Span>,
    code: Code,
    title: String,
    parameter: &Ident,
    label: impl Into<String>,
) -> Diagnostic {
    match places.get(&parameter.name) {
        Some(&at) => code.error(title).label(at, "given here").label(parameter.span, label),
        None => code.error(title).label(parameter.span, label),
    }
}

impl Checker<'_> {
    /// Reports bindings that fit no parameter.
    pub(super) fn unknown_bindings(&mut self, p: &Predicate, bindings: &[(String, String)]) {
        let params = || p.sizes.iter().map(|s| &s.name).chain(p.params.iter().map(|p| &p.name));
        for (i, (name, value)) in bindings.iter().enumerate() {
            let Some(param) = params().find(|n| n.name == *name) else {
                let names: Vec<&str> = params().map(|n| n.name.as_str()).collect();
                let error = codes::BINDING
                    .error(format!("`{name}={value}`: `{}` has no parameter `{name}`", p.name.name))
                    .label(p.name.span, "this predicate");
                self.fail(match did_you_mean(name, names.iter().copied()) {
                    Some(near) => error.hint(format!("did you mean `{near}={value}`?")),
                    None if names.is_empty() => error.hint("it has no parameters"),
                    None => error.hint(format!("its parameters are {}", names.join(", "))),
                });
                continue;
            };
            if bindings[..i].iter().any(|(n, _)| n == name) {
                let title = match self.places.contains_key(name) {
                    true => format!("`{name}` is given twice"),
                    false => format!("`{name}` is given twice on the command line"),
                };
                self.fail(misbound(self.places, codes::BINDING, title, param, "this parameter"));
            }
        }
    }

    /// Binds sizes and run parameters in `env`; their values as in [`crate::types::Program::sizes`]. Sizes without
    /// value and default are reported, with `command` as the hint.
    pub(super) fn bind(
        &mut self,
        env: &mut Env,
        p: &Predicate,
        bindings: &[(String, String)],
        loaded: &Loaded,
        command: Option<&str>,
    ) -> R<Vec<(String, String)>> {
        let mut failed = false;
        let mut missing: Vec<&Ident> = Vec::new();
        let mut sizes = Vec::new();
        let mut set = |env: &mut Env, name: &Ident, value: R<(Val, String)>| {
            failed |= value.is_err();
            let (val, text) = value.unwrap_or((Val::Poison, String::new()));
            sizes.push((name.name.clone(), text));
            env.set(&name.name, val);
        };
        let given = |name: &str| bindings.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        for size in &p.sizes {
            let text = given(&size.name.name);
            let value = match (text, &size.default) {
                (Some(text), _) => self.size_binding(env, size, text, loaded),
                (None, Some(default)) => self.size_arg(env, default),
                (None, None) => {
                    missing.push(&size.name);
                    Err(Reported)
                }
            };
            let value = value.map(|v| {
                let text = match (v, text) {
                    (SizeVal::Int(i) | SizeVal::Rounded(i), _) => i.to_string(),
                    (SizeVal::Real(bits), _) => f64::from_bits(bits).to_string(),
                    (SizeVal::Model(_), Some(text)) => text.to_owned(),
                    (SizeVal::Model(m), None) => self.model_of(m).name.clone(),
                };
                (size_value(v), text)
            });
            set(env, &size.name, value);
        }
        for param in &p.params {
            let text = given(&param.name.name);
            let value = match (text, &param.default) {
                (None, None) => {
                    missing.push(&param.name);
                    Err(Reported)
                }
                _ => self.run_param(env, param, text),
            };
            set(env, &param.name, value);
        }
        if let Some(first) = missing.first() {
            let names: Vec<String> = missing.iter().map(|n| format!("`{}`", n.name)).collect();
            let (verb, them) = if names.len() == 1 { ("has", "it") } else { ("have", "them") };
            let mut error = codes::UNBOUND_SIZE
                .error(format!("{} of `{}` {verb} no value", listed(&names), p.name.name))
                .label(first.span, "no value");
            for more in &missing[1..] {
                error = error.label(more.span, "no value");
            }
            self.fail(error.hint(match command {
                Some(command) => format!("bind {them}, for example: `{command}`"),
                None => format!("bind {them} on the command line, NAME=VALUE"),
            }));
        }
        if failed { Err(Reported) } else { Ok(sizes) }
    }

    fn bad_binding(&mut self, parameter: &Ident, value: &str, wanted: &str) -> Reported {
        let title = format!("`{}={value}`: `{value}` is not {wanted}", parameter.name);
        let label = format!("this parameter is {wanted}");
        self.fail(misbound(self.places, codes::BINDING, title, parameter, label))
    }

    /// A run parameter that no run can hold.
    fn beyond(&mut self, parameter: &Ident, value: &str, why: NumberError) -> Reported {
        let title = format!("`{}={value}`: {why}", parameter.name);
        let label = "this parameter is a constant of the run";
        let error = misbound(self.places, codes::CONSTANT, title, parameter, label);
        self.fail(error.hint(format!(
            "a constant is 0, or its absolute value is between 2^-{REACH} and 2^{REACH}"
        )))
    }

    fn size_binding(&mut self, env: &Env, size: &Size, text: &str, loaded: &Loaded) -> R<SizeVal> {
        let name = &size.name;
        if !size.is_model {
            return match text.parse::<i64>() {
                Ok(n) if n >= 0 => Ok(SizeVal::Int(n)),
                _ if is_whole(text) => Err(self.bad_binding(name, text, "below 2^63")),
                _ => Err(self.bad_binding(name, text, "a whole number, 0 or more")),
            };
        }
        let (path, reference) = split_path(text);
        let (model, args) = match reference.split_once('[') {
            Some((model, args)) => (model.trim(), args.trim_end().strip_suffix(']')),
            None => (reference.trim(), Some("")),
        };
        let Some(args) = args else {
            return Err(self.bad_binding(name, text, "a model"));
        };
        let id = self.find_model(env, path, model, loaded, size, text)?;
        let args = self.model_args(args, name, text)?;
        Ok(SizeVal::Model(self.model(id, &args, name.span)?))
    }

    /// Sizes after a model's name on the command line: `Mlp[64, hidden=16]`.
    fn model_args(&mut self, args: &str, name: &Ident, text: &str) -> R<Vec<SizeArg>> {
        let mut out = Vec::new();
        for arg in args.split(',').map(str::trim).filter(|a| !a.is_empty()) {
            let (size, value) = match arg.split_once('=') {
                // It stands in no file.
                Some((size, value)) => {
                    let span = no_span(name.span.file);
                    (Some(Ident { name: size.trim().to_owned(), span }), value.trim())
                }
                None => (None, arg),
            };
            let Ok(value) = value.parse::<i64>() else {
                let wanted = if is_whole(value) { "below 2^63" } else { "a model and its sizes" };
                return Err(self.bad_binding(name, text, wanted));
            };
            out.push((size, SizeVal::Int(value), name.span));
        }
        Ok(out)
    }

    fn find_model(
        &mut self,
        env: &Env,
        path: Option<&str>,
        model: &str,
        loaded: &Loaded,
        size: &Size,
        text: &str,
    ) -> R<ItemId> {
        let module = match path {
            Some(path) => *loaded.get(path).ok_or(Reported)?,
            None => env.module,
        };
        let world = self.world;
        let own: Vec<ItemId> =
            world.modules[module].own.iter().copied().filter(|id| self.is_model(*id)).collect();
        let found = world.modules[module].names.get(model).copied();
        let found = match (path, own.as_slice()) {
            (Some(_), [only]) if model.is_empty() => Some(*only),
            (Some(_), _) => found,
            (None, _) => found.or_else(|| world.models.get(model).copied()),
        };
        if let Some(id) = found
            && self.is_model(id)
        {
            return Ok(id);
        }
        let mut known: Vec<&str> = own
            .iter()
            .filter_map(|id| world.items[id.0].item.name().map(|n| n.name.as_str()))
            .collect();
        if path.is_none() {
            known.extend(world.models.keys().map(String::as_str));
        }
        let name = &size.name;
        let label = "this parameter is a model";
        if let (Some(path), true) = (path, model.is_empty()) {
            let title = format!("`{}={text}`: which model of this file is not said", name.name);
            let error = misbound(self.places, codes::BINDING, title, name, label);
            let ways: Vec<String> =
                known.iter().map(|model| format!("`{}={path}:{model}`", name.name)).collect();
            return error
                .hint(match ways.is_empty() {
                    true => "that file declares no model".to_owned(),
                    false => format!("say one of {}", ways.join(", ")),
                })
                .refuse(self);
        }
        let title = format!("`{}={text}`: there is no model `{model}`", name.name);
        let error = misbound(self.places, codes::BINDING, title, name, label);
        // Where the name of the model stands, if a file says it.
        let written = self.places.get(&name.name).map(|at| {
            let start = at.start + path.map_or(0, |path| path.len() + 1) as u32;
            Span { start, end: start + model.len() as u32, ..*at }
        });
        let written = written.filter(|at| self.sources.snippet(*at) == model);
        error
            .hint(match did_you_mean(model, known.iter().copied()) {
                Some(near) => Hint::from(format!("did you mean `{}={near}`?", name.name))
                    .edit(written.map(|at| Edit::replace(at, near))),
                None if known.is_empty() => "that file declares no model".into(),
                None => format!(
                    "models here are {}; another file's are `path/to/file.slvr:Name`",
                    known.join(", ")
                )
                .into(),
            })
            .refuse(self)
    }

    /// A run parameter: its value and that as text.
    fn run_param(&mut self, env: &mut Env, param: &Param, text: Option<&str>) -> R<(Val, String)> {
        let name = &param.name;
        let elem = match param.ty.as_ref().map(|ty| (ty.secrecy, &ty.kind)) {
            Some((secrecy, TypeKind::Tensor { base, dims }))
                if dims.is_empty() && secrecy != Some(Secrecy::Secret) =>
            {
                Elem::named(&base.name).ok_or(Reported)?
            }
            _ => {
                return codes::KIND
                    .error("a run parameter is one public number")
                    .label(param.ty.as_ref().map_or(name.span, |t| t.span), "not one number")
                    .hint("tensors, weights and secrets are inputs: `input x: public fix[n];`")
                    .refuse(self);
            }
        };
        let wanted = match elem {
            Elem::Fix => "a number",
            Elem::Int => "a whole number",
            Elem::Bit => "true or false, or 1 or 0",
        };
        let value = match (text, &param.default) {
            (Some("true"), _) if elem == Elem::Bit => 1.into(),
            (Some("false"), _) if elem == Elem::Bit => 0.into(),
            (Some(text), _) => match Number::parse(text) {
                Some(Ok(x)) => x,
                Some(Err(e)) => return Err(self.beyond(name, text, e)),
                None => return Err(self.bad_binding(name, text, wanted)),
            },
            (None, Some(default)) => match self.expr(env, default)? {
                Val::Real(x) => *x,
                Val::Bool(bit) if elem == Elem::Bit => i64::from(bit).into(),
                Val::Int(IntVal { index: Index::Const(i), rounded: false, .. }) => i.into(),
                Val::Int(IntVal { rounded: true, .. }) => {
                    return Err(self.rounds_down(default.span));
                }
                other => {
                    return codes::KIND
                        .error(format!(
                            "the default of `{}` is {wanted} known at compile time",
                            name.name
                        ))
                        .label(default.span, other.this_is())
                        .refuse(self);
                }
            },
            (None, None) => return Err(Reported),
        };
        let shown = match text {
            Some(text) if elem != Elem::Bit => text.to_owned(),
            // The same circuit whether it was given as 1 or as true.
            _ => value.to_string(),
        };
        // What is refused here would be refused where it is used, and there it is not seen who gave it.
        let whole = match value.value() {
            Ok(x) if elem != Elem::Fix => {
                (x.fract() == 0.0 && x.abs() < 2f64.powi(53)).then_some(x)
            }
            Ok(x) => Some(x),
            Err(e) => return Err(self.beyond(name, &shown, e)),
        };
        let val = match (elem, whole) {
            (Elem::Fix, Some(_)) => Val::Real(value.into()),
            (Elem::Int, Some(x)) => Val::int(x as i64),
            (Elem::Bit, Some(x)) if x == 0.0 || x == 1.0 => Val::Bool(x == 1.0),
            _ => return Err(self.bad_binding(name, &shown, wanted)),
        };
        Ok((val, shown))
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// Whether a text is a whole number, however large.
fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
