//! What is said of values, held against pairs of runs. In one of two runs the inputs of one client count as zeros.

use super::*;
use crate::analysis::guard;
use crate::analysis::ranges::Ranges;
use crate::analysis::stated::TESTED;
use crate::graph::eval::testing::{Kind, random_graph, random_inputs, successors};
use crate::graph::eval::{self, EvalError, Inputs};
use crate::graph::text;
use slvr_language::types::Elem;
use std::collections::{BTreeMap, BTreeSet};

/// The words of all nodes, by index.
type Run = Vec<Vec<i128>>;

/// What is known of a graph's values, by node.
struct Known {
    ranges: Ranges,
    reach: Vec<Reach>,
}

impl Known {
    fn of(graph: &Graph) -> Known {
        let bounds = guard::bounds(graph, &guard::guards(graph, None));
        let ranges = Ranges::of(graph, &bounds, &TESTED);
        let words = Words { graph, ranges: &ranges, stated: &TESTED };
        let mut found = Sensitivity::new(words);
        for id in graph.ids() {
            let reach = found.rule(id);
            found.reach.push(reach);
        }
        let reach = found.reach;
        Known { ranges, reach }
    }
}

/// Inputs of a seed: anywhere in their ranges, at the ends of these, or with one entry that is not small.
fn inputs(graph: &Graph, seed: u64) -> Inputs {
    let mut all = random_inputs(graph, seed);
    for (name, tensor) in all.sets.iter_mut().flatten().flatten().chain(&mut all.public) {
        let input = graph.inputs.iter().find(|i| i.name == *name).expect("an input");
        let (lo, hi) = match input.elem {
            Elem::Fix => input.range,
            Elem::Int | Elem::Bit => (input.range.0, input.range.1.floor()),
        };
        let zero = 0f64.clamp(lo, hi);
        for (i, x) in tensor.iter_mut().enumerate() {
            *x = match seed % 4 {
                0 => {
                    if *x > (lo + hi) / 2.0 {
                        hi
                    } else {
                        lo
                    }
                }
                1 => {
                    if hi > -lo {
                        hi
                    } else {
                        lo
                    }
                }
                2 if i as u64 != seed / 4 % 3 => zero,
                _ => *x,
            };
        }
    }
    all
}

/// Two runs, in the second of which this client is excluded.
fn neighbours(graph: &Graph, seed: u64, client: usize) -> Result<[Run; 2], EvalError> {
    let mut inputs = inputs(graph, seed);
    let run = |inputs: &Inputs| -> Result<Run, EvalError> {
        let done = eval::exact_wide(graph, inputs, &successors, true)?;
        Ok(done.values.iter().flatten().map(|v| v.to_vec()).collect())
    };
    let with = run(&inputs)?;
    for (name, tensor) in &mut inputs.sets[0][client] {
        let input = graph.inputs.iter().find(|i| i.name == *name).expect("an input");
        tensor.iter_mut().for_each(|x| *x = 0f64.clamp(input.range.0, input.range.1));
    }
    Ok([with, run(&inputs)?])
}

/// The nodes whose words are where intervals say, and all that they are made of: exponentials of random graphs may be
/// of what is not below 0, and no word of a circuit holds what is too large.
fn inside(graph: &Graph, known: &Known, runs: &[Run; 2]) -> Vec<bool> {
    let mut inside = vec![true; graph.len()];
    for id in graph.ids() {
        let i = id.index();
        let (lo, hi) = known.ranges.raw[i];
        let holds = |x: &i128| (lo..=hi).contains(&(*x as f64)) && x.unsigned_abs() < 1 << 52;
        inside[i] = graph.args(id).iter().all(|a| inside[a.index()])
            && runs.iter().all(|run| graph.ty(id).elem == Elem::Bit || run[i].iter().all(holds));
    }
    inside
}

fn norms(words: impl Iterator<Item = f64>) -> Length {
    let none = Length { l1: 0.0, l2: 0.0 };
    words.fold(none, |all, x| all.beside(Length { l1: x.abs(), l2: x.abs() }))
}

