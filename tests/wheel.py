# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What an installed wheel must do with no package but its own dependencies: `make test-wheel`.

It runs outside of the source tree, with the interpreter of an environment that holds the wheel.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import phalanx as px


def main() -> None:
    assert "site-packages" in Path(px.__file__).parts, px.__file__
    assert find_spec("mujoco") is None, "an empty environment is expected"
    for name in px.robots():
        robot = px.load(name)
        q, qd, qdd = robot.random_state(300, rng=0)
        tau = robot.inverse_dynamics(q, qd, qdd)
        wanted = robot.inverse_dynamics(q[:3], qd[:3], qdd[:3], backend="numpy")
        np.testing.assert_allclose(tau[:3], wanted, rtol=0, atol=1e-11 * max(1.0, np.abs(wanted).max()))
    robot = px.load("panda")
    q, qd, _ = robot.random_state(64, rng=1)
    kernel = robot.kernel("forward_dynamics")
    step = kernel.bind(q[0], qd[0], qd[0], out=np.empty(robot.nv))
    step()
    run = robot.simulation(1e-3, control=px.control.pd(50.0, 5.0)).rollout(q, qd, steps=20)
    assert np.isfinite(run.q).all()
    px.cost(robot, "inverse_dynamics", algorithm="lathrop")
    for words in (["info", "panda"], ["cost", "ur5"], ["demo"], ["export", "ur5", "-o", "arm.h"]):
        subprocess.run([sys.executable, "-m", "phalanx", *words], check=True, stdout=subprocess.DEVNULL)
    print(f"wheel: {len(px.robots()) + 8} passed, 0 failed")


if __name__ == "__main__":
    main()
