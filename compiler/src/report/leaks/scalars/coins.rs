//! How comparisons of public coins come out, and which entry they pick, draw by draw.

use super::data::{Scalar, Scalars, World};
use super::eval::{Mode, Run};
use super::form::{Form, Owner};
use super::point::Point;
use crate::graph::{Graph, Op};
use crate::types::Elem;
use std::collections::{BTreeMap, BTreeSet};

/// The numbers that follow from coins, and from public numbers, alone.
pub(in super::super) struct Coins<'a> {
    graph: &'a Graph,
    scalars: &'a Scalars,
    /// What is computed to find them, operands first; with each, whether it is a bit, or an index, that coins decide.
    needed: Vec<(usize, bool)>,
}

impl Coins<'_> {
    pub(in super::super) fn of<'a>(graph: &'a Graph, scalars: &'a Scalars) -> Coins<'a> {
        let mut public = vec![false; scalars.all.len()];
        let mut drawn = vec![false; scalars.all.len()];
        for (i, s) in scalars.all.iter().enumerate() {
            let mut of = s.operands.iter().flatten().map(|&o| o as usize);
            let coin = matches!(graph.op(s.node), Op::Draw(_));
            let followed = !s.opaque && !matches!(graph.op(s.node), Op::Noise { .. });
            public[i] =
                coin || followed && s.owner == Owner::Nobody && of.clone().all(|o| public[o]);
            drawn[i] = public[i] && (coin || of.any(|o| drawn[o]));
        }
        let bit = |i: usize| graph.ty(scalars.all[i].node).elem == Elem::Bit;
        let index = |s: &Scalar| {
            let picks = !s.opaque && matches!(graph.op(s.node), Op::Gather { .. });
            if picks { s.operands[1].clone() } else { Vec::new() }
        };
        let picking: BTreeSet<usize> =
            scalars.all.iter().flat_map(index).map(|i| i as usize).collect();
        let mut wanted: BTreeSet<usize> =
            (0..drawn.len()).filter(|&i| drawn[i] && (bit(i) || picking.contains(&i))).collect();
        let decided = wanted.clone();
        for i in (0..drawn.len()).rev() {
            if wanted.contains(&i) {
                wanted.extend(scalars.all[i].operands.iter().flatten().map(|&o| o as usize));
            }
        }
        let needed = wanted.into_iter().map(|i| (i, decided.contains(&i))).collect();
        Coins { graph, scalars, needed }
    }

    /// Of each bit or index that coins decide, what it is.
    pub(in super::super) fn fall(&self, point: &Point) -> Vec<(usize, i64)> {
        let (world, known) = (World::new(), (0..self.graph.parties.len() as u32).collect());
        let mut run = Run::new(self.graph, &known, point, (Mode::Local, &world));
        let mut forms: BTreeMap<usize, Form> = BTreeMap::new();
        let mut out = Vec::new();
        for &(i, decided) in &self.needed {
            let scalar = &self.scalars.all[i];
            let list = |l: &Vec<u32>| l.iter().map(|&o| &forms[&(o as usize)]).collect();
            let of: Vec<Vec<&Form>> = scalar.operands.iter().map(list).collect();
            let form = run.scalar(scalar, &of);
            if decided {
                out.push((i, form.value as i64));
            }
            forms.insert(i, form);
        }
        out
    }
}
