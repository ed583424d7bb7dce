//! The same circuit on plain values: for tests, exact evaluation and simulation.
//!
//! Lives here: the meaning of every local operation on plain tensors ([`plain`]) and the loop over
//! the layers ([`evaluate`], [`Evaluator`]). May not: shares, links.
//!
//! One plain tensor stands for a value, whoever holds it: a `Rep`, `Add3` or `Add2` value is its
//! sum; of a split x = a + b, `Own(x)` is a and `Dup(x)` is b. b is pseudorandom, from the id of x
//! and a seed, so that carries and wraps (in truncation, comparison, conversion) are exercised as
//! among parties; what a circuit reveals must not depend on it beyond its stated error. `Own` and
//! `Dup` that belong together must be taken of the same value id. What two parties know and hold as a replicated value
//! (`Trivial` of a `Dup` value) is all part b, as it is among the parties. Against a malicious party owners know their parts
//! ahead, of masks and of what linear instructions make of them: there the part b of a joined value is what was joined, that of
//! what an owner inputs is 0, and linear instructions act on parts.

pub mod plain;

use crate::protocol::committee::drawn;
use crate::share::reveal::Revealed;
use crate::share::{Prg, Purpose, RunId, Seed, Stream};
use slvr_circuit::interaction::{COINS, Outcome};
use slvr_circuit::proof::is_linear;
use slvr_circuit::speculation::Speculation;
use slvr_circuit::verify::{Openings, VerifyError, verify_with};
use slvr_circuit::{Circuit, Dom, Hold, Instr, Op, SplitPart, ValueId};
use slvr_ring::Data;
use slvr_ring::layout::IndexOutOfRange;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// From which the parts b of all splits are drawn.
    pub seed: u64,
    /// The results of the circuit's coin instructions, in order, e.g. those of a run among parties.
    /// Drawn from `seed` where there are none.
    pub coins: &'a [u128],
    /// The values of the circuit's random instructions by their tags, e.g. those of a run among parties, an entry for
    /// each element. Drawn from `seed` where there are none.
    pub random: &'a [Vec<u128>],
    /// Whether to keep every value.
    pub trace: bool,
}

/// What a circuit evaluates to.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The revealed tensors, in the order of the circuit's outputs.
    pub outputs: Vec<Revealed>,
    /// The coins that were used.
    pub coins: Vec<u128>,
    /// For each of the circuit's checks its party set and which members' inputs were admitted.
    pub admitted: Vec<(u32, Vec<bool>)>,
    /// Every value that is defined, by id; empty without [`Options::trace`].
    pub trace: Vec<Option<Data>>,
    /// What each state is in the next round, by index of the input.
    pub states: BTreeMap<usize, Data>,
}

/// Why a circuit cannot be evaluated.
#[derive(Debug, Error)]
pub enum ClearError {
    /// The circuit is not well formed.
    #[error("the circuit is not well formed: {0}")]
    Circuit(#[from] VerifyError),
    /// An input has another domain or length than the circuit declares.
    #[error("input `{0}` does not have the declared number of elements")]
    Input(String),
    /// A public index points outside the axis it indexes.
    #[error("layer {layer}: {source}")]
    Index { layer: usize, source: IndexOutOfRange },
}

/// Evaluates a circuit on the values of its inputs, in declaration order.
///
/// # Errors
///
/// A circuit that is not well formed, inputs that it does not declare, an index outside its axis.
pub fn evaluate(
    circuit: &Circuit,
    inputs: Vec<Data>,
    options: &Options<'_>,
) -> Result<Evaluation, ClearError> {
    Evaluator::new(circuit)?.evaluate(inputs, options)
}

/// A circuit that was verified, to be evaluated on many inputs: for small circuits the verifier takes longer than the
/// evaluation.
#[derive(Clone, Debug)]
pub struct Evaluator<'a> {
    circuit: &'a Circuit,
    known: BTreeSet<ValueId>,
    speculation: Option<Speculation>,
}

