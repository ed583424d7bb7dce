use super::*;

/// An open round of five clients.
pub(crate) fn round(n: u64) -> Round {
    let key = RoundKey { task: "t".into(), round: n };
    let h = Hex([0; 32]);
    let spec = Spec {
        key,
        circuit: h,
        clients: 5,
        minimum: 3,
        public: h,
        deadline: 0,
        grace: 0,
        after: None,
        context: None,
        roll: h,
        signed: Signature { coordinator: h, signature: Hex([0; 64]) },
    };
    Round::new(spec, 0)
}

pub(crate) fn agreement(n: usize) -> Agreement {
    let entry = |i: usize| Entry { client: i.to_string(), ..Entry::default() };
    let accepted = (0..n).map(entry).collect();
    Agreement { accepted, clients: n as u64, ..Agreement::default() }
}

fn outcome(attempt: u32) -> Outcome {
    Outcome { attempt, ..Outcome::default() }
}

fn verdict(attempt: u32, gone: &[usize]) -> Verdict {
    let one = |c: &usize| Excluded { client: c.to_string(), why: "out of range".into() };
    Verdict { attempt, gone: gone.iter().map(one).collect() }
}

/// What follows from a verdict: the circuit is the leader's business here.
fn following(before: &Agreement, gone: &[Excluded]) -> Agreement {
    let (accepted, excluded) = before.without(gone);
    let clients = accepted.len() as u64;
    Agreement { accepted, excluded, clients, ..before.clone() }
}

/// Every sequence of random steps keeps what a round promises.
#[test]
fn random_steps_release_one_attempt_of_enough_clients_or_none() {
    for seed in 0..2000u64 {
        let mut draw = crate::draws::draws(seed);
        let mut r = round(1);
        let mut released: Option<(u32, Agreement)> = None;
        let mut left_out = 0;
        for _ in 0..40 {
            let attempt = draw(6) as u32;
            let step = match draw(13) {
                0 => Step::Close,
                1 => Step::Agree(agreement(draw(6) as usize)),
                11 => Step::Reject(verdict(attempt, &[draw(5) as usize, draw(5) as usize])),
                12 => match (&r.agreement, &r.verdict) {
                    (Some(before), Some(v)) => {
                        // The leader may leave out others, too, or fewer.
                        let other = verdict(attempt, &[draw(5) as usize]).gone;
                        let gone = if draw(3) == 0 { &other } else { &v.gone };
                        Step::Agree(following(before, gone))
                    }
                    _ => Step::Close,
                },
                2 | 3 => Step::Start(attempt),
                4 => Step::Fail(Failure::new(attempt, "w")),
                5 | 6 => Step::Compute(outcome(attempt)),
                7 => Step::Release(attempt),
                8 => Step::Permit,
                9 => Step::Retry(attempt),
                _ if draw(4) == 0 => Step::Abort("w".into()),
                _ => Step::Done,
            };
            let before = r.clone();
            let done = r.step(step.clone(), 1);
            if r.retries.len() > before.retries.len() {
                let told = before.may_retry && before.phase == Phase::Aborted;
                assert!(told && !r.may_retry, "seed {seed}: nobody has told this node");
            }
            assert!(r.attempt >= before.attempt, "seed {seed}: a name is used again");
            if !matches!(done, Ok(true)) {
                assert_eq!(r, before, "seed {seed}: {step:?} changed something");
            }
            // Who was accepted leaves by a verdict of this node alone.
            let count = |r: &Round| r.agreement.as_ref().map_or(0, |a| a.accepted.len());
            if r.retries.len() > before.retries.len() {
                left_out = 0;
            } else if count(&r) < count(&before) {
                let gone = before.verdict.as_ref().expect("a verdict").gone.clone();
                let agreed = before.agreement.as_ref().expect("an agreement");
                let left = r.agreement.as_ref().expect("an agreement");
                let found = (left.accepted.clone(), left.excluded.clone());
                assert_eq!(found, agreed.without(&gone), "seed {seed}");
                left_out += 1;
            }
            assert_eq!(r.repeats, left_out, "seed {seed}");
            if let Some((attempt, agreed)) = &released {
                let (now, phase) = (r.agreement.as_ref(), r.phase);
                assert!(
                    matches!(phase, Phase::Releasing | Phase::Released),
                    "seed {seed}: {phase}"
                );
                assert_eq!((r.attempt, now), (*attempt, Some(agreed)), "seed {seed}");
            }
            if matches!(r.phase, Phase::Releasing | Phase::Released) {
                let agreed = r.agreement.clone().expect("something was agreed");
                let outcome = r.outcome.clone().expect("something was computed");
                assert_eq!(outcome.attempt, r.attempt, "seed {seed}");
                assert!(agreed.accepted.len() >= 3, "seed {seed}: below the minimum");
                released.get_or_insert((r.attempt, agreed));
            }
        }
    }
}

