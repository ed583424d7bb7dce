//! `slvrc check --fix` and `slvrc fmt` write into a file that somebody wrote: what else there is of it stays.

use crate::folder::Place;
use std::fs;

const WRONG: &str = "predicate P[m]() {\n    parties Client[m];\n    parties Server;\n\n    input x: secret fix[2] in -1..1 from each \
                     Client;\n\n    reveal [norm(x[i]) for i in Client] to Server as n;\n}\n";

fn right() -> String {
    format!("use std::{{norm}};\n\n{WRONG}")
}

#[test]
fn a_byte_order_mark_and_line_ends_stay() {
    let place = Place::new();
    place.write("a.slvr", format!("\u{feff}{}", WRONG.replace('\n', "\r\n")));
    let done = place.slvrc("check --fix a.slvr");
    assert_eq!(done.status, 0, "{}", done.stderr);
    let text = String::from_utf8(place.read("a.slvr")).expect("text");
    assert_eq!(text, format!("\u{feff}{}", right().replace('\n', "\r\n")));

    place.write("b.slvr", "\u{feff}const A=1;\n");
    assert_eq!(place.slvrc("fmt b.slvr").status, 0);
    assert_eq!(place.read("b.slvr"), "\u{feff}const A = 1;\n".as_bytes());
}

#[cfg(unix)]
#[test]
fn other_names_of_a_file_are_names_of_what_was_written() {
    let place = Place::new();
    for (verb, wrong, fixed) in
        [("check --fix", WRONG, right()), ("fmt", "const A=1;\n", "const A = 1;\n".to_owned())]
    {
        place.write("a.slvr", wrong);
        drop(fs::remove_file(place.path("b.slvr")));
        fs::hard_link(place.path("a.slvr"), place.path("b.slvr")).expect("a link");
        drop(fs::remove_file(place.path("c.slvr")));
        std::os::unix::fs::symlink("a.slvr", place.path("c.slvr")).expect("a link");
        assert_eq!(place.slvrc(&format!("{verb} c.slvr")).status, 0);
        for name in ["a.slvr", "b.slvr", "c.slvr"] {
            assert_eq!(place.read(name), fixed.as_bytes(), "{verb} {name}");
        }
        let there = fs::symlink_metadata(place.path("c.slvr")).expect("it is there");
        assert!(there.is_symlink(), "{verb}");
    }
}

#[test]
fn a_read_only_file_is_refused() {
    let place = Place::new();
    for (verb, text) in [("check --fix", WRONG), ("fmt", "const A=1;\n")] {
        place.write("a.slvr", text);
        let path = place.path("a.slvr");
        let set = |readonly: bool| {
            let mut permissions = fs::metadata(&path).expect("it is there").permissions();
            permissions.set_readonly(readonly);
            fs::set_permissions(&path, permissions).expect("mine");
        };
        set(true);
        let done = place.slvrc(&format!("{verb} a.slvr"));
        assert_eq!(done.status, 1, "{verb}: {}", done.stderr);
        assert!(
            done.stderr.contains("a.slvr: cannot be written: it is read-only"),
            "{}",
            done.stderr
        );
        assert_eq!(place.read("a.slvr"), text.as_bytes());
        set(false);
    }
}

#[test]
fn hints_about_another_file_are_named_and_not_done() {
    let place = Place::new();
    place.write(
        "check.slvr",
        "predicate P[M: model, m]() {\n    parties Client[m];\n    parties Server;\n\n    input w: secret weights M in -1..1 from \
         each Client;\n\n    reveal [norm(w[i]) for i in Client] to Server as n;\n}\n",
    );
    let model = "model Net(x: fix[4]) -> fix[2] {\n    fc: Linear[4, 2];\n\n    x |> fc\n}\n";
    place.write("net.slvr", model);
    let done = place.slvrc("check --fix check.slvr M=net.slvr m=2");
    assert_eq!(done.status, 1, "{}", done.stderr);
    assert!(done.stderr.contains("check.slvr: 1 place fixed"), "{}", done.stderr);
    assert!(
        done.stderr
            .contains("net.slvr: hints are about 1 place of this file, which is not written"),
        "{}",
        done.stderr
    );
    assert_eq!(place.read("net.slvr"), model.as_bytes());
}
