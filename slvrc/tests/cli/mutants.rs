//! Mutants of what strangers send, through `explain`, `eval` and `run`: artifacts and folders of inputs.
//!
//! Whatever the bytes are, a call ends by itself, with an exit status of its own, in bounded memory, and says with
//! `--json` in one object how it ended and where.
//!
//! - An artifact is damaged as a file, or its payload is and gets a header that fits, or its circuit is as text and
//!   is written again: what decodes, verifies and needs little memory is evaluated and run.
//! - An input is damaged in its header, in the lengths there, or in its numbers; or it is another file.
//!
//! A few run in the tests. For the long run:
//!
//! ```sh
//! SLVR_COUNT=5000 SLVR_SEED=1 SLVR_SECONDS=5 cargo test --release -p slvrc --test cli mutants -- --nocapture
//! ```
//!
//! `SLVR_SECONDS` is how long one call may take, ten minutes without it: the tests are not about time.

use crate::folder::{ACCURACY, Folder, Numbers, Place, accuracy, is_full, setting};
use serde_json::Value;
use sha2::{Digest, Sha256};
use slvr_circuit::{artifact, text};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A call may map so many KiB: far more than these circuits need, and far less than a machine has.
const MOST_KIB: u64 = 6 << 20;

/// A circuit that says it needs more bytes is not run. It may be right.
const MOST_PREDICTED: u64 = 20 << 20;

/// So many mutants every day, and with `SLVR_EFFORT=full`.
fn usual() -> u64 {
    if is_full() { 60 } else { 24 }
}

/// Lengths that no file has, and some that it may have.
const LENGTHS: [u64; 12] = [
    0,
    1,
    2,
    255,
    65_536,
    1 << 24,
    (1 << 31) - 1,
    1 << 32,
    1 << 40,
    i64::MAX as u64,
    i64::MAX as u64 + 1,
    u64::MAX,
];

/// Numbers as texts have them.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "64",
    "127",
    "128",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "340282366920938463463374607431768211455",
    "-1",
];

/// Bytes flipped, cut off, left out, doubled, moved, or replaced by a length.
fn damaged(bytes: &[u8], random: &mut Numbers) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..1 + random.below(3) {
        if out.is_empty() {
            break;
        }
        let at = random.below(out.len());
        let end = (at + 1 + random.below(16)).min(out.len());
        match random.below(7) {
            0 | 1 => out[at] ^= 1 << random.below(8),
            2 => out.truncate(at),
            3 => drop(out.drain(at..end)),
            4 => {
                let part = out[at..end].to_vec();
                let to = random.below(out.len() + 1);
                out.splice(to..to, part);
            }
            5 => {
                // A length as bincode has it: a byte that says how long it is, and the number.
                let length = random.pick(&LENGTHS).to_le_bytes();
                let (tag, n) = *random.pick(&[(251u8, 2), (252, 4), (253, 8), (254, 8)]);
                let number = [&[tag][..], &length[..n]].concat();
                out.splice(at..(at + 1).min(end), number);
            }
            _ => {
                let length = random.pick(&LENGTHS).to_le_bytes();
                let end = (at + 8).min(out.len());
                out[at..end].copy_from_slice(&length[..end - at]);
            }
        }
    }
    out
}

