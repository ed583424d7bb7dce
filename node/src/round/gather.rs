//! From what three nodes have to whose submissions count.
//!
//! A client is excluded only for a reason that each node can hold against what it has itself: at which nodes the
//! submission is missing, or what each of them has instead, or in which party set each of them has it. What is compared is
//! what these reasons can say: digests, which bind everything that the client has signed, and party sets. So a node that leaves a client out has to say that it is
//! missing, or another one, at itself. It cannot say so of another node that has the submission.
//!
//! **What cannot be.** A node takes submissions of clients that are enrolled, for party sets of the circuit, and of nobody else. So no
//! honest node has an entry with another name or another party set: such an entry is as if it had not been listed. A node that lists
//! it can neither stop a round by that nor change it, and no name that cannot be stands in a reason that others read.

use crate::hex::Hash;
use crate::names::is_name;
use crate::state::{Agreement, Entry, Excluded};
use crate::tasks::GivingSet;
use std::collections::{BTreeMap, BTreeSet};

/// What a reason begins with that names the nodes that do not have a submission.
const MISSING: &str = "missing at node ";
/// What a reason begins with that names what each node has.
const DIFFERENT: &str = "nodes have different submissions of it: ";
/// What a reason begins with that names the party set for which each node has it enrolled.
const SETS: &str = "nodes have it enrolled for different party sets: ";
/// The party set of clients, in such a reason.
const CLIENTS: &str = "-";

fn missing(nodes: impl IntoIterator<Item = usize>) -> String {
    let named: Vec<String> = nodes.into_iter().map(|i| i.to_string()).collect();
    format!("{MISSING}{}", named.join(" and "))
}

fn different(digests: [Hash; 3]) -> String {
    format!("{DIFFERENT}{}", digests.map(|d| d.to_string()).join(", "))
}

fn set(e: &Entry) -> &str {
    e.set.as_deref().unwrap_or(CLIENTS)
}

/// Whether three things that a reason lists differ, and this node's is the one it has.
fn lists(all: &str, me: usize, mine: Option<&str>) -> bool {
    let all: Vec<&str> = all.split(", ").collect();
    all.len() == 3 && all.iter().any(|d| *d != all[0]) && mine == all.get(me).copied()
}

/// Whether an honest node may have such a submission, in a circuit with these party sets beside the clients.
pub(super) fn can_be(sets: &[GivingSet], e: &Entry) -> bool {
    let named = |set: &String| sets.iter().any(|s| s.name == *set);
    is_name(&e.client) && e.set.as_ref().is_none_or(named)
}

/// The clients whose submission is complete and the same on all three nodes, and why the others are excluded. The first
/// list is this node's own, which leads. The result does not depend on the order in which a node lists what it has.
pub fn gather(sets: &[GivingSet], nodes: &[Vec<Entry>; 3]) -> (Vec<Entry>, Vec<Excluded>) {
    let possible = |n: &&Entry| can_be(sets, n);
    let by_client: Vec<BTreeMap<&str, &Entry>> = nodes
        .iter()
        .map(|n| n.iter().filter(possible).map(|e| (e.client.as_str(), e)).collect())
        .collect();
    let clients: BTreeSet<&str> = by_client.iter().flat_map(|n| n.keys().copied()).collect();
    let (mut accepted, mut excluded) = (Vec::new(), Vec::new());
    for client in clients {
        let found = [0, 1, 2].map(|i: usize| by_client[i].get(client).copied());
        let why = match found {
            [Some(a), Some(b), Some(c)] => {
                let (digests, sets) = ([a, b, c].map(|e| e.digest), [a, b, c].map(set));
                if digests.iter().any(|d| *d != digests[0]) {
                    different(digests)
                } else if sets.iter().any(|s| *s != sets[0]) {
                    format!("{SETS}{}", sets.join(", "))
                } else {
                    // What else stands there follows from the digest, and this node has checked it itself.
                    accepted.push(a.clone());
                    continue;
                }
            }
            _ => missing((0..3).filter(|i| found[*i].is_none())),
        };
        excluded.push(Excluded { client: client.to_string(), why });
    }
    (accepted, excluded)
}

/// Why a client is excluded that came when as many others had come as the round has places.
const TAKEN: &str = "all places of the round are taken by others";

/// In which order clients get places if more of them are complete at all three nodes. Nobody chooses it: it follows from
/// what the coordinator has signed before anybody submitted.
fn rank(opening: &Hash, client: &str) -> [u8; 32] {
    let mut hash = blake3::Hasher::new_derive_key("slvr 1 places of a round");
    hash.update(&opening.0).update(client.as_bytes());
    *hash.finalize().as_bytes()
}

