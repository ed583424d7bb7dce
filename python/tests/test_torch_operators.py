"""Operators and layers of PyTorch, one at a time: what is exported computes the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import applying
from weights import numbers, weight

import slvr

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402
from torch.nn import functional as f  # noqa: E402

import slvr.torch  # noqa: E402

Call = Callable[..., Any]
TABLE = torch.arange(12.0, dtype=torch.float64).reshape(3, 4) / 8


class Net(nn.Module):
    """A scale, so that there is a weight, and then a call of an optional layer."""

    def __init__(self, call: Call, layer: nn.Module | None) -> None:
        super().__init__()
        self.scale, self.call = nn.Parameter(torch.ones(1)), call
        if layer is not None:
            self.layer = layer

    def forward(self, x):
        return self.call(self.layer, self.scale * x) if hasattr(self, "layer") else self.call(self.scale * x)


def in_place(x):
    y = x + 1
    y *= 2
    y.clamp_(-1, 1)
    return y + x


def cells(layer, x):
    h, c = layer(x[:, 0])
    for k in range(1, x.shape[1]):
        h, c = layer(x[:, k], (h, c))
    return h + c


def gru_cells(layer, x):
    h = layer(x[:, 0])
    return layer(x[:, 1], h)


def causal(layer, x):
    later = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
    return layer(x, x, x, need_weights=False, attn_mask=later)[0]


def swapped(layer, x):
    """A layer that has the batch in second place."""
    y = x.transpose(0, 1)
    return layer(y, y, y, need_weights=False)[0].transpose(0, 1)


def heads(x):
    q = x.view(x.shape[0], 3, 2, 2).transpose(1, 2)
    y = f.scaled_dot_product_attention(q, q, q, is_causal=True)
    return y.transpose(1, 2).reshape(x.shape[0], 3, 4)


class Attention(nn.Module):
    """Causal attention as GPT-2 has it, the batch joined with nothing."""

    def __init__(self, n: int, heads: int) -> None:
        super().__init__()
        self.c_attn, self.c_proj, self.heads = nn.Linear(n, 3 * n), nn.Linear(n, n), heads
        self.register_buffer("mask", torch.tril(torch.ones(8, 8))[None, None], persistent=False)

    def forward(self, x):
        b, t, c = x.size()
        parts = self.c_attn(x).split(c, dim=2)
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in parts)
        seen = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1) ** 0.5)
        seen = seen.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = f.softmax(seen, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))


class Patches(nn.Module):
    """The front of a vision transformer: patches, a token of the class, and positions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv_proj = nn.Conv2d(2, 4, 2, 2)
        self.class_token, self.pos = nn.Parameter(torch.zeros(1, 1, 4)), nn.Parameter(torch.zeros(1, 7, 4))
        self.ln = nn.LayerNorm(4)

    def forward(self, x):
        y = self.conv_proj(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.class_token.expand(x.shape[0], -1, -1), y], 1) + self.pos
        return self.ln(y)[:, 0]


def by_hand(x):
    y = (x @ x.transpose(-2, -1)) / 2
    y = y.masked_fill(torch.ones(3, 3, dtype=torch.bool).triu(1), float("-inf"))
    return y.softmax(-1) @ x


VECTOR, MATRIX, IMAGE, SEQUENCE = (4,), (3, 4), (2, 4, 6), (2, 7)

