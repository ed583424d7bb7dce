//! Random well-typed programs, from a string of choices: an empty string gives the smallest program,
//! so a failing one shrinks by shrinking its choices.
//!
//! Inputs and literals are multiples of 1/4, and every node knows how large its value may get and how
//! many fraction bits it has; products that would need more than fit are not made. So all of a program
//! is exact in fixed point, and floating point, graph, circuit and three parties must agree to the
//! last bit, ties included.

use std::fmt::Write;

/// Fraction bits that a value may have.
const BITS: u32 = 14;
/// Magnitude that a value may have.
const SIZE: f64 = 4096.0;

/// Fraction bits of what is stored: the next round reads it.
const STATE_BITS: u32 = 6;

/// So many choices make programs with everything.
const MORE: usize = 24;

#[derive(Clone, Debug)]
pub struct Generated {
    pub text: String,
    pub bindings: Vec<(String, String)>,
}

impl Generated {
    /// Names and values of what is bound.
    pub fn sizes(&self) -> Vec<(&str, &str)> {
        self.bindings.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect()
    }
}

/// A number's text with its largest magnitude and fraction bits.
#[derive(Clone)]
struct Num {
    text: String,
    size: f64,
    bits: u32,
}

struct Gen<'a> {
    choices: std::slice::Iter<'a, u8>,
    /// Earlier definitions: one number, or one bit, per client.
    nums: Vec<Num>,
    bits: Vec<String>,
    d: u64,
    m: u64,
    k: u64,
    fresh: u32,
    /// Whether there are states, entries by coins, tuples, lists of weights and models: in few choices there are none, so
    /// that short strings stand for the programs that they once did.
    more: bool,
    /// States are stored in a range of their own, and read as numbers per client.
    states: Vec<Num>,
    /// States of a bit for each client.
    bit_states: Vec<String>,
    /// A state shaped as the model.
    kept: Option<String>,
    tiny: Tiny,
}

/// A model of two numbers with two outputs, of weights in -2..2.
#[derive(Clone, Copy)]
struct Tiny {
    layers: &'static str,
    /// What is multiplied by `scale` at the end.
    body: &'static str,
    /// Its weights, those of `scale` included.
    weights: u32,
    /// The largest sum of its outputs, and their fraction bits.
    size: f64,
    bits: u32,
}

const TINY: [Tiny; 6] = [
    // At most (2 * 2 + 2 * 2 + 2) * 2.
    Tiny {
        layers: "fc: linear[2, 1];",
        body: "let y = x |> fc |> relu |> dropout;\n    concat(y, [x[1]])",
        weights: 5,
        size: 24.0,
        bits: 6,
    },
    Tiny {
        layers: "conv: conv1d[1, 2, 2, pad = 1];",
        body: "let y = reshape[1, 2](x) |> conv |> max_pool1d[3];\n    reshape[2](y)",
        weights: 8,
        size: 40.0,
        bits: 6,
    },
    Tiny {
        layers: "table: embedding[3, 2];",
        body: "let y = table([x[0]]);\n    y[0]",
        weights: 8,
        size: 40.0,
        bits: 4,
    },
    Tiny {
        layers: "",
        body: "let y = reshape[1, 2](x);\n    concat(flat(avg_pool1d[2](y)), flat(max_pool1d[2](y)))",
        weights: 2,
        size: 8.0,
        bits: 5,
    },
    Tiny {
        layers: "fc: linear[2, 2, bias = 0];",
        body: "x |> fc |> leaky_relu[slope = 0.25]",
        weights: 6,
        size: 32.0,
        bits: 8,
    },
    Tiny {
        layers: "conv: conv2d[1, 2, 2, groups = 1];",
        body: "let y = reshape[1, 1, 2](x) |> upsample[2] |> conv |> relu |> max_pool[1];\n    \
               [sum(y[c, 0]) / 2 for c in 2]",
        weights: 12,
        size: 108.0,
        bits: 7,
    },
];

impl Tiny {
    fn text(&self) -> String {
        let lines: Vec<&str> = self.body.split("\n    ").collect();
        let (last, lets) = lines.split_last().expect("a value");
        let lets: String = lets.iter().map(|l| format!("    {l}\n")).collect();
        format!(
            "model Tiny(x: fix[2]) -> fix[2] {{\n    {}\n    scale: param[2];\n\n{lets}    ({last}) * scale\n}}\n\n",
            self.layers
        )
    }
}

