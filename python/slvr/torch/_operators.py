"""What the operators of PyTorch are in the language, for one sample."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._body import Body
from ._graph import Refused, operator
from ._leaves import conv2d
from ._text import (
    ATOM,
    COMPARE,
    PIPE,
    PLUS,
    SIGN,
    TIMES,
    Shape,
    Value,
    call,
    decimal,
    indexed,
    kind,
    loops,
    number,
    sizes,
)

Arguments = dict[str, Any]
Operator = Callable[[Body, Any, Arguments], Value]

OPERATORS: dict[str, Operator] = {}


def arguments(node: Any) -> Arguments:
    """The arguments of a node by their names, defaults included."""
    out: Arguments = {}
    for k, argument in enumerate(node.target._schema.arguments):
        out[argument.name] = (
            node.args[k]
            if k < len(node.args)
            else node.kwargs.get(argument.name, argument.default_value if argument.has_default_value() else None)
        )
    return out


def write(body: Body, node: Any) -> Value:
    """What a node is. Raises :class:`Refused`."""
    name = operator(node)
    if name == "getitem":
        return _getitem(body, node)
    found = OPERATORS.get(name) or OPERATORS.get(name.removesuffix("_"))
    if found is None:
        raise Refused("no operator of the language does this")
    shape, at = body.dims(node)
    batches = [body.dims(v)[1] for v in node.all_input_nodes if isinstance(v.meta.get("val"), torch.Tensor)]
    if at is None and any(b is not None for b in batches):
        raise Refused("it makes one result of all samples of a batch")
    value = found(body, node, arguments(node))
    if value.shape != shape:
        raise Refused(f"it would have the shape {kind(value.shape)}, not {kind(shape)}")
    return value


def known(node: Any) -> bool:
    """Whether there is an operator for it at all."""
    name = operator(node)
    return name == "getitem" or name in OPERATORS or name.removesuffix("_") in OPERATORS


def _of(*names: str) -> Callable[[Operator], Operator]:
    def put(function: Operator) -> Operator:
        for name in names:
            OPERATORS[name] = function
        return function

    return put


# Functions of one number.


def _stages() -> None:
    def plain(name: str) -> Operator:
        return lambda body, node, a: body.pipe(a["self"], body.std(name), body.dims(node)[0])

    for name in ("relu", "relu6", "sigmoid", "tanh", "silu", "hardsigmoid", "hardswish", "exp", "log", "sqrt", "abs"):
        OPERATORS[name] = plain(name)
    OPERATORS["reciprocal"] = plain("recip")


_stages()


@_of("alias", "clone", "contiguous", "detach", "lift_fresh", "lift_fresh_copy", "positive")
def _same(body: Body, node: Any, a: Arguments) -> Value:
    return body.value(a["self"])


@_of("to", "_to_copy", "type_as")
def _to(body: Body, node: Any, a: Arguments) -> Value:
    if not node.meta["val"].is_floating_point() and a["self"].meta["val"].is_floating_point():
        raise Refused("it rounds to whole numbers")
    return body.value(a["self"])


@_of("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def _dropout(body: Body, node: Any, a: Arguments) -> Value:
    if a["train"] and a["p"]:
        raise Refused("it drops entries in evaluation, too")
    return body.value(a["input"])


@_of("native_dropout", "rand_like", "randn_like", "bernoulli", "rand", "randn")
def _random(body: Body, node: Any, a: Arguments) -> Value:
    raise Refused("it draws at random")


@_of("gelu")
def _gelu(body: Body, node: Any, a: Arguments) -> Value:
    name = "gelu" if a["approximate"] == "none" else "gelu_tanh"
    return body.pipe(a["self"], body.std(name), body.dims(node)[0])


@_of("leaky_relu")
def _leaky_relu(body: Body, node: Any, a: Arguments) -> Value:
    stage = call(body.std("leaky_relu"), [], slope=(decimal(a["negative_slope"]), decimal(0.01)))
    return body.pipe(a["self"], stage, body.dims(node)[0])


@_of("elu")
def _elu(body: Body, node: Any, a: Arguments) -> Value:
    if a["scale"] != 1 or a["input_scale"] != 1:
        raise Refused("its scales are 1")
    stage = call(body.std("elu"), [], alpha=(decimal(a["alpha"]), "1.0"))
    return body.pipe(a["self"], stage, body.dims(node)[0])


@_of("selu")
def _selu(body: Body, node: Any, a: Arguments) -> Value:
    y = body.pipe(a["self"], f"{body.std('elu')}[alpha = 1.6732632423543772]", body.dims(node)[0])
    return Value(f"1.0507009873554805 * {y.at(TIMES)}", y.shape, TIMES)


@_of("softplus")
def _softplus(body: Body, node: Any, a: Arguments) -> Value:
    if a["beta"] != 1:
        raise Refused("its beta is 1")
    return body.pipe(a["self"], body.std("softplus"), body.dims(node)[0])


@_of("log_sigmoid")
def _log_sigmoid(body: Body, node: Any, a: Arguments) -> Value:
    return Value(f"-{body.std('softplus')}(-{body.text(a['self'], ATOM)})", body.dims(node)[0], SIGN)


@_of("mish")
def _mish(body: Body, node: Any, a: Arguments) -> Value:
    x = body.name(a["self"])
    return Value(f"{x} * {body.std('tanh')}({body.std('softplus')}({x}))", body.dims(node)[0], TIMES)


@_of("rsqrt")
def _rsqrt(body: Body, node: Any, a: Arguments) -> Value:
    return Value(f"{body.std('recip')}({body.std('sqrt')}({body.text(a['self'])}))", body.dims(node)[0])


@_of("neg")
def _neg(body: Body, node: Any, a: Arguments) -> Value:
    return Value(f"-{body.text(a['self'], ATOM)}", body.dims(node)[0], SIGN)


@_of("square")
def _square(body: Body, node: Any, a: Arguments) -> Value:
    return _power(body, node, a["self"], 2)


@_of("pow")
def _pow(body: Body, node: Any, a: Arguments) -> Value:
    if not isinstance(a["exponent"], int | float) or not isinstance(a["self"], torch.fx.Node):
        raise Refused("an exponent is a number")
    return _power(body, node, a["self"], a["exponent"])


def _power(body: Body, node: Any, x: Any, exponent: float) -> Value:
    shape = body.dims(node)[0]
    if float(exponent).is_integer() and exponent >= 1:
        return Value(f"{body.name(x)}^{int(exponent)}", shape)
    named = {0.5: "sqrt({})", -1: "recip({})", -0.5: "recip(sqrt({}))"}.get(exponent)
    if named is None:
        raise Refused("an exponent is a whole number, 0.5, -0.5 or -1")
    return Value(named.format(body.text(x)), shape)


@_of("hardtanh", "clamp", "clamp_min", "clamp_max")
def _clamp(body: Body, node: Any, a: Arguments) -> Value:
    low, high = a.get("min_val", a.get("min")), a.get("max_val", a.get("max"))
    shape = body.dims(node)[0]
    if any(isinstance(end, torch.fx.Node) for end in (low, high)):
        raise Refused("its ends are numbers")
    if (low, high) == (0, 6):
        return body.pipe(a["self"], body.std("relu6"), shape)
    if (low, high) == (0, None):
        return body.pipe(a["self"], body.std("relu"), shape)
    x = body.text(a["self"])
    if low is not None and high is not None:
        return Value(f"{body.std('clamp')}({x}, {number(low)}, {number(high)})", shape)
    relu = body.std("relu")
    if low is not None:
        return Value(f"{number(low)} + {relu}({body.text(a['self'], PLUS)} - {_term(low)})", shape, PLUS)
    return Value(f"{number(high)} - {relu}({number(high)} - {body.text(a['self'], TIMES)})", shape, PLUS)


def _term(value: float) -> str:
    return number(value) if value >= 0 else f"({number(value)})"


# Arithmetic.


def _pair(sign: str, level: int) -> Callable[[list[str]], tuple[str, int]]:
    return lambda t: (f"{t[0]} {sign} {t[1]}", level)


def _loose(texts: list[str]) -> list[str]:
    """Operands of a product or a difference: what binds more loosely in brackets."""
    return [t if _tight(t) else f"({t})" for t in texts]


def _tight(text: str) -> bool:
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "[({") - (letter in "])}")
        if depth == 0 and (letter in " |" or (letter == "-" and place == 0)):
            return False
    return True


@_of("add", "sub", "rsub")
def _add(body: Body, node: Any, a: Arguments) -> Value:
    left, right = (a["self"], a["other"]) if operator(node) != "rsub" else (a["other"], a["self"])
    sign, alpha = ("+" if operator(node).startswith("add") else "-"), a.get("alpha", 1)
    if alpha not in (1, None):
        factor = number(alpha)
        return body.pointwise(node, [left, right], lambda t: (f"{_first(t[0])} {sign} {factor} * {_loose(t)[1]}", PLUS))
    return body.pointwise(node, [left, right], lambda t: (f"{_first(t[0])} {sign} {_loose(t)[1]}", PLUS))


def _first(text: str) -> str:
    """The left operand of a sum: no comparison and no pipe."""
    top = re.sub(r"\[[^\[\]]*\]|\([^()]*\)", "", text)
    while top != (inner := re.sub(r"\[[^\[\]]*\]|\([^()]*\)", "", top)):
        top = inner
    return f"({text})" if re.search(r" (\|>|[<>]=?) ", top) else text


@_of("mul")
def _mul(body: Body, node: Any, a: Arguments) -> Value:
    return body.pointwise(node, [a["self"], a["other"]], lambda t: (" * ".join(_loose(t)), TIMES))


@_of("div")
def _div(body: Body, node: Any, a: Arguments) -> Value:
    if a.get("rounding_mode") is not None:
        raise Refused("it rounds")
    return body.pointwise(node, [a["self"], a["other"]], lambda t: (" / ".join(_loose(t)), TIMES))


@_of("addcmul")
def _addcmul(body: Body, node: Any, a: Arguments) -> Value:
    if a["value"] != 1:
        raise Refused("its factor is 1")
    operands = [a["self"], a["tensor1"], a["tensor2"]]
    return body.pointwise(node, operands, lambda t: (f"{_first(t[0])} + {_loose(t)[1]} * {_loose(t)[2]}", PLUS))


@_of("maximum", "minimum")
def _maximum(body: Body, node: Any, a: Arguments) -> Value:
    relu = body.std("relu")
    x, y = a["self"], a["other"]
    if operator(node) == "maximum":
        return body.pointwise(
            node, [x, y], lambda t: (f"{_loose(t)[0]} + {relu}({_first(t[1])} - {_loose(t)[0]})", PLUS)
        )
    return body.pointwise(node, [x, y], lambda t: (f"{_loose(t)[0]} - {relu}({_first(t[0])} - {_loose(t)[1]})", PLUS))


def _compare(sign: str) -> Operator:
    def made(body: Body, node: Any, a: Arguments) -> Value:
        return body.pointwise(node, [a["self"], a["other"]], lambda t: (f" {sign} ".join(_loose(t)), COMPARE))

    return made


for _name, _sign in {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}.items():
    OPERATORS[_name] = _compare(_sign)


@_of("where")
def _where(body: Body, node: Any, a: Arguments) -> Value:
    return _select(body, node, [a["condition"], a["self"], a["other"]])


@_of("masked_fill")
def _masked_fill(body: Body, node: Any, a: Arguments) -> Value:
    if isinstance(a["value"], float) and math.isinf(a["value"]):
        # Behind it stands a softmax, for which this is as good.
        return _select(body, node, [a["mask"], math.copysign(1000.0, a["value"]), a["self"]])
    return _select(body, node, [a["mask"], a["value"], a["self"]])


def _select(body: Body, node: Any, operands: Sequence[Any]) -> Value:
    select = body.std("select")
    return body.pointwise(node, operands, lambda t: (f"{select}({', '.join(t)})", ATOM))


@_of("zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full")
def _filled(body: Body, node: Any, a: Arguments) -> Value:
    value = a["fill_value"] if "full" in operator(node) else float("ones" in operator(node))
    if not isinstance(value, int | float):
        raise Refused("it is filled with a number")
    shape = body.dims(node)[0]
    return Value(number(value), shape, ATOM if value >= 0 else SIGN, number=float(value))


# Shapes.


@_of("view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "_unsafe_view", "view_as", "reshape_as")
def _reshape(body: Body, node: Any, a: Arguments) -> Value:
    (old, b), (new, c) = body.dims(a["self"]), body.dims(node)
    # The batch stays where it is if as many entries stand before it.
    if b is not None and c is not None and math.prod(old[:b]) != math.prod(new[:c]):
        raise Refused("it moves the batch among other dimensions")
    if b is None and c is not None:
        raise Refused("it makes a batch of a tensor that is none")
    return body.reshaped(a["self"], new)


@_of("permute", "transpose", "t", "swapaxes", "swapdims", "movedim", "numpy_T", "mT")
def _permute(body: Body, node: Any, a: Arguments) -> Value:
    shape, at = body.dims(a["self"])
    rank = len(shape) + (at is not None)
    order = list(range(rank))
    name = operator(node)
    if name == "permute":
        order = [d % rank for d in a["dims"]]
    elif name == "movedim":
        source, target = ([v] if isinstance(v, int) else v for v in (a["source"], a["destination"]))
        rest = [d for d in order if d not in [s % rank for s in source]]
        order = [-1] * rank
        for s, t in zip(source, target, strict=True):
            order[t % rank] = s % rank
        order = [rest.pop(0) if d < 0 else d for d in order]
    elif name in ("t", "numpy_T", "mT"):
        order = [1, 0] if rank == 2 else order
        if rank > 2:
            raise Refused("it is of a matrix")
    else:
        one, other = (a.get(f"dim{k}", a.get(f"axis{k}")) % rank for k in (0, 1))
        order[one], order[other] = order[other], order[one]
    kept = [d for d in order if d != at]
    return body.permuted(a["self"], [d - (at is not None and at < d) for d in kept])


@_of("expand", "expand_as", "broadcast_to")
def _expand(body: Body, node: Any, a: Arguments) -> Value:
    value, full = body.aligned(a["self"], node)
    shape = body.dims(node)[0]
    if full is None:
        if value.number is not None or not shape:
            return Value(value.text, shape, value.level, number=value.number)
        name = body.name(value)
        return Value(loops(body.letters(len(shape)), shape, name), shape)
    missing = len(shape) - len(value.shape)
    if value.shape == shape:
        return value

    def index(names: Sequence[str]) -> list[str]:
        return ["0" if n == 1 != shape[k + missing] else names[k + missing] for k, n in enumerate(value.shape)]

    return body.gathered(value, shape, index)


@_of("repeat")
def _repeat(body: Body, node: Any, a: Arguments) -> Value:
    (old, b), (new, c) = body.dims(a["self"]), body.dims(node)
    full = (1,) * (len(new) + (c is not None) - len(old) - (b is not None)) + tuple(old[:b] if b is not None else old)
    if b is not None:
        if c is None or c != len(full):
            raise Refused("it moves the batch among other dimensions")
        full = full + tuple(old[b:])
    elif c is not None:
        if full[c] != 1:
            raise Refused("it makes a batch of a tensor that is none")
        full = full[:c] + full[c + 1 :]
    base = body.reshaped(a["self"], full)

    def index(names: Sequence[str]) -> list[str]:
        return [n if s == t else "0" if s == 1 else f"{n} % {s}" for n, s, t in zip(names, full, new, strict=True)]

    return body.gathered(base, new, index)


@_of("select")
def _select_one(body: Body, node: Any, a: Arguments) -> Value:
    return _picked(body, a["self"], a["dim"], a["index"])


def _picked(body: Body, x: Any, dim: int, place: int) -> Value:
    axis, old = body.axis(x, dim), body.dims(x)[0]
    place = place % old[axis]
    shape = old[:axis] + old[axis + 1 :]
    return body.gathered(x, shape, lambda names: [*names[:axis], str(place), *names[axis:]])


@_of("slice", "narrow")
def _slice(body: Body, node: Any, a: Arguments) -> Value:
    if operator(node) == "narrow":
        return _part(body, a["self"], a["dim"], a["start"], a["length"], 1)
    old, new = body.dims(a["self"])[0], body.dims(node)[0]
    if a["step"] == 1 and old == new and not isinstance(a["start"], torch.fx.Node) and not a["start"]:
        return body.value(a["self"])
    axis = body.axis(a["self"], a["dim"])
    start = a["start"] or 0
    start = max(0, start + old[axis]) if start < 0 else start
    return _part(body, a["self"], a["dim"], start, new[axis], a["step"])


def _part(body: Body, x: Any, dim: int, start: int, length: int, step: int) -> Value:
    axis, old = body.axis(x, dim), body.dims(x)[0]
    shape = (*old[:axis], length, *old[axis + 1 :])
    if shape == old:
        return body.value(x)

    def index(names: Sequence[str]) -> list[str]:
        one = names[axis] if step == 1 else f"{step} * {names[axis]}"
        return [*names[:axis], f"{one} + {start}" if start else one, *names[axis + 1 :]]

    return body.gathered(x, shape, index)


@_of("flip")
def _flip(body: Body, node: Any, a: Arguments) -> Value:
    shape = body.dims(node)[0]
    axes = {body.axis(a["self"], d) for d in a["dims"]}
    return body.gathered(
        a["self"], shape, lambda names: [f"{shape[k] - 1} - {n}" if k in axes else n for k, n in enumerate(names)]
    )


def _getitem(body: Body, node: Any) -> Value:
    source, place = node.args
    name, a = operator(source), arguments(source)
    if name in ("max", "min") and place == 0 and a.get("dim") is not None:
        return _reduced(body, a["self"], [a["dim"]], a["keepdim"], name)
    if name == "unbind":
        return _picked(body, a["self"], a["dim"], place)
    if name in ("split", "split_with_sizes", "chunk", "tensor_split"):
        x, parts = a["self"], source.meta["val"]
        axis = body.axis(x, a["dim"])
        at = body.dims(x)[1]
        dim = axis + (at is not None and at <= axis)
        lengths = [int(part.shape[dim]) for part in parts]
        return _part(body, x, dim, sum(lengths[:place]), lengths[place], 1)
    if place == 0 and name in ("adaptive_max_pool2d", "max_pool2d_with_indices"):
        return OPERATORS[name.removesuffix("_with_indices")](body, node, a)
    raise Refused("no operator of the language does this")


@_of("cat", "concat")
def _cat(body: Body, node: Any, a: Arguments) -> Value:
    parts, shape = list(a["tensors"]), body.dims(node)[0]
    axis = body.axis(node, a["dim"])
    if {body.dims(part)[1] for part in parts} != {body.dims(node)[1]}:
        raise Refused("it joins tensors with a batch and without")
    names, concat = body.letters(axis), body.std("concat")
    texts = [indexed(body.name(part), names) if axis else body.text(part) for part in parts]
    text = texts[0]
    for other in texts[1:]:
        text = f"{concat}({text}, {other})"
    return Value(loops(names, shape[:axis], text), shape)


@_of("stack")
def _stack(body: Body, node: Any, a: Arguments) -> Value:
    shape, axis = body.dims(node)[0], body.axis(node, a["dim"])
    names = body.letters(axis)
    texts = [indexed(body.name(part), names) if axis else body.text(part) for part in a["tensors"]]
    return Value(loops(names, shape[:axis], f"[{', '.join(texts)}]"), shape)


@_of("pad", "constant_pad_nd")
def _pad(body: Body, node: Any, a: Arguments) -> Value:
    if a.get("mode", "constant") != "constant":
        raise Refused("it pads with a number")
    value, pads = float(a["value"] or 0), list(a["pad"])
    at = body.dims(a["self"])[1]
    now, shape = body.value(a["self"]), list(body.dims(a["self"])[0])
    rank = len(shape) + (at is not None)
    for k in range(len(pads) // 2):
        before, after = pads[2 * k], pads[2 * k + 1]
        if before < 0 or after < 0:
            raise Refused("it cuts entries off")
        if before == after == 0:
            continue
        axis = body.axis(a["self"], rank - 1 - k)
        names = body.letters(len(shape))
        inner = indexed(body.name(now), names[:axis])
        for count, text in ((before, "concat({0}, {1})"), (after, "concat({1}, {0})")):
            if count:
                sizes_now = [count, *shape[axis + 1 :]]
                zeros = loops(names[axis:], sizes_now, number(value))
                inner = text.format(zeros, inner)
        shape[axis] += before + after
        now = Value(loops(names[:axis], shape[:axis], inner), tuple(shape))
    return now


# Sums, means and the like.


@_of("sum", "mean", "amax", "amin")
def _reduce(body: Body, node: Any, a: Arguments) -> Value:
    dims = a.get("dim")
    if dims is None or dims == []:
        dims = list(range(len(body.dims(a["self"])[0])))
        if body.dims(a["self"])[1] is not None:
            raise Refused("it makes one result of all samples of a batch")
    return _reduced(
        body, a["self"], [dims] if isinstance(dims, int) else list(dims), a.get("keepdim", False), operator(node)
    )


def _reduced(body: Body, x: Any, dims: Sequence[int], keep: bool, name: str) -> Value:
    axes, old = sorted({body.axis(x, d) for d in dims}), body.dims(x)[0]
    kept = tuple(n for k, n in enumerate(old) if k not in axes)
    if name == "mean" and len(old) == 3 and axes == [1, 2] and "global_avg_pool" not in body.declared:
        value = body.pipe(x, "global_avg_pool", kept)
    else:
        value = _nested(body, x, axes, kept, {"amax": "max", "amin": "min", "mean": "sum"}.get(name, name))
        if name == "mean":
            value = Value(f"{value.at(TIMES)} / {math.prod(old[k] for k in axes)}", kept, TIMES)
    shape = tuple(1 if k in axes else n for k, n in enumerate(old))
    return body.reshaped(value, shape) if keep else value


def _nested(body: Body, x: Any, axes: list[int], kept: Shape, name: str) -> Value:
    old, function = body.dims(x)[0], body.std(name)
    last, names = axes[-1], body.letters(len(old))
    inner = indexed(body.name(x), names[: last + 1])
    whole = True
    for axis in reversed(axes):
        if whole and axis == last:
            # The whole of the innermost dimension needs no loop.
            inner = f"{function}({indexed(body.name(x), names[:last])})"
        else:
            inner = f"{function}({inner} for {names[axis]} in {old[axis]})"
    outer = [k for k in range(last) if k not in axes]
    return Value(loops([names[k] for k in outer], [old[k] for k in outer], inner), kept)


@_of("softmax", "log_softmax", "_softmax", "_log_softmax")
def _softmax(body: Body, node: Any, a: Arguments) -> Value:
    shape, axis = body.dims(node)[0], body.axis(a["self"], a["dim"])
    name = body.std(operator(node).lstrip("_"))
    if len(shape) == 1:
        return body.pipe(a["self"], name, shape)
    order = [*(k for k in range(len(shape)) if k != axis), axis]
    x = body.name(body.permuted(a["self"], order)) if order != sorted(order) else body.name(a["self"])
    names, outer = body.letters(len(shape) - 1), [shape[k] for k in order[:-1]]
    made = Value(loops(names, outer, f"{name}({indexed(x, names)})"), tuple(shape[k] for k in order))
    return body.permuted(made, [order.index(k) for k in range(len(shape))]) if order != sorted(order) else made


# Products.


def _contracted(body: Body, node: Any, operands: Sequence[Any], labels: Sequence[str], result: str) -> Value:
    """A sum of products, in the notation of `einsum`; ``.`` is the batch."""
    lengths: dict[str, int] = {}
    texts_of: list[tuple[Any, str]] = []
    batch = result[b] if (b := body.dims(node)[1]) is not None else None
    for operand, own in zip(operands, labels, strict=True):
        shape, at = body.dims(operand)
        if at is not None and own[at] != batch:
            raise Refused("it goes over the samples of a batch")
        for label, n in zip((c for k, c in enumerate(own) if k != at), shape, strict=True):
            if label == batch:
                if n != 1:
                    raise Refused("it makes a batch of a tensor that is none")
            else:
                lengths[label] = max(n, lengths.get(label, 1))
        texts_of.append((operand, own))
    out = [c for c in result if c != batch]
    inner = [c for c in lengths if c not in out]
    names = dict(zip([*out, *inner], body.letters(len(lengths)), strict=True))

    def index(operand: Any, own: str, upto: int | None = None) -> str:
        shape, at = body.dims(operand)
        places = [c for k, c in enumerate(own) if k != at]
        inside = [
            "0" if n == 1 and lengths.get(c, 1) != 1 else "0" if c == batch else names[c]
            for c, n in zip(places, shape, strict=True)
        ]
        return indexed(body.name(operand), inside[:upto])

    shape = body.dims(node)[0]
    one = inner[0] if len(inner) == 1 else None
    at_end = [own[-1] == one and body.dims(o)[0][-1] == lengths[own[-1]] if one else False for o, own in texts_of]
    if one and len(texts_of) == 2 and all(at_end):
        text = f"{body.std('dot')}({index(*texts_of[0], -1)}, {index(*texts_of[1], -1)})"
    else:
        text = " * ".join(index(*pair) for pair in texts_of)
        for label in reversed(inner):
            text = f"{body.std('sum')}({text} for {names[label]} in {lengths[label]})"
    return Value(loops([names[c] for c in out], [lengths[c] for c in out], text), shape)


@_of("matmul", "bmm", "mm", "mv", "dot")
def _matmul(body: Body, node: Any, a: Arguments) -> Value:
    left, right = a["self"], a.get("other", a.get("mat2", a.get("vec", a.get("tensor"))))
    ranks = [len(s) + (at is not None) for s, at in (body.dims(left), body.dims(right))]
    lead = "abcdefgh"
    one = "x" if ranks[0] == 1 else lead[8 - (ranks[0] - 2) :] + "rx"
    other = "x" if ranks[1] == 1 else lead[8 - (ranks[1] - 2) :] + "xc"
    front = lead[8 - max(ranks[0] - 2, ranks[1] - 2, 0) :]
    result = front + ("r" if ranks[0] > 1 else "") + ("c" if ranks[1] > 1 else "")
    return _contracted(body, node, [left, right], [one, other], result)


@_of("einsum")
def _einsum(body: Body, node: Any, a: Arguments) -> Value:
    given, _, result = str(a["equation"]).replace(" ", "").partition("->")
    labels = given.split(",")
    if "." in given or any(len(set(own)) != len(own) for own in labels):
        raise Refused("its equation has `...` or a diagonal")
    if "->" not in str(a["equation"]):
        result = "".join(sorted(c for c in set(given) if given.count(c) == 1 and c != ","))
    return _contracted(body, node, list(a["tensors"]), labels, result)


@_of("linear")
def _linear(body: Body, node: Any, a: Arguments) -> Value:
    weight, bias = a["weight"], a["bias"]
    (out, size), _ = body.dims(weight)
    shape = body.dims(node)[0]
    if body.dims(weight)[1] is not None or "linear" in body.declared:
        raise Refused("its matrix is one for all samples, and no module of this block is called `linear`")
    body.axis(a["input"], -1)
    layer = call("linear", [size, out], bias=(int(bias is not None), 1))
    given = [body.text(a["input"]), body.text(weight), *([body.text(bias)] if bias is not None else [])]
    return Value(f"{layer}({', '.join(given)})", shape)


@_of("addmm")
def _addmm(body: Body, node: Any, a: Arguments) -> Value:
    raise Refused("write it as a linear layer")


@_of("conv2d")
def _conv2d(body: Body, node: Any, a: Arguments) -> Value:
    (cout, per, k, kw), _ = body.dims(a["weight"])
    if isinstance(a["padding"], str) or "conv2d" in body.declared:
        raise Refused("its padding is a number, and no module of this block is called `conv2d`")
    pairs = [tuple(v) * (3 - len(v)) for v in (a["stride"], a["padding"], a["dilation"])]
    layer = conv2d(per * a["groups"], cout, (k, kw), *pairs, a["groups"], a["bias"] is not None)
    if layer.startswith("conv2d_rect"):
        raise Refused("as a function it has one stride and one dilation: make it a module")
    _whole(body, a["input"], (3,))
    given = [body.text(v) for v in (a["input"], a["weight"], a["bias"]) if v is not None]
    return Value(f"{layer}({', '.join(given)})", body.dims(node)[0])


@_of("batch_norm")
def _batch_norm(body: Body, node: Any, a: Arguments) -> Value:
    if a["training"] or a["running_mean"] is None or "batch_norm" in body.declared:
        raise Refused("it normalises by the batch at hand, without running statistics")
    _whole(body, a["input"], (1, 2, 3))
    n = body.dims(a["running_mean"])[0][0]
    layer = call("batch_norm", [n], eps=(decimal(a["eps"]), decimal(1e-5)))
    weight = f"[1 for i in {n}]" if a["weight"] is None else body.text(a["weight"])
    bias = f"[0 for i in {n}]" if a["bias"] is None else body.text(a["bias"])
    given = [body.text(a["input"]), weight, bias, body.text(a["running_mean"]), body.text(a["running_var"])]
    return Value(f"{layer}({', '.join(given)})", body.dims(node)[0])


@_of("layer_norm")
def _layer_norm(body: Body, node: Any, a: Arguments) -> Value:
    shape, at = body.dims(node)
    if len(a["normalized_shape"]) != 1:
        raise Refused("as a function it is of the last dimension")
    body.axis(node, -1)
    names = body.letters(len(shape) - 1)
    text = f"{body.std('standardised')}({indexed(body.name(a['input']), names)}, {decimal(a['eps'])})"
    text += "" if a["weight"] is None else f" * {body.text(a['weight'], SIGN)}"
    text += "" if a["bias"] is None else f" + {body.text(a['bias'], TIMES)}"
    return Value(loops(names, shape[:-1], text), shape, ATOM if names else PLUS)


@_of("scaled_dot_product_attention")
def _attention(body: Body, node: Any, a: Arguments) -> Value:
    shape, _ = body.dims(node)
    query, key, value = a["query"], a["key"], a["value"]
    old = body.dims(query)[0]
    if a["dropout_p"] or a.get("enable_gqa"):
        raise Refused("it has no dropout and no groups of heads")
    if a["scale"] is not None and not math.isclose(a["scale"], old[-1] ** -0.5):
        raise Refused("its scale is that of the size of a head")
    lead = len(old) - 2
    if lead < 0 or any(body.dims(v)[0][:lead] != old[:lead] for v in (key, value)):
        raise Refused("queries, keys and values have as many heads")
    names = body.letters(lead)
    given = [indexed(body.name(v), names) if lead else body.text(v) for v in (query, key, value)]
    seen = mask(body, a["attn_mask"], a["is_causal"], old[-2], body.dims(key)[0][-2])
    function = body.std("masked_attention" if seen else "attention")
    text = f"{function}({', '.join([*given, *([seen] if seen else [])])})"
    return Value(loops(names, old[:lead], text), shape)


def mask(body: Body, given: Any, causal: bool, n: int, m: int, turned: bool = False) -> str | None:
    """What each query sees, for a mask that is known: 0 where it sees a key, and True there or, if it is turned, False."""
    i, j = body.letters(2)
    before = f"[[{j} <= {i} for {j} in {m}] for {i} in {n}]"
    if given is None:
        return before if causal else None
    if given not in body.traced.constants:
        raise Refused("its mask is computed of the input")
    held = body.traced.constants[given]
    seen = held ^ turned if held.dtype == torch.bool else held == 0
    if held.dtype != torch.bool and not bool((seen | (held < -100)).all()):
        raise Refused("its mask adds other numbers than 0 and minus infinity")
    while seen.dim() > 2 and seen.shape[0] == 1:
        seen = seen[0]
    if seen.dim() != 2:
        raise Refused("its mask is one for all heads")
    if bool(seen.all()):
        return None
    if bool((seen == torch.ones(n, m, dtype=torch.bool).tril()).all()):
        return before
    return body.text(body.constant(seen.expand(n, m).long()))


# Windows.


def _twice(value: Any) -> tuple[int, int]:
    value = [value] if isinstance(value, int) else list(value)
    return (value[0], value[-1])


def _whole(body: Body, x: Any, ranks: Sequence[int]) -> Shape:
    """The shape of an operand that is one sample of a batch in front."""
    shape, at = body.dims(x)
    if at not in (0, None) or len(shape) not in ranks:
        raise Refused(f"one sample has {' or '.join(map(str, ranks))} dimensions, behind that of the batch")
    return shape


@_of("max_pool2d", "avg_pool2d")
def _pool2d(body: Body, node: Any, a: Arguments) -> Value:
    shape, new = _whole(body, a["self"], (3,)), body.dims(node)[0]
    (k, kw), (p, pw) = _twice(a["kernel_size"]), _twice(a["padding"])
    s, sw = _twice(a["stride"] or a["kernel_size"])
    largest = operator(node) != "avg_pool2d"
    if largest and _twice(a["dilation"]) != (1, 1):
        raise Refused("its windows have no dilation")
    if not largest and (a["divisor_override"] or ((p or pw) and not a["count_include_pad"])):
        raise Refused("zeros around the image count as entries")
    name = "max_pool" if largest else "avg_pool"
    floor = tuple((n + 2 * q - w) // t + 1 for n, q, w, t in zip(shape[1:], (p, pw), (k, kw), (s, sw), strict=True))
    if floor != new[1:]:
        if not largest:
            raise Refused("its last windows go beyond the image (`ceil_mode`)")
        return _ceil_pool(body, a["self"], shape, new, (k, kw), (s, sw), (p, pw))
    if (k, s, p, pw) == (kw, sw, 0, 0) and name not in body.declared:
        return body.pipe(a["self"], call(name, [k], stride=(s, k)), new)
    stage = call(body.std(f"{name}_rect"), [k], k_w=(kw, k), stride=(s, k), stride_w=(sw, s), pad=(p, 0), pad_w=(pw, p))
    return body.pipe(a["self"], stage, new)


def _ceil_pool(
    body: Body,
    x: Any,
    old: Shape,
    new: Shape,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    pad: tuple[int, int],
) -> Value:
    """Windows that may end outside of the image: the largest entry of what is inside, row by row first."""
    (c, i, j, b), most = body.letters(4), body.std("max")

    def window(at: str, size: int, k: int) -> str:
        start, end = f"{at} * {stride[k]}", f"{at} * {stride[k]} + {kernel[k]}"
        seen = f"{b} + {pad[k]}" if pad[k] else b
        return f"for {b} in {size} if {seen} >= {start} && {seen} < {end}"

    rows = f"{most}({body.name(x)}[{c}, {i}, {b}] {window(j, old[2], 1)})"
    made = Value(loops([c, i, j], [old[0], old[1], new[2]], rows), (old[0], old[1], new[2]))
    columns = f"{most}({body.name(made)}[{c}, {b}, {j}] {window(i, old[1], 0)})"
    # The text above is under a name now: `let` takes the first free one.
    return Value(loops([c, i, j], new, columns), new)


@_of("max_pool1d", "avg_pool1d")
def _pool1d(body: Body, node: Any, a: Arguments) -> Value:
    shape, new = _whole(body, a["self"], (2,)), body.dims(node)[0]
    k, p = _twice(a["kernel_size"])[0], _twice(a["padding"])[0]
    s = _twice(a["stride"] or a["kernel_size"])[0]
    if a.get("dilation") and _twice(a["dilation"])[0] != 1:
        raise Refused("its windows have no dilation")
    if (shape[1] + 2 * p - k) // s + 1 != new[1] or (p and not a.get("count_include_pad", True)):
        raise Refused("its windows end inside of the sequence, and zeros around it count as entries")
    return body.pipe(a["self"], call(body.std(operator(node)), [k], stride=(s, k), pad=(p, 0)), new)


@_of("adaptive_avg_pool2d", "adaptive_max_pool2d")
def _adaptive(body: Body, node: Any, a: Arguments) -> Value:
    shape, new = _whole(body, a["self"], (3,)), body.dims(node)[0]
    average = operator(node) == "adaptive_avg_pool2d"
    if new == shape:
        return body.value(a["self"])
    if average and new[1:] == (1, 1) and "global_avg_pool" not in body.declared:
        whole = body.pipe(a["self"], "global_avg_pool", new[:1])
        inner = body.reshaped(whole, new)
        return Value(inner.text, new, inner.level, "adaptive_avg_pool[1]", whole=whole)
    name = body.std("adaptive_avg_pool" if average else "adaptive_max_pool")
    return body.pipe(a["self"], call(name, [new[1]], w=(new[2], new[1])), new)


@_of("adaptive_avg_pool1d")
def _adaptive1d(body: Body, node: Any, a: Arguments) -> Value:
    shape, new = _whole(body, a["self"], (2,)), body.dims(node)[0]
    if shape[1] % new[1]:
        raise Refused("its windows overlap")
    return body.pipe(a["self"], f"{body.std('avg_pool1d')}[{shape[1] // new[1]}]", new)


@_of("upsample_nearest2d", "upsample_bilinear2d")
def _upsample(body: Body, node: Any, a: Arguments) -> Value:
    name = operator(node)
    x = a.get("input", a.get("self"))
    shape, new = _whole(body, x, (3,)), body.dims(node)[0]
    scales = {n / o for n, o in zip(new[1:], shape[1:], strict=True)}
    if len(scales) != 1 or not (scale := scales.pop()).is_integer() or a.get("align_corners"):
        raise Refused("an image becomes a whole number of times as large, without `align_corners`")
    return body.pipe(x, f"{body.std(name[:-2] if 'bilinear' in name else 'upsample')}[{int(scale)}]", new)


@_of("embedding")
def _embedding(body: Body, node: Any, a: Arguments) -> Value:
    raise Refused("make it a module of class `Embedding`")


__all__ = ["OPERATORS", "PIPE", "arguments", "mask", "sizes", "write"]