/// How far a value is apart in two runs, if that is bounded. Panics where it is further than is said.
fn apart(
    reach: &Reach,
    shape: &[u64],
    runs: [&[i128]; 2],
    client: usize,
    at: &str,
) -> Option<(Length, Length)> {
    let difference = |i: usize| (runs[0][i] - runs[1][i]) as f64;
    let all = 0..runs[0].len();
    let bounded = |found: Length, bound: Length| {
        let most = |x: f64| x * (1.0 + 1e-9) + 1e-9;
        assert!(
            found.l1 <= most(bound.l1) && found.l2 <= most(bound.l2),
            "{at}: {found:?} beyond {bound:?}"
        );
        Some((found, bound))
    };
    match reach {
        Reach::Free => assert!(all.into_iter().all(|i| difference(i) == 0.0), "{at}: it changes"),
        Reach::Whole(length) => return bounded(norms(all.map(difference)), *length),
        Reach::Rows(rows) => {
            let inner: u64 = shape[rows.axis + 1..].iter().product();
            let row = |i: usize| (i as u64 / inner.max(1) % shape[rows.axis]) as usize;
            for member in 0..shape[rows.axis] as usize {
                let of = all.clone().filter(|&i| row(i) == member);
                for run in runs {
                    let long = norms(of.clone().map(|i| run[i] as f64)).l2;
                    assert!(long <= rows.norm * (1.0 + 1e-9), "{at}: row {member} is {long} long");
                }
                let changes = of.clone().any(|i| difference(i) != 0.0);
                assert!(member == client || !changes, "{at}: row {member} changes");
            }
            let own = || all.clone().filter(|&i| row(i) == client);
            assert!(!rows.zero || own().all(|i| runs[1][i] == 0), "{at}: the row is not zeros");
            return bounded(norms(own().map(difference)), rows.length);
        }
        Reach::Unbounded(_) => {}
    }
    None
}

/// The kind of what is said.
fn kind(reach: &Reach) -> String {
    match reach {
        Reach::Free => "free".into(),
        Reach::Rows(r) => format!("rows {}{}", r.axis, if r.zero { " zero" } else { "" }),
        Reach::Whole(_) => "whole".into(),
        Reach::Unbounded(why) => format!("{:?}", why.obstacle),
    }
}

/// Of random graphs no value changes by more than is said.
#[test]
fn random_graphs_change_by_no_more_than_is_said() {
    let mut seen: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for seed in 0..1500 {
        let scales = [Kind::Scaled, Kind::Lossless][seed as usize % 2];
        let graph = random_graph(seed, 10 + seed as usize % 40, scales);
        let known = Known::of(&graph);
        for (client, seed) in (0..3).map(|client| (client, 4 * seed + client as u64)) {
            let Ok(runs) = neighbours(&graph, seed, client) else { continue };
            let inside = inside(&graph, &known, &runs);
            for id in graph.ids().filter(|id| inside[id.index()]) {
                let (i, op) = (id.index(), graph.op(id).name());
                let at = format!("graph {}, seed {seed}: %{i} = {op}", seed / 4);
                let both = [&runs[0][i][..], &runs[1][i][..]];
                let found = apart(&known.reach[i], graph.shape(id), both, client, &at);
                if found.is_some_and(|(seen, _)| seen.l2 > 0.0) {
                    let kind = if let Reach::Whole(_) = known.reach[i] { "whole" } else { "rows" };
                    *seen.entry((op, kind)).or_default() += 1;
                }
            }
        }
    }
    println!("{seen:?}");
    let often = seen.values().filter(|n| **n > 20).count();
    assert!(often >= 40, "changes by operation: {seen:?}");
}

