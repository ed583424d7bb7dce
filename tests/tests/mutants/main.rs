//! Mutants of every predicate, of the gallery, the library and its models through `check`: no panic, no hang, and every place that a message points at is in
//! its file.
//!
//! A mutant is a predicate, a model or a file of the library with one to three of its tokens left out, doubled,
//! exchanged or replaced, by a token of any file, a name of the same file, or a number at the end of a range.
//! What still type-checks is compiled to a circuit: a file of the library together with a program that calls its functions.
//!
//! A few hundred run in the tests. For the long run:
//!
//! ```sh
//! SLVR_COUNT=100000 SLVR_SEED=1 SLVR_SECONDS=5 cargo test --release -p slvr-tests --test mutants -- --nocapture
//! ```
//!
//! `SLVR_SECONDS` is how long one mutant may take. Without it a mutant is given ten minutes: the tests are not about
//! time, and only a text that never ends fails them.

mod driven;

use driven::{Driven, driven};
use slvr_compiler::diagnostic::Diagnostic;
use slvr_compiler::diagnostic::render::render;
use slvr_compiler::pipeline;
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::syntax::ast::FileId;
use slvr_compiler::syntax::embedded;
use slvr_compiler::syntax::lexer::lex;
use slvr_compiler::syntax::token::Token;
use slvr_compiler::types::{Checked, Options, check};
use slvr_tests::Random;
use slvr_tests::long::{count, setting};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Numbers at the ends of what something holds.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "16",
    "17",
    "64",
    "1000",
    "1048577",
    "4294967296",
    "9223372036854775807",
    "0.0",
    "0.5",
    "1e-7",
    "1e-19",
    "1e-320",
    "1e19",
    "1e155",
    "1e308",
    "0.1",
];

/// The stack of the thread that checks: that of the main thread of `slvrc`.
const STACK: usize = 8 << 20;

/// A text as its tokens, with what stands between them.
struct Text {
    name: &'static str,
    text: &'static str,
    tokens: Vec<(usize, usize)>,
    names: Vec<&'static str>,
    /// What follows it unchanged.
    program: &'static str,
}

impl Text {
    fn new(name: &'static str, text: &'static str) -> Text {
        let lexed = lex(FileId::default(), text);
        let tokens: Vec<(usize, usize)> = lexed.tokens.iter().map(|t| (t.0, t.2)).collect();
        let names = lexed.tokens.iter().filter(|t| matches!(t.1, Token::Ident(_)));
        let names = names.map(|t| &text[t.0..t.2]).collect();
        Text { name, text, tokens, names, program: "" }
    }

    /// A file of the library with the program that calls it.
    fn driven(name: &'static str, text: &str) -> Option<Text> {
        let Driven { text, program } = driven(name, text)?;
        let forever = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        Some(Text { program: forever(program), ..Text::new(name, forever(text)) })
    }
}

