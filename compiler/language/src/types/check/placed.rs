//! Layers as parts of a model: their names and their parameters.

use super::checker::Checker;
use super::layers::{Builder, MAX_LAYERS, dotted};
use super::requirements::required;
use super::value::{Instance, Layer, LayerSpec, R, Reported, SpecKind};
use crate::diagnostic::codes;
use crate::syntax::ast::{ItemKind, Span};
use crate::types::model::{Param, ParamId};
use std::rc::Rc;

impl Checker<'_> {
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
        match spec.kind {
            SpecKind::Builtin(builtin) => {
                for (param, shape) in builtin.params() {
                    layer.params.push(self.param(b, dotted(name, param), shape, spec.span)?);
                }
            }
            SpecKind::Param(shape) => {
                layer.params.push(self.param(b, name.to_owned(), shape, spec.span)?);
            }
            SpecKind::Block(id, sizes) => {
                let item = self.world.item(id);
                let ItemKind::Block(block) = &item.kind else { return Err(Reported) };
                if self.stack.iter().any(|frame| frame.item == id) {
                    // Reported with the names.
                    return Err(Reported);
                }
                let of = Instance { id, block, sizes: &sizes };
                layer.inner =
                    self.inside(id, &sizes, spec.span, |this| this.place_layers(b, of, name))?;
            }
            SpecKind::Function(..) => {}
            SpecKind::List(all) => {
                for (number, spec) in all {
                    let name = match spec.kind {
                        SpecKind::Param(_) => format!("{name}{number}"),
                        _ => dotted(name, &number.to_string()),
                    };
                    let placed = self.place(b, spec, &name)?;
                    layer.inner.push((number.to_string(), Rc::new(placed)));
                }
            }
        }
        Ok(layer)
    }

    fn param(&mut self, b: &mut Builder, name: String, shape: Vec<u64>, span: Span) -> R<ParamId> {
        if !b.names.insert(name.clone()) {
            return codes::DUPLICATE
                .error(format!("two parameters of a model have the name `{name}`"))
                .label(span, "the second one")
                .hint("parameters of a list have their number behind the name of the list")
                .refuse(self);
        }
        let size = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        let offset = b.len;
        let end = size.and_then(|n| offset.checked_add(n));
        let Some(end) = end.filter(|n| *n <= super::tys::MAX_ENTRIES) else {
            return codes::SIZE
                .error("a model has at most 2^32 weights")
                .label(span, "one layer too many")
                .refuse(self);
        };
        b.len = end;
        b.params.push(Param { name, shape, offset });
        Ok(b.params.len() - 1)
    }

    /// The layers of a block or model: its own parameters first, each in the order of declaration.
    pub(super) fn place_layers(
        &mut self,
        b: &mut Builder,
        of: Instance,
        prefix: &str,
    ) -> R<Vec<(String, Rc<Layer>)>> {
        let mut env = self.sizes_env(of);
        self.requirements(&mut env, required(of.block, false))?;
        let mut specs = Vec::new();
        let mut failed = false;
        for l in &of.block.layers {
            let Some(own) = l.names.first().map(|n| &n.name) else { continue };
            match self.layer_spec(&mut env, &l.value) {
                Ok(spec) => specs.push((own, spec)),
                Err(Reported) => failed = true,
            }
        }
        // As in a PyTorch state dictionary, whatever the order of the declarations.
        specs.sort_by_key(|(_, spec)| !spec.is_param());
        let mut out = Vec::new();
        for (own, spec) in specs {
            match self.place(b, spec, &dotted(prefix, own)) {
                Ok(layer) => out.push((own.clone(), Rc::new(layer))),
                Err(Reported) => failed = true,
            }
        }
        if failed { Err(Reported) } else { Ok(out) }
    }
}
