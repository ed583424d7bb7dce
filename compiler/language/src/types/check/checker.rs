//! The state of checking one program, and how an error is recorded.

use super::value::{Between, Making, R, Reported, SizeVal, Val};
use super::world::{ItemId, World};
use crate::diagnostic::{Diagnostic, codes};
use crate::source::{Sources, Span};
use crate::types::{Definition, FnId, Function, ModelId, PartySet, Ty, Var, VarId, model::Model};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most calls one inside the other.
pub(super) const MAX_CALLS: usize = 64;

/// Most expressions one inside the other, bodies of called functions included.
pub(super) const MAX_DEPTH: usize = 1024;

/// What a function instance is made for.
pub(super) type Key = (ItemId, Vec<SizeVal>, Vec<Ty>, Vec<Option<Between>>);

/// A function or model whose body is being checked.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub item: ItemId,
    pub call: Span,
    /// Its name and sizes: `trimmed_mean[low = 1, high = 0, n = 3]`.
    pub text: String,
}

/// Adds a diagnostic unless the same was said of the same place.
pub(super) fn add(diags: &mut Vec<Diagnostic>, new: Diagnostic) {
    let key = |d: &Diagnostic| {
        d.labels.first().map(|(s, _)| (s.file, s.range())).map(|place| (d.code, place))
    };
    if !diags.iter().any(|d| key(d) == key(&new)) {
        diags.push(new);
    }
}

pub(super) struct Checker<'a> {
    pub(super) world: &'a World,
    pub(super) sources: &'a Sources,
    /// Where a file says what is bound, by name.
    pub(super) places: &'a BTreeMap<String, Span>,
    pub(super) diags: Vec<Diagnostic>,
    pub(super) parties: Vec<PartySet>,
    pub(super) models: Vec<Model>,
    pub(super) functions: Vec<Function>,
    pub(super) vars: Vec<Var>,
    /// Function instances checked so far. The map is never iterated, so its order affects no output.
    pub(super) instances: HashMap<Key, R<FnId>>,
    /// Model instances built so far; see `instances`.
    pub(super) model_instances: HashMap<(ItemId, Vec<SizeVal>), R<ModelId>>,
    /// Values of constants; see `instances`.
    pub(super) consts: HashMap<ItemId, R<Val>>,
    pub(super) stack: Vec<Frame>,
    /// How many expressions enclose the current one, bodies of called functions included.
    pub(super) depth: usize,
    /// How many `iterate`s enclose the current expression, bodies of called functions included.
    pub(super) iterations: usize,
    /// Smallest and largest entry of variables of public integers, as far as they are known, and of loop variables.
    pub(super) bounds: HashMap<VarId, Between>,
    /// Variables that are permutations of the numbers below their length.
    pub(super) orders: HashSet<VarId>,
    /// Smallest and largest entry of what functions give.
    pub(super) results_between: HashMap<FnId, Between>,
    /// The states of the predicate, and where each is stored.
    pub(super) states: Vec<(VarId, Option<Span>)>,
    /// What is known of the model that is being built.
    pub(super) making: Making,
    /// Definitions that the expression at hand needs, in order; see [`Checker::scoped`].
    pub(super) pending: Vec<Definition>,
    /// How many noises the predicate has so far.
    pub(super) noises: u32,
}

impl<'a> Checker<'a> {
    pub(super) fn new(
        world: &'a World,
        sources: &'a Sources,
        places: &'a BTreeMap<String, Span>,
    ) -> Self {
        Checker {
            world,
            sources,
            places,
            diags: Vec::new(),
            parties: Vec::new(),
            models: Vec::new(),
            functions: Vec::new(),
            vars: Vec::new(),
            instances: HashMap::new(),
            model_instances: HashMap::new(),
            consts: HashMap::new(),
            stack: Vec::new(),
            depth: 0,
            iterations: 0,
            bounds: HashMap::new(),
            orders: HashSet::new(),
            results_between: HashMap::new(),
            states: Vec::new(),
            making: Making::default(),
            pending: Vec::new(),
            noises: 0,
        }
    }

    /// Records an error. Inside an instance, labels name the calls that led to it. If the error is in the
    /// library, the label of the caller comes first.
    #[inline(never)]
    pub(super) fn fail(&mut self, mut error: Diagnostic) -> Reported {
        let mut calls: Vec<(Span, String)> = Vec::new();
        for frame in self.stack.iter().rev() {
            calls.push((frame.call, format!("in `{}`", frame.text)));
        }
        let inside = error.labels.first().is_some_and(|(s, _)| self.in_std(*s));
        let outside = calls.iter().position(|(s, _)| !self.in_std(*s));
        match outside {
            Some(i) if inside => {
                let caller = calls.remove(i);
                error.labels.insert(0, caller);
                error.labels.extend(calls.into_iter().take(i));
            }
            _ => error.labels.extend(calls.into_iter().take(3)),
        }
        add(&mut self.diags, error);
        Reported
    }

    /// Checks something inside an instance of a function, block or model.
    pub(super) fn inside<T>(
        &mut self,
        item: ItemId,
        sizes: &[SizeVal],
        call: Span,
        check: impl FnOnce(&mut Self) -> R<T>,
    ) -> R<T> {
        if self.stack.len() >= MAX_CALLS {
            return Err(self.too_deep(call));
        }
        let text = self.sized_text(&self.world.item(item), sizes);
        self.stack.push(Frame { item, call, text });
        let checked = check(self);
        self.stack.pop();
        checked
    }

    /// Reports calls or expressions that nest too deeply. The checker recurses, so the stack is the limit.
    #[cold]
    #[inline(never)]
    pub(super) fn too_deep(&mut self, span: Span) -> Reported {
        self.fail(codes::CONST_EVAL.error("calls nest too deeply").label(
            span,
            format!("{MAX_CALLS} calls or {MAX_DEPTH} expressions, one inside the other"),
        ))
    }

    /// Checks something in a scope of its own: with the definitions that it needs.
    pub(super) fn scoped<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> (T, Vec<Definition>) {
        let outer = std::mem::take(&mut self.pending);
        let result = check(self);
        (result, std::mem::replace(&mut self.pending, outer))
    }

    pub(super) fn warn(&mut self, warning: Diagnostic) {
        add(&mut self.diags, warning);
    }
}

impl Diagnostic {
    /// Records it as the reason why a check fails.
    pub(super) fn refuse<T>(self, checker: &mut Checker) -> R<T> {
        Err(checker.fail(self))
    }
}
