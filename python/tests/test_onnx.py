"""ONNX files beside onnx's own evaluation. They need torch and onnx, which `.ci/python` does not install."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import applying

import slvr

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("torch", reason="torch is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import slvr.onnx  # noqa: E402
from slvr.torch import ExportError  # noqa: E402

Node = tuple[str, list[str], str, dict[str, Any]]


def weight(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).normal(0, 0.4, shape).astype(np.float32)


def model(
    nodes: list[Node], given: tuple[int, ...], weights: dict[str, np.ndarray], kind: int = TensorProto.FLOAT
) -> Any:
    made = [helper.make_node(op, inputs, [output], name=output, **about) for op, inputs, output, about in nodes]
    graph = helper.make_graph(
        made,
        "g",
        [helper.make_tensor_value_info("x", kind, ["batch", *given])],
        [helper.make_tensor_value_info(nodes[-1][2], TensorProto.FLOAT, ["n", "k"])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def inputs(given: tuple[int, ...], n: int = 3) -> np.ndarray:
    return np.random.default_rng(7).normal(0, 1, (n, *given)).astype(np.float32)


def assert_same(proto: Any, x: np.ndarray, **options: Any) -> slvr.torch.Model:
    found = slvr.onnx.load(proto, **options)
    (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
    rename = options.get("rename", {})
    held = {rename.get(t.name, t.name): numpy_helper.to_array(t) for t in proto.graph.initializer}
    w = {found.prefix + name: held[name] for name in found.names}
    check = slvr.Check.from_source(applying("-8..8", "-8..8"), M=found, n=len(x))
    y = check.eval({"Server": [{"w": w, "x": x.astype(np.float64)}]})["y"]
    assert np.allclose(y, wanted, atol=1e-5), np.abs(y - wanted).max()
    return found


def array(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


LINEAR: list[Node] = [("Gemm", ["x", "fc.weight", "fc.bias"], "h", {"transB": 1})]
FC = {"fc.weight": weight(4, 6), "fc.bias": weight(4)}

#: What follows a linear layer of six numbers to four: the nodes, and further constants.
BEHIND: dict[str, tuple[list[Node], dict[str, np.ndarray]]] = {
    **{op: ([(op, ["h"], "y", {})], {}) for op in ("Relu", "Sigmoid", "Tanh", "Neg", "Identity", "HardSwish", "Exp")},
    "Softplus": ([("Softplus", ["h"], "y", {})], {}),
    "Dropout": ([("Dropout", ["h"], "y", {})], {}),
    "LeakyRelu": ([("LeakyRelu", ["h"], "y", {"alpha": 0.2})], {}),
    "Elu": ([("Elu", ["h"], "y", {"alpha": 0.5})], {}),
    "Gelu": ([("Gelu", ["h"], "y", {"approximate": "tanh"})], {}),
    "Softmax": ([("Softmax", ["h"], "y", {"axis": -1})], {}),
    "LogSoftmax": ([("LogSoftmax", ["h"], "y", {"axis": 1})], {}),
    "Abs, Sqrt": ([("Abs", ["h"], "a", {}), ("Sqrt", ["a"], "y", {})], {}),
    "Exp, Log": ([("Exp", ["h"], "a", {}), ("Add", ["a", "a"], "b", {}), ("Log", ["b"], "y", {})], {}),
    "Exp, Reciprocal": ([("Exp", ["h"], "a", {}), ("Reciprocal", ["a"], "y", {})], {}),
    "Sub, Mul, Div": (
        [
            ("Sub", ["h", "x4"], "a", {}),
            ("Mul", ["a", "h"], "b", {}),
            ("Exp", ["h"], "e", {}),
            ("Div", ["b", "e"], "y", {}),
        ],
        {"x4": weight(4)},
    ),
    "Reshape, Transpose, ReduceSum": (
        [
            ("Reshape", ["h", "to"], "a", {}),
            ("Transpose", ["a"], "b", {"perm": [0, 2, 1]}),
            ("ReduceSum", ["b", "axes"], "c", {"keepdims": 0}),
            ("Unsqueeze", ["c", "axes"], "y", {}),
        ],
        {"to": array(0, 2, 2), "axes": array(1)},
    ),
    "Slice, Concat, Squeeze": (
        [
            ("Slice", ["h", "start", "end", "axes"], "a", {}),
            ("Concat", ["a", "h"], "b", {"axis": 1}),
            ("Unsqueeze", ["b", "axes"], "c", {}),
            ("Squeeze", ["c", "axes"], "y", {}),
        ],
        {"start": array(1), "end": array(3), "axes": array(1)},
    ),
    "LayerNormalization": (
        [("LayerNormalization", ["h", "n.weight", "n.bias"], "y", {"axis": -1})],
        {"n.weight": weight(4), "n.bias": weight(4)},
    ),
    "MatMul": ([("MatMul", ["h", "m"], "y", {})], {"m": weight(4, 5)}),
}


@pytest.mark.parametrize("what", BEHIND)
def test_operators_compute_what_onnx_does(what: str) -> None:
    nodes, more = BEHIND[what]
    assert_same(model(LINEAR + nodes, (6,), {**FC, **more}), inputs((6,)))


def images() -> Any:
    nodes: list[Node] = [
        ("Conv", ["x", "c1.weight", "c1.bias"], "a", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
        ("BatchNormalization", ["a", "b.weight", "b.bias", "b.running_mean", "b.running_var"], "b", {"epsilon": 1e-3}),
        ("Clip", ["b", "low", "high"], "c", {}),
        ("MaxPool", ["c"], "d", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        (
            "Conv",
            ["d", "c2.weight"],
            "e",
            {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "group": 4},
        ),
        ("AveragePool", ["e"], "f", {"kernel_shape": [1, 1], "strides": [1, 1]}),
        ("GlobalAveragePool", ["f"], "g", {}),
        ("Flatten", ["g"], "h", {"axis": 1}),
        ("Gemm", ["h", "fc.weight", "fc.bias"], "y", {"transB": 1}),
    ]
    weights = {
        "c1.weight": weight(4, 2, 3, 3), "c1.bias": weight(4), "b.weight": weight(4), "b.bias": weight(4) + 1,
        "b.running_mean": weight(4), "b.running_var": np.abs(weight(4)) + 0.5, "c2.weight": weight(4, 1, 3, 3),
        "fc.weight": weight(3, 4), "fc.bias": weight(3),
    }  # fmt: skip
    limits = {"low": np.float32(0), "high": np.float32(6)}
    made = [("Constant", [], name, {"value": numpy_helper.from_array(np.array(end))}) for name, end in limits.items()]
    return model([*made, *nodes], (2, 8, 8), weights)


def test_an_image_network_is_the_same_from_a_file(tmp_path: Path) -> None:
    proto = images()
    found = assert_same(proto, inputs((2, 8, 8), 2))
    names = ["c1.weight", "c1.bias", "b.weight", "b.bias", "b.running_mean", "b.running_var", "c2.weight", "fc.weight"]
    assert set(found.names) == {*names, "fc.bias"}
    onnx.save(proto, tmp_path / "net.onnx")
    assert slvr.onnx.load(tmp_path / "net.onnx").text == found.text
    check = slvr.Check.from_file("norm_bound", m=3, M=found)
    assert check.inputs[0].fields == {found.prefix + name: shape for name, shape in found.shapes.items()}


def test_an_embedding_takes_tokens() -> None:
    nodes: list[Node] = [
        ("Gather", ["e.weight", "x"], "a", {"axis": 0}),
        ("ReduceMean", ["a", "axes"], "h", {"keepdims": 0}),
        ("Gemm", ["h", "fc.weight", "fc.bias"], "y", {"transB": 1}),
    ]
    weights = {"e.weight": weight(7, 6), "axes": array(1), **FC}
    x = np.random.default_rng(1).integers(0, 7, (3, 5))
    assert_same(model(nodes, (5,), weights, TensorProto.INT64), x)


def test_names_that_are_none_of_a_module_are_refused_and_may_be_given() -> None:
    weights = {"onnx::Gemm_7": FC["fc.weight"], "/fc/bias": FC["fc.bias"]}
    proto = model([("Gemm", ["x", "onnx::Gemm_7", "/fc/bias"], "y", {"transB": 1})], (6,), weights)
    with pytest.raises(ExportError) as raised:
        slvr.onnx.load(proto)
    assert [problem.what for problem in raised.value.unsupported] == [
        "the initialiser `onnx::Gemm_7`", "the initialiser `/fc/bias`",
    ]  # fmt: skip
    rename = {"onnx::Gemm_7": "fc.weight", "/fc/bias": "fc.bias"}
    assert assert_same(proto, inputs((6,)), rename=rename).names == ("fc.weight", "fc.bias")
    for wrong, text in [({"fc": "a"}, "no initialiser `fc`"), ({"/fc/bias": "a", "onnx::Gemm_7": "a"}, "one name")]:
        with pytest.raises(slvr.InputError, match=text):
            slvr.onnx.load(proto, rename=wrong)


#: Initialisers that no module has, or none beside the other, and those of them that are told.
TAKEN = [
    (("forward", "b"), ["forward"]),
    (("l", "l.weight"), ["l.weight"]),
    (("l.weight", "l"), ["l"]),
    (("fc.training", "fc.bias"), ["fc.training"]),
    (("state_dict", "_buffers"), ["state_dict", "_buffers"]),
    (("7", "fc.bias"), ["7"]),
]


@pytest.mark.parametrize(("names", "told"), TAKEN)
def test_names_that_a_module_has_for_something_else_are_refused(names: tuple[str, str], told: list[str]) -> None:
    weights = dict(zip(names, FC.values(), strict=True))
    proto = model([("Gemm", ["x", *names], "y", {"transB": 1})], (6,), weights)
    with pytest.raises(ExportError) as raised:
        slvr.onnx.load(proto)
    assert [one.what for one in raised.value.unsupported] == [f"the initialiser `{name}`" for name in told]
    rename = dict(zip(names, FC, strict=True))
    assert assert_same(proto, inputs((6,)), rename=rename).names == tuple(FC)


def test_a_list_has_numbers_for_names() -> None:
    weights = {"0.weight": FC["fc.weight"], "0.bias": FC["fc.bias"]}
    proto = model([("Gemm", ["x", *weights], "y", {"transB": 1})], (6,), weights)
    assert assert_same(proto, inputs((6,))).names == tuple(weights)


def test_all_that_is_not_supported_is_listed_at_once() -> None:
    proto = model(
        [*LINEAR, ("Sin", ["h"], "s", {}), ("CumSum", ["s", "axis"], "y", {})], (6,), {**FC, "axis": array(1)}
    )
    with pytest.raises(ExportError) as raised:
        slvr.onnx.load(proto)
    assert [(p.node, p.what) for p in raised.value.unsupported] == [("s", "Sin"), ("y", "CumSum")]


#: Options of operators that would make another result.
REFUSED: list[Node] = [
    ("Conv", ["x", "c.weight"], "y", {"auto_pad": "SAME_UPPER", "kernel_shape": [3, 3]}),
    ("Conv", ["x", "c.weight"], "y", {"pads": [0, 0, 1, 1], "kernel_shape": [3, 3]}),
    ("MaxPool", ["x"], "y", {"kernel_shape": [2, 2], "dilations": [2, 2]}),
    ("Flatten", ["x"], "y", {"axis": 2}),
    ("ReduceMean", ["x"], "y", {}),
]


@pytest.mark.parametrize("node", REFUSED, ids=lambda node: node[0])
def test_options_that_change_the_result_are_refused(node: Node) -> None:
    with pytest.raises(slvr.InputError, match=f"node `y`: {node[0]}"):
        slvr.onnx.load(model([node], (2, 8, 8), {"c.weight": weight(2, 2, 3, 3)}))


def test_operators_of_an_older_version_are_refused() -> None:
    proto = model([*LINEAR, ("Softmax", ["h"], "y", {})], (6,), FC)
    proto.opset_import[0].version = 11
    with pytest.raises(slvr.InputError, match="version 11"):
        slvr.onnx.load(proto)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(images().SerializeToString()[:200])
    with pytest.raises(slvr.InputError, match="cannot be read"):
        slvr.onnx.load(path)
    with pytest.raises(slvr.InputError, match="cannot be read"):
        slvr.onnx.load(tmp_path / "none.onnx")
