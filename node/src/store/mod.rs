//! What survives a crash.
//!
//! | what | where | secret |
//! |---|---|---|
//! | where rounds stand | the database, table `rounds` | no |
//! | who has submitted what: manifests | the database, table `submissions` | no |
//! | public inputs of rounds | the database, table `public` | no |
//! | who was enrolled when rounds were opened | the database, table `rolls`, by hash | no |
//! | the key of a round | `rounds/TASK/ROUND/key`, sealed under the storage key | yes |
//! | parts of submissions | `rounds/TASK/ROUND/CLIENT.part`, sealed under the round's key | yes |
//! | a node's words of the result | `rounds/TASK/ROUND/result`, sealed under the storage key | yes |
//! | what a round reveals to a member, this node's word of it | `rounds/TASK/ROUND/CLIENT.reveal`, sealed under the storage key | yes |
//! | a node's shares of the state that a round leaves | `rounds/TASK/ROUND/state`, sealed under the storage key | yes |
//! | that a round has ended and its parts were erased | `rounds/TASK/ROUND/ended` | no |
//! | which database belongs here | `store.id` | no |
//!
//! | file | does |
//! |---|---|
//! | `opening` | looks at everything before it is used |
//! | `outcome` | what an attempt leaves: words of the result, of reveals to members, shares of a state |
//! | `parts` | parts of submissions: begins, ends, reads, mends and erases them |
//! | `retention` | what is erased of rounds that ended long ago |
//! | `backup` | a copy of everything, made while the node runs |
//!
//! A submission counts once its record is in the database, which is written last: the part's bytes and name are on
//! disk by then. A part without a record is what a crash left of an upload, and is removed at the next start. Of an upload that was not
//! whole the pieces stay, and it goes on from there.
//!
//! **Why redb.** It is one crate of Rust, and commits are durable when they return.
//! What is stored in it is small, since vectors are files. So the cost of a commit is that of the system's `fsync`, for
//! every store alike.
//!
//! **A disk that was full.** After an error of the system redb refuses everything until it is opened again, since it
//! cannot know what is on disk. So the database is then closed, opened again with its own recovery, and asked once more.
//! What a node keeps in memory changes only after a commit, and whatever is written again replaces what was.

use crate::config::{Enrolled, Roll};
use crate::hex::{Hash, hex};
use crate::locks::{read_lock, write_lock};
use crate::state::{Entry, Round, RoundKey, StepError};
use crate::submission::{Manifest, Public};
use crate::vault::{self, Key, Label, Sealed};
use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, RwLock, RwLockReadGuard};
use thiserror::Error;

mod backup;
mod opening;
mod outcome;
mod parts;
mod retention;

use opening::at;
pub use outcome::Left;

/// The file of the database.
const DATABASE: &str = "node.redb";

const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");
const ROUNDS: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("rounds");
const PUBLIC: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("public");
const ROLLS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("rolls");
const SUBMISSIONS: TableDefinition<'_, (&str, u64, &str), &[u8]> =
    TableDefinition::new("submissions");

/// The version of what is on disk. A node refuses another one.
const VERSION: &str = "3";

/// The store cannot do what it is asked for.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("{}: {why}", path.display())]
    Io { path: PathBuf, why: io::Error },
    #[error("the database: {0}")]
    Database(#[source] Box<redb::Error>),
    /// What is there is not what was written.
    #[error("{0} is damaged")]
    Damaged(String),
    /// The database is not the one that has kept what is beside it.
    #[error(
        "{}: the database is {what}, and this node has kept rounds in this folder: put it back as it was when the node stopped. If it is lost, abort the rounds under way at the other nodes, move the whole folder away, and open rounds with numbers that were never used (see the guide on operations)",
        path.display()
    )]
    Gone { path: PathBuf, what: &'static str },
    #[error(
        "{}: the database is damaged ({why}): put it back as it was when the node stopped, and not an older one (see the guide on operations)",
        path.display()
    )]
    Broken { path: PathBuf, why: String },
    /// The database does not know a round of which there are files.
    #[error(
        "{}: there are files of this round, and the database does not know it: the database is older than they are. Put back the one that the node had when it stopped (see the guide on operations)",
        path.display()
    )]
    Forgotten { path: PathBuf },
    /// The database does not know that a round has ended.
    #[error(
        "{}: the parts of this round were erased when it ended, and the database does not know of its end: the database is older. Put back the one that the node had when it stopped (see the guide on operations)",
        path.display()
    )]
    Older { path: PathBuf },
    /// The storage key is another one.
    #[error(
        "storage_key: this is not the key under which the data was sealed: its fingerprint is {found}, and that of the data {wanted}. Put back the right key"
    )]
    Key { found: String, wanted: String },
    /// A client's part cannot be read.
    #[error(
        "the part of client {client} is damaged: it is mended once the client submits the same again"
    )]
    Part { client: String },
    #[error(
        "the data is of version {0}, this program keeps version {VERSION}: see the guide on upgrades"
    )]
    Version(String),
    /// A copy of everything is being made or taken away.
    #[error("a backup is being made: ask again")]
    Copying,
    /// A client's earlier submission of the round has other bytes.
    #[error("the client has submitted something else to this round")]
    Conflict,
}

