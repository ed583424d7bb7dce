//! `slvrc completions`: completion scripts for shells.

use crate::fail::{say, say_json};
use clap::Command;
use clap_complete::Shell;
use serde_json::json;

#[derive(clap::Args)]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(self, mut command: Command, json: bool) -> anyhow::Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "slvrc", &mut script);
        let script = String::from_utf8_lossy(&script);
        if json { say_json(json!({ "script": script })) } else { say(&script) }
    }
}
