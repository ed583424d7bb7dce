//! The rings of the proofs behind one interface: a field of 2^64 elements over bits, Galois rings over words.

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use slvr_circuit::proof::Kind;
use slvr_ring::galois::{self, Scalar};
use slvr_ring::{Word, gf64};
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// Uniform numbers from a seed.
pub struct Draw(ChaCha12Rng);

impl Draw {
    /// From a seed and what it is used for.
    pub fn new(seed: &[u8; 32], purpose: &str) -> Self {
        Draw(ChaCha12Rng::from_seed(blake3::derive_key(purpose, seed)))
    }

    /// A uniform word.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform words.
    pub fn words(&mut self, n: usize) -> Vec<u64> {
        let mut out = vec![0u64; n];
        self.0.fill_bytes(bytemuck::cast_slice_mut(&mut out));
        out
    }
}

impl fmt::Debug for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Draw(hidden)")
    }
}

/// A ring with exceptional points, and vectors over it. A *base* element is a word, or a word of 64 bits of 64
/// statements.
pub trait Algebra {
    /// Over what.
    const KIND: Kind;
    /// Bytes of an element.
    const BYTES: usize = Self::KIND.bytes();
    /// Elements of a vector that a base element becomes: one, or one for each bit.
    const SPREAD: usize;
    /// An element.
    type E: Copy + PartialEq + Send + Sync + 'static;
    /// A vector.
    type V: Clone + Send + Sync;
    /// Inner products of base elements at the points of a grid ([`galois::Grid`]), added up.
    type Grid: Send;
    /// A base element.
    type Base: Word;

    /// 0.
    fn zero() -> Self::E;
    /// 1.
    fn one() -> Self::E;
    /// a + b.
    fn add(a: &Self::E, b: &Self::E) -> Self::E;
    /// a - b.
    fn sub(a: &Self::E, b: &Self::E) -> Self::E;
    /// a b.
    fn mul(a: &Self::E, b: &Self::E) -> Self::E;
    /// Of a unit.
    fn inverse(a: &Self::E) -> Self::E;
    /// An exceptional point, by its number: below 2^56 they are different.
    fn point(i: u64) -> Self::E;
    /// A uniform element.
    fn draw(draw: &mut Draw) -> Self::E;
    /// A uniform exceptional point with a number of at least `from`.
    fn draw_point(draw: &mut Draw, from: usize) -> Self::E;
    /// Appends the bytes of an element.
    fn put(x: &Self::E, out: &mut Vec<u8>);
    /// Reads as many bytes as an element has.
    fn get(bytes: &[u8]) -> Option<Self::E>;

    /// Elements of a vector.
    fn len(v: &Self::V) -> usize;
    fn zeros(n: usize) -> Self::V;
    /// Element t.
    fn at(v: &Self::V, t: usize) -> Self::E;
    /// A vector of one element.
    fn single(x: &Self::E) -> Self::V;
    /// Vectors one after another, and zeros up to n elements.
    fn concat(parts: &[&Self::V], n: usize) -> Self::V;
    /// Writes a vector into a longer one, from a place on.
    fn place(to: &mut Self::V, at: usize, from: &Self::V);
    /// The inner products of all pairs of blocks, row by row.
    fn cross(u: &Self::V, v: &Self::V, blocks: usize) -> Vec<Self::E>;
    /// The products of elements at equal places.
    fn products(a: &[Self::E], b: &[Self::E]) -> Vec<Self::E> {
        a.iter().zip(b).map(|(a, b)| Self::mul(a, b)).collect()
    }
    /// The sum over blocks of c_b times block b.
    fn fold(v: &Self::V, c: &[Self::E]) -> Self::V;

