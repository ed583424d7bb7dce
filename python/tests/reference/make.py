"""Texts of models and their outputs for reference: python3 make.py, with torch 2.15 and the package of this checkout.

Networks have the shape of torchvision's where it has them, with fewer channels. Weights are made of their names
(weights.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as f
from weights import image, weight

import slvr.torch

HERE = Path(__file__).parent
INPUTS = 3


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        y = f.avg_pool2d(f.relu(self.conv1(x)), 2)
        y = f.avg_pool2d(f.relu(self.conv2(y)), 2)
        return self.fc3(f.relu(self.fc2(f.relu(self.fc1(torch.flatten(y, 1))))))


def sequential() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU6(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(128, 16),
        nn.LeakyReLU(0.2),
        nn.Linear(16, 5),
    )


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet18(nn.Module):
    def __init__(self, width: int = 4, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = width
        for k in range(4):
            outputs = width << k
            blocks = [BasicBlock(inputs, outputs, 1 if k == 0 else 2), BasicBlock(outputs, outputs, 1)]
            setattr(self, f"layer{k + 1}", nn.Sequential(*blocks))
            inputs = outputs
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class ConvNormActivation(nn.Sequential):
    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        conv = nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False)
        super().__init__(conv, nn.BatchNorm2d(outputs), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, expand: int) -> None:
        super().__init__()
        wide = inputs * expand
        self.use_res_connect = stride == 1 and inputs == outputs
        layers: list[nn.Module] = [] if expand == 1 else [ConvNormActivation(inputs, wide, 1)]
        layers += [
            ConvNormActivation(wide, wide, 3, stride, groups=wide),
            nn.Conv2d(wide, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        ]
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, width: int = 4, classes: int = 10) -> None:
        super().__init__()
        stages = [(1, 2, 1, 1), (6, 3, 2, 2), (6, 4, 3, 2), (6, 8, 4, 2), (6, 12, 3, 1), (6, 20, 3, 2), (6, 40, 1, 1)]
        features: list[nn.Module] = [ConvNormActivation(3, width, 3, 2)]
        inputs = width
        for expand, outputs, n, stride in stages:
            for k in range(n):
                features.append(InvertedResidual(inputs, outputs * width // 4, stride if k == 0 else 1, expand))
                inputs = outputs * width // 4
        features.append(ConvNormActivation(inputs, 16 * width, 1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(16 * width, classes))

    def forward(self, x):
        x = self.features(x)
        x = f.adaptive_avg_pool2d(x, (1, 1))
        return self.classifier(torch.flatten(x, 1))


class Fire(nn.Module):
    def __init__(self, inputs: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze, self.squeeze_activation = nn.Conv2d(inputs, squeeze, 1), nn.ReLU(inplace=True)
        self.expand1x1, self.expand1x1_activation = nn.Conv2d(squeeze, expand, 1), nn.ReLU(inplace=True)
        self.expand3x3, self.expand3x3_activation = nn.Conv2d(squeeze, expand, 3, padding=1), nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.squeeze_activation(self.squeeze(x))
        one, three = self.expand1x1(x), self.expand3x3(x)
        return torch.cat([self.expand1x1_activation(one), self.expand3x3_activation(three)], 1)


class SqueezeNet(nn.Module):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, ceil_mode=True),
            Fire(8, 2, 8),
            Fire(16, 2, 8),
            nn.MaxPool2d(3, 2, ceil_mode=True),
            Fire(16, 4, 12),
            Fire(24, 4, 12),
        )
        self.classifier = nn.Sequential(
            nn.Dropout(0.5), nn.Conv2d(24, classes, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


class Twice(nn.Module):
    """A block and a layer that are called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.start, self.block = nn.Linear(6, 8), Step(8)
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        y = self.block(self.block(self.start(x)))
        return self.head(torch.tanh(self.head(y)))


class Step(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(n), nn.Linear(n, n)

    def forward(self, x):
        return x + f.relu(self.fc(self.norm(x)))


class ByIndex(nn.Module):
    """Elements of lists in any order, and a tensor of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 8)
        self.scale = nn.Parameter(torch.ones(8))
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.steps = nn.ModuleList(Step(8) for _ in range(2))

    def forward(self, x):
        y = self.fc(x) * self.scale
        y = self.layers[2](f.silu(self.layers[0](y))) + self.layers[1](y)
        for step in self.steps:
            y = step(y)
        return y


class Through(nn.Module):
    """Layers inside of other modules, and a tensor of one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.part, self.steps = Step(6), nn.ModuleList(Step(6) for _ in range(2))

    def forward(self, x):
        y = self.part.norm(self.part(x)) + self.steps[0].fc.bias
        return self.steps[1].fc(y)


class Encoder(nn.Module):
    """Tokens, an encoder, and the mean over the sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(12, 8)
        self.position = nn.Parameter(torch.zeros(1, 5, 8))
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x) + self.position).mean(1))


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.fc = nn.LSTM(4, 6, 2, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        return self.fc(h[-1])


# Module, the shape of one input, how many tokens there are.
MODELS: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "LeNet": (LeNet, (1, 28, 28), 0),
    "Sequential": (sequential, (3, 8, 8), 0),
    "ResNet18": (ResNet18, (3, 32, 32), 0),
    "MobileNetV2": (MobileNetV2, (3, 40, 40), 0),
    "SqueezeNet": (SqueezeNet, (3, 34, 34), 0),
    "Twice": (Twice, (6,), 0),
    "ByIndex": (ByIndex, (6,), 0),
    "Through": (Through, (6,), 0),
    "Encoder": (Encoder, (5,), 12),
    "Lstm": (Lstm, (5, 4), 0),
}


def module(name: str) -> nn.Module:
    """A network with the weights of the references, in evaluation."""
    net = MODELS[name][0]().double().eval()
    state = {n: v for n, v in net.state_dict().items() if v.is_floating_point()}
    net.load_state_dict({n: torch.from_numpy(weight(n, tuple(v.shape))) for n, v in state.items()}, strict=False)
    return net


def model(name: str) -> slvr.torch.Model:
    """What the export makes of it."""
    _, shape, tokens = MODELS[name]
    example = torch.zeros(2, *shape, dtype=torch.long if tokens else torch.float32)
    return slvr.torch.export(MODELS[name][0](), example, name=name)


@torch.no_grad()
def outputs(name: str) -> list[list[float]]:
    """What PyTorch computes of the inputs, in float64."""
    _, shape, tokens = MODELS[name]
    x = torch.stack([torch.from_numpy(image(k, shape, tokens)) for k in range(INPUTS)])
    net = module(name)
    return [[float(f"{y:.9g}") for y in row] for row in net(x.long() if tokens else x).tolist()]


def main() -> None:
    about = {}
    for name, (_, shape, tokens) in MODELS.items():
        made = model(name)
        (HERE / f"{name}.slvr").write_text(made.text)
        about[name] = {
            "prefix": made.prefix,
            "input": shape,
            "tokens": tokens,
            "shapes": made.shapes,
            "outputs": outputs(name),
        }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in about.items())
    (HERE / "models.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
