//! A deployment by the commands of the page on it: keys, three nodes, ten clients of the demo, a round.

use crate::folder::{Done, Folder, Place, f32s};
use crate::ports;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The three nodes. Dropping it ends them.
struct Nodes(Vec<Child>);

impl Nodes {
    fn start(place: &Place) -> Nodes {
        Nodes((0..3).map(|i| Nodes::start_one(place, "try", i)).collect())
    }

    /// A node whose configuration is in a folder.
    fn start_one(place: &Place, folder: &str, i: usize) -> Child {
        let log = std::fs::File::create(place.path(&format!("node-{i}.log"))).expect("a log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_slvrc"));
        let config = place.path(&format!("{folder}/node-{i}/node.toml"));
        command.arg("node").arg("--config").arg(config).stdin(Stdio::null()).stderr(log);
        command.spawn().expect("slvrc starts")
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &mut self.0 {
            node.kill().expect("is ended");
            node.wait().expect("has ended");
        }
    }
}

/// Processes whose command line names this.
#[cfg(target_os = "linux")]
fn processes(named: &str) -> usize {
    let all = std::fs::read_dir("/proc").expect("processes");
    let lines = all.flatten().filter_map(|p| std::fs::read(p.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(named)).count()
}

/// Three nodes of a folder, started by one command, so many workers, and as many processes that name it.
#[cfg(target_os = "linux")]
fn cluster(folder: &std::path::Path, workers: usize) -> Child {
    let cluster = Command::new(env!("CARGO_BIN_EXE_slvrc"))
        .arg("cluster")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("slvrc starts");
    let started = |i: usize| {
        let log = std::fs::read_to_string(folder.join(format!("node-{i}/node.log")));
        log.is_ok_and(|text| text.contains("started"))
    };
    let begun = Instant::now();
    while !(0..3).all(started) {
        assert!(begun.elapsed() < Duration::from_secs(300), "the nodes do not start");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(processes(folder.to_str().expect("a name")), 4 + workers);
    cluster
}

/// Whether all three nodes of a folder say that they were stopped, and not that they were killed.
#[cfg(target_os = "linux")]
fn all_stopped_in_order(folder: &std::path::Path) {
    for i in 0..3 {
        let log = std::fs::read_to_string(folder.join(format!("node-{i}/node.log")));
        assert!(log.expect("a log").contains("stopped"), "node {i} ended in order");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_cluster_that_is_asked_to_end_ends_its_three_nodes() {
    let place = Place::new();
    place.slvrc(&format!("keys try --port {} --clients 2 --json", ports::row())).ok();
    let folder = place.path("try");
    let mut cluster = cluster(&folder, 0);
    let asked = Command::new("kill").args(["-TERM", &cluster.id().to_string()]).status();
    assert!(asked.expect("kill").success());
    assert!(cluster.wait().expect("has ended").success());
    assert_eq!(processes(folder.to_str().expect("a name")), 0);
    all_stopped_in_order(&folder);
}

#[cfg(target_os = "linux")]
#[test]
fn a_cluster_that_is_killed_leaves_no_node_behind() {
    let place = Place::new();
    place.slvrc(&format!("keys try --port {} --clients 2 --json", ports::row())).ok();
    let folder = place.path("try");
    let mut cluster = cluster(&folder, 0);
    // On Unix this is the signal that nobody can catch.
    cluster.kill().expect("is killed");
    cluster.wait().expect("has ended");
    let begun = Instant::now();
    while processes(folder.to_str().expect("a name")) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(120), "nodes are left behind");
        thread::sleep(Duration::from_millis(50));
    }
    all_stopped_in_order(&folder);
}

const C: &str = "--config try/coordinator/coordinator.toml";

#[test]
fn ten_clients_of_the_demo_submit_and_the_aggregate_is_that_of_a_local_run() {
    let place = Place::new();
    place.slvrc("demo --rounds 1 --json --write-inputs inputs").ok();
    // A check without coins: two runs decide the same.
    let sizes = "norm_bound M=DigitsNet m=10";
    let local = place.slvrc(&format!("run {sizes} --inputs inputs --outputs local --json")).ok();
    place.slvrc(&format!("keys try --port {} --json --task {sizes}", ports::row())).ok();
    let _nodes = Nodes::start(&place);
    let open = format!("round --json {C} open norm_bound 1");
    let start = Instant::now();
    while place.slvrc(&open).status != 0 {
        let last = place.slvrc(&open);
        assert!(start.elapsed() < Duration::from_secs(300), "{}{}", last.stdout, last.stderr);
        thread::sleep(Duration::from_millis(200));
    }
    for i in 0..10 {
        let args = format!(
            "submit --json --config try/clients/client-{i}/client.toml norm_bound 1 --inputs inputs/Client/{i}.safetensors"
        );
        let (first, again) = (place.slvrc(&args).ok(), place.slvrc(&args).ok());
        for node in 0..3 {
            let digest = |said: &serde_json::Value| said["receipts"][node]["digest"].clone();
            assert_eq!(digest(&first), digest(&again));
        }
    }
    let watched = place.slvrc(&format!("round --json {C} watch norm_bound 1")).ok();
    assert_eq!(watched["nodes"][0]["phase"], "released", "{watched}");
    let collect = format!("round --json {C} collect norm_bound 1 --outputs outputs");
    let report = place.slvrc(&collect).ok();
    assert_eq!(report["circuit"], local["circuit_hash"]);
    assert_eq!(report["members"][9], "client-9", "{report}");
    let shown = place.slvrc(&format!("round --json {C} report norm_bound 1")).ok();
    assert_eq!((&shown["accepted"], &shown["phase"]), (&report["accepted"], &"released".into()));
    // A round that has ended is neither open nor closed because somebody asks for it again.
    let again = place.slvrc(&open);
    assert!(again.status != 0 && again.stdout.contains("is released"), "{}", again.stdout);
    let closed = place.slvrc(&format!("round {C} close norm_bound 1"));
    assert!(closed.stdout.contains("norm_bound/1 is released"), "{}", closed.stdout);
    assert_eq!(report["outcome"]["rounds"], local["predicted_rounds"]);
    let file = |dir: &str| place.tensors(&format!("{dir}/Server.safetensors"));
    for ((name, here), (_, there)) in file("local").iter().zip(&file("outputs")) {
        let far = here.iter().zip(there).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(here.len() == there.len() && far < 1e-3, "{name}: {far}");
    }
    // The words are gone once they are collected.
    let again = place.slvrc(&collect);
    assert!(again.status == 1 && again.stdout.contains("collected"), "{}", again.stdout);
}

/// By the commands of the page on workers: a round through a cluster with two of each node reveals what a run without any
/// does, to the bit, and each of them has ended with the cluster.
#[cfg(target_os = "linux")]
#[test]
fn a_round_through_a_cluster_with_workers_is_that_of_a_local_run() {
    let place = Place::new();
    place.slvrc("demo --rounds 1 --json --write-inputs inputs").ok();
    let sizes = "norm_bound M=DigitsNet m=10";
    let built = format!("{sizes} --memory 300KiB --no-speculation");
    let local = place.slvrc(&format!("run {built} --inputs inputs --outputs local --json")).ok();
    place.slvrc(&format!("keys try --port {} --json --task {sizes}", ports::row())).ok();
    let done = place.slvrc("keys try --workers 2 --json").ok();
    assert!(done["done"].as_str().is_some_and(|said| said.contains("workers = true")), "{done}");
    for i in 0..3 {
        let path = place.path(&format!("try/node-{i}/node.toml"));
        let text = std::fs::read_to_string(&path).expect("a configuration");
        let lines = "minimum = 2\nmemory = \"300KiB\"\nworkers = true";
        std::fs::write(&path, text.replace("minimum = 2", lines)).expect("writes");
        let worker = format!("worker --check --config try/node-{i}/worker-1/worker.toml");
        let looked = place.slvrc(&worker);
        assert!(looked.status == 0 && looked.stdout.contains("it can listen"), "{}", looked.stderr);
    }
    let folder = place.path("try");
    let mut cluster = cluster(&folder, 6);
    let reach = place.slvrc("node --check --reach --config try/node-1/node.toml");
    assert!(reach.status == 0, "{}", reach.stdout);
    assert!(reach.stdout.contains("worker 1 at 127.0.0.1:"), "{}", reach.stdout);
    place.slvrc(&format!("round --json {C} open norm_bound 1")).ok();
    for i in 0..10 {
        let args = format!(
            "submit --json --config try/clients/client-{i}/client.toml norm_bound 1 --inputs inputs/Client/{i}.safetensors"
        );
        place.slvrc(&args).ok();
    }
    let watched = place.slvrc(&format!("round --json {C} watch norm_bound 1")).ok();
    assert_eq!(watched["nodes"][0]["phase"], "released", "{watched}");
    let collect = format!("round --json {C} collect norm_bound 1 --outputs outputs");
    let report = place.slvrc(&collect).ok();
    assert_eq!(report["circuit"], local["circuit_hash"]);
    assert_eq!(report["outcome"]["workers"][0]["ranges"], serde_json::json!([0]), "{report}");
    let file = |dir: &str| place.tensors(&format!("{dir}/Server.safetensors"));
    assert_eq!(file("local"), file("outputs"), "to the bit");
    let asked = Command::new("kill").args(["-TERM", &cluster.id().to_string()]).status();
    assert!(asked.expect("kill").success());
    assert!(cluster.wait().expect("has ended").success());
    assert_eq!(processes(folder.to_str().expect("a name")), 0);
    all_stopped_in_order(&folder);
    for i in 0..3 {
        let log = std::fs::read_to_string(folder.join(format!("node-{i}/worker-1/worker.log")));
        let log = log.expect("a log");
        assert!(log.contains("stopping"), "its worker ended in order: {log}");
    }
}

#[test]
fn keys_refuses_what_no_node_could_run() {
    let place = Place::new();
    place.write("broken.slvr", "predicate P[m]() { parties Client[m]; reveal 1 to Nobody as x; }");
    for (args, said) in [
        ("--task norm_bond M=DigitsNet m=4", "did you mean `norm_bound`?"),
        ("--task norm_bound M=DigitsNet", "give it as in `m="),
        ("--task norm_bound m=4", "M"),
        ("--task norm_bound M=DigitsNet m=4 --size n", "`n`"),
        ("--task norm_bound M=DigitsNet m=4 --minimum 5", "is for 4 clients"),
        ("--task broken.slvr m=4", "Nobody"),
        ("--rotate 1 --hosts a,b", "name that of node 1, or three"),
    ] {
        let done = place.slvrc(&format!("keys try --json {args}"));
        assert_ne!(done.status, 0, "{args}");
        assert!(done.stdout.contains(said), "{args}: {}{}", done.stdout, done.stderr);
        assert!(!place.path("try").exists(), "{args}: something was made");
    }
}

/// Numbers of clients for which there is no circuit are named, as nodes do when they start.
#[test]
fn keys_names_numbers_of_clients_that_do_not_compile() {
    let place = Place::new();
    let port = ports::row();
    let done =
        place.slvrc(&format!("keys try --port {port} --json --task krum M=DigitsNet m=8 f=1"));
    let note = done.stderr.lines().find(|l| l.contains("no circuit")).unwrap_or_default();
    assert!(note.starts_with("note: krum: no circuit for 2 to 4: "), "{}", done.stderr);
    done.ok();
}

/// A deployment for three clients whose sum the server scales, and its nodes, carried elsewhere: the program and the file of
/// its model are gone from where they were.
struct Carried {
    nodes: Nodes,
    place: Place,
}

impl Carried {
    fn new() -> Carried {
        let place = Place::new();
        for folder in ["mine", "models"] {
            std::fs::create_dir(place.path(folder)).expect("a folder");
        }
        place.write(
            "mine/sum.slvr",
            "use std::{sum};\npredicate Mine[M: model, m]() {\n    parties Client[m];\n    parties Server;\n\
             \x20   input update: secret weights M in -8..8 from each Client;\n\
             \x20   input scale: secret fix in 0..4 from Server;\n\
             \x20   reveal scale * sum(update[i] for i in Client) to Server as total;\n}\n",
        );
        place.write(
            "models/sum.slvr",
            "model Small(x: fix[4]) -> fix[2] {\n    fc: linear[4, 2];\n    x |> fc\n}\n",
        );
        let port = ports::row();
        let task = "--task mine/sum.slvr M=models/sum.slvr:Small m=3";
        place.slvrc(&format!("keys try --port {port} --clients 3 --json {task}")).ok();
        std::fs::remove_dir_all(place.path("mine")).expect("removes");
        std::fs::remove_dir_all(place.path("models")).expect("removes");
        std::fs::rename(place.path("try"), place.path("elsewhere")).expect("moves");
        let mut inputs = Folder::default();
        for (file, weight, bias) in [("zeros", 0.0, 0.0), ("ones", 1.0, 0.5)] {
            inputs.put(file, "update.fc.weight", f32s(&[2, 4], &[weight; 8]));
            inputs.put(file, "update.fc.bias", f32s(&[2], &[bias; 2]));
        }
        inputs.put("scale", "scale", f32s(&[], &[2.0]));
        inputs.write(&place.path(""));
        let nodes = Nodes((0..3).map(|i| Nodes::start_one(&place, "elsewhere", i)).collect());
        let carried = Carried { nodes, place };
        carried.round("open sum 1 --patience 300").ok();
        carried
    }

    fn round(&self, what: &str) -> Done {
        let coordinator = "--config elsewhere/coordinator/coordinator.toml";
        self.place.slvrc(&format!("round --json {coordinator} {what}"))
    }

    /// A verb of a client, or of the server.
    fn client(&self, verb: &str, who: &str, what: &str) -> Done {
        let config = format!("elsewhere/clients/{who}/client.toml");
        self.place.slvrc(&format!("{verb} --json --config {config} {what}"))
    }

    fn submit(&self, who: &str, round: u64, file: &str) -> Done {
        self.client("submit", who, &format!("sum {round} --inputs {file}.safetensors"))
    }
}

#[test]
fn a_deployment_has_copies_of_its_programs_and_names_them_from_where_they_are() {
    let Carried { place, .. } = Carried::new();
    for i in 0..3 {
        let text = std::fs::read_to_string(place.path(&format!("elsewhere/node-{i}/node.toml")));
        let text = text.expect("a configuration");
        assert!(text.contains("program = \"programs/sum.slvr\""), "{text}");
        assert!(text.contains("M=programs/2-sum.slvr:Small"), "{text}");
        assert!(!text.contains(place.path("").to_str().expect("a name")), "{text}");
    }
}

#[test]
fn a_node_that_is_down_when_a_client_begins_is_waited_for() {
    let Carried { place, mut nodes } = Carried::new();
    nodes.0[2].kill().expect("is ended");
    nodes.0[2].wait().expect("has ended");
    let mut submit = Command::new(env!("CARGO_BIN_EXE_slvrc"))
        .args(["submit", "--patience", "300", "--config", "elsewhere/clients/client-0/client.toml"])
        .args(["sum", "1", "--inputs", "zeros.safetensors"])
        .current_dir(place.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("slvrc starts");
    let heard = std::io::BufReader::new(submit.stderr.take().expect("a pipe"));
    let mut lines = std::io::BufRead::lines(heard);
    let named = lines.find(|l| l.as_ref().is_ok_and(|l| l.contains("node 2 at 127.0.0.1")));
    assert!(named.is_some(), "it names the node that it waits for");
    nodes.0[2] = Nodes::start_one(&place, "elsewhere", 2);
    // Its pipe is read to the end, so that it never waits for this test.
    let rest: Vec<_> = lines.collect();
    let done = submit.wait_with_output().expect("ends");
    assert!(done.status.success(), "{rest:?}");
    assert!(String::from_utf8_lossy(&done.stdout).contains("is on all three nodes"));
}

#[test]
fn all_members_of_a_party_set_beside_the_clients_give_inputs_or_there_is_no_result() {
    let carried = Carried::new();
    // Nobody watches what does not exist.
    let none = carried.round("watch sum 7");
    assert_eq!(none.status, 1, "{}", none.stdout);
    let known = "node 0 knows no round sum/7: it knows the rounds 1";
    assert!(none.stdout.contains(known), "{}", none.stdout);
    for who in ["client-0", "client-1"] {
        carried.submit(who, 1, "zeros").ok();
    }
    carried.round("close sum 1").ok();
    let watched = carried.round("watch sum 1");
    let status = carried.round("watch --once sum 1");
    // As text and as an object it ends alike.
    let text =
        carried.place.slvrc("round --config elsewhere/coordinator/coordinator.toml watch sum 1");
    assert_eq!((watched.status, status.status, text.status), (3, 0, 3), "{}", watched.stdout);
    let missing = "0 of 1 members of `Server` were accepted";
    for said in [&watched, &status, &text] {
        assert!(said.stdout.contains(missing), "{}", said.stdout);
    }
    assert!(watched.stdout.contains("\"ok\":false"), "{}", watched.stdout);
}

#[test]
fn a_server_that_gives_inputs_fetches_what_is_revealed_to_it() {
    let carried = Carried::new();
    // A client is no member of it, and a member no client.
    assert_ne!(carried.submit("client-0", 1, "scale").status, 0);
    assert_ne!(carried.submit("server-0", 1, "ones").status, 0);
    for (who, file) in [("client-2", "ones"), ("server-0", "scale"), ("client-0", "ones")] {
        carried.submit(who, 1, file).ok();
    }
    // One client does not come: the circuit is for two.
    carried.round("close sum 1").ok();
    let watched = carried.round("watch sum 1").ok();
    assert_eq!(watched["nodes"][0]["phase"], "released", "{watched}");
    let report = carried.round("collect sum 1 --outputs outputs").ok();
    assert_eq!(report["others"][0]["client"], "server-0", "{report}");
    assert_eq!(report["circuit_clients"], 2, "{report}");
    // The server gives inputs, so it is enrolled, and what is revealed to it is for nobody else.
    assert!(!carried.place.path("outputs/Server.safetensors").exists());
    let fetch = |who: &str| carried.client("fetch", who, "sum 1 --output total.safetensors");
    let nothing = fetch("client-0");
    assert_eq!(nothing.status, 1, "{}", nothing.stdout);
    assert!(nothing.stdout.contains("revealed nothing"), "{}", nothing.stdout);
    let got = fetch("server-0").ok();
    assert_eq!((&got["set"], &got["member"]), (&"Server".into(), &0.into()), "{got}");
    let total = carried.place.tensors("total.safetensors");
    let right = |name: &str, x: f64| {
        let (_, found) = total.iter().find(|(n, _)| n.contains(name)).expect("a tensor");
        found.iter().all(|v| (v - x).abs() < 1e-3)
    };
    assert!(right("weight", 4.0) && right("bias", 2.0), "{total:?}");
}

/// Against a malicious node each client also compares hashes by which nodes vouch for one another's words. That a word
/// which was altered is noticed is tested beside what puts the three words together.
#[test]
fn clients_fetch_what_is_revealed_to_them_where_a_node_may_be_malicious() {
    let place = Place::new();
    place.write(
        "own.slvr",
        "use std::{sum};\npredicate Own[m]() {\n    parties Client[m];\n    parties Server;\n\
         \x20   input x: secret fix[2] in -8..8 from each Client;\n\
         \x20   reveal x[i] * 2 to Client[i] as mine;\n\
         \x20   reveal sum(x[i] for i in Client) to Server as total;\n}\n",
    );
    let port = ports::row();
    let keys = "--clients 3 --json --task own.slvr m=3";
    place.slvrc(&format!("keys try --port {port} {keys}")).ok();
    for i in 0..3 {
        let file = place.path(&format!("try/node-{i}/node.toml"));
        let text = std::fs::read_to_string(&file).expect("a configuration");
        assert!(text.contains("minimum = 2\n"), "{text}");
        let text = text.replace("minimum = 2\n", "minimum = 2\nsecurity = \"malicious\"\n");
        std::fs::write(&file, text).expect("writes");
    }
    let _nodes = Nodes::start(&place);
    let opened = place.slvrc(&format!("round {C} open own 1 --patience 300"));
    assert!(
        opened.stderr.contains("`mine` is revealed to members of `Client`"),
        "{}",
        opened.stderr
    );
    let mut inputs = Folder::default();
    for i in 0..3 {
        inputs.put(&format!("x{i}"), "x", f32s(&[2], &[1.0, i as f32]));
    }
    inputs.write(&place.path(""));
    for i in 0..3 {
        let args = format!(
            "submit --json --config try/clients/client-{i}/client.toml own 1 --inputs x{i}.safetensors"
        );
        place.slvrc(&args).ok();
    }
    let fetch = |i: usize| {
        place.slvrc(&format!(
            "fetch --json --keep --patience 300 --config try/clients/client-{i}/client.toml own 1 --output own{i}.safetensors"
        ))
    };
    for i in 0..3 {
        assert_eq!(fetch(i).ok()["member"], i, "the round is waited for");
        let own = place.tensors(&format!("own{i}.safetensors"));
        let (name, values) = own.iter().next().expect("a tensor");
        let far = (values[0] - 2.0).abs().max((values[1] - 2.0 * i as f64).abs());
        assert!(name == "mine" && values.len() == 2 && far < 1e-3, "{own:?}");
    }
    let collected = place.slvrc(&format!("round --json {C} collect own 1 --outputs outputs")).ok();
    assert_eq!(collected["members"][2], "client-2");
    assert!(place.path("outputs/Server.safetensors").exists());
    assert!(!place.path("outputs/Client").exists(), "the coordinator has nothing of it");
    let dropped = place.slvrc(&format!("round --json {C} drop own 1"));
    assert_eq!(dropped.status, 0, "{}", dropped.stdout);
    assert!(fetch(0).stdout.contains("erased"), "nothing is left");
}

/// Five rounds of training reach what they reach in one process: the three nodes make the same aggregates. Another check
/// than that of the demo is `SLVR_DEMO`.
#[test]
#[ignore = "it trains for minutes; CONTRIBUTING.md says how to run it"]
fn five_rounds_of_training_through_three_nodes_reach_what_the_demo_reaches() {
    let place = Place::new();
    let name = std::env::var("SLVR_DEMO").unwrap_or("norm_bound".into());
    let sizes = match name.as_str() {
        "slvr_accuracy" => "M=DigitsNet m=10 c=1 b=10",
        _ => "M=DigitsNet m=10",
    };
    place.slvrc(&format!("keys try --port {} --json --task {name} {sizes}", ports::row())).ok();
    let local = place.slvrc(&format!("demo {name} --rounds 5 --json")).ok();
    let _nodes = Nodes::start(&place);
    let through = place.slvrc(&format!("demo {name} --rounds 5 --json --through try")).ok();
    for attack in 0..2 {
        let last = |done: &serde_json::Value, of: &str| {
            done["attacks"][attack]["accuracy"][of][4].as_f64().expect("five rounds")
        };
        let (here, there) = (last(&local, "rule"), last(&through, "rule"));
        eprintln!("{name}, attack {attack}: {here:.4} in one process, {there:.4} through nodes");
        assert!((here - there).abs() < 0.02, "attack {attack}: {here} and {there}");
    }
}
