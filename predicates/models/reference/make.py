"""Outputs of the models for reference: python3 make.py > outputs.txt (PyTorch 2.5).

The networks are PyTorch's own modules, in double precision. Weights are numbers that a few lines make of the names of the
state dictionary, so that none have to be stored: see `numbers`. A parameter with another name or layout gives other outputs.
"""

import torch
from torch import nn

MASK = (1 << 64) - 1
INPUTS, INPUTS_OF_FULL_SIZE = 20, 2


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
    return torch.tensor(out, dtype=torch.float64)


def parameter(name, old):
    """Matrices and kernels within the root of 6 by their fan-in, scales and variances about 1, the rest about 0."""
    if not old.is_floating_point():
        return old
    x = numbers(name, old.numel()).reshape(old.shape)
    if old.dim() > 1:
        return x * (6 / old[0].numel()) ** 0.5
    return 1 + x / 4 if name.split(".")[-1] in ("weight", "running_var") else x / 4


def with_weights(net):
    net = net.double().eval()
    net.load_state_dict({name: parameter(name, old) for name, old in net.state_dict().items()})
    return net


class NormMlp(nn.Module):
    def __init__(self, inputs=64, hidden=32, classes=10):
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Linear(inputs, hidden), nn.LayerNorm(hidden), nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.norm(self.fc1(x))))


class LstmClassifier(nn.Module):
    def __init__(self, inputs=4, hidden=8, classes=3):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(inputs, hidden, 2, batch_first=True), nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])


class Cnn1d(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv1d(3, 8, 5, padding=2), nn.BatchNorm1d(8)
        self.conv2, self.norm2 = nn.Conv1d(8, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        y = nn.functional.max_pool1d(nn.functional.relu(self.norm1(self.conv1(x))), 2)
        return self.fc(nn.functional.leaky_relu(self.norm2(self.conv2(y))).mean(2))


class VitTiny(nn.Module):
    def __init__(self, size, patch, dim, depth, heads, classes=10):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, dim, patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, dim))
        self.pos_embedding = nn.Parameter(torch.zeros((size // patch) ** 2 + 1, dim))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, heads, 4 * dim, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        y = self.conv_proj(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.class_token.expand(len(y), 1, -1), y], 1) + self.pos_embedding
        for layer in self.layers:
            y = layer(y)
        return self.head(self.norm(y)[:, 0])


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        wide = expand * inputs
        if expand != 1:
            self.conv1, self.bn1 = nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide)
        self.conv2 = nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False)
        self.bn2 = nn.BatchNorm2d(wide)
        self.conv3, self.bn3 = nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.expand, self.residual = expand, stride == 1 and inputs == outputs

    def forward(self, x):
        relu6 = nn.functional.relu6
        y = x if self.expand == 1 else relu6(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(relu6(self.bn2(self.conv2(y)))))
        return x + y if self.residual else y


class Stage(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.Sequential(*blocks)

    def forward(self, x):
        return self.blocks(x)


class MobileNetV2(nn.Module):
    STAGES = [(1, 2, 1, 1), (2, 3, 1, 6), (3, 4, 2, 6), (4, 8, 2, 6), (3, 12, 1, 6), (3, 20, 2, 6), (1, 40, 1, 6)]

    def __init__(self, width, classes=10):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        inputs = width
        for s, (n, out, stride, expand) in enumerate(self.STAGES):
            blocks = []
            for k in range(n):
                blocks.append(Inverted(inputs, out * width // 4, stride if k == 0 else 1, expand))
                inputs = out * width // 4
            setattr(self, f"stage{s + 1}", Stage(blocks))
        self.conv2, self.bn2 = nn.Conv2d(inputs, 40 * width, 1, bias=False), nn.BatchNorm2d(40 * width)
        self.linear = nn.Linear(40 * width, classes)

    def forward(self, x):
        y = nn.functional.relu6(self.bn1(self.conv1(x)))
        for s in range(len(self.STAGES)):
            y = getattr(self, f"stage{s + 1}")(y)
        return self.linear(nn.functional.relu6(self.bn2(self.conv2(y))).mean((2, 3)))


class Basic(nn.Module):
    """A block of ResNet-20 as He et al. trained it on CIFAR-10: a shortcut without weights (option A)."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.stride, self.more = stride, (outputs - inputs) // 2

    def forward(self, x):
        y = self.bn2(self.conv2(nn.functional.relu(self.bn1(self.conv1(x)))))
        kept = x[:, :, :: self.stride, :: self.stride]
        return nn.functional.relu(y + nn.functional.pad(kept, (0, 0, 0, 0, self.more, self.more)))


class ResNet20(nn.Module):
    def __init__(self, width, classes=10):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        inputs = width
        for s in range(3):
            blocks = []
            for k in range(3):
                blocks.append(Basic(inputs, width << s, 2 if s > 0 and k == 0 else 1))
                inputs = width << s
            setattr(self, f"layer{s + 1}", nn.Sequential(*blocks))
        self.linear = nn.Linear(inputs, classes)

    def forward(self, x):
        y = nn.functional.relu(self.bn1(self.conv1(x)))
        return self.linear(self.layer3(self.layer2(self.layer1(y))).mean((2, 3)))


MODELS = [
    ("NormMlp", (64,), INPUTS, NormMlp),
    ("LstmClassifier", (8, 4), INPUTS, LstmClassifier),
    ("Cnn1d", (3, 32), INPUTS, Cnn1d),
    ("VitTiny[8,4,16,2,2]", (3, 8, 8), INPUTS, lambda: VitTiny(8, 4, 16, 2, 2)),
    ("VitTiny", (3, 32, 32), INPUTS_OF_FULL_SIZE, lambda: VitTiny(32, 4, 192, 12, 3)),
    ("MobileNetV2[4,8]", (3, 8, 8), INPUTS, lambda: MobileNetV2(4)),
    ("MobileNetV2", (3, 32, 32), INPUTS_OF_FULL_SIZE, lambda: MobileNetV2(32)),
    ("ResNet20[4,8]", (3, 8, 8), INPUTS, lambda: ResNet20(4)),
    ("ResNet20", (3, 32, 32), INPUTS_OF_FULL_SIZE, lambda: ResNet20(16)),
]


@torch.no_grad()
def main():
    print("# model, number of the input, outputs; made by make.py")
    for name, shape, inputs, model in MODELS:
        net, size = with_weights(model()), torch.Size(shape).numel()
        for k in range(inputs):
            x = numbers(f"input {k}", size).reshape(1, *shape)
            print(name, k, *[f"{y:.9g}" for y in net(x)[0].tolist()])


if __name__ == "__main__":
    main()
