"""The package beside the command line: same circuits, same runs, same reports."""

from __future__ import annotations

import asyncio
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import command, random_inputs, write_inputs

import slvr

#: Each predicate at the top of the library, and five of the gallery, small.
SIZES: dict[str, dict[str, Any]] = {
    "coordinate_median": {"d": 7, "m": 4},
    "coordinate_trimmed_mean": {"d": 7, "m": 5, "c": 1},
    "cosine_similarity": {"M": "Mlp[9,hidden=4]", "m": 3},
    "fltrust": {"M": "Mlp[9,hidden=4]", "m": 3},
    "krum": {"M": "Mlp[9,hidden=4]", "m": 5, "f": 1},
    "linf_bound": {"M": "Mlp[9,hidden=4]", "m": 3, "bound": 0.79},
    "multi_krum": {"M": "Mlp[9,hidden=4]", "m": 6, "f": 1, "k": 3},
    "norm_ball": {"M": "Mlp[9,hidden=4]", "m": 3, "lambda_": 1.41},
    "norm_bound": {"M": "Mlp[9,hidden=4]", "m": 3},
    "norm_bound_public": {"M": "Mlp[9,hidden=4]", "m": 3},
    "secure_aggregation": {"M": "Mlp[9,hidden=4]", "m": 3},
    "slvr_accuracy": {"M": "Mlp[9,hidden=4]", "m": 4, "c": 1, "b": 2},
    "slvr_confidence": {"M": "Mlp[9,hidden=4]", "m": 4, "c": 1, "b": 2},
    "validation_loss": {"M": "Mlp[9,hidden=4]", "m": 4, "c": 1, "b": 2},
    "weighted_aggregation": {"M": "Mlp[9,hidden=4]", "m": 3},
    "gallery/foolsgold": {"M": "Mlp[9,hidden=4]", "m": 4},
    "gallery/geometric_median": {"M": "Mlp[9,hidden=4]", "m": 4},
    "gallery/rfa": {"M": "Mlp[9,hidden=4]", "m": 4},
    "gallery/statistics": {"M": "Mlp[9,hidden=4]", "m": 4, "factor": 4},
    "gallery/zeno_plus_plus": {"M": "Mlp[9,hidden=4]", "m": 4},
}


def words(sizes: dict[str, Any]) -> list[str]:
    return [f"{name.rstrip('_')}={value}" for name, value in sizes.items()]


def files(folder: Path) -> dict[str, np.ndarray]:
    """What slvrc wrote, by name."""
    out: dict[str, np.ndarray] = {}
    for path in folder.rglob("*.safetensors"):
        raw = path.read_bytes()
        length = int.from_bytes(raw[:8], "little")
        header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
        for name, about in header.items():
            if name != "__metadata__":
                start, end = about["data_offsets"]
                assert about["dtype"] == "F64"
                out[name] = np.frombuffer(data[start:end]).reshape(about["shape"])
    return out


def flat(result: slvr.Result) -> dict[str, np.ndarray]:
    out: dict[str, np.ndarray] = {}
    for name, value in result.items():
        if isinstance(value, dict):
            out.update({f"{name}.{field}": array for field, array in value.items()})
        else:
            out[name] = value
    return out


