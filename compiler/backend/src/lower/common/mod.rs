//! What the macros of both families are made of.
//!
//! Lives here: words and their rings ([`words`]), the masked value x = a + b and its local arithmetic
//! ([`masked`]), truth tables that are dealt and looked up ([`lookup`]), what is made of one-hot labels
//! ([`labels`]) and of the public bits that say whose inputs were admitted ([`admission`]), and functions of numbers of any
//! size, over the arithmetic of a family ([`elementary`]). May not live
//! here: anything that knows graphs or chooses between protocols, and interactive macros that only one
//! family has.

pub mod admission;
pub mod elementary;
pub mod labels;
pub mod lookup;
pub mod masked;
pub mod words;
