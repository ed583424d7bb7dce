"""SLVR: programmable robustness checks for secure aggregation in federated learning.

A check is a short ``.slvr`` program. Three parties evaluate it on secret shares of the clients' updates and reveal the
aggregate of those that pass::

    import slvr

    check = slvr.Check.from_file("norm_bound", m=3, M="DigitsNet")
    result = check.run({"Client": [{"update": update} for update in updates]})
    result["aggregate"]

Everything here runs in this process, on one machine: for tests, for simulations and to learn. In a deployment three
organisations run ``slvrc node``, and clients and the coordinator call them (:class:`Client`, :class:`Coordinator`).
"""

from ._check import Check, Explanation, Input, Output, Result
from ._nodes import Client, Collected, Coordinator, Receipt
from ._slvr import (
    AbortError,
    CompileError,
    InputError,
    InternalError,
    NodeError,
    SlvrError,
    __version__,
)

__all__ = [
    "AbortError",
    "Check",
    "Client",
    "Collected",
    "CompileError",
    "Coordinator",
    "Explanation",
    "Input",
    "InputError",
    "InternalError",
    "NodeError",
    "Output",
    "Receipt",
    "Result",
    "SlvrError",
    "__version__",
]
