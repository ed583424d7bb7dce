//! A flat tensor: words or bits, without a shape.

use super::elementwise::{copy, map_assign, map_to, zip_assign};
use super::{Planes, Word, Words, bits, each_word, with_width, xors, zip_words};
use slvr_circuit::Dom;
use std::fmt;
use std::ops::Range;

/// The elements of a tensor, row-major.
///
/// Arithmetic is in place. On [`Data::Bits`] addition and subtraction are xor, multiplication is
/// and. The operations panic on mixed domains or lengths, which the circuit verifier excludes; see
/// the [crate's docs](crate).
#[derive(Clone, PartialEq, Eq)]
pub enum Data {
    /// Words of Z_2^k.
    Ring(Words),
    Bits(Planes),
}

impl Data {
    pub fn zeros(dom: Dom, n: usize) -> Data {
        match dom {
            Dom::Ring(k) => Data::Ring(Words::zeros(k, n)),
            Dom::Bits(w) => Data::Bits(Planes::zeros(w, n)),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Data::Ring(w) => w.len(),
            Data::Bits(p) => p.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dom(&self) -> Dom {
        match self {
            Data::Ring(w) => Dom::Ring(w.bits()),
            Data::Bits(p) => Dom::Bits(p.width()),
        }
    }

    /// Memory the elements take, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Data::Ring(w) => w.len() * (w.bits() as usize / 8),
            Data::Bits(p) => p.words().len() * 8,
        }
    }

    /// The low k (or w) bits of each x.
    pub fn from_u128s(dom: Dom, xs: &[u128]) -> Data {
        match dom {
            Dom::Ring(k) => Data::Ring(Words::from_u128s(k, xs)),
            Dom::Bits(w) => Data::Bits(Planes::slice_words(xs, 0, w)),
        }
    }

    /// All elements, zero-extended.
    pub fn to_u128s(&self) -> Vec<u128> {
        match self {
            Data::Ring(w) => w.to_u128s(),
            Data::Bits(p) => p.unslice(),
        }
    }

    /// For each element whether its lowest bit is set.
    pub fn to_bools(&self) -> Vec<bool> {
        (0..self.len()).map(|i| self.get_u128(i) & 1 == 1).collect()
    }

    /// Element i, zero-extended.
    pub fn get_u128(&self, i: usize) -> u128 {
        match self {
            Data::Ring(w) => w.get(i),
            Data::Bits(p) => p.element(i),
        }
    }

    /// Whether every element is 1.
    pub fn is_ones(&self) -> bool {
        (0..self.len()).all(|i| self.get_u128(i) == 1)
    }

    pub fn add_assign(&mut self, o: &Data) {
        match (self, o) {
            (Data::Ring(a), Data::Ring(b)) => zip_words!((a, b), (a, b) => {
                zip_assign(a, b, |x, y| x.wadd(y))
            }),
            (Data::Bits(a), Data::Bits(b)) => {
                same_planes(a, b);
                zip_assign(a.words_mut(), b.words(), |x, y| x ^ y);
            }
            _ => mixed(),
        }
    }

    /// self -= o (xor on bits).
    pub fn sub_assign(&mut self, o: &Data) {
        match (&mut *self, o) {
            (Data::Ring(a), Data::Ring(b)) => zip_words!((a, b), (a, b) => {
                zip_assign(a, b, |x, y| x.wsub(y))
            }),
            _ => self.add_assign(o),
        }
    }

    /// self *= o (and on bits; an o of one plane is repeated over all of self's).
    pub fn mul_assign(&mut self, o: &Data) {
        match (self, o) {
            (Data::Ring(a), Data::Ring(b)) => zip_words!((a, b), (a, b) => {
                zip_assign(a, b, |x, y| x.wmul(y))
            }),
            (Data::Bits(a), Data::Bits(b)) if b.width() == 1 && a.len() == b.len() => {
                for j in 0..a.width() as usize {
                    zip_assign(a.plane_mut(j), b.plane(0), |x, y| x & y);
                }
            }
            (Data::Bits(a), Data::Bits(b)) => {
                same_planes(a, b);
                zip_assign(a.words_mut(), b.words(), |x, y| x & y);
            }
            _ => mixed(),
        }
    }

    /// self = -self (bits are their own negatives).
    pub fn neg(&mut self) {
        if let Data::Ring(w) = self {
            each_word!(w, v => map_assign(v, |x| x.wneg()));
        }
    }

