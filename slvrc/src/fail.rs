//! How a verb fails: what is printed and which exit status it gets.

use serde_json::{Value, json};
use slvr::Error;
use slvr::notes::Note;
use slvr_compiler::diagnostic::plain::{message, plain};
use slvr_compiler::diagnostic::{Diagnostic, render};
use slvr_compiler::source::Sources;
use slvr_runtime::party::RunError;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

pub use slvr::{Rejected, Usage};

/// A wrong use.
macro_rules! misuse {
    ($($said:tt)*) => { return Err($crate::fail::Usage(format!($($said)*)).into()) };
}
pub(crate) use misuse;

/// Whether messages on standard error may be coloured.
pub fn colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

pub fn warn(diagnostics: &[Diagnostic], sources: &Sources) {
    if !diagnostics.is_empty() {
        tell(&render::render(diagnostics, sources, colour()));
    }
}

/// Prints what the library says beside a result.
pub fn print(note: Note<'_>) {
    match note {
        Note::Note(text) => self::note(text),
        Note::Caution(text) => caution(text),
        Note::Warnings(diagnostics, sources) => warn(diagnostics, sources),
    }
}

/// Prints to standard error. Where nothing can be written there, the work goes on without: a full log ends no run.
pub fn tell(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Prints a note to standard error: one line, whatever a stranger put into its parts.
pub fn note(text: &str) {
    line("note", text);
}

/// Prints a warning that is about no place of a program: one line, as [`note`].
pub fn caution(text: &str) {
    line("warning", text);
}

fn line(kind: &str, text: &str) {
    tell(&format!("{kind}: {}\n", message(text).replace(['\n', '\r'], "?")));
}

/// What standard output is at.
static OUTPUT: AtomicU8 = AtomicU8::new(NOTHING);
/// Nothing has been printed there.
const NOTHING: u8 = 0;
/// Something is being printed.
const SAYING: u8 = 1;
/// Something has been printed.
const SAID: u8 = 2;
/// The last thing is being printed: there is no memory any more.
const ENDING: u8 = 3;

/// Prints to standard output. A reader that has gone (`slvrc print … | head`) is not an error.
pub fn say(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    // Names of an artifact and texts of a program may be a stranger's.
    let text = if out.is_terminal() { plain(text) } else { text.into() };
    // What allocates is above: where memory ends there, nothing has been said yet. Nobody else is printing, because the lock
    // is held here.
    if OUTPUT.swap(SAYING, Ordering::SeqCst) == ENDING {
        wait_for_the_end();
    }
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    OUTPUT.store(SAID, Ordering::SeqCst);
    match done {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

/// Prints the one object of `--json`, which says that all went well.
pub fn say_json(mut object: Value) -> anyhow::Result<()> {
    if let Value::Object(fields) = &mut object {
        fields.insert("ok".into(), Value::Bool(true));
    }
    say(&format!("{object}\n"))
}

/// Prints that all went well: the object of `--json`, or a text and the end of its line.
pub fn say_done(json: bool, object: Value, text: &str) -> anyhow::Result<()> {
    if json { say_json(object) } else { say(&format!("{text}\n")) }
}

/// Prints the object of `--json` for what went wrong.
fn say_failed(object: &Value) {
    if let Err(e) = say(&format!("{object}\n")) {
        tell(&format!("error: {e:#}\n"));
    }
}

/// A command line that was not understood, or that asks for help: as clap prints it, or one object.
pub fn usage(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().skip(1).take_while(|a| a != "--").any(|a| a == "--json");
    if json && error.use_stderr() {
        let text = error.render().to_string();
        let text = text.trim_end();
        let text = text.strip_prefix("error: ").unwrap_or(text);
        say_failed(&json!({ "ok": false, "error": text }));
    } else if error.print().is_err() {
        return ExitCode::from(1);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

pub fn reason(panic: &(dyn std::any::Any + Send)) -> String {
    let known = panic.downcast_ref::<String>().map(String::as_str);
    known.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown").to_owned()
}

/// The object of `--json` for a bug, unless one was printed before; the panic itself is on standard error.
pub fn panicked(panic: &(dyn std::any::Any + Send)) -> ExitCode {
    let why = reason(panic);
    if OUTPUT.load(Ordering::SeqCst) != SAID {
        say_failed(&json!({ "ok": false, "error": format!("a bug of slvrc: {why}") }));
    }
    ExitCode::from(101)
}

/// Whether the one object of `--json` is asked for.
static JSON: AtomicBool = AtomicBool::new(false);

/// Remembers for [`out_of_memory`] that `--json` is asked for.
pub fn want_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Ends the process because the system gave no memory. Nothing here allocates, and no lock is taken that this thread or
/// another may hold. So the ending of the standard library, which takes locks, is not gone through.
pub fn out_of_memory(bytes: usize) -> ! {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.swap(true, Ordering::SeqCst) {
        let mut text = [0u8; 256];
        let why = "the system gave no memory for";
        let json = JSON.load(Ordering::Relaxed) && says_the_last();
        let mut rest = &mut text[..];
        let _ = match json {
            true => writeln!(rest, r#"{{"ok":false,"error":"{why} {bytes} bytes more"}}"#),
            false => writeln!(rest, "error: {why} {bytes} bytes more"),
        };
        let left = rest.len();
        let said = &text[..text.len() - left];
        raw(json, said);
        end()
    }
    wait_for_the_end()
}

/// Another thread says the last that is said, and ends this one, too.
fn wait_for_the_end() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Whether nothing has been printed to standard output; then nobody prints there any more. What another thread is
/// printing is waited for, though not for ever: its reader may be slow.
fn says_the_last() -> bool {
    for _ in 0..100 {
        match OUTPUT.compare_exchange(NOTHING, ENDING, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return true,
            Err(SAYING) => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => return false,
        }
    }
    false
}

/// Ends the process at once.
#[cfg(unix)]
fn end() -> ! {
    // SAFETY: this is how POSIX declares the function, and it may be called at any time.
    unsafe extern "C" {
        safe fn _exit(status: std::ffi::c_int) -> !;
    }
    _exit(1)
}

#[cfg(not(unix))]
fn end() -> ! {
    std::process::exit(1)
}

/// Writes to standard output or standard error, without their locks and buffers.
#[cfg(unix)]
fn raw(output: bool, text: &[u8]) {
    let to = if output { rustix::stdio::stdout() } else { rustix::stdio::stderr() };
    let _ = rustix::io::write(to, text);
}

#[cfg(not(unix))]
fn raw(_: bool, text: &[u8]) {
    let _ = std::io::stderr().write_all(text);
}

/// Prints an error and says which exit status it has.
pub fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    let known = error.downcast_ref::<Error>();
    let is_aborted = |e: &(dyn std::error::Error + 'static)| {
        let call = e.downcast_ref::<slvr_node::client::CallError>();
        e.downcast_ref::<RunError>().is_some_and(|r| !matches!(r, RunError::Input(_)))
            || call.is_some_and(slvr_node::client::CallError::is_aborted)
    };
    let aborted = known.is_some_and(Error::is_aborted) || error.chain().any(is_aborted);
    let usage = error.is::<Usage>() || matches!(known, Some(Error::Usage(_)));
    let code = match aborted {
        true => 3,
        false if usage => 2,
        false => 1,
    };
    let rejected = error.downcast_ref::<Rejected>().or(match known {
        Some(Error::Rejected(r)) => Some(r),
        _ => None,
    });
    match rejected {
        Some(r) if json => {
            let all: Vec<_> =
                r.diagnostics.iter().map(|d| render::to_json(d, &r.sources)).collect();
            say_failed(&json!({ "ok": false, "diagnostics": all }));
        }
        Some(r) => tell(&format!("{}\n", r.rendered(colour()))),
        None if json => say_failed(&json!({ "ok": false, "error": format!("{error:#}") })),
        None => tell(&format!("error: {}\n", message(&format!("{error:#}")))),
    }
    ExitCode::from(code)
}
