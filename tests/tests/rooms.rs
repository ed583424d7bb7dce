//! Rooms import rooms above them in the table of their crate's `lib.rs`, and every room stands in it. Cargo keeps the
//! crates in order. A map of files, wherever one stands, names all that are beside it.

use std::path::{Path, PathBuf};

/// Folders of crates with rooms.
const CRATES: [&str; 9] = [
    "circuit",
    "compiler/language",
    "compiler/graph",
    "compiler/backend",
    "compiler",
    "runtime",
    "simulation",
    "node",
    "slvr",
];

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What is in a folder, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<PathBuf> = all.map(|entry| entry.expect("an entry").path()).collect();
    all.sort();
    all
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Files of a room that are no tests.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        return entries(path)
            .iter()
            .filter(|p| stem(p) != "tests")
            .flat_map(|p| files(p))
            .collect();
    }
    let is_code = path.extension().is_some_and(|e| e == "rs");
    is_code.then(|| path.to_path_buf()).into_iter().collect()
}

/// The rooms that a file's code names, without its comments and its tests.
fn named(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let after = code.split("crate::").skip(1);
    let word = |rest: &str| -> String {
        rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let names = after.flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => {
            let list = list.split('}').next().unwrap_or_default();
            list.split(',').map(|name| word(name.trim())).collect()
        }
        None => vec![word(rest)],
    });
    names.collect()
}

/// What is wrong with the rooms of a crate.
fn wrong(krate: &str, src: &Path) -> Vec<String> {
    let library = read(&src.join("lib.rs"));
    let rows = library.lines().filter_map(|line| line.strip_prefix("//! |"));
    let named_first = rows.filter_map(|row| row.split('|').find(|cell| cell.contains('`')));
    let rooms: Vec<&str> =
        named_first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let place = |room: &str| rooms.iter().position(|r| *r == room);
    let mut wrong = Vec::new();
    let is_room =
        |name: &str| !matches!(name, "lib" | "tests" | "testing") && !name.ends_with("_tests");
    for path in entries(src).into_iter().filter(|p| is_room(&stem(p))) {
        let room = stem(&path);
        let Some(own) = place(&room) else {
            wrong.push(format!("{krate}: `{room}` is not in the table of lib.rs"));
            continue;
        };
        for file in files(&path) {
            let text = read(&file);
            // At the top, what is above a file is the crate.
            let text = if path.is_dir() { text } else { text.replace("super::", "crate::") };
            let names = named(&text);
            let below = names.iter().filter(|name| place(name).is_some_and(|at| at > own));
            wrong.extend(below.map(|name| format!("{}: imports `{name}`", file.display())));
        }
    }
    wrong
}

#[test]
fn rooms_import_those_above_them() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of the workspace");
    let all = CRATES.map(|krate| wrong(krate, &top.join(krate).join("src")));
    let wrong = all.concat().join("\n").replace(&format!("{}/", top.display()), "");
    assert!(wrong.is_empty(), "{wrong}");
}

/// The order is read from code, also from lists, and neither from comments nor from tests.
#[test]
fn what_a_file_names_is_found() {
    let text = "use crate::upper::Thing;\n// crate::comment\nuse crate::{one, two::Three};\n\
                #[cfg(test)]\nmod tests {\n    use crate::tests_only;\n}\n";
    assert_eq!(named(text), ["upper", "one", "two"]);
}

/// What the map at the head of a file names, if it has one: the first column of a table of files or modules, or the second where the
/// first says what they are about.
fn mapped(text: &str) -> Option<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.split('|').skip(1).map(|cell| cell.trim().to_string()).collect()
    };
    let mut lines = text.lines().skip_while(|line| !line.starts_with("//! |"));
    let of = loop {
        let head = cells(lines.next()?);
        let is_file = |cell: &String| matches!(cell.as_str(), "file" | "files" | "module");
        if let Some(of) = head.iter().take(2).position(is_file) {
            break of;
        }
    };
    let rows = lines.take_while(|line| line.starts_with("//! |")).map(cells);
    let names = rows.filter_map(|row| row.into_iter().nth(of)).flat_map(|cell| {
        cell.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>()
    });
    Some(names.map(|name| name.trim_end_matches(".rs").trim_end_matches('/').to_string()).collect())
}

/// What is wrong with the maps in a folder and below.
fn unmapped(folder: &Path, wrong: &mut Vec<String>) {
    let all = entries(folder);
    let heads = ["mod", "lib", "main"];
    for head in
        heads.map(|name| folder.join(name).with_extension("rs")).iter().filter(|p| p.is_file())
    {
        let text = read(head);
        let Some(names) = mapped(&text) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        let is_test = |name: &str| {
            let is = |pair: &[&str]| {
                pair[0] == "#[cfg(test)]" && pair[1].ends_with(&format!("mod {name};"))
            };
            lines.windows(2).any(is)
        };
        for path in all.iter().filter(|p| !files(p).is_empty()) {
            let name = stem(path);
            let aside =
                heads.contains(&name.as_str()) || name.ends_with("_tests") || is_test(&name);
            if !aside && !names.contains(&name) && name != "testing" {
                wrong.push(format!("{}: `{name}` is not in the map", head.display()));
            }
        }
        for name in names.iter().filter(|name| !name.starts_with("slvr_")) {
            if !all.iter().any(|path| stem(path) == *name || path.ends_with(name)) {
                wrong.push(format!("{}: there is no `{name}`", head.display()));
            }
        }
    }
    all.iter().filter(|p| p.is_dir()).for_each(|p| unmapped(p, wrong));
}

#[test]
fn maps_name_the_files_beside_them() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of the workspace");
    let mut wrong = Vec::new();
    for krate in CRATES.into_iter().chain(["ring", "slvrc", "tests"]) {
        for part in ["src", "tests"].map(|part| top.join(krate).join(part)) {
            if part.is_dir() {
                unmapped(&part, &mut wrong);
            }
        }
    }
    let wrong = wrong.join("\n").replace(&format!("{}/", top.display()), "");
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_a_map_names_is_found() {
    let map = "//! A room.\n//!\n//! | file | does |\n//! |---|---|\n//! | `a.rs`, `b/` | this |\n//! | `c` | that |\n//!\nmod a;";
    assert_eq!(mapped(map).expect("a map"), ["a", "b", "c"]);
    assert_eq!(
        mapped("//! | about | files |\n//! |---|---|\n//! | x `y` | `d` |\n").expect("a map"),
        ["d"]
    );
    assert_eq!(mapped("//! | name | value |\n//! |---|---|\n//! | `a` | 1 |\n"), None);
}
