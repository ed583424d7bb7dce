//! `slvrc completions`: completion scripts for shells.

use crate::fail::say;
use clap::Command;
use clap_complete::Shell;

/// Arguments.
#[derive(clap::Args)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub fn run(self, mut command: Command) -> anyhow::Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "slvrc", &mut script);
        say(&String::from_utf8_lossy(&script))
    }
}
