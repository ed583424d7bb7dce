//! Random trees, of every kind of node that a parse without errors can give.

use super::super::ast::*;
use super::super::token::KEYWORDS;
use proptest::prelude::*;

/// Keywords, signs of the language, some names, and texts that are none of these.
pub fn vocabulary() -> Vec<&'static str> {
    [KEYWORDS, OTHERS, &["99999999999999999999"]].concat()
}

const OTHERS: &[&str] = &[
    "|>", "->", "::", "..", "&&", "||", "==", "!=", "<=", ">=", "<", ">", "=", "+", "-", "*", "/",
    "%", "^", "!", ".", ",", ":", ";", "(", ")", "[", "]", "{", "}", "x", "y", "fix", "M",
    "Client", "std", "0", "1", "0.5", "\"text\"", "`0`", "`model`", "`", "// doc\n", "\n", "#",
    "$", "é", "\"", "return", "predicat", "3x",
];

fn span() -> Span {
    Span::default()
}

fn ident() -> impl Strategy<Value = Ident> {
    name().prop_map(|name| Ident { name, span: span() })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-zA-Z_][a-z0-9_]{0,9}",
        1 => prop::sample::select(KEYWORDS).prop_map(str::to_owned),
        1 => "[0-9]{1,3}|[ -,\\-/-_a-~éλ]{1,6}",
    ]
}

fn doc() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just(String::new()),
        1 => prop::collection::vec("[ -~é]{0,20}", 1..4).prop_map(|lines| {
            lines.iter().map(|l| l.trim_end()).collect::<Vec<_>>().join("\n")
        }),
    ]
}

fn node(kind: ExprKind) -> Expr {
    Expr { kind, span: span() }
}

