//! What a program costs to compile grows with its length, or it is refused early: for every shape of text that
//! could blow up, the bytes that the compiler allocates for n and for 4 n of its parts are compared.
//!
//! Bytes are counted, not seconds, so that the machine does not matter. The counter belongs to the thread, which
//! compiles alone.

use slvr_compiler::diagnostic::render::render;
use slvr_compiler::pipeline;
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::syntax::embedded;
use slvr_compiler::types::{Checked, Options, check};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;

struct Counting;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the allocator of the system; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more.
        let _ = ALLOCATED.try_with(|n| n.set(n.get() + layout.size() as u64));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a text cost: bytes allocated, bytes of messages, and whether it was refused.
#[derive(Debug)]
struct Cost {
    allocated: u64,
    said: u64,
    refused: bool,
}

fn cost(text: &str) -> Cost {
    cost_of(text, 3)
}

/// The same for so many members of its party set.
fn cost_of(text: &str, m: usize) -> Cost {
    cost_with(text, vec![("m".into(), m.to_string())])
}

fn cost_with(text: &str, bindings: Vec<(String, String)>) -> Cost {
    let before = ALLOCATED.get();
    let mut sources = Sources::new();
    let file = sources.add("test.slvr", text);
    let options = Options { bindings, ..Options::default() };
    let mut none = |_: &str| Err(LoadError::NotFound);
    let found = match check(&mut sources, file, &options, &mut none) {
        Ok(Checked { program, .. }) => pipeline::compile(&program, &sources).map(drop),
        Err(errors) => Err(errors),
    };
    let said = found.as_ref().err().map_or(0, |d| render(d, &sources, false).len() as u64);
    Cost { allocated: ALLOCATED.get() - before, said, refused: found.is_err() }
}

/// A predicate with these items before it, statements in it and value revealed.
fn program(items: &str, statements: &str, value: &str) -> String {
    format!(
        "use std::{{max, sum}};\n{items}\npredicate P[m]() {{\n    parties Client[m];\n    parties Server;\n    \
         input x: secret fix in 0..1 from each Client;\n{statements}\n    reveal {value} to Server as y;\n}}\n"
    )
}

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).fold(String::new(), |mut all, i| {
        let _ = writeln!(all, "{}", line(i));
        all
    })
}

fn list(n: usize, one: impl Fn(usize) -> String) -> String {
    (0..n).map(one).collect::<Vec<_>>().join(", ")
}

