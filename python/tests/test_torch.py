"""Models from PyTorch: stored texts compile and compute what PyTorch does. With torch, they are made anew, too."""

from __future__ import annotations

import copy
import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import applying
from weights import image, weight

import slvr
from slvr.torch import ExportError, Model

REFERENCE = Path(__file__).parent / "reference"
ABOUT: dict[str, Any] = json.loads((REFERENCE / "models.json").read_text())


def stored(name: str) -> Model:
    about = ABOUT[name]
    shapes = {n: tuple(shape) for n, shape in about["shapes"].items()}
    return Model(name, (REFERENCE / f"{name}.slvr").read_text(), shapes, about["prefix"])


@functools.cache
def check(name: str, n: int) -> slvr.Check:
    # Its weights together are longer than others may be.
    weights = "-4..4" if name == "MobileNetV2" else "-2..2"
    text = applying(weights, "0..12" if ABOUT[name]["tokens"] else "-1..1")
    return slvr.Check.from_source(text, M=stored(name), n=n)


def inputs(name: str, n: int) -> dict[str, Any]:
    about, model = ABOUT[name], stored(name)
    w = {model.prefix + name: weight(name, shape) for name, shape in model.shapes.items()}
    return {"Server": [{"w": w, "x": np.stack([image(k, tuple(about["input"]), about["tokens"]) for k in range(n)])}]}


#: Those of which one input is enough.
LARGE = {"MobileNetV2", "ResNet18", "SqueezeNet"}


def error(name: str, n: int, **options: Any) -> float:
    wanted = np.array(ABOUT[name]["outputs"][:n])
    return float(np.abs(check(name, n).eval(inputs(name, n), **options)["y"] - wanted).max())


@pytest.mark.parametrize("name", ABOUT)
def test_names_and_shapes_are_those_of_the_state_dictionary(name: str) -> None:
    model = stored(name)
    fields = check(name, 1 if name in LARGE else 3).inputs[0].fields
    wanted = {model.prefix + n: shape for n, shape in model.shapes.items()}
    assert fields == wanted
    # Within an LSTM of several layers the language goes by kinds of weights, and PyTorch by layers.
    assert name == "Lstm" or list(fields) == list(wanted)


@pytest.mark.parametrize("name", ABOUT)
def test_outputs_are_those_of_pytorch(name: str) -> None:
    assert error(name, 1 if name in LARGE else 3) < 1e-5


@pytest.mark.parametrize("name", ["LeNet", "Sequential"])
def test_outputs_are_nearly_so_in_the_ring(name: str) -> None:
    assert error(name, 1, exact=True) < 1e-3


def test_an_update_is_a_difference_by_the_names_of_the_model() -> None:
    model = stored("Sequential")
    before = {name: weight(name, shape).astype(np.float32) for name, shape in model.shapes.items()}
    after = {name: value + np.float32(0.25) for name, value in before.items()}
    update = model.update({**before, "1.num_batches_tracked": np.int64(3)}, after)
    assert list(update) == [f"net.{name}" for name in model.names]
    assert all(value.dtype == np.float64 and np.abs(value - 0.25).max() < 1e-6 for value in update.values())
    norm = slvr.Check.from_file("norm_bound", m=3, M=model)
    aggregate = norm.eval({"Client": [{"update": update}] * 3})["aggregate"]
    assert np.abs(aggregate["net.0.bias"] - 0.25).max() < 1e-6
    with pytest.raises(slvr.InputError, match=r"after: `0\.weight` is missing"):
        model.update(before, {})
    with pytest.raises(slvr.InputError, match=r"before: `0\.bias` has the shape \[3\], not \[8\]"):
        model.update({**before, "0.bias": np.zeros(3)}, after)
    with pytest.raises(slvr.InputError, match="no name of a model"):
        Model("a b", "", {})


