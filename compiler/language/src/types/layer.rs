//! The layers of the compiler: how each is written, its sizes, its parameters, and the shape of its
//! result.
//!
//! These are the layers that the language cannot say of itself, and those that training knows. Other layers
//! are blocks, written in the language (`std/layers*.slvr`).
//!
//! To add a layer, add a row to [`LAYERS`] and a variant to [`Layer`]; the compiler then asks for what is
//! missing in this file, in the evaluation, in the graph builder and in training. To add a size to a layer, add
//! it to its row and its variant.

use slvr_circuit::Conv;
use std::ops::RangeInclusive;

/// A layer with its sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// Cross-correlation of an image (channels, height, width) with kernels `[cout, cin / groups, h, w]`.
    Conv2d {
        cin: u64,
        cout: u64,
        /// Height and width of a kernel.
        kernel: [u64; 2],
        /// Its attributes; the padding is that above and below.
        conv: Conv,
        /// Padding at the left and at the right.
        pad_w: u64,
        /// Whether it adds a number to each channel of the result.
        bias: bool,
    },
    /// A matrix `[outputs, inputs]` applied to a vector, or to each of the vectors of the last dimension.
    Linear {
        inputs: u64,
        outputs: u64,
        /// Whether it adds a number to each entry of the result.
        bias: bool,
    },
    /// Batch normalisation with running statistics: (x - running_mean) / sqrt(running_var + eps) * weight + bias,
    /// for each entry of the first dimension.
    BatchNorm {
        channels: u64,
        /// Added to the variance.
        eps: f64,
    },
    Relu,
    /// Mean over k x k windows, `stride` apart, without padding.
    AvgPool {
        k: u64,
        stride: u64,
    },
    /// Maximum over k x k windows, `stride` apart, without padding.
    MaxPool {
        k: u64,
        stride: u64,
    },
    /// Mean over height and width: `[C, H, W]` to `[C]`.
    GlobalAvgPool,
    /// All entries as one vector.
    Flatten,
    Identity,
}

/// How a layer is written, and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name in programs.
    pub name: &'static str,
    /// Its sizes, in the order in which they are written.
    pub sizes: &'static [Size],
    /// How it is written, with values where an author often needs them, for messages.
    pub example: &'static str,
    /// What it does, in Markdown.
    pub about: &'static str,
    /// The layer with these sizes, as many as there are in `sizes`.
    pub with: fn(&[f64]) -> Layer,
}

#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub name: &'static str,
    /// Which values it may have.
    pub allowed: Allowed,
    /// Its value where none is written.
    pub default: DefaultSize,
}

/// Values of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    Flag,
    /// A number of entries of a shape.
    Count,
    /// A height, a width or a distance in an image.
    Length,
    /// A height or width, or nothing.
    Margin,
    /// A real number that is not negative.
    NotNegative,
}

/// What an unwritten size is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultSize {
    /// It must be written.
    None,
    Value(f64),
    /// The value of the size at this place, which stands before it.
    Same(usize),
}

impl Allowed {
    /// The integers that are allowed, and how that is said; none for a real number.
    pub fn integers(self) -> Option<(RangeInclusive<i64>, &'static str)> {
        match self {
            Allowed::Flag => Some((0..=1, "0 or 1")),
            Allowed::Margin => Some((0..=1 << 16, "between 0 and 2^16")),
            Allowed::Length => Some((1..=1 << 16, "between 1 and 2^16")),
            Allowed::Count => Some((1..=1 << 32, "between 1 and 2^32")),
            Allowed::NotNegative => None,
        }
    }
}

const fn size(name: &'static str, allowed: Allowed, default: DefaultSize) -> Size {
    Size { name, allowed, default }
}

const BIAS: Size = size("bias", Allowed::Flag, DefaultSize::Value(1.0));
const WINDOW: &[Size] = &[
    size("k", Allowed::Length, DefaultSize::None),
    size("stride", Allowed::Length, DefaultSize::Same(0)),
];

