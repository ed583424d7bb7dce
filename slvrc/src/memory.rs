//! How a run gets its memory.
//!
//! Freed memory is [kept](slvr_allocator). Only a run that needs most of the machine gives back what it does not use:
//! the sizes of its tensors change as it goes, and it would otherwise hold the most of each.

use slvr::memory::free;

/// Stack of the threads that look at texts: a text may nest deeper than what people write.
pub const STACK: usize = 64 << 20;

/// How many times the bytes of its values a process holds at most where nothing is given back: 1.2 to 1.3 in runs of
/// ResNet-18.
const HELD: f64 = 1.35;

/// Before a run whose values take so many bytes in all: a large one will give memory back as it goes.
pub fn expect(bytes: u64) {
    let large = free().is_some_and(|free| HELD * bytes as f64 > free as f64);
    slvr_allocator::keep(!large);
}

/// Gets that many bytes and half as many for what is on its way between parties, so that the system clears their
/// pages now and not in the course of a run, which takes longer than its arithmetic. Not if they are much of
/// what is there.
pub fn ready(bytes: u64) {
    let wanted = bytes.saturating_add(bytes / 2);
    if free().is_some_and(|free| wanted < free / 4) {
        let Ok(wanted) = usize::try_from(wanted) else { return };
        // Kept by the allocator when it is freed.
        std::hint::black_box(vec![1u8; wanted]);
    }
}
