//! A disk that is full; a store that is damaged, lost or under another key.

use super::*;
use crate::hex::Hex;
use crate::state::tests::round;
use redb::StorageBackend;
use redb::backends::FileBackend;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use zeroize::Zeroizing;

/// A file on a disk that is full as long as the flag says so.
#[derive(Debug)]
struct Disk(FileBackend, Arc<AtomicBool>);

impl Disk {
    fn room(&self) -> io::Result<()> {
        match self.1.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.room().and_then(|()| self.0.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.room().and_then(|()| self.0.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.room().and_then(|()| self.0.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}

#[test]
fn a_disk_that_was_full_heals_without_a_restart() {
    let dir = tempfile::tempdir().expect("a folder");
    let full = Arc::new(AtomicBool::new(false));
    let flag = full.clone();
    let opens = move |path: &Path| {
        let mut options = std::fs::OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        let disk = Disk(FileBackend::new(file)?, flag.clone());
        redb::Builder::new().create_with_backend(disk)
    };
    let key = Key::random().expect("a key");
    let store = Store::open_by(dir.path(), key, Box::new(opens)).expect("opens");
    store.open_round(&round(1), &Public::new()).expect("there is room");
    for n in 2..5 {
        full.store(true, Ordering::SeqCst);
        // It says so each time, also when it cannot be opened again.
        for again in 0..3 {
            let e = store.put_round(&round(n)).expect_err("it is full");
            assert!(e.is_full(), "round {n}, time {again}: {e}");
        }
        full.store(false, Ordering::SeqCst);
        store.put_round(&round(n)).expect("there is room again");
        let all: Vec<u64> =
            store.rounds().expect("reads").iter().map(|r| r.spec.key.round).collect();
        assert_eq!(all, (1..=n).collect::<Vec<_>>());
    }
}

fn key(b: u8) -> Key {
    Key::new(Zeroizing::new([b; 32]))
}

/// A submission that only has to be there.
fn record(n: u64, client: &str) -> Record {
    let manifest = crate::submission::Manifest {
        task: "t".into(),
        round: n,
        client: client.into(),
        submission: Hex([n as u8; 16]),
        circuit: Hex([0; 32]),
        opening: Hex([0; 32]),
        components: [Hex([1; 32]); 3],
        signature: Hex([2; 64]),
    };
    Record { manifest, at: n, set: None }
}

/// A store with some rounds, each with a client's part.
fn filled(folder: &Path, rounds: u64) -> Store {
    let store = Store::open(folder, key(1)).expect("opens");
    (1..=rounds).for_each(|n| fill(&store, n));
    store
}

fn fill(store: &Store, n: u64) {
    let r = round(n);
    store.open_round(&r, &Public::new()).expect("opens a round");
    let at = (&r.spec.key, "a", "00");
    let mut sealer = store.begin(at, 3, |_| {}).expect("begins");
    sealer.write(b"abc").expect("writes");
    store.end(at, sealer).expect("ends");
    store.count(&record(n, "a")).expect("counts");
}

/// What a store knows: its rounds, and how many submissions each has.
fn knows(store: &Store) -> Vec<(u64, u64)> {
    let of = |r: &Round| (r.spec.key.round, store.count_of(&r.spec.key).expect("reads"));
    store.rounds().expect("reads").iter().map(of).collect()
}

#[test]
fn another_storage_key_is_noticed_at_the_start() {
    let dir = tempfile::tempdir().expect("a folder");
    drop(filled(dir.path(), 1));
    let e = Store::open(dir.path(), key(2)).expect_err("another key");
    assert!(matches!(e, StoreError::Key { .. }), "{e}");
    assert!(e.to_string().contains("Put back the right key"), "{e}");
    assert_eq!(knows(&Store::open(dir.path(), key(1)).expect("opens")), [(1, 1)]);
}

#[test]
fn a_database_that_is_deleted_or_empty_beside_kept_files_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    drop(filled(dir.path(), 1));
    let path = dir.path().join(DATABASE);
    let refused = |what: &str| {
        let e = Store::open(dir.path(), key(1)).expect_err("the database is gone");
        assert!(matches!(&e, StoreError::Gone { what: w, .. } if *w == what), "{what}: {e}");
    };
    let whole = std::fs::read(&path).expect("reads");
    std::fs::write(&path, b"").expect("writes");
    refused("empty");
    std::fs::remove_file(&path).expect("removes");
    refused("missing");
    // The database of another node.
    let other = tempfile::tempdir().expect("a folder");
    drop(Store::open(other.path(), key(1)).expect("opens"));
    std::fs::copy(other.path().join(DATABASE), &path).expect("copies");
    refused("another one");
    // Either of the two that tell is enough.
    std::fs::remove_file(&path).expect("removes");
    let marker = dir.path().join("store.id");
    let named = std::fs::read(&marker).expect("reads");
    std::fs::remove_file(&marker).expect("removes");
    refused("missing");
    let own = named.clone();
    std::fs::write(&marker, named).expect("writes");
    std::fs::remove_dir_all(dir.path().join("rounds")).expect("removes");
    refused("missing");
    // The file that names the database, while there are rounds.
    std::fs::write(&path, &whole).expect("writes");
    std::fs::create_dir_all(dir.path().join("rounds/t/1")).expect("a folder");
    std::fs::remove_file(&marker).expect("removes");
    let e = Store::open(dir.path(), key(1)).expect_err("nothing names it");
    assert!(e.to_string().contains("store.id"), "{e}");
    let named = other.path().join("store.id");
    std::fs::copy(named, &marker).expect("copies");
    refused("another one");
    std::fs::write(&marker, own).expect("writes");
    // Put back it is as it was, but for the files.
    std::fs::write(&path, whole).expect("writes");
    let store = Store::open(dir.path(), key(1)).expect("opens");
    assert_eq!(knows(&store), [(1, 1)]);
    assert!(store.is_damaged(&round(1).spec.key, "a"), "its part is missing");
}

/// Whatever is cut off or changed, everything is there, or the store is refused: while it is closed, and as a crash
/// leaves it.
#[test]
fn a_damaged_database_has_everything_or_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join(DATABASE);
    let store = filled(dir.path(), 6);
    let all = knows(&store);
    let crashed = std::fs::read(&path).expect("reads");
    drop(store);
    let closed = std::fs::read(&path).expect("reads");
    let (mut refused, mut below) = (0, crate::draws::draws(7));
    let mut draw = |n: usize| below(n as u64) as usize;
    for trial in 0..120 {
        let whole = if trial % 2 == 0 { &closed } else { &crashed };
        let mut bytes = whole.clone();
        match trial % 3 {
            0 => bytes.truncate(1 + draw(whole.len() - 1)),
            1 => {
                // Most of the file is empty: where something stands is more telling.
                let at = loop {
                    let at = draw(bytes.len());
                    if bytes[at] != 0 {
                        break at;
                    }
                };
                bytes[at] ^= 1 << draw(8);
            }
            _ => bytes.truncate((1 + draw(whole.len() / 4096 - 1)) * 4096),
        }
        std::fs::write(&path, &bytes).expect("writes");
        match Store::open(dir.path(), key(1)) {
            Ok(store) => assert_eq!(knows(&store), all, "trial {trial}"),
            Err(e) => {
                refused += 1;
                let named = e.to_string().contains("node.redb") || e.to_string().contains("rounds");
                assert!(named, "trial {trial}: {e}");
            }
        }
    }
    assert!(refused >= 60, "{refused} of 120");
    for whole in [closed, crashed] {
        std::fs::write(&path, whole).expect("writes");
        assert_eq!(knows(&Store::open(dir.path(), key(1)).expect("opens")), all);
    }
}

#[test]
fn a_database_that_is_older_than_the_files_of_rounds_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join(DATABASE);
    drop(filled(dir.path(), 1));
    let older = std::fs::read(&path).expect("reads");
    let store = Store::open(dir.path(), key(1)).expect("opens");
    fill(&store, 2);
    // Once it is released and collected hardly anything is left of it.
    store.put_round(&ended(2)).expect("writes");
    store.erase_parts(&round(2).spec.key).expect("erases");
    drop(store);
    let newer = std::fs::read(&path).expect("reads");
    std::fs::write(&path, older).expect("writes");
    let e = Store::open(dir.path(), key(1)).expect_err("it has forgotten a round");
    assert!(matches!(&e, StoreError::Forgotten { path } if path.ends_with("t/2")), "{e}");
    std::fs::write(&path, newer).expect("writes");
    let store = Store::open(dir.path(), key(1)).expect("opens");
    assert_eq!(knows(&store), [(1, 1), (2, 1)]);
}

fn ended(n: u64) -> Round {
    let mut r = round(n);
    r.step(crate::state::Step::Abort("w".into()), 1).expect("ends");
    r
}

#[test]
fn a_database_that_does_not_know_the_end_of_a_round_whose_parts_were_erased_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join(DATABASE);
    drop(filled(dir.path(), 1));
    let older = std::fs::read(&path).expect("reads");
    let store = Store::open(dir.path(), key(1)).expect("opens");
    store.put_round(&ended(1)).expect("writes");
    store.erase_parts(&round(1).spec.key).expect("erases");
    drop(store);
    let newer = std::fs::read(&path).expect("reads");
    std::fs::write(&path, older).expect("writes");
    // It would have every part for damaged, and have it sent again.
    let e = Store::open(dir.path(), key(1)).expect_err("the round has ended");
    assert!(matches!(&e, StoreError::Older { path } if path.ends_with("t/1")), "{e}");
    std::fs::write(&path, newer).expect("writes");
    assert_eq!(knows(&Store::open(dir.path(), key(1)).expect("opens")), [(1, 1)]);
}

