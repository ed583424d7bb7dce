"""Checks: built, explained, evaluated, certified and run."""

from __future__ import annotations

import functools
import json
import operator
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from . import _arrays, _slvr
from ._arrays import Inputs

Revealed = npt.NDArray[np.float64] | dict[str, npt.NDArray[np.float64]]
OnInvalid = Literal["exclude", "zeros", "raise"]
Security = Literal["semi-honest", "malicious"]
T = TypeVar("T")

if hasattr(os, "register_at_fork"):
    # A child has none of the threads that compute: a run in it says so instead of waiting for them.
    os.register_at_fork(after_in_child=_slvr.forked)


async def in_thread(call: Callable[[], T]) -> T:
    """Does it on another thread; the call itself releases the interpreter."""
    # Whoever awaits has it; others need not wait for it when they import this package.
    import asyncio

    return await asyncio.to_thread(call)


def _seed(seed: int) -> int:
    whole = operator.index(seed)
    if not 0 <= whole < 2**64:
        raise ValueError("seed is a number of 64 bits, 0 or more")
    return whole


def _bound(value: Any, texts: dict[str, str]) -> str:
    """What a size or a parameter is bound to, as on the command line."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    text, name = getattr(value, "text", None), getattr(value, "name", None)
    if isinstance(text, str) and isinstance(name, str):
        # A model: its text stands in the place of a file.
        file = f"{name}.slvr"
        if texts.setdefault(file, text) != text:
            raise _slvr.InputError(f"two models are called {name}")
        return f"{file}:{name}"
    # A float64 of NumPy is a float, whose own `repr` names its type.
    return repr(float(value)) if isinstance(value, float) else str(value)


def _merged(bind: Mapping[str, Any] | None, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """What is bound; `lambda_` stands for a word of Python."""
    out = dict(bind or {})
    for name, value in sizes.items():
        name = "lambda" if name == "lambda_" else name
        if name in out:
            raise ValueError(f"`{name}` is bound twice")
        out[name] = value
    return out


@dataclass(frozen=True)
class Input:
    """An input of a check."""

    name: str
    #: The party set whose members give it; ``None`` of a public one.
    giver: str | None
    shape: tuple[int, ...]
    #: Of a record its fields, by name.
    fields: dict[str, tuple[int, ...]]
    #: ``"fix"`` for real numbers, ``"int"`` for whole ones.
    kind: str
    #: The declared range; the end of whole numbers is excluded.
    range: tuple[float, float]


@dataclass(frozen=True)
class Output:
    """What a check reveals."""

    name: str
    #: The party set whose members get it.
    receiver: str
    shape: tuple[int, ...]
    #: Of a record its fields, by name.
    fields: dict[str, tuple[int, ...]]


def _shapes(fields: list[dict[str, Any]]) -> dict[str, tuple[int, ...]]:
    return {f["name"]: tuple(f["shape"]) for f in fields}


@dataclass(frozen=True)
class MadeOf:
    """What a check is made of: a program with what is bound in it, or a circuit."""

    file: str
    texts: dict[str, str] = field(default_factory=dict)
    bindings: list[tuple[str, str]] = field(default_factory=list)
    predicate: str | None = None
    security: Security | None = None
    memory: str | None = None
    net: str | None = None
    artifact: bytes | None = None


class Result(Mapping[str, Revealed]):
    """What a check reveals: arrays by name, and of a record a dict of its fields. ``report`` says the rest."""

    def __init__(self, revealed: dict[str, Revealed], report: str) -> None:
        self._revealed = revealed
        #: Rounds, bytes, seconds, the certificate, whose inputs did not count and why.
        self.report: dict[str, Any] = json.loads(report)

    def __getitem__(self, name: str) -> Revealed:
        return self._revealed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._revealed)

    def __len__(self) -> int:
        return len(self._revealed)

    def __repr__(self) -> str:
        def shape(value: Revealed) -> str:
            if isinstance(value, dict):
                return "{" + ", ".join(f"{name}: {list(a.shape)}" for name, a in value.items()) + "}"
            return str(list(value.shape))

        return "Result(" + ", ".join(f"{name}: {shape(v)}" for name, v in self.items()) + ")"

    @property
    def excluded(self) -> list[tuple[str, int, str]]:
        """Who was left out: the party set, the place in its list, and why."""
        return self._who("excluded")

    @property
    def replaced(self) -> list[tuple[str, int, str]]:
        """In whose place zeros stood: the party set, the member, and why."""
        return self._who("replaced")

    def _who(self, what: str) -> list[tuple[str, int, str]]:
        # What was wrong with arrays is known here; the parties know only that there are none.
        unusable = [(e["set"], e["member"], e["why"]) for e in self.report.get("unusable", [])]
        known = {(name, i): why.removeprefix(f"{name} {i}: ") for name, i, why in unusable}
        found = [(e["set"], e["member"], e["why"]) for e in self.report.get(what, [])]
        return [(name, i, known.get((name, i), why) if why == "missing" else why) for name, i, why in found]


class Explanation:
    """What a check costs, proves and leaks. A notebook shows it as a page with charts."""

    def __init__(self, text: str, json_text: str, page: str) -> None:
        self._text = text
        #: As ``slvrc explain --json`` prints it.
        self.json: dict[str, Any] = json.loads(json_text)
        #: One HTML page that needs no other file.
        self.html = page

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        import html

        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" sandbox="" style="width: 100%; height: 40em; border: 0"></iframe>'


class Certificate:
    """What is proven for given inputs."""

    def __init__(self, text: str, json_text: str) -> None:
        self._text = text
        #: As ``slvrc certify --json`` prints it.
        self.json: dict[str, Any] = json.loads(json_text)

    def __str__(self) -> str:
        return self._text


class Check:
    """A ``.slvr`` program with its sizes bound, and its circuit. Make one by :meth:`from_file`, :meth:`from_source` or
    :meth:`from_artifact`. It pickles as what it was made of."""

    def __init__(self, made_of: MadeOf) -> None:
        self._program = _slvr.Program(made_of)
        # What was read is kept: whatever becomes of the files, this is the program.
        self._made_of = replace(made_of, texts=self._program.texts())
        self._about: dict[str, Any] = json.loads(self._program.about())

    @classmethod
    def _build(
        cls,
        file: str,
        texts: dict[str, str],
        bind: Mapping[str, Any],
        predicate: str | None,
        security: Security | None,
        memory: int | str | None,
        net: str | None,
    ) -> Check:
        if security not in (None, "semi-honest", "malicious"):
            raise ValueError(f'security is "semi-honest" or "malicious", not {security!r}')
        made_of = MadeOf(
            file=file,
            texts=texts,
            bindings=[(name, _bound(value, texts)) for name, value in bind.items()],
            predicate=predicate,
            security=security,
            memory=None if memory is None else str(memory).strip(),
            net=None if net is None else os.fspath(net),
        )
        return cls(made_of)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        bind: Mapping[str, Any] | None = None,
        predicate: str | None = None,
        security: Security | None = None,
        memory: int | str | None = None,
        net: str | None = None,
        files: Mapping[str, str] | None = None,
        **sizes: Any,
    ) -> Check:
        """Builds a ``.slvr`` file, or a predicate that comes with SLVR by its name, such as ``"norm_bound"``.

        Sizes, models and parameters are keywords, ``m=10, M="LeNet5"``, or stand in ``bind`` where Python or this call
        has their name (``lambda_`` is ``lambda``). A model may be a name, ``"path/to/file.slvr:Name"``, or an object
        with ``name`` and ``text``. ``files`` has texts in the place of files
        of models. ``security``, ``memory`` (bytes, or a text such as ``"8GiB"``) and ``net`` are the options of
        ``slvrc build``. Raises :class:`CompileError`.
        """
        bound = _merged(bind, sizes)
        return cls._build(os.fspath(path), dict(files or {}), bound, predicate, security, memory, net)

    @classmethod
    def from_source(
        cls,
        text: str,
        *,
        name: str = "check.slvr",
        bind: Mapping[str, Any] | None = None,
        predicate: str | None = None,
        security: Security | None = None,
        memory: int | str | None = None,
        net: str | None = None,
        files: Mapping[str, str] | None = None,
        **sizes: Any,
    ) -> Check:
        """Builds the text of a program; the rest is as in :meth:`from_file`."""
        bound = _merged(bind, sizes)
        return cls._build(name, {**(files or {}), name: text}, bound, predicate, security, memory, net)

    @classmethod
    def from_artifact(cls, data: bytes | bytearray | memoryview | str | os.PathLike[str]) -> Check:
        """Takes a circuit that ``slvrc build`` or :meth:`artifact` has made: its bytes, or a path. It is for all its
        members: whoever is missing is replaced by zeros."""
        if isinstance(data, bytes | bytearray | memoryview):
            data = bytes(data)
        else:
            with open(data, "rb") as file:
                data = file.read()
        return cls(MadeOf(file="artifact.slvrb", artifact=data))

    def __reduce__(self) -> tuple[type[Check], tuple[MadeOf]]:
        return type(self), (self._made_of,)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self._about["sizes"].items())
        return f"Check({self.name}: {sizes})"

    @property
    def name(self) -> str:
        """The predicate."""
        return str(self._about["name"])

    @property
    def hash(self) -> str:
        """The hash of the circuit, which the parties compare before they start."""
        return str(self._about["hash"])

    @property
    def security(self) -> str:
        """What one of the three parties may do: ``"semi-honest"`` or ``"malicious"``."""
        return str(self._about["security"])

    @property
    def sizes(self) -> dict[str, str]:
        """What sizes, models and parameters are bound to."""
        return dict(self._about["sizes"])

    @property
    def parties(self) -> dict[str, int]:
        """The party sets, with the number of their members."""
        return {p["name"]: p["size"] for p in self._about["parties"]}

    @property
    def inputs(self) -> list[Input]:
        """What is given, in the order of the program."""
        return [
            Input(
                name=i["name"],
                giver=i["from"],
                shape=tuple(i["shape"]),
                fields=_shapes(i["fields"]),
                kind=i["kind"],
                range=(i["range"][0], i["range"][1]),
            )
            for i in self._about["inputs"]
        ]

    @property
    def has_states(self) -> bool:
        """Whether it keeps something from round to round. In :meth:`run` and :meth:`eval` it begins anew."""
        return bool(self._about["has_states"])

    @property
    def outputs(self) -> list[Output]:
        """What is revealed, and to whom."""
        return [
            Output(name=o["name"], receiver=o["to"], shape=tuple(o["shape"]), fields=_shapes(o["fields"]))
            for o in self._about["outputs"]
        ]

    @property
    def rounds(self) -> int:
        """Rounds of a run in which all clients pass the checks of their ranges."""
        return int(self._about["rounds"])

    @property
    def bytes_sent(self) -> tuple[int, int, int]:
        """Bytes that each party sends in such a run."""
        a, b, c = self._about["bytes_sent"]
        return int(a), int(b), int(c)

    @property
    def peak_memory(self) -> tuple[int, int, int]:
        """Bytes of values that each party holds at most."""
        a, b, c = self._about["peak_memory"]
        return int(a), int(b), int(c)

    def artifact(self) -> bytes:
        """The compiled circuit, as ``slvrc build`` writes it."""
        return self._program.artifact()

    def explain(self, net: str | None = None) -> Explanation:
        """What it costs, proves and leaks; ``net`` is ``"lan"``, ``"wan"``, ``"loopback"`` or a TOML file."""
        return Explanation(*self._program.explain(net))

    def eval(
        self,
        inputs: Inputs,
        *,
        exact: bool = False,
        coins: list[str] | None = None,
        seed: int = 0,
        on_invalid: OnInvalid = "exclude",
    ) -> Result:
        """Evaluates in the clear: in floating point, or with ``exact`` in the arithmetic of the circuit. ``coins`` are
        those of a run (``report["coins"]``); without them those that ``run(seed=seed)`` draws."""
        public, sets = _arrays.inputs(inputs)
        return Result(*self._program.eval(public, sets, exact, coins or [], _seed(seed), on_invalid))

    def certify(
        self,
        inputs: Inputs,
        *,
        coins: list[str] | None = None,
        seed: int = 0,
        confidence: float = 0.99,
    ) -> Certificate:
        """What is proven of runs on these inputs: which decisions they take as floating point does."""
        if not 0 < confidence < 1:
            raise ValueError("confidence is between 0 and 1")
        public, sets = _arrays.inputs(inputs)
        return Certificate(*self._program.certify(public, sets, coins or [], _seed(seed), confidence))

    def run(
        self,
        inputs: Inputs,
        *,
        seed: int | None = None,
        deadline: float = 600.0,
        progress: Callable[[int, int], object] | None = None,
        on_invalid: OnInvalid = "exclude",
    ) -> Result:
        """Runs three parties as threads of this process.

        ``inputs`` has public arrays under ``"public"`` and for each party set a list with a mapping for each member, or
        ``None`` for one that gives nothing. Clients whose inputs cannot be used are left out, as if they had never been
        there; with ``on_invalid="zeros"`` zeros stand in for their inputs, and with ``"raise"`` there is no result.
        ``progress`` is called with the layers that are done and all of them; what it raises ends the run, as Ctrl-C
        does. ``seed`` makes all randomness predictable: for tests only. Arrays are read while the call holds the
        interpreter; whoever writes them from another thread at that time gets one or the other value.

        Raises :class:`InputError`, :class:`AbortError`, and :class:`MemoryError` where it does not fit the machine.
        """
        public, sets = _arrays.inputs(inputs)
        seed = None if seed is None else _seed(seed)
        return Result(*self._program.run(public, sets, seed, deadline, progress, on_invalid))

    async def arun(
        self, inputs: Inputs, *, progress: Callable[[int, int], object] | None = None, **options: Any
    ) -> Result:
        """:meth:`run` on another thread, for ``await``. Whoever cancels it ends the run."""
        cancelled: list[bool] = []

        def watched(done: int, layers: int) -> None:
            if cancelled:
                raise _slvr.AbortError("the run was cancelled")
            if progress is not None:
                progress(done, layers)

        try:
            return await in_thread(functools.partial(self.run, inputs, progress=watched, **options))
        except BaseException:
            cancelled.append(True)
            raise
