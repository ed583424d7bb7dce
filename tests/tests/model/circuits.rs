//! A macro with what it computes, and the circuit around it: one input tensor for each of its operands, in which each
//! entry of an axis is a case of its own.

use slvr_circuit::verify::{Openings, verify_with};
use slvr_circuit::{
    Check, Circuit, Dom, Encoding, From, Hold, Input, Instr, Layer, Op, PartySet, Site, ValueId,
    plan,
};
use slvr_compiler::cost::NetProfile;
use slvr_compiler::lower::malicious::proven;
use slvr_compiler::lower::{Draft, Emit, Family, Target};

/// How a macro is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// Family T1 among semi-honest parties.
    Symmetric,
    /// Family T1 as it runs against a malicious party.
    Proven,
    /// Family T2 among semi-honest parties.
    Dealer,
    /// Family T2 as it runs against a malicious party.
    Ahead,
}

impl Build {
    pub fn name(self) -> &'static str {
        match self {
            Build::Symmetric => "T1",
            Build::Proven => "T1, proven",
            Build::Dealer => "T2",
            Build::Ahead => "T2, proven",
        }
    }
}

/// An operand: its domain, and how many elements a case has of it. With one element its shape is `[cases]`, with more
/// `[cases, each]`.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub dom: Dom,
    pub each: usize,
}

/// Whether the words of a result are right for those of the operands.
pub type Right = Box<dyn Fn(&[u128], &[u128]) -> bool + Sync>;

pub type Emitter = Box<dyn Fn(&mut Emit, &[ValueId]) -> ValueId + Sync>;

/// A macro at one size.
pub struct Macro {
    pub name: &'static str,
    /// Ring, width and other sizes.
    pub size: String,
    pub operands: Vec<Operand>,
    /// All operands that the functionality admits, each a word for every element of every operand.
    pub inputs: Vec<Vec<u128>>,
    pub emit: Emitter,
    pub right: Right,
}

/// A circuit of a macro for `cases` cases, and the value that is its result.
pub struct Made {
    pub circuit: Circuit,
    pub result: ValueId,
    pub cases: usize,
    /// Instructions in the order in which parties number them.
    pub instrs: Vec<Instr>,
}

impl Made {
    pub fn new(of: &Macro, build: Build, cases: usize) -> Made {
        let mut e = Emit::new(match build {
            Build::Symmetric | Build::Dealer => Target::default(),
            Build::Proven => Target::Malicious(Family::T1),
            // Where rounds are dear, as many bits are multiplied at once as there may be.
            Build::Ahead => Target::Malicious(Family::T2(NetProfile::wan().tuning())),
        });
        let mut inputs = Vec::new();
        let mut operands = Vec::new();
        for (i, o) in of.operands.iter().enumerate() {
            let (n, each) = (cases as u64, o.each as u64);
            let x = e.input(true, o.dom, vec![1, n, each]);
            let encoding = match o.dom {
                Dom::Ring(_) => {
                    Encoding::Fixed { frac: 0, lo: -1.0, hi: 1.0, shift: 0, norm: f64::INFINITY }
                }
                Dom::Bits(_) => Encoding::Int { lo: 0, hi: 2 },
            };
            inputs.push(Input {
                name: format!("x{i}"),
                from: From::Each(0),
                encoding,
                shape: vec![n, each],
                fields: vec![],
                value: x,
            });
            let shape = if each == 1 { vec![n] } else { vec![n, each] };
            operands.push(e.add(Op::Reshape(x, shape)));
        }
        let result = (of.emit)(&mut e, &operands);
        let blocks = vec![0; e.instrs.len()];
        let checks = vec![Check { set: 0, value: result }];
        let mut draft = Draft { emit: e, blocks, inputs, outputs: vec![], checks };
        match build {
            Build::Proven | Build::Ahead => {
                draft = proven(draft).unwrap_or_else(|why| panic!("{}: {why}", of.name));
            }
            Build::Symmetric | Build::Dealer => draft.prune(),
        }
        let mut result = draft.checks[0].value;
        let mut e = draft.emit;
        if e.ty(result).hold == Hold::Rep {
            result = e.add(Op::AsAdd3(result));
        }
        assert_eq!(e.ty(result).hold, Hold::Add3, "{}", of.name);
        let set = |name: &str, size| PartySet { name: name.into(), size };
        let mut layers: Vec<Layer> = vec![Layer::default()];
        // Each instruction as early as it can be, as the scheduler does.
        let mut ready = vec![0; e.types.len()];
        for i in &e.instrs {
            let at = i.op.operands().iter().map(|v| ready[v.index()]).max().unwrap_or(0);
            if let Some(out) = i.out {
                ready[out.index()] = at + usize::from(i.op.is_interactive());
            }
            layers.resize(layers.len().max(at + 1), Layer::default());
            let to = &mut layers[at];
            if i.op.is_interactive() {
                to.exchange.push(i.clone())
            } else {
                to.local.push(i.clone())
            }
        }
        let instrs = layers.iter().flat_map(|l| l.local.iter().chain(&l.exchange)).cloned();
        let circuit = Circuit {
            name: "Model".into(),
            sizes: vec![],
            parties: vec![set("Client", 1), set("Server", 1)],
            inputs: draft.inputs,
            consts: e.consts,
            types: e.types,
            sites: vec![Site { name: "model".into(), line: 0 }],
            layers: layers.clone(),
            outputs: vec![],
            checks: vec![],
            security: Default::default(),
        };
        verify_with(&circuit, Openings::Any).unwrap_or_else(|why| panic!("{}: {why}", of.name));
        Made { instrs: instrs.collect(), circuit, result, cases }
    }

    /// Where elements of an instruction's operand, or of what it draws, belong.
    pub fn places(&self, number: u64) -> Places {
        let instr = &self.instrs[number as usize];
        let first = instr.op.operands().first().copied().filter(|_| instr.op.is_interactive());
        let Some(v) = first.or(instr.out) else { panic!("{}: nothing is drawn", instr.op.name()) };
        Places::new(&self.circuit.ty(v).shape, self.cases)
    }

    /// Domain and shards of what an interactive instruction works on.
    pub fn operand(&self, number: u64) -> (Dom, slvr_circuit::Lanes) {
        plan::operand(&self.circuit, &self.instrs[number as usize].op)
    }
}

/// From an element of a tensor to its case, and to its number within the case.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Elements from one entry of the axis to the next, entries of the axis, and entries for each case.
    stride: usize,
    axis: usize,
    each: usize,
}

impl Places {
    pub fn new(shape: &[u64], cases: usize) -> Places {
        let at =
            shape.iter().position(|&d| d as usize >= cases && (d as usize).is_multiple_of(cases));
        let Some(at) = at else { panic!("{shape:?} has no axis for {cases} cases") };
        let stride = shape[at + 1..].iter().product::<u64>() as usize;
        let axis = shape[at] as usize;
        Places { stride, axis, each: axis / cases }
    }

    pub fn of(&self, position: usize) -> (usize, usize) {
        let along = position / self.stride % self.axis;
        let block = position / (self.stride * self.axis);
        let within = (block * self.each + along % self.each) * self.stride + position % self.stride;
        (along / self.each, within)
    }
}
