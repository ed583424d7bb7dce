"""Modules that are not supported, each for another reason."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as f


class _Net(nn.Module):
    def __init__(self, **parts: nn.Module) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        for name, part in parts.items():
            setattr(self, name, part)


class _Erf(nn.Module):
    def forward(self, x):
        return torch.erf(x)


class Functions(_Net):
    def forward(self, x):
        return self.inner(torch.sin(self.fc(x))).cumsum(1)


class Volume(_Net):
    def forward(self, x):
        return self.c(x)


class Recurrent(_Net):
    def forward(self, x):
        return self.r(x)[0][:, -1]


class StatisticsOfTheBatch(_Net):
    def forward(self, x):
        return self.b(self.fc(x))


class BatchMean(_Net):
    def forward(self, x):
        return x - x.mean(0) + self.fc(x).softmax(0)


class Pairs(_Net):
    def forward(self, x):
        return self.fc(x) @ x.T @ x


class StateOfCells(_Net):
    def forward(self, x):
        return self.r(x)[1][1][-1]


class AttentionOverTheBatch(_Net):
    def forward(self, x):
        return self.a(x, x, x, need_weights=False)[0]


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x))


class TwoResults(_Net):
    def forward(self, x):
        return self.fc(x), x


class ComputedWeights(_Net):
    def forward(self, x):
        return self.w(x)


class Reflected(_Net):
    def forward(self, x):
        return self.c(x)


class Random(_Net):
    def forward(self, x):
        return f.dropout(self.fc(x), 0.5, training=True)


class DependsOnValues(_Net):
    def forward(self, x):
        return self.fc(x) if x.sum() > 0 else x


class ChangesAPart(_Net):
    def forward(self, x):
        y = self.fc(x)
        y[:, 0].mul_(2)
        return y


class OtherSize(_Net):
    def forward(self, x):
        return self.c(x, output_size=[8, 8])


class InfinitelySmall(_Net):
    def forward(self, x):
        return self.fc(x).masked_fill(x > 0, float("-inf")).amax(1, keepdim=True) + x


#: A module, and the shape of one input.
MODULES = {
    "functions": (Functions(inner=_Erf()), (4,)),
    "volume": (Volume(c=nn.Conv3d(1, 1, 1)), (1, 2, 2, 2)),
    "recurrent": (Recurrent(r=nn.RNN(4, 4, batch_first=True)), (3, 4)),
    "statistics_of_the_batch": (StatisticsOfTheBatch(b=nn.BatchNorm1d(4, track_running_stats=False)), (4,)),
    "batch_mean": (BatchMean(), (4,)),
    "pairs": (Pairs(), (4,)),
    "state_of_cells": (StateOfCells(r=nn.LSTM(4, 4, batch_first=True)), (3, 4)),
    "attention_over_the_batch": (AttentionOverTheBatch(a=nn.MultiheadAttention(4, 2)), (3, 4)),
    "tied": (Tied(), (4,)),
    "two_results": (TwoResults(), (4,)),
    "computed_weights": (ComputedWeights(w=nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))), (4,)),
    "reflected": (Reflected(c=nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect")), (1, 4, 4)),
    "random": (Random(), (4,)),
    "depends_on_values": (DependsOnValues(), (4,)),
    "other_size": (OtherSize(c=nn.ConvTranspose2d(1, 1, 2, 2)), (1, 4, 4)),
    "infinitely_small": (InfinitelySmall(), (4,)),
    "changes_a_part": (ChangesAPart(), (4,)),
}
