//! The global allocator of every program that links this crate.
//!
//! A run makes and frees tensors of megabytes at every instruction. The system's allocator gives each back
//! and faults its pages in again: more time than the arithmetic takes. mimalloc keeps them, in large pages.
//!
//! It is a crate of its own because it is always optimised, whatever the program's own level: a compilation allocates
//! a million times.

use libmimalloc_sys as sys;
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_long;
use std::sync::OnceLock;

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// What ends the process where the system gives no more memory; it is told for how many bytes.
static END: OnceLock<fn(usize) -> !> = OnceLock::new();

/// mimalloc, but no allocation fails and returns once there is an [end](end_with).
struct Ending;

// SAFETY: every call is handed on to mimalloc with what it was given. Where that returns nothing, so does this, or the
// process ends.
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
        exhausted(size);
    }
    at
}

#[cold]
fn exhausted(size: usize) {
    if let Some(end) = END.get() {
        end(size)
    }
}

/// Where the system gives no more memory, this ends the process. The standard library would abort it without a word of
/// the program's, and has no stable way to be told otherwise. It must not allocate. The first call counts.
pub fn end_with(end: fn(usize) -> !) {
    let _ = END.set(end);
}

/// `mi_option_arena_eager_commit` and `mi_option_purge_delay` of mimalloc.h, which the bindings do not name.
const EAGER_COMMIT: sys::mi_option_t = 4;
const PURGE_DELAY: sys::mi_option_t = 15;

/// Milliseconds until freed memory is given back, where it is.
const KEPT: c_long = 100;

fn set(option: sys::mi_option_t, value: c_long) {
    // SAFETY: the options exist in this version of the library, and setting one writes nothing but its value: a word
    // that the library reads at once.
    unsafe { sys::mi_option_set(option, value) }
}

/// From now on memory comes in large pages, and is kept when it is freed. Before other threads run.
pub fn keep_large_pages() {
    set(sys::mi_option_large_os_pages, 1);
    set(EAGER_COMMIT, 1);
    keep(true);
}

/// Whether what is freed from now on is kept until the process ends, or given back soon.
pub fn keep(freed: bool) {
    set(PURGE_DELAY, if freed { -1 } else { KEPT });
}
