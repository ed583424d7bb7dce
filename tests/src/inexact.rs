//! Random programs of everything that rounds, saturates or moves entries: functions, quotients, order
//! statistics, softmax, cosines, layers of all kinds, weights as values, transpositions, gathers, committees, tuples, states. Unlike those of [`crate::generate`] they are not exact, so that intervals, error bounds
//! and margins are what they are held against.
//!
//! A program comes from a string of choices: a shorter string gives a smaller program.

use crate::generate::Generated;
use std::fmt::Write;

/// Values that may get larger than this are clamped.
const LARGE: f64 = 3000.0;

/// The text of a number with the largest magnitude that it may have.
#[derive(Clone)]
struct Num {
    text: String,
    size: f64,
}

struct Gen<'a> {
    choices: std::slice::Iter<'a, u8>,
    /// A number for each client: name and size.
    scalars: Vec<(String, f64)>,
    /// A vector for each client.
    vectors: Vec<(String, f64)>,
    /// Sizes of the inputs.
    sizes: [f64; 6],
    n: u64,
    fresh: u32,
    /// Logits of the model, if there is one.
    logits: Option<u64>,
}

const RANGES: [(&str, f64); 12] = [
    ("-2..2", 2.0),
    ("1..2", 2.0),
    ("0..1", 1.0),
    ("-8..8", 8.0),
    ("0.25..4", 4.0),
    ("1..8", 8.0),
    ("-0.01..0.01", 0.01),
    ("-3..-1", 3.0),
    ("0..100", 100.0),
    ("-0.3..0.7", 0.7),
    ("3..3.5", 3.5),
    ("-1..0", 1.0),
];

/// A model of layers that round.
struct Layers {
    /// The shape of its input.
    input: &'static str,
    body: &'static str,
    logits: u64,
    /// The size of its outputs, of that of weights and inputs.
    size: fn(f64, f64) -> f64,
}

const LAYERS: [Layers; 15] = [
    Layers {
        input: "2, 3",
        body: "norm: layer_norm[3];\n    x |> norm |> flatten",
        logits: 6,
        size: |w, _| 3.0 * w,
    },
    Layers {
        input: "2, 2",
        body: "norm: rms_norm[2];\n    x |> norm |> flatten",
        logits: 4,
        size: |w, _| 2.0 * w,
    },
    Layers {
        input: "2, 1, 2",
        body: "norm: group_norm[1, 2];\n    x |> norm |> flatten",
        logits: 4,
        size: |w, _| 3.0 * w,
    },
    Layers {
        input: "2, 1, 2",
        body: "norm: batch_norm[2];\n    x |> norm |> ACTIVATION |> flatten",
        logits: 4,
        size: |w, x| 8.0 * (x + w) + w,
    },
    Layers {
        input: "3",
        body: "fc: linear[3, 2];\n    x |> fc |> ACTIVATION",
        logits: 2,
        size: |w, x| 3.0 * w * x + w + 1.0,
    },
    Layers {
        input: "3",
        body: "fc: linear[3, 3];\n    x |> ACTIVATION |> fc |> log_softmax",
        logits: 3,
        size: |w, x| 6.0 * w * x + 4.0,
    },
    Layers {
        input: "4",
        body: "cell: gru_cell[2, 2];\n    cell([x[j] for j in 2], [x[j + 2] for j in 2])",
        logits: 2,
        size: |_, x| x + 1.0,
    },
    Layers {
        input: "2, 2",
        body: "rnn: gru[2, 1];\n    x |> rnn |> flatten",
        logits: 2,
        size: |_, _| 1.0,
    },
    Layers {
        input: "3",
        body: "cell: lstm_cell[1, 1];\n    let (h, c) = cell([x[0]], [x[1]], [x[2]]);\n    concat(h, c)",
        logits: 2,
        size: |_, x| x + 1.0,
    },
    Layers {
        input: "2, 2",
        body: "fc: linear[2, 2];\n    let y = x |> fc;\n    flat(attention(y, x, y))",
        logits: 4,
        size: |w, x| 2.0 * w * x + w,
    },
    Layers {
        input: "2, 2",
        body: "attn: multihead_attention[2, 1];\n    flat(attn(x, x, x))",
        logits: 4,
        size: |w, x| 2.0 * w * (2.0 * w * x + w) + w,
    },
    Layers {
        input: "1, 3, 4",
        body: "scale: param[1];\n    (x |> adaptive_avg_pool[2, 3] |> flatten) * scale[0]",
        logits: 6,
        size: |w, x| w * x,
    },
    Layers {
        input: "1, 3, 3",
        body: "scale: param[4];\n    (x |> adaptive_max_pool[2] |> flatten) * scale",
        logits: 4,
        size: |w, x| w * x,
    },
    Layers {
        input: "1, 2, 2",
        body: "conv: conv_transpose2d[1, 1, 2, stride = 2, pad = 1];\n    x |> conv |> ACTIVATION |> flatten",
        logits: 4,
        size: |w, x| 4.0 * w * x + w + 1.0,
    },
    Layers {
        input: "1, 1, 2",
        body: "conv: conv2d[1, 1, 1];\n    x |> conv |> upsample_bilinear[2] |> flatten",
        logits: 8,
        size: |w, x| w * x + w,
    },
];

