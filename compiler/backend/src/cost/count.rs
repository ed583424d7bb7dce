//! What a circuit costs, instruction by instruction and in all.

use super::critical::critical;
use super::{links, memory, proofs, work};
use serde::Serialize;
use slvr_circuit::plan::operand;
use slvr_circuit::proof::{Proof, vectors};
use slvr_circuit::traffic::{Traffic, sent};
use slvr_circuit::{Circuit, Dom, Hold, Instr, Layer, Op};

/// The cost of a circuit. Arrays of three are by party.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Layers with an exchange.
    pub rounds: usize,
    /// Bytes sent, to parties and receivers.
    pub bytes: [u64; 3],
    /// Multiply-accumulates over rings.
    pub macs: [u64; 3],
    /// Bytes that local instructions read and write.
    pub touched: [u64; 3],
    /// Pseudorandom bytes expanded for masks.
    pub random: [u64; 3],
    /// Most bytes that values take at one time.
    pub peak_memory: [u64; 3],
    /// Bytes held at that time, at the party that holds most, by site of the values' definition.
    #[serde(skip)]
    pub peak_by_site: Vec<u64>,
    /// Bytes that one member of a party set uploads, by party set; 0 for a set that gives nothing.
    pub upload: Vec<u64>,
    /// Each layer, in order.
    pub layers: Vec<LayerCost>,
    /// Each instruction, in the order of evaluation, and each proof after those of its layer.
    #[serde(skip)]
    pub instrs: Vec<InstrCost>,
}

/// The cost of a layer. Fields that a [`Cost`] has, too, say the same of the layer alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LayerCost {
    /// 1 if it has an exchange, and the rounds of a proof before it.
    pub rounds: usize,
    /// Bytes sent by each party, those of a proof that begins before it included.
    pub bytes: [u64; 3],
    /// Bytes sent by the three parties, by [`Kind`], in the order of [`Kind::ALL`].
    pub kinds: [u64; 5],
    /// Most bytes that one party or receiver sends or receives: what the round waits for.
    pub busiest: u64,
    pub macs: [u64; 3],
    pub touched: [u64; 3],
    pub random: [u64; 3],
    pub peak_memory: [u64; 3],
    /// The site that the round waits for on the longest chain; `None` without an exchange.
    pub critical: Option<u32>,
    /// The proof that begins before its exchange, if there is one.
    pub proof: Option<ProofCost>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProofCost {
    /// Rounds that the run waits: none if it goes on beside the layers after it.
    pub rounds: usize,
    /// Bytes sent by each party.
    pub bytes: [u64; 3],
    /// Seconds that a party computes: an estimate.
    pub seconds: f64,
    /// Bytes that values and the vectors of a party take while it proves, at the party with most. Other figures of
    /// memory are those of values alone.
    pub memory: u64,
    /// The site of what waits for it: of the opening that it stands before. Of a proof that stands where no opening is,
    /// so that what is kept fits a budget of memory, that of the round that comes after it.
    pub site: u32,
}

/// The cost of an instruction, as that of a [`LayerCost`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InstrCost {
    pub layer: usize,
    /// Index into [`Circuit::sites`].
    pub site: u32,
    /// Its name; `proof` of a proof, which is no instruction.
    pub op: &'static str,
    /// What its bytes are for; `None` for a local instruction.
    pub kind: Option<Kind>,
    pub bytes: [u64; 3],
    pub macs: [u64; 3],
    pub touched: [u64; 3],
    pub random: [u64; 3],
    /// Bytes that values take once its result is there.
    pub memory: [u64; 3],
}

/// What an exchange is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Products over rings: words reshared.
    Products,
    /// And gates: bits reshared.
    Gates,
    /// Between the holders of a value that is split, x = a + b: the steps of truncation, comparison, bit
    /// injection.
    Split,
    /// Opened: reveals, public coins, public checks.
    Opened,
    /// Proofs, against a malicious party.
    Proofs,
}

impl Kind {
    /// All, in the order of [`LayerCost::kinds`].
    pub const ALL: [Kind; 5] =
        [Kind::Products, Kind::Gates, Kind::Split, Kind::Opened, Kind::Proofs];

    /// Of an instruction; `None` for a local one.
    pub fn of(circuit: &Circuit, op: &Op) -> Option<Kind> {
        let interaction = op.interaction()?;
        let bits = || matches!(operand(circuit, op).0, Dom::Bits(_));
        Some(match (interaction.from, interaction.to) {
            (_, None | Some(Hold::Public)) => Kind::Opened,
            ([Hold::Add3], _) if bits() => Kind::Gates,
            ([Hold::Add3], _) => Kind::Products,
            _ => Kind::Split,
        })
    }

    pub fn label(self) -> &'static str {
        match self {
            Kind::Products => "products of numbers",
            Kind::Gates => "gates on bits",
            Kind::Split => "between parts of a share",
            Kind::Opened => "opened",
            Kind::Proofs => "proofs",
        }
    }
}

