# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A kernel in the user's hands: what it tells about itself and how others call it."""

from __future__ import annotations

import inspect
import re
import tracemalloc
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.backends.native import compile
from reference.kernels import ROBOTS, arguments, frame_of, kernel, reference, robot, same_bits
from reference.sampling import agree


def test_the_signature_has_sizes_as_numbers() -> None:
    assert kernel("panda", "forward_dynamics").signature == "(7),(7),(7)->(7)"
    assert kernel("panda", "mass_matrix").signature == "(7)->(7,7)"
    assert kernel("panda", "jacobian").signature == "(7)->(6,7)"
    assert kernel("floating", "inverse_dynamics").signature == "(11),(10),(10)->(10)"
    assert kernel("panda", "forward_kinematics").signature == "(7)->(7,4,4)"
    assert kernel("panda", "kinetic_energy").signature == "(7),(7)->()"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_ufunc_and_its_signature_belong_together(function: str) -> None:
    k = kernel("panda", function)
    assert isinstance(k.ufunc, np.ufunc)
    assert k.ufunc.signature.replace(" ", "") == k.signature
    assert (k.ufunc.nin, k.ufunc.nout) == (len(FUNCTIONS[function].inputs), len(FUNCTIONS[function].outputs))
    assert k.ufunc.__name__ == function
    assert k.ufunc.types == ["d" * k.ufunc.nin + "->" + "d" * k.ufunc.nout]


def test_output_sizes_name_the_axes_of_the_signature() -> None:
    assert kernel("panda", "jacobian").output_sizes == {"6": 6, "7": 7}
    assert kernel("panda", "kinetic_energy").output_sizes == {}
    assert kernel("panda", "forward_kinematics").output_sizes == {"7": 7, "4": 4}
    for function in FUNCTIONS:
        k = kernel("panda", function)
        assert set(k.output_sizes) == set(re.findall("[0-9]+", k.signature.split("->")[1]))


def test_a_kernel_tells_what_it_is() -> None:
    k = robot("ur5").kernel("forward_dynamics", algorithm="aba", dtype=np.float32)
    assert (k.function, k.algorithm, k.dtype) == ("forward_dynamics", "aba", np.dtype("float32"))
    assert k.robot is robot("ur5")
    assert repr(k) == '<Kernel forward_dynamics of "ur5" by aba, float32: (6),(6),(6)->(6)>'
    assert k.compile_seconds > 0.0
    parameters = inspect.signature(k).parameters.values()
    keywords = [*FUNCTIONS["forward_dynamics"].optional, "out", "threads"]
    assert [p.name for p in parameters] == ["q", "qd", "tau", *keywords]
    assert {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY} == dict.fromkeys(keywords)


def test_its_text_and_assembly_can_be_read() -> None:
    k = kernel("two_link", "gravity_forces")
    text = k.llvm_ir()
    assert "define internal void @block" in text
    assert "fast" not in {word for line in text.splitlines() if " = f" in line for word in line.split()}
    assert k.llvm_ir() == text
    assert "loop:" in k.assembly()


@pytest.mark.parametrize("dtype", ["int64", "float16", complex, "text", object, ">f8"])
def test_other_dtypes_are_refused(dtype: Any) -> None:
    with pytest.raises(px.PhalanxError, match=r"kernel: dtype .*, expected float64 or float32"):
        robot("ur5").kernel("mass_matrix", dtype=dtype)


def test_bad_functions_algorithms_and_frames_are_refused() -> None:
    r = robot("ur5")
    with pytest.raises(px.PhalanxError, match="unknown function 'mass'"):
        r.kernel("mass")
    with pytest.raises(px.PhalanxError, match="unknown algorithm 'abb'"):
        r.kernel("forward_dynamics", algorithm="abb")
    with pytest.raises(px.PhalanxError, match="has no frame 'nose'"):
        r.kernel("jacobian", frame="nose")
    with pytest.raises(
        px.PhalanxError, match='jacobian: frame is None, expected the name of one, such as frame="'
    ):
        r.kernel("jacobian")
    for several in (["tool0", "base_link"], np.array(["tool0"])):
        with pytest.raises(px.PhalanxError, match=r"jacobian: frame is .*, expected the name of one"):
            r.kernel("jacobian", frame=several)
    with pytest.raises(px.PhalanxError, match="mass_matrix: got frame='tool0', but takes none; leave it out"):
        r.kernel("mass_matrix", frame="tool0")


def test_a_robot_that_cannot_move_has_no_kernel() -> None:
    rock = px.load('<robot name="rock"><link name="stone"/></robot>')
    with pytest.raises(px.PhalanxError, match='robot "rock" has no degree of freedom; nothing to compile'):
        rock.kernel("mass_matrix")


def test_a_kernel_computes_in_its_own_precision() -> None:
    r = robot("ur5")
    wide, narrow = kernel("ur5", "mass_matrix"), kernel("ur5", "mass_matrix", "float32")
    q = arguments(r, "mass_matrix", 4)[0]
    assert narrow(q).dtype == np.float32
    same_bits(narrow(q), narrow(q.astype(np.float32)))
    assert wide(q.astype(np.float32)).dtype == np.float64
    same_bits(wide(q.astype(np.float32)), wide(q.astype(np.float32).astype(float)))
    assert narrow(q[0].tolist()).dtype == np.float32
    with pytest.raises(px.PhalanxError, match=r"out has .* dtype float64, expected .* float32"):
        narrow(q, out=np.zeros((4, 6, 6)))