fn gens(e: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = Vec<Gen>> {
    let generator = (ident(), e.clone(), prop::option::of(e)).prop_map(|(var, domain, cond)| Gen {
        var,
        domain,
        cond,
    });
    prop::collection::vec(generator, 1..3)
}

pub fn expr() -> impl Strategy<Value = Expr> + Clone {
    use ExprKind::*;
    let leaf = prop_oneof![
        name().prop_map(Name),
        (ident(), ident()).prop_map(|(a, b)| Path(a, b)),
        prop_oneof![0..100i64, 0..=i64::MAX].prop_map(Int),
        r"[0-9]{1,3}\.[0-9]{1,3}(e[+-]?[0-9])?".prop_map(Real),
        any::<bool>().prop_map(Bit),
        Just(List(vec![])),
        ident().prop_map(Weights),
    ];
    let ops = {
        use BinaryOp::*;
        [Pipe, Or, And, Eq, Ne, Le, Ge, Lt, Gt, Range, Add, Sub, Mul, Div, Rem, Pow]
    };
    leaf.prop_map(node)
        .prop_recursive(5, 40, 4, move |e| {
            let boxed = || e.clone().prop_map(Box::new);
            let list = || prop::collection::vec(e.clone(), 0..4);
            let arg = (prop::option::of(ident()), e.clone())
                .prop_map(|(name, value)| Arg { name, value });
            prop_oneof![
                1 => list().prop_map(List),
                1 => prop::collection::vec(e.clone(), 2..4).prop_map(Tuple),
                1 => iterate(e.clone()).prop_map(|i| Iterate(Box::new(i))),
                1 => (boxed(), 0..9i64).prop_map(|(a, i)| Part(a, i)),
                1 => (boxed(), gens(e.clone())).prop_map(|(a, g)| Comp(a, g)),
                1 => (boxed(), boxed(), boxed()).prop_map(|(c, a, b)| If(c, a, b)),
                1 => (boxed(), list()).prop_map(|(f, a)| Call(f, a)),
                1 => (boxed(), boxed(), gens(e.clone())).prop_map(|(f, a, g)| CallGen(f, a, g)),
                1 => (boxed(), prop::collection::vec(arg, 0..4)).prop_map(|(a, i)| At(a, i)),
                1 => (boxed(), ident()).prop_map(|(a, f)| Field(a, f)),
                1 => (prop::sample::select(vec![UnaryOp::Neg, UnaryOp::Not]), boxed())
                    .prop_map(|(op, a)| Unary(op, a)),
                4 => (prop::sample::select(ops.to_vec()), boxed(), boxed())
                    .prop_map(|(op, a, b)| Binary(op, a, b)),
            ]
            .prop_map(node)
        })
        .boxed()
}

fn ty() -> impl Strategy<Value = Type> {
    let dim = || prop_oneof![expr().prop_map(Dim::Size), expr().prop_map(Dim::Splice)];
    let kind = prop_oneof![
        (ident(), prop::collection::vec(dim(), 0..3))
            .prop_map(|(base, dims)| TypeKind::Tensor { base, dims }),
        (ident(), prop::collection::vec(dim(), 0..2))
            .prop_map(|(model, dims)| TypeKind::Weights { model, dims }),
    ];
    let leaf = (secrecy(), kind).prop_map(|(secrecy, kind)| Type { secrecy, kind, span: span() });
    leaf.prop_recursive(2, 4, 3, |t| {
        let all = prop::collection::vec(t, 2..4).prop_map(TypeKind::Tuple);
        (secrecy(), all).prop_map(|(secrecy, kind)| Type { secrecy, kind, span: span() })
    })
}

fn secrecy() -> impl Strategy<Value = Option<Secrecy>> {
    prop::option::of(prop::sample::select(vec![Secrecy::Public, Secrecy::Secret]))
}

fn sizes() -> impl Strategy<Value = Vec<Size>> {
    let size = prop_oneof![
        (ident(), prop::option::of(expr())).prop_map(|(name, default)| Size {
            name,
            is_model: false,
            default
        }),
        ident().prop_map(|name| Size { name, is_model: true, default: None }),
    ];
    prop::collection::vec(size, 0..3)
}

fn param() -> impl Strategy<Value = Param> {
    (ident(), prop::option::of(ty()), prop::option::of(expr()))
        .prop_map(|(name, ty, default)| Param { name, ty, default })
}

fn pattern() -> impl Strategy<Value = Vec<Ident>> {
    prop_oneof![
        3 => ident().prop_map(|name| vec![name]),
        1 => prop::collection::vec(ident(), 2..4),
    ]
}

/// A loop of some expressions.
fn iterate(e: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = Iterate> {
    let plain = (prop::option::of(secrecy()), ident()).prop_map(|(secrecy, base)| {
        let kind = TypeKind::Tensor { base, dims: Vec::new() };
        secrecy.map(|secrecy| Type { secrecy, kind, span: span() })
    });
    let between = (e.clone(), e.clone())
        .prop_map(|(a, b)| node(ExprKind::Binary(BinaryOp::Range, Box::new(a), Box::new(b))));
    let carried = (ident(), plain, prop::option::of(between), e.clone())
        .prop_map(|(name, ty, range, start)| Carried { name, ty, range, start });
    let lets = (pattern(), e.clone()).prop_map(|(names, value)| Let { names, value });
    let body = (prop::collection::vec(lets, 0..3), e.clone()).prop_map(|(lets, value)| Body {
        requires: Vec::new(),
        lets,
        value,
    });
    (prop::collection::vec(carried, 1..3), gens(e), body)
        .prop_map(|(carried, gens, body)| Iterate { carried, gens, body })
}

/// The range of a state.
fn between() -> impl Strategy<Value = Expr> {
    (expr(), expr())
        .prop_map(|(a, b)| node(ExprKind::Binary(BinaryOp::Range, Box::new(a), Box::new(b))))
}

fn definition() -> impl Strategy<Value = Let> {
    (pattern(), expr()).prop_map(|(names, value)| Let { names, value })
}

/// A condition, and perhaps why.
fn require() -> impl Strategy<Value = Require> {
    let why = any::<String>().prop_filter("one line", |t| !t.contains('\r'));
    (expr(), prop::option::of(why)).prop_map(|(cond, why)| Require { cond, why, span: span() })
}

fn stmt() -> impl Strategy<Value = Stmt> {
    let giver = (any::<bool>(), ident()).prop_map(|(each, set)| Giver { each, set });
    let kind = prop_oneof![
        require().prop_map(StmtKind::Require),
        (ident(), prop::option::of(expr()))
            .prop_map(|(name, size)| StmtKind::Parties { name, size }),
        (ident(), ty(), prop::option::of(expr()), prop::option::of(giver))
            .prop_map(|(name, ty, range, from)| StmtKind::Input { name, ty, range, from }),
        definition().prop_map(StmtKind::Let),
        (ident(), ty(), prop::option::of(between()), expr())
            .prop_map(|(name, ty, range, start)| StmtKind::State { name, ty, range, start }),
        (expr(), ident()).prop_map(|(value, name)| StmtKind::Store { value, name }),
        (ident(), prop::collection::vec(expr(), 0..3), expr(), prop::option::of(ident()))
            .prop_map(|(name, counts, of, each)| StmtKind::Sample { name, counts, of, each }),
        (expr(), ident(), prop::option::of(ident()), ident())
            .prop_map(|(value, to, member, name)| StmtKind::Reveal { value, to, member, name }),
        (ident(), ty(), ident(), expr()).prop_map(|(name, ty, law, scale)| StmtKind::Noise {
            name,
            ty,
            law,
            scale
        }),
    ];
    (doc(), kind).prop_map(|(doc, kind)| Stmt { doc, kind, span: span() })
}

fn use_tree() -> impl Strategy<Value = UseTree> {
    let last = prop_oneof![
        ident().prop_map(UseTree::Name),
        prop::collection::vec(ident(), 0..12).prop_map(UseTree::Group),
    ];
    (prop::collection::vec(ident(), 0..3), last).prop_map(|(path, last)| {
        path.into_iter().rev().fold(last, |tree, name| UseTree::Path(name, Box::new(tree)))
    })
}

fn item() -> impl Strategy<Value = Item> {
    let lets = || prop::collection::vec(definition(), 0..4);
    let layer = (ident(), expr()).prop_map(|(name, value)| Let { names: vec![name], value });
    let layers = prop::collection::vec(layer, 0..4);
    let params = || prop::collection::vec(param(), 0..3);
    let inputs = prop::collection::vec(param(), 1..3);
    let whole = || {
        (prop::collection::vec(require(), 0..3), lets(), expr())
            .prop_map(|(requires, lets, value)| Body { requires, lets, value })
    };
    let (body, of_block) = (whole(), whole());
    let kind = prop_oneof![
        use_tree().prop_map(ItemKind::Use),
        (ident(), expr()).prop_map(|(name, value)| ItemKind::Const { name, value }),
        (ident(), sizes(), params(), ty(), prop::option::of(body)).prop_map(
            |(name, sizes, params, result, body)| {
                ItemKind::Fn(Function { name, sizes, params, result, body })
            }
        ),
        (prop::option::of(ty()), ident(), sizes(), inputs, layers, of_block).prop_map(
            |(result, name, sizes, mut params, layers, body)| {
                let is_model = result.is_some();
                if is_model {
                    params.truncate(1);
                }
                ItemKind::Block(Box::new(Block {
                    is_model,
                    name,
                    sizes,
                    params,
                    result,
                    layers,
                    body,
                }))
            }
        ),
        (ident(), sizes(), params(), prop::collection::vec(stmt(), 0..6)).prop_map(
            |(name, sizes, params, body)| ItemKind::Predicate(Predicate {
                name,
                sizes,
                params,
                body
            })
        ),
    ];
    (doc(), kind).prop_map(|(doc, kind)| Item { doc, kind, span: span() })
}

pub fn file() -> impl Strategy<Value = File> {
    prop::collection::vec(item(), 0..5).prop_map(|items| File { items })
}