    /// Of no base elements yet, which will have 2^m blocks.
    fn grid(variables: u32) -> Self::Grid;
    /// Adds the inner products of all pairs of vectors of base elements, which are given in their blocks, with the same
    /// coefficients. A coefficient of a base element is a word: over bits an element, over words the number of an
    /// exceptional point.
    fn add_grid(to: &mut Self::Grid, c: &[u64], terms: &[[&[&[Self::Base]]; 2]]);
    /// Adds what another grid has.
    fn join_grids(to: &mut Self::Grid, from: &Self::Grid);
    /// The values, in the order of the points.
    fn on_grid(grid: &Self::Grid) -> Vec<Self::E>;
    /// As [`fold`](Algebra::fold), of blocks of base elements.
    fn fold_base(blocks: &[&[Self::Base]], c: &[Self::E]) -> Self::V;
    /// What `fold_base` gives, times the coefficients of the base elements.
    fn weigh(v: Self::V, c: &[u64]) -> Self::V;
    /// For each block the sum of its base elements times their coefficients.
    fn sum_base(c: &[u64], words: &[Self::Base], blocks: usize) -> Vec<Self::E>;
}

/// The methods of an algebra whose vectors are vectors of elements.
macro_rules! of_elements {
    () => {
        fn len(v: &Self::V) -> usize {
            v.len()
        }
        fn zeros(n: usize) -> Self::V {
            vec![Self::zero(); n]
        }
        fn at(v: &Self::V, t: usize) -> Self::E {
            v[t]
        }
        fn single(x: &Self::E) -> Self::V {
            vec![*x]
        }
        fn concat(parts: &[&Self::V], n: usize) -> Self::V {
            let mut out: Self::V = parts.iter().flat_map(|p| p.iter().copied()).collect();
            out.resize(n.max(out.len()), Self::zero());
            out
        }
        fn place(to: &mut Self::V, at: usize, from: &Self::V) {
            to[at..at + from.len()].copy_from_slice(from);
        }
    };
}
#[cfg(test)]
pub(super) use of_elements;

#[derive(Debug)]
pub struct OverBits;

impl Algebra for OverBits {
    const KIND: Kind = Kind::Bits;
    const SPREAD: usize = 64;
    type E = u64;
    type V = Vec<u64>;
    type Grid = gf64::Grid;
    type Base = u64;

    fn zero() -> u64 {
        0
    }
    fn one() -> u64 {
        1
    }
    fn add(a: &u64, b: &u64) -> u64 {
        a ^ b
    }
    fn sub(a: &u64, b: &u64) -> u64 {
        a ^ b
    }
    fn mul(a: &u64, b: &u64) -> u64 {
        gf64::mul(*a, *b)
    }
    fn inverse(a: &u64) -> u64 {
        gf64::inverse(*a)
    }
    fn point(i: u64) -> u64 {
        i
    }
    fn draw(draw: &mut Draw) -> u64 {
        draw.word()
    }
    fn draw_point(draw: &mut Draw, from: usize) -> u64 {
        loop {
            let x = draw.word();
            if x >= from as u64 {
                return x;
            }
        }
    }
    fn put(x: &u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&x.to_le_bytes());
    }
    fn get(bytes: &[u8]) -> Option<u64> {
        bytes.try_into().ok().map(u64::from_le_bytes)
    }

    of_elements!();
    fn cross(u: &Vec<u64>, v: &Vec<u64>, blocks: usize) -> Vec<u64> {
        gf64::cross(u, v, blocks)
    }
    fn fold(v: &Vec<u64>, c: &[u64]) -> Vec<u64> {
        gf64::fold(v, c)
    }

    fn grid(variables: u32) -> gf64::Grid {
        gf64::Grid::new(variables)
    }
    fn add_grid(to: &mut gf64::Grid, c: &[u64], terms: &[[&[&[u64]]; 2]]) {
        to.add(c, terms);
    }
    fn join_grids(to: &mut gf64::Grid, from: &gf64::Grid) {
        to.join(from);
    }
    fn on_grid(grid: &gf64::Grid) -> Vec<u64> {
        grid.elements()
    }
    fn fold_base(blocks: &[&[u64]], c: &[u64]) -> Vec<u64> {
        gf64::fold_bits(c, blocks)
    }
    fn weigh(mut v: Vec<u64>, c: &[u64]) -> Vec<u64> {
        gf64::weigh(&mut v, c);
        v
    }
    fn sum_base(c: &[u64], words: &[u64], blocks: usize) -> Vec<u64> {
        (0..blocks).map(|b| gf64::dot(c, &words[b * c.len()..(b + 1) * c.len()])).collect()
    }
}

