//! Integers are exact: constants of up to 2^40, products, sums, choices, comparisons, equality and indices, in programs
//! from a generator that computes every value itself, in integers of 128 bits. The program in floating point, graph and
//! circuit in the families T1 and T2 have these values, what is proven of an integer is no error at all, and every
//! decision is certified.
//!
//! `SLVR_COUNT=100000 cargo test --release -p slvr-tests --test numbers integers -- --nocapture` is the long run. It
//! begins at the program of number `SLVR_SEED`; a failing test prints the number of its program.

use slvr_compiler::analysis::errors::{encoded_errors, errors};
use slvr_compiler::lower::{Family, Target};
use slvr_compiler::pipeline::Options;
use slvr_compiler::report::given::OnInputs;
use slvr_runtime::share::encode::{Inputs, RawData, RawTensor};
use slvr_tests::long::{self, choices, setting, shrunk};
use slvr_tests::{committees, compile_with, graph_inputs};
use std::collections::BTreeMap;

const CLIENTS: usize = 3;
/// Values that are revealed are below this: floating point holds them.
const HELD: i128 = 1 << 52;
/// Entries of what is indexed by products with large literals.
const LONG: i64 = 140_010;

/// What a case gives.
struct Given {
    n: [i64; CLIENTS],
    k: [i64; CLIENTS],
    q: i64,
    p: i64,
}

/// An integer expression of client i.
#[derive(Clone, Debug)]
enum E {
    N,
    K,
    Q,
    P,
    Literal(i64),
    Neg(Box<E>),
    Add(Box<E>, Box<E>),
    Sub(Box<E>, Box<E>),
    Mul(Box<E>, Box<E>),
    Max(Box<E>, Box<E>),
    Min(Box<E>, Box<E>),
    Abs(Box<E>),
    /// The sum over all clients.
    Sum(Box<E>),
    /// The largest of all clients.
    Largest(Box<E>),
    /// As a number.
    Bit(&'static str, Box<E>, Box<E>),
    Select(&'static str, [Box<E>; 4]),
    /// Entry p c + e of a long vector.
    Entry(i64, i64),
}

/// The entry of the long vector.
fn entry(i: i64) -> i64 {
    (i * 48_271) % 1_000_003
}

fn holds(op: &str, a: i128, b: i128) -> bool {
    match op {
        "==" => a == b,
        "!=" => a != b,
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        _ => a >= b,
    }
}

impl E {
    fn value(&self, of: &Given, i: usize) -> i128 {
        let v = |e: &E| e.value(of, i);
        let all = |e: &E| (0..CLIENTS).map(|j| e.value(of, j)).collect::<Vec<_>>();
        match self {
            E::N => of.n[i].into(),
            E::K => of.k[i].into(),
            E::Q => of.q.into(),
            E::P => of.p.into(),
            E::Literal(c) => (*c).into(),
            E::Neg(a) => -v(a),
            E::Add(a, b) => v(a) + v(b),
            E::Sub(a, b) => v(a) - v(b),
            E::Mul(a, b) => v(a) * v(b),
            E::Max(a, b) => v(a).max(v(b)),
            E::Min(a, b) => v(a).min(v(b)),
            E::Abs(a) => v(a).abs(),
            E::Sum(a) => all(a).into_iter().sum(),
            E::Largest(a) => all(a).into_iter().max().unwrap_or(0),
            E::Bit(op, a, b) => holds(op, v(a), v(b)).into(),
            E::Select(op, [a, b, x, y]) => {
                if holds(op, v(a), v(b)) {
                    v(x)
                } else {
                    v(y)
                }
            }
            E::Entry(c, e) => entry(of.p * c + e).into(),
        }
    }

    fn text(&self, i: &str) -> String {
        let t = |e: &E| e.text(i);
        match self {
            E::N => format!("n[{i}]"),
            E::K => format!("k[{i}]"),
            E::Q => "q".into(),
            E::P => "p".into(),
            E::Literal(c) if *c < 0 => format!("(-{})", c.unsigned_abs()),
            E::Literal(c) => c.to_string(),
            E::Neg(a) => format!("(-{})", t(a)),
            E::Add(a, b) => format!("({} + {})", t(a), t(b)),
            E::Sub(a, b) => format!("({} - {})", t(a), t(b)),
            E::Mul(a, b) => format!("({} * {})", t(a), t(b)),
            E::Max(a, b) => format!("max([{}, {}])", t(a), t(b)),
            E::Min(a, b) => format!("min([{}, {}])", t(a), t(b)),
            E::Abs(a) => {
                let x = t(a);
                format!("select({x} < 0, -{x}, {x})")
            }
            E::Sum(a) => format!("sum([{} for {i}s in Client])", a.text(&format!("{i}s"))),
            E::Largest(a) => format!("max([{} for {i}s in Client])", a.text(&format!("{i}s"))),
            E::Bit(op, a, b) => format!("select({} {op} {}, 1, 0)", t(a), t(b)),
            E::Select(op, [a, b, x, y]) => {
                format!("select({} {op} {}, {}, {})", t(a), t(b), t(x), t(y))
            }
            E::Entry(c, e) => format!("long[p * {c} + {e}]"),
        }
    }

    /// The largest absolute value for inputs in their ranges.
    fn most(&self) -> i128 {
        let m = |e: &E| e.most();
        match self {
            E::N => 1 << 20,
            E::K => 1 << 40,
            E::Q => 1000,
            E::P => 2,
            E::Literal(c) => i128::from(*c).abs(),
            E::Neg(a) | E::Abs(a) | E::Largest(a) => m(a),
            E::Add(a, b) | E::Sub(a, b) => m(a) + m(b),
            E::Mul(a, b) => m(a) * m(b),
            E::Max(a, b) | E::Min(a, b) => m(a).max(m(b)),
            E::Sum(a) => m(a) * CLIENTS as i128,
            E::Bit(..) => 1,
            E::Select(_, [_, _, x, y]) => m(x).max(m(y)),
            E::Entry(..) => 1_000_003,
        }
    }
}

/// Expressions from a string of choices.
struct Gen<'a>(std::slice::Iter<'a, u8>);

impl Gen<'_> {
    fn pick(&mut self, n: u64) -> u64 {
        let one = |b: Option<&u8>| b.map_or(0, |&b| u64::from(b));
        let high = if n > 256 { one(self.0.next()) << 8 } else { 0 };
        (high + one(self.0.next())) % n
    }

