//! Random well-typed graphs with inputs, for property tests of everything that takes a graph.

use super::{Inputs, Tensors};
use crate::graph::{
    Conv, Function, Giver, Graph, Input, NodeId, Op, Output, Site, Table, Type, infer,
};
use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use slvr_language::types::{Elem, Lots, PairTable};

/// What a random graph is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Before scales are known, all operations there are then.
    Real,
    /// With scales, all operations that programs are made of: cuts and noise, which passes and statements add, are not.
    Scaled,
    /// With scales, only operations without rounding, on numbers so small that nothing wraps and
    /// `f64` is exact.
    Lossless,
}

/// Fraction bits of the scaled graphs.
pub(crate) const FRAC: u32 = 8;

/// Draws for tests: in each row the numbers after that of the row.
pub(crate) fn successors(&Lots { rows, n, k, .. }: &Lots) -> Vec<Vec<u64>> {
    (0..rows).map(|i| (1..=k).map(|j| (i + j) % n).collect()).collect()
}

/// A graph that the verifier accepts, of about `nodes` nodes, the last few of which are revealed.
pub(crate) fn random_graph(seed: u64, nodes: usize, kind: Kind) -> Graph {
    let mut generator = Generator {
        graph: interface(kind),
        kind,
        rng: ChaCha12Rng::seed_from_u64(seed),
        size: Vec::new(),
    };
    for i in 0..generator.graph.inputs.len() as u32 {
        generator.add(Op::Input(i), &[]);
    }
    for _ in 0..nodes {
        generator.step();
    }
    let mut graph = generator.graph;
    for (i, node) in graph.ids().rev().take(4).enumerate().collect::<Vec<_>>() {
        graph.outputs.push(Output {
            name: format!("out{i}"),
            to: 1,
            state: None,
            node,
            factor: [1.0, 0.7][i % 2],
            divisor: [1.0, 3.0][i % 2],
            fields: Vec::new(),
            site: 0,
        });
    }
    graph
}

fn interface(kind: Kind) -> Graph {
    let input = |name: &str, from, elem, shape: &[u64]| Input {
        name: name.into(),
        from: Option::map_or(from, Giver::Public, Giver::Each),
        elem,
        range: if elem == Elem::Bit { (0.0, 1.0) } else { (-4.0, 3.75) },
        shape: shape.to_vec(),
        fields: Vec::new(),
        one_hot: None,
        frac: None,
    };
    let mut record = input("w", Some(0), Elem::Fix, &[6]);
    record.fields = vec![("a.weight".into(), vec![2, 2]), ("a b \"quoted\"\n".into(), vec![2])];
    // One that is finer than the others.
    record.frac = (kind != Kind::Real).then_some(FRAC + 3);
    let mut label = input("label", Some(0), Elem::Int, &[]);
    (label.range, label.one_hot) = ((0.0, 4.0), Some(5));
    Graph {
        name: "Random".into(),
        sizes: vec![("m".into(), "3".into()), ("M".into(), "x/y:Net 5".into())],
        parties: vec![("Client".into(), 3), ("Server".into(), 1)],
        inputs: vec![
            input("g", None, Elem::Fix, &[4]),
            input("u", Some(0), Elem::Fix, &[2, 3]),
            record,
            label,
            input("n", None, Elem::Int, &[2]),
            input("b", Some(0), Elem::Bit, &[2]),
        ],
        sites: vec![
            Site { name: "gain/hits/conv1".into(), line: 10, ..Site::default() },
            Site { name: String::new(), line: 0, ..Site::default() },
        ],
        frac: (kind != Kind::Real).then_some(FRAC),
        ..Graph::default()
    }
}

/// Inputs within the declared ranges, in steps of 1/4 for `fix`.
pub(crate) fn random_inputs(graph: &Graph, seed: u64) -> Inputs {
    let mut rng = ChaCha12Rng::seed_from_u64(!seed);
    let mut inputs = Inputs {
        public: Tensors::new(),
        sets: graph.parties.iter().map(|p| vec![Tensors::new(); p.1 as usize]).collect(),
        ..Default::default()
    };
    for input in &graph.inputs {
        let (lo, hi) = input.range;
        let step = if input.elem == Elem::Fix { 0.25 } else { 1.0 };
        let count = ((hi.floor() - lo) / step) as u64 + 1;
        let len: u64 = input.shape.iter().product();
        let mut tensor =
            || (0..len).map(|_| lo + step * (rng.next_u64() % count) as f64).collect::<Vec<_>>();
        match input.from {
            Giver::Public | Giver::State(_) | Giver::Present(_) => {
                drop(inputs.public.insert(input.name.clone(), tensor()))
            }
            Giver::Each(set) => inputs.sets[set as usize]
                .iter_mut()
                .for_each(|member| drop(member.insert(input.name.clone(), tensor()))),
        }
    }
    inputs
}

