//! What results are of: all that decides what a cell is. Results of something else are not gone on with.

use super::results::Results;
use super::{Lab, options};
use crate::fail::misuse;
use crate::lab::sizes::Declared;
use crate::lab::{attack, data};
use anyhow::bail;
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
    ) -> anyhow::Result<BTreeMap<String, String>> {
        let arithmetic = if self.fast { "floating point" } else { "the circuit's" };
        let runs = match self.parties_every {
            0 => "none".to_string(),
            n if n >= self.rounds => "the last round of the first seed".to_string(),
            n => format!("every {n} rounds and the last one, of the first seed"),
        };
        let mut all = vec![
            ("dataset", self.dataset.clone()),
            ("model", model.to_string()),
            ("clients", self.clients.to_string()),
            ("malicious", world.malicious.len().to_string()),
            ("clients of a round", world.present(0).len().to_string()),
            ("knowledge", self.knowledge.clone().unwrap_or_default()),
            ("alpha", self.alpha.to_string()),
            ("partition", self.partition.clone()),
            ("samples of a client", world.data(0, 0).len().to_string()),
            ("validation samples", self.validation.to_string()),
            ("public samples", world.public.len().to_string()),
            ("test samples", world.tests(0)[0].len().to_string()),
            ("rounds", self.rounds.to_string()),
            ("local epochs", self.epochs.to_string()),
            ("learning rate", self.rate.to_string()),
            ("momentum", self.momentum.to_string()),
            ("batch", self.batch.to_string()),
            ("arithmetic", arithmetic.to_string()),
            ("parameters", units::bound(&self.given()?)),
            ("roles", self.fill.join(" ")),
            ("aggregate", self.aggregate.clone().unwrap_or_default()),
            ("runs among three parties", runs),
        ];
        // A file may change between two calls.
        let mut texts = Vec::new();
        for name in predicates {
            texts.push(Declared::read(name)?.text);
        }
        for file in self.attacks.iter().filter_map(|a| attack::file(a)) {
            texts.push(files::read_text(Path::new(file), 1 << 24)?);
        }
        if let Some(file) = options::model_file(model) {
            texts.push(files::read_text(&file, 1 << 24)?);
        }
        if self.dataset != data::DIGITS {
            all.push(("data", data::digest(source.data)));
        }
        if let (Some(name), Some(other)) = (&self.shift_to, source.other) {
            all.push(("shifted data", format!("{name} {}", data::digest(other))));
        }
        all.push(("files", digest(&texts)));
        if self.pretrain > 0 {
            all.push(("epochs before the first round", self.pretrain.to_string()));
        }
        if let Some(shift) = &self.shift {
            all.push(("shift", format!("{shift}, every {} rounds", self.shift_every)));
        }
        Ok(all.into_iter().map(|(n, v)| (n.to_string(), v)).collect())
    }

    /// With the cells that are in the folder already.
    pub(super) fn known(&self, fresh: Results) -> anyhow::Result<Results> {
        let Some(old) = Results::read(&self.out)? else { return Ok(fresh) };
        if !self.resume {
            misuse!(
                "{} has results: go on with them with --resume, or say another folder with --out",
                self.out.display()
            );
        }
        if old.setting != fresh.setting {
            let other = fresh.setting.iter().find(|(n, v)| old.setting.get(*n) != Some(v));
            let what = other.map_or("another setting".into(), |(n, v)| {
                let said = |v: Option<&String>| match v.map(String::as_str) {
                    None | Some("") => "unset".to_string(),
                    Some(v) => v.to_string(),
                };
                format!("{n} {} instead of {}", said(old.setting.get(n)), said(Some(v)))
            });
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
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.finalize()[..8].iter().map(|b| format!("{b:02x}")).collect()
}
