//! Every layer of the compiler and of `std` that PyTorch has, and the activations, against `layers.txt`: twenty inputs each.

use super::{CHECK, Reference};
use slvr_compiler::ide::library;
use slvr_compiler::syntax::ast::ItemKind;
use slvr_compiler::types::layer::LAYERS;

const OUTPUTS: &str = include_str!("../../../../predicates/models/reference/layers.txt");

/// Layers that PyTorch does not have as one: parts of others.
const PARTS: &[&str] = &["pad1d", "spread2d", "spread_columns", "spread_rows"];

/// The functions of `std` that a line applies: activations, and what puts two vectors together.
fn used(line: &str) -> String {
    let items =
        library::files().iter().filter(|f| f.name.starts_with("std/")).flat_map(|f| f.items());
    let mut names = items.filter_map(|i| match &i.item.kind {
        ItemKind::Fn(f) => Some(f.name.name.as_str()),
        _ => None,
    });
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    names.by_ref().filter(|name| words.contains(name)).collect::<Vec<_>>().join(", ")
}

fn references() -> Vec<Reference> {
    let mut all: Vec<Reference> = Vec::new();
    for line in OUTPUTS.lines().filter(|l| !l.starts_with('#')) {
        if line.starts_with("model") {
            let check = CHECK.replace("[M: model]", "").replace("RANGE", "-8..8");
            let check = check.replace("INPUTS", "-2..2").replace("M.", "Net.");
            let check = check.replace("weights M", "weights Net").replace("M(", "Net(");
            all.push(Reference {
                name: line.to_owned(),
                text: format!("use std::{{{}}};\n{line}\n{check}", used(line)),
                bindings: vec![],
                scale: 2.0,
                wanted: vec![],
            });
        } else {
            let of = &mut all.last_mut().expect("a model before its outputs").wanted;
            let outputs = line.split(' ').map(|w| w.parse().expect("a number")).collect();
            of.push((of.len() as u64, outputs));
        }
    }
    all
}

#[test]
fn floating_point_is_the_reference() {
    for reference in references() {
        assert_eq!(reference.wanted.len(), 20, "{}", reference.name);
        reference.floating();
    }
}

#[test]
fn three_parties_are_within_the_certificate() {
    for reference in references() {
        reference.parties(1);
    }
}

#[test]
fn every_layer_has_a_reference() {
    let blocks = library::files()
        .iter()
        .filter(|f| f.name.starts_with("std/layers"))
        .flat_map(|f| f.items());
    let blocks = blocks.filter_map(|i| match &i.item.kind {
        ItemKind::Block(block) => Some(block.name.name.as_str()),
        _ => None,
    });
    let all = references();
    for layer in LAYERS.iter().map(|rule| rule.name).chain(blocks) {
        let held = |r: &Reference| {
            r.name.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == layer)
        };
        let other = PARTS.contains(&layer) || layer == "identity";
        assert!(other || all.iter().any(held), "`{layer}` stands in no line of layers.py");
    }
}
