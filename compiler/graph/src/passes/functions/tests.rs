//! Each pass on a small graph: text, pass, text.

use crate::graph::eval::{Inputs, Tensors, real};
use crate::graph::{Graph, text};
use crate::passes::cse;
use crate::passes::tests::{pass, snapshot};

const HEAD: &str = "graph T\nparties Client[3]\nparties Server[1]\n\
input 0 x : secret fix[3] in -8..8 from each Client\n\
input 1 k : secret fix[] in -8..8 from each Client\n\
input 2 image : secret fix[1,2,2] in -8..8 from each Client\n\
input 3 b : secret bit[] in 0..1 from each Client\n\
input 4 c : secret bit[] in 0..1 from each Client\n\
input 5 label : secret int[] in 0..2 from each Client\n\
site 0 \"t\" line 1\n";

fn inputs(graph: &Graph) -> Inputs {
    let member = |m: usize| -> Tensors {
        let one = |i: &crate::graph::Input| {
            let n = i.shape.iter().product::<u64>() as usize;
            let pick = |e: usize| match i.elem {
                slvr_language::types::Elem::Fix => ((e * 7 + m * 5) % 11) as f64 / 2.0 - 2.5,
                _ => ((e + m) % 2) as f64,
            };
            (i.name.clone(), (0..n).map(pick).collect())
        };
        graph.inputs.iter().map(one).collect()
    };
    Inputs {
        public: Tensors::new(),
        sets: vec![(0..3).map(member).collect(), vec![]],
        ..Default::default()
    }
}

/// The body of the graph after a pass (and after dead code is gone), beside the one before; both give
/// the same.
fn after(name: &str, body: &str) -> String {
    let graph = text::parse(&format!("{HEAD}{body}")).unwrap_or_else(|e| panic!("{e}\n{body}"));
    let done = cse::run(&(pass(name).run)(&graph));
    let value = |g: &Graph| real(g, &inputs(g), &|_| Vec::new(), false).expect("a value").outputs;
    for (a, b) in value(&graph).iter().zip(&value(&done)) {
        let near = a.2.iter().zip(&b.2).all(|(x, y)| (x - y).abs() < 1e-12);
        assert!(near && a.1 == b.1, "{a:?} became {b:?}");
    }
    let text = text::print(&done);
    let head = text.find("\n%").map_or(0, |i| i + 1);
    format!("{}\n\n  ->\n\n{}\n", body.trim(), text[head..].trim())
}

snapshot!(
    largest_softmax_is_a_reciprocal,
    "softmax",
    "%0 = input 0 : secret fix[3,3] @0
%1 = max %0 axis=1 : secret fix[3] @0
%2 = reshape %1 : secret fix[3,1] @0
%3 = sub %0 %2 : secret fix[3,3] @0
%4 = exp %3 : secret fix[3,3] @0
%5 = sum %4 axes=[1] : secret fix[3] @0
%6 = reshape %5 : secret fix[3,1] @0
%7 = div %4 %6 : secret fix[3,3] @0
%8 = max %7 axis=1 : secret fix[3] @0
reveal %8 to Server as y @0
"
);

snapshot!(
    exponential_below_another_maximum_stays,
    "softmax",
    "%0 = input 0 : secret fix[3,3] @0
%1 = max %0 axis=0 : secret fix[3] @0
%2 = reshape %1 : secret fix[3,1] @0
%3 = sub %0 %2 : secret fix[3,3] @0
%4 = exp %3 : secret fix[3,3] @0
reveal %4 to Server as y @0
"
);

snapshot!(
    pooling_before_relu,
    "softmax",
    "%0 = input 2 : secret fix[3,1,2,2] @0
%1 = relu %0 : secret fix[3,1,2,2] @0
%2 = max_pool %1 k=2 stride=2 : secret fix[3,1,1,1] @0
reveal %2 to Server as y @0
"
);

