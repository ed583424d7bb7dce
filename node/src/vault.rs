//! Sealed files: what is secret is on disk only under a key (ChaCha20-Poly1305).
//!
//! A file has a random salt of 32 bytes and then pieces of [`PIECE`] bytes and a shorter one, each sealed under the file's
//! own key: a hash of the salt and of what the file is, under the key of the vault. What a file is, is its [`Label`]: of which
//! round, whose and of which kind. So who can write to the disk cannot put one file in the place of another. A piece is
//! bound to its place and to the length of the whole, so that pieces can be neither exchanged nor left out. The tag of
//! each piece is its checksum.
//!
//! A round has a key of its own, sealed under the node's storage key. Once it is erased, nobody reads the round's parts, also
//! those of which a file system or a disk still keeps blocks. The file of the key is overwritten where it is. On a disk
//! that writes elsewhere (flash memory, file systems that copy on write) its old blocks may stay for a while: then the
//! parts are as secret as the storage key.

use crate::state::RoundKey;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, Zeroizing};

/// Bytes that are sealed at a time.
pub const PIECE: usize = 64 << 10;
const TAG: usize = 16;
const SALT: usize = 32;

/// A key of a vault. Wiped when dropped.
#[derive(Clone)]
pub struct Key(Zeroizing<[u8; 32]>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

fn other(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

impl Key {
    /// Of bytes that nobody else knows.
    pub fn new(bytes: Zeroizing<[u8; 32]>) -> Key {
        Key(bytes)
    }

    /// A fresh one.
    ///
    /// # Errors
    ///
    /// No randomness.
    pub fn random() -> io::Result<Key> {
        Ok(Key(Zeroizing::new(random()?)))
    }

    /// The bytes, to be sealed under another key.
    pub fn expose(&self) -> &[u8] {
        &self.0[..]
    }

    fn of_file(&self, salt: &[u8; SALT], label: &Label) -> io::Result<LessSafeKey> {
        let mut hash = blake3::Hasher::new_keyed(&self.0);
        hash.update(salt).update(label.0.as_bytes());
        let mut own = *hash.finalize().as_bytes();
        let key = UnboundKey::new(&CHACHA20_POLY1305, &own).map_err(|_| other("no key"));
        own.zeroize();
        Ok(LessSafeKey::new(key?))
    }
}

/// What a sealed file is: its place in the folder of a node's data, once it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label(String);

impl Label {
    /// Of a file of a round: what it holds, and whose it is if it is somebody's.
    pub fn new(key: &RoundKey, what: &str) -> Label {
        Label(format!("{key}/{what}"))
    }
}

fn nonce(piece: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&piece.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

fn bound(piece: u64, total: u64) -> [u8; 16] {
    let mut aad = [0; 16];
    aad[..8].copy_from_slice(&piece.to_le_bytes());
    aad[8..].copy_from_slice(&total.to_le_bytes());
    aad
}

/// Under which key a file is sealed, and what it is.
pub type Sealed<'a> = (&'a Key, &'a Label);

/// A file that is being written.
///
/// It is open only while a piece is written: thousands of clients may begin and vanish.
pub struct Sealer {
    path: PathBuf,
    key: LessSafeKey,
    piece: Zeroizing<Vec<u8>>,
    pieces: u64,
    total: u64,
    taken: u64,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({} of {} bytes)", self.taken, self.total)
    }
}

impl Sealer {
    /// Begins a file of `total` bytes; one that is there is overwritten.
    pub fn create(path: &Path, (key, label): Sealed<'_>, total: u64) -> io::Result<Sealer> {
        room()?;
        let salt: [u8; SALT] = random()?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        file.write_all(&salt)?;
        let piece = Zeroizing::new(Vec::with_capacity(PIECE + TAG));
        let (path, key) = (path.to_path_buf(), key.of_file(&salt, label)?);
        Ok(Sealer { path, key, piece, pieces: 0, total, taken: 0 })
    }

    /// The next bytes. After an error the file is of no use.
    ///
    /// # Errors
    ///
    /// Whatever the system says; more bytes than were announced.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.taken += bytes.len() as u64;
        if self.taken > self.total {
            return Err(other("more bytes than were announced"));
        }
        while !bytes.is_empty() {
            let n = bytes.len().min(PIECE - self.piece.len());
            self.piece.extend_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            if self.piece.len() == PIECE {
                self.seal()?;
            }
        }
        Ok(())
    }

    fn seal(&mut self) -> io::Result<()> {
        room()?;
        let aad = Aad::from(bound(self.pieces, self.total));
        let sealed = self.key.seal_in_place_append_tag(nonce(self.pieces), aad, &mut *self.piece);
        sealed.map_err(|_| other("cannot be sealed"))?;
        self.pieces += 1;
        self.append()?.write_all(&self.piece)?;
        self.piece.zeroize();
        self.piece.clear();
        Ok(())
    }

    /// Bytes that were taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Ends the file: it is on disk afterwards. Its name may not be, see [`sync_folder`].
    ///
    /// # Errors
    ///
    /// Whatever the system says; fewer bytes than were announced.
    pub fn finish(mut self) -> io::Result<()> {
        if self.taken != self.total {
            return Err(other("fewer bytes than were announced"));
        }
        // The last piece is never a whole one, and may be empty: so that no file is the beginning of another.
        self.seal()?;
        self.append()?.sync_all()
    }

    fn append(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(&self.path)
    }
}

/// Writes a sealed file under its name, whole or not at all, and durably.
pub fn write(path: &Path, sealed: Sealed<'_>, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut sealer = Sealer::create(&beside, sealed, bytes.len() as u64)?;
    sealer.write(bytes)?;
    sealer.finish()?;
    std::fs::rename(&beside, path)?;
    sync_folder(path)
}

/// What a sealed file holds.
///
/// # Errors
///
/// Whatever the system says; a file that is damaged, or sealed under another key.
pub fn read(path: &Path, (key, label): Sealed<'_>) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut file = File::open(path)?;
    let sealed = file.metadata()?.len().saturating_sub(SALT as u64);
    let pieces = sealed / (PIECE + TAG) as u64 + 1;
    let total = sealed.checked_sub(pieces * TAG as u64).ok_or_else(|| other("it is cut short"))?;
    let mut salt = [0; SALT];
    file.read_exact(&mut salt)?;
    let key = key.of_file(&salt, label)?;
    let mut out = Zeroizing::new(Vec::with_capacity(
        usize::try_from(total).map_err(|_| other("it is too long"))?,
    ));
    let mut piece = Zeroizing::new(vec![0; PIECE + TAG]);
    for i in 0..pieces {
        let n = (sealed - i * (PIECE + TAG) as u64).min((PIECE + TAG) as u64) as usize;
        file.read_exact(&mut piece[..n])?;
        let opened = key.open_in_place(nonce(i), Aad::from(bound(i, total)), &mut piece[..n]);
        out.extend_from_slice(
            opened.map_err(|_| other("it is damaged, or sealed under another key"))?,
        );
    }
    Ok(out)
}

/// The whole pieces of a file of `total` bytes that was not ended, up to the first that was not written as a whole.
/// The last piece of a file is never among them.
///
/// # Errors
///
/// Whatever the system says, and what `take` says.
pub fn salvage(
    path: &Path,
    (key, label): Sealed<'_>,
    total: u64,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut salt = [0; SALT];
    if file.read_exact(&mut salt).is_err() {
        return Ok(());
    }
    let key = key.of_file(&salt, label)?;
    let mut piece = Zeroizing::new(vec![0; PIECE + TAG]);
    for i in 0..total / PIECE as u64 {
        if file.read_exact(&mut piece).is_err() {
            return Ok(());
        }
        match key.open_in_place(nonce(i), Aad::from(bound(i, total)), &mut piece[..]) {
            Ok(opened) => take(opened)?,
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Makes the names in a file's folder durable.
pub fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Overwrites a file and removes it. One that is not there is gone.
pub fn erase(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).open(path) {
        Ok(mut file) => {
            let n = file.metadata()?.len();
            io::copy(&mut io::repeat(0).take(n), &mut file)?;
            file.sync_all()?;
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    }
    match std::fs::remove_file(path) {
        // Somebody else erases it at the same time.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.and_then(|()| sync_folder(path)),
    }
}

/// Whether a file of so many bytes could be written: it is, and is removed again.
pub fn has_room(path: &Path, bytes: u64) -> io::Result<()> {
    let written = room().and_then(|()| {
        let mut file = File::create(path)?;
        io::copy(&mut io::repeat(0).take(bytes), &mut file)?;
        file.sync_all()
    });
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => written.and(Err(e)),
        _ => written,
    }
}

/// A full disk, for tests: while the file is there that a variable names.
fn room() -> io::Result<()> {
    let full = cfg!(feature = "doors").then(|| std::env::var_os("SLVR_NODE_FULL")).flatten();
    match full.is_some_and(|flag| Path::new(&flag).exists()) {
        true => Err(io::ErrorKind::StorageFull.into()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(b: u8) -> Key {
        Key::new(Zeroizing::new([b; 32]))
    }

    fn label(what: &str) -> Label {
        Label::new(&RoundKey { task: "t".into(), round: 1 }, what)
    }

    #[test]
    fn no_sealed_file_takes_the_place_of_another_one_of_its_length() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = |name: &str| dir.path().join(name);
        let all = [("a.part", 1), ("b.part", 1), ("a.part", 2), ("result", 1), ("state", 1)];
        let of =
            |(what, round): (&str, u64)| Label::new(&RoundKey { task: "t".into(), round }, what);
        for (i, one) in all.into_iter().enumerate() {
            write(&path(&i.to_string()), (&key(1), &of(one)), &[i as u8; 100]).expect("writes");
        }
        for i in 0..all.len() {
            for (j, other) in all.into_iter().enumerate() {
                let read = read(&path(&i.to_string()), (&key(1), &of(other)));
                assert_eq!(read.is_ok(), i == j, "{:?} as {other:?}", all[i]);
            }
        }
    }

    #[test]
    fn sealed_files_read_back_and_no_changed_one_does() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x.part");
        for n in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 17] {
            let bytes: Vec<u8> = (0..n).map(|i| (i * 7) as u8).collect();
            write(&path, (&key(1), &label("x")), &bytes).expect("writes");
            assert_eq!(*read(&path, (&key(1), &label("x"))).expect("reads"), bytes);
            assert!(read(&path, (&key(2), &label("x"))).is_err(), "another key");
            let sealed = std::fs::read(&path).expect("reads");
            assert!(
                n < 64 || !sealed.windows(32).any(|w| bytes.windows(32).take(64).any(|b| b == w)),
                "in the clear"
            );
            for at in [0, 31, 32, sealed.len() / 2, sealed.len() - 1] {
                let mut changed = sealed.clone();
                if let Some(byte) = changed.get_mut(at) {
                    *byte ^= 1;
                }
                std::fs::write(&path, &changed).expect("writes");
                assert!(
                    read(&path, (&key(1), &label("x"))).is_err(),
                    "{n} bytes, byte {at} changed"
                );
            }
            for cut in [1, TAG, PIECE + TAG] {
                let short = sealed.len().saturating_sub(cut);
                std::fs::write(&path, &sealed[..short]).expect("writes");
                assert!(read(&path, (&key(1), &label("x"))).is_err(), "{n} bytes, {cut} cut off");
            }
        }
        erase(&path).expect("erases");
        erase(&path).expect("is gone");
        assert!(!path.exists());
    }

    #[test]
    fn a_file_may_be_erased_by_several_at_the_same_time() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x");
        for _ in 0..50 {
            write(&path, (&key(1), &label("x")), &[1; 100]).expect("writes");
            std::thread::scope(|scope| {
                let all: Vec<_> = (0..4).map(|_| scope.spawn(|| erase(&path))).collect();
                all.into_iter().for_each(|t| t.join().expect("ends").expect("is gone"));
            });
            assert!(!path.exists());
        }
    }

    #[test]
    fn of_a_file_that_was_not_ended_the_whole_pieces_are_salvaged() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x.new");
        let bytes: Vec<u8> = (0..4 * PIECE).map(|i| (i * 13 + i / 256) as u8).collect();
        let total = bytes.len() as u64 + 5;
        let salvaged = |key: &Key, total: u64| {
            let mut out = Vec::new();
            let take = |piece: &[u8]| {
                out.extend_from_slice(piece);
                Ok(())
            };
            salvage(&path, (key, &label("x")), total, take).expect("reads");
            out
        };
        let mut sealer = Sealer::create(&path, (&key(1), &label("x")), total).expect("begins");
        sealer.write(&bytes[..3 * PIECE + 100]).expect("writes");
        drop(sealer);
        assert_eq!(salvaged(&key(1), total), bytes[..3 * PIECE]);
        assert!(salvaged(&key(2), total).is_empty(), "another key");
        assert!(salvaged(&key(1), total + 1).is_empty(), "another length");
        let sealed = std::fs::read(&path).expect("reads");
        std::fs::write(&path, &sealed[..sealed.len() - 1]).expect("writes");
        assert_eq!(salvaged(&key(1), total), bytes[..2 * PIECE], "a piece that is cut");
        let mut changed = sealed.clone();
        changed[SALT + PIECE + TAG + 7] ^= 1;
        std::fs::write(&path, &changed).expect("writes");
        assert_eq!(salvaged(&key(1), total), bytes[..PIECE], "a piece that is damaged");
        std::fs::write(&path, &sealed[..SALT - 1]).expect("writes");
        assert!(salvaged(&key(1), total).is_empty(), "nothing but a salt that is cut");
    }

    #[test]
    fn a_file_has_the_announced_length() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut long =
            Sealer::create(&dir.path().join("x"), (&key(1), &label("x")), 3).expect("begins");
        assert!(long.write(b"four").is_err());
        let mut short =
            Sealer::create(&dir.path().join("x"), (&key(1), &label("x")), 3).expect("begins");
        short.write(b"no").expect("writes");
        assert!(short.finish().is_err());
    }
}
