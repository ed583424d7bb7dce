//! What the parties tell a party set of its outputs, message by message.

use super::exchange::headers;
use crate::link::{Header, Kind, Peer};
use slvr_circuit::plan::{self, Frame};
use slvr_circuit::proof::HASH;
use slvr_circuit::{Circuit, Layer, Op, Type};
use slvr_ring::Data;
use std::collections::BTreeMap;

/// What each party tells in a layer.
pub(super) struct LayerOpenings<'a> {
    pub messages: [Vec<Message<'a>>; 3],
    /// Against a malicious party also, by output: the hashes by which each party vouches for the next one.
    pub vouchers: Vec<(u32, Header)>,
}

pub(super) struct Message<'a> {
    pub header: Header,
    /// Output, type and bytes of each word.
    words: Vec<(u32, &'a Type, usize)>,
}

impl Message<'_> {
    /// The words of a body by output, if these are its words.
    pub fn words(&self, mut body: &[u8]) -> Option<Vec<(u32, Data)>> {
        let word = |&(output, ty, bytes): &(u32, &Type, usize)| {
            let (word, rest) = body.split_at_checked(bytes)?;
            body = rest;
            Some((output, Data::from_wire(ty.dom, ty.elements() as usize, word)?))
        };
        self.words.iter().map(word).collect()
    }
}

/// What a layer opens to a party set: which instructions of its exchange, and output and type of each.
fn opened<'a>(
    circuit: &'a Circuit,
    layer: &'a Layer,
    set: usize,
) -> impl Iterator<Item = (usize, (u32, &'a Type))> {
    layer.exchange.iter().enumerate().filter_map(move |(j, instr)| match &instr.op {
        Op::OpenTo { x, output } if plan::receiver(circuit, &instr.op) == set => {
            Some((j, (*output, circuit.ty(*x))))
        }
        _ => None,
    })
}

/// Zeros for each output of a party set. Of one without elements nothing is told.
pub(super) fn zeros(circuit: &Circuit, set: usize) -> BTreeMap<u32, Data> {
    let all = circuit.layers.iter().flat_map(|layer| opened(circuit, layer, set));
    all.map(|(_, (output, ty))| (output, Data::zeros(ty.dom, ty.elements() as usize))).collect()
}

/// What is told in each layer.
pub(super) fn layers(circuit: &Circuit, set: usize) -> impl Iterator<Item = LayerOpenings<'_>> {
    let hashes = HASH.saturating_mul(plan::members(circuit, set) as usize);
    let vouched = circuit.security.is_malicious();
    let layers = (0u32..).zip(&circuit.layers).zip(plan::plan(circuit));
    layers.map(move |((l, layer), plan)| {
        let outputs: BTreeMap<_, _> = opened(circuit, layer, set).collect();
        let word = |&(instr, bytes): &(usize, usize)| {
            let (output, ty) = *outputs.get(&instr)?;
            Some((output, ty, bytes))
        };
        let message = |(header, frame): (Header, &Frame)| Message {
            header,
            words: frame.parts.iter().filter_map(word).collect(),
        };
        let messages = [0, 1, 2].map(|from| {
            let frames = plan::frames(circuit, layer, &plan.order, from, Peer::Receiver(set));
            headers(l, &frames).into_iter().zip(&frames).map(message).collect()
        });
        let voucher = |(j, (output, _)): (&usize, &(u32, _))| {
            (*output, Header { part: *j as u32, ..Header::new(Kind::Vouch, l, hashes) })
        };
        let told = outputs.iter().filter(|(_, (_, ty))| vouched && ty.elements() > 0);
        LayerOpenings { messages, vouchers: told.map(voucher).collect() }
    })
}
