//! Products of many bits in one round ([`MultiAnd`]): of masks, and of what was opened.

use super::{CLEAR, STRIP, Strips, V, Work, halve, jobs, merge};
use crate::Planes;
use crate::plane_writer::PlaneWriter;
use crate::simd::versions;
use slvr_circuit::multi_and::MultiAnd;

/// The group of a pattern: its planes, and which planes of the products are its own.
#[derive(Clone, Copy)]
struct Group {
    /// Members.
    size: usize,
    /// Its first node.
    node: usize,
    /// First plane of its factors (of the generate bits, for a carry).
    first: usize,
    /// First plane of its propagate bits.
    propagate: usize,
    /// Factors that are multiplied by each other: its propagate bits, or all of them.
    members: usize,
    /// 1 for the lowest nodes of a carry tree: node 0 has no propagate bit.
    skip: usize,
    /// First plane of its products.
    products: usize,
}

fn groups(gates: &MultiAnd) -> Vec<Group> {
    let carry = matches!(gates, MultiAnd::Carry(_));
    let (mut node, mut first, mut products) = (0, 0, 0);
    // Of a carry, propagate bits are behind all generate bits but the groups' top ones.
    let mut propagate = gates.sizes().iter().map(|&s| s as usize - 1).sum::<usize>();
    let group = |(i, &size): (usize, &u32)| {
        let skip = usize::from(i == 0 && carry);
        let wide = size as usize;
        let members = if wide < 2 { 0 } else { wide - skip };
        let from = if carry { propagate } else { first };
        let g = Group { size: wide, node, first, propagate: from, members, skip, products };
        node += wide;
        first += if carry { wide - 1 } else { members };
        propagate += members;
        products += match gates {
            MultiAnd::And(_) => MultiAnd::And(vec![size]).mask_products(),
            MultiAnd::Carry(_) if i == 0 => MultiAnd::Carry(vec![size]).mask_products(),
            // As the second of two groups, of which the first has no products.
            MultiAnd::Carry(_) => MultiAnd::Carry(vec![1, size]).mask_products(),
        } as usize;
        g
    };
    gates.sizes().iter().enumerate().map(group).collect()
}

/// Products of masks in the order of [`MultiAnd`].
pub fn mask_products(x: &Planes, gates: &MultiAnd) -> Planes {
    Planes::written(gates.mask_products(), x.len(), |writers| {
        let work = x.stride() * writers.len();
        let all = groups(gates);
        let ends = all.iter().skip(1).map(|g| g.products).chain([writers.len()]);
        let ends: Vec<usize> = ends.collect();
        let mut rest = writers.iter_mut();
        let items: Vec<_> = all
            .iter()
            .zip(ends)
            .map(|(g, end)| (*g, rest.by_ref().take(end - g.products).collect::<Vec<_>>()))
            .collect();
        let carry = matches!(gates, MultiAnd::Carry(_));
        let x = Strips::of(x);
        jobs(work, items, |(g, mut writers)| products_of(&x, g, carry, &mut writers));
    })
}

versions! {
    /// The products of one group.
    fn products_of<[] []>(x: &Strips<'_>, g: Group, carry: bool, writers: &mut [&mut PlaneWriter<'_>]) {
        if writers.is_empty() {
            return;
        }
        let members = g.members;
        let mut sets = vec![Work([u64::MAX; STRIP]); 1 << members];
        let mut product = CLEAR;
        for at in x.starts() {
            for s in 1usize..1 << members {
                let bit = x.get(g.propagate + s.trailing_zeros() as usize, at);
                let (less, set) = sets.split_at_mut(s);
                merge(&mut set[0].0, &less[s & (s - 1)].0, bit, bit, |a, b, _| a & b);
            }
            let mut to = writers.iter_mut();
            let mut put = |v: &V| {
                if let Some(writer) = to.next() {
                    writer.put(v);
                }
            };
            (1usize..1 << members).filter(|s| s.count_ones() >= 2).for_each(|s| put(&sets[s].0));
            if !carry {
                continue;
            }
            for j in 0..g.size - 1 {
                let generate = x.get(g.first + j, at);
                for s in 1usize..1 << (g.size - 1 - j) {
                    let set = &sets[s << (j + 1 - g.skip)].0;
                    merge(&mut product.0, generate, set, set, |a, b, _| a & b);
                    put(&product.0);
                }
            }
        }
    }
}

