//! What results are of: all that decides what a cell is. Results of something else are not gone on with.

use super::Lab;
use super::options::{self, name};
use super::results::{
    self, ALPHA, CLIENTS, DATASET, MALICIOUS, MODEL, PARAMETERS, ROUNDS, Results, SHIFT,
};
use crate::fail::misuse;
use crate::lab::sizes::Declared;
use crate::lab::{attack, data};
use anyhow::bail;
use sha2::{Digest, Sha256};
use slvr::{files, units};
use slvr_simulation::lab::world::{Source, World};
use std::collections::BTreeMap;
use std::path::Path;

impl Lab {
    /// All that decides what a cell is.
    pub(super) fn described(
        &self,
        model: &str,
        (world, source): (&World, Source<'_>),
        predicates: &[String],
    ) -> anyhow::Result<Vec<Said>> {
        let arithmetic = if self.fast { "floating point" } else { "the circuit's" };
        let runs = match self.parties_every {
            0 => "none".to_string(),
            n if n >= self.rounds => "the last round of the first seed".to_string(),
            n => format!("every {n} rounds and the last one, of the first seed"),
        };
        // A file may change between two calls.
        let mut texts = Vec::new();
        for predicate in predicates {
            texts.push(Declared::read(predicate)?.text);
        }
        for file in self.attacks.iter().filter_map(|a| attack::file(a)) {
            texts.push(files::read_text(Path::new(file), 1 << 24)?);
        }
        if let Some(file) = options::model_file(model) {
            texts.push(files::read_text(&file, 1 << 24)?);
        }
        let (data, other) = (self.dataset.as_str(), self.shift_to.as_ref().zip(source.other));
        let digest_of_data = (data != data::DIGITS).then(|| data::digest(source.data));
        let other = other.map(|(name, other)| format!("{name} {}", data::digest(other)));
        let pretrain = (self.pretrain > 0).then(|| self.pretrain.to_string());
        let shift = self.shift.map(|scenario| results::shift(&name(scenario), self.shift_every));
        let said = |label, option, value: String| (label, option, Some(value));
        Ok(vec![
            said(DATASET, "--dataset", self.dataset.clone()),
            said(MODEL, "--model", model.to_string()),
            said(CLIENTS, "--clients", self.clients.to_string()),
            said(MALICIOUS, "--malicious", world.malicious.len().to_string()),
            said("clients of a round", "--part", world.present(0).len().to_string()),
            said("knowledge", "--knowledge", self.knowledge.map(name).unwrap_or_default()),
            said(ALPHA, "--alpha", self.alpha.to_string()),
            said("partition", "--partition", name(self.partition)),
            said("samples of a client", "--samples", world.data(0, 0).len().to_string()),
            said("validation samples", "--validation", self.validation.to_string()),
            said("public samples", "--public", world.public.len().to_string()),
            said("test samples", "--test", world.tests(0)[0].len().to_string()),
            said(ROUNDS, "--rounds", self.rounds.to_string()),
            said("local epochs", "--epochs", self.epochs.to_string()),
            said("learning rate", "--rate", self.rate.to_string()),
            said("momentum", "--momentum", self.momentum.to_string()),
            said("batch", "--batch", self.batch.to_string()),
            said("arithmetic", "--fast", arithmetic.to_string()),
            said(PARAMETERS, "NAME=VALUE", units::bound(&self.given()?)),
            said("roles", "--fill", self.fill.join(" ")),
            said("aggregate", "--aggregate", self.aggregate.clone().unwrap_or_default()),
            said("runs among three parties", "--parties-every", runs),
            ("data", "the files of --dataset", digest_of_data),
            ("shifted data", "--shift-to", other),
            said("files", "the files of predicates, attacks and the model", digest(&texts)),
            ("epochs before the first round", "--pretrain", pretrain),
            (SHIFT, "--shift, --shift-every", shift),
        ])
    }

    /// With the cells that are in the folder already.
    pub(super) fn known(&self, fresh: Results, said: &[Said]) -> anyhow::Result<Results> {
        let Some(old) = Results::read(&self.out)? else { return Ok(fresh) };
        if !self.resume {
            misuse!(
                "{} has results: go on with them with --resume, or say another folder with --out",
                self.out.display()
            );
        }
        if let Some(what) = differs(&old.setting, said) {
            bail!(
                "{}: its results were made with {what}; say another folder with --out",
                self.out.display()
            );
        }
        // What was asked for earlier stays in the table.
        Ok(Results {
            last: self.last,
            cells: old.cells,
            about: old.about,
            predicates: both(old.predicates, fresh.predicates),
            attacks: both(old.attacks, fresh.attacks),
            seeds: both(old.seeds, fresh.seeds),
            setting: fresh.setting,
        })
    }
}

/// A part of the setting: its label, the option that decides it, and its value unless it plays no part.
pub(super) type Said = (&'static str, &'static str, Option<String>);

/// The setting as it is recorded.
pub(super) fn recorded(said: &[Said]) -> BTreeMap<String, String> {
    let of = |(label, _, value): &Said| Some((label.to_string(), value.clone()?));
    said.iter().filter_map(of).collect()
}

/// What old results were made with instead, if it is something else.
fn differs(old: &BTreeMap<String, String>, said: &[Said]) -> Option<String> {
    let shown = |value: Option<&String>| match value.map(String::as_str) {
        None | Some("") => "unset".to_string(),
        Some(value) => value.to_string(),
    };
    let other = said.iter().find(|(label, _, value)| old.get(*label) != value.as_ref());
    if let Some((label, option, value)) = other {
        let (old, new) = (shown(old.get(*label)), shown(value.as_ref()));
        return Some(format!("{label} {old} instead of {new} ({option})"));
    }
    let unknown = old.iter().find(|(label, _)| said.iter().all(|(known, ..)| known != label));
    unknown.map(|(label, value)| format!("{label} {value}, which this slvrc does not know"))
}

/// All of the old ones, and what is new behind them.
fn both<T: PartialEq>(mut old: Vec<T>, new: Vec<T>) -> Vec<T> {
    for n in new {
        if !old.contains(&n) {
            old.push(n);
        }
    }
    old
}

/// Says whether files are the same as in an earlier call.
fn digest(texts: &[String]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    data::short(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is only in one of the two is named, with its option.
    #[test]
    fn what_differs_is_named_whichever_side_has_it() {
        let said = |shift: Option<&str>| -> Vec<Said> {
            vec![
                (ROUNDS, "--rounds", Some("8".into())),
                (SHIFT, "--shift, --shift-every", shift.map(str::to_string)),
            ]
        };
        let (without, with) = (said(None), said(Some("joining, every 10 rounds")));
        assert_eq!(differs(&recorded(&with), &with), None);
        let left_out = "shift joining, every 10 rounds instead of unset (--shift, --shift-every)";
        assert_eq!(differs(&recorded(&with), &without).as_deref(), Some(left_out));
        let added = "shift unset instead of joining, every 10 rounds (--shift, --shift-every)";
        assert_eq!(differs(&recorded(&without), &with).as_deref(), Some(added));
        let mut later = recorded(&without);
        later.insert("new".into(), "1".into());
        let unknown = "new 1, which this slvrc does not know";
        assert_eq!(differs(&later, &without).as_deref(), Some(unknown));
    }
}
