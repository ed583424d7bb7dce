//! The rows: a function, the family that computes it, and the ranges of its operands.

use Family::{Dealer, Public, Symmetric, Words};
use slvr_circuit::Op;
use slvr_compiler::analysis::stated::{self, Stated, StatedErrors};
use slvr_compiler::cost::Tuning;
use slvr_compiler::graph::domain;
use slvr_compiler::lower::{self, Target};
use slvr_compiler::pipeline::{Fine, Options};
use slvr_tests::Case;

/// 2^-16.
const ULP: f64 = 1.0 / 65536.0;

/// Who computes it.
#[derive(Clone, Copy, PartialEq)]
pub enum Family {
    /// T1.
    Symmetric,
    /// T1 on words of 64 bits.
    Words,
    /// T2, on a network where bytes are free.
    Dealer,
    /// Everybody alone, of public operands.
    Public,
}

/// What an error is held against.
#[derive(Clone, Copy)]
pub enum Bound {
    /// What a family states of its function.
    Stated(fn(&StatedErrors) -> Stated),
    /// What is proven of the value of a program.
    Proven,
}

/// How a program has its operands.
#[derive(Clone, Copy, PartialEq)]
pub enum Shape {
    /// In one vector `s`, or in two, `t` and `s`.
    Vectors,
    /// In rows of two, `s`, or `t` and `s`.
    Pairs,
}

/// A row of the table.
pub struct Row {
    pub name: &'static str,
    /// What is revealed.
    pub expression: &'static str,
    /// The operation of the graph that is measured.
    pub op: &'static str,
    pub family: Family,
    pub shape: Shape,
    /// Declared ranges, in reals; the last is that of the operand with a core.
    pub declared: &'static [(f64, f64)],
    /// Where the function does something, of the last operand.
    pub core: (f64, f64),
    /// Where it does something else than before: operands beside these come first.
    pub edges: &'static [f64],
    /// Of operands, the value of an entry.
    pub exact: fn(&[f64], usize) -> f64,
    pub bound: Bound,
    /// Whether operands have more than 16 fraction bits, as short vectors have by default.
    pub fine: bool,
}

/// The range of which words of 64 bits hold everything.
const WIDE: (f64, f64) = (-2e9, 2e9);
/// As many numbers as 24 bits have.
const BITS_24: (f64, f64) = (-128.0, 128.0 - ULP);

/// Where e^x is cut.
const EXP_ENDS: [f64; 3] = [domain::EXP_LOW, 0.0, domain::EXP_TOP as f64 * std::f64::consts::LN_2];

/// Where the position of the top bit changes, and with it the tables of a function: 0, and 2^-16 to 2^30.
const POWERS: [f64; 95] = {
    let mut all = [0.0; 95];
    let (mut i, mut power) = (1, ULP);
    while i < 95 {
        all[i] = power;
        all[i + 1] = -power;
        power *= 2.0;
        i += 2;
    }
    all
};

impl Row {
    /// Raw numbers beside its edges, in the declared range.
    pub fn beside_edges(&self, unit: f64) -> Vec<i64> {
        let (lo, hi) = *self.ranges(unit).last().expect("an operand");
        let near = self.edges.iter().flat_map(|x| {
            let at = (x / unit).floor() as i64;
            at - 1..=at + 2
        });
        near.filter(|x| (lo..=hi).contains(x)).collect()
    }

