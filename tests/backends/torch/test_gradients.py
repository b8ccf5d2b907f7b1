# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.torch`: gradients by PyTorch's own check, against differences of the kernels."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from reference.sampling import MOVING_TYPES, agree

torch = pytest.importorskip("torch", reason='PyTorch is not installed (pip install ".[torch]")')

from phalanx.backends.torch.derivatives import Work  # noqa: E402

ONE_RESULT = [f.name for f in FUNCTIONS.values() if len(f.outputs) == 1]


@cache
def robot_of(kind: str) -> px.Robot:
    if kind == "arm":
        return px.chain(3, prismatic=0.3).replace(armature=0.1)
    if kind == "floating":
        return px.tree(2, 0.6, seed=3).with_floating_base()
    return px.tree(6, 0.6, seed=1, joints=[t for t in MOVING_TYPES if t != "floating"])


def tensors(robot: px.Robot, function: str, batch: Any = (), **how: Any) -> list[Any]:
    q, qd, qdd = robot.random_state(batch, rng=4)
    given = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    return [torch.tensor(given[name], **how) for name in FUNCTIONS[function].inputs]


def call(robot: px.Robot, function: str) -> Any:
    frame = {"frame": robot.frame_names[-1]} if FUNCTIONS[function].frame else {}
    return lambda *inputs, **more: getattr(robot.torch, function)(*inputs, **frame, **more)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_are_those_of_the_methods(function: str, dtype: str) -> None:
    robot = robot_of("floating" if FUNCTIONS[function].full_rank else "arm")
    inputs = [x.to(getattr(torch, dtype)) for x in tensors(robot, function, (2, 3))]
    results = call(robot, function)(*inputs)
    frame = {"frame": robot.frame_names[-1]} if FUNCTIONS[function].frame else {}
    wanted = getattr(robot, function)(*(x.numpy() for x in inputs), **frame)
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (results, wanted)), strict=True):
        assert a.dtype == getattr(torch, dtype)
        assert a.shape == b.shape
        np.testing.assert_array_equal(a.numpy(), b)
    assert type(results) is type(wanted) or isinstance(results, torch.Tensor)


@pytest.mark.parametrize("kind", ["arm", "mixed tree", "floating"])
@pytest.mark.parametrize("function", ONE_RESULT)
def test_gradients_pass_the_check_of_pytorch(function: str, kind: str) -> None:
    """Numerical gradients with respect to all coordinates, quaternions included."""
    robot = robot_of("floating" if FUNCTIONS[function].full_rank else kind)
    inputs = tensors(robot, function, requires_grad=True)
    assert torch.autograd.gradcheck(call(robot, function), inputs, atol=1e-4, rtol=1e-4, fast_mode=True)


@pytest.mark.parametrize(
    "function", ["inverse_dynamics", "forward_dynamics", "bias_forces", "gravity_forces"]
)
def test_gradients_of_wrenches_and_inertias_pass_the_check_of_pytorch(function: str) -> None:
    robot = robot_of("mixed tree")
    inputs = tensors(robot, function, (2,), requires_grad=True)
    inertias = torch.tensor(robot.inertial_parameters.reshape(-1, 10), requires_grad=True)
    more = {"inertias": inertias}
    if "external" in FUNCTIONS[function].optional:
        rng = np.random.default_rng(0)
        more["external"] = torch.tensor(rng.standard_normal((2, robot.n_links, 6)), requires_grad=True)

    def value(*given: Any) -> Any:
        return call(robot, function)(
            *given[: len(inputs)], **dict(zip(more, given[len(inputs) :], strict=True))
        )

    assert torch.autograd.gradcheck(value, [*inputs, *more.values()], atol=1e-4, rtol=1e-4, fast_mode=True)


def test_wrenches_may_be_given_by_name() -> None:
    robot = robot_of("arm")
    q, qd, qdd = tensors(robot, "inverse_dynamics", (4,))
    wrench = torch.ones(4, 6, dtype=torch.float64, requires_grad=True)
    tip = robot.link_names[-1]
    tau = robot.torch.inverse_dynamics(q, qd, qdd, external={tip: wrench})
    agree(
        tau.detach().numpy(),
        robot.inverse_dynamics(*map(np.asarray, (q, qd, qdd)), external={tip: np.ones(6)}),
        1e-14,
    )
    tau.sum().backward()
    jacobian = robot.jacobian(q.numpy(), tip, reference="local")
    agree(wrench.grad.numpy(), -jacobian.sum(axis=-1), 1e-12)


