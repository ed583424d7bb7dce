"""Bad inputs have a class and a text; Ctrl-C, forks, threads and callbacks."""

from __future__ import annotations

import _thread
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from conftest import random_inputs

import slvr

TEXT = """use std::{sum};

predicate P[d, m]() {
    parties Client[m];
    parties Server;

    input bound: public fix in 0..4;
    input x: secret fix[d] in -8..8 from each Client;
    input label: secret int[2] in 0..9 from each Client;
    input on: secret bit from each Client;

    reveal sum(x) * bound to Server as total;
    reveal sum(label) to Server as labels;
    reveal sum(on) to Server as count;
}
"""


@pytest.fixture(scope="module")
def check() -> slvr.Check:
    return slvr.Check.from_source(TEXT, d=3, m=3)


def good() -> dict[str, Any]:
    member = {"x": np.ones(3), "label": np.array([1, 2]), "on": 1}
    return {"public": {"bound": 1.0}, "Client": [dict(member) for _ in range(3)]}


def changed(**client: Any) -> Callable[[], dict[str, Any]]:
    """Inputs with other arrays of client 1, or without those that are `None`."""

    def make() -> dict[str, Any]:
        inputs = good()
        member = {**inputs["Client"][1], **client}
        inputs["Client"][1] = {name: value for name, value in member.items() if value is not None}
        return inputs

    return make


