"""Listings of the book run, and print what stands behind them."""

from __future__ import annotations

import contextlib
import io
import json
import re

import pytest
from conftest import CHECKOUT

PAGES = ["README.md", "docs/src/flower.md", "docs/src/models-from-pytorch.md", "docs/src/python.md", "python/README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_listings_print_what_stands_behind_them(page: str) -> None:
    text = (CHECKOUT / page).read_text()
    if "flwr" in text:
        pytest.importorskip("flwr", reason="flwr is not installed: pip install 'flwr==1.42.0'")
    if "import torch" in text:
        pytest.importorskip("torch", reason="torch is not installed")
    found = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.S)
    assert found, "there are listings"
    names: dict[str, object] = {}
    for code, wanted in found:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)
        assert not wanted or out.getvalue() == wanted


def test_the_notebook_prints_what_it_shows() -> None:
    book = json.loads((CHECKOUT / "python/examples/first_check.ipynb").read_text())
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert sum(bool(cell["outputs"]) for cell in cells) > 2
    names: dict[str, object] = {}
    for cell in cells:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec("".join(cell["source"]), names)
        assert out.getvalue() == "".join("".join(shown["text"]) for shown in cell["outputs"])