def test_what_was_broadcast_is_summed_and_only_what_needs_a_gradient_gets_one() -> None:
    robot = robot_of("floating")
    q, qd, tau = tensors(robot, "forward_dynamics", (5, 1))
    qd, tau = qd[0, 0].requires_grad_(), tau[:3, 0]
    q.requires_grad_()
    robot.torch.forward_dynamics(q, qd, tau).sum().backward()
    assert q.grad.shape == (5, 1, robot.nq)
    assert qd.grad.shape == (robot.nv,)
    assert tau.grad is None
    wide = [x.detach().expand(5, 3, x.shape[-1]).numpy() for x in (q, qd, tau)]
    back = robot.vjp("forward_dynamics", wide, np.ones((5, 3, robot.nv)))
    agree(qd.grad.numpy(), back[1].sum(axis=(0, 1)), 1e-12)
    # Gradients of coordinates, seen along rates, are those of the tangent space.
    seen = [c.kind.along_rates(wide[0][:, :1, c.q], q.grad.numpy()[..., c.q]) for c in robot._coordinates]
    agree(np.concatenate(seen, axis=-1), back[0].sum(axis=1, keepdims=True), 1e-12)


def test_float32_gradients_are_float32() -> None:
    robot = robot_of("arm")
    wide = tensors(robot, "forward_dynamics", (8,))
    narrow = [x.float().requires_grad_() for x in wide]
    for x in wide:
        x.requires_grad_()
    for inputs in (wide, narrow):
        (robot.torch.forward_dynamics(*inputs) ** 2).sum().backward()
    for a, b in zip(wide, narrow, strict=True):
        assert b.grad.dtype == torch.float32
        agree(b.grad.double().numpy(), a.grad.numpy(), 1e-3)


def test_results_and_inputs_share_memory_with_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = robot_of("arm")
    q = tensors(robot, "mass_matrix", (6,))[0][::2]  # with gaps
    seen: list[Any] = []
    value = Work.value

    def watched(self: Any, q: Any) -> Any:
        seen.extend([q, *value(self, q)])
        return tuple(seen[1:])

    monkeypatch.setattr(Work, "value", watched)
    made = robot.torch.mass_matrix(q)
    assert seen[0].__array_interface__["data"][0] == q.data_ptr()
    assert seen[0].strides == tuple(8 * s for s in q.stride())
    assert seen[1].__array_interface__["data"][0] == made.data_ptr()


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "kinetic_energy", "frame_pose"])
def test_second_derivatives_pass_the_check_of_pytorch(function: str) -> None:
    robot = robot_of("arm")
    inputs = tensors(robot, function, (2,), requires_grad=True)
    assert torch.autograd.gradgradcheck(call(robot, function), inputs, atol=1e-4, rtol=1e-4, fast_mode=True)


def test_forward_mode_passes_the_check_of_pytorch() -> None:
    robot = robot_of("mixed tree")
    inputs = tensors(robot, "forward_dynamics", (2,), requires_grad=True)
    assert torch.autograd.gradcheck(
        robot.torch.forward_dynamics, inputs, atol=1e-4, rtol=1e-4, fast_mode=True, check_forward_ad=True
    )


def test_transformations_of_functions_nest() -> None:
    robot = robot_of("arm")
    q, qd, tau = tensors(robot, "forward_dynamics", (4,))
    f = robot.torch.forward_dynamics
    wanted = robot.forward_dynamics_derivatives(q.numpy(), qd.numpy(), tau.numpy())
    for mode in (torch.func.jacrev, torch.func.jacfwd):
        made = torch.func.vmap(mode(f, argnums=(0, 1, 2)))(q, qd, tau)
        for a, b in zip(made, wanted, strict=True):
            agree(a.numpy(), b, 1e-10)
    shared = torch.func.vmap(lambda q: f(q, qd[:2], tau[0]))(q)  # batches of different ranks
    agree(shared.numpy(), robot.forward_dynamics(q.numpy()[:, None], qd.numpy()[:2], tau.numpy()[0]), 1e-13)
    curved = torch.func.hessian(lambda q: f(q, qd[0], tau[0]).sum())(q[0])
    again = torch.func.jacrev(torch.func.grad(lambda q: f(q, qd[0], tau[0]).sum()))(q[0])
    agree(curved.numpy(), again.numpy(), 1e-10)
    step = 1e-5 * np.eye(robot.nv)[0]
    ahead, back = (
        robot.vjp("forward_dynamics", (q[0].numpy() + s, qd[0].numpy(), tau[0].numpy()), np.ones(3))[0]
        for s in (step, -step)
    )
    agree(curved.numpy()[0], (ahead - back) / 2e-5, 1e-6)


