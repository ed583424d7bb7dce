//! From findings of the rank analysis to words.

use super::findings::{LeakKind, LeakWarning, Level};
use super::flow::{Flow, Form, known};
use super::joint::{Finding, Question, Way, findings};
use super::warn::{is_bits, member, names};
use crate::graph::Graph;
use std::collections::BTreeSet;

/// What is said of the reveals to a receiver beyond `single`, which was said of each by itself.
pub(super) fn warnings(
    graph: &Graph,
    flows: &[Flow],
    to: u32,
    single: &[(usize, LeakWarning)],
    line: &dyn Fn(&str) -> u32,
) -> Vec<LeakWarning> {
    let flow = |o: usize| &flows[graph.outputs[o].node.index()];
    let outputs: Vec<usize> = (0..graph.outputs.len())
        .filter(|&o| graph.outputs[o].to == to && flow(o).form != Form::Free)
        .collect();
    let with = |level| -> BTreeSet<usize> {
        single.iter().filter(|(_, w)| w.level == level).map(|(o, _)| *o).collect()
    };
    let question = Question {
        graph,
        flows,
        known: known(graph, to),
        bits: outputs.iter().copied().filter(|&o| is_bits(flow(o))).collect(),
        flagged: with(Level::Warning),
        selected: outputs.iter().copied().filter(|&o| selects(flow(o))).collect(),
        outputs,
    };
    let receiver = &graph.parties[to as usize].0;
    let Some(found) = findings(&question) else {
        let reveals: Vec<String> =
            question.outputs.iter().map(|&o| graph.outputs[o].name.clone()).collect();
        let kind = LeakKind::NotTogether;
        return vec![LeakWarning {
            kind,
            level: kind.level(),
            line: reveals.first().map_or(0, |n| line(n)),
            reveals,
            why: "so many numbers lead to them that each reveal was looked at by itself only"
                .into(),
            help: "look at the same program with fewer clients and a smaller model".into(),
        }];
    };
    let mut out: Vec<LeakWarning> =
        found.iter().map(|f| words(graph, flows, receiver, f, line)).collect();
    // Differences of clients are of several clients each, and put these in order.
    for &o in &question.outputs {
        let apart = flow(o).form == Form::Linear && flow(o).side_by_side();
        if apart && !question.flagged.contains(&o) && !found.iter().any(|f| f.outputs.contains(&o))
        {
            let finding = Finding {
                way: Way::Beside,
                outputs: vec![o],
                members: Vec::new(),
                linear: true,
                nearly: false,
            };
            out.push(words(graph, flows, receiver, &finding, line));
        }
    }
    out
}

/// Whether it adds up values of those clients that a check keeps.
fn selects(f: &Flow) -> bool {
    f.masked_sum().is_some_and(|mask| mask.each)
}

