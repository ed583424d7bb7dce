"""Workers of a node on a Ray cluster (ray 2.52 or later, below 3).

A node's workers compute ranges of layers for it. Here Ray chooses the machines, starts the processes and starts them
again::

    with slvr.ray.Workers("http://127.0.0.1:7420", 2, cpus=8, memory=16 << 30, folder="/srv/slvr/node-0") as workers:
        workers.wait()
        ...

Each organisation has a Ray cluster of its own, behind its firewall. Ray carries nothing of a round: it is told which
processes to start, and each of these gets what it computes on from its node, over TLS with certificates at both ends.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import ray

from ._slvr import InputError
from ._token import refuse_strangers
from ._worker import State, Worker, ends

__all__ = ["State", "Workers"]


def _is_on() -> bool:
    return os.environ.get("RAY_AUTH_MODE", "").lower() == "token"


class _Actor(Worker):
    """A worker on a machine of the cluster."""

    def __init__(self, number: int, node: str, cpus: int, folder: str, program: str) -> None:
        # The variables are those of Ray's process on this machine.
        if not _is_on():
            raise InputError("Ray was started on this machine without RAY_AUTH_MODE=token")
        try:
            import resource

            # A file of its memory would have shares and seeds.
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        except ImportError:
            # This system writes none.
            pass
        super().__init__(number, node, cpus, folder, program, ray.util.get_node_ip_address())


class Workers:
    """The workers 0 to ``count - 1`` of a node, as actors of a Ray cluster of the node's organisation.

    ``address`` is the node's operations address, as a machine of the cluster calls it: ``http://127.0.0.1:7420`` if
    they are on the node's machine, and otherwise ``https://…``, which takes ``[operator]`` in ``node.toml``. There a
    worker shows its own certificate, with which it may say where it is and nothing else. For each worker Ray keeps
    ``cpus`` cores and ``memory`` bytes, and what else ``resources`` names. ``folder`` is where each of these machines
    has ``worker-0``, ``worker-1`` and so on, as ``slvrc keys --workers`` makes them: keys never pass through Ray.
    ``program`` is ``slvrc`` there.

    It connects with the cluster of ``RAY_ADDRESS``, or of this machine, unless ``ray.init`` has been called. Raises
    :class:`slvr.InputError` unless all of that cluster asks for a token (``RAY_AUTH_MODE=token``) and takes that
    of this process.
    """

    def __init__(
        self,
        address: str,
        count: int,
        cpus: int,
        memory: int,
        *,
        folder: str | os.PathLike[str],
        program: str = "slvrc",
        resources: Mapping[str, float] | None = None,
    ) -> None:
        ends(address)
        if count < 1 or cpus < 1 or memory < 1:
            raise ValueError("`count`, `cpus` and `memory` are at least 1")
        if not _is_on():
            raise InputError(
                "Ray's token authentication is off: whoever reaches the cluster runs programs on it. Set "
                "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH here and for each `ray start`"
            )
        if not ray.is_initialized():
            # Nothing of a worker is written to its output.
            ray.init(address="auto", log_to_driver=False)
        refuse_strangers(ray.get_runtime_context().gcs_address, os.path.dirname(os.path.dirname(ray.__file__)))
        # Ray starts an actor again if its process or its machine is lost. Who asks it meanwhile waits.
        actor = ray.remote(
            num_cpus=cpus,
            memory=memory,
            resources=dict(resources or {}),
            max_restarts=-1,
            max_task_retries=-1,
            scheduling_strategy="SPREAD",
        )(_Actor)
        self._actors: list[Any] = [actor.remote(k, address, cpus, os.fspath(folder), program) for k in range(count)]

    def states(self, timeout: float = 30.0) -> list[State]:
        """Where each worker stands. Raises ``ray.exceptions.RayError`` if an actor is not there in time, or cannot be
        started, such as on a machine without its folder."""
        found: list[State] = ray.get([actor.state.remote() for actor in self._actors], timeout=timeout)
        return found

    def wait(self, timeout: float = 300.0) -> list[State]:
        """Waits until all processes run and the node has been told of each."""
        until = time.monotonic() + timeout
        while True:
            states = self.states(max(until - time.monotonic(), 0.1))
            wrong = [f"worker {s.number} on {s.machine}: {s.why}" for s in states if s.why or s.pid is None]
            if not wrong:
                return states
            if time.monotonic() > until:
                raise InputError("; ".join(wrong))
            time.sleep(0.5)

    def stop(self) -> None:
        """Ends all processes and actors."""
        for actor in self._actors:
            # One whose process is lost is started again for this. If that takes too long, it is killed nevertheless.
            with contextlib.suppress(ray.exceptions.RayError):
                ray.get(actor.stop.remote(), timeout=30)
            ray.kill(actor)
        self._actors = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