    /// The complement of every bit.
    pub fn not(&mut self) {
        match self {
            Data::Ring(w) => each_word!(w, v => map_assign(v, |x| x.wneg().wsub(Word::ONE))),
            Data::Bits(p) => {
                map_assign(p.words_mut(), |x| !x);
                p.mask_tail();
            }
        }
    }

    /// self *= c, c mod 2^k (and with c on bits).
    pub fn scale(&mut self, c: u128) {
        match self {
            Data::Ring(w) => each_word!(w, v => scale(v, c)),
            Data::Bits(p) => {
                for j in (0..p.width() as usize).filter(|j| c >> j & 1 == 0) {
                    p.plane_mut(j).fill(0);
                }
            }
        }
    }

    /// self += c on every element, c mod 2^k (xor with c on bits).
    pub fn offset(&mut self, c: u128) {
        match self {
            Data::Ring(w) => each_word!(w, v => offset(v, c)),
            Data::Bits(p) => {
                for j in (0..p.width() as usize).filter(|j| c >> j & 1 == 1) {
                    map_assign(p.plane_mut(j), |x| !x);
                }
                p.mask_tail();
            }
        }
    }

    /// self = o - self (xor on bits).
    pub fn sub_from(&mut self, o: &Data) {
        match (&mut *self, o) {
            (Data::Ring(a), Data::Ring(b)) => zip_words!((a, b), (a, b) => {
                zip_assign(a, b, |x, y| y.wsub(x))
            }),
            _ => self.add_assign(o),
        }
    }

    /// self += the elements of a range of o.
    pub fn add_part(&mut self, o: &Data, r: Range<usize>) {
        match (&mut *self, o) {
            (Data::Ring(a), Data::Ring(b)) => zip_words!((a, b), (a, b) => {
                zip_assign(a, &b[r], |x, y| x.wadd(y))
            }),
            (Data::Bits(a), Data::Bits(b)) if starts_words(b, &r) => {
                assert!(a.width() == b.width() && a.len() == r.len(), "bits of different sizes");
                let words = r.start / 64..r.end.div_ceil(64);
                for j in 0..a.width() as usize {
                    zip_assign(a.plane_mut(j), &b.plane(j)[words.clone()], |x, y| x ^ y);
                }
                a.mask_tail();
            }
            _ => self.add_assign(&o.slice(r)),
        }
    }

    /// self -= the elements of a range of o.
    pub fn sub_part(&mut self, o: &Data, r: Range<usize>) {
        match (&mut *self, o) {
            (Data::Ring(a), Data::Ring(b)) => zip_words!((a, b), (a, b) => {
                zip_assign(a, &b[r], |x, y| x.wsub(y))
            }),
            _ => self.add_part(o, r),
        }
    }

    /// Overwrites the elements from `at` on with those of o.
    pub fn put(&mut self, at: usize, o: &Data) {
        match (&mut *self, o) {
            (Data::Ring(a), Data::Ring(b)) => zip_words!((a, b), (a, b) => {
                copy(&mut a[at..at + b.len()], b)
            }),
            (Data::Bits(a), Data::Bits(b)) if a.width() == b.width() => {
                assert!(at + b.len() <= a.len(), "range out of bounds");
                for j in 0..a.width() as usize {
                    bits::copy(a.plane_mut(j), at, b.plane(j), 0, b.len());
                }
            }
            _ => mixed(),
        }
    }

    /// Elements of a range, which must be inside.
    pub fn slice(&self, r: Range<usize>) -> Data {
        Data::join(&[(self, r)])
    }

    /// One after another; at least one, all of one domain.
    pub fn concat(xs: &[&Data]) -> Data {
        Data::join(&xs.iter().map(|x| (*x, 0..x.len())).collect::<Vec<_>>())
    }

    /// Elements of ranges, which must be inside, one after another; at least one, all of one domain.
    pub fn join(xs: &[(&Data, Range<usize>)]) -> Data {
        let n = xs.iter().map(|(_, r)| r.len()).sum();
        match xs {
            [] => panic!("concat of nothing"),
            [(Data::Ring(w), _), ..] => each_word!(w, v => join(v, n, xs)),
            [(Data::Bits(first), _), ..] => Data::Bits(join_bits(first.width(), n, xs)),
        }
    }

    /// The low k bits of each word, in Z_2^k. Rings only.
    pub fn narrow(&self, k: u32) -> Data {
        self.resize(k)
    }

    /// Zero extension to Z_2^k. Rings only.
    pub fn extend(&self, k: u32) -> Data {
        self.resize(k)
    }

