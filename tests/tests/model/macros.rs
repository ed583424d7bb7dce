//! The macros, at the smallest rings and widths at which they do what they do at any.

use super::circuits::{Build, Emitter, Macro, Operand, Right};
use slvr_circuit::{Dom, Op, ValueId, low_mask};
use slvr_compiler::analysis::stated::{Function, Stated};
use slvr_compiler::cost::{NetProfile, Tuning};
use slvr_compiler::graph::domain;
use slvr_compiler::graph::ranks::First;
use slvr_compiler::lower::common::elementary::{self, Among, Sign};
use slvr_compiler::lower::common::lookup;
use slvr_compiler::lower::common::masked::{self, Pair, Split};
use slvr_compiler::lower::malicious::{self, location, one_hots};
use slvr_compiler::lower::stated::STATED;
use slvr_compiler::lower::t1::saturation::Ends;
use slvr_compiler::lower::t1::search::{Search, Wanted, search};
use slvr_compiler::lower::t1::{self, bits, comparison, exponential, input_checks};
use slvr_compiler::lower::t1::{selection, truncation};
use slvr_compiler::lower::t2::carry_trees::Node;
use slvr_compiler::lower::t2::saturation::Plan;
use slvr_compiler::lower::{Emit, t2};

const BIT: Operand = Operand { dom: Dom::Bits(1), each: 1 };
const BYTE: Operand = Operand { dom: Dom::Ring(8), each: 1 };

/// The smallest ring there is.
const K: u32 = 8;

/// Whole numbers as words of the smallest ring.
fn whole(lo: i64, hi: i64) -> Vec<u128> {
    (lo..=hi).map(|x| x as i128 as u128 & low_mask(K)).collect()
}

fn all_words() -> Vec<u128> {
    whole(-128, 127)
}

/// A word of the smallest ring as a whole number.
fn signed(x: u128) -> i64 {
    i64::from(x as u8 as i8)
}

/// All choices of one of each.
fn choices(of: &[Vec<u128>]) -> Vec<Vec<u128>> {
    of.iter().fold(vec![vec![]], |all, next| {
        let with =
            |some: &Vec<u128>| next.iter().map(|&x| [&some[..], &[x]].concat()).collect::<Vec<_>>();
        all.iter().flat_map(with).collect()
    })
}

fn some_bits(n: usize) -> Vec<Vec<u128>> {
    choices(&vec![vec![0, 1]; n])
}

fn bit(x: bool) -> u128 {
    u128::from(x)
}

fn new(
    name: &'static str,
    size: impl Into<String>,
    operands: Vec<Operand>,
    inputs: Vec<Vec<u128>>,
    emit: Emitter,
    right: Right,
) -> Macro {
    Macro { name, size: size.into(), operands, inputs, emit, right }
}

/// What is right is one number.
fn is(f: impl Fn(&[u128]) -> u128 + Sync + 'static) -> Right {
    Box::new(move |x, z| z == [f(x)])
}

/// x / 2^f, one of the two integers next to it, in a ring of `to` bits.
fn truncated(f: u32, to: u32) -> Right {
    Box::new(move |x, z| {
        let (down, part) = (signed(x[0]) >> f, signed(x[0]) & ((1 << f) - 1));
        let word = |x: i64| x as i128 as u128 & low_mask(to);
        z == [word(down)] || part != 0 && z == [word(down + 1)]
    })
}

fn stacked(e: &mut Emit, x: &[ValueId]) -> ValueId {
    e.stack(x.to_vec())
}

fn tuning() -> Tuning {
    NetProfile::lan().tuning()
}

fn split(e: &mut Emit, x: ValueId) -> Split {
    masked::split(e, x, 0)
}

/// A split without its shared mask, as a macro leaves it.
fn bare(e: &mut Emit, x: ValueId) -> Split {
    Split { mask: None, ..split(e, x) }
}

fn of_split(e: &mut Emit, x: &Split) -> ValueId {
    let add2 = e.add(Op::AsAdd2(x.dup));
    masked::as_add3(e, Pair { own: Some(x.own), add2 })
}

/// A pair is settled: what its words are is seen by who gets them.
fn of_pair(e: &mut Emit, x: Pair) -> ValueId {
    let x = masked::settle(e, x);
    of_split(e, &x)
}