/// Every layer of the compiler.
pub const LAYERS: &[Rule] = &[
    Rule {
        name: "conv2d",
        sizes: &[
            size("cin", Allowed::Count, DefaultSize::None),
            size("cout", Allowed::Count, DefaultSize::None),
            size("kernel", Allowed::Length, DefaultSize::None),
            size("stride", Allowed::Length, DefaultSize::Value(1.0)),
            size("pad", Allowed::Margin, DefaultSize::Value(0.0)),
            size("dilation", Allowed::Length, DefaultSize::Value(1.0)),
            size("groups", Allowed::Count, DefaultSize::Value(1.0)),
            BIAS,
            size("kernel_w", Allowed::Length, DefaultSize::Same(2)),
            size("pad_w", Allowed::Margin, DefaultSize::Same(4)),
        ],
        example: "conv2d[cin, cout, kernel = 3, stride = 1, pad = 0, dilation = 1, groups = 1, bias = 1]",
        about: "A convolution of images (channels, height, width). Kernels are square unless `kernel_w` and \
                `pad_w` give a width and the padding at the sides of their own; their entries are `dilation` \
                apart. Channels are in `groups`, and each group of the result is \
                made of the same group of the image: with `groups = cin` each channel has its own \
                kernels. Parameters `weight` of shape `[cout, cin / groups, kernel, kernel_w]` and, unless \
                `bias = 0`, `bias`.",
        with: |v| Layer::Conv2d {
            cin: v[0] as u64,
            cout: v[1] as u64,
            kernel: [v[2] as u64, v[8] as u64],
            conv: Conv {
                stride: v[3] as u64,
                pad: v[4] as u64,
                dilation: v[5] as u64,
                groups: v[6] as u64,
            },
            pad_w: v[9] as u64,
            bias: v[7] != 0.0,
        },
    },
    Rule {
        name: "linear",
        sizes: &[
            size("in", Allowed::Count, DefaultSize::None),
            size("out", Allowed::Count, DefaultSize::None),
            BIAS,
        ],
        example: "linear[in, out, bias = 1]",
        about: "A matrix applied to a vector, or to each vector of the last dimension; parameters `weight` of \
                shape `[out, in]` and, unless `bias = 0`, `bias`.",
        with: |v| Layer::Linear { inputs: v[0] as u64, outputs: v[1] as u64, bias: v[2] != 0.0 },
    },
    Rule {
        name: "batch_norm",
        sizes: &[
            size("channels", Allowed::Count, DefaultSize::None),
            size("eps", Allowed::NotNegative, DefaultSize::Value(1e-5)),
        ],
        example: "batch_norm[channels, eps = 0.00001]",
        about: "Batch normalisation with running statistics; parameters `weight`, `bias`, \
                `running_mean`, `running_var`.",
        with: |v| Layer::BatchNorm { channels: v[0] as u64, eps: v[1] },
    },
    Rule {
        name: "relu",
        sizes: &[],
        example: "relu",
        about: "max(x, 0), entry by entry.",
        with: |_| Layer::Relu,
    },
    Rule {
        name: "avg_pool",
        sizes: WINDOW,
        example: "avg_pool[2]",
        about: "The mean of each k x k window.",
        with: |v| Layer::AvgPool { k: v[0] as u64, stride: v[1] as u64 },
    },
    Rule {
        name: "max_pool",
        sizes: WINDOW,
        example: "max_pool[2]",
        about: "The largest entry of each k x k window.",
        with: |v| Layer::MaxPool { k: v[0] as u64, stride: v[1] as u64 },
    },
    Rule {
        name: "global_avg_pool",
        sizes: &[],
        example: "global_avg_pool",
        about: "The mean of each channel: a vector.",
        with: |_| Layer::GlobalAvgPool,
    },
    Rule {
        name: "flatten",
        sizes: &[],
        example: "flatten",
        about: "All entries as one vector.",
        with: |_| Layer::Flatten,
    },
    Rule {
        name: "identity",
        sizes: &[],
        example: "identity",
        about: "The input itself.",
        with: |_| Layer::Identity,
    },
];

impl Rule {
    /// The layer with this name.
    pub fn named(name: &str) -> Option<&'static Rule> {
        LAYERS.iter().find(|rule| rule.name == name)
    }

    /// How it is written, with the defaults of its sizes.
    pub fn usage(&self) -> String {
        let one = |s: &Size| match s.default {
            DefaultSize::None => s.name.to_owned(),
            DefaultSize::Value(v) if v.fract() == 0.0 => format!("{} = {v}", s.name),
            DefaultSize::Value(v) => format!("{} = {v:e}", s.name),
            DefaultSize::Same(at) => {
                format!("{} = {}", s.name, self.sizes.get(at).map_or("", |s| s.name))
            }
        };
        match self.sizes {
            [] => self.name.to_owned(),
            sizes => {
                let sizes: Vec<String> = sizes.iter().map(one).collect();
                format!("{}[{}]", self.name, sizes.join(", "))
            }
        }
    }
}

/// Why a layer does not take an input: what it takes, and what is wrong with this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    pub wanted: String,
    pub why: String,
}

