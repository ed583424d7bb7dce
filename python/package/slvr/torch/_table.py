"""The table of operators: what each of PyTorch's is in the language, for one sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree

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
    given = {} if name == "getitem" else arguments(node)
    _numbers(given, known=found is not None)
    if found is None:
        raise Refused("no operator of the language does this")
    _counts(node, name.removesuffix("_"))
    shape, at = body.dims(node)
    batches = [body.dims(v)[1] for v in node.all_input_nodes if isinstance(v.meta.get("val"), torch.Tensor)]
    if at is None and any(b is not None for b in batches):
        raise Refused("it makes one result of all samples of a batch")
    value = found(body, node, given)
    if value.shape != shape:
        raise Refused(f"it would have the shape {kind(value.shape)}, not {kind(shape)}")
    return value


#: Arguments that say the shape of a result, which may have the batch.
_SIZES = {"size", "shape", "repeats", "end"}


def _numbers(given: Arguments, known: bool) -> None:
    """Refuses numbers that are none of a model: the size of a batch, and what is not real or not finite."""
    for name, value in given.items():
        for part in _pytree.tree_leaves(value):
            if isinstance(part, torch.fx.Node) and isinstance(part.meta.get("val"), torch.SymInt | torch.SymFloat):
                if not known or name not in _SIZES:
                    raise Refused("it computes with the size of the batch, and a model computes one sample")
            elif isinstance(part, complex):
                raise Refused("its numbers are complex")
            elif isinstance(part, float) and not math.isfinite(part) and name != "value":
                raise Refused(f"one of its numbers is {part}")


def _counts(node: Any, name: str) -> None:
    """Refuses arithmetic that is none of real numbers: `or` of bits, integers that wrap around, complex numbers."""
    made = node.meta.get("val")
    dtype = made.dtype if isinstance(made, torch.Tensor) else None
    if dtype is not None and dtype.is_complex:
        raise Refused("its numbers are complex")
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


@of(
    *("conv1d", "conv_transpose2d", "group_norm", "instance_norm", "rms_norm", "embedding", "prelu"),
    *("lstm", "gru", "lstm_cell", "gru_cell"),
)
def _module_only(body: Body, node: Any, a: Arguments) -> Value:
    raise Refused("it is supported as a module of PyTorch alone, one without hooks, parametrizations or other tensors")


def twice(value: Any) -> tuple[int, int]:
    value = [value] if isinstance(value, int) else list(value)
    return (value[0], value[-1])


def whole(body: Body, x: Any, ranks: Sequence[int]) -> Shape:
    """The shape of an operand that is one sample of a batch in front."""
    shape, at = body.dims(x)
    if at not in (0, None) or len(shape) not in ranks:
        raise Refused(f"one sample has {' or '.join(map(str, ranks))} dimensions, behind that of the batch")
    return shape
