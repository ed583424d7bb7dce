//! Table 1 of the paper, for LeNet-5: test accuracy under 10 % malicious clients after 500 rounds.

use super::results::{CLIENTS, DATASET, MALICIOUS, MODEL, PARAMETERS, Results, SHIFT};

/// Rows by predicate: MNIST, then Fashion-MNIST; noise, label flip, sign flip, adaptive.
const TABLE: [(&str, [f64; 4], [f64; 4]); 6] = [
    ("norm_bound", [0.970, 0.983, 0.981, 0.883], [0.872, 0.873, 0.867, 0.709]),
    ("norm_bound_public", [0.976, 0.976, 0.976, 0.454], [0.865, 0.870, 0.863, 0.583]),
    ("norm_ball", [0.968, 0.985, 0.966, 0.965], [0.870, 0.872, 0.866, 0.798]),
    ("cosine_similarity", [0.981, 0.964, 0.947, 0.863], [0.863, 0.862, 0.862, 0.714]),
    ("slvr_accuracy", [0.974, 0.977, 0.975, 0.974], [0.870, 0.873, 0.865, 0.830]),
    ("slvr_confidence", [0.973, 0.977, 0.974, 0.970], [0.870, 0.871, 0.864, 0.832]),
];

pub fn defences() -> Vec<String> {
    TABLE.iter().map(|(name, ..)| name.to_string()).collect()
}

/// The paper's figure, where a cell is one of its table: of this model, with this part of malicious clients, on data that do
/// not shift, with the predicate's own parameters. Its adaptive attack on SLVR sets scores (Definition 1), as `extreme` does.
pub fn figure(results: &Results, predicate: &str, attack: &str) -> Option<f64> {
    let part = results.number::<f64>(MALICIOUS)? / results.number::<f64>(CLIENTS)?;
    let other = results.said(MODEL) != "LeNet5"
        || !results.said(PARAMETERS).is_empty()
        || !results.said(SHIFT).is_empty();
    if other || (part - 0.1).abs() > 1e-9 {
        return None;
    }
    let (_, mnist, fashion) = TABLE.iter().find(|(name, ..)| *name == predicate)?;
    let row = match results.said(DATASET) {
        "mnist" => mnist,
        "fashion" => fashion,
        _ => return None,
    };
    let at = match attack {
        "noise" => 0,
        "label-flip" => 1,
        "sign-flip" => 2,
        "adaptive" if !predicate.starts_with("slvr") => 3,
        "extreme" if predicate.starts_with("slvr") => 3,
        _ => return None,
    };
    Some(row[at])
}
