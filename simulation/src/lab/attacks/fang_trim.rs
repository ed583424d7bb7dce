//! Fang et al. against trimmed means and medians: each coordinate is drawn beyond the estimated range of the honest, on the side
//! that is against the direction of training: from mu - 4 sigma .. mu - 3 sigma where s is 1, and from mu + 3 sigma .. mu + 4 sigma
//! where it is -1.
//!
//! Source: Fang, Cao, Jia, Gong, USENIX Security 2020, section 3.4, partial knowledge: mu and sigma are those of what the malicious
//! would have sent.

use super::super::knowledge::Knowledge;
use super::super::vectors::deviation;
use super::Attack;
use crate::random::Random;

pub(super) const ATTACK: Attack = Attack {
    name: "fang-trim",
    about: "three to four standard deviations of their own updates away, in every coordinate",
    source: "Fang et al. 2020",
    against: "the median or a trimmed mean of each coordinate",
    updates: Some(|k| drawn(k, &mut k.random(7))),
    ..Attack::NONE
};

pub(super) fn drawn(k: &Knowledge<'_>, random: &mut Random) -> Vec<Vec<f32>> {
    let (mu, mut sigma, s) = (k.estimate(), deviation(k.seen), k.direction());
    if k.seen.len() < 2 {
        // One update has no spread: as if the honest were spread by its own size.
        sigma = mu.iter().map(|x| x.abs()).collect();
    }
    let mut one = || {
        (0..mu.len())
            .map(|j| mu[j] - s[j] * sigma[j] * (3.0 + random.uniform() as f32))
            .collect::<Vec<f32>>()
    };
    (0..k.malicious()).map(|_| one()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scene;
    use super::*;

    #[test]
    fn the_trim_attacker_is_beyond_the_spread_of_its_own_in_every_coordinate() {
        let scene = Scene::new(4, &[]);
        let s = scene.direction();
        for u in scene.sent(&ATTACK) {
            for j in 0..u.len() {
                let of: Vec<f64> = scene.own.iter().map(|o| f64::from(o[j])).collect();
                let mean = of.iter().sum::<f64>() / 4.0;
                let sigma = (of.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
                let beyond = (f64::from(u[j]) - mean) * -f64::from(s[j]);
                assert!(beyond >= 2.99 * sigma && beyond <= 4.01 * sigma, "{beyond} of {sigma}");
            }
        }
    }
}
