"""Whether an exported model computes what its module does."""

from __future__ import annotations

import contextlib
import copy
import logging
from typing import Any

import numpy as np
import torch

from .._check import Check
from .._slvr import CompileError, InputError
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

#: How large random inputs are, beside those of size 1: thresholds of a module may lie far out.
_FAR = 16.0
#: Relative to the larger of an entry and 1: rounding is far below, another operation far above.
_TOLERANCE = 1e-3
#: What the compiler says of values that do not fit words; of anything else it is not told how the text came about.
_TOO_LARGE = "E0028"


def _beyond(size: float) -> int:
    """A power of two that is larger."""
    return int(2 ** np.ceil(np.log2(max(size, 0.5)) + 1))


def compare(model: Model, module: Any, example: Any) -> None:
    """Evaluates both on the example and on random numbers. Raises :class:`ExportError` where they differ.

    A model that is too large to be evaluated here, or whose values fit no words, is logged as not compared. Where they
    differ for large inputs alone, this is logged: functions such as `exp` end where their results fit no words.
    """

    def refused(why: str) -> ExportError:
        return ExportError(model.name, [Unsupported("", "", type(module).__name__, why)])

    try:
        off = _off(model, module, example, 1.0, refused)
    except ExportError:
        raise
    except (CompileError, InputError, MemoryError) as error:
        why = str(error).splitlines()[0]
        if isinstance(error, CompileError) and _TOO_LARGE not in why:
            raise refused(f"the compiler refuses what was written: {why}; this is a bug of SLVR") from error
        logger.warning("`%s` is not compared with its module, because this fails: %s", model.name, why)
        return
    if off:
        raise refused(f"the model computes something else, off by {off:.3g}: this is a bug of SLVR")
    if example.dtype.is_floating_point:
        with contextlib.suppress(CompileError, InputError, MemoryError):
            if off := _off(model, module, example, _FAR, refused):
                logger.warning("`%s` is off by %.3g for inputs of size %d: see its ranges", model.name, off, _FAR)


def _off(model: Model, module: Any, example: Any, scale: float, refused: Any) -> float:
    """By how much a result differs, or 0 where all agree."""
    x = example.detach().cpu()
    real = x.dtype.is_floating_point
    if real:
        generator = torch.Generator().manual_seed(1)
        noise = [size * torch.randn(x[:1].shape, generator=generator) for size in (scale, 1.0, scale)]
        x = torch.cat([x[:1].float(), *noise])
    # A copy, because a module may change its input or its buffers; computed attributes can be copied by hand alone.
    computed = [t for part in module.modules() for t in vars(part).values() if torch.is_tensor(t) and not t.is_leaf]
    # In binary64, so that only its operations count, unless it asks for another type itself.
    kinds = [torch.float64, torch.float32] if real else [x.dtype]
    while True:
        try:
            twin = copy.deepcopy(module, {id(t): t.detach().clone() for t in computed}).cpu().eval()
            given = x.to(kinds.pop(0))
            if real:
                twin._apply(lambda t, kind=given.dtype: t.to(kind) if t.is_floating_point() else t)
            with torch.no_grad(), torch.compiler.set_stance("force_eager"):
                wanted, again = twin(given.clone()), twin(given.clone())
                alone = [twin(given[k : k + 1].clone()) for k in range(len(x))]
            break
        except Exception as error:  # Whatever a module raises.
            if not kinds:
                why = (str(error).splitlines() or [""])[0]
                text = f"it does not run on the example and random numbers: {type(error).__name__}: {why}"
                raise refused(f"{text}; compare=False leaves this out") from error
    if not isinstance(wanted, torch.Tensor) or len(wanted) != len(x):
        raise refused("its result is not one tensor with a sample for each of the batch")
    if wanted.is_complex() or not bool(torch.isfinite(wanted).any()):
        raise refused("its result has no number that is real and finite, on the example and random numbers")
    wanted, single = wanted.double().numpy(), torch.cat(alone).double().numpy()
    if not _close(again.double().numpy(), wanted):
        raise refused("its result is another in a second call: it draws at random, or changes something of its own")
    if not _close(wanted, single):
        raise refused("its result for a sample depends on the batch")
    state = {name: twin.state_dict()[name].double().numpy() for name in model.names}
    # A range of B allows a length of B sqrt(min(d, 1024)).
    flat = np.concatenate([a.ravel() for a in state.values()])
    weights = _beyond(max(float(np.abs(flat).max()), float(np.linalg.norm(flat)) / min(flat.size, 1024) ** 0.5))
    inputs = _beyond(float(x.abs().max()))
    text = _PROGRAM.format(weights=weights, inputs=f"{-inputs if real else 0}..{inputs}")
    logs = logging.getLogger("slvr")
    logs.disabled, before = True, logs.disabled  # Warnings of a program that nobody has written.
    try:
        check = Check.from_source(text, M=model, n=len(x))
        fields = set(next(i for i in check.inputs if i.name == "w").fields)
        if fields != {model.prefix + name for name in model.names}:
            raise refused("its weights have other names in the model: this is a bug of SLVR")
        w = {model.prefix + name: value for name, value in state.items()}
        found = np.asarray(check.eval({"Server": [{"w": w, "x": x.double().numpy()}]})["y"])
    finally:
        logs.disabled = before
    wanted = wanted.reshape(found.shape)
    if _close(found, wanted):
        return 0.0
    return float(np.nanmax(np.abs(np.where(np.isfinite(wanted), found - wanted, 0)), initial=1e-300))


def _close(found: Any, wanted: Any) -> bool:
    """Whether all entries agree that are finite."""
    at = np.isfinite(wanted)
    return bool((np.abs(found[at] - wanted[at]) <= _TOLERANCE * np.maximum(1.0, np.abs(wanted[at]))).all())
