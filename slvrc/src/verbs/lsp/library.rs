//! Files of the library, put where an editor can open them: they are part of the binary.

use slvr_compiler::syntax::embedded;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The URI of a library file, which is written to the user's cache if it is not there yet.
pub fn uri(name: &str) -> Option<String> {
    file_uri(&library_file(name).ok()?)
}

/// The path of a library file in the user's cache, written there if it is not yet, and read-only: an
/// edit would change nothing. Each version of the compiler has a folder of its own.
fn library_file(name: &str) -> io::Result<PathBuf> {
    let text = embedded::get(name).ok_or(io::ErrorKind::NotFound)?;
    let path = cache().join("slvrc").join(env!("CARGO_PKG_VERSION")).join(name);
    if fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Ok(path);
    }
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{file}.{}.tmp", std::process::id()));
    let write = || {
        fs::write(&beside, text)?;
        let mut permissions = fs::metadata(&beside)?.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&beside, permissions)?;
        fs::rename(&beside, &path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&beside)))?;
    Ok(path)
}

/// Where programs of this user keep what they can make again.
fn cache() -> PathBuf {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || folder("HOME");
    let found = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        home().map(|h| h.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| home().map(|h| h.join(".cache")))
    };
    found.unwrap_or_else(env::temp_dir)
}

/// `file:///..` of an absolute path.
fn file_uri(path: &Path) -> Option<String> {
    let path = path.to_str()?.replace('\\', "/");
    let mut uri = String::from("file://");
    // `C:/x` is `/C:/x`.
    if !path.starts_with('/') {
        uri.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(uri)
}
