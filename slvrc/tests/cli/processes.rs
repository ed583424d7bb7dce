//! `run --processes`: the same run as with threads, and what happens when a party is not there.

use crate::folder::{ACCURACY, Place, accuracy, f32s};

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
        let args = format!("run {ACCURACY} --inputs in --submit-unchecked --seed 7 --json {how}");
        place.slvrc(&args).ok()
    };
    let (threads, processes) = (run(""), run("--processes"));
    for key in ["rounds", "bytes_sent", "replaced", "peak_memory_bytes", "outputs"] {
        assert_eq!(processes[key], threads[key], "{key}");
    }
    assert!(threads["rounds"].as_u64() > threads["predicted_rounds"].as_u64(), "no repetition");
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
