use super::*;
use crate::graph::eval::testing::{Kind, random_graph};
use crate::graph::{Output, Table, text};
use proptest::prelude::*;

const INTERFACE: &str = r#"graph G
parties Client[3]
parties Server[1]
input 0 x : secret fix[4] in -8..8 from each Client
    fields a[3] b
input 1 label : secret int in 0..4 one_hot 5 from each Client
input 2 at : public int[2] in 0..2
site 0 "s" line 1
"#;

const SCALED: &str = r#"graph G
parties Server[1]
frac 16
site 0 "s" line 1
"#;

fn parsed(interface: &str, nodes: &str) -> Graph {
    text::parse(&format!("{interface}{nodes}\n")).unwrap_or_else(|e| panic!("{e}"))
}

/// A graph that passes.
fn sound() -> Graph {
    let nodes = "%0 = input 0 : secret fix[3,4] @0
%1 = input 2 : public int[2] @0
%2 = gather %0 %1 axis=0 batch=0 : secret fix[2,4] @0
reveal %2 to Server as first / 2 @0
    fields a[3] b
reveal %0 to Server as second @0";
    let graph = parsed(INTERFACE, nodes);
    assert_eq!(verify(&graph), Ok(()));
    graph
}

#[track_caller]
fn refused(graph: &Graph, message: &str) {
    match verify(graph) {
        Ok(()) => panic!("accepted:\n{}", text::print(graph)),
        Err(e) => assert_eq!(e.to_string(), message),
    }
}

#[track_caller]
fn nodes_refused(interface: &str, nodes: &str, message: &str) {
    refused(&parsed(interface, nodes), message);
}

fn ty(graph: &Graph, node: u32) -> Type {
    graph.ty(NodeId(node)).clone()
}

#[test]
fn operands_precede_users() {
    let mut graph = sound();
    let ty = ty(&graph, 0);
    graph.add_typed(Op::Neg, ty, &[NodeId(3)], 0);
    refused(&graph, "%3: operand %3 does not precede it");
}

#[test]
fn types_are_those_that_follow() {
    let mut graph = sound();
    let mut ty = ty(&graph, 0);
    ty.shape = vec![3];
    graph.add_typed(Op::Neg, ty.clone(), &[NodeId(0)], 0);
    refused(&graph, "%3 = neg: has type secret fix[3], but gives secret fix[3,4]");

    let mut graph = sound();
    ty.shape = vec![3, 4];
    ty.secrecy = Secrecy::Public;
    graph.add_typed(Op::Neg, ty.clone(), &[NodeId(0)], 0);
    refused(&graph, "%3 = neg: has type public fix[3,4], but gives secret fix[3,4]");

    let mut graph = sound();
    graph.add_typed(Op::Add, ty.clone(), &[NodeId(0)], 0);
    refused(&graph, "%3 = add: takes 2 operands, got 1");

    let mut graph = sound();
    graph.add_typed(Op::Input(9), ty, &[], 0);
    refused(&graph, "%3 = input: no input 9");
}

#[test]
fn sites_exist() {
    let mut graph = sound();
    let ty = ty(&graph, 0);
    graph.add_typed(Op::Neg, ty, &[NodeId(0)], 1);
    refused(&graph, "%3 = neg: there is no site 1");
}

