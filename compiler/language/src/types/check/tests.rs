//! What checking makes of the library and of small programs.

use super::world::{STD, World};
use super::{Checked, Options, check, names};
use crate::diagnostic::render;
use crate::source::{FileId, LoadError, Sources};
use crate::syntax::embedded;
use crate::syntax::lexer::lex;
use crate::types::{Expr, ExprKind, Intrinsic, Program, Source, Stmt};
use proptest::prelude::*;
use std::fmt::Write;

pub(crate) fn try_check(text: &str, bindings: &str, defaults: bool) -> Result<Checked, String> {
    let mut sources = Sources::new();
    let file = sources.add("test.slvr", text);
    let bindings = bindings
        .split_whitespace()
        .filter_map(|b| b.split_once('='))
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect();
    let options = Options { bindings, predicate: None, defaults };
    let mut load = |path: &str| match path {
        "net.slvr" => Ok("model Net(x: fix[2]) -> fix[1] { fc: linear[2, 1]; x |> fc \
            }"
        .to_owned()),
        _ => Err(LoadError::NotFound),
    };
    check(&mut sources, file, &options, &mut load)
        .map_err(|errors| render::render(&errors, &sources, false))
}

pub(crate) fn program(text: &str, bindings: &str) -> Program {
    match try_check(text, bindings, false) {
        Ok(checked) => checked.program,
        Err(message) => panic!("{message}"),
    }
}

fn predicate(name: &str, bindings: &str) -> Program {
    program(embedded::get(name).expect("embedded"), bindings)
}

fn model(name: &str) -> crate::types::model::Model {
    let text =
        "predicate P[M: model]() { parties S; input w: public weights M; reveal w to S as w; }";
    program(text, &format!("M={name}")).models.swap_remove(0)
}

/// A constant that no run can hold is shown with all of its digits, or by the reason alone, and the hint is about it.
#[test]
fn constants_that_no_run_holds_are_shown_as_they_are() {
    let with = |value: &str| {
        let text = format!(
            "predicate P[m]() {{ parties Client[m]; parties Server; \
             input k: secret int in -9..9 from each Client; \
             reveal [k[i] >= {value} for i in Client] to Server as y; }}"
        );
        try_check(&text, "m=3", false).map(drop)
    };
    let message = with("9007199254740993").expect_err("no exact number");
    assert!(message.contains("is 9007199254740993: too many digits"), "{message}");
    assert!(
        message.contains("9007199254740992 is near") && !message.contains("2^-61"),
        "{message}"
    );
    with("9007199254740992").expect("the one that the hint names");
    let message = with("1e-400").expect_err("too small");
    assert_eq!(message.matches("too small a number").count(), 1, "{message}");
    let message = with("1e200").expect_err("too large");
    assert!(message.contains("is 1e200: too large") && message.contains("2^-61"), "{message}");
}

#[test]
fn a_parameter_of_type_bit_takes_true_and_false() {
    let with = |default: &str, bindings: &str| {
        let text = format!(
            "predicate P[m](on: bit{default}) {{ parties Client[m]; parties Server; \
             input x: secret fix in -1..1 from each Client; \
             reveal [if on {{ x[i] }} else {{ -x[i] }} for i in Client] to Server as y; }}"
        );
        try_check(&text, bindings, false).map(|checked| checked.program)
    };
    let same = |bit: &str, others: &[(&str, &str)]| {
        let sizes = |default: &str, given: &str| {
            let program = with(default, &format!("m=3 {given}"));
            program
                .map(|p| p.sizes)
                .unwrap_or_else(|message| panic!("{default} {given}: {message}"))
        };
        for (default, given) in others {
            assert_eq!(sizes(default, given), sizes("", bit), "{default} {given}");
        }
    };
    same(
        "on=1",
        &[("= 1", ""), ("= true", ""), ("", "on=true"), ("= false", "on=true"), ("= m > 2", "")],
    );
    same("on=0", &[("= 0", ""), ("= !true", ""), ("", "on=false"), ("= true", "on=false")]);
    for wrong in ["on=yes", "on=True", "on=2", "on=0.5"] {
        let message = with("", &format!("m=3 {wrong}")).expect_err("no bit");
        assert!(message.contains("is not true or false, or 1 or 0"), "{message}");
    }
    // Of other types neither is a value.
    let text =
        "predicate P(n: int = true) { parties S; input x: public fix; reveal x + n to S as y; }";
    let message = try_check(text, "", false).expect_err("no number");
    assert!(message.contains("the default of `n` is a whole number"), "{message}");
    let text = "predicate P(n: fix) { parties S; input x: public fix; reveal x + n to S as y; }";
    let message = try_check(text, "n=true", false).expect_err("no number");
    assert!(message.contains("`true` is not a number"), "{message}");
}