/// A node that was away when the round was aborted is shown the order by the others, also after they were told that the round is run
/// again. Once it is, the order is forgotten.
#[test]
fn an_order_to_abort_is_kept_until_the_round_is_run_again() {
    let mut r = round(1);
    let signed = r.spec.signed;
    let by = |n| Mandate { signed, permits: [n; 3] };
    let abort = |n| Step::Ordered { order: Order::Abort, by: by(n), me: 0, computed: false };
    for (step, ending) in [
        (Step::Close, None),
        (abort(0), Some(by(0))),
        (Step::Permit, Some(by(0))),
        (abort(1), Some(by(0))),
        (Step::Permit, Some(by(0))),
        (Step::Retry(0), None),
        (Step::Abort("a part is damaged".into()), None),
        (Step::Permit, None),
        // Taken back: it is not run again.
        (abort(3), Some(by(3))),
    ] {
        // One that was verified before the last permission, and comes after it, takes back nothing.
        if let Some(before) = r.permits.checked_sub(1) {
            let stood = r.clone();
            assert!(r.step(abort(before), 1).is_err(), "{step:?}");
            assert_eq!(r, stood);
        }
        assert_eq!(r.step(step.clone(), 1), Ok(true), "{step:?}");
        assert_eq!(r.ending, ending, "{step:?}");
    }
}

#[test]
fn a_crash_in_an_attempt_leads_to_another_one() {
    let mut r = round(1);
    let steps = [Step::Close, Step::Agree(agreement(4)), Step::Start(1)];
    steps.into_iter().for_each(|s| assert_eq!(r.step(s, 1), Ok(true)));
    assert_eq!(r.step(Step::Start(1), 1), Ok(false));
    assert_eq!(r.step(Step::Fail(Failure::new(1, "crash")), 1), Ok(true));
    assert!(r.step(Step::Start(1), 1).is_err(), "an attempt is made once");
    assert_eq!(r.step(Step::Start(2), 1), Ok(true));
    assert!(r.step(Step::Compute(outcome(1)), 1).is_err());
    assert_eq!(r.step(Step::Compute(outcome(2)), 1), Ok(true));
    assert!(r.step(Step::Done, 1).is_err(), "the others may not have it");
}

#[test]
fn a_round_goes_on_without_those_of_the_verdict_and_with_all_others() {
    let mut r = round(1);
    let first = agreement(5);
    for step in [Step::Close, Step::Agree(first.clone()), Step::Start(1)] {
        assert_eq!(r.step(step, 1), Ok(true));
    }
    assert_eq!(r.step(Step::Reject(verdict(1, &[3])), 1), Ok(true));
    for gone in [&[][..], &[1], &[3, 4]] {
        let other = following(&first, &verdict(1, gone).gone);
        let refused = r.step(Step::Agree(other.clone()), 1);
        assert!(other == first || refused.is_err(), "without {gone:?}");
    }
    let next = following(&first, &verdict(1, &[3]).gone);
    assert_eq!(r.step(Step::Agree(next.clone()), 1), Ok(true));
    assert_eq!(r.step(Step::Agree(next.clone()), 1), Ok(false));
    assert_eq!((r.phase, r.tries(1)), (Phase::Agreed, 0));
    assert_eq!(next.accepted.len(), 4);
    assert_eq!(r.step(Step::Start(2), 1), Ok(true));
    // A verdict that another node has not is a failed attempt, and all are there again.
    assert_eq!(r.step(Step::Reject(verdict(2, &[0])), 1), Ok(true));
    let lost = Failure::new(2, "node 1 was restarted");
    assert_eq!(r.step(Step::Fail(lost), 1), Ok(true));
    assert_eq!((r.agreement.as_ref(), r.tries(2)), (Some(&next), 1));
    assert_eq!(r.step(Step::Start(3), 1), Ok(true));
    // Nor may too few be left.
    assert_eq!(r.step(Step::Reject(verdict(3, &[0, 1])), 1), Ok(true));
    let few = following(&next, &verdict(3, &[0, 1]).gone);
    let refused = r.step(Step::Agree(few), 1);
    assert_eq!(refused, Err(StepError::Minimum { found: 2, minimum: 3 }));
}