fn words(
    graph: &Graph,
    flows: &[Flow],
    receiver: &str,
    found: &Finding,
    line: &dyn Fn(&str) -> u32,
) -> LeakWarning {
    let reveals: Vec<String> =
        found.outputs.iter().map(|&o| graph.outputs[o].name.clone()).collect();
    let inputs: BTreeSet<u32> = found
        .outputs
        .iter()
        .flat_map(|&o| flows[graph.outputs[o].node.index()].inputs.clone())
        .collect();
    let of = names(graph, &inputs);
    let named: Vec<String> = found.members.iter().map(|m| member(graph, m.0, m.1)).collect();
    let who = match named.len() {
        0 => "one client".into(),
        1..=4 => named.join(", "),
        n => format!("{} and {} others", named[..3].join(", "), n - 3),
    };
    let shift = "make every combination of what is revealed a sum over at least two clients, and \
                 beware of a sum and the same sum without one client";
    let aside = match &reveals[..] {
        [_, rest @ ..] if !rest.is_empty() => {
            let known: Vec<String> = rest.iter().map(|n| format!("`{n}`")).collect();
            format!(
                "divided or multiplied by what follows from {}, which is revealed too, ",
                known.join(", ")
            )
        }
        _ => String::new(),
    };
    let (kind, why, help) = match &found.way {
        Way::Alone if named.is_empty() => (
            LeakKind::OrderStatistic,
            format!(
                "whatever is given, every entry follows from {of} of one client: the receiver is not \
                 told whose, but may recognise it"
            ),
            "a sum or a mean over several clients blurs it; otherwise accept it",
        ),
        Way::Alone if found.linear => (
            LeakKind::Determined,
            format!(
                "it is a linear function of {of} with public coefficients, and some combination of its \
                 entries depends on one client alone: {receiver} learns equations in the inputs of {who}"
            ),
            shift,
        ),
        Way::Beside => (
            LeakKind::PerClient,
            format!(
                "there is an entry for each client, of {of}: {receiver} can tell clients apart by it, and \
                 who is first, even if others' inputs take part in it"
            ),
            "reveal a statistic over clients (a sum, a mean), or compare and keep the result secret",
        ),
        Way::Alone => (
            LeakKind::PerClient,
            format!(
                "its entries are as many equations as it takes to compute, from them and what {receiver} \
                 knows, values of single clients ({who}) that follow from {of}"
            ),
            "reveal fewer statistics, or the same ones over more clients",
        ),
        Way::Together => (
            LeakKind::Determined,
            if named.is_empty() {
                format!(
                    "each of these is over several clients, but whatever is given, some combination of \
                     them depends on {of} of one client alone: {receiver} learns it, and is not told whose \
                     it is"
                )
            } else {
                format!(
                    "some combination of these, with what {receiver} knows, depends on one client alone: \
                     it learns values of {who} that follow from {of}"
                )
            },
            shift,
        ),
        Way::Sometimes => (
            LeakKind::MaskedSum,
            format!(
                "each of these is over several clients, but where one of them keeps all clients that the \
                 other has and one more, their difference is this one's: {receiver} learns {of} of it"
            ),
            "reveal one of them only, or make sure that they differ in at least two clients or in none",
        ),
        Way::Chosen(input) => (
            LeakKind::Chosen,
            format!(
                "whoever chooses the input `{}` can choose it so that what is revealed tells of {who} \
                 alone (1 in one place and 0 elsewhere, or weights that can be told apart), of {of}",
                graph.inputs[*input].name
            ),
            "make the weights constants, or bound them from below and keep them smaller than the range of \
             what they weigh; at least agree on them before the run, and look at them",
        ),
        Way::Branch => (
            LeakKind::Determined,
            format!(
                "what is taken here is chosen by secrets or by coins, or cut at a bound: in one of the cases that \
                 can arise, what is left tells {receiver} values of {who} alone, of {of}"
            ),
            "make each of the values that are chosen among, and what is cut, a sum over at least two clients that \
             stays one beside whatever else is revealed",
        ),
        Way::Packed => (
            LeakKind::Packed,
            format!(
                "{aside}it adds up whole numbers, or bits, with weights so far apart that the summands do not \
                 overlap, as digits do not: {receiver} reads values of {who}, of {of}, from the sum"
            ),
            "give all clients the same weight",
        ),
        Way::Remainder => (
            LeakKind::Packed,
            format!(
                "all that others give is multiplied by multiples of one number, so the remainder of the sum \
                 is that of what {who} gives: {receiver} learns values modulo that number, of {of}"
            ),
            "give all clients the same weight",
        ),
        Way::Weighed => (
            LeakKind::Packed,
            format!(
                "it adds up bits or small numbers, computed from {of}, with a weight of its own for some \
                 client: the sum says who gave them and not only how many there are"
            ),
            "give all clients the same weight",
        ),
        Way::Bits => (
            LeakKind::SeveralBits,
            format!(
                "together there are several bits of {who}, computed from {of}: several comparisons of one \
                 client say more than whether it was kept, and enough of them its value"
            ),
            "keep the bits secret and reveal what they select, or only how many there are",
        ),
    };
    let nearly = if found.nearly {
        "; terms of others are less than 2^-16 of those of that client"
    } else {
        ""
    };
    let (line, why) = (reveals.first().map_or(0, |n| line(n)), format!("{why}{nearly}"));
    LeakWarning { kind, level: kind.level(), reveals, line, why, help: help.into() }
}
