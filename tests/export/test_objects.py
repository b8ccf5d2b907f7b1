# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Object code for other machines: it runs there, needs nothing, and computes what kernels do, bit for bit."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import targets
from phalanx.backends.native.compile import host
from phalanx.export.api import ExportEntry, Request, entries
from phalanx.export.objects import compiled, read_elf
from reference.boards import BOARDS, evaluated
from reference.kernels import arguments, in_fresh_interpreter, robot, same_bits
from reference.unfused import unfused

CHAIN = px.chain(70, seed=2)  # long enough for loops over bodies


def states(r: px.Robot, entry: ExportEntry, function: str, count: int, dtype: Any) -> dict[str, np.ndarray]:
    """Random inputs of an exported function, an angle far beyond 1e5 and a state of NaN among them."""
    inputs = [a.reshape(count, -1) for a in arguments(r, function, count, dtype, seed=3)]
    inputs[0][0, -1] = 3e5
    inputs[0][1] = np.nan
    return dict(zip(entry.inputs, inputs, strict=True))


def on_board(
    target: str, r: px.Robot, function: str, dtype: Any, folder: Path, count: int = 5
) -> tuple[dict[str, np.ndarray], list[dict[str, np.ndarray]]]:
    """Inputs, and results computed one by one and as a batch on a board."""
    if reason := BOARDS[target].missing:
        pytest.skip(reason)
    place = folder / "arm.o"
    r.export(place, function, dtype=dtype, target=target)
    (entry,) = entries(r, function)
    request = Request(r, [entry], place, np.dtype(dtype), target)
    (workspace,) = compiled(request, target).workspaces.values()
    inputs = states(r, entry, function.partition(":")[0], count, dtype)
    return inputs, evaluated(folder, BOARDS[target], "arm", entry.name, inputs, entry.outputs, workspace)


def like_kernel(r: px.Robot, function: str, inputs: dict[str, np.ndarray]) -> np.ndarray:
    name, _, frame = function.partition(":")
    return getattr(r, name)(*inputs.values(), **({"frame": frame} if frame else {}))


@pytest.mark.parametrize(
    ("target", "name", "function", "dtype"),
    [
        ("host", "panda", "inverse_dynamics", "float64"),
        ("host", "mixed", "forward_dynamics", "float32"),
        ("host", "chain", "forward_dynamics", "float64"),
        ("aarch64", "panda", "forward_dynamics", "float64"),
        ("aarch64", "chain", "forward_dynamics", "float32"),
        ("riscv64", "mixed", "mass_matrix", "float64"),
        ("riscv64", "chain", "forward_dynamics", "float64"),
        ("cortex-m4", "ur5", "inverse_dynamics", "float32"),
        ("cortex-m4", "chain", "forward_dynamics", "float32"),
        ("cortex-m7", "panda", "forward_dynamics", "float64"),
        ("cortex-m33", "mixed", "inverse_dynamics", "float32"),
    ],
)
def test_bits_are_those_of_kernels_with_fused_multiply_adds(
    target: str, name: str, function: str, dtype: str, tmp_path: Path
) -> None:
    if not host().fma:
        pytest.skip("this machine has no fused multiply-add to compare with")
    r = CHAIN if name == "chain" else robot(name)
    inputs, found = on_board(target, r, function, dtype, tmp_path)
    wanted = like_kernel(r, function, inputs)
    assert np.isnan(wanted[1]).any()
    assert np.isfinite(np.delete(wanted, 1, axis=0)).all()
    for (result,) in (results.values() for results in found):
        same_bits(result, wanted)


def test_segments_of_one_chain_in_lanes_and_one_after_another(tmp_path: Path) -> None:
    if not host().fma:
        pytest.skip("this machine has no fused multiply-add to compare with")
    kernel = CHAIN.kernel("forward_dynamics", algorithm="partition")
    (entry,) = entries(CHAIN, kernel)
    inputs = states(CHAIN, entry, "forward_dynamics", 3, "float64")
    for target in ("host", "riscv64"):
        if BOARDS[target].missing:
            continue
        CHAIN.export(tmp_path / "arm.o", kernel, target=target)
        request = Request(CHAIN, [entry], tmp_path / "arm.o", np.dtype("float64"), target)
        (workspace,) = compiled(request, target).workspaces.values()
        found = evaluated(tmp_path, BOARDS[target], "arm", entry.name, inputs, entry.outputs, workspace)
        for (result,) in (results.values() for results in found):
            same_bits(result, kernel(*inputs.values()))


