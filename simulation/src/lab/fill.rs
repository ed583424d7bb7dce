//! Which declared input is filled with what: one rule for every predicate, whoever wrote it.
//!
//! An input is known by who gives it, its element type and its size; only where these leave a choice its name decides. Clients
//! are the party set that gives updates. What any other set gives, as a server its secret samples, is what the server has.
//!
//! | given by | type and size | role |
//! |---|---|---|
//! | each client | real, as long as the model | its update |
//! | each client | real, samples of the model's input shape | its validation images |
//! | each client | integers, as many as there are images | their labels |
//! | each client | one integer | how many samples it has |
//! | public or another set | real, as long as the model | by name: the global model (`global`, `model`), the server's own update on the public set (`guide`, `reference`, `centre`, `server`, `trusted`), the last aggregate (`last`, `previous`, `momentum`), or a random direction of length 1 (`start`, `direction`, `probe`) |
//! | public or another set | real, samples of the model's input shape | images of the public set, of each member others |
//! | public or another set | integers, as many as it gives images | their labels |
//! | public or another set | real, one for each tensor of the model | twice the length of each tensor of the server's own update |
//! | public | one integer | the number of the round |
//! | nobody | a state | what it begins with; the caller goes on with what was stored |
//!
//! What is filled is brought into the declared range, and weights to the length that they may have. For an input that fits no row, or whose name says nothing, the caller may
//! name the role.

use super::vectors::norm;
use crate::data::Dataset;
use crate::fill::slot;
use crate::net::Net;
use crate::random::{Purpose, Random};
use slvr_compiler::analysis::guard::norm_limit;
use slvr_compiler::graph::eval::{Inputs, Tensors};
use slvr_compiler::graph::{Giver, Graph, Input};
use slvr_compiler::types::Elem;
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// What an input is filled with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    Update,
    Images,
    /// Their labels.
    Labels,
    /// How many samples a client has.
    Count,
    Global,
    /// The server's own update.
    Reference,
    Last,
    /// A random direction of length 1.
    Direction,
    /// Images of the public set.
    PublicImages,
    /// Their labels.
    PublicLabels,
    TensorBounds,
    /// The number of the round.
    Round,
    Zeros,
    /// This number everywhere.
    Constant(f64),
    /// A state, of which the caller knows what was kept of the round before.
    Kept,
}

impl Role {
    /// All that an input can be told to have, and its name on the command line; any number may stand there, too.
    const NAMES: [(Role, &str); 13] = [
        (Role::Update, "update"),
        (Role::Images, "images"),
        (Role::Labels, "labels"),
        (Role::Count, "count"),
        (Role::Global, "global"),
        (Role::Reference, "reference"),
        (Role::Last, "last"),
        (Role::Direction, "direction"),
        (Role::PublicImages, "public-images"),
        (Role::PublicLabels, "public-labels"),
        (Role::TensorBounds, "tensor-bounds"),
        (Role::Round, "round"),
        (Role::Zeros, "zeros"),
    ];

    /// The names of those that hold.
    pub fn names(holds: impl Fn(Role) -> bool) -> String {
        let all = Role::NAMES.iter().filter(|(role, _)| holds(*role)).map(|(_, name)| *name);
        all.collect::<Vec<_>>().join(", ")
    }

    fn name(self) -> &'static str {
        let named = Role::NAMES.iter().find(|(role, _)| *role == self);
        match self {
            Role::Kept => "kept",
            _ => named.map_or("a number", |(_, name)| name),
        }
    }

    /// By its name; a number stands for itself.
    pub fn named(name: &str) -> Option<Role> {
        let number = || name.parse::<f64>().ok().filter(|x| x.is_finite()).map(Role::Constant);
        let named = Role::NAMES.iter().find(|(_, known)| *known == name);
        named.map(|(role, _)| *role).or_else(number)
    }

    fn is_clients(self) -> bool {
        self.is_anybodys()
            || matches!(self, Role::Update | Role::Images | Role::Labels | Role::Count)
    }

    /// Whether the server has it, or everybody.
    fn is_servers(self) -> bool {
        self.is_anybodys() || !self.is_clients()
    }

    fn is_anybodys(self) -> bool {
        matches!(self, Role::Zeros | Role::Constant(_))
    }
}

