//! Errors as exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::prelude::*;
use slvr::Error;
use slvr_compiler::diagnostic::render;

create_exception!(slvr, SlvrError, PyException, "What SLVR raises.");
create_exception!(
    slvr,
    CompileError,
    SlvrError,
    "The program is refused. `diagnostics` has what is wrong, one object each."
);
create_exception!(slvr, InputError, SlvrError, "Inputs, a file or an argument cannot be used.");
create_exception!(slvr, AbortError, SlvrError, "A run or a round has ended without a result.");
create_exception!(slvr, NodeError, SlvrError, "A node does not answer, or says no.");
create_exception!(slvr, InternalError, SlvrError, "A bug of SLVR.");

/// An error as an exception.
pub fn raised(py: Python<'_>, error: Error) -> PyErr {
    let text = error.to_string();
    match &error {
        Error::Rejected(rejected) => {
            let all = rejected.diagnostics.iter().map(|d| render::to_json(d, &rejected.sources));
            let raised = CompileError::new_err(text);
            let all = serde_json::Value::from_iter(all).to_string();
            let parsed = py.import("json").and_then(|json| json.call_method1("loads", (all,)));
            match parsed.and_then(|all| raised.value(py).setattr("diagnostics", all)) {
                Ok(()) => raised,
                Err(e) => e,
            }
        }
        Error::Memory(_) => PyMemoryError::new_err(text),
        e if e.is_aborted() => AbortError::new_err(text),
        Error::Call(_) => NodeError::new_err(text),
        _ => InputError::new_err(text),
    }
}
