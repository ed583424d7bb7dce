"""Outputs of the models for reference: python3 make.py > outputs.txt (NumPy).

Weights are numbers that a few lines make of the names of the state dictionary, so that none have to be stored: see
`numbers`. PyTorch was not at hand where this was run. The layers are written here from the formulas of its documentation,
in its layouts and with its defaults, independently of the compiler and in another form: as operations on whole tensors.
"""

import numpy as np

MASK = (1 << 64) - 1


def numbers(name, count):
    """Numbers between -1 and 1: splitmix64 from the FNV-1a hash of a name."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001B3) & MASK
    out = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z = z ^ (z >> 31)
        out.append((z >> 40) / (1 << 23) - 1)
    return np.array(out)


def param(name, *shape):
    """A parameter: matrices and kernels within the root of 6 by their fan-in, scales and variances about 1, the rest
    about 0."""
    x = numbers(name, int(np.prod(shape))).reshape(shape)
    last = name.split(".")[-1]
    if len(shape) > 1:
        return x * np.sqrt(6 / np.prod(shape[1:]))
    return 1 + x / 4 if last in ("weight", "running_var") else x / 4


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def erf(x):
    """Abramowitz and Stegun 7.1.5, the series; and its limit."""
    x = np.clip(x, -5, 5)
    term, total = x.copy(), x.copy()
    for n in range(1, 120):
        term = -term * x * x / n
        total = total + term / (2 * n + 1)
    return total * 2 / np.sqrt(np.pi)


def gelu(x):
    return x * (1 + erf(x / np.sqrt(2))) / 2


def relu(x):
    return np.maximum(x, 0)


def relu6(x):
    return np.clip(x, 0, 6)


def leaky_relu(x):
    return np.where(x > 0, x, 0.01 * x)


def linear(x, name, n, m):
    return x @ param(name + ".weight", m, n).T + param(name + ".bias", m)


def layer_norm(x, name, n):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * param(name + ".weight", n) + param(name + ".bias", n)


def per_channel(v, x):
    return v.reshape(-1, *[1] * (x.ndim - 1))


def group_norm(x, name, groups):
    c = len(x)
    part = x.reshape(groups, -1)
    part = (part - part.mean(1, keepdims=True)) / np.sqrt(part.var(1, keepdims=True) + 1e-5)
    y = part.reshape(x.shape)
    return y * per_channel(param(name + ".weight", c), x) + per_channel(param(name + ".bias", c), x)


def batch_norm(x, name):
    weight, bias, mean, var = [
        per_channel(param(f"{name}.{of}", len(x)), x)
        for of in ("weight", "bias", "running_mean", "running_var")
    ]
    return (x - mean) / np.sqrt(var + 1e-5) * weight + bias


def conv(x, name, cout, kernel, stride=1, pad=0, groups=1, bias=True):
    """Of any number of dimensions behind the channels; as products with shifted inputs."""
    cin, dims = x.shape[0], x.ndim - 1
    weight = param(name + ".weight", cout, cin // groups, *[kernel] * dims)
    x = np.pad(x, [(0, 0)] + [(pad, pad)] * dims)
    outs = [(n - kernel) // stride + 1 for n in x.shape[1:]]
    y = np.zeros([groups, cout // groups] + outs)
    for at in np.ndindex(*[kernel] * dims):
        part = x[(slice(None),) + tuple(slice(a, a + (n - 1) * stride + 1, stride) for a, n in zip(at, outs))]
        part = part.reshape(groups, cin // groups, *outs)
        taps = weight[(slice(None), slice(None)) + at].reshape(groups, cout // groups, cin // groups)
        y += np.einsum("goi,gi...->go...", taps, part)
    y = y.reshape(cout, *outs)
    return y + per_channel(param(name + ".bias", cout), y) if bias else y


def max_pool1d(x, k):
    n = x.shape[1] // k
    return x[:, : n * k].reshape(len(x), n, k).max(2)


def lstm(x, name, hidden, layers):
    for k in range(layers):
        w, u = param(f"{name}.weight_ih_l{k}", 4 * hidden, x.shape[1]), param(f"{name}.weight_hh_l{k}", 4 * hidden, hidden)
        b, d = param(f"{name}.bias_ih_l{k}", 4 * hidden), param(f"{name}.bias_hh_l{k}", 4 * hidden)
        h, c, out = np.zeros(hidden), np.zeros(hidden), []
        for entry in x:
            i, f, g, o = np.split(w @ entry + b + u @ h + d, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            out.append(h)
        x = np.array(out)
    return x


def attention(x, name, dim, heads):
    w, b = param(name + ".in_proj_weight", 3 * dim, dim), param(name + ".in_proj_bias", 3 * dim)
    q, k, v = [
        (x @ w[i * dim : (i + 1) * dim].T + b[i * dim : (i + 1) * dim]).reshape(len(x), heads, -1).transpose(1, 0, 2)
        for i in range(3)
    ]
    y = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(dim // heads)) @ v
    return linear(y.transpose(1, 0, 2).reshape(len(x), dim), name + ".out_proj", dim, dim)


def mlp_norm(x, inputs=64, hidden=32, classes=10):
    y = gelu(layer_norm(linear(x, "fc1", inputs, hidden), "norm", hidden))
    return linear(y, "fc2", hidden, classes)


def lstm_classifier(x, steps=8, inputs=4, hidden=8, classes=3):
    return linear(lstm(x, "lstm", hidden, 2)[-1], "fc", hidden, classes)


def cnn1d(x, classes=5):
    y = max_pool1d(relu(batch_norm(conv(x, "conv1", 8, 5, pad=2), "norm1")), 2)
    y = leaky_relu(group_norm(conv(y, "conv2", 16, 3, stride=2, pad=1), "norm2", 4))
    return linear(y.mean(1), "fc", 16, classes)


def vit(x, patch, dim, depth, heads, classes=10):
    y = conv(x, "conv_proj", dim, patch, stride=patch).reshape(dim, -1).T
    y = np.concatenate([param("class_token", 1, dim), y])
    y = y + param("pos_embedding", len(y), dim)
    for k in range(depth):
        at = f"layers.{k}"
        y = y + attention(layer_norm(y, at + ".norm1", dim), at + ".self_attn", dim, heads)
        z = gelu(linear(layer_norm(y, at + ".norm2", dim), at + ".linear1", dim, 4 * dim))
        y = y + linear(z, at + ".linear2", 4 * dim, dim)
    return linear(layer_norm(y[0], "norm", dim), "head", dim, classes)


def mobilenet_v2(x, width, classes=10):
    y = relu6(batch_norm(conv(x, "conv1", width, 3, pad=1, bias=False), "bn1"))
    stages = [(1, 2, 1, 1), (2, 3, 1, 6), (3, 4, 2, 6), (4, 8, 2, 6), (3, 12, 1, 6), (3, 20, 2, 6), (1, 40, 1, 6)]
    for s, (n, out, stride, expand) in enumerate(stages):
        for k in range(n):
            at, cin, cout = f"stage{s + 1}.blocks.{k}", len(y), out * width // 4
            step, wide = (stride if k == 0 else 1), expand * len(y)
            z = y if expand == 1 else relu6(batch_norm(conv(y, at + ".conv1", wide, 1, bias=False), at + ".bn1"))
            z = relu6(batch_norm(conv(z, at + ".conv2", wide, 3, step, 1, wide, bias=False), at + ".bn2"))
            z = batch_norm(conv(z, at + ".conv3", cout, 1, bias=False), at + ".bn3")
            y = y + z if step == 1 and cin == cout else z
    y = relu6(batch_norm(conv(y, "conv2", 40 * width, 1, bias=False), "bn2"))
    return linear(y.mean((1, 2)), "linear", 40 * width, classes)


def resnet20(x, width, classes=10):
    y = relu(batch_norm(conv(x, "conv1", width, 3, pad=1, bias=False), "bn1"))
    for s in range(3):
        for k in range(3):
            at, stride, out = f"layer{s + 1}.{k}", 2 if s > 0 and k == 0 else 1, width << s
            z = relu(batch_norm(conv(y, at + ".conv1", out, 3, stride, 1, bias=False), at + ".bn1"))
            z = batch_norm(conv(z, at + ".conv2", out, 3, 1, 1, bias=False), at + ".bn2")
            more = (out - len(y)) // 2
            y = relu(z + (y if stride == 1 else np.pad(y[:, ::2, ::2], [(more, more), (0, 0), (0, 0)])))
    return linear(y.mean((1, 2)), "linear", 4 * width, classes)


MODELS = [
    ("NormMlp", (64,), mlp_norm),
    ("LstmClassifier", (8, 4), lstm_classifier),
    ("Cnn1d", (3, 32), cnn1d),
    ("VitTiny[8,4,16,2,2]", (3, 8, 8), lambda x: vit(x, 4, 16, 2, 2)),
    ("VitTiny", (3, 32, 32), lambda x: vit(x, 4, 192, 12, 3)),
    ("MobileNetV2[4,8]", (3, 8, 8), lambda x: mobilenet_v2(x, 4)),
    ("MobileNetV2", (3, 32, 32), lambda x: mobilenet_v2(x, 32)),
    ("ResNet20[4,8]", (3, 8, 8), lambda x: resnet20(x, 4)),
    ("ResNet20", (3, 32, 32), lambda x: resnet20(x, 16)),
]


def main():
    print("# model, number of the input, outputs; made by make.py")
    for name, shape, model in MODELS:
        for k in range(2):
            x = numbers(f"input {k}", int(np.prod(shape))).reshape(shape)
            print(name, k, *[f"{y:.9g}" for y in model(x)])


if __name__ == "__main__":
    main()
