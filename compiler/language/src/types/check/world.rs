//! Files as modules: which items there are and which names each file sees.

use super::imports::Imports;
use crate::diagnostic::{Diagnostic, Edit, Hint, codes, near::did_you_mean};
use crate::source::Sources;
use crate::syntax::ast::{self, FileId, Ident, Item, ItemKind, Span, UseTree};
use crate::syntax::{self, embedded};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Index of an item in [`World::items`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ItemId(pub usize);

/// An item and the module whose names it sees.
#[derive(Clone, Debug)]
pub(super) struct ItemDef {
    /// Index into [`World::modules`].
    pub module: usize,
    pub item: Rc<Item>,
}

/// A namespace: one file, or all of `std`.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    /// What names mean, own and imported.
    pub names: BTreeMap<String, ItemId>,
    /// Own items, in order.
    pub own: Vec<ItemId>,
    /// Where it imports names.
    pub imports: Imports,
}

/// Every item the compilation can see.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub items: Vec<ItemDef>,
    /// Modules; the first is `std`.
    pub modules: Vec<Module>,
    /// Embedded models by name.
    pub models: BTreeMap<String, ItemId>,
}

/// Which files of the sources the embedded ones are: spans in their items name them.
#[derive(PartialEq, Eq)]
struct Files {
    std: Vec<FileId>,
    models: Vec<FileId>,
}

/// What every program sees: the embedded files, parsed.
struct Library {
    files: Files,
    world: World,
    diags: Vec<Diagnostic>,
}

impl Library {
    fn parse(files: Files) -> Library {
        let (mut world, mut diags) = (World::default(), Vec::new());
        world.modules.push(Module::default());
        let parsed = |file: FileId, text, diags: &mut Vec<Diagnostic>| {
            let (tree, errors) = syntax::parse(file, text);
            diags.extend(errors);
            tree
        };
        for (&file, (_, text)) in files.std.iter().zip(embedded::STD) {
            let tree = parsed(file, text, &mut diags);
            world.define(STD, text, tree, &mut diags);
        }
        for (&file, (_, text)) in files.models.iter().zip(embedded::MODELS) {
            let tree = parsed(file, text, &mut diags);
            let module = world.add_file(text, tree, &mut diags);
            for &id in &world.modules[module].own {
                let item = &world.items[id.0].item;
                if let (ItemKind::Block(b), Some(name)) = (&item.kind, item.name())
                    && b.is_model
                {
                    world.models.insert(name.name.clone(), id);
                }
            }
        }
        Library { files, world, diags }
    }
}

/// The module of `std`.
pub(super) const STD: usize = 0;

/// What an item is, with an article.
pub(super) fn item_kind(item: &Item) -> &'static str {
    match &item.kind {
        ItemKind::Use(_) => "an import",
        ItemKind::Const { .. } => "a constant",
        ItemKind::Fn(_) => "a function",
        ItemKind::Block(b) if b.is_model => "a model",
        ItemKind::Block(_) => "a block",
        ItemKind::Predicate(_) => "a predicate",
    }
}

impl World {
    /// The embedded standard library and models. Their sources are added to `sources`, so that
    /// messages can show them. They are parsed once in a thread, however many programs are checked there.
    pub fn new(sources: &mut Sources, diags: &mut Vec<Diagnostic>) -> World {
        thread_local! {
            static LAST: RefCell<Option<Rc<Library>>> = const { RefCell::new(None) };
        }
        let mut add = |&(name, text): &(&str, &str)| add(sources, name, text);
        let std = embedded::STD.iter().map(&mut add).collect();
        let models = embedded::MODELS.iter().map(&mut add).collect();
        let files = Files { std, models };
        let known = LAST.with_borrow(|last| last.clone().filter(|last| last.files == files));
        let library = known.unwrap_or_else(|| {
            let library = Rc::new(Library::parse(files));
            LAST.set(Some(Rc::clone(&library)));
            library
        });
        diags.extend(library.diags.iter().cloned());
        library.world.clone()
    }

    /// A file's items as a module of their own.
    pub fn add_file(&mut self, text: &str, tree: ast::File, diags: &mut Vec<Diagnostic>) -> usize {
        let module = self.modules.len();
        self.modules.push(Module::default());
        self.define(module, text, tree, diags);
        module
    }

    /// What a name means in a module; in a block all of `std` is known without an import.
    pub fn visible(&self, module: usize, block: bool, name: &str) -> Option<ItemId> {
        let own = self.modules[module].names.get(name);
        own.or_else(|| self.modules[STD].names.get(name).filter(|_| block)).copied()
    }

    /// How something of `std` is written where `local` says whether a name is one of the scope, and what imports it if
    /// that is needed: by its name, or, where that means something else, by its path. Each fix that writes such a name
    /// asks this.
    pub fn written(
        &self,
        module: usize,
        block: bool,
        local: bool,
        name: &str,
    ) -> (String, Option<Edit>) {
        let std = self.modules[STD].names.get(name);
        match self.visible(module, block, name) {
            None if !local => {
                (name.to_owned(), Some(self.modules[module].imports.add("std", name)))
            }
            seen if !local && seen.as_ref() == std => (name.to_owned(), None),
            _ => (format!("std::{name}"), None),
        }
    }

    /// The name of an item; empty where it has none.
    pub fn name(&self, id: ItemId) -> &str {
        self.items[id.0].item.name().map_or("", |n| &n.name)
    }

    pub fn item(&self, id: ItemId) -> Rc<Item> {
        Rc::clone(&self.items[id.0].item)
    }

