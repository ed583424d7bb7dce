"""Writes a traced module as blocks and a model, along the tree of its modules."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree

from .._slvr import InputError
from . import _operators
from ._body import Body
from ._graph import MARK, Call, Refused, Traced, floats, operator, path_of, traced
from ._layers import apply, layer_text
from ._leaves import is_leaf, leaf
from ._memory import shared
from ._model import ExportError, Model, Unsupported
from ._text import Block, Shape, Value, fresh, kind, listed, name_of, quoted, sizes


def exported(module: Any, example: Any, name: str | None) -> Model:
    """See :func:`slvr.torch.export`."""
    if not isinstance(module, nn.Module):
        raise InputError(f"a module of PyTorch is expected, not {type(module).__name__}")
    if isinstance(module, torch.jit.ScriptModule):
        raise InputError("the module is a script of TorchScript: export the module that it was made of")
    for path, part in module.named_modules():
        # On several devices, or among several processes, the graph would have their copies, too.
        if isinstance(part, nn.parallel.DistributedDataParallel) or getattr(part, "device_ids", None):
            whose = f"`{path}`" if path else "the module"
            raise InputError(
                f"{whose} is a {type(part).__name__}: export it with what is inside (`.module`) in its place, and take "
                "updates of that, because names in its state dictionary are others"
            )
    if isinstance(example, tuple | list) and len(example) == 1:
        example = example[0]
    if not isinstance(example, torch.Tensor) or example.dim() == 0 or len(example) == 0:
        raise InputError("an example is one tensor, whose first dimension is the batch")
    if not example.numel() or example.is_complex() or not bool(torch.isfinite(example.double()).all()):
        raise InputError("an example has entries, all of them real and finite")
    for weight, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if isinstance(tensor, nn.parameter.UninitializedTensorMixin):
            raise InputError(f"`{weight}` has no shape yet: call the module once before it is exported")
        if tensor.is_meta:
            raise InputError(f"`{weight}` has no numbers (it is on the device `meta`): load them before the export")
    shapes = floats(module)
    model = Model(name_of(type(module).__name__) if name is None else name, "", shapes)
    if not shapes:
        raise ExportError(model.name, [Unsupported("", "", type(module).__name__, "it has no weights")])
    writer = _Writer(traced(module, example, model.name, is_leaf), model)
    text = prefix = ""
    try:
        text, prefix = writer.model(tuple(example.shape[1:]))
    except Refused as refused:  # What no module below it is to blame for.
        writer.refuse("", "", type(module).__name__, str(refused))
    if writer.problems:
        raise ExportError(model.name, writer.problems)
    return Model(model.name, text, shapes, prefix)


@dataclass(frozen=True)
class _Form:
    """How a module is declared; ``text`` is empty if it has no weights."""

    text: str
    #: Whether its children are reached as `name[0]`, not as `name.child`.
    list: bool = False


class _Inside(Body):
    """The body of a module's block, which knows how the modules below it are declared."""

    def __init__(self, writer: _Writer, path: str, declared: Sequence[str], inputs: Sequence[Any]) -> None:
        super().__init__(writer.traced, path, declared, inputs)
        self.writer = writer

    def weight(self, name: str) -> str:
        owner, _, last = name.rpartition(".")
        place = self.writer.place(owner, self.path)
        return f"{place}.{quoted(last)}" if place else quoted(last)

    def masked(self, path: str) -> bool:
        return self.writer.form(path).text.startswith("masked")


