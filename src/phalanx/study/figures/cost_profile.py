# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Two panels: how many operations can go at once, and which quantities or links they belong to."""

from __future__ import annotations

from typing import Any

from ...program.cost import Cost
from ..plotting import BLUE, GREY, ORANGE, new_figure, saved, styled

_MOST = 16  # bars; what is smaller is summed up in one more


def cost_profile(cost: Cost, path: Any = None, *, title: str = "", by: str = "quantity") -> Any:
    """Operations over time with as many processors as they can use, and by `quantity` or by `link`."""
    parts = cost.by_quantity if by == "quantity" else cost.by_link
    ranked = sorted(parts.items(), key=lambda item: -item[1].total)
    bars = [(name, c.multiplications, c.additions + c.divisions) for name, c in ranked if c.total]
    if len(bars) > _MOST:
        rest = bars[_MOST - 1 :]
        bars = [*bars[: _MOST - 1], (f"{len(rest)} others", sum(b[1] for b in rest), sum(b[2] for b in rest))]
    if by == "link" and len(parts) <= _MOST:  # along the robot, not by size
        bars = [(n, c.multiplications, c.additions + c.divisions) for n, c in parts.items() if c.total]
    sums = "additions, divisions" if cost.divisions else "additions"
    with styled():
        figure, _ = new_figure(6.3, 3.2 + 0.12 * len(bars))
        figure.clear()
        over_time, shares = figure.subplots(1, 2, width_ratios=(3, 2))
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        steps = len(cost.width)
        over_time.stairs(cost.width, range(steps + 1), fill=True, color=BLUE)
        mean = sum(cost.width) / max(steps, 1)
        over_time.axhline(mean, color=GREY, linestyle="--", linewidth=1.0)
        over_time.annotate(f"mean {mean:.1f}", (steps, mean), ha="right", va="bottom", color=GREY, fontsize=8)
        over_time.set(xlabel="step", ylabel="operations that start", xlim=(0, max(steps, 1)), ylim=(0, None))
        if cost.looped and not steps:
            over_time.clear()
            over_time.set_axis_off()
            over_time.set_title(f"{cost.total:,} operations in loops")
        else:
            loops = " in loops" * cost.looped
            over_time.set_title(f"{cost.total:,} operations{loops}, path of {cost.span.total:,}")
        names = [str(name) for name, *_ in bars]
        first = [m for _, m, _ in bars]
        shares.barh(names, first, color=BLUE, label="multiplications")
        shares.barh(names, [a for *_, a in bars], left=first, color=ORANGE, label=sums)
        shares.invert_yaxis()
        shares.grid(False, axis="y")
        shares.set(xlabel="operations", title=f"by {by}" + " in loops" * cost.looped)
        figure.legend(loc="outside lower right", ncols=2)
    return saved(figure, path)
