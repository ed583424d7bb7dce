//! Memory as `slvrc` has it, for benches that measure runs.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keeps freed memory in large pages, as `slvrc` does.
pub fn keep() {
    use libmimalloc_sys as sys;
    /// `mi_option_purge_delay`, which the bindings do not name.
    const PURGE_DELAY: sys::mi_option_t = 15;
    // SAFETY: the options exist in this version of the library, and setting one touches nothing but its
    // value; no other thread runs yet.
    unsafe {
        sys::mi_option_set(sys::mi_option_large_os_pages, 1);
        sys::mi_option_set(PURGE_DELAY, -1);
    }
}
