"""The processes that `slvr.ray` has started, without Ray, which `ray/run.sh` tries by hand."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import command, first_port

import slvr
from slvr import _token, _worker
from slvr._token import Seen, wrong_with_stranger, wrong_with_user
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


def made(slvrc: Path, folder: Path) -> tuple[int, Path]:
    """The first port of a deployment with a worker for each node, and the folder of node 0."""
    (folder / "mean.slvr").write_text(TEXT)
    base = first_port()
    for words in (["d=5", "m=4", "--clients", "4", "--task", "mean.slvr", "--port", str(base)], ["--workers", "1"]):
        made = command(slvrc, "keys", "it", *words, cwd=folder)
        assert made.returncode == 0, made.stderr
    return base, folder / "it" / "node-0"


@contextlib.contextmanager
def runs(slvrc: Path, folder: Path) -> Iterator[Path]:
    """The log of the node of this folder, while it runs."""
    log = folder / "node.log"
    words = ["node", "--until-input-ends", "--config", str(folder / "node.toml")]
    with log.open("w") as file, subprocess.Popen([slvrc, *words], stdin=subprocess.PIPE, stderr=file) as process:
        while " started " not in log.read_text():
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        yield log


@pytest.fixture(params=["http", "https"])
def node(slvrc: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[str, Path, Path]]:
    """Where node 0 of a deployment looks for its operator, its folder, and its log."""
    base, folder = made(slvrc, tmp_path)
    text = (folder / "node.toml").read_text().replace("[[worker]]\naddress", "[[worker]]\n# address")
    if request.param == "https":
        text += f'\n[operator]\ntokens = ["{"0" * 64}"]\n'
    (folder / "node.toml").write_text(text)
    with runs(slvrc, folder) as log:
        yield f"{request.param}://127.0.0.1:{base + 20}", folder, log


def test_a_configuration_is_utf_8_whatever_the_locale_is(tmp_path: Path) -> None:
    (tmp_path / "worker-0").mkdir()
    (tmp_path / "worker-0" / "worker.toml").write_bytes('listen = "höher:0"\n'.encode())
    program = f"from slvr._worker import Worker; Worker(0, 'http://127.0.0.1:1', 1, {str(tmp_path)!r}, 'slvrc', 'a')"
    env = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False)
    assert "worker.toml: `listen` names no port" in ended.stderr


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


def test_a_node_that_is_configured_with_another_address_says_so(slvrc: Path, tmp_path: Path) -> None:
    base, folder = made(slvrc, tmp_path)
    with runs(slvrc, folder):
        worker = Worker(0, f"http://127.0.0.1:{base + 20}", 1, os.fspath(folder), os.fspath(slvrc), "localhost")
        state = until(worker, lambda state: "answers 409" in str(state.why))
        assert f"worker 0 has the address 127.0.0.1:{base + 30} in node.toml" in str(state.why)
        assert state.pid is not None
        worker.stop()


@contextlib.contextmanager
def drips(begin: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """The port of somebody who answers with this, then with a byte now and then for ever, and an entry for a call."""
    calls: list[bytes] = []

    class Drip(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            calls.append(begin)
            with contextlib.suppress(OSError):
                self.request.sendall(begin)
                while True:
                    self.request.sendall(b"x")
                    time.sleep(0.02)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Drip) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_address[1], calls
        server.shutdown()


@pytest.mark.parametrize(
    ("scheme", "begin"),
    [
        ("http", b""),
        ("http", b"HTTP/1.1 200 OK\r\n"),
        ("http", b"HTTP/1.1 200 OK\r\n\r\n"),
        # A record of TLS that has a handshake of 16 KiB.
        ("https", b"\x16\x03\x03\x40\x00"),
    ],
)
def test_a_node_that_never_ends_its_answer_holds_up_nothing(
    slvrc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, begin: bytes
) -> None:
    monkeypatch.setattr(_worker, "EVERY", 0.05)
    monkeypatch.setattr(_worker, "WITHIN", 0.5)
    _, folder = made(slvrc, tmp_path)
    program = tmp_path / "short"
    program.write_text("#!/bin/sh\nexec sleep 0.1\n")
    program.chmod(0o700)
    with drips(begin) as (port, calls):
        worker = Worker(0, f"{scheme}://127.0.0.1:{port}", 1, os.fspath(folder), os.fspath(program), "localhost")
        state = until(worker, lambda state: state.restarts >= 3 and "does not answer within 0.5 s" in str(state.why))
        # It is told again and again, and ends in the middle of it.
        monkeypatch.setattr(_worker, "WITHIN", 60.0)
        before = len(calls)
        until(worker, lambda state: len(calls) > before)
        began = time.monotonic()
        worker.stop()
        assert time.monotonic() - began < 5
        assert worker.state().pid is None and worker.state().restarts >= state.restarts
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("slvr worker")]


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


#: The ends of what `ray status` of these versions writes.
MISSING = "RPC error: InvalidAuthToken: Authentication token is missing or incorrect."
REFUSALS = {
    "2.52.0": f"""  File "python/ray/includes/common.pxi", line 110, in ray._raylet.check_status
