//! Forms in which a leak is written, at several sizes, and random programs against dense elimination.

use super::{Member, Question, findings};
use crate::report::leaks::flow::{flows, known};
use crate::report::leaks::tests::built;
use crate::report::leaks::warn::is_bits;
use crate::report::testing::{Random, setting};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Of which clients something is found in what the server gets; nothing if it is too much to look at.
fn told(text: &str, m: u64) -> Option<BTreeSet<u64>> {
    let graph = built(text, &[("m", &m.to_string())]).1;
    let to = graph.parties.iter().position(|p| p.0 == "Server").expect("a server") as u32;
    let flows = flows(&graph, &known(&graph, to));
    let outputs: Vec<usize> =
        (0..graph.outputs.len()).filter(|&o| graph.outputs[o].to == to).collect();
    let bits = |o: &usize| is_bits(&flows[graph.outputs[*o].node.index()]);
    let bits = outputs.iter().copied().filter(bits).collect();
    let (found, left_out) = findings(&Question { graph: &graph, flows: &flows, outputs, bits });
    if !left_out.is_empty() {
        return None;
    }
    let members: BTreeSet<Member> = found.into_iter().flat_map(|f| f.members).collect();
    assert!(members.iter().all(|m| m.0 == 0), "{members:?}");
    Some(members.into_iter().map(|m| m.1).collect())
}

fn of_five(inputs: &str, body: &str) -> Option<BTreeSet<u64>> {
    let model = "model M(x: fix[9]) -> fix[3] { fc1: linear[9, 4]; fc2: linear[4, 3]; x |> fc1 |> relu |> fc2 }";
    let text = format!(
        "use std::{{clamp, concat, dot, exp, flat, relu, reshape, sum}};\n{model}\n\
         predicate P[m]() {{ parties Client[m]; parties Server; parties Other;\n{inputs}\n{body} }}\n"
    );
    told(&text, 5)
}

/// A quotient by 0 is as large as quotients get, and not 0.
#[test]
fn a_quotient_by_zero_is_a_factor() {
    let told = |factor: &str| {
        let inputs = "input x: secret fix in -1..1 from each Client; input p: public fix in 1..2;";
        let one = "sum(x[i] for i in Client if i == 0)";
        let body = format!(
            "reveal sum(x) to Server as a; reveal sum(x) + {factor} * {one} to Server as b; reveal p to Other as used;"
        );
        of_five(inputs, &body)
    };
    assert_eq!(told("(p / (p - p))"), Some(BTreeSet::from([0])));
    assert_eq!(told("(p - p)"), Some(BTreeSet::new()));
}

