//! What is said against a reveal, or against several: the sentences, with what helps.

use super::findings::LeakKind;
use super::flow::{Factor, Mask};
use super::warnings::Named;

/// The kind, why it is one, and what helps.
pub(super) type Said = (LeakKind, String, &'static str);

/// The names of a few, and how many others there are.
pub(super) fn few(named: &Named) -> String {
    let names: Vec<&str> = named.values().map(String::as_str).collect();
    match names.len() {
        0..=4 => names.join(", "),
        n => format!("{} and {} others", names[..3].join(", "), n - 3),
    }
}

/// Of whom more, at the end of why.
pub(super) fn also_of(named: &Named) -> String {
    format!("; in the same way something follows of {}", few(named))
}

const STATISTIC: &str =
    "reveal a statistic over clients (a sum, a mean), or compare and keep the result secret";
const KEEP_BITS: &str =
    "keep the bits secret and reveal what they select, or only how many there are";
const SEVERAL: &str = "several comparisons of one client say more than whether it was kept, and enough of them its value";
/// Added of bits that [`super::parts::stands_for`] gave up on.
pub(super) const NOT_FOUND_OUT: &str =
    "; whose some of them are was not found out, so these count as one client's";
const SHIFT: &str = "make every combination of what is revealed a sum over at least two clients, and \
                     beware of a sum and the same sum without one client";

pub(super) fn equations(entries: &str, of: &str, one: &str) -> Said {
    (
        LeakKind::Determined,
        format!(
            "{entries} is a linear function of {of} of {one}, with public \
             coefficients and no sum over clients: the receiver gets equations in that \
             client's input alone, and the input itself where they are as many as its entries"
        ),
        "reveal a sum over at least two clients",
    )
}

pub(super) fn by_order(of: &str) -> Said {
    (
        LeakKind::OrderStatistic,
        format!(
            "taking entries in ascending order over clients gives exactly one client's value, \
             computed from {of}; the receiver is not told whose, but may recognise it"
        ),
        "a mean of several middle entries (`trimmed_mean`) blurs it; otherwise accept it",
    )
}

pub(super) fn chosen(of: &str) -> Said {
    (
        LeakKind::Order,
        format!(
            "it is one of several public numbers, chosen by bits of single clients that are computed \
             from {of}, another number by another client's: which one it is says whose bit it was, \
             such as which client has the largest value, or is the last beyond a threshold"
        ),
        "keep the choice secret and reveal a sum over those that it selects",
    )
}

pub(super) fn compared(of: &str) -> Said {
    (
        LeakKind::Order,
        format!(
            "it is found by comparing clients with one another, by what is computed from {of}: \
             the receiver learns which client has the largest value, or which place one has"
        ),
        "keep the order secret and reveal a sum over those that it selects",
    )
}

pub(super) fn of_one(entries: &str, of: &str, one: &str) -> Said {
    (
        LeakKind::PerClient,
        format!(
            "{entries} is computed from {of} of {one} alone, and from what the receiver knows: \
             with enough entries it may determine that input"
        ),
        STATISTIC,
    )
}

/// `made` says of which inputs, and how.
pub(super) fn side_by_side(receiver: &str, made: &str) -> Said {
    (
        LeakKind::PerClient,
        format!(
            "there is an entry for each client, {made}: {receiver} can tell clients apart by it, and sees \
             which client's is the largest, even if others' inputs take part in it"
        ),
        STATISTIC,
    )
}

pub(super) fn divided() -> Said {
    (
        LeakKind::SecretDivisor,
        "a sum over clients is divided by a secret. The quotient is rounded before it is opened, \
         so that the divisor does not show in its low bits; yet where the sum is known to be a \
         multiple of something (integers, zeros, equal inputs) the receiver can tell the divisor, \
         such as how many clients were kept"
            .into(),
        "divide by a public number (then the count stays secret), or reveal the count and say so",
    )
}

pub(super) fn hidden_by_a_factor(entries: &str, m: &Mask, of: &str) -> Said {
    let factor = if m.factor.selects() { "a secret bit" } else { "a secret number" };
    (
        LeakKind::PerClient,
        format!(
            "{entries} is one client's input times {factor}, with no sum over clients (it depends \
             on {of}): where the factor is not 0 the receiver sees that client's input, up to a scale"
        ),
        "reveal the sum over clients",
    )
}

pub(super) fn decided_by_one(of: &str) -> Said {
    (
        LeakKind::Selection,
        format!(
            "a sum over clients is multiplied by what one client's inputs decide (it depends on {of}): \
             whether it is 0 says so of that client, and beside the same sum without it how large that is"
        ),
        "leave the factor out, or let it follow from all clients",
    )
}

/// What is behind a factor, of one client.
fn data(m: &Mask) -> &'static str {
    if m.computed { "value" } else { "input" }
}

