//! What is erased of rounds that ended long ago: who submitted what, public inputs, lists of the record, and files. That there
//! was such a round, and how it ended, stays, so that its number is never used again.

use super::{PUBLIC, ROUNDS, SUBMISSIONS, Store, StoreError, place, put, refused, submissions};
use crate::state::Round;

impl Store {
    /// Erases what is left of a round that has ended, except for what it was and how it ended.
    pub fn forget(&self, round: &Round) -> Result<(), StoreError> {
        let key = &round.spec.key;
        self.erase_parts(key)?;
        self.erase_outcome(key)?;
        let _gate = self.changes();
        self.write(|write| {
            let mut table = write.open_table(SUBMISSIONS).map_err(refused)?;
            for client in submissions(&table, key, |client, _| Ok(client.to_string()))? {
                table.remove((key.task.as_str(), key.round, &*client)).map_err(refused)?;
            }
            write.open_table(PUBLIC).map_err(refused)?.remove(place(key)).map_err(refused)?;
            put(write, ROUNDS, place(key), &round.forgotten())
        })
    }
}
