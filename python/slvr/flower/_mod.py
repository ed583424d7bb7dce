"""The mod of a client: it hands the update to the backend, and nothing but metrics to Flower."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

import numpy as np
from flwr.app import ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp.typing import ClientAppCallable, Mod

from .._slvr import InputError, SlvrError
from ._backends import Backend
from ._words import ARRAYS, SENT_ARRAYS, TERMS, Arrays, Refusal, flat, floats, logger, numpy_of

#: What a client gives besides its update, by the names of the check's inputs.
Validation = Callable[[Message, Context], Mapping[str, Any]]


class _Refused(Exception):
    """Nothing was submitted."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why.text)
        self.why = why


def slvr_mod(
    expected_hash: str,
    backend: Backend,
    *,
    validation: Validation | None = None,
    trainable: Collection[str] | None = None,
    metrics: Collection[str] = ("loss",),
) -> Mod:
    """The mod for ``@app.train("slvr", mods=[slvr_mod(...)])``, as the first mod.

    The train function gets the global arrays as ``message.content["arrays"]`` and replies with its new ones. The mod
    submits the difference as the input ``update``, together with what ``validation(message, context)`` returns. It
    replies with those scalars that are called in ``metrics``, and never with an array.

    ``expected_hash`` is the hash of the circuit that this client has agreed to (``check.hash``). A message that names
    another circuit or another backend is refused before anything is computed. ``trainable`` names the arrays that are
    the update; without it these are all arrays of floating point numbers.

    Whatever the train function raises is logged here. The server is told a number and a fixed sentence
    (:class:`Refusal`).
    """
    if not re.fullmatch("[0-9a-f]{64}", expected_hash):
        raise ValueError("the hash of a circuit has 64 hexadecimal digits: give `check.hash`")

    def answer(message: Message, context: Context, train: ClientAppCallable) -> RecordDict:
        terms = message.content.config_records[TERMS]
        if terms["circuit"] != expected_hash:
            raise _Refused(Refusal.CIRCUIT)
        if terms["backend"] != backend.name:
            raise _Refused(Refusal.BACKEND)
        arrays = message.content.array_records[SENT_ARRAYS]
        old = numpy_of(arrays)
        others = {name: record for name, record in message.content.items() if name not in (SENT_ARRAYS, TERMS)}
        message.content = RecordDict({ARRAYS: arrays, **others})
        reply = train(message, context).content
        (found,) = reply.array_records.values()
        update = _difference(old, numpy_of(found), trainable)
        if not all(np.isfinite(value).all() for value in update.values()):
            raise _Refused(Refusal.NOT_FINITE)
        given = dict(validation(message, context)) if validation else {}
        given["update"] = flat(update, list(update)) if terms["flat"] else update
        try:
            name = backend.submit(cast(int, terms["round"]), context, given, expected_hash)
        except InputError as error:
            logger.warning("nothing is submitted: %s", error)
            raise _Refused(Refusal.INPUT) from None
        except SlvrError as error:
            logger.warning("the submission was not taken: %s", error)
            raise _Refused(Refusal.SUBMISSION) from None
        return RecordDict({TERMS: ConfigRecord({"client": name}), "metrics": _named(reply, metrics)})

    def mod(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        try:
            return Message(answer(message, context, call_next), reply_to=message)
        except _Refused as refused:
            why = refused.why
        except Exception:  # Flower would send its text to the server.
            logger.exception("the training or the validation of this client failed")
            why = Refusal.TRAINING
        return Message(Error(code=int(why), reason=why.text), reply_to=message)

    return mod


def _difference(old: Arrays, new: Arrays, trainable: Collection[str] | None) -> Arrays:
    """The update, in float64."""
    names = floats(old) if trainable is None else list(trainable)
    for name in names:
        if name not in old or name not in new or old[name].shape != new[name].shape:
            raise ValueError(f"`{name}` is not in both the global and the new arrays, of one shape")
    return {name: new[name].astype(np.float64) - old[name].astype(np.float64) for name in names}


def _named(reply: RecordDict, names: Collection[str]) -> MetricRecord:
    """The scalars that may leave. A list could hold an update."""
    found = MetricRecord()
    for record in reply.metric_records.values():
        for name, value in record.items():
            if name in names and isinstance(value, int | float):
                found[name] = value
    return found
