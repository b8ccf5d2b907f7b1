# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx export`: what it writes, what it prints, what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from phalanx.cli import main
from phalanx.program.trace import trace


def test_it_prints_files_functions_and_the_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "arm.h"
    functions = ["inverse_dynamics,mass_matrix", "step", "jacobian:link2"]
    assert (
        main(["export", "two_link", "-o", str(place), "--functions", *functions, "--float32", "--cmake"]) == 0
    )
    printed = capsys.readouterr().out
    text = place.read_text()
    assert "arm.cmake" in printed
    assert "tau 2 from q 2, qd 2, qdd 2; unrolled" in printed
    assert "next_q 2, next_qd 2 from q 2, qd 2, u 2, time 1" in printed
    version = printed.split("version ")[1].split(",")[0]
    assert f'#define ARM_VERSION "{version}"' in text
    assert "void arm_step(const float *ARM_RESTRICT q" in text
    assert "void arm_step(const float *q, const float *qd" in " ".join(printed.split())
    assert (tmp_path / "arm.cmake").read_text().startswith("# The library arm, from arm.h")


def test_json_tells_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "arm.c"
    assert main(["export", "two_link", "-o", str(place), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["files"] == {str(place): place.stat().st_size}
    assert [f["name"] for f in facts["functions"]] == ["inverse_dynamics", "forward_dynamics"]
    assert facts["functions"][0]["inputs"] == {"q": [2], "qd": [2], "qdd": [2]}
    first = facts["prototypes"][0]
    assert first["declaration"].startswith("void arm_inverse_dynamics(const double *q,")
    assert first["stack"] > 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["-o", "arm.txt"], "suffix"),
        (["-o", "arm.h", "--functions", ","], "got none"),
        (["-o", "arm.h", "--functions", "torque"], "unknown function"),
        (["-o", "arm.h", "--target", "sm_80"], "target"),
        (["-o", "arm.h", "--functions", "step", "--dt", "0"], "dt"),
        (["-o", "arm.h", "--dt", "0.01"], "--dt: needs step"),
        (["-o", "arm.h", "--integrator", "rk4"], "--integrator: needs step"),
    ],
)
def test_bad_input_is_one_line(
    more: list[str],
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "two_link", *more]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert told in printed.err
    assert list(tmp_path.iterdir()) == []


def test_each_function_is_traced_once(tmp_path: Path) -> None:
    traced = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is trace.__code__:
            traced.append(frame)

    sys.setprofile(note)
    try:
        assert main(["export", "two_link", "-o", str(tmp_path / "arm.h")]) == 0
    finally:
        sys.setprofile(None)
    assert len(traced) == 2
