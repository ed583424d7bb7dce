//! How an aggregate is computed: what a caller of the rounds gives them, and what it gets.

use super::fill::{Filled, Role};
use super::reading::Reading;
use slvr_compiler::graph::Graph;
use std::sync::Arc;

/// Answers a question: what would be revealed of these inputs.
pub type Answers<'a, E> =
    Box<dyn Fn(&[Arc<Vec<f64>>]) -> Result<Vec<(String, Vec<f64>)>, E> + Sync + 'a>;

/// How an aggregate is computed: a predicate, in whatever arithmetic.
pub trait Rule {
    type Error;

    /// Goes over to so many clients.
    fn declare(&mut self, clients: usize) -> Result<(), Self::Error>;

    /// The predicate as it was built, for the clients that there are now.
    fn declared(&self) -> Declared<'_>;

    /// What it would reveal, in floating point and with other coins than those of the round, for other inputs in which only
    /// the updates of the malicious differ: they may ask as often as they like.
    fn ask<'a>(&'a self, round: &Step<'a>) -> Result<Answers<'a, Self::Error>, Self::Error>;

    /// How much each client's update moved the aggregate of the round that was revealed last, where that is known.
    fn influence(&self) -> Option<&[f64]> {
        None
    }

    /// What it reveals, by name.
    fn reveal(&mut self, round: &Step<'_>) -> Result<Vec<(String, Vec<f64>)>, Self::Error>;
}

/// A predicate as the rounds need it.
#[derive(Clone, Copy)]
pub struct Declared<'a> {
    pub graph: &'a Graph,
    pub roles: &'a [Role],
    pub reading: &'a Reading,
}

/// What a rule gets.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// Which round, from 0.
    pub round: usize,
    pub filled: &'a Filled,
    pub malicious: &'a [bool],
    /// Whether malicious committee members set scores.
    pub forged: bool,
    /// Validation samples of a client.
    pub samples: usize,
}
