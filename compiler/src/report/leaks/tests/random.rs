//! Random programs that reveal integer combinations of small whole numbers, against brute force.
//!
//! A client is told of if some function of its inputs alone, not constant, follows from what is revealed,
//! whatever everybody gives. Brute force finds all such functions: they are constant on inputs of the client
//! that some inputs of the others make indistinguishable.

use super::{LeakKind, found};
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// Reveals as factors of the entries of all clients, `entries` of each.
struct Case {
    clients: usize,
    entries: usize,
    largest: u64,
    rows: Vec<Vec<i64>>,
}

impl Case {
    fn draw(r: &mut Random) -> Case {
        let (clients, entries) = (2 + r.below(2) as usize, 1 + r.below(2) as usize);
        let largest = if clients * entries > 4 { 1 + r.below(2) } else { 1 + r.below(4) };
        let rows = 1 + r.below(3);
        let row = |r: &mut Random| (0..clients * entries).map(|_| r.below(5) as i64 - 2).collect();
        let mut rows: Vec<Vec<i64>> = (0..rows).map(|_| row(r)).collect();
        // All inputs are used.
        rows[0].iter_mut().filter(|x| **x == 0).for_each(|x| *x = 1);
        Case { clients, entries, largest, rows }
    }

    fn text(&self) -> String {
        let reveal = |(o, row): (usize, &Vec<i64>)| {
            let terms = row.iter().enumerate().filter(|(_, x)| **x != 0);
            let each: Vec<String> = terms
                .map(|(c, x)| {
                    format!(
                        "({x}) * sum(n[i][{}] for i in Client if i == {})",
                        c % self.entries,
                        c / self.entries
                    )
                })
                .collect();
            if each.is_empty() {
                return String::new();
            }
            format!("reveal {} to Server as a{o};\n", each.join(" + "))
        };
        let reveals: String = self.rows.iter().enumerate().map(reveal).collect();
        format!(
            "use std::{{sum}};\npredicate Random[m]() {{ parties Client[m]; parties Server;\n\
             input n: secret int[{}] in 0..{} from each Client;\n{reveals}}}\n",
            self.entries,
            self.largest + 1
        )
    }

    /// The clients of whom some function follows from what is revealed.
    fn told(&self) -> BTreeSet<u64> {
        let n = self.clients * self.entries;
        let base = self.largest + 1;
        let all = base.pow(n as u32);
        let own = base.pow(self.entries as u32);
        let mut out = BTreeSet::new();
        for client in 0..self.clients {
            let mut class: Vec<u64> = (0..own).collect();
            let mut seen: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
            for x in 0..all {
                let digit = |c: usize| (x / base.pow(c as u32) % base) as i64;
                let sum = |row: &Vec<i64>| row.iter().enumerate().map(|(c, f)| f * digit(c)).sum();
                let value: Vec<i64> = self.rows.iter().map(sum).collect();
                let mine = x / base.pow((client * self.entries) as u32) % own;
                let (a, b) =
                    (class[*seen.entry(value).or_insert(mine) as usize], class[mine as usize]);
                class.iter_mut().filter(|c| **c == a).for_each(|c| *c = b);
            }
            if class.iter().any(|c| *c != class[0]) {
                out.insert(client as u64);
            }
        }
        out
    }

    /// The clients that some rational combination of reveals depends on alone: those on whose entries the
    /// kernel is not everything.
    fn exposed(&self) -> BTreeSet<u64> {
        let rank = |rows: Vec<Vec<i64>>| {
            let mut rows: Vec<Vec<i128>> =
                rows.iter().map(|r| r.iter().map(|&x| i128::from(x)).collect()).collect();
            let mut rank = 0;
            for c in 0..rows.first().map_or(0, Vec::len) {
                let Some(p) = (rank..rows.len()).find(|&p| rows[p][c] != 0) else { continue };
                rows.swap(rank, p);
                let pivot = rows[rank].clone();
                for row in &mut rows[rank + 1..] {
                    let (a, b) = (pivot[c], row[c]);
                    row.iter_mut().zip(&pivot).for_each(|(x, p)| *x = *x * a - p * b);
                }
                rank += 1;
            }
            rank
        };
        let mine = |client: usize, c: usize| c / self.entries == client;
        let without = |client: usize| -> Vec<Vec<i64>> {
            let keep = |r: &Vec<i64>| {
                r.iter().enumerate().map(|(c, x)| if mine(client, c) { 0 } else { *x }).collect()
            };
            self.rows.iter().map(keep).collect()
        };
        let all = rank(self.rows.clone());
        (0..self.clients).filter(|&k| rank(without(k)) < all).map(|k| k as u64).collect()
    }
}

/// Clients that the warnings name.
fn named(warnings: &[super::LeakWarning], clients: usize) -> BTreeSet<u64> {
    let names = |k: &usize| warnings.iter().any(|w| w.why.contains(&format!("Client {k}")));
    (0..clients).filter(names).map(|k| k as u64).collect()
}

#[test]
fn who_is_named_is_told_of_and_who_is_exposed_by_rank_is_named() {
    let mut counts = [0; 3];
    for seed in 0..400 {
        let case = Case::draw(&mut Random(seed));
        let text = case.text();
        let m = case.clients.to_string();
        let warnings = found(&text, &[("m", &m)]);
        let (named, told, exposed) = (named(&warnings, case.clients), case.told(), case.exposed());
        assert!(named.is_subset(&told), "seed {seed}: {named:?} {told:?}\n{text}{warnings:#?}");
        assert!(
            exposed.is_subset(&named),
            "seed {seed}: {exposed:?} {named:?}\n{text}{warnings:#?}"
        );
        let weighed = warnings.iter().any(|w| w.kind == LeakKind::Packed && named.is_empty());
        counts[0] += u32::from(told.is_empty());
        counts[1] += u32::from(!exposed.is_empty());
        counts[2] += u32::from(!told.is_empty() && named.is_empty() && !weighed);
    }
    let [nobody, by_rank, missed] = counts;
    assert!(nobody > 20 && by_rank > 20, "{nobody} {by_rank}: the cases are too much alike");
    // Ranges and several sums together can tell what no single sum does. This is not looked for.
    assert!(missed < 10, "{missed} of 400");
}