#[test]
fn a_database_that_takes_submissions_beside_what_came_of_them_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = filled(dir.path(), 1);
    store.keep(&round(1).spec.key, Left::Result, b"words").expect("writes");
    drop(store);
    let e = Store::open(dir.path(), key(1)).expect_err("the round was computed");
    assert!(matches!(&e, StoreError::Older { path } if path.ends_with("t/1")), "{e}");
}

#[test]
fn every_number_of_a_round_has_a_count_of_its_own() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = Store::open(dir.path(), key(1)).expect("opens");
    for n in [1, 2, RoundKey::LAST, u64::MAX - 1, u64::MAX] {
        ["a", "b"].iter().for_each(|c| store.count(&record(n, c)).expect("counts"));
    }
    for n in [1, 2, RoundKey::LAST, u64::MAX - 1, u64::MAX] {
        let key = RoundKey { task: "t".into(), round: n };
        assert_eq!(store.count_of(&key).expect("reads"), 2, "{n}");
        assert_eq!(store.submissions(&key).expect("reads").len(), 2, "{n}");
        assert_eq!(key.can_be(), n <= RoundKey::LAST, "{n}");
    }
}

#[test]
fn a_part_that_was_not_counted_is_taken_back_and_one_that_was_is_not() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = filled(dir.path(), 1);
    let at = round(1).spec.key;
    let place = (&at, "b", "00");
    let mut sealer = store.begin(place, 3, |_| {}).expect("begins");
    sealer.write(b"xyz").expect("writes");
    store.end(place, sealer).expect("ends");
    assert!(dir.path().join("rounds/t/1/b.part").exists());
    ["a", "b"].iter().for_each(|c| store.take_back(&at, c).expect("takes back"));
    assert!(!dir.path().join("rounds/t/1/b.part").exists());
    assert_eq!(**store.read_part(&at, "a").expect("reads"), *b"abc");
}

