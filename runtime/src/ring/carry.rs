//! Bits of comparisons, bit-sliced: thermometer codes, the choice of an entry, products of many bits.
//!
//! Lives here: the local parts of [`Op::Thermometer`], [`Op::Pick`], [`Op::Monomials`] and [`Op::Fan`]
//! (see [`crate::circuit::Op`]), on whole tensors of bits. May not: who holds what; `one` stands for
//! the share of the constant 1 that a party adds, one bit for each element.
//!
//! Eight words of a plane go through a formula at a time, so that the loops vectorise and the planes in
//! between stay in registers.
//!
//! [`Op::Thermometer`]: crate::circuit::Op::Thermometer
//! [`Op::Pick`]: crate::circuit::Op::Pick
//! [`Op::Monomials`]: crate::circuit::Op::Monomials
//! [`Op::Fan`]: crate::circuit::Op::Fan

use super::Planes;
use crate::circuit::fan::{Fan, MAX_FAN};
use rayon::prelude::*;

/// Words of a plane that are worked on together.
const LANES: usize = 8;

/// Most planes of a block.
pub const MAX_BLOCK: u32 = 8;

type V = [u64; LANES];

/// Words of planes below which threads cost more than they bring.
const SERIAL: usize = 1 << 15;

#[inline(always)]
fn map2(a: V, b: V, f: impl Fn(u64, u64) -> u64) -> V {
    std::array::from_fn(|i| f(a[i], b[i]))
}

#[inline(always)]
fn and(a: V, b: V) -> V {
    map2(a, b, |x, y| x & y)
}

#[inline(always)]
fn or(a: V, b: V) -> V {
    map2(a, b, |x, y| x | y)
}

#[inline(always)]
fn xor(a: V, b: V) -> V {
    map2(a, b, |x, y| x ^ y)
}

/// Words at .. at + 8 of a plane; zeros beyond its end.
#[inline(always)]
fn load(plane: &[u64], at: usize) -> V {
    match plane.get(at..at + LANES).and_then(|w| V::try_from(w).ok()) {
        Some(v) => v,
        None => std::array::from_fn(|i| plane.get(at + i).copied().unwrap_or(0)),
    }
}

#[inline(always)]
fn store(plane: &mut [u64], at: usize, v: V) {
    for (o, x) in plane.iter_mut().skip(at).zip(v) {
        *o = x;
    }
}

/// Runs `each` on the indices, on several threads if there is much to do.
fn jobs<T: Send>(work: usize, items: Vec<T>, each: impl Fn(T) + Sync + Send) {
    if work < SERIAL {
        items.into_iter().for_each(each);
    } else {
        items.into_par_iter().for_each(each);
    }
}

/// The planes of a tensor, each to be written.
fn planes_mut(x: &mut Planes) -> Vec<&mut [u64]> {
    let stride = x.stride();
    if stride == 0 {
        return Vec::new();
    }
    x.words_mut().chunks_exact_mut(stride).collect()
}

/// First plane and width of every block.
fn places(blocks: &[u32]) -> Vec<(usize, usize)> {
    let mut next = 0;
    let place = |&b: &u32| {
        next += b as usize;
        (next - b as usize, b as usize)
    };
    blocks.iter().map(place).collect()
}

/// Planes of the thermometer codes of blocks of 1 to [`MAX_BLOCK`] planes.
pub fn thermometer_planes(blocks: &[u32]) -> u32 {
    blocks.iter().fold(0, |n, &b| n.saturating_add((1 << b) - 1))
}

/// `[n >= v]` for v = 1 .. 2^b of every block of b planes, 1 to [`MAX_BLOCK`] each.
pub fn thermometer(x: &Planes, blocks: &[u32]) -> Planes {
    let mut out = Planes::zeros(thermometer_planes(blocks), x.len());
    let (stride, work) = (x.stride(), out.words().len());
    let mut rest = planes_mut(&mut out).into_iter();
    let items: Vec<_> = places(blocks)
        .into_iter()
        .map(|(at, b)| (at, b, rest.by_ref().take((1 << b) - 1).collect::<Vec<_>>()))
        .collect();
    jobs(work, items, |(from, b, mut planes)| {
        if planes.is_empty() {
            return;
        }
        for at in (0..stride).step_by(LANES) {
            let t = |j: usize| load(x.plane(from + j), at);
            // What small blocks need stays in registers.
            if b <= 4 {
                codes::<15>(b, t, &mut planes, at);
            } else {
                codes::<255>(b, t, &mut planes, at);
            }
        }
    });
    out
}

