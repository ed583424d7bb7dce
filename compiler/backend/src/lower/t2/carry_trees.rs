//! Of which tables and gates the carry of consecutive bits is made: for each number of levels those of fewest bits,
//! among all trees of these nodes.
//!
//! | node | what it is | bits of the dealer | bits of each other |
//! |---|---|---|---|
//! | [`Node::Leaf`] of b bits | entries of a table | 2^b - 1 | 0 |
//! | [`Node::Joined`] | nodes that one gate joins | its products of masks | its factors |
//! | [`Node::Over`] of b bits | a node, and a table for the b bits below it | 2 (2^b - 1) | 1 |
//!
//! Where it is also asked whether all bits are zero ([`Role::Tested`]), a gate is followed by a product of as many bits,
//! and what is over a table opens one bit more and has it multiplied by the table.

use super::gates::{Bits, total};
use slvr_circuit::multi_and::{MAX_FAN, MultiAnd};
use slvr_circuit::tables::{MAX_BLOCK, thermometer_planes};
use std::sync::OnceLock;

/// A tree that says of some consecutive bits whether they generate and propagate a carry.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Leaf(u32),
    /// Lowest first.
    Joined(Vec<Node>),
    Over(Box<Node>, u32),
}

/// What is asked of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// Whether it generates a carry: there is nothing below.
    Lowest,
    /// Whether it propagates one, too.
    Above,
    /// Whether all its bits are zero, too.
    Tested,
}

impl Role {
    const ALL: [Role; 3] = [Role::Lowest, Role::Above, Role::Tested];

    /// Of the nodes above the lowest one of a node.
    fn of_upper(self) -> Role {
        if self == Role::Lowest { Role::Above } else { self }
    }

    /// Bits of a gate of this many nodes.
    fn gate(self, nodes: u32) -> Bits {
        let of = |gates: MultiAnd| (gates.mask_products().into(), gates.inputs().into());
        let zero: Bits = of(MultiAnd::And(vec![nodes]));
        let (dealt, opened): Bits = match self {
            Role::Lowest => return of(MultiAnd::Carry(vec![nodes])),
            // The lowest node of all is one below.
            _ => of(MultiAnd::Carry(vec![1, nodes])),
        };
        if self == Role::Above { (dealt, opened) } else { (dealt + zero.0, opened + zero.1) }
    }

    /// Bits of a node over a table of this many bits, without those of the node.
    fn over(self, bits: u32) -> Bits {
        let table = u64::from(thermometer_planes(&[bits]));
        if self == Role::Tested { (3 * table, 2) } else { (2 * table, 1) }
    }
}

/// Bits of a leaf.
fn leaf(bits: u32) -> Bits {
    (thermometer_planes(&[bits]).into(), 0)
}

impl Node {
    /// Bits that it is about.
    pub fn width(&self) -> u32 {
        match self {
            Node::Leaf(bits) => *bits,
            Node::Joined(nodes) => nodes.iter().map(Node::width).sum(),
            Node::Over(node, bits) => node.width() + bits,
        }
    }

    /// Levels until it is known.
    pub fn levels(&self) -> u32 {
        match self {
            Node::Leaf(_) => 0,
            Node::Joined(nodes) => 1 + nodes.iter().map(Node::levels).max().unwrap_or(0),
            Node::Over(node, _) => 1 + node.levels(),
        }
    }

    /// Bits of the tables that hold nothing but the dealer's number.
    pub fn tables(&self) -> u64 {
        match self {
            Node::Leaf(bits) => leaf(*bits).0,
            Node::Joined(nodes) => nodes.iter().map(Node::tables).sum(),
            Node::Over(node, bits) => leaf(*bits).0 + node.tables(),
        }
    }

    /// Bits from the dealer, and bits that the two send each other, in this role.
    pub fn bits(&self, role: Role) -> Bits {
        let sum = |(a, b): Bits, (c, d): Bits| (a + c, b + d);
        match self {
            Node::Leaf(bits) => leaf(*bits),
            Node::Joined(nodes) => sum(role.gate(nodes.len() as u32), bits_of(role, nodes)),
            Node::Over(node, bits) => sum(role.over(*bits), node.bits(role)),
        }
    }
}

/// What some nodes take, of which the first is in this role.
pub fn bits_of(role: Role, nodes: &[Node]) -> Bits {
    let roles = std::iter::once(role).chain(std::iter::repeat(role.of_upper()));
    let each = nodes.iter().zip(roles).map(|(node, role)| node.bits(role));
    each.fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
}

/// How a node is made that takes fewest bits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    Leaf,
    /// Of so many nodes.
    Joined(u32),
    /// Over a table of so many bits.
    Over(u32),
    /// With a level less.
    Shallower,
}

/// Bits of all three where there is no such node: far more than any has.
const NONE: u64 = 1 << 40;

/// Nodes of every width: the bits of all, and the width of the topmost one.
#[derive(Clone, Debug)]
struct Row {
    bits: Vec<u64>,
    top: Vec<u32>,
}

/// The best nodes with at most so many levels.
#[derive(Clone, Debug)]
struct Depth {
    /// By role, and by width.
    made: [Vec<Made>; 3],
    /// By role, and by how many nodes less 1.
    rows: [Vec<Row>; 3],
}

impl Depth {
    fn total(&self, role: Role, width: u32, nodes: u32) -> Option<u64> {
        let row = self.rows[role as usize].get(nodes as usize - 1)?;
        row.bits.get(width as usize).copied().filter(|&bits| bits < NONE)
    }
}

