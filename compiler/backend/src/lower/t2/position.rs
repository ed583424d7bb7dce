//! The bits of a masked value from a position on, and where the highest of them is.
//!
//! With x = a + b, bit i of x is a_i + b_i + c_i, where c_i is the carry out of the bits below. Blocks of a few bits
//! come first: the dealer sends thermometer codes of its part of every prefix of a block, of which the others choose
//! whether it generates and propagates a carry (`carry.rs`). Each level then joins up to `radix` blocks, for all
//! prefixes at once (Sklansky's form of a parallel prefix, of this radix). That no bit is set from j on is a product of
//! complements, made by levels of the same radix; two next to each other differ where the top bit is.
//!
//! A level is a sum of products of bits for each result. A bit that is a factor of several products is opened once.
//!
//! | macro, bits lo to top of which the top one is sought | rounds of the two |
//! |---|---|
//! | [`top_bit`], settled | ceil(log_radix top) - 1, ceil(log_radix (top - lo)), and 1 |
//!
//! The radix is the one that takes least time ([`Tuning`]); the bits of the dealer and of the others are those of its
//! levels.
//!
//! **Functionality.** Exact on any sharing.
//!
//! **Simulation.** `deal` and `open_masked` messages only, as all of [`super`].

use super::carry::{Parts, Plane, chosen, gather};
use super::gates::{part, products};
use crate::cost::Tuning;
use crate::lower::Target;
use crate::lower::common::elementary::{Among, K, Sign};
use crate::lower::common::masked::{Pair, Split, settle, split};
use crate::lower::emit::{Emit, trial};
use slvr_circuit::multi_and::MultiAnd;
use slvr_circuit::{Dom, Op, ValueId};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Where a top bit is.
pub struct Top {
    /// One-hot: the positions from lo to hi - 1; then none; then, if the number may be negative and its size counts,
    /// none of the complement of a negative number.
    pub hot: Split,
    /// Whether the number is negative, if it may be and its size counts.
    pub minus: Option<Split>,
}

/// The top bit of x, or of its complement where x is negative and its size counts. No bit of either is set from
/// `among.top` on; the lowest one is not below `among.lo` unless x is 0.
pub fn top_bit(e: &mut Emit, x: &Split, among: Among, may: May, tuning: Tuning) -> Top {
    let elements = e.ty(x.own).elements();
    let time = |radix: u32| {
        let (rounds, bits) = cost(among, may, radix);
        tuning.time(rounds, bits, elements)
    };
    let radix = (2..=6).min_by(|&a, &b| time(a).total_cmp(&time(b))).unwrap_or(4);
    by_radix(e, x, among, may, radix)
}

/// Rounds, and bits for each element.
fn cost(among: Among, may: May, radix: u32) -> (f64, f64) {
    type Known = BTreeMap<(Among, May, u32), (f64, f64)>;
    thread_local! {
        /// All functions of a model ask for the same few.
        static KNOWN: RefCell<Known> = const { RefCell::new(BTreeMap::new()) };
    }
    let key = (among, may, radix);
    if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).copied()) {
        return known;
    }
    let cost = trial(Target::default(), |e| {
        let x = e.input(true, Dom::Ring(K), vec![1]);
        let x = split(e, x, 1);
        by_radix(e, &x, among, may, radix);
    });
    KNOWN.with_borrow_mut(|known| known.insert(key, cost));
    cost
}

/// Which numbers there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct May {
    pub be_negative: bool,
    pub be_zero: bool,
}

