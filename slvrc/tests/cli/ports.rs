//! Ports for nodes and parties that a test starts. Every test of this binary takes its ports here and nowhere else, so
//! that no two get the same.

use std::net::{SocketAddr, TcpListener};
use std::sync::Mutex;

/// The ports of a row. A deployment of three nodes with two workers each takes at most 36 from the first on.
const LENGTH: u16 = 40;
/// Rows, from this port on. All of them are below the ports that the system hands out by itself.
const ROWS: u16 = 190;
const FIRST: u16 = 12_000;

/// The first port of a row that is nobody else's until this process ends.
pub fn row() -> u16 {
    static TAKEN: Mutex<Vec<TcpListener>> = Mutex::new(Vec::new());
    let (first, claim) = claimed();
    TAKEN.lock().expect("no test panics here").push(claim);
    first
}

/// Addresses of three parties on this machine, and what keeps them from others until it is dropped.
pub fn hosts() -> ([SocketAddr; 3], TcpListener) {
    let (first, claim) = claimed();
    ([0, 1, 2].map(|k| SocketAddr::from(([127, 0, 0, 1], first + k))), claim)
}

/// The first port of a row whose ports are free at this moment. Whoever takes a row listens on its last port for as long
/// as it is needed, so that no other test and no other process takes it too.
fn claimed() -> (u16, TcpListener) {
    let begin = std::process::id() % u32::from(ROWS);
    (0..ROWS)
        .find_map(|k| {
            let first = FIRST + (begin as u16 + k) % ROWS * LENGTH;
            let claim = listener(first + LENGTH - 1).ok()?;
            let free = (first..first + LENGTH - 1).all(|port| listener(port).is_ok());
            free.then_some((first, claim))
        })
        .unwrap_or_else(|| panic!("no row of {LENGTH} ports is free from {FIRST} on"))
}

/// Refused as well where something listens on one address only.
fn listener(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind(("0.0.0.0", port))
}

#[test]
fn no_row_is_taken_twice() {
    let mut rows = std::thread::scope(|scope| {
        let taking = [0; 8].map(|_| scope.spawn(row));
        taking.map(|t| t.join().expect("a row"))
    });
    rows.sort_unstable();
    assert!(rows.windows(2).all(|w| w[0] + LENGTH <= w[1]), "{rows:?}");
}
