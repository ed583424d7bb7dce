//! Every row of the table of interactions against runs: the holders that the verifier asks for and gives,
//! the messages of each party to each other, and the value of the result.

use crate::build::{Builder, words};
use crate::operations::{check_steps, check_traffic, recorded};
use slvr_circuit::interaction::{Interaction, Peer, next, prev};
use slvr_circuit::plan::operand;
use slvr_circuit::verify::infer;
use slvr_circuit::{Dom, Hold, INTERACTIVE, Op, Type, ValueId, wire_len};
use slvr_runtime::party::Direction;

/// The instruction of a name.
fn instruction(name: &str, operands: &[ValueId]) -> Op {
    match (name, operands) {
        ("reshare", &[x]) => Op::Reshare(x),
        ("input", &[x]) => Op::Input(x),
        ("deal", &[x]) => Op::Deal(x),
        ("deal_mask", &[x]) => Op::DealMask(x),
        ("reshare_two", &[x]) => Op::ReshareTwo(x),
        ("open_masked", &[x, mask]) => Op::OpenMasked { x, mask },
        ("open", &[x]) => Op::Open(x),
        ("open_sum", &[x]) => Op::OpenSum(x),
        ("open_to", &[x]) => Op::OpenTo { x, output: 0 },
        ("coin", []) => Op::Coin,
        _ => panic!("how is `{name}` applied to {} operands?", operands.len()),
    }
}

/// A value held so: words of k bits, or some of their bits.
fn operand_of(b: &mut Builder, x: ValueId, hold: Hold, bits: Option<u32>, groups: u32) -> ValueId {
    let part = |b: &mut Builder, op| {
        let part = b.must(op);
        bits.map_or(part, |w| b.must(Op::ToBits { x: part, lo: 1, w }))
    };
    match hold {
        Hold::Own => part(b, Op::OwnOf(x, groups)),
        Hold::Dup => part(b, Op::DupOf(x, groups)),
        Hold::Add2 => {
            let dup = part(b, Op::DupOf(x, groups));
            b.must(Op::AsAdd2(dup))
        }
        Hold::Mask => {
            let dup = part(b, Op::DupOf(x, groups));
            let Type { dom, shape, groups, .. } = b.ty(dup).clone();
            b.must(Op::Mask { tag: 7, dom, shape, groups })
        }
        Hold::Rep | Hold::Add3 | Hold::Public => {
            let dup = part(b, Op::DupOf(x, groups));
            let rep = b.must(Op::Trivial(dup));
            if hold == Hold::Rep { rep } else { b.must(Op::AsAdd3(rep)) }
        }
    }
}

fn check_row(name: &str, row: &Interaction, bits: Option<u32>, n: u64, groups: u32) {
    let mut b = Builder::new();
    let x = b.secret(64, &[1, n], &words(n, n as usize));
    let operands: Vec<ValueId> =
        row.from.iter().map(|&h| operand_of(&mut b, x, h, bits, groups)).collect();
    let op = instruction(name, &operands);
    assert_eq!(op.interaction(), Some(row), "{name}");
    assert_eq!(op.name(), name);
    match row.to {
        None => b.reveal_words(operands[0], 0, 1.0),
        Some(hold) => {
            let out = b.must(op.clone());
            assert_eq!(b.ty(out).hold, hold, "{name}");
        }
    }
    let (circuit, encoded) = b.finish();
    let (dom, lanes) = operand(&circuit, &op);
    let report = recorded(&circuit, encoded, n);
    check_traffic(&circuit, &report);
    let recorded = report.recorded.as_ref().unwrap();
    check_steps(&circuit, recorded);
    for (me, party) in recorded.iter().enumerate() {
        let counts = row.outgoing(lanes, me);
        for (peer, count) in [
            (Peer::Party(next(me)), counts.next),
            (Peer::Party(prev(me)), counts.prev),
            (Peer::Receiver(1), counts.receiver),
        ] {
            let sent = party.messages.iter().filter(|m| m.direction == Direction::Sent);
            let sent: usize =
                sent.filter(|m| m.op == name && m.peer == peer).map(|m| m.bytes.len()).sum();
            assert_eq!(sent, wire_len(dom, count), "{name}: party {me} to {peer}");
        }
    }
}

#[test]
fn rows_are_what_the_parties_do() {
    for &(name, row) in INTERACTIVE {
        for (n, groups) in [(1, 0), (70, 0), (200, 0), (70, 10), (20, 1)] {
            check_row(name, row, None, n, groups);
            if !row.words_only {
                check_row(name, row, Some(5), n, groups);
            }
        }
    }
}

/// Operands that are held in another way than the row says have no type.
#[test]
fn the_verifier_asks_for_the_holders_of_the_row() {
    let ty = |hold| Type::new(hold, Dom::Ring(32), [4]);
    for &(name, row) in INTERACTIVE {
        let ids: Vec<ValueId> = (0..row.from.len() as u32).map(ValueId).collect();
        let op = instruction(name, &ids);
        for (i, &asked) in row.from.iter().enumerate() {
            for hold in Hold::ALL {
                let mut types: Vec<Type> = row.from.iter().map(|&h| ty(h)).collect();
                types[i] = ty(hold);
                let found = infer(&op, &|v| &types[v.index()]);
                assert_eq!(found.is_ok(), hold == asked, "{name}: {found:?}");
            }
        }
    }
}
