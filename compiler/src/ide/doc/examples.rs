//! Examples of the library's functions and of layers, as data: pages show them, tests run them.
//!
//! An example of a function is a line `// Example: max([1, 3, 2]) == 3` of the comment above it. What a
//! file cannot say of itself, because it has to stay as it was given, is in `NOTES`. `==` is exact;
//! `≈` means within [`ABOUT`].

use super::super::library::{self, LibraryItem};
use crate::types::layer;

/// How far the two sides of `≈` are apart at most, or this share of the right side if that is more.
pub const ABOUT: f64 = 1.0 / 1024.0;

/// How a line of a comment that holds an example begins.
const MARK: &str = "Example: ";

/// What stands in for comments of a function.
struct Note {
    name: &'static str,
    /// What it does, where its comment does not say.
    about: &'static str,
    examples: &'static [&'static str],
}

/// Functions of `std/stats.slvr`.
const NOTES: &[Note] = &[
    Note {
        name: "sort",
        about: "The entries in ascending order.",
        examples: &["sort([2.5, -1, 4, -1]) == [-1, -1, 2.5, 4]"],
    },
    Note { name: "lower_median", about: "", examples: &["lower_median([4, 1, 3, 2]) == 2"] },
    Note {
        name: "median",
        about: "",
        examples: &["median([4, 1, 3, 2]) == 2.5", "median([7, 1, 3]) == 3"],
    },
    Note {
        name: "trimmed_mean",
        about: "",
        examples: &["trimmed_mean[1, 1]([100, 2, 4, -50]) == 3"],
    },
    Note {
        name: "smallest",
        about: "The k smallest entries in ascending order.",
        examples: &["smallest[2]([5, 3, 9, 1]) == [1, 3]"],
    },
    Note { name: "rank", about: "", examples: &["rank([20, 30, 10, 30]) == [2, 0, 3, 1]"] },
    Note { name: "top_k", about: "", examples: &["top_k[2]([20, 30, 10, 30]) == [0, 1, 0, 1]"] },
];

/// What a function does, without its examples.
pub(super) fn about(item: LibraryItem, comment: &str) -> String {
    let lines: Vec<&str> = comment.lines().filter(|l| !l.starts_with(MARK)).collect();
    match note(item) {
        Some(note) if lines.is_empty() => note.about.to_owned(),
        _ => lines.join("\n"),
    }
}

/// The examples of an item of the library, `max([1, 3, 2]) == 3` each.
pub fn of(item: LibraryItem) -> Vec<&'static str> {
    let own = item.item.doc.lines().filter_map(|l| l.strip_prefix(MARK));
    let noted = note(item).map_or(&[][..], |n| n.examples);
    own.chain(noted.iter().copied()).collect()
}

/// The items of `std`, in the order of its pages.
pub fn functions() -> impl Iterator<Item = LibraryItem> {
    library::files().iter().filter(|f| f.name.starts_with("std/")).flat_map(|f| f.items())
}

fn note(item: LibraryItem) -> Option<&'static Note> {
    let known = NOTES.iter().find(|n| n.name == item.name.name);
    known.filter(|_| item.file.name == "std/stats.slvr")
}

/// A layer of the compiler.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Its name.
    pub name: &'static str,
    /// How it is written.
    pub usage: String,
    /// What it does.
    pub about: &'static str,
    /// What it makes of what; every layer has one.
    pub example: Option<LayerExample>,
}

/// What a layer makes of an input. Tensors are written as lists of lists.
#[derive(Clone, Copy, Debug)]
pub struct LayerExample {
    /// The layer with its sizes.
    pub layer: &'static str,
    /// Its parameters by name.
    pub weights: &'static [(&'static str, &'static str)],
    /// A vector, or an image: channels, height, width.
    pub input: &'static str,
    /// What becomes of it, within [`ABOUT`].
    pub output: &'static str,
}

impl LayerExample {
    /// As a sentence in Markdown.
    pub fn text(&self) -> String {
        let set: Vec<String> = self.weights.iter().map(|(n, v)| format!("{n} `{v}`")).collect();
        let with = match set.split_last() {
            None => String::new(),
            Some((last, [])) => format!(" with {last}"),
            Some((last, rest)) => format!(" with {} and {last}", rest.join(", ")),
        };
        format!("`{}`{with} makes `{}` of `{}`.", self.layer, self.output, self.input)
    }
}

/// The layers of the compiler.
pub fn layers() -> impl Iterator<Item = Layer> {
    layer::LAYERS.iter().map(|rule| {
        let made = |e: &&LayerExample| e.layer.split('[').next() == Some(rule.name);
        let example = LAYERS.iter().find(made).copied();
        Layer { name: rule.name, usage: rule.usage(), about: rule.about, example }
    })
}

const LAYERS: &[LayerExample] = &[
    LayerExample {
        layer: "conv2d[1, 1, kernel = 2]",
        weights: &[("weight", "[[[[1, 0], [0, 1]]]]"), ("bias", "[0.5]")],
        input: "[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]",
        output: "[[[6.5, 8.5], [12.5, 14.5]]]",
    },
    LayerExample {
        layer: "linear[2, 1]",
        weights: &[("weight", "[[1, 2]]"), ("bias", "[0.5]")],
        input: "[3, 4]",
        output: "[11.5]",
    },
    LayerExample {
        layer: "batch_norm[1]",
        weights: &[
            ("weight", "[2]"),
            ("bias", "[1]"),
            ("running_mean", "[3]"),
            ("running_var", "[4]"),
        ],
        input: "[[[5, 1]]]",
        output: "[[[3, -1]]]",
    },
    LayerExample { layer: "relu", weights: &[], input: "[-1, 2]", output: "[0, 2]" },
    LayerExample {
        layer: "avg_pool[2]",
        weights: &[],
        input: "[[[1, 2], [3, 4]]]",
        output: "[[[2.5]]]",
    },
    LayerExample {
        layer: "max_pool[2]",
        weights: &[],
        input: "[[[1, 2], [3, 4]]]",
        output: "[[[4]]]",
    },
    LayerExample {
        layer: "global_avg_pool",
        weights: &[],
        input: "[[[1, 2], [3, 4]], [[0, 0], [0, 8]]]",
        output: "[2.5, 2]",
    },
    LayerExample {
        layer: "flatten",
        weights: &[],
        input: "[[[1, 2], [3, 4]]]",
        output: "[1, 2, 3, 4]",
    },
    LayerExample { layer: "identity", weights: &[], input: "[1, 2]", output: "[1, 2]" },
];
