//! What docs/deploy has for operators, held against the program: every path, verb, option and time that its files name.
//! No container is built here. The command lines are run in a plain folder, as they stand there.

use crate::folder::Place;
use crate::ports;
use std::collections::BTreeMap;
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

/// The lines of a unit: section and name to values, in order.
fn unit(text: &str) -> BTreeMap<(String, String), Vec<String>> {
    let (mut section, mut out) = (String::new(), BTreeMap::<_, Vec<String>>::new());
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').into();
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or_else(|| panic!("{line}"));
        out.entry((section.clone(), name.into())).or_default().push(value.into());
    }
    out
}

/// Words of a command line that the program knows: a verb, and options that its help names.
fn known(words: &[String]) {
    let verb = &words[1];
    let help = Command::new(SLVRC).args([verb, "--help"]).output().expect("slvrc starts");
    assert!(help.status.success(), "there is no verb `{verb}`");
    let help = String::from_utf8(help.stdout).expect("text");
    for option in words.iter().filter(|w| w.starts_with("--")) {
        assert!(help.contains(option.as_str()), "`{verb}` has no {option}: {help}");
    }
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
        node.says(" started ");
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

#[test]
fn the_unit_names_what_is_there_and_its_command_starts_reads_again_and_stops() {
    let (Some(text), Some(container), Some(compose)) =
        (deploy("slvr-node.service"), deploy("Containerfile"), deploy("compose.yaml"))
    else {
        return;
    };
    let unit = unit(&text);
    let one = |name: &str| {
        let found = unit.get(&("Service".to_string(), name.to_string()));
        found.unwrap_or_else(|| panic!("no {name}"))[0].clone()
    };
    let words: Vec<String> = one("ExecStart").split_whitespace().map(Into::into).collect();
    assert_eq!(words[0], "/usr/local/bin/slvrc");
    assert_eq!(words[1..], entrypoint(&container)[1..], "the container starts the same");
    known(&words);
    // The folder that the system makes is the one that may be written, and what the comment calls `data`.
    let state = format!("/var/lib/{}", one("StateDirectory"));
    assert_eq!(one("ReadWritePaths"), state);
    assert!(text.contains(&format!("`data` in node.toml is {state}.")));
    // A node gives an attempt 30 s before it stops, and takes files for its connections.
    let help = Command::new(SLVRC).args(["node", "--help"]).output().expect("slvrc starts");
    let help = String::from_utf8(help.stdout).expect("text");
    assert!(help.contains("[default: 30]"), "{help}");
    assert!(one("TimeoutStopSec").parse::<u64>().expect("seconds") > 30);
    assert!(one("LimitNOFILE").parse::<u64>().expect("a number") >= 4096 + 384);
    let place = Place::new();
    made(&place, &compose);
    let mut node = Node::start(&place, &words);
    assert_eq!(one("ExecReload"), "/bin/kill -HUP $MAINPID");
    node.signal("-HUP");
    node.says("the file of clients was read again");
    assert_eq!(one("KillSignal"), "SIGTERM");
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
    let said = String::from_utf8_lossy(&done.stderr);
    let ours: Vec<&str> = said.lines().filter(|l| l.contains("slvr-node")).collect();
    assert!(done.status.success() && ours.is_empty(), "{said}");
}

#[test]
fn the_container_and_the_compose_file_name_what_is_there_and_start_a_node() {
    let (Some(container), Some(compose)) = (deploy("Containerfile"), deploy("compose.yaml")) else {
        return;
    };
    // What is built is copied from where it is built, to where it is started.
    let workdir = after(&container, "WORKDIR ")[0];
    assert!(container.contains(&format!("COPY . {workdir}\n")));
    let built = format!("COPY --from=build {workdir}/target/release/slvrc /usr/local/bin/slvrc");
    assert!(container.contains(&built) && container.contains(" AS build\n"), "{container}");
    let build = container.split("cargo build ").nth(1).expect("a build").lines().next();
    let words: Vec<&str> = build.expect("a line").split_whitespace().collect();
    assert_eq!(words, ["--release", "--locked", "-p", "slvrc"]);
    for file in ["Cargo.lock", "slvrc/Cargo.toml", "docs/deploy/Containerfile"] {
        assert!(checkout().join(file).is_file(), "{file}");
    }
    let first = container.lines().next().expect("a line");
    assert!(first.ends_with("build -f docs/deploy/Containerfile ."), "{first}");
    let volumes: Vec<String> =
        serde_json::from_str(after(&container, "VOLUME ")[0]).expect("a list");
    assert_eq!(volumes, ["/etc/slvr", "/var/lib/slvr"]);
    assert!(
        container.contains("--home-dir /var/lib/slvr slvr\n") && container.contains("USER slvr\n")
    );
    let words = entrypoint(&container);
    known(&words);
    // Compose: paths from its folder, a service for each host, a folder of keys and a volume for each.
    let folder = checkout().join("docs/deploy");
    let build = after(&compose, "build: { context: ")[0];
    let (context, dockerfile) = build.split_once(", dockerfile: ").expect("both");
    assert!(folder.join(context).join("Cargo.toml").is_file(), "{context}");
    let dockerfile = dockerfile.trim_end_matches(" }");
    assert!(folder.join(context).join(dockerfile).is_file(), "{dockerfile}");
    let place = Place::new();
    made(&place, &compose);
    for i in 0..3 {
        let toml = fs::read_to_string(place.path(&format!("try/node-{i}/node.toml")));
        let toml = toml.expect("a configuration");
        let named = |k| toml.contains(&format!("address = \"node-{k}:"));
        assert!((0..3).all(named), "the services are the hosts: {toml}");
        assert!(compose.contains(&format!("\n  node-{i}:")), "node {i} is a service");
        let volumes = format!("[\"./try/node-{i}:/etc/slvr:ro\", \"data-{i}:/var/lib/slvr\"]");
        assert!(compose.contains(&volumes), "{volumes}");
        assert!(compose.contains(&format!("data-{i}: {{}}")));
    }
    let grace = after(&compose, "stop_grace_period: ")[0].trim_end_matches('s');
    assert!(grace.parse::<u64>().expect("seconds") > 30);
    let mut node = Node::start(&place, &words);
    node.signal("-TERM");
    assert!(node.child.wait().expect("ends").success());
}
