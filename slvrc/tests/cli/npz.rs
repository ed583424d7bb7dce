//! Inputs as NumPy saves them, in half precision, and with tensors that nothing reads.

use crate::folder::{Folder, Numbers, Place, Tensor, f32s, npy, put_npy, zeros};
use crate::inputs::{KINDS, kinds};
use half::{bf16, f16};
use safetensors::Dtype;
use std::fs;
use zip::ZipWriter;

const RUN: &str = "run kinds.slvr m=3 --inputs in --outputs out --seed 1";

/// The inputs of `KINDS`, without what nothing reads.
fn read() -> Folder {
    let mut folder = kinds();
    for client in ["Client/0", "Client/1", "Client/2"] {
        folder.take(client, "remark");
    }
    folder
}

fn place() -> Place {
    let place = Place::new();
    place.write("kinds.slvr", KINDS);
    place
}

#[test]
fn npz_files_hold_the_same_inputs() {
    let safetensors = place();
    read().write(&safetensors.path("in"));
    assert_eq!(safetensors.slvrc(RUN).status, 0);
    let wanted = safetensors.read("out/Server.safetensors");
    for (deflated, fortran) in [(false, false), (true, false), (true, true)] {
        let npz = place();
        read().write_npz(&npz.path("in"), deflated, fortran);
        let done = npz.slvrc(RUN);
        assert_eq!(done.status, 0, "{}", done.stderr);
        assert!(!done.stderr.contains("zeros stand in"), "{}", done.stderr);
        assert_eq!(npz.read("out/Server.safetensors"), wanted, "{deflated} {fortran}");
    }
    // Each file on its own may be of either kind.
    let mixed = place();
    read().write(&mixed.path("in"));
    fs::remove_file(mixed.path("in/Client/1.safetensors")).expect("it was there");
    mixed.write("in/Client/1.npz", read().npz("Client/1", true, false));
    assert_eq!(mixed.slvrc(RUN).status, 0);
    assert_eq!(mixed.read("out/Server.safetensors"), wanted);
}

/// Reals of two bytes each.
fn halves(dtype: Dtype, shape: &[usize], words: impl Iterator<Item = u16>) -> Tensor {
    let mut tensor = zeros(dtype, shape);
    tensor.set(words.flat_map(u16::to_le_bytes).collect());
    tensor
}

#[test]
fn half_precision_is_read_exactly() {
    let values = [0.0f32, 0.25, 0.5, 1.0, 0.125, 0.75];
    let mut wanted = None;
    for kind in 0..4 {
        let tensor = match kind {
            0 => f32s(&[2, 3], &values),
            1 => halves(Dtype::F16, &[2, 3], values.iter().map(|x| f16::from_f32(*x).to_bits())),
            2 => halves(Dtype::BF16, &[2, 3], values.iter().map(|x| bf16::from_f32(*x).to_bits())),
            _ => halves(Dtype::F16, &[2, 3], values.iter().map(|x| f16::from_f32(*x).to_bits())),
        };
        let place = place();
        let mut folder = read();
        folder.put("Client/1", "pixel", tensor);
        folder.write(&place.path("in"));
        if kind == 3 {
            fs::remove_file(place.path("in/Client/1.safetensors")).expect("it was there");
            place.write("in/Client/1.npz", folder.npz("Client/1", false, false));
        }
        let done = place.slvrc(RUN);
        assert_eq!(done.status, 0, "{}", done.stderr);
        assert!(!done.stderr.contains("zeros stand in"), "{}", done.stderr);
        let found = place.read("out/Server.safetensors");
        assert_eq!(&found, wanted.get_or_insert_with(|| found.clone()), "{kind}");
    }
}

/// What `certify` says of a client's file.
fn said(bytes: &[u8]) -> String {
    let place = place();
    read().write(&place.path("in"));
    fs::remove_file(place.path("in/Client/1.safetensors")).expect("it was there");
    place.write("in/Client/1.npz", bytes);
    let done = place.slvrc("certify kinds.slvr m=3 --inputs in");
    assert_eq!(done.status, 1, "{}", done.stdout);
    done.stderr.lines().last().unwrap_or_default().to_owned()
}

/// The file of client 1 with `pixel` as these bytes of an npy file.
fn with_pixel(bytes: &[u8]) -> Vec<u8> {
    let mut folder = read();
    folder.take("Client/1", "pixel");
    let mut out = folder.npz("Client/1", true, false);
    let mut zip = ZipWriter::new_append(std::io::Cursor::new(&mut out)).expect("a zip file");
    put_npy(&mut zip, "pixel", bytes, true);
    zip.finish().expect("a zip file");
    out
}

