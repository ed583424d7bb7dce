//! Products, entry by entry and of matrices.

use super::Sensitivity;
use super::reach::{Length, Obstacle, Reach, Rows};
use crate::graph::{NodeId, Op};

/// A matrix product, with the axes of its operands: the one that is summed over, and the one that becomes an axis of
/// the result. Axis 0 of each is the batch.
struct Matrices<'a> {
    id: NodeId,
    args: &'a [NodeId],
    inner: [usize; 2],
    outer: [usize; 2],
}

impl Sensitivity<'_> {
    pub(super) fn product(&self, id: NodeId, args: &[NodeId], of: &[&Reach]) -> Reach {
        let [a, b] = [0, 1].map(|i| self.widened(id, args[i], of[i]));
        match (a, b) {
            (of, Reach::Free) => self.scaled(id, &of, self.largest(args[1])),
            (Reach::Free, of) => self.scaled(id, &of, self.largest(args[0])),
            (Reach::Rows(a), Reach::Rows(b)) if a.set == b.set && a.axis == b.axis => {
                let mut length = Length::UNKNOWN;
                let entries = self.row_entries(id, a.axis);
                for (i, rows) in [(0, &a), (1, &b)] {
                    if rows.zero {
                        let bound = rows.length.times(self.largest(args[1 - i]));
                        length = length.least(bound, entries);
                    }
                    if let Some(clipped) = self.clipped(args[i], args[1 - i], id) {
                        // Two rows of this length, if inputs that are zeros do not make zeros.
                        let l2 = if a.zero || b.zero { clipped } else { 2.0 * clipped };
                        length = length.least(Length::euclidean(l2), entries);
                    }
                }
                self.rows(id, Rows { zero: a.zero || b.zero, length, ..a })
            }
            _ => self.refused(id, of, Obstacle::Combines),
        }
    }

    /// How long rows of a vector are that a factor cuts, in words of the product. Rows are those of a client's vector.
    fn clipped(&self, factor: NodeId, vector: NodeId, product: NodeId) -> Option<f64> {
        let Reach::Rows(rows) = self.of(vector) else { return None };
        // Whatever moves entries leaves the length of a row as it is.
        let most = self.norm(vector, rows).l2 * self.g().ulp(vector);
        let real = self.words.clipped(factor, vector, most)?;
        Some(real / self.g().ulp(product))
    }

    /// Whether a node cuts vectors of clients to a length.
    pub fn cuts(&self, id: NodeId) -> bool {
        let args = self.g().args(id);
        let rows = || args.iter().all(|&a| matches!(self.of(a), Reach::Rows(_)));
        match self.g().op(id) {
            Op::Mul | Op::MatMul { .. } if rows() => {
                [(0, 1), (1, 0)].iter().any(|&(i, j)| self.clipped(args[i], args[j], id).is_some())
            }
            Op::Div if rows() => self.words.divided(id).is_some(),
            _ => false,
        }
    }

    pub(super) fn matmul(
        &self,
        id: NodeId,
        args: &[NodeId],
        of: &[&Reach],
        trans_b: bool,
    ) -> Reach {
        let [along, across] = if trans_b { [2, 1] } else { [1, 2] };
        let m = Matrices { id, args, inner: [2, along], outer: [1, across] };
        match (of[0], of[1]) {
            (Reach::Rows(a), Reach::Rows(b)) if a.set == b.set => match [a.axis, b.axis] {
                axes if axes == m.inner => self.sum_over_clients(&m, [a, b]),
                [0, 0] => self.product_of_each(&m, [a, b]),
                _ => self.refused(id, of, Obstacle::Combines),
            },
            (Reach::Rows(rows), Reach::Free) => self.by_known(&m, 0, rows),
            (Reach::Free, Reach::Rows(rows)) => self.by_known(&m, 1, rows),
            (Reach::Whole(length), Reach::Free) => self.whole_by_known(&m, 0, length),
            (Reach::Free, Reach::Whole(length)) => self.whole_by_known(&m, 1, length),
            _ => self.refused(id, of, Obstacle::Combines),
        }
    }

    /// The product adds up what is made of each client's column of the left side and row of the right one. Only that of
    /// the client who is excluded changes: an outer product, whose norms are at most the products of theirs.
    fn sum_over_clients(&self, m: &Matrices<'_>, rows: [&Rows; 2]) -> Reach {
        let (g, entries) = (self.g(), self.g().elements(m.id) as f64);
        let [x, y] = [0, 1].map(|i| self.norm(m.args[i], rows[i]));
        let mut own = Length { l1: x.l1 * y.l1, l2: x.l2 * y.l2 };
        // Each entry of one side is multiplied by so many of the other, of the same batch.
        for (i, of) in [(0, y), (1, x)] {
            let times = g.shape(m.args[i])[m.outer[i]] * self.batches(m, 1 - i);
            let each = of.times(self.largest(m.args[i])).repeated(times as f64);
            own = own.least(each, entries);
        }
        // Two of such a length, if inputs that are zeros do not make zeros.
        let two = if rows[0].zero || rows[1].zero { 1.0 } else { 2.0 };
        let mut length = own.times(two);
        for (i, j) in [(0, 1), (1, 0)] {
            if let Some(clipped) = self.clipped(m.args[i], m.args[j], m.id) {
                length = length.least(Length::euclidean(two * clipped), entries);
            }
        }
        Reach::Whole(length)
    }

    /// A product for each client: the norm of a product of matrices is at most the product of their norms.
    fn product_of_each(&self, m: &Matrices<'_>, rows: [&Rows; 2]) -> Reach {
        let [x, y] = [0, 1].map(|i| self.norm(m.args[i], rows[i]));
        let zero = rows[0].zero || rows[1].zero;
        let two = if zero { 1.0 } else { 2.0 };
        let length = Length::euclidean(x.l2 * y.l2).times(two);
        self.rows(m.id, Rows { zero, length, ..*rows[0] })
    }

    /// Side i has rows of clients, and no client changes the other side.
    fn by_known(&self, m: &Matrices<'_>, i: usize, rows: &Rows) -> Reach {
        let known = m.args[1 - i];
        let (largest, total) = (self.largest(known), self.total(known));
        // Each entry of a row is multiplied by a row or column of the other side, once for each batch of it.
        let width = (self.g().shape(known)[m.outer[1 - i]] * self.batches(m, i)) as f64;
        let each = rows.length.times(largest).repeated(width);
        let is_summed = rows.axis == m.inner[i];
        // Products of one row are apart if the row has one entry of each sum. Otherwise a sum of them is at most the
        // row's L1 norm times the largest factor.
        let entries = if is_summed { each.l2 } else { rows.length.l1 * largest * width.sqrt() };
        let length = Length { l2: entries.min(rows.length.l2 * total), ..each };
        if is_summed {
            return Reach::Whole(length);
        }
        let axis = if rows.axis == m.outer[i] { i + 1 } else { 0 };
        self.rows(m.id, Rows { axis, length, ..*rows })
    }

    /// Side i changes as a whole, and no client changes the other side: the norm of a product of matrices is at most
    /// the product of their norms.
    fn whole_by_known(&self, m: &Matrices<'_>, i: usize, length: &Length) -> Reach {
        let l2 = length.l2 * self.total(m.args[1 - i]);
        let root = (self.g().elements(m.id) as f64).sqrt();
        Reach::Whole(Length { l1: root * l2, l2 })
    }

    /// How often side i is repeated, because the other side has several batches and it has one.
    fn batches(&self, m: &Matrices<'_>, i: usize) -> u64 {
        self.g().shape(m.id)[0] / self.g().shape(m.args[i])[0].max(1)
    }

    /// The Euclidean norm of all entries.
    fn total(&self, id: NodeId) -> f64 {
        let root = (self.g().elements(id) as f64).sqrt();
        self.words.ranges.total[id.index()].min(root * self.largest(id))
    }
}
