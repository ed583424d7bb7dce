//! Network profiles by name or file: what `--net` takes.

use crate::error::{About as _, Result, misuse};
use crate::files;
use slvr_compiler::cost::NetProfile;
use std::path::Path;

/// The network profile of that name or file.
pub fn profile(name: &str) -> Result<NetProfile> {
    if let Some(profile) = NetProfile::named(name) {
        return Ok(profile);
    }
    if !name.contains(['.', '/', '\\']) {
        misuse!("--net: `{name}` is not loopback, lan, wan or the name of a .toml file");
    }
    let path = Path::new(name);
    let text = files::text(path, 1 << 16)?;
    let shown = path.file_stem().map_or(name.into(), |s| s.to_string_lossy());
    NetProfile::parse(&shown, &text).about(|| format!("{name}: no profile"))
}
