//! `slvrc check`: parses, types and certifies a program.

use crate::fail::{say, warn};
use crate::program;
use crate::target::Target;
use serde_json::json;
use slvr_compiler::diagnostic::render;

/// Arguments.
#[derive(clap::Args)]
pub struct Check {
    #[command(flatten)]
    target: Target,
}

impl Check {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let checked = program::check(&self.target, program::Sizes::OrSmallest)?;
        // Ranges, errors and failure: what does not hold is an error with a place in the source.
        checked.compile()?;
        let p = &checked.program;
        if json {
            let warnings: Vec<_> =
                checked.warnings.iter().map(|d| render::to_json(d, &checked.sources)).collect();
            let sizes: serde_json::Map<String, serde_json::Value> =
                p.sizes.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
            let all = json!({
                "ok": true, "predicate": p.name, "sizes": sizes,
                "sizes_chosen": checked.chosen, "diagnostics": warnings,
            });
            return say(&format!("{all}\n"));
        }
        warn(&checked.warnings, &checked.sources);
        let sizes: Vec<String> = p.sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let how = if checked.chosen { " (defaults and the smallest sizes that fit)" } else { "" };
        say(&format!("{}: ok with {}{how}\n", p.name, sizes.join(" ")))
    }
}
