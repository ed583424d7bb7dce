"""The server's side: a FedAvg whose average is what a check reveals."""

from __future__ import annotations

import random
import time
from collections import Counter
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
from ._backends import Backend, Outcome, update_of
from ._words import (
    CONFIG,
    MESSAGE_TYPE,
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
    record_of,
)


@dataclass(frozen=True)
class Round:
    """How a round ended."""

    number: int
    #: Who counted, by the names that the backend has for clients.
    accepted: list[str]
    #: Who has submitted and did not count, by such a name, and why.
    left_out: dict[str, str]
    #: Nodes of Flower that did not say that they have submitted, and why. What one has submitted before it was lost may
    #: count nevertheless.
    failed: dict[int, str]
    #: Why there is no aggregate: the global arrays are those of the round before.
    skipped: str | None = None


class SlvrStrategy(FedAvg):
    """Federated averaging in which the server sees the aggregate that a check reveals, and no update.

    ``check`` is for all clients of the task; fewer may come. ``reveals`` is what the check reveals of the update: it is
    added to the global arrays, times ``server_lr``. A pair of names is a weighted sum and the sum of its weights. If
    the check has a public input called ``public``, it gets the global arrays. If its update is one vector,
    ``trainable`` names the arrays that it has, in this order; without it these are all arrays of floating point
    numbers. The means of the ``metrics`` of clients that counted, which count all alike, are those of the round.

    ``run_config`` is what Flower gives the clients as configuration of the run (``context.run_config``): a client
    submits only if it got the same.

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
        trainable: Iterable[str] | None = None,
        server_lr: float = 1.0,
        metrics: Iterable[str] = ("loss",),
        run_config: Mapping[str, Any] | None = None,
        on_abort: Literal["skip", "raise"] = "skip",
        wait: float = 60.0,
    ) -> None:
        super().__init__(min_train_nodes=1, min_available_nodes=1)
        if on_abort not in ("skip", "raise"):
            raise ValueError(f'on_abort is "skip" or "raise", not {on_abort!r}')
        if not np.isfinite(server_lr):
            raise ValueError(f"server_lr is a finite number, not {server_lr}")
        self.rounds: list[Round] = []
        self._check = check
        self._backend = backend
        self._update = _fits(check, (reveals,) if isinstance(reveals, str) else tuple(reveals), public)
        self._reveals = reveals
        self._public = public if any(i.giver is None for i in check.inputs) else None
        self._trainable = None if trainable is None else names_of(trainable, "trainable")
        self._server_lr = server_lr
        self._metrics = names_of(metrics, "metrics")
        self._run_config = dict(run_config or {})
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
        current = numpy_of(arrays)
        names = self._names(current)
        self._asked, self._unopened = self._nodes(grid), "no node is there"
        if not self._asked:
            return []
        number = self._backend.number(server_round)
        terms: dict[str, ConfigRecordValues] = {
            "round": number,
            "circuit": self._check.hash,
            "backend": self._backend.name,
            "flat": not self._update.fields,
            "arrays": names,
        }
        told = {**config, "server-round": server_round}
        weights: Any = {name: current[name] for name in names} if self._update.fields else flat(current, names)
        public = {self._public: weights} if self._public else {}
        try:
            self._backend.open(self._check, number, public, digest(arrays, told, terms, self._run_config))
        except AbortError as error:
            self._asked, self._unopened = [], str(error)
            return []

        def content() -> RecordDict:
            return RecordDict({SENT_ARRAYS: arrays, CONFIG: ConfigRecord(told), TERMS: ConfigRecord(dict(terms))})

        return [Message(content(), node, MESSAGE_TYPE, group_id=str(server_round)) for node in self._asked]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Ends the round, and adds what it reveals."""
        failed = dict.fromkeys(self._asked, "no reply")
        claims: dict[int, tuple[str, MetricRecord]] = {}
        for reply in replies:
            node = reply.metadata.src_node_id
            if why := _why_not(reply):
                failed[node] = why
                continue
            failed.pop(node, None)
            said = reply.content.metric_records.get("metrics", MetricRecord())
            claims[node] = str(reply.content.config_records[TERMS]["client"]), said
        outcome, arrays, skipped = Outcome({}, []), self._arrays, None
        try:
            if not self._asked:
                raise AbortError(self._unopened)
            outcome = self._backend.collect(self._backend.number(server_round))
            arrays = self._added(outcome.revealed)
        except AbortError as error:
            skipped = str(error)
            logger.warning("round %d has no result: %s", server_round, error)
            if self._raises:
                raise
        except BaseException as error:
            skipped = str(error)
            raise
        finally:
            if outcome.accepted or outcome.left_out:
                known = {*outcome.accepted, *outcome.left_out}
                failed |= {node: "it has not submitted" for node, (name, _) in claims.items() if name not in known}
            self.rounds.append(Round(server_round, outcome.accepted, outcome.left_out, failed, skipped))
            logger.info("round %d: %d clients counted", server_round, len(outcome.accepted))
            for who, why in [*outcome.left_out.items(), *((f"node {n}", why) for n, why in failed.items())]:
                logger.warning("round %d: %s does not count: %s", server_round, who, why)
        # A client says itself who it is: a name that two claim is that of neither.
        names = Counter(name for name, _ in claims.values())
        counts = {name for name, claimed in names.items() if claimed == 1 and name in outcome.accepted}
        return arrays, self._mean([said for name, said in claims.values() if name in counts])

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
        """The arrays that are the update, in its order. All others stay as they are."""
        names = list(self._update.fields or self._trainable or floats(arrays))
        for name in names:
            if name not in floats(arrays) or arrays[name].shape != self._update.fields.get(name, arrays[name].shape):
                of = self._update.fields.get(name)
                raise InputError(
                    f"the check has an array `{name}`{f' of shape {list(of)}' if of else ''}, and the model has none"
                )
            if not np.isfinite(arrays[name]).all():
                raise InputError(f"the global array `{name}` is not finite")
        total = sum(arrays[name].size for name in names)
        if not self._update.fields and (total,) != self._update.shape:
            raise InputError(f"the update of the check has {self._update.shape[0]} numbers, the arrays {total}")
        return names

    def _added(self, revealed: Mapping[str, Revealed]) -> ArrayRecord:
        """The global arrays of the next round, each of its own type."""
        if isinstance(self._reveals, str):
            aggregate, divisor = revealed[self._reveals], 1.0
        else:
            aggregate, divisor = revealed[self._reveals[0]], float(np.asarray(revealed[self._reveals[1]]))
        if not divisor > 0:
            raise AbortError("the weights of all clients add up to nothing")
        arrays = numpy_of(self._arrays)
        names = self._names(arrays)
        if not isinstance(aggregate, dict):
            ends = np.cumsum([arrays[name].size for name in names])[:-1]
            aggregate = dict(zip(names, np.split(aggregate, ends), strict=True))
        for name in names:
            arrays[name] = _step(arrays[name], self._server_lr / divisor * aggregate[name])
            if not np.isfinite(arrays[name]).all():
                raise AbortError(f"`{name}` would not be finite as {arrays[name].dtype}")
        return record_of(arrays)

    def _mean(self, records: list[MetricRecord]) -> MetricRecord:
        """The means of the metrics that the strategy asks for. What is not finite is no metric."""
        found = MetricRecord()
        for name in self._metrics:
            values = [v for said in records if isinstance(v := said.get(name), int | float) and abs(v) < _LARGEST]
            if values:
                found[name] = float(np.mean(values))
        return found


