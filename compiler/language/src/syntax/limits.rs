//! Limits that hold for every source text, so that no text can exhaust time, memory or the stack.

/// Longest source text accepted, in bytes.
pub const MAX_SOURCE: usize = 4 << 20;

/// Most messages reported for one file; a last one then says that there are more.
pub const MAX_DIAGNOSTICS: usize = 20;
