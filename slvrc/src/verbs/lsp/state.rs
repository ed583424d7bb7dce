//! Open files, and the threads that look at them.

use super::convert::report;
use super::costs::{Cancel, Costs, SiblingFiles, Sizes, costs};
use super::protocol::{
    Change, Diagnostic, DidChange, DidChangeFiles, DidOpen, ERROR, MESSAGE_ERROR, OfDocument,
    Position, PublishDiagnostics, Range, TextDocument, method,
};
use super::{library, params};
use crate::fail;
use crate::memory::STACK;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use slvr_compiler::ide::{Document, Lines, Typed};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

/// A thread that types one text for longer than this is replaced, and one that compiles a text that is no longer there.
/// Usual texts take milliseconds.
const PATIENCE: Duration = Duration::from_secs(3);

/// Most threads of each kind, given up ones included.
const MAX_WORKERS: u32 = 4;

pub struct Open {
    version: i32,
    pub document: Arc<Document>,
    /// What typing found, if it is done with this text, and compiling, if that is.
    pub typed: Option<Arc<Typed>>,
    /// Of this text or an earlier one.
    pub costs: Option<Arc<Costs>>,
    /// Work that nobody has begun with.
    waiting: [bool; 2],
    /// Syntax errors are shown.
    red: bool,
    /// Names of the files beside it that typing read.
    read: Vec<OsString>,
    /// Stops the compilation of this text.
    cancel: Cancel,
}

#[derive(Clone, Copy)]
enum Work {
    Types = 0,
    Costs = 1,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::Types => "types",
            Work::Costs => "costs",
        }
    }
}

impl Open {
    /// Looks at the same text once more.
    fn again(&mut self) {
        self.cancel.now();
        self.cancel = Cancel::default();
        self.waiting[Work::Types as usize] = !self.red;
    }
}

/// Threads of one kind.
#[derive(Default)]
struct Worker {
    /// Which one is the present one; earlier ones were given up.
    number: u32,
    /// Since when it looks at one text, and what tells it to stop.
    busy: Option<(Instant, Cancel)>,
}

struct State {
    files: BTreeMap<String, Open>,
    /// `None` once the client has left.
    send: Option<Box<dyn Fn(Message) + Send>>,
    workers: [Worker; 2],
    /// What the editor says of sizes.
    usual: String,
    /// Requests of the server to the client.
    asked: i32,
}

pub struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    /// What the client fetches again when it is told to.
    refreshed: Vec<&'static str>,
}