/// The program that a string of choices stands for.
pub fn program(choices: &[u8]) -> Generated {
    let mut g = Gen {
        choices: choices.iter(),
        scalars: Vec::new(),
        vectors: Vec::new(),
        sizes: [1.0; 6],
        n: 0,
        fresh: 0,
        logits: None,
    };
    let m = 2 + u64::from(g.below(3));
    g.n = 2 + u64::from(g.below(4));
    let ranges: Vec<&str> = (0..6)
        .map(|i| {
            let (range, size) = RANGES[usize::from(g.below(RANGES.len() as u8))];
            g.sizes[i] = size;
            range
        })
        .collect();
    let (model, net) =
        if g.below(4) == 1 { g.model(ranges[4], ranges[5]) } else { Default::default() };
    let mut body = String::new();
    let state = g.below(3) == 1;
    if state {
        let start = ["0.5", "0", "-1.25"][usize::from(g.below(3))];
        let _ = writeln!(body, "    state kept: secret fix[m] in -1.5..2 = {start};");
        g.scalars.push(("kept".into(), 2.0));
    }
    if g.logits.is_some() {
        body += &g.weights(m as f64);
    }
    for at in 0..1 + g.below(4) {
        let (name, value, kept) = if g.below(3) == 0 {
            let list = g.list(2, "i");
            let name = format!("b{at}");
            let value = format!("[{} for i in Client]", list.text);
            g.vectors.push((name.clone(), list.size));
            (name, value, list.size)
        } else {
            let one = g.num(3, "i");
            let name = format!("a{at}");
            let value = format!("[{} for i in Client]", one.text);
            g.scalars.push((name.clone(), one.size));
            (name, value, one.size)
        };
        let _ = writeln!(body, "    // at most {kept}");
        let _ = writeln!(body, "    let {name} = {value};");
        if g.below(4) > 0 {
            let _ = writeln!(body, "    reveal {name} to Server as {name};");
        }
    }
    if g.below(3) == 1 {
        let (a, b) = (g.num(2, "i"), g.num(1, "i"));
        let part = g.below(2);
        // The factors are rounded, also of what all know.
        let both = format!("[mixed({}, {}).{part} for i in Client]", a.text, b.text);
        let _ = writeln!(
            body,
            "    let (both, other) = ({both}, 0.5);\n    reveal both to Server as both;"
        );
        g.scalars.push(("both".into(), a.size + b.size));
    }
    if state {
        let next = g.num(2, "i");
        let _ = writeln!(body, "    store [{} for i in Client] as kept;", next.text);
    }
    let total = g.num(2, "i");
    let keep = g.bit(1, "i");
    let text = format!(
        "use std::{{abs, argmax, attention, clamp, concat, cosine, dot, exp, first_argmin, flat, inf_norm, log, lower_median, max, mean, \
         median, min, norm, norm_sq, rank, recip, relu, select, sigmoid, smallest, softmax, sort, sqrt, sum, \
         tanh, top_k, trimmed_mean, variance}};\n{model}\n\
         fn mixed(x: fix, y: fix) -> (fix, fix) {{\n    (0.3 * x + y, x - y / 3)\n}}\n\n\
         predicate Wide[m, n]() {{\n    parties Client[m];\n    parties Server;\n\n    \
         input x: secret fix[n] in {} from each Client;\n    \
         input s: secret fix[n, n] in {} from each Client;\n    \
         input y: secret fix in {} from each Client;\n    \
         input k: secret int in -3..4 from each Client;\n    \
         input v: secret bit from each Client;\n    \
         input w: public fix[n] in {};\n{net}\n    sample com[1] of Client for each Client;\n\n\
         {body}    let total = [{} for i in Client];\n    \
         reveal total to Server as total;\n    \
         reveal sum(({keep}) * total[i] for i in Client) to Server as kept;\n    \
         reveal [x[i][0] + s[i][0][0] + y[i] + k[i] + v[i] + w[0] + sum(y[j] for j in com[i]) for i in Client] \
         to Server as all;\n}}\n",
        ranges[0], ranges[1], ranges[2], ranges[3], total.text
    );
    let bindings = vec![("m".into(), m.to_string()), ("n".into(), g.n.to_string())];
    Generated { text, bindings }
}

