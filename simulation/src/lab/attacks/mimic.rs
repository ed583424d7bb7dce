//! Mimic: all malicious send what one honest client sends, so that its data count for more than they should.
//!
//! Source: Karimireddy, He, Jaggi, "Byzantine-Robust Learning on Heterogeneous Datasets via Bucketing", ICLR 2022, appendix
//! B: z is the direction in which honest updates differ most, and the client with the largest |<z, u>| is copied. The
//! source learns z over rounds and then keeps the client; here both are found anew in each round.

use super::super::knowledge::Knowledge;
use super::super::vectors::{dot, mean, norm, plus, times};
use super::{Attack, Insight};

pub(super) const ATTACK: Attack = Attack {
    name: "mimic",
    about: "they copy the honest client that differs most",
    source: "Karimireddy et al. 2022",
    insight: Insight::Updates,
    updates: Some(updates),
    ..Attack::NONE
};

/// Steps of power iteration.
const STEPS: usize = 30;

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let centre = mean(k.honest);
    let off: Vec<Vec<f32>> = k.honest.iter().map(|u| plus(u, -1.0, &centre)).collect();
    // The longest difference is not orthogonal to the direction, but by chance.
    let longest = off.iter().max_by(|a, b| norm(a).total_cmp(&norm(b)));
    let Some(mut z) = longest.cloned() else { return k.own.to_vec() };
    for _ in 0..STEPS {
        let nothing = vec![0.0; z.len()];
        let next = off.iter().fold(nothing, |sum, x| plus(&sum, dot(x, &z), x));
        z = times(&next, 1.0 / norm(&next).max(f64::MIN_POSITIVE));
    }
    let along = |u: &&&[f32]| dot(u, &z).abs();
    let chosen = k.honest.iter().max_by(|a, b| along(a).total_cmp(&along(b)));
    k.all(chosen.map_or(centre, |u| u.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;

    #[test]
    fn the_client_that_stands_out_is_copied() {
        let mut scene = Scene::new(2, &[]);
        scene.honest[3].iter_mut().for_each(|x| *x *= 9.0);
        assert_eq!(scene.sent(&ATTACK), [scene.honest[3].clone(), scene.honest[3].clone()]);
    }
}
