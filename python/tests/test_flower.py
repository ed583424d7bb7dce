"""Flower: what is released, what the server sees, and how rounds with faults end."""

from __future__ import annotations

import copy
import functools
import logging
import re
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CHECKOUT, Door, deployed

flwr = pytest.importorskip("flwr", reason="flwr is not installed: pip install 'flwr==1.42.0'")

from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict  # noqa: E402
from flwr.clientapp import ClientApp  # noqa: E402

import slvr  # noqa: E402
from slvr.flower import Folder, InProcess, LocalGrid, Nodes, Refusal, SlvrStrategy, client_app, slvr_mod  # noqa: E402

PYTHON = CHECKOUT / "python"
MODEL = "Mlp[4,3,2]"
SECRET = "a secret of the client"
Weights = dict[str, np.ndarray]
Call = Callable[[Message, Context], Message]

logging.getLogger("flwr").setLevel(logging.ERROR)


@functools.cache
def norm_bound(m: int) -> slvr.Check:
    return slvr.Check.from_file("norm_bound", m=m, M=MODEL)


def initial(dtype: str = "float32") -> Weights:
    rng = np.random.default_rng(5)
    shapes = norm_bound(3).inputs[0].fields
    return {name: rng.normal(0, 0.3, shape).astype(dtype) for name, shape in shapes.items()}


def update_of(node: int, round: int, size: float = 0.1) -> Weights:
    """The update that a client makes, by its seed."""
    rng = np.random.default_rng([node, round])
    return {name: rng.normal(0, size, value.shape) for name, value in initial().items()}


def record(weights: Mapping[str, np.ndarray]) -> ArrayRecord:
    return ArrayRecord({name: Array(np.asarray(value)) for name, value in weights.items()})


def train(message: Message, context: Context) -> Message:
    """A train function as plain Flower has it."""
    old = {name: array.numpy() for name, array in message.content.array_records["arrays"].items()}
    number = message.content.config_records["config"]["server-round"]
    update = update_of(context.node_id, number)
    new = {name: (v + update[name]).astype(v.dtype) if name in update else v + 1 for name, v in old.items()}
    metrics = MetricRecord({"loss": float(context.node_id), "num-examples": 4711, "grad": [1.5, 2.5], "other": 0.25})
    return Message(RecordDict({"arrays": record(new), "m": metrics}), reply_to=message)


def app_of(function: Call, *mods: Any) -> ClientApp:
    app = ClientApp()
    app.train("slvr", mods=list(mods))(function)
    return app


