"""An ONNX graph as a module of PyTorch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from torch import nn

from ._slvr import InputError

Attributes = dict[str, Any]
#: What an operator makes of its inputs, of which those left out are ``None``.
Operator = Callable[[list[Any], Attributes], Any]


#: A name as a state dictionary has it; a number alone is one that an exporter gave.
_NAME = re.compile(r"(?!\d+$)\w+(\.\w+)*")

_REAL = {getattr(onnx.TensorProto, name) for name in ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")}


class _Refused(Exception):
    """An operator with options that are not supported."""


class Graph:
    """What is in a file: weights by the names of the file, constants, and operators in order."""

    def __init__(self, graph: onnx.GraphProto, rename: dict[str, str]) -> None:
        held = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        if unknown := sorted(set(rename) - set(held)):
            raise InputError(f"rename: the file has no initialiser `{unknown[0]}`")
        # Shapes and axes are whole numbers, and no weights. NumPy has no kind for the short types of `ml_dtypes`.
        real = {t.name for t in graph.initializer if t.data_type in _REAL}
        self.weights = {name: rename.get(name, name) for name in held if name in real}
        if len(set(self.weights.values())) < len(self.weights):
            raise InputError("rename: two initialisers get one name")
        self.unnamed: list[str] = []
        self.values = {self.weights[name]: held[name] for name in self.weights}
        self.constants = {name: a for name, a in held.items() if name not in self.weights}
        self.constants |= {node.output[0]: _constant(node) for node in graph.node if node.op_type == "Constant"}
        inputs = [value for value in graph.input if value.name not in held]
        self.nodes = [node for node in graph.node if node.op_type != "Constant"]
        self.outputs = [value.name for value in graph.output]
        self.problems = [(node.name, node.op_type, why) for node in self.nodes if (why := self._why_not(node))]
        if len(inputs) != 1 or len(self.outputs) != 1:
            self.problems.append(("", "the graph", "it has not one input and one result"))
        self.input = inputs[0] if inputs else onnx.ValueInfoProto()

    def _why_not(self, node: onnx.NodeProto) -> str:
        if node.domain not in ("", "ai.onnx"):
            return f"it is of the domain `{node.domain}`"
        if node.op_type not in _OPERATORS:
            return "no operator of the language does this"
        return "" if len([o for o in node.output if o]) == 1 else "it has several results"

    def example(self) -> Any:
        """An input of two samples."""
        kind = self.input.type.tensor_type
        sizes = [d.dim_value for d in kind.shape.dim]
        if not sizes or any(n <= 0 for n in sizes[1:]):
            raise InputError(f"the input `{self.input.name}` has no fixed sizes behind the batch")
        if kind.elem_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32):
            return torch.zeros([2, *sizes[1:]], dtype=torch.long)
        return torch.zeros([2, *sizes[1:]])

    def module(self) -> nn.Module:
        """The graph, with its weights as parameters along a tree of modules. Those that no module has by that name, or
        none beside the others, are `unnamed`."""
        root, tables = _Module(self), self.tables()
        for name, value in self.values.items():
            if not _NAME.fullmatch(name):
                self.unnamed.append(name)
                continue
            *path, last = name.split(".")
            owner: nn.Module = root
            tensor = torch.tensor(np.asarray(value, np.float32))
            try:
                for k, part in enumerate(path, 1):
                    if part not in owner._modules:
                        table = ".".join([*path[:k], "weight"])
                        owner.add_module(
                            part, nn.Embedding(*self.values[table].shape) if table in tables else nn.Module()
                        )
                    owner = owner.get_submodule(part)
                if name in tables:
                    owner.weight = nn.Parameter(tensor)
                else:
                    # Statistics are no parameters, and are in the state dictionary all the same.
                    owner.register_buffer(last, tensor)
            except KeyError:
                self.unnamed.append(name)
        return root.eval()

    def tables(self) -> set[str]:
        """Weights that tokens pick rows of, called as those of an embedding."""
        found = {self.weights.get(node.input[0], "") for node in self.nodes if node.op_type == "Gather"}
        return {name for name in found if name.endswith(".weight") and self.values[name].ndim == 2}


class _Module(nn.Module):  # type: ignore[misc, unused-ignore]
    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = [graph]

    def forward(self, x: Any) -> Any:
        (graph,) = self._graph
        held: dict[str, Any] = dict(graph.constants)
        tables = graph.tables()
        held |= {name: self.get_buffer(given) for name, given in graph.weights.items() if given not in tables}
        held |= {
            name: self.get_submodule(given[: -len(".weight")])
            for name, given in graph.weights.items()
            if given in tables
        }
        held[graph.input.name] = x
        for node in graph.nodes:
            about = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            inputs = [held[name] if name else None for name in node.input]
            made = next(name for name in node.output if name)
            try:
                held[made] = _OPERATORS[node.op_type](inputs, about)
            except _Refused as refused:
                raise InputError(f"node `{node.name}`: {node.op_type}: {refused}") from None
        return held[graph.outputs[0]]


def _numbers(given: Any) -> list[int]:
    """Whole numbers that are known, such as a shape."""
    if not isinstance(given, np.ndarray):
        raise _Refused("its shape or its axes are computed of the input")
    return [int(n) for n in given.reshape(-1)]


def _tensor(given: Any) -> Any:
    """A tensor, also of a constant."""
    return torch.tensor(given) if isinstance(given, np.ndarray) else given


def _known(given: Any) -> float:
    """A number that is known."""
    if not isinstance(given, np.ndarray | float | int) or np.size(given) != 1:
        raise _Refused("one of its numbers is computed of the input")
    return float(np.reshape(given, ()))


def _given(inputs: list[Any], place: int, about: Attributes, name: str) -> list[int] | None:
    """Whole numbers that newer files have as an input, and older ones as an attribute."""
    if len(inputs) > place and inputs[place] is not None:
        return _numbers(inputs[place])
    return list(about[name]) if name in about else None


def _pads(about: Attributes, rank: int) -> list[int]:
    """As many zeros on both sides of each dimension."""
    if about.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        raise _Refused("its padding is chosen by the size of the image (`auto_pad`)")
    pads = list(about.get("pads", [0] * (2 * rank)))
    if pads[:rank] != pads[rank:]:
        raise _Refused("it pads one side more than the other")
    return pads[:rank]


def _conv(inputs: list[Any], about: Attributes) -> Any:
    x, weight, bias = (*inputs, None)[:3]
    rank = weight.dim() - 2
    if rank not in (1, 2):
        raise _Refused("it is of one or two dimensions here")
    one = [1] * rank
    stride, dilation = about.get("strides", one), about.get("dilations", one)
    function = F.conv1d if rank == 1 else F.conv2d
    return function(x, weight, bias, stride, _pads(about, rank), dilation, about.get("group", 1))


def _gemm(inputs: list[Any], about: Attributes) -> Any:
    a, b, c = (*inputs, None)[:3]
    if about.get("transA") or about.get("alpha", 1.0) != 1.0 or about.get("beta", 1.0) != 1.0:
        raise _Refused("it has factors, or its first matrix is transposed")
    turned = bool(about.get("transB"))
    if turned and (c is None or tuple(c.shape) == (b.shape[0],)):
        return F.linear(a, b, c)
    made = torch.matmul(a, b.t() if turned else b)
    return made if c is None else made + c


def _pool(inputs: list[Any], about: Attributes, largest: bool) -> Any:
    kernel = list(about["kernel_shape"])
    rank = len(kernel)
    stride, pads = list(about.get("strides", [1] * rank)), _pads(about, rank)
    if set(about.get("dilations", [1])) != {1} or rank not in (1, 2):
        raise _Refused("it has a dilation, or is not of one or two dimensions")
    ceil = bool(about.get("ceil_mode", 0))
    if largest:
        pool = F.max_pool1d if rank == 1 else F.max_pool2d
        return pool(inputs[0], kernel, stride, pads, ceil_mode=ceil)
    counted = bool(about.get("count_include_pad", 0))
    average: Any = F.avg_pool1d if rank == 1 else F.avg_pool2d
    return average(inputs[0], kernel, stride, pads, ceil, counted)


def _batch_norm(inputs: list[Any], about: Attributes) -> Any:
    if about.get("training_mode"):
        raise _Refused("it normalises by the batch at hand")
    x, scale, bias, mean, variance = inputs
    return F.batch_norm(x, mean, variance, scale, bias, False, 0.0, about.get("epsilon", 1e-5))


def _layer_norm(inputs: list[Any], about: Attributes) -> Any:
    x, scale, bias = (*inputs, None)[:3]
    axis = about.get("axis", -1)
    if axis not in (-1, x.dim() - 1):
        raise _Refused("it is over several dimensions")
    return F.layer_norm(x, x.shape[axis:], scale, bias, about.get("epsilon", 1e-5))


def _reshape(inputs: list[Any], about: Attributes) -> Any:
    x, wanted = inputs[0], _numbers(inputs[1])
    if about.get("allowzero"):
        raise _Refused("a zero in its shape is a size of zero")
    sizes = [x.shape[k] if n == 0 else n for k, n in enumerate(wanted)]
    # A file that was written for one sample has a one where the batch stands.
    if wanted and wanted[0] == 1 and -1 not in wanted:
        sizes[0] = -1
    return x.reshape(sizes)


def _flatten(inputs: list[Any], about: Attributes) -> Any:
    if about.get("axis", 1) != 1:
        raise _Refused("it keeps more than the batch")
    return torch.flatten(inputs[0], 1)


def _clip(inputs: list[Any], about: Attributes) -> Any:
    ends = []
    for place, name in ((1, "min"), (2, "max")):
        end = inputs[place] if len(inputs) > place else about.get(name)
        ends.append(None if end is None else _known(end))
    return torch.clamp(inputs[0], *ends)


def _gather(inputs: list[Any], about: Attributes) -> Any:
    data, index = inputs
    axis = about.get("axis", 0)
    if isinstance(data, nn.Embedding):
        if axis != 0 or isinstance(index, np.ndarray):
            raise _Refused("it picks rows of weights, but not by tokens of the input")
        return data(index)
    if isinstance(index, np.ndarray) and index.ndim == 0:
        return data.select(axis, int(index))
    raise _Refused("it picks several entries along a dimension")


def _slice(inputs: list[Any], about: Attributes) -> Any:
    x = inputs[0]
    starts, ends = _given(inputs, 1, about, "starts"), _given(inputs, 2, about, "ends")
    if starts is None or ends is None:
        raise _Refused("it has no ends")
    axes = _given(inputs, 3, about, "axes") or list(range(len(starts)))
    steps = _given(inputs, 4, about, "steps") or [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        size = x.shape[axis]
        if step < 1:
            raise _Refused("it goes backwards")
        index = [slice(None)] * x.dim()
        index[axis] = slice(start, min(end, size) if end >= 0 else end, step)
        x = x[tuple(index)]
    return x


def _reduce(function: Callable[..., Any]) -> Operator:
    def made(inputs: list[Any], about: Attributes) -> Any:
        axes = _given(inputs, 1, about, "axes")
        if axes is None:
            raise _Refused("it is over all dimensions, the batch too")
        return function(inputs[0], dim=axes, keepdim=bool(about.get("keepdims", 1)))

    return made


def _squeeze(inputs: list[Any], about: Attributes) -> Any:
    axes = _given(inputs, 1, about, "axes")
    if axes is None:
        raise _Refused("it does not say which dimensions")
    x = inputs[0]
    for axis in sorted((a % x.dim() for a in axes), reverse=True):
        x = x.squeeze(axis)
    return x


def _unsqueeze(inputs: list[Any], about: Attributes) -> Any:
    axes, x = _given(inputs, 1, about, "axes") or [], inputs[0]
    rank = x.dim() + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = x.unsqueeze(axis)
    return x


def _constant(node: onnx.NodeProto) -> Any:
    value = onnx.helper.get_attribute_value(node.attribute[0])
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.array(value)


def _of(function: Callable[..., Any], **named: tuple[str, Any]) -> Operator:
    """A function of tensors, with attributes under the names of its arguments, and what they are without."""

    def made(inputs: list[Any], about: Attributes) -> Any:
        return function(
            *map(_tensor, inputs), **{word: about.get(name, default) for word, (name, default) in named.items()}
        )

    return made


def _first(inputs: list[Any], about: Attributes) -> Any:
    return inputs[0]


_OPERATORS: dict[str, Operator] = {
    "Abs": _of(torch.abs),
    "Add": _of(torch.add),
    "AveragePool": lambda inputs, about: _pool(inputs, about, False),
    "BatchNormalization": _batch_norm,
    "Clip": _clip,
    "Concat": lambda inputs, about: torch.cat([_tensor(x) for x in inputs], about["axis"]),
    "Conv": _conv,
    "Div": _of(torch.div),
    "Dropout": _first,
    "Elu": _of(F.elu, alpha=("alpha", 1.0)),
    "Exp": _of(torch.exp),
    "Flatten": _flatten,
    "Gather": _gather,
    "Gelu": lambda inputs, about: F.gelu(inputs[0], approximate=about.get("approximate", b"none").decode()),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda inputs, about: F.adaptive_avg_pool2d(inputs[0], 1),
    "HardSwish": _of(F.hardswish),
    "Identity": _first,
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _of(F.leaky_relu, negative_slope=("alpha", 0.01)),
    "Log": _of(torch.log),
    "LogSoftmax": _of(F.log_softmax, dim=("axis", -1)),
    "MatMul": _of(torch.matmul),
    "MaxPool": lambda inputs, about: _pool(inputs, about, True),
    "Mul": _of(torch.mul),
    "Neg": _of(torch.neg),
    "Pow": lambda inputs, about: torch.pow(inputs[0], _known(inputs[1])),
    "Reciprocal": _of(torch.reciprocal),
    "ReduceMean": _reduce(torch.mean),
    "ReduceSum": _reduce(torch.sum),
    "Relu": _of(F.relu),
    "Reshape": _reshape,
    "Sigmoid": _of(torch.sigmoid),
    "Slice": _slice,
    "Softmax": _of(F.softmax, dim=("axis", -1)),
    "Softplus": _of(F.softplus),
    "Sqrt": _of(torch.sqrt),
    "Squeeze": _squeeze,
    "Sub": _of(torch.sub),
    "Tanh": _of(torch.tanh),
    "Transpose": lambda inputs, about: inputs[0].permute(about.get("perm", list(range(inputs[0].dim()))[::-1])),
    "Unsqueeze": _unsqueeze,
}
