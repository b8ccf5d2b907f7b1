# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What XLA makes of the equations: size, depth, devices; and native kernels called back."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.sampling import agree

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def hlo() -> Any:
    """The benchmark that reads compiled programs."""
    spec = importlib.util.spec_from_file_location("jax_hlo", ROOT / "benchmarks" / "jax_hlo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["jax_hlo"] = module
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        spec.loader.exec_module(module)
    return module


def lines_of(function: str, n: int, schedule: str) -> int:
    """Lines of the program before XLA compiles it."""
    robot = px.chain(n)
    state = robot.random_state((), rng=0)
    inputs = state[:1] if function == "mass_matrix" else state
    f = jax.jit(lambda *x: getattr(robot.jax, function)(*x, schedule=schedule))
    return len(f.lower(*inputs).as_text().splitlines())


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix", "forward_dynamics"])
def test_sequential_programs_are_as_long_for_any_chain(function: str) -> None:
    assert lines_of(function, 300, "sequential") <= 1.1 * lines_of(function, 30, "sequential")


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_doubled_programs_are_as_long_for_any_chain(function: str) -> None:
    assert lines_of(function, 256, "doubling") <= 1.05 * lines_of(function, 16, "doubling")


def test_doubled_programs_are_as_long_for_any_tree() -> None:
    short, long = (
        len(
            jax.jit(lambda *x, r=robot: r.jax.forward_dynamics(*x, schedule="doubling"))
            .lower(*robot.random_state((), rng=0))
            .as_text()
            .splitlines()
        )
        for robot in (px.tree(20, 0.3, seed=1), px.tree(400, 0.3, seed=1))
    )
    assert long <= 1.15 * short  # siblings are added up by doubling: more of them, more steps


TREES = {"chain": px.chain, "tree": lambda n: px.tree(n, 0.3, seed=1)}


@pytest.mark.parametrize(
    ("function", "shape", "written_out"),
    [
        ("inverse_dynamics", "chain", False),
        ("inverse_dynamics", "chain", True),
        ("forward_dynamics", "chain", False),
        ("forward_dynamics", "tree", True),
    ],
)
def test_the_depth_of_doubled_kernels_grows_with_the_logarithm(
    hlo: Any, function: str, shape: str, written_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if written_out:
        from phalanx.backends.jax import pointer_jumping

        monkeypatch.setitem(pointer_jumping.UNROLLED, "cpu", pointer_jumping.UNROLLED_ELSEWHERE)
    depths = []
    for n in (16, 64, 256):
        program, _ = hlo.compiled(TREES[shape](n), function, "doubling")
        kernels, depth = hlo.parse(program.as_text()).measure()
        assert depth <= kernels
        depths.append(depth)
    assert depths[0] < depths[2] < depths[0] * 3, "sixteen times the links"
    if shape == "chain":
        assert depths[2] - depths[1] <= 2 * (depths[1] - depths[0])


def test_the_depth_of_sequential_kernels_is_counted_through_loops(hlo: Any) -> None:
    program, _ = hlo.compiled(px.chain(50), "inverse_dynamics", "sequential")
    _, depth = hlo.parse(program.as_text()).measure()
    assert depth > 3 * 49


SHARDED = """
import jax, numpy as np, phalanx as px
from jax.sharding import Mesh, NamedSharding, PartitionSpec
jax.config.update("jax_enable_x64", True)
assert len(jax.devices()) == 4
robot = px.chain(5)
place = NamedSharding(Mesh(np.array(jax.devices()), ("states",)), PartitionSpec("states"))
state = [jax.device_put(x, place) for x in robot.random_state(8, rng=0)]
result = jax.jit(robot.jax.inverse_dynamics)(*state)
assert result.sharding.is_equivalent_to(place, result.ndim), result.sharding
assert {s.data.shape for s in result.addressable_shards} == {(2, 5)}
text = jax.jit(robot.jax.inverse_dynamics).lower(*state).compile().as_text()
assert not any(word in text for word in ("all-gather", "all-reduce", "all-to-all")), "devices talk"
wanted = robot.inverse_dynamics(*map(np.asarray, state), backend="numpy")
np.testing.assert_allclose(np.asarray(result), wanted, rtol=1e-12, atol=1e-12)
print("sharded")
"""


def test_a_batch_is_spread_over_devices_without_a_word_between_them() -> None:
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [sys.executable, "-c", SHARDED],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
    )
    assert done.stdout.strip() == "sharded", done.stderr


def test_native_kernels_serve_jit_vmap_and_gradients() -> None:
    robot = px.chain(3)
    q, qd, tau = map(jnp.asarray, robot.random_state(4, rng=2))
    native = robot.jax.native
    wanted = robot.forward_dynamics(*map(np.asarray, (q, qd, tau)))
    np.testing.assert_array_equal(jax.jit(native.forward_dynamics)(q, qd, tau), wanted)
    mapped = jax.vmap(native.forward_dynamics, in_axes=(0, None, 0))(q, qd[0], tau)
    agree(np.asarray(mapped), robot.forward_dynamics(*map(np.asarray, (q, qd[0], tau))), 1e-12)

    def total(owner: Any, q: Any) -> Any:
        return owner.forward_dynamics(q, qd[0], tau[0]).sum()

    gradients = [
        jax.jit(jax.grad(lambda q, owner=owner: total(owner, q)))(q[0]) for owner in (native, robot.jax)
    ]
    agree(np.asarray(gradients[0]), np.asarray(gradients[1]), 1e-12)


def test_native_kernels_take_inputs_by_name_in_any_order() -> None:
    robot = px.chain(3)
    q, qd, tau = robot.random_state(rng=1)
    wanted = robot.forward_dynamics(q, qd, tau)
    np.testing.assert_array_equal(robot.jax.native.forward_dynamics(tau=tau, qd=qd, q=q), wanted)


def test_native_kernels_name_wrong_inputs() -> None:
    with pytest.raises(px.PhalanxError, match="inverse_dynamics: got 1 inputs, expected q, qd, qdd"):
        px.chain(3).jax.native.evaluate("inverse_dynamics", (np.zeros(3),))
    with pytest.raises(TypeError, match="missing 2 required positional arguments: 'qd' and 'qdd'"):
        px.chain(3).jax.native.inverse_dynamics(np.zeros(3))  # type: ignore[call-arg]
    with pytest.raises(px.PhalanxError, match=r"q has shape \(2,\), expected \(…, 3\)"):
        px.chain(3).jax.native.gravity_forces(np.zeros(2))
