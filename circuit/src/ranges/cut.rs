//! The cheapest cut between two ends of a network (Dinic 1970).

/// More than all values of a circuit take: an edge that no cut has.
pub(super) const NEVER: u64 = u64::MAX / 4;

/// A network with capacities.
pub(super) struct Network {
    /// Of each vertex its edges, by number. Edge n ^ 1 goes back.
    edges: Vec<Vec<usize>>,
    to: Vec<usize>,
    left: Vec<u64>,
}

impl Network {
    pub(super) fn new(vertices: usize) -> Self {
        Network { edges: vec![Vec::new(); vertices], to: Vec::new(), left: Vec::new() }
    }

    pub(super) fn edge(&mut self, from: usize, to: usize, capacity: u64) {
        for (at, to, left) in [(from, to, capacity.min(NEVER)), (to, from, 0)] {
            self.edges[at].push(self.to.len());
            self.to.push(to);
            self.left.push(left);
        }
    }

    /// Which vertices are on the side of `from` in the cheapest cut that is nearest to it.
    pub(super) fn cut(mut self, from: usize, to: usize) -> Vec<bool> {
        loop {
            let level = self.levels(from);
            if level[to].is_none() {
                return level.iter().map(Option::is_some).collect();
            }
            let mut next = vec![0; self.edges.len()];
            while self.push(from, to, &level, &mut next) {}
        }
    }

    /// How many edges each vertex is away.
    fn levels(&self, from: usize) -> Vec<Option<u32>> {
        let mut level = vec![None; self.edges.len()];
        let mut queue = std::collections::VecDeque::from([from]);
        level[from] = Some(0);
        while let Some(v) = queue.pop_front() {
            for &e in self.edges[v].iter().filter(|&&e| self.left[e] > 0) {
                if level[self.to[e]].is_none() {
                    level[self.to[e]] = level[v].map(|l| l + 1);
                    queue.push_back(self.to[e]);
                }
            }
        }
        level
    }

    /// Sends what one shortest way has room for; whether there is one.
    fn push(&mut self, from: usize, to: usize, level: &[Option<u32>], next: &mut [usize]) -> bool {
        let mut way: Vec<usize> = Vec::new();
        let mut at = from;
        while at != to {
            let edge = self.edges[at].get(next[at]).copied();
            match (edge, way.last().copied()) {
                (Some(e), _) => {
                    let further = level[self.to[e]] == level[at].map(|l| l + 1);
                    if self.left[e] > 0 && further {
                        way.push(e);
                        at = self.to[e];
                    } else {
                        next[at] += 1;
                    }
                }
                (None, Some(back)) => {
                    way.pop();
                    at = self.to[back ^ 1];
                    next[at] += 1;
                }
                (None, None) => return false,
            }
        }
        let room = way.iter().map(|&e| self.left[e]).min().unwrap_or(0);
        for e in way {
            self.left[e] -= room;
            self.left[e ^ 1] = self.left[e ^ 1].saturating_add(room);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_cut_is_found() {
        // 0 -> 1 -> 3 and 0 -> 2 -> 3, with a way from 1 to 2.
        let mut n = Network::new(5);
        for (from, to, capacity) in [(0, 1, NEVER), (0, 2, 4), (1, 2, 3), (1, 3, 5), (2, 3, 9)] {
            n.edge(from, to, capacity);
        }
        n.edge(3, 4, NEVER);
        assert_eq!(n.cut(0, 4), [true, true, false, false, false]);
        // Nothing flows to where no edge leads.
        let mut n = Network::new(3);
        n.edge(0, 1, 7);
        assert_eq!(n.cut(0, 2), [true, true, false]);
    }
}
