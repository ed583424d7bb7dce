//! A small crate in a temporary folder that breaks the rules, and one that keeps them.

use crate::modules::Workspace;
use crate::rules;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Fake {
    folder: TempDir,
    workspace: Workspace,
}

impl Fake {
    /// A crate of these files.
    fn new(files: &[(&str, &str)]) -> Fake {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
            std::fs::write(path, text).expect("can be written");
        }
        let mut workspace = Workspace::default();
        workspace.read("fake", &folder.path().join("lib.rs"));
        Fake { folder, workspace }
    }

    fn name(&self, file: &Path) -> String {
        let inside: PathBuf = file.strip_prefix(self.folder.path()).expect("a file of it").into();
        inside.display().to_string()
    }

    /// Arrows as `from -> to`.
    fn arrows(&self) -> BTreeSet<String> {
        let arrows = self.workspace.arrows();
        let each = |(from, tos): (&&Path, &BTreeSet<&Path>)| -> Vec<String> {
            tos.iter().map(|to| format!("{} -> {}", self.name(from), self.name(to))).collect()
        };
        arrows.iter().flat_map(each).collect()
    }

    fn circles(&self) -> Vec<BTreeSet<String>> {
        let found = rules::circles(&self.workspace.arrows());
        found.iter().map(|c| c.iter().map(|f| self.name(f)).collect()).collect()
    }

    fn upward(&self, rooms: &[&str]) -> Vec<String> {
        let found = rules::upward(self.folder.path(), rooms, &self.workspace.arrows());
        let folder = format!("{}/", self.folder.path().display());
        found.into_iter().map(|line| line.replace(&folder, "")).collect()
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn a_circle_and_an_upward_arrow_are_found() {
    let fake = Fake::new(&[
        ("lib.rs", "mod low; mod high; mod stray;"),
        ("low/mod.rs", "mod a; mod b; use crate::high::High;"),
        ("low/a.rs", "pub struct A; fn f() -> super::b::B { todo!() }"),
        ("low/b.rs", "use super::a::A; pub struct B(A);"),
        ("high.rs", "pub struct High;"),
        ("stray.rs", "use crate::high::High;"),
    ]);
    assert_eq!(fake.circles(), [set(&["low/a.rs", "low/b.rs"])]);
    let wrong = fake.upward(&["low", "high"]);
    assert_eq!(wrong, ["up: low/mod.rs -> high.rs", "stray.rs is in no room"]);
}

#[test]
fn an_arrow_leads_to_the_file_that_defines() {
    let fake = Fake::new(&[
        ("lib.rs", "mod low; mod user; pub use low::Deep;"),
        ("low/mod.rs", "mod deep; mod wide; pub use deep::Deep as Renamed; pub use wide::*;"),
        ("low/deep.rs", "pub struct Deep; impl Deep { pub fn new() -> Deep { Deep } }"),
        ("low/wide.rs", "pub const WIDE: u8 = 0;"),
        ("user.rs", "use crate::low::{self, Renamed}; fn f() { low::WIDE; Renamed::new(); }"),
    ]);
    // Neither the crate's root nor the folder's first file stands between.
    assert_eq!(
        fake.arrows(),
        set(&["user.rs -> low/mod.rs", "user.rs -> low/deep.rs", "user.rs -> low/wide.rs"])
    );
    assert!(fake.circles().is_empty());
}

#[test]
fn arrows_in_functions_and_macros_count_and_those_of_tests_do_not() {
    let fake = Fake::new(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "pub struct A;"),
        ("b.rs", "fn f() { use crate::a::A; let _ = A; }"),
        ("c.rs", "fn f() { assert!(g(crate::a::A, \"crate::b\")); }"),
        ("d.rs", "#[cfg(test)] mod tests { use crate::a::A; } #[test] fn t() { crate::a::A; }"),
    ]);
    assert_eq!(fake.arrows(), set(&["b.rs -> a.rs", "c.rs -> a.rs"]));
}

#[test]
fn dependencies_of_a_manifest() {
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\nslvr-ring.workspace = true\n\
                    serde = \"1\"\n\n[dev-dependencies]\nslvr-runtime.workspace = true\n";
    assert_eq!(rules::dependencies(manifest), ["slvr-ring", "serde"]);
}