@pytest.mark.parametrize("name", SIZES)
def test_a_run_is_that_of_the_command_line(name: str, slvrc: Path, tmp_path: Path) -> None:
    sizes = SIZES[name]
    check = slvr.Check.from_file(name, bind={n.rstrip("_"): v for n, v in sizes.items()})
    inputs = random_inputs(check, 7)
    write_inputs(inputs, tmp_path / "in")
    out = tmp_path / "out"
    args = [
        name,
        *words(sizes),
        "--inputs",
        str(tmp_path / "in"),
        "--outputs",
        str(out),
        "--seed",
        "5",
        "--json",
    ]
    ran = command(slvrc, "run", *args)
    assert ran.returncode == 0, ran.stderr
    theirs, ours = json.loads(ran.stdout), check.run(inputs, seed=5)
    for key in (
        "circuit_hash",
        "rounds",
        "bytes_sent",
        "replaced",
        "excluded",
        "coins",
        "certificate",
        "openings",
    ):
        assert ours.report[key] == theirs[key], key
    assert check.hash == theirs["circuit_hash"]
    assert check.rounds == theirs["predicted_rounds"]
    assert list(check.bytes_sent) == theirs["predicted_bytes_sent"]
    revealed, written = flat(ours), files(out)
    assert revealed.keys() == written.keys()
    for tensor, array in written.items():
        assert np.array_equal(revealed[tensor], array.reshape(revealed[tensor].shape)), tensor
    # In the clear, too: exactly the words of the run where nothing is rounded by chance, else within the certificate.
    for exact in (False, True):
        args = [
            name,
            *words(sizes),
            "--inputs",
            str(tmp_path / "in"),
            "--json",
            *(["--exact"] if exact else []),
        ]
        said = json.loads(command(slvrc, "eval", *args, "--seed", "5").stdout)
        mine = check.eval(inputs, exact=exact, seed=5)
        for output in said["outputs"]:
            value = mine[output["name"]]
            got = np.concatenate([a.ravel() for a in value.values()]) if isinstance(value, dict) else value.ravel()
            assert np.array_equal(got, np.array(output["values"]).ravel()), output["name"]


def test_explain_is_that_of_the_command_line(slvrc: Path) -> None:
    check = slvr.Check.from_file("norm_bound", m=3, M="DigitsNet")
    said = command(slvrc, "explain", "norm_bound", "m=3", "M=DigitsNet", "--json", "--net", "wan")
    report = check.explain("wan")
    theirs = json.loads(said.stdout)
    # For which network protocols are taken is said when it is built.
    assert {**report.json, "protocols_for": None} == {**theirs, "protocols_for": None}
    assert "norm_bound" in report.html and "sandbox" in report._repr_html_()
    assert str(check.explain()) == command(slvrc, "explain", "norm_bound", "m=3", "M=DigitsNet").stdout


@pytest.mark.parametrize("name", ["norm_bound", "weighted_aggregation", "coordinate_median", "gallery/statistics"])
def test_outputs_have_the_shapes_of_results(name: str) -> None:
    check = slvr.Check.from_file(name, **SIZES[name])
    result = check.eval(random_inputs(check, 3))
    assert [o.name for o in check.outputs] == list(result)
    for output in check.outputs:
        found = result[output.name]
        fields = {name: a.shape for name, a in found.items()} if isinstance(found, dict) else {}
        assert output.fields == fields
        size = sum(a.size for a in found.values()) if isinstance(found, dict) else found.size
        assert output.receiver == "Server" and np.prod(output.shape, dtype=int) == size
        assert isinstance(found, dict) or output.shape == found.shape


def test_artifacts_and_pickles_are_the_same_circuit(slvrc: Path, tmp_path: Path) -> None:
    check = slvr.Check.from_file("norm_bound", m=3, M="Mlp[9,hidden=4]", security="malicious")
    path = tmp_path / "x.slvrb"
    command(slvrc, "build", "norm_bound", "m=3", "M=Mlp[9,hidden=4]", "--security", "malicious", "-o", str(path))
    assert check.artifact() == path.read_bytes()
    inputs = random_inputs(check, 3)
    ran = flat(check.run(inputs, seed=1))
    for other in (slvr.Check.from_artifact(path), slvr.Check.from_artifact(check.artifact())):
        again = flat(other.run(inputs, seed=1, on_invalid="zeros"))
        assert other.hash == check.hash and other.security == "malicious"
        assert all(np.array_equal(again[name], array) for name, array in ran.items())
    assert pickle.loads(pickle.dumps(check)).hash == check.hash
    assert pickle.loads(pickle.dumps(slvr.Check.from_artifact(path))).hash == check.hash


