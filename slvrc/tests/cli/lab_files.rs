//! The lab and the files around it: data, models, results, other programs that write there, and names that are unusual.

use crate::folder::{Place, f64s, put_npy, u8s};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Adds updates up; x is there to be bound.
const MEAN: &str = "\
use std::{sum};
predicate P[M: model, m](x: fix = 1) {
    parties Client[m];
    parties Server;
    input update: secret weights M in -8..8 from each Client;
    reveal x * sum(update) / m to Server as aggregate;
}
";

/// Takes images of 28 x 28.
const SMALL: &str = "\
model Small(x: fix[1, 28, 28]) -> fix[10] {
    fc: linear[784, 10];
    x |> flatten |> fc
}
";

const QUICK: &str = "--attacks none --clients 4 --rounds 1 --epochs 1 --samples 20 --test 50 --seeds 1 --parties-every 0 --fast";

fn place() -> Place {
    let place = Place::new();
    place.write("p.slvr", MEAN);
    place.write("small.slvr", SMALL);
    place
}

/// An IDX file of bytes.
fn idx(shape: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut all = vec![0, 0, 8, shape.len() as u8];
    shape.iter().for_each(|d| all.extend(d.to_be_bytes()));
    all.extend(bytes);
    all
}

/// Writes 200 images of 28 x 28 of each part, as MNIST has them; `shade` is what they differ by.
fn mnist(place: &Place, shade: u8) {
    std::fs::create_dir_all(place.path("data/mnist")).expect("a folder");
    for part in ["train", "t10k"] {
        let pixels: Vec<u8> =
            (0..200 * 784u32).map(|i| (i / 784 * i % 251) as u8 ^ shade).collect();
        let labels: Vec<u8> = (0..200).map(|i| i as u8 % 10).collect();
        place.write(&format!("data/mnist/{part}-images-idx3-ubyte"), idx(&[200, 28, 28], &pixels));
        place.write(&format!("data/mnist/{part}-labels-idx1-ubyte"), idx(&[200], &labels));
    }
}

#[test]
fn results_go_on_only_with_the_same_model_and_the_same_data() {
    let place = place();
    mnist(&place, 0);
    let line = format!(
        "lab p.slvr --model small.slvr:Small --dataset mnist --data data --public 20 {QUICK}"
    );
    let first = place.slvrc(&line);
    assert_eq!(first.status, 0, "{}", first.stderr);
    let again = format!("{line} --resume");
    assert_eq!(place.slvrc(&again).status, 0);
    let pretrained = place.slvrc(&format!("{line} --pretrain 1 --out pretrained"));
    assert_eq!(pretrained.status, 0, "{}", pretrained.stderr);
    let refused = place.slvrc(&format!("{again} --out pretrained"));
    let why = "epochs before the first round 1 instead of unset (--pretrain)";
    assert!(refused.status == 1 && refused.stderr.contains(why), "{}", refused.stderr);
    mnist(&place, 1);
    let refused = place.slvrc(&again);
    assert!(refused.status == 1 && refused.stderr.contains("with data "), "{}", refused.stderr);
    mnist(&place, 0);
    place.write("small.slvr", SMALL.replace("flatten |> fc", "flatten |> fc |> relu"));
    let refused = place.slvrc(&again);
    assert!(refused.status == 1 && refused.stderr.contains("with files "), "{}", refused.stderr);
}

/// What is in a folder is not taken for another data set because of the folder's place.
#[test]
fn a_data_set_is_in_the_folder_of_its_name() {
    let place = place();
    mnist(&place, 0);
    let line = format!("lab p.slvr --model small.slvr:Small --public 20 {QUICK}");
    for data in ["data", "data/mnist"] {
        let done = place.slvrc(&format!("{line} --dataset fashion --data {data}"));
        let why = format!("{data}/fashion: there is no such folder");
        assert!(done.status == 1 && done.stderr.contains(&why), "{}", done.stderr);
        assert!(done.stderr.contains(&format!("--dataset {data} reads")), "{}", done.stderr);
    }
    place.slvrc(&format!("{line} --dataset data/mnist")).ok_text();
}

