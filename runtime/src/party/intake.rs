//! What a party makes of the clients' uploads before a run: its shares of the inputs.

use super::{Held, Uploads, Why};
use crate::circuit::Circuit;
use crate::ring::Data;
use crate::share::deal::{Upload, layout};
use crate::share::{Rep, RunId};
use std::collections::BTreeMap;

/// Collects uploads. The circuit must be verified.
pub(super) struct Intake<'a> {
    circuit: &'a Circuit,
    me: usize,
    /// By input: the members' uploads, in order.
    members: Vec<Vec<(usize, Option<Upload>)>>,
}

impl<'a> Intake<'a> {
    /// For party `me`.
    pub fn new(circuit: &'a Circuit, me: usize) -> Self {
        Intake { circuit, me, members: vec![Vec::new(); circuit.parties.len()] }
    }

    /// What came of a member of a party set, in the order of the members; nothing if it gave nothing.
    pub fn take(&mut self, set: usize, member: usize, upload: Option<&Upload>) {
        if let Some(members) = self.members.get_mut(set) {
            members.push((member, upload.cloned()));
        }
    }

    /// Expands everything: what the party holds of the inputs, in declaration order, and what it
    /// knows of the uploads. Of a client that gave nothing, or something unreadable, it holds zeros
    /// for now, and knows.
    pub fn finish(
        self,
        run: RunId,
        public: &BTreeMap<usize, Data>,
        compare: bool,
    ) -> (Vec<Held>, Uploads) {
        let Intake { circuit, me, members } = self;
        let mut uploads = Uploads { unchecked: !compare, ..Uploads::default() };
        let mut shares: Vec<Vec<Rep>> = vec![Vec::new(); circuit.inputs.len()];
        for (set, members) in members.into_iter().enumerate() {
            let layout = layout(circuit, set);
            for (member, upload) in members {
                let expanded = match upload {
                    None => Err(Why::Missing),
                    Some(u) => u.expand(me, run, &layout).map_err(|_| Why::Inconsistent),
                };
                let reps = expanded.unwrap_or_else(|why| {
                    uploads.unusable.insert((set as u32, member as u64), why);
                    let zeros = |dom, n| Rep::new(Data::zeros(dom, n), Data::zeros(dom, n));
                    layout.iter().map(|&(_, dom, n)| zeros(dom, n)).collect()
                });
                for ((j, ..), rep) in layout.iter().zip(reps) {
                    if let Some(shares) = shares.get_mut(*j as usize) {
                        shares.push(rep);
                    }
                }
            }
        }
        let held = shares.into_iter().enumerate().map(|(j, parts)| {
            if let Some(x) = public.get(&j) {
                return Held::one(x.clone());
            }
            let all = |pick: fn(&Rep) -> &Data| {
                let parts: Vec<&Data> = parts.iter().map(pick).collect();
                match parts.is_empty() {
                    true => Data::zeros(circuit.ty(circuit.inputs[j].value).dom, 0),
                    false => Data::concat(&parts),
                }
            };
            Held::Rep(Rep::new(all(|r| &r.first), all(|r| &r.second)))
        });
        (held.collect(), uploads)
    }
}
