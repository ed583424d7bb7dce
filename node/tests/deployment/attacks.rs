//! Strangers at both ports: refused, logged, no memory growth, the rounds unharmed.

use crate::upkeep::ask;
use crate::world::{LONG, Shape, World, client, number, until};
use slvr_node::config::{identity, token_for};
use slvr_node::hex::sha256;
use slvr_node::trust;
use slvr_runtime::link::tls::Secure;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Calls a port of node 0 with somebody's certificate, or none.
pub fn call(world: &World, port: u16, own: Option<&str>) -> std::io::Result<Secure> {
    call_at(world, (0, port), own)
}

/// Calls the port of a node for nodes.
pub fn call_node(world: &World, node: usize, own: Option<&str>) -> std::io::Result<Secure> {
    call_at(world, (node, world.peer_ports[node]), own)
}

pub fn call_at(world: &World, at: (usize, u16), own: Option<&str>) -> std::io::Result<Secure> {
    dial(world, at.1, own, &format!("node-{}/node", at.0))
}

/// Calls whoever shows this certificate.
pub fn dial(world: &World, port: u16, own: Option<&str>, who: &str) -> std::io::Result<Secure> {
    let path = |name: &str, end: &str| world.folder.path().join(format!("{name}.{end}"));
    let of = |who: &str| identity(&path(who, "crt"), &path(who, "key")).expect("an identity");
    let (own, there) = (own.map(of), sha256(&of(who).0));
    let config = trust::client(own.as_ref().map(|(c, k)| (c, k)), vec![there]);
    let config = config.expect("a configuration");
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(LONG))?;
    Secure::call_with(Arc::new(config), socket)
}

