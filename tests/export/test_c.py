# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Exported C: strict compilers accept it, it computes what kernels do, and it stays inside its arrays."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native.compile import host
from reference.c_library import STRICT, Library

COMPILERS = ("gcc", "clang")
MAIN = """#include "arm.h"
#include <stdio.h>
static const char *const joints[] = ARM_JOINT_NAMES;
static const double lower[] = ARM_LOWER, effort[] = ARM_EFFORT;
int main(void) {
  int k;
  printf("%s %d %d\\n", ARM_VERSION, ARM_NQ, ARM_NV);
  for (k = 0; k < ARM_NV; ++k) printf("%s %.17g %.17g\\n", joints[k], lower[k], effort[k]);
  return 0;
}
"""


def require(compiler: str) -> str:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    return compiler


def is_fused() -> bool:
    """Whether compilers for this machine multiply and add at once, as its kernels do."""
    return host().fma


def ran(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_strict_compilers_accept_headers_and_constants_are_the_robots(
    compiler: str, dtype: Any, tmp_path: Path
) -> None:
    robot = px.load("ur5")
    robot.export(tmp_path / "arm.h", ("inverse_dynamics", "mass_matrix"), dtype=dtype)
    cpp = require(compiler).endswith("++")
    (tmp_path / "main.c").write_text(MAIN)
    flags = ["-std=c++11", "-x", "c++", *STRICT[1:]] if cpp else list(STRICT)
    ran([compiler, *flags, "main.c", "-o", "main", "-lm"], tmp_path)
    first, *rest = ran(["./main"], tmp_path).splitlines()
    assert first.split()[1:] == [str(robot.nq), str(robot.nv)]
    assert [line.split()[0] for line in rest] == list(robot.joint_names)
    assert [float(line.split()[1]) for line in rest] == robot.limits.lower.tolist()


CONSTANT = """#include "arm.h"
static double q[{n} * ARM_NQ], qd[{n} * ARM_NV], qdd[{n} * ARM_NV];
static double tau[{n} * ARM_NV], m[{n} * ARM_NV * ARM_NV];
int main() {{
  arm_inverse_dynamics_batch({n}, q, qd, qdd, tau);
  arm_mass_matrix_batch({n}, q, m);
  return 0;
}}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_compilers_warn_of_no_constant_number_of_states(compiler: str, tmp_path: Path) -> None:
    px.load("ur5").export(tmp_path / "arm.h", ("inverse_dynamics", "mass_matrix"))
    cpp = require(compiler).endswith("++")
    flags = ["-Wold-style-cast", "-x", "c++", *STRICT[1:]] if cpp else ["-Wno-strict-prototypes", *STRICT]
    for count in (1, 16, 20):  # GCC 12 finds fault with multiples of the lanes only
        (tmp_path / "main.c").write_text(CONSTANT.format(n=count))
        ran([compiler, *flags, "-O2", "-march=native", "main.c", "-o", "main", "-lm"], tmp_path)


@pytest.mark.parametrize(
    ("page", "file", "dtype"), [("export", "arm.h", "float64"), ("object_code", "arm.o", "float32")]
)
def test_samples_of_pages_compile(page: str, file: str, dtype: Any, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "howto" / f"{page}.md").read_text(encoding="utf-8")
    samples = re.findall(r"^```c\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert samples
    px.load("panda").export(tmp_path / file, dtype=dtype)
    for sample in samples:
        (tmp_path / "sample.c").write_text(sample)
        flags = [flag for flag in STRICT if flag != "-Werror"]  # a sample may name what it does not use
        ran([require("gcc"), *flags, "-c", "sample.c"], tmp_path)


FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "vjp:forward_dynamics", "kinetic_energy")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_library_gives_the_bits_of_kernels(compiler: str, dtype: Any, tmp_path: Path) -> None:
    robot = px.load("panda")
    library = Library(robot, FUNCTIONS, tmp_path, dtype, require(compiler), ("-O2", "-march=native"))
    q, qd, x = (a.astype(dtype) for a in robot.random_state(21, rng=0))
    cotangent = np.cos(x)
    for name, inputs, expected in (
        ("inverse_dynamics", (q, qd, x), (robot.inverse_dynamics(q, qd, x),)),
        ("forward_dynamics", (q, qd, x), (robot.forward_dynamics(q, qd, x),)),
        ("mass_matrix", (q,), (robot.mass_matrix(q),)),
        ("forward_dynamics_vjp", (q, qd, x, cotangent), robot.vjp("forward_dynamics", (q, qd, x), cotangent)),
        ("kinetic_energy", (q, qd), (robot.kinetic_energy(q, qd),)),
    ):
        together, apart = library(name, *inputs), library(name, *inputs, batch=False)
        for made, alone, wanted in zip(together, apart, expected, strict=True):
            np.testing.assert_array_equal(made, alone, err_msg=name)
            if is_fused():
                np.testing.assert_array_equal(made, wanted, err_msg=name)
            scale = np.abs(wanted).max()
            np.testing.assert_allclose(
                made, wanted, rtol=0, atol=scale * (1e-12 if dtype == "float64" else 1e-3)
            )


def test_long_robots_are_loops_with_a_workspace(tmp_path: Path) -> None:
    robot = px.chain(1000)
    library = Library(robot, ("forward_dynamics", "jacobian:link900"), tmp_path)
    source = tmp_path / "arm.c"
    assert source.stat().st_size < 1_000_000
    assert "#define ARM_FORWARD_DYNAMICS_WORKSPACE" in source.read_text()
    q, qd, tau = robot.random_state(3, rng=1)
    np.testing.assert_allclose(
        library("forward_dynamics", q, qd, tau)[0], robot.forward_dynamics(q, qd, tau), 1e-9
    )
    made = library("jacobian_link900", q)[0]
    np.testing.assert_allclose(made, robot.jacobian(q, "link900"), rtol=0, atol=1e-10)


def test_segments_of_a_chain_go_one_after_another(tmp_path: Path) -> None:
    robot = px.chain(40)
    kernel = robot.kernel("forward_dynamics", algorithm="partition")
    library = Library(robot, kernel, tmp_path)
    q, qd, tau = robot.random_state(2, rng=1)
    np.testing.assert_allclose(library("forward_dynamics", q, qd, tau)[0], kernel(q, qd, tau), rtol=1e-7)


def test_trees_of_all_joints_and_optional_inputs(tmp_path: Path) -> None:
    robot = px.tree(12, joints=("revolute", "prismatic", "spherical", "planar", "floating"), seed=3)
    library = Library(robot, ("forward_dynamics+external", "inverse_dynamics+base_acceleration"), tmp_path)
    q, qd, x = robot.random_state(9, rng=2)
    rng = np.random.default_rng(0)
    wrench, base = rng.normal(size=(9, robot.n_links, 6)), rng.normal(size=(9, 6))
    made = library("forward_dynamics_external", q, qd, x, wrench)[0]
    np.testing.assert_allclose(made, robot.forward_dynamics(q, qd, x, external=wrench), rtol=1e-9, atol=1e-9)
    made = library("inverse_dynamics_base_acceleration", q, qd, x, base)[0]
    np.testing.assert_allclose(made, robot.inverse_dynamics(q, qd, x, base_acceleration=base), 1e-10, 1e-10)


def test_a_step_of_a_simulation_with_a_law(tmp_path: Path) -> None:
    robot = px.load("two_link")

    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return np.tanh(u - q) + np.exp(-(qd**2)) * np.minimum(q, 0.5) + np.log(2 + np.arctan2(q, qd) ** 2) * t

    sim = robot.simulation(dt=0.01, control=law, integrator="rk4")
    library = Library(robot, {"move": sim}, tmp_path)
    q, qd, u = robot.random_state(11, rng=4)
    time = np.zeros((11, 1))
    expected = sim.step(q, qd, u)
    for made, wanted in zip(library("move", q, qd, u, time), expected, strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-13, atol=1e-13)


def test_angles_beyond_the_fast_path_and_numbers_that_are_none(tmp_path: Path) -> None:
    robot = px.load("ur5")
    library = Library(robot, ("gravity_forces",), tmp_path)
    q = robot.random_state(19, rng=5)[0]
    q[3, 1], q[4, 2], q[9, 2], q[16, 1] = 1e9, np.inf, np.nan, -3e5
    for batch in (True, False):
        made = library("gravity_forces", q, batch=batch)[0]
        np.testing.assert_allclose(made, robot.gravity_forces(q), rtol=1e-13, atol=1e-12)
        assert np.isnan(made).any(axis=1).tolist() == [k in (4, 9) for k in range(19)]


SANITIZED = """#include "arm.h"
#include "snake.h"
#include <stdio.h>
#include <stdlib.h>
static double *fresh(size_t n, int fill) {
  double *a = (double *)malloc((n ? n : 1) * sizeof(double));
  size_t k;
  for (k = 0; fill && k < n; ++k) a[k] = 8.0 * rand() / RAND_MAX - 4.0;
  return a;
}
static int same(size_t n, const double *a, const double *b) {
  size_t k;
  for (k = 0; k < n; ++k) if (!(fabs(a[k] - b[k]) < 1e-6 * (1 + fabs(b[k])))) return 0;
  return 1;
}
int main(void) {
  int round;
  srand(1);
  for (round = 0; round < 40; ++round) {
    size_t n = (size_t)(rand() % 41), m = n * SNAKE_NV;
    double *q = fresh(m, 1), *qd = fresh(m, 1), *x = fresh(m, 1), *tau = fresh(m, 0), *qdd = fresh(m, 0);
    double *w = fresh(SNAKE_INVERSE_DYNAMICS_WORKSPACE, 0), *v = fresh(SNAKE_FORWARD_DYNAMICS_WORKSPACE, 0);
    arm_inverse_dynamics_batch(n, q, qd, x, tau);
    arm_forward_dynamics_batch(n, q, qd, tau, qdd);
    if (!same(n * ARM_NV, qdd, x)) return 1;
    snake_inverse_dynamics_batch(n, q, qd, x, tau, w);
    snake_forward_dynamics_batch(n, q, qd, tau, qdd, v);
    if (!same(m, qdd, x)) return 2;
    free(q); free(qd); free(x); free(tau); free(qdd); free(w); free(v);
  }
  return 0;
}
"""


def test_sanitizers_find_nothing_under_random_states_and_batch_sizes(tmp_path: Path) -> None:
    require("gcc")
    px.load("panda").export(tmp_path / "arm.h")
    px.chain(60).export(tmp_path / "snake.h")
    (tmp_path / "main.c").write_text(SANITIZED)
    flags = ["-std=c99", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    ran(["gcc", *flags, "main.c", "-o", "main", "-lm"], tmp_path)
    assert ran(["./main"], tmp_path) == ""


def test_names_from_files_stay_names(tmp_path: Path) -> None:
    builder = px.RobotBuilder('ev*/il "$X" \\')
    builder.add_link("base")
    builder.add_link('a"b??/*', mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.add_joint('j"oint\\ $1 é*/', "revolute", parent="base", child='a"b??/*', axis=(0, 1, 0))
    robot = builder.build()
    robot.export(tmp_path / "arm.h", ("inverse_dynamics",))
    (tmp_path / "main.c").write_text(MAIN)
    require("gcc")
    ran(["gcc", *STRICT, "main.c", "-o", "main", "-lm"], tmp_path)
    assert ran(["./main"], tmp_path).splitlines()[1].startswith('j"oint\\ $1 é*/ ')


def test_tables_may_hold_what_has_no_digits(tmp_path: Path) -> None:
    """Where a chain is cut, an inverse inertia of the world is infinite."""
    robot = px.chain(70, seed=1)
    kernel = robot.kernel("forward_dynamics", algorithm="partition")
    robot.export(tmp_path / "arm.c", kernel)
    assert re.search(r"_t\d+\[\d+\] = \{[^}]*INFINITY", (tmp_path / "arm.c").read_text())
    ran([require("gcc"), *STRICT, "-fsyntax-only", "arm.c"], tmp_path)
