//! States of a circuit in the clear: as numbers by name, in a file, and as the words that a circuit reads and stores.

use crate::error::{About as _, Result, refuse};
use crate::tensors::{self, Named, put_f64, put_i64, read_described, write_described};
use slvr_circuit::{Circuit, Encoding, Input, fixed};
use slvr_compiler::diagnostic::plain::name as shown;
use slvr_ring::Data;
use slvr_runtime::share::encode::Encoded;
use std::collections::BTreeMap;
use std::path::Path;

/// Numbers by the name of their state.
pub type StateValues = BTreeMap<String, Vec<f64>>;

/// Has a circuit begin with these states; one that is not among them begins as it declares.
pub fn put(circuit: &Circuit, inputs: &mut Encoded, states: &StateValues) {
    for (i, input) in circuit.states() {
        let (ty, frac) = (circuit.ty(input.value), tensors::frac(input));
        if let Some(x) = states.get(&input.name) {
            let word = |&x: &f64| match ty.bits() {
                1 => u128::from(x != 0.0),
                k => fixed::encode(x, frac, k).unwrap_or(0),
            };
            let words: Vec<u128> = x.iter().map(word).collect();
            inputs.states.insert(i, Data::from_u128s(ty.dom, &words));
        }
    }
}

/// States as numbers, of words by the number of the input.
pub fn numbers(circuit: &Circuit, words: &BTreeMap<usize, Data>) -> StateValues {
    let one = |(i, input): (usize, &Input)| {
        let (k, frac) = (circuit.ty(input.value).bits(), tensors::frac(input));
        let words = words.get(&i).map_or(Vec::new(), Data::to_u128s);
        let number = |w| match k {
            1 => w as f64,
            _ => fixed::decode(w, k, frac),
        };
        (input.name.clone(), words.into_iter().map(number).collect())
    };
    circuit.states().map(one).collect()
}

/// The states that an evaluation in the clear begins with.
#[derive(Debug, Default)]
pub struct States {
    pub values: StateValues,
    /// Rounds before.
    pub rounds: u64,
}

/// What the number of rounds is called in the file's own description.
const ROUNDS: &str = "slvr.rounds";
/// What the predicate with its sizes and parameters is called there: a state belongs to one.
const PROGRAM: &str = "slvr.program";

/// A predicate with its sizes and parameters.
fn program(circuit: &Circuit) -> String {
    let sizes = circuit.sizes.iter().map(|(name, value)| format!(" {name}={value}"));
    format!("{}{}", circuit.name, sizes.collect::<String>())
}

/// The states of a file; if it is not there, none.
///
/// # Errors
///
/// [`Error::Input`](crate::Error::Input) of a file of another program, or with what no round leaves behind.
pub fn read(circuit: &Circuit, file: &Path) -> Result<States> {
    if !file.exists() {
        return Ok(States::default());
    }
    let declared = || circuit.states().map(|(_, input)| input);
    let (tensors, about) = read_described(file, "the states", declared())?;
    let at = file.display();
    if let Some(of) = about.get(PROGRAM).filter(|of| **of != program(circuit)) {
        refuse!(
            "{at}: the states are those of {}, and this is {}: a state belongs to one predicate with its sizes and \
             parameters. Begin another file",
            shown(of),
            program(circuit)
        );
    }
    let rounds = match about.get(ROUNDS) {
        // Of a file that says nothing of rounds there has been one.
        None => 1,
        Some(n) => n.parse().about(|| format!("{at}: `{ROUNDS}` is no number of rounds"))?,
    };
    let values: StateValues =
        tensors.into_iter().map(|(name, t)| (name, t.data.to_f64())).collect();
    for input in declared() {
        let of_input = values.get(&input.name).into_iter().flatten();
        if !of_input.copied().all(|x| is_kept(input, x)) {
            refuse!("{at}: tensor `{}`: not all entries are in the range of the state", input.name);
        }
    }
    Ok(States { values, rounds })
}

/// Whether a state may have this value after a round.
fn is_kept(input: &Input, x: f64) -> bool {
    match input.encoding {
        // The ends of the range are rounded, too.
        Encoding::Fixed { frac, lo, hi, .. } => {
            let unit = (-f64::from(frac)).exp2();
            (lo - unit..=hi + unit).contains(&x)
        }
        Encoding::Int { lo, hi } => (lo as f64..hi as f64).contains(&x),
        Encoding::OneHot { classes } => (0.0..classes as f64).contains(&x),
    }
}

/// Writes the states of the next round.
pub fn write(circuit: &Circuit, file: &Path, states: &States) -> Result<()> {
    let mut named = Named::new();
    for (_, input) in circuit.states() {
        let data = states.values.get(&input.name).map_or(&[][..], Vec::as_slice);
        match input.encoding {
            Encoding::Fixed { .. } => put_f64(&mut named, &input.name, &input.shape, data),
            _ => {
                let whole: Vec<i64> = data.iter().map(|&x| x as i64).collect();
                put_i64(&mut named, &input.name, &input.shape, &whole);
            }
        }
    }
    let about = [(ROUNDS, states.rounds.to_string()), (PROGRAM, program(circuit))];
    write_described(file, &named, &about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Build;
    use crate::notes::silent;
    use crate::program::load;

    /// A file of states is refused where it holds what no round leaves behind: the words of the first round would be
    /// others than the numbers.
    #[test]
    fn what_no_round_has_left_is_refused() {
        let text = "use std::{sum};\npredicate Going[m]() { parties Client[m]; parties Server;\n\
                    input x: secret fix in -8..8 from each Client;\n\
                    state last: secret fix in -8..8 = 0;\n\
                    store sum(x) as last;\nreveal last to Server as last; }";
        let build = Build::of_text("going.slvr", text, vec![("m".into(), "3".into())]);
        let loaded = load(&build, &silent).unwrap_or_else(|e| panic!("{e}"));
        let (circuit, place) = (loaded.circuit(), tempfile::tempdir().expect("a folder"));
        let file = place.path().join("last.safetensors");
        type Kept = std::result::Result<(Vec<f64>, u64), String>;
        let kept = |x: f64, about: &[(&str, String)]| -> Kept {
            let mut named = Named::new();
            put_f64(&mut named, "last", &[], &[x]);
            write_described(&file, &named, about).expect("it is written");
            let states = read(circuit, &file).map_err(|e| e.to_string())?;
            Ok((states.values["last"].clone(), states.rounds))
        };
        assert_eq!(kept(-8.0, &[]), Ok((vec![-8.0], 1)));
        assert_eq!(kept(2.5, &[(ROUNDS, "7".into())]), Ok((vec![2.5], 7)));
        let refused = |x: f64, about: &[(&str, String)], why: &str| {
            let said = kept(x, about);
            assert!(said.as_ref().is_err_and(|e| e.contains(why)), "{x} {about:?}: {said:?}");
        };
        for x in [9.0, -1e30, f64::INFINITY, f64::NAN] {
            refused(x, &[], "not all entries are in the range");
        }
        refused(1.0, &[(ROUNDS, "many".into())], "is no number of rounds");
        refused(1.0, &[(PROGRAM, "Going m=4".into())], "are those of Going m=4");
    }
}
