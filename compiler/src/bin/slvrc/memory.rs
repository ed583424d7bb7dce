//! The allocator, and how it gets its memory.
//!
//! A run makes and frees tensors of megabytes at every instruction. The system's allocator gives each back
//! and faults its pages in again: more time than the arithmetic takes. mimalloc keeps them, in
//! large pages.

use libmimalloc_sys as sys;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_arena_eager_commit` and `mi_option_purge_delay` of mimalloc.h, which the bindings do not name.
const EAGER_COMMIT: sys::mi_option_t = 4;
const PURGE_DELAY: sys::mi_option_t = 15;

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
