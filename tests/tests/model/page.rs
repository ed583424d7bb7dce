//! The page beside this test that lists the macros, with what was gone through.

use super::circuits::{Build, Macro};
use super::space::{Counted, LONG};
use std::path::PathBuf;
use std::sync::Mutex;

static WRITING: Mutex<()> = Mutex::new(());

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/model/counted.md")
}

fn marks(build: Build) -> [String; 2] {
    [format!("<!-- model {} -->\n", build.name()), "<!-- end -->".into()]
}

/// The table of a build.
fn table(rows: &[(&Macro, Counted)]) -> String {
    let mut out = String::from(
        "\n| macro | size | operands, compared | bits unknown to a party | own words | cases | cases of a long run |\n|---|---|---|---|---|---|---|\n",
    );
    for (of, c) in rows {
        let operands = match c.compared == c.operands {
            true => format!("{}, all", c.operands),
            false => format!("{}, {}", c.operands, c.compared),
        };
        let unknown = format!("{}, {}", c.unknown, if c.drawn { "drawn" } else { "all" });
        let own = if c.all_own { "all".into() } else { c.own.to_string() };
        let long = match c.extent.within(LONG) {
            true => format!("{}, all", c.extent.cases),
            false if c.extent.bits < 64.0 => format!("drawn of 2^{:.0}", c.extent.bits.floor()),
            false => "drawn".into(),
        };
        out += &format!(
            "| {} | {} | {operands} | {unknown} | {own} | {} | {long} |\n",
            of.name, of.size, c.cases
        );
    }
    out + "\n"
}

/// Compares the page's table with what was counted; with `SLVR_BLESS=1` writes it.
pub fn compare(build: Build, rows: &[(&Macro, Counted)]) {
    let _one = WRITING.lock().unwrap_or_else(|e| e.into_inner());
    let text = std::fs::read_to_string(path()).expect("the page");
    let [begin, end] = marks(build);
    let from = text.find(&begin).expect("a table for each build") + begin.len();
    let to = from + text[from..].find(&end).expect("its end");
    let new = table(rows);
    if std::env::var_os("SLVR_BLESS").is_some_and(|v| v != "0") {
        std::fs::write(path(), [&text[..from], &new, &text[to..]].concat()).expect("written");
        return;
    }
    assert!(
        text[from..to] == new,
        "{}: the page has another table (SLVR_BLESS=1 replaces it); now:\n{new}",
        build.name()
    );
}
