//! Random programs of everything that rounds, saturates or moves entries, on inputs at the ends of their
//! ranges and on inputs that climb towards large errors and large values: what is promised of intervals,
//! errors and decisions holds for every node.
//!
//! - Every word of a run is in its node's interval, and the node's value in floating point too, up to its
//!   proven error.
//! - Where no decision is within its margin of its threshold, every decision falls as in floating point, and
//!   no value is further from floating point than is proven.
//! - What the circuit reveals, and the program in floating point, keep to the same bounds.
//!
//! Every program is compiled with as many fraction bits as its values may have, and if that is more than 16 for some,
//! with 16 for all, too.
//!
//! `SLVR_COUNT=100000 cargo test --release -p slvr-tests --test end_to_end intervals` is the long run. It
//! begins at the program of number `SLVR_SEED`, and a failing test prints the number of its program.

use slvr_circuit::Encoding;
use slvr_compiler::analysis::errors::{Errors, errors, input_errors};
use slvr_compiler::analysis::given::encoded;
use slvr_compiler::cost::Tuning;
use slvr_compiler::graph::{Graph, Op, eval};
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::{Fine, Options};
use slvr_compiler::report::given::{GivenReveal, OnInputs};
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::types::{Elem, Program};
use slvr_compiler::{diagnostic::render::render, pipeline, types};
use slvr_runtime::clear::Evaluator;
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_runtime::share::state::Kept;
use slvr_tests::agree::{Ends, ends};
use slvr_tests::generate::Generated;
use slvr_tests::long::{self, caught, shrunk};
use slvr_tests::{Case, Left, Random, committees, inexact, margins, random_inputs};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Values that inputs climb towards, in each program.
const CLIMBS: u64 = 3;
/// Steps of each climb.
const STEPS: u64 = 12;

/// One program in so many is run by three parties, too.
const PARTIES: u64 = 20;

/// What was seen of all programs.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) programs: u64,
    pub(crate) refused: u64,
    /// Runs whose decisions were all clear.
    pub(crate) clear: u64,
    pub(crate) unclear: u64,
    /// Programs with inputs of more fraction bits than others.
    fine: u64,
    /// Programs that three parties ran, too.
    pub(crate) parties: u64,
    /// Programs that read what an earlier round has stored.
    rounds: u64,
    /// Nodes of each operation.
    seen: BTreeMap<&'static str, u64>,
    /// Parts that are taken off intervals and errors before they are held, to see that it is noticed.
    narrower: [f64; 2],
}

/// The families of protocols.
pub(crate) fn families() -> [Options; 3] {
    let with = |target| Options { target, ..Options::default() };
    let tuned =
        |latency, bandwidth| with(Target::SemiHonest(Family::T2(Tuning { latency, bandwidth })));
    [tuned(0.01, 1e12), tuned(0.0, 1e6), with(Target::SemiHonest(Family::T1))]
}

/// One of the families, with as many fraction bits as a value may have, or with the same for all.
pub(crate) fn ways(seed: u64) -> [Options; 2] {
    let family = families()[seed as usize % 3];
    [Fine::Short, Fine::Nothing].map(|fine| Options { fine, ..family })
}

/// A program with its text.
pub(crate) struct Typed {
    program: Program,
    sources: Sources,
}

/// A typed program, or why it is refused.
fn typed(made: &Generated) -> Result<Result<Typed, String>, String> {
    let mut sources = Sources::new();
    let file = sources.add("test.slvr", made.text.clone());
    let options = types::Options { bindings: made.bindings.clone(), ..Default::default() };
    let mut none = |_: &str| Err(LoadError::NotFound);
    match types::check(&mut sources, file, &options, &mut none) {
        Ok(types::Checked { program, .. }) => Ok(Ok(Typed { program, sources })),
        // A constant outside of the domain of a function, or a quotient of constants that is no whole number.
        Err(wrong) => {
            let why = render(&wrong, &sources, false);
            let known = ["E0025", "rounds down"];
            if known.iter().any(|k| why.contains(k)) { Ok(Err(why)) } else { Err(why) }
        }
    }
}

