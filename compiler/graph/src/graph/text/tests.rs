use super::print::number;
use super::*;
use crate::graph::eval::testing::{Kind, random_graph};
use crate::graph::op::tests::examples;
use crate::graph::{Function, Graph, Op, Table};
use proptest::prelude::*;
use slvr_language::types::Elem;
use std::collections::BTreeSet;

/// What an interface, a table and attributes may look like. Operations have their own examples.
const HANDWRITTEN: &str = r#"graph Everything
size m = 10
size M = "models/net.slvr:LeNet 5"
parties Client[3]
parties Server[1]
input 0 global : public fix[6] in -8..8
    fields conv1.weight[2,2] "a \"b\"\n"[2]
input 1 label : secret int in 0..4 one_hot 5 from each Client
input 2 update : secret fix[4] in -0.125..1e300 from each Client
input 3 b : secret bit in 0..1 from each Client
site 0 "gain/hits/conv1" line 10
site 1 "" line 0
site 2 "v beside 0..1" line 3 compares
site 3 "v kept in 0..1" line 3 keeps "a v" -0.5 1e-300

%0 = input 0 : public fix[6] @0
%1 = input 1 : secret int[3,5] @0
%2 = input 2 : secret fix[3,4] @1
%3 = const [1, 0, 3x2, 0..10, -0.1] : public fix[16] @0
%4 = const 1e-7 : public fix[3,4] @0
%5 = scale %2 by=-0.3333333333333333 : secret fix[3,4] @0
%6 = slice %2 axis=1 start=1 len=2 : secret fix[3,2] @0
%7 = concat %6 %2 %6 axis=1 : secret fix[3,8] @0
%8 = sum %2 axes=[0,1] : secret fix @0
%9 = reshape %2 : secret fix[1,3,4] @0
%10 = reshape %3 : public fix[1,4,4] @0
%11 = matmul %9 %10 : secret fix[1,3,4] @0
%12 = reshape %3 : public fix[1,1,1,4,4] @0
%13 = conv2d %12 %12 stride=1 pad=3 dilation=2 : public fix[1,1,1,4,4] @0
%14 = reshape %3 : public fix[1,1,4,2,2] @0
%15 = reshape %3 : public fix[1,4,1,2,2] @0
%16 = conv2d %14 %15 stride=1 pad=0 groups=4 : public fix[1,1,4,1,1] @0

reveal %8 to Server as total @0
reveal %0 to Server as aggregate / 9.5 @1
    fields conv1.weight[2,2] rest[2]
"#;

fn names(graph: &Graph) -> BTreeSet<&'static str> {
    graph.ids().map(|id| graph.op(id).name()).collect()
}

#[test]
fn handwritten_graphs_read_back() {
    assert_eq!(print(&parse(HANDWRITTEN).unwrap()), HANDWRITTEN);
    // Damage is done to these, too.
    assert!(parse(&examples()).is_ok());
}

