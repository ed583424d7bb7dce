//! Types of what is chosen from thermometer codes.

use super::{Rule, TypeError};
use crate::tables::{MAX_BLOCK, thermometer_planes};
use crate::{Dom, Hold, Type};

impl Rule<'_> {
    /// Blocks that are all of w planes.
    pub(super) fn blocks(&self, blocks: &[u32], w: u32) -> Result<(), TypeError> {
        let each = !blocks.is_empty() && blocks.iter().all(|b| (1..=MAX_BLOCK).contains(b));
        self.need(each, "a block has 1 to 8 planes")?;
        let all = blocks.iter().fold(0, |n: u32, &b| n.saturating_add(b));
        self.domains(all == w, "the blocks are all planes")
    }

    /// A table, of which the first `skip` planes are not for these blocks, and an index: the latter.
    pub(super) fn leaves(&self, blocks: &[u32], skip: u32) -> Result<&Type, TypeError> {
        let index = self.held_as(&[Hold::Add2, Hold::Dup])?;
        let (Dom::Bits(table), Dom::Bits(w)) = (self.args[0].dom, index.dom) else {
            return Err(self.domain_error("it takes bits"));
        };
        self.blocks(blocks, w)?;
        let ok = table == skip.saturating_add(thermometer_planes(blocks));
        self.domains(ok, "a table for each block of the index")?;
        Ok(index)
    }
}