/// The text that E0010 shows for a quotient is taken as it is.
#[test]
fn hints_for_quotients_of_sizes_compile() {
    let with = |value: &str| {
        let text = format!(
            "use std::sum; predicate P[m, n]() {{ parties Client[m]; parties Server; \
             input x: secret fix in -1..1 from each Client; \
             reveal sum(x) * {value} to Server as y; }}"
        );
        try_check(&text, "m=5 n=2", false)
    };
    let texts = [
        "(1 / 2)",
        "((m - 1) / m)",
        "(3 * (m / n) + 1 / (n * (m - 1)))",
        "(m / -3)",
        "(1 / (m / n))",
        "(m / n / 3)",
        "(-(m / n ^ 2))",
    ];
    for text in texts {
        let message = with(text).err().unwrap_or_else(|| panic!("{text} is taken"));
        let hint = message.split("make one side a real number: `").nth(1);
        let hint =
            hint.and_then(|rest| rest.split('`').next()).unwrap_or_else(|| panic!("{message}"));
        if let Err(message) = with(hint) {
            panic!("{text}: {hint}: {message}");
        }
    }
}

#[test]
fn the_library_has_no_unknown_names_and_every_intrinsic_is_declared() {
    let (mut sources, mut diags) = (Sources::new(), Vec::new());
    let world = World::new(&mut sources, &mut diags);
    for module in 0..world.modules.len() {
        names::resolve(&world, module, &mut diags);
    }
    assert!(diags.is_empty(), "{}", render::render(&diags, &sources, false));
    for (name, _) in Intrinsic::all() {
        let item = world.modules[STD].names.get(name).map(|id| world.item(*id));
        assert!(item.is_some_and(|i| !i.doc.is_empty()), "{name} is not declared, or has no doc");
    }
}

#[test]
fn lenet5_has_the_parameters_of_its_state_dict() {
    let m = model("LeNet5");
    assert_eq!(m.len, 61_706);
    let found: Vec<(&str, &[u64])> =
        m.params.iter().map(|p| (p.name.as_str(), p.shape.as_slice())).collect();
    let expected: [(&str, &[u64]); 10] = [
        ("conv1.weight", &[6, 1, 5, 5]),
        ("conv1.bias", &[6]),
        ("conv2.weight", &[16, 6, 5, 5]),
        ("conv2.bias", &[16]),
        ("fc1.weight", &[120, 400]),
        ("fc1.bias", &[120]),
        ("fc2.weight", &[84, 120]),
        ("fc2.bias", &[84]),
        ("fc3.weight", &[10, 84]),
        ("fc3.bias", &[10]),
    ];
    assert_eq!(found, expected);
    let mut offset = 0;
    for p in &m.params {
        assert_eq!(p.offset, offset, "{}", p.name);
        offset += p.shape.iter().product::<u64>();
    }
    assert_eq!((m.input, m.output), (vec![1, 28, 28], vec![10]));
}

