//! A predicate that is put to the test, and the model that it is about.

use super::sizes::{self, Declared};
use crate::fail::{misuse, print};
use anyhow::{Context, anyhow, bail};
use slvr::Build;
use slvr::program::{self, Checked, Sizes};
use slvr_circuit::{Circuit, Security};
use slvr_compiler::cost;
use slvr_compiler::graph::build;
use slvr_compiler::report::certificate::Certificate;
use slvr_simulation::data::Dataset;
use slvr_simulation::lab::attacks::{Attack, Needs};
use slvr_simulation::lab::fast::{Fast, Influence};
use slvr_simulation::lab::fill::{self, ModelShape, Role};
use slvr_simulation::lab::reading::{How, Reading};
use slvr_simulation::net::{BATCH, Net, PROGRAM};
use std::collections::BTreeMap;
use std::sync::OnceLock;

pub struct Trained {
    pub net: Net,
    /// As inputs are filled.
    pub shape: ModelShape,
}

/// A model by what `M=` takes: a name, or `path/to/file.slvr:Name`.
pub fn model(name: &str) -> anyhow::Result<Trained> {
    let bindings = vec![("M".into(), name.to_string()), ("b".into(), BATCH.to_string())];
    let build = Build::of_text("train.slvr", PROGRAM, bindings);
    let checked =
        program::check_bound(&build, Sizes::Required).with_context(|| format!("--model {name}"))?;
    let Some(model) = checked.program.models.first() else { bail!("`{name}` is no model") };
    let net = Net::of(&checked.program, &checked.sources)?;
    let shape = fill::model_shape(&net, model);
    Ok(Trained { net, shape })
}

#[derive(Clone)]
pub struct Bound {
    /// What `M=` is bound to.
    pub model: String,
    /// The model as inputs are filled.
    pub shape: ModelShape,
    /// How many clients are assumed to be malicious.
    pub corrupt: u64,
    /// Validation samples.
    pub samples: u64,
    /// What one of the three parties may do.
    pub security: Security,
    /// What the user binds; it comes first.
    pub given: Vec<(String, String)>,
    /// Roles of inputs that the user names.
    pub roles: BTreeMap<String, Role>,
    /// What the user says is the aggregate: `NAME` or `NAME/DIVISOR`.
    pub aggregate: Option<String>,
    /// Samples to try out with what reveals mean.
    pub sample: Dataset,
}

/// A predicate for a number of clients.
pub struct Subject {
    /// In floating point.
    pub fast: Fast,
    pub roles: Vec<Role>,
    /// Its parameters and sizes, as far as they are numbers.
    params: BTreeMap<String, f64>,
    pub reading: Reading,
    /// Whether the user said so.
    pub said: bool,
    /// The attacks that its header names: their closed forms know its parameters by name.
    pub closed: Vec<&'static Attack>,
    /// What all its sizes and parameters are bound to.
    pub sizes: Vec<(String, String)>,
    checked: Checked,
    compiled: OnceLock<Result<Compiled, String>>,
}

pub struct Compiled {
    pub circuit: Circuit,
    /// What is proven of each reveal.
    pub reveals: Vec<Proven>,
}

/// By how much the result of a run may differ from the program.
#[derive(Clone, Debug)]
pub struct Proven {
    pub name: String,
    /// On the inputs as they are encoded.
    pub error: f64,
    /// What rounding the inputs adds.
    pub rounding: f64,
    /// How wide the interval is that it lies in: an error as wide says nothing.
    pub width: f64,
}

