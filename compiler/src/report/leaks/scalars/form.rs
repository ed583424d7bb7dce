//! How a number depends on unknowns.

/// Whose data an unknown is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Owner {
    /// Nobody's: it is public, or the receiver's own.
    Nobody,
    /// That of one member of a party set.
    One(u32, u64),
    /// That of several members.
    Several,
}

impl Owner {
    pub(super) fn and(self, other: Owner) -> Owner {
        match (self, other) {
            (Owner::Nobody, x) | (x, Owner::Nobody) => x,
            (a, b) if a == b => a,
            _ => Owner::Several,
        }
    }
}

/// An unknown.
#[derive(Clone, Debug)]
pub(in super::super) struct Column {
    pub(in super::super) owner: Owner,
    /// The interval that it is in.
    pub(in super::super) range: (f64, f64),
    /// It is a whole number.
    pub(in super::super) whole: bool,
    /// What it is a whole multiple of.
    pub(in super::super) unit: f64,
    /// It is an entry of an input, of this index, and not computed.
    pub(in super::super) input: Option<u32>,
}

/// A constant and terms: unknowns, ascending, with their factors.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Form {
    pub(in super::super) value: f64,
    pub(in super::super) terms: Vec<(u32, f64)>,
}

/// The terms of a form up to a factor: those of a bit and of its complement are equal.
pub(in super::super) type Key = Vec<(u32, i64)>;

/// The key of terms.
pub(in super::super) fn key(terms: &[(u32, f64)]) -> Key {
    let first = terms.first().map_or(1.0, |t| t.1);
    terms.iter().map(|&(c, x)| (c, (x / first * 1e9).round() as i64)).collect()
}

impl Form {
    pub(super) fn constant(value: f64) -> Form {
        Form { value, terms: Vec::new() }
    }

    pub(super) fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }

    pub(super) fn scaled(&self, by: f64) -> Form {
        let mut out = Form { value: self.value * by, terms: self.terms.clone() };
        out.terms.iter_mut().for_each(|t| t.1 *= by);
        out.terms.retain(|t| t.1 != 0.0);
        out
    }

    /// The sum of the forms, each times its factor.
    pub(super) fn combined<'a>(of: impl Iterator<Item = (&'a Form, f64)>) -> Form {
        let (mut value, mut each) = (0.0, Vec::new());
        for (form, by) in of {
            value += form.value * by;
            each.extend(form.terms.iter().map(|&(column, x)| (column, x * by)));
        }
        // Stable, so that sums are taken in the order of the forms.
        each.sort_by_key(|t| t.0);
        let mut terms: Vec<(u32, f64)> = Vec::with_capacity(each.len());
        for same in each.chunk_by(|a, b| a.0 == b.0) {
            let sum: f64 = same.iter().map(|t| t.1).sum();
            let largest = same.iter().fold(0.0f64, |m, t| m.max(t.1.abs()));
            // What only rounding leaves is nothing.
            if sum.abs() > 1e-12 * largest {
                terms.push((same[0].0, sum));
            }
        }
        Form { value, terms }
    }
}
