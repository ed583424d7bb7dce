//! Inner products with lazy signs: sums over long rows, many at a time.
//!
//! A test's sum over a block of columns is a sum of the columns with sign 1 less a sum of those with
//! sign -1. The sums of all 16 subsets of four columns are tabled ("four Russians"), so four columns
//! cost two look-ups. Eight rows stand side by side: one look-up, one vector operation, eight rows.

use crate::{Word, Words, each_word, simd, threads, with_width};
use std::ops::Range;

/// Gives the signs of blocks of 8 columns from a block on, 2 bytes for each block and test.
pub type Fill<'a> = dyn Fn(usize, &mut [u8]) + Sync + 'a;

/// Columns whose signs are generated at a time.
const COLUMNS: usize = 512;
/// Rows that share signs once generated. Bounds what a thread adds up on the side.
const ROWS: usize = 64;
/// Rows side by side.
const WIDE: usize = 8;

/// A row to project: consecutive words of a tensor, or the sums of those of two.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The tensor.
    pub x: &'a Words,
    /// What is added to it, word by word, of the same width.
    pub plus: Option<&'a Words>,
    /// Which words.
    pub range: Range<usize>,
}

/// As [`Row`], the words themselves.
#[derive(Clone, Copy)]
struct Cut<'a, T> {
    x: &'a [T],
    plus: Option<&'a [T]>,
}

impl<'a, T: Word> Cut<'a, T> {
    fn of(row: &Row<'a>) -> Self {
        let words = |x: &'a Words| match T::of(x) {
            Some(x) => &x[row.range.clone()],
            None => panic!("operands of different ring widths"),
        };
        Cut { x: words(row.x), plus: row.plus.map(words) }
    }
}

/// Row-major tensors `[m, d]` of one width -> `[m, tests]` each: sums of signs times words, the
/// same signs for every row of every tensor. `signs` gives them as
/// [`crate::protocol::signs::Signs::fill`] does.
///
/// # Panics
///
/// On lengths that do not fit, and without a test; the circuit verifier excludes both.
pub fn project<const N: usize>(
    xs: [&Words; N],
    m: usize,
    tests: usize,
    signs: &Fill<'_>,
) -> [Words; N] {
    let bits = xs.first().map_or(8, |x| x.bits());
    let row = |x, i: usize, d: usize| Row { x, plus: None, range: i * d..(i + 1) * d };
    let rows: Vec<Row<'_>> = (xs.iter())
        .flat_map(|&x| {
            let d = x.len() / m.max(1);
            assert_eq!(d * m, x.len(), "rows of one length");
            (0..m).map(move |i| row(x, i, d))
        })
        .collect();
    let all = project_rows(&rows, bits, tests, signs);
    each_word!(&all, sums => std::array::from_fn(|i| {
        Word::wrap(sums[i * m * tests..(i + 1) * m * tests].to_vec())
    }))
}

