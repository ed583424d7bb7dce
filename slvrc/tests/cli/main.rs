//! The command line from outside: the binary is started as a user starts it.
//!
//! - `explain`: its text, JSON and page.
//! - `inputs`: folders of inputs that are wrong in every way, and what is said of them.
//! - `processes`: parties as processes.
//! - `verbs`: exit statuses, `--json`, and that verbs agree with one another.
//! - `folder`: starting the binary, and writing folders of inputs.

mod explain;
mod folder;
mod inputs;
mod processes;
mod verbs;
