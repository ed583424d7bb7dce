//! From an instruction to the protocol that carries it out: the only place that knows all of them.

use super::{
    Context, Incoming, Message, coin, deal, deal_mask, input, open, open_masked, open_sum, open_to,
    reshare, reshare_two,
};
use crate::share::{Held, Rep};
use slvr_circuit::{Dom, Lanes, Op};
use slvr_ring::Data;

/// What a party has of the operands of an interactive instruction.
#[derive(Debug)]
pub struct Operands<'a> {
    /// What it holds of each, in order. A party may have forgotten an operand when it makes the result,
    /// unless the instruction's row in the table of interactions says that it is read again.
    pub held: Vec<Option<&'a Held>>,
    pub dom: Dom,
    /// Where their shards lie.
    pub lanes: Lanes,
}

impl<'a> Operands<'a> {
    fn get(&self, i: usize) -> &'a Held {
        match self.held.get(i) {
            Some(Some(held)) => held,
            _ => unreachable!("the verifier admits only operands that are alive"),
        }
    }

    fn one(&self, i: usize) -> &'a Data {
        self.get(i).as_one()
    }

    fn rep(&self, i: usize) -> &'a Rep {
        self.get(i).as_rep()
    }
}

/// The two halves of an interactive instruction.
#[derive(Debug)]
pub struct Protocol {
    /// What a party sends and keeps.
    pub message: fn(Context<'_>, &Operands<'_>) -> Message,
    /// What it makes of this and of what it receives; nothing if a receiver gets the result.
    pub finish: fn(Context<'_>, &Operands<'_>, Message, Incoming) -> Option<Held>,
}

/// The protocol of an instruction; `None` for a local one.
pub fn of(op: &Op) -> Option<Protocol> {
    Some(match op {
        Op::Reshare(_) => Protocol {
            message: |cx, x| reshare::message(cx, x.one(0)),
            finish: |_, _, sent, got| Some(Held::Rep(reshare::finish(sent, got))),
        },
        Op::Input(_) => Protocol {
            message: |cx, x| input::message(cx, x.one(0), x.lanes),
            finish: |cx, x, sent, got| {
                Some(Held::Rep(input::finish(cx, sent, got, x.dom, x.lanes)))
            },
        },
        Op::Deal(_) => Protocol {
            message: |cx, x| deal::message(cx, x.one(0), x.lanes),
            finish: |cx, x, _, got| Some(Held::one(deal::finish(cx, got, x.dom, x.lanes))),
        },
        Op::DealMask(_) => Protocol {
            message: |cx, x| deal_mask::message(cx, x.one(0), x.lanes),
            finish: |cx, x, sent, got| {
                Some(Held::Rep(deal_mask::finish(cx, sent, got, x.dom, x.lanes)))
            },
        },
        Op::ReshareTwo(_) => Protocol {
            message: |cx, x| reshare_two::message(cx, x.one(0), x.lanes),
            finish: |cx, x, sent, got| {
                Some(Held::Rep(reshare_two::finish(cx, sent, got, x.dom, x.lanes)))
            },
        },
        Op::OpenMasked { .. } => Protocol {
            message: |cx, x| open_masked::message(cx, x.one(0), x.rep(1), x.lanes),
            finish: |cx, _, sent, got| Some(Held::one(open_masked::finish(cx, sent, got))),
        },
        Op::Open(_) => Protocol {
            message: |_, x| open::message(x.rep(0)),
            finish: |_, x, _, got| Some(Held::one(open::finish(x.rep(0), got))),
        },
        Op::OpenSum(_) => Protocol {
            message: |cx, x| open_sum::message(cx, x.one(0)),
            finish: |_, _, sent, got| Some(Held::one(open_sum::finish(sent, got))),
        },
        Op::OpenTo { .. } => {
            Protocol { message: |cx, x| open_to::message(cx, x.one(0)), finish: |_, _, _, _| None }
        }
        Op::Coin => Protocol {
            message: |cx, _| coin::message(cx),
            finish: |_, _, sent, got| Some(Held::one(coin::finish(sent, got))),
        },
        _ => return None,
    })
}
