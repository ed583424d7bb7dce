//! What the three nodes agree upon: whose submissions count, and in which circuit.
//!
//! Node 0 proposes the first agreement of a round, and each node holds it against what it has itself. After a verdict on
//! inputs the next one follows from the one before, so each node knows it by itself.

use super::gather::{can_be, is_taken, is_true};
use super::states;
use crate::clock::now;
use crate::names::counted;
use crate::node::Node;
use crate::state::{Agreement, Entry, Phase, Round, RoundKey, Spec, Step, Verdict};
use crate::store::Record;
use crate::tasks::Ready;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Whether nobody may submit to a round any more, by this node's clock.
pub(super) fn is_over(spec: &Spec) -> bool {
    now() >= spec.ends()
}

/// The complete submissions of a round.
pub(super) fn complete(node: &Node, key: &RoundKey) -> Result<Vec<Entry>, String> {
    let all = node.store.submissions(key).map_err(|e| e.to_string())?;
    Ok(all.iter().map(Record::entry).collect())
}

/// How many were enrolled when a round was opened that give something in it: by party set, nothing for the clients'.
pub(super) struct Enrolled(BTreeMap<Option<String>, u64>);

impl Enrolled {
    /// Of a round.
    ///
    /// # Errors
    ///
    /// A database that cannot be read. Of a roll that is not there nobody knows who is missing.
    pub(super) fn of(node: &Node, spec: &Spec, full: &Ready) -> Result<Enrolled, String> {
        let roll = node.store.roll(&spec.roll).map_err(|e| e.to_string())?;
        let roll = roll.ok_or_else(|| {
            format!("node {}: who was enrolled when the round was opened is not kept", node.me())
        })?;
        let mut all = BTreeMap::new();
        for (set, ..) in roll.iter().filter_map(|c| full.set_of(c.set.as_deref())) {
            *all.entry(set).or_default() += 1;
        }
        Ok(Enrolled(all))
    }

    fn came(all: &[Entry], set: &Option<String>) -> u64 {
        all.iter().filter(|e| e.set == *set).count() as u64
    }

    /// Whether all of them have come.
    pub(super) fn have_come(&self, all: &[Entry]) -> bool {
        self.0.iter().all(|(set, enrolled)| Enrolled::came(all, set) >= *enrolled)
    }

    /// As many of each party set as it has places, or as are enrolled for it.
    fn wanted<'a>(&'a self, full: &Ready) -> impl Iterator<Item = (&'a Option<String>, u64)> {
        self.0.iter().map(|(set, enrolled)| {
            let places = full.set_of(set.as_deref()).map_or(0, |(_, _, size)| size);
            (set, places.min(*enrolled))
        })
    }

    /// Whether there are as many of each.
    pub(super) fn fill(&self, full: &Ready, all: &[Entry]) -> bool {
        self.wanted(full).all(|(set, wanted)| Enrolled::came(all, set) >= wanted)
    }

    /// With fewer than that they cannot be.
    pub(super) fn least(&self, full: &Ready) -> u64 {
        self.wanted(full).fold(0, |sum, (_, wanted)| sum.saturating_add(wanted))
    }
}

/// Takes no more submissions; those that are complete.
pub(super) fn close(node: &Node, key: &RoundKey) -> Result<Vec<Entry>, String> {
    node.step(key, Step::Close)?;
    complete(node, key)
}

/// What is agreed once some of those that were accepted are left out by a verdict: it follows from what was agreed before,
/// so each node knows it by itself.
///
/// # Errors
///
/// Why the round ends instead.
pub(super) fn next(node: &Node, round: &Round, verdict: &Verdict) -> Result<Agreement, String> {
    let before = round.agreement.as_ref().ok_or("nothing was agreed")?;
    let known = node.task_of(&round.spec).ok_or("no such task")?;
    let (accepted, excluded) = before.without(&verdict.gone);
    let (found, minimum) = (accepted.len() as u64, round.spec.minimum);
    let gone: Vec<String> =
        verdict.gone.iter().map(|x| format!("{} ({})", x.client, x.why)).collect();
    let ends =
        |why: String| format!("{why}; the inputs of these do not count: {}", gone.join(", "));
    if found < minimum {
        let left = counted(found, "client is left", "clients are left");
        return Err(ends(format!("{left}, and the minimum is {minimum}")));
    }
    let clients = states::circuit_clients(&known.full, found).map_err(ends)?;
    let circuit = known.hash(clients).map_err(|why| {
        let left = counted(found, "client that is left", "clients that are left");
        ends(format!("there is no circuit for the {left}: {why}"))
    })?;
    Ok(Agreement { accepted, excluded, circuit, clients, ..before.clone() })
}