fn by_radix(e: &mut Emit, x: &Split, among: Among, may: May, radix: u32) -> Top {
    let Among { lo, hi, top, sign } = among;
    let n = top + u32::from(may.be_negative);
    let bits = sum_bits(e, x, lo, n, radix);
    let count = top - lo;
    let kept = may.be_negative && sign == Sign::Keep;
    let sign = may.be_negative.then_some((bits, count));
    // Complements of the bits, the highest first.
    let mut clear = gather(e, (0..count).rev().map(|i| (bits, i)));
    clear = e.add(Op::Not(clear));
    if let (true, Some(minus)) = (kept, sign) {
        let minus = gather(e, std::iter::repeat_n(minus, count as usize));
        clear = e.add(Op::Add(clear, minus));
    }
    let keep = match sign {
        Some(minus) if !kept => {
            let minus = gather(e, [minus]);
            Some((e.add(Op::Not(minus)), 0))
        }
        _ => None,
    };
    let minus_lo = (kept && may.be_zero).then_some(sign).flatten();
    let Prefixes { all, with } = prefixes(e, clear, radix, keep, minus_lo);
    // Two next to each other differ where the top bit is. Above the highest one nothing is set.
    let above = keep.into_iter().chain(all[..count as usize - 1].iter().copied());
    let above: Vec<Plane> = above.collect();
    let here = gather(e, all.iter().copied());
    let hot = if keep.is_some() {
        let above = gather(e, above);
        e.add(Op::Add(above, here))
    } else {
        let first = e.planes(here, 0, 1, 1);
        let first = e.add(Op::Not(first));
        let rest = (count > 1).then(|| {
            let above = gather(e, above);
            let here = e.planes(here, 1, 1, count - 1);
            e.add(Op::Add(above, here))
        });
        e.stack(std::iter::once(first).chain(rest).collect())
    };
    let hot = gather(e, (0..hi - lo).map(|i| (hot, count - 1 - i)));
    let last = gather(e, [all[count as usize - 1]]);
    let none = match keep {
        None => last,
        Some(keep) => {
            let keep = gather(e, [keep]);
            let one = e.add(Op::Add(keep, last));
            e.add(Op::Not(one))
        }
    };
    let ends = match with {
        // Of the complement of -2^lo no bit is set, and of 0.
        Some(low) => {
            let low = gather(e, [low]);
            vec![e.add(Op::Add(none, low)), low]
        }
        None if kept => vec![e.add(Op::Add(none, none)), none],
        None => vec![none],
    };
    let hot = e.stack(std::iter::once(hot).chain(ends).collect());
    let hot = settle(e, Pair { own: None, add2: hot });
    let minus = sign.filter(|_| kept).map(|minus| {
        let minus = gather(e, [minus]);
        settle(e, Pair { own: None, add2: minus })
    });
    Top { hot, minus }
}

/// Bits lo to n - 1, as words of the other two.
fn sum_bits(e: &mut Emit, x: &Split, lo: u32, n: u32, radix: u32) -> ValueId {
    let bits = |e: &mut Emit, x, lo| e.add(Op::ToBits { x, lo, w: n - lo });
    let own = bits(e, x.own, lo);
    let own = e.add(Op::Deal(own));
    let dup = bits(e, x.dup, lo);
    let sum = e.add(Op::Add(own, dup));
    if n == 1 {
        return sum;
    }
    let parts = Parts { own: bits(e, x.own, 0), dup: bits(e, x.dup, 0), less: None };
    let carries = carries(e, &parts, lo.max(1) - 1..n - 1, radix);
    let carries = gather(e, carries);
    if lo > 0 {
        return e.add(Op::Add(sum, carries));
    }
    let (first, rest) = (e.planes(sum, 0, 1, 1), e.planes(sum, 1, 1, n - 1));
    let rest = e.add(Op::Add(rest, carries));
    e.stack(vec![first, rest])
}

/// What is known of the bits from the beginning of a block to one of them.
#[derive(Clone, Copy)]
struct Known {
    generate: Plane,
    /// Not where the block is the lowest one.
    propagate: Option<Plane>,
}

/// The carries out of these bits, of all bits below each.
fn carries(e: &mut Emit, parts: &Parts, bits: std::ops::Range<u32>, radix: u32) -> Vec<Plane> {
    let last = bits.end - 1;
    let mut sizes = vec![radix];
    while sizes.last().is_some_and(|&size| size <= last) {
        sizes.extend(sizes.last().map(|size| size * radix));
    }
    // Which bits a block's prefix ends with, by level.
    let mut ends: Vec<BTreeSet<u32>> = vec![bits.clone().collect()];
    for sizes in sizes.windows(2).rev() {
        let above = &ends[ends.len() - 1];
        let below = above.iter().flat_map(|&i| lower(i, sizes[0], sizes[1])).collect::<Vec<_>>();
        let all = above.iter().copied().chain(below).collect();
        ends.push(all);
    }
    ends.reverse();
    let blocks: Vec<_> = ends[0].iter().map(|&i| i / radix * radix..i + 1).collect();
    let leaves = chosen(e, parts, &blocks);
    let mut known: BTreeMap<u32, Known> = blocks
        .iter()
        .zip(leaves)
        .map(|(block, of)| {
            let propagate = of.propagate.filter(|_| block.start > 0);
            (block.end - 1, Known { generate: of.generate, propagate })
        })
        .collect();
    for (sizes, ends) in sizes.windows(2).zip(&ends[1..]) {
        let (mut sums, mut places) = (Vec::new(), Vec::new());
        for &i in ends {
            let nodes: Vec<Known> =
                lower(i, sizes[0], sizes[1]).chain([i]).map(|i| known[&i]).collect();
            let propagates = |from: usize| nodes[from..].iter().filter_map(|n| n.propagate);
            let generate = (0..nodes.len()).map(|at| {
                let above = propagates(at + 1);
                above.chain([nodes[at].generate]).collect::<Vec<_>>()
            });
            sums.push(generate.rev().collect());
            // The lowest block is only generated in.
            let passes = nodes[0].propagate.map(|_| propagates(0).collect::<Vec<_>>());
            let both = passes.is_some();
            sums.extend(passes.map(|all| vec![all]));
            places.push((i, both));
        }
        let mut made = sums_of_products(e, &sums).into_iter();
        let mut next = || made.next().unwrap_or_else(|| unreachable!("one for each sum"));
        for (i, both) in places {
            let (generate, propagate) = (next(), both.then(&mut next));
            known.insert(i, Known { generate, propagate });
        }
    }
    bits.map(|i| known[&i].generate).collect()
}

