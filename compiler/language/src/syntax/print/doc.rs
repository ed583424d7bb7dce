//! Line breaking, after Wadler, "A prettier printer" (2003).
//!
//! A document is text with places where a line *may* end. A group is set on one line if it fits, and
//! otherwise broken at all its places; groups inside it then decide for themselves. Layout runs on a
//! stack of its own and looks at most one line ahead.

/// Lines are at most this long, where the text can be broken at all.
pub const WIDTH: usize = 100;

pub enum Doc {
    /// Text without line breaks.
    Text(String),
    /// A space, or a line break.
    Line,
    /// Nothing, or a line break.
    Soft,
    /// A space, or a line break if what is behind it, up to the next place, does not fit.
    Fill,
    /// A line break; breaks all groups around it.
    Hard,
    /// Only where the group is broken.
    IfBroken(&'static str),
    /// One after the other.
    Seq(Vec<Doc>),
    /// Lines that begin inside it are indented by so much more.
    Nest(usize, Box<Doc>),
    /// On one line if it fits.
    Group(Box<Doc>),
    /// Lines as their author broke them, or else a document if one of them is too long.
    Kept(Kept, Box<Doc>),
}

/// Lines of a source, to be set as they stand there: see [`Doc::Kept`].
pub struct Kept {
    /// Text of the first line.
    pub first: String,
    /// Column of the first line in the source.
    pub column: usize,
    /// How far the statement around is indented in the source.
    pub base: usize,
    /// Indentation in the source and text of the other lines.
    pub rest: Vec<(usize, String)>,
}

impl Kept {
    /// Indentation of a line behind the first, where that one begins at `column`: what stands to the
    /// right of the first line's beginning follows it, the rest follows the statement.
    fn indent(&self, line: usize, column: usize, indent: usize) -> usize {
        match line >= self.column {
            true => line - self.column + column,
            false => line.saturating_sub(self.base) + indent,
        }
    }

    /// Whether all lines but the last fit, and where the last one ends.
    fn fits(&self, column: usize, indent: usize) -> Option<usize> {
        let mut end = column + self.first.chars().count();
        for (line, text) in &self.rest {
            if end > WIDTH {
                return None;
            }
            end = self.indent(*line, column, indent) + text.chars().count();
        }
        Some(end)
    }
}

pub fn text(text: impl Into<String>) -> Doc {
    Doc::Text(text.into())
}

/// A group of parts.
pub fn group(parts: Vec<Doc>) -> Doc {
    Doc::Group(Box::new(Doc::Seq(parts)))
}

/// Parts indented by so much more.
pub fn nest(by: usize, parts: Vec<Doc>) -> Doc {
    Doc::Nest(by, Box::new(Doc::Seq(parts)))
}

/// `open a, b, c close`: on one line, or one line each with a comma behind the last.
pub fn list(open: &str, items: Vec<Doc>, close: &str) -> Doc {
    if items.is_empty() {
        return text(format!("{open}{close}"));
    }
    let mut inner = vec![Doc::Soft];
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            inner.extend([text(","), Doc::Line]);
        }
        inner.push(item);
    }
    inner.push(Doc::IfBroken(","));
    group(vec![text(open), nest(4, inner), Doc::Soft, text(close)])
}

#[derive(Clone, Copy)]
struct Frame<'d> {
    indent: usize,
    flat: bool,
    doc: &'d Doc,
}

/// Appends a document to `out`, whose last line is `column` long; lines that it begins are indented
/// by `indent`.
pub fn layout(doc: &Doc, indent: usize, column: usize, out: &mut String) {
    frames(vec![Frame { indent, flat: false, doc }], column, out);
}

/// A document on one line, however long.
pub fn one_line(doc: &Doc) -> String {
    let mut out = String::new();
    frames(vec![Frame { indent: 0, flat: true, doc }], 0, &mut out);
    out
}

fn frames(mut stack: Vec<Frame>, mut column: usize, out: &mut String) {
    while let Some(Frame { indent, flat, doc }) = stack.pop() {
        match doc {
            Doc::Text(text) => {
                out.push_str(text);
                column += text.chars().count();
            }
            // A group with a hard break is never flat: this is a text asked for on one line.
            Doc::Line | Doc::Hard if flat => {
                out.push(' ');
                column += 1;
            }
            Doc::Soft if flat => {}
            Doc::Fill if flat || fits(&stack, None, column + 1, true) => {
                out.push(' ');
                column += 1;
            }
            Doc::Line | Doc::Soft | Doc::Fill | Doc::Hard => {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            }
            Doc::IfBroken(text) if !flat => {
                out.push_str(text);
                column += text.len();
            }
            Doc::IfBroken(_) => {}
            Doc::Seq(parts) => {
                stack.extend(parts.iter().rev().map(|doc| Frame { indent, flat, doc }));
            }
            Doc::Nest(by, doc) => stack.push(Frame { indent: indent + by, flat, doc }),
            Doc::Group(doc) => {
                let flat = flat || fits(&stack, Some(doc), column, false);
                stack.push(Frame { indent, flat, doc });
            }
            Doc::Kept(kept, otherwise) => match kept.fits(column, indent) {
                Some(end) if !flat && fits(&stack, None, end, true) => {
                    out.push_str(&kept.first);
                    for (line, text) in &kept.rest {
                        out.push('\n');
                        let by = kept.indent(*line, column, indent);
                        out.extend(std::iter::repeat_n(' ', by));
                        out.push_str(text);
                    }
                    column = end;
                }
                _ => stack.push(Frame { indent, flat, doc: otherwise }),
            },
        }
    }
}

/// Does the group, set flat, fit with what follows it up to the next possible line break? With
/// `whole`, groups behind it do not count as possible breaks.
fn fits(rest: &[Frame], first: Option<&Doc>, mut column: usize, whole: bool) -> bool {
    let mut rest = rest.iter().rev();
    let mut stack: Vec<(bool, &Doc)> = first.map(|doc| (true, doc)).into_iter().collect();
    loop {
        let (flat, doc) = match stack.pop() {
            Some(top) => top,
            None => match rest.next() {
                Some(frame) => (frame.flat, frame.doc),
                None => return true,
            },
        };
        match doc {
            Doc::Text(text) => column += text.chars().count(),
            Doc::Line | Doc::Fill if flat => column += 1,
            Doc::Soft if flat => {}
            Doc::Line | Doc::Soft | Doc::Fill => return true,
            Doc::Hard => return !flat,
            Doc::IfBroken(text) if !flat => column += text.len(),
            Doc::IfBroken(_) => {}
            Doc::Seq(parts) => stack.extend(parts.iter().rev().map(|doc| (flat, doc))),
            Doc::Nest(_, doc) => stack.push((flat, doc)),
            Doc::Group(doc) => stack.push((flat || whole, doc)),
            Doc::Kept(_, doc) => stack.push((flat, doc)),
        }
        if column > WIDTH {
            return false;
        }
    }
}
