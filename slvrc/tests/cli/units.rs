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
    // By number, so that Kubernetes sees that it is not root.
    assert!(container.contains("--uid 10001 ") && container.contains("USER 10001:10001\n"));
    assert!(container.contains("--home-dir /var/lib/slvr slvr && chmod 0700 /var/lib/slvr\n"));
    // Images are of a version, and the compiler is the one that the checkout names.
    let channel = fs::read_to_string(checkout().join("rust-toolchain.toml")).expect("a version");
    let channel = channel.split('"').nth(1).expect("a version");
    assert!(container.contains(&format!("/rust:{channel}-slim-")), "{channel}");
    let froms: Vec<&str> = after(&container, "FROM ");
    assert_eq!(froms, ["${RUST} AS build", "${BASE}"]);
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
        let own = format!("./try/node-{i}");
        let volumes = format!("[\"{own}:/etc/slvr:ro\", \"{own}/data:/etc/slvr/data\"]");
        assert!(compose.contains(&volumes), "{volumes}");
        assert!(place.path(&format!("try/node-{i}/data")).is_dir(), "what is mounted is there");
    }
    let grace = after(&compose, "stop_grace_period: ")[0].trim_end_matches('s');
    assert!(grace.parse::<u64>().expect("seconds") > 30);
    let mut node = Node::start(&place, &words);
    node.signal("-TERM");
    assert!(node.child.wait().expect("ends").success());
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

/// The manifests, with one organisation's own folder beside them as their comment says.
#[test]
fn the_manifests_name_what_is_there_and_render() {
    let from = checkout().join("docs/deploy/kubernetes");
    let Ok(kustomization) = fs::read_to_string(from.join("kustomization.yaml")) else { return };
    let place = Place::new();
    let line =
        kustomization.lines().find_map(|l| l.trim_start_matches(['#', ' ']).strip_prefix("slvrc "));
    let line = line.expect("a command").replace("--task ...", "--task norm_bound M=DigitsNet m=4");
    place.slvrc(&format!("{line} --json")).ok();
    let toml = fs::read_to_string(place.path("try/node-0/node.toml")).expect("a configuration");
    assert!(toml.contains("data = \"/var/lib/slvr/data\"\n"), "{toml}");
    fs::create_dir_all(place.path("mine/node")).expect("a folder");
    for file in fs::read_dir(&from).expect("manifests").flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        fs::copy(file.path(), place.path(&format!("mine/{name}"))).expect("copies");
    }
    for file in after(&kustomization, "- node/") {
        let file_of = place.path(&format!("try/node-0/{file}"));
        fs::copy(file_of, place.path(&format!("mine/node/{file}"))).expect("is there");
    }
    for file in toml.lines().filter_map(|l| l.split('"').nth(1)).filter(|f| f.contains('.')) {
        let is_file = place.path(&format!("try/node-0/{file}")).is_file();
        assert!(!is_file || kustomization.contains(&format!("- node/{file}\n")), "{file}");
    }
    let read = |name: &str| fs::read_to_string(from.join(name)).expect("a manifest");
    let (set, services, policy) =
        (read("statefulset.yaml"), read("services.yaml"), read("networkpolicy.yaml"));
    for (name, port) in [("peers", 7400), ("clients", 7410), ("operations", 7420)] {
        assert!(toml.contains(&format!(":{port}\"")), "{port}: {toml}");
        assert!(set.contains(&format!("{{ name: {name}, containerPort: {port} }}")));
        assert!(
            services.contains(&format!("{{ name: {name}, port: {port}, targetPort: {name} }}"))
        );
        assert!(policy.contains(&format!("port: {port} }}]")));
    }
    let description = fs::read_to_string(checkout().join("node/src/http/openapi.json"));
    let description = description.expect("a description");
    for probe in set.lines().filter(|l| l.contains("httpGet")) {
        let path = probe.split("path: ").nth(1).expect("a path").trim_end_matches(" }");
        assert!(
            probe.contains("scheme: HTTPS, port: clients")
                && description.contains(&format!("\"{path}\""))
        );
    }
    let args = after(&set, "args: ")[0].trim_matches(['[', ']']);
    let words = ["slvrc", "node"].into_iter().chain(args.split(", ")).map(String::from);
    known(&words.collect::<Vec<_>>());
    let container = deploy("Containerfile").expect("an image");
    for id in ["runAsUser", "runAsGroup", "fsGroup"] {
        let id = after(&set, &format!("{id}: "))[0];
        assert!(container.contains(&format!("USER {id}:{id}\n")));
    }
    assert!(
        after(&set, "terminationGracePeriodSeconds: ")[0].parse::<u64>().expect("seconds") > 30
    );
    assert!(set.contains("mountPath: /var/lib/slvr }") && set.contains("mountPath: /etc/slvr,"));
    // By the tools that are here.
    let rendered =
        Command::new("kubectl").args(["kustomize", "mine"]).current_dir(place.path("")).output();
    let Ok(rendered) = rendered else {
        eprintln!("kubectl is not here");
        return;
    };
    let text = String::from_utf8_lossy(&rendered.stdout);
    assert!(rendered.status.success(), "{}", String::from_utf8_lossy(&rendered.stderr));
    let secret = text.split("secretName: ").nth(1).expect("a secret").lines().next();
    let named = format!("  name: {}\n", secret.expect("a name"));
    assert!(text.contains(&named) && named.contains("slvr-node-"), "{named}");
    place.write("all.yaml", rendered.stdout.as_slice());
    let schema =
        Command::new("kubernetes-validate").arg("--strict").arg(place.path("all.yaml")).output();
    match schema {
        Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
        Err(_) => eprintln!("kubernetes-validate is not here"),
    }
}