impl Cost {
    /// Of a verified circuit.
    pub fn of(circuit: &Circuit) -> Cost {
        let traffic = Traffic::of(circuit);
        let memory = memory::replay(circuit);
        let chain = critical(circuit);
        let worked = proofs::with_seconds(circuit);
        let vectors = vectors(circuit, worked.iter().map(|(p, _)| p));
        let party =
            |by_layer: &[[u64; 3]], l: usize| by_layer.get(l).map_or(0, |n| busiest_party(*n));
        // While a proof is given, and of one that is waited for, before its layer.
        let held = |p: &Proof| {
            let (begins, ends) = (p.barrier.layer as usize, p.ends as usize);
            let waiting = party(&memory.starts, begins).saturating_add(vectors[begins][0]);
            let beside =
                (begins..ends).map(|l| party(&memory.layers, l).saturating_add(vectors[l][1]));
            beside.max().unwrap_or(0).max(waiting)
        };
        let mut all = Cost {
            rounds: traffic.rounds,
            bytes: traffic.bytes,
            macs: [0; 3],
            touched: [0; 3],
            random: [0; 3],
            peak_memory: memory.peak,
            peak_by_site: memory.peak_by_site,
            upload: links::upload(circuit),
            layers: Vec::with_capacity(circuit.layers.len()),
            instrs: Vec::with_capacity(circuit.instructions()),
        };
        let mut after = memory.after.into_iter();
        for (l, layer) in circuit.layers.iter().enumerate() {
            let critical = chain.get(l).copied().flatten();
            let proof = worked.iter().find(|(p, _)| p.barrier.layer as usize == l);
            let proof = proof.map(|(p, seconds)| ProofCost {
                rounds: p.waits[0],
                bytes: p.lengths.bytes(),
                seconds: *seconds,
                memory: held(p),
                site: waits_for_proof(layer, critical),
            });
            let proof = proof.filter(|p| p.rounds > 0 || p.bytes != [0; 3]);
            let (proof_rounds, proven) =
                proof.as_ref().map_or((0, [0; 3]), |p| (p.rounds, p.bytes));
            let mut cost = LayerCost {
                rounds: usize::from(!layer.exchange.is_empty()) + proof_rounds,
                busiest: links::busiest(circuit, layer) + busiest_party(proven),
                peak_memory: memory.layers.get(l).copied().unwrap_or_default(),
                critical,
                ..LayerCost::default()
            };
            let instrs = layer.local.iter().chain(&layer.exchange);
            let instrs =
                instrs.map(|i| instruction(circuit, l, i, after.next().unwrap_or_default()));
            for one in instrs.chain(proof.as_ref().map(|p| of_proof(l, p))) {
                add(&mut cost.bytes, one.bytes);
                add(&mut cost.macs, one.macs);
                add(&mut cost.touched, one.touched);
                add(&mut cost.random, one.random);
                if let Some(at) = Kind::ALL.iter().position(|k| Some(*k) == one.kind) {
                    cost.kinds[at] += one.bytes.iter().sum::<u64>();
                }
                all.instrs.push(one);
            }
            cost.proof = proof;
            add(&mut all.macs, cost.macs);
            add(&mut all.touched, cost.touched);
            add(&mut all.random, cost.random);
            all.layers.push(cost);
        }
        all
    }
}

/// The site of what waits for the proof before a layer, given what the layer's round waits for.
fn waits_for_proof(layer: &Layer, critical: Option<u32>) -> u32 {
    let opens = |i: &&Instr| i.op.interaction().is_some_and(|row| row.reveals());
    let openings = || layer.exchange.iter().filter(opens).map(|i| i.site);
    let chosen = openings().find(|site| Some(*site) == critical).or_else(|| openings().next());
    let asked =
        || layer.local.iter().find(|i| matches!(i.op, Op::Prove | Op::BeginProof)).map(|i| i.site);
    chosen.or(critical).or_else(asked).unwrap_or(0)
}

/// The proof before a layer, in the list of instructions. Its work is counted in seconds.
fn of_proof(layer: usize, proof: &ProofCost) -> InstrCost {
    let none = [0; 3];
    let (macs, touched, random, memory) = (none, none, none, none);
    let (site, bytes, kind) = (proof.site, proof.bytes, Some(Kind::Proofs));
    InstrCost { layer, site, op: "proof", kind, bytes, macs, touched, random, memory }
}

fn instruction(circuit: &Circuit, layer: usize, instr: &Instr, memory: [u64; 3]) -> InstrCost {
    InstrCost {
        layer,
        site: instr.site,
        op: instr.op.name(),
        kind: Kind::of(circuit, &instr.op),
        bytes: sent(circuit, instr),
        macs: work::macs(circuit, instr),
        touched: work::touched(circuit, instr),
        random: work::random(circuit, instr),
        memory,
    }
}

pub(super) fn add(to: &mut [u64; 3], more: [u64; 3]) {
    for (t, m) in to.iter_mut().zip(more) {
        *t = t.saturating_add(m);
    }
}

/// The mean over the parties, rounded down.
pub fn mean_party(by_party: [u64; 3]) -> u64 {
    by_party.iter().fold(0u64, |a, &b| a.saturating_add(b)) / 3
}

/// The party with most.
pub fn busiest_party(by_party: [u64; 3]) -> u64 {
    by_party.into_iter().max().unwrap_or(0)
}
