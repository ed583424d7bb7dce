//! The data sets of the lab: the digits that come with slvrc, those of `--data` by their names, and any folder of IDX or npz
//! files.

use crate::fail::{Usage, misuse};
use anyhow::{Context, anyhow, bail};
use sha2::{Digest, Sha256};
use slvr::files;
use slvr::report::hex;
use slvr::tensors::{NpzArray, npz_arrays};
use slvr_simulation::data::Dataset;
use slvr_simulation::idx::{self, Idx};
use slvr_simulation::lab::world::Split;
use std::path::{Path, PathBuf};

/// Those that have a name.
pub const DIGITS: &str = "digits";
pub const NAMES: [&str; 4] = [DIGITS, "mnist", "fashion", "cifar10"];

const MOST: u64 = 1 << 27;

/// Reads a data set by its name or its folder; `data` is what `--data` or `SLVR_DATA` says.
pub fn load(name: &str, data: Option<&Path>) -> anyhow::Result<Split> {
    if name == DIGITS {
        return Ok(split(idx::digits()?));
    }
    if !NAMES.contains(&name) {
        return read(Path::new(name));
    }
    let from_environment = std::env::var_os("SLVR_DATA").map(PathBuf::from);
    let Some(data) = data.map(Path::to_path_buf).or(from_environment) else {
        misuse!(
            "the data set {name} does not come with slvrc: say with --data DIR or SLVR_DATA where the folder `{name}` with its \
             IDX files is"
        );
    };
    let inside = data.join(name);
    if !inside.is_dir() {
        // Other files would be taken for these.
        bail!(
            "{}: there is no such folder with train-images-idx3-ubyte.gz and the like; --dataset {} reads the files of that folder itself",
            inside.display(),
            data.display()
        );
    }
    read(&inside)
}

/// The model that is trained on samples of this shape if none is named.
pub fn model(shape: &[usize]) -> anyhow::Result<&'static str> {
    match shape {
        [1, 8, 8] => Ok("DigitsNet"),
        [1, 28, 28] => Ok("LeNet5"),
        [3, 32, 32] => Ok("ResNet20"),
        _ => Err(Usage(format!("say with --model what is trained on samples of {shape:?}")).into()),
    }
}

/// Every fifth sample is for tests, where nothing says which are.
fn split(all: Dataset) -> Split {
    let (test, train): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|i| i % 5 == 0);
    Split { train: all.select(&train), test: all.select(&test) }
}

