//! Arrays of NumPy, to and fro.

use crate::error::{InputError, raised};
use crate::watched::reading;
use numpy::{
    IntoPyArray, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use slvr::tensors::{Array, Arrays, Elements, Submission, Submitted, Values};
use slvr_circuit::{Circuit, Field, Output};
use slvr_runtime::share::reveal::Revealed;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// An array that is read where it lies, as long as the caller holds the interpreter.
pub struct Lent<'py> {
    shape: Vec<u64>,
    kind: String,
    elements: Read<'py>,
}

enum Read<'py> {
    F32(PyReadonlyArrayDyn<'py, f32>),
    F64(PyReadonlyArrayDyn<'py, f64>),
    I64(PyReadonlyArrayDyn<'py, i64>),
    Bool(PyReadonlyArrayDyn<'py, bool>),
    /// Of a type that no input has.
    Other,
}

/// The elements row by row; copied where they lie otherwise.
fn elements<'a, T: numpy::Element + Copy>(array: &'a PyReadonlyArrayDyn<'_, T>) -> Cow<'a, [T]> {
    let array = array.as_array();
    // The slice of NumPy's own array may be column by column; that of this view is row by row, or none.
    array.to_slice().map_or_else(|| array.iter().copied().collect(), Cow::Borrowed)
}

impl<'py> Lent<'py> {
    /// The Python code hands over arrays of native byte order alone.
    fn new(of: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        let dtype = of.dtype();
        let kind = match dtype.kind() {
            b'b' => "BOOL".into(),
            _ => dtype.str()?.to_string(),
        };
        let elements = match (dtype.kind(), dtype.itemsize()) {
            (b'f', 4) => Read::F32(of.extract()?),
            (b'f', 8) => Read::F64(of.extract()?),
            (b'b', 1) => Read::Bool(of.extract()?),
            (b'i', 8) => Read::I64(of.extract()?),
            _ => Read::Other,
        };
        let shape = of.shape().iter().map(|&d| d as u64).collect();
        Ok(Lent { shape, kind, elements })
    }

    fn array(&self) -> Array<'_> {
        let data = match &self.elements {
            Read::F32(x) => Some(Elements::F32(elements(x))),
            Read::F64(x) => Some(Elements::F64(elements(x))),
            Read::I64(x) => Some(Elements::I64(elements(x))),
            Read::Bool(x) => {
                Some(Elements::I64(elements(x).iter().map(|&x| i64::from(x)).collect()))
            }
            Read::Other => None,
        };
        Array { shape: self.shape.clone(), kind: self.kind.clone(), data }
    }
}

type Named<'py> = BTreeMap<String, Lent<'py>>;

fn named<'py>(of: &Bound<'py, PyDict>) -> PyResult<Named<'py>> {
    let one = |(name, value): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
        let value = value.cast::<PyUntypedArray>().map_err(PyErr::from)?;
        Ok((name.extract()?, Lent::new(value)?))
    };
    of.iter().map(one).collect()
}

fn arrays<'a>(of: &'a Named<'_>) -> BTreeMap<String, Array<'a>> {
    of.iter().map(|(name, lent)| (name.clone(), lent.array())).collect()
}

/// What a member of a party set gives.
enum Member<'py> {
    None,
    Unreadable(String),
    Arrays(Named<'py>),
}

impl Member<'_> {
    fn submission(&self) -> Submission<'_> {
        match self {
            Member::None => Submission::None,
            Member::Unreadable(why) => Submission::Unreadable(why.clone()),
            Member::Arrays(named) => Submission::Arrays(arrays(named)),
        }
    }
}

/// Inputs by giver: public ones, and for each party set a list of its members, with nothing for one that gives nothing, and
/// a text of why for one whose arrays cannot be read.
pub struct Given<'py> {
    public: Named<'py>,
    sets: BTreeMap<String, Vec<Member<'py>>>,
}

impl<'py> Given<'py> {
    /// Looks at what Python code hands over; nothing is copied.
    pub fn new(public: &Bound<'py, PyDict>, sets: &Bound<'py, PyDict>) -> PyResult<Self> {
        let mut given = Given { public: named(public)?, sets: BTreeMap::new() };
        for (name, members) in sets.iter() {
            let members = members.cast::<PyList>().map_err(PyErr::from)?;
            let one = |member: Bound<'py, PyAny>| {
                if member.is_none() {
                    return Ok(Member::None);
                }
                match member.extract::<String>() {
                    Ok(why) => Ok(Member::Unreadable(why)),
                    Err(_) => {
                        named(member.cast::<PyDict>().map_err(PyErr::from)?).map(Member::Arrays)
                    }
                }
            };
            let members = members.iter().map(one).collect::<PyResult<_>>()?;
            given.sets.insert(name.extract()?, members);
        }
        Ok(given)
    }

    /// What was submitted to a circuit: the one copy that is made of it.
    pub fn submitted(&self, py: Python<'_>, circuit: &Circuit) -> PyResult<Submitted> {
        let mut sets = BTreeMap::new();
        for (name, members) in &self.sets {
            sets.insert(name.clone(), members.iter().map(Member::submission).collect());
        }
        let given = Arrays { public: arrays(&self.public), sets };
        reading(|| given.submitted(circuit, Values::Declared))?.map_err(|e| raised(py, e))
    }
}

/// Copies of arrays by the names of tensors, for a call that reads them without the interpreter.
pub fn of_member(given: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, Array<'static>>> {
    let own = |(name, lent): (String, Lent<'_>)| {
        let Array { shape, kind, data } = lent.array();
        let data = data.map(|elements| elements.into_owned().into());
        (name, Array { shape, kind, data })
    };
    Ok(named(given)?.into_iter().map(own).collect())
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
