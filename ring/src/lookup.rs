//! Lookup tables: a function of a sum whose two parts different parties know.
//!
//! Lives here: the local parts of [`Op::Table`] and [`Op::Entry`] (see [`slvr_circuit::Op`]), on whole
//! tensors. May not: who holds what.
//!
//! A number is a word, of which the low n bits count and which is added modulo 2^n, or n planes of bits, to
//! which another is added by xor. An entry is a word, and a table another axis of 2^n, the last; or a bit,
//! and a table 2^n planes.
//!
//! Which memory is read depends on the number that the reader knows: its own part of a split. As every local
//! function of such a part, this is not claimed to take constant time.
//!
//! [`Op::Table`]: slvr_circuit::Op::Table
//! [`Op::Entry`]: slvr_circuit::Op::Entry

use super::{Data, PARALLEL, Planes, Word, Words, each_word, threads};

/// The number of each element, modulo 2^n where it is a word.
fn numbers(x: &Data, entries: usize) -> Vec<usize> {
    let mask = entries - 1;
    match x {
        Data::Ring(w) => each_word!(w, v => v.iter().map(|x| x.to_u64() as usize & mask).collect()),
        Data::Bits(p) => p.unslice::<u16>().into_iter().map(|x| usize::from(x) & mask).collect(),
    }
}

/// For each element x and each v the entry at x + v (or x xor v) of `table`, whose length is a power of two,
/// at most 2^12.
pub fn table(x: &Data, table: &Data) -> Data {
    let entries = table.len();
    let at = numbers(x, entries);
    let xor = matches!(x, Data::Bits(_));
    match table {
        Data::Ring(t) => Data::Ring(each_word!(t, t => words(&at, t, xor))),
        Data::Bits(t) => {
            let bits: Vec<bool> = (0..entries).map(|v| t.get(0, v)).collect();
            Data::Bits(planes(&at, &bits, xor))
        }
    }
}

fn words<T: Word>(at: &[usize], table: &[T], xor: bool) -> Words {
    let mut out = vec![T::ZERO; at.len() * table.len()];
    let fill = |(rows, at): (&mut [T], &[usize])| {
        for (row, &a) in rows.chunks_exact_mut(table.len()).zip(at) {
            if xor {
                row.iter_mut().enumerate().for_each(|(v, o)| *o = table[a ^ v]);
            } else {
                let (low, high) = table.split_at(a);
                row[..high.len()].copy_from_slice(high);
                row[high.len()..].copy_from_slice(low);
            }
        }
    };
    // So many elements at a time.
    let rows = (PARALLEL / 4 / table.len()).max(1);
    if out.len() < PARALLEL {
        fill((&mut out, at));
    } else {
        threads::each(out.chunks_mut(rows * table.len()).zip(at.chunks(rows)), &fill);
    }
    T::wrap(out)
}

fn planes(at: &[usize], table: &[bool], xor: bool) -> Planes {
    let mut out = Planes::zeros(table.len() as u32, at.len());
    let (stride, mask) = (out.stride(), table.len() - 1);
    if stride == 0 {
        return out;
    }
    let fill = |(v, plane): (usize, &mut [u64])| {
        for (word, at) in plane.iter_mut().zip(at.chunks(64)) {
            let entry = |a: usize| table[if xor { a ^ v } else { (a + v) & mask }];
            *word = at.iter().rev().fold(0, |bits, &a| bits << 1 | u64::from(entry(a)));
        }
    };
    if at.len() * table.len() < PARALLEL {
        out.words_mut().chunks_exact_mut(stride).enumerate().for_each(fill);
    } else {
        threads::each(out.words_mut().chunks_exact_mut(stride).enumerate(), &fill);
    }
    out
}

/// Of each element's table of `entries` entries (or of as many planes) the one at its index.
pub fn entry(table: &Data, index: &Data, entries: usize) -> Data {
    let at = numbers(index, entries);
    match table {
        Data::Ring(t) => Data::Ring(each_word!(t, t => chosen(t, &at, entries))),
        Data::Bits(t) => {
            let mut out = Planes::zeros(1, at.len());
            let get = |i: usize, v: usize| t.plane(v)[i / 64] >> (i % 64) & 1;
            for (block, (word, at)) in out.words_mut().iter_mut().zip(at.chunks(64)).enumerate() {
                let bits = at.iter().enumerate().map(|(i, &v)| get(64 * block + i, v) << i);
                *word = bits.fold(0, |word, bit| word | bit);
            }
            Data::Bits(out)
        }
    }
}

fn chosen<T: Word>(tables: &[T], at: &[usize], entries: usize) -> Words {
    T::wrap(tables.chunks_exact(entries).zip(at).map(|(row, &v)| row[v]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_circuit::Dom;

    /// Every number of either kind, every domain of entries, elements that fill no word and many.
    #[test]
    fn entries_are_those_of_the_sum() {
        for (n, elements) in [(1u32, 3usize), (4, 70), (5, 5000), (9, 200), (12, 20)] {
            let entries = 1usize << n;
            for dom in [8, 16, 32, 64, 128].map(Dom::Ring).into_iter().chain([Dom::Bits(1)]) {
                let random = |seed: u128, i: usize| {
                    (i as u128 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 64
                };
                let f: Vec<u128> = (0..entries).map(|i| random(7, i)).collect();
                let f = Data::from_u128s(dom, &f);
                let a: Vec<u128> = (0..elements).map(|i| random(1, i)).collect();
                let b: Vec<u128> = (0..elements).map(|i| random(2, i)).collect();
                for number in [Dom::Ring(16), Dom::Ring(128), Dom::Bits(n)] {
                    let [x, y] = [&a, &b].map(|v| Data::from_u128s(number, v));
                    let tables = table(&x, &f);
                    let found = entry(&tables, &y, entries);
                    assert_eq!(found.dom(), dom);
                    for i in 0..elements {
                        let (a, b) = (a[i] as usize, b[i] as usize);
                        let at = if number == Dom::Bits(n) { a ^ b } else { a.wrapping_add(b) };
                        let want = f.get_u128(at & (entries - 1));
                        assert_eq!(found.get_u128(i), want, "{n} {dom:?} {number:?} {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_has_no_tables() {
        let f = Data::from_u128s(Dom::Bits(1), &[0, 1]);
        let none = Data::zeros(Dom::Ring(8), 0);
        assert_eq!(table(&none, &f), Data::zeros(Dom::Bits(2), 0));
        assert_eq!(entry(&table(&none, &f), &none, 2), Data::zeros(Dom::Bits(1), 0));
        let f = Data::zeros(Dom::Ring(32), 4);
        assert_eq!(entry(&table(&none, &f), &none, 4), Data::zeros(Dom::Ring(32), 0));
    }
}
