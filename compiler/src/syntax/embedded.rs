//! The `.slvr` files that the binary carries: standard library, models, predicates, and
//! the parts of them that are measured.

use super::source::{LoadError, Loader};

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The text of an embedded file by its name, e.g. `std/stats.slvr`, `models/lenet5.slvr` or
/// `krum.slvr`.
pub fn get(name: &str) -> Option<&'static str> {
    let mut all = [STD, MODELS, PREDICATES, BENCH].into_iter().flatten();
    all.find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// A [`Loader`] that has the embedded files and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

impl Loader for Embedded {
    fn load(&mut self, path: &str) -> Result<String, LoadError> {
        get(path).map(str::to_owned).ok_or(LoadError::NotFound)
    }
}