    /// What `std::name` or `models::name` means.
    pub fn path(&self, head: &Ident, name: &Ident) -> Result<ItemId, Diagnostic> {
        let names = match head.name.as_str() {
            "std" => &self.modules[STD].names,
            "models" => &self.models,
            _ => {
                let error = codes::UNKNOWN_IMPORT
                    .error(format!("there is no library `{}`", head.name))
                    .label(head.span, "neither `std` nor `models`");
                let here = self.modules[STD].names.contains_key(&name.name);
                return Err(error.hint(if here {
                    Hint::from(format!("write `use std::{{{}}};`", name.name))
                        .edit([Edit::replace(head.span, "std")])
                } else {
                    "functions come from `std`, models from `models`".into()
                }));
            }
        };
        names.get(&name.name).copied().ok_or_else(|| {
            // Only what is missing is compared with all that there is.
            let near = did_you_mean(&name.name, names.keys().map(String::as_str));
            let error = codes::UNKNOWN_IMPORT
                .error(format!("`{}` has no `{}`", head.name, name.name))
                .label(name.span, "not found");
            match near {
                Some(near) => error.hint(Hint::meant(name.span, near)),
                None if head.name == "models" => {
                    let all: Vec<&str> = self.models.keys().map(String::as_str).collect();
                    error.hint(format!("the models are: {}", all.join(", ")))
                }
                None => error.hint("`slvrc doc std` lists the library"),
            }
        })
    }

    fn define(&mut self, module: usize, text: &str, tree: ast::File, diags: &mut Vec<Diagnostic>) {
        let mut uses = Vec::new();
        self.modules[module].imports = Imports::of(text, &tree);
        for item in tree.items {
            if let ItemKind::Use(tree) = item.kind {
                uses.push(tree);
                continue;
            }
            let id = ItemId(self.items.len());
            let item = Rc::new(item);
            self.items.push(ItemDef { module, item: Rc::clone(&item) });
            self.modules[module].own.push(id);
            if let Some(name) = item.name() {
                self.insert(module, name, id, diags);
            }
        }
        for tree in uses {
            self.import(module, &tree, &mut Vec::new(), diags);
        }
    }

    fn insert(&mut self, module: usize, name: &Ident, id: ItemId, diags: &mut Vec<Diagnostic>) {
        let Some(&first) = self.modules[module].names.get(&name.name) else {
            self.modules[module].names.insert(name.name.clone(), id);
            return;
        };
        let before = self.item(first);
        let place = before.name().map_or(before.span, |n| n.span);
        let error = codes::DUPLICATE
            .error(format!("`{}` is defined twice", name.name))
            .label(name.span, "defined again here");
        let imported = self.items[first.0].module != self.items[id.0].module || first == id;
        let own = self.items[first.0].module == module;
        diags.push(if first == id {
            error.hint("import each name once")
        } else if imported && own {
            error
                .label(place, format!("this file has {} of this name", item_kind(&before)))
                .hint("rename yours, or leave the name out of `use`")
        } else if imported {
            error
                .label(place, format!("{} of this name is imported already", item_kind(&before)))
                .hint("leave one of them out of `use`")
        } else {
            error.label(place, "first defined here").hint("rename one of the two")
        });
        // A predicate is never called: what calls the name means what is imported.
        if own && matches!(before.kind, ItemKind::Predicate(_)) {
            self.modules[module].names.insert(name.name.clone(), id);
        }
    }

    fn import<'t>(
        &mut self,
        module: usize,
        tree: &'t UseTree,
        path: &mut Vec<&'t Ident>,
        diags: &mut Vec<Diagnostic>,
    ) {
        if let UseTree::Path(head, rest) = tree {
            path.push(head);
            return self.import(module, rest, path, diags);
        }
        let names = tree.names();
        match path.as_slice() {
            [head] => {
                for name in names {
                    match self.path(head, name) {
                        Ok(id) => self.insert(module, name, id, diags),
                        Err(error) => {
                            let unknown_library = !matches!(head.name.as_str(), "std" | "models");
                            diags.push(error);
                            if unknown_library {
                                return;
                            }
                        }
                    }
                }
            }
            [] => {
                let span = names.first().map_or(Span::default(), |n| n.span);
                let first = names.first().map_or("name", |n| n.name.as_str());
                let library = matches!(first, "std" | "models");
                let error = codes::UNKNOWN_IMPORT
                    .error("a `use` names a library and what is taken from it")
                    .label(span, if library { "what of it?" } else { "from where?" });
                diags.push(match first {
                    "std" => error.hint("write for example `use std::{norm, sum};`"),
                    "models" => error.hint("write for example `use models::{DigitsNet};`"),
                    first => {
                        let edit = Edit::replace(span, format!("std::{{{first}}}"));
                        let known = self.modules[STD].names.contains_key(first);
                        error
                            .hint(format!("write `use std::{{{first}}};`"))
                            .edit(known.then_some(edit))
                    }
                });
            }
            [head, second, ..] => diags.push(
                codes::UNKNOWN_IMPORT
                    .error(format!("`{}` has no parts", head.name))
                    .label(second.span, "one `::` too many")
                    .hint(format!("`{}` is one flat namespace: `use {0}::{{..}};`", head.name)),
            ),
        }
    }
}

/// Adds an embedded file once, however often checks run on the same sources.
fn add(sources: &mut Sources, name: &str, text: &str) -> FileId {
    match sources.find(name) {
        Some(file) if sources.text(file) == text => file,
        _ => sources.add(name, text),
    }
}