/// As [`project`] of rows that may be sums of two, words of `bits` bits -> `[rows, tests]`. The sums are
/// never in memory as a whole.
///
/// # Panics
///
/// As [`project`]; on rows of another width.
pub fn project_rows(rows: &[Row<'_>], bits: u32, tests: usize, signs: &Fill<'_>) -> Words {
    with_width!(bits, T => T::wrap(each::<T>(rows, tests, signs)))
}

fn each<T: Word>(rows: &[Row<'_>], tests: usize, signs: &Fill<'_>) -> Vec<T> {
    assert!(tests > 0, "there is a test");
    let rows: Vec<Cut<'_, T>> = rows.iter().map(Cut::of).collect();
    let d = rows.first().map_or(0, |r| r.x.len());
    assert!(rows.iter().all(|r| r.x.len() == d), "rows of one length");
    let mut sums = vec![T::ZERO; rows.len() * tests];
    for (rows, sums) in rows.chunks(ROWS).zip(sums.chunks_mut(ROWS * tests)) {
        some(rows, sums, tests, signs);
    }
    sums
}

/// At most [`ROWS`] rows.
fn some<T: Word>(rows: &[Cut<'_, T>], sums: &mut [T], tests: usize, signs: &Fill<'_>) {
    let d = rows.first().map_or(0, |r| r.x.len());
    // Some parts for each thread, so that none waits long for another.
    let part = d.div_ceil(4 * threads::count()).next_multiple_of(COLUMNS);
    let room = rows.len().next_multiple_of(WIDE) * tests;
    let sum = |i: usize| columns(rows, i * part..((i + 1) * part).min(d), tests, room, signs);
    let mut sums_of_parts = threads::map(0..d.div_ceil(part.max(1)), &sum).into_iter();
    let Some(mut total) = sums_of_parts.next() else { return };
    for part in sums_of_parts {
        total.iter_mut().zip(part).for_each(|(a, b)| *a = a.wadd(b));
    }
    // From [group, test, row in group] to [row, test].
    for (i, sums) in sums.chunks_exact_mut(tests).enumerate() {
        let wide = width(rows.len() - i / WIDE * WIDE);
        let group = &total[i / WIDE * WIDE * tests..];
        for (t, sum) in sums.iter_mut().enumerate() {
            *sum = group[t * wide + i % WIDE];
        }
    }
}

/// Rows side by side in a group, when so many are left.
fn width(left: usize) -> usize {
    match left {
        1 => 1,
        2..=4 => 4,
        _ => WIDE,
    }
}

/// The sums over some columns, `[group, test, row in group]`.
fn columns<T: Word>(
    rows: &[Cut<'_, T>],
    all: Range<usize>,
    tests: usize,
    room: usize,
    signs: &Fill<'_>,
) -> Vec<T> {
    let mut acc = vec![T::ZERO; room];
    let mut bytes = vec![0; COLUMNS / 8 * 2 * tests];
    let mut scratch = Vec::new();
    for start in all.clone().step_by(COLUMNS) {
        let range = start..(start + COLUMNS).min(all.end);
        let bytes = &mut bytes[..range.len().div_ceil(8) * 2 * tests];
        signs(start / 8, bytes);
        for (rows, acc) in rows.chunks(WIDE).zip(acc.chunks_exact_mut(WIDE * tests)) {
            match width(rows.len()) {
                1 => group::<T, 1>(acc, rows, range.clone(), bytes, &mut scratch),
                4 => group::<T, 4>(acc, rows, range.clone(), bytes, &mut scratch),
                _ => group::<T, WIDE>(acc, rows, range.clone(), bytes, &mut scratch),
            }
        }
    }
    acc
}

fn group<T: Word, const R: usize>(
    acc: &mut [T],
    rows: &[Cut<'_, T>],
    range: Range<usize>,
    signs: &[u8],
    scratch: &mut Vec<T>,
) {
    let tests = acc.len() / WIDE;
    let acc = &mut acc[..tests * R];
    // Tables and sums, then the columns of R rows, whole blocks of 8.
    let work = simd::TABLES + tests;
    scratch.clear();
    scratch.resize((work + range.len().next_multiple_of(8)) * R, T::ZERO);
    scratch[simd::TABLES * R..work * R].copy_from_slice(acc);
    let (all, _) = scratch.as_chunks_mut::<R>();
    let (work, x) = all.split_at_mut(work);
    for (i, row) in rows.iter().enumerate() {
        let words = x.iter_mut().zip(&row.x[range.clone()]);
        match row.plus {
            None => words.for_each(|(x, &word)| x[i] = word),
            Some(plus) => {
                words.zip(&plus[range.clone()]).for_each(|((x, &a), &b)| x[i] = a.wadd(b))
            }
        }
    }
    simd::signed_sums(work, x, signs);
    acc.copy_from_slice(work[simd::TABLES..].as_flattened());
}
