"""A deployment of three nodes on this machine, by clients and a coordinator in Python."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import Door, deployed

import slvr

TEXT = """use std::{sum};

predicate Mean[d, m]() {
    parties Client[m];
    parties Server;

    input scale: public fix in 0..4;
    input x: secret fix[d] in -8..8 from each Client;

    reveal scale * sum(x) / m to Server as mean;
    let mean = sum(x) / m;
    reveal x[i] - mean to Client[i] as distance;
}
"""

CLIENTS = 4


@pytest.fixture(scope="module")
def place(slvrc: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("deployment")
    (folder / "mean.slvr").write_text(TEXT)
    with deployed(slvrc, folder, "mean.slvr", CLIENTS, "d=5") as place:
        yield place


@pytest.fixture(scope="module")
def coordinator(place: Path) -> slvr.Coordinator:
    return slvr.Coordinator(place / "coordinator" / "coordinator.toml")


@pytest.fixture(scope="module")
def clients(place: Path) -> list[slvr.Client]:
    return [slvr.Client(place / "clients" / f"client-{i}" / "client.toml") for i in range(CLIENTS)]


def values(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-8, 8, (CLIENTS, 5))


def released(coordinator: slvr.Coordinator, clients: list[slvr.Client], number: int) -> np.ndarray:
    """What clients gave to a round that has a result at all nodes."""
    given = values(number)
    coordinator.open("mean", number, {"scale": 1.0})
    for client, row in zip(clients, given, strict=True):
        client.submit("mean", number, {"x": row})
    coordinator.collect("mean", number, keep=True)
    return given


def test_a_round_is_the_mean_of_those_who_came(
    coordinator: slvr.Coordinator, clients: list[slvr.Client], caplog: pytest.LogCaptureFixture
) -> None:
    given = values(1)
    check = slvr.Check.from_source(TEXT, d=5, m=CLIENTS)
    assert coordinator.circuit_hash("mean") == check.hash
    status = coordinator.open("mean", 1, {"scale": 2.0})
    assert status["phase"] == "open"
    with caplog.at_level(logging.INFO, "slvr"):
        receipts = [c.submit("mean", 1, {"x": row, "y": 1}) for c, row in zip(clients, given, strict=True)]
    assert any("`y` is not read" in record.getMessage() for record in caplog.records)
    assert len({receipt.submission for receipt in receipts}) == CLIENTS
    steps = [found[0]["phase"] for found in coordinator.watch("mean", 1, every=0.05)]
    assert steps[-1] == "released"
    collected = coordinator.collect("mean", 1)
    assert np.allclose(collected["mean"], 2 * given.mean(axis=0), atol=1e-3)
    assert sorted(collected.accepted) == sorted(c.name for c in clients) and collected.left_out == {}
    # What is for clients each of them fetches.
    for client, row in zip(clients, given, strict=True):
        fetched = client.fetch("mean", 1)
        assert np.allclose(fetched["distance"], row - given.mean(axis=0), atol=1e-3)
        assert fetched.report["client"] == client.name


def test_whoever_does_not_come_is_as_if_it_had_never_been_there(
    coordinator: slvr.Coordinator, clients: list[slvr.Client]
) -> None:
    given = values(2)

    async def round_of_three() -> slvr.Collected:
        await coordinator.aopen("mean", 2, {"scale": 1.0}, seconds=600)
        await asyncio.gather(*(clients[i].asubmit("mean", 2, {"x": given[i]}) for i in (0, 1, 3)))
        coordinator.close("mean", 2)
        return await coordinator.acollect("mean", 2)

    collected = asyncio.run(round_of_three())
    assert np.allclose(collected["mean"], given[[0, 1, 3]].mean(axis=0), atol=1e-3)
    assert sorted(collected.accepted) == sorted(clients[i].name for i in (0, 1, 3))


def test_what_waits_for_a_result_keeps_no_client_from_submitting(place: Path, clients: list[slvr.Client]) -> None:
    given, waiting = values(40), (os.cpu_count() or 1) + 1
    all_of_them = [slvr.Coordinator(place / "coordinator" / "coordinator.toml") for _ in range(waiting)]
    all_of_them[0].open("mean", 40, {"scale": 1.0})
    with ThreadPoolExecutor(waiting) as threads:
        found = [threads.submit(c.collect, "mean", 40, keep=True, patience=60) for c in all_of_them]
        time.sleep(0.5)
        for client, row in zip(clients, given, strict=True):
            client.submit("mean", 40, {"x": row}, patience=20)
        for one in found:
            assert np.allclose(one.result()["mean"], given.mean(axis=0), atol=1e-3)


def test_a_node_that_is_away_for_a_moment_is_waited_for(
    place: Path, coordinator: slvr.Coordinator, clients: list[slvr.Client]
) -> None:
    given = released(coordinator, clients, 5)
    with Door(place / "coordinator" / "coordinator.toml") as door, ThreadPoolExecutor(1) as pool:
        collected = pool.submit(slvr.Coordinator(door.config).collect, "mean", 5, patience=60)
        time.sleep(1)
        assert not collected.done()
        door.open()
        assert np.allclose(collected.result()["mean"], given.mean(axis=0), atol=1e-3)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.5)  # Until the call has seen it.


#: After how many more requests than fetch the result a node goes away, and what happens then.
AWAY: list[tuple[int, Callable[[], None]]] = [
    (0, lambda: None),  # Before any node has erased.
    (1, lambda: None),  # Others have.
    (1, interrupt),
]


@pytest.mark.parametrize("case", range(len(AWAY)))
def test_what_is_in_hand_is_returned_whatever_comes_of_the_erasure(
    place: Path,
    coordinator: slvr.Coordinator,
    clients: list[slvr.Client],
    case: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (more, then), number = AWAY[case], 10 + case
    given = released(coordinator, clients, number)

    def taken(config: Path, ask: Callable[[Path, bool], slvr.Result]) -> slvr.Result:
        with Door(config) as door:
            door.open()
            ask(door.config, True)
        with Door(config, door.said + more, then) as door:
            door.open()
            caplog.clear()
            found = ask(door.config, False)
        (warned,) = [record.getMessage() for record in caplog.records]
        assert f"mean/{number}: what it reveals is returned, but nodes may still keep it: " in warned
        assert "node 2" in warned or "KeyboardInterrupt" in warned
        return found

    def collect(config: Path, keep: bool) -> slvr.Result:
        return slvr.Coordinator(config).collect("mean", number, keep=keep)

    def fetch(config: Path, keep: bool) -> slvr.Result:
        return slvr.Client(config).fetch("mean", number, keep=keep)

    mean = given.mean(axis=0)
    fetched = taken(place / "clients" / "client-1" / "client.toml", fetch)
    assert np.allclose(fetched["distance"], given[1] - mean, atol=1e-3)
    collected = taken(place / "coordinator" / "coordinator.toml", collect)
    assert np.allclose(collected["mean"], mean, atol=1e-3)
    coordinator.drop("mean", number)
    with pytest.raises(slvr.NodeError):
        coordinator.collect("mean", number, patience=0)


def test_what_is_refused(coordinator: slvr.Coordinator, clients: list[slvr.Client]) -> None:
    with pytest.raises(slvr.InputError, match="scale"):
        coordinator.open("mean", 3)
    coordinator.open("mean", 3, {"scale": 1.0})
    with pytest.raises(slvr.InputError, match="is expected"):
        clients[0].submit("mean", 3, {"x": np.zeros(5)}, expect_hash="0" * 64)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        clients[0].submit("mean", 3, {"x": np.zeros(5)}, expect_hash="00")
    for wrong, text in [(np.zeros(4), "shape"), (np.full(5, 9.0), "outside"), (np.full(5, np.nan), "finite")]:
        with pytest.raises(slvr.InputError, match=text):
            clients[0].submit("mean", 3, {"x": wrong})
    check = slvr.Check.from_source(TEXT, d=5, m=CLIENTS)
    with pytest.raises(slvr.NodeError, match="was opened for clients who were given something else"):
        clients[0].submit("mean", 3, {"x": np.zeros(5)}, expect_context=bytes(32))
    clients[0].submit("mean", 3, {"x": np.zeros(5)}, expect_hash=check.hash)
    coordinator.abort("mean", 3)
    with pytest.raises(slvr.AbortError):
        coordinator.collect("mean", 3, patience=5)
    with pytest.raises(slvr.AbortError, match="was aborted"):
        clients[0].submit("mean", 3, {"x": np.zeros(5)})
    coordinator.drop("mean", 3)
    with pytest.raises(slvr.NodeError, match="there is no round"):
        clients[0].submit("mean", 77, {"x": np.zeros(5)}, patience=0.5)
    with pytest.raises(slvr.NodeError, match="node 0 knows no round mean/77: it knows the rounds"):
        next(coordinator.watch("mean", 77))
    begun = time.monotonic()
    coordinator.open("mean", 4, {"scale": 1.0})
    with pytest.raises(slvr.SlvrError):
        coordinator.collect("mean", 4, patience=0.5)
    assert time.monotonic() - begun < 30
    coordinator.abort("mean", 4)
    assert pickle.loads(pickle.dumps(clients[0])).name == clients[0].name
