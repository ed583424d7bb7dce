//! The allocator, and how it gets its memory.
//!
//! A run makes and frees tensors of megabytes at every instruction. The system's allocator gives each back
//! and faults its pages in again: more time than the arithmetic takes. mimalloc keeps them, in
//! large pages. Only a run that needs most of the machine gives back what it does not use: the sizes of its
//! tensors change as it goes, and it would otherwise hold the most of each.
//!
//! Where the system gives no more, the process ends with a message and, with `--json`, with its one object. The standard
//! library would abort it without one, and has no stable way to be told otherwise.

use crate::fail;
use libmimalloc_sys as sys;
use mimalloc::MiMalloc;
use slvr::memory::free;
use std::alloc::{GlobalAlloc, Layout};

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// mimalloc, but no allocation fails and returns.
struct Ending;

// SAFETY: every call is handed on to mimalloc with what it was given. Where that returns nothing the process ends.
unsafe impl GlobalAlloc for Ending {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(unsafe { MiMalloc.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { MiMalloc.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(unsafe { MiMalloc.realloc(at, layout, size) }, size)
    }
}

fn given(at: *mut u8, size: usize) -> *mut u8 {
    if at.is_null() {
        fail::out_of_memory(size);
    }
    at
}

/// `mi_option_arena_eager_commit` and `mi_option_purge_delay` of mimalloc.h, which the bindings do not name.
const EAGER_COMMIT: sys::mi_option_t = 4;
const PURGE_DELAY: sys::mi_option_t = 15;

/// How many times the bytes of its values a process holds at most where nothing is given back: 1.2 to 1.3 in runs of
/// ResNet-18.
const HELD: f64 = 1.35;

/// Milliseconds that freed memory is kept if a run is large.
const KEPT: std::ffi::c_long = 100;

/// Sets the allocator's options: large pages, and freed memory is never given back before the end.
pub fn tune() {
    // SAFETY: the options exist in this version of the library, and setting one touches nothing but its
    // value; no other thread runs yet.
    unsafe {
        sys::mi_option_set(sys::mi_option_large_os_pages, 1);
        sys::mi_option_set(EAGER_COMMIT, 1);
        sys::mi_option_set(PURGE_DELAY, -1);
    }
}

/// Before a run whose values take so many bytes in all: a large one will give memory back as it goes.
pub fn expect(bytes: u64) {
    let large = free().is_some_and(|free| HELD * bytes as f64 > free as f64);
    // SAFETY: as in `tune`; the option is one word, which the library reads whenever memory is freed.
    unsafe { sys::mi_option_set(PURGE_DELAY, if large { KEPT } else { -1 }) }
}

/// Gets that many bytes and half as many for what is on its way between parties, so that the system clears their
/// pages now and not in the course of a run, which takes longer than its arithmetic. Not if they are much of
/// what is there.
pub fn ready(bytes: u64) {
    let wanted = bytes.saturating_add(bytes / 2);
    if free().is_some_and(|free| wanted < free / 4) {
        let Ok(wanted) = usize::try_from(wanted) else { return };
        // Kept by the allocator when it is freed, see `tune`.
        std::hint::black_box(vec![1u8; wanted]);
    }
}