/// Two sums, with one client or without it, however they are written.
#[test]
fn a_sum_beside_the_same_sum_without_one_client_is_found_at_any_size() {
    for n in [3u64, 100, 60_000] {
        let k = n / 2;
        let inputs = format!(
            "input x: secret fix[{n}] in -1..1 from each Client; input p: public fix[{n}] in -1..1;\n\
             input own: secret fix[{n}] in -1..1 from Server;\n\
             reveal sum(p) + sum(sum(x[i]) for i in Client) to Other as used; reveal sum(own) to Server as mine;"
        );
        let x = |read: &str, of: &str, over: &str| {
            let read =
                read.replace("x[i]", of).replace('K', &k.to_string()).replace('N', &n.to_string());
            read.replace("Client", &format!("Client{over}"))
        };
        let all = "sum(x[i] for i in Client)";
        for (one, other) in [
            (all, all),
            (
                "[sum(x[i][j] for i in Client) for j in N]",
                "[sum(x[i][j] for i in Client) for j in N]",
            ),
            (all, "[sum(x[i][j] for i in Client) for j in 1..N]"),
            (all, "sum(x[i][K] for i in Client)"),
            ("sum(x[i][K] for i in Client)", "sum(x[i][K] for i in Client)"),
            ("sum(sum(x[i]) for i in Client)", "sum(sum(x[i]) for i in Client)"),
            (all, "sum(sum(x[i]) for i in Client)"),
            ("sum(0.1 * x[i] for i in Client)", "sum(x[i] / 10 for i in Client)"),
            ("sum(x[i] + own for i in Client)", "sum(x[i] for i in Client) / 7"),
            (
                "[sum(x[i]) - 7 * sum(x[i][j] for i in Client) for j in N]",
                "sum(x[i][K] for i in Client)",
            ),
        ] {
            // A sum of all entries stands for one in which clients are added up.
            let one = one.replace("[sum(x[i]) -", "[sum(sum(x[i]) for i in Client) -");
            let pair = |a: &str, b: &str, less: &str| {
                let (a, b) = (x(a, "x[i]", ""), x(b, "x[i]", less));
                of_five(&inputs, &format!("reveal {a} to Server as a; reveal {b} to Server as b;"))
            };
            let found = |clients: &[u64]| Some(clients.iter().copied().collect());
            assert_eq!(pair(&one, other, " if i != 2"), found(&[2]), "{n}: {one} {other}");
            assert_eq!(pair(other, &one, " if i != 2"), found(&[2]), "{n}: {other} {one}");
            assert_eq!(pair(&one, other, " if i < 3"), found(&[]), "{n}: {one} {other}");
            assert_eq!(pair(&one, other, " if i == 1"), found(&[1]), "{n}: {one} {other}");
        }
    }
}

#[test]
fn fields_of_a_model_are_entries_like_others() {
    let u = "input u: secret weights M in -8..8 from each Client;";
    let two = |a: &str, b: &str| {
        of_five(u, &format!("reveal {a} to Server as a; reveal {b} to Server as b;"))
    };
    let one = Some(BTreeSet::from([2]));
    assert_eq!(two("sum(u)", "sum(u[i].fc1.weight for i in Client if i != 2)"), one);
    assert_eq!(two("sum(u)", "sum(u[i].fc1.bias[1] for i in Client if i != 2)"), one);
    assert_eq!(
        two("sum(u[i].fc2.bias for i in Client)", "sum(u[i] for i in Client if i != 2)"),
        one
    );
    assert_eq!(
        two(
            "sum(u[i].fc1.weight for i in Client)",
            "sum(u[i].fc2.weight for i in Client if i != 2) + sum(u[i].fc2.bias[0] for i in Client)"
        ),
        Some(BTreeSet::new())
    );
}

/// A known factor that is computed twice is one number.
#[test]
fn equal_factors_are_known_to_be_equal() {
    let inputs = "input x: secret fix in -1..1 from each Client; input p: public fix[m] in -1..1;";
    let sum = |over: &str| {
        format!("reveal sum(exp(2 * p[i]) * x[i] for i in Client if i {over}) to Server as")
    };
    let two = |a: &str, b: &str| of_five(inputs, &format!("{} a; {} b;", sum(a), sum(b)));
    assert_eq!(two("< 2", "< 2"), Some([].into()));
    assert_eq!(two("< 2", "< 3"), Some([2].into()));
}

/// What is computed of one client is an unknown of this client.
#[test]
fn values_of_one_client_are_told_from_sums() {
    let y = "input y: secret fix[3] in -1..1 from each Client;";
    let found = |body: &str| of_five(y, body).expect("few terms");
    let s = "let s = [clamp(sum(y[i]), -0.5, 0.5) for i in Client]; reveal sum(s) to Server as a;";
    assert_eq!(
        found(&format!("{s} reveal sum(s[i] for i in Client if i < 4) to Server as b;")),
        [4].into()
    );
    assert_eq!(
        found(&format!("{s} reveal sum(s[i] for i in Client if i < 3) to Server as b;")),
        [].into()
    );
    // Bits that are revealed are known, and so is their number.
    let keep = "let keep = [y[i][0] > 0 for i in Client]; reveal keep to Server as a;";
    assert_eq!(found(&format!("{keep} reveal sum(keep) to Server as b;")), [].into());
    assert_eq!(
        found(&format!("{keep} reveal sum(keep[i] * y[i] for i in Client) to Server as b;")),
        [].into()
    );
}

