//! States: what the parties keep from round to round.

use sha2::{Digest, Sha256};
use slvr_circuit::From;
use slvr_compiler::diagnostic::Diagnostic;
use slvr_compiler::pipeline;
use slvr_compiler::types::eval::{EvalInputs, Tensor, Trace, trace};
use slvr_runtime::party::RunError;
use slvr_runtime::party::session::{self, Options, Report};
use slvr_runtime::share::encode::{Inputs, RawData};
use slvr_runtime::share::state::{Kept, StateError};
use slvr_tests::{Case, attempt, committees, compile, random_inputs};
use std::collections::BTreeMap;

/// A mean that goes on from round to round, how often each client was far from it, and whether it ever was.
const MOMENTUM: &str = "
use std::{norm, sum};

predicate Momentum[m = 4, d = 3](far: fix = 12) {
    parties Client[m];
    parties Server;

    input update: secret fix[d] in -8..8 from each Client;

    state velocity: secret fix[d] in -4..4 = 0.5;
    state strikes:  secret int[m] in 0..3 = 0;
    state ever:     secret bit[m] = 0;

    let mean   = sum(update[i] for i in Client) / m;
    let next   = 0.5 * velocity + mean;
    let strike = [norm(update[i]) > far for i in Client];

    store next as velocity;
    store [strikes[i] + strike[i] for i in Client] as strikes;
    store [ever[i] || strike[i] for i in Client] as ever;

    reveal next to Server as step;
    reveal sum(strikes[i] for i in Client) to Server as strikes;
    reveal sum(ever[i] for i in Client) to Server as ever;
}
";

fn reals(data: &RawData) -> Vec<f64> {
    data.to_f64()
}

/// A round in floating point.
fn floating(
    case: &Case,
    inputs: &Inputs,
    coins: &[u128],
    states: BTreeMap<String, Tensor>,
) -> Trace {
    let member = |m: &BTreeMap<String, slvr_runtime::share::encode::RawTensor>| {
        let one = |t: &slvr_runtime::share::encode::RawTensor| Tensor {
            shape: t.shape.clone(),
            data: reals(&t.data),
        };
        m.iter().map(|(n, t)| (n.clone(), one(t))).collect()
    };
    let given = EvalInputs {
        public: member(&inputs.public),
        sets: inputs.sets.iter().map(|s| s.iter().map(member).collect()).collect(),
        states,
        ..EvalInputs::default()
    };
    trace(&case.program, &given, &committees(coins)).expect("a value")
}

fn run(
    case: &Case,
    inputs: &Inputs,
    seed: u64,
    state: Option<&[Kept; 3]>,
) -> Result<Report, RunError> {
    let options = Options { seed: Some(seed), state, ..Options::default() };
    session::run_local(case.circuit(), inputs, &options)
}

fn kept(report: Report) -> [Kept; 3] {
    report.kept.expect("a circuit with states")
}

#[test]
fn five_rounds_of_three_parties_are_those_of_the_program() {
    let case = compile(MOMENTUM, &[]);
    let (mut state, mut plain) = (None, BTreeMap::new());
    for round in 0..5 {
        let inputs = random_inputs(case.circuit(), 77 + round, 1.0);
        let report = run(&case, &inputs, round, state.as_ref()).expect("a run");
        let wanted = floating(&case, &inputs, &report.coins, std::mem::take(&mut plain));
        assert_eq!(wanted.reveals.len(), report.outputs.len());
        for ((name, wanted), found) in wanted.reveals.iter().zip(&report.outputs) {
            let pairs = wanted.data.iter().zip(&found.values);
            let off = pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(off < 1e-3, "round {round}: {name} is {:?}, not {wanted:?}", found.values);
        }
        plain = wanted.states.into_iter().collect();
        // The range is kept: the mean of numbers up to 8 in size may be beyond.
        assert!(plain["velocity"].data.iter().all(|x| x.abs() <= 4.0));
        assert!(plain["strikes"].data.iter().all(|x| (0.0..=2.0).contains(x)));
        let next = kept(report);
        assert!(next.iter().all(|k| k.rounds() == round + 1));
        state = Some(next);
    }
}

#[test]
fn a_state_is_saturated_where_it_is_stored() {
    let case = compile(MOMENTUM, &[]);
    let mut inputs = random_inputs(case.circuit(), 1, 1.0);
    for member in &mut inputs.sets[0] {
        let update = member.get_mut("update").expect("it gives one");
        update.data = RawData::F64(vec![8.0, -8.0, 8.0]);
    }
    let first = run(&case, &inputs, 1, None).expect("a run");
    assert_eq!(first.outputs[0].values, [8.25, -7.75, 8.25]);
    let state = kept(first);
    let second = run(&case, &inputs, 2, Some(&state)).expect("a run");
    // Half of 4, and not of 8.25.
    assert_eq!(second.outputs[0].values, [10.0, -10.0, 10.0]);
    // Of one round before.
    assert_eq!((second.outputs[1].values[0], second.outputs[2].values[0]), (4.0, 4.0));
    let third = run(&case, &inputs, 3, Some(&kept(second))).expect("a run");
    let fourth = run(&case, &inputs, 4, Some(&kept(third))).expect("a run");
    assert_eq!(fourth.outputs[1].values[0], 8.0, "integers are kept below 3");
}