/// Over words of 64 bits, or of 128.
#[derive(Debug)]
pub struct OverWords<T = u64>(PhantomData<T>);

impl<T: Scalar> Algebra for OverWords<T> {
    const KIND: Kind = if T::BITS > 64 { Kind::Wide } else { Kind::Matrices };
    const SPREAD: usize = 1;
    type E = galois::Element<T>;
    type V = galois::Vector<T>;
    type Grid = galois::Grid<T>;
    type Base = T;

    fn zero() -> Self::E {
        galois::zero()
    }
    fn one() -> Self::E {
        galois::word(T::ONE)
    }
    fn add(a: &Self::E, b: &Self::E) -> Self::E {
        galois::add(a, b)
    }
    fn sub(a: &Self::E, b: &Self::E) -> Self::E {
        galois::sub(a, b)
    }
    fn mul(a: &Self::E, b: &Self::E) -> Self::E {
        galois::mul(a, b)
    }
    fn inverse(a: &Self::E) -> Self::E {
        galois::inverse(a)
    }
    fn point(i: u64) -> Self::E {
        galois::point(i)
    }
    fn draw(draw: &mut Draw) -> Self::E {
        std::array::from_fn(|_| {
            let low = u128::from(draw.word());
            T::from_u128(if T::BITS > 64 { low | u128::from(draw.word()) << 64 } else { low })
        })
    }
    fn draw_point(draw: &mut Draw, from: usize) -> Self::E {
        loop {
            let x = draw.word() >> (64 - galois::DEGREE);
            if x >= from as u64 {
                return galois::point(x);
            }
        }
    }
    fn put(x: &Self::E, out: &mut Vec<u8>) {
        T::put_le(x, out);
    }
    fn get(bytes: &[u8]) -> Option<Self::E> {
        let whole = bytes.len() == Self::BYTES;
        whole.then(|| T::get_le(bytes).try_into().ok()).flatten()
    }

    fn len(v: &Self::V) -> usize {
        v.len()
    }
    fn zeros(n: usize) -> Self::V {
        galois::Vector::zeros(n)
    }
    fn at(v: &Self::V, t: usize) -> Self::E {
        v.get(t)
    }
    fn single(x: &Self::E) -> Self::V {
        let mut out = galois::Vector::zeros(1);
        out.set(0, x);
        out
    }
    fn concat(parts: &[&Self::V], n: usize) -> Self::V {
        galois::Vector::concat(parts, n)
    }
    fn place(to: &mut Self::V, at: usize, from: &Self::V) {
        to.place(at, from);
    }
    fn cross(u: &Self::V, v: &Self::V, blocks: usize) -> Vec<Self::E> {
        galois::cross(u, v, blocks)
    }
    fn products(a: &[Self::E], b: &[Self::E]) -> Vec<Self::E> {
        galois::products(a, b)
    }
    fn fold(v: &Self::V, c: &[Self::E]) -> Self::V {
        v.fold(c)
    }

    fn grid(variables: u32) -> Self::Grid {
        galois::Grid::new(variables)
    }
    fn add_grid(to: &mut Self::Grid, c: &[u64], terms: &[[&[&[T]]; 2]]) {
        to.add(c, terms);
    }
    fn join_grids(to: &mut Self::Grid, from: &Self::Grid) {
        to.join(from);
    }
    fn on_grid(grid: &Self::Grid) -> Vec<Self::E> {
        grid.elements()
    }
    fn fold_base(blocks: &[&[T]], c: &[Self::E]) -> Self::V {
        galois::fold_words(c, &blocks.concat())
    }
    fn weigh(v: Self::V, c: &[u64]) -> Self::V {
        v.weighed(c)
    }
    fn sum_base(c: &[u64], words: &[T], blocks: usize) -> Vec<Self::E> {
        galois::sum_words(c, words, blocks)
    }
}