/// Owners are found where axes are merged, where entries change their places, and where parts are put together.
#[test]
fn values_of_one_client_are_found_wherever_they_stand() {
    let inputs = "input x: secret fix[3] in -1..1 from each Client; input y: secret fix in -1..1 from each Client;";
    let found = |list: &str, n: &str, from: &str, to: &str| {
        let body = format!(
            "let f = {list}; let v = [relu(f[k]) for k in {n}]; reveal sum(v) to Server as a;\n\
             reveal sum(v[k] for k in {from}..{to}) to Server as b; reveal sum(y) + sum(sum(x[i]) for i in Client) to Other as used;"
        );
        of_five(inputs, &body).expect("few terms")
    };
    let flat = "flat([x[i] for i in Client])";
    assert_eq!(found(flat, "3 * m", "3", "3 * m"), [0].into());
    assert_eq!(found(flat, "3 * m", "0", "3 * m - 2"), [4].into());
    assert_eq!(found(flat, "3 * m", "0", "3 * m - 4"), [].into());
    assert_eq!(found(&format!("reshape[3 * m]({flat})"), "3 * m", "1", "3 * m"), [0].into());
    // A row is of one client again.
    let rows = format!("reshape[m, 3]({flat})");
    assert_eq!(found(&format!("[sum({rows}[t]) for t in m]"), "m", "1", "m"), [0].into());
    assert_eq!(found(&format!("[sum({rows}[t]) for t in m]"), "m", "2", "m"), [].into());
    let flat = "flat([[y[i]] for i in Client])";
    let backwards = &format!("[{flat}[m - 1 - t] for t in m]");
    assert_eq!(found(backwards, "m", "1", "m"), [4].into());
    assert_eq!(found(backwards, "m", "2", "m"), [].into());
    let both = &format!("concat({flat}, [{flat}[m - 1 - t] for t in m])");
    assert_eq!(found(both, "2 * m", "0", "2 * m - 1"), [0].into());
    assert_eq!(found(both, "2 * m", "2", "2 * m - 1"), [].into());
    assert_eq!(
        found(&format!("[{flat}[t] + {flat}[m - 1 - t] for t in m]"), "m", "0", "2"),
        [].into()
    );
    // The middle one is added to itself.
    let body = "let z = flat([[y[i]] for i in Client]); let f = [z[t] + z[m - 1 - t] for t in m]; let v = [relu(f[k]) for k in m]; \
                reveal sum(v) to Server as a; reveal sum(v[k] for k in m if k != 2) to Server as b; \
                reveal sum(x) to Other as used;";
    assert_eq!(of_five(inputs, body), Some([2].into()));
}

/// Each entry with a factor of its own.
#[test]
fn entries_with_factors_are_found_one_by_one() {
    for n in [3, 1000] {
        let inputs = format!(
            "input x: secret fix[{n}] in -1..1 from each Client; input p: public fix[{n}] in -1..1;"
        );
        let sum = |over: &str| format!("sum(dot(x[i], p) for i in Client{over})");
        let body = format!(
            "reveal {} to Server as a; reveal {} to Server as b;",
            sum(""),
            sum(" if i != 2")
        );
        assert_eq!(of_five(&inputs, &body), Some([2].into()), "{n}");
    }
}

#[test]
fn too_many_terms_are_not_looked_at() {
    let inputs = "input x: secret fix[400000] in -1..1 from each Client; input p: public fix[400000] in -1..1;";
    assert_eq!(of_five(inputs, "reveal sum(dot(x[i], p) for i in Client) to Server as a;"), None);
}

