//! The types of lookups in tables that the dealer deals.

use super::{Rule, TypeError};
use crate::limits::MAX_TABLE;
use crate::{Dom, Hold, Type};

impl Rule<'_> {
    pub(super) fn table(&self) -> Result<Type, TypeError> {
        let [x, table] = self.args[..] else { return Err(self.holders()) };
        if x.hold != Hold::Own || table.hold != Hold::Public {
            return Err(self.holders());
        }
        let entries = match table.shape[..] {
            [n] if n >= 2 && n.is_power_of_two() && n <= MAX_TABLE => n,
            _ => return Err(self.shape_error("a table is [2^n], n from 1 to 12")),
        };
        self.numbers(x, entries)?;
        match table.dom {
            Dom::Ring(_) => {
                self.shapes(x.groups > 0, "tables of words are cut between groups")?;
                let shape = [&x.shape[..], &[entries]].concat();
                Ok(Type { dom: table.dom, shape, ..x.clone() })
            }
            Dom::Bits(w) => {
                self.domains(w == 1, "an entry is a word or one bit")?;
                Ok(Type { dom: Dom::Bits(entries as u32), ..x.clone() })
            }
        }
    }

    pub(super) fn entry(&self) -> Result<Type, TypeError> {
        let [table, index] = self.args[..] else { return Err(self.holders()) };
        if table.hold != Hold::Add2 || index.hold != Hold::Dup {
            return Err(self.holders());
        }
        let (entries, shape, dom) = match (table.dom, table.shape.split_last()) {
            (Dom::Bits(w), _) => (u64::from(w), &table.shape[..], Dom::Bits(1)),
            (dom, Some((&n, shape))) => (n, shape, dom),
            _ => return Err(self.shape_error("a table of words has an axis of entries")),
        };
        let power = (2..=MAX_TABLE).contains(&entries) && entries.is_power_of_two();
        self.shapes(power, "a table has 2^n entries, n from 1 to 12")?;
        self.numbers(index, entries)?;
        // A shard of tables is that of what they are of.
        let cut = matches!(table.dom, Dom::Bits(_)) || table.groups > 0;
        let alike = index.shape == shape && index.groups == table.groups && cut;
        self.shapes(alike, "there is a table for each index, cut alike")?;
        Ok(Type { hold: Hold::Add2, dom, ..index.clone() })
    }

    /// Numbers below 2^n: words with n bits or more, or n planes.
    fn numbers(&self, x: &Type, entries: u64) -> Result<(), TypeError> {
        let n = entries.trailing_zeros();
        let fits = match x.dom {
            Dom::Ring(k) => k >= n,
            Dom::Bits(w) => w == n,
        };
        self.domains(fits, "of 2^n entries the index is words of n bits or more, or n planes")
    }
}
