//! What a system of linear forms says of single clients.

use super::residue::Residue;
use std::collections::{BTreeMap, HashSet};

/// A member of a party set.
pub(in super::super) type Member = (u32, u64);

/// A linear form: factors by unknown, ascending.
pub(super) type Form = Vec<(u32, Residue)>;

/// How many independent combinations are of one member's unknowns alone, by member.
pub(super) type Exposed = BTreeMap<Member, usize>;

/// Additions of a form to another that are made at most for one receiver, by factors that are touched.
pub(super) const WORK: usize = 1 << 27;

/// Forms in unknowns, each of which belongs to one member or to nobody in particular.
#[derive(Default)]
pub(super) struct System<'a> {
    pub(super) owners: &'a [Option<Member>],
    pub(super) forms: Vec<&'a Form>,
}

impl System<'_> {
    /// Of whom some combination of the forms tells something, and how much: all unknowns in it are this member's.
    /// Nothing is said if there is not enough work left for it.
    ///
    /// In the reduced echelon form a combination has as its factors those of its pivots, so one of a member's unknowns
    /// alone is made of rows with pivots among these.
    pub(super) fn exposed(&self, work: &mut usize) -> Option<Exposed> {
        let (forms, owners) = self.joined();
        let rows = reduced(forms, work)?;
        let mut by: BTreeMap<Member, Vec<Form>> = BTreeMap::new();
        for row in rows {
            if let Some(owner) = row.first().and_then(|t| owners[t.0 as usize]) {
                by.entry(owner).or_default().push(row);
            }
        }
        let mut out = Exposed::new();
        for (member, mut rows) in by {
            let all = rows.len();
            rows.iter_mut().for_each(|r| r.retain(|t| owners[t.0 as usize] != Some(member)));
            let tied = if all == 1 {
                usize::from(!rows[0].is_empty())
            } else {
                reduced(rows, work)?.len()
            };
            if tied < all {
                out.insert(member, all - tied);
            }
        }
        Some(out)
    }

    /// The same with one unknown in place of all that are one owner's and stand in the same ratio in every form.
    fn joined(&self) -> (Vec<Form>, Vec<Option<Member>>) {
        let mut columns: BTreeMap<u32, Form> = BTreeMap::new();
        for (i, form) in (0..).zip(&self.forms) {
            for &(column, factor) in form.iter() {
                columns.entry(column).or_default().push((i, factor));
            }
        }
        let mut seen: HashSet<(Option<Member>, Form)> = HashSet::new();
        let (mut forms, mut owners) = (vec![Form::new(); self.forms.len()], Vec::new());
        for (column, mut of) in columns {
            let owner = self.owners[column as usize];
            let by = of[0].1.inverse();
            of.iter_mut().for_each(|t| t.1 = t.1 * by);
            if seen.insert((owner, of.clone())) {
                of.iter().for_each(|t| forms[t.0 as usize].push((owners.len() as u32, t.1)));
                owners.push(owner);
            }
        }
        (forms, owners)
    }
}

/// The reduced echelon form: each row's first factor is 1, and no other row has its unknown.
fn reduced(forms: Vec<Form>, work: &mut usize) -> Option<Vec<Form>> {
    let mut rows: BTreeMap<u32, Form> = BTreeMap::new();
    let mut forms = forms;
    forms.sort_by_key(Vec::len);
    for mut form in forms {
        // Pivots ascend: what a subtraction brings in stands behind them.
        let mut at = 0;
        while let Some(&(column, factor)) = form.get(at) {
            match rows.get(&column) {
                Some(row) => {
                    form = less(&form, row, factor);
                    *work = work.checked_sub(form.len() + row.len())?;
                }
                None => at += 1,
            }
        }
        let Some(&(pivot, first)) = form.first() else { continue };
        let by = first.inverse();
        form.iter_mut().for_each(|t| t.1 = t.1 * by);
        for row in rows.values_mut() {
            if let Ok(found) = row.binary_search_by_key(&pivot, |t| t.0) {
                let factor = row[found].1;
                *row = less(row, &form, factor);
                *work = work.checked_sub(form.len() + row.len())?;
            }
        }
        rows.insert(pivot, form);
    }
    Some(rows.into_values().collect())
}

/// a - by * b.
fn less(a: &Form, b: &Form, by: Residue) -> Form {
    let mut out = Form::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    loop {
        match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x.0 == y.0 => {
                let left = x.1 - by * y.1;
                if !left.is_zero() {
                    out.push((x.0, left));
                }
                (i, j) = (i + 1, j + 1);
            }
            (Some(x), Some(y)) if x.0 > y.0 => {
                out.push((y.0, -(by * y.1)));
                j += 1;
            }
            (Some(x), _) => {
                out.push(*x);
                i += 1;
            }
            (None, Some(y)) => {
                out.push((y.0, -(by * y.1)));
                j += 1;
            }
            (None, None) => return out,
        }
    }
}