/// What the other end says until it closes.
pub fn says(tls: &Secure) -> String {
    let (mut out, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = tls.read(&mut part) {
        out.extend_from_slice(&part[..n]);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether the other end closes without having said anything.
pub fn is_closed(tls: &Secure) -> bool {
    !matches!(tls.read(&mut [0; 64]), Ok(1..))
}

/// How far a node is with a submission, unless it is reading a piece of it.
fn caller_offset(caller: &slvr_node::client::Caller, path: &str) -> Option<u64> {
    let (_, state) = caller.call(1, &hyper::Method::GET, path, &[], &[], 1 << 16).ok()?;
    serde_json::from_slice::<serde_json::Value>(&state).ok()?["offset"].as_u64()
}

fn round_works(world: &World, round: u64) {
    world.begin(round, &[0, 1, 2, 3, 4]);
    world.released(round, &[0, 1, 2, 3, 4]);
}

/// Whoever only asks whether a node lives makes room for an operator, however many there are.
#[test]
fn strangers_at_the_port_of_operators_keep_no_operator_out() {
    let mut world = World::new(Shape::default());
    world.start(0);
    let strangers: Vec<TcpStream> = (0..100)
        .map(|_| {
            let port = world.operations_ports[0];
            let mut socket =
                until(LONG, "connects", || TcpStream::connect(("127.0.0.1", port)).ok());
            socket.set_read_timeout(Some(LONG)).expect("a limit");
            // One that was turned away already hears it later.
            let _ = socket.write_all(b"GET /livez HTTP/1.1\r\nHost: node\r\n\r\n");
            let _ = socket.read(&mut [0; 1]);
            socket
        })
        .collect();
    for _ in 0..40 {
        let shown = ask(&world, 0, "GET", "/status.json", "");
        assert!(shown.starts_with("HTTP/1.1 200"), "{shown}");
    }
    drop(strangers);
}

#[test]
fn who_is_no_node_gets_nothing_at_the_port_of_nodes() {
    let world = World::started(Shape::default());
    world.open(1, 600);
    let port = world.peer_ports[0];
    // No certificate; a client's; the node's own. TLS 1.3 tells a caller only after its handshake.
    for own in
        [None, Some(format!("clients/{}/client", client(0))), Some("node-0/node".to_string())]
    {
        let done = call(&world, port, own.as_deref());
        assert!(done.is_err() || done.is_ok_and(|tls| is_closed(&tls)), "{own:?}");
    }
    let refused = || world.logged(0).matches("turned away").count() >= 3;
    until(LONG, "three callers are logged", || refused().then_some(()));
    // Another node, which says what makes no sense: a length of 2^63, garbage, a frame that is cut.
    for bytes in [
        &(1u64 << 63).to_le_bytes()[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[9, 0, 0, 0, 0, 0, 0, 0, b'{'],
    ] {
        let tls = call(&world, port, Some("node-1/node")).expect("a node's certificate");
        tls.write_all(bytes, true).expect("sends");
        if bytes.len() == 9 {
            drop(tls);
        } else {
            assert!(is_closed(&tls), "{bytes:?}");
        }
    }
    // Garbage and half a handshake on the socket itself; they keep nobody waiting.
    let mut open: Vec<TcpStream> = Vec::new();
    for bytes in [&b"\x16\x03\x01\x02\x00\x01"[..], b"garbage\n", b""] {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("connects");
        socket.write_all(bytes).expect("sends");
        open.push(socket);
    }
    let before = world.resident(0);
    open.extend((0..500).map_while(|_| TcpStream::connect(("127.0.0.1", port)).ok()));
    (0..5).for_each(|i| world.submit(i, 1));
    world.released(1, &[0, 1, 2, 3, 4]);
    let grown = world.resident(0).saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
}

#[test]
fn who_is_enrolled_is_served_while_strangers_hold_all_connections() {
    let world = World::started(Shape { limits: "connections = 64".into(), ..Shape::default() });
    world.open(1, 600);
    let port = world.client_ports[0];
    let idle: Vec<TcpStream> =
        (0..64).map(|_| TcpStream::connect(("127.0.0.1", port)).expect("connects")).collect();
    // The client's connection is the last. Nothing is tried again, so it is let in at once or never.
    let shown = world.coordinator().status(0, "sums", 1).expect("is served");
    assert_eq!(shown["phase"], "open", "{shown}");
    // The first of the strangers has made room for it, and the last is still there.
    let mut byte = [0; 1];
    let mut first = &idle[0];
    first.set_read_timeout(Some(LONG)).expect("a limit");
    assert!(!matches!(first.read(&mut byte), Ok(1..)), "it is closed");
    let mut last = &idle[63];
    last.set_nonblocking(true).expect("a socket");
    let waits = last.read(&mut byte).expect_err("nothing has come");
    assert_eq!(waits.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn idle_and_slow_clients_and_bodies_longer_than_declared_harm_nobody() {
    let world = World::started(Shape {
        limits: "connections = 64\nslowest = 1000000".into(),
        ..Shape::default()
    });
    world.open(1, 600);
    let port = world.client_ports[0];
    let before = world.resident(0);
    let mut idle: Vec<TcpStream> =
        (0..400).map_while(|_| TcpStream::connect(("127.0.0.1", port)).ok()).collect();
    // What is idle is closed, and room is there again.
    round_works(&world, 2);
    let grown = world.resident(0).saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
    idle.clear();
    let tls =
        || call(&world, port, Some(&format!("clients/{}/client", client(0)))).expect("connects");
    let s = world.submission(0, 1);
    let path = format!("/v1/tasks/sums/rounds/1/submissions/{}", s.manifest.submission);
    // A manifest that is announced longer than any may be is refused before it comes.
    let long = tls();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 99999999999\r\n\r\n"
    );
    long.write_all(head.as_bytes(), true).expect("sends");
    assert!(says(&long).starts_with("HTTP/1.1 413"));
    // A body that comes by the byte is given up, after a while in which other things happen.
    let slow = tls();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 500\r\n\r\n{{"
    );
    slow.write_all(head.as_bytes(), true).expect("sends");
    // Garbage, and a head without an end.
    for bytes in [&b"\x00\x01\x02\x03\r\n\r\n"[..], &[b'a'; 100_000]] {
        let garbage = tls();
        let _ = garbage.write_all(bytes, true);
        let answer = says(&garbage);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    // A connection that breaks within a piece: what came is kept, and the client goes on from there.
    let wide = World::started(Shape { n: 200_000, ..Shape::default() });
    wide.open(1, 600);
    let s = wide.submission(0, 1);
    let path = format!("/v1/tasks/sums/rounds/1/submissions/{}", s.manifest.submission);
    let (caller, manifest) = (wide.client(0), serde_json::to_vec(&s.manifest).expect("JSON"));
    let state = || {
        let (_, state) =
            caller.call(1, &hyper::Method::POST, &path, &[], &manifest, 1 << 16).expect("answers");
        serde_json::from_slice::<serde_json::Value>(&state).expect("JSON")["offset"].as_u64()
    };
    assert_eq!(state(), Some(0));
    let part = s.part(1);
    let broken = call_at(&wide, (1, wide.client_ports[1]), None).expect("connects");
    let token = token_for(caller.config().token.as_deref().expect("a token"), 1);
    let head = format!(
        "PATCH {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nUpload-Offset: 0\r\nContent-Length: {}\r\n\r\n",
        *token,
        part.len()
    );
    broken.write_all(head.as_bytes(), true).expect("sends");
    broken.write_all(&part[..700_000], true).expect("sends");
    broken.socket().shutdown(std::net::Shutdown::Write).expect("breaks");
    drop(broken);
    let at =
        until(LONG, "what came is kept", || caller_offset(&caller, &path).filter(|at| *at > 0));
    assert!(at <= 700_000, "{at}");
    caller.submit_to(1, &s, &|_, _, _| {}).expect("goes on");
    drop(wide);
    let answer = says(&slow);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer:?}");
    // Who is not enrolled is told so, and nothing of the deployment.
    let stranger = call(&world, port, None).expect("connects");
    stranger
        .write_all(b"GET /v1/tasks HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", true)
        .expect("sends");
    let answer = says(&stranger);
    assert!(answer.starts_with("HTTP/1.1 401") && !answer.contains("sums"), "{answer}");
    // TLS is not skipped.
    let mut plain = TcpStream::connect(("127.0.0.1", port)).expect("connects");
    plain.write_all(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n").expect("sends");
    let mut answer = Vec::new();
    plain.set_read_timeout(Some(LONG)).expect("an option");
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    round_works(&world, 3);
}

/// `SLVR_COUNT` is how many connections there are in the long run.
#[test]
fn idle_connections_and_slow_requests_take_a_bounded_memory_and_no_room() {
    let count = number("SLVR_COUNT", 2000) as usize;
    let world = World::started(Shape { limits: "slowest = 100000".into(), ..Shape::default() });
    round_works(&world, 1);
    let (port, own) = (world.client_ports[0], format!("clients/{}/client", client(0)));
    let wave = |round: u64, last: bool| {
        let idle: Vec<TcpStream> =
            (0..count).map_while(|_| TcpStream::connect(("127.0.0.1", port)).ok()).collect();
        assert_eq!(idle.len(), count, "raise the limit of open files (ulimit -n)");
        // Heads and bodies that come by the byte, of somebody who is enrolled.
        let s = world.submission(0, 1);
        let path = format!("/v1/tasks/sums/rounds/1/submissions/{}", s.manifest.submission);
        let begins = [
            "GET /v1/tasks HTTP/1.1\r\nX-Slow: ".to_string(),
            format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n"),
        ];
        let slow: Vec<Secure> = (0..40)
            .map(|k| {
                let tls = call(&world, port, Some(&own)).expect("connects");
                tls.write_all(begins[k % 2].as_bytes(), true).expect("sends");
                tls
            })
            .collect();
        let (most, worked) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let drips = scope.spawn(|| {
                // In the last wave until all of them have been given up.
                let mut open: Vec<&Secure> = slow.iter().collect();
                while !open.is_empty() && (last || !worked.load(Ordering::Relaxed)) {
                    open.retain(|tls| tls.write_all(b"x", true).is_ok());
                    most.fetch_max(world.resident(0), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(100));
                }
            });
            round_works(&world, round);
            worked.store(true, Ordering::Relaxed);
            drips.join().expect("all are given up");
        });
        drop(idle);
        most.into_inner()
    };
    let before = world.resident(0);
    let first = wave(2, false);
    let second = wave(3, true);
    eprintln!(
        "{count} idle connections: {before} bytes before, {first} and {second} at most in two waves"
    );
    // A connection takes some kilobytes while it is there, and there are at most so many as are configured.
    assert!(first.saturating_sub(before) < 256 << 20, "{first} bytes, {before} before");
    let grown = second.saturating_sub(first);
    assert!(grown < 16 << 20, "{grown} bytes more in the second wave");
}
