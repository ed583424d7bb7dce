//! What is proven of a program before it runs.
//!
//! How declared input ranges are enforced ([`guard`], [`projection`]), which interval every value is in
//! once they are ([`ranges`]), whether that fits a ring and what is cut where it does not ([`fit`]), and
//! which numbers are not negative, whatever their size ([`signs`]). How far a run may be from the program
//! in real numbers ([`errors`]), and what a program demands of that ([`demands`]).
//!
//! May not: change what a program computes, other than by the cuts of [`fit`] and the parts of [`split`]; protocols.

pub mod certificate;
pub mod demands;
pub mod errors;
pub mod failure;
pub mod fit;
pub mod guard;
pub mod leaks;
pub mod projection;
pub mod ranges;
pub mod signs;
pub mod split;
