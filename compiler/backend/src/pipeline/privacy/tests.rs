use super::{lines, of};
use crate::pipeline;
use crate::pipeline::tests::{refused, typed};
use slvr_graph::analysis::guard;
use slvr_graph::analysis::privacy::*;
use slvr_graph::analysis::ranges::Ranges;
use slvr_graph::graph::eval;
use slvr_language::diagnostic::rounding::at_most;

fn privacy(text: &str) -> Privacy {
    compiled(text).0
}

fn compiled(text: &str) -> (Privacy, pipeline::Compiled) {
    let (sources, program) = typed(text);
    let how = pipeline::Options::default();
    let compiled = pipeline::compile_with(&program, &sources, how, |_, _| {});
    let compiled = compiled.unwrap_or_else(|d| panic!("{text}: {d:?}"));
    let places = crate::cost::places(&program, &compiled.optimised, &sources);
    let line = |site: u32| crate::cost::line_of(&places, site);
    (of(compiled.words(), &line, 0.0).expect("noise"), compiled)
}

/// The sensitivity of a compiled predicate's first noise if long weights are enforced by projections, which prove a
/// norm; and how many times as long proven weights may be as those in the declared range.
fn projected(mut c: pipeline::Compiled) -> (f64, f64) {
    c.guards = guard::guards(&c.optimised, Some(guard::Long::Project(25)));
    let inputs = guard::bounds(&c.optimised, &c.guards);
    c.ranges = Ranges::of(&c.optimised, &inputs, &c.stated);
    let found = of(c.words(), &|_| 0, 0.0).expect("noise");
    let one = |(input, guard): (&slvr_graph::graph::Input, &guard::Guard)| match guard {
        guard::Guard::Project(p) => {
            let limit = guard::norm_limit(input)? * c.optimised.input_scale(input);
            Some(p.proven_norm / limit)
        }
        _ => None,
    };
    let longer = c.optimised.inputs.iter().zip(&c.guards).find_map(one).expect("it is long");
    (found.noises[0].sensitivity.expect("a sensitivity"), longer)
}

fn program(uses: &str, body: &str) -> String {
    format!(
        "use std::{{{uses}}};\npredicate P() {{\n parties Client[6];\n parties Server;\n \
         input u: secret fix[50] in -4..4 from each Client;\n {body}\n}}\n"
    )
}

fn sensitivity(uses: &str, body: &str) -> f64 {
    let p = privacy(&program(uses, body));
    assert_eq!(p.unbounded, Vec::<String>::new(), "{body}");
    p.noises[0].sensitivity.expect("a sensitivity")
}

/// Lengths of clipped sums are their limits, and a little more for roundings.
#[test]
fn clipped_sums_are_as_sensitive_as_their_limit() {
    let end = "sample z: fix[50] from gaussian(1);\n reveal sum(v) + z to Server as s;";
    let bodies = [
        "let v = [u[i] * min([0.5 / norm(u[i]), 1]) for i in Client];",
        "let v = [u[i] * min([1, 0.5 / norm(u[i])]) for i in Client];",
        "let v = [u[i] * (0.5 / max([norm(u[i]), 0.5])) for i in Client];",
        "let v = [min([0.5 / norm(u[i]), 1]) * u[i] for i in Client];",
        "let v = [u[i] / max([1, norm(u[i]) / 0.5]) for i in Client];",
        "let v = [u[i] / max([norm(u[i]) * 2, 1]) for i in Client];",
        "let v = [u[i] * (1 / max([1, norm(u[i]) / 0.5])) for i in Client];",
        "let v = [u[i] * 0.5 / max([0.5, norm(u[i])]) for i in Client];",
        "let v = [0.5 * (u[i] / max([0.5, norm(u[i])])) for i in Client];",
    ];
    for body in bodies {
        let found = sensitivity("max, min, norm, sum", &format!("{body} {end}"));
        assert!(found > 0.5 && found < 0.503, "{body}: {found}");
    }
}

