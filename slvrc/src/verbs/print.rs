//! `slvrc print`: any stage as text that reads back, or as Graphviz.

use crate::fail::{misuse, print, say, say_json};
use crate::target::Target;
use clap::ValueEnum;
use serde_json::json;
use slvr::program;
use slvr_compiler::graph::Graph;
use slvr_compiler::{passes, syntax};
use std::fmt::Write;

#[derive(clap::Args)]
pub struct Print {
    #[command(flatten)]
    target: Target,
    #[arg(long, value_enum, default_value_t = Stage::Graph)]
    stage: Stage,
    /// The graph after this pass (`build` for the graph before all of them).
    #[arg(long, value_name = "PASS")]
    after: Option<String>,
    /// The graph for Graphviz.
    #[arg(long)]
    dot: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Stage {
    Ast,
    Graph,
    Circuit,
}

impl Print {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        if self.stage != Stage::Graph && (self.after.is_some() || self.dot) {
            misuse!("--after and --dot go with --stage graph");
        }
        if let Some(after) = &self.after {
            let known = after == "build" || passes::pipeline().any(|p| p.name == after);
            if !known {
                let names: Vec<&str> = passes::pipeline().map(|p| p.name).collect();
                let names = names.join(", ");
                misuse!("no pass `{after}`; there are build, {names}");
            }
        }
        let build = self.target.build()?;
        if self.stage == Stage::Ast {
            let (file, _) = program::parse(&build)?;
            return self.show(syntax::print(&file), json);
        }
        let checked = program::check(&build, program::Sizes::OrSmallest)?;
        let text = match self.stage {
            Stage::Circuit => slvr_circuit::text::print(&checked.compile(&print)?.circuit),
            _ => {
                let built = slvr_compiler::graph::build::build(&checked.program, &checked.sources)
                    .map_err(|d| checked.rejected(d))?;
                let mut chosen = built.clone();
                if self.after.as_deref() != Some("build") {
                    let mut found = false;
                    let mut see = |pass: &passes::Pass, graph: &Graph| {
                        if self.after.as_deref() == Some(pass.name) && !found {
                            chosen = graph.clone();
                            found = true;
                        }
                    };
                    // What fits no ring is printed all the same.
                    let level = checked.compile(&print).map_or(passes::Level::COARSE, |c| c.level);
                    let front = passes::unscaled(&built, &mut see);
                    let last = passes::scaled(&front, &level, &mut see);
                    let last = last.map_err(|d| checked.rejected(vec![*d]))?;
                    if self.after.is_none() {
                        chosen = last;
                    }
                }
                if self.dot { dot(&chosen) } else { slvr_compiler::graph::text::print(&chosen) }
            }
        };
        self.show(text, json)
    }

    fn show(&self, text: String, json: bool) -> anyhow::Result<()> {
        if !json {
            return say(&text);
        }
        let stage = match self.stage {
            Stage::Ast => "ast",
            Stage::Graph => "graph",
            Stage::Circuit => "circuit",
        };
        say_json(json!({ "stage": stage, "text": text }))
    }
}

fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph {\n  node [shape=box, fontname=monospace];\n");
    for id in graph.ids() {
        let node = graph.node(id);
        let _ = writeln!(
            out,
            "  n{} [label=\"{} {:?}\\n{}\"];",
            id.index(),
            node.op.name(),
            node.ty.shape,
            graph.site(id).name
        );
        for a in graph.args(id) {
            let _ = writeln!(out, "  n{} -> n{};", a.index(), id.index());
        }
    }
    for o in &graph.outputs {
        let _ =
            writeln!(out, "  \"{}\" [shape=oval]; n{} -> \"{}\";", o.name, o.node.index(), o.name);
    }
    out.push_str("}\n");
    out
}
