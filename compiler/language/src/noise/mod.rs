//! Discrete noise: exact samplers of the discrete Gaussian and of the discrete Laplace distribution, made of uniform
//! bits and of what is cheap among parties.
//!
//! | file | what lives there |
//! |---|---|
//! | `law` | a distribution on its grid, and which grid it has |
//! | `exact` | numbers in 0 .. 1 with hundreds of bits |
//! | `table` | the alias method: any distribution on 2^c outcomes from one lookup and one comparison |
//! | `sampler` | which tables a law takes, and the sum of bits that makes a value of what they give |
//! | `words` | the uniform words that an evaluation in the clear takes |
//!
//! A [`Sampler`] is data. Evaluations in the clear interpret it word by word ([`Sampler::value`]), and
//! `slvr_backend::lower` makes instructions of it; that both do the same is tested on the instructions.
//!
//! **A table.** Cells are equally likely: c uniform bits name one. Each has two outcomes, and 64 further bits choose
//! between them with a probability that is a multiple of 2^-64 (Walker 1977, Vose 1991). The choice costs few ands:
//! if J is the place of the first 1 among the 64 bits, which is i with probability 2^-i, then bit J of a number t is 1
//! with probability t. So the choice is an inner product of [J = i] with the bits of the cell's t, and these
//! are sums of [cell = v], free of communication.
//!
//! **Laplace.** Of a geometric variable G with P(G >= n) = p^n all bits are independent, and bit i is 1 with
//! probability p^(2^i) / (1 + p^(2^i)). With a sign s that is 1 with probability p / (1 + p), the value G where s = 0
//! and -G - 1 where s = 1 has the two-sided geometric distribution exactly; in two's complement its bits are those of
//! G, each xor s. So one geometric variable is enough, and the value is made of independent bits. Tables make six of
//! them at a time.
//!
//! **Gauss.** x1 + k x2 of discrete Gaussians of width s1 and s2 is one of width sqrt(s1^2 + k^2 s2^2) but for a
//! relative error that is exponentially small in the square of s1 s2 / sqrt(s1^2 + k^2 s2^2) (Micciancio and Walter,
//! CRYPTO 2017). All summands have the same width, for which there is one table of magnitudes; signs are uniform
//! bits.
//!
//! What may not live here: where noise is added, and what it protects (`slvr_graph::analysis::privacy`).

mod exact;
mod law;
mod sampler;
mod table;
#[cfg(test)]
mod tests;
mod words;

pub use law::{Law, LawError, Noise};
pub use sampler::{Plane, Sampler, Term};
pub use table::{PRECISION, Table};
pub use words::Words;
