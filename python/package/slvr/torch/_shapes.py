"""Operators that move entries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ._body import Body
from ._graph import Refused, operator
from ._table import Arguments, of
from ._text import (
    Value,
    indexed,
    loops,
    number,
)


@of("view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "_unsafe_view", "view_as", "reshape_as")
def _reshape(body: Body, node: Any, a: Arguments) -> Value:
    (old, b), (new, c) = body.dims(a["self"]), body.dims(node)
    # The batch stays where it is if as many entries stand before it.
    if b is not None and c is not None and math.prod(old[:b]) != math.prod(new[:c]):
        raise Refused("it moves the batch among other dimensions")
    if b is None and c is not None:
        raise Refused("it makes a batch of a tensor that is none")
    return body.reshaped(a["self"], new)


@of("permute", "transpose", "t", "swapaxes", "swapdims", "movedim", "numpy_T", "mT")
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
        if rank > 2 and name != "mT":
            raise Refused("it is of more than a matrix")
        order[-2:] = order[-2:][::-1]
    else:
        ends: list[Any] = [a.get(f"dim{k}", a.get(f"axis{k}")) for k in (0, 1)]
        one, other = (end % rank for end in ends)
        order[one], order[other] = order[other], order[one]
    kept = [d for d in order if d != at]
    return body.permuted(a["self"], [d - (at is not None and at < d) for d in kept])


@of("expand", "expand_as", "broadcast_to")
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


@of("repeat")
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


@of("select")
def _select_one(body: Body, node: Any, a: Arguments) -> Value:
    return picked(body, a["self"], a["dim"], a["index"])


def picked(body: Body, x: Any, dim: int, place: int) -> Value:
    axis, old = body.axis(x, dim), body.dims(x)[0]
    place = place % old[axis]
    shape = old[:axis] + old[axis + 1 :]
    return body.gathered(x, shape, lambda names: [*names[:axis], str(place), *names[axis:]])


@of("slice", "narrow")
def _slice(body: Body, node: Any, a: Arguments) -> Value:
    if operator(node) == "narrow":
        return part(body, a["self"], a["dim"], a["start"], a["length"], 1)
    old, new = body.dims(a["self"])[0], body.dims(node)[0]
    if a["step"] == 1 and old == new and not isinstance(a["start"], torch.fx.Node) and not a["start"]:
        return body.value(a["self"])
    axis = body.axis(a["self"], a["dim"])
    start = a["start"] or 0
    start = max(0, start + old[axis]) if start < 0 else start
    return part(body, a["self"], a["dim"], start, new[axis], a["step"])


def part(body: Body, x: Any, dim: int, start: int, length: int, step: int) -> Value:
    axis, old = body.axis(x, dim), body.dims(x)[0]
    shape = (*old[:axis], length, *old[axis + 1 :])
    if shape == old:
        return body.value(x)

    def index(names: Sequence[str]) -> list[str]:
        one = names[axis] if step == 1 else f"{step} * {names[axis]}"
        return [*names[:axis], f"{one} + {start}" if start else one, *names[axis + 1 :]]

    return body.gathered(x, shape, index)


@of("flip")
def _flip(body: Body, node: Any, a: Arguments) -> Value:
    shape = body.dims(node)[0]
    axes = {body.axis(a["self"], d) for d in a["dims"]}
    return body.gathered(
        a["self"], shape, lambda names: [f"{shape[k] - 1} - {n}" if k in axes else n for k, n in enumerate(names)]
    )


@of("cat", "concat")
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


@of("stack")
def _stack(body: Body, node: Any, a: Arguments) -> Value:
    shape, axis = body.dims(node)[0], body.axis(node, a["dim"])
    names = body.letters(axis)
    texts = [indexed(body.name(part), names) if axis else body.text(part) for part in a["tensors"]]
    return Value(loops(names, shape[:axis], f"[{', '.join(texts)}]"), shape)


@of("pad", "constant_pad_nd")
def _pad(body: Body, node: Any, a: Arguments) -> Value:
    if a.get("mode", "constant") != "constant":
        raise Refused("it pads with entries, not with a number")
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