/// The values at x of the polynomials that are 1 at one of the points 0, 1, ..., n - 1 and 0 at the others.
pub fn lagrange<A: Algebra>(n: usize, x: &A::E) -> Vec<A::E> {
    let points: Vec<A::E> = (0..n as u64).map(A::point).collect();
    let weights = known::<A>(Table::Lagrange, n, &|| {
        let over = |(i, x): (usize, &A::E)| {
            let others = points.iter().enumerate().filter(|(j, _)| *j != i);
            others.fold(A::one(), |p, (_, y)| A::mul(&p, &A::sub(x, y)))
        };
        inverses::<A>(&points.iter().enumerate().map(over).collect::<Vec<_>>())
    });
    // Of all differences but one, the product of those before it and of those after it.
    let differences: Vec<A::E> = points.iter().map(|y| A::sub(x, y)).collect();
    let mut after = vec![A::one(); n + 1];
    for i in (0..n).rev() {
        after[i] = A::mul(&after[i + 1], &differences[i]);
    }
    let mut before = A::one();
    let mut out = Vec::with_capacity(n);
    for i in 0..n {
        out.push(A::mul(&A::mul(&before, &after[i + 1]), &weights[i]));
        before = A::mul(&before, &differences[i]);
    }
    out
}

/// By what the blocks of the first fold are multiplied where the variables are x: block b counts as it is where they are
/// the bits of b, the highest bit the first variable.
pub fn weights<A: Algebra>(x: &[A::E]) -> Vec<A::E> {
    tensor(x, A::one(), |x| [A::sub(&A::one(), x), *x], A::mul)
}

/// By what the values on the grid are multiplied: a polynomial of degree 2 is q(0) (1 - x) + q(1) x + q(high) (x^2 - x).
pub fn grid_weights<A: Algebra>(x: &[A::E]) -> Vec<A::E> {
    tensor(x, A::one(), |x| [A::sub(&A::one(), x), *x, A::sub(&A::mul(x, x), x)], A::mul)
}

/// All products of one of the factors of each variable, those of the first one in the highest place.
pub(super) fn tensor<X, W, const N: usize>(
    x: &[X],
    one: W,
    of: impl Fn(&X) -> [W; N],
    mul: impl Fn(&W, &W) -> W,
) -> Vec<W> {
    x.iter().fold(vec![one], |all, x| {
        let some = of(x);
        all.iter().flat_map(|a| some.each_ref().map(|b| mul(a, b))).collect()
    })
}

/// What is made of n points and does not depend on a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Table {
    /// Of each point: the inverse of the product of its differences to the others.
    Lagrange,
    /// The inverses of the differences of points.
    Inverses,
    /// w_a.
    Weights,
    /// w_b / (a - b).
    Weighted,
    /// Z^2.
    Squares,
}

/// A table for n points, which is made once.
fn known<A: Algebra>(table: Table, n: usize, make: &dyn Fn() -> Vec<A::E>) -> Arc<Vec<A::E>> {
    /// Which, of what elements, and how many points.
    type Key = (Table, TypeId, usize);
    static KNOWN: Mutex<BTreeMap<Key, Arc<dyn Any + Send + Sync>>> = Mutex::new(BTreeMap::new());
    let key = (table, TypeId::of::<A::E>(), n);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known().get(&key).cloned().and_then(|x| x.downcast().ok()) {
        return found;
    }
    let made: Arc<Vec<A::E>> = Arc::new(make());
    known().insert(key, made.clone());
    made
}

/// The inverses of units, with one inversion.
pub(super) fn inverses<A: Algebra>(x: &[A::E]) -> Vec<A::E> {
    let mut before = Vec::with_capacity(x.len());
    let mut all = A::one();
    for x in x {
        before.push(all);
        all = A::mul(&all, x);
    }
    let mut rest = A::inverse(&all);
    let mut out = vec![A::zero(); x.len()];
    for (i, x) in x.iter().enumerate().rev() {
        out[i] = A::mul(&rest, &before[i]);
        rest = A::mul(&rest, x);
    }
    out
}