    /// Up to 2^40, near powers of two, with few and with many significant bits.
    fn literal(&mut self) -> i64 {
        let size = 1i64 << self.pick(41);
        let around = [0, 1, -1, 3, size / 3, size / 7, size / 2 + 1][self.pick(7) as usize];
        let c = (size + around).clamp(-(1 << 40), 1 << 40);
        if self.pick(4) == 3 { -c } else { c }
    }

    fn below(&mut self, most: i128, make: impl Fn(&mut Self) -> E, depth: u32) -> E {
        let made = make(self);
        if made.most() < most { made } else { self.leaf(most, depth) }
    }

    fn leaf(&mut self, most: i128, _: u32) -> E {
        let literal = self.literal();
        let all = [E::N, E::Q, E::K, E::P, E::Literal(literal)];
        let found = all[self.pick(5) as usize].clone();
        if found.most() < most { found } else { E::P }
    }

    fn compared(&mut self, depth: u32) -> (&'static str, Box<E>, Box<E>) {
        let op = ["==", "<", "!=", "<=", ">", ">="][self.pick(6) as usize];
        let a = self.expr(HELD, depth);
        // Sides that are equal now and then, made in other ways.
        let b = match (self.pick(4), &a) {
            (1, E::Mul(x, y)) => E::Mul(y.clone(), x.clone()),
            (2, E::Mul(x, y)) => E::Add(
                Box::new(E::Mul(x.clone(), y.clone())),
                Box::new(E::Literal([0, 1, -1][self.pick(3) as usize])),
            ),
            (3, _) => E::Add(Box::new(a.clone()), Box::new(E::Literal(1))),
            _ => self.expr(HELD, depth),
        };
        (op, Box::new(a), Box::new(b))
    }

