//! What a folder of inputs says of itself, in `about.json`: where they are from, and who attacks.
//!
//! Nothing is computed from it. Reports name it, so that a measured share says of which data it is.

use crate::error::{About as _, Result};
use crate::files;
use serde::{Deserialize, Serialize};
use std::path::Path;

const NAME: &str = "about.json";
/// Longer descriptions are refused.
const MOST: u64 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Where the inputs are from.
    #[serde(default)]
    pub data: String,
    #[serde(default)]
    pub attacks: Vec<Attack>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// The party set.
    pub of: String,
    pub member: u64,
    pub what: String,
}

impl About {
    /// Of a folder; `None` if it says nothing.
    pub fn read(dir: &Path) -> Result<Option<About>> {
        let path = dir.join(NAME);
        if matches!(path.try_exists(), Ok(false)) {
            return Ok(None);
        }
        let text = files::text(&path, MOST)?;
        let about = serde_json::from_str(&text).about(|| {
            format!(
                "{}: it should be an object of `data`, a text, and `attacks`, a list of objects of `of`, `member` \
                 and `what`",
                path.display()
            )
        })?;
        Ok(Some(about))
    }

    pub fn write(&self, dir: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).about(|| dir.display().to_string())? + "\n";
        files::write(&dir.join(NAME), text.as_bytes())
    }
}
