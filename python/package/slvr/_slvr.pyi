"""The extension module. Use the package instead."""

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ._check import MadeOf

Array = npt.NDArray[np.float64]
Given = dict[str, npt.NDArray[np.generic]]
Revealed = dict[str, Array | dict[str, Array]]

__version__: str

class SlvrError(Exception): ...

class CompileError(SlvrError):
    diagnostics: list[dict[str, Any]]

class InputError(SlvrError): ...
class AbortError(SlvrError): ...
class NodeError(SlvrError): ...
class InternalError(SlvrError): ...

def forked() -> None: ...

class Program:
    def __init__(self, made_of: MadeOf) -> None: ...
    def about(self) -> str: ...
    def texts(self) -> dict[str, str]: ...
    def artifact(self) -> bytes: ...
    def explain(self, net: str | None) -> tuple[str, str, str]: ...
    def eval(
        self,
        public: Given,
        sets: dict[str, list[Given | str | None]],
        exact: bool,
        coins: list[str],
        seed: int,
        on_invalid: str,
    ) -> tuple[Revealed, str]: ...
    def certify(
        self,
        public: Given,
        sets: dict[str, list[Given | str | None]],
        coins: list[str],
        seed: int,
        confidence: float,
    ) -> tuple[str, str]: ...
    def run(
        self,
        public: Given,
        sets: dict[str, list[Given | str | None]],
        seed: int | None,
        deadline: float,
        progress: Callable[[int, int], object] | None,
        on_invalid: str,
    ) -> tuple[Revealed, str]: ...

class Nodes:
    def __init__(self, config: str | PathLike[str]) -> None: ...
    @property
    def name(self) -> str: ...
    def circuit_hash(self, task: str, patience: float) -> str: ...
    def submit(
        self,
        task: str,
        round: int,
        inputs: Given,
        expect_hash: str | None,
        expect_context: bytes | None,
        patience: float,
    ) -> str: ...
    def fetch(self, task: str, round: int, keep: bool, patience: float) -> tuple[Revealed, str]: ...
    def open(
        self,
        task: str,
        round: int,
        public: Given,
        seconds: int,
        grace: int,
        minimum: int | None,
        context: bytes | None,
        patience: float,
    ) -> str: ...
    def statuses(self, task: str, round: int) -> str: ...
    def standing(self, task: str, round: int) -> tuple[str, bool]: ...
    def close(self, task: str, round: int) -> str: ...
    def abort(self, task: str, round: int) -> None: ...
    def collect(self, task: str, round: int, keep: bool, patience: float) -> tuple[Revealed, str]: ...
    def drop(self, task: str, round: int) -> None: ...