/// Of a sum over clients, or of what is computed from one only.
fn adds_up(m: &Mask, whose: &str, indirect: bool) -> String {
    let sum = if indirect { "it is computed from what adds up" } else { "it adds up" };
    format!("{sum} the {}s of {whose}", data(m))
}

pub(super) fn exactly_one(n: u64, m: &Mask, of: &str) -> Said {
    let input = data(m);
    (
        LeakKind::OneClient,
        format!(
            "at most one of {n} secret bits is 1, so this sum is one client's {input} as it is (it \
             depends on {of}); the receiver is not told whose, but may recognise it"
        ),
        "if the check means to pick one client, say so to the clients; otherwise sum several \
         (`top_k[k]` with k of at least 2)",
    )
}

pub(super) fn few_may_pass(n: u64, m: &Mask, indirect: bool) -> Said {
    let input = data(m);
    let sum = adds_up(m, &format!("those of {n} clients whose secret bit is 1"), indirect);
    let few = match m.ones.most {
        most if most < n => {
            format!("nothing keeps the number of such bits at two or more (at most {most} are)")
        }
        _ => "nothing keeps the number of such bits at two or more".into(),
    };
    let none = match m.factor {
        Factor::Bit => "zeros",
        Factor::Choice | Factor::Weight => "what is chosen instead",
    };
    (
        LeakKind::MaskedSum,
        format!(
            "{sum}, and {few}: if one client passes, that sum is its {input}; if none does, it is \
             {none}, and the reveal is what else is in it. The receiver is not told how many \
             passed, but zeros and outliers say something. An attacker who makes others fail, or \
             whose own inputs pass and are known to it, can bring this about"
        ),
        "accept it and tell the clients; or select a fixed number by rank only (`top_k[k]` \
         with k of at least 2 always sums exactly k); or make the sum zero unless enough pass: \
         `keep[i] && sum(keep) >= least` in place of `keep[i]`",
    )
}

pub(super) fn weights(n: u64, m: &Mask, indirect: bool) -> Said {
    let input = data(m);
    let sum = adds_up(m, &format!("{n} clients, each times a secret weight"), indirect);
    (
        LeakKind::MaskedSum,
        format!(
            "{sum}: if all weights but one are 0, or nearly so, that sum is one client's {input}, up \
             to a scale"
        ),
        "accept it and tell the clients, or bound the weights from below and above so that at least \
         two always count",
    )
}

pub(super) fn more_bits_than_clients(n: u64, members: u64, of: &str) -> Said {
    let clients = if members == 1 { "one client".into() } else { format!("{members} clients") };
    let why = format!("there are {n} bits of {clients}, computed from {of}: {SEVERAL}");
    (LeakKind::SeveralBits, why, KEEP_BITS)
}

pub(super) fn bits_of_order(of: &str) -> Said {
    (
        LeakKind::Order,
        format!(
            "these bits are found by comparing clients with one another, by what is computed from \
             {of}: the receiver learns who comes before whom"
        ),
        KEEP_BITS,
    )
}

pub(super) fn bits_of_clients(of: &str) -> Said {
    (
        LeakKind::Selection,
        format!(
            "these are bits of single clients, computed from {of}: the receiver learns who was \
             selected, or how a client compares with others"
        ),
        KEEP_BITS,
    )
}

/// Of a combination of entries of one reveal.
pub(super) fn within_one(linear: bool, receiver: &str, of: &str, who: &str) -> Said {
    if linear {
        let why = format!(
            "it is a linear function of {of} with public coefficients, and some combination of its \
             entries depends on one client alone: {receiver} learns equations in the inputs of {who}"
        );
        return (LeakKind::Determined, why, SHIFT);
    }
    let why = format!(
        "some combination of its entries is computed from one client alone: {receiver} learns \
         values of {who} that follow from {of}"
    );
    (LeakKind::PerClient, why, SHIFT)
}

/// Of a combination of several reveals.
pub(super) fn of_several(receiver: &str, of: &str, who: &str) -> Said {
    (
        LeakKind::Determined,
        format!(
            "some combination of these, with what {receiver} knows, depends on one client alone: \
             it learns values of {who} that follow from {of}"
        ),
        SHIFT,
    )
}

pub(super) fn not_together() -> Said {
    (
        LeakKind::NotTogether,
        "so many entries are added up, each in its own way, that not every combination of entries of these, and of \
         these with other reveals, was looked at"
            .into(),
        "look at the same program with fewer clients and a smaller model",
    )
}

pub(super) fn kept_and_all(receiver: &str, of: &str) -> Said {
    (
        LeakKind::MaskedSum,
        format!(
            "each of these is over several clients, but where one of them keeps all clients that the \
             other has and one more, their difference is this one's: {receiver} learns {of} of it"
        ),
        "reveal one of them only, or make sure that they differ in at least two clients or in none",
    )
}

pub(super) fn several_bits(of: &str) -> Said {
    let why = format!("together there are several bits of a client, computed from {of}: {SEVERAL}");
    (LeakKind::SeveralBits, why, KEEP_BITS)
}
