//! The elementary functions of real numbers, one row of facts each. No pass has a list of all of them.
//!
//! To add one, add a variant, its row, its value beyond its domain in [`super::domain`], and an `extern fn`
//! in `std`; then the protocols that compute it (`slvr_backend::lower`) and how its errors are bounded
//! (`slvr_graph::analysis`). `docs/src/architecture.md` names all files.

use super::domain;
use std::f64::consts::LN_2;

/// Facts about a function. "Saturated" is as in ring arithmetic, where a function has a value
/// everywhere ([`super::domain`]).
#[derive(Clone, Copy)]
pub struct FunctionFacts {
    /// Name in the text form and in messages.
    pub name: &'static str,
    /// Whether programs call it by its name; otherwise passes make it.
    pub intrinsic: bool,
    /// The function of real numbers.
    pub real: fn(f64) -> f64,
    /// Where the function of real numbers has a value.
    pub defined: fn(f64) -> bool,
    /// The function as ring arithmetic has it.
    pub saturated: fn(f64) -> f64,
    /// Where it rises, saturated; `None` of one that falls somewhere.
    pub rises: Option<Rises>,
    /// When no value is negative, saturated or not.
    pub not_negative: NotNegative,
    /// Whether the value at 0 is 0.
    pub zero_at_zero: bool,
    /// The smallest and largest saturated value on an interval.
    pub interval: fn(f64, f64) -> (f64, f64),
    /// The largest absolute saturated value where no operand is larger than this.
    pub magnitude: fn(f64) -> f64,
    /// Whether a result is as precise, relative to its size, as its operand is. Others have a domain of their own.
    pub relative: bool,
    /// What it is where it saturates, and where that is, if it does so somewhere in an interval of operands.
    pub beyond: fn(f64, f64) -> Option<String>,
}

/// For which operands a function rises strictly, saturated. It has one value for all below these, which is no more, and
/// one for all above, which is no less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rises {
    /// The least of them.
    pub from: f64,
    /// The largest.
    pub to: f64,
}

/// When the values of a function are not negative, as a circuit rounds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotNegative {
    Always,
    /// Where the operand is not negative.
    WithOperand,
    /// Not for every operand that is not negative.
    No,
}

/// The enum, the list of all its variants and the facts of each, from one table.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident => $facts:expr;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Function {
            $($(#[$doc])* $name,)*
        }

        impl Function {
            pub const ALL: &'static [Function] = &[$(Function::$name),*];

            /// What is known of it.
            pub const fn facts(self) -> &'static FunctionFacts {
                match self {
                    $(Function::$name => const { &$facts },)*
                }
            }
        }
    };
}

functions! {
    Exp => FunctionFacts {
        name: "exp",
        intrinsic: true,
        real: f64::exp,
        defined: |_| true,
        saturated: domain::exp,
        rises: Some(Rises { from: domain::EXP_LOW, to: domain::EXP_HIGH }),
        not_negative: NotNegative::Always,
        zero_at_zero: false,
        interval: |lo, hi| (domain::exp(lo), domain::exp(hi)),
        magnitude: |_| power(domain::EXP_TOP),
        relative: false,
        beyond: |_, hi| {
            let top = domain::EXP_TOP;
            (hi > domain::EXP_HIGH).then(|| format!("2^{top} where the operand is above {top} ln 2"))
        },
    };
    /// e^x of an x that is at most 0 by construction, up to rounding: `x - max(x)`.
    ExpNonPositive => FunctionFacts {
        name: "exp_non_positive",
        intrinsic: false,
        real: f64::exp,
        defined: |_| true,
        saturated: domain::exp,
        rises: Some(Rises { from: domain::EXP_LOW, to: domain::EXP_HIGH }),
        not_negative: NotNegative::Always,
        zero_at_zero: false,
        interval: |lo, hi| (domain::exp(lo.min(0.0)), domain::exp(hi.min(0.0))),
        magnitude: |_| 1.0,
        relative: false,
        beyond: |_, _| None,
    };
    Recip => FunctionFacts {
        name: "recip",
        intrinsic: true,
        real: f64::recip,
        defined: |x| x != 0.0,
        saturated: domain::recip,
        rises: None,
        not_negative: NotNegative::WithOperand,
        zero_at_zero: false,
        interval: |lo, hi| {
            let end = domain::QUOTIENT_END;
            if lo > 0.0 || hi < 0.0 {
                (domain::recip(hi), domain::recip(lo))
            } else {
                // At 0 it is the upper end.
                (if lo < 0.0 { -end } else { domain::recip(hi) }, end)
            }
        },
        magnitude: |_| domain::QUOTIENT_END,
        relative: true,
        beyond: |lo, hi| {
            let end = domain::QUOTIENT_TOP;
            (lo <= 0.0 && hi >= 0.0).then(|| format!("2^{end} where the operand is 0"))
        },
    };
    Sqrt => FunctionFacts {
        name: "sqrt",
        intrinsic: true,
        real: f64::sqrt,
        defined: |x| x >= 0.0,
        saturated: domain::sqrt,
        rises: Some(Rises { from: 0.0, to: f64::INFINITY }),
        not_negative: NotNegative::Always,
        zero_at_zero: true,
        interval: |lo, hi| (domain::sqrt(lo), domain::sqrt(hi)),
        magnitude: |x| x.max(1.0).sqrt(),
        relative: true,
        beyond: |lo, _| (lo < 0.0).then(|| "0 where the operand is negative".into()),
    };
    /// 1 / sqrt x: a reciprocal of a root, computed at once.
    RecipSqrt => FunctionFacts {
        name: "recip_sqrt",
        intrinsic: false,
        real: |x| x.sqrt().recip(),
        defined: |x| x > 0.0,
        saturated: domain::recip_sqrt,
        rises: None,
        not_negative: NotNegative::Always,
        zero_at_zero: false,
        interval: |lo, hi| (domain::recip_sqrt(hi), domain::recip_sqrt(lo)),
        magnitude: |_| domain::QUOTIENT_END,
        relative: true,
        beyond: |lo, _| {
            let end = domain::QUOTIENT_TOP;
            (lo <= 0.0).then(|| format!("2^{end} where the operand is 0 or negative"))
        },
    };
    Log => FunctionFacts {
        name: "log",
        intrinsic: true,
        real: f64::ln,
        defined: |x| x > 0.0,
        saturated: domain::log,
        rises: Some(Rises { from: domain::LOG_LOW, to: f64::INFINITY }),
        not_negative: NotNegative::No,
        zero_at_zero: false,
        interval: |lo, hi| (domain::log(lo), domain::log(hi)),
        magnitude: |x| x.max(1.0).ln().max(-domain::log(0.0)),
        relative: false,
        beyond: |lo, _| {
            let (least, low) = (domain::log(0.0) / LN_2, domain::LOG_LOW.log2());
            let what = || format!("{least:.0} ln 2 where the operand is below 2^{low:.0}");
            (lo < domain::LOG_LOW).then(what)
        },
    };
    Tanh => FunctionFacts {
        name: "tanh",
        intrinsic: true,
        real: f64::tanh,
        defined: |_| true,
        saturated: f64::tanh,
        rises: Some(Rises { from: f64::NEG_INFINITY, to: f64::INFINITY }),
        // That of 0 may be one unit below, as the protocols round it.
        not_negative: NotNegative::No,
        zero_at_zero: true,
        interval: |lo, hi| (lo.tanh(), hi.tanh()),
        magnitude: |x| x.min(1.0),
        relative: false,
        beyond: |_, _| None,
    };
}