/// All macros of a build.
pub fn all(build: Build) -> Vec<Macro> {
    match build {
        Build::Symmetric => symmetric().into_iter().chain(by_table()).chain(functions()).collect(),
        Build::Proven => symmetric().into_iter().chain(by_code()).chain(functions()).collect(),
        Build::Ahead => {
            let all = symmetric().into_iter().chain(by_code()).chain([wide_sign(), matrices()]);
            all.chain(located()).chain([pooled()]).chain(functions()).collect()
        }
        Build::Dealer => dealer(),
    }
}

/// Fraction bits of functions, and 1 with them.
const FRAC: u32 = 16;
const UNIT: f64 = 65536.0;

/// A function of reals, within its stated error.
fn function(
    name: &'static str,
    k: u32,
    inputs: &[Vec<i64>],
    emit: Emitter,
    stated: Stated,
    exact: impl Fn(&[f64]) -> f64 + Sync + 'static,
) -> Macro {
    let word = |x: &i64| *x as i128 as u128 & low_mask(k);
    let inputs: Vec<Vec<u128>> = inputs.iter().map(|x| x.iter().map(word).collect()).collect();
    let operand = Operand { dom: Dom::Ring(k), each: 1 };
    let right: Right = Box::new(move |x, z| {
        let real = |w: u128| slvr_circuit::fixed::signed(w, k) as f64;
        let x: Vec<f64> = x.iter().map(|&w| real(w) / UNIT).collect();
        let want = exact(&x) * UNIT;
        z.len() == 1 && (real(z[0]) - want).abs() <= stated.of(want)
    });
    new(name, format!("Z_2^{k}"), vec![operand; inputs[0].len()], inputs, emit, right)
}

/// A product of matrices of which owners know their words ahead, because its signs are asked for.
fn matrices() -> Macro {
    let small = || whole(-1, 1);
    new(
        "signs of a product of matrices",
        "Z_2^8, 2 bits",
        vec![BYTE, Operand { each: 2, ..BYTE }],
        choices(&[small(), small(), small()]),
        Box::new(|e, x| {
            let n = e.ty(x[0]).elements();
            let a = e.add(Op::Reshape(x[0], vec![n, 1, 1]));
            let b = e.add(Op::Reshape(x[1], vec![n, 1, 2]));
            let product = e.add(Op::MatMul { a, b, trans_b: false });
            let product = e.add(Op::Reshare(product));
            comparison::negative(e, product, 2)
        }),
        Box::new(|x, z| {
            let negative = |y: u128| bit(signed(x[0]) * signed(y) < 0);
            z == [negative(x[1]), negative(x[2])]
        }),
    )
}

/// Where a value lies, with a few bits below the edge and one or more above.
fn located() -> Vec<Macro> {
    let of = |(w, edge): (u32, u32)| {
        new(
            "is inside, is large",
            format!("{w} bits, edge 2^{edge}"),
            vec![BYTE],
            // With x - 2^edge in so many bits.
            choices(&[whole((1 << edge) - (1 << (w - 1)), (1 << (w - 1)) - 1)]),
            Box::new(move |e, x| {
                let parts = (e.add(Op::Own(x[0])), e.add(Op::Dup(x[0])));
                match location::locate(e, parts, w, edge) {
                    Some([inside, large]) => e.stack(vec![inside, large]),
                    None => unreachable!("there is a low and a short high part"),
                }
            }),
            is(move |x| {
                let inside = bit((0..1 << edge).contains(&signed(x[0])));
                inside | bit(signed(x[0]) >= 1 << edge) << 1
            }),
        )
    };
    [(3, 1), (4, 2), (4, 1), (5, 3), (6, 1)].map(of).into()
}

/// Bits times words, which are added up before they are exchanged.
fn pooled() -> Macro {
    new(
        "sum of bits times words",
        "2 of each, Z_2^8",
        vec![Operand { each: 2, ..BIT }, Operand { each: 2, ..BYTE }],
        choices(&[vec![0, 1], vec![0, 1], vec![0, 3, 200], vec![1, 100, 255]]),
        Box::new(|e, x| {
            let kept = selection::inject(e, x[0], x[1]);
            let x = e.add(Op::Sum { x: kept, axes: vec![1] });
            let n = e.ty(x).elements();
            // What is asked of its owner's part makes it one that is known ahead.
            let high = e.add(Op::Reshape(x, vec![n, 1]));
            comparison::negative(e, high, K)
        }),
        is(|x| bit(signed((x[0] * x[2] + x[1] * x[3]) & low_mask(K)) < 0)),
    )
}

/// What is known of an operand of a function made by the position of its top bit.
fn of_20_bits<W>(value: W, least: u64, not_negative: bool) -> elementary::Operand<W> {
    elementary::Operand { value, frac: FRAC, bits: 20, least, not_negative, vanishes: false }
}

