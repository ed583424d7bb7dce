//! Each pass on a small graph: text, pass, text. Names of nodes are normalised by printing.

use crate::graph::{Graph, text};

const HEAD: &str = "graph T\nparties Client[3]\nparties Server[1]\n\
input 0 x : secret fix[4] in -8..8 from each Client\n\
input 1 label : secret int[] in 0..3 from each Client\n\
input 2 k : secret fix[] in -8..8 from each Client\n\
input 3 image : secret fix[1,1,2,2] in -8..8 from each Client\n\
input 4 kernel : secret fix[1,1,1,1] in -8..8 from each Client\n\
site 0 \"t\" line 1\n";

fn graph(body: &str) -> Graph {
    text::parse(&format!("{HEAD}{body}")).unwrap_or_else(|e| panic!("{e}\n{body}"))
}

pub(super) fn pass(name: &str) -> &'static super::Pass {
    super::pipeline().find(|p| p.name == name).expect("a pass of the pipeline")
}

/// The body of the graph after a pass (and after dead code is gone), beside the one before.
fn after(name: &str, body: &str) -> String {
    let pass = pass(name);
    let done = (pass.run)(&graph(body));
    pass.check(&done).unwrap_or_else(|why| panic!("{why}\n{body}"));
    let done = super::cse::dead_code(&done);
    let text = text::print(&done);
    let keep = |l: &&str| l.starts_with('%') || l.starts_with("reveal") || l.contains("one_hot");
    let after: Vec<&str> = text.lines().filter(keep).collect();
    format!("{}\n\n  ->\n\n{}\n", body.trim(), after.join("\n"))
}

macro_rules! snapshot {
    ($name:ident, $pass:literal, $body:literal) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(after($pass, $body));
        }
    };
}

pub(super) use snapshot;

snapshot!(
    fold_computes_constants,
    "fold",
    "%0 = input 2 : secret fix[3] @0
%1 = const 2.0 : public fix[1] @0
%2 = neg %1 : public fix[1] @0
%3 = scale %0 by=0.5 : secret fix[3] @0
%4 = scale %3 by=2.0 : secret fix[3] @0
%5 = mul %4 %2 : secret fix[3] @0
reveal %5 to Server as y @0
"
);

snapshot!(
    choices_by_tables_become_runs,
    "fold",
    "%0 = input 0 : secret fix[3,4] @0
%1 = slice %0 axis=0 start=1 len=1 : secret fix[1,4] @0
%2 = slice %0 axis=0 start=2 len=1 : secret fix[1,4] @0
%3 = const [1, 0, 0] : public bit[3,1] @0
%4 = const 0 : public int[3,1] @0
%5 = select %3 %1 %4 : secret fix[3,4] @0
%6 = const [0, 1, 0] : public bit[3,1] @0
%7 = select %6 %2 %5 : secret fix[3,4] @0
reveal %7 to Server as y @0
"
);

snapshot!(
    factors_of_channels_move_into_weights,
    "factors",
    "%0 = input 3 : secret fix[3,1,1,2,2] @0
%1 = input 4 : secret fix[3,1,1,1,1] @0
%2 = input 2 : secret fix[3] @0
%3 = reshape %2 : secret fix[3,1,1,1,1] @0
%4 = conv2d %0 %1 stride=1 pad=0 : secret fix[3,1,1,2,2] @0
%5 = sub %4 %3 : secret fix[3,1,1,2,2] @0
%6 = mul %5 %3 : secret fix[3,1,1,2,2] @0
reveal %6 to Server as y @0
"
);

snapshot!(
    factors_stay_where_there_are_fewer_activations_than_weights,
    "factors",
    "%0 = input 0 : secret fix[3,4] @0
%1 = reshape %0 : secret fix[3,2,2] @0
%2 = reshape %0 : secret fix[3,2,2] @0
%3 = const [1.5, 2.5] : public fix[1,1,2] @0
%4 = matmul %1 %2 : secret fix[3,2,2] @0
%5 = mul %4 %3 : secret fix[3,2,2] @0
reveal %5 to Server as y @0
"
);