def test_inertias_are_learned_from_forces() -> None:
    """Gradient descent by an optimiser of PyTorch finds the mass that was changed."""
    robot = robot_of("arm")
    q, qd, qdd = tensors(robot, "inverse_dynamics", (64,))
    own = torch.tensor(robot.inertial_parameters.reshape(-1, 10))
    heavy = own.clone()
    heavy[-1, 0] += 0.7
    tau = robot.torch.inverse_dynamics(q, qd, qdd, inertias=heavy)
    more = torch.zeros((), dtype=torch.float64, requires_grad=True)
    where = torch.zeros_like(own)
    where[-1, 0] = 1.0
    search = torch.optim.LBFGS([more], max_iter=20)

    def loss() -> Any:
        search.zero_grad()
        error = ((robot.torch.inverse_dynamics(q, qd, qdd, inertias=own + where * more) - tau) ** 2).mean()
        error.backward()
        return error

    search.step(loss)
    assert abs(float(more.detach()) - 0.7) < 1e-6


def test_wrong_tensors_are_named_with_the_remedy() -> None:
    robot = robot_of("arm")
    q, qd, tau = tensors(robot, "forward_dynamics")
    f = robot.torch.forward_dynamics
    for inputs, message in [
        ((q.numpy(), qd, tau), r"forward_dynamics: q is ndarray, expected a torch.Tensor; torch.as_tensor"),
        ((q.long(), qd, tau), r"forward_dynamics: q has dtype torch.int64, expected torch.float64 or"),
        ((q, qd.float(), tau), r"forward_dynamics: dtypes differ: .*qd torch.float32.*x.double\(\)"),
        (
            (q.to("meta"), qd, tau),
            r"forward_dynamics: q is on meta, expected a tensor on the CPU; pass x.cpu",
        ),
        ((q.to_sparse(), qd, tau), r"forward_dynamics: q has layout torch.sparse_coo, expected a dense"),
        ((q[:2], qd, tau), r"forward_dynamics: q has shape \(2,\), expected \(…, 3\)"),
        ((q, qd.expand(2, 3), tau.expand(5, 3)), r"forward_dynamics: the batch shapes .* do not broadcast"),
    ]:
        with pytest.raises(px.PhalanxError, match=message):
            f(*inputs)
    with pytest.raises(px.PhalanxError, match=r'external on "tip" has shape|has no frame'):
        f(q, qd, tau, external={"tip": q})


def test_gradients_that_nobody_computes_are_refused() -> None:
    robot, ball = robot_of("arm"), robot_of("floating")
    q, qd, qdd = tensors(robot, "inverse_dynamics", requires_grad=True)
    inertias = torch.tensor(robot.inertial_parameters.reshape(-1, 10), requires_grad=True)
    with pytest.raises(px.PhalanxError, match=r"no gradient with respect to inertias; pass inertias.detach"):
        robot.torch.mass_matrix(q, inertias=inertias)
    with pytest.raises(px.PhalanxError, match=r"its results have no gradient; call it under torch.no_grad"):
        robot.torch.inverse_dynamics_derivatives(q, qd, qdd)
    with pytest.raises(px.PhalanxError, match=r"no gradients with base_velocity; float the base"):
        robot.torch.inverse_dynamics(q, qd, qdd, base_velocity=torch.zeros(6, dtype=torch.float64))
    with torch.no_grad():
        assert robot.torch.inverse_dynamics_derivatives(q, qd, qdd).dq.shape == (3, 3)
    x = tensors(ball, "gravity_forces", requires_grad=True)[0]
    (slope,) = torch.autograd.grad(ball.torch.gravity_forces(x).sum(), x, create_graph=True)
    with pytest.raises(
        px.PhalanxError, match="has joints with quaternions, which have first derivatives only"
    ):
        slope.sum().backward()


def test_an_input_changed_in_place_is_noticed() -> None:
    robot = robot_of("arm")
    q = tensors(robot, "gravity_forces", requires_grad=True)[0]
    moved = q * 1.0
    tau = robot.torch.gravity_forces(moved)
    moved += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        tau.sum().backward()


def test_a_robot_that_cannot_move_and_empty_batches_have_gradients_too() -> None:
    still = px.load("two_link").fix(dict.fromkeys(px.load("two_link").joint_names, 0.0))
    q = torch.zeros(3, 0, dtype=torch.float64, requires_grad=True)
    still.torch.potential_energy(q).sum().backward()
    assert q.grad.shape == (3, 0)
    robot = robot_of("arm")
    none = [x[:0].requires_grad_() for x in tensors(robot, "forward_dynamics", (2,))]
    robot.torch.forward_dynamics(*none).sum().backward()
    assert none[0].grad.shape == (0, 3)


def test_programs_of_torch_compile_leave_kernels_to_python() -> None:
    robot = robot_of("arm")
    inputs = tensors(robot, "forward_dynamics", (4,), requires_grad=True)

    def loss(*inputs: Any) -> Any:
        return (robot.torch.forward_dynamics(inputs[0] * 2.0, *inputs[1:]) ** 2).sum()

    wanted = torch.autograd.grad(loss(*inputs), inputs)
    made = torch.autograd.grad(torch.compile(loss, backend="eager")(*inputs), inputs)
    for a, b in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
