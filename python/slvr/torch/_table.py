"""The table of operators: what each of PyTorch's is in the language, for one sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._body import Body
from ._graph import Refused, operator
from ._text import (
    Shape,
    Value,
    kind,
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
    found = OPERATORS.get(name) or OPERATORS.get(name.removesuffix("_"))
    if found is None:
        raise Refused("no operator of the language does this")
    _counts(node, name.removesuffix("_"))
    shape, at = body.dims(node)
    batches = [body.dims(v)[1] for v in node.all_input_nodes if isinstance(v.meta.get("val"), torch.Tensor)]
    if at is None and any(b is not None for b in batches):
        raise Refused("it makes one result of all samples of a batch")
    value = found(body, node, {} if name == "getitem" else arguments(node))
    if value.shape != shape:
        raise Refused(f"it would have the shape {kind(value.shape)}, not {kind(shape)}")
    return value


def _counts(node: Any, name: str) -> None:
    """Refuses arithmetic that is none of real numbers: `or` of bits, and integers that wrap around."""
    made = node.meta.get("val")
    dtype = made.dtype if isinstance(made, torch.Tensor) else None
    if dtype is torch.bool and name in ("add", "sub", "rsub"):
        raise Refused("it adds bits, which is no sum of numbers: make them numbers first")
    if dtype in (torch.uint8, torch.int8, torch.int16) and name in ("add", "sub", "rsub", "mul", "neg", "pow", "sum"):
        raise Refused(f"it computes in {dtype}, which wraps around")


def known(node: Any) -> bool:
    """Whether there is an operator for it at all."""
    name = operator(node)
    return name in OPERATORS or name.removesuffix("_") in OPERATORS


def of(*names: str) -> Callable[[Operator], Operator]:
    def put(function: Operator) -> Operator:
        for name in names:
            OPERATORS[name] = function
        return function

    return put


def twice(value: Any) -> tuple[int, int]:
    value = [value] if isinstance(value, int) else list(value)
    return (value[0], value[-1])


def whole(body: Body, x: Any, ranks: Sequence[int]) -> Shape:
    """The shape of an operand that is one sample of a batch in front."""
    shape, at = body.dims(x)
    if at not in (0, None) or len(shape) not in ranks:
        raise Refused(f"one sample has {' or '.join(map(str, ranks))} dimensions, behind that of the batch")
    return shape
