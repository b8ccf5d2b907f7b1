# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Algorithms side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.dispatch import choose, resolve
from phalanx.program.task import Call
from phalanx.study import compare as module
from phalanx.study.accuracy import exact_result, has_long_floats, largest_error, longdouble_result
from phalanx.study.calibration import shared_state, timed
from phalanx.study.compare import compare


def test_every_algorithm_is_measured_or_refused_with_a_reason() -> None:
    robot = px.load("stanford")
    rows = compare(robot, "inverse_dynamics", batch=16)
    assert {r.algorithm for r in rows} == {a.name for a in px.algorithms("inverse_dynamics")}
    for r in rows:
        if r.refused:
            assert "does not cover" in r.refused
        else:
            assert r.error < 1e-12
            assert min(r.per_state, r.prepare) > 0.0
    assert [r.algorithm for r in rows if r.refused] == ["zomaya_morris"]  # a sliding joint


def test_rows_are_sorted_by_time_and_mark_the_choice_of_auto() -> None:
    robot = px.load("panda")
    rows = compare(robot, "mass_matrix", batch=32)
    times = [r.per_state for r in rows if not r.refused]
    assert times == sorted(times)
    assert [r.algorithm for r in rows if r.chosen] == [choose(robot, "mass_matrix").name]


def test_costs_are_those_of_cost_by_the_names_of_links() -> None:
    robot = px.load("two_link")
    for r in compare(robot, "mass_matrix", batch=2):
        assert r.cost == px.cost(robot, "mass_matrix", r.algorithm)


def test_logarithmic_algorithms_take_more_operations_on_a_shorter_path() -> None:
    rows = {r.algorithm: r for r in compare(px.chain(12), "inverse_dynamics", batch=8)}
    linear, logarithmic = rows["luh_walker_paul"].cost, rows["lathrop"].cost
    assert linear is not None
    assert logarithmic is not None
    assert logarithmic.written_out.total > linear.written_out.total
    assert logarithmic.written_out.span.total < linear.written_out.span.total


def test_a_function_of_one_frame_is_compared_for_a_frame() -> None:
    with pytest.raises(px.PhalanxError, match="jacobian: frame is None, expected the name of one"):
        compare(px.load("panda"), "jacobian")
    (row,) = compare(px.load("panda"), "jacobian", batch=8, frame="panda_link7")
    assert row.chosen
    assert row.recommended
    assert row.error < 1e-14


def test_each_of_several_results_has_its_own_largest_entry() -> None:
    right = np.full((2, 3), 1e-3), np.full((2, 3), 1e3)
    found = right[0] + [[0.0, 0.0, 0.0], [0.0, 1e-4, 0.0]], right[1]
    assert largest_error(found, right) == pytest.approx(0.1)
    rows = compare(px.load("ur5"), "forward_dynamics_derivatives", batch=8)
    assert 0.0 < rows[0].error < 1e-12


def test_one_row_is_recommended_with_its_reason() -> None:
    rows = compare(px.chain(3), "forward_dynamics", batch=64)
    (row,) = [r for r in rows if r.recommended]
    assert row.algorithm in row.reason
    assert all(not r.reason for r in rows if r is not row)
    assert all(r.predicted > 0 for r in rows if r.backend == "native")


def test_processors_gain_no_more_than_their_number_and_the_longest_path_allow() -> None:
    robot = px.load("ur5")
    gains = {
        p: {r.algorithm: r for r in compare(robot, "inverse_dynamics", batch=1, processors=p) if r.cost}
        for p in (1, 4, 1000)
    }
    assert max(r.speedup for r in gains[1].values()) == 1.0
    for name, one in gains[1].items():
        assert one.cost is not None
        if one.cost.looped:  # loops over segments do more than the equations that are scheduled
            continue
        assert gains[4][name].processors == 4
        assert one.speedup < gains[4][name].speedup <= 4 * one.speedup
        parallelism = one.cost.total / one.cost.span.total
        assert gains[4][name].speedup >= one.speedup / (1 / 4 + 1 / parallelism)  # Brent
        assert gains[1000][name].speedup == pytest.approx(one.speedup * parallelism, rel=0.1)