fn sorted(parts: &[&[&'static str]]) -> Vec<&'static str> {
    let all: BTreeSet<_> = parts.concat().into_iter().collect();
    all.into_iter().collect()
}

#[test]
fn random_graphs_have_all_operations() {
    // What the properties of this crate are worth depends on it.
    let all: BTreeSet<_> = Op::all().iter().map(Op::name).collect();
    let without = |kind| {
        let of: BTreeSet<_> =
            (0..300).flat_map(|seed| names(&random_graph(seed, 60, kind))).collect();
        all.difference(&of).copied().collect::<Vec<_>>()
    };
    let scales = ["div_pow2", "mul_pow2", "shift", "trunc"];
    let noise = ["gaussian", "laplace", "saturate"];
    assert_eq!(without(Kind::Real), sorted(&[&scales[..], &noise]));
    assert_eq!(without(Kind::Scaled), noise);
    // What rounds.
    let functions: Vec<_> = Function::ALL.iter().map(|f| f.facts().name).collect();
    assert_eq!(without(Kind::Lossless), sorted(&[&functions[..], &noise, &["div", "trunc"]]));
}

#[test]
fn blanks_and_comments_do_not_matter() {
    let free = "// a graph
graph   \"A\" // its name

site 0 \"s\" line 1
%0=const [1,\t2 ,
   3] :
   public int[3]@0
";
    let expected = "graph A\nsite 0 \"s\" line 1\n\n%0 = const [1..4] : public int[3] @0\n";
    assert_eq!(print(&parse(free).unwrap()), expected);
}

#[test]
fn tables_are_compacted_and_wrapped() {
    let text = |data: Vec<f64>| {
        let mut graph = parse("graph T\nsite 0 \"\" line 0\n").unwrap();
        let table = Table { shape: vec![data.len() as u64], data: data.into() };
        graph.add(Op::Const(table, Elem::Fix, None), &[], 0);
        let text = print(&graph);
        assert_eq!(print(&parse(&text).unwrap()), text);
        let table = text.split_once("const ").unwrap().1;
        table.rsplit_once(" :").unwrap().0.to_string()
    };
    assert_eq!(text(vec![]), "[]");
    assert_eq!(text(vec![2.0]), "2");
    assert_eq!(text(vec![2.0, 2.0]), "[2, 2]");
    assert_eq!(text(vec![2.0, 2.0, 2.0]), "[3x2]");
    assert_eq!(text(vec![-1.0, 0.0, 1.0, 7.0]), "[-1..2, 7]");
    assert_eq!(text(vec![-2.0, -1.0, -0.0]), "[-2, -1, -0]");
    assert_eq!(text(vec![0.5, 1.5, 2.5]), "[0.5, 1.5, 2.5]");
    assert_eq!(text(vec![1e16; 4]), "[4x1e16]");
    let long = text((0..100).map(|i| f64::from(i % 2)).collect());
    assert!(long.lines().count() > 2 && long.lines().all(|l| l.len() <= 100), "{long}");
}

/// A text with an error, its line and a part of the message.
#[test]
fn errors_name_the_line_and_the_cause() {
    let head = "graph G\nparties C[2]\ninput 0 x : secret fix[3] in 0..1 from each C\nsite 0 \"\" line 0\n";
    let body = |line: &str| format!("{head}{line}\n");
    let first = |rest: &str| body(&format!("%0 = input 0 : secret fix[2,3] @0\n{rest}"));
    let large = "%1 = one_hot %0 classes=2147483648 : secret int[2,3,2147483648] @0";
    let bad = [
        ("".to_string() + "size a = 1", 1, "starts with `graph NAME`"),
        ("\n graph G".into(), 2, "a continuation of nothing"),
        ("graph G\ngraph H".into(), 2, "a second `graph`"),
        ("graph G\nparties C".into(), 2, "expected `[`, the item ends here"),
        ("graph G\nparties C[1]\nparties C[2]".into(), 3, "two party sets are named C"),
        ("graph G\nsize a = \"b".into(), 2, "a quote is not closed"),
        ("graph G\nsize a = \"\\q\"".into(), 2, "unknown escape"),
        ("graph G\nsize a = \"\\u{d800}\"".into(), 2, "a code point"),
        ("graph G\nsize a = 1 2".into(), 2, "expected the end of the item, found `2`"),
        ("graph G\nsize a = §".into(), 2, "unexpected '§'"),
        ("graph G\nfrac 16\nfrac 16".into(), 3, "`frac` stands once"),
        ("graph G\nfrac 2000".into(), 2, "not an integer in 0..=1024"),
        (body("frob 1"), 5, "`frob` starts no item"),
        (body("input 0 y : public fix in 0..1"), 5, "this is input 1"),
        (body("input 1 y : public int.3 in 0..1"), 5, "only a `fix` has a scale of its own"),
        (body("input 1 y : public fix in 01"), 5, "two numbers with `..` between"),
        (body("input 1 y : public fix in 0..NaN"), 5, "`NaN` is not a number"),
        (body("input 1 y : secret fix in 0..1"), 5, "expected `from`"),
        (body("input 1 y : secret fix in 0..1 from each D"), 5, "no party set D"),
        (body("input 1 y : fix in 0..1"), 5, "expected `public` or `secret`"),
        (body("site 2 \"\" line 0"), 5, "this is site 1"),
        (body("%1 = input 0 : secret fix[2,3] @0"), 5, "this is node 0"),
        (body("%0 = input 0 : secret fix[2,3] @1"), 5, "no site 1"),
        (body("%0 = input 1 : secret fix[2,3] @0"), 5, "no input 1"),
        (
            body("%0 = input 0 : secret fix[3,2] @0"),
            5,
            "gives secret fix[2,3], not secret fix[3,2]",
        ),
        (body("%0 = input 0 : public fix[2,3] @0"), 5, "gives secret fix[2,3], not public"),
        (body("%0 = input 0 : secret float[2,3] @0"), 5, "`float` is not an element type"),
        (body("%0 = input 0 : secret fix.x[2,3] @0"), 5, "`x` is not a number of fraction bits"),
        (first("%1 = neg %1 : secret fix[2,3] @0"), 6, "%1 is not defined above"),
        (first("%1 = frob %0 : secret fix[2,3] @0"), 6, "no operation `frob`"),
        (first("%1 = add %0 : secret fix[2,3] @0"), 6, "takes 2 operands, got 1"),
        (first("%1 = neg %0 by=2 : secret fix[2,3] @0"), 6, "neg has no attribute `by`"),
        (first("%1 = scale %0 : secret fix[2,3] @0"), 6, "scale needs `by=` a number"),
        (first("%1 = scale %0 by=1 by=2 : secret fix[2,3] @0"), 6, "no attribute `by`"),
        (first("%1 = sum %0 axes=1 : secret fix[2,3] @0"), 6, "sum needs `axes=` a list"),
        (first("%1 = sum %0 axes=[2] : secret fix[2,3] @0"), 6, "no such axis"),
        (first("%1 = max %0 axis=0.5 : secret fix[3] @0"), 6, "`axis` must be an integer"),
        (first("%1 = trunc %0 by=9999 : secret fix[2,3] @0"), 6, "`by` is at most 1024"),
        (first("%1 = trunc %0 by=1 : secret fix[2,3] @0"), 6, "before scales are known"),
        (first("%1 = const [1, 2] : public fix[3] @0"), 6, "table of wrong size"),
        (first("%1 = const [1,\n 2\n 3] : public fix[3] @0"), 8, "expected `,`, found `3`"),
        (first("%1 = const [5..3] : public fix[3] @0"), 6, "not an ascending range"),
        (first("%1 = const [ax3] : public fix[3] @0"), 6, "`a` is not a count"),
        (first("%1 = const [99999999x0] : public fix[99999999] @0"), 6, "table entries"),
        (first("%1 = const [0..9999999999] : public fix[3] @0"), 6, "table entries"),
        (first("%1 = const 0 : public fix[4503599627370496] @0"), 6, "0..=1099511627776"),
        (first("%1 = const 0 : public fix[0,4294967296,4294967296] @0"), 6, "is too large"),
        (
            first(&format!("{large}\n%2 = one_hot %1 classes=2000000000 : secret int @0")),
            7,
            "is too large",
        ),
        (first("reveal %1 to C as x @0"), 6, "%1 is not defined above"),
        (first("reveal %0 to D as x @0"), 6, "no party set D"),
        (first("reveal %0 to C as x / y @0"), 6, "`y` is not a number"),
    ];
    for (text, line, part) in bad {
        let error = parse(&text).expect_err(&text);
        assert!(error.line == line && error.message.contains(part), "{text}\n=> {error}");
    }
}

/// Scales that double with each product stop at an error, not at an overflow.
#[test]
fn scales_are_bounded() {
    let mut text = String::from("graph G\nfrac 1000\nsite 0 \"\" line 0\n");
    text += "%0 = const 0 : public fix.1000 @0\n%1 = mul %0 %0 : public fix.2000 @0\n";
    assert_eq!(parse(&text).unwrap_err().line, 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_graphs_read_back(seed: u64, nodes in 0usize..80, scaled: bool) {
        let graph = random_graph(seed, nodes, if scaled { Kind::Scaled } else { Kind::Real });
        let text = print(&graph);
        let back = parse(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(print(&back), text);
        prop_assert_eq!(back.len(), graph.len());
        for id in graph.ids() {
            prop_assert_eq!(back.node(id), graph.node(id));
            prop_assert_eq!(back.args(id), graph.args(id));
        }
        prop_assert_eq!(&back.inputs, &graph.inputs);
        prop_assert_eq!(&back.outputs, &graph.outputs);
        prop_assert_eq!(&back.sites, &graph.sites);
    }

    #[test]
    fn numbers_read_back(bits: u64) {
        let x = f64::from_bits(bits);
        prop_assume!(!x.is_nan());
        prop_assert_eq!(number(x).parse::<f64>().unwrap().to_bits(), bits);
    }

    #[test]
    fn names_read_back(name in "\\PC*|[\\x00-\\x7f]*") {
        let mut graph = parse(HANDWRITTEN).unwrap();
        graph.name = name.clone();
        graph.parties[0].0 = format!("{name}1");
        graph.inputs[0].fields[0].0 = name.clone();
        graph.sites[0].name = name.clone();
        graph.outputs[0].name = name.clone();
        let back = parse(&print(&graph)).unwrap();
        prop_assert_eq!(back.name, name);
        prop_assert_eq!(back.parties, graph.parties);
        prop_assert_eq!(back.inputs, graph.inputs);
        prop_assert_eq!(back.sites, graph.sites);
        prop_assert_eq!(back.outputs, graph.outputs);
    }

    /// Damaged texts are refused or read, but never a panic.
    #[test]
    fn no_text_panics(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4u8), 1..6),
        scaled: bool,
    ) {
        let mut text = if scaled { examples() } else { HANDWRITTEN.to_string() };
        let pieces = ["9", "[", "]", "%0", "..", "0", "x", "=", "4294967295", "\n", "\"", " ", "-", "1e9"];
        for (at, what, kind) in edits {
            let mut tokens: Vec<&str> = text.split_inclusive([' ', ',', '\n', '[', '=']).collect();
            let piece = pieces[what.index(pieces.len())];
            let at = at.index(tokens.len());
            match kind {
                0 => drop(tokens.remove(at)),
                1 => tokens[at] = piece,
                2 => tokens.insert(at, piece),
                _ => {
                    let other = what.index(tokens.len());
                    tokens.swap(at, other);
                }
            }
            text = tokens.concat();
            if text.is_empty() {
                break;
            }
        }
        if let Ok(graph) = parse(&text) {
            let printed = print(&graph);
            prop_assert_eq!(print(&parse(&printed).unwrap()), printed);
            // The verifier does not panic either.
            let _ = crate::graph::verify::verify(&graph);
        }
    }

    #[test]
    fn no_string_panics(text in ".*|graph x\n(.*\n)*|graph x\n(%0 = [a-z]* %0.*\n)*") {
        let _ = parse(&text);
    }
}
