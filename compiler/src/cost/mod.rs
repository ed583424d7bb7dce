//! What a circuit costs before it runs: rounds and bytes, in all and per step of the source.
//!
//! Arithmetic over the circuit only: the runtime's own count ([`slvr_runtime::circuit::traffic`])
//! says what each instruction sends, and a run counts the same.

use slvr_runtime::circuit::Circuit;
use slvr_runtime::circuit::traffic::Traffic;
use std::collections::{BTreeMap, BTreeSet};

/// The cost of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name, e.g. `gain/hits/conv1`.
    pub name: String,
    /// Source line, 0 if there is none.
    pub line: u32,
    /// Rounds in which it sends something. Steps share rounds, so these do not add up to the
    /// circuit's.
    pub rounds: usize,
    /// Bytes sent by each party.
    pub bytes: [u64; 3],
    /// Instructions, local ones included.
    pub instructions: usize,
}

/// The steps of a circuit that have instructions, dearest first (by bytes of all parties, then in
/// the order of the source).
pub fn steps(circuit: &Circuit) -> Vec<Step> {
    let traffic = Traffic::of(circuit);
    let mut by_site: BTreeMap<u32, (BTreeSet<usize>, [u64; 3], usize)> = BTreeMap::new();
    for (l, (layer, sent)) in circuit.layers.iter().zip(&traffic.layers).enumerate() {
        for i in layer.local.iter().chain(&layer.exchange) {
            by_site.entry(i.site).or_default().2 += 1;
        }
        for i in &sent.instrs {
            let (rounds, bytes, _) = by_site.entry(i.site).or_default();
            rounds.insert(l);
            bytes.iter_mut().zip(i.bytes).for_each(|(to, b)| *to += b);
        }
    }
    let mut steps: Vec<Step> = by_site
        .into_iter()
        .map(|(site, (rounds, bytes, instructions))| {
            let site = circuit.sites.get(site as usize);
            Step {
                name: site.map_or(String::new(), |s| s.name.clone()),
                line: site.map_or(0, |s| s.line),
                rounds: rounds.len(),
                bytes,
                instructions,
            }
        })
        .collect();
    steps.sort_by_key(|s| std::cmp::Reverse(s.bytes.iter().sum::<u64>()));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use slvr_runtime::circuit::text;

    #[test]
    fn steps_add_up_to_the_whole() {
        let source = crate::syntax::embedded::PREDICATES
            .iter()
            .find(|(n, _)| n.starts_with("norm_bound."))
            .expect("a predicate that comes with the compiler")
            .1;
        let mut sources = crate::syntax::Sources::new();
        let file = sources.add("norm_bound.slvr", source);
        let bindings = vec![("M".into(), "DigitsNet".into()), ("m".into(), "5".into())];
        let options = crate::types::Options { bindings, ..Default::default() };
        let mut none = |_: &str| Err(crate::syntax::LoadError::NotFound);
        let checked = crate::types::check(&mut sources, file, &options, &mut none).expect("types");
        let circuit =
            crate::pipeline::compile(&checked.program, &sources).expect("compiles").circuit;
        let steps = steps(&circuit);
        let traffic = Traffic::of(&circuit);
        let sum = |p: usize| steps.iter().map(|s| s.bytes[p]).sum::<u64>();
        assert_eq!([sum(0), sum(1), sum(2)], traffic.bytes, "{}", text::print(&circuit));
        assert_eq!(steps.iter().map(|s| s.instructions).sum::<usize>(), circuit.instructions());
        assert!(
            steps.windows(2).all(|w| w[0].bytes.iter().sum::<u64>() >= w[1].bytes.iter().sum())
        );
    }
}
