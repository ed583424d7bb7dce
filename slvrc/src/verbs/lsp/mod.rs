//! `slvrc lsp`: a language server over standard input and output.
//!
//! The main thread answers requests from what parsing alone tells, which takes milliseconds. A second thread types the
//! latest text of each open file and publishes what it finds, and a third one compiles what is right, for what lines cost
//! and for what is certified; nobody waits for them. While one works, what is typed meanwhile marks the file once more, and
//! stops the compilation. Some texts take the checker very long; a thread that does not come back is replaced. All survive
//! a panic in the library: no text that somebody is writing may take the server down.
//!
//! | file | does |
//! |---|---|
//! | `wire.rs` | messages over standard input and output |
//! | `protocol.rs` | the parts of the protocol that are used |
//! | `convert.rs` | values of the compiler as those of the protocol |
//! | `library.rs` | texts of the binary as files |
//! | `state.rs` | open files, and the threads that look at them |
//! | `costs.rs` | what lines cost, prove and leak |
//! | `answers.rs` | answers to requests |

mod answers;
mod convert;
mod costs;
mod library;
mod protocol;
mod state;
mod wire;

use anyhow::{Context, anyhow};
use lsp_server::{Connection, ErrorCode, Message, Request, Response};
use protocol::{EXPLAIN, FIX_ALL, QUICK_FIX, SYNC_INCREMENTAL, method};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use slvr_compiler::ide::TokenKind;
use state::Shared;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[derive(clap::Args)]
pub struct Lsp {
    /// Standard input and output, which is what it always uses; editors like to say so.
    #[arg(long)]
    stdio: bool,
}

impl Lsp {
    pub fn run(self) -> anyhow::Result<()> {
        let (connection, threads) = wire::stdio().context("standard input or output")?;
        serve(connection)?;
        // Whoever sends has let go of the connection by now; what is under way is still written.
        threads.join().context("standard input or output")
    }
}

fn capabilities() -> Value {
    let names: Vec<&str> = TokenKind::ALL.iter().map(|(_, name)| *name).collect();
    json!({
        "textDocumentSync": { "openClose": true, "change": SYNC_INCREMENTAL, "save": true },
        "hoverProvider": true,
        "definitionProvider": true,
        "referencesProvider": true,
        "documentHighlightProvider": true,
        "renameProvider": { "prepareProvider": true },
        "documentFormattingProvider": true,
        "completionProvider": { "triggerCharacters": [".", ":", ">"] },
        "signatureHelpProvider": { "triggerCharacters": ["(", "[", ","] },
        "documentSymbolProvider": true,
        "workspaceSymbolProvider": true,
        "foldingRangeProvider": true,
        "selectionRangeProvider": true,
        "semanticTokensProvider": {
            "legend": { "tokenTypes": names, "tokenModifiers": [] }, "full": true,
        },
        "codeActionProvider": { "codeActionKinds": [QUICK_FIX, FIX_ALL] },
        "inlayHintProvider": true,
        "codeLensProvider": {},
        "executeCommandProvider": { "commands": [EXPLAIN] },
    })
}

fn serve(connection: Connection) -> anyhow::Result<()> {
    let (id, client) = connection.initialize_start().map_err(|e| match e.channel_is_disconnected() {
        true => anyhow!(
            "standard input ended before an editor said anything: an editor starts `slvrc lsp` and talks to it; \
             `slvrc check FILE` checks a file"
        ),
        false => e.into(),
    })?;
    let result = json!({
        "capabilities": capabilities(),
        "serverInfo": { "name": "slvrc", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, result)?;

    let out = connection.sender.clone();
    let send = move |message: Message| drop(out.send(message));
    let shared = Shared::start(&client, Box::new(send))?;
    if client.pointer("/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration")
        == Some(&Value::Bool(true))
    {
        let watched = json!({ "watchers": [{ "globPattern": "**/*.slvr" }] });
        let method = method::DID_CHANGE_FILES;
        let one = json!({ "id": "files", "method": method, "registerOptions": watched });
        shared.ask(method::REGISTER, json!({ "registrations": [one] }));
    }
    let done = answer(&connection, &shared);
    // A worker may be busy for a while; it has nobody to tell any more.
    shared.leave();
    done
}

/// Answers until the client says good-bye. After `shutdown` nothing is done any more, and whoever asks is told so.
fn answer(connection: &Connection, shared: &Arc<Shared>) -> anyhow::Result<()> {
    let mut down = false;
    for message in &connection.receiver {
        match message {
            Message::Request(Request { id, .. }) if down => {
                let why = "the server was shut down".to_owned();
                let code = ErrorCode::InvalidRequest as i32;
                connection.sender.send(Response::new_err(id, code, why).into())?;
            }
            Message::Request(request) if request.method == method::SHUTDOWN => {
                down = true;
                shared.leave();
                connection.sender.send(Response::new_ok(request.id, Value::Null).into())?;
            }
            Message::Request(request) => {
                connection.sender.send(respond(shared, request).into())?;
            }
            Message::Notification(n) if n.method == method::EXIT && !down => {
                return Err(anyhow!("the client left without a shutdown"));
            }
            Message::Notification(n) if n.method == method::EXIT => return Ok(()),
            Message::Notification(_) if down => {}
            Message::Notification(n) => {
                let _ = catch_unwind(AssertUnwindSafe(|| shared.notified(n)));
                Shared::replace_stuck(shared)?;
            }
            Message::Response(_) => {}
        }
    }
    match down {
        true => Ok(()),
        false => Err(anyhow!("the client closed standard input without a shutdown")),
    }
}

fn respond(shared: &Arc<Shared>, request: Request) -> Response {
    let id = request.id.clone();
    match catch_unwind(AssertUnwindSafe(|| answers::answer(shared, request))) {
        Ok(Ok(value)) => Response::new_ok(id, value),
        Ok(Err((code, why))) => Response::new_err(id, code as i32, why),
        // The panic itself is on standard error.
        Err(_) => Response::new_err(id, ErrorCode::InternalError as i32, "a bug of slvrc".into()),
    }
}

fn params<P: DeserializeOwned>(value: Value) -> Result<P, (ErrorCode, String)> {
    serde_json::from_value(value).map_err(|e| (ErrorCode::InvalidParams, e.to_string()))
}