    fn expr(&mut self, most: i128, depth: u32) -> E {
        let Some(depth) = depth.checked_sub(1) else { return self.leaf(most, 0) };
        let one = |s: &mut Self| Box::new(s.expr(most, depth));
        match self.pick(14) {
            0 => self.leaf(most, depth),
            // A product with a literal, or two of them.
            1..=3 => self.below(
                most,
                |s| {
                    let x = one(s);
                    E::Mul(x, Box::new(E::Literal(s.literal())))
                },
                depth,
            ),
            4 => self.below(
                most,
                |s| {
                    let (c, d) = (s.literal() >> 20, s.literal() >> 20);
                    let first = E::Mul(Box::new(s.leaf(most, 0)), Box::new(E::Literal(c)));
                    E::Mul(Box::new(first), Box::new(E::Literal(d)))
                },
                depth,
            ),
            5 => self.below(most, |s| E::Mul(one(s), one(s)), depth),
            6 => self.below(most, |s| E::Add(one(s), one(s)), depth),
            7 => self.below(most, |s| E::Sub(one(s), one(s)), depth),
            8 => self.below(most, |s| E::Sum(one(s)), depth),
            9 => match self.pick(3) {
                0 => E::Neg(one(self)),
                1 => E::Abs(one(self)),
                _ => E::Largest(one(self)),
            },
            10 => match self.pick(2) {
                0 => E::Max(one(self), one(self)),
                _ => E::Min(one(self), one(self)),
            },
            11 => {
                let (op, a, b) = self.compared(depth);
                E::Bit(op, a, b)
            }
            12 => {
                let (op, a, b) = self.compared(depth);
                E::Select(op, [a, b, one(self), one(self)])
            }
            _ => {
                let c = 65_536 + self.pick(4464) as i64;
                E::Entry(c, self.pick(10) as i64)
            }
        }
    }
}

fn given(made: &mut Gen<'_>, equal: bool) -> Given {
    let end = |g: &mut Gen<'_>, most: i64| match g.pick(5) {
        0 => most,
        1 => -most,
        2 => g.pick(8) as i64 - 4,
        _ => (most / 256) * g.pick(256) as i64 - g.pick(256) as i64,
    };
    let n = std::array::from_fn(|_| end(made, 1 << 20));
    let k = std::array::from_fn(|i| {
        let x = end(made, 1 << 40);
        if equal { n[i] * 1001 } else { x }
    });
    Given { n, k, q: end(made, 1000), p: made.pick(3) as i64 }
}

fn inputs(of: &Given, long: bool) -> Inputs {
    let one = |x: i64| RawTensor::integers([], vec![x]);
    let client =
        |i: usize| BTreeMap::from([("n".into(), one(of.n[i])), ("k".into(), one(of.k[i]))]);
    let mut public = BTreeMap::from([("p".to_string(), one(of.p))]);
    if long {
        let all = (0..LONG).map(entry).collect();
        let data = RawData::I64(all);
        public.insert("long".into(), RawTensor { shape: vec![LONG as u64], data });
    }
    let server = BTreeMap::from([("q".to_string(), one(of.q))]);
    Inputs { public, sets: vec![(0..CLIENTS).map(client).collect(), vec![server]] }
}

fn program(all: &[E]) -> String {
    let reveals: String = (all.iter().enumerate())
        .map(|(r, e)| format!("    reveal [{} for i in Client] to Server as r{r};\n", e.text("i")))
        .collect();
    let long = if reveals.contains("long[") {
        format!("    input long: public int[{LONG}] in 0..1000004;\n")
    } else {
        String::new()
    };
    let most = (1i64 << 40) + 1;
    format!(
        "use std::{{max, min, select, sum}};
predicate Whole() {{
    parties Client[{CLIENTS}];
    parties Server;
    input n: secret int in -1048576..1048577 from each Client;
    input k: secret int in -1099511627776..{most} from each Client;
    input q: secret int in -1000..1001 from Server;
    input p: public int in 0..3;
{long}{reveals}}}
"
    )
}