#[test]
fn resnet18_has_its_trainable_weights_and_running_statistics() {
    let m = model("ResNet18");
    let size = |p: &crate::types::model::Param| p.shape.iter().product::<u64>();
    let running: u64 = m.params.iter().filter(|p| p.name.contains("running")).map(size).sum();
    assert_eq!(m.len - running, 11_173_962);
    assert_eq!(running, 9_600);
    let names: Vec<&str> = m.params.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        names[..6],
        [
            "stem.conv.weight",
            "stem.norm.weight",
            "stem.norm.bias",
            "stem.norm.running_mean",
            "stem.norm.running_var",
            "stage1.down.first.conv.weight"
        ]
    );
    assert!(names.contains(&"stage2.down.skip.conv.weight"));
    assert!(!names.iter().any(|n| n.starts_with("stage1.down.skip")), "identity has no weights");
    assert_eq!(m.output, [10]);
}

#[test]
fn parameters_of_a_block_come_before_those_of_its_layers() {
    let text = "block Stage[n](x) {
            fc:    linear[n, n, bias = 0];
            scale: [param[n] for k in 2];
            inner: [[linear[n, n, bias = 0], relu6] for k in 2];
            shift: if n > 2 { param[n] } else { identity };

            scale[0] * scale[1] * (x |> fc |> inner) + shift
        }
        model Net(x: fix[4]) -> fix[4] {
            layers: [Stage[4] for k in 1..3];
            gain:   param[4];

            gain * (x |> layers[1].inner[0][0] |> layers |> layers[2])
        }
        predicate P() {
            parties S;
            input w: public weights Net;
            input x: public fix[4];
            reveal Net(w, x) to S as y;
        }";
    let p = program(text, "");
    let names: Vec<&str> = p.models[0].params.iter().map(|p| p.name.as_str()).collect();
    let stage = ["scale0", "scale1", "shift", "fc.weight", "inner.0.0.weight", "inner.1.0.weight"];
    let stages = [1, 2].iter().flat_map(|k| stage.map(|name| format!("layers.{k}.{name}")));
    let expected: Vec<String> = ["gain".to_owned()].into_iter().chain(stages).collect();
    assert_eq!(names, expected);
}

#[test]
fn layers_inside_of_others_are_steps_of_their_own_and_share_weights() {
    let text = "block Stage[n](x) {
            conv: linear[n, n];
            act:  relu;

            x |> conv |> act
        }
        model Net(x: fix[4]) -> fix[4] {
            layers: [Stage[4] for k in 2];

            x |> layers[1].conv |> layers[0] |> layers[x.shape[0] - 3].conv
        }
        predicate P() {
            parties S;
            input w: public weights Net;
            input x: public fix[4];
            reveal Net(w, x) to S as y;
        }";
    let p = program(text, "");
    let model = &p.models[0];
    let param = |e: &Expr| match e.kind {
        ExprKind::Var(v) => model.read.get(&v).copied(),
        _ => None,
    };
    let layers = model.body.lets.iter().filter_map(|d| match (&d.vars[..], &d.source) {
        ([var], Source::Value(Expr { kind: ExprKind::Layer(_, args), .. })) => {
            let params: Vec<usize> = args.iter().filter_map(param).collect();
            Some((p.vars[var.0 as usize].name.as_str(), params))
        }
        _ => None,
    });
    let expected = [
        ("layers.1.conv", vec![2, 3]),
        ("layers.0.conv", vec![0, 1]),
        ("layers.0.act", vec![]),
        ("layers.1.conv", vec![2, 3]),
    ];
    assert_eq!(layers.collect::<Vec<_>>(), expected);
}

#[test]
fn digits_and_mlp() {
    assert_eq!(model("DigitsNet").len, 3_658);
    assert_eq!(model("Mlp").len, 64 * 32 + 32 + 320 + 10);
    assert_eq!(model("Mlp[8,classes=3]").len, 8 * 32 + 32 + 96 + 3);
    assert_eq!(model("net.slvr:Net").len, 3);
}

#[test]
fn slvr_accuracy_at_its_usual_sizes() {
    let p = predicate("slvr_accuracy.slvr", "m=10 c=1 b=10 M=LeNet5");
    insta::assert_snapshot!(p.to_string());
}

