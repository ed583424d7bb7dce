//! The `.slvr` files that come with the compiler (the crate `slvr-predicates`): standard library, models,
//! predicates, and the parts of them that are measured.

use crate::source::{LoadError, Loader};

pub use slvr_predicates::{BENCH, GALLERY, MODELS, PREDICATES, STD, get};

/// A [`Loader`] that has the embedded files and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

impl Loader for Embedded {
    fn load(&mut self, path: &str) -> Result<String, LoadError> {
        get(path).map(str::to_owned).ok_or(LoadError::NotFound)
    }
}
