//! Files of tensors that are written: outputs of receivers, inputs that were made, states.

use crate::error::{About as _, Result, refuse};
use crate::files::{self, Prepared};
use safetensors::tensor::{Dtype, TensorView};
use slvr_circuit::{Circuit, Field};
use slvr_runtime::share::elements::{f32_bytes, f64_bytes, i64_bytes};
use slvr_runtime::share::encode::{RawData, RawTensor};
use slvr_runtime::share::reveal::Revealed;
use std::collections::BTreeMap;
use std::path::Path;

/// Whether a directory for outputs can be made, as far as one can tell without making it: a run is
/// not started for nothing, and one that is refused leaves nothing behind.
pub fn can_make(circuit: &Circuit, dir: &Path) -> Result<()> {
    if dir.is_dir() {
        let receives = |s: usize| circuit.outputs.iter().any(|o| o.to as usize == s);
        let sets = circuit.parties.iter().enumerate().filter(|(s, _)| receives(*s));
        for (_, set) in sets {
            crate::files::can_write(&dir.join(format!("{}.safetensors", set.name)))?;
        }
    }
    let Some(there) = dir.ancestors().find(|a| a.exists()) else { return Ok(()) };
    let why = match there.metadata() {
        Ok(m) if !m.is_dir() => "is not a directory",
        Ok(m) if m.permissions().readonly() => "is read-only",
        _ => return Ok(()),
    };
    refuse!("{}: outputs cannot be written there: {} {why}", dir.display(), there.display())
}

/// Named tensors of one file: shape, type and bytes.
pub type Named = BTreeMap<String, (Vec<usize>, Dtype, Vec<u8>)>;

/// Adds a tensor of real numbers, stored as f32.
pub fn put_f32(to: &mut Named, name: &str, shape: &[u64], data: &[f64]) {
    put(to, name, shape, Dtype::F32, f32_bytes(data));
}

/// Adds a tensor of real numbers.
pub fn put_f64(to: &mut Named, name: &str, shape: &[u64], data: &[f64]) {
    put(to, name, shape, Dtype::F64, f64_bytes(data));
}

/// Adds a tensor of integers.
pub fn put_i64(to: &mut Named, name: &str, shape: &[u64], data: &[i64]) {
    put(to, name, shape, Dtype::I64, i64_bytes(data));
}

fn put(to: &mut Named, name: &str, shape: &[u64], dtype: Dtype, bytes: Vec<u8>) {
    to.insert(name.into(), (shape.iter().map(|&d| d as usize).collect(), dtype, bytes));
}

/// Writes a safetensors file.
pub fn write_file(path: &Path, tensors: &Named) -> Result<()> {
    write_described(path, tensors, &[])
}

/// The same, with what the file says of itself.
pub fn write_described(path: &Path, tensors: &Named, about: &[(&str, String)]) -> Result<()> {
    files::write(path, &encoded(path, tensors, about)?)
}

/// The bytes of a safetensors file.
fn encoded(path: &Path, tensors: &Named, about: &[(&str, String)]) -> Result<Vec<u8>> {
    let mut views = Vec::new();
    for (name, (shape, dtype, bytes)) in tensors {
        let view = TensorView::new(*dtype, shape.clone(), bytes)
            .about(|| format!("{}: tensor `{name}`", path.display()))?;
        views.push((name.as_str(), view));
    }
    let said = about.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let about = (!about.is_empty()).then_some(said);
    safetensors::serialize(views, about).about(|| path.display().to_string())
}

/// Writes what each receiver got: `DIR/Server.safetensors`, one tensor per reveal or field, or for each member of a
/// set of several `DIR/Client/0.safetensors`. `members` has the numbers of each set's members among the files of inputs, if
/// some were left out.
pub fn write_outputs(
    circuit: &Circuit,
    outputs: &[Revealed],
    members: Option<&[Vec<u64>]>,
    dir: &Path,
) -> Result<()> {
    prepare_outputs(circuit, outputs, members, dir)?.into_iter().try_for_each(Prepared::commit)
}

