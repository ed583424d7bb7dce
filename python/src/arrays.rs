//! Arrays of NumPy, to and fro.

use crate::error::InputError;
use crate::watched::pool;
use numpy::{
    IntoPyArray, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;
use slvr::tensors::{Array, Arrays, Submission};
use slvr_circuit::{Circuit, Field, Output};
use slvr_runtime::share::encode::RawData;
use slvr_runtime::share::reveal::Revealed;
use std::collections::BTreeMap;

/// The elements of an array of one type, row by row.
fn elements<'py, T: numpy::Element + Copy + Default + Sync>(
    array: &Bound<'py, PyUntypedArray>,
) -> PyResult<Vec<T>> {
    let array: PyReadonlyArrayDyn<'py, T> = array.extract()?;
    let array = array.as_array();
    // The slice of NumPy's own array may be column by column; that of this view is row by row, or none.
    Ok(match array.as_slice() {
        Some(slice) => copied(slice)?,
        None => array.iter().copied().collect(),
    })
}

/// A copy; of what is long, by all threads.
fn copied<T: Copy + Default + Send + Sync>(of: &[T]) -> PyResult<Vec<T>> {
    const PART: usize = 1 << 17;
    if of.len() <= PART {
        return Ok(of.to_vec());
    }
    let mut all = vec![T::default(); of.len()];
    let parts = all.par_chunks_mut(PART).zip(of.par_chunks(PART));
    pool()?.install(|| parts.for_each(|(to, from)| to.copy_from_slice(from)));
    Ok(all)
}

/// An array as it was given; the Python code hands over those of native byte order alone.
fn array(of: &Bound<'_, PyUntypedArray>) -> PyResult<Array> {
    let dtype = of.dtype();
    let kind = match dtype.kind() {
        b'b' => "BOOL".into(),
        _ => dtype.str()?.to_string(),
    };
    let data = match (dtype.kind(), dtype.itemsize()) {
        (b'f', 4) => Some(RawData::F32(elements(of)?)),
        (b'f', 8) => Some(RawData::F64(elements(of)?)),
        (b'b', 1) => {
            Some(RawData::I64(elements(of)?.into_iter().map(|x: bool| x.into()).collect()))
        }
        (b'i', 8) => Some(RawData::I64(elements(of)?)),
        _ => None,
    };
    let shape = of.shape().iter().map(|&d| d as u64).collect();
    Ok(Array { shape, kind, data })
}

fn named(of: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, Array>> {
    let one = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let value = value.cast::<PyUntypedArray>().map_err(PyErr::from)?;
        Ok((name.extract()?, array(value)?))
    };
    of.iter().map(one).collect()
}

/// Inputs by giver: public ones, and for each party set a list of its members, with nothing for one that gives nothing, and
/// a text of why for one whose arrays cannot be read.
pub fn given(public: &Bound<'_, PyDict>, sets: &Bound<'_, PyDict>) -> PyResult<Arrays> {
    let mut arrays = Arrays { public: named(public)?, ..Arrays::default() };
    for (name, members) in sets.iter() {
        let members = members.cast::<PyList>().map_err(PyErr::from)?;
        let one = |member: Bound<'_, PyAny>| {
            if member.is_none() {
                return Ok(Submission::None);
            }
            match member.extract::<String>() {
                Ok(why) => Ok(Submission::Unreadable(why)),
                Err(_) => {
                    named(member.cast::<PyDict>().map_err(PyErr::from)?).map(Submission::Arrays)
                }
            }
        };
        let members = members.iter().map(one).collect::<PyResult<_>>()?;
        arrays.sets.insert(name.extract()?, members);
    }
    Ok(arrays)
}

/// Arrays by the names of tensors.
pub fn of_member(given: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, Array>> {
    named(given)
}

/// What was revealed: by name an array, or of a record its fields.
pub fn revealed<'py>(
    py: Python<'py>,
    circuit: &Circuit,
    outputs: Vec<Revealed>,
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for revealed in outputs {
        let is = |o: &&Output| (&o.name, o.to) == (&revealed.name, revealed.to);
        let fields = circuit.outputs.iter().find(is).map_or(&[][..], |o| &o.fields);
        let members = circuit.parties.get(revealed.to as usize).map_or(1, |p| p.size);
        put(&all, fields, members.max(1) as usize, revealed)?;
    }
    Ok(all)
}

/// Puts what so many members got under its name. Several members have rows of their own.
pub fn put(
    all: &Bound<'_, PyDict>,
    fields: &[Field],
    members: usize,
    revealed: Revealed,
) -> PyResult<()> {
    let py = all.py();
    let Revealed { name, shape, values, .. } = revealed;
    if fields.is_empty() {
        return all.set_item(name, shaped(py, &shape, values)?);
    }
    let row = values.len() / members;
    let record = PyDict::new(py);
    let mut at = 0;
    for field in fields {
        let n = field.shape.iter().product::<u64>() as usize;
        let of = |m: usize| values.get(m * row + at..m * row + at + n).unwrap_or_default();
        let part = (0..members).flat_map(of).copied().collect();
        let rows = (members > 1).then_some(members as u64);
        let shape: Vec<u64> = rows.into_iter().chain(field.shape.iter().copied()).collect();
        record.set_item(&field.name, shaped(py, &shape, part)?)?;
        at += n;
    }
    all.set_item(name, record)
}

fn shaped<'py>(py: Python<'py>, shape: &[u64], values: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
    let shape: Vec<usize> = shape.iter().map(|&d| d as usize).collect();
    let flat = values.into_pyarray(py);
    let shaped = flat.reshape(shape).map_err(|e| InputError::new_err(e.to_string()))?;
    Ok(shaped.into_any())
}