OPERATORS: list[tuple[str, tuple[int, ...], Call]] = [
    ("relu6", MATRIX, lambda x: f.relu6(4 * x)),
    ("silu tanh sigmoid", MATRIX, lambda x: f.silu(x) + torch.tanh(x) - torch.sigmoid(x)),
    ("leaky elu selu", MATRIX, lambda x: f.leaky_relu(x, 0.1) + f.elu(x, 0.5) * f.selu(x)),
    ("hard", MATRIX, lambda x: f.hardswish(4 * x) + f.hardsigmoid(4 * x) + f.hardtanh(2 * x)),
    ("softplus mish logsigmoid", MATRIX, lambda x: f.softplus(x) + f.mish(x) + f.logsigmoid(x)),
    ("roots", MATRIX, lambda x: torch.sqrt(x + 2) + torch.rsqrt(x + 2) + (x + 2) ** 0.5 + 1 / (x + 2)),
    ("powers", MATRIX, lambda x: x**2 + x.square() * x**3 - x.abs() + (-x)),
    ("exp log", MATRIX, lambda x: torch.exp(x) + torch.log(x + 2)),
    ("clamp", MATRIX, lambda x: x.clamp(-0.3, 0.2) + x.clamp(min=-0.3) * x.clamp(max=0.2) + x.clamp(min=0)),
    ("arithmetic", MATRIX, lambda x: 3 - (x - 1) * (x + 2) / 4 - (x - (2 - x)) + torch.sub(x, x * x, alpha=3)),
    ("negative", MATRIX, lambda x: x * -2 - (-x) * (-x - 1) + (x - -3)),
    ("rows", MATRIX, lambda x: x + x[:, :1] - x[:, :, 2:3] * x[:, 0:1, :]),
    ("table", MATRIX, lambda x: x * TABLE + TABLE[0] - TABLE[:, :1]),
    ("maximum", MATRIX, lambda x: torch.maximum(x, -x / 2) - torch.minimum(x * 2, x - 1)),
    ("where", MATRIX, lambda x: torch.where(x > 0.1, x, x * x - 1) + (x <= 0.2) * x),
    ("addcmul", MATRIX, lambda x: torch.addcmul(x, x - 1, x + 1)),
    ("filled", MATRIX, lambda x: x + torch.ones_like(x) * 2 + torch.zeros(x.shape[0], 4)[:, None]),
    ("in place", MATRIX, in_place),
    ("flatten", IMAGE, lambda x: torch.cat([torch.flatten(x, 1), x.view(x.size(0), -1)], 1)),
    ("reshape", IMAGE, lambda x: x.reshape(-1, 8, 6)[:, ::2].unsqueeze(1).squeeze(1)),
    ("permute", IMAGE, lambda x: x.permute(0, 3, 1, 2) + x.transpose(1, 3).transpose(2, 3)),
    ("batch second", MATRIX, lambda x: (x.transpose(0, 1) + 1).permute(1, 2, 0)),
    ("transpose", MATRIX, lambda x: x.mT.movedim(1, 2) * x),
    ("select", IMAGE, lambda x: x[:, 1] + x[:, 0, 1:2] - x[:, -1, :, 2:3]),
    ("slices", IMAGE, lambda x: x[:, :, 1:3, -2:] * x.narrow(3, 1, 2)[:, :, :2] + x[..., ::3][:, :, 2:]),
    ("split", MATRIX, lambda x: torch.cat([part * k for k, part in enumerate(x.split([1, 3], 2))], 2)),
    ("chunk unbind", MATRIX, lambda x: torch.cat([*x.chunk(2, 2), x.unbind(1)[2][:, :, None][:, :3]], 2)),
    ("cat", MATRIX, lambda x: torch.cat([torch.cat([x, x * 2], 1), torch.cat([x, x * 3], 1)], 2)),
    ("stack", MATRIX, lambda x: torch.stack([x, x * 2], 1).flatten(1, 2) + torch.stack([x, x], 2).flatten(1, 2)),
    ("expand", MATRIX, lambda x: x[:, :1].expand(-1, 3, -1) + x[:, :, :1].expand_as(x)),
    ("repeat", MATRIX, lambda x: x.repeat(1, 2, 1) + x[:, :1].repeat(1, 6, 1)),
    ("flip", MATRIX, lambda x: x.flip(1) - x.flip(2, 1)),
    ("pad", MATRIX, lambda x: f.pad(x, (1, 2, 0, 1)) + f.pad(x, (3, 0, 1, 0), value=0.5)),
    ("sums", IMAGE, lambda x: x.sum(1)[:, 0] + x.sum((2, 1)) - x.sum((1, 2, 3))[:, None] + x.mean((1, 2))),
    ("means", IMAGE, lambda x: x.mean((2, 3), keepdim=True) * x + x.mean(1, keepdim=True) - x.mean(3)[..., None]),
    ("global", IMAGE, lambda x: x.mean((2, 3))),
    ("largest", IMAGE, lambda x: x.amax(2) + x.max(2)[0] - x.min(3).values[:, :, :1] + x.amin((2, 1))[:, None]),
    ("softmax", VECTOR, lambda x: f.softmax(x, 1) + f.log_softmax(x, -1)),
    ("softmax of rows", MATRIX, lambda x: f.softmax(x, 2) + f.log_softmax(x, 2)),
    ("softmax of columns", IMAGE, lambda x: f.softmax(x, 1) + f.softmax(x, 2)),
    ("products", MATRIX, lambda x: (x @ x.transpose(1, 2)) @ x + torch.bmm(x, x.mT) @ x),
    ("with tables", MATRIX, lambda x: x @ TABLE.T + (TABLE @ x.mT).mT),
    ("vectors", VECTOR, lambda x: torch.cat([x @ TABLE.T, (x[:, None] @ x[:, :, None])[:, 0]], 1)),
    ("einsum", MATRIX, lambda x: torch.einsum("bij,bkj,kl->bil", x, x, TABLE)),
    ("linear", MATRIX, lambda x: f.linear(x, TABLE, TABLE[:, 0])),
    ("layer_norm", MATRIX, lambda x: f.layer_norm(x, (4,), TABLE[1]) + f.layer_norm(x, (4,))),
    ("heads", MATRIX, heads),
    ("attention by hand", MATRIX, by_hand),
    ("pools", IMAGE, lambda x: f.max_pool2d(x, 2) + f.avg_pool2d(x, (2, 2)) + f.max_pool2d(x, 3, 2, 1)[..., :3]),
    ("rectangles", IMAGE, lambda x: f.avg_pool2d(x, (2, 3), 1, (1, 0)) + f.max_pool2d(x, (2, 3), 1, (1, 1))[..., 1:5]),
    (
        "ceil",
        (2, 5, 6),
        lambda x: f.max_pool2d(x, 2, 2, ceil_mode=True) + f.max_pool2d(x, 3, 2, 1, ceil_mode=True)[..., 1:],
    ),
    ("adaptive", IMAGE, lambda x: f.adaptive_avg_pool2d(x, (3, 4)) - f.adaptive_max_pool2d(x, (3, 4))),
    ("adaptive one", IMAGE, lambda x: f.adaptive_avg_pool2d(x, 1) * x),
    ("pools of sequences", SEQUENCE, lambda x: f.max_pool1d(x, 3, 2) + f.avg_pool1d(x, 3, 2)),
    ("adaptive sequence", (2, 6), lambda x: f.adaptive_avg_pool1d(x, 3)),
    (
        "upsample",
        (1, 2, 3),
        lambda x: f.interpolate(x, scale_factor=2) + f.interpolate(x, scale_factor=2, mode="bilinear"),
    ),
]

