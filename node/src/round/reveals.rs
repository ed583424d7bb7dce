//! What a round reveals to members of party sets that give inputs.
//!
//! These are enrolled, and fetch what is theirs from each node themselves: the coordinator is told nothing of it. After an
//! attempt a node cuts up what it has for such a set, and keeps one sealed file for each member that takes part, with all
//! that it takes to read it. So a member needs no circuit, and no node compiles anything for it. What goes to other
//! sets stays together for the coordinator, who stands for them.

use crate::hex::Hex;
use crate::state::{Agreement, RoundKey};
use crate::tasks::Ready;
use crate::words::{Revealing, Word, Words};
use slvr_runtime::link::Header;
use slvr_runtime::party::members::pieces;
use slvr_runtime::share::RunId;
use zeroize::Zeroizing;

/// What is for one member: its name, and a file's bytes.
pub(super) type Own = (String, Zeroizing<Vec<u8>>);

/// What a run has told receivers: what is for the coordinator, and what is for each member that takes part.
///
/// # Errors
///
/// Words that are not those of the circuit.
pub(super) fn split(
    (me, key): (usize, &RoundKey),
    ready: &Ready,
    agreement: &Agreement,
    run: RunId,
    words: Words,
) -> Result<(Words, Vec<Own>), String> {
    let sets: Vec<usize> = ready.sets().collect();
    let (own, rest): (Words, Words) =
        words.into_iter().partition(|(set, ..)| sets.contains(&(*set as usize)));
    let mut out = Vec::new();
    for set in sets {
        if !ready.circuit.outputs.iter().any(|o| o.to as usize == set) {
            continue;
        }
        let name = ready.circuit.parties.get(set).map_or("", |p| p.name.as_str());
        let of_set = own.iter().filter(|(s, ..)| *s as usize == set);
        let frames: Vec<(Header, Vec<u8>)> = of_set.map(|(_, h, b)| (*h, b.clone())).collect();
        let all = pieces(&ready.circuit, set, me, &frames)
            .ok_or("what is revealed to members makes no sense")?;
        for (member, pieces) in all.iter().enumerate() {
            let entry = match set == ready.set {
                true => agreement.member(member),
                false => agreement.other(name, member),
            };
            // Nobody is there.
            let Some(entry) = entry else { continue };
            let told = Revealing {
                task: key.task.clone(),
                round: key.round,
                client: entry.client.clone(),
                run: Hex(run.0),
                opening: agreement.opening,
                circuit: ready.hash,
                set: name.into(),
                member: member as u64,
                outputs: pieces.iter().map(Word::of).collect(),
            };
            let bytes = serde_json::to_vec(&told).map_err(|e| e.to_string())?;
            out.push((entry.client.clone(), Zeroizing::new(bytes)));
        }
    }
    Ok((rest, out))
}