fn misfit<T>(wanted: impl Into<String>, why: impl Into<String>) -> Result<T, Misfit> {
    Err(Misfit { wanted: wanted.into(), why: why.into() })
}

impl Layer {
    /// What is wrong with its sizes together, each of which is allowed.
    pub fn problem(&self) -> Option<String> {
        match *self {
            Layer::Conv2d { cin, cout, conv, .. } if conv.kernel_channels(cin, cout).is_none() => {
                let groups = conv.groups;
                Some(format!("{groups} groups do not divide {cin} and {cout} channels"))
            }
            _ => None,
        }
    }

    /// Names and shapes of its parameters, named as PyTorch names them, in the order weight, bias,
    /// running_mean, running_var.
    pub fn params(&self) -> Vec<(&'static str, Vec<u64>)> {
        let with_bias = |weight: Vec<u64>, bias: bool| {
            let shift = bias.then(|| ("bias", vec![weight[0]]));
            [("weight", weight)].into_iter().chain(shift).collect()
        };
        match *self {
            Layer::Conv2d { cin, cout, kernel: [h, w], conv, bias, .. } => {
                with_bias(vec![cout, cin / conv.groups, h, w], bias)
            }
            Layer::Linear { inputs, outputs, bias } => with_bias(vec![outputs, inputs], bias),
            Layer::BatchNorm { channels, .. } => {
                let names = ["weight", "bias", "running_mean", "running_var"];
                names.map(|n| (n, vec![channels])).into()
            }
            Layer::Relu
            | Layer::AvgPool { .. }
            | Layer::MaxPool { .. }
            | Layer::GlobalAvgPool
            | Layer::Flatten
            | Layer::Identity => Vec::new(),
        }
    }

    /// The shape of its result for an input of this shape.
    ///
    /// # Errors
    ///
    /// The layer does not take such an input.
    pub fn output(&self, input: &[u64]) -> Result<Vec<u64>, Misfit> {
        match *self {
            Layer::Conv2d { cin, cout, kernel, conv, pad_w, .. } => {
                let [c, h, w] = image(input)?;
                if c != cin {
                    let why = format!("wants {cin} channels, gets {c}");
                    return misfit(format!("shape [{cin}, h, w]"), why);
                }
                let wide = Conv { pad: pad_w, ..conv };
                let sides = [conv.output(h, kernel[0]), wide.output(w, kernel[1])];
                let [Some(h), Some(w)] = sides else {
                    let [high, wide] = kernel.map(|k| conv.reach(k).unwrap_or(k));
                    let wanted = format!("an image of at least {high} x {wide}");
                    return misfit(wanted, "the kernel is larger than the image");
                };
                Ok(vec![cout, h, w])
            }
            Layer::Linear { inputs, outputs, .. } => {
                let Some((_, rows)) = input.split_last().filter(|(n, _)| **n == inputs) else {
                    let why = match input {
                        [found] => format!("wants {inputs} numbers, gets {found}"),
                        _ => format!("wants a vector of {inputs} numbers"),
                    };
                    return misfit(format!("shape [{inputs}]"), why);
                };
                Ok([rows, &[outputs]].concat())
            }
            Layer::BatchNorm { channels, .. } => {
                if input.first() != Some(&channels) {
                    let wanted = format!("{channels} channels");
                    return misfit(wanted, format!("wants {channels} channels"));
                }
                Ok(input.to_vec())
            }
            Layer::AvgPool { k, stride } | Layer::MaxPool { k, stride } => {
                let [c, h, w] = image(input)?;
                let [Some(h), Some(w)] = [h, w].map(|side| windows(side, k, stride)) else {
                    let wanted = format!("an image of at least {k} x {k}");
                    return misfit(wanted, "the window is larger than the image");
                };
                Ok(vec![c, h, w])
            }
            Layer::GlobalAvgPool => image(input).map(|[c, ..]| vec![c]),
            Layer::Flatten => Ok(vec![input.iter().product()]),
            Layer::Relu | Layer::Identity => Ok(input.to_vec()),
        }
    }
}

/// Channels, height and width.
fn image(shape: &[u64]) -> Result<[u64; 3], Misfit> {
    match <[u64; 3]>::try_from(shape) {
        Ok(image) => Ok(image),
        Err(_) => misfit("an image [channels, height, width]", "not an image"),
    }
}

/// How many windows lie along a side.
fn windows(side: u64, window: u64, stride: u64) -> Option<u64> {
    Some(side.checked_sub(window)? / stride + 1)
}
