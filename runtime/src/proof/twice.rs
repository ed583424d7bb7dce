//! A ring of twice the degree, for coins that come from a hash.
//!
//! Over a ring R with exceptional points E, the elements a + b Y with Y^2 + Y + t = 0. Modulo 2 this polynomial has no
//! root in the field that R becomes if the trace of t is 1, so that a + b Y is a unit unless 2 divides both a and b. The
//! elements a + b Y with a and b in E are exceptional: |E|^2 of them.

use super::algebra::{Algebra, Draw, OverBits, OverWords};
use slvr_circuit::Coins;
use slvr_circuit::proof::Kind;
use slvr_ring::galois::{self, Scalar};
use std::marker::PhantomData;

/// A ring that can be extended.
pub trait Extended: Algebra {
    /// t, of trace 1 modulo 2.
    fn trace_one() -> Self::E;
    /// Vectors, added.
    fn plus(a: &Self::V, b: &Self::V) -> Self::V;
    /// Vectors, subtracted.
    fn minus(a: &Self::V, b: &Self::V) -> Self::V;
}

impl Extended for OverBits {
    fn trace_one() -> u64 {
        1 << 61
    }
    fn plus(a: &Vec<u64>, b: &Vec<u64>) -> Vec<u64> {
        a.iter().zip(b).map(|(a, b)| a ^ b).collect()
    }
    fn minus(a: &Vec<u64>, b: &Vec<u64>) -> Vec<u64> {
        Self::plus(a, b)
    }
}

impl<T: Scalar> Extended for OverWords<T> {
    fn trace_one() -> Self::E {
        galois::point(1 << 49)
    }
    fn plus(a: &Self::V, b: &Self::V) -> Self::V {
        a.plus(b)
    }
    fn minus(a: &Self::V, b: &Self::V) -> Self::V {
        a.minus(b)
    }
}

/// The extension of a ring by Y.
#[derive(Debug)]
pub struct Twice<A>(PhantomData<A>);

impl<A: Extended> Twice<A> {
    /// From the products a c, b d and (a + b)(c + d) that of a + b Y and c + d Y.
    fn joined(low: &A::E, high: &A::E, both: &A::E) -> (A::E, A::E) {
        let cross = A::sub(&A::sub(both, low), high);
        (A::sub(low, &A::mul(&A::trace_one(), high)), A::sub(&cross, high))
    }

    /// The same of vectors.
    fn joined_vectors(low: &A::V, high: &A::V, cross: &A::V) -> (A::V, A::V) {
        let turned = A::fold(high, &[A::trace_one()]);
        (A::minus(low, &turned), A::minus(cross, high))
    }
}

impl<A: Extended> Algebra for Twice<A> {
    const KIND: Kind = A::KIND;
    const COINS: Coins = Coins::Hash;
    const SPREAD: usize = A::SPREAD;
    type E = (A::E, A::E);
    type V = (A::V, A::V);
    /// With the lower and the higher halves of coefficients.
    type Grid = [A::Grid; 2];
    type Base = A::Base;

    fn zero() -> Self::E {
        (A::zero(), A::zero())
    }
    fn one() -> Self::E {
        (A::one(), A::zero())
    }
    fn add(a: &Self::E, b: &Self::E) -> Self::E {
        (A::add(&a.0, &b.0), A::add(&a.1, &b.1))
    }
    fn sub(a: &Self::E, b: &Self::E) -> Self::E {
        (A::sub(&a.0, &b.0), A::sub(&a.1, &b.1))
    }
    fn mul(a: &Self::E, b: &Self::E) -> Self::E {
        let both = A::mul(&A::add(&a.0, &a.1), &A::add(&b.0, &b.1));
        Self::joined(&A::mul(&a.0, &b.0), &A::mul(&a.1, &b.1), &both)
    }
    fn inverse(a: &Self::E) -> Self::E {
        // The other root is -1 - Y: (a + b Y)(a - b - b Y) = a^2 - a b + t b^2.
        let (a, b) = a;
        let turned = A::mul(&A::trace_one(), &A::mul(b, b));
        let norm = A::add(&A::mul(a, &A::sub(a, b)), &turned);
        let over = A::inverse(&norm);
        (A::mul(&A::sub(a, b), &over), A::sub(&A::zero(), &A::mul(b, &over)))
    }
    fn point(i: u64) -> Self::E {
        (A::point(i), A::zero())
    }
    fn draw(draw: &mut Draw) -> Self::E {
        (A::draw(draw), A::draw(draw))
    }
    fn draw_point(draw: &mut Draw, from: usize) -> Self::E {
        loop {
            let x = (A::draw_point(draw, 0), A::draw_point(draw, 0));
            let is_first = |i: u64| x.0 == A::point(i) && x.1 == A::zero();
            if !(0..from as u64).any(is_first) {
                return x;
            }
        }
    }
    fn put(x: &Self::E, out: &mut Vec<u8>) {
        A::put(&x.0, out);
        A::put(&x.1, out);
    }
    fn get(bytes: &[u8]) -> Option<Self::E> {
        let (a, b) = bytes.split_at_checked(A::BYTES)?;
        Some((A::get(a)?, A::get(b)?))
    }

