"""Whether a Ray cluster asks for its token. Ray is called as a program for it, so this needs no Ray itself."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

from ._slvr import InputError

#: Seconds that Ray has for an answer. It gives up itself after about 40 if a cluster says nothing.
WITHIN = 90.0

#: What Ray ends with if the cluster does not take a token, from 2.52 on.
REFUSED = re.compile(r"^ray\.exceptions\.AuthenticationError: .*Authentication token is missing or incorrect", re.M)

#: `ray status`, with the folder that Ray is in as its first argument.
STATUS = "import sys; sys.path.append(sys.argv.pop(1)); from ray.scripts.scripts import main; main()"

#: Variables of files, which Ray looks for in its working directory.
FILES = ("RAY_AUTH_TOKEN_PATH", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")


class Seen(NamedTuple):
    """How Ray ended, with what it had written."""

    #: Nothing if it did not end in time.
    status: int | None
    said: str

    def __str__(self) -> str:
        if self.status is None:
            return f"Ray does not end within {WITHIN:g} s"
        lines = self.said.split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
        return f"Ray ends with status {self.status} and says: {last[:200].rstrip('. ')}"


def wrong_with_stranger(cluster: str, seen: Seen) -> str | None:
    """What is wrong with a cluster, by what somebody sees who has made up a token."""
    if seen.status == 0:
        return f"the Ray cluster at {cluster} takes any token: start all of it with RAY_AUTH_MODE=token"
    # Ray fails for many reasons, and only one of them is that the cluster asks for its token.
    if seen.status is not None and REFUSED.search(seen.said):
        return None
    return (
        f"it cannot be found out whether the Ray cluster at {cluster} asks for a token. With a wrong one, {seen}. See "
        f"whether `ray status --address {cluster}` answers here, and start all of it with RAY_AUTH_MODE=token"
    )


def wrong_with_user(cluster: str, seen: Seen) -> str | None:
    """What is wrong with a cluster, by what its user sees."""
    if seen.status == 0:
        return None
    return (
        f"the Ray cluster at {cluster} does not answer with the token of this process: {seen}. Set RAY_AUTH_TOKEN_PATH "
        f"as for each `ray start`, and see whether `ray status --address {cluster}` answers here"
    )


def ask(cluster: str, folder: str, env: Mapping[str, str]) -> Seen:
    """Has Ray, which is in this folder, ask the cluster how it is."""
    env = {name: os.path.abspath(value) if name in FILES and value else value for name, value in env.items()}
    # It imports nothing from where this process happens to be.
    words = [sys.executable, "-I", "-c", STATUS, folder, "status", "--address", cluster]
    with tempfile.TemporaryDirectory() as empty:
        try:
            done = subprocess.run(
                words,
                cwd=empty,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=WITHIN,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Seen(None, "")
    return Seen(done.returncode, done.stdout)


def refuse_strangers(cluster: str, folder: str) -> None:
    """Raises unless the cluster refuses somebody who does not know its token, and only them."""
    own = {**os.environ, "RAY_AUTH_MODE": "token"}
    others = {name: value for name, value in own.items() if name != "RAY_AUTH_TOKEN_PATH"}
    others["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    for env, wrong in ((others, wrong_with_stranger), (own, wrong_with_user)):
        if why := wrong(cluster, ask(cluster, folder, env)):
            raise InputError(why)