    /// How it is computed, for people.
    pub fn how(&self) -> &'static str {
        match self.family {
            Family::Symmetric => "T1",
            Family::Words => "T1, 64 bits",
            Family::Dealer => "T2",
            Family::Public => "public",
        }
    }

    /// Its declared ranges, for people.
    pub fn operand(&self) -> String {
        let all: Vec<String> = self.declared.iter().map(|(lo, hi)| format!("{lo}..{hi}")).collect();
        all.join(" and ") + if self.fine { ", fine" } else { "" }
    }

    /// Declared ranges as raw numbers, of operands in such units.
    pub fn ranges(&self, unit: f64) -> Vec<(i64, i64)> {
        let raw = |x: f64| x / unit;
        let all = self.declared.iter();
        let each = if self.shape == Shape::Pairs { 2 } else { 1 };
        let range = |&(lo, hi): &(f64, f64)| (raw(lo).ceil() as i64, raw(hi).floor() as i64);
        all.flat_map(|x| std::iter::repeat_n(range(x), each)).collect()
    }

    /// The core as the first raw number and how many there are.
    pub fn core(&self, unit: f64) -> (i64, u64) {
        let (lo, hi) = *self.declared.last().expect("an operand");
        let from = (self.core.0.max(lo) / unit).ceil() as i64;
        let to = (self.core.1.min(hi) / unit).floor() as i64;
        (from, (to - from) as u64 + 1)
    }

    /// Its program.
    pub fn text(&self) -> String {
        let kind = if self.family == Family::Public { "public" } else { "secret" };
        let from = if self.family == Family::Public { "" } else { " from Client" };
        let shape = if self.shape == Shape::Pairs { "n, 2" } else { "n" };
        let names: &[&str] = if self.declared.len() == 2 { &["t", "s"] } else { &["s"] };
        let inputs: Vec<String> = names
            .iter()
            .zip(self.declared)
            .map(|(name, (lo, hi))| {
                format!("    input {name}: {kind} fix[{shape}] in {lo}..{hi}{from};\n")
            })
            .collect();
        let names = [
            "abs", "cosine", "exp", "log", "max", "norm", "recip", "sigmoid", "softmax", "sqrt",
            "tanh", "variance",
        ];
        let used: Vec<&str> = names
            .into_iter()
            .filter(|name| self.expression.contains(&format!("{name}(")))
            .collect();
        let import = match &used[..] {
            [] => String::new(),
            some => format!("use std::{{{}}};\n", some.join(", ")),
        };
        format!(
            "{import}predicate F[n]() {{\n    parties Client;\n    parties Server;\n{}    reveal {} to Server as y;\n}}\n",
            inputs.concat(),
            self.expression
        )
    }

    /// The operand that an input holds.
    pub fn columns(&self, input: &str) -> std::ops::Range<usize> {
        match (self.shape, self.declared.len(), input) {
            (Shape::Pairs, 2, "s") => 2..4,
            (Shape::Pairs, ..) => 0..2,
            (Shape::Vectors, 2, "s") => 1..2,
            (Shape::Vectors, ..) => 0..1,
        }
    }

    /// Operands of a batch: their tensors should stay in a processor's caches. In family T2 each has tables. Of long
    /// vectors functions take 16 fraction bits.
    pub fn batch(&self) -> u64 {
        match self.family {
            Family::Dealer => 1 << 6,
            _ if self.fine => 1 << 7,
            Family::Symmetric | Family::Words | Family::Public => 1 << 13,
        }
    }

    /// How it is compiled.
    pub fn options(&self) -> Options {
        let fine = if self.fine { Fine::Short } else { Fine::Nothing };
        let all = Options { enforce: false, fine, ..Options::default() };
        let t1 = Options { target: Target::SemiHonest(lower::Family::T1), ..all };
        match self.family {
            Family::Symmetric | Family::Public => t1,
            Family::Words => Options { ring: Some(64), ..t1 },
            Family::Dealer => {
                let tuning = Tuning { latency: 0.01, bandwidth: 1e12 };
                Options { target: Target::SemiHonest(lower::Family::T2(tuning)), ..all }
            }
        }
    }

    /// Panics unless its family computes it.
    pub fn is_of_its_family(&self, case: &Case) {
        let layers = case.circuit().layers.iter();
        let ops = || layers.clone().flat_map(|layer| layer.exchange.iter().map(|i| &i.op));
        let symmetric = ops().any(|op| matches!(op, Op::Reshare(_) | Op::ReshareTwo(_)));
        let dealer = ops().any(|op| matches!(op, Op::OpenMasked { .. }));
        let whole = matches!(self.bound, Bound::Proven);
        let fits = match self.family {
            Family::Symmetric | Family::Words => symmetric && !dealer,
            // A part of a program may take less time by the other family.
            Family::Dealer => dealer && (whole || !symmetric),
            Family::Public => !symmetric && !dealer,
        };
        assert!(fits, "{} of {}: T1 is {symmetric}, T2 {dealer}", self.name, self.how());
    }
}