/// The thermometer code of one block at one place. N is at least 2^b - 1.
#[inline(always)]
fn codes<const N: usize>(b: usize, t: impl Fn(usize) -> V, planes: &mut [&mut [u64]], at: usize) {
    // codes[v - 1] = [n >= v] for the lowest bits so far; one bit more doubles the length.
    let mut codes = [[0; LANES]; N];
    let mut n = 0;
    for j in 0..b {
        let t = t(j);
        for v in 0..n {
            let c = codes[v];
            codes[v] = or(t, c);
            codes[n + 1 + v] = and(t, c);
        }
        codes[n] = t;
        n = 2 * n + 1;
    }
    for (plane, c) in planes.iter_mut().zip(codes) {
        store(plane, at, c);
    }
}

/// Generate and propagate bits of every block, from shares of thermometer codes of the one number and
/// the bits of the other.
pub fn pick(table: &Planes, index: &Planes, blocks: &[u32], one: &Planes) -> Planes {
    let all = places(blocks);
    let mut out = Planes::zeros(2 * all.len() as u32 - 1, index.len());
    let (stride, work) = (index.stride(), table.words().len());
    let mut generate = planes_mut(&mut out);
    if generate.is_empty() {
        return out;
    }
    let propagate = generate.split_off(all.len());
    // The first block propagates nothing that anybody needs.
    let propagate = std::iter::once(None).chain(propagate.into_iter().map(Some));
    let mut first = 0;
    let items: Vec<_> = all
        .into_iter()
        .zip(generate)
        .zip(propagate)
        .map(|(((at, b), g), p)| {
            first += (1 << b) - 1;
            (at, b, first - ((1 << b) - 1), g, p)
        })
        .collect();
    jobs(work, items, |(from, b, first, g, mut p)| {
        for at in (0..stride).step_by(LANES) {
            let both = p.is_some();
            let (carry, next) = leaf(table, index, one, (from, b, first), at, both);
            store(g, at, carry);
            if let Some(p) = &mut p {
                store(p, at, xor(carry, next));
            }
        }
    });
    out
}

/// Propagate bits of every block, of a table of which `skip` planes are of no interest.
pub fn propagate(
    table: &Planes,
    index: &Planes,
    blocks: &[u32],
    skip: u32,
    one: &Planes,
) -> Planes {
    let mut out = Planes::zeros(blocks.len() as u32, index.len());
    let (stride, work) = (index.stride(), index.words().len());
    let mut first = skip as usize;
    let items: Vec<_> = places(blocks)
        .into_iter()
        .zip(planes_mut(&mut out))
        .map(|((at, b), p)| {
            first += (1 << b) - 1;
            (at, b, first - ((1 << b) - 1), p)
        })
        .collect();
    jobs(work, items, |(from, b, first, p)| {
        for at in (0..stride).step_by(LANES) {
            let (carry, next) = leaf(table, index, one, (from, b, first), at, true);
            store(p, at, xor(carry, next));
        }
    });
    out
}

/// Of the block of b planes from `from` on, whose codes begin at plane `first` of the table: whether it carries,
/// and whether it does or propagates.
#[inline(always)]
fn leaf(
    table: &Planes,
    index: &Planes,
    one: &Planes,
    (from, b, first): (usize, usize, usize),
    at: usize,
    both: bool,
) -> (V, V) {
    let entry = |j: usize| match j >> b {
        0 => load(table.plane(first + (1 << b) - j - 1), at),
        _ => load(one.plane(0), at),
    };
    let bit = |j: usize| load(index.plane(from + j), at);
    // What small blocks need stays in registers.
    match b <= 4 {
        true => choose::<16>(b, entry, bit, both),
        false => choose::<256>(b, entry, bit, both),
    }
}