impl Typed {
    /// Its circuit. None, and one more that is refused, where values fit no word, are outside of a domain, or are so small
    /// that they become 0.
    fn compiled(&self, how: Options, refused: &mut u64) -> Result<Option<Case>, String> {
        let (program, sources) = (self.program.clone(), self.sources.clone());
        let wrong = match pipeline::compile_with(&program, &sources, how, |_, _| {}) {
            Ok(compiled) => return Ok(Some(Case::new(program, compiled, sources))),
            Err(wrong) => render(&wrong, &sources, false),
        };
        if ["E0028", "E0025", "E0035"].iter().any(|code| wrong.contains(code)) {
            *refused += 1;
            return Ok(None);
        }
        Err(wrong)
    }
}

/// A compiled program; none if it is refused.
pub(crate) fn compiled(
    made: &Generated,
    how: Options,
    refused: &mut u64,
) -> Result<Option<Case>, String> {
    match typed(made)? {
        Ok(typed) => typed.compiled(how, refused),
        Err(_) => {
            *refused += 1;
            Ok(None)
        }
    }
}

/// What holds of every run of a case.
pub(crate) struct Check<'a> {
    case: &'a Case,
    run: Evaluator<'a>,
    errors: Errors,
    coins: [u128; 2],
    /// The run that was looked at last: what it reveals is held against several promises.
    last: RefCell<Option<Last>>,
}

/// A run of a circuit.
struct Last {
    inputs: Inputs,
    seed: u64,
    revealed: Rc<Vec<Vec<f64>>>,
}

/// What one run has at every node, in floating point and in exact words.
struct Traced {
    real: Vec<Vec<f64>>,
    exact: Vec<Vec<i128>>,
}

