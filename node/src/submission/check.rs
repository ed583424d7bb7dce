//! Looks at a part as it comes in: is it what the manifest commits to, and can a run read it?

use super::{Manifest, SALT, SubmissionError, commitment, lengths};
use crate::hex::Hash;
use slvr_circuit::{Circuit, wire_len};
use slvr_runtime::share::deal::layout;
use std::fmt;

/// The bytes of a node's part that have bits beyond the last element of an input, and those bits. The lengths of seeds
/// and vectors are all else that a part could have wrong.
fn spare_bits(circuit: &Circuit, set: usize, node: usize) -> Vec<(u64, u8)> {
    let Some(place) = (0..2).find(|k| (node + k) % 3 == 2) else { return Vec::new() };
    let before = lengths(circuit, set, node)[..place].iter().map(|l| SALT + l).sum::<usize>();
    let mut at = before + SALT;
    let mut out = Vec::new();
    for (_, dom, n) in layout(circuit, set) {
        at += wire_len(dom, n);
        let used = (n * dom.bits() as usize) % 8;
        if used != 0 {
            out.push((at as u64 - 1, !0 << used));
        }
    }
    out
}

/// Compares a part with the commitments of its manifest, as it comes in, and looks whether a run can read it. What it
/// lets pass every node can use, so a client cannot have some nodes take for good what others cannot read.
pub struct Checker {
    /// Component, its hash so far, and how many of its bytes are still to come.
    open: [(usize, blake3::Hasher, u64); 2],
    expected: u64,
    found: u64,
    want: [Hash; 3],
    /// Bits that have to be zero, from the last byte to the first.
    spare: Vec<(u64, u8)>,
    packed: bool,
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checker({} of {} bytes)", self.found, self.expected)
    }
}

impl Checker {
    /// Of a node's part of a member of a party set.
    pub fn new(circuit: &Circuit, set: usize, node: usize, manifest: &Manifest) -> Checker {
        let [a, b] = lengths(circuit, set, node).map(|l| (SALT + l) as u64);
        let (i, j) = (node % 3, (node + 1) % 3);
        let open = [(i, commitment(i), a), (j, commitment(j), b)];
        let mut spare = spare_bits(circuit, set, node);
        spare.reverse();
        let want = manifest.components;
        Checker { open, expected: a + b, found: 0, want, spare, packed: true }
    }

    /// Bytes of the whole part.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// The next bytes.
    pub fn absorb(&mut self, mut bytes: &[u8]) {
        while let Some((at, mask)) = self.spare.last().copied() {
            let Some(byte) = bytes.get((at - self.found) as usize) else { break };
            self.packed &= byte & mask == 0;
            self.spare.pop();
        }
        self.found += bytes.len() as u64;
        for (_, hash, left) in &mut self.open {
            let n = (bytes.len() as u64).min(*left) as usize;
            hash.update(&bytes[..n]);
            *left -= n as u64;
            bytes = &bytes[n..];
        }
    }

