//! What nodes say to the receivers of a round: words of results, in files for the coordinator and for each member.

use crate::hex::{Hash, Hex, hex, unhex};
use serde::{Deserialize, Serialize};
use slvr_circuit::{Dom, Output};
use slvr_runtime::link::Header;
use slvr_runtime::party::members::Piece;
use slvr_runtime::share::RunId;
use zeroize::Zeroizing;

/// What a party tells a receiver: the party set, the header, the body.
pub type Frame = (u32, Header, Vec<u8>);
/// What a party tells all receivers, in order.
pub type Words = Vec<Frame>;

/// The run's name, and each frame: party set, header, body.
pub fn pack(run: RunId, words: &Words) -> Zeroizing<Vec<u8>> {
    let len = words.iter().map(|(_, _, body)| 4 + Header::BYTES + body.len()).sum::<usize>();
    let mut out = Zeroizing::new(Vec::with_capacity(16 + len));
    out.extend(run.0);
    for (set, header, body) in words {
        out.extend(set.to_le_bytes());
        out.extend(header.encode());
        out.extend(body);
    }
    out
}

/// Reads what a node keeps for the receivers; nothing for bytes that are something else.
pub fn words(bytes: &[u8]) -> Option<(RunId, Words)> {
    let (run, mut rest) = bytes.split_first_chunk::<16>()?;
    let mut out = Vec::new();
    while !rest.is_empty() {
        let (set, more) = rest.split_first_chunk::<4>()?;
        let (header, more) = more.split_first_chunk::<{ Header::BYTES }>()?;
        let header = Header::decode(header)?;
        let (body, more) = more.split_at_checked(usize::try_from(header.len).ok()?)?;
        out.push((u32::from_le_bytes(*set), header, body.to_vec()));
        rest = more;
    }
    Some((RunId(*run), out))
}

/// What a node tells one member of what a round reveals to it. Only the words and what vouches for them differ between the
/// three nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revealing {
    pub task: String,
    pub round: u64,
    pub client: String,
    pub run: Hex<16>,
    /// Hash of the round's opening.
    pub opening: Hash,
    /// The circuit that was run.
    pub circuit: Hash,
    pub set: String,
    /// Which member of it this is.
    pub member: u64,
    pub outputs: Vec<Word>,
}

/// A node's word of one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Word {
    /// What is revealed, with the shape that the member gets.
    pub output: Output,
    /// Bits of an element.
    pub bits: u32,
    /// Whether elements are vectors of bits, packed plane by plane.
    pub planes: bool,
    /// The node's word, packed, in hexadecimal digits.
    pub word: String,
    /// Against a malicious node: the hash of the next node's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voucher: Option<Hash>,
}

impl Word {
    /// Of a piece of what a party tells receivers.
    pub fn of(piece: &Piece) -> Word {
        Word {
            output: piece.output.clone(),
            bits: piece.dom.bits(),
            planes: matches!(piece.dom, Dom::Bits(_)),
            word: hex(&piece.word),
            voucher: piece.voucher.map(Hex),
        }
    }

    /// As the runtime puts it together; nothing for what are no bytes.
    pub fn piece(&self) -> Option<Piece> {
        let dom = if self.planes { Dom::Bits(self.bits) } else { Dom::Ring(self.bits) };
        let (output, word) = (self.output.clone(), unhex(&self.word)?);
        Some(Piece { output, dom, word, voucher: self.voucher.map(|h| h.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_runtime::link::Kind;

    #[test]
    fn words_read_back_and_damaged_ones_do_not() {
        let frames = vec![
            (1, Header::new(Kind::Hello, 0, 3), vec![1, 2, 3]),
            (2, Header::new(Kind::Agreed, 0, 0), vec![]),
        ];
        let bytes = pack(RunId([9; 16]), &frames);
        let (run, read) = words(&bytes).expect("reads");
        assert_eq!((run.0, &read), ([9; 16], &frames));
        for cut in 17..bytes.len() {
            // Between two frames is an end, too.
            assert!(words(&bytes[..cut]).is_none_or(|(_, w)| w.len() < 2), "cut at {cut}");
        }
        let mut long = bytes.to_vec();
        long[16 + 4 + 9..16 + 4 + 17].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(words(&long).is_none());
    }
}
