//! Any text: the type checker does not panic, and its messages render.
#![no_main]

use libfuzzer_sys::fuzz_target;
use slvr_compiler::diagnostic::render::render;
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::types::{Options, check};

fuzz_target!(|text: &str| {
    let mut sources = Sources::new();
    let file = sources.add("fuzz.slvr", text);
    let mut none = |_: &str| Err(LoadError::NotFound);
    let options = Options { defaults: true, ..Options::default() };
    if let Err(diagnostics) = check(&mut sources, file, &options, &mut none) {
        render(&diagnostics, &sources, false);
    }
});