/// The reference counts modulo another prime than the compiler.
const Q: u64 = (1 << 31) - 1;

fn power(x: u64, mut n: u64) -> u64 {
    let (mut out, mut x) = (1, x % Q);
    while n > 0 {
        if n & 1 == 1 {
            out = out * x % Q;
        }
        (x, n) = (x * x % Q, n >> 1);
    }
    out
}

/// The rank, by elimination of a dense matrix.
pub(in crate::report::leaks) fn rank(mut rows: Vec<Vec<u64>>) -> usize {
    let (mut rank, columns) = (0, rows.first().map_or(0, Vec::len));
    for c in 0..columns {
        let Some(p) = (rank..rows.len()).find(|&r| rows[r][c] != 0) else { continue };
        rows.swap(rank, p);
        let inverse = power(rows[rank][c], Q - 2);
        let pivot = rows[rank].clone();
        for row in rows.iter_mut().skip(rank + 1) {
            let by = row[c] * inverse % Q;
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x = (*x + (Q - by) * p) % Q);
        }
        rank += 1;
    }
    rank
}

/// An expression, and its entries as factors of all entries of all clients.
type Written = (String, Vec<Vec<u64>>);

/// A random program of linear reveals over `x: fix[a, b]` of m clients.
struct Program {
    m: u64,
    a: u64,
    b: u64,
    /// What the reference takes public inputs for.
    public: Vec<u64>,
}

/// As a program says it, over, under.
const FACTORS: [(&str, u64, u64); 7] = [
    ("1", 1, 1),
    ("2", 2, 1),
    ("0.5", 1, 2),
    ("0.1", 1, 10),
    ("0.3", 3, 10),
    ("(-1)", Q - 1, 1),
    ("3", 3, 1),
];

impl Program {
    /// Which clients, and with which factors: the condition or factor as it is written.
    fn clients(&self, r: &mut Random) -> (String, String, Vec<u64>) {
        let (m, t) = (self.m, r.below(self.m));
        let (when, of): (String, Box<dyn Fn(u64) -> bool>) = match r.below(6) {
            0 => (format!(" if i != {t}"), Box::new(move |i| i != t)),
            1 => (format!(" if i <= {t}"), Box::new(move |i| i <= t)),
            2 => (format!(" if i >= {t}"), Box::new(move |i| i >= t)),
            3 if r.below(3) == 0 => (format!(" if i == {t}"), Box::new(move |i| i == t)),
            _ => (String::new(), Box::new(|_| true)),
        };
        let (text, over, under) = r.pick(&FACTORS);
        let by = over * power(under, Q - 2) % Q;
        let place = r.below(5) == 0;
        let factor = |i: u64| if of(i) { by * if place { i } else { 1 } % Q } else { 0 };
        let times = if place { format!("{text} * i * ") } else { format!("{text} * ") };
        (when, times, (0..m).map(factor).collect())
    }

    /// The entry that adds up these entries of each client, times numbers.
    fn row(&self, clients: &[u64], entries: &[(u64, u64, u64)]) -> Vec<u64> {
        let mut row = vec![0; (self.m * self.a * self.b) as usize];
        for (i, by) in (0..).zip(clients) {
            for (j, k, factor) in entries {
                let at = &mut row[((i * self.a + j) * self.b + k) as usize];
                *at = (*at + by * factor) % Q;
            }
        }
        row
    }