#[test]
fn inputs_are_possible() {
    let with = |i: usize, change: &dyn Fn(&mut crate::graph::Input), message: &str| {
        let mut graph = sound();
        change(&mut graph.inputs[i]);
        let name = graph.inputs[i].name.clone();
        refused(&graph, &format!("input {i} ({name}): {message}"));
    };
    with(1, &|i| i.name = "x".into(), "another input has this name");
    with(
        0,
        &|i| i.from = crate::graph::Giver::Each(2),
        "the party set that gives it does not exist",
    );
    with(0, &|i| i.range = (1.0, 0.0), "its range is empty or not a number");
    with(0, &|i| i.range = (f64::NAN, 0.0), "its range is empty or not a number");
    with(0, &|i| i.fields.truncate(1), "its fields do not fill its last axis");
    with(0, &|i| i.shape = vec![], "its fields do not fill its last axis");
    with(0, &|i| i.fields[0].1 = vec![u64::MAX, 2], "its fields do not fill its last axis");
    with(0, &|i| i.elem = Elem::Bit, "the range of a bit lies within 0..1");
    with(1, &|i| i.elem = Elem::Fix, "only an int is one-hot");
    with(1, &|i| i.range = (0.0, 5.0), "its range does not lie within its classes");
    with(1, &|i| i.range = (-1.0, 3.0), "its range does not lie within its classes");
    with(1, &|i| i.one_hot = Some(0), "its range does not lie within its classes");
    with(
        1,
        &|i| {
            i.shape = vec![2];
            i.fields = vec![("a".into(), vec![2])];
        },
        "a one-hot input has no fields",
    );
}

#[test]
fn outputs_are_possible() {
    let with = |change: &dyn Fn(&mut Output), message: &str| {
        let mut graph = sound();
        change(&mut graph.outputs[1]);
        let name = graph.outputs[1].name.clone();
        refused(&graph, &format!("output 1 ({name}): {message}"));
    };
    with(&|o| o.name = "first".into(), "another output has this name");
    with(&|o| o.node = NodeId(3), "its node does not exist");
    with(&|o| o.to = 2, "its receiver does not exist");
    with(&|o| o.site = 1, "its site does not exist");
    with(&|o| o.divisor = 0.0, "its factor or divisor is not a number other than 0");
    with(&|o| o.divisor = f64::NAN, "its factor or divisor is not a number other than 0");
    with(&|o| o.fields = vec![("a".into(), vec![5])], "its fields do not fill its last axis");
}

#[test]
fn all_numbers_have_scales_or_none() {
    nodes_refused(
        INTERFACE,
        "%0 = const 1 : public fix.16 @0",
        "%0 = const: a scale in a graph without fraction bits",
    );
    nodes_refused(
        SCALED,
        "%0 = const 1 : public int @0",
        "%0 = const: a number without a scale in a graph with fraction bits",
    );
    nodes_refused(
        SCALED,
        "%0 = const 1 : public fix.32 @0
%1 = mul %0 %0 : public fix.64 @0",
        "%1 = mul: the scale is 64 bits or more",
    );
    nodes_refused(
        SCALED,
        "%0 = const 0 : public int.0 @0
%1 = shift %0 by=64 : public fix.64 @0",
        "%1 = shift: the scale is 64 bits or more",
    );
    let mut graph = parsed(SCALED, "");
    graph.add(Op::Const(Table::splat(1.0, vec![]), Elem::Bit, Some(0)), &[], 0);
    refused(&graph, "%0 = const: a bit has no scale");
}

#[test]
fn constants_fit_their_type() {
    let consts = [
        ("[1, inf] : public fix[2]", "entry 1 is not a number"),
        ("[0, 2] : public bit[2]", "entry 1 is not a bit"),
        ("0.5 : public int[2]", "entry 0 is not an integer"),
    ];
    for (table, why) in consts {
        nodes_refused(INTERFACE, &format!("%0 = const {table} @0"), &format!("%0 = const: {why}"));
    }
    let why = "%0 = const: entry 0 is beyond 64 bits";
    nodes_refused(SCALED, "%0 = const 140737488355328 : public fix.16 @0", why);
    assert_eq!(verify(&parsed(SCALED, "%0 = const 140737488355327 : public fix.16 @0")), Ok(()));
}

