//! The page for operators: its commands are run, in their order and in one shell, as they stand there. Only ports are others, so that
//! no two tests have the same.

use crate::folder::Place;
use crate::ports;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The blocks of commands of a page.
fn blocks(page: &str) -> Vec<&str> {
    let all = page.split("\n```sh\n").skip(1);
    all.map(|rest| rest.split("\n```").next().expect("an end")).collect()
}

#[test]
fn every_command_of_the_page_for_operators_does_what_it_says() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/operations.md");
    // The crate may be built by itself, and where there is no curl nobody asks a node with it.
    let curl = Command::new("curl").arg("--version").stdout(Stdio::null()).status();
    let (Ok(page), true) = (fs::read_to_string(docs), curl.is_ok_and(|s| s.success())) else {
        return;
    };
    let blocks = blocks(&page);
    assert!(blocks.len() >= 12, "only {} blocks of commands", blocks.len());
    let port = ports::row();
    let mut script = String::from("set -eu\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n");
    for block in &blocks {
        script += block;
        script += "\n";
    }
    for i in 0..3 {
        script =
            script.replace(&format!("localhost:742{i}"), &format!("localhost:{}", port + 20 + i));
    }
    script = script.replace("--port 7400", &format!("--port {port}"));
    let place = Place::new();
    let slvrc = Path::new(env!("CARGO_BIN_EXE_slvrc"));
    let mut path = slvrc.parent().expect("a folder").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let (out, err) = (place.path("out.txt"), place.path("err.txt"));
    let file = |path: &Path| fs::File::create(path).expect("a file");
    let mut shell = Command::new("sh");
    shell.args(["-xc", &script]).current_dir(place.path("")).env("PATH", path);
    // It ends what it has started itself, and nobody else.
    shell.stdin(Stdio::null()).stdout(file(&out)).stderr(file(&err)).process_group(0);
    let status = shell.status().expect("a shell");
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    assert!(
        status.success(),
        "{}\n{}\n{}",
        read(&out),
        read(&err),
        read(&place.path("node-0.log"))
    );
    // What the commands were for.
    assert!(place.path("outputs/report.json").is_file() && place.path("kept/node.redb").is_file());
    assert!(!place.path("try/node-0/data/backup").exists());
    assert!(
        read(&place.path("metrics.txt"))
            .contains("slvr_rounds_released_total{task=\"norm_bound\"} 1\n")
    );
    for i in [0, 2] {
        let enrolled = read(&place.path(&format!("{}/node-{i}/clients.toml", ["a", "", "c"][i])));
        assert!(enrolled.contains("name = \"hospital-7\""), "{enrolled}");
    }
    assert!(read(&place.path("try/node-1/clients.toml")).contains("name = \"hospital-7\""));
    // Each line of the log is one object, and those of requests name the request and its round.
    let log = read(&place.path("node-0.log"));
    let lines: Vec<serde_json::Value> = log
        .lines()
        .map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}")))
        .collect();
    let of_requests = lines.iter().filter(|l| l["message"] == "a submission is complete");
    let named = |l: &&serde_json::Value| {
        l["round"] == "norm_bound/1"
            && l["span"]["id"].is_string()
            && l["span"]["round"] == l["round"]
    };
    assert_eq!(of_requests.filter(named).count(), 10, "{log}");
    assert!(lines.iter().any(|l| l["message"] == "stopped"), "{log}");
}
