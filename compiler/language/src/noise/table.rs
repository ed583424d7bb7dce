//! The alias method on 2^c cells, in whole numbers.

use super::exact::Exact;

/// Bits that choose between the two outcomes of a cell.
pub const PRECISION: u32 = 64;

/// A distribution on the numbers below 2^c, exactly as its cells have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// c.
    pub bits: u32,
    /// By cell one outcome.
    pub first: Vec<u32>,
    /// By cell the other outcome. That of cell 0 is 0.
    pub second: Vec<u32>,
    /// By cell: the first outcome has this probability, in units of 2^-64.
    pub chance: Vec<u64>,
    /// How far the distribution is at most from the one that was asked for.
    pub distance: f64,
}

impl Table {
    /// The nearest table to a distribution: probabilities of the outcomes, and what is left for outcomes that no table
    /// has.
    pub(super) fn new(bits: u32, wanted: &[Exact], left: &Exact) -> Table {
        let cells = 1usize << bits;
        // What all cells have together is 2^(64 + c) units; a cell has 2^64.
        let (cell, places) = (1u128 << PRECISION, u64::from(PRECISION + bits));
        let mut units: Vec<u128> = wanted.iter().map(|p| p.units(places)).collect();
        units.resize(cells, 0);
        let sum: u128 = units.iter().sum();
        // What rounding and the cut have left over goes to the likeliest outcome.
        let top = (0..cells).max_by_key(|&i| (units[i], cells - i)).unwrap_or(0);
        units[top] += (cell << bits).saturating_sub(sum);
        let mut distance = left.clone();
        for (i, &have) in units.iter().enumerate() {
            let want = wanted.get(i).cloned().unwrap_or_else(Exact::zero);
            distance = distance.plus(&want.apart(&Exact::of_units(have, places)));
        }
        let mut table = Table {
            bits,
            first: (0..cells as u32).collect(),
            second: (0..cells as u32).collect(),
            chance: vec![0; cells],
            distance: distance.above() / 2.0,
        };
        table.fill(units, cell);
        table.turn();
        table
    }

    /// Gives each cell what its own outcome has, and fills it up with an outcome that has more than a cell.
    fn fill(&mut self, mut units: Vec<u128>, cell: u128) {
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..units.len()).partition(|&i| units[i] < cell);
        while let (Some(s), Some(&l)) = (small.pop(), large.last()) {
            self.chance[s] = units[s] as u64;
            self.second[s] = l as u32;
            units[l] -= cell - units[s];
            if units[l] < cell {
                large.pop();
                small.push(l);
            }
        }
    }

    /// Makes 0 the second outcome of cell 0: some cell has it, and cells may stand in any order.
    fn turn(&mut self) {
        let cells = self.first.len();
        let second = (0..cells).find(|&i| self.second[i] == 0);
        let found =
            second.or_else(|| (0..cells).find(|&i| self.first[i] == 0 && self.chance[i] > 0));
        let Some(i) = found else { return };
        if self.second[i] != 0 {
            (self.first[i], self.second[i]) = (self.second[i], 0);
            self.chance[i] = self.chance[i].wrapping_neg();
        }
        self.first.swap(0, i);
        self.second.swap(0, i);
        self.chance.swap(0, i);
    }

    /// The outcome of a uniform word: its low 64 bits choose, the next c bits name the cell.
    pub fn outcome(&self, word: u128) -> u32 {
        let cell = (word >> PRECISION) as usize & ((1 << self.bits) - 1);
        let place = (word as u64).trailing_zeros();
        let first = place < PRECISION && self.chance[cell] >> (PRECISION - 1 - place) & 1 == 1;
        if first { self.first[cell] } else { self.second[cell] }
    }

    /// The probability of an outcome, in units of 2^-(64 + c).
    pub fn units(&self, outcome: u32) -> u128 {
        (0..self.first.len()).fold(0, |sum, i| {
            let first = u128::from(self.chance[i]);
            let second = (1u128 << PRECISION) - first;
            let of = |at: &[u32], units| if at[i] == outcome { units } else { 0 };
            sum + of(&self.first, first) + of(&self.second, second)
        })
    }
}