/// A folder of files of any names, IDX or npz, gives the same as the files that have the names of MNIST.
#[test]
fn a_folder_of_idx_or_npz_files_of_any_names_is_a_data_set() {
    let place = place();
    mnist(&place, 0);
    let run = |dataset: &str, out: &str| {
        let line = format!(
            "lab p.slvr --dataset {dataset} --public 20 --model small.slvr:Small {QUICK} --out {out} --json"
        );
        let report = place.slvrc(&line).ok();
        report["results"]["cells"]["p.slvr | none | 0"]["accuracy"].clone()
    };
    let named = run("mnist --data data", "a");
    std::fs::create_dir_all(place.path("other")).expect("a folder");
    for (from, to) in [
        ("train-images-idx3-ubyte", "pictures-a.idx"),
        ("train-labels-idx1-ubyte", "what-they-are.idx"),
        ("t10k-images-idx3-ubyte", "pictures-for-tests.idx"),
        ("t10k-labels-idx1-ubyte", "labels-for-tests.idx"),
    ] {
        place.write(&format!("other/{to}"), place.read(&format!("data/mnist/{from}")));
    }
    assert_eq!(run("other", "b"), named);
    std::fs::create_dir_all(place.path("zipped")).expect("a folder");
    let mut bytes = Vec::new();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(&mut bytes));
    for (array, file, header, shape) in [
        ("x_train", "train-images-idx3-ubyte", 16, &[200, 28, 28, 1][..]),
        ("y_train", "train-labels-idx1-ubyte", 8, &[200]),
        ("x_test", "t10k-images-idx3-ubyte", 16, &[200, 28, 28, 1]),
        ("y_test", "t10k-labels-idx1-ubyte", 8, &[200]),
    ] {
        let content = &place.read(&format!("data/mnist/{file}"))[header..];
        put_npy(&mut zip, array, &u8s(shape, content).npy(false), true);
    }
    zip.finish().expect("a zip");
    place.write("zipped/all.npz", bytes);
    assert_eq!(run("zipped", "c"), named);
    // Without a part for tests every fifth sample is for tests.
    std::fs::create_dir_all(place.path("alone")).expect("a folder");
    for file in ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"] {
        place.write(&format!("alone/{file}"), place.read(&format!("data/mnist/{file}")));
    }
    assert!(run("alone", "d").is_array());
    let none = place.slvrc(&format!("lab p.slvr --dataset nowhere {QUICK}"));
    assert!(
        none.status == 1 && none.stderr.contains("nowhere: there are no images"),
        "{}",
        none.stderr
    );
}

/// A class of which there are no tests has no accuracy, and images that are no numbers are refused where they are read.
#[test]
fn what_data_do_not_say_is_not_made_up() {
    let place = place();
    mnist(&place, 0);
    // No image of the digit 9 is for tests; a name with `test` inside a word is no name of tests.
    let labels: Vec<u8> = (0..200).map(|i| i as u8 % 9).collect();
    std::fs::create_dir_all(place.path("mine")).expect("a folder");
    for (from, to) in [("train", "contest"), ("t10k", "held-test")] {
        let images = place.read(&format!("data/mnist/{from}-images-idx3-ubyte"));
        place.write(&format!("mine/{to}-images.idx"), images);
        place.write(&format!("mine/{to}-labels.idx"), idx(&[200], &labels));
    }
    let line = format!("lab p.slvr --dataset mine --public 20 --model small.slvr:Small {QUICK}");
    let run = place.slvrc(&line);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let classes = String::from_utf8(place.read("lab/classes.csv")).expect("text");
    assert!(classes.contains("p.slvr,none,0,9,\n"), "{classes}");
    assert!(!classes.contains("p.slvr,none,0,8,\n"), "{classes}");

    std::fs::create_dir_all(place.path("nan")).expect("a folder");
    let mut pixels = vec![0.5; 40 * 784];
    pixels[7 * 784 + 3] = f64::NAN;
    let mut bytes = Vec::new();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(&mut bytes));
    put_npy(&mut zip, "x", &f64s(&[40, 28, 28], &pixels).npy(false), true);
    put_npy(&mut zip, "y", &u8s(&[40], &labels[..40]).npy(false), true);
    zip.finish().expect("a zip");
    place.write("nan/all.npz", bytes);
    let refused = place.slvrc(&line.replace("mine", "nan"));
    let why = "all.npz x: image 7 has a value that is no finite number";
    assert!(refused.status == 1 && refused.stderr.contains(why), "{}", refused.stderr);
}