/// Values of three clients: u of four numbers and w of two, k whose range is without 0, and a bit b; and a public
/// matrix c. The last node of a body, whose nodes are numbered from 5 on, is what is looked at.
const CLIENTS: &str = "graph T\nparties Client[3]\nparties Server[1]\nfrac 8\n\
    input 0 u : secret fix[4] in -4..4 from each Client\ninput 1 w : secret fix[2] in -1..3 from each Client\n\
    input 2 k : secret fix in 2..5 from each Client\ninput 3 c : public fix[4,2] in -2..2\n\
    input 4 b : secret bit in 0..1 from each Client\nsite 0 \"t\" line 1\n\
    %0 = input 0 : secret fix.8[3,4] @0\n%1 = input 1 : secret fix.8[3,2] @0\n%2 = input 2 : secret fix.8[3] @0\n\
    %3 = input 3 : public fix.8[4,2] @0\n%4 = input 4 : secret bit[3] @0\n";

/// u as a matrix, from node 5 or 7 on, and turned, from node 5 or 7 on.
const U5: &str = "%5 = reshape %0 : secret fix.8[1,3,4] @0\n";
const U7: &str = "%7 = reshape %0 : secret fix.8[1,3,4] @0\n";
const T6: &str = "%5 = transpose %0 perm=[1,0] : secret fix.8[4,3] @0\n%6 = reshape %5 : secret fix.8[1,4,3] @0\n";
const T8: &str = "%7 = transpose %0 perm=[1,0] : secret fix.8[4,3] @0\n%8 = reshape %7 : secret fix.8[1,4,3] @0\n";
/// w, turned.
const W6: &str = "%5 = transpose %1 perm=[1,0] : secret fix.8[2,3] @0\n%6 = reshape %5 : secret fix.8[1,2,3] @0\n";

/// u - 4 and w - 1, whose signs are others without a client's inputs.
const OFF: &str = "%5 = const 4 : public fix.8[1,1] @0\n%6 = sub %0 %5 : secret fix.8[3,4] @0\n\
    %7 = const 1 : public fix.8[1,1] @0\n%8 = sub %1 %7 : secret fix.8[3,2] @0\n";

/// The norm of u.
const NORM: &str = "%5 = mul %0 %0 : secret fix.16[3,4] @0\n%6 = sum %5 axes=[1] : secret fix.16[3] @0\n\
    %7 = sqrt %6 : secret fix.16[3] @0\n";

