# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The picture of `phalanx.speedup`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..plotting import BLUE, GREY, ORANGE, VERMILION, new_figure, saved, styled

if TYPE_CHECKING:
    from ..speedup import Speedup


def speedup_figure(found: Speedup, path: Any = None) -> Any:
    """Predicted speed-ups with and without a charge for messages, the knees, and what was measured."""
    with styled():
        figure, axes = new_figure()
        counts = found.free.processors
        axes.plot(counts, counts, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), label="ideal")
        curves = [(found.free, BLUE, "o", "predicted, messages free")]
        if found.message:
            curves.append(
                (found.charged, ORANGE, "s", f"predicted, {found.message:,.0f} operations a message")
            )
        for curve, colour, marker, label in curves:
            axes.plot(counts, curve.speedups, color=colour, marker=marker, label=label)
            k = curve.knee
            axes.plot([counts[k]], [curve.speedups[k]], marker=marker, markersize=11, color=colour, alpha=0.4)
            axes.annotate(
                f"{counts[k]}: {curve.speedups[k]:.2g} times",
                (counts[k], curve.speedups[k]),
                xytext=(6, -11),
                textcoords="offset points",
                color=colour,
                fontsize=8,
            )
        for m in found.measured[1:]:
            gained = found.measured[0].seconds / m.seconds
            label = f"measured: {m.cores} core{'s' * (m.cores > 1)}, {m.lanes} lane{'s' * (m.lanes > 1)}"
            axes.plot(
                [m.cores], [gained], marker="*", markersize=9, linestyle="", color=VERMILION, label=label
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_ylim(0.8, max(*found.free.speedups, 2.0) * 1.6)
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.yaxis.set_major_formatter("{x:.3g}")
        axes.set_xlabel("processors, p")
        axes.set_ylabel("speed-up over the least work on one")
        axes.set_title(f"{found.function} of {found.robot}: one state on p processors")
        figure.legend(loc="outside lower center", ncols=2)
    return saved(figure, path)
