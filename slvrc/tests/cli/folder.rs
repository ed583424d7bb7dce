//! Starting `slvrc`, and folders of input files to start it on.

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What came of a call.
pub struct Done {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// The one JSON object that standard output holds.
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", self.stdout, self.stderr));
        assert!(value.is_object(), "{value}");
        assert_eq!(self.stdout.lines().count(), 1, "{}", self.stdout);
        value
    }

    /// The JSON object of a call that must succeed.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 0, "{}{}", self.stdout, self.stderr);
        self.json()
    }

    /// What it printed, of a call that went well.
    pub fn ok_text(&self) -> &str {
        assert_eq!(self.status, 0, "{}{}", self.stdout, self.stderr);
        &self.stdout
    }
}

/// A directory of its own for one test; `slvrc` runs in it.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Place {
        Place(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file in a temporary directory");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Starts `slvrc` with these arguments, as on a command line without quotes.
    pub fn slvrc(&self, args: &str) -> Done {
        let out = Command::new(env!("CARGO_BIN_EXE_slvrc"))
            .args(args.split_whitespace())
            .current_dir(self.0.path())
            .output()
            .expect("slvrc starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Done {
            status: out.status.code().expect("an exit status"),
            stdout: text(out.stdout),
            stderr: text(out.stderr),
        }
    }

    /// Real numbers of a safetensors file by name.
    pub fn tensors(&self, name: &str) -> BTreeMap<String, Vec<f64>> {
        let bytes = self.read(name);
        let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
        let reals = |view: TensorView| {
            assert_eq!(view.dtype(), Dtype::F64);
            let words = view.data().chunks_exact(8);
            words.map(|c| f64::from_le_bytes(c.try_into().expect("8 bytes"))).collect()
        };
        file.tensors().into_iter().map(|(name, view)| (name, reals(view))).collect()
    }
}

/// A tensor as a file has it.
#[derive(Clone)]
pub struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Tensor {
    /// Other bytes, as many.
    pub fn set(&mut self, bytes: Vec<u8>) {
        assert_eq!(bytes.len(), self.bytes.len());
        self.bytes = bytes;
    }

    /// As an npy file.
    pub fn npy(&self, fortran: bool) -> Vec<u8> {
        let kind = match self.dtype {
            Dtype::F16 => "<f2",
            Dtype::F32 => "<f4",
            Dtype::F64 => "<f8",
            Dtype::I64 => "<i8",
            Dtype::I32 => "<i4",
            Dtype::U8 => "|u1",
            Dtype::U64 => "<u8",
            Dtype::BOOL => "|b1",
            other => panic!("NumPy has no {other:?}"),
        };
        let dims: String = self.shape.iter().map(|d| format!("{d}, ")).collect();
        let order = if fortran { "True" } else { "False" };
        let mut bytes = self.bytes.clone();
        if fortran && let [rows, columns] = self.shape[..] {
            let size = bytes.len() / (rows * columns);
            let at = |i: usize| (i % rows * columns + i / rows) * size;
            bytes =
                (0..rows * columns).flat_map(|i| self.bytes[at(i)..][..size].to_vec()).collect();
        }
        npy(
            &format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({dims}), }}"),
            &bytes,
        )
    }
}

/// An npy file of a dictionary and the bytes of entries.
pub fn npy(dictionary: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((dictionary.len() as u16).to_le_bytes());
    out.extend(dictionary.as_bytes());
    out.extend(bytes);
    out
}

/// Puts an array into a zip file.
pub fn put_npy(
    zip: &mut zip::ZipWriter<std::io::Cursor<&mut Vec<u8>>>,
    name: &str,
    bytes: &[u8],
    deflated: bool,
) {
    let method = match deflated {
        true => zip::CompressionMethod::Deflated,
        false => zip::CompressionMethod::Stored,
    };
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    zip.start_file(format!("{name}.npy"), options).expect("an entry");
    zip.write_all(bytes).expect("its bytes");
}

/// A tensor from its elements; the number of elements must fit.
macro_rules! tensor {
    ($name:ident, $ty:ty, $dtype:ident) => {
        pub fn $name(shape: &[usize], data: &[$ty]) -> Tensor {
            assert_eq!(shape.iter().product::<usize>(), data.len());
            let bytes = data.iter().flat_map(|x| x.to_le_bytes()).collect();
            Tensor { dtype: Dtype::$dtype, shape: shape.to_vec(), bytes }
        }
    };
}

