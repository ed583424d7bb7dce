//! Network profiles by name or file: what `--net` takes.

use crate::error::{About as _, Result, Usage};
use slvr_compiler::cost::NetProfile;

/// The network profile of that name or file.
pub fn profile(name: &str) -> Result<NetProfile> {
    if let Some(profile) = NetProfile::named(name) {
        return Ok(profile);
    }
    if !name.contains(['.', '/', '\\']) {
        let why = format!("--net: `{name}` is not loopback, lan, wan or the name of a .toml file");
        return Err(Usage(why).into());
    }
    let text = crate::files::read_text(std::path::Path::new(name), 1 << 16)
        .about(|| format!("{name}: cannot be read"))?;
    let shown = std::path::Path::new(name).file_stem().map_or(name.into(), |s| s.to_string_lossy());
    NetProfile::parse(&shown, &text).about(|| format!("{name}: no profile"))
}
