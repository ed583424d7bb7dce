//! The extension module of the Python package `slvr`: the library `slvr` with values of Python.
//!
//! The package's Python code (`python/package/slvr`) has what users see. Here a call takes plain values, releases the interpreter
//! while it works, and returns plain values. `error.rs` maps errors to exceptions, `arrays.rs` has arrays of NumPy,
//! `program.rs` programs, `watched.rs` work that Ctrl-C ends, `nodes.rs` calls to the nodes of a deployment.

mod arrays;
mod error;
mod nodes;
mod program;
mod watched;

use pyo3::prelude::*;
use slvr_allocator as _;

#[pymodule]
fn _slvr(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("SlvrError", py.get_type::<error::SlvrError>())?;
    m.add("CompileError", py.get_type::<error::CompileError>())?;
    m.add("InputError", py.get_type::<error::InputError>())?;
    m.add("AbortError", py.get_type::<error::AbortError>())?;
    m.add("NodeError", py.get_type::<error::NodeError>())?;
    m.add("InternalError", py.get_type::<error::InternalError>())?;
    m.add_class::<program::Program>()?;
    m.add_class::<nodes::Nodes>()?;
    m.add_function(wrap_pyfunction!(watched::forked, m)?)?;
    Ok(())
}
