"""Models from ONNX files.

::

    model = slvr.onnx.load("net.onnx")
    check = slvr.Check.from_file("norm_bound", m=10, M=model)

The file's operators are put together as a module of PyTorch, which :func:`slvr.torch.export` writes: what that supports
is what this supports. The weights are the file's initialisers and have their names, so they must be those of the module
that clients train. Exporters fold and rename some of them; such a file is refused, unless ``rename`` says what they
are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ._slvr import InputError
from .torch import ExportError, Model, Unsupported, export

if TYPE_CHECKING:
    import onnx

__all__ = ["load"]


def load(
    path: str | os.PathLike[str] | onnx.ModelProto,
    *,
    rename: Mapping[str, str] | None = None,
    name: str = "Net",
    compare: bool = True,
) -> Model:
    """Reads a file, or a model that was read.

    ``rename`` gives initialisers of the file their names in the state dictionary of the module. The first dimension of
    the input is the batch. ``compare`` is that of :func:`slvr.torch.export`. It needs torch and onnx.

    Raises :class:`slvr.torch.ExportError`, which lists all operators that are not supported, and all initialisers whose
    names are none of a module, such as those of a folded batch norm. Raises :class:`slvr.InputError` of a file that
    cannot be read.
    """
    import onnx

    from ._onnx import Graph

    try:
        proto = path if isinstance(path, onnx.ModelProto) else onnx.load(os.fspath(path))
        onnx.checker.check_model(proto)
    except Exception as error:  # Whatever onnx raises of a damaged file.
        raise InputError(f"the ONNX file cannot be read: {error}") from error
    version = max((opset.version for opset in proto.opset_import if opset.domain in ("", "ai.onnx")), default=0)
    if version < 13:
        raise InputError(
            f"the file has version {version} of ONNX's operators, some of which mean something else since 13"
        )
    graph = Graph(proto.graph, dict(rename or {}))
    module = graph.module()
    problems = [Unsupported("", node, operator, why) for node, operator, why in graph.problems]
    problems += [
        Unsupported(
            "", "", f"the initialiser `{weight}`", "no module has it beside the others: give its name by rename="
        )
        for weight in graph.unnamed
    ]
    if problems:
        raise ExportError(name, problems)
    return export(module, graph.example(), name=name, compare=compare)