/// The same of limits that are no power of two: the constants are rounded, and so is what they multiply.
#[test]
fn limits_may_be_any_number() {
    let end = "sample z: fix[50] from gaussian(1);\n reveal sum(v) + z to Server as s;";
    for c in ["0.7", "0.3", "3"] {
        for body in [
            format!("let v = [u[i] / max([1, norm(u[i]) / {c}]) for i in Client];"),
            format!("let v = [u[i] * (1 / max([1, norm(u[i]) / {c}])) for i in Client];"),
            format!("let v = [u[i] * {c} / max([{c}, norm(u[i])]) for i in Client];"),
            format!("let v = [u[i] * min([1, {c} / norm(u[i])]) for i in Client];"),
        ] {
            let found = sensitivity("max, min, norm, sum", &format!("{body} {end}"));
            let limit: f64 = c.parse().expect("a number");
            assert!(found > limit * 0.999 && found < limit * 1.01, "{body}: {found}");
        }
    }
}

/// Where nothing is clipped, the declared range is what bounds a client.
#[test]
fn ranges_and_clamps_bound_a_client() {
    let end = "sample z: fix[50] from gaussian(1);\n reveal sum(v) + z to Server as s;";
    let whole = sensitivity("sum", &format!("let v = u; {end}"));
    let root = 50f64.sqrt();
    assert!((whole - 4.0 * root).abs() < 0.01, "{whole}");
    // Twice as much where the scale is public.
    let twice = sensitivity("sum", &format!("let v = 2 * u; {end}"));
    assert!((twice - 8.0 * root).abs() < 0.01, "{twice}");
    let clamp = "let v = [clamp(u[i], -0.1, 0.1) for i in Client];";
    let found = sensitivity("clamp, sum", &format!("{clamp} {end}"));
    // What a choice gives of zeros is not known to be zero: twice the length.
    assert!((found - 0.2 * root).abs() < 0.01, "{found}");
    let laplace = "sample z: fix from laplace(2);\n reveal sum(sum(u[i]) for i in Client) + z to Server as s;";
    let found = sensitivity("sum", laplace);
    assert!((found - 200.0).abs() < 0.01, "{found}");
}

/// A keep bit of a client's own norm keeps its bound; one of all clients' norms does not.
#[test]
fn selection_among_clients_is_unbounded_and_says_why() {
    let own = "let keep = [norm(u[i]) < 2 for i in Client];\n \
        sample z: fix[50] from gaussian(1);\n reveal sum(keep[i] * u[i] for i in Client) + z to Server as s;";
    let found = sensitivity("norm, sum", own);
    assert!(found < 4.0 * 50f64.sqrt() + 0.01, "{found}");
    let median = "let n = [norm(u[i]) for i in Client];\n let keep = [n[i] < median(n) for i in Client];\n \
        sample z: fix[50] from gaussian(1);\n reveal sum(keep[i] * u[i] for i in Client) + z to Server as s;";
    let p = privacy(&program("median, norm, sum", median));
    assert!(p.loss.is_none() && p.rounds.is_empty());
    assert!(p.unbounded.iter().any(|w| w.contains("`s` hangs on line 7")), "{:?}", p.unbounded);
}

/// Noise that does not do what it looks like gets no number.
#[test]
fn noise_that_protects_nothing_gets_no_number() {
    let cases = [
        // Twice the same noise: the difference has none.
        (
            "sample z: fix[50] from gaussian(1);\n reveal sum(u) + z to Server as a;\n reveal 2 * sum(u) + z to Server as b;",
            "more than once",
        ),
        (
            "sample z: fix[50] from gaussian(1);\n reveal sum(u) + z to Server as a;\n reveal z to Server as b;",
            "more than once",
        ),
        (
            "sample z: fix[50] from gaussian(1);\n reveal sum(u) + z to Server as a;\n reveal sum(u) to Server as b;",
            "`b` is made of",
        ),
        // On even multiples of the grid only.
        (
            "sample z: fix[50] from gaussian(1);\n reveal sum(u) + 2 * z to Server as a;",
            "not by adding it",
        ),
        (
            "sample z: fix from gaussian(1);\n reveal [sum(u)[j] + z for j in 50] to Server as a;",
            "fewer entries",
        ),
    ];
    for (body, why) in cases {
        let p = privacy(&program("sum", body));
        assert!(p.loss.is_none(), "{body}");
        assert!(p.unbounded.iter().any(|w| w.contains(why)), "{body}: {:?}", p.unbounded);
    }
}