snapshot!(
    comparison_with_a_quotient,
    "bounds",
    "%0 = input 0 : secret fix[3,3] @0
%1 = input 1 : secret fix[3] @0
%2 = exp %1 : secret fix[3] @0
%3 = reshape %2 : secret fix[3,1] @0
%4 = div %0 %3 : secret fix[3,3] @0
%5 = const 0.5 : public fix[1,1] @0
%6 = lt %4 %5 : secret bit[3,3] @0
%7 = const 0 : public fix[1,1] @0
%8 = lt %7 %4 : secret bit[3,3] @0
%9 = lt %4 %0 : secret bit[3,3] @0
reveal %6 to Server as a @0
reveal %8 to Server as b @0
reveal %9 to Server as c @0
"
);

snapshot!(
    comparison_with_a_reciprocal,
    "bounds",
    "%0 = input 1 : secret fix[3] @0
%1 = exp %0 : secret fix[3] @0
%2 = recip %1 : secret fix[3] @0
%3 = const 0.5 : public fix[1] @0
%4 = lt %3 %2 : secret bit[3] @0
reveal %4 to Server as a @0
"
);

snapshot!(
    quotient_of_unknown_sign_stays,
    "bounds",
    "%0 = input 0 : secret fix[3,3] @0
%1 = input 1 : secret fix[3] @0
%2 = reshape %1 : secret fix[3,1] @0
%3 = const 0.25 : public fix[1,1] @0
%4 = add %2 %3 : secret fix[3,1] @0
%5 = div %0 %4 : secret fix[3,3] @0
%6 = lt %5 %0 : secret bit[3,3] @0
reveal %6 to Server as a @0
"
);

snapshot!(
    comparison_with_a_maximum,
    "bounds",
    "%0 = input 0 : secret fix[3,3] @0
%1 = input 1 : secret fix[3] @0
%2 = max %0 axis=1 : secret fix[3] @0
%3 = lt %2 %1 : secret bit[3] @0
%4 = lt %1 %2 : secret bit[3] @0
reveal %3 to Server as a @0
reveal %4 to Server as b @0
"
);

snapshot!(
    few_are_compared_in_pairs,
    "extremum",
    "%0 = input 0 : secret fix[3,3] @0
%1 = max %0 axis=1 : secret fix[3] @0
%2 = argmax %0 : secret int[3] @0
reveal %1 to Server as a @0
reveal %2 to Server as b @0
"
);

snapshot!(
    two_are_compared_once,
    "extremum",
    "%0 = input 2 : secret fix[3,1,2,2] @0
%1 = min %0 axis=2 : secret fix[3,1,2] @0
reveal %1 to Server as a @0
"
);

snapshot!(
    windows_become_entries,
    "extremum",
    "%0 = input 2 : secret fix[3,1,2,2] @0
%1 = max_pool %0 k=2 stride=1 : secret fix[3,1,1,1] @0
reveal %1 to Server as a @0
"
);

snapshot!(
    absolute_values_and_choices_of_bits,
    "extremum",
    "%0 = input 1 : secret fix[3] @0
%1 = abs %0 : secret fix[3] @0
%2 = input 3 : secret bit[3] @0
%3 = input 4 : secret bit[3] @0
%4 = lt %0 %1 : secret bit[3] @0
%5 = select %4 %2 %3 : secret bit[3] @0
%6 = input 5 : secret int[3] @0
%7 = one_hot %6 classes=3 : secret int[3,3] @0
reveal %5 to Server as a @0
reveal %7 to Server as b @0
"
);

snapshot!(
    part_of_a_sort,
    "sorted",
    "%0 = input 0 : secret fix[3,3] @0
%1 = sort %0 : secret fix[3,3] @0
%2 = slice %1 axis=1 start=1 len=2 : secret fix[3,2] @0
reveal %2 to Server as a @0
"
);

