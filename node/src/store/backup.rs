//! A copy of everything that a node keeps, made while it runs.
//!
//! What is on disk at any moment is what a crash would leave at that moment, and a node starts from that. So a copy is made
//! of one moment: nothing is changed while files are named and the database is asked for how it stands. Parts of
//! submissions get a second name, since nothing is written to such a file again: a mended part is another one. What is overwritten when it is erased is
//! copied. The rows of the database are copied afterwards, as they stood then.
//!
//! The copy is in the folder `backup` beside the database, and stays until it is taken away. Whoever copies it has sealed
//! files and a database, and needs the storage key to use them.

use super::opening::{at, extension, private};
use super::{DATABASE, META, PUBLIC, ROLLS, ROUNDS, SUBMISSIONS, Store, StoreError, refused};
use crate::locks::write_lock;
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition};
use std::fs;
use std::path::{Path, PathBuf};

const BACKUP: &str = "backup";

/// Bytes that the copy's database keeps in memory while it is written.
const CACHE: usize = 16 << 20;

impl Store {
    fn copy(&self) -> PathBuf {
        self.folder.join(BACKUP)
    }

    /// Makes a copy of everything at this moment, in place of the one before; where it is.
    ///
    /// # Errors
    ///
    /// Another one is being made; whatever the system or the database says.
    pub fn backup(&self) -> Result<PathBuf, StoreError> {
        let _one = self.copying.try_lock().map_err(|_| StoreError::Copying)?;
        self.remove_copy()?;
        let (copy, begun) = (self.copy(), self.folder.join("backup.new"));
        private(&begun)?;
        let read = {
            let _still = write_lock(&self.gate);
            self.name(&begun)?;
            self.with(|db| db.begin_read().map_err(refused))?
        };
        let path = begun.join(DATABASE);
        let db = Database::builder().set_cache_size(CACHE).create(&path).map_err(refused)?;
        rows(&read, &db)?;
        drop(db);
        fs::rename(&begun, &copy).map_err(at(&copy))?;
        crate::vault::sync_folder(&copy).map_err(at(&copy))?;
        Ok(copy)
    }

    /// Gives the files of this moment a second name, or copies them.
    fn name(&self, to: &Path) -> Result<(), StoreError> {
        let id = self.folder.join("store.id");
        fs::copy(&id, to.join("store.id")).map_err(at(&id))?;
        private(&to.join("rounds"))?;
        for (task, number, folder) in self.folders() {
            // One that is being opened does not count yet.
            if number.parse::<u64>().is_err() {
                continue;
            }
            let there = to.join("rounds").join(task).join(number);
            private(&there)?;
            for file in folder.read_dir().map_err(at(&folder))?.flatten().map(|f| f.path()) {
                let named = there.join(file.file_name().unwrap_or_default());
                let done = match extension(&file) {
                    // An upload that goes on: the client sends it again.
                    "new" | "old" => continue,
                    "part" => {
                        fs::hard_link(&file, &named).or_else(|_| fs::copy(&file, &named).map(drop))
                    }
                    _ => fs::copy(&file, &named).map(drop),
                };
                done.map_err(at(&file))?;
            }
        }
        Ok(())
    }

    /// Takes the copy away, if there is one, and with it the keys of rounds in it.
    ///
    /// # Errors
    ///
    /// Another one is being made; whatever the system says.
    pub fn forget_backup(&self) -> Result<(), StoreError> {
        let _one = self.copying.try_lock().map_err(|_| StoreError::Copying)?;
        self.remove_copy()
    }

    pub(super) fn remove_copy(&self) -> Result<(), StoreError> {
        for folder in [self.copy(), self.folder.join("backup.new")] {
            for task in folder.join("rounds").read_dir().into_iter().flatten().flatten() {
                for round in task.path().read_dir().into_iter().flatten().flatten() {
                    let key = round.path().join("key");
                    crate::vault::erase(&key).map_err(at(&key))?;
                }
            }
            if folder.exists() {
                fs::remove_dir_all(&folder).map_err(at(&folder))?;
            }
        }
        Ok(())
    }
}

fn rows(from: &ReadTransaction, to: &Database) -> Result<(), StoreError> {
    fn table<K: redb::Key + 'static, V: redb::Value + 'static>(
        from: &ReadTransaction,
        to: &redb::WriteTransaction,
        name: TableDefinition<'_, K, V>,
    ) -> Result<(), StoreError> {
        let rows = from.open_table(name).map_err(refused)?;
        let mut copy = to.open_table(name).map_err(refused)?;
        for row in rows.iter().map_err(refused)? {
            let (key, value) = row.map_err(refused)?;
            copy.insert(key.value(), value.value()).map_err(refused)?;
        }
        Ok(())
    }
    let write = super::writing(to)?;
    table(from, &write, META)?;
    table(from, &write, ROUNDS)?;
    table(from, &write, PUBLIC)?;
    table(from, &write, SUBMISSIONS)?;
    table(from, &write, ROLLS)?;
    // One that was added to the database and not here would be lost without a word.
    let (all, copied) =
        (from.list_tables().map_err(refused)?, write.list_tables().map_err(refused)?);
    if all.count() != copied.count() {
        return Err(StoreError::Damaged("the backup: a table is missing and it".into()));
    }
    write.commit().map_err(refused)
}