/// Entries of a block at the number that `bit` is, and one further if `both`: entry j is [number >= 2^b -
/// j], j = 1 ..= 2^b. N is at least 2^b.
#[inline(always)]
fn choose<const N: usize>(
    b: usize,
    entry: impl Fn(usize) -> V,
    bit: impl Fn(usize) -> V,
    both: bool,
) -> (V, V) {
    let n = 1usize << b;
    let at = |start: usize| {
        let mut c = [[0; LANES]; N];
        for (j, c) in c.iter_mut().enumerate().take(n) {
            // Nothing is at least 2^b.
            *c = if start + j == 0 { [0; LANES] } else { entry(start + j) };
        }
        for j in 0..b {
            let bit = bit(j);
            for i in 0..n >> (j + 1) {
                c[i] = xor(c[2 * i], and(bit, xor(c[2 * i], c[2 * i + 1])));
            }
        }
        c[0]
    };
    (at(0), if both { at(1) } else { [0; LANES] })
}

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

fn groups(fan: &Fan) -> Vec<Group> {
    let carry = matches!(fan, Fan::Carry(_));
    let (mut node, mut first, mut products) = (0, 0, 0);
    // Of a carry, propagate bits are behind all generate bits but the groups' top ones.
    let mut propagate = fan.sizes().iter().map(|&s| s as usize - 1).sum::<usize>();
    let group = |(i, &size): (usize, &u32)| {
        let skip = usize::from(i == 0 && carry);
        let wide = size as usize;
        let members = if wide < 2 { 0 } else { wide - skip };
        let from = if carry { propagate } else { first };
        let g = Group { size: wide, node, first, propagate: from, members, skip, products };
        node += wide;
        first += if carry { wide - 1 } else { members };
        propagate += members;
        products += match fan {
            Fan::And(_) => Fan::And(vec![size]).monomials(),
            Fan::Carry(_) if i == 0 => Fan::Carry(vec![size]).monomials(),
            // As the second of two groups, of which the first has no products.
            Fan::Carry(_) => Fan::Carry(vec![1, size]).monomials(),
        } as usize;
        g
    };
    fan.sizes().iter().enumerate().map(group).collect()
}

/// Subsets of the largest group.
const SUBSETS: usize = 1 << MAX_FAN;

/// Products of masks in the order of [`Fan`].
pub fn monomials(x: &Planes, fan: &Fan) -> Planes {
    let mut out = Planes::zeros(fan.monomials(), x.len());
    let (stride, work) = (x.stride(), out.words().len());
    let mut rest = planes_mut(&mut out).into_iter();
    let all = groups(fan);
    let ends: Vec<usize> = all.iter().skip(1).map(|g| g.products).collect();
    let ends = ends.into_iter().chain([fan.monomials() as usize]);
    let items: Vec<_> = all
        .iter()
        .zip(ends)
        .map(|(g, end)| (*g, rest.by_ref().take(end - g.products).collect::<Vec<_>>()))
        .collect();
    let carry = matches!(fan, Fan::Carry(_));
    jobs(work, items, |(g, mut planes)| {
        if planes.is_empty() {
            return;
        }
        let members = g.members;
        let mut sets = vec![[u64::MAX; LANES]; 1 << members];
        for at in (0..stride).step_by(LANES) {
            for s in 1usize..1 << members {
                let bit = s.trailing_zeros() as usize;
                sets[s] = and(sets[s & (s - 1)], load(x.plane(g.propagate + bit), at));
            }
            let mut to = planes.iter_mut();
            let mut put = |v| {
                if let Some(plane) = to.next() {
                    store(plane, at, v);
                }
            };
            (1usize..1 << members).filter(|s| s.count_ones() >= 2).for_each(|s| put(sets[s]));
            if carry {
                for k in 0..g.size - 1 {
                    let generate = load(x.plane(g.first + k), at);
                    for s in 1usize..1 << (g.size - 1 - k) {
                        put(and(generate, sets[s << (k + 1 - g.skip)]));
                    }
                }
            }
        }
    });
    out
}

/// Folds shares of the products of masks into shares of the product of all factors: `c[S]` belongs to
/// the product of the masks in S, m are the opened factors.
#[inline(always)]
fn fold(c: &mut [V], m: &[V]) -> V {
    let mut n = c.len();
    for &m in m {
        n /= 2;
        for i in 0..n {
            c[i] = xor(and(c[2 * i], m), c[2 * i + 1]);
        }
    }
    c[0]
}

