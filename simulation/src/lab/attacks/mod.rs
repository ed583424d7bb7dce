//! The attacks, a file each: what the malicious do, who described it, and its tests. A file is registered in [`Attack::ALL`];
//! the command line, the table of the book and the tests of all attacks follow from its `ATTACK`.

mod alie;
pub mod amplified;
mod backdoor;
mod backdoor_amplified;
mod chosen;
mod cosine;
mod cosine_long;
mod crafted;
mod dba;
mod extreme;
mod extreme_bold;
mod extreme_search;
mod fang_ball;
mod fang_bound;
mod fang_krum;
mod fang_trim;
mod flipped_validation;
mod infinite;
mod ipm;
mod label_flip;
mod mimic;
mod min_max;
mod min_sum;
mod noise;
mod not_a_number;
mod probe;
mod same_value;
mod scaling;
mod sign_flip;
mod slvr;
mod spread;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

use super::knowledge::{Knowledge, Knows};
use crate::data::Dataset;

pub use backdoor::{TARGET, triggered};
pub use chosen::{Chosen, ChosenError, Own, name_of};

/// Of each malicious client the update.
pub type Updates = fn(&Knowledge<'_>) -> Vec<Vec<f32>>;

/// Of a malicious client the validation samples, from its update and its own ones.
pub type Validation = fn(&Knowledge<'_>, &[f32], &Dataset) -> Dataset;

/// What the malicious clients do. They do as the honest where a field is `None`.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// On the command line and in tables.
    pub name: &'static str,
    /// What the malicious do, as the book says it.
    pub about: &'static str,
    pub source: &'static str,
    /// Its parameters, with their values unless others are asked for.
    pub params: &'static [(&'static str, f64)],
    /// What the malicious need to know.
    pub insight: Insight,
    /// What decides in the checks that it was made for, as the book says it. The header of such a check names it.
    pub against: &'static str,
    /// What a check must have, so that it does more than another attack.
    pub needs: Option<Needs>,
    /// What a malicious client trains on instead of its share.
    pub training: Option<fn(&Dataset, Place) -> Dataset>,
    /// Whether it trains a trigger, whose success is listed.
    pub triggers: bool,
    pub updates: Option<Updates>,
    /// What a malicious client that sends this update gives for validation instead of these samples of its own.
    pub validation: Option<Validation>,
    /// Whether malicious committee members set the scores that they give, which no client of a real run can.
    pub forges_scores: bool,
}

impl Attack {
    /// Nobody attacks: what an attack begins with, `Attack { name, updates, ..Attack::NONE }`.
    pub const NONE: Attack = Attack {
        name: "none",
        about: "nobody attacks",
        source: "",
        params: &[],
        insight: Insight::Own,
        against: "",
        needs: None,
        training: None,
        triggers: false,
        updates: None,
        validation: None,
        forges_scores: false,
    };

    /// The attacks of the lab, in the order of its tables.
    pub const ALL: &'static [&'static Attack] = &[
        &Attack::NONE,
        &noise::ATTACK,
        &sign_flip::ATTACK,
        &label_flip::ATTACK,
        &same_value::ATTACK,
        &scaling::ATTACK,
        &fang_bound::ATTACK,
        &fang_ball::ATTACK,
        &fang_trim::ATTACK,
        &fang_krum::ATTACK,
        &cosine::ATTACK,
        &cosine_long::ATTACK,
        &slvr::ATTACK,
        &extreme::ATTACK,
        &extreme_bold::ATTACK,
        &extreme_search::ATTACK,
        &crafted::ATTACK,
        &min_max::ATTACK,
        &min_sum::ATTACK,
        &alie::ATTACK,
        &ipm::ATTACK,
        &mimic::ATTACK,
        &infinite::ATTACK,
        &not_a_number::ATTACK,
        &probe::ATTACK,
        &backdoor::ATTACK,
        &backdoor_amplified::ATTACK,
        &dba::ATTACK,
        &flipped_validation::ATTACK,
    ];

    pub fn named(name: &str) -> Option<&'static Attack> {
        Attack::ALL.iter().copied().find(|a| a.name == name)
    }

    /// The search that suits every check.
    pub const SEARCH: &'static Attack = &probe::ATTACK;
}

/// Of what is known of a malicious client where it poisons its data.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub classes: usize,
    /// Which of the malicious it is, from 0.
    pub index: usize,
}

/// What the malicious need to know of the honest and of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insight {
    /// Nothing.
    Own,
    /// The parameters of the check.
    Parameters,
    /// Beside them the largest length that counts.
    Threshold,
    /// Beside them the scores of the honest models.
    Scores,
    /// Beside them the honest updates.
    Updates,
    /// The honest updates, and what the check makes of any update.
    Answers,
}

impl Insight {
    /// In a few words.
    pub fn text(self, knows: Knows) -> &'static str {
        match (knows, self) {
            (Knows::Partial, Insight::Answers) => {
                "they ask the check, with their own updates in place of the honest"
            }
            (Knows::Partial, _) => "they know the check's parameters and their own updates",
            (Knows::Full, _) => "they know everything",
            (Knows::Described, told) => told.described(),
        }
    }

    fn described(self) -> &'static str {
        match self {
            Insight::Answers => "they ask the check, and are told the honest updates",
            Insight::Own => "they know their own data and updates",
            Insight::Updates => "they know the check's parameters, and are told the honest updates",
            Insight::Parameters => "they know the check's parameters and their own updates",
            Insight::Threshold => {
                "they know the check's parameters, and are told the threshold of lengths"
            }
            Insight::Scores => {
                "they know the check's parameters, and are told the scores of the honest"
            }
        }
    }
}

/// What a check must have for an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Scores,
    Validation,
}