impl<'a> Check<'a> {
    pub(crate) fn new(case: &'a Case, coins: [u128; 2]) -> Check<'a> {
        let compiled = &case.compiled;
        let given = input_errors(&compiled.optimised, &compiled.guards);
        let errors = errors(&compiled.optimised, &compiled.ranges.raw, &given, &compiled.stated);
        Check { case, run: case.evaluator(), errors, coins, last: RefCell::new(None) }
    }

    /// The same with other coins: neither bounds nor circuit depend on them.
    pub(crate) fn drawing(&mut self, coins: [u128; 2]) -> &Self {
        self.coins = coins;
        self.last.take();
        self
    }

    /// What the circuit reveals.
    pub(super) fn revealed(&self, inputs: &Inputs, seed: u64) -> Rc<Vec<Vec<f64>>> {
        if let Some(last) = &*self.last.borrow()
            && (&last.inputs.public, &last.inputs.sets, last.seed)
                == (&inputs.public, &inputs.sets, seed)
        {
            return last.revealed.clone();
        }
        let revealed = Rc::new(self.case.evaluated(&self.run, inputs, &self.coins, seed));
        let last = Last { inputs: inputs.clone(), seed, revealed: revealed.clone() };
        self.last.replace(Some(last));
        revealed
    }

    fn optimised(&self) -> &Graph {
        &self.case.compiled.optimised
    }

    fn unit(&self, node: usize) -> f64 {
        let id = slvr_compiler::graph::NodeId(node as u32);
        (-f64::from(self.optimised().ty(id).frac.unwrap_or(0))).exp2()
    }

    fn trace(&self, inputs: &Inputs) -> Result<Traced, String> {
        let (given, draw) = (self.case.graph_inputs(inputs), committees(&self.coins));
        let real = eval::real(self.optimised(), &given, &draw, true).map_err(|e| e.to_string())?;
        let draw = committees(&self.coins);
        let exact = eval::exact_wide(self.optimised(), &given, &draw, true);
        let exact = exact.map_err(|e| e.to_string())?;
        let real = real.values.iter().map(|v| v.as_ref().map_or(Vec::new(), |v| v.to_vec()));
        let exact = exact.values.iter().map(|v| v.as_ref().map_or(Vec::new(), |v| v.to_vec()));
        Ok(Traced { real: real.collect(), exact: exact.collect() })
    }

    fn place(&self, id: slvr_compiler::graph::NodeId) -> String {
        let graph = self.optimised();
        let args: Vec<usize> = graph.args(id).iter().map(|a| a.index()).collect();
        format!("%{} = {:?} of {args:?} in `{}`", id.index(), graph.op(id), graph.site(id).name)
    }

    /// Whether all words of a run are in their intervals, of inputs that are enforced, declared or not.
    pub(crate) fn within(&self, inputs: &Inputs) -> Result<(), String> {
        self.words_within(&self.trace(inputs)?)
    }

    fn words_within(&self, traced: &Traced) -> Result<(), String> {
        let (graph, ranges) = (self.optimised(), &self.case.compiled.ranges);
        for id in graph.ids() {
            let (lo, hi) = ranges.raw[id.index()];
            for &word in &traced.exact[id.index()] {
                if !(lo..=hi).contains(&(word as f64)) {
                    return Err(format!("{} is {word}, its interval {lo}..{hi}", self.place(id)));
                }
            }
        }
        Ok(())
    }

    /// Whether a run keeps to what is promised; whether its decisions are clear.
    pub(crate) fn hold(&self, inputs: &Inputs, seed: u64) -> Result<bool, String> {
        let traced = self.trace(inputs)?;
        self.words_within(&traced)?;
        let (graph, ranges) = (self.optimised(), &self.case.compiled.ranges);
        let defined = traced.real.iter().flatten().all(|x| x.is_finite());
        let place = |id| self.place(id);
        let run = self.revealed(inputs, seed);
        let interval = |i: usize| {
            let output = &graph.outputs[i];
            let (lo, hi) = ranges.real(graph, output.node);
            let factor = output.factor / output.divisor;
            ((lo * factor).min(hi * factor), (lo * factor).max(hi * factor))
        };
        // What is stored is revealed to nobody.
        let revealed: Vec<usize> =
            (0..graph.outputs.len()).filter(|&i| graph.outputs[i].state.is_none()).collect();
        for (&i, run) in revealed.iter().zip(&*run) {
            let (lo, hi) = interval(i);
            let tiny = 1e-9 * (1.0 + lo.abs() + hi.abs());
            if let Some(y) = run.iter().find(|&&y| y < lo - tiny || y > hi + tiny) {
                let name = &graph.outputs[i].name;
                return Err(format!("`{name}` is {y} in a run, its interval {lo}..{hi}"));
            }
        }
        let clear = defined
            && self.errors.assumed.is_empty()
            && margins::clear(graph, &traced.real, &self.errors.decisions);
        if !clear {
            return Ok(false);
        }
        for d in &self.errors.decisions {
            if graph.ty(d.node).elem != Elem::Bit {
                continue;
            }
            let (a, b) = (&traced.real[d.node.index()], &traced.exact[d.node.index()]);
            if a.iter().zip(b).any(|(a, b)| *a != *b as f64) {
                return Err(format!("{} decides otherwise, margin {}", place(d.node), d.margin));
            }
        }
        // A comparison that only chooses may come out otherwise, and so may what is made of it until then.
        let free = |id| graph.ty(id).elem != Elem::Fix;
        for id in graph.ids().filter(|&id| !free(id)) {
            let at = id.index();
            let (unit, proven) = (self.unit(at), self.errors.proven[at]);
            let (lo, hi) = ranges.real(graph, id);
            for (x, y) in traced.real[at].iter().zip(&traced.exact[at]) {
                let y = *y as f64 * unit;
                // Floating point rounds, too.
                let tiny = 1e-9 * (1.0 + x.abs() + proven);
                if (x - y).abs() > proven + tiny && self.needed(id) {
                    return Err(format!("{} is {y} for {x}, proven is {proven}", place(id)));
                }
                if *x < lo - proven - tiny || *x > hi + proven + tiny {
                    return Err(format!("{} is {x} in reals, in {lo}..{hi}", place(id)));
                }
            }
        }
        let program = self.case.floating(inputs, &self.coins);
        for (&i, (run, wanted)) in revealed.iter().zip(run.iter().zip(&program)) {
            let proven = self.errors.output(graph, i);
            for (y, x) in run.iter().zip(wanted) {
                if (x - y).abs() > proven + 1e-9 * (1.0 + x.abs() + proven) {
                    let name = &graph.outputs[i].name;
                    return Err(format!("`{name}` is {y} in a run, {x} in reals, proven {proven}"));
                }
            }
        }
        Ok(true)
    }

    /// Whether a decision is so near its threshold that the order in which floating point rounds may decide it.
    pub(crate) fn tied(&self, inputs: &Inputs) -> Result<bool, String> {
        let (graph, real) = (self.optimised(), self.trace(inputs)?.real);
        let mut decisions = self.errors.decisions.iter();
        Ok(decisions.any(|d| margins::distance(graph, d.node, &real) < 1e-9))
    }

    /// Of each reveal, the part of its largest entry that it may be off by, the largest of these. It is infinite where
    /// nothing is proven.
    fn part(bounds: impl Iterator<Item = f64>, wanted: &[Vec<f64>]) -> f64 {
        let parts = bounds.zip(wanted).map(|(off, wanted)| {
            let part = off / wanted.iter().fold(0f64, |most, x| most.max(x.abs()));
            let zero = off == 0.0 && wanted.iter().all(|x| x.is_finite());
            if zero { 0.0 } else { Some(part).filter(|p| p.is_finite()).unwrap_or(f64::INFINITY) }
        });
        parts.fold(0.0, f64::max)
    }

    /// What is proven for all inputs of a run whose decisions are clear, as [`Check::given`] says it.
    pub(crate) fn stated(&self, inputs: &Inputs) -> f64 {
        let graph = self.optimised();
        let outputs = (0..graph.outputs.len()).filter(|&i| graph.outputs[i].state.is_none());
        let bounds = outputs.map(|i| self.errors.output(graph, i));
        Self::part(bounds, &self.case.floating(inputs, &self.coins))
    }

    /// Whether a run on these inputs keeps to what is proven for them alone; the part of the largest entry of each reveal
    /// that it may be off by, at most, and how many decisions in which steps are certified. The part is infinite where
    /// nothing is proven.
    pub(crate) fn given(&self, inputs: &Inputs, seed: u64) -> Result<(f64, Vec<String>), String> {
        let (graph, given) = (self.optimised(), self.case.graph_inputs(inputs));
        let draw = committees(&self.coins);
        let found = OnInputs::of(&self.case.compiled, &[], &given, &draw);
        let found = found.map_err(|e| e.to_string())?.certificate;
        let draw = committees(&self.coins);
        let rounded = encoded(graph, &given);
        let wanted = eval::real(&self.case.compiled.graph, &rounded, &draw, false);
        let wanted = wanted.map_err(|e| e.to_string())?.outputs;
        let wanted: Vec<Vec<f64>> = wanted.into_iter().map(|(_, _, values)| values).collect();
        let run = self.revealed(inputs, seed);
        let revealed = graph.outputs.iter().zip(&found.reveals).filter(|(o, _)| o.state.is_none());
        let reveals: Vec<&GivenReveal> = revealed.map(|(_, reveal)| reveal).collect();
        for (reveal, (run, wanted)) in reveals.iter().zip(run.iter().zip(&wanted)) {
            for (y, x) in run.iter().zip(wanted) {
                if (x - y).abs() > reveal.off + 1e-9 * (1.0 + x.abs()) {
                    let GivenReveal { name, off } = reveal;
                    return Err(format!("`{name}` is {y} for {x}, for these inputs within {off}"));
                }
            }
        }
        let in_doubt = found.lines.iter().filter(|l| l.of.certified < l.of.decisions);
        let in_doubt = in_doubt
            .map(|l| format!("{} of {} certified in `{}`", l.of.certified, l.of.decisions, l.step));
        Ok((Self::part(reveals.iter().map(|r| r.off), &wanted), in_doubt.collect()))
    }

    /// What three parties reveal is in its interval, and as near to floating point as is proven if all decisions
    /// are clear.
    pub(crate) fn among_parties(&self, inputs: &Inputs, seed: u64) -> Result<(), String> {
        let graph = self.optimised();
        let report = self.case.parties(inputs, seed);
        let (given, draw) = (self.case.graph_inputs(inputs), committees(&report.coins));
        let real = eval::real(graph, &given, &draw, true).map_err(|e| e.to_string())?;
        let real: Vec<Vec<f64>> =
            real.values.iter().map(|v| v.as_ref().map_or(Vec::new(), |v| v.to_vec())).collect();
        let clear = real.iter().flatten().all(|x| x.is_finite())
            && self.errors.assumed.is_empty()
            && margins::clear(graph, &real, &self.errors.decisions);
        let program = self.case.floating(inputs, &report.coins);
        let revealed = (0..graph.outputs.len()).filter(|&i| graph.outputs[i].state.is_none());
        for (i, (found, wanted)) in revealed.zip(report.outputs.iter().zip(&program)) {
            let output = &graph.outputs[i];
            let (lo, hi) = self.case.compiled.ranges.real(graph, output.node);
            let factor = output.factor / output.divisor;
            let (lo, hi) = ((lo * factor).min(hi * factor), (lo * factor).max(hi * factor));
            let proven = self.errors.output(graph, i);
            for (y, x) in found.values.iter().zip(wanted) {
                let tiny = 1e-9 * (1.0 + x.abs() + lo.abs() + hi.abs());
                if *y < lo - tiny || *y > hi + tiny {
                    return Err(format!("`{}` is {y} of parties, in {lo}..{hi}", output.name));
                }
                if clear && (x - y).abs() > proven + tiny {
                    let name = &output.name;
                    return Err(format!(
                        "`{name}` is {y} of parties, {x} in reals, proven {proven}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether a node's own value is what an output is made of, and not only what a choice is made by.
    fn needed(&self, id: slvr_compiler::graph::NodeId) -> bool {
        self.errors.depended_on.get(id.index()).copied().unwrap_or(true)
    }

    /// Changes one entry, or all of one tensor.
    fn change(&self, inputs: &mut Inputs, random: &mut Random) {
        let circuit = self.case.circuit();
        let pick = |random: &mut Random, n: usize| (random.unit() * n as f64) as usize;
        let input = &circuit.inputs[pick(random, circuit.inputs.len())];
        let set = match input.from {
            slvr_circuit::From::Public
            | slvr_circuit::From::State(_)
            | slvr_circuit::From::Present(_) => None,
            slvr_circuit::From::Each(s) => Some(s as usize),
        };
        let tensor = match set {
            None => inputs.public.get_mut(&input.name),
            Some(s) => {
                let member = pick(random, inputs.sets[s].len());
                inputs.sets[s][member].get_mut(&input.name)
            }
        };
        let Some(tensor) = tensor else { return };
        let all = random.unit() < 0.2;
        match (&mut tensor.data, &input.encoding) {
            (RawData::F64(v), Encoding::Fixed { lo, hi, .. }) => {
                let (lo, hi) = (lo.max(-100.0), hi.min(100.0));
                let value = match pick(random, 6) {
                    0 | 1 => lo,
                    2 | 3 => hi,
                    4 => 0f64.clamp(lo, hi),
                    _ => random.between(lo, hi),
                };
                let (at, n) = (pick(random, v.len()), v.len());
                let range = if all { 0..n } else { at..(at + 1).min(n) };
                v[range].iter_mut().for_each(|x| *x = value);
            }
            (RawData::I64(v), Encoding::Int { lo, hi }) => {
                let at = pick(random, v.len());
                v[at] = lo + pick(random, (hi - lo) as usize) as i64;
            }
            _ => {}
        }
    }

    /// Inputs at which a node is large, or far from floating point.
    fn climb(&self, mut inputs: Inputs, random: &mut Random) -> Result<Inputs, String> {
        let graph = self.optimised();
        let nodes: Vec<_> = graph
            .ids()
            .filter(|&id| graph.ty(id).elem == Elem::Fix && !matches!(graph.op(id), Op::Const(..)))
            .collect();
        let at = nodes[(random.unit() * nodes.len() as f64) as usize].index();
        let goal = (random.unit() * 3.0) as u64;
        let score = |t: &Traced| {
            let of = |f: &dyn Fn(f64, f64) -> f64| {
                let unit = self.unit(at);
                let pairs = t.real[at].iter().zip(&t.exact[at]);
                pairs.map(|(x, y)| f(*x, *y as f64 * unit)).fold(f64::MIN, f64::max)
            };
            match goal {
                0 => of(&|x, _| x),
                1 => of(&|x, _| -x),
                _ => of(&|x, y| (x - y).abs()),
            }
        };
        let mut best = score(&self.trace(&inputs)?);
        for _ in 0..STEPS {
            let mut next = inputs.clone();
            self.change(&mut next, random);
            let now = score(&self.trace(&next)?);
            if now >= best {
                (best, inputs) = (now, next);
            }
        }
        Ok(inputs)
    }
}

fn check(choices: &[u8], seed: u64, tally: &mut Tally) -> Result<(), String> {
    check_program(&inexact::program(choices), seed, tally)
}

/// One program on all its inputs, in both ways if they differ.
pub(crate) fn check_program(made: &Generated, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let [fine, coarse] = ways(seed);
    tally.programs += 1;
    let typed = match typed(made)? {
        Ok(typed) => typed,
        Err(_) => {
            tally.refused += 1;
            return Ok(());
        }
    };
    let fines = tally.fine;
    check_as(&typed, seed, fine, tally)?;
    if tally.fine > fines {
        check_as(&typed, seed, coarse, tally).map_err(|why| format!("with 16 bits: {why}"))?;
    }
    Ok(())
}

/// One program on all its inputs.
fn check_as(typed: &Typed, seed: u64, how: Options, tally: &mut Tally) -> Result<(), String> {
    let Some(mut case) = typed.compiled(how, &mut tally.refused)? else { return Ok(()) };
    let of_intervals = 1.0 - tally.narrower[0];
    for (lo, hi) in &mut case.compiled.ranges.raw {
        (*lo, *hi) = (*lo * of_intervals, *hi * of_intervals);
    }
    let graph = &case.compiled.optimised;
    for id in graph.ids() {
        *tally.seen.entry(graph.op(id).name()).or_default() += 1;
    }
    let scales: BTreeSet<_> = graph.inputs.iter().filter_map(|i| i.frac).collect();
    tally.fine += u64::from(!scales.is_empty());
    check_round(&case, seed, CLIMBS, tally)?;
    if case.circuit().states().next().is_some() {
        tally.rounds += 1;
        case.left = stored(&case, seed);
        check_round(&case, seed, 1, tally).map_err(|why| format!("in the second round: {why}"))?;
    }
    Ok(())
}

/// The coins of a program.
fn coins(seed: u64) -> [u128; 2] {
    [u128::from(seed) << 64 | 7, u128::from(seed) << 64 | 11]
}

/// What a first round stores, for all evaluations alike: each of them rounds on its own.
fn stored(case: &Case, seed: u64) -> Left {
    let inputs = random_inputs(case.circuit(), !seed, 1.0);
    let (_, words) = case.evaluated_round(&case.evaluator(), &inputs, &coins(seed), seed);
    let all: Vec<_> = case.circuit().states().map(|(i, _)| words[&i].clone()).collect();
    let kept = [0, 1, 2].map(|me| Kept::known(case.circuit(), me, &all));
    Left { plain: case.numbers(&words), words, kept: Some(kept) }
}

/// One round of a program on all its inputs.
fn check_round(case: &Case, seed: u64, climbs: u64, tally: &mut Tally) -> Result<(), String> {
    let mut all = Check::new(case, coins(seed));
    let of_errors = 1.0 - tally.narrower[1];
    all.errors.proven.iter_mut().for_each(|off| *off *= of_errors);
    let mut random = Random::new(seed);
    let mut hold = |inputs: &Inputs, seed| -> Result<(), String> {
        match all.hold(inputs, seed)? {
            true => tally.clear += 1,
            false => tally.unclear += 1,
        }
        Ok(())
    };
    for end in [Ends::Low, Ends::High, Ends::Either] {
        hold(&ends(case.circuit(), end, seed), seed)?;
    }
    hold(&random_inputs(case.circuit(), seed, 1.0), seed)?;
    if seed.is_multiple_of(PARTIES) {
        tally.parties += 1;
        all.among_parties(&random_inputs(case.circuit(), seed, 1.0), seed)?;
    }
    for _ in 0..climbs {
        let start = match random.unit() < 0.5 {
            true => ends(case.circuit(), Ends::Either, seed),
            false => random_inputs(case.circuit(), seed, 1.0),
        };
        hold(&all.climb(start, &mut random)?, seed)?;
    }
    Ok(())
}

/// The choices of a program.
pub(crate) fn choices(seed: u64) -> Vec<u8> {
    long::choices(seed, 20, 160)
}

/// The smallest program that a failing one shrinks to.
fn smaller(seed: u64) -> String {
    let fails = |c: &[u8]| caught(|| check(c, seed, &mut Tally::default()));
    let least = shrunk(&choices(seed), |c| fails(c).is_err());
    let made = inexact::program(&least);
    let why = fails(&least).err().unwrap_or_else(|| "it holds if it is tried again".into());
    format!("{why}\n{:?}\n{}", made.bindings, made.text)
}

#[test]
fn promises_hold_at_every_node_of_random_programs() {
    let numbers = long::slice_of(25, 80);
    let count = numbers.end - numbers.start;
    let mut tally = Tally::default();
    long::run("program", numbers, |seed| check(&choices(seed), seed, &mut tally), smaller);
    println!(
        "{} made, {} refused, {} runs with clear decisions, {} others",
        tally.programs, tally.refused, tally.clear, tally.unclear
    );
    println!("{:?}", tally.seen);
    println!(
        "{} with inputs of more fraction bits than others, {} by three parties, {} for a second round",
        tally.fine, tally.parties, tally.rounds
    );
    // A test of nothing holds as well.
    assert!(tally.fine * 4 > tally.programs || count < 8, "values have several fraction bits");
    assert!(tally.rounds * 6 > tally.programs || count < 100, "programs read what they stored");
    assert!(tally.refused * 4 < tally.programs, "most programs compile");
    assert!(tally.clear * 4 > tally.unclear, "many runs decide clearly");
    for op in ["transpose", "gather", "conv2d", "div", "sqrt", "log", "tanh", "select", "slice"] {
        assert!(tally.seen.contains_key(op) || count < 500, "no program has {op}");
    }
}

/// Intervals that are a tenth too narrow, and errors that are a tenth of what is proven, do not hold.
#[test]
fn bounds_that_are_too_small_are_caught() {
    let programs = long::part(10, 20);
    let caught = |narrower: [f64; 2]| {
        let fails = |seed: &u64| {
            let mut tally = Tally { narrower, ..Tally::default() };
            check(&choices(*seed), *seed, &mut tally).is_err()
        };
        (0..programs).filter(fails).count() as u64
    };
    let (all, intervals, errors) = (caught([0.0; 2]), caught([0.1, 0.0]), caught([0.0, 0.9]));
    println!(
        "of {programs} programs {intervals} leave their intervals, {errors} exceed their errors"
    );
    let many = 2 * intervals >= programs && 4 * errors >= programs;
    assert!(all == 0 && many, "{all}, {intervals}, {errors}");
}
