"""Whether an exported model computes what its module does."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import torch

from .._check import Check
from .._slvr import SlvrError
from ._model import ExportError, Model, Unsupported

logger = logging.getLogger("slvr.torch")

_PROGRAM = """
predicate Apply[M: model, n]() {{
    parties Server;

    input w: secret weights M in -{weights}..{weights} from Server;
    input x: secret fix[n, ..M.shape] in {inputs} from Server;

    reveal [M(w, x[k]) for k in n] to Server as y;
}}
"""

#: Relative to the largest result: rounding in binary32 is far below, another operation far above.
_TOLERANCE = 1e-3


def _beyond(size: float) -> int:
    """A power of two that is larger."""
    return int(2 ** np.ceil(np.log2(max(size, 0.5)) + 1))


def compare(model: Model, module: Any, example: Any) -> None:
    """Evaluates both on the example and on random numbers. Raises :class:`ExportError` where they differ.

    A model that is too large to be evaluated here, or whose weights no range holds, is logged as not compared.
    """
    real = example.dtype.is_floating_point
    x = example.detach().cpu()
    if real:
        noise = torch.randn(x[:1].shape, generator=torch.Generator().manual_seed(1), dtype=x.dtype)
        x = torch.cat([x[:1], noise])
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            wanted = module(x.to(example.device)).detach().cpu().double().numpy()
    finally:
        for part, mode in modes:
            part.training = mode
    state = {name: module.state_dict()[name].detach().cpu().double().numpy() for name in model.names}
    # A range of B allows a length of B sqrt(min(d, 1024)).
    flat = np.concatenate([a.ravel() for a in state.values()])
    weights = _beyond(max(float(np.abs(flat).max()), float(np.linalg.norm(flat)) / min(flat.size, 1024) ** 0.5))
    inputs = _beyond(float(x.abs().max()))
    text = _PROGRAM.format(weights=weights, inputs=f"{-inputs if real else 0}..{inputs}")
    logs = logging.getLogger("slvr")
    logs.disabled, before = True, logs.disabled  # Warnings of a program that nobody has written.
    try:
        check = Check.from_source(text, M=model, n=len(x))
        given = {"w": {model.prefix + name: value for name, value in state.items()}, "x": x.double().numpy()}
        found = np.asarray(check.eval({"Server": [given]})["y"])
    except (SlvrError, MemoryError) as error:
        why = str(error).splitlines()[0]
        logger.warning("`%s` is not compared with its module, because this fails: %s", model.name, why)
        return
    finally:
        logs.disabled = before
    off = float(np.abs(found - wanted.reshape(found.shape)).max())
    if not off <= _TOLERANCE * max(1.0, float(np.abs(wanted).max())):
        why = f"the model computes something else, off by {off:.3g}: this is a bug of SLVR"
        raise ExportError(model.name, [Unsupported("", "", type(module).__name__, why)])
