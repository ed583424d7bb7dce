//! Noise on the command line: runs as threads and as processes, evaluations, and what is said of it.

use crate::folder::{Folder, Numbers, Place};

const ROUND: &str = "gallery/dp_fedavg M=Mlp[4,3,2] m=5";

fn place() -> Place {
    let place = Place::new();
    let (mut numbers, mut folder) = (Numbers(5), Folder::default());
    let params: [(&str, &[usize]); 4] =
        [("fc1.weight", &[3, 4]), ("fc1.bias", &[3]), ("fc2.weight", &[2, 3]), ("fc2.bias", &[2])];
    for client in (0..5).map(|i| format!("Client/{i}")) {
        for (name, shape) in params {
            folder.put(&client, &format!("update.{name}"), numbers.reals(shape, -0.3, 0.3));
        }
    }
    folder.write(&place.path("in"));
    place
}

/// A seed repeats noise among threads and processes alike; without one every run has its own.
#[test]
fn noise_of_a_run_is_its_own_unless_a_seed_repeats_it() {
    let place = place();
    let run = |how: &str, out: &str| {
        place.slvrc(&format!("run {ROUND} --inputs in --outputs {out} --json {how}")).ok();
        place.tensors(&format!("{out}/Server.safetensors"))
    };
    let threads = run("--seed 7", "a");
    assert_eq!(run("--seed 7 --processes", "b"), threads);
    assert_ne!(run("--seed 8", "c"), threads);
    let (own, other) = (run("", "d"), run("--processes", "e"));
    assert!(own != other && own != threads);
}

/// `eval` draws noise from its seed, the same in floating point and in ring arithmetic.
#[test]
fn evaluations_draw_noise_from_their_seed() {
    let place = place();
    let eval = |how: &str, out: &str| -> Vec<f64> {
        place.slvrc(&format!("eval {ROUND} --inputs in --outputs {out} --json {how}")).ok();
        let all = place.tensors(&format!("{out}/Server.safetensors"));
        all.into_values().flatten().collect()
    };
    let off =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    let (float, exact) = (eval("--seed 3", "a"), eval("--seed 3 --exact", "b"));
    assert!(off(&float, &exact) < 1e-3, "{}", off(&float, &exact));
    assert!(off(&float, &eval("--seed 4", "c")) > 0.1);
}

/// `check`, `explain`, `run` and `certify` say what the noise is and what it promises, as text and as JSON.
#[test]
fn every_report_says_what_noise_promises() {
    let place = place();
    for verb in ["check", "explain"] {
        let text = place.slvrc(&format!("{verb} {ROUND}")).stdout;
        for part in
            ["discrete gaussian with sigma 7 on multiples of 2^-16", "100 rounds: epsilon 7."]
        {
            assert!(text.contains(part), "{verb}: {text}");
        }
    }
    let text = place.slvrc(&format!("run {ROUND} --inputs in")).stdout;
    assert!(text.contains("known to nobody") && text.contains("epsilon"), "{text}");
    let check = place.slvrc(&format!("check {ROUND} --json")).ok()["privacy"].clone();
    let explain = place.slvrc(&format!("explain {ROUND} --json")).ok();
    let run = place.slvrc(&format!("run {ROUND} --inputs in --json")).ok();
    assert_eq!(explain["certificate"]["privacy"], check);
    assert_eq!(run["certificate"]["privacy"], check);
    assert_eq!(check["rounds"][2]["rounds"], 100);
    // Another delta, and other numbers of rounds.
    let asked =
        place.slvrc(&format!("explain {ROUND} --delta 1e-6 --rounds 250 --rounds 3 --json"));
    let asked = asked.ok()["certificate"]["privacy"]["rounds"].clone();
    assert_eq!((&asked[0]["rounds"], &asked[1]["rounds"]), (&3.into(), &250.into()), "{asked}");
    assert_eq!(asked[1]["delta"], 1e-6);
    assert!(asked[1]["epsilon"].as_f64() > check["rounds"][2]["epsilon"].as_f64(), "{asked}");
    let wrong = place.slvrc(&format!("explain {ROUND} --delta 2"));
    assert!(wrong.stderr.contains("is not between 0 and 1"), "{}", wrong.stderr);
    let none = place.slvrc("explain secure_aggregation M=Mlp[4,3,2] m=5 --rounds 3");
    assert!(
        none.stderr.contains("--delta and --rounds ask what noise promises"),
        "{}",
        none.stderr
    );
    let leaks = explain["leaks"].to_string();
    assert!(leaks.contains("noise that nobody knows"), "{leaks}");
    place.slvrc(&format!("certify {ROUND} --inputs in --json")).ok();
    // Programs without noise have nothing to say of it.
    let plain = place.slvrc("check secure_aggregation M=Mlp[4,3,2] m=5 --json").ok();
    assert!(plain.get("privacy").is_none(), "{plain}");
}

/// A built circuit has its noise, too.
#[test]
fn a_built_circuit_draws_noise() {
    let place = place();
    place.slvrc(&format!("build {ROUND} -o x.slvrb --json")).ok();
    let run = |seed: u32| {
        place
            .slvrc(&format!("run x.slvrb --inputs in --outputs o{seed} --seed {seed} --json"))
            .ok();
        place.tensors(&format!("o{seed}/Server.safetensors"))
    };
    assert_ne!(run(1), run(2));
}