#[test]
fn what_is_wrong_with_an_npz_file_is_said() {
    let head = |kind: &str, shape: &str| {
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}")
    };
    let good = npy(&head("<f4", "(2, 3)"), &[0; 24]);
    for (bytes, part) in [
        (
            npy(&head("<f4", "(3, 2)"), &[0; 24]),
            "has shape [3, 2], the circuit expects [2, 3]; is it transposed?",
        ),
        (npy(&head(">f4", "(2, 3)"), &[0; 24]), "has elements of type >f4"),
        (npy(&head("<c8", "(2, 3)"), &[0; 48]), "has elements of type <c8"),
        (
            npy(&head("<f4", "(2, 3)"), &[0; 20]),
            "cut short: 24 bytes should follow its header, 20 do",
        ),
        // A megabyte that takes a kilobyte of the file is not unpacked.
        (npy(&head("<f4", "(2, 3)"), &vec![0; 1 << 20]), "damaged: more than 24 bytes follow"),
        (npy(&head("<f4", "(1000000000, 1000000000, 1000000000)"), &[0; 24]), "has shape"),
        (
            npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", &[0; 24]),
            "has elements of type of several fields",
        ),
        (good[..30].to_vec(), "not an array of NumPy"),
        (b"pixels".to_vec(), "not an array of NumPy"),
    ] {
        let said = said(&with_pixel(&bytes));
        let wanted = "error: in/Client/1.npz: tensor `pixel`: ";
        assert!(said.starts_with(wanted) && said.contains(part), "{said}, not {part}");
    }
    assert!(said(b"PK").starts_with("error: in/Client/1.npz: not an npz file"));
    let mut folder = read();
    folder.take("Client/1", "pixel");
    let said = said(&folder.npz("Client/1", false, false));
    assert!(said.contains("tensor `pixel`: missing, the circuit expects real numbers"), "{said}");
}

#[test]
fn two_files_of_one_giver_are_one_too_many() {
    let place = place();
    read().write(&place.path("in"));
    place.write("in/Client/1.npz", read().npz("Client/1", false, false));
    let done = place.slvrc("certify kinds.slvr m=3 --inputs in");
    assert_eq!(done.status, 1);
    let last = done.stderr.lines().last().unwrap_or_default();
    assert_eq!(
        last,
        "error: in/Client/1.safetensors: there is in/Client/1.npz too, and only one of them is read: remove the other"
    );
}

/// Damaged files are refused, or read as what they are: nothing panics.
#[test]
fn damaged_npz_files_are_refused() {
    let place = place();
    read().write(&place.path("in"));
    fs::remove_file(place.path("in/Client/1.safetensors")).expect("it was there");
    let whole = read().npz("Client/1", true, false);
    let mut numbers = Numbers(7);
    for seed in 0..21 {
        let mut bytes = whole.clone();
        let mut at = || numbers.between(0.0, whole.len() as f64) as usize;
        match seed % 3 {
            0 => bytes.truncate(at()),
            1 => (0..3).for_each(|_| bytes[at()] ^= 1 << (seed % 8)),
            _ => {
                let start = at();
                let end = (start + 9).min(whole.len());
                drop(bytes.splice(start..end, std::iter::repeat_n(0xff, 9)));
            }
        }
        place.write("in/Client/1.npz", &bytes);
        let done = place.slvrc("eval kinds.slvr m=3 --inputs in");
        assert!([0, 1].contains(&done.status), "seed {seed}: {}", done.stderr);
        assert!(!done.stderr.contains("panicked"), "seed {seed}: {}", done.stderr);
    }
}

#[test]
fn tensors_that_no_input_asks_for_are_named() {
    let place = place();
    let mut folder = kinds();
    folder.put("Client/2", "updat.fc1.bias", zeros(Dtype::F32, &[4]));
    folder.put("public", "epoch", zeros(Dtype::I64, &[]));
    folder.write(&place.path("in"));
    for verb in ["run", "eval"] {
        let done = place.slvrc(&format!("{verb} kinds.slvr m=3 --inputs in"));
        assert_eq!(done.status, 0, "{}", done.stderr);
        let notes: Vec<&str> = done.stderr.lines().filter(|l| l.starts_with("note: in/")).collect();
        assert_eq!(
            notes,
            [
                "note: in/public.safetensors: `epoch` is not read: `Kinds` has no such input",
                "note: in/Client/0.safetensors and 2 more: `remark`, `updat.fc1.bias` are not read: `Kinds` has no such input",
            ]
        );
    }
}

#[test]
fn eval_prints_whole_masks_and_says_how_to_see_the_rest_of_others() {
    let place = Place::new();
    place.write(
        "mask.slvr",
        "predicate Mask[m]() {\n    parties Client[m];\n    parties Server;\n\n    input x: secret fix in 0..8 from each Client;\n\n\
         \x20   let keep = [x[i] > 0.5 for i in Client];\n\n    reveal keep to Server as keep;\n    reveal x to Server as x;\n}\n",
    );
    let mut folder = Folder::default();
    for i in 0..30 {
        folder.put(&format!("Client/{i}"), "x", f32s(&[], &[i as f32 / 8.0]));
    }
    folder.write(&place.path("in"));
    let done = place.slvrc("eval mask.slvr m=30 --inputs in");
    let mask: Vec<&str> = (0..30).map(|i| if i > 4 { "1" } else { "0" }).collect();
    assert_eq!(
        done.stdout,
        format!(
            "Mask in floating point\n  keep [30] = {}\n  x [30] = 0.000000, 0.125000, 0.250000, 0.375000, …\n  \
             … --outputs DIR writes all values, and --json prints them\n",
            mask.join(", ")
        ),
        "{}",
        done.stderr
    );
}
