//! The rows: a function, the family that computes it, and the ranges of its operands.

use slvr_circuit::Op;
use slvr_compiler::analysis::stated::{Function, Stated, StatedErrors};
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

/// One function of one operand, stated.
fn one(
    (name, op): (&'static str, &'static str),
    expression: &'static str,
    (core, edges): ((f64, f64), &'static [f64]),
    exact: fn(&[f64], usize) -> f64,
    of: fn(&StatedErrors) -> Stated,
    ways: &[(Family, &'static [(f64, f64)])],
) -> Vec<Row> {
    let row = |&(family, declared): &(Family, &'static [(f64, f64)])| Row {
        name,
        expression,
        op,
        family,
        shape: Shape::Vectors,
        declared,
        core,
        edges,
        exact,
        bound: Bound::Stated(of),
        fine: false,
    };
    ways.iter().map(row).collect()
}

/// e^(x - the larger of both), of a pair.
fn below_the_largest(x: &[f64], i: usize) -> f64 {
    domain::exp(x[i] - x[0].max(x[1]))
}

fn softmax(x: &[f64], i: usize) -> f64 {
    below_the_largest(x, i) / (below_the_largest(x, 0) + below_the_largest(x, 1))
}

pub fn rows() -> Vec<Row> {
    use Family::{Dealer, Public, Symmetric, Words};
    let mut all = Vec::new();
    let exp = |x: &[f64], _| domain::exp(x[0]);
    all.extend(one(
        ("exp", "exp"),
        "exp(s)",
        ((-14.0, 21.0), &EXP_ENDS[..]),
        exp,
        |s| s.of(Function::Exp),
        &[(Words, &[WIDE]), (Symmetric, &[(-8.0, 8.0)]), (Public, &[WIDE])],
    ));
    let recip = |x: &[f64], _| domain::recip(x[0]);
    all.extend(one(
        ("recip", "recip"),
        "recip(s)",
        (BITS_24, &POWERS[..]),
        recip,
        |s| s.of(Function::Recip),
        &[
            (Words, &[WIDE]),
            (Symmetric, &[(-4.0, 4.0)]),
            (Symmetric, &[(1.0, 1e6)]),
            (Symmetric, &[(-0.5, -0.0001)]),
            (Dealer, &[(1.0, 16.0)]),
            (Dealer, &[(0.1, 20.0)]),
            (Dealer, &[(8.0, 64.0)]),
            (Public, &[WIDE]),
        ],
    ));
    let sqrt = |x: &[f64], _| domain::sqrt(x[0]);
    all.extend(one(
        ("sqrt", "sqrt"),
        "sqrt(s)",
        ((-1.0, 256.0 - 2.0), &POWERS[..]),
        sqrt,
        |s| s.of(Function::Sqrt),
        &[
            (Words, &[WIDE]),
            (Symmetric, &[(0.0, 1.0)]),
            (Symmetric, &[(0.0, 1e6)]),
            (Public, &[WIDE]),
        ],
    ));
    let log = |x: &[f64], _| domain::log(x[0]);
    all.extend(one(
        ("log", "log"),
        "log(s)",
        ((-1.0, 256.0 - 2.0), &POWERS[..]),
        log,
        |s| s.of(Function::Log),
        &[
            (Words, &[WIDE]),
            (Symmetric, &[(0.0, 1.0)]),
            (Symmetric, &[(0.001, 1000.0)]),
            (Public, &[WIDE]),
        ],
    ));
    let tanh = |x: &[f64], _| x[0].tanh();
    all.extend(one(
        ("tanh", "tanh"),
        "tanh(s)",
        ((-9.0, 9.0), &[-8.0, 0.0, 8.0][..]),
        tanh,
        |s| s.of(Function::Tanh),
        &[
            (Words, &[WIDE]),
            (Symmetric, &[(-7.9, 7.9)]),
            (Dealer, &[(-8.0, 8.0)]),
            (Dealer, &[(-16.0, 16.0)]),
            (Dealer, &[(0.0, 3.0)]),
            (Public, &[WIDE]),
        ],
    ));
    let div = |x: &[f64], _| domain::div(x[0], x[1]);
    all.extend(one(
        ("div", "div"),
        "t / s",
        (BITS_24, &POWERS[..]),
        div,
        |s| s.div,
        &[
            (Words, &[WIDE, WIDE]),
            (Symmetric, &[(-100.0, 100.0), (0.0, 100.0)]),
            (Symmetric, &[(1.0, 1e6), (1.0, 1e6)]),
            (Symmetric, &[(0.0, 1.0), (1.0, 16.0)]),
            (Symmetric, &[(-40000.0, 40000.0), (0.0, 0.001)]),
            (Symmetric, &[(-8.0, 8.0), (-1000.0, -3.0)]),
            (Public, &[WIDE, WIDE]),
        ],
    ));
    let pairs = |name, op, expression, family, declared, exact, bound| Row {
        name,
        op,
        expression,
        family,
        shape: Shape::Pairs,
        declared,
        core: (-14.0, 0.0),
        edges: &EXP_ENDS,
        exact,
        bound,
        fine: false,
    };
    for (family, declared) in [
        (Symmetric, &[(-6.0, 6.0)][..]),
        (Symmetric, &[(-30000.0, 30000.0)]),
        (Dealer, &[(-6.0, 6.0)]),
        (Dealer, &[(-30000.0, 30000.0)]),
    ] {
        let exp = "[exp(s[i] - max(s[i])) for i in n]";
        let stated = Bound::Stated(|s| s.of(Function::ExpNonPositive));
        let (name, op) = ("exp of x - max x", "exp_non_positive");
        all.push(pairs(name, op, exp, family, declared, below_the_largest, stated));
        let text = "[softmax(s[i]) for i in n]";
        all.push(pairs("softmax", op, text, family, declared, softmax, Bound::Proven));
    }
    // What is made of several functions, against what is proven of the whole.
    let sigmoid = |x: &[f64], _: usize| 1.0 / (1.0 + domain::exp(-x[0]));
    let inverse_root = |x: &[f64], _: usize| 1.0 / x[0].sqrt();
    let by_root = |x: &[f64], _: usize| x[0] / x[1].sqrt();
    const SIGMOID: &str = "[sigmoid(s[i]) for i in n]";
    const ROOT: &[(f64, f64)] = &[(0.25, 1000.0)];
    const BY_ROOT: &[(f64, f64)] = &[(-8.0, 8.0), (0.25, 100.0)];
    let mut whole = |(name, op, expression), family, declared, exact| {
        all.push(Row {
            name,
            expression,
            op,
            family,
            shape: Shape::Vectors,
            declared,
            core: (-40.0, 214.0),
            edges: &POWERS,
            exact,
            bound: Bound::Proven,
            fine: false,
        });
    };
    whole(("sigmoid", "exp", SIGMOID), Symmetric, &[(-40.0, 40.0)], sigmoid);
    whole(("sigmoid", "exp", SIGMOID), Symmetric, &[(-4.0, 4.0)], sigmoid);
    whole(("sigmoid", "exp", SIGMOID), Public, &[(-40.0, 40.0)], sigmoid);
    whole(("1 / sqrt", "sqrt", "1 / sqrt(s)"), Symmetric, ROOT, inverse_root);
    whole(("recip(sqrt)", "sqrt", "recip(sqrt(s))"), Symmetric, ROOT, inverse_root);
    whole(("x / sqrt y", "sqrt", "t / sqrt(s)"), Symmetric, BY_ROOT, by_root);
    whole(("x recip(sqrt y)", "sqrt", "t * recip(sqrt(s))"), Symmetric, BY_ROOT, by_root);
    all.extend(fine());
    all
}

/// Of operands with 17 to 24 fraction bits: what keeps them, and what takes 16 of them.
fn fine() -> Vec<Row> {
    use Family::{Dealer, Symmetric};
    const BELOW: (f64, f64) = (-1.0, 1.0);
    let (sqrt, recip) = (|x: &[f64], _| domain::sqrt(x[0]), |x: &[f64], _| domain::recip(x[0]));
    let div = |x: &[f64], _| domain::div(x[0], x[1]);
    let mut all = one(
        ("sqrt", "sqrt"),
        "sqrt(s)",
        ((-1.0, 1.0), &POWERS[..]),
        sqrt,
        |s| s.of(Function::Sqrt),
        &[
            (Symmetric, &[(0.0, 1.0)]),
            (Symmetric, &[(-1.0, 8.0)]),
            (Symmetric, &[(0.0, 100.0)]),
            (Symmetric, &[(0.0, 1000.0)]),
        ],
    );
    // Up to 18 bits there is a protocol of its own.
    all.extend(one(
        ("recip", "recip"),
        "recip(s)",
        (BELOW, &POWERS[..]),
        recip,
        |s| s.of(Function::Recip),
        &[(Symmetric, &[(-400.0, 400.0)]), (Symmetric, &[(1.0, 1000.0)])],
    ));
    all.extend(one(
        ("recip", "div"),
        "recip(s)",
        (BELOW, &POWERS[..]),
        recip,
        |s| s.div,
        &[(Symmetric, &[(0.01, 1.0)]), (Symmetric, &[(-8.0, 8.0)]), (Symmetric, &[(1.0, 100.0)])],
    ));
    all.extend(one(
        ("div", "div"),
        "t / s",
        (BELOW, &POWERS[..]),
        div,
        |s| s.div,
        &[
            (Symmetric, &[(-8.0, 8.0), (0.0, 1.0)]),
            (Symmetric, &[(0.0, 1.0), (1.0, 8.0)]),
            (Symmetric, &[(-100.0, 100.0), (-100.0, 100.0)]),
            (Symmetric, &[(1.0, 1000.0), (1.0, 1000.0)]),
        ],
    ));
    let whole = |(name, op, expression), shape, family, declared, exact| Row {
        name,
        expression,
        op,
        family,
        shape,
        declared,
        core: (-4.0, 4.0),
        edges: &POWERS,
        exact,
        bound: Bound::Proven,
        fine: true,
    };
    let log: fn(&[f64], usize) -> f64 = |x, _| x[0] * domain::log(x[0]);
    let exp: fn(&[f64], usize) -> f64 = |x, _| x[0] * domain::exp(-x[0].abs());
    let tanh: fn(&[f64], usize) -> f64 = |x, _| x[0] * x[0].tanh();
    let sigmoid: fn(&[f64], usize) -> f64 = |x, _| x[0] / (1.0 + domain::exp(-x[0]));
    let norm: fn(&[f64], usize) -> f64 = |x, _| x[0].hypot(x[1]);
    let deviation: fn(&[f64], usize) -> f64 = |x, _| (x[0] - x[1]).abs() / 2.0;
    let cosine: fn(&[f64], usize) -> f64 = |x, _| {
        let sizes = x[0].hypot(x[1]) * x[2].hypot(x[3]);
        if sizes == 0.0 { 0.0 } else { (x[0] * x[2] + x[1] * x[3]) / sizes }
    };
    for declared in [&[(-8.0, 8.0)][..], &[(-100.0, 100.0)]] {
        let wide = declared[0].1 > 8.0;
        for family in [Symmetric, Dealer] {
            let text = "[norm(s[i]) for i in n]";
            all.push(whole(("norm", "sqrt", text), Shape::Pairs, family, declared, norm));
        }
        let text = "[sqrt(variance(s[i])) for i in n]";
        all.push(whole(("std", "sqrt", text), Shape::Pairs, Symmetric, declared, deviation));
        if !wide {
            let exps = ("x exp -|x|", "exp", "s * exp(-abs(s))");
            all.push(whole(exps, Shape::Vectors, Symmetric, declared, exp));
            let tanhs = ("x tanh x", "tanh", "s * tanh(s)");
            all.push(whole(tanhs, Shape::Vectors, Symmetric, declared, tanh));
            let text = "[s[i] * sigmoid(s[i]) for i in n]";
            all.push(whole(
                ("x sigmoid x", "exp", text),
                Shape::Vectors,
                Symmetric,
                declared,
                sigmoid,
            ));
        }
    }
    let logs = ("x log x", "log", "s * log(s)");
    all.push(whole(logs, Shape::Vectors, Symmetric, &[(0.01, 8.0)], log));
    let text = "[cosine(t[i], s[i]) for i in n]";
    let ranges = &[(-1.0, 1.0), (0.25, 1.0)];
    all.push(whole(("cosine", "sqrt", text), Shape::Pairs, Symmetric, ranges, cosine));
    all.into_iter().map(|row| Row { fine: true, ..row }).collect()
}