def test_bindings() -> None:
    sizes: list[dict[str, Any]] = [
        {"m": 3, "lambda_": 2.5},
        {"m": np.int64(3), "lambda_": np.float64(2.5)},
        {"m": "3", "bind": {"lambda": np.float32(2.5)}},
    ]
    hashes = {slvr.Check.from_file("norm_bound", M="Mlp[4,2]", **given).hash for given in sizes}
    assert len(hashes) == 1
    text = "model N(x: fix[4]) -> fix[2] {\n    a: linear[4, 2];\n\n    x |> a\n}\n"
    named = slvr.Check.from_file("norm_bound", m=3, M="net.slvr:N", files={"net.slvr": text})

    class Model:
        name = "N"

    Model.text = text  # type: ignore[attr-defined]
    given = slvr.Check.from_file("norm_bound", m=3, M=Model())
    assert named.inputs == given.inputs
    assert named.inputs[0].fields == {"a.weight": (2, 4), "a.bias": (2,)}


def test_a_mean_is_that_of_numpy() -> None:
    text = """use std::{sum};

predicate Mean[d, m]() {
    parties Client[m];
    parties Server;

    input x: secret fix[d] in -8..8 from each Client;

    reveal sum(x) / m to Server as mean;
}
"""
    check = slvr.Check.from_source(text, d=5, m=4)
    given = np.random.default_rng(0).uniform(-8, 8, (4, 5))
    result = check.run({"Client": [{"x": row} for row in given]})
    assert np.allclose(result["mean"], given.mean(axis=0), atol=1e-4)
    assert result.report["rounds"] == check.rounds
    # One that gives nothing is as if it had never been there.
    without = check.run({"Client": [{"x": given[0]}, None, {"x": given[2]}, {"x": given[3]}]})
    assert without.excluded == [("Client", 1, "nothing is given")]
    assert np.allclose(without["mean"], given[[0, 2, 3]].mean(axis=0), atol=1e-4)
    zeros = check.run({"Client": [{"x": given[0]}, None, {"x": given[2]}, {"x": given[3]}]}, on_invalid="zeros")
    assert np.allclose(zeros["mean"], given[[0, 2, 3]].sum(axis=0) / 4, atol=1e-4)
    assert zeros.replaced == [("Client", 1, "nothing is given")]


