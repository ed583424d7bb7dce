//! Any text: the lexer and parser do not panic; what parses prints to text that parses to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use slvr_compiler::syntax::{ast::FileId, parse, print};

fuzz_target!(|text: &str| {
    let (tree, wrong) = parse(FileId::default(), text);
    if wrong.is_empty() {
        let (again, wrong) = parse(FileId::default(), &print(&tree));
        assert!(wrong.is_empty());
        assert_eq!(tree, again);
    }
});
