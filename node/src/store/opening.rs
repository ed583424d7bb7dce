//! What is looked at before a store is used: a node that has forgotten something must not go on as if it had not.
//!
//! A database that is not there is made. So one that was deleted, or is empty, would be a new one, in which no round
//! has been run: a round could be run again, and acknowledged submissions would be forgotten. Three things tell:
//!
//! - `store.id` beside the database has the name of the database, and the database has it, too;
//! - a folder of a round which the database does not know can only be what a crash left of an opening, with a key and
//!   nothing else in it. Any other one is of a database that has forgotten the round;
//! - a folder of a round whose parts were erased says so. A database in which that round has not ended is older;
//! - the database has a fingerprint of the storage key, so that another key is noticed here and not in a run.

use super::{
    DATABASE, META, Opens, PUBLIC, ROLLS, ROUNDS, SUBMISSIONS, Store, StoreError, VERSION, refused,
    writing,
};
use crate::hex::hex;
use crate::state::{Phase, RoundKey};
use crate::vault::{self, Key};
use redb::{Database, DatabaseError, ReadableTable, StorageError};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, RwLock};

/// The file that says which database belongs here.
const ID: &str = "store.id";

/// The file that says that a round has ended, and that its parts were erased.
pub(super) const ENDED: &str = "ended";

/// How the name of a file ends that has what is revealed to one member.
pub(super) const REVEAL: &str = "reveal";

/// How a file's name ends.
pub(super) fn extension(file: &Path) -> &str {
    file.extension().and_then(|e| e.to_str()).unwrap_or("")
}

/// A system error at a path.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError + '_ {
    move |why| StoreError::Io { path: path.into(), why }
}

/// A folder that only its owner may look into.
pub(super) fn private(folder: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(at(folder))
}

/// Whether there is a folder of a round.
fn has_rounds(folder: &Path) -> bool {
    folder.join("rounds").read_dir().is_ok_and(|mut all| all.next().is_some())
}

thread_local! {
    /// Whether a panic of this thread is expected, and says nothing to anybody.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does what may panic, and does not print that it did: whoever asks says it in better words.
fn quietly<T>(act: impl FnOnce() -> T) -> std::thread::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = catch_unwind(AssertUnwindSafe(act));
    QUIET.set(false);
    done
}

/// Opens the file of the database. What it does not understand it may answer with a panic.
fn open_file(path: &Path, opens: &Opens) -> Result<Database, StoreError> {
    let broken = |why: String| StoreError::Broken { path: path.into(), why };
    let opened = quietly(|| {
        let mut db = opens(path)?;
        // All pages are compared with their checksums: there are few, since vectors are files of their own.
        // Whether the free pages had to be counted again is of no interest.
        db.check_integrity()?;
        Ok::<_, DatabaseError>(db)
    });
    match opened {
        Err(_) => Err(broken("it is cut short, or is no database".into())),
        Ok(Ok(db)) => Ok(db),
        Ok(Err(DatabaseError::Storage(StorageError::Corrupted(why)))) => Err(broken(why)),
        Ok(Err(DatabaseError::Storage(StorageError::Io(e))))
            if matches!(e.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            Err(broken("it is cut short, or is no database".into()))
        }
        // No release has written such a file.
        Ok(Err(e @ DatabaseError::UpgradeRequired(_))) => Err(broken(e.to_string())),
        Ok(Err(e)) => Err(refused(e)),
    }
}

