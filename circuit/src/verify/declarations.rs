//! Invariants of what a circuit declares: sizes, inputs, outputs and checks.

use super::error::VerifyError;
use super::infer::bounded;
use crate::limits::{MAX_CONSTS, MAX_DECLARATIONS, MAX_LAYERS, MAX_MEMBERS, MAX_RANK, MAX_VALUES};
use crate::types::elements;
use crate::{Circuit, Dom, Encoding, Field, From, Hold, Input, Output, Type, ValueId, fixed};
use std::collections::BTreeSet;

/// Invariant 15, in a circuit whose values are all defined.
pub(super) fn checks(circuit: &Circuit) -> Result<(), VerifyError> {
    let given: BTreeSet<ValueId> = (circuit.inputs.iter().map(|i| i.value))
        .chain(circuit.consts.iter().map(|c| c.value))
        .collect();
    let mut sets = BTreeSet::new();
    for (index, check) in circuit.checks.iter().enumerate() {
        let (set, ty) =
            (circuit.parties.get(check.set as usize), circuit.types.get(check.value.index()));
        let why = match (set, ty) {
            (None, _) => "its party set does not exist",
            (_, None) => "its value does not exist",
            _ if !sets.insert(check.set) => "another check has its party set",
            _ if circuit.inputs.iter().all(|i| i.from != From::Each(check.set)) => {
                "its party set gives no inputs"
            }
            _ if given.contains(&check.value) => "its value is not the result of an instruction",
            (Some(set), Some(ty)) => match (ty.hold, ty.dom, &ty.shape[..]) {
                (Hold::Public, Dom::Bits(1), &[n]) if n == set.size => continue,
                _ => "its value is not one public bit for each member",
            },
        };
        return Err(VerifyError::BadCheck { index, why });
    }
    Ok(())
}

/// Invariant 18.
pub(super) fn names(c: &Circuit) -> Result<(), VerifyError> {
    let mut sets = BTreeSet::new();
    for set in &c.parties {
        let word = set.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !word || set.name.is_empty() || !sets.insert(&set.name) {
            return Err(VerifyError::Name("a party set's name is not a word, or another has it"));
        }
    }
    let controls = |name: &String| name.chars().any(char::is_control);
    let record = |name: &String, fields: &[Field]| {
        controls(name) || fields.iter().any(|f| controls(&f.name))
    };
    let bad = controls(&c.name)
        || c.sizes.iter().any(|(name, value)| controls(name) || controls(value))
        || c.sites.iter().any(|s| controls(&s.name))
        || c.inputs.iter().any(|i| record(&i.name, &i.fields))
        || c.outputs.iter().any(|o| record(&o.name, &o.fields));
    if bad { Err(VerifyError::Name("a name has control characters")) } else { Ok(()) }
}

/// Invariant 1.
pub(super) fn bounds(c: &Circuit) -> Result<(), VerifyError> {
    let consts = c.consts.iter().fold(0usize, |n, c| n.saturating_add(c.data.len()));
    let fields = c.inputs.iter().map(|i| i.fields.len());
    let fields: usize = fields.chain(c.outputs.iter().map(|o| o.fields.len())).sum();
    for (what, found, limit) in [
        ("values", c.types.len(), MAX_VALUES),
        ("layers", c.layers.len(), MAX_LAYERS),
        ("instructions", c.instructions(), MAX_VALUES),
        ("sites", c.sites.len(), MAX_VALUES),
        ("sizes", c.sizes.len(), MAX_DECLARATIONS),
        ("party sets", c.parties.len(), MAX_DECLARATIONS),
        ("inputs", c.inputs.len(), MAX_DECLARATIONS),
        ("outputs", c.outputs.len(), MAX_DECLARATIONS),
        ("checks", c.checks.len(), MAX_DECLARATIONS),
        ("fields", fields, MAX_DECLARATIONS),
        ("words of constants", consts, MAX_CONSTS),
    ] {
        if found > limit {
            return Err(VerifyError::TooMany(what));
        }
    }
    for (set, p) in c.parties.iter().enumerate() {
        if p.size == 0 || p.size > MAX_MEMBERS {
            return Err(VerifyError::PartySize { set, size: p.size });
        }
    }
    Ok(())
}

