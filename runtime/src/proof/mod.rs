//! Proofs that everything a party sent was right, in far fewer words than it sent.
//!
//! Which statement belongs to which message, and how long the messages of a proof are, is the matter of
//! [`slvr_circuit::proof`]. Lives here: the algebra of the proofs ([`algebra`]), statements as vectors of words
//! ([`statements`], [`carries`], `exchange`, `pooling`, [`products`] with `inner` and `matrices`, [`chunk`]), and the folding
//! ([`fold`] with [`coefficients`]). Statements over words of up to 64 bits, except products of matrices, are proven in another way
//! ([`lifted`]). May not: links, the order of a run ([`crate::party`]
//! sends the messages).
//!
//! # The proof
//!
//! Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai (CRYPTO 2019); among three parties Boyle, Gilboa, Ishai, Nof (CCS
//! 2019). P proves, V1 stands before it, V2 after it. All statements of P over words (over bits) are
//! multiplied by random coefficients and added: one inner product sum u v = s1 + s2, with u and s1 known to V1,
//! v and s2 to V2, all to P. A *fold* cuts the vectors into blocks and takes them as values of polynomials at some
//! points. The inner product of the two polynomials is a polynomial q, of which P shares the
//! values: one share is pseudorandom, the other is sent to V2. Then a coin says at which point all
//! three evaluate: the vectors are as short as a block, and the sum is q there, which V1 and V2 share. In the last
//! fold a random block hides what is left. V1 sends its last element and its share of the sum to V2, who
//! multiplies. V1 needs no message for that: its shares come from a stream, so it sends beside P's last message.
//!
//! One value of q is not sent, that at the first point. The verifiers compute their shares of it from the others and from
//! the sum that is claimed, so that a false claim is a false q.
//!
//! # The first fold
//!
//! It reads words and bits as they are. Its polynomials have m variables, and degree 1 in each: block b of 2^m blocks is
//! the value where the variables are the bits of b. So q has degree 2 in each variable, and is known from its values at
//! the 3^m points of a [grid](slvr_ring::galois::Grid), where each variable is 0, 1 or *high*. At these points the
//! polynomials are sums and differences of blocks, so that words stay words until coefficients are applied. With one
//! variable, 2^m blocks would take the products of all unordered pairs of blocks: for 64 blocks 2,080 in place of 729,
//! nearly three times as many. A coin has a point for each variable.
//!
//! Later folds have one variable, and block i is the value at point i. Their vectors are short, and so are their messages.
//! The values of a polynomial at the points that the blocks are not at are sums over all pairs of blocks. They are taken
//! apart into one term for each block ([`algebra::values`]).
//!
//! # Coins
//!
//! V1 and V2 know every coin from their common seed, P does not. V2 tells it to P once it has the message that
//! the coin is about. V1 has told P a hash of it before, so that V2 cannot tell another one and learn a linear
//! function of what P knows. The first coin, from which the coefficients are drawn, has two halves, of which each
//! verifier tells one, because both must have all messages that the proof is about.
//!
//! # Inner products
//!
//! A product of matrices with one row and one column, as in a norm, has as many products in its sum as a vector is long.
//! Its words are folded, too ([`slvr_circuit::proof::Item::Dot`]), but it has one coefficient for all of them, and its
//! blocks are added up and not told apart. Such products are over words of at most 64 bits, so they are all [`lifted`].
//!
//! # Soundness
//!
//! The coefficients over words and bits are beta_b gamma_t for statement t of block b of the first fold, and
//! r_m s_n for the element (m, n) of a product of matrices. beta_0 is 1, the other beta_b are uniform elements, and
//! gamma_t, r_m and s_n are uniform points of E, the set of exceptional points: 2^56 over words, whose coordinates are 0
//! or 1, and 2^64 over bits. Of a false statement with an error e, at most one value of its gamma_t makes the sum
//! over t 0: the difference of two such values is a unit times e. So the sum over t is 0 for each false block with
//! probability at most 1 / |E|, the sum over blocks with at most 2 / |E|, and so for r_m s_n. Products of matrices
//! join after the first fold. P knows their error e2 when it chooses what it adds to its polynomials, and it adds the
//! constant -e2 if that helps. Then the sum over blocks of beta_b (e1_b + e2) must be 0, with e1_b the error of block b: at most
//! 1 / |E| over beta, unless e1_b = -e2 for all b, which is at most as likely as counted for r_m s_n. Whatever else it adds is
//! a polynomial that is not 0, and its coins are counted as roots. So another 1 / |E| is enough.
//!
//! Let d be what P adds to q in the first fold. A polynomial in several variables that is not 0, of a total degree n, is
//! 0 with probability at most n / |E| at points that are drawn from E (Schwartz 1980, Zippel 1979): the leading
//! coefficient in the last variable is a polynomial in the others, and where it is not 0 the last variable has no more
//! roots than its degree, because differences of points are units. d + e2 has degree 2 in each of m variables, so the
//! first fold lets a false claim through with probability at most 2 m / |E|. A later fold of b blocks lets a false claim
//! through if the coin is a root of a polynomial of degree 2 b - 2 (2 b in the last), so with probability at most
//! 2 b / (|E| - b - 1). [`slvr_circuit::proof::error`] adds these up.

pub mod algebra;
#[doc = include_str!("argument.md")]
pub mod argument {}
pub mod carries;
pub mod chunk;
pub mod coefficients;
mod exchange;
pub mod fold;
mod inner;
pub mod lifted;
mod matrices;
mod pooling;
pub mod products;
pub mod statements;
