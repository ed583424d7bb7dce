//! From a circuit to its text.

use super::forms;
use super::lex::quote;
use super::param::{list, values};
use crate::{Circuit, Const, Encoding, Field, From, Input, Instr, Output, Security, Type, ValueId};
use std::fmt::Write;

/// The text of a circuit. A value id that has no type prints as if it had none, so that a circuit
/// that fails verification can still be shown.
pub fn print(circuit: &Circuit) -> String {
    let mut out = format!("circuit {}\n", quote(&circuit.name));
    let mut line = |s: String| {
        out.push_str(&s);
        out.push('\n');
    };
    if circuit.security != Security::SemiHonest {
        line(format!("security {}", circuit.security.token()));
    }
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
        From::State(start) => format!("state {start}"),
        From::Present(set) => format!("present {set}"),
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
        list(&i.shape),
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
        list(&o.shape),
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
    forms::print(&i.op, &mut out);
    if let Some(v) = i.out {
        out.push_str(&ty(circuit, v));
    }
    let _ = write!(out, " @{}", i.site);
    out
}

fn fields(fields: &[Field]) -> String {
    let mut out = String::new();
    for (i, f) in fields.iter().enumerate() {
        let start = if i == 0 { " fields " } else { " " };
        let _ = write!(out, "{start}{}{}", quote(&f.name), list(&f.shape));
    }
    out
}

fn ty(circuit: &Circuit, v: ValueId) -> String {
    circuit.types.get(v.index()).map(|t: &Type| format!(" : {t}")).unwrap_or_default()
}
