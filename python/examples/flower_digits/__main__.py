"""Trains on handwritten digits in this process: `python -m examples.flower_digits --local`."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from pathlib import Path

from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg, Strategy

import slvr
from slvr.flower import InProcess, LocalGrid, SlvrStrategy

from . import client_app, server_app, task

CLIENTS = 10
ROUNDS = 5


def grid_of(app: ClientApp, clients: int, poison: bool) -> LocalGrid:
    """A grid of so many clients, of whom the last one may be malicious."""
    nodes = [{"partition-id": i, "num-partitions": clients, "poison": 0} for i in range(clients)]
    nodes[-1]["poison"] = int(poison)
    return LocalGrid(app, nodes)


def local() -> None:
    """Ten clients and three parties, with and without an attack, and plain federated averaging."""
    begun = time.perf_counter()
    check = slvr.Check.from_file("slvr_accuracy", m=CLIENTS, M="Mlp", c=1, b=task.VALIDATION)
    print(f"{CLIENTS} clients, {ROUNDS} rounds; test accuracy in %, round by round")
    for what, checked, poison in [
        ("no attack, SLVR", True, False),
        ("one poisoner, SLVR", True, True),
        ("one poisoner, plain FedAvg", False, True),
    ]:
        backend = InProcess(seed=0)
        plain = FedAvg(fraction_evaluate=0.0, min_train_nodes=CLIENTS, min_available_nodes=CLIENTS)
        strategy: Strategy = SlvrStrategy(check, backend) if checked else plain
        app = client_app.private(check.hash, backend) if checked else client_app.plain()
        grid = grid_of(app, CLIENTS, poison)
        found = server_app.accuracies(strategy, grid, ROUNDS)
        print(f"  {what:<28}" + "".join(f"{100 * a:7.1f}" for a in found))
    total = time.perf_counter() - begun
    print(f"{total:.1f} s, of which training {client_app.spent[0]:.1f} s")


def compare(file: Path) -> None:
    """Whether the three nodes have come to what the same clients come to in this process."""
    there = json.loads(file.read_text())["accuracies"]
    check, backend = server_app.check(), InProcess()
    grid = grid_of(client_app.private(check.hash, backend), server_app.CLIENTS, poison=True)
    here = server_app.accuracies(SlvrStrategy(check, backend), grid, server_app.ROUNDS)
    for name, found in (("three nodes", there), ("in process", here)):
        print(f"  {name:<12}" + "".join(f"{100 * a:7.1f}" for a in found))
    if here != there:
        sys.exit("the accuracies differ")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m examples.flower_digits", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--local", action="store_true", help="run clients, server and parties in this process")
    what.add_argument("--compare", type=Path, metavar="FILE", help="compare it with what run-three-nodes.sh has left")
    given = parser.parse_args()
    logging.getLogger("flwr").setLevel(logging.ERROR)
    if given.local:
        local()
    else:
        compare(given.compare)


if __name__ == "__main__":
    main()
