"""A worker's process: started, started again when it ends, and its address told to the node. The actors of
:mod:`slvr.ray` are of this class, which needs no Ray itself."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ._slvr import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Seconds after which a process is looked at, and the node told again: it forgets what it was told when it ends.
EVERY = 2.0

#: Seconds that telling the node takes at most, in all.
WITHIN = 10.0


@dataclass(frozen=True)
class State:
    """Where a worker stands."""

    number: int
    #: The machine that it is on, and where its node and the other two parties' workers call it.
    machine: str
    address: str
    #: Its process, unless that has ended.
    pid: int | None
    #: How often the process was started again since its actor began.
    restarts: int
    #: What is wrong with it.
    why: str | None


def ends(node: str) -> tuple[bool, str, int]:
    """Of a node's operations address: whether it speaks TLS, its host and its port."""
    try:
        parts = urlsplit(node)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port and parts.path in ("", "/"):
            return parts.scheme == "https", parts.hostname, parts.port
    except ValueError:
        # A port, or an address of IPv6, that is none.
        pass
    raise ValueError(
        f"{node!r} is no operations address of a node: it is like http://127.0.0.1:7420 on the node's machine, or "
        "https://node.a.example:7420 from elsewhere"
    )


class _Line:
    """A connection that another thread can cut: whatever waits for its other end then ends. The timeout of a socket is
    for each operation, and somebody who sends a byte now and then never exceeds it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # A descriptor of its own, because TLS takes that of the socket, and a number that was closed is soon another's.
        self._twin: socket.socket | None = None
        self.is_cut = False

    def hold(self, made: socket.socket) -> None:
        """Cuts this socket, too, from now on."""
        self.close()
        with self._lock:
            if self.is_cut:
                raise TimeoutError("cut")
            self._twin = made.dup()

    def cut(self) -> None:
        """Ends what waits, and whatever is held later."""
        with self._lock:
            self.is_cut = True
            if self._twin is not None:
                # There may be no connection yet, or none any more.
                with contextlib.suppress(OSError):
                    self._twin.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Lets go of the socket."""
        with self._lock:
            if self._twin is not None:
                self._twin.close()
                self._twin = None