snapshot!(
    comparison_with_an_absolute_value,
    "bounds",
    "%0 = input 0 : secret fix[3,3] @0
%1 = input 1 : secret fix[3] @0
%2 = abs %0 : secret fix[3,3] @0
%3 = max %2 axis=1 : secret fix[3] @0
%4 = lt %3 %1 : secret bit[3] @0
%5 = abs %1 : secret fix[3] @0
%6 = const 0.5 : public fix[1] @0
%7 = lt %6 %5 : secret bit[3] @0
reveal %4 to Server as a @0
reveal %7 to Server as b @0
"
);

snapshot!(
    place_of_the_largest_softmax,
    "softmax",
    "%0 = input 0 : secret fix[3,3] @0
%1 = exp %0 : secret fix[3,3] @0
%2 = sum %1 axes=[1] : secret fix[3] @0
%3 = reshape %2 : secret fix[3,1] @0
%4 = div %1 %3 : secret fix[3,3] @0
%5 = argmax %4 : secret int[3] @0
%6 = relu %0 : secret fix[3,3] @0
%7 = argmax %6 : secret int[3] @0
reveal %5 to Server as a @0
reveal %7 to Server as b @0
"
);

snapshot!(
    cap_of_a_quotient_is_a_floor_of_its_divisor,
    "caps",
    "%0 = input 0 : secret fix[3,3] @0
%1 = abs %0 : secret fix[3,3] @0
%2 = sum %1 axes=[1] : secret fix[3] @0
%3 = const 2.5 : public fix[1] @0
%4 = div %3 %2 : secret fix[3] @0
%5 = reshape %4 : secret fix[3,1] @0
%6 = const 0.5 : public fix[3,1] @0
%7 = concat %5 %6 axis=1 : secret fix[3,2] @0
%8 = min %7 axis=1 : secret fix[3] @0
reveal %8 to Server as y @0
"
);

snapshot!(
    cap_of_a_reciprocal_and_of_a_secret_dividend,
    "caps",
    "%0 = input 0 : secret fix[3,3] @0
%1 = abs %0 : secret fix[3,3] @0
%2 = recip %1 : secret fix[3,3] @0
%3 = reshape %2 : secret fix[3,3,1] @0
%4 = const 4 : public fix[3,3,1] @0
%5 = concat %4 %3 axis=2 : secret fix[3,3,2] @0
%6 = min %5 axis=2 : secret fix[3,3] @0
%7 = input 1 : secret fix[3] @0
%8 = abs %7 : secret fix[3] @0
%9 = reshape %8 : secret fix[3,1] @0
%10 = div %9 %1 : secret fix[3,3] @0
%11 = reshape %10 : secret fix[3,3,1] @0
%12 = concat %11 %4 axis=2 : secret fix[3,3,2] @0
%13 = min %12 axis=2 : secret fix[3,3] @0
reveal %6 to Server as y @0
reveal %13 to Server as z @0
"
);

snapshot!(
    cap_of_a_quotient_of_any_sign_stays,
    "caps",
    "%0 = input 1 : secret fix[3] @0
%1 = abs %0 : secret fix[3] @0
%2 = div %0 %1 : secret fix[3] @0
%3 = reshape %2 : secret fix[3,1] @0
%4 = const 1 : public fix[3,1] @0
%5 = concat %3 %4 axis=1 : secret fix[3,2] @0
%6 = min %5 axis=1 : secret fix[3] @0
reveal %6 to Server as y @0
"
);

snapshot!(
    cap_of_a_quotient_by_a_root_is_a_floor_below_the_root,
    "caps",
    "%0 = input 0 : secret fix[3,3] @0
%1 = mul %0 %0 : secret fix[3,3] @0
%2 = sum %1 axes=[1] : secret fix[3] @0
%3 = sqrt %2 : secret fix[3] @0
%4 = const 0.5 : public fix[1] @0
%5 = div %4 %3 : secret fix[3] @0
%6 = reshape %5 : secret fix[3,1] @0
%7 = const 1 : public int[3,1] @0
%8 = concat %6 %7 axis=1 : secret fix[3,2] @0
%9 = min %8 axis=1 : secret fix[3] @0
reveal %9 to Server as y @0
"
);
