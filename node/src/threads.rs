//! Threads of a node.

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
