# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sequences of units for elementary functions keep their stated errors."""

import numpy as np
import pytest

from phalanx.hardware import approximations
from phalanx.hardware.circuit import Circuit, Port


def _circuit(fraction, size, build):
    """A circuit of one input between -size and size, or two ends, and what `build` makes of it."""
    low, high = size if isinstance(size, tuple) else (-size, size)
    circuit = Circuit()
    width = fraction + int(np.ceil(np.log2(max(abs(low), abs(high))))) + 2
    x = circuit.wire("input", (), width, fraction, "x", 0)
    circuit.inputs.append(Port("x", (1,), width, [x], np.array([low]), np.array([high])))
    wires = build(circuit, x)
    shape = (len(wires),)
    circuit.outputs.append(Port("y", shape, 64, wires, np.zeros(shape), np.zeros(shape)))
    return circuit


def _arguments(circuit, rng, count=20_000):
    port = circuit.inputs[0]
    ends = np.linspace(port.low[0], port.high[0], 4097)
    return port.quantised(np.concatenate([ends, rng.uniform(port.low[0], port.high[0], count)])[:, None])


@pytest.mark.parametrize("fraction", [8, 15, 20, 26, 29, 30, 36, 42])
@pytest.mark.parametrize("size", [0.7, 6.5])
def test_sine_and_cosine_keep_their_stated_error(fraction, size):
    circuit = _circuit(fraction, size, lambda c, x: list(approximations.sincos(c, x, fraction, size)))
    words = _arguments(circuit, np.random.default_rng(0))
    x = circuit.inputs[0].reals(words)[:, 0]
    y = circuit.outputs[0].reals(circuit.run({"x": words})["y"])
    error = np.abs(y - np.stack([np.sin(x), np.cos(x)], axis=1)).max() * 2.0**fraction
    assert 0.5 < error <= approximations.SINE_ERROR


@pytest.mark.parametrize("fraction", [6, 12, 20, 30])
@pytest.mark.parametrize("ends", [(0.02, 0.5), (0.9, 7.0), (0.3, 0.31)])
def test_reciprocals_keep_their_stated_error(fraction, ends):
    low, _ = ends
    width = fraction + 3 + max(int(np.ceil(-np.log2(low))), 0)
    fine = fraction + 12
    circuit = _circuit(
        fine, ends, lambda c, x: [approximations.reciprocal(c, x, fraction, width, low - 2.0**-fine)]
    )
    words = _arguments(circuit, np.random.default_rng(0))
    x = circuit.inputs[0].reals(words)[:, 0]
    y = circuit.outputs[0].reals(circuit.run({"x": words})["y"])[:, 0]
    error = np.abs(y - 1 / x).max() * 2.0**fraction
    assert 0.5 < error <= approximations.RECIPROCAL_ERROR


@pytest.mark.parametrize("fraction", [6, 12, 18])
@pytest.mark.parametrize("ends", [(0.02, 0.5), (0.9, 7.0), (2.1, 300.0), (3.0, 3.9)])
def test_roots_keep_their_stated_error(fraction, ends):
    low, high = ends
    width = fraction + 2 + max(int(np.ceil(np.log2(high) / 2)), 0)
    fine = fraction + 12
    circuit = _circuit(
        fine, ends, lambda c, x: [approximations.shifted_root(c, x, fraction, width, low - 2.0**-fine)]
    )
    words = _arguments(circuit, np.random.default_rng(0))
    x = circuit.inputs[0].reals(words)[:, 0]
    y = circuit.outputs[0].reals(circuit.run({"x": words})["y"])[:, 0]
    error = np.abs(y - np.sqrt(x)).max() * 2.0**fraction
    assert 0.5 < error <= approximations.SHIFTED_ROOT_ERROR
