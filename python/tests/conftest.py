"""What tests share: the command line as a reference, and random inputs."""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slvr

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def slvrc() -> Path:
    """The command line, from `SLVRC` or the checkout's own build."""
    places = [Path(p) for p in [os.environ.get("SLVRC", "")] if p]
    places += [CHECKOUT / "target" / kind / "slvrc" for kind in ("debug", "release")]
    for place in places:
        if place.is_file():
            return place
    pytest.skip("slvrc is not built: cargo build")


def command(slvrc: Path, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a verb and returns what it said."""
    return subprocess.run([slvrc, *words], capture_output=True, text=True, cwd=cwd, check=False)


def random_inputs(check: slvr.Check, seed: int) -> dict[str, Any]:
    """Inputs in the middle of their ranges, for every member."""
    rng = np.random.default_rng(seed)

    def one(kind: str, shape: tuple[int, ...], ends: tuple[float, float]) -> np.ndarray:
        if kind == "int":
            return rng.integers(int(ends[0]), int(ends[1]), shape)
        middle = 0.5 * (ends[0] + ends[1])
        return middle + rng.uniform(-0.02, 0.02, shape) * min(ends[1] - ends[0], 4)

    def given(giver: str | None) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for i in check.inputs:
            if i.giver == giver and i.fields:
                out[i.name] = {name: one(i.kind, shape, i.range) for name, shape in i.fields.items()}
            elif i.giver == giver:
                out[i.name] = one(i.kind, i.shape, i.range)
        return out

    givers = {i.giver for i in check.inputs if i.giver}
    sets = {name: [given(name) for _ in range(m)] for name, m in check.parties.items() if name in givers}
    return {"public": given(None), **sets}


def write_inputs(inputs: dict[str, Any], folder: Path) -> None:
    """The same as files of NumPy, which the command line reads."""

    def flat(given: dict[str, Any]) -> dict[str, np.ndarray]:
        out: dict[str, np.ndarray] = {}
        for name, value in given.items():
            if isinstance(value, dict):
                out.update({f"{name}.{field}": array for field, array in value.items()})
            else:
                out[name] = value
        return out

    folder.mkdir(parents=True, exist_ok=True)
    for name, value in inputs.items():
        if name == "public":
            if value:
                np.savez(folder / "public.npz", **flat(value))
            continue
        (folder / name).mkdir()
        for i, member in enumerate(value):
            if member is not None:
                np.savez(folder / name / f"{i}.npz", **flat(member))


def first_port() -> int:
    """The first of the ports of a deployment, all of which are free: below those that the system gives out itself."""
    for base in random.SystemRandom().sample(range(11_000, 20_000, 40), 200):
        with contextlib.ExitStack() as probes:
            try:
                for port in (base + group + node for group in (0, 10, 20) for node in range(3)):
                    probe = probes.enter_context(socket.socket())
                    probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return base
    pytest.fail("no ports are free")


@contextlib.contextmanager
def deployed(slvrc: Path, folder: Path, task: str, clients: int, *sizes: str) -> Iterator[Path]:
    """The folder of a deployment of three nodes with one task, while they run."""
    made = command(
        slvrc, "keys", "it", *sizes, f"m={clients}", "--clients", str(clients), "--task", task,
        "--port", str(first_port()), cwd=folder,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    cluster = subprocess.Popen([slvrc, "cluster", "it"], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert cluster.stdout is not None
    assert "three nodes run" in cluster.stdout.readline()
    yield folder / "it"
    cluster.terminate()
    assert cluster.wait(60) == 0


class Door:
    """A port of this machine that leads to node 2 of a deployment while it is open. With ``most`` it is open for so
    many pieces of whoever calls, calls ``then``, and shuts. The pieces are encrypted, so they are only counted."""

    def __init__(self, config: Path, most: int | None = None, then: Callable[[], None] = lambda: None) -> None:
        text = config.read_text()
        self._node = int(re.findall(r'address = "127.0.0.1:(\d+)"', text)[2])
        self._port = first_port()
        #: The configuration of a caller that comes through it.
        self.config = config.with_name(f"door-{self._port}.toml")
        self.config.write_text(text.replace(f':{self._node}"', f':{self._port}"'))
        self.config.chmod(0o600)
        self.said, self._most, self._then = 0, most, then
        self._sockets: list[socket.socket] = []

    def open(self) -> None:
        listener = socket.create_server(("127.0.0.1", self._port))
        self._sockets.append(listener)
        threading.Thread(target=self._serve, args=[listener], daemon=True).start()

    def shut(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._sockets = []

    def _serve(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, node = listener.accept()[0], socket.create_connection(("127.0.0.1", self._node))
                self._sockets += [caller, node]
                for pair in ((caller, node, True), (node, caller, False)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with contextlib.suppress(OSError), source.makefile("rb") as pieces:
            while head := pieces.read(5):
                self.said += counted and head[0] == 23  # TLS: a record of data.
                if self._most is not None and self.said > self._most:
                    self._then()
                    self.shut()
                    return
                sink.sendall(head + pieces.read(int.from_bytes(head[3:], "big")))
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *_: object) -> None:
        self.shut()


def applying(weights: str, inputs: str) -> str:
    """A program that applies a model to several inputs, with these ranges."""
    return f"""
predicate Apply[M: model, n]() {{
    parties Server;

    input w: secret weights M in {weights} from Server;
    input x: secret fix[n, ..M.shape] in {inputs} from Server;

    reveal [M(w, x[k]) for k in n] to Server as y;
}}
"""