/// A macro of one operand, or of two, of a family.
type Of = fn(&mut Emit, &[ValueId], Known) -> ValueId;

/// Of a function: which one, and what is known of its operand.
#[derive(Clone, Copy)]
struct Known {
    /// None for a quotient.
    function: Option<Function>,
    least: u64,
    not_negative: bool,
}

/// The functions that are made by the position of a top bit, of either family.
fn normalised(of: Of) -> Vec<Macro> {
    let positive = [4096, 5000, 65536, 100_000, (1 << 20) - 1].map(|x| vec![x]);
    let divisors = [65536, 200_000, 0, 3, -65536];
    let pairs = [-70_000, 0, 3, 500_000].map(|x| divisors.map(|y| vec![x, y]));
    let one = |name, f: Function, exact: fn(f64) -> f64| {
        let known = Known { function: Some(f), least: 4096, not_negative: true };
        let emit: Emitter = Box::new(move |e, x| of(e, x, known));
        function(name, 64, &positive, emit, STATED.of(f), move |x| exact(x[0]))
    };
    let known = Known { function: None, least: 0, not_negative: false };
    vec![
        one("reciprocal", Function::Recip, f64::recip),
        function(
            "quotient",
            64,
            &pairs.concat(),
            Box::new(move |e, x| of(e, x, known)),
            STATED.div,
            |x| domain::div(x[0], x[1]),
        ),
        one("root", Function::Sqrt, f64::sqrt),
        one("reciprocal of a root", Function::RecipSqrt, |x| x.sqrt().recip()),
        one("logarithm", Function::Log, f64::ln),
    ]
}

/// The functions of T1, which are made of its macros.
fn functions() -> Vec<Macro> {
    let negative = [-900_000, -786_432, -65536, -1, 0].map(|x| vec![x]);
    let any = [-600_000, -65536, -1, 0, 3, 40_000, 500_000].map(|x| vec![x]);
    let mut all = normalised(|e, x, known| {
        let operand = |x| of_20_bits(x, known.least, known.not_negative);
        match known.function {
            Some(f) => t1::functions::emit(e, f, operand(x[0])),
            None => {
                let of = &mut t1::elementary::Replicated(e);
                elementary::divide(of, &operand(x[0]), &operand(x[1]), 64)
            }
        }
    });
    all.extend([
        function(
            "exponential of what is not positive",
            64,
            &negative,
            Box::new(|e, x| exponential::non_positive(e, x[0], FRAC)),
            STATED.of(Function::ExpNonPositive),
            |x| if x[0] < domain::EXP_LOW { 0.0 } else { x[0].exp() },
        ),
        function(
            "exponential",
            64,
            &any,
            Box::new(|e, x| exponential::any(e, x[0], FRAC)),
            STATED.of(Function::Exp),
            |x| x[0].exp(),
        ),
        function(
            "hyperbolic tangent",
            64,
            &any,
            Box::new(|e, x| exponential::tanh(e, x[0], FRAC, 20)),
            STATED.of(Function::Tanh),
            |x| x[0].tanh(),
        ),
    ]);
    all
}

const Z2: &str = "Z_2^8";

// What both families compute: operands, inputs and what is right.

fn product_of_bits(name: &'static str, emit: Emitter) -> Macro {
    new(name, "1 bit", vec![BIT; 2], some_bits(2), emit, is(|x| x[0] & x[1]))
}

fn product_of_words(name: &'static str, emit: Emitter) -> Macro {
    let right = is(|x| x[0].wrapping_mul(x[1]) & low_mask(K));
    new(name, Z2, vec![BYTE; 2], choices(&[all_words(), all_words()]), emit, right)
}

fn bit_to_word(emit: Emitter) -> Macro {
    new("bit to word", Z2, vec![BIT], some_bits(1), emit, is(|x| x[0]))
}

fn bit_times_word(name: &'static str, emit: Emitter) -> Macro {
    let inputs = choices(&[vec![0, 1], all_words()]);
    new(name, Z2, vec![BIT, BYTE], inputs, emit, is(|x| x[0] * x[1]))
}

fn truncation_by(f: u32, emit: Emitter) -> Macro {
    let (size, most) = (format!("{Z2}, by {f} bits"), 63 - (1 << f));
    let inputs = choices(&[whole(-most, most)]);
    new("truncation", size, vec![BYTE], inputs, emit, truncated(f, K))
}

