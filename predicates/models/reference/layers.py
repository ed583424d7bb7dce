"""Outputs of layers for reference: python3 layers.py > layers.txt (PyTorch 2.5).

Beside each layer of the language stands the module of PyTorch that it has its name, defaults and state-dict keys from. Weights
and inputs are made as in make.py, inputs twice as large.
"""

import torch
from make import INPUTS, numbers, with_weights
from torch import nn
from torch.nn import functional as f


class Net(nn.Module):
    def __init__(self, layer, call):
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, x):
        return self.call(self.layer, x)


def plain(layer, x):
    return layer(x)


def of(call):
    """A function, which has no parameters."""
    return nn.Identity(), lambda _, x: call(x)


def states(layer, x):
    return layer(x)[0]


def attend(layer, x):
    return layer(x, x, x, need_weights=False)[0]


def attend_backwards(layer, x):
    """True is what a query does not see."""
    n = x.shape[1]
    later = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
    return layer(x, x, x, need_weights=False, attn_mask=later)[0]


def nearest(layer, x):
    """The language's numbers are no integers: the nearest one counts."""
    return layer((x > 0.5).long() + (x > 1.5).long())


IMAGE, SEQUENCE, MATRIX = (2, 4, 5), (2, 7), (3, 4)

# Declaration, body, shape of the input, module, how it is called.
LAYERS = [
    ("linear[4, 3]", "", (4,), nn.Linear(4, 3), plain),
    ("linear[4, 3, bias = 0]", "", MATRIX, nn.Linear(4, 3, bias=False), plain),
    ("conv1d[2, 2, 3]", "", SEQUENCE, nn.Conv1d(2, 2, 3), plain),
    ("conv1d[2, 2, 3, stride = 2, pad = 1, groups = 2]", "", SEQUENCE, nn.Conv1d(2, 2, 3, 2, 1, groups=2), plain),
    ("conv1d[2, 2, 2, dilation = 3, bias = 0]", "", SEQUENCE, nn.Conv1d(2, 2, 2, dilation=3, bias=False), plain),
    ("conv2d[2, 3, 3]", "", IMAGE, nn.Conv2d(2, 3, 3), plain),
    ("conv2d[2, 4, 3, stride = 2, pad = 1, groups = 2]", "", IMAGE, nn.Conv2d(2, 4, 3, 2, 1, groups=2), plain),
    ("conv2d[2, 3, 2, dilation = 2, bias = 0]", "", IMAGE, nn.Conv2d(2, 3, 2, dilation=2, bias=False), plain),
    (
        "conv2d_rect[2, 3, 3, kernel_w = 2, stride = 1, stride_w = 2, pad = 0, pad_w = 1, dilation_w = 2]",
        "",
        IMAGE,
        nn.Conv2d(2, 3, (3, 2), (1, 2), (0, 1), (1, 2)),
        plain,
    ),
    ("conv_transpose2d[2, 1, 3]", "", IMAGE, nn.ConvTranspose2d(2, 1, 3), plain),
    (
        "conv_transpose2d[2, 1, 3, stride = 2, pad = 1, output_pad = 1]",
        "",
        IMAGE,
        nn.ConvTranspose2d(2, 1, 3, 2, 1, 1),
        plain,
    ),
    ("batch_norm[2]", "", IMAGE, nn.BatchNorm2d(2), plain),
    ("layer_norm[4]", "", MATRIX, nn.LayerNorm(4), plain),
    ("group_norm[2, 4]", "", (4, 2, 3), nn.GroupNorm(2, 4), plain),
    ("rms_norm[4]", "", MATRIX, nn.RMSNorm(4, 1e-5), plain),
    ("embedding[3, 2]", "", (5,), nn.Embedding(3, 2), nearest),
    ("lstm[4, 2]", "", MATRIX, nn.LSTM(4, 2, batch_first=True), states),
    ("lstm[4, 2, layers = 3]", "", MATRIX, nn.LSTM(4, 2, 3, batch_first=True), states),
    ("bi_lstm[4, 2]", "", MATRIX, nn.LSTM(4, 2, batch_first=True, bidirectional=True), states),
    ("gru[4, 2]", "", MATRIX, nn.GRU(4, 2, batch_first=True), states),
    ("gru[4, 2, layers = 3]", "", MATRIX, nn.GRU(4, 2, 3, batch_first=True), states),
    ("bi_gru[4, 2]", "", MATRIX, nn.GRU(4, 2, batch_first=True, bidirectional=True), states),
    (
        "lstm_cell[3, 2]",
        "let (h, c) = layer([x[j] for j in 3], [x[3 + j] for j in 2], [x[5 + j] for j in 2]); concat(h, c)",
        (7,),
        nn.LSTMCell(3, 2),
        lambda layer, x: torch.cat(layer(x[:, :3], (x[:, 3:5], x[:, 5:])), 1),
    ),
    (
        "gru_cell[3, 2]",
        "layer([x[j] for j in 3], [x[3 + j] for j in 2])",
        (5,),
        nn.GRUCell(3, 2),
        lambda layer, x: layer(x[:, :3], x[:, 3:]),
    ),
    ("multihead_attention[4, 2]", "layer(x, x, x)", MATRIX, nn.MultiheadAttention(4, 2, batch_first=True), attend),
    (
        "masked_multihead_attention[4, 2]",
        "layer(x, x, x, [[j <= i for j in 3] for i in 3])",
        MATRIX,
        nn.MultiheadAttention(4, 2, batch_first=True),
        attend_backwards,
    ),
    ("dropout", "", MATRIX, nn.Dropout(), plain),
    ("", "x |> relu", MATRIX, nn.ReLU(), plain),
    ("", "x |> avg_pool[2]", IMAGE, nn.AvgPool2d(2), plain),
    ("", "x |> avg_pool[3, stride = 2]", IMAGE, nn.AvgPool2d(3, 2), plain),
    ("", "x |> max_pool[2]", IMAGE, nn.MaxPool2d(2), plain),
    ("", "x |> max_pool[3, stride = 2]", IMAGE, nn.MaxPool2d(3, 2), plain),
    ("", "x |> avg_pool_rect[3, 2, stride = 2, pad = 1]", IMAGE, nn.AvgPool2d((3, 2), 2, 1), plain),
    (
        "",
        "x |> avg_pool_rect[2, 3, stride = 1, stride_w = 2, pad = 0, pad_w = 1]",
        IMAGE,
        nn.AvgPool2d((2, 3), (1, 2), (0, 1)),
        plain,
    ),
    ("", "x |> max_pool_rect[3, stride = 2, pad = 1]", IMAGE, nn.MaxPool2d(3, 2, 1), plain),
    (
        "",
        "x |> max_pool_rect[2, 3, stride = 1, stride_w = 2, pad = 1, pad_w = 0]",
        IMAGE,
        nn.MaxPool2d((2, 3), (1, 2), (1, 0)),
        plain,
    ),
    ("", "x |> global_avg_pool", IMAGE, *of(lambda x: x.mean((2, 3)))),
    ("", "x |> flatten", IMAGE, nn.Flatten(), plain),
    ("", "x |> adaptive_avg_pool[3, 4]", IMAGE, nn.AdaptiveAvgPool2d((3, 4)), plain),
    ("", "x |> adaptive_max_pool[3, 4]", IMAGE, nn.AdaptiveMaxPool2d((3, 4)), plain),
    ("", "x |> avg_pool1d[3]", SEQUENCE, nn.AvgPool1d(3), plain),
    ("", "x |> avg_pool1d[3, stride = 2, pad = 1]", SEQUENCE, nn.AvgPool1d(3, 2, 1), plain),
    ("", "x |> max_pool1d[3]", SEQUENCE, nn.MaxPool1d(3), plain),
    ("", "x |> max_pool1d[3, stride = 2, pad = 1]", SEQUENCE, nn.MaxPool1d(3, 2, 1), plain),
    ("", "x |> upsample[3]", (1, 2, 3), nn.Upsample(scale_factor=3), plain),
    ("", "x |> upsample_bilinear[3]", (1, 2, 3), nn.Upsample(scale_factor=3, mode="bilinear"), plain),
    ("", "x |> tanh", MATRIX, nn.Tanh(), plain),
    ("", "x |> sigmoid", MATRIX, nn.Sigmoid(), plain),
    ("", "x |> silu", MATRIX, nn.SiLU(), plain),
    ("", "x |> gelu", MATRIX, nn.GELU(), plain),
    ("", "x |> gelu_tanh", MATRIX, nn.GELU(approximate="tanh"), plain),
    ("", "x |> leaky_relu", MATRIX, nn.LeakyReLU(), plain),
    ("", "x |> elu", MATRIX, nn.ELU(), plain),
    ("", "4 * x |> relu6", MATRIX, *of(lambda x: f.relu6(4 * x))),
    ("", "4 * x |> hardswish", MATRIX, *of(lambda x: f.hardswish(4 * x))),
    ("", "4 * x |> hardsigmoid", MATRIX, *of(lambda x: f.hardsigmoid(4 * x))),
    ("", "x |> softplus", MATRIX, nn.Softplus(), plain),
    ("", "x |> softmax", (5,), nn.Softmax(1), plain),
    ("", "x |> log_softmax", (5,), nn.LogSoftmax(1), plain),
]


@torch.no_grad()
def main():
    print("# A model, and a line of outputs for each input; made by layers.py")
    for declaration, body, shape, layer, call in LAYERS:
        net, size = with_weights(Net(layer, call)), torch.Size(shape).numel()
        inputs = [2 * numbers(f"input {k}", size).reshape(1, *shape) for k in range(INPUTS)]
        outputs = [net(x)[0] for x in inputs]
        # A model has at least one parameter.
        declared = f"layer: {declaration}; " if declaration else ""
        declared += "" if list(net.parameters()) else "unused: param[1]; "
        given, made = list(shape), list(outputs[0].shape)
        print(f"model Net(x: fix{given}) -> fix{made} {{ {declared}{body or 'x |> layer'} }}")
        for y in outputs:
            print(*[f"{y:.7g}" for y in y.flatten().tolist()])


if __name__ == "__main__":
    main()
