"""What the strategy and the mod say to each other."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from flwr.app import Array, ArrayRecord

#: The type of all messages. A client whose app has no such function answers with an error, and sends nothing.
MESSAGE_TYPE = "train.slvr"
#: The record that names the round, the circuit, the backend and the arrays of the update.
TERMS = "slvr"
#: The global arrays. Only the mod knows this name and hands them on as ``"arrays"``: a train function that was
#: registered without the mod does not find them.
SENT_ARRAYS = "slvr-arrays"
#: The global arrays as the train function finds them, and its new ones.
ARRAYS = "arrays"
#: What the strategy was configured with. These three records are all that a message has.
CONFIG = "config"

logger = logging.getLogger("slvr.flower")

Arrays = dict[str, npt.NDArray[Any]]


class Refusal(IntEnum):
    """Why a client has not submitted. The number and a fixed sentence are all that leaves the client."""

    CIRCUIT = 1001
    BACKEND = 1002
    MESSAGE = 1003
    ARRAYS = 1004
    TRAINING = 1005
    INPUT = 1006
    SUBMISSION = 1007

    @property
    def text(self) -> str:
        """The sentence."""
        return _TEXTS[self]


_TEXTS = {
    Refusal.CIRCUIT: "it expects another circuit",
    Refusal.BACKEND: "it expects another backend, or its own is not configured",
    Refusal.MESSAGE: "the message is not one of SlvrStrategy",
    Refusal.ARRAYS: "it trains other arrays than the strategy asks for",
    Refusal.TRAINING: "its training or its validation failed, or gave something that is no update",
    Refusal.INPUT: "its update or its validation data is out of range, or of another shape",
    Refusal.SUBMISSION: "the round has ended or is for other arrays, or a node is away",
}


def digest(arrays: ArrayRecord, *said: Mapping[str, Any]) -> bytes:
    """What all clients of a round must have been given: a hash of the arrays and of all else that they are told."""
    found = hashlib.sha256(b"slvr flower 1\0")
    for name, array in arrays.items():
        about = json.dumps([name, array.dtype, list(array.shape), array.stype, len(array.data)])
        found.update(about.encode() + b"\0")
        found.update(array.data)
    for record in said:
        found.update(json.dumps(dict(record), sort_keys=True, default=lambda value: value.hex()).encode() + b"\0")
    return found.digest()


def names_of(given: Iterable[str], what: str) -> tuple[str, ...]:
    """Names in a collection, which a single text is not."""
    if isinstance(given, str):
        raise TypeError(f"{what} is a list of names, not {given!r}")
    return tuple(given)


def numpy_of(record: ArrayRecord) -> Arrays:
    """The arrays of a record by name."""
    return {str(name): value.numpy() for name, value in record.items()}


def record_of(arrays: Mapping[str, npt.NDArray[Any]]) -> ArrayRecord:
    """A record of arrays by name."""
    return ArrayRecord({name: Array(np.asarray(value)) for name, value in arrays.items()})


def floats(arrays: Arrays) -> list[str]:
    """The names of arrays of floating point numbers: integers, such as counters of batches, are no weights."""
    return [name for name, value in arrays.items() if value.dtype.kind == "f"]


def flat(arrays: Mapping[str, npt.NDArray[Any]], names: Iterable[str]) -> npt.NDArray[np.float64]:
    """Arrays one after another, for a check whose update is one vector."""
    parts = [np.asarray(arrays[name], np.float64).ravel() for name in names]
    return np.concatenate(parts) if parts else np.zeros(0)
