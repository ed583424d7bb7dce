"""Models of PyTorch as models of SLVR (torch 2.15 or later).

A check takes the exported model as the value of a size::

    model = slvr.torch.export(net, torch.zeros(2, 1, 28, 28))
    check = slvr.Check.from_file("norm_bound", m=10, M=model)
    result = check.run({"Client": [{"update": model.update(before, after)} for before, after in clients]})
    model.load(result["aggregate"], net)

This package itself can be imported without torch; :func:`export` and :meth:`Model.load` need it.
"""

from __future__ import annotations

from typing import Any

from ._model import ExportError, Model, Unsupported

__all__ = ["ExportError", "Model", "Unsupported", "export"]


def export(module: Any, example: Any, *, name: str | None = None, compare: bool = True) -> Model:
    """Writes a module as a model.

    ``example`` is one tensor, whose first dimension is the batch. The size of the batch is left open, and the model
    computes one sample. The module is traced as it is in evaluation. ``name`` is the model's, by default that of the
    class. Raises :class:`ExportError`, which lists everything that is not supported.

    The model is then evaluated beside the module, on the example and on random numbers. What cannot be compiled or does
    not fit the memory is logged as not compared; ``compare=False`` leaves it out.
    """
    from ._compared import compare as compared
    from ._export import exported

    model = exported(module, example, name)
    if compare:
        compared(model, module, example[0] if isinstance(example, tuple | list) else example)
    return model
