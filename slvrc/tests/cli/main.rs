//! The command line from outside: the binary is started as a user starts it.
//!
//! - `bench`: a tiny table as Markdown, JSON and SVG.
//! - `certify`: its text and JSON for a small folder of inputs.
//! - `deployment`: keys, three nodes, ten clients and a round, by the commands of the book.
//! - `docs`: the programs, commands and tables of the README and the book.
//! - `explain`: its text, JSON and page.
//! - `folder`: starting the binary, and writing folders of inputs.
//! - `inputs`: folders of inputs that are wrong in every way, and what is said of them.
//! - `fix`: what is written into files that somebody wrote.
//! - `lab`: the lab and the demo with a predicate and a model of the user's own.
//! - `lab_files`: the lab and the files around it.
//! - `lab_promises`: what the lab promises of predicates of one's own.
//! - `limits`: devices, pipes, full disks, control characters, wrong command lines.
//! - `lsp`: the language server, spoken to as an editor does.
//! - `mutants`: artifacts and inputs that are damaged at random.
//! - `noise`: noise that nobody knows.
//! - `npz`: inputs from NumPy, half precision, tensors that nothing reads.
//! - `numbers`: numbers of clients, and what is said of those who are left out.
//! - `operators`: the commands of the page for operators.
//! - `ports`: ports that no two tests share.
//! - `processes`: parties as processes.
//! - `schedules`: parties that are stopped, killed or disturbed at random moments of a run.
//! - `security`: `--security malicious`.
//! - `states`: states from round to round as files.
//! - `strangers`: artifacts that somebody else made.
//! - `tools`: `fmt`, `explain` of codes, `doc`, `completions`.
//! - `units`: the command line of units, containers and pods of operators, as it stands there.
//! - `verbs`: exit statuses, `--json`, and that verbs agree with one another.

mod bench;
mod certify;
mod deployment;
mod docs;
mod explain;
mod fix;
mod folder;
mod inputs;
mod lab;
mod lab_files;
mod lab_promises;
mod limits;
mod lsp;
#[cfg(unix)]
mod mutants;
mod noise;
mod npz;
mod numbers;
#[cfg(unix)]
mod operators;
mod ports;
#[cfg(unix)]
mod processes;
#[cfg(unix)]
mod schedules;
mod security;
mod states;
mod strangers;
mod tools;
#[cfg(unix)]
mod units;
mod verbs;