snapshot!(
    factors_that_are_secret_stay_out_of_public_weights,
    "factors",
    "%0 = input 3 : secret fix[3,1,1,2,2] @0
%1 = const [1.5, 2.5] : public fix[1,2,1,1,1] @0
%2 = input 2 : secret fix[3] @0
%3 = reshape %2 : secret fix[3,1,1,1,1] @0
%4 = conv2d %0 %1 stride=1 pad=0 : secret fix[3,1,2,2,2] @0
%5 = mul %4 %3 : secret fix[3,1,2,2,2] @0
%6 = const [0.5, 0.25] : public fix[1,1,2,1,1] @0
%7 = conv2d %0 %1 stride=1 pad=0 : secret fix[3,1,2,2,2] @0
%8 = mul %7 %6 : secret fix[3,1,2,2,2] @0
reveal %5 to Server as y @0
reveal %8 to Server as z @0
"
);

snapshot!(
    cse_merges_equal_nodes,
    "cse",
    "%0 = input 2 : secret fix[3] @0
%1 = mul %0 %0 : secret fix[3] @0
%2 = mul %0 %0 : secret fix[3] @0
%3 = neg %0 : secret fix[3] @0
%4 = add %1 %2 : secret fix[3] @0
reveal %4 to Server as y @0
"
);

snapshot!(
    argmax_forms_no_index,
    "argmax",
    "%0 = input 0 : secret fix[3,4] @0
%1 = input 1 : secret int[3] @0
%2 = argmax %0 : secret int[3] @0
%3 = eq %2 %1 : secret bit[3] @0
%4 = to_int %3 : secret int[3] @0
reveal %4 to Server as y @0
"
);

snapshot!(
    argmax_keeps_a_label_that_is_used_otherwise,
    "argmax",
    "%0 = input 0 : secret fix[3,4] @0
%1 = input 1 : secret int[3] @0
%2 = argmax %0 : secret int[3] @0
%3 = eq %2 %1 : secret bit[3] @0
%4 = to_int %3 : secret int[3] @0
%5 = add %4 %1 : secret int[3] @0
reveal %5 to Server as y @0
"
);

snapshot!(
    monotone_compares_squares,
    "monotone",
    "%0 = input 2 : secret fix[3] @0
%1 = sqrt %0 : secret fix[3] @0
%2 = sort_sum %1 lo=1 hi=2 : secret fix @0
%3 = scale %2 by=1.5 : secret fix @0
%4 = reshape %3 : secret fix[1] @0
%5 = lt %1 %4 : secret bit[3] @0
%6 = to_int %5 : secret int[3] @0
reveal %6 to Server as y @0
"
);

snapshot!(
    monotone_keeps_a_negative_factor,
    "monotone",
    "%0 = input 2 : secret fix[3] @0
%1 = sqrt %0 : secret fix[3] @0
%2 = scale %1 by=-1.5 : secret fix[3] @0
%3 = lt %1 %2 : secret bit[3] @0
%4 = to_int %3 : secret int[3] @0
reveal %4 to Server as y @0
"
);

snapshot!(
    order_turns_a_slice_into_ranks,
    "order",
    "%0 = input 0 : secret fix[3,4] @0
%1 = sort %0 : secret fix[3,4] @0
%2 = slice %1 axis=1 start=0 len=2 : secret fix[3,2] @0
%3 = sum %2 axes=[1] : secret fix[3] @0
reveal %3 to Server as y @0
"
);

snapshot!(
    pairs_compares_once,
    "pairs",
    "%0 = input 2 : secret fix[3] @0
%1 = reshape %0 : secret fix[3,1] @0
%2 = reshape %0 : secret fix[1,3] @0
%3 = lt %1 %2 : secret bit[3,3] @0
%4 = not %3 : secret bit[3,3] @0
%5 = const [0, 1, 1, 0, 0, 1, 0, 0, 0] : public bit[3,3] @0
%6 = and %4 %5 : secret bit[3,3] @0
%7 = to_int %6 : secret int[3,3] @0
reveal %7 to Server as y @0
"
);

snapshot!(
    words_hoists_conversions,
    "words",
    "%0 = input 2 : secret fix[3] @0
%1 = lt %0 %0 : secret bit[3] @0
%2 = const [0, 1, 2, 0] : public int[4] @0
%3 = gather %1 %2 axis=0 batch=0 : secret bit[4] @0
%4 = const [1, 0, 1, 1] : public bit[4] @0
%5 = and %3 %4 : secret bit[4] @0
%6 = not %5 : secret bit[4] @0
%7 = to_int %6 : secret int[4] @0
reveal %7 to Server as y @0
"
);

snapshot!(
    contract_makes_a_matrix_product,
    "contract",
    "%0 = input 2 : secret fix[3] @0
%1 = reshape %0 : secret fix[3,1] @0
%2 = input 0 : secret fix[3,4] @0
%3 = mul %1 %2 : secret fix[3,4] @0
%4 = sum %3 axes=[0] : secret fix[4] @0
reveal %4 to Server as y @0
"
);