def inputs_of(**parts: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {name: value for name, value in {**good(), **parts}.items() if value is not None}


#: What is wrong with the inputs of client 1, and what is said of it.
CLIENTS: list[tuple[Callable[[], dict[str, Any]], str]] = [
    (changed(x=np.ones(4)), "tensor `x`: has shape [4], the circuit expects [3]"),
    (changed(x=np.ones((3, 1))), "has shape [3, 1], the circuit expects [3]"),
    (changed(x=np.ones(0)), "has shape [0], the circuit expects [3]"),
    (changed(x=1.0), "has shape [], the circuit expects [3]"),
    (changed(x=np.array([1, 2, 3])), "the circuit expects real numbers: F32, F64, F16 or BF16"),
    (changed(x=np.ones(3, bool)), "the circuit expects real numbers"),
    (changed(x=np.ones(3, complex)), "has elements of type complex128, the circuit expects real numbers"),
    (changed(x=np.array(["a", "b", "c"])), "has elements of type <U1, the circuit expects real numbers"),
    (changed(x=np.array([1.0, np.nan, 1.0])), "the element at [1] is not a finite number"),
    (changed(x=np.array([1.0, 1.0, -np.inf])), "the element at [2] is not a finite number"),
    (changed(x=np.array([9.0, 1.0, 1.0])), "the element at [0] is outside the allowed range -8..8"),
    (changed(x=np.array([1e300, 1.0, 1.0])), "outside the allowed range -8..8"),
    (changed(x=None), "tensor `x`: missing, the circuit expects real numbers of shape [3]"),
    (changed(x=None, X=np.ones(3)), "the file has `X`: is it that?"),
    (changed(label=np.array([1.0, 2.0])), "the circuit expects integers: I64 or another integer type"),
    (changed(label=np.array([1, 9])), "the element at [1] is outside the allowed range 0..9, 9 excluded"),
    (changed(label=np.array([-1, 2])), "the element at [0] is outside the allowed range 0..9, 9 excluded"),
    (changed(label=np.array([True, False])), "the circuit expects integers: I64 or another integer type"),
    (changed(label=None), "tensor `label`: missing, the circuit expects integers of shape [2]"),
    (changed(on=2), "the value is outside the allowed range 0..2, 2 excluded"),
    (changed(on=0.5), "the circuit expects integers: BOOL or an integer type"),
    (changed(on=np.array([0, 1])), "has shape [2], the circuit expects []"),
    (
        lambda: {**good(), "Client": [good()["Client"][0], None, good()["Client"][2]]},
        "nothing is given",
    ),
    (lambda: {**good(), "Client": [good()["Client"][0], 5, good()["Client"][2]]}, "a mapping of arrays"),
    (changed(x=np.array([1.0, None, 2.0])), "`x` is no array of numbers"),
    (changed(x=[[1], [1, 2]]), "`x` is no array"),
    (changed(x=np.ma.array(np.ones(3), mask=[0, 1, 0])), "`x` has masked entries"),
    (changed(label=np.array([2**63, 1], np.uint64)), "`label` has integers of 64 bits without a sign"),
]

#: What is wrong with all inputs.
RUNS: list[tuple[Callable[[], Any], str]] = [
    (inputs_of(public=None), "public: tensor `bound`: missing"),
    (inputs_of(public={"bound": 5.0}), "tensor `bound`: the value is outside the allowed range 0..4"),
    (inputs_of(public={"bound": np.nan}), "tensor `bound`: the value is not a finite number"),
    (inputs_of(public={"bound": 1}), "the circuit expects real numbers"),
    (inputs_of(public=[1.0]), "public: a mapping of arrays by name is expected, not list"),
    (inputs_of(Client=None), "nothing is given for `Client`, a party set of 3 members"),
    (inputs_of(Client=[]), "`Client` has 3 members, and 0 are given"),
    (inputs_of(Client=good()["Client"][:2]), "`Client` has 3 members, and 2 are given"),
    (inputs_of(Client=good()["Client"] * 2), "`Client` has 3 members, and 6 are given"),
    (inputs_of(Client=[None, None, None]), "Client 0: nothing is given"),
    (inputs_of(Client=[1, 2, 3]), "Client 0: a mapping of arrays by name is expected, not int"),
    (inputs_of(Client="abc"), "`Client`: a list with a mapping, or None, for each member is expected"),
    (inputs_of(Clint=[{}]), "`P` has no party set `Clint`; did you mean `Client`?"),
    (inputs_of(Client=[{1: np.ones(3)}] * 3), "Client 0: 1 is no name of a tensor"),
    (inputs_of(Client=[{"x": object()}] * 3), "`x` is no array of numbers"),
    (inputs_of(Client=[{"x": [[1], [1, 2]]}] * 3), "`x` is no array"),
    (inputs_of(Client=[{"x": np.ma.array(np.ones(3), mask=[0, 1, 0])}] * 3), "`x` has masked entries"),
    (inputs_of(Client=[{"x": {"a": 1.0}, "x.a": 1.0}] * 3), "Client 0: `x.a` is given twice"),
    (
        inputs_of(Client=[{"label": np.array([2**63, 1], np.uint64)}] * 3),
        "`label` has integers of 64 bits without a sign",
    ),
    (lambda: [1, 2], "inputs are a mapping"),
]


@pytest.mark.parametrize("case", range(len(CLIENTS)))
def test_a_client_that_cannot_be_used(check: slvr.Check, case: int, caplog: pytest.LogCaptureFixture) -> None:
    make, text = CLIENTS[case]
    with pytest.raises(slvr.InputError) as raised:
        check.run(make(), on_invalid="raise")
    assert text in str(raised.value)
    # By default it is as if it had never been there, and the log says why.
    with caplog.at_level(logging.INFO, "slvr"):
        result = check.run(make())
    [(name, member, why)] = result.excluded
    assert (name, member) == ("Client", 1) and text in why
    assert np.allclose(result["total"], 2) and np.array_equal(result["labels"], [2, 4]) and result["count"] == 2
    assert any(text in record.getMessage() for record in caplog.records)
    replaced = check.run(make(), on_invalid="zeros")
    evaluated = check.eval(make(), on_invalid="zeros")
    for zeros in (replaced, evaluated):
        assert text in zeros.replaced[0][2] and np.allclose(zeros["total"], 2, atol=1e-3)


@pytest.mark.parametrize("case", range(len(RUNS)))
def test_inputs_that_cannot_be_used(check: slvr.Check, case: int) -> None:
    make, text = RUNS[case]
    for call in (check.run, check.eval):
        with pytest.raises(slvr.InputError) as raised:
            call(make())
        assert text in str(raised.value)


def test_programs_that_cannot_be_built(tmp_path: Any) -> None:
    with pytest.raises(slvr.CompileError) as refused:
        slvr.Check.from_source("predicate P() { }")
    assert "E0020" in str(refused.value) and refused.value.diagnostics[0]["line"] == 1
    for call, text in [
        (lambda: slvr.Check.from_file("norm_bund", m=3), "did you mean `norm_bound`?"),
        (lambda: slvr.Check.from_file(tmp_path / "none.slvr"), "no such file"),
        (
            lambda: slvr.Check.from_file("norm_bound", m=3, M="LeNet5", net="mars"),
            "`mars` is not loopback, lan, wan",
        ),
        (lambda: slvr.Check.from_artifact(b"nothing"), "artifact.slvrb: "),
        (
            lambda: slvr.Check.from_artifact(slvr.Check.from_source(TEXT, d=3, m=3).artifact()[:-9]),
            "artifact.slvrb: ",
        ),
        (lambda: slvr.Client(tmp_path / "client.toml"), "client.toml"),
    ]:
        with pytest.raises(slvr.InputError) as raised:
            call()
        assert text in str(raised.value)
    with pytest.raises(slvr.CompileError, match="m"):
        slvr.Check.from_file("norm_bound", M="LeNet5")
    with pytest.raises(FileNotFoundError):
        slvr.Check.from_artifact(tmp_path / "none.slvrb")
    with pytest.raises(ValueError, match="semi-honest"):
        slvr.Check.from_file("norm_bound", m=3, security="honest")  # type: ignore[arg-type]
    for memory in ("much", -1, 1e30, "99999999999GiB", 0):
        with pytest.raises(ValueError, match="memory"):
            slvr.Check.from_file("norm_bound", m=3, memory=memory)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`m` is bound twice"):
        slvr.Check.from_file("norm_bound", m=3, bind={"m": 4})
    with pytest.raises(MemoryError, match="GB of memory"):
        big = slvr.Check.from_source(TEXT, d=10**8, m=3)
        big.run(random_inputs(slvr.Check.from_source(TEXT, d=3, m=3), 0))


def test_diagnostics_are_a_list_wherever_a_program_is_compiled() -> None:
    # Two clients are too few for what is dropped, and a run without two of four compiles the program for two.
    sizes = {"d": 2, "m": 4, "c": 1}
    check = slvr.Check.from_file("coordinate_trimmed_mean", **sizes)
    inputs = random_inputs(check, 0)
    inputs["Client"][1:3] = [None, None]
    calls: list[Callable[[], object]] = [
        lambda: slvr.Check.from_file("coordinate_trimmed_mean", **{**sizes, "m": 2}),
        lambda: check.run(inputs),
        lambda: check.eval(inputs),
        lambda: pickle.loads(pickle.dumps(check).replace(b"parties Client", b"partiez Client")),
    ]
    for call in calls:
        with pytest.raises(slvr.CompileError) as refused:
            call()
        assert refused.value.diagnostics[0]["code"] in str(refused.value)
        assert refused.value.diagnostics[0]["severity"] == "error"


def test_arguments_that_cannot_be_used(check: slvr.Check) -> None:
    wrong = [{"on_invalid": "ignore"}, {"deadline": 0}, {"deadline": float("nan")}, {"deadline": -1}]
    for options in [*wrong, {"seed": -1}, {"seed": 2**64}]:
        with pytest.raises(ValueError):
            check.run(good(), **options)
    with pytest.raises(slvr.InputError, match="--coins"):
        check.eval(good(), coins=["zz"])
    with pytest.raises(ValueError, match="confidence"):
        check.certify(good(), confidence=1)
    with pytest.raises(slvr.InputError, match="takes a program"):
        slvr.Check.from_artifact(check.artifact()).certify(good())


LONG = """
import slvr, numpy as np, time
check = slvr.Check.from_file("slvr_accuracy", M="DigitsNet", m=10, c=3, b=10, security="malicious")
one = {i.name: np.zeros(i.shape, int) if i.kind == "int" else (
    {f: np.zeros(s) for f, s in i.fields.items()} if i.fields else np.zeros(i.shape))
    for i in check.inputs if i.giver}
public = {i.name: {f: np.zeros(s) for f, s in i.fields.items()} if i.fields else np.zeros(i.shape)
    for i in check.inputs if not i.giver}
inputs = {"public": public, "Client": [one] * 10}
"""


def test_an_interrupt_ends_a_run() -> None:
    text = LONG + (
        "import _thread, signal, threading\n"
        # Whoever runs the tests in the background may ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "begun = threading.Event()\n"
        "def stop():\n    begun.wait()\n    _thread.interrupt_main()\n"
        "threading.Thread(target=stop).start()\n"
        "try:\n    check.run(inputs, progress=lambda done, layers: begun.set())\n    print('ended')\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("interrupted"), done.stdout + done.stderr


def test_a_callback_that_raises_ends_the_run(check: slvr.Check) -> None:
    class Enough(Exception):
        pass

    def progress(done: int, of: int) -> None:
        raise Enough(f"{done} of {of}")

    big = slvr.Check.from_file("slvr_accuracy", M="DigitsNet", m=10, c=3, b=10)
    with pytest.raises(Enough):
        big.run(random_inputs(big, 1), progress=progress)
    # What follows is not hurt.
    assert np.allclose(check.run(good())["total"], 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_says_so() -> None:
    text = (
        "import os, sys, slvr, numpy as np\n"
        f"check = slvr.Check.from_source({TEXT!r}, d=3, m=1)\n"
        "one = {'x': np.ones(3), 'label': np.array([1, 2]), 'on': 1}\n"
        "inputs = {'public': {'bound': 1.0}, 'Client': [one]}\n"
        "check.run(inputs)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n        check.run(inputs)\n"
        "    except slvr.SlvrError as e:\n        os._exit(7 if 'spawn' in str(e) else 8)\n"
        "    os._exit(9)\n"
        "status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
        "check.run(inputs)\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 7, done.stderr


def test_threads_agree(check: slvr.Check) -> None:
    big = slvr.Check.from_file("norm_bound", M="DigitsNet", m=3)
    inputs = random_inputs(big, 4)
    with ThreadPoolExecutor(8) as pool:
        all_runs = list(pool.map(lambda _: big.run(inputs, seed=9), range(8)))
    first = all_runs[0]["aggregate"]
    assert isinstance(first, dict)
    for other in all_runs[1:]:
        aggregate = other["aggregate"]
        assert isinstance(aggregate, dict)
        assert all(np.array_equal(first[name], aggregate[name]) for name in first)


def test_the_interpreter_is_free_while_it_computes(check: slvr.Check) -> None:
    big = slvr.Check.from_file("slvr_accuracy", M="DigitsNet", m=10, c=3, b=10)
    inputs = random_inputs(big, 1)
    ticks, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    big.run(inputs)
    stop.set()
    thread.join()
    assert ticks[0] > 10
    assert _thread.allocate_lock() is not None