def test_a_model_with_some_trainable_tensors_has_only_these() -> None:
    whole = stored("Encoder")
    names = [name for name in whole.names if name.startswith(("encoder.self_attn", "position"))]
    model = whole.trainable(names)
    norm = slvr.Check.from_file("norm_bound", m=3, M=model)
    assert norm.inputs[0].fields == {name: whole.shapes[name] for name in names} == model.shapes
    zeros = {name: np.zeros(shape) for name, shape in whole.shapes.items()}
    update = model.update(zeros, {name: value + 1 for name, value in zeros.items()})
    assert list(update) == names
    # Numbers and words of the language as names of modules.
    words = Model("Net", "", {"in.0.lora.weight": (2, 3), "in.1.lora.weight": (2, 3), "in.1.scale": ()})
    some = words.trainable(words.names)
    assert slvr.Check.from_file("secure_aggregation", m=3, M=some).inputs[0].fields == words.shapes
    with pytest.raises(slvr.CompileError, match="E0035"):
        slvr.Check.from_file("slvr_accuracy", m=6, c=1, b=2, M=model)
    with pytest.raises(slvr.InputError, match="has no `head`"):
        whole.trainable(["head"])
    with pytest.raises(slvr.InputError, match="no tensor"):
        whole.trainable([])


def test_the_package_needs_no_torch() -> None:
    code = "import sys, slvr.torch; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What follows needs torch.


def make() -> Any:
    pytest.importorskip("torch", reason="torch is not installed")
    import make

    return make


@pytest.mark.parametrize("name", ABOUT)
def test_texts_are_those_that_are_made_anew(name: str) -> None:
    made, model = make(), stored(name)
    found = made.model(name)
    assert found.text == model.text
    assert (found.prefix, found.shapes) == (model.prefix, model.shapes)
    state = made.module(name).state_dict()
    assert list(found.names) == [n for n, value in state.items() if value.is_floating_point()]


@pytest.mark.parametrize("name", ["LeNet", "Twice", "Lstm"])
def test_stored_outputs_are_those_of_this_torch(name: str) -> None:
    assert np.abs(np.array(make().outputs(name)) - np.array(ABOUT[name]["outputs"])).max() < 1e-8


def test_what_is_revealed_is_added_to_a_module() -> None:
    made, model = make(), stored("Sequential")
    net = made.module("Sequential").float().train()
    before = copy.deepcopy(net)
    revealed = {f"net.{name}": np.full(shape, 0.5) for name, shape in model.shapes.items()}
    model.load(revealed, net)
    update = model.update(before, net)
    assert all(np.abs(value - 0.5).max() < 1e-6 for value in update.values())
    assert net.training and net[0].weight.requires_grad
    assert int(net[1].num_batches_tracked) == 0
    with pytest.raises(slvr.InputError, match=r"see `net\.0\.bias`"):
        model.load({n: value for n, value in revealed.items() if n != "net.0.bias"}, net)
    with pytest.raises(slvr.InputError, match=r"`0\.bias` is not in both"):
        model.load({**revealed, "net.0.bias": np.zeros(2)}, net)
    assert all(np.array_equal(value, update[name]) for name, value in model.update(before, net).items())


def test_an_export_leaves_the_module_as_it_was() -> None:
    made = make()
    import torch

    net = made.MODELS["Encoder"][0]().train()
    net.encoder.dropout.eval()
    modes = [part.training for part in net.modules()]
    made.slvr.torch.export(net, torch.zeros(1, 5, dtype=torch.long))
    assert [part.training for part in net.modules()] == modes
    assert not any("forward" in vars(part) for part in net.modules())
    for wrong in (torch.zeros(()), torch.zeros(0, 5), (torch.zeros(2, 5),) * 2, [1.0]):
        with pytest.raises(slvr.InputError, match="one tensor"):
            made.slvr.torch.export(net, wrong)
    with pytest.raises(slvr.InputError, match="no name of a model"):
        made.slvr.torch.export(net, torch.zeros(1, 5, dtype=torch.long), name="a b")


