# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Libraries that CasADi loads: values, Jacobians without finite differences, matrices by columns."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import phalanx as px

casadi = pytest.importorskip("casadi", reason="CasADi is installed for benchmarks only")


def test_casadi_loads_functions_and_their_derivatives(tmp_path: Path) -> None:
    robot = px.load("ur5")
    functions = ("forward_dynamics", "forward_dynamics_derivatives", "jacobian:tool0")
    functions = (*functions[:2], f"jacobian:{robot.frame_names[-1]}")
    written = robot.export(tmp_path / "arm.c", functions, casadi=True, cmake=True)
    assert [p.name for p in written] == ["arm.c", "arm.cmake"]
    library = tmp_path / "arm.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(written[0]), "-o", str(library), "-lm"], check=True)
    f = casadi.external("arm_forward_dynamics_casadi", str(library))
    state = [x[0] for x in robot.random_state(1, rng=0)]
    np.testing.assert_allclose(np.array(f(*state)).ravel(), robot.forward_dynamics(*state), rtol=1e-10)
    symbols = [casadi.MX.sym(name, 6) for name in ("q", "qd", "tau")]
    slopes = casadi.Function("slopes", symbols, [casadi.jacobian(f(*symbols), x) for x in symbols])
    expected = robot.forward_dynamics_derivatives(*state)
    for made, wanted in zip(slopes(*state), expected, strict=True):
        np.testing.assert_allclose(np.array(made), wanted, rtol=1e-9, atol=1e-9)
    frame = robot.frame_names[-1]
    (name,) = (n for n in functions if n.startswith("jacobian"))
    g = casadi.external(f"arm_{name.replace(':', '_')}_casadi", str(library))
    np.testing.assert_allclose(np.array(g(state[0])), robot.jacobian(state[0], frame), rtol=0, atol=1e-12)
