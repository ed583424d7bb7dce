//! An attack by its name, or a file of the user's own: a function `attack` of what the malicious know.

use crate::fail::{Usage, misuse};
use slvr::program::{self, Sizes};
use slvr::{Build, files};
use slvr_compiler::graph::build;
use slvr_compiler::noise::Words;
use slvr_compiler::source::Sources;
use slvr_compiler::syntax;
use slvr_compiler::syntax::MAX_SOURCE;
use slvr_compiler::syntax::ast::{ItemKind, Param};
use slvr_simulation::lab::attacks::{Attack, Chosen, Own};
use slvr_simulation::lab::fast::{Drawn, Fast};
use slvr_simulation::lab::knowledge::Knowledge;
use std::path::Path;
use std::sync::Arc;

/// What an attack of the user's own is called in a file.
const FUNCTION: &str = "attack";

/// What such a function may take, by the names of its parameters, with their shapes.
const KNOWN: [(&str, &str); 4] =
    [("own", "fix[n, d]"), ("honest", "fix[h, d]"), ("global", "fix[d]"), ("reference", "fix[d]")];

/// `NAME@PARAMETER=VALUE`, or `FILE.slvr@from=ROUND`.
pub fn chosen(text: &str) -> anyhow::Result<Chosen> {
    let Some(file) = file(text) else { return Ok(Chosen::parse(text)?) };
    let params = text[file.len()..].strip_prefix('@');
    let own = Own(Arc::new(function(file)?));
    let (name, own) = (text.to_string(), Some(own));
    Ok(Chosen { name, own, ..Chosen::of(&Attack::NONE) }.with(params)?)
}

/// The file of an attack of the user's own.
pub fn file(text: &str) -> Option<&str> {
    const ENDING: &str = ".slvr";
    text.find(ENDING).map(|at| &text[..at + ENDING.len()])
}

/// What a file's function sends.
fn function(
    file: &str,
) -> anyhow::Result<impl Fn(&Knowledge<'_>) -> Result<Vec<Vec<f32>>, String> + Send + Sync + 'static>
{
    let text = files::text(Path::new(file), MAX_SOURCE as u64)?;
    let mut sources = Sources::new();
    let id = sources.add(file, text.clone());
    let (tree, _) = syntax::parse(id, &text);
    let found = tree.items.into_iter().find_map(|item| match item.kind {
        ItemKind::Fn(f) if f.name.name == FUNCTION => Some(f.params),
        _ => None,
    });
    let all = KNOWN.map(|(name, shape)| format!("{name}: {shape}")).join(", ");
    let Some(params) = found else {
        misuse!("{file}: an attack is a function `{FUNCTION}` of some of {all}");
    };
    let names = params.into_iter().map(|p: Param| {
        let known = KNOWN.iter().find(|(name, _)| *name == p.name.name);
        known
            .copied()
            .ok_or_else(|| Usage(format!("{file}: nobody knows `{}`, but {all}", p.name.name)))
    });
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let inputs: String =
        names.iter().map(|(name, shape)| format!("    input {name}: public {shape};\n")).collect();
    let given: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    let whole = format!(
        "{text}\npredicate Attack[n, h, d]() {{\n    parties Server;\n{inputs}    reveal {FUNCTION}({}) to Server as sent;\n}}\n",
        given.join(", ")
    );
    let file = file.to_string();
    let built = move |n: usize, h: usize, d: usize| -> anyhow::Result<Fast> {
        let sizes = [("n", n), ("h", h), ("d", d)].map(|(name, x)| (name.into(), x.to_string()));
        let checked =
            program::check_bound(&Build::of_text(&file, &whole, sizes.to_vec()), Sizes::Required)?;
        let graph =
            build::build(&checked.program, &checked.sources).map_err(|d| checked.rejected(d))?;
        Ok(Fast::new(graph, None)?)
    };
    // What is wrong with it is said before anything runs.
    built(2, 3, 4)?;
    Ok(move |k: &Knowledge<'_>| {
        let flat = |all: &[&[f32]]| all.concat().into_iter().map(f64::from).collect::<Vec<f64>>();
        let own: Vec<&[f32]> = k.own.iter().map(Vec::as_slice).collect();
        let centre = k.centre();
        let of = |name: &str| match name {
            "own" => flat(&own),
            "honest" => flat(k.honest),
            "global" => flat(&[k.global]),
            _ => flat(&[&centre]),
        };
        let (n, h, d) = (k.own.len(), k.honest.len(), k.global.len());
        let inputs: Vec<Arc<Vec<f64>>> = names.iter().map(|(name, _)| Arc::new(of(name))).collect();
        let fast = built(n, h, d).map_err(|e| format!("{e:#}"))?;
        let drawn = Drawn { coin: &|_| Vec::new(), noise: &Words::of(0), forged: None };
        let found = fast.evaluate(&inputs, &drawn, None);
        let sent = found.map_err(|e| e.to_string())?.values.remove(0).1;
        let sent: Vec<f32> = sent.into_iter().map(|x| x as f32).collect();
        match sent.len() {
            len if len == d => Ok(vec![sent; n]),
            len if len == n * d => Ok(sent.chunks(d).map(<[f32]>::to_vec).collect()),
            len => Err(format!("it sends {len} numbers, not {d} for each or for all")),
        }
    })
}
