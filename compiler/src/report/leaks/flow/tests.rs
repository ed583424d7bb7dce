//! What is claimed of values, held against random graphs in the clear.
//!
//! Claims are about runs that differ in secrets. Who changes an entry is found by changing all that a client gives;
//! where bits mask data, by changing it so little that no bit changes. `SLVR_SEED` and `SLVR_COUNT` say which graphs.

mod graphs;

use super::facts::{Dependence, Flow, Order, Ranks, Scope};
use super::{flows, known};
use crate::graph::eval::{Inputs, real};
use crate::graph::{Graph, NodeId, Op, text};
use crate::report::testing::{Random, setting};
use std::collections::{BTreeMap, BTreeSet};

/// A party set and a member.
type Member = (u32, u64);

/// Less than any two numbers of a run are apart, if they are not equal.
const LITTLE: f64 = 1.0 / (1u64 << 34) as f64;

/// Larger numbers are not exact enough to be compared.
const LARGE: f64 = 4096.0;

const CLIENT: u32 = 0;
const GUIDE: u32 = 1;
const SERVER: u32 = 2;

/// The values of all nodes.
struct Run(Vec<Vec<f64>>);

impl Run {
    fn of(g: &Graph, inputs: &Inputs) -> Run {
        let found = real(g, inputs, &|_| Vec::new(), true).expect("a value");
        Run(found.values.iter().map(|v| v.as_ref().map_or(Vec::new(), |v| v.to_vec())).collect())
    }

    fn at(&self, id: NodeId) -> &[f64] {
        &self.0[id.index()]
    }
}

fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > 1e-13 * (1.0 + a.abs())
}

/// A run, and runs in which others give something else.
struct Runs {
    first: Run,
    /// One member gives something else, or something that is a little different.
    far: Vec<(Member, Run)>,
    near: Vec<(Member, Run)>,
    /// One secret input is another.
    inputs: Vec<(u32, Run)>,
    /// All secret numbers are others, and half way to these.
    apart: Run,
    midway: Run,
    /// Two clients have exchanged all that they give.
    exchanged: ([usize; 2], Run),
}

impl Runs {
    fn of(g: &Graph, r: &mut Random) -> Runs {
        let (first, other) = (graphs::inputs(g, r), graphs::inputs(g, r));
        let members = g.parties[CLIENT as usize].1;
        let all: Vec<Member> = (0..members).map(|i| (CLIENT, i)).chain([(GUIDE, 0)]).collect();
        let with = |change: &mut dyn FnMut(Member, &str, usize, &mut f64)| {
            let mut new = first.clone();
            for &(set, i) in &all {
                for (name, entries) in &mut new.sets[set as usize][i as usize] {
                    entries.iter_mut().enumerate().for_each(|(e, x)| change((set, i), name, e, x));
                }
            }
            Run::of(g, &new)
        };
        let others =
            |(set, i): Member, name: &str, e: usize| other.sets[set as usize][i as usize][name][e];
        let number = |name: &str| matches!(name, "x" | "y" | "guide");
        let of = |who: Member, to: &dyn Fn(f64, f64, &str) -> f64| {
            let mut change = |m: Member, name: &str, e: usize, x: &mut f64| {
                if m == who {
                    *x = to(*x, others(m, name, e), name);
                }
            };
            (who, with(&mut change))
        };
        let little =
            |x: f64, y: f64, name: &str| if number(name) { x + LITTLE * (1.5 + y) } else { x };
        let secret =
            (0..).zip(&g.inputs).filter(|(_, i)| i.from.set().is_some_and(|s| s != SERVER));
        let towards = |part: f64| {
            with(&mut |m, name, e, x| {
                if number(name) {
                    *x += part * (others(m, name, e) - *x);
                }
            })
        };
        let pair = [r.below(members) as usize, r.below(members) as usize];
        let mut exchanged = first.clone();
        exchanged.sets[CLIENT as usize].swap(pair[0], pair[1]);
        Runs {
            far: all.iter().map(|&m| of(m, &|_, y, _| y)).collect(),
            near: all.iter().map(|&m| of(m, &little)).collect(),
            inputs: secret
                .map(|(i, input)| {
                    (
                        i,
                        with(&mut |m, name, e, x| {
                            if name == input.name {
                                *x = others(m, name, e);
                            }
                        }),
                    )
                })
                .collect(),
            apart: towards(1.0),
            midway: towards(0.5),
            exchanged: (pair, Run::of(g, &exchanged)),
            first: Run::of(g, &first),
        }
    }