/// Lists of weights as a parameter and in a result.
const MOVED: &str = "fn moved[M: model, n](u: weights M[n], by: fix) -> (weights M, weights M[n]) {\n    \
                     (sum(u), [u[i] + by * u[0] for i in n])\n}\n\n";

/// The program that a string of choices stands for.
pub fn program(choices: &[u8]) -> Generated {
    let mut g = Gen {
        choices: choices.iter(),
        nums: Vec::new(),
        bits: Vec::new(),
        d: 0,
        m: 0,
        k: 0,
        fresh: 0,
        more: choices.len() >= MORE,
        states: Vec::new(),
        bit_states: Vec::new(),
        kept: None,
        tiny: TINY[0],
    };
    g.m = 2 + u64::from(g.below(4));
    g.d = 1 + u64::from(g.below(4));
    g.k = 1 + u64::from(g.below(g.m as u8 - 1));
    g.tiny = TINY[usize::from(g.extra(TINY.len() as u8))];
    // What is computed may read states.
    let states = g.declared_states();
    let (mut lets, mut reveals) = g.definitions();
    let (stored, stores) = g.stored_states();
    lets += &stored;
    reveals += &stores;
    if g.extra(3) == 1 {
        let v = g.num(2, "o");
        let _ = writeln!(reveals, "    reveal {} to Client[o] as own;", v.text);
    }
    let (samples, noisy) = g.noise();
    reveals += &noisy;
    let total = g.num(3, "i");
    let model = g.tiny.text();
    let moved = if g.more { MOVED } else { "" };
    let on = if g.more { "on: bit = true" } else { "" };
    let given = [None, Some("false"), Some("true"), Some("0")][usize::from(g.extra(4))];
    let text = format!(
        "use std::{{abs, concat, dot, flat, leaky_relu, gather, lower_median, max, min, norm_sq, places, rank, relu, scatter, select, smallest, sort, sum, top_k, trimmed_mean, weighted_median}};\n\n\
         {model}fn both(x: fix, y: fix) -> (fix, fix) {{\n    (x + y, x - y)\n}}\n\n{moved}\
         predicate Random[m, d, k]({on}) {{\n    parties Client[m];\n    parties Server;\n\n    \
         input x: secret fix[d] in -2..2 from each Client;\n    \
         input y: secret fix in -2..2 from each Client;\n    \
         input n: secret int in -3..4 from each Client;\n    \
         input v: secret bit from each Client;\n    \
         input w: public fix[d] in -2..2;\n    input g: public fix in -2..2;\n    \
         input at: public int[2] in 0..d;\n    \
         input u: secret weights Tiny in -2..2 from each Client;\n\n{states}\n    \
         sample com[k] of Client for each Client;\n    sample cs[2, 1] of d;\n    sample order[d] of d;\n{samples}\n{lets}\n{reveals}    \
         reveal sum({} for i in Client) to Server as total;\n    \
         reveal [x[i][0] + y[i] + n[i] + v[i] + w[0] + g + x[i][cs[0, 0]] + x[i][order[0]] + sum(y[j] for j in com[i]) for i in Client] to Server as all;\n}}\n",
        total.text
    );
    let bindings = [("m", g.m), ("d", g.d), ("k", g.k)];
    let mut bindings: Vec<(String, String)> =
        bindings.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    if let Some(given) = given {
        bindings.push(("on".into(), given.into()));
    }
    Generated { text, bindings }
}

