"""What the strategy and the mod say to each other."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from flwr.app import Array, ArrayRecord

#: The type of all messages. A client whose app has no such function answers with an error, and sends nothing.
MESSAGE_TYPE = "train.slvr"
#: The record that names the round, the circuit and the backend.
TERMS = "slvr"
#: The global arrays. Only the mod knows this name and hands them on as ``"arrays"``: a train function that was
#: registered without the mod does not find them.
SENT_ARRAYS = "slvr-arrays"
#: The global arrays as the train function finds them, and its new ones.
ARRAYS = "arrays"

logger = logging.getLogger("slvr.flower")

Arrays = dict[str, npt.NDArray[Any]]


class Refusal(IntEnum):
    """Why a client has not submitted. The number and a fixed sentence are all that leaves the client."""

    CIRCUIT = 1001
    BACKEND = 1002
    TRAINING = 1003
    NOT_FINITE = 1004
    INPUT = 1005
    SUBMISSION = 1006

    @property
    def text(self) -> str:
        """The sentence."""
        return _TEXTS[self]


_TEXTS = {
    Refusal.CIRCUIT: "it expects another circuit",
    Refusal.BACKEND: "it expects another backend",
    Refusal.TRAINING: "its training or its validation failed",
    Refusal.NOT_FINITE: "its update is not finite",
    Refusal.INPUT: "its update or its validation data is out of range, or of another shape",
    Refusal.SUBMISSION: "the round has ended, or a node is away",
}


def numpy_of(record: ArrayRecord) -> Arrays:
    """The arrays of a record by name."""
    return {str(name): value.numpy() for name, value in record.items()}


def record_of(arrays: Mapping[str, npt.NDArray[Any]]) -> ArrayRecord:
    """A record of arrays by name."""
    return ArrayRecord({name: Array(np.asarray(value)) for name, value in arrays.items()})


def floats(arrays: Arrays) -> list[str]:
    """The names of arrays of floating point numbers: integers, such as counters of batches, are no weights."""
    return [name for name, value in arrays.items() if value.dtype.kind == "f"]


def flat(arrays: Mapping[str, npt.NDArray[Any]], names: list[str]) -> npt.NDArray[np.float64]:
    """Arrays one after another, for a check whose update is one vector."""
    parts = [np.asarray(arrays[name], np.float64).ravel() for name in names]
    return np.concatenate(parts) if parts else np.zeros(0)
