//! `run --processes`: the same run as with threads, and what happens when a party is not there.

use crate::folder::{ACCURACY, Place, accuracy, f32s};
use crate::ports;
use std::fs::Permissions;
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn place() -> Place {
    let place = Place::new();
    accuracy(1).write(&place.path("in"));
    place
}

#[test]
fn processes_run_what_threads_run() {
    let place = place();
    let run = |how: &str, out: &str| {
        let args = format!("run {ACCURACY} --inputs in --outputs {out} --seed 7 --json {how}");
        place.slvrc(&args).ok()
    };
    let threads = run("", "a");
    let ways = [
        ("--processes", "b", "loopback TLS"),
        ("--processes --plain", "c", "loopback TCP"),
        ("--net lan --shape", "d", "lan"),
    ];
    for (how, out, net) in ways {
        let other = run(how, out);
        for key in ["rounds", "bytes_sent", "upload_bytes", "peak_memory_bytes", "coins", "outputs"]
        {
            assert_eq!(other[key], threads[key], "{how}: {key}");
        }
        assert_eq!(other["net"], net);
        let file = |dir: &str| place.tensors(&format!("{dir}/Server.safetensors"));
        assert_eq!(file(out), file("a"), "{how}");
    }
}

/// A client fails, and processes go back as threads do.
#[test]
fn processes_repeat_what_threads_repeat() {
    let place = Place::new();
    let mut folder = accuracy(1);
    folder.put("Client/2", "image", f32s(&[2, 4], &[5.0; 8]));
    folder.write(&place.path("in"));
    let run = |how: &str| {
        let args = format!(
            "run {ACCURACY} --inputs in --submit-unchecked --invalid zeros --seed 7 --json {how}"
        );
        place.slvrc(&args).ok()
    };
    let (threads, processes) = (run(""), run("--processes"));
    for key in ["rounds", "bytes_sent", "replaced", "peak_memory_bytes", "outputs"] {
        assert_eq!(processes[key], threads[key], "{key}");
    }
    assert!(threads["rounds"].as_u64() > threads["predicted_rounds"].as_u64(), "no repetition");
}

/// A party that talks without end: what it announces is longer than any report, so nothing of it is kept.
#[test]
fn a_party_that_never_stops_talking_is_ended() {
    let place = place();
    let run = format!("run {ACCURACY} --inputs in --processes --deadline 60");
    let done = place.slvrc(&format!("{run} --spawn yes"));
    assert_eq!(done.status, 3, "{}", done.stderr);
    assert!(done.stderr.contains("its process"), "{}", done.stderr);
    assert!(done.stderr.len() < 2000, "{}", done.stderr.len());
}

#[test]
fn a_party_that_is_not_there_aborts_the_run() {
    let place = place();
    let run = format!("run {ACCURACY} --inputs in --processes --deadline 60");
    // `true` takes the program for an argument and ends at once.
    let gone = place.slvrc(&format!("{run} --spawn true"));
    assert_eq!(gone.status, 3, "{}", gone.stderr);
    assert!(gone.stderr.contains("its process ended before the run was over"), "{}", gone.stderr);
    let nowhere = place.slvrc(&format!("{run} --hosts 192.0.2.1:1,192.0.2.1:2,192.0.2.1:3"));
    assert_eq!(nowhere.status, 3, "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("cannot listen at 192.0.2.1:"), "{}", nowhere.stderr);
    let two = place.slvrc(&format!("{run} --hosts a:1,b:2"));
    assert_eq!(two.status, 2, "{}", two.stderr);
    let missing = place.slvrc(&format!("{run} --spawn no-such-program-{{i}}"));
    assert_eq!(missing.status, 1, "{}", missing.stderr);
    assert!(missing.stderr.contains("no-such-program-0 does not start"), "{}", missing.stderr);
}

/// Scripts that start the parties: party `i` by `scripts[i]`, which has the command in `"$@"`.
fn started_by(place: &Place, scripts: [&str; 3], deadline: u32) -> String {
    for (i, script) in scripts.iter().enumerate() {
        let file = place.path(&format!("start{i}.sh"));
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a script");
        std::fs::set_permissions(&file, Permissions::from_mode(0o700)).expect("a program");
    }
    format!("run {ACCURACY} --inputs in --processes --deadline {deadline} --spawn ./start{{i}}.sh")
}

/// A party that is stopped before it says anything: nobody waits longer than the deadline, and it is named.
#[test]
fn a_stopped_party_is_ended_and_named() {
    let place = place();
    let (goes, stops) = ("exec \"$@\"", "kill -STOP $$; exec \"$@\"");
    for (scripts, named) in [
        ([goes, stops, goes], "party 1"),
        ([stops, goes, goes], "party 0"),
        ([stops, stops, stops], "party 0"),
    ] {
        let run = started_by(&place, scripts, 3);
        let done = place.slvrc(&run);
        assert_eq!(done.status, 3, "{}", done.stderr);
        assert!(done.stderr.contains(named), "{}", done.stderr);
        assert!(done.stderr.contains("before its first layer"), "{}", done.stderr);
    }
}

/// Ctrl-C reaches a run and its parties at once, and `kill` the run alone: at any moment all end, and no party complains
/// of a pipe whose reader has gone.
#[test]
fn an_interrupted_run_ends_without_complaints() {
    let place = place();
    let args = format!("run {ACCURACY} --inputs in --processes");
    let mut interrupted = 0;
    for moment in 0..8 {
        let mut run = Command::new(env!("CARGO_BIN_EXE_slvrc"));
        run.args(args.split_whitespace()).current_dir(place.path("")).process_group(0);
        let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let after = 0.02 + 0.06 * moment as f64;
        thread::sleep(Duration::from_secs_f64(after));
        let whom = if moment % 2 == 0 { format!("-{}", run.id()) } else { run.id().to_string() };
        // It may have ended by itself. Where the tests were started in the background, their children ignore the
        // first signal, as they should.
        for signal in ["-INT", "-TERM"] {
            let _ = Command::new("kill").args([signal, "--", &whom]).stderr(Stdio::null()).status();
        }
        // Its parties hold the pipes until they have ended.
        let done = run.wait_with_output().expect("ends");
        let said = String::from_utf8_lossy(&done.stderr);
        interrupted += u32::from(!done.status.success());
        let complains = ["Broken pipe", "error", "panicked"].iter().any(|w| said.contains(w));
        assert!(!complains, "after {after} s, to {whom}: {said}");
    }
    assert!(interrupted > 0, "no run was interrupted");
}

/// Whoever connects to a party's port and says nothing does not stop the run.
#[test]
fn silent_connections_to_fixed_ports_stop_no_run() {
    let place = place();
    let (hosts, _claim) = ports::hosts();
    let over = AtomicBool::new(false);
    let done = thread::scope(|scope| {
        for at in &hosts[..2] {
            let over = &over;
            scope.spawn(move || {
                let mut held = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    if held.len() < 5
                        && let Ok(stranger) = TcpStream::connect(at)
                    {
                        held.push(stranger);
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                // What the party says to them, if anything, before it turns them away.
                for mut stranger in held {
                    let _ = stranger.set_read_timeout(Some(Duration::from_millis(10)));
                    let _ = stranger.read(&mut [0; 64]);
                }
            });
        }
        let hosts = hosts.map(|h| h.to_string()).join(",");
        let run = format!("run {ACCURACY} --inputs in --processes --deadline 9 --hosts {hosts}");
        let done = place.slvrc(&run);
        over.store(true, Ordering::Relaxed);
        done
    });
    assert_eq!(done.status, 0, "{}", done.stderr);
}
