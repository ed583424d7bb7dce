//! Rows as forms in few unknowns: entries that every row treats alike are one.
//!
//! Each node's entries are cut into *cells*, so that rows move along whole cells and totals add up whole cells. Take
//! the five sums over i of `x[i][j]`, and beside them the total of the last two: the cells of each client are its
//! first three entries and its last two. Whoever exchanges entries of a cell, and in the same way those of the cells
//! that rows move along with it, has the same rows in another order. So every combination is the sum of two: one that
//! treats the rows of a cell alike, in which the cell is one unknown, and one whose factors for these rows add up to
//! 0, in which totals vanish. Both are looked at ([`Cells::exposed`]), and nothing else is needed.

use super::elimination::{Exposed, Form, Member, System};
use super::residue::Residue;
use super::rows::TERMS;
use super::terms::{Rows, Span};
use crate::graph::NodeId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A node's entries at one distance, from the first.
type Line = (NodeId, u64);

/// A span with its line, and where on this it begins.
#[derive(Clone, Copy)]
struct Piece {
    factor: Residue,
    line: Line,
    from: u64,
    count: u64,
    owner: Option<Member>,
}

/// Rows, of pieces.
struct Pieces {
    output: usize,
    count: u64,
    spans: Vec<Piece>,
    totals: Vec<Piece>,
}

impl Pieces {
    /// Of rows whose spans in a node have one distance between entries.
    fn of(r: &Rows, steps: &HashMap<NodeId, u64>) -> Pieces {
        let piece = |s: &Span| {
            let step = steps.get(&s.node).copied().unwrap_or(1);
            let line = (s.node, s.at % step);
            Piece { factor: s.factor, line, from: s.at / step, count: s.count, owner: s.owner }
        };
        let pieces = |of: &[Span]| of.iter().map(piece).collect();
        Pieces {
            output: r.output,
            count: r.count,
            spans: pieces(&r.spans),
            totals: pieces(&r.totals),
        }
    }
}

/// The columns that cells are, by where they begin.
struct Columns<'a> {
    numbers: HashMap<(Line, u64), u32>,
    owners: &'a mut Vec<Option<Member>>,
}

impl Columns<'_> {
    /// Of the cell of a piece that begins there.
    fn of(&mut self, p: &Piece, at: u64) -> (u32, Residue) {
        let column = *self.numbers.entry((p.line, at)).or_insert_with(|| {
            self.owners.push(p.owner);
            self.owners.len() as u32 - 1
        });
        (column, p.factor)
    }
}

/// The forms of all rows.
#[derive(Default)]
pub(super) struct Cells {
    owners: Vec<Option<Member>>,
    /// By output: the sums over the cells, and what rows of several entries have besides totals.
    forms: Vec<(usize, [Form; 2])>,
    /// Whether some rows of several entries have totals.
    mixed: bool,
}

impl Cells {
    /// The forms of these rows; nothing if they are too many. Of some outputs each row that is one entry makes it
    /// known.
    pub(super) fn of(rows: Vec<Rows>, known: &BTreeSet<usize>) -> Option<Cells> {
        let mut left = TERMS;
        let (rows, steps) = even(rows, &mut left)?;
        let rows: Vec<Pieces> = rows.iter().map(|r| Pieces::of(r, &steps)).collect();
        let ends = ends(&rows, &mut left)?;
        let mut cells = Cells { owners: Vec::new(), forms: Vec::new(), mixed: false };
        let mut columns = Columns { numbers: HashMap::new(), owners: &mut cells.owners };
        for row in &rows {
            let mut parts: BTreeSet<u64> = BTreeSet::from([0]);
            for p in &row.spans {
                parts.extend(within(&ends, p).map(|end| end - p.from));
            }
            let parts: Vec<u64> = parts.into_iter().chain([row.count]).collect();
            for part in parts.windows(2) {
                let (from, n) = (part[0], part[1] - part[0]);
                let own = row.spans.iter().map(|p| columns.of(p, p.from + from));
                let mut whole: Form = own.collect();
                let apart = if n > 1 { whole.clone() } else { Form::new() };
                for p in &row.totals {
                    let firsts = [p.from].into_iter().chain(within(&ends, p));
                    let all = |(column, factor)| (column, factor * Residue::whole(n));
                    whole.extend(firsts.map(|at| all(columns.of(p, at))));
                }
                cells.mixed |= n > 1 && !row.totals.is_empty();
                left = left.checked_sub(whole.len() + apart.len())?;
                cells.forms.push((row.output, [form(whole), form(apart)]));
            }
        }
        cells.forget(known);
        Some(cells)
    }