/// A function whose error its family states, and how it is computed.
struct Function {
    name: &'static str,
    op: &'static str,
    expression: &'static str,
    core: (f64, f64),
    edges: &'static [f64],
    exact: fn(&[f64], usize) -> f64,
    stated: fn(&StatedErrors) -> Stated,
    /// Families, with the declared ranges of each.
    ways: &'static [(Family, &'static [(f64, f64)])],
}

impl Function {
    fn rows(&self) -> impl Iterator<Item = Row> {
        let &Function { name, op, expression, core, edges, exact, stated, ways } = self;
        let bound = Bound::Stated(stated);
        let base = move |&(family, declared)| Row {
            name,
            op,
            expression,
            core,
            edges,
            exact,
            bound,
            family,
            declared,
            ..WHOLE
        };
        ways.iter().map(base)
    }
}

fn exp(x: &[f64], _: usize) -> f64 {
    domain::exp(x[0])
}

fn recip(x: &[f64], _: usize) -> f64 {
    domain::recip(x[0])
}

fn sqrt(x: &[f64], _: usize) -> f64 {
    domain::sqrt(x[0])
}

fn div(x: &[f64], _: usize) -> f64 {
    domain::div(x[0], x[1])
}

/// e^(x - the larger of both), of a pair.
fn below_the_largest(x: &[f64], i: usize) -> f64 {
    domain::exp(x[i] - x[0].max(x[1]))
}

fn softmax(x: &[f64], i: usize) -> f64 {
    below_the_largest(x, i) / (below_the_largest(x, 0) + below_the_largest(x, 1))
}

fn sigmoid(x: &[f64], _: usize) -> f64 {
    1.0 / (1.0 + domain::exp(-x[0]))
}

fn inverse_root(x: &[f64], _: usize) -> f64 {
    1.0 / x[0].sqrt()
}

fn by_root(x: &[f64], _: usize) -> f64 {
    x[0] / x[1].sqrt()
}

fn cosine(x: &[f64], _: usize) -> f64 {
    let sizes = x[0].hypot(x[1]) * x[2].hypot(x[3]);
    if sizes == 0.0 { 0.0 } else { (x[0] * x[2] + x[1] * x[3]) / sizes }
}

