# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One case after another in a process of their own: what they raise, how long they take, what they leave.

Run as a program by `fuzz.run`; every line on standard output is a JSON object. Before each case its seed
is told, so that whoever reads knows which one ended the process.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

import numpy as np  # noqa: E402

import phalanx as px  # noqa: E402
from fuzz.calls import call, jax_call  # noqa: E402
from fuzz.exports import export  # noqa: E402
from fuzz.laws import law_case  # noqa: E402
from fuzz.products import product  # noqa: E402
from fuzz.recordings import data_call, recording  # noqa: E402
from fuzz.robot_files import RobotFile, robot_file  # noqa: E402
from fuzz.studio import studio  # noqa: E402

POOLS = ("phalanx-", "zarr", "asyncio_")  # threads that wait for work: ours, and those of zarr
LONGEST = 2000  # characters of a message
CALLS = {
    "call": call,
    "jax": jax_call,
    "recording": recording,
    "data": data_call,
    "law": law_case,
    "export": export,
    "product": product,
    "studio": studio,
}


def load(case: RobotFile) -> px.Robot:
    """The robot of a file in the scratch folder, which is empty again afterwards."""
    options = dict(case.options)
    content = case.content
    if case.way == "text" and isinstance(content, str):
        return px.load(content if "\n" in content else content + "\n", **options)
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    if case.way == "bytes":
        return px.load(data, **options)
    if case.way == "object":
        return px.load(io.BytesIO(data), **options)
    path = Path(f"robot{case.suffix}")
    path.write_bytes(data)
    try:
        return px.load(path, **options)
    finally:
        path.unlink()


def use(robot: px.Robot) -> None:
    """What everybody does with a robot: look at it, compute, keep it."""
    repr(robot)
    if robot.nv > 60:
        return
    q, qd, qdd = robot.random_state(rng=0)
    with np.errstate(all="ignore"):
        tau = robot.inverse_dynamics(q, qd, qdd, backend="numpy")
        robot.forward_kinematics(q, backend="numpy")
        with contextlib.suppress(px.PhalanxError):  # a mass matrix without an inverse
            robot.forward_dynamics(q, qd, tau, backend="numpy")
    robot.save("saved.json")
    try:
        assert px.load("saved.json") == robot, "a robot changed on its way through a file"
    finally:
        os.remove("saved.json")


def run(kind: str, seed: int) -> str:
    """What became of a case: "fine", "refused", or what is wrong with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind in CALLS:
                CALLS[kind](seed)
            elif kind == "fault":
                FAULTS[seed]()
            else:
                use(load(robot_file(kind, seed)))
        except px.PhalanxError as error:
            return _judged(str(error))
        except Exception:
            return traceback.format_exc(limit=-6)
    return "fine"


def _linger() -> None:
    threading.Thread(target=time.sleep, args=(60.0,), name="lingering", daemon=True).start()


# What the judge must see, for its own test.
FAULTS: list[Callable[[], Any]] = [
    lambda: {}["missing"],
    lambda: Path("left.txt").write_text("x"),
    lambda: time.sleep(60.0),
    lambda: faulthandler._sigsegv(),  # type: ignore[attr-defined]
    lambda: np.empty(2**44),
    lambda: os._exit(0),
    lambda: (_ for _ in ()).throw(px.PhalanxError("")),
    _linger,
]


def _judged(message: str) -> str:
    """Whether a message is one line that people can read."""
    if not message or not message.isprintable():
        return f"message with control characters or none: {message!r:.300}"
    return "refused" if len(message) <= LONGEST else f"message of {len(message)} characters: {message:.300}"


def left_behind(root: Path) -> list[str]:
    """Files in the scratch folders and threads that are none of the pool."""
    files = [str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir()]
    threads = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    return files + [f"thread {name}" for name in threads if not name.startswith(POOLS)]


def main() -> None:
    """Judge the cases from `start` to `stop` of a kind; scratch folders are below the given one."""
    kind, start, stop, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    root = Path(sys.argv[5])
    scratch = root / "a" / "b" / "scratch"
    scratch.mkdir(parents=True)
    os.environ["TMPDIR"] = str(scratch)
    os.chdir(scratch)
    faulthandler.enable()
    if kind == "jax":  # which asks for much more memory than it uses
        os.environ["JAX_ENABLE_X64"] = "1"
    else:
        _limit_memory(16)
    for seed in range(start, stop):
        _tell(seed=seed)
        faulthandler.dump_traceback_later(seconds, exit=True)
        begun = time.process_time()
        told = run(kind, seed)
        faulthandler.cancel_dump_traceback_later()
        took = time.process_time() - begun
        if left := left_behind(root):
            told = f"left behind: {left}\n{told}"
            for name in left:
                if (root / name).is_file():
                    (root / name).unlink()
        _tell(seed=seed, told=told, seconds=round(took, 3))


def _limit_memory(gigabytes: int) -> None:
    """Let what takes too much memory end itself, not the machine."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, resource.RLIM_INFINITY))


def _tell(**facts: Any) -> None:
    sys.__stdout__.write(json.dumps(facts) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