impl Shared {
    pub fn start(client: &Value, send: Box<dyn Fn(Message) + Send>) -> io::Result<Arc<Shared>> {
        let refresh =
            |what: &str| client.pointer(&format!("/capabilities/workspace/{what}/refreshSupport"));
        let all = [("inlayHint", method::REFRESH_HINTS), ("codeLens", method::REFRESH_LENSES)];
        let refreshed = all.iter().filter(|(w, _)| refresh(w) == Some(&Value::Bool(true)));
        let usual = client.pointer("/initializationOptions/sizes").and_then(Value::as_str);
        let state = State {
            files: BTreeMap::new(),
            send: Some(send),
            workers: Default::default(),
            usual: usual.unwrap_or_default().to_owned(),
            asked: 0,
        };
        let refreshed = refreshed.map(|(_, method)| *method).collect();
        let shared = Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new(), refreshed });
        start_worker(&shared, Work::Types, 0)?;
        start_worker(&shared, Work::Costs, 0)?;
        Ok(shared)
    }

    /// Starts other threads in the place of those that do not come back.
    pub fn replace_stuck(shared: &Arc<Shared>) -> io::Result<()> {
        let mut state = shared.lock();
        for work in [Work::Types, Work::Costs] {
            let worker = &mut state.workers[work as usize];
            let stuck = worker.busy.as_ref().is_some_and(|(since, cancel)| {
                since.elapsed() > PATIENCE && (matches!(work, Work::Types) || cancel.is_set())
            });
            if stuck && worker.number + 1 < MAX_WORKERS {
                worker.number += 1;
                worker.busy = None;
                start_worker(shared, work, worker.number)?;
            }
        }
        Ok(())
    }

    pub fn leave(&self) {
        let mut state = self.lock();
        state.send = None;
        state.files.values().for_each(|f| f.cancel.now());
        self.wake.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics with the lock held; if it does, the files are whole all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at an open file.
    pub fn file<T>(&self, uri: &str, look: impl FnOnce(&Open) -> T) -> Option<T> {
        self.lock().files.get(uri).map(look)
    }

    pub fn documents(&self) -> Vec<(String, Arc<Document>)> {
        let state = self.lock();
        state.files.iter().map(|(uri, f)| (uri.clone(), Arc::clone(&f.document))).collect()
    }

    /// The sizes that a text is looked at with.
    pub fn sizes(&self, document: &Document) -> Sizes {
        Sizes::of(document, &self.lock().usual)
    }

    /// Asks the client for something whose answer does not matter.
    pub fn ask(&self, method: &str, params: Value) {
        self.lock().ask(method, params);
    }

    /// Does what a notification says; without an answer the files stay as they were.
    pub fn notified(&self, n: Notification) -> Result<(), (ErrorCode, String)> {
        match n.method.as_str() {
            method::DID_OPEN => {
                let DidOpen { text_document: d } = params(n.params)?;
                self.change(d.uri, d.version, &d.text);
            }
            method::DID_CHANGE => {
                let DidChange { text_document: d, content_changes } = params(n.params)?;
                let text = self.file(&d.uri, |f| f.document.text().to_owned());
                let text = changed(text.unwrap_or_default(), content_changes);
                self.change(d.uri, d.version, &text);
            }
            method::DID_CLOSE => {
                let OfDocument { text_document: TextDocument { uri } } = params(n.params)?;
                let mut state = self.lock();
                if let Some(closed) = state.files.remove(&uri) {
                    closed.cancel.now();
                }
                state.publish(uri, None, Vec::new());
            }
            method::DID_CONFIGURE => {
                let sizes = n.params.pointer("/settings/slvr/sizes").and_then(Value::as_str);
                let mut state = self.lock();
                state.usual = sizes.unwrap_or_default().to_owned();
                state.files.values_mut().for_each(Open::again);
                self.wake.notify_all();
            }
            method::DID_SAVE => {
                self.written(&[params::<OfDocument>(n.params)?.text_document]);
            }
            method::DID_CHANGE_FILES => self.written(&params::<DidChangeFiles>(n.params)?.changes),
            _ => {}
        }
        Ok(())
    }

    /// Files on the disk are others now: what reads files of their names is looked at again.
    fn written(&self, files: &[TextDocument]) {
        let paths = files.iter().filter_map(|f| library::path(&f.uri));
        let names: Vec<OsString> =
            paths.filter_map(|p| p.file_name().map(OsString::from)).collect();
        let mut state = self.lock();
        let reads = |f: &&mut Open| f.read.iter().any(|name| names.contains(name));
        state.files.values_mut().filter(reads).for_each(Open::again);
        self.wake.notify_all();
    }

    pub fn tell(&self, kind: u8, message: &str) {
        self.lock().tell(kind, message);
    }

    /// A file has this text now. Syntax errors are shown at once; what typing finds, when it is
    /// done: until then its earlier findings stay, because they are mostly still right.
    fn change(&self, uri: String, version: i32, text: &str) {
        let document = Document::new(&uri, text);
        let mut state = self.lock();
        let before = state.files.remove(&uri);
        if let Some(before) = &before {
            before.cancel.now();
        }
        let red = document.has_syntax_errors();
        if red || before.as_ref().is_some_and(|f| f.red) {
            let problems = report(&uri, &document, None);
            state.publish(uri.clone(), Some(version), problems);
        }
        let open = Open {
            version,
            document: Arc::new(document),
            typed: None,
            costs: before.as_ref().and_then(|f| f.costs.clone()),
            waiting: [!red, false],
            red,
            read: before.map(|f| f.read).unwrap_or_default(),
            cancel: Cancel::default(),
        };
        state.files.insert(uri, open);
        self.wake.notify_all();
    }

    /// Does what waits for it, until the client has left or another worker took its place.
    fn work(&self, work: Work, number: u32) {
        let kind = work as usize;
        let mut state = self.lock();
        while state.send.is_some() && state.workers[kind].number == number {
            let Some((uri, file)) = state.files.iter_mut().find(|(_, f)| f.waiting[kind]) else {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            file.waiting[kind] = false;
            let (uri, document) = (uri.clone(), Arc::clone(&file.document));
            let (typed, cancel) = (file.typed.clone(), file.cancel.clone());
            state.workers[kind].busy = Some((Instant::now(), cancel.clone()));
            let sizes = Sizes::of(&document, &state.usual);
            drop(state);
            let before = || typed.as_deref().cloned().unwrap_or_default();
            let mut siblings = SiblingFiles::of(&uri);
            let look = || {
                crate::provoke(work.name());
                match work {
                    Work::Types => (document.types(&sizes.bindings, &mut siblings), None),
                    Work::Costs => {
                        let mut typed = before();
                        let costs = costs(&document, &mut typed, &sizes, &cancel);
                        (typed, Some(costs))
                    }
                }
            };
            let found = catch_unwind(AssertUnwindSafe(look)).map_err(|why| fail::reason(&*why));
            let bug = found.as_ref().err().cloned();
            // What was known before stays known; of a text that is not even typed that is nothing.
            let (typed, costs) = found.unwrap_or_else(|_| (before(), None));
            let mut problems = report(&uri, &document, Some(&typed));
            problems.extend(costs.iter().flat_map(|c| c.leaks.iter().cloned()));
            problems.extend(bug.as_deref().map(a_bug));
            state = self.lock();
            if state.workers[kind].number == number {
                state.workers[kind].busy = None;
            }
            // The text may be another one by now, or the file closed.
            let Some(file) = state.files.get_mut(&uri) else { continue };
            if cancel.is_set() || !Arc::ptr_eq(&file.document, &document) {
                continue;
            }
            let (version, compiled) = (file.version, costs.is_some());
            if let Work::Types = work {
                file.read = siblings.read;
                file.waiting[Work::Costs as usize] |= !typed.predicates.is_empty();
            }
            file.typed = Some(Arc::new(typed));
            if let Some(costs) = costs {
                file.costs = Some(Arc::new(costs));
            }
            state.publish(uri, Some(version), problems);
            if let Some(why) = bug {
                state.tell(MESSAGE_ERROR, &format!("a bug of slvrc: {why}"));
            }
            if compiled {
                self.refreshed.iter().for_each(|what| state.ask(what, Value::Null));
            }
            self.wake.notify_all();
        }
    }
}

fn start_worker(shared: &Arc<Shared>, work: Work, number: u32) -> io::Result<()> {
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name(work.name().into()).stack_size(STACK);
    thread.spawn(move || shared.work(work, number)).map(drop)
}

/// What is shown of a text that the compiler cannot bear, instead of nothing at all.
fn a_bug(why: &str) -> Diagnostic {
    let at = Position { line: 0, character: 0 };
    let message = format!(
        "a bug of slvrc: it gave up on this text ({why})\nhint: what is shown may be incomplete; please report the text"
    );
    Diagnostic::plain(Range { start: at, end: at }, ERROR, "bug", message)
}

/// A text after changes, one after another.
fn changed(mut text: String, changes: Vec<Change>) -> String {
    for change in changes {
        let Some(range) = change.range else {
            text = change.text;
            continue;
        };
        let lines = Lines::new(&text);
        let at = |p| lines.offset(&text, super::convert::from(p));
        let (start, end) = (at(range.start), at(range.end));
        text.replace_range(start..end.max(start), &change.text);
    }
    text
}

impl State {
    fn publish(&self, uri: String, version: Option<i32>, diagnostics: Vec<Diagnostic>) {
        if let Some(send) = &self.send {
            let params = PublishDiagnostics { uri, diagnostics, version };
            send(Notification::new(method::PUBLISH_DIAGNOSTICS.to_owned(), params).into());
        }
    }

    fn tell(&self, kind: u8, message: &str) {
        if let Some(send) = &self.send {
            let params = json!({ "type": kind, "message": message });
            send(Notification::new(method::MESSAGE.to_owned(), params).into());
        }
    }

    fn ask(&mut self, method: &str, params: Value) {
        self.asked = self.asked.wrapping_add(1);
        if let Some(send) = &self.send {
            send(Request::new(RequestId::from(self.asked), method.to_owned(), params).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_done_one_after_another() {
        let change = |at: Value, text: &str| {
            serde_json::from_value(json!({ "range": at, "text": text })).expect("a change")
        };
        let range = |l: u32, a: u32, m: u32, b: u32| json!({ "start": { "line": l, "character": a }, "end": { "line": m, "character": b } });
        // Units are UTF-16, and each change is about the text that the one before made.
        let changes = vec![
            change(range(0, 2, 0, 3), "b"),
            change(range(0, 3, 1, 0), ""),
            change(range(9, 0, 9, 9), "!"),
        ];
        assert_eq!(changed("𝒳a\ncd".into(), changes), "𝒳bcd!");
        let backwards = vec![change(range(0, 3, 0, 1), "x")];
        assert_eq!(changed("abcd".into(), backwards), "abcxd");
        assert_eq!(changed("abc".into(), vec![change(Value::Null, "new")]), "new");
    }
}
