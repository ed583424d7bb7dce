//! Numbers that look random, the same everywhere, for circuits of a seed.

/// A generator of numbers that is the same everywhere.
pub struct Random(pub u64);

impl Random {
    /// For the circuit of a seed.
    pub fn of_seed(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..9).for_each(|_| {
            random.below(2);
        });
        random
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n.max(1)
    }

    pub fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }
}