/// The values at the points 1, 2, ..., 2 n - 2 of sum `pairs[a n + b]` l_a l_b, with l_a the polynomial of degree n - 1
/// that is 1 at the point a and 0 at the other ones of the n first points.
///
/// l_a is w_a Z / (x - a), with Z the product of all (x - b). So l_a l_b, for different a and b, is
/// w_a w_b Z^2 / (a - b) times 1 / (x - a) - 1 / (x - b): what belongs to all pairs with a is one element.
pub fn values<A: Algebra>(pairs: &[A::E], n: usize) -> Vec<A::E> {
    let point = |i: usize| A::point(i as u64);
    // Row i, for all points up to 2 n - 2, has 1 / (i - a) for each a below n, and 1 for i = a.
    let over = known::<A>(Table::Inverses, n, &|| {
        let all = (0..2 * n - 1).flat_map(|i| (0..n).map(move |a| (i, a)));
        let difference = |(i, a)| if i == a { A::one() } else { A::sub(&point(i), &point(a)) };
        inverses::<A>(&all.map(difference).collect::<Vec<_>>())
    });
    let product = |x: &mut dyn Iterator<Item = A::E>| x.fold(A::one(), |p, x| A::mul(&p, &x));
    let weight = known::<A>(Table::Weights, n, &|| {
        (0..n).map(|a| product(&mut over[a * n..(a + 1) * n].iter().copied())).collect()
    });
    // Row a has w_b / (a - b) for each b.
    let weighted = known::<A>(Table::Weighted, n, &|| {
        let all = over.iter().take(n * n).zip(weight.iter().cycle());
        all.map(|(over, weight)| A::mul(over, weight)).collect()
    });
    // Z^2 at the points from n on.
    let square = known::<A>(Table::Squares, n, &|| {
        let z = |i: usize| product(&mut (0..n).map(|a| A::sub(&point(i), &point(a))));
        (n..2 * n - 1).map(z).map(|z| A::mul(&z, &z)).collect()
    });
    let sums = |all: Vec<A::E>| -> Vec<A::E> {
        let sum = |some: &[A::E]| some.iter().fold(A::zero(), |s, x| A::add(&s, x));
        all.chunks(n).map(sum).collect()
    };
    // Of each block with the others, and with itself.
    let both = |i: usize| match (i / n, i % n) {
        (a, b) if a == b => A::zero(),
        (a, b) => A::add(&pairs[a * n + b], &pairs[b * n + a]),
    };
    let both: Vec<A::E> = (0..n * n).map(both).collect();
    let once = A::products(&sums(A::products(&both, &weighted)), &weight);
    let own: Vec<A::E> = (0..n).map(|a| pairs[a * n + a]).collect();
    let twice = A::products(&own, &A::products(&weight, &weight));
    // For the points from n on, one after another, for each block.
    let over = &over[n * n..];
    let repeated = |x: &[A::E]| x.repeat(n.saturating_sub(1));
    let more = A::products(&repeated(&twice), over);
    let more: Vec<A::E> = more.iter().zip(&repeated(&once)).map(|(x, y)| A::add(x, y)).collect();
    let later = A::products(&sums(A::products(&more, over)), &square);
    own.into_iter().skip(1).chain(later).collect()
}

