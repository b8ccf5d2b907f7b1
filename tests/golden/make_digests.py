# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Print the digests of the built-in robots, of some of each generator, and of changed ones, as JSON.

`python tests/golden/make_digests.py > tests/golden/digests.json` writes them again.
"""

import json
import warnings
from hashlib import sha256

import phalanx as px
from phalanx.io.robots import generators
from phalanx.robot.joints import joint_types
from phalanx.simulation.step import inertias_at_joints


def digests() -> dict[str, str]:
    """What every processor must come to."""
    made = {name: px.load(name).digest for name in px.robots()}
    few = {
        "chain": px.Robot(generators.chain(12)),
        "tree": px.Robot(generators.tree(18, joints=joint_types())),
        "snake": px.Robot(generators.snake(5)),
        "coil": px.Robot(generators.coil(9)),
        "dill": px.Robot(generators.dill(3)),
    }
    panda = px.load("panda")
    few["panda, joint 4 fixed"] = panda.fix({panda.joint_names[3]: 0.7})
    made |= {name: robot.digest for name, robot in few.items()}
    for name in ("panda", "chain"):
        robot = few.get(name) or panda
        chain = robot.model.dh
        arrays = (chain.a, chain.alpha, chain.d, chain.theta, chain.s, chain.J, chain.base.E, chain.links.r)
        made[f"{name} in DH frames"] = sha256(b"".join(x.tobytes() for x in arrays)).hexdigest()
    for name in ("panda", "chain"):
        inertias = inertias_at_joints(few.get(name) or panda)
        made[f"{name}, inertias at its joints"] = sha256(b"".join(x.tobytes() for x in inertias)).hexdigest()
    made["panda, inertias of the links"] = sha256(panda.inertial_parameters.tobytes()).hexdigest()
    return made


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(digests(), indent=1))