#: Metrics beyond it are somebody's joke.
_LARGEST = 1e100


def _fits(check: Check, reveals: tuple[str, ...], public: str) -> Input:
    """The update of a check that this strategy can serve."""
    update = update_of(check)
    if update.kind != "fix" or not (update.fields or len(update.shape) == 1):
        raise InputError(f"the input `update` of {check!r} is neither a record of `fix` nor one vector of `fix`")
    for i in check.inputs:
        if i.giver is None and i.name != public:
            raise InputError(f"{check!r} has a public input `{i.name}`, which is not the global arrays")
        if i.giver not in (None, update.giver):
            raise InputError(f"{check!r} has an input `{i.name}` from `{i.giver}`, whom Flower does not know")
    outputs = {o.name: (o.fields, o.shape) for o in check.outputs if o.receiver != update.giver}
    wanted: list[tuple[object, object]] = [(update.fields, update.shape), ({}, ())]
    if len(reveals) not in (1, 2):
        raise InputError("reveals= is the name of an output, or a pair of a weighted sum and the sum of weights")
    for name, shapes, what in zip(reveals, wanted, ("the update", "a number"), strict=False):
        if name not in outputs:
            raise InputError(f"{check!r} does not reveal `{name}` to the server: give reveals=, of {list(outputs)}")
        if outputs[name] != shapes:
            raise InputError(f"`{name}` of {check!r} has not the shape of {what}: give reveals=, of {list(outputs)}")
    return update


def _step(old: npt.NDArray[Any], step: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    with np.errstate(over="ignore"):
        return (old.astype(np.float64) + step.reshape(old.shape)).astype(old.dtype)


def _why_not(reply: Message) -> str | None:
    """Why a client has not submitted. The text of an error is not read: whoever raised it chose it."""
    if reply.has_error():
        code = reply.error.code
        known = {int(refusal): refusal.text for refusal in Refusal}
        return known.get(code, f"error {code} of Flower: it has no function for `{MESSAGE_TYPE}`, or it crashed")
    if reply.content.array_records or "client" not in reply.content.config_records.get(TERMS, {}):
        return "its reply was not made by slvr_mod"
    return None
