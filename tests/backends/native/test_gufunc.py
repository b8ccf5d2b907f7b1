# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A NumPy whose ufunc table looks different: one warning, a slower path, the same results."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import gufunc
from phalanx.errors import PhalanxWarning
from reference.kernels import arguments, kernel, same_bits


@pytest.fixture
def other_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A NumPy that keeps its ufuncs differently, met after some kernels for comparison are there."""
    for function in ("inverse_dynamics", "kinetic_energy"):
        assert isinstance(kernel("ur5", function).ufunc, np.ufunc)

    def changed() -> Any:
        raise RuntimeError("the ufunc table of this NumPy looks different")

    monkeypatch.setattr(gufunc, "_constructor", changed)
    gufunc._warn_of_slow_path.cache_clear()


@pytest.fixture
def slow(other_numpy: None) -> Any:
    """A kernel on the slower path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhalanxWarning)
        k = px.load("ur5").kernel("inverse_dynamics")
    assert isinstance(k.ufunc, gufunc.SlowUfunc)
    return k


def test_there_is_one_warning_however_many_kernels_are_built(other_numpy: None) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        r = px.load("ur5")
        for function in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
            r.kernel(function)
        px.load("two_link").mass_matrix(np.zeros(2))
    assert [w.category for w in caught] == [PhalanxWarning]
    assert "keeps its ufuncs differently; the ufuncs of kernels take a slower path" in str(caught[0].message)


@pytest.mark.parametrize("batch", [(), (1,), (5,), (40,), (3, 4), (0,), (2, 0)])
def test_results_are_the_same_bits(slow: Any, batch: tuple[int, ...]) -> None:
    fast = kernel("ur5", "inverse_dynamics")
    state = arguments(slow.robot, "inverse_dynamics", batch)
    wanted = fast(*state)
    same_bits(slow(*state), wanted)
    same_bits(slow.ufunc(*state), wanted)
    same_bits(slow(*(np.asfortranarray(a) for a in state)), wanted)
    same_bits(slow(*(np.repeat(a, 2, -1)[..., ::2] for a in state)), wanted)
    for out in (np.zeros_like(wanted), np.asfortranarray(np.zeros_like(wanted))):
        assert slow(*state, out=out) is out
        same_bits(out, wanted)
    same_bits(slow.robot.inverse_dynamics(*state), wanted)
    for _ in range(2):
        same_bits(slow.robot.inverse_dynamics(*state, threads=2), wanted)


def test_overlap_threads_and_broadcasting_work(slow: Any) -> None:
    fast = kernel("ur5", "inverse_dynamics")
    q, qd, qdd = arguments(slow.robot, "inverse_dynamics", 9000)
    wanted = fast(q, qd[0], qdd)
    same_bits(slow(q, qd[0], qdd), wanted)
    same_bits(slow(q, qd[0], qdd, threads=3), wanted)
    memory = np.append(qdd.ravel(), np.zeros(5))
    out = memory[5:].reshape(9000, 6)
    same_bits(slow(q, qd[0], memory[:-5].reshape(9000, 6), out=out), wanted)


def test_bad_arguments_meet_the_same_errors(slow: Any) -> None:
    q, qd, qdd = arguments(slow.robot, "inverse_dynamics", 4)
    for bad in ((q[:, :5], qd, qdd), (q[:3], qd, qdd), (1.0, qd, qdd)):
        with pytest.raises(px.PhalanxError):
            slow(*bad)
    with pytest.raises(px.PhalanxError, match="out has shape"):
        slow(q, qd, qdd, out=np.zeros((2, 4, 6)))
    for bad in ((q, qd), (q[:, :5], qd, qdd), (q[:3], qd, qdd)):
        with pytest.raises(ValueError, match=r"shape|argument"):
            slow.ufunc(*bad)
    with pytest.raises(ValueError, match=r"out has shape \(2, 4, 6\), expected \(4, 6\)"):
        slow.ufunc(q, qd, qdd, out=np.zeros((2, 4, 6)))


def test_scalar_results_are_scalars(other_numpy: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhalanxWarning)
        r = px.load("ur5")
        state = arguments(r, "kinetic_energy")
        result = r.kinetic_energy(*state)
        step_out = np.zeros(())
        r.kernel("kinetic_energy").bind(*state, out=step_out)()
    assert np.shape(result) == ()
    assert result == step_out == kernel("ur5", "kinetic_energy")(*state)


def test_the_table_is_checked_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    gufunc._constructor.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(gufunc.np, "ufunc", int)
        with pytest.raises(RuntimeError, match="looks different"):
            gufunc._constructor()
    assert callable(gufunc._constructor())
