# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Code for other machines: lower levels of this one agree, ARM is produced, the text is stable."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.backends.native import compile, loop, objects
from phalanx.backends.native.compile import CodegenOptions, Target, aarch64, host
from phalanx.backends.native.targets import NAMES
from phalanx.dispatch import resolve
from reference.kernels import arguments, frame_of, in_fresh_interpreter, kernel, robot
from reference.sampling import agree

GOLDEN = Path(__file__).parents[2] / "golden"

LEVEL = """
import json
import numpy as np
from phalanx.backends.native.compile import host
from reference.kernels import arguments, kernel, robot
results = {}
for name in ("panda", "floating"):
    for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        for dtype in ("float64", "float32"):
            k = kernel(name, function, dtype)
            state = arguments(robot(name), function, 21, dtype)
            alone = np.array([k(*(a[i].copy() for a in state)) for i in range(21)])
            assert np.array_equal(k(*state), alone)
            assert np.array_equal(k(*(np.asfortranarray(a) for a in state)), alone)
            results[f"{name} {function} {dtype}"] = alone.tolist()
print(json.dumps([host().bits, host().fma, results]))
"""


@pytest.mark.parametrize(("level", "bits", "fma"), [("sse2", 128, False), ("avx2", 256, True)])
def test_results_of_lower_levels_agree_with_the_hosts(level: str, bits: int, fma: bool) -> None:
    if not host().triple.startswith(("x86_64", "amd64")):
        pytest.skip(f"{level} is a level of x86-64, this is {host().triple}")
    if host().bits < bits:
        pytest.skip(f"this machine has no {level}")
    found_bits, found_fma, results = json.loads(in_fresh_interpreter(LEVEL, PHALANX_CPU=level))
    assert (found_bits, found_fma) == (bits, fma)
    for label, values in results.items():
        name, function, dtype = label.split()
        wanted = kernel(name, function, dtype)(*arguments(robot(name), function, 21, dtype))
        tolerance = 1e-13 if dtype == "float64" else 3e-5
        agree(np.array(values), wanted, tolerance * (10.0 if function == "forward_dynamics" else 1.0))
        if fma and host().fma:  # the same roundings in the same order
            np.testing.assert_array_equal(np.array(values, dtype), wanted)


@pytest.mark.parametrize("level", ["sse3", "AVX2", "native", "avx1024"])
def test_an_unknown_level_is_refused(level: str) -> None:
    source = """
import phalanx as px
try:
    px.load("two_link").kernel("mass_matrix")
except px.PhalanxError as error:
    print(error)
"""
    text = in_fresh_interpreter(source, PHALANX_CPU=level)
    assert text.startswith(f"PHALANX_CPU={level!r}; this machine (")
    assert "offers" in text


def test_a_level_above_the_machine_is_refused() -> None:
    with pytest.raises(px.PhalanxError, match=r"PHALANX_CPU='avx512'; this machine \(.*\) offers \"sse2\"\."):
        compile._lowered("avx512", "x86_64-unknown-linux-gnu", {"avx2": False})
    with pytest.raises(px.PhalanxError, match="offers no levels"):
        compile._lowered("avx2", "arm64-apple-darwin", {})


