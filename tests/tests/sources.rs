//! The predicates of the design are those of the compiler, byte by byte.

use slvr_compiler::syntax::embedded;
use std::path::PathBuf;

/// The design's folder beside the checkout, or where `SLVR_DESIGN` says.
fn examples() -> PathBuf {
    let design = std::env::var_os("SLVR_DESIGN").map_or_else(
        || [env!("CARGO_MANIFEST_DIR"), "..", "..", "shared", "design"].iter().collect(),
        PathBuf::from,
    );
    design.join("examples")
}

#[test]
fn examples_of_the_design_are_embedded_as_they_stand() {
    let Ok(entries) = std::fs::read_dir(examples()) else {
        eprintln!("skipped: no examples; set SLVR_DESIGN to a folder that has examples/*.slvr");
        return;
    };
    let mut compared = 0;
    for path in entries.map(|e| e.expect("a readable folder").path()) {
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
        if !name.ends_with(".slvr") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a readable example");
        // `std_stats.slvr` is `std/stats.slvr`; models are in `models/`.
        let places = [name.to_owned(), format!("models/{name}"), name.replacen('_', "/", 1)];
        let found = places.iter().find_map(|place| embedded::get(place));
        let embedded = found.unwrap_or_else(|| panic!("the compiler has no {name}"));
        assert!(embedded == text, "{name} differs");
        compared += 1;
    }
    assert!(compared >= 9, "only {compared} examples");
}