impl StoreError {
    /// Whether the database refuses because of an earlier error.
    fn is_stale(&self) -> bool {
        matches!(self, StoreError::Database(e) if matches!(**e, redb::Error::PreviousIo))
    }

    /// Whether there is no room left.
    pub fn is_full(&self) -> bool {
        let full = |e: &io::Error| {
            matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        };
        match self {
            StoreError::Io { why, .. } => full(why),
            StoreError::Database(e) => matches!(&**e, redb::Error::Io(e) if full(e)),
            _ => false,
        }
    }
}

impl From<StoreError> for StepError {
    fn from(e: StoreError) -> StepError {
        StepError::Store { full: e.is_full(), why: e.to_string() }
    }
}

/// A transaction that is on disk before the database points to it. With one wait for the disk less, redb would take the
/// commit before the last one if the last were damaged: what was acknowledged would be forgotten, and nobody told.
fn writing(db: &Database) -> Result<WriteTransaction, StoreError> {
    let mut write = db.begin_write().map_err(refused)?;
    write.set_two_phase_commit(true);
    Ok(write)
}

fn refused<E: Into<redb::Error>>(e: E) -> StoreError {
    StoreError::Database(Box::new(e.into()))
}

/// A row as it was written.
fn parsed<T: DeserializeOwned>(text: &[u8], what: fmt::Arguments<'_>) -> Result<T, StoreError> {
    serde_json::from_slice(text).map_err(|_| StoreError::Damaged(what.to_string()))
}

/// Writes a row, or writes it anew.
fn put<'k, K: redb::Key + 'static>(
    write: &WriteTransaction,
    table: TableDefinition<'_, K, &'static [u8]>,
    key: impl Borrow<K::SelfType<'k>>,
    row: &impl Serialize,
) -> Result<(), StoreError> {
    let text = serde_json::to_vec(row).map_err(|e| StoreError::Damaged(e.to_string()))?;
    let mut table = write.open_table(table).map_err(refused)?;
    table.insert(key, &*text).map(drop).map_err(refused)
}

/// The key of a round's rows.
fn place(key: &RoundKey) -> (&str, u64) {
    (&key.task, key.round)
}

/// What `one` makes of each submission to a round, by client.
fn submissions<T>(
    table: &impl ReadableTable<(&'static str, u64, &'static str), &'static [u8]>,
    key: &RoundKey,
    one: impl Fn(&str, &[u8]) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let (task, round) = place(key);
    let mut out = Vec::new();
    for row in table.range((task, round, "")..).map_err(refused)? {
        let (at, text) = row.map_err(refused)?;
        let (t, r, client) = at.value();
        if (t, r) != (task, round) {
            break;
        }
        out.push(one(client, text.value())?);
    }
    Ok(out)
}

/// A complete submission.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// What the client signed.
    pub manifest: Manifest,
    /// When it was acknowledged, by this node's clock.
    pub at: u64,
    /// The party set of which it is, if it is not that of the clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
}

impl Record {
    /// As nodes compare it.
    pub fn entry(&self) -> Entry {
        let m = &self.manifest;
        Entry {
            client: m.client.clone(),
            submission: m.submission,
            digest: m.digest(),
            set: self.set.clone(),
        }
    }
}

/// Opens the file of the database.
type Opens = dyn Fn(&Path) -> Result<Database, DatabaseError> + Send + Sync;

