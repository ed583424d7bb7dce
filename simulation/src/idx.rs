//! IDX, the file format of MNIST and its relatives, plain or gzipped; and the embedded digits.
//!
//! A file is `00 00 08 ndim`, then ndim big-endian 32-bit sizes, then that many unsigned bytes,
//! row-major (Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits"). Other
//! element types exist in the format and are refused.
//!
//! The embedded data: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI
//! Machine Learning Repository, 1998, <https://doi.org/10.24432/C50P49>, licensed CC BY 4.0, in
//! scikit-learn's copy: 1,797 images of 8 x 8, grey values 0 to 16, repackaged as IDX.

use super::data::{DataError, Dataset};
use flate2::read::MultiGzDecoder;
use std::io::Read;
use thiserror::Error;

/// Largest content accepted, in bytes after decompression. MNIST's training images have 47 MB.
pub const MAX_BYTES: usize = 1 << 28;

/// Most dimensions accepted: samples, channels, height, width.
const MAX_RANK: usize = 4;

/// What is wrong with an IDX file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdxError {
    /// Gzip data that does not decompress, or with a wrong checksum.
    #[error("not valid gzip data: {0}")]
    Gzip(String),
    /// Not IDX, or not of unsigned bytes.
    #[error("an IDX file of unsigned bytes starts with 00 00 08, this one with {0:02x?}")]
    Magic([u8; 3]),
    /// Too many dimensions, or not as many as asked for.
    #[error("{found} dimensions where {expected} are expected")]
    Rank { found: usize, expected: &'static str },
    /// More content than [`MAX_BYTES`].
    #[error("content of shape {0:?} is over the limit of {MAX_BYTES} bytes")]
    TooLarge(Vec<usize>),
    /// The file ends early.
    #[error("the file ends after {found} of {expected} bytes of {part}")]
    Short { part: &'static str, found: usize, expected: usize },
    /// Bytes after the content.
    #[error("the file goes on after its content of shape {0:?}")]
    Long(Vec<usize>),
    /// A grey value above the one that stands for white.
    #[error("grey value {found} is above {white}, which stands for 1.0")]
    Grey { found: u8, white: u8 },
    /// Images and labels do not belong together.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// The content of an IDX file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idx {
    /// Sizes of the dimensions, outermost first.
    pub shape: Vec<usize>,
    /// The entries, row-major.
    pub data: Vec<u8>,
}

/// Reads an IDX file of unsigned bytes, gzipped or not.
pub fn parse(bytes: &[u8]) -> Result<Idx, IdxError> {
    if bytes.starts_with(&[0x1f, 0x8b]) { read(MultiGzDecoder::new(bytes)) } else { read(bytes) }
}

fn read(mut source: impl Read) -> Result<Idx, IdxError> {
    let magic = take(&mut source, 4, "magic number")?;
    let &[a, b, kind, rank] = magic.as_slice() else {
        return Err(IdxError::Short { part: "magic number", found: magic.len(), expected: 4 });
    };
    if [a, b, kind] != [0, 0, 8] {
        return Err(IdxError::Magic([a, b, kind]));
    }
    let rank = usize::from(rank);
    if !(1..=MAX_RANK).contains(&rank) {
        return Err(IdxError::Rank { found: rank, expected: "1 to 4" });
    }
    let sizes = take(&mut source, 4 * rank, "sizes")?;
    let shape: Vec<usize> = sizes
        .chunks_exact(4)
        .map(|size| size.iter().fold(0, |n, &byte| n << 8 | usize::from(byte)))
        .collect();
    let len = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    let Some(len) = len.filter(|&len| len <= MAX_BYTES) else {
        return Err(IdxError::TooLarge(shape));
    };
    let data = take(&mut source, len, "content")?;
    // Reading past the content also makes the decoder verify gzip's checksum.
    let mut rest = [0];
    match source.read(&mut rest) {
        Ok(0) => Ok(Idx { shape, data }),
        Ok(_) => Err(IdxError::Long(shape)),
        Err(error) => Err(IdxError::Gzip(error.to_string())),
    }
}

/// Exactly `len` bytes. The buffer grows with what arrives, not with what the header claims.
fn take(source: &mut impl Read, len: usize, part: &'static str) -> Result<Vec<u8>, IdxError> {
    let mut bytes = Vec::new();
    match source.take(len as u64).read_to_end(&mut bytes) {
        Ok(found) if found == len => Ok(bytes),
        Ok(found) => Err(IdxError::Short { part, found, expected: len }),
        Err(error) => Err(IdxError::Gzip(error.to_string())),
    }
}

/// Images: the shape of one as (channels, height, width), and all of them scaled to [0, 1].
///
/// A file has three dimensions (samples, height, width: one channel is added) or four (samples,
/// channels, height, width). `white` is the grey value that becomes 1: 255 for MNIST.
pub fn images(bytes: &[u8], white: u8) -> Result<(Vec<usize>, Vec<f32>), IdxError> {
    let Idx { shape, data } = parse(bytes)?;
    let shape = match shape.as_slice() {
        &[_, h, w] => vec![1, h, w],
        &[_, c, h, w] => vec![c, h, w],
        other => return Err(IdxError::Rank { found: other.len(), expected: "3 or 4" }),
    };
    if let Some(&found) = data.iter().find(|&&grey| grey > white) {
        return Err(IdxError::Grey { found, white });
    }
    let scaled = data.iter().map(|&grey| f32::from(grey) / f32::from(white.max(1))).collect();
    Ok((shape, scaled))
}

/// Labels: a file of one dimension.
pub fn labels(bytes: &[u8]) -> Result<Vec<u8>, IdxError> {
    let Idx { shape, data } = parse(bytes)?;
    if shape.len() != 1 {
        return Err(IdxError::Rank { found: shape.len(), expected: "1" });
    }
    Ok(data)
}

/// A data set from a file of images and a file of labels; `white` as in [`images`].
pub fn dataset(image_bytes: &[u8], label_bytes: &[u8], white: u8) -> Result<Dataset, IdxError> {
    let (shape, pixels) = images(image_bytes, white)?;
    Ok(Dataset::new(shape, pixels, labels(label_bytes)?)?)
}

/// The embedded digits (see the module docs): 1,797 images `[1, 8, 8]`, ten classes.
pub fn digits() -> Result<Dataset, IdxError> {
    dataset(slvr_predicates::DIGITS_IMAGES, slvr_predicates::DIGITS_LABELS, 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;
    use std::io::Write;

    fn file(shape: &[u32], data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8, shape.len() as u8];
        shape.iter().for_each(|d| bytes.extend(d.to_be_bytes()));
        bytes.extend(data);
        bytes
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn digits_are_what_scikit_learn_has() {
        let data = digits().unwrap();
        assert_eq!((data.len(), data.shape()), (1797, &[1, 8, 8][..]));
        // The first row of load_digits().images[0], and the first labels.
        let row = [0.0, 0.0, 5.0, 13.0, 9.0, 1.0, 0.0, 0.0].map(|x: f32| x / 16.0);
        assert_eq!(data.image(0)[..8], row);
        assert_eq!(data.labels()[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert!(data.images().iter().all(|x| (0.0..=1.0).contains(x)));
        let mut counts = [0; 10];
        data.labels().iter().for_each(|&l| counts[usize::from(l)] += 1);
        assert_eq!(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
    }

    #[test]
    fn reads_plain_and_gzipped() {
        let plain = file(&[2, 1, 3], &[0, 51, 255, 255, 0, 102]);
        let expected = (vec![1, 1, 3], vec![0.0, 0.2, 1.0, 1.0, 0.0, 0.4]);
        assert_eq!(images(&plain, 255).unwrap(), expected);
        assert_eq!(images(&gzip(&plain), 255).unwrap(), expected);
        let channels = file(&[1, 3, 1, 1], &[0, 255, 0]);
        assert_eq!(images(&channels, 255).unwrap(), (vec![3, 1, 1], vec![0.0, 1.0, 0.0]));
    }

    #[test]
    fn refuses_what_is_malformed() {
        let good = file(&[2, 2], &[1, 2, 3, 4]);
        assert!(parse(&good).is_ok());
        for cut in 0..good.len() {
            assert!(matches!(parse(&good[..cut]), Err(IdxError::Short { .. })), "cut at {cut}");
        }
        let mut long = good.clone();
        long.push(0);
        assert_eq!(parse(&long), Err(IdxError::Long(vec![2, 2])));
        let mut floats = good.clone();
        floats[2] = 0x0d;
        assert_eq!(parse(&floats), Err(IdxError::Magic([0, 0, 0x0d])));
        assert!(matches!(parse(&file(&[], &[])), Err(IdxError::Rank { found: 0, .. })));
        assert!(matches!(parse(&file(&[1; 5], &[1])), Err(IdxError::Rank { found: 5, .. })));
        // Claims of terabytes, and of more than a machine word counts, allocate nothing.
        assert!(matches!(parse(&file(&[u32::MAX, 1000], &[])), Err(IdxError::TooLarge(_))));
        assert!(matches!(parse(&file(&[u32::MAX; 4], &[])), Err(IdxError::TooLarge(_))));
        assert!(matches!(images(&good, 255), Err(IdxError::Rank { found: 2, .. })));
        assert!(matches!(labels(&good), Err(IdxError::Rank { found: 2, .. })));
        let bright = file(&[1, 1, 1], &[17]);
        assert_eq!(images(&bright, 16), Err(IdxError::Grey { found: 17, white: 16 }));
        let two = file(&[2], &[0, 1]);
        assert!(matches!(dataset(&bright, &two, 255), Err(IdxError::Data(_))));
    }

    #[test]
    fn a_gzip_bomb_is_cut_at_the_size_the_header_says() {
        let mut bomb = file(&[4], &[0; 4]);
        bomb.resize(1 << 22, 0);
        assert_eq!(parse(&gzip(&bomb)), Err(IdxError::Long(vec![4])));
    }

    #[test]
    fn the_gzip_checksum_counts() {
        let mut bytes = gzip(&file(&[4], &[1, 2, 3, 4]));
        let crc = bytes.len() - 8;
        bytes[crc] ^= 1;
        assert!(matches!(parse(&bytes), Err(IdxError::Gzip(_))));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes);
            let mut with_magic = vec![0, 0, 8, bytes.len() as u8 % 5];
            with_magic.extend(&bytes);
            let _ = parse(&with_magic);
            let mut gz = vec![0x1f, 0x8b];
            gz.extend(&bytes);
            let _ = parse(&gz);
        }
    }
}