/// 2^n.
fn power(n: u32) -> f64 {
    f64::from(n).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts of a row agree with each other on a grid of intervals.
    #[test]
    fn facts_hold() {
        let grid: Vec<f64> = (-400..400).map(|i| f64::from(i) / 16.0).collect();
        for f in Function::ALL {
            let facts = f.facts();
            let name = facts.name;
            let value = facts.saturated;
            assert_eq!(facts.zero_at_zero, (facts.real)(0.0) == 0.0, "{name} at 0");
            for pair in grid.windows(2) {
                let (a, b) = (value(pair[0]), value(pair[1]));
                let Some(Rises { from, to }) = facts.rises else { continue };
                let within = |x: f64| from <= x && x <= to;
                let rises = match (within(pair[0]), within(pair[1])) {
                    // Floating point has no numbers between 1 and tanh of more.
                    (true, true) if *f == Function::Tanh && pair[0].abs() > 5.0 => a <= b,
                    (true, true) => a < b,
                    (false, true) | (true, false) => a <= b,
                    (false, false) => a == b,
                };
                assert!(rises, "{name} does not rise after {}", pair[0]);
                let holds = match facts.not_negative {
                    NotNegative::Always => a >= 0.0,
                    NotNegative::WithOperand => a >= 0.0 || pair[0] < 0.0,
                    NotNegative::No => true,
                };
                assert!(holds, "{name} is negative at {}", pair[0]);
            }
            for (i, &lo) in grid.iter().enumerate().step_by(37) {
                for &hi in grid[i..].iter().step_by(41) {
                    let (least, most) = (facts.interval)(lo, hi);
                    let largest = (facts.magnitude)(lo.abs().max(hi.abs()));
                    // An operand above 0 is rounding where none should be.
                    let top = if *f == Function::ExpNonPositive { hi.min(0.0) } else { hi };
                    let saturated = |&&x: &&f64| {
                        let near = (value(x) - (facts.real)(x)).abs() < 1.0 / 65536.0;
                        (lo..=top).contains(&x) && !((facts.defined)(x) && near)
                    };
                    let found = grid.iter().find(saturated);
                    assert_eq!(
                        found.is_some(),
                        (facts.beyond)(lo, hi).is_some(),
                        "{name} on {lo}..{hi}: {found:?}"
                    );
                    for &x in grid.iter().filter(|&&x| (lo..=top).contains(&x)) {
                        let y = value(x);
                        assert!((least..=most).contains(&y), "{name}({x}) on {lo}..{hi}");
                        assert!(y.abs() <= largest, "{name}({x}) is larger than {largest}");
                    }
                }
            }
        }
    }
}
