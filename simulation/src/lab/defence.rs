//! What a check looks at, as far as attacks are made for it.

use super::fill::Role;
use slvr_compiler::graph::{Graph, Op};

/// How a check decides who counts. Each attack that was made for one names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defence {
    /// Models are judged on validation samples.
    ValidationScores,
    /// Updates are compared with each other, as in Krum.
    PairwiseDistances,
    /// Of each coordinate a median or a trimmed mean is taken.
    CoordinateStatistics,
    /// An angle to a reference update counts.
    Cosine,
    /// The distance from a reference update is bounded.
    Ball,
    /// The length of an update is bounded.
    NormBound,
    /// Nothing is dropped, weighed or cut.
    Mean,
    /// Anything else.
    Other,
}

/// The checks that come with SLVR for which an attack has a closed form: it reads their parameters by name.
const KNOWN: &[(&str, Defence)] = &[
    ("krum.slvr", Defence::PairwiseDistances),
    ("multi_krum.slvr", Defence::PairwiseDistances),
    ("gallery/bulyan.slvr", Defence::PairwiseDistances),
    ("coordinate_median.slvr", Defence::CoordinateStatistics),
    ("coordinate_trimmed_mean.slvr", Defence::CoordinateStatistics),
    ("gallery/mean_around_median.slvr", Defence::CoordinateStatistics),
    ("cosine_similarity.slvr", Defence::Cosine),
    ("fltrust.slvr", Defence::Cosine),
    ("gallery/zeno_plus_plus.slvr", Defence::Cosine),
    ("norm_ball.slvr", Defence::Ball),
    ("gallery/centered_clipping.slvr", Defence::Ball),
    ("norm_bound.slvr", Defence::NormBound),
    ("norm_bound_public.slvr", Defence::NormBound),
    ("linf_bound.slvr", Defence::NormBound),
    ("gallery/layer_bounds.slvr", Defence::NormBound),
    ("gallery/quantile_clipping.slvr", Defence::NormBound),
];

impl Defence {
    /// What counts, as the book says it.
    pub fn text(self) -> &'static str {
        match self {
            Defence::ValidationScores => "scores on validation samples",
            Defence::PairwiseDistances => "distances of updates from each other",
            Defence::CoordinateStatistics => "the median or a trimmed mean of each coordinate",
            Defence::Cosine => "the angle to a reference update",
            Defence::Ball => "the distance from a reference update",
            Defence::NormBound => "the length of an update",
            Defence::Mean => "nothing",
            Defence::Other => "anything else; any check that does not come with slvrc",
        }
    }

    /// Of the check of this name that comes with SLVR, with its graph and the roles of its inputs. Of any other one nothing is
    /// known.
    pub fn of(name: Option<&str>, graph: &Graph, roles: &[Role]) -> Defence {
        let Some(name) = name else { return Defence::Other };
        let judges = |r: &Role| matches!(r, Role::Images | Role::PublicImages);
        let decides = |id| {
            matches!(
                graph.op(id),
                Op::Lt | Op::Gate | Op::Relu | Op::Sort | Op::SortSum { .. } | Op::Div
            )
        };
        match KNOWN.iter().find(|(known, _)| *known == name) {
            Some((_, defence)) => *defence,
            None if roles.iter().any(judges) => Defence::ValidationScores,
            None if !graph.ids().any(decides) => Defence::Mean,
            None => Defence::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::attacks::Attack;

    #[test]
    fn every_known_check_comes_with_slvr_and_has_one_attack_that_was_made_for_it() {
        for &(name, defence) in KNOWN {
            assert!(slvr_predicates::get(name).is_some(), "{name}");
            let made = Attack::ALL.iter().filter(|a| a.against == Some(defence));
            assert_eq!(made.count(), 1, "{name}");
            assert_eq!(Attack::adaptive(defence).against, Some(defence));
        }
    }
}