/// The cheapest nodes of every width up to a largest one.
#[derive(Clone, Debug)]
pub struct Trees {
    /// By levels. One more would change nothing.
    depths: Vec<Depth>,
}

impl Trees {
    /// Of at least this width.
    pub fn of(width: u32) -> &'static Trees {
        static SMALL: OnceLock<Trees> = OnceLock::new();
        static LARGE: OnceLock<Trees> = OnceLock::new();
        if width < 64 {
            SMALL.get_or_init(|| Trees::up_to(63))
        } else {
            LARGE.get_or_init(|| Trees::up_to(127))
        }
    }

    fn up_to(width: u32) -> Trees {
        let single = |n: u32| if (1..=MAX_BLOCK).contains(&n) { total(leaf(n)) } else { NONE };
        let leaves: Vec<u64> = (0..=width).map(single).collect();
        let mut next = Role::ALL.map(|_| (leaves.clone(), vec![Made::Leaf; leaves.len()]));
        let mut depths: Vec<Depth> = Vec::new();
        loop {
            let made = next.each_ref().map(|(_, made)| made.clone());
            depths.push(Depth { made, rows: rows(next.map(|(best, _)| best)) });
            let last = &depths[depths.len() - 1];
            next = Role::ALL.map(|role| deeper(last, role));
            if next.iter().all(|(_, made)| made.iter().all(|m| *m == Made::Shallower)) {
                return Trees { depths };
            }
        }
    }

    /// Numbers of levels, from none to the most that save anything.
    pub fn levels(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.depths.len() as u32
    }

    /// The least time, and with at most how many levels it is taken.
    pub fn fastest(&self, time: impl Fn(u32) -> Option<f64>) -> Option<(f64, u32)> {
        let ways = self.levels().filter_map(|most| Some((time(most)?, most)));
        ways.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The bits of all three for so many nodes of a width together, with at most so many levels.
    pub fn total(&self, role: Role, width: u32, nodes: u32, most: u32) -> Option<u64> {
        self.depths.get(most as usize)?.total(role, width, nodes)
    }

    /// These nodes, lowest first. Panics where there are none.
    pub fn nodes(&self, role: Role, width: u32, nodes: u32, most: u32) -> Vec<Node> {
        let mut below = width;
        let mut out: Vec<Node> = (2..=nodes)
            .rev()
            .map(|n| {
                let rows = &self.depths[most as usize].rows[role as usize];
                let top = rows[n as usize - 1].top[below as usize];
                below -= top;
                self.node(role.of_upper(), top, most)
            })
            .collect();
        out.push(self.node(role, below, most));
        out.reverse();
        out
    }

    /// One node. Panics where there is none.
    pub fn node(&self, role: Role, width: u32, most: u32) -> Node {
        match self.depths[most as usize].made[role as usize][width as usize] {
            Made::Leaf => Node::Leaf(width),
            Made::Joined(n) => Node::Joined(self.nodes(role, width, n, most - 1)),
            Made::Over(bits) => Node::Over(Box::new(self.node(role, width - bits, most - 1)), bits),
            Made::Shallower => self.node(role, width, most - 1),
        }
    }
}

/// Of the bits of the best nodes of each width the best rows.
fn rows(best: [Vec<u64>; 3]) -> [Vec<Row>; 3] {
    let of = |role: Role| {
        let (lowest, upper) = (&best[role as usize], &best[role.of_upper() as usize]);
        let one = Row { bits: lowest.clone(), top: (0..lowest.len() as u32).collect() };
        let next = |less: &Row| {
            let each = (0..less.bits.len()).map(|n| {
                let below = less.bits[..n].iter().skip(1).rev();
                // Of equals the one with the narrowest top.
                let ways = upper[..n].iter().skip(1).zip(below).zip(1u64..);
                let best = ways.map(|((top, below), width)| (top + below) << 8 | width).min();
                let best = best.unwrap_or(NONE << 8);
                ((best >> 8).min(NONE), (best & 0xff) as u32)
            });
            let (bits, top) = each.unzip();
            Row { bits, top }
        };
        let all = std::iter::successors(Some(one), |less| Some(next(less)));
        all.take(MAX_FAN as usize).collect()
    };
    Role::ALL.map(of)
}

/// The best nodes with a level more, and how they are made.
fn deeper(last: &Depth, role: Role) -> (Vec<u64>, Vec<Made>) {
    let widths = 0..last.made[role as usize].len() as u32;
    let gates: Vec<u64> =
        (0..=MAX_FAN).map(|n| if n < 2 { 0 } else { total(role.gate(n)) }).collect();
    let each = widths.map(|n| {
        let joined = (2..=MAX_FAN.min(n))
            .filter_map(|s| Some((last.total(role, n, s)? + gates[s as usize], Made::Joined(s))));
        // What is lowest propagates nothing.
        let most = if role == Role::Lowest { 0 } else { MAX_BLOCK.min(n.saturating_sub(1)) };
        let over = (1..=most).filter_map(|b| {
            Some((last.total(role, n - b, 1)? + total(role.over(b)), Made::Over(b)))
        });
        let known = last.total(role, n, 1);
        let best = joined.chain(over).min_by_key(|way| way.0);
        match best.filter(|way| known.is_none_or(|known| way.0 < known)) {
            Some((bits, made)) => (bits, made),
            None => (known.unwrap_or(NONE), Made::Shallower),
        }
    });
    each.unzip()
}
