//! From the compiler's values to those of the protocol, and back.

use super::library;
use super::protocol::{
    Diagnostic, ERROR, INFORMATION, Link, Location, Position, Range, Related, SOURCE, TextEdit,
    WARNING,
};
use slvr_compiler::diagnostic::{Code, Severity, codes};
use slvr_compiler::ide::{self, Document, Place, Typed, Where};

/// Codes of warnings of what is certified: where values are cut, where constants are rounded, where decisions have no
/// proof. They do not say that the program is wrong.
const CERTIFIED: [Code; 3] = [codes::OVERFLOW, codes::ROUNDED, codes::MARGIN];

/// Of a file without a predicate: others may take its models.
const LIBRARY: Code = codes::NO_PREDICATE;

pub fn from(at: Position) -> ide::Position {
    ide::Position { line: at.line, character: at.character }
}

pub fn range(r: ide::Range) -> Range {
    let at = |p: ide::Position| Position { line: p.line, character: p.character };
    Range { start: at(r.start), end: at(r.end) }
}

pub fn edit(e: &ide::Edit) -> TextEdit {
    TextEdit { range: range(e.range), new_text: e.text.clone() }
}

/// The problems of a document, as the protocol has them.
pub fn report(uri: &str, document: &Document, typed: Option<&Typed>) -> Vec<Diagnostic> {
    let one = |p: ide::Problem| {
        let related = p.related.into_iter();
        let related = related.filter_map(|(place, message)| {
            Some(Related { location: location(uri, place)?, message })
        });
        let is = |code: &Code| p.code == code.to_string();
        Diagnostic {
            range: range(p.range),
            severity: match p.severity {
                Severity::Error if is(&LIBRARY) => INFORMATION,
                Severity::Error => ERROR,
                Severity::Warning if CERTIFIED.iter().any(is) => INFORMATION,
                Severity::Warning => WARNING,
            },
            code_description: library::explanation(&p.code).map(|href| Link { href }),
            code: p.code,
            source: SOURCE,
            message: p.message,
            related_information: related.collect(),
        }
    };
    document.problems(typed).into_iter().map(one).collect()
}

/// A place as the protocol has it. Files of the library are part of the binary: they are put where an
/// editor can open them.
pub fn location(uri: &str, place: Place) -> Option<Location> {
    let uri = match place.file {
        Where::Here => uri.to_owned(),
        Where::Library(name) => library::uri(name)?,
    };
    Some(Location { uri, range: range(place.range) })
}
