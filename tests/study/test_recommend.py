# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Recommendations: who is predicted fastest, what "auto" takes, and why."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.dispatch import choose
from phalanx.study import recommend as module
from phalanx.study.calibration import Calibration, UnitCosts
from phalanx.study.recommend import recommend
from phalanx.study.workload import Workload

MACHINE = Calibration(UnitCosts(150.0, 2.5, 4.8, 0.18, 4.2, 5.2, 0.12, 0.06, 0.52), 0.1)


@pytest.fixture(autouse=True)
def this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same prices on every machine."""
    monkeypatch.setattr(module, "calibration", lambda: MACHINE)


def test_a_recommendation_is_what_auto_takes_on_an_arm() -> None:
    found = px.recommend(px.load("panda"), "forward_dynamics", batch=4096)
    assert found.algorithm == found.auto == "jsiia"
    assert found.is_auto
    assert found.options == {}
    assert found.choice == "jsiia"
    assert found.backend == "native"
    assert 'what "auto" takes' in found.reason
    assert "ns per state" in found.reason
    assert found.predicted["jsiia"] == min(found.predicted.values())
    assert {"aba", "cfa", "dca", "abia"} <= set(found.predicted)


def test_predictions_are_sorted_and_per_state() -> None:
    robot = px.load("ur5")
    one, many = (recommend(robot, "inverse_dynamics", batch=n).predicted for n in (1, 4096))
    assert list(many.values()) == sorted(many.values())
    assert 4 * many["newton_euler"] < one["newton_euler"]  # a call costs more than a state


@pytest.mark.exhaustive
def test_auto_is_left_where_another_algorithm_is_clearly_faster() -> None:
    # Articulated inertias of this tree are too long to unroll, its mass matrix is not.
    robot = px.tree(30, branching=0.5, seed=1)
    found = recommend(robot, "forward_dynamics")
    names = [name for name in found.predicted if "(" not in name]
    fastest = min(names, key=lambda name: found.predicted[name])
    assert found.algorithm == fastest
    assert found.auto == choose(robot, "forward_dynamics").name


def test_the_reason_tells_when_auto_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = px.load("panda")
    other = next(a for a in px.algorithms("inverse_dynamics") if a.name == "scan")
    monkeypatch.setattr(module, "choose", lambda *_: other)
    found = recommend(robot, "inverse_dynamics")
    assert (found.algorithm, found.auto) == ("cartesian_tensor", "scan")
    assert not found.is_auto
    assert "times as fast as scan" in found.reason
    assert "agree in bits" in found.reason
    assert found.reason.startswith(f'{found.algorithm}, not the choice of "auto": ')
    assert f"ask for {found.algorithm} by name" in found.reason


def test_an_inaccurate_algorithm_is_not_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = next(a for a in px.algorithms("inverse_dynamics") if a.name == "scan")
    monkeypatch.setattr(module, "choose", lambda *_: slow)
    monkeypatch.setattr(module, "_errors", lambda *_: (1e-6, 1e-15))
    found = recommend(px.load("panda"), "inverse_dynamics")
    assert found.algorithm == "scan"
    assert "its errors reach 1e-06 instead of 1e-15" in found.reason


def test_errors_are_those_of_both_algorithms() -> None:
    robot = px.chain(3)
    calls = [module.resolve(robot, "forward_dynamics", name) for name in ("cfa", "aba")]
    errors = module._errors(*calls, np.dtype(np.float64))
    assert all(1e-17 < e < 1e-10 for e in errors)
    rough = module._errors(*calls, np.dtype(np.float32))
    assert all(1e-8 < e < 1e-2 for e in rough)


def test_a_tie_is_left_to_auto() -> None:
    found = recommend(px.load("two_link"), "mass_matrix")
    assert found.is_auto


def test_a_single_algorithm_is_said_to_be_the_only_one() -> None:
    found = recommend(px.load("panda"), "gravity_forces")
    assert "the only choice there is" in found.reason


def test_what_is_too_long_to_compile_is_timed_on_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    call = module.resolve(px.load("panda"), "inverse_dynamics", "newton_euler")
    monkeypatch.setattr(module, "_LONG", np.inf)
    monkeypatch.setattr(module, "timed", lambda jobs, **_: {n: [1e-3 + 1e-5 * n, 9.0] for n in jobs})
    one, many = (module._timed_per_state(call, n, "numpy", np.dtype(float)) for n in (1, 1000))
    assert one == pytest.approx(1.01e-3)
    assert many == pytest.approx(1e-5 + 1e-3 / 1000)


def test_what_takes_long_for_one_state_is_timed_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    call = module.resolve(px.load("panda"), "inverse_dynamics", "newton_euler")
    monkeypatch.setattr(module, "_LONG", 0.0)
    monkeypatch.setattr(module, "timed", None)
    first, each = module._throughput(call, "numpy", np.dtype(float))
    assert each == first / 8 > 0.0


def test_code_that_cannot_be_counted_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(call: object, dtype: object) -> Workload:
        raise px.PhalanxError("nobody has counted this")

    monkeypatch.setattr(module, "workload", refuse)
    found = recommend(px.load("two_link"), "inverse_dynamics")
    assert all(seconds > 0.0 for seconds in found.predicted.values())


def test_a_robot_without_freedom_has_its_choice_too() -> None:
    builder = px.RobotBuilder("rock")
    builder.add_link("rock", mass=1.0)
    found = recommend(builder.build(), "inverse_dynamics", batch=2)
    assert found.backend == "numpy"
    assert found.is_auto
    assert list(found.predicted) == [found.auto]


def test_single_precision_takes_half_the_blocks() -> None:
    robot = px.load("panda")
    double, single = (recommend(robot, "inverse_dynamics", dtype=d).predicted for d in ("float64", "float32"))
    assert single["newton_euler"] < 0.7 * double["newton_euler"]


def test_a_recommendation_reads_as_a_sentence() -> None:
    text = str(recommend(px.load("panda"), "mass_matrix", batch=1))
    assert text.startswith('mass_matrix of "panda", one state: crba is what "auto" takes')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("inverse_dynamic",), "unknown function"),
        (("jacobian",), "frame is None, expected the name of one"),
        (("mass_matrix", 0), "batch is 0"),
        (("mass_matrix", 1.5), "batch is 1.5"),
        (("mass_matrix", 4, "int8"), "expected float64 or float32"),
        (("mass_matrix", 4, "nonsense"), "expected float64 or float32"),
    ],
)
def test_bad_arguments_are_told(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        recommend(px.load("two_link"), *arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "function", ["inverse_dynamics", pytest.param("forward_dynamics", marks=pytest.mark.exhaustive)]
)
def test_one_state_of_a_long_chain_is_recommended_what_auto_takes(function: str) -> None:
    robot = px.chain(400)
    found = recommend(robot, function, batch=1)
    assert found.algorithm == found.auto == "partition"
    assert recommend(robot, function, batch=64).auto != "partition"


# ------------------------------------------------------------------- threads


def test_threads_share_a_large_batch_and_leave_a_small_one_to_one() -> None:
    robot = px.load("ur5")
    large, small = (recommend(robot, "inverse_dynamics", batch=n, threads=2) for n in (1_000_000, 64))
    assert (large.threads, small.threads) == (2, 1)
    assert large.reason.endswith("2 threads share the batch.")
    assert small.reason.endswith("before another one would be awake.")
    assert recommend(robot, "inverse_dynamics", batch=64).reason in small.reason
    with pytest.raises(px.PhalanxError, match="recommend: threads: got 0, expected a positive integer"):
        recommend(robot, "inverse_dynamics", threads=0)


@pytest.mark.parametrize(("shared", "threads"), [(0.5, 2), (0.99, 1)])
def test_threads_share_one_state_where_they_are_faster(
    shared: float, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = px.chain(256)
    # No clock: a state takes a microsecond on one thread.
    monkeypatch.setattr(module, "_timed_near", lambda found, _: [(call, 1e-6) for call, _ in found])
    monkeypatch.setattr(module, "_predictions", lambda auto, *_: [(auto, 1e-6)])
    monkeypatch.setattr(module, "wall_times", lambda jobs: dict.fromkeys(jobs, shared * 1e-6))
    found = recommend(robot, "inverse_dynamics", batch=1, threads=2)
    assert found.threads == threads
    if threads == 2:
        # Registers of eight numbers hold all segments of the default: then it takes more of them.
        assert found.algorithm == "partition"
        assert "2 threads share the state: 500 ns in a loop, 0.50 of the time of one" in found.reason
        kernel = robot.kernel("inverse_dynamics", found.choice, batch=1)
        assert "threads share a state" in kernel.form
    else:
        assert found.is_auto
        assert "One thread computes the state" in found.reason
