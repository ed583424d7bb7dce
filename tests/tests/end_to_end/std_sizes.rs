//! Sizes that a function or layer of the library cannot have are refused, with a message about that size: a wrong size
//! never gives a wrong number.

use slvr_compiler::diagnostic::{Severity, codes};
use slvr_compiler::ide::library;
use slvr_compiler::source::{LoadError, Sources};
use slvr_compiler::syntax::ast::{Dim, Expr, ExprKind, Item, ItemKind, Param, Size, TypeKind};
use slvr_compiler::types::{Options, check};
use std::collections::BTreeSet;

/// What is asked of an item of the library, and which of its sizes is wrong in it. Functions are applied to `x: fix[3]`,
/// `g: int[3]`, `a: fix[3, 3]` and `b: fix[2, 3]`.
const FUNCTIONS: &[(&str, &str)] = &[
    ("trimmed_mean.low", "trimmed_mean[-1, 0](x)"),
    ("trimmed_mean.low", "trimmed_mean[3, 0](x)"),
    ("trimmed_mean.low", "trimmed_mean[2, 3](x)"),
    ("trimmed_mean.high", "trimmed_mean[0, -1](x)"),
    ("trimmed_mean.high", "trimmed_mean[0, 3](x)"),
    ("smallest.k", "smallest[0](x)"),
    ("smallest.k", "smallest[4](x)"),
    ("smallest.k", "smallest[-1](x)"),
    ("top_k.k", "top_k[0](x)"),
    ("top_k.k", "top_k[9](x)"),
    ("top_k.k", "top_k[-2](x)"),
    ("top_k_of_groups.k", "top_k_of_groups[0](x, g)"),
    ("top_k_of_groups.k", "top_k_of_groups[4](x, g)"),
    ("quantile.percent", "quantile[-1](x)"),
    ("quantile.percent", "quantile[101](x)"),
    ("histogram.bins", "histogram[0](x, 0, 1)"),
    ("histogram.bins", "histogram[-3](x, 0, 1)"),
    ("spectral_norm.steps", "spectral_norm[0](a, x)"),
    ("power_iteration.steps", "power_iteration[0](a, x).0"),
    ("geometric_median.steps", "geometric_median[0](a, 0.1)"),
    ("nearest_neighbour_mixing.f", "nearest_neighbour_mixing[3](a)"),
    ("nearest_neighbour_mixing.f", "nearest_neighbour_mixing[-1](a)"),
    ("bucket_means.s", "bucket_means[0](a)"),
    ("bucket_means.s", "bucket_means[-2](a)"),
    ("split_heads.heads", "split_heads[2](a)"),
    ("split_heads.heads", "split_heads[0](a)"),
    ("pad_rows.pad", "pad_rows[-1]([a])"),
    ("stretch.scale", "stretch[0](x)"),
];

