//! What a party receives in a run, case by case, as numbers.

use super::circuits::Made;
use super::parties::{Seen, words};
use std::collections::BTreeMap;

/// So many of the lowest bits of a view are left to what a party knows without a message.
pub const KNOWN: u32 = 72;

/// What a party received in a run: for each case a number of as many rows of 128 bits as it takes.
#[derive(Default)]
pub struct View {
    pub rows: Vec<Vec<u128>>,
    /// The next free bit.
    free: u32,
    /// By instruction and sender.
    taken: BTreeMap<(u64, usize), Message>,
}

/// Where each element of a message goes, for each of its parts of 128 planes.
type Message = Vec<Vec<To>>;

#[derive(Clone, Copy, Debug)]
struct To {
    case: u32,
    row: u8,
    bit: u8,
}

impl View {
    /// Takes in what a party received.
    pub fn take(&mut self, made: &Made, party: usize, seen: &Seen) {
        if self.rows.is_empty() {
            self.rows.push(vec![]);
            self.free = KNOWN;
        }
        for row in &mut self.rows {
            row.clear();
            row.resize(made.cases, 0);
        }
        let mut names: Vec<(u64, usize)> = seen.received.iter().map(|m| (m.0, m.1)).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] < w[1]), "a message of each in an instruction");
        for got in &seen.received {
            let (found, start) = words(made, party, got);
            let name = (got.0, got.1);
            if !self.taken.contains_key(&name) {
                let message = self.place(made, got.0, start, found[0].len(), found.len());
                self.taken.insert(name, message);
            }
            for (found, to) in found.iter().zip(&self.taken[&name]) {
                for (w, to) in found.iter().zip(to) {
                    self.rows[usize::from(to.row)][to.case as usize] |= w << to.bit;
                }
            }
        }
    }

    /// Where a message of n elements goes, for each of its parts of 128 planes.
    fn place(&mut self, made: &Made, number: u64, start: usize, n: usize, parts: usize) -> Message {
        let places = made.places(number);
        let bits = made.operand(number).0.bits();
        let mut message = Vec::new();
        for part in 0..parts as u32 {
            let bits = (bits - 128 * part).min(128);
            let mut words = BTreeMap::new();
            let to = (start..start + n).map(|i| {
                let (case, within) = places.of(i);
                let (row, bit) = *words.entry(within).or_insert_with(|| {
                    if self.free % 128 + bits > 128 {
                        self.free = self.free.next_multiple_of(128);
                    }
                    let found = ((self.free / 128) as u8, (self.free % 128) as u8);
                    self.free += bits;
                    found
                });
                To { case: case as u32, row, bit }
            });
            message.push(to.collect());
        }
        self.rows.resize_with(self.free.div_ceil(128) as usize, || vec![0; made.cases]);
        message
    }
}
