//! What is said beside a result, to whoever asks for it.

use slvr_compiler::diagnostic::Diagnostic;
use slvr_compiler::source::Sources;

/// Something that the caller may want to tell its user.
#[derive(Clone, Copy, Debug)]
pub enum Note<'a> {
    /// In one line.
    Note(&'a str),
    /// In one line: what is revealed is not all that was asked for.
    Caution(&'a str),
    /// Warnings about places of a program.
    Warnings(&'a [Diagnostic], &'a Sources),
}

pub type Notes<'a> = &'a (dyn Fn(Note<'_>) + Sync);

pub fn silent(_: Note<'_>) {}
