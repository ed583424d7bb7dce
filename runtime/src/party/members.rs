//! What is revealed to each member of a party set, member by member.
//!
//! A party tells a receiver the words of a whole set. Where each member is somebody else, whoever keeps these words for
//! them cuts them up ([`pieces`]), and gives each member its own. A member puts the three parties' pieces together
//! ([`join`]), and needs no circuit for it. Against a malicious party each piece has the hash by which this party
//! vouches for the piece of the next one.

use super::guard::{rows, voucher};
use super::hello::Hello;
use super::openings;
use crate::link::{Header, Kind};
use crate::share::next;
use crate::share::reveal::Revealed;
use slvr_circuit::plan;
use slvr_circuit::proof::HASH;
use slvr_circuit::{Circuit, Dom, Output};
use slvr_ring::Data;
use std::collections::{BTreeMap, VecDeque};
use thiserror::Error;

/// One party's word of one output for one member.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// What is revealed, with the shape that the member gets.
    pub output: Output,
    /// What the words are made of.
    pub dom: Dom,
    /// The member's words, packed.
    pub word: Vec<u8>,
    /// Against a malicious party: the hash of the word of the party after this one.
    pub voucher: Option<[u8; HASH]>,
}

/// Pieces that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JoinError {
    /// Parties describe something else.
    #[error("the parties describe `{0}` differently")]
    Differ(String),
    /// Bytes that are no words of such an output.
    #[error("`{name}`: what party {party} says is no word of it")]
    Malformed {
        /// Of which output.
        name: String,
        party: usize,
    },
    /// One party does not vouch for what the next one says.
    #[error("`{name}`: party {by} does not vouch for what party {from} says")]
    Voucher {
        /// Of which output.
        name: String,
        /// Whose word it is.
        from: usize,
        /// Who should vouch for it.
        by: usize,
    },
}

/// Cuts what a party has told a party set, in order, into pieces: for each member one for each output. Nothing for frames
/// that are not those of the circuit.
pub fn pieces(
    circuit: &Circuit,
    set: usize,
    me: usize,
    frames: &[(Header, Vec<u8>)],
) -> Option<Vec<Vec<Piece>>> {
    let members = plan::members(circuit, set);
    let mut rest: VecDeque<&(Header, Vec<u8>)> = frames.iter().collect();
    let mut take = |header: Header| {
        let (found, body) = rest.pop_front()?;
        found.check(&header).is_ok().then_some(body)
    };
    take(Header::new(Kind::Hello, 0, Hello::bytes(circuit)))?;
    // By output: the words of all members, and what vouches for those of the next party.
    let mut words = openings::zeros(circuit, set);
    let mut vouchers: BTreeMap<u32, &Vec<u8>> = BTreeMap::new();
    for told in openings::layers(circuit, set) {
        for message in told.messages.get(me)? {
            words.extend(message.words(take(message.header)?)?);
        }
        for (output, header) in told.vouchers {
            vouchers.insert(output, take(header)?);
        }
    }
    let mut all: Vec<Vec<Piece>> = (0..members).map(|_| Vec::new()).collect();
    for (output, words) in &words {
        let whole = circuit.outputs.get(*output as usize)?;
        let shape = match members {
            1 => whole.shape.clone(),
            _ => whole.shape.get(1..)?.to_vec(),
        };
        let own = Output { shape, ..whole.clone() };
        let hashes = vouchers.get(output).into_iter();
        let hashes = hashes.flat_map(|h| h.as_chunks::<HASH>().0.iter().copied().map(Some));
        let rows = rows(words, members).into_iter().zip(hashes.chain(std::iter::repeat(None)));
        for (piece, (row, voucher)) in all.iter_mut().zip(rows) {
            let mut word = Vec::new();
            row.to_wire(&mut word);
            piece.push(Piece { output: own.clone(), dom: words.dom(), word, voucher });
        }
    }
    Some(all)
}