/// What follows a rule, and how many times as much as was seen the bound of the L2 norm is at most.
fn cases() -> Vec<(String, &'static str, f64)> {
    let case = |body: &[&str], said, most| (body.concat(), said, most);
    vec![
        // Products of matrices: a sum over clients, whose result has no axis of clients.
        case(&[W6, U7, "%8 = matmul %6 %7 : secret fix.16[1,2,4] @0\n"], "whole", 1.5),
        case(&[W6, T8, "%9 = matmul %6 %8 trans_b : secret fix.16[1,2,4] @0\n"], "whole", 1.5),
        case(
            &[
                "%5 = reshape %2 : secret fix.8[1,1,3] @0\n%6 = matmul %5 %5 trans_b : secret fix.16[1,1,1] @0\n",
            ],
            "whole",
            3.0,
        ),
        // One for each client.
        case(
            &[
                "%5 = reshape %0 : secret fix.8[3,1,4] @0\n%6 = matmul %5 %5 trans_b : secret fix.16[3,1,1] @0\n",
            ],
            "rows 0 zero",
            1.1,
        ),
        case(
            &[
                "%5 = reshape %2 : secret fix.8[3,1,1] @0\n%6 = matmul %5 %5 trans_b : secret fix.16[3,1,1] @0\n",
            ],
            "rows 0",
            3.0,
        ),
        // Of vectors that are zeros in neither run, products of either sign.
        case(
            &[
                OFF,
                "%9 = transpose %6 perm=[1,0] : secret fix.8[4,3] @0\n%10 = reshape %9 : secret fix.8[1,4,3] @0\n\
                 %11 = reshape %8 : secret fix.8[1,3,2] @0\n%12 = matmul %10 %11 : secret fix.16[1,4,2] @0\n",
            ],
            "whole",
            2.0,
        ),
        case(
            &[
                OFF,
                "%9 = reshape %6 : secret fix.8[3,4,1] @0\n%10 = reshape %8 : secret fix.8[3,1,2] @0\n\
                 %11 = matmul %9 %10 : secret fix.16[3,4,2] @0\n",
            ],
            "rows 0",
            2.0,
        ),
        // By a public matrix: clients are summed, stay an axis on either side, or are the batch.
        case(
            &[
                W6,
                "%7 = const [1, -2, 3, 1, 2, 1] : public fix.8[1,3,2] @0\n%8 = matmul %6 %7 : secret fix.16[1,2,2] @0\n",
            ],
            "whole",
            1.5,
        ),
        case(
            &[
                T6,
                "%7 = const [1, -2, 3, 1, 2, 1] : public fix.8[1,2,3] @0\n\
                 %8 = matmul %7 %6 trans_b : secret fix.16[1,2,4] @0\n",
            ],
            "whole",
            1.5,
        ),
        case(
            &[
                U5,
                "%6 = reshape %3 : public fix.8[1,4,2] @0\n%7 = matmul %5 %6 : secret fix.16[1,3,2] @0\n",
            ],
            "rows 1 zero",
            1.1,
        ),
        case(
            &[
                U5,
                "%6 = transpose %3 perm=[1,0] : public fix.8[2,4] @0\n%7 = reshape %6 : public fix.8[1,2,4] @0\n\
                 %8 = matmul %7 %5 trans_b : secret fix.16[1,2,3] @0\n",
            ],
            "rows 2 zero",
            1.1,
        ),
        case(
            &[
                "%5 = reshape %0 : secret fix.8[3,1,4] @0\n%6 = reshape %3 : public fix.8[1,4,2] @0\n\
                 %7 = matmul %5 %6 : secret fix.16[3,1,2] @0\n",
            ],
            "rows 0 zero",
            1.1,
        ),
        // A batch that the other side has.
        case(
            &[
                U5,
                "%6 = const [1, -2, 3, 1, 2, 1, 1, 2] : public fix.8[2,4,1] @0\n\
                 %7 = matmul %5 %6 : secret fix.16[2,3,1] @0\n",
            ],
            "rows 1 zero",
            2.2,
        ),
        // Of a sum over clients.
        case(
            &[
                "%5 = sum %0 axes=[0] : secret fix.8[4] @0\n%6 = reshape %5 : secret fix.8[1,1,4] @0\n\
                 %7 = reshape %3 : public fix.8[1,4,2] @0\n%8 = matmul %6 %7 : secret fix.16[1,1,2] @0\n",
            ],
            "whole",
            1.1,
        ),
        case(&[U5, "%6 = matmul %5 %5 trans_b : secret fix.16[1,3,3] @0\n"], "Combines", 0.0),
        case(
            &[
                "%5 = sum %0 axes=[0] : secret fix.8[4] @0\n%6 = reshape %5 : secret fix.8[1,1,4] @0\n\
                 %7 = matmul %6 %6 trans_b : secret fix.16[1,1,1] @0\n",
            ],
            "Before",
            0.0,
        ),
        // Vectors that are cut to a length, by a factor or by a divisor.
        case(
            &[
                NORM,
                "%8 = const 2 : public fix.16[3] @0\n%9 = div %8 %7 : secret fix.16[3] @0\n\
                 %10 = const 1 : public fix.16[3] @0\n%11 = lt %9 %10 : secret bit[3] @0\n\
                 %12 = select %11 %9 %10 : secret fix.16[3] @0\n%13 = reshape %12 : secret fix.16[3,1] @0\n\
                 %14 = mul %13 %0 : secret fix.24[3,4] @0\n",
            ],
            "rows 0 zero",
            1.01,
        ),
        case(
            &[
                NORM,
                "%8 = const 2 : public fix.16[3] @0\n%9 = div %8 %7 : secret fix.16[3] @0\n\
                 %10 = const 1 : public fix.16[3] @0\n%11 = lt %9 %10 : secret bit[3] @0\n\
                 %12 = select %11 %9 %10 : secret fix.16[3] @0\n%13 = reshape %12 : secret fix.16[1,1,3] @0\n\
                 %14 = reshape %0 : secret fix.8[1,3,4] @0\n%15 = matmul %13 %14 : secret fix.24[1,1,4] @0\n",
            ],
            "whole",
            1.01,
        ),
        case(
            &[
                NORM,
                "%8 = const 1 : public fix.16[3] @0\n%9 = lt %8 %7 : secret bit[3] @0\n\
                 %10 = select %9 %7 %8 : secret fix.16[3] @0\n%11 = reshape %10 : secret fix.16[3,1] @0\n\
                 %12 = shift %0 by=8 : secret fix.16[3,4] @0\n%13 = div %12 %11 : secret fix.16[3,4] @0\n",
            ],
            "rows 0",
            1.01,
        ),
        // The norm is kept only where it is 0, so it is no divisor.
        case(
            &[
                NORM,
                "%8 = const 1 : public fix.16[3] @0\n%9 = neg %7 : secret fix.16[3] @0\n\
                 %10 = gate %7 %9 : secret fix.16[3] @0\n%11 = lt %8 %10 : secret bit[3] @0\n\
                 %12 = select %11 %10 %8 : secret fix.16[3] @0\n%13 = reshape %12 : secret fix.16[3,1] @0\n\
                 %14 = shift %0 by=8 : secret fix.16[3,4] @0\n%15 = div %14 %13 : secret fix.16[3,4] @0\n",
            ],
            "rows 0",
            2.01,
        ),
        // Sums.
        case(&["%5 = sum %0 axes=[0] : secret fix.8[4] @0\n"], "whole", 1.01),
        case(&["%5 = sum %0 axes=[1] : secret fix.8[3] @0\n"], "rows 0 zero", 1.01),
        case(&["%5 = sum %0 axes=[0,1] : secret fix.8 @0\n"], "whole", 1.01),
        case(
            &[
                "%5 = sum %0 axes=[0] : secret fix.8[4] @0\n%6 = sum %5 axes=[0] : secret fix.8 @0\n",
            ],
            "whole",
            1.01,
        ),
        case(
            &[
                "%5 = transpose %0 perm=[1,0] : secret fix.8[4,3] @0\n%6 = sum %5 axes=[0] : secret fix.8[3] @0\n",
            ],
            "rows 0 zero",
            1.01,
        ),
        case(
            &["%5 = reshape %2 : secret fix.8[3,1] @0\n%6 = add %5 %0 : secret fix.8[3,4] @0\n"],
            "rows 0",
            2.0,
        ),
        case(&["%5 = add %0 %0 : secret fix.8[3,4] @0\n"], "rows 0 zero", 1.01),
        case(
            &[
                "%5 = sum %0 axes=[0] : secret fix.8[4] @0\n%6 = reshape %5 : secret fix.8[1,4] @0\n%7 = sub %0 %6 : secret fix.8[3,4] @0\n",
            ],
            "whole",
            2.0,
        ),
        // Products, entry by entry.
        case(&["%5 = mul %0 %0 : secret fix.16[3,4] @0\n"], "rows 0 zero", 1.01),
        case(&["%5 = mul %2 %2 : secret fix.16[3] @0\n"], "rows 0", 1.5),
        case(
            &["%5 = reshape %2 : secret fix.8[3,1] @0\n%6 = mul %5 %0 : secret fix.16[3,4] @0\n"],
            "rows 0 zero",
            1.01,
        ),
        case(
            &[
                "%5 = const [2, -1, 3, 1] : public fix.8[1,4] @0\n%6 = mul %0 %5 : secret fix.16[3,4] @0\n",
            ],
            "rows 0 zero",
            1.6,
        ),
        case(
            &["%5 = sum %0 axes=[0] : secret fix.8[4] @0\n%6 = mul %5 %5 : secret fix.16[4] @0\n"],
            "Before",
            0.0,
        ),
        // Parts beside one another.
        case(&["%5 = concat %0 %1 axis=1 : secret fix.8[3,6] @0\n"], "rows 0 zero", 1.01),
        case(
            &[
                "%5 = reshape %2 : secret fix.8[3,1] @0\n%6 = concat %0 %5 axis=1 : secret fix.8[3,5] @0\n",
            ],
            "rows 0",
            1.2,
        ),
        case(
            &[
                "%5 = const 3 : public fix.8[3,2] @0\n%6 = concat %0 %5 axis=1 : secret fix.8[3,6] @0\n",
            ],
            "rows 0",
            1.01,
        ),
        case(&["%5 = concat %0 %0 axis=0 : secret fix.8[6,4] @0\n"], "whole", 1.01),
        case(
            &[
                "%5 = sum %0 axes=[0] : secret fix.8[4] @0\n%6 = sum %1 axes=[0] : secret fix.8[2] @0\n%7 = concat %5 %6 axis=0 : secret fix.8[6] @0\n",
            ],
            "whole",
            1.01,
        ),
        // Entries by index.
        case(
            &[
                "%5 = const [2, 0, 2] : public int.0[3] @0\n%6 = gather %0 %5 axis=0 batch=0 : secret fix.8[3,4] @0\n",
            ],
            "whole",
            1.5,
        ),
        case(
            &[
                "%5 = const [2, 2, 2] : public int.0[3] @0\n%6 = gather %0 %5 axis=1 batch=0 : secret fix.8[3,3] @0\n",
            ],
            "whole",
            2.1,
        ),
        // Entry by entry.
        case(
            &["%5 = const 1 : public bit[3] @0\n%6 = and %4 %5 : secret bit[3] @0\n"],
            "rows 0 zero",
            1.01,
        ),
        case(&["%5 = not %4 : secret bit[3] @0\n"], "rows 0", 1.01),
        case(
            &["%5 = mul %0 %0 : secret fix.16[3,4] @0\n%6 = gate %5 %5 : secret fix.16[3,4] @0\n"],
            "rows 0 zero",
            1.01,
        ),
        case(
            &[
                "%5 = reshape %4 : secret bit[3,1] @0\n%6 = neg %0 : secret fix.8[3,4] @0\n%7 = select %5 %0 %6 : secret fix.8[3,4] @0\n",
            ],
            "rows 0 zero",
            1.01,
        ),
        case(
            &[
                "%5 = reshape %4 : secret bit[3,1] @0\n%6 = const 3 : public fix.8[1,4] @0\n%7 = select %5 %0 %6 : secret fix.8[3,4] @0\n",
            ],
            "rows 0",
            4.0,
        ),
        case(
            &["%5 = reshape %2 : secret fix.8[3,1] @0\n%6 = div %0 %5 : secret fix.8[3,4] @0\n"],
            "rows 0",
            3.0,
        ),
        case(&["%5 = lt %2 %2 : secret bit[3] @0\n"], "rows 0", f64::INFINITY),
        case(&["%5 = scale %0 by=-3 : secret fix.8[3,4] @0\n"], "rows 0 zero", 1.01),
        case(&["%5 = trunc %0 by=4 : secret fix.4[3,4] @0\n"], "rows 0 zero", 1.1),
        case(
            &[
                "%5 = sum %0 axes=[0] : secret fix.8[4] @0\n%6 = trunc %5 by=4 : secret fix.4[4] @0\n",
            ],
            "whole",
            1.1,
        ),
        case(
            &["%5 = sum %0 axes=[0] : secret fix.8[4] @0\n%6 = relu %5 : secret fix.8[4] @0\n"],
            "whole",
            1.5,
        ),
        // Moved entries.
        case(&["%5 = reshape %0 : secret fix.8[1,3,2,2] @0\n"], "rows 1 zero", 1.01),
        case(&["%5 = reshape %0 : secret fix.8[12] @0\n"], "whole", 1.01),
        case(&["%5 = slice %0 axis=0 start=0 len=3 : secret fix.8[3,4] @0\n"], "whole", 1.01),
        case(&["%5 = slice %0 axis=1 start=1 len=2 : secret fix.8[3,2] @0\n"], "rows 0 zero", 1.01),
        case(
            &[
                "%5 = reshape %0 : secret fix.8[3,1,4] @0\n%6 = broadcast %5 : secret fix.8[3,3,4] @0\n",
            ],
            "rows 0 zero",
            1.01,
        ),
        // Largest entries, of a client's own and of others'.
        case(&["%5 = max %0 axis=1 : secret fix.8[3] @0\n"], "rows 0", 2.1),
        case(&["%5 = max %0 axis=0 : secret fix.8[4] @0\n"], "Selects", 0.0),
        case(&["%5 = sort %0 : secret fix.8[3,4] @0\n"], "rows 0", 2.1),
        case(&["%5 = sort %2 : secret fix.8[3] @0\n"], "Selects", 0.0),
        case(
            &["%5 = sum %0 axes=[0] : secret fix.8[4] @0\n%6 = max %5 axis=0 : secret fix.8 @0\n"],
            "Before",
            0.0,
        ),
        case(
            &[
                "%5 = reshape %0 : secret fix.8[3,2,2] @0\n%6 = max_pool %5 k=2 stride=1 : secret fix.8[3,1,1] @0\n",
            ],
            "rows 0",
            2.1,
        ),
        case(&["%5 = max_pool %0 k=2 stride=1 : secret fix.8[2,3] @0\n"], "Selects", 0.0),
        case(
            &[
                "%5 = reshape %0 : secret fix.8[3,1,1,2,2] @0\n%6 = const [1, -2, 1, 2] : public fix.8[1,1,1,2,2] @0\n\
                 %7 = conv2d %5 %6 stride=1 pad=0 : secret fix.16[3,1,1,1,1] @0\n",
            ],
            "rows 0",
            3.0,
        ),
    ]
}