/// Shares of the products of [`Fan`], from opened factors, shares of their masks and of the products
/// of masks, and of the nodes, if some of them are added.
///
/// # Panics
///
/// If the pattern needs nodes and there are none: the verifier checks that.
pub fn fan(
    open: &Planes,
    mask: &Planes,
    products: &Planes,
    nodes: Option<&Planes>,
    pattern: &Fan,
    one: &Planes,
) -> Planes {
    let mut out = Planes::zeros(pattern.outputs(), open.len());
    let (stride, work) = (open.stride(), products.words().len());
    let all = groups(pattern);
    let mut results = planes_mut(&mut out);
    if results.is_empty() {
        return out;
    }
    let carry = matches!(pattern, Fan::Carry(_));
    let propagate = results.split_off(all.len());
    let propagate = std::iter::once(None).chain(propagate.into_iter().map(Some));
    let propagate = propagate.chain(std::iter::repeat_with(|| None));
    let items: Vec<_> = all.into_iter().zip(results).zip(propagate).collect();
    let count = pattern.sizes().iter().sum::<u32>() as usize;
    let copy = |to: &mut [u64], plane: usize| {
        if let Some(nodes) = nodes {
            to.copy_from_slice(nodes.plane(plane));
        }
    };
    jobs(work, items, |((g, result), mut above)| {
        if g.size == 1 {
            // As it is. All nodes have a generate bit, all but the first a propagate bit.
            copy(result, g.node);
            if let Some(above) = above {
                copy(above, count + g.node - 1);
            }
            return;
        }
        let members = g.members;
        let mut sets = vec![[0; LANES]; 1 << members];
        let mut c = vec![[0; LANES]; SUBSETS.min(1 << g.size)];
        let mut m = [[0; LANES]; MAX_FAN as usize];
        for at in (0..stride).step_by(LANES) {
            sets[0] = load(one.plane(0), at);
            let mut next = g.products;
            for (s, set) in sets.iter_mut().enumerate().skip(1) {
                *set = if s.is_power_of_two() {
                    load(mask.plane(g.propagate + s.trailing_zeros() as usize), at)
                } else {
                    next += 1;
                    load(products.plane(next - 1), at)
                };
            }
            for (j, m) in m.iter_mut().enumerate().take(members) {
                *m = load(open.plane(g.propagate + j), at);
            }
            if !carry {
                let n = 1 << members;
                c[..n].copy_from_slice(&sets[..n]);
                store(result, at, fold(&mut c[..n], &m[..members]));
                continue;
            }
            let mut sum = nodes.map_or([0; LANES], |x| load(x.plane(g.node + g.size - 1), at));
            for k in 0..g.size - 1 {
                let opened = load(open.plane(g.first + k), at);
                let shift = k + 1 - g.skip;
                let n = 1usize << (g.size - 1 - k);
                c[0] = xor(and(sets[0], opened), load(mask.plane(g.first + k), at));
                for s in 1..n {
                    next += 1;
                    c[s] = xor(and(sets[s << shift], opened), load(products.plane(next - 1), at));
                }
                sum = xor(sum, fold(&mut c[..n], &m[shift..members]));
            }
            store(result, at, sum);
            if let Some(above) = &mut above {
                let n = 1 << members;
                c[..n].copy_from_slice(&sets[..n]);
                store(above, at, fold(&mut c[..n], &m[..members]));
            }
        }
    });
    out
}