#[test]
fn data_shift_to_another_data_set_scaled_to_the_size_of_the_first() {
    let place = place();
    mnist(&place, 0);
    let run = |how: &str, out: &str| {
        let line = format!(
            "lab p.slvr --dataset mnist --data data --public 20 --model small.slvr:Small {QUICK} --out {out} --shift evolving \
             --shift-every 1 {how} --json"
        );
        place.slvrc(&line.replace("--rounds 1", "--rounds 3")).ok()
    };
    let [own, digits] = [run("", "a"), run("--shift-to digits", "b")];
    let accuracy = |report: &serde_json::Value| {
        report["results"]["cells"]["p.slvr | none | 0"]["accuracy"].clone()
    };
    assert_eq!(accuracy(&own)[0], accuracy(&digits)[0], "before the shift nothing differs");
    assert_ne!(accuracy(&own), accuracy(&digits));
    let said = digits["results"]["setting"]["shifted data"].as_str().expect("a setting");
    assert!(said.starts_with("digits "), "{said}");
}

#[test]
fn a_damaged_data_file_is_named() {
    let place = place();
    mnist(&place, 0);
    let line = format!(
        "lab p.slvr --model small.slvr:Small --dataset mnist --data data --public 20 {QUICK}"
    );
    let images = place.read("data/mnist/train-images-idx3-ubyte");
    let zipped = |bytes: &[u8]| {
        let mut coder = GzEncoder::new(Vec::new(), Compression::fast());
        coder.write_all(bytes).expect("zipped");
        coder.finish().expect("zipped")
    };
    let (a, b) = images.split_at(images.len() / 2);
    let two = [zipped(a), zipped(b)].concat();
    let behind = [&zipped(&images)[..], b"garbage"].concat();
    let half = zipped(&images)[..100].to_vec();
    // Gzip files may have several members; what is no member may not stand behind one.
    for (bytes, good) in
        [(two, true), (behind, false), (half, false), (b"\x1f\x8b".to_vec(), false)]
    {
        place.write("data/mnist/train-images-idx3-ubyte.gz", &bytes);
        let run = place.slvrc(&format!("{line} --out {}", bytes.len()));
        assert_eq!(run.status == 0, good, "{} bytes: {}", bytes.len(), run.stderr);
        assert!(good || run.stderr.contains("train-images-idx3-ubyte.gz"), "{}", run.stderr);
    }
}