fn lift_by(s: u32, emit: Emitter) -> Macro {
    let size = format!("Z_2^8 to Z_2^16, by {s} bits");
    let inputs = choices(&[whole(-64, 64 - (1 << s))]);
    new("lift", size, vec![BYTE], inputs, emit, truncated(s, 16))
}

/// Of so many bits.
fn sign(name: &'static str, w: u32, emit: Emitter) -> Macro {
    let right = is(|x| bit(signed(x[0]) < 0));
    new(name, format!("{w} bits"), vec![BYTE], choices(&[of_bits(w)]), emit, right)
}

fn is_zero(w: u32, emit: Emitter) -> Macro {
    let right = is(|x| bit(x[0] == 0));
    new("is zero", format!("{w} bits"), vec![BYTE], choices(&[of_bits(w)]), emit, right)
}

/// The emitter gets a row for each label, and how many rows there are.
fn one_hot_label(
    n: usize,
    emit: impl Fn(&mut Emit, ValueId, u64) -> ValueId + Sync + 'static,
) -> Macro {
    let size = if n == 1 { "1 class".into() } else { format!("{n} classes") };
    let of_rows: Emitter = Box::new(move |e, x| {
        let rows = e.ty(x[0]).shape[0];
        let x = e.add(Op::Reshape(x[0], vec![rows, 1, n as u64]));
        emit(e, x, rows)
    });
    let right = is(|x| bit(x.iter().sum::<u128>() == 1));
    new("one-hot label", size, vec![Operand { each: n, ..BIT }], some_bits(n), of_rows, right)
}

/// From -3 to 5. The emitter gets a row for each input, and how many rows there are.
fn range_of_an_input(emit: impl Fn(&mut Emit, ValueId, u64) -> ValueId + Sync + 'static) -> Macro {
    let of_rows: Emitter = Box::new(move |e, x| {
        let rows = e.ty(x[0]).elements();
        let x = e.add(Op::Reshape(x[0], vec![rows, 1]));
        emit(e, x, rows)
    });
    let right = is(|x| bit((-3..=5).contains(&signed(x[0]))));
    new("range of an input", Z2, vec![BYTE], choices(&[all_words()]), of_rows, right)
}

/// Bits of which all are to be 1.
fn all_of(name: &'static str, operands: Vec<Operand>, emit: Emitter) -> Macro {
    let n: usize = operands.iter().map(|x| x.each).sum();
    let right = is(|x| bit(x.iter().all(|&b| b == 1)));
    new(name, format!("{n} bits"), operands, some_bits(n), emit, right)
}

/// Of T1.
fn symmetric() -> Vec<Macro> {
    let mut out = vec![
        product_of_bits("product of bits", Box::new(|e, x| e.multiply(x[0], x[1]))),
        product_of_words("product", Box::new(|e, x| e.multiply(x[0], x[1]))),
    ];
    out.extend(sums());
    out.push(bit_to_word(Box::new(|e, x| selection::to_word(e, x[0], K))));
    let inject: Emitter = Box::new(|e, x| selection::inject(e, x[0], x[1]));
    out.push(bit_times_word("bit times word", inject));
    out.extend([&[253][..], &[1, 2, 253]].map(weighted_sum));
    out.extend(
        [1, 3].map(|f| truncation_by(f, Box::new(move |e, x| truncation::exact(e, x[0], f)))),
    );
    out.push(truncation_to_fewer());
    out.push(cut_at_both_ends());
    out.extend([0, 2].map(|s| lift_by(s, Box::new(move |e, x| truncation::lift(e, x[0], s, 16)))));
    out.extend(
        (1..=5).map(|w| sign("sign", w, Box::new(move |e, x| comparison::negative(e, x[0], w)))),
    );
    for w in 2..=4 {
        out.push(is_zero(w, Box::new(move |e, x| comparison::zero(e, x[0], w))));
        out.extend(bits_of_words(w));
        let row = vec![Operand { each: w as usize, ..BIT }];
        out.push(all_of("all of a row", row, Box::new(|e, x| input_checks::and_all(e, x[0]))));
    }
    out.extend([1, 2].map(|n| one_hot_label(n, |e, x, _| input_checks::one_hot_words(e, x, K).1)));
    out.push(range_of_an_input(|e, x, _| input_checks::in_range(e, x, 253, 5)));
    out.extend(rows_compared());
    out
}