impl<'a> Evaluator<'a> {
    /// # Errors
    ///
    /// The circuit is not well formed.
    pub fn new(circuit: &'a Circuit) -> Result<Evaluator<'a>, VerifyError> {
        // Whoever evaluates it in the clear has all inputs.
        verify_with(circuit, Openings::Any)?;
        Ok(Evaluator { circuit, known: known(circuit), speculation: Speculation::of(circuit) })
    }

    /// As [`evaluate`].
    ///
    /// # Errors
    ///
    /// Inputs that the circuit does not declare, an index outside its axis.
    pub fn evaluate(
        &self,
        inputs: Vec<Data>,
        options: &Options<'_>,
    ) -> Result<Evaluation, ClearError> {
        let circuit = self.circuit;
        let mut run = Run {
            circuit,
            options,
            values: vec![None; circuit.types.len()],
            known_b: vec![None; circuit.types.len()],
            known: &self.known,
            coins: Vec::new(),
            outputs: vec![None; circuit.outputs.len()],
            admitted: vec![Vec::new(); circuit.checks.len()],
            assumed: None,
            states: BTreeMap::new(),
        };
        let mut inputs = inputs.into_iter();
        for input in &circuit.inputs {
            let ty = circuit.ty(input.value);
            let fits = |x: &Data| x.dom() == ty.dom && x.len() as u64 == ty.elements();
            let x = inputs.next().filter(fits);
            let x = x.ok_or_else(|| ClearError::Input(input.name.clone()))?;
            run.values[input.value.index()] = Some(x);
        }
        for c in &circuit.consts {
            let x = Data::from_u128s(circuit.ty(c.value).dom, &c.data);
            run.values[c.value.index()] = Some(x);
        }
        let mut l = 0;
        while let Some(layer) = circuit.layers.get(l) {
            for instr in layer.local.iter().chain(&layer.exchange) {
                run.step(instr).map_err(|source| ClearError::Index { layer: l, source })?;
            }
            // As the parties: what was computed as if all members had passed is computed again. What older
            // values it reads is not dropped before.
            let speculation = self.speculation.as_ref();
            if let Some(repeated) = speculation.filter(|s| s.last == l && run.assumed.is_none()) {
                let bits = circuit.checks.iter().map(|c| c.set).zip(run.admitted.iter().cloned());
                if repeated.repeats(&bits.collect::<Vec<_>>()) {
                    run.assumed = Some(run.admitted.clone());
                    l = repeated.first;
                    continue;
                }
            }
            if !options.trace {
                for v in &layer.drop {
                    run.values[v.index()] = None;
                    run.known_b[v.index()] = None;
                }
            }
            l += 1;
        }
        let trace = if options.trace { run.values } else { Vec::new() };
        let revealed = run.outputs.into_iter().zip(&circuit.outputs);
        let outputs = revealed.filter_map(|(x, o)| Some(Revealed::new(o, x?))).collect();
        let admitted = circuit.checks.iter().map(|c| c.set).zip(run.admitted).collect();
        Ok(Evaluation { outputs, coins: run.coins, admitted, trace, states: run.states })
    }
}

/// The replicated values that two parties know.
fn known(circuit: &Circuit) -> BTreeSet<ValueId> {
    let all = circuit.layers.iter().flat_map(|l| &l.local);
    all.filter_map(|i| match i.op {
        Op::Trivial(x) if circuit.ty(x).hold == Hold::Dup => i.out,
        _ => None,
    })
    .collect()
}

/// The value of an `admitted`: the bits that are assumed, all ones without any.
pub(crate) fn admitted(bits: Option<&[bool]>, members: u64) -> Data {
    let mut all = Data::zeros(Dom::Bits(1), members as usize);
    match bits {
        None => all.offset(1),
        Some(bits) => {
            let bits: Vec<u128> = bits.iter().map(|&b| b.into()).collect();
            all = Data::from_u128s(Dom::Bits(1), &bits);
        }
    }
    all
}

struct Run<'a> {
    circuit: &'a Circuit,
    options: &'a Options<'a>,
    values: Vec<Option<Data>>,
    /// Parts b that are not drawn.
    known_b: Vec<Option<Data>>,
    known: &'a BTreeSet<ValueId>,
    coins: Vec<u128>,
    outputs: Vec<Option<Data>>,
    admitted: Vec<Vec<bool>>,
    /// What is assumed of the checks in a second attempt; in the first, that all members pass.
    assumed: Option<Vec<Vec<bool>>>,
    states: BTreeMap<usize, Data>,
}