ENCODER = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True)
MASK = nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)

LAYERS: list[tuple[nn.Module, tuple[int, ...], Call]] = [
    (nn.Linear(4, 3, bias=False), MATRIX, lambda layer, x: layer(x)),
    (nn.Linear(4, 3), MATRIX, lambda layer, x: layer(x.transpose(0, 1)).transpose(0, 1)),
    (nn.Linear(4, 3), MATRIX, lambda layer, x: x @ layer.weight.T + layer.bias),
    (nn.Conv1d(2, 4, 3, 2, 1, groups=2), SEQUENCE, lambda layer, x: layer(x)),
    (nn.Conv2d(2, 4, 3, padding="same", bias=False), IMAGE, lambda layer, x: layer(x)),
    (nn.Conv2d(2, 3, (3, 2), (1, 2), (0, 1), (1, 2)), IMAGE, lambda layer, x: layer(x)),
    (nn.Conv2d(2, 3, (1, 3), padding=(0, 1)), IMAGE, lambda layer, x: layer(x)),
    (nn.Conv2d(2, 3, 3), IMAGE, lambda layer, x: f.conv2d(x, layer.weight, layer.bias, 2, 1)),
    (nn.ConvTranspose2d(2, 1, 3, 2, 1, 1), IMAGE, lambda layer, x: layer(x)),
    (nn.BatchNorm1d(4), VECTOR, lambda layer, x: layer(x)),
    (nn.BatchNorm1d(2, eps=1e-3), SEQUENCE, lambda layer, x: layer(x)),
    (nn.BatchNorm2d(2, affine=False), IMAGE, lambda layer, x: layer(x)),
    (nn.BatchNorm2d(2), IMAGE, lambda layer, x: f.batch_norm(x, layer.running_mean, layer.running_var, layer.weight)),
    (nn.LayerNorm(4, bias=False), MATRIX, lambda layer, x: layer(x)),
    (nn.LayerNorm((3, 4)), MATRIX, lambda layer, x: layer(x)),
    (nn.LayerNorm(4, elementwise_affine=False), MATRIX, lambda layer, x: layer(x)),
    (nn.GroupNorm(2, 4), (4, 2, 3), lambda layer, x: layer(x)),
    (nn.GroupNorm(2, 4, affine=False), (4, 6), lambda layer, x: layer(x)),
    (nn.InstanceNorm2d(2, affine=True), IMAGE, lambda layer, x: layer(x)),
    (nn.RMSNorm(4, 1e-5), MATRIX, lambda layer, x: layer(x)),
    (nn.PReLU(), MATRIX, lambda layer, x: layer(x)),
    (nn.PReLU(3), MATRIX, lambda layer, x: layer(x)),
    (nn.LSTM(4, 2, batch_first=True), MATRIX, lambda layer, x: layer(x)[0] + layer(x)[1][0].transpose(0, 1)),
    (nn.LSTM(4, 2, 2), MATRIX, lambda layer, x: layer(x.transpose(0, 1))[0].transpose(0, 1)),
    (nn.LSTM(4, 2, batch_first=True, bidirectional=True), MATRIX, lambda layer, x: torch.cat([*layer(x)[1][0]], 1)),
    (nn.GRU(4, 2, 2, batch_first=True), MATRIX, lambda layer, x: layer(x)[1][-1]),
    (nn.GRU(4, 2, batch_first=True, bidirectional=True), MATRIX, lambda layer, x: layer(x)[0]),
    (nn.LSTMCell(4, 2), MATRIX, cells),
    (nn.GRUCell(4, 2), MATRIX, gru_cells),
    (nn.MultiheadAttention(4, 2, batch_first=True), MATRIX, lambda a, x: a(x, x * 2, x + 1, need_weights=False)[0]),
    (nn.MultiheadAttention(4, 2, batch_first=True), MATRIX, causal),
    (nn.MultiheadAttention(4, 2), MATRIX, swapped),
    (nn.Sequential(nn.Linear(4, 4), nn.Softmax(2), nn.Flatten(2), nn.GELU("tanh")), MATRIX, lambda layer, x: layer(x)),
    (nn.Sequential(nn.LSTM(4, 2, batch_first=True)), MATRIX, lambda layer, x: layer(x)[0]),
    (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), MATRIX, lambda e, x: e(x)),
    (nn.TransformerEncoder(ENCODER, 2, nn.LayerNorm(4)), MATRIX, lambda e, x: e(x, mask=MASK, is_causal=True)),
    (nn.TransformerEncoder(ENCODER, 1), MATRIX, lambda e, x: e(x, mask=MASK)),
    (nn.TransformerDecoderLayer(4, 2, 8, batch_first=True), MATRIX, lambda d, x: d(x, x * 2, tgt_mask=MASK)),
    (Attention(4, 2), MATRIX, lambda layer, x: layer(x)),
    (Patches(), IMAGE, lambda layer, x: layer(x)),
    (nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), Attention(4, 2)), nn.Tanh()), MATRIX, lambda s, x: s(x)),
    (nn.ModuleDict({"relu": nn.PReLU(), "x": nn.Linear(4, 4)}), MATRIX, lambda d, x: f.relu(d["x"](d["relu"](x)))),
    (nn.ModuleDict({"in": nn.Linear(4, 2)}), MATRIX, lambda layer, x: x @ layer["in"].weight.T),
]