#: What is listed of each module: the module, the node, and what it computes.
UNSUPPORTED: dict[str, list[tuple[str, str, str]]] = {
    "functions": [("", "sin", "aten.sin"), ("inner", "erf", "aten.erf"), ("", "cumsum", "aten.cumsum")],
    "volume": [("c", "conv3d", "aten.conv3d")],
    "recurrent": [("r", "rnn_tanh", "aten.rnn_tanh")],
    "statistics_of_the_batch": [("b", "", "BatchNorm1d")],
    "batch_mean": [("", "mean", "aten.mean"), ("", "softmax", "aten.softmax")],
    "pairs": [("", "matmul", "aten.matmul")],
    "state_of_cells": [("r", "", "LSTM")],
    "attention_over_the_batch": [("a", "", "MultiheadAttention")],
    "tied": [("b", "", "`b.weight`")],
    "two_results": [("", "", "TwoResults")],
    "computed_weights": [("w.parametrizations.weight.0", "_weight_norm", "aten._weight_norm")],
    "reflected": [("c", "", "Conv2d")],
    "random": [("", "dropout", "aten.dropout")],
    "depends_on_values": [("", "", "DependsOnValues")],
    "other_size": [("c", "", "ConvTranspose2d")],
    "infinitely_small": [("", "masked_fill", "aten.masked_fill")],
    "changes_a_part": [("", "mul_", "aten.mul_")],
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_all_that_is_not_supported_is_listed(name: str) -> None:
    made = make()
    import torch
    import unsupported

    module, shape = unsupported.MODULES[name]
    with pytest.raises(ExportError) as raised:
        made.slvr.torch.export(module, torch.zeros(2, *shape), name="Net")
    assert isinstance(raised.value, slvr.SlvrError)
    assert [(one.module, one.node, one.what) for one in raised.value.unsupported] == UNSUPPORTED[name]
    assert all(str(one) in str(raised.value) for one in raised.value.unsupported)


def test_a_model_that_computes_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from dataclasses import replace

    import slvr.torch
    from slvr.torch import _export

    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())
    right = _export.exported(net, torch.zeros(2, 4), "Net")
    monkeypatch.setattr(_export, "exported", lambda *given: replace(right, text=right.text.replace("tanh", "sigmoid")))
    with pytest.raises(ExportError, match="computes something else"):
        slvr.torch.export(net, torch.zeros(2, 4))


def _layer_and(torch: Any, function: Any) -> Any:
    """A module of one layer, and what a function makes of its result and the input."""

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.fc = torch.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return function(self.fc(x), x)

    return Net()


def test_what_is_no_arithmetic_of_real_numbers_is_refused() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import slvr.torch

    def net(function: Any) -> Any:
        return _layer_and(torch, lambda y, x: y + function(x).float())

    wrong = {
        "adds bits": lambda x: (x > 50) + (x > 30),
        "wraps around": lambda x: (x > 50).to(torch.uint8) * 200 + (x > 30).to(torch.uint8) * 100,
        "makes bits of numbers": lambda x: ((x > 30).int() + (x > 10).int()).bool(),
        "its threshold": lambda x: torch.nn.functional.softplus(x, threshold=3),
        "depends on the batch": lambda x: x * (2 if x.shape[0] > 1 else 1),
    }
    for text, function in wrong.items():
        with pytest.raises(ExportError, match=text):
            slvr.torch.export(net(function), torch.zeros(2, 4))
    # An example that the module changes is left alone.
    example = torch.ones(2, 4)
    slvr.torch.export(net(lambda x: x.clone().add_(1)), example)
    assert bool((example == 1).all())


def test_a_list_with_names_of_its_own_keeps_them() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from collections import OrderedDict

    import slvr.torch

    layers = OrderedDict(fc1=torch.nn.Linear(4, 4), act=torch.nn.ReLU(), fc2=torch.nn.Linear(4, 4))
    for net in (
        torch.nn.Sequential(layers),
        torch.nn.Sequential(*layers.values())[0:3],
        torch.nn.Sequential(layers)[1:],
    ):
        made = slvr.torch.export(net, torch.zeros(2, 4))
        fields = slvr.Check.from_file("norm_bound", m=3, M=made).inputs[0].fields
        assert list(fields) == [made.prefix + name for name in net.state_dict()]


