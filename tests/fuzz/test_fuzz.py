# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Some thousand hostile files, calls, laws and messages; `run.py` does as many as one likes."""

from __future__ import annotations

import os
import warnings

import pytest

from fuzz.judge import FAULTS, load
from fuzz.robot_files import FORMATS, robot_file
from fuzz.run import judged

CASES = {"urdf": 700, "mjcf": 500, "dh": 400, "table": 300, "saved": 300, "sdf": 200, "call": 1500}
CASES |= {"recording": 250, "data": 150, "law": 100, "export": 100, "product": 300, "studio": 300}
NEEDED = {
    "mjcf": ("mujoco",),
    "recording": ("pyarrow", "h5py", "zarr", "mcap"),
    "data": ("pyarrow", "h5py", "zarr", "mcap"),
    "studio": ("viser", "trimesh"),
}
SEED = int(os.environ.get("PHALANX_FUZZ_SEED", "0"))


@pytest.mark.parametrize("kind", CASES)
def test_hostile_inputs_are_refused_in_our_words_and_leave_nothing_behind(kind: str) -> None:
    for package in NEEDED.get(kind, ()):
        pytest.importorskip(package)
    report = judged(kind, SEED, SEED + CASES[kind])
    assert not report.findings, f"{report}"
    assert sum(report.counts.values()) == CASES[kind]
    if kind == "studio":  # which drops what is hostile, without a word
        return
    assert report.counts["refused"] > 0.2 * CASES[kind], "the cases are not hostile"
    assert report.counts["fine"] > 0.05 * CASES[kind], "the cases have nothing of a robot"


@pytest.mark.parametrize("kind", FORMATS)
def test_files_are_valid_before_they_are_damaged(
    kind: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "mjcf":
        pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    several = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(30):
            case = robot_file(kind, seed, damaged=False)
            if kind == "mjcf" and ("include" in str(case.content) or "no.stl" in str(case.content)):
                continue  # these name files that are not there
            case.options.pop("strict", None)
            if kind == "mjcf":
                case.options.pop("floating_base", None)  # some float already
            several += load(case).n_links > 1
    assert several > 5


@pytest.mark.parametrize(
    ("fault", "sign"),
    list(
        enumerate(
            (
                "KeyError: 'missing'",
                "left behind: ['a/b/scratch/left.txt']",
                "Timeout",
                "Segmentation fault",
                "MemoryError",
                "status 0",
                "message with control characters or none",
                "left behind: ['thread lingering']",
            )
        )
    ),
)
def test_the_judge_sees_faults(fault: int, sign: str) -> None:
    assert len(FAULTS) == 8
    report = judged("fault", fault, fault + 1, seconds=3.0 if sign == "Timeout" else 50.0)
    assert [(kind, seed) for kind, seed, _ in report.findings] == [("fault", fault)]
    assert sign in report.findings[0][2]
