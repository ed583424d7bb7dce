//! What the lab takes the reveals of a predicate for, and which scores can be set.

use super::fast::Fast;
use super::fill::{self, Role};
use super::reading::{How, Reading, SIGN_STEP};
use super::tests::{graph, shape};
use crate::idx;
use std::collections::BTreeMap;

/// A predicate of the clients' updates with these statements, and what the lab takes its reveals for.
fn reading(body: &str) -> Reading {
    let text = format!(
        "use std::{{lower_median, norm, sign, sum}};
        predicate P[M: model, m]() {{
            parties Client[m];
            parties Server;
            input update: secret weights M in -8..8 from each Client;
            input count:  secret int in 0..100 from each Client;
            {body}
        }}"
    );
    let graph = graph(&text);
    let roles = fill::roles(&graph, &shape(), &BTreeMap::new()).expect("roles");
    let fast = Fast::new(graph, Some(0)).expect("a tape");
    let sample = idx::digits().expect("digits").select(&(0..5).collect::<Vec<_>>());
    Reading::of(&fast, &roles, &shape(), &sample).expect("a reading")
}

#[test]
fn a_mean_is_not_divided_by_a_number_that_says_something_else() {
    let mean = "reveal sum(update) / m to Server as aggregate;";
    for number in [
        "sum(norm(update[i]) > 0.1 for i in Client)",
        "lower_median([norm(update[i]) for i in Client])",
        "sum(count[i] for i in Client)",
        "sum(sum(update[i]) for i in Client)",
        "sum(update[i].conv1.weight[0, 0, 0, 0] for i in Client)",
    ] {
        for body in [
            format!("{mean} reveal {number} to Server as total;"),
            format!("reveal {number} to Server as total; {mean}"),
        ] {
            assert_eq!(reading(&body).how, How::Plain, "{body}");
        }
    }
}

#[test]
fn a_sum_is_divided_by_its_weight_whatever_both_are_called() {
    let weighted = "reveal sum(count[i] * update[i] for i in Client) to Server as x;";
    let n = "reveal sum(count[i] for i in Client) to Server as n;";
    let long = "reveal sum(norm(update[i]) > 0.1 for i in Client) to Server as long_ones;";
    let expected = Reading { aggregate: "x".into(), how: How::Divided("n".into()) };
    for body in [
        format!("{weighted}{n}"),
        format!("{n}{weighted}"),
        format!("{long}{weighted}{n}"),
        format!("{weighted}{long}{n}"),
    ] {
        assert_eq!(reading(&body), expected, "{body}");
    }
    let kept = "let keep = [norm(update[i]) < 100 for i in Client];
        reveal sum(keep[i] * update[i] for i in Client) to Server as x;
        reveal sum(keep) to Server as n;";
    assert_eq!(reading(kept), expected);
    let outputs = [("x".to_string(), vec![8.0, 2.0]), ("n".to_string(), vec![4.0])];
    assert_eq!(expected.change(&outputs, 2), Some(vec![2.0, 0.5]));
    let nobody = [("x".to_string(), vec![0.0, 0.0]), ("n".to_string(), vec![0.0])];
    assert_eq!(expected.change(&nobody, 2), Some(vec![0.0, 0.0]), "nobody counts");
    assert_eq!(expected.change(&outputs[1..], 2), None);
}

#[test]
fn signs_are_known_by_what_they_are_and_not_by_their_name() {
    let signs = reading("reveal sign(sum(sign(update))) to Server as moves;");
    assert_eq!(signs.how, How::Signs);
    let outputs = [("moves".to_string(), vec![1.0, -1.0])];
    assert_eq!(signs.change(&outputs, 2), Some(vec![SIGN_STEP as f32, -SIGN_STEP as f32]));
    let votes = [("s".to_string(), vec![7.0, -3.0]), ("n".to_string(), vec![0.0])];
    let votes: Vec<_> = votes.into_iter().map(|(_, v)| (signs.aggregate.clone(), v)).collect();
    assert_eq!(signs.change(&votes, 2), Some(vec![SIGN_STEP as f32, -SIGN_STEP as f32]));
    let mean = reading("reveal sum(update) / m to Server as direction;");
    assert_eq!(mean.how, How::Plain);
}

#[test]
fn a_caller_may_say_what_the_aggregate_is() {
    let text = "use std::{sum};
        predicate P[M: model, m]() {
            parties Client[m];
            parties Server;
            input update: secret weights M in -8..8 from each Client;
            reveal sum(update) / m to Server as a;
            reveal sum(update) to Server as b;
            reveal sum(sum(update[i]) > 0 for i in Client) to Server as n;
        }";
    let graph = graph(text);
    let said = |text: &str| Reading::said(&graph, &shape(), text);
    let plain = Reading { aggregate: "b".into(), how: How::Plain };
    assert_eq!(said("b"), Ok(plain));
    assert_eq!(said("a/n").map(|r| r.to_string()).as_deref(), Ok("`a` divided by `n`"));
    for (wrong, what) in
        [("c", "no reveal `c`"), ("n", "has not 3658 entries"), ("a/b", "number `b`")]
    {
        let error = said(wrong).expect_err(wrong).to_string();
        assert!(error.contains(what) && error.contains("`a`, `b`, `n`"), "{error}");
    }
}

#[test]
fn scores_of_judges_that_are_no_clients_are_nobodys_to_set() {
    let of = |set: &str| {
        let text = format!(
            "use std::{{argmax, sum, top_k, trimmed_mean}};
            predicate P[M: model, m]() {{
                parties Client[m];
                parties Judge[m];
                parties Server;
                input update: secret weights M in -8..8 from each Client;
                input image: secret fix[2, ..M.shape] in 0..1 from each {set};
                input label: secret int[2] in 0..M.classes from each {set};
                sample picks[3] of {set} for each Client;
                let gain = [[sum(argmax(M(update[i], image[j][s])) == label[j][s] for s in 2)
                             for j in picks[i]] for i in Client];
                let keep = top_k[2]([trimmed_mean[1, 1](gain[i]) for i in Client]);
                reveal sum(keep[i] * update[i] for i in Client) / 2 to Server as aggregate;
            }}"
        );
        let graph = graph(&text);
        let clients = fill::clients(&graph, &shape());
        Fast::new(graph, clients).expect("a tape").has_scores()
    };
    assert!(of("Client"));
    assert!(!of("Judge"));
}

#[test]
fn an_input_may_be_told_to_be_a_number_and_a_name_that_no_input_has_is_refused() {
    let text = "use std::{norm, sum};
        predicate P[M: model, m]() {
            parties Client[m];
            parties Server;
            input limit: public fix in 0..4;
            input update: secret weights M in -8..8 from each Client;
            reveal sum((norm(update[i]) < limit) * update[i] for i in Client) / m to Server as a;
        }";
    let graph = graph(text);
    let roles = |role: &str| {
        let role = Role::named(role).expect("a role");
        fill::roles(&graph, &shape(), &[("limit".to_string(), role)].into())
    };
    assert_eq!(roles("1.5").expect("a number")[0], Role::Constant(1.5));
    let beyond = roles("5").expect_err("beyond its range").to_string();
    assert!(beyond.contains("not in its range"), "{beyond}");
    let typo = [("limt".to_string(), Role::Zeros)].into();
    let names = graph.inputs.iter().map(|i| i.name.as_str());
    let error = fill::known_names(names, &typo).expect_err("a typo").to_string();
    assert!(error.contains("`limt`") && error.contains("`limit`"), "{error}");
}
