"""The server's side: a FedAvg whose average is what a check reveals."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from flwr.app import ArrayRecord, ConfigRecord, ConfigRecordValues, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from .._check import Check, Input, Revealed
from .._slvr import AbortError, InputError
from ._backends import Backend
from ._words import MESSAGE_TYPE, SENT_ARRAYS, TERMS, Arrays, Refusal, flat, floats, logger, numpy_of, record_of


@dataclass(frozen=True)
class Round:
    """How a round ended."""

    number: int
    #: Who counted, by the names that the backend has for clients.
    accepted: list[str]
    #: Who did not, and why: by such a name, or ``node 123`` for one that has not submitted.
    left_out: dict[str, str]
    #: Why there is no aggregate: the global arrays are those of the round before.
    skipped: str | None = None


class SlvrStrategy(FedAvg):
    """Federated averaging in which the server sees the aggregate that a check reveals, and no update.

    ``check`` is for all clients of the task; fewer may come. ``reveals`` is what the check reveals of the update: it is
    added to the global arrays, times ``server_lr``. A pair of names is a weighted sum and the sum of its weights. If
    the check has a public input called ``public``, it gets the global arrays. The means of the clients' ``metrics``,
    which count all alike, are those of the round.

    A round without a result leaves the global arrays as they are, and with ``on_abort="raise"`` raises
    :class:`slvr.AbortError`. Nodes that are not there yet are waited for, at most ``wait`` seconds a round. ``rounds``
    says how each round ended. Clients are not asked to evaluate: give ``start`` an ``evaluate_fn``.
    """

    def __init__(
        self,
        check: Check,
        backend: Backend,
        *,
        reveals: str | tuple[str, str] = "aggregate",
        public: str = "global",
        server_lr: float = 1.0,
        metrics: Iterable[str] = ("loss",),
        on_abort: Literal["skip", "raise"] = "skip",
        wait: float = 60.0,
    ) -> None:
        super().__init__(min_train_nodes=1, min_available_nodes=1)
        updates = [i for i in check.inputs if i.name == "update" and i.giver is not None]
        if not updates:
            raise InputError(f"{check!r} has no input `update` from its clients")
        for name in (reveals,) if isinstance(reveals, str) else reveals:
            if name not in check.outputs:
                raise InputError(f"{check!r} does not reveal `{name}`: give reveals=, of {list(check.outputs)}")
        for i in check.inputs:
            if i.giver is None and i.name != public:
                raise InputError(f"{check!r} has a public input `{i.name}`, which is not the global arrays")
        if on_abort not in ("skip", "raise"):
            raise ValueError(f'on_abort is "skip" or "raise", not {on_abort!r}')
        self.rounds: list[Round] = []
        self._check = check
        self._backend = backend
        self._update: Input = updates[0]
        self._reveals = reveals
        self._public = public if any(i.giver is None for i in check.inputs) else None
        self._server_lr = server_lr
        self._metrics = tuple(metrics)
        self._raises = on_abort == "raise"
        self._wait = wait
        self._arrays = ArrayRecord()
        self._asked: list[int] = []
        self._unopened = ""

    def summary(self) -> None:
        """Logs what is checked, and where."""
        logger.info("%r, %s, circuit %s", self._check, self._backend.name, self._check.hash)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Opens the round, and asks every node, or as many as the check is for."""
        self._arrays = arrays
        self._asked, self._unopened = self._nodes(grid), "no node is there"
        if not self._asked:
            return []
        current = numpy_of(arrays)
        names = self._names(current)
        weights: Any = {name: current[name] for name in names} if self._update.fields else flat(current, names)
        try:
            self._backend.open(self._check, server_round, {self._public: weights} if self._public else {})
        except AbortError as error:
            self._asked, self._unopened = [], str(error)
            return []
        terms: dict[str, ConfigRecordValues] = {
            "round": server_round,
            "circuit": self._check.hash,
            "backend": self._backend.name,
            "flat": not self._update.fields,
        }
        config["server-round"] = server_round

        def content() -> RecordDict:
            found = RecordDict({SENT_ARRAYS: arrays})
            found["config"], found[TERMS] = ConfigRecord(dict(config)), ConfigRecord(dict(terms))
            return found

        return [Message(content(), node, MESSAGE_TYPE, group_id=str(server_round)) for node in self._asked]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Ends the round, and adds what it reveals."""
        left_out = {f"node {node}": "no reply" for node in self._asked}
        metrics: dict[str, list[float]] = {name: [] for name in self._metrics}
        for reply in replies:
            node = f"node {reply.metadata.src_node_id}"
            if why := _why_not(reply):
                left_out[node] = why
                continue
            left_out.pop(node, None)
            said = reply.content.metric_records.get("metrics", MetricRecord())
            for name, values in metrics.items():
                if isinstance(value := said.get(name), int | float):
                    values.append(value)
        mean = MetricRecord({name: float(np.mean(values)) for name, values in metrics.items() if values})
        accepted: list[str] = []
        skipped = None
        arrays = self._arrays
        try:
            if not self._asked:
                raise AbortError(self._unopened)
            outcome = self._backend.collect(server_round)
            accepted, left_out = outcome.accepted, {**left_out, **outcome.left_out}
            arrays = self._added(outcome.revealed)
        except AbortError as error:
            skipped = str(error)
            logger.warning("round %d has no result: %s", server_round, error)
            if self._raises:
                raise
        finally:
            self.rounds.append(Round(server_round, accepted, left_out, skipped))
            logger.info("round %d: %d clients counted", server_round, len(accepted))
            for who, why in left_out.items():
                logger.info("round %d: %s is left out: %s", server_round, who, why)
        return arrays, mean

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Asks nobody."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """There is nothing."""
        return None

    def _nodes(self, grid: Grid) -> list[int]:
        """The nodes that are asked: those that are there by the deadline, and no more than there are places."""
        places = self._check.parties[str(self._update.giver)]
        until = time.monotonic() + self._wait
        while len(found := list(grid.get_node_ids())) < places and time.monotonic() < until:
            time.sleep(min(1.0, max(0.0, until - time.monotonic())))
        return sorted(found) if len(found) <= places else sorted(random.sample(found, places))

    def _names(self, arrays: Arrays) -> list[str]:
        """The arrays that are the update. All others stay as they are."""
        if not self._update.fields:
            names = floats(arrays)
            total = sum(arrays[name].size for name in names)
            if (total,) != self._update.shape:
                raise InputError(f"the update of the check has {self._update.shape[0]} numbers, the arrays {total}")
            return names
        for name, shape in self._update.fields.items():
            if name not in floats(arrays) or arrays[name].shape != shape:
                raise InputError(f"the check has an array `{name}` of shape {list(shape)}, and the model has none")
        return list(self._update.fields)

    def _added(self, revealed: Mapping[str, Revealed]) -> ArrayRecord:
        """The global arrays of the next round, each of its own type."""
        if isinstance(self._reveals, str):
            aggregate, divisor = revealed[self._reveals], 1.0
        else:
            aggregate, divisor = revealed[self._reveals[0]], float(np.asarray(revealed[self._reveals[1]]).sum())
        if divisor == 0:
            raise AbortError("the weights of all clients are zero")
        arrays = numpy_of(self._arrays)
        names = self._names(arrays)
        if not isinstance(aggregate, dict):
            ends = np.cumsum([arrays[name].size for name in names])[:-1]
            aggregate = dict(zip(names, np.split(aggregate, ends), strict=True))
        for name in names:
            arrays[name] = _step(arrays[name], self._server_lr / divisor * aggregate[name])
        return record_of(arrays)


def _step(old: npt.NDArray[Any], step: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    return (old.astype(np.float64) + step.reshape(old.shape)).astype(old.dtype)


def _why_not(reply: Message) -> str | None:
    """Why a client has not submitted. The text of an error is not read: whoever raised it chose it."""
    if reply.has_error():
        code = reply.error.code
        known = {int(refusal): refusal.text for refusal in Refusal}
        return known.get(code, f"error {code} of Flower: it has no function for `{MESSAGE_TYPE}`, or it crashed")
    if reply.content.array_records or TERMS not in reply.content.config_records:
        return "its reply was not made by slvr_mod"
    return None
