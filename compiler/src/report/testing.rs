//! Programs of tests, with their sizes and models. What is refused panics with what is said of it.

use crate::diagnostic::render::render;
use crate::pipeline::{self, Compiled};
use crate::source::{LoadError, Sources};
use crate::types::{self, Program};

pub(super) fn checked(text: &str, bound: &[(&str, &str)]) -> (Program, Sources) {
    let mut sources = Sources::new();
    let file = sources.add("a.slvr", text);
    let bindings = bound.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = types::Options { bindings, ..Default::default() };
    let mut none = |_: &str| Err(LoadError::NotFound);
    let checked = types::check(&mut sources, file, &options, &mut none)
        .unwrap_or_else(|d| panic!("{text}{}", render(&d, &sources, false)));
    (checked.program, sources)
}

pub(super) fn compiled(text: &str, bound: &[(&str, &str)]) -> (Program, Sources, Compiled) {
    let (program, sources) = checked(text, bound);
    let compiled = pipeline::compile(&program, &sources)
        .unwrap_or_else(|d| panic!("{text}{}", render(&d, &sources, false)));
    (program, sources, compiled)
}