/// Images or labels of a part, from a file or an array of one.
struct Part {
    from: String,
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Part {
    /// Labels have one dimension.
    fn labels(&self) -> bool {
        self.shape.len() == 1
    }

    /// Whether the name says that it is for tests: one of its words does.
    fn tests(&self) -> bool {
        let name = self.from.to_lowercase();
        let mut words = name.split(|c: char| !c.is_alphanumeric());
        words.any(|word| ["test", "t10k", "valid"].iter().any(|mark| word.starts_with(mark)))
    }
}

/// All IDX and npz files of a folder. What has one dimension is labels, what has more is images, and a name with a word that
/// begins with `test`, `t10k` or `valid` is for tests.
fn read(folder: &Path) -> anyhow::Result<Split> {
    const WANTED: &str = "there are no images and labels in IDX or npz files, as train-images-idx3-ubyte.gz and \
         train-labels-idx1-ubyte.gz, or train.npz with `images` and `labels`";
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("{}: {WANTED}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<anyhow::Result<_>>()?;
    paths.sort();
    let mut parts = Vec::new();
    for path in paths {
        let name = path.file_name().map(|n| n.to_string_lossy().to_string()).unwrap_or_default();
        let (is_npz, is_idx) =
            (name.ends_with(".npz"), name.contains("idx") || name.contains("ubyte"));
        // A plain file beside its gzipped one is the same.
        let again = path.with_file_name(format!("{name}.gz")).exists();
        if !path.is_file() || !(is_npz || is_idx) || again {
            continue;
        }
        let bytes = files::read(&path, MOST)
            .with_context(|| format!("{}: cannot be read", path.display()))?;
        let said = |why: String| anyhow!("{}: {why}", path.display());
        if is_idx {
            let Idx { shape, data } = idx::parse(&bytes).map_err(|e| said(e.to_string()))?;
            parts.push(Part {
                from: name,
                shape,
                values: data.into_iter().map(f32::from).collect(),
            });
            continue;
        }
        for NpzArray { name: array, shape, values } in npz_arrays(&bytes, MOST).map_err(said)? {
            let shape = shape.into_iter().map(|d| d as usize).collect();
            parts.push(Part { from: format!("{name} {array}"), shape, values });
        }
    }
    let of = |labels: bool, tests: bool| -> anyhow::Result<Option<&Part>> {
        let all = || parts.iter().filter(|p| p.labels() == labels && p.tests() == tests);
        // Of several those that say what they are.
        let named: Vec<&Part> = all().filter(|p| tests || p.from.contains("train")).collect();
        let found = if named.is_empty() { all().collect() } else { named };
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            [a, b, ..] => bail!("{}: {} or {}?", folder.display(), a.from, b.from),
        }
    };
    let (images, labels) = (of(false, false)?, of(true, false)?);
    let (Some(images), Some(labels)) = (images, labels) else {
        bail!("{}: {WANTED}", folder.display());
    };
    let white = parts
        .iter()
        .filter(|p| !p.labels())
        .flat_map(|p| &p.values)
        .fold(0.0, |m: f32, x| m.max(*x));
    let train = dataset(images, labels, white)?;
    match (of(false, true)?, of(true, true)?) {
        (Some(images), Some(labels)) => Ok(Split { train, test: dataset(images, labels, white)? }),
        _ => Ok(split(train)),
    }
}

/// Images as (channels, height, width), the largest value as 1.
fn dataset(images: &Part, labels: &Part, white: f32) -> anyhow::Result<Dataset> {
    let at = || format!("{} and {}", images.from, labels.from);
    let shape = match images.shape.as_slice() {
        [_, h, w] => vec![1, *h, *w],
        // NumPy's data sets often have channels last.
        [_, h, w, c @ (1 | 3)] if *h > 3 => vec![*c, *h, *w],
        [_, rest @ ..] => rest.to_vec(),
        [] => bail!("{}: a number is no images", images.from),
    };
    if let Some(at) = images.values.iter().position(|x| !x.is_finite()) {
        let each = images.shape[1..].iter().product::<usize>().max(1);
        bail!("{}: image {} has a value that is no finite number", images.from, at / each);
    }
    let turned = images.shape.len() == 4 && shape != images.shape[1..];
    let size: usize = shape.iter().product();
    let one = |image: &[f32]| -> Vec<f32> {
        let area = size / shape[0].max(1);
        let place = |i: usize| if turned { i % area * shape[0] + i / area } else { i };
        (0..image.len()).map(|i| image[place(i)] / white.max(f32::MIN_POSITIVE)).collect()
    };
    let pixels = images.values.chunks(size.max(1)).flat_map(one).collect();
    let label = |x: &f32| {
        let whole = x.fract() == 0.0 && (0.0..256.0).contains(x);
        whole.then_some(*x as u8).with_context(|| format!("{}: {x} is no label", labels.from))
    };
    let labels = labels.values.iter().map(label).collect::<anyhow::Result<Vec<u8>>>()?;
    Dataset::new(shape, pixels, labels).with_context(at)
}

/// Images of another size, by the mean of the four values around each place.
pub fn scaled(data: &Dataset, shape: &[usize]) -> anyhow::Result<Dataset> {
    let (&[c, h, w], &[to_c, to_h, to_w]) = (data.shape(), shape) else {
        bail!("samples of {:?} cannot be scaled to {shape:?}", data.shape());
    };
    if c != to_c {
        bail!("samples of {:?} cannot be scaled to {shape:?}", data.shape());
    }
    // Where a place lies between two others, with its part of the second.
    let between = |i: usize, from: usize, to: usize| {
        let at = ((i as f32 + 0.5) * from as f32 / to as f32 - 0.5).clamp(0.0, (from - 1) as f32);
        let low = at as usize;
        (low, (low + 1).min(from - 1), at - low as f32)
    };
    let mut out = Vec::with_capacity(data.len() * c * to_h * to_w);
    for i in 0..data.len() {
        for plane in data.image(i).chunks_exact(h * w) {
            for y in 0..to_h {
                let (top, bottom, down) = between(y, h, to_h);
                for x in 0..to_w {
                    let (left, right, across) = between(x, w, to_w);
                    let row = |y: usize| {
                        plane[y * w + left] * (1.0 - across) + plane[y * w + right] * across
                    };
                    out.push(row(top) * (1.0 - down) + row(bottom) * down);
                }
            }
        }
    }
    Ok(Dataset::new(shape.to_vec(), out, data.labels().to_vec())?)
}

/// Says whether data are the same as in an earlier call.
pub fn digest(split: &Split) -> String {
    let mut hash = Sha256::new();
    for part in [&split.train, &split.test] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.labels());
        for some in part.images().chunks(1 << 12) {
            let bytes: Vec<u8> = some.iter().flat_map(|x| x.to_le_bytes()).collect();
            hash.update(&bytes);
        }
    }
    short(hash)
}

/// The beginning of a hash, which is enough to tell what has changed.
pub fn short(hash: Sha256) -> String {
    hex(&hash.finalize()[..8])
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

/// The same in the size that a model reads.
pub fn scaled_to(split: Split, shape: &[u64]) -> anyhow::Result<Split> {
    let shape: Vec<usize> = shape.iter().map(|&d| d as usize).collect();
    Ok(Split { train: scaled(&split.train, &shape)?, test: scaled(&split.test, &shape)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_images_are_between_their_neighbours_and_keep_what_is_even() {
        let image = vec![0.0, 1.0, 0.0, 1.0];
        let data = Dataset::new(vec![1, 2, 2], image, vec![7]).expect("an image");
        let scaled = scaled(&data, &[1, 4, 4]).expect("scaled");
        assert_eq!(scaled.labels(), [7]);
        for row in scaled.images().chunks(4) {
            assert_eq!(row, [0.0, 0.25, 0.75, 1.0]);
        }
        assert!(super::scaled(&data, &[3, 4, 4]).is_err());
    }
}
