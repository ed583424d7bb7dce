//! Files in and out: how much is read is bounded before it is read, and what is written is there whole or not
//! at all.

use crate::error::{About as _, Result, refuse};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The bytes of a regular file of at most `most` bytes. What is no regular file is refused before it is
/// opened: a pipe would block, and a device has no end.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    let other = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    if found.is_dir() {
        return Err(other("it is a directory".into()));
    }
    if !found.is_file() {
        return Err(other("it is a pipe or a device, not a file; copy it to one".into()));
    }
    let too_long =
        |size: u64| other(format!("it has {size} bytes or more, and at most {most} are read"));
    if found.len() > most {
        return Err(too_long(found.len()));
    }
    let mut bytes = Vec::with_capacity(found.len() as usize);
    // It may grow while it is read.
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(too_long(most + 1)),
        false => Ok(bytes),
    }
}

/// As [`read`], of a text, without the byte order mark that editors put before it.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read(path, most)?;
    let not_text = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(not_text("it is UTF-16 text: save it as UTF-8"));
    }
    let text = String::from_utf8(bytes).map_err(|_| not_text("it is not UTF-8 text"))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// As [`read_text`], with an error that says which file it is.
pub fn text(path: &Path, most: u64) -> Result<String> {
    read_text(path, most).about(|| format!("{}: cannot be read", path.display()))
}

/// Makes a folder, and those that it is in.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).about(|| format!("{}: cannot be made", path.display()))
}

/// Whether a file could be written here, as far as one can tell without writing it.
pub fn can_write(path: &Path) -> Result<()> {
    let why = match fs::metadata(path) {
        Ok(there) if there.is_dir() => "it is a directory",
        Ok(there) if there.permissions().readonly() => "it is read-only",
        Ok(_) => return Ok(()),
        Err(_) => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
            match folder.unwrap_or(Path::new(".")).metadata() {
                Ok(there) if !there.is_dir() => "its folder is none",
                Ok(there) if there.permissions().readonly() => "its folder is read-only",
                Ok(_) => return Ok(()),
                Err(_) => "there is no such folder",
            }
        }
    };
    refuse!("{}: cannot be written: {why}", path.display())
}

/// Writes a file whole or not at all: under another name beside it, then renamed over it. Permissions of a
/// file that was there stay; a link is followed. What is no regular file, such as `/dev/stdout`, is written
/// to as it is.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    prepare(path, bytes, false)?.commit()
}

/// [`write()`] of a secret: nobody but its owner may read what was not there.
pub fn write_secret(path: &Path, bytes: &[u8]) -> Result<()> {
    prepare(path, bytes, true)?.commit()
}

/// Writes another text into a file that somebody wrote: one that is read-only is refused, its byte order mark stays,
/// and so does what else it is named.
///
/// # Errors
///
/// What is not written.
pub fn rewrite(path: &Path, text: &str) -> Result<()> {
    can_write(path)?;
    let failed = || format!("{}: cannot be written", path.display());
    let mut start = Vec::new();
    let mark = "\u{feff}";
    File::open(path)
        .and_then(|f| f.take(mark.len() as u64).read_to_end(&mut start))
        .about(failed)?;
    let mut bytes = if start == mark.as_bytes() { start } else { Vec::new() };
    bytes.extend_from_slice(text.as_bytes());
    if !has_other_names(path) {
        return write(path, &bytes);
    }
    let write = || {
        let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(&bytes)?;
        file.sync_all()
    };
    write().about(failed)
}

/// Whether a file has hard links: what is renamed over one of them is another file.
fn has_other_names(path: &Path) -> bool {
    #[cfg(unix)]
    return fs::metadata(path).is_ok_and(|there| std::os::unix::fs::MetadataExt::nlink(&there) > 1);
    #[cfg(not(unix))]
    return false;
}

/// Refuses to write over what is read.
pub fn differ(read: &str, written: &Path) -> Result<()> {
    let same = fs::canonicalize(read).ok().zip(fs::canonicalize(written).ok());
    if same.is_some_and(|(a, b)| a == b) {
        refuse!("{}: this is what is read: it would be written over", written.display());
    }
    Ok(())
}

