//! How much of a macro is gone through.

/// So many cases, as powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Where operands and all that is random have at most so many cases in each part, all are gone through.
    pub whole: u32,
    /// Where they have more, about so many at each party and part are.
    pub drawn: u32,
    /// No more cases of each part in one run, where all are gone through.
    pub lanes: u32,
}

/// Of every test.
pub const SHORT: Limits = Limits { whole: 16, drawn: 11, lanes: u32::MAX };

/// Of the long run, whose complete spaces are listed, too.
pub const LONG: Limits = Limits { whole: 28, drawn: 16, lanes: u32::MAX };

/// All cases of a macro: all operands, all shares of them, all words of all parties.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extent {
    /// Of the largest part, as a power of two.
    pub bits: f64,
    /// Of all parts, if these are not too many for a number.
    pub cases: u64,
}

impl Extent {
    pub fn within(self, limits: Limits) -> bool {
        self.bits <= f64::from(limits.whole)
    }
}

/// What was gone through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// What there is.
    pub extent: Extent,
    /// Runs of the macro on one case.
    pub cases: u64,
    /// Most bits that a party does not know, operands aside.
    pub unknown: u32,
    /// Operands, and of how many all unknown words were gone through at every party.
    pub operands: usize,
    pub compared: usize,
    /// Whether there is nothing else: all operands, all words of all parties.
    pub all_own: bool,
    /// Choices of own words at the party and part that have least, where these are not all.
    pub own: u64,
    /// Whether unknown words were drawn.
    pub drawn: bool,
}

/// So many times more cases, as a power of two, are gone through where it takes that to go through all unknown words.
const MORE: u32 = 6;

/// Where more unknown bits are drawn, fewer cases are: each takes long.
pub const MANY: u32 = 256;

/// Cases of one part at one party, where not all are gone through.
#[derive(Clone, Debug)]
pub struct Space {
    pub unknown: u32,
    /// Numbers of the operands that are compared.
    pub inputs: Vec<usize>,
    pub own: u64,
    pub drawn: bool,
}

impl Space {
    pub fn new(operands: usize, unknown: u32, log2: u32) -> Space {
        let some = |n: usize| -> Vec<usize> {
            if n >= operands {
                return (0..operands).collect();
            }
            // The ends, and others evenly between them.
            (0..n).map(|i| i * (operands - 1) / (n - 1)).collect()
        };
        let drawn = unknown + 1 > log2 + MORE;
        if drawn {
            let log2 = if unknown > MANY { log2 - 3 } else { log2 };
            return Space { unknown: log2 - 1, inputs: some(2), own: 1, drawn };
        }
        let inputs = some(1 << log2.saturating_sub(unknown).clamp(1, 20));
        let each = (inputs.len() as u64) << unknown;
        // Not more where an operand has few unknown words: such a macro may have many own ones, and take long.
        let own = ((1u64 << log2) / each).clamp(1, 1 << log2.saturating_sub(5));
        Space { unknown, inputs, own, drawn }
    }

    /// All operands, each some times with all words drawn: for results.
    pub fn all(operands: usize, log2: u32) -> Space {
        let own = ((1u64 << log2) / operands as u64).max(4);
        Space { unknown: 0, inputs: (0..operands).collect(), own, drawn: true }
    }

    pub fn cases(&self) -> u64 {
        (self.own * (self.inputs.len() as u64)) << self.unknown
    }

    /// Own words, which of the operands, unknown words.
    pub fn of(&self, case: u64) -> (u64, usize, u64) {
        let unknown = case & ((1 << self.unknown) - 1);
        let rest = case >> self.unknown;
        let n = self.inputs.len() as u64;
        (rest / n, (rest % n) as usize, unknown)
    }
}
