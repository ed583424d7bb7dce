//! What an attempt leaves: this node's words of the result and of what is revealed to members, and its shares of a state. All
//! of it is sealed, and each file is written whole or not at all.

use super::opening::{REVEAL, extension};
use super::{Store, StoreError};
use crate::state::RoundKey;
use crate::vault::{self, Label};
use std::io;
use std::path::Path;
use std::sync::PoisonError;
use zeroize::Zeroizing;

impl Store {
    fn keep(&self, key: &RoundKey, what: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.folder(key).join(what);
        let _gate = self.changes();
        self.io(&path, vault::write(&path, self.sealed(&Label::new(key, what)), bytes))
    }

    fn kept(&self, key: &RoundKey, what: &str) -> Result<Zeroizing<Vec<u8>>, StoreError> {
        let path = self.folder(key).join(what);
        let _stays = self.outcomes.read().unwrap_or_else(PoisonError::into_inner);
        self.io(&path, vault::read(&path, self.sealed(&Label::new(key, what))))
    }

    /// A file is overwritten before it is removed: whoever reads it in between would take it for damaged.
    fn gone(&self, path: &Path) -> Result<(), StoreError> {
        let _alone = self.outcomes.write().unwrap_or_else(PoisonError::into_inner);
        self.io(path, vault::erase(path))
    }

    /// Whether there is room for so many bytes: they are written, and removed again.
    ///
    /// # Errors
    ///
    /// A disk that is full; whatever else the system says.
    pub fn has_room(&self, bytes: u64) -> Result<(), StoreError> {
        let path = self.folder.join("room.new");
        self.io(&path, vault::has_room(&path, bytes))
    }

    /// Keeps this node's words of the result.
    pub fn put_result(&self, key: &RoundKey, bytes: &[u8]) -> Result<(), StoreError> {
        self.keep(key, "result", bytes)
    }

    /// This node's words of the result.
    pub fn result(&self, key: &RoundKey) -> Result<Zeroizing<Vec<u8>>, StoreError> {
        self.kept(key, "result")
    }

    /// Whether there are words of a result.
    pub fn has_result(&self, key: &RoundKey) -> bool {
        self.folder(key).join("result").exists()
    }

    /// Keeps this node's word of what a round reveals to a member of a party set.
    pub fn put_reveal(&self, key: &RoundKey, client: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.keep(key, &format!("{client}.{REVEAL}"), bytes)
    }

    /// This node's word of what a round reveals to a member; nothing if there is none.
    pub fn reveal(
        &self,
        key: &RoundKey,
        client: &str,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        match self.kept(key, &format!("{client}.{REVEAL}")) {
            Err(StoreError::Io { why, .. }) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            done => done.map(Some),
        }
    }

    /// Erases this node's word of what a round reveals to a member.
    pub fn erase_reveal(&self, key: &RoundKey, client: &str) -> Result<(), StoreError> {
        let path = self.folder(key).join(format!("{client}.{REVEAL}"));
        let _gate = self.changes();
        self.gone(&path)
    }

    /// Erases what no member of a party set has fetched.
    pub fn erase_reveals(&self, key: &RoundKey) -> Result<(), StoreError> {
        let _gate = self.changes();
        let mut own = self.files(key).into_iter().filter(|f| extension(f) == REVEAL);
        own.try_for_each(|path| self.gone(&path))
    }

    /// Keeps this node's shares of the state that a round leaves. They count once the round is released.
    pub fn put_state(&self, key: &RoundKey, bytes: &[u8]) -> Result<(), StoreError> {
        self.keep(key, "state", bytes)
    }

    /// This node's shares of the state that a round has left.
    pub fn state(&self, key: &RoundKey) -> Result<Zeroizing<Vec<u8>>, StoreError> {
        self.kept(key, "state")
    }

    /// Erases the state that a round has left: a later one has taken its place.
    pub fn erase_state(&self, key: &RoundKey) -> Result<(), StoreError> {
        let path = self.folder(key).join("state");
        let _gate = self.changes();
        self.gone(&path)
    }

    /// Erases all that came of a round that has no result.
    pub fn erase_outcome(&self, key: &RoundKey) -> Result<(), StoreError> {
        self.erase_result(key)?;
        self.erase_state(key)?;
        self.erase_reveals(key)
    }

    /// Erases this node's words of the result.
    pub fn erase_result(&self, key: &RoundKey) -> Result<(), StoreError> {
        let path = self.folder(key).join("result");
        let _gate = self.changes();
        self.gone(&path)
    }
}
