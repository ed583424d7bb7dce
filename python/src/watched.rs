//! Work that Ctrl-C ends, that tells its notes, and that a forked child refuses.

use crate::error::{InternalError, SlvrError, raised};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use slvr::notes::Note;
use slvr_compiler::diagnostic::render;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How often it is looked whether the user wants an end.
const LOOK: Duration = Duration::from_millis(50);

/// A process that was made by `fork` has none of the threads that compute.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Marks this process as a forked child.
#[pyfunction]
pub fn forked() {
    FORKED.store(POOLS.get().is_some(), Ordering::Release);
}

/// None of them is one that Python knows.
static POOLS: OnceLock<Pools> = OnceLock::new();

struct Pools {
    /// The threads that compute.
    compute: ThreadPool,
    /// Those that read arrays. Whoever has them read holds the interpreter, and cannot wait for a run.
    read: ThreadPool,
}

fn pools() -> PyResult<&'static Pools> {
    if FORKED.load(Ordering::Acquire) {
        let why = "this process was made by fork() after SLVR had started threads, which it does not have: start a new \
                   process (spawn) for it";
        return Err(SlvrError::new_err(why));
    }
    if let Some(pools) = POOLS.get() {
        return Ok(pools);
    }
    let pool = |name: &'static str| {
        let made = ThreadPoolBuilder::new().thread_name(move |i| format!("{name}-{i}")).build();
        made.map_err(|e| SlvrError::new_err(format!("no threads can be started: {e}")))
    };
    let made = Pools { compute: pool("slvr")?, read: pool("slvr-read")? };
    Ok(POOLS.get_or_init(|| made))
}

/// Reads arrays on several threads, while the caller holds the interpreter.
pub fn reading<T: Send>(read: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = &pools()?.read;
    catch_unwind(AssertUnwindSafe(|| pool.install(read))).map_err(|_| panicked())
}

fn panicked() -> PyErr {
    InternalError::new_err("a bug of SLVR: what failed is on standard error")
}

/// What work may ask for and tell.
pub struct Watch {
    /// The user wants an end.
    pub cancel: AtomicBool,
    /// Layers that are done, and all of them.
    pub done: [AtomicUsize; 2],
    notes: Mutex<Vec<(&'static str, String)>>,
}

impl Watch {
    /// Keeps a note for the caller.
    pub fn tell(&self, note: Note<'_>) {
        let (level, text) = match note {
            Note::Note(text) => ("info", text.to_string()),
            Note::Caution(text) => ("warning", text.to_string()),
            Note::Warnings([], _) => return,
            Note::Warnings(all, sources) => {
                ("warning", render::render(all, sources, false).trim_end().to_string())
            }
        };
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push((level, text));
    }
}

/// Computes without the interpreter, on the threads that compute. Notes go to the logger `slvr`, layers to `progress`.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T, slvr::Error> + Send,
) -> PyResult<T> {
    let pool = &pools()?.compute;
    beside(py, progress, |watch| pool.install(|| work(watch)))
}

/// The same of work that mostly waits for others. It has a thread of its own: if it waited on one that computes, there
/// might be none left for what it waits for.
pub fn waited<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Watch) -> Result<T, slvr::Error> + Send,
) -> PyResult<T> {
    pools()?;
    beside(py, None, work)
}

fn beside<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T, slvr::Error> + Send,
) -> PyResult<T> {
    let watch = Watch {
        cancel: AtomicBool::new(false),
        done: [AtomicUsize::new(0), AtomicUsize::new(0)],
        notes: Mutex::new(Vec::new()),
    };
    let (told, mut stopped) = (AtomicUsize::new(0), None);
    let done = thread::scope(|scope| {
        let work = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| work(&watch))));
        let caller = thread::current();
        // Whoever waits for the result is woken as soon as it is there.
        let work = scope.spawn(move || {
            let done = work.join();
            caller.unpark();
            done
        });
        while !work.is_finished() {
            py.detach(|| thread::park_timeout(LOOK));
            let [layers, all] = watch.done.each_ref().map(|n| n.load(Ordering::Relaxed));
            let asks = || -> PyResult<()> {
                py.check_signals()?;
                match progress {
                    Some(progress) if told.swap(layers, Ordering::Relaxed) != layers => {
                        progress.call1((layers, all)).map(drop)
                    }
                    _ => Ok(()),
                }
            };
            if stopped.is_none()
                && let Err(e) = asks()
            {
                watch.cancel.store(true, Ordering::Release);
                stopped = Some(e);
            }
        }
        work.join()
    });
    tell(py, watch.notes.into_inner().unwrap_or_else(PoisonError::into_inner))?;
    if let Some(e) = stopped {
        return Err(e);
    }
    match done {
        Ok(Ok(Ok(done))) => done.map_err(|e| raised(py, e)),
        _ => Err(panicked()),
    }
}

/// Gives notes to the logger `slvr`.
pub fn tell(py: Python<'_>, notes: Vec<(&'static str, String)>) -> PyResult<()> {
    if notes.is_empty() {
        return Ok(());
    }
    let logger = py.import("logging")?.call_method1("getLogger", ("slvr",))?;
    // The text is no format.
    notes
        .into_iter()
        .try_for_each(|(level, text)| logger.call_method1(level, ("%s", text)).map(drop))
}
