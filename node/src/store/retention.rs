//! What is erased of rounds that ended long ago: who submitted what, public inputs, lists of the record, and files. That there
//! was such a round, and how it ended, stays, so that its number is never used again.

use super::{PUBLIC, ROUNDS, SUBMISSIONS, Store, StoreError, refused, writing};
use crate::state::Round;
use redb::ReadableTable;

impl Store {
    /// Erases what is left of a round that has ended, except for what it was and how it ended.
    pub fn forget(&self, round: &Round) -> Result<(), StoreError> {
        let key = &round.spec.key;
        self.erase_parts(key)?;
        self.erase_result(key)?;
        self.erase_reveals(key)?;
        self.erase_state(key)?;
        let text = serde_json::to_vec(&round.forgotten())
            .map_err(|e| StoreError::Damaged(e.to_string()))?;
        let _gate = self.changes();
        self.with(|db| {
            let (task, number) = (key.task.as_str(), key.round);
            let write = writing(db)?;
            {
                let mut table = write.open_table(SUBMISSIONS).map_err(refused)?;
                let of = |t: &str, r: u64| (t, r) == (task, number);
                let mut names = Vec::new();
                for row in table.range((task, number, "")..).map_err(refused)? {
                    let (at, _) = row.map_err(refused)?;
                    let (t, r, client) = at.value();
                    if !of(t, r) {
                        break;
                    }
                    names.push(client.to_string());
                }
                for client in names {
                    table.remove((task, number, client.as_str())).map_err(refused)?;
                }
            }
            write.open_table(PUBLIC).map_err(refused)?.remove((task, number)).map_err(refused)?;
            let mut rounds = write.open_table(ROUNDS).map_err(refused)?;
            rounds.insert((task, number), &*text).map_err(refused)?;
            drop(rounds);
            write.commit().map_err(refused)
        })
    }
}
