# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Wrong calls. Each line tells what checkers must say of it: an error that is not reported is one itself."""

from __future__ import annotations

import numpy as np

import phalanx as px

robot = px.load("panda")
q, qd, tau = robot.random_state(rng=0)

robot.inverse_dynamics(q, qd)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
robot.inverse_dynamics(q, qd, tau, externl=None)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
robot.inverse_dynamics("home", qd, tau)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
robot.forward_dynamics(q, qd, qdd=tau)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
robot.mass_matrix(q, None, np.empty((7, 7)))  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
robot.mass_matrix(q, backend="nativ")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
robot.mass_matrix(q, threads="all")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
robot.mass_matrix(q, out=[0.0] * 49)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
robot.jacobian(q)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
robot.jacobian(q, "panda_hand", reference="wrold")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
robot.mass_matrix(q).trace_of()  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
robot.mass_matrx(q)  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]

kernel = robot.kernel("forward_dynamics")
kernel("home", qd, tau)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
kernel(q, qd, tau, threads="all")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
kernel(q, qd, tau).trace_of()  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
kernel.bind(q, qd, tau)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
kernel.bind(q, qd, tau, out=tau)(q)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
robot.kernel("mass_matrix", dtype="float16")  # type: ignore[call-overload] # pyright: ignore[reportCallIssue, reportArgumentType]

px.load(7)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
px.load("panda", mimic="couple")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
px.load("panda", floating=True)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
px.cost(robot)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
px.cost(robot, "mass_matrix", customise="fully")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
px.schedule(robot, "mass_matrix", machine="pram")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
px.cost("panda", "mass_matrix")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
robot.replace((0.0, 0.0, -9.81))  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
robot.integrate(q)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
robot.nq = 8  # type: ignore[misc] # pyright: ignore[reportAttributeAccessIssue]
px.set_threads("all")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

if "jax" in robot.name:  # never: types only
    robot.jax.inverse_dynamics(q, qd)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    robot.jax.mass_matrix(q, out=q)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    robot.jax.mass_matrix(q, schedule="log")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
