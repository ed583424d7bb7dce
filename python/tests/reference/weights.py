"""Weights and inputs of the references, made of their names, so that none have to be stored."""

from __future__ import annotations

import numpy as np


def numbers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers between -1 and 1: splitmix64 from the FNV-1a hash of a name, as in ``predicates/models/reference``."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001B3) % 2**64
    steps = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64)
    z = np.uint64(state) + steps * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(40)).astype(np.float64) / 2**23 - 1).reshape(shape)


def weight(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Matrices and kernels within the root of 6 by their fan-in, scales and variances about 1, the rest about 0."""
    x = numbers(name, shape)
    if len(shape) > 1:
        return x * (6 / np.prod(shape[1:])) ** 0.5
    return 1 + x / 4 if name.split(".")[-1] in ("weight", "running_var") else x / 4


def image(k: int, shape: tuple[int, ...], tokens: int) -> np.ndarray:
    """An input; of a model that reads tokens, numbers below how many there are."""
    x = numbers(f"input {k}", shape)
    return np.floor((x + 1) / 2 * tokens) if tokens else x
