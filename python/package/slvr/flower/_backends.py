"""Where updates go: to three nodes, or for tests to a run in this process."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from flwr.app import Context

from .. import _arrays
from .._arrays import Array, Tensors
from .._check import Check, Input, Revealed
from .._nodes import Client, Coordinator
from .._slvr import AbortError, InputError, NodeError, SlvrError
from ._words import logger


class Unconfigured(Exception):
    """A client has not said how it reaches the backend."""


@dataclass(frozen=True)
class Outcome:
    """What a round reveals."""

    revealed: Mapping[str, Revealed]
    #: Who counted, by the names that the backend has for clients.
    accepted: list[str]
    #: Who did not, and why.
    left_out: dict[str, str] = field(default_factory=dict)


class Backend(Protocol):
    """What a strategy and a mod need of it."""

    @property
    def private(self) -> bool:
        """Whether nobody sees an update."""

    @property
    def name(self) -> str:
        """What the server and a client compare."""

    def number(self, round: int) -> int:
        """The number that it has for a round of the strategy."""

    def open(self, check: Check, number: int, public: Tensors, given: bytes) -> None:
        """The server begins a round for clients who are given what has this hash. Raises :class:`slvr.AbortError`
        where it cannot begin now."""

    def submit(self, number: int, context: Context, inputs: Tensors, expected_hash: str, given: bytes) -> str:
        """A client gives its inputs to a round with this circuit, for clients who were given the same. Returns the
        client's name."""

    def collect(self, number: int) -> Outcome:
        """The server ends a round. Raises :class:`slvr.AbortError` of one without a result."""


class Nodes:
    """The three nodes of a deployment, which know clients by name.

    On the server the coordinator's file is ``config``, or what the environment has as ``SLVR_COORDINATOR``. On a client
    it is ``config``, or ``slvr`` in the node's configuration. A round is open for ``seconds``, and ends sooner when all
    clients have replied; ``minimum`` is the least number of clients, where it is more than the task's own. ``first``,
    on the server, is the number that the nodes have for the first round: a number is used once.
    """

    private = True

    def __init__(
        self,
        task: str,
        config: str | os.PathLike[str] | None = None,
        *,
        first: int = 1,
        seconds: int = 600,
        minimum: int | None = None,
        patience: float = 600.0,
    ) -> None:
        self._task = task
        self._config = config
        self._first = first
        self._seconds = seconds
        self._minimum = minimum
        self._patience = patience
        self._coordinator: Coordinator | None = None
        self._compared = ""

    @property
    def name(self) -> str:
        return f"nodes:{self._task}"

    def _called(self) -> Coordinator:
        if self._coordinator is None:
            config = self._config or os.environ.get("SLVR_COORDINATOR")
            if not config:
                raise InputError("the environment has no SLVR_COORDINATOR, the path of coordinator.toml")
            self._coordinator = Coordinator(config)
        return self._coordinator

    def number(self, round: int) -> int:
        return self._first + round - 1

    def open(self, check: Check, number: int, public: Tensors, given: bytes) -> None:
        coordinator, task = self._called(), self._task
        try:
            if self._compared != check.hash:
                there = coordinator.circuit_hash(task)
                if there != check.hash:
                    raise InputError(f"the nodes have the circuit {there} for `{task}`, and the check is {check.hash}")
                self._compared = there
            seconds, minimum = self._seconds, self._minimum
            coordinator.open(task, number, public, seconds=seconds, grace=0, minimum=minimum, context=given)
        except NodeError as error:
            raise AbortError(f"the nodes do not open round {number}: {error}") from error

    def submit(self, number: int, context: Context, inputs: Tensors, expected_hash: str, given: bytes) -> str:
        config = self._config or context.node_config.get("slvr")
        if not config:
            raise Unconfigured("the configuration of this node has no `slvr`, the path of client.toml")
        try:
            client = Client(str(config))
        except SlvrError as error:
            raise Unconfigured(str(error)) from error
        client.submit(self._task, number, inputs, expect_hash=expected_hash, expect_context=given)
        return client.name

    def collect(self, number: int) -> Outcome:
        coordinator = self._called()
        try:
            coordinator.close(self._task, number)
        except SlvrError as error:
            # A round to which all have submitted has closed by itself.
            logger.info("round %d is not closed now: %s", number, error)
        try:
            found = coordinator.collect(self._task, number, patience=self._patience)
        except AbortError:
            with suppress(SlvrError):  # Nobody runs it again: the submissions are erased.
                coordinator.drop(self._task, number)
            raise
        except SlvrError as error:
            try:
                # Of a round that may have a result this is refused: then nothing is erased.
                coordinator.abort(self._task, number)
                coordinator.drop(self._task, number)
            except SlvrError as kept:
                left = f"what the nodes have of {self._task}/{number} is kept ({kept})"
                then = "slvr.Coordinator.collect gets a result if there is one, and drop erases it"
                raise AbortError(f"{error}; {left}: {then}") from error
            raise AbortError(str(error)) from error
        return Outcome(dict(found), found.accepted, found.left_out)


