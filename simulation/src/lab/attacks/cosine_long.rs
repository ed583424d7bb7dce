//! The angle of [`super::cosine`], as long as the declared range of a coordinate allows: a check of angles alone bounds no length.
//! FLTrust gives every update the length of the reference, so there it is the same attack.

use super::super::knowledge::{INSIDE, Knowledge};
use super::super::vectors::times;
use super::cosine::unit;
use super::{Attack, Insight};

pub(super) const ATTACK: Attack = Attack {
    name: "cosine-long",
    about: "the same, as long as the declared range of a coordinate allows",
    source: "",
    insight: Insight::Parameters,
    against: "the angle to a reference update",
    updates: Some(updates),
    ..Attack::NONE
};

fn updates(k: &Knowledge<'_>) -> Vec<Vec<f32>> {
    let Some(u) = unit(k) else { return k.own.to_vec() };
    let largest = u.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
    let end = k.range.1.min(-k.range.0);
    k.all(times(&u, INSIDE * f64::from(end) / f64::from(largest.max(f32::MIN_POSITIVE))))
}

#[cfg(test)]
mod tests {
    use super::super::cosine;
    use super::super::testing::Scene;
    use super::*;
    use crate::lab::vectors::{dot, norm};

    #[test]
    fn it_has_the_same_angle_and_ends_at_the_range() {
        let scene = Scene::new(2, &[("tau", 0.3)]);
        let g = scene.reference.clone().expect("a reference");
        let cosine = |u: &[f32]| dot(u, &g) / (norm(u) * norm(&g));
        let (u, long) = (&scene.sent(&cosine::ATTACK)[0], &scene.sent(&ATTACK)[0]);
        let most = long.iter().map(|x| x.abs()).fold(0.0, f32::max);
        assert!((cosine(long) - cosine(u)).abs() < 1e-4 && most > 7.9 && most < 8.0, "{most}");
    }
}
