//! What can go wrong, as callers match on it.

use slvr_compiler::diagnostic::{Diagnostic, render};
use slvr_compiler::source::Sources;
use slvr_runtime::party::RunError;
use std::fmt::{self, Display};

/// What went wrong. Its text is whole: it says where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is refused.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// What was asked for does not go with the program, or with the rest of what was asked for.
    #[error(transparent)]
    Usage(#[from] Usage),
    /// A file or a tensor is not there or not as it should be, or too few members are left.
    #[error("{0}")]
    Input(String),
    /// It takes more memory than is free.
    #[error("{0}")]
    Memory(String),
    /// The run stopped without a result.
    #[error(transparent)]
    Run(RunError),
    /// A node of a deployment does not answer, or says no.
    #[cfg(feature = "node")]
    #[error(transparent)]
    Call(Box<slvr_node::client::CallError>),
    /// A round of a deployment has ended without a result.
    #[error("{0}")]
    Aborted(String),
}

impl Error {
    /// Whether a run, or a round of a deployment, has ended without a result.
    pub fn is_aborted(&self) -> bool {
        match self {
            Error::Run(_) | Error::Aborted(_) => true,
            #[cfg(feature = "node")]
            Error::Call(e) => e.is_aborted(),
            Error::Rejected(_) | Error::Usage(_) | Error::Input(_) | Error::Memory(_) => false,
        }
    }
}

pub type Result<T> = std::result::Result<T, Error>;

#[cfg(feature = "node")]
impl From<slvr_node::client::CallError> for Error {
    fn from(error: slvr_node::client::CallError) -> Self {
        Error::Call(Box::new(error))
    }
}

impl From<RunError> for Error {
    /// Of inputs that do not fit the circuit the run has not begun.
    fn from(error: RunError) -> Self {
        match error {
            RunError::Input(e) => Error::Input(e.to_string()),
            error => Error::Run(error),
        }
    }
}

/// The diagnostics of a program that is refused. Its text is theirs, without colours.
#[derive(Debug)]
pub struct Rejected {
    pub diagnostics: Vec<Diagnostic>,
    /// What they point into.
    pub sources: Sources,
}

impl Rejected {
    /// As it is shown on a terminal.
    pub fn rendered(&self, colour: bool) -> String {
        render::render(&self.diagnostics, &self.sources, colour).trim_end().to_string()
    }
}

impl Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered(false))
    }
}

impl std::error::Error for Rejected {}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Says what an error is about.
pub(crate) trait About<T> {
    /// As an error of inputs that begins with this.
    fn about(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Display> About<T> for std::result::Result<T, E> {
    fn about(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| Error::Input(format!("{}: {e}", what())))
    }
}

/// An error of inputs.
macro_rules! refuse {
    ($($said:tt)*) => { return Err($crate::error::Error::Input(format!($($said)*))) };
}
pub(crate) use refuse;

macro_rules! misuse {
    ($($said:tt)*) => { return Err($crate::error::Usage(format!($($said)*)).into()) };
}
pub(crate) use misuse;
