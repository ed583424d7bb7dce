"""Models from PyTorch: stored texts compile and compute what PyTorch does. With torch, they are made anew, too."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slvr
from slvr.torch import Model

REFERENCE = Path(__file__).parent / "reference"
sys.path.insert(0, str(REFERENCE))

from weights import image, weight  # noqa: E402

ABOUT: dict[str, Any] = json.loads((REFERENCE / "models.json").read_text())

APPLY = """
predicate Apply[M: model, n]() {
    parties Server;

    input w: secret weights M in -4..4 from Server;
    input x: secret fix[n, ..M.shape] in -16..16 from Server;

    reveal [M(w, x[k]) for k in n] to Server as y;
}
"""

#: Layers that are reached through a block: the compiler refuses them until the language has this.
WAITING = {"Through"}


def stored(name: str) -> Model:
    about = ABOUT[name]
    shapes = {n: tuple(shape) for n, shape in about["shapes"].items()}
    return Model(name, (REFERENCE / f"{name}.slvr").read_text(), shapes, about["prefix"])


@functools.cache
def check(name: str, n: int) -> slvr.Check:
    try:
        return slvr.Check.from_source(APPLY, M=stored(name), n=n)
    except slvr.CompileError as error:
        if name in WAITING and "this is a layer" in str(error):
            pytest.xfail("a layer is reached through a block")
        raise


def inputs(name: str, n: int) -> dict[str, Any]:
    about, model = ABOUT[name], stored(name)
    w = {model.prefix + name: weight(name, shape) for name, shape in model.shapes.items()}
    return {"Server": [{"w": w, "x": np.stack([image(k, tuple(about["input"]), about["tokens"]) for k in range(n)])}]}


#: Those of which one input is enough.
LARGE = {"MobileNetV2", "ResNet18", "SqueezeNet"}


def error(name: str, n: int, **options: Any) -> float:
    wanted = np.array(ABOUT[name]["outputs"][:n])
    return float(np.abs(check(name, n).eval(inputs(name, n), **options)["y"] - wanted).max())


@pytest.mark.parametrize("name", ABOUT)
def test_names_and_shapes_are_those_of_the_state_dictionary(name: str) -> None:
    model = stored(name)
    fields = check(name, 1 if name in LARGE else 3).inputs[0].fields
    assert fields == {model.prefix + n: shape for n, shape in model.shapes.items()}


@pytest.mark.parametrize("name", ABOUT)
def test_outputs_are_those_of_pytorch(name: str) -> None:
    assert error(name, 1 if name in LARGE else 3) < 1e-5


@pytest.mark.parametrize("name", ["LeNet", "Sequential"])
def test_outputs_are_nearly_so_in_the_ring(name: str) -> None:
    assert error(name, 1, exact=True) < 1e-3