def test_a_check_is_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever becomes of its files, and wherever one is: also where the program is compiled again."""
    monkeypatch.chdir(tmp_path)
    program = "use std::{sum};\n\npredicate P[M: model, m]() {\n    parties Client[m];\n    parties Server;\n\n"
    program += (
        "    input w: secret weights M in -8..8 from each Client;\n\n    reveal FACTOR * sum(w) to Server as w;\n}\n"
    )
    model = "model N(x: fix[4]) -> fix[SIZE] {\n    a: linear[4, SIZE];\n\n    x |> a\n}\n"
    Path("p.slvr").write_text(program.replace("FACTOR", "1"))
    Path("n.slvr").write_text(model.replace("SIZE", "2"))
    check = slvr.Check.from_file("p.slvr", m=3, M="n.slvr:N")
    hash_before, page = check.hash, str(check.explain())
    Path("p.slvr").write_text(program.replace("FACTOR", "100"))
    Path("n.slvr").write_text(model.replace("SIZE", "3"))
    given = {"w": {"a.weight": np.ones((2, 4)), "a.bias": np.ones(2)}}
    for step in ("changed", "gone"):
        if step == "gone":
            Path("p.slvr").unlink()
            Path("n.slvr").unlink()
        for same in (check, pickle.loads(pickle.dumps(check))):
            assert same.hash == hash_before and str(same.explain()) == page
            for result in (same.run({"Client": [given, None, given]}), same.eval({"Client": [given, None, given]})):
                assert np.allclose(result["w"]["a.bias"], 2, atol=1e-3)


def test_types_of_arrays() -> None:
    text = (
        "use std::{sum};\n\npredicate P[m]() {\n    parties Client[m];\n    parties Server;\n\n"
        "    input x: secret fix[3] in -8..8 from each Client;\n"
        "    input n: secret int[2] in 0..9 from each Client;\n\n"
        "    reveal sum(x) to Server as x;\n    reveal sum(n) to Server as n;\n}\n"
    )
    check = slvr.Check.from_source(text, m=2)

    class Tensor:
        """As a tensor of another library converts itself."""

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.array([1.0, 2.0, 3.0], dtype=dtype or np.float32)

    wanted = [1.0, 2.0, 3.0]
    reals: list[Any] = [np.array(wanted, t) for t in ("f2", "f4", "f8", ">f4", ">f8")]
    reals += [wanted, tuple(wanted), Tensor(), np.array([*wanted, 0, 0, 0]).reshape(2, 3).T[:, 0]]
    whole: list[Any] = [np.array([4, 5], t) for t in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4")]
    for x, n in zip(reals, whole, strict=True):
        member = {"x": x, "n": n}
        result = check.run({"Client": [member, member]})
        assert np.allclose(result["x"], 2 * np.array(wanted), atol=1e-4)
        assert np.array_equal(result["n"], [8, 10])


def test_layouts_of_arrays() -> None:
    """Rows are rows, however an array lies in memory."""
    text = (
        "use std::{sum};\n\npredicate P[m]() {\n    parties Client[m];\n    parties Server;\n\n"
        "    input x: secret fix[2, 3, 4] in -32..32 from each Client;\n"
        "    input n: secret int[2, 3, 4] in 0..99 from each Client;\n\n"
        "    reveal sum(x) to Server as x;\n    reveal sum(n) to Server as n;\n}\n"
    )
    check = slvr.Check.from_source(text, m=2)
    wanted = np.arange(24).reshape(2, 3, 4)
    read_only = wanted.copy()
    read_only.setflags(write=False)
    wide = np.zeros((4, 3, 8), int)
    wide[::2, :, ::-2] = wanted
    unaligned = np.zeros((2, 3, 4), [("b", "u1"), ("v", "i8")])
    unaligned["v"] = wanted
    layouts = [
        wanted,
        np.asfortranarray(wanted),
        np.ascontiguousarray(wanted.transpose(2, 0, 1)).transpose(1, 2, 0),
        wide[::2, :, ::-2],
        wanted[::-1, :, ::-1].copy()[::-1, :, ::-1],
        read_only,
        wanted.astype(">i4", order="F"),
        unaligned["v"],
        wanted.tolist(),
    ]
    for given in layouts:
        for real in (np.float16, np.float32, np.float64):
            x = np.array(given, real, order="K") if isinstance(given, np.ndarray) else np.array(given, real)
            member = {"x": x, "n": given}
            result = check.run({"Client": [member, member]})
            assert np.allclose(result["x"], 2 * wanted, atol=1e-3)
            assert np.array_equal(result["n"], 2 * wanted)


def test_await_and_progress() -> None:
    check = slvr.Check.from_file("norm_bound", m=3, M="DigitsNet")
    inputs = random_inputs(check, 1)
    seen: list[tuple[int, int]] = []
    one = check.run(inputs, seed=2, progress=lambda done, of: seen.append((done, of)))
    assert all(0 < done <= of for done, of in seen)

    async def both() -> tuple[slvr.Result, slvr.Result]:
        return await asyncio.gather(check.arun(inputs, seed=2), check.arun(inputs, seed=2))

    for other in asyncio.run(both()):
        assert all(np.array_equal(flat(one)[n], a) for n, a in flat(other).items())


def test_a_run_that_is_cancelled_ends() -> None:
    check = slvr.Check.from_file("slvr_accuracy", M="DigitsNet", m=10, c=3, b=10)
    inputs = random_inputs(check, 1)
    seen: list[int] = []

    async def cancelled() -> None:
        run = asyncio.ensure_future(check.arun(inputs, progress=lambda done, _: seen.append(done)))
        while not seen:
            await asyncio.sleep(0.001)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancelled())
    # The executor is shut down with the loop: the run has ended.
    assert max(seen) < len(check.explain().json["layers"])
