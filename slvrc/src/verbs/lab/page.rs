//! A page of several results: their settings, tables and plots.

use super::results::{ROUNDS, Results};
use super::{chart, heat, table};
use crate::fail::{Usage, misuse};
use anyhow::bail;
use slvr::files;
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

/// Between these marks of a page its results stand; what is around them stays.
const BEGIN: &str = "<!-- results -->";
const END: &str = "<!-- end of results -->";

/// Writes the results of the folders into a page, and their plots into a folder beside it.
pub fn write(folders: &[PathBuf], page: &Path) -> anyhow::Result<()> {
    let stem = page.file_stem().and_then(|s| s.to_str()).unwrap_or("lab").to_string();
    let beside = page.with_extension("");
    if beside == page {
        misuse!(
            "{}: give the page an ending, as in results.md: plots go into a folder of its name without it",
            page.display()
        );
    }
    files::make_folder(&beside)?;
    let (mut text, mut all) = (String::new(), Vec::new());
    for (folder, name) in folders.iter().zip(names(folders)?) {
        let Some(results) = Results::read(folder)? else {
            bail!("{}: has no results", folder.display());
        };
        let shifts = shifts(&results);
        let title = format!("Test accuracy (%) over rounds: {name}");
        let plot = format!("{name}.svg");
        files::write(&beside.join(&plot), chart::svg(&results, &title, &shifts).as_bytes())?;
        let _ = write!(text, "{}\n![{title}]({stem}/{plot})\n\n", section(&name, &results));
        all.push(results);
    }
    if let Some(map) = heat::svg(&all) {
        const HEAT: &str = "heat.svg";
        files::write(&beside.join(HEAT), map.as_bytes())?;
        let _ = write!(text, "![Accuracy under the worst attack]({stem}/{HEAT})\n\n");
    }
    let old = match page.exists() {
        true => files::text(page, 1 << 24)?,
        false => format!("# Results of the lab\n\n{BEGIN}\n{END}\n"),
    };
    let begin = old.find(BEGIN);
    // The end that belongs to the beginning.
    let end = begin.and_then(|begin| Some(begin + old[begin..].find(END)?));
    let (Some(begin), Some(end)) = (begin, end) else {
        bail!("{}: has no place for results, `{BEGIN}` and `{END}`", page.display());
    };
    let new = format!("{}{BEGIN}\n{}\n{}", &old[..begin], text.trim_end(), &old[end..]);
    Ok(files::write(page, new.as_bytes())?)
}

/// What each folder's results are called: by its last part, and by as many parts before it as tell it from the others.
fn names(folders: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    let parts = |folder: &PathBuf, n: usize| {
        let all: Vec<String> = folder
            .components()
            .filter(|c| matches!(c, Component::Normal(_)))
            .map(|c| table::plain(&c.as_os_str().to_string_lossy()))
            .collect();
        match all[all.len().saturating_sub(n)..].join("-") {
            name if name.is_empty() => "results".to_string(),
            name => name,
        }
    };
    let deepest = folders.iter().map(|f| f.components().count()).max().unwrap_or(1);
    for n in 1..=deepest.max(1) {
        let names: Vec<String> = folders.iter().map(|f| parts(f, n)).collect();
        let different: std::collections::BTreeSet<&String> = names.iter().collect();
        if different.len() == names.len() {
            return Ok(names);
        }
    }
    Err(Usage("--from: two of the folders cannot be told apart by their names".into()).into())
}

/// The rounds before which data shifted.
fn shifts(results: &Results) -> Vec<usize> {
    let every = results.shift_every().filter(|every| *every > 0);
    let both = every.zip(results.number(ROUNDS));
    both.map_or_else(Vec::new, |(every, rounds)| chart::shifts(every, rounds))
}

fn section(name: &str, results: &Results) -> String {
    let mut out = format!("### {name}\n\n");
    let seeds: Vec<String> = results.seeds.iter().map(u64::to_string).collect();
    out += "| setting | |\n|---|---|\n";
    for (name, value) in results.setting.iter().filter(|(_, v)| !v.is_empty()) {
        let _ = writeln!(out, "| {name} | {value} |");
    }
    let cells = results.predicates.len() * results.attacks.len() * results.seeds.len();
    let _ = writeln!(out, "| seeds | {} |", seeds.join(", "));
    let _ = write!(out, "| cells that are done | {} of at most {cells} |\n\n", results.cells.len());
    let table = table::table(results, true);
    let _ = write!(out, "{}\n\n{table}{}", table::measure(results), table::legend(&table));
    if let Some(backdoors) = table::backdoors(results) {
        let _ = write!(out, "\n{backdoors}");
    }
    for text in table::notes(results) {
        let _ = write!(out, "\n{text}\n");
    }
    if !results.about.is_empty() {
        let _ = write!(out, "\n{}", table::about(results));
    }
    let checks = table::checks(results);
    if checks.lines().count() > 2 {
        let _ = write!(out, "\n{checks}");
    }
    out
}
