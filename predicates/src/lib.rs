//! What comes with SLVR as text: the standard library, models, checks, and the programs of its bench; and
//! the UCI digits, on which its demo runs.
//!
//! May not: anything that reads or compiles these texts. `slvr-compiler` does that.

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Handwritten digits, 8 x 8, gzipped IDX: "Optical Recognition of Handwritten Digits" by E. Alpaydin and
/// C. Kaynak, UCI Machine Learning Repository, 1998, CC BY 4.0.
pub const DIGITS_IMAGES: &[u8] = include_bytes!("../data/digits-images-idx3-ubyte.gz");

pub const DIGITS_LABELS: &[u8] = include_bytes!("../data/digits-labels-idx1-ubyte.gz");

/// The text of a file by its name, e.g. `std/stats.slvr`, `models/lenet5.slvr` or `krum.slvr`.
pub fn get(name: &str) -> Option<&'static str> {
    let mut all = [STD, MODELS, PREDICATES, GALLERY, BENCH].into_iter().flatten();
    all.find(|(n, _)| *n == name).map(|(_, text)| *text)
}
