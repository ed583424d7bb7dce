//! What to write where a function of a vector gets a matrix: of its rows, or of its columns.
//!
//! Of `fix[Client, 4]` the norm is meant of each client, and the median over the clients. A hint keeps to what was
//! meant, and where that is not known it says what each way means.

use super::checker::Checker;
use crate::types::Expr;

/// Functions of `std` that say something of many numbers together, in order or on average. Over parties they are about
/// the parties, not about what one of them has.
const STATISTICS: [&str; 20] = [
    "argsort",
    "column_mean",
    "column_median",
    "cumulative_sum",
    "first_argmax",
    "first_argmin",
    "geometric_median",
    "histogram",
    "lower_median",
    "majority",
    "mean",
    "median",
    "quantile",
    "rank",
    "smallest",
    "sort",
    "top_k",
    "trimmed_mean",
    "variance",
    "weighted_median",
];

/// Those that `std` has for columns, too.
const OF_COLUMNS: [(&str, &str); 2] = [("mean", "column_mean"), ("median", "column_median")];

impl Checker<'_> {
    /// What to write in place of a function of tensors of `rank` dimensions, of an argument of one more. `call` writes
    /// its call of another argument; `std` says whether the function is of `std`.
    pub(super) fn of_parts(
        &self,
        name: &str,
        std: bool,
        call: impl Fn(&str) -> String,
        rank: usize,
        x: &Expr,
    ) -> Option<String> {
        let text = self.text(x.span);
        let plain = text.chars().all(|c| c.is_alphanumeric() || c == '_');
        let (outer, inner) = x.ty.dims.split_first()?;
        if inner.len() != rank || !plain {
            let place = text.chars().all(|c| c.is_alphanumeric() || "_.[]".contains(c));
            let vector =
                rank == 1 && !inner.is_empty() && x.ty.dims.iter().all(|d| d.set.is_none());
            let flat = format!("as one vector: `{}`", call(&format!("flat({text})")));
            return (place && vector).then_some(flat);
        }
        let over = self.range_text(outer);
        let rows = format!("`[{} for i in {over}]`", call(&format!("{text}[i]")));
        let statistic = std && STATISTICS.contains(&name);
        // A vector that the user's own function takes may be what one party has, or one number of each. Classes are
        // chosen by `argmax` of one party's scores, and the best of all parties, too.
        let either = !std || name == "argmax" || (statistic && outer.set.is_none());
        if !statistic && !either {
            return Some(format!("one at a time: {rows}"));
        }
        let columns = match (OF_COLUMNS.iter().find(|(of, _)| std && *of == name), inner) {
            (Some((_, columns)), _) => Some(format!("`{columns}({text})`")),
            (None, [column]) => {
                let entries = format!("[{text}[i][j] for i in {over}]");
                Some(format!("`[{} for j in {}]`", call(&entries), column.size))
            }
            // Of more dimensions there is no one column.
            _ => None,
        };
        match (columns, either) {
            (Some(columns), true) => {
                Some(format!("{rows} is one for each row, {columns} one for each column"))
            }
            (Some(columns), false) => Some(format!("over {over}, column by column: {columns}")),
            (None, _) => None,
        }
    }
}