struct Generator {
    graph: Graph,
    kind: Kind,
    rng: ChaCha12Rng,
    /// Upper bound of the absolute values of each node.
    size: Vec<f64>,
}

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.rng.next_u64() % n.max(1)
    }

    fn node(&mut self) -> NodeId {
        NodeId(self.below(self.graph.len() as u64) as u32)
    }

    /// Adds a node if it is well-typed and small.
    fn add(&mut self, op: Op, args: &[NodeId]) -> Option<NodeId> {
        let types: Vec<&Type> = args.iter().map(|&a| self.graph.ty(a)).collect();
        let ty = infer::infer(&self.graph, &op, &types).ok()?;
        let elements: u64 = ty.shape.iter().product();
        let size = self.bound(&op, args);
        let most = if self.kind == Kind::Lossless { 1e13 } else { f64::INFINITY };
        if elements > 1000
            || ty.shape.len() > 6
            || ty.frac > Some(3 * FRAC)
            || ty.elem != Elem::Bit && ty.frac.is_some() != self.graph.frac.is_some()
            || size * 2f64.powi(ty.frac.unwrap_or(0) as i32) > most
        {
            return None;
        }
        let site = self.below(self.graph.sites.len() as u64) as u32;
        self.size.push(size);
        Some(self.graph.add_typed(op, ty, args, site))
    }

    fn bound(&self, op: &Op, args: &[NodeId]) -> f64 {
        let of = |i: usize| self.size[args[i].index()];
        let elements = |i: usize| self.graph.elements(args[i]) as f64;
        match op {
            Op::Const(..) | Op::Input(_) | Op::Draw(_) | Op::Pairs { .. } | Op::Places(_) => 5.0,
            Op::Noise { noise, .. } => noise.bound(),
            Op::Add | Op::Sub => of(0) + of(1),
            Op::Mul => of(0) * of(1),
            Op::MatMul { .. } | Op::Conv2d { .. } => of(0) * of(1) * elements(0).min(elements(1)),
            Op::Scale(c) => of(0) * c.abs().max(1.0),
            Op::MulPow2(by) => of(0) * f64::from(*by).exp2(),
            Op::Sum(_) | Op::SortSum { .. } => of(0) * elements(0),
            Op::ArgMax => elements(0),
            _ => (0..args.len()).map(of).fold(1.0, f64::max),
        }
    }

    fn constant(&mut self, shape: Vec<u64>, elem: Elem, below: u64) -> Option<NodeId> {
        let len = shape.iter().product::<u64>();
        let entries = if self.below(3) == 0 { 1 } else { len };
        let data = (0..entries)
            .map(|_| match elem {
                Elem::Fix => self.below(33) as f64 / 4.0 - 4.0,
                Elem::Int => self.below(below) as f64,
                Elem::Bit => self.below(2) as f64,
            })
            .collect();
        let frac = match elem {
            Elem::Fix => self.graph.frac,
            Elem::Int => self.graph.frac.map(|_| 0),
            Elem::Bit => None,
        };
        self.add(Op::Const(Table { shape, data }, elem, frac), &[])
    }

    /// Operands for a binary operation: the first that fits, from a random position on.
    fn pair(&mut self, op: Op) -> Option<NodeId> {
        let (a, b) = (self.node(), self.node());
        let n = self.graph.len();
        let fitting = (0..n).map(|i| NodeId(((b.index() + i) % n) as u32)).find(|&b| {
            infer::infer(&self.graph, &op, &[self.graph.ty(a), self.graph.ty(b)]).is_ok()
        })?;
        self.add(op, &[a, fitting])
    }

    fn step(&mut self) -> Option<NodeId> {
        let a = self.node();
        let shape = self.graph.shape(a).to_vec();
        let axis = self.below(shape.len() as u64);
        let size = shape.get(axis as usize).copied().unwrap_or(1);
        let last = shape.last().copied().unwrap_or(1);
        let (x, y) = (self.below(size), self.below(size));
        let (x, y) = (x.min(y), x.max(y));
        let few = 1 + self.below(4);
        let rounds = self.kind != Kind::Lossless;
        match self.below(46) {
            0 => {
                let dims = (0..self.below(4)).map(|_| 1 + self.below(3)).collect();
                let elem = [Elem::Fix, Elem::Int, Elem::Bit][self.below(3) as usize];
                self.constant(dims, elem, 5)
            }
            1 if self.below(2) == 0 => match self.below(3) {
                0 => self.add(Op::Draw(Lots::committees(3, 2)), &[]),
                some => {
                    let lots = Lots { rows: 2, n: 4, k: 3, others: false };
                    let drawn = self.add(Op::Draw(lots), &[]);
                    if some == 1 { drawn } else { self.add(Op::Places(4), &[drawn?]) }
                }
            },
            1 => {
                let (table, n) = (PairTable::ALL[self.below(5) as usize], 2 + self.below(3));
                self.add(Op::Pairs { table, n }, &[])
            }
            2 | 3 => self.pair(Op::Add),
            4 | 5 => self.pair(Op::Sub),
            6 | 7 => self.pair(Op::Mul),
            8 => self.pair(Op::Lt),
            9 => self.pair(Op::Eq),
            10 => self.pair(Op::And),
            11 => self.pair(Op::Xor),
            12 => self.pair(Op::Gate),
            13 => self.add(Op::Neg, &[a]),
            14 => self.add(Op::Relu, &[a]),
            15 => self.add(Op::Abs, &[a]),
            16 => self.add(Op::Not, &[a]),
            17 => self.add(Op::ToInt, &[a]),
            18 => self.add(Op::Sort, &[a]),
            19 => self.add(Op::ArgMax, &[a]),
            20 => {
                let c = self.below(7) as f64 - 3.0;
                self.add(Op::Scale(if self.kind == Kind::Real { c / 3.0 } else { c }), &[a])
            }
            21 => self.add(Op::Sum(if x == y { vec![axis] } else { vec![] }), &[a]),
            22 => self.add(Op::Sum((0..shape.len() as u64).collect()), &[a]),
            23 => self.add(Op::Max(axis), &[a]),
            24 => self.add(Op::Min(axis), &[a]),
            25 => {
                let hi = 1 + self.below(last);
                let lo = self.below(hi);
                self.add(Op::SortSum { lo, hi }, &[a])
            }
            26 | 27 => {
                let outer = shape[..shape.len().saturating_sub(1)].to_vec();
                let label = self.constant(outer, Elem::Int, last)?;
                let label = self.add(Op::OneHot(last), &[label])?;
                self.add(Op::ArgMaxIs, &[a, label])
            }
            28 => {
                let (b, c) = (self.node(), self.node());
                let condition = self.pair(Op::Lt)?;
                self.add(Op::Select, &[condition, b, c]).or_else(|| {
                    let again = self.graph.args(condition)[0];
                    self.add(Op::Select, &[condition, again, again])
                })
            }
            29 => {
                let flat = self.graph.elements(a) / last.max(1);
                let a = self.add(Op::Reshape(vec![1, flat, last]), &[a])?;
                self.add(Op::MatMul { trans_b: true }, &[a, a])
            }
            30 => {
                let flat = self.graph.elements(a) / last.max(1);
                let a = self.add(Op::Reshape(vec![1, flat, last]), &[a])?;
                let b = self.constant(vec![2, last, 2], Elem::Fix, 0)?;
                self.add(Op::MatMul { trans_b: false }, &[a, b])
            }
            31 | 32 => {
                let flat = self.graph.elements(a) / last.max(1);
                let groups = if flat.is_multiple_of(2) { 1 + self.below(2) } else { 1 };
                let a = self.add(Op::Reshape(vec![1, 1, groups, flat / groups, last]), &[a])?;
                let (side, group) = (1 + self.below(3), 1 + self.below(2));
                let w = self.constant(vec![group, 2, 1, side, side], Elem::Fix, 0)?;
                let (stride, pad, dilation) = (1 + self.below(2), self.below(3), 1 + self.below(2));
                self.add(Op::Conv2d(Conv { stride, pad, dilation, groups }), &[a, w])
            }
            33 => self.add(Op::MaxPool { k: few.min(2), stride: 1 + x }, &[a]),
            34 => self.add(Op::Reshape(vec![shape.iter().product()]), &[a]),
            35 | 36 => {
                let mut perm: Vec<u64> = (0..shape.len() as u64).collect();
                perm.rotate_left(axis as usize);
                self.add(Op::Transpose(perm), &[a])
            }
            37 => {
                let step = 1 + self.below(2);
                self.add(Op::Slice { axis, start: x, len: 1 + (y - x) / step, step }, &[a])
            }
            38 => self.pair(Op::Concat(axis)),
            39 => {
                let to = shape.iter().map(|&d| if d == 1 { 3 } else { d }).collect();
                self.add(Op::Broadcast(to), &[a])
            }
            40 | 41 => {
                let batch = self.below(axis + 1);
                let mut dims = shape.get(..batch as usize)?.to_vec();
                dims.push(1 + self.below(3));
                let index = self.constant(dims, Elem::Int, size)?;
                self.add(Op::Gather { axis, batch }, &[a, index])
            }
            42 => self.add(Op::Shift(few as u32), &[a]),
            43 if self.below(2) == 0 => self.add(Op::MulPow2(few as u32), &[a]),
            43 => self.add(Op::DivPow2(few as u32), &[a]),
            44 if rounds => self.add(Op::Trunc(2 * few as u32), &[a]),
            _ if rounds => {
                let which = self.below(Function::ALL.len() as u64 + 1) as usize;
                match Function::ALL.get(which) {
                    Some(&f) => self.add(Op::Function(f), &[a]),
                    None => self.pair(Op::Div),
                }
            }
            _ => None,
        }
    }
}
