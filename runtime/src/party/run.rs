//! A run of one party from the handshake to its end.

use super::engine::{Engine, Party, PartyReport};
use super::error::{Phase, RunError};
use super::exchange::Round;
use super::guard::Guard;
use super::hello::{Hello, hash_public};
use super::local;
use super::registers::Registers;
use super::uploads::{Invalid, Replaced};
use crate::link::{Header, Kind, Peer};
use crate::share::state::Kept;
use crate::share::{Held, next, prev};
use slvr_circuit::plan::{self, LayerPlan, Step};
use slvr_circuit::ranges::{Division, Range};
use slvr_circuit::speculation::{Gated, Speculation, gated};
use slvr_circuit::verify::verify_with;
use slvr_circuit::{Circuit, From, Instr, Op, ValueId};
use slvr_ring::Data;
use std::collections::BTreeSet;

impl Party<'_> {
    /// Runs the circuit on what this party holds of the inputs, in declaration order: `One` for a
    /// public input, `Rep` for a secret one. In place of one that is loaded in parts stands any `One` if
    /// [`Uploads::source`](super::Uploads) has it. What stands in the places of states is ignored. If the circuit has
    /// states, the party keeps the second result for the next round.
    ///
    /// # Errors
    ///
    /// A state that is not this circuit's or this party's, and whatever goes wrong here or at a peer; the others have
    /// been told.
    pub fn run(self, inputs: Vec<Held>) -> Result<(PartyReport, Option<Kept>), RunError> {
        let mut engine = Engine::new(self);
        let done = engine.all(inputs);
        if done.is_err() {
            engine.abort();
        }
        done
    }
}

/// The members of whom the circuit reads that they give nothing in this run.
fn away(circuit: &Circuit, inputs: &[Held]) -> BTreeSet<(u32, u64)> {
    let bits = |(input, held): (&slvr_circuit::Input, &Held)| match (input.from, held) {
        (From::Present(set), Held::One(bits)) => Some((set, bits.to_bools())),
        _ => None,
    };
    let each = circuit.inputs.iter().zip(inputs).filter_map(bits);
    each.flat_map(|(set, bits)| {
        let out = (0..).zip(bits).filter(|(_, here)| !here);
        out.map(move |(member, _)| (set, member)).collect::<Vec<_>>()
    })
    .collect()
}

/// What is known of a circuit while its layers are walked through.
struct Walk<'a> {
    circuit: &'a Circuit,
    ranges: &'a [Range],
    /// Number of each layer's first instruction.
    starts: Vec<usize>,
    gated: Vec<Option<Gated>>,
}

