"""The graph of a module: traced with a batch of unknown size, and its nodes by the calls of modules."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.modules import transformer
from torch.utils import _pytree

from ._model import ExportError, Unsupported
from ._text import Shape


class Refused(Exception):
    """A node or a module that is not supported: why."""


_LIBRARY = torch.library.Library("slvr", "DEF")
# Stands around the inputs and outputs of a module that is a layer, and says which of them it is.
_LIBRARY.define("mark(Tensor x, str place) -> Tensor")
_LIBRARY.impl("mark", lambda x, place: x.clone(), "CompositeExplicitAutograd")
torch.library.register_fake("slvr::mark", lambda x, place: torch.empty_like(x), lib=_LIBRARY)
MARK = torch.ops.slvr.mark.default


@dataclass
class Call:
    """One call of a module."""

    path: str
    module: Any
    items: list[Any] = field(default_factory=list)

    def nodes(self) -> Iterator[Any]:
        """All nodes inside, in order."""
        for item in self.items:
            if isinstance(item, Call):
                yield from item.nodes()
            else:
                yield item


@dataclass
class Traced:
    """What is traced."""

    root: Call
    #: The placeholder of the input.
    given: Any
    #: What is returned.
    result: Any
    #: The names of parameters and buffers, by their placeholders.
    weights: dict[Any, str]
    #: Tensors that do not depend on inputs or weights.
    constants: dict[Any, Any]
    #: The nodes that the result depends on.
    live: set[Any]
    #: The symbol of the size of the batch.
    batch: Any

    def dims(self, node: Any) -> tuple[Shape, int | None]:
        """The shape of a node for one sample, and where its batch stands."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            raise Refused("it is no tensor")
        found = [k for k, size in enumerate(value.shape) if isinstance(size, torch.SymInt)]
        if any(value.shape[k].node.expr != self.batch for k in found):
            raise Refused("it joins the samples of a batch with another dimension")
        if len(found) > 1:
            raise Refused("it computes with pairs of samples of a batch")
        at = found[0] if found else None
        return tuple(int(n) for k, n in enumerate(value.shape) if k != at), at


def floats(module: Any) -> dict[str, Shape]:
    """The entries of the state dictionary that are real numbers."""
    state = module.state_dict()
    return {
        name: tuple(value.shape)
        for name, value in state.items()
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    }


@contextlib.contextmanager
def _evaluating(module: Any, leaf: Callable[[Any], bool]) -> Iterator[None]:
    """A module as in evaluation, with marks around those that are layers; afterwards it is as it was."""
    modes = [(part, part.training) for part in module.modules()]
    fast = torch.backends.mha.get_fastpath_enabled()
    # It compares the entries of a mask, which a trace does not have; what it finds is only a hint.
    detect = getattr(transformer, "_detect_is_causal_mask", None)
    marked = []
    try:
        module.eval()
        torch.backends.mha.set_fastpath_enabled(False)
        if detect is not None:
            transformer._detect_is_causal_mask = lambda mask, is_causal=None, size=None: bool(is_causal)
        for part in module.modules():
            if leaf(part):
                part.forward = _marked(part)
                marked.append(part)
        yield
    finally:
        for part in marked:
            del part.forward
        torch.backends.mha.set_fastpath_enabled(fast)
        if detect is not None:
            transformer._detect_is_causal_mask = detect
        for part, mode in modes:
            part.training = mode


