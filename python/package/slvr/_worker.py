"""A worker's process: started, started again when it ends, and its address told to the node. The actors of
:mod:`slvr.ray` are of this class, which needs no Ray itself."""

from __future__ import annotations

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


class Worker:
    """Keeps one worker's process going."""

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
        self._why: str | None = "its node has not been told yet"
        self._ended = threading.Event()
        self._process = self._start()
        self._thread = threading.Thread(target=self._keep, name="slvr worker", daemon=True)
        self._thread.start()

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(path.read_text())
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
        while True:
            try:
                status = self._process.poll()
                if status is not None:
                    self._process = self._start()
                    self._restarts += 1
                self._tell()
                self._why = None if status is None else f"it ended with status {status}: see {self._own / 'worker.log'}"
            except (OSError, http.client.HTTPException, InputError) as error:
                self._why = str(error)
            if self._ended.wait(EVERY):
                return

    def _tell(self) -> None:
        """Tells the node where the worker is."""
        line: http.client.HTTPConnection
        if self._tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            # A node's certificate is known by its hash, whoever has signed it and whatever it is called.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.load_cert_chain(self._own / "worker.crt", self._own / "worker.key")
            line = http.client.HTTPSConnection(self._node, self._port, timeout=10, context=context)
        else:
            line = http.client.HTTPConnection(self._node, self._port, timeout=10)
        try:
            line.connect()
            if isinstance(line.sock, ssl.SSLSocket):
                shown = hashlib.sha256(line.sock.getpeercert(binary_form=True) or b"").hexdigest()
                if shown not in self._pins:
                    raise InputError(f"{self._node}:{self._port} shows another certificate than `node` in worker.toml")
            body = json.dumps({"number": self._number, "address": self._address})
            line.request("POST", "/workers", body, {"Content-Type": "application/json"})
            answer = line.getresponse()
            said = answer.read(4096).decode(errors="replace")
            if answer.status != 200:
                raise InputError(f"the node at {self._node}:{self._port} answers {answer.status}: {said}")
        finally:
            line.close()

    def state(self) -> State:
        """Where it stands now."""
        pid = self._process.pid if self._process.poll() is None else None
        return State(self._number, socket.gethostname(), self._address, pid, self._restarts, self._why)

    def stop(self) -> None:
        """Ends the process."""
        self._ended.set()
        self._thread.join()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