const FUNCTIONS: &[Function] = &[
    Function {
        name: "exp",
        op: "exp",
        expression: "exp(s)",
        core: (-14.0, 21.0),
        edges: &EXP_ENDS,
        exact: exp,
        stated: |s| s.of(stated::Function::Exp),
        ways: &[(Words, &[WIDE]), (Symmetric, &[(-8.0, 8.0)]), (Public, &[WIDE])],
    },
    Function {
        name: "recip",
        op: "recip",
        expression: "recip(s)",
        core: BITS_24,
        edges: &POWERS,
        exact: recip,
        stated: |s| s.of(stated::Function::Recip),
        ways: &[
            (Words, &[WIDE]),
            (Symmetric, &[(-4.0, 4.0)]),
            (Symmetric, &[(1.0, 1e6)]),
            (Symmetric, &[(-0.5, -0.0001)]),
            (Dealer, &[(1.0, 16.0)]),
            (Dealer, &[(0.1, 20.0)]),
            (Dealer, &[(8.0, 64.0)]),
            (Dealer, &[WIDE]),
            (Dealer, &[(-4.0, 4.0)]),
            (Dealer, &[(-3.0, -2.5)]),
            (Public, &[WIDE]),
        ],
    },
    Function {
        name: "sqrt",
        op: "sqrt",
        expression: "sqrt(s)",
        core: (-1.0, 256.0 - 2.0),
        edges: &POWERS,
        exact: sqrt,
        stated: |s| s.of(stated::Function::Sqrt),
        ways: &[
            (Words, &[WIDE]),
            (Symmetric, &[(0.0, 1.0)]),
            (Symmetric, &[(0.0, 1e6)]),
            (Dealer, &[WIDE]),
            (Dealer, &[(0.0, 1.0)]),
            (Dealer, &[(1.0, 1.5)]),
            (Public, &[WIDE]),
        ],
    },
    Function {
        name: "1 / sqrt",
        op: "recip_sqrt",
        expression: "recip(sqrt(s))",
        core: (0.0, 256.0 - 2.0),
        edges: &POWERS,
        exact: |x, _| domain::recip_sqrt(x[0]),
        stated: |s| s.of(stated::Function::RecipSqrt),
        ways: &[
            (Words, &[(0.25, 2e9)]),
            (Symmetric, &[(0.001, 1.0)]),
            (Symmetric, &[(0.25, 1e6)]),
            (Symmetric, &[(0.0001, 1000.0)]),
            (Dealer, &[(0.25, 2e9)]),
            (Public, &[(0.25, 2e9)]),
        ],
    },
    Function {
        name: "log",
        op: "log",
        expression: "log(s)",
        core: (-1.0, 256.0 - 2.0),
        edges: &POWERS,
        exact: |x, _| domain::log(x[0]),
        stated: |s| s.of(stated::Function::Log),
        ways: &[
            (Words, &[WIDE]),
            (Symmetric, &[(0.0, 1.0)]),
            (Symmetric, &[(0.001, 1000.0)]),
            (Dealer, &[WIDE]),
            (Dealer, &[(0.001, 1000.0)]),
            (Public, &[WIDE]),
        ],
    },
    Function {
        name: "tanh",
        op: "tanh",
        expression: "tanh(s)",
        core: (-9.0, 9.0),
        edges: &[-8.0, 0.0, 8.0],
        exact: |x, _| x[0].tanh(),
        stated: |s| s.of(stated::Function::Tanh),
        ways: &[
            (Words, &[WIDE]),
            (Symmetric, &[(-7.9, 7.9)]),
            (Dealer, &[(-8.0, 8.0)]),
            (Dealer, &[(-16.0, 16.0)]),
            (Dealer, &[(0.0, 3.0)]),
            (Public, &[WIDE]),
        ],
    },
    Function {
        name: "div",
        op: "div",
        expression: "t / s",
        core: BITS_24,
        edges: &POWERS,
        exact: div,
        stated: |s| s.div,
        ways: &[
            (Words, &[WIDE, WIDE]),
            (Symmetric, &[(-100.0, 100.0), (0.0, 100.0)]),
            (Symmetric, &[(1.0, 1e6), (1.0, 1e6)]),
            (Symmetric, &[(0.0, 1.0), (1.0, 16.0)]),
            (Symmetric, &[(-40000.0, 40000.0), (0.0, 0.001)]),
            (Symmetric, &[(-8.0, 8.0), (-1000.0, -3.0)]),
            (Dealer, &[WIDE, WIDE]),
            (Dealer, &[(-100.0, 100.0), (0.0, 100.0)]),
            (Dealer, &[(-40000.0, 40000.0), (0.0, 0.001)]),
            (Dealer, &[(-8.0, 8.0), (-1000.0, -3.0)]),
            (Public, &[WIDE, WIDE]),
        ],
    },
];