#[test]
fn a_replay_a_gap_and_the_state_of_others_are_refused() {
    let case = compile(MOMENTUM, &[]);
    let inputs = random_inputs(case.circuit(), 5, 0.5);
    let first = kept(run(&case, &inputs, 1, None).expect("a run"));
    let second = kept(run(&case, &inputs, 2, Some(&first)).expect("a run"));
    for (me, own) in second.iter().enumerate() {
        let start = Kept::start(case.circuit(), me);
        assert_eq!(start.check_round(1), Ok(()));
        assert_eq!(start.check_round(3), Err(StateError::Gap { round: 3, rounds: 0 }));
        assert_eq!(own.check_round(3), Ok(()));
        assert_eq!(own.check_round(2), Err(StateError::Replay { round: 2, rounds: 2 }));
        assert_eq!(own.check_round(0), Err(StateError::Replay { round: 0, rounds: 2 }));
        assert_eq!(own.check_round(4), Err(StateError::Gap { round: 4, rounds: 2 }));
        let bytes = own.to_bytes();
        assert_eq!(Kept::from_bytes(case.circuit(), me, &bytes).as_ref(), Ok(own));
        let other = (me + 1) % 3;
        let taken = Kept::from_bytes(case.circuit(), other, &bytes);
        assert_eq!(taken, Err(StateError::Party { found: me, wanted: other }));
        let sizes = compile(MOMENTUM, &[("m", "5")]);
        assert_eq!(Kept::from_bytes(sizes.circuit(), me, &bytes), Err(StateError::Circuit));
        for at in [0, 9, 41, 60, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            let found = Kept::from_bytes(case.circuit(), me, &damaged);
            assert_eq!(found, Err(StateError::Damaged), "byte {at}");
            assert_eq!(
                Kept::from_bytes(case.circuit(), me, &bytes[..at]),
                Err(StateError::Damaged)
            );
        }
    }
    // One party has the file of an earlier round, of another history, or another's.
    let other = kept(run(&case, &inputs, 9, Some(&first)).expect("a run"));
    let [a, b, c] = second.clone();
    let mixed = |third: Kept| run(&case, &inputs, 3, Some(&[a.clone(), b.clone(), third]));
    for third in [first[2].clone(), other[2].clone()] {
        let error = mixed(third).expect_err("histories differ").to_string();
        assert!(error.contains("the state of another round, or of another history"), "{error}");
    }
    let error = run(&case, &inputs, 3, Some(&[b, a, c])).expect_err("shares of others");
    assert!(matches!(error, RunError::State(StateError::Party { .. })), "{error}");
}

#[test]
fn shares_that_do_not_belong_together_are_found() {
    let case = compile(MOMENTUM, &[]);
    let inputs = random_inputs(case.circuit(), 5, 0.5);
    let state = kept(run(&case, &inputs, 1, None).expect("a run"));
    // Somebody changes a share of party 1, and the seal with it.
    let mut bytes = state[1].to_bytes();
    let end = bytes.len() - 32;
    bytes[70] ^= 1;
    let seal = Sha256::digest(&bytes[..end]);
    bytes[end..].copy_from_slice(&seal);
    let changed = Kept::from_bytes(case.circuit(), 1, &bytes).expect("sealed");
    let [a, _, c] = state;
    let error = run(&case, &inputs, 2, Some(&[a, changed, c])).expect_err("a changed share");
    assert!(error.to_string().contains("another share of the state"), "{error}");
}

/// A predicate with these statements.
fn text(stmts: &str) -> String {
    format!(
        "use std::{{sum}};
        predicate P[m = 4, d = 6]() {{
            parties Client[m];
            parties Server;
            input x: secret fix[d] in -8..8 from each Client;
            {stmts}
            reveal sum(x[i] for i in Client) to Server as x;
        }}"
    )
}

/// The messages of a predicate with these statements.
fn refused(stmts: &str) -> Vec<Diagnostic> {
    match attempt(&text(stmts), &[], pipeline::Options::default()) {
        Ok(_) => panic!("not refused: {stmts}"),
        Err(why) => why.said,
    }
}

