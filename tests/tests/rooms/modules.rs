//! The modules of crates: their children, the items they define, and the paths they name.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemFn, ItemImpl, ItemMod, ItemUse, Macro, Meta, UseTree, Visibility};

/// Segments of a path, as `crate`, `graph`, `Op`.
pub type Names = Vec<String>;

/// A name that a `use` makes available.
pub struct Import {
    /// The name here.
    pub alias: String,
    /// What it stands for.
    pub path: Names,
    /// Whether it is passed on with `pub use`.
    pub public: bool,
}

/// A module.
#[derive(Default)]
pub struct Module {
    /// The file that it stands in.
    pub file: PathBuf,
    /// The module around it.
    pub parent: Option<usize>,
    /// Modules inside it.
    pub children: BTreeMap<String, usize>,
    /// Names of what it defines.
    pub items: BTreeSet<String>,
    /// Names that it imports.
    pub imports: Vec<Import>,
    /// Modules that it imports with `*`, and whether it passes them on.
    pub globs: Vec<(Names, bool)>,
    /// Paths of more than one segment in its code.
    pub paths: BTreeSet<Names>,
}

/// Crates that were read.
#[derive(Default)]
pub struct Workspace {
    /// All modules of all crates.
    pub modules: Vec<Module>,
    /// The root module of each crate.
    pub crates: BTreeMap<String, usize>,
}

impl Workspace {
    /// Reads a crate from its root file.
    pub fn read(&mut self, name: &str, root: &Path) {
        let folder = root.parent().expect("a file is in a folder");
        let id = self.file(root, None, folder);
        self.crates.insert(name.to_string(), id);
    }

    /// Reads the module of a file. Files of its children are in `folder`.
    fn file(&mut self, file: &Path, parent: Option<usize>, folder: &Path) -> usize {
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        let tree = syn::parse_file(&text).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        self.module(&tree.items, file, parent, folder)
    }

    fn module(
        &mut self,
        items: &[Item],
        file: &Path,
        parent: Option<usize>,
        folder: &Path,
    ) -> usize {
        let id = self.modules.len();
        let mut module = Module { file: file.to_path_buf(), parent, ..Module::default() };
        module.items = items.iter().filter_map(defined).collect();
        items.iter().for_each(|item| module.visit_item(item));
        self.modules.push(module);
        for item in items {
            if let Item::Mod(child) = item
                && !is_test(&child.attrs)
            {
                let child_id = self.child(child, id, folder);
                self.modules[id].children.insert(child.ident.to_string(), child_id);
            }
        }
        id
    }

    fn child(&mut self, child: &ItemMod, parent: usize, folder: &Path) -> usize {
        let name = child.ident.to_string();
        let inside = folder.join(&name);
        if let Some((_, items)) = &child.content {
            let file = self.modules[parent].file.clone();
            return self.module(items, &file, Some(parent), &inside);
        }
        let flat = folder.join(format!("{name}.rs"));
        let file = if flat.exists() { flat } else { inside.join("mod.rs") };
        self.file(&file, Some(parent), &inside)
    }
}

/// The name of an item that paths can lead to.
fn defined(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Fn(i) => &i.sig.ident,
        Item::Struct(i) => &i.ident,
        Item::Enum(i) => &i.ident,
        Item::Union(i) => &i.ident,
        Item::Const(i) => &i.ident,
        Item::Static(i) => &i.ident,
        Item::Type(i) => &i.ident,
        Item::Trait(i) => &i.ident,
        Item::Macro(i) => i.ident.as_ref()?,
        // Modules are children, and the rest has no name of its own.
        _ => return None,
    };
    Some(ident.to_string())
}

/// Whether an item is there in tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| match &a.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string().replace(' ', "");
            condition == "test" || condition.starts_with("all(test,")
        }
        Meta::List(_) | Meta::NameValue(_) => false,
    })
}

/// Collects the imports and paths of a module's items.
impl Visit<'_> for Module {
    fn visit_path(&mut self, path: &syn::Path) {
        if path.segments.len() > 1 {
            self.paths.insert(path.segments.iter().map(|s| s.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    // Its own module is read with it.
    /// `pub(in path)` says who may look, and imports nothing.
    fn visit_visibility(&mut self, _: &syn::Visibility) {}

    fn visit_item_mod(&mut self, _: &ItemMod) {}

    fn visit_item_use(&mut self, item: &ItemUse) {
        if !is_test(&item.attrs) {
            let public = !matches!(item.vis, Visibility::Inherited);
            self.import(&item.tree, &[], public);
        }
    }

    fn visit_item_fn(&mut self, item: &ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &ItemImpl) {
        if !is_test(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_macro(&mut self, invocation: &Macro) {
        self.tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }
}

impl Module {
    fn import(&mut self, tree: &UseTree, prefix: &[String], public: bool) {
        let joined = |name: String| [prefix, &[name]].concat();
        let (alias, last) = match tree {
            UseTree::Path(p) => return self.import(&p.tree, &joined(p.ident.to_string()), public),
            UseTree::Group(g) => {
                return g.items.iter().for_each(|t| self.import(t, prefix, public));
            }
            UseTree::Glob(_) => return self.globs.push((prefix.to_vec(), public)),
            UseTree::Name(n) => (n.ident.to_string(), n.ident.to_string()),
            UseTree::Rename(r) => (r.rename.to_string(), r.ident.to_string()),
        };
        let import = match last.as_str() {
            // `use a::b::{self}` is `use a::b`.
            "self" if alias == "self" => {
                let alias = prefix.last().cloned().unwrap_or_default();
                Import { alias, path: prefix.to_vec(), public }
            }
            "self" => Import { alias, path: prefix.to_vec(), public },
            _ => Import { alias, path: joined(last), public },
        };
        self.imports.push(import);
    }

    /// Paths in what a macro is given, which is not parsed: names with `::` between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Names::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end_path(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(p) if p.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.end_path(&mut path);
                    self.tokens(group.stream());
                    colons = 0;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.end_path(&mut path);
                    colons = 0;
                }
            }
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Names) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.paths.insert(path);
        }
    }
}