const EXP_BELOW: Row = Row {
    name: "exp of x - max x",
    op: "exp_non_positive",
    expression: "[exp(s[i] - max(s[i])) for i in n]",
    shape: Shape::Pairs,
    core: (-14.0, 0.0),
    edges: &EXP_ENDS,
    exact: below_the_largest,
    bound: Bound::Stated(|s| s.of(stated::Function::ExpNonPositive)),
    ..WHOLE
};

const SOFTMAX: Row = Row {
    name: "softmax",
    expression: "[softmax(s[i]) for i in n]",
    exact: softmax,
    bound: Bound::Proven,
    ..EXP_BELOW
};

/// What is made of several functions, against what is proven of the whole.
const WHOLE: Row = Row {
    name: "",
    expression: "",
    op: "",
    family: Symmetric,
    shape: Shape::Vectors,
    declared: &[],
    core: (-40.0, 214.0),
    edges: &POWERS,
    exact: exp,
    bound: Bound::Proven,
    fine: false,
};

const SIGMOID: Row = Row {
    name: "sigmoid",
    op: "exp",
    expression: "[sigmoid(s[i]) for i in n]",
    exact: sigmoid,
    ..WHOLE
};

const ROOT: Row = Row { op: "sqrt", declared: &[(0.25, 1000.0)], exact: inverse_root, ..WHOLE };
const BY_ROOT: Row = Row { declared: &[(-8.0, 8.0), (0.25, 100.0)], exact: by_root, ..ROOT };

pub fn rows() -> Vec<Row> {
    let mut all: Vec<Row> = FUNCTIONS.iter().flat_map(Function::rows).collect();
    for (family, declared) in [
        (Symmetric, &[(-6.0, 6.0)]),
        (Symmetric, &[(-30000.0, 30000.0)]),
        (Dealer, &[(-6.0, 6.0)]),
        (Dealer, &[(-30000.0, 30000.0)]),
    ] {
        all.push(Row { family, declared, ..EXP_BELOW });
        all.push(Row { family, declared, ..SOFTMAX });
    }
    all.extend([
        Row { declared: &[(-40.0, 40.0)], ..SIGMOID },
        Row { declared: &[(-4.0, 4.0)], ..SIGMOID },
        Row { family: Public, declared: &[(-40.0, 40.0)], ..SIGMOID },
        Row { name: "1 / sqrt", expression: "1 / sqrt(s)", ..ROOT },
        Row { name: "recip(sqrt)", op: "recip_sqrt", expression: "recip(sqrt(s))", ..ROOT },
        Row { name: "x / sqrt y", expression: "t / sqrt(s)", ..BY_ROOT },
        Row {
            name: "x recip(sqrt y)",
            op: "recip_sqrt",
            expression: "t * recip(sqrt(s))",
            ..BY_ROOT
        },
    ]);
    all.extend(fine());
    all
}

