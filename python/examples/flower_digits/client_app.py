"""A client: it trains on its own samples. Its update goes to the three parties, and to nobody else."""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Any

from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from slvr.flower import Backend, Nodes, client_app

from . import task

#: Seconds of training in this process.
spent = [0.0]


@cache
def samples(clients: int) -> list[task.Samples]:
    return task.split(task.load()[0], clients)


def own(context: Context) -> task.Samples:
    """What this client has."""
    config = context.node_config
    return samples(int(config["num-partitions"]))[int(config["partition-id"])]


def validation(message: Message, context: Context) -> dict[str, Any]:
    """The samples on which this client judges others."""
    images, labels = own(context)
    return {"image": images[: task.VALIDATION], "label": labels[: task.VALIDATION]}


def train(message: Message, context: Context) -> Message:
    """As for plain Flower: it replies with new arrays and metrics."""
    begun = time.perf_counter()
    number = int(str(message.content.config_records["config"]["server-round"]))
    client = int(context.node_config["partition-id"])
    old = task.weights(message.content.array_records["arrays"])
    new, loss = task.train(old, own(context), seed=100 * number + client)
    if context.node_config.get("poison"):  # It flips the sign of its update and amplifies it.
        new = {name: old[name] - 10 * (new[name] - old[name]) for name in old}
    spent[0] += time.perf_counter() - begun
    metrics = MetricRecord({"loss": loss, "num-examples": len(own(context)[1])})
    return Message(RecordDict({"arrays": task.record(new), "metrics": metrics}), reply_to=message)


def private(circuit: str, backend: Backend) -> ClientApp:
    """Updates go to a check of this hash, and to nobody else."""
    return client_app(circuit, backend, train, validation=validation)


def plain() -> ClientApp:
    """What is compared with: updates go to the server."""
    app = ClientApp()
    app.train()(train)
    return app


if "SLVR_CIRCUIT" in os.environ:
    #: What a SuperNode runs. Its owner has read the check, and says its hash. It has no other function, so that nothing
    #: makes it send arrays to the server.
    app = private(os.environ["SLVR_CIRCUIT"], Nodes("norm_bound"))