def _marked(module: Any) -> Callable[..., Any]:
    own, signature = module.forward, inspect.signature(module.forward)

    @functools.wraps(own)
    def forward(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        usual = {name: parameter.default for name, parameter in signature.parameters.items()}
        others = [n for n, v in bound.arguments.items() if not _pytree.tree_any(torch.is_tensor, v) and v != usual[n]]
        for name, value in bound.arguments.items():
            parts, shape = _pytree.tree_flatten(value)
            for k, part in enumerate(parts):
                if torch.is_tensor(part):
                    place = name if len(parts) == 1 else f"{name}.{k}"
                    parts[k] = MARK(part, json.dumps({"given": place, "options": others}))
            bound.arguments[name] = _pytree.tree_unflatten(parts, shape)
        made, spec = _pytree.tree_flatten(own(*bound.args, **bound.kwargs))
        for k, value in enumerate(made):
            if torch.is_tensor(value):
                made[k] = MARK(value, json.dumps({"made": k}))
        return _pytree.tree_unflatten(made, spec)

    return forward


def traced(module: Any, example: Any, name: str, leaf: Callable[[Any], bool]) -> Traced:
    """Traces a module on an example."""
    example = torch.cat([example, example]) if len(example) == 1 else example
    batch = torch.export.Dim("batch", min=2)
    try:
        bound = inspect.signature(module.forward).bind(example)
    except TypeError as error:
        why = f"its `forward` is called with one tensor, by position, and this fails: {error}"
        raise ExportError(name, [Unsupported("", "", type(module).__name__, why)]) from error
    # As the arguments are bound: those of `*args` are a tuple.
    shapes = {key: ({0: batch},) if isinstance(value, tuple) else {0: batch} for key, value in bound.arguments.items()}
    try:
        with warnings.catch_warnings(), torch.no_grad(), _evaluating(module, leaf):
            warnings.simplefilter("ignore")
            program = torch.export.export(module, (example,), dynamic_shapes=shapes, strict=False)
    except Exception as error:  # Whatever the module raises, too.
        why = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        if "batch" in str(error) and re.search("specialized|Constraints violated", str(error)):
            why = "it does other things for batches of other sizes, or computes with the size of the batch"
        if "data-dependent" in str(error):
            why = "what it computes depends on values of tensors, not only on shapes"
        raise ExportError(name, [Unsupported("", "", type(module).__name__, why)]) from error
    return _of_program(program, module, name)


def _of_program(program: Any, module: Any, name: str) -> Traced:
    signature, graph = program.graph_signature, program.graph
    weights: dict[Any, str] = {}
    constants: dict[Any, Any] = {}
    given = result = None
    whole = floats(module)
    places = {spec.arg.name: spec for spec in signature.input_specs}
    for node in graph.nodes:
        if node.op == "placeholder":
            spec = places[node.name]
            if spec.target is None:
                given = node
            elif spec.target in whole:
                weights[node] = spec.target
            elif "PARAMETER" in str(spec.kind):
                owner, _, last = spec.target.rpartition(".")
                real = module.get_parameter(spec.target).is_floating_point()
                why = "a hook takes it out of the state dictionary" if real else "its numbers are not real"
                raise ExportError(name, [Unsupported(owner, "", f"`{last}`", why)])
            else:
                held = program.constants if spec.target in program.constants else program.state_dict
                constants[node] = held[spec.target].detach().cpu()
        elif node.op == "output":
            result = node.args[0]
    problems = _without_changes(graph, weights)
    parts = _pytree.tree_leaves(result)
    if len(parts) != 1 or not hasattr(parts[0], "meta"):
        why = f"it returns {len(parts)} tensors: a model has one result"
        raise ExportError(name, [*problems, Unsupported("", "", type(module).__name__, why)])
    if problems:
        raise ExportError(name, problems)
    if given is None or given.meta["val"].dim() == 0 or not isinstance(given.meta["val"].shape[0], torch.SymInt):
        why = "its result does not depend on the input"
        raise ExportError(name, [Unsupported("", "", type(module).__name__, why)])
    live = _ancestors(parts[0])
    _fold(graph, constants, live)
    batch = given.meta["val"].shape[0].node.expr
    return Traced(_calls(graph, module, live), given, parts[0], weights, constants, live, batch)


def _ancestors(node: Any) -> set[Any]:
    found, rest = set(), [node]
    while rest:
        now = rest.pop()
        if now not in found:
            found.add(now)
            rest.extend(now.all_input_nodes)
    return found


def stack(node: Any) -> list[tuple[str, str]]:
    """The calls that a node stands in: a key for each, and the path of the module."""
    entries = node.meta.get("nn_module_stack") or {}
    return [(key, value[0]) for key, value in entries.items() if key.startswith("L__self__") and value[0]]


def path_of(node: Any) -> str:
    entries = stack(node)
    return entries[-1][1] if entries else ""


def _calls(graph: Any, module: Any, live: set[Any]) -> Call:
    """The nodes by calls; `torch.export` writes a second call of a module as `name@1`."""
    root = Call("", module)
    known: dict[tuple[str, ...], Call] = {(): root}
    for node in graph.nodes:
        if node.op != "call_function" or node not in live or not _is_tensor(node):
            continue
        keys: tuple[str, ...] = ()
        for key, path in stack(node):
            outer, keys = known[keys], (*keys, key)
            if keys not in known:
                known[keys] = Call(path, module.get_submodule(path))
                outer.items.append(known[keys])
        known[keys].items.append(node)
    return root


def _is_tensor(node: Any) -> bool:
    value = node.meta.get("val")
    several = isinstance(value, tuple | list) and any(isinstance(v, torch.Tensor) for v in value)
    return several or isinstance(value, torch.Tensor)


#: Operators whose result lies in the memory of their operand.
_VIEWS = frozenset(
    "alias as_strided chunk contiguous detach diagonal dropout expand expand_as feature_dropout flatten "  # noqa: SIM905
    "getitem lift_fresh movedim mT narrow numpy_T permute reshape reshape_as select slice split "
    "split_with_sizes squeeze swapaxes swapdims t to transpose type_as unbind unflatten unfold unsqueeze "
    "view view_as".split()
)


def operator(node: Any) -> str:
    """The name of what a node computes, without its overload: ``conv2d``."""
    schema = getattr(node.target, "_schema", None)
    return str(schema.name).split("::")[-1] if schema else str(getattr(node.target, "__name__", node.target))


def _changes(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    return bool(schema and schema.arguments and schema.is_mutable and node.args)


def _without_changes(graph: Any, weights: dict[Any, str]) -> list[Unsupported]:
    """Whoever reads afterwards what an operator has changed in place reads its result instead."""
    order = {node: k for k, node in enumerate(graph.nodes)}
    problems = []
    for node in list(graph.nodes):
        if node.op != "call_function" or not _changes(node):
            continue
        changed = node.args[0]
        family = _family(changed)
        if own := [f"`{weights[one]}`" for one in family if one in weights]:
            why = f"it changes {own[0]}, which is the module's own, in evaluation"
            problems.append(Unsupported(path_of(node), node.name, f"aten.{operator(node)}", why))
        for other in family - {node, changed}:
            if any(order[user] > order[node] for user in other.users) and not _follows(other, node):
                whose = f"`{path_of(other)}` returns" if other.target is MARK else f"`{other.name}` is"
                why = f"it changes a part of what {whose}, which is read afterwards"
                problems.append(Unsupported(path_of(node), node.name, f"aten.{operator(node)}", why))
                break
        later = [user for user in changed.users if order[user] > order[node]]
        changed.replace_all_uses_with(node, delete_user_cb=lambda user, later=later: user in later)
    return problems


def _family(node: Any) -> set[Any]:
    """All nodes that may lie in the same memory."""
    root = node
    while root.op == "call_function" and (operator(root) in _VIEWS or _changes(root)) and root.all_input_nodes:
        root = root.all_input_nodes[0]
    found, rest = set(), [root]
    while rest:
        now = rest.pop()
        found.add(now)
        rest.extend(
            user
            for user in now.users
            if user not in found
            and user.op == "call_function"
            and (operator(user) in _VIEWS or _changes(user))
            and user.all_input_nodes[0] is now
        )
    return found


def _follows(node: Any, start: Any) -> bool:
    """Whether a node is made of another."""
    return start in _ancestors(node)


def _fold(graph: Any, constants: dict[Any, Any], live: set[Any]) -> None:
    """Computes what depends on constants only."""

    def plain(value: Any) -> bool:
        return not isinstance(value, torch.fx.Node) or value in constants

    for node in graph.nodes:
        if node.op != "call_function" or node not in live or node.target is MARK or not _is_tensor(node):
            continue
        inputs, spec = _pytree.tree_flatten((node.args, node.kwargs))
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) or "empty" in operator(node):
            continue
        if all(plain(value) for value in inputs):
            known = [constants[v] if isinstance(v, torch.fx.Node) else v for v in inputs]
            copies = [v.clone() if torch.is_tensor(v) else v for v in known]
            args, options = _pytree.tree_unflatten(copies, spec)
            if "device" in options:
                options = {**options, "device": torch.device("cpu")}
            constants[node] = node.target(*args, **options)
