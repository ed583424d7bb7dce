//! Parts of submissions: sealed files, begun, ended, read, mended and erased.
//!
//! An upload goes to `CLIENT.SUBMISSION.new`. A crash leaves that file, and an upload of the same submission goes on with
//! the pieces that are whole: they are read, and sealed again in a fresh file, so that no piece is sealed twice under
//! one key and place.
//!
//! **Damage.** A part that cannot be read is noted. Its record stays, and with it what the client has committed to.
//! Whoever submits the same again is taken at its word: the bytes come again, are compared with the commitments, and
//! take the damaged file's place.

use super::opening::{ENDED, at, extension};
use super::{PUBLIC, ROUNDS, Store, StoreError, place, refused};
use crate::locks::lock;
use crate::state::RoundKey;
use crate::vault::{self, Key, Label, Sealer};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Whether an error says that a file is not what was written.
fn is_damage(e: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    matches!(e.kind(), InvalidData | NotFound | UnexpectedEof)
}

impl Store {
    pub(super) fn round_key(&self, key: &RoundKey) -> Result<Key, StoreError> {
        let mut keys = lock(&self.keys);
        if let Some(own) = keys.get(key) {
            return Ok(own.clone());
        }
        let path = self.folder(key).join("key");
        let label = Label::new(key, "key");
        let bytes = vault::read(&path, self.sealed(&label)).map_err(at(&path))?;
        let bytes = <[u8; 32]>::try_from(&bytes[..]).map(Zeroizing::new);
        let own = Key::new(bytes.map_err(|_| StoreError::Damaged(path.display().to_string()))?);
        keys.insert(key.clone(), own.clone());
        Ok(own)
    }

    /// The key of a round for a new part. If it is lost, so are all parts under it, and they come again under a new one.
    fn key_to_write(&self, key: &RoundKey) -> Result<Key, StoreError> {
        match self.round_key(key) {
            Err(StoreError::Io { path, why }) if is_damage(&why) => {
                tracing::error!(round = %key, path = %path.display(), %why, "the round's key is lost: a new one is made");
                let own = Key::random().map_err(at(&path))?;
                let label = Label::new(key, "key");
                let _gate = self.changes();
                vault::write(&path, self.sealed(&label), own.expose()).map_err(at(&path))?;
                self.round_key(key)
            }
            done => done,
        }
    }

    pub(super) fn part(&self, key: &RoundKey, client: &str) -> PathBuf {
        self.folder(key).join(format!("{client}.part"))
    }

    fn upload(&self, key: &RoundKey, client: &str, submission: &str) -> PathBuf {
        self.folder(key).join(format!("{client}.{submission}.new"))
    }

    /// Begins the file of a client's part, under a name that does not count. What is there of the same upload from
    /// before a restart is taken over, and `salvaged` is given it.
    pub fn begin(
        &self,
        (key, client, submission): (&RoundKey, &str, &str),
        bytes: u64,
        mut salvaged: impl FnMut(&[u8]),
    ) -> Result<Sealer, StoreError> {
        let path = self.upload(key, client, submission);
        let before = path.with_extension("old");
        let own = self.key_to_write(key)?;
        // A crash while pieces are taken over leaves both: then the older one has more.
        if !before.exists() && path.exists() {
            std::fs::rename(&path, &before).map_err(at(&path))?;
        }
        let label = of_client(key, client);
        let mut sealer = Sealer::create(&path, (&own, &label), bytes).map_err(at(&path))?;
        if before.exists() {
            let take = |piece: &[u8]| {
                sealer.write(piece)?;
                salvaged(piece);
                Ok(())
            };
            vault::salvage(&before, (&own, &label), bytes, take).map_err(at(&path))?;
            std::fs::remove_file(&before).map_err(at(&before))?;
        }
        Ok(sealer)
    }

    /// Forgets a file that was begun.
    pub fn give_up(&self, key: &RoundKey, client: &str, submission: &str) {
        // When the round ends it is removed anyway.
        let path = self.upload(key, client, submission);
        let _ = std::fs::remove_file(path.with_extension("old"));
        let _ = std::fs::remove_file(path);
    }

    /// Removes a part that has its name and was not counted after all.
    pub fn take_back(&self, key: &RoundKey, client: &str) -> Result<(), StoreError> {
        if self.submission(key, client)?.is_some() {
            return Ok(());
        }
        let path = self.part(key, client);
        let _gate = self.changes();
        std::fs::remove_file(&path).map_err(at(&path))
    }

    /// Ends the file of a client's part and gives it its name. It is on disk afterwards, and does not count yet.
    pub fn end(
        &self,
        (key, client, submission): (&RoundKey, &str, &str),
        sealer: Sealer,
    ) -> Result<(), StoreError> {
        let (from, path) = (self.upload(key, client, submission), self.part(key, client));
        sealer.finish().map_err(at(&path))?;
        let _gate = self.changes();
        std::fs::rename(from, &path).map_err(at(&path))?;
        vault::sync_folder(&path).map_err(at(&path))?;
        lock(&self.damaged).remove(&(key.clone(), client.to_string()));
        Ok(())
    }

