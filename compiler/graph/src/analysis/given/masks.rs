//! Which truncations round as bounded martingale differences.
//!
//! Both families truncate x = a + b to ceil((x - r) / 2^f), r = a mod 2^f (`docs/src/protocols.md`, "What a rounding
//! hands out"). If r is uniform given all that determines x and given all other roundings that come before it, the
//! rounding error has mean 0 given these and takes one of two values that are one unit apart.
//!
//! The word a is fresh where x is a product of secrets:
//!
//! - **T1** reshares it: P_i sends z_i + alpha_i, and alpha_0, alpha_1, alpha_2 are fresh from the pairwise streams,
//!   with sum 0. Given the product, any two of the three new components are uniform, and independent of all that was
//!   drawn before. a is the sum of two components, so it is uniform.
//! - **T2** settles it: the two evaluators open it less a mask that is drawn for this opening and used once, which the
//!   verifier checks. a is this mask plus a term that only the dealer knows and that earlier masks determine. So a is
//!   uniform given all of these and given x.
//!
//! Each entry has a mask of its own. Adding a value that is not computed with the same shares, taking the negative,
//! moving entries without repeating one and adding up disjoint sets of entries keep it so: the low f bits of a sum of a
//! uniform word and anything independent of it are uniform. Lifts to larger rings and cuts to smaller ones keep the low
//! bits. What comes after the truncation may use the same mask: it does not change the mean of an error that is
//! settled. So a truncation is a [`Rounding::Martingale`] if its operand is such a product, up to these steps, and if
//!
//! - it is the first one of this product: two that share r are not independent;
//! - no other rounding that comes before it computes with the product's own shares: the operand could depend on r
//!   by way of its error. (What such a rounding reaches by a product of secrets or by a bit has new masks.)
//!
//! All other truncations of secrets are [`Rounding::Any`]: of inputs, of products with public numbers (whose masks
//! are sums of the operand's masks with public factors, and may be even, or the same for several entries), of values
//! that were rounded before.

use crate::graph::{Graph, Key, NodeId, Op, Table};
use slvr_language::syntax::ast::Secrecy;
use slvr_language::types::Elem;
use std::collections::HashMap;

/// What is known of how a node rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// It does not truncate.
    None,
    /// To the nearest: public values.
    Nearest,
    /// Up or down, with mean 0 given all that came before, independently of other entries.
    Martingale,
    /// Up or down.
    Any,
}

/// By index of the node.
pub fn roundings(g: &Graph) -> Vec<Rounding> {
    let secret = |id: NodeId| g.ty(id).secrecy == Secrecy::Secret;
    let (copies, products, first) = (copies(g), products(g), first_roundings(g));
    let of = |id: NodeId| match g.op(id) {
        Op::Trunc(_) if !secret(id) => Rounding::Nearest,
        Op::Trunc(_) => match products[g.arg(id, 0).index()] {
            Some(root) if !copies[root.index()] && first[root.index()] == Some(id) => {
                Rounding::Martingale
            }
            _ => Rounding::Any,
        },
        op if rounds(op) => Rounding::Any,
        _ => Rounding::None,
    };
    g.ids().map(of).collect()
}

/// Whether an operation rounds with the shares of its operands.
fn rounds(op: &Op) -> bool {
    matches!(op, Op::Trunc(_) | Op::Function(_) | Op::Div)
}

/// A product of two secrets.
fn masked_anew(g: &Graph, id: NodeId) -> bool {
    let product = matches!(g.op(id), Op::Mul | Op::MatMul { .. } | Op::Conv2d { .. });
    product && g.args(id).iter().all(|&a| g.ty(a).secrecy == Secrecy::Secret)
}

