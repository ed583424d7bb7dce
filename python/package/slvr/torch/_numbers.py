"""Functions of single numbers, and arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ._body import Body
from ._graph import Refused, operator
from ._table import OPERATORS, Arguments, Operator, of
from ._text import (
    ATOM,
    COMPARE,
    PLUS,
    SIGN,
    TIMES,
    Value,
    call,
    decimal,
    number,
)


def _stages() -> None:
    def plain(name: str) -> Operator:
        return lambda body, node, a: body.pipe(a["self"], body.std(name), body.dims(node)[0])

    for name in ("relu", "relu6", "sigmoid", "tanh", "silu", "hardsigmoid", "hardswish", "exp", "log", "sqrt", "abs"):
        OPERATORS[name] = plain(name)
    OPERATORS["reciprocal"] = plain("recip")


_stages()


@of("alias", "clone", "contiguous", "detach", "lift_fresh", "lift_fresh_copy", "positive")
def _same(body: Body, node: Any, a: Arguments) -> Value:
    return body.value(a["self"])


@of("to", "_to_copy", "type_as")
def _to(body: Body, node: Any, a: Arguments) -> Value:
    if not node.meta["val"].is_floating_point() and a["self"].meta["val"].is_floating_point():
        raise Refused("it rounds to whole numbers")
    if node.meta["val"].dtype is torch.bool and a["self"].meta["val"].dtype is not torch.bool:
        raise Refused("it makes bits of numbers: compare them with 0")
    return body.value(a["self"])


@of("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def _dropout(body: Body, node: Any, a: Arguments) -> Value:
    if a["train"] and a["p"]:
        raise Refused("it drops entries in evaluation, too")
    return body.value(a["input"])


@of("native_dropout", "rand_like", "randn_like", "bernoulli", "rand", "randn")
def _random(body: Body, node: Any, a: Arguments) -> Value:
    raise Refused("it draws at random")


@of("gelu")
def _gelu(body: Body, node: Any, a: Arguments) -> Value:
    name = "gelu" if a["approximate"] == "none" else "gelu_tanh"
    return body.pipe(a["self"], body.std(name), body.dims(node)[0])


@of("leaky_relu")
def _leaky_relu(body: Body, node: Any, a: Arguments) -> Value:
    stage = call(body.std("leaky_relu"), [], slope=(decimal(a["negative_slope"]), decimal(0.01)))
    return body.pipe(a["self"], stage, body.dims(node)[0])


@of("elu")
def _elu(body: Body, node: Any, a: Arguments) -> Value:
    if a["scale"] != 1 or a["input_scale"] != 1:
        raise Refused("its scales are not 1")
    stage = call(body.std("elu"), [], alpha=(decimal(a["alpha"]), "1.0"))
    return body.pipe(a["self"], stage, body.dims(node)[0])


@of("selu")
def _selu(body: Body, node: Any, a: Arguments) -> Value:
    y = body.pipe(a["self"], f"{body.std('elu')}[alpha = 1.6732632423543772]", body.dims(node)[0])
    return Value(f"1.0507009873554805 * {y.at(TIMES)}", y.shape, TIMES)


@of("softplus")
def _softplus(body: Body, node: Any, a: Arguments) -> Value:
    if a["beta"] != 1:
        raise Refused("its beta is not 1")
    if a["threshold"] < 15:
        raise Refused("its threshold is so small that it changes the result")
    return body.pipe(a["self"], body.std("softplus"), body.dims(node)[0])


@of("log_sigmoid")
def _log_sigmoid(body: Body, node: Any, a: Arguments) -> Value:
    return Value(f"-{body.std('softplus')}(-{body.text(a['self'], ATOM)})", body.dims(node)[0], SIGN)


@of("mish")
def _mish(body: Body, node: Any, a: Arguments) -> Value:
    x = body.name(a["self"])
    return Value(f"{x} * {body.std('tanh')}({body.std('softplus')}({x}))", body.dims(node)[0], TIMES)


@of("rsqrt")
def _rsqrt(body: Body, node: Any, a: Arguments) -> Value:
    return Value(f"{body.std('recip')}({body.std('sqrt')}({body.text(a['self'])}))", body.dims(node)[0])


@of("neg")
def _neg(body: Body, node: Any, a: Arguments) -> Value:
    return Value(f"-{body.text(a['self'], ATOM)}", body.dims(node)[0], SIGN)


@of("square")
def _square(body: Body, node: Any, a: Arguments) -> Value:
    return _power(body, node, a["self"], 2)


@of("pow")
def _pow(body: Body, node: Any, a: Arguments) -> Value:
    if not isinstance(a["exponent"], int | float) or not isinstance(a["self"], torch.fx.Node):
        raise Refused("its exponent is no number")
    return _power(body, node, a["self"], a["exponent"])


def _power(body: Body, node: Any, x: Any, exponent: float) -> Value:
    shape = body.dims(node)[0]
    if float(exponent).is_integer() and exponent >= 1:
        return Value(f"{body.name(x)}^{int(exponent)}", shape)
    sqrt, recip = body.std("sqrt"), body.std("recip")
    named = {0.5: f"{sqrt}({{}})", -1: f"{recip}({{}})", -0.5: f"{recip}({sqrt}({{}}))"}.get(exponent)
    if named is None:
        raise Refused("its exponent is no whole number, 0.5, -0.5 or -1")
    return Value(named.format(body.text(x)), shape)


@of("hardtanh", "clamp", "clamp_min", "clamp_max")
def _clamp(body: Body, node: Any, a: Arguments) -> Value:
    low: Any = a.get("min_val", a.get("min"))
    high: Any = a.get("max_val", a.get("max"))
    shape = body.dims(node)[0]
    if any(isinstance(end, torch.fx.Node) for end in (low, high)):
        raise Refused("its ends are tensors")
    if (low, high) == (0, 6):
        return body.pipe(a["self"], body.std("relu6"), shape)
    if (low, high) == (0, None):
        return body.pipe(a["self"], body.std("relu"), shape)
    x = body.text(a["self"])
    if low is not None and high is not None:
        return Value(f"{body.std('clamp')}({x}, {number(low)}, {number(high)})", shape)
    relu = body.std("relu")
    if low is not None:
        return Value(f"{number(low)} + {relu}({body.text(a['self'], PLUS)} - {_term(low)})", shape, PLUS)
    return Value(f"{number(high)} - {relu}({number(high)} - {body.text(a['self'], TIMES)})", shape, PLUS)


def _term(value: float) -> str:
    return number(value) if value >= 0 else f"({number(value)})"


# Arithmetic.


@of("add", "sub", "rsub")
def _add(body: Body, node: Any, a: Arguments) -> Value:
    left, right = (a["self"], a["other"]) if operator(node) != "rsub" else (a["other"], a["self"])
    sign, alpha = ("+" if operator(node).startswith("add") else "-"), a.get("alpha", 1)
    if alpha not in (1, None):
        factor = number(alpha)
        return body.pointwise(
            node, [left, right], lambda t: (f"{t[0].at(PLUS)} {sign} {factor} * {t[1].at(ATOM)}", PLUS)
        )
    return body.pointwise(node, [left, right], lambda t: (f"{t[0].at(PLUS)} {sign} {t[1].at(ATOM)}", PLUS))


@of("mul")
def _mul(body: Body, node: Any, a: Arguments) -> Value:
    return body.pointwise(node, [a["self"], a["other"]], lambda t: (f"{t[0].at(ATOM)} * {t[1].at(ATOM)}", TIMES))


@of("div")
def _div(body: Body, node: Any, a: Arguments) -> Value:
    if a.get("rounding_mode") is not None:
        raise Refused("it rounds")
    return body.pointwise(node, [a["self"], a["other"]], lambda t: (f"{t[0].at(ATOM)} / {t[1].at(ATOM)}", TIMES))


@of("addcmul")
def _addcmul(body: Body, node: Any, a: Arguments) -> Value:
    if a["value"] != 1:
        raise Refused("its factor is not 1")
    operands = [a["self"], a["tensor1"], a["tensor2"]]
    return body.pointwise(node, operands, lambda t: (f"{t[0].at(PLUS)} + {t[1].at(ATOM)} * {t[2].at(ATOM)}", PLUS))


@of("maximum", "minimum")
def _maximum(body: Body, node: Any, a: Arguments) -> Value:
    relu = body.std("relu")
    x, y = a["self"], a["other"]
    if operator(node) == "maximum":
        return body.pointwise(
            node, [x, y], lambda t: (f"{t[0].at(ATOM)} + {relu}({t[1].at(PLUS)} - {t[0].at(ATOM)})", PLUS)
        )
    return body.pointwise(
        node, [x, y], lambda t: (f"{t[0].at(ATOM)} - {relu}({t[0].at(PLUS)} - {t[1].at(ATOM)})", PLUS)
    )


def _compare(sign: str) -> Operator:
    def made(body: Body, node: Any, a: Arguments) -> Value:
        return body.pointwise(
            node, [a["self"], a["other"]], lambda t: (f"{t[0].at(ATOM)} {sign} {t[1].at(ATOM)}", COMPARE)
        )

    return made


for _name, _sign in {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}.items():
    OPERATORS[_name] = _compare(_sign)


@of("where")
def _where(body: Body, node: Any, a: Arguments) -> Value:
    return _select(body, node, [a["condition"], a["self"], a["other"]])


@of("masked_fill")
def _masked_fill(body: Body, node: Any, a: Arguments) -> Value:
    if isinstance(a["value"], float) and math.isinf(a["value"]):
        # For a softmax this is as good.
        if any(operator(user) not in ("softmax", "_softmax", "dropout") for user in node.users):
            raise Refused("it is filled with infinite numbers, and no softmax follows")
        return _select(body, node, [a["mask"], math.copysign(1000.0, a["value"]), a["self"]])
    return _select(body, node, [a["mask"], a["value"], a["self"]])


def _select(body: Body, node: Any, operands: Sequence[Any]) -> Value:
    select = body.std("select")
    return body.pointwise(node, operands, lambda t: (f"{select}({', '.join(v.text for v in t)})", ATOM))


@of("zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full")
def _filled(body: Body, node: Any, a: Arguments) -> Value:
    value = a["fill_value"] if "full" in operator(node) else float("ones" in operator(node))
    if not isinstance(value, int | float):
        raise Refused("it is not filled with a number")
    shape = body.dims(node)[0]
    return Value(number(value), shape, ATOM if value >= 0 else SIGN, number=float(value))
