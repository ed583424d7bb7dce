//! What is known of a value while rules run: its error in parts, a bound that grows with it, and the
//! intervals that it is in; and in which order one follows from another.

use super::view::times;
use crate::analysis::interval::{Interval, enlarged, meet, size};
use crate::graph::NodeId;

/// What a node's error is made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Cause {
    /// Its own rounding.
    pub own: f64,
    /// What each operand contributes.
    pub parts: Vec<(NodeId, f64)>,
}

impl Cause {
    pub fn own(own: f64) -> Cause {
        Cause { own, parts: Vec::new() }
    }

    /// The same proportions of another total; of unbounded parts each the same.
    pub fn shrunk(mut self, total: f64) -> Cause {
        let whole = self.total();
        if whole.is_finite() {
            self.own *= total / whole;
            self.parts.iter_mut().for_each(|p| p.1 *= total / whole);
            return self;
        }
        self.parts.retain(|p| !p.1.is_finite());
        let part = total / self.parts.len() as f64;
        self.parts.iter_mut().for_each(|p| p.1 = part);
        self.own = if self.parts.is_empty() { total } else { 0.0 };
        self
    }

    pub fn total(&self) -> f64 {
        // The sum itself is rounded.
        let total = enlarged(self.own + self.parts.iter().map(|p| p.1).sum::<f64>());
        if total.is_nan() { f64::INFINITY } else { total }
    }
}

/// A bound that depends on the program's value v: `fixed` + `relative` * |v|.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    pub fixed: f64,
    pub relative: f64,
}

impl Line {
    pub fn flat(fixed: f64) -> Line {
        Line { fixed, relative: 0.0 }
    }

    /// The relative error of all values of at least this size.
    pub fn ratio(self, least: f64) -> f64 {
        times(self.fixed, 1.0 / least) + self.relative
    }
}

/// What the rule of an operation says of its result.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub cause: Cause,
    /// A bound that grows with the value, for what is made of exponentials.
    pub line: Option<Line>,
    /// What the program's values are within, in real units.
    pub program: Option<Interval>,
    /// What a run's values are within, beside the interval that is given.
    pub run: Option<Interval>,
}

impl From<Cause> for Said {
    fn from(cause: Cause) -> Said {
        Said { cause, ..Said::default() }
    }
}

impl Said {
    /// Of what a run has as the program does.
    pub fn exact() -> Said {
        Said::default()
    }
}

/// What is known of a node: intervals, in real units, that v of the program and v' of a run are in, and
/// |v' - v| <= `error`.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Of the program.
    pub real: Interval,
    pub run: Interval,
    pub error: f64,
    /// |v' - v| is at most this, too.
    pub line: Line,
    pub cause: Cause,
}

impl Known {
    /// All that follows from what a rule says of a node whose values in a run are within an interval.
    ///
    /// Each step reads what those before it have left. A run's interval is first, since the program's is made of it and
    /// the error. The program's is narrowed before the line is read at its end; and the run's again when no step makes
    /// the error smaller any more.
    pub fn of(run: Interval, said: Said) -> Known {
        let run = said.run.map_or(run, |known| meet(run, known));
        let mut known = Known::around(run, said.cause);
        if let Some(program) = said.program {
            known.narrow_program(program);
        }
        known.narrow_by_line(said.line);
        known.narrow_run();
        known
    }

    /// |v' - v| is at most all parts of the cause together, so v is no farther from the run's interval.
    fn around(run: Interval, cause: Cause) -> Known {
        let error = cause.total();
        let real = (run.0 - error, run.1 + error);
        Known { real, run, error, line: Line::flat(error), cause }
    }

    /// v is in another interval, too. And v' of the run's interval and v of this one are no further apart than the two
    /// ends that are farthest: v' - v <= run.1 - program.0 and v - v' <= program.1 - run.0.
    fn narrow_program(&mut self, program: Interval) {
        self.real = meet(self.real, program);
        let apart = (self.run.1 - program.0).max(program.1 - self.run.0);
        if apart < self.error {
            self.cause = std::mem::take(&mut self.cause).shrunk(apart);
            self.error = apart;
        }
    }

    /// |v' - v| <= fixed + relative |v|, and |v| is at most the size of the program's interval. A line that is above
    /// the error everywhere says nothing; one that does not grow says no more than the error.
    fn narrow_by_line(&mut self, line: Option<Line>) {
        let line = line.filter(|l| l.fixed <= self.error);
        if let Some(l) = line {
            let most = l.fixed + times(l.relative, size(self.real));
            self.error = self.error.min(enlarged(most));
        }
        self.line = line.filter(|l| l.relative > 0.0).unwrap_or(Line::flat(self.error));
    }

    /// v' is no farther from the program's interval than the error.
    fn narrow_run(&mut self) {
        self.run = meet(self.run, (self.real.0 - self.error, self.real.1 + self.error));
    }
}