def test_a_predicted_option_has_its_own_row(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = px.chain(3)
    advice = px.recommend(robot, "forward_dynamics", batch=8)
    wanted = replace(advice, algorithm="abia", options={"form": "hybrid"}, reason="abia for a change")
    monkeypatch.setattr(module, "recommend", lambda *_, **__: wanted)
    monkeypatch.setattr(module, "timed", times_of({"abia(form=hybrid)": 1.0}))
    rows = compare(robot, "forward_dynamics", batch=8)
    assert [(r.algorithm, r.options) for r in rows if r.recommended] == [("abia", {"form": "hybrid"})]
    assert [r.options for r in rows if r.algorithm == "abia"].count({}) == 1


def times_of(known: dict[str, float], other: float = 100.0) -> Callable[..., Any]:
    """A stop-watch that shows these times per state in ns, the same alone and in a batch."""

    def timed(jobs: dict[tuple[str, int], Any], **_: Any) -> dict[tuple[str, int], list[float]]:
        return {(name, count): [1e-9 * count * known.get(name, other)] for name, count in jobs}

    return timed


def recommended(robot: px.Robot, function: str, batch: int) -> Any:
    (row,) = [r for r in compare(robot, function, batch=batch) if r.recommended]
    return row


def test_measured_times_decide_and_auto_is_left_for_more_than_their_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    robot = px.load("two_link")
    auto = choose(robot, "forward_dynamics").name
    for aba, best, why in (
        (
            50.0,
            "aba",
            'aba, not the choice of "auto": 50 ns per state measured for 8 states, 2 times as fast',
        ),
        (95.0, auto, "With 95 ns aba is as fast; the difference is less than such measurements resolve."),
        (200.0, auto, f'{auto} is what "auto" takes and the fastest of'),
    ):
        times = {a.name: 300.0 for a in px.algorithms("forward_dynamics")} | {auto: 100.0, "aba": aba}
        monkeypatch.setattr(module, "timed", times_of(times))
        row = recommended(robot, "forward_dynamics", 8)
        assert row.algorithm == best
        assert why in row.reason
    monkeypatch.setattr(module, "timed", times_of({auto: 100.0, "aba": 50.0}, 300.0))
    found = module.largest_error
    monkeypatch.setattr(module, "largest_error", lambda a, b: 1e-3 if np.any(a != seen[0]) else found(a, b))
    seen = [robot.forward_dynamics(*robot.random_state(8, rng=0))]
    row = recommended(robot, "forward_dynamics", 8)
    assert (row.algorithm, "aba would take 50 ns, but its errors reach 1e-03" in row.reason) == (auto, True)


def test_one_state_of_a_long_chain_has_its_own_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = px.chain(65)
    names = ("cartesian_tensor", "partition")
    monkeypatch.setattr(module, "algorithms", lambda f: [a for a in px.algorithms(f) if a.name in names])

    def timed(jobs: dict[tuple[str, int], Any], **_: Any) -> dict[tuple[str, int], list[float]]:
        known = {("partition", 1): 4e-6, ("cartesian_tensor", 1): 8e-6, ("partition", 2): 8e-6}
        return {key: [known.get(key, 4e-6)] for key in jobs}

    monkeypatch.setattr(module, "timed", timed)
    row = recommended(robot, "inverse_dynamics", 2)
    assert row.algorithm == "cartesian_tensor"
    assert row.reason.endswith('One state alone is fastest by partition, 4 us; "auto" takes it there.')
    assert recommended(robot, "inverse_dynamics", 1).algorithm == "partition"


def test_errors_are_those_against_longer_floats() -> None:
    robot = px.load("panda")
    inputs = robot.random_state(4, rng=0)
    right = longdouble_result(robot, "forward_dynamics", inputs)
    mpmath = pytest.importorskip("mpmath")
    digits = exact_result(robot, "forward_dynamics", list(inputs))
    bound = 1e-17 if has_long_floats() else 1e-13
    for a, b in zip(right, digits, strict=True):
        high = a.astype(float)  # mpmath 1.3 knows no longer floats: as a sum of two
        with mpmath.workprec(128):
            off = (high.astype(object) - b) + (a - high).astype(float).astype(object)
        assert float(np.abs(off).max() / np.abs(b).max()) < bound
    found = robot.forward_dynamics(*inputs)
    assert 0 < largest_error(found, right) < 1e-13
    found[2, 3] = np.nan
    assert largest_error(found, right) == np.inf


def test_jobs_take_turns_and_all_of_them_are_timed() -> None:
    order: list[str] = []
    times = timed({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=3, burst=0.0)
    assert [len(t) for t in times.values()] == [3, 3]
    assert "".join(order).endswith("ababab")


def test_what_does_not_compile_in_time_is_measured_on_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    def served(call: Call) -> str:
        return "numpy" if call.algorithm.name == "scan" else "native"

    monkeypatch.setattr(module, "served", served)
    rows = {r.algorithm: r for r in compare(px.load("ur5"), "inverse_dynamics", batch=2)}
    assert rows["scan"].backend == "numpy"
    assert rows["scan"].cost is None
    assert np.isnan(rows["scan"].speedup)
    assert min(rows["scan"].per_state, rows["newton_euler"].per_state) > 0.0


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix", "forward_dynamics"])
def test_a_robot_without_joints_has_nothing_to_compare(function: str) -> None:
    robot = px.load("two_link")
    still = robot.fix(dict.fromkeys(robot.joint_names, 0.0))
    with pytest.raises(px.PhalanxError, match="no degree of freedom"):
        compare(still, function)


@pytest.mark.parametrize("explain", [px.cost, px.schedule, px.recommend, px.compare, px.accuracy])
def test_a_name_is_no_robot(explain: Callable[..., Any]) -> None:
    with pytest.raises(px.PhalanxError, match=r"got 'panda', expected a Robot; px\.load"):
        explain("panda", "inverse_dynamics")


def _called(jobs: dict[Any, Callable[[], Any]]) -> dict[Any, float]:
    """Each job once; no clock."""
    for run in jobs.values():
        run()
    return dict.fromkeys(jobs, 1e-3)


def test_several_threads_have_times_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "wall_times", _called)
    rows = [r for r in px.compare(px.load("two_link"), "mass_matrix", batch=50, threads=2) if not r.refused]
    native = [r for r in rows if r.backend == "native"]
    assert native
    assert all(r.threads == 2 and r.per_state_on_threads == 1e-3 / 50 for r in native)
    assert all(np.isnan(r.one_state_on_threads) for r in rows)  # too short to be shared
    with pytest.raises(px.PhalanxError, match="compare: threads: got 0, expected a positive integer"):
        px.compare(px.load("two_link"), "mass_matrix", threads=0)


def test_one_state_of_a_long_chain_is_timed_on_threads() -> None:
    call = resolve(px.chain(300), "inverse_dynamics", ("lathrop", {"segments": 48}))
    run = shared_state(call, 3)
    assert run is not None
    run()
    assert shared_state(resolve(px.chain(30), "inverse_dynamics", "lathrop"), 3) is None
