//! How the library asks for a source text.

/// Why a [`Loader`] gave no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// There is no such file.
    #[error("no such file")]
    NotFound,
    /// There is one, but it cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// How the library asks for the text of an imported file or a model file: only the binary does I/O.
///
/// A closure `FnMut(&str) -> Result<String, LoadError>` is a loader.
pub trait Loader {
    /// The text of the file at `path`, as written by the user or after `use` (`dir/name.slvr`).
    ///
    /// # Errors
    ///
    /// The file does not exist or cannot be read.
    fn load(&mut self, path: &str) -> Result<String, LoadError>;
}

impl<F: FnMut(&str) -> Result<String, LoadError>> Loader for F {
    fn load(&mut self, path: &str) -> Result<String, LoadError> {
        self(path)
    }
}
