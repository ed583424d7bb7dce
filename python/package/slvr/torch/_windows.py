"""Layers that are called as functions, and windows."""

from __future__ import annotations

from typing import Any

from ._body import Body
from ._graph import Refused, operator
from ._leaves import conv2d
from ._table import Arguments, of, twice, whole
from ._text import (
    ATOM,
    PLUS,
    Shape,
    Value,
    call,
    decimal,
    indexed,
    loops,
)


@of("linear")
def _linear(body: Body, node: Any, a: Arguments) -> Value:
    weight, bias = a["weight"], a["bias"]
    (out, size), _ = body.dims(weight)
    shape = body.dims(node)[0]
    if body.dims(weight)[1] is not None or "linear" in body.declared:
        raise Refused("its matrix is made of the input, or a module of this block is called `linear`")
    body.axis(a["input"], -1)
    layer = call("linear", [size, out], bias=(int(bias is not None), 1))
    given = [body.text(a["input"]), body.text(weight), *([body.text(bias)] if bias is not None else [])]
    return Value(f"{layer}({', '.join(given)})", shape)


@of("addmm")
def _addmm(body: Body, node: Any, a: Arguments) -> Value:
    raise Refused("write it as a linear layer")


@of("conv2d")
def _conv2d(body: Body, node: Any, a: Arguments) -> Value:
    (cout, per, k, kw), _ = body.dims(a["weight"])
    if isinstance(a["padding"], str) or "conv2d" in body.declared:
        raise Refused("its padding is a word, or a module of this block is called `conv2d`")
    stride, pad, dilation = (twice(a[word]) for word in ("stride", "padding", "dilation"))
    groups, biased = a["groups"], a["bias"] is not None
    layer = conv2d(per * groups, cout, (k, kw), stride, pad, dilation, groups, biased)
    if layer.startswith("conv2d_rect"):
        raise Refused("its stride or dilation is another across: make it a module")
    whole(body, a["input"], (3,))
    given = [body.text(v) for v in (a["input"], a["weight"], a["bias"]) if v is not None]
    return Value(f"{layer}({', '.join(given)})", body.dims(node)[0])


@of("batch_norm")
def _batch_norm(body: Body, node: Any, a: Arguments) -> Value:
    if a["training"] or a["running_mean"] is None or "batch_norm" in body.declared:
        raise Refused("it normalises by the batch at hand, without running statistics")
    whole(body, a["input"], (1, 2, 3))
    n = body.dims(a["running_mean"])[0][0]
    layer = call("batch_norm", [n], eps=(decimal(a["eps"]), decimal(1e-5)))
    weight = f"[1 for i in {n}]" if a["weight"] is None else body.text(a["weight"])
    bias = f"[0 for i in {n}]" if a["bias"] is None else body.text(a["bias"])
    given = [body.text(a["input"]), weight, bias, body.text(a["running_mean"]), body.text(a["running_var"])]
    return Value(f"{layer}({', '.join(given)})", body.dims(node)[0])


@of("layer_norm")
def _layer_norm(body: Body, node: Any, a: Arguments) -> Value:
    shape, _ = body.dims(node)
    if len(a["normalized_shape"]) != 1:
        raise Refused("it is over several dimensions: make it a module")
    body.axis(node, -1)
    names = body.letters(len(shape) - 1)
    text = f"{body.std('standardised')}({indexed(body.name(a['input']), names)}, {decimal(a['eps'])})"
    text += "" if a["weight"] is None else f" * {body.name(a['weight'])}"
    text += "" if a["bias"] is None else f" + {body.name(a['bias'])}"
    return Value(loops(names, shape[:-1], text), shape, ATOM if names else PLUS)


@of("max_pool2d", "avg_pool2d")
def pool2d(body: Body, node: Any, a: Arguments) -> Value:
    shape, new = whole(body, a["self"], (3,)), body.dims(node)[0]
    (k, kw), (p, pw) = twice(a["kernel_size"]), twice(a["padding"])
    s, sw = twice(a["stride"] or a["kernel_size"])
    largest = operator(node) != "avg_pool2d"
    if largest and twice(a["dilation"]) != (1, 1):
        raise Refused("its windows have a dilation")
    if not largest and (a["divisor_override"] or ((p or pw) and not a["count_include_pad"])):
        raise Refused("zeros around the image do not count as entries")
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


@of("max_pool1d", "avg_pool1d")
def _pool1d(body: Body, node: Any, a: Arguments) -> Value:
    shape, new = whole(body, a["self"], (2,)), body.dims(node)[0]
    k, p = twice(a["kernel_size"])[0], twice(a["padding"])[0]
    s = twice(a["stride"] or a["kernel_size"])[0]
    if a.get("dilation") and twice(a["dilation"])[0] != 1:
        raise Refused("its windows have a dilation")
    if (shape[1] + 2 * p - k) // s + 1 != new[1] or (p and not a.get("count_include_pad", True)):
        raise Refused("its windows go beyond the sequence, or zeros around it do not count as entries")
    return body.pipe(a["self"], call(body.std(operator(node)), [k], stride=(s, k), pad=(p, 0)), new)


@of("adaptive_avg_pool2d", "adaptive_max_pool2d")
def adaptive(body: Body, node: Any, a: Arguments) -> Value:
    shape, new = whole(body, a["self"], (3,)), body.dims(node)[0]
    average = operator(node) == "adaptive_avg_pool2d"
    if new == shape:
        return body.value(a["self"])
    if average and new[1:] == (1, 1) and "global_avg_pool" not in body.declared:
        mean = body.pipe(a["self"], "global_avg_pool", new[:1])
        inner = body.reshaped(mean, new)
        return Value(inner.text, new, inner.level, "adaptive_avg_pool[1]", whole=mean)
    name = body.std("adaptive_avg_pool" if average else "adaptive_max_pool")
    return body.pipe(a["self"], call(name, [new[1]], w=(new[2], new[1])), new)


@of("adaptive_avg_pool1d")
def _adaptive1d(body: Body, node: Any, a: Arguments) -> Value:
    shape, new = whole(body, a["self"], (2,)), body.dims(node)[0]
    if shape[1] % new[1]:
        raise Refused("its windows overlap")
    return body.pipe(a["self"], f"{body.std('avg_pool1d')}[{shape[1] // new[1]}]", new)


@of("upsample_nearest2d", "upsample_bilinear2d")
def _upsample(body: Body, node: Any, a: Arguments) -> Value:
    name = operator(node)
    x = a.get("input", a.get("self"))
    shape, new = whole(body, x, (3,)), body.dims(node)[0]
    scales = {n / o for n, o in zip(new[1:], shape[1:], strict=True)}
    if len(scales) != 1 or not (scale := scales.pop()).is_integer() or a.get("align_corners"):
        raise Refused("the image does not become a whole number of times as large, or `align_corners` is set")
    return body.pipe(x, f"{body.std(name[:-2] if 'bilinear' in name else 'upsample')}[{int(scale)}]", new)
