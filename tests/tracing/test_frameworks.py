# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Users' own functions in JAX and PyTorch: values and derivatives of both modes and two orders."""

from typing import Any

import numpy as np
import pytest

import phalanx as px

ROBOT = px.tree(3, seed=1, joints=("floating", "revolute"))


def reach(q: Any, qd: Any, robot: Any, *, goal: Any) -> Any:
    """The distance of the last frame to a point, and the power of the bias forces."""
    last = robot.frame_names[-1]
    error = robot.frame_pose(q, last)[:3, 3] - goal
    return {"distance": error @ error, "power": (robot.bias_forces(q, qd) * qd, error)}


@pytest.fixture(scope="module")
def f() -> Any:
    return ROBOT.function(reach, goal=3)


def given(batch: tuple[int, ...] = ()) -> tuple[Any, Any, Any]:
    q, qd, _ = ROBOT.random_state(batch, np.random.default_rng(0))
    return q, qd, np.array([0.1, 0.2, 0.3])


def slope_by_differences(f: Any, q: Any, qd: Any, goal: Any) -> Any:
    """The gradient of the distance by the coordinates of q."""
    h, eye = 1e-5, np.eye(len(q))
    return np.array(
        [(f(q + h * e, qd, goal)["distance"] - f(q - h * e, qd, goal)["distance"]) / (2 * h) for e in eye]
    )


def test_jax_computes_the_same_and_differentiates(f: Any) -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        g = ROBOT.jax.function(f)
        q, qd, goal = given((3,))
        made, expected = jax.jit(g)(q, qd, goal=goal), f(q, qd, goal=goal)
        np.testing.assert_array_equal(made["distance"], expected["distance"])
        np.testing.assert_array_equal(made["power"][0], expected["power"][0])

        def distance(q: Any, goal: Any) -> Any:
            return g(q, qd[0], goal=goal)["distance"]

        slope = jax.grad(distance)(q[0], goal)
        np.testing.assert_allclose(slope, slope_by_differences(f, q[0], qd[0], goal), atol=1e-7)
        rows = jax.vmap(jax.grad(distance), in_axes=(0, None))(q, goal)
        np.testing.assert_allclose(rows[0], slope, rtol=1e-12)
        mixed = jax.jacfwd(jax.grad(distance, argnums=1))(q[0], goal)
        other = jax.jacrev(jax.grad(distance))(q[0], goal)
        np.testing.assert_allclose(
            mixed, np.swapaxes(jax.jacfwd(jax.grad(distance), argnums=1)(q[0], goal), 0, 1), atol=1e-10
        )
        np.testing.assert_allclose(other, other.T, atol=1e-10)


def test_torch_computes_the_same_and_differentiates(f: Any) -> None:
    torch = pytest.importorskip("torch")
    g = ROBOT.torch.function(f)
    q, qd, goal = (torch.as_tensor(x).requires_grad_() for x in given((2,)))
    expected = f(*given((2,)))
    made = g(q, qd, goal=goal)
    np.testing.assert_array_equal(made["power"][0].detach().numpy(), expected["power"][0])
    made["distance"].sum().backward()
    arrays = given((2,))
    np.testing.assert_allclose(
        q.grad[1].numpy(), slope_by_differences(f, arrays[0][1], arrays[1][1], arrays[2]), atol=1e-7
    )
    assert goal.grad.shape == (3,)

    def total(q: Any, qd: Any, goal: Any) -> Any:
        made = g(q, qd, goal=goal)
        return made["distance"].sum() + (made["power"][0] ** 2).sum()

    assert torch.autograd.gradcheck(total, (q, qd, goal), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda q, goal: total(q, qd.detach(), goal), (q, goal), atol=1e-4)
    with pytest.raises(px.PhalanxError, match=r"qd is ndarray, expected a torch\.Tensor"):
        g(q, qd.detach().numpy(), goal=goal)
