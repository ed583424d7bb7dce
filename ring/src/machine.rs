//! What this machine can do at best: multiply-adds, handing a message to another thread, memory.

use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

/// Its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// 64-bit multiply-adds per second of one core, in registers.
    pub macs_per_s: f64,
    /// Cores that the parties share.
    pub cores: usize,
    /// Seconds from sending to receiving between two threads.
    pub handover_s: f64,
}

impl Machine {
    /// Measures for about a fifth of a second.
    pub fn measure() -> Machine {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Machine { macs_per_s: peak_macs_per_s(), cores, handover_s: handover_s() }
    }
}

/// Independent chains: enough vectors for the latency of a multiply-add.
const VECTORS: usize = 16;
/// Words of a vector.
const LANES: usize = 8;

type Chains = [[u64; LANES]; VECTORS];

/// x <- x factor + term in every chain, `steps` times.
#[inline(always)]
fn chains(x: &mut Chains, factor: u64, term: u64, steps: usize) {
    let mut all = *x;
    for _ in 0..steps {
        for word in all.iter_mut().flatten() {
            *word = word.wrapping_mul(factor).wrapping_add(term);
        }
    }
    *x = all;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn chains_avx2(x: &mut Chains, factor: u64, term: u64, steps: usize) {
    chains(x, factor, term, steps);
}

// By hand: compilers prefer vectors of 256 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn chains_avx512(x: &mut Chains, factor: u64, term: u64, steps: usize) {
    use std::arch::x86_64::{
        _mm_cvtsi128_si64, _mm512_add_epi64, _mm512_castsi512_si128, _mm512_mullo_epi64,
        _mm512_set1_epi64,
    };
    let (factor, term) = (_mm512_set1_epi64(factor as i64), _mm512_set1_epi64(term as i64));
    // Words of a vector are alike, vectors are not: equal ones would be computed once.
    let mut all = x.map(|words| _mm512_set1_epi64(words[0] as i64));
    for _ in 0..steps {
        for v in &mut all {
            *v = _mm512_add_epi64(_mm512_mullo_epi64(*v, factor), term);
        }
    }
    for (words, v) in x.iter_mut().zip(all) {
        words[0] = _mm_cvtsi128_si64(_mm512_castsi512_si128(v)) as u64;
    }
}

/// 64-bit multiply-adds per second of one core: the best of some short loops in registers.
pub fn peak_macs_per_s() -> f64 {
    const STEPS: usize = 100_000;
    let run = |x: &mut Chains| {
        let (factor, term) = (black_box(0x9e37_79b9_7f4a_7c15), black_box(0x2545_f491_4f6c_dd1d));
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                // SAFETY: the processor has both features.
                return unsafe { chains_avx512(x, factor, term, STEPS) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has the feature.
                return unsafe { chains_avx2(x, factor, term, STEPS) };
            }
        }
        chains(x, factor, term, STEPS);
    };
    let mut x: Chains = [[0; LANES]; VECTORS];
    x.iter_mut().flatten().zip(1..).for_each(|(word, i)| *word = black_box(i));
    let best = (0..200)
        .map(|_| {
            let start = Instant::now();
            run(&mut x);
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    black_box(x);
    (STEPS * VECTORS * LANES) as f64 / best
}

/// Seconds from sending a message to receiving it in another thread: half of the best there and back.
fn handover_s() -> f64 {
    const TURNS: u32 = 50;
    let (to, there) = channel::<()>();
    let (back, from) = channel::<()>();
    let echo = thread::spawn(move || while there.recv().is_ok() && back.send(()).is_ok() {});
    let best = (0..200)
        .map(|_| {
            let start = Instant::now();
            let turns = (0..TURNS).take_while(|_| to.send(()).is_ok() && from.recv().is_ok());
            let turns = turns.count();
            start.elapsed().as_secs_f64() / (2 * turns.max(1)) as f64
        })
        .fold(f64::INFINITY, f64::min);
    drop(to);
    // The thread ends as its queue does; a panic in it would be a bug of the standard library.
    let _ = echo.join();
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_limits() {
        let m = Machine::measure();
        assert!(m.macs_per_s.is_finite() && m.macs_per_s > 0.0, "{m:?}");
        assert!(m.handover_s.is_finite() && m.handover_s > 0.0 && m.cores > 0, "{m:?}");
    }
}