impl Gen<'_> {
    /// The next choice among n; 0 when there are none left.
    fn below(&mut self, n: u8) -> u8 {
        self.choices.next().map_or(0, |c| c % n.max(1))
    }

    /// The same of what short strings have none of.
    fn extra(&mut self, n: u8) -> u8 {
        if self.more { self.below(n) } else { 0 }
    }

    /// Declarations of states. Their ends are no multiples of what is stored.
    fn declared_states(&mut self) -> String {
        let mut states = String::new();
        for n in 0..self.extra(3) {
            let (name, start) = (format!("h{n}"), ["0", "1.25", "-2"][usize::from(self.below(3))]);
            let _ = writeln!(states, "    state {name}: secret fix[m] in -2.5..3.25 = {start};");
            self.states.push(Num { text: name, size: 3.25, bits: STATE_BITS });
        }
        if self.extra(4) == 1 {
            let _ = writeln!(states, "    state seen: secret bit[m] = {};", self.below(2));
            self.bit_states.push("seen".into());
        }
        if self.extra(4) == 1 {
            let _ = writeln!(states, "    state kept: secret weights Tiny in -2.5..2.25 = 0.5;");
            self.kept = Some("kept".into());
        }
        states
    }

    /// Definitions, and the reveals of what they define.
    fn definitions(&mut self) -> (String, String) {
        let (mut lets, mut reveals) = (String::new(), String::new());
        for n in 0..1 + self.below(4) {
            match self.below(5) {
                0..=2 => {
                    let v = self.vector();
                    let _ = writeln!(lets, "    let a{n} = {};", v.text);
                    let _ = writeln!(reveals, "    reveal a{n} to Server as a{n};");
                    self.nums.push(Num { text: format!("a{n}"), ..v });
                }
                _ => {
                    let v = self.bit_vector();
                    let _ = writeln!(lets, "    let p{n} = {v};");
                    let _ = writeln!(reveals, "    reveal p{n} to Server as p{n};");
                    self.bits.push(format!("p{n}"));
                }
            }
        }
        for n in 0..self.extra(3) {
            let (text, v) = self.of_several(n);
            lets += &text;
            let _ =
                writeln!(reveals, "    reveal [{}[o] for o in Client] to Server as r{n};", v.text);
            self.nums.push(v);
        }
        (lets, reveals)
    }

    /// What is stored of each state: definitions, and the stores.
    fn stored_states(&mut self) -> (String, String) {
        let (mut lets, mut stores) = (String::new(), String::new());
        for state in self.states.clone() {
            let (text, v) = self.stored(&state.text);
            lets += &text;
            let _ = writeln!(stores, "    store {v} as {};", state.text);
        }
        for state in self.bit_states.clone() {
            let v = self.bit_vector();
            let _ = writeln!(stores, "    store {v} as {state};");
        }
        if let Some(kept) = self.kept.clone() {
            let value = match self.below(4) {
                0 => "sum(u)".into(),
                // Half of it once more would have one bit more in each round.
                1 => format!("select({kept} > 1, min(u), {kept} + 0.25)"),
                2 => format!("max(u) - {kept}"),
                _ => format!("weights Tiny(min([{kept}[t], max(u)[t]]) for t in Tiny)"),
            };
            let _ = writeln!(stores, "    store {value} as {kept};");
        }
        (lets, stores)
    }

    fn var(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("{stem}{}", self.fresh)
    }

    fn leaf(&mut self, i: &str) -> Num {
        let two = |text: String| Num { text, size: 2.0, bits: 2 };
        match self.below(if self.more { 13 } else { 7 }) {
            // By public numbers that are known at run time.
            7 => two(format!("x[{i}][at[{}]]", self.below(2))),
            8 => two(format!("x[{i}][cs[{}, 0]]", self.below(2))),
            9 => two(format!("gather(x[{i}], order)[{}]", u64::from(self.below(self.d as u8)))),
            10 => two(format!("u[{i}].scale[{}]", self.below(2))),
            12 if self.kept.is_some() => {
                Num { text: format!("kept.scale[{}]", self.below(2)), size: 2.5, bits: STATE_BITS }
            }
            11 if !self.states.is_empty() => {
                let n = self.below(self.states.len() as u8) as usize;
                let v = self.states[n].clone();
                Num { text: format!("{}[{i}]", v.text), ..v }
            }
            0 => two(format!("y[{i}]")),
            1 => {
                let c = u64::from(self.below(self.d as u8));
                two(format!("x[{i}][{c}]"))
            }
            2 => two("g".into()),
            3 => two(format!("w[{}]", u64::from(self.below(self.d as u8)))),
            4 => Num { text: format!("n[{i}]"), size: 3.0, bits: 0 },
            5 if !self.nums.is_empty() => {
                let n = self.below(self.nums.len() as u8) as usize;
                let v = self.nums[n].clone();
                Num { text: format!("{}[{i}]", v.text), ..v }
            }
            _ => {
                let q = i32::from(self.below(17)) - 8;
                let x = f64::from(q) / 4.0;
                let text = if x < 0.0 { format!("(-{:.2})", -x) } else { format!("{x:.2}") };
                Num { text, size: x.abs(), bits: 2 }
            }
        }
    }

    /// A number per client `i`.
    fn num(&mut self, depth: u32, i: &str) -> Num {
        if depth == 0 {
            return self.leaf(i);
        }
        let d = depth - 1;
        let clients = self.m as f64;
        let made = match self.below(16) {
            0 | 1 => self.leaf(i),
            2 | 3 => {
                let (a, b) = (self.num(d, i), self.num(d, i));
                let op = if self.below(2) == 0 { "+" } else { "-" };
                both(&a, &b, format!("({} {op} {})", a.text, b.text), a.size + b.size)
            }
            4 | 5 => {
                let (a, b) = (self.num(d, i), self.num(d, i));
                Num {
                    text: format!("({} * {})", a.text, b.text),
                    size: a.size * b.size,
                    bits: a.bits + b.bits,
                }
            }
            6 => {
                let a = self.num(d, i);
                Num { text: format!("(-{} / 2)", a.text), size: a.size, bits: a.bits + 1 }
            }
            7 => {
                let (c, a, b) = (self.bit(d, i), self.num(d, i), self.num(d, i));
                let text = format!("select({c}, {}, {})", a.text, b.text);
                both(&a, &b, text, a.size.max(b.size))
            }
            // A sampled member is known at run time only and cannot be compared.
            8 if !i.starts_with('s') => {
                let j = self.var("j");
                let a = self.num(d, &j);
                let text = format!("sum({} for {j} in Client if {j} != {i})", a.text);
                Num { text, size: a.size * clients, ..a }
            }
            9 if i == "i" => {
                let j = self.var("s");
                let a = self.num(d, &j);
                let text = format!("sum({} for {j} in com[{i}])", a.text);
                Num { text, size: a.size * clients, ..a }
            }
            10 => {
                let e = self.var("e");
                let size = 4.0 * self.d as f64;
                let text = match self.below(3) {
                    0 => format!("dot(x[{i}], w)"),
                    1 => format!("norm_sq(x[{i}])"),
                    _ => format!("sum(x[{i}][{e}] * w[{e}] for {e} in 0..{})", self.d),
                };
                Num { text, size, bits: 4 }
            }
            11 => {
                let (c, a) = (self.bit(d, i), self.num(d, i));
                Num { text: format!("({c}) * {}", a.text), ..a }
            }
            12 => {
                let a = self.num(d, i);
                let f = ["relu", "abs"][usize::from(self.below(2))];
                Num { text: format!("{f}({})", a.text), ..a }
            }
            13 | 14 => self.steps(d, i),
            _ => {
                let (a, b) = (self.num(d, i), self.num(d, i));
                let f = ["max", "min"][usize::from(self.below(2))];
                let text = format!("{f}([{}, {}])", a.text, b.text);
                both(&a, &b, text, a.size.max(b.size))
            }
        };
        if made.size > SIZE || made.bits > BITS { self.leaf(i) } else { made }
    }

    /// A number per client `i` that a loop ends with.
    fn steps(&mut self, d: u32, i: &str) -> Num {
        let (v, t) = (self.var("v"), self.var("t"));
        let a = self.num(d, i);
        let steps = 1 + self.below(3);
        let times = f64::from(steps);
        match self.below(5) {
            0 => {
                let b = self.num(d, i);
                let size = a.size + times * (b.size + times);
                let text = format!(
                    "iterate {v} = {} for {t} in {steps} {{ {v} + {} - {t} }}",
                    a.text, b.text
                );
                both(&a, &b, text, size)
            }
            // Kept in a range, whatever the start and the steps.
            1 => {
                let (b, w) = (self.num(d, i), self.var("w"));
                let text = format!(
                    "iterate {v}: fix in -2.5..3 = {} for {t} in {steps} {{ let {w} = 2 * {v}; {w} - {} }}",
                    a.text, b.text
                );
                // Before it is kept, a value is larger.
                let large = a.size.max(6.0 + b.size);
                let size = if large > SIZE { large } else { 3.0 };
                both(&a, &b, text, size)
            }
            // Two values, of which one may be a bit until a step makes it a number.
            2 => {
                let (b, w) = (self.num(d, i), self.var("w"));
                let part = self.below(2);
                let text = format!(
                    "(iterate ({v} = {}, {w} = {}) for {t} in {steps} if {t} != 1 {{ ({w}, {v} + {w}) }}).{part}",
                    a.text, b.text
                );
                both(&a, &b, text, (a.size + b.size) * times.exp2())
            }
            // Over the clients: each step has one's number.
            3 if !i.starts_with('s') => {
                let c = self.var("c");
                let b = self.num(d, &c);
                let text = format!(
                    "iterate {v} = {} for {c} in Client {{ max([{v}, {}]) }}",
                    a.text, b.text
                );
                both(&a, &b, text, a.size.max(b.size))
            }
            // Chosen by a bit, in two loops one inside the other.
            _ => {
                let (c, b, u) = (self.bit(d, i), self.num(d, i), self.var("u"));
                let text = format!(
                    "iterate {v} = {} for {t} in {steps} for {u} in 0..{t} + 1 {{ select({c}, {} - {u}, {v}) }}",
                    a.text, b.text
                );
                both(&a, &b, text, a.size.max(b.size + times))
            }
        }
    }

    /// A bit per client `i`.
    fn bit(&mut self, depth: u32, i: &str) -> String {
        if depth == 0 {
            return match self.below(if self.more { 3 } else { 2 }) {
                2 => "on".into(),
                1 if !self.bits.is_empty() => {
                    let n = self.below(self.bits.len() as u8) as usize;
                    format!("{}[{i}]", self.bits[n])
                }
                _ => format!("v[{i}]"),
            };
        }
        let d = depth - 1;
        match self.below(if self.more { 11 } else { 6 }) {
            0 => self.bit(0, i),
            6 => self.extremum_of_bits(d, i),
            7 => {
                let bits = [self.bit(d, i), self.bit(d, i), self.bit(d, i)].join(", ");
                match self.below(4) {
                    0 => format!("lower_median([{bits}])"),
                    1 => format!("trimmed_mean[1, 1]([{bits}]) > 0.5"),
                    n => format!("sort([{bits}])[{n} - 2]"),
                }
            }
            8 => format!("select({}, {}, {})", self.bit(d, i), self.bit(d, i), self.bit(d, i)),
            // Over the clients: a bit that each step may change.
            9 if !i.starts_with('s') => {
                let (h, c) = (self.var("b"), self.var("c"));
                let f = self.extremum();
                let (start, bit) = (self.bit(d, i), self.bit(d, &c));
                format!("(iterate {h} = {start} for {c} in Client {{ {f}([{h}, {bit}]) }})")
            }
            10 if !self.bit_states.is_empty() => {
                let n = self.below(self.bit_states.len() as u8) as usize;
                format!("{}[{i}]", self.bit_states[n])
            }
            1 | 2 => {
                let op = ["<", "<=", ">", ">="][usize::from(self.below(4))];
                let (a, b) = (self.num(d, i), self.num(d, i));
                format!("({} {op} {})", a.text, b.text)
            }
            3 => format!("!{}", self.bit(d, i)),
            4 => format!("(n[{i}] == {})", self.below(4)),
            _ => {
                let op = ["&&", "||"][usize::from(self.below(2))];
                format!("({} {op} {})", self.bit(d, i), self.bit(d, i))
            }
        }
    }

    fn extremum(&mut self) -> &'static str {
        ["max", "min"][usize::from(self.below(2))]
    }

    /// Whether any, or all, of some bits are 1, by their largest and smallest.
    fn extremum_of_bits(&mut self, d: u32, i: &str) -> String {
        let f = self.extremum();
        let j = self.var("j");
        match self.below(4) {
            0 => format!("{f}({} for {j} in Client)", self.bit(d, &j)),
            // A sampled member is known at run time only and cannot be compared.
            1 if !i.starts_with('s') => {
                format!("{f}({} for {j} in Client if {j} != {i})", self.bit(d, &j))
            }
            // Of vectors, entry by entry.
            2 => {
                let rows = format!("[{}, {}]", self.bit(d, &j), self.bit(d, i));
                format!("{f}({rows} for {j} in Client)[{}]", self.below(2))
            }
            _ => format!("{f}([{}, {}])", self.bit(d, i), self.bit(d, i)),
        }
    }

    /// A number for each client.
    fn vector(&mut self) -> Num {
        let a = self.num(3, "i");
        let list = format!("[{} for i in Client]", a.text);
        match self.below(4) {
            // One statistic of all clients, for each of them.
            1 => Num { text: format!("[lower_median({list}) + y[o] - y[o] for o in Client]"), ..a },
            2 if self.m > 2 => {
                let sum = format!("sum(smallest[{}]({list}))", self.m - 1);
                let text = format!("[{sum} + y[o] for o in Client]");
                Num { text, size: a.size * self.m as f64 + 2.0, bits: a.bits.max(2) }
            }
            _ => Num { text: list, ..a },
        }
    }

    /// Definitions of a number for each client by a tuple, a list of weights, a scattered vector or a model.
    fn of_several(&mut self, n: u8) -> (String, Num) {
        let (p, q) = (format!("r{n}"), format!("q{n}"));
        match self.below(9) {
            0 => {
                let (a, b) = (self.num(2, "i"), self.num(1, "i"));
                let text = format!(
                    "    let {q} = [both({}, {}).{} for i in Client];\n    let ({p}, z{n}) = ({q}, 0);\n",
                    a.text,
                    b.text,
                    self.below(2)
                );
                (text, both(&a, &b, p, a.size + b.size))
            }
            // Weights as values in a list, and as one vector.
            1 => {
                let text = format!(
                    "    let {q} = [u[i] + 0.5 * u[i] for i in Client];\n    \
                     let {p} = [sum(flat({q}[i])) for i in Client];\n"
                );
                (text, Num { text: p, size: 3.0 * f64::from(self.tiny.weights), bits: 3 })
            }
            4 => self.by_tensors(p, q),
            5 => self.lists_of_weights(p, q),
            6 => self.steps_of_weights(p, q),
            // Weights of a vector, in a model.
            7 => {
                let text = format!(
                    "    let {q} = weights Tiny([lower_median([u[o][e] for o in Client]) for e in Tiny.len]);\n    \
                     let {p} = [sum(Tiny({q}, [y[i], g])) for i in Client];\n"
                );
                (text, Num { text: p, size: self.tiny.size, bits: self.tiny.bits })
            }
            // To where coins say: a vector in another order, and one number in a row of zeros.
            8 => {
                let d = self.d;
                let (index, x) = match self.below(3) {
                    0 => ("order", "x[i]"),
                    1 => ("[cs[1, 0]]", "[y[i]]"),
                    _ => ("places[d](order)", "x[i]"),
                };
                let text = format!(
                    "    let {q} = [scatter[{d}]({index}, {x}) for i in Client];\n    \
                     let {p} = [dot({q}[i], w) for i in Client];\n"
                );
                (text, Num { text: p, size: 4.0 * d as f64, bits: 4 })
            }
            2 => {
                let d = self.d;
                let text = format!(
                    "    let {q} = [scatter[{d}](at, [y[i], g]) for i in Client];\n    \
                     let {p} = [dot({q}[i], w) for i in Client];\n"
                );
                (text, Num { text: p, size: 8.0, bits: 4 })
            }
            _ => {
                let text = format!(
                    "    let {q} = [Tiny(u[i], [y[i], g]) for i in Client];\n    \
                     let {p} = [{q}[i, 0] + {q}[i, 1] for i in Client];\n"
                );
                (text, Num { text: p, size: self.tiny.size, bits: self.tiny.bits })
            }
        }
    }

    /// A loop over the tensors of the model.
    fn by_tensors(&mut self, p: String, q: String) -> (String, Num) {
        let weights = f64::from(self.tiny.weights);
        // There are at most three.
        let (value, size, bits) = match self.below(4) {
            0 => ("u[i][t] * (t + 1)", 6.0, 2),
            1 => ("select(u[i][t] > y[i], u[i][t], 0.25)", 2.0, 2),
            2 => ("relu(u[i][t]) - 0.5 * max(u)[t]", 3.0, 4),
            // One number of each tensor.
            _ => {
                let text = format!(
                    "    let {q} = [[max(flat(u[i][t])) for t in Tiny] for i in Client];\n    \
                     let {p} = [sum({q}[i][t] for t in Tiny.tensors if t != 1) for i in Client];\n"
                );
                return (text, Num { text: p, size: 6.0, bits: 2 });
            }
        };
        let text = format!(
            "    let {q} = [weights Tiny({value} for t in Tiny) for i in Client];\n    \
             let {p} = [sum(flat({q}[i])) for i in Client];\n"
        );
        (text, Num { text: p, size: size * weights, bits })
    }

    /// A function of a list of weights that gives weights and a list.
    fn lists_of_weights(&mut self, p: String, q: String) -> (String, Num) {
        let weights = f64::from(self.tiny.weights);
        let by = ["0.5", "g", "-1"][usize::from(self.below(3))];
        let all = format!("    let (z{q}, {q}) = moved(u, {by});\n");
        let (value, size) = match self.below(2) {
            0 => (format!("sum(flat({q}[i]))"), 6.0),
            _ => (format!("sum(flat(z{q} - {q}[i]))"), 2.0 * self.m as f64 + 6.0),
        };
        let text = format!("{all}    let {p} = [{value} for i in Client];\n");
        (text, Num { text: p, size: size * weights, bits: 4 })
    }

    /// Weights, and lists of them, that a loop carries.
    fn steps_of_weights(&mut self, p: String, q: String) -> (String, Num) {
        let (weights, m) = (f64::from(self.tiny.weights), self.m as f64);
        let (value, size) = match self.below(4) {
            0 => ("iterate held = max(u) for c in Client { held + u[c] }".into(), 2.0 * (m + 1.0)),
            1 => {
                let range = "held: weights Tiny in -2.25..3";
                (
                    format!(
                        "iterate {range} = min(u) for c in Client {{ max([held, u[c]]) - held }}"
                    ),
                    3.0,
                )
            }
            // A number with them: how often the first of them was the larger one.
            2 => {
                let step = "(max([held, u[c]]), hits + (sum(held) > sum(u[c])))";
                let text = format!(
                    "    let ({q}, z{q}) = iterate (held = min(u), hits = 0) for c in Client {{ {step} }};\n    \
                     let {p} = [sum(flat({q})) + y[i] * z{q} for i in Client];\n"
                );
                return (text, Num { text: p, size: 2.0 * weights + 2.0 * m, bits: 2 });
            }
            _ => {
                let step = "[held[i] - u[c] for i in Client]";
                let text = format!(
                    "    let {q} = iterate held = [u[i] for i in Client] for c in Client {{ {step} }};\n    \
                     let {p} = [sum(flat({q}[i])) for i in Client];\n"
                );
                return (text, Num { text: p, size: 2.0 * (m + 1.0) * weights, bits: 2 });
            }
        };
        let text = format!(
            "    let {q} = {value};\n    let {p} = [sum(flat({q})) + y[i] for i in Client];\n"
        );
        (text, Num { text: p, size: size * weights + 2.0, bits: 2 })
    }

    /// What is stored of each client, of no more fraction bits than the next round counts on.
    fn stored(&mut self, state: &str) -> (String, String) {
        let v = self.vector();
        if v.bits <= STATE_BITS {
            return (String::new(), v.text);
        }
        let text = format!("    let s{state} = {};\n", v.text);
        let value = "[select(s[i] > y[i], y[i], n[i] - 0.25) for i in Client]";
        (text, value.replace("s[i]", &format!("s{state}[i]")))
    }

    /// Noise, and what is revealed with it: a number for each client, one number, and weights.
    fn noise(&mut self) -> (String, String) {
        let (mut samples, mut reveals) = (String::new(), String::new());
        for n in 0..self.extra(3) {
            let law = ["gaussian(0.5)", "laplace(0.25)", "gaussian(3)"][usize::from(self.below(3))];
            let (ty, value) = match self.below(3) {
                0 => {
                    ("fix[m]", format!("[{} + noise{n}[o] for o in Client]", self.num(2, "o").text))
                }
                1 => ("fix", format!("noise{n} - sum({} for o in Client)", self.num(2, "o").text)),
                _ => ("weights Tiny", format!("sum(u) + noise{n}")),
            };
            let _ = writeln!(samples, "    sample noise{n}: {ty} from {law};");
            let _ = writeln!(reveals, "    reveal {value} to Server as noisy{n};");
        }
        (samples, reveals)
    }

    /// A bit for each client.
    fn bit_vector(&mut self) -> String {
        match self.below(if self.more { 4 } else { 3 }) {
            3 => {
                let bits = format!("[{} for i in Client]", self.bit(2, "i"));
                match self.below(3) {
                    0 => format!("sort({bits})"),
                    1 => {
                        let median =
                            format!("weighted_median({bits}, [abs(n[i]) for i in Client])");
                        format!("[{median} != v[o] for o in Client]")
                    }
                    _ => format!("concat(smallest[1]({bits}), [max({bits}) for o in 1..m])"),
                }
            }
            0 => format!("[{} for i in Client]", self.bit(3, "i")),
            _ => {
                let a = self.num(2, "i");
                format!("top_k[{}]([{} for i in Client])", self.k, a.text)
            }
        }
    }
}

fn both(a: &Num, b: &Num, text: String, size: f64) -> Num {
    Num { text, size, bits: a.bits.max(b.bits) }
}
