//! The report as one HTML page: inline style and SVG, no scripts, nothing from elsewhere.
//!
//! | file | does |
//! |---|---|
//! | `style.css` | colours for light and dark, layout for wide and narrow |
//! | `markup.rs` | text as HTML, legends |
//! | `bars.rs` | a bar for each row, with an axis |
//! | `charts.rs` | times; bytes and rounds by line and step |
//! | `timeline.rs` | bytes of each round, by kind |
//! | `tables.rs` | the certificate, the listing, steps, who learns what, warnings |

mod bars;
mod charts;
mod markup;
mod tables;
mod timeline;

use super::report::Report;
use crate::svg::escape;
use crate::units::{bytes, count};
use slvr_compiler::cost::{busiest_party, mean_party};
use std::fmt::Write;

pub fn page(r: &Report) -> String {
    let name = escape(&r.circuit.name);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{name}: cost and leaks</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n<main>\n",
        include_str!("style.css")
    );
    let _ = writeln!(
        out,
        "<h1>{name}</h1>\n<p class=\"soft\">{}: what it costs and what it reveals, before it runs</p>",
        escape(&r.file)
    );
    out.push_str("<ul class=\"sizes\">");
    for (name, value) in &r.circuit.sizes {
        let _ = write!(out, "<li>{}={}</li>", escape(name), escape(value));
    }
    out.push_str("</ul>\n");
    tiles(&mut out, r);
    tables::warnings(&mut out, r);
    tables::certificate(&mut out, r);
    charts::times(&mut out, r);
    charts::rows(&mut out, r);
    timeline::section(&mut out, r);
    tables::listing(&mut out, r);
    tables::steps(&mut out, r);
    tables::learned(&mut out, r);
    let _ = write!(
        out,
        "<footer>Rounds and bytes are exact: a run counts the same. Peak memory is that of the values \
         themselves. Times are estimates: rounds at half a round trip each, then in every round the bytes \
         of whoever sends or receives most at {:.1} GB per second at most, then arithmetic at {:.0} billion multiply-accumulates, {:.0} GB of \
         memory traffic and {:.0} GB of pseudorandom masks per second in a party. 1 MB is 10^6 bytes.</footer>\n\
         </main>\n</body>\n</html>\n",
        slvr_compiler::cost::PACKED_BYTES_PER_S / 1e9,
        slvr_compiler::cost::MACS_PER_S / 1e9,
        slvr_compiler::cost::MEMORY_BYTES_PER_S / 1e9,
        slvr_compiler::cost::PRG_BYTES_PER_S / 1e9,
    );
    out
}

fn tiles(out: &mut String, r: &Report) {
    let c = &r.cost;
    let mut tiles = vec![
        (c.rounds.to_string(), "rounds".to_string()),
        (bytes(mean_party(c.bytes)), "sent by each party (mean)".into()),
    ];
    let uploads = r.circuit.parties.iter().zip(&c.upload).filter(|(_, u)| **u > 0);
    tiles.extend(uploads.map(|(p, u)| (bytes(*u), format!("uploaded by each {}", p.name))));
    tiles.push((count(busiest_party(c.macs), ""), "multiply-accumulates in a party".into()));
    tiles.extend(r.memory().map(|(n, when)| (bytes(n), format!("of memory {when}"))));
    out.push_str("<div class=\"tiles\">");
    for (value, what) in tiles {
        let _ =
            write!(out, "<div class=\"tile\"><b>{value}</b><span>{}</span></div>", escape(&what));
    }
    out.push_str("</div>\n");
}
