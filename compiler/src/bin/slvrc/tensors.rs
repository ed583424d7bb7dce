//! safetensors files in and out.
//!
//! `DIR/public.safetensors` holds public inputs, `DIR/Client/3.safetensors` the secret inputs of
//! member 3 of the party set `Client`. A field of a record is `input.field`.

use anyhow::{Context, anyhow, bail};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use slvr_runtime::circuit::{Circuit, From, Input};
use slvr_runtime::share::encode::{InputError, Inputs, Problem, RawData, RawTensor};
use slvr_runtime::share::reveal::Revealed;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads the inputs that a circuit declares.
pub fn read(circuit: &Circuit, dir: &Path) -> anyhow::Result<Inputs> {
    if !dir.is_dir() {
        bail!("{}: no such directory of inputs", dir.display());
    }
    let of = |from: From| circuit.inputs.iter().filter(move |i| i.from == from);
    let mut public = BTreeMap::new();
    if of(From::Public).next().is_some() {
        public = read_file(&dir.join("public.safetensors"), of(From::Public))?;
    }
    let mut sets = Vec::new();
    for (s, set) in circuit.parties.iter().enumerate() {
        let from = From::Each(s as u32);
        let mut members = Vec::new();
        if of(from).next().is_some() {
            let folder = dir.join(&set.name);
            if !folder.is_dir() {
                bail!(
                    "{}: no such directory; it should hold the inputs of the {} members of {}",
                    folder.display(),
                    set.size,
                    set.name
                );
            }
            for i in 0..set.size {
                members.push(read_file(&folder.join(format!("{i}.safetensors")), of(from))?);
            }
            // A surplus file is most likely a wrong size on the command line.
            let extra = folder.join(format!("{}.safetensors", set.size));
            if extra.exists() {
                bail!(
                    "{}: {} has only {} members here; bind its size to use this file",
                    extra.display(),
                    set.name,
                    set.size
                );
            }
        }
        sets.push(members);
    }
    Ok(Inputs { public, sets })
}

fn read_file<'a>(
    path: &Path,
    inputs: impl Iterator<Item = &'a Input>,
) -> anyhow::Result<BTreeMap<String, RawTensor>> {
    let at = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("{at}: cannot be read"))?;
    let file = SafeTensors::deserialize(&bytes)
        .map_err(|e| anyhow!("{at}: not a safetensors file: {e}"))?;
    let mut out = BTreeMap::new();
    for input in inputs {
        let tensor = if input.fields.is_empty() {
            one(&file, &input.name, None).with_context(|| at.to_string())?
        } else {
            record(&file, input).with_context(|| at.to_string())?
        };
        out.insert(input.name.clone(), tensor);
    }
    Ok(out)
}

/// All fields of a record, one after another.
fn record(file: &SafeTensors, input: &Input) -> anyhow::Result<RawTensor> {
    let mut all = Vec::new();
    for field in &input.fields {
        let name = format!("{}.{}", input.name, field.name);
        match one(file, &name, Some(&field.shape))?.data {
            RawData::F64(v) => all.extend(v),
            RawData::I64(_) => {
                bail!("tensor `{name}`: holds integers, the circuit expects real numbers")
            }
        }
    }
    Ok(RawTensor::reals(vec![all.len() as u64], all))
}

fn one(file: &SafeTensors, name: &str, shape: Option<&[u64]>) -> anyhow::Result<RawTensor> {
    let Ok(view) = file.tensor(name) else {
        let mut names: Vec<&str> = file.names().into_iter().collect();
        names.sort_unstable();
        let near = slvrc::diagnostic::near::did_you_mean(name, names.iter().copied());
        let hint = match near {
            Some(n) => format!("; did you mean `{n}`?"),
            None if names.is_empty() => "; the file is empty".to_string(),
            None => format!("; the file has {}", names[..names.len().min(8)].join(", ")),
        };
        bail!("tensor `{name}`: missing{hint}");
    };
    let found: Vec<u64> = view.shape().iter().map(|&d| d as u64).collect();
    if let Some(expected) = shape
        && found != expected
    {
        bail!("tensor `{name}`: has shape {found:?}, the circuit expects {expected:?}");
    }
    Ok(RawTensor { shape: found, data: elements(name, &view)? })
}

fn elements(name: &str, view: &TensorView) -> anyhow::Result<RawData> {
    macro_rules! as_is {
        ($ty:ty, $kind:ident, $to:ty) => {
            RawData::$kind(
                view.data()
                    .chunks_exact(size_of::<$ty>())
                    .filter_map(|c| c.try_into().ok().map(<$ty>::from_le_bytes))
                    .map(<$to>::from)
                    .collect(),
            )
        };
    }
    Ok(match view.dtype() {
        Dtype::F32 => as_is!(f32, F64, f64),
        Dtype::F64 => as_is!(f64, F64, f64),
        Dtype::I64 => as_is!(i64, I64, i64),
        Dtype::I32 => as_is!(i32, I64, i64),
        Dtype::I16 => as_is!(i16, I64, i64),
        Dtype::I8 => as_is!(i8, I64, i64),
        Dtype::U8 => as_is!(u8, I64, i64),
        Dtype::U16 => as_is!(u16, I64, i64),
        Dtype::U32 => as_is!(u32, I64, i64),
        Dtype::U64 => {
            let words = view.data().chunks_exact(8).filter_map(|c| c.try_into().ok());
            let signed = words.map(|c| i64::try_from(u64::from_le_bytes(c)));
            match signed.collect() {
                Ok(v) => RawData::I64(v),
                Err(_) => bail!("tensor `{name}`: an element does not fit 64 signed bits"),
            }
        }
        other => bail!(
            "tensor `{name}`: element type {other:?} is not supported; use F32 or F64 for `fix`, an integer type for `int`"
        ),
    })
}

