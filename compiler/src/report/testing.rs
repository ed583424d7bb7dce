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

/// A deterministic source of numbers.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn of(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.below(1);
        random
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }
}

/// A number that somebody who runs the tests has set.
pub(super) fn setting(name: &str, or: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(or)
}
