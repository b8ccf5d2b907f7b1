# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Prices of a machine: fitted, kept on disk, measured anew when the file is no good."""

from __future__ import annotations

import json
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.cli import main
from phalanx.dispatch import resolve
from phalanx.study import calibration
from phalanx.study.calibration import Calibration, UnitCosts, fitted
from phalanx.study.workload import Workload, workload

KNOWN = Calibration(UnitCosts(90.0, 2.0, 3.0, 0.2, 4.0, 6.0, 0.1, 0.05, 0.4), 0.1)


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A cache of its own, and a list that grows whenever the machine is measured."""
    calls: list[int] = []

    def measure() -> Calibration:
        calls.append(1)
        return KNOWN

    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(calibration, "measure", measure)
    calibration._calibration.cache_clear()
    return calls


def again() -> Calibration:
    """The calibration as another process would find it."""
    calibration._calibration.cache_clear()
    return calibration.calibration()


def test_the_machine_is_measured_once(measured: list[int]) -> None:
    assert calibration.calibration() == KNOWN
    assert again() == KNOWN
    assert len(measured) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"format": 2}',
        json.dumps({"format": 0, "prices": asdict(KNOWN.unit_costs), "spread": 0.1}),
        json.dumps({"format": 2, "prices": {**asdict(KNOWN.unit_costs), "move": -1.0}, "spread": 0.1}),
        json.dumps(
            {"format": 2, "prices": {**asdict(KNOWN.unit_costs), "call": float("nan")}, "spread": 0.1}
        ),
        json.dumps({"format": 2, "prices": {**asdict(KNOWN.unit_costs), "angle": "much"}, "spread": 0.1}),
    ],
)
def test_a_file_that_is_no_good_is_measured_anew(measured: list[int], text: str) -> None:
    place = calibration.path()
    place.parent.mkdir(parents=True)
    place.write_text(text)
    assert again() == KNOWN
    assert len(measured) == 1
    assert json.loads(place.read_text())["prices"] == asdict(KNOWN.unit_costs)


def test_a_folder_that_cannot_be_written_is_no_error(
    measured: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path / "file"))
    assert again() == KNOWN


def test_clearing_the_cache_forgets_the_prices(
    measured: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    calibration.calibration()
    assert calibration.path().exists()
    assert main(["cache", "--clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == 1
    assert not calibration.path().exists()


def test_known_prices_are_found_again() -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(1.0, 1000.0, (60, 9)) * (rng.random((60, 9)) < 0.6) + 1.0
    times = rows @ np.array(astuple(KNOWN.unit_costs))
    found = fitted(rows, times * np.exp(0.01 * rng.standard_normal(60)))
    assert found.spread < 0.03
    np.testing.assert_allclose(rows @ np.array(astuple(found.unit_costs)), times, rtol=0.1)


def test_what_was_not_measured_keeps_its_proportion() -> None:
    rows = np.zeros((8, 9))
    rows[:, 3] = np.arange(1.0, 9.0)  # operations only, at half the usual pace
    found = fitted(rows, rows[:, 3] * 2.0 * calibration._USUAL.operation)
    assert found.unit_costs.operation == pytest.approx(2.0 * calibration._USUAL.operation, rel=0.01)
    assert found.unit_costs.division == pytest.approx(2.0 * calibration._USUAL.division, rel=0.05)


def test_states_beyond_a_full_block_cost_another_block() -> None:
    work = Workload(inputs=6, outputs=4, operations=100.0)
    one, two = (KNOWN.seconds(work, n, np.float64) for n in (1, 2))
    assert one == two
    assert KNOWN.seconds(work, 17, np.float64) > two
    assert KNOWN.seconds(work, 64, np.float32) < KNOWN.seconds(work, 64, np.float64)


def test_a_measurement_finds_prices_that_explain_the_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that are run but timed by the known prices: the machine may be busy, or any other."""
    cases: list[tuple[Any, int]] = []
    made = calibration.job

    def job(call: Any, states: Any) -> Any:
        cases.append((call, len(states.inputs[0]) if states.inputs[0].ndim > 1 else 1))
        return made(call, states)

    def timed(jobs: dict[int, Any]) -> dict[int, list[float]]:
        for run in jobs.values():
            run()
        known = [KNOWN.seconds(workload(call), batch, np.float64) for call, batch in cases]
        return {k: [2.0 * known[k], known[k]] for k in jobs}

    monkeypatch.setattr(calibration, "job", job)
    monkeypatch.setattr(calibration, "timed", timed)
    machine = calibration.measure()
    assert machine.spread < 0.1
    panda = px.load("panda")
    for name in ("cartesian_tensor", "scan"):
        work = workload(resolve(panda, "inverse_dynamics", name))
        wanted = KNOWN.seconds(work, 1024, np.float64)
        assert machine.seconds(work, 1024, np.float64) == pytest.approx(wanted, rel=0.3)
