//! Proofs that everything a party sent was right, in far fewer words than it sent.
//!
//! Which statement belongs to which message, and how long the messages of a proof are, is the matter of
//! [`slvr_circuit::proof`]. Lives here: the algebra of the proofs ([`algebra`]), statements as vectors of words
//! ([`claims`], [`products`]), and the folding ([`fold`]). May not: links, the order of a run ([`crate::party`]
//! sends the messages).
//!
//! # The proof
//!
//! Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai (CRYPTO 2019); among three parties Boyle, Gilboa, Ishai, Nof (CCS
//! 2019). P proves, V1 stands before it, V2 after it. All statements of P over words (over bits) are
//! multiplied by random coefficients and added: one inner product sum u v = s1 + s2, with u and s1 known to V1,
//! v and s2 to V2, all to P. A *fold* cuts the vectors into blocks and takes block i as the value of a
//! polynomial at point i. The inner product of the two polynomials is a polynomial q, of which P shares the
//! values: one share is pseudorandom, the other is sent to V2. Then a coin says at which point all
//! three evaluate: the vectors are as short as a block, and the sum is q there, which V1 and V2 share. In the last
//! fold a random block hides what is left. V1 sends its last element and its share of the sum to V2, who
//! multiplies. V1 needs no message for that: its shares come from a stream, so it sends beside P's last message.
//!
//! The value of q at point 0 is not sent. The verifiers compute their shares of it from the others and from
//! the sum that is claimed, so that a false claim is a false q.
//!
//! # Coins
//!
//! V1 and V2 know every coin from their common seed, P does not. V2 tells it to P once it has the message that
//! the coin is about. V1 has told P a hash of it before, so that V2 cannot tell another one and learn a linear
//! function of what P knows. The first coin, from which the coefficients are drawn, has two halves, of which each
//! verifier tells one, because both must have all messages that the proof is about.
//!
//! # Two folds of words
//!
//! An element of the ring takes 56 words, so a vector after the first fold is as long as the words themselves. Where there
//! are many statements, the second fold reads the words once more ([`slvr_circuit::proof::Folds`]). A block of the
//! first fold is cut into the blocks of the second one, and the words are folded by the products of both factors at
//! once. Only the prover needs what is between the two folds, for its second polynomial, and makes it for one instruction after
//! another. The coefficient of statement t of part p of a block is gamma_t rho_p, so that a vector is multiplied by
//! gamma_t after both folds, where it is short, and rho_p is a factor of the fold.
//!
//! The values of a polynomial at the points that the blocks are not at are sums over all pairs of blocks. They are taken
//! apart into one term for each block ([`algebra::values`]).
//!
//! # Inner products
//!
//! A product of matrices with one row and one column, as in a norm, has as many products in its sum as a vector is long.
//! Its words are folded, too ([`claims::Item::Dot`]), but it has one coefficient r for all of them, and its blocks are
//! added up and not told apart. The first fold takes blocks with coefficients beta_b. Where there are inner products,
//! beta_b is delta_b^2 with delta_b an exceptional point that is not 0, and both vectors of an inner product take
//! 1 / delta_b in block b. So their product times beta_b has no coefficient of the block any more.
//!
//! # Soundness
//!
//! The coefficients over words and bits are beta_b rho_p gamma_t for statement t of part p of block b of the first fold, and
//! r_m s_n for the element (m, n) of a product of matrices. beta_0 is 1, the other beta_b are uniform elements, and
//! gamma_t, r_m and s_n are uniform points of E, the set of exceptional points: 2^56 over words, whose coordinates are 0
//! or 1, and 2^64 over bits. Of a false statement with an error e, at most one value of its gamma_t makes the sum
//! over t 0: the difference of two such values is a unit times e. So the sum over t is 0 for each false block with
//! probability at most 1 / |E|, the sum over blocks with at most 2 / |E|, and so for r_m s_n. Products of matrices
//! join after the folds of words. P knows their error e2 when it chooses what it adds to its polynomials, and it adds the
//! constant -e2 if that helps. Then the sum over blocks of beta_b (e1_b + e2) must be 0, with e1_b the error of block b: at most
//! 1 / |E| over beta, unless e1_b = -e2 for all b, which is at most as likely as counted for r_m s_n. Whatever else it adds is
//! a polynomial that is not 0, and its coins are counted as roots. So another 1 / |E| is enough.
//!
//! Where beta_b is the square of a point, it is any element but 0 modulo 2 equally likely, and no more of it is used. An
//! error of an inner product has a coefficient r that nothing else depends on: whatever the other errors are, at most one
//! point r makes the sum of all 0.
//!
//! Without a second fold of words rho_0 = 1 is all there is. Otherwise, over words, rho_p is X^p for p below k, and gamma_t has
//! coordinates at X^0 to X^(56 - k) only, so that rho_p gamma_t is a point without a reduction. For one t, the errors of all parts
//! together are sum e_p X^p, an element that is 0 only if all e_p are: the power of 2 that divides it divides all of
//! them, and the rest is a unit. So what is said above holds with 2^(57 - k) points in place of 2^56 for gamma_t:
//! 2^(k - 1) / |E|. Over bits rho_0 is 1 and the other rho_p are uniform: one more 1 / |E|. In the extension of twice the degree both
//! halves of gamma_t lose k - 1 coordinates, and rho_p is the same power, or uniform there.
//!
//! A fold of b blocks lets a false claim
//! through if the coin is a root of a polynomial of degree 2 b - 2 (2 b in the last), so with probability at most
//! 2 b / (|E| - b - 1). [`slvr_circuit::proof::error`] adds these up.

pub mod algebra;
pub mod claims;
pub mod fold;
mod inner;
pub mod products;
pub mod twice;
