"""Arrays of other libraries, by the names that a check has for its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._slvr import InputError

#: What one giver gives: arrays by name. A record is given by field, ``{"update.fc.weight": a}`` or
#: ``{"update": {"fc.weight": a}}``.
Tensors = Mapping[str, Any]

#: Inputs of a run: public ones under ``"public"``, and for each party set a list of its members, with ``None`` for one
#: that gives nothing.
Inputs = Mapping[str, Any]

Array = npt.NDArray[np.generic]


def array(value: Any, name: str) -> Array:
    """An array of float32, float64, int64 or bool in native byte order, or of a type that no input has."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(f"`{name}` has masked entries: fill them in")
    try:
        if hasattr(value, "detach"):  # A tensor of PyTorch, which may need a gradient or live on a device.
            value = value.detach().cpu()
            if str(value.dtype) == "torch.bfloat16":  # NumPy has no such type.
                value = value.float()
        found = np.asarray(value)
    except Exception as error:  # Whatever another library raises: the client cannot be used.
        raise InputError(f"`{name}` is no array: {type(error).__name__}") from error
    kind, size = found.dtype.kind, found.dtype.itemsize
    if kind == "O":
        raise InputError(f"`{name}` is no array of numbers")
    if kind == "u" and found.size and int(found.max()) > np.iinfo(np.int64).max:
        raise InputError(f"`{name}` has integers of 64 bits without a sign: no range goes so far")
    if kind == "f":
        # Of what is not exact in 64 bits nothing more is left in the ring, either.
        with np.errstate(over="ignore"):
            found = found.astype(np.float32 if size <= 4 else np.float64, copy=False)
    elif kind in "iu":
        found = found.astype(np.int64, copy=False)
    return found if found.flags.aligned else found.copy()


def tensors(given: Any) -> dict[str, Array]:
    """Arrays of one giver, with records taken apart."""
    if not isinstance(given, Mapping):
        raise InputError(f"a mapping of arrays by name is expected, not {type(given).__name__}")
    out: dict[str, Array] = {}

    def put(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for field, inner in value.items():
                put(f"{name}.{field}", inner)
        elif name in out:
            raise InputError(f"`{name}` is given twice")
        else:
            out[name] = array(value, name)

    for name, value in given.items():
        if not isinstance(name, str):
            raise InputError(f"{name!r} is no name of a tensor")
        put(name, value)
    return out


def of(given: Any, whose: str) -> dict[str, Array]:
    """The same, of a giver that errors name."""
    try:
        return tensors(given)
    except InputError as error:
        raise InputError(f"{whose}: {error}") from error.__cause__


def member(given: Any) -> dict[str, Array] | str | None:
    """What a member gives: nothing, or why it cannot be read. One client must not end the run of all."""
    if given is None:
        return None
    try:
        return tensors(given)
    except InputError as error:
        return str(error)


def inputs(
    given: Inputs,
) -> tuple[dict[str, Array], dict[str, list[dict[str, Array] | str | None]]]:
    """Public arrays, and those of the members of each party set."""
    if not isinstance(given, Mapping):
        raise InputError('inputs are a mapping: {"public": {...}, "Client": [{...}, None, ...]}')
    public: dict[str, Array] = {}
    sets: dict[str, list[dict[str, Array] | str | None]] = {}
    for name, value in given.items():
        if name == "public":
            public = of(value, "public")
        elif isinstance(value, Mapping):
            # A set of one member needs no list.
            sets[name] = [member(value)]
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            sets[name] = [member(one) for one in value]
        else:
            raise InputError(f"`{name}`: a list with a mapping, or None, for each member is expected")
    return public, sets
