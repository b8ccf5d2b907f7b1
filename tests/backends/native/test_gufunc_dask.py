# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`kernel.ufunc` on Dask arrays, as it stands."""

import gc
import pickle

import numpy as np
import pytest

import phalanx as px
from reference.effort import calls_of

da = pytest.importorskip("dask.array")
ROBOT = px.load("ur5")


def chunked(*arrays: np.ndarray) -> list["da.Array"]:
    return [da.from_array(x, chunks=(30, -1)) for x in arrays]


def test_results_are_those_of_the_kernel() -> None:
    state = ROBOT.random_state(100, rng=0)
    kernel = ROBOT.kernel("inverse_dynamics")
    found = kernel.ufunc(*chunked(*state))
    assert isinstance(found, da.Array)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.compute(scheduler="sync"), kernel(*state))
    mixed = kernel.ufunc(chunked(state[0])[0], state[1], np.zeros(6))
    np.testing.assert_array_equal(mixed.compute(scheduler="sync"), kernel(state[0], state[1], np.zeros(6)))


def test_axes_that_no_input_has_and_several_results() -> None:
    state = ROBOT.random_state(100, rng=0)
    pose = ROBOT.kernel("frame_pose", frame=ROBOT.link_names[-1])
    found = pose.ufunc(*chunked(state[0]))
    assert found.shape == (100, 4, 4)
    np.testing.assert_array_equal(found.compute(scheduler="sync"), pose(state[0]))
    slopes = ROBOT.kernel("inverse_dynamics_derivatives")
    several = slopes.ufunc(*chunked(*state))
    for lazy, wanted in zip(several, slopes(*state), strict=True):
        np.testing.assert_array_equal(lazy.compute(scheduler="sync"), wanted)


def test_single_precision_and_pickled_ufuncs() -> None:
    q = ROBOT.random_state(50, rng=0)[0].astype(np.float32)
    kernel = ROBOT.kernel("potential_energy", dtype="float32")
    again = pickle.loads(pickle.dumps(kernel.ufunc))
    found = again(*chunked(q))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.compute(scheduler="sync"), kernel(q))


def test_it_is_still_a_ufunc_of_numpy() -> None:
    ufunc = ROBOT.kernel("mass_matrix").ufunc
    assert type(ufunc) is np.ufunc
    q = ROBOT.random_state(rng=0)[0]
    assert calls_of(lambda: ufunc(q)) <= 3  # the lambda, the ufunc and the end of counting
    np.testing.assert_array_equal(ufunc(q.tolist()), ufunc(q))
    assert (ufunc.nin, ufunc.nout, ufunc.signature, ufunc.__name__) == (1, 1, "(6)->(6,6)", "mass_matrix")
    with pytest.raises(ValueError, match="core dimension"):
        ufunc(np.zeros((4, 1)))


def test_ufuncs_outlive_their_robots_and_leave_those_of_numpy_alone() -> None:
    ufunc = px.load("two_link").kernel("mass_matrix").ufunc
    gc.collect()
    again = pickle.loads(pickle.dumps(ufunc))
    q = np.array([[0.1, 0.2], [0.3, 0.4]])
    np.testing.assert_array_equal(again(q), ufunc(q))
    assert again(*chunked(q)).compute(scheduler="sync").shape == (2, 2, 2)
    assert pickle.loads(pickle.dumps(np.add)) is np.add


@pytest.mark.parametrize("options", [{"out": 1}, {"dtype": float}])
def test_what_dask_cannot_do_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(px.PhalanxError, match="on Dask arrays: got the options"):
        ROBOT.kernel("mass_matrix").ufunc(*chunked(np.zeros((40, 6))), **options)


def test_wrong_sizes_are_refused_before_anything_is_computed() -> None:
    with pytest.raises(px.PhalanxError, match=r"shape \(40, 1\), expected \(…, 6\)"):
        ROBOT.kernel("mass_matrix").ufunc(*chunked(np.zeros((40, 1))))
