//! "Did you mean": the nearest of a list of names.

/// The candidate nearest to a name, if one is near enough to be what was meant: at most a third of
/// the name's letters off, counting insertions, deletions, replacements and swaps of neighbours;
/// case counts for little. Of equally near candidates the first wins.
pub fn did_you_mean<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let wanted: Vec<char> = name.chars().take(MAX + 1).collect();
    let limit = wanted.len().div_ceil(3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        // A candidate of another length needs at least that many edits.
        if candidate == name || candidate.len().abs_diff(name.len()) > 4 * limit {
            continue;
        }
        let near = distance(&wanted, &candidate.chars().take(MAX + 1).collect::<Vec<_>>());
        let shorter = wanted.len().min(candidate.chars().count());
        // A replacement of everything is no resemblance.
        if near <= 2 * limit && near < 2 * shorter && best.is_none_or(|(b, _)| near < b) {
            best = Some((near, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// What other libraries call a name of this one.
const ELSEWHERE: &[(&str, &str)] = &[
    ("dense", "linear"),
    ("fullyconnected", "linear"),
    ("affine", "linear"),
    ("swish", "silu"),
    ("hswish", "hardswish"),
    ("hsigmoid", "hardsigmoid"),
    ("logistic", "sigmoid"),
    ("convtranspose", "conv_transpose2d"),
    ("deconv", "conv_transpose2d"),
    ("attention", "multihead_attention"),
    ("multihead", "multihead_attention"),
    ("selfattention", "multihead_attention"),
    ("instancenorm", "group_norm"),
    ("globalaveragepool", "global_avg_pool"),
    ("averagepool", "avg_pool"),
    ("maxpooling", "max_pool"),
    ("averagepooling", "avg_pool"),
    ("embed", "embedding"),
    ("interpolate", "upsample"),
    ("view", "reshape"),
    ("cat", "concat"),
    ("nllloss", "cross_entropy"),
    ("parameter", "param"),
    ("rnn", "lstm"),
    ("bilstm", "bi_lstm"),
    ("bidirectionallstm", "bi_lstm"),
    ("bigru", "bi_gru"),
    ("bidirectionalgru", "bi_gru"),
    ("bilinear", "upsample_bilinear"),
    ("embeddingbag", "embedding"),
    ("alphadropout", "dropout"),
    ("hyperbolictangent", "tanh"),
    ("clip", "clamp"),
    ("sgn", "sign"),
    ("ln", "log"),
    ("where", "select"),
    ("percentile", "quantile"),
    ("cumsum", "cumulative_sum"),
    ("matmul", "product"),
    ("matvec", "times"),
    ("cdist", "distances"),
    ("pdist", "distances"),
    ("pairwisedistances", "distances"),
    ("cov", "covariance"),
    ("average", "mean"),
    ("avg", "mean"),
    ("var", "variance"),
    ("l2norm", "norm"),
    ("maxnorm", "inf_norm"),
    ("normalize", "direction"),
    ("eig", "power_iteration"),
    ("eigh", "power_iteration"),
    ("geomedian", "geometric_median"),
    ("coordinatemedian", "column_median"),
    ("histc", "histogram"),
    ("flip", "reversed"),
];

/// The candidate that means what a name does elsewhere: `BatchNorm2d` is `batch_norm`, `swish` is `silu`.
pub fn by_meaning<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str> + Clone,
) -> Option<&'c str> {
    let plain = |name: &str| {
        let letters = name.chars().take(MAX).filter(|c| *c != '_');
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    let short = |name: &str| name.trim_end_matches("1d").trim_end_matches("2d").to_owned();
    let wanted = plain(name);
    let all = || candidates.clone().into_iter().filter(|c| *c != name);
    let same = all().find(|c| plain(c) == wanted);
    same.or_else(|| all().find(|c| short(&plain(c)) == short(&wanted))).or_else(|| {
        let known = ELSEWHERE.iter().find(|(n, _)| *n == wanted || *n == short(&wanted))?;
        all().find(|c| *c == known.1)
    })
}

/// What is written here for names of Python, NumPy and PyTorch that nothing in the library is another name of.
const HABITS: &[(&[&str], &str)] = &[
    (&["not"], "a bit is negated by `!`: `!(a > b)`"),
    (&["and", "or"], "bits are combined by `&&` and `||`"),
    (
        &["len", "size", "numel", "ndim"],
        "lengths are sizes: `x.shape[0]`, `x.len`, `M.len`, or a name in the brackets of the predicate, as in `fix[n]`",
    ),
    (
        &["floor", "ceil", "round", "trunc"],
        "nothing rounds a number of the run; a test against the steps counts: `sum(x >= k for k in 1..8)`",
    ),
    (
        &["range", "arange", "linspace", "enumerate", "zip", "map", "lambda"],
        "a loop runs over a size or a range and has the index: `[x[i] * y[i] for i in n]`, `sum(x[j] for j in 1..n)`",
    ),
    (
        &["zeros", "ones", "full", "eye", "empty", "zeros_like", "ones_like"],
        "a tensor is a list made by loops: `[0 for i in n]`, `[[if i == j { 1 } else { 0 } for j in n] for i in n]`",
    ),
    (
        &["stack", "vstack", "hstack", "array", "tensor", "list", "asarray"],
        "a tensor is a list of its entries: `[a, b]`; `concat(a, b)` puts one behind the other",
    ),
    (
        &["np", "numpy", "torch", "nn", "F", "math", "jnp", "tf"],
        "functions have no module before them: `mean(x)`, with `use std::{mean};` at the top",
    ),
    (
        &["maximum", "fmax"],
        "the larger of two is `select(a > b, a, b)`, and that of a list `max([a, b])`",
    ),
    (
        &["minimum", "fmin"],
        "the smaller of two is `select(a < b, a, b)`, and that of a list `min([a, b])`",
    ),
    (
        &["any", "all", "count_nonzero"],
        "bits are numbers 0 and 1: `sum(b) >= 1` is whether any is 1, `sum(b) == n` whether all are",
    ),
    (
        &["None", "nan", "NaN", "inf", "isnan", "isinf", "isfinite"],
        "every value is a number in its declared range: there is no infinity, no NaN, and nothing that is left out",
    ),
    (&["True", "False"], "the bits are `true` and `false`"),
    (
        &["float", "int", "bool", "astype", "double", "long", "item", "detach", "cpu"],
        "nothing is converted: integers and bits are taken where a `fix` is expected",
    ),
    (
        &["print", "display"],
        "parties see only what is revealed: `reveal x to Server as x;`; `slvrc eval` shows every `let` with `--json`",
    ),
    (
        &["rand", "randn", "randint", "random", "choice", "shuffle", "permutation", "manual_seed"],
        "random members are drawn by `sample committee[k] of Client;`, and noise by `sample e: fix[n] from gaussian(1);`",
    ),
    (
        &["einsum", "tensordot", "bmm", "mm", "outer", "inner"],
        "products are sums of loops, `[[sum(a[i, k] * b[k, j] for k in n) for j in m] for i in l]`, or `product(a, b)`",
    ),
    (
        &["unique", "bincount"],
        "a list has a fixed length: how often each of k values is there is `[sum(x[i] == v for i in n) for v in k]`",
    ),
    (
        &["axis", "dim", "keepdim", "keepdims"],
        "no function has an axis: a loop runs over what is left, `[f(x[i]) for i in n]` for rows and `[f([x[i, j] for i in \
         n]) for j in m]` for columns",
    ),
    (
        &["state_dict", "parameters", "named_parameters", "flatten_parameters"],
        "all weights as one vector are `flat(w)`, a tensor of them is `w.conv1.weight`",
    ),
    (&["std"], "the standard deviation is `sqrt(variance(x))`"),
    (&["pi"], "constants are written out: `const PI = 3.141592653589793;`"),
];

/// What is written here for a name of other languages.
pub fn habit(name: &str) -> Option<&'static str> {
    HABITS.iter().find(|(names, _)| names.contains(&name)).map(|(_, hint)| *hint)
}

/// Longer names are compared by this many letters.
const MAX: usize = 64;

/// Damerau's distance (optimal string alignment), doubled; a change of case alone costs 1.
fn distance(a: &[char], b: &[char]) -> usize {
    let substitute = |x: char, y: char| match (x == y, x.eq_ignore_ascii_case(&y)) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    };
    // Rows i-2, i-1 and i of the usual table.
    let mut older: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).map(|j| 2 * j).collect();
    for i in 1..=a.len() {
        let mut row = vec![2 * i];
        for j in 1..=b.len() {
            let mut d = (last[j] + 2).min(row[j - 1] + 2);
            d = d.min(last[j - 1] + substitute(a[i - 1], b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(older[j - 2] + 2);
            }
            row.push(d);
        }
        older = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{by_meaning, did_you_mean};

    #[test]
    fn names_of_other_libraries() {
        let names =
            ["linear", "batch_norm", "conv2d", "conv1d", "lstm", "silu", "max_pool", "max_pool1d"];
        let meant = |name| by_meaning(name, names);
        assert_eq!(meant("BatchNorm2d"), Some("batch_norm"));
        assert_eq!(meant("Conv1d"), Some("conv1d"));
        assert_eq!(meant("Conv2d"), Some("conv2d"));
        assert_eq!(meant("Dense"), Some("linear"));
        assert_eq!(meant("swish"), Some("silu"));
        assert_eq!(meant("LSTM"), Some("lstm"));
        assert_eq!(meant("MaxPool2d"), Some("max_pool"));
        let more = ["cumulative_sum", "tanh", "dropout", "embedding", "distances", "bi_lstm"];
        for (name, wanted) in [
            ("cumsum", "cumulative_sum"),
            ("Tanh", "tanh"),
            ("hyperbolic_tangent", "tanh"),
            ("Dropout2d", "dropout"),
            ("EmbeddingBag", "embedding"),
            ("cdist", "distances"),
            ("BiLSTM", "bi_lstm"),
        ] {
            assert_eq!(by_meaning(name, more), Some(wanted), "{name}");
        }
        assert_eq!(meant("lstm"), None, "the name itself is no other name");
        assert_eq!(meant("zebra"), None);
    }

    #[test]
    fn a_habit_has_one_hint() {
        let all: Vec<&str> = super::HABITS.iter().flat_map(|(names, _)| *names).copied().collect();
        for (i, name) in all.iter().enumerate() {
            assert!(!all[..i].contains(name), "{name} stands twice");
            assert!(super::ELSEWHERE.iter().all(|(n, _)| n != name), "{name} has another name");
        }
        assert!(super::habit("range").is_some_and(|h| h.contains("loop")));
        assert_eq!(super::habit("zebra"), None);
    }

    #[test]
    fn near_names() {
        let names =
            ["median", "mean", "lower_median", "norm", "norm_sq", "sum", "Client", "c", "b"];
        let near = |name| did_you_mean(name, names);
        assert_eq!(near("meadian"), Some("median"));
        assert_eq!(near("lower_meidan"), Some("lower_median"));
        assert_eq!(near("client"), Some("Client"));
        assert_eq!(near("nrom"), Some("norm"));
        assert_eq!(near("Sum"), Some("sum"));
        assert_eq!(near("norm_s"), Some("norm_sq"));
        assert_eq!(near("zebra"), None);
        assert_eq!(near("x"), None, "one letter replaced is no resemblance");
        assert_eq!(near("C"), Some("c"));
        assert_eq!(near(""), None);
        assert_eq!(near("sum"), None, "the name itself is no other name");
        assert_eq!(near(&"a".repeat(100_000)), None);
    }
}
