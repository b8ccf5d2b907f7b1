# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots have the same numbers whatever the processor and the libraries chosen for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[1] / "golden"

# What BLAS and NumPy take for other processors: with and without fused multiply-adds, narrow and wide.
OTHERS = (
    {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 FMA3 AVX2 AVX512F AVX512_SKX",
    },
    {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512F AVX512_SKX"},
    {"OPENBLAS_CORETYPE": "SkylakeX"},
    {"OPENBLAS_CORETYPE": "Zen"},
)


def test_digests_are_the_same_on_every_processor():
    expected = json.loads((HERE / "digests.json").read_text())
    runs = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", str(HERE / "make_digests.py")],
            env=os.environ | other,
            stdout=subprocess.PIPE,
            text=True,
        )
        for other in OTHERS
    ]
    for run, other in zip(runs, OTHERS, strict=True):
        made = json.loads(run.communicate()[0])
        assert made == expected, other
