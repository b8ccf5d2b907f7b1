# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The script of the report's page, run by Node.js."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np

import phalanx as px
from phalanx.studio.report import page
from phalanx.studio.report.scene import kinematics

NODE = shutil.which("node")


def by_script(robot: px.Robot, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Poses (…, n, 3, 4) and gravity forces (…, nv) as the page computes them without WebAssembly."""
    data = json.dumps({"robot": kinematics(robot), "shapes": {}})
    text = f"""const document = {{ getElementById: () => ({{ textContent: {json.dumps(data)} }}) }};
{page._asset("kinematics.js")}
const states = {json.dumps(states.tolist())};
const forces = (q) => Array.from(gravityForces(Float64Array.from(q)));
console.log(JSON.stringify(states.map((q) => [posesOf(q), forces(q)])));"""
    done = subprocess.run(
        [str(NODE), "-"], input=text, capture_output=True, text=True, timeout=60, check=True
    )
    found = json.loads(done.stdout)
    poses = np.array([p for p, _ in found]).reshape(len(states), robot.n_links, 3, 4)
    return poses, np.array([g for _, g in found]).reshape(len(states), robot.nv)