    /// A list of numbers; what it names stands before.
    fn list(&self, r: &mut Random, before: &mut String) -> Written {
        let (when, times, clients) = self.clients(r);
        let (a, b) = (self.a, self.b);
        let (j, k) = (r.below(a), r.below(b));
        let sum = |of: &str| format!("sum({times}{of} for i in Client{when})");
        let row = |entries: &[(u64, u64, u64)]| self.row(&clients, entries);
        let whole = |j: u64| (0..b).map(|k| (j, k, 1)).collect::<Vec<_>>();
        match r.below(10) {
            0 => {
                let rows = (0..a)
                    .flat_map(|j| (0..b).map(move |k| (j, k)))
                    .map(|(j, k)| row(&[(j, k, 1)]));
                (format!("flat({})", sum("x[i]")), rows.collect())
            }
            1 => {
                let from = r.below(b);
                let rows = (0..a)
                    .flat_map(|j| (from..b).map(move |k| (j, k)))
                    .map(|(j, k)| row(&[(j, k, 1)]));
                (
                    format!("flat([[{} for k in {from}..{b}] for j in {a}])", sum("x[i][j][k]")),
                    rows.collect(),
                )
            }
            2 => {
                let rows = (0..b)
                    .flat_map(|k| (0..a).map(move |j| (j, k)))
                    .map(|(j, k)| row(&[(j, k, 1)]));
                (
                    format!("flat([[{} for j in {a}] for k in {b}])", sum("x[i][j][k]")),
                    rows.collect(),
                )
            }
            3 => (format!("[{}]", sum(&format!("x[i][{j}][{k}]"))), vec![row(&[(j, k, 1)])]),
            4 => (format!("[{}]", sum(&format!("sum(x[i][{j}])"))), vec![row(&whole(j))]),
            5 => {
                let constants: Vec<_> = (0..b).map(|_| r.pick(&FACTORS)).collect();
                let texts: Vec<&str> = constants.iter().map(|c| c.0).collect();
                let entries = |j: u64| {
                    (0..).zip(&constants).map(move |(k, c)| (j, k, c.1 * power(c.2, Q - 2) % Q))
                };
                let text = format!(
                    "[{} for j in {a}]",
                    sum(&format!("dot(x[i][j], [{}])", texts.join(", ")))
                );
                (text, (0..a).map(|j| row(&entries(j).collect::<Vec<_>>())).collect())
            }
            6 => {
                let entries: Vec<_> = (0..).zip(&self.public).map(|(k, p)| (j, k, *p)).collect();
                (format!("[{}]", sum(&format!("dot(x[i][{j}], p)"))), vec![row(&entries)])
            }
            7 => (
                format!("{} + own", sum(&format!("x[i][{j}]"))),
                (0..b).map(|k| row(&[(j, k, 1)])).collect(),
            ),
            8 => {
                // The deviation of entries from their sum.
                let v = named(before, &sum(&format!("x[i][{j}]")));
                let text = format!("[{v}[k] - sum({v}) / {b} for k in {b}]");
                let less = Q - power(b, Q - 2);
                let entries = |k: u64| {
                    whole(j)
                        .into_iter()
                        .map(|(j, l, _)| (j, l, less))
                        .chain([(j, k, 1)])
                        .collect::<Vec<_>>()
                };
                (text, (0..b).map(|k| row(&entries(k))).collect())
            }
            _ if b > 1 => {
                let v = named(before, &sum(&format!("x[i][{j}]")));
                let text = format!("[{v}[k] - {v}[k + 1] for k in {}]", b - 1);
                (text, (0..b - 1).map(|k| row(&[(j, k, 1), (j, k + 1, Q - 1)])).collect())
            }
            _ => (format!("[{}]", sum(&format!("x[i][{j}][{k}]"))), vec![row(&[(j, k, 1)])]),
        }
    }

    /// Two of them, or parts of these, as one.
    fn reveal(&self, r: &mut Random, before: &mut String) -> Written {
        let (text, rows) = self.list(r, before);
        let (other, more) = self.list(r, before);
        match r.below(4) {
            0 => (format!("concat({text}, {other})"), rows.into_iter().chain(more).collect()),
            1 => {
                let n = rows.len().min(more.len());
                let sums = rows
                    .iter()
                    .zip(&more)
                    .map(|(a, b)| a.iter().zip(b).map(|(x, y)| (x + 2 * y) % Q).collect());
                let (v, w) = (named(before, &text), named(before, &other));
                let text = format!("[{v}[e] + 2 * {w}[e] for e in {n}]");
                (text, sums.collect())
            }
            _ => (text, rows),
        }
    }
}

