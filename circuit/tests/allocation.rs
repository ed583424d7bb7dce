//! How much memory an artifact of a stranger takes before it is refused, counted at the allocator.
//!
//! One test, since the count is of the whole process.

use bincode::Options;
use sha2::{Digest, Sha256};
use slvr_circuit::{Circuit, artifact, text};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it came; the counters touch no memory of the caller's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's pointer and layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SAMPLE: &str = include_str!("../src/verify/all_ops.txt");

/// Most bytes that reading a file takes besides the file, and whether it was refused.
fn reading(bytes: &[u8]) -> (usize, bool) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let refused = artifact::read(bytes).is_err();
    (PEAK.load(Relaxed) - before, refused)
}

/// An artifact with a valid header around any payload.
fn seal(payload: &[u8]) -> Vec<u8> {
    let sample = artifact::write(&text::parse(SAMPLE).unwrap());
    let version = &sample[8..12];
    let hash = Sha256::new().chain_update(b"slvr circuit\0").chain_update(version);
    let mut out = sample[..12].to_vec();
    out.extend((payload.len() as u64).to_le_bytes());
    out.extend(hash.chain_update(payload).finalize());
    out.extend(payload);
    out
}

fn number(n: u64) -> Vec<u8> {
    bincode::DefaultOptions::new().serialize(&n).unwrap()
}

/// A payload of empty declarations, then `count` times `element` where the sequence number `which` of the circuit is.
fn sequence(which: usize, count: u64, element: &[u8]) -> Vec<u8> {
    // The name, then sizes, parties, inputs, consts, types, sites, layers, outputs, checks.
    let mut out = number(0);
    for i in 0..9 {
        if i == which {
            out.extend(number(count));
            (0..count).for_each(|_| out.extend(element));
        } else {
            out.push(0);
        }
    }
    out
}

#[test]
fn reading_a_strangers_artifact_takes_memory_in_proportion_to_its_size() {
    const MB: usize = 1 << 20;
    let circuit: Circuit = text::parse(SAMPLE).unwrap();
    let good = artifact::write(&circuit);
    let (taken, refused) = reading(&good);
    assert!(!refused && taken < MB, "{taken} bytes for {}", good.len());

    // 12 million empty layers in 36 MB; as many sites, types, and pairs of names.
    for (which, element) in
        [(6, &[0u8, 0, 0][..]), (5, &[0, 0]), (4, &[0; 5]), (0, &[0, 0]), (3, &[0, 0])]
    {
        let bytes = seal(&sequence(which, 12_000_000, element));
        let (taken, refused) = reading(&bytes);
        assert!(refused && taken < MB, "sequence {which}: {taken} bytes");
    }
    // As many layers as there may be, each with announced instructions that never come.
    let bytes = seal(&sequence(6, 1 << 18, &[0, 0, 0]));
    let (taken, _) = reading(&bytes);
    assert!(taken < 64 * MB, "{taken} bytes for layers");
    // A shape of 20 million axes, and a length that nothing follows.
    let mut axes = sequence(4, 1, &[0, 0, 64]);
    axes.truncate(axes.len() - 4);
    let (mut long, mut short) = (axes.clone(), axes);
    long.extend(number(20_000_000));
    long.extend(std::iter::repeat_n(1, 20_000_000));
    short.extend(number(u64::MAX));
    for payload in [long, short] {
        let (taken, refused) = reading(&seal(&payload));
        assert!(refused && taken < MB, "axes: {taken} bytes");
    }

    // Damaged payloads under a valid header.
    let payload = &good[52..];
    let mut most = 0.0f64;
    for seed in 0..20_000u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n as u64) as usize
        };
        let mut bad = payload.to_vec();
        for _ in 0..1 + below(4) {
            let (at, len) = (below(bad.len()), 1 + below(9));
            let end = (at + len).min(bad.len());
            match below(4) {
                0 => bad[at] = below(256) as u8,
                // A long number.
                1 => drop(
                    bad.splice(at..at + 1, [251 + below(4) as u8, 255, 255, 255, 255, 63, 0, 0, 0]),
                ),
                2 => drop(bad.drain(at..end)),
                _ => {
                    let part = bad[at..end].to_vec();
                    bad.splice(at..at, part);
                }
            }
            if bad.is_empty() {
                break;
            }
        }
        let file = seal(&bad);
        let (taken, _) = reading(&file);
        most = most.max(taken as f64);
        assert!(taken < 64 * file.len() + 4 * MB, "seed {seed}: {taken} bytes for {}", file.len());
    }
    println!("at most {most} bytes for about {}", good.len());
}