    /// What some reveals say by themselves of single unknowns is known.
    fn forget(&mut self, by: &BTreeSet<usize>) {
        let alone = self.forms.iter().filter(|(o, _)| by.contains(o));
        let known: BTreeSet<u32> = alone
            .filter_map(|(_, [whole, _])| if let [t] = whole[..] { Some(t.0) } else { None })
            .collect();
        for (_, forms) in self.forms.iter_mut().filter(|(o, _)| !by.contains(o)) {
            forms.iter_mut().for_each(|f| f.retain(|t| !known.contains(&t.0)));
        }
    }

    /// Of whom some combination of what these outputs reveal tells something, and how much.
    pub(super) fn exposed(&self, outputs: &BTreeSet<usize>, work: &mut usize) -> Option<Exposed> {
        let mut of = |which: usize| {
            let forms = self.forms.iter().filter(|(o, _)| outputs.contains(o));
            let forms = forms.map(|(_, f)| &f[which]).filter(|f| !f.is_empty()).collect();
            System { owners: &self.owners, forms }.exposed(work)
        };
        let mut all = of(0)?;
        if self.mixed {
            for (member, n) in of(1)? {
                *all.entry(member).or_default() += n;
            }
        }
        Some(all)
    }
}

/// Terms of equal unknowns together, ascending.
fn form(mut terms: Form) -> Form {
    terms.sort_unstable_by_key(|t| t.0);
    let mut out: Form = Vec::with_capacity(terms.len());
    for (column, factor) in terms {
        match out.last_mut() {
            Some(last) if last.0 == column => last.1 = last.1 + factor,
            _ => out.push((column, factor)),
        }
    }
    out.retain(|t| !t.1.is_zero());
    out
}

/// The same rows so that all spans in a node have one distance between entries, and what it is; where they have
/// several, single entries.
fn even(rows: Vec<Rows>, left: &mut usize) -> Option<(Vec<Rows>, HashMap<NodeId, u64>)> {
    let mut steps: BTreeMap<NodeId, BTreeSet<u64>> = BTreeMap::new();
    for span in rows.iter().flat_map(|r| r.spans.iter().chain(&r.totals)).filter(|s| s.count > 1) {
        steps.entry(span.node).or_default().insert(span.step);
    }
    let several = |s: &Span| s.count > 1 && steps.get(&s.node).is_some_and(|of| of.len() > 1);
    let mut out = Vec::new();
    for mut row in rows {
        let (each, mut totals): (Vec<Span>, Vec<Span>) =
            row.totals.iter().partition(|s| several(s));
        *left = left.checked_sub(each.iter().map(|s| s.count as usize).sum())?;
        totals.extend(each.iter().flat_map(|s| (0..s.count).map(|k| s.entry(k))));
        if row.spans.iter().any(several) {
            let terms = (row.spans.len() + totals.len()).checked_mul(row.count as usize)?;
            *left = left.checked_sub(terms)?;
            for k in 0..row.count {
                let spans = row
                    .spans
                    .iter()
                    .map(|s| s.entry(k))
                    .chain(totals.iter().filter(|s| s.count == 1).copied());
                let totals = totals.iter().filter(|s| s.count > 1).copied().collect();
                out.push(Rows { output: row.output, count: 1, spans: spans.collect(), totals });
            }
        } else {
            row.totals = totals;
            out.push(row);
        }
    }
    let one = |(node, of): (NodeId, BTreeSet<u64>)| {
        let step = of.first().copied().filter(|_| of.len() == 1)?;
        Some((node, step))
    };
    Some((out, steps.into_iter().filter_map(one).collect()))
}

/// The beginnings of cells that are within a piece, but for its own.
fn within<'a>(
    ends: &'a HashMap<Line, BTreeSet<u64>>,
    p: &Piece,
) -> impl Iterator<Item = u64> + use<'a> {
    let (from, to) = (p.from + 1, (p.from + p.count).max(p.from + 1));
    ends.get(&p.line).into_iter().flat_map(move |of| of.range(from..to).copied())
}

/// Where cells begin, on every line: where pieces begin and end, and where those do that rows move along with them.
fn ends(rows: &[Pieces], left: &mut usize) -> Option<HashMap<Line, BTreeSet<u64>>> {
    let mut ends: HashMap<Line, BTreeSet<u64>> = HashMap::new();
    for p in rows.iter().flat_map(|r| r.spans.iter().chain(&r.totals)) {
        ends.entry(p.line).or_default().extend([p.from, p.from + p.count]);
    }
    loop {
        let mut more = false;
        for row in rows.iter().filter(|r| r.count > 1) {
            let cuts = row.spans.iter().flat_map(|p| within(&ends, p).map(|end| end - p.from));
            let cuts: BTreeSet<u64> = cuts.collect();
            *left = left.checked_sub(1 + cuts.len().checked_mul(row.spans.len())?)?;
            for p in &row.spans {
                let line = ends.entry(p.line).or_default();
                for cut in &cuts {
                    more |= line.insert(p.from + cut);
                }
            }
        }
        if !more {
            return Some(ends);
        }
    }
}