/// Folds shares of the products of masks into shares of the product of all factors, which is left in
/// front: `c[S]` belongs to the product of the masks in S, m are the opened factors.
#[inline(always)]
fn fold<'a>(c: &mut [Work], m: impl Iterator<Item = &'a V>) {
    let mut n = c.len();
    for m in m {
        n /= 2;
        halve(c, n, m, |without, with, m| (without & m) ^ with);
    }
}

/// Shares of the products of [`MultiAnd`], from opened factors, shares of their masks and of the products
/// of masks, and of the nodes, if some of them are added.
///
/// # Panics
///
/// If the pattern needs nodes and there are none: the verifier checks that.
pub fn and_many(
    open: &Planes,
    mask: &Planes,
    products: &Planes,
    nodes: Option<&Planes>,
    pattern: &MultiAnd,
    one: &Planes,
) -> Planes {
    Planes::written(pattern.outputs(), open.len(), |writers| {
        let work = open.stride() * products.width() as usize;
        let all = groups(pattern);
        let (results, above) = writers.split_at_mut(all.len().min(writers.len()));
        let above = std::iter::once(None).chain(above.iter_mut().map(Some));
        let above = above.chain(std::iter::repeat_with(|| None));
        let items: Vec<_> = all.into_iter().zip(results).zip(above).collect();
        let carry = matches!(pattern, MultiAnd::Carry(_));
        let count = pattern.sizes().iter().sum::<u32>() as usize;
        let copy = |to: &mut PlaneWriter<'_>, plane: usize| {
            if let Some(nodes) = nodes {
                to.put(nodes.plane(plane));
            }
        };
        let (open, mask, one) = (Strips::of(open), Strips::of(mask), Strips::of(one));
        let (products, nodes) = (Strips::of(products), nodes.map(Strips::of));
        let given = Given { open, mask, products, nodes, one };
        jobs(work, items, |((g, result), above)| match g.size {
            1 => {
                // As it is. All nodes have a generate bit, all but the first a propagate bit.
                copy(result, g.node);
                if let Some(above) = above {
                    copy(above, count + g.node - 1);
                }
            }
            _ => results_of(&given, g, carry, result, above),
        });
    })
}

struct Given<'a> {
    open: Strips<'a>,
    mask: Strips<'a>,
    products: Strips<'a>,
    nodes: Option<Strips<'a>>,
    one: Strips<'a>,
}

versions! {
    /// The results of one group of at least two.
    fn results_of<[] []>(
        given: &Given<'_>,
        g: Group,
        carry: bool,
        result: &mut PlaneWriter<'_>,
        above: Option<&mut PlaneWriter<'_>>,
    ) {
        let Given { open, mask, products, nodes, one } = given;
        let mut above = above;
        let all = 1usize << g.members;
        // Where the products of masks of a set are, which are listed for sets of two or more.
        let mut behind = g.products;
        let place = |s: usize| {
            let at = behind;
            behind += usize::from(s.count_ones() >= 2);
            at
        };
        let places: Vec<usize> = (0..all).map(place).collect();
        let mut c = vec![CLEAR; all.max(1 << (g.size - 1))];
        for at in open.starts() {
            let set = |s: usize| match s.count_ones() {
                0 => one.get(0, at),
                1 => mask.get(g.propagate + s.trailing_zeros() as usize, at),
                _ => products.get(places[s], at),
            };
            let factors = |from: usize| (from..g.members).map(move |j| open.get(g.propagate + j, at));
            if carry {
                let mut sum = nodes.as_ref().map_or(CLEAR, |x| Work(*x.get(g.node + g.size - 1, at)));
                let mut next = behind;
                for j in 0..g.size - 1 {
                    let opened = open.get(g.first + j, at);
                    let shift = j + 1 - g.skip;
                    let n = 1usize << (g.size - 1 - j);
                    for (s, c) in c.iter_mut().enumerate().take(n) {
                        let with = match s {
                            0 => mask.get(g.first + j, at),
                            _ => products.get(next + s - 1, at),
                        };
                        merge(&mut c.0, set(s << shift), opened, with, |a, b, c| (a & b) ^ c);
                    }
                    next += n - 1;
                    fold(&mut c[..n], factors(shift));
                    sum.0.iter_mut().zip(&c[0].0).for_each(|(sum, c)| *sum ^= c);
                }
                result.put(&sum.0);
            }
            if carry && above.is_none() {
                continue;
            }
            c.iter_mut().enumerate().take(all).for_each(|(s, c)| c.0 = *set(s));
            fold(&mut c[..all], factors(0));
            match &mut above {
                Some(writer) if carry => writer.put(&c[0].0),
                _ => result.put(&c[0].0),
            }
        }
    }
}