/// By index of the node, of what truncations ask: the product whose masks are those of a value, entry by entry, or
/// summed up over disjoint sets of entries.
fn products(g: &Graph) -> Vec<Option<NodeId>> {
    let mut asked = vec![false; g.len()];
    for id in g.ids().rev() {
        let of = match g.op(id) {
            Op::Trunc(_) => g.args(id),
            _ if asked[id.index()] => carried(g, id),
            _ => &[],
        };
        of.iter().for_each(|a| asked[a.index()] = true);
    }
    let mut found = vec![None; g.len()];
    for id in g.ids().filter(|id| asked[id.index()]) {
        let of = |a: NodeId| found[a.index()];
        found[id.index()] = match *carried(g, id) {
            _ if masked_anew(g, id) => Some(id),
            [a] => of(a),
            [a, b] => {
                // Of two products either would do, if it is repeated nowhere and the other operand is not made of it:
                // entries of p + (sum(p) - p) are all the same word.
                let whole = |a: NodeId, other: NodeId| {
                    let root = (g.elements(a) == g.elements(id)).then(|| of(a))??;
                    (!shares(g, other, root)).then_some(root)
                };
                whole(a, b).or_else(|| whole(b, a))
            }
            _ => None,
        };
    }
    found
}

/// The operands whose masks a value may have.
fn carried(g: &Graph, id: NodeId) -> &[NodeId] {
    match g.op(id) {
        Op::Neg | Op::Sum(_) | Op::Add | Op::Sub => g.args(id),
        // The same words, read at another scale.
        Op::DivPow2(_) | Op::MulPow2(_) => g.args(id),
        Op::Reshape(_) | Op::Transpose(_) | Op::Slice { .. } => g.args(id),
        _ => &[],
    }
}

/// Whether a value is computed with a product's own shares. Products of secrets and bits have new masks.
fn shares(g: &Graph, value: NodeId, root: NodeId) -> bool {
    let mut seen = vec![false; value.index() + 1];
    let mut open = vec![value];
    while let Some(x) = open.pop() {
        if x == root {
            return true;
        }
        if x < root || masked_anew(g, x) || g.ty(x).elem == Elem::Bit {
            continue;
        }
        for &a in g.args(x).iter() {
            if !std::mem::replace(&mut seen[a.index()], true) {
                open.push(a);
            }
        }
    }
    false
}

/// By index of the node, the first rounding that is reached from its own shares, if any is.
fn first_roundings(g: &Graph) -> Vec<Option<NodeId>> {
    let mut first = vec![None; g.len()];
    for id in g.ids().rev() {
        let reached = |&user: &NodeId| match g.op(user) {
            _ if masked_anew(g, user) || g.ty(user).elem == Elem::Bit => None,
            op if rounds(op) => Some(user),
            _ => first[user.index()],
        };
        first[id.index()] = g.users(id).iter().filter_map(reached).min();
    }
    first
}

/// What a node's instruction is told apart by: of a constant the words, whatever its scale, and of a shift the factor.
fn instruction(g: &Graph, id: NodeId) -> Key {
    match g.op(id) {
        Op::Const(Table { shape, data }, Elem::Int | Elem::Fix, _) => {
            let unit = f64::from(g.frac_of(id)).exp2();
            let data = data.iter().map(|x| (x * unit).round() + 0.0).collect();
            Op::Const(Table { shape: shape.clone(), data }, Elem::Int, None).key()
        }
        Op::Shift(by) => Op::Scale(f64::from(*by).exp2()).key(),
        op => op.key(),
    }
}