/// One to three numbers of a text exchanged for others, of the text or not. Half of them are in its first part, if
/// it has parts: inputs, outputs and constants, of which a circuit may have others and still be well formed.
fn renumbered(text: &str, random: &mut Numbers) -> String {
    if let Some((first, rest)) = text.split_once("layer 0:")
        && random.below(2) == 0
    {
        return format!("{}layer 0:{rest}", renumbered(first, random));
    }
    let mut words: Vec<String> = Vec::new();
    for c in text.chars() {
        let joins = words.last().is_some_and(|word| {
            word.ends_with(|last: char| last.is_ascii_digit()) && c.is_ascii_digit()
        });
        match words.last_mut() {
            Some(word) if joins => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    let numbers: Vec<usize> =
        (0..words.len()).filter(|&i| words[i].starts_with(|c: char| c.is_ascii_digit())).collect();
    for _ in 0..1 + random.below(3) {
        let at = *random.pick(&numbers);
        words[at] = match random.below(3) {
            0 => random.pick(&NUMBERS).to_string(),
            1 => words[*random.pick(&numbers)].clone(),
            _ => {
                let old: u64 = words[at].parse().unwrap_or(0);
                old.wrapping_add(random.below(5) as u64).wrapping_sub(2).to_string()
            }
        };
    }
    words.concat()
}

/// A payload with the header that belongs to it.
fn sealed(header: &[u8], payload: &[u8]) -> Vec<u8> {
    let (magic, version) = (&header[..8], &header[8..12]);
    let hash = Sha256::new().chain_update(b"slvr circuit\0").chain_update(version);
    let hash = hash.chain_update(payload).finalize();
    let length = (payload.len() as u64).to_le_bytes();
    [magic, version, &length, &hash, payload].concat()
}

/// What came of a call.
struct Ended {
    json: Value,
    ok: bool,
}

/// Starts `slvrc --json`, waits for its end, and holds it to what is promised.
fn call(place: &Place, args: &str, seconds: u64) -> Result<Ended, String> {
    let script = format!("ulimit -v {MOST_KIB}; exec \"$0\" {args} --json");
    let mut child = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_slvrc")])
        .current_dir(place.path(""))
        .env("RAYON_NUM_THREADS", "2")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sh starts");
    let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.expect("a pipe").read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let out = read(child.stdout.take().map(|p| Box::new(p) as _));
    let err = read(child.stderr.take().map(|p| Box::new(p) as _));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if begun.elapsed() > Duration::from_secs(seconds) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("`{args}` has no end after {seconds} s"));
        }
        thread::sleep(Duration::from_millis(1));
    };
    let (out, err) = (out.join().expect("text"), err.join().expect("text"));
    let failed = |why: &str| Err(format!("`{args}` {why}: {status}\n{out}\n{err}"));
    if status.signal().is_some() || !matches!(status.code(), Some(0..=3)) {
        return failed("crashed");
    }
    let ok = status.success();
    let Ok(json) = serde_json::from_str::<Value>(&out) else {
        return failed("does not print one object");
    };
    if json["ok"] != ok || out.lines().count() != 1 {
        return failed("says otherwise");
    }
    let said = json["error"].as_str().map_or(0, str::len);
    if !ok && !(10..4096).contains(&said) {
        return failed("does not say why in a few words");
    }
    Ok(Ended { json, ok })
}

/// What became of the mutants, in words, and which failed.
#[derive(Default)]
struct Tally {
    fates: BTreeMap<&'static str, u64>,
    slowest: (Duration, String),
    failed: Vec<String>,
}

impl Tally {
    /// Runs one mutant.
    fn add(&mut self, name: String, mutant: impl FnOnce() -> Result<&'static str, String>) {
        let begun = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(mutant));
        let took = begun.elapsed();
        if took > self.slowest.0 {
            self.slowest = (took, name.clone());
        }
        match ended {
            Ok(Ok(fate)) => *self.fates.entry(fate).or_default() += 1,
            Ok(Err(why)) => {
                println!("{name}: {why}");
                self.failed.push(format!("{name}: {why}"));
            }
            Err(_) => self.failed.push(format!("{name}: panic")),
        }
    }

    fn hold(self, what: &str) {
        let (took, name) = &self.slowest;
        let Tally { fates, failed, .. } = &self;
        println!(
            "{what}: {fates:?}, {} failed; the slowest took {took:.1?} ({name})",
            failed.len()
        );
        assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
        assert!(fates.len() > 1, "the mutants are all alike");
    }
}

/// Programs whose artifacts are damaged, with inputs.
fn targets() -> Vec<(&'static str, Folder)> {
    vec![(ACCURACY, accuracy(1))]
}

#[test]
fn mutants_of_artifacts_are_refused_or_run() {
    let (seed, count) = (setting("SLVR_SEED", 1), setting("SLVR_COUNT", usual()));
    let seconds = setting("SLVR_SECONDS", 600);
    let mut tally = Tally::default();
    for (target, folder) in targets() {
        let place = Place::new();
        folder.write(&place.path("in"));
        for how in ["", "--protocols t1"] {
            place.slvrc(&format!("build {target} {how} -o good.slvrb --json")).ok();
            let good = place.read("good.slvrb");
            let circuit = artifact::read(&good).expect("an artifact");
            let circuit = text::print(&circuit);
            for number in 0..count / 2 {
                let name =
                    format!("mutant {number} of the artifact of {target} {how} (seed {seed})");
                let mut random = Numbers(seed << 32 | number);
                tally.add(name, || {
                    let bytes = match number % 8 {
                        0 => damaged(&good, &mut random),
                        1..4 => sealed(&good, &damaged(&good[52..], &mut random)),
                        _ => match text::parse(&renumbered(&circuit, &mut random)) {
                            Ok(circuit) => artifact::write(&circuit),
                            Err(_) => return Ok("no text of a circuit"),
                        },
                    };
                    if bytes == good {
                        return Ok("the same");
                    }
                    place.write("bad.slvrb", &bytes);
                    judge(&place, seconds)
                });
            }
        }
    }
    tally.hold("artifacts");
}