def test_loading_changes_everything_or_nothing() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import slvr.torch

    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    made = slvr.torch.export(net, torch.zeros(2, 3))
    step = {made.prefix + name: np.ones(shape) for name, shape in made.shapes.items()}
    before = {name: value.clone() for name, value in net.state_dict().items()}
    net[1].weight = torch.nn.Parameter(torch.zeros(1, 3).expand(3, 3))
    with pytest.raises(slvr.InputError, match="cannot hold numbers"):
        made.load(step, net)
    assert torch.equal(net[0].weight, before["0.weight"])
    net[1].weight = torch.nn.Parameter(before["1.weight"].clone())
    made.load(step, net)
    assert all(torch.equal(value, before[name] + 1) for name, value in net.state_dict().items())
    with pytest.raises(slvr.InputError, match="not be finite"):
        made.load({name: value * np.inf for name, value in step.items()}, net)


def test_tensors_that_share_memory_are_refused() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import slvr.torch

    def net(second: Any) -> Any:
        made = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
        made[1].weight = torch.nn.Parameter(second(made[0].weight.data))
        return made

    # Another parameter of the same memory, a view, a part, and entries that are one.
    for second in (lambda w: w, lambda w: w.t(), lambda w: w.view(-1)[:4].expand(4, 4), lambda w: w[:1].expand(4, 4)):
        with pytest.raises(ExportError, match=r"`1\.weight`: it is the same tensor as `0\.weight`"):
            slvr.torch.export(net(second), torch.zeros(2, 4))
    with pytest.raises(ExportError, match=r"`1\.weight`: several of its entries are one number"):
        slvr.torch.export(net(lambda w: torch.zeros(4, 1).expand(4, 4)), torch.zeros(2, 4))
    # Two parts of one memory, also row by row, are two tensors.
    whole = torch.rand(4, 8)
    apart = net(lambda w: whole[:, ::2])
    apart[0].weight = torch.nn.Parameter(whole[:, 1::2])
    made = slvr.torch.export(apart, torch.zeros(2, 4))
    tied = net(lambda w: w.t())
    before = {name: value.clone() for name, value in tied.state_dict().items()}
    with pytest.raises(slvr.InputError, match=r"`1\.weight` .* is the memory of `0\.weight`"):
        made.load({made.prefix + name: np.ones(shape) for name, shape in made.shapes.items()}, tied)
    assert all(torch.equal(value, before[name]) for name, value in tied.state_dict().items())


def test_an_update_against_the_own_memory_of_a_module_is_refused() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import slvr.torch

    for dtype in (torch.float32, torch.bfloat16):
        net = torch.nn.Linear(3, 3).to(dtype)
        made = slvr.torch.export(net, torch.zeros(2, 3, dtype=dtype))
        held = [net, net.state_dict()]
        if dtype == torch.float32:
            held.append({name: value.detach().numpy() for name, value in net.state_dict().items()})
        before = {name: value.clone() for name, value in net.state_dict().items()}
        with torch.no_grad():
            net.bias.add_(1)
        for own in held:
            with pytest.raises(slvr.InputError, match=r"before: `weight` is in the memory of after.*value\.clone\(\)"):
                made.update(own, net)
        assert np.abs(made.update(before, net)["net.bias"] - 1).max() < 0.01