    /// 2^(k' - k) x as a word of Z_2^k', k' >= k. Rings only.
    pub fn raise(&self, k: u32) -> Data {
        let Data::Ring(w) = self else { mixed() };
        let up = k.saturating_sub(w.bits());
        Data::Ring(with_width!(k, T => T::wrap(each_word!(w, v => raise::<_, T>(v, up)))))
    }

    fn resize(&self, k: u32) -> Data {
        let Data::Ring(w) = self else { mixed() };
        Data::Ring(with_width!(k, T => T::wrap(each_word!(w, v => resize::<_, T>(v)))))
    }

    /// Logical shift right by n bits (for bits: planes move down, zeros come in).
    pub fn shr(&self, n: u32) -> Data {
        match self {
            // Of a shift below k the compiler makes one instruction for many words.
            Data::Ring(w) if n >= w.bits() => Data::zeros(self.dom(), w.len()),
            Data::Ring(w) => Data::Ring(each_word!(w, v => Word::wrap(shift(v, n)))),
            Data::Bits(p) => {
                let mut out = Planes::zeros(p.width(), p.len());
                for j in n as usize..p.width() as usize {
                    out.plane_mut(j - n as usize).copy_from_slice(p.plane(j));
                }
                Data::Bits(out)
            }
        }
    }

    /// Bits lo .. lo + w of each word. Rings only.
    pub fn to_bits(&self, lo: u32, w: u32) -> Data {
        Data::Bits(self.bits_of(0..self.len(), lo, w))
    }

    /// The same of some words.
    pub fn bits_of(&self, range: Range<usize>, lo: u32, w: u32) -> Planes {
        let Data::Ring(x) = self else { mixed() };
        each_word!(x, v => Planes::slice_words(&v[range], lo, w))
    }

    /// Each element's bits as a word of Z_2^k. Bits only.
    pub fn from_bits(&self, k: u32) -> Data {
        let Data::Bits(p) = self else { mixed() };
        Data::Ring(with_width!(k, T => T::wrap(p.unslice::<T>())))
    }

    /// Planes start, start + step, ... (count of them, all inside). Bits only.
    pub fn planes(&self, start: u32, step: u32, count: u32) -> Data {
        let Data::Bits(p) = self else { mixed() };
        let mut out = Planes::zeros(count, p.len());
        for j in 0..count as usize {
            let from = start as usize + j * step as usize;
            out.plane_mut(j).copy_from_slice(p.plane(from));
        }
        Data::Bits(out)
    }

    /// Some planes, all of them there, in this order. Bits only.
    pub fn select(&self, planes: &[u32]) -> Data {
        let Data::Bits(p) = self else { mixed() };
        let mut out = Planes::zeros(planes.len() as u32, p.len());
        for (j, &from) in planes.iter().enumerate() {
            out.plane_mut(j).copy_from_slice(p.plane(from as usize));
        }
        Data::Bits(out)
    }

    /// For each row the exclusive or of the planes that it names: rows of ceil(w / 32) words for w planes.
    pub fn xors(&self, rows: &[u32]) -> Data {
        let Data::Bits(p) = self else { mixed() };
        Data::Bits(xors::xors(p, rows))
    }

    /// The planes of all, first lowest; at least one, all bits of one length.
    pub fn stack(xs: &[&Data]) -> Data {
        let n = xs.first().map_or(0, |x| x.len());
        let mut words = Vec::new();
        let mut w = 0;
        for x in xs {
            let Data::Bits(p) = x else { mixed() };
            assert_eq!(p.len(), n, "operands of different lengths");
            words.extend_from_slice(p.words());
            w += p.width();
        }
        match Planes::from_words(w, n, words) {
            Some(p) => Data::Bits(p),
            None => unreachable!("each operand has width x stride words"),
        }
    }
}

fn mixed() -> ! {
    panic!("operand of another domain")
}

fn same_planes(a: &Planes, b: &Planes) {
    assert!(a.width() == b.width() && a.len() == b.len(), "bits of different sizes");
}

fn scale<T: Word>(v: &mut [T], c: u128) {
    let c = T::from_u128(c);
    map_assign(v, |x| x.wmul(c));
}

fn offset<T: Word>(v: &mut [T], c: u128) {
    let c = T::from_u128(c);
    map_assign(v, |x| x.wadd(c));
}

fn shift<T: Word>(v: &[T], n: u32) -> Vec<T> {
    map_to(v, |x| x.shr(n % T::BITS))
}

