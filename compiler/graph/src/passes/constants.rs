//! Whether the run keeps every constant of a graph.
//!
//! Rewrites combine constants only where the result is a number of the run ([`slvr_language::types::number`]). What is
//! left is what scales make of them: a constant may have too many bits for a word, or round to 0, and a
//! factor may be so small that all of its products round to 0. Such a program would decide the same for
//! every input, so it is refused where the constant stands. One that is only rounded by much is warned of.

use super::promise::live;
use crate::analysis::behind::behind;
use crate::analysis::guard::Entries;
use crate::analysis::magnitudes::Magnitudes;
use crate::graph::{Graph, NodeId, Op};
use slvr_language::diagnostic::{Diagnostic, codes};
use slvr_language::types::Elem;
use slvr_language::types::number::{NumberError, held};
use std::collections::BTreeSet;

/// Bits of a word without its sign.
const WORD: u32 = 63;

/// The first constant that is lost, if any.
pub(super) fn check(g: &Graph) -> Result<(), Box<Diagnostic>> {
    let live = live(g);
    let sizes = Magnitudes::new(Entries::Declared);
    let lost = |id: NodeId| lost(g, &sizes, id).map(|why| refuse(g, id, why));
    match g.ids().filter(|id| live[id.index()]).find_map(lost) {
        Some(error) => Err(Box::new(error)),
        None => Ok(()),
    }
}

/// A constant that is off by more than this part of it is warned of.
const PART: f64 = 0.01;

/// Warnings of constants that are other numbers in a run, once for each place and number.
pub fn rounded(g: &Graph) -> Vec<Diagnostic> {
    let live = live(g);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for id in g.ids().filter(|id| live[id.index()]) {
        let (Op::Const(table, Elem::Fix, Some(frac)), site) = (g.op(id), g.site(id)) else {
            continue;
        };
        let unit = (-f64::from(*frac)).exp2();
        let held = |x: f64| (x / unit).round_ties_even() * unit;
        let off = |x: f64| (held(x) / x - 1.0).abs();
        let worst = table.data.iter().copied().filter(|x| *x != 0.0 && off(*x) > PART);
        let Some(x) = worst.max_by(|a, b| off(*a).total_cmp(&off(*b))) else { continue };
        let place = site.place(g.op(id));
        let span = place.call.unwrap_or(place.span);
        if !seen.insert((span.file, span.start, x.to_bits())) {
            continue;
        }
        let title = format!("the constant {x:e} is {:.3e} in a run", held(x));
        let label = format!("off by {:.0} % of it", 100.0 * off(x));
        let mut warning = Diagnostic::warning(codes::ROUNDED, title, span, label);
        if place.call.is_some() {
            warning = warning.label(place.span, "it stands here");
        }
        found.push(warning.hint(format!(
            "numbers are multiples of {unit:.1e} here: bring both sides to a common size, for example by dividing the \
             inputs or by declaring a narrower range, which leaves more bits; an `eps` may be 0 or larger"
        )));
    }
    found
}

/// How a constant is lost.
struct Lost {
    what: String,
    why: NumberError,
}

fn lost(g: &Graph, sizes: &Magnitudes, id: NodeId) -> Option<Lost> {
    let ty = g.ty(id);
    let unit = |frac: u32| f64::from(frac).exp2();
    let of = |x: f64, why| Some(Lost { what: format!("the constant {x:e}"), why });
    match g.op(id) {
        Op::Const(table, elem, frac) if *elem != Elem::Bit => table.data.iter().find_map(|&x| {
            let raw = x.abs() * unit(frac.unwrap_or(0));
            match frac {
                None => held(x).err().and_then(|why| of(x, why)),
                Some(_) if !x.is_finite() || raw >= unit(WORD) => of(x, NumberError::TooLarge),
                // It would be rounded to 0.
                Some(_) if x != 0.0 && raw <= 0.5 => of(x, NumberError::TooSmall),
                Some(_) => None,
            }
        }),
        Op::Scale(c) => {
            let fits = if ty.frac.is_some() { c.abs() < unit(WORD) } else { held(*c).is_ok() };
            let why = if c.abs() < 1.0 { NumberError::TooSmall } else { NumberError::TooLarge };
            if fits { None } else { of(*c, why) }
        }
        Op::DivPow2(_) if ty.frac > Some(WORD) => {
            Some(Lost { what: "a factor".into(), why: NumberError::TooSmall })
        }
        Op::Trunc(_) => {
            let x = g.arg(id, 0);
            let scaled = matches!(g.op(behind(g, x, Op::is_layout)), Op::DivPow2(_) | Op::Scale(_));
            let size = sizes.of(g, x);
            let vanishes = scaled && size > 0.0 && size * unit(ty.frac.unwrap_or(0)) < 0.5;
            let what = || format!("a factor: its products are at most {size:.1e}, and become 0");
            vanishes.then(|| Lost { what: what(), why: NumberError::TooSmall })
        }
        _ => None,
    }
}

fn refuse(g: &Graph, id: NodeId, lost: Lost) -> Diagnostic {
    let site = g.site(id);
    let bits = match g.ty(id).frac {
        Some(frac) if frac <= WORD => format!(", {frac} of them for the fraction here"),
        _ => String::new(),
    };
    let title = "a constant is lost among the values it is computed with";
    let why = format!("{}: {}", lost.what, lost.why);
    let about = match site.place(g.op(id)).call {
        Some(call) => {
            Diagnostic::error(codes::CONSTANT, title, call, "called here").label(site.span, why)
        }
        None => Diagnostic::error(codes::CONSTANT, title, site.span, why),
    };
    let about = match (g.op(id), g.ty(id).frac) {
        (Op::Const(..), Some(frac)) if lost.why == NumberError::TooSmall && frac <= WORD => about
            .hint({
                let unit = (-f64::from(frac)).exp2();
                // Two digits that are no less than the half.
                let least = unit / 2.0 * 1.05;
                format!(
                    "numbers are multiples of {unit:.1e} here: write 0, or at least {least:.1e}; an `eps` beside a divisor \
                     or below a root may be 0, because x / 0 is cut and 0 / 0 is 0"
                )
            }),
        _ => about,
    };
    about.hint(format!(
        "words have 64 bits{bits}; bring both sides to a common size, for example by dividing the inputs or \
        by declaring a narrower range"
    ))
}