/// What is computed of noisy values is as private as they are, and two noises add up.
#[test]
fn noisy_values_may_be_computed_with() {
    let one =
        "sample z: fix[50] from gaussian(1);\n let s = sum(u) + z;\n reveal s / 6 to Server as a;";
    let after =
        "sample z: fix[50] from gaussian(1);\n let s = sum(u) + z;\n reveal s * s to Server as a;";
    let two = "sample z: fix[50] from gaussian(1);\n sample y: fix[50] from gaussian(1);\n \
        reveal sum(u) + z to Server as a;\n reveal sum(u) + y to Server as b;";
    let rho = |body: &str| privacy(&program("sum", body)).loss.expect(body).rho;
    let single = rho(one);
    assert!((rho(after) / single - 1.0).abs() < 1e-9);
    assert!((rho(two) / single - 2.0).abs() < 1e-9);
}

/// A factor that may be far below 0 is no clip, and a client that is excluded does not give zeros where its range has
/// none.
#[test]
fn what_is_no_clip_is_not_taken_for_one() {
    let end = "sample z: fix[50] from gaussian(1);\n reveal sum(v) + z to Server as s;";
    let negative = "input w: secret fix in -8..1 from each Client;\n \
        let v = [u[i] * min([0.5 / norm(u[i]), w[i]]) for i in Client];";
    let found = sensitivity("min, norm, sum", &format!("{negative} {end}"));
    assert!(found > 200.0, "{found}");
    let centre = "input c: public fix[50] in -4..4;\n let off = [u[i] - c for i in Client];\n \
        let v = [off[i] * min([0.5 / norm(off[i]), 1]) for i in Client];";
    let found = sensitivity("min, norm, sum", &format!("{centre} {end}"));
    assert!(found >= 1.0, "{found}");
    // The norm is that of another vector, and one is divided by what is at least a smaller part of its norm.
    let other = "input w: secret fix[50] in -4..4 from each Client;\n \
        let v = [u[i] / max([1, norm(w[i]) / 0.5]) for i in Client];";
    let found = sensitivity("max, norm, sum", &format!("{other} {end}"));
    assert!(found > 28.0, "{found}");
    let half = "let v = [u[i] / max([1, norm(u[i]) - 1]) for i in Client];";
    let found = sensitivity("max, norm, sum", &format!("{half} {end}"));
    assert!(found >= 2.0, "{found}");
    let smaller = "let v = [u[i] / min([1, norm(u[i]) + 0.1]) for i in Client];";
    let found = sensitivity("min, norm, sum", &format!("{smaller} {end}"));
    assert!(found > 28.0, "{found}");
    let negative = "let v = [u[i] / max([1, norm(u[i]) * (0 - 2)]) for i in Client];";
    let found = sensitivity("max, norm, sum", &format!("{negative} {end}"));
    assert!(found > 28.0, "{found}");
    let nearest = "input w: secret fix in 8..8 from each Client;\n input x: secret fix in 3..8 from each Client;\n \
        sample z: fix from gaussian(1);\n reveal sum(w[i] * (2 * x[i] - 11) for i in Client) + z to Server as s;";
    let found = sensitivity("sum", nearest);
    assert!(found >= 80.0, "{found}");
}

/// A set of one member is not protected, so nothing is promised.
#[test]
fn one_client_is_not_protected() {
    let text =
        program("sum", "sample z: fix[50] from gaussian(1);\n reveal sum(u) + z to Server as s;");
    let p = privacy(&text.replace("Client[6]", "Client[1]"));
    assert!(p.loss.is_none() && p.rounds.is_empty());
    assert!(p.unbounded.iter().any(|w| w.contains("a single member")), "{:?}", p.unbounded);
}

/// Numbers of a seed in [0, 1).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A vector within a range: at its ends, anywhere in it, small, or with one large entry.
    fn vector(&mut self, n: usize, (lo, hi): (f64, f64)) -> Vec<f64> {
        let kind = (self.next() * 5.0) as u32;
        let at = (self.next() * n as f64) as usize;
        (0..n)
            .map(|i| {
                let x = lo + (hi - lo) * self.next();
                match kind {
                    0 => hi,
                    1 => lo,
                    2 if x < (lo + hi) / 2.0 => lo,
                    2 => hi,
                    3 => x * if i == at { 1.0 } else { 0.01 },
                    _ => x,
                }
            })
            .map(|x| x.clamp(lo, hi))
            .collect()
    }
}

