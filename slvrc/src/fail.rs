//! How a verb fails: what is printed and which exit status it gets.

use slvr_compiler::diagnostic::{Diagnostic, render};
use slvr_compiler::syntax::Sources;
use slvr_runtime::party::RunError;
use std::fmt;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// The program was rejected; the diagnostics say why.
#[derive(Debug)]
pub struct Rejected {
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// Where it points to.
    pub sources: Sources,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(render::render(&self.diagnostics, &self.sources, colour()).trim_end())
    }
}

impl std::error::Error for Rejected {}

/// A wrong use of the command line.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Whether messages on standard error may be coloured.
pub fn colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Prints warnings to standard error.
pub fn warn(diagnostics: &[Diagnostic], sources: &Sources) {
    if !diagnostics.is_empty() {
        eprint!("{}", render::render(diagnostics, sources, colour()));
    }
}

/// Prints to standard output. A reader that has gone (`slvrc print … | head`) is not an error.
pub fn say(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

/// Prints an error and says which exit status it has.
pub fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    let aborted = error
        .chain()
        .any(|e| e.downcast_ref::<RunError>().is_some_and(|r| !matches!(r, RunError::Input(_))));
    let code = match aborted {
        true => 3,
        false if error.is::<Usage>() => 2,
        false => 1,
    };
    match error.downcast_ref::<Rejected>() {
        Some(r) if json => {
            let all: Vec<_> =
                r.diagnostics.iter().map(|d| render::to_json(d, &r.sources)).collect();
            println!("{}", serde_json::json!({ "ok": false, "diagnostics": all }));
        }
        Some(r) => eprintln!("{r}"),
        None if json => {
            println!("{}", serde_json::json!({ "ok": false, "error": format!("{error:#}") }))
        }
        None => eprintln!("error: {error:#}"),
    }
    ExitCode::from(code)
}
