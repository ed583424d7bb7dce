//! Random bytes that nearly make sense, to everything that reads bytes of others. `SLVR_COUNT` is how many there are, and
//! `SLVR_SEED` where they begin.

use crate::harness::{Asked, frames, submissions};
use crate::schedules::Draw;
use crate::world::number;
use slvr_node::hex::Hex;
use slvr_node::state::RoundKey;
use slvr_node::submission::Manifest;
use slvr_node::wire::{Ask, PROTOCOL, Purpose, RunName, frame};

/// Draws a place among so many, or the first of none.
fn of(draw: &mut Draw, n: usize) -> usize {
    draw.of(n.max(1) as u64) as usize
}

/// Changes some of it: bits, bytes that mean something, pieces doubled, removed or of another one.
fn mutate(draw: &mut Draw, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    const TELLING: &[&[u8]] = &[
        b"\r\n",
        b"\r\n\r\n",
        b"\0",
        b"\"",
        b"{",
        b"]",
        b"/",
        b"..",
        b"%2e",
        b"-1",
        b"18446744073709551616",
        b"Content-Length: 1\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"\xff\xfe",
        b"e999",
        b"[[[[[[[[",
        b"HTTP/1.0",
        b"Upload-Offset: 0\r\n",
        b"ffffffff\r\n",
    ];
    for _ in 0..1 + of(draw, 4) {
        let at = of(draw, bytes.len() + 1);
        let n = of(draw, 12.min(bytes.len() - at.min(bytes.len())) + 1);
        match of(draw, 7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << of(draw, 8),
            1 => drop(bytes.drain(at..at + n)),
            2 => drop(bytes.splice(at..at + n, TELLING[of(draw, TELLING.len())].iter().copied())),
            3 => {
                let piece = bytes[at..at + n].to_vec();
                drop(bytes.splice(at..at, piece.repeat(1 + of(draw, 200))));
            }
            4 => bytes.truncate(at),
            5 => {
                let other = &others[of(draw, others.len())];
                let from = of(draw, other.len());
                let to = from + of(draw, other.len() - from + 1);
                drop(bytes.splice(at..at, other[from..to].iter().copied()));
            }
            _ => bytes.insert(at, of(draw, 256) as u8),
        }
    }
}
fn requests() -> Vec<Vec<u8>> {
    let manifest = serde_json::to_string(&manifest()).expect("JSON");
    let post = |path: &str, who: &str, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {who}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let get = |path: &str, who: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {who}\r\n\r\n")
    };
    let submission = "/v1/tasks/t/rounds/1/submissions/00000000000000000000000000000000";
    let all = [
        get("/v1/health", ""),
        get("/v1/openapi.json", ""),
        get("/v1/tasks", "CLIENT"),
        get("/v1/tasks/t/artifact?clients=3", "CLIENT"),
        get("/v1/tasks/t/rounds/18446744073709551615/report", "COORDINATOR"),
        get("/v1/tasks/t/rounds/1/reveals", "CLIENT"),
        get(submission, "CLIENT"),
        post(submission, "CLIENT", &manifest),
        post("/v1/tasks/t/rounds/1", "COORDINATOR", "{\"seconds\": 60, \"grace\": 1, \"public\": {\"1\": \"00ff\"}}"),
        post("/v1/tasks/t/rounds/1/close", "COORDINATOR", ""),
        format!("PATCH {submission} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer CLIENT\r\nUpload-Offset: 0\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        "DELETE /v1/tasks/t/rounds/1/words HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer COORDINATOR\r\n\r\n".into(),
        get("/v1/tasks", "CLIENT") + &get("/v1/tasks/t/rounds", "CLIENT"),
    ];
    all.map(String::into_bytes).to_vec()
}

fn manifest() -> Manifest {
    Manifest {
        task: "t".into(),
        round: 1,
        client: "a".into(),
        submission: Hex([0; 16]),
        circuit: Hex([1; 32]),
        opening: Hex([4; 32]),
        components: [Hex([2; 32]); 3],
        signature: Hex([3; 64]),
    }
}

#[test]
fn random_bytes_that_nearly_make_sense_are_answered_or_refused() {
    let (count, first) = (number("SLVR_COUNT", 3000), number("SLVR_SEED", 1));
    let dir = tempfile::tempdir().expect("a folder");
    let asked = Asked::new(dir.path());
    let key = RoundKey { task: "t".into(), round: 1 };
    let requests = requests();
    for whole in &requests {
        let answer = asked.request(whole);
        assert!(answer.starts_with(b"HTTP/1.1 "), "{}", String::from_utf8_lossy(whole));
    }
    let mut others = vec![
        frame(&Purpose::Control { version: PROTOCOL }).to_vec(),
        frame(&Ask::Start(RunName { key: key.clone(), attempt: 1 })).to_vec(),
        frame(&Ask::Abort { key, why: "w".into(), order: None }).to_vec(),
        serde_json::to_vec(&manifest()).expect("JSON"),
        vec![0; 200],
    ];
    let read = others.len();
    others.extend(requests);
    let mut answered = 0;
    for seed in first..first + count {
        let mut draw = Draw(seed);
        let kind = of(&mut draw, others.len());
        let mut bytes = others[kind].clone();
        mutate(&mut draw, &mut bytes, &others);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if kind < read {
                frames(&bytes);
                submissions(&bytes);
                return 0;
            }
            u64::from(!asked.request(&bytes).is_empty())
        }));
        answered +=
            done.unwrap_or_else(|_| panic!("seed {seed}: {:?}", String::from_utf8_lossy(&bytes)));
    }
    eprintln!("{count} mutants from seed {first}, {answered} requests answered");
    assert!(answered > count / 8, "{answered} of {count} were answered: too many make no sense");
    assert!(!asked.request(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n").is_empty());
}
