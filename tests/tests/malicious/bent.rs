//! A run among three parties in which one deviates: in frames that it sends, or in what it evaluates.

use slvr_circuit::Circuit;
use slvr_runtime::link::memory::Memory;
use slvr_runtime::link::tap::sending;
use slvr_runtime::link::{Header, Kind, Link};
use slvr_runtime::party::Doors;
use slvr_runtime::party::session::{Options, Outcome, run_outcome};
use slvr_runtime::share::encode::Encoded;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Changes a frame, by its number among those of its party. Those of the handshake do not count.
pub type Change = Arc<dyn Fn(usize, &Header, &mut Vec<u8>) + Send + Sync>;

/// Who has sent what, but for the handshake.
pub type Log = Vec<(usize, Header)>;

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
        let (log, mut sent) = (log.clone(), 0);
        sending(inner, move |(to, header, mut body)| {
            if header.kind != Kind::Hello {
                log.lock().unwrap().push((me, header));
                if let Some(change) = &change {
                    change(sent, &header, &mut body);
                }
                sent += 1;
            }
            vec![(to, header, body)]
        })
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
