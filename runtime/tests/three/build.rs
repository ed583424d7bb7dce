//! Small circuits by hand.

use slvr_circuit::Dom;
use slvr_circuit::verify::infer;
use slvr_circuit::{
    Circuit, Const, Encoding, From, Hold, Input, Instr, Layer, Op, Output, PartySet, Site, Type,
    ValueId,
};
use slvr_ring::Data;
use slvr_runtime::share::encode::Encoded;

/// The ways to ask for a proof: one that is waited for, and one that goes on beside the layers after it.
pub const PROVES: [Op; 2] = [Op::Prove, Op::BeginProof];

/// Party set 0 is one client, set 1 the receiver.
pub struct Builder {
    circuit: Circuit,
    encoded: Encoded,
}

impl Builder {
    pub fn new() -> Self {
        let set = |name: &str| PartySet { name: name.into(), size: 1 };
        let circuit = Circuit {
            name: "test".into(),
            sizes: vec![],
            parties: vec![set("Client"), set("Server")],
            inputs: vec![],
            consts: vec![],
            types: vec![],
            sites: vec![Site { name: "test".into(), line: 0 }],
            layers: vec![Layer::default()],
            outputs: vec![],
            checks: vec![],
            security: Default::default(),
        };
        let encoded = Encoded { sets: vec![vec![vec![]], vec![]], ..Encoded::default() };
        Builder { circuit, encoded }
    }

    pub fn ty(&self, v: ValueId) -> &Type {
        self.circuit.ty(v)
    }

    fn value(&mut self, ty: Type) -> ValueId {
        self.circuit.types.push(ty);
        ValueId(self.circuit.types.len() as u32 - 1)
    }

    fn input(&mut self, from: From, hold: Hold, k: u32, shape: &[u64]) -> (usize, ValueId) {
        // One client: its axis has size 1 and comes first.
        let own = if hold == Hold::Rep { &shape[1..] } else { shape };
        let value = self.value(Type::new(hold, Dom::Ring(k), shape));
        let index = self.circuit.inputs.len();
        self.circuit.inputs.push(Input {
            name: format!("in{index}"),
            from,
            encoding: Encoding::Int { lo: 0, hi: 100 },
            shape: own.to_vec(),
            fields: vec![],
            value,
        });
        (index, value)
    }

    /// A secret input over Z_2^k; the first axis, of size 1, is the client's.
    pub fn secret(&mut self, k: u32, shape: &[u64], xs: &[u128]) -> ValueId {
        let (index, value) = self.input(From::Each(0), Hold::Rep, k, shape);
        let data = Data::from_u128s(Dom::Ring(k), xs);
        self.encoded.sets[0][0].push((index as u64, data));
        value
    }

    pub fn public(&mut self, k: u32, shape: &[u64], xs: &[u128]) -> ValueId {
        let (index, value) = self.input(From::Public, Hold::Public, k, shape);
        self.encoded.public.insert(index, Data::from_u128s(Dom::Ring(k), xs));
        value
    }

    pub fn constant(&mut self, dom: Dom, shape: &[u64], xs: Vec<u128>) -> ValueId {
        let value = self.value(Type::new(Hold::Public, dom, shape));
        let data = Data::from_u128s(dom, &xs).to_u128s();
        self.circuit.consts.push(Const { value, data });
        value
    }

    fn layer(&mut self) -> &mut Layer {
        self.circuit.layers.last_mut().unwrap()
    }

    /// An operation with the type that it has by the rules, if it has one.
    pub fn infer(&mut self, op: Op) -> Option<ValueId> {
        let ty = infer(&op, &|v| self.circuit.ty(v)).ok()??;
        Some(self.typed(op, ty))
    }

    /// An operation that the rules allow.
    pub fn must(&mut self, op: Op) -> ValueId {
        match infer(&op, &|v| self.circuit.ty(v)) {
            Ok(Some(ty)) => self.typed(op, ty),
            other => panic!("{op:?}: {other:?}"),
        }
    }