    fn len(v: &Self::V) -> usize {
        A::len(&v.0)
    }
    fn zeros(n: usize) -> Self::V {
        (A::zeros(n), A::zeros(n))
    }
    fn at(v: &Self::V, t: usize) -> Self::E {
        (A::at(&v.0, t), A::at(&v.1, t))
    }
    fn single(x: &Self::E) -> Self::V {
        (A::single(&x.0), A::single(&x.1))
    }
    fn concat(parts: &[&Self::V], n: usize) -> Self::V {
        let [a, b]: [Vec<&A::V>; 2] =
            [parts.iter().map(|p| &p.0).collect(), parts.iter().map(|p| &p.1).collect()];
        (A::concat(&a, n), A::concat(&b, n))
    }
    fn place(to: &mut Self::V, at: usize, from: &Self::V) {
        A::place(&mut to.0, at, &from.0);
        A::place(&mut to.1, at, &from.1);
    }
    fn cross(u: &Self::V, v: &Self::V, blocks: usize) -> Vec<Self::E> {
        let low = A::cross(&u.0, &v.0, blocks);
        let high = A::cross(&u.1, &v.1, blocks);
        let both = A::cross(&A::plus(&u.0, &u.1), &A::plus(&v.0, &v.1), blocks);
        let all = low.iter().zip(&high).zip(&both);
        all.map(|((low, high), both)| Self::joined(low, high, both)).collect()
    }
    fn products(a: &[Self::E], b: &[Self::E]) -> Vec<Self::E> {
        let half =
            |x: &[Self::E], of: &dyn Fn(&Self::E) -> A::E| x.iter().map(of).collect::<Vec<_>>();
        let product = |of: &dyn Fn(&Self::E) -> A::E| A::products(&half(a, of), &half(b, of));
        let (low, high) = (product(&|x| x.0), product(&|x| x.1));
        let both = product(&|x| A::add(&x.0, &x.1));
        let all = low.iter().zip(&high).zip(&both);
        all.map(|((low, high), both)| Self::joined(low, high, both)).collect()
    }
    fn fold(v: &Self::V, c: &[Self::E]) -> Self::V {
        let of = |f: &dyn Fn(&Self::E) -> A::E| c.iter().map(f).collect::<Vec<A::E>>();
        let low = A::fold(&v.0, &of(&|c| c.0));
        let high = A::fold(&v.1, &of(&|c| c.1));
        let both = A::fold(&A::plus(&v.0, &v.1), &of(&|c| A::add(&c.0, &c.1)));
        let cross = A::minus(&A::minus(&both, &low), &high);
        Self::joined_vectors(&low, &high, &cross)
    }

    fn factors(draw: &mut Draw, n: usize) -> Vec<u64> {
        A::factors(draw, 2 * n)
    }