def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    """A control law with all elementary functions."""
    grown = np.tanh(u - q) * np.exp(-qd * qd) + np.log(1.0 + qd * qd) + np.arctan2(q, qd)
    return grown + np.maximum(q, qd) - np.minimum(q, u) + np.sqrt(np.abs(q)) + np.where(q < qd, 1.0, 0.0)


@pytest.mark.parametrize(
    ("target", "dtype"), [("cortex-m4", "float32"), ("cortex-m7", "float64"), ("aarch64", "float32")]
)
def test_elementary_functions_have_the_bits_of_kernels(target: str, dtype: Any, tmp_path: Path) -> None:
    if reason := BOARDS[target].missing or ("" if host().fma else "no fused multiply-add to compare with"):
        pytest.skip(reason)
    r = robot("ur5")
    sim = r.simulation(1e-3, integrator="implicit", control=law, dtype=dtype)
    r.export(tmp_path / "arm.o", sim, dtype=dtype, target=target)
    (entry,) = entries(r, sim)
    q, qd, u = (a.astype(dtype) for a in r.random_state(4, rng=2))
    q[0], u[0], q[1, 0] = 0.0, -0.0, np.nan
    inputs = {"q": q, "qd": qd, "u": u, "time": np.zeros((4, 1), dtype)}
    for results in evaluated(tmp_path, BOARDS[target], "arm", entry.name, inputs, entry.outputs):
        for result, wanted in zip(results.values(), sim.step(q, qd, u), strict=True):
            same_bits(result, wanted)


@pytest.mark.parametrize(("target", "name"), [("host", "chain"), ("cortex-m33", "mixed")])
def test_functions_of_a_frame_agree_with_kernels_that_serve_all_frames(
    target: str, name: str, tmp_path: Path
) -> None:
    r = CHAIN if name == "chain" else robot(name)
    function = f"jacobian:{r.frame_names[-1]}"
    inputs, found = on_board(target, r, function, "float32", tmp_path)
    wanted = np.delete(like_kernel(r, function, inputs), 1, axis=0)
    for (result,) in (results.values() for results in found):
        np.testing.assert_allclose(np.delete(result, 1, axis=0), wanted, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("name", "dtype"), [("panda", "float64"), ("mixed", "float32")])
def test_bits_are_those_of_kernels_without_fused_multiply_adds(name: str, dtype: str, tmp_path: Path) -> None:
    r = robot(name)
    inputs, found = on_board("x86-64", r, "inverse_dynamics", dtype, tmp_path)
    wanted = unfused(r, "inverse_dynamics", list(inputs.values()))
    for (result,) in (results.values() for results in found):
        same_bits(result, wanted)


