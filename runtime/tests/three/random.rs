//! Random well-typed circuits: every instruction, on every holder and domain that its rules allow.

use crate::build::{Builder, elements, words};
use crate::draws::Random;
use crate::operations::{check_steps, check_traffic, recorded, together, values};
use proptest::prelude::*;
use slvr_circuit::{Conv, Dom, low_mask};
use slvr_circuit::{Hold, Op, SplitPart, Type, ValueId};
use slvr_runtime::clear::{self, plain};
use std::collections::BTreeSet;

pub const LARGEST: usize = 4000;

/// What must hold whatever the split is.
pub enum Law {
    /// Two values are equal.
    Equal(ValueId, ValueId),
    /// A value is an operation on plain operands.
    Product(ValueId, Op),
    /// The carry of the sum of two numbers of w bits.
    Carry { carry: ValueId, of: [ValueId; 2], w: u32 },
    /// An entry is that of a public table at the sum (of bits: the xor) of two numbers.
    Entry { entry: ValueId, of: [ValueId; 2], table: ValueId },
}

pub struct Generator {
    pub b: Builder,
    random: Random,
    /// Whether `own` and `dup` may be used: their values depend on the parties' shares, so the
    /// clear evaluation has others.
    splits: bool,
    pub ready: Vec<ValueId>,
    pending: Vec<ValueId>,
    used: BTreeSet<&'static str>,
    pub laws: Vec<Law>,
    /// Tells masks apart.
    pub masks: u32,
}

impl Generator {
    pub fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    pub fn pick<T: Clone>(&mut self, xs: &[T]) -> T {
        self.random.pick(xs)
    }

    fn random_words(&mut self, n: usize) -> Vec<u128> {
        let seed = self.below(1 << 31);
        words(seed, n)
    }

    pub fn secret(&mut self, k: u32, shape: &[u64]) -> ValueId {
        let shape: Vec<u64> = std::iter::once(1).chain(shape.iter().copied()).collect();
        let xs = self.random_words(elements(&shape));
        let x = self.b.secret(k, &shape, &xs);
        self.ready.push(x);
        x
    }

    pub fn constant(&mut self, dom: Dom, shape: &[u64]) -> ValueId {
        let xs = self.random_words(elements(shape));
        self.b.constant(dom, shape, xs)
    }

    /// Adds an operation if the rules allow it.
    pub fn add(&mut self, op: Op) -> Option<ValueId> {
        let name = op.name();
        let interactive = op.is_interactive();
        let v = self.b.infer(op)?;
        self.used.insert(name);
        match interactive {
            true => self.pending.push(v),
            false => self.ready.push(v),
        }
        Some(v)
    }

    pub fn next_layer(&mut self) {
        self.b.next_layer();
        self.ready.append(&mut self.pending);
    }

    fn shrunk(&mut self, shape: &[u64]) -> Vec<u64> {
        shape.iter().map(|&d| if self.below(3) == 0 { 1 } else { d }).collect()
    }

    /// A second operand for x: a value at hand, or a public one of aligned shape.
    fn partner(&mut self, x: ValueId) -> ValueId {
        let ty = self.b.ty(x).clone();
        let alike: Vec<ValueId> = self
            .ready
            .iter()
            .copied()
            .filter(|&v| self.b.ty(v).dom == ty.dom && self.b.ty(v).shape.len() == ty.shape.len())
            .collect();
        let wide = ty.bits() > 128;
        match self.below(4) {
            // Constants have at most 128 planes; one plane goes with many.
            0 | 1 if wide => {
                let ones = vec![1; ty.shape.len()];
                self.constant(Dom::Bits(1), &ones)
            }
            0 => {
                let shape = self.shrunk(&ty.shape);
                self.constant(ty.dom, &shape)
            }
            1 => {
                let ones = vec![1; ty.shape.len()];
                self.constant(ty.dom, &ones)
            }
            2 => {
                // The same holder, one axis cut to size 1.
                let axis = self.below(ty.shape.len() as u64);
                let op = Op::Slice { x, axis, start: 0, len: 1, step: 1 };
                self.b.infer(op).unwrap_or(x)
            }
            _ => self.pick(&alike),
        }
    }