def test_complex_numbers_are_refused() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import slvr.torch

    class Net(torch.nn.Linear):
        def __init__(self, function: Any, persistent: bool = False) -> None:
            super().__init__(3, 3)
            self.function = function
            self.register_buffer("turn", torch.tensor([1j, 2, 3 + 1j]), persistent=persistent)

        def forward(self, x: Any) -> Any:
            return super().forward(x) + self.function(x, self.turn)

    def parts(x: Any, turn: Any) -> Any:
        return torch.view_as_real(turn)[:, 0]

    made = slvr.torch.export(Net(parts), torch.zeros(2, 3))
    with pytest.raises(ExportError, match="`turn`: its numbers are complex: hold their parts"):
        slvr.torch.export(Net(parts, persistent=True), torch.zeros(2, 3))
    for function in (lambda x, turn: (x * turn).abs(), lambda x, turn: (x * 1j).abs()):
        with pytest.raises(ExportError, match=r"aten\.mul: its numbers are complex"):
            slvr.torch.export(Net(function), torch.zeros(2, 3))
    with pytest.raises(slvr.InputError, match="real and finite"):
        slvr.torch.export(Net(parts), torch.zeros(2, 3, dtype=torch.complex64))
    real = {name: np.ones(shape) for name, shape in made.shapes.items()}
    for wrong in (real["bias"] + 1j, np.array(["a", "b", "c"])):
        with pytest.raises(slvr.InputError, match=r"after: `bias` is of .*, which are no real numbers"):
            made.update(real, {**real, "bias": wrong})
        with pytest.raises(slvr.InputError, match=r"`bias` is of .*, which are no real numbers"):
            made.load({**real, "bias": wrong}, Net(parts))


def test_names_and_states_that_cannot_be_written_are_refused() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import slvr.torch

    nn = torch.nn
    for name in ("a`b", "a\nb", "\u200ea"):
        net = nn.Sequential()
        net.add_module(name, nn.Linear(3, 3))
        with pytest.raises(ExportError, match="give the module another name"):
            slvr.torch.export(net, torch.zeros(2, 3))

    class Extra(nn.Linear):
        def get_extra_state(self) -> Any:
            return torch.ones(3)

    with pytest.raises(ExportError, match="`_extra_state`: it is no parameter or buffer"):
        slvr.torch.export(Extra(3, 3), torch.zeros(2, 3))
    hooked = nn.Linear(3, 3)
    hooked._register_state_dict_hook(lambda module, state, prefix, _: state.__delitem__("bias"))
    with pytest.raises(ExportError, match="`bias`: a hook takes it out of the state dictionary"):
        slvr.torch.export(hooked, torch.zeros(2, 3))
    with pytest.raises(slvr.InputError, match=r"`0\.weight` has no shape yet"):
        slvr.torch.export(nn.Sequential(nn.LazyLinear(3)), torch.zeros(2, 3))
    with pytest.raises(slvr.InputError, match=r"`running_mean` has no shape yet"):
        slvr.torch.export(nn.LazyBatchNorm1d(affine=False), torch.zeros(2, 3))
    with pytest.raises(slvr.InputError, match=r"`weight` has no numbers"):
        slvr.torch.export(nn.Linear(3, 3, device="meta"), torch.zeros(2, 3))

    class Counting(nn.Linear):
        def __init__(self) -> None:
            super().__init__(3, 3)
            self.register_buffer("count", torch.zeros(3))
            self.calls = 0

        def forward(self, x: Any) -> Any:
            self.count.add_(1)
            return super().forward(x) + self.count

    class Stateful(Counting):
        def forward(self, x: Any) -> Any:
            self.calls += 1
            return nn.Linear.forward(self, x) * self.calls

    for net, why in ((Counting(), r"aten\.add_: it changes `count`"), (Stateful(), "another in a second call")):
        with pytest.raises(ExportError, match=why):
            slvr.torch.export(net, torch.zeros(2, 3))


def test_wrapped_modules_have_the_names_of_their_wrapping() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import slvr.torch

    nn = torch.nn

    class Any_(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, *given: Any, **options: Any) -> Any:
            return self.fc(*given, **options)

    averaged = torch.optim.swa_utils.AveragedModel(Any_())
    for net in (Any_(), nn.DataParallel(Any_()), torch.compile(Any_()), nn.Sequential(torch.compile(Any_())), averaged):
        made = slvr.torch.export(net, torch.zeros(2, 3))
        assert list(made.names) == [name for name, value in net.state_dict().items() if value.is_floating_point()]
    several = nn.DataParallel(Any_())
    several.device_ids = [0, 1]
    for net, whose in ((several, "the module"), (nn.Sequential(several), "`0`")):
        with pytest.raises(slvr.InputError, match=rf"{whose} is a DataParallel: export it with what is inside"):
            slvr.torch.export(net, torch.zeros(2, 3))

    class Two(nn.Linear):
        def forward(self, x: Any, mask: Any) -> Any:
            return super().forward(x) * mask

    class Named(nn.Linear):
        def forward(self, *, x: Any) -> Any:
            return super().forward(x)

    for net, why in ((Two(3, 3), "missing a required argument: 'mask'"), (Named(3, 3), "too many positional")):
        with pytest.raises(ExportError, match=f"called with one tensor, by position, and this fails: {why}"):
            slvr.torch.export(net, torch.zeros(2, 3))