#[test]
fn what_a_crash_leaves_of_an_opening_is_removed_and_the_round_can_be_opened() {
    let dir = tempfile::tempdir().expect("a folder");
    drop(filled(dir.path(), 1));
    let rounds = dir.path().join("rounds/t");
    // Before its folder has its name, and before the database knows it.
    std::fs::create_dir(rounds.join("2.new")).expect("a folder");
    // A removal of it that a crash ended, too: what is left has no name of a round.
    std::fs::create_dir(rounds.join("3.new")).expect("a folder");
    std::fs::write(rounds.join("3.new/key"), b"half").expect("writes");
    std::fs::create_dir(rounds.join("3")).expect("a folder");
    std::fs::copy(rounds.join("1/key"), rounds.join("3/key")).expect("copies");
    let store = Store::open(dir.path(), key(1)).expect("opens");
    for gone in ["2.new", "3", "3.new"] {
        assert!(!rounds.join(gone).exists(), "{gone}");
    }
    (2..4).for_each(|n| fill(&store, n));
    assert_eq!(knows(&store), [(1, 1), (2, 1), (3, 1)]);
}

#[test]
fn a_damaged_part_is_noted_and_comes_again_and_so_does_one_without_its_key() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = filled(dir.path(), 1);
    let at = round(1).spec.key;
    let part = dir.path().join("rounds/t/1/a.part");
    let mend = |store: &Store| {
        let place = (&at, "a", "00");
        let mut sealer = store.begin(place, 3, |_| {}).expect("begins");
        sealer.write(b"abc").expect("writes");
        store.end(place, sealer).expect("ends");
        assert!(!store.is_damaged(&at, "a"));
        assert_eq!(**store.read_part(&at, "a").expect("reads"), *b"abc");
    };
    let mut sealed = std::fs::read(&part).expect("reads");
    sealed[40] ^= 1;
    std::fs::write(&part, sealed).expect("writes");
    let e = store.read_part(&at, "a").expect_err("is damaged");
    assert!(matches!(&e, StoreError::Part { client } if client == "a"), "{e}");
    assert_eq!(store.damaged_of(&at), ["a"]);
    mend(&store);
    drop(store);
    std::fs::remove_file(dir.path().join("rounds/t/1/key")).expect("removes");
    let store = Store::open(dir.path(), key(1)).expect("opens");
    assert_eq!(store.damaged_of(&at), ["a"]);
    mend(&store);
    assert_eq!(knows(&store), [(1, 1)]);
}