/// The store of a node.
pub struct Store {
    folder: PathBuf,
    storage: Key,
    /// Nothing while it cannot be opened again.
    db: RwLock<Option<Database>>,
    opens: Box<Opens>,
    keys: Mutex<BTreeMap<RoundKey, Key>>,
    /// Held by whatever changes something on disk, so that a backup is of one moment.
    gate: RwLock<()>,
    /// Held by whoever makes a backup.
    copying: Mutex<()>,
    /// Held by whoever reads or erases what an attempt has left.
    outcomes: RwLock<()>,
    /// Parts that were found to be damaged.
    damaged: Mutex<BTreeSet<(RoundKey, String)>>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.folder.display())
    }
}

impl Store {
    /// Asks the database. If it refuses because of an earlier error, it is opened again and asked once more.
    fn with<T>(&self, act: impl Fn(&Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let ask = |held: &Option<Database>| match held {
            Some(db) => Some(act(db)).filter(|done| !matches!(done, Err(e) if e.is_stale())),
            None => None,
        };
        if let Some(done) = ask(&read_lock(&self.db)) {
            return done;
        }
        let mut held = write_lock(&self.db);
        // Another thread may have opened it in the meantime.
        if let Some(done) = ask(&held) {
            return done;
        }
        // The old one holds the lock of the file.
        *held = None;
        let fresh = (self.opens)(&self.folder.join(DATABASE)).map_err(refused)?;
        tracing::warn!("the database was opened again after an error");
        act(held.insert(fresh))
    }

    fn folder(&self, key: &RoundKey) -> PathBuf {
        self.folder.join("rounds").join(&key.task).join(key.round.to_string())
    }

    /// Under the storage key.
    fn sealed<'a>(&'a self, label: &'a Label) -> Sealed<'a> {
        (&self.storage, label)
    }

    /// Held while something on disk is changed. Whoever holds it asks for it no second time.
    fn changes(&self) -> RwLockReadGuard<'_, ()> {
        read_lock(&self.gate)
    }