fn check(choices: &[u8]) -> Result<(), String> {
    let mut made = Gen(choices.iter());
    let count = 1 + made.pick(2);
    let all: Vec<E> = (0..count).map(|_| made.expr(HELD, 3)).collect();
    let text = program(&all);
    let cases = [made.pick(2) == 1, false].map(|equal| given(&mut made, equal));
    for target in [Options::default().target, Target::SemiHonest(Family::T1)] {
        let case = compile_with(&text, &[], Options { target, ..Options::default() });
        let (c, g) = (&case.compiled, &case.compiled.optimised);
        let proven = errors(g, &c.ranges.raw, &encoded_errors(g, &c.guards), &c.stated);
        if let Some(r) = (0..all.len()).find(|&r| proven.output(g, r) != 0.0) {
            return Err(format!("r{r} may be off by {}\n{text}", proven.output(g, r)));
        }
        for of in &cases {
            let Given { n, k, q, p } = of;
            let about = || format!("n {n:?}, k {k:?}, q {q}, p {p}, {target:?}\n{text}");
            let inputs = inputs(of, text.contains("long["));
            let value = |e: &E| (0..CLIENTS).map(|i| e.value(of, i) as f64).collect::<Vec<f64>>();
            let wanted: Vec<Vec<f64>> = all.iter().map(value).collect();
            let found = [
                ("in floating point", case.floating(&inputs, &[])),
                ("graph", case.graph_exact(&inputs, &[])),
                ("circuit", case.circuit_clear(&inputs, &[], 7)),
            ];
            for (what, found) in found {
                if found != wanted {
                    return Err(format!("{what}: {found:?} instead of {wanted:?}, {}", about()));
                }
            }
            let draw = committees(&[]);
            let certified = OnInputs::of(&case.compiled, &[], &graph_inputs(&inputs), &draw);
            let certified = certified.map_err(|e| e.to_string())?.certificate;
            if let Some(known) = certified.reveals.iter().find(|known| known.off != 0.0) {
                return Err(format!("`{}` may be off by {}, {}", known.name, known.off, about()));
            }
            let total = certified.total;
            if total.certified != total.decisions {
                return Err(format!(
                    "only {} of {} decisions are certified, {}",
                    total.certified,
                    total.decisions,
                    about()
                ));
            }
        }
    }
    Ok(())
}

#[test]
fn integers_are_exact() {
    let count = slvr_tests::long::count(60);
    let first = setting("SLVR_SEED").unwrap_or(0);
    let of = |seed: u64| choices(seed, 40, 200);
    let fails = |c: &[u8]| long::caught(|| check(c)).is_err();
    let smaller = |seed: u64| {
        let small = shrunk(&of(seed), fails);
        long::caught(|| check(&small)).err().unwrap_or_default()
    };
    long::run("integers", first..first + count, |seed| check(&of(seed)), smaller);
}

/// A factor that is no whole number is rounded to 16 bits, and may be whole then: the product is a fraction all the same, whose
/// error is stated.
#[test]
fn an_integer_times_a_factor_that_is_rounded_is_a_fraction() {
    for factor in ["* 40000.5", "* 20000.2", "* 3.00001", "/ 0.00003", "* 65535.7", "* 0.1"] {
        let text = format!(
            "use std::select;
predicate Rounded() {{
    parties Client[{CLIENTS}];
    parties Server;
    input n: secret int in 0..1001 from each Client;
    input q: secret int in -1..2 from Server;
    reveal [select(q > 0, n[i] {factor}, 7) for i in Client] to Server as y;
}}
"
        );
        let input = |x: i64| RawTensor { shape: vec![], data: RawData::I64(vec![x]) };
        let of = |name: &str, x: i64| BTreeMap::from([(name.to_string(), input(x))]);
        let sets = vec![[1000, 999, 1].map(|n| of("n", n)).to_vec(), vec![of("q", 1)]];
        let inputs = Inputs { public: BTreeMap::new(), sets };
        for target in [Options::default().target, Target::SemiHonest(Family::T1)] {
            let case = compile_with(&text, &[], Options { target, ..Options::default() });
            let (c, g) = (&case.compiled, &case.compiled.optimised);
            let proven = errors(g, &c.ranges.raw, &encoded_errors(g, &c.guards), &c.stated);
            let (wanted, found) =
                (case.floating(&inputs, &[]), case.circuit_clear(&inputs, &[], 7));
            let off = wanted[0].iter().zip(&found[0]).map(|(a, b)| (a - b).abs());
            let off = off.fold(0.0, f64::max);
            let stated = proven.output(g, 0);
            assert!(off <= stated, "{factor}, {target:?}: off by {off}, and {stated} is stated");
        }
    }
}