/// Holds what is proposed against what this node has.
pub(super) fn agree(node: &Node, key: &RoundKey, agreement: Agreement) -> Result<(), String> {
    let round = node.round(key).ok_or("no such round")?;
    if agreement.opening != round.spec.digest() {
        return Err(format!(
            "node {} has another opening of the round than what is agreed upon: {}, not {}",
            node.me(),
            round.spec.digest(),
            agreement.opening
        ));
    }
    // What is counted from here on would be neither accepted nor excluded.
    if round.phase == Phase::Open {
        return Err(format!("node {}: the round is open, and nothing can be agreed", node.me()));
    }
    match &round.agreement {
        None => may_agree(node, &round, &agreement)?,
        Some(before) if *before == agreement => {
            // It was held against what this node has. The program may have been changed since.
            node.circuit_of(&round.spec, agreement.clients)?;
        }
        Some(_) => {
            let verdict = round
                .verdict
                .as_ref()
                .ok_or_else(|| format!("node {}: something else was agreed before", node.me()))?;
            if next(node, &round, verdict)? != agreement {
                let me = node.me();
                return Err(format!("node {me}: this does not follow from the verdict on inputs"));
            }
        }
    }
    node.step(key, Step::Agree(agreement))
}

/// Whether the first agreement may be this one.
fn may_agree(node: &Node, round: &Round, agreement: &Agreement) -> Result<(), String> {
    let records = node.store.submissions(&round.spec.key).map_err(|e| e.to_string())?;
    signed_for_this(&records, round, agreement)?;
    let all = node.circuit_of(&round.spec, round.spec.clients)?;
    let mine = records.iter().map(Record::entry);
    let mine: BTreeSet<Entry> = mine.filter(|e| can_be(&all.others, e)).collect();
    known_here(node, &mine, agreement)?;
    clients_in_order(agreement)?;
    nobody_left_out(node, round, &all, &mine, agreement)?;
    let ready = same_circuit(node, round, agreement)?;
    others_complete(&ready, agreement)?;
    states::check_places(node, &ready, round, agreement)
}

/// What clients have signed is for this round and its circuit.
fn signed_for_this(records: &[Record], round: &Round, agreement: &Agreement) -> Result<(), String> {
    let manifests = || records.iter().map(|r| &r.manifest);
    let circuit = manifests().find(|m| m.circuit != round.spec.circuit);
    let opening = manifests().find(|m| m.opening != agreement.opening);
    let found = circuit.map(|m| (m, "circuit")).or(opening.map(|m| (m, "opening")));
    found.map_or(Ok(()), |(m, what)| {
        Err(format!("client {} has signed another {what} than the round's", m.client))
    })
}

/// This node has what counts.
fn known_here(node: &Node, mine: &BTreeSet<Entry>, agreement: &Agreement) -> Result<(), String> {
    let missing = agreement.accepted.iter().chain(&agreement.others).find(|e| !mine.contains(e));
    missing.map_or(Ok(()), |e| {
        Err(format!("node {} does not have this submission of client {}", node.me(), e.client))
    })
}

/// Clients that are accepted stand there once and in order, and nobody else does.
fn clients_in_order(agreement: &Agreement) -> Result<(), String> {
    if agreement.accepted.windows(2).any(|e| e[0].client >= e[1].client) {
        return Err("a client stands twice among those that count".into());
    }
    if agreement.accepted.iter().any(|e| e.set.is_some()) {
        return Err("a member of another party set stands among the clients".into());
    }
    Ok(())
}

/// Of whom this node has a submission counts or is excluded, and nobody is excluded for what is not so here: no node
/// leaves out a client of another one without saying so of itself.
fn nobody_left_out(
    node: &Node,
    round: &Round,
    all: &Ready,
    mine: &BTreeSet<Entry>,
    agreement: &Agreement,
) -> Result<(), String> {
    let excluded = agreement.excluded.iter().map(|x| &x.client);
    let counted = agreement.accepted.iter().chain(&agreement.others).map(|e| &e.client);
    let named: BTreeSet<&String> = excluded.chain(counted).collect();
    if let Some(e) = mine.iter().find(|e| !named.contains(&e.client)) {
        let (client, me) = (&e.client, node.me());
        return Err(format!("client {client} of node {me} is neither accepted nor excluded"));
    }
    for x in &agreement.excluded {
        let own = mine.iter().find(|e| e.client == x.client);
        let full = own.is_some() && states::is_full(agreement, round, x);
        let places = |e: &Entry| all.set_of(e.set.as_deref()).map_or(0, |(_, _, size)| size);
        let taken = own.is_some_and(|e| is_taken(agreement, x, e, places(e)));
        if !full && !taken && !is_true(&x.why, node.me(), own) {
            let (client, why, me) = (&x.client, &x.why, node.me());
            return Err(format!(
                "client {client} is excluded ({why}), which is not so at node {me}"
            ));
        }
    }
    Ok(())
}

