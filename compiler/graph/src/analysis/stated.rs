//! What the protocols state of their errors.
//!
//! A certificate is only as good as the errors that it takes for granted of truncations and functions.
//! They belong to the protocols: lowering gives the table (`slvr_backend::lower`), the analyses of errors take
//! it as an argument, and tests of the protocols measure against the same table.

use super::interval::Interval;
use super::view::times;
pub use slvr_language::types::function::Function;

/// Units that exponentials are off by where they are cut at the lower end of their domain, whatever protocol computes
/// them: e^x is below 2^-17 there, and they have 16 fraction bits ([`crate::passes`]), whatever is wanted of the result.
pub(in crate::analysis) const LOW_END: f64 = 0.5;

/// The same of any function: only exponentials have such an end.
pub(in crate::analysis) fn low_end(of: Function) -> f64 {
    if matches!(of, Function::Exp | Function::ExpNonPositive) { LOW_END } else { 0.0 }
}

/// The largest difference between what a protocol computes and the exact function of its operand,
/// which has a value everywhere ([`crate::graph::domain`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stated {
    /// Units in the last place of the result.
    pub units: f64,
    /// Parts of the absolute value of the exact result, in addition.
    pub relative: f64,
}

impl Stated {
    /// The error that is allowed of a result, in units in its last place.
    pub fn of(self, result: f64) -> f64 {
        self.units + times(self.relative, result.abs())
    }

    /// Where results are that are exact within an interval, in units in the last place.
    pub(in crate::analysis) fn around(self, (lo, hi): Interval) -> Interval {
        (lo - self.of(lo), hi + self.of(hi))
    }

    /// What intervals allow for ([`super::ranges`]): this and a unit for a truncation, and no less than
    /// [`StatedErrors::ROOM`].
    pub(in crate::analysis) fn with_room(self) -> Stated {
        let room = StatedErrors::ROOM;
        Stated {
            units: room.units.max(self.units + 1.0),
            relative: room.relative.max(self.relative),
        }
    }

    const fn within(self, room: Stated) -> bool {
        self.units <= room.units && self.relative <= room.relative
    }
}

/// The errors of all protocols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedErrors {
    /// Of the truncation of a secret, in units in the last place of the result.
    pub truncation: f64,
    /// Of x / y.
    pub div: Stated,
    /// Of functions of one number, in the order of [`Function::ALL`]; of e^x, for x above the lower end of its domain.
    pub functions: [Stated; Function::ALL.len()],
}

/// What is stated of each function, where all are there in the order of [`Function::ALL`].
///
/// # Panics
///
/// If one is out of order: a table does not compile then.
pub const fn by_function(
    rows: [(Function, Stated); Function::ALL.len()],
) -> [Stated; Function::ALL.len()] {
    let mut all = [rows[0].1; Function::ALL.len()];
    let mut i = 0;
    while i < rows.len() {
        assert!(rows[i].0 as usize == i, "functions are in the order of `Function::ALL`");
        all[i] = rows[i].1;
        i += 1;
    }
    all
}

/// Errors of the size that protocols state, for tests of analyses: each function has another one, so that none is taken
/// for another.
#[cfg(test)]
pub const TESTED: StatedErrors = {
    const fn stated(units: f64, bits: usize) -> Stated {
        Stated { units, relative: 1.0 / (1u64 << bits) as f64 }
    }
    let mut functions = [stated(1.5, 30); Function::ALL.len()];
    let mut i = 0;
    while i < functions.len() {
        functions[i] = stated(1.5, 30 - i);
        i += 1;
    }
    StatedErrors { truncation: 1.0, div: stated(2.0, 19), functions }
};

impl StatedErrors {
    /// Of what is computed in real numbers.
    pub const NONE: StatedErrors = {
        let none = Stated { units: 0.0, relative: 0.0 };
        StatedErrors { truncation: 0.0, div: none, functions: [none; Function::ALL.len()] }
    };

    /// The room that intervals leave around the exact values of functions ([`super::ranges`]).
    pub const ROOM: Stated = Stated { units: 8.0, relative: 1.0 / 65536.0 };

    /// What users are told that no function is off by more than.
    pub const MOST: Stated = Stated { units: 2.0, relative: 1.0 / 262_144.0 };

    /// Of a function of one number.
    pub const fn of(&self, function: Function) -> Stated {
        self.functions[function as usize]
    }

    /// Whether truncation gives one of the two next integers and no function is off by more than
    /// [`StatedErrors::MOST`]: intervals hold for these protocols, since their room is larger. The table is
    /// held to it when it is compiled.
    pub const fn within_most(&self) -> bool {
        let room = StatedErrors::MOST;
        let mut within =
            self.truncation <= 1.0 && room.within(StatedErrors::ROOM) && self.div.within(room);
        let mut i = 0;
        while i < self.functions.len() {
            within &= self.functions[i].within(room);
            i += 1;
        }
        within
    }
}
