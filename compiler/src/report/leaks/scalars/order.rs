//! The largest, the smallest and other places in an order, and what is left between bounds.

use super::eval::{Mode, Run};
use super::form::Form;

impl Run<'_> {
    /// The sum of entries from .. to in ascending order.
    pub(super) fn ordered(&mut self, of: &[&Form], from: usize, to: usize) -> Form {
        let known = of.iter().all(|f| f.is_constant());
        if self.mode == Mode::Local || known {
            let mut sorted = of.to_vec();
            sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
            return Form::combined(sorted[from..to].iter().map(|f| (*f, 1.0)));
        }
        if let (&[a, b], 1) = (of, to - from) {
            let between = |c: f64| {
                if from == 1 { (c, f64::INFINITY) } else { (f64::NEG_INFINITY, c) }
            };
            match (a.is_constant(), b.is_constant()) {
                (true, false) => return self.clipped(b, between(a.value)),
                (false, true) => return self.clipped(a, between(b.value)),
                _ => {}
            }
        }
        // The smallest is the largest of what has the other sign, so one of the two is an unknown.
        let first = of.iter().flat_map(|f| f.terms.first()).min_by_key(|t| t.0);
        if first.is_some_and(|t| t.1 < 0.0) {
            let negated: Vec<Form> = of.iter().map(|f| f.scaled(-1.0)).collect();
            let n = of.len();
            let other: Vec<&Form> = negated.iter().collect();
            return self.places(&other, n - to, n - from).scaled(-1.0);
        }
        self.places(of, from, to)
    }

    /// What is left of a value between two bounds. Clips of clips, and of what is shifted and scaled, are one clip of
    /// one value, however they are written.
    pub(super) fn clipped(&mut self, x: &Form, (lo, hi): (f64, f64)) -> Form {
        let (shift, by) = (x.value, x.terms[0].1);
        let scaled = |bound: f64| (bound - shift) / by;
        let (mut lo, mut hi) =
            if by > 0.0 { (scaled(lo), scaled(hi)) } else { (scaled(hi), scaled(lo)) };
        let mut of = Form { value: 0.0, ..x.scaled(by.recip()) };
        if let [(column, _)] = of.terms[..]
            && let Some((inner, l, h)) = self.clips.get(&column)
        {
            (lo, hi) = (l.max(lo).min(hi), h.max(lo).min(hi));
            of = inner.clone();
        }
        let range = self.range(&of);
        let back = |form: Form| {
            let mut out = form.scaled(by);
            out.value += shift;
            out
        };
        if lo <= range.0 && hi >= range.1 {
            return back(of);
        }
        let cut = (range.0.max(lo).min(hi), range.1.max(lo).min(hi));
        if cut.0 == cut.1 {
            return back(Form::constant(cut.0));
        }
        let bounds = [lo.max(range.0), hi.min(range.1)].map(Form::constant);
        let whole = self.whole(&of) && cut.0.fract() == 0.0 && cut.1.fract() == 0.0;
        let key = [vec![&of], vec![&bounds[0], &bounds[1]]];
        let made = self.made(0, "clip", &key, cut, whole, false);
        if let [(column, _)] = made.terms[..] {
            self.clips.insert(column, (of.clone(), lo, hi));
        }
        back(self.within(made, &[&of]))
    }

    /// The same, of operands that are not all known.
    fn places(&mut self, of: &[&Form], from: usize, to: usize) -> Form {
        let ranges: Vec<(f64, f64)> = of.iter().map(|f| self.range(f)).collect();
        let sorted = |end: fn(&(f64, f64)) -> f64| {
            let mut all: Vec<f64> = ranges.iter().map(end).collect();
            all.sort_by(f64::total_cmp);
            all[from..to].iter().sum::<f64>()
        };
        let range = (sorted(|r| r.0), sorted(|r| r.1));
        if range.0 == range.1 {
            return Form::constant(range.0);
        }
        let one = to - from == 1;
        // It is certain which one it is.
        let at = |&(i, (lo, hi)): &(usize, &(f64, f64))| {
            let others = || ranges.iter().enumerate().filter(|(k, _)| *k != i).map(|o| o.1);
            let (below, above) =
                (others().filter(|o| o.1 <= *lo).count(), others().filter(|o| o.0 >= *hi).count());
            below >= from && above >= of.len() - to
        };
        if let (true, Some((i, _))) = (one, ranges.iter().enumerate().find(at)) {
            return of[i].clone();
        }
        let whole = of.iter().all(|f| self.whole(f));
        // Every place in the order is an unknown of its own.
        let at = self.name(format!("{from}..{to}"));
        let made = self.made(at, "ordered", &[of.to_vec()], range, whole, true);
        if one { self.within(made, of) } else { made }
    }
}