/// Functions of operands with 17 to 26 fraction bits: what keeps them, and what takes 16 of them.
const FINE_FUNCTIONS: &[Function] = &[
    Function {
        name: "sqrt",
        op: "sqrt",
        expression: "sqrt(s)",
        core: (-1.0, 1.0),
        edges: &POWERS,
        exact: sqrt,
        stated: |s| s.of(stated::Function::Sqrt),
        ways: &[
            (Symmetric, &[(0.0, 1.0)]),
            (Symmetric, &[(-1.0, 8.0)]),
            (Symmetric, &[(0.0, 100.0)]),
            (Symmetric, &[(0.0, 1000.0)]),
        ],
    },
    Function {
        name: "1 / sqrt",
        op: "recip_sqrt",
        expression: "recip(sqrt(s))",
        core: (-1.0, 1.0),
        edges: &POWERS,
        exact: |x, _| domain::recip_sqrt(x[0]),
        stated: |s| s.of(stated::Function::RecipSqrt),
        ways: &[
            (Symmetric, &[(0.001, 1.0)]),
            (Symmetric, &[(0.01, 8.0)]),
            (Symmetric, &[(0.25, 1000.0)]),
        ],
    },
    // Up to 18 bits there is a protocol of its own.
    Function {
        name: "recip",
        op: "recip",
        expression: "recip(s)",
        core: (-1.0, 1.0),
        edges: &POWERS,
        exact: recip,
        stated: |s| s.of(stated::Function::Recip),
        ways: &[(Symmetric, &[(-400.0, 400.0)]), (Symmetric, &[(1.0, 1000.0)])],
    },
    Function {
        name: "recip",
        op: "div",
        expression: "recip(s)",
        core: (-1.0, 1.0),
        edges: &POWERS,
        exact: recip,
        stated: |s| s.div,
        ways: &[
            (Symmetric, &[(0.01, 1.0)]),
            (Symmetric, &[(-8.0, 8.0)]),
            (Symmetric, &[(1.0, 100.0)]),
        ],
    },
    Function {
        name: "div",
        op: "div",
        expression: "t / s",
        core: (-1.0, 1.0),
        edges: &POWERS,
        exact: div,
        stated: |s| s.div,
        ways: &[
            (Symmetric, &[(-8.0, 8.0), (0.0, 1.0)]),
            (Symmetric, &[(0.0, 1.0), (1.0, 8.0)]),
            (Symmetric, &[(-100.0, 100.0), (-100.0, 100.0)]),
            (Symmetric, &[(1.0, 1000.0), (1.0, 1000.0)]),
        ],
    },
];

/// The same of several functions.
const FINE: Row = Row { core: (-4.0, 4.0), declared: &[(-8.0, 8.0)], ..WHOLE };

const NORM: Row = Row {
    name: "norm",
    op: "sqrt",
    expression: "[norm(s[i]) for i in n]",
    shape: Shape::Pairs,
    exact: |x, _| x[0].hypot(x[1]),
    ..FINE
};

const DEVIATION: Row = Row {
    name: "std",
    expression: "[sqrt(variance(s[i])) for i in n]",
    exact: |x, _| (x[0] - x[1]).abs() / 2.0,
    ..NORM
};

fn fine() -> impl Iterator<Item = Row> {
    let several = [
        NORM,
        Row { family: Dealer, ..NORM },
        DEVIATION,
        Row {
            name: "x exp -|x|",
            op: "exp",
            expression: "s * exp(-abs(s))",
            exact: |x, _| x[0] * domain::exp(-x[0].abs()),
            ..FINE
        },
        Row {
            name: "x tanh x",
            op: "tanh",
            expression: "s * tanh(s)",
            exact: |x, _| x[0] * x[0].tanh(),
            ..FINE
        },
        Row {
            name: "x sigmoid x",
            op: "exp",
            expression: "[s[i] * sigmoid(s[i]) for i in n]",
            exact: |x, _| x[0] / (1.0 + domain::exp(-x[0])),
            ..FINE
        },
        Row { declared: &[(-100.0, 100.0)], ..NORM },
        Row { family: Dealer, declared: &[(-100.0, 100.0)], ..NORM },
        Row { declared: &[(-100.0, 100.0)], ..DEVIATION },
        Row {
            name: "x log x",
            op: "log",
            expression: "s * log(s)",
            declared: &[(0.01, 8.0)],
            exact: |x, _| x[0] * domain::log(x[0]),
            ..FINE
        },
        Row {
            name: "cosine",
            op: "sqrt",
            expression: "[cosine(t[i], s[i]) for i in n]",
            shape: Shape::Pairs,
            declared: &[(-1.0, 1.0), (0.25, 1.0)],
            exact: cosine,
            ..FINE
        },
    ];
    let functions = FINE_FUNCTIONS.iter().flat_map(Function::rows);
    functions.chain(several).map(|row| Row { fine: true, ..row })
}