def difference(net: nn.Module, shape: tuple[int, ...]) -> float:
    """How far the exported model is from the module, on two inputs."""
    net = net.double().eval()
    model = slvr.torch.export(net, torch.zeros(2, *shape, dtype=torch.float64), name="Net")
    state = {name: weight(name, size) for name, size in model.shapes.items()}
    net.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()}, strict=False)
    x = numbers("input", (2, *shape))
    with torch.no_grad():
        wanted = net(torch.from_numpy(x)).numpy()
    check = slvr.Check.from_source(applying("-2..2", "-1..1"), M=model, n=2)
    assert check.inputs[0].fields == {model.prefix + name: size for name, size in model.shapes.items()}
    made = check.eval({"Server": [{"w": {model.prefix + name: v for name, v in state.items()}, "x": x}]})["y"]
    assert made.shape == wanted.shape
    return float(np.abs(made - wanted).max())


@pytest.mark.parametrize(("name", "shape", "call"), OPERATORS, ids=[name for name, *_ in OPERATORS])
def test_an_operator(name: str, shape: tuple[int, ...], call: Call) -> None:
    assert difference(Net(call, None), shape) < 1e-5


@pytest.mark.parametrize(
    ("layer", "shape", "call"), LAYERS, ids=[f"{k} {type(layer).__name__}" for k, (layer, *_) in enumerate(LAYERS)]
)
def test_a_layer(layer: nn.Module, shape: tuple[int, ...], call: Call) -> None:
    assert difference(Net(call, layer), shape) < (1e-4 if "GELU" in repr(layer) else 1e-5)