tensor!(f32s, f32, F32);
tensor!(f64s, f64, F64);
tensor!(i64s, i64, I64);
tensor!(i32s, i32, I32);
tensor!(u8s, u8, U8);
tensor!(u64s, u64, U64);

/// Zeros of any type.
pub fn zeros(dtype: Dtype, shape: &[usize]) -> Tensor {
    let bits = shape.iter().product::<usize>() * dtype.bitsize();
    Tensor { dtype, shape: shape.to_vec(), bytes: vec![0; bits / 8] }
}

/// The tensors of one file.
pub type File = BTreeMap<String, Tensor>;

/// A folder of inputs, by file name without its extension.
#[derive(Default)]
pub struct Folder(pub BTreeMap<String, File>);

impl Folder {
    /// Puts a tensor into a file.
    pub fn put(&mut self, file: &str, name: &str, tensor: Tensor) {
        self.0.entry(file.into()).or_default().insert(name.into(), tensor);
    }

    /// Takes a tensor out of a file.
    pub fn take(&mut self, file: &str, name: &str) -> Tensor {
        let taken = self.0.get_mut(file).and_then(|f| f.remove(name));
        taken.unwrap_or_else(|| panic!("no {name} in {file}"))
    }

    /// The bytes of a file.
    pub fn bytes(&self, file: &str) -> Vec<u8> {
        let views = self.0[file].iter().map(|(name, t)| {
            let view = TensorView::new(t.dtype, t.shape.clone(), &t.bytes);
            (name, view.expect("as many bytes as the shape has"))
        });
        safetensors::serialize(views, None).expect("a safetensors file")
    }

    /// The bytes of a file as NumPy saves it, compressed or not, the first index fastest or the last.
    pub fn npz(&self, file: &str, deflated: bool, fortran: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(&mut out));
        for (name, tensor) in &self.0[file] {
            put_npy(&mut zip, name, &tensor.npy(fortran), deflated);
        }
        zip.finish().expect("a zip file");
        out
    }

    /// Writes all files as NumPy does.
    pub fn write_npz(&self, dir: &Path, deflated: bool, fortran: bool) {
        for name in self.0.keys() {
            let path = dir.join(format!("{name}.npz"));
            fs::create_dir_all(path.parent().expect("inside dir")).expect("a directory");
            fs::write(path, self.npz(name, deflated, fortran)).expect("a file");
        }
    }

    pub fn write(&self, dir: &Path) {
        for name in self.0.keys() {
            let path = dir.join(format!("{name}.safetensors"));
            fs::create_dir_all(path.parent().expect("inside dir")).expect("a directory");
            fs::write(path, self.bytes(name)).expect("a file");
        }
    }
}

/// How many cases a long run takes, or the first of them.
pub fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Whether what takes too long for every day is asked for.
pub fn is_full() -> bool {
    std::env::var("SLVR_EFFORT").is_ok_and(|effort| effort == "full")
}

/// Numbers that look random and are the same in each run (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * ((self.next() >> 11) as f64 / (1u64 << 53) as f64)
    }

    pub fn reals(&mut self, shape: &[usize], lo: f64, hi: f64) -> Tensor {
        let n = shape.iter().product();
        f32s(shape, &(0..n).map(|_| self.between(lo, hi) as f32).collect::<Vec<_>>())
    }
}

/// Sizes of `slvr_accuracy` that run in an instant.
pub const ACCURACY: &str = "slvr_accuracy M=Mlp[4,3,3] m=4 c=1 b=2";

/// Inputs for [`ACCURACY`].
pub fn accuracy(seed: u64) -> Folder {
    let mut numbers = Numbers(seed);
    let mut folder = Folder::default();
    let params: [(&str, &[usize]); 4] =
        [("fc1.weight", &[3, 4]), ("fc1.bias", &[3]), ("fc2.weight", &[3, 3]), ("fc2.bias", &[3])];
    for (name, shape) in params {
        folder.put("public", &format!("global.{name}"), numbers.reals(shape, -1.0, 1.0));
    }
    for client in (0..4).map(|i| format!("Client/{i}")) {
        for (name, shape) in params {
            folder.put(&client, &format!("update.{name}"), numbers.reals(shape, -0.3, 0.3));
        }
        folder.put(&client, "image", numbers.reals(&[2, 4], 0.0, 1.0));
        let label = [(); 2].map(|()| numbers.between(0.0, 3.0) as i64);
        folder.put(&client, "label", i64s(&[2], &label));
    }
    folder
}