    /// Who changes an entry.
    fn changed(&self, by: &[(Member, Run)], id: NodeId, entry: usize) -> BTreeSet<Member> {
        let changes = |run: &Run| differ(self.first.at(id)[entry], run.at(id)[entry]);
        by.iter().filter(|(_, run)| changes(run)).map(|(m, _)| *m).collect()
    }
}

/// What a node is made of, besides what is claimed.
#[derive(Clone, Copy, Default)]
struct Made {
    /// Numbers that are too large, or none.
    broken: bool,
    /// Secret weights, or secret divisors: who gives the data does not show.
    weighed: bool,
    masked: bool,
    /// Comparisons of equal numbers.
    tied: bool,
    /// Places, also in an order, or public numbers that tell clients apart.
    placed: bool,
}

fn made(g: &Graph, flows: &[Flow], run: &Run) -> Vec<Made> {
    let mut out: Vec<Made> = Vec::new();
    for id in g.ids() {
        let of = g.args(id).iter().map(|a| out[a.index()]);
        let mut made = of.fold(Made::default(), |a, b| Made {
            broken: a.broken || b.broken,
            weighed: a.weighed || b.weighed,
            masked: a.masked || b.masked,
            tied: a.tied || b.tied,
            placed: a.placed || b.placed,
        });
        made.broken |= run.at(id).iter().any(|x| x.is_nan() || x.abs() > LARGE);
        match flows[id.index()].form {
            Dependence::Masked(m) => {
                (made.masked, made.weighed) = (true, made.weighed || !m.factor.selects())
            }
            Dependence::Free | Dependence::Linear | Dependence::Other(_) => {}
        }
        let arg = |i: usize| run.at(g.arg(id, i));
        let of = |i: usize| &flows[g.arg(id, i).index()];
        let free = |i: usize| of(i).is_free();
        match g.op(id) {
            Op::Div => made.weighed |= !free(1),
            Op::Mul => made.weighed |= (0..2).all(|i| !free(i) && !of(i).is_bits()) && made.masked,
            Op::Lt | Op::Eq if !free(0) && !free(1) => {
                let (a, b) = (arg(0), arg(1));
                let equal = a.iter().flat_map(|x| b.iter().filter(move |y| !differ(*x, **y)));
                made.tied |= equal.count() > a.len().max(b.len());
            }
            Op::Slice { .. } | Op::Gather { .. } | Op::Concat(_) | Op::Sort => made.placed = true,
            Op::Const(..) | Op::Input(_) if flows[id.index()].is_free() => {
                made.placed |= g.elements(id) > 1;
            }
            _ => {}
        }
        out.push(made);
    }
    out
}

fn position(shape: &[u64], mut at: usize) -> Vec<u64> {
    let mut out = vec![0; shape.len()];
    for (digit, &n) in out.iter_mut().zip(shape).rev() {
        (*digit, at) = (at as u64 % n, at / n as usize);
    }
    out
}

/// One node, its runs, and what is claimed.
struct Node<'a> {
    g: &'a Graph,
    id: NodeId,
    f: &'a Flow,
    made: Made,
    runs: &'a Runs,
}

/// A claim that does not hold, or whether it says anything of this node.
type Held = Result<bool, String>;

