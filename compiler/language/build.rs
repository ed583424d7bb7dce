//! Generates the parser from the grammar.

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest directory")?);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/syntax/grammar.lalrpop");
    lalrpop::Configuration::new()
        .set_in_dir(manifest.join("src/syntax"))
        .set_out_dir(out.join("syntax"))
        .process()?;
    Ok(())
}