fn raise<T: Word, U: Word>(v: &[T], up: u32) -> Vec<U> {
    let c = U::from_u128(1 << up);
    map_to(v, |x| converted::<T, U>(x).wmul(c))
}

fn resize<T: Word, U: Word>(v: &[T]) -> Vec<U> {
    map_to(v, converted::<T, U>)
}

/// The low bits of a word, or the word with zeros above it.
#[inline(always)]
fn converted<T: Word, U: Word>(x: T) -> U {
    // Through 64 bits where that is enough: these conversions are vectorised.
    if T::BITS <= 64 || U::BITS <= 64 { U::from_u64(x.to_u64()) } else { U::from_u128(x.to_u128()) }
}

fn join<T: Word>(_first: &[T], n: usize, xs: &[(&Data, Range<usize>)]) -> Data {
    let mut out = Vec::with_capacity(n);
    for (x, r) in xs {
        match x {
            Data::Ring(w) => match T::of(w) {
                Some(v) => out.extend_from_slice(&v[r.clone()]),
                None => mixed(),
            },
            Data::Bits(_) => mixed(),
        }
    }
    Data::Ring(T::wrap(out))
}

/// Whether a range, which must be inside, begins at a word of the planes.
fn starts_words(p: &Planes, r: &Range<usize>) -> bool {
    assert!(r.start <= r.end && r.end <= p.len(), "range out of bounds");
    r.start.is_multiple_of(64)
}

fn join_bits(w: u32, n: usize, xs: &[(&Data, Range<usize>)]) -> Planes {
    let mut parts: Vec<(&Planes, Range<usize>)> = Vec::with_capacity(xs.len());
    for (x, r) in xs {
        let Data::Bits(p) = *x else { mixed() };
        assert_eq!(p.width(), w, "bits of different widths");
        if !r.is_empty() {
            parts.push((p, r.clone()));
        }
    }
    let last = parts.len().saturating_sub(1);
    let whole = |(i, (p, r)): (usize, &(&Planes, Range<usize>))| {
        starts_words(p, r) && (i == last || r.len().is_multiple_of(64))
    };
    if parts.iter().enumerate().all(whole) {
        // Whole words: every plane is written once, and nothing is cleared before.
        let mut words = Vec::with_capacity(w as usize * n.div_ceil(64));
        for j in 0..w as usize {
            for (p, r) in &parts {
                words.extend_from_slice(&p.plane(j)[r.start / 64..r.end.div_ceil(64)]);
            }
        }
        return match Planes::from_words(w, n, words) {
            Some(planes) => planes,
            None => unreachable!("all parts but the last are whole words"),
        };
    }
    let mut out = Planes::zeros(w, n);
    let mut at = 0;
    for (p, r) in parts {
        for j in 0..w as usize {
            bits::copy(out.plane_mut(j), at, p.plane(j), r.start, r.len());
        }
        at += r.len();
    }
    out
}

impl fmt::Debug for Data {
    /// Domain and length only: the elements may be a share.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::Ring(w) => w.fmt(f),
            Data::Bits(p) => p.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slvr_circuit::low_mask;

    fn doms() -> impl Strategy<Value = Dom> {
        prop_oneof![
            proptest::sample::select(vec![8u32, 16, 32, 64, 128]).prop_map(Dom::Ring),
            (1u32..=128).prop_map(Dom::Bits),
        ]
    }