/// The same up to the names of the files: whatever can go wrong with them has not by then.
fn prepare_outputs(
    circuit: &Circuit,
    outputs: &[Revealed],
    members: Option<&[Vec<u64>]>,
    dir: &Path,
) -> Result<Vec<Prepared>> {
    let mut all = Vec::new();
    files::make_folder(dir)?;
    for (s, set) in circuit.parties.iter().enumerate() {
        // Some of the circuit's outputs may be for somebody else.
        let declared =
            |r: &&Revealed| circuit.outputs.iter().find(|o| (&o.name, o.to) == (&r.name, r.to));
        let received: Vec<(&Revealed, &slvr_circuit::Output)> = (outputs.iter())
            .filter(|revealed| revealed.to as usize == s)
            .filter_map(|revealed| Some((revealed, declared(&revealed)?)))
            .collect();
        if received.is_empty() {
            continue;
        }
        for member in 0..set.size {
            let mut named = Named::new();
            for (revealed, output) in &received {
                got(&mut named, revealed, &output.fields, (member, set.size));
            }
            let numbers = members.and_then(|all| all.get(s));
            let number = numbers.and_then(|all| all.get(member as usize)).copied();
            // The only one that is left of several has a number, too.
            let path = match (set.size, number) {
                (1, None) => dir.join(format!("{}.safetensors", set.name)),
                _ => {
                    files::make_folder(&dir.join(&set.name))?;
                    let number = number.unwrap_or(member);
                    dir.join(&set.name).join(format!("{number}.safetensors"))
                }
            };
            all.push(files::prepare(&path, &encoded(&path, &named, &[])?, false)?);
        }
    }
    Ok(all)
}

/// Writes what one member got, which nobody else is to read.
pub fn write_own(path: &Path, outputs: &[(slvr_circuit::Output, Revealed)]) -> Result<()> {
    let mut named = Named::new();
    for (output, revealed) in outputs {
        got(&mut named, revealed, &output.fields, (0, 1));
    }
    files::write_secret(path, &encoded(path, &named, &[])?)
}

/// Adds what a member of a set of so many got.
fn got(named: &mut Named, revealed: &Revealed, fields: &[Field], (member, members): (u64, u64)) {
    let (shape, start) = match members {
        1 => (revealed.shape.as_slice(), 0),
        _ => {
            let own = revealed.shape.get(1..).unwrap_or(&[]);
            (own, member as usize * own.iter().product::<u64>() as usize)
        }
    };
    let all =
        |from: usize, n: u64| revealed.values.get(from..from + n as usize).unwrap_or_default();
    if fields.is_empty() {
        put_f64(named, &revealed.name, shape, all(start, shape.iter().product()));
    }
    let mut at = start;
    for f in fields {
        let n = f.shape.iter().product::<u64>();
        put_f64(named, &format!("{}.{}", revealed.name, f.name), &f.shape, all(at, n));
        at += n as usize;
    }
}

/// A giver's tensors under the names of a file: records by field.
pub fn named(circuit: &Circuit, tensors: &BTreeMap<String, RawTensor>) -> Named {
    let mut out = Named::new();
    for (name, tensor) in tensors {
        let fields = circuit.inputs.iter().find(|i| i.name == *name).map_or(&[][..], |i| &i.fields);
        match &tensor.data {
            RawData::I64(v) => put_i64(&mut out, name, &tensor.shape, v),
            real if fields.is_empty() => put_f32(&mut out, name, &tensor.shape, &real.to_f64()),
            real => {
                let all = real.to_f64();
                let mut rest = all.as_slice();
                for f in fields {
                    let part;
                    let n = f.shape.iter().product::<u64>() as usize;
                    (part, rest) = rest.split_at(n.min(rest.len()));
                    put_f32(&mut out, &format!("{name}.{}", f.name), &f.shape, part);
                }
            }
        }
    }
    out
}
