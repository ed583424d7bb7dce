//! Which values of a graph without scales gain by more than [`FRACTION`] fraction bits.
//!
//! A receiver of an aggregate reads it relative to its own size: an update of norm 1e-4 has nothing left of it in units
//! of 2^-16. A comparison does not: it has a margin, and the certificate states it. So precision is wanted where a
//! value is *revealed*, and by what a revealed value is made of: sums, choices, products, quotients and roots ask for
//! it of their operands. Comparisons, and sums of products that are only compared, take what is there as it is. What is
//! rounded on its way to a comparison, such as products of products, keeps more bits where that is asked for
//! ([`Level::compared`]): small products have none left otherwise. Activations of networks, what is compared of them,
//! and the functions that have a domain of their own (exponentials, logarithms, tangents) have entries near 1, for
//! which [`FRACTION`] is enough.
//!
//! An input of which precision is wanted is *fine*: it is encoded with as many fraction bits as its declared range
//! leaves in a word, up to a level that the pipeline chooses. A long input that a network reads, too, is fine only if
//! that is asked for ([`Level::long`]): all its entries are truncated for the network. Products of a short one are
//! truncated by more instead, as far as they fit.

use super::inverse::{Inverse, Part};
use super::scaling::{FRACTION, Level, Want};
use crate::analysis::guard::COMPARED;
use crate::analysis::interval::size;
use crate::graph::{Class, Graph, NodeId, Op};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;
use std::collections::BTreeSet;

/// Fraction bits of the finest inputs.
pub const FINEST: u32 = 24;
/// Fraction bits of what is rounded on its way to a comparison.
const COMPARISON: u32 = 24;
/// A value that was multiplied so often is rounded.
const ROUNDED: u32 = 2;
/// Bits of a fine input, without its sign: sums of a few stay in words of 32 bits.
const WORD: u32 = 27;

/// What is wanted of each value of a graph.
pub(super) struct Precision {
    /// Fraction bits of fine inputs, by index of the input.
    pub inputs: Vec<Option<u32>>,
    /// Fraction bits of fine values that are truncated.
    pub fine: u32,
    want: Vec<Want>,
    networks: Networks,
    /// Of values that are linear in inputs: the fine inputs that they are made of.
    linear: Vec<Option<BTreeSet<u32>>>,
    /// Values that depend on a fine input.
    touched: Vec<bool>,
    /// Values that are rounded on their way to a comparison, and keep more bits.
    compared: Vec<bool>,
    inverse: Inverse,
    /// Whether factors of products with them have more bits.
    factors: bool,
    /// Inputs that have more fraction bits because they are variances.
    variances: BTreeSet<u32>,
}

impl Precision {
    pub fn of(g: &Graph, level: &Level) -> Precision {
        let linear = linear(g);
        let networks = Networks::of(g);
        let asking = g.outputs.len() - usize::from(level.unasked && !g.outputs.is_empty());
        let want = wants(g, &networks, asking);
        let mut precision = Precision {
            inputs: vec![None; g.inputs.len()],
            fine: FRACTION,
            touched: vec![false; g.len()],
            linear,
            compared: if level.compared { compared(g, &networks) } else { vec![false; g.len()] },
            networks,
            want,
            inverse: Inverse::of(g),
            factors: level.factors,
            variances: BTreeSet::new(),
        };
        precision.choose(g, level);
        precision
    }

