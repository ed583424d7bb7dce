"""The processes that `slvr.ray` has started, without Ray, which `ray/run.sh` tries by hand."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import command, first_port

import slvr
from slvr._worker import State, Worker, ends

TEXT = """use std::{sum};

predicate Mean[d, m]() {
    parties Client[m];
    parties Server;

    input x: secret fix[d] in -8..8 from each Client;

    reveal sum(x) / m to Server as mean;
}
"""


def until(worker: Worker, holds: Callable[[State], bool]) -> State:
    """Where a worker stands once this holds."""
    for _ in range(2400):
        if holds(state := worker.state()):
            return state
        time.sleep(0.05)
    pytest.fail(f"it stays as it is: {state}")


@pytest.fixture(params=["http", "https"])
def node(slvrc: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[str, Path, Path]]:
    """Where node 0 of a deployment looks for its operator, its folder, and its log."""
    (tmp_path / "mean.slvr").write_text(TEXT)
    base = first_port()
    for words in (["d=5", "m=4", "--clients", "4", "--task", "mean.slvr", "--port", str(base)], ["--workers", "1"]):
        made = command(slvrc, "keys", "it", *words, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
    folder, log = tmp_path / "it" / "node-0", tmp_path / "node.log"
    if request.param == "https":
        with open(folder / "node.toml", "a") as file:
            file.write(f'\n[operator]\ntokens = ["{"0" * 64}"]\n')
    words = ["node", "--until-input-ends", "--config", str(folder / "node.toml")]
    with log.open("w") as file, subprocess.Popen([slvrc, *words], stdin=subprocess.PIPE, stderr=file) as process:
        while " started " not in log.read_text():
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        yield f"{request.param}://127.0.0.1:{base + 20}", folder, log


def test_a_process_is_started_again_and_its_node_is_told_where_it_is(slvrc: Path, node: tuple[str, Path, Path]) -> None:
    address, folder, log = node
    worker = Worker(0, address, 1, os.fspath(folder), os.fspath(slvrc), "localhost")
    first = until(worker, lambda state: state.why is None)
    told = f'a worker is called there from now on worker=0 at="{first.address}"'
    assert told in log.read_text()
    assert first.pid is not None and first.restarts == 0
    os.kill(first.pid, signal.SIGKILL)
    second = until(worker, lambda state: state.restarts == 1 and state.pid is not None and state.why is None)
    assert second.pid != first.pid and second.address == first.address
    assert log.read_text().count(told) == 1, "it is no news"
    worker.stop()
    assert worker.state().pid is None


def test_what_cannot_be_says_where_and_what_to_do(slvrc: Path, node: tuple[str, Path, Path], tmp_path: Path) -> None:
    address, folder, _ = node
    with pytest.raises(slvr.InputError, match=r"worker-1.worker\.toml on .* has to be on the machine"):
        Worker(1, address, 1, os.fspath(folder), os.fspath(slvrc), "localhost")
    with pytest.raises(slvr.InputError, match=r"nothing on .* give its path as `program`"):
        Worker(0, address, 1, os.fspath(folder), "nothing", "localhost")
    told = folder / "worker-0" / "worker.toml"
    text = told.read_text()
    told.write_text(text.replace('node = ["', f'node = ["{"0" * 64}"]\n#'))
    worker = Worker(0, address, 1, os.fspath(folder), os.fspath(slvrc), "localhost")
    # Over TLS it tells nothing to whoever shows another certificate.
    wanted = "another certificate" if address.startswith("https") else "None"
    until(worker, lambda state: wanted in str(state.why))
    worker.stop()
    told.write_text(text.replace("\nlisten = ", "\n# listen = "))
    with pytest.raises(slvr.InputError, match="`listen` names no port"):
        Worker(0, address, 1, os.fspath(folder), os.fspath(slvrc), "localhost")
    # The node knows one worker.
    other = folder / "worker-1"
    (folder / "worker-0").rename(other)
    (other / "worker.toml").write_text(text)
    worker = Worker(1, address, 1, os.fspath(folder), os.fspath(slvrc), "localhost")
    state = until(worker, lambda state: "answers 40" in str(state.why))
    assert "403" in str(state.why) or "there is no worker 1" in str(state.why)
    worker.stop()


@pytest.mark.parametrize(
    "address", ["", "127.0.0.1:7420", "ftp://a:1", "http://a", "http://:1", "http://a:x", "http://[::1", "http://a:1/b"]
)
def test_an_address_of_a_node_is_one(address: str) -> None:
    with pytest.raises(ValueError, match="operations address"):
        ends(address)


def test_a_cluster_without_a_token_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    from slvr.ray import Workers

    for mode in (None, "disabled"):
        monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
        if mode:
            monkeypatch.setenv("RAY_AUTH_MODE", mode)
        with pytest.raises(slvr.InputError, match="RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH"):
            Workers("http://127.0.0.1:7420", 1, 1, 1, folder=tmp_path)
    with pytest.raises(ValueError, match="at least 1"):
        Workers("http://127.0.0.1:7420", 0, 1, 1, folder=tmp_path)
