"""Products of matrices, and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ._body import Body
from ._graph import Refused
from ._table import Arguments, of
from ._text import (
    Value,
    indexed,
    loops,
)


def _contracted(body: Body, node: Any, operands: Sequence[Any], labels: Sequence[str], result: str) -> Value:
    """A sum of products, in the notation of `einsum`; ``.`` is the batch."""
    lengths: dict[str, int] = {}
    texts_of: list[tuple[Any, str]] = []
    batch = result[b] if (b := body.dims(node)[1]) is not None else None
    for operand, own in zip(operands, labels, strict=True):
        shape, at = body.dims(operand)
        if at is not None and own[at] != batch:
            raise Refused("it goes over the samples of a batch")
        for label, n in zip((c for k, c in enumerate(own) if k != at), shape, strict=True):
            if label == batch:
                if n != 1:
                    raise Refused("it makes a batch of a tensor that is none")
            else:
                lengths[label] = max(n, lengths.get(label, 1))
        texts_of.append((operand, own))
    out = [c for c in result if c != batch]
    inner = [c for c in lengths if c not in out]
    names = dict(zip([*out, *inner], body.letters(len(lengths)), strict=True))

    def index(operand: Any, own: str, upto: int | None = None) -> str:
        shape, at = body.dims(operand)
        places = [c for k, c in enumerate(own) if k != at]
        inside = [
            "0" if n == 1 and lengths.get(c, 1) != 1 else "0" if c == batch else names[c]
            for c, n in zip(places, shape, strict=True)
        ]
        return indexed(body.name(operand), inside[:upto])

    shape = body.dims(node)[0]
    one = inner[0] if len(inner) == 1 else None
    at_end = [own[-1] == one and body.dims(o)[0][-1] == lengths[own[-1]] if one else False for o, own in texts_of]
    if one and len(texts_of) == 2 and all(at_end):
        text = f"{body.std('dot')}({index(*texts_of[0], -1)}, {index(*texts_of[1], -1)})"
    else:
        text = " * ".join(index(*pair) for pair in texts_of)
        for label in reversed(inner):
            text = f"{body.std('sum')}({text} for {names[label]} in {lengths[label]})"
    return Value(loops([names[c] for c in out], [lengths[c] for c in out], text), shape)


@of("matmul", "bmm", "mm", "mv", "dot")
def _matmul(body: Body, node: Any, a: Arguments) -> Value:
    left, right = a["self"], a.get("other", a.get("mat2", a.get("vec", a.get("tensor"))))
    ranks = [len(s) + (at is not None) for s, at in (body.dims(left), body.dims(right))]
    lead = "abcdefgh"
    one = "x" if ranks[0] == 1 else lead[8 - (ranks[0] - 2) :] + "rx"
    other = "x" if ranks[1] == 1 else lead[8 - (ranks[1] - 2) :] + "xc"
    front = lead[8 - max(ranks[0] - 2, ranks[1] - 2, 0) :]
    result = front + ("r" if ranks[0] > 1 else "") + ("c" if ranks[1] > 1 else "")
    return _contracted(body, node, [left, right], [one, other], result)


@of("einsum")
def _einsum(body: Body, node: Any, a: Arguments) -> Value:
    given, _, result = str(a["equation"]).replace(" ", "").partition("->")
    labels = given.split(",")
    if "." in given or any(len(set(own)) != len(own) for own in labels):
        raise Refused("its equation has `...` or a diagonal")
    if "->" not in str(a["equation"]):
        result = "".join(sorted(c for c in set(given) if given.count(c) == 1 and c != ","))
    return _contracted(body, node, list(a["tensors"]), labels, result)


@of("scaled_dot_product_attention")
def _attention(body: Body, node: Any, a: Arguments) -> Value:
    shape, _ = body.dims(node)
    query, key, value = a["query"], a["key"], a["value"]
    old = body.dims(query)[0]
    if a["dropout_p"] or a.get("enable_gqa"):
        raise Refused("it has a dropout, or groups of heads")
    if a["scale"] is not None and not math.isclose(a["scale"], old[-1] ** -0.5):
        raise Refused("its scale is not that of the size of a head")
    lead = len(old) - 2
    if lead < 0 or any(body.dims(v)[0][:lead] != old[:lead] for v in (key, value)):
        raise Refused("queries, keys and values have other numbers of heads")
    names = body.letters(lead)
    given = [indexed(body.name(v), names) if lead else body.text(v) for v in (query, key, value)]
    seen = mask(body, a["attn_mask"], a["is_causal"], old[-2], body.dims(key)[0][-2], lead=lead)
    function = body.std("masked_attention" if seen else "attention")
    text = f"{function}({', '.join([*given, *([seen] if seen else [])])})"
    return Value(loops(names, old[:lead], text), shape)


def mask(body: Body, given: Any, causal: bool, n: int, m: int, turned: bool = False, lead: int = 0) -> str | None:
    """What each query sees, for a mask that is known: 0 where it sees a key, and True there (if turned, False)."""
    *_, i, j = body.letters(2 + lead)
    before = f"[[{j} <= {i} for {j} in {m}] for {i} in {n}]"
    if given is None:
        return before if causal else None
    if given not in body.traced.constants:
        raise Refused("its mask is computed of the input")
    held = body.traced.constants[given]
    seen = held ^ turned if held.dtype == torch.bool else held == 0
    if held.dtype != torch.bool and not bool((seen | (held < -100)).all()):
        raise Refused("its mask adds other numbers than 0 and minus infinity")
    while seen.dim() > 2 and seen.shape[0] == 1:
        seen = seen[0]
    if seen.dim() != 2:
        raise Refused("its mask is another for each head")
    if bool(seen.all()):
        return None
    if bool((seen == torch.ones(n, m, dtype=torch.bool).tril()).all()):
        return before
    return body.text(body.constant(seen.expand(n, m).long()))
