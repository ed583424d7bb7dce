//! A link to a node that can be cut, healed and slowed down.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[derive(Default)]
struct State {
    cut: AtomicBool,
    delay: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

impl State {
    fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
        for socket in self.open.lock().expect("a list").drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// A link.
pub struct Proxy {
    pub port: u16,
    state: Arc<State>,
}

impl Proxy {
    /// To this port.
    pub fn new(to: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State::default());
        let shared = state.clone();
        thread::spawn(move || {
            for from in listener.incoming().flatten() {
                if shared.cut.load(Ordering::Relaxed) {
                    continue;
                }
                let Ok(onward) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                let both =
                    [from.try_clone().expect("a socket"), onward.try_clone().expect("a socket")];
                shared.open.lock().expect("a list").extend(both);
                for (a, b) in [(&from, &onward), (&onward, &from)] {
                    let (mut a, mut b) =
                        (a.try_clone().expect("a socket"), b.try_clone().expect("a socket"));
                    let shared = shared.clone();
                    a.set_nodelay(true).expect("an option");
                    b.set_nodelay(true).expect("an option");
                    thread::spawn(move || {
                        let mut bytes = vec![0; 64 << 10];
                        while let Ok(n @ 1..) = a.read(&mut bytes) {
                            let delay = shared.delay.load(Ordering::Relaxed);
                            if delay > 0 {
                                thread::sleep(Duration::from_millis(delay));
                            }
                            if b.write_all(&bytes[..n]).is_err() {
                                break;
                            }
                        }
                        let _ = b.shutdown(Shutdown::Write);
                    });
                }
            }
        });
        Proxy { port, state }
    }

    /// Ends all connections and takes no more.
    pub fn cut(&self) {
        self.state.cut();
    }

    /// Takes connections again, without delay.
    pub fn heal(&self) {
        self.state.cut.store(false, Ordering::Relaxed);
        self.slow(0);
    }

    /// Passes everything on so many milliseconds later.
    pub fn slow(&self, milliseconds: u64) {
        self.state.delay.store(milliseconds, Ordering::Relaxed);
    }
}