GUARDED = """
import ctypes, mmap
import numpy as np
import phalanx as px

PAGE = mmap.PAGESIZE
libc, code = ctypes.CDLL(None), ctypes.CDLL(LIBRARY)

def fenced(values, at_end):
    pages = max(1, -(-values.nbytes // PAGE))
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages + 1):
        assert libc.mprotect(ctypes.c_void_p(start + page * PAGE), PAGE, 0) == 0
    at = PAGE * (pages + 1) - values.nbytes if at_end else PAGE
    array = np.frombuffer(memory, values.dtype, values.size, at).reshape(values.shape)
    array[...] = values
    return array, ctypes.c_void_p(start + at)

r = px.load("ur5")
for count in (0, 1, 2, 3, 7, 8, 9, 17, 41):
    q = r.random_state((count,), rng=1)[0]
    wanted = r.mass_matrix(q)
    for at_end in (False, True):
        (_, given), (out, place) = fenced(q, at_end), fenced(wanted * 0, at_end)
        code.arm_mass_matrix_batch(ctypes.c_size_t(count), given, place)
        assert np.array_equal(out, wanted)
print("inside")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is fenced by mmap and mprotect")
def test_batches_of_any_size_touch_no_byte_outside_their_arrays(tmp_path: Path) -> None:
    if reason := BOARDS["host"].missing:
        pytest.skip(reason)
    robot("ur5").export(tmp_path / "arm.o", "mass_matrix", target="host")
    subprocess.run(["gcc", "-shared", "-o", "arm.so", "arm.o"], cwd=tmp_path, check=True)
    code = f"LIBRARY = {str(tmp_path / 'arm.so')!r}\n{GUARDED}"
    assert in_fresh_interpreter(code, PYTHONFAULTHANDLER="1") == "inside"


STEPPED = px.load("ur5").simulation(1e-3, integrator="implicit")


@pytest.mark.parametrize("target", targets.NAMES)
def test_code_for_every_target_needs_nothing_outside_and_keeps_nothing(target: str, tmp_path: Path) -> None:
    r = robot("ur5")
    single = target in ("cortex-m4", "cortex-m33")
    functions = ("inverse_dynamics", "vjp:forward_dynamics", "inverse_dynamics_derivatives", STEPPED)
    for dtype in ("float32",) if single else ("float32", "float64"):
        written = r.export(tmp_path / "arm.o", functions, dtype=dtype, target=target)
        assert [p.name for p in written] == ["arm.o", "arm.o.h"]
        found = read_elf((tmp_path / "arm.o").read_bytes())
        if found is None:
            assert target in ("host", targets.WASM)
            continue
        assert found.undefined == []
        assert not any(found.writable.values())
        assert found.sections[".text"] > 1000


@pytest.mark.parametrize("target", ["host", "aarch64", "cortex-m4"])
def test_llvm_text_is_complete_and_gives_the_object_code(target: str, tmp_path: Path) -> None:
    robot("panda").export(tmp_path / "arm.ll", "mass_matrix", dtype="float32", target=target)
    text = (tmp_path / "arm.ll").read_text()
    parsed = llvm.parse_assembly(text)
    parsed.verify()
    machine = targets.machine(target, np.dtype("float32"))
    assert parsed.triple == machine.triple
    assert 'Robot "panda"' in text.splitlines()[0]
    robot("panda").export(tmp_path / "arm.o", "mass_matrix", dtype="float32", target=target)
    made, exported = bytes(machine.machine().emit_object(parsed)), (tmp_path / "arm.o").read_bytes()
    one, other = read_elf(made), read_elf(exported)
    assert one is not None
    assert other is not None
    assert one.sections[".text"] == other.sections[".text"]


@pytest.mark.parametrize(("compiler", "standard"), [("gcc", "-std=c99"), ("g++", "-std=c++11")])
def test_strict_compilers_accept_the_header(compiler: str, standard: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    CHAIN.export(tmp_path / "arm.o", ("forward_dynamics", "mass_matrix"))
    (tmp_path / "main.c").write_text(
        '#include "arm.o.h"\n#include <math.h>\nstatic const double lower[] = ARM_LOWER;\n'
        "static double work[ARM_FORWARD_DYNAMICS_WORKSPACE], x[70];\n"
        "int main(void) { arm_forward_dynamics_batch(0, lower, lower, lower, x, work); return 0; }\n"
    )
    language = ["-x", "c++"] if compiler == "g++" else []
    flags = ["-Wall", "-Wextra", "-pedantic", "-Werror", standard, *language]
    subprocess.run([compiler, *flags, "-c", "main.c"], cwd=tmp_path, check=True)
    subprocess.run([compiler, "main.o", "arm.o", "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"target": "cortex-m5"},
            r'unknown target .cortex-m5.*did you mean "cortex-m[47]"\? targets: "host"',
        ),
        ({"target": 4}, r"unknown target 4; targets:"),
        ({"target": "cortex-m4"}, r'"cortex-m4" computes float32 only.*use dtype="float32"'),
        ({"target": "cortex-m33"}, r'"cortex-m33" computes float32 only'),
        ({"colour": 1}, r"have no option 'colour'"),
    ],
)
def test_what_no_machine_takes_is_refused_and_nothing_is_written(
    more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        robot("ur5").export(tmp_path / "arm.o", **more)
    assert list(tmp_path.iterdir()) == []