    fn product(&mut self, x: ValueId) -> Option<ValueId> {
        let Type { hold, dom: Dom::Ring(k), shape, .. } = self.b.ty(x).clone() else {
            return None;
        };
        let n = elements(&shape) as u64;
        if n > 0 && hold.is_sharded() {
            return self.weighted(x);
        }
        if n == 0 || !matches!(hold, Hold::Rep | Hold::Public) {
            return None;
        }
        let secret = self.below(2) == 0;
        let fresh = |g: &mut Self, shape: &[u64]| {
            // A secret's first axis is the client's; it serves as the batch.
            if secret && shape[0] == 1 {
                g.secret(k, &shape[1..])
            } else {
                g.constant(Dom::Ring(k), shape)
            }
        };
        let divisors: Vec<u64> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
        let rows = self.pick(&divisors);
        let batch = self.pick(&[1, 1, 2]);
        if self.below(2) == 0 {
            let a = self.b.infer(Op::Reshape(x, vec![1, rows, n / rows]))?;
            let cols = 1 + self.below(4);
            let trans_b = self.below(2) == 0;
            let shape = match trans_b {
                true => [batch, cols, n / rows],
                false => [batch, n / rows, cols],
            };
            if elements(&shape) > LARGEST || (rows * cols) as usize > LARGEST / 2 {
                return None;
            }
            let b = fresh(self, &shape);
            self.add(Op::MatMul { a, b, trans_b })
        } else {
            let groups = if rows.is_multiple_of(2) { 1 + self.below(2) } else { 1 };
            let to = vec![1, 1, groups, rows / groups, n / rows];
            let x = self.b.infer(Op::Reshape(x, to))?;
            let outputs = groups * (1 + self.below(2));
            let shape = [batch, outputs, 1, 1 + self.below(3), 1 + self.below(3)];
            let w = fresh(self, &shape);
            let (stride, pad, dilation) = (1 + self.below(2), self.below(2), 1 + self.below(2));
            self.add(Op::Conv2d { x, w, conv: Conv { stride, pad, dilation, groups } })
        }
    }

    /// Random inner products of the rows of x, by fresh coins.
    fn projection(&mut self, x: ValueId, shape: &[u64]) -> Option<ValueId> {
        let coin = self.add(Op::Coin)?;
        self.next_layer();
        let x = match shape.len() {
            2 => x,
            _ => self.add(Op::Reshape(x, vec![1, elements(shape) as u64]))?,
        };
        let tests = 1 + self.below(6);
        let m = self.b.ty(x).shape[0];
        let divisors: Vec<u32> =
            (1..=m.max(1) as u32).filter(|d| m.is_multiple_of(u64::from(*d))).collect();
        let groups = self.pick(&divisors);
        let part = match self.below(4) {
            0 if self.splits => SplitPart::Own(groups),
            1 if self.splits => SplitPart::Dup(groups),
            _ => SplitPart::Whole,
        };
        self.add(Op::Project { x, coin, tests, part })
    }

    fn step(&mut self) {
        let ready = self.ready.clone();
        let x = self.pick(&ready);
        let ty = self.b.ty(x).clone();
        if elements(&ty.shape) > LARGEST {
            return;
        }
        let width = ty.bits();
        let axis = self.below(ty.shape.len() as u64);
        let size = ty.shape.get(axis as usize).copied().unwrap_or(1);
        let constant = self.random_words(1)[0] & low_mask(width);
        let k = self.pick(&[8, 16, 32, 64, 128]);
        let bit = self.below(u64::from(width)) as u32;
        let count = 1 + self.below(u64::from(width - bit)) as u32;
        let splits = if self.splits { SPLITTING } else { &[] };
        let steps = STEPS.iter().chain(splits);
        let mut at = self.below(steps.clone().map(|(weight, _)| weight).sum());
        let mut drawn = steps.skip_while(|(weight, _)| {
            let rest = at.checked_sub(*weight);
            at = rest.unwrap_or(at);
            rest.is_some()
        });
        let (_, step) = drawn.next().expect("weights add up to what was drawn from");
        let choice = step(self, &Operand { x, ty, axis, size, constant, k, bit, count });
        if let Some(v) = choice.and_then(|op| self.add(op)) {
            // Whatever can be made replicated again, so that circuits grow deep.
            if self.below(2) == 0 {
                let hold = self.b.ty(v).hold;
                let op = match hold {
                    Hold::Add3 if self.below(8) == 0 => Op::OpenSum(v),
                    Hold::Add3 => Op::Reshare(v),
                    Hold::Own if self.below(2) == 0 => Op::Input(v),
                    Hold::Own => Op::Deal(v),
                    Hold::Add2 => Op::ReshareTwo(v),
                    Hold::Dup => Op::Trivial(v),
                    _ => return,
                };
                if self.ready.contains(&v) {
                    self.add(op);
                }
            }
        }
    }
}

