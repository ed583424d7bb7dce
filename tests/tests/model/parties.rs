//! The three parties of the runtime on given shares and given randomness, and what each of them sees.

use super::circuits::Made;
use slvr_circuit::interaction::{Sends, next, prev};
use slvr_circuit::{Dom, ValueId};
use slvr_ring::Data;
use slvr_runtime::link::Peer;
use slvr_runtime::link::memory::mesh;
use slvr_runtime::party::{Direction, Doors, Event, Held, Party, Transcript, Uploads};
use slvr_runtime::share::{Prss, Rep, RunId, Words};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// What a party receives, and its share of the result.
pub struct Seen {
    result: ValueId,
    pub received: Vec<(u64, usize, Vec<u8>)>,
    pub share: Option<Arc<Data>>,
}

impl Transcript for Seen {
    fn value(&mut self, id: ValueId, held: &Held) {
        if id == self.result {
            self.share = Some(held.as_one().clone());
        }
    }

    fn message(&mut self, event: Event<&[u8]>) {
        if let (Direction::Received, Peer::Party(from)) = (event.direction, event.peer) {
            self.received.push((event.instr, from, event.bytes.to_vec()));
        }
    }
}

/// Runs a circuit on the components of its inputs; `pairs[i]` gives what parties i and i + 1 draw together.
pub fn run(made: &Made, shares: &[[Data; 3]], pairs: &[Arc<dyn Words>; 3]) -> [Seen; 3] {
    let links = mesh(&[]).parties;
    thread::scope(|scope| {
        let mut running = Vec::new();
        for (i, mut link) in links.into_iter().enumerate() {
            running.push(scope.spawn(move || {
                let inputs = shares
                    .iter()
                    .map(|x| Held::Rep(Rep::new(x[i].clone(), x[next(i)].clone())))
                    .collect();
                let mut seen = Seen { result: made.result, received: vec![], share: None };
                let prss = Prss::of_words(i, [i, prev(i)].map(|pair| pairs[pair].clone()));
                let (run, deadline) = (RunId([0; 16]), Duration::from_secs(600));
                let party = Party {
                    doors: Doors::new().any_openings(),
                    uploads: Uploads { unchecked: true, ..Uploads::default() },
                    transcript: Some(&mut seen),
                    ..Party::new(&made.circuit, prss, &mut link, run, deadline)
                };
                party.run(inputs).unwrap_or_else(|e| panic!("party {i}: {e}"));
                seen
            }));
        }
        let done: Vec<Seen> = running.into_iter().map(|r| r.join().expect("a party")).collect();
        done.try_into().unwrap_or_else(|_| unreachable!("three were started"))
    })
}

/// What a party received in an instruction, 128 planes at a time, with the position of the first word in the operand.
pub fn words(made: &Made, me: usize, got: &(u64, usize, Vec<u8>)) -> (Vec<Vec<u128>>, usize) {
    let (number, from, bytes) = got;
    let (dom, lanes) = made.operand(*number);
    let op = &made.instrs[*number as usize].op;
    let Some(row) = op.interaction() else { panic!("{}: a message of its own", op.name()) };
    let shards = lanes.ranges();
    let range = match row.sends {
        Sends::All(_) => 0..lanes.n,
        Sends::Owner(_) => shards[*from].clone(),
        // In shard r the parties r + 1 and r + 2 tell each other something.
        Sends::Others if *from == prev(me) => shards[next(me)].clone(),
        Sends::Others => shards[prev(me)].clone(),
    };
    let Some(data) = Data::from_wire(dom, range.len(), bytes) else {
        panic!("{}: {} bytes for {} elements", op.name(), bytes.len(), range.len())
    };
    let words = match dom {
        Dom::Bits(all @ 129..) => (0..all)
            .step_by(128)
            .map(|first| data.planes(first, 1, (all - first).min(128)).to_u128s())
            .collect(),
        _ => vec![data.to_u128s()],
    };
    (words, range.start)
}