class _Writer:
    """What is written so far."""

    def __init__(self, graph: Traced, model: Model) -> None:
        self.traced, self.shapes, self.name = graph, model.shapes, model.name
        self.root = graph.root.module
        self.problems: list[Unsupported] = []
        self.blocks: dict[str, str] = {}
        self.names = {model.name}
        self.forms: dict[str, _Form] = {}
        self.calls: dict[str, list[Call]] = defaultdict(list)
        self._collect(graph.root)

    def _collect(self, call: Call) -> None:
        self.calls[call.path].append(call)
        for item in call.items:
            if isinstance(item, Call):
                self._collect(item)

    def refuse(self, path: str, node: str, what: str, why: str) -> None:
        """Adds a problem, once."""
        found = Unsupported(path, node, what, why)
        if found not in self.problems:
            self.problems.append(found)

    # The model.

    def model(self, given: Shape) -> tuple[str, str]:
        """The whole text, and what stands in it before all names."""
        self._state()
        shape, at = self._dims(self.traced.result)
        if at != 0:
            why = "the first dimension of its result is not the batch"
            self.refuse("", self.traced.result.name, type(self.root).__name__, why)
        prefix, (call,) = "", self.calls[""]
        elements = None if is_leaf(self.root) else self._chain("")
        if is_leaf(self.root) or elements is not None:
            prefix, form = "net.", self.form("") if elements is None else _Form(listed(elements))
            body = _Inside(self, "", ["net"], [self.traced.given])
            block = Block("", [("net", form.text)], [], "x |> net")
            if elements is None:
                self._leaf(body, call, "net")
                block = Block("", [("net", form.text)], body.lets, body.text(self.traced.result))
        else:
            block, body = self._block(call)
        head = f"({body.inputs[0]}: {kind(given)}) -> {kind(shape)}"
        whole = Block(head, block.declared, block.lets, block.result).text(f"model {self.name}")
        return "\n\n".join([*(f"block {name}{text}" for text, name in self.blocks.items()), whole]) + "\n", prefix

    def _dims(self, node: Any) -> tuple[Shape, int | None]:
        try:
            return self.traced.dims(node)
        except Refused:
            return (), 0

    def _state(self) -> None:
        """Refuses entries of the state dictionary that would be lost, or be two tensors of the model and one of the
        module."""
        state = self.root.state_dict(keep_vars=True)
        held = {name: state[name] for name in self.shapes}
        own = {name for name, _ in self.root.named_parameters(remove_duplicate=False)}
        own |= {name for name, _ in self.root.named_buffers(remove_duplicate=False)}
        why = {
            name: f"it is the same tensor as `{other}`, or a part of its memory"
            if other != name
            else "several of its entries are one number in memory (`expand`): give it memory of its own by `clone()`"
            for name, other in shared({name: value for name, value in held.items() if name in own}).items()
        }
        for name, value in state.items():
            if isinstance(value, torch.Tensor) and value.is_complex():
                why[name] = "its numbers are complex: hold their parts, or a constant as a buffer with persistent=False"
            elif name in held and name not in own:
                why[name] = "it is no parameter or buffer: a hook, or `get_extra_state`, adds it to the state"
            elif name in held and ("`" in name or not name.isprintable()):
                why[name] = "a backtick or a control character cannot be written: give the module another name"
        for name, reason in why.items():
            self.refuse(name.rpartition(".")[0], "", f"`{name}`", reason)

    # Declarations.

    def weights(self, path: str) -> list[str]:
        """The names of weights below a module."""
        return [name for name in self.shapes if not path or name.startswith(f"{path}.")]

    def form(self, path: str) -> _Form:
        """How a module is declared."""
        if path not in self.forms:
            self.forms[path] = self._form(path) if self.weights(path) else _Form("")
        return self.forms[path]

    def _form(self, path: str) -> _Form:
        module = self.root.get_submodule(path)
        if is_leaf(module):
            try:
                text = layer_text(leaf(module), self.calls[path], self.traced)
                made = leaf(module).block
                return _Form(self._named(type(module).__name__, made) if made else text)
            except Refused as refused:
                self.refuse(path, "", type(module).__name__, str(refused))
                return _Form("identity")
        children = [name for name, _ in module.named_children()]
        if self._is_list(module):
            if not self.calls[path]:
                inside = [self.form(f"{path}.{name}").text or "identity" for name in children]
                return _Form(listed(inside), list=True)
            if (elements := self._chain(path)) is not None:
                return _Form(listed(elements), list=True)
        calls = self.calls[path]
        if not calls:
            declared = self._declared(path)
            x = fresh("x", {child for child, _ in declared})
            return _Form(self._named(type(module).__name__, Block(f"({x})", declared, result=x)))
        texts = []
        for call in calls:
            block, _ = self._block(call)
            texts.append(block)
        if any(text != texts[0] for text in texts):
            self.refuse(path, "", type(module).__name__, "it computes something else in another call")
        return _Form(self._named(type(module).__name__, texts[0]))

    @staticmethod
    def _is_list(module: Any) -> bool:
        # What is called otherwise than by its place is no list of the language.
        if [name for name, _ in module.named_children()] != [str(k) for k in range(len(list(module.children())))]:
            return False
        if isinstance(module, nn.Sequential):
            return type(module).forward is nn.Sequential.forward
        return isinstance(module, nn.ModuleList)

    def _named(self, wanted: str, block: Block) -> str:
        """The name of a block; of two with the same text it is one."""
        text = block.text("")
        if text not in self.blocks:
            name = name_of(wanted)
            self.blocks[text] = fresh(name[0].upper() + name[1:], self.names)
        return self.blocks[text]

    def _declared(self, path: str) -> list[tuple[str, str]]:
        """A module's own tensors, and then its children."""
        start = len(path) + 1 if path else 0
        own = [(name[start:], self.shapes[name]) for name in self.weights(path) if "." not in name[start:]]
        out = [(name, f"param[{sizes(shape)}]" if shape else "param") for name, shape in own]
        for name, _ in self.root.get_submodule(path).named_children():
            if text := self.form(f"{path}.{name}" if path else name).text:
                out.append((name, text))
        return out

    def _block(self, call: Call) -> tuple[Block, _Inside]:
        """The block of one call."""
        declared = self._declared(call.path)
        inputs, outputs = self._edges(call)
        body = _Inside(self, call.path, [name for name, _ in declared], inputs)
        self._write(body, call, outputs)
        given = f"({', '.join(body.inputs)})"
        return Block(given, declared, body.lets, self._result(body, outputs)), body

    @staticmethod
    def _result(body: _Inside, outputs: Sequence[Any]) -> str:
        texts = [body.text(node) for node in outputs]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    def _chain(self, path: str) -> list[str] | None:
        """The layers of a `Sequential` that is called as a whole, unless it is more than a chain."""
        module = self.root.get_submodule(path)
        if not isinstance(module, nn.Sequential) or not self._is_list(module) or not self.weights(path):
            return None
        found: list[str] | None = None
        for call in self.calls[path]:
            elements = self._chained(call)
            if elements is None or (found is not None and found != elements):
                return None
            found = elements
        return found

    def _chained(self, call: Call) -> list[str] | None:
        inputs, outputs = self._edges(call)
        if len(inputs) != 1 or len(outputs) != 1 or not all(isinstance(item, Call) for item in call.items):
            return None
        current, elements = inputs[0], []
        for name, _ in call.module.named_children():
            path = f"{call.path}.{name}" if call.path else name
            subs = [item for item in call.items if item.path == path]
            if not subs and not self.weights(path):
                elements.append("identity")
                continue
            if len(subs) != 1:
                return None
            ends, made = self._edges(subs[0])
            element = self._element(subs[0], current) if ends == [current] and len(made) == 1 else None
            if element is None:
                return None
            elements.append(element)
            current = made[0]
        return elements if current is outputs[0] else None

    def _element(self, call: Call, given: Any) -> str | None:
        """What a list has for a call of one module."""
        (made,) = self._edges(call)[1]
        if self.weights(call.path) and not is_leaf(call.module):
            return self.form(call.path).text
        body = _Inside(self, call.path, [], [given])
        if is_leaf(call.module):
            if not self.weights(call.path):
                self._leaf(body, call, None)
                return body.text(made).removeprefix("x |> ")
            text = self.form(call.path).text
            self._leaf(body, call, "layer")
            plain = not body.lets and body.text(made) in ("x |> layer", "0")
            return text if plain else None
        self._write(body, call, [made])
        value = body.value(made)
        if not body.lets:
            if value.text == "x":
                return "identity"
            if value.stage and (value.text == f"x |> {value.stage}" or len(list(call.nodes())) == 1):
                return value.stage
        return self._named(type(call.module).__name__, Block("(x)", [], body.lets, body.text(made)))

    def place(self, path: str, base: str) -> str:
        """How a module is reached from within the block of another."""
        if path == base:
            return ""
        if base and not path.startswith(f"{base}."):
            raise Refused(f"`{path}` is a module of another block")
        out, now = "", base
        for part in path[len(base) + 1 if base else 0 :].split("."):
            outer = self.forms.get(now)
            if not out:
                out = quoted(part)
            else:
                out += f"[{part}]" if outer and outer.list else f".{quoted(part)}"
            now = f"{now}.{part}" if now else part
            self.form(now)
        return out

    # Bodies.

    def _edges(self, call: Call) -> tuple[list[Any], list[Any]]:
        """What a call is given and what it makes, in order."""
        inside, outputs = set(call.nodes()), []
        inputs: dict[Any, None] = {}
        own = f"{call.path}." if call.path else ""
        for node in call.nodes():
            for given in node.all_input_nodes:
                if (
                    given in inside
                    or given in self.traced.constants
                    or not isinstance(given.meta.get("val"), torch.Tensor)
                ):
                    continue
                if given not in self.traced.weights or not self.traced.weights[given].startswith(own):
                    inputs[given] = None
            if node is self.traced.result or any(u in self.traced.live and u not in inside for u in node.users):
                outputs.append(node)
        if call.path == "":
            return [self.traced.given], [self.traced.result]
        return list(inputs), [node for node in outputs if node not in self.traced.constants]

    def _read(self, call: Call) -> Iterator[Any]:
        """What the items of a call read, as often as they do."""
        for item in call.items:
            if not isinstance(item, Call):
                if item not in self.traced.constants:
                    found = _pytree.tree_leaves((item.args, item.kwargs))
                    source = item.args[0] if operator(item) == "getitem" else None
                    yield from (n for n in found if isinstance(n, torch.fx.Node))
                    yield from source.all_input_nodes if source is not None else ()
            elif is_leaf(item.module):
                marks = (node for node in item.items if node.target is MARK)
                yield from (node.args[0] for node in marks if "given" in json.loads(node.args[1]))
            elif self.weights(item.path):
                yield from self._edges(item)[0]
            else:
                yield from self._read(item)

    def _write(self, body: _Inside, call: Call, outputs: Sequence[Any]) -> None:
        """Writes what a call computes into a body."""
        body.uses.update(self._read(call))
        body.uses.update(outputs)
        self._items(body, call)

    def _items(self, body: _Inside, call: Call) -> None:
        for item in call.items:
            if not isinstance(item, Call):
                known = item in self.traced.constants or item in body.values
                if not known and isinstance(item.meta["val"], torch.Tensor):
                    self._node(body, item)
            elif is_leaf(item.module):
                self._leaf(body, item, None)
            elif self.weights(item.path):
                self._applied(body, item)
            else:
                self._items(body, item)

    def _node(self, body: _Inside, node: Any) -> None:
        try:
            body.put(node, _operators.write(body, node))
        except Refused as refused:
            shown = node.args[0] if operator(node) == "getitem" else node
            known = _operators.known(node)
            if not known or not any(self._lost(given) for given in node.all_input_nodes):
                self.refuse(path_of(node), shown.name, f"aten.{operator(shown)}", str(refused))
            body.values[node] = Value("0", self._dims(node)[0])

    def _lost(self, node: Any) -> bool:
        """Whether the shape of one sample is not known: an error has said so."""
        try:
            if node not in self.traced.constants and isinstance(node.meta.get("val"), torch.Tensor):
                self.traced.dims(node)
        except Refused:
            return True
        return False

    def _leaf(self, body: _Inside, call: Call, place: str | None) -> None:
        try:
            # What is refused is declared as an identity, and an error has said why.
            is_refused = self.form(call.path).text == "identity"
            if not is_refused:
                if not self.weights(call.path):
                    place = self._weightless(call)
                apply(body, call, self.place(call.path, body.path) if place is None else place)
        except Refused as refused:
            is_refused = True
            self.refuse(call.path, "", type(call.module).__name__, str(refused))
        if is_refused:
            for node in call.nodes():
                body.values[node] = Value("0", self._dims(node)[0])

    def _weightless(self, call: Call) -> str:
        """The block of a layer that has no weights, and is not declared."""
        made = leaf(call.module).block
        assert made is not None
        return self._named(type(call.module).__name__, made)

    def _applied(self, body: _Inside, call: Call) -> None:
        inputs, outputs = self._edges(call)
        self.form(call.path)
        try:
            place = self.place(call.path, body.path)
            if len(inputs) == len(outputs) == 1:
                body.put(outputs[0], body.pipe(inputs[0], place, self._dims(outputs[0])[0], listed=False))
                return
            text = f"{place}({', '.join(body.text(node) for node in inputs)})"
        except Refused as refused:
            self.refuse(call.path, "", type(call.module).__name__, str(refused))
            text = "0"
        if len(outputs) == 1:
            body.put(outputs[0], Value(text, self._dims(outputs[0])[0]))
            return
        names = [fresh("y", body.taken) for _ in outputs]
        body.lets.append(f"let ({', '.join(names)}) = {text}")
        for name, node in zip(names, outputs, strict=True):
            body.values[node] = Value(name, self._dims(node)[0])