/// The most that one client's inputs change what is revealed, with the same noise: its L2 and its L1 norm.
fn seen(c: &pipeline::Compiled, tries: u32, seed: u64) -> (f64, f64) {
    let (g, mut random) = (&c.optimised, Numbers(seed));
    let run = |inputs: &eval::Inputs| {
        let draw = |_: &slvr_language::types::Lots| Vec::new();
        let done = eval::exact_wide(g, inputs, &draw, false).expect("words");
        done.outputs.into_iter().flat_map(|(_, _, v)| v).collect::<Vec<f64>>()
    };
    let (mut l2, mut l1) = (0.0f64, 0.0f64);
    for _ in 0..tries {
        let mut inputs = eval::Inputs::default();
        for (set, (_, members)) in g.parties.iter().enumerate() {
            let own = g.inputs.iter().filter(|i| i.from.set() == Some(set as u32));
            let own: Vec<_> = own.collect();
            let members = if own.is_empty() { 0 } else { *members };
            let mut one = || {
                let vector = |i: &&slvr_graph::graph::Input| {
                    let n = i.shape.iter().product::<u64>() as usize;
                    (i.name.clone(), random.vector(n, i.range))
                };
                own.iter().map(vector).collect()
            };
            inputs.sets.push((0..members).map(|_| one()).collect());
        }
        for i in g.inputs.iter().filter(|i| i.from == slvr_graph::graph::Giver::Public) {
            let n = i.shape.iter().product::<u64>() as usize;
            inputs.public.insert(i.name.clone(), random.vector(n, i.range));
        }
        let with = run(&inputs);
        for (name, values) in inputs.sets[0][0].iter_mut() {
            let range = g.inputs.iter().find(|i| i.name == *name).expect("an input").range;
            values.iter_mut().for_each(|x| *x = 0f64.clamp(range.0, range.1));
        }
        let off: Vec<f64> = with.iter().zip(run(&inputs)).map(|(a, b)| (a - b).abs()).collect();
        l2 = l2.max(off.iter().map(|x| x * x).sum::<f64>().sqrt());
        l1 = l1.max(off.iter().sum());
    }
    (l2, l1)
}

