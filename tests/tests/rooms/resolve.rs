//! From paths to the files they lead to.

use crate::modules::{Import, Workspace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The files that each file imports from.
pub type Arrows<'a> = BTreeMap<&'a Path, BTreeSet<&'a Path>>;

/// Most re-exports that one path goes through: more are a circle of `pub use`.
const DEPTH: usize = 16;

impl Workspace {
    /// Arrows between files. What a file only passes on with `pub use` is no arrow.
    pub fn arrows(&self) -> Arrows<'_> {
        let mut arrows = Arrows::new();
        for (id, module) in self.modules.iter().enumerate() {
            let imports = module.imports.iter().filter(|i| !i.public).map(|i| &i.path);
            let globs = module.globs.iter().filter(|(_, public)| !public).map(|(path, _)| path);
            for path in imports.chain(globs).chain(&module.paths) {
                let Some(to) = self.resolve(id, path, DEPTH) else { continue };
                let to = self.modules[to].file.as_path();
                if to != module.file {
                    arrows.entry(&module.file).or_default().insert(to);
                }
            }
        }
        arrows
    }

    /// The module that defines what a path names, seen from the module `at`; `None` if it is not of this
    /// workspace.
    fn resolve(&self, at: usize, path: &[String], depth: usize) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        let module = &self.modules[at];
        // `use circuit::circuit` would lead to itself.
        let other = |i: &&Import| i.alias == *first && i.path.first() != Some(first);
        let start = match first.as_str() {
            "crate" => self.root(at),
            "self" => at,
            "super" => module.parent?,
            name => match module.children.get(name) {
                Some(&child) => child,
                None => match module.imports.iter().find(other) {
                    Some(i) => return self.resolve(at, &[&i.path, rest].concat(), depth),
                    None => *self.crates.get(name)?,
                },
            },
        };
        self.inside(start, rest, depth)
    }

    /// The module that defines what the rest of a path names inside the module `at`.
    fn inside(&self, at: usize, path: &[String], depth: usize) -> Option<usize> {
        let Some((next, rest)) = path.split_first() else { return Some(at) };
        let module = &self.modules[at];
        if next == "super" {
            return self.inside(module.parent?, rest, depth);
        }
        if let Some(&child) = module.children.get(next) {
            return self.inside(child, rest, depth);
        }
        if module.items.contains(next) {
            return Some(at);
        }
        if let Some(import) = module.imports.iter().find(|i| i.alias == *next) {
            return self.resolve(at, &[&import.path, rest].concat(), depth);
        }
        for (glob, _) in &module.globs {
            if let Some(to) = self.resolve(at, glob, depth)
                && to != at
                && self.modules[to].items.contains(next)
            {
                return Some(to);
            }
        }
        Some(at)
    }

    /// The root module of a module's crate.
    fn root(&self, mut id: usize) -> usize {
        while let Some(parent) = self.modules[id].parent {
            id = parent;
        }
        id
    }
}
