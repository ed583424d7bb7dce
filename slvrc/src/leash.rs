//! Ends a process once its standard input does: whoever starts it with a pipe leaves none behind, however it ends itself.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Why a process ends.
pub const ENDED: &str = "the end of its input";

/// Watches standard input.
pub struct Leash(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    ended: bool,
    /// Asks the process to end in order. Nobody is asked while it is not started.
    ask: Option<Box<dyn FnOnce() + Send>>,
}

impl Leash {
    /// Reads standard input on a thread of its own.
    pub fn watch() -> io::Result<Leash> {
        let leash = Leash(Arc::default());
        let held = leash.0.clone();
        let name = thread::Builder::new().name("input".into());
        name.spawn(move || {
            // Nothing is expected to be said. An input that cannot be read has ended, too.
            let _ = io::copy(&mut io::stdin().lock().by_ref(), &mut io::sink());
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            held.ended = true;
            match held.ask.take() {
                Some(ask) => ask(),
                // It starts, and does nothing for anybody yet.
                None => std::process::exit(0),
            }
        })?;
        Ok(leash)
    }

    /// The process is started: from now on it ends in order.
    pub fn hold(&self, ask: impl FnOnce() + Send + 'static) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match held.ended {
            true => ask(),
            false => held.ask = Some(Box::new(ask)),
        }
    }
}