#[test]
fn slvr_confidence_at_its_usual_sizes() {
    let p = predicate("slvr_confidence.slvr", "m=10 c=1 b=10 M=LeNet5 lambda=2");
    insta::assert_snapshot!(p.to_string());
}

#[test]
fn krum_ranks_what_is_left_of_the_others() {
    let p = predicate("krum.slvr", "m=7 f=2 M=DigitsNet");
    insta::assert_snapshot!(p.to_string());
}

#[test]
fn instances_are_shared() {
    let text = "use std::{median};
        predicate P[n]() {
            parties S;
            input x: public fix[n];
            input y: public fix[n];
            input z: public int[n];
            reveal median(x) + median(y) to S as fixed;
            reveal median(z) to S as whole;
        }";
    let p = program(text, "n=4");
    let medians = p.functions.iter().filter(|f| f.name == "median").count();
    assert_eq!(medians, 2, "one for fix, one for int");
}

#[test]
fn compile_time_values_leave_no_variables() {
    let text = "predicate P[n]() {
            let k = 2 * n + 1;
            let half = 0.5;
            parties S;
            input x: public fix[k];
            reveal half * x[(k - 1) / 2] to S as middle;
        }";
    let p = program(text, "n=3");
    assert_eq!(p.vars.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["x"]);
    let Some(Stmt::Reveal { value, .. }) = p.body.last() else { panic!("a reveal is last") };
    let ExprKind::Binary(_, half, at) = &value.kind else { panic!("a product") };
    assert_eq!(half.kind, ExprKind::Const(0.5));
    let ExprKind::At(_, index) = &at.kind else { panic!("an index") };
    assert_eq!(*index, [crate::types::Index::Const(3)]);
}

#[test]
fn powers_are_products() {
    let text = "predicate P[n]() {
            parties S;
            input x: public fix;
            reveal x^3 to S as cube;
            reveal x^-2 to S as inverse;
            reveal x^0 to S as one;
        }";
    let p = program(text, "n=1");
    let products = |s: &Stmt| {
        let mut n = 0;
        if let Stmt::Reveal { value, .. } = s {
            value.walk(&mut |e| n += usize::from(matches!(e.kind, ExprKind::Binary(..))));
        }
        n
    };
    assert_eq!(p.body.iter().map(products).collect::<Vec<_>>(), [0, 2, 2, 0]);
}

#[test]
fn an_empty_sum_is_zero_and_a_reduction_of_weights_is_a_number() {
    let text = "use std::{max, sum, abs, dot};
        predicate P[M: model, n]() {
            parties S;
            input x: public fix[n];
            input w: public weights M;
            reveal [sum(x[j] for j in 0..i) for i in n] to S as prefix;
            reveal sum(x[j] for j in 0..n - 1) to S as none;
            reveal max(abs(w)) + sum(w) + dot(w, w) to S as one;
        }";
    let p = program(text, "n=1 M=Mlp");
    let kinds: Vec<&ExprKind> = p
        .body
        .iter()
        .filter_map(|s| match s {
            Stmt::Reveal { value, .. } => Some(&value.kind),
            _ => None,
        })
        .collect();
    assert_eq!(*kinds[1], ExprKind::Const(0.0));
    let mut sums = 0;
    if let Some(Stmt::Reveal { value, .. }) = p.body.last() {
        assert!(value.ty.dims.is_empty());
        value.walk(&mut |e| {
            sums += usize::from(matches!(e.kind, ExprKind::Intrinsic(Intrinsic::Sum, _)));
        });
    }
    assert_eq!(sums, 1);
}