    /// Changes tables, durably. Whoever asks holds [`Store::changes`].
    fn write(
        &self,
        act: impl Fn(&WriteTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.with(|db| {
            let write = writing(db)?;
            act(&write)?;
            write.commit().map_err(refused)
        })
    }

    /// The record of a key, if there is one.
    fn record<'k, K: redb::Key + 'static, T: DeserializeOwned>(
        &self,
        table: TableDefinition<'_, K, &'static [u8]>,
        key: impl Borrow<K::SelfType<'k>>,
        what: fmt::Arguments<'_>,
    ) -> Result<Option<T>, StoreError> {
        self.with(|db| {
            let read = db.begin_read().map_err(refused)?;
            let table = read.open_table(table).map_err(refused)?;
            let found = table.get(key.borrow()).map_err(refused)?;
            found.map(|text| parsed(text.value(), what)).transpose()
        })
    }

    /// Makes where a round stands durable.
    pub fn put_round(&self, round: &Round) -> Result<(), StoreError> {
        let _gate = self.changes();
        self.write(|write| put(write, ROUNDS, place(&round.spec.key), round))
    }

    /// A new round with its public inputs, and a key for its submissions.
    pub fn open_round(&self, round: &Round, public: &Public) -> Result<(), StoreError> {
        let key = &round.spec.key;
        let _gate = self.changes();
        // A folder has its name only with a key in it: one that is empty is of a round that has ended.
        let folder = self.folder(key);
        let begun = match folder.exists() {
            true => folder.clone(),
            false => folder.with_extension("new"),
        };
        std::fs::create_dir_all(&begun).map_err(at(&begun))?;
        let path = begun.join("key");
        let own = Key::random().map_err(at(&path))?;
        let label = Label::new(key, "key");
        vault::write(&path, self.sealed(&label), own.expose()).map_err(at(&path))?;
        if begun != folder {
            std::fs::rename(&begun, &folder).map_err(at(&folder))?;
        }
        for above in folder.ancestors().take(3) {
            vault::sync_folder(above).map_err(at(above))?;
        }
        self.write(|write| {
            put(write, ROUNDS, place(key), round)?;
            put(write, PUBLIC, place(key), public)
        })
    }

    /// Keeps who is enrolled, for the rounds that are opened with it.
    pub fn put_roll(&self, roll: &Roll) -> Result<(), StoreError> {
        let hash = roll.hash();
        if self.roll(&hash)?.is_some() {
            return Ok(());
        }
        let bare = |c: &Enrolled| Enrolled { tokens: None, certificate: None, ..c.clone() };
        let all: Vec<Enrolled> = roll.clients.values().map(bare).collect();
        let _gate = self.changes();
        self.write(|write| put(write, ROLLS, &*hash.to_string(), &all))
    }

    /// Who was enrolled when rounds of that hash were opened.
    ///
    /// # Errors
    ///
    /// Whatever the database says; a record that does not read.
    pub fn roll(&self, hash: &Hash) -> Result<Option<Vec<Enrolled>>, StoreError> {
        self.record(ROLLS, &*hash.to_string(), format_args!("the record of the roll {hash}"))
    }

    /// A round, as a whole.
    ///
    /// # Errors
    ///
    /// Whatever the database says; a record that does not read.
    pub fn round(&self, key: &RoundKey) -> Result<Option<Round>, StoreError> {
        self.record(ROUNDS, place(key), format_args!("the record of round {key}"))
    }

    /// All rounds; of those that have ended what memory keeps of them ([`Round::brief`]).
    ///
    /// # Errors
    ///
    /// Whatever the database says; a record that does not read.
    pub fn rounds(&self) -> Result<Vec<Round>, StoreError> {
        self.with(|db| {
            let read = db.begin_read().map_err(refused)?;
            let table = read.open_table(ROUNDS).map_err(refused)?;
            let mut out = Vec::new();
            for row in table.iter().map_err(refused)? {
                let (key, text) = row.map_err(refused)?;
                let (task, round) = key.value();
                let what = format_args!("the record of round {task}/{round}");
                let whole: Round = parsed(text.value(), what)?;
                out.push(if whole.ended() { whole.brief() } else { whole });
            }
            Ok(out)
        })
    }

    /// The public inputs of a round.
    ///
    /// # Errors
    ///
    /// Whatever the database says; none.
    pub fn public(&self, key: &RoundKey) -> Result<Public, StoreError> {
        let what = format!("the record of public inputs of {key}");
        let found = self.record(PUBLIC, place(key), format_args!("{what}"))?;
        found.ok_or(StoreError::Damaged(what))
    }

    /// Makes a submission count. The same one counts once.
    ///
    /// # Errors
    ///
    /// Another submission of the client; whatever the database says.
    pub fn count(&self, record: &Record) -> Result<(), StoreError> {
        let m = &record.manifest;
        let at = (m.task.as_str(), m.round, m.client.as_str());
        let _gate = self.changes();
        self.write(|write| {
            let table = write.open_table(SUBMISSIONS).map_err(refused)?;
            let found = table.get(at).map_err(refused)?.map(|t| t.value().to_vec());
            drop(table);
            let Some(found) = found else { return put(write, SUBMISSIONS, at, record) };
            let found: Option<Record> = serde_json::from_slice(&found).ok();
            match found.is_some_and(|f| f.manifest == *m) {
                true => Ok(()),
                false => Err(StoreError::Conflict),
            }
        })
    }

    pub fn submission(&self, key: &RoundKey, client: &str) -> Result<Option<Record>, StoreError> {
        let what = format_args!("the submission of {client} to {key}");
        self.record(SUBMISSIONS, (key.task.as_str(), key.round, client), what)
    }

    /// What `one` makes of each submission to a round, by client.
    fn each_submission<T>(
        &self,
        key: &RoundKey,
        one: impl Fn(&str, &[u8]) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.with(|db| {
            let read = db.begin_read().map_err(refused)?;
            submissions(&read.open_table(SUBMISSIONS).map_err(refused)?, key, &one)
        })
    }

    /// All submissions of a round, by client.
    pub fn submissions(&self, key: &RoundKey) -> Result<Vec<Record>, StoreError> {
        self.each_submission(key, |client, text| {
            parsed(text, format_args!("the submission of {client} to {key}"))
        })
    }

    /// How many submissions of a round are complete.
    pub fn count_of(&self, key: &RoundKey) -> Result<u64, StoreError> {
        Ok(self.each_submission(key, |_, _| Ok(()))?.len() as u64)
    }

    /// Whether the database answers.
    pub fn check(&self) -> Result<(), StoreError> {
        self.with(|db| {
            let read = db.begin_read().map_err(refused)?;
            read.open_table(META).map(drop).map_err(refused)
        })
    }

    /// The storage key's fingerprint, which says nothing of it: for the operator to compare.
    pub fn fingerprint(&self) -> String {
        hex(&blake3::derive_key("slvr 1 fingerprint of a storage key", self.storage.expose())[..8])
    }
}

#[cfg(test)]
mod tests;