    fn choose(&mut self, g: &Graph, level: &Level) {
        let mut fine = wanted(g, &self.want);
        let read = |id: NodeId| (0..g.args(id).len()).map(move |i| (id, i));
        for (id, i) in g.ids().flat_map(read).filter(|_| !level.long) {
            let coarse = self.asked(g, id, i) == Want::Coarse;
            let of = self.linear[g.arg(id, i).index()].as_ref().filter(|_| coarse);
            for &input in of.into_iter().flatten() {
                fine[input as usize] &= !is_long(g, input);
            }
        }
        for (i, input) in g.inputs.iter().enumerate().filter(|(i, _)| fine[*i]) {
            let whole = size(input.range).log2().ceil().max(0.0);
            if whole < f64::from(WORD) {
                let cap = level.caps.get(i).map_or(level.most, |&cap| cap.min(level.most));
                let bits = (WORD - whole as u32).min(cap);
                self.inputs[i] = (bits > FRACTION).then_some(bits);
            }
        }
        // Public inputs alone are no reason.
        let secret =
            |(i, bits): (usize, &Option<u32>)| bits.filter(|_| g.inputs[i].from.set().is_some());
        self.fine = self.inputs.iter().enumerate().filter_map(secret).max().unwrap_or(FRACTION);
        if self.fine == FRACTION {
            self.inputs.fill(None);
        }
        let fine = self.inputs.clone();
        self.choose_variances(g, level);
        for id in g.ids() {
            let own = matches!(g.op(id), Op::Input(i) if fine[*i as usize].is_some());
            // What bits choose is no finer for what the bits are made of.
            let number = |a: &NodeId| g.ty(*a).elem != Elem::Bit;
            let args = g.args(id);
            let of = args.iter().filter(|a| number(a));
            self.touched[id.index()] = own || of.into_iter().any(|a| self.touched[a.index()]);
            if let Some(of) = &mut self.linear[id.index()] {
                of.retain(|&i| self.inputs[i as usize].is_some());
            }
        }
    }

    /// Short inputs that are variances, and long ones if that is asked for, have enough fraction bits for reciprocals
    /// of their roots.
    fn choose_variances(&mut self, g: &Graph, level: &Level) {
        for &i in &self.inverse.inputs {
            let input = &g.inputs[i as usize];
            let bits = Inverse::bits(size(input.range));
            let own = self.inputs[i as usize].unwrap_or(FRACTION);
            let bits = if is_long(g, i) { bits.min(level.most) } else { bits };
            let bits = level.caps.get(i as usize).map_or(bits, |&cap| bits.min(cap));
            if input.elem == Elem::Fix && bits > own && (level.long || !is_long(g, i)) {
                self.inputs[i as usize] = Some(bits);
                self.variances.insert(i);
            }
        }
    }

    /// What a node is to the reciprocal of a root.
    pub fn part(&self, id: NodeId) -> Option<Part> {
        self.inverse.part(id)
    }

    /// Whether a value has more fraction bits as a factor.
    pub fn is_factor(&self, id: NodeId) -> bool {
        let part = self.inverse.part(id);
        self.factors && matches!(part, Some(Part::Reciprocal | Part::Product | Part::Centred))
    }

    /// What is wanted of a value; of what is made of no fine input, nothing beyond [`FRACTION`].
    pub fn of_value(&self, g: &Graph, id: NodeId) -> Want {
        match self.touched[id.index()] {
            // A comparison.
            true if g.ty(id).elem == Elem::Bit => Want::AsItIs,
            true => self.want(id),
            false if self.compared[id.index()] => Want::AsItIs,
            false => Want::Coarse,
        }
    }

    /// Whether a value is rounded on its way to a comparison, and keeps more bits.
    pub fn is_rounded(&self, id: NodeId) -> bool {
        self.compared[id.index()]
    }

    /// Fraction bits of a fine value after it is truncated.
    pub fn bits(&self, id: NodeId) -> u32 {
        if self.compared[id.index()] { self.fine.max(COMPARISON) } else { self.fine }
    }

    /// The fraction bits with which a node takes its operand number `i`, if the operand, or what it is a sum of, has
    /// more. What is made of short vectors alone is taken as it is: products are truncated by more instead. Variances
    /// have more for nothing but their roots.
    pub fn cut(&self, g: &Graph, id: NodeId, i: usize) -> Option<u32> {
        let of = self.linear[g.arg(id, i).index()].as_ref()?;
        let coarse = self.asked(g, id, i) == Want::Coarse;
        if of.iter().any(|input| self.variances.contains(input)) {
            let hands_on = self.inverse.is_of_variance(id) || g.op(id).is_layout();
            return (!hands_on).then_some(if coarse { FRACTION } else { self.fine });
        }
        let long = of.iter().any(|&input| is_long(g, input));
        (long && coarse).then_some(FRACTION)
    }

    /// Whether a node compares entries of its operand number `i` that a network made of fine inputs.
    pub fn is_compared(&self, g: &Graph, id: NodeId, i: usize) -> bool {
        let compares = match g.op(id) {
            Op::Lt | Op::ArgMax => true,
            Op::ArgMaxIs => i == 0,
            _ => false,
        };
        let arg = g.arg(id, i).index();
        compares && self.touched[arg] && self.networks.within[arg]
    }

