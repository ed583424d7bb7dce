//! The data sets of the lab.

use crate::fail::Usage;
use anyhow::{Context, anyhow, bail};
use slvr::files;
use slvr_simulation::data::Dataset;
use slvr_simulation::idx;
use slvr_simulation::lab::world::Split;
use std::path::{Path, PathBuf};

/// A data set by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Name {
    /// 1,797 digits of 8 x 8, which come with slvrc.
    Digits,
    /// MNIST.
    Mnist,
    /// Fashion-MNIST.
    Fashion,
    /// A part of CIFAR-10.
    Cifar10,
}

impl Name {
    /// Its name, and that of its folder.
    pub fn text(self) -> &'static str {
        match self {
            Name::Digits => "digits",
            Name::Mnist => "mnist",
            Name::Fashion => "fashion",
            Name::Cifar10 => "cifar10",
        }
    }

    /// The model that is trained on it if none is named.
    pub fn model(self) -> &'static str {
        match self {
            Name::Digits => "DigitsNet",
            Name::Mnist | Name::Fashion => "LeNet5",
            Name::Cifar10 => "ResNet20",
        }
    }

    /// Its files, without the ending: images and labels of both parts.
    fn files(self) -> [&'static str; 4] {
        match self {
            Name::Cifar10 => {
                ["train-images-idx4", "train-labels-idx1", "test-images-idx4", "test-labels-idx1"]
            }
            Name::Digits | Name::Mnist | Name::Fashion => {
                ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"]
            }
        }
    }
}

/// Most bytes of a file.
const MOST: u64 = 1 << 27;

/// Reads a data set; `folder` is what `--data` or `SLVR_DATA` says.
pub fn load(name: Name, folder: Option<&Path>) -> anyhow::Result<Split> {
    if name == Name::Digits {
        let all = idx::digits()?;
        let (test, train): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|i| i % 5 == 0);
        return Ok(Split { train: all.select(&train), test: all.select(&test) });
    }
    let from_environment = std::env::var_os("SLVR_DATA").map(PathBuf::from);
    let Some(folder) = folder.map(Path::to_path_buf).or(from_environment) else {
        let why = format!(
            "the data set {0} does not come with slvrc: say with --data DIR or SLVR_DATA where the folder `{0}` with its IDX files is",
            name.text()
        );
        return Err(Usage(why).into());
    };
    let [a, b, c, d] = name.files();
    let part = |images: &str, labels: &str| {
        let [images, labels] = [read(&folder, name, images)?, read(&folder, name, labels)?];
        // Each alone first, so that what is wrong with a file is said of that file.
        for (path, bytes) in [&images, &labels] {
            idx::parse(bytes).map_err(|e| anyhow!("{}: {e}", path.display()))?;
        }
        idx::dataset(&images.1, &labels.1, 255)
            .map_err(|e| anyhow!("{} and {}: {e}", images.0.display(), labels.0.display()))
    };
    Ok(Split { train: part(a, b)?, test: part(c, d)? })
}

/// A file of the data set, gzipped or not.
fn read(folder: &Path, name: Name, stem: &str) -> anyhow::Result<(PathBuf, Vec<u8>)> {
    let places = [folder.join(name.text()), folder.to_path_buf()];
    for place in &places {
        for ending in ["-ubyte.gz", "-ubyte"] {
            let path = place.join(format!("{stem}{ending}"));
            if path.exists() {
                let bytes = files::read(&path, MOST)
                    .with_context(|| format!("{}: cannot be read", path.display()))?;
                return Ok((path, bytes));
            }
        }
    }
    bail!("{}: there is no {stem}-ubyte.gz", places[0].display())
}

/// Says whether data are the same as in an earlier call.
pub fn digest(split: &Split) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for part in [&split.train, &split.test] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.labels());
        for some in part.images().chunks(1 << 12) {
            let bytes: Vec<u8> = some.iter().flat_map(|x| x.to_le_bytes()).collect();
            hash.update(&bytes);
        }
    }
    hash.finalize()[..8].iter().map(|b| format!("{b:02x}")).collect()
}

/// The same samples in the shape that a model reads, if they have as many values.
pub fn shaped(split: Split, shape: &[u64]) -> anyhow::Result<Split> {
    let shape: Vec<usize> = shape.iter().map(|&d| d as usize).collect();
    let one = |data: Dataset| {
        if data.shape() == shape || data.sample_size() != shape.iter().product::<usize>() {
            return Ok(data);
        }
        Dataset::new(shape.clone(), data.images().to_vec(), data.labels().to_vec())
    };
    Ok(Split { train: one(split.train)?, test: one(split.test)? })
}
