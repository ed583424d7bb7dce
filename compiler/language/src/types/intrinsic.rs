//! The operations of the compiler that programs call by name.
//!
//! Elementary functions come from the one table of them ([`super::function`]). The checker evaluates
//! constants with the same function as the reference evaluation.

use super::function::Function;

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
    /// All entries of a tensor as a vector.
    Flat,
    /// The entries of a tensor in another shape.
    Reshape,
    /// The entries of the first dimension of two tensors, one after the other.
    Concat,
    /// Where a public index has each number.
    Places,
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
    ("flat", Intrinsic::Flat),
    ("reshape", Intrinsic::Reshape),
    ("concat", Intrinsic::Concat),
    ("places", Intrinsic::Places),
];

impl Intrinsic {
    /// Every intrinsic with its name.
    pub fn all() -> impl Iterator<Item = (&'static str, Intrinsic)> {
        let elementwise = Elementwise::all();
        let elementwise = elementwise.map(|f| (f.rule().name, Intrinsic::Elementwise(f)));
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
    pub value: fn(f64) -> f64,
    /// Its value in IEEE 754, with infinities and NaN.
    pub ieee: fn(f64) -> f64,
    /// Whether it has a value at a number.
    pub defined: fn(f64) -> bool,
    /// Whether it gives an integer for an integer.
    pub integral: bool,
}

/// A function of one real number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elementwise {
    Relu,
    Abs,
    Function(Function),
}

impl Elementwise {
    /// Every one of them.
    pub fn all() -> impl Iterator<Item = Elementwise> {
        let called = Function::ALL.iter().filter(|f| f.facts().intrinsic);
        let called = called.map(|f| Elementwise::Function(*f));
        [Elementwise::Relu, Elementwise::Abs].into_iter().chain(called)
    }

    /// What there is to know of it.
    pub fn rule(self) -> Rule {
        match self {
            Elementwise::Relu => {
                let value = |x: f64| x.max(0.0);
                Rule { name: "relu", value, ieee: value, defined: |_| true, integral: true }
            }
            Elementwise::Abs => Rule {
                name: "abs",
                value: f64::abs,
                ieee: f64::abs,
                defined: |_| true,
                integral: true,
            },
            Elementwise::Function(f) => {
                let facts = f.facts();
                Rule {
                    name: facts.name,
                    value: facts.saturated,
                    ieee: facts.real,
                    defined: facts.defined,
                    integral: false,
                }
            }
        }
    }
}
