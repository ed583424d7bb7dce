//! Threads of a node, and what they hold.

use std::fmt;

/// What a thread has of something that others want, too: it is given back when this is dropped, also by a panic.
pub struct Claim(Option<Box<dyn FnOnce() + Send>>);

impl Claim {
    pub fn new(back: impl FnOnce() + Send + 'static) -> Claim {
        Claim(Some(Box::new(back)))
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claim")
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(back) = self.0.take() {
            back();
        }
    }
}

/// Starts a thread.
///
/// # Errors
///
/// A system that has no more threads. Then nothing of it happens.
pub fn spawn(name: &str, act: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(act).map(drop).inspect_err(|why| {
        tracing::error!(name, %why, "the system starts no thread");
    })
}