/// Layers are applied to `x: fix[4, 5]`, or to `x: fix[4, 5, 6]` where a third number stands behind them.
const LAYERS: &[(&str, &str, usize)] = &[
    ("layer_norm.n", "layer_norm[4]", 2),
    ("layer_norm.n", "layer_norm[10]", 2),
    ("layer_norm.n", "layer_norm[0]", 2),
    ("rms_norm.n", "rms_norm[4]", 2),
    ("group_norm.groups", "group_norm[3, 4]", 3),
    ("group_norm.groups", "group_norm[0, 4]", 3),
    ("group_norm.channels", "group_norm[1, 5]", 3),
    ("dropout.p", "dropout[1.5]", 2),
    ("pad1d.pad", "pad1d[-1]", 2),
    ("conv1d.cin", "conv1d[2, 2, 1]", 2),
    ("conv1d.cout", "conv1d[4, 3, 1, groups = 2]", 2),
    ("conv1d.kernel", "conv1d[4, 2, 6]", 2),
    ("conv1d.kernel", "conv1d[4, 2, 0]", 2),
    ("conv1d.stride", "conv1d[4, 2, 1, stride = 0]", 2),
    ("conv1d.pad", "conv1d[4, 2, 1, pad = -1]", 2),
    ("conv1d.dilation", "conv1d[4, 2, 3, dilation = 3]", 2),
    ("conv1d.groups", "conv1d[4, 4, 1, groups = 3]", 2),
    ("conv2d_rect.cin", "conv2d_rect[2, 2, 1]", 3),
    ("conv2d_rect.cout", "conv2d_rect[4, 3, 1, groups = 2]", 3),
    ("conv2d_rect.kernel", "conv2d_rect[4, 2, 6, 1]", 3),
    ("conv2d_rect.kernel_w", "conv2d_rect[4, 2, 1, 7]", 3),
    ("conv2d_rect.stride", "conv2d_rect[4, 2, 1, stride = 0, stride_w = 1]", 3),
    ("conv2d_rect.stride_w", "conv2d_rect[4, 2, 1, stride_w = 0]", 3),
    ("conv2d_rect.pad", "conv2d_rect[4, 2, 1, pad = -1, pad_w = 0]", 3),
    ("conv2d_rect.pad_w", "conv2d_rect[4, 2, 1, pad_w = -1]", 3),
    ("conv2d_rect.dilation", "conv2d_rect[4, 2, 3, dilation = 3, dilation_w = 1]", 3),
    ("conv2d_rect.dilation_w", "conv2d_rect[4, 2, 2, dilation_w = 6]", 3),
    ("conv2d_rect.groups", "conv2d_rect[4, 4, 1, groups = 3]", 3),
    ("spread2d.stride", "spread2d[0]", 3),
    ("spread2d.more", "spread2d[2, 2]", 3),
    ("spread_columns.stride", "spread_columns[0, 1]", 3),
    ("spread_columns.wide", "spread_columns[2, 13]", 3),
    ("spread_rows.stride", "spread_rows[0, 1]", 3),
    ("spread_rows.tall", "spread_rows[2, 11]", 3),
    ("conv_transpose2d.cin", "conv_transpose2d[3, 2, 2]", 3),
    ("conv_transpose2d.cout", "conv_transpose2d[4, 0, 2]", 3),
    ("conv_transpose2d.kernel", "conv_transpose2d[4, 2, 0]", 3),
    ("conv_transpose2d.stride", "conv_transpose2d[4, 2, 2, stride = 0]", 3),
    ("conv_transpose2d.pad", "conv_transpose2d[4, 2, 2, pad = 2]", 3),
    ("conv_transpose2d.output_pad", "conv_transpose2d[4, 2, 2, output_pad = 1]", 3),
    ("adaptive_avg_pool.h", "adaptive_avg_pool[0, 1]", 3),
    ("adaptive_avg_pool.w", "adaptive_avg_pool[1, 0]", 3),
    ("adaptive_max_pool.h", "adaptive_max_pool[0, 1]", 3),
    ("adaptive_max_pool.w", "adaptive_max_pool[1, 0]", 3),
    ("avg_pool1d.k", "avg_pool1d[6]", 2),
    ("avg_pool1d.k", "avg_pool1d[0]", 2),
    ("avg_pool1d.stride", "avg_pool1d[2, 0]", 2),
    ("avg_pool1d.pad", "avg_pool1d[2, pad = 2]", 2),
    ("avg_pool1d.pad", "avg_pool1d[2, pad = -1]", 2),
    ("max_pool1d.k", "max_pool1d[6]", 2),
    ("max_pool1d.stride", "max_pool1d[2, 0]", 2),
    ("max_pool1d.pad", "max_pool1d[3, pad = 2]", 2),
    ("max_pool1d.pad", "max_pool1d[3, pad = -1]", 2),
    ("avg_pool_rect.k", "avg_pool_rect[0, 1]", 3),
    ("avg_pool_rect.k", "avg_pool_rect[6, 1]", 3),
    ("avg_pool_rect.k_w", "avg_pool_rect[1, 0]", 3),
    ("avg_pool_rect.k_w", "avg_pool_rect[1, 7]", 3),
    ("avg_pool_rect.stride", "avg_pool_rect[1, stride = 0, stride_w = 1]", 3),
    ("avg_pool_rect.stride_w", "avg_pool_rect[1, stride_w = 0]", 3),
    ("avg_pool_rect.pad", "avg_pool_rect[2, pad = 2, pad_w = 0]", 3),
    ("avg_pool_rect.pad_w", "avg_pool_rect[2, pad = 0, pad_w = -1]", 3),
    ("max_pool_rect.k", "max_pool_rect[0, 1]", 3),
    ("max_pool_rect.k", "max_pool_rect[6, 1]", 3),
    ("max_pool_rect.k_w", "max_pool_rect[1, 0]", 3),
    ("max_pool_rect.k_w", "max_pool_rect[1, 7]", 3),
    ("max_pool_rect.stride", "max_pool_rect[1, stride = 0, stride_w = 1]", 3),
    ("max_pool_rect.stride_w", "max_pool_rect[1, stride_w = 0]", 3),
    ("max_pool_rect.pad", "max_pool_rect[2, pad = 2, pad_w = 0]", 3),
    ("max_pool_rect.pad_w", "max_pool_rect[2, pad = 0, pad_w = -1]", 3),
    ("upsample.scale", "upsample[0]", 3),
    ("upsample_bilinear.scale", "upsample_bilinear[-1]", 3),
    ("embedding.n", "embedding[0, 2]", 1),
    ("embedding.dim", "embedding[2, 0]", 1),
    ("lstm.inputs", "lstm[4, 2]", 2),
    ("lstm.hidden", "lstm[5, 0]", 2),
    ("lstm.layers", "lstm[5, 2, layers = 0]", 2),
    ("gru.inputs", "gru[4, 2]", 2),
    ("gru.hidden", "gru[5, 0]", 2),
    ("gru.layers", "gru[5, 2, layers = 0]", 2),
    ("bi_lstm.inputs", "bi_lstm[4, 2]", 2),
    ("bi_lstm.hidden", "bi_lstm[5, 0]", 2),
    ("bi_gru.inputs", "bi_gru[4, 2]", 2),
    ("bi_gru.hidden", "bi_gru[5, 0]", 2),
    ("lstm_cell.inputs", "lstm_cell[4, 2]", 1),
    ("lstm_cell.hidden", "lstm_cell[5, 0]", 1),
    ("gru_cell.inputs", "gru_cell[4, 2]", 1),
    ("gru_cell.hidden", "gru_cell[5, 0]", 1),
    ("multihead_attention.dim", "multihead_attention[4, 2]", 2),
    ("multihead_attention.heads", "multihead_attention[5, 2]", 2),
    ("masked_multihead_attention.dim", "masked_multihead_attention[4, 2]", 2),
    ("masked_multihead_attention.heads", "masked_multihead_attention[5, 0]", 2),
];