#[test]
fn indices_are_public_and_in_range() {
    let gather = |index: &str, message: &str| {
        let nodes = format!(
            "%0 = input 0 : secret fix[3,4] @0\n%1 = input 1 : secret int[3,5] @0\n{index}"
        );
        nodes_refused(INTERFACE, &nodes, message);
    };
    gather(
        "%2 = const [0, 3] : public int[2] @0
%3 = gather %0 %2 axis=0 batch=0 : secret fix[2,4] @0",
        "%3 = gather: index 3 of an axis of size 3",
    );
    gather(
        "%2 = const -1 : public int[2] @0
%3 = gather %0 %2 axis=1 batch=0 : secret fix[3,2] @0",
        "%3 = gather: index -1 of an axis of size 4",
    );
    gather(
        "%2 = gather %0 %1 axis=0 batch=0 : secret fix[3,5,4] @0",
        "%2 = gather: its index is secret int[3,5], not a public int of scale 0",
    );
    gather(
        "%2 = const 1 : public fix[2] @0
%3 = gather %0 %2 axis=1 batch=0 : secret fix[3,2] @0",
        "%3 = gather: its index is public fix[2], not a public int of scale 0",
    );
    nodes_refused(
        SCALED,
        "%0 = const 1 : public int.4 @0
%1 = const 1 : public fix.16[2] @0
%2 = gather %1 %0 axis=0 batch=0 : public fix.16 @0",
        "%2 = gather: its index is public int.4, not a public int of scale 0",
    );
}

#[test]
fn labels_are_integers_in_range() {
    nodes_refused(
        INTERFACE,
        "%0 = const [0, 3] : public int[2] @0
%1 = one_hot %0 classes=3 : public int[2,3] @0",
        "%1 = one_hot: a label beyond the classes",
    );
    nodes_refused(
        INTERFACE,
        "%0 = const 0 : public fix[2] @0
%1 = one_hot %0 classes=3 : public int[2,3] @0",
        "%1 = one_hot: the label is not an int",
    );
    nodes_refused(
        INTERFACE,
        "%0 = input 0 : secret fix[3,4] @0
%1 = argmax_is %0 %0 : secret bit[3] @0",
        "%1 = argmax_is: the label is not one-hot",
    );
}

#[test]
fn attributes_are_possible() {
    // Without a shape it is not even read.
    let none = "%0 = const 0 : public fix[1,1,1,2,2] @0
%1 = conv2d %0 %0 stride=0 pad=0 : public fix[1,1,1,1,1] @0";
    let why = text::parse(&format!("{INTERFACE}{none}\n")).expect_err("a stride of 0").to_string();
    assert!(why.contains("do not fit"), "{why}");
    nodes_refused(
        INTERFACE,
        "%0 = committee n=3 k=3 : public int[3,3] @0",
        "%0 = committee: more drawn than there are others",
    );
    for (op, ty) in
        [("max %0 axis=1", "fix[2]"), ("min %0 axis=1", "fix[2]"), ("argmax %0", "int[2]")]
    {
        let nodes = format!("%0 = const 0 : public fix[2,0] @0\n%1 = {op} : public {ty} @0");
        let name = op.split(' ').next().unwrap();
        nodes_refused(INTERFACE, &nodes, &format!("%1 = {name}: an empty axis has no largest"));
    }
    nodes_refused(
        INTERFACE,
        "%0 = const 0 : public fix @0\n%1 = scale %0 by=inf : public fix @0",
        "%1 = scale: the factor is not a number",
    );
    for by in ["0.5", "9223372036854775808"] {
        let nodes =
            format!("%0 = const 0 : public fix.16 @0\n%1 = scale %0 by={by} : public fix.16 @0");
        let why = "%1 = scale: with scales a factor is an integer below 2^63";
        nodes_refused(SCALED, &nodes, why);
    }
}

proptest! {
    #[test]
    fn random_graphs_are_accepted(seed: u64, nodes in 0usize..80, kind in 0..3usize) {
        let kind = [Kind::Real, Kind::Scaled, Kind::Lossless][kind];
        prop_assert_eq!(verify(&random_graph(seed, nodes, kind)), Ok(()));
    }
}
