//! Products of many bits in one round: which ones, and in which order their parts are listed.
//!
//! Lives here: the two patterns ([`MultiAnd`]) that [`Op::MaskProducts`](super::Op::MaskProducts) and
//! [`Op::AndMany`](super::Op::AndMany) share, and their counts. May not: the evaluation, which is the
//! kernels'.
//!
//! A factor is m xor l, m opened to two parties, l a mask of which they hold shares. A product of factors
//! is a sum over all subsets S of them: the product of the l in S times the m outside of S. So from shares
//! of all products of l of at least two factors (single ones are there already) the two compute shares of
//! the product of all factors, however many, without talking.

use serde::{Deserialize, Serialize};

/// Largest number of factors of a product.
pub const MAX_FAN: u32 = 10;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MultiAnd {
    /// Of consecutive planes, this many for each result, in order.
    ///
    /// Factors: all planes of groups of at least two. A group of one passes unchanged.
    ///
    /// Products of masks: for each group all subsets of at least two of its planes, as bit sets in
    /// ascending order.
    And(#[serde(deserialize_with = "crate::bounded::planes")] Vec<u32>),
    /// A level of a carry tree. There are n nodes, lowest first; planes are the generate bits g_0 to
    /// `g_(n-1)`, then the propagate bits p_1 to `p_(n-1)`. Consecutive nodes, this many for each group, become
    /// one node: G = g_top + p_top g_(top - 1) + p_top p_(top - 1) g_(top - 2) + ..., P = the product of
    /// all p. The results are laid out alike: all G, then all P but the first.
    ///
    /// Factors: of each group of at least two the g but the top one, which is only added and so need not be
    /// opened; then of each such group the p. A group of one passes unchanged.
    ///
    /// Products of masks, for a group of s nodes numbered from 0: all subsets of at least two of the p (of
    /// node 0 only if the group is not the lowest), as bit sets in ascending order; then for k = 0 .. s - 2
    /// all nonempty subsets of the p of nodes k + 1 .. s - 1, as bit sets (bit 0 for node k + 1) in
    /// ascending order, times g_k.
    Carry(#[serde(deserialize_with = "crate::bounded::planes")] Vec<u32>),
}

impl MultiAnd {
    /// Sizes of the groups.
    pub fn sizes(&self) -> &[u32] {
        match self {
            MultiAnd::And(sizes) | MultiAnd::Carry(sizes) => sizes,
        }
    }

    /// Whether every group has 1 to [`MAX_FAN`] members and there is a group.
    pub fn is_valid(&self) -> bool {
        !self.sizes().is_empty() && self.sizes().iter().all(|s| (1..=MAX_FAN).contains(s))
    }

    /// Planes of the nodes, whose factors are opened.
    pub fn nodes(&self) -> u32 {
        let n = self.sizes().iter().fold(0u32, |n, &s| n.saturating_add(s));
        match self {
            MultiAnd::And(_) => n,
            MultiAnd::Carry(_) => n.saturating_mul(2).saturating_sub(1),
        }
    }

    /// Planes of the factors, how many of the nodes' there are of them.
    pub fn inputs(&self) -> u32 {
        let count = |(i, &s): (usize, &u32)| match self {
            _ if s < 2 => 0,
            MultiAnd::And(_) => s,
            MultiAnd::Carry(_) => s.saturating_mul(2) - 1 - u32::from(i == 0),
        };
        self.sizes().iter().enumerate().map(count).fold(0, u32::saturating_add)
    }

    /// Planes of the nodes that are factors, in their order.
    pub fn factors(&self) -> Vec<u32> {
        let n = self.sizes().iter().sum::<u32>();
        let mut first = 0;
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for &s in self.sizes() {
            let group = first..first + s;
            first += s;
            match self {
                _ if s < 2 => {}
                MultiAnd::And(_) => low.extend(group),
                MultiAnd::Carry(_) => {
                    low.extend(group.start..group.end - 1);
                    high.extend(group.filter(|&j| j > 0).map(|j| n + j - 1));
                }
            }
        }
        low.append(&mut high);
        low
    }

    /// Whether some of the nodes' planes are added to the results or pass as they are.
    pub fn is_linear_in_some(&self) -> bool {
        matches!(self, MultiAnd::Carry(_)) || self.sizes().contains(&1)
    }

    /// Planes of the results.
    pub fn outputs(&self) -> u32 {
        let n = self.sizes().len().min(1 << 20) as u32;
        match self {
            MultiAnd::And(_) => n,
            MultiAnd::Carry(_) => (2 * n).saturating_sub(1),
        }
    }

    /// Planes of the products of masks. 0 if every group is one node: then [`Op::AndMany`](super::Op::AndMany)
    /// has nothing to do.
    pub fn mask_products(&self) -> u32 {
        let subsets = |n: u32| (1u32 << n) - 1;
        let count = |(i, &s): (usize, &u32)| match self {
            MultiAnd::And(_) => subsets(s) - s,
            MultiAnd::Carry(_) => {
                let p = if i == 0 { s - 1 } else { s };
                subsets(p) - p + (1..s).map(subsets).sum::<u32>()
            }
        };
        self.sizes().iter().enumerate().map(count).fold(0, u32::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_hand() {
        // Four nodes above others: 11 products of p, and 7 + 3 + 1 with a g.
        let f = MultiAnd::Carry(vec![3, 4]);
        assert_eq!((f.nodes(), f.inputs(), f.outputs()), (13, 2 + 3 + 2 + 4, 3));
        assert_eq!(f.factors(), [0, 1, 3, 4, 5, 7, 8, 9, 10, 11, 12]);
        // The group in the middle passes.
        assert_eq!(MultiAnd::Carry(vec![2, 1, 2]).factors(), [0, 3, 5, 7, 8]);
        assert_eq!(MultiAnd::Carry(vec![2, 1, 2]).inputs(), 5);
        assert_eq!(f.mask_products(), (1 + 3 + 1) + 22);
        let f = MultiAnd::And(vec![2, 1, 3]);
        assert_eq!((f.nodes(), f.inputs(), f.outputs(), f.mask_products()), (6, 5, 3, 1 + 4));
        assert_eq!(f.factors(), [0, 1, 3, 4, 5]);
        assert!(!MultiAnd::And(vec![]).is_valid() && !MultiAnd::Carry(vec![11]).is_valid());
    }
}
