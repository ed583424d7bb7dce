//! Operations as keys of maps.

use super::data::{Op, Table};
use slvr_language::types::Elem;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What tells operations apart: with the same operands, those with equal keys are one. Entries of tables are told
/// apart by their bits, and tables are never written out: they may have millions of entries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key(Of);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Of {
    Words(Words, Vec<u64>, Elem, Option<u32>),
    Other(String),
}

#[derive(Clone, Debug)]
struct Words(Arc<[f64]>);

impl Words {
    fn bits(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|x| x.to_bits())
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Words) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.bits().eq(other.bits())
    }
}

impl Eq for Words {}

impl Hash for Words {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Of large tables a few entries: comparing two of them is as fast as reading them.
        let step = self.0.len() / SAMPLES + 1;
        self.0.len().hash(state);
        self.0.iter().step_by(step).for_each(|x| x.to_bits().hash(state));
    }
}

/// About so many entries of a table are hashed.
const SAMPLES: usize = 1 << 10;

impl Op {
    pub fn key(&self) -> Key {
        Key(match self {
            Op::Const(Table { shape, data }, elem, frac) => {
                Of::Words(Words(data.clone()), shape.clone(), *elem, *frac)
            }
            other => Of::Other(format!("{other:?}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys are equal exactly where operations are written alike, whether tables share their words or not.
    #[test]
    fn keys_tell_operations_apart() {
        let table = |data: Vec<f64>| Table { shape: vec![data.len() as u64], data: data.into() };
        let long = |last: f64| (0..5000).map(f64::from).chain([last]).collect::<Vec<_>>();
        let mut flat = table(long(0.0));
        flat.shape = vec![1, 5001];
        let shared = table(long(1.0));
        let all = [
            Op::Const(shared.clone(), Elem::Int, None),
            Op::Const(shared, Elem::Int, None),
            Op::Const(table(long(1.0)), Elem::Int, None),
            Op::Const(table(long(0.0)), Elem::Int, None),
            Op::Const(table(long(-0.0)), Elem::Int, None),
            Op::Const(table(long(0.0)), Elem::Fix, None),
            Op::Const(table(long(0.0)), Elem::Int, Some(0)),
            Op::Const(flat, Elem::Int, None),
            Op::Scale(2.0),
            Op::Scale(3.0),
            Op::Add,
            Op::Sub,
        ];
        for a in &all {
            for b in &all {
                let same = format!("{a:?}") == format!("{b:?}");
                assert_eq!(a.key() == b.key(), same, "{} and {}", a.name(), b.name());
            }
        }
    }
}