def test_numbers_that_no_model_has_are_told() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import slvr.torch

    def net(function: Any) -> Any:
        return _layer_and(torch, lambda y, _: function(y))

    of_the_batch = {
        "mul": lambda x: x * x.size(0),
        "div": lambda x: x / x.size(0),
        "pow": lambda x: x ** x.size(0),
        "add": lambda x: torch.add(x, x, alpha=x.size(0)),
        "clamp": lambda x: x.clamp(0, x.size(0)),
        "arange": lambda x: x + torch.arange(x.size(0))[:, None],
        "scalar_tensor": lambda x: x + torch.tensor(x.size(0)),
    }
    for name, function in of_the_batch.items():
        with pytest.raises(ExportError, match=rf"aten\.{name}: it computes with the size of the batch"):
            slvr.torch.export(net(function), torch.zeros(2, 4))
    for function in (lambda x: x * x.size(0) ** 0.5, lambda x: x[:, x.size(0) - 1]):
        with pytest.raises(ExportError, match="computes with the size of the batch"):
            slvr.torch.export(net(function), torch.zeros(2, 4))
    # As a size it is none of the numbers that are computed with.
    slvr.torch.export(net(lambda x: x[: x.size(0)] + torch.full((x.size(0), 1), 2.0)), torch.zeros(2, 4))
    for function, number in ((lambda x: x.clamp(-np.inf, 1), "-inf"), (lambda x: x * np.nan, "nan")):
        with pytest.raises(ExportError, match=f"one of its numbers is {number}"):
            slvr.torch.export(net(function), torch.zeros(2, 4))
    with pytest.raises(ExportError, match="constant that is complex, infinite"):
        slvr.torch.export(net(lambda x: x + torch.full((4,), np.inf)), torch.zeros(2, 4))


def test_layers_with_more_than_they_have_by_themselves_keep_it() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from torch.nn.utils import prune

    import slvr.torch

    nn = torch.nn

    class Scaled(nn.Linear):
        def __init__(self) -> None:
            super().__init__(3, 3)
            self.scale = nn.Parameter(torch.ones(3))

    class Twice(nn.Linear):
        def __call__(self, x: Any) -> Any:
            return super().__call__(x) * 2

    constant = nn.Linear(3, 3)
    del constant.weight
    constant.weight = torch.ones(3, 3)
    pruned = prune.random_unstructured(nn.Linear(3, 3), "weight", 0.5)
    single = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    single[0].register_forward_hook(lambda module, given, made: made.float() * 2)
    nets = [Scaled(), nn.Sequential(Scaled()), Twice(3, 3), nn.Sequential(Twice(3, 3)), pruned, constant, single]
    for net in nets:
        made = slvr.torch.export(net, torch.zeros(2, 3))
        fields = slvr.Check.from_file("secure_aggregation", m=3, M=made).inputs[0].fields
        assert sorted(fields) == sorted(made.prefix + name for name in net.state_dict())
    hooked = nn.Conv1d(1, 1, 2)
    hooked.register_forward_hook(lambda module, given, made: made * 2)
    with pytest.raises(ExportError, match="supported as a module of PyTorch alone, one without hooks"):
        slvr.torch.export(hooked, torch.zeros(2, 1, 3))
    handle = nn.modules.module.register_module_forward_hook(lambda m, _, y: y * 3 if type(m) is nn.Linear else None)
    try:
        assert "* 3" in slvr.torch.export(nn.Sequential(nn.Linear(3, 3)), torch.zeros(2, 3)).text
    finally:
        handle.remove()
