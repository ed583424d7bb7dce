//! `slvrc check`: parses, types and certifies a program.

use crate::fail::{say, warn};
use crate::program;
use crate::target::Target;
use serde_json::json;
use slvr_compiler::analysis::privacy::Privacy;
use slvr_compiler::cost;
use slvr_compiler::diagnostic::render;
use slvr_compiler::report::certificate::Certificate;

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
        let compiled = checked.compile()?;
        // What noise promises; of programs without noise nothing is certified here.
        let noise = Privacy::has_noise(&compiled.optimised).then(|| {
            let places = cost::places(&checked.program, &compiled.optimised, &checked.sources);
            Certificate::of(&compiled, &places).privacy
        });
        let noise = noise.flatten();
        let p = &checked.program;
        if json {
            let noise = noise.as_ref().map(|n| json!(n));
            let all = checked.warnings.iter().chain(&compiled.warnings);
            let warnings: Vec<_> = all.map(|d| render::to_json(d, &checked.sources)).collect();
            let sizes: serde_json::Map<String, serde_json::Value> =
                p.sizes.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
            let mut all = json!({
                "ok": true, "predicate": p.name, "sizes": sizes,
                "sizes_chosen": checked.chosen, "diagnostics": warnings,
            });
            if let (Some(noise), Some(all)) = (noise, all.as_object_mut()) {
                all.insert("privacy".into(), noise);
            }
            return say(&format!("{all}\n"));
        }
        warn(&checked.warnings, &checked.sources);
        let sizes: Vec<String> = p.sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let how = if checked.chosen { " (defaults and the smallest sizes that fit)" } else { "" };
        let noise = noise.iter().flat_map(|n| n.lines()).map(|line| format!("  {line}\n"));
        let noise: String = noise.collect();
        say(&format!("{}: ok with {}{how}\n{noise}", p.name, sizes.join(" ")))
    }
}
