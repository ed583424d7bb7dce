//! The parts of the language server protocol (version 3.17) that the server uses, as it has them in JSON.
//!
//! Own types, because the crate that has all of the protocol takes more time to compile than any other crate but
//! the largest three, for the dozen that are needed here.

use serde::{Deserialize, Serialize};

pub mod method {
    pub const DID_OPEN: &str = "textDocument/didOpen";
    pub const DID_CHANGE: &str = "textDocument/didChange";
    pub const DID_CLOSE: &str = "textDocument/didClose";
    pub const DID_SAVE: &str = "textDocument/didSave";
    pub const DID_CHANGE_FILES: &str = "workspace/didChangeWatchedFiles";
    pub const DID_CONFIGURE: &str = "workspace/didChangeConfiguration";
    pub const PUBLISH_DIAGNOSTICS: &str = "textDocument/publishDiagnostics";
    pub const HOVER: &str = "textDocument/hover";
    pub const DEFINITION: &str = "textDocument/definition";
    pub const REFERENCES: &str = "textDocument/references";
    pub const HIGHLIGHT: &str = "textDocument/documentHighlight";
    pub const PREPARE_RENAME: &str = "textDocument/prepareRename";
    pub const RENAME: &str = "textDocument/rename";
    pub const COMPLETION: &str = "textDocument/completion";
    pub const SIGNATURE: &str = "textDocument/signatureHelp";
    pub const FORMATTING: &str = "textDocument/formatting";
    pub const SYMBOLS: &str = "textDocument/documentSymbol";
    pub const ALL_SYMBOLS: &str = "workspace/symbol";
    pub const TOKENS: &str = "textDocument/semanticTokens/full";
    pub const FOLDS: &str = "textDocument/foldingRange";
    pub const SELECTIONS: &str = "textDocument/selectionRange";
    pub const ACTIONS: &str = "textDocument/codeAction";
    pub const HINTS: &str = "textDocument/inlayHint";
    pub const LENSES: &str = "textDocument/codeLens";
    pub const EXECUTE: &str = "workspace/executeCommand";
    pub const REFRESH_HINTS: &str = "workspace/inlayHint/refresh";
    pub const REFRESH_LENSES: &str = "workspace/codeLens/refresh";
    pub const REGISTER: &str = "client/registerCapability";
    pub const MESSAGE: &str = "window/showMessage";
    pub const SHUTDOWN: &str = "shutdown";
    pub const EXIT: &str = "exit";
    pub const SHOW: &str = "window/showDocument";
}

/// `TextDocumentSyncKind.Incremental`: a change brings what is written over a range.
pub const SYNC_INCREMENTAL: u8 = 2;

/// The command of a lens: writes the page of `slvrc explain --html` and opens it.
pub const EXPLAIN: &str = "slvr.explain";
/// The code action that does all fixes of a file.
pub const FIX_ALL: &str = "source.fixAll";
pub const QUICK_FIX: &str = "quickfix";

/// `CompletionItemKind`.
pub mod completion {
    pub const FUNCTION: u8 = 3;
    pub const CONSTRUCTOR: u8 = 4;
    pub const FIELD: u8 = 5;
    pub const VARIABLE: u8 = 6;
    pub const CLASS: u8 = 7;
    pub const KEYWORD: u8 = 14;
}

/// `SymbolKind`.
pub mod symbol_kind {
    pub const CLASS: u8 = 5;
    pub const FIELD: u8 = 8;
    pub const ENUM: u8 = 10;
    pub const FUNCTION: u8 = 12;
    pub const VARIABLE: u8 = 13;
    pub const CONSTANT: u8 = 14;
    pub const STRUCT: u8 = 23;
    pub const EVENT: u8 = 24;
}

/// Who says what is wrong.
pub const SOURCE: &str = "slvrc";

/// `DiagnosticSeverity`.
pub const ERROR: u8 = 1;
pub const WARNING: u8 = 2;
pub const INFORMATION: u8 = 3;

/// `MessageType`.
pub const MESSAGE_ERROR: u8 = 1;
pub const MESSAGE_INFO: u8 = 3;

/// A place in a text: line and UTF-16 code unit, from 0.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

#[derive(Clone, Serialize)]
pub struct Location {
    pub uri: String,
    pub range: Range,
}

#[derive(Deserialize)]
pub struct TextDocument {
    pub uri: String,
}

/// Of the parameters of hover and definition what they say beside the file.
#[derive(Deserialize)]
pub struct AtPosition {
    pub position: Position,
}

/// Of all parameters the file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfDocument {
    pub text_document: TextDocument,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rename {
    pub position: Position,
    pub new_name: String,
}

/// Parameters of code actions and inlay hints.
#[derive(Deserialize)]
pub struct InRange {
    pub range: Range,
    #[serde(default)]
    pub context: Context,
}

#[derive(Default, Deserialize)]
pub struct Context {
    /// Kinds of code actions that are asked for.
    pub only: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub struct Selections {
    pub positions: Vec<Position>,
}

#[derive(Deserialize)]
pub struct Query {
    pub query: String,
}

#[derive(Deserialize)]
pub struct Execute {
    pub command: String,
    #[serde(default)]
    pub arguments: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DidOpen {
    pub text_document: Opened,
}

#[derive(Deserialize)]
pub struct Opened {
    pub uri: String,
    pub version: i32,
    pub text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DidChange {
    pub text_document: Version,
    pub content_changes: Vec<Change>,
}

/// Files that somebody has written, made or removed.
#[derive(Deserialize)]
pub struct DidChangeFiles {
    pub changes: Vec<TextDocument>,
}

#[derive(Deserialize)]
pub struct Version {
    pub uri: String,
    pub version: i32,
}

#[derive(Deserialize)]
pub struct Change {
    /// What the text is written over; everything without it.
    pub range: Option<Range>,
    pub text: String,
}

#[derive(Serialize)]
pub struct PublishDiagnostics {
    pub uri: String,
    pub diagnostics: Vec<Diagnostic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    pub range: Range,
    pub severity: u8,
    pub code: String,
    /// Where the code is explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_description: Option<Link>,
    pub source: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_information: Vec<Related>,
}

impl Diagnostic {
    /// Without an explanation or other places.
    pub fn plain(range: Range, severity: u8, code: &str, message: String) -> Diagnostic {
        let (code_description, related_information) = (None, Vec::new());
        let (code, source) = (code.into(), SOURCE);
        Diagnostic { range, severity, code, code_description, source, message, related_information }
    }
}

#[derive(Clone, Serialize)]
pub struct Link {
    pub href: String,
}

#[derive(Clone, Serialize)]
pub struct Related {
    pub location: Location,
    pub message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextEdit {
    pub range: Range,
    pub new_text: String,
}
