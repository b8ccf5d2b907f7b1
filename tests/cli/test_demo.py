# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx demo`: torques of random states."""

import argparse
import json
import re
from pathlib import Path

import numpy as np
import pytest

from phalanx.cli import demo, main
from phalanx.io.loading import load

# The published inertias of the PUMA 560 break the triangle inequality.
pytestmark = pytest.mark.filterwarnings("ignore::phalanx.errors.PhalanxWarning")


def test_the_table_fits_and_names_every_joint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["demo", "--batch", "1000"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert all(name in text for name in load("puma560").joint_names)
    assert "1,000 random states" in text
    assert "kernel compiled in" in text or "kernel read from the cache in" in text
    assert re.search(r"^computed in \S+ s: [\d,]+ states per second", text, re.MULTILINE)


def test_compiling_and_computing_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path))
    reports = []
    for _ in range(2):
        assert main(["demo", "--batch", "10", "--json"]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    assert [report["cached"] for report in reports] == [False, True]
    assert all(report["compile_seconds"] > 0.0 for report in reports)


def test_a_million_states_are_the_default() -> None:
    parser = argparse.ArgumentParser()
    demo.add(parser)
    assert parser.parse_args([]).batch == 1_000_000


def test_json_holds_the_torques_of_the_seeded_states(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--batch", "50", "--seed", "3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    robot = load("puma560")
    tau = robot.inverse_dynamics(*robot.random_state((50,), rng=np.random.default_rng(3)))
    np.testing.assert_allclose([joint["max"] for joint in report["joints"]], tau.max(axis=0), rtol=1e-12)
    np.testing.assert_allclose([joint["min"] for joint in report["joints"]], tau.min(axis=0), rtol=1e-12)
    assert report["states_per_second"] == pytest.approx(50 / report["seconds"])


def test_degrees_of_freedom_of_a_floating_base_are_numbered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "two_link", "--floating-base", "--batch", "2", "--json"]) == 0
    names = [joint["name"] for joint in json.loads(capsys.readouterr().out)["joints"]]
    assert names[:6] == [f"(floating base)[{k}]" for k in range(6)]
    assert len(names) == 8