ray.exceptions.AuthenticationError: {MISSING} Ensure that you have `RAY_AUTH_MODE=token` set and the token for the \
cluster is available as the `RAY_AUTH_TOKEN` environment variable or a local file. For more information, see: \
https://docs.ray.io/en/latest/ray-security/auth.html
""",
    "2.60.0": f"""  File "python/ray/includes/common.pxi", line 119, in ray._raylet.check_status
ray.exceptions.AuthenticationError: {MISSING} Ensure that the token for the cluster is available in a local file \
(e.g., ~/.ray/auth_token or via RAY_AUTH_TOKEN_PATH) or as the `RAY_AUTH_TOKEN` environment variable. To generate a \
token for local development, use `ray get-auth-token --generate` For remote clusters, ensure that the token is \
propagated to all nodes of the cluster when token authentication is enabled. For more information, see: \
https://docs.ray.io/en/latest/ray-security/token-auth.html
""",
}
SILENT = """  File "python/ray/includes/common.pxi", line 144, in ray._raylet.check_status_timeout_as_rpc_error
ray.exceptions.RpcError: Timed out while waiting for GCS to become available.
"""


@pytest.mark.parametrize("version", REFUSALS)
def test_a_cluster_that_asks_for_its_token_is_taken(version: str) -> None:
    assert wrong_with_stranger("a:1", Seen(1, REFUSALS[version])) is None
    assert wrong_with_user("a:1", Seen(0, "======== Autoscaler status")) is None
    assert f"status 1 and says: ray.exceptions.AuthenticationError: {MISSING}" in str(
        wrong_with_user("a:1", Seen(1, REFUSALS[version]))
    )


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (
            Seen(0, "======== Autoscaler status"),
            "the Ray cluster at a:1 takes any token: start all of it with RAY_AUTH_",
        ),
        # It may say so and let in nevertheless.
        (Seen(0, REFUSALS["2.60.0"]), "takes any token"),
        (Seen(1, SILENT), "status 1 and says: ray.exceptions.RpcError: Timed out while waiting for GCS to become"),
        (
            Seen(1, "ModuleNotFoundError: No module named 'ray'\n"),
            "says: ModuleNotFoundError: No module named 'ray'. See",
        ),
        # What Ray says if it has no token itself.
        (Seen(1, "ray.exceptions.AuthenticationError: Token authentication is enabled but no"), "cannot be found out"),
        (Seen(1, f"click.py says: {MISSING}\n"), "cannot be found out"),
        (Seen(-9, ""), "status -9 and says: nothing"),
        (Seen(None, ""), "Ray does not end within 90 s"),
    ],
)
def test_a_cluster_of_which_it_is_not_known_is_refused(seen: Seen, says: str) -> None:
    assert says in str(wrong_with_stranger("a:1", seen))
    if seen.status != 0:
        assert "does not answer with the token of this process" in str(wrong_with_user("a:1", seen))


def test_ray_is_asked_with_both_tokens_from_an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(1)")
    (tmp_path / "token").write_text("it")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.fspath(tmp_path))
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "token")
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    asked = "import json, os, sys; print(json.dumps([sys.argv[1:], os.listdir(), dict(os.environ)]))"
    monkeypatch.setattr(_token, "STATUS", asked)
    status, said = _token.ask("a:1", "ray's folder", os.environ)
    words, files, env = json.loads(said)
    assert status == 0 and words == ["ray's folder", "status", "--address", "a:1"] and files == []
    assert env["RAY_AUTH_TOKEN_PATH"] == os.fspath(tmp_path / "token")

    # A cluster that knows its token, and three that do not.
    knows = f"""
import os, sys
token = os.environ.get("RAY_AUTH_TOKEN") or open(os.environ["RAY_AUTH_TOKEN_PATH"]).read()
sys.exit(0 if token == "it" else {REFUSALS["2.52.0"]!r})
"""
    monkeypatch.setattr(_token, "STATUS", knows)
    _token.refuse_strangers("a:1", "")
    (tmp_path / "token").write_text("another")
    for asked, says in (
        (knows, "does not answer with the token of this process"),
        ("", "takes any token"),
        (f"import sys; sys.exit({SILENT!r})", "Timed out while waiting for GCS"),
    ):
        monkeypatch.setattr(_token, "STATUS", asked)
        with pytest.raises(slvr.InputError, match=says):
            _token.refuse_strangers("a:1", "")
    monkeypatch.setattr(_token, "STATUS", "import time; time.sleep(60)")
    monkeypatch.setattr(_token, "WITHIN", 0.5)
    with pytest.raises(slvr.InputError, match=r"Ray does not end within 0\.5 s"):
        _token.refuse_strangers("a:1", "")
