//! Examples of the library's functions and of layers, as data: pages show them, tests run them.
//!
//! An example of a function is a line `// Example: max([1, 3, 2]) == 3` of the comment above it, and one of a layer
//! says what it makes of what: `linear[2, 1, bias = 0] with weight = [[1, 2]] makes [11] of [3, 4]`. What a file cannot
//! say of itself, because it has to stay as it was given, is in `NOTES`. `==` is exact; `≈` means within [`ABOUT`].

use super::super::library::{self, LibraryItem};
use crate::syntax::ast::ItemKind;
use crate::syntax::signature;
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

/// The functions of `std`, in the order of its pages.
pub fn functions() -> impl Iterator<Item = LibraryItem> {
    items().filter(|item| matches!(item.item.kind, ItemKind::Fn(_)))
}

fn items() -> impl Iterator<Item = LibraryItem> {
    library::files().iter().filter(|f| f.name.starts_with("std/")).flat_map(|f| f.items())
}

fn note(item: LibraryItem) -> Option<&'static Note> {
    let known = NOTES.iter().find(|n| n.name == item.name.name);
    known.filter(|_| item.file.name == "std/stats.slvr")
}

/// A layer: of the compiler, or a block of `std`.
#[derive(Clone, Debug)]
pub struct Layer {
    pub name: &'static str,
    /// How it is written.
    pub usage: String,
    pub about: String,
    /// What it makes of what; every layer has one.
    pub examples: Vec<LayerExample>,
}

/// What a layer makes of an input. Tensors are written as lists of lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerExample {
    /// The layer with its sizes.
    pub layer: String,
    /// Its parameters by name.
    pub weights: Vec<(String, String)>,
    /// What each of its inputs is.
    pub input: String,
    /// What becomes of it, within [`ABOUT`]; a tuple in parentheses.
    pub output: String,
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

    /// Of a comment: `linear[2, 1] with weight = [[1, 2]], bias = [0.5] makes [11.5] of [3, 4]`.
    fn parse(text: &str) -> Option<LayerExample> {
        let (head, rest) = text.split_once(" makes ")?;
        let (output, input) = rest.split_once(" of ")?;
        let (layer, weights) = head.split_once(" with ").unwrap_or((head, ""));
        // A comma between two parameters stands before a name.
        let mut pairs: Vec<(String, String)> = Vec::new();
        for part in weights.split(", ").filter(|part| !part.is_empty()) {
            match (part.split_once(" = "), pairs.last_mut()) {
                (Some((name, value)), _) => pairs.push((name.to_owned(), value.to_owned())),
                (None, Some((_, value))) => {
                    value.push_str(", ");
                    value.push_str(part);
                }
                (None, None) => return None,
            }
        }
        let [layer, input, output] = [layer, input, output].map(str::to_owned);
        Some(LayerExample { layer, weights: pairs, input, output })
    }
}

/// All layers: first those of the compiler, then the blocks of `std`.
pub fn layers() -> impl Iterator<Item = Layer> {
    let of_compiler = layer::LAYERS.iter().map(|rule| {
        let made = |e: &&&str| e.split(['[', ' ']).next() == Some(rule.name);
        let examples = LAYERS.iter().filter(made).filter_map(|e| LayerExample::parse(e)).collect();
        Layer { name: rule.name, usage: rule.usage(), about: rule.about.to_owned(), examples }
    });
    let blocks = items().filter(|item| matches!(item.item.kind, ItemKind::Block(_)));
    of_compiler.chain(blocks.map(|item| {
        let usage = signature(item.item).trim_end().trim_start_matches("block ").to_owned();
        let about = about(item, &item.item.doc);
        let examples = of(item).into_iter().filter_map(LayerExample::parse).collect();
        Layer { name: &item.name.name, usage, about, examples }
    }))
}

/// Examples of the layers of the compiler.
const LAYERS: &[&str] = &[
    "conv2d[1, 1, kernel = 2] with weight = [[[[1, 0], [0, 1]]]], bias = [0.5] \
     makes [[[6.5, 8.5], [12.5, 14.5]]] of [[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]",
    "conv2d[1, 1, kernel = 1, kernel_w = 2, pad_w = 1] with weight = [[[[1, 2]]]], bias = [0] \
     makes [[[2, 5, 2]]] of [[[1, 2]]]",
    "linear[2, 1] with weight = [[1, 2]], bias = [0.5] makes [11.5] of [3, 4]",
    "linear[2, 1, bias = 0] with weight = [[1, 2]] makes [[11], [1]] of [[3, 4], [1, 0]]",
    "batch_norm[1] with weight = [2], bias = [1], running_mean = [3], running_var = [4] \
     makes [[[3, -1]]] of [[[5, 1]]]",
    "relu makes [0, 2] of [-1, 2]",
    "avg_pool[2] makes [[[2.5]]] of [[[1, 2], [3, 4]]]",
    "max_pool[2] makes [[[4]]] of [[[1, 2], [3, 4]]]",
    "global_avg_pool makes [2.5, 2] of [[[1, 2], [3, 4]], [[0, 0], [0, 8]]]",
    "flatten makes [1, 2, 3, 4] of [[[1, 2], [3, 4]]]",
    "identity makes [1, 2] of [1, 2]",
];