/// By brute force: inputs at the ends of ranges, small ones, single large entries. What noise is added to never changes
/// by more than is stated, and what is stated is at most so many times what was seen.
#[test]
fn no_input_changes_a_sum_by_more_than_is_stated() {
    let few =
        "input u: secret fix[5] in -4..4 from each Client;\n input c: public fix[5] in -1..1;";
    // So many weights that their norm is proven, and single ones only by it.
    let many = "input u: secret weights Wide in -16..16 from each Client;\n input c: public weights Wide in -1..1;";
    let cases = [
        (few, "let v = [u[i] * min([0.5 / norm(u[i]), 1]) for i in Client];", 1.5),
        (few, "let v = [(u[i] - c) * min([0.5 / norm(u[i] - c), 1]) for i in Client];", 2.5),
        // What a keep bit lets through is bounded by the range alone.
        (few, "let v = [(norm(u[i]) < 2) * (u[i] - c) for i in Client];", 12.0),
        (few, "let v = [clamp(u[i], -0.5, 1) for i in Client];", 3.0),
        (few, "let v = [u[i] * u[i] * u[i] for i in Client];", 2.0),
        (few, "let v = [dot(u[i], c) * u[i] for i in Client];", 4.0),
        (many, "let v = u;", 4.0),
        (many, "let v = [(u[i] - c) * k[i] for i in Client];", 8.0),
        (many, "let v = [(u[i] - c) * (1 + k[i]) for i in Client];", 16.0),
        (many, "let v = [select(k[i] > 0.5, u[i], c) for i in Client];", 16.0),
        (many, "let v = [u[i] * min([3 / norm(u[i]), 1]) for i in Client];", 1.5),
        (many, "let v = [(u[i] - c) * min([3 / norm(u[i] - c), 1]) for i in Client];", 3.0),
        (few, "let v = [u[i] / max([1, norm(u[i]) / 0.5]) for i in Client];", 1.5),
        (few, "let v = [u[i] / max([1, norm(u[i]) / 0.7]) for i in Client];", 1.5),
        (few, "let v = [u[i] * (1 / max([1, norm(u[i]) / 0.3])) for i in Client];", 1.5),
        (few, "let v = [u[i] * 0.3 / max([0.3, norm(u[i])]) for i in Client];", 1.5),
        (few, "let v = [(u[i] - c) / max([1, norm(u[i] - c) / 0.5]) for i in Client];", 2.5),
        (many, "let v = [u[i] / max([1, norm(u[i]) / 3]) for i in Client];", 1.5),
        (many, "let v = [(u[i] - c) / max([1, norm(u[i] - c) / 0.7]) for i in Client];", 3.0),
    ];
    let mut loose = Vec::new();
    for (n, (inputs, body, most)) in cases.into_iter().enumerate() {
        for law in ["gaussian", "laplace"] {
            let shape = if inputs == few { "fix[5]" } else { "weights Wide" };
            let text = format!(
                "use std::{{clamp, dot, max, min, norm, select, sum}};\n\
                 model Wide(x: fix[599]) -> fix[1] {{\n fc: linear[599, 1];\n x |> fc\n}}\n\
                 predicate P() {{\n parties Client[3];\n parties Server;\n {inputs}\n \
                 input k: secret fix in 0..1 from each Client;\n {body}\n \
                 sample z: {shape} from {law}(1);\n reveal sum(v) + z to Server as s;\n}}\n"
            );
            let (p, c) = compiled(&text);
            assert_eq!(p.unbounded, Vec::<String>::new(), "{body}");
            let stated = p.noises[0].sensitivity.expect("a sensitivity");
            let (l2, l1) = seen(&c, if inputs == few { 300 } else { 25 }, n as u64);
            let seen = if law == "gaussian" { l2 } else { l1 };
            println!("{body} {law}: {stated} stated, {seen} seen");
            assert!(seen <= stated * (1.0 + 1e-12), "seed {n}, {body}: {seen} beyond {stated}");
            if inputs == many {
                let (stated, longer) = projected(c);
                println!("  {stated} where a norm is proven, {longer} times as long");
                assert!(seen <= stated * (1.0 + 1e-12), "seed {n}, {body}: {seen} beyond {stated}");
                if law == "gaussian" && stated > seen * longer * most {
                    loose.push(format!("{body}, a proven norm: {stated} stated, {seen} seen"));
                }
            }
            if stated > seen * most {
                loose.push(format!("{body}, {law}: {stated} stated, {seen} seen"));
            }
        }
    }
    assert!(loose.is_empty(), "{}", loose.join("\n"));
}

/// What is printed of a bound is not below it.
#[test]
fn bounds_are_printed_rounded_up() {
    assert_eq!(at_most(1.00001, 3), "1.001");
    assert_eq!(at_most(1.0, 3), "1.000");
    assert_eq!(at_most(0.9999999, 3), "1.000");
    assert_eq!(at_most(-50.07, 1), "-50.0");
    assert_eq!(at_most(-50.0, 1), "-50.0");
    assert_eq!(at_most(0.12345, 4), "0.1235");
    let mut random = Numbers(3);
    for _ in 0..1000 {
        let (x, decimals) = ((random.next() - 0.5) * 100.0, (random.next() * 6.0) as usize);
        let shown: f64 = at_most(x, decimals).parse().expect("a number");
        assert!(shown >= x && shown - x <= 1.01 * 0.1f64.powi(decimals as i32), "{x}: {shown}");
    }
    let end = "sample z: fix[50] from gaussian(7);\n reveal sum(u) + z to Server as s;";
    let p = privacy(&program("sum", end));
    let lines = lines(&p).join("\n");
    let stated = p.noises[0].sensitivity.expect("a range");
    assert!(lines.contains(&format!("at most {} (L2", at_most(stated, 4))), "{lines}");
}