/// The circuit is the one that this node has for as many clients as are accepted.
fn same_circuit(node: &Node, round: &Round, agreement: &Agreement) -> Result<Arc<Ready>, String> {
    let found = agreement.accepted.len() as u64;
    let known = node.task_of(&round.spec).ok_or("no such task")?;
    let clients = agreement.clients;
    if states::circuit_clients(&known.full, found)? != clients {
        return Err(format!("a circuit for {clients} clients is proposed, {found} are accepted"));
    }
    let ready = node.circuit_of(&round.spec, clients)?;
    if ready.hash != agreement.circuit {
        return Err(format!(
            "node {} has another circuit for {clients} clients: {}, not {}",
            node.me(),
            ready.hash,
            agreement.circuit
        ));
    }
    Ok(ready)
}

/// All members of the other party sets are there, set by set and in order.
fn others_complete(ready: &Ready, agreement: &Agreement) -> Result<(), String> {
    let wanted =
        ready.others.iter().flat_map(|o| std::iter::repeat_n(o.name.as_str(), o.size as usize));
    let there = agreement.others.iter().map(|e| e.set.as_deref().unwrap_or(""));
    let sorted =
        agreement.others.windows(2).all(|w| w[0].set != w[1].set || w[0].client < w[1].client);
    if !there.eq(wanted) || !sorted {
        return Err("the members of other party sets are not all there, or not in order".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::Compiled;
    use slvr_circuit::text;

    /// A circuit of three clients and a server that gives samples.
    fn two_sets() -> Ready {
        let out = "circuit \"Two\"\nparty \"Client\" 3\nparty \"Server\" 1\n\
             input %0 \"update\" from 0 fixed(16, -8.0, 8.0) [2] : A64[3,2]\n\
             input %1 \"sample\" from 1 fixed(16, -8.0, 8.0) [2] : A64[1,2]\n\
             output 0 \"total\" to 1 [2] ring 64 frac 16 factor 1.0 divisor 1.0\n\
             site 0 \"s\" line 1\n\
             layer 0:\n  %2 = sum %0 axes [0] : A64[2] @0\n  %3 = sum %1 axes [0] : A64[2] @0\n\
             \x20 %4 = add %2 %3 : A64[2] @0\n  %5 = as_add3 %4 : add3.A64[2] @0\n\
             \x20 exchange:\n  open_to %5 output 0 @0\n";
        let circuit = text::parse(out).unwrap_or_else(|e| panic!("{e:?}"));
        Ready::new(Compiled { circuit, memory: [0; 3], divided: None }, 0, None).expect("a circuit")
    }

    /// However many are enrolled of each set: a round is full once no place of any set is left for somebody who may come.
    #[test]
    fn a_round_is_full_once_each_party_set_is() {
        let full = two_sets();
        let server = Some("Server".to_string());
        assert_eq!(full.others.iter().map(|o| &o.name).collect::<Vec<_>>(), ["Server"]);
        for (clients, servers) in (0..6).flat_map(|c| (0..3).map(move |s| (c, s))) {
            let enrolled = Enrolled(BTreeMap::from([(None, clients), (server.clone(), servers)]));
            for (c, s) in (0..=clients).flat_map(|c| (0..=servers).map(move |s| (c, s))) {
                let of = |n: u64, set: &Option<String>| {
                    let one =
                        |i| Entry { client: format!("{i}"), set: set.clone(), ..Entry::default() };
                    (0..n).map(one).collect::<Vec<_>>()
                };
                let all = [of(c, &None), of(s, &server)].concat();
                let case = format!("{c} of {clients} clients, {s} of {servers} servers");
                let full_now = (c >= 3 || c == clients) && (s >= 1 || s == servers);
                assert_eq!(enrolled.fill(&full, &all), full_now, "{case}");
                assert_eq!(enrolled.have_come(&all), (c, s) == (clients, servers), "{case}");
            }
        }
    }
}
