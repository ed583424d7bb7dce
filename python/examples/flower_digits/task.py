"""The data, the model and the training, in NumPy."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
from flwr.app import Array, ArrayRecord

#: The arrays of the model ``Mlp`` of SLVR: 64 pixels, 32 hidden units, 10 classes.
Weights = dict[str, npt.NDArray[np.float32]]
Samples = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]

#: A folder of IDX files. The package that Flower sends has no data: there the environment says where it is.
DIGITS = Path(os.environ.get("DIGITS", Path(__file__).parents[3] / "predicates" / "data"))
TEST = 360
#: Samples of a client on which it judges the updates of others.
VALIDATION = 10


def load() -> tuple[Samples, Samples]:
    """Samples for training, and samples for the test."""
    images = _idx("digits-images-idx3-ubyte.gz").reshape(-1, 64).astype(np.float32) / 16
    labels = _idx("digits-labels-idx1-ubyte.gz").astype(np.int64)
    order = np.random.default_rng(0).permutation(len(labels))
    test, train = order[:TEST], order[TEST:]
    return (images[train], labels[train]), (images[test], labels[test])


def _idx(name: str) -> npt.NDArray[np.uint8]:
    """The bytes of an IDX file after its header, which has four for the type and four for each dimension."""
    data = gzip.decompress((DIGITS / name).read_bytes())
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3])


def split(samples: Samples, clients: int) -> list[Samples]:
    """The samples of each client. Labels are unlike (Dirichlet, alpha 1), and numbers are equal."""
    images, labels = samples
    rng = np.random.default_rng(1)
    wish = rng.dirichlet(np.ones(10), clients)
    left = list(rng.permutation(len(labels)))
    shares: list[list[int]] = [[] for _ in range(clients)]
    for _ in range(len(labels) // clients):
        for own, share in zip(wish, shares, strict=True):
            chances = own[labels[left]] + 1e-6
            place = int(np.searchsorted(np.cumsum(chances), rng.uniform() * chances.sum()))
            share.append(left.pop(min(place, len(left) - 1)))
    return [(images[share], labels[share]) for share in shares]


def record(weights: Weights) -> ArrayRecord:
    """As Flower sends them."""
    return ArrayRecord({name: Array(value) for name, value in weights.items()})


def weights(record: ArrayRecord) -> Weights:
    """As they are computed with."""
    return {str(name): array.numpy() for name, array in record.items()}


def initial() -> Weights:
    """The weights of the first round."""
    rng = np.random.default_rng(2)

    def layer(outputs: int, inputs: int) -> npt.NDArray[np.float32]:
        return rng.normal(0, np.sqrt(2 / inputs), (outputs, inputs)).astype(np.float32)

    return {
        "fc1.weight": layer(32, 64),
        "fc1.bias": np.zeros(32, np.float32),
        "fc2.weight": layer(10, 32),
        "fc2.bias": np.zeros(10, np.float32),
    }


def scores(w: Weights, images: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """The hidden units, and a score for each class."""
    hidden = np.maximum(images @ w["fc1.weight"].T + w["fc1.bias"], 0)
    return hidden, hidden @ w["fc2.weight"].T + w["fc2.bias"]


def train(weights: Weights, samples: Samples, seed: int, epochs: int = 5, rate: float = 0.2) -> tuple[Weights, float]:
    """New weights after a few epochs of gradient descent, and the mean loss of the last one."""
    w = {name: value.copy() for name, value in weights.items()}
    images, labels = samples
    rng = np.random.default_rng(seed)
    loss = 0.0
    for _ in range(epochs):
        loss = 0.0
        for batch in np.array_split(rng.permutation(len(labels)), max(1, len(labels) // 32)):
            hidden, score = scores(w, images[batch])
            chance = np.exp(score - score.max(axis=1, keepdims=True))
            chance /= chance.sum(axis=1, keepdims=True)
            right = (np.arange(len(batch)), labels[batch])
            loss -= float(np.log(chance[right] + 1e-9).sum()) / len(labels)
            chance[right] -= 1
            error = chance / np.float32(len(batch))
            below = (error @ w["fc2.weight"]) * (hidden > 0)
            w["fc2.weight"] -= rate * error.T @ hidden
            w["fc2.bias"] -= rate * error.sum(axis=0)
            w["fc1.weight"] -= rate * below.T @ images[batch]
            w["fc1.bias"] -= rate * below.sum(axis=0)
    return w, loss


def accuracy(weights: Weights, samples: Samples) -> float:
    """The share of samples that are classified correctly."""
    return float((scores(weights, samples[0])[1].argmax(axis=1) == samples[1]).mean())
