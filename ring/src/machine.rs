//! What this machine can do at best: multiply-adds, memory, random bytes, handing a message to another thread.

use crate::kernels::multiply_adds;
use rayon::prelude::*;
use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// 64-bit multiply-adds per second of one core, in registers.
    pub macs_per_s: f64,
    /// Cores that the parties share.
    pub cores: usize,
    /// Seconds from sending to receiving between two threads.
    pub handover_s: f64,
    /// Bytes that all cores together read and write in a second, where they are in no cache.
    pub memory_bytes_per_s: f64,
    /// Bytes that all cores together draw in a second.
    pub random_bytes_per_s: f64,
}

impl Machine {
    /// Measures for at most about a second. `draw` fills bytes from the generator of masks, which is not in this crate.
    pub fn measure(draw: impl Fn(&mut [u8]) + Sync) -> Machine {
        // Larger than caches, and small enough for them.
        let (much, little) = (1 << 26, 1 << 15);
        let (mut from, mut to) = (vec![1u8; much], vec![0; much]);
        let copy = || {
            let pieces = to.par_chunks_mut(little).zip(from.par_chunks(little));
            pieces.for_each(|(to, from)| to.copy_from_slice(from));
        };
        let memory_bytes_per_s = 2.0 * much as f64 / best(10, copy);
        black_box(&to);
        let some = &mut from[..much / 4];
        let draw = || some.par_chunks_mut(little).for_each(&draw);
        let random_bytes_per_s = (much / 4) as f64 / best(10, draw);
        black_box(&from);
        Machine {
            macs_per_s: macs_per_s(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            handover_s: handover_s(),
            memory_bytes_per_s,
            random_bytes_per_s,
        }
    }
}

/// Seconds of the fastest of so many runs, or of those that a quarter of a second has time for: a build without
/// optimisation takes a hundred times as long.
fn best(runs: usize, mut run: impl FnMut()) -> f64 {
    let (first, mut fastest) = (Instant::now(), f64::INFINITY);
    for _ in 0..runs {
        let start = Instant::now();
        run();
        fastest = start.elapsed().as_secs_f64().min(fastest);
        if first.elapsed() > Duration::from_millis(250) {
            break;
        }
    }
    fastest
}

/// 64-bit multiply-adds per second of one core: the best of some short loops in registers.
fn macs_per_s() -> f64 {
    const ROUNDS: usize = 50_000;
    let mut words = 0;
    let seconds = best(200, || words = multiply_adds(64, ROUNDS));
    words as f64 / seconds
}

/// Seconds from sending a message to receiving it in another thread: half of the best there and back.
fn handover_s() -> f64 {
    const TURNS: u32 = 50;
    let (to, there) = channel::<()>();
    let (back, from) = channel::<()>();
    let echo = thread::spawn(move || while there.recv().is_ok() && back.send(()).is_ok() {});
    let best = best(200, || {
        let turns = (0..TURNS).take_while(|_| to.send(()).is_ok() && from.recv().is_ok());
        black_box(turns.count());
    });
    drop(to);
    // The thread ends as its queue does; a panic in it would be a bug of the standard library.
    let _ = echo.join();
    best / f64::from(2 * TURNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_limits() {
        let m = Machine::measure(|bytes| bytes.fill(3));
        let all = [m.macs_per_s, m.handover_s, m.memory_bytes_per_s, m.random_bytes_per_s];
        assert!(all.iter().all(|x| x.is_finite() && *x > 0.0) && m.cores > 0, "{m:?}");
    }
}