/// What a step begins with: a value, and what instructions on it may take.
struct Operand {
    x: ValueId,
    ty: Type,
    axis: u64,
    /// Of the axis.
    size: u64,
    constant: u128,
    /// Bits of a word.
    k: u32,
    /// Of the value's bits one, and how many from it on.
    bit: u32,
    count: u32,
}

/// An instruction, or none where the step has added its own.
type Step = fn(&mut Generator, &Operand) -> Option<Op>;

/// The steps, and how often each is drawn.
const STEPS: &[(u64, Step)] = &[
    (1, |_, o| Some(Op::Neg(o.x))),
    (1, |_, o| Some(Op::Scale(o.x, o.constant))),
    (1, |_, o| Some(Op::Offset(o.x, o.constant))),
    (1, |_, o| Some(Op::Narrow(o.x, o.k))),
    (1, |_, o| Some(Op::Raise(o.x, o.k))),
    (1, |_, o| Some(Op::Extend(o.x, o.k))),
    (1, |_, o| Some(Op::Shr(o.x, o.bit))),
    (2, |_, o| Some(Op::ToBits { x: o.x, lo: o.bit, w: o.count })),
    (1, |_, o| Some(Op::FromBits(o.x, o.k))),
    (1, |_, o| Some(Op::Not(o.x))),
    (1, |g, o| {
        let width = o.ty.bits();
        let (stride, rest) = (width.div_ceil(32) as usize, width % 32);
        let count = 1 + g.below(5) as usize;
        let words = g.random_words(count * stride).into_iter();
        let mut rows: Vec<u32> = words.map(|w| w as u32).collect();
        if rest != 0 {
            rows.chunks_mut(stride).for_each(|row| row[stride - 1] &= (1 << rest) - 1);
        }
        Some(Op::Xors { x: o.x, rows })
    }),
    (1, |_, o| {
        let (step, count) = (1 + o.count / 3, o.count.div_ceil(2));
        Some(Op::Planes { x: o.x, start: o.bit, step, count })
    }),
    (1, |g, o| {
        let alike = |v: &ValueId| {
            let other = g.b.ty(*v);
            (other.hold, &other.shape) == (o.ty.hold, &o.ty.shape)
                && matches!(other.dom, Dom::Bits(_))
        };
        let alike: Vec<ValueId> = g.ready.iter().copied().filter(alike).chain([o.x]).collect();
        let y = g.pick(&alike);
        Some(Op::Stack(vec![o.x, y]))
    }),
    (1, |_, o| Some(Op::Reshape(o.x, vec![elements(&o.ty.shape) as u64]))),
    (1, |g, o| {
        let mut perm: Vec<u64> = (0..o.ty.shape.len() as u64).collect();
        for i in (1..perm.len()).rev() {
            let j = g.below(i as u64 + 1) as usize;
            perm.swap(i, j);
        }
        Some(Op::Transpose(o.x, perm))
    }),
    (1, |g, o| {
        let start = g.below(o.size);
        let step = 1 + g.below(3);
        let len = g.below((o.size - start).div_ceil(step) + 1);
        Some(Op::Slice { x: o.x, axis: o.axis, start, len, step })
    }),
    (1, |_, o| Some(Op::Concat { xs: vec![o.x, o.x], axis: o.axis })),
    (1, |g, o| {
        let size = |&d: &u64| if d == 1 { 1 + g.below(3) } else { d };
        let shape = o.ty.shape.iter().map(size).collect();
        Some(Op::Broadcast(o.x, shape))
    }),
    (1, |g, o| {
        if o.size == 0 || o.ty.shape.is_empty() {
            return None;
        }
        let n = 1 + g.below(4);
        let index: Vec<u128> = (0..n).map(|_| u128::from(g.below(o.size))).collect();
        let index = g.b.constant(Dom::Ring(32), &[n], index);
        Some(Op::Gather { x: o.x, index, axis: o.axis, batch: 0 })
    }),
    (1, |g, o| {
        let axes = (0..o.ty.shape.len() as u64).filter(|_| g.below(2) == 0).collect();
        Some(Op::Sum { x: o.x, axes })
    }),
    (3, |g, o| Some(Op::Add(o.x, g.partner(o.x)))),
    (1, |g, o| Some(Op::Sub(o.x, g.partner(o.x)))),
    (1, |g, o| Some(Op::Sub(g.partner(o.x), o.x))),
    (2, |g, o| Some(Op::Mul(o.x, g.partner(o.x)))),
    (1, |g, o| g.product(o.x).and(None)),
    (1, |g, o| (g.splits || o.ty.hold != Hold::Add3).then_some(Op::AsAdd2(o.x))),
    (1, |_, o| Some(Op::AsAdd3(o.x))),
    (1, |_, o| Some(Op::Trivial(o.x))),
    (1, |_, o| {
        Some(match o.ty.hold {
            Hold::Add3 => Op::OpenSum(o.x),
            _ => Op::Open(o.x),
        })
    }),
    (1, |_, _| Some(Op::Coin)),
    (1, |g, _| {
        g.next_layer();
        None
    }),
    (1, |g, o| g.projection(o.x, &o.ty.shape).and(None)),
    (1, |g, o| Some(Op::Committee { coin: o.x, n: 2 + g.below(5), k: 1 })),
    (1, |_, o| Some(Op::ToPlanes(o.x))),
    (1, |g, o| {
        let (Dom::Bits(w) | Dom::Ring(w)) = o.ty.dom;
        let block = 1 + g.below(4) as u32;
        let blocks = (0..w).step_by(block as usize).map(|i| block.min(w - i)).collect();
        Some(Op::Thermometer { x: o.x, blocks })
    }),
];

