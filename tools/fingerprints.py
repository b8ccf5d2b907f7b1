# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Fingerprints of many kernels: have LLVM IR, operation counts or bits of results changed?

    python tools/fingerprints.py before.json             # in a checkout before a change
    python tools/fingerprints.py after.json before.json  # after it; prints what differs, status 1 if bits do

LLVM IR is compared without the names that it gives to values, functions and globals. `--quick` takes a
sixth of the kernels.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from os import environ
from pathlib import Path
from typing import Any

environ.setdefault("PHALANX_CACHE_DIR", tempfile.mkdtemp(prefix="fingerprints"))

import numpy as np

import phalanx as px
from phalanx.algorithms import FUNCTIONS

PRODUCTS = ("jvp", "vjp", "hvp")
FRAME = -1  # of `frame_names`


def robots() -> dict[str, Any]:
    """Arms, trees of all joint types, a floating base, and robots long enough for loops."""
    return {
        "two_link": px.load("two_link"),
        "ur5": px.load("ur5"),
        "panda": px.load("panda"),
        "tree of 9": px.tree(9, seed=3, joints=("revolute", "prismatic", "spherical", "universal")),
        "floating tree of 12": px.tree(12, seed=5).with_floating_base(),
        "chain of 40": px.chain(40, seed=1, prismatic=0.2),
        "chain of 150": px.chain(150, seed=2),
        "tree of 120": px.tree(120, seed=4),
    }


def cases() -> Iterator[tuple[str, Any, str, str, str, tuple[str, ...]]]:
    """(robot's name, robot, function, algorithm, dtype, optional inputs) of each kernel."""
    for name, robot in robots().items():
        small = robot.nv <= 12
        for function, f in FUNCTIONS.items():
            for algorithm in px.algorithms(function):
                if not algorithm.refusal(robot):
                    yield name, robot, function, algorithm.name, "float64", ()
            yield name, robot, function, "auto", "float32", ()
            for optional in f.optional:
                yield name, robot, function, "auto", "float64", (optional,)
        products = (
            "inverse_dynamics",
            "forward_dynamics",
            "mass_matrix",
            "forward_kinematics",
            "kinetic_energy",
        )
        for function in products if small or name == "chain of 150" else products[:2]:
            for product in PRODUCTS if small else PRODUCTS[:2]:
                yield name, robot, f"{product} of {function}", "auto", "float64", ()


def plain(text: str) -> str:
    """LLVM IR with its names numbered by first appearance, without comments and blank lines."""
    text = re.sub(r"(?m);.*$", "", text)
    names: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        kind = found[0][0] if found[0][0] in "%@!" else ":"  # of a label
        return names.setdefault(found[0], f"{kind}{len(names)}")

    text = re.sub(r'[%@!](?:"[^"]*"|[-\w.$]+)|(?m:^[-\w.$]+(?=:))', number, text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def fingerprint(
    robot: Any, function: str, algorithm: str, dtype: str, optional: tuple[str, ...]
) -> dict[str, Any]:
    """Digests of the IR and of the results at 5 states, and the operations."""
    product, _, name = function.rpartition(" of ")
    f = FUNCTIONS[name]
    rng = np.random.default_rng(7)
    q, qd, qdd = robot.random_state(5, rng=rng)
    known = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    given = [np.asarray(known[n], dtype) for n in f.inputs]
    if product:
        tangents = [rng.standard_normal((5, robot.nv)) for _ in given]
        shape = np.shape(getattr(robot, name)(*given))
        cotangent = rng.standard_normal(shape)
        more = {"jvp": [tangents], "vjp": [cotangent], "hvp": [cotangent, tangents]}[product]
        return {"bits": bits(getattr(robot, product)(name, given, *more))}
    framed = {"frame": robot.frame_names[FRAME]} if f.frame else {}
    kernel = robot.kernel(name, algorithm, dtype, **framed)
    shapes = kernel._call.shapes(optional)[len(given) :]
    more = {n: np.asarray(rng.random((5, *s)) + 0.5, dtype) for n, s in zip(optional, shapes, strict=False)}
    if "inertias" in more:
        own = robot.inertial_parameters.reshape(-1, 10) * 1.25
        more["inertias"] = np.broadcast_to(own, (5, *own.shape)).astype(dtype)
    found = {"bits": bits(kernel(*given, **more))}
    if optional:
        return found
    c = kernel.cost
    counted = [c.multiplications, c.additions, c.divisions, c.trigonometric]
    return {**found, "ir": digest(plain(kernel.llvm_ir()).encode()), "cost": counted}


def others() -> Iterator[tuple[str, dict[str, Any]]]:
    """Rollouts and exports."""
    rng = np.random.default_rng(3)
    for name, robot in {"panda": px.load("panda"), "chain of 150": px.chain(150, seed=2)}.items():
        q, qd, _ = robot.random_state(3, rng=rng)
        for integrator in ("implicit", "euler", "rk4") if name == "panda" else ("euler", "rk4"):
            run = robot.simulation(integrator=integrator).rollout(q, qd, steps=5)
            yield f"{name}, rollout, {integrator}", {"bits": bits((run.q, run.qd))}
        for suffix in (".h", ".cl", ".cu", ".wasm", ".ptx"):
            with tempfile.TemporaryDirectory() as folder:
                files = robot.export(Path(folder) / f"arm{suffix}")
                texts = [re.sub(rb"(?m)^.*Phalanx.*$", b"", Path(f).read_bytes()) for f in sorted(files)]
                yield f"{name}, export to {suffix}", {"ir": digest(b"".join(texts))}


def bits(results: Any) -> str:
    """A digest of the bits of one array or several."""
    results = results if isinstance(results, tuple) else (results,)
    return digest(b"".join(np.ascontiguousarray(r).tobytes() for r in results))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("written", type=Path)
    parser.add_argument("before", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    made: dict[str, Any] = {}
    for k, (name, robot, function, algorithm, dtype, optional) in enumerate(cases()):
        if args.quick and k % 6:
            continue
        key = f"{name}, {function}, {algorithm}, {dtype}{''.join(f', {o}' for o in optional)}"
        try:
            made[key] = fingerprint(robot, function, algorithm, dtype, optional)
        except px.PhalanxError as error:
            made[key] = {"refused": str(error)}
    if not args.quick:
        made |= dict(others())
    args.written.write_text(json.dumps(made, indent=1))
    print(f"{len(made)} kernels, {sum('refused' in m for m in made.values())} refused")
    if args.before is None:
        return 0
    before = json.loads(args.before.read_text())
    differing = {
        what: [key for key in made if key in before and before[key].get(what) != made[key].get(what)]
        for what in ("ir", "bits", "cost", "refused")
    }
    for what, keys in differing.items():
        print(f"{what}: {len(keys)} differ" + "".join(f"\n  {key}" for key in keys[:12]))
    return 1 if differing["bits"] else 0


if __name__ == "__main__":
    sys.exit(main())