type Shape = (&'static str, fn(usize) -> String);

const SHAPES: &[Shape] = &[
    ("inputs of each client", |n| {
        let inputs = lines(n, |i| format!("    input x{i}: secret fix in 0..1 from each Client;"));
        let sums = lines(n, |i| match i {
            0 => "    let t0 = sum(x0);".into(),
            i => format!("    let t{i} = t{} + sum(x{i});", i - 1),
        });
        program("", &format!("{inputs}{sums}"), &format!("t{}", n - 1))
    }),
    ("a chain of constants", |n| {
        let chain = lines(n, |i| match i {
            0 => "const c0 = 1;".into(),
            i => format!("const c{i} = c{} + 1;", i - 1),
        });
        program(&chain, "", &format!("sum(x) * c{}", n - 1))
    }),
    ("a chain of constants that double their digits", |n| {
        let chain = lines(n, |i| match i {
            0 => "const c0 = 1.1;".into(),
            i => format!("const c{i} = c{0} * c{0};", i - 1),
        });
        program(&chain, "", &format!("sum(x) * c{}", n - 1))
    }),
    ("a chain of functions", |n| {
        let chain = lines(n, |i| match i {
            0 => "fn f0(x: fix) -> fix { x }".into(),
            i => format!("fn f{i}(x: fix) -> fix {{ f{}(x) + 1 }}", i - 1),
        });
        program(&chain, "", &format!("f{}(sum(x))", n - 1))
    }),
    ("functions in a circle", |n| {
        let circle = lines(n, |i| format!("fn f{i}(x: fix) -> fix {{ f{}(x) }}", (i + 1) % n));
        program(&circle, "", "f0(sum(x))")
    }),
    ("functions that call each other", |n| {
        // As many calls as a few times n, in all.
        let n = 4 * n.isqrt();
        let all = move |i: usize| (0..n).filter(move |&j| j != i).map(|j| format!("f{j}(x)"));
        let each = lines(n, |i| {
            let calls = all(i).collect::<Vec<_>>().join(", ");
            format!("fn f{i}(x: fix) -> fix {{ max([{calls}]) }}")
        });
        program(&each, "", "f0(sum(x))")
    }),
    ("functions that call the one before twice", |n| {
        let chain = lines(n, |i| match i {
            0 => "fn f0(x: fix) -> fix { x }".into(),
            i => format!("fn f{i}(x: fix) -> fix {{ f{0}(x) + f{0}(x + 1) }}", i - 1),
        });
        program(&chain, "", &format!("f{}(sum(x))", n - 1))
    }),
    ("unknown names on a line", |n| {
        program("", &format!("    let a = [{}];", list(n, |i| format!("u{i}"))), "sum(x)")
    }),
    ("unknown names on lines", |n| {
        program("", &lines(n, |i| format!("    let a{i} = u{i};")), "sum(x)")
    }),
    ("names defined twice", |n| program("", &lines(n, |_| "    let a = 1;".into()), "sum(x)")),
    ("unknown characters", |n| program("", &lines(n, |_| "    let a = # ;".into()), "sum(x)")),
    ("statements without an end", |n| {
        program("", &lines(n, |i| format!("    let a{i} = 1")), "sum(x)")
    }),
    ("lists in lists", |n| {
        program("", &format!("    let a = {}sum(x){};", "[".repeat(n), "]".repeat(n)), "sum(x)")
    }),
    ("brackets in brackets", |n| {
        program("", &format!("    let a = {}sum(x){};", "(".repeat(n), ")".repeat(n)), "a")
    }),
    ("brackets that stay open", |n| program("", &format!("    let a = {}", "[(".repeat(n)), "a")),
    ("brackets that were not open", |n| {
        program("", &format!("    let a = {}", "])".repeat(n)), "a")
    }),
    ("loops in loops", |n| {
        let loops: String = (0..n).map(|i| format!(" for i{i} in 2]")).collect();
        program("", &format!("    let a = {}sum(x){loops};", "[".repeat(n)), "sum(x)")
    }),
    ("loops beside loops", |n| {
        let loops: String = (0..n).map(|i| format!(" for i{i} in 1")).collect();
        program("", &format!("    let a = [sum(x){loops}];"), "a")
    }),
    ("lists that double", |n| {
        let chain = lines(n, |i| match i {
            0 => "    let a0 = [sum(x)];".into(),
            i => format!("    let a{i} = [a{0}, a{0}];", i - 1),
        });
        program("", &chain, &format!("a{}", n - 1))
    }),
    ("powers of powers", |n| {
        program("", "", &format!("{}sum(x){}", "(".repeat(n / 4), " ^ 2 + 1)".repeat(n / 4)))
    }),
    ("a long sum", |n| program("", "", &format!("sum(x){}", " + 1".repeat(n)))),
    ("a long list", |n| {
        program(
            "",
            "",
            &format!("sum([sum(x) * k for k in {n}]) + sum([{}])", list(n, |i| i.to_string())),
        )
    }),
    ("minus signs", |n| program("", "", &format!("{}sum(x)", "-".repeat(n)))),
    ("reveals", |n| {
        program("", &lines(n, |i| format!("    reveal sum(x) + {i} to Server as y{i};")), "sum(x)")
    }),
    ("party sets", |n| program("", &lines(n, |i| format!("    parties Set{i}[3];")), "sum(x)")),
    ("imports", |n| program(&lines(n, |i| format!("use std::{{nothing{i}}};")), "", "sum(x)")),
    ("a long text in quotes", |n| {
        program("", &format!("    require m > 5, \"{}\";", "why ".repeat(n * 100)), "sum(x)")
    }),
    ("a long comment", |n| program(&format!("// {}", "why ".repeat(n * 100)), "", "sum(x)")),
    ("dimensions", |n| {
        let dims = list(n, |_| "1".into());
        program("", &format!("    input z: secret fix[{dims}] in 0..1 from each Client;"), "sum(x)")
    }),
    ("digits", |n| program("", "", &format!("sum(x) * 0.{}1", "0".repeat(n * 100)))),
];

/// For four times the parts: so many times the bytes, and these more.
const TIMES: u64 = 7;
const MORE: u64 = 4 << 20;
/// No messages are longer than this.
const SAID: u64 = 64 << 10;

/// The stack of a thread that compiles, with room for builds that are not optimised.
const STACK: usize = 32 << 20;

#[test]
fn what_a_program_costs_grows_with_its_length() {
    let thread = std::thread::Builder::new().stack_size(STACK);
    let done = thread.spawn(compare_all).expect("a thread").join();
    assert_eq!(done.expect("no panic"), "");
}

/// What is wrong, in words.
fn compare_all() -> String {
    // A first program fills what is made once.
    cost(&program("", "", "sum(x)"));
    let mut wrong = Vec::new();
    for (name, shape) in SHAPES {
        let (small, large) = (cost(&shape(64)), cost(&shape(256)));
        if large.allocated > TIMES * small.allocated + MORE
            || small.said.max(large.said) > SAID
            || small.refused && !large.refused
        {
            wrong.push(format!("{name}: {small:?}, with four times as many {large:?}"));
        }
    }
    wrong.join("\n")
}

/// A range is a few characters, however long it is: what reads its variable as a number is refused before the numbers are
/// written out, and is taken where there are few.
#[test]
fn long_ranges_are_refused_before_they_are_written_out() {
    for value in [
        "sum(j for j in 0..N)",
        "sum(2 * j + 1 for j in 0..N)",
        "sum(sum(x) * j for j in 3..N)",
        "[j for j in 0..N][3]",
        "max(j for j in 0..N)",
        "sum(j for i in Client for j in 0..N)",
        "sum(sum(j for j in 0..N) for i in Client)",
    ] {
        let of = |n: u64| {
            cost(&program("", "", &format!("sum(x) + {}", value.replace('N', &n.to_string()))))
        };
        let few = of(1000);
        assert!(!few.refused, "{value}: {few:?}");
        for n in [(1 << 25) + 8, 100_000_000, 1 << 32, (1 << 63) - 1] {
            let many = of(n);
            assert!(many.refused && many.allocated < MORE, "{value} of {n}: {many:?}");
        }
    }
}

/// Ranks of m members compare m^2 / 2 pairs among the parties. The compiler holds a rule for these, and a few
/// numbers of each member.
#[test]
fn ranks_of_many_members_cost_the_compiler_as_much_each_as_those_of_few() {
    let items = "use std::{lower_median, top_k, trimmed_mean};";
    for value in
        ["lower_median(x)", "trimmed_mean[2, 3](x)", "sum(top_k[5](x)[i] * x[i] for i in Client)"]
    {
        let text = program(items, "", value);
        let (few, many) = (cost_of(&text, 250), cost_of(&text, 4000));
        assert!(!few.refused && !many.refused, "{value}: {few:?}, {many:?}");
        let each = many.allocated / 16;
        assert!(each < 2 * few.allocated, "{value}: {few:?}, with 16 times as many {many:?}");
    }
}

/// The compiler's work for distances of all pairs of members, and for sums of the nearest, is of rules, too.
#[test]
fn distances_of_many_members_cost_the_compiler_as_much_each_as_those_of_few() {
    let items = "use std::{norm_sq, smallest};";
    // What picks entries of a matrix has an index for each, so one for each pair: four times as many members, 16 times
    // as many indices.
    for (dist, most) in [
        ("[[norm_sq(u[i] - u[j]) for j in Client if j != i] for i in Client]", 5),
        ("[[all[i][j] for j in Client if j != i] for i in Client]", 16),
    ] {
        let statements = format!(
            "    input u: secret fix[4] in -1..1 from each Client;\n    \
             let all = [[norm_sq(u[i] - u[j]) for j in Client] for i in Client];\n    let dist = {dist};"
        );
        let value = "sum(sum(smallest[5](dist[i])) for i in Client)";
        let text = program(items, &statements, value);
        let (few, many) = (cost_of(&text, 200), cost_of(&text, 800));
        assert!(!few.refused && !many.refused, "{dist}: {few:?}, {many:?}");
        assert!(
            many.allocated < most * few.allocated,
            "{dist}: {few:?}, with 4 times as many {many:?}"
        );
    }
}

/// What the parties would hold and send for many inputs of each client, whose checks become one bit.
#[test]
fn checks_of_many_inputs_cost_as_much_each_as_those_of_few() {
    let sent = |n: usize| {
        let inputs = lines(n, |i| format!("    input x{i}: secret fix in 0..1 from each Client;"));
        let text = program("", &inputs, "sum(x)");
        let mut sources = Sources::new();
        let file = sources.add("test.slvr", text);
        let options = Options { bindings: vec![("m".into(), "3".into())], ..Options::default() };
        let mut none = |_: &str| Err(LoadError::NotFound);
        let checked = check(&mut sources, file, &options, &mut none).expect("right");
        let compiled = pipeline::compile(&checked.program, &sources).expect("compiles");
        slvr_circuit::traffic::Traffic::of(&compiled.circuit).bytes.iter().sum::<u64>() / n as u64
    };
    let (few, many) = (sent(100), sent(400));
    assert!(many <= few + few / 4, "{few} bytes for each of 100 inputs, {many} of 400");
}

/// Steps of a loop over the weights of a model: 100 cost four times as much as 25, of a large model as of a small one.
#[test]
fn steps_over_weights_cost_as_much_each_as_the_first_whatever_the_model() {
    let text = "use std::{min, norm, sum};
        predicate Clip[M: model, m, steps](lambda: fix = 1.0) {
            parties Client[m];
            parties Server;
            input u: secret weights M in -1..1 from each Client;
            let v = iterate v: weights M in -1..1 = sum(u) / m for t in steps {
                v + sum((u[i] - v) * min([1, lambda / norm(u[i] - v)]) for i in Client) / m
            };
            reveal v to Server as v;
        }";
    let of = |model: &str, steps: usize| {
        let sizes = [("M", model.into()), ("m", "10".into()), ("steps", steps.to_string())];
        let found = cost_with(text, sizes.map(|(n, v): (&str, String)| (n.into(), v)).into());
        assert!(!found.refused, "{model}, {steps} steps");
        found.allocated
    };
    let [small, few, many] = [of("Mlp[30, 30, 10]", 25), of("LeNet5", 25), of("LeNet5", 100)];
    assert!(many < 5 * few, "{few} bytes for 25 steps, {many} for 100");
    assert!(few < small + small / 4, "{few} bytes for steps of LeNet-5, {small} of a small model");
}

/// What a loop carries may be collected by a choice in each step, or by putting one list behind another: for the compiler
/// this is the same.
#[test]
fn lists_that_loops_collect_by_choices_cost_as_much_as_those_put_together() {
    let of = |next: &str| {
        let text = format!(
            "use std::{{concat, select, sum, tanh}};
            predicate States[m, n, T]() {{
                parties Client[m];
                parties Server;
                input x: secret fix[T, n] in -1..1 from each Client;
                let (h, all) = iterate (
                    h = [[0.5 for k in n] for i in Client],
                    all = [[[0.5 for k in n] for i in Client] for s in T],
                ) for t in T {{
                    let g = [[tanh(x[i][t][k] + h[i][k]) for k in n] for i in Client];
                    (g, {next})
                }};
                let near = [[sum(all[s][i][k] * h[i][k] for k in n) for i in Client] for s in T];
                reveal sum(sum(tanh(near[s][i]) for i in Client) for s in T) to Server as near;
            }}"
        );
        let sizes = [("m", "10"), ("n", "50"), ("T", "40")];
        let found = cost_with(&text, sizes.map(|(n, v)| (n.into(), v.into())).into());
        assert!(!found.refused, "{next}");
        found.allocated
    };
    let together = of("concat([all[s] for s in 1..T], [g])");
    let chosen = of("[select(s == t, g, all[s]) for s in T]");
    assert!(chosen < 2 * together, "{chosen} bytes for choices, {together} put together");
}

/// Ten thousand inputs are compiled or refused with a code, whatever they take.
#[test]
fn ten_thousand_inputs_end_in_an_answer() {
    let inputs = lines(10_000, |i| format!("    input x{i}: public fix in 0..1;"));
    let Cost { refused, said, .. } = cost(&program("", &inputs, "sum(x)"));
    println!("refused: {refused}, {said} bytes of messages");
    assert!(said < 64 << 10, "{said} bytes of messages");
}

/// Whole predicates with thousands of members: rules and not tables for ranks and pairs.
#[test]
fn predicates_of_thousands_of_members_cost_as_much_for_each_as_those_of_few() {
    let digits = ("M", "DigitsNet");
    let cases = [
        ("slvr_accuracy.slvr", vec![digits, ("c", "1"), ("b", "1")], [2_500, 10_000], 5),
        // All pairs of members are compared.
        ("krum.slvr", vec![digits, ("f", "1")], [250, 1_000], 17),
    ];
    for (name, sizes, members, most) in cases {
        let text = embedded::get(name).expect("it comes with the compiler");
        let [few, many] = members.map(|m| {
            let all = sizes.iter().map(|(n, v)| (n.to_string(), v.to_string()));
            let cost = cost_with(text, all.chain([("m".to_string(), m.to_string())]).collect());
            assert!(!cost.refused, "{name} m={m}");
            cost.allocated
        });
        println!("{name}: {few} bytes for {} members, {many} for {}", members[0], members[1]);
        assert!(many <= few * most, "{name}: {few} bytes, {many} for four times the members");
    }
}
