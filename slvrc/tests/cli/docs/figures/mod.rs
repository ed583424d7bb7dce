//! Figures in the README and in the book that follow from the code: each is computed here, so that none can
//! contradict the code or another page.
//!
//! - [`table`]: tables between `<!-- table NAME -->` and `<!-- end -->`, beside those of `tables`.
//! - `sentences`: sentences with figures. A page must contain each of its sentences, as it is computed. Rounds,
//!   megabytes and seconds that stand in prose outside of these sentences are refused, so that a new figure comes
//!   with what computes it. Seconds that were measured stand on one page only.
//! - `measured`: whether rounds and bytes beside these seconds are those of today.
//!
//! Rounds and bytes of large programs are read from the table of pinned artifacts, which a test of its own
//! compares with what the compiler makes. `SLVR_EFFORT=full` also compiles deep models.

mod build;
mod costs;
mod house;
#[allow(dead_code, reason = "the bench also runs them and checks results")]
#[path = "../../../../../tests/benches/protocols/macros.rs"]
mod macros;
mod measured;
mod noise;
mod sentences;

/// A table by its name; `old` is what the page contains. `None` if it is not one of these.
pub fn table(name: &str, old: &str) -> Option<String> {
    Some(match name {
        "passes" => house::passes_of_the_graph(),
        "interactions" => house::interactions(),
        "checks" => costs::checks(),
        "noise" => noise::costs(),
        "noisy" => noise::rounds(),
        "certificates" => costs::certificates(old),
        "measured" => measured::measured(),
        "crates" => house::crates(),
        _ => return None,
    })
}