/// A node erases what is left of a round when it ends, now and then, and when a coordinator drops it: maybe at the same time.
#[test]
fn whoever_erases_a_round_at_the_same_time_finds_nothing_to_complain_of() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = filled(dir.path(), 1);
    let at = round(1).spec.key;
    for _ in 0..5 {
        for i in 0..200 {
            let path = dir.path().join(format!("rounds/{}/{}/c{i}.part", at.task, at.round));
            std::fs::write(path, "sealed").expect("writes");
        }
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(|| store.erase_parts(&at))).collect();
            for one in all {
                one.join().expect("ends").expect("erases");
            }
        });
        assert!(store.files(&at).iter().all(|f| f.ends_with("ended")), "{:?}", store.files(&at));
    }
}

/// What cannot be read is there all the same: a state that another round continues is not erased for it.
#[test]
fn what_an_attempt_has_left_is_there_whether_it_can_be_read_or_not() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = filled(dir.path(), 1);
    let at = round(1).spec.key;
    assert!(!store.has(&at, Left::State));
    assert_eq!(store.kept_if_any(&at, Left::State).expect("reads").as_deref(), None);
    store.keep(&at, Left::State, b"shares").expect("keeps");
    let found = store.kept_if_any(&at, Left::State).expect("reads");
    assert_eq!(found.as_deref().map(Vec::as_slice), Some(b"shares".as_slice()));
    std::fs::write(store.folder(&at).join("state"), b"other").expect("writes");
    assert!(store.has(&at, Left::State) && store.kept_if_any(&at, Left::State).is_err());
}