impl Subject {
    /// Binds and checks a predicate: a file, or the name of one that comes with slvrc; `@NAME=VALUE` behind it binds
    /// parameters of this one alone.
    pub fn new(named: &str, clients: u64, bound: &Bound) -> anyhow::Result<Subject> {
        let file = sizes::parts(named).0;
        let declared = Declared::read(named)?;
        let options = sizes::Options {
            model: &bound.model,
            clients,
            samples: bound.samples,
            corrupt: bound.corrupt,
            length: bound.shape.len,
        };
        let bindings = declared.bindings(named, &bound.given, &options)?;
        let mut build = Build::of_text(file, &declared.text, bindings);
        build.security = Some(bound.security);
        let checked = program::check_bound(&build, Sizes::Required)?;
        let graph =
            build::build(&checked.program, &checked.sources).map_err(|d| checked.rejected(d))?;
        let roles_of: BTreeMap<String, Role> = bound
            .roles
            .iter()
            .filter(|(name, _)| graph.inputs.iter().any(|i| i.name == **name))
            .map(|(name, role)| (name.clone(), *role))
            .collect();
        let roles = fill::roles(&graph, &bound.shape, &roles_of)?;
        let set = fill::clients(&graph, &bound.shape);
        let members = set.and_then(|set| graph.parties.get(set as usize)).map_or(0, |p| p.1);
        if members != clients {
            misuse!(
                "{members} clients give updates, and {clients} take part; say --clients {members}, or bind the size of the \
                 set that gives updates to no number, so that it follows"
            );
        }
        let number = |(n, v): &(String, String)| Some((n.clone(), v.parse::<f64>().ok()?));
        let sizes = checked.program.sizes.clone();
        // Of a predicate that names no attack nothing is taken from its names.
        let closed = declared.attacks;
        let named = sizes.iter().filter(|_| !closed.is_empty());
        let params = named.filter_map(number).collect();
        let fast = Fast::new(graph, set)?;
        // It is said for all predicates, and holds for those that reveal all of it.
        let reveals =
            |name: &str| fast.graph().outputs.iter().any(|o| o.state.is_none() && o.name == name);
        let aggregate = bound.aggregate.as_deref().filter(|said| said.split('/').all(reveals));
        let said = aggregate.is_some();
        let reading = match aggregate {
            Some(said) => Reading::said(fast.graph(), &bound.shape, said)?,
            None => Reading::of(&fast, &roles, &bound.shape, &bound.sample)?,
        };
        let compiled = OnceLock::new();
        Ok(Subject { fast, roles, params, reading, said, closed, sizes, checked, compiled })
    }

    /// As the rounds need it.
    pub fn declared(&self) -> slvr_simulation::lab::rule::Declared<'_> {
        let Subject { fast, roles, reading, .. } = self;
        slvr_simulation::lab::rule::Declared { graph: fast.graph(), roles, reading }
    }

    /// The attacks that adapt to it: those that its header names, and the search.
    pub fn adaptive(&self) -> impl Iterator<Item = &'static Attack> {
        self.closed.iter().copied().chain([Attack::SEARCH])
    }

    /// What closed forms read.
    pub fn params(&self) -> &BTreeMap<String, f64> {
        &self.params
    }

    /// What is asked to see whose updates count; nothing where the aggregate is made of signs, which have no derivative.
    pub fn influence(&self) -> Option<Influence<'_>> {
        let input = self.roles.iter().position(|r| *r == Role::Update)?;
        let graph = self.fast.graph();
        let set = graph.inputs[input].from.set()?;
        let members = graph.parties.get(set as usize)?.1 as usize;
        let of = self.reading.aggregate.as_str();
        (self.reading.how != How::Signs).then_some(Influence { of, input, members })
    }

    /// Whether an attack has something to do here that it would not do elsewhere.
    pub fn suits(&self, attack: &Attack) -> bool {
        match attack.needs {
            Some(Needs::Scores) => self.fast.has_scores(),
            Some(Needs::Validation) => self.roles.contains(&Role::Images),
            None => true,
        }
    }

    /// Its circuit, compiled once.
    pub fn compiled(&self) -> anyhow::Result<&Compiled> {
        let compile = || {
            let compiled = self.checked.compile(&print).map_err(|e| format!("{e:#}"))?;
            let places =
                cost::places(&self.checked.program, &compiled.optimised, &self.checked.sources);
            let rows = Certificate::of(&compiled, &places).error;
            let reveals = rows.into_iter().map(|row| Proven {
                name: row.name,
                error: row.proven,
                rounding: row.rounding_inputs,
                width: row.range.1 - row.range.0,
            });
            Ok(Compiled { circuit: compiled.circuit, reveals: reveals.collect() })
        };
        self.compiled.get_or_init(compile).as_ref().map_err(|e| anyhow!("{e}"))
    }
}
