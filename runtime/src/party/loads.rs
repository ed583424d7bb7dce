//! Inputs that are loaded in parts: where the parts come from, and what a party makes of them.
//!
//! What a client gave was taken in and compared before the run ([`super::submissions`]). A part is made of the same bytes,
//! whenever the circuit reads it: seeds are expanded, explicit components unpacked. So a party holds of a large input no
//! more than the part at hand.

use super::engine::Engine;
use super::error::RunError;
use crate::share::deal::{Components, Upload, layout};
use crate::share::{Held, Rep, RunId};
use slvr_circuit::{From, ValueId};
use slvr_ring::Data;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What a party got of the clients, where it can be read again.
pub trait Submitted: fmt::Debug + Send + Sync {
    /// What this party got of a member of a party set: what was taken in before the run, to the byte.
    ///
    /// # Errors
    ///
    /// Why it cannot be read any more.
    fn upload(&self, set: usize, member: usize) -> Result<Upload, String>;
}

/// In memory: seeds, and explicit components as they were packed.
impl Submitted for BTreeMap<(usize, usize), Upload> {
    fn upload(&self, set: usize, member: usize) -> Result<Upload, String> {
        self.get(&(set, member)).cloned().ok_or_else(|| "nothing came of it".into())
    }
}

/// Where parts are loaded from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Under which name the clients dealt.
    pub dealt: RunId,
    pub from: Arc<dyn Submitted>,
}

impl Engine<'_> {
    /// What these members gave for an input that is loaded in parts; zeros of those whose inputs are not used.
    pub(super) fn loaded(&self, x: ValueId, members: Range<u64>) -> Result<Held, RunError> {
        let circuit = self.party.circuit;
        let ty = circuit.ty(x);
        let all = ty.shape.first().copied().unwrap_or(1).max(1);
        let each = (ty.elements() / all) as usize;
        if let Some(all) = self.given.get(&x) {
            let part =
                |x: &Data| x.slice(members.start as usize * each..members.end as usize * each);
            return Ok(Held::Rep(Rep::new(part(&all.first), part(&all.second))));
        }
        let input = (0u64..).zip(&circuit.inputs).find(|(_, i)| i.value == x);
        let Some((index, From::Each(set))) = input.map(|(j, i)| (j, i.from)) else {
            unreachable!("the verifier admits loads of secret inputs only")
        };
        let layout = layout(circuit, set as usize);
        let zeros = || Data::zeros(ty.dom, (members.end - members.start) as usize * each);
        let mut part: Components = [(); 2].map(|()| BTreeMap::from([(index, zeros())]));
        for (place, member) in members.enumerate() {
            if self.replaced.iter().any(|r| (r.set, r.member) == (set, member)) {
                continue;
            }
            let lost = |why: String| RunError::Lost { phase: self.phase, set, member, why };
            let source = self.party.uploads.source.as_ref();
            let Source { dealt, from } = source.ok_or_else(|| lost("nobody keeps it".into()))?;
            let upload = from.upload(set as usize, member as usize).map_err(lost)?;
            let expanded = upload.expand(self.me, *dealt, &layout, place, &mut part);
            expanded.map_err(|e| lost(e.to_string()))?;
        }
        match part.map(|mut of| of.remove(&index)) {
            [Some(first), Some(second)] => Ok(Held::Rep(Rep::new(first, second))),
            _ => unreachable!("they were put there"),
        }
    }
}
