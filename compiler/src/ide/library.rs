//! The embedded library, parsed once.

use crate::syntax::ast::{File, FileId, Ident, Item};
use crate::syntax::{embedded, parse};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Which library an item is imported from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    Std,
    Models,
}

#[derive(Debug)]
pub struct LibraryFile {
    /// Its name: `std/stats.slvr`.
    pub name: &'static str,
    pub text: &'static str,
    /// Its tree; spans are of file 0.
    pub tree: File,
    shelf: Shelf,
}

#[derive(Clone, Copy, Debug)]
pub struct LibraryItem {
    pub file: &'static LibraryFile,
    pub item: &'static Item,
    pub name: &'static Ident,
}

/// Every file of the library, `std` first.
pub fn files() -> &'static [LibraryFile] {
    static FILES: OnceLock<Vec<LibraryFile>> = OnceLock::new();
    FILES.get_or_init(|| {
        let of = |list: &'static [(&'static str, &'static str)], shelf| {
            list.iter().map(move |(name, text)| {
                let (tree, _) = parse(FileId(0), text);
                LibraryFile { name, text, tree, shelf }
            })
        };
        of(embedded::STD, Shelf::Std).chain(of(embedded::MODELS, Shelf::Models)).collect()
    })
}

impl LibraryFile {
    /// Which library it is of.
    pub fn shelf(&self) -> Shelf {
        self.shelf
    }

    /// Its items that have names.
    pub fn items(&'static self) -> impl Iterator<Item = LibraryItem> {
        let items = self.tree.items.iter();
        items.filter_map(move |item| Some(LibraryItem { file: self, item, name: item.name()? }))
    }
}

/// What a library has under a name.
pub fn get(shelf: Shelf, name: &str) -> Option<LibraryItem> {
    static ITEMS: OnceLock<BTreeMap<(bool, &'static str), LibraryItem>> = OnceLock::new();
    let items = ITEMS.get_or_init(|| {
        let all = files().iter().flat_map(|f| f.items());
        all.map(|i| ((i.file.shelf == Shelf::Std, i.name.name.as_str()), i)).collect()
    });
    items.get(&(shelf == Shelf::Std, name)).copied()
}

/// The library that a `use` or a path names.
pub fn shelf(name: &str) -> Option<Shelf> {
    match name {
        "std" => Some(Shelf::Std),
        "models" => Some(Shelf::Models),
        _ => None,
    }
}