fn pick(from: &[&'static str], random: &mut Random) -> &'static str {
    from[((random.unit() * from.len() as f64) as usize).min(from.len() - 1)]
}

/// One to three changes of tokens.
fn mutant(of: &Text, pool: &[&'static str], random: &mut Random) -> String {
    let mut words: Vec<&str> = of.tokens.iter().map(|&(from, to)| &of.text[from..to]).collect();
    // What precedes each token, line ends and comments included.
    let mut gaps: Vec<&str> = Vec::new();
    let mut end = 0;
    for &(from, to) in &of.tokens {
        gaps.push(&of.text[end..from]);
        end = to;
    }
    let plain = |word: &str| word.starts_with(|c: char| c.is_ascii_alphanumeric());
    // One change mostly: what has many rarely parses.
    for _ in 0..1 + (random.unit().powi(3) * 3.0) as usize {
        let mut at = (random.unit() * words.len() as f64) as usize;
        // Names and numbers are changed most: that may still type-check.
        for _ in 0..3 {
            if !plain(words[at]) {
                at = (random.unit() * words.len() as f64) as usize;
            }
        }
        let number = words[at].starts_with(|c: char| c.is_ascii_digit());
        let name = of.names.contains(&words[at]);
        match (random.unit() * 12.0) as u32 {
            0 => words[at] = "",
            1 => {
                words.insert(at, words[at]);
                gaps.insert(at, " ");
            }
            2 => {
                let other = (random.unit() * words.len() as f64) as usize;
                words.swap(at, other);
            }
            3 => words[at] = pick(pool, random),
            4 => {
                words.insert(at, pick(pool, random));
                gaps.insert(at, " ");
            }
            _ if number => words[at] = pick(NUMBERS, random),
            _ if name => words[at] = pick(&of.names, random),
            _ => words[at] = pick(pool, random),
        }
    }
    gaps.iter().zip(&words).map(|(gap, word)| format!("{gap}{word}")).collect()
}

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Refused,
    Typed,
    Compiled,
}

fn hold(diagnostics: &[Diagnostic], sources: &Sources) -> Result<(), String> {
    for d in diagnostics {
        for (span, _) in &d.labels {
            let text = sources.text(span.file);
            if (span.file.0 as usize) < sources.len() && text.get(span.range()).is_none() {
                return Err(format!("{} points outside its file: {:?}", d.code, span.range()));
            }
        }
    }
    let said = render(diagnostics, sources, false);
    if said.len() > 256 << 10 {
        return Err(format!("{} bytes of messages", said.len()));
    }
    Ok(())
}

fn try_one(text: &str) -> Result<Fate, String> {
    let mut sources = Sources::new();
    let file = sources.add("mutant.slvr", text);
    // A small model, where there is one: the passes are the same.
    let small = text.contains("[M: model").then(|| ("M".to_owned(), "Mlp[3,2,2]".to_owned()));
    let options =
        Options { defaults: true, bindings: small.into_iter().collect(), predicate: None };
    let mut none = |_: &str| Err(LoadError::NotFound);
    match check(&mut sources, file, &options, &mut none) {
        Err(errors) => hold(&errors, &sources).map(|()| Fate::Refused),
        Ok(Checked { program, warnings, .. }) => {
            hold(&warnings, &sources)?;
            match pipeline::compile(&program, &sources) {
                Ok(compiled) => hold(&compiled.warnings, &sources).map(|()| Fate::Compiled),
                Err(errors) => hold(&errors, &sources).map(|()| Fate::Typed),
            }
        }
    }
}

type Outcome = Result<Fate, String>;

/// A thread that checks one text after another.
fn worker() -> (Sender<String>, Receiver<Outcome>) {
    let (texts, inbox) = channel::<String>();
    let (outbox, outcomes) = channel();
    let thread = thread::Builder::new().stack_size(STACK);
    let work = move || {
        for text in inbox {
            let outcome =
                catch_unwind(AssertUnwindSafe(|| try_one(&text))).unwrap_or_else(|panic| {
                    let known = panic.downcast_ref::<String>().cloned();
                    let known =
                        known.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
                    Err(format!("panic: {}", known.unwrap_or_default()))
                });
            if outbox.send(outcome).is_err() {
                return;
            }
        }
    };
    thread.spawn(work).expect("a thread");
    (texts, outcomes)
}

#[test]
fn mutants_of_every_file_are_refused_or_compiled() {
    let seed = setting("SLVR_SEED").unwrap_or(1);
    let count = count(300);
    let patience = Duration::from_secs(setting("SLVR_SECONDS").unwrap_or(600));
    // Of files without a predicate only those mutants get far that are refused for nothing else.
    let files = [embedded::PREDICATES, embedded::GALLERY, embedded::STD, embedded::MODELS];
    let mut texts: Vec<Text> = files.into_iter().flatten().map(|(n, t)| Text::new(n, t)).collect();
    let called: Vec<Text> = embedded::STD.iter().filter_map(|(n, t)| Text::driven(n, t)).collect();
    for of in &called {
        let whole = format!("{}{}", of.text, of.program);
        assert_eq!(try_one(&whole), Ok(Fate::Compiled), "{} as it is\n{whole}", of.name);
    }
    assert!(called.len() > 4, "files of the library have functions");
    texts.extend(called);
    let pool: Vec<&'static str> =
        texts.iter().flat_map(|t| t.tokens.iter().map(|&(from, to)| &t.text[from..to])).collect();
    let mut random = Random::new(seed);
    let (mut to, mut from) = worker();
    // Mutants of files of the library that became circuits.
    let mut circuits = 0;
    let (mut fates, mut slowest) = ([0u64; 3], (Duration::ZERO, String::new()));
    let mut failed = Vec::new();
    for number in 0..count {
        let of = &texts[number as usize % texts.len()];
        let text = mutant(of, &pool, &mut random) + of.program;
        let begun = Instant::now();
        to.send(text.clone()).expect("a worker");
        let outcome = match from.recv_timeout(patience) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => {
                (to, from) = worker();
                Err(format!("no end after {patience:?}"))
            }
            Err(RecvTimeoutError::Disconnected) => {
                (to, from) = worker();
                Err("the thread ended".into())
            }
        };
        let took = begun.elapsed();
        if took > slowest.0 {
            slowest = (took, format!("mutant {number} of {}", of.name));
        }
        match outcome {
            Ok(fate) => {
                fates[fate as usize] += 1;
                circuits += u64::from(fate == Fate::Compiled && !of.program.is_empty());
            }
            Err(why) => {
                println!("mutant {number} of {} (seed {seed}): {why}\n{text}\n", of.name);
                failed.push(format!("mutant {number} of {} (seed {seed}): {why}", of.name));
            }
        }
    }
    let [refused, typed, compiled] = fates;
    println!(
        "{count} mutants (seed {seed}): {refused} refused, {typed} typed and not compiled, {compiled} compiled, \
         {} failed; the slowest took {:.1?} ({})",
        failed.len(),
        slowest.0,
        slowest.1
    );
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    println!("{circuits} circuits of changed files of the library");
    assert!(refused > 0 && compiled > 0 && circuits > 0, "the mutants are all alike");
}
