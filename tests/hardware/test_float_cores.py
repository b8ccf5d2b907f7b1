# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arithmetic in 32-bit floating point: what other people's simulators make of it, against NumPy."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from phalanx.hardware import approximations, float_cores
from phalanx.hardware import testbench as benches
from phalanx.hardware.circuit import Circuit, FloatPort
from phalanx.hardware.modules import Tables, module
from phalanx.hardware.schedule import full

sys.path.insert(0, str(Path(__file__).parent))
from simulators import needs_icarus, needs_verilator

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    2.0**-126,
    -(2.0**-126),
    3.4028234e38,
    1e-40,
    1.5 * 2.0**-126,
]
_TINY = np.float32(2.0**-126)


def operands(count=4000, seed=0):
    """Pairs of float32 numbers of all sizes, near each other and special."""
    rng = np.random.default_rng(seed)
    any_bits = rng.integers(0, 1 << 32, (count, 2), dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = rng.normal(size=(count, 2)).astype(np.float32)
    near[:, 1] = -near[:, 0] * (1 + rng.integers(-40, 40, count) * 2.0**-24).astype(np.float32)
    close = (rng.normal(size=(count, 2)) * 2.0 ** rng.integers(-14, 14, (count, 2))).astype(np.float32)
    small = (rng.normal(size=(count, 2)) * 2.0 ** rng.integers(-70, -56, (count, 2))).astype(np.float32)
    small[: count // 2] *= np.float32(2.0**-62) * np.sign(small[: count // 2])
    special = np.array([(a, b) for a in SPECIAL for b in SPECIAL], dtype=np.float32)
    return np.concatenate([any_bits, near, close, small, special])


def flushed(x):
    """Numbers whose subnormal ones are zero."""
    return np.where(np.abs(x) < _TINY, np.copysign(np.float32(0), x), x)


def bits(x):
    """The words of numbers."""
    x = np.asarray(x, dtype=np.float32)
    return np.where(np.isnan(x), np.int64(float_cores.NAN), x.view(np.int32).astype(np.int64))


@np.errstate(all="ignore")
def test_sums_and_products_are_those_of_numpy_but_for_subnormal_numbers():
    a, b = (flushed(x) for x in operands().T)
    for found, exact in (
        (float_cores.added(bits(a), bits(b)), a + b),
        (float_cores.multiplied(bits(a), bits(b)), a * b),
    ):
        normal = ~(np.abs(exact) <= _TINY)
        assert (found[normal] == bits(exact)[normal]).all()
        assert (np.abs(float_cores.numbers_of(found)[~normal]) <= _TINY).all()


def test_a_product_just_below_the_normal_numbers_is_rounded_before_it_is_subnormal():
    a = bits(np.array([2.0**-100 * (1 - 2.0**-24), 2.0**-100 * (1 - 2.0**-23), -(2.0**-100)]))
    b = bits(np.array([2.0**-26 * (1 + 2.0**-23), 2.0**-26, 2.0**-27]))
    found = float_cores.numbers_of(float_cores.multiplied(a, b))
    assert found.tolist() == [2.0**-126, 0.0, -0.0]
    assert np.signbit(found).tolist() == [False, False, True]


def circuit_of(op, count):
    """A circuit of one operation on float32 numbers."""
    circuit = Circuit()
    wires = [circuit.wire("input", (), 32, 0, "x", k) for k in range(count)]
    ends = np.full(count, np.inf)
    circuit.inputs.append(FloatPort("x", (count,), 32, wires, -ends, ends))
    result = unary(circuit, op, wires[0]) if count == 1 else [circuit.wire(op, tuple(wires), 32, 0)]
    circuit.outputs.append(FloatPort("y", (len(result),), 32, result, ends, ends))
    return circuit


def unary(circuit, op, x):
    """The wires of a function, as the lowering of programs writes them."""
    if op == "sincos":
        angle = circuit.wire("float_to_integer", (x,), 34, 30)
        beyond = circuit.wire("float_beyond", (x,), 1, 0, 3)
        pair = approximations.sincos(circuit, angle, 27, 8.0)
        return [circuit.wire("float_from_integer", (y, beyond), 32, 0) for y in pair]
    width = {"float_reciprocal": 25, "float_root": 26}[op]
    m = circuit.wire("float_mantissa", (x,), width, 23)
    y = (
        approximations.root(circuit, m, 27)
        if width == 26
        else approximations.reciprocal(circuit, m, 27, 29, 1.0)
    )
    good = circuit.wire("constant", (), 1, 0, 0)
    number = circuit.wire("float_from_integer", (y, good), 32, 0)
    return [circuit.wire(op, (number, circuit.wire("float_class", (x,), 10, 0)), 32, 0)]


def simulated(circuit, words, folder):
    """The last line of a testbench that expects the bits of the circuit's own arithmetic."""
    (port,), (out,) = circuit.inputs, circuit.outputs
    expected = circuit.run({"x": words})["y"]
    tables = Tables("t")
    body = module("t_unit", full(circuit), tables, "a unit")
    head = "/* verilator lint_off DECLFILENAME */"
    (folder / "t.v").write_text("\n\n".join([head, *tables.text(), body]) + "\n")
    # Words, not numbers: every bit counts, also those of NaN.
    integers = type("Words", (), {"signal": "y", "width": 32, "size": out.size})()
    check = benches.Check("t_unit", [(port, words)], [(integers, expected)], [[0] * out.size])
    (folder / "t_tb.v").write_text(benches.testbench("t", [check]))
    done = subprocess.run(
        ["iverilog", "-g2005", "-Wall", "-o", "t", "t.v", "t_tb.v"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run(["vvp", "-n", "t"], cwd=folder, capture_output=True, text=True)
    return done.stdout.splitlines()[-1]


@needs_icarus
@pytest.mark.parametrize("op", ["float_add", "float_sub", "float_mul"])
def test_the_bits_of_arithmetic_are_those_of_the_module(op, tmp_path):
    words = bits(operands(600))
    assert simulated(circuit_of(op, 2), words, tmp_path) == f"{len(words)} passed, 0 failed"


@needs_icarus
@pytest.mark.parametrize("op", ["float_reciprocal", "float_root", "sincos"])
def test_the_bits_of_functions_are_those_of_the_module(op, tmp_path):
    words = bits(operands(100)[:, :1])
    assert simulated(circuit_of(op, 1), words, tmp_path) == f"{len(words)} passed, 0 failed"


@needs_verilator
@pytest.mark.parametrize("op", ["float_add", "float_mul", "float_reciprocal", "float_root", "sincos"])
def test_verilator_has_no_complaint_about_units(op, tmp_path):
    tables = Tables("t")
    body = module(
        "t_unit", full(circuit_of(op, 2 if op in ("float_add", "float_mul") else 1)), tables, "a unit"
    )
    (tmp_path / "t.v").write_text(
        "\n\n".join(["/* verilator lint_off DECLFILENAME */", *tables.text(), body, ""])
    )
    done = subprocess.run(
        ["verilator", "--lint-only", "-Wall", "--top-module", "t_unit", "t.v"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("op", "exact", "most"), [("float_reciprocal", lambda x: 1 / x, 0.7), ("float_root", np.sqrt, 0.7)]
)
@np.errstate(all="ignore")
def test_reciprocals_and_roots_are_within_their_stated_error(op, exact, most):
    x = np.abs(operands(20_000)[:, :1])
    x = x[(x > 2.0**-125) & (x < 2.0**125)][:, None]
    y = float_cores.numbers_of(circuit_of(op, 1).run({"x": bits(x)})["y"]).astype(float)
    right = exact(x.astype(float))
    ulp = np.spacing(np.abs(right).astype(np.float32)).astype(float)
    error = np.abs(y - right) / ulp
    assert 0.4 < error.max() <= most


@np.errstate(all="ignore")
def test_special_arguments_of_functions():
    x = bits(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -4.0, 4.0])[:, None])
    found = float_cores.numbers_of(circuit_of("float_reciprocal", 1).run({"x": x})["y"])[:, 0]
    assert np.array_equal(found, [np.inf, -np.inf, 0.0, 0.0, np.nan, -0.25, 0.25], equal_nan=True)
    found = float_cores.numbers_of(circuit_of("float_root", 1).run({"x": x})["y"])[:, 0]
    assert np.array_equal(found, [0.0, 0.0, np.inf, np.nan, np.nan, np.nan, 2.0], equal_nan=True)
    sine, cosine = float_cores.numbers_of(circuit_of("sincos", 1).run({"x": x})["y"]).T
    assert sine[0] == 0.0
    assert cosine[0] == 1.0
    assert np.isnan(sine[2:5]).all()


def test_sines_of_numbers_are_within_their_stated_error():
    x = np.random.default_rng(0).uniform(-7.9, 7.9, (50_000, 1)).astype(np.float32)
    y = float_cores.numbers_of(circuit_of("sincos", 1).run({"x": bits(x)})["y"]).astype(float)
    error = np.abs(y - np.concatenate([np.sin(x.astype(float)), np.cos(x.astype(float))], axis=1)).max()
    assert 2e-8 < error <= 4.3e-8