/// Products to which something is added before they are reshared.
fn sums() -> [Macro; 2] {
    let reshared = || -> Emitter {
        Box::new(|e, x| {
            let product = e.add(Op::Mul(x[0], x[1]));
            let more = e.add(Op::AsAdd3(x[2]));
            let sum = e.add(Op::Add(product, more));
            e.add(Op::Reshare(sum))
        })
    };
    let words = choices(&[all_words(), vec![0, 1, 255], vec![0, 77]]);
    let right = is(|x| x[0].wrapping_mul(x[1]).wrapping_add(x[2]) & low_mask(K));
    let of_bits = is(|x| x[0] & x[1] ^ x[2]);
    [
        new("reshare of a sum", Z2, vec![BYTE; 3], words, reshared(), right),
        new("reshare of a sum", "1 bit", vec![BIT; 3], some_bits(3), reshared(), of_bits),
    ]
}

fn weighted_sum(weights: &'static [u128]) -> Macro {
    let n = weights.len();
    new(
        "weighted sum of bits",
        format!("{n} bit{}, {Z2}", if n == 1 { "" } else { "s" }),
        vec![BIT; n],
        some_bits(n),
        Box::new(|e, x| {
            let x = stacked(e, x);
            bits::weighted(e, x, weights, K)
        }),
        is(move |x| x.iter().zip(weights).map(|(x, w)| x * w).sum::<u128>() & low_mask(K)),
    )
}

fn truncation_to_fewer() -> Macro {
    new(
        "truncation to fewer bits",
        "Z_2^16 to Z_2^8, by 8 bits",
        vec![Operand { dom: Dom::Ring(16), each: 1 }],
        [-16127i64, -300, -256, -1, 0, 1, 255, 256, 4096, 16127]
            .map(|x| vec![x as i128 as u128 & low_mask(16)])
            .into(),
        Box::new(|e, x| malicious::truncation::truncated(e, x[0], 8, 8)),
        Box::new(|x, z| {
            let (down, part) = (i64::from(x[0] as u16 as i16) >> 8, x[0] & 255);
            let word = |x: i64| x as i128 as u128 & low_mask(K);
            z == [word(down)] || part != 0 && z == [word(down + 1)]
        }),
    )
}

fn cut_at_both_ends() -> Macro {
    new(
        "value cut at both ends",
        Z2,
        vec![BIT, BYTE, BIT, BIT],
        choices(&[vec![0, 1], whole(-8, 8), vec![0, 1], vec![0, 1]]),
        Box::new(|e, x| Ends { inside: x[0], high: x[2], low: Some(x[3]) }.cut(e, x[1], 5)),
        is(|x| {
            let ends = (x[2] << 5).wrapping_sub(x[3] << 5);
            (x[0] * x[1]).wrapping_add(ends) & low_mask(K)
        }),
    )
}

fn bits_of_words(w: u32) -> [Macro; 2] {
    [
        new(
            "word to bits",
            format!("{w} bits"),
            vec![BYTE],
            choices(&[of_bits(w)]),
            Box::new(move |e, x| bits::of_word(e, x[0], w)),
            is(move |x| x[0] & low_mask(w)),
        ),
        new(
            "highest bit",
            format!("{w} bits"),
            vec![BIT; w as usize],
            some_bits(w as usize),
            Box::new(|e, x| {
                let x = stacked(e, x);
                bits::one_hot(e, x)
            }),
            is(|x| match x.iter().rposition(|&b| b == 1) {
                Some(j) => 1 << j,
                None => 1 << x.len(),
            }),
        ),
    ]
}

fn rows_compared() -> [Macro; 2] {
    [
        new(
            "argmax is the label",
            "2 classes, 4 bits",
            vec![Operand { each: 2, ..BYTE }; 2],
            choices(&[whole(-2, 2), whole(-2, 2), vec![0, 1], vec![0, 1]])
                .into_iter()
                .filter(|x| x[2] + x[3] == 1)
                .collect(),
            Box::new(|e, x| selection::argmax_is(e, x[0], x[1], 4, None)),
            is(|x| bit((signed(x[0]) >= signed(x[1])) == (x[2] == 1))),
        ),
        new(
            "the least of a row",
            "2 entries of 2 bits",
            vec![Operand { each: 2, ..BYTE }],
            choices(&[whole(0, 3), whole(0, 3)]),
            Box::new(|e, x| {
                let s = Search {
                    wanted: Wanted::Before(1),
                    first: First::Smallest,
                    range: (0, 3),
                    digit: 1,
                };
                search(e, x[0], &s)
            }),
            Box::new(|x, z| z == [bit(x[0] <= x[1]), bit(x[0] > x[1])]),
        ),
    ]
}

