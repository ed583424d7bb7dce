//! Code blocks of a Markdown file.
//!
//! | block | what is done |
//! |---|---|
//! | ```` ```slvr,file=NAME ```` | written to NAME in the page's folder; what commands say of it is theirs |
//! | ```` ```slvr ```` | a whole program: checked, nothing may be said of it |
//! | ```` ```console ```` | lines `$ COMMAND` are run by `sh` in the page's folder, and what they print (standard error first) is compared with the lines behind them |
//!
//! In outputs a line `...` stands for any lines, `...` within a line for any text, and seconds are not
//! compared. A command without any output behind it only has to succeed (a lone `?` is to be blessed); one must fail exactly if a line
//! of its output begins with `error`. `cargo run --release --` means `slvrc`. A block of any language
//! whose first line is a command (`$ slvrc ..` or `$ cargo run ..`) is like `console`, and blocks
//! with an `{{#include` are left alone.

use slvr_compiler::diagnostic::render;
use slvr_compiler::source::Sources;
use slvr_compiler::syntax::embedded::Embedded;
use slvr_compiler::types::{Checked, Options, check};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What came of running a page.
#[derive(Default)]
pub struct Page {
    /// The page with the outputs that its commands have now.
    pub text: String,
    /// What is wrong with it, but for outputs.
    pub wrong: String,
    pub programs: usize,
    pub commands: usize,
}

impl Page {
    /// Runs the blocks of a page in order. `file` may give a name to a program that has none.
    pub fn run(name: &str, text: &str, file: &dyn Fn(&str) -> Option<&'static str>) -> Page {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let mut page = Page::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            page.text += &format!("{line}\n");
            let ticks = line.chars().take_while(|c| *c == '`').count();
            if ticks < 3 {
                continue;
            }
            let fence = "`".repeat(ticks);
            let block: Vec<&str> = lines.by_ref().take_while(|l| l.trim_end() != fence).collect();
            let body = block.iter().fold(String::new(), |all, l| all + l + "\n");
            let info = line.trim_start_matches('`').trim();
            let mut parts = info.split(',');
            let language = parts.next().unwrap_or("");
            let named = parts.find_map(|p| p.strip_prefix("file="));
            let starts = |s: &str| block.first().is_some_and(|l| l.starts_with(s));
            if body.contains("{{#include") {
                page.text += &body;
            } else if language == "console" || starts("$ slvrc ") || starts("$ cargo run ") {
                let now = page.console(name, dir.path(), &block);
                page.text += &now;
            } else {
                if language == "slvr" {
                    page.programs += 1;
                    match named.or_else(|| file(&body)) {
                        Some(named) => write(&dir.path().join(named), &body),
                        None => page.check(name, &body),
                    }
                }
                page.text += &body;
            }
            page.text += &format!("{fence}\n");
        }
        page
    }

    fn check(&mut self, name: &str, program: &str) {
        let mut sources = Sources::new();
        let id = sources.add(name, program);
        let options = Options { defaults: true, ..Options::default() };
        let said = match check(&mut sources, id, &options, &mut Embedded) {
            Ok(Checked { warnings, .. }) => warnings,
            Err(errors) => errors,
        };
        self.wrong += &render::render(&said, &sources, false);
    }

    /// The block with outputs as they are now where they differ.
    fn console(&mut self, name: &str, dir: &Path, block: &[&str]) -> String {
        let mut out = String::new();
        let mut rest = block;
        while let Some((first, more)) = rest.split_first() {
            let end = more.iter().position(|l| l.starts_with("$ ")).unwrap_or(more.len());
            let (want, behind) = more.split_at(end);
            rest = behind;
            let Some(command) = first.strip_prefix("$ ") else {
                self.wrong += &format!("{name}: output without a command: {first}\n");
                continue;
            };
            self.commands += 1;
            let (succeeds, found) = run(dir, command);
            let refuses = found.lines().any(|l| l.starts_with("error"));
            if succeeds == refuses {
                self.wrong += &format!("{name}: `{command}`:\n{found}\n");
            }
            out += &format!("{first}\n");
            let found: Vec<&str> = found.trim_end().lines().collect();
            let blanks = want.iter().rev().take_while(|l| l.is_empty()).count();
            let (shown, blank) = want.split_at(want.len() - blanks);
            let same = shown.is_empty() || matches(shown, &found);
            if !same && !super::blessing() {
                self.wrong += &format!("{name}: `{command}` prints\n\n{}\n\n", found.join("\n"));
            }
            for line in if same { shown } else { &found }.iter().chain(blank) {
                out += &format!("{line}\n");
            }
        }
        out
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// Runs a command; whether it succeeded, and what it printed.
fn run(dir: &Path, command: &str) -> (bool, String) {
    let slvrc = Path::new(env!("CARGO_BIN_EXE_slvrc"));
    let mut path = slvrc.parent().expect("a folder").as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    let command = command.replace("cargo run --release -- ", "slvrc ");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(&command).current_dir(dir).env("PATH", path).env("NO_COLOR", "1");
    let done = shell.output().expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.success(), text(&done.stderr) + &text(&done.stdout))
}

/// Whether lines fit a pattern of lines.
fn matches(pattern: &[&str], lines: &[&str]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return lines.is_empty() };
    if first.trim() == "..." {
        return (0..=lines.len()).any(|skip| matches(rest, &lines[skip..]));
    }
    lines.split_first().is_some_and(|(line, more)| fits(first, line) && matches(rest, more))
}

/// Whether a line fits a pattern, seconds and space at the end aside.
fn fits(pattern: &str, line: &str) -> bool {
    let (pattern, line) = (timeless(pattern.trim_end()), timeless(line.trim_end()));
    let mut pieces = pattern.split("...");
    let Some(mut rest) = pieces.next().and_then(|p| line.strip_prefix(p)) else { return false };
    let mut last = None;
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
        last = Some(piece);
    }
    rest.is_empty() || last == Some("") || last.is_some_and(|p| rest.ends_with(p))
}

/// A line in which numbers of seconds are all the same.
fn timeless(line: &str) -> String {
    let mut parts: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for i in 1..parts.len() {
        let unit = parts[i].trim_end_matches([',', '.', ')']) == "s";
        if unit && parts[i - 1].parse::<f64>().is_ok() {
            parts[i - 1] = "0".into();
        }
    }
    parts.join(" ")
}

#[test]
fn patterns() {
    assert!(fits("  time  0.017 s", "  time  12 s"));
    assert!(!fits("  sent  0.017 MB", "  sent  12 MB"));
    assert!(fits("x = ..., …", "x = 1.5, 2, …"));
    assert!(!fits("x = ..., …", "x = 1.5"));
    assert!(fits("abc...", "abcd") && fits("...d", "abcd") && !fits("...d", "abcde"));
    assert!(matches(&["a", "...", "d"], &["a", "b", "c", "d"]));
    assert!(matches(&["a", "..."], &["a"]) && !matches(&["a"], &["a", "b"]));
    assert!(!matches(&["...", "d"], &["a"]));
}
