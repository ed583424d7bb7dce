//! The operations of the compiler that programs call by name.
//!
//! This file is the only place in the room that lists the elementwise functions: to add one, add a row to
//! the table below and its `extern fn` to the library `std`. The checker evaluates constants with the same
//! function as the reference evaluation.

/// An operation of the compiler. Its `extern fn` in `std` documents it and states its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intrinsic {
    /// Sum over the first dimension. Bits are counted: the result is an int.
    Sum,
    /// Product of all entries of two vectors, summed: a scalar.
    Dot,
    /// Largest entry along the first dimension.
    Max,
    /// Smallest entry along the first dimension.
    Min,
    /// Index of the largest entry of a vector; of equal ones the first.
    ArgMax,
    /// Entries of a vector in ascending order.
    Sort,
    /// `select(c, a, b)`: a where c is 1, else b.
    Select,
    /// A function of one real number, applied to each entry of a tensor of any shape.
    Elementwise(Elementwise),
}

/// Those that are not elementwise, by name.
const OF_TENSORS: &[(&str, Intrinsic)] = &[
    ("sum", Intrinsic::Sum),
    ("dot", Intrinsic::Dot),
    ("max", Intrinsic::Max),
    ("min", Intrinsic::Min),
    ("argmax", Intrinsic::ArgMax),
    ("sort", Intrinsic::Sort),
    ("select", Intrinsic::Select),
];

impl Intrinsic {
    /// Every intrinsic with its name.
    pub fn all() -> impl Iterator<Item = (&'static str, Intrinsic)> {
        let elementwise = Elementwise::ALL.iter();
        let elementwise = elementwise.map(|f| (f.rule().name, Intrinsic::Elementwise(*f)));
        OF_TENSORS.iter().copied().chain(elementwise)
    }

    /// The intrinsic with this name.
    pub fn named(name: &str) -> Option<Intrinsic> {
        Intrinsic::all().find(|(n, _)| *n == name).map(|(_, i)| i)
    }
}

/// What there is to know of an elementwise function.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name in programs.
    pub name: &'static str,
    /// Its value.
    pub value: fn(f64) -> f64,
    /// Whether it has a value at a number.
    pub defined: fn(f64) -> bool,
    /// Whether it gives an integer for an integer.
    pub integral: bool,
}

/// Makes the enumeration of elementwise functions, the list of them and their rules from one table.
macro_rules! elementwise {
    ($($(#[$doc:meta])* $function:ident { $($rule:tt)* })*) => {
        /// A function of one real number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Elementwise {
            $($(#[$doc])* $function,)*
        }

        impl Elementwise {
            /// Every one of them.
            pub const ALL: &'static [Elementwise] = &[$(Elementwise::$function,)*];

            /// What there is to know of it.
            pub fn rule(self) -> Rule {
                match self {
                    $(Elementwise::$function => Rule { $($rule)* },)*
                }
            }
        }
    };
}

elementwise! {
    /// max(x, 0).
    Relu { name: "relu", value: |x| x.max(0.0), defined: |_| true, integral: true }
    /// Absolute value.
    Abs { name: "abs", value: f64::abs, defined: |_| true, integral: true }
    /// e^x.
    Exp { name: "exp", value: f64::exp, defined: |_| true, integral: false }
    /// 1 / x, x > 0.
    Recip { name: "recip", value: f64::recip, defined: |x| x > 0.0, integral: false }
    /// Square root, x >= 0.
    Sqrt { name: "sqrt", value: f64::sqrt, defined: |x| x >= 0.0, integral: false }
    /// Natural logarithm, x > 0.
    Log { name: "log", value: f64::ln, defined: |x| x > 0.0, integral: false }
}
