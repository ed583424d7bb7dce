"""Modules that are layers of the standard library."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import nn
from torch.nn.utils import parametrize

from ._graph import Refused, floats
from ._text import Block, call, decimal


@dataclass
class Leaf:
    """How a module is declared: as a layer of the library, or as a block of its own."""

    layer: str | None = None
    block: Block | None = None
    #: The ranks that one sample may have behind the batch; empty for any.
    ranks: tuple[int, ...] = ()
    #: Of a layer of any rank: how many dimensions at the end are no batch.
    last: int = 1
    #: Which function of `_operators` applies it; ``plain`` is ``x |> layer``.
    how: str = "plain"
    #: What it needs to know.
    about: dict[str, Any] = field(default_factory=dict)


def _square(value: Any) -> tuple[int, int]:
    down, across = value if isinstance(value, tuple) else (value, value)
    return int(down), int(across)


def _zeros(module: Any) -> None:
    if module.padding_mode != "zeros":
        raise Refused(f"it pads with `{module.padding_mode}`, not with zeros")


def _padding(module: Any) -> tuple[int, ...]:
    """Numbers of zeros on both sides of each dimension."""
    if module.padding == "valid":
        return tuple(0 for _ in module.kernel_size)
    if module.padding == "same":
        wide = [d * (k - 1) for d, k in zip(module.dilation, module.kernel_size, strict=True)]
        if any(n % 2 for n in wide):
            raise Refused("it pads one side more than the other")
        return tuple(n // 2 for n in wide)
    return tuple(module.padding)


def conv2d(
    cin: int,
    cout: int,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    pad: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    bias: bool,
) -> str:
    """The layer of a convolution of images."""
    (k, kw), (s, sw), (p, pw), (d, dw) = kernel, stride, pad, dilation
    if (s, d) != (sw, dw):
        return call(
            "conv2d_rect",
            [cin, cout, k],
            kernel_w=(kw, k),
            stride=(s, 1),
            stride_w=(sw, s),
            pad=(p, 0),
            pad_w=(pw, p),
            dilation=(d, 1),
            dilation_w=(dw, d),
            groups=(groups, 1),
            bias=(int(bias), 1),
        )
    return call(
        "conv2d",
        [cin, cout, f"kernel = {k}"],
        stride=(s, 1),
        pad=(p, 0),
        dilation=(d, 1),
        groups=(groups, 1),
        bias=(int(bias), 1),
        kernel_w=(kw, k),
        pad_w=(pw, p),
    )


def _linear(m: Any) -> Leaf:
    return Leaf(call("linear", [m.in_features, m.out_features], bias=(int(m.bias is not None), 1)))


def _conv1d(m: Any) -> Leaf:
    _zeros(m)
    layer = call(
        "conv1d",
        [m.in_channels, m.out_channels, f"kernel = {m.kernel_size[0]}"],
        stride=(m.stride[0], 1),
        pad=(_padding(m)[0], 0),
        dilation=(m.dilation[0], 1),
        groups=(m.groups, 1),
        bias=(int(m.bias is not None), 1),
    )
    return Leaf(layer, ranks=(2,))


def _conv2d(m: Any) -> Leaf:
    _zeros(m)
    pad = _square(_padding(m))
    biased = m.bias is not None
    layer = conv2d(m.in_channels, m.out_channels, m.kernel_size, m.stride, pad, m.dilation, m.groups, biased)
    return Leaf(layer, ranks=(3,))


def _conv_transpose2d(m: Any) -> Leaf:
    _zeros(m)
    sizes = [m.kernel_size, m.stride, m.padding, m.output_padding]
    if m.groups != 1 or tuple(m.dilation) != (1, 1) or any(a != b for a, b in sizes):
        raise Refused("its kernel, stride or padding is not square, or it has groups or a dilation")
    (kernel, _), (stride, _), (pad, _), (more, _) = sizes
    layer = call(
        "conv_transpose2d",
        [m.in_channels, m.out_channels, f"kernel = {kernel}"],
        stride=(stride, 1),
        pad=(pad, 0),
        output_pad=(more, 0),
        bias=(int(m.bias is not None), 1),
    )
    return Leaf(layer, ranks=(3,))


def _eps(value: float | None) -> tuple[str, str]:
    # PyTorch has the smallest step of float32 where none is given.
    return decimal(2.0**-23 if value is None else value), decimal(1e-5)


def _batch_norm(ranks: tuple[int, ...]) -> Callable[[Any], Leaf]:
    def made(m: Any) -> Leaf:
        if m.running_mean is None:
            raise Refused("it normalises by the batch at hand, without running statistics")
        layer = call("batch_norm", [m.num_features], eps=_eps(m.eps))
        if m.affine:
            return Leaf(layer, ranks=ranks)
        n = m.num_features
        statistics = [("running_mean", f"param[{n}]"), ("running_var", f"param[{n}]")]
        result = f"{layer}(x, [1 for i in {n}], [0 for i in {n}], running_mean, running_var)"
        return Leaf(block=Block("(x)", statistics, [], result), ranks=ranks)

    return made


def _layer_norm(m: Any) -> Leaf:
    shape = tuple(m.normalized_shape)
    n = 1
    for size in shape:
        n *= size
    if len(shape) == 1 and m.weight is not None and m.bias is not None:
        return Leaf(call("layer_norm", [n], eps=_eps(m.eps)))
    return Leaf(block=_standard(m, shape, n, n), last=len(shape))


def _standard(m: Any, shape: tuple[int, ...], n: int, entries: int) -> Block:
    """A layer normalisation that lacks weights, or is over several dimensions."""
    size = ", ".join(map(str, shape))
    names = [name for name in ("weight", "bias") if getattr(m, name, None) is not None]
    declared = [(name, f"param[{size}]") for name in names]
    lets = [f"let rows = reshape[x.len / {n}, {n}](x)"]
    row = f"standardised(rows[i], {decimal(m.eps)})"
    for name, sign in (("weight", "*"), ("bias", "+")):
        if name in names:
            row += f" {sign} {name}" if len(shape) == 1 else f" {sign} flat({name})"
    return Block("(x)", declared, lets, f"reshape[x.shape]([{row} for i in x.len / {n}])")


def _group_norm(m: Any) -> Leaf:
    ranks = (1, 2, 3)
    if m.affine:
        return Leaf(call("group_norm", [m.num_groups, m.num_channels], eps=_eps(m.eps)), ranks=ranks)
    return Leaf(block=_grouped(m, m.num_groups, False), ranks=ranks)


def _grouped(m: Any, groups: int, affine: bool) -> Block:
    """A normalisation of groups of channels, or of each channel, without weights or with them."""
    lets = [f"let rows = reshape[{groups}, x.len / {groups}](x)"]
    row = f"standardised(rows[i], {decimal(m.eps)})"
    declared = [(name, f"param[{groups}]") for name in ("weight", "bias")] if affine else []
    row += " * weight[i] + bias[i]" if affine else ""
    return Block("(x)", declared, lets, f"reshape[x.shape]([{row} for i in {groups}])")


def _instance_norm(m: Any) -> Leaf:
    if m.running_mean is not None:
        raise Refused("it normalises by running statistics")
    return Leaf(block=_grouped(m, m.num_features, m.affine), ranks=(2, 3))


def _rms_norm(m: Any) -> Leaf:
    if len(m.normalized_shape) != 1 or m.weight is None:
        raise Refused("it is over several dimensions, or has no weights")
    return Leaf(call("rms_norm", [m.normalized_shape[0]], eps=_eps(m.eps)))


def _embedding(m: Any) -> Leaf:
    if m.max_norm is not None:
        raise Refused("it changes its weights in evaluation (`max_norm`)")
    return Leaf(call("embedding", [m.num_embeddings, m.embedding_dim]), ranks=(1,))


def _recurrent(name: str) -> Callable[[Any], Leaf]:
    def made(m: Any) -> Leaf:
        if not m.bias or getattr(m, "proj_size", 0) > 0:
            raise Refused("it has no biases, or a projection")
        if m.bidirectional and m.num_layers > 1:
            raise Refused("several layers are bidirectional: write them as several modules")
        layer = call(f"bi_{name}" if m.bidirectional else name, [m.input_size, m.hidden_size], layers=(m.num_layers, 1))
        about = {"both": m.bidirectional, "layers": m.num_layers, "hidden": m.hidden_size, "first": m.batch_first}
        return Leaf(layer, ranks=(2,), how="recurrent", about=about)

    return made


def _cell(name: str) -> Callable[[Any], Leaf]:
    def made(m: Any) -> Leaf:
        if not m.bias:
            raise Refused("it has no biases")
        return Leaf(call(name, [m.input_size, m.hidden_size]), ranks=(1,), how=name, about={"hidden": m.hidden_size})

    return made


def _attention(m: Any) -> Leaf:
    if m.in_proj_weight is None or m.in_proj_bias is None or m.bias_k is not None or m.add_zero_attn:
        raise Refused("it has no biases, keys or values of another size, or keys that are added")
    return Leaf(f"[{m.embed_dim}, {m.num_heads}]", ranks=(2,), how="attention", about={"first": m.batch_first})


def _prelu(m: Any) -> Leaf:
    n = m.num_parameters
    result = "relu(x) - weight[0] * relu(-x)"
    if n > 1:
        result = f"[relu(x[c]) - weight[c] * relu(-x[c]) for c in {n}]"
    return Leaf(block=Block("(x)", [("weight", f"param[{n}]")], [], result), ranks=(1, 2, 3) if n > 1 else (), last=0)


_BOTH = ("weight", "bias")
_NORM = (*_BOTH, "running_mean", "running_var")
_CELL = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
_PROJECTIONS = ("in_proj_weight", "in_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight")
_HEADS = (*_PROJECTIONS, "out_proj.weight", "out_proj.bias", "bias_k", "bias_v")

#: The layers, and the tensors that each may have; those of a recurrent one are numbered.
_LEAVES: dict[type[Any], tuple[Callable[[Any], Leaf], Sequence[str]]] = {
    nn.Linear: (_linear, _BOTH),
    nn.Conv1d: (_conv1d, _BOTH),
    nn.Conv2d: (_conv2d, _BOTH),
    nn.ConvTranspose2d: (_conv_transpose2d, _BOTH),
    nn.BatchNorm1d: (_batch_norm((1, 2)), _NORM),
    nn.BatchNorm2d: (_batch_norm((3,)), _NORM),
    nn.LayerNorm: (_layer_norm, _BOTH),
    nn.GroupNorm: (_group_norm, _BOTH),
    nn.InstanceNorm1d: (_instance_norm, _NORM),
    nn.InstanceNorm2d: (_instance_norm, _NORM),
    nn.RMSNorm: (_rms_norm, ("weight",)),
    nn.Embedding: (_embedding, ("weight",)),
    nn.LSTM: (_recurrent("lstm"), ()),
    nn.GRU: (_recurrent("gru"), ()),
    nn.LSTMCell: (_cell("lstm_cell"), _CELL),
    nn.GRUCell: (_cell("gru_cell"), _CELL),
    nn.MultiheadAttention: (_attention, _HEADS),
    nn.PReLU: (_prelu, ("weight",)),
}

_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


def _table(module: Any) -> tuple[Callable[[Any], Leaf], Sequence[str]] | None:
    # A subclass is the same layer unless it computes something else.
    found = next((cls for cls in type(module).__mro__ if cls in _LEAVES), None)
    if found is None or type(module).forward is not found.forward:
        return None
    return _LEAVES[found]


def is_leaf(module: Any) -> bool:
    """Whether a module is a layer. One whose weights are computed, or that has hooks or other tensors, is not."""
    table = _table(module)
    if table is None or "forward" in vars(module) or type(module).__call__ is not nn.Module.__call__:
        return False
    if parametrize.is_parametrized(module):
        return False
    if any(getattr(module, hooks, None) or getattr(nn.modules.module, f"_global{hooks}") for hooks in _HOOKS):
        return False
    known = table[1] or module._flat_weights_names
    return {name for name in known if operator.attrgetter(name)(module) is not None} == set(floats(module))


def leaf(module: Any) -> Leaf:
    """How it is declared. Raises :class:`Refused`."""
    table = _table(module)
    assert table is not None
    return table[0](module)