/// Why a predicate cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FillError {
    /// An input that the rule has no role for.
    #[error(
        "the lab does not know what to give for the input `{name}`, which is {what}; say it with `--fill {name}=ROLE`, where ROLE is \
         one of {roles}, or a number that stands everywhere"
    )]
    Unknown { name: String, what: String, roles: String },
    /// A role that does not fit.
    #[error("the input `{name}` cannot be filled with `{role}`: {why}")]
    Misfit { name: String, role: &'static str, why: &'static str },
    /// A name that stands for no input.
    #[error("the predicate has no input `{name}` to fill; its inputs are {all}")]
    NoInput { name: String, all: String },
    /// Something else is to be the aggregate, or its divisor.
    #[error("{what}; the predicate reveals {all}")]
    Aggregate { what: String, all: String },
    #[error(
        "no input of the predicate is an update: the lab trains {len} weights, and no client gives as many numbers; another model is \
         trained with --model NAME, or --model FILE.slvr:NAME for one of your own, also one that the predicate's file declares"
    )]
    NoUpdate { len: usize },
    #[error(
        "the predicate reveals nothing that has as many entries as the model has weights, {len}"
    )]
    NoAggregate { len: usize },
}

/// What a model is to the rule.
#[derive(Clone, Debug)]
pub struct ModelShape {
    /// Length of the weight vector.
    pub len: usize,
    /// Shape of one input.
    pub input: Vec<u64>,
    /// The tensors, as ranges of the weight vector.
    pub tensors: Vec<std::ops::Range<usize>>,
}

/// The roles of all inputs of a predicate, by the rule or as named.
pub fn roles(
    graph: &Graph,
    model: &ModelShape,
    named: &BTreeMap<String, Role>,
) -> Result<Vec<Role>, FillError> {
    let clients = clients(graph, model);
    let one = |input: &Input| {
        let own = input.from.set().is_some() && input.from.set() == clients;
        let misfit = |role: Role, why| FillError::Misfit {
            name: input.name.clone(),
            role: role.name(),
            why,
        };
        match named.get(&input.name) {
            Some(&role) => {
                fits(input, role, model, own).map_err(|why| misfit(role, why)).map(|()| role)
            }
            None => role(graph, input, model, own).ok_or_else(|| {
                let may = |r: Role| if own { r.is_clients() } else { r.is_servers() };
                FillError::Unknown {
                    name: input.name.clone(),
                    what: describe(graph, input),
                    roles: Role::names(may),
                }
            }),
        }
    };
    let roles: Vec<Role> = graph.inputs.iter().map(one).collect::<Result<_, _>>()?;
    if !roles.contains(&Role::Update) {
        return Err(FillError::NoUpdate { len: model.len });
    }
    let mut revealed = graph.outputs.iter().filter(|o| o.state.is_none());
    if !revealed.any(|o| graph.elements(o.node) == model.len as u64) {
        return Err(FillError::NoAggregate { len: model.len });
    }
    Ok(roles)
}