/// Sizes that may be any number of their kind.
const ANY: &[&str] = &[
    // Slopes and the like.
    "leaky_relu.slope",
    "elu.alpha",
    "layer_norm.eps",
    "rms_norm.eps",
    "group_norm.eps",
    // Whether there is a bias: 1, or any other number; `biased` is the same under another name.
    "conv1d.bias",
    "conv1d.biased",
    "conv2d_rect.bias",
    "conv2d_rect.biased",
    "conv_transpose2d.bias",
    "conv_transpose2d.biased",
    // How many numbers there are: they are applied to inputs that are public, and any length is one of a vector.
    "places.n",
    "scatter.n",
];

fn items() -> impl Iterator<Item = &'static Item> {
    let files = library::files().iter().filter(|f| f.name.starts_with("std/"));
    files.flat_map(|f| f.items()).map(|i| i.item)
}

/// Whether a size follows from the shape of an argument.
fn follows(size: &Size, params: &[Param]) -> bool {
    let is = |dim: &Dim| matches!(dim, Dim::Size(Expr { kind: ExprKind::Name(n), .. }) if *n == size.name.name);
    params
        .iter()
        .filter_map(|p| p.ty.as_ref())
        .any(|ty| matches!(&ty.kind, TypeKind::Tensor { dims, .. } if dims.iter().any(is)))
}