/// The last bits of the blocks of one size below that of bit i, in its block of the next size.
fn lower(i: u32, size: u32, next: u32) -> impl Iterator<Item = u32> {
    let (from, to) = (i / next * next, i / size * size);
    (from..to).step_by(size as usize).map(move |start| start + size - 1)
}

/// Products of the first planes of a value.
struct Prefixes {
    /// For each plane of it and of those before, and of one more.
    all: Vec<Plane>,
    /// Of all planes and another one more.
    with: Option<Plane>,
}

/// Levels of products, the last of which takes one more factor each, and one product more.
fn prefixes(
    e: &mut Emit,
    x: ValueId,
    radix: u32,
    more: Option<Plane>,
    another: Option<Plane>,
) -> Prefixes {
    let n = e.ty(x).bits();
    let mut known: Vec<Plane> = (0..n).map(|i| (x, i)).collect();
    let mut size = 1;
    loop {
        let next = size * radix;
        let is_last = next >= n;
        let product = |i: u32, more: Option<Plane>| {
            let ends = lower(i, size, next).chain([i]);
            ends.map(|i| known[i as usize]).chain(more.filter(|_| is_last)).collect::<Vec<_>>()
        };
        let mut sums: Vec<_> = (0..n).map(|i| vec![product(i, more)]).collect();
        sums.extend(another.filter(|_| is_last).map(|another| vec![product(n - 1, Some(another))]));
        let mut all = sums_of_products(e, &sums);
        if is_last {
            let with = another.and_then(|_| all.pop());
            return Prefixes { all, with };
        }
        (known, size) = (all, next);
    }
}

/// Sums of products of planes, in one level. A product of one plane is not opened.
fn sums_of_products(e: &mut Emit, sums: &[Vec<Vec<Plane>>]) -> Vec<Plane> {
    let all = || sums.iter().flatten().filter(|product| product.len() > 1);
    let (mut place, mut factors) = (BTreeMap::new(), Vec::new());
    for &plane in all().flatten() {
        place.entry(plane).or_insert_with(|| {
            factors.push(plane);
            factors.len() as u32 - 1
        });
    }
    let made = (!factors.is_empty()).then(|| {
        let opened = gather(e, factors);
        let x = settle(e, Pair { own: None, add2: opened });
        let sizes = all().map(|product| product.len() as u32).collect();
        let of = part(e, &x, &all().flatten().map(|plane| place[plane]).collect::<Vec<_>>());
        products(e, &of, None, MultiAnd::And(sizes))
    });
    let mut next = 0;
    let mut term = |product: &Vec<Plane>| match (made, &product[..]) {
        (_, &[plane]) => plane,
        (Some(made), _) => {
            next += 1;
            (made, next - 1)
        }
        (None, _) => unreachable!("there are products"),
    };
    let terms: Vec<Vec<Plane>> =
        sums.iter().map(|sum| sum.iter().map(&mut term).collect()).collect();
    let mut sum: Vec<Plane> = terms.iter().map(|terms| terms[0]).collect();
    for i in 1..terms.iter().map(Vec::len).max().unwrap_or(0) {
        let longer: Vec<usize> = (0..terms.len()).filter(|&at| terms[at].len() > i).collect();
        let so_far = gather(e, longer.iter().map(|&at| sum[at]));
        let more = gather(e, longer.iter().map(|&at| terms[at][i]));
        let both = e.add(Op::Add(so_far, more));
        longer.into_iter().zip(0..).for_each(|(at, i)| sum[at] = (both, i));
    }
    sum
}
