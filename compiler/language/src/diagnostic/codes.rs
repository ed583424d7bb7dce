//! The table of error codes. A code is never reused for another rule.

use std::fmt;

/// A code, printed `E0007`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{:04}", self.0)
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal, $title:literal, $file:literal;)*) => {
        $($(#[doc = $doc])+ pub const $name: Code = Code($number);)*

        /// Every code with the rule it stands for, ascending.
        pub const ALL: &[(Code, &str)] = &[$((Code($number), $title)),*];

        /// What each of them means, in the same order.
        pub(super) const TEXTS: &[&str] = &[$(include_str!(concat!("explain/", $file))),*];
    };
}

codes! {
    /// A character that starts no token.
    LEX = 1, "unknown character", "e0001.md";
    /// A token where the grammar does not allow it.
    SYNTAX = 2, "syntax error", "e0002.md";
    /// A number out of range.
    NUMBER = 3, "number out of range", "e0003.md";
    /// A name that is not defined.
    UNKNOWN_NAME = 4, "unknown name", "e0004.md";
    /// A name defined twice in one scope.
    DUPLICATE = 5, "name defined twice", "e0005.md";
    /// A file or item of a `use` that does not exist.
    UNKNOWN_IMPORT = 6, "unknown import", "e0006.md";
    /// An `if` or loop bound on a secret.
    SECRET_CONDITION = 7, "a condition must be known at compile time", "e0007.md";
    /// A size parameter without a value.
    UNBOUND_SIZE = 8, "size without a value", "e0008.md";
    /// Shapes that do not fit.
    SHAPE = 9, "shapes do not fit", "e0009.md";
    /// An element type that does not fit.
    ELEMENT = 10, "types do not fit", "e0010.md";
    /// Wrong number or names of arguments.
    ARGUMENTS = 11, "wrong arguments", "e0011.md";
    /// A function, block or model that calls itself.
    RECURSION = 12, "recursion", "e0012.md";
    /// An input without `public` or `secret`.
    SECRECY = 13, "secrecy not declared", "e0013.md";
    /// A secret input without a range.
    RANGE_MISSING = 14, "range not declared", "e0014.md";
    /// A range that is empty or not known at compile time.
    RANGE = 15, "bad range", "e0015.md";
    /// An index outside its dimension.
    INDEX = 16, "index out of bounds", "e0016.md";
    /// An index of the wrong set.
    INDEX_SET = 17, "index of another set", "e0017.md";
    /// A `require` that does not hold.
    REQUIRE = 18, "requirement does not hold", "e0018.md";
    /// More members drawn than there are others.
    COMMITTEE = 19, "committee larger than its set", "e0019.md";
    /// A reveal to something that is not a party.
    REVEAL = 20, "bad reveal", "e0020.md";
    /// An input that nothing reads.
    UNUSED = 21, "unused input", "e0021.md";
    /// A value where a name of another kind is needed.
    KIND = 22, "wrong kind of name", "e0022.md";
    /// A comprehension whose length depends on a loop variable, outside a reduction.
    RAGGED = 23, "uneven comprehension", "e0023.md";
    /// Parties declared or used wrongly.
    PARTIES = 24, "bad parties", "e0024.md";
    /// A compile-time computation that fails (division by zero, overflow).
    CONST_EVAL = 25, "compile-time computation fails", "e0025.md";
    /// A size that is zero, negative or too large.
    SIZE = 26, "bad size", "e0026.md";
    /// A value that may leave its ring.
    OVERFLOW = 28, "value may leave its ring", "e0028.md";
    /// A predicate file without, or with several, predicates.
    NO_PREDICATE = 29, "no such predicate", "e0029.md";
    /// A bound on the certificate that does not hold.
    CERTIFICATE = 30, "certificate demand does not hold", "e0030.md";
    /// A `NAME=VALUE` on the command line that fits no parameter.
    BINDING = 31, "bad binding", "e0031.md";
    /// A layer used wrongly.
    LAYER = 32, "bad layer", "e0032.md";
    /// A constant that no run can hold, or that is lost among the values it is computed with.
    CONSTANT = 35, "constant is lost", "e0035.md";
    /// Noise of a distribution, scale or type that there is none of.
    NOISE = 36, "no such noise", "e0036.md";
    /// A computation that has no proof against a malicious party.
    UNPROVEN = 40, "no proof against a malicious party", "e0040.md";
    /// A constant that is another number in a run, by more than a hundredth.
    ROUNDED = 41, "constant is rounded", "e0041.md";
    /// A comparison of which nothing is proven: its margin is wider than the interval of what is compared.
    MARGIN = 42, "decision is not proven", "e0042.md";
}