class _Local:
    """A run of three parties in the server's process: for tests, since whoever has the process sees everything."""

    private = False
    _said: ClassVar[set[str]] = set()

    def __init__(self, seed: int | None) -> None:
        if self.name not in self._said:
            self._said.add(self.name)
            logger.warning("slvr.flower.%s is for tests: it hides nothing from the server", type(self).__name__)
        self._seed = seed
        self._open: tuple[Check, int, Tensors, bytes] | None = None

    @property
    def name(self) -> str:
        return type(self).__name__

    def _taken(self, given: bytes) -> dict[str, dict[str, Array]]:
        """What was submitted, by the names of clients."""
        raise NotImplementedError

    def number(self, round: int) -> int:
        return round

    def open(self, check: Check, number: int, public: Tensors, given: bytes) -> None:
        if check.has_states:
            raise InputError(f"{check!r} has a state, which only nodes keep from round to round: use Nodes")
        self._open = check, number, public, given

    def collect(self, number: int) -> Outcome:
        if self._open is None or self._open[1] != number:
            raise InputError(f"round {number} is not open: a backend serves one strategy at a time")
        (check, _, public, given), self._open = self._open, None
        taken = sorted(self._taken(given).items())
        if not taken:
            raise AbortError("nobody has submitted anything")
        giver, seed = str(update_of(check).giver), None if self._seed is None else self._seed + number
        absent = [None] * (check.parties[giver] - len(taken))
        try:
            result = check.run({"public": public, giver: [inputs for _, inputs in taken] + absent}, seed=seed)
        except InputError as error:
            raise AbortError(str(error)) from error
        left_out = {taken[place][0]: why for _, place, why in result.excluded if place < len(taken)}
        return Outcome(result, [name for name, _ in taken if name not in left_out], left_out)


class InProcess(_Local):
    """The mods and the strategy share this object in one process. ``seed`` makes all randomness of the parties
    predictable."""

    def __init__(self, *, seed: int | None = None) -> None:
        super().__init__(seed)
        self._given: dict[str, dict[str, Array]] = {}

    def open(self, check: Check, number: int, public: Tensors, given: bytes) -> None:
        super().open(check, number, public, given)
        self._given = {}

    def submit(self, number: int, context: Context, inputs: Tensors, expected_hash: str, given: bytes) -> str:
        name = f"node {context.node_id}"
        if self._open is None or self._open[1] != number or self._open[3] != given:
            raise AbortError(f"round {number} is not open, or for other arrays")
        if self._open[0].hash != expected_hash:
            raise InputError("the round has another circuit")
        self._given[name] = _arrays.tensors(inputs)
        return name

    def _taken(self, given: bytes) -> dict[str, dict[str, Array]]:
        return self._given


#: What a folder of a round is called. Whatever else lies beside it is somebody's own.
_ROUND = re.compile("round-[0-9a-f]{64}")


class Folder(_Local):
    """Clients of other processes leave their inputs in a folder, and the strategy reads them there."""

    def __init__(self, path: str | os.PathLike[str], *, seed: int | None = None) -> None:
        super().__init__(seed)
        self._path = Path(path).absolute()

    def _at(self, given: bytes) -> Path:
        return self._path / f"round-{given.hex()}"

    def open(self, check: Check, number: int, public: Tensors, given: bytes) -> None:
        super().open(check, number, public, given)
        for old in self._path.glob("round-*"):  # Whoever is late finds no folder.
            if _ROUND.fullmatch(old.name) and old.is_dir() and not old.is_symlink():
                shutil.rmtree(old)
        self._at(given).mkdir(parents=True)

    def submit(self, number: int, context: Context, inputs: Tensors, expected_hash: str, given: bytes) -> str:
        name, folder = f"node {context.node_id}", self._at(given)
        if not folder.is_dir():
            raise AbortError(f"round {number} is not open in {self._path}, or for other arrays")
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as file:
            arrays = _arrays.tensors(inputs)
            np.savez(file, list(arrays), *arrays.values())
        os.replace(file.name, folder / f"{name}.npz")  # Nobody reads half a file.
        return name

    def _taken(self, given: bytes) -> dict[str, dict[str, Array]]:
        found = {}
        for path in self._at(given).glob("*.npz"):
            with suppress(Exception), np.load(path) as file:  # What is not readable is not there.
                found[path.stem] = {str(name): file[f"arr_{i + 1}"] for i, name in enumerate(file["arr_0"])}
        return found


def update_of(check: Check) -> Input:
    """The input that is the update; whoever gives it is a client."""
    for i in check.inputs:
        if i.name == "update" and i.giver is not None:
            return i
    raise InputError(f"{check!r} has no input `update` from its clients")