#[test]
fn two_labs_do_not_write_into_one_folder_and_what_a_killed_one_left_is_removed() {
    let place = place();
    let line = format!("lab p.slvr {QUICK} --out here");
    assert_eq!(place.slvrc(&line).status, 0);
    place.write("here/.results.json.4711.tmp", "half");
    let other = std::fs::File::create(place.path("here/.lock")).expect("a file");
    other.lock().expect("locked");
    let refused = place.slvrc(&format!("{line} --resume"));
    assert!(
        refused.status == 1 && refused.stderr.contains("another slvrc lab"),
        "{}",
        refused.stderr
    );
    assert!(place.path("here/.results.json.4711.tmp").exists(), "it may be the other's");
    drop(other);
    assert_eq!(place.slvrc(&format!("{line} --resume")).status, 0);
    assert!(!place.path("here/.results.json.4711.tmp").exists());
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_runs() {
    let place = place();
    for file in ["table.md", "accuracy.svg", "results.json"] {
        let out = format!("of-{file}");
        std::fs::create_dir_all(place.path(&out).join(file)).expect("a folder");
        let refused = place.slvrc(&format!("lab p.slvr {QUICK} --out {out}"));
        assert!(
            refused.status != 0 && refused.stderr.contains("is a directory"),
            "{}",
            refused.stderr
        );
        #[cfg(unix)]
        {
            std::fs::remove_dir(place.path(&out).join(file)).expect("removed");
            let pipe = place.path(&out).join(file);
            let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
            assert!(made.success());
            let refused = place.slvrc(&format!("lab p.slvr {QUICK} --out {out}"));
            assert!(refused.status != 0 && refused.stderr.contains("a pipe"), "{}", refused.stderr);
        }
    }
}

#[test]
fn a_path_may_hold_commas_and_ats() {
    let place = place();
    for folder in ["a,b", "c@d", "e@x=1"] {
        std::fs::create_dir(place.path(folder)).expect("a folder");
        place.write(&format!("{folder}/p.slvr"), MEAN);
    }
    let list = "a,b/p.slvr@x=2,c@d/p.slvr,e@x=1/p.slvr@x=3,norm_bound,p.slvr";
    let report = place.slvrc(&format!("lab --predicate {list} {QUICK} --json")).ok();
    let about = &report["results"]["about"];
    let sizes = |row: &str| about[row]["sizes"].as_str().unwrap_or("-").to_string();
    for (row, x) in
        [("a,b/p.slvr@x=2", 2), ("c@d/p.slvr", 1), ("e@x=1/p.slvr@x=3", 3), ("p.slvr", 1)]
    {
        assert_eq!(sizes(row), format!("M=DigitsNet m=4 x={x}"), "{about}");
    }
    assert_eq!(about.as_object().map(|rows| rows.len()), Some(5), "{about}");
}

/// A name that turns a terminal red, breaks a table, or is no XML.
#[cfg(unix)]
#[test]
fn names_reach_neither_terminal_nor_table_nor_plot_raw() {
    let place = place();
    for name in ["e\u{1b}[31mR.slvr", "pipe|line.slvr", "less<than&.slvr"] {
        place.write(name, MEAN);
        let out = format!("out{}", name.len());
        let run = place.slvrc(&format!("lab --predicate {name} {QUICK} --out {out}"));
        assert_eq!(run.status, 0, "{}", run.stderr);
        let table = String::from_utf8(place.read(&format!("{out}/table.md"))).expect("text");
        let plot = String::from_utf8(place.read(&format!("{out}/accuracy.svg"))).expect("text");
        for text in [&run.stdout, &run.stderr, &table, &plot] {
            assert!(!text.contains('\u{1b}'), "{text:?}");
        }
        assert!(!plot.contains("less<than") && !plot.contains("than&."), "{plot}");
        let of_table = table.lines().filter(|l| l.contains("line") && l.starts_with('|'));
        for row in of_table {
            assert!(row.contains("pipe\\|line") || row.contains("pipe&#124;line"), "{row}");
        }
    }
}

#[test]
fn training_that_diverges_is_said() {
    let place = place();
    place.write("narrow.slvr", MEAN.replace("-8..8", "-0.001..0.001"));
    let wild = place.slvrc(&format!("lab narrow.slvr {QUICK} --out wild"));
    assert!(wild.status == 0 && wild.stderr.contains("training diverged"), "{}", wild.stderr);
    let calm = place.slvrc(&format!("lab p.slvr {QUICK} --out calm"));
    assert!(calm.status == 0 && !calm.stderr.contains("diverged"), "{}", calm.stderr);
    // Where no bar can be drawn, each cell is a line.
    assert_eq!(calm.stderr.lines().filter(|l| l.contains("seed 0")).count(), 2, "{}", calm.stderr);
}

#[test]
fn the_demo_binds_sizes_and_names_those_without_a_value() {
    let place = place();
    place.write("h.slvr", MEAN.replace("m](x", "m, h](x").replace("/ m", "/ h"));
    let refused = place.slvrc("demo --predicate h.slvr --rounds 1 --clients 4");
    assert!(refused.status == 2 && refused.stderr.contains("`h`"), "{}", refused.stderr);
    let model = place.slvrc("demo --predicate h.slvr M=DigitsNet h=4 --clients 4");
    assert!(model.status == 2 && model.stderr.contains("leave this out"), "{}", model.stderr);
    let members = place.slvrc("demo --predicate h.slvr m=4 h=4");
    assert!(members.status == 2 && members.stderr.contains("--clients"), "{}", members.stderr);
    assert!(!members.stderr.contains("DigitsNet"), "{}", members.stderr);
    let run = place.slvrc("demo --predicate h.slvr h=4 --rounds 1 --clients 4 --json");
    run.ok();
}
