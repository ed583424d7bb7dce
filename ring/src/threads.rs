//! Work on several threads.
//!
//! A parallel iterator is compiled anew for every closure that it is given: about 3000 lines of
//! intermediate code for each kernel and each width, which was more than half of this crate. Here is one
//! loop over indices, compiled once; what is generic only hands out the items.

use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::{io, thread};

/// Threads that work at a time.
pub fn count() -> usize {
    rayon::current_num_threads()
}

/// Whether this process can have as many threads at once as it works with, and `more` beside them. Libraries that start
/// threads panic where the system gives none, so one asks before.
///
/// # Errors
///
/// What the system says.
pub fn startable(more: usize) -> io::Result<()> {
    let all = thread::available_parallelism().map_or(1, usize::from) + more;
    let (mut held, mut started) = (Vec::new(), Vec::new());
    for _ in 0..all {
        let (hold, wait) = channel::<()>();
        // It ends when `held` is dropped.
        let thread = thread::Builder::new().spawn(move || while wait.recv().is_ok() {});
        held.push(hold);
        started.push(thread?);
    }
    drop(held);
    // They end by themselves; what is asked next begins when their places are free.
    started.into_iter().try_for_each(|t| t.join().map_err(|_| io::Error::other("a thread ended")))
}

/// Calls f for all numbers below n.
fn indices(n: usize, f: &(dyn Fn(usize) + Sync)) {
    if n == 1 {
        f(0);
    } else {
        (0..n).into_par_iter().for_each(f);
    }
}

/// Calls f for every item, in any order. An item should be worth at least some microseconds. f is not
/// generic, so that there is one copy of this for each kind of items.
pub fn each<T: Send>(items: impl Iterator<Item = T>, f: &(dyn Fn(T) + Sync)) {
    let items: Vec<Mutex<Option<T>>> = items.map(|x| Mutex::new(Some(x))).collect();
    indices(items.len(), &|i| {
        // Each index is taken once, so nobody waits for a lock.
        if let Some(item) = items[i].lock().unwrap_or_else(PoisonError::into_inner).take() {
            f(item);
        }
    });
}

/// The results for all items, in the order of the items.
pub fn map<T: Send, R: Send>(
    items: impl Iterator<Item = T>,
    f: &(dyn Fn(T) -> R + Sync),
) -> Vec<R> {
    let out: Vec<_> = items.map(|x| (Mutex::new(Some(x)), Mutex::new(None::<R>))).collect();
    indices(out.len(), &|i| {
        let (item, result) = &out[i];
        if let Some(item) = item.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let found = f(item);
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        }
    });
    let result = |x: Mutex<Option<R>>| x.into_inner().unwrap_or_else(PoisonError::into_inner);
    out.into_iter().filter_map(|(_, x)| result(x)).collect()
}

/// As many workers as there are threads take the numbers below n, in any order. Each has a state of its own, and these
/// are the results.
pub fn workers<S: Send>(
    n: usize,
    new: &(dyn Fn() -> S + Sync),
    f: &(dyn Fn(&mut S, usize) + Sync),
) -> Vec<S> {
    let next = AtomicUsize::new(0);
    map(0..count().min(n), &|_| {
        let mut state = new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n {
                return state;
            }
            f(&mut state, i);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_once_and_in_order() {
        for n in [0, 1, 2, 1000] {
            let mut seen = vec![0; n];
            each(seen.iter_mut().enumerate(), &|(i, x)| *x += i + 1);
            assert!(seen.iter().copied().eq(1..=n));
            assert!(map(0..n, &|i| 2 * i).into_iter().eq((0..n).map(|i| 2 * i)));
            let taken = workers(n, &Vec::new, &|all, i| all.push(i));
            assert!(taken.len() <= count());
            let mut all = taken.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..n));
        }
    }
}
