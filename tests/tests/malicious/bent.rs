//! A run among three parties in which one deviates: in frames that it sends, or in what it evaluates.

use slvr_circuit::Circuit;
use slvr_runtime::link::memory::Memory;
use slvr_runtime::link::{Header, Kind, Link, LinkError, Peer};
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{Options, Outcome, run_outcome};
use slvr_runtime::share::encode::Encoded;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Changes a frame, by its number among those of its party. Those of the handshake do not count.
pub type Change = Arc<dyn Fn(usize, &Header, &mut Vec<u8>) + Send + Sync>;

/// Who has sent what, but for the handshake.
pub type Log = Vec<(usize, Header)>;

struct Bent {
    inner: Memory,
    me: usize,
    change: Option<Change>,
    sent: usize,
    log: Arc<Mutex<Log>>,
}

impl Link for Bent {
    fn send(&mut self, to: Peer, header: Header, mut body: Vec<u8>) -> Result<(), LinkError> {
        if header.kind != Kind::Hello {
            self.log.lock().unwrap().push((self.me, header));
            if let Some(change) = &self.change {
                change(self.sent, &header, &mut body);
            }
            self.sent += 1;
        }
        self.inner.send(to, header, body)
    }

    fn recv(&mut self, from: Peer, expected: Header, wait: Duration) -> Result<Vec<u8>, LinkError> {
        self.inner.recv(from, expected, wait)
    }
}

/// How a run ends in which a party changes what it sends, or evaluates another circuit.
pub fn bent(
    circuit: &Circuit,
    encoded: &Encoded,
    party: usize,
    change: Option<Change>,
    instead: Option<&Circuit>,
    seed: u64,
) -> (Outcome, Log) {
    let log = Arc::<Mutex<Log>>::default();
    let wrap = |me: usize, inner: Memory| -> Box<dyn Link> {
        let change = change.clone().filter(|_| me == party);
        Box::new(Bent { inner, me, change, sent: 0, log: log.clone() })
    };
    let deviant = instead.map(|c| (party, c));
    let options = Options {
        doors: Doors::new().wrap(&wrap).deviant(deviant),
        seed: Some(seed),
        deadline: Duration::from_secs(60),
        ..Options::default()
    };
    let outcome = run_outcome(circuit, encoded.clone(), &options).expect("set up");
    let log = log.lock().unwrap().clone();
    (outcome, log)
}
