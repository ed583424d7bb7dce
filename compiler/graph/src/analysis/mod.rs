//! What is known of a graph's values before it runs: nothing here rewrites one.
//!
//! | question | where |
//! |---|---|
//! | how are declared input ranges enforced, and how likely does that go wrong | [`guard`], [`projection`]; [`failure`] |
//! | which interval is every value in once they are, and which ring holds it | [`ranges`]; [`rings`] |
//! | how far may a run be from the program in real numbers, if protocols are off by no more than they state | [`errors`], [`stated`] |
//! | where does that hold for the program as it is cut | [`cuts`] |
//! | what does noise promise each client | [`privacy`] |
//! | how far is a run on inputs at hand from the program, and which decisions fall alike | [`given`] |
//! | before scales are known: how large can a value get | [`magnitudes`] |
//! | how large is a quotient by a norm, or by the sum of weights | [`norms`]; [`means`] |
//! | which numbers are not negative, which positive, and which dividends are 0 where their divisor is | [`signs`], [`positive`], [`zeros`] |
//!
//! Several of these use:
//!
//! | what | where |
//! |---|---|
//! | arithmetic of intervals | [`interval`] |
//! | what is behind steps that change little | [`behind`] |
//! | where moved entries come from; that of all rows of a tensor at once | [`layout`]; [`lanes`] |
//! | which parts a slice of a concatenation has | `slices` |
//! | which entries a sum of products multiplies | `products` |
//! | which sums choose by rank, and where a softmax is | [`order`], [`softmax`] |
//! | what rules say of operands, followed along chains | `chains` |
//! | which functions of earlier bits bits are | [`truth_tables`] |
//! | a graph with what all rules ask of it | `view` |
//!
//! May not: rewriting ([`crate::passes`]), protocols (`slvr_backend::lower`), diagnostics and reports
//! (`slvr_backend::pipeline`, `slvr_compiler::report`). Of protocols four files know what their questions are about:
//!
//! - [`rings`]: the room that truncations and lifts take, and where families differ in it;
//! - [`projection`]: the random inner products that prove a norm, which [`guard`] chooses;
//! - [`failure`]: that this test, and the proofs against a malicious party, may fail, by the names that reports list;
//! - `given/masks.rs`: which masks of a truncation are fresh, in both families.

pub mod behind;
mod chains;
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
pub mod order;
pub mod positive;
pub mod privacy;
mod products;
pub mod projection;
pub mod ranges;
pub mod rings;
pub mod signs;
mod slices;
pub mod softmax;
pub mod stated;
pub mod truth_tables;
mod view;
pub mod zeros;
