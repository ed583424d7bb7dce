"""Flower (flwr 1.42 or later, below 2) with updates that nobody sees.

Clients make an app that hands what their train function returns to the three parties::

    app = client_app(KNOWN_HASH, Nodes("digits"), train, validation=validation)

The server runs a strategy, which adds the aggregate that the check reveals to the global arrays::

    SlvrStrategy(check, Nodes("digits")).start(grid, arrays, num_rounds=5)
"""

from ._backends import Backend, Folder, InProcess, Nodes, Outcome
from ._grid import LocalGrid
from ._mod import client_app, slvr_mod
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
    "client_app",
    "slvr_mod",
]
