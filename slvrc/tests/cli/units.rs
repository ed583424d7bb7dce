//! What docs/deploy has for operators: its command line is run in a plain folder, as it stands there. No container is
//! built here.

use crate::folder::Place;
use crate::ports;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const SLVRC: &str = env!("CARGO_BIN_EXE_slvrc");

/// A file of docs/deploy; nothing where the crate is built by itself.
fn deploy(name: &str) -> Option<String> {
    fs::read_to_string(checkout().join("docs/deploy").join(name)).ok()
}

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What a unit says of a name.
fn of_unit(unit: &str, name: &str) -> String {
    let value = unit.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name}")).into()
}

/// The command of the container, as it is started without a shell.
fn entrypoint(container: &str) -> Vec<String> {
    let line = container.lines().find_map(|l| l.strip_prefix("ENTRYPOINT "));
    serde_json::from_str(line.expect("an entry point")).expect("a list")
}

/// What a file says after a word, on each line that begins so.
fn after<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    text.lines().filter_map(|l| l.trim().strip_prefix(word)).map(str::trim).collect()
}

/// A node of a deployment for three hosts, started with a command line as it stands in a file, in a folder in place of
/// /etc/slvr.
struct Node {
    child: Child,
    log: PathBuf,
}

impl Node {
    fn start(place: &Place, words: &[String]) -> Node {
        let etc = place.path("try/node-0");
        let toml = etc.join("node.toml");
        // As the unit and the compose file say, with a folder in place of /var/lib/slvr.
        let text = fs::read_to_string(&toml).expect("a configuration");
        assert!(text.contains("data = \"data\"\n"), "{text}");
        let data = place.path("var-lib-slvr");
        let text = text.replace("data = \"data\"\n", &format!("data = {data:?}\n"));
        fs::write(&toml, text).expect("writes");
        let log = place.path("node.log");
        let to = fs::File::create(&log).expect("a log");
        let etc = etc.to_str().expect("a name");
        let args = words[1..].iter().map(|w| w.replace("/etc/slvr", etc));
        let mut command = Command::new(SLVRC);
        command.args(args).stdin(Stdio::null()).stderr(to);
        let mut node = Node { child: command.spawn().expect("starts"), log };
        node.says("started");
        assert!(data.join("node.redb").is_file(), "everything is in the folder of data");
        node
    }

    fn says(&mut self, what: &str) {
        let begun = Instant::now();
        loop {
            // Whatever it says, it says before it ends.
            let ended = self.child.try_wait().expect("a process").is_some();
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            if log.contains(what) {
                return;
            }
            let late = begun.elapsed() > Duration::from_secs(300);
            assert!(!ended && !late, "no `{what}` in {log}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(done.expect("kill").success());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the deployment that the compose file asks for.
fn made(place: &Place, compose: &str) {
    let line = compose.split('`').nth(1).expect("a command");
    let words = line.replace("# ", "").replace("--task ...", "--task norm_bound M=DigitsNet m=4");
    let args = words.strip_prefix("slvrc ").expect("a command of slvrc");
    place.slvrc(&format!("{args} --json --port {}", ports::row())).ok();
}

/// The unit, the container and the pods start a node with one command line. It starts one where the folders are those of
/// the compose file, with what the pods add; and the signals of the unit do what they are for.
#[test]
fn what_operators_are_given_starts_a_node_that_reads_again_and_stops() {
    let (Some(unit), Some(container), Some(compose), Some(pods)) = (
        deploy("slvr-node.service"),
        deploy("Containerfile"),
        deploy("compose.yaml"),
        deploy("kubernetes/statefulset.yaml"),
    ) else {
        return;
    };
    let mut words: Vec<String> =
        of_unit(&unit, "ExecStart").split_whitespace().map(Into::into).collect();
    assert_eq!(words[1..], entrypoint(&container)[1..], "the container starts the same");
    let more = after(&pods, "args: ")[0].trim_matches(['[', ']']);
    words.extend(more.split(", ").map(String::from));
    let place = Place::new();
    made(&place, &compose);
    let mut node = Node::start(&place, &words);
    assert_eq!(of_unit(&unit, "ExecReload"), "/bin/kill -HUP $MAINPID");
    node.signal("-HUP");
    node.says("the file of clients was read again");
    assert_eq!(of_unit(&unit, "KillSignal"), "SIGTERM");
    node.signal("-TERM");
    assert!(node.child.wait().expect("ends").success());
    node.says("stopped");
}

/// systemd's own opinion of the unit, where systemd is.
#[test]
fn systemd_has_nothing_to_say_against_the_unit() {
    let Some(text) = deploy("slvr-node.service") else { return };
    let there = Command::new("systemd-analyze").arg("--version").output();
    if !there.is_ok_and(|o| o.status.success()) {
        eprintln!("systemd-analyze is not here");
        return;
    }
    let place = Place::new();
    // The program and the user of a node are not on this machine.
    let text = text.replace("/usr/local/bin/slvrc", SLVRC).replace("User=slvr\n", "User=root\n");
    place.write("slvr-node.service", text);
    let done = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=no"])
        .arg(place.path("slvr-node.service"))
        .output()
        .expect("runs");
    // Exposed less than 4 of 10.
    let measured = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--threshold=40", "--no-pager"])
        .arg(place.path("slvr-node.service"))
        .output()
        .expect("runs");
    let measure = String::from_utf8_lossy(&measured.stdout);
    // Versions before 250 measure no file.
    let knows = !String::from_utf8_lossy(&measured.stderr).contains("unrecognized option");
    assert!(measured.status.success() || !knows, "{measure}");
    let said = String::from_utf8_lossy(&done.stderr);
    let ours: Vec<&str> = said.lines().filter(|l| l.contains("slvr-node")).collect();
    assert!(done.status.success() && ours.is_empty(), "{said}");
}

/// What goes into the image is what the workspace is made of, and no keys.
#[test]
fn the_image_is_made_of_the_workspace() {
    let Ok(ignored) = fs::read_to_string(checkout().join(".dockerignore")) else { return };
    let workspace = fs::read_to_string(checkout().join("Cargo.toml")).expect("a workspace");
    let members = workspace.lines().find_map(|l| l.strip_prefix("members = ")).expect("members");
    let members: Vec<String> = serde_json::from_str(members).expect("a list");
    let kept = after(&ignored, "!");
    for member in members.iter().map(String::as_str).chain(["Cargo.lock", "rust-toolchain.toml"]) {
        let itself_or_around = |k: &&str| member == *k || member.starts_with(&format!("{k}/"));
        assert!(kept.iter().any(itself_or_around), "{member} is not in the image");
    }
    for secret in ["**/*.key", "**/node-*", "**/clients"] {
        assert!(ignored.lines().any(|l| l == secret), "{secret}");
    }
}