#[test]
fn smallest_sizes_satisfy_the_requirements() {
    let text = "use std::{sum};
        predicate P[M: model, m, c](scale: fix) {
            require 2 * c + 1 < m;
            require m % 2 == 1;
            parties Client[m];
            parties S;
            input w: secret weights M in -1..1 from each Client;
            reveal scale * sum(w) to S as total;
        }";
    let checked = try_check(text, "scale=2", true).expect("right");
    assert!(checked.chosen);
    let sizes: Vec<String> =
        checked.program.sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(sizes, ["M=DigitsNet", "m=5", "c=1", "scale=2"]);
    let bound = try_check(text, "M=Mlp m=7 c=2 scale=1", true).expect("right");
    assert!(!bound.chosen);
    let message = try_check(text, "m=5", false).expect_err("sizes are missing");
    assert!(message.contains("slvrc check test.slvr M=DigitsNet m=5 c=1 scale=1"), "{message}");
}

#[test]
fn sizes_that_are_not_given_may_be_as_large_as_a_requirement_or_an_index_asks() {
    let of = |body: &str| {
        format!(
            "use std::{{sum}};
            predicate P[M: model, m, c]() {{
                {body}
                parties Client[m];
                parties S;
                input w: secret weights M in -1..1 from each Client;
                reveal sum([w[i] for i in Client if i == 9 + c]) to S as total;
            }}"
        )
    };
    let sizes = |text: &str| {
        let checked = try_check(text, "", true).unwrap_or_else(|e| panic!("{e}"));
        let sizes = checked.program.sizes.iter();
        sizes.map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(sizes(&of("require m >= 20;")), "M=DigitsNet m=20 c=1");
    assert_eq!(sizes(&of("require 2 * c < 12 && m > 16;")), "M=DigitsNet m=17 c=1");
    let never = try_check(&of("require m > 20 && m < 10;"), "", true).expect_err("no size fits");
    assert!(never.contains("sizes were not given"), "{never}");
}

#[test]
fn a_state_of_bits_begins_with_a_number_or_a_word() {
    let of = |ty: &str, start: &str| {
        let text = format!(
            "use std::{{sum}};
            predicate P[m]() {{
                parties Client[m];
                parties S;
                input x: secret fix in -1..1 from each Client;
                state seen: secret {ty} = {start};
                store seen as seen;
                reveal sum(x) to S as x;
            }}"
        );
        try_check(&text, "m=3", false).map(|checked| {
            let start = checked.program.body.iter().find_map(|s| match s {
                Stmt::State { start, .. } => Some(*start),
                _ => None,
            });
            start.expect("a state")
        })
    };
    assert_eq!(of("bit[m]", "false"), Ok(0.0));
    assert_eq!(of("bit[m]", "true"), Ok(1.0));
    assert_eq!(of("bit[m]", "1"), Ok(1.0));
    let refused = of("fix[m] in -1..1", "true").expect_err("no number");
    assert!(refused.contains("`seen` begins with a number"), "{refused}");
}

#[test]
fn the_size_of_a_program_does_not_grow_with_its_sizes() {
    let small = predicate("slvr_accuracy.slvr", "m=4 c=1 b=1 M=DigitsNet");
    let large = predicate("slvr_accuracy.slvr", "m=400 c=20 b=1000 M=DigitsNet");
    let count = |p: &Program| {
        let mut n = 0;
        for s in &p.body {
            if let Stmt::Let { value, .. } | Stmt::Reveal { value, .. } = s {
                value.walk(&mut |_| n += 1);
            }
        }
        n + p.functions.len() + p.vars.len()
    };
    assert_eq!(count(&small), count(&large));
}

#[test]
fn depth_is_limited_before_the_stack_is() {
    // Functions that call each other, each with a deep expression.
    let deep = |n: usize| {
        let mut text = String::new();
        for i in 0..n {
            let call = if i == 0 { "x".to_owned() } else { format!("f{}(x)", i - 1) };
            let inner = format!("{}{call}{}", "(".repeat(60), " + 1)".repeat(60));
            let _ = writeln!(text, "fn f{i}(x: fix) -> fix {{ {inner} }}");
        }
        let last = n - 1;
        text + &format!(
            "predicate P() {{ parties S; input x: public fix; reveal f{last}(x) to S as y; }}"
        )
    };
    assert!(try_check(&deep(10), "", false).is_ok());
    let message = try_check(&deep(40), "", false).expect_err("too deep");
    assert!(message.contains("nest too deeply"), "{message}");

    // Blocks of blocks: 2^40 layers.
    let mut text = "block B0(x) { x |> relu }".to_owned();
    for i in 1..40 {
        let _ = writeln!(text, "block B{i}(x) {{ a: B{0}; b: B{0}; x |> a |> b }}", i - 1);
    }
    text += "model M(x: fix[1]) -> fix[1] { a: B39; x |> a }
        predicate P() { parties S; input w: public weights M; reveal w to S as w; }";
    let message = try_check(&text, "", false).expect_err("too large");
    assert!(message.contains("at most 16384 layers"), "{message}");

    let text = "predicate P() { parties S; input x: public fix; \
        reveal ((((x + 1)^9)^9)^9)^9 to S as y; }";
    let message = try_check(text, "", false).expect_err("too long");
    assert!(message.contains("very long"), "{message}");
}

/// Beyond 2^53 the end that is given and the end that is kept may be two numbers.
#[test]
fn ends_of_integer_ranges_are_kept_exactly() {
    let most = 1i64 << 53;
    for (given, from) in [("public", ""), ("secret", " from each C")] {
        let of = |lo: i64, hi: i64| {
            let text = format!(
                "predicate P() {{ parties C[1]; parties S; \
                 input x: {given} int in {lo}..{hi}{from}; reveal x to S as x; }}"
            );
            try_check(&text, "", false)
        };
        for (lo, hi) in
            [(0, most - 1), (1 - most, most - 1), (most - 3, most - 1), (1 - most, 2 - most)]
        {
            let checked = of(lo, hi).unwrap_or_else(|e| panic!("{e}"));
            let range = checked.program.body.iter().find_map(|s| match s {
                Stmt::Input { range, .. } => Some(*range),
                _ => None,
            });
            assert_eq!(range.map(|(lo, hi)| (lo as i64, hi as i64)), Some((lo, hi - 1)));
        }
        for beyond in [most, most + 1, most + 2, 1 << 60] {
            for (lo, hi) in [(0, beyond), (-beyond, 0)] {
                let said = of(lo, hi).map(|_| ()).expect_err("an end that is not kept");
                assert!(said.contains("E0015") && said.contains("below 2^53"), "{said}");
            }
        }
    }
}

proptest! {
    /// Whatever words are exchanged in a right program, the checker answers.
    #[test]
    fn no_text_makes_the_checker_panic(
        which in 0usize..64,
        swaps in prop::collection::vec((0usize..4096, 0usize..4096), 1..4),
    ) {
        let (_, text) = embedded::PREDICATES[which % embedded::PREDICATES.len()];
        let tokens = lex(FileId(0), text).tokens;
        // Each token with what stands before it, which stays.
        let before = std::iter::once(0).chain(tokens.iter().map(|(_, _, end)| *end));
        let mut words: Vec<(&str, &str)> =
            before.zip(&tokens).map(|(end, (a, _, b))| (&text[end..*a], &text[*a..*b])).collect();
        for (to, from) in swaps {
            let n = words.len();
            words[to % n].1 = words[from % n].1;
        }
        let text: String = words.iter().flat_map(|(gap, word)| [*gap, *word]).collect();
        let bindings: Vec<&str> = ["M=DigitsNet", "m=6", "c=1", "b=2", "f=1", "d=3", "k=2"]
            .into_iter()
            .filter(|b| b.split_once('=').is_some_and(|(n, _)| words.iter().any(|(_, word)| *word == n)))
            .collect();
        match try_check(&text, &bindings.join(" "), false) {
            Ok(checked) => prop_assert!(!checked.program.body.is_empty()),
            Err(message) => prop_assert!(message.contains("error"), "{}", message),
        }
    }
}