/// A field, and how its claim is tested.
type Claim = (&'static str, fn(&Node) -> Held);

const CLAIMS: [Claim; 8] = [
    ("inputs", inputs),
    ("linear", linear),
    ("clients", clients),
    ("bits", bits),
    ("ones", ones),
    ("mask", mask),
    ("order", order),
    ("ranks", ranks),
];

/// `Free` values are the same in all runs, others change with no other inputs than theirs.
fn inputs(n: &Node) -> Held {
    for (input, run) in &n.runs.inputs {
        let changes = n.runs.first.at(n.id).iter().zip(run.at(n.id)).any(|(a, b)| differ(*a, *b));
        let said = !n.f.is_free() && n.f.inputs.contains(input);
        if changes && !said {
            return Err(format!("it depends on {}", n.g.inputs[*input as usize].name));
        }
    }
    Ok(true)
}

/// Half way between two runs, `Linear` values are half way, too.
fn linear(n: &Node) -> Held {
    if n.f.form != Dependence::Linear || n.f.divided {
        return Ok(false);
    }
    let [a, b, c] = [&n.runs.first, &n.runs.apart, &n.runs.midway].map(|run| run.at(n.id));
    let off = (0..a.len()).find(|&e| ((a[e] + b[e]) / 2.0 - c[e]).abs() > 1e-9);
    off.map_or(Ok(true), |e| Err(format!("entry {e} is not linear")))
}

/// Nobody else's data change an entry.
fn clients(n: &Node) -> Held {
    if n.made.weighed || n.made.masked && n.made.tied {
        return Ok(false);
    }
    let runs = if n.made.masked { &n.runs.near } else { &n.runs.far };
    for e in 0..n.g.elements(n.id) as usize {
        let position = position(n.g.shape(n.id), e);
        let told = |g: &super::members::Group| g.member_at(&position);
        let mut others = n.runs.changed(runs, n.id, e);
        let all = others.clone();
        others.retain(|m| !n.f.fixed.contains(m) && n.f.groups.iter().all(|g| told(g) != Some(*m)));
        let untold = n.f.groups.iter().filter(|g| told(g).is_none());
        let unknown = untold.fold(n.f.extra, |n, g| n.saturating_add(g.count));
        if others.len() as u64 > unknown {
            return Err(format!("entry {e} depends on {all:?}"));
        }
    }
    Ok(true)
}

/// In all runs an entry is 0 or one number.
fn bits(n: &Node) -> Held {
    if !n.f.is_bits() {
        return Ok(false);
    }
    for e in 0..n.g.elements(n.id) as usize {
        let all = n.runs.far.iter().map(|r| &r.1).chain([&n.runs.first]).map(|r| r.at(n.id)[e]);
        let values: Vec<f64> = all.filter(|x| *x != 0.0).collect();
        if values.iter().any(|x| differ(*x, values[0])) {
            return Err(format!("entry {e} is one of {values:?}"));
        }
    }
    Ok(true)
}

/// Along the axis there are so many.
fn ones(n: &Node) -> Held {
    let Some((ones, axis)) = n.f.bits else { return Ok(false) };
    let mut counts: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
    for (e, x) in n.runs.first.at(n.id).iter().enumerate() {
        let mut row = position(n.g.shape(n.id), e);
        row.iter_mut().skip(axis).take(1).for_each(|place| *place = 0);
        *counts.entry(row).or_default() += u64::from(*x != 0.0);
    }
    for (_, count) in counts {
        if count > ones.most && !n.made.tied || count > 0 && count < ones.least {
            return Err(format!("{count} bits are 1, {ones:?}"));
        }
    }
    Ok(ones != super::Ones::ANY)
}

/// So many clients' data are left in.
fn mask(n: &Node) -> Held {
    let Dependence::Masked(m) = n.f.form else { return Ok(false) };
    if !m.factor.selects()
        || m.scope != Scope::Each
        || n.made.weighed
        || n.made.tied
        || m.ones == super::Ones::ANY
    {
        return Ok(false);
    }
    for e in 0..n.g.elements(n.id) as usize {
        let changed = n.runs.changed(&n.runs.near, n.id, e);
        let count = changed.iter().filter(|m| m.0 == CLIENT).count() as u64;
        let summed = !n.f.side_by_side() && !m.computed && !n.f.part;
        let few = summed && count > 0 && count < m.ones.least;
        if count > m.ones.most || few {
            return Err(format!("entry {e} holds data of {changed:?}, {m:?}"));
        }
    }
    Ok(true)
}

/// An entry is made of what one entry of the operand is made of.
fn order(n: &Node) -> Held {
    let (Order::One(_, node) | Order::Sorted(_, node)) = n.f.order else { return Ok(false) };
    if n.made.tied {
        return Ok(false);
    }
    let count = |id: NodeId| {
        let each =
            (0..n.g.elements(id) as usize).map(|e| n.runs.changed(&n.runs.near, id, e).len());
        each.max().unwrap_or(0)
    };
    let of = n.g.arg(node, 0);
    if count(n.id) > count(of) {
        return Err(format!("it is no entry of {of:?}"));
    }
    Ok(true)
}

/// Entries of two clients are exchanged with what these give, and no others change.
fn ranks(n: &Node) -> Held {
    let m = n.g.parties[CLIENT as usize].1;
    let all = |g: &super::members::Group| {
        let axis =
            g.axes.first().filter(|_| g.members.is_some_and(|m| m.step == 1 && m.set == CLIENT));
        axis.filter(|a| n.g.shape(n.id)[**a] == m).copied()
    };
    let axes: Option<BTreeSet<usize>> = n.f.groups.iter().map(all).collect();
    let (Some(axes), false, Ranks::No) = (axes, n.made.placed || n.made.tied, n.f.ranks) else {
        return Ok(false);
    };
    let ([i, j], run) = &n.runs.exchanged;
    let shape = n.g.shape(n.id);
    for (e, x) in n.runs.first.at(n.id).iter().enumerate() {
        let mut to = position(shape, e);
        for &axis in &axes {
            to[axis] = match to[axis] as usize {
                p if p == *i => *j as u64,
                p if p == *j => *i as u64,
                p => p as u64,
            };
        }
        let at = to.iter().zip(shape).fold(0, |at, (d, n)| at * *n as usize + *d as usize);
        if (x - run.at(n.id)[at]).abs() > 1e-9 {
            return Err(format!("entry {e} says which of clients {i} and {j} is which"));
        }
    }
    Ok(true)
}

/// Constants may leave out others of the same members in each of two values: an entry is of one client still.
#[test]
fn clients_with_other_zeros_are_the_same_clients() {
    let text = "use std::sum;\npredicate P[m]() { parties Client[m]; parties Server; input x: secret fix[2] in -1..1 from each Client;\n\
                reveal sum(x) to Server as a; }\n";
    let (_, mut g) = crate::report::leaks::tests::built(text, &[("m", "3")]);
    let x = g.ids().find(|&id| matches!(g.op(id), Op::Input(0))).expect("an input");
    let zeros =
        crate::graph::Table { shape: vec![3, 2], data: vec![1.0, 0.0, 2.0, 1.0, 0.0, 1.0].into() };
    let zeros = g.add(Op::Const(zeros, crate::types::Elem::Fix, None), &[], 0);
    let some = g.add(Op::Mul, &[zeros, x], 0);
    let sum = g.add(Op::Add, &[some, x], 0);
    let relu = g.add(Op::Relu, &[sum], 0);
    let flow = flows(&g, &known(&g, 1))[relu.index()].clone();
    assert_eq!((flow.clients(), flow.member_at(&[2, 0])), (1, Some((0, 2))), "{flow:#?}");
}

/// A product of matrices adds up over clients, too.
#[test]
fn a_product_of_matrices_is_a_masked_sum() {
    let text = "use std::sum;\npredicate P[m]() { parties Client[m]; parties Server; input x: secret fix[4] in -1..1 from each Client;\n\
                input b: secret bit from each Client; reveal sum(b[i] * x[i] for i in Client) to Server as a; }\n";
    let (_, mut g) = crate::report::leaks::tests::built(text, &[("m", "3")]);
    let inputs: Vec<NodeId> = g.ids().filter(|&id| matches!(g.op(id), Op::Input(_))).collect();
    let (x, keep) = (inputs[0], g.add(Op::ToInt, &[inputs[1]], 0));
    let keep = g.add(Op::Reshape(vec![1, 1, 3]), &[keep], 0);
    let rows = g.add(Op::Reshape(vec![1, 3, 4]), &[x], 0);
    let columns = g.add(Op::Transpose(vec![0, 2, 1]), &[rows], 0);
    let sums = [
        g.add(Op::MatMul { trans_b: false }, &[keep, rows], 0),
        g.add(Op::MatMul { trans_b: true }, &[keep, columns], 0),
        g.add(Op::MatMul { trans_b: true }, &[columns, keep], 0),
    ];
    let flows = flows(&g, &known(&g, 1));
    for sum in sums {
        let f = &flows[sum.index()];
        assert!(matches!(f.form, Dependence::Masked(m) if m.scope == Scope::Each), "{f:#?}");
        assert_eq!(f.clients(), 3);
    }
}

#[test]
fn claims_hold_of_random_graphs() {
    let (seed, count) = (setting("SLVR_SEED", 0), setting("SLVR_COUNT", 200));
    let mut said: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in seed..seed + count {
        let r = &mut Random::of(seed);
        let m = 3 + r.below(3);
        let g = graphs::graph(r, m);
        let flows = flows(&g, &known(&g, SERVER));
        for _ in 0..2 {
            let runs = Runs::of(&g, r);
            let made = made(&g, &flows, &runs.first);
            for id in g.ids().filter(|id| !made[id.index()].broken) {
                let (f, made) = (&flows[id.index()], made[id.index()]);
                let node = Node { g: &g, id, f, made, runs: &runs };
                for (name, holds) in CLAIMS {
                    let held = holds(&node);
                    let all = || text::print(&g);
                    let held = held.unwrap_or_else(|why| {
                        panic!(
                            "SLVR_SEED={seed}: {name} of %{}: {why}\n{f:#?}\n{}",
                            id.index(),
                            all()
                        )
                    });
                    *said.entry(name).or_default() += u64::from(held);
                }
            }
        }
    }
    for (name, _) in CLAIMS {
        let n = said.get(name).copied().unwrap_or(0);
        assert!(count < 100 || n > count / 10, "{name} was said of {n} values only: {said:?}");
    }
}
