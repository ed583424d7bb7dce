//! Bars of progress on standard error.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of this length that looks so.
pub fn bar(length: u64, look: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(look);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style.progress_chars("=> "))
}