impl Run<'_> {
    fn get(&self, v: ValueId) -> &Data {
        match &self.values[v.index()] {
            Some(x) => x,
            None => unreachable!("the verifier admits only values that are defined and alive"),
        }
    }

    fn step(&mut self, instr: &Instr) -> Result<(), IndexOutOfRange> {
        if let Op::Keep { x, input } = instr.op {
            self.states.insert(input as usize, self.get(x).clone());
            return Ok(());
        }
        // Nobody has to prove anything to itself.
        if matches!(instr.op, Op::Prove | Op::BeginProof) {
            return Ok(());
        }
        let value = match instr.op.interaction() {
            Some(interaction) => self.interaction(&instr.op, interaction.result),
            None => self.local(instr)?,
        };
        if let Op::OpenTo { output, .. } = instr.op {
            self.outputs[output as usize] = Some(value);
            return Ok(());
        }
        if let Some(out) = instr.out {
            let checks = self.circuit.checks.iter().zip(&mut self.admitted);
            for (_, admitted) in checks.filter(|(c, _)| c.value == out) {
                *admitted = value.to_bools();
            }
            self.known_b[out.index()] = self.known_b(&instr.op, &value)?;
            self.values[out.index()] = Some(value);
        }
        Ok(())
    }

    /// The part b of a result, where it follows from how the value is made.
    fn known_b(&self, op: &Op, value: &Data) -> Result<Option<Data>, IndexOutOfRange> {
        if !self.circuit.security.is_malicious() {
            return Ok(None);
        }
        let rep = |v: &ValueId| self.circuit.ty(*v).hold == Hold::Rep;
        Ok(match op {
            Op::Join { dup, .. } => Some(self.get(*dup).clone()),
            Op::Input(_) => Some(Data::zeros(value.dom(), value.len())),
            op if is_linear(op) && op.operands().iter().all(rep) => {
                let operands: Vec<(Data, &[u64])> = op
                    .operands()
                    .into_iter()
                    .map(|v| (self.part_b(v), self.circuit.ty(v).shape.as_slice()))
                    .collect();
                let args: Vec<plain::Arg<'_>> = operands.iter().map(|(x, s)| (x, *s)).collect();
                Some(plain::eval(op, &args)?)
            }
            _ => None,
        })
    }

    /// What an interactive instruction results in, by the table of interactions.
    fn interaction(&mut self, op: &Op, result: Outcome) -> Data {
        match (result, &op.operands()[..]) {
            (Outcome::Operand, &[x]) => self.get(x).clone(),
            (Outcome::Difference, &[x, y]) => {
                let mut x = self.get(x).clone();
                x.sub_assign(self.get(y));
                x
            }
            (Outcome::Random, []) => {
                let given = self.options.coins.get(self.coins.len()).copied();
                let coin = given.unwrap_or_else(|| {
                    let s = Stream::new(self.coins.len() as u64, Purpose::Coin);
                    u128::from_le_bytes(self.prg().bytes(s))
                });
                self.coins.push(coin);
                Data::from_u128s(COINS, &[coin])
            }
            _ => unreachable!("a row of the table has the operands that its result is made of"),
        }
    }

    fn local(&self, instr: &Instr) -> Result<Data, IndexOutOfRange> {
        Ok(match &instr.op {
            Op::Own(x) if self.circuit.ty(*x).hold == Hold::Mask => self.get(*x).clone(),
            Op::Own(x) | Op::OwnOf(x, _) | Op::MaskOf(x, _) => {
                let mut a = self.get(*x).clone();
                a.sub_assign(&self.part_b(*x));
                a
            }
            Op::Dup(x) | Op::DupOf(x, _) => self.part_b(*x),
            Op::Project {
                x,
                coin,
                tests,
                part: part @ (SplitPart::Own(_) | SplitPart::Dup(_)),
            } => {
                let mut of = self.part_b(*x);
                if let SplitPart::Own(_) = part {
                    of.sub_from(self.get(*x));
                }
                let coin = self.get(*coin).get_u128(0);
                let [sums] = plain::project([&of], &self.circuit.ty(*x).shape, coin, *tests);
                sums
            }
            Op::Mask { tag, .. } => {
                let ty = instr.out.map(|v| self.circuit.ty(v));
                let (dom, n) = ty.map_or((Dom::Bits(1), 0), |t| (t.dom, t.elements() as usize));
                // Beyond the ids of values, which name the splits.
                let stream = Stream::new((1 << 32) + u64::from(*tag), Purpose::Split);
                self.prg().draw(stream, dom, 0, n)
            }
            Op::Random { tag, dom, shape } => {
                let n = shape.iter().product::<u64>() as usize;
                let given = self.options.random.get(*tag as usize).filter(|w| w.len() == n);
                match given {
                    Some(words) => Data::from_u128s(*dom, words),
                    None => {
                        // Beyond the names of masks, which are numbers of 32 bits.
                        let stream = Stream::new((2 << 32) + u64::from(*tag), Purpose::Split);
                        self.prg().draw(stream, *dom, 0, n)
                    }
                }
            }
            Op::Join { mask, dup } => {
                let mut x = self.get(*mask).clone();
                x.add_assign(self.get(*dup));
                x
            }
            Op::AsAdd2(x) | Op::AsAdd2Of(x, _) if self.circuit.ty(*x).hold == Hold::Add3 => {
                self.part_b(*x)
            }
            Op::AsAdd2(x) | Op::AsAdd2Of(x, _) | Op::AsAdd3(x) | Op::Trivial(x) => {
                self.get(*x).clone()
            }
            op @ (Op::Committee { coin, .. } | Op::Draw { coin, .. }) => {
                drawn(op, self.get(*coin).get_u128(0))
            }
            Op::Admitted { check, members } => {
                let bits = self.assumed.as_ref().and_then(|a| a.get(*check as usize));
                admitted(bits.map(Vec::as_slice), *members)
            }
            op => {
                let args: Vec<plain::Arg<'_>> = op
                    .operands()
                    .into_iter()
                    .map(|v| (self.get(v), self.circuit.ty(v).shape.as_slice()))
                    .collect();
                plain::eval(op, &args)?
            }
        })
    }

    fn prg(&self) -> Prg {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.options.seed.to_le_bytes());
        Prg::new(&Seed::new(bytes), RunId([0; 16]))
    }

    /// The part b of the split of x: the same for `Own(x)` and `Dup(x)`.
    fn part_b(&self, x: ValueId) -> Data {
        let value = self.get(x);
        if let Some(known) = &self.known_b[x.index()] {
            return known.clone();
        }
        if self.known.contains(&x) {
            return value.clone();
        }
        self.prg().draw(Stream::new(x.0.into(), Purpose::Split), value.dom(), 0, value.len())
    }
}
