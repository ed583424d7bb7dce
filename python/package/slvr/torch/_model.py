"""What an export makes. Nothing here needs torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _arrays
from .._slvr import InputError
from ._text import name_of, tree_text

Update = dict[str, npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Unsupported:
    """What an export cannot write."""

    #: The path of the module, as in the state dictionary; empty for the whole.
    module: str
    #: The node of the traced graph; empty if it is about the module itself.
    node: str
    #: What it computes, such as ``aten.sin``, or the class of the module.
    what: str
    why: str

    def __str__(self) -> str:
        where = f"`{self.module}`" if self.module else "the module"
        node = f", node `{self.node}`" if self.node else ""
        return f"{where}{node}: {self.what}: {self.why}"


class ExportError(InputError):
    """A module cannot be written as a model. ``unsupported`` lists all reasons."""

    def __init__(self, name: str, unsupported: Iterable[Unsupported]) -> None:
        self.unsupported = list(unsupported)
        super().__init__("\n".join([f"`{name}` cannot be exported:", *(f"  {one}" for one in self.unsupported)]))


@dataclass(frozen=True)
class Model:
    """A model for a check: ``Check.from_file("norm_bound", m=3, M=model)``."""

    name: str
    #: The source of the model, a ``.slvr`` file.
    text: str
    #: Shapes by the names of the state dictionary, in its order. Counters of batches are no weights.
    shapes: dict[str, tuple[int, ...]]
    #: What stands before these names in the model: ``"net."`` where the module is a list or a single layer.
    prefix: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the state dictionary, in its order."""
        return tuple(self.shapes)

    def update(self, before: Any, after: Any) -> Update:
        """The difference of two state dictionaries, or modules, as the input of a check: arrays of float64.

        ``before`` is a copy, because a state dictionary changes with its module. Other entries than those of the model
        are left alone. Raises :class:`InputError` where one is missing, has another shape or is one memory in both.
        """
        (old, places), (new, others) = self._arrays(before, "before"), self._arrays(after, "after")
        if same := [name for name in self.names if places[name] is not None and places[name] == others[name]]:
            raise InputError(
                f"before: `{same[0]}` is in the memory of after, and has changed with it: copy it before training, by "
                "{name: value.clone() for name, value in module.state_dict().items()}"
            )
        return {self.prefix + name: new[name] - old[name] for name in self.names}

    def trainable(self, names: Iterable[str]) -> Model:
        """The same with only some tensors as weights, such as the adapters of LoRA: an update has only these.

        It is for checks that do not apply the model, such as ``norm_bound``: the compiler refuses those that do. Raises
        :class:`InputError` for a name that the model does not have.
        """
        wanted = set(names)
        if unknown := sorted(wanted - set(self.names)):
            raise InputError(f"`{self.name}` has no {', '.join(f'`{name}`' for name in unknown)}")
        if not wanted:
            raise InputError("no tensor is trainable")
        shapes = {name: shape for name, shape in self.shapes.items() if name in wanted}
        text = tree_text(self.name, {self.prefix + name: shape for name, shape in shapes.items()})
        return replace(self, text=text, shapes=shapes)

    def load(self, revealed: Mapping[str, Any], module: Any) -> None:
        """Adds what a check reveals, such as ``result["aggregate"]``, to the tensors of a module, in place.

        Sums are made in float64 and rounded once, to the type of the tensor. Raises :class:`InputError`, and has
        changed nothing, if the names or shapes are not those of the model.
        """
        import torch

        from ._memory import shared

        given = _arrays.tensors(revealed)
        wanted = {self.prefix + name for name in self.names}
        if wrong := sorted(given.keys() ^ wanted):
            raise InputError(f"what is revealed is not the weights of `{self.name}`: see `{wrong[0]}`")
        state = module.state_dict() if hasattr(module, "state_dict") else {}
        sums = {}
        for name, shape in self.shapes.items():
            if name not in state or tuple(state[name].shape) != shape or given[self.prefix + name].shape != shape:
                raise InputError(f"`{name}` is not in both the module and what is revealed, of shape {list(shape)}")
            old = state[name].detach()
            if old.is_meta or not old.dtype.is_floating_point:
                raise InputError(f"`{name}` of the module cannot hold numbers of its own")
            step = torch.from_numpy(_real(given[self.prefix + name], f"`{name}`"))
            sums[name] = (old.cpu().double() + step).to(old.dtype)
            if not bool(torch.isfinite(sums[name]).all()):
                raise InputError(f"`{name}` would not be finite as {old.dtype}")
        for name, other in shared({name: state[name] for name in self.names}).items():
            raise InputError(f"`{name}` of the module cannot hold numbers of its own: it is the memory of `{other}`")
        with torch.no_grad():
            for name, sum_ in sums.items():
                state[name].copy_(sum_)
        now = module.state_dict()
        if wrong := [name for name, sum_ in sums.items() if not torch.equal(now[name].detach().cpu(), sum_)]:
            raise InputError(f"the state dictionary is no view of the module, or another tensor is `{wrong[0]}`, too")

    def _arrays(self, given: Any, whose: str) -> tuple[Update, dict[str, Any]]:
        """Arrays by name, and where each of them lies."""
        state = given.state_dict() if hasattr(given, "state_dict") else given
        if not isinstance(state, Mapping):
            raise InputError(f"{whose}: a state dictionary is expected, not {type(given).__name__}")
        out: Update = {}
        places: dict[str, Any] = {}
        for name, shape in self.shapes.items():
            if name not in state:
                raise InputError(f"{whose}: `{name}` is missing")
            out[name] = _real(_arrays.array(state[name], name), f"{whose}: `{name}`")
            if out[name].shape != shape:
                raise InputError(f"{whose}: `{name}` has the shape {list(out[name].shape)}, not {list(shape)}")
            places[name] = _place(state[name])
        return out, places

    def __post_init__(self) -> None:
        if name_of(self.name) != self.name:
            raise InputError(f"`{self.name}` is no name of a model")


def _real(array: _arrays.Array, whose: str) -> npt.NDArray[np.float64]:
    """A copy in float64."""
    if array.dtype.kind not in "fiub":
        raise InputError(f"{whose} is of {array.dtype}, which are no real numbers")
    return array.astype(np.float64)


def _place(value: Any) -> Any:
    """Where the numbers of a tensor or an array lie; ``None`` of what cannot be changed, or has none."""
    if hasattr(value, "data_ptr"):
        return (str(value.device), value.data_ptr()) if value.numel() else None
    about = getattr(value, "__array_interface__", None)
    return ("cpu", about["data"][0]) if about and value.size else None