/// Each rule by itself: what it says, that no pair of runs is beyond it, and that some are near.
#[test]
fn rules() {
    let bodies: BTreeSet<String> = cases().into_iter().map(|c| c.0).collect();
    assert_eq!(bodies.len(), cases().len(), "each case once");
    let mut loose = Vec::new();
    for (body, said, most) in cases() {
        let last = body.lines().count() + 4;
        let graph = format!("{CLIENTS}{body}reveal %{last} to Server as y @0\n");
        let graph = text::parse(&graph).unwrap_or_else(|e| panic!("{body}: {e}"));
        let known = Known::of(&graph);
        let id = graph.outputs[0].node;
        assert_eq!(kind(&known.reach[id.index()]), said, "{body}");
        let mut far = (Length { l1: 0.0, l2: 0.0 }, None);
        for seed in 0..400 {
            let client = seed as usize / 4 % 3;
            let runs = neighbours(&graph, seed, client);
            let runs = runs.unwrap_or_else(|e| panic!("seed {seed}, {body}: {e}"));
            assert!(inside(&graph, &known, &runs).iter().all(|x| *x), "seed {seed}: {body}");
            for id in graph.ids() {
                let i = id.index();
                let at = format!("seed {seed}, %{i} of {body}");
                let both = [&runs[0][i][..], &runs[1][i][..]];
                let found = apart(&known.reach[i], graph.shape(id), both, client, &at);
                if let Some((seen, bound)) = found.filter(|_| id == graph.outputs[0].node) {
                    far = (
                        Length { l1: far.0.l1.max(seen.l1), l2: far.0.l2.max(seen.l2) },
                        Some(bound),
                    );
                }
            }
        }
        if let (seen, Some(bound)) = far
            && bound.l2 > seen.l2 * most
        {
            loose.push(format!(
                "{body}{bound:?} is said, {seen:?} seen, {} times",
                bound.l2 / seen.l2
            ));
        }
    }
    assert!(loose.is_empty(), "{}", loose.join("\n"));
}