/// Gives an expression a name.
fn named(before: &mut String, text: &str) -> String {
    let name = format!("v{}", before.lines().count());
    let _ = writeln!(before, "let {name} = {text};");
    name
}

/// The same program of a function of each entry of `x`, which is the same unknown wherever it is computed.
fn of_functions(text: &str, r: &mut Random) -> String {
    let (before, after) = r.pick(&[("exp(", ")"), ("abs(", ")"), ("abs(y[i] + ", ")"), ("", "")]);
    let mut parts = text.split("x[i]");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        // Before or after its entries are picked.
        let mut end = 0;
        while part[end..].starts_with('[') && r.below(2) == 0 {
            end += part[end..].find(']').map_or(0, |n| n + 1);
        }
        let entries = format!("x[i]{}", &part[..end]);
        let _ = match before {
            "" => write!(out, "({entries} * {entries}){}", &part[end..]),
            _ => write!(out, "{before}{entries}{after}{}", &part[end..]),
        };
    }
    out
}

/// A client is found if, and only if, the rank is less without its inputs, or without what is computed of each of them.
#[test]
fn random_linear_programs_agree_with_dense_elimination() {
    let (first, programs) = (setting("SLVR_SEED", 0), setting("SLVR_COUNT", 300));
    let (mut telling, mut silent) = (0, 0);
    for seed in first..first + programs {
        let mut r = Random::of(seed);
        let (m, a, b) = (2 + r.below(4), 1 + r.below(3), 1 + r.below(4));
        let public = (0..b).map(|_| 1 + r.below(Q - 1)).collect();
        let program = Program { m, a, b, public };
        let (mut body, mut rows) = (String::new(), Vec::new());
        for o in 0..1 + r.below(3) {
            let (text, more) = program.reveal(&mut r, &mut body);
            let _ = writeln!(body, "reveal {text} to Server as a{o};");
            rows.extend(more);
        }
        if seed % 3 == 0 {
            body = of_functions(&body, &mut r);
        }
        let text = format!(
            "use std::{{abs, concat, dot, exp, flat, sum}};\npredicate P[m]() {{ parties Client[m]; parties Server; parties Other;\n\
             input x: secret fix[{a}, {b}] in -1..1 from each Client; input p: public fix[{b}] in -1..1;\n\
             input own: secret fix[{b}] in -1..1 from Server; input y: secret fix in -1..1 from each Client;\n\
             reveal sum(p) + sum(own) + sum(y) + sum(sum(x[i][0]) for i in Client) to Other as used;\n{body} }}\n"
        );
        let columns = (a * b) as usize;
        let all = rank(rows.clone());
        let less = |i: u64| {
            let mut rows = rows.clone();
            let own = i as usize * columns..(i as usize + 1) * columns;
            rows.iter_mut().for_each(|row| row[own.clone()].fill(0));
            rank(rows) < all
        };
        let expected: BTreeSet<u64> = (0..m).filter(|&i| less(i)).collect();
        *(if expected.is_empty() { &mut silent } else { &mut telling }) += 1;
        assert_eq!(told(&text, m), Some(expected), "seed {seed}\n{text}");
    }
    assert!(
        programs < 100 || telling > programs / 10 && silent > programs / 10,
        "{telling} {silent}"
    );
}

/// A list of a program with functions: its name, and of each entry how it is made of columns and whose data are in it.
#[derive(Clone)]
struct Entries(String, Vec<(Vec<u64>, BTreeSet<u64>)>);

