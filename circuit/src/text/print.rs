//! From a circuit to its text.

use super::super::multi_and::MultiAnd;
use super::super::{
    Circuit, Const, Dom, Encoding, Field, From, Input, Instr, Op, Output, SplitPart, Type, ValueId,
};
use super::lex::quote;
use std::fmt::Write;

/// The text of a circuit. A value id that has no type prints as if it had none, so that a circuit
/// that fails verification can still be shown.
pub fn print(circuit: &Circuit) -> String {
    let mut out = format!("circuit {}\n", quote(&circuit.name));
    let mut line = |s: String| {
        out.push_str(&s);
        out.push('\n');
    };
    for (name, value) in &circuit.sizes {
        line(format!("size {} = {}", quote(name), quote(value)));
    }
    for p in &circuit.parties {
        line(format!("party {} {}", quote(&p.name), p.size));
    }
    for i in &circuit.inputs {
        line(input(circuit, i));
    }
    for c in &circuit.consts {
        line(constant(circuit, c));
    }
    for (i, o) in circuit.outputs.iter().enumerate() {
        line(output(i, o));
    }
    for c in &circuit.checks {
        line(format!("check {} {}", c.set, c.value));
    }
    for (i, s) in circuit.sites.iter().enumerate() {
        line(format!("site {i} {} line {}", quote(&s.name), s.line));
    }
    for (i, layer) in circuit.layers.iter().enumerate() {
        line(format!("layer {i}:"));
        layer.local.iter().for_each(|i| line(instr(circuit, i)));
        if !layer.exchange.is_empty() {
            line("  exchange:".to_string());
            layer.exchange.iter().for_each(|i| line(instr(circuit, i)));
        }
        if !layer.drop.is_empty() {
            line(format!("  drop {}", values(&layer.drop)));
        }
    }
    out
}

fn input(circuit: &Circuit, i: &Input) -> String {
    let from = match i.from {
        From::Public => "public".to_string(),
        From::Each(set) => set.to_string(),
    };
    let encoding = match i.encoding {
        Encoding::Fixed { frac, lo, hi, shift, norm } => {
            let shift = if shift == 0 { String::new() } else { format!(", shift {shift}") };
            let norm =
                if norm == f64::INFINITY { String::new() } else { format!(", norm {norm:?}") };
            format!("fixed({frac}, {lo:?}, {hi:?}{shift}{norm})")
        }
        Encoding::Int { lo, hi } => format!("int({lo}, {hi})"),
        Encoding::OneHot { classes } => format!("one_hot({classes})"),
    };
    format!(
        "input {} {} from {from} {encoding} {}{}{}",
        i.value,
        quote(&i.name),
        shape(&i.shape),
        fields(&i.fields),
        ty(circuit, i.value)
    )
}

fn constant(circuit: &Circuit, c: &Const) -> String {
    let mut out = format!("const {}{} =", c.value, ty(circuit, c.value));
    let mut rest = &c.data[..];
    while let [first, ..] = *rest {
        // u128::MAX has no successor, so a range never reaches past it.
        let follows = |a: u128, b: u128| a.checked_add(1) == Some(b) && b != u128::MAX;
        let range = 1 + rest.windows(2).take_while(|w| follows(w[0], w[1])).count();
        let run = rest.iter().take_while(|&&x| x == first).count();
        let used = if range > 2 {
            let _ = write!(out, " {first}..{}", first + range as u128);
            range
        } else if run > 1 {
            let _ = write!(out, " {first}x{run}");
            run
        } else {
            let _ = write!(out, " {first}");
            1
        };
        rest = &rest[used..];
    }
    out
}

fn output(index: usize, o: &Output) -> String {
    format!(
        "output {index} {} to {} {} ring {} frac {} factor {:?} divisor {:?}{}",
        quote(&o.name),
        o.to,
        shape(&o.shape),
        o.ring,
        o.frac,
        o.factor,
        o.divisor,
        fields(&o.fields)
    )
}

fn instr(circuit: &Circuit, i: &Instr) -> String {
    let mut out = String::from("  ");
    if let Some(v) = i.out {
        let _ = write!(out, "{v} = ");
    }
    out.push_str(&op(&i.op));
    if let Some(v) = i.out {
        out.push_str(&ty(circuit, v));
    }
    let _ = write!(out, " @{}", i.site);
    out
}