/// Where the samplers alone are further from their law than delta allows, the report says what the probabilities are.
#[test]
fn no_epsilon_says_what_takes_delta() {
    let end = "sample z: fix[50] from gaussian(7);\n reveal sum(u) + z to Server as s;";
    let mut p = privacy(&program("sum", end));
    p.loss.as_mut().expect("a range").distance = 2f64.powi(-20);
    p.rounds = vec![RoundsRow { rounds: 16, epsilon: None, delta: 1e-5 }];
    let said = lines(&p).into_iter().find(|l| l.contains("no epsilon")).expect("a line");
    let start = "16 rounds: no epsilon at delta 1e-5: with a probability of up to 2^-16.0";
    assert!(said.starts_with(start), "{said}");
    // One line of text, with nothing of how the source is laid out.
    assert!(!said.trim().contains("  "), "{said}");
}

/// Where the noise is small beside what one client changes, the report says so, where, and whether a clip is missing.
#[test]
fn no_epsilon_says_that_a_clip_is_missing() {
    let end = "sample z: fix[50] from gaussian(1);\n reveal sum(v) + z to Server as s;";
    let said = |uses: &str, body: &str| {
        let p = privacy(&program(uses, &format!("{body}\n {end}")));
        let all: Vec<_> = lines(&p).into_iter().filter(|l| l.contains("no epsilon")).collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    };
    let unclipped = said("sum", "let v = [u[i] for i in Client];");
    for part in [
        "1 round and more: no epsilon",
        "what `z` is added to (line 8) by up to 28.28",
        "28.29 times its sigma",
        "No vector is cut to a length on its way",
    ] {
        assert!(unclipped.contains(part), "{part}: {unclipped}");
    }
    assert!(!unclipped.contains("more noise"), "{unclipped}");
    let clipped = said("max, norm, sum", "let v = [u[i] / max([1, norm(u[i])]) for i in Client];");
    assert!(
        clipped.starts_with("100 rounds and more") && clipped.ends_with("more noise"),
        "{clipped}"
    );
}

/// A demand that holds is silent; one that does not is refused with the epsilon that follows, or with why there is
/// none.
#[test]
fn demands_on_epsilon() {
    let with = |demand: &str, v: &str| {
        program(
            "max, norm, sum",
            &format!(
                "require {demand};\n let v = [{v} for i in Client];\n \
                 sample z: fix[50] from gaussian(7);\n reveal sum(v) + z to Server as s;"
            ),
        )
    };
    let clipped = "u[i] / max([1, norm(u[i])])";
    let p = privacy(&with("epsilon(1e-5) <= 8", clipped));
    let loss = p.loss.expect("a clip");
    for (rounds, delta) in [(1, 1e-5), (100, 1e-5), (40, 1e-4)] {
        let found = loss.epsilon(rounds, delta).expect("an epsilon");
        let demand = |bound: f64| {
            let rounds = if rounds == 1 { String::new() } else { format!(", {rounds}") };
            refused(&with(&format!("epsilon({delta}{rounds}) <= {bound}"), clipped))
        };
        assert_eq!(demand(found * 1.0001), "");
        let said = demand(found * 0.9999);
        let over = if rounds == 1 { "one round".to_string() } else { format!("{rounds} rounds") };
        for part in [
            "error[E0030]",
            &format!("epsilon is {} at delta {delta:e} over {over}", at_most(found, 3)),
            "one client changes what `z` is added to (line 9) by up to 1.0",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    let said = refused(&with("epsilon(1e-5, 1000) <= 8", "u[i]"));
    for part in ["no epsilon is known", "over 1000 rounds", "No vector is cut to a length"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let chosen = "let v = sort([norm(u[i]) for i in Client]);\n sample z: fix[6] from gaussian(7);\n \
        require epsilon(1e-5) <= 8;\n reveal v + z to Server as s;";
    let said = refused(&program("norm, sort", chosen));
    assert!(said.contains("no epsilon is known") && said.contains("hangs on line 6"), "{said}");
    let plain = "require epsilon(1e-5) <= 8;\n reveal sum(u) to Server as s;";
    let said = refused(&program("sum", plain));
    assert!(said.contains("a program without noise"), "{said}");
}
