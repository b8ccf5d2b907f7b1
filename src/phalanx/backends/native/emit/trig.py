# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sine and cosine on vectors: within 2 ulp up to 1e5, by the C library beyond.

The argument is reduced by multiples of pi/2 in a few exact steps, then two polynomials
(interpolation in Chebyshev nodes on the reduced interval) give both functions.
"""

from __future__ import annotations

from dataclasses import dataclass

LARGEST = 1e5


@dataclass(frozen=True)
class Constants:
    """What one precision needs; `parts` add up to pi/2."""

    integer: str
    magic: float  # adding it rounds to whole numbers and leaves them in the low bits
    top: int
    parts: tuple[float, ...]
    split: tuple[float, ...]  # parts short enough that their multiples are exact without fma
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


CONSTANTS = {
    "double": Constants(
        "i64",
        1.5 * 2.0**52,
        63,
        (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
        tuple(
            map(
                float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69", "0x1.b839a252p-104")
            )
        ),
        (
            -0.16666666666666666,
            0.008333333333330946,
            -0.0001984126983675497,
            2.755731610068303e-06,
            -2.5051131455427943e-08,
            1.5918101230273893e-10,
        ),
        (
            0.041666666666666664,
            -0.0013888888888887395,
            2.4801587298763433e-05,
            -2.7557317270560326e-07,
            2.0876146024689743e-09,
            -1.1382614868556182e-11,
        ),
    ),
    "float": Constants(
        "i32",
        1.5 * 2.0**23,
        31,
        tuple(map(float.fromhex, ("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50"))),
        tuple(
            map(
                float.fromhex,
                ("0x1.92p+0", "0x1.fcp-12", "-0x1.58p-21", "0x1.1p-30", "0x1.68p-39", "0x1.84698ap-48"),
            )
        ),
        (-0.16666664539365847, 0.00833272461378369, -0.0001958283067883539),
        (0.04166666453632113, -0.0013888279330556913, 2.4542871110869853e-05),
    ),
}