/// What is wrong with an input whose value has this type: invariant 10.
pub(super) fn bad_input(circuit: &Circuit, input: &Input, ty: &Type) -> Option<&'static str> {
    let mut shape = Vec::new();
    let hold = match input.from {
        From::Public => Hold::Public,
        From::State(_) => Hold::Rep,
        From::Each(set) => match circuit.parties.get(set as usize) {
            Some(set) => {
                shape.push(set.size);
                Hold::Rep
            }
            None => return Some("its party set does not exist"),
        },
        From::Present(set) => match circuit.parties.get(set as usize) {
            Some(set) if input.shape == [set.size] && ty.dom == Dom::Bits(1) => Hold::Public,
            Some(_) => return Some("presence is a bit for each member of a party set"),
            None => return Some("its party set does not exist"),
        },
    };
    if let (From::State(start), k) = (input.from, ty.bits())
        && k < 64
        && !(-(1i64 << (k - 1))..1i64 << k).contains(&start)
    {
        return Some("what it begins with does not fit");
    }
    shape.extend(&input.shape);
    if ty.hold != hold {
        return Some("its value is not held as its giver implies");
    }
    let k = ty.bits();
    let in_range = match input.encoding {
        Encoding::Fixed { frac, lo, hi, shift, norm } => {
            // A public number that does not fit is found when it is encoded.
            let fits = |x| hold == Hold::Public || fixed::encode(x, frac, k).is_some();
            let room =
                shift == 0 || fixed::shifted(lo.abs().max(hi.abs()), frac, shift, k).is_some();
            lo <= hi && fits(lo) && fits(hi) && room && norm >= 0.0
        }
        Encoding::Int { lo: 0, hi: 2 } if ty.dom == Dom::Bits(1) => true,
        Encoding::Int { lo, hi } => {
            let fits = |x: i128| k >= 128 || (-(1i128 << (k - 1))..1i128 << (k - 1)).contains(&x);
            lo < hi && fits(i128::from(lo)) && fits(i128::from(hi) - 1)
        }
        Encoding::OneHot { classes } => {
            shape.push(classes);
            classes >= 1
        }
    };
    let bits = matches!(input.encoding, Encoding::OneHot { .. } | Encoding::Int { lo: 0, hi: 2 });
    match ty.dom {
        Dom::Bits(w) if !bits || w != 1 => Some("it is over bits"),
        _ if !in_range => Some("its range is empty or does not fit the ring"),
        _ if ty.shape != shape => Some("its value has another shape"),
        _ => bad_fields(&input.fields, &input.shape),
    }
}

/// What is wrong with an output, besides how it is opened: invariant 13.
pub(super) fn bad_output(circuit: &Circuit, output: &Output) -> Option<&'static str> {
    let members = circuit.parties.get(output.to as usize).map(|p| p.size);
    if members.is_none() {
        Some("its receiver does not exist")
    } else if members.is_some_and(|m| m > 1 && output.shape.first() != Some(&m)) {
        Some("there is not one entry for each member of its receivers")
    } else if [output.factor, output.divisor].iter().any(|x| !x.is_finite() || *x == 0.0) {
        Some("the factor or the divisor is zero or not finite")
    } else if output.frac > 1000 {
        Some("too many fraction bits")
    } else {
        bad_fields(&output.fields, &output.shape)
    }
}

fn bad_fields(fields: &[Field], shape: &[u64]) -> Option<&'static str> {
    if fields.is_empty() {
        return None;
    }
    if fields.iter().any(|f| f.shape.len() > MAX_RANK || !bounded(&f.shape)) {
        return Some("a field is too large");
    }
    let total = fields.iter().fold(0u64, |n, f| n.saturating_add(elements(&f.shape)));
    (shape != [total]).then_some("its fields do not fill its only axis")
}