    fn asked(&self, g: &Graph, id: NodeId, i: usize) -> Want {
        asked(g, &self.networks, &|id: NodeId| self.want(id), id, i)
    }

    fn want(&self, id: NodeId) -> Want {
        self.want[id.index()]
    }
}

/// By index, of which inputs precision is wanted.
fn wanted(g: &Graph, want: &[Want]) -> Vec<bool> {
    let mut fine = vec![false; g.inputs.len()];
    for id in g.ids() {
        if let Op::Input(i) = *g.op(id) {
            // Of a public input more bits cost nothing.
            let least = match g.ty(id).secrecy {
                Secrecy::Secret => Want::Fine,
                Secrecy::Public => Want::AsItIs,
            };
            let fix = g.inputs[i as usize].elem == Elem::Fix;
            fine[i as usize] = fix && want[id.index()] >= least;
        }
    }
    fine
}

/// The secret inputs of a graph without scales of which precision is wanted, by index.
pub fn wanted_inputs(g: &Graph) -> Vec<usize> {
    let wanted = wanted(g, &wants(g, &Networks::of(g), g.outputs.len()));
    (0..g.inputs.len()).filter(|&i| wanted[i] && g.inputs[i].from.set().is_some()).collect()
}

/// Whether anything is rounded on its way to a comparison.
pub fn rounds_for_comparisons(g: &Graph) -> bool {
    compared(g, &Networks::of(g)).contains(&true)
}

/// Whether anything is multiplied by the reciprocal of a root.
pub fn normalises(g: &Graph) -> bool {
    let inverse = Inverse::of(g);
    g.ids().any(|id| inverse.part(id) == Some(Part::Product))
}

/// Inputs that variances are linear in, by index.
pub fn variances(g: &Graph) -> Vec<usize> {
    Inverse::of(g).inputs.into_iter().map(|i| i as usize).collect()
}

