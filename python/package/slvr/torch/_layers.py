"""Applies layers of the standard library: which inputs they take, and what they return."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ._body import Body
from ._graph import MARK, Call, Refused, Traced, operator
from ._leaves import Leaf, leaf
from ._operators import mask
from ._text import Value, fresh

#: Options that are known: the first two change nothing of the result that is used.
_KNOWN = {"need_weights", "average_attn_weights", "is_causal"}


def _marks(call: Call) -> tuple[dict[str, Any], dict[int, Any]]:
    """What a layer is given, by names of arguments, and what it makes, by places."""
    given: dict[str, Any] = {}
    made: dict[int, Any] = {}
    for node in call.nodes():
        if node.target is MARK:
            place = json.loads(node.args[1])
            if "given" in place:
                given[place["given"]] = node.args[0]
                if other := sorted(set(place["options"]) - _KNOWN):
                    raise Refused(f"it is called with `{other[0]}`")
            else:
                made[place["made"]] = node
    return given, made


def layer_text(how: Leaf, calls: Sequence[Call], traced: Traced) -> str:
    """How a layer is declared, if it is one of the library."""
    if how.how != "attention":
        return how.layer or ""
    masked = any(_masked(call, traced) for call in calls)
    return f"{'masked_' if masked else ''}multihead_attention{how.layer}"


def _causal(call: Call) -> bool:
    """Whether attention is causal by an option. PyTorch then does not read the mask, whose mark is not live."""
    marks = [json.loads(node.args[1]) for node in call.nodes() if node.target is MARK]
    unread = all(place.get("given") != "attn_mask" for place in marks)
    return unread and any("is_causal" in place.get("options", ()) for place in marks)


def _masked(call: Call, traced: Traced) -> bool:
    seen = traced.constants.get(_marks(call)[0].get("attn_mask"))
    return _causal(call) or (seen is not None and bool((seen != 0).any()))


def apply(body: Body, call: Call, place: str) -> None:
    """Writes one call of a layer. Raises :class:`Refused`."""
    how, (given, made) = leaf(call.module), _marks(call)
    if how.how == "plain":
        _plain(body, how, place, given, made[0])
    else:
        {"recurrent": _recurrent, "attention": _attention, "lstm_cell": _cell, "gru_cell": _cell}[how.how](
            body, how, place, given, made, call
        )


def _plain(body: Body, how: Leaf, place: str, given: dict[str, Any], made: Any) -> None:
    (x,) = given.values()
    _ranked(body, x, how, 0)
    body.put(made, body.pipe(x, place, body.dims(made)[0], listed=False))


def _ranked(body: Body, x: Any, how: Leaf, at: int) -> None:
    shape, batch = body.dims(x)
    if how.ranks and len(shape) not in how.ranks:
        ranks = " or ".join(map(str, how.ranks))
        raise Refused(f"one sample has {ranks} dimensions here, not {len(shape)}")
    if how.ranks and batch not in (at, None):
        raise Refused(f"it takes dimension {at} for the batch, which is dimension {batch}")
    for k in range(0 if how.ranks else how.last):
        body.axis(x, -1 - k)


def _recurrent(body: Body, how: Leaf, place: str, given: dict[str, Any], made: dict[int, Any], call: Call) -> None:
    if set(given) != {"input"}:
        raise Refused("its first state is given")
    if 2 in made:
        raise Refused("the last state of its cells is used")
    _ranked(body, given["input"], how, 0 if how.about["first"] else 1)
    steps, hidden = body.dims(given["input"])[0][0], how.about["hidden"]
    states = body.pipe(given["input"], place, (steps, hidden * (1 + how.about["both"])), listed=False)
    if 1 not in made:
        body.put(made[0], states)
        return
    shape = body.dims(made[1])[0]
    name = body.name(states)
    if 0 in made:
        body.values[made[0]] = Value(name, states.shape)
    j = body.letters(1)[0]
    if how.about["both"]:
        ends = f"[[{name}[{steps - 1}, {j}] for {j} in {hidden}], [{name}[0, {hidden} + {j}] for {j} in {hidden}]]"
        body.put(made[1], Value(ends, shape))
        return
    for user in made[1].users:
        picked = operator(user) == "select" and user.args[1] == 0 and user.args[2] in (-1, shape[0] - 1)
        if picked:
            body.values[user] = Value(f"{name}[{steps - 1}]", (hidden,))
        elif user in body.traced.live and shape[0] > 1:
            raise Refused("the last states of other layers than the last one are used")
    body.values[made[1]] = Value(f"[{name}[{steps - 1}]]", shape)


def _cell(body: Body, how: Leaf, place: str, given: dict[str, Any], made: dict[int, Any], call: Call) -> None:
    for x in given.values():
        _ranked(body, x, how, 0)
    zeros = f"[0 for j in {how.about['hidden']}]"
    x = body.text(given["input"])
    if how.how == "gru_cell":
        h = body.text(given["hx"]) if "hx" in given else zeros
        body.put(made[0], Value(f"{place}({x}, {h})", (how.about["hidden"],)))
        return
    h, c = (body.text(given[f"hx.{k}"]) if f"hx.{k}" in given else zeros for k in (0, 1))
    names = [fresh(name, body.taken) for name in ("h", "c")]
    body.lets.append(f"let ({', '.join(names)}) = {place}({x}, {h}, {c})")
    for k, node in made.items():
        body.values[node] = Value(names[k], (how.about["hidden"],))


def _attention(body: Body, how: Leaf, place: str, given: dict[str, Any], made: dict[int, Any], call: Call) -> None:
    if 1 in made:
        raise Refused("its weights are used, not only its result")
    if "key_padding_mask" in given:
        raise Refused("it has a mask of keys")
    parts = [given[name] for name in ("query", "key", "value")]
    for x in parts:
        _ranked(body, x, how, 0 if how.about["first"] else 1)
    (n, _), (m, _) = body.dims(parts[0])[0], body.dims(parts[1])[0]
    texts = [body.text(x) for x in parts]
    seen = mask(body, given.get("attn_mask"), _causal(call), n, m, turned=True)
    if body.masked(call.path):
        i, j = body.letters(2)
        texts.append(seen or f"[[1 for {j} in {m}] for {i} in {n}]")
    body.put(made[0], Value(f"{place}({', '.join(texts)})", body.dims(made[0])[0]))
