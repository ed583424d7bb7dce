"""Sums, means and the like, and parts of what has several results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ._body import Body
from ._graph import Refused, operator
from ._shapes import part, picked
from ._table import Arguments, arguments, of
from ._text import (
    TIMES,
    Shape,
    Value,
    indexed,
    loops,
)
from ._windows import adaptive, pool2d


@of("sum", "mean", "amax", "amin")
def _reduce(body: Body, node: Any, a: Arguments) -> Value:
    dims = a.get("dim")
    if dims is None or dims == []:
        dims = list(range(len(body.dims(a["self"])[0])))
        if body.dims(a["self"])[1] is not None:
            raise Refused("it makes one result of all samples of a batch")
    return reduced(
        body, a["self"], [dims] if isinstance(dims, int) else list(dims), a.get("keepdim", False), operator(node)
    )


def reduced(body: Body, x: Any, dims: Sequence[int], keep: bool, name: str) -> Value:
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


@of("softmax", "log_softmax", "_softmax", "_log_softmax")
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


@of("getitem")
def _getitem(body: Body, node: Any, _: Arguments) -> Value:
    source, place = node.args
    name, a = operator(source), arguments(source)
    if name in ("max", "min") and place == 0 and a.get("dim") is not None:
        return reduced(body, a["self"], [a["dim"]], a["keepdim"], name)
    if name == "unbind":
        return picked(body, a["self"], a["dim"], place)
    if name in ("split", "split_with_sizes", "chunk", "tensor_split"):
        x, parts = a["self"], source.meta["val"]
        axis = body.axis(x, a["dim"])
        at = body.dims(x)[1]
        dim = axis + (at is not None and at <= axis)
        lengths = [int(part.shape[dim]) for part in parts]
        return part(body, x, dim, sum(lengths[:place]), lengths[place], 1)
    if place == 0 and name in ("adaptive_max_pool2d", "max_pool2d_with_indices"):
        return adaptive(body, node, a) if "adaptive" in name else pool2d(body, node, a)
    raise Refused("no operator of the language does this")
