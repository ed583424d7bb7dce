//! Which file of the workspace imports which: no circle of files anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::Visit;
use syn::{Attribute, Item, UseTree, Visibility};

/// A module: the file that it stands in, its children, and what it passes on.
#[derive(Default)]
struct Module {
    file: PathBuf,
    children: BTreeMap<String, usize>,
    parent: Option<usize>,
    /// Names made available by `use`, as paths: (alias, path). Public ones are passed on.
    uses: Vec<(String, Vec<String>, bool)>,
    /// Public globs.
    globs: Vec<(Vec<String>, bool)>,
    /// All other qualified paths.
    paths: BTreeSet<Vec<String>>,
    items: BTreeSet<String>,
}

#[derive(Default)]
struct Workspace {
    modules: Vec<Module>,
    crates: BTreeMap<String, usize>,
}

fn is_test(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|a| {
        let text = match &a.meta {
            syn::Meta::List(l) => l.tokens.to_string(),
            _ => String::new(),
        };
        a.path().is_ident("test") || a.path().is_ident("cfg") && text == "test"
    })
}

struct Paths<'a>(&'a mut BTreeSet<Vec<String>>);

impl Visit<'_> for Paths<'_> {
    fn visit_path(&mut self, path: &syn::Path) {
        if path.segments.len() > 1 {
            self.0.insert(path.segments.iter().map(|s| s.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, _: &syn::ItemMod) {}

    fn visit_item_use(&mut self, _: &syn::ItemUse) {}

    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_impl(self, item);
        }
    }
}

fn flatten(tree: &UseTree, prefix: &[String], public: bool, module: &mut Module) {
    let join = |name: &dyn ToString| [prefix, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(p) => flatten(&p.tree, &join(&p.ident), public, module),
        UseTree::Name(n) if n.ident == "self" => {
            let alias = prefix.last().cloned().unwrap_or_default();
            module.uses.push((alias, prefix.to_vec(), public));
        }
        UseTree::Name(n) => module.uses.push((n.ident.to_string(), join(&n.ident), public)),
        UseTree::Rename(r) if r.ident == "self" => {
            module.uses.push((r.rename.to_string(), prefix.to_vec(), public));
        }
        UseTree::Rename(r) => module.uses.push((r.rename.to_string(), join(&r.ident), public)),
        UseTree::Glob(_) => module.globs.push((prefix.to_vec(), public)),
        UseTree::Group(g) => g.items.iter().for_each(|t| flatten(t, prefix, public, module)),
    }
}

impl Workspace {
    fn read(&mut self, file: &Path, parent: Option<usize>, dir: &Path) -> usize {
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        let tree = syn::parse_file(&text).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        self.module(&tree.items, file, parent, dir)
    }

    fn module(&mut self, items: &[Item], file: &Path, parent: Option<usize>, dir: &Path) -> usize {
        let id = self.modules.len();
        self.modules.push(Module { file: file.to_path_buf(), parent, ..Module::default() });
        for item in items {
            let name = match item {
                Item::Fn(i) => Some(i.sig.ident.to_string()),
                Item::Struct(i) => Some(i.ident.to_string()),
                Item::Enum(i) => Some(i.ident.to_string()),
                Item::Const(i) => Some(i.ident.to_string()),
                Item::Static(i) => Some(i.ident.to_string()),
                Item::Type(i) => Some(i.ident.to_string()),
                Item::Trait(i) => Some(i.ident.to_string()),
                Item::Macro(i) => i.ident.as_ref().map(ToString::to_string),
                _ => None,
            };
            self.modules[id].items.extend(name);
            match item {
                Item::Mod(m) if !is_test(&m.attrs) => {
                    let name = m.ident.to_string();
                    let child = match &m.content {
                        Some((_, items)) => self.module(items, file, Some(id), &dir.join(&name)),
                        None => {
                            let flat = dir.join(format!("{name}.rs"));
                            let nested = dir.join(&name).join("mod.rs");
                            let at = if flat.exists() { flat } else { nested };
                            self.read(&at, Some(id), &dir.join(&name))
                        }
                    };
                    self.modules[id].children.insert(name, child);
                }
                Item::Use(u) if !is_test(&u.attrs) => {
                    let public = !matches!(u.vis, Visibility::Inherited);
                    flatten(&u.tree, &[], public, &mut self.modules[id]);
                }
                _ => {}
            }
        }
        let mut paths = BTreeSet::new();
        items.iter().for_each(|i| Paths(&mut paths).visit_item(i));
        self.modules[id].paths = paths;
        id
    }

    fn root(&self, mut id: usize) -> usize {
        while let Some(p) = self.modules[id].parent {
            id = p;
        }
        id
    }