/// Values that comparisons of products of products are made of, and these comparisons. Quotients and roots are none:
/// their protocols have errors relative to the result, and equal ones would be told apart by these.
fn compared(g: &Graph, networks: &Networks) -> Vec<bool> {
    // How often a value has been multiplied.
    let mut products = vec![0u32; g.len()];
    let number = |a: NodeId| g.ty(a).elem == Elem::Fix;
    for id in g.ids().filter(|&id| number(id)) {
        let args = g.args(id);
        let most = args.iter().filter(|&&a| number(a)).map(|a| products[a.index()]).max();
        let most = most.unwrap_or(0);
        products[id.index()] = match g.op(id) {
            Op::Mul | Op::MatMul { .. } if args.iter().all(|&a| number(a)) => most + 1,
            Op::Div | Op::Function(_) => 0,
            _ => most,
        };
    }
    let mut found = vec![false; g.len()];
    for id in g.ids().rev() {
        let (args, index) = (g.args(id), id.index());
        let rounded = |a: &NodeId| {
            number(*a) && products[a.index()] >= ROUNDED && !networks.within[a.index()]
        };
        match g.op(id) {
            Op::Lt | Op::Eq | Op::ArgMax | Op::ArgMaxIs if args.iter().any(rounded) => {
                found[index] = true;
                args.iter().for_each(|a| found[a.index()] |= number(*a));
            }
            Op::Div | Op::Function(_) => found[index] = false,
            _ if found[index] && number(id) => {
                for (i, a) in args.iter().enumerate().filter(|(_, a)| number(**a)) {
                    let own = |_: NodeId| Want::AsItIs;
                    found[a.index()] |= asked(g, networks, &own, id, i) > Want::Coarse;
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether an input has more entries than are compared one by one.
fn is_long(g: &Graph, input: u32) -> bool {
    g.inputs[input as usize].shape.iter().product::<u64>() > COMPARED
}

struct Networks {
    /// A gate of an activation: of sums of products.
    gate: Vec<bool>,
    /// What depends on activations, or on functions of which the operand has units of its own.
    within: Vec<bool>,
}

impl Networks {
    fn of(g: &Graph) -> Networks {
        let mut all = Networks { gate: vec![false; g.len()], within: vec![false; g.len()] };
        // Sums of products.
        let mut sums = vec![false; g.len()];
        for id in g.ids() {
            let args = g.args(id);
            let (i, bit) = (id.index(), g.ty(id).elem == Elem::Bit);
            let op = g.op(id);
            let inner = matches!(op, Op::MatMul { .. } | Op::Conv2d(_))
                && args.iter().all(|&a| g.ty(a).elem == Elem::Fix);
            let through = op.is_layout()
                || matches!(op, Op::Add | Op::Sub | Op::Neg | Op::Scale(_) | Op::Sum(_));
            sums[i] = inner || through && args.iter().any(|a| sums[a.index()]);
            all.gate[i] = matches!(op, Op::Relu | Op::Gate) && sums[args[0].index()];
            let own = match op {
                Op::Conv2d(_) => true,
                Op::Function(f) => !f.facts().relative,
                _ => all.gate[i],
            };
            all.within[i] = !bit && (own || args.iter().any(|a| all.within[a.index()]));
        }
        all
    }
}

/// Which values are linear in inputs, and in which.
fn linear(g: &Graph) -> Vec<Option<BTreeSet<u32>>> {
    let mut all: Vec<Option<BTreeSet<u32>>> = Vec::with_capacity(g.len());
    for id in g.ids() {
        let args = g.args(id);
        let of = |a: &NodeId| all[a.index()].clone();
        let union = |parts: &[NodeId]| {
            parts.iter().try_fold(BTreeSet::new(), |mut all, a| {
                all.append(&mut of(a)?);
                Some(all)
            })
        };
        let whole = |a: NodeId| g.ty(a).elem == Elem::Int;
        all.push(match g.op(id) {
            Op::Input(i) => Some([*i].into()),
            Op::Const(..) | Op::Draw(_) | Op::Places(_) => Some(BTreeSet::new()),
            Op::Noise { .. } => None,
            op if op.is_layout() => of(&args[0]),
            Op::Add | Op::Sub | Op::Neg | Op::Scale(_) | Op::Sum(_) | Op::Concat(_) => union(args),
            Op::Mul | Op::MatMul { .. } if whole(args[0]) => of(&args[1]),
            Op::Mul | Op::MatMul { .. } if whole(args[1]) => of(&args[0]),
            _ => None,
        });
    }
    all
}

/// The most that any reader wants of each value; only the first few outputs ask.
fn wants(g: &Graph, networks: &Networks, asking: usize) -> Vec<Want> {
    let mut want = vec![Want::Coarse; g.len()];
    g.outputs.iter().take(asking).for_each(|o| want[o.node.index()] = Want::Fine);
    for id in g.ids().rev() {
        for (i, a) in g.args(id).iter().copied().enumerate() {
            let asked = asked(g, networks, &|id: NodeId| want[id.index()], id, i);
            want[a.index()] = want[a.index()].max(asked);
        }
    }
    want
}

/// What a node asks of its operand number `i`, if `want` is wanted of its result.
fn asked(
    g: &Graph,
    networks: &Networks,
    want: &dyn Fn(NodeId) -> Want,
    id: NodeId,
    i: usize,
) -> Want {
    let own = want(id);
    match g.op(id) {
        Op::Lt | Op::Eq | Op::ArgMax | Op::ArgMaxIs if networks.within[g.arg(id, i).index()] => {
            Want::Coarse
        }
        Op::Lt | Op::Eq | Op::ArgMax => Want::AsItIs,
        Op::ArgMaxIs if i == 0 => Want::AsItIs,
        Op::Mul | Op::MatMul { .. } if own == Want::AsItIs => {
            let other = g.arg(id, 1 - i);
            if networks.within[other.index()] { Want::Coarse } else { own }
        }
        Op::Relu | Op::Gate if networks.gate[id.index()] => Want::Coarse,
        Op::Function(f) if !f.facts().relative => Want::Coarse,
        // An index, and a condition.
        Op::Gather { .. } if i > 0 => Want::Coarse,
        Op::Select if i == 0 => Want::Coarse,
        Op::ArgMaxIs | Op::Conv2d(_) | Op::ToInt => Want::Coarse,
        op if matches!(op.class(), Class::Leaf) => Want::Coarse,
        Op::OneHot(_) | Op::Places(_) => Want::Coarse,
        Op::Not | Op::And | Op::Xor => Want::Coarse,
        _ => own,
    }
}