/// The last axis of c as planes: element (i, j) of plane p becomes element i of plane w j + p.
pub fn to_planes(x: &Planes, c: usize) -> Planes {
    let (w, n) = (x.width(), x.len().checked_div(c).unwrap_or(0));
    let mut out = Planes::zeros(w * c as u32, n);
    for j in 0..c {
        for p in 0..w as usize {
            let from = x.plane(p);
            let to = out.plane_mut(j * w as usize + p);
            for i in 0..n {
                let at = i * c + j;
                to[i / 64] |= (from[at / 64] >> (at % 64) & 1) << (i % 64);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::{Data, Dom};
    use proptest::prelude::*;

    fn planes(w: u32, n: usize, seed: u64) -> Planes {
        let mut x = seed | 1;
        let mut out = Planes::zeros(w, n);
        for word in out.words_mut() {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *word = x ^ x >> 29;
        }
        out.mask_tail();
        out
    }

    fn ones(n: usize) -> Planes {
        let mut out = Planes::zeros(1, n);
        out.words_mut().fill(u64::MAX);
        out.mask_tail();
        out
    }

    fn sum(a: &Planes, b: &Planes) -> Planes {
        let mut d = Data::Bits(a.clone());
        d.add_assign(&Data::Bits(b.clone()));
        match d {
            Data::Bits(p) => p,
            Data::Ring(_) => unreachable!(),
        }
    }

    proptest! {
        #[test]
        fn blocks_generate_and_propagate(
            blocks in proptest::collection::vec(1u32..9, 1..5), n in 1usize..200, seed: u64,
        ) {
            let w = blocks.iter().sum();
            let (a, b) = (planes(w, n, seed), planes(w, n, seed ^ 77));
            let table = thermometer(&a, &blocks);
            // Shares of the table, as two parties have them.
            let rho = planes(table.width(), n, seed ^ 99);
            let other = sum(&table, &rho);
            let none = Planes::zeros(1, n);
            let got = sum(&pick(&rho, &b, &blocks, &none), &pick(&other, &b, &blocks, &ones(n)));
            let count = blocks.len();
            prop_assert_eq!(got.width(), 2 * count as u32 - 1);
            let skip = (1 << blocks[0]) - 1;
            let above = match Data::Bits(b.clone()).planes(blocks[0], 1, w - blocks[0]) {
                Data::Bits(p) => p,
                Data::Ring(_) => unreachable!(),
            };
            let high = |t, one: &Planes| propagate(t, &above, &blocks[1..], skip, one);
            let all = sum(&high(&rho, &none), &high(&other, &ones(n)));
            for i in 0..n {
                let mut at = 0;
                for (j, bits) in blocks.iter().enumerate() {
                    let m = (1u128 << bits) - 1;
                    let s = (a.element(i) >> at & m) + (b.element(i) >> at & m);
                    at += bits;
                    prop_assert_eq!(got.get(j, i), s > m);
                    if j > 0 {
                        prop_assert_eq!(got.get(count + j - 1, i), s == m);
                        prop_assert_eq!(all.get(j - 1, i), s == m);
                    }
                }
            }
        }

        #[test]
        fn products_of_many(
            sizes in proptest::collection::vec(1u32..6, 1..5), n in 1usize..150, seed: u64, carry: bool,
        ) {
            let pattern = if carry { Fan::Carry(sizes.clone()) } else { Fan::And(sizes.clone()) };
            prop_assume!(pattern.monomials() > 0);
            // Nodes, the masks of their factors, shares of each.
            let w = pattern.nodes();
            let x = planes(w, n, seed);
            let factors = match Data::Bits(x.clone()).select(&pattern.factors()) {
                Data::Bits(p) => p,
                Data::Ring(_) => unreachable!(),
            };
            prop_assert_eq!(factors.width(), pattern.inputs());
            let l = planes(pattern.inputs(), n, seed ^ 5);
            let m = sum(&factors, &l);
            let (y, w) = (planes(w, n, seed ^ 8), pattern.inputs());
            let z = sum(&x, &y);
            let given = |x| pattern.is_linear_in_some().then_some(x);
            let products = monomials(&l, &pattern);
            let (rho, sigma) = (planes(w, n, seed ^ 6), planes(products.width(), n, seed ^ 7));
            let none = Planes::zeros(1, n);
            let got = sum(
                &fan(&m, &rho, &sigma, given(&y), &pattern, &none),
                &fan(&m, &sum(&l, &rho), &sum(&products, &sigma), given(&z), &pattern, &ones(n)),
            );
            for i in 0..n {
                let (mut at, nodes) = (0usize, sizes.iter().sum::<u32>() as usize);
                for (g, &s) in sizes.iter().enumerate() {
                    let s = s as usize;
                    let p = |j: usize| j == 0 || x.get(nodes + j - 1, i);
                    if carry {
                        let c = (at..at + s).fold(false, |c, j| x.get(j, i) ^ (p(j) && c && j > at));
                        prop_assert_eq!(got.get(g, i), c);
                        if g > 0 {
                            let all = (at..at + s).all(p);
                            prop_assert_eq!(got.get(sizes.len() + g - 1, i), all);
                        }
                    } else {
                        prop_assert_eq!(got.get(g, i), (at..at + s).all(|j| x.get(j, i)));
                    }
                    at += s;
                }
            }
        }
    }

    #[test]
    fn axes_become_planes() {
        let x = Data::from_u128s(Dom::Bits(2), &[1, 2, 3, 0, 2, 1]);
        let Data::Bits(x) = x else { unreachable!() };
        let y = Data::Bits(to_planes(&x, 3));
        assert_eq!(y.to_u128s(), [0b11_10_01, 0b01_10_00]);
    }
}