/// Those after which values depend on the parties' shares.
const SPLITTING: &[(u64, Step)] = &[
    (1, |_, o| Some(Op::Own(o.x))),
    (1, |_, o| Some(Op::Dup(o.x))),
    (1, |_, o| Some(Op::DealMask(o.x))),
    (2, |g, o| g.parts(o.x).and(None)),
    (2, |g, o| g.split_product(o.x).and(None)),
    (2, |g, o| g.hidden(o.x).and(None)),
    (1, |g, o| g.conjunction(o.x).and(None)),
    (1, |g, o| g.comparison(o.x).and(None)),
    (2, |g, o| g.lookup(o.x).and(None)),
    (1, |g, o| {
        let ty = Type { hold: Hold::Mask, ..o.ty.clone() };
        let groups = g.groups(&ty.shape);
        let mask = g.mask(ty.grouped(groups)).and_then(|m| g.add(Op::Own(m)));
        mask.and_then(|m| g.add(Op::DealMask(m))).and(None)
    }),
];

/// Runs and checks a random circuit; the operations that it has.
fn run(seed: u64, splits: bool) -> BTreeSet<&'static str> {
    let mut g = Generator {
        b: Builder::new(),
        random: Random(seed.wrapping_mul(2).wrapping_add(1)),
        splits,
        ready: vec![],
        pending: vec![],
        used: BTreeSet::new(),
        laws: vec![],
        masks: 0,
    };
    for k in [8, 32, 64, 128] {
        let shape = match g.below(3) {
            0 => vec![3, 70],
            1 => vec![2, 3, 4],
            _ => vec![1 + g.below(5), 1, 1 + g.below(40)],
        };
        g.secret(k, &shape);
    }
    let shape = [2 + g.below(3), 3];
    let xs = g.random_words(elements(&shape));
    let public = g.b.public(16, &shape, &xs);
    g.ready.push(public);
    for _ in 0..150 {
        g.step();
    }
    g.next_layer();
    let reveal: Vec<ValueId> = g
        .ready
        .iter()
        .copied()
        .filter(|&v| matches!(g.b.ty(v), Type { hold: Hold::Rep, dom: Dom::Ring(_), .. }))
        .collect();
    for &v in reveal.iter().rev().take(4) {
        g.b.reveal(v, 3, 2.0);
    }
    let (used, laws) = (g.used, g.laws);
    let (circuit, encoded) = g.b.finish();
    let inputs = encoded.values(&circuit);
    let report = recorded(&circuit, encoded, seed);
    check_traffic(&circuit, &report);
    let recorded = report.recorded.as_ref().unwrap();
    check_steps(&circuit, recorded);
    let values = values(recorded);
    for law in laws {
        let held = |v: ValueId| together(&circuit, &values, v);
        match law {
            Law::Equal(a, b) => assert!(held(a) == held(b), "{a} and {b} differ"),
            Law::Product(v, op) => {
                let args: Vec<_> =
                    op.operands().iter().map(|&x| (held(x), circuit.ty(x))).collect();
                let args: Vec<_> = args.iter().map(|(x, ty)| (x, ty.shape.as_slice())).collect();
                assert!(held(v) == plain::eval(&op, &args).unwrap(), "{v} is not {op:?}");
            }
            Law::Carry { carry, of, w } => {
                let [a, b] = of.map(|v| held(v).to_u128s());
                let sums: Vec<u128> = a.iter().zip(b).map(|(a, b)| (a + b) >> w).collect();
                assert_eq!(held(carry).to_u128s(), sums, "{carry} is not the carry");
            }
            Law::Entry { entry, of: [a, b], table } => {
                let (mut sum, table) = (held(a), held(table).to_u128s());
                sum.add_assign(&held(b));
                let at = |x: u128| table[x as usize & (table.len() - 1)];
                let want: Vec<u128> = sum.to_u128s().into_iter().map(at).collect();
                assert_eq!(held(entry).to_u128s(), want, "{entry} is not the entry");
            }
        }
    }
    for ((revealed, v), output) in report.outputs.iter().zip(reveal.iter().rev()).zip(0..) {
        assert_eq!(revealed.name, format!("out{output}"));
        assert!(revealed.words == together(&circuit, &values, *v));
    }
    let options = clear::Options { seed, coins: &report.coins, trace: true, ..Default::default() };
    let plain = clear::evaluate(&circuit, inputs, &options).unwrap();
    if !splits {
        assert!(plain.outputs == report.outputs);
        for (v, x) in plain.trace.iter().enumerate() {
            let v = ValueId(v as u32);
            let Some(x) = x.as_ref().filter(|_| values[0].contains_key(&v)) else { continue };
            assert!(*x == together(&circuit, &values, v), "{v} differs from the clear evaluation");
        }
    }
    used
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// The failing seed is what proptest prints.
    #[test]
    fn parties_compute_what_the_instructions_say(seed in any::<u64>(), splits in any::<bool>()) {
        run(seed, splits);
    }
}

#[test]
fn the_generator_reaches_every_operation() {
    let mut used = BTreeSet::new();
    for seed in 0..40 {
        used.append(&mut run(seed, true));
    }
    let all = [
        "add",
        "sub",
        "mul",
        "neg",
        "scale",
        "offset",
        "matmul",
        "conv2d",
        "sum",
        "narrow",
        "raise",
        "extend",
        "shr",
        "to_bits",
        "from_bits",
        "not",
        "planes",
        "stack",
        "reshape",
        "transpose",
        "slice",
        "concat",
        "broadcast",
        "gather",
        "own",
        "dup",
        "as_add2",
        "as_add3",
        "trivial",
        "committee",
        "project",
        "reshare",
        "input",
        "deal",
        "reshare_two",
        "open",
        "open_sum",
        "coin",
        "mask_of",
        "dup_of",
        "join",
        "mask",
        "thermometer",
        "pick",
        "mask_products",
        "and_many",
        "table",
        "entry",
        "to_planes",
        "deal_mask",
        "open_masked",
    ];
    let missing: Vec<_> = all.iter().filter(|op| !used.contains(*op)).collect();
    assert!(missing.is_empty(), "never generated: {missing:?}");
}