def test_a_kernel_refuses_what_the_method_refuses() -> None:
    k = kernel("ur5", "inverse_dynamics")
    q, qd, qdd = arguments(robot("ur5"), "inverse_dynamics", 4)
    for bad, message in (
        ((q[:, :5], qd, qdd), r"inverse_dynamics: q has shape \(4, 5\), expected \(…, 6\)"),
        ((q, qd[:3], qdd), "do not broadcast"),
        ((q, None, qdd), "qd has dtype object"),
        ((q, qd, 1.0), r"qdd has shape \(\)"),
    ):
        with pytest.raises(px.PhalanxError, match=message):
            k(*bad)
    with pytest.raises(px.PhalanxError, match=r"out has shape \(3, 4, 6\).*expected \(4, 6\)"):
        k(q, qd, qdd, out=np.zeros((3, 4, 6)))
    with pytest.raises(px.PhalanxError, match="external has shape"):
        k(q, qd, qdd, external=np.zeros(6))
    with pytest.raises(TypeError, match=r"InverseDynamicsKernel\.__call__\(\) missing 1 required .*: 'qdd'$"):
        k(q, qd)
    with pytest.raises(TypeError, match=r"^InverseDynamicsKernel\.__call__\(\) takes 4 positional arg"):
        k(q, qd, qdd, qdd)
    with pytest.raises(TypeError, match="unexpected keyword argument 'externl'"):
        k(q, qd, qdd, externl=None)


def test_anything_that_numpy_reads_as_an_array_is_read_every_time() -> None:
    class Tensor:
        """As other libraries have them: `size` is a method, not a number."""

        def __init__(self, data: Any) -> None:
            self.data = data

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.array(self.data, dtype=dtype)

        def size(self) -> int:
            return len(self.data)

    r = robot("ur5")
    state = arguments(r, "inverse_dynamics")
    wanted = r.inverse_dynamics(*state)
    for _ in range(3):
        same_bits(r.inverse_dynamics(*(Tensor(a) for a in state)), wanted)
        same_bits(kernel("ur5", "inverse_dynamics")(*(Tensor(a) for a in state)), wanted)


@pytest.mark.parametrize("name", ROBOTS)
def test_numpy_functions_take_the_ufunc(name: str) -> None:
    k = kernel(name, "inverse_dynamics")
    state = arguments(robot(name), "inverse_dynamics", (4, 3))
    swapped = [np.moveaxis(a, -1, 0) for a in state]
    result = k.ufunc(*swapped, axes=[(0,), (0,), (0,), (0,)])
    same_bits(np.moveaxis(result, 0, -1), k(*state))
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        k.ufunc(state[0][..., :2], *state[1:])


def test_dask_applies_a_kernel_to_chunks() -> None:
    array = pytest.importorskip("dask.array", reason="dask is an optional package")
    r = robot("panda")
    state = arguments(r, "inverse_dynamics", 30)
    chunks = [array.from_array(a, chunks=(8, 7)) for a in state]
    for function, inputs in (
        ("inverse_dynamics", chunks),
        ("jacobian", chunks[:1]),
        ("kinetic_energy", chunks[:2]),
    ):
        k = kernel("panda", function)
        lazy = array.apply_gufunc(k, k.signature, *inputs, output_dtypes=float, output_sizes=k.output_sizes)
        wanted = k(*state[: len(inputs)])
        assert lazy.shape == wanted.shape
        same_bits(lazy.compute(), wanted)


def test_optional_inputs_make_kernels_of_their_own() -> None:
    k = kernel("ur5", "forward_dynamics")
    state = arguments(robot("ur5"), "forward_dynamics", 3)
    push = np.random.default_rng(0).standard_normal((6, 6))
    pushed = k(*state, external=push)
    agree(pushed, reference(robot("ur5"), "forward_dynamics", state, external=push), 1e-12)
    same_bits(k(*state, external=np.zeros((6, 6))).shape, pushed.shape)
    assert np.abs(pushed - k(*state)).max() > 1e-3
    assert frame_of("forward_dynamics", robot("ur5")) == {}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_batch_takes_no_memory_beside_its_result(order: Any, threads: int) -> None:
    k = kernel("ur5", "mass_matrix")
    q = np.asarray(arguments(robot("ur5"), "mass_matrix", 60_000)[0], order=order)
    k(q, threads=threads)
    tracemalloc.start()
    result = k(q, threads=threads)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * result.nbytes


@pytest.mark.parametrize("threads", [1, 2])
def test_a_wrong_shape_is_told_before_memory_is_asked_for(threads: int) -> None:
    endless = np.broadcast_to(np.zeros(5), (1 << 40, 5))
    with pytest.raises(px.PhalanxError, match=r"q has shape \(1099511627776, 5\), expected \(…, 6\)"):
        kernel("ur5", "mass_matrix")(endless, threads=threads)


def test_code_that_cannot_be_loaded_is_an_error_with_a_remedy() -> None:
    with pytest.raises(px.PhalanxError, match=r'5 bytes could not be loaded .* use backend="numpy"'):
        compile.load(b"no ELF"[:5])
