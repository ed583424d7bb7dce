//! What is part of the binary, put where an editor can open it: files of the library, and what codes mean.

use slvr_compiler::diagnostic::{codes, explain};
use slvr_compiler::syntax::embedded;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The URI of a library file, which is written to the user's cache if it is not there yet.
pub fn uri(name: &str) -> Option<String> {
    file_uri(&kept(name, embedded::get(name)?, true).ok()?)
}

/// The URI of what `slvrc explain E0007` says of a code.
pub fn explanation(code: &str) -> Option<String> {
    let (known, _) = codes::ALL.iter().find(|(known, _)| known.to_string() == code)?;
    file_uri(&kept(&format!("explain/{code}.md"), explain::markdown(*known)?, true).ok()?)
}

/// The URI of a page that was made for a program; the next one of that name takes its place.
pub fn page(name: &str, text: &str) -> Option<String> {
    file_uri(&kept(&format!("pages/{name}.html"), text, false).ok()?)
}

/// The path of a text in the user's cache, written there if it is not yet; and read-only, where an edit would change
/// nothing. Each version of the compiler has a folder of its own.
fn kept(name: &str, text: &str, fixed: bool) -> io::Result<PathBuf> {
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
        permissions.set_readonly(fixed);
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

/// The path of `file:///..`.
pub fn path(uri: &str) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    let mut rest = uri.strip_prefix("file://")?.bytes();
    while let Some(byte) = rest.next() {
        let digit = |b: Option<u8>| Some(char::from(b?).to_digit(16)? as u8);
        bytes.push(match byte {
            b'%' => digit(rest.next())? << 4 | digit(rest.next())?,
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).ok()?;
    // `/C:/x` is `C:/x`.
    let drive = text.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if drive { text.get(1..)? } else { &text }))
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
