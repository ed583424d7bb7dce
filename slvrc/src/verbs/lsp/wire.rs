//! Messages over standard input and output: `Content-Length` headers and JSON.
//!
//! What comes in may be anything. A message that is no JSON is answered with the error that the protocol has
//! for it, and the next one is read; headers and messages longer than any editor sends end the connection before
//! they are read.

use lsp_server::{Connection, ErrorCode, Message};
use serde_json::{Value, json};
use slvr_compiler::syntax::MAX_SOURCE;
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The longest message: the longest text, of which JSON may write each byte in six, and room for the rest.
const MAX_MESSAGE: u64 = 6 * MAX_SOURCE as u64 + (1 << 20);
/// The longest line of a header.
const MAX_HEADER: u64 = 1 << 12;
/// The most lines of a header.
const MAX_HEADERS: usize = 64;

enum Read1 {
    Message(Message),
    /// What is no message, with the code of the error, and what to say.
    Bad(ErrorCode, String),
    End,
}

/// The threads that read and write.
pub struct Threads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Threads {
    /// Waits for what is under way.
    pub fn join(self) -> io::Result<()> {
        let of = |thread: JoinHandle<io::Result<()>>| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a bug of slvrc")))
        };
        let read = of(self.reader);
        of(self.writer).and(read)
    }
}

/// A connection over standard input and output.
pub fn stdio() -> io::Result<(Connection, Threads)> {
    let (server, client) = Connection::memory();
    let out = Arc::new(Mutex::new(io::stdout()));
    let (receiver, sender) = (client.receiver, client.sender);
    let answers = Arc::clone(&out);
    let writer = thread::Builder::new().name("writes".into()).spawn(move || {
        receiver.into_iter().try_for_each(|message| {
            message.write(&mut *answers.lock().unwrap_or_else(PoisonError::into_inner))
        })
    })?;
    let reader = thread::Builder::new().name("reads".into()).spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            match read(&mut input)? {
                Read1::Message(message) => {
                    let exit = matches!(&message, Message::Notification(n) if n.method == "exit");
                    // Nobody listens any more once the server has said good-bye.
                    if sender.send(message).is_err() || exit {
                        return Ok(());
                    }
                }
                Read1::Bad(code, why) => {
                    refuse(&mut *out.lock().unwrap_or_else(PoisonError::into_inner), code, &why)?;
                }
                Read1::End => return Ok(()),
            }
        }
    })?;
    Ok((server, Threads { reader, writer }))
}

/// Answers what cannot be attributed to a request.
fn refuse(out: &mut impl Write, code: ErrorCode, why: &str) -> io::Result<()> {
    let error = json!({ "code": code as i32, "message": why });
    let text = json!({ "jsonrpc": "2.0", "id": Value::Null, "error": error }).to_string();
    write!(out, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    out.flush()
}

fn read(from: &mut impl BufRead) -> io::Result<Read1> {
    let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut length = None;
    for lines in 0.. {
        let mut line = Vec::new();
        from.take(MAX_HEADER).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(Read1::End);
        }
        if !line.ends_with(b"\n") || lines == MAX_HEADERS {
            return Err(bad(format!(
                "a header of more than {MAX_HEADER} bytes or {MAX_HEADERS} lines, or cut short"
            )));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() && (length.is_some() || lines > 0) {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("Content-Length")
        {
            let value = value.trim();
            length = Some(value.parse::<u64>().map_err(|_| {
                bad(format!("a Content-Length that is no number: {}", value.escape_debug()))
            })?);
        }
    }
    // Without a length there is no telling where the next message begins.
    let length = length.ok_or_else(|| bad("a header without Content-Length".into()))?;
    if length > MAX_MESSAGE {
        return Err(bad(format!("a message of {length} bytes; at most {MAX_MESSAGE} are read")));
    }
    let mut body = Vec::new();
    from.take(length).read_to_end(&mut body)?;
    if (body.len() as u64) < length {
        return Ok(Read1::End);
    }
    Ok(match serde_json::from_slice::<Value>(&body) {
        Err(e) => Read1::Bad(ErrorCode::ParseError, format!("not JSON: {e}")),
        Ok(value) => match serde_json::from_value(value) {
            Ok(message) => Read1::Message(message),
            Err(_) => Read1::Bad(
                ErrorCode::InvalidRequest,
                "neither a request nor a notification nor a response".into(),
            ),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn what_is_no_message_is_told_apart_and_the_next_one_is_read() {
        let good = r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#;
        let deep = "[".repeat(100_000);
        let text = [framed("{nonsense"), framed("[1]"), framed(&deep), framed(good)].concat();
        let mut from = text.as_bytes();
        let mut next = || read(&mut from).expect("framed");
        assert!(matches!(next(), Read1::Bad(ErrorCode::ParseError, _)));
        assert!(matches!(next(), Read1::Bad(ErrorCode::InvalidRequest, _)));
        assert!(matches!(next(), Read1::Bad(ErrorCode::ParseError, _)));
        assert!(matches!(next(), Read1::Message(Message::Notification(_))));
        assert!(matches!(next(), Read1::End));
    }

    #[test]
    fn lengths_are_bounded_before_anything_is_read() {
        let refused = |text: &str| read(&mut text.as_bytes()).is_err();
        assert!(refused("Content-Length: 18446744073709551615\r\n\r\n{}"));
        assert!(refused("Content-Length: 99999999999999999999\r\n\r\n{}"));
        assert!(refused(&format!("Content-Length: {}\r\n\r\n", MAX_MESSAGE + 1)));
        assert!(refused(&"x".repeat(1 << 20)));
        assert!(refused(&"a: b\r\n".repeat(1 << 10)));
        assert!(refused("Content-Type: x\r\n\r\n{}"));
    }

    #[test]
    fn an_answer_to_nobody_has_a_null_id() {
        let mut out = Vec::new();
        refuse(&mut out, ErrorCode::ParseError, "not JSON").expect("writes");
        let text = String::from_utf8(out).expect("text");
        let (_, body) = text.split_once("\r\n\r\n").expect("a header");
        let value: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!((&value["id"], &value["error"]["code"]), (&Value::Null, &json!(-32700)));
    }
}