/// What a hint says to write is a state that compiles.
#[test]
fn hints_of_states_are_followed() {
    let hint = |stmts: &str| refused(stmts).remove(0).hints.remove(0).text;
    let bit = "a bit is 0 or 1: `state s: secret bit = 0;`";
    assert_eq!(hint("state s: secret bit = 2; store s as s;"), bit);
    assert_eq!(hint("state s: secret bit = 0.5; store s as s;"), bit);
    assert_eq!(hint("state s: secret bit[d] in 0..1 = 0; store s as s;"), "leave out `in`");
    assert_eq!(
        hint("state s: secret int in 0..3 = 0.5; store s as s;"),
        "it is a whole number from 0 to 2"
    );
    assert_eq!(hint("state s: secret fix in 1..3 = 0; store s as s;"), "it is from 1 to 3");
    let text =
        text("state s: secret bit = 0; state t: secret bit[d] = 0; store s as s; store t as t;");
    slvr_tests::compile(&text, &[]);
}

#[test]
fn a_state_is_secret_ranged_and_stored_once() {
    // One message: a state whose `store` is refused is stored, and needs no other.
    let one = |stmts: &str| {
        let mut all = refused(stmts);
        assert_eq!(all.len(), 1, "{stmts}: {all:?}");
        all.remove(0).title
    };
    assert_eq!(one("state s: secret fix[d] in -8..8 = 0;"), "state `s` is never stored");
    assert_eq!(one("state s: public fix in -8..8 = 0; store s as s;"), "state `s` is secret");
    assert_eq!(one("state s: secret fix = 0; store s as s;"), "state `s` has no range");
    assert_eq!(
        one("state s: secret fix in -1..1 = 2; store s as s;"),
        "`s` begins outside of its range"
    );
    assert_eq!(
        one("state s: secret int in 0..3 = 3; store s as s;"),
        "`s` begins outside of its range"
    );
    assert_eq!(
        one("state s: secret fix in -1..1 = 0; store s as s; store s as s;"),
        "`s` is stored twice"
    );
    assert_eq!(one("state s: secret fix[d] in -1..1 = 0; store 0.5 as s;"), "`s` is fix[6]");
    assert_eq!(one("state s: secret int in 0..3 = 0; store 0.5 as s;"), "`s` is int");
    assert_eq!(one("let y = 1 + x[0][0]; store 1 as y;"), "`x` is indexed by Client");
    assert_eq!(one("let y = [x[i][0] for i in Client]; store 1 as y;"), "`y` is no state");
}

#[test]
fn what_a_later_round_reveals_of_a_state_counts() {
    let leaks = |stmts: &str| {
        let text = format!(
            "use std::{{sum}};
            predicate P[m = 4, d = 2]() {{
                parties Client[m];
                parties Server;
                input x: secret fix[d] in -8..8 from each Client;
                {stmts}
            }}"
        );
        let case = compile(&text, &[]);
        let report = slvr_compiler::report::leaks::leaks(
            &case.program,
            &case.compiled.graph,
            case.circuit(),
        );
        let of = report
            .warnings
            .iter()
            .filter(|w| w.level == slvr_compiler::report::leaks::Level::Warning);
        of.map(|w| w.reveals.join(", ")).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    let sum = "reveal sum(x[i] for i in Client) to Server as total;";
    assert_eq!(leaks(sum), none);
    // The first client's input of the round before.
    let history = "state s: secret fix[m, d] in -8..8 = 0; store [x[i] for i in Client] as s;";
    assert_eq!(
        leaks(&format!("{history} reveal s[0] to Server as old;")),
        ["old of the next round"]
    );
    assert_eq!(leaks(&format!("{history} reveal sum(s[i] for i in m) to Server as old;")), none);
    // Both rounds together: all of the round before, and all but one.
    let both = leaks(&format!("{history} {sum} reveal sum(s[i] for i in 1..m) to Server as old;"));
    assert_eq!(both.len(), 1, "{both:?}");
    // A sum that goes on.
    let on = "state s: secret fix[d] in -800..800 = 0; let t = s + sum(x[i] for i in Client); store t as s;";
    assert_eq!(leaks(&format!("{on} reveal t to Server as t;")), none);
}

#[test]
fn states_of_weights_are_shaped_as_the_model() {
    let case = compile(
        "use std::{sum};
        model Tiny(x: fix[2]) -> fix[1] { fc: linear[2, 1]; x |> fc }
        predicate P[m = 3]() {
            parties Client[m];
            parties Server;
            input update: secret weights Tiny in -1..1 from each Client;
            state velocity: secret weights Tiny in -4..4 = 0;
            let next = 0.9 * velocity + sum(update[i] for i in Client) / m;
            store next as velocity;
            reveal next to Server as step;
        }",
        &[],
    );
    let states: Vec<_> = case.circuit().states().map(|(_, i)| (i.shape.clone(), i.from)).collect();
    assert_eq!(states, [(vec![3], From::State(0))]);
}
