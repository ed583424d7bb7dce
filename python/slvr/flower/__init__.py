"""Flower (flwr 1.42 or later, below 2) with updates that nobody sees.

Clients register a train function of their own, and the mod takes what it returns to the three parties::

    app = ClientApp()

    @app.train("slvr", mods=[slvr_mod(KNOWN_HASH, Nodes("digits"), validation=validation)])
    def train(message, context): ...

The server runs a strategy, which adds the aggregate that the check reveals to the global arrays::

    SlvrStrategy(check, Nodes("digits")).start(grid, arrays, num_rounds=5)
"""

from ._backends import Backend, Folder, InProcess, Nodes, Outcome
from ._grid import LocalGrid
from ._mod import slvr_mod
from ._strategy import Round, SlvrStrategy
from ._words import Refusal

__all__ = [
    "Backend",
    "Folder",
    "InProcess",
    "LocalGrid",
    "Nodes",
    "Outcome",
    "Refusal",
    "Round",
    "SlvrStrategy",
    "slvr_mod",
]