fn op(op: &Op) -> String {
    use Op::{
        Add, Admitted, AsAdd2, AsAdd3, Broadcast, Coin, Committee, Concat, Conv2d, Deal, DealMask,
        Dup, DupOf, Entry, Extend, FromBits, Gather, Input, Join, Mask, MaskOf, MaskProducts,
        MatMul, Mul, Narrow, Neg, Not, Offset, Open, OpenMasked, OpenSum, OpenTo, Own, OwnOf, Pick,
        Planes, Project, Propagate, Raise, Reshape, Reshare, ReshareTwo, Scale, SelectPlanes, Shr,
        Slice, Stack, Sub, Sum, Table, Thermometer, ToBits, ToPlanes, Transpose, Trivial,
    };
    let name = op.name();
    match op {
        Add(a, b) | Sub(a, b) | Mul(a, b) => format!("{name} {a} {b}"),
        Scale(x, c) | Offset(x, c) => format!("{name} {x} {c}"),
        MatMul { a, b, trans_b } => {
            format!("{name} {a} {b}{}", if *trans_b { " transposed" } else { "" })
        }
        Conv2d { x, w, stride, pad } => format!("{name} {x} {w} stride {stride} pad {pad}"),
        Sum { x, axes } => format!("{name} {x} axes {}", shape(axes)),
        Narrow(x, k) | Raise(x, k) | Extend(x, k) | Shr(x, k) | FromBits(x, k) => {
            format!("{name} {x} {k}")
        }
        ToBits { x, lo, w } => format!("{name} {x} lo {lo} w {w}"),
        Planes { x, start, step, count } => {
            format!("{name} {x} start {start} step {step} count {count}")
        }
        Stack(xs) => format!("{name} {}", values(xs)),
        Reshape(x, s) | Broadcast(x, s) | Transpose(x, s) => format!("{name} {x} {}", shape(s)),
        Slice { x, axis, start, len, step } => {
            format!("{name} {x} axis {axis} start {start} len {len} step {step}")
        }
        Concat { xs, axis } => format!("{name} {} axis {axis}", values(xs)),
        Gather { x, index, axis, batch } => format!("{name} {x} {index} axis {axis} batch {batch}"),
        Committee { coin, n, k } => format!("{name} {coin} n {n} k {k}"),
        Admitted { check, members } => format!("{name} {check} members {members}"),
        Project { x, coin, tests, part } => {
            let part = match part {
                SplitPart::Whole => String::new(),
                SplitPart::Own(groups) => format!(" own groups {groups}"),
                SplitPart::Dup(groups) => format!(" dup groups {groups}"),
            };
            format!("{name} {x} {coin} tests {tests}{part}")
        }
        OpenTo { x, output } => format!("{name} {x} output {output}"),
        Neg(x) | Not(x) | Own(x) | Dup(x) | AsAdd2(x) | AsAdd3(x) | Trivial(x) | Reshare(x)
        | Input(x) | Deal(x) | ReshareTwo(x) | Open(x) | OpenSum(x) => format!("{name} {x}"),
        MaskOf(x, groups) | OwnOf(x, groups) | DupOf(x, groups) => {
            format!("{name} {x} groups {groups}")
        }
        Join { mask, dup } => format!("{name} {mask} {dup}"),
        Mask { tag, dom, shape: s, groups } => {
            format!("{name} {tag} {} {} groups {groups}", domain(*dom), shape(s))
        }
        SelectPlanes(x, planes) => format!("{name} {x} {}", list(planes)),
        Thermometer { x, blocks } => format!("{name} {x} {}", list(blocks)),
        Pick { table, index, blocks } => format!("{name} {table} {index} {}", list(blocks)),
        Propagate { table, index, blocks, skip } => {
            format!("{name} {table} {index} {} skip {skip}", list(blocks))
        }
        MaskProducts { x, gates } => format!("{name} {x} {}", pattern(gates)),
        Op::AndMany { open, mask, products, nodes, gates } => {
            let nodes = nodes.map_or(String::new(), |v| format!(" of {v}"));
            format!("{name} {open} {mask} {products} {}{nodes}", pattern(gates))
        }
        Table { x, table: y } | Entry { table: x, index: y } | OpenMasked { x, mask: y } => {
            format!("{name} {x} {y}")
        }
        ToPlanes(x) | DealMask(x) => format!("{name} {x}"),
        Coin => name.to_string(),
    }
}

fn domain(dom: Dom) -> String {
    match dom {
        Dom::Ring(k) => format!("A{k}"),
        Dom::Bits(w) => format!("B{w}"),
    }
}

fn pattern(gates: &MultiAnd) -> String {
    let name = match gates {
        MultiAnd::And(_) => "and",
        MultiAnd::Carry(_) => "carry",
    };
    format!("{name} {}", list(gates.sizes()))
}

fn list(xs: &[u32]) -> String {
    shape(&xs.iter().map(|&x| x.into()).collect::<Vec<u64>>())
}

fn values(xs: &[ValueId]) -> String {
    xs.iter().map(ValueId::to_string).collect::<Vec<_>>().join(" ")
}

fn shape(s: &[u64]) -> String {
    let sizes: Vec<String> = s.iter().map(u64::to_string).collect();
    format!("[{}]", sizes.join(","))
}

fn fields(fields: &[Field]) -> String {
    let mut out = String::new();
    for (i, f) in fields.iter().enumerate() {
        let start = if i == 0 { " fields " } else { " " };
        let _ = write!(out, "{start}{}{}", quote(&f.name), shape(&f.shape));
    }
    out
}

fn ty(circuit: &Circuit, v: ValueId) -> String {
    circuit.types.get(v.index()).map(|t: &Type| format!(" : {t}")).unwrap_or_default()
}
