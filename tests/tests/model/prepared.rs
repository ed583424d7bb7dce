//! A circuit of a macro with what is random in it, and what is wrong with a macro.

use super::circuits::{Build, Macro, Made};
use super::enumerate::{Layout, Log, PARTS};
use super::parties::run;
use super::space::Extent;
use slvr_ring::Data;
use slvr_runtime::share::Words;
use std::sync::Arc;

/// Why a macro is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Wrong { operands: Vec<u128>, result: Vec<u128> },
    Leak { party: usize, part: usize, what: String },
}

/// Words that two parties share and that are not random, to see that the check finds it.
#[derive(Clone, Copy, Debug)]
pub struct Stuck {
    /// The first of the two parties.
    pub pair: usize,
    /// In this case of a complete space alone, or in all.
    pub only: Option<Case>,
}

/// A case of a complete space.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub part: usize,
    /// Which of the operands.
    pub input: usize,
    /// What is random, as a number.
    pub number: u64,
}

/// A circuit of a macro, and what each two parties draw in it.
pub struct Prepared {
    pub made: Arc<Made>,
    pub layouts: [Arc<Layout>; 3],
    /// Bits of the two components of all operands that a party knows.
    pub operand_bits: u32,
}

impl Prepared {
    pub fn new(of: &Macro, build: Build, part: usize) -> Prepared {
        let made = Arc::new(Made::new(of, build, PARTS * part));
        let logs: [Arc<Log>; 3] = Default::default();
        let zeros: Vec<[Data; 3]> = (of.operands.iter())
            .map(|o| [0, 1, 2].map(|_| Data::zeros(o.dom, PARTS * part * o.each)))
            .collect();
        let pairs = logs.each_ref().map(|l| -> Arc<dyn Words> { l.clone() });
        run(&made, &zeros, &pairs);
        let layouts = logs.map(|log| Arc::new(Layout::new(&made, &log)));
        let operand_bits = of.operands.iter().map(|o| 2 * o.dom.bits() * o.each as u32).sum();
        Prepared { made, layouts, operand_bits }
    }

    /// Bits that each two parties draw for a case, in each part.
    pub fn bits(&self) -> [[u32; PARTS]; 3] {
        self.layouts.each_ref().map(|l| l.bits)
    }

    /// All that is random in a case of each part: two components of each operand, and what the parties draw.
    pub fn random(&self) -> [u32; PARTS] {
        let bits = self.bits();
        [0, 1, 2].map(|part| self.operand_bits + bits.iter().map(|b| b[part]).sum::<u32>())
    }

    pub fn extent(&self, of: &Macro) -> Extent {
        let random = self.random();
        let operands = of.inputs.len() as u64;
        let bits = f64::from(random.into_iter().max().unwrap_or(0)) + (operands as f64).log2();
        let cases = random
            .iter()
            .map(|&r| operands.saturating_mul(1u64.checked_shl(r).unwrap_or(u64::MAX)));
        Extent { bits, cases: cases.fold(0, u64::saturating_add) }
    }
}