/// Takes from others what they may do in a folder of an earlier version, which anybody could look into.
fn close_to_others(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let open = folder.metadata().is_ok_and(|m| m.permissions().mode() & 0o077 != 0);
        let closed = std::fs::Permissions::from_mode(0o700);
        if open && let Err(why) = std::fs::set_permissions(folder, closed) {
            tracing::warn!(folder = %folder.display(), %why, "others than its owner may look into the data: chmod 700");
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
}

impl Store {
    /// Opens or makes the store in a folder.
    ///
    /// # Errors
    ///
    /// A folder that cannot be used, another process that uses it, data of another version or under another key, and
    /// whatever says that the store has forgotten something.
    pub fn open(folder: &Path, storage: Key) -> Result<Store, StoreError> {
        Store::open_by(folder, storage, Box::new(|path| Database::create(path)))
    }

    pub(super) fn open_by(
        folder: &Path,
        storage: Key,
        opens: Box<Opens>,
    ) -> Result<Store, StoreError> {
        private(folder)?;
        private(&folder.join("rounds"))?;
        close_to_others(folder);
        let (path, marker) = (folder.join(DATABASE), folder.join(ID));
        let begun = marker.exists() || has_rounds(folder);
        let len = path.metadata().map(|m| m.len()).unwrap_or(0);
        if begun && len == 0 {
            let what = if path.exists() { "empty" } else { "missing" };
            return Err(StoreError::Gone { path, what });
        }
        let db = open_file(&path, &*opens)?;
        let db = RwLock::new(Some(db));
        let (keys, damaged) = (Mutex::default(), Mutex::default());
        let outcomes = RwLock::default();
        let (gate, copying) = (RwLock::new(()), Mutex::new(()));
        let store = Store {
            folder: folder.into(),
            storage,
            db,
            opens,
            keys,
            gate,
            copying,
            outcomes,
            damaged,
        };
        // A copy that was made and not taken away is as secret as what it is of.
        store.remove_copy()?;
        store.introduce(&marker, begun)?;
        store.sweep()?;
        Ok(store)
    }

    /// Compares version, name and key with those that the database was made with; a new one gets them.
    fn introduce(&self, marker: &Path, begun: bool) -> Result<(), StoreError> {
        let path = self.folder.join(DATABASE);
        let named = match std::fs::read_to_string(marker) {
            Ok(text) => Some(text.trim().to_string()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(why) => return Err(StoreError::Io { path: marker.into(), why }),
        };
        let mut drawn = [0; 16];
        getrandom::fill(&mut drawn).map_err(io::Error::other).map_err(at(&path))?;
        let own = self.fingerprint();
        let id = self.with(|db| {
            let write = writing(db)?;
            let id = {
                let mut meta = write.open_table(META).map_err(refused)?;
                let found: BTreeMap<String, String> = meta
                    .iter()
                    .map_err(refused)?
                    .map(|row| row.map(|(k, v)| (k.value().to_string(), v.value().to_string())))
                    .collect::<Result<_, _>>()
                    .map_err(refused)?;
                match found.get("version") {
                    Some(v) if v != VERSION => return Err(StoreError::Version(v.clone())),
                    Some(_) => {}
                    None if begun => {
                        return Err(StoreError::Gone { path: path.clone(), what: "new" });
                    }
                    None => drop(meta.insert("version", VERSION).map_err(refused)?),
                }
                match found.get("key") {
                    Some(k) if *k != own => {
                        let (found, wanted) = (own.clone(), k.clone());
                        return Err(StoreError::Key { found, wanted });
                    }
                    Some(_) => {}
                    None => drop(meta.insert("key", &*own).map_err(refused)?),
                }
                match (found.get("id"), &named) {
                    (Some(id), Some(named)) if id != named => {
                        return Err(StoreError::Gone { path: path.clone(), what: "another one" });
                    }
                    // A crash may come between the database and the file, but no round.
                    (Some(_), None) if has_rounds(&self.folder) => {
                        let what = "not named by the file store.id beside it, which is missing";
                        return Err(StoreError::Gone { path: path.clone(), what });
                    }
                    (Some(id), _) => id.clone(),
                    (None, Some(_)) => {
                        return Err(StoreError::Gone { path: path.clone(), what: "another one" });
                    }
                    (None, None) => {
                        let id = hex(&drawn);
                        meta.insert("id", &*id).map_err(refused)?;
                        id
                    }
                }
            };
            write.open_table(ROUNDS).map_err(refused)?;
            write.open_table(PUBLIC).map_err(refused)?;
            write.open_table(ROLLS).map_err(refused)?;
            write.open_table(SUBMISSIONS).map_err(refused)?;
            write.commit().map_err(refused)?;
            Ok(id)
        })?;
        if named.is_none() {
            let beside = marker.with_extension("new");
            let written = std::fs::File::create(&beside).and_then(|mut file| {
                file.write_all(format!("{id}\n").as_bytes())?;
                file.sync_all()?;
                std::fs::rename(&beside, marker)?;
                vault::sync_folder(marker)
            });
            written.map_err(at(marker))?;
        }
        Ok(())
    }

    /// Looks through the folders of rounds: removes what a crash left, notes which parts are missing, and refuses a
    /// round that the database has forgotten.
    fn sweep(&self) -> Result<(), StoreError> {
        let rounds = self.rounds()?;
        let known: BTreeSet<&RoundKey> = rounds.iter().map(|r| &r.spec.key).collect();
        for (task, number, path) in self.folders() {
            match number.parse() {
                Ok(round) if known.contains(&RoundKey { task: task.clone(), round }) => {}
                Ok(_) => {
                    let files: Vec<PathBuf> =
                        path.read_dir().map_err(at(&path))?.flatten().map(|f| f.path()).collect();
                    let of_opening = |f: &PathBuf| {
                        f.file_stem().is_some_and(|s| s == "key")
                            && !matches!(extension(f), "part" | REVEAL)
                    };
                    if files.is_empty() || !files.iter().all(of_opening) {
                        return Err(StoreError::Forgotten { path });
                    }
                    // Without its name first: what a crash left half removed would be a round that was forgotten.
                    let gone = path.with_extension("new");
                    if gone.exists() {
                        std::fs::remove_dir_all(&gone).map_err(at(&gone))?;
                    }
                    std::fs::rename(&path, &gone).map_err(at(&path))?;
                    vault::sync_folder(&gone).map_err(at(&gone))?;
                    std::fs::remove_dir_all(&gone).map_err(at(&gone))?;
                }
                // An opening that a crash ended.
                Err(_) if number.ends_with(".new") && path.exists() => {
                    std::fs::remove_dir_all(&path).map_err(at(&path))?;
                }
                Err(_) => {}
            }
        }
        for round in &rounds {
            let key = &round.spec.key;
            let files = self.files(key);
            // Nothing is computed before it is agreed whose submissions count.
            let early = matches!(round.phase, Phase::Open | Phase::Closed);
            let tells = |f: &PathBuf| {
                let computed =
                    f.ends_with("result") || f.ends_with("state") || extension(f) == REVEAL;
                f.ends_with(ENDED) || early && computed
            };
            if !round.ended() && files.iter().any(tells) {
                return Err(StoreError::Older { path: self.folder(key) });
            }
            // Of a round that has ended there is nothing to look for if nothing of it is left. One that was aborted may be run again.
            let left = files.iter().any(|f| matches!(extension(f), "part" | "new" | "old"));
            let kept = round.phase == Phase::Aborted && !files.is_empty() && !self.are_erased(key);
            if round.ended() && !left && !kept {
                continue;
            }
            let all: BTreeSet<String> =
                self.submissions(key)?.into_iter().map(|r| r.manifest.client).collect();
            self.tidy(key, &all, round.phase == Phase::Open)?;
            if !round.ended() || kept {
                self.look(key, all.iter());
            }
        }
        Ok(())
    }

    /// The folders of rounds: task, number, path.
    pub(super) fn folders(&self) -> Vec<(String, String, PathBuf)> {
        let list = |path: &Path| {
            let all = path.read_dir().into_iter().flatten().flatten().map(|f| f.path());
            all.filter(|p| p.is_dir()).collect::<Vec<_>>()
        };
        let name = |p: &Path| p.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tasks = list(&self.folder.join("rounds"));
        let of = |task: PathBuf| {
            list(&task).into_iter().map(move |p| (name(&task), name(&p), p)).collect::<Vec<_>>()
        };
        tasks.into_iter().flat_map(of).collect()
    }

    /// Notes the parts of a round that are not there, or that no key opens.
    fn look<'a>(&self, key: &RoundKey, clients: impl Iterator<Item = &'a String>) {
        let readable = self.round_key(key).is_ok();
        for client in clients {
            if !readable || !self.part(key, client).is_file() {
                tracing::error!(round = %key, client, "its part is missing or its key is: it is mended once the client submits the same again");
                self.note_damaged(key, client);
            }
        }
    }
}