snapshot!(
    contract_of_a_norm,
    "contract",
    "%0 = input 0 : secret fix[3,4] @0
%1 = mul %0 %0 : secret fix[3,4] @0
%2 = sum %1 axes=[1] : secret fix[3] @0
reveal %2 to Server as y @0
"
);

snapshot!(
    reveal_leaves_division_to_the_receiver,
    "reveal",
    "%0 = input 2 : secret fix[3] @0
%1 = scale %0 by=0.1111111111111111 : secret fix[3] @0
reveal %1 to Server as y @0
"
);

snapshot!(
    scales_truncates_late_and_takes_the_sign_before,
    "scales",
    "%0 = input 3 : secret fix[3,1,1,2,2] @0
%1 = input 4 : secret fix[3,1,1,1,1] @0
%2 = conv2d %0 %1 stride=1 pad=0 : secret fix[3,1,1,2,2] @0
%3 = add %2 %1 : secret fix[3,1,1,2,2] @0
%4 = relu %3 : secret fix[3,1,1,2,2] @0
%5 = sum %4 axes=[3,4] : secret fix[3,1,1] @0
%6 = scale %5 by=0.25 : secret fix[3,1,1] @0
%7 = scale %6 by=2.25 : secret fix[3,1,1] @0
%8 = mul %7 %7 : secret fix[3,1,1] @0
%9 = lt %8 %6 : secret bit[3,1,1] @0
%10 = to_int %9 : secret int[3,1,1] @0
reveal %10 to Server as y @0
"
);

snapshot!(
    repeats_of_a_distance,
    "redundancy",
    "%0 = input 0 : secret fix[3,4] @0
%1 = reshape %0 : secret fix[3,1,4] @0
%2 = reshape %0 : secret fix[1,3,4] @0
%3 = sub %1 %2 : secret fix[3,3,4] @0
%4 = reshape %3 : secret fix[9,1,4] @0
%5 = matmul %4 %4 trans_b : secret fix[9,1,1] @0
%6 = sqrt %5 : secret fix[9,1,1] @0
reveal %6 to Server as y @0
"
);

snapshot!(
    repeats_beside_a_mask,
    "redundancy",
    "%0 = input 2 : secret fix[3] @0
%1 = reshape %0 : secret fix[3,1] @0
%2 = reshape %0 : secret fix[1,3] @0
%3 = sub %1 %2 : secret fix[3,3] @0
%4 = mul %3 %3 : secret fix[3,3] @0
%5 = reshape %4 : secret fix[9] @0
%6 = const [1, 2, 3, 5, 6, 7] : public int[6] @0
%7 = gather %5 %6 axis=0 batch=0 : secret fix[6] @0
reveal %7 to Server as y @0
"
);

snapshot!(
    repeats_in_a_gram_matrix,
    "redundancy",
    "%0 = input 0 : secret fix[3,4] @0
%1 = reshape %0 : secret fix[1,3,4] @0
%2 = matmul %1 %1 trans_b : secret fix[1,3,3] @0
reveal %2 to Server as y @0
"
);

snapshot!(
    repeats_keep_what_differs,
    "redundancy",
    "%0 = input 2 : secret fix[3] @0
%1 = input 0 : secret fix[3,4] @0
%2 = reshape %0 : secret fix[3,1] @0
%3 = mul %2 %1 : secret fix[3,4] @0
%4 = lt %1 %2 : secret bit[3,4] @0
%5 = to_int %4 : secret int[3,4] @0
reveal %3 to Server as y @0
reveal %5 to Server as z @0
"
);

snapshot!(
    absolute_of_a_difference,
    "absolute",
    "%0 = input 2 : secret fix[3] @0
%1 = reshape %0 : secret fix[3,1] @0
%2 = reshape %0 : secret fix[1,3] @0
%3 = sub %1 %2 : secret fix[3,3] @0
%4 = abs %3 : secret fix[3,3] @0
reveal %4 to Server as y @0
"
);

snapshot!(
    scales_compare_copies_untruncated_and_truncate_below_them,
    "scales",
    "%0 = input 2 : secret fix[3] @0
%1 = mul %0 %0 : secret fix[3] @0
%2 = const [0, 0, 1, 1, 2, 2] : public int[6] @0
%3 = gather %1 %2 axis=0 batch=0 : secret fix[6] @0
%4 = const [1, 2, 0, 2, 0, 1] : public int[6] @0
%5 = gather %1 %4 axis=0 batch=0 : secret fix[6] @0
%6 = lt %3 %5 : secret bit[6] @0
%7 = to_int %6 : secret int[6] @0
%8 = mul %7 %3 : secret fix[6] @0
%9 = sum %8 axes=[0] : secret fix @0
%10 = mul %3 %3 : secret fix[6] @0
reveal %9 to Server as y @0
reveal %10 to Server as z @0
"
);

