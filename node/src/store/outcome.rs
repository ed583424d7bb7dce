//! What an attempt leaves: this node's words of the result and of what is revealed to members, and its shares of a state. All
//! of it is sealed, and each file is written whole or not at all.

use super::opening::{REVEAL, at, extension};
use super::{Store, StoreError};
use crate::locks::{read_lock, write_lock};
use crate::state::RoundKey;
use crate::vault::{self, Label};
use std::io;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A file that an attempt leaves.
#[derive(Clone, Copy, Debug)]
pub enum Left<'a> {
    /// This node's words of the result.
    Result,
    /// Its shares of the state. They count once the round is released.
    State,
    /// Its word of what is revealed to this member of a party set.
    Reveal(&'a str),
}

impl Left<'_> {
    fn name(self) -> String {
        match self {
            Left::Result => "result".into(),
            Left::State => "state".into(),
            Left::Reveal(client) => format!("{client}.{REVEAL}"),
        }
    }
}

impl Store {
    fn left(&self, key: &RoundKey, what: Left<'_>) -> (PathBuf, Label) {
        let name = what.name();
        (self.folder(key).join(&name), Label::new(key, &name))
    }

    pub fn keep(&self, key: &RoundKey, what: Left<'_>, bytes: &[u8]) -> Result<(), StoreError> {
        let (path, label) = self.left(key, what);
        let _gate = self.changes();
        vault::write(&path, self.sealed(&label), bytes).map_err(at(&path))
    }

    pub fn kept(&self, key: &RoundKey, what: Left<'_>) -> Result<Zeroizing<Vec<u8>>, StoreError> {
        let (path, label) = self.left(key, what);
        let _stays = read_lock(&self.outcomes);
        vault::read(&path, self.sealed(&label)).map_err(at(&path))
    }

    /// The same; nothing if there is no such file.
    pub fn kept_if_any(
        &self,
        key: &RoundKey,
        what: Left<'_>,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        match self.kept(key, what) {
            Err(StoreError::Io { why, .. }) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            done => done.map(Some),
        }
    }

    /// Whether there is such a file, readable or not. Where the system does not say, there is.
    pub fn has(&self, key: &RoundKey, what: Left<'_>) -> bool {
        self.left(key, what).0.try_exists().unwrap_or(true)
    }

    /// A file is overwritten before it is removed: whoever reads it in between would take it for damaged.
    fn gone(&self, path: &Path) -> Result<(), StoreError> {
        let _alone = write_lock(&self.outcomes);
        vault::erase(path).map_err(at(path))
    }

    pub fn erase(&self, key: &RoundKey, what: Left<'_>) -> Result<(), StoreError> {
        let _gate = self.changes();
        self.gone(&self.left(key, what).0)
    }

    /// Erases what no member of a party set has fetched.
    pub fn erase_reveals(&self, key: &RoundKey) -> Result<(), StoreError> {
        let _gate = self.changes();
        let mut own = self.files(key).into_iter().filter(|f| extension(f) == REVEAL);
        own.try_for_each(|path| self.gone(&path))
    }

    /// Erases everything that attempts at a round have left.
    pub fn erase_outcome(&self, key: &RoundKey) -> Result<(), StoreError> {
        self.erase(key, Left::Result)?;
        self.erase(key, Left::State)?;
        self.erase_reveals(key)
    }

    /// Whether there is room for so many bytes: they are written, and removed again.
    pub fn has_room(&self, bytes: u64) -> Result<(), StoreError> {
        let path = self.folder.join("room.new");
        vault::has_room(&path, bytes).map_err(at(&path))
    }
}