/// The values on the grid for two vectors.
#[cfg(test)]
pub(super) fn grid_base<A: Algebra>(c: &[u64], u: &[A::Base], v: &[A::Base], m: u32) -> Vec<A::E> {
    let mut out = A::grid(m);
    let [u, v] = [u, v].map(|x| slvr_ring::cut(x, 1 << m));
    A::add_grid(&mut out, c, &[[&u, &v]]);
    A::on_grid(&out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_ring::cut;

    fn draw() -> Draw {
        Draw::new(&[3; 32], "slvr test")
    }

    /// A polynomial of degree n - 1 is known from n values.
    fn interpolates<A: Algebra>() {
        let mut draw = draw();
        for n in [1, 2, 5, 17] {
            let c: Vec<A::E> = (0..n).map(|_| A::draw(&mut draw)).collect();
            let value = |x: &A::E| c.iter().rev().fold(A::zero(), |s, c| A::add(&A::mul(&s, x), c));
            let x = A::draw_point(&mut draw, n);
            let known = (0..n as u64).map(|i| value(&A::point(i)));
            let found = known.zip(lagrange::<A>(n, &x));
            let found = found.fold(A::zero(), |s, (v, l)| A::add(&s, &A::mul(&v, &l)));
            assert!(found == value(&x), "{n} points");
            let mut bytes = Vec::new();
            A::put(&x, &mut bytes);
            assert_eq!(bytes.len(), A::BYTES);
            assert!(A::get(&bytes) == Some(x) && A::get(&bytes[1..]).is_none());
        }
    }

    /// The values of a sum of products are those of the polynomials that are multiplied.
    fn evaluates<A: Algebra>() {
        let mut draw = draw();
        for n in [1, 2, 5, 17] {
            let pairs: Vec<A::E> = (0..n * n).map(|_| A::draw(&mut draw)).collect();
            let found = values::<A>(&pairs, n);
            assert_eq!(found.len(), 2 * n - 2);
            for (i, found) in (1..).zip(&found) {
                let at = lagrange::<A>(n, &A::point(i));
                let want = (0..n * n).fold(A::zero(), |s, k| {
                    A::add(&s, &A::mul(&pairs[k], &A::mul(&at[k / n], &at[k % n])))
                });
                assert!(*found == want, "{n} points, at {i}");
            }
        }
    }

    #[test]
    fn sums_of_products_at_exceptional_points() {
        evaluates::<OverBits>();
        evaluates::<OverWords>();
        evaluates::<OverWords<u128>>();
    }

    #[test]
    fn interpolation_at_exceptional_points() {
        interpolates::<OverBits>();
        interpolates::<OverWords>();
        interpolates::<OverWords<u128>>();
    }

    /// From the values on the grid those of a product of polynomials anywhere, as of the folded vectors.
    fn grids_interpolate<A: Algebra<Base = u64>>() {
        let mut draw = draw();
        let (n, m) = (5, 3);
        let (u, v, c) = (draw.words(n << m), draw.words(n << m), draw.words(n));
        let x: Vec<A::E> = (0..m).map(|_| A::draw_point(&mut draw, 0)).collect();
        let values = grid_base::<A>(&c, &u, &v, m);
        let found = values.iter().zip(grid_weights::<A>(&x));
        let found = found.fold(A::zero(), |s, (q, w)| A::add(&s, &A::mul(q, &w)));
        let at = weights::<A>(&x);
        let [a, b] = [&u, &v].map(|x| A::fold_base(&cut(x, at.len()), &at));
        assert!(A::cross(&A::weigh(a, &c), &b, 1)[0] == found);
        // At the blocks themselves.
        let corners =
            (0..1usize << m).map(|b| (0..m).fold(0, |s, j| s + (b >> j & 1) * 3usize.pow(j)));
        let sums = corners.fold(A::zero(), |s, i| A::add(&s, &values[i]));
        let both = [&u, &v].map(|x| A::fold_base(&[x], &[A::one()]));
        assert!(A::cross(&A::weigh(both[0].clone(), &c.repeat(1 << m)), &both[1], 1)[0] == sums);
    }

    #[test]
    fn values_on_a_grid_are_enough() {
        grids_interpolate::<OverBits>();
        grids_interpolate::<OverWords>();
    }

    /// The operations on base elements are those on the elements that they stand for.
    #[test]
    fn bits_are_elements() {
        let mut draw = draw();
        let (n, blocks) = (3, 4);
        let u = draw.words(blocks * n);
        let (c, l) = (draw.words(n), draw.words(blocks));
        // Element (t, j) of block b is bit j of word t; its factor is c[t] X^j.
        let spread = |w: &[u64]| w.iter().flat_map(|w| (0..64).map(move |j| w >> j & 1)).collect();
        let su: Vec<u64> = spread(&u);
        let weighed: Vec<u64> =
            su.chunks(n * 64).flat_map(|b| OverBits::weigh(b.to_vec(), &c)).collect();
        assert_eq!(OverBits::fold_base(&cut(&u, blocks), &l), OverBits::fold(&su, &l));
        let ones = vec![1; n * 64];
        let sums = weighed.chunks(n * 64).map(|b| gf64::dot(b, &ones)).collect::<Vec<_>>();
        assert_eq!(OverBits::sum_base(&c, &u, blocks), sums);
    }
}