    proptest! {
        #[test]
        fn elementwise_matches_integers(
            dom in doms(),
            pairs in proptest::collection::vec(any::<(u128, u128)>(), 0..150),
            c in any::<u128>(),
        ) {
            let m = low_mask(dom.bits());
            let (xs, ys): (Vec<u128>, Vec<u128>) = pairs.into_iter().unzip();
            let (a, b) = (Data::from_u128s(dom, &xs), Data::from_u128s(dom, &ys));
            let ring = matches!(dom, Dom::Ring(_));
            let check = |f: &dyn Fn(&mut Data), g: &dyn Fn(u128, u128) -> u128| {
                let mut r = a.clone();
                f(&mut r);
                let want: Vec<u128> = xs.iter().zip(&ys).map(|(x, y)| g(*x, *y) & m).collect();
                prop_assert_eq!(r.to_u128s(), want.clone());
                prop_assert!(r == Data::from_u128s(dom, &want), "unused bits are zero");
                Ok(())
            };
            check(&|r| r.add_assign(&b), &|x, y| if ring { x.wrapping_add(y) } else { x ^ y })?;
            check(&|r| r.sub_assign(&b), &|x, y| if ring { x.wrapping_sub(y) } else { x ^ y })?;
            check(&|r| r.mul_assign(&b), &|x, y| if ring { x.wrapping_mul(y) } else { x & y })?;
            check(&|r| r.neg(), &|x, _| if ring { x.wrapping_neg() } else { x })?;
            check(&|r| r.not(), &|x, _| !x)?;
            check(&|r| r.scale(c), &|x, _| if ring { x.wrapping_mul(c) } else { x & c })?;
            check(&|r| r.offset(c), &|x, _| if ring { x.wrapping_add(c) } else { x ^ c })?;
            let s = (c % 130) as u32;
            check(&|r| *r = r.shr(s), &|x, _| (x & m).checked_shr(s).unwrap_or(0))?;
        }

        #[test]
        fn slices_concatenate_back(
            dom in doms(), xs in proptest::collection::vec(any::<u128>(), 0..300),
            cuts in any::<(u16, u16)>(),
        ) {
            let d = Data::from_u128s(dom, &xs);
            let (mut a, mut b) = (cuts.0 as usize, cuts.1 as usize);
            (a, b) = (a % (xs.len() + 1), b % (xs.len() + 1));
            let (a, b) = (a.min(b), a.max(b));
            let parts = [d.slice(0..a), d.slice(a..b), d.slice(b..xs.len())];
            prop_assert_eq!(parts[1].to_u128s(), d.to_u128s()[a..b].to_vec());
            prop_assert!(Data::concat(&[&parts[0], &parts[1], &parts[2]]) == d);
            let mut put = Data::zeros(dom, xs.len());
            put.put(b, &parts[2]);
            put.put(a, &parts[1]);
            put.put(0, &parts[0]);
            prop_assert!(put == d);
            // Some of them as they are, from words' and from other places.
            for (a, b) in [(a, b), (a / 64 * 64, b), (a / 64 * 64, b / 64 * 64)] {
                let middle = d.slice(a..b);
                prop_assert!(Data::join(&[(&d, a..b), (&d, 0..a)])
                    == Data::concat(&[&middle, &d.slice(0..a)]));
                let mut sum = middle.clone();
                sum.add_part(&d, a..b);
                let mut want = middle.clone();
                want.add_assign(&middle);
                prop_assert!(sum == want);
                sum.sub_part(&d, a..b);
                prop_assert!(sum == middle);
                sum.sub_from(&want);
                prop_assert!(sum == middle);
            }
        }

        #[test]
        fn conversions(xs in proptest::collection::vec(any::<u128>(), 0..200), lo in 0u32..64) {
            let d = Data::from_u128s(Dom::Ring(64), &xs);
            prop_assert_eq!(d.narrow(16).extend(64).to_u128s(),
                xs.iter().map(|x| x & 0xffff).collect::<Vec<_>>());
            prop_assert!(d.extend(128).narrow(64) == d);
            prop_assert_eq!(d.raise(128).to_u128s(),
                xs.iter().map(|x| x << 64).collect::<Vec<_>>());
            let b = d.to_bits(lo, 64 - lo);
            prop_assert!(b.from_bits(64) == d.shr(lo));
            let odd = d.to_bits(0, 64).planes(1, 2, 32);
            prop_assert_eq!(odd.to_u128s(), d.to_u128s().iter()
                .map(|x| (0..32).fold(0, |y, j| y | (x >> (2 * j + 1) & 1) << j))
                .collect::<Vec<u128>>());
            let low = d.to_bits(0, 5);
            prop_assert!(Data::stack(&[&low, &d.to_bits(5, 59)]) == d.to_bits(0, 64));
        }
    }

    #[test]
    fn one_plane_multiplies_all() {
        let mut a = Data::from_u128s(Dom::Bits(3), &[7, 5, 3]);
        a.mul_assign(&Data::from_u128s(Dom::Bits(1), &[1, 0, 1]));
        assert_eq!(a.to_u128s(), [7, 0, 3]);
    }

    #[test]
    fn bytes_count_memory() {
        assert_eq!(Data::zeros(Dom::Ring(32), 10).bytes(), 40);
        assert_eq!(Data::zeros(Dom::Bits(3), 65).bytes(), 48);
    }

    #[test]
    #[should_panic(expected = "different lengths")]
    fn lengths_must_agree() {
        Data::zeros(Dom::Ring(8), 3).add_assign(&Data::zeros(Dom::Ring(8), 4));
    }
}