/// A sign whose carries are multiplied in four groups.
fn wide_sign() -> Macro {
    let (w, k) = (12, 16);
    let half = 1i64 << (w - 1);
    let words = (-half..half).map(|x| x as i128 as u128 & low_mask(k)).collect();
    new(
        "sign",
        format!("{w} bits"),
        vec![Operand { dom: Dom::Ring(k), each: 1 }],
        choices(&[words]),
        Box::new(move |e, x| comparison::negative(e, x[0], w)),
        is(move |x| x[0] >> (k - 1)),
    )
}

/// A sign of w bits times a word.
fn sign_times_word(name: &'static str, w: u32, emit: Emitter) -> Macro {
    let inputs = choices(&[of_bits(w), vec![0, 1, 200]]);
    let right = is(|x| bit(signed(x[0]) < 0) * x[1]);
    new(name, format!("{w} bits"), vec![BYTE; 2], inputs, emit, right)
}

/// All whole numbers of w bits.
fn of_bits(w: u32) -> Vec<u128> {
    whole(-(1 << (w - 1)), (1 << (w - 1)) - 1)
}

/// Of T1, where tables are dealt.
fn by_table() -> Vec<Macro> {
    let word = |w: u32, e: &mut Emit, x: &[ValueId]| {
        selection::negative_word(e, x[0], w, K, x.get(1).copied()).expect("a small table")
    };
    let both = |w| {
        let emit = || -> Emitter { Box::new(move |e, x| word(w, e, x)) };
        [
            sign("sign as a word, by table", w, emit()),
            sign_times_word("sign times a word, by table", w, emit()),
        ]
    };
    [2, 3].into_iter().flat_map(both).collect()
}

/// Against a malicious party, where owners say their positions in tables as codes.
fn by_code() -> Vec<Macro> {
    let at = |e: &mut Emit, x: ValueId| (e.add(Op::Own(x)), e.add(Op::Dup(x)));
    let word = move |w: u32, e: &mut Emit, x: &[ValueId]| {
        let table: Vec<bool> = (0..1u32 << w).map(|v| v >> (w - 1) == 1).collect();
        let parts = at(e, x[0]);
        one_hots::entry(e, parts, &table, Some(K), x.get(1).copied())
    };
    let all = move |w: u32, e: &mut Emit, x: &[ValueId]| {
        let table: Vec<bool> = (1..=1u32 << w).map(|v| v == 1 << w).collect();
        let row = e.stack(x.to_vec());
        let parts = at(e, row);
        one_hots::entry(e, parts, &table, None, None)
    };
    let each = |w: u32| {
        let emit = || -> Emitter { Box::new(move |e, x| word(w, e, x)) };
        [
            sign("sign as a word, by code", w, emit()),
            sign_times_word("sign times a word, by code", w, emit()),
            all_of(
                "all of a row, by code",
                vec![BIT; w as usize],
                Box::new(move |e, x| all(w, e, x)),
            ),
        ]
    };
    [2, 3].into_iter().flat_map(each).collect()
}

