//! What arrows may not do.

use crate::resolve::Arrows;
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use std::collections::BTreeMap;
use std::path::Path;

/// Groups of files that reach each other.
pub fn circles<'a>(arrows: &Arrows<'a>) -> Vec<Vec<&'a Path>> {
    let mut graph = DiGraph::<&Path, ()>::new();
    let mut ids = BTreeMap::new();
    for (from, tos) in arrows {
        let a = *ids.entry(*from).or_insert_with(|| graph.add_node(from));
        for to in tos {
            let b = *ids.entry(*to).or_insert_with(|| graph.add_node(to));
            graph.add_edge(a, b, ());
        }
    }
    let groups = tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1);
    groups.map(|group| group.into_iter().map(|i| graph[i]).collect()).collect()
}

/// A circle with its arrows, for people.
pub fn describe(circle: &[&Path], arrows: &Arrows<'_>) -> String {
    let mut out = format!("circle of {}:", circle.len());
    for file in circle {
        let inside = arrows[file].iter().filter(|to| circle.contains(to));
        let inside: Vec<String> = inside.map(|p| p.display().to_string()).collect();
        out += &format!("\n   {} -> {}", file.display(), inside.join(" "));
    }
    out
}

/// Files below `src` that are in no room, and arrows from a room to one above it. Rooms are given from the bottom
/// to the top; the root file of the crate is above all of them.
pub fn upward(src: &Path, rooms: &[&str], arrows: &Arrows<'_>) -> Vec<String> {
    let level = |name: &str| rooms.iter().position(|r| *r == name);
    let mut wrong = Vec::new();
    for (from, tos) in arrows {
        let Some(name) = room(src, from) else { continue };
        if matches!(name, "lib" | "main") {
            continue;
        }
        let Some(here) = level(name) else {
            wrong.push(format!("{} is in no room", from.display()));
            continue;
        };
        for to in tos {
            if room(src, to).and_then(level).is_some_and(|there| there > here) {
                wrong.push(format!("up: {} -> {}", from.display(), to.display()));
            }
        }
    }
    wrong
}

/// The folder of a crate that a file is in, or the file's own name without its ending.
fn room<'a>(src: &Path, file: &'a Path) -> Option<&'a str> {
    let first = file.strip_prefix(src).ok()?.components().next()?;
    Some(first.as_os_str().to_str()?.trim_end_matches(".rs"))
}

/// The names in the section `[dependencies]` of a manifest.
pub fn dependencies(manifest: &str) -> Vec<&str> {
    let lines = manifest.lines().skip_while(|l| l.trim() != "[dependencies]").skip(1);
    let lines = lines.take_while(|l| !l.starts_with('['));
    lines.filter_map(|l| l.split(['.', '=', ' ']).next()).filter(|n| !n.is_empty()).collect()
}