/// The errors of a program: code and title.
fn errors(text: &str) -> Vec<(u16, String)> {
    let mut sources = Sources::new();
    let file = sources.add("test.slvr", text);
    let mut no_files = |_: &str| Err(LoadError::NotFound);
    match check(&mut sources, file, &Options::default(), &mut no_files) {
        Ok(_) => Vec::new(),
        Err(all) => {
            let errors = all.into_iter().filter(|d| d.severity == Severity::Error);
            errors.map(|d| (d.code.0, d.title)).collect()
        }
    }
}

/// Holds that a program is refused, by a requirement of the library or a message about sizes.
fn refused(what: &str, text: &str) {
    let found = errors(text);
    assert!(!found.is_empty(), "`{what}` is taken");
    // A result type may divide by a size before its function is looked at.
    let about = [codes::REQUIRE, codes::SIZE, codes::SHAPE, codes::CONST_EVAL].map(|code| code.0);
    for (code, title) in found {
        assert!(about.contains(&code), "`{what}`: E{code:04} {title}");
    }
}

#[test]
fn every_size_of_a_function_or_layer_that_can_be_wrong_is_refused_if_it_is() {
    let mut missing = Vec::new();
    let named: BTreeSet<&str> = FUNCTIONS
        .iter()
        .map(|(name, _)| *name)
        .chain(LAYERS.iter().map(|(name, ..)| *name))
        .chain(ANY.iter().copied())
        .collect();
    for item in items() {
        let (name, sizes, params) = match &item.kind {
            ItemKind::Fn(f) => (&f.name.name, &f.sizes, &f.params),
            ItemKind::Block(b) => (&b.name.name, &b.sizes, &b.params),
            _ => continue,
        };
        for size in sizes.iter().filter(|s| !follows(s, params)) {
            let size = format!("{name}.{}", size.name.name);
            if !named.contains(size.as_str()) {
                missing.push(size);
            }
        }
    }
    assert!(missing.is_empty(), "no test of a wrong {missing:?}");
    for (name, call) in FUNCTIONS {
        let function = name.split('.').next().unwrap_or_default();
        refused(
            call,
            &format!(
                "use std::{{{function}}};\n\npredicate Wrong() {{\n    parties Client;\n    parties Server;\n\
                 \x20   input x: secret fix[3] in -1..1 from Client;\n\
                 \x20   input g: public int[3] in 0..2;\n\
                 \x20   input a: secret fix[3, 3] in -1..1 from Client;\n\
                 \x20   reveal {call} to Server as y;\n}}\n"
            ),
        );
    }
    for (name, layer, rank) in LAYERS {
        let shape = ["5", "4, 5", "4, 5, 6"][rank - 1];
        let inputs = items().find_map(|item| match &item.kind {
            ItemKind::Block(b) if Some(b.name.name.as_str()) == name.split('.').next() => {
                Some(b.params.len())
            }
            _ => None,
        });
        let all = vec!["x"; inputs.unwrap_or(1)].join(", ");
        refused(
            layer,
            &format!(
                "model Net(x: fix[{shape}]) -> fix[1] {{\n    first: linear[1, 1];\n    layer: {layer};\n\n\
                 \x20   let y = layer({all});\n    let z = flat(x);\n    first([z[0]])\n}}\n\n\
                 predicate Wrong() {{\n    parties Owner;\n    parties Server;\n\
                 \x20   input w: secret weights Net in -1..1 from Owner;\n\
                 \x20   input x: secret fix[{shape}] in -1..1 from Owner;\n\
                 \x20   reveal Net(w, x) to Server as y;\n}}\n"
            ),
        );
    }
}

/// Other sizes follow from arguments, and an argument has at least one entry.
#[test]
fn tensors_without_entries_are_refused_before_a_function_sees_them() {
    let found = errors(
        "use std::{mean};\n\npredicate Empty() {\n    parties Client;\n    parties Server;\n\
         \x20   input x: secret fix[3] in -1..1 from Client;\n\
         \x20   reveal mean(x[i] for i in 0) to Server as y;\n}\n",
    );
    assert_eq!(found.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [codes::SIZE.0]);
}