/// Of T2. Results are splits, and pairs that are settled.
fn dealer() -> Vec<Macro> {
    let product = |with: fn(&mut Emit, ValueId) -> Split| -> Emitter {
        Box::new(move |e, x| {
            let (x, y) = (with(e, x[0]), with(e, x[1]));
            let z = t2::product::product(e, &x, &y, Op::Mul);
            of_pair(e, z)
        })
    };
    let joined = || -> Emitter {
        Box::new(|e, x| {
            let x = bare(e, x[0]);
            masked::join(e, &x)
        })
    };
    let injected = |with: fn(&mut Emit, ValueId) -> Split| -> Emitter {
        Box::new(move |e, x| {
            let (c, x) = (split(e, x[0]), with(e, x[1]));
            let z = t2::selection::inject(e, &c, &x);
            of_pair(e, z)
        })
    };
    let mut out = vec![
        product_of_bits("product of bits", product(split)),
        product_of_words("product", product(split)),
        product_of_words("product of dealt masks", product(bare)),
        product_of_bits("product of dealt masks", product(bare)),
        new("join", Z2, vec![BYTE], choices(&[all_words()]), joined(), is(|x| x[0])),
        new("join", "1 bit", vec![BIT], some_bits(1), joined(), is(|x| x[0])),
        bit_to_word(Box::new(|e, x| {
            let x = split(e, x[0]);
            let word = t2::selection::to_word(e, &x, K);
            of_pair(e, word)
        })),
        bit_times_word("bit times word", injected(split)),
        bit_times_word("bit times word, mask not shared", injected(bare)),
    ];
    out.extend([1, 3].map(|f| {
        let truncate = move |e: &mut Emit, x: &[ValueId]| {
            let x = split(e, x[0]);
            let z = t2::truncation::truncate(e, &x, f, K).whole;
            of_split(e, &z)
        };
        truncation_by(f, Box::new(truncate))
    }));
    out.extend([0, 2].map(|s| {
        let lift = move |e: &mut Emit, x: &[ValueId]| {
            let x = split(e, x[0]);
            let z = t2::truncation::lift(e, &x, s, 16);
            of_split(e, &z)
        };
        lift_by(s, Box::new(lift))
    }));
    out.extend((1..=5).map(|w| {
        let negative = move |e: &mut Emit, x: &[ValueId]| {
            let x = split(e, x[0]);
            let z = t2::comparison::negative(e, &x, w, tuning());
            of_pair(e, z)
        };
        sign("sign", w, Box::new(negative))
    }));
    // Nodes over tables, of one and of two bits.
    out.extend([1, 2].map(|table| {
        let negative = move |e: &mut Emit, x: &[ValueId]| {
            let x = split(e, x[0]);
            let above = Node::Over(Box::new(Node::Leaf(1)), table);
            let z = t2::comparison::by_node(e, &x, &Node::Joined(vec![Node::Leaf(1), above]));
            of_pair(e, z)
        };
        sign("sign, over a table", table + 3, Box::new(negative))
    }));
    for w in 2..=4 {
        let zero = move |e: &mut Emit, x: &[ValueId]| {
            let x = split(e, x[0]);
            let z = t2::comparison::zero(e, &x, w, tuning());
            of_pair(e, z)
        };
        out.push(is_zero(w, Box::new(zero)));
        let all = |e: &mut Emit, x: &[ValueId]| {
            let x = stacked(e, x);
            let x = split(e, x);
            let z = t2::gates::all_planes(e, &x, tuning());
            of_pair(e, z)
        };
        out.push(all_of("and of planes", vec![BIT; w as usize], Box::new(all)));
    }
    out.extend([1, 2, 3].map(table));
    out.extend([3, 4].map(placed));
    out.push(placed_over_a_table());
    out.extend([1, 2].map(|n| {
        one_hot_label(n, |e, x, rows| {
            let z = t2::input_checks::one_hot_words(e, x, K, rows as u32, tuning()).1;
            of_pair(e, z)
        })
    }));
    out.push(range_of_an_input(|e, x, rows| {
        let z = t2::input_checks::in_range(e, x, (253, 5), rows as u32, tuning());
        of_pair(e, z)
    }));
    out.extend([None, Some(Sign::Cut), Some(Sign::Keep)].map(|sign| highest(2, sign)));
    out.extend([highest(3, None), highest_of_some()]);
    out.extend(functions_of_splits());
    out
}

fn table(w: usize) -> Macro {
    new(
        "table",
        format!("{w} bits"),
        vec![BIT; w],
        some_bits(w),
        Box::new(move |e, x| {
            let x = stacked(e, x);
            let x = split(e, x);
            let table: Vec<bool> = (0..1usize << w).map(|v| v * v % 3 == 1).collect();
            let z = lookup::lookup(e, &x, &table, None);
            of_pair(e, z)
        }),
        is(|x| {
            let v = x.iter().rev().fold(0, |v, b| 2 * v + b);
            bit(v * v % 3 == 1)
        }),
    )
}

fn placed(w: u32) -> Macro {
    let edge = 1 << (w - 2);
    new(
        "below, inside or above",
        format!("{w} bits, edge {edge}"),
        vec![BYTE],
        choices(&[whole(-edge, 2 * edge - 1)]),
        Box::new(move |e, x| {
            let x = split(e, x[0]);
            let at = t2::saturation::locate(e, &x, (w, w - 2), tuning());
            let (inside, large) = (of_split(e, &at.inside), of_split(e, &at.large));
            e.stack(vec![inside, large])
        }),
        is(move |x| {
            let x = signed(x[0]);
            bit((0..edge).contains(&x)) | bit(x >= edge) << 1
        }),
    )
}

fn placed_over_a_table() -> Macro {
    new(
        "below, inside or above, over a table",
        "4 bits, edge 2",
        vec![BYTE],
        choices(&[whole(-6, 7)]),
        Box::new(move |e, x| {
            let x = split(e, x[0]);
            let high = vec![Node::Over(Box::new(Node::Leaf(1)), 1)];
            let plan = Plan { low: vec![Node::Leaf(1)], high };
            let at = t2::saturation::by_plan(e, &x, 1, &plan);
            let (inside, large) = (of_split(e, &at.inside), of_split(e, &at.large));
            e.stack(vec![inside, large])
        }),
        is(|x| bit((0..2).contains(&signed(x[0]))) | bit(signed(x[0]) >= 2) << 1),
    )
}