    /// Whether all that came is what was committed to.
    ///
    /// # Errors
    ///
    /// What is not.
    pub fn finish(&self) -> Result<(), SubmissionError> {
        let (expected, found) = (self.expected, self.found);
        if expected != found {
            return Err(SubmissionError::Length { expected, found });
        }
        if !self.packed {
            return Err(SubmissionError::Packing);
        }
        for (component, hash, _) in &self.open {
            // Hashes are compared without a branch for each byte.
            if hash.finalize() != self.want[*component].0 {
                return Err(SubmissionError::Commitment(*component));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{dealing, unpack};
    use super::*;
    use crate::hex::Hex;
    use slvr_circuit::{Dom, From, text};
    use slvr_ring::Data;
    use slvr_runtime::share::deal::Components;

    /// A circuit of three clients with some inputs each: words, bits, several planes of bits.
    fn circuit(draw: &mut impl FnMut(u64) -> u64) -> Circuit {
        let mut c = text::parse(
            "circuit \"T\"\nparty \"Client\" 3\nparty \"Server\" 1\n\
             input %0 \"x0\" from 0 int(0, 2) [1] : A64[3,1]\n\
             output 0 \"y\" to 1 [1] ring 64 frac 0 factor 1.0 divisor 1.0\n\
             site 0 \"s\" line 1\n\
             layer 0:\n  %1 = sum %0 axes [0] : A64[1] @0\n  %2 = as_add3 %1 : add3.A64[1] @0\n  exchange:\n  open_to %2 output 0 @0\n",
        )
        .unwrap_or_else(|e| panic!("{e:?}"));
        let (input, ty) = (c.inputs[0].clone(), c.types[0].clone());
        (c.inputs, c.types) = (Vec::new(), Vec::new());
        for k in 0..1 + draw(4) {
            let (mut input, mut ty) = (input.clone(), ty.clone());
            ty.dom = match draw(4) {
                0 => Dom::Ring(64),
                1 => Dom::Ring(16),
                _ => Dom::Bits(1 + draw(5) as u32),
            };
            ty.shape = [3, 1 + draw(70)].into_iter().collect();
            input.name = format!("x{k}");
            (input.from, input.value) = (From::Each(0), slvr_circuit::ValueId(k as u32));
            c.inputs.push(input);
            c.types.push(ty);
        }
        c
    }

    /// What is let pass every node can use in a run, and what is not, none of those that have the vector can.
    #[test]
    fn a_part_is_taken_if_and_only_if_a_run_can_read_it() {
        let (mut taken, mut refused) = (0, 0);
        for seed in 0..400u64 {
            let mut draw = crate::draws::draws(seed);
            let c = circuit(&mut draw);
            let layout = layout(&c, 0);
            let explicit: usize = layout.iter().map(|&(_, dom, n)| wire_len(dom, n)).sum();
            let mut vector: Vec<u8> = (0..explicit).map(|_| draw(256) as u8).collect();
            // A packing, and then a bit or none of it changed.
            let mut at = 0;
            for &(_, dom, n) in &layout {
                at += wire_len(dom, n);
                let used = (n * dom.bits() as usize) % 8;
                if used != 0 {
                    vector[at - 1] &= (1 << used) - 1;
                }
            }
            // Most bits are free, and those of an input's last byte are telling.
            let ends: Vec<usize> = layout
                .iter()
                .scan(0, |at, &(_, dom, n)| {
                    *at += wire_len(dom, n);
                    Some(*at - 1)
                })
                .collect();
            let byte = match draw(4) {
                0 => draw(explicit as u64) as usize,
                _ => ends[draw(ends.len() as u64) as usize],
            };
            vector[byte] ^= [0, 1 << draw(8)][draw(2) as usize];
            let seeds = [[seed as u8; 16], [7; 16]];
            let component = |i: usize| match i % 3 {
                2 => vector.clone(),
                i => seeds[i].to_vec(),
            };
            let salt = |i: usize| [i as u8 % 3; SALT];
            let commit = |i: usize| {
                let mut hash = commitment(i);
                hash.update(&salt(i)).update(&component(i));
                Hex(*hash.finalize().as_bytes())
            };
            let manifest = Manifest {
                task: "t".into(),
                round: 1,
                client: "a".into(),
                submission: Hex([0; 16]),
                circuit: Hex([0; 32]),
                opening: Hex([0; 32]),
                components: [commit(0), commit(1), commit(2)],
                signature: Hex([0; 64]),
            };
            let mut verdicts = Vec::new();
            for node in 0..3 {
                let part =
                    [node, node + 1].map(|i| [salt(i).to_vec(), component(i)].concat()).concat();
                let mut checker = Checker::new(&c, 0, node, &manifest);
                let mut rest = &part[..];
                while !rest.is_empty() {
                    let (piece, more) = rest.split_at(rest.len().min(1 + draw(60) as usize));
                    checker.absorb(piece);
                    rest = more;
                }
                let usable = || {
                    let upload = unpack(&c, 0, node, &part).ok()?;
                    let zeros = |&(j, dom, n): &_| (j, Data::zeros(dom, 3 * n));
                    let mut into: Components = [(); 2].map(|()| layout.iter().map(zeros).collect());
                    upload.expand(node, dealing("t", 1), &layout, 1, &mut into).ok()
                };
                let done = checker.finish();
                assert_eq!(done.is_ok(), usable().is_some(), "seed {seed}, node {node}: {done:?}");
                verdicts.push(done);
            }
            assert_eq!(verdicts[0], Ok(()), "seed {seed}: it has no vector");
            assert_eq!(verdicts[1], verdicts[2], "seed {seed}");
            match &verdicts[1] {
                Ok(()) => taken += 1,
                Err(e) => {
                    assert_eq!(*e, SubmissionError::Packing, "seed {seed}");
                    refused += 1;
                }
            }
        }
        assert!(taken > 50 && refused > 20, "{taken} taken, {refused} refused");
    }
}