impl Gen<'_> {
    /// The next choice among n; 0 when there are none left.
    fn below(&mut self, n: u8) -> u8 {
        self.choices.next().map_or(0, |c| c % n.max(1))
    }

    fn var(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("{stem}{}", self.fresh)
    }

    /// An index in 0..n.
    fn at(&mut self) -> u64 {
        u64::from(self.below(self.n as u8))
    }

    /// A model: its text, and its inputs and logits.
    fn model(&mut self, weights: &str, image: &str) -> (String, String) {
        let (text, weights) = match self.below(3) {
            0 => (self.convolution(), weights),
            _ => self.layers(weights),
        };
        let inputs = format!(
            "    input net: secret weights Net in {weights} from each Client;\n    \
             input image: public fix[..Net.shape] in {image};\n    \
             let z = [Net(net[i], image) for i in Client];\n"
        );
        (text, inputs)
    }

    /// A convolution of images of 3 x 4 pixels.
    fn convolution(&mut self) -> String {
        let groups = 1 + u64::from(self.below(2));
        let (cin, cout) = (groups, 2 * groups);
        let (h, w) = (3u64, 4u64);
        let pad = u64::from(self.below(3));
        let kernel = 1 + u64::from(self.below(3));
        let dilation =
            if 2 * (kernel - 1) < h + 2 * pad { 1 + u64::from(self.below(2)) } else { 1 };
        let stride = 1 + u64::from(self.below(3));
        let reach = dilation * (kernel - 1) + 1;
        let side = |n: u64| (n + 2 * pad - reach) / stride + 1;
        let logits = cout * side(h) * side(w);
        let after = ["", " |> relu"][usize::from(self.below(2))];
        let bias = self.below(2);
        self.logits = Some(logits);
        let terms = (cin / groups * kernel * kernel) as f64;
        self.sizes[4] = (terms * self.sizes[4] * self.sizes[5]) + self.sizes[4];
        format!(
            "\nmodel Net(x: fix[{cin}, {h}, {w}]) -> fix[{logits}] {{\n    \
             conv: conv2d[{cin}, {cout}, kernel = {kernel}, stride = {stride}, pad = {pad}, dilation = \
             {dilation}, groups = {groups}, bias = {bias}];\n    x |> conv{after} |> flatten\n}}\n"
        )
    }

    /// Layers that round, with the range of their weights.
    fn layers<'r>(&mut self, weights: &'r str) -> (String, &'r str) {
        let layers = &LAYERS[usize::from(self.below(LAYERS.len() as u8))];
        let function = ["gelu", "silu", "hardswish", "elu", "softplus", "gelu_tanh", "tanh"];
        let function = function[usize::from(self.below(function.len() as u8))];
        let body = layers.body.replace("ACTIVATION", function);
        self.logits = Some(layers.logits);
        let (w, x) = (self.sizes[4], self.sizes[5]);
        self.sizes[4] = (layers.size)(w, x);
        let text = format!(
            "\nmodel Net(x: fix[{}]) -> fix[{}] {{\n    {body}\n}}\n",
            layers.input, layers.logits
        );
        // A variance is not negative.
        (text, if layers.body.contains("batch_norm") { "0.25..4" } else { weights })
    }

    /// What is computed of weights: how far each client's are from their mean, cut ones, those that a loop ends with.
    fn weights(&mut self, m: f64) -> String {
        let (text, size) = match self.below(4) {
            0 => ("let far = [norm(net[i] - sum(net) / m) for i in Client];", 50.0 * m),
            1 => (
                "let cut = [weights Net(net[i][t] * min([1, 0.5 / (norm(flat(net[i][t])) + 0.1)]) for t in Net) for i in Client];\n    \
                 let far = [sum(flat(cut[i])) for i in Client];",
                50.0,
            ),
            2 => (
                "let held = iterate near: weights Net in -1..1.5 = sum(net) / m for t in 2 { near + (max(net) - near) / 3 };\n    \
                 let far = [sum(Net(held, image)) + sum(net[i]) for i in Client];",
                1000.0,
            ),
            _ => return String::new(),
        };
        self.scalars.push(("far".into(), size));
        format!("    {text}\n")
    }

    fn leaf(&mut self, i: &str) -> Num {
        let [x, s, y, w, z, _] = self.sizes;
        let (a, b) = (self.at(), self.at());
        let num = |text: String, size: f64| Num { text, size };
        match self.below(10) {
            0 | 1 => num(format!("x[{i}][{a}]"), x),
            2 => num(format!("s[{i}][{a}][{b}]"), s),
            3 => num(format!("y[{i}]"), y),
            4 => num(format!("w[{a}]"), w),
            5 => num(format!("k[{i}]"), 3.0),
            6 if !self.scalars.is_empty() => {
                let c = self.below(self.scalars.len() as u8) as usize;
                let (name, size) = self.scalars[c].clone();
                num(format!("{name}[{i}]"), size)
            }
            7 if !self.vectors.is_empty() => {
                let c = self.below(self.vectors.len() as u8) as usize;
                let (name, size) = self.vectors[c].clone();
                num(format!("{name}[{i}][{a}]"), size)
            }
            8 if self.logits.is_some() => {
                let c = u64::from(self.below(self.logits.unwrap_or(1) as u8));
                num(format!("z[{i}][{c}]"), z)
            }
            _ => self.constant(),
        }
    }

    fn constant(&mut self) -> Num {
        let all = [0.1, 0.5, 1.0, -1.0, 3.0, -0.3, 7.25, 0.001, 1.5, -2.0];
        let x = all[usize::from(self.below(all.len() as u8))];
        let text = if x < 0.0 { format!("(-{})", -x) } else { format!("{x}") };
        Num { text, size: f64::abs(x) }
    }

    /// What is never near zero, and positive.
    fn divisor(&mut self, depth: u32, i: &str) -> Num {
        let a = self.num(depth, i);
        let c = [0.25, 1.0, 0.05][usize::from(self.below(3))];
        match self.below(4) {
            0 => Num { text: format!("max([{}, {c}])", a.text), size: a.size.max(c) },
            1 => Num { text: format!("(abs({}) + {c})", a.text), size: a.size + c },
            2 => Num { text: format!("(exp(clamp({}, -1, 2)))", a.text), size: 8.0 },
            // Any: the quotient saturates.
            _ => a,
        }
    }

    /// A number for client `i`.
    fn num(&mut self, depth: u32, i: &str) -> Num {
        if depth == 0 {
            return self.leaf(i);
        }
        let made = self.made(depth - 1, i);
        if made.size > LARGE {
            let c = [1, 8, 100][usize::from(self.below(3))];
            return Num { text: format!("clamp({}, -{c}, {c})", made.text), size: f64::from(c) };
        }
        made
    }

    fn made(&mut self, d: u32, i: &str) -> Num {
        let num = |text: String, size: f64| Num { text, size };
        match self.below(22) {
            0 => self.leaf(i),
            1 | 2 => {
                let (a, b) = (self.num(d, i), self.num(d, i));
                let op = ["+", "-"][usize::from(self.below(2))];
                num(format!("({} {op} {})", a.text, b.text), a.size + b.size)
            }
            3 => {
                let (a, b) = (self.num(d, i), self.num(d, i));
                num(format!("({} * {})", a.text, b.text), a.size * b.size)
            }
            4 => {
                let (a, c) = (self.num(d, i), self.constant());
                num(format!("({} * {})", c.text, a.text), a.size * c.size)
            }
            5 => {
                let (c, a, b) = (self.bit(d, i), self.num(d, i), self.num(d, i));
                num(format!("select({c}, {}, {})", a.text, b.text), a.size.max(b.size))
            }
            6 => {
                let (a, b) = (self.num(d, i), self.num(d, i));
                match self.below(3) {
                    0 => num(format!("clamp({}, -1, 2.5)", a.text), 2.5),
                    1 => num(format!("clamp({}, -abs({1}), abs({1}))", a.text, b.text), b.size),
                    _ => num(format!("min([max([{}, -10]), 10])", a.text), 10.0),
                }
            }
            7 => {
                let a = self.num(d, i);
                let f = ["relu", "abs"][usize::from(self.below(2))];
                num(format!("{f}({})", a.text), a.size)
            }
            8 => {
                let (a, b) = (self.num(d, i), self.num(d, i));
                let f = ["max", "min"][usize::from(self.below(2))];
                num(format!("{f}([{}, {}])", a.text, b.text), a.size.max(b.size))
            }
            9 => {
                let (a, b) = (self.num(d, i), self.divisor(d, i));
                num(format!("({} / {})", a.text, b.text), (a.size * 20.0).min(4096.0))
            }
            10 => self.function(d, i),
            11..=14 => self.statistic(d, i),
            15 | 16 => self.product(d, i),
            // A sampled member is known at run time only and cannot be compared.
            17 if i == "i" => {
                let j = self.var("j");
                let a = self.num(d, &j);
                let list = format!("[{} for {j} in Client]", a.text);
                match self.below(4) {
                    0 => num(format!("sum({list})"), a.size * 4.0),
                    1 => num(format!("max({list})"), a.size),
                    2 => num(format!("lower_median({list})"), a.size),
                    _ => {
                        num(format!("sum({} for {j} in Client if {j} != i)", a.text), a.size * 4.0)
                    }
                }
            }
            18 if i == "i" => {
                let j = self.var("s");
                let a = self.num(d.min(1), &j);
                num(format!("sum({} for {j} in com[i])", a.text), a.size)
            }
            19 | 20 => self.steps(d, i),
            _ => {
                let (a, b) = (self.bit(d, i), self.num(d, i));
                num(format!("({a}) * {}", b.text), b.size)
            }
        }
    }

    /// What a loop ends with: steps that divide, and values that are kept in a range.
    fn steps(&mut self, d: u32, i: &str) -> Num {
        let (v, t) = (self.var("v"), self.var("t"));
        let a = self.num(d, i);
        let steps = 1 + self.below(3);
        match self.below(3) {
            // Newton's root.
            0 => {
                let text = format!(
                    "iterate {v}: fix in 0.25..16 = 1 for {t} in {steps} {{ ({v} + abs({}) / {v}) / 2 }}",
                    a.text
                );
                Num { text, size: 16.0 }
            }
            1 => {
                let b = self.divisor(d, i);
                let text = format!(
                    "iterate {v}: fix in -2..2.5 = {} for {t} in {steps} {{ {v} / {} + {t} }}",
                    a.text, b.text
                );
                Num { text, size: 2.5 }
            }
            _ => {
                let w = self.var("w");
                let text = format!(
                    "(iterate ({v} = {}, {w} = 0) for {t} in {steps} {{ (tanh({v}), {w} + {v} * 0.3) }}).1",
                    a.text
                );
                Num { text, size: 0.3 * (a.size + 2.0) }
            }
        }
    }

    /// A function of one number.
    fn function(&mut self, d: u32, i: &str) -> Num {
        let num = |text: String, size: f64| Num { text, size };
        match self.below(8) {
            0 => {
                let a = self.divisor(d, i);
                num(format!("recip({})", a.text), 20.0)
            }
            1 => {
                let a = self.num(d, i);
                num(format!("sqrt(abs({}))", a.text), a.size.max(1.0))
            }
            2 => {
                let a = self.num(d, i);
                num(format!("sqrt({0} * {0} + 0.01)", a.text), a.size + 1.0)
            }
            3 => {
                let a = self.num(d, i);
                num(format!("exp(clamp({}, -13, 4))", a.text), 55.0)
            }
            4 => {
                let a = self.num(d, i);
                num(format!("exp(-abs({}))", a.text), 1.0)
            }
            5 => {
                let a = self.num(d, i);
                num(format!("log(max([{}, 0.05]))", a.text), 12.0)
            }
            6 => {
                let a = self.num(d, i);
                num(format!("tanh({})", a.text), 1.0)
            }
            _ => {
                let a = self.num(d, i);
                num(format!("sigmoid({})", a.text), 1.0)
            }
        }
    }

    /// A statistic of a vector.
    fn statistic(&mut self, d: u32, i: &str) -> Num {
        let num = |text: String, size: f64| Num { text, size };
        let list = self.list(d, i);
        let (l, size, n) = (list.text, list.size, self.n as f64);
        let c = self.at();
        match self.below(20) {
            0 => num(format!("sum({l})"), size * n),
            1 => num(format!("max({l})"), size),
            2 => num(format!("min({l})"), size),
            3 => num(format!("median({l})"), size),
            4 => num(format!("lower_median({l})"), size),
            5 if self.n > 2 => num(format!("trimmed_mean[1, 1]({l})"), size),
            6 => num(format!("mean({l})"), size),
            7 => num(format!("variance({l})"), 4.0 * size * size),
            8 => num(format!("norm_sq({l})"), size * size * n),
            9 => num(format!("norm({l})"), size * n),
            10 => num(format!("inf_norm({l})"), size),
            11 => num(format!("max(softmax({l}))"), 1.0),
            12 => num(format!("softmax({l})[{c}]"), 1.0),
            13 => num(format!("sort({l})[{c}]"), size),
            14 => num(format!("sum(smallest[2]({l}))"), 2.0 * size),
            15 => num(format!("argmax({l})"), n),
            16 => num(format!("rank({l})[{c}]"), n),
            17 => {
                let q = self.var("q");
                num(format!("sum(top_k[1]({l})[{q}] * x[{i}][{q}] for {q} in n)"), self.sizes[0])
            }
            18 => {
                let q = self.var("q");
                let half = self.n.div_ceil(2);
                num(format!("sum({l}[2 * {q}] for {q} in {half})"), size * n)
            }
            _ => {
                let q = self.var("q");
                let x = self.sizes[0];
                num(format!("sum(first_argmin({l})[{q}] * x[{i}][{q}] for {q} in n)"), x)
            }
        }
    }

    /// Products of vectors and matrices.
    fn product(&mut self, d: u32, i: &str) -> Num {
        let num = |text: String, size: f64| Num { text, size };
        let (n, c, s) = (self.n as f64, self.at(), self.sizes[1]);
        let (p, q) = (self.var("p"), self.var("q"));
        match self.below(7) {
            // Not a sum of squares, although the factors have the same entries.
            0 => num(format!("sum(s[{i}][{c}][{q}] * s[{i}][{q}][{c}] for {q} in n)"), s * s * n),
            1 => {
                let text = format!(
                    "sum(sum(s[{i}][{p}][{q}] * s[{i}][{q}][{p}] for {q} in n) for {p} in n)"
                );
                num(text, s * s * n * n)
            }
            2 => {
                let text = format!("sum(s[{i}][{q}][{c}] * s[{i}][{q}][{c}] * 0.5 for {q} in n)");
                num(text, s * s * n)
            }
            3 => {
                let (a, b) = (self.list(d, i), self.list(d, i));
                num(format!("cosine({}, {})", a.text, b.text), 4096.0)
            }
            4 => {
                let (a, e) = (self.list(d, i), self.at());
                num(format!("({0}[{e}] / norm({0}))", a.text), 4096.0)
            }
            5 => {
                let (a, e) = (self.list(d, i), self.at());
                num(format!("({0}[{e}] / max([norm({0}), 0.5]))", a.text), a.size * 2.0)
            }
            _ => {
                let (a, b) = (self.list(d, i), self.list(d, i));
                num(format!("dot({}, {})", a.text, b.text), a.size * b.size * n)
            }
        }
    }

    /// A vector of client `i`.
    fn list(&mut self, d: u32, i: &str) -> Num {
        let num = |text: String, size: f64| Num { text, size };
        let q = self.var("q");
        let c = self.at();
        let [x, s, _, w, ..] = self.sizes;
        match self.below(9) {
            0 | 1 => num(format!("x[{i}]"), x),
            2 => num(format!("s[{i}][{c}]"), s),
            3 => num(format!("[s[{i}][{q}][{c}] for {q} in n]"), s),
            4 => num(format!("[x[{i}][(2 * {q} + {c}) % n] for {q} in n]"), x),
            5 if !self.vectors.is_empty() => {
                let c = self.below(self.vectors.len() as u8) as usize;
                let (name, size) = self.vectors[c].clone();
                num(format!("{name}[{i}]"), size)
            }
            6 => {
                let all = (0..self.n).map(|_| self.num(d.min(1), i)).collect::<Vec<_>>();
                let size = all.iter().fold(0.0, |m: f64, a| m.max(a.size));
                let text: Vec<String> = all.into_iter().map(|a| a.text).collect();
                num(format!("[{}]", text.join(", ")), size)
            }
            7 => num(format!("[x[{i}][{q}] * w[{q}] for {q} in n]"), x * w),
            _ => {
                let a = self.num(d.min(1), i);
                match self.below(4) {
                    0 => num(format!("[x[{i}][{q}] - {} for {q} in n]", a.text), x + a.size),
                    1 => num(format!("[abs(s[{i}][{q}][{q}]) for {q} in n]"), s),
                    2 => num(format!("[s[{i}][{q}][{c}] * x[{i}][{q}] for {q} in n]"), s * x),
                    _ => {
                        let text = format!(
                            "[select(x[{i}][{q}] < {0}, {0}, x[{i}][{q}]) for {q} in n]",
                            a.text
                        );
                        num(text, x.max(a.size))
                    }
                }
            }
        }
    }

    /// A bit of client `i`.
    fn bit(&mut self, depth: u32, i: &str) -> String {
        if depth == 0 {
            return format!("v[{i}]");
        }
        let d = depth - 1;
        match self.below(6) {
            0 => self.bit(0, i),
            1..=3 => {
                let op = ["<", "<=", ">", ">="][usize::from(self.below(4))];
                let (a, b) = (self.num(d, i), self.num(d, i));
                format!("({} {op} {})", a.text, b.text)
            }
            4 => format!("!{}", self.bit(d, i)),
            _ => {
                let op = ["&&", "||"][usize::from(self.below(2))];
                format!("({} {op} {})", self.bit(d, i), self.bit(d, i))
            }
        }
    }
}