    /// The module in which what a path names is defined, seen from module `at`.
    fn resolve(&self, at: usize, path: &[String], depth: usize) -> Option<usize> {
        let (first, mut rest) = path.split_first()?;
        let m = &self.modules[at];
        let mut here = match first.as_str() {
            "crate" => self.root(at),
            "self" => at,
            "super" => m.parent?,
            name => {
                if let Some(&c) = m.children.get(name) {
                    c
                } else if let Some((_, p, _)) =
                    m.uses.iter().find(|(a, p, _)| a == name && p[0] != *name)
                {
                    if depth > 8 {
                        return None;
                    }
                    return self.resolve(at, &[p.as_slice(), rest].concat(), depth + 1);
                } else {
                    *self.crates.get(name)?
                }
            }
        };
        loop {
            let Some((next, tail)) = rest.split_first() else { return Some(here) };
            let m = &self.modules[here];
            if next == "super" {
                here = m.parent?;
            } else if let Some(&c) = m.children.get(next) {
                here = c;
            } else if m.items.contains(next) {
                return Some(here);
            } else if let Some((_, p, _)) = m.uses.iter().find(|(a, _, _)| a == next) {
                if depth > 8 {
                    return None;
                }
                return self.resolve(here, &[p.as_slice(), tail].concat(), depth + 1);
            } else {
                for (glob, _) in &m.globs {
                    let to = self.resolve(here, glob, depth + 1)?;
                    if to != here && self.modules[to].items.contains(next) {
                        return Some(to);
                    }
                }
                return Some(here);
            }
            rest = tail;
        }
    }

    /// Arrows between files, without re-exports.
    fn arrows(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let mut arrows: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for (id, m) in self.modules.iter().enumerate() {
            let private = m.uses.iter().filter(|(_, _, public)| !public).map(|(_, p, _)| p);
            let globs = m.globs.iter().filter(|(_, public)| !public).map(|(p, _)| p);
            for path in private.chain(globs).chain(&m.paths) {
                let Some(to) = self.resolve(id, path, 0) else { continue };
                let (from, to) = (m.file.as_path(), self.modules[to].file.as_path());
                if from != to {
                    arrows.entry(from).or_default().insert(to);
                }
            }
        }
        arrows
    }
}

fn workspace() -> Workspace {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut w = Workspace::default();
    // Below before above: a crate's arrows lead to those before it.
    for (name, root) in [
        ("slvr_circuit", "circuit/src/lib.rs"),
        ("slvr_predicates", "predicates/src/lib.rs"),
        ("slvr_ring", "ring/src/lib.rs"),
        ("slvr_runtime", "runtime/src/lib.rs"),
        ("slvr_compiler", "compiler/src/lib.rs"),
        ("slvr_simulation", "simulation/src/lib.rs"),
        ("slvrc", "slvrc/src/main.rs"),
    ] {
        let file = top.join(root);
        let dir = file.parent().expect("a folder").to_path_buf();
        let id = w.read(&file, None, &dir);
        w.crates.insert(name.to_string(), id);
    }
    w
}

/// Files that reach each other.
fn circles<'a>(arrows: &BTreeMap<&'a Path, BTreeSet<&'a Path>>) -> Vec<Vec<&'a Path>> {
    let mut graph = petgraph::graph::DiGraph::<&Path, ()>::new();
    let mut ids = BTreeMap::new();
    for (from, tos) in arrows {
        let a = *ids.entry(*from).or_insert_with(|| graph.add_node(from));
        for to in tos {
            let b = *ids.entry(*to).or_insert_with(|| graph.add_node(to));
            graph.add_edge(a, b, ());
        }
    }
    let found = petgraph::algo::tarjan_scc(&graph);
    let circle = |c: &Vec<_>| c.len() > 1;
    found.into_iter().filter(circle).map(|c| c.into_iter().map(|i| graph[i]).collect()).collect()
}

/// Rooms of the compiler, from the bottom to the top: an arrow leads down.
const COMPILER: [&str; 13] = [
    "source",
    "diagnostic",
    "syntax",
    "types",
    "graph",
    "analysis",
    "passes",
    "cost",
    "lower",
    "schedule",
    "pipeline",
    "report",
    "ide",
];

/// Rooms of the runtime.
const RUNTIME: [&str; 5] = ["share", "link", "protocol", "clear", "party"];

fn below(
    top: &Path,
    root: &str,
    rooms: &[&str],
    arrows: &BTreeMap<&Path, BTreeSet<&Path>>,
) -> Vec<String> {
    let room = |file: &Path| {
        let inside = file.strip_prefix(top.join(root)).ok()?;
        let first =
            inside.components().next()?.as_os_str().to_str()?.trim_end_matches(".rs").to_string();
        Some((rooms.iter().position(|r| *r == first), first))
    };
    let mut wrong = Vec::new();
    for (from, tos) in arrows {
        let Some((a, name)) = room(from) else { continue };
        if a.is_none() && name != "lib" {
            wrong.push(format!("{} is in no room", from.display()));
        }
        for to in tos {
            if let (Some(a), Some((Some(b), _))) = (a, room(to))
                && b > a
            {
                wrong.push(format!("up: {} -> {}", from.display(), to.display()));
            }
        }
    }
    wrong
}

#[test]
fn files_form_no_circle() {
    let w = workspace();
    let arrows = w.arrows();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    for line in below(top, "compiler/src", &COMPILER, &arrows).into_iter().chain(below(
        top,
        "runtime/src",
        &RUNTIME,
        &arrows,
    )) {
        println!("{line}");
    }
    for circle in circles(&arrows) {
        println!("circle of {}:", circle.len());
        for file in &circle {
            let inside: Vec<_> = arrows[file]
                .iter()
                .filter(|t| circle.contains(t))
                .map(|p| p.display().to_string())
                .collect();
            println!("   {} -> {}", file.display(), inside.join(" "));
        }
    }
}
