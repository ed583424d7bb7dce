"""The side of a client: the update goes to the backend, and nothing but metrics to Flower."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.typing import ClientAppCallable, Mod

from .._slvr import InputError, SlvrError
from ._backends import Backend, Unconfigured
from ._words import (
    ARRAYS,
    CONFIG,
    SENT_ARRAYS,
    TERMS,
    Arrays,
    Refusal,
    digest,
    flat,
    floats,
    logger,
    names_of,
    numpy_of,
)

#: What a client gives besides its update, by the names of the check's inputs.
Validation = Callable[[Message, Context], Mapping[str, Any]]


class _Refused(Exception):
    """Nothing was submitted."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why.text)
        self.why = why


def client_app(
    expected_hash: str,
    backend: Backend,
    train: Callable[[Message, Context], Message],
    *,
    validation: Validation | None = None,
    trainable: Collection[str] | None = None,
    metrics: Collection[str] = ("loss",),
) -> ClientApp:
    """An app that answers :class:`SlvrStrategy` and no other message: see :func:`slvr_mod`."""
    app = ClientApp()
    mod = slvr_mod(expected_hash, backend, validation=validation, trainable=trainable, metrics=metrics)
    app.train("slvr", mods=[mod])(train)
    return app


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
    another circuit or another backend is refused before anything is computed, and so is one with other records than the
    strategy's. Nothing is submitted to a round that was opened for other arrays, another configuration or another run
    configuration than this client got. ``trainable`` names the arrays that are the update; without it they are those
    that the strategy names.

    Whatever the train function raises is logged here. The server is told a number and a fixed sentence
    (:class:`Refusal`).
    """
    if not re.fullmatch("[0-9a-f]{64}", expected_hash):
        raise ValueError("the hash of a circuit has 64 hexadecimal digits: give `check.hash`")
    own = None if trainable is None else set(names_of(trainable, "trainable"))
    told = names_of(metrics, "metrics")

    def answer(message: Message, context: Context, train: ClientAppCallable) -> RecordDict:
        arrays, config, terms = _records(message.content)
        if terms.get("circuit") != expected_hash:
            raise _Refused(Refusal.CIRCUIT)
        if terms.get("backend") != backend.name:
            raise _Refused(Refusal.BACKEND)
        names = cast("list[str]", terms["arrays"])
        old = numpy_of(arrays)
        if set(names) - set(floats(old)) or (own is not None and own != set(names)):
            raise _Refused(Refusal.ARRAYS)
        given = digest(arrays, config, terms, context.run_config)
        message.content = RecordDict({ARRAYS: arrays, CONFIG: config})
        reply = train(message, context).content
        (found,) = reply.array_records.values()
        update = _difference(old, numpy_of(found), names)
        inputs = dict(validation(message, context)) if validation else {}
        inputs["update"] = flat(update, names) if terms["flat"] else update
        try:
            name = backend.submit(cast(int, terms["round"]), context, inputs, expected_hash, given)
        except Unconfigured as error:
            logger.warning("nothing is submitted: %s", error)
            raise _Refused(Refusal.BACKEND) from None
        except InputError as error:
            logger.warning("nothing is submitted: %s", error)
            raise _Refused(Refusal.INPUT) from None
        except SlvrError as error:
            logger.warning("the submission was not taken: %s", error)
            raise _Refused(Refusal.SUBMISSION) from None
        return RecordDict({TERMS: ConfigRecord({"client": name}), "metrics": _named(reply, told)})

    def mod(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        try:
            return Message(answer(message, context, call_next), reply_to=message)
        except _Refused as refused:
            why = refused.why
        except KeyboardInterrupt:
            raise
        except BaseException:  # Flower would send its text to the server, or none at all.
            logger.exception("the training or the validation of this client failed")
            why = Refusal.TRAINING
        return Message(Error(code=int(why), reason=why.text), reply_to=message)

    return mod


def _records(content: RecordDict) -> tuple[ArrayRecord, ConfigRecord, ConfigRecord]:
    """What a message of the strategy has, and nothing else: whatever the train function sees is in the digest."""
    if set(content) != {SENT_ARRAYS, CONFIG, TERMS}:
        raise _Refused(Refusal.MESSAGE)
    arrays, config, terms = content[SENT_ARRAYS], content[CONFIG], content[TERMS]
    if not (
        isinstance(arrays, ArrayRecord)
        and isinstance(config, ConfigRecord)
        and isinstance(terms, ConfigRecord)
        and isinstance(terms.get("round"), int)
        and isinstance(terms.get("flat"), bool)
        and isinstance(terms.get("arrays"), list)
    ):
        raise _Refused(Refusal.MESSAGE)
    return arrays, config, terms


def _difference(old: Arrays, new: Arrays, names: list[str]) -> Arrays:
    """The update, in float64."""
    for name in names:
        if name not in new or old[name].shape != new[name].shape or new[name].dtype.kind not in "fiu":
            raise ValueError(f"the new arrays have no `{name}` of numbers, of the shape of the global one")
    update = {name: new[name].astype(np.float64) - old[name].astype(np.float64) for name in names}
    for name, value in update.items():
        if not np.isfinite(value).all():
            raise ValueError(f"the update of `{name}` is not finite")
    return update


def _named(reply: RecordDict, names: Collection[str]) -> MetricRecord:
    """The scalars that may leave. A list could hold an update."""
    found = MetricRecord()
    for record in reply.metric_records.values():
        for name, value in record.items():
            if name in names and isinstance(value, int | float):
                found[name] = value
    return found
