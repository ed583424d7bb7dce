//! An editor's side of a conversation with `slvrc lsp`.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing the server does takes this long, on whatever machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server that was started, and what it says.
pub struct Client {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Notifications read while waiting for something else.
    pub early: Vec<Value>,
    last: i64,
    pub cache: TempDir,
}

fn read(from: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => {
                if let Some(n) = line.strip_prefix("Content-Length: ") {
                    length = n.parse().ok();
                }
            }
        }
    }
    let mut body = vec![0; length?];
    from.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

impl Client {
    /// A server that has not heard a word yet.
    pub fn spawn(env: &[(&str, &str)]) -> Client {
        let cache = tempfile::tempdir().expect("a folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_slvrc"))
            .args(["lsp", "--stdio"])
            .env("XDG_CACHE_HOME", cache.path())
            .env("HOME", cache.path())
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("slvrc starts");
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (send, messages) = channel();
        thread::spawn(move || {
            while let Some(message) = read(&mut stdout) {
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        Client { child, stdin, messages, early: Vec::new(), last: 0, cache }
    }

    pub fn start() -> Client {
        Client::start_with(&[])
    }

    /// With these variables of the environment.
    pub fn start_with(env: &[(&str, &str)]) -> Client {
        let mut client = Client::spawn(env);
        let answer = client.request("initialize", json!({ "capabilities": capabilities() }));
        let can = &answer["capabilities"];
        assert_eq!(can["textDocumentSync"]["change"], 2, "{answer}");
        for what in ["hoverProvider", "definitionProvider", "documentFormattingProvider"] {
            assert_eq!(can[what], true, "{what} in {answer}");
        }
        assert!(can["completionProvider"].is_object(), "{answer}");
        client.notify("initialized", json!({}));
        client
    }

    pub fn write(&mut self, message: &Value) {
        let body = message.to_string();
        let stdin = self.stdin.as_mut().expect("standard input is open");
        write!(stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    /// Bytes as they are.
    pub fn raw(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        stdin.write_all(text.as_bytes()).expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The whole answer to a request.
    pub fn answer(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.next_answer(&format!("an answer to {method}"));
            if message["id"] == id {
                return message;
            }
            self.early.push(message);
        }
    }

    /// The next answer, to whatever. Requests of the server, which have ids of their own, and notifications may come before it.
    pub fn next_answer(&mut self, what: &str) -> Value {
        loop {
            let message = self.next(what);
            if message.get("method").is_none() {
                return message;
            }
            self.early.push(message);
        }
    }

    /// The result of a request.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    pub fn next(&mut self, what: &str) -> Value {
        self.messages.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("no {what}: {e}"))
    }

    /// Diagnostics of a version of a file; those of earlier ones are passed over.
    pub fn diagnostics(&mut self, version: i64) -> Vec<Value> {
        loop {
            let message = match self.early.is_empty() {
                false => self.early.remove(0),
                true => self.next("diagnostics"),
            };
            if message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["version"] == version
            {
                return message["params"]["diagnostics"].as_array().expect("a list").clone();
            }
        }
    }

    pub fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "slvr", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    pub fn change(&mut self, uri: &str, version: i64, text: &str) {
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "text": text }],
            }),
        );
    }

    /// A request about the place of the nth occurrence of some ASCII text.
    pub fn at(&mut self, method: &str, uri: &str, text: &str, what: &str, nth: usize) -> Value {
        let (byte, _) = text.match_indices(what).nth(nth).expect("the text has it");
        let line = text[..byte].matches('\n').count();
        let start = text[..byte].rfind('\n').map_or(0, |i| i + 1);
        let character = text[start..byte].encode_utf16().count();
        let position = json!({ "line": line, "character": character });
        self.request(method, json!({ "textDocument": { "uri": uri }, "position": position }))
    }

    pub fn wait(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn shutdown(mut self) {
        assert_eq!(self.request("shutdown", Value::Null), Value::Null);
        self.notify("exit", Value::Null);
        assert_eq!(self.wait().code(), Some(0));
    }
}

/// What this editor can do.
fn capabilities() -> Value {
    let refresh = json!({ "refreshSupport": true });
    let files = json!({ "dynamicRegistration": true });
    json!({ "workspace": { "inlayHint": refresh, "codeLens": refresh, "didChangeWatchedFiles": files } })
}

impl Client {
    /// Waits until the server has compiled something: it says that hints and lenses are new.
    pub fn refreshed(&mut self) {
        self.told("workspace/inlayHint/refresh");
        self.told("workspace/codeLens/refresh");
    }

    /// The parameters of the next message of the server that asks for something.
    pub fn told(&mut self, method: &str) -> Value {
        let early = self.early.iter().position(|m| m["method"] == method);
        if let Some(at) = early {
            return self.early.remove(at)["params"].clone();
        }
        loop {
            let message = self.next(method);
            if message["method"] == method {
                return message["params"].clone();
            }
            self.early.push(message);
        }
    }

    /// The diagnostics of a file that came last.
    pub fn last_diagnostics(&mut self, uri: &str) -> Vec<Value> {
        let of = |m: &&Value| {
            m["method"] == "textDocument/publishDiagnostics" && m["params"]["uri"] == uri
        };
        let last = self.early.iter().rfind(of).map(|m| m["params"]["diagnostics"].clone());
        last.and_then(|d| d.as_array().cloned()).unwrap_or_default()
    }

    /// The diagnostics of a version of a file once nothing more is to come: errors, or what compiling says.
    pub fn settled(&mut self, uri: &str, version: i64) -> Vec<Value> {
        for last in [false, true] {
            let found = loop {
                let message = match self.early.is_empty() {
                    false => self.early.remove(0),
                    true => self.next("diagnostics"),
                };
                let params = &message["params"];
                let published = message["method"] == "textDocument/publishDiagnostics";
                if published && params["uri"] == uri && params["version"] == version {
                    break params["diagnostics"].as_array().expect("a list").clone();
                }
            };
            // What is right so far is compiled, and said once more.
            let library = |d: &Value| d["severity"] == 1 || d["code"] == "E0029";
            if last || found.iter().any(library) {
                return found;
            }
        }
        Vec::new()
    }

    /// Kilobytes of memory that the server holds, where the system says.
    pub fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed leaves no server behind.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