/// What becomes of `bad.slvrb`.
fn judge(place: &Place, seconds: u64) -> Result<&'static str, String> {
    let explained = call(place, "explain bad.slvrb", seconds)?;
    if !explained.ok {
        let why = explained.json["error"].as_str().unwrap_or_default();
        if !why.starts_with("bad.slvrb: ") {
            return Err(format!("does not name the file: {why}"));
        }
        return Ok(if why.contains("well formed") { "not well formed" } else { "not read" });
    }
    let memory = explained.json["predicted_peak_memory_bytes"].as_array();
    let memory: u64 = memory.into_iter().flatten().filter_map(Value::as_u64).sum();
    if memory > MOST_PREDICTED {
        return Ok("needs much memory");
    }
    let eval = call(place, "eval bad.slvrb --inputs in --invalid zeros", seconds)?;
    let run = call(place, "run bad.slvrb --inputs in --seed 1 --invalid zeros", seconds)?;
    match (eval.ok, run.ok) {
        (true, true) => Ok("runs"),
        (false, false) => Ok("does not take its inputs"),
        // Clients whose file does not fit are replaced in a run.
        (false, true) => Ok("runs with zeros"),
        (true, false) => Err(format!("is evaluated, and does not run: {}", run.json)),
    }
}

/// The header of a safetensors file with other numbers, and its length as it should be, or not.
fn other_header(bytes: &[u8], random: &mut Numbers) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("a length")) as usize;
    let (header, data) = bytes[8..].split_at(length);
    let header = std::str::from_utf8(header).expect("text");
    let header = match random.below(3) {
        0 => renumbered(header, random).into_bytes(),
        1 => damaged(header.as_bytes(), random),
        _ => {
            let types = ["F16", "BF16", "F32", "F64", "BOOL", "U8", "I16", "I64", "U64", "X"];
            let (old, new) = (*random.pick(&["F32", "I64"]), *random.pick(&types));
            header.replacen(old, new, 1 + random.below(3)).into_bytes()
        }
    };
    let length = match random.below(4) {
        0 => *random.pick(&LENGTHS),
        _ => header.len() as u64,
    };
    [&length.to_le_bytes()[..], &header, data].concat()
}

/// Numbers that are none, or large, or small, in place of others.
fn other_numbers(bytes: &[u8], random: &mut Numbers) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("a length")) as usize;
    let words = (out.len() - 8 - length) / 4;
    for _ in 0..1 + random.below(4) {
        let at = 8 + length + 4 * random.below(words);
        let word: [u8; 4] = match random.below(6) {
            0 => f32::NAN.to_le_bytes(),
            1 => f32::INFINITY.to_le_bytes(),
            2 => f32::MAX.to_le_bytes(),
            3 => (-f32::MIN_POSITIVE / 4.0).to_le_bytes(),
            4 => [0xff; 4],
            _ => (random.next() as u32).to_le_bytes(),
        };
        out[at..at + 4].copy_from_slice(&word);
    }
    out
}

#[test]
fn mutants_of_inputs_are_refused_or_replaced_or_taken() {
    let (seed, count) = (setting("SLVR_SEED", 1), setting("SLVR_COUNT", usual()));
    let seconds = setting("SLVR_SECONDS", 600);
    let mut tally = Tally::default();
    let folder = accuracy(1);
    let place = Place::new();
    place.slvrc(&format!("build {ACCURACY} -o a.slvrb --json")).ok();
    let files: Vec<&String> = folder.0.keys().collect();
    for number in 0..count {
        let mut random = Numbers(seed << 32 | number);
        let file = files[random.below(files.len())];
        let name = format!("mutant {number} of {file} (seed {seed})");
        folder.write(&place.path("in"));
        let path = place.path(&format!("in/{file}.safetensors"));
        let good = folder.bytes(file);
        let bytes = match random.below(8) {
            0 | 1 => damaged(&good, &mut random),
            2..=4 => other_header(&good, &mut random),
            5 | 6 => other_numbers(&good, &mut random),
            _ => folder.bytes(files[random.below(files.len())]),
        };
        fs::write(&path, bytes).expect("a file");
        tally.add(name, || {
            let eval = call(&place, "eval a.slvrb --inputs in --invalid zeros", seconds)?;
            let unchecked = *random.pick(&["", "--submit-unchecked"]);
            let run = format!("run a.slvrb --inputs in --seed 1 --invalid zeros {unchecked}");
            let run = call(&place, &run, seconds)?;
            let named = |ended: &Ended| {
                let why = ended.json["error"].as_str().unwrap_or_default();
                match ended.ok || why.contains(&format!("in/{file}.safetensors: ")) {
                    true => Ok(()),
                    false => Err(format!("does not name the file: {why}")),
                }
            };
            named(&eval)?;
            named(&run)?;
            let replaced = run.json["replaced"].as_array().is_some_and(|all| !all.is_empty());
            match (eval.ok, run.ok) {
                (true, true) => Ok("taken"),
                (false, true) if replaced => Ok("replaced"),
                (false, true) if !unchecked.is_empty() => Ok("taken unchecked"),
                (false, false) => Ok("refused"),
                (eval, run) => Err(format!("eval: {eval}, run: {run}")),
            }
        });
    }
    tally.hold("inputs");
}