def machine_of(code: bytes) -> int:
    """The machine number in the head of an ELF file."""
    assert code[:4] == b"\x7fELF"
    return int(struct.unpack_from("<H", code, 18)[0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_object_code_for_arm_is_produced(function: str, dtype: str) -> None:
    r = robot("panda")
    call = resolve(r, function, **frame_of(function, r))
    text = loop.module(call, (), np.dtype(dtype), aarch64())
    assert machine_of(compile.object_code(text, aarch64())) == 183


def test_the_runtime_is_compiled_for_arm_too() -> None:
    assert machine_of(compile.object_code(objects._runtime_ir(aarch64()), aarch64())) == 183


def test_arm_code_uses_multiply_adds_on_vectors() -> None:
    text = loop.module(resolve(robot("panda"), "inverse_dynamics"), (), np.dtype("float64"), aarch64())
    assembly = compile.assembly(text, aarch64())
    assert assembly.count("fmla") > 100
    assert "v0.2d" in assembly


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_width_compiles_for_every_function(bits: int, dtype: str) -> None:
    cpu = {128: "x86-64", 256: "haswell", 512: "skylake-avx512"}[bits]
    target = Target("x86_64-unknown-linux-gnu", cpu, "", bits, bits > 128)
    compile.llvm.initialize_all_targets()
    compile.llvm.initialize_all_asmprinters()
    for function, f in FUNCTIONS.items():
        r = robot("ur5" if f.full_rank else "two_link")
        call = resolve(r, function, **frame_of(function, r))
        text = loop.module(call, (), np.dtype(dtype), target)
        assert f"<{target.lanes(np.dtype(dtype).itemsize)} x " in text
        assert machine_of(compile.object_code(text, target)) == 62


def test_no_fast_math_flag_is_ever_written() -> None:
    flags = {"fast", "reassoc", "contract", "nnan", "ninf", "nsz", "arcp", "afn"}
    for name in ("panda", "mixed"):
        text = kernel(name, "forward_dynamics").llvm_ir()
        operations = [line.split() for line in text.splitlines() if " = f" in line or "call" in line]
        assert not any(flags & set(words) for words in operations)
        assert "fmuladd" not in text  # which may or may not round twice


def block_of(text: str) -> str:
    """The block function of a module."""
    start = text.index("define internal void @block")
    return text[start : text.index("\n}\n", start) + 3]


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix"])
def test_the_text_of_a_block_is_the_golden_one(function: str) -> None:
    """Set PHALANX_UPDATE_GOLDEN=1 to accept a change."""
    target = Target("x86_64-unknown-linux-gnu", "haswell", "", 256, True)
    text = block_of(loop.module(resolve(px.load("two_link"), function), (), np.dtype("float64"), target))
    file = GOLDEN / f"two_link_{function}.ll"
    if os.environ.get("PHALANX_UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


def test_the_text_of_a_module_is_the_same_every_time() -> None:
    def text(r: Any) -> str:
        return loop.module(resolve(r, "forward_dynamics"), (), np.dtype("float64"), host())

    made = text(px.load("panda"))
    assert made == text(px.load("panda"))
    code = """
import hashlib
import numpy as np
import phalanx as px
from phalanx.backends.native import loop
from phalanx.backends.native.compile import host
from phalanx.dispatch import resolve
call = resolve(px.load("panda"), "forward_dynamics")
print(hashlib.sha256(loop.module(call, (), np.dtype("float64"), host()).encode()).hexdigest())
"""
    import hashlib

    assert in_fresh_interpreter(code, PYTHONHASHSEED="5") == hashlib.sha256(made.encode()).hexdigest()


@pytest.mark.parametrize(
    ("function", "high_pressure"),
    [("regressor", True), ("coriolis_matrix", True), ("mass_matrix", False), ("mass_matrix_inverse", False)],
)
def test_long_matrices_without_symmetry_are_scheduled_for_registers(
    monkeypatch: pytest.MonkeyPatch, function: str, high_pressure: bool
) -> None:
    call = resolve(px.load("ur5"), function)
    ir = loop.module(call, (), np.dtype(np.float64), host())
    assert loop.codegen_options(call, (), ir) == CodegenOptions()
    monkeypatch.setattr(loop, "LONG", len(ir) // 2)
    assert loop.codegen_options(call, (), ir) == CodegenOptions(high_pressure=high_pressure)


def test_matrices_of_derivatives_are_scheduled_for_registers_and_short_vectors_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call, other = (resolve(px.load("ur5"), f"inverse_dynamics{end}") for end in ("_derivatives", ""))
    ir, plain = (loop.module(each, (), np.dtype(np.float64), host()) for each in (call, other))
    options = loop.codegen_options(call, (), ir)
    assert options == CodegenOptions(high_pressure=True)
    assert loop.codegen_options(other, (), plain) == CodegenOptions()
    before = compile.assembly(plain, host())
    for_registers = compile.assembly(ir, host(), options)
    assert compile.assembly(plain, host()) == before
    by_default = compile.assembly(ir, host())
    assert for_registers != by_default
    monkeypatch.setattr(compile, "_LATEST", 0)  # a release whose options nobody knows
    assert compile.assembly(ir, host(), options) == by_default


EXPORTED = """
import hashlib
import numpy as np
import phalanx as px
from phalanx.backends.native.compile import CodegenOptions, host, object_code
from phalanx.backends.native.targets import NAMES
from phalanx.export.api import requested
from phalanx.export.objects import compiled

if AFTER:  # in a process of its own, since options of LLVM are global
    object_code("define void @f() {\\n  ret void\\n}\\n", host(), CodegenOptions(high_pressure=True))
for target in NAMES:
    request = requested(px.load("two_link"), "arm.o", "inverse_dynamics", np.float32)
    print(target, hashlib.sha256(compiled(request, target).object_code()).hexdigest())
"""


def test_exported_bytes_do_not_depend_on_what_was_compiled_before() -> None:
    fresh, after = (in_fresh_interpreter(EXPORTED.replace("AFTER", when)) for when in ("False", "True"))
    assert fresh.strip().count("\n") + 1 == len(NAMES)
    assert after == fresh


def test_scheduling_changes_no_bits(tmp_path: Path) -> None:
    robot = px.load("ur5")
    states = robot.random_state(20, rng=0)
    wanted = robot.kernel("forward_dynamics_derivatives")(*states)
    code = """
from phalanx.backends.native import compile
compile._LATEST = 0
import numpy as np
import phalanx as px
robot = px.load("ur5")
found = robot.kernel("forward_dynamics_derivatives")(*robot.random_state(20, rng=0))
print(np.stack(found).tobytes().hex())
"""
    found = in_fresh_interpreter(code, PHALANX_CACHE_DIR=str(tmp_path))
    assert found == np.stack(wanted).tobytes().hex()


WINDOWS = Target("x86_64-pc-windows-msvc", "x86-64", "", 128, False)
MACS = (
    Target("arm64-apple-darwin23", "apple-m1", "", 128, True),
    Target("x86_64-apple-darwin23", "x86-64", "", 128, False),
)


def coff(code: bytes) -> tuple[list[str], set[int], set[str]]:
    """Names of sections, kinds of relocations and undefined symbols of a COFF object."""
    count, table, symbols = struct.unpack_from("<2xH4xII", code)
    strings = table + 18 * symbols

    def name(field: bytes) -> str:
        at = strings + struct.unpack("<4xI", field)[0]
        return code[at : code.index(0, at)].decode() if not any(field[:4]) else field.rstrip(b"\0").decode()

    sections, kinds, missing = [], set(), set()
    for k in range(count):
        title, places, many = struct.unpack_from("<8s16xI4xH", code, 20 + 40 * k)
        sections.append(title.rstrip(b"\0").decode())
        kinds |= {struct.unpack_from("<8xH", code, places + 10 * i)[0] for i in range(many)}
    k = 0
    while k < symbols:
        title, section, more = struct.unpack_from("<8s4xh3xB", code, table + 18 * k)
        missing |= {name(title)} if section == 0 else set()
        k += 1 + more
    return sections, kinds, missing


def known_on(platform: str) -> set[str]:
    """What kernels may call there."""
    names = {n for own in (compile._NEEDED, compile._OWN[platform]) for each in own.values() for n in each}
    return names | {"pool", *compile._ALIASES}


@pytest.mark.parametrize(("name", "function"), [("panda", "forward_dynamics"), ("ur5", "mass_matrix")])
def test_code_for_windows_links_there(name: str, function: str) -> None:
    compile.llvm.initialize_all_targets()
    compile.llvm.initialize_all_asmprinters()
    text = loop.module(resolve(px.load(name), function), (), np.dtype(np.float64), WINDOWS)
    sections, kinds, missing = coff(compile.object_code(text, WINDOWS))
    assert not {".pdata", ".xdata"} & set(sections)  # tables for unwinding end the process
    assert kinds == {1}  # addresses of 64 bits: nothing is too far away
    assert missing <= known_on("win32") | {"_fltused"}


def test_the_runtime_for_windows_links_there() -> None:
    compile.llvm.initialize_all_targets()
    compile.llvm.initialize_all_asmprinters()
    sections, kinds, missing = coff(compile.object_code(objects._runtime_ir(WINDOWS), WINDOWS))
    assert not {".pdata", ".xdata"} & set(sections)
    assert kinds == {1}
    objects_of_python = {"True", "False", "None", "NotImplemented", "ndarray", "lazily", "ufunc"}
    assert missing <= known_on("win32") | {"_fltused", "clock_gettime"} | objects_of_python | {
        *objects._PYTHON,
        *objects._POSIX,
    }


@pytest.mark.parametrize("target", MACS, ids=lambda target: target.triple)
def test_code_for_a_mac_calls_what_it_is_given(target: Target) -> None:
    compile.llvm.initialize_all_targets()
    compile.llvm.initialize_all_asmprinters()
    text = loop.module(resolve(px.load("ur5"), "mass_matrix"), (), np.dtype(np.float64), target)
    code = compile.object_code(f"{CLEARS}{text}", target)
    called = macho_missing(code)
    assert called <= known_on("darwin")
    assert called & {"bzero", "__bzero"}


CLEARS = """
define void @clears(ptr %p, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def macho_missing(code: bytes) -> set[str]:
    """The undefined symbols of a Mach-O object."""
    commands, at = struct.unpack_from("<16xI", code)[0], 32
    found = set()
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, at)
        if command == 2:
            table, count, strings = struct.unpack_from("<8xIII", code, at)
            for k in range(count):
                name, kind = struct.unpack_from("<IB", code, table + 16 * k)
                start = strings + name + 1  # after the underscore
                found |= set() if kind & 0x0E else {code[start : code.index(0, start)].decode()}
        at += size
    return found
