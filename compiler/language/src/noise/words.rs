//! The uniform words that an evaluation in the clear takes. They are no secret, so a mixing function is enough: an
//! evaluation in the clear is to be repeated, and its noise protects nobody.

use slvr_circuit::{Circuit, Op};

/// Words by the number of the noise and the place of the word.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// What words that are not given are made of.
    pub seed: u64,
    /// By number of the noise its words, e.g. those of a run among parties.
    pub given: Vec<Vec<u128>>,
}

impl Words {
    /// All words from a seed.
    pub fn of(seed: u64) -> Words {
        Words { seed, given: Vec::new() }
    }

    /// The words of a circuit's random instructions, by their tags.
    pub fn of_circuit(&self, circuit: &Circuit) -> Vec<Vec<u128>> {
        let mut all = Vec::new();
        for instr in circuit.layers.iter().flat_map(|l| &l.local) {
            let Op::Random { tag, shape, .. } = &instr.op else { continue };
            let n = shape.iter().product::<u64>() as usize;
            all.resize(all.len().max(*tag as usize + 1), Vec::new());
            all[*tag as usize] = (0..n).map(|i| self.word(*tag, i)).collect();
        }
        all
    }

    pub fn word(&self, number: u32, place: usize) -> u128 {
        let given = self.given.get(number as usize).and_then(|words| words.get(place));
        given.copied().unwrap_or_else(|| {
            let stream = mix(self.seed ^ mix(u64::from(number) ^ 0x6e6f_6973_6500_0000));
            let half = |i: u64| mix(stream ^ mix((place as u64) << 1 | i));
            u128::from(half(0)) << 64 | u128::from(half(1))
        })
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): one to one, and every bit of the result depends on every bit of x.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
