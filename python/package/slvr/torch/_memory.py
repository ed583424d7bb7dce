"""Which tensors lie in the same memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch


def shared(tensors: Mapping[str, Any]) -> dict[str, str]:
    """Tensors with an entry that is one of an earlier tensor, too, and the name of that one. A tensor with fewer places
    than entries, such as an expanded one, has its own name."""
    spans = []
    for k, (name, tensor) in enumerate(tensors.items()):
        if tensor.numel() and tensor.layout is torch.strided:
            # What has no address can only be the same object.
            start = tensor.data_ptr()
            device = str(tensor.device) if start else str(id(tensor))
            steps = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
            spans.append((device, start, start + (steps + 1) * tensor.element_size(), k, name))
    found: dict[str, str] = {}
    group: list[tuple[str, int, int, int, str]] = []
    for span in [*sorted(spans), ("", 0, 0, 0, "")]:
        if group and (span[0] != group[0][0] or span[1] >= max(end for _, _, end, _, _ in group)):
            found |= _among(sorted(group, key=lambda one: one[3]), tensors)
            group = []
        group.append(span)
    return {name: found[name] for name in tensors if name in found}


def _among(group: list[tuple[str, int, int, int, str]], tensors: Mapping[str, Any]) -> dict[str, str]:
    """The same of tensors between whose ends no memory is left out: each byte is marked by the last that has it."""
    low, high = min(start for _, start, *_ in group), max(end for _, _, end, *_ in group)
    sizes = [math.prod((*tensors[name].shape, tensors[name].element_size())) for *_, name in group]
    if len(group) == 1 and sizes[0] == high - low:
        return {}
    marks, found = np.zeros(high - low, np.int32), {}
    for k, ((_, start, _, _, name), size) in enumerate(zip(group, sizes, strict=True), 1):
        one = tensors[name]
        steps = [step * one.element_size() * marks.itemsize for step in one.stride()]
        bytes_of = np.lib.stride_tricks.as_strided(
            marks[start - low :], (*one.shape, one.element_size()), (*steps, marks.itemsize)
        )
        if other := int(bytes_of.max()):
            found[name] = group[other - 1][4]
        bytes_of[...] = k
        if np.count_nonzero(marks == k) < size:
            found.setdefault(name, name)
    return found