/// Refuses a name that no input of these predicates has.
pub fn known_names<'a>(
    inputs: impl Iterator<Item = &'a str>,
    named: &BTreeMap<String, Role>,
) -> Result<(), FillError> {
    let all: std::collections::BTreeSet<&str> = inputs.collect();
    match named.keys().find(|name| !all.contains(name.as_str())) {
        None => Ok(()),
        Some(name) => Err(FillError::NoInput {
            name: name.clone(),
            all: all.into_iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// The party set that gives updates: of those that give something as long as the model, the one with the most members.
pub fn clients(graph: &Graph, model: &ModelShape) -> Option<u32> {
    let update =
        |i: &&Input| i.elem == Elem::Fix && elements(i) == model.len && !is_images(i, model);
    let sets = graph.inputs.iter().filter(update).filter_map(|i| i.from.set());
    sets.max_by_key(|set| graph.parties.get(*set as usize).map_or(0, |p| p.1))
}

fn describe(graph: &Graph, input: &Input) -> String {
    let from = match input.from.set().and_then(|set| graph.parties.get(set as usize)) {
        Some((name, _)) => format!("from each {name}"),
        None => "public".to_string(),
    };
    let elem = match input.elem {
        Elem::Fix => "real",
        Elem::Int => "of integers",
        Elem::Bit => "of bits",
    };
    format!("{from}, {elem}, of shape {:?}", input.shape)
}

fn elements(input: &Input) -> usize {
    input.shape.iter().product::<u64>() as usize
}

/// Whether these are samples of the model's input shape.
fn is_images(input: &Input, model: &ModelShape) -> bool {
    input.elem == Elem::Fix
        && input.shape.split_first().is_some_and(|(_, rest)| rest == model.input.as_slice())
}

fn role(graph: &Graph, input: &Input, model: &ModelShape, own: bool) -> Option<Role> {
    if let Giver::State(_) = input.from {
        return Some(Role::Kept);
    }
    if let Giver::Present(_) = input.from {
        // In the lab all clients of a round are there.
        return Some(Role::Constant(1.0));
    }
    let (real, len) = (input.elem == Elem::Fix, elements(input));
    let whole = input.elem == Elem::Int;
    let scalar = input.shape.is_empty();
    let list = input.shape.len() == 1;
    // A tensor that happens to be as long as the model is one of samples if it has their shape.
    if is_images(input, model) {
        return Some(if own { Role::Images } else { Role::PublicImages });
    }
    if whole && list {
        if own {
            return Some(Role::Labels);
        }
        // Of as many images of the same giver; any other list may mean anything.
        let beside = |i: &Input| {
            i.from == input.from && is_images(i, model) && i.shape.first() == input.shape.first()
        };
        return graph.inputs.iter().any(beside).then_some(Role::PublicLabels);
    }
    if whole && scalar {
        let public = input.from == Giver::Public;
        return if own { Some(Role::Count) } else { public.then_some(Role::Round) };
    }
    if !real || len != model.len {
        let bounds = real && list && !own && len == model.tensors.len();
        return bounds.then_some(Role::TensorBounds);
    }
    if own {
        return Some(Role::Update);
    }
    match input.name.as_str() {
        "global" | "model" => Some(Role::Global),
        "guide" | "reference" | "centre" | "center" | "server" | "trusted" => Some(Role::Reference),
        "last" | "previous" | "momentum" => Some(Role::Last),
        "start" | "direction" | "probe" => Some(Role::Direction),
        _ => None,
    }
}

/// Whether an input can have a role that was named.
fn fits(input: &Input, role: Role, model: &ModelShape, own: bool) -> Result<(), &'static str> {
    let hold = |good, why| if good { Ok(()) } else { Err(why) };
    match input.from {
        Giver::Each(_) if own => {
            hold(role.is_clients(), "clients give it, and that is the server's")?
        }
        Giver::Each(_) => hold(role.is_servers(), "it is not the clients', and clients give that")?,
        Giver::Public => hold(role.is_servers(), "it is public, and clients give that")?,
        Giver::State(_) => hold(false, "it is a state, which nobody gives")?,
        Giver::Present(_) => hold(false, "it says who takes part, which nobody gives")?,
    }
    let whole = input.elem != Elem::Fix;
    match role {
        Role::Update | Role::Global | Role::Reference | Role::Last | Role::Direction => {
            hold(!whole && elements(input) == model.len, "it is not as long as the model")
        }
        Role::Images | Role::PublicImages => {
            hold(is_images(input, model), "it has not the shape of samples")
        }
        Role::Labels | Role::PublicLabels => {
            hold(whole && input.shape.len() == 1, "it is no list of integers")
        }
        Role::Count | Role::Round => hold(input.shape.is_empty(), "it is not one number"),
        Role::TensorBounds => hold(
            !whole && elements(input) == model.tensors.len(),
            "it has not one entry for each tensor",
        ),
        Role::Kept => hold(false, "it is no state"),
        Role::Constant(x) => {
            hold((input.range.0..=input.range.1).contains(&x), "it is not in its range")?;
            hold(!whole || x.fract() == 0.0, "it is no whole number")
        }
        Role::Zeros => hold(input.range.0 <= 0.0 && input.range.1 >= 0.0, "0 is not in its range"),
    }
}

/// What there is to fill inputs with in a round.
pub struct Round<'a> {
    pub index: usize,
    pub seed: u64,
    pub global: &'a [f32],
    pub updates: &'a [Vec<f32>],
    pub validation: &'a [Dataset],
    /// How many samples each client has.
    pub counts: &'a [usize],
    /// The server's own update; empty if no input asks for it.
    pub reference: &'a [f32],
    /// The last aggregate; zeros at first.
    pub last: &'a [f32],
    pub public: &'a Dataset,
}

#[derive(Clone, Debug)]
pub struct Filled {
    /// By name, as evaluations and runs read them.
    pub inputs: Inputs,
    /// The same in the order of the declarations, of secret ones all members one after another.
    pub flat: Vec<Arc<Vec<f64>>>,
    /// What had to be brought into its declared range or length: the input and the member.
    pub cut: Vec<(usize, usize)>,
}

/// Fills the inputs of a predicate.
pub fn fill(graph: &Graph, roles: &[Role], model: &ModelShape, round: &Round<'_>) -> Filled {
    let mut inputs = Inputs { sets: vec![Vec::new(); graph.parties.len()], ..Inputs::default() };
    let mut flat = Vec::with_capacity(graph.inputs.len());
    let mut cut = Vec::new();
    for (index, (input, &role)) in graph.inputs.iter().zip(roles).enumerate() {
        let members = input.from.set().map_or(1, |set| graph.parties[set as usize].1 as usize);
        let mut all = Vec::with_capacity(members * elements(input));
        for member in 0..members {
            let mut values = values(input, role, model, round, member);
            if bring_into_range(input, &mut values) {
                cut.push((index, member));
            }
            all.extend_from_slice(&values);
            let tensors = match input.from.set() {
                None if role == Role::Kept => &mut inputs.states,
                None => &mut inputs.public,
                Some(set) => {
                    let set = &mut inputs.sets[set as usize];
                    if set.len() < members {
                        set.resize(members, Tensors::new());
                    }
                    &mut set[member]
                }
            };
            tensors.insert(input.name.clone(), values);
        }
        flat.push(Arc::new(all));
    }
    Filled { inputs, flat, cut }
}

/// Into the declared range; whether anything was outside.
fn bring_into_range(input: &Input, values: &mut [f64]) -> bool {
    let (lo, hi) = input.range;
    let outside = values.iter().any(|x| *x < lo || *x > hi);
    values.iter_mut().for_each(|x| *x = x.clamp(lo, hi));
    // Weights have a largest length, too, and a client that gives longer ones gives none.
    let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
    if let Some(most) = norm_limit(input).filter(|most| length > *most) {
        values.iter_mut().for_each(|x| *x *= most / length * (1.0 - 1e-9));
        return true;
    }
    outside
}

/// The same inputs, with another update from each malicious client.
pub fn with_update(
    graph: &Graph,
    roles: &[Role],
    flat: &[Arc<Vec<f64>>],
    (malicious, update): (&[usize], &[f32]),
) -> Vec<Arc<Vec<f64>>> {
    let one = |((input, role), flat): ((&Input, &Role), &Arc<Vec<f64>>)| {
        if *role != Role::Update {
            return Arc::clone(flat);
        }
        let mut own: Vec<f64> = update.iter().map(|&x| f64::from(x)).collect();
        bring_into_range(input, &mut own);
        let mut all = flat.as_slice().to_vec();
        for i in malicious {
            all[i * own.len()..(i + 1) * own.len()].copy_from_slice(&own);
        }
        Arc::new(all)
    };
    graph.inputs.iter().zip(roles).zip(flat).map(one).collect()
}

/// What the predicate declares of a coordinate of an update.
pub fn update_range(graph: &Graph, roles: &[Role]) -> (f32, f32) {
    let updates = graph.inputs.iter().zip(roles).filter(|(_, role)| **role == Role::Update);
    let both = |a: (f32, f32), b: (f32, f32)| (a.0.max(b.0), a.1.min(b.1));
    let range = updates
        .map(|(input, _)| (input.range.0 as f32, input.range.1 as f32))
        .fold((f32::MIN, f32::MAX), both);
    // Two updates of ranges that do not meet: each is cut to its own when it is filled in.
    if range.0 <= range.1 { range } else { (f32::MIN, f32::MAX) }
}

fn values(
    input: &Input,
    role: Role,
    model: &ModelShape,
    round: &Round<'_>,
    member: usize,
) -> Vec<f64> {
    // Each member of each set but the clients has other samples of the public set.
    let place = input.from.set().map_or(0, |set| set as usize + member);
    let reals = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let len = elements(input);
    // Samples are drawn for one number of them; a predicate with lists of several lengths gets some again.
    let samples = input.shape.first().map_or(0, |n| *n as usize);
    let images = |data: &Dataset, place: usize| -> Vec<f64> {
        let first = place * samples % data.len().max(1) * data.sample_size();
        data.images().iter().map(|&x| f64::from(x)).cycle().skip(first).take(len).collect()
    };
    let labels = |data: &Dataset, place: usize| -> Vec<f64> {
        let first = place * samples % data.len().max(1);
        data.labels().iter().map(|&l| f64::from(l)).cycle().skip(first).take(len).collect()
    };
    match role {
        Role::Update => reals(&round.updates[member]),
        Role::Images => images(&round.validation[member], 0),
        Role::Labels => labels(&round.validation[member], 0),
        Role::Count => vec![round.counts[member] as f64; len],
        Role::Global => reals(round.global),
        Role::Reference => reals(round.reference),
        Role::Last => reals(round.last),
        Role::Direction => {
            let mut random = Random::new(round.seed, Purpose::Server, [round.index as u64, 1]);
            let v: Vec<f64> = (0..len).map(|_| random.normal()).collect();
            let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v.iter().map(|x| x / length).collect()
        }
        Role::PublicImages => images(round.public, place),
        Role::PublicLabels => labels(round.public, place),
        Role::TensorBounds => {
            model.tensors.iter().map(|t| 2.0 * norm(&round.reference[t.clone()])).collect()
        }
        Role::Round => vec![round.index as f64; len],
        Role::Zeros => vec![0.0; len],
        Role::Constant(x) => vec![x; len],
        Role::Kept => match input.from {
            Giver::State(start) => vec![start; len],
            Giver::Public | Giver::Each(_) | Giver::Present(_) => vec![0.0; len],
        },
    }
}

/// Whether an input asks for the server's own update.
pub fn wants_reference(roles: &[Role]) -> bool {
    roles.iter().any(|r| matches!(r, Role::Reference | Role::TensorBounds))
}

/// A model as the rule sees it.
pub fn model_shape(net: &Net, model: &slvr_compiler::types::model::Model) -> ModelShape {
    ModelShape {
        len: net.weights(),
        input: model.input.clone(),
        tensors: model.params.iter().filter_map(|p| slot(model, p)).collect(),
    }
}