snapshot!(
    scales_truncate_before_a_maximum,
    "scales",
    "%0 = input 0 : secret fix[3,4] @0
%1 = mul %0 %0 : secret fix[3,4] @0
%2 = slice %1 axis=1 start=0 len=2 step=2 : secret fix[3,2] @0
%3 = slice %1 axis=1 start=1 len=2 step=2 : secret fix[3,2] @0
%4 = lt %2 %3 : secret bit[3,2] @0
%5 = select %4 %3 %2 : secret fix[3,2] @0
%6 = slice %5 axis=1 start=0 len=1 step=2 : secret fix[3,1] @0
%7 = slice %5 axis=1 start=1 len=1 step=2 : secret fix[3,1] @0
%8 = lt %6 %7 : secret bit[3,1] @0
%9 = select %8 %7 %6 : secret fix[3,1] @0
%10 = relu %9 : secret fix[3,1] @0
reveal %10 to Server as y @0
"
);

// Truncated apart from one another, a number less their maximum could be above 0.
snapshot!(
    scales_truncate_what_a_maximum_is_taken_from_once,
    "scales",
    "%0 = input 0 : secret fix[3,4] @0
%1 = mul %0 %0 : secret fix[3,4] @0
%2 = slice %1 axis=1 start=0 len=2 step=2 : secret fix[3,2] @0
%3 = slice %1 axis=1 start=1 len=2 step=2 : secret fix[3,2] @0
%4 = lt %2 %3 : secret bit[3,2] @0
%5 = select %4 %3 %2 : secret fix[3,2] @0
%6 = sub %2 %5 : secret fix[3,2] @0
%7 = exp_non_positive %6 : secret fix[3,2] @0
reveal %7 to Server as y @0
"
);

snapshot!(
    scales_truncate_what_could_grow_too_large,
    "scales",
    "%0 = input 2 : secret fix[3] @0
%1 = scale %0 by=20000.0 : secret fix[3] @0
%2 = mul %1 %1 : secret fix[3] @0
%3 = const [0, 0, 1, 1, 2, 2] : public int[6] @0
%4 = gather %2 %3 axis=0 batch=0 : secret fix[6] @0
%5 = scale %4 by=3.0 : secret fix[6] @0
%6 = lt %4 %5 : secret bit[6] @0
%7 = to_int %6 : secret int[6] @0
reveal %7 to Server as y @0
"
);

snapshot!(
    members_are_computed_before_they_are_gathered,
    "members",
    "%0 = input 0 : secret fix[3,4] @0
%1 = committee n=3 k=2 : public int[3,2] @0
%2 = gather %0 %1 axis=0 batch=0 : secret fix[3,2,4] @0
%3 = relu %2 : secret fix[3,2,4] @0
%4 = reshape %3 : secret fix[6,1,4] @0
%5 = matmul %4 %4 trans_b : secret fix[6,1,1] @0
%6 = reshape %5 : secret fix[3,2] @0
%7 = input 2 : secret fix[3] @0
%8 = reshape %7 : secret fix[3,1] @0
%9 = lt %6 %8 : secret bit[3,2] @0
%10 = to_int %9 : secret int[3,2] @0
reveal %10 to Server as y @0
"
);

#[test]
fn a_broken_promise_names_the_pass_and_the_node() {
    let broken = graph(
        "%0 = input 0 : secret fix[3,4] @0
%1 = abs %0 : secret fix[3,4] @0
%2 = abs %0 : secret fix[3,4] @0
%3 = add %1 %2 : secret fix[3,4] @0
reveal %3 to Server as y @0
",
    );
    let check = |name: &str| pass(name).check(&broken);
    let why = "after the pass `extremum`: %1 = abs: is not spelled out";
    assert_eq!(check("extremum"), Err(why.to_string()));
    let why = "after the pass `cse`: %2 = abs: an equal node stands before it";
    assert_eq!(check("cse"), Err(why.to_string()));
    let why = "after the pass `scales`: the graph has no scales";
    assert_eq!(check("scales"), Err(why.to_string()));
    assert_eq!(check("sorted"), Ok(()));
}