/// Those of a party set that get its places, by name. The others are excluded.
pub fn seat(
    opening: &Hash,
    places: u64,
    mut all: Vec<Entry>,
    excluded: &mut Vec<Excluded>,
) -> Vec<Entry> {
    let places = usize::try_from(places).unwrap_or(usize::MAX);
    if all.len() > places {
        all.sort_by_key(|e| rank(opening, &e.client));
        let late = |e: Entry| Excluded { client: e.client, why: TAKEN.into() };
        excluded.extend(all.split_off(places).into_iter().map(late));
        excluded.sort_by(|a, b| a.client.cmp(&b.client));
        all.sort_by(|a, b| a.client.cmp(&b.client));
    }
    all
}

/// Whether it is so that the places of a client's party set are taken by others.
pub fn is_taken(agreement: &Agreement, x: &Excluded, mine: &Entry, places: u64) -> bool {
    let mut seats =
        agreement.accepted.iter().chain(&agreement.others).filter(|e| e.set == mine.set);
    let own = rank(&agreement.opening, &x.client);
    x.why == TAKEN
        && seats.clone().count() as u64 == places
        && seats.all(|e| rank(&agreement.opening, &e.client) < own)
}

/// Whether the reason of an exclusion is one of those of [`gather`], and true of this node, which has `mine` of the
/// client.
pub fn is_true(why: &str, me: usize, mine: Option<&Entry>) -> bool {
    if let Some(digests) = why.strip_prefix(DIFFERENT) {
        let own = mine.map(|e| e.digest.to_string());
        return lists(digests, me, own.as_deref());
    }
    if let Some(sets) = why.strip_prefix(SETS) {
        return lists(sets, me, mine.map(set));
    }
    let sets = (1..8u8).map(|set| (0..3).filter(move |i| set >> i & 1 == 1).collect::<Vec<_>>());
    sets.filter(|set| set.contains(&me) == mine.is_none()).any(|set| missing(set) == why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::Hex;

    fn entry(client: &str, b: u8) -> Entry {
        Entry { client: client.into(), submission: Hex([b; 16]), digest: Hex([b; 32]), set: None }
    }

    /// The party sets beside the clients.
    fn servers() -> Vec<GivingSet> {
        vec![GivingSet { set: 1, name: "Server".into(), size: 1 }]
    }

    /// Whatever one node lists that cannot be, everybody counts who would count without it, and nobody is named besides.
    #[test]
    fn an_entry_that_cannot_be_is_as_if_it_had_not_been_listed() {
        for seed in 0..1000u64 {
            let mut draw = crate::draws::draws(seed);
            let names = ["a", "b", "c", "d"];
            let mut some = || {
                let all = names.iter().filter(|_| draw(4) > 0);
                all.map(|c| entry(c, 1)).collect::<Vec<_>>()
            };
            let honest = [some(), some(), some()];
            let wanted = gather(&servers(), &honest);
            let mut nodes = honest.clone();
            let liar = draw(3) as usize;
            for _ in 0..=draw(3) {
                let odd = ["", "../key", "a b", "\u{202e}"][draw(4) as usize];
                let one = match draw(2) {
                    0 => Entry { client: odd.into(), ..entry("x", 1) },
                    // Of a client that it does not have.
                    _ => Entry { set: Some(odd.into()), ..entry("e", 1) },
                };
                nodes[liar].push(one);
            }
            assert_eq!(gather(&servers(), &nodes), wanted, "seed {seed}");
        }
    }

    #[test]
    fn a_client_counts_if_all_three_have_the_same_of_it() {
        let all =
            |names: &[(&str, u8)]| names.iter().map(|(c, b)| entry(c, *b)).collect::<Vec<_>>();
        let nodes = [
            all(&[("b", 1), ("a", 1), ("only-0", 1), ("twice", 1)]),
            all(&[("a", 1), ("b", 1), ("not-0", 1), ("twice", 2)]),
            all(&[("a", 1), ("not-0", 1), ("b", 1), ("twice", 1)]),
        ];
        let (accepted, excluded) = gather(&servers(), &nodes);
        assert_eq!(accepted, all(&[("a", 1), ("b", 1)]));
        for (me, has) in nodes.iter().enumerate() {
            for x in &excluded {
                let mine = has.iter().find(|e| e.client == x.client);
                assert!(is_true(&x.why, me, mine), "node {me}: {} {}", x.client, x.why);
            }
        }
        let (one, two) = (Hex([1; 32]), Hex([2; 32]));
        let twice = format!("nodes have different submissions of it: {one}, {two}, {one}");
        let why: Vec<(&str, &str)> =
            excluded.iter().map(|e| (e.client.as_str(), e.why.as_str())).collect();
        assert_eq!(
            why,
            [
                ("not-0", "missing at node 0"),
                ("only-0", "missing at node 1 and 2"),
                ("twice", twice.as_str()),
            ]
        );
    }

    /// Whatever one node lists, the other two find every reason true, and every entry that counts is theirs.
    #[test]
    fn no_list_of_one_node_keeps_the_others_from_an_agreement() {
        for seed in 0..3000u64 {
            let mut draw = crate::draws::draws(seed);
            // Honest nodes differ by what came to them and by how they have enrolled whom.
            let sets = [None, None, Some("Server".to_string())];
            let mut honest = || {
                let mut all = Vec::new();
                for name in ["a", "b", "c"] {
                    if draw(4) > 0 {
                        let b = draw(2) as u8;
                        all.push(Entry { set: sets[draw(3) as usize].clone(), ..entry(name, b) });
                    }
                }
                all
            };
            let mut nodes = [honest(), honest(), honest()];
            let liar = 1 + draw(2) as usize;
            for e in &mut nodes[liar] {
                match draw(4) {
                    0 => e.submission = Hex([9; 16]),
                    1 => e.set = Some("Server".into()),
                    2 => e.digest = Hex([draw(3) as u8; 32]),
                    _ => {}
                }
            }
            let (accepted, excluded) = gather(&servers(), &nodes);
            for (me, has) in nodes.iter().enumerate().filter(|(me, _)| *me != liar) {
                let own = |client: &str| has.iter().find(|e| e.client == client);
                for x in &excluded {
                    let told = is_true(&x.why, me, own(&x.client));
                    assert!(told, "seed {seed}, node {me}: {} {}", x.client, x.why);
                }
                let known = accepted.iter().all(|e| own(&e.client) == Some(e));
                assert!(known, "seed {seed}, node {me}: {accepted:?}, {has:?}");
            }
        }
    }

    /// Each place is taken, nobody is left out who comes before one that has a place, and other openings draw other lots.
    #[test]
    fn places_are_given_by_lot_and_each_node_sees_whether_they_were() {
        let mut drawn = BTreeSet::new();
        for seed in 0..300u64 {
            let mut draw = crate::draws::draws(seed);
            let opening = Hex(*blake3::hash(&seed.to_le_bytes()).as_bytes());
            let all: Vec<Entry> = (0..2 + draw(6)).map(|i| entry(&format!("c{i}"), 1)).collect();
            let places = 1 + draw(5);
            let mut excluded = Vec::new();
            let accepted = seat(&opening, places, all.clone(), &mut excluded);
            assert_eq!(accepted.len() as u64, places.min(all.len() as u64), "seed {seed}");
            assert_eq!(accepted.len() + excluded.len(), all.len(), "seed {seed}");
            assert!(accepted.is_sorted_by(|a, b| a.client < b.client), "seed {seed}");
            let mut agreement = crate::state::tests::agreement(0);
            (agreement.opening, agreement.accepted) = (opening, accepted.clone());
            for x in &excluded {
                let mine = entry(&x.client, 1);
                assert!(is_taken(&agreement, x, &mine, places), "seed {seed}: {x:?}");
                assert!(
                    !is_taken(&agreement, x, &mine, places + 1),
                    "seed {seed}: a place is free"
                );
                // Node 0 gives somebody else the place of one that was drawn.
                let mut other = agreement.clone();
                let gone = std::mem::replace(&mut other.accepted[0], mine);
                let late = Excluded { client: gone.client.clone(), ..x.clone() };
                assert!(!is_taken(&other, &late, &gone, places), "seed {seed}: {late:?}");
            }
            drawn.extend(excluded.into_iter().map(|x| x.client));
        }
        assert_eq!(drawn.len(), 7, "everybody is left out at some time: {drawn:?}");
    }

    #[test]
    fn a_client_that_one_node_has_in_another_party_set_is_excluded_and_the_reason_says_so() {
        let one = entry("a", 1);
        let other = Entry { set: Some("Server".into()), ..one.clone() };
        let nodes = [vec![one.clone()], vec![other.clone()], vec![one.clone()]];
        let (accepted, excluded) = gather(&servers(), &nodes);
        assert_eq!(accepted, []);
        let why = "nodes have it enrolled for different party sets: -, Server, -";
        assert_eq!(excluded[0].why, why);
        for (me, has) in nodes.iter().enumerate() {
            assert!(is_true(why, me, has.first()), "node {me}");
        }
        assert!(!is_true(why, 0, Some(&other)) && !is_true(why, 0, None));
    }

    #[test]
    fn no_node_can_say_of_another_one_that_it_lacks_what_it_has() {
        let mine = entry("a", 1);
        let (own, other) = (mine.digest, Hex([2; 32]));
        for (why, with, without) in [
            (missing([0]), true, false),
            (missing([0, 2]), true, false),
            (missing([1]), false, true),
            (missing([0, 1]), false, true),
            (missing([0, 1, 2]), false, true),
            (different([other, own, own]), true, false),
            // What this node has is not what is said.
            (different([own, other, own]), false, false),
            // Nothing differs.
            (different([own, own, own]), false, false),
            (format!("{DIFFERENT}{own}, {own}"), false, false),
            (missing([]), false, false),
            ("it came late".to_string(), false, false),
            (String::new(), false, false),
        ] {
            assert_eq!(is_true(&why, 1, Some(&mine)), with, "{why}");
            assert_eq!(is_true(&why, 1, None), without, "{why}");
        }
    }
}
