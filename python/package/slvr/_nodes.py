"""Clients and the coordinator of a deployment. Shares are made in the client's own process."""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import Any

from . import _arrays, _slvr
from ._arrays import Tensors
from ._check import Result, in_thread


@dataclass(frozen=True)
class Receipt:
    """That a submission is on all three nodes."""

    submission: str
    #: What each node says.
    nodes: list[dict[str, Any]]


class Collected(Result):
    """The result of a round; ``report`` is what the nodes say of it."""

    @property
    def accepted(self) -> list[str]:
        """The clients that counted."""
        return [entry["client"] for entry in self.report["accepted"]]

    @property
    def left_out(self) -> dict[str, str]:
        """The clients that submitted and did not count, and why."""
        return {entry["client"]: entry["why"] for entry in self.report["excluded"]}


class _Caller:
    def __init__(self, config: str | os.PathLike[str]) -> None:
        self._config = os.fspath(config)
        self._nodes = _slvr.Nodes(self._config)

    def __reduce__(self) -> tuple[type[Any], tuple[str]]:
        return type(self), (self._config,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    @property
    def name(self) -> str:
        """As the configuration has it."""
        return self._nodes.name

    def circuit_hash(self, task: str, *, patience: float = 60.0) -> str:
        """The hash of the circuit that the nodes have for all clients of a task."""
        return self._nodes.circuit_hash(task, patience)

    def statuses(self, task: str, round: int) -> list[dict[str, Any]]:
        """Where a round stands at each node, or ``{"error": why}``."""
        found: list[dict[str, Any]] = json.loads(self._nodes.statuses(task, round))
        return found


class Client(_Caller):
    """A client, by its ``client.toml``, as ``slvrc keys`` makes it."""

    def submit(
        self,
        task: str,
        round: int,
        inputs: Tensors,
        *,
        expect_hash: str | None = None,
        expect_context: bytes | None = None,
        patience: float = 120.0,
    ) -> Receipt:
        """Submits arrays to a round. With ``expect_hash`` nothing is sent unless the round has this circuit.

        With ``expect_context``, 32 bytes, nothing is sent unless the coordinator has opened the round with them: a hash
        of what clients were given outside of the nodes, so that all of them were given the same.
        """
        arrays = _arrays.of(inputs, self.name)
        said = json.loads(self._nodes.submit(task, round, arrays, expect_hash, expect_context, patience))
        return Receipt(submission=said["submission"], nodes=said["receipts"])

    def asubmit(self, task: str, round: int, inputs: Tensors, **options: Any) -> Awaitable[Receipt]:
        """:meth:`submit` on another thread, for ``await``."""
        return in_thread(functools.partial(self.submit, task, round, inputs, **options))

    def fetch(self, task: str, round: int, *, keep: bool = False, patience: float = 120.0) -> Result:
        """What a round reveals to this client, which the nodes then forget."""
        return Result(*self._nodes.fetch(task, round, keep, patience))

    def afetch(self, task: str, round: int, **options: Any) -> Awaitable[Result]:
        """:meth:`fetch` on another thread, for ``await``."""
        return in_thread(functools.partial(self.fetch, task, round, **options))


class Coordinator(_Caller):
    """The coordinator, by its ``coordinator.toml``, as ``slvrc keys`` makes it."""

    def open(
        self,
        task: str,
        round: int,
        public: Tensors | None = None,
        *,
        seconds: int = 600,
        grace: int = 30,
        minimum: int | None = None,
        context: bytes | None = None,
        patience: float = 60.0,
    ) -> dict[str, Any]:
        """Opens a round on all three nodes, for ``seconds``, and returns where it stands.

        ``context`` is a hash of what clients are given outside of the nodes (:meth:`Client.submit`).
        """
        arrays = _arrays.of(public or {}, "public")
        status = self._nodes.open(task, round, arrays, seconds, grace, minimum, context, patience)
        found: dict[str, Any] = json.loads(status)
        return found

    def aopen(self, task: str, round: int, public: Tensors | None = None, **options: Any) -> Awaitable[dict[str, Any]]:
        """:meth:`open` on another thread, for ``await``."""
        return in_thread(functools.partial(self.open, task, round, public, **options))

    def close(self, task: str, round: int) -> dict[str, Any]:
        """Takes no more submissions."""
        found: dict[str, Any] = json.loads(self._nodes.close(task, round))
        return found

    def abort(self, task: str, round: int) -> None:
        """Ends a round without a result. The submissions are kept until :meth:`drop`."""
        self._nodes.abort(task, round)

    def watch(self, task: str, round: int, *, every: float = 0.5) -> Iterator[list[dict[str, Any]]]:
        """Yields where the round stands whenever that changes, until it has ended. Node 0 leads: while it does not
        answer, it is not known whether the round has ended, and once it has lost the round, the others tell. Raises
        :class:`NodeError` of a round that no node knows."""
        said: list[dict[str, Any]] | None = None
        while True:
            text, ended = self._nodes.standing(task, round)
            found: list[dict[str, Any]] = json.loads(text)
            steps = [{key: s.get(key) for key in ("phase", "complete", "attempt", "error")} for s in found]
            if steps != said:
                said = steps
                yield found
            if ended:
                return
            time.sleep(every)

    def collect(self, task: str, round: int, *, keep: bool = False, patience: float = 600.0) -> Collected:
        """The result of a round, which the nodes then forget; waits for it. Raises :class:`AbortError` of a round
        without one."""
        return Collected(*self._nodes.collect(task, round, keep, patience))

    def acollect(self, task: str, round: int, **options: Any) -> Awaitable[Collected]:
        """:meth:`collect` on another thread, for ``await``."""
        return in_thread(functools.partial(self.collect, task, round, **options))

    def drop(self, task: str, round: int) -> None:
        """Erases what the nodes still keep of a round that has ended."""
        self._nodes.drop(task, round)