    /// Plane j of shared bits, seen as words of k bits: the owner's part and the others'.
    pub fn bit_as_words(&mut self, bits: ValueId, j: u32, k: u32) -> [ValueId; 2] {
        let bit = self.must(Op::Planes { x: bits, start: j, step: 1, count: 1 });
        let (u, v) = (self.must(Op::Own(bit)), self.must(Op::Dup(bit)));
        let (u, v) = (self.must(Op::FromBits(u, k)), self.must(Op::FromBits(v, k)));
        [self.must(Op::Input(u)), self.must(Op::Trivial(v))]
    }

    pub fn op(&mut self, op: Op, hold: Hold, dom: Dom, shape: &[u64]) -> ValueId {
        self.typed(op, Type::new(hold, dom, shape))
    }

    fn typed(&mut self, op: Op, ty: Type) -> ValueId {
        let out = self.value(ty);
        let instr = Instr { out: Some(out), op, site: 0 };
        if instr.op.is_interactive() {
            self.layer().exchange.push(instr);
        } else {
            self.layer().local.push(instr);
        }
        out
    }

    /// An operation whose result has the operand's domain and shape.
    pub fn same(&mut self, op: Op, hold: Hold) -> ValueId {
        let ty = self.ty(op.operands()[0]).clone();
        let groups = if hold.is_sharded() { ty.groups } else { 0 };
        self.typed(op, Type { hold, groups, ..ty })
    }

    pub fn next_layer(&mut self) {
        self.circuit.layers.push(Layer::default());
    }

    /// An interactive operation that keeps domain and shape, and the end of its layer.
    pub fn round(&mut self, op: Op, hold: Hold) -> ValueId {
        let v = self.same(op, hold);
        self.next_layer();
        v
    }

    /// Reveals a replicated ring value.
    pub fn reveal(&mut self, x: ValueId, frac: u32, divisor: f64) {
        let z = self.same(Op::AsAdd3(x), Hold::Add3);
        self.reveal_words(z, frac, divisor);
    }

    /// Reveals replicated values after a resharing, as circuits against a malicious party do.
    pub fn reveal_reshared(&mut self, values: Vec<ValueId>) {
        let reshare = |x| {
            let z = self.must(Op::AsAdd3(x));
            self.must(Op::Reshare(z))
        };
        let fresh: Vec<ValueId> = values.into_iter().map(reshare).collect();
        self.next_layer();
        fresh.into_iter().for_each(|x| self.reveal(x, 0, 1.0));
    }

    /// Reveals an `Add3` value.
    pub fn reveal_words(&mut self, z: ValueId, frac: u32, divisor: f64) {
        let ty = self.ty(z).clone();
        let output = self.circuit.outputs.len() as u32;
        self.circuit.outputs.push(Output {
            name: format!("out{output}"),
            to: 1,
            shape: ty.shape.clone(),
            ring: ty.bits(),
            frac,
            factor: 1.0,
            divisor,
            fields: vec![],
        });
        let op = Op::OpenTo { x: z, output };
        self.layer().exchange.push(Instr { out: None, op, site: 0 });
    }

    /// The circuit, with every value dropped after its last use, and its inputs.
    pub fn finish(mut self) -> (Circuit, Encoded) {
        if self.circuit.layers.last().is_some_and(|l| l.local.is_empty() && l.exchange.is_empty())
            && self.circuit.layers.len() > 1
        {
            self.circuit.layers.pop();
        }
        let mut last = vec![0; self.circuit.types.len()];
        for (l, layer) in self.circuit.layers.iter().enumerate() {
            for instr in layer.local.iter().chain(&layer.exchange) {
                for v in instr.op.operands().into_iter().chain(instr.out) {
                    last[v.index()] = l;
                }
            }
        }
        for (v, l) in last.into_iter().enumerate() {
            self.circuit.layers[l].drop.push(ValueId(v as u32));
        }
        (self.circuit, self.encoded)
    }
}

/// Words that look random, from a number.
pub fn words(seed: u64, n: usize) -> Vec<u128> {
    let mut x = u128::from(seed) << 1 | 1;
    let mut step = || {
        x = x.wrapping_mul(0x2360ed051fc65da44385df649fccf645).wrapping_add(0x5851f42d4c957f2d);
        x ^ (x >> 61)
    };
    (0..n).map(|_| step()).collect()
}

pub fn elements(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize
}