/// What a member gets, of the pieces of the three parties in order.
///
/// # Errors
///
/// Pieces that do not fit together.
pub fn join(pieces: [&Piece; 3]) -> Result<Revealed, JoinError> {
    let [first, ..] = pieces;
    let name = || first.output.name.clone();
    let alike = |p: &&Piece| {
        (&p.output, p.dom, p.voucher.is_some())
            == (&first.output, first.dom, first.voucher.is_some())
    };
    let elements =
        first.output.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?));
    let (true, Some(elements)) = (pieces.iter().all(alike), elements) else {
        return Err(JoinError::Differ(name()));
    };
    let mut words = Vec::new();
    for (party, piece) in pieces.iter().enumerate() {
        let word = Data::from_wire(piece.dom, elements, &piece.word);
        words.push(word.ok_or_else(|| JoinError::Malformed { name: name(), party })?);
    }
    for (by, piece) in pieces.iter().enumerate() {
        let from = next(by);
        if piece.voucher.is_some_and(|hash| hash != voucher(&words[from])) {
            return Err(JoinError::Voucher { name: name(), from, by });
        }
    }
    let mut sum = Data::zeros(first.dom, elements);
    words.iter().for_each(|word| sum.add_assign(word));
    Ok(Revealed::new(&first.output, sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces_of(vouched: bool, dom: Dom, values: [[u128; 3]; 3]) -> [Piece; 3] {
        let output = Output {
            name: "mine".into(),
            to: 0,
            shape: vec![3],
            ring: dom.bits(),
            frac: 0,
            factor: 1.0,
            divisor: 1.0,
            fields: Vec::new(),
        };
        let words = values.map(|v| Data::from_u128s(dom, &v));
        [0, 1, 2].map(|me| {
            let mut word = Vec::new();
            words[me].to_wire(&mut word);
            let voucher = vouched.then(|| voucher(&words[next(me)]));
            Piece { output: output.clone(), dom, word, voucher }
        })
    }

    fn joined(p: &[Piece; 3]) -> Result<Vec<f64>, JoinError> {
        join([&p[0], &p[1], &p[2]]).map(|r| r.values)
    }

    #[test]
    fn three_pieces_are_the_numbers_and_bits_of_a_member() {
        let numbers =
            pieces_of(false, Dom::Ring(64), [[1, 2, 3], [4, 5, 6], [1, u64::MAX as u128, 0]]);
        assert_eq!(joined(&numbers), Ok(vec![6.0, 6.0, 9.0]));
        let bits = pieces_of(true, Dom::Bits(1), [[1, 0, 1], [1, 1, 0], [1, 0, 0]]);
        // One bit as a signed number of one bit.
        assert_eq!(joined(&bits), Ok(vec![-1.0, -1.0, -1.0]));
    }

    #[test]
    fn a_party_that_says_another_word_has_nobody_to_vouch_for_it() {
        let honest = pieces_of(true, Dom::Ring(64), [[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
        assert!(joined(&honest).is_ok());
        for from in 0..3 {
            let mut all = honest.clone();
            all[from].word[9] ^= 4;
            let by = (from + 2) % 3;
            let said = JoinError::Voucher { name: "mine".into(), from, by };
            assert_eq!(joined(&all), Err(said), "word of {from}");
            // Without its voucher it is not like the others.
            let mut all = honest.clone();
            all[from].voucher = None;
            assert_eq!(joined(&all), Err(JoinError::Differ("mine".into())), "voucher of {from}");
            let mut all = honest.clone();
            all[from].output.factor = 2.0;
            assert_eq!(joined(&all), Err(JoinError::Differ("mine".into())), "factor of {from}");
            let mut all = honest.clone();
            all[from].word.pop();
            let said = JoinError::Malformed { name: "mine".into(), party: from };
            assert_eq!(joined(&all), Err(said), "length of {from}");
        }
    }
}