/// Where the highest bit is, of numbers of w bits, with levels of few blocks.
fn highest(w: u32, sign: Option<Sign>) -> Macro {
    let among = Among { lo: 0, hi: w, top: w, sign: sign.unwrap_or(Sign::Cut) };
    let may = t2::position::May { be_negative: sign.is_some(), be_zero: true };
    let size = match sign {
        None => format!("{w} bits"),
        Some(Sign::Cut) => format!("{w} bits, negative counts as 0"),
        Some(Sign::Keep) => format!("{w} bits and a sign"),
    };
    let inputs = whole(if sign.is_some() { 1 - (1 << w) } else { 0 }, (1 << w) - 1);
    let right = move |x: &[u128]| {
        let x = signed(x[0]);
        let size = match sign {
            Some(Sign::Keep) if x < 0 => -1 - x,
            _ => x.max(0),
        };
        match size {
            // Of the complement no bit is set: one more plane.
            0 if x < 0 && sign == Some(Sign::Keep) => 1 << (w + 1),
            0 => 1 << w,
            size => 1 << size.ilog2(),
        }
    };
    let emit: Emitter = Box::new(move |e, x| {
        let x = split(e, x[0]);
        let few_bits = Tuning { latency: 0.0, bandwidth: 1.0 };
        let top = t2::position::top_bit(e, &x, among, may, few_bits);
        of_split(e, &top.hot)
    });
    new("highest bit", size, vec![BYTE], choices(&[inputs]), emit, is(right))
}

/// The same of numbers of three bits from 2 on, of which 4 to 7 are not told apart.
fn highest_of_some() -> Macro {
    let among = Among { lo: 1, hi: 2, top: 3, sign: Sign::Cut };
    let may = t2::position::May { be_negative: false, be_zero: false };
    let emit: Emitter = Box::new(move |e, x| {
        let x = split(e, x[0]);
        let top = t2::position::top_bit(e, &x, among, may, tuning());
        of_split(e, &top.hot)
    });
    let right = is(|x| bit(signed(x[0]) < 4));
    new("highest bit", "3 bits, from 2, below 4", vec![BYTE], choices(&[whole(2, 7)]), emit, right)
}

/// The functions of T2 that have protocols of their own.
fn functions_of_splits() -> Vec<Macro> {
    let mut all = normalised(|e, x, known| {
        // Tables of words are cut between groups.
        let groups = e.ty(x[0]).elements() as u32;
        let x: Vec<Split> = x.iter().map(|&x| masked::split(e, x, groups)).collect();
        let of = &mut t2::elementary::Masked { emit: e, tuning: tuning() };
        let operand = |x| of_20_bits(x, known.least, known.not_negative);
        let y = match known.function {
            Some(f) => elementary::function(of, f, &operand(x[0]), 64).expect("by position"),
            None => elementary::divide(of, &operand(x[0]), &operand(x[1]), 64),
        };
        of_split(e, &y)
    });
    all.extend([
        function(
            "exponential of what is not positive",
            64,
            &[-900_000, -786_432, -65536, -1, 0].map(|x| vec![x]),
            Box::new(|e, x| {
                let x = split(e, x[0]);
                let least = -f64::from(1 << 20);
                let of = (FRAC, least, 23);
                let y = t2::exponential::exp_non_positive(e, &x, of, 64, tuning());
                of_pair(e, y)
            }),
            STATED.of(Function::ExpNonPositive),
            |x| if x[0] < domain::EXP_LOW { 0.0 } else { x[0].exp() },
        ),
        function(
            "hyperbolic tangent, by pieces",
            32,
            &[-200_000, -65536, -1, 0, 3, 40_000, 262_144].map(|x| vec![x]),
            Box::new(|e, x| {
                // Tables of words are cut between groups.
                let groups = e.ty(x[0]).elements() as u32;
                let x = masked::split(e, x[0], groups);
                let ends = 4.0 * UNIT;
                let pieces = t2::functions::tanh_pieces(-ends, ends, FRAC, 32).expect("pieces");
                let y = pieces.eval(e, &x);
                of_split(e, &y)
            }),
            STATED.of(Function::Tanh),
            |x| x[0].tanh(),
        ),
    ]);
    all
}