/// A file that is there under another name, and takes its own only once it is wanted. Otherwise it is removed.
pub struct Prepared {
    /// Under which name it is, and under which it will be; nothing of what was written as it is.
    names: Option<(PathBuf, PathBuf)>,
}

impl Prepared {
    /// Takes the place of what was there.
    pub fn commit(mut self) -> Result<()> {
        let Some((beside, path)) = self.names.take() else { return Ok(()) };
        fs::rename(&beside, &path)
            .inspect_err(|_| drop(fs::remove_file(&beside)))
            .about(|| format!("{}: cannot be written", path.display()))
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.names {
            drop(fs::remove_file(beside));
        }
    }
}

/// Writes a file whole under another name beside it, as [`write()`] does before it renames it; `secret` if nobody but
/// its owner may read what was not there.
pub fn prepare(path: &Path, bytes: &[u8], secret: bool) -> Result<Prepared> {
    let failed = || format!("{}: cannot be written", path.display());
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(fs::Metadata::is_dir) {
        refuse!("{}: cannot be written: it is a directory", path.display());
    }
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        fs::write(path, bytes).about(failed)?;
        return Ok(Prepared { names: None });
    }
    let path = match there {
        Some(_) => fs::canonicalize(path).about(failed)?,
        None => path.to_path_buf(),
    };
    let beside = beside(&path);
    let write = || {
        let mut how = OpenOptions::new();
        how.write(true).create(true).truncate(true);
        #[cfg(unix)]
        if secret {
            std::os::unix::fs::OpenOptionsExt::mode(&mut how, 0o600);
        }
        let mut file = how.open(&beside)?;
        file.write_all(bytes)?;
        if let Some(there) = &there {
            file.set_permissions(there.permissions())?;
        }
        file.sync_all()
    };
    write().inspect_err(|_| drop(fs::remove_file(&beside))).about(failed)?;
    Ok(Prepared { names: Some((beside, path)) })
}

fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// Removes what a killed program left half written in a folder; only where nobody else writes.
pub fn forget_halves(folder: &Path) {
    let half = |name: &str| {
        let number = name.strip_suffix(".tmp").and_then(|n| n.rsplit_once('.')).map(|(_, n)| n);
        let digits = number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        name.starts_with('.') && digits
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(half) {
            // What cannot be removed takes room, and does no other harm.
            drop(fs::remove_file(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_or_no_file_is_not_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x");
        fs::write(&path, b"four").expect("writes");
        assert_eq!(read(&path, 4).expect("reads"), b"four");
        assert!(read(&path, 3).is_err());
        assert!(read(dir.path(), 1 << 20).is_err());
        #[cfg(unix)]
        assert!(read(Path::new("/dev/zero"), 1 << 20).is_err());
        fs::write(&path, b"\xff\xfe").expect("writes");
        assert!(read_text(&path, 10).is_err());
    }

    #[test]
    fn only_what_was_left_half_written_is_forgotten() {
        let dir = tempfile::tempdir().expect("a folder");
        let half = beside(&dir.path().join("results.json"));
        let others = [".results.json.tmp", "results.json.12.tmp", ".x.1a.tmp", ".lock"];
        for path in others.map(|n| dir.path().join(n)).iter().chain([&half]) {
            fs::write(path, b"x").expect("writes");
        }
        forget_halves(dir.path());
        assert!(!half.exists() && others.iter().all(|n| dir.path().join(n).exists()));
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x");
        write(&path, b"one").expect("writes");
        write(&path, b"two").expect("replaces");
        assert_eq!(fs::read(&path).expect("reads"), b"two");
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).expect("makes");
        assert!(can_write(&folder).is_err() && write(&folder, b"three").is_err());
        assert!(can_write(&dir.path().join("none/x")).is_err());
        assert!(can_write(&path).is_ok());
        let names = fs::read_dir(dir.path()).expect("a folder").count();
        assert_eq!(names, 2, "nothing is left behind");
    }
}