    fn grid(variables: u32) -> Self::Grid {
        std::array::from_fn(|_| A::grid(variables))
    }
    fn add_grid(to: &mut Self::Grid, c: &[u64], terms: &[[&[&[A::Base]]; 2]]) {
        let (low, high) = c.split_at(c.len() / 2);
        to.iter_mut().zip([low, high]).for_each(|(to, c)| A::add_grid(to, c, terms));
    }
    fn join_grids(to: &mut Self::Grid, from: &Self::Grid) {
        to.iter_mut().zip(from).for_each(|(to, from)| A::join_grids(to, from));
    }
    fn on_grid([low, high]: &Self::Grid) -> Vec<Self::E> {
        A::on_grid(low).into_iter().zip(A::on_grid(high)).collect()
    }
    fn fold_base(blocks: &[&[A::Base]], c: &[Self::E]) -> Self::V {
        let of = |f: &dyn Fn(&Self::E) -> A::E| c.iter().map(f).collect::<Vec<A::E>>();
        (A::fold_base(blocks, &of(&|c| c.0)), A::fold_base(blocks, &of(&|c| c.1)))
    }
    fn weigh(v: Self::V, c: &[u64]) -> Self::V {
        let (low, high) = c.split_at(c.len() / 2);
        let cross = A::plus(&A::weigh(v.0.clone(), high), &A::weigh(v.1.clone(), low));
        Self::joined_vectors(&A::weigh(v.0, low), &A::weigh(v.1, high), &cross)
    }
    fn sum_base(c: &[u64], words: &[A::Base], blocks: usize) -> Vec<Self::E> {
        let (low, high) = c.split_at(c.len() / 2);
        let (low, high) = (A::sum_base(low, words, blocks), A::sum_base(high, words, blocks));
        low.into_iter().zip(high).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::algebra::lagrange;
    use slvr_ring::cut;

    /// The ring has as many units as is claimed, and its vectors do what its elements do.
    fn extends<A: Extended>() {
        let mut draw = Draw::new(&[7; 32], "slvr test");
        // Trace 1: the powers t^(2^i) add up to 1 modulo 2, so no element of the field is a root.
        let mut power = A::trace_one();
        let mut trace = A::zero();
        for _ in 0..A::KIND.points(Coins::Parties) as usize {
            trace = A::add(&trace, &power);
            power = A::mul(&power, &power);
        }
        let half = A::sub(&trace, &A::one());
        assert!(A::mul(&half, &A::draw(&mut draw)) != A::one(), "half is no unit");
        let two = A::add(&A::one(), &A::one());
        // Modulo 2 it is 0: times 2^(k - 1) nothing is left.
        let top = (1..A::KIND.ring()).fold(A::one(), |x, _| A::mul(&x, &two));
        assert!(A::mul(&half, &top) == A::zero(), "the trace is 1");
        type T<A> = Twice<A>;
        let y = (A::zero(), A::one());
        let root =
            T::<A>::add(&T::<A>::mul(&y, &y), &T::<A>::add(&y, &(A::trace_one(), A::zero())));
        assert!(root == T::<A>::zero());
        let x = T::<A>::draw_point(&mut draw, 3);
        let z = T::<A>::draw_point(&mut draw, 3);
        let gap = T::<A>::sub(&x, &z);
        assert!(T::<A>::mul(&gap, &T::<A>::inverse(&gap)) == T::<A>::one(), "a unit");
        // A square is known from its values at three points.
        let square = |x: &(A::E, A::E)| T::<A>::mul(x, x);
        let known = lagrange::<T<A>>(3, &x).into_iter().zip(0..);
        let found = known.map(|(l, i)| T::<A>::mul(&l, &square(&T::<A>::point(i))));
        assert!(found.fold(T::<A>::zero(), |s, x| T::<A>::add(&s, &x)) == square(&x));
        let mut bytes = Vec::new();
        T::<A>::put(&x, &mut bytes);
        assert!(bytes.len() == T::<A>::BYTES && T::<A>::get(&bytes) == Some(x));
        // Vectors of two blocks of three elements.
        let mut vector = || {
            let all: Vec<(A::E, A::E)> = (0..6).map(|_| T::<A>::draw(&mut draw)).collect();
            let parts: Vec<_> = all.iter().map(T::<A>::single).collect();
            (all, T::<A>::concat(&parts.iter().collect::<Vec<_>>(), 0))
        };
        let ((a, u), (b, v)) = (vector(), vector());
        let dot = |i: usize, j: usize| {
            let all = (0..3).map(|t| T::<A>::mul(&a[3 * i + t], &b[3 * j + t]));
            all.fold(T::<A>::zero(), |s, x| T::<A>::add(&s, &x))
        };
        let want = [dot(0, 0), dot(0, 1), dot(1, 0), dot(1, 1)];
        assert!(T::<A>::cross(&u, &v, 2) == want);
        let folded = T::<A>::fold(&u, &[x, z]);
        for t in 0..3 {
            let want = T::<A>::add(&T::<A>::mul(&a[t], &x), &T::<A>::mul(&a[3 + t], &z));
            assert!(T::<A>::at(&folded, t) == want);
        }
    }

    #[test]
    fn the_extension_is_a_ring_with_the_square_of_the_points() {
        extends::<OverBits>();
        extends::<OverWords>();
        extends::<OverWords<u128>>();
    }

    /// The operations on base elements are those on the elements that they stand for.
    #[test]
    fn base_elements_are_elements() {
        type W = Twice<OverWords>;
        let mut draw = Draw::new(&[8; 32], "slvr test");
        let (n, blocks) = (3, 2);
        let (u, c) = (draw.words(n * blocks), draw.words(2 * n));
        let l: Vec<_> = (0..blocks).map(|_| W::draw(&mut draw)).collect();
        let element = |x: u64| (galois::word(x), galois::zero());
        let vector = |x: &[u64]| {
            let all: Vec<_> = x.iter().map(|&x| W::single(&element(x))).collect();
            W::concat(&all.iter().collect::<Vec<_>>(), 0)
        };
        let factor = |t: usize| (galois::point(c[t]), galois::point(c[n + t]));
        let weighed: Vec<_> =
            (0..n * blocks).map(|i| W::single(&W::mul(&element(u[i]), &factor(i % n)))).collect();
        let weighed = W::concat(&weighed.iter().collect::<Vec<_>>(), 0);
        let same = |a: &(_, _), b: &(_, _)| (0..n).all(|t| W::at(a, t) == W::at(b, t));
        let folded = W::fold_base(&cut(&u, l.len()), &l);
        assert!(same(&folded, &W::fold(&vector(&u), &l)));
        assert!(same(&W::weigh(folded, &c), &W::fold(&weighed, &l)));
        let ones = vector(&vec![1; n * blocks]);
        let sums = W::cross(&weighed, &ones, blocks);
        assert!(W::sum_base(&c, &u, blocks) == [sums[0], sums[3]]);
    }
}
