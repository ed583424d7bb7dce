//! On macOS, that Python has the functions which an extension module calls.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
