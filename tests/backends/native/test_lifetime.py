# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Machine code lives as long as something can call it, and no longer."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.kernels import arguments, in_fresh_interpreter, kernel, robot, same_bits


def overwrite() -> list[bytes]:
    """Use memory that may just have been freed."""
    return [bytes([k % 256]) * 5000 for k in range(500)]


def test_a_ufunc_survives_its_kernel_and_its_robot() -> None:
    r = px.load("ur5")
    state = arguments(r, "inverse_dynamics", 20)
    k = r.kernel("inverse_dynamics")
    wanted = k(*state)
    ufunc = k.ufunc
    gone = weakref.ref(k)
    del r, k
    gc.collect()
    assert gone() is None
    noise = overwrite()
    same_bits(ufunc(*state), wanted)
    assert len(noise) == 500


def test_the_direct_entry_survives_its_kernel_and_its_robot() -> None:
    r = px.load("ur5")
    state = arguments(r, "inverse_dynamics")
    k = r.kernel("inverse_dynamics")
    wanted, direct = k(*state), k._native.direct
    if direct is None:
        pytest.skip("this Python or NumPy lays out objects differently")
    del r, k
    gc.collect()
    noise = overwrite()
    out = np.zeros(6)
    assert direct(*state, out)
    same_bits(out, wanted)
    assert len(noise) == 500


def test_a_built_in_function_outlives_what_it_keeps() -> None:
    """Python empties the parts of a cycle of garbage one by one, the function perhaps after its `self`."""
    source = """
import phalanx as px
k = px.load("two_link").kernel("mass_matrix")
direct = k._native.direct
if direct is not None:
    del direct.__self__.keep
print("mass_matrix" if direct is None else direct.__name__)
"""
    assert in_fresh_interpreter(source, PYTHONMALLOC="debug") == "mass_matrix"


def test_dropped_robots_take_their_code_with_them() -> None:
    alive = []
    for seed in range(6):
        r = px.chain(2, seed=1000 + seed)
        r.inverse_dynamics(*arguments(r, "inverse_dynamics"))
        native = r.kernel("inverse_dynamics")._native
        alive.append((weakref.ref(r), weakref.ref(native), weakref.ref(native.loaded)))
        del r, native
    gc.collect()
    assert [ref() for refs in alive for ref in refs] == [None] * 18


def test_memory_does_not_grow_with_dropped_robots() -> None:
    source = """
import gc
import phalanx as px
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
q = [0.1, 0.2]
robots = [px.load("two_link").replace(gravity=(0.0, 0.0, -k)) for k in range(1, 4)]
def use(k):
    r = robots[k % 3].replace(name=str(k))
    r.kernel("inverse_dynamics")(q, q, q)
    if k % 20 == 0:  # some Pythons do it seldom
        gc.collect()
for k in range(60):
    use(k)
gc.collect()
before = resident()
for k in range(300):
    use(k)
gc.collect()
print(resident() - before)
"""
    try:
        open("/proc/self/statm").close()
    except OSError:
        pytest.skip("this system does not tell a process its memory")
    grown = int(in_fresh_interpreter(source))
    # A loaded module takes about 40 kB: 300 of them would be 12 MB.
    assert grown < 4e6


# ------------------------------------------------------------------------------- pickles


@pytest.mark.parametrize(
    ("function", "more"),
    [
        ("inverse_dynamics", {}),
        ("forward_dynamics", {"algorithm": "aba"}),
        ("mass_matrix", {"dtype": "float32"}),
        ("jacobian", {"frame": "tool0"}),
    ],
)
def test_kernels_are_picklable(function: str, more: dict[str, Any]) -> None:
    r = robot("ur5")
    if "frame" in more:
        more = {"frame": r.frame_names[-1]}
    k = r.kernel(function, **more)
    dtype = more.get("dtype", "float64")
    state = arguments(r, function, 5, dtype)
    for again in (pickle.loads(pickle.dumps(k)), copy.copy(k), copy.deepcopy(k)):
        assert (again.function, again.algorithm, again.dtype) == (k.function, k.algorithm, k.dtype)
        assert again.robot == r
        same_bits(again(*state), k(*state))


def test_a_pickled_kernel_works_in_another_process(tmp_path: Any) -> None:
    k = kernel("ur5", "inverse_dynamics")
    state = arguments(robot("ur5"), "inverse_dynamics", 3)
    file = tmp_path / "kernel.pickle"
    file.write_bytes(pickle.dumps((k, state)))
    source = f"""
import pickle
k, state = pickle.loads(open({str(file)!r}, "rb").read())
print(k.cached, k(*state).tolist())
"""
    assert in_fresh_interpreter(source) == f"True {k(*state).tolist()}"


def test_the_interpreter_ends_cleanly_with_kernels_alive() -> None:
    source = """
import atexit
import numpy as np
import phalanx as px
r = px.load("ur5")
q = np.zeros(6)
k = r.kernel("mass_matrix")
out = np.zeros((6, 6))
step = k.bind(q, out=out)
r.mass_matrix(np.zeros((9000, 6)), threads=2)
atexit.register(lambda: (step(), k(q), r.mass_matrix(q), print("end")))
"""
    assert in_fresh_interpreter(source) == "end"


FAR = """
import ctypes
import numpy as np
import phalanx as px
from reference.kernels import arguments
px.load("two_link").kernel("inverse_dynamics")
library = ctypes.CDLL(None)
library.mmap.restype = ctypes.c_void_p
numbers = [ctypes.c_int] * 3
library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *numbers, ctypes.c_long]
library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
room = lambda size: library.mmap(None, size, 0, 0x4022, -1, 0)  # private, anonymous, without reserve
large = room(6 << 30)
for size in (1 << k for k in range(26, 14, -1)):
    while (found := room(size)) > large:  # above it only some pages are left
        pass
    library.munmap(found, size)
for n in range(4, 17):
    r = px.chain(n, seed=5)
    state = arguments(r, "inverse_dynamics", 5)
    wanted = r.inverse_dynamics(*state, backend="numpy")
    assert np.abs(r.inverse_dynamics(*state) - wanted).max() < 1e-11 * np.abs(wanted).max(), n
print("done")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="maps memory as Linux does")
def test_kernels_load_where_free_memory_lies_gigabytes_apart() -> None:
    assert in_fresh_interpreter(FAR) == "done"