class Worker:
    """Keeps one worker's process going.

    One thread looks at the process and another one tells the node, so that nothing that the other end of a connection
    does, or fails to do, keeps the process from being started again.
    """

    def __init__(self, number: int, node: str, cpus: int, folder: str, program: str, host: str) -> None:
        self._number, self._cpus, self._program = number, cpus, program
        self._tls, self._node, self._port = ends(node)
        self._own = Path(folder) / f"worker-{number}"
        told = self._read(self._own / "worker.toml")
        self._pins: list[str] = told.get("node", [])
        port = str(told.get("listen", "")).rpartition(":")[2]
        if not port.isdigit() or int(port) == 0:
            raise InputError(f"{self._own / 'worker.toml'}: `listen` names no port: give it one, as in 0.0.0.0:7430")
        self._address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._restarts = 0
        # What is wrong with the process, and with telling the node.
        self._fault: str | None = None
        self._untold: str | None = "its node has not been told yet"
        self._ended = threading.Event()
        self._line = _Line()
        self._process = self._start()
        self._keeper = threading.Thread(target=self._keep, name="slvr worker", daemon=True)
        self._teller = threading.Thread(target=self._tell, name="slvr worker's address", daemon=True)
        self._keeper.start()
        self._teller.start()

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            with path.open("rb") as file:
                return tomllib.load(file)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{path} on {socket.gethostname()} cannot be read: {error}. A worker's folder, as "
                "`slvrc keys --workers` makes it, has to be on the machine on which the worker is started"
            ) from error

    def _start(self) -> subprocess.Popen[bytes]:
        # What the cluster has in its variables is nothing of a worker's, its token in particular.
        env = {"PATH": os.environ.get("PATH", os.defpath), "RAYON_NUM_THREADS": str(self._cpus)}
        log = os.open(self._own / "worker.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            # It ends with this process, however that ends: nobody else has the other end of its input.
            return subprocess.Popen(
                [self._program, "worker", "--until-input-ends", "--config", self._own / "worker.toml"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=env,
            )
        except OSError as error:
            raise InputError(
                f"{self._program} on {socket.gethostname()} cannot be started: {error}. Install slvrc there, or give "
                "its path as `program`"
            ) from error
        finally:
            os.close(log)

    def _keep(self) -> None:
        """Starts the process again whenever it has ended."""
        while not self._ended.wait(EVERY):
            try:
                status = self._process.poll()
                if status is not None:
                    self._process = self._start()
                    self._restarts += 1
                self._fault = (
                    None if status is None else f"it ended with status {status}: see {self._own / 'worker.log'}"
                )
            except (OSError, InputError) as error:
                self._fault = str(error)

    def _tell(self) -> None:
        """Tells the node again and again where the worker is."""
        while True:
            line = self._line = _Line()
            if self._ended.is_set():
                return
            timer = threading.Timer(WITHIN, line.cut)
            timer.daemon = True
            timer.start()
            try:
                self._tell_once(line)
                self._untold = None
            except (OSError, http.client.HTTPException, ValueError, InputError) as error:
                late = f"{self._node}:{self._port} does not answer within {WITHIN:g} s: is it the node's `operations`?"
                self._untold = late if line.is_cut else str(error)
            finally:
                timer.cancel()
                line.close()
            if self._ended.wait(EVERY):
                return

    def _connect(self, line: _Line) -> socket.socket:
        """A connection with whoever listens at the node's address."""
        wrong = OSError("no address")
        for family, kind, protocol, _, at in socket.getaddrinfo(self._node, self._port, type=socket.SOCK_STREAM):
            made = socket.socket(family, kind, protocol)
            try:
                line.hold(made)
                made.settimeout(WITHIN)
                made.connect(at)
                return made
            except OSError as error:
                made.close()
                wrong = error
        raise wrong

    def _secure(self, made: socket.socket) -> socket.socket:
        """The same over TLS, with the node and nobody else at the other end."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # A node's certificate is known by its hash, whoever has signed it and whatever it is called.
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(self._own / "worker.crt", self._own / "worker.key")
        secure = context.wrap_socket(made, server_hostname=self._node)
        shown = hashlib.sha256(secure.getpeercert(binary_form=True) or b"").hexdigest()
        if shown not in self._pins:
            secure.close()
            raise InputError(f"{self._node}:{self._port} shows another certificate than `node` in worker.toml")
        return secure

    def _tell_once(self, line: _Line) -> None:
        """Tells the node where the worker is."""
        asked = http.client.HTTPConnection(self._node, self._port)
        with self._connect(line) as made, contextlib.closing(asked):
            asked.sock = self._secure(made) if self._tls else made
            body = json.dumps({"number": self._number, "address": self._address})
            asked.request("POST", "/workers", body, {"Content-Type": "application/json"})
            with asked.getresponse() as answer:
                said = answer.read(4096).decode(errors="replace")
        if line.is_cut:
            # What came until then looks like all of it.
            raise TimeoutError("cut")
        if answer.status != 200:
            raise InputError(f"the node at {self._node}:{self._port} answers {answer.status}: {said}")

    def state(self) -> State:
        """Where it stands now."""
        process = self._process
        pid = process.pid if process.poll() is None else None
        why = "; ".join(wrong for wrong in (self._fault, self._untold) if wrong) or None
        return State(self._number, socket.gethostname(), self._address, pid, self._restarts, why)

    def stop(self) -> None:
        """Ends the process."""
        self._ended.set()
        self._line.cut()
        self._keeper.join()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # What looks up a name cannot be cut; it tells nothing afterwards.
        self._teller.join(WITHIN)
