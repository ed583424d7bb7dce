"""The server: it opens rounds, and adds what the three parties reveal."""

from __future__ import annotations

import json
import os
from pathlib import Path

from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import Strategy

import slvr
from slvr.flower import Nodes, SlvrStrategy

from . import task

#: Those of the deployment that `run-three-nodes.sh` makes. One of them is malicious.
CLIENTS = 4
ROUNDS = 3


def check() -> slvr.Check:
    """What the nodes of that deployment run."""
    return slvr.Check.from_file("norm_bound", m=CLIENTS, M="Mlp")


def accuracies(strategy: Strategy, grid: Grid, rounds: int) -> list[float]:
    """The accuracy of the global model after each round."""
    test = task.load()[1]

    def evaluate(number: int, arrays: ArrayRecord) -> MetricRecord:
        return MetricRecord({"accuracy": task.accuracy(task.weights(arrays), test)})

    found = strategy.start(grid, task.record(task.initial()), num_rounds=rounds, timeout=300, evaluate_fn=evaluate)
    return [float(str(m["accuracy"])) for number, m in found.evaluate_metrics_serverapp.items() if number > 0]


app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """What the SuperLink runs."""
    strategy = SlvrStrategy(check(), Nodes("norm_bound"), run_config=context.run_config)
    found = accuracies(strategy, grid, ROUNDS)
    accepted = [sorted(ended.accepted) for ended in strategy.rounds]
    Path(os.environ["RESULT"]).write_text(json.dumps({"accuracies": found, "accepted": accepted}))
