//! Requests that end: a connection on which nothing moves is given up.
//!
//! A node that is stopped still has its socket: the system takes what is sent to it for a while, and nothing comes
//! back. A time limit for a whole request would have to be long enough for the slowest line. So what is limited is the
//! time in which not one byte moves in either direction.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, timeout};

/// How many bytes have moved on a connection.
pub(super) type Moved = Arc<AtomicU64>;

/// A connection that counts what moves.
pub(super) struct Counting<S> {
    pub(super) stream: S,
    pub(super) moved: Moved,
}

impl<S: AsyncRead + Unpin> AsyncRead for Counting<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let me = self.get_mut();
        let before = to.filled().len();
        let done = Pin::new(&mut me.stream).poll_read(cx, to);
        me.moved.fetch_add((to.filled().len() - before) as u64, Ordering::Relaxed);
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counting<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let me = self.get_mut();
        let done = Pin::new(&mut me.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(n)) = &done {
            me.moved.fetch_add(*n as u64, Ordering::Relaxed);
        }
        done
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// After so long without a byte whoever waits is told.
const SILENT: Duration = Duration::from_secs(3);

/// Nothing moved for the time that was given.
#[derive(Debug)]
pub(super) struct Idle;

/// Waits for something as long as bytes move, and tells once if they do not for a while.
pub(super) async fn unless_idle<T>(
    act: impl Future<Output = T>,
    moved: &Moved,
    quiet: Duration,
    tell: impl Fn(),
) -> Result<T, Idle> {
    let mut act = pin!(act);
    let (mut seen, mut since, mut told) = (moved.load(Ordering::Relaxed), Instant::now(), false);
    loop {
        let left = quiet.saturating_sub(since.elapsed());
        if left.is_zero() {
            return Err(Idle);
        }
        if let Ok(done) = timeout(left.min(SILENT), &mut act).await {
            return Ok(done);
        }
        let now = moved.load(Ordering::Relaxed);
        if now != seen {
            (seen, since) = (now, Instant::now());
        } else if !told {
            told = true;
            tell();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use tokio::time::sleep;

    fn run<T>(act: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(act)
    }

    #[test]
    fn what_moves_is_waited_for_and_what_does_not_is_given_up() {
        let (moved, told) = (Moved::default(), AtomicUsize::new(0));
        let tell = || {
            told.fetch_add(1, Ordering::Relaxed);
        };
        let never = std::future::pending::<()>();
        let quiet = Duration::from_millis(200);
        assert!(run(unless_idle(never, &moved, quiet, tell)).is_err());
        // Twenty times as long as it may be quiet, but never quiet for so long.
        let moves = async {
            for _ in 0..400 {
                sleep(Duration::from_millis(10)).await;
                moved.fetch_add(1, Ordering::Relaxed);
            }
            7
        };
        assert!(matches!(run(unless_idle(moves, &moved, Duration::from_secs(60), tell)), Ok(7)));
        assert_eq!(told.load(Ordering::Relaxed), 1, "only of what did not move");
    }
}
