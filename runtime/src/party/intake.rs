//! What a party makes of the clients' uploads before a run: its shares of the inputs.
//!
//! Every upload is digested as it came and expanded right to its place among the members' elements, so
//! that neither uploads nor parts of tensors are kept: large inputs are in memory once. Inputs that the circuit loads in
//! parts are not expanded before they are read.

use super::loads::{Source, Submitted};
use super::uploads::{Received, Uploads, Why};
use crate::share::deal::{Components, Upload, layout};
use crate::share::encode::presence;
use crate::share::{Held, Rep, RunId};
use slvr_circuit::{Circuit, From, Input};
use slvr_ring::Data;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Takes in uploads, in any order. The circuit must be verified.
pub struct Intake<'a> {
    circuit: &'a Circuit,
    me: usize,
    run: RunId,
    /// What the members that have given something hold, zeros for the others.
    shares: Components,
    uploads: Uploads,
    /// Uploads with inputs that are loaded in parts, where nobody else keeps them.
    kept: Option<BTreeMap<(usize, usize), Upload>>,
}

impl fmt::Debug for Intake<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Intake(party {}, contents hidden)", self.me)
    }
}

impl<'a> Intake<'a> {
    /// For party `me`, of uploads that were dealt under this name. `compare`: whether the parties are to compare what they got.
    pub fn new(circuit: &'a Circuit, me: usize, run: RunId, compare: bool) -> Self {
        let loaded = circuit.loaded();
        let zeros = || {
            let secret = (0u64..)
                .zip(&circuit.inputs)
                .filter(|(_, i)| matches!(i.from, From::Each(_)) && !loaded.contains(&i.value));
            let zeros = |(j, input): (u64, &Input)| {
                let ty = circuit.ty(input.value);
                (j, Data::zeros(ty.dom, ty.elements() as usize))
            };
            secret.map(zeros).collect()
        };
        let uploads = Uploads { unchecked: !compare, ..Uploads::default() };
        let kept = (!loaded.is_empty()).then(BTreeMap::new);
        Intake { circuit, me, run, shares: [zeros(), zeros()], uploads, kept }
    }

    /// Has parts of inputs loaded from there, from now on; what is taken in without it stays in memory.
    pub fn load_from(&mut self, source: Arc<dyn Submitted>) {
        self.uploads.source = Some(Source { dealt: self.run, from: source });
        self.kept = None;
    }

    /// Leaves second components out: they are the first ones of the next party, if it is here, takes in the same, and both
    /// compare what they got. A client of whom they differ has zeros at all parties ([`Replaced`](super::Replaced)).
    pub(super) fn firsts_alone(&mut self) {
        self.shares[1].clear();
    }

    /// The first components, for members of this process to deal to.
    pub(super) fn firsts(&mut self) -> &mut BTreeMap<u64, Data> {
        &mut self.shares[0]
    }

    /// What a member of this process dealt is at its place; nothing if it gave nothing.
    pub(super) fn dealt(&mut self, set: usize, member: usize, received: Option<Received>) {
        self.note((set as u32, member as u64), received.ok_or(Why::Missing));
    }

    fn note(&mut self, client: (u32, u64), taken: Result<Received, Why>) {
        match taken {
            Ok(received) => drop(self.uploads.received.insert(client, received)),
            Err(why) => drop(self.uploads.unusable.insert(client, why)),
        }
    }

    /// What came of a member of a party set; nothing if it gave nothing. A member that the circuit does
    /// not have is ignored.
    pub fn take(&mut self, set: usize, member: usize, upload: Option<&Upload>) {
        let known = self.circuit.parties.get(set).is_some_and(|p| (member as u64) < p.size);
        if !known {
            return;
        }
        let layout = layout(self.circuit, set);
        let taken = match upload {
            None => Err(Why::Missing),
            Some(u) => match u.expand(self.me, self.run, &layout, member, &mut self.shares) {
                Ok(()) => Ok(Received::of(u)),
                Err(_) => Err(Why::Inconsistent),
            },
        };
        if let (Some(kept), Ok(_), Some(upload)) = (&mut self.kept, &taken, upload) {
            kept.insert((set, member), upload.clone());
        }
        self.note((set as u32, member as u64), taken);
    }

    /// What the party holds of the inputs, in declaration order, and what it knows of the uploads. Of a
    /// client that gave nothing, or something unreadable, it holds anything for now, and knows.
    ///
    /// Whoever gave nothing at all is not present ([`From::Present`]).
    pub fn finish(mut self, public: &BTreeMap<usize, Data>) -> (Vec<Held>, Uploads) {
        if let Some(kept) = self.kept.take() {
            self.load_from(Arc::new(kept));
        }
        let absent = |set, member| self.uploads.unusable.get(&(set, member)) == Some(&Why::Missing);
        let mut public = public.clone();
        public.extend(presence(self.circuit, |set, member| !absent(set, member)));
        let held = self.circuit.inputs.iter().enumerate().map(|(j, input)| {
            let nothing = || Data::zeros(self.circuit.ty(input.value).dom, 0);
            let [first, second] = self.shares.each_mut().map(|of| of.remove(&(j as u64)));
            match (public.get(&j), first) {
                (_, Some(first)) => Held::Rep(Rep::new(first, second.unwrap_or_else(nothing))),
                (Some(x), None) => Held::one(x.clone()),
                (None, None) => Held::one(nothing()),
            }
        });
        (held.collect(), self.uploads)
    }
}
