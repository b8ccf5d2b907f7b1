# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A page with a robot in WebAssembly: sliders, torques against gravity, and a simulation, in one HTML file.

    python examples/browser/make.py                  writes panda.html
    python examples/browser/make.py ur5 -o arm.html

The file needs no server and sends no request; open it in any browser.
"""

from __future__ import annotations

import argparse
import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import phalanx as px

HERE = Path(__file__).parent
FUNCTIONS = ("gravity_forces", "forward_kinematics", "mass_matrix", "kinetic_energy", "potential_energy")
DT = 1e-3  # seconds


def page(robot: px.Robot) -> str:
    """The HTML of a robot whose joints have one coordinate each."""
    if robot.nq != robot.nv or robot.nv != len(robot.joint_names):
        raise px.PhalanxError(
            f'browser page: robot "{robot.name}" has joints of several coordinates; sliders need one each.'
        )
    with tempfile.TemporaryDirectory() as folder:
        wasm, script = robot.export(
            Path(folder) / "robot.wasm", (*FUNCTIONS, robot.simulation(DT, integrator="implicit"))
        )
        code, module = wasm.read_bytes(), script.read_text(encoding="utf-8")
    fill = {
        "title": robot.name.replace("&", "&amp;").replace("<", "&lt;"),
        "module": module,
        "data": json.dumps(_data(robot)).replace("<", "\\u003c"),
        "wasm": base64.b64encode(code).decode(),
    }
    text = (HERE / "page.html").read_text(encoding="utf-8")
    for key, value in fill.items():
        text = text.replace(f"{{{{{key}}}}}", value)
    return text


def _data(robot: px.Robot) -> dict[str, Any]:
    """What the page draws: ranges of the sliders, and straight pieces from joint to joint."""
    lower, upper = np.array(robot.limits.lower), np.array(robot.limits.upper)
    free = ~(np.isfinite(lower) & np.isfinite(upper))
    lower[free], upper[free] = -np.pi, np.pi
    start = _raised(robot, lower, upper)
    bones = _bones(robot, start)
    lengths = [float(np.linalg.norm(np.subtract(b, a))) for _, a, b in bones]
    reach = _reach(robot, bones)
    return {
        "dt": DT,
        "start": start.tolist(),
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "units": ["m" if kind == "prismatic" else "rad" for kind in robot.joint_types],
        "reach": reach,
        "thick": reach / 12,
        "bones": [
            [link, a, b, reach / 12 * (1.0 if length > reach / 9 else 0.6)]
            for (link, a, b), length in zip(bones, lengths, strict=True)
        ],
    }


def _raised(robot: px.Robot, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Of some poses in the middle of the ranges, one that is high and reaches out."""
    middle, half = (lower + upper) / 2, np.minimum((upper - lower) * 0.3, 1.2)
    poses = middle + half * np.random.default_rng(2).uniform(-1, 1, (400, robot.nq))
    places = robot.forward_kinematics(poses)[..., :3, 3]
    out = np.linalg.norm(places[:, -1, :2], axis=-1)
    return np.round(poses[np.argmax(places[..., 2].mean(axis=-1) + 0.7 * out)], 3)


def _bones(robot: px.Robot, q: np.ndarray) -> list[tuple[int, list[float], list[float]]]:
    """(link, from, to) in the frame of a link, -1 being the base: from its origin to what is fixed there."""
    poses = robot.forward_kinematics(q)
    children: dict[int, list[np.ndarray]] = {k: [] for k in range(-1, robot.n_links)}
    for link, parent in enumerate(robot.parents):
        children[int(parent)].append(poses[link, :3, 3])
    for name in robot.frame_names:
        # A frame that is welded to a link does not move in it.
        there = [_within(robot, name, each) for each in (q, q + 0.1)]
        for link in range(robot.n_links):
            if np.allclose(there[0][link], there[1][link], atol=1e-9):
                children[link].append((poses[link] @ np.append(there[0][link], 1.0))[:3])
                break
    made = []
    for link, points in children.items():
        base = np.eye(4) if link < 0 else poses[link]
        for point in points:
            local = (np.linalg.inv(base) @ np.append(point, 1.0))[:3]
            if np.linalg.norm(local) > 1e-3:
                made.append((link, [0.0, 0.0, 0.0], local.round(5).tolist()))
    return made


def _reach(robot: px.Robot, bones: list[tuple[int, list[float], list[float]]]) -> float:
    """The largest distance of any shape from the base over random poses."""
    poses = robot.forward_kinematics(robot.random_state(200, rng=0)[0])
    ends = [poses[:, link] @ np.array([*end, 1.0]) for link, _, end in bones if link >= 0]
    return max((float(np.linalg.norm(p[:, :3], axis=-1).max()) for p in ends), default=1.0)


def _within(robot: px.Robot, frame: str, q: np.ndarray) -> np.ndarray:
    """The origin of a frame in the frame of every link."""
    point = robot.frame_pose(q, frame)[:, 3]
    return np.array([(np.linalg.inv(pose) @ point)[:3] for pose in robot.forward_kinematics(q)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("robot", nargs="?", default="panda", help="a file or a built-in name")
    parser.add_argument("-o", "--output", type=Path, help="the page; default: the robot's name")
    args = parser.parse_args()
    robot = px.load(args.robot)
    output = args.output or Path(f"{robot.name}.html")
    output.write_text(page(robot), encoding="utf-8")
    print(f"{output}: {output.stat().st_size / 1024:.0f} KB; open it in a browser.")


if __name__ == "__main__":
    main()
