"""Text of the language: names, numbers, expressions, blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Shape = tuple[int, ...]

#: The words that are no names.
WORDS = frozenset(
    "as block const each else extern false fn for from if in input iterate let model of parties predicate public "  # noqa: SIM905
    "require reveal sample secret state store to true use weights".split()
)
WIDTH = 100

#: How tightly an expression binds.
ATOM, SIGN, TIMES, PLUS, COMPARE, PIPE = range(6)


@dataclass(frozen=True)
class Value:
    """An expression, and its shape for one sample."""

    text: str
    shape: Shape
    level: int = ATOM
    #: What stands behind the last `|>` if a list may have it in the place of a layer.
    stage: str | None = None
    #: The number that every entry is.
    number: float | None = None
    #: What it is a reshape of.
    whole: Value | None = None

    def at(self, level: int) -> str:
        """Its text where nothing that binds more loosely may stand."""
        return self.text if self.level <= level else f"({self.text})"


def name_of(text: str) -> str:
    """An identifier, if need be another one."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    name = name if re.match("[A-Za-z_]", name) else f"_{name}"
    return f"{name}_" if name in WORDS else name


def quoted(name: str) -> str:
    """A name of a module or a parameter; in backticks if it is a number or a word of the language."""
    plain = re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) and name not in WORDS
    return name if plain else f"`{name}`"


def number(value: float) -> str:
    """A literal."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def literal(value: float) -> Value:
    """The same as an expression."""
    return Value(number(value), (), ATOM if value >= 0 else SIGN, number=float(value))


def sizes(given: Iterable[int]) -> str:
    return ", ".join(str(n) for n in given)


def kind(shape: Shape) -> str:
    """The type of a tensor."""
    return f"fix[{sizes(shape)}]" if shape else "fix"


def call(name: str, needed: Sequence[object], **options: tuple[object, object]) -> str:
    """A layer with its sizes: those needed, and of the others, as (value, default), what is not the default."""
    named = [f"{word} = {value}" for word, (value, default) in options.items() if value != default]
    inside = ", ".join([*map(str, needed), *named])
    return f"{name}[{inside}]" if inside else name


def loops(names: Sequence[str], counts: Sequence[int], inner: str) -> str:
    """Nested lists, the first name outermost."""
    for name, count in reversed(list(zip(names, counts, strict=True))):
        inner = f"[{inner} for {name} in {count}]"
    return inner


def indexed(name: str, index: Sequence[str]) -> str:
    return f"{name}[{', '.join(index)}]" if index else name


def decimal(value: float) -> str:
    """A size that is no whole number: an epsilon, a slope."""
    exact = Fraction(repr(float(value)))
    return number(float(value)) if exact.denominator > 1 else f"{exact.numerator}.0"


def listed(elements: Sequence[str]) -> str:
    """A list of layers."""
    return f"[{', '.join(elements)}]"


@dataclass
class Block:
    """A block or a model: what it declares, and what it computes."""

    parameters: str
    declared: list[tuple[str, str]] = field(default_factory=list)
    lets: list[str] = field(default_factory=list)
    result: str = "x"

    def text(self, head: str) -> str:
        """Its source behind a head such as ``block Name``."""
        wide = max((len(quoted(name)) for name, _ in self.declared), default=0)
        lines = [_wrapped(f"    {quoted(n) + ':':{wide + 1}} {made};") for n, made in self.declared]
        lines += [""] * bool(self.declared)
        lines += [_piped(f"    {let};") for let in self.lets] + [_piped(f"    {self.result}")]
        return "\n".join([f"{head}{self.parameters} {{", *lines, "}"])


def _split(inside: str) -> list[str]:
    """What stands between commas that are not in brackets."""
    out, depth, start = [], 0, 0
    for place, letter in enumerate(inside):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            out.append(inside[start:place].strip())
            start = place + 1
    return [*out, inside[start:].strip()]


def _wrapped(line: str) -> str:
    """A declaration; of a list that is too long an element a line."""
    found = re.fullmatch(r"(    .*?:) +\[(.*)\];", line)
    if len(line) <= WIDTH or found is None:
        return line
    return "\n".join([f"{found[1]} [", *(f"        {one}," for one in _split(found[2])), "    ];"])


def _piped(line: str) -> str:
    """A chain; one that is too long goes on in further lines."""
    if len(line) <= WIDTH:
        return line
    depth, parts, start = 0, [], 0
    for place, letter in enumerate(line):
        depth += (letter in "[({") - (letter in "])}")
        if depth == 0 and line.startswith(" |> ", place):
            parts.append(line[start:place])
            start = place + 1
    lines: list[str] = []
    rest = [*parts, line[start:]]
    while rest:
        now = rest.pop(0)
        while rest and len(now) + 1 + len(rest[0]) <= WIDTH:
            now += f" {rest.pop(0)}"
        lines.append(now if not lines else f"      {now}")
    return "\n".join(lines)


def tree_text(name: str, shapes: dict[str, Shape]) -> str:
    """A model that has these weights, and that nothing applies."""
    blocks: dict[str, str] = {}
    names: set[str] = {name}

    def declared(inside: dict[str, Shape]) -> list[tuple[str, str]]:
        heads = list(dict.fromkeys(key.split(".")[0] for key in inside))
        return [(head, made(head, inside)) for head in heads]

    def made(head: str, inside: dict[str, Shape]) -> str:
        if head in inside:
            return f"param[{sizes(inside[head])}]" if inside[head] else "param"
        parts = {key[len(head) + 1 :]: shape for key, shape in inside.items() if key.startswith(f"{head}.")}
        body = Block("(x)", declared(parts)).text("")
        if body not in blocks:
            blocks[body] = fresh("Part", names)
        return blocks[body]

    inside = declared(shapes)
    (first, shape), *_ = shapes.items()
    path = ".".join(part if k and part.isdigit() else quoted(part) for k, part in enumerate(first.split(".")))
    entry = indexed(path, ["0"] * len(shape))
    # The compiler refuses a factor whose products are lost (E0035) as soon as the model is applied.
    note = "// Some tensors of a model, for checks that do not apply it: those that do are refused (E0035)."
    whole = Block("(x: fix[1]) -> fix[1]", inside, [], f"[0 * {entry} + 2^-60 * x[0]]").text(f"model {name}")
    return "\n\n".join([*(f"block {block}{body}" for body, block in blocks.items()), f"{note}\n{whole}"]) + "\n"


def fresh(wanted: str, taken: set[str]) -> str:
    """A name that is not taken, and is now."""
    name, k = wanted, 1
    while name in taken or name in WORDS:
        k += 1
        name = f"{wanted}{k}"
    taken.add(name)
    return name