/// Nodes that another one equals: the circuit has one value for both, and so one mask.
fn copies(g: &Graph) -> Vec<bool> {
    let mut numbers: HashMap<(Key, Vec<usize>), usize> = HashMap::new();
    let mut number: Vec<usize> = Vec::with_capacity(g.len());
    let mut count = vec![0u32; g.len()];
    for id in g.ids() {
        number.push(match g.op(id) {
            // The same words, read at another scale.
            Op::DivPow2(_) | Op::MulPow2(_) => number[g.arg(id, 0).index()],
            // Samples of one shape have coins of their own.
            Op::Draw(_) => id.index(),
            _ => {
                let of = g.args(id).iter().map(|a| number[a.index()]).collect();
                let n = *numbers.entry((instruction(g, id), of)).or_insert(id.index());
                count[n] += 1;
                n
            }
        });
    }
    number.into_iter().map(|n| count[n] > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::text;

    /// Roundings of a graph over secret x and y and a public p, 4 numbers each, by the number of the node.
    fn of(body: &str) -> Vec<Rounding> {
        let inputs = "input 0 x : secret fix[4] in -8..8 from each Client\n\
                      input 1 y : secret fix[4] in -8..8 from each Client\n\
                      input 2 p : public fix[1,4] in -8..8\n";
        let text = format!(
            "graph Test\nparties Client[1]\nparties Server[1]\nfrac 16\n{inputs}site 0 \"x\" line 1\n\n\
             %0 = input 0 : secret fix.16[1,4] @0\n%1 = input 1 : secret fix.16[1,4] @0\n\
             %2 = input 2 : public fix.16[1,4] @0\n{body}\nreveal %3 to Server as z @0\n"
        );
        roundings(&text::parse(&text).expect("a graph"))
    }

    #[test]
    fn a_product_of_secrets_rounds_as_a_martingale() {
        let product = "%3 = mul %0 %1 : secret fix.32[1,4] @0\n";
        let trunc = |x: u32, at: u32| format!("%{at} = trunc %{x} by=16 : secret fix.16[1,4] @0\n");
        assert_eq!(of(&(product.to_string() + &trunc(3, 4)))[4], Rounding::Martingale);
        // With something added, of the other sign, moved, and summed up.
        let moved = "%4 = shift %0 by=16 : secret fix.32[1,4] @0\n%5 = sub %4 %3 : secret fix.32[1,4] @0\n\
                     %6 = neg %5 : secret fix.32[1,4] @0\n%7 = reshape %6 : secret fix.32[2,2] @0\n\
                     %8 = sum %7 axes=[1] : secret fix.32[2] @0\n%9 = trunc %8 by=16 : secret fix.16[2] @0\n";
        assert_eq!(of(&(product.to_string() + moved))[9], Rounding::Martingale);
        // A product of what was rounded is masked anew.
        let again = product.to_string()
            + &trunc(3, 4)
            + "%5 = mul %4 %1 : secret fix.32[1,4] @0\n"
            + &trunc(5, 6);
        let found = of(&again);
        assert_eq!((found[4], found[6]), (Rounding::Martingale, Rounding::Martingale));
    }

    #[test]
    fn chains_of_sums_are_read_once() {
        let chain = |other: &dyn Fn(u32) -> String| {
            let mut body = String::from(
                "%3 = mul %0 %1 : secret fix.32[1,4] @0\n%4 = mul %0 %0 : secret fix.32[1,4] @0\n\
                 %5 = add %3 %4 : secret fix.32[1,4] @0\n",
            );
            for at in 6..66 {
                body += &format!("%{at} = add %{} {} : secret fix.32[1,4] @0\n", at - 1, other(at));
            }
            of(&(body + "%66 = trunc %65 by=16 : secret fix.16[1,4] @0\n"))[66]
        };
        assert_eq!(chain(&|_| "%4".into()), Rounding::Martingale);
        // Each operand is made of the other one's product.
        assert_eq!(chain(&|at| format!("%{}", at - 1)), Rounding::Any);
    }

    #[test]
    fn what_shares_masks_or_has_none_of_its_own_is_not_claimed() {
        let product = "%3 = mul %0 %1 : secret fix.32[1,4] @0\n";
        let trunc = |x: u32, at: u32, by: u32| {
            format!("%{at} = trunc %{x} by={by} : secret fix.{}[1,4] @0\n", 32 - by)
        };
        // Twice the same product: the same coin.
        let twice = of(&(product.to_string() + &trunc(3, 4, 16) + &trunc(3, 5, 12)));
        assert_eq!((twice[4], twice[5]), (Rounding::Martingale, Rounding::Any));
        // Two equal products are one in the circuit.
        let equal = "%4 = mul %0 %1 : secret fix.32[1,4] @0\n";
        let equal = of(&(product.to_string() + equal + &trunc(3, 5, 16) + &trunc(4, 6, 12)));
        assert_eq!((equal[5], equal[6]), (Rounding::Any, Rounding::Any));
        // Entries of p + (t - p) are one word, those of p and of p moved share masks.
        let leave = product.to_string()
            + "%4 = sum %3 axes=[1] : secret fix.32[1] @0\n%5 = reshape %4 : secret fix.32[1,1] @0\n\
               %6 = broadcast %5 : secret fix.32[1,4] @0\n%7 = sub %6 %3 : secret fix.32[1,4] @0\n\
               %8 = add %3 %7 : secret fix.32[1,4] @0\n"
            + &trunc(8, 9, 16);
        assert_eq!(of(&leave)[9], Rounding::Any);
        let moved = product.to_string()
            + "%4 = reshape %3 : secret fix.32[2,2] @0\n%5 = transpose %4 perm=[1,0] : secret fix.32[2,2] @0\n\
               %6 = sub %4 %5 : secret fix.32[2,2] @0\n%7 = trunc %6 by=16 : secret fix.16[2,2] @0\n";
        assert_eq!(of(&moved)[7], Rounding::Any);
        // Equal but for a scale that no instruction makes: one reshare for both.
        let halves = "%3 = div_pow2 %0 by=1 : secret fix.17[1,4] @0\n%4 = mul %3 %1 : secret fix.33[1,4] @0\n\
                      %5 = div_pow2 %1 by=1 : secret fix.17[1,4] @0\n%6 = mul %0 %5 : secret fix.33[1,4] @0\n\
                      %7 = trunc %4 by=17 : secret fix.16[1,4] @0\n%8 = trunc %6 by=17 : secret fix.16[1,4] @0\n";
        let halves = of(halves);
        assert_eq!((halves[7], halves[8]), (Rounding::Any, Rounding::Any));
        // Likewise if constants are the same words at another scale, or a shift is written as a factor.
        let constants = "%3 = mul %0 %1 : secret fix.32[1,4] @0\n%4 = const 1 : public fix.16[1,1] @0\n\
                         %5 = broadcast %4 : public fix.16[1,4] @0\n%6 = add %0 %5 : secret fix.16[1,4] @0\n\
                         %7 = div_pow2 %0 by=1 : secret fix.17[1,4] @0\n%8 = const 0.5 : public fix.17[1,1] @0\n\
                         %9 = broadcast %8 : public fix.17[1,4] @0\n%10 = add %7 %9 : secret fix.17[1,4] @0\n\
                         %11 = mul %6 %1 : secret fix.32[1,4] @0\n%12 = mul %10 %1 : secret fix.33[1,4] @0\n\
                         %13 = trunc %11 by=16 : secret fix.16[1,4] @0\n%14 = trunc %12 by=17 : secret fix.16[1,4] @0\n";
        let constants = of(constants);
        assert_eq!((constants[13], constants[14]), (Rounding::Any, Rounding::Any));
        let factors = "%3 = shift %0 by=2 : secret fix.18[1,4] @0\n%4 = mul %3 %1 : secret fix.34[1,4] @0\n\
                       %5 = scale %0 by=4 : secret fix.16[1,4] @0\n%6 = mul %5 %1 : secret fix.32[1,4] @0\n\
                       %7 = trunc %4 by=18 : secret fix.16[1,4] @0\n%8 = trunc %6 by=16 : secret fix.16[1,4] @0\n";
        let factors = of(factors);
        assert_eq!((factors[7], factors[8]), (Rounding::Any, Rounding::Any));
        // A public factor scales the masks of the input; a raised value has low bits without a mask.
        let public = "%3 = mul %0 %2 : secret fix.32[1,4] @0\n";
        assert_eq!(of(&(public.to_string() + &trunc(3, 4, 16)))[4], Rounding::Any);
        let raised = product.to_string()
            + "%4 = shift %3 by=4 : secret fix.36[1,4] @0\n%5 = trunc %4 by=20 : secret fix.16[1,4] @0\n";
        assert_eq!(of(&raised)[5], Rounding::Any);
        // Another rounding of the product's shares comes first, and its error is added.
        let before = product.to_string()
            + &trunc(3, 4, 4)
            + "%5 = shift %4 by=4 : secret fix.32[1,4] @0\n%6 = neg %3 : secret fix.32[1,4] @0\n\
               %7 = add %5 %6 : secret fix.32[1,4] @0\n"
            + &trunc(7, 8, 16);
        assert_eq!(of(&before)[8], Rounding::Any);
        // Public values have no coin.
        let open =
            "%3 = mul %2 %2 : public fix.32[1,4] @0\n%4 = trunc %3 by=16 : public fix.16[1,4] @0\n";
        assert_eq!(of(open)[4], Rounding::Nearest);
    }
}