    /// A client's part.
    ///
    /// # Errors
    ///
    /// Whatever the system says; a file that is damaged, which is noted.
    pub fn read_part(
        &self,
        key: &RoundKey,
        client: &str,
    ) -> Result<Zeroizing<Vec<u8>>, StoreError> {
        let path = self.part(key, client);
        let label = of_client(key, client);
        let read = || vault::read(&path, (&self.round_key(key)?, &label)).map_err(at(&path));
        read().map_err(|e| match e {
            StoreError::Io { path, why } if is_damage(&why) => {
                tracing::error!(round = %key, client, path = %path.display(), %why, "a part is damaged: it is mended once the client submits the same again");
                self.note_damaged(key, client);
                StoreError::Part { client: client.into() }
            }
            other => other,
        })
    }

    pub(super) fn note_damaged(&self, key: &RoundKey, client: &str) {
        lock(&self.damaged).insert((key.clone(), client.to_string()));
    }

    /// Looks whether the part of a submission that counts is still there, unless it was erased. One that is gone is noted as damaged.
    pub fn look_for(&self, key: &RoundKey, client: &str) {
        if !self.are_erased(key) && !self.part(key, client).is_file() {
            tracing::error!(round = %key, client, "its part is missing: it is mended once the client submits the same again");
            self.note_damaged(key, client);
        }
    }

    /// Whether a client's part was found to be damaged, and has not come again.
    pub fn is_damaged(&self, key: &RoundKey, client: &str) -> bool {
        lock(&self.damaged).contains(&(key.clone(), client.to_string()))
    }

    /// The clients of a round whose parts were found to be damaged.
    pub fn damaged_of(&self, key: &RoundKey) -> Vec<String> {
        lock(&self.damaged)
            .iter()
            .filter(|(k, _)| k == key)
            .map(|(_, client)| client.clone())
            .collect()
    }

    /// Removes what uploads left that do not go on: of clients whose submission is complete, of rounds that take
    /// nothing any more, and parts that were not counted.
    pub(super) fn tidy(
        &self,
        key: &RoundKey,
        complete: &BTreeSet<String>,
        open: bool,
    ) -> Result<(), StoreError> {
        let mut goes_on = BTreeSet::new();
        for file in self.files(key) {
            let stem = file.file_stem().and_then(|s| s.to_str()).unwrap_or("");
            let of_upload = stem.rsplit_once('.').map(|(client, _)| client);
            let keep = match extension(&file) {
                "part" => complete.contains(stem),
                "old" => open && of_upload.is_some_and(|c| !complete.contains(c)),
                // One for each client: who has begun something else again and again has the first of it.
                "new" => {
                    open && of_upload
                        .is_some_and(|c| !complete.contains(c) && goes_on.insert(c.to_string()))
                }
                _ => true,
            };
            if !keep {
                std::fs::remove_file(&file).map_err(at(&file))?;
            }
        }
        Ok(())
    }

    pub(super) fn files(&self, key: &RoundKey) -> Vec<PathBuf> {
        let all = self.folder(key).read_dir().into_iter().flatten().flatten();
        all.map(|f| f.path()).collect()
    }

    /// Whether the parts of a round are still there, as far as they came: they were not erased, and can be read.
    pub fn keeps_parts(&self, key: &RoundKey) -> bool {
        !self.are_erased(key) && self.round_key(key).is_ok()
    }

    /// Whether the parts of a round have been erased.
    pub fn are_erased(&self, key: &RoundKey) -> bool {
        self.folder(key).join(ENDED).exists()
    }

    /// Forgets a round in which nothing has happened. What a crash leaves of it on the way is that of an opening.
    pub fn forget_round(&self, key: &RoundKey) -> Result<(), StoreError> {
        let _gate = self.changes();
        for file in self.files(key).into_iter().filter(|f| !f.ends_with("key")) {
            remove(&file)?;
        }
        self.write(|write| {
            write.open_table(ROUNDS).map_err(refused)?.remove(place(key)).map_err(refused)?;
            write.open_table(PUBLIC).map_err(refused)?.remove(place(key)).map_err(refused)?;
            Ok(())
        })?;
        lock(&self.keys).remove(key);
        let (folder, gone) = (self.folder(key), self.folder(key).with_extension("new"));
        if folder.exists() {
            std::fs::rename(&folder, &gone).map_err(at(&folder))?;
            std::fs::remove_dir_all(&gone).map_err(at(&gone))?;
        }
        Ok(())
    }

    /// Erases the key and the parts of a round that has ended. Who has submitted what stays known, so that nothing is
    /// taken twice. A file says that the round has ended, before anything is erased: an older database would take the key
    /// and the parts for damaged.
    pub fn erase_parts(&self, key: &RoundKey) -> Result<(), StoreError> {
        let _gate = self.changes();
        lock(&self.damaged).retain(|(k, _)| k != key);
        let folder = self.folder(key);
        if folder.exists() && !folder.join(ENDED).exists() {
            let ended = folder.join(ENDED);
            let written = File::create(&ended).and_then(|file| file.sync_all());
            written.and_then(|()| vault::sync_folder(&ended)).map_err(at(&ended))?;
        }
        let path = folder.join("key");
        vault::erase(&path).map_err(at(&path))?;
        // Whoever has read it before it was gone has put it back.
        lock(&self.keys).remove(key);
        for file in self.files(key) {
            if matches!(extension(&file), "part" | "new" | "old") {
                remove(&file)?;
            }
        }
        Ok(())
    }
}

/// Removes a file that somebody else may remove at the same time.
fn remove(file: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(file) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(at(file)),
    }
}

/// What a client's part is.
fn of_client(key: &RoundKey, client: &str) -> Label {
    Label::new(key, &format!("{client}.part"))
}
