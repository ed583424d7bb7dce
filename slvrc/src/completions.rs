//! `slvrc completions`: completion scripts for shells.

use crate::Cli;
use crate::fail::say;
use clap::CommandFactory;
use clap_complete::Shell;

/// Arguments.
#[derive(clap::Args)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> anyhow::Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "slvrc", &mut script);
        say(&String::from_utf8_lossy(&script))
    }
}
