//! Writes the table of `.slvr` files: one sorted list of (name, text) per folder, so that a new file in a
//! folder is in the next build without a list to keep.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest directory")?);
    println!("cargo::rerun-if-changed=build.rs");
    let mut code = String::new();
    for (list, folder, doc) in [
        ("STD", "std/", "The standard library."),
        ("MODELS", "models/", "The models."),
        ("PREDICATES", "", "The predicates, one check each."),
        ("GALLERY", "gallery/", "Checks from the literature, beside [`PREDICATES`]."),
        ("BENCH", "bench/", "What `slvrc bench` measures beside the predicates, and a model."),
    ] {
        let dir = root.join(folder);
        println!("cargo::rerun-if-changed={}", dir.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&dir)? {
            let name = entry?.file_name().into_string().map_err(|_| "a name is not UTF-8")?;
            if name.ends_with(".slvr") {
                names.push(name);
            }
        }
        names.sort();
        code += &format!(
            "/// {doc} Sorted pairs of name and text.\npub const {list}: &[(&str, &str)] = &[\n"
        );
        for name in names {
            let path = dir.join(&name);
            code += &format!("    ({:?}, include_str!({path:?})),\n", format!("{folder}{name}"));
        }
        code += "];\n";
    }
    fs::write(out.join("embedded.rs"), code)?;
    Ok(())
}
