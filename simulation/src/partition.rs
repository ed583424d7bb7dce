//! Unlike shares of labelled data.

use super::random::Random;
use thiserror::Error;

/// How samples are shared out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partition {
    /// Labels of a client follow a Dirichlet distribution, and all have as many samples.
    #[default]
    Dirichlet,
    /// The same, and the numbers of samples follow a Dirichlet distribution, too.
    Unequal,
    /// Each client has two pieces of the samples in the order of their labels, so that most have two labels.
    Pathological,
}

/// Samples of a client, at least.
pub const LEAST: usize = 2;

/// Why samples cannot be shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PartitionError {
    #[error("{each} samples for each of the clients, at least {LEAST} are needed")]
    Each { each: usize },
    #[error("{found} samples are too few for {clients} clients with {each} each")]
    Few { found: usize, clients: usize, each: usize },
}

/// Shares of the samples `of`, which are places in `labels`: `each` for every client, or so many on average, or a few
/// less, where shares are unequal.
///
/// # Errors
///
/// Fewer than [`LEAST`] for each, or fewer samples than all clients are to have.
pub fn partition(
    how: Partition,
    labels: &[u8],
    of: &[usize],
    (clients, each): (usize, usize),
    alpha: f64,
    random: &mut Random,
) -> Result<Vec<Vec<usize>>, PartitionError> {
    let found = of.len();
    if each < LEAST {
        return Err(PartitionError::Each { each });
    }
    if clients.checked_mul(each).is_none_or(|all| all > found) {
        return Err(PartitionError::Few { found, clients, each });
    }
    Ok(match how {
        Partition::Dirichlet => dirichlet(labels, of, &vec![each; clients], alpha, random),
        Partition::Unequal => {
            let parts = random.dirichlet(alpha, clients);
            let free = (each - LEAST) * clients;
            let count = |part: &f64| LEAST + (free as f64 * part) as usize;
            let counts: Vec<usize> = parts.iter().map(count).collect();
            dirichlet(labels, of, &counts, alpha, random)
        }
        Partition::Pathological => pathological(labels, of, (clients, each), random),
    })
}

/// As in T.-M. H. Hsu, H. Qi, M. Brown, "Measuring the effects of non-identical data distribution for federated visual
/// classification", 2019: each client's label distribution is drawn from a symmetric Dirichlet(alpha), and samples are
/// drawn without replacement. Clients draw in turn, so that what is left over at the end, where labels run out, is
/// spread over all.
fn dirichlet(
    labels: &[u8],
    of: &[usize],
    counts: &[usize],
    alpha: f64,
    random: &mut Random,
) -> Vec<Vec<usize>> {
    let classes = labels.iter().map(|&l| usize::from(l) + 1).max().unwrap_or(1);
    let mut stock = vec![Vec::new(); classes];
    of.iter().for_each(|&i| stock[usize::from(labels[i])].push(i));
    let wishes: Vec<Vec<f64>> = counts.iter().map(|_| random.dirichlet(alpha, classes)).collect();
    let mut shards: Vec<Vec<usize>> = counts.iter().map(|n| Vec::with_capacity(*n)).collect();
    for turn in 0..counts.iter().copied().max().unwrap_or(0) {
        for ((shard, wish), count) in shards.iter_mut().zip(&wishes).zip(counts) {
            if turn < *count {
                let class = draw(wish, &stock, random);
                shard.extend(stock[class].pop());
            }
        }
    }
    shards
}

/// As in H. B. McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data", 2017,
/// section 3: samples are sorted by their labels and cut into twice as many pieces as there are clients, and each
/// client gets two.
fn pathological(
    labels: &[u8],
    of: &[usize],
    (clients, each): (usize, usize),
    random: &mut Random,
) -> Vec<Vec<usize>> {
    let mut sorted: Vec<usize> = of[..clients * each].to_vec();
    sorted.sort_by_key(|i| labels[*i]);
    // A client's share is cut where its first piece ends.
    let first = each / 2;
    let mut pieces: Vec<&[usize]> = Vec::with_capacity(2 * clients);
    for share in sorted.chunks_exact(each) {
        let (a, b) = share.split_at(first);
        pieces.extend([a, b]);
    }
    // Long and short pieces are mixed apart, so that all have as many samples.
    let mut order: Vec<usize> = (0..clients).collect();
    random.shuffle(&mut order);
    let shorter = order.iter().map(|i| pieces[2 * i]);
    let mut other: Vec<usize> = (0..clients).collect();
    random.shuffle(&mut other);
    let longer = other.iter().map(|i| pieces[2 * i + 1]);
    shorter.zip(longer).map(|(a, b)| [a, b].concat()).collect()
}

/// A class with stock left, by these probabilities; by what is in stock where they leave nothing.
fn draw(wish: &[f64], stock: &[Vec<usize>], random: &mut Random) -> usize {
    let left = |class: usize| stock[class].len() as f64;
    let mut weights: Vec<f64> =
        (0..stock.len()).map(|c| if stock[c].is_empty() { 0.0 } else { wish[c] }).collect();
    if weights.iter().sum::<f64>() < 1e-9 {
        weights = (0..stock.len()).map(left).collect();
    }
    let mut at = random.uniform() * weights.iter().sum::<f64>();
    let mut last = 0;
    for (class, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        last = class;
        if at < weight {
            break;
        }
        at -= weight;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const ALL: [Partition; 3] = [Partition::Dirichlet, Partition::Unequal, Partition::Pathological];

    /// Of twelve samples with three labels.
    fn shares(
        how: Partition,
        clients: usize,
        each: usize,
    ) -> Result<Vec<Vec<usize>>, PartitionError> {
        let labels: Vec<u8> = (0..12).map(|i| i % 3).collect();
        let of: Vec<usize> = (0..12).collect();
        let mut random = Random::new(1, Purpose::Caller, [0, 0]);
        partition(how, &labels, &of, (clients, each), 0.3, &mut random)
    }

    #[test]
    fn nobody_has_fewer_samples_than_are_asked_for() {
        for how in ALL {
            let all = shares(how, 3, 4).unwrap();
            let least = if how == Partition::Unequal { LEAST } else { 4 };
            assert!(all.len() == 3 && all.iter().all(|share| share.len() >= least), "{how:?}");
        }
    }

    #[test]
    fn too_few_samples_are_refused() {
        for how in ALL {
            for each in [0, 1] {
                assert_eq!(shares(how, 3, each), Err(PartitionError::Each { each }), "{how:?}");
            }
            for (clients, each) in [(3, 5), (13, 2), (usize::MAX, 2)] {
                let few = PartitionError::Few { found: 12, clients, each };
                assert_eq!(shares(how, clients, each), Err(few), "{how:?}");
            }
        }
    }
}