/// A random program of lists, in which each entry that is computed otherwise than linearly is a column of its own. The
/// reference follows entries one by one.
struct Functions {
    m: u64,
    /// Whose each column is, if it is one client's.
    owners: Vec<Option<u64>>,
    text: String,
    lists: Vec<Entries>,
}

/// So many columns, at most.
const COLUMNS: usize = 400;

impl Functions {
    fn of(m: u64, a: u64) -> Functions {
        let owners: Vec<Option<u64>> = (0..m * a).map(|at| Some(at / a)).collect();
        let mut all = Functions { m, owners, text: String::new(), lists: Vec::new() };
        let entry = |at: u64| {
            let mut row = vec![0; COLUMNS];
            row[at as usize] = 1;
            (row, BTreeSet::from([at / a]))
        };
        all.name("flat([x[i] for i in Client])".into(), (0..m * a).map(entry).collect());
        let first = (0..m).map(|i| entry(i * a)).collect();
        all.name("flat([[x[i][0]] for i in Client])".into(), first);
        all
    }

    fn name(&mut self, text: String, entries: Vec<(Vec<u64>, BTreeSet<u64>)>) {
        let name = named(&mut self.text, &text);
        self.lists.push(Entries(name, entries));
    }

    /// Entries that are computed of the data of these clients, in no linear way.
    fn columns(&mut self, of: Vec<BTreeSet<u64>>) -> Option<Vec<(Vec<u64>, BTreeSet<u64>)>> {
        let first = self.owners.len();
        if first + of.len() > COLUMNS {
            return None;
        }
        let one = |whose: &BTreeSet<u64>| whose.first().copied().filter(|_| whose.len() == 1);
        self.owners.extend(of.iter().map(one));
        let entry = |(k, whose): (usize, BTreeSet<u64>)| {
            let mut row = vec![0; COLUMNS];
            row[first + k] = u64::from(!whose.is_empty());
            (row, whose)
        };
        Some(of.into_iter().enumerate().map(entry).collect())
    }

    /// One more list.
    fn step(&mut self, r: &mut Random) {
        let Entries(v, x) = r.pick(&self.lists);
        let Entries(w, y) = r.pick(&self.lists);
        let n = x.len();
        let sum = |of: &[(Vec<u64>, BTreeSet<u64>)], by: u64| {
            let mut all = (vec![0; COLUMNS], BTreeSet::new());
            for (row, whose) in of {
                all.0.iter_mut().zip(row).for_each(|(a, b)| *a = (*a + by * b) % Q);
                all.1.extend(whose);
            }
            all
        };
        let picked = |at: Vec<usize>| at.into_iter().map(|k| x[k].clone()).collect::<Vec<_>>();
        let (text, entries) = match r.below(9) {
            0 | 1 => {
                // No two are the same.
                let shift = self.owners.len() as u64 + self.text.len() as u64;
                let of = x.iter().map(|e| e.1.clone()).collect();
                let Some(entries) = self.columns(of) else { return };
                (format!("[relu({v}[k] + {shift}) for k in {n}]"), entries)
            }
            2 if y.len() == n => {
                let of = x.iter().zip(&y).map(|(a, b)| &a.1 | &b.1).collect();
                let shift = self.text.len() as u64;
                let Some(entries) = self.columns(of) else { return };
                (format!("[({v}[k] + {shift}) * ({w}[k] - {shift}) for k in {n}]"), entries)
            }
            3 => (format!("[{v}[{} - k] for k in {n}]", n - 1), picked((0..n).rev().collect())),
            4 if n > 1 => {
                let (from, step) = (r.below(n as u64) as usize, 1 + r.below(2) as usize);
                let count = (n - from).div_ceil(step);
                let at = (0..count).map(|k| from + step * k).collect();
                (format!("[{v}[{from} + {step} * k] for k in {count}]"), picked(at))
            }
            5 if n + y.len() < 40 => {
                (format!("concat({v}, {w})"), x.iter().chain(&y).cloned().collect())
            }
            6 if n > 1 => {
                // Sums of neighbours.
                let size = (2..=n).find(|size| n % size == 0).unwrap_or(n);
                let sums = x.chunks(size).map(|of| sum(of, 1)).collect();
                let count = n / size;
                (format!("[sum(reshape[{count}, {size}]({v})[k]) for k in {count}]"), sums)
            }
            7 if y.len() == n => {
                let both = |(a, b): (&(Vec<u64>, _), &(Vec<u64>, _))| {
                    sum(&[a.clone(), b.clone(), b.clone()], 1)
                };
                (
                    format!("[{v}[k] + 2 * {w}[k] for k in {n}]"),
                    x.iter().zip(&y).map(both).collect(),
                )
            }
            // Times 0, for some.
            _ => {
                let zero = r.below(n as u64) as usize;
                let none = (vec![0; COLUMNS], BTreeSet::new());
                let all = x.iter().enumerate();
                let rest = all.map(|(k, e)| if k < zero { none.clone() } else { e.clone() });
                (format!("[{v}[k] * (k >= {zero}) for k in {n}]"), rest.collect())
            }
        };
        self.name(text, entries);
    }

