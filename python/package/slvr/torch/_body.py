"""The body of one block while it is written: values of nodes, names, and what operators ask of them."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from ._graph import Refused, Traced
from ._text import ATOM, PIPE, Shape, Value, fresh, indexed, literal, loops, number, sizes

#: The largest constant that is written into the text.
ENTRIES = 4096

#: Something that an operator computes with: a node, a value, or a number.
Operand = Any


class Body:
    """One block: what it has computed so far."""

    def __init__(self, traced: Traced, path: str, declared: Sequence[str], inputs: Sequence[Any]) -> None:
        self.traced, self.path = traced, path
        self.declared = set(declared)
        self.taken = set(declared)
        self.values: dict[Any, Value] = {}
        self.uses: Counter[Any] = Counter()
        self.lets: list[str] = []
        self.inputs = [fresh(name, self.taken) for name in self._letters(len(inputs))]
        for name, node in zip(self.inputs, inputs, strict=True):
            with contextlib.suppress(Refused):
                self.values[node] = Value(name, ())
                self.values[node] = Value(name, self.dims(node)[0])

    @staticmethod
    def _letters(n: int) -> list[str]:
        return ["x"] if n == 1 else [f"x{k + 1}" for k in range(n)]

    def dims(self, node: Any) -> tuple[Shape, int | None]:
        """The shape for one sample, and where the batch stands."""
        if node in self.traced.constants:
            return tuple(self.traced.constants[node].shape), None
        return self.traced.dims(node)

    def axis(self, node: Any, dim: int) -> int:
        """The dimension of one sample that a dimension of a batch is."""
        shape, at = self.dims(node)
        rank = len(shape) + (at is not None)
        dim = dim % rank if rank else 0
        if dim == at:
            raise Refused("it goes over the samples of a batch")
        return dim - (at is not None and at < dim)

    def std(self, name: str) -> str:
        """A function of the library, also where a module has its name."""
        return f"std::{name}" if name in self.declared else name

    def value(self, operand: Operand) -> Value:
        """An operand as an expression."""
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, bool | int | float):
            return literal(float(operand))
        if operand in self.values:
            return self.values[operand]
        if operand in self.traced.weights:
            return Value(self.weight(self.traced.weights[operand]), self.dims(operand)[0])
        if operand in self.traced.constants:
            return self.constant(self.traced.constants[operand])
        raise Refused(f"`{operand.name}` is not known here")

    def weight(self, name: str) -> str:
        """A parameter by its path. `_export` knows how modules are declared."""
        raise NotImplementedError

    def masked(self, path: str) -> bool:
        """Whether the attention of a module takes a mask."""
        raise NotImplementedError

    def constant(self, tensor: Any) -> Value:
        """A tensor that is known."""
        shape, flat = tuple(tensor.shape), tensor.reshape(-1)
        if flat.is_complex() or not bool(torch.isfinite(flat.double()).all()):
            raise Refused("it has a constant that is complex, infinite or no number")
        if flat.numel() and bool((flat == flat[0]).all()):
            return replace(literal(float(flat[0])), shape=shape)
        if flat.numel() > ENTRIES:
            raise Refused(f"it has a constant of {flat.numel()} entries: make it a buffer of the state dictionary")

        def text(part: Any) -> str:
            if part.dim():
                return f"[{', '.join(text(inner) for inner in part)}]"
            return str(bool(part)).lower() if part.dtype == torch.bool else number(float(part))

        return Value(text(tensor), shape)

    def let(self, value: Value, wanted: str = "y") -> Value:
        """The same under a name."""
        if value.number is not None and value.shape:
            value = replace(value, text=self.filled(value), level=ATOM, number=None)
        name = fresh(wanted, self.taken)
        self.lets.append(f"let {name} = {value.text}")
        return Value(name, value.shape)

    def filled(self, value: Value) -> str:
        """A tensor of one number."""
        return loops(self.letters(len(value.shape)), value.shape, value.text)

    def name(self, operand: Operand) -> str:
        """A name for an operand, which may then be indexed."""
        value = self.value(operand)
        if value.number is None and re.fullmatch(r"[A-Za-z_`][\w.`]*(\[\d+\][\w.`]*)*", value.text):
            return value.text
        named = self.let(value)
        if not isinstance(operand, Value | bool | int | float):
            self.values[operand] = named
        return named.text

    def text(self, operand: Operand, level: int = PIPE) -> str:
        """The text of an operand as a tensor of its shape."""
        return self.tensor(operand).at(level)

    def tensor(self, operand: Operand) -> Value:
        """An operand as a tensor of its shape."""
        value = self.value(operand)
        if value.number is not None and value.shape:
            return Value(self.filled(value), value.shape)
        return value

    def letters(self, n: int) -> list[str]:
        """Names of loops."""
        free = [c for c in "ijklabdefgmnpqrstuvw" if c not in self.taken]
        return free[:n] if n <= len(free) else [f"i_{k}" for k in range(n)]

    def put(self, node: Any, value: Value) -> None:
        """What a node is: an expression where it is read once, else a name."""
        simple = value.level == ATOM and (value.number is not None or value.text.isidentifier())
        if self.uses[node] > 1 and not simple:
            value = self.let(value)
        self.values[node] = value

    def pipe(self, operand: Operand, stage: str, shape: Shape, listed: bool = True) -> Value:
        """``operand |> stage``; whether a list may have the stage in the place of a layer."""
        return Value(f"{self.text(operand)} |> {stage}", shape, PIPE, stage if listed else None)

    def reshaped(self, operand: Operand, shape: Shape) -> Value:
        """The same entries in another shape."""
        value = self.value(operand)
        if value.number is not None:
            return replace(value, shape=shape)
        value = value.whole or value
        if value.shape == shape:
            return value
        stage = None
        if shape == ():
            text, level = f"{self.std('flat')}({self.text(value)})[0]", ATOM
        elif value.shape == ():
            text, level = "[" * len(shape) + self.text(value) + "]" * len(shape), ATOM
        elif len(shape) == 1 and "flatten" not in self.declared:
            return replace(self.pipe(value, "flatten", shape), whole=value)
        else:
            text, level = f"{self.std('reshape')}[{sizes(shape)}]({self.text(value)})", ATOM
        return Value(text, shape, level, stage, whole=value)

    def gathered(self, operand: Operand, shape: Shape, index: Callable[[Sequence[str]], Sequence[str]]) -> Value:
        """A tensor whose entries are entries of another: the index into it, by that into the result."""
        value = self.value(operand)
        if value.number is not None:
            return replace(value, shape=shape)
        names = self.letters(len(shape))
        inside = list(index(names))
        over = list(zip(names, shape, strict=True))
        # Dimensions at the end that stay as they are need no index.
        while over and inside and inside[-1] == over[-1][0] and shape[len(over) - 1] == value.shape[len(inside) - 1]:
            over.pop()
            inside.pop()
        text = indexed(self.name(operand), inside)
        return Value(loops([n for n, _ in over], [n for _, n in over], text), shape)

    def permuted(self, operand: Operand, order: Sequence[int]) -> Value:
        """The dimensions in another order."""
        value = self.value(operand)
        shape = tuple(value.shape[k] for k in order)
        if list(order) == list(range(len(order))):
            return value
        if list(order) == [1, 0] and value.number is None:
            return Value(f"{self.std('transpose')}({self.text(value)})", shape)

        def index(names: Sequence[str]) -> list[str]:
            return [names[list(order).index(k)] for k in range(len(order))]

        return self.gathered(operand, shape, index)

    def pointwise(
        self, node: Any, operands: Sequence[Operand], write: Callable[[list[Value]], tuple[str, int]]
    ) -> Value:
        """An operator that works entry by entry; operands are repeated as PyTorch does. ``write`` makes an expression
        of entries, and says how tightly it binds."""
        shape, _ = self.dims(node)
        aligned = [self.aligned(operand, node) for operand in operands]
        # How many of the first dimensions are looped over, so that behind them all operands have one shape.
        first = next(k for k in range(len(shape) + 1) if all(f is None or f[k:] == shape[k:] for _, f in aligned))
        names = self.letters(first)
        entries = []
        for operand, (value, full) in zip(operands, aligned, strict=True):
            if full is None or first == 0:
                entries.append(value if full is None else self.tensor(value))
                continue
            missing = len(shape) - len(value.shape)
            index = [
                "0" if value.shape[k] == 1 and shape[k + missing] != 1 else names[k + missing]
                for k in range(max(0, first - missing))
            ]
            name = self.name(operand if value is self._held(operand) else value)
            entries.append(Value(indexed(name, index), shape[first:]))
        inner, level = write(entries)
        return Value(loops(names, shape[:first], inner), shape, ATOM if first else level)

    def _held(self, operand: Operand) -> Value | None:
        return None if isinstance(operand, Value | bool | int | float) else self.values.get(operand)

    def aligned(self, operand: Operand, node: Any) -> tuple[Value, Shape | None]:
        """An operand of an operator beside the result: for one sample, with its shape filled up with ones in front, or
        ``None`` for a single number."""
        value = self.value(operand)
        if value.number is not None:
            return replace(value, shape=()), None
        shape, at = self.dims(node)
        if not isinstance(operand, Value):
            own, batch = self.dims(operand)
            missing = len(shape) + (at is not None) - len(own) - (batch is not None)
            if batch is not None and batch + missing != at:
                raise Refused("the batch of one operand meets another dimension of the other")
            if batch is None and at is not None and at - missing >= 0:
                # A one stands where the others have the batch.
                value = self.reshaped(value, own[: at - missing] + own[at - missing + 1 :])
        if value.shape == ():
            return value, None
        return value, (1,) * (len(shape) - len(value.shape)) + value.shape
