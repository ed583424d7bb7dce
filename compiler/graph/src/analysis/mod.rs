//! What is known of a graph's values before it runs: nothing here rewrites one.
//!
//! How declared input ranges are enforced ([`guard`], [`projection`]) and how likely that is to go wrong ([`failure`]);
//! which interval every value is in once they are ([`ranges`]), which ring holds it ([`rings`]), how far a run may be
//! from the program in real numbers ([`errors`]) if its protocols are off by no more than they state ([`stated`]), and
//! where that holds for the program as it is cut ([`cuts`]), and what noise promises each client ([`privacy`]). Before
//! scales are known: how large a value can get ([`magnitudes`]), also of what is divided by its norm ([`norms`]) or by
//! the sum of its weights ([`means`]), which numbers are not negative ([`signs`]) or positive ([`positive`]), and which
//! dividends are 0 where their divisor is ([`zeros`]). For all of these: arithmetic of intervals ([`interval`]), where
//! moved entries come from ([`layout`]), in all rows at once (`lanes`), which sums choose by rank (`order`), what bits are
//! of earlier bits ([`truth_tables`]), where a softmax is (`softmax`), and a node with its facts (`view`). Of inputs at
//! hand: how far a run is from the program, and which decisions fall alike ([`given`]).
//!
//! May not: rewriting ([`crate::passes`]), protocols (`slvr_backend::lower`), diagnostics and reports
//! (`slvr_backend::pipeline`, `slvr_compiler::report`).

pub mod cuts;
pub mod errors;
pub mod failure;
pub mod given;
pub mod guard;
pub mod interval;
pub mod lanes;
pub mod layout;
pub mod magnitudes;
pub mod means;
pub mod norms;
mod order;
pub mod positive;
pub mod privacy;
pub mod projection;
pub mod ranges;
pub mod rings;
pub mod signs;
mod softmax;
pub mod stated;
pub mod truth_tables;
mod view;
pub mod zeros;