    /// What is revealed of a list, and as which rows.
    fn reveal(&self, r: &mut Random) -> Written {
        let Entries(v, x) = r.pick(&self.lists);
        let (n, from) = (x.len(), r.below(x.len() as u64) as usize);
        let total = |from: usize| {
            let mut row = vec![0; COLUMNS];
            for (other, _) in &x[from..] {
                row.iter_mut().zip(other).for_each(|(a, b)| *a = (*a + b) % Q);
            }
            vec![row]
        };
        match r.below(8) {
            0 => (v, x.into_iter().map(|e| e.0).collect()),
            1..4 => (format!("sum({v})"), total(0)),
            _ => (format!("sum({v}[k] for k in {from}..{n})"), total(from)),
        }
    }
}

/// Whose data a value is made of is found wherever its entries come from.
#[test]
fn random_programs_with_functions_agree_with_dense_elimination() {
    let (first, programs) = (setting("SLVR_SEED", 0), setting("SLVR_COUNT", 300));
    let (mut telling, mut silent) = (0, 0);
    for seed in first..first + programs {
        let mut r = Random::of(seed);
        let (m, a) = (2 + r.below(4), 1 + r.below(3));
        let mut program = Functions::of(m, a);
        for _ in 0..2 + r.below(7) {
            program.step(&mut r);
        }
        let (mut body, mut rows) = (program.text.clone(), Vec::new());
        for o in 0..1 + r.below(3) {
            let (text, more) = program.reveal(&mut r);
            let _ = writeln!(body, "reveal {text} to Server as a{o};");
            rows.extend(more);
        }
        let used: Vec<String> = program.lists.iter().map(|l| format!("sum({})", l.0)).collect();
        let text = format!(
            "use std::{{concat, flat, relu, reshape, sum}};\npredicate P[m]() {{ parties Client[m]; parties Server; parties Other;\n\
             input x: secret fix[{a}] in -1..1 from each Client;\n{body}reveal {} to Other as used; }}\n",
            used.join(" + ")
        );
        let all = rank(rows.clone());
        let less = |i: u64| {
            let mut rows = rows.clone();
            let whose = program.owners.iter().enumerate().filter(|(_, o)| **o == Some(i));
            whose.for_each(|(c, _)| rows.iter_mut().for_each(|row| row[c] = 0));
            rank(rows) < all
        };
        let expected: BTreeSet<u64> = (0..program.m).filter(|&i| less(i)).collect();
        *(if expected.is_empty() { &mut silent } else { &mut telling }) += 1;
        assert_eq!(told(&text, m), Some(expected), "seed {seed}\n{text}");
    }
    assert!(
        programs < 100 || telling > programs / 10 && silent > programs / 10,
        "{telling} {silent}"
    );
}
