//! Locks that outlive a panic: a node goes on after a bug in one request or round, with what is there.

use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(feature = "server")]
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(feature = "server")]
pub(crate) fn read_lock<T>(of: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    of.read().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(feature = "server")]
pub(crate) fn write_lock<T>(of: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    of.write().unwrap_or_else(PoisonError::into_inner)
}
