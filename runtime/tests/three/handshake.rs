//! Parties that run different things stop before the first share is used.

use crate::build::Builder;
use slvr_circuit::Dom;
use slvr_circuit::{Circuit, Hold, Op};
use slvr_ring::Data;
use slvr_runtime::link::memory::{Mesh, mesh};
use slvr_runtime::party::{Doors, Held, Party, PartyReport, RunError};
use slvr_runtime::share::{PairSeeds, Prss, RunId, Seed};
use std::time::Duration;

fn circuit(c: u128) -> Circuit {
    let mut b = Builder::new();
    let p = b.public(64, &[2], &[1, 2]);
    let p = b.same(Op::Scale(p, c), Hold::Public);
    b.same(Op::Neg(p), Hold::Public);
    b.op(Op::Coin, Hold::Public, Dom::Ring(128), &[]);
    b.finish().0
}

struct Setup {
    circuit: Circuit,
    public: u128,
    run: RunId,
}

fn setup() -> Setup {
    Setup { circuit: circuit(3), public: 7, run: RunId([9; 16]) }
}

fn run(setups: &[Setup; 3]) -> Vec<Result<PartyReport, RunError>> {
    let Mesh { parties, .. } = mesh(&[]);
    let pairs = PairSeeds::of_all(&[1u8, 2, 3].map(|b| Seed::new([b; 16])));
    std::thread::scope(|scope| {
        let threads: Vec<_> = parties
            .into_iter()
            .enumerate()
            .map(|(i, mut link)| {
                let Setup { circuit, public, run } = &setups[i];
                let prss = Prss::new(i, &pairs[i], *run);
                scope.spawn(move || {
                    let party = Party {
                        doors: Doors::new().any_openings(),
                        ..Party::new(circuit, prss, &mut link, *run, Duration::from_secs(20))
                    };
                    let input = Held::one(Data::from_u128s(Dom::Ring(64), &[*public, 2]));
                    party.run(vec![input]).map(|(report, _)| report)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

fn mismatch(setups: [Setup; 3], what: &str) {
    let results = run(&setups);
    let shown: Vec<String> =
        results.into_iter().map(|r| r.expect_err("a party went on").to_string()).collect();
    // Party 1 is the odd one: it sees it with whomever it hears first, the others with party 1. Who
    // is slow may hear that another has stopped before it can compare.
    let mut direct = 0;
    for (i, shown) in shown.iter().enumerate() {
        assert!(shown.starts_with("handshake, party "), "{shown}");
        if shown.ends_with(&format!("has {what}")) {
            assert!(i == 1 || shown.contains("party 1"), "party {i}: {shown}");
            direct += 1;
        } else {
            assert!(shown.contains("aborted") || shown.contains("closed"), "party {i}: {shown}");
        }
    }
    assert!(direct >= 1, "{shown:?}");
}

#[test]
fn equal_parties_agree() {
    let results = run(&[setup(), setup(), setup()]);
    let coins: Vec<_> = results.into_iter().map(|r| r.unwrap().coins).collect();
    assert!(coins[0] == coins[1] && coins[1] == coins[2] && coins[0].len() == 1);
}

#[test]
fn another_circuit() {
    let odd = Setup { circuit: circuit(4), ..setup() };
    mismatch([setup(), odd, setup()], "another circuit");
}

#[test]
fn other_public_inputs() {
    let odd = Setup { public: 8, ..setup() };
    mismatch([setup(), odd, setup()], "other public inputs");
}

#[test]
fn another_run() {
    let odd = Setup { run: RunId([8; 16]), ..setup() };
    mismatch([setup(), odd, setup()], "another run");
}