def reference(updates: list[Weights], bound: float = 1.5) -> Weights:
    """What ``norm_bound`` reveals of these clients, in NumPy."""
    sizes = [np.sqrt(sum((a.astype(np.float64) ** 2).sum() for a in update.values())) for update in updates]
    median = sorted(sizes)[(len(sizes) - 1) // 2]
    kept = [update for update, size in zip(updates, sizes, strict=True) if size < bound * median]
    return {name: sum(update[name] for update in kept) / len(updates) for name in updates[0]}


class Seen(LocalGrid):
    """A grid in which some nodes are away, and which keeps all replies."""

    def __init__(self, app: Call, nodes: Any, away: Iterable[int] = (), gone: Iterable[int] = ()) -> None:
        super().__init__(app, nodes)
        self.away, self.gone = set(away), set(gone)
        self.replies: list[Message] = []
        self.asked: list[Message] = []

    def get_node_ids(self) -> Iterable[int]:
        return [node for node in super().get_node_ids() if node not in self.gone]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        self.asked += (messages := list(messages))
        found = super().send_and_receive([m for m in messages if m.metadata.dst_node_id not in self.away])
        self.replies += (found := list(found))
        return found


def bytes_of(found: Any) -> bytes:
    """All that Flower sends of a message."""
    return found.deflate() + b"".join(bytes_of(child) for child in (found.children or {}).values())


def assert_close(found: ArrayRecord, wanted: Mapping[str, np.ndarray], tolerance: float = 1e-4) -> None:
    assert set(found) == set(wanted)
    for name, array in found.items():
        assert array.numpy().dtype == wanted[name].dtype, name
        assert np.allclose(array.numpy(), wanted[name], atol=tolerance, rtol=0), name


def added(weights: Weights, step: Weights, rate: float = 1.0) -> Weights:
    return {name: (value + rate * step[name]).astype(value.dtype) for name, value in weights.items()}


def test_rounds_add_what_the_check_reveals() -> None:
    check, backend = norm_bound(4), InProcess()
    grid = Seen(app_of(train, slvr_mod(check.hash, backend)), 4)
    strategy = SlvrStrategy(check, backend, server_lr=0.5)
    found = strategy.start(grid, record(initial()), num_rounds=3)
    wanted = initial()
    for number in (1, 2, 3):
        wanted = added(wanted, reference([update_of(1000 + i, number) for i in range(4)]), 0.5)
    assert_close(found.arrays, wanted)
    assert [r.accepted for r in strategy.rounds] == [[f"node {1000 + i}" for i in range(4)]] * 3
    # The mean of the one metric that is in the list.
    assert {n: dict(m) for n, m in found.train_metrics_clientapp.items()} == {n: {"loss": 1001.5} for n in (1, 2, 3)}
    assert found.evaluate_metrics_clientapp == {}


def test_no_reply_has_an_array_a_number_of_it_or_a_count() -> None:
    check, backend = norm_bound(4), InProcess()

    def validation(message: Message, context: Context) -> dict[str, Any]:
        return {"image": np.full(3, 0.123456789), "label": [1, 2]}

    grid = Seen(app_of(train, slvr_mod(check.hash, backend, validation=validation)), 4)
    SlvrStrategy(check, backend).start(grid, record(initial()), num_rounds=2)
    assert len(grid.replies) == 8
    said = b"".join(bytes_of(reply) for reply in grid.replies)
    assert b"loss" in said
    for word in (b"num-examples", b"grad", b"other", b"array", b"image", b"label", struct.pack("<d", 0.123456789)):
        assert word not in said, word
    for node in range(1000, 1004):
        for number in (1, 2):
            for value in update_of(node, number).values():
                # The update, and what the client has made of it; in both widths.
                for x in [*value.ravel(), *value.astype(np.float32).ravel()]:
                    assert struct.pack("<d", x) not in said and struct.pack("<f", x) not in said
    for reply in grid.replies:
        assert not reply.has_error() and not reply.content.array_records
        assert set(reply.content) == {"slvr", "metrics"} and set(reply.content["metrics"]) == {"loss"}
        assert set(reply.content["slvr"]) == {"client"}


def faulty(check: slvr.Check, backend: InProcess) -> Call:
    """An app with another fault for each node from 1003 on."""

    def crash(message: Message, context: Context) -> Message:
        raise RuntimeError(SECRET)

    def poisoned(value: float) -> Call:
        def function(message: Message, context: Context) -> Message:
            reply = train(message, context)
            new = {name: array.numpy() for name, array in reply.content["arrays"].items()}
            new["fc1.bias"] = np.full_like(new["fc1.bias"], value)
            return Message(RecordDict({"arrays": record(new)}), reply_to=message)

        return function

    plain = ClientApp()
    plain.train()(train)
    mod = slvr_mod(check.hash, backend)
    apps: dict[int, Call] = {
        1003: app_of(crash, mod),
        1004: app_of(poisoned(np.nan), mod),
        1005: app_of(poisoned(1000.0), mod),
        1007: app_of(train, slvr_mod("0" * 64, backend)),
        1008: plain,
        1009: app_of(train),  # Registered, but without the mod.
        1010: app_of(train, slvr_mod(check.hash, Nodes("norm_bound"))),
    }
    honest = app_of(train, mod)
    return lambda message, context: apps.get(context.node_id, honest)(message, context)


def test_every_fault_of_a_round_is_named_and_the_round_ends() -> None:
    check, backend = norm_bound(11), InProcess()
    grid = Seen(faulty(check, backend), 11, away=[1006])
    strategy = SlvrStrategy(check, backend)
    found = strategy.start(grid, record(initial()), num_rounds=1)
    wanted = reference([update_of(1000 + i, 1) for i in range(3)])
    assert_close(found.arrays, added(initial(), wanted))
    (ended,) = strategy.rounds
    assert ended.accepted == ["node 1000", "node 1001", "node 1002"] and ended.skipped is None
    flower = "error 2 of Flower: it has no function for `train.slvr`, or it crashed"
    out_of_range = "tensor `update.fc1.bias`: the element at [0] is outside the allowed range -8..8"
    assert ended.left_out == {"node 1005": out_of_range}
    assert ended.failed == {
        1003: Refusal.TRAINING.text,
        1004: Refusal.TRAINING.text,
        1006: "no reply",
        1007: Refusal.CIRCUIT.text,
        1008: flower,
        1009: flower,
        1010: Refusal.BACKEND.text,
    }
    said = b"".join(bytes_of(reply) for reply in grid.replies)
    assert SECRET.encode() not in said and b"RuntimeError" not in said
    assert all(reply.has_error() or not reply.content.array_records for reply in grid.replies)


def test_without_anybody_a_round_is_skipped_or_raises(caplog: pytest.LogCaptureFixture) -> None:
    check, backend = norm_bound(3), InProcess()
    app = app_of(train, slvr_mod(check.hash, backend))
    strategy = SlvrStrategy(check, backend, wait=0.05)
    for grid in (Seen(app, 3, gone=range(1000, 1003)), Seen(app, 3, away=range(1000, 1003))):
        found = strategy.start(grid, record(initial()), num_rounds=2)
        assert_close(found.arrays, initial())
        assert grid.replies == []
    assert [r.skipped for r in strategy.rounds[:2]] == ["no node is there"] * 2
    assert all("nobody has submitted" in str(r.skipped) for r in strategy.rounds[2:])
    assert strategy.rounds[2].failed == {1000 + i: "no reply" for i in range(3)}
    for away in ({"gone": range(1000, 1003)}, {"away": range(1000, 1003)}):
        strict = SlvrStrategy(check, backend, on_abort="raise", wait=0.05)
        with pytest.raises(slvr.AbortError):
            strict.start(Seen(app, 3, **away), record(initial()), num_rounds=1)
        assert len(strict.rounds) == 1


def test_whoever_comes_late_is_waited_for_and_whoever_is_too_many_is_not_asked() -> None:
    check, backend = norm_bound(3), InProcess()
    grid = Seen(app_of(train, slvr_mod(check.hash, backend)), 5)
    begun = time.monotonic()
    strategy = SlvrStrategy(check, backend)
    strategy.start(grid, record(initial()), num_rounds=1)
    assert len(grid.asked) == len(strategy.rounds[0].accepted) == 3
    few = Seen(app_of(train, slvr_mod(check.hash, backend)), 3, gone=[1000])
    SlvrStrategy(check, backend, wait=0.3).start(few, record(initial()), num_rounds=1)
    assert len(few.asked) == 2 and 0.3 < time.monotonic() - begun < 30


def test_fewer_clients_may_come_whatever_their_number_is_called() -> None:
    text = "use std::{sum};\npredicate Mean[M: model, n]() { parties Client[n]; parties Server;\n" + (
        "input update: secret weights M in -8..8 from each Client;\n"
        "reveal sum(update[i] for i in Client) / n to Server as aggregate; }"
    )
    check, backend = slvr.Check.from_source(text, M=MODEL, n=4), InProcess()
    grid = Seen(app_of(train, slvr_mod(check.hash, backend)), 4, away=[1000])
    found = SlvrStrategy(check, backend).start(grid, record(initial()), num_rounds=2)
    wanted = initial()
    for number in (1, 2):
        updates = [update_of(1000 + i, number) for i in (1, 2, 3)]
        wanted = added(wanted, {name: sum(u[name] for u in updates) / 3 for name in wanted})
    assert_close(found.arrays, wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_arrays_keep_their_types_and_counters_stay(dtype: str) -> None:
    check, backend = norm_bound(3), InProcess()
    arrays = {**initial(dtype), "bn.num_batches_tracked": np.array(7), "frozen": np.full(2, 0.5, np.float32)}
    grid = Seen(app_of(train, slvr_mod(check.hash, backend)), 3)
    found = SlvrStrategy(check, backend).start(grid, record(arrays), num_rounds=1)
    step = reference([update_of(1000 + i, 1) for i in range(3)])
    wanted = {**arrays, **added({name: arrays[name] for name in step}, step)}
    assert_close(found.arrays, wanted, 2e-3 if dtype == "float16" else 1e-4)
    # Clients had made other ones of both; only names that the check has are in the sum.
    assert found.arrays["bn.num_batches_tracked"].numpy() == 7


def test_running_statistics_are_a_part_of_the_update() -> None:
    model = "model Norm(x: fix[1, 4, 4]) -> fix[2] { bn: batch_norm[1]; fc: linear[16, 2]; x |> bn |> flatten |> fc }"
    texts = {"norm.slvr": model}
    check = slvr.Check.from_file("secure_aggregation", m=3, M="norm.slvr:Norm", files=texts)
    fields = check.inputs[0].fields
    assert "bn.running_var" in fields
    start = {name: np.zeros(shape, np.float32) for name, shape in fields.items()}
    start["bn.num_batches_tracked"] = np.array(0)

    def function(message: Message, context: Context) -> Message:
        old = {name: array.numpy() for name, array in message.content["arrays"].items()}
        new = {name: value + 1 for name, value in old.items()}
        new["bn.running_var"] = np.full(1, 50.0 if context.node_id == 1002 else 2.0, np.float32)
        return Message(RecordDict({"arrays": record(new)}), reply_to=message)

    backend = InProcess()
    grid = Seen(app_of(function, slvr_mod(check.hash, backend)), 3)
    strategy = SlvrStrategy(check, backend)
    found = strategy.start(grid, record(start), num_rounds=1)
    assert strategy.rounds[0].left_out == {
        "node 1002": "tensor `update.bn.running_var`: the element at [0] is outside the allowed range -8..8"
    }
    assert found.arrays["bn.running_var"].numpy() == pytest.approx(2.0, abs=1e-4)
    assert found.arrays["bn.num_batches_tracked"].numpy() == 0


def test_counts_are_inputs_of_a_weighted_check() -> None:
    check, backend = slvr.Check.from_file("weighted_aggregation", m=3, M=MODEL), InProcess()
    counts = {1000: 10, 1001: 200, 1002: 31}

    def validation(message: Message, context: Context) -> dict[str, Any]:
        return {"count": counts[context.node_id]}

    grid = Seen(app_of(train, slvr_mod(check.hash, backend, validation=validation)), 3)
    strategy = SlvrStrategy(check, backend, reveals=("weighted", "total"))
    found = strategy.start(grid, record(initial()), num_rounds=1)
    updates = [update_of(node, 1) for node in counts]
    mean = {name: np.average([u[name] for u in updates], axis=0, weights=list(counts.values())) for name in initial()}
    assert_close(found.arrays, added(initial(), mean))
    counts.update(dict.fromkeys(counts, 0))
    found = strategy.start(grid, record(initial()), num_rounds=1)
    assert_close(found.arrays, initial())
    assert strategy.rounds[-1].skipped == "the weights of all clients add up to nothing"


def test_an_update_may_be_one_vector() -> None:
    size = sum(value.size for value in initial().values())
    check, backend = slvr.Check.from_file("coordinate_median", m=3, d=size), InProcess()
    (output,) = check.outputs
    arrays = {**initial(), "counter": np.array(3)}
    grid = Seen(app_of(train, slvr_mod(check.hash, backend)), 3)
    found = SlvrStrategy(check, backend, reveals=output.name).start(grid, record(arrays), num_rounds=1)
    updates = [update_of(1000 + i, 1) for i in range(3)]
    median = {name: np.median([u[name] for u in updates], axis=0) for name in initial()}
    assert_close(found.arrays, {**added(initial(), median), "counter": arrays["counter"]})


def test_the_global_arrays_are_a_public_input() -> None:
    text = "use std::{sum};\npredicate Drift[M: model, m]() { parties Client[m]; parties Server;\n" + (
        "input start: public weights M;\ninput update: secret weights M in -8..8 from each Client;\n"
        "let all = sum(update[i] for i in Client);\nreveal all / m - start to Server as aggregate; }"
    )
    check, backend = slvr.Check.from_source(text, M=MODEL, m=3), InProcess()
    with pytest.raises(slvr.InputError, match="a public input `start`"):
        SlvrStrategy(check, backend)
    grid = Seen(app_of(train, slvr_mod(check.hash, backend)), 3)
    found = SlvrStrategy(check, backend, public="start").start(grid, record(initial()), num_rounds=1)
    updates = [update_of(1000 + i, 1) for i in range(3)]
    wanted = {name: (sum(u[name] for u in updates) / 3).astype(np.float32) for name in initial()}
    assert_close(found.arrays, wanted)


def test_only_named_arrays_are_trainable() -> None:
    head = "model Head(x: fix[3]) -> fix[2] { fc2: linear[3, 2]; x |> fc2 }"
    check = slvr.Check.from_file("norm_bound", m=3, M="head.slvr:Head", files={"head.slvr": head})
    backend = InProcess()
    grid = Seen(app_of(train, slvr_mod(check.hash, backend, trainable=["fc2.weight", "fc2.bias"])), 3)
    found = SlvrStrategy(check, backend).start(grid, record(initial()), num_rounds=1)
    part = [{n: v for n, v in update_of(1000 + i, 1).items() if n.startswith("fc2")} for i in range(3)]
    step = reference(part)
    assert_close(found.arrays, {**initial(), **added({name: initial()[name] for name in step}, step)})
    given = backend._given["node 1000"]
    assert set(given) == {"update.fc2.weight", "update.fc2.bias"}
    unknown = Seen(app_of(train, slvr_mod(check.hash, backend, trainable=["fc3.weight"])), 3)
    strategy = SlvrStrategy(check, backend)
    strategy.start(unknown, record(initial()), num_rounds=1)
    assert set(strategy.rounds[0].failed.values()) == {Refusal.ARRAYS.text}


def test_what_is_refused_before_a_round() -> None:
    check, backend = norm_bound(3), InProcess()
    with pytest.raises(slvr.InputError, match="does not reveal `sum`"):
        SlvrStrategy(check, backend, reveals="sum")
    with pytest.raises(slvr.InputError, match="is the name of an output"):
        SlvrStrategy(check, backend, reveals=())  # type: ignore[arg-type]
    weighted = slvr.Check.from_file("weighted_aggregation", m=3, M=MODEL)
    for reveals in ("total", ("total", "weighted"), ("weighted", "weighted")):
        with pytest.raises(slvr.InputError, match="has not the shape of"):
            SlvrStrategy(weighted, backend, reveals=reveals)
    for given in ({"metrics": "loss"}, {"trainable": "fc1.bias"}):
        with pytest.raises(TypeError, match="is a list of names"):
            SlvrStrategy(check, backend, **given)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="is a list of names"):
            slvr_mod(check.hash, backend, **given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="server_lr"):
        SlvrStrategy(check, backend, server_lr=float("nan"))
    with pytest.raises(ValueError, match="on_abort"):
        SlvrStrategy(check, backend, on_abort="stop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        slvr_mod("00", backend)
    grid = Seen(app_of(train, slvr_mod(check.hash, backend)), 3)
    for arrays in ({"fc1.weight": np.zeros((3, 4), np.float32)}, {n: v.astype(int) for n, v in initial().items()}):
        with pytest.raises(slvr.InputError, match="the model has none"):
            SlvrStrategy(check, backend).start(grid, record(arrays), num_rounds=1)
    assert grid.asked == []


def test_a_folder_takes_inputs_of_other_processes(tmp_path: Path) -> None:
    check = norm_bound(3)
    # What is somebody's own stays, whatever it is called.
    (tmp_path / "round-notes").mkdir()
    others = [tmp_path / "round-notes" / "mine.txt", tmp_path / ("round-" + "0" * 64), tmp_path / "round-1"]
    for other in others:
        other.write_text("mine")
    grid = Seen(app_of(train, slvr_mod(check.hash, Folder(tmp_path))), 3)
    strategy = SlvrStrategy(check, Folder(tmp_path))
    for _ in range(2):  # The same round numbers again: nothing old counts.
        found = strategy.start(grid, record(initial()), num_rounds=1)
        assert_close(found.arrays, added(initial(), reference([update_of(1000 + i, 1) for i in range(3)])))
        grid.away.add(1000)
        found = strategy.start(grid, record(initial()), num_rounds=1)
        assert_close(found.arrays, added(initial(), reference([update_of(1000 + i, 1) for i in (1, 2)])))
        grid.away.clear()
    assert all(other.read_text() == "mine" for other in others)
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 2


class Treacherous(Seen):
    """A server that alters what it sends to one node."""

    def __init__(self, *given: Any, alter: Callable[[Message], None], node: int = 1000, **named: Any) -> None:
        super().__init__(*given, **named)
        self.alter, self.node = alter, node

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        messages = list(messages)
        for message in messages:
            if message.metadata.dst_node_id == self.node:
                message.content = copy.deepcopy(message.content)
                self.alter(message)
        return super().send_and_receive(messages)


def other_arrays(message: Message) -> None:
    arrays = {name: array.numpy() for name, array in message.content["slvr-arrays"].items()}
    arrays["fc1.bias"] = arrays["fc1.bias"] + np.float32(1)
    message.content["slvr-arrays"] = record(arrays)


def other_rate(message: Message) -> None:
    message.content["config"]["lr"] = 0.0


def fewer_arrays(message: Message) -> None:
    message.content["slvr"]["arrays"] = message.content["slvr"]["arrays"][:-1]


def second_arrays(message: Message) -> None:
    message.content["arrays"] = record({name: value + 7 for name, value in initial().items()})


def no_terms(message: Message) -> None:
    del message.content["slvr"]["flat"]


ALTERED = [
    (other_arrays, Refusal.SUBMISSION),
    (other_rate, Refusal.SUBMISSION),
    (fewer_arrays, Refusal.SUBMISSION),
    (second_arrays, Refusal.MESSAGE),
    (no_terms, Refusal.MESSAGE),
]


@pytest.mark.parametrize(("alter", "refusal"), ALTERED)
@pytest.mark.parametrize("where", ["process", "folder"])
def test_whoever_was_given_something_else_does_not_submit(
    alter: Callable[[Message], None], refusal: Refusal, where: str, tmp_path: Path
) -> None:
    check = norm_bound(4)
    backend = InProcess() if where == "process" else Folder(tmp_path)
    grid = Treacherous(client_app(check.hash, backend, train), 4, alter=alter)
    strategy = SlvrStrategy(check, backend)
    found = strategy.start(grid, record(initial()), num_rounds=1)
    assert strategy.rounds[0].failed == {1000: refusal.text}
    wanted = reference([update_of(1000 + i, 1) for i in (1, 2, 3)])
    assert_close(found.arrays, added(initial(), wanted))


def test_the_configuration_of_the_run_is_what_the_server_has() -> None:
    check, backend = norm_bound(3), InProcess()
    grid = Seen(client_app(check.hash, backend, train), 3)
    for context in grid._contexts.values():
        context.run_config = {"lr": 0.5}
    strategy = SlvrStrategy(check, backend)
    strategy.start(grid, record(initial()), num_rounds=1)
    assert set(strategy.rounds[0].failed.values()) == {Refusal.SUBMISSION.text} and strategy.rounds[0].skipped
    strategy = SlvrStrategy(check, backend, run_config={"lr": 0.5})
    found = strategy.start(grid, record(initial()), num_rounds=1)
    assert_close(found.arrays, added(initial(), reference([update_of(1000 + i, 1) for i in range(3)])))


def test_a_client_of_the_app_answers_no_other_message() -> None:
    check, backend = norm_bound(3), InProcess()
    grid = Seen(client_app(check.hash, backend, train), 3)
    content = RecordDict({"arrays": record(initial()), "config": ConfigRecord({"server-round": 1})})
    for kind in ("train", "evaluate", "query", "train.other"):
        (reply,) = grid.send_and_receive([Message(content, 1000, kind)])
        assert reply.has_error() and not reply.has_content() and "fc1" not in str(reply.error)


def test_a_client_that_exits_is_one_that_failed() -> None:
    check, backend = norm_bound(3), InProcess()

    def function(message: Message, context: Context) -> Message:
        if context.node_id == 1001:
            sys.exit(SECRET)
        return train(message, context)

    grid = Seen(client_app(check.hash, backend, function), 3)
    strategy = SlvrStrategy(check, backend)
    found = strategy.start(grid, record(initial()), num_rounds=1)
    assert strategy.rounds[0].failed == {1001: Refusal.TRAINING.text}
    assert_close(found.arrays, added(initial(), reference([update_of(1000 + i, 1) for i in (0, 2)])))
    assert SECRET.encode() not in b"".join(bytes_of(reply) for reply in grid.replies)


def test_whoever_lies_of_a_submission_or_a_metric_changes_nothing() -> None:
    check, backend = norm_bound(4), InProcess()
    honest = client_app(check.hash, backend, train)

    def app(message: Message, context: Context) -> Message:
        if context.node_id == 1000:
            said = {"slvr": ConfigRecord({"client": "node 7"}), "metrics": MetricRecord({"loss": 1e9})}
            return Message(RecordDict(said), reply_to=message)
        reply = honest(message, context)
        if context.node_id == 1001:
            reply.content["metrics"]["loss"] = float("nan")
        return reply

    strategy = SlvrStrategy(check, backend)
    found = strategy.start(Seen(app, 4), record(initial()), num_rounds=1)
    assert strategy.rounds[0].failed == {1000: "it has not submitted"}
    assert dict(found.train_metrics_clientapp[1]) == {"loss": 1002.5}
    assert_close(found.arrays, added(initial(), reference([update_of(1000 + i, 1) for i in (1, 2, 3)])))


def test_a_vector_has_the_arrays_in_the_order_of_the_strategy() -> None:
    trained = ["fc2.weight", "fc1.bias"]
    size = sum(initial()[name].size for name in trained)
    check, backend = slvr.Check.from_file("coordinate_median", m=3, d=size), InProcess()
    (output,) = check.outputs
    for own in (trained, sorted(trained), set(trained)):
        grid = Seen(client_app(check.hash, backend, train, trainable=own), 3)
        strategy = SlvrStrategy(check, backend, reveals=output.name, trainable=trained)
        found = strategy.start(grid, record(initial()), num_rounds=1)
        updates = [update_of(1000 + i, 1) for i in range(3)]
        median = {name: np.median([u[name] for u in updates], axis=0) for name in trained}
        assert_close(found.arrays, {**initial(), **added({n: initial()[n] for n in trained}, median)})


def test_what_is_not_finite_is_not_adopted() -> None:
    check, backend = norm_bound(3), InProcess()
    grid = Seen(client_app(check.hash, backend, train), 3)
    start = {name: np.zeros_like(value) for name, value in initial("float16").items()}
    strategy = SlvrStrategy(check, backend, server_lr=1e9)
    found = strategy.start(grid, record(start), num_rounds=1)
    assert "would not be finite" in str(strategy.rounds[0].skipped)
    assert_close(found.arrays, start)
    start["fc1.bias"] = np.full_like(start["fc1.bias"], np.nan)
    with pytest.raises(slvr.InputError, match=r"`fc1\.bias` is not finite"):
        SlvrStrategy(check, backend).start(grid, record(start), num_rounds=1)


def test_nobody_who_can_be_used_is_a_round_without_a_result() -> None:
    check, backend = norm_bound(3), InProcess()

    def function(message: Message, context: Context) -> Message:
        reply = train(message, context)
        new = {name: array.numpy() + np.float32(1000) for name, array in reply.content["arrays"].items()}
        return Message(RecordDict({"arrays": record(new)}), reply_to=message)

    strategy = SlvrStrategy(check, backend)
    found = strategy.start(Seen(client_app(check.hash, backend, function), 3), record(initial()), num_rounds=1)
    assert "outside the allowed range" in str(strategy.rounds[0].skipped)
    assert_close(found.arrays, initial())


def test_a_state_is_kept_by_nodes_alone() -> None:
    text = "use std::{sum};\npredicate Count[M: model, m]() { parties Client[m]; parties Server;\n" + (
        "input update: secret weights M in -8..8 from each Client;\nstate n: secret fix in 0..100 = 0;\n"
        "reveal sum(update[i] for i in Client) / m to Server as aggregate; store n + 1 as n; }"
    )
    check, backend = slvr.Check.from_source(text, M=MODEL, m=3), InProcess()
    assert check.has_states and not norm_bound(3).has_states
    with pytest.raises(slvr.InputError, match="has a state"):
        SlvrStrategy(check, backend).start(Seen(train, 3), record(initial()), num_rounds=1)


def test_backends_for_tests_say_so_once(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    assert Nodes("t").private and not InProcess.private and not Folder.private
    InProcess._said.clear()
    with caplog.at_level(logging.WARNING, "slvr.flower"):
        for _ in range(3):
            InProcess()
            Folder(tmp_path)
    assert len([r for r in caplog.records if "is for tests" in r.getMessage()]) == 2


def test_flower_still_says_who_sends_where_local_grid_sets_it() -> None:
    from flwr.supercore.task_identity import TaskIdentity

    LocalGrid(train, 1)
    content = RecordDict({"c": ConfigRecord({"a": 1})})
    message = Message(content, dst_node_id=7, message_type="train.slvr")
    assert message.metadata.run_id == TaskIdentity.run_id, (
        "Flower has moved what Message() reads: see what Message.__init__ asks for, and set that in "
        "slvr.flower._grid._identify"
    )
    # Whoever is somebody already stays it.
    TaskIdentity.run_id = 99
    LocalGrid(train, 1)
    assert TaskIdentity.run_id == 99
    TaskIdentity.run_id = 1


def test_the_example(capfd: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.flower_digits", "--local"],
        cwd=PYTHON,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = {
        name.strip(): [float(x) for x in numbers.split()]
        for name, numbers in re.findall(r"^  (\D+?)((?: +\d+\.\d)+)$", done.stdout, re.M)
    }
    clean, checked, plain = rows["no attack, SLVR"], rows["one poisoner, SLVR"], rows["one poisoner, plain FedAvg"]
    assert len(clean) == len(checked) == len(plain) == 5
    assert checked[-1] > clean[-1] - 3 and clean[-1] > 80
    assert plain[-1] < 30
    seconds = re.search(r"([\d.]+) s, of which training ([\d.]+) s", done.stdout)
    assert seconds and float(seconds[2]) <= 0.8 * float(seconds[1])


def test_no_reply_of_the_example_has_a_number_of_an_image() -> None:
    sys.path.insert(0, str(PYTHON))
    try:
        from examples.flower_digits import client_app as example
        from examples.flower_digits import task
    finally:
        sys.path.pop(0)
    check, backend = slvr.Check.from_file("slvr_accuracy", m=5, M="Mlp", c=1, b=task.VALIDATION), InProcess()
    nodes = [{"partition-id": i, "num-partitions": 5} for i in range(5)]
    grid = Seen(example.private(check.hash, backend), nodes)
    SlvrStrategy(check, backend).start(grid, task.record(task.initial()), num_rounds=1)
    said = b"".join(bytes_of(reply) for reply in grid.replies)
    assert len(grid.replies) == 5 and len(said) < 5 * 2000
    for given in backend._given.values():
        for name, value in given.items():
            if name.startswith("update."):
                for x in value.ravel():
                    assert not x or (struct.pack("<d", x) not in said and struct.pack("<f", x) not in said)
        for image in given["image"]:
            for part in np.split(image, 8):
                if len(set(part)) > 2:
                    assert all(part.astype(t).tobytes() not in said for t in ("<f4", "<f8"))
                    assert (16 * part).astype(np.uint8).tobytes() not in said


CLIENTS = 5


@pytest.fixture(scope="module")
def place(slvrc: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("flower")
    with deployed(slvrc, folder, "norm_bound", CLIENTS, f"M={MODEL}") as place:
        yield place


def test_rounds_of_three_nodes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = norm_bound(CLIENTS)
    monkeypatch.setenv("SLVR_COORDINATOR", str(place / "coordinator" / "coordinator.toml"))
    configs = [{"slvr": str(place / "clients" / f"client-{i}" / "client.toml")} for i in range(CLIENTS)]
    honest = app_of(train, slvr_mod(check.hash, Nodes("norm_bound")))
    grid = Seen(honest, configs)
    strategy = SlvrStrategy(check, Nodes("norm_bound"))
    found = strategy.start(grid, record(initial()), num_rounds=2)
    wanted = initial()
    for number in (1, 2):
        wanted = added(wanted, reference([update_of(1000 + i, number) for i in range(CLIENTS)]))
    assert_close(found.arrays, wanted)
    assert sorted(strategy.rounds[1].accepted) == [f"client-{i}" for i in range(CLIENTS)]
    # The same in process, to the last bit: sums of inputs are exact.
    backend = InProcess()
    there = Seen(app_of(train, slvr_mod(check.hash, backend)), CLIENTS)
    same = SlvrStrategy(check, backend).start(there, record(initial()), num_rounds=2)
    assert all(np.array_equal(same.arrays[name].numpy(), a.numpy()) for name, a in found.arrays.items())

    # Faults: the nodes' numbers go on from 3.
    def function(message: Message, context: Context) -> Message:
        reply = train(message, context)
        if context.node_id == 1002:
            raise RuntimeError(SECRET)
        if context.node_id == 1003:
            new = {name: array.numpy() for name, array in reply.content["arrays"].items()}
            new["fc1.bias"] = np.full(3, 1000, np.float32)
            return Message(RecordDict({"arrays": record(new)}), reply_to=message)
        return reply

    grid = Seen(app_of(function, slvr_mod(check.hash, Nodes("norm_bound"))), configs, away=[1004])
    strategy = SlvrStrategy(check, Nodes("norm_bound", first=3))
    found = strategy.start(grid, record(initial()), num_rounds=1)
    assert_close(found.arrays, added(initial(), reference([update_of(1000 + i, 1) for i in (0, 1)])))
    (ended,) = strategy.rounds
    assert sorted(ended.accepted) == ["client-0", "client-1"]
    assert ended.left_out == {}
    assert ended.failed == {1002: Refusal.TRAINING.text, 1003: Refusal.INPUT.text, 1004: "no reply"}
    assert SECRET.encode() not in b"".join(bytes_of(reply) for reply in grid.replies)

    # A server that gives one client other arrays does not get its update.
    for first, (alter, refusal) in enumerate(ALTERED[:2], 5):
        grid = Treacherous(honest, configs, alter=alter)
        strategy = SlvrStrategy(check, Nodes("norm_bound", first=first))
        found = strategy.start(grid, record(initial()), num_rounds=1)
        assert strategy.rounds[0].failed == {1000: refusal.text}
        wanted = reference([update_of(1000 + i, 1) for i in range(1, CLIENTS)])
        assert_close(found.arrays, added(initial(), wanted))
    # A server that was started again with other arrays does not join its round of before.
    coordinator = slvr.Coordinator(place / "coordinator" / "coordinator.toml")
    coordinator.open("norm_bound", 7, context=bytes(32))
    grid = Seen(honest, configs)
    strategy = SlvrStrategy(check, Nodes("norm_bound", first=7))
    found = strategy.start(grid, record(initial()), num_rounds=1)
    assert "do not open round 7" in str(strategy.rounds[0].skipped) and grid.asked == []
    assert_close(found.arrays, initial())

    # Everybody away: the round is skipped, and the next one is not.
    grid = Seen(honest, configs, away=range(1000, 1005))
    strategy = SlvrStrategy(check, Nodes("norm_bound", first=4))
    found = strategy.start(grid, record(initial()), num_rounds=1)
    assert_close(found.arrays, initial())
    assert strategy.rounds[0].skipped
    other = SlvrStrategy(norm_bound(CLIENTS - 1), Nodes("norm_bound", first=8))
    with pytest.raises(slvr.InputError, match="the nodes have the circuit"):
        other.start(grid, record(initial()), num_rounds=1)


class Cutting(Seen):
    """A grid that shuts the door once all have submitted, for so many seconds or for good."""

    def __init__(self, app: Call, nodes: Any, door: Door, seconds: float | None) -> None:
        super().__init__(app, nodes)
        self.door, self.seconds = door, seconds

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        found = super().send_and_receive(messages)
        self.door.shut()
        if self.seconds is not None:
            threading.Timer(self.seconds, self.door.open).start()
        return found


def test_no_result_is_lost_with_the_line_to_a_node(place: Path) -> None:
    check = norm_bound(CLIENTS)
    configs = [{"slvr": str(place / "clients" / f"client-{i}" / "client.toml")} for i in range(CLIENTS)]
    honest = app_of(train, slvr_mod(check.hash, Nodes("norm_bound")))
    coordinator = slvr.Coordinator(place / "coordinator" / "coordinator.toml")
    step = reference([update_of(1000 + i, 1) for i in range(CLIENTS)])
    for number, away, patience in [(20, 1.0, 60.0), (21, None, 2.0)]:
        with Door(place / "coordinator" / "coordinator.toml") as door:
            door.open()
            strategy = SlvrStrategy(check, Nodes("norm_bound", door.config, first=number, patience=patience))
            found = strategy.start(Cutting(honest, configs, door, away), record(initial()), num_rounds=1)
            if away is not None:
                assert_close(found.arrays, added(initial(), step))
                continue
            # It has not come back in time: the result is where it was.
            assert_close(found.arrays, initial())
            assert f"what the nodes have of norm_bound/{number} is kept" in str(strategy.rounds[0].skipped)
            collected = coordinator.collect("norm_bound", number)["aggregate"]
            assert all(np.allclose(collected[name], value, atol=1e-4) for name, value in step.items())