impl Engine<'_> {
    fn all(&mut self, mut inputs: Vec<Held>) -> Result<(PartyReport, Option<Kept>), RunError> {
        let circuit = self.party.circuit;
        verify_with(circuit, self.party.doors.openings)?;
        let before = self.take_state(&mut inputs)?;
        self.regs = Registers::new(circuit.types.len());
        self.guard = Guard::of(circuit);
        self.check_inputs(&inputs)?;
        self.away = away(circuit, &inputs);
        self.greet(&inputs, before.as_ref())?;
        let inputs = self.settle(inputs)?;
        self.load(inputs);
        match self.party.workers {
            None => self.layers(&plan::plan(circuit), &[], 0)?,
            Some(_) => {
                let Division { ranges, party, .. } = Division::of(circuit);
                self.layers(&party, &ranges, 0)?;
            }
        }
        self.close()?;
        let mut coins = std::mem::take(&mut self.coins);
        coins.sort_unstable();
        let kept = std::mem::take(&mut self.kept).into_values().collect();
        let kept = before.map(|before| Kept::after(&before, self.party.run, kept));
        let report = PartyReport {
            rounds: self.rounds,
            bytes_sent: self.bytes_sent,
            peak_memory: self.regs.peak(),
            workers_memory: std::mem::take(&mut self.workers_memory),
            coins: coins.into_iter().map(|(_, coin)| coin).collect(),
            replaced: self.all_replaced(),
            admitted: std::mem::take(&mut self.admitted),
        };
        Ok((report, kept))
    }

    /// What the party has kept of the round before, put where the inputs have states; nothing if there are none.
    fn take_state(&mut self, inputs: &mut [Held]) -> Result<Option<Kept>, RunError> {
        let circuit = self.party.circuit;
        if circuit.states().next().is_none() {
            return Ok(None);
        }
        let kept = self.party.state.take().unwrap_or_else(|| Kept::start(circuit, self.me));
        kept.check_owner(circuit, self.me)?;
        for ((i, _), share) in circuit.states().zip(kept.shares()) {
            if let Some(place) = inputs.get_mut(i) {
                *place = Held::Rep(share);
            }
        }
        Ok(Some(kept))
    }

    /// The steps of a plan from a layer on.
    pub(super) fn layers(
        &mut self,
        plans: &[LayerPlan],
        ranges: &[Range],
        from: usize,
    ) -> Result<(), RunError> {
        let circuit = self.party.circuit;
        let speculation = Speculation::of(circuit);
        let walk = Walk { circuit, ranges, starts: plan::starts(circuit), gated: gated(circuit) };
        // The layer before, while some of its messages are under way.
        let mut before: Option<Round> = None;
        let mut l = from;
        if let Some(invalid) = self.unusable() {
            return self.stop(invalid);
        }
        while let (Some(layer), Some(plan), Some(&first)) =
            (circuit.layers.get(l), plans.get(l), walk.starts.get(l))
        {
            self.phase = Phase::Layer(l as u32);
            self.barrier(l)?;
            let interactive = (first + layer.local.len()) as u64;
            // All of them, unless bits that are opened are known.
            let order = plan.order.iter().copied().filter(|&j| !self.knows(&layer.exchange[j]));
            let order: Vec<usize> = order.collect();
            let mut round = self.round(l as u32, &order, interactive);
            let sent = plan.steps.iter().rposition(|step| matches!(step, Step::Send(_)));
            for (at, &step) in plan.steps.iter().enumerate() {
                self.step(&walk, l, (&mut before, &mut round), step)?;
                if sent == Some(at) {
                    // Proofs that go on beside this layer compute while its messages are under way.
                    self.tell_proofs()?;
                    self.carry(l + 1)?;
                }
            }
            if sent.is_some() {
                self.hear_proofs()?;
            }
            if self.guard.is_some() {
                self.vouch(l, interactive)?;
                self.opened.clear();
            }
            // What workers send in this layer belongs to its round.
            let exchanges = layer.exchange.iter().any(|instr| !self.knows(instr));
            self.rounds += usize::from(exchanges);
            if let Some(invalid) = self.unusable() {
                self.settle_layer(l, &mut round, plans.get(l + 1))?;
                return self.stop(invalid);
            }
            before = Some(round);
            if let Some(progress) = self.party.progress {
                progress(l + 1, circuit.layers.len());
            }
            l = match &speculation {
                Some(s) if s.last == l && self.goes_back(s) => s.first,
                _ => l + 1,
            };
        }
        Ok(())
    }

    /// A step of layer l, whose messages and those of the layer before are `round` and `before`.
    fn step(
        &mut self,
        walk: &Walk<'_>,
        l: usize,
        (before, round): (&mut Option<Round>, &mut Round),
        step: Step,
    ) -> Result<(), RunError> {
        let layer = &walk.circuit.layers[l];
        match step {
            Step::Give(range) => self.give(walk.ranges, range)?,
            Step::Take(range) => self.take(walk.ranges, range)?,
            Step::Ahead(place) => {
                let instr = plan::instr(walk.circuit, place);
                let number = (walk.starts[place.layer] + place.at) as u64;
                self.evaluate(instr, number, &walk.gated)?;
            }
            Step::Local(i) => {
                let instr = &layer.local[i];
                if let Op::Keep { x, input } = instr.op {
                    let x = self.regs.rep(x);
                    let shares = [Data::clone(&x.first), Data::clone(&x.second)];
                    self.kept.insert(input, shares);
                }
                self.evaluate(instr, (walk.starts[l] + i) as u64, &walk.gated)?;
            }
            Step::Send(j) if self.knows(&layer.exchange[j]) => {}
            Step::Send(j) => self.send_part(round, j, &layer.exchange[j])?,
            // Done the first time.
            Step::Finish { layer, .. } if self.attempt.again_from == Some(layer + 1) => {}
            Step::Finish { layer, exchange } => {
                let instr = &walk.circuit.layers[layer].exchange[exchange];
                match before {
                    _ if self.knows(instr) => self.recall(instr),
                    Some(before) if layer < l => self.complete(before, exchange, instr)?,
                    _ => self.complete(round, exchange, instr)?,
                }
            }
            Step::Drop(v) => self.regs.drop(v),
        }
        Ok(())
    }

    /// Takes in what is on its way after layer l, so that the end comes where the others expect it.
    fn settle_layer(
        &mut self,
        l: usize,
        round: &mut Round,
        later: Option<&LayerPlan>,
    ) -> Result<(), RunError> {
        let exchange = &self.party.circuit.layers[l].exchange;
        let Some(later) = later.filter(|plan| !plan.steps.is_empty()) else { return Ok(()) };
        for &step in &later.steps {
            if let Step::Finish { layer, exchange: j } = step
                && layer == l
            {
                self.complete(round, j, &exchange[j])?;
            }
        }
        self.barrier(l + 1)
    }

    /// Defines the result of a local instruction, by its number. Every one but `keep` and `prove` has one.
    fn evaluate(
        &mut self,
        instr: &Instr,
        number: u64,
        gated: &[Option<Gated>],
    ) -> Result<(), RunError> {
        let Some(v) = instr.out else { return Ok(()) };
        let value = match instr.op {
            Op::Admitted { check, members } => self.assumed(check, members),
            Op::Load { x, start, len } => self.loaded(x, start..start + len)?,
            _ => match self.kept(gated[v.index()]) {
                Some(x) => x,
                None => self.local(&instr.op, v, number)?,
            },
        };
        self.define(v, value);
        Ok(())
    }

    /// The result v of a local instruction, by its number.
    fn local(&self, op: &Op, v: ValueId, number: u64) -> Result<Held, RunError> {
        let done = local::eval(self.party.circuit, self.context(number), &self.regs, op, v);
        done.map_err(|source| RunError::Index { phase: self.phase, source })
    }

    /// Inputs come from the outside: they must have the declared holders, domains and lengths.
    fn check_inputs(&self, inputs: &[Held]) -> Result<(), RunError> {
        let circuit = self.party.circuit;
        let loaded = circuit.loaded();
        for (j, input) in circuit.inputs.iter().enumerate() {
            let ty = circuit.ty(input.value);
            if loaded.contains(&input.value) && matches!(inputs.get(j), Some(Held::One(_))) {
                continue;
            }
            let fits = |x: &Data| x.dom() == ty.dom && x.len() as u64 == ty.elements();
            let secret = input.from.is_secret();
            let good = match inputs.get(j) {
                Some(Held::One(x)) => !secret && fits(x),
                Some(Held::Rep(x)) => secret && fits(&x.first) && fits(&x.second),
                None => false,
            };
            if !good {
                return Err(RunError::Shape(input.name.clone()));
            }
        }
        Ok(())
    }

    /// Compares hashes with the peers.
    fn greet(&mut self, inputs: &[Held], state: Option<&Kept>) -> Result<(), RunError> {
        let given = self.party.circuit.inputs.iter().zip(inputs);
        let public = given.filter_map(|(input, held)| match held {
            Held::One(x) if !input.from.is_secret() => Some(&**x),
            Held::One(_) | Held::Rep(_) => None,
        });
        let mine = Hello::new(
            self.party.doors.says.unwrap_or(self.party.circuit),
            hash_public(public),
            self.party.run,
        );
        let mine = mine.of_history(state.map(Kept::history));
        let body = mine.encode();
        for peer in self.everybody() {
            let header = Header::new(Kind::Hello, 0, body.len());
            self.send(peer, header, body.clone())?;
        }
        for peer in self.peers() {
            let header = Header::new(Kind::Hello, 0, body.len());
            let theirs = self.recv(peer, header)?;
            mine.compare(&theirs).map_err(|what| RunError::Mismatch { peer, what })?;
        }
        state.map_or(Ok(()), |state| self.compare_shares(state))
    }

    /// Each two parties hold a component of the state: they compare digests of it.
    fn compare_shares(&mut self, state: &Kept) -> Result<(), RunError> {
        let digests = [false, true].map(|second| state.digest(second, self.party.run));
        let header = Header { part: 1, ..Header::new(Kind::Hello, 0, 32) };
        // The next party has this one's second component as its first.
        let [before, after] = [Peer::Party(prev(self.me)), Peer::Party(next(self.me))];
        for (peer, digest) in [(before, digests[0]), (after, digests[1])] {
            self.send(peer, header, digest.to_vec())?;
        }
        for (peer, digest) in [(before, digests[0]), (after, digests[1])] {
            if self.recv(peer, header)? != digest {
                return Err(RunError::Mismatch { peer, what: "another share of the state" });
            }
        }
        Ok(())
    }

    fn load(&mut self, inputs: Vec<Held>) {
        let circuit = self.party.circuit;
        let loaded = circuit.loaded();
        for (input, held) in circuit.inputs.iter().zip(inputs) {
            match held {
                Held::Rep(all) if loaded.contains(&input.value) => {
                    self.given.insert(input.value, all);
                }
                Held::One(_) if loaded.contains(&input.value) => {}
                held => self.define(input.value, held),
            }
        }
        for c in &circuit.consts {
            let data = Data::from_u128s(circuit.ty(c.value).dom, &c.data);
            self.define(c.value, Held::one(data));
        }
    }

    /// Clients whose inputs cannot be used, if the run is to end then and every verdict is known. Of what these
    /// clients gave nothing has been opened by then: an output is opened only after the checks of all sets that it is of.
    fn unusable(&self) -> Option<Vec<Replaced>> {
        let is_known = self.admitted.iter().all(|(_, bits)| !bits.is_empty());
        if self.party.invalid == Invalid::Zeros || !is_known {
            return None;
        }
        let mut replaced = self.all_replaced();
        replaced.retain(|r| !self.away.contains(&(r.set, r.member)));
        (!replaced.is_empty()).then_some(replaced)
    }

    /// Ends the run without an output. Each party hears that the others are as far before any of them goes away.
    fn stop(&mut self, invalid: Vec<Replaced>) -> Result<(), RunError> {
        let header = Header::new(Kind::Done, 0, 0);
        for peer in self.peers() {
            self.send(peer, header, Vec::new())?;
        }
        for peer in self.peers() {
            self.recv(peer, header)?;
        }
        Err(RunError::Invalid(invalid))
    }

    fn close(&mut self) -> Result<(), RunError> {
        self.phase = Phase::Closing;
        for (kind, told) in [(Kind::Done, self.peers().to_vec()), (Kind::Agreed, self.everybody())]
        {
            let header = Header::new(kind, 0, 0);
            for peer in told {
                self.send(peer, header, Vec::new())?;
            }
            for peer in self.peers() {
                self.recv(peer, header)?;
            }
        }
        Ok(())
    }

    /// Tells everybody that this party has stopped. Who cannot be reached will notice by itself.
    pub(super) fn abort(&mut self) {
        let layer = match self.phase {
            Phase::Layer(l) => l,
            Phase::Handshake | Phase::Inputs | Phase::Closing => 0,
        };
        for peer in self.everybody() {
            // The run has failed already; there is nobody left to tell about this failure.
            let _ = self.party.link.send(peer, Header::new(Kind::Abort, layer, 0), Vec::new());
        }
    }
}