/// An input error with the file it came from, and for a record the field.
pub fn locate(circuit: &Circuit, dir: &Path, e: InputError) -> anyhow::Error {
    let file: PathBuf = match e.giver.split_once(' ') {
        None => dir.join("public.safetensors"),
        Some((set, member)) => dir.join(set).join(format!("{member}.safetensors")),
    };
    let input = circuit.inputs.iter().find(|i| i.name == e.tensor);
    let field = |index: &[u64]| -> Option<(String, Vec<u64>)> {
        let mut at = *index.first()?;
        for f in &input?.fields {
            let n: u64 = f.shape.iter().product();
            if at < n {
                let mut inner = vec![0; f.shape.len()];
                for (d, &size) in f.shape.iter().enumerate().rev() {
                    inner[d] = at % size;
                    at /= size;
                }
                return Some((format!("{}.{}", e.tensor, f.name), inner));
            }
            at -= n;
        }
        None
    };
    let (mut tensor, mut problem) = (e.tensor.clone(), e.problem.clone());
    if let Problem::NotFinite { index }
    | Problem::Range { index, .. }
    | Problem::Overflow { index, .. } = &mut problem
        && let Some((name, inner)) = field(index)
    {
        tensor = name;
        *index = inner;
    }
    anyhow!("{}: tensor `{tensor}`: {problem}", file.display())
}

/// Named tensors of one file, as f64.
pub type Named = BTreeMap<String, (Vec<usize>, Dtype, Vec<u8>)>;

/// Adds a tensor of real numbers, stored as f32.
pub fn put_f32(to: &mut Named, name: &str, shape: &[u64], data: impl Iterator<Item = f32>) {
    let bytes = data.flat_map(f32::to_le_bytes).collect();
    to.insert(name.into(), (shape.iter().map(|&d| d as usize).collect(), Dtype::F32, bytes));
}

/// Adds a tensor of real numbers.
pub fn put_f64(to: &mut Named, name: &str, shape: &[u64], data: impl Iterator<Item = f64>) {
    let bytes = data.flat_map(f64::to_le_bytes).collect();
    to.insert(name.into(), (shape.iter().map(|&d| d as usize).collect(), Dtype::F64, bytes));
}

/// Adds a tensor of integers.
pub fn put_i64(to: &mut Named, name: &str, shape: &[u64], data: impl Iterator<Item = i64>) {
    let bytes = data.flat_map(i64::to_le_bytes).collect();
    to.insert(name.into(), (shape.iter().map(|&d| d as usize).collect(), Dtype::I64, bytes));
}

/// Writes a safetensors file.
pub fn write_file(path: &Path, tensors: &Named) -> anyhow::Result<()> {
    let mut views = Vec::new();
    for (name, (shape, dtype, bytes)) in tensors {
        let view = TensorView::new(*dtype, shape.clone(), bytes)
            .map_err(|e| anyhow!("{}: tensor `{name}`: {e}", path.display()))?;
        views.push((name.as_str(), view));
    }
    let bytes =
        safetensors::serialize(views, None).map_err(|e| anyhow!("{}: {e}", path.display()))?;
    std::fs::write(path, bytes).with_context(|| format!("{}: cannot be written", path.display()))
}

/// Writes what each receiver got: `DIR/Server.safetensors`, one tensor per reveal or field.
pub fn write_outputs(circuit: &Circuit, outputs: &[Revealed], dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    for (s, set) in circuit.parties.iter().enumerate() {
        let mut named = Named::new();
        for (revealed, output) in outputs.iter().zip(&circuit.outputs) {
            if revealed.to as usize != s {
                continue;
            }
            if output.fields.is_empty() {
                let values = revealed.values.iter().copied();
                put_f64(&mut named, &revealed.name, &revealed.shape, values);
            }
            let mut at = 0;
            for f in &output.fields {
                let n = f.shape.iter().product::<u64>() as usize;
                let values = revealed.values.iter().skip(at).take(n).copied();
                put_f64(&mut named, &format!("{}.{}", revealed.name, f.name), &f.shape, values);
                at += n;
            }
        }
        if !named.is_empty() {
            write_file(&dir.join(format!("{}.safetensors", set.name)), &named)?;
        }
    }
    Ok(())
}

/// A giver's tensors under the names of a file: records by field.
pub fn named(circuit: &Circuit, tensors: &BTreeMap<String, RawTensor>) -> Named {
    let mut out = Named::new();
    for (name, tensor) in tensors {
        let fields = circuit.inputs.iter().find(|i| i.name == *name).map_or(&[][..], |i| &i.fields);
        match &tensor.data {
            RawData::I64(v) => put_i64(&mut out, name, &tensor.shape, v.iter().copied()),
            RawData::F64(v) if fields.is_empty() => {
                put_f32(&mut out, name, &tensor.shape, v.iter().map(|&x| x as f32));
            }
            RawData::F64(v) => {
                let mut rest = v.iter().map(|&x| x as f32);
                for f in fields {
                    let n = f.shape.iter().product::<u64>() as usize;
                    let part: Vec<f32> = rest.by_ref().take(n).collect();
                    put_f32(&mut out, &format!("{name}.{}", f.name), &f.shape, part.into_iter());
                }
            }
        }
    }
    out
}
