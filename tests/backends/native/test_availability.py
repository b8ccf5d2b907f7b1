# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where no machine code can be built, "auto" computes on NumPy and says why, once."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import availability, compile

# Everything that a user may try; `prepare` comes before the import of the package.
SCRIPT = """
import sys, warnings
{prepare}
import numpy as np
import phalanx as px

robot, z = px.load("two_link"), np.zeros(2)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(3):
        tau = robot.inverse_dynamics(z, z, z)
    robot.jvp("gravity_forces", (z,), (z,))
    robot.frame_poses(z, robot.frame_names)
assert np.array_equal(tau, robot.inverse_dynamics(z, z, z, backend="numpy"))
for attempt in (
    lambda: robot.inverse_dynamics(z, z, z, backend="native"),
    lambda: robot.kernel("inverse_dynamics")(z, z, z),
    lambda: robot.simulation().rollout(z, z, steps=2),
):
    try:
        attempt()
    except px.PhalanxError as error:
        print("refused:", error)
print("warnings:", *(str(w.message) for w in said if issubclass(w.category, px.PhalanxWarning)), sep="\\n")
px.cost(robot, "inverse_dynamics")
"""
MISSING = """
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "llvmlite":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""
# Linux refuses to make memory executable in a process that asks for it (PR_SET_MDWE, since 6.3).
GUARDED = """
import ctypes
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):
    sys.exit(77)
"""


def tried(prepare: str) -> str:
    script = [sys.executable, "-c", SCRIPT.format(prepare=prepare)]
    run = subprocess.run(script, capture_output=True, text=True, check=False)
    if run.returncode == 77:
        pytest.skip("this kernel knows no process without executable memory")
    assert run.returncode == 0, run.stderr
    return run.stdout


def check(output: str, why: str, remedy: str) -> None:
    refused = [line for line in output.splitlines() if line.startswith("refused: ")]
    assert len(refused) == 3
    said = output.partition("warnings:\n")[2].splitlines()
    assert len(said) == 1
    assert "NumPy" in said[0]
    for message in (*refused, *said):
        assert why in message
        assert remedy in message


def test_without_llvmlite():
    check(tried(MISSING), '"llvmlite" is not installed', "pip install 'llvmlite>=0.45'")


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl of Linux")
def test_without_executable_memory():
    check(tried(GUARDED), "does not let memory become executable", "allow it for this process")


@pytest.fixture
def afresh():
    known = availability.refusal, availability.warn_of_numpy
    for each in known:
        each.cache_clear()
    yield
    for each in known:
        each.cache_clear()


def test_unknown_machine(afresh, monkeypatch):
    def machine(target, level=2):
        raise RuntimeError(f"No available targets are compatible with triple {target.triple}")

    monkeypatch.setattr(compile.Target, "machine", machine)
    robot, z = px.load("two_link"), np.zeros(2)
    with pytest.warns(px.PhalanxWarning, match="no code generator for this machine"):
        robot.inverse_dynamics(z, z, z)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.inverse_dynamics(z, z, z)
    with pytest.raises(px.PhalanxError, match="another build of llvmlite"):
        robot.kernel("mass_matrix")


def test_old_llvmlite_is_named(afresh, monkeypatch):
    monkeypatch.setattr("llvmlite.__version__", "0.44.0")
    assert "llvmlite 0.44.0" in availability.refusal()
    assert "llvmlite>=0.45" in availability.refusal()


def test_this_machine_is_able():
    assert availability.refusal() == ""
    assert "native" in px.backends.base.installed()
