//! The `from`s of inputs.
//!
//! The names and types of neighbouring inputs are aligned as in other statements. The `from`s of neighbouring inputs,
//! each of one line, stand in one column besides: right behind the widest input, or further right if the author put all
//! of them there.

use super::super::ast::*;
use super::doc::{Doc, WIDTH, text};
use super::{Printer, flat};

impl Printer<'_> {
    /// An input without its giver, if it fits on a line.
    pub(super) fn input_head(&self, stmt: &Stmt, pad: usize) -> Option<String> {
        let StmtKind::Input { name, ty, range, .. } = &stmt.kind else { return None };
        let head = flat(&Doc::Seq(self.input_parts(name, ty, range.as_ref(), pad)), 4);
        (!head.contains('\n')).then_some(head)
    }

    pub(super) fn input_parts(
        &self,
        name: &Ident,
        ty: &Type,
        range: Option<&Expr>,
        pad: usize,
    ) -> Vec<Doc> {
        let mut parts =
            vec![text(format!("input {}:{:pad$} ", name.written(), "")), self.style.ty(ty)];
        if let Some(range) = range {
            parts.extend([text(" in "), self.style.expr(range)]);
        }
        parts
    }

    /// How wide the heads of the neighbouring inputs around statement `i` are set, so that the
    /// givers behind them stand in one column: where they do in the source, or right behind the
    /// widest head.
    pub(super) fn giver_column(
        &self,
        heads: &[Option<String>],
        widths: &[usize],
        body: &[Stmt],
        i: usize,
    ) -> usize {
        const MOST: usize = 24;
        let gives = |j: &usize| {
            matches!(body.get(*j).map(|s| &s.kind), Some(StmtKind::Input { from: Some(_), .. }))
                && heads.get(*j).is_some_and(Option::is_some)
        };
        let first = (0..i).rev().take_while(gives).last().unwrap_or(i);
        let run = first..first + (first..body.len()).take_while(gives).count();
        let needed = widths.get(run.clone()).unwrap_or(&[]).iter().copied().max().unwrap_or(0);
        let run = body.get(run).unwrap_or(&[]);
        let mut written = run.iter().map(|s| self.written_head(s));
        match written.next().flatten() {
            Some(column)
                if run.len() > 1
                    && (needed..=needed + MOST).contains(&column)
                    && written.all(|c| c == Some(column))
                    && run.iter().all(|s| match &s.kind {
                        StmtKind::Input { from: Some(giver), .. } => giver_fits(column, giver),
                        _ => false,
                    }) =>
            {
                column
            }
            _ => needed,
        }
    }

    /// How wide the source sets what stands before the `from` of an input of one line.
    fn written_head(&self, stmt: &Stmt) -> Option<usize> {
        let StmtKind::Input { from: Some(giver), .. } = &stmt.kind else { return None };
        let head =
            self.style.source?.get(stmt.span.start as usize..giver.set.span.start as usize)?;
        let head = head.strip_suffix(' ')?;
        let head = if giver.each { head.strip_suffix("each")?.trim_end() } else { head };
        let head = head.strip_suffix(" from")?;
        (!head.contains('\n')).then(|| head.chars().count())
    }

    pub(super) fn input(&mut self, head: &str, from: Option<&Giver>, width: usize) {
        self.out.push_str(head);
        if let Some(giver) = from {
            if giver_fits(width, giver) {
                self.indent(width.saturating_sub(head.chars().count()));
            }
            self.out.push_str(&giver_text(giver));
        }
        self.out.push(';');
    }
}

/// Does an input of a head so wide fit on a line with its giver?
fn giver_fits(width: usize, giver: &Giver) -> bool {
    4 + width + giver_text(giver).len() < WIDTH
}

pub(super) fn giver_text(giver: &Giver) -> String {
    format!(" from {}{}", if giver.each { "each " } else { "" }, giver.set.written())
}
